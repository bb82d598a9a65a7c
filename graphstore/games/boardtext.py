"""Reading and writing of boards as text.

The standard form is the rows from the top with ``/`` between them. These are read, too:

- a line for each row, or all cells in one run;
- the same with spaces between cells or rows, if an empty cell is not itself a space;
- a space after each cell, if an empty cell is a space, too;
- lines without their trailing spaces, which editors remove, if an empty cell is a space;
- a picture: cells between ``|``, with or without rulers such as ``---+---`` and a frame, in ASCII
  or box drawing characters. A row has one line, or several with the marks on the middle one;
- the same with numbers on the empty cells, as `graphstore show` draws them, or counted from 1;
- commas between cells, lists as Python and JSON write them, or one sign such as ``|`` between rows;
- ``b``, ``*``, ``0``, ``null`` and nothing for an empty cell; 1 and 2, or 1 and -1, for the marks.

An ambiguous text is refused.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphstore.errors import PositionError, UnknownCharacterError, WrongSizeError, shown
from graphstore.rules.game import Codes, Ints

SIGNS = "._-"  # an empty cell, like a space
LONGEST = 10_000  # characters; the largest picture of a board has a fifth of that
BETWEEN_ROWS = "|-,;:+\\"  # signs between the rows of a board in one line
_RULER = frozenset(" -=+|_")
_BLANKS = frozenset(("", *" ._-*bB"))  # an empty cell, in other forms
_NOTHING = re.compile(r"\b(null|none|nan)\b", re.IGNORECASE)
_NUMBER = re.compile(r"([+-]?[0-9]{1,4})(?:\.0*)?")
_LISTED = re.compile(r"'[^']*'|\"[^\"]*\"|[^\s,]+")
_LABEL = re.compile(r",(positive|negative)\Z", re.IGNORECASE)
"""The last column of the UCI tic-tac-toe endgame data: whether X has won."""
_BOX = (  # box drawing characters without the diagonals
    {chr(code): "+" for code in range(0x2500, 0x2571)}
    | dict.fromkeys("─━┄┅┈┉╌╍═╴╶╸╺╼╾\u2013\u2014\u2212", "-")  # en dash, em dash, minus
    | dict.fromkeys("│┃┆┇┊┋╎╏║╵╷╹╻╽╿", "|")
)


def read_cells(text: str, *, rows: int, columns: int, marks: str, game: str) -> str:
    r"""Return the cells of a text, row by row, as characters of `marks` (upper case) and ``.``.

    >>> read_cells("x|o|\n-+-+-\n|x|\n-+-+-\n||", rows=3, columns=3, marks="XO", game="this")
    'XO..X....'

    Raises:
        UnknownCharacterError: a character is not a mark, an empty cell or part of a frame.
        WrongSizeError: the cells do not form a board of `rows` by `columns`.
    """
    plainest = text.split("/")
    if len(plainest) == rows and _fit(plainest, rows, columns) and not text.strip(marks + "./"):
        return "".join(plainest)  # as `write_cells` writes it
    size = f"{game} has {rows * columns} cells, {rows} row{'s' * (rows > 1)} of {columns}"
    if len(text) > LONGEST:
        raise WrongSizeError(f"{shown(text)} is {len(text):,} characters long; {size}")
    size += f", such as {'/'.join(['.' * columns] * rows)}"
    plain = text.replace("\r\n", "\n").translate(_spelling(marks))
    try:
        return _usual_cells(text, plain, rows, columns, marks, game, size)
    except PositionError as error:
        by_line = _split(plain, rows, columns)
        tokens = [cell for cells in by_line for cell in cells]
        if [*map(len, by_line)] in ([columns] * rows, [rows * columns]):
            return _cells_of(text, tokens, marks, game)
        strange = [each for each in tokens if not _is_cell(each, marks)]
        if not tokens or strange or isinstance(error, WrongSizeError):
            raise
        fault = _wrong_widths([*map(len, by_line)], rows, columns)
        raise WrongSizeError(f"{shown(text)} {fault}; {size}") from None


def _usual_cells(
    text: str, plain: str, rows: int, columns: int, marks: str, game: str, size: str
) -> str:
    """Return the cells of rows and pictures whose empty cells are spaces or `SIGNS`."""
    lines = plain.removeprefix("\n").removesuffix("\n").replace("/", "\n").split("\n")
    others = [line for line in lines if not _is_ruler(line)]
    for character in "".join(others):
        if character not in marks + SIGNS + " |":
            raise _unknown(character, marks, game)
    if "|" in plain:
        cells = _picture(lines, rows, columns)
    else:
        cells = _rows(lines, rows, columns)
        if cells is None and "-" not in "".join(others):  # rulers between or around the rows
            cells = _rows(others, rows, columns)
        if cells is None and "/" not in plain:
            cells = _filled(lines, rows, columns)
    if cells is None:
        raise WrongSizeError(f"{shown(text)} {_misfit(lines, rows, columns)}; {size}")
    return cells.translate(_DOTS)


def write_cells(
    cells: Codes,
    *,
    rows: int,
    columns: int,
    marks: str,
    tails: Sequence[str] = ("",),
    which: Codes | None = None,
) -> list[str]:
    """Return the texts of n boards; `cells` are int8[n, rows * columns], indices into `marks`.

    `tails` are texts of equal length; each board is followed by the tail of its index in `which`.
    """
    letters = np.frombuffer(marks.encode(), dtype=np.uint8)
    board = np.full((len(cells), rows, columns + 1), ord("/"), dtype=np.uint8)
    board[:, :, :columns] = letters.take(cells, mode="clip").reshape(len(cells), rows, columns)
    text, length = board.reshape(len(cells), rows * (columns + 1)), rows * (columns + 1) - 1
    if tails[0]:
        text = np.concatenate((text[:, :-1], _letters(tails)[which]), axis=1)
        length = text.shape[1]
    joined = text.tobytes().decode("ascii")
    return [joined[begin : begin + length] for begin in range(0, len(joined), text.shape[1])]


def plain_cells(
    texts: Sequence[str], *, rows: int, columns: int, marks: str, tails: Sequence[str] = ("",)
) -> tuple[Codes, Codes, NDArray[np.bool_]]:
    """Return the cells and tails of texts in standard form, and bool[n]: True for these texts.

    A text is in standard form if `write_cells` can write it. The arrays are the arguments `cells`
    and `which` of `write_cells`; those of other texts mean nothing.
    """
    width = rows * (columns + 1) - 1
    joined = "".join(texts)
    if not joined.isascii() or {*map(len, texts)} != {width + len(tails[0])}:
        none = np.zeros(len(texts), dtype=np.int8)
        cells = np.zeros((len(texts), rows * columns), dtype=np.int8)
        return cells, none, none.astype(np.bool_)
    letters = np.frombuffer(joined.encode(), dtype=np.uint8).reshape(len(texts), -1)
    known = np.full(128, -1, dtype=np.int8)
    known[[*marks.encode()]] = np.arange(len(marks))
    bars = np.arange(columns, width, columns + 1)
    cells = known.take(letters[:, np.delete(np.arange(width), bars)], mode="clip")
    ends = (letters[:, np.newaxis, width:] == _letters(tails)).all(axis=2)
    plain = ends.any(axis=1)
    for wrong in (cells < 0, letters[:, bars] != ord("/")):
        plain[np.nonzero(wrong)[0]] = False
    return cells, ends.argmax(axis=1).astype(np.int8), plain


class TwoMasks:
    """The text form of boards of two masks, one for each player.

    `bits` are the bits of the cells in a mask, int64[rows * columns].
    """

    def __init__(
        self,
        *,
        rows: int,
        columns: int,
        bits: Ints,
        marks: str = "XO",
        tails: Sequence[str] = ("",),
    ) -> None:
        self._bits, self._cells = bits, bits.tolist()
        self._marks = marks
        self._size = {"rows": rows, "columns": columns}
        self._form: dict[str, Any] = self._size | {"marks": f".{marks}", "tails": tails}

    def read(self, text: str, *, game: str) -> tuple[int, int]:
        """Return the two masks of a text; see `read_cells`."""
        cells = read_cells(text, **self._size, marks=self._marks, game=game)
        first, second = (
            sum([bit for cell, bit in zip(cells, self._cells, strict=True) if cell == mark])
            for mark in self._marks
        )
        return first, second

    def write(self, first: Ints, second: Ints, which: Codes | None = None) -> list[str]:
        """Return the texts of boards, from both masks; `which` as in `write_cells`."""
        has_first, has_second = (
            ((mask[:, np.newaxis] & self._bits) != 0).view(np.int8) for mask in (first, second)
        )
        cells: Codes = has_first + 2 * has_second
        return write_cells(cells, **self._form, which=which)

    def plain(self, texts: Sequence[str]) -> tuple[Ints, Ints, Codes, NDArray[np.bool_]]:
        """Return both masks of texts, and the tails and bool[n] of `plain_cells`."""
        cells, which, right = plain_cells(texts, **self._form)
        first, second = ((cells == number) @ self._bits for number in (1, 2))
        return first, second, which, right


def _letters(texts: Sequence[str]) -> NDArray[np.uint8]:
    """Return the ASCII codes of texts of equal length, uint8[texts, characters]."""
    return np.array([[*text.encode()] for text in texts], dtype=np.uint8)


_DOTS = str.maketrans(dict.fromkeys(" " + SIGNS, "."))


@cache
def _spelling(marks: str) -> dict[int, str]:
    """Return a translation table of alternative characters to the standard ones."""
    lower = dict(zip(marks.lower(), marks, strict=True))
    return str.maketrans(_BOX | lower | {"\r": "\n", "\t": " ", "\xa0": " ", "\ufeff": ""})


def _rows(lines: Sequence[str], rows: int, columns: int) -> str | None:
    """Read cells that fill their lines, or are separated by spaces."""
    text = "".join(lines)
    if not {*"+="}.isdisjoint(text):
        return None
    apart = all(not line[1::2].strip() for line in lines)
    signs = not {*SIGNS}.isdisjoint(text)
    if _fit(lines, rows, columns) and not (apart and signs and " " in text):
        return text
    full = [line for line in (line.replace(" ", "") for line in lines) if line]
    if _fit(full, rows, columns):
        return "".join(full)
    cells = [line[::2] for line in lines]
    return "".join(cells) if apart and not signs and _fit(cells, rows, columns) else None


def _filled(lines: Sequence[str], rows: int, columns: int) -> str | None:
    """Read lines without trailing spaces, where other lines show that a space is a cell."""
    text = "".join(lines)
    apart = all(not line[1::2].strip() for line in lines)  # then spaces may separate the cells
    if " " not in text or apart or not {*SIGNS, *"+="}.isdisjoint(text) or len(lines) != rows:
        return None
    return _rows([line.ljust(columns) for line in lines], rows, columns)


def _picture(lines: Sequence[str], rows: int, columns: int) -> str | None:
    """Read a picture: cells between bars, or rows between two bars."""
    groups: list[list[str]] = [[]]
    for line in lines:
        if _is_ruler(line):
            groups.append([])
        elif "|" in line:
            groups[-1].append(line.rstrip())
        elif line.strip(" _-"):
            return None  # cells outside the bars
    groups = [group for group in groups if group]
    readings = [_framed, _barred] if groups and groups[0][0][0] == "|" else [_barred, _framed]
    return readings[0](groups, rows, columns) or readings[1](groups, rows, columns)


def _framed(groups: Sequence[Sequence[str]], rows: int, columns: int) -> str | None:
    """Read rows with a bar at each end and no bars between the cells."""
    lines = [line.strip() for group in groups for line in group]
    if any(line.count("|") != 2 or line[0] + line[-1] != "||" for line in lines):
        return None
    inside = [line[1:-1] for line in lines]
    padded = all(line[:1] == line[-1:] == " " for line in inside)
    return _rows(inside, rows, columns) or (
        _rows([line[1:-1] for line in inside], rows, columns) if padded else None
    )


def _barred(groups: Sequence[list[str]], rows: int, columns: int) -> str | None:
    """Read cells with bars between them; the rulers have split the lines into groups."""
    if len(groups) != rows:
        lines = [line for group in groups for line in group]
        if len(lines) == 2 * rows - 1 and not "".join(lines[1::2]).strip(" |_-"):
            lines = lines[::2]  # the others are rulers such as -|-|- or ___|___|___
        if len(groups) != 1 or len(lines) % rows:
            return None
        height = len(lines) // rows
        groups = [lines[at : at + height] for at in range(0, len(lines), height)]
    cells = ""
    for group in groups:
        middle = (len(group) - 1) // 2
        row = _between_bars(group[middle], columns)
        if row is None or "".join(group[:middle] + group[middle + 1 :]).strip(" _|"):
            return None
        cells += row
    return cells


def _between_bars(line: str, columns: int) -> str | None:
    """Return the cells of a line between bars; an empty one is a space unless it has a sign."""
    cells = [cell.strip(" _") for cell in line.split("|")]
    if len(cells) == columns + 2 and not cells[0] and not cells[-1]:
        cells = cells[1:-1]  # the sides of the frame
    if len(cells) != columns or any(len(cell) > 1 for cell in cells):
        return None
    return "".join(cell or " " for cell in cells)


def _split(plain: str, rows: int, columns: int) -> list[list[str]]:
    """Return the cells of each line of a text in other forms; empty if it is not clear."""
    plain = _NOTHING.sub(".", _LABEL.sub("", plain.strip(" \n")))
    for sign in BETWEEN_ROWS:
        pieces = (plain.strip("|") if sign == "|" else plain).split(sign)
        for given in (pieces, [piece.replace(" ", "") for piece in pieces]):
            if rows > 1 and [*map(len, given)] == [columns] * rows:
                return [*map(list, given)]
    listed = plain[:1] in ("[", "(")
    between = r"[\[\]()]+" if listed else "[\n/;]" if "," in plain else "[\n/]"
    lines = re.split(between, plain)
    others = [line for line in lines if not _is_ruler(line)]
    if "-" in "".join(others) and len(others) != len(lines):
        return []  # a line of - may be a ruler or a row
    found = [_tokens(line, rows, columns, listed=listed) for line in others]
    by_line = [cells for cells in found if cells]
    unclear = any(len(each) > 1 and not each[-1].isdigit() for cells in by_line for each in cells)
    return [] if unclear and "|" in plain else by_line


def _tokens(line: str, rows: int, columns: int, *, listed: bool) -> list[str]:
    """Return the cells of a line: between commas, bars or spaces, or one for each character."""
    if listed:
        cells = [cell.strip("'\"") for cell in _LISTED.findall(line)]
    elif "," in line or "|" in line:
        cells = line.strip(" ").split("," if "," in line else "|")
        if "," in line and not cells[-1]:
            cells = cells[:-1] if len(cells) in (columns + 1, rows * columns + 1) else cells
        elif "," not in line and len(cells) == columns + 2:
            cells = cells[1:-1]
    else:
        cells = [cell for cell in line.split(" ") if cell]
    if len(cells) in (1, rows) and {*map(len, cells)} <= {columns, rows * columns}:
        return [*"".join(cells)]
    return [cell.strip(" ") for cell in cells]


def _cells_of(text: str, tokens: Sequence[str], marks: str, game: str) -> str:
    """Return the cells of tokens, each a mark, a sign for an empty cell or a number."""
    blanks = _BLANKS - {*marks}
    numbers = {at: int(each[1]) for at, each in enumerate(map(_NUMBER.fullmatch, tokens)) if each}
    others = [token for at, token in enumerate(tokens) if at not in numbers]
    unknown = [token for token in others if not _is_cell(token, marks)]
    if unknown:
        raise _unknown(unknown[0], marks, game)
    meaning = _meaning(text, others, numbers, marks)
    if meaning is None:
        raise _unknown(tokens[min(numbers)], marks, game)
    return "".join(
        meaning[numbers[at]] if at in numbers else "." if token in blanks else token
        for at, token in enumerate(tokens)
    )


def _meaning(
    text: str, others: Sequence[str], numbers: dict[int, int], marks: str
) -> dict[int, str] | None:
    """Return the cell that each number means; None if the numbers do not fit together.

    `others` are the marks and the signs for empty cells beside the numbers.
    """
    if not numbers:
        return {}
    values = {*numbers.values()}
    empty = dict.fromkeys(values, ".")
    n_x, has_marks = others.count("X"), not {*marks}.isdisjoint(others)
    has_blanks = not {*marks}.issuperset(others)
    if values <= {0} and others:  # an empty cell, or O
        may_be_empty = [*numbers] == [0] or not has_blanks
        may_be_o = "O" in marks and "O" not in others and n_x - len(numbers) in (0, 1)
        if may_be_o and may_be_empty and n_x < 2:
            raise WrongSizeError(
                f"{shown(text)} is ambiguous: 0 may be O or an empty cell; write . for empty"
            )
        return {0: "O"} if may_be_o else empty if may_be_empty else None
    if any(all(at + first == n for at, n in numbers.items()) for first in (0, 1)):
        return empty  # the numbers of the cells
    is_coded = len(marks) == 2 and not has_marks and (values <= {0, 1, 2} or values <= {-1, 0, 1})
    if not is_coded or (has_blanks and 0 in values):
        return None
    return {0: ".", 1: marks[0], 2: marks[1], -1: marks[1]}


def _is_cell(token: str, marks: str) -> bool:
    return token in _BLANKS or token in {*marks} or _NUMBER.fullmatch(token) is not None


def _unknown(token: str, marks: str, game: str) -> UnknownCharacterError:
    return UnknownCharacterError(
        f"{shown(token)} is not a cell of {game}; write {', '.join(marks)} and . for empty"
    )


def _is_ruler(line: str) -> bool:
    return _RULER.issuperset(line) and ("--" in line or "+" in line or "=" in line)


def _fit(lines: Sequence[str], rows: int, columns: int) -> bool:
    return [len(line) for line in lines] in ([columns] * rows, [rows * columns])


def _misfit(lines: Sequence[str], rows: int, columns: int) -> str:
    """Return a description of the wrong size of a board, for a message."""
    text = "".join(lines)
    pieces = next((text.split(sign) for sign in BETWEEN_ROWS if sign in text), [])
    if len(lines) == 1 and len(pieces) > 1 and min(map(len, map(str.strip, pieces))) > 1:
        widths = [len(piece.strip()) for piece in pieces]
    elif "|" in text:
        widths = [
            line.count("|") + (-1 if line.strip()[0] + line.strip()[-1] == "||" else 1)
            for line in lines
            if "|" in line and not _is_ruler(line)
        ]
    else:
        spaces = " " if {*SIGNS}.isdisjoint(text) else ""
        written = [line for line in lines if line.strip() and {*"+="}.isdisjoint(line)]
        widths = [len(line.replace(" ", spaces)) for line in written]
    return _wrong_widths(widths, rows, columns)


def _wrong_widths(widths: Sequence[int], rows: int, columns: int) -> str:
    if len(widths) < 2:
        return f"has {sum(widths) or 'no'} cell{'s' * (sum(widths) != 1)}"
    if len(widths) != rows:
        return f"has {len(widths)} rows"
    for row, width in enumerate(widths, 1):
        if width != columns:
            return f"has {width} cell{'s' * (width != 1)} in row {row}"
    return "does not show clearly which cells are meant"
