"""Reading and writing of boards as text.

The standard form is the rows from the top with ``/`` between them. These are read, too:

- a line for each row, or all cells in one run;
- the same with spaces between cells or rows, if an empty cell is not itself a space;
- a space after each cell, if an empty cell is a space, too;
- lines without their trailing spaces, which editors remove, if an empty cell is a space;
- a picture: cells between ``|``, with or without rulers such as ``---+---`` and a frame, in ASCII
  or box drawing characters. A row has one line, or several with the marks on the middle one.

An ambiguous text is refused.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphstore.errors import UnknownCharacterError, WrongSizeError, shown
from graphstore.rules.game import Codes, Ints

SIGNS = "._-"  # an empty cell, like a space
LONGEST = 10_000  # characters; the largest picture of a board has a fifth of that
_RULER = frozenset(" -=+|_")
_BOX = (
    {
        chr(code): "+" for code in range(0x2500, 0x2571)
    }  # box drawing characters without the diagonals
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
    plain = text.replace("\r\n", "\n").translate(_spelling(marks))
    lines = plain.removeprefix("\n").removesuffix("\n").replace("/", "\n").split("\n")
    others = [line for line in lines if not _is_ruler(line)]
    for character in "".join(others):
        if character not in marks + SIGNS + " |":
            raise UnknownCharacterError(
                f"{character!r} is not a cell of {game}; write {', '.join(marks)} and . for empty"
            )
    if "|" in plain:
        cells = _picture(lines, rows, columns)
    else:
        cells = _rows(lines, rows, columns)
        if cells is None and "-" not in "".join(others):  # rulers between or around the rows
            cells = _rows(others, rows, columns)
        if cells is None and "/" not in plain:
            cells = _filled(lines, rows, columns)
    if cells is None:
        raise WrongSizeError(
            f"{shown(text)} {_misfit(lines, rows, columns)}; {size}, "
            f"such as {'/'.join(['.' * columns] * rows)}"
        )
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


def _is_ruler(line: str) -> bool:
    return _RULER.issuperset(line) and ("--" in line or "+" in line or "=" in line)


def _fit(lines: Sequence[str], rows: int, columns: int) -> bool:
    return [len(line) for line in lines] in ([columns] * rows, [rows * columns])


def _misfit(lines: Sequence[str], rows: int, columns: int) -> str:
    """Return a description of the wrong size of a board, for a message."""
    text = "".join(lines)
    if "|" in text:
        widths = [
            line.count("|") + (-1 if line.strip()[0] + line.strip()[-1] == "||" else 1)
            for line in lines
            if "|" in line and not _is_ruler(line)
        ]
    else:
        spaces = " " if {*SIGNS}.isdisjoint(text) else ""
        written = [line for line in lines if line.strip() and {*"+="}.isdisjoint(line)]
        widths = [len(line.replace(" ", spaces)) for line in written]
    if len(widths) < 2:
        return f"has {sum(widths) or 'no'} cell{'s' * (sum(widths) != 1)}"
    if len(widths) != rows:
        return f"has {len(widths)} rows"
    for row, width in enumerate(widths, 1):
        if width != columns:
            return f"has {width} cell{'s' * (width != 1)} in row {row}"
    return "does not show clearly which cells are meant"
