"""The board of a game of lines as masks of bits, for the search of `graphstore.solver.bitboards`.

Two players place stones of their own; the first line of k ends the game, and a full board without a
line is a draw.
"""

from typing import NamedTuple, Protocol, runtime_checkable


class Bitboard(NamedTuple):
    """A board of at most 63 bits.

    Each row or column of cells ends in a bit that is not a cell, so that lines found by shifts do
    not cross an edge. Two packed masks of the least image of a position determine the game.
    """

    cells: int  # the number of cells
    full: int  # the mask of all cells
    bottom: int  # the lowest cells of the columns if stones fall to them, else 0
    steps: tuple[int, ...]  # at most 4: the bits from a cell of a line to the next one
    length: int  # of a line
    misere: bool  # a line loses
    symmetries: tuple[tuple[int, ...], ...]  # for each, the image of every bit, as a mask
    # The first symmetry is the identity. If stones do not fall, images are dense: they use one bit
    # a cell, at most 31.


@runtime_checkable
class OnBitboard(Protocol):
    """A `Game` of lines, which a `Game` may say to be searched on bitboards."""

    @property
    def bitboard(self) -> Bitboard:
        """The board."""

    def stones(self, position: int) -> tuple[int, int]:
        """Return the masks of the stones of the player to move, and of all stones."""
