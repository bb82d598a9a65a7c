"""The plain pipeline that bench.py compares with: m,n,k games, one state at a time.

It is a simple program: a dict of states, a networkx.DiGraph, and executemany. It shares no code
with graphstore, and writes the same rows.
"""

import sqlite3
from collections import deque
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import networkx as nx
from shared import Laps

COLUMNS = (
    "position, ply, to_move, ended, value, remoteness, score, "
    "win_depth, lose_depth, orbit, random_value, best_response"
)


@dataclass(slots=True)
class State:
    """The values of a state; `random_value`, `chooser` and `drifter` are for the player to move."""

    ply: int
    outcome: int | None = None
    value: int = 0
    remoteness: int = 0
    score: float = 0
    random_value: float = 0
    chooser: float = 0  # against a random opponent
    drifter: float = 0  # the player to move plays at random, and the opponent chooses


States = dict[int, State]


class Board:
    """The rules of an m,n,k game for one position: X's mask above O's, in one integer."""

    def __init__(self, columns: int, rows: int, in_a_row: int, *, misere: bool) -> None:
        self.columns, self.rows, self.misere = columns, rows, misere
        self.cells = columns * rows
        self.full = 2**self.cells - 1
        self.bits = [(cell, self.bit(cell)) for cell in range(self.cells)]
        self.lines = [sum(map(self.bit, line)) for line in self._lines(in_a_row)]
        self.images = cache(self._images)
        where = [[row * columns + column for column in range(columns)] for row in range(rows)]
        turned = [where, [list(line) for line in zip(*where, strict=True)]][: 1 + (rows == columns)]
        views = [
            [row[::x] for row in view[::y]] for view in turned for x in (1, -1) for y in (1, -1)
        ]
        self.symmetries = [[cell for row in view for cell in row] for view in views]

    def bit(self, cell: int) -> int:
        """Return the mask of a cell."""
        return 1 << (self.cells - 1 - cell)

    def _lines(self, k: int) -> Iterator[list[int]]:
        for row in range(self.rows):
            for column in range(self.columns):
                for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
                    last_row, last_column = row + down * (k - 1), column + right * (k - 1)
                    if last_row < self.rows and 0 <= last_column < self.columns:
                        step = down * self.columns + right
                        yield [row * self.columns + column + i * step for i in range(k)]

    def _images(self, mask: int) -> list[int]:
        """Return a mask under every symmetry."""
        marked = [bool(mask & self.bit(cell)) for cell in range(self.cells)]
        return [
            sum(self.bit(cell) for cell, origin in enumerate(symmetry) if marked[origin])
            for symmetry in self.symmetries
        ]

    def split(self, state: int) -> tuple[int, int]:
        """Return X's and O's mask."""
        return state >> self.cells, state & self.full

    def positions(self, x: int, o: int) -> list[int]:
        """Return a position under every symmetry."""
        cells = self.cells
        return [a << cells | b for a, b in zip(self.images(x), self.images(o))]  # noqa: B905

    def outcome(self, x: int, o: int) -> int | None:
        """Return the value of an ended position for the player to move, None in play."""
        opponent = o if x.bit_count() == o.bit_count() else x
        for line in self.lines:
            if opponent & line == line:
                return 1 if self.misere else -1
        return 0 if x | o == self.full else None

    def text(self, x: int, o: int) -> str:
        """Return a position as text."""
        marks = "".join(["X" if x & bit else "O" if o & bit else "." for _, bit in self.bits])
        starts = range(0, self.cells, self.columns)
        return "/".join(marks[begin : begin + self.columns] for begin in starts)


def pipeline(board: Board, file: Path) -> tuple[dict[str, float], States, Any]:
    """Explore, solve and store a game; return the seconds by phase, the states and the graph."""
    laps = Laps()
    states, graph = explore(board)
    laps.lap("explore")
    solve(states, graph)
    laps.lap("solve")
    store(board, states, graph, file, laps)
    return laps.seconds, states, graph


def explore(board: Board) -> tuple[States, Any]:
    """Return all canonical states, breadth first, and a networkx.DiGraph of them."""
    graph = nx.DiGraph()
    graph.add_node(0)
    states = {0: State(0)}
    queue = deque(states)
    while queue:
        parent = queue.popleft()
        x, o = board.split(parent)
        outcome = states[parent].outcome = board.outcome(x, o)
        if outcome is not None:
            continue
        x_moves = x.bit_count() == o.bit_count()
        children: dict[int, list[int]] = {}
        for cell, bit in board.bits:
            if not (x | o) & bit:
                images = board.positions(x | bit, o) if x_moves else board.positions(x, o | bit)
                children.setdefault(min(images), []).append(cell)
        for child, moves in children.items():
            graph.add_edge(parent, child, moves=moves)
            if child not in states:
                states[child] = State(states[parent].ply + 1)
                queue.append(child)
    return states, graph


def solve(states: States, graph: Any) -> None:
    """Solve one state at a time, the last found first: every move leads to a later one."""
    neighbours = dict(graph.adjacency())
    for key, state in reversed(states.items()):
        if state.outcome is not None:
            state.value, state.score = state.outcome, -float(state.outcome)
            state.random_value = state.chooser = state.drifter = float(state.outcome)
            continue
        edges = neighbours[key]
        children = [states[child] for child in edges]
        state.value = value = -min([child.value for child in children])
        kept = [child.remoteness for child in children if child.value == -value]
        state.remoteness = 1 + (max(kept) if value == -1 else min(kept))
        losing = sum([child.value == 1 for child in children])
        state.score = losing / len(children) if value == 0 else float(-value)
        moves = [len(edge["moves"]) for edge in edges.values()]
        total = sum([n * child.random_value for n, child in zip(moves, children, strict=True)])
        state.random_value = -total / sum(moves)
        state.chooser = -min([child.drifter for child in children])
        total = sum([n * child.chooser for n, child in zip(moves, children, strict=True)])
        state.drifter = -total / sum(moves)


def store(board: Board, states: States, graph: Any, file: Path, laps: Laps) -> None:
    """Write the two tables row by row in the order of their keys, then the index."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=OFF").fetchall()
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute(f"CREATE TABLE state (id INTEGER PRIMARY KEY, {COLUMNS})")
        connection.execute(
            "CREATE TABLE edge (parent, move, child, PRIMARY KEY (parent, move)) WITHOUT ROWID"
        )
        connection.execute("BEGIN")
        keys = sorted(states)
        neighbours = dict(graph.adjacency())
        places = ", ".join("?" * 13)
        rows = (row(board, key, states[key]) for key in keys)
        connection.executemany(f"INSERT INTO state VALUES ({places})", rows)
        laps.lap("load_states")
        edges = (
            (key, move, child)
            for key in keys
            for child, edge in neighbours[key].items()
            for move in edge["moves"]
        )
        connection.executemany("INSERT INTO edge VALUES (?, ?, ?)", edges)
        laps.lap("load_edges")
        connection.execute("CREATE INDEX child ON edge (child)")
        connection.execute("COMMIT")
        laps.lap("index")


def row(board: Board, key: int, state: State) -> tuple[Any, ...]:
    """Return a row of the table state."""
    x, o = board.split(key)
    return (
        key,
        board.text(x, o),
        state.ply,
        1 if x.bit_count() == o.bit_count() else 2,
        int(state.outcome is not None),
        state.value,
        state.remoteness,
        state.score,
        state.remoteness // 2 if state.value == -1 else None,
        (state.remoteness + 1) // 2 if state.value == 1 else None,
        len(set(board.positions(x, o))),
        state.random_value,
        -state.drifter,
    )
