"""Domineering: one player covers two free cells one above the other, the other two in a row.

A player who cannot move has lost. Either player may begin: there are two starts. The player of
vertical dominoes is player 1 and Left, the other one player 2 and Right, as in E. R. Berlekamp,
J. H. Conway, R. K. Guy, Winning Ways, chapter 5. A position packs the side to move above the mask
of covered cells.
"""

import numpy as np

from graphstore.errors import ImpossibleCountsError
from graphstore.games.base import TurnedGame, check_cells, check_whole
from graphstore.games.boardtext import read_cells, write_cells
from graphstore.games.sided import split_turn
from graphstore.rules.game import IN_PLAY, LOSS, Codes, Ints, Moves
from graphstore.rules.picture import Cell, Picture
from graphstore.rules.symmetry import BoardSymmetry, board_permutations


class Domineering(TurnedGame):
    """Domineering. Create one with `domineering`. Move m covers cell m and that below or after."""

    players = ("vertical", "horizontal")

    def __init__(self, name: str, *, columns: int, rows: int) -> None:
        self.name = name
        self.cells = rows * columns
        self.max_plies = self.cells // 2
        mirrored = board_permutations(rows=rows, columns=columns)[:4]  # those without a turn
        self.symmetry = BoardSymmetry(rows=rows, columns=columns, permutations=mirrored)
        self._bits: Ints = 1 << np.arange(self.cells - 1, -1, -1, dtype=np.int64)
        self._full = 2**self.cells - 1
        self._last = int(self._bits[columns - 1 :: columns].sum())  # the last column
        self._steps = (columns, 1)  # of the second cell of a domino
        self._size = {"rows": rows, "columns": columns}

    def start_states(self) -> Ints:
        return np.array([0, 1 << self.cells], dtype=np.int64)

    def turns(self, positions: Ints) -> Codes:
        return ((positions >> self.cells) + 1).astype(np.int8)

    def _places(self, positions: Ints) -> tuple[Ints, Ints]:
        """Return the masks of the first cells of the dominoes of each player."""
        free = ~positions & self._full
        return free & free << self._steps[0], free & free << 1 & ~self._last

    def expand(self, positions: Ints) -> Moves:
        side = positions >> self.cells
        places = np.where(side == 0, *self._places(positions))
        parent, cell = np.nonzero(places[:, np.newaxis] & self._bits)
        first = self._bits[cell]
        domino = first | first >> np.array(self._steps)[side[parent]]
        return Moves(parent, cell.astype(np.int32), (positions[parent] | domino) ^ 1 << self.cells)

    def outcomes(self, positions: Ints) -> Codes:
        places = np.where(positions >> self.cells == 0, *self._places(positions))
        return np.where(places == 0, LOSS, IN_PLAY).astype(np.int8)

    def images(self, positions: Ints) -> Ints:
        return self.symmetry.images(positions & self._full) | positions & 1 << self.cells

    def texts(self, positions: Ints) -> list[str]:
        """Return the rows from the top, X for a covered cell, and whose turn it is."""
        cells = ((positions[:, np.newaxis] & self._bits) != 0).view(np.int8)
        which = (positions >> self.cells).astype(np.int8)
        return write_cells(cells, **self._size, marks=".X", tails=(" V", " H"), which=which)

    def picture(self, position: int) -> Picture:
        """Return the covered cells; a move is on the first cell of its domino."""
        covered = (position & self._bits) != 0
        cells = tuple(Cell(label="\u25a0") if each else Cell() for each in covered)
        moves = self.expand(np.array([position])).move.tolist()
        targets = dict(zip(moves, moves, strict=True))
        return self._picture(position, cells, self._size["columns"], targets=targets)

    def read(self, text: str) -> int:
        """Return the position of a text; boards that play does not reach are read, too."""
        board, turn = split_turn(text, self)
        cells = read_cells(board, **self._size, marks="X", game=self.name)
        if cells.count("X") % 2:
            raise ImpossibleCountsError(
                f"{cells.count('X')} covered cells are impossible: a domino covers two"
            )
        mask = sum(bit for cell, bit in zip(cells, self._bits.tolist(), strict=True) if cell == "X")
        return int(mask) | (turn - 1) << self.cells


def domineering(w: int, h: int) -> Domineering:
    """Return domineering on w columns by h rows.

    >>> domineering(3, 2).name
    'domineering(3,2)'
    """
    check_whole("domineering", w=w, h=h)
    check_cells("domineering", w, h)
    return Domineering(f"domineering({w},{h})", columns=w, rows=h)
