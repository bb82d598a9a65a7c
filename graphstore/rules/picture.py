"""`Picture`: what a position looks like, which `graphstore.rules.svg` draws everywhere."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

EMPTY: Final = frozenset("._- ")
LARGEST: Final = 1024  # cells; a larger text is not a board
LONGEST: Final = 100_000  # characters of an image
IN_A_ROW: Final = 10  # units of a heap
UNITS: Final = 60  # of a heap that are drawn

_COLOUR = re.compile(r"(#[0-9a-fA-F]{3}|#[0-9a-fA-F]{6}|[a-zA-Z]{3,24}|)\Z")
_SVG = re.compile(r"\s*(<\?xml[^>]*>\s*)?<svg\b")
_DATA = re.compile(r"data:image/[a-z+]+[;,]")
PIECES: Final = dict(
    zip("PRNBQK", ("pawn", "rook", "knight", "bishop", "queen", "king"), strict=True)
)
"""The pieces of chess by their letters in FEN."""


class Cell(NamedTuple):
    """A cell of a picture; without arguments, an empty one."""

    colour: str = ""  # of its background: #rrggbb, or a name of CSS
    label: str = ""  # the mark as text
    image: str = ""  # SVG, or a data: URI of an image
    shape: str = ""  # a drawing of `graphstore.rules.svg` for the mark; without it, the label
    side: int = 0  # the player whose mark it is, 1 or 2; 0 for a mark of nobody
    note: str = ""  # a small text below the mark
    pale: bool = False

    @property
    def mark(self) -> str:
        """The content as one text; empty for an empty cell."""
        return self.label or self.image or self.colour


class Picture(NamedTuple):
    """A position as a grid of cells, row by row from the top left."""

    cells: tuple[Cell, ...]
    columns: int
    block: tuple[int, int]  # (rows, columns) of a field of the board
    ground: str = "grid"  # what is below the marks: grid, chess, holes, points or heaps
    turn: int = 0  # the player to move, 1 or 2, whose colour the frame has; else 0
    names: tuple[str, ...] = ()  # of the columns, below the board
    roads: tuple[tuple[int, int], ...] = ()  # pairs of points that a line joins
    big: Mapping[int, Cell] = {}  # {field: a mark over all of it}
    active: frozenset[int] = frozenset()  # the fields to play in
    won: tuple[tuple[int, int], ...] = ()  # the first and the last cell of each winning line
    targets: Mapping[int, int] = {}  # {move: its cell}, where marks do not show it
    image: str = ""  # SVG instead of cells

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.cells) // max(self.columns, 1)

    def reach(self, cell: int) -> tuple[int, int]:
        """Return the first row and the number of rows where a click means this cell."""
        return (0, self.rows) if self.ground == "holes" else (cell // self.columns, 1)


def marks(text: str, sides: str, shapes: Sequence[str] = ()) -> tuple[Cell, ...]:
    """Return the cells of marks; `sides` are the marks of both players, with their `shapes`.

    >>> [cell.side for cell in marks("X.O", "XO")]
    [1, 0, 2]
    """
    shapes = shapes or sides
    known = {mark: Cell(label=mark, shape=shapes[at], side=at + 1) for at, mark in enumerate(sides)}
    return tuple(known.get(each, Cell(label="" if each in EMPTY else each)) for each in text)


def lines(
    cells: Sequence[Cell], columns: int, length: int, *, diagonals: bool = True
) -> tuple[tuple[int, int], ...]:
    """Return the first and the last cell of all lines of at least `length` marks of one side."""
    sides = [cell.side for cell in cells]
    rows, found = len(cells) // columns, []
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1))[: 4 if diagonals else 2]:
        for at, side in enumerate(sides):
            row, column = divmod(at, columns)
            steps = (length if length > 1 else 1) - 1
            end = row + down * steps, column + right * steps
            if side and end[0] < rows and 0 <= end[1] < columns:
                run = [(row + down * n) * columns + column + right * n for n in range(steps + 1)]
                if all(sides[each] == side for each in run):
                    found.append((run[0], run[-1]))
    return tuple(found)


def heaps(
    sizes: Sequence[int], most: Sequence[int], takes: Iterable[tuple[int, int, int]]
) -> Picture:
    """Return a picture of heaps, each in rows of units after its size.

    `most` are the largest sizes, so that all positions of a game have one layout. `takes` are the
    moves, as (move, heap, units taken): a move is on the lowest unit that it takes.
    """
    width = min(max(most), IN_A_ROW)
    cells: list[Cell] = []
    first = []  # of each heap, the cell of its first unit
    for number, (size, full) in enumerate(zip(sizes, most, strict=True), 1):
        note = f"heap {number}" if len(sizes) > 1 else ""
        for row in range(-(-min(full, UNITS) // width)):
            first += [] if row else [len(cells) + 1]
            begin = width * row
            head = Cell() if row else Cell(label=f"{size:,}", note=note)
            units = (min(size, UNITS) > at for at in range(begin, begin + width))
            cells += [head, *(Cell(label="●", shape="unit") if on else Cell() for on in units)]
    targets = {}
    for move, heap, take in takes:
        unit = min(sizes[heap], UNITS) - take
        if unit >= 0:
            targets[move] = first[heap] + unit + unit // width
    block = (len(cells) // (width + 1), width + 1)
    return Picture(tuple(cells), width + 1, block, "heaps", targets=targets)


def seen_by(picture: Picture, mover: int) -> Picture:
    """Return a picture with the players exchanged if `mover`, 1 or 2, is not its player to move.

    Some positions do not say who moves, and a game knows; 0 leaves the picture as it is.
    """
    made = picture.cells[picture.won[0][0]].side if picture.won else 0
    turn = picture.turn or (made and 3 - made)
    if not mover or turn in (0, mover):
        return picture
    other = {"X": "O", "O": "X"}
    cells = tuple(
        cell._replace(
            side=3 - cell.side,
            label=other.get(cell.label, cell.label),
            shape=other.get(cell.shape, cell.shape),
        )
        if cell.side
        else cell
        for cell in picture.cells
    )
    return picture._replace(cells=cells, turn=picture.turn and mover)


def read_picture(answer: Any) -> Picture | None:
    """Return what `picture` of a user's rules returns as a `Picture`.

    It may be a `Picture`, SVG, or rows of cells: a `Cell`, its fields as a tuple or a dict, a text
    or a number as its label, or None.

    Raises:
        ValueError, TypeError: it is something else.
    """
    if answer is None or isinstance(answer, Picture):
        return answer
    if isinstance(answer, str):
        return Picture((), 0, (0, 0), image=_image(answer))
    rows = [tuple(map(_cell, row)) for row in answer]
    width = len(rows[0]) if rows else 0
    if {*map(len, rows)} != {width} or not 0 < width * len(rows) <= LARGEST:
        raise ValueError(f"rows must have equal lengths, of 1 to {LARGEST:,} cells in all")
    return Picture(tuple(cell for row in rows for cell in row), width, (len(rows), width))


def _cell(given: Any) -> Cell:
    if given is None:
        return Cell()
    if isinstance(given, str | int):
        (cell,) = marks(given, "XO") if given in ("X", "O") else (Cell(label=str(given)),)
        return cell._replace(label="") if cell.label in EMPTY else cell
    cell = Cell(**given) if isinstance(given, dict) else Cell(*given)
    cell = cell._replace(label=str(cell.label), note=str(cell.note))
    if not _COLOUR.match(cell.colour):
        raise ValueError(f"the colour {cell.colour!r} is not #rrggbb or a name")
    return cell._replace(image=cell.image and _image(cell.image))


def _image(given: str) -> str:
    if len(given) > LONGEST:
        raise ValueError(f"an image has {len(given):,} characters, more than {LONGEST:,}")
    if not _SVG.match(given) and not _DATA.match(given):
        raise ValueError("a text must be SVG that begins with <svg, or begin with data:image/")
    return given
