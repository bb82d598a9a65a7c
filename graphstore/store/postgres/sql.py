"""SQL that a person typed, run by a PostgreSQL server so that it can only read.

It is declared as a cursor, which takes one SELECT or VALUES and nothing else, in a read-only
transaction that has begun to read, which cannot be turned into one that writes, and that is never
committed.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import psycopg
from psycopg import RawServerCursor, errors

from graphstore.errors import QueryError
from graphstore.store.parameters import numbered
from graphstore.store.postgres.server import begin, said
from graphstore.store.sql import LONGEST, Answer, Watch, weight
from graphstore.util.forks import forks

_LONGEST_S = 2_000_000  # seconds: the server takes no more
_NOTHING = re.compile(r"(?>\s|;|--[^\n]*|/\*.*?\*/|/\*.*)*+", re.DOTALL)
_PAGE = 1000  # rows fetched at once, at most
_BYTES = 1_000_000  # of the rows fetched at once, about


class Rows(Answer):
    """The rows of a statement: iterate once."""

    def __init__(
        self,
        connection: psycopg.Connection[Any],
        cursor: RawServerCursor[Any],
        functions: set[str],
        watch: Watch,
        rows: int | None,
    ) -> None:
        self._server = connection
        self._rows = cursor
        self._functions = functions
        self._watch = watch
        self._most = rows
        self._forks = forks()
        self._page = 1
        self.columns = tuple(column.name for column in cursor.description or ())
        if not self.columns:
            self.close()
            raise QueryError("the statement gives no columns; name some")
        self._first = self._fetch()

    def close(self) -> None:
        """End it, and close the connection, unless that is the parent process's."""
        if self._forks != forks():
            return
        self._server.close()
        self._rows.close()

    def __del__(self) -> None:
        self.close()  # an answer that nobody reads to its end

    def _fetch(self) -> list[tuple[Any, ...]]:
        if self._forks != forks():
            raise QueryError("this answer is the parent process's; ask again here")
        self._watch.resume()
        try:
            limit(self._server, self._watch)
            rows = self._rows.fetchmany(self._page)
            longest = max(map(weight, rows), default=0)
            if longest > LONGEST:
                raise QueryError(f"SQL: a row has {LONGEST:,} bytes at most, not {longest:,}")
            self._page = min(_PAGE, 4 * self._page, _BYTES // max(longest, 1))
            return rows
        except (psycopg.Error, UnicodeError) as error:
            self.close()
            raise wrong(error, self._functions, self._watch) from error
        except BaseException:
            self.close()
            raise
        finally:
            self._watch.pause()


def run(
    connection: psycopg.Connection[Any],
    statement: str,
    parameters: Sequence[Any] | Mapping[str, Any],
    functions: set[str],
    *,
    seconds: float | None = None,
    rows: int | None = None,
) -> Rows:
    """Return the rows of one reading statement, and close the connection after the last.

    Args:
        connection: in no transaction; the transactions that it begins are read-only.
        statement: what a person typed.
        parameters: for each ``?``, or for each ``:name``.
        functions: those that only files have.
        seconds: that it may take, without what is done with the rows meanwhile; None: any time.
        rows: how many it may have; None: any number.

    Raises:
        QueryError: the SQL is wrong, or would do more than read.
    """
    watch = Watch(seconds)
    try:
        if _NOTHING.fullmatch(statement):
            raise QueryError("there is nothing to run; write a SELECT")
        typed, bound = numbered(statement, parameters)
        begin(connection)  # from now on nothing makes this transaction one that writes
        limit(connection, watch)
        cursor = RawServerCursor(connection, "graphstore_asked")
        try:
            cursor.execute(typed, bound)
        except BaseException:
            connection.close()
            cursor.close()
            raise
        watch.pause()
        return Rows(connection, cursor, functions, watch, rows)
    except (psycopg.Error, UnicodeError) as error:
        connection.close()
        raise wrong(error, functions, watch) from error
    except BaseException:
        connection.close()
        raise


def limit(connection: psycopg.Connection[Any], watch: Watch) -> None:
    """Let the next statement take no longer than there is time left.

    It is said before each, since what was typed can call set_config().
    """
    left = watch.left()
    if left is not None:
        milliseconds = max(int(min(left, _LONGEST_S) * 1000), 1)
        connection.execute(f"SET LOCAL statement_timeout = {milliseconds}")


def wrong(error: Exception, functions: set[str], watch: Watch) -> BaseException:
    """Return what to raise for what the driver raised."""
    what = said(error)
    if isinstance(error, errors.QueryCanceled):
        if "statement timeout" in what:
            return watch.too_long()
        return KeyboardInterrupt()
    if isinstance(error, errors.UndefinedFunction):
        for name in functions:
            if what.startswith(f"function {name}("):
                return QueryError(
                    f"{name}() is called by files only, a PostgreSQL server cannot: write the id "
                    f"of a state, or its column position; graphstore show ADDRESS ID draws it"
                )
    if isinstance(error, errors.ReadOnlySqlTransaction) or (
        isinstance(error, errors.ActiveSqlTransaction | errors.FeatureNotSupported)
        and "WITH" in what
    ):
        return QueryError("this statement would do more than read; only SELECT and the like run")
    if isinstance(error, errors.SyntaxError):
        if "multiple commands" in what:
            return QueryError("this is more than one statement; write one SELECT")
        if getattr(error.diag, "statement_position", None) == _BEGIN:
            return QueryError(
                f"this statement would do more than read, or is none; only SELECT and the like "
                f"run ({what})"
            )
    return QueryError(f"SQL: {what}")


_BEGIN = str(len('DECLARE "graphstore_asked" CURSOR FOR ') + 1)
