"""The symmetries of a rectangular board, as lookup tables on packed masks.

A mask holds one bit per cell, cell 0 the most significant. A packed position is two masks, the
first player's above the second's. Its canonical state is the image with the smallest integer.
"""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from graphstore.rules.game import Ints

CHUNK_BITS = 16  # a table of 2**16 int32 entries stays in a processor's second-level cache


class BoardSymmetry:
    """The symmetry group of a board of `rows` by `columns` cells.

    A mask has at most 63 cells, a packed position 31. `permutations` (cell -> its image, the
    identity first) restricts the group to some symmetries.

    >>> BoardSymmetry(rows=3, columns=3).canonical(np.array([0b100000000_000000000]))
    array([512])
    """

    def __init__(
        self, *, rows: int, columns: int, permutations: list[tuple[int, ...]] | None = None
    ) -> None:
        self.cells = rows * columns
        self.permutations = permutations or board_permutations(rows=rows, columns=columns)
        self.order = len(self.permutations)
        self._width = min(self.cells, CHUNK_BITS)

    def images(self, masks: Ints) -> Ints:
        """Return int64[order, n]: every mask under every symmetry, the identity first."""
        return self._image(slice(None), masks)

    def positions(self, positions: Ints) -> Ints:
        """Return int64[order, n]: every packed position under every symmetry."""
        first, second = self.split(positions)
        return (self.images(first) << self.cells) | self.images(second)

    def canonical(self, positions: Ints) -> Ints:
        """Return int64[n]: the smallest image of every packed position."""
        first, second = self.split(positions)
        least, which, tied = self._least(first)
        canonical = (least << self.cells) | self._image(which, second)
        several = np.flatnonzero(tied)
        if several.size:
            canonical[several] = self.positions(positions[several]).min(axis=0)
        return canonical

    def orbits(self, positions: Ints) -> Ints:
        """Return int64[n]: the number of different images of every packed position."""
        orbits = np.full(len(positions), self.order, dtype=np.int64)
        _, _, tied = self._least(self.split(positions)[0])
        several = np.flatnonzero(tied)
        if several.size:
            some = positions[several]
            orbits[several] //= (self.positions(some) == some).sum(axis=0)
        return orbits

    def split(self, positions: Ints) -> tuple[Ints, Ints]:
        """Return the two masks of every packed position."""
        return positions >> self.cells, positions & (2**self.cells - 1)

    def _image(self, which: NDArray[np.intp] | slice, masks: Ints) -> Ints:
        """Return the image of each mask under the symmetry `which`, one for each mask, or all."""
        low = masks & (2**self._width - 1)
        image: Ints = self._tables[0][which, low].astype(np.int64)
        for number, table in enumerate(self._tables[1:], 1):
            image |= table[which, (masks >> number * self._width) & (len(table[0]) - 1)]
        return image

    def _least(self, masks: Ints) -> tuple[Ints, NDArray[np.intp], NDArray[np.bool_]]:
        """Return each mask's smallest image, a symmetry that gives it, and True if several do."""
        if self.cells <= CHUNK_BITS:
            least, which, tied = self._least_table
            return least[masks], which[masks], tied[masks]
        return _least(self.images(masks))

    @cached_property
    def _tables(self) -> list[NDArray[np.int32] | Ints]:
        """The images of each chunk of a mask, the low chunk first: [order, 2**width].

        They are int32 up to 31 cells, else int64.
        """
        kind: type[np.int32 | np.int64] = np.int32 if self.cells < 32 else np.int64
        tables = []
        for shift in range(0, self.cells, self._width):
            width = min(self._width, self.cells - shift)
            chunk = np.arange(2**width, dtype=np.int64)
            table = np.zeros((self.order, 2**width), dtype=kind)
            for row, permutation in zip(table, self.permutations, strict=True):
                for bit in range(width):
                    cell = self.cells - 1 - (bit + shift)
                    image = self.cells - 1 - permutation[cell]
                    row |= (((chunk >> bit) & 1) << image).astype(kind)
            tables.append(table)
        return tables

    @cached_property
    def _least_table(self) -> tuple[Ints, NDArray[np.intp], NDArray[np.bool_]]:
        return _least(self.images(np.arange(2**self.cells, dtype=np.int64)))


def board_permutations(*, rows: int, columns: int) -> list[tuple[int, ...]]:
    """Return the distinct symmetries of a board, the identity first: cell -> its image.

    >>> [len(board_permutations(rows=r, columns=c)) for r, c in ((3, 3), (3, 4), (1, 4))]
    [8, 4, 2]
    """
    board = np.arange(rows * columns).reshape(rows, columns)
    turned = [board, board.T] if rows == columns else [board]
    views = [view[::down, ::across] for view in turned for down in (1, -1) for across in (1, -1)]
    return list(dict.fromkeys(tuple(view.ravel().tolist()) for view in views))


def _least(images: Ints) -> tuple[Ints, NDArray[np.intp], NDArray[np.bool_]]:
    least = images.min(axis=0)
    attained = images == least
    return least, attained.argmax(axis=0), attained.sum(axis=0) > 1
