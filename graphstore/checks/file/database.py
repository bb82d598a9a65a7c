"""Checks that the database itself makes, in a thread, while other threads read the rows."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from typing import Any

from graphstore.checks.file import conditions
from graphstore.errors import NotAStoreError
from graphstore.rules.game import Progress
from graphstore.store import schema
from graphstore.store.store import Store
from graphstore.util.signals import held_back


@contextmanager
def database_checks(store: Store) -> Iterator[tuple[Future[list[str]], Future[list[Any]]]]:
    """Yield the faults in the structure of a database, one line each, and cells and problems.

    Those break a condition of their table; they are searched if the structure has no faults.
    """
    stopped = Event()

    def broken() -> list[Any]:
        if faults.result():
            return []
        tables = [table for table in schema.metadata.sorted_tables if table is not schema.state]
        with store.connect() as connection:
            found = [each for table in tables for each in conditions.of_table(connection, table)]
            return [*found, *conditions.of_states(connection)]

    thread = ThreadPoolExecutor(max_workers=1)
    try:
        with held_back():  # a thread whose start is interrupted may never end
            faults = thread.submit(lambda: [*store.backend.integrity(stopped.is_set)])
            cells = thread.submit(broken)
        yield faults, cells
    finally:
        stopped.set()
        thread.shutdown(cancel_futures=True)


def unless_damaged(faults: Future[list[str]], progress: Progress) -> Progress:
    """Return `progress` as a function that raises NotAStoreError once faults were found."""

    def watched(phase: str, done: int, total: int | None) -> None:
        if faults.done() and faults.result():
            raise NotAStoreError(faults.result()[0])
        progress(phase, done, total)

    return watched
