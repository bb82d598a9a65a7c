"""Wythoff's game: take any number from one of two heaps, or the same number from both.

W. A. Wythoff, A modification of the game of nim, Nieuw Archief voor Wiskunde 7 (1907) 199-202.
"""

import numpy as np

from graphstore.games.nim import Nim, checked_heaps
from graphstore.rules.game import Ints, Moves

BOTH = 3  # in place of the number of a heap


class Wythoff(Nim):
    """Wythoff's game: nim with moves that take from both heaps. Create one with `wythoff`."""

    def expand(self, positions: Ints) -> Moves:
        most = self._unpack(positions).min(axis=1)
        from_both = np.repeat(np.arange(len(positions)), most)
        take = np.arange(len(from_both)) - np.repeat(np.cumsum(most) - most, most) + 1
        after = positions[from_both] - (take << self._shift[0]) - (take << self._shift[1])
        moves = (BOTH * 10**self._digits + take).astype(np.int32)
        parts = [super().expand(positions), Moves(from_both, moves, after)]
        parent, move, child = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        order = np.argsort(parent, kind="stable")
        return Moves(parent[order], move[order], child[order])

    def write_move(self, move: int) -> str:
        """Return ``2-3`` for taking 3 from heap 2, and ``both-3`` for 3 from each heap."""
        heap, take = divmod(move, 10**self._digits)
        return f"{'both' if heap == BOTH else heap}-{take}"

    def read_move(self, text: str) -> int:
        word, _, take = text.lower().partition("-")
        move = super().read_move(f"1-{take}" if word == "both" else text)
        return move + (BOTH - 1) * int(10**self._digits) if word == "both" else move


def wythoff(a: int, b: int) -> Wythoff:
    """Return Wythoff's game with heaps of a and b.

    >>> wythoff(5, 3).name
    'wythoff(3,5)'
    """
    heaps = checked_heaps("wythoff", a, b)
    return Wythoff(f"wythoff({heaps[0]},{heaps[1]})", heaps=heaps)
