"""Boards as people type them: read into one character a cell, written row by row.

The text form is rows from the top with ``/`` between them. Read are also one run of all cells,
lines, cells parted by single spaces, and a picture with ``|`` and rulers such as ``---+---``.
"""

import re

import numpy as np

from graphstore.errors import UnknownCharacterError, WrongSizeError, shown
from graphstore.game import Codes

EMPTY = ". _-"
_BOX = str.maketrans(
    {**dict.fromkeys("│┃║", "|"), **dict.fromkeys("─━═", "-")} | dict.fromkeys("┼╋╬├┤┬┴┌┐└┘", "+")
)
_RULER = re.compile(r"[\s|+=-]*(--|\+|=)[\s|+=-]*")


def read_cells(text: str, *, rows: int, columns: int, marks: str, game: str) -> str:
    """Return the board's cells, row by row, as characters of `marks` (upper case) and ``.``.

    Raises:
        UnknownCharacterError: a character is neither a mark, nor empty, nor part of a frame.
        WrongSizeError: the cells do not make a board of `rows` by `columns`.
    """
    text = text.upper().translate(_BOX).replace("\r\n", "\n").replace("\t", " ")
    frame = "|+=/\n"
    for character in text:
        if character not in marks + EMPTY + frame:
            raise UnknownCharacterError(
                f"{character!r} is not a cell of {game}; write {', '.join(marks)} and . for empty"
            )
    lines = _picture(text, columns) if "|" in text else re.split(r"[/\n]", text)
    for reading in (_as_rows, _as_run, _as_blocks, _as_spaced):
        cells = reading(lines, rows, columns)
        if cells is not None:
            return re.sub(f"[{EMPTY}]", ".", cells)
    found = sum(len(line) for line in lines if line.strip())
    raise WrongSizeError(
        f"{shown(text.strip())} has {found or 'no'} cells; {game} has "
        f"{rows * columns}, {rows} rows of {columns}, such as {'/'.join(['.' * columns] * rows)}"
    )


def write_cells(cells: Codes, *, rows: int, columns: int, marks: str) -> list[str]:
    """Return the text of every board.

    Args:
        cells: int8[n, rows * columns], indices into `marks`.
        rows: of the board.
        columns: of the board.
        marks: the characters, first the empty cell's.
    """
    letters = np.frombuffer(marks.encode(), dtype=np.uint8)
    width = rows * (columns + 1) - 1
    text = np.full((len(cells), width + 1), ord("/"), dtype=np.uint8)
    text.reshape(len(cells), rows, columns + 1)[:, :, :columns] = letters[cells].reshape(
        len(cells), rows, columns
    )
    joined: list[str] = (
        np.ascontiguousarray(text[:, :width]).view(f"S{width}").ravel().astype(f"U{width}").tolist()
    )
    return joined


def _picture(text: str, columns: int) -> list[str]:
    """Return the rows of a picture whose cells stand between bars."""
    lines = []
    for line in text.split("\n"):
        if "|" not in line or _RULER.fullmatch(line):
            continue
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) == columns + 2 and not cells[0] and not cells[-1]:
            cells = cells[1:-1]  # the frame's own sides
        lines.append("".join(cell or "." for cell in cells))
    return lines


def _as_rows(lines: list[str], rows: int, columns: int) -> str | None:
    fits = len(lines) == rows and all(len(line) == columns for line in lines)
    return "".join(lines) if fits else None


def _as_run(lines: list[str], rows: int, columns: int) -> str | None:
    return _as_rows(lines, 1, rows * columns)


def _as_blocks(lines: list[str], rows: int, columns: int) -> str | None:
    """Read a board that is indented, or has blank lines around it."""
    stripped = [line.strip() for line in lines if line.strip()]
    return _as_rows(stripped, rows, columns) or _as_run(stripped, rows, columns)


def _as_spaced(lines: list[str], rows: int, columns: int) -> str | None:
    """Read cells with single spaces between them."""
    full = [line.strip() for line in lines if line.strip()]
    if any(line[1::2].strip() for line in full):
        return None
    return _as_blocks([line[::2] for line in full], rows, columns)
