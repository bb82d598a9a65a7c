"""The first page: the list of games."""

from typing import Any

from datasette.utils.asgi import Response

from graphstore.store.schema import STRATEGY
from graphstore.store.store import Store
from graphstore.store.words import in_words
from graphstore.web import addresses
from graphstore.web.naming import name_of
from graphstore.web.tables import cells

SIZE = 170  # pixels of a board


async def page(datasette: Any, request: Any) -> Any:
    """Return the first page; unlike Datasette's own, it does not count the rows of all tables."""
    for file in datasette.files_served.values():
        file.store.path.stat()  # raises OSError if it was deleted; its connection would still work
    games = [_game(store) for store in datasette.stores.values()]
    context = {"metadata": datasette.metadata(), "games": games}
    return Response.html(await datasette.render_template("index.html", context, request=request))


def _game(store: Store) -> dict[str, Any]:
    info = store.info
    rules = store.game if store.has_rules else None
    start = store.start()
    shown = ("name", "start", "states", "positions", "moves", "plies", "starts", "extent", "cyclic")
    return {name: info[name] for name in shown} | {
        "file": name_of(store),
        "explore": addresses.write(name_of(store)),
        "board": cells.picture(rules, start.position, size=SIZE),
        "words": in_words(rules, start, bound=info["extent"] == STRATEGY),
    }
