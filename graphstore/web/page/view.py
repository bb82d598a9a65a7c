"""The page of a position: a request in, a page or a redirect out."""

import asyncio
from collections.abc import Callable, Mapping
from hashlib import blake2b
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple

from datasette.utils.asgi import Response

from graphstore.errors import GraphstoreError, NotInStoreError, ResignedError, StoreError, shown
from graphstore.store.store import Store
from graphstore.web import addresses
from graphstore.web.naming import public
from graphstore.web.page import opponents
from graphstore.web.page.context import Pages, page_context
from graphstore.web.page.query import Query, read_query

LONGEST = 4096  # characters of a position
STATIC = Path(__file__).parents[1] / "static"

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; img-src 'self' data:; style-src 'self'; "
        "script-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'self'"
    )
}
"""Stricter than the policy of other pages, which `web.application` adds with its other headers."""


class Redirect(NamedTuple):
    """The address of another page; `chance` as in `Page`."""

    href: str
    chance: bool


class Page(NamedTuple):
    """A template and its values; `chance` is True if the page may differ the next time."""

    template: str
    status: int
    context: dict[str, Any]
    chance: bool = False


async def page(datasette: Any, request: Any) -> Any:
    """Return the page of a position, in the orientation of the address."""
    base = str(datasette.urls.path("/")).rstrip("/")
    at, get = request.url_vars, request.args.get
    answer = await asyncio.to_thread(
        _answer, datasette.stores, base, at["game"], at["position"], get
    )
    headers = HEADERS | ({"cache-control": "no-store"} if answer.chance else {})
    if isinstance(answer, Redirect):
        return Response.redirect(answer.href, headers=headers)
    context = answer.context | {"base": base, "versions": VERSIONS}
    if "state" in context:
        context["row"] = datasette.urls.row(context["game"], "state", context["state"])
    body = await datasette.render_template(answer.template, context, request=request)
    return Response.html(body, status=answer.status, headers=headers)


async def without_game(datasette: Any) -> Any:
    """Redirect an address without a game to the list of games."""
    return Response.redirect(datasette.urls.path("/"))


def _answer(
    stores: Mapping[str, Store],
    base: str,
    game: str,
    position: str | None,
    get: Callable[[str], str | None],
) -> Page | Redirect:
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
        return _page(store, text, read_query(get), pages, typed=typed is not None)
    except opponents.TakenSideError as taken:
        href = pages.to(text, read_query(get)._replace(side=taken.left))
        other = (f"Play as {taken.name}", href)
        return error(HTTPStatus.BAD_REQUEST, str(taken))
    except NotInStoreError as missing:
        return error(HTTPStatus.NOT_FOUND, public(str(missing), store))
    except StoreError as damaged:  # or it is being written; the page does not show its folder
        why = public(str(damaged), store)
        return error(HTTPStatus.SERVICE_UNAVAILABLE, why)
    except GraphstoreError as wrong:
        return error(HTTPStatus.BAD_REQUEST, public(str(wrong), store))


def _stripped(typed: str) -> str:
    """Return typed text without the space around it; in several lines spaces may be cells."""
    text = typed.strip("\r\n")
    return text if "\n" in text and text.strip() else text.strip()


def _page(
    store: Store, text: str | None, query: Query, pages: Pages, *, typed: bool
) -> Page | Redirect:
    query = opponents.with_side(store, query)
    if typed and text is None:
        return Redirect(pages.to(None, query), chance=False)
    probe = store.start() if text is None else store.probe(text)
    respelt = text is not None and text != probe.position
    if typed or (respelt and store.probe(probe.position).position == probe.position):
        return Redirect(pages.to(probe.position, query), chance=query.chance)
    resigned = ""
    if query.against:
        try:
            reply = opponents.reply(store, probe, query)
        except ResignedError as error:
            reply, resigned = None, str(error)
        if reply is not None:
            return Redirect(pages.to(*reply), chance=True)
    context = page_context(store, probe, query, pages, resigned)
    return Page("explore.html", 200, context, query.chance)


def _version(name: str) -> str:
    """Return a digest of a static file, so that browsers load a new version."""
    return blake2b((STATIC / name).read_bytes(), digest_size=6).hexdigest()


VERSIONS = {name: _version(name) for name in ("explore.css", "explore.js", "field.js")}
