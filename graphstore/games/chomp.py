"""Chomp: a move eats a square and all squares that are neither above nor to the left of it.

The square at the top left is poisoned and is not eaten: a player who has only that one left cannot
move and has lost. A position packs the length of every row, the top one most significant.
"""

import numpy as np

from graphstore.errors import GameNameError
from graphstore.games.base import ArrayGame, check_bits, check_whole
from graphstore.games.nim import MAX_HEAP, Nim
from graphstore.games.sided import UnreachableError
from graphstore.rules.game import IN_PLAY, LOSS, Codes, Ints, Moves
from graphstore.rules.picture import UNITS, Cell, Picture


class Chomp(Nim):
    """Chomp, packed and written as nim with a heap for each row. Create one with `chomp`.

    Move 23 eats the square in row 2 and column 3 in chomp(4,3); its name is 2-3.
    """

    canonical, orbits, _plain = ArrayGame.canonical, ArrayGame.orbits, ArrayGame._plain

    def __init__(self, name: str, *, columns: int, rows: int) -> None:
        super().__init__(name, heaps=[columns] * rows)
        self.max_plies = columns * rows - 1

    def expand(self, positions: Ints) -> Moves:
        k, rows = len(positions), len(self.heaps)
        lengths = self._unpack(positions)
        flat = lengths.ravel()
        which = np.repeat(np.arange(k * rows), flat)
        column = np.arange(len(which)) - np.repeat(np.cumsum(flat) - flat, flat)
        eaten = (which % rows > 0) | (column > 0)
        which, column = which[eaten], column[eaten]
        parent, row = which // rows, which % rows
        widths = range(int(self.heaps[0]))
        cut = np.stack([self._pack(np.minimum(lengths, width)) for width in widths], axis=1)
        below = (self._mask[0] << self._shift[row]) | ((1 << self._shift[row]) - 1)  # and `row`
        child = (positions[parent] & ~below) | (cut[parent, column] & below)
        move = (row + 1) * 10**self._digits + column + 1
        return Moves(parent, move.astype(np.int32), child)

    def outcomes(self, positions: Ints) -> Codes:
        left = self._unpack(positions).sum(axis=1)
        return np.where(left == 1, LOSS, IN_PLAY).astype(np.int8)

    def picture(self, position: int) -> Picture:
        """Return the squares, X for the poisoned one; a move is on the square that it eats."""
        lengths = self._unpack(np.array([position]))[0].tolist()
        columns = min(int(self.heaps[0]), UNITS)
        rows = [[Cell(label="\u25cf", shape="unit")] * min(each, columns) for each in lengths]
        rows = [[*row, *[Cell()] * (columns - len(row))] for row in rows]
        rows[0][0] = Cell(label="X", shape="X")
        targets = {
            (row + 1) * 10**self._digits + column + 1: row * columns + column
            for row, length in enumerate(lengths)
            for column in range(min(length, columns))
            if row or column
        }
        cells = tuple(cell for row in rows for cell in row)
        return Picture(cells, columns, (len(rows), columns), "heaps", targets=targets)

    def read(self, text: str) -> int:
        """Return the position of a text, the length of every row from the top."""
        position = super().read(text)
        lengths = self._unpack(np.array([position]))[0]
        if lengths[0] == 0 or (np.diff(lengths) > 0).any():
            raise UnreachableError(
                f"{','.join(map(str, lengths))} is not a position of {self.name}: the top row has "
                "1 square or more, and no row is longer than the one above it"
            )
        return position


def chomp(w: int, h: int) -> Chomp:
    """Return Chomp on w columns by h rows.

    >>> chomp(4, 3).name
    'chomp(4,3)'
    """
    check_whole("chomp", w=w, h=h)
    if w > MAX_HEAP:
        raise GameNameError(f"chomp: w is {w}, too large; the limit is {MAX_HEAP}")
    hint = "; chomp(h,w), the same game on its side, may need fewer"
    check_bits("chomp", f"{h} rows of up to {w} squares", h * w.bit_length(), hint)
    return Chomp(f"chomp({w},{h})", columns=w, rows=h)
