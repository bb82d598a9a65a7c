"""The page of a position: a request in, a page or a redirect out."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from threading import Event
from typing import Any, NamedTuple

from datasette.utils.asgi import Response

from graphstore.errors import GraphstoreError, NotInStoreError, ResignedError, StoreError, shown
from graphstore.play.searched import SearchedGame, unknown
from graphstore.rules.positions import PREFIX
from graphstore.store.store import Store
from graphstore.web import addresses
from graphstore.web.naming import public
from graphstore.web.page import opponents
from graphstore.web.page.context import Pages, page_context, picture_alone
from graphstore.web.page.pictures import with_definitions
from graphstore.web.page.query import LONGEST_SEARCH, read_query
from graphstore.web.page.searches import FIRST, REPLY, searched, stopped
from graphstore.web.page.setup import setup_context
from graphstore.web.page.story import flipped, read_story

LONGEST = 4096  # characters of a position

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; img-src 'self' data:; style-src 'self'; "
        "script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'self'"
    )
}
"""Stricter than the policy of other pages, which `web.application` adds with its other headers."""

IMAGE_HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
}


class Page(NamedTuple):
    """A template and its values; `chance` is True if the page may differ the next time."""

    template: str
    status: int
    context: dict[str, Any]
    chance: bool = False


async def page(datasette: Any, request: Any) -> Any:
    """Return the page of a position, in the orientation of the address."""
    with stopped(datasette, request) as stop:
        return await respond(datasette, request, partial(_page, stop=stop))


async def respond(datasette: Any, request: Any, make: Callable[..., Page | Response]) -> Any:
    """Return what `make` returns for the position of the address, or an error page."""
    base = str(datasette.urls.path("/")).rstrip("/")
    at, get = request.url_vars, request.args.get
    answer = await asyncio.to_thread(
        _answer, datasette.stores, base, at["game"], at["position"], get, make
    )
    if not isinstance(answer, Page):
        return answer
    context = answer.context | {"base": base}
    if "state" in context and context["game"] in datasette.files_served:
        context["row"] = datasette.urls.row(context["game"], "state", context["state"])
    body = await datasette.render_template(answer.template, context, request=request)
    headers = _headers(chance=answer.chance)
    return Response.html(with_definitions(body), status=answer.status, headers=headers)


def _headers(*, chance: bool) -> dict[str, str]:
    return HEADERS | ({"cache-control": "no-store"} if chance else {})


def _redirect(href: str, *, chance: bool) -> Response:
    return Response.redirect(href, headers=_headers(chance=chance))


async def without_game(datasette: Any) -> Any:
    """Redirect an address without a game to the list of games."""
    return Response.redirect(datasette.urls.path("/"))


def _answer(
    stores: Mapping[str, Store],
    base: str,
    game: str,
    position: str | None,
    get: Callable[[str], str | None],
    make: Callable[..., Page | Response],
) -> Page | Response:
    """Return the answer to an address: `game` and `position` from its path, `get` for its query."""
    known, text = None, None
    other = None  # the words and the address of a link to play as the other player

    def error(status: HTTPStatus, why: str) -> Page:
        context = {
            "status": int(status),
            "phrase": status.phrase,
            "why": " ".join(why.split()),
            "typed": (text or "")[:LONGEST],
            "game": known,
            "other": other,
            "form": "" if known is None else base + addresses.write(known),
            "games": [(name, base + addresses.write(name)) for name in stores],
        }
        return Page("explore_error.html", int(status), context)

    try:
        game, text = addresses.read(game, position)
    except UnicodeDecodeError:
        return error(HTTPStatus.BAD_REQUEST, "the address is not UTF-8 text")
    if game not in stores:
        return error(HTTPStatus.NOT_FOUND, f"there is no game {shown(game)} here")
    known, store, pages = game, stores[game], Pages(base, game)
    typed = get("position")
    if typed is not None:
        text = _stripped(typed) or None
    if text is not None and len(text) > LONGEST:
        why = f"{shown(text)} has {len(text):,} characters; a position may have up to {LONGEST:,}"
        text = None
        return error(HTTPStatus.REQUEST_URI_TOO_LONG, why)
    try:
        return make(store, text, get, pages)
    except opponents.TakenSideError as taken:
        href = pages.to(text, read_query(get)._replace(side=taken.left))
        other = (f"Play as {taken.name}", href)
        return error(HTTPStatus.BAD_REQUEST, str(taken))
    except NotInStoreError as missing:
        return error(HTTPStatus.NOT_FOUND, public(str(missing), store))
    except StoreError as damaged:  # or it is being written; the page does not show its folder
        why, is_file = public(str(damaged), store), not isinstance(store, SearchedGame)
        return error(HTTPStatus.SERVICE_UNAVAILABLE if is_file else HTTPStatus.BAD_REQUEST, why)
    except GraphstoreError as wrong:
        return error(HTTPStatus.BAD_REQUEST, public(str(wrong), store))


def _stripped(typed: str) -> str:
    """Return typed text without the space around it; in several lines spaces may be cells."""
    text = typed.strip("\r\n")
    return text if "\n" in text and text.strip() else text.strip()


def _page(
    store: Store, text: str | None, get: Callable[[str], str | None], pages: Pages, *, stop: Event
) -> Page | Response:
    query, typed = opponents.with_side(store, read_query(get)), get("position") is not None
    if query.view == "setup":
        if typed:
            return _redirect(pages.to(text, query), chance=False)
        values = setup_context(store, text, lambda other: pages.to(other, query))
        about = {"game": pages.game, "rules": store.info["name"], "start": pages.to(None)}
        return Page("explore_setup.html", 200, about | values | {"done": pages.to(values["text"])})
    if typed and text is None:
        return _redirect(pages.to(None, query), chance=False)
    story = read_story(store, query, text)
    if text is not None and text.lower().startswith(PREFIX):
        with suppress(GraphstoreError):  # else it is a position of the user's rules
            story = read_story(
                store, query._replace(moves=text[len(PREFIX) :], start="", at=None), text
            )
    if query.flip:
        return _redirect(pages.to(*flipped(store, query, story)), chance=query.chance)
    position = story.probe.position
    respelt = text is not None and text != position and store.probe(position).position == position
    if typed or respelt or (text is None and story.moves):
        here = story.to(query, story.at)._replace(source=query.source, target=query.target)
        return _redirect(pages.to(position, here._replace(view=query.view)), chance=query.chance)
    if query.view == "svg":
        picture = picture_alone(story)
        return Response(picture, content_type="image/svg+xml", headers=IMAGE_HEADERS)
    resigned = ""
    if query.against:
        try:
            thinking = partial(searched, store, seconds=REPLY, stop=stop)
            reply = opponents.reply(store, story, query, thinking)
        except ResignedError as error:
            reply, resigned = None, str(error)
        if reply is not None:
            return _redirect(pages.to(*reply), chance=True)
    if not isinstance(store, SearchedGame):
        context = page_context(store, story, query, pages, resigned)
        return Page("explore.html", 200, context, query.chance)
    found = None if query.hide else searched(store, story.probe, query.search or FIRST, stop)
    probe = found or story.probe
    context = page_context(store, story.found(probe), query, pages, resigned)
    if not query.hide and unknown(probe):
        wait = min(query.search * (2 if found else 1), LONGEST_SEARCH) or 1
        href = pages.to(probe.position, story.to(query, story.at)._replace(search=wait))
        context["more"] = {"href": href, "seconds": wait, "auto": query.search < LONGEST_SEARCH}
    return Page("explore.html", 200, context, chance=True)
