"""Threads for statements that visitors write: the quick never wait for the slow, nor does a page.

Each is tried for a moment first. What takes longer begins anew among the slow ones, of which some
run, some wait, and no more are taken: whoever asks then is told when to come again.
"""

import asyncio
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl

from datasette.database import QueryInterrupted, Results
from datasette.views.base import DatasetteError

T = TypeVar("T")

MOMENT_MS: Final = 100
QUICK: Final = 2  # threads for the first moment of each
SLOW: Final = 2  # threads for what takes longer: as many run at once
WAITING: Final = 8  # slow ones that wait for such a thread
STEPS: Final = 50_000  # of SQLite's virtual machine, some 5 ms, between two looks at the time
NICENESS: Final = 10  # of the slow threads, where each can have its own: pages go first

WRITTEN: Final = ContextVar("WRITTEN", default=False)
"""Whether what is being answered has SQL in its address."""


class BusyError(DatasetteError):  # type: ignore[misc]  # it ships no types
    """Too many slow statements wait already.

    Attributes:
        seconds: after which to try again.
    """

    def __init__(self, seconds: int) -> None:
        """Say it in one line."""
        super().__init__(
            f"too many slow statements are running here; try again in {seconds} s, or run it "
            "where it is alone: graphstore sql FILE STATEMENT",
            title="Busy",
            status=503,
        )
        self.seconds = seconds


class Threads:
    """Two groups of threads, and how many slow statements there are."""

    def __init__(self) -> None:
        self._quick = ThreadPoolExecutor(QUICK, thread_name_prefix="quick-sql")
        self._slow = ThreadPoolExecutor(SLOW, thread_name_prefix="slow-sql", initializer=_give_way)
        self._taken = 0

    async def answer(self, ask: Callable[[Executor, int], Awaitable[T]], limit_ms: int) -> T:
        """Return what a statement answers, whether it is quick or slow.

        Args:
            ask: runs it in a thread of a group, for so many milliseconds.
            limit_ms: for all of it.

        Raises:
            QueryInterrupted: the time for it is over.
            BusyError: it is slow, and so are too many others.
        """
        try:
            return await ask(self._quick, min(MOMENT_MS, limit_ms))
        except QueryInterrupted:
            if limit_ms <= MOMENT_MS:
                raise
        with self._place(limit_ms):
            return await ask(self._slow, limit_ms)

    def close(self) -> None:
        """End the threads."""
        for each in (self._quick, self._slow):
            each.shutdown(cancel_futures=True)

    @contextmanager
    def _place(self, limit_ms: int) -> Iterator[None]:
        """Take a place among the slow ones; all in the thread of the event loop, so no lock."""
        if self._taken >= SLOW + WAITING:
            raise BusyError(max(1, round(limit_ms / 1000)))
        self._taken += 1
        try:
            yield
        finally:
            self._taken -= 1


def written(query: bytes) -> bool:
    """Return whether an address has SQL behind its question mark.

    >>> written(b"sql=SELECT+1"), written(b"ply=2&_sort=score")
    (True, False)
    """
    return any(name in ("sql", "_where") for name, _ in parse_qsl(query.decode("latin-1")))


def limited(
    sql: str, params: Any, limit_ms: int, most: int | None
) -> Callable[[sqlite3.Connection], Results]:
    """Return what runs a statement over a connection.

    Args:
        sql: the statement.
        params: what is bound.
        limit_ms: how long it may take.
        most: how many rows to return; all, if None.
    """

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
    """Let other threads go first; elsewhere than on Linux that would be for the whole process."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)


async def in_thread(executor: Executor, function: Callable[..., T], *arguments: Any) -> T:
    """Return what a function returns in a thread of a group."""
    return await asyncio.get_running_loop().run_in_executor(executor, function, *arguments)
