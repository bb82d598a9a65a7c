"""Scores of positions on bitboards; `graphstore.solver.null_window` is the inner loop."""

import logging
import sys
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np

from graphstore.errors import MemoryLimitError, MissingExtraError
from graphstore.rules.bitboard import Bitboard
from graphstore.rules.game import DRAW, LOSS, WIN
from graphstore.solver import null_window as inner
from graphstore.util.extras import extra

PLAIN: Final = 2_000  # positions examined without numba, about as long as numba takes to import
PLAIN_PAUSE: Final = 256  # positions between two checks of the clock without numba
PAUSE: Final = 50_000  # likewise with numba, about 0.01 s

MEGABYTES: Final = 1_000  # of address space that a process with numba takes

LOG: Final = logging.getLogger(__name__)
"""Gets a message of level INFO when a search is slow because numba is missing."""


class Bitboards:
    """A search of the positions of one board, with a table that threads may share."""

    def __init__(self, board: Bitboard, *, entries: int) -> None:
        self.board = board
        self._table = np.zeros(4 * max(1, entries // 2), dtype=np.int64)
        self._numbers = _numbers(board)
        self._images = _images(board)
        self._lists = self._numbers.tolist(), self._images.tolist()
        self._entries = 0
        self._plain = PLAIN  # positions still to examine before numba is imported

    def score(
        self,
        own: int,
        filled: int,
        count: Callable[[int], None],
        *,
        least: int | None = None,
        most: int | None = None,
    ) -> int:
        """Return the score of a position in play for the player to move; see `null_window`.

        Args:
            own: the stones of the player to move.
            filled: all stones.
            count: called with the number of positions examined; it may raise an error to stop.
            least: a lower bound, if known.
            most: do not tell scores above this one from it.
        """
        low, high = self.bounds(own, filled)
        low = low if least is None else max(low, least)
        high = high if most is None else min(high, most)
        while low < high:
            goal = (low + high + 1) // 2
            bound = self.bound(own, filled, goal, count)
            low, high = (bound, high) if bound >= goal else (low, bound)
        return low

    def bounds(self, own: int, filled: int) -> tuple[int, int]:
        """Return bounds of a score that are seen at once; equal if the player wins at once."""
        board, stones = self.board, filled.bit_count()
        left = board.cells - stones
        if board.misere:
            return -((left + 1) // 2), left // 2
        moves = (filled + board.bottom) & board.full if board.bottom else board.full & ~filled
        if moves & inner.threats(own, board.full & ~filled, self._lists[0]):
            return (left + 1) // 2, (left + 1) // 2
        return -(left // 2), max(0, (left - 1) // 2)

    def bound(self, own: int, filled: int, goal: int, count: Callable[[int], None]) -> int:
        """Return a lower bound of a score that reaches `goal`, or else an upper bound.

        The bounds of the position must differ.
        """
        symmetries = (1 << len(self.board.symmetries)) - 2  # all but the identity
        state = np.zeros(3, dtype=np.int64)
        frames = np.zeros(inner.MOST * inner.FIELDS, dtype=np.int64)
        frames[[inner.OWN, inner.FILLED, inner.GOAL, inner.LIVE]] = own, filled, goal, symmetries
        lists = np.zeros(inner.MOST * inner.MOST, dtype=np.int64)
        return self._run((state, frames, lists, self._table), count)

    def __len__(self) -> int:
        """Return the number of positions in the table."""
        return self._entries

    def worth(self, score: int, filled: int) -> tuple[int, int]:
        """Return the value and the plies to the end of a score, under best play by both."""
        stones, cells = filled.bit_count(), self.board.cells
        if score == 0:
            return DRAW, cells - stones
        plies = cells + 2 - 2 * abs(score) - stones
        mover_ends = (score > 0) != self.board.misere
        return WIN if score > 0 else LOSS, plies if plies % 2 == mover_ends else plies - 1

    def _run(self, arrays: tuple[Any, ...], count: Callable[[int], None]) -> int:
        """Return a bound of the score of the first position of a path; see `null_window.run`."""
        bound, begun, search = inner.PAUSED, 0, arrays[0]
        run_plain: Any = inner.run
        while bound == inner.PAUSED:
            ready = self._plain <= 0 or sys.modules.get("numba") is not None
            run = compiled_run() if ready else None
            if run is not None:
                state, *rest = (*arrays, self._numbers, self._images)
                bound = run(state, begun + PAUSE, *rest)
            else:  # an item of a memoryview is a Python integer, which is faster than numpy's
                state, *rest = (*tuple(memoryview(each) for each in arrays), *self._lists)
                bound = run_plain(state, begun + PLAIN_PAUSE, *rest)
            done = int(search[inner.NODES])
            self._entries += int(search[inner.ENTRIES])
            search[inner.ENTRIES] = 0
            count(done - begun)
            self._plain -= done - begun
            begun = done
        return int(bound)


@cache
def compiled_run() -> Any:
    """Return `null_window.run` compiled by numba, or None if numba cannot be imported."""
    missing = "the search is faster with numba: pip install 'graphstore[fast]'"
    try:
        with extra(missing, megabytes=MEGABYTES):
            return inner.compiled()
    except MissingExtraError:
        LOG.info(missing)
    except (ImportError, MemoryLimitError) as error:  # numba refuses some versions of numpy
        LOG.info("the search runs without numba: %s", error)
    return None


def _numbers(board: Bitboard) -> Any:
    """Return the numbers of a board that `null_window` reads."""
    width = len(board.symmetries[0])
    numbers = np.zeros(inner.ORDER + inner.MOST, dtype=np.int64)
    numbers[[inner.CELLS, inner.BOTTOM, inner.FULL]] = board.cells, board.bottom, board.full
    numbers[[inner.LENGTH, inner.MISERE]] = board.length, board.misere
    numbers[[inner.SYMMETRIES, inner.BYTES]] = len(board.symmetries), (width + 7) // 8
    for at, step in enumerate(board.steps):
        numbers[inner.STEPS + at] = step
        for first in range(width):
            line = [first + each * step for each in range(board.length)]
            if all(board.full >> cell & 1 for cell in line):
                numbers[[inner.ORDER + cell for cell in line]] += 1  # lines through each cell
    return numbers


def _images(board: Bitboard) -> Any:
    """Return the image of every byte of a mask under every symmetry, flat."""
    size = (len(board.symmetries[0]) + 7) // 8
    bits = np.zeros((len(board.symmetries), 8 * size), dtype=np.int64)
    bits[:, : len(board.symmetries[0])] = board.symmetries
    byte = np.arange(256)[:, np.newaxis] >> np.arange(8) & 1
    return (bits.reshape(-1, size, 1, 8) * byte).sum(axis=-1).ravel()
