"""Vanishing (infinite) tic-tac-toe: a player's fourth mark removes his oldest one.

A position packs the last six moves in four bits each, the newest lowest: the cell plus 1, or 0 for
no move. Turns alternate, so these moves are all the marks and their ages. The newest belongs to the
player who just moved; the oldest of six belongs to the player to move.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from graphstore.errors import BothSidesWonError, PlayAfterWinError, PositionError
from graphstore.games.base import TurnedGame
from graphstore.games.boardtext import plain_cells, read_cells, write_cells
from graphstore.games.grid import tictactoe
from graphstore.rules.game import IN_PLAY, LOSS, Codes, Ints, Moves
from graphstore.rules.picture import Cell, Picture, lines
from graphstore.rules.symmetry import board_permutations

ROWS, COLUMNS = 3, 3
CELLS = ROWS * COLUMNS
KEPT = 6  # the number of moves in a position, three of each player
SHIFTS = np.arange(0, 4 * KEPT, 4)  # the shifts of the moves in a position, the newest first
MARKS = "AbCdEf"  # by age, A the oldest; one player has the capitals, the other the small letters
LETTERS = MARKS.upper()  # as read, in either case
BOARD = tictactoe()


class MarkOrderError(PositionError):
    """Marks whose letters do not give their order."""


class Vanishing(TurnedGame):
    """Tic-tac-toe with marks that vanish."""

    name = "vanishing"
    shape = (ROWS, COLUMNS)

    def expand(self, positions: Ints) -> Moves:
        """Move m marks cell m."""
        taken = np.bitwise_or.reduce(1 << _moves(positions), axis=1)  # bit 0: no move
        parent, cell = np.nonzero((taken[:, np.newaxis] >> np.arange(1, CELLS + 1)) & 1 == 0)
        child = ((positions[parent] << 4) & (2 ** (4 * KEPT) - 1)) | (cell + 1)
        return Moves(parent, cell.astype(np.int32), child)

    def outcomes(self, positions: Ints) -> Codes:
        codes = np.full(len(positions), IN_PLAY, dtype=np.int8)
        codes[_has_line(_moves(positions)[:, ::2])] = LOSS
        return codes

    def images(self, positions: Ints) -> Ints:
        images: Ints = self._images[:, positions >> 12] << 12
        images |= self._images[:, positions & (2**12 - 1)]
        return images

    def texts(self, positions: Ints) -> list[str]:
        """Return the rows from the top; the letter of a mark is its rank by age.

        >>> game = Vanishing()
        >>> position = np.array([game.read("Ab./.C./...")])
        >>> game.texts(game.expand(position).child)[0]
        'Abd/.C./...'
        """
        moves = _moves(positions)
        ages = np.count_nonzero(moves, axis=1)[:, np.newaxis] - np.arange(KEPT)  # 1 is the oldest
        cells = np.zeros((len(positions), 16), dtype=np.int8)  # 0 is for no move
        np.put_along_axis(cells, moves, ages.astype(np.int8), axis=1)
        return write_cells(cells[:, 1 : CELLS + 1], rows=ROWS, columns=COLUMNS, marks="." + MARKS)

    def picture(self, position: int) -> Picture:
        """Return X and O with their ages in own moves; the mark that vanishes next is pale.

        X began, or is to move where all six marks are on the board and it is not known who began.
        """
        moves = _moves(np.array([position]))[0].tolist()  # the newest first
        count = sum(map(bool, moves))
        mover = 1 if count in (0, KEPT) else 1 + count % 2
        cells = [Cell()] * CELLS
        for age, cell in enumerate(moves[:count]):
            side = mover if age % 2 else 3 - mover
            mark, pale = "XO"[side - 1], age == KEPT - 1
            note = str(age // 2 + 1)
            cells[cell - 1] = Cell(label=mark, shape=mark, side=side, note=note, pale=pale)
        won = lines(cells, COLUMNS, ROWS)
        turn = 0 if won else mover
        return Picture(tuple(cells), COLUMNS, (ROWS, COLUMNS), turn=turn, won=won)

    def read(self, text: str) -> int:
        """Return the position of a text; it must be reachable."""
        cells = read_cells(text, rows=ROWS, columns=COLUMNS, marks=LETTERS, game=self.name)
        marks = "".join(sorted(cells.replace(".", "")))
        if marks != LETTERS[: len(marks)]:
            raise MarkOrderError(
                f"the marks {' '.join(marks)} do not give an order: use each letter once, from A "
                f"(the oldest) without a gap, at most to {LETTERS[-1]}"
            )
        moves = [cells.index(mark) + 1 for mark in reversed(marks)]
        slots = np.array(moves + [0] * (KEPT - len(moves)))
        newest, other = _has_line(slots.reshape(-1, 2).T).tolist()
        if newest and other:
            raise BothSidesWonError("both players have a line; the first one ends the game")
        if other:
            line = " ".join(sorted(marks[-2::-2]))
            raise PlayAfterWinError(f"{line} are a line, yet {marks[-1]} was played after it")
        return int((slots << SHIFTS).sum())

    def _plain(self, texts: Sequence[str]) -> tuple[Ints, NDArray[np.bool_]]:
        cells, _, _ = plain_cells(texts, rows=ROWS, columns=COLUMNS, marks="." + MARKS)
        age = cells.astype(np.int64)
        since = np.count_nonzero(age, axis=1)[:, np.newaxis] - age  # moves after it
        moves = np.where(age > 0, np.arange(1, CELLS + 1) << 4 * np.maximum(since, 0), 0)
        positions: Ints = np.bitwise_or.reduce(moves, axis=1)
        right = np.array(self.texts(positions)) == np.array(texts)
        return positions, right & ~_has_line(_moves(positions)[:, 1::2])

    @cached_property
    def _images(self) -> Ints:
        """The images of all triples of packed moves: int64[8, 2**12]."""
        image = np.zeros((8, 16), dtype=np.int64)
        image[:, 1 : CELLS + 1] = 1 + np.array(board_permutations(rows=ROWS, columns=COLUMNS))
        three = np.arange(2**12)
        old, middle, new = (image[:, (three >> shift) & 15] << shift for shift in (8, 4, 0))
        return old | middle | new


def _moves(positions: Ints) -> Ints:
    """Return int64[n, 6]: the moves, the newest first, each its cell plus 1, or 0."""
    return (positions[:, np.newaxis] >> SHIFTS) & 15


def _has_line(moves: Ints) -> NDArray[np.bool_]:
    """Return bool[n]: True where three moves, a row of int64[n, 3], form a line on the board."""
    masks: Ints = ((1 << CELLS) >> moves & (2**CELLS - 1)).sum(axis=1)
    return BOARD.has_line(masks)
