"""The page of a position."""

from typing import Any
from urllib.parse import unquote

from datasette.utils.asgi import NotFound, Response


async def page(datasette: Any, request: Any) -> Any:
    """Return the page of a position, in the orientation of the address."""
    store = datasette.stores.get(unquote(request.url_vars["game"]))
    if store is None:
        raise NotFound("there is no such game here")
    text = unquote(request.url_vars["position"] or "") or store.info["start"]
    return Response.html(
        await datasette.render_template(
            "explore.html", {"probe": store.probe(text)}, request=request
        )
    )
