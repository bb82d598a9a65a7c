"""SVG of pictures, and of positions without cells as text."""

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from textwrap import wrap
from typing import Final, NamedTuple

from graphstore.rules.board import WORDS, Choice, on_cells
from graphstore.rules.game import DRAW, LOSS, WIN
from graphstore.rules.picture import Cell, Picture

SPACE: Final = ' xmlns="http://www.w3.org/2000/svg"'
CELL: Final = 60  # units of the picture
MARGIN: Final = 3  # units around the board
BELOW: Final = 28  # units for the names of columns
IMAGE: Final = 300  # units of a picture that the rules draw
TEXT: Final = 18  # pixels of a letter of text
WIDEST: Final = 48  # characters of a line of text
COLOURS: Final = {WIN: "#009e73", DRAW: "#e69f00", LOSS: "#d55e00"}
"""Colours of values, for the player to move; Okabe and Ito's, safe for the colour-blind."""
_PALETTE: Final = {
    "paper": ("#fff", "#1d1f23"),
    "ink": ("#222", "#eee"),
    "rule": ("#858585", "#8b8b8b"),
    "last": ("#cfe3ff", "#27405e"),
    "active": ("#fdf3c8", "#40391f"),
    "dark": ("#cdd5de", "#4a545f"),
    "one": ("#0072b2", "#56b4e9"),
    "two": ("#a33b73", "#dd93bd"),
}  # in light and in dark mode
LIGHT: Final = {name: light for name, (light, _) in _PALETTE.items()}
DARK: Final = {name: dark for name, (_, dark) in _PALETTE.items()}
"""Colours of the ground and of both players; blue and purple of Okabe and Ito, with more contrast
against the ground."""
_LINE: Final = {"stroke-linecap": "round", "fill": "none"}
LOOKS: Final = {
    "paper": {"fill": "paper"},
    "last": {"fill": "last"},
    "active": {"fill": "active"},
    "dark": {"fill": "dark"},
    "rule": {"stroke": "rule", "stroke-width": "1.5", "fill": "none"},
    "block": {"stroke": "ink", "stroke-width": "4", "stroke-linecap": "square", "fill": "none"},
    "frame1": {"stroke": "one", "stroke-width": "4", "fill": "none"},
    "frame2": {"stroke": "two", "stroke-width": "4", "fill": "none"},
    "won": {"stroke": "ink", "stroke-width": "7"} | _LINE | {"opacity": ".65"},
    "big": {"opacity": ".85"},
    "mark": {"stroke": "ink", "stroke-width": "6"} | _LINE,
    "mark1": {"stroke": "one", "stroke-width": "7"} | _LINE,
    "mark2": {"stroke": "two", "stroke-width": "7"} | _LINE,
    "disc": {"fill": "ink"},
    "disc1": {"fill": "one"},
    "disc2": {"fill": "two"},
    "piece": {"fill": "ink"},
    "piece1": {"fill": "#fff", "stroke": "#111", "stroke-width": "2.5"},
    "piece2": {"fill": "#111", "stroke": "#fff", "stroke-width": "2"},
    "free": {"fill": "rule"},
    "ring": {"stroke": "ink", "stroke-width": "3", "fill": "none"},
    "letter": {"fill": "ink", "text-anchor": "middle"},
    "note": {"fill": "ink", "text-anchor": "middle"},
    "text": {"fill": "ink"},
    "on": {"fill": "#000", "stroke": "#fff", "stroke-width": "4", "paint-order": "stroke"},
    "value": {"fill": "#000", "text-anchor": "middle", "font-weight": "600"},
    "faded": {"fill": "ink", "text-anchor": "middle", "font-weight": "600"},
    "worth": {"fill": "#000"},
    **{WORDS[value]: {"fill": colour} for value, colour in COLOURS.items()},
}
"""The classes of SVG, as ``gs-`` and a name; a word is a colour of `LIGHT` or `DARK`."""
_PIECES: Final = {
    "pawn": "M30 11C36 11 39 16 38 21C37.6 24 36.5 26 35 27C36 35 38 40 42 43V49H18V43C22 40 24 35"
    " 25 27C23.5 26 22.4 24 22 21C21 16 24 11 30 11Z",
    "rook": "M16 11H22V16H27V11H33V16H38V11H44V22L39 26V40L45 44V50H15V44L21 40V26L16 22Z",
    "knight": "M17 50C17 40 26 36 27 28L20 32C16 33 13 30 15 25L22 15V8L29 13C39 13 46 22 45 36L43"
    " 50Z",
    "bishop": "M30 7C33 7 34.5 10 33 13C39 17 42 24 40 31C39 34 37 37 36 39L43 44V50H17V44L24 39C23"
    " 37 21 34 20 31C18 24 21 17 27 13C25.5 10 27 7 30 7Z",
    "queen": "M12 17L21 29L22 11L30 26L38 11L39 29L48 17L43 42V50H17V42Z",
    "king": "M28 6H32V10H36V14H32V19C40 17 48 22 46 30C45 35 41 38 40 42V50H20V42C19 38 15 35 14"
    " 30C12 22 20 17 28 19V14H24V10H28Z",
}

_LINES: Final = {"across": "M3 30H57", "down": "M30 3V57", "dot": "M27 30H33M30 27V33"}


class Strength(NamedTuple):
    """The look of a move beside the others."""

    opacity: float = 1.0
    best: bool = False  # True if others are worse


def svg(
    picture: Picture,
    *,
    shown: Sequence[Choice] = (),
    last: int | None = None,
    title: str = "",
    pixels: float = 48,
    style: bool = True,
) -> str:
    """Return a picture as SVG, with the moves on their cells; the cell `last` is highlighted.

    `pixels` is the width of a cell. With ``style=False`` the SVG leaves out its colours, `STYLE`.
    """
    strength, on_cell = strengths(shown), on_cells(shown)
    cells = []
    for at, cell in enumerate(picture.cells):
        choice = on_cell.get(at)
        if choice is None:
            cells.append(mark_svg(cell))
        else:
            kind, how = WORDS.get(choice.value, "free"), strength[choice.move]
            cells.append(hint(picture, cell, kind, choice.label, how))
    return framed(picture, cells, last=last, title=title, pixels=pixels, style=style)


def framed(
    picture: Picture,
    cells: Sequence[str],
    *,
    last: int | None = None,
    title: str = "",
    pixels: float = 48,
    style: bool = True,
    role: str = "img",
) -> str:
    """Return a picture as SVG from a drawing for each cell, a square of `CELL`; see `svg`.

    `role` is ``img``, ``group`` where the cells have labels for a screen reader, or empty where
    what is around the picture has one.
    """
    width, height = picture.columns * CELL, picture.rows * CELL
    names = picture.names if pixels >= CELL / 2 else ()
    if picture.image:
        width = height = IMAGE
    high = height + MARGIN + (BELOW if names else MARGIN)
    box = (-MARGIN, -MARGIN, width + 2 * MARGIN, high)
    scale = pixels / CELL
    label = role and f' role="{role}" aria-label="{marked_up(title)}"'
    parts = [
        f'<svg{SPACE if role else ""} class="gs-board" viewBox="{_of(box)}" '
        f'width="{box[2] * scale:.0f}" height="{box[3] * scale:.0f}"{label}>'
    ]
    if style:
        parts.append(f"<style>{STYLE}</style>")
    if picture.image:
        parts.append(_image(picture.image, IMAGE))
        return "".join([*parts, "</svg>"])
    before, after = _ground(picture)
    after += [_rect(f"frame{picture.turn}", 0, 0, width, height)] if picture.turn else []
    if not role:  # many such pictures may have the same ground
        before, after = (["<g>", *each, "</g>"] for each in (before, after))
    parts += before
    down, across = picture.block
    for field in sorted(picture.active):
        x, y = _field(picture, field)
        parts.append(_rect("active", x, y, across * CELL, down * CELL))
    for at, inside in enumerate(cells):
        row, column = divmod(at, picture.columns)
        own = picture.cells[at].colour
        paper = f'<rect class="gs-own" fill="{own}" width="{CELL}" height="{CELL}"/>' if own else ""
        if at == last:
            round_ = picture.ground in ("holes", "points")
            paper += (
                '<circle class="gs-last" cx="30" cy="30" r="29"/>'
                if round_
                else f'<rect class="gs-last" width="{CELL}" height="{CELL}"/>'
            )
        if paper or inside:
            place = f"translate({column * CELL} {row * CELL})"
            parts.append(f'<g transform="{place}">{paper}{inside}</g>')
    parts += after
    for field, mark in picture.big.items():
        x, y = _field(picture, field)
        times = min(down, across)
        parts.append(
            f'<g transform="translate({x} {y}) scale({times})" class="gs-big">{mark_svg(mark)}</g>'
        )
    for begin, end in picture.won:
        parts.append(_path("won", _between(picture, begin, end)))
    for at, name in enumerate(names):
        parts.append(_text("note", at * CELL + CELL / 2, height + 22, name, 20))
    return "".join([*parts, "</svg>"])


def hint(
    picture: Picture, cell: Cell, kind: str, text: str, strength: Strength, *, below: str = ""
) -> str:
    """Return a cell with a move on it: its value as a colour and a label, below it a number.

    `kind` is a word of `WORDS`, or ``free`` for a move without a value: a quiet dot. The best
    moves have a ring.
    """
    opacity, best = strength
    marked = cell.mark != "" and picture.ground != "heaps"
    if kind == "free" and not below:
        dot = f'<circle class="gs-{"paper" if cell.mark else "free"}" cx="30" cy="30" r="7"/>'
        return mark_svg(cell) + ("" if marked else dot)
    if marked:  # both must be visible
        x, y, width, height, corner, size = 24, 4, 32, 22, 6, 15
    else:
        round_ = picture.ground in ("holes", "points", "heaps")
        x, y, width, height, corner, size = (
            (7, 7, 46, 46, 23, 18) if round_ else (4, 4, 52, 52, 6, 20)
        )
    size = size if len(text) < 4 else size - 4
    parts = [f'<g transform="translate(0 18) scale(0.7)">{mark_svg(cell)}</g>'] if marked else []
    pale = "" if opacity == 1 else f' fill-opacity="{opacity:.2g}"'
    at = f'x="{x}" y="{y}" width="{width}" height="{height}" rx="{corner}"'
    if pale and marked:  # the mark must not show through
        parts.append(f'<rect class="gs-paper" {at}/>')
    parts.append(f'<rect class="gs-{kind}" {at}{pale}/>')
    if best:
        parts.append(f'<rect class="gs-ring" {at}/>')
    words = "value" if opacity == 1 and kind in WORDS.values() else "faded"
    middle, base = x + width / 2, y + height / 2
    parts.append(_text(words, middle, base + (round(size / 3) if not below else -2), text, size))
    if below:
        parts.append(_text(words, middle, base + 16, below, 14))
    return "".join(parts)


def strengths(shown: Sequence[Choice]) -> dict[int, Strength]:
    """Return {move: its strength}; the deeper a win, the paler it is."""
    ranks = sorted({_rank(choice) for choice in shown})
    several = len(ranks) > 1
    return {
        choice.move: Strength(
            1.0 if choice.value != WIN or not at else max(0.22, 0.68 - 0.13 * at),
            several and not at,
        )
        for choice in shown
        for at in [ranks.index(_rank(choice))]
    }


def _rank(choice: Choice) -> tuple[float, int]:
    """Return a sort key that puts the best move first; one that is not known may be a win."""
    if choice.value is None:
        return -0.5, 0
    return -choice.value, choice.value * (choice.depth or 0)


def mark_svg(cell: Cell) -> str:
    """Return the mark of a cell of `CELL` by `CELL`; empty for an empty cell."""
    side = cell.side or ""
    if cell.image:
        drawn = _image(cell.image, CELL)
    elif not cell.label:
        return ""
    elif cell.shape == "X":
        drawn = _path(f"mark{side}", "M16 16 44 44M44 16 16 44")
    elif cell.shape == "O":
        drawn = f'<circle class="gs-mark{side}" cx="30" cy="30" r="16"/>'
    elif cell.shape in ("disc", "unit"):
        size = 22 if cell.shape == "disc" else 19
        drawn = f'<circle class="gs-disc{side}" cx="30" cy="30" r="{size}"/>'
        if cell.side == 2:  # told apart without colours
            drawn += '<circle class="gs-paper" cx="30" cy="30" r="9"/>'
    elif cell.shape in _LINES:
        drawn = _path(f"mark{side}", _LINES[cell.shape])
    elif cell.shape in _PIECES:
        drawn = _path(f"piece{side}", _PIECES[cell.shape])
    else:
        size = max(10, min(36, 92 // len(cell.label)))
        classes = "letter gs-on" if cell.colour else "letter"
        y = 30 + size * 0.36 - (7 if cell.note else 0)
        drawn = _text(classes, 30, y, cell.label, size)
    if cell.pale:
        drawn = f'<g opacity="0.5">{drawn}</g>'
    if cell.note and cell.shape:
        return drawn + _text("note", 52, 56, cell.note, 15)
    return drawn + (_text("note", 30, 54, cell.note, 13) if cell.note else "")


def text_svg(text: str, *, shown: Sequence[Choice] = (), style: bool = True) -> str:
    """Return a position without cells as text in SVG, with a line below it for each move."""
    lines = [part for line in text.split("\n") for part in _wrapped(line)]
    widest = max(map(len, [*lines, *(f"{each.label:3}  {each.name}" for each in shown)]))
    letter, step = TEXT * 0.62, TEXT * 1.3
    width, height = widest * letter + 12, (len(lines) + len(shown)) * step + 12
    rectangles, spans = [], []
    for number, line in enumerate(lines, 1):
        y = 6 + number * step - 0.35 * TEXT
        spans.append(f'<tspan x="6" y="{y:.1f}">{marked_up(line)}</tspan>')
    for number, choice in enumerate(shown, len(lines)):
        worth, y = f"{choice.label:3}", 6 + number * step
        rectangles.append(
            f'<rect class="gs-{WORDS.get(choice.value, "free")}" x="3" y="{y:.1f}" rx="4" '
            f'width="{len(worth) * letter + 6:.1f}" height="{step - 2:.1f}"/>'
        )
        spans.append(
            f'<tspan x="6" y="{y + step - 0.35 * TEXT:.1f}" class="gs-worth">{worth}</tspan>'
            f'<tspan x="{6 + 5 * letter:.1f}">{marked_up(choice.name)}</tspan>'
        )
    parts = [
        f'<svg{SPACE} class="gs-board" viewBox="0 0 {width:.0f} '
        f'{height:.0f}" width="{width:.0f}" height="{height:.0f}" role="img" '
        f'aria-label="{marked_up(" ".join(text.split()))}">',
        f"<style>{STYLE}</style>" if style else "",
        '<rect class="gs-paper" width="100%" height="100%"/>',
        *rectangles,
        f'<text class="gs-text" xml:space="preserve" font-size="{TEXT}">',
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


def _wrapped(line: str) -> list[str]:
    """Return a long line as several, with all of its characters."""
    if len(line) <= WIDEST or not line.strip():
        return [line]
    return wrap(line, WIDEST, drop_whitespace=False, replace_whitespace=False, expand_tabs=False)


def _ground(picture: Picture) -> tuple[list[str], list[str]]:
    """Return what is below the marks, and the lines above them."""
    width, height = picture.columns * CELL, picture.rows * CELL
    below = [_rect("paper", 0, 0, width, height)]
    places = [divmod(at, picture.columns) for at in range(len(picture.cells))]
    middles = [(column * CELL + 30, row * CELL + 30) for row, column in places]
    if picture.ground == "heaps":
        return below, []
    if picture.ground == "points":
        roads = "".join(_between(picture, begin, end, stretch=0) for begin, end in picture.roads)
        below += [_path("block", roads)] if roads else []
        below += [f'<circle class="gs-disc" cx="{x}" cy="{y}" r="7"/>' for x, y in middles]
        return below, []
    if picture.ground == "holes":
        below.append(_rect("dark", 0, 0, width, height))
        below += [f'<circle class="gs-paper" cx="{x}" cy="{y}" r="25"/>' for x, y in middles]
        return below, []
    if picture.ground == "chess":
        squares = [
            f"M{x - 30} {y - 30}H{x + 30}V{y + 30}H{x - 30}Z"
            for x, y in middles
            if not (x + y) % (2 * CELL)
        ]
        return [*below, _path("dark", "".join(squares)), _rect("rule", 0, 0, width, height)], []
    down, across = picture.block
    steps = [(row % down, f"M0 {row * CELL}H{width}") for row in range(picture.rows + 1)]
    steps += [(at % across, f"M{at * CELL} 0V{height}") for at in range(picture.columns + 1)]
    thin = "".join(path for off, path in steps if off)
    thick = "".join(path for off, path in steps if not off)
    return below, ([_path("rule", thin)] if thin else []) + [_path("block", thick)]


def _field(picture: Picture, field: int) -> tuple[int, int]:
    """Return the x and y of a field, by its number."""
    down, across = picture.block
    row, column = divmod(field, picture.columns // across)
    return column * across * CELL, row * down * CELL


def _between(picture: Picture, begin: int, end: int, *, stretch: float = 0.3) -> str:
    """Return the path from a cell to another one, and a share of a cell beyond both."""
    (row, column), (to, across) = (divmod(each, picture.columns) for each in (begin, end))
    y, x = (stretch * ((b > a) - (b < a)) * CELL for a, b in ((row, to), (column, across)))
    starts = f"M{column * CELL + 30 - x:g} {row * CELL + 30 - y:g}"
    return f"{starts}L{across * CELL + 30 + x:g} {to * CELL + 30 + y:g}"


def _of(numbers: Iterable[float]) -> str:
    return " ".join(f"{number:g}" for number in numbers)


def _rect(kind: str, x: float, y: float, width: float, height: float) -> str:
    return f'<rect class="gs-{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"/>'


def _path(kind: str, path: str) -> str:
    return f'<path class="gs-{kind}" d="{path}"/>'


def _text(kind: str, x: float, y: float, text: str, size: float) -> str:
    place = f'x="{x:g}" y="{y:g}" font-size="{size:g}"'
    return f'<text class="gs-{kind}" {place}>{marked_up(text)}</text>'


def _image(image: str, size: int) -> str:
    return f'<image href="{marked_up(data_uri(image))}" width="{size}" height="{size}"/>'


def data_uri(image: str) -> str:
    """Return the address of an image, in which no script runs: SVG becomes a data: URI."""
    if image.startswith("data:"):
        return image
    return "data:image/svg+xml;base64," + b64encode(image.strip().encode()).decode()


def _css(looks: Mapping[str, Mapping[str, str]]) -> str:
    """Return `LOOKS` as CSS, with variables for the colours of `LIGHT` and `DARK`."""
    return "".join(
        f".gs-{name}{{"
        + ";".join(
            f"{what}:{f'var(--gs-{how})' if how in LIGHT else how}" for what, how in look.items()
        )
        + "}"
        for name, look in looks.items()
    )


def _variables(colours: Mapping[str, str]) -> str:
    return ";".join(f"--gs-{name}:{colour}" for name, colour in colours.items())


STYLE: Final = (
    f".gs-board,.gs-defined{{{_variables(LIGHT)};font-family:system-ui,sans-serif}}"
    f"@media(prefers-color-scheme:dark){{.gs-board,.gs-defined{{{_variables(DARK)}}}}}"
    f"{_css(LOOKS)}.gs-text{{font-family:ui-monospace,monospace}}"
)
"""The style sheet of all pictures, with a dark variant for dark systems."""
