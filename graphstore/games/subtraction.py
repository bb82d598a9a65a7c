"""Subtraction games: one heap, from which one of the given numbers is taken in turn.

Who cannot take any of them has lost, or has won in misère. A position is what is left; whose turn
it is is no part of it.
"""

from collections.abc import Sequence

import numpy as np

from graphstore.errors import GameNameError
from graphstore.games.heaps import read_heaps
from graphstore.rules.game import IN_PLAY, LOSS, WIN, Codes, Ints, Moves

MOST = 999_999_999  # so that a move fits into 32 bits


class Subtraction:
    """A subtraction game; a `graphstore.rules.game.Game`. A move is the number taken.

    Make one with `subtraction`.
    """

    players = ("player 1", "player 2")
    rules = "1"
    shape = None

    def __init__(self, name: str, *, start: int, takes: Sequence[int], misere: bool) -> None:
        self.name = name
        self.start = start
        self.takes: Ints = np.array(takes, dtype=np.int64)
        self.misere = misere
        self.max_plies = start // takes[0]

    def __repr__(self) -> str:
        return f"<game {self.name}>"

    def start_states(self) -> Ints:
        """See `graphstore.rules.game.Game.start_states`."""
        return np.array([self.start], dtype=np.int64)

    def expand(self, positions: Ints) -> Moves:
        """See `graphstore.rules.game.Game.expand`."""
        parent, which = np.nonzero(positions[:, np.newaxis] >= self.takes)
        take = self.takes[which]
        return Moves(parent, take.astype(np.int32), positions[parent] - take)

    def outcomes(self, positions: Ints) -> Codes:
        """See `graphstore.rules.game.Game.outcomes`: it is over when no number can be taken."""
        over = WIN if self.misere else LOSS
        return np.where(positions < self.takes[0], over, IN_PLAY).astype(np.int8)

    def turns(self, positions: Ints) -> Codes:
        """See `graphstore.rules.game.Game.turns`: a heap does not tell."""
        return np.zeros(len(positions), dtype=np.int8)

    def canonical(self, positions: Ints) -> Ints:
        """See `graphstore.rules.game.Game.canonical`: there are no symmetries."""
        return positions

    def orbits(self, positions: Ints) -> Ints:
        """See `graphstore.rules.game.Game.orbits`: each position is a class of its own."""
        return np.ones(len(positions), dtype=np.int64)

    def texts(self, positions: Ints) -> list[str]:
        """See `graphstore.rules.game.Game.texts`: what is left."""
        return list(map(str, positions.tolist()))

    def read(self, text: str) -> int:
        """See `graphstore.rules.game.Game.read`: any number up to the start is one."""
        return read_heaps(text, starts=(self.start,), game=self.name)[0]

    def read_many(self, texts: Sequence[str]) -> Ints:
        """See `graphstore.rules.game.Game.read_many`."""
        return np.array([self.read(text) for text in texts], dtype=np.int64)

    def board(self, position: int) -> str:
        """See `graphstore.rules.game.Game.board`: the number, and a stroke for each thing in the heap."""
        return f"{position} {'|' * min(position, 60)}".rstrip()


def subtraction(n: int, take: int, *more: int | str) -> Subtraction:
    """Return the game on a heap of n from which the given numbers may be taken.

    Args:
        n: what the heap starts with.
        take: a number that may be taken.
        more: others; ``misere`` at the end: who cannot take has won.

    >>> subtraction(21, 3, 2, 1).name
    'subtraction(21,1,2,3)'

    Raises:
        GameNameError: a parameter is out of range.
    """
    misere = more[-1:] == ("misere",)
    for value in (n, take, *more[: len(more) - misere]):
        if not isinstance(value, int) or value < 1:
            raise GameNameError(
                f"subtraction: a parameter is {value!r}; it must be a whole number from 1"
            )
    takes = sorted({take, *(value for value in more if isinstance(value, int))})
    if max(n, *takes) > MOST:
        raise GameNameError(f"subtraction: {max(n, *takes)} is too large; {MOST:,} fits")
    if takes[0] > n:
        raise GameNameError(
            f"subtraction: none of the takes can be taken from {n}; make one smaller"
        )
    name = f"subtraction({n},{','.join(map(str, takes))}{',misere' * misere})"
    return Subtraction(name, start=n, takes=takes, misere=misere)
