"""Connect Four and variants: stones fall to the lowest free cell of a column, k in a row wins.

docs/reference/games.md has the packing. A move is one addition: O adds the marker above the top
stone of the column, X adds twice that. A mask of stones has the same fields as a position. The top
bit of each field is never a stone, so lines found by shifts do not cross an edge of the board.
"""

import re
from collections.abc import Callable, Sequence
from functools import cached_property, wraps
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from graphstore.errors import (
    ImpossibleCountsError,
    MoveError,
    PlayAfterWinError,
    PositionError,
    shown,
)
from graphstore.games.base import (
    ArrayGame,
    check_bits,
    check_counts,
    check_whole,
    line_fault,
    o_began,
)
from graphstore.games.boardtext import TwoMasks
from graphstore.rules.bitboard import Bitboard
from graphstore.rules.game import DRAW, IN_PLAY, LOSS, Codes, Ints, Moves
from graphstore.rules.picture import Picture, lines

BLOCK = 1 << 14  # positions whose temporary arrays stay in a processor's second-level cache
ArrayT = TypeVar("ArrayT", Ints, Codes)
MaskT = TypeVar("MaskT", int, Ints)


class FloatingStoneError(PositionError):
    """A stone above an empty cell."""


def in_blocks(verb: Callable[[Any, Ints], ArrayT]) -> Callable[[Any, Ints], ArrayT]:
    """Return a method of `Game`, changed to process its positions in blocks of `BLOCK`."""

    @wraps(verb)
    def blockwise(game: Any, positions: Ints) -> ArrayT:
        if len(positions) <= BLOCK:
            return verb(game, positions)
        begins = range(0, len(positions), BLOCK)
        return np.concatenate([verb(game, positions[at : at + BLOCK]) for at in begins])

    return blockwise


class Connect(ArrayGame):
    """A game of falling stones; a move is a column. Create one with `connect`."""

    players = ("X", "O")

    def __init__(self, name: str, *, columns: int, rows: int, in_a_row: int) -> None:
        self.name = name
        self.columns = columns
        self.rows = rows
        self.in_a_row = in_a_row
        self.max_plies = columns * rows
        self.bits = rows + 1
        self.bottom = sum(1 << self.bits * column for column in range(columns))
        self.full = self.bottom * (2**rows - 1)  # the mask of all cells
        # The bits of every column.
        self._fields = [2**self.bits - 1 << self.bits * at for at in reversed(range(columns))]
        row, column = np.divmod(np.arange(rows * columns), columns)
        cells: Ints = 1 << (self.bits * (columns - 1 - column) + rows - 1 - row)
        self._text = TwoMasks(rows=rows, columns=columns, bits=cells)
        up, across = in_a_row <= rows, in_a_row <= columns  # True if a line fits
        along = [1] * up + [self.bits] * across
        diagonal = [self.bits + 1, self.bits - 1] * (up and across)
        self.steps = list(dict.fromkeys(along + diagonal))  # from a cell of a line to the next

    def start_states(self) -> Ints:
        return np.array([self.bottom], dtype=np.int64)

    def expand(self, positions: Ints) -> Moves:
        """Move m drops a stone into column m."""
        filled = self._filled(positions)
        added = (filled + self.bottom) & self.full  # the markers of columns that are not full
        added <<= 1 - _odd(filled)
        by_move = np.empty((len(positions), self.columns), dtype=np.int64)
        for column, field in enumerate(self._fields):
            np.bitwise_and(added, field, out=by_move[:, column])
        flat = by_move.reshape(-1)
        at = np.flatnonzero(flat)
        parent = at // self.columns
        child = flat[at]
        child += positions[parent]
        at -= parent * self.columns
        return Moves(parent, at.astype(np.int32), child)

    @in_blocks
    def outcomes(self, positions: Ints) -> Codes:
        filled = self._filled(positions)
        o_moved = _odd(filled) - 1  # -1 or 0, a mask of all bits or none
        last = (positions ^ o_moved) & filled
        codes = np.where(filled == self.full, np.int8(DRAW), np.int8(IN_PLAY))
        codes[self._runs(last) != 0] = LOSS
        return codes

    @in_blocks
    def turns(self, positions: Ints) -> Codes:
        return 1 + _odd(self._filled(positions)).astype(np.int8)

    @in_blocks
    def canonical(self, positions: Ints) -> Ints:
        return np.minimum(positions, self.mirror(positions))

    @in_blocks
    def orbits(self, positions: Ints) -> Ints:
        return np.where(self.mirror(positions) == positions, 1, 2)

    def mirror(self, positions: Ints) -> Ints:
        """Return int64[n]: every position with its columns in reverse order."""
        for halves, far, rest in self._swaps:
            left, right = (positions & halves) << far, (positions >> far) & halves
            positions = left | right | (positions & rest)
        return positions

    def texts(self, positions: Ints) -> list[str]:
        filled = self._filled(positions)
        return self._text.write(filled & positions, filled & ~positions)

    def _plain(self, texts: Sequence[str]) -> tuple[Ints, NDArray[np.bool_]]:
        x, o, _, right = self._text.plain(texts)
        filled: Ints = x | o
        n_x, n_o = np.bitwise_count(x), np.bitwise_count(o)
        x_last = n_x == n_o + 1
        last, other = np.where(x_last, (x, o), (o, x))
        right &= (n_x == n_o) | x_last
        right &= (filled & (filled + self.bottom)) == 0
        right &= (self._runs(other) == 0) & (self._has_last(last, filled) | (filled == 0))
        return x | (filled + self.bottom), right

    def board(self, position: int) -> str:
        """Return a drawing of the board; the last line numbers the columns."""
        numbers = "".join(str(column % 10) for column in range(1, self.columns + 1))
        return f"{super().board(position)}\n{numbers}"

    def picture(self, position: int) -> Picture:
        """Return discs in holes; a column is one target, and has its number from 1."""
        cells = self._marks(position, "XO", ("disc", "disc"))
        won = lines(cells, self.columns, self.in_a_row)
        names = tuple(map(self.write_move, range(self.columns)))
        return self._picture(position, cells, self.columns, ground="holes", names=names, won=won)

    def write_move(self, move: int) -> str:
        """Return the number of the column, from 1, as other programs write it."""
        return str(move + 1)

    def read_move(self, text: str) -> int:
        if not re.fullmatch("[0-9]{1,9}", text):
            raise MoveError(f"{shown(text)} is not a column; write 1 to {self.columns}")
        return int(text) - 1

    @cached_property
    def bitboard(self) -> Bitboard:
        bits = 1 << np.arange(self.bits * self.columns, dtype=np.int64)
        return Bitboard(
            cells=self.columns * self.rows,
            full=self.full,
            bottom=self.bottom,
            steps=tuple(self.steps),
            length=self.in_a_row,
            misere=False,
            symmetries=(tuple(bits.tolist()), tuple(self.mirror(bits).tolist())),
        )

    def stones(self, position: int) -> tuple[int, int]:
        filled = int(self._filled(np.array([position], dtype=np.int64))[0])
        own = position & filled
        return (filled ^ own if filled.bit_count() % 2 else own), filled

    @cached_property
    def _swaps(self) -> list[tuple[int, int, int]]:
        """Steps that reverse the columns: swap the halves of the board, then halves of halves.

        A step is (mask of the right halves, shift, mask of the bits that stay).
        """
        swaps, groups, size = [], [0], self.columns  # groups: the first column of each
        while size > 1:
            half, far = size // 2, size - size // 2
            halves = sum((2 ** (half * self.bits) - 1) << (group * self.bits) for group in groups)
            rest = ~(halves | halves << (far * self.bits))
            swaps.append((halves, far * self.bits, rest))
            groups, size = [at for group in groups for at in (group, group + far)], half
        return swaps

    def _filled(self, positions: Ints) -> Ints:
        """Return the masks of all stones: the bits below the markers."""
        filled = positions & ~self.bottom
        filled >>= 1
        done = 1
        while done < self.rows:  # the number of cells already filled below each marker
            more = min(done, self.rows - done)
            below = filled >> more
            below &= self.bottom * (2 ** (self.rows - more) - 1)
            filled |= below
            done += more
        return filled

    def _runs(self, masks: MaskT) -> MaskT:
        """Return one number for each mask: not 0 if the mask has k in a row, else 0."""
        runs = masks & 0
        for step in self.steps:
            run, length = masks, 1
            while length < self.in_a_row:
                more = min(length, self.in_a_row - length)
                run = run & (run >> (more * step))
                length += more
            runs = runs | run
        return runs

    def _has_last(self, stones: MaskT, filled: MaskT) -> Any:
        """Return True where the last move can have completed all lines of `stones`.

        Then a stone on top of a column is in all of these lines.
        """
        tops = ((filled + self.bottom) >> 1) & stones
        found: Any = False
        for field in self._fields:
            last = tops & field
            found = found | (last != 0) & (self._runs(stones & ~last) == 0)
        return found

    def read(self, text: str) -> int:
        """Return the position of a text, or raise a PositionError if it is clearly unreachable.

        The order of the stones is not checked, so some unreachable boards are accepted: 724 boards
        of connect(3,3,3) are read, and 694 can be reached.
        """
        x, o = self._text.read(self._without_numbers(text), game=self.name)
        try:
            return self._packed(x, o)
        except PositionError as error:
            raise o_began(self, error, lambda: self._packed(o, x)) from None

    def _without_numbers(self, text: str) -> str:
        """Return a text without the line that numbers the columns."""
        lines = text.strip().replace("/", "\n").splitlines()
        rows = [line for line in lines if line.strip("-+=| ")]
        for at in (-1, 0) if len(rows) > self.rows else ():
            digits = rows[at].replace("|", " ").split()
            for first in (0, 1):
                numbers = [*map(str, range(first, first + self.columns))]
                last_digits = "".join(number[-1] for number in numbers)
                if digits in (numbers, [last_digits], [*last_digits]):
                    lines.remove(rows[at])
                    return "\n".join(lines)
        return text

    def _packed(self, x: int, o: int) -> int:
        check_counts(x, o)
        filled, n_x, n_o = x | o, x.bit_count(), o.bit_count()
        for column, field in enumerate(self._fields):
            if filled & (filled + self.bottom) & field:
                raise FloatingStoneError(
                    f"a stone floats in column {column + 1}: "
                    "it must lie on the ground or on another stone"
                )
        last, other, mover, waiting = (x, o, "X", "O") if n_x > n_o else (o, x, "O", "X")
        if self._runs(other):
            raise line_fault(waiting, lasts=bool(self._runs(last)))
        if filled and not self._has_last(last, filled):
            if self._runs(last):
                raise PlayAfterWinError(
                    f"{mover} has a line, but no {mover} on top of a column is in all of its "
                    "lines, so play continued after the first line"
                )
            raise ImpossibleCountsError(
                f"with {n_x} X and {n_o} O, {mover} moved last, "
                f"but no {mover} is on top of a column"
            )
        return x | (filled + self.bottom)


def _odd(masks: Ints) -> Ints:
    """Return int64[n]: 1 where the number of bits is odd, else 0."""
    return (np.bitwise_count(masks) & 1).astype(np.int64)


def connect(w: int, h: int, k: int = 4) -> Connect:
    """Return the game of w columns by h rows in which k in a row wins.

    >>> connect(7, 6).name, connect(5, 4, 3).name
    ('connect(7,6)', 'connect(5,4,3)')
    """
    check_whole("connect", w=w, h=h, k=k)
    check_bits("connect", f"{w} columns by {h} rows", w * (h + 1), ": w * (h + 1)")
    name = f"connect({w},{h})" if k == 4 else f"connect({w},{h},{k})"
    return Connect(name, columns=w, rows=h, in_a_row=k)
