"""A position as a board of cells, and as a picture of them in SVG.

A board is read off the text of a position, so it needs no rules. A text that shows no cells is
drawn as it is.
"""

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Final, NamedTuple, Protocol

import numpy as np

from graphstore.errors import GraphstoreError
from graphstore.game import DRAW, LOSS, WIN, Game, Ints

EMPTY: Final = frozenset("._- ")
LARGEST = 1024  # cells; more would be no picture of a game
CELL = 60  # units of the picture
LETTERS: Final = {WIN: "W", DRAW: "D", LOSS: "L"}
WORDS: Final = {WIN: "win", DRAW: "draw", LOSS: "loss"}
COLOURS: Final = {WIN: "#009e73", DRAW: "#e69f00", LOSS: "#d55e00"}
"""For the player to move. Okabe and Ito's colours, told apart by the colour blind too."""


class Board(NamedTuple):
    """The cells of a position.

    Attributes:
        rows: from the top, of one length, one character a cell.
        beside: what the text says beside the cells, such as whose turn it is.
        block: (rows, columns) of the fields that the board consists of; of all of it, where none.
    """

    rows: tuple[str, ...]
    beside: str
    block: tuple[int, int]

    @property
    def columns(self) -> int:
        """How many cells a row has."""
        return len(self.rows[0])

    @property
    def cells(self) -> str:
        """All cells, row by row."""
        return "".join(self.rows)


class Choice(NamedTuple):
    """A legal move as the board shows it.

    Attributes:
        move: as the rules number it.
        name: what people call it.
        cell: where it puts or brings a mark; None if no one cell tells.
        source: the cell that it brings the mark from, or None.
        value: for the player who makes it.
        depth: moves that the winner needs after it; None in a draw.
        position: what it leads to.
    """

    move: int
    name: str
    cell: int | None
    source: int | None
    value: int
    depth: int | None
    position: str

    @property
    def label(self) -> str:
        """The value as a letter, with the depth: ``W2``, ``D``, ``L1``."""
        return label_of(self.value, self.depth)


def label_of(value: int, depth: int | None) -> str:
    """Return what a move is worth to the player who makes it: ``W2``, ``D``, ``L1``."""
    return LETTERS[value] + ("" if depth is None else str(depth))


def depth_after(value: int, win_depth: int | None, lose_depth: int | None) -> int | None:
    """Return the moves that the winner needs after a move, of which the child's columns tell."""
    return {LOSS: win_depth, DRAW: None, WIN: lose_depth}[value]


class Link(NamedTuple):
    """What a page lets people do with a cell, and what it shows there.

    Attributes:
        href: where it leads.
        words: what it is, for people who do not see it.
        kind: ``win``, ``draw``, ``loss``, ``free`` or ``chosen``; the colour.
        text: a few characters on the cell.
        below: a few more below them, smaller.
    """

    href: str
    words: str
    kind: str = "free"
    text: str = ""
    below: str = ""


class LooksLikeMove(Protocol):
    """What is needed of a `graphstore.query.Move`."""

    @property
    def move(self) -> int:
        """See `graphstore.query.Move`."""

    @property
    def position(self) -> str:
        """See `graphstore.query.Move`."""

    @property
    def value(self) -> int:
        """See `graphstore.query.Move`: the child's."""

    @property
    def win_depth(self) -> int | None:
        """See `graphstore.query.Move`."""

    @property
    def lose_depth(self) -> int | None:
        """See `graphstore.query.Move`."""


def board_of(text: str, game: Game | None = None) -> Board | None:
    """Return the cells of a position's text; None if it shows none.

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
    game: Game | None, text: str, moves: Sequence[LooksLikeMove], name: Callable[[int], str] = str
) -> list[Choice]:
    """Return the moves of a position, in the order given, with the cells that they concern.

    Args:
        game: its rules, if they are known.
        text: the position.
        moves: what a probe says of them, in the orientation of the text.
        name: what people call a move.
    """
    before = board_of(text, game)
    found = []
    for move in moves:
        cell, source = _concerned(game, before, move)
        depth = depth_after(move.value, move.win_depth, move.lose_depth)
        found.append(
            Choice(move.move, name(move.move), cell, source, -move.value, depth, move.position)
        )
    return found


def images(game: Game, text: str) -> dict[str, str]:
    """Return what a position becomes under the symmetries of its board, by what was done to it.

    Only what is a position of the same state; first the position itself, as ``same``. Several may
    be the same text. A game whose text shows no rows has only ``same``.
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


def svg(
    board: Board,
    *,
    shown: Sequence[Choice] = (),
    href: Callable[[Choice], str] | None = None,
    links: Mapping[int, Link] | None = None,
    last: int | None = None,
    title: str = "",
    pixels: int = 48,
    style: bool = True,
) -> str:
    """Return a board as SVG.

    Args:
        board: the cells.
        shown: moves, each on its cell in the colour of its value; of several on one cell, the
            first.
        href: where a move on its cell links to.
        links: by cell, in place of `shown`; with them marks too have labels for people who do not
            see them.
        last: the cell that was played last.
        title: what it is, for people who do not see it.
        pixels: the width of a cell.
        style: whether the picture brings its own colours, `STYLE`; a page of many has them once.
    """
    width, height = board.columns * CELL, len(board.rows) * CELL
    scale = pixels / CELL
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="gs-board" viewBox="-2 -2 {width + 4} '
        f'{height + 4}" width="{(width + 4) * scale:.0f}" height="{(height + 4) * scale:.0f}" '
        f'role="{"img" if href is None and links is None else "group"}" '
        f'aria-label="{marked_up(title or _spoken(board))}">'
    ]
    if style:
        parts.append(f"<style>{STYLE}</style>")
    parts.append(f'<rect class="gs-paper" width="{width}" height="{height}"/>')
    on_cell = _on_cells(shown)
    for cell, mark in enumerate(board.cells):
        row, column = divmod(cell, board.columns)
        inside = []
        if cell == last:
            inside.append(f'<rect class="gs-last" width="{CELL}" height="{CELL}"/>')
        marked = mark not in EMPTY
        if links is not None:
            inside.append(_linked(cell, mark, links.get(cell), last=cell == last))
        elif marked and cell in on_cell:  # both must be seen
            inside.append(f'<g transform="translate(0 18) scale(0.7)">{_mark(mark)}</g>')
        else:
            inside.append(_mark(mark))
        if links is None and cell in on_cell:
            inside.append(_shown(on_cell[cell], href, marked=marked))
        drawn = "".join(inside)
        if drawn:
            parts.append(f'<g transform="translate({column * CELL} {row * CELL})">{drawn}</g>')
    parts += _ruling(board, width, height)
    return "".join(parts) + "</svg>"


def text_svg(
    text: str, *, shown: Sequence[Choice] = (), pixels: int = 18, style: bool = True
) -> str:
    """Return lines of text as SVG: what a position without cells looks like.

    Args:
        text: the position.
        shown: moves, each on a line of its own below it, with the colour of its value.
        pixels: the size of the letters.
        style: as for `svg`.
    """
    lines = [*text.split("\n"), *(f"{_worth(choice)}  {choice.name}" for choice in shown)]
    first = len(lines) - len(shown)
    width = max(map(len, lines)) * pixels * 0.62 + 12
    step = pixels * 1.3
    height = len(lines) * step + 12
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="gs-board" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" aria-label="{marked_up(" ".join(text.split()))}">',
        f"<style>{STYLE}</style>" if style else "",
        '<rect class="gs-paper" width="100%" height="100%"/>',
    ]
    for number, choice in enumerate(shown, first):
        parts.append(
            f'<rect class="gs-{WORDS[choice.value]}" x="3" y="{6 + number * step:.1f}" rx="4" '
            f'width="{len(_worth(choice)) * pixels * 0.62 + 6:.1f}" height="{step - 2:.1f}"/>'
        )
    parts.append(f'<text class="gs-text" xml:space="preserve" font-size="{pixels}">')
    for number, line in enumerate(lines):
        y = 6 + (number + 1) * step - 0.35 * pixels
        if number < first:
            parts.append(f'<tspan x="6" y="{y:.1f}">{marked_up(line)}</tspan>')
        else:
            worth = _worth(shown[number - first])
            parts.append(
                f'<tspan x="6" y="{y:.1f}" class="gs-worth">{worth}</tspan>'
                f"<tspan>{marked_up(line[len(worth) :])}</tspan>"
            )
    return "".join([*parts, "</text></svg>"])


def _worth(choice: Choice) -> str:
    return choice.label.ljust(3)


def marked_up(text: str) -> str:
    """Return a text as XML and HTML hold it, in an attribute too: no character breaks them out.

    >>> marked_up('<"&' + chr(7))
    '&lt;&quot;&amp;\ufffd'
    """
    return escape("".join(each if _holdable(each) else "\ufffd" for each in text))


def _holdable(character: str) -> bool:
    """Return whether XML can hold a character, and something shows it."""
    shown = character.isprintable() or (character.isspace() and character > " ")
    return shown or character in "\n\t"


def _spoken(board: Board) -> str:
    return " ".join(filter(None, ("/".join(board.rows), board.beside)))


def text_plain(text: str, *, shown: Sequence[Choice] = ()) -> str:
    """Return what `text_svg` draws as lines of text."""
    return "\n".join([text, *(f"{_worth(choice)}  {choice.name}" for choice in shown)])


def plain(board: Board, *, shown: Sequence[Choice] = ()) -> str:
    """Return a board as lines of text, the moves on their cells as what they are worth."""
    on_cell = _on_cells(shown)
    cells = ["." if mark in EMPTY else mark for mark in board.cells]
    for cell, choice in on_cell.items():  # beside a mark that is there to be taken
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


def _on_cells(shown: Sequence[Choice]) -> dict[int, Choice]:
    """Return the first of the moves on each cell."""
    return {choice.cell: choice for choice in reversed(shown) if choice.cell is not None}


def _mirrored(rows: Sequence[str]) -> list[str]:
    return [row[::-1] for row in rows]


def _turned(rows: Sequence[str]) -> list[str]:
    """A quarter turn clockwise."""
    return ["".join(row[column] for row in reversed(rows)) for column in range(len(rows[0]))]


TURNS: Final[dict[str, Callable[[Sequence[str]], list[str]]]] = {
    "mirrored": _mirrored,
    "flipped": lambda rows: list(reversed(rows)),
    "turned": _turned,
    "turned twice": lambda rows: _turned(_turned(rows)),
    "turned back": lambda rows: _turned(_turned(_turned(rows))),
    "mirrored and turned": lambda rows: _turned(_mirrored(rows)),
    "mirrored and turned back": lambda rows: _turned(_turned(_turned(_mirrored(rows)))),
}
"""Left to right, top to bottom, a quarter turn clockwise, and what they make together."""

STYLE: Final = (
    ".gs-board{--gs-paper:#fff;--gs-ink:#222;--gs-rule:#999;--gs-last:#cfe3ff;font-family:"
    "system-ui,sans-serif}"
    "@media(prefers-color-scheme:dark){.gs-board{--gs-paper:#1d1f23;--gs-ink:#eee;--gs-rule:#777;"
    "--gs-last:#27405e}}"
    ".gs-paper{fill:var(--gs-paper)}.gs-last{fill:var(--gs-last)}"
    ".gs-rule{stroke:var(--gs-rule);stroke-width:1.5}"
    ".gs-block{stroke:var(--gs-ink);stroke-width:4;stroke-linecap:square}"
    ".gs-mark{fill:none;stroke:var(--gs-ink);stroke-width:6;stroke-linecap:round}"
    ".gs-letter,.gs-text{fill:var(--gs-ink)}.gs-letter{text-anchor:middle;font-size:36px}"
    ".gs-text{font-family:ui-monospace,monospace}"
    + "".join(f".gs-{WORDS[value]}{{fill:{colour}}}" for value, colour in COLOURS.items())
    + ".gs-value{text-anchor:middle;font-size:20px;font-weight:600;fill:#000}"
    ".gs-small{font-size:16px}.gs-worth{fill:#000}.gs-below{font-size:14px;font-weight:400}"
    ".gs-free,.gs-board .gs-edge{fill:transparent}.gs-chosen{fill:var(--gs-last)}"
    ".gs-edge{stroke-width:4;rx:6px}.gs-board .gs-chosen.gs-edge{fill:var(--gs-last)}"
    + "".join(f".gs-{WORDS[value]}.gs-edge{{stroke:{colour}}}" for value, colour in COLOURS.items())
    + ".gs-free + .gs-value,.gs-free ~ .gs-below{fill:var(--gs-ink)}"
    ".gs-board a:focus-visible{outline:none}"
    ".gs-board a:focus-visible rect,.gs-board a:hover rect{stroke:var(--gs-ink);stroke-width:4}"
)
"""The colours of all boards; dark where the reader's system is."""


def _are_rows(rows: Sequence[str]) -> bool:
    width = len(rows[0])
    printable = all(row.isprintable() and " " not in row for row in rows)
    return 0 < width * len(rows) <= LARGEST and printable and {*map(len, rows)} == {width}


def _drawn(picture: str) -> Board | None:
    """Read the cells off a board that is drawn with rulers between its fields."""
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


def _concerned(
    game: Game | None, before: Board | None, move: LooksLikeMove
) -> tuple[int | None, int | None]:
    """Return the cell where a move puts a mark, and the one that it comes from."""
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
    if len(landed) > 1:  # as where a whole field falls to a player
        landed = [cell for cell in landed if cell == _cell_by_fields(before, move.move)]
    return (
        landed[0] if len(landed) == 1 else None,
        emptied[0] if len(emptied) == 1 and len(landed) == 1 else None,
    )


def _cell_by_fields(board: Board, move: int) -> int:
    """Return the cell that has a number if cells are counted field by field."""
    down, across = board.block
    field, spot = divmod(move, down * across)
    band, stack = divmod(field, board.columns // across)
    row, column = divmod(spot, across)
    return (band * down + row) * board.columns + stack * across + column


def _state(game: Game, text: str) -> int | None:
    """Return the state of a text, None if it is no position."""
    try:
        position: Ints = np.array([game.read(text)], dtype=np.int64)
        return int(game.canonical(position)[0])
    except GraphstoreError:
        return None


def _mark(mark: str) -> str:
    if mark in EMPTY:
        return ""
    if mark == "X":
        return '<path class="gs-mark" d="M16 16 44 44M44 16 16 44"/>'
    if mark == "O":
        return '<circle class="gs-mark" cx="30" cy="30" r="16"/>'
    return f'<text class="gs-letter" x="30" y="43">{marked_up(mark)}</text>'


def _shown(choice: Choice, href: Callable[[Choice], str] | None, *, marked: bool) -> str:
    """Return a move on its cell: all of it where that is empty, a badge beside a mark."""
    x, y, width, height = (28, 2, 30, 22) if marked else (4, 4, CELL - 8, CELL - 8)
    small = " gs-small" if marked else ""
    drawn = (
        f'<rect class="gs-{WORDS[choice.value]}" x="{x}" y="{y}" width="{width}" '
        f'height="{height}" rx="6"/><text class="gs-value{small}" x="{x + width / 2:g}" '
        f'y="{y + height / 2 + 6:g}">{choice.label}</text>'
    )
    if href is None:
        return drawn
    words = f"{choice.name}: {WORDS[choice.value]}"
    if choice.depth is not None:
        words += f", depth {choice.depth}"
    return f'<a href="{marked_up(href(choice))}" aria-label="{marked_up(words)}">{drawn}</a>'


def _linked(cell: int, mark: str, link: Link | None, *, last: bool) -> str:
    """Return a cell of a page: what is on it under its label, in a link where it has one."""
    drawn = _mark(mark)
    name = "" if mark in EMPTY else f": {mark}{', played last' if last else ''}"
    if link is None:
        label = f'<g role="img" aria-label="{marked_up(f"cell {cell}{name}")}">{drawn}</g>'
        return label if drawn else ""
    parts = []
    small = " gs-small" if len(link.text) > 2 else ""
    if drawn:
        parts.append(f'<rect class="gs-{link.kind} gs-edge" x="3" y="3" width="54" height="54"/>')
        parts.append(drawn)
        if link.text:
            parts.append(
                f'<rect class="gs-{link.kind}" x="28" y="2" width="30" height="22" rx="6"/>'
                f'<text class="gs-value gs-small" x="43" y="18">{marked_up(link.text)}</text>'
            )
    else:
        parts.append(
            f'<rect class="gs-{link.kind}" x="4" y="4" width="52" height="52" rx="6"/>'
            f'<text class="gs-value{small}" x="30" y="{28 if link.below else 36}">'
            f"{marked_up(link.text)}</text>"
        )
    if link.below:
        parts.append(
            f'<text class="gs-value gs-below" x="30" y="48">{marked_up(link.below)}</text>'
        )
    words = f"cell {cell}{name}, {link.words}" if name else f"cell {cell}: {link.words}"
    return (
        f'<a href="{marked_up(link.href)}" data-cell="{cell}" aria-label="{marked_up(words)}">'
        f"{''.join(parts)}</a>"
    )


def _ruling(board: Board, width: int, height: int) -> list[str]:
    """Return the lines between cells and fields, and around them."""
    down, across = board.block
    lines = []
    for row in range(len(board.rows) + 1):
        kind = "gs-block" if row % down == 0 else "gs-rule"
        lines.append(f'<path class="{kind}" d="M0 {row * CELL}H{width}"/>')
    for column in range(board.columns + 1):
        kind = "gs-block" if column % across == 0 else "gs-rule"
        lines.append(f'<path class="{kind}" d="M{column * CELL} 0V{height}"/>')
    return lines
