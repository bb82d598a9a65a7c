"""SQL that a person typed, run so that it can only read."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from graphstore.errors import GraphstoreError, QueryError

_ACTIONS = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
}
_PRAGMAS = {
    "application_id",
    "compile_options",
    "database_list",
    "foreign_key_check",
    "foreign_key_list",
    "function_list",
    "index_info",
    "index_list",
    "index_xinfo",
    "integrity_check",
    "page_count",
    "page_size",
    "quick_check",
    "table_info",
    "table_list",
    "table_xinfo",
}
_VALUES = {"schema_version"}  # that may be read, and not set
_STEPS = 100_000  # of SQLite's virtual machine between two chances to interrupt it

ERRORS = (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError)
"""What the driver raises; the last two for characters and numbers that it cannot take or give."""

Function = Callable[[Any], Any]


class Answer:
    """The rows of a statement: iterate once.

    Attributes:
        columns: their names.
    """

    def __init__(
        self, connection: sqlite3.Connection, cursor: sqlite3.Cursor, watch: "Watch"
    ) -> None:
        self.columns = tuple(column[0] for column in cursor.description)
        self._connection = connection
        self._cursor = cursor
        self._watch = watch
        self._first = self._fetch()  # so that what fails at once fails before anything is printed

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        try:
            rows, self._first = self._first, []
            while rows:
                yield from rows
                rows = self._fetch()
        finally:
            self.close()

    def close(self) -> None:
        """End it, and close the connection."""
        self._connection.close()

    def _fetch(self) -> list[tuple[Any, ...]]:
        try:
            return self._cursor.fetchmany(1000)
        except ERRORS as error:
            self._connection.close()
            raise self._watch.cause(error) from error


class Watch:
    """Keeps what a callback raised: SQLite itself only says that there was something."""

    def __init__(self) -> None:
        self.raised: BaseException | None = None
        self.denied = False

    def watched(self, function: Function) -> Function:
        """Return a function of one argument that leaves here what it raises."""

        def guarded(argument: Any) -> Any:
            try:
                return None if argument is None else function(argument)
            except BaseException as error:  # Ctrl-C too
                self.raised = error
                raise

        return guarded

    def cause(self, error: Exception) -> BaseException:
        """Return what to raise for what the driver raised."""
        if isinstance(self.raised, GraphstoreError | KeyboardInterrupt):
            return self.raised
        unseen = self.raised is None and "user-defined function raised" in str(error)
        denied = str(error).startswith("not authorized") or str(error).endswith(" is prohibited")
        # Ctrl-C, also just before the first line of a function or of the authorizer
        if unseen or str(error) == "interrupted" or (denied and not self.denied):
            return KeyboardInterrupt()
        if "authoriz" in str(error) or "prohibited" in str(error):
            return QueryError(
                "this statement would do more than read; only SELECT and the like run"
            )
        return QueryError(f"SQL: {self.raised or error}")


def run(
    connection: sqlite3.Connection,
    statement: str,
    parameters: Sequence[Any] | Mapping[str, Any],
    functions: Mapping[str, Function],
) -> Answer:
    """Return the rows of one reading statement, and close the connection after the last.

    Raises:
        QueryError: the SQL is wrong, or would do more than read.
    """
    watch = Watch()
    try:
        guard(connection, functions, watch)
        connection.set_progress_handler(lambda: 0, _STEPS)  # where Python sees to signals
        cursor = connection.execute(statement, parameters)
    except ERRORS as error:
        connection.close()
        raise watch.cause(error) from error
    if cursor.description is None:
        connection.close()
        raise QueryError("there is nothing to run; write a SELECT")
    return Answer(connection, cursor, watch)


def guard(connection: sqlite3.Connection, functions: Mapping[str, Function], watch: Watch) -> None:
    """Let a connection do no more than read from now on, and call these functions.

    Args:
        connection: it may be read-only already; then this is one more lock.
        functions: of one argument, by name; NULL makes NULL.
        watch: where what they raise is kept.
    """
    for name, function in functions.items():
        connection.create_function(name, 1, watch.watched(function), deterministic=True)
    connection.execute("PRAGMA query_only = ON")

    def authorize(action: int, first: str | None, second: str | None, *_: str | None) -> int:
        answer = _authorize(action, first, second)
        watch.denied |= answer == sqlite3.SQLITE_DENY
        return answer

    connection.set_authorizer(authorize)


def _authorize(action: int, first: str | None, second: str | None) -> int:
    if action in _ACTIONS and second != "load_extension":
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_PRAGMA and str(first).lower() in _PRAGMAS:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_PRAGMA and str(first).lower() in _VALUES and second is None:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_UPDATE and first == "sqlite_master":
        return sqlite3.SQLITE_OK  # asked for by json_each and its like; SQLite itself guards it
    return sqlite3.SQLITE_DENY
