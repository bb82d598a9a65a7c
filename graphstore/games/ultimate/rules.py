"""Ultimate tic-tac-toe: nine fields of nine spots; the spot played is the field of the next move.

A position has more than 63 bits, so its id is a hash (`graphstore.games.ultimate.ids`). The
canonical position is the image with the smallest id. The game keeps the positions it has seen.
"""

import re
from collections.abc import Sequence
from functools import cache, cached_property, partial

import numpy as np
from numpy.typing import NDArray

from graphstore.errors import GameNameError, MoveError, PositionError, shown
from graphstore.games.base import ArrayGame, o_began
from graphstore.games.ultimate import text as ultimatetext
from graphstore.games.ultimate.fields import ANY, DRAWN, SPOTS, SYMMETRIES, Board, has_line, tables
from graphstore.games.ultimate.ids import STATE, id_keys, image_ids, image_rows
from graphstore.games.ultimate.interning import Interned, Rows
from graphstore.games.ultimate.search import UltimateSearch
from graphstore.rules.game import DRAW, IN_PLAY, LOSS, WIN, Codes, Ints, Look, Moves
from graphstore.rules.picture import Cell, Picture, lines, marks

RULES = ("open", "closed")


class Ultimate(ArrayGame):
    """Ultimate tic-tac-toe. Create it with `ultimate`.

    With `dead`, a won field is closed. With `count`, most fields win if no player has a line.
    """

    max_plies = SPOTS * SPOTS
    players = ("X", "O")

    def __init__(self, *, dead: bool, count: bool) -> None:
        self.dead = dead
        self.count = count
        self.name = f"ultimate({RULES[dead]}{',count' * count})"
        self._met = Interned(width=STATE + 1, game=self.name)
        self._start = self.intern(Board((0,) * SPOTS, ANY, 1))

    def start_states(self) -> Ints:
        return np.array([self._start], dtype=np.int64)

    def expand(self, positions: Ints) -> Moves:
        """Move 9 * f + s marks spot s of field f."""
        known, keys = tables(), id_keys()
        rows = self._met.rows(positions)
        parent, field, spot = np.nonzero(_legal(rows))
        row, every = rows.take(parent, axis=0), np.arange(len(parent))
        old, state = row[every, field], row[:, STATE] & 31
        new = known.after[int(self.dead), state & 1, old, spot]
        row[every, field] = new
        target = np.where(known.playable[row[every, spot]], spot, ANY)
        row[:, STATE] = target << 1 | (state & 1 ^ 1)
        changed = (known.result[new] != known.result[old]) | ~known.playable[new]
        self._end(row, np.flatnonzero(changed))
        child = positions[parent] ^ keys.fields[field, old, 0] ^ keys.fields[field, new, 0]
        child ^= keys.states[state, 0] ^ keys.states[row[:, STATE] & 31, 0]
        self._met.add(child, row)
        return Moves(parent, (SPOTS * field + spot).astype(np.int32), child)

    def outcomes(self, positions: Ints) -> Codes:
        state = self._met.rows(positions)[:, STATE]
        return np.asarray(_OUTCOMES[state >> 8, state & 1])

    def turns(self, positions: Ints) -> Codes:
        return (1 + (self._met.rows(positions)[:, STATE] & 1)).astype(np.int8)

    def images(self, positions: Ints) -> Ints:
        """Return int64[8, n]: every position under every symmetry, the identity first."""
        rows = self._met.rows(positions)
        ids = image_ids(rows)
        for which in range(1, len(SYMMETRIES)):
            self._met.add(ids[:, which], image_rows(rows, np.full(len(rows), which)))
        return np.ascontiguousarray(ids.T)

    def canonical(self, positions: Ints) -> Ints:
        rows = self._met.rows(positions)
        ids = image_ids(rows)
        which = ids.argmin(axis=1)
        least: Ints = np.take_along_axis(ids, which[:, np.newaxis], axis=1).ravel()
        turned = np.flatnonzero(which)
        self._met.add(least[turned], image_rows(rows[turned], which[turned]))
        return least

    def orbits(self, positions: Ints) -> Ints:
        same = image_ids(self._met.rows(positions)) == positions[:, np.newaxis]
        return np.asarray(len(SYMMETRIES) // same.sum(axis=1))

    def texts(self, positions: Ints) -> list[str]:
        """Return the fields, the active one, and the side to move.

        >>> ultimate("closed").texts(ultimate("closed").start_states())
        ['. . . . . . . . . any X']
        """
        return ultimatetext.write(self._met.rows(positions))

    def read(self, text: str) -> int:
        return self.intern(self._board(text))

    def read_many(self, texts: Sequence[str]) -> Ints:
        return self._intern([self._board(text) for text in texts])

    def _board(self, text: str) -> Board:
        read = partial(ultimatetext.read, dead=self.dead, game=self.name)
        try:
            return read(text)
        except PositionError as error:
            swapped = ultimatetext.swapped(text)
            raise o_began(self, error, lambda: self.intern(read(swapped))) from None

    def search_from(self, position: int) -> tuple[int, Look]:
        return self._search.node(self.merged(position)), self._search.look

    @cached_property
    def _search(self) -> UltimateSearch:
        return UltimateSearch(dead=self.dead, count=self.count)

    def board(self, position: int) -> str:
        return ultimatetext.draw(self.merged(position))

    def picture(self, position: int) -> Picture:
        """Return the nine fields, a large mark over a decided one, and those to play in."""
        board, known = self.merged(position), tables()
        spots = "".join("".join(ultimatetext.spots(field)) for field in board.fields)
        order = np.arange(SPOTS * SPOTS).reshape(3, 3, 3, 3).swapaxes(1, 2).ravel()
        cells = [*marks("".join(spots[at] for at in order.tolist()), "XO")]
        results = known.result[list(board.fields)].tolist()
        free = known.free[list(board.fields)]
        for at, field in enumerate((order // SPOTS).tolist()):
            if results[field]:  # whose the marks are does not count any more
                cells[at] = cells[at]._replace(pale=True) if free[field].any() else Cell()
        names = (("X", "X"), ("O", "O"), ("=", ""))
        big = {
            field: Cell(label=names[result - 1][0], shape=names[result - 1][1], side=result % 3)
            for field, result in enumerate(results)
            if result
        }
        turn = self._mover(position)
        fields = range(SPOTS) if board.active == ANY else [board.active]
        active = frozenset(f for f in fields if turn and known.playable[board.fields[f]])
        sides = [big.get(field, Cell()) for field in range(SPOTS)]
        middle = [9 * (3 * (f // 3) + 1) + 3 * (f % 3) + 1 for f in range(SPOTS)]
        won = tuple((middle[begin], middle[end]) for begin, end in lines(sides, 3, 3))
        return Picture(
            tuple(cells),
            SPOTS,
            (3, 3),
            turn=turn,
            big=big,
            active=active,
            won=won,
            targets=dict(zip(order.tolist(), range(SPOTS * SPOTS), strict=True)),
        )

    def merged(self, position: int) -> Board:
        """Return the board of a position."""
        *fields, state = self._met.rows(np.array([position]))[0].tolist()
        return Board(tuple(fields), state >> 1 & 15, 1 + (state & 1))

    def intern(self, board: Board) -> int:
        """Return the position of a board."""
        return int(self._intern([board])[0])

    def write_move(self, move: int) -> str:
        """Return the name of a move, its field and spot.

        >>> ultimate("open").write_move(40)
        '4.4'
        """
        return f"{move // SPOTS}.{move % SPOTS}"

    def read_move(self, text: str) -> int:
        """Return the move of a text: field and spot, or 9 * field + spot.

        >>> game = ultimate("open")
        >>> game.read_move("4.4"), game.read_move("40")
        (40, 40)
        """
        match = re.fullmatch(r"\s*(?:([0-8])\s*[.,:]\s*([0-8])|([0-9]{1,2}))\s*", text, re.ASCII)
        move = -1
        if match is not None:
            field, spot, number = match.groups()
            move = int(number) if field is None else SPOTS * int(field) + int(spot)
        if not 0 <= move < SPOTS * SPOTS:
            raise MoveError(
                f"{shown(text)} is not a move of {self.name}; write field and spot, each from 0 to "
                "8, such as 4.0, or 9 * field + spot"
            )
        return move

    def _intern(self, boards: Sequence[Board]) -> Ints:
        rows = np.array([(*b.fields, b.active << 1 | b.turn - 1) for b in boards], dtype=np.uint16)
        rows = rows.reshape(-1, STATE + 1)
        self._end(rows, np.arange(len(rows)))
        ids = np.ascontiguousarray(image_ids(rows)[:, 0])
        self._met.add(ids, rows)
        return ids

    def _end(self, rows: Rows, which: Ints) -> None:
        """Set the results of ended games in `rows`; only the rows `which` can have ended."""
        known = tables()
        fields = rows[which, :STATE]
        result = known.result[fields]
        index = np.zeros(len(which), dtype=np.int64)
        for field in range(SPOTS):
            index |= result[:, field].astype(np.int64) << 2 * field
        by_line, by_count = _results()
        stuck = ~known.playable[fields].any(axis=1)
        end = np.where(stuck & (by_line[index] == 0), by_count[index] if self.count else DRAWN, 0)
        end = end.astype(np.uint16) | by_line[index]
        rows[which, STATE] |= end << 8


_OUTCOMES = np.array([[IN_PLAY] * 2, [WIN, LOSS], [LOSS, WIN], [DRAW] * 2], dtype=np.int8)


def _legal(rows: Rows) -> NDArray[np.bool_]:
    """Return bool[n, 9, 9]: True where a spot of a field may be played."""
    legal = tables().free.take(rows[:, :STATE], axis=0)
    active = (rows[:, STATE] >> 1 & 15)[:, np.newaxis]
    legal &= ((active == np.arange(SPOTS)) | (active == ANY))[:, :, np.newaxis]
    return legal


@cache
def _results() -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
    """Return the results of games by line and by count, uint16[4**9] each.

    The index packs the results of the nine fields, 2 bits each, field 0 lowest.
    """
    index = np.arange(4**SPOTS)
    fields = index[:, np.newaxis] >> 2 * np.arange(SPOTS) & 3
    by_line = np.select([has_line(fields == 1), has_line(fields == 2)], [1, 2], 0)
    lead = (fields == 1).sum(axis=1) - (fields == 2).sum(axis=1)
    by_count = np.select([lead > 0, lead < 0], [1, 2], DRAWN)
    return by_line.astype(np.uint16), by_count.astype(np.uint16)


def ultimate(*options: int | str) -> Ultimate:
    """Return ultimate tic-tac-toe under the rules ``open``, ``closed`` or ``closed, count``."""
    rules, *count = options or ("",)
    if rules not in RULES:
        raise GameNameError(f"ultimate: {rules!r} is not a rule set; choose {' or '.join(RULES)}")
    if count not in ([], ["count"]):
        raise GameNameError(f"ultimate: {count[-1]!r} is not an option; the only one is count")
    if count and rules != "closed":
        raise GameNameError("ultimate: only the closed rules can count fields; leave count out")
    return Ultimate(dead=rules == "closed", count=bool(count))
