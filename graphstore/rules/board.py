"""The cells of a position, the moves on them, the images of a position, and text drawings.

The cells are read from the text of a position, without rules.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from graphstore.errors import GraphstoreError, RulesError
from graphstore.rules.game import DRAW, LOSS, WIN, Game, Ints, blame
from graphstore.rules.picture import EMPTY as EMPTY
from graphstore.rules.picture import LARGEST, PIECES, Cell, Picture, marks, read_picture

LETTERS: Final = {WIN: "W", DRAW: "D", LOSS: "L"}
NOTHING: Final = EMPTY | {""}
WORDS: Final = {WIN: "win", DRAW: "draw", LOSS: "loss"}

_FEN = re.compile(r"(?:(?P<mover>[12]): )?(?P<rows>[1-8pnbrqkPNBRQK/]{3,}) (?P<beside>[wb]\b.*)")
_OPENSPIEL = re.compile(r"(?P<mover>[12])(?: passes)?: (?P<board>.*)", re.DOTALL)


class Board(NamedTuple):
    """The cells of a position."""

    rows: tuple[str, ...]  # from the top, of equal length, one character per cell
    beside: str  # the text after the cells, such as the side to move
    block: tuple[int, int]  # (rows, columns) of a field, or of the whole board without fields

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
    value: int  # for the player who makes the move; None if it is not known
    depth: int | None  # moves of the winner after it; None in a draw
    position: str  # the position after it

    @property
    def label(self) -> str:
        """The value as a letter, with the depth: ``W2``, ``D``, ``L1``."""
        return label_of(self.value, self.depth)


def label_of(value: int, depth: int | None) -> str:
    """Return a label for a move: its value for the player who makes it, and depth, as ``W2``."""
    return LETTERS.get(value, "") + ("" if depth is None else str(depth))


def depth_of(outcome: Any) -> int | None:
    """Return the moves that the winner needs, of a `Probe` or a `Move`; None for a draw."""
    depths: dict[int, int | None] = {LOSS: outcome.win_depth, WIN: outcome.lose_depth}
    return depths.get(outcome.value)


def board_of(text: str, game: Game | None = None) -> Board | None:
    """Return the board of a position's text; None if the text does not show cells.

    >>> board_of("XO./.X./... O")
    Board(rows=('XO.', '.X.', '...'), beside='O', block=(3, 3))
    >>> board_of("3,4,5") is None
    True
    """
    special = _of_fen(text) or _of_openspiel(text)
    if special is not None:
        return special
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


def picture_of(text: str, game: Game | None = None) -> Picture | None:
    """Return the picture of a position's text: that of the rules, or else its board.

    None if it has neither.

    Raises:
        RulesError: a user's `picture` fails.
    """
    draw = getattr(game, "picture", None)
    if game is not None and draw is not None:
        try:
            position = game.read(text)
        except GraphstoreError:  # it is not a position of these rules
            position = None
        try:
            found = None if position is None else read_picture(draw(position))
        except Exception as error:
            blame(f"{game.name}: picture() of {text} failed", error)
        if found is not None:
            return found
    board = board_of(text, game)
    return None if board is None else board_picture(board, text)


def picture_if_any(text: str, game: Game | None) -> Picture | None:
    """Return `picture_of`; None also if the rules fail to draw it, which `check` reports."""
    try:
        return picture_of(text, game)
    except RulesError:
        return None


def board_picture(board: Board, text: str = "") -> Picture:
    """Return the picture of a board of marks; of pieces of chess where its text is FEN."""
    sides = "xo" if {*board.cells}.isdisjoint("XO") else "XO"
    cells, ground = marks(board.cells, sides, "XO"), "grid"
    if _FEN.fullmatch(text):
        cells, ground = tuple(map(_piece, board.cells)), "chess"
    said = _OPENSPIEL.match(text)
    if said and EMPTY.issuperset({*board.cells} - {*"bw"}):
        cells = marks(board.cells, "bw", ("disc", "disc"))
    turn = int(said["mover"]) if said else 0
    return Picture(cells, board.columns, board.block, ground, turn=turn)


def choices(
    game: Game | None, text: str, moves: Sequence[Any], name: Callable[[int], str] = str
) -> list[Choice]:
    """Return the `Choice` of each `graphstore.store.probe.Move` of a position."""
    picture = picture_if_any(text, game)
    found = []
    for move in moves:
        cell, source = (None, None) if picture is None else _cells_of(picture, move, game)
        value = None if move.value is None else -move.value
        made = (move.move, name(move.move), cell, source, value, depth_of(move), move.position)
        found.append(Choice._make(made))
    return found


def images(game: Game, text: str) -> dict[str, str]:
    """Return the texts of a position's images that belong to the same state, by symmetry.

    The first is the position itself, under ``same``. Several may be the same text.
    """
    state, turned = _state(game, text), turned_rows(game, text)
    same = {name: image for name, image in turned.items() if _state(game, image) == state}
    return {"same": text} | same


def turned_rows(game: Game, text: str) -> dict[str, str]:
    """Return a text with its rows in each of `TURNS`; empty if it does not begin with rows."""
    board = board_of(text, game)
    rows = "" if board is None else "/".join(board.rows)
    if board is None or not text.startswith(rows):
        return {}
    tail = text.removeprefix(rows)
    return {name: "/".join(turn(board.rows)) + tail for name, turn in TURNS.items()}


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


def _cells_of(picture: Picture, move: Any, game: Game | None) -> tuple[int | None, int | None]:
    """Return the cells that a move fills and empties, the `cell` and `source` of a `Choice`."""
    if picture.targets:
        return picture.targets.get(move.move), None
    if game is not None and game.shape is not None:
        rows, columns = game.shape
        return (move.move if len(picture.cells) == rows * columns else None), None
    after = picture_if_any(move.position, game)
    if after is None or len(after.cells) != len(picture.cells):
        return None, None
    return _moved(*([cell.mark for cell in each.cells] for each in (picture, after)))


def _moved(before: Sequence[str], after: Sequence[str]) -> tuple[int | None, int | None]:
    """Return the cell that is filled, else the one that is emptied, and the one that is left.

    If one empty cell is filled, marks that change elsewhere do not count.
    """
    pairs = [
        (cell, was in NOTHING, now in NOTHING, was != now)
        for cell, (was, now) in enumerate(zip(before, after, strict=True))
    ]
    filled = [cell for cell, free, freed, _ in pairs if free and not freed]
    changed = [cell for cell, _, freed, other in pairs if other and not freed]
    emptied = [cell for cell, free, freed, _ in pairs if freed and not free]
    landed = filled if len(filled) == 1 else changed
    only = emptied[0] if len(emptied) == 1 else None
    if len(landed) != 1:
        return (None if landed else only), None
    return landed[0], only


def _of_fen(text: str) -> Board | None:
    """Return the board of a position of chess in FEN; its rows have a digit for empty squares."""
    fen = _FEN.fullmatch(text)
    if fen is None:
        return None
    rows = tuple(re.sub("[1-8]", lambda n: "." * int(n[0]), fen["rows"]).split("/"))
    fits = len(rows) > 1 and _are_rows(rows)
    return Board(rows, fen["beside"], (len(rows), len(rows[0]))) if fits else None


def _of_openspiel(text: str) -> Board | None:
    """Return the board in a text of OpenSpiel: its lines of equal length, without coordinates."""
    said = _OPENSPIEL.fullmatch(text)
    if said is None:
        return None
    groups: list[list[str]] = [[]]
    beside = []
    for line in said["board"].split("/"):
        cells = re.sub(r"^\s*\d+(?=\D)|(?<=\D)\d+\s*$|\s", "", line)
        letters = "abcdefghijklmnopqrstuvwxyz"[: len(cells)]
        if ":" in line or not cells or cells.lower() == letters:
            beside += [line.strip()] if ":" in line else []
        elif groups[-1] and len(groups[-1][0]) != len(cells):
            groups.append([cells])
        else:
            groups[-1].append(cells)
    longest: list[str] = max(groups, key=len)
    rows = tuple(longest)
    if min(len(rows), len(rows[0]) if rows else 0) < 2 or not _are_rows(rows):
        return None
    return Board(rows, " ".join(beside), (len(rows), len(rows[0])))


def _piece(mark: str) -> Cell:
    """Return the cell of a letter in FEN."""
    if mark in EMPTY:
        return Cell()
    return Cell(label=mark, shape=PIECES[mark.upper()], side=1 if mark.isupper() else 2)


def _state(game: Game, text: str) -> int | None:
    """Return the state of a text; None if it is not a position."""
    try:
        position: Ints = np.array([game.read(text)], dtype=np.int64)
        return int(game.canonical(position)[0])
    except GraphstoreError:
        return None
