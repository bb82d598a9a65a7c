"""Threads for users' SQL, so that pages and quick statements never wait for slow statements.

A statement first runs for a moment. If that is not enough, it runs again as a slow statement: a few
of these run at once, a few wait, and any more are refused.
"""

import asyncio
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl

from datasette.database import QueryInterrupted, Results
from datasette.views.base import DatasetteError

T = TypeVar("T")

MOMENT_MS: Final = 100  # time of the first run of a statement
QUICK: Final = 2  # threads for first runs
SLOW: Final = 2  # threads for slow statements: so many run at once
WAITING: Final = 8  # slow statements that wait for a thread
STEPS: Final = 50_000  # of SQLite's virtual machine, some 5 ms, between two checks of the time
NICENESS: Final = 10  # of the slow threads, so that pages go first

HAS_SQL: Final = ContextVar("HAS_SQL", default=False)
"""True if the address of the current request contains SQL."""


class BusyError(DatasetteError):  # type: ignore[misc]  # Datasette ships no types
    """Too many slow statements are waiting; try again after some seconds."""

    def __init__(self, seconds: int) -> None:
        super().__init__(
            f"too many slow statements are running here; try again in {seconds} s, or run it "
            "on your machine: graphstore sql FILE STATEMENT",
            title="Busy",
            status=503,
        )
        self.seconds = seconds


class Threads:
    """Two thread pools: one for quick statements, one for slow ones."""

    def __init__(self) -> None:
        self._quick = ThreadPoolExecutor(QUICK, thread_name_prefix="quick-sql")
        self._slow = ThreadPoolExecutor(SLOW, thread_name_prefix="slow-sql", initializer=_give_way)
        self._taken = 0

    async def answer(self, ask: Callable[[Executor, int], Awaitable[T]], limit_ms: int) -> T:
        """Return the answer to a statement; `ask` runs it in a pool, for some milliseconds.

        Raises:
            BusyError: the statement is slow, and too many others are.
        """
        try:
            return await ask(self._quick, min(MOMENT_MS, limit_ms))
        except QueryInterrupted:
            if limit_ms <= MOMENT_MS:
                raise
        if self._taken >= SLOW + WAITING:
            raise BusyError(max(1, round(limit_ms / 1000)))
        self._taken += 1  # only in the thread of the event loop, so without a lock
        try:
            return await ask(self._slow, limit_ms)
        finally:
            self._taken -= 1

    def close(self) -> None:
        """Stop the threads."""
        for each in (self._quick, self._slow):
            each.shutdown(cancel_futures=True)


def has_sql(query: bytes) -> bool:
    """Return whether the query of an address contains SQL.

    >>> has_sql(b"sql=SELECT+1"), has_sql(b"ply=2&_sort=score")
    (True, False)
    """
    return any(name in ("sql", "_where") for name, _ in parse_qsl(query.decode("latin-1")))


def limited(
    sql: str, params: Any, limit_ms: int, most: int | None
) -> Callable[[sqlite3.Connection], Results]:
    """Return a function that runs a statement in limited time, for up to `most` rows or all."""

    def run(connection: sqlite3.Connection) -> Results:
        deadline = time.perf_counter() + limit_ms / 1000
        connection.set_progress_handler(lambda: time.perf_counter() >= deadline, STEPS)
        try:
            cursor = connection.execute(sql, {} if params is None else params)
            rows = cursor.fetchall() if most is None else cursor.fetchmany(most + 1)
        except sqlite3.DatabaseError as error:
            if error.args == ("interrupted",):
                raise QueryInterrupted(error, sql, params) from error
            raise
        finally:
            connection.set_progress_handler(None, STEPS)
        cut = most is not None and len(rows) > most
        return Results(rows[:most], cut, cursor.description)

    return run


def _give_way() -> None:
    """Lower the priority of this thread; only Linux has one for each thread."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)


async def in_thread(executor: Executor, function: Callable[..., T], *arguments: Any) -> T:
    """Return the result of a function, run in a thread of a pool."""
    return await asyncio.get_running_loop().run_in_executor(executor, function, *arguments)
