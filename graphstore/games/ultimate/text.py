"""Reading and writing of ultimate tic-tac-toe as text: nine fields, active field, side to move.

docs/reference/games.md lists the forms that are read.
"""

import re
from functools import cache, lru_cache
from itertools import product

from graphstore.errors import (
    BothSidesWonError,
    EncodingError,
    ImpossibleCountsError,
    PlayAfterWinError,
    PositionError,
    UnknownCharacterError,
    WrongSizeError,
    shown,
)
from graphstore.games.sided import TurnMissingError
from graphstore.games.ultimate.fields import (
    ANY,
    CROSS,
    DRAWN,
    EITHER,
    NOUGHT,
    SPOTS,
    Board,
    Contents,
    Field,
    cells_of,
    contents,
    lines_of,
    tables,
)
from graphstore.games.ultimate.interning import Rows
from graphstore.games.ultimate.record import LENGTH, Record

MARKS = ".XO="
_DOTS = str.maketrans(dict.fromkeys("_-*B", "."))
LONGEST = 1_000  # characters; the largest picture has a third of that
_END = re.compile(
    r"[\s,;:]+(?:FIELD\s+(?P<field>[0-9]+)|(?P<plain>[0-9]+|ANY(?:\s+FIELD)?))"
    r"[\s,;:]+(?P<side>[XO])(?:\s+TO\s+(?:MOVE|PLAY)|\s+MOVES)?\Z"
)
_FORM = (
    "write nine fields with spaces between them, then the active field and the side to move: "
    "'. . . . ....X.... . . . . 4 O'"
)


class ActiveFieldError(PositionError):
    """An active field that the last move cannot have led to."""


def write(rows: Rows) -> list[str]:
    """Return the text of every row; see `graphstore.games.ultimate.ids`."""
    fields, ends = _written(), _ends()
    return [
        " ".join([*[fields[each] for each in row[:SPOTS]], ends[row[SPOTS] & 31]])
        for row in rows.tolist()
    ]


def draw(board: Board) -> str:
    """Return a drawing: nine lines of spots with rulers, and a line for active field and side."""
    fields = [spots(field) for field in board.fields]
    lines = []
    for band, row in product(range(0, SPOTS, 3), range(0, SPOTS, 3)):
        if band and not row:
            lines.append("------+-------+------")
        lines.append(
            " | ".join(" ".join(field[row : row + 3]) for field in fields[band : band + 3])
        )
    where = "any field" if board.active == ANY else f"field {board.active}"
    return "\n".join([*lines, f"{where}, {MARKS[board.turn]} to move"])


def read(text: str, *, dead: bool, game: str) -> Board:
    """Return the board of a text, or raise a PositionError; `dead`: won fields are closed."""
    if len(text) > LONGEST:
        raise WrongSizeError(f"{shown(text)} is {len(text):,} characters long; {_FORM}")
    typed = text.strip().upper()
    if re.fullmatch(rf"(0X)?[0-9A-F]{{{2 * LENGTH}}}", typed):
        try:
            record = Record.unpack(bytes.fromhex(typed.removeprefix("0X")))
            fields = record.contents(dead=dead)
        except EncodingError as error:
            raise PositionError(f"the record {shown(text.strip())}: {error}") from error
        board = Board(tuple(each.field for each in fields), record.active, record.to_move)
    else:
        end = _END.search(typed)
        if end is None:
            raise TurnMissingError(
                f"{shown(text)} does not end in the active field, 0 to 8 or any, and the side to "
                f"move; {_FORM}"
            )
        words = enumerate(_words(typed[: end.start()], text))
        fields = [_field(word, at, dead=dead, game=game) for at, word in words]
        said = end["field"] or end["plain"]
        free = said.startswith("ANY")
        if not free and said not in [*"012345678"]:
            raise ActiveFieldError(
                f"there is no field {said[:9]}; the active field is 0 to 8, or any"
            )
        numbers = tuple(each.field for each in fields)
        board = Board(numbers, ANY if free else int(said), MARKS.index(end["side"]))
    check(board, fields)
    return board


def swapped(text: str) -> str:
    """Return the text of a board with the marks of the players exchanged."""
    marks = text.upper().translate(str.maketrans("XO", "OX"))
    return re.sub(r"TX(?=\s+(?:MXVE|PLAY))", "TO", marks).replace("MXVE", "MOVE")


def check(board: Board, fields: list[Contents]) -> None:
    """Raise a PositionError if a board is certainly unreachable."""
    known, mover = tables(), CROSS + NOUGHT - board.turn  # the player who just moved
    result = tuple(known.result[list(board.fields)].tolist())
    won = [lines_of(result, side) for side in (CROSS, NOUGHT)]
    if all(won):
        raise BothSidesWonError(
            "X and O both have three fields in a line; the first line ends the game"
        )
    if won[board.turn - 1]:
        raise PlayAfterWinError(
            f"{MARKS[board.turn]} has three fields in a line, yet {MARKS[mover]} played on after it"
        )
    _check_counts(board, fields)
    if not any(board.fields):
        if board.active != ANY:
            raise ActiveFieldError(
                "the first move is free, so the active field of the start is any"
            )
        return
    playable = known.playable[list(board.fields)].tolist()
    if board.active != ANY:
        if not playable[board.active]:
            raise ActiveFieldError(
                f"field {board.active} cannot be played in any more, so the choice is free: any"
            )
        leads = [board.active]
    else:
        leads = [field for field in range(SPOTS) if not playable[field]]
        if not leads:
            raise ActiveFieldError(
                "every field can be played in, so the last move led to one of them; "
                "write its number"
            )
    codes = known.codes[list(board.fields)].tolist()
    shifts = [2 * (SPOTS - 1 - spot) for spot in leads]
    if not any(code >> shift & 3 in (mover, EITHER) for code in codes for shift in shifts):
        spots = f"spot {leads[0]}" if len(leads) == 1 else f"one of the spots {leads}"
        raise ActiveFieldError(
            f"{MARKS[mover]} moved last, but has no mark on {spots} of any field to lead there"
        )


def _check_counts(board: Board, fields: list[Contents]) -> None:
    wanted, sums, zero = board.turn - 1, 1, 0  # bit zero + n: X can have n more marks than O
    for each in fields:
        sums, before = 0, sums
        zero += SPOTS
        for lead in each.leads:
            sums |= before << SPOTS + lead
    if not sums >> zero + wanted & 1:
        leads = [bit - zero for bit in range(sums.bit_length()) if sums >> bit & 1]
        few = " or ".join(map(str, leads))
        said = few if len(leads) <= 3 else f"{leads[0]} to {leads[-1]}"
        raise ImpossibleCountsError(
            f"X has {said} more marks than O; with {MARKS[board.turn]} to move it must have "
            f"{wanted}: X begins and turns alternate"
        )


def _words(board: str, text: str) -> list[str]:
    """Return the texts of the nine fields of a board in upper case."""
    if "/" in board:
        raise WrongSizeError(
            f"{shown(text)} is ambiguous: a / may separate rows or fields; {_FORM}"
        )
    filled = [line for line in board.splitlines() if line.strip()]
    lines = [each for each in filled if each.strip("-+|= \t") or "-" not in each]  # no rulers
    lines = filled if len(filled) == 1 else lines
    if len(lines) == 1:
        words = re.split(r"[\s,;|]+", lines[0].strip(" \t,;|"))
        if len(words) != SPOTS:
            raise WrongSizeError(
                f"{shown(text)} has {len(words)} field{'s' * (len(words) != 1)}; {_FORM}"
            )
        return words
    rows = [re.sub(r"[\s|]", "", line) for line in lines]
    if len(rows) != SPOTS:
        raise WrongSizeError(f"{shown(text)} has {len(rows)} rows of spots; there are nine")
    for at, row in enumerate(rows, 1):
        if len(row) != SPOTS:
            raise WrongSizeError(
                f"{shown(text)} has {len(row)} spots in row {at}; there are nine, . for empty ones"
            )
    return [
        "".join(row[across : across + 3] for row in rows[down : down + 3])
        for down, across in product(range(0, SPOTS, 3), repeat=2)
    ]


@lru_cache(1 << 16)
def _field(word: str, at: int, *, dead: bool, game: str) -> Contents:
    """Return the contents of the text of field `at`."""
    word = word.translate(_DOTS)
    for character in word:
        if character not in MARKS:
            raise UnknownCharacterError(
                f"{character!r} is not a spot of {game}; write X, O and . for empty, and = for a "
                "drawn field"
            )
    result = MARKS.index(word[0])
    if word == word[0] * len(word) and len(word) in (1, SPOTS):  # empty, full or dead
        return Contents.full(result, dead=dead) if result else Contents(0, (0,))
    if len(word) != SPOTS or "=" in word:
        raise WrongSizeError(
            f"field {at} is {shown(word)}; write its nine spots, or . for an empty one, and X, O "
            "or = for one that is full or dead"
        )
    cells = tuple(MARKS.index(character) for character in word)
    winners = [mark for mark in (CROSS, NOUGHT) if lines_of(cells, mark)]
    if len(winners) == 2:
        hint = "write all its marks as those of the first player with a line"
        if dead:
            hint = "the first line decides it"
        raise BothSidesWonError(f"in field {at} both X and O have a line; {hint}")
    result = winners[0] if winners else DRAWN * (0 not in cells)
    try:
        return contents(Field(cells, result), dead=dead)
    except EncodingError as error:
        raise PlayAfterWinError(f"field {at}: {error}") from error


def spots(field: int) -> str:
    """Return the nine spots of a field as text; the marks of a decided field are its result."""
    code = int(tables().codes[field])
    result = MARKS[code >> 18]
    return "".join(
        result if cell == EITHER else MARKS[cell] for cell in cells_of(tables().codes[[field]])[0]
    )


@cache
def _written() -> list[str]:
    """Return the text of every field, by its number."""
    texts = map(spots, range(len(tables().codes)))
    return [each[0] if each == each[0] * SPOTS else each for each in texts]


@cache
def _ends() -> list[str]:
    """Return the text of every active field and side to move."""
    actives = [*map(str, range(ANY)), "any"]
    return [f"{active} {MARKS[turn]}" for active in actives for turn in (CROSS, NOUGHT)]
