"""Othello: a disc outflanks the other player's discs in its lines, which take its colour.

A player who cannot outflank passes; the game ends when neither can. The result is the difference of
the discs. Black begins, and the four discs at the centre are laid as in the rules of the World
Othello Federation. A position is packed by `graphstore.games.sided.SidedBoard`.
"""

import re
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from graphstore.errors import GameNameError, MoveError, shown
from graphstore.games.base import ScoredGame, check_cells, check_whole
from graphstore.games.sided import SidedBoard, SidedGame, UnreachableError
from graphstore.rules.game import Codes, Ints, Moves
from graphstore.rules.picture import Picture

_Step: TypeAlias = tuple[int, int]  # the places by which a mask shifts, the cells it may leave


class Othello(ScoredGame, SidedGame):
    """Othello. Create one with `othello`. Move m puts a disc on cell m, the last move passes."""

    players = ("black", "white")

    def __init__(self, name: str, *, columns: int, rows: int) -> None:
        self.name = name
        self.columns = columns
        self.rows = rows
        self.cells = columns * rows
        self.max_plies = 2 * (self.cells - 4)  # a pass is followed by a disc
        board = np.arange(self.cells).reshape(rows, columns)
        turned = [board, board[::-1, ::-1]]  # the symmetries that keep the start
        turned += [board.T, board[::-1, ::-1].T] if rows == columns else []
        self.symmetry = SidedBoard(
            rows=rows,
            columns=columns,
            players=self.players,
            permutations=[tuple(view.ravel().tolist()) for view in turned],
        )
        bits = self.symmetry.bits[board]
        (one, two), (three, four) = bits[rows // 2 - 1 :, columns // 2 - 1 :][:2, :2].tolist()
        self._begin = (two | three, one | four)  # black's and white's
        self._centre = one | two | three | four
        self._actions: Ints = np.append(bits, 1 << self.cells)  # the last one is the pass
        self._steps: list[_Step] = []
        for down in (-1, 0, 1):
            for right in (-1, 0, 1):
                leaves = bits[max(-down, 0) : rows - max(down, 0)]
                leaves = leaves[:, max(-right, 0) : columns - max(right, 0)]
                if down or right:
                    self._steps.append((down * columns + right, int(leaves.sum())))
        self._longest = max(rows, columns) - 2  # discs in a line that one disc takes

    def start_states(self) -> Ints:
        black, white = np.array([self._begin], dtype=np.int64).T
        return self.symmetry.join(black, white, np.ones(1, dtype=np.int8))

    def expand(self, positions: Ints) -> Moves:
        own, other = self.symmetry.sides(positions)
        places = self._places(own, other)
        places[places == 0] = self._actions[-1]
        parent, move = np.nonzero(places[:, np.newaxis] & self._actions)
        disc = self._actions[move] & self.symmetry.full
        own, other = own[parent], other[parent]
        taken = self._taken(disc, own, other)
        child = self.symmetry.after(
            own | disc | taken, other ^ taken, self.turns(positions)[parent]
        )
        return Moves(parent, move.astype(np.int32), child)

    def results(self, positions: Ints) -> tuple[NDArray[np.bool_], Ints]:
        own, other = self.symmetry.sides(positions)
        ended = (self._places(own, other) | self._places(other, own)) == 0
        return ended, np.bitwise_count(own).astype(np.int64) - np.bitwise_count(other)

    def faults(self, positions: Ints) -> Codes:
        black, white = self.symmetry.split(positions)
        return np.where((black | white) & self._centre == self._centre, 0, 1).astype(np.int8)

    def read(self, text: str) -> int:
        """Return the position of a text; boards that play does not reach are read, too."""
        black, white, turn = self._read_sides(text)
        if (black | white) & self._centre != self._centre:
            raise UnreachableError(
                f"{shown(text)} has an empty cell at the centre of the board, where {self.name} "
                "begins with four discs"
            )
        turns = np.array([turn], dtype=np.int8)
        return int(self.symmetry.join(np.array([black]), np.array([white]), turns)[0])

    def picture(self, position: int) -> Picture:
        """Return the discs, with the letters of the columns."""
        cells = self._marks(position, self.symmetry.marks, ("disc", "disc"))
        names = tuple(map(_letter, range(self.columns)))
        return self._picture(position, cells, self.columns, names=names)

    def write_move(self, move: int) -> str:
        """Return ``d3`` for the fourth column and the third row from the top, or ``pass``."""
        if move >= self.cells:
            return "pass"
        return f"{_letter(move % self.columns)}{move // self.columns + 1}"

    def read_move(self, text: str) -> int:
        cell = re.fullmatch(r"([a-z])([1-9][0-9]?)", text.lower())
        column, row = (ord(cell[1]) - ord("a"), int(cell[2]) - 1) if cell else (-1, -1)
        if text.lower() == "pass":
            return self.cells
        if not (0 <= column < self.columns and row < self.rows):
            raise MoveError(
                f"{shown(text)} is not a move; write a cell from a1, at the top left, to "
                f"{self.write_move(self.cells - 1)}, or pass"
            )
        return row * self.columns + column

    def _places(self, own: Ints, other: Ints) -> Ints:
        """Return the masks of the cells on which a disc takes some of `other`."""
        places = np.zeros(len(own), dtype=np.int64)
        for step in self._steps:
            places |= _next(self._runs(own, other, step), step)
        return places & ~(own | other)

    def _taken(self, disc: Ints, own: Ints, other: Ints) -> Ints:
        """Return the masks of the discs of `other` that a new disc takes."""
        taken = np.zeros(len(own), dtype=np.int64)
        for step in self._steps:
            run = self._runs(disc, other, step)
            taken |= np.where((_next(run, step) & own) != 0, run, 0)
        return taken

    def _runs(self, begins: Ints, other: Ints, step: _Step) -> Ints:
        """Return the masks of the discs of `other` that follow cells in a line."""
        run = _next(begins, step) & other
        for _ in range(self._longest - 1):
            run |= _next(run, step) & other
        return run


def _next(masks: Ints, step: _Step) -> Ints:
    """Return masks with every cell one step on; those that would leave the board go."""
    places, leaves = step
    return (masks & leaves) >> places if places > 0 else (masks & leaves) << -places


def _letter(column: int) -> str:
    return chr(ord("a") + column)


def othello(w: int, h: int) -> Othello:
    """Return Othello on w columns by h rows.

    >>> othello(4, 4).name
    'othello(4,4)'
    """
    check_whole("othello", least=2, w=w, h=h)
    if w % 2 or h % 2 or w * h <= 4:
        raise GameNameError(
            f"othello: {w} columns by {h} rows; both must be even, and one of them at least 4"
        )
    check_cells("othello", w, h)
    return Othello(f"othello({w},{h})", columns=w, rows=h)
