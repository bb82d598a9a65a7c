"""Errors as a page, as JSON or as text: the message in one line."""

import errno
import os
import re
import sqlite3
import traceback
from typing import Any, Final

from datasette.database import QueryInterrupted
from datasette.utils import tilde_decode
from datasette.utils.asgi import Base400, Response
from datasette.views.base import DatasetteError

from graphstore.errors import (
    GraphstoreError,
    NotInStoreError,
    PositionError,
    QueryError,
    RulesError,
)
from graphstore.play.searched import SearchedGame
from graphstore.web.naming import public
from graphstore.web.tables.command import command
from graphstore.web.tables.statements import BusyError

TOO_LONG = (
    "the statement took longer than {limit:g} s, the limit here; narrow it, for example by LIMIT "
    "or by ply, or use graphstore sql FILE STATEMENT, where --seconds sets the limit"
)

NO_TABLES = (
    "{name} is in {where}, so its tables are not here, only its positions; "
    "graphstore sql ADDRESS STATEMENT reads the tables"
)

SEARCHED = "{name} is searched without a database, so it has no tables, only positions"

NOT_FOUND = {
    "404": "there is no such page",
    "Database not found": "there is no such game here",
    "Table not found": "there is no such table or stored query here",
    "Record not found": "there is no such row",
}

KINDS: Final = (
    (QueryError, 400, "Bad request"),
    (NotInStoreError, 404, "Not found"),
    (PositionError, 400, "No such position"),
    (RulesError, 503, "The rules are wrong"),
    (GraphstoreError | sqlite3.Error, 503, "The file cannot be read"),
    (ValueError, 400, "Bad request"),  # a number in the address is wrong
)
"""Errors with their HTTP status and the title of the page; the first that fits is taken."""


async def page(datasette: Any, request: Any, error: Exception) -> Any:
    """Return the response to a request that raised an error."""
    limit = datasette.setting("sql_time_limit_ms") / 1000
    status, title, message = _explained(error, limit, request.query_string)
    path = request.path.split("?")[0]
    name = tilde_decode(path.split("/")[1].split(".")[0])
    if status == 404 and name in {*datasette.stores} - {*datasette.files_served}:
        if isinstance(datasette.stores[name], SearchedGame):
            message = SEARCHED.format(name=name)
        else:
            in_folder = datasette.stores[name].backend.dialect == "duckdb"
            where = "a folder of Parquet files" if in_folder else "PostgreSQL"
            message = NO_TABLES.format(name=name, where=where)
    for store in datasette.stores.values():
        message = public(message, store)
    if status == 500 and os.environ.get("GRAPHSTORE_DEBUG"):
        traceback.print_exception(error)
    headers = {"retry-after": str(error.seconds)} if isinstance(error, BusyError) else {}
    if path.endswith(".csv"):
        return Response.text(f"{message}\n", status=status, headers=headers)
    if path.endswith(".json"):
        content = {"ok": False, "error": message, "status": status, "title": title}
        return Response.json(content, status=status, headers=headers)
    context = {"title": title, "status": status, "error": message}
    context |= _statement(datasette, request, error)
    html = await datasette.render_template("error.html", context, request=request)
    return Response.html(html, status=status, headers=headers)


def _statement(datasette: Any, request: Any, error: Exception) -> dict[str, Any]:
    """Return what the editor shows of a statement that failed: a user's, or a page's own."""
    name = tilde_decode(request.path.split("?")[0].split("/")[1])
    slow = next((e for e in (error, error.__context__) if isinstance(e, QueryInterrupted)), None)
    sql = request.args.get("sql") or (slow and slow.sql)
    if name not in datasette.files_served or not sql:
        return {}
    given = dict(slow.params or {}) if slow else {key: request.args[key] for key in request.args}
    parameters = {
        key: value for key, value in given.items() if re.search(rf":{re.escape(key)}\b", sql)
    }
    return {
        "command": command(datasette.stores[name].path.name, sql, parameters),
        "database": name,
        "parameters": parameters,
        "statement": sql,
    }


def _explained(error: Exception, limit: float, query: str) -> tuple[int, str, str]:
    """Return the HTTP status, a title and a message; a statement may take `limit` seconds."""
    if isinstance(error, QueryInterrupted) or isinstance(error.__context__, QueryInterrupted):
        return 400, "Too slow", TOO_LONG.format(limit=limit)
    if isinstance(error, Base400):
        words = NOT_FOUND.get(str(error), str(error) or NOT_FOUND["404"])
        return error.status, "Not found" if error.status == 404 else "Bad request", words
    if isinstance(error, DatasetteError):
        status = 400 if error.status == 500 else error.status
        return status, error.title or "Bad request", error.message
    if isinstance(error, KeyError | TypeError) and "_through=" in query:
        return 400, "Bad request", "_through= must be JSON with table, column and value"
    for kind, status, title in KINDS:
        if isinstance(error, kind):
            return status, title, str(error)
    if isinstance(error, OSError) and error.errno in (errno.ENAMETOOLONG, errno.ENOTDIR):
        return 404, "Not found", NOT_FOUND["404"]
    if isinstance(error, OSError):  # without its path
        return 503, "The file cannot be read", error.strerror or type(error).__name__
    return 500, "A bug", f"{type(error).__name__}: {error}; GRAPHSTORE_DEBUG=1 shows where"
