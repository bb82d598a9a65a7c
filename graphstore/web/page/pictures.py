"""Pictures of positions on a page: a large one with links on its cells, and small ones."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from graphstore.errors import SettingError
from graphstore.rules import board as boards
from graphstore.rules.adapter import ArrayRules
from graphstore.rules.board import TURNS, WORDS, Choice, board_of, picture_if_any
from graphstore.rules.game import Game
from graphstore.rules.picture import Picture, seen_by
from graphstore.rules.svg import (
    CELL,
    COLOURS,
    Strength,
    data_uri,
    framed,
    hint,
    mark_svg,
    marked_up,
    strengths,
    text_svg,
)
from graphstore.web.page.query import Query

LITTLE = 88  # pixels: the largest width of a small board
LARGE = 64  # pixels of a cell of the large board
STYLE: Final = (
    ":root{"
    + "".join(f"--gs-{WORDS[value]}:{colour};" for value, colour in COLOURS.items())
    + "}.gs-board .gs-edge,.gs-reach{fill:transparent}.gs-chosen{fill:var(--gs-last)}"
    ".gs-edge{stroke-width:4;rx:6px}.gs-round{rx:27px}"
    ".gs-board .gs-chosen.gs-edge{fill:var(--gs-last)}"
    + "".join(f".gs-{word}.gs-edge{{stroke:var(--gs-{word})}}" for word in WORDS.values())
    + ".gs-free.gs-edge{stroke:var(--gs-rule);stroke-width:2}"
    ".gs-board :is(g[role=img],.gs-big,.gs-won){pointer-events:none}"
    ".gs-board a:focus-visible{outline:none}"
    ".gs-board :is(a:focus-visible,a:hover,a.gs-lit) .gs-reach"
    "{stroke:var(--gs-ink);stroke-width:4;rx:6px}"
    "tr.gs-lit{background:var(--gs-tint)}"
    ".gs-defined{position:absolute}.gs-image{max-width:100%}"
    # A board leaves room for nothing else on a low screen, and is above texts that vary.
    ".gs-left{display:flex;flex-direction:column}.gs-left>.gs-large{order:-1;margin:0}"
    ".gs-left .gs-large :is(svg,img){max-height:min(27rem,100svh - 4.5rem)}"
    "@media(prefers-reduced-motion:no-preference){"
    "@keyframes gs-fall{from{transform:translateY(-400px)}}"
    ".gs-large .gs-fall{animation:gs-fall .35s ease-in}}"
    "@media print{.gs-board{print-color-adjust:exact}}"
)
"""CSS for cells that are links, in addition to `graphstore.rules.svg.STYLE`."""

_PART = re.compile(
    r'<g(?: transform="translate\((\d+) (\d+)\)")?>((?:<(?!g\b|/g\b|a\b|image\b)|[^<])+)</g>'
)


class Link(NamedTuple):
    """A link on a cell of the large board, and what the cell shows."""

    href: str
    words: str  # for screen readers
    kind: str = "free"  # the colour: win, draw, loss, free or chosen
    text: str = ""  # a few characters on the cell
    below: str = ""  # a few smaller characters below them
    chooses: bool = False  # True if it only chooses a piece, or puts it back
    strength: Strength = Strength()


def large(
    game: Game | None,
    text: str,
    links: Mapping[int, Link],
    *,
    last: int | None,
    title: str,
    mover: int = 0,
) -> str:
    """Return the picture of a position with links on its cells; if it has no cells, its text.

    `last` is the cell that was played last, `title` is for screen readers, and `mover` is the
    player to move, if known.
    """
    picture = picture_if_any(text, game)
    if picture is None:
        drawn = text if game is None else game.board(game.read(text))
        return text_svg(drawn, style=False)
    if picture.image:
        return _image(picture, title)
    return linked(seen_by(picture, mover), links, last=last, title=title)


def linked(
    picture: Picture, links: Mapping[int, Link], *, last: int | None = None, title: str
) -> str:
    """Return a picture with links on its cells; see `large`."""
    cells = [
        _linked(picture, at, links.get(at), last=at == last) for at in range(len(picture.cells))
    ]
    return framed(picture, cells, last=last, title=title, pixels=LARGE, style=False, role="group")


def little(game: Game | None, text: str, *, last: int | None = None, mover: int = 0) -> str | None:
    """Return a small picture of a position; None if it has no cells; see `with_definitions`."""
    picture = picture_if_any(text, game)
    if picture is None:
        return None
    if picture.image:
        return _image(picture, "", LITTLE)
    pixels = max(2, min(24, LITTLE // max(picture.columns, picture.rows)))
    picture = seen_by(picture, mover)
    cells = list(map(mark_svg, picture.cells))
    return framed(picture, cells, last=last, pixels=pixels, style=False, role="")


def with_definitions(page: str) -> str:
    """Return a page in which equal parts of pictures are written once, and referred to."""
    number = Counter(inside for _, _, inside in _PART.findall(page))
    often = [inside for inside, times in number.items() if times > 1]
    keys = {inside: f"g{at}" for at, inside in enumerate(often)}

    def refer(found: re.Match[str]) -> str:
        x, y, inside = found.groups()
        place = "".join(f' {axis}="{at}"' for axis, at in (("x", x), ("y", y)) if at and at != "0")
        return f'<use href="#{keys[inside]}"{place}/>' if inside in keys else found[0]

    drawn = "".join(f'<g id="{key}">{inside}</g>' for inside, key in keys.items())
    box = '<svg class="gs-defined" width="0" height="0" aria-hidden="true"><defs>'
    page = _PART.sub(refer, page)
    return page.replace("</main>", f"{box}{drawn}</defs></svg></main>", 1) if keys else page


def links(
    choices: Sequence[Choice],
    query: Query,
    *,
    to: Callable[[Choice], str],
    here: Callable[[Query], str],
    beads: Callable[[Choice], str] = lambda _: "",
) -> dict[int, Link]:
    """Return the links of a board by cell; `choices` are the moves, best first.

    A move that only places a mark is one link. Where marks are moved, the first link chooses a
    mark, and the next page shows where it can go. `to` returns the address of a move, `here` the
    address of the same position with another query, `beads` an agent's number of beads for a move.
    """
    found: dict[int, Link] = {}
    strength = {} if query.hide else strengths(choices)
    chosen = query.source if query.source in {choice.source for choice in choices} else None
    if chosen is not None:
        back = here(query._replace(source=None, target=None))
        found[chosen] = Link(back, "put back", "chosen", chooses=True)
    groups: dict[int, list[Choice]] = {}
    for choice in choices:
        cell = choice.cell if choice.source == chosen else choice.source
        if cell is not None and cell != chosen and (chosen is None or choice.source == chosen):
            groups.setdefault(cell, []).append(choice)
    for cell, group in groups.items():
        best = group[0]
        number = beads(best) if len(group) == 1 else ""
        words = ""
        if not query.hide:  # the text on the cell, then its meaning
            depth = "" if best.depth is None else f", depth {best.depth}"
            worth = WORDS.get(best.value, "not known yet")
            words = f": {best.label}{number and f' {number} beads'}, {worth}{depth}"
            words = words.replace(": , ", ": ")
        moves = len(group) == 1 and best.source == chosen
        if moves:
            href = to(best)
            words = words.removeprefix(": ") if best.name == str(cell) else best.name + words
        elif best.source == chosen:
            href = here(query._replace(source=chosen, target=cell))
            words = f"{len(group)} moves{words}"
        else:
            href = here(query._replace(source=cell, target=None))
            count = f"{len(group)} move{'s' * (len(group) > 1)}"
            words = f"{count} from here{words}"
        kind, text = ("free", "") if query.hide else (WORDS.get(best.value, "free"), best.label)
        found[cell] = Link(
            href,
            words or "free",
            kind,
            text,
            below=number and f"• {number}",
            chooses=not moves,
            strength=strength.get(best.move, Strength()),
        )
    return found


def turned(game: Game, text: str) -> dict[str, str]:
    """Return the images of a position by name: `rules.board.images`, also by `images` of a game.

    The text of some games has no rows, so their images are recognised by their drawings.
    """
    found = boards.images(game, text)
    board = board_of(text, game)
    images_of = getattr(game, "images", None)
    if board is None or images_of is None or len(found) > 1:
        return found
    at = game.read(text)
    here = at if isinstance(game, ArrayRules) else np.array([at], dtype=np.int64)
    for image in game.texts(np.ravel(images_of(here))):
        drawn = board_of(image, game)
        rows = [] if drawn is None else list(drawn.rows)
        for name, turn in TURNS.items():
            if turn(board.rows) == rows:
                found.setdefault(name, image)
    return found


def check(query: Query, choices: Sequence[Choice]) -> None:
    """Raise SettingError for a chosen piece that cannot move, or a target it cannot go to."""
    if query.source is None:
        placed = {choice.cell for choice in choices if choice.source is None}
        if query.target is not None and query.target not in placed:
            raise SettingError(f"to={query.target} needs from=, the cell of the piece that moves")
        return
    targets = {choice.cell for choice in choices if choice.source == query.source}
    if not targets:
        raise SettingError(f"from={query.source}: no piece can move from this cell")
    if query.target is not None and query.target not in targets:
        raise SettingError(f"to={query.target}: the piece on {query.source} cannot go there")


def _linked(picture: Picture, at: int, link: Link | None, *, last: bool) -> str:
    """Return the SVG of a cell: its mark and label, in its link if it has one."""
    cell = picture.cells[at]
    drawn = mark_svg(cell)
    is_unit = cell.shape == "unit"
    name = "" if not cell.mark or is_unit else f": {cell.label}{', played last' if last else ''}"
    if link is None:
        fall = ' class="gs-fall"' if last and picture.ground == "holes" else ""
        label = marked_up(f"cell {at}{name}")
        return f'<g role="img" aria-label="{label}"><g{fall}>{drawn}</g></g>' if drawn else ""
    first, rows = picture.reach(at)
    top = (first - at // picture.columns) * CELL
    parts = [f'<rect class="gs-reach" x="2" y="{top + 2}" width="56" height="{rows * CELL - 4}"/>']
    if cell.mark and not is_unit:
        kind = f"gs-{link.kind} gs-edge{' gs-round' * (picture.ground == 'points')}"
        parts.append(f'<rect class="{kind}" x="3" y="3" width="54" height="54"/>')
    if link.kind == "chosen":
        parts.append(drawn)
    else:
        drawn = hint(picture, cell, link.kind, link.text, link.strength, below=link.below)
        parts.append(f"<g>{drawn}</g>")
    words = f"cell {at}{name}, {link.words}" if name else f"cell {at}: {link.words}"
    data = f'data-cell="{at}"{" data-replace" * link.chooses}'
    return (
        f'<a href="{marked_up(link.href)}" {data} aria-label="{marked_up(words)}">'
        f"{''.join(parts)}</a>"
    )


def _image(picture: Picture, title: str, pixels: int | None = None) -> str:
    """Return the SVG of a user's rules as an image of HTML, in which no script runs."""
    width = f' width="{pixels}"' if pixels else ""
    source = marked_up(data_uri(picture.image))
    return f'<img class="gs-image" alt="{marked_up(title)}"{width} src="{source}">'
