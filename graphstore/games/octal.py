"""Octal games: take tokens from a heap, and perhaps split the rest into two heaps.

Digit k of the code ``0.d1d2d3...`` is a sum of what may be left of a heap from which k tokens are
taken: 1 for nothing, 2 for one heap, 4 for two heaps; 4 before the point allows to split a heap
without taking (R. K. Guy and C. A. B. Smith, Proc. Cambridge Phil. Soc. 52, 1956, 514-526).

A position is a multiset of heaps. It packs them from the largest down, each as a 1 and one 0 fewer
than it has tokens: 0b100_10_10 are heaps of 3, 2 and 2. So all heaps together have at most 63.
"""

import re

import numpy as np

from graphstore.errors import GameNameError, MoveError, WrongSizeError, shown
from graphstore.games.base import ArrayGame, check_whole
from graphstore.games.heaps import heap_size, heap_texts
from graphstore.rules.game import IN_PLAY, LOSS, Codes, Ints, Moves
from graphstore.rules.picture import Cell, Picture
from graphstore.util.arrays import offsets, ragged

MOST = 63  # tokens in a position


class Octal(ArrayGame):
    """An octal game; a player who cannot move has lost. Create one with `octal`.

    Move 120307 leaves heaps of 3 and 7 of a heap of 12; its name is 12-3-7.
    """

    impartial = True

    def __init__(self, name: str, *, code: str, start: int) -> None:
        self.name = name
        self.code = code
        self.start = start
        self.max_plies = 2 * start if code[0] == "4" else start
        options = [(h, a, b) for h in range(start + 1) for a, b in _rests(code, h)]
        heaps, self._left, self._right = np.array(options, dtype=np.int64).reshape(-1, 3).T
        self._move = heaps * 10_000 + self._left * 100 + self._right
        self._offset = offsets(np.bincount(heaps, minlength=start + 1))

    def start_states(self) -> Ints:
        return np.array([(1 << self.start) >> 1], dtype=np.int64)

    def expand(self, positions: Ints) -> Moves:
        counts = self._counts(positions)
        tokens: Ints = counts * np.arange(self.start + 1)
        below = np.cumsum(tokens, axis=1) - tokens  # in smaller heaps
        parent, heap = np.nonzero(counts)
        option = ragged(self._offset, heap)
        parent, heap = (np.repeat(each, np.diff(self._offset)[heap]) for each in (parent, heap))
        left, right = self._left[option], self._right[option]
        low = below[parent, heap]
        code = positions[parent]
        child = (code >> low >> heap << low) | (code & ((1 << low) - 1))
        child = _with(child, right, below[parent, right])
        child = _with(child, left, below[parent, left])
        return Moves(parent, self._move[option].astype(np.int32), child)

    def outcomes(self, positions: Ints) -> Codes:
        can_move = self._counts(positions)[:, np.diff(self._offset) > 0].any(axis=1)
        return np.where(can_move, IN_PLAY, LOSS).astype(np.int8)

    def texts(self, positions: Ints) -> list[str]:
        """Return the heaps, the smallest first; ``0`` without heaps."""
        return [_text(position) for position in positions.tolist()]

    def picture(self, position: int) -> Picture:
        """Return all heaps in one row, the smallest first, with a gap after each.

        A move that leaves a tokens on the left is after these, if no other move is there.
        """
        begins, row = {}, ""
        for size in map(int, self.texts(np.array([position]))[0].split(",")):
            begins[size] = len(row)
            row += "\u25cf" * size + " "
        # Who takes tokens does not lengthen the row; 4 before the point splits without taking.
        width = max(self.start * (1 + (self.code[0] == "4")), len(row) - 1, 1)
        unit = Cell(label="\u25cf", shape="unit")
        cells = tuple(unit if each.strip() else Cell() for each in row[:width].ljust(width))
        moves = self.expand(np.array([position])).move.tolist()
        free = {begins[move // 10_000] + move // 100 % 100: move for move in moves[::-1]}
        targets = {move: cell for cell, move in free.items()}
        return Picture(cells, width, (1, width), "heaps", targets=targets)

    def read(self, text: str) -> int:
        """Return the position of a text: heaps in any order, of up to `start` tokens together."""
        fields = heap_texts(text, example="1,2", game=self.name)
        sizes = sorted(map(heap_size, fields), reverse=True)
        if not all(fields) or sum(sizes) > self.start:
            raise WrongSizeError(
                f"{shown(text)} is not a position of {self.name}; write heaps of 0 to "
                f"{self.start} tokens together, like 1,2"
            )
        return int("0" + "".join(f"1{'0' * (size - 1)}" for size in sizes if size), 2)

    def write_move(self, move: int) -> str:
        return f"{move // 10_000}-{move // 100 % 100}-{move % 100}"

    def read_move(self, text: str) -> int:
        parts = re.fullmatch(r"([0-9]{1,2})-([0-9]{1,2})-([0-9]{1,2})", text)
        heap, left, right = map(int, parts.groups()) if parts else (0, 0, 0)
        move = heap * 10_000 + left * 100 + right
        if move not in self._move:
            raise MoveError(
                f"{shown(text)} is not a move of {self.name}; write HEAP-A-B: 12-3-7 leaves 3 and "
                "7 of a heap of 12"
            )
        return move

    def _counts(self, positions: Ints) -> Codes:
        """Return int8[n, start + 1]: the number of heaps of each size."""
        counts = np.zeros((len(positions), self.start + 1), dtype=np.int8)
        rest = positions.copy()
        while (rows := np.flatnonzero(rest)).size:  # the smallest heap is the lowest
            size = np.bitwise_count(rest[rows] ^ (rest[rows] - 1))
            counts[rows, size] += 1
            rest[rows] >>= size
        return counts


def _rests(code: str, heap: int) -> list[tuple[int, int]]:
    """Return what a move may leave of a heap, as two ascending sizes, 0 for no heap."""
    digits = [int(digit) for digit in code.replace(".", "")]
    found = []
    for rest in range(max(heap - len(digits) + 1, 0), heap + 1):
        digit = digits[heap - rest]
        if digit & (2 if rest else 1):
            found.append((0, rest))
        if digit & 4:
            found += [(a, rest - a) for a in range(1, rest // 2 + 1)]
    return sorted(found)


def _with(positions: Ints, size: Ints, below: Ints) -> Ints:
    """Return positions with one more heap of a size; `below` are the tokens in smaller heaps."""
    heap = 1 << size >> 1
    low = positions & ((1 << below) - 1)
    return (((positions >> below << size) | heap) << below) | low


def _text(position: int) -> str:
    heaps = f"{position:b}".split("1")[:0:-1]  # their zeros, the smallest heap first
    return ",".join(str(len(zeros) + 1) for zeros in heaps) or "0"


def octal(code: str, n: int) -> Octal:
    """Return the octal game of a code on a heap of n.

    >>> octal("0.770", 12).name
    'octal(0.77,12)'
    """
    before, _, digits = str(code).partition(".")
    if before not in ("", "0", "4") or not re.fullmatch(rf"[0-7]{{1,{MOST}}}", digits):
        raise GameNameError(
            f"octal: the code is {shown(code)}; write 0 or 4, a point, and 1 to {MOST} digits from "
            "0 to 7, such as 0.77"
        )
    code = f"{before or 0}.{digits.rstrip('0') or 0}"
    return row("octal", code, n, name=f"octal({code},{n})")


def row(family: str, code: str, n: int, *, name: str = "") -> Octal:
    """Return an octal game that has a name of its own, such as ``kayles``.

    >>> row("kayles", "0.77", 12).name
    'kayles(12)'
    """
    check_whole(family, least=0, n=n)
    if n > MOST:
        raise GameNameError(f"{family}: n is {n}, too large; a position packs at most {MOST}")
    return Octal(name or f"{family}({n})", code=code, start=n)


def with_point(parameters: str) -> str:
    """Return the parameters of `octal` with a point in the code, which names of files lack.

    >>> with_point("0,07,12"), with_point("77,12"), with_point("4.007,12")
    ('0.07,12', '0.77,12', '4.007,12')
    """
    parts = re.fullmatch(r"\s*(?:([0-9])?\s*[.,])?([0-9]+)\s*,\s*([0-9]+)\s*", parameters)
    return f"{parts[1] or 0}.{parts[2]},{parts[3]}" if parts else parameters
