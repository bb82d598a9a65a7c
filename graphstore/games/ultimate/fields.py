"""One field of ultimate tic-tac-toe: its possible contents, and the effect of a mark.

Of a decided field (won or drawn) only the result and the free spots matter. So the *code* of a
field has 20 bits: its result (0 undecided, 1 X, 2 O, 3 drawn) above two bits per spot, spot 0 the
most significant: 0 empty, 1 X, 2 O, 3 a mark of either player. All marks of a decided field are 3.
If the rules close a won field, it is *dead*: all its spots are 3. The *number* of a field is the
rank of its code among all codes; the empty field is number 0.
"""

from functools import cache, lru_cache
from itertools import product
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from graphstore.errors import EncodingError
from graphstore.rules.game import Codes, Ints
from graphstore.rules.symmetry import board_permutations

SPOTS: Final = 9
ANY: Final = 9
"""The active field if the player to move may choose any field."""
EMPTY, CROSS, NOUGHT, EITHER = 0, 1, 2, 3
DRAWN: Final = 3
"""The result of a full field that neither player won; 1 and 2 are won fields."""
_CELLS = np.arange(SPOTS).reshape(3, 3)
LINES: Final[list[list[int]]] = [
    line.tolist() for line in (*_CELLS, *_CELLS.T, _CELLS.diagonal(), _CELLS[:, ::-1].diagonal())
]
SYMMETRIES: Final = board_permutations(rows=3, columns=3)
SHIFTS = 2 * np.arange(SPOTS - 1, -1, -1, dtype=np.int64)  # of the spots in a code


class Board(NamedTuple):
    """A position without the marks that no longer matter for play."""

    fields: tuple[int, ...]  # the numbers of the nine fields
    active: int  # the field to play in, or `ANY`; kept when the game is over
    turn: int  # 1 or 2, the player to move


class Field(NamedTuple):
    """The marks and the result of a field."""

    cells: tuple[int, ...]  # nine of 0 empty, 1 X, 2 O
    result: int  # 0 undecided, 1 X, 2 O or `DRAWN`; the first player with a line


class Contents(NamedTuple):
    """The number of a field, and its possible leads: the numbers of X minus the numbers of O."""

    field: int  # its number
    leads: tuple[int, ...]  # several if the field does not show its marks

    @classmethod
    def full(cls, result: int, *, dead: bool) -> Self:
        """Return the contents of a full or dead field with unknown marks."""
        field = number(result << 18 | 2**18 - 1)
        return cls(field, tuple(fillings(field, dead=dead)))


class Tables(NamedTuple):
    """The properties of all c fields, by number."""

    codes: Ints  # ascending
    result: NDArray[np.uint8]  # 0, 1, 2 or `DRAWN`
    free: NDArray[np.bool_]  # [c, 9], True where a spot can be played
    playable: NDArray[np.bool_]  # [c], True if a spot can be played
    after: NDArray[np.uint16]  # [dead, player - 1, field, spot], the field after a mark
    images: NDArray[np.uint16]  # [8, c], the field under each symmetry


def has_line(marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return bool[n]: True where bool[n, 9] has three in a row."""
    lines = marked[:, np.array(LINES)]
    return np.asarray(np.logical_or.reduce(np.logical_and.reduce(lines, axis=2), axis=1))


def merged(cells: Codes, result: Codes, *, dead: bool) -> Ints:
    """Return the codes of fields; `cells` are int8[n, 9] of 0 empty, 1 X, 2 O, 3 either."""
    decided = (result != 0)[:, np.newaxis]
    filled = decided if dead else decided & (cells != EMPTY)
    spots = np.where(filled, EITHER, cells).astype(np.int64)
    return np.asarray((result.astype(np.int64) << 18) | (spots << SHIFTS).sum(axis=1))


def results(cells: Codes) -> Codes:
    """Return int8[n]: the results of fields in which at most one player has a line."""
    full = (cells != EMPTY).all(axis=1)
    won = [has_line(cells == mark) for mark in (CROSS, NOUGHT)]
    return np.select([*won, full], [CROSS, NOUGHT, DRAWN], 0).astype(np.int8)


@cache
def contents(field: Field, *, dead: bool) -> Contents:
    """Return the contents of a field.

    If all marks of a won field that stays playable are the winner's, they may be either player's.

    Raises:
        EncodingError: the marks and the result contradict each other.
    """
    cells, result = field
    won = [mark for mark in (CROSS, NOUGHT) if lines_of(cells, mark)]
    name = ".XO"
    if result in (CROSS, NOUGHT) and result not in won:
        raise EncodingError(f"{name[result]} has won, but has no line")
    if result in (0, DRAWN) and won:
        raise EncodingError(f"{name[won[0]]} has a line, but has not won")
    if result == DRAWN and EMPTY in cells:
        raise EncodingError("it is drawn, but not full")
    if result == 0 and EMPTY not in cells:
        raise EncodingError("it is full, but has no result")
    if dead and won and (len(won) == 2 or cells not in _just_won(result)):
        raise EncodingError(f"marks were added after {name[result]} had won")
    code = merged(np.array([cells], np.int8), np.array([result], np.int8), dead=dead)
    merely = number(int(code[0]))
    if result in (CROSS, NOUGHT) and not dead and {*cells} <= {EMPTY, result}:
        return Contents(merely, tuple(fillings(merely, dead=dead)))
    return Contents(merely, (cells.count(CROSS) - cells.count(NOUGHT),))


def number(code: int) -> int:
    """Return the number of the field with this code."""
    return int(np.searchsorted(tables().codes, code))


def cells_of(codes: Ints) -> Codes:
    """Return int8[n, 9]: the cells of fields, from their codes."""
    return ((codes[:, np.newaxis] >> SHIFTS) & 3).astype(np.int8)


@cache
def tables() -> Tables:
    """Return the tables; the first call takes a few hundredths of a second."""
    raw = np.array(list(product((EMPTY, CROSS, NOUGHT), repeat=SPOTS)), dtype=np.int8)
    won = [has_line(raw == mark) for mark in (CROSS, NOUGHT)]
    raw = raw[~(won[0] & won[1])]
    codes = np.unique(
        np.concatenate([merged(raw, results(raw), dead=dead) for dead in (False, True)])
    )
    cells, result = cells_of(codes), (codes >> 18).astype(np.int8)
    after = np.zeros((2, 2, len(codes), SPOTS), dtype=np.uint16)
    for dead, player, spot in product((0, 1), (0, 1), range(SPOTS)):
        rows = np.flatnonzero(cells[:, spot] == EMPTY)
        played = cells[rows]
        played[:, spot] = np.where(result[rows] == 0, player + 1, EITHER)
        then = np.where(result[rows] == 0, results(played), result[rows])
        new = merged(played, then, dead=bool(dead))
        after[dead, player, rows, spot] = np.searchsorted(codes, new)
    images = np.zeros((len(SYMMETRIES), len(codes)), dtype=np.uint16)
    for row, permutation in zip(images, SYMMETRIES, strict=True):
        image = np.empty_like(cells)
        image[:, permutation] = cells
        row[:] = np.searchsorted(
            codes, (codes & 3 << 18) | (image.astype(np.int64) << SHIFTS).sum(1)
        )
    free = cells == EMPTY
    return Tables(codes, result.astype(np.uint8), free, free.any(axis=1), after, images)


@cache
def fillings(field: int, *, dead: bool) -> dict[int, tuple[int, ...]]:
    """Return the possible leads of a field, each with an example: {lead: cells}.

    A lead is the number of X minus the number of O.

    The last mark in a dead field decided it. A won field that stays playable gets later marks, so
    the other player may have a line there, too.
    """
    known = tables()
    code = int(known.codes[field])
    cells, result = cells_of(known.codes[[field]])[0], code >> 18
    if result == 0:
        possible = [tuple(cells.tolist())]
    elif dead and result != DRAWN:
        possible = [*_just_won(result)]
    else:
        choices = [(EMPTY,) if cell == EMPTY else (CROSS, NOUGHT) for cell in cells.tolist()]
        possible = [*product(*choices)]
        for mark in (CROSS, NOUGHT):
            if result in (mark, DRAWN):
                possible = [e for e in possible if bool(lines_of(e, mark)) == (result == mark)]
    found: dict[int, tuple[int, ...]] = {}
    for each in possible:
        found.setdefault(each.count(CROSS) - each.count(NOUGHT), each)
    return found


@lru_cache(1 << 16)
def lines_of(cells: tuple[int, ...], mark: int) -> tuple[list[int], ...]:
    """Return the lines that consist of one mark."""
    return tuple(line for line in LINES if all(cells[spot] == mark for spot in line))


@cache
def _just_won(winner: int) -> dict[tuple[int, ...], None]:
    """Return the cells of all fields that the last mark can have won for `winner`, in order."""
    return {
        cells: None
        for cells in product((EMPTY, CROSS, NOUGHT), repeat=SPOTS)
        if (lines := lines_of(cells, winner))
        and set(lines[0]).intersection(*lines)
        and not lines_of(cells, CROSS + NOUGHT - winner)
    }
