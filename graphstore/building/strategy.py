"""Find X's winning strategy for ultimate tic-tac-toe (open rules), and write it to a database.

The strategy is that of Bertholon, Géraud-Stewart, Kugelmann, Lenoir and Naccache (2020, arXiv
2006.02353). Here f.s is spot s of field f. In the *first phase* X answers O's 4.j with j.4 until
field 4 is full, and then plays k.k, where k is the field that O's last mark sends X to. In the
*second phase* X wins at once if possible, and otherwise sends O to field k or to field 8 - k; a
search chooses among these moves. `graphstore.checks.proof` checks the strategy in the file.
"""

import os
from typing import Final, TypeAlias

import numpy as np

from graphstore.building.saving import Clock, Report, save
from graphstore.errors import GameNameError
from graphstore.games import find_game
from graphstore.games.ultimate.fields import (
    ANY,
    CROSS,
    LINES,
    NOUGHT,
    SPOTS,
    SYMMETRIES,
    Field,
    cells_of,
    contents,
    tables,
)
from graphstore.games.ultimate.rules import Ultimate
from graphstore.rules.game import Ints, Moves, Progress, quiet
from graphstore.solver.exploration import explore
from graphstore.solver.solution import solve
from graphstore.store import schema
from graphstore.store.columns import SolvedGraph
from graphstore.store.store import find_backend

GAME: Final = "ultimate(open)"
PLIES: Final = 43  # within which X wins
FIRST_PHASE: Final = 16  # plies
MIDDLE: Final = 4
OPENING: Final = SPOTS * MIDDLE + MIDDLE

Place: TypeAlias = tuple[tuple[int, ...], int]
"""The numbers of nine fields, and the active field; the side to move follows from the context."""


def prove(
    target: str | os.PathLike[str],
    *,
    force: bool = False,
    drop_agents: bool = False,
    progress: Progress = quiet,
) -> Report:
    """Write X's strategy for ``ultimate(open)`` to a database, all or nothing.

    In every state X has one move, and O has all legal moves; values and depths are those under this
    strategy. The options and the exceptions are those of `graphstore.build`.
    """
    game = StrategyForX()

    def solved(clock: Clock) -> SolvedGraph:
        progress("search", 0, None)
        game.search()
        clock.lap("search")
        graph = explore(game, progress=progress)
        clock.lap("explore")
        solve(graph, progress=progress)
        clock.lap("solve")
        return SolvedGraph(game, graph, schema.STRATEGY)

    return save(
        game.name,
        find_backend(target, "target").for_game(game.name),
        solved,
        force=force,
        drop_agents=drop_agents,
        progress=progress,
    )


def check_name(name: str) -> None:
    """Raise a GameNameError unless the game is ``ultimate(open)``."""
    if name.strip().lower() != "ultimate" and find_game(name).name != GAME:
        raise GameNameError(f"there is no proof for {find_game(name).name}, only for {GAME}")


class StrategyForX(Ultimate):
    """Ultimate tic-tac-toe under the open rules, with only the moves of the strategy for X."""

    def __init__(self) -> None:
        super().__init__(dead=False, count=False)
        self._answers: dict[Place, int | None] = {}

    def search(self) -> None:
        """Find X's moves in the second phase, for a field k in a corner and one on an edge.

        >>> game = StrategyForX()
        >>> game.search()
        >>> game.expand(game.start_states()).move
        array([40], dtype=int32)
        """
        for corner_or_edge in (0, 1):
            search = Search(corner_or_edge)
            assert search.holds(search.start, (PLIES - FIRST_PHASE) // 2), "X does not win"
            self._answers |= search.answers

    def expand(self, positions: Ints) -> Moves:
        """Return all moves of O and X's one move: see `graphstore.rules.game.Game.expand`."""
        moves = super().expand(positions)
        chosen = np.full(len(positions), -1)
        for row in np.flatnonzero(self.turns(positions) == CROSS):
            fields, active, _ = self.merged(int(positions[row]))
            chosen[row] = self._answer((fields, active))
        kept = (chosen[moves.parent] < 0) | (chosen[moves.parent] == moves.move)
        return Moves(*(column[kept] for column in moves))

    def _answer(self, place: Place) -> int:
        """Return X's move; in the second phase, from the first image that the search has met."""
        fields, active = place
        if not any(fields):
            return OPENING
        if tables().playable[fields[MIDDLE]]:
            return SPOTS * active + MIDDLE
        if active != ANY and fields[active] == 0:
            return SPOTS * active + active
        for which, symmetry in enumerate(SYMMETRIES):
            move = self._answers.get(_image(place, which))
            if move is not None:
                field, spot = divmod(move, SPOTS)
                return SPOTS * symmetry.index(field) + symmetry.index(spot)
        raise AssertionError(f"no answer to {place}")


class Search:
    """A depth-first search of the second phase.

    `k` is the field to which O's last mark in field 4 has sent X. A place determines its ply, so
    results are cached by place alone.
    """

    def __init__(self, k: int) -> None:
        self.pair = (k, SPOTS - 1 - k)
        self.answers: dict[Place, int | None] = {}  # None: X has no move that wins in time
        self._held: dict[Place, bool] = {}
        known = tables()
        marks = (cells_of(known.codes) == CROSS).sum(axis=1)
        missing = np.where(known.result == CROSS, 0, np.maximum(1, 3 - marks))
        missing[~np.isin(known.result, (0, CROSS))] = SPOTS * SPOTS
        # Lists by the number of a field: Python reads them faster than arrays.
        self._marked: list[list[list[int]]] = known.after[0].tolist()  # [player - 1][field][spot]
        self._result: list[int] = known.result.tolist()
        self._free = [tuple(np.flatnonzero(each).tolist()) for each in known.free]
        self._lacking: list[int] = missing.tolist()  # the fewest marks that X needs to win it
        middle, first = ((0,) * at + (CROSS,) + (0,) * (SPOTS - 1 - at) for at in (MIDDLE, k))
        fields = [contents(Field(middle, 0), dead=False).field] * SPOTS
        fields[MIDDLE] = contents(Field((NOUGHT,) * SPOTS, NOUGHT), dead=False).field
        fields[k] = contents(Field(first, 0), dead=False).field
        self.start: Place = (tuple(fields), k)  # O is to move, after X's k.k

    def holds(self, place: Place, left: int) -> bool:
        """Return whether X wins within `left` moves of X, with O to move."""
        if place not in self._held:
            fields, active = place
            spots = self._free[fields[active]]
            after = [self._after(fields, active, spot, NOUGHT) for spot in spots]
            o_wins = any(self._has_line(each, active, NOUGHT) for each, _ in after)
            self._held[place] = not o_wins and all(self._wins(each, left) for each in after)
        return self._held[place]

    def _wins(self, place: Place, left: int) -> bool:
        """Return whether X wins within `left` moves of X, with X to move."""
        if place not in self.answers:
            self.answers[place] = self._best(place, left)
        return self.answers[place] is not None

    def _best(self, place: Place, left: int) -> int | None:
        """Return X's move, or None if X does not win within `left` moves of X.

        The lowest move that wins at once comes first; then the lowest that leads to a place known
        to be won, so that states share their continuations; then the first that a search finds to
        win. The search tries moves that bring X nearest to a line first, then the lowest.
        """
        fields, active = place
        if min(self._missing(fields)) > left:
            return None
        where = range(SPOTS) if active == ANY else (active,)
        legal = [(field, spot) for field in where for spot in self._free[fields[field]]]
        sends = []
        for field, spot in legal:
            after = self._after(fields, field, spot, CROSS)
            if self._has_line(after[0], field, CROSS):
                return SPOTS * field + spot
            if spot in self.pair and after[1] != ANY:
                nearness = sum(4.0**-missing for missing in self._missing(after[0]))
                sends.append((-nearness, SPOTS * field + spot, after))
        for _, move, after in sends:
            if self._held.get(after):
                return move
        for _, move, after in sorted(sends):
            if left > 1 and self.holds(after, left - 1):
                return move
        return None

    def _after(self, fields: tuple[int, ...], field: int, spot: int, mark: int) -> Place:
        new = self._marked[mark - 1][fields[field]][spot]
        fields = (*fields[:field], new, *fields[field + 1 :])
        return fields, spot if self._free[fields[spot]] else ANY

    def _has_line(self, fields: tuple[int, ...], field: int, mark: int) -> bool:
        """Return whether a side has a line of fields through `field`."""
        return any(
            field in line and all(self._result[fields[each]] == mark for each in line)
            for line in LINES
        )

    def _missing(self, fields: tuple[int, ...]) -> list[int]:
        """Return for each line of fields the fewest marks with which X can complete it."""
        lacking = [self._lacking[field] for field in fields]
        return [lacking[a] + lacking[b] + lacking[c] for a, b, c in LINES]


def _image(place: Place, which: int) -> Place:
    fields, active = place
    symmetry, images = SYMMETRIES[which], tables().images[which]
    image = [0] * SPOTS
    for field, to in enumerate(symmetry):
        image[to] = int(images[fields[field]])
    return tuple(image), ANY if active == ANY else symmetry[active]
