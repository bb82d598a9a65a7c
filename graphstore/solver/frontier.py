"""The values of many states of a game of lines by a search, as columns of the table state."""

from collections.abc import Generator
from concurrent.futures import as_completed
from threading import Event
from typing import Any, Final, TypeAlias

import numpy as np

from graphstore.rules.game import DRAW, IN_PLAY, WIN, Game, Ints, quiet
from graphstore.solver.bitboards import Bitboards
from graphstore.solver.clock import Clock
from graphstore.solver.search import cores, in_threads, on_bitboard
from graphstore.util.arrays import distinct

ENTRIES: Final = 16_000_000  # of 16 bytes

Row: TypeAlias = tuple[int, int, int, float]  # id, value, remoteness, score
KNOWN: Final = np.dtype([("id", "<i8"), ("value", "<i1"), ("remoteness", "<i4"), ("score", "<f8")])
"""The columns of a state that a search finds; the depths follow from them."""


def searched(game: Game, states: Ints, *, entries: int = ENTRIES) -> Generator[Row, None, None]:
    """Yield the columns of states in play as they are found, on all cores; see `KNOWN`.

    Raises:
        ArgumentError: the game is not searched on bitboards.
    """
    boards = Bitboards(on_bitboard(game).bitboard, entries=entries)

    def one(at: int, stop: Event) -> Row:
        return at, *_row(game, boards, at, Clock(None, quiet, stop))

    with in_threads(one, states.tolist(), cores()) as results:
        for each in as_completed(results):
            yield each.result()


def _row(game: Any, boards: Bitboards, at: int, clock: Clock) -> tuple[int, int, float]:
    """Return value, remoteness and score of a state in play."""
    own, filled = game.stones(at)
    value, remoteness = boards.worth(boards.score(own, filled, clock.count), filled)
    if value != DRAW:
        return value, remoteness, 0.0 - value
    children = distinct(game.canonical(game.expand(np.array([at], dtype=np.int64)).child))
    lost = 0
    for child, outcome in zip(children.tolist(), game.outcomes(children).tolist(), strict=True):
        if outcome == IN_PLAY:  # no child of a draw is lost for the player to move there
            own, filled = game.stones(child)
            lost += boards.score(own, filled, clock.count, least=0, most=1) > 0
        else:
            lost += outcome == WIN
    return value, remoteness, lost / len(children)
