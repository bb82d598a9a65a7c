"""The plugin hooks that Datasette calls."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from datasette import hookimpl
from datasette.utils.asgi import Response

from graphstore.store.format import COLUMNS
from graphstore.store.meanings import TABLES
from graphstore.store.store import Store
from graphstore.web import addresses, assets, failures, index
from graphstore.web.page import graph, view
from graphstore.web.tables import cells, charts, descriptions, queries
from graphstore.web.tables.command import command


@hookimpl  # type: ignore[untyped-decorator]
def register_routes(datasette: Any) -> list[tuple[str, Any]]:
    """Add the first page, the pages of positions, and the colours of boards."""
    return [
        (r"^/$", index.page),
        (r"^/-/explore/(?P<game>[^/]+)(/(?P<position>.*))?$", view.page),
        (r"^/-/explore/?$", view.without_game),
        (r"^/-/graph/(?P<game>[^/]+)(/(?P<position>.*))?$", graph.page),
        (
            r"^/-/boards\.css$",
            lambda: Response(assets.BOARDS, content_type="text/css; charset=utf-8"),
        ),
    ]


@hookimpl  # type: ignore[untyped-decorator]
def extra_css_urls(datasette: Any) -> list[str]:
    """Add the style sheets of all pages."""
    return [assets.address("/", name) for name in ("boards.css", "colours.css", "graphstore.css")]


@hookimpl  # type: ignore[untyped-decorator]
def extra_template_vars(template: str, database: str, datasette: Any) -> Any:
    """Add the functions and values that templates use."""
    base: dict[str, Any] = {
        "about": TABLES,
        "asset": partial(assets.address, datasette.setting("base_url")),
        "chart": charts.chart,
        "countable": descriptions.COUNTABLE,
        "explore": addresses.write,
        "numeric": cells.numeric,
        "schema": COLUMNS,
    }
    store = stores(datasette).get(database)
    if store is None or template != "query.html":
        return base
    base["command_line"] = partial(command, store.path.name)

    async def with_choices() -> dict[str, Any]:
        return base | {"choices": await asyncio.to_thread(queries.choices, store)}

    return with_choices


@hookimpl  # type: ignore[untyped-decorator]
def canned_queries(datasette: Any, database: str) -> dict[str, Any]:
    """Add the stored queries."""
    store = stores(datasette).get(database)
    return {} if store is None else queries.queries(store.info)


@hookimpl  # type: ignore[untyped-decorator]
def render_cell(row: Any, value: Any, column: str, database: str, datasette: Any) -> Any:
    """Show positions as boards, and ids as links."""
    store = stores(datasette).get(database)
    if store is None:
        return None
    return cells.cell(store, datasette.urls.table(database, "state"), row, column, value)


@hookimpl  # type: ignore[untyped-decorator]
def handle_exception(datasette: Any, request: Any, exception: Exception) -> Callable[[], Any]:
    """Answer with a page that has the error's message, in one line."""
    return lambda: failures.page(datasette, request, exception)


def stores(datasette: Any) -> dict[str, Store]:
    """Return the stores of an explorer by name; another Datasette in this process has none."""
    return getattr(datasette, "stores", {})
