"""Connect Four and its kin: stones fall to the lowest free cell of a column, k in a row wins.

A position packs a field of h + 1 bits a column, column 0 the most significant. From its low end
up a field has a bit for each stone, 1 where it is X's, then a marker bit 1 above the top stone.
X moves first, so the number of stones tells whose turn it is. A stone falls by one addition: the
marker itself for O, twice that for X. A mask of stones has the same fields, and as no stone
reaches a field's top bit, no line that shifts find runs over the edge of the board.
"""

from collections.abc import Callable, Sequence
from functools import cached_property, wraps
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from graphstore.errors import (
    BothSidesWonError,
    GameNameError,
    ImpossibleCountsError,
    PlayAfterWinError,
    PositionError,
)
from graphstore.game import DRAW, IN_PLAY, LOSS, Codes, Ints, Moves
from graphstore.games.boardtext import read_cells, write_cells

MAX_BITS = 63  # of a position: a signed 64-bit integer that is not negative
MARKS = "XO"
BLOCK = 1 << 14  # positions whose temporary arrays stay in a processor's second-level cache
ArrayT = TypeVar("ArrayT", Ints, Codes)
MaskT = TypeVar("MaskT", int, Ints)


class FloatingStoneError(PositionError):
    """A stone above an empty cell."""


def in_blocks(verb: Callable[[Any, Ints], ArrayT]) -> Callable[[Any, Ints], ArrayT]:
    """Return a verb that goes through its positions a block at a time."""

    @wraps(verb)
    def blockwise(game: Any, positions: Ints) -> ArrayT:
        if len(positions) <= BLOCK:
            return verb(game, positions)
        parts = range(0, len(positions), BLOCK)
        return np.concatenate([verb(game, positions[at : at + BLOCK]) for at in parts])

    return blockwise


class Mirror:
    """The mirror, left to right, of `columns` fields of `bits` bits each."""

    def __init__(self, *, columns: int, bits: int) -> None:
        self._swaps = []
        groups, size = [0], columns  # where each group of columns begins
        while size > 1:  # swap the halves of all groups, then these are the groups
            half, far = size // 2, (size + 1) // 2
            low = sum(2 ** (half * bits) - 1 << group * bits for group in groups)
            middle = sum(2**bits - 1 << (group + half) * bits for group in groups) * (half < far)
            # a column in no group, the middle of an earlier one, is kept as well
            ...
