"""The page of the graph below a position: its picture, with a link on each board."""

from collections.abc import Callable
from threading import BoundedSemaphore
from typing import Any, Final

from graphstore.errors import SettingError, TooLargeError, shown
from graphstore.exports.drawing import draw
from graphstore.play.searched import SearchedGame
from graphstore.store.store import Store
from graphstore.web.page.context import Pages
from graphstore.web.page.query import read_query
from graphstore.web.page.view import Page, respond

STATES: Final = 120  # most boards of a page
MOST_PLIES: Final = 9
LAYOUTS: Final = BoundedSemaphore(2)
"""Layouts that run at a time; each is a process."""


async def page(datasette: Any, request: Any) -> Any:
    """Return the page of the graph below a position."""
    return await respond(datasette, request, _page)


def _page(store: Store, text: str | None, get: Callable[[str], str | None], pages: Pages) -> Page:
    if isinstance(store, SearchedGame):
        raise SettingError("a game without a database has no graph, only pages of positions")
    query = read_query(get)
    wanted, best = get("plies") or "2", get("best") not in (None, "", "0")
    if wanted not in map(str, range(1, MOST_PLIES + 1)):
        raise SettingError(f"plies={shown(wanted)}: write a number from 1 to {MOST_PLIES}")
    try:
        drawing = draw(store, text, plies=int(wanted), best=best, max_states=STATES)
    except TooLargeError:
        raise TooLargeError(
            f"more than {STATES} states are within {wanted} plies; choose fewer plies"
            f"{'' if best else ', best play only'} or a later position"
        ) from None
    links = {each.state: pages.to(each.position) for each in drawing.nodes}
    with LAYOUTS:
        picture = drawing.svg(links, style=False)
    context = {
        "game": pages.game,
        "position": drawing.nodes[0].position,
        "start": pages.to(None),
        "back": pages.to(drawing.nodes[0].position, query),
        "title": drawing.title,
        "picture": picture,
        "plies": int(wanted),
        "most": MOST_PLIES,
        "best": best,
    }
    return Page("explore_graph.html", 200, context)
