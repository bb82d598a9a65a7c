"""Subtraction games: one heap, from which each move takes one of the given numbers.

A player who cannot move has lost, or has won in misère. A position is the size of the heap.
"""

from collections.abc import Sequence

import numpy as np

from graphstore.errors import GameNameError
from graphstore.games.base import ArrayGame, check_whole
from graphstore.games.heaps import read_heaps
from graphstore.rules.game import IN_PLAY, LOSS, WIN, Codes, Ints, Moves
from graphstore.rules.picture import Picture, heaps

MOST = 999_999_999  # so that a move fits into 32 bits


class Subtraction(ArrayGame):
    """A subtraction game. A move is the number taken. Create one with `subtraction`."""

    def __init__(self, name: str, *, start: int, takes: Sequence[int], misere: bool) -> None:
        self.name = name
        self.start = start
        self.takes: Ints = np.array(takes, dtype=np.int64)
        self.misere, self.impartial = misere, not misere
        self.max_plies = start // takes[0]

    def start_states(self) -> Ints:
        return np.array([self.start], dtype=np.int64)

    def expand(self, positions: Ints) -> Moves:
        parent, which = np.nonzero(positions[:, np.newaxis] >= self.takes)
        take = self.takes[which]
        return Moves(parent, take.astype(np.int32), positions[parent] - take)

    def outcomes(self, positions: Ints) -> Codes:
        over = WIN if self.misere else LOSS
        return np.where(positions < self.takes[0], over, IN_PLAY).astype(np.int8)

    def texts(self, positions: Ints) -> list[str]:
        return list(map(str, positions.tolist()))

    def read(self, text: str) -> int:
        """Return the position of a text, a number up to the start."""
        return read_heaps(text, starts=(self.start,), game=self.name)[0]

    def board(self, position: int) -> str:
        return f"{position} {'|' * min(position, 60)}".rstrip()

    def picture(self, position: int) -> Picture:
        """Return the heap; a move is on the lowest unit that it takes."""
        takes = ((take, 0, take) for take in self.takes.tolist() if take <= position)
        return heaps([position], [self.start], takes)


def subtraction(n: int, take: int, *more: int | str) -> Subtraction:
    """Return the game on a heap of n from which the given numbers may be taken.

    With ``misere`` as last argument, a player who cannot move has won.

    >>> subtraction(21, 3, 2, 1).name
    'subtraction(21,1,2,3)'
    """
    misere = more[-1:] == ("misere",)
    for value in (n, take, *more[: len(more) - misere]):
        check_whole("subtraction", **{"a parameter": value})  # type: ignore[arg-type]
    takes = sorted({take, *(value for value in more if isinstance(value, int))})
    if max(n, *takes) > MOST:
        raise GameNameError(f"subtraction: {max(n, *takes)} is too large; the limit is {MOST:,}")
    if takes[0] > n:
        raise GameNameError(
            f"subtraction: none of the takes can be taken from {n}; make one smaller"
        )
    name = f"subtraction({n},{','.join(map(str, takes))}{',misere' * misere})"
    return Subtraction(name, start=n, takes=takes, misere=misere)
