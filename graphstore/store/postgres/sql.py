"""Run a user's SQL on a PostgreSQL server, read-only.

A cursor accepts one SELECT or VALUES only. Its read-only transaction has begun to read, so that
SQL cannot make it writable, and is never committed.
"""

from collections.abc import Collection
from typing import Any

import psycopg
from psycopg import RawServerCursor, errors

from graphstore.errors import QueryError
from graphstore.store.postgres.server import begin, message_of
from graphstore.store.sql import NOTHING, SEVERAL, WRITES, Answer, Row, Statement, Watch, paged
from graphstore.store.tokens import is_empty, numbered
from graphstore.util.forks import closed_on_error

_DIALECT = "postgresql"
_LONGEST_S = 2_000_000  # seconds; the server accepts little more


def run(
    connection: psycopg.Connection[Any], statement: Statement, functions: Collection[str]
) -> Answer:
    """Return the rows of a statement; the read-only connection is closed after the last row.

    `functions` are the names of SQL functions that PostgreSQL lacks.
    """
    watch = Watch(statement.seconds)
    cursor = RawServerCursor(connection, "graphstore_sql")

    def close() -> None:
        connection.close()
        cursor.close()

    def fetch(count: int) -> list[Row]:
        try:
            limit(connection, watch)
            return cursor.fetchmany(count)
        except (psycopg.Error, UnicodeError) as error:
            raise translated(error, functions, watch) from error

    with closed_on_error(close):
        if is_empty(statement.text, _DIALECT):
            raise QueryError(NOTHING)
        typed, bound = numbered(statement.text, statement.parameters, _DIALECT)
        try:
            begin(connection)
            limit(connection, watch)
            cursor.execute(typed, bound)
        except (psycopg.Error, UnicodeError) as error:
            raise translated(error, functions, watch) from error
        if not cursor.description:
            raise QueryError("the statement returns no columns; name at least one")
        columns = [column.name for column in cursor.description]
        return Answer(columns, paged(fetch), close, watch, statement.rows)


def limit(connection: psycopg.Connection[Any], watch: Watch) -> None:
    """Limit the time of the next statement; call it for each one, as SQL can reset the limit."""
    left = watch.left()
    if left is not None:
        milliseconds = max(int(min(left, _LONGEST_S) * 1000), 1)
        connection.execute(f"SET LOCAL statement_timeout = {milliseconds}")


def translated(error: Exception, functions: Collection[str], watch: Watch) -> BaseException:
    """Return the error to raise in place of an error of the driver."""
    what = message_of(error)
    if isinstance(error, errors.QueryCanceled):
        if "statement timeout" in what:
            return watch.too_long()
        return KeyboardInterrupt()
    if isinstance(error, errors.UndefinedFunction):
        for name in functions:
            if what.startswith(f"function {name}("):
                return QueryError(
                    f"{name}() works in SQLite files and folders, not in PostgreSQL: use the id "
                    "of a state or the column position; "
                    "graphstore show ADDRESS ID prints the board"
                )
    if isinstance(error, errors.ReadOnlySqlTransaction) or (
        isinstance(error, errors.ActiveSqlTransaction | errors.FeatureNotSupported)
        and "WITH" in what
    ):
        return QueryError(WRITES)
    if isinstance(error, errors.SyntaxError):
        if what.startswith("cannot insert multiple commands"):
            return QueryError(SEVERAL)
        if getattr(error.diag, "statement_position", None) == _BEGIN:
            return QueryError(
                f"this would do more than read, or is not a statement; only SELECT and similar "
                f"statements run ({what})"
            )
    return QueryError(f"SQL: {what}")


_BEGIN = str(len('DECLARE "graphstore_sql" CURSOR FOR ') + 1)
