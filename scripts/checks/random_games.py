"""Random games, solved by graphstore and by a second solver that shares no code with it.

A game is a table: a result for each node, or {move: (node, turn)}. A position is (node, side), one
of `order` rotated images of the node, all with the same moves.
"""

import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

from graphstore import PlainGame, build

Values: TypeAlias = dict[int, tuple[int, int | None]]
COLUMNS = "position, ply, ended, value, remoteness, score, win_depth, lose_depth, orbit"


class RandomGame(PlainGame):
    """A random table; where `told`, the rules tell that all images of a node are equal."""

    def __init__(self, chance: Random) -> None:
        size, far = chance.randint(1, 24), chance.choice((0.05, 0.2, 1))  # far moves make cycles
        self.order, self.told = chance.randint(1, 3), chance.random() < 0.5
        self.table: list[Any] = []
        for at in range(size):
            row = {}
            for move in chance.sample([*range(9), 2**31 - 1, -(2**31)], chance.randint(1, 4)):
                near = min(at + 1 + chance.randrange(3), size - 1)
                node = chance.randrange(size) if chance.random() < far else near
                row[move] = node, chance.randrange(self.order)
            ended = at == size - 1 or chance.random() < 0.2
            self.table.append(chance.choice((1, 0, -1)) if ended else row)
        self.first = [(chance.randrange(1 + size // 2), 0) for _ in range(chance.randint(1, 3))]

    def starts(self) -> Any:
        """Return one to three positions."""
        return self.first

    def moves(self, position: Any) -> Any:
        """Return the moves of the node."""
        return self.table[position[0]].keys()

    def play(self, position: Any, move: int) -> Any:
        """Return the next node, rotated."""
        node, turn = self.table[position[0]][move]
        return node, (position[1] + turn) % self.order

    def outcome(self, position: Any) -> int | None:
        """Return the result of the node."""
        row = self.table[position[0]]
        return None if isinstance(row, dict) else row

    def symmetries(self, position: Any) -> Any:
        """Return all images of the node, if they are told."""
        return [(position[0], side) for side in range(self.order)] if self.told else ()


def solved(table: list[Any]) -> Values:
    """Return the value and the remoteness of each node, by waves over the whole table.

    >>> solved([{1: (1, 0), 2: (0, 0)}, {1: (2, 0)}, -1, {1: (3, 0)}])
    {0: (0, None), 1: (1, 1), 2: (-1, 0), 3: (0, None)}
    """
    children = [
        {node for node, _ in row.values()} if isinstance(row, dict) else set() for row in table
    ]
    known: Values = {at: (row, 0) for at, row in enumerate(table) if not isinstance(row, dict)}
    ways = {at: 0 for at, row in enumerate(table) if row == 0}  # plies to a tie
    for wave in range(1, len(table)):
        values = {at: value for at, (value, _) in known.items()}
        for at in {*range(len(table))} - {*known}:
            replies = [values.get(child, 0) for child in children[at]]
            if -1 in replies or 0 not in replies:
                known[at] = 1 if -1 in replies else -1, wave
    drawn = {*range(len(table))} - {*known}
    for wave in range(1, len(table)):
        near = {at for at in drawn - {*ways} if wave - 1 in map(ways.get, children[at])}
        ways |= dict.fromkeys(near, wave)
    return {at: known.get(at, (0, ways.get(at))) for at in range(len(table))}


def expected(game: RandomGame) -> list[tuple[Any, ...]]:
    """Return the rows of `COLUMNS` and the children of all states, sorted."""
    values, rows, wave, ply = solved(game.table), dict[Any, Any](), {*game.first}, 0
    while wave:
        later = set()
        for here in wave:
            value, remoteness = values[here[0]]
            ended = game.outcome(here) is not None
            plays = [] if ended else [game.play(here, move) for move in sorted(game.moves(here))]
            children = [(node, 0 if game.told else side) for node, side in plays]
            score = float(-value)
            if value == 0 and not ended:
                score = sum(values[node][0] == 1 for node, _ in {*children}) / len({*children})
            depths = [
                (remoteness + (value == 1)) // 2
                if value == wanted and remoteness is not None
                else None
                for wanted in (-1, 1)
            ]
            orbit = game.order if game.told else 1
            rows[here] = (
                str(here),
                ply,
                int(ended),
                value,
                remoteness,
                score,
                *depths,
                orbit,
                str(children),
            )
            later |= {*children}
        wave, ply = later - {*rows}, ply + 1
    return sorted(rows.values())


def wrong_rows(chance: Random, path: Path) -> tuple[str, str]:
    """Build a random game; return it, and the rows that only one of the two solvers has."""
    game = RandomGame(chance)
    build(game, path)
    with closing(sqlite3.connect(path)) as connection:
        texts = dict(connection.execute("SELECT id, position FROM state"))
        edges: dict[int, list[str]] = {each: [] for each in texts}
        for parent, child in connection.execute(
            "SELECT parent, child FROM edge ORDER BY parent, move"
        ):
            edges[parent].append(texts[child])
        rows = connection.execute(f"SELECT id, {COLUMNS} FROM state").fetchall()
    found = {(*row, f"[{', '.join(edges[key])}]") for key, *row in rows}
    wrong = found ^ {*expected(game)}
    return f"{game.table}, {game.first}, {game.told}", str(sorted(map(str, wrong)) or "")
