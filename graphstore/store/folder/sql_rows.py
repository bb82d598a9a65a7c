"""The rows of a statement that DuckDB runs, in a thread of its own, so that it can be stopped.

DuckDB looks neither at the time nor, everywhere, at signals. So one thread runs it, and the one
that asks waits: until there are rows, the time is up, or Ctrl-C comes. It then waits for DuckDB to
stop, which within one function it does not; a command does not wait for that, see
`graphstore.util.own_process`.
"""

import json
import re
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from queue import SimpleQueue
from threading import Event, Thread, current_thread
from time import monotonic
from typing import Any, Final, Generic, TypeVar

from graphstore.errors import MissingExtraError, NotAStoreError, QueryError
from graphstore.store.sql import LONGEST, Answer, Watch, weight
from graphstore.util import own_process
from graphstore.util.forks import forks

try:
    import duckdb as duckdb  # for the rooms that use this one, too
except ImportError as error:
    raise MissingExtraError("SQL over a folder needs DuckDB: pip install duckdb") from error

_PAGE = 4_096  # rows fetched at once, at most
_BYTES = 1_000_000  # of the rows fetched at once, about
_AGAIN_S = 0.05  # until DuckDB is told once more to stop: it forgets it when a statement begins
_NO_MEMORY = re.compile("allocation failure|bad_alloc|(malloc|realloc) of size", re.IGNORECASE)

MORE: Final = "this statement would do more than read; only SELECT and the like run"

T = TypeVar("T")


class Job(Generic[T]):
    """A piece of work, and what came of it."""

    def __init__(self, work: Callable[[], T]) -> None:
        self.done = Event()
        self._work = work
        self._result: list[T] = []
        self._error: BaseException | None = None

    def run(self) -> None:
        """Do it."""
        try:
            self._result.append(self._work())
        except BaseException as error:
            self._error = error
        finally:
            self.done.set()

    def result(self) -> T:
        """Return what it returned, or raise what it raised."""
        if self._error is not None:
            raise self._error
        return self._result[0]


class Desk:
    """A connection, and the thread that alone uses it.

    Args:
        connection: to DuckDB.
        watch: of the statement.
        room: the folder of the connection's temporary files.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, watch: Watch, room: str) -> None:
        self.connection = connection
        self.watch = watch
        self._forks = forks()
        self._closed = False
        self._stuck = False
        self._jobs: SimpleQueue[Job[Any] | None] = SimpleQueue()
        self._thread = Thread(target=_work, args=(self._jobs,), daemon=True)
        self._thread.start()
        own_process.began(self._thread, room)

    def do(self, work: Callable[[], T]) -> T:
        """Return what work returns; the watch runs meanwhile.

        Raises:
            QueryError: SQL is wrong, the time is up, or something else that DuckDB says.
        """
        if self._forks != forks():
            raise QueryError("this answer is the parent process's; ask again here")
        job = Job(work)
        self.watch.resume()
        try:
            self._jobs.put(job)
            if not job.done.wait(self.watch.left()):
                self.watch.raised = self.watch.too_long()
                if not self._stop(job):
                    raise self.watch.raised
            return job.result()
        except duckdb.Error as error:
            raise wrong(error, self.watch) from error
        except KeyboardInterrupt:
            self._stop(job)
            raise
        except MemoryError as error:
            raise QueryError(own_process.TOO_MUCH) from error
        except UnicodeError as error:
            raise QueryError(f"SQL: {error}") from error
        finally:
            self.watch.pause()

    def close(self) -> None:
        """Close the connection, unless that is the parent process's."""
        if self._closed or self._forks != forks():
            return
        self._closed = True
        last = Job(self.connection.close)
        self._jobs.put(last)
        self._jobs.put(None)
        if self._stuck or self._thread is current_thread():  # where garbage may be collected
            return
        if self._stop(last):  # after which comes the end of Python, which no thread may live to see
            self._thread.join()

    def _stop(self, job: Job[Any]) -> bool:
        """Return whether a piece of work has ended; only a command's patience has an end."""
        until = monotonic() + own_process.patience()
        while not job.done.wait(_AGAIN_S):
            if monotonic() > until:
                self._stuck = True
                return False
            with suppress(duckdb.ConnectionException):  # it is being closed
                self.connection.interrupt()
        return True


def _work(jobs: "SimpleQueue[Job[Any] | None]") -> None:
    while (job := jobs.get()) is not None:
        job.run()
        del job  # with its result


class Rows(Answer):
    """The rows of a statement: iterate once."""

    def __init__(self, desk: Desk, rows: int | None) -> None:
        self._desk = desk
        self._most = rows
        self._page = 1
        self.columns = tuple(column[0] for column in desk.connection.description or ())
        self._first = self._fetch()

    def close(self) -> None:
        """End it, and close the connection, unless that is the parent process's."""
        self._desk.close()

    def __del__(self) -> None:
        self.close()  # an answer that nobody reads to its end

    def _fetch(self) -> list[tuple[Any, ...]]:
        try:
            found = self._desk.do(lambda: self._desk.connection.fetchmany(self._page))
            rows = [tuple(map(_plain, row)) for row in found]
            longest = max(map(weight, rows), default=0)
            if longest > LONGEST:
                raise QueryError(f"SQL: a row has {LONGEST:,} bytes at most, not {longest:,}")
        except BaseException:
            self.close()
            raise
        self._page = min(_PAGE, 4 * self._page, _BYTES // max(longest, 1))
        return rows


def _plain(cell: Any) -> Any:
    """Return a cell as SQLite has it: a truth as 1 or 0, numbers, texts, bytes, or None."""
    if isinstance(cell, bool):
        return int(cell)
    if cell is None or isinstance(cell, int | float | str | bytes):
        return cell
    if isinstance(cell, Decimal):
        return int(cell) if cell == cell.to_integral_value() else float(cell)
    if isinstance(cell, list | tuple | dict):
        return json.dumps(cell, default=str)
    return str(cell)


def wrong(error: Exception, watch: Watch) -> BaseException:
    """Return what to raise for what DuckDB raised."""
    if watch.raised is not None:
        return watch.raised
    what = " ".join(re.split(r"\n+LINE \d+:", str(error))[0].split())
    if isinstance(error, duckdb.OutOfMemoryException) or _NO_MEMORY.search(what):
        return QueryError(f"{own_process.TOO_MUCH} ({what})")
    if isinstance(error, duckdb.PermissionException):
        return QueryError("this statement would open a file; it reads the game's tables only")
    if "arrow_scan" in what or "'files of " in what:
        return NotAStoreError(f"a file of the game is damaged; build it anew ({what})")
    if "read-only" in what:
        return QueryError(MORE)
    return QueryError(f"SQL: {what}")
