"""The first page: what games there are."""

from collections.abc import Iterable
from typing import Any

from datasette.utils.asgi import Response

from graphstore.store.schema import STRATEGY
from graphstore.store.store import Store
from graphstore.store.words import in_words
from graphstore.web import addresses
from graphstore.web.tables import cells

SIZE = 170  # pixels of a board


async def page(datasette: Any, request: Any) -> Any:
    """Return the first page, without the counts of all tables that Datasette's own makes.

    Raises:
        OSError: a file is gone.
    """
    for file in datasette.files_served.values():
        file.store.path.stat()  # one that is gone is said to be so, though it is still open here
    body = await datasette.render_template(
        "index.html", {"metadata": datasette.metadata()}, request=request
    )
    return Response.html(body)


def games(stores: Iterable[Store]) -> list[dict[str, Any]]:
    """Return what the first page says of each game."""
    return [_game(store) for store in stores]


def _game(store: Store) -> dict[str, Any]:
    info = store.info
    rules = store.game if store.has_rules else None
    start = store.probe(info["start"])
    return {
        "file": store.path.stem,
        "name": info["name"],
        "explore": addresses.write(store.path.stem),
        "board": cells.picture(rules, info["start"], size=SIZE),
        "start": info["start"],
        "words": in_words(rules, start, bound=info["extent"] == STRATEGY),
        "states": info["states"],
        "positions": info["positions"],
        "moves": info["moves"],
        "plies": info["plies"],
        "starts": info["starts"],
        "extent": info["extent"],
        "cyclic": info["cyclic"],
    }
