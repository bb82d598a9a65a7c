"""A session of DuckDB in a thread, so that it can be stopped.

DuckDB has no time limit and sometimes ignores signals. So the caller waits for rows, the end of the
time or Ctrl-C, and then for DuckDB to stop. Within one function it does not stop; then a command
ends its own process, see `util.own_process`.
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

from graphstore.errors import NotAStoreError, QueryError
from graphstore.store.sql import NO_MEMORY, WRITES, Row, Watch
from graphstore.util import own_process
from graphstore.util.extras import extra

with extra("SQL over a folder needs DuckDB: pip install duckdb", megabytes=2_000):
    import duckdb as duckdb  # exported for other modules

_AGAIN_S: Final = 0.05  # between interrupts: DuckDB forgets one when a statement begins
_NO_MEMORY = re.compile("allocation failure|bad_alloc|(malloc|realloc) of size", re.IGNORECASE)

T = TypeVar("T")


class Session:
    """A connection, its folder `spill` for temporary files, and the thread that uses it.

    `check` raises NotAStoreError if the rows that the connection reads are damaged or missing.
    """

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        watch: Watch,
        spill: str,
        check: Callable[[], None],
    ) -> None:
        self.connection = connection
        self.watch = watch
        self._spill = spill
        self._check = check
        self._closed = False
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = Thread(target=_work, args=(self._jobs,), daemon=True)
        self._thread.start()

    def do(self, work: Callable[..., T], *arguments: Any) -> T:
        """Run `work` in the thread and return its result; turn DuckDB's errors into QueryError."""
        job = self._submit(work, *arguments)
        try:
            left = self.watch.left()
            if not wait([job], None if left is None else min(left, TIMEOUT_MAX)).done:
                self.watch.raised = self.watch.too_long()
                self._stop(job)
                raise self.watch.raised
            return job.result()
        except duckdb.Error as error:
            raise translated(error, self.watch, self._check) from error
        except KeyboardInterrupt as error:
            self.watch.raised = error
            self._stop(job)
            raise
        except MemoryError as error:
            raise QueryError(NO_MEMORY) from error
        except UnicodeError as error:
            raise QueryError(f"SQL: {error}") from error

    def fetch(self, count: int) -> list[Row]:
        """Return the next rows of the statement, at most `count`."""
        rows = self.do(self.connection.fetchmany, count)
        return [tuple(map(_plain, row)) for row in rows]

    def close(self) -> None:
        """Close the connection."""
        if self._closed:
            return
        self._closed = True
        job = self._submit(self.connection.close)
        self._jobs.put(None)
        if self._thread is not current_thread():  # garbage collection may call this there
            self._stop(job)
            self._thread.join()  # it must end before Python does

    def _submit(self, work: Callable[..., T], *arguments: Any) -> Future[T]:
        job: Future[T] = Future()

        def run() -> None:
            try:
                job.set_result(work(*arguments))
            except BaseException as error:
                job.set_exception(error)

        self._jobs.put(run)  # a destructor may use a SimpleQueue at any moment
        return job

    def _stop(self, job: Future[Any]) -> None:
        """Interrupt a job and wait until it has ended; after a limited time, a command exits."""
        until = monotonic() + own_process.PATIENCE_S
        while not wait([job], _AGAIN_S).done:
            if self.watch.raised is not None and monotonic() > until:
                own_process.end(self.watch.raised, self._spill)
            with suppress(duckdb.ConnectionException):  # it is being closed
                self.connection.interrupt()


def _work(jobs: "SimpleQueue[Callable[[], None] | None]") -> None:
    while (job := jobs.get()) is not None:
        job()
        del job  # with its result


def _plain(cell: Any) -> Any:
    """Return a cell as SQLite returns it: a number, a text, bytes or None."""
    if isinstance(cell, bool):
        return int(cell)
    if cell is None or isinstance(cell, int | float | str | bytes):
        return cell
    if isinstance(cell, Decimal):
        return int(cell) if cell == cell.to_integral_value() else float(cell)
    if isinstance(cell, list | tuple | dict):
        return json.dumps(cell, default=str)
    return str(cell)


def translated(error: Exception, watch: Watch, check: Callable[[], None]) -> BaseException:
    """Return the error to raise in place of an error of DuckDB.

    A user's SQL can raise an error with any words, such as ``error('bad_alloc')``, so these words
    do not decide.
    """
    if watch.raised is not None:
        return watch.raised
    what = " ".join(re.split(r"\n+LINE \d+:", str(error))[0].split())
    of_the_user = isinstance(error, duckdb.ProgrammingError | duckdb.DataError)
    if isinstance(error, duckdb.OutOfMemoryException) or (
        not of_the_user and _NO_MEMORY.search(what)
    ):
        return QueryError(f"{NO_MEMORY} ({what})")
    if isinstance(error, duckdb.PermissionException):
        return QueryError("this statement would open a file; only the game's tables can be read")
    if isinstance(error, duckdb.TransactionException):
        return QueryError(WRITES)
    if "'files of " in what:
        try:
            check()
        except NotAStoreError as damage:
            return damage
    return QueryError(f"SQL: {what}")
