"""Hexapawn: pawns of chess on w columns by h rows; the first to reach the far side wins.

A position is packed by `graphstore.games.sided.SidedBoard`. White begins and moves up.
"""

from collections.abc import Sequence

import numpy as np

from graphstore.errors import BothSidesWonError, ImpossibleCountsError, PlayAfterWinError
from graphstore.games.base import check_cells, check_whole, read_pair
from graphstore.games.sided import SidedBoard, SidedGame, UnreachableError
from graphstore.rules.game import IN_PLAY, LOSS, Codes, Ints, Moves
from graphstore.rules.picture import Picture

_COUNTS, _BOTH, _AFTER, _MOVES = 1, 2, 3, 4  # faults of a position


class Hexapawn(SidedGame):
    """Hexapawn. Create one with `hexapawn`.

    Move m takes the pawn on cell ``m // cells`` to cell ``m % cells``, cells numbered from the top
    left, row by row.
    """

    players = ("white", "black")

    def __init__(self, name: str, *, columns: int, rows: int) -> None:
        self.name = name
        self.columns = columns
        self.rows = rows
        # Until each pawn is before the last row, and one on it.
        self.max_plies = 2 * columns * (rows - 2) + 1
        cells = np.arange(rows * columns).reshape(rows, columns)
        both = dict.fromkeys(tuple(view.ravel().tolist()) for view in (cells, cells[:, ::-1]))
        self.symmetry = SidedBoard(
            rows=rows, columns=columns, players=self.players, permutations=[*both]
        )
        bits = self.symmetry.bits
        self._rows = bits[cells].sum(axis=1).tolist()
        self._homes = (self._rows[-1], self._rows[0])  # white's and black's
        self._left, self._right = (int(bits[cells[:, c]].sum()) for c in (0, -1))

    def start_states(self) -> Ints:
        white, black = np.array([self._homes], dtype=np.int64).T
        return self.symmetry.join(white, black, np.ones(1, dtype=np.int8))

    def expand(self, positions: Ints) -> Moves:
        turns = self.turns(positions)
        parts = [self._moves(np.flatnonzero(turns == turn), positions, turn) for turn in (1, 2)]
        parent, move, child = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        order = np.argsort(parent, kind="stable")
        return Moves(parent[order], move[order], child[order])

    def outcomes(self, positions: Ints) -> Codes:
        codes = np.full(len(positions), IN_PLAY, dtype=np.int8)
        turns, (own, other) = self.turns(positions), self.symmetry.sides(positions)
        for turn in (1, 2):
            rows = np.flatnonzero(turns == turn)
            can_move = self._ends(own[rows], other[rows], turn).any(axis=0)
            reached = (other[rows] & self._homes[turn - 1]) != 0
            codes[rows[reached | ~can_move]] = LOSS
        return codes

    def read(self, text: str) -> int:
        """Return the position of a text.

        Only the numbers of pawns, their numbers of moves and their rows are checked, so some
        unreachable boards are accepted: 2,531 boards of hexapawn(3,3) are read, and 135 can be
        reached.
        """
        white, black, turn = self._read_sides(text)
        turns = np.array([turn], dtype=np.int8)
        position = self.symmetry.join(np.array([white]), np.array([black]), turns)
        fault = self.faults(position)[0]
        mover, last = self.players[turn - 1], self.players[2 - turn]
        if fault == _COUNTS:
            raise ImpossibleCountsError(
                f"{white.bit_count()} white and {black.bit_count()} black pawns are impossible: "
                f"each side begins with {self.columns}"
            )
        if fault == _BOTH:
            raise BothSidesWonError("both sides have reached the far side; the first one has won")
        if fault == _AFTER:
            at_end = white & self._homes[1] if turn == 1 else black & self._homes[0]
            raise PlayAfterWinError(
                f"{mover if at_end else last} had reached the far side, yet play continued"
            )
        if fault == _MOVES:
            raise UnreachableError(
                f"{mover} cannot be to move: no sequence of moves leads to these pawns"
            )
        return int(position[0])

    def picture(self, position: int) -> Picture:
        """Return pawns on a board of chess; a pawn on the far side is marked."""
        cells = self._marks(position, "WB", ("pawn", "pawn"))
        last = len(cells) - self.columns
        won = tuple(
            (at, at)
            for at, cell in enumerate(cells)
            if (cell.side == 1 and at < self.columns) or (cell.side == 2 and at >= last)
        )
        return self._picture(position, cells, self.columns, ground="chess", won=won)

    def write_move(self, move: int) -> str:
        """Return ``6-3`` for the move of the pawn on cell 6 to cell 3."""
        begin, end = divmod(move, self.symmetry.cells)
        return f"{begin}-{end}"

    def read_move(self, text: str) -> int:
        cells = self.symmetry.cells
        how = f"write FROM-TO, such as {cells - 1}-{cells - 1 - self.columns}"
        begin, end = read_pair(text, how=how, cells=cells)
        return cells * begin + end

    def _ends(self, own: Ints, other: Ints, turn: int) -> Ints:
        """Return int64[3, n]: masks of cells where pawns can take left, go ahead, take right."""
        ahead = own << self.columns if turn == 1 else own >> self.columns
        free = self.symmetry.full & ~(own | other)
        left, right = (ahead & ~self._left) << 1, (ahead & ~self._right) >> 1
        return np.stack((left & other, ahead & free, right & other))

    def _moves(self, rows: Ints, positions: Ints, turn: int) -> Moves:
        """Return the moves of the positions at `rows`, all with the same player to move."""
        own, other = self.symmetry.sides(positions[rows])
        up, cells = -self.columns if turn == 1 else self.columns, self.symmetry.cells
        steps = np.arange(3 * cells)  # ordered by origin, then by target
        begin, direction = steps // 3, steps % 3
        end = begin + up + direction - 1
        on = (end >= 0) & (end < cells)
        begin, end, direction = begin[on], end[on], direction[on]
        bits = self.symmetry.bits
        legal = (
            self._ends(own, other, turn).T[:, direction] & bits[end]
        ) != 0  # then `begin` is an own pawn
        row, step = np.nonzero(legal)
        begin, end = begin[step], end[step]
        child = self.symmetry.after(
            own[row] ^ bits[begin] ^ bits[end],
            other[row] & ~bits[end],
            np.full(len(row), turn, dtype=np.int8),
        )
        return Moves(rows[row], (cells * begin + end).astype(np.int32), child)

    def faults(self, positions: Ints) -> Codes:
        """Return int8[n]: the fault of each position, or 0."""
        white, black = self.symmetry.split(positions)
        turns = self.turns(positions)
        n_white, far_white, made_white = _tally(white, self._rows[::-1])
        n_black, far_black, made_black = _tally(black, self._rows)
        lost_white, lost_black = self.columns - n_white, self.columns - n_black
        # A side has moved as many times as its pawns went ahead by rows, lost pawns included.
        least_white = np.maximum(made_white, lost_black)
        least_black = np.maximum(made_black, lost_white) + (turns == 2)
        most_white = made_white + lost_white * (self.rows - 2)
        most_black = made_black + lost_black * (self.rows - 2) + (turns == 2)
        possible = (least_white <= most_black) & (least_black <= most_white)
        possible &= (least_white <= most_white) & (least_black <= most_black)
        faults = np.where(possible, 0, _MOVES)
        after = (np.where(turns == 1, far_white, far_black) > 0) | (far_white + far_black > 1)
        faults[after] = _AFTER
        faults[(far_white > 0) & (far_black > 0)] = _BOTH
        faults[np.maximum(n_white, n_black) > self.columns] = _COUNTS
        return faults.astype(np.int8)


def _tally(pawns: Ints, rows: Sequence[int]) -> tuple[Ints, Ints, Ints]:
    """Return three counts: pawns, pawns on the last row, rows by which all pawns advanced."""
    by_row = [np.bitwise_count(pawns & row).astype(np.int64) for row in rows]
    ahead = [gone * count for gone, count in enumerate(by_row)]
    return np.sum(by_row, axis=0), by_row[-1], np.sum(ahead, axis=0)


def hexapawn(w: int, h: int) -> Hexapawn:
    """Return hexapawn on w columns by h rows.

    >>> hexapawn(3, 3).name
    'hexapawn(3,3)'
    """
    check_whole("hexapawn", w=w)
    check_whole("hexapawn", least=3, h=h)
    check_cells("hexapawn", w, h)
    return Hexapawn(f"hexapawn({w},{h})", columns=w, rows=h)
