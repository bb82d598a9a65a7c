"""Pictures of boards on a page: a large one with links on its cells, and small ones."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from graphstore.errors import SettingError
from graphstore.games.ultimate.rules import Ultimate
from graphstore.rules import board as boards
from graphstore.rules.board import EMPTY, TURNS, WORDS, Choice, board_of
from graphstore.rules.game import Game
from graphstore.rules.svg import COLOURS, aside, framed, mark_svg, marked_up, svg, text_svg
from graphstore.web.page.query import Query

LITTLE = 88  # pixels: the largest width of a small board
LARGE = 64  # pixels of a cell of the large board
STYLE: Final = (
    ":root{"
    + "".join(f"--gs-{WORDS[value]}:{colour};" for value, colour in COLOURS.items())
    + "}.gs-below{font-size:14px;font-weight:400}"
    ".gs-free,.gs-board .gs-edge{fill:transparent}.gs-chosen{fill:var(--gs-last)}"
    ".gs-edge{stroke-width:4;rx:6px}.gs-board .gs-chosen.gs-edge{fill:var(--gs-last)}"
    + "".join(f".gs-{word}.gs-edge{{stroke:var(--gs-{word})}}" for word in WORDS.values())
    + ".gs-free + .gs-value,.gs-free ~ .gs-below{fill:var(--gs-ink)}"
    ".gs-board a:focus-visible{outline:none}"
    ".gs-board a:focus-visible rect,.gs-board a:hover rect{stroke:var(--gs-ink);stroke-width:4}"
)
"""CSS for cells that are links, in addition to `graphstore.rules.svg.STYLE`."""


class Link(NamedTuple):
    """A link on a cell of the large board, and what the cell shows."""

    href: str
    words: str  # for screen readers
    kind: str = "free"  # the colour: win, draw, loss, free or chosen
    text: str = ""  # a few characters on the cell
    below: str = ""  # a few smaller characters below them
    chooses: bool = False  # True if it only chooses a piece, or puts it back


def large(
    game: Game | None, text: str, links: Mapping[int, Link] | None, *, last: int | None, title: str
) -> str:
    """Return the picture of a position with links on its cells; if it has no cells, its text.

    `last` is the cell that was played last, and `title` is for screen readers.
    """
    board = board_of(text, game)
    if board is None:
        drawn = text if game is None else game.board(game.read(text))
        return text_svg(drawn, style=False)
    cells = [
        _linked(cell, mark, (links or {}).get(cell), last=cell == last)
        for cell, mark in enumerate(board.cells)
    ]
    return framed(board, cells, last=last, title=title, pixels=LARGE, style=False, role="group")


def little(game: Game | None, text: str, *, last: int | None = None) -> str | None:
    """Return a small picture of a position; None if it has no cells."""
    board = board_of(text, game)
    if board is None:
        return None
    pixels = max(2, min(24, LITTLE // max(board.columns, len(board.rows))))
    return svg(board, last=last, title=text, pixels=pixels, style=False)


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
        words = ""
        if not query.hide:
            depth = "" if best.depth is None else f", depth {best.depth}"
            words = f": {WORDS[best.value]}{depth}"
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
        kind, text = ("free", "") if query.hide else (WORDS[best.value], best.label)
        number = beads(best) if len(group) == 1 else ""
        if number:
            words += f", {number} beads"
        below = number and f"• {number}"
        found[cell] = Link(href, words or "free", kind, text, below, chooses=not moves)
    return found


def turned(game: Game, text: str) -> dict[str, str]:
    """Return the images of a position by name: `rules.board.images`, also for ultimate tic-tac-toe.

    The text of ultimate tic-tac-toe has no rows, so its images are recognised by their drawings.
    """
    found = boards.images(game, text)
    board = board_of(text, game)
    if board is None or not isinstance(game, Ultimate):
        return found
    images = game.images(np.array([game.read(text)], dtype=np.int64)).ravel()
    for image in game.texts(images):
        drawn = board_of(image, game)
        rows = [] if drawn is None else list(drawn.rows)
        for name, turn in TURNS.items():
            if turn(board.rows) == rows:
                found.setdefault(name, image)
    return found


def turned_cell(game: Game, text: str, way: str, cell: int | None) -> int | None:
    """Return the number of a cell after the board is turned in a way of `TURNS`."""
    board = board_of(text, game)
    if board is None or cell is None or cell >= len(board.cells):
        return None
    numbers = "".join(map(chr, range(len(board.cells))))
    rows = [numbers[at : at + board.columns] for at in range(0, len(numbers), board.columns)]
    return "".join(TURNS[way](rows)).index(chr(cell))


def check(query: Query, choices: Sequence[Choice]) -> None:
    """Raise SettingError for a chosen piece that cannot move, or a target it cannot go to."""
    if query.source is None:
        if query.target is not None:
            raise SettingError(f"to={query.target} needs from=, the cell of the piece that moves")
        return
    targets = {choice.cell for choice in choices if choice.source == query.source}
    if not targets:
        raise SettingError(f"from={query.source}: no piece can move from this cell")
    if query.target is not None and query.target not in targets:
        raise SettingError(f"to={query.target}: the piece on {query.source} cannot go there")


def _linked(cell: int, mark: str, link: Link | None, *, last: bool) -> str:
    """Return the SVG of a cell: its mark and label, in its link if it has one."""
    drawn = mark_svg(mark)
    name = "" if mark in EMPTY else f": {mark}{', played last' if last else ''}"
    if link is None:
        label = f'<g role="img" aria-label="{marked_up(f"cell {cell}{name}")}">{drawn}</g>'
        return label if drawn else ""
    parts = []
    small = " gs-small" if len(link.text) > 2 else ""
    if drawn:
        parts.append(f'<rect class="gs-{link.kind} gs-edge" x="3" y="3" width="54" height="54"/>')
        parts.append(aside(drawn) if link.text else drawn)
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
    data = f'data-cell="{cell}"{" data-replace" * link.chooses}'
    return (
        f'<a href="{marked_up(link.href)}" {data} aria-label="{marked_up(words)}">'
        f"{''.join(parts)}</a>"
    )
