"""Run a user's SQL read-only, with limits on time and size; and the rows that it answers.

SQLite looks at the time between two steps of its virtual machine, and not within one. So texts have
a limit with which no step takes long.
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
_FEW = 4  # rows that SQLite is asked for at a time: they may be as long as LIMITS allows
_PAGE = 4_096  # rows that other databases are asked for at a time, at most
_FIRST = 1_000  # rows that are there before the first one is printed
_BYTES = 1_000_000  # of the rows of a page, or of the first rows, about

SECONDS: Final = 60
"""That a statement of the command may take, unless it is told otherwise."""
ROWS: Final = 10_000_000
"""That an answer of the command may have, likewise."""
MEMORY: Final = 4 << 30
"""Bytes that DuckDB takes for tables and sorting, likewise."""
LONGEST: Final = 100_000
"""Bytes of a text; elsewhere than in SQLite also of a row."""

NOTHING: Final = "there is nothing to run; write a SELECT"
SEVERAL: Final = "this is more than one statement; write one SELECT"
WRITES: Final = "this statement would do more than read; only SELECT and the like run"
NO_MEMORY: Final = "SQL: it needs more memory than it may take; ask for less"

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

Function: TypeAlias = Callable[[Any], Any]
Row: TypeAlias = tuple[Any, ...]


class Statement(NamedTuple):
    """A user's statement, and its limits.

    Attributes:
        text: in SQL.
        parameters: what takes the place of ``?`` in order, or of ``:name`` by name.
        seconds: that the database may work on it; None: as long as it takes.
        rows: that the answer may have; None: any number.
    """

    text: str
    parameters: Sequence[Any] | Mapping[str, Any] = ()
    seconds: float | None = None
    rows: int | None = None


class Answer:
    """The rows of a statement: iterate once.

    The first rows are read at once, so that most of what fails does so before any row is printed.

    Args:
        columns: their names.
        pages: the rows, some at a time.
        close: closes the connection; it is called after the last row, an error, or `close`.
        watch: of the statement.
        rows: how many there may be; None: any number.

    Attributes:
        columns: their names.
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
        refusal = QueryError("this answer is the parent process's; ask again here")
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
                        "--rows N (rows=), --rows 0 for all"
                    )
                left = None if left is None else left - len(rows)
                yield from rows
                rows = self._page()
        finally:
            self.close()

    def close(self) -> None:
        """End it, and close the connection."""
        self._pages.close()

    def __del__(self) -> None:
        self.close()  # an answer that is not read to its end

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
    """Yield rows in pages that are the larger the shorter the rows are.

    Args:
        fetch: returns so many rows at most, none at the end.
    """
    size = 1
    while rows := fetch(size):
        longest = max(map(weight, rows))
        if longest > LONGEST:
            raise QueryError(f"SQL: a row has {LONGEST:,} bytes at most, not {longest:,}")
        yield rows
        size = min(_PAGE, 4 * size, _BYTES // max(longest, 1))


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
        self._since: float | None = monotonic()

    def resume(self) -> None:
        """Let the time go on."""
        if self._since is None:
            self._since = monotonic()

    def pause(self) -> None:
        """Let it stand still."""
        self._spent, self._since = self._used(), None

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
        return self._seconds - self._used()

    def _used(self) -> float:
        return self._spent + (0 if self._since is None else monotonic() - self._since)

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
            return QueryError(NO_MEMORY)
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
            return QueryError(WRITES)
        return QueryError(f"SQL: {' '.join(str(self.raised or error).split())}")


def run(
    connection: sqlite3.Connection, statement: Statement, functions: Mapping[str, Function]
) -> Answer:
    """Return the rows of one reading statement, and close the connection after the last.

    Args:
        connection: to the file.
        statement: what the user typed.
        functions: that it may call; see `guard`.

    Raises:
        QueryError: the SQL is wrong, or would do more than read, or the time is up; and, from the
            answer, there are more rows.
    """
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
