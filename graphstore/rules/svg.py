"""SVG pictures of boards, and of positions without cells as text."""

from collections.abc import Sequence
from html import escape
from typing import Final

from graphstore.rules.board import EMPTY, WORDS, Board, Choice, on_cells
from graphstore.rules.game import DRAW, LOSS, WIN

CELL: Final = 60  # units of the picture
COLOURS: Final = {WIN: "#009e73", DRAW: "#e69f00", LOSS: "#d55e00"}
"""Colours of values, for the player to move; Okabe and Ito's, safe for the colour-blind."""


def svg(
    board: Board,
    *,
    shown: Sequence[Choice] = (),
    last: int | None = None,
    title: str = "",
    pixels: int = 48,
    style: bool = True,
) -> str:
    """Return a board as SVG, with the moves on their cells; the cell `last` is highlighted.

    `pixels` is the width of a cell. With ``style=False`` the SVG leaves out its colours, `STYLE`.
    """
    on_cell = on_cells(shown)
    cells = []
    for cell, mark in enumerate(board.cells):
        drawn, marked = mark_svg(mark), mark not in EMPTY
        if cell in on_cell:
            if marked:  # both must be visible
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
    """Return a board as SVG from a drawing for each cell, a square of `CELL`; see `svg`.

    `role` is ``img``, or ``group`` where the cells have labels for a screen reader.
    """
    width, height = board.columns * CELL, len(board.rows) * CELL
    scale = pixels / CELL
    spoken = title or " ".join(filter(None, ("/".join(board.rows), board.beside)))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="gs-board" viewBox="-2 -2 {width + 4} '
        f'{height + 4}" width="{(width + 4) * scale:.0f}" height="{(height + 4) * scale:.0f}" '
        f'role="{role}" aria-label="{marked_up(spoken)}">'
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
    """Return a position without cells as text in SVG, with a line below it for each move."""
    lines = text.split("\n")
    widest = max(map(len, [*lines, *(f"{each.label:3}  {each.name}" for each in shown)]))
    letter, step = pixels * 0.62, pixels * 1.3
    width, height = widest * letter + 12, (len(lines) + len(shown)) * step + 12
    rectangles, spans = [], []
    for number, line in enumerate(lines, 1):
        y = 6 + number * step - 0.35 * pixels
        spans.append(f'<tspan x="6" y="{y:.1f}">{marked_up(line)}</tspan>')
    for number, choice in enumerate(shown, len(lines)):
        worth, y = f"{choice.label:3}", 6 + number * step
        rectangles.append(
            f'<rect class="gs-{WORDS[choice.value]}" x="3" y="{y:.1f}" rx="4" '
            f'width="{len(worth) * letter + 6:.1f}" height="{step - 2:.1f}"/>'
        )
        spans.append(
            f'<tspan x="6" y="{y + step - 0.35 * pixels:.1f}" class="gs-worth">{worth}</tspan>'
            f"<tspan>{marked_up(f'  {choice.name}')}</tspan>"
        )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="gs-board" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" aria-label="{marked_up(" ".join(text.split()))}">',
        f"<style>{STYLE}</style>" if style else "",
        '<rect class="gs-paper" width="100%" height="100%"/>',
        *rectangles,
        f'<text class="gs-text" xml:space="preserve" font-size="{pixels}">',
        *spans,
    ]
    return "".join([*parts, "</text></svg>"])


def marked_up(text: str) -> str:
    """Return a text escaped for XML and HTML, including attributes.

    >>> marked_up('<"&' + chr(7))
    '&lt;&quot;&amp;\ufffd'
    """
    return escape("".join(each if _is_shown(each) else "\ufffd" for each in text))


def _is_shown(each: str) -> bool:
    return each.isprintable() or each in "\n\t" or (each.isspace() and each > " ")


def aside(mark: str) -> str:
    """Return a mark drawn smaller, to leave room for a badge above it."""
    return f'<g transform="translate(0 18) scale(0.7)">{mark}</g>'


def mark_svg(mark: str) -> str:
    """Return the drawing of a mark in a cell of `CELL` by `CELL`; empty for an empty cell."""
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
"""The style sheet of all boards, with a dark variant for dark systems."""


def _shown(choice: Choice, *, marked: bool) -> str:
    """Return the drawing of a move in its cell: a full cell if it is empty, else a badge."""
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
    steps = [(row % down, f"M0 {row * CELL}H{width}") for row in range(len(board.rows) + 1)]
    steps += [(at % across, f"M{at * CELL} 0V{height}") for at in range(board.columns + 1)]
    return [f'<path class="gs-{"rule" if off else "block"}" d="{path}"/>' for off, path in steps]
