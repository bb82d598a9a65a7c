"""The page of a position: a request in, a page or a redirect out."""

import asyncio
from collections.abc import Callable, Mapping
from hashlib import blake2b
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple

from datasette.utils.asgi import Response

from graphstore.errors import GraphstoreError, NotInStoreError, StoreError, shown
from graphstore.store.store import Store
from graphstore.web import addresses
from graphstore.web.page import opponents
from graphstore.web.page.context import Pages, facts
from graphstore.web.page.query import Asked, read_asked

LONGEST = 4096  # characters of a position that anybody would type
STATIC = Path(__file__).parents[1] / "static"

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; img-src 'self' data:; style-src 'self'; "
        "script-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'self'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
}


class Redirect(NamedTuple):
    """Another address, where the page is."""

    href: str
    chance: bool


class Page(NamedTuple):
    """A page to be drawn."""

    template: str
    status: int
    context: dict[str, Any]
    chance: bool = False


async def page(datasette: Any, request: Any) -> Any:
    """Return the page of a position, in the orientation of the address."""
    base = str(datasette.urls.path("/")).rstrip("/")
    answer = await asyncio.to_thread(
        answered,
        datasette.stores,
        base,
        request.url_vars["game"],
        request.url_vars["position"],
        request.args.get,
    )
    headers = HEADERS | ({"cache-control": "no-store"} if answer.chance else {})
    if isinstance(answer, Redirect):
        return Response.redirect(answer.href, headers=headers)
    context = answer.context | {"base": base, "versions": VERSIONS}
    if "state" in context:
        context["row"] = datasette.urls.row(context["game"], "state", context["state"])
    body = await datasette.render_template(answer.template, context, request=request)
    return Response.html(body, status=answer.status, headers=headers)


async def chopped(datasette: Any) -> Any:
    """Send an address without a game to the list of games."""
    return Response.redirect(datasette.urls.path("/"))


def answered(
    stores: Mapping[str, Store],
    base: str,
    game: str,
    position: str | None,
    get: Callable[[str], str | None],
) -> Page | Redirect:
    """Return what to answer to an address.

    Args:
        stores: by the names of their games.
        base: what all addresses begin with, without a slash at its end.
        game: as it is in the path.
        position: as it is in the path, if it is.
        get: the first value of a name in the query.
    """
    try:
        game, text = addresses.read(game, position)
    except UnicodeDecodeError:
        return _error(stores, base, HTTPStatus.BAD_REQUEST, "the address is no UTF-8 text")
    if game not in stores:
        why = f"there is no game {shown(game)} here"
        return _error(stores, base, HTTPStatus.NOT_FOUND, why)
    store, pages = stores[game], Pages(base, game)
    typed = get("position")
    if typed is not None:
        text = _spelling(typed) or None
    if text is not None and len(text) > LONGEST:
        why = f"{shown(text)} has {len(text):,} characters; positions here have up to {LONGEST:,}"
        return _error(stores, base, HTTPStatus.REQUEST_URI_TOO_LONG, why, game)
    try:
        return _answered(store, text, read_asked(get), pages, typed=typed is not None)
    except opponents.TakenSideError as error:
        href = pages.to(text, read_asked(get)._replace(side=error.left))
        other = (f"Play as {error.name}", href)
        return _error(
            stores, base, HTTPStatus.BAD_REQUEST, str(error), game, text or "", other=other
        )
    except NotInStoreError as error:
        status, why = HTTPStatus.NOT_FOUND, str(error)
    except StoreError as error:  # a file that is damaged, or being written
        status = HTTPStatus.SERVICE_UNAVAILABLE
        why = str(error).replace(str(store.path), store.path.name)  # folders are nobody's business
    except GraphstoreError as error:
        status, why = HTTPStatus.BAD_REQUEST, str(error)
    return _error(stores, base, status, why, game, text or "")


def _spelling(typed: str) -> str:
    """Return what was typed without the space around; of several lines spaces may be cells."""
    text = typed.strip("\r\n")
    return text if "\n" in text and text.strip() else text.strip()


def _answered(
    store: Store, text: str | None, asked: Asked, pages: Pages, *, typed: bool
) -> Page | Redirect:
    asked = opponents.seated(store, asked)
    if typed and text is None:
        return Redirect(pages.to(None, asked), chance=False)
    probe = store.probe(store.info["start"] if text is None else text)
    respelt = text is not None and text != probe.position
    if typed or (respelt and store.probe(probe.position).position == probe.position):
        return Redirect(pages.to(probe.position, asked), chance=asked.chance)
    resigned = ""
    if asked.against:
        reply = opponents.reply(store, probe, asked)
        if isinstance(reply, opponents.Reply):
            return Redirect(pages.to(reply.position, reply.asked), chance=True)
        if isinstance(reply, opponents.Resigned):
            resigned = reply.why
    return Page("explore.html", 200, facts(store, probe, asked, pages, resigned), asked.chance)


def _error(
    stores: Mapping[str, Store],
    base: str,
    status: HTTPStatus,
    why: str,
    game: str | None = None,
    typed: str = "",
    *,
    other: tuple[str, str] | None = None,
) -> Page:
    """Return the page that says what is wrong.

    Args:
        stores: by the names of their games.
        base: what all addresses begin with, without a slash at its end.
        status: of the answer.
        why: in words.
        game: if it is known.
        typed: the position that was asked for.
        other: the words and the address of a link to play as the other player, if that would do.
    """
    context = {
        "status": int(status),
        "phrase": status.phrase,
        "why": " ".join(why.split()),
        "typed": typed[:LONGEST],
        "game": game,
        "other": other,
        "form": "" if game is None else base + addresses.write(game),
        "games": [(name, base + addresses.write(name)) for name in stores],
    }
    return Page("explore_error.html", int(status), context)


def _version(name: str) -> str:
    """Return what tells one version of a file from another."""
    return blake2b((STATIC / name).read_bytes(), digest_size=6).hexdigest()


VERSIONS = {name: _version(name) for name in ("explore.css", "explore.js", "field.js")}
