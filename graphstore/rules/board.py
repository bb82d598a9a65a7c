"""The cells of a position, the moves on them, the images of a position, and text drawings.

The cells are read from the text of a position, without rules.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from graphstore.errors import GraphstoreError
from graphstore.rules.game import DRAW, LOSS, WIN, Game, Ints

EMPTY: Final = frozenset("._- ")
LARGEST = 1024  # cells; a larger text is not a board
LETTERS: Final = {WIN: "W", DRAW: "D", LOSS: "L"}
WORDS: Final = {WIN: "win", DRAW: "draw", LOSS: "loss"}


class Board(NamedTuple):
    """The cells of a position."""

    rows: tuple[str, ...]  # from the top, of equal length, one character per cell
    beside: str  # the text after the cells, such as the side to move
    block: tuple[
        int, int
    ]  # (rows, columns) of a field of the board; of the whole board without fields

    @property
    def columns(self) -> int:
        """The number of cells in a row."""
        return len(self.rows[0])

    @property
    def cells(self) -> str:
        """All cells, row by row."""
        return "".join(self.rows)


class Choice(NamedTuple):
    """A legal move as the board shows it."""

    move: int
    name: str
    cell: int | None  # where the mark lands; None if that is not a single cell
    source: int | None  # the cell that the mark leaves, or None
    value: int  # for the player who makes the move
    depth: int | None  # moves of the winner after it; None in a draw
    position: str  # the position after it

    @property
    def label(self) -> str:
        """The value as a letter, with the depth: ``W2``, ``D``, ``L1``."""
        return label_of(self.value, self.depth)


def label_of(value: int, depth: int | None) -> str:
    """Return a label for a move: its value for the player who makes it, and depth, as ``W2``."""
    return LETTERS[value] + ("" if depth is None else str(depth))


def board_of(text: str, game: Game | None = None) -> Board | None:
    """Return the board of a position's text; None if the text does not show cells.

    >>> board_of("XO./.X./... O")
    Board(rows=('XO.', '.X.', '...'), beside='O', block=(3, 3))
    >>> board_of("3,4,5") is None
    True
    """
    *above, last = text.split("/")
    last, _, beside = last.partition(" ")
    rows = (*above, last)
    one_row = game is not None and game.shape == (1, len(last))
    if (len(rows) > 1 or one_row) and _are_rows(rows):
        return Board(rows, beside, (len(rows), len(last)))
    if game is None:
        return None
    try:
        return _drawn(game.board(game.read(text)))
    except GraphstoreError:
        return None


def choices(
    game: Game | None, text: str, moves: Sequence[Any], name: Callable[[int], str] = str
) -> list[Choice]:
    """Return the `Choice` of each `graphstore.store.probe.Move` of a position."""
    before = board_of(text, game)
    found = []
    for move in moves:
        cell, source = _cells_of(game, before, move)
        depth = {LOSS: move.win_depth, DRAW: None, WIN: move.lose_depth}[move.value]
        found.append(
            Choice(move.move, name(move.move), cell, source, -move.value, depth, move.position)
        )
    return found


def images(game: Game, text: str) -> dict[str, str]:
    """Return the texts of a position's images that belong to the same state, by symmetry.

    The first is the position itself, under ``same``. Several may be the same text.
    """
    found = {"same": text}
    board = board_of(text, game)
    if board is None or not text.startswith("/".join(board.rows)):
        return found
    tail = text.removeprefix("/".join(board.rows))
    state = _state(game, text)
    for name, turn in TURNS.items():
        image = "/".join(turn(board.rows)) + tail
        if _state(game, image) == state:
            found[name] = image
    return found


def text_plain(text: str, *, shown: Sequence[Choice] = ()) -> str:
    """Return a position without cells as lines of text, with one line for each move."""
    return "\n".join([text, *(f"{choice.label:3}  {choice.name}" for choice in shown)])


def plain(board: Board, *, shown: Sequence[Choice] = ()) -> str:
    """Return a board as lines of text, with the label of each move on its cell."""
    on_cell = on_cells(shown)
    cells = ["." if mark in EMPTY else mark for mark in board.cells]
    for cell, choice in on_cell.items():  # after a mark that the move takes
        cells[cell] = choice.label if cells[cell] == "." else f"{cells[cell]}:{choice.label}"
    width = max(map(len, cells))
    down, across = board.block
    lines = []
    for row in range(len(board.rows)):
        begin = row * board.columns
        fields = [
            " ".join(cell.ljust(width) for cell in cells[field : field + across])
            for field in range(begin, begin + board.columns, across)
        ]
        if row and row % down == 0:
            lines.append("-+-".join("-" * len(field) for field in fields))
        lines.append(" | ".join(fields).rstrip())
    return "\n".join(filter(None, (*lines, board.beside)))


def on_cells(shown: Sequence[Choice]) -> dict[int, Choice]:
    """Return the first move on each cell."""
    return {choice.cell: choice for choice in reversed(shown) if choice.cell is not None}


def _mirrored(rows: Sequence[str]) -> list[str]:
    return [row[::-1] for row in rows]


def _turned(rows: Sequence[str]) -> list[str]:
    """Return the rows after a quarter turn clockwise."""
    return ["".join(column) for column in zip(*reversed(rows), strict=True)]


TURNS: Final[dict[str, Callable[[Sequence[str]], list[str]]]] = {
    "mirrored": _mirrored,
    "flipped": lambda rows: list(reversed(rows)),
    "turned": _turned,
    "turned twice": lambda rows: _turned(_turned(rows)),
    "turned back": lambda rows: _turned(_turned(_turned(rows))),
    "mirrored and turned": lambda rows: _turned(_mirrored(rows)),
    "mirrored and turned back": lambda rows: _turned(_turned(_turned(_mirrored(rows)))),
}
"""The symmetries of a square other than the identity; ``turned`` is a quarter turn clockwise."""


def _are_rows(rows: Sequence[str]) -> bool:
    width = len(rows[0])
    printable = all(row.isprintable() and " " not in row for row in rows)
    return 0 < width * len(rows) <= LARGEST and printable and {*map(len, rows)} == {width}


def _drawn(picture: str) -> Board | None:
    """Return the board of a drawing with rulers between its fields."""
    rows: list[str] = []
    beside: list[str] = []
    height = width = 0
    for line in picture.splitlines():
        if "--" in line and not line.strip("-+|= "):
            height = height or len(rows)
        elif "|" in line or not rows:
            width = width or len(line.split("|")[0].replace(" ", ""))
            rows.append(line.replace("|", "").replace(" ", ""))
        else:
            beside.append(line)
    if not height or not rows or not _are_rows(rows):
        return None
    return Board(tuple(rows), " ".join(beside), (height, width))


def _cells_of(game: Game | None, before: Board | None, move: Any) -> tuple[int | None, int | None]:
    """Return the cells that a move fills and empties, the `cell` and `source` of a `Choice`."""
    if game is not None and game.shape is not None:
        return move.move, None
    after = None if before is None else board_of(move.position, game)
    if before is None or after is None or len(before.cells) != len(after.cells):
        return None, None
    pairs = list(enumerate(zip(before.cells, after.cells, strict=True)))
    filled = [cell for cell, (was, now) in pairs if was in EMPTY and now not in EMPTY]
    changed = [cell for cell, (was, now) in pairs if was != now and now not in EMPTY]
    emptied = [cell for cell, (was, now) in pairs if was not in EMPTY and now in EMPTY]
    landed = filled if len(filled) == 1 else changed
    if len(landed) > 1:  # such as a whole field that a player wins
        landed = [cell for cell in landed if cell == _cell_by_fields(before, move.move)]
    if len(landed) != 1:
        return None, None
    return landed[0], emptied[0] if len(emptied) == 1 else None


def _cell_by_fields(board: Board, move: int) -> int:
    """Return the cell with this number, if cells are numbered field by field."""
    down, across = board.block
    field, spot = divmod(move, down * across)
    band, stack = divmod(field, board.columns // across)
    row, column = divmod(spot, across)
    return (band * down + row) * board.columns + stack * across + column


def _state(game: Game, text: str) -> int | None:
    """Return the state of a text; None if it is not a position."""
    try:
        position: Ints = np.array([game.read(text)], dtype=np.int64)
        return int(game.canonical(position)[0])
    except GraphstoreError:
        return None
