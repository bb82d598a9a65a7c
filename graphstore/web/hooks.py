"""What Datasette calls; all but the last word is in the rooms beside."""

from typing import Any

from datasette import hookimpl

from graphstore.web import explore


@hookimpl  # type: ignore[untyped-decorator]
def register_routes(datasette: Any) -> list[tuple[str, Any]]:
    """Add the pages of positions."""
    return [
        (r"^/-/explore/(?P<game>[^/]+)(/(?P<position>.*))?$", explore.page),
        (r"^/-/explore/?$", explore.chopped),
    ]
