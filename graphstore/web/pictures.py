"""The boards of a page: the large one, whose cells are links, and the little ones."""

from collections.abc import Callable, Mapping, Sequence

from graphstore.boards import WORDS, Board, Choice, Link, board_of, svg, text_svg
from graphstore.game import Game
from graphstore.web.asked import Asked

LITTLE = 88  # pixels that a little board is wide at most
LARGE = 64  # pixels of a cell of the large one


def large(
    game: Game | None, text: str, links: Mapping[int, Link] | None, *, last: int | None, title: str
) -> str:
    """Return the picture of a position, its cells as links; of one without cells, its text.

    Args:
        game: the rules, if they are known.
        text: the position.
        links: by cell.
        last: the cell that was played last.
        title: what it is, for people who do not see it.
    """
    board = board_of(text, game)
    if board is None:
        drawn = text if game is None else game.board(game.read(text))
        return text_svg(drawn, style=False)
    return svg(board, links=links or {}, last=last, title=title, pixels=LARGE, style=False)


def little(game: Game | None, text: str, *, last: int | None = None) -> str | None:
    """Return a small picture of a position; None if it has no cells."""
    board = board_of(text, game)
    if board is None:
        return None
    return svg(board, last=last, title=text, pixels=_pixels(board), style=False)


def links(
    choices: Sequence[Choice],
    asked: Asked,
    *,
    to: Callable[[Choice], str],
    here: Callable[[Asked], str],
    beads: Callable[[Choice], str] = lambda _: "",
) -> dict[int, Link]:
    """Return what the cells of a board link to.

    A move that only puts a mark is one link. Where marks are moved, the first link chooses the
    mark, which shows where it can go.

    Args:
        choices: the moves, best first.
        asked: which mark was chosen, and whether values are to be hidden.
        to: the address of what a move leads to.
        here: the address of the same position, asked otherwise.
        beads: how many an agent has for a move, nothing without a box.
    """
    found: dict[int, Link] = {}
    chosen = asked.source if asked.source in {choice.source for choice in choices} else None
    if chosen is not None:
        found[chosen] = Link(here(asked._replace(source=None, target=None)), "put back", "chosen")
    groups: dict[int, list[Choice]] = {}
    for choice in choices:
        cell = choice.cell if choice.source == chosen else choice.source
        if cell is not None and cell != chosen and (chosen is None or choice.source == chosen):
            groups.setdefault(cell, []).append(choice)
    for cell, group in groups.items():
        best = group[0]
        words = worth(best, hide=asked.hide)
        if len(group) == 1 and best.source == chosen:
            href = to(best)
            words = words.removeprefix(": ") if best.name == str(cell) else best.name + words
        elif best.source == chosen:
            href = here(asked._replace(source=chosen, target=cell))
            words = f"{len(group)} moves{words}"
        else:
            href = here(asked._replace(source=cell, target=None))
            count = f"{len(group)} move{'s' * (len(group) > 1)}"
            words = f"{count} from here{words}"
        kind, text = ("free", "") if asked.hide else (WORDS[best.value], best.label)
        number = beads(best) if len(group) == 1 else ""
        if number:
            words += f", {number} beads"
        found[cell] = Link(href, words or "free", kind, text, number and f"• {number}")
    return found


def worth(choice: Choice, *, hide: bool) -> str:
    """Return the value and the depth of a move in words, behind a colon; nothing if hidden."""
    if hide:
        return ""
    depth = "" if choice.depth is None else f", depth {choice.depth}"
    return f": {WORDS[choice.value]}{depth}"


def _pixels(board: Board) -> int:
    return max(2, min(24, LITTLE // max(board.columns, len(board.rows))))
