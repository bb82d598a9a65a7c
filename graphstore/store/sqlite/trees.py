"""B-trees of ascending rows of integers, written page by page to a SQLite file.

For each row that SQLite inserts, it searches the place. Ascending rows need no search: arrays of
them fill one page after the other. The format is that of https://www.sqlite.org/fileformat2.html.
"""

import struct
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from graphstore.rules.game import Ints
from graphstore.util.arrays import offsets

_LEAF: Final = 10  # a page of an index, or of a table without rowid
_INTERIOR: Final = 2
_LOCKED: Final = 2**30  # the page with this byte stays empty
_LARGEST: Final = (2**7 - 1, 2**15 - 1, 2**23 - 1, 2**31 - 1, 2**47 - 1)
"""The largest integers of the serial types 1 to 5; type 6 has the others."""
_LENGTH: Final = (0, 1, 2, 3, 4, 6, 8)  # bytes, by serial type


def write_trees(path: Path, trees: Mapping[int, Iterable[Sequence[Ints]]]) -> None:
    """Write the rows of empty b-trees into a file that no connection is reading or writing.

    Args:
        path: the SQLite file.
        trees: chunks of rows by the page of the root. A chunk is an array for each stored column;
            rows ascend.
    """
    with path.open("r+b") as file:
        header = bytearray(file.read(100))
        pages = _Pages(file, header)
        for root, chunks in trees.items():
            _write_tree(pages, root, chunks)
        changes = (int.from_bytes(header[24:28]) + 1) % 2**32  # so connections read it again
        header[24:32] = struct.pack(">II", changes, pages.count)
        header[92:96] = struct.pack(">I", changes)
        file.seek(0)
        file.write(header)


class _Pages:
    """The pages of a file, which are numbered from 1 on."""

    def __init__(self, file: BinaryIO, header: bytes | bytearray) -> None:
        self._file = file
        self._size = int.from_bytes(header[16:18])
        self.usable = self._size - header[20]
        self.count = int.from_bytes(header[28:32])

    def write(
        self, cells: bytes, begins: NDArray[np.int64], right: int = 0, *, page: int = 0
    ) -> int:
        """Write a page of cells, which begin at `begins`; return its number, by default a new one.

        `right` is the page below the last cell; 0 for a leaf.
        """
        if not page:
            self.count += 2 if self.count == _LOCKED // self._size else 1
            page = self.count
        at = self.usable - len(cells)
        head = struct.pack(">BHHHB", _INTERIOR if right else _LEAF, 0, len(begins), at, 0)
        head += struct.pack(">I", right) if right else b""
        head += (begins + at).astype(">u2").tobytes()
        self._file.seek((page - 1) * self._size)
        self._file.write((head.ljust(at, b"\0") + cells).ljust(self._size, b"\0"))
        return page


def _write_tree(pages: _Pages, root: int, chunks: Iterable[Sequence[Ints]]) -> None:
    """Write a tree from left to right: full leaves, then level by level the pages above them."""
    cells, begins = np.empty(0, dtype=np.uint8), np.zeros(1, dtype=np.int64)
    level: list[tuple[int, bytes]] = []  # its pages, and the row after each but the last
    for columns in chain(chunks, [None]):
        if columns is not None and len(columns[0]):
            more, offset = _cells(columns)
            cells = np.concatenate((cells, more))
            begins = np.concatenate((begins, begins[-1] + offset[1:]))
        first, n = 0, len(begins) - 1
        cost = begins + 2 * np.arange(n + 1)
        while True:
            last = int(np.searchsorted(cost, cost[first] + pages.usable - 8, side="right")) - 1
            if last >= (n if columns is None else n - 1):
                break  # the rows fit into the last leaf, or the next chunk has more for this one
            last = min(last, n - 2)  # the last leaf is not empty
            leaf = cells[begins[first] : begins[last]].tobytes()
            page = pages.write(leaf, begins[first:last] - begins[first])
            level.append((page, cells[begins[last] : begins[last + 1]].tobytes()))
            first = last + 1
        cells, begins = cells[begins[first] :], begins[first:] - begins[first]
    page = pages.write(cells.tobytes(), begins[:-1], page=0 if level else root)
    level.append((page, b""))
    while len(level) > 1:
        most = (pages.usable - 12) // (max(len(row) for _, row in level) + 6) + 1
        count = -(-len(level) // most)  # of the pages above
        above = []
        for begin, end in pairwise(len(level) * each // count for each in range(count + 1)):
            *left, (right, after) = level[begin:end]
            rows = [struct.pack(">I", page) + row for page, row in left]
            starts = offsets(np.array([*map(len, rows)]))[:-1]
            page = pages.write(b"".join(rows), starts, right, page=root if count == 1 else 0)
            above.append((page, after))
        level = above


def _cells(columns: Sequence[Ints]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the cells of rows, one after the other, and their offsets, int64[n + 1].

    All integers of a column get the length of its largest: SQLite stores shorter ones shorter, and
    reads them in any length.
    """
    sizes = [max(int(column.max()), ~int(column.min())) for column in columns]
    types = [bisect_left(_LARGEST, size) + 1 for size in sizes]
    lengths = [_LENGTH[each] for each in types]
    head = 1 + len(columns)
    prefix = bytes((head + sum(lengths), head, *types))
    cells = np.empty((len(columns[0]), len(prefix) + sum(lengths)), dtype=np.uint8)
    cells[:, : len(prefix)] = np.frombuffer(prefix, dtype=np.uint8)
    at = len(prefix)
    for column, length in zip(columns, lengths, strict=True):
        digits = column.astype(">i8").view(np.uint8).reshape(-1, 8)
        cells[:, at : at + length] = digits[:, 8 - length :]
        at += length
    return cells.ravel(), np.arange(0, cells.size + 1, cells.shape[1])
