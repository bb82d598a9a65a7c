"""A session of DuckDB, which runs in a thread of its own, so that it can be stopped.

DuckDB looks neither at the time nor, everywhere, at signals. So one thread runs it, and the one
that asks waits: until there are rows, the time is up, or Ctrl-C comes. It then waits for DuckDB to
stop, which within one function it does not; a command ends instead, see `util.own_process`.
"""

import json
import re
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from decimal import Decimal
from queue import SimpleQueue
from threading import TIMEOUT_MAX, Thread, current_thread
from time import monotonic
from typing import Any, Final, TypeVar

from graphstore.errors import MissingExtraError, NotAStoreError, QueryError
from graphstore.store.sql import NO_MEMORY, WRITES, Row, Watch
from graphstore.util import own_process

try:
    import duckdb as duckdb  # for the modules that use this one, too
except ImportError as error:
    raise MissingExtraError("SQL over a folder needs DuckDB: pip install duckdb") from error

_AGAIN_S: Final = 0.05  # until DuckDB is told to stop again: it forgets it when a statement begins
_NO_MEMORY = re.compile("allocation failure|bad_alloc|(malloc|realloc) of size", re.IGNORECASE)

T = TypeVar("T")


class Session:
    """A connection, and the thread that alone uses it.

    Args:
        connection: to DuckDB.
        watch: of the statement.
        room: the folder of the connection's temporary files.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, watch: Watch, room: str) -> None:
        self.connection = connection
        self.watch = watch
        self._room = room
        self._closed = False
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = Thread(target=_work, args=(self._jobs,), daemon=True)
        self._thread.start()

    def do(self, work: Callable[..., T], *arguments: Any) -> T:
        """Return what work returns.

        Raises:
            QueryError: SQL is wrong, the time is up, or something else that DuckDB says.
        """
        job = self._submit(work, *arguments)
        try:
            left = self.watch.left()
            if not wait([job], None if left is None else min(left, TIMEOUT_MAX)).done:
                self.watch.raised = self.watch.too_long()
                self._stop(job)
                raise self.watch.raised
            return job.result()
        except duckdb.Error as error:
            raise wrong(error, self.watch) from error
        except KeyboardInterrupt as error:
            self.watch.raised = error
            self._stop(job)
            raise
        except MemoryError as error:
            raise QueryError(NO_MEMORY) from error
        except UnicodeError as error:
            raise QueryError(f"SQL: {error}") from error

    def fetch(self, count: int) -> list[Row]:
        """Return the next rows of the statement, so many at most."""
        rows = self.do(self.connection.fetchmany, count)
        return [tuple(map(_plain, row)) for row in rows]

    def close(self) -> None:
        """Close the connection."""
        if self._closed:
            return
        self._closed = True
        job = self._submit(self.connection.close)
        self._jobs.put(None)
        if self._thread is not current_thread():  # where garbage may be collected
            self._stop(job)
            self._thread.join()  # it may not live to see the end of Python

    def _submit(self, work: Callable[..., T], *arguments: Any) -> Future[T]:
        job: Future[T] = Future()

        def run() -> None:
            try:
                job.set_result(work(*arguments))
            except BaseException as error:
                job.set_exception(error)

        self._jobs.put(run)  # in a queue that a destructor, too, may use at any moment
        return job

    def _stop(self, job: Future[Any]) -> None:
        """Wait until a piece of work has ended; only a command's patience has an end."""
        until = monotonic() + own_process.PATIENCE_S
        while not wait([job], _AGAIN_S).done:
            if self.watch.raised is not None and monotonic() > until:
                own_process.end(self.watch.raised, self._room)
            with suppress(duckdb.ConnectionException):  # it is being closed
                self.connection.interrupt()


def _work(jobs: "SimpleQueue[Callable[[], None] | None]") -> None:
    while (job := jobs.get()) is not None:
        job()
        del job  # with its result


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
        return QueryError(f"{NO_MEMORY} ({what})")
    if isinstance(error, duckdb.PermissionException):
        return QueryError("this statement would open a file; it reads the game's tables only")
    if "arrow_scan" in what or "'files of " in what:
        return NotAStoreError(f"a file of the game is damaged; build it anew ({what})")
    if "read-only" in what:
        return QueryError(WRITES)
    return QueryError(f"SQL: {what}")
