"""Run a user's SQL read-only, with limits on time and size.

SQLite checks the time between steps of its virtual machine, so the length of texts is limited to
keep each step short.
"""

import atexit
import re
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from time import monotonic
from typing import Any, Final, NamedTuple, TypeAlias

from graphstore.errors import GraphstoreError, QueryError
from graphstore.util import signals
from graphstore.util.forks import Owned, closed_on_error

_ACTIONS = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
}
_PRAGMAS = {
    "application_id",
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
    "schema_version",  # reading it only
    "table_info",
    "table_list",
    "table_xinfo",
}
_ABOUT_THE_MACHINE = {
    "fts3_tokenizer",
    "load_extension",
    "sqlite_compileoption_get",
    "sqlite_compileoption_used",
    "sqlite_stmt",  # a table of the statements of the connection, which may be of other users
}
_STEPS = 1_000  # of SQLite's virtual machine between two checks of time and signals
_FEW = 4  # rows fetched from SQLite at a time: each may be as long as LIMITS allows
_PAGE = 4_096  # most rows fetched from other databases at a time
_SHOWN = 20  # rows shown in a notebook
_FIRST = 1_000  # rows fetched before the first one is returned
_BYTES = 1_000_000  # approximate size of a page, or of the first rows

SECONDS: Final = 60  # default limit of the command `sql`
ROWS: Final = 10_000_000  # default limit of the command `sql`
MEMORY: Final = 4 << 30  # bytes, default limit of DuckDB
LONGEST: Final = 100_000  # bytes of a text, and of a row outside SQLite

NOTHING: Final = "there is nothing to run; write a SELECT"
SEVERAL: Final = "this is more than one statement; write one SELECT"
WRITES: Final = (
    "this statement would do more than read the game; only SELECT and similar statements run"
)
NO_MEMORY: Final = "SQL: the statement needs more memory than its limit; select less"

LIMITS: Final = {
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_COLUMN: 100,
    sqlite3.SQLITE_LIMIT_LENGTH: LONGEST,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 200,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 50_000,
}
"""Limits of texts, rows and patterns, so that no function fills the memory or runs long."""

ERRORS = (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError, MemoryError)
"""Errors that the driver raises; ValueError and OverflowError for bad characters and numbers."""

Function: TypeAlias = Callable[[Any], Any]
Row: TypeAlias = tuple[Any, ...]


class Statement(NamedTuple):
    """A user's statement, its parameters and its limits; None: no limit."""

    text: str
    parameters: Sequence[Any] | Mapping[str, Any] = ()
    seconds: float | None = None
    rows: int | None = None


class Answer:
    """The rows of a statement, to iterate once; `columns` are the names of the columns.

    The first rows are read at once, so that most errors are raised before any row is returned. The
    connection is closed after the last row, an error, or `close`.
    """

    def __init__(
        self,
        columns: Iterable[str],
        pages: Iterator[list[Row]],
        close: Callable[[], object],
        watch: "Watch",
        rows: int | None,
    ) -> None:
        self.columns = tuple(columns)
        refusal = QueryError(
            "this answer belongs to the parent process; run the statement again here"
        )
        self._pages = Owned(pages, close, refusal)
        self._watch = watch
        self._most = rows
        self._first: list[Row] = []
        size = 0
        while len(self._first) < _FIRST and size < _BYTES and (page := self._page()):
            self._first += page
            size += sum(map(weight, page))

    def __iter__(self) -> Iterator[Row]:
        try:
            left = self._most
            rows, self._first = self._first, []
            while rows:
                if left is not None and left < len(rows):
                    yield from rows[:left]
                    raise QueryError(
                        f"the answer has more than {self._most:,} rows; narrow it, or allow more: "
                        "--rows N (rows=), --rows 0 for no limit"
                    )
                left = None if left is None else left - len(rows)
                yield from rows
                rows = self._page()
        finally:
            self.close()

    def close(self) -> None:
        """Close the connection."""
        self._pages.close()

    def _repr_html_(self) -> str:
        """Return the first rows as a table, for a notebook; they can still be iterated."""
        from graphstore.rules.notebook import table  # imports numpy, which few statements need

        shown = self._first[: self._most][:_SHOWN]
        more = len(self._first) > len(shown)
        note = "iterate for all rows" * more if self._first else "no rows, or they have been read"
        return table(self.columns, shown, boards=True, note=note)

    def __del__(self) -> None:
        if hasattr(self, "_pages"):  # else Ctrl-C interrupted __init__
            self.close()

    def _page(self) -> list[Row]:
        pages = self._pages.value
        self._watch.resume()
        try:
            return next(pages, [])
        except BaseException:
            self.close()
            raise
        finally:
            self._watch.pause()


def paged(fetch: Callable[[int], list[Row]]) -> Iterator[list[Row]]:
    """Yield pages of rows, longer for shorter rows; `fetch(n)` returns the next n rows at most."""
    size = 1
    while rows := fetch(size):
        longest = max(map(weight, rows))
        if longest > LONGEST:
            raise QueryError(f"SQL: a row has {LONGEST:,} bytes at most, not {longest:,}")
        yield rows
        size = min(_PAGE, 4 * size, _BYTES // max(longest, 1))


class Watch:
    """The time that a statement uses, and the error of a callback.

    The clock runs only while rows are fetched. SQLite reports that a callback raised an error, but
    not which one.
    """

    def __init__(self, seconds: float | None = None) -> None:
        self.raised: BaseException | None = None
        self.denied = False
        self._seconds = seconds
        self._spent = 0.0
        self._since: float | None = monotonic()

    def resume(self) -> None:
        """Start the clock if it does not run."""
        if self._since is None:
            self._since = monotonic()

    def pause(self) -> None:
        """Stop the clock."""
        self._spent, self._since = self._used(), None

    def look(self) -> bool:
        """Return whether the time is up; as a callback, it lets Python handle signals."""
        left = self.left()
        if left is None or left > 0:
            return False
        self.raised = self.too_long()
        return True

    def left(self) -> float | None:
        """Return the seconds that are left; None if there is no limit."""
        if self._seconds is None:
            return None
        return self._seconds - self._used()

    def _used(self) -> float:
        return self._spent + (0 if self._since is None else monotonic() - self._since)

    def too_long(self) -> QueryError:
        """Return the error to raise when the time is up."""
        return QueryError(
            f"SQL: not done within {self._seconds:g} s; narrow it, or allow more: --seconds N "
            "(seconds=), --seconds 0 for no limit"
        )

    def recording(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, changed to keep the error that it raises."""

        def guarded(*arguments: Any) -> Any:
            try:
                return function(*arguments)
            except BaseException as error:  # Ctrl-C too
                self.raised = error
                raise

        return guarded

    def cause(self, error: Exception) -> BaseException:
        """Return the error to raise in place of an error of the driver."""
        if isinstance(self.raised, GraphstoreError | KeyboardInterrupt):
            return self.raised
        if isinstance(error, MemoryError):
            return QueryError(NO_MEMORY)
        what, code = str(error), getattr(error, "sqlite_errorcode", None)
        if what.startswith("You can only execute one statement"):
            return QueryError(SEVERAL)
        if code == sqlite3.SQLITE_TOOBIG and self.raised is None:
            return QueryError(f"SQL: {error}: a text, blob or row has {LONGEST:,} bytes at most")
        if self.raised is None and what == "user-defined function raised exception":
            # Raised before its first line: by Ctrl-C, or because its argument is not UTF-8.
            main = threading.current_thread() is threading.main_thread()  # only it gets signals
            if main and signals.came():
                return KeyboardInterrupt()
            return QueryError("SQL: a text passed to a function is not UTF-8")
        denied = code == sqlite3.SQLITE_AUTH or what.startswith("not authorized")
        # Ctrl-C, or Ctrl-C just before the first line of the authorizer.
        if what == "interrupted" or (denied and not self.denied):
            return KeyboardInterrupt()
        if denied:
            return QueryError(WRITES)
        return QueryError(f"SQL: {' '.join(str(self.raised or error).split())}")


def run(
    connection: sqlite3.Connection, statement: Statement, functions: Mapping[str, Function]
) -> Answer:
    """Return the rows of a statement; the connection is closed after the last row."""
    watch = Watch(statement.seconds)
    with closed_on_error(connection.close):
        try:
            guard(connection, functions, watch)
            connection.set_progress_handler(watch.look, _STEPS)
            cursor = connection.execute(statement.text, statement.parameters)
        except ERRORS as error:
            raise watch.cause(error) from error
        if cursor.description is None:
            raise QueryError(NOTHING)
        columns = [column[0] for column in cursor.description]
        return Answer(columns, _pages(cursor, watch), connection.close, watch, statement.rows)


def _pages(cursor: sqlite3.Cursor, watch: Watch) -> Iterator[list[Row]]:
    try:
        while rows := cursor.fetchmany(_FEW):
            yield rows
    except ERRORS as error:
        raise watch.cause(error) from error


def weight(row: Sequence[Any]) -> int:
    """Return the approximate size of a row in bytes."""
    return sum(len(cell) if isinstance(cell, str | bytes) else 8 for cell in row)


def guard(connection: sqlite3.Connection, functions: Mapping[str, Function], watch: Watch) -> None:
    """Restrict a connection to reading, and add `functions`, each with one argument."""
    for name, function in functions.items():
        connection.create_function(name, 1, watch.recording(function), deterministic=True)
    for name, strip in _TRIMS.items():
        connection.create_function(name, 2, watch.recording(_trimming(strip)), deterministic=True)
    for name in ("printf", "format"):
        connection.create_function(name, -1, watch.recording(_printed), deterministic=True)
    for category, limit in LIMITS.items():
        connection.setlimit(category, limit)
    connection.execute("PRAGMA query_only = ON")

    def authorize(action: int, first: str | None, second: str | None, *_: str | None) -> int:
        answer = _authorize(action, first, second)
        watch.denied |= answer == sqlite3.SQLITE_DENY
        return answer

    connection.set_authorizer(authorize)


def _authorize(action: int, first: str | None, second: str | None) -> int:
    if action == sqlite3.SQLITE_PRAGMA:
        name = str(first).lower()
        allowed = name in _PRAGMAS and (name != "schema_version" or second is None)
    elif action == sqlite3.SQLITE_UPDATE:
        allowed = first == "sqlite_master"  # as json_each needs; SQLite itself guards it
    else:
        allowed = action in _ACTIONS and not {first, second} & _ABOUT_THE_MACHINE
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


# Replacements of functions that SQLite runs in one step of perhaps minutes.
_WIDE = re.compile(r"[1-9][0-9]{5}|[0-9]e\+")
_TRIMS: Final = {"trim": str.strip, "ltrim": str.lstrip, "rtrim": str.rstrip}


def _trimming(strip: Callable[[str, str], str]) -> Callable[[Any, Any], str | None]:
    """Return a faster function in place of SQLite's trim(text, characters), ltrim or rtrim."""

    def trimmed(text: Any, characters: Any) -> str | None:
        if text is None or characters is None:
            return None
        return strip(_as_text(text), "".join({*_as_text(characters)}))

    return trimmed


def _as_text(value: Any) -> str:
    """Return a value as SQLite converts it to text."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if not isinstance(value, float):
        return str(value)
    (text,) = _empty_database().execute("SELECT CAST(? AS TEXT)", (value,)).fetchone()
    return str(text)


def _printed(*arguments: Any) -> str | None:
    """Return the text of SQLite's printf(format, ...); refuse widths that take minutes."""
    texts = [_as_text(each) for each in arguments if each is not None]
    many = "*" in "".join(texts[:1])  # the width is one of the arguments
    if any(_WIDE.search(each) for each in (texts if many else texts[:1])):
        raise QueryError("SQL: printf: a width is at most 99,999 characters")
    marks = ",".join("?" * len(arguments))
    (text,) = _empty_database().execute(f"SELECT printf({marks})", arguments).fetchone()
    return None if text is None else str(text)


@cache
def _empty_database() -> sqlite3.Connection:
    """Return a connection to an empty database, with SQLite's own functions."""
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
    atexit.register(connection.close)
    return connection
