"""Errors as a page, as JSON or as text: the message in one line."""

import errno
import os
import sqlite3
import traceback
from typing import Any

from datasette.database import QueryInterrupted
from datasette.utils.asgi import Base400, Response
from datasette.views.base import DatasetteError

from graphstore.errors import GraphstoreError, NotInStoreError, PositionError, QueryError
from graphstore.web.tables.statements import BusyError

TOO_LONG = (
    "that took longer than the {limit:g} s that a statement has here; narrow it, by LIMIT or by "
    "ply say, or run it without a limit: graphstore sql FILE STATEMENT"
)

NOT_FOUND = {
    "404": "there is no such page",
    "Database not found": "there is no such game here",
    "Table not found": "there is no such table or question here",
    "Record not found": "there is no such row",
}


async def page(datasette: Any, request: Any, error: Exception) -> Any:
    """Return the answer to a request that raised an error."""
    limit = datasette.setting("sql_time_limit_ms") / 1000
    status, title, message = _said(error, limit, request.query_string)
    if status == 500 and os.environ.get("GRAPHSTORE_DEBUG"):
        traceback.print_exception(error)
    headers = {"retry-after": str(error.seconds)} if isinstance(error, BusyError) else {}
    path = request.path.split("?")[0]
    if path.endswith(".csv"):
        return Response.text(f"{message}\n", status=status, headers=headers)
    if path.endswith(".json"):
        told = {"ok": False, "error": message, "status": status, "title": title}
        return Response.json(told, status=status, headers=headers)
    html = await datasette.render_template(
        "error.html", {"title": title, "status": status, "error": message}, request=request
    )
    return Response.html(html, status=status, headers=headers)


def _said(error: Exception, limit: float, query: str) -> tuple[int, str, str]:
    """Return the HTTP status, a title and a message; a statement may take `limit` seconds."""
    if isinstance(error, QueryInterrupted) or isinstance(error.__context__, QueryInterrupted):
        return 400, "Too slow", TOO_LONG.format(limit=limit)
    if isinstance(error, Base400):
        words = NOT_FOUND.get(str(error), str(error) or "there is no such page")
        return error.status, "Not found" if error.status == 404 else "Not so", words
    if isinstance(error, DatasetteError):
        return 400 if error.status == 500 else error.status, error.title or "Not so", error.message
    if isinstance(error, KeyError | TypeError) and "_through=" in query:
        return 400, "Not so", "_through wants table, column and value, as JSON"
    if isinstance(error, QueryError):
        return 400, "Not so", str(error)
    if isinstance(error, NotInStoreError):
        return 404, "Not found", str(error)
    if isinstance(error, PositionError):
        return 400, "No such position", str(error)
    if isinstance(error, GraphstoreError | sqlite3.Error):
        return 503, "The file cannot be read", str(error)
    if isinstance(error, OSError) and error.errno in (errno.ENAMETOOLONG, errno.ENOTDIR):
        return 404, "Not found", "no such page"
    if isinstance(error, OSError):  # without its path
        return 503, "The file cannot be read", error.strerror or "it cannot be read"
    if isinstance(error, ValueError):  # of a number in the address
        return 400, "Not so", str(error)
    return 500, "A bug", f"{type(error).__name__}: {error}; GRAPHSTORE_DEBUG=1 shows where"
