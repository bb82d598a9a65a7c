"""Vanishing tic-tac-toe, also called infinite: three marks each, a fourth makes the oldest go.

A position packs the last six moves, the newest lowest, four bits each: the cell and 1 more, or 0
where there were fewer; and one bit above them, 1 where O is to move. Turns alternate, so these
are all marks with their ages, and if they are six the oldest is the mover's. It stays until the
mover has chosen a free cell, then it vanishes, and three in a row win. Play can go in circles.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from graphstore.errors import (
    BothSidesWonError,
    ImpossibleCountsError,
    PlayAfterWinError,
    PositionError,
)
from graphstore.game import IN_PLAY, LOSS, Codes, Ints, Moves
from graphstore.games.boardtext import read_cells, write_cells
from graphstore.games.grid import MARKS, tictactoe
from graphstore.symmetry import board_permutations

ROWS, COLUMNS = 3, 3
CELLS = ROWS * COLUMNS
EACH = 3  # marks of a player
SHIFTS = np.arange(0, 2 * EACH * 4, 4)  # of the moves in a position, the newest first
O_MOVES = 1 << 24
GAPS = " ,;:\t"  # between a board and its order, and between the cells of that


class MarkOrderError(PositionError):
    """Marks without the order in which they were placed, or with an impossible one."""


class Vanishing:
    """Tic-tac-toe with marks that vanish; a `graphstore.game.Game`. Make it with `vanishing`."""

    name = "vanishing"
    rules = "1"
    shape = (ROWS, COLUMNS)
    max_plies = None
    players = ("X", "O")

    def __repr__(self) -> str:
        return f"<game {self.name}>"

    def start_states(self) -> Ints:
        """See `graphstore.game.Game.start_states`: the empty board."""
        return np.zeros(1, dtype=np.int64)

    def expand(self, positions: Ints) -> Moves:
        """See `graphstore.game.Game.expand`: move m marks cell m."""
        taken = np.bitwise_or.reduce(2 ** _slots(positions), axis=1)  # bit 0 stands for no cell
        parent, cell = np.nonzero((taken[:, np.newaxis] & 2 ** np.arange(1, CELLS + 1)) == 0)
        before = positions[parent]
        child = ((before << 4) & (O_MOVES - 1)) | (cell + 1) | (~before & O_MOVES)
        return Moves(parent, cell.astype(np.int32), child)

    def outcomes(self, positions: Ints) -> Codes:
        """See `graphstore.game.Game.outcomes`."""
        codes = np.full(len(positions), IN_PLAY, dtype=np.int8)
        codes[_has_line(_slots(positions)[:, ::2])] = LOSS
        return codes

    def turns(self, positions: Ints) -> Codes:
        """See `graphstore.game.Game.turns`."""
        return np.where(positions & O_MOVES, np.int8(2), np.int8(1))

    def images(self, positions: Ints) -> Ints:
        """Return int64[8, n]: every position under every symmetry, the identity first."""
        old, new = (positions >> 12) & 0xFFF, positions & 0xFFF
        return (positions & O_MOVES) | (self._images[:, old] << 12) | self._images[:, new]

    def canonical(self, positions: Ints) -> Ints:
        """See `graphstore.game.Game.canonical`: the smallest packed image."""
        least: Ints = self.images(positions).min(axis=0)
        return least

    def orbits(self, positions: Ints) -> Ints:
        """See `graphstore.game.Game.orbits`."""
        images = self.images(positions)
        return len(images) // (images == positions).sum(axis=0)

    def texts(self, positions: Ints) -> list[str]:
        """See `graphstore.game.Game.texts`: the rows, a space, and the cells, the oldest first.

        >>> vanishing().texts(np.array([0x1000152]))
        ['XX./.O./... 041']
        """
        slots = _slots(positions)
        newest = np.where(positions & O_MOVES, 0, 1)
        cells = np.zeros((len(positions), 1 + CELLS), dtype=np.int8)
        for age, cell in enumerate(slots.T):
            cells[np.arange(len(cells)), cell] = 1 + ((newest + age) & 1)
        boards = write_cells(cells[:, 1:], rows=ROWS, columns=COLUMNS, marks="." + MARKS)
        orders = ("".join(str(cell - 1) for cell in row if cell) for row in slots[:, ::-1].tolist())
        return [f"{board} {order}".rstrip() for board, order in zip(boards, orders, strict=True)]

    def read(self, text: str) -> int:
        """See `graphstore.game.Game.read`; exactly the positions are read that play can reach.

        After the board come the cells in the order of their marks, the oldest first. Of up to two
        marks the order is clear, X's is the older, and need not be written.
        """
        body = text.rstrip("0123456789\r\n" + GAPS)
        order = text[len(body) :].strip("\r\n" + GAPS)
        if order:
            board = text[: text.rindex(order)].rstrip(GAPS).removesuffix("oldest first")
        else:
            board = text
        cells = read_cells(board, rows=ROWS, columns=COLUMNS, marks=MARKS, game=self.name)
        moves = [int(cell) for cell in order if cell.isdigit()]
        if not order and CELLS - cells.count(".") <= 2:
            moves = [cells.index(mark) for mark in MARKS if mark in cells]
        fault = _fault(cells, moves)
        if fault is not None:
            raise fault
        position = O_MOVES if moves and cells[moves[-1]] == "X" else 0
        return position | int("0" + "".join(str(cell + 1) for cell in moves), base=16)

    def read_many(self, texts: Sequence[str]) -> Ints:
        """See `graphstore.game.Game.read_many`."""
        return np.array([self.read(text) for text in texts], dtype=np.int64)

    def board(self, position: int) -> str:
        """See `graphstore.game.Game.board`: the rows, and the order of the marks."""
        board, _, order = self.texts(np.array([position]))[0].partition(" ")
        return board.replace("/", "\n") + "\noldest first: " * bool(order) + " ".join(order)

    @cached_property
    def _images(self) -> Ints:
        """Three packed moves under every symmetry: int64[8, 2**12]."""
        image = np.zeros((8, 16), dtype=np.int64)
        image[:, 1 : CELLS + 1] = 1 + np.array(board_permutations(rows=ROWS, columns=COLUMNS))
        three = np.arange(2**12)
        return sum(image[:, (three >> shift) & 15] << shift for shift in (0, 4, 8))


def _slots(positions: Ints) -> Ints:
    """Return int64[n, 6]: the moves, the newest first, each the cell and 1 more, or 0."""
    slots: Ints = (positions[:, np.newaxis] >> SHIFTS) & 15
    return slots


def _has_line(slots: Ints) -> NDArray[np.bool_]:
    """Return whether up to three moves of each row, as `_slots` gives them, are three in a row."""
    masks: Ints = ((2**CELLS >> slots) & (2**CELLS - 1)).sum(axis=1)
    return tictactoe().has_line(masks)


def _fault(cells: str, moves: list[int]) -> PositionError | None:
    """Return why no play leads to these marks in this order, or None."""
    n_x, n_o = cells.count("X"), cells.count("O")
    if n_x - n_o not in (0, 1) or n_x > EACH:
        return ImpossibleCountsError(
            f"{n_x} X and {n_o} O cannot be: X begins, turns alternate and nobody keeps more than "
            f"{EACH}, so X has as many as O or one more, and at most {EACH}"
        )
    marked = [cell for cell, mark in enumerate(cells) if mark != "."]
    if marked and not moves:
        return MarkOrderError(
            "in which order were the marks placed? Write their cells after the board, "
            "the oldest first, as in XX./.O./... 041; cells count from 0, row by row"
        )
    if sorted(moves) != marked:
        return MarkOrderError(
            f"the order names the cells {_listed(moves)}, but the marks are on {_listed(marked)}; "
            "each must be named once, the oldest first, counted from 0, row by row"
        )
    marks = "".join(cells[cell] for cell in moves)
    if "XX" in marks or "OO" in marks or (marks[:1] == "O" and len(marks) < 2 * EACH):
        return MarkOrderError(
            f"in the order {_listed(moves)} the marks are {marks}, the oldest first; turns "
            "alternate, and X has begun until all six are there"
        )
    slots = np.array(moves[::-1] + [-1] * (2 * EACH - len(moves))) + 1
    newest, other = _has_line(slots.reshape(EACH, 2).T).tolist()
    if other:
        if newest:
            return BothSidesWonError("X and O both have a line; the first one ends the game")
        return PlayAfterWinError(f"{marks[-2]} has a line, yet {marks[-1]} played on after it")
    return None


def _listed(cells: list[int]) -> str:
    return " ".join(map(str, cells)) or "none"


def vanishing() -> Vanishing:
    """Return vanishing tic-tac-toe."""
    return Vanishing()
