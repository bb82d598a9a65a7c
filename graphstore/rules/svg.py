"""A board as a picture in SVG; a position that shows no cells, as its text."""

from collections.abc import Sequence
from html import escape
from typing import Final

from graphstore.rules.board import EMPTY, WORDS, Board, Choice, on_cells, padded
from graphstore.rules.game import DRAW, LOSS, WIN

CELL: Final = 60  # units of the picture
COLOURS: Final = {WIN: "#009e73", DRAW: "#e69f00", LOSS: "#d55e00"}
"""For the player to move. Okabe and Ito's colours, told apart by the colour blind too."""


def svg(
    board: Board,
    *,
    shown: Sequence[Choice] = (),
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
        last: the cell that was played last.
        title: what it is, for people who do not see it.
        pixels: the width of a cell.
        style: whether the picture brings its own colours, `STYLE`; a page of many has them once.
    """
    on_cell = on_cells(shown)
    cells = []
    for cell, mark in enumerate(board.cells):
        drawn, marked = mark_svg(mark), mark not in EMPTY
        if cell in on_cell:
            if marked:  # both must be seen
                drawn = aside(drawn)
            drawn += _shown(on_cell[cell], marked=marked)
        cells.append(drawn)
    return framed(board, cells, last=last, title=title, pixels=pixels, style=style)


def framed(
    board: Board,
    cells: Sequence[str],
    *,
    last: int | None = None,
    title: str = "",
    pixels: int = 48,
    style: bool = True,
    role: str = "img",
) -> str:
    """Return the lines of a board, and in each cell what is drawn there already.

    Args:
        board: the cells.
        cells: SVG in a square of `CELL`, one a cell.
        last: as for `svg`, and so the others.
        title: likewise.
        pixels: likewise.
        style: likewise.
        role: for people who do not see it: ``img``, or ``group`` where the cells have labels.
    """
    width, height = board.columns * CELL, len(board.rows) * CELL
    scale = pixels / CELL
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="gs-board" viewBox="-2 -2 {width + 4} '
        f'{height + 4}" width="{(width + 4) * scale:.0f}" height="{(height + 4) * scale:.0f}" '
        f'role="{role}" aria-label="{marked_up(title or _spoken(board))}">'
    ]
    if style:
        parts.append(f"<style>{STYLE}</style>")
    parts.append(f'<rect class="gs-paper" width="{width}" height="{height}"/>')
    for cell, inside in enumerate(cells):
        row, column = divmod(cell, board.columns)
        paper = f'<rect class="gs-last" width="{CELL}" height="{CELL}"/>' if cell == last else ""
        if paper or inside:
            place = f"translate({column * CELL} {row * CELL})"
            parts.append(f'<g transform="{place}">{paper}{inside}</g>')
    return "".join([*parts, *_ruling(board, width, height), "</svg>"])


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
    lines = [*text.split("\n"), *(f"{padded(choice)}  {choice.name}" for choice in shown)]
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
            f'width="{len(padded(choice)) * pixels * 0.62 + 6:.1f}" height="{step - 2:.1f}"/>'
        )
    parts.append(f'<text class="gs-text" xml:space="preserve" font-size="{pixels}">')
    for number, line in enumerate(lines):
        y = 6 + (number + 1) * step - 0.35 * pixels
        if number < first:
            parts.append(f'<tspan x="6" y="{y:.1f}">{marked_up(line)}</tspan>')
        else:
            worth = padded(shown[number - first])
            parts.append(
                f'<tspan x="6" y="{y:.1f}" class="gs-worth">{worth}</tspan>'
                f"<tspan>{marked_up(line[len(worth) :])}</tspan>"
            )
    return "".join([*parts, "</text></svg>"])


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


def aside(mark: str) -> str:
    """Return a mark drawn smaller, so that there is room for a badge above it."""
    return f'<g transform="translate(0 18) scale(0.7)">{mark}</g>'


def mark_svg(mark: str) -> str:
    """Return what stands on a cell of `CELL` by `CELL`; nothing for an empty one."""
    if mark in EMPTY:
        return ""
    if mark == "X":
        return '<path class="gs-mark" d="M16 16 44 44M44 16 16 44"/>'
    if mark == "O":
        return '<circle class="gs-mark" cx="30" cy="30" r="16"/>'
    return f'<text class="gs-letter" x="30" y="43">{marked_up(mark)}</text>'


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
    ".gs-small{font-size:16px}.gs-worth{fill:#000}"
)
"""The colours of all boards; dark where the reader's system is."""


def _shown(choice: Choice, *, marked: bool) -> str:
    """Return a move on its cell: all of it where that is empty, a badge beside a mark."""
    x, y, width, height = (28, 2, 30, 22) if marked else (4, 4, CELL - 8, CELL - 8)
    small = " gs-small" if marked else ""
    return (
        f'<rect class="gs-{WORDS[choice.value]}" x="{x}" y="{y}" width="{width}" '
        f'height="{height}" rx="6"/><text class="gs-value{small}" x="{x + width / 2:g}" '
        f'y="{y + height / 2 + 6:g}">{choice.label}</text>'
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


def _spoken(board: Board) -> str:
    return " ".join(filter(None, ("/".join(board.rows), board.beside)))
