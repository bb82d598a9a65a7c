"""The m,n,k games: m columns by n rows, k in a row wins (tic-tac-toe is 3,3,3).

A position packs two masks of one bit per cell, cell 0 (top left, then row by row) the most
significant, X's mask above O's. X moves first, so the numbers of marks give the player to move.
"""

from collections.abc import Sequence
from functools import cached_property, reduce
from operator import and_

import numpy as np
from numpy.typing import NDArray

from graphstore.errors import GameNameError, PlayAfterWinError, PositionError
from graphstore.games.base import (
    SymmetricGame,
    check_cells,
    check_counts,
    check_whole,
    line_fault,
    o_began,
)
from graphstore.games.boardtext import TwoMasks
from graphstore.rules.bitboard import Bitboard
from graphstore.rules.game import DRAW, IN_PLAY, LOSS, WIN, Codes, Ints, Moves
from graphstore.rules.picture import Picture, lines
from graphstore.rules.symmetry import BoardSymmetry

FEW = 64  # masks; up to so many, one comparison with all lines is faster than a loop over lines


class Grid(SymmetricGame):
    """An m,n,k game; a `graphstore.rules.game.Game`. Create one with `mnk` or `tictactoe`."""

    players = ("X", "O")

    def __init__(self, name: str, *, columns: int, rows: int, in_a_row: int, misere: bool) -> None:
        self.name = name
        self.columns = columns
        self.rows = rows
        self.in_a_row = in_a_row
        self.misere = misere
        self.cells = columns * rows
        self.full = 2**self.cells - 1
        self.max_plies = self.cells
        self.shape = (rows, columns)
        self.symmetry = BoardSymmetry(rows=rows, columns=columns)
        self._bits: Ints = 1 << np.arange(self.cells - 1, -1, -1, dtype=np.int64)  # of the cells
        self._text = TwoMasks(rows=rows, columns=columns, bits=self._bits)

    @cached_property
    def lines(self) -> tuple[int, ...]:
        """All lines of k cells, as masks."""
        k = self.in_a_row
        lines = set()
        for row, column in np.ndindex(self.rows, self.columns):
            for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
                if row + down * (k - 1) < self.rows and -1 <= column + right * k <= self.columns:
                    cells = (
                        row * self.columns + column + np.arange(k) * (down * self.columns + right)
                    )
                    lines.add(int(self._bits[cells].sum()))
        return tuple(sorted(lines))

    def expand(self, positions: Ints) -> Moves:
        """Move m marks cell m."""
        x, o = self.symmetry.split(positions)
        parent, move = np.nonzero(((x | o)[:, np.newaxis] & self._bits) == 0)
        shift = np.where(np.bitwise_count(x) == np.bitwise_count(o), self.cells, 0)
        child = positions[parent] | (self._bits[move] << shift[parent])
        return Moves(parent, move.astype(np.int32), child)

    def outcomes(self, positions: Ints) -> Codes:
        x, o = self.symmetry.split(positions)
        opponent = np.where(np.bitwise_count(x) == np.bitwise_count(o), o, x)
        codes = np.where(x | o == self.full, DRAW, IN_PLAY).astype(np.int8)
        codes[self.has_line(opponent)] = WIN if self.misere else LOSS
        return codes

    def turns(self, positions: Ints) -> Codes:
        x, o = self.symmetry.split(positions)
        return np.where(np.bitwise_count(x) == np.bitwise_count(o), 1, 2).astype(np.int8)

    def texts(self, positions: Ints) -> list[str]:
        return self._text.write(*self.symmetry.split(positions))

    def picture(self, position: int) -> Picture:
        """Return X and O in their colours, with the winning lines."""
        cells = self._marks(position, "XO")
        won = lines(cells, self.columns, self.in_a_row)
        return self._picture(position, cells, self.columns, won=won)

    def _plain(self, texts: Sequence[str]) -> tuple[Ints, NDArray[np.bool_]]:
        x, o, _, right = self._text.plain(texts)
        n_x, n_o = np.bitwise_count(x), np.bitwise_count(o)
        x_last = n_x == n_o + 1
        right &= (n_x == n_o) | x_last
        right &= np.where(x_last, ~self.has_line(o), ~self.has_line(x))
        right &= self._common_cell(np.where(x_last, x, o))
        return x << self.cells | o, right

    def has_line(self, masks: Ints) -> NDArray[np.bool_]:
        """Return bool[...]: True where a mask has k cells in a row."""
        if masks.size <= FEW:
            lines = self._lines
            return np.asarray(((masks[..., np.newaxis] & lines) == lines).any(axis=-1))
        held = np.zeros(masks.shape, dtype=np.bool_)
        for line in self.lines:
            held |= (masks & line) == line
        return held

    def _common_cell(self, masks: Ints) -> NDArray[np.bool_]:
        """Return bool[n]: True where all lines of a mask share a cell: one move completed them."""
        common = np.full(masks.shape, self.full, dtype=np.int64)
        for line in self.lines:
            common &= np.where((masks & line) == line, line, self.full)
        return np.not_equal(common, 0)

    def read(self, text: str) -> int:
        """Return the position of a text; it must be reachable from the empty board."""
        x, o = self._text.read(text, game=self.name)
        try:
            return self.packed(x, o)
        except PositionError as error:
            raise o_began(self, error, lambda: self.packed(o, x)) from None

    def packed(self, x: int, o: int) -> int:
        """Return the position of two masks; it must be reachable from the empty board."""
        check_counts(x, o)
        x_last = x.bit_count() > o.bit_count()
        last, other, of_last, of_other = ("X", "O", x, o) if x_last else ("O", "X", o, x)
        lines = [line for line in self.lines if line & of_last == line]
        if any(line & of_other == line for line in self.lines):
            raise line_fault(other, lasts=bool(lines))
        if reduce(and_, lines, self.full) == 0:
            raise PlayAfterWinError(
                f"{last} has lines without a common cell, so play continued after the first line"
            )
        return x << self.cells | o

    @cached_property
    def bitboard(self) -> Bitboard:
        spread = self._spread.tolist()
        width, k = self.columns + 1, self.in_a_row
        across, down = k <= self.columns, k <= self.rows  # True if a line fits
        steps = [1] * across + [width] * down + [width + 1, width - 1] * (across and down)
        symmetries = []
        for permutation in self.symmetry.permutations:
            images = [0] * (width * self.rows)
            for cell, to in enumerate(permutation):
                images[spread[cell].bit_length() - 1] = int(self._bits[to])
            symmetries.append(tuple(images))
        return Bitboard(
            cells=self.cells,
            full=sum(spread),
            bottom=0,
            steps=tuple(dict.fromkeys(steps)),
            length=k,
            misere=self.misere,
            symmetries=tuple(symmetries),
        )

    def stones(self, position: int) -> tuple[int, int]:
        x, o = (
            int(self._spread[mask & self._bits != 0].sum())
            for mask in (position >> self.cells, position & self.full)
        )
        return (x if x.bit_count() == o.bit_count() else o), x | o

    @cached_property
    def _spread(self) -> Ints:
        """The bits of the cells in masks whose rows end in a bit that is not a cell."""
        row, column = np.divmod(np.arange(self.cells), self.columns)
        return 1 << (row * (self.columns + 1) + column)

    @cached_property
    def _lines(self) -> Ints:
        return np.array(self.lines, dtype=np.int64)


def mnk(m: int, n: int, k: int, variant: str = "") -> Grid:
    """Return the game of m columns by n rows in which k in a row wins, or loses in misère.

    >>> mnk(3, 3, 3, "misere").name
    'mnk(3,3,3,misere)'
    """
    check_whole("mnk", m=m, n=n, k=k)
    if variant not in ("", "misere"):
        raise GameNameError(f"mnk: {variant!r} is not a variant; the only one is misere")
    check_cells("mnk", m, n)
    name = f"mnk({m},{n},{k}{',' * bool(variant)}{variant})"
    return Grid(name, columns=m, rows=n, in_a_row=k, misere=variant == "misere")


def tictactoe() -> Grid:
    """Return tic-tac-toe, mnk(3,3,3)."""
    return Grid("tictactoe", columns=3, rows=3, in_a_row=3, misere=False)
