"""SQL that a person typed, run so that it can only read, and neither for ever nor without measure.

Between the steps of SQLite's virtual machine the time is looked at; within one it is not, so texts
are kept so short that no step is a long one.
"""

import atexit
import re
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from time import monotonic
from typing import Any, Final

from graphstore.errors import GraphstoreError, QueryError
from graphstore.util import signals

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
_STEPS = 1_000  # of SQLite's virtual machine between two chances to interrupt it
_FEW = 4  # rows at a time: they may be as long as LIMITS allows
_FIRST = 1_000  # rows that are there before the first one is printed
_FIRST_BYTES = 1_000_000  # unless they are long

LONGEST: Final = 100_000
LIMITS: Final = {
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_COLUMN: 100,
    sqlite3.SQLITE_LIMIT_LENGTH: LONGEST,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 200,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 50_000,
}
"""Texts, rows and patterns so short that no one function fills the memory, or runs for long."""

ERRORS = (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError, MemoryError)
"""What the driver raises; two of them for characters and numbers that it cannot take or give."""

Function = Callable[[Any], Any]


class Answer:
    """The rows of a statement: iterate once.

    Attributes:
        columns: their names.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        cursor: sqlite3.Cursor,
        watch: "Watch",
        rows: int | None,
    ) -> None:
        self.columns = tuple(column[0] for column in cursor.description)
        self._connection = connection
        self._cursor = cursor
        self._watch = watch
        self._most = rows
        self._first: list[tuple[Any, ...]] = []
        size = 0
        while len(self._first) < _FIRST and size < _FIRST_BYTES:
            rows_read = self._fetch()  # so that what fails at once fails before all is printed
            if not rows_read:
                break
            self._first += rows_read
            size += sum(map(weight, rows_read))

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        try:
            left = -1 if self._most is None else self._most
            rows, self._first = self._first, []
            while rows:
                if 0 <= left < len(rows):
                    yield from rows[:left]
                    raise QueryError(
                        f"the answer has more than {self._most:,} rows; narrow it, or allow more: "
                        "--rows N (rows=), --rows 0 for all"
                    )
                left -= len(rows) if left >= 0 else 0
                yield from rows
                rows = self._fetch()
        finally:
            self.close()

    def close(self) -> None:
        """End it, and close the connection."""
        self._connection.close()

    def _fetch(self) -> list[tuple[Any, ...]]:
        self._watch.resume()
        try:
            return self._cursor.fetchmany(_FEW)
        except ERRORS as error:
            self._connection.close()
            raise self._watch.cause(error) from error
        finally:
            self._watch.pause()


class Watch:
    """Looks at the time, and keeps what a callback raised: SQLite says only that one did.

    Args:
        seconds: that statements may run for, without the time in which nobody asks for rows.
    """

    def __init__(self, seconds: float | None = None) -> None:
        self.raised: BaseException | None = None
        self.denied = False
        self._seconds = seconds
        self._spent = 0.0
        self._since = monotonic()

    def resume(self) -> None:
        """Let the time go on."""
        self._since = monotonic()

    def pause(self) -> None:
        """Let it stand still."""
        self._spent += monotonic() - self._since

    def look(self) -> bool:
        """Return whether to end a statement, since its time is up; Python sees to signals here."""
        left = self.left()
        if left is None or left > 0:
            return False
        self.raised = self.too_long()
        return True

    def left(self) -> float | None:
        """Return how many seconds are left; None: any number."""
        if self._seconds is None:
            return None
        return self._seconds - self._spent - (monotonic() - self._since)

    def too_long(self) -> QueryError:
        """Return what to raise when the time is up."""
        return QueryError(
            f"SQL: not done within {self._seconds:g} s; narrow it, or allow more: --seconds N "
            "(seconds=), --seconds 0 for ever"
        )

    def watched(self, function: Function) -> Function:
        """Return a function of one argument that leaves here what it raises; NULL makes NULL."""
        return self.noted(lambda argument: None if argument is None else function(argument))

    def noted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that leaves here what it raises."""

        def guarded(*arguments: Any) -> Any:
            try:
                return function(*arguments)
            except BaseException as error:  # Ctrl-C too
                self.raised = error
                raise

        return guarded

    def cause(self, error: Exception) -> BaseException:
        """Return what to raise for what the driver raised."""
        if isinstance(self.raised, GraphstoreError | KeyboardInterrupt):
            return self.raised
        if isinstance(error, MemoryError):
            return QueryError("SQL: it needs more memory than there is; ask for less")
        if "too big" in str(error) and self.raised is None:
            return QueryError(f"SQL: {error}: a text, blob or row has {LONGEST:,} bytes at most")
        if self.raised is None and "user-defined function raised" in str(error):
            # Before its first line: for Ctrl-C, or as the driver could not make its argument.
            main = threading.current_thread() is threading.main_thread()  # which alone has signals
            if main and signals.came() is not False:
                return KeyboardInterrupt()
            return QueryError("SQL: a function was given a text that is not UTF-8")
        denied = str(error).startswith("not authorized") or str(error).endswith(" is prohibited")
        # Ctrl-C, also just before the first line of the authorizer
        if str(error) == "interrupted" or (denied and not self.denied):
            return KeyboardInterrupt()
        if "authoriz" in str(error) or "prohibited" in str(error):
            return QueryError(
                "this statement would do more than read; only SELECT and the like run"
            )
        return QueryError(f"SQL: {' '.join(str(self.raised or error).split())}")


def run(
    connection: sqlite3.Connection,
    statement: str,
    parameters: Sequence[Any] | Mapping[str, Any],
    functions: Mapping[str, Function],
    *,
    seconds: float | None = None,
    rows: int | None = None,
) -> Answer:
    """Return the rows of one reading statement, and close the connection after the last.

    Args:
        connection: to the file.
        statement: what was typed.
        parameters: of the statement.
        functions: that it may call; see `guard`.
        seconds: that it may take, without what is done with the rows meanwhile; None: any time.
        rows: that it may have; None: any number.

    Raises:
        QueryError: the SQL is wrong, or would do more than read, or the time is up; and, from the
            answer, there are more rows.
    """
    watch = Watch(seconds)
    try:
        guard(connection, functions, watch)
        connection.set_progress_handler(watch.look, _STEPS)
        cursor = connection.execute(statement, parameters)
    except ERRORS as error:
        connection.close()
        raise watch.cause(error) from error
    if cursor.description is None:
        connection.close()
        raise QueryError("there is nothing to run; write a SELECT")
    return Answer(connection, cursor, watch, rows)


def weight(row: Sequence[Any]) -> int:
    """Return about how many bytes the cells of a row have."""
    return sum(len(cell) if isinstance(cell, str | bytes) else 8 for cell in row)


def guard(connection: sqlite3.Connection, functions: Mapping[str, Function], watch: Watch) -> None:
    """Let a connection do no more than read from now on, and call these functions.

    Args:
        connection: it may be read-only already; then this is one more lock.
        functions: of one argument, by name; NULL makes NULL.
        watch: where what they raise is kept.
    """
    for name, function in functions.items():
        connection.create_function(name, 1, watch.watched(function), deterministic=True)
    for name, strip in _TRIMS.items():
        connection.create_function(name, 2, watch.noted(_trimming(strip)), deterministic=True)
    for name in ("printf", "format"):
        connection.create_function(name, -1, watch.noted(_printed), deterministic=True)
    for category, limit in LIMITS.items():
        connection.setlimit(category, limit)
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


# What SQLite does in one step, and would take minutes for.

_WIDE = re.compile(r"[1-9][0-9]{5}|[0-9]e\+")
_TRIMS: Final = {"trim": str.strip, "ltrim": str.lstrip, "rtrim": str.rstrip}


def _trimming(strip: Callable[[str, str], str]) -> Callable[[Any, Any], str | None]:
    """Return SQLite's trim(text, characters), in one step of which it would compare them all."""

    def trimmed(text: Any, characters: Any) -> str | None:
        if text is None or characters is None:
            return None
        return strip(_as_text(text), "".join({*_as_text(characters)}))

    return trimmed


def _as_text(value: Any) -> str:
    """Return a value as SQLite makes a text of it."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if not isinstance(value, float):
        return str(value)
    (text,) = _own().execute("SELECT CAST(? AS TEXT)", (value,)).fetchone()
    return str(text)


def _printed(*arguments: Any) -> str | None:
    """Return SQLite's printf(format, ...), which refuses widths that take it minutes."""
    told = [_as_text(each) for each in arguments if each is not None]
    many = "*" in "".join(told[:1])  # then widths may be among the arguments
    if any(_WIDE.search(each) for each in (told if many else told[:1])):
        raise QueryError("SQL: printf writes numbers and texts no wider than 99,999 characters")
    marks = ",".join("?" * len(arguments))
    (text,) = _own().execute(f"SELECT printf({marks})", arguments).fetchone()
    return None if text is None else str(text)


@cache
def _own() -> sqlite3.Connection:
    """Return a connection to nothing, whose functions are SQLite's."""
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
    atexit.register(connection.close)
    return connection
