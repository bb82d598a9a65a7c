"""Dots and boxes: players draw lines between dots; who closes a box has it, and moves again.

The result is the difference of the boxes. Lines are numbered as the rows of the drawing show them:
the horizontal ones of the top, the vertical ones below them, and so on. From the highest bits, a
position packs the side to move, the boxes of player A and the mask of the lines, line 0 the most
significant.
"""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from graphstore.errors import (
    ImpossibleCountsError,
    MoveError,
    UnknownCharacterError,
    WrongSizeError,
    shown,
)
from graphstore.games.base import ScoredGame, TurnedGame, check_bits, check_whole
from graphstore.games.sided import split_turn
from graphstore.rules.game import Codes, Ints, Moves
from graphstore.rules.picture import Cell, Picture
from graphstore.rules.symmetry import BoardSymmetry, board_permutations

_DRAWN = "-|\u2013\u2014\u2500\u2502\u2501\u25031"
_FREE = " .\u00b70"
_SCORE = re.compile(r"[\s,;:/]+([0-9]{1,3})\s*[-:]\s*([0-9]{1,3})\Z")


class DotsAndBoxes(ScoredGame, TurnedGame):
    """Dots and boxes. Create one with `dots_and_boxes`. Move m draws line m."""

    alternates = False
    players = ("A", "B")

    def __init__(self, name: str, *, columns: int, rows: int) -> None:
        self.name = name
        self.columns = columns
        self.rows = rows
        self.boxes = columns * rows
        self.lines = self.max_plies = _lines(columns, rows)
        drawing = np.arange((2 * rows + 1) * (2 * columns + 1)).reshape(2 * rows + 1, -1)
        down, right = np.indices(drawing.shape)
        self._cells = drawing[(down + right) % 2 == 1]  # of each line in the drawing
        line = np.full(drawing.size, -1)
        line[self._cells] = np.arange(self.lines)
        images = board_permutations(rows=2 * rows + 1, columns=2 * columns + 1)
        self.symmetry = BoardSymmetry(
            rows=1,
            columns=self.lines,
            permutations=[tuple(line[np.array(each)[self._cells]].tolist()) for each in images],
        )
        self._bits: Ints = 1 << np.arange(self.lines - 1, -1, -1, dtype=np.int64)
        self._full = 2**self.lines - 1
        self._one_box = 1 << self.lines  # of A
        self._side = 1 << self.lines + self.boxes.bit_length()
        middles = drawing[1::2, 1::2].ravel()
        sides = middles + np.array([[-2 * columns - 1], [-1], [1], [2 * columns + 1]])
        self._squares: Ints = self._bits[line[sides]].sum(axis=0)  # the four lines of each box
        self._beside = np.zeros((self.lines, 2), dtype=np.int64)  # the boxes of each line
        for number, lines in enumerate(line[sides].T):
            for each in lines:
                self._beside[each, int(self._beside[each, 0] != 0)] = self._squares[number]
        self._beside[self._beside == 0] = -1  # no box: never closed
        row, column = np.divmod(self._cells, 2 * columns + 1)
        self._names = [
            f"{_dot(r // 2, c // 2)}{_dot((r + 1) // 2, (c + 1) // 2)}"
            for r, c in zip(row.tolist(), column.tolist(), strict=True)
        ]
        self._marks_of = np.where(row % 2, ord("|"), ord("-")).astype(np.uint8)
        breaks = np.flatnonzero(np.diff(row)) + 1
        self._places = np.arange(self.lines) + np.searchsorted(
            breaks, np.arange(self.lines), "right"
        )
        self._tails = [
            f" {one}-{two} {player}"
            for player in self.players
            for one in range(self.boxes + 1)
            for two in range(self.boxes + 1)
        ]

    def turns(self, positions: Ints) -> Codes:
        return np.where(positions & self._side, 2, 1).astype(np.int8)

    def expand(self, positions: Ints) -> Moves:
        parent, move = np.nonzero((positions[:, np.newaxis] & self._bits) == 0)
        child = positions[parent] | self._bits[move]
        lines = (child & self._full)[:, np.newaxis]
        closed = ((lines & self._beside[move]) == self._beside[move]).sum(axis=1)
        by_first = (child & self._side) == 0
        child += np.where(by_first, closed * self._one_box, 0)
        child ^= np.where(closed, 0, self._side)
        return Moves(parent, move.astype(np.int32), child)

    def results(self, positions: Ints) -> tuple[NDArray[np.bool_], Ints]:
        one, two = self._scores(positions)
        difference = np.where(positions & self._side, two - one, one - two)
        return positions & self._full == self._full, difference

    def images(self, positions: Ints) -> Ints:
        above = positions >> self.lines << self.lines
        return self.symmetry.images(positions & self._full) | above

    def texts(self, positions: Ints) -> list[str]:
        """Return the rows of lines from the top, the boxes of A and of B, and whose turn it is."""
        letters = np.full((len(positions), self._places[-1] + 1), ord("/"), dtype=np.uint8)
        drawn = (positions[:, np.newaxis] & self._bits) != 0
        letters[:, self._places] = np.where(drawn, self._marks_of, ord("."))
        one, two = self._scores(positions)
        side = (positions & self._side) != 0
        tail = (side * (self.boxes + 1) + one) * (self.boxes + 1) + two
        joined, width = letters.tobytes().decode("ascii"), letters.shape[1]
        begins = range(0, len(joined), width)
        return [
            joined[at : at + width] + self._tails[each]
            for at, each in zip(begins, tail.tolist(), strict=True)
        ]

    def board(self, position: int) -> str:
        """Return the drawing, with the boxes and whose turn it is below it."""
        rows, tail = self._drawing(position)
        return "\n".join(["".join(row) for row in rows] + [tail])

    def picture(self, position: int) -> Picture:
        """Return dots and lines; below them the boxes of both players. A move is on its line."""
        rows, tail = self._drawing(position)
        shapes = {"+": "dot", "-": "across", "|": "down", "#": "unit"}
        cells = [Cell(label=each.strip(), shape=shapes.get(each, "")) for each in "".join(rows)]
        below = [Cell()] * len(rows[0])
        scores = re.findall("[0-9]+", tail)
        for at, (boxes, player) in enumerate(zip(scores, self.players, strict=True)):
            below[2 * at] = Cell(label=boxes, note=player)
        free = self.expand(np.array([position])).move.tolist()
        targets = {move: int(self._cells[move]) for move in free}
        return self._picture(
            position, [*cells, *below], len(rows[0]), ground="heaps", targets=targets
        )

    def read(self, text: str) -> int:
        """Return the position of a text; boards that play does not reach are read, too.

        The boxes of the players may be left out while none is closed.
        """
        drawing, turn = split_turn(text, self)
        score = _SCORE.search(drawing[-20:])
        drawing = drawing[: score.start() - len(drawing[-20:])] if score else drawing
        drawn = self._read_lines(drawing)
        lines = int(self._bits[drawn].sum())
        closed = int(((self._squares & lines) == self._squares).sum())
        boxes = [*map(int, score.groups())] if score else [0, 0]
        if sum(boxes) != closed:
            raise ImpossibleCountsError(
                f"{shown(text)} has {closed} closed box{'es' * (closed != 1)}; write how many each "
                f"player has, such as {self._tails[closed * (self.boxes + 1)].strip()}"
            )
        return lines | boxes[0] * self._one_box | (turn - 1) * self._side

    def write_move(self, move: int) -> str:
        """Return the dots of a line, such as ``a1b1``: column by letter, row from the top."""
        return self._names[move] if move < self.lines else str(move)

    def read_move(self, text: str) -> int:
        dots = re.fullmatch(r"([a-z][0-9]{1,2})-?([a-z][0-9]{1,2})", text.lower())
        for name in (dots[1] + dots[2], dots[2] + dots[1]) if dots else ():
            if name in self._names:
                return self._names.index(name)
        raise MoveError(
            f"{shown(text)} is not a line of {self.name}; write its two dots, such as "
            f"{self._names[0]}: a1 is at the top left, {_dot(self.rows, self.columns)} at the "
            "bottom right"
        )

    def _scores(self, positions: Ints) -> tuple[Ints, Ints]:
        """Return the boxes of both players."""
        lines = (positions & self._full)[:, np.newaxis]
        closed = ((lines & self._squares) == self._squares).sum(axis=1)
        one = (positions & (self._side - 1)) >> self.lines
        return one, closed - one

    def _drawing(self, position: int) -> tuple[list[str], str]:
        """Return the rows of a drawing, ``#`` in closed boxes, and the text below it."""
        here = np.array([position], dtype=np.int64)
        body, _, tail = self.texts(here)[0].partition(" ")
        rows = [[" "] * (2 * self.columns + 1) for _ in range(2 * self.rows + 1)]
        for row in rows[::2]:
            row[::2] = "+" * (self.columns + 1)
        for at, mark in zip(self._cells.tolist(), body.replace("/", ""), strict=True):
            down, right = divmod(at, 2 * self.columns + 1)
            rows[down][right] = " " if mark == "." else mark
        for box in np.flatnonzero((self._squares & position) == self._squares).tolist():
            down, right = divmod(box, self.columns)
            rows[2 * down + 1][2 * right + 1] = "#"
        return ["".join(row) for row in rows], tail

    def _read_lines(self, text: str) -> NDArray[np.bool_]:
        """Return bool[lines]: True for the lines that a drawing or rows of lines show."""
        text = text.replace("\r", "").replace(" / ", "/")  # one of two rows begins and ends with +
        rows = re.split(r"[/\n]", text.strip(" \n/"))
        size = [self.columns, self.columns + 1] * self.rows + [self.columns]
        if rows[0].startswith("+"):  # dots are shown
            step = max((len(rows[0].rstrip()) - 1) // self.columns, 1)
            wide = step * self.columns + 1
            begins = [step // 2, 0] * self.rows + [step // 2]
            rows = [row.rstrip().ljust(wide) for row in rows]
            fits = {*map(len, rows)} == {wide} and len(rows) == len(size) and step > 1
            marks = "".join(row[at::step] for row, at in zip(rows, begins, strict=False))
        else:
            marks = "".join(row.replace(" ", "") for row in rows)
            found = [len(row.replace(" ", "")) for row in rows]
            fits = found in (size, [self.lines])
        if not fits:
            raise WrongSizeError(
                f"{shown(text)} is not a board of {self.name}; write rows of {self.columns} and "
                f"{self.columns + 1} lines in turn, . where none is drawn, as in "
                f"{self.texts(self.start_states())[0]}"
            )
        for mark in marks:
            if mark not in _DRAWN + _FREE:
                raise UnknownCharacterError(
                    f"{shown(mark)} is not a line of {self.name}; write -, | and . where none is "
                    "drawn"
                )
        return np.array([mark in _DRAWN for mark in marks])

    def _plain(self, texts: Sequence[str]) -> tuple[Ints, NDArray[np.bool_]]:
        width = int(self._places[-1]) + 1
        joined = "".join(text[:width].ljust(width) for text in texts)
        if not joined.isascii():
            return super()._plain(texts)
        letters = np.frombuffer(joined.encode(), dtype=np.uint8).reshape(len(texts), width)
        lines = (letters[:, self._places] == self._marks_of) @ self._bits
        known = {tail: number for number, tail in enumerate(self._tails)}
        tail = np.array([known.get(text[width:], 0) for text in texts], dtype=np.int64)
        side, one = np.divmod(tail // (self.boxes + 1), self.boxes + 1)
        positions = lines + one * self._one_box + side * self._side
        same = np.array(self.texts(positions), dtype=object) == np.array(texts, dtype=object)
        return positions, same


def _lines(columns: int, rows: int) -> int:
    return columns * (rows + 1) + rows * (columns + 1)


def _dot(row: int, column: int) -> str:
    return f"{chr(ord('a') + column)}{row + 1}"


def dots_and_boxes(w: int, h: int) -> DotsAndBoxes:
    """Return dots and boxes on w columns by h rows of boxes.

    >>> dots_and_boxes(2, 2).name
    'dots_and_boxes(2,2)'
    """
    check_whole("dots_and_boxes", w=w, h=h)
    bits = _lines(w, h) + (w * h).bit_length() + 1
    check_bits("dots_and_boxes", f"{w} columns by {h} rows", bits)
    return DotsAndBoxes(f"dots_and_boxes({w},{h})", columns=w, rows=h)
