"""Checks that the database itself makes, in a thread, while other threads read the rows."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

from graphstore.checks.file import conditions
from graphstore.checks.file.findings import Problem, WrongCells
from graphstore.errors import NotAStoreError
from graphstore.rules.game import Progress
from graphstore.store import schema
from graphstore.store.store import Store
from graphstore.util.signals import held_back


class DatabaseChecks:
    """The checks of the structure of a database, then of the conditions of its tables.

    Use it in a `with` block, at whose end the thread has ended.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._stopped = Event()
        self._thread = ThreadPoolExecutor(max_workers=1)

    def __enter__(self) -> "DatabaseChecks":
        with held_back():  # a thread whose start is interrupted may never end
            self._structure = self._thread.submit(self._integrity)
            self._conditions = self._thread.submit(self._broken)
        return self

    def __exit__(self, *_error: object) -> None:
        self._stopped.set()
        self._thread.shutdown(cancel_futures=True)

    def damage(self) -> list[str]:
        """Return the faults in the structure, one line each; wait for them."""
        return self._structure.result()

    def watched(self, progress: Progress) -> Progress:
        """Return `progress` as a function that raises NotAStoreError once faults were found."""

        def watched(phase: str, done: int, total: int | None) -> None:
            if self._structure.done() and self.damage():
                raise NotAStoreError(self.damage()[0])
            progress(phase, done, total)

        return watched

    def conditions(self) -> list[Problem | WrongCells]:
        """Return the cells that break a condition, unless there are faults; wait for them."""
        return self._conditions.result()

    def _integrity(self) -> list[str]:
        return list(self._store.backend.integrity(self._stopped.is_set))

    def _broken(self) -> list[Any]:
        if self.damage():
            return []
        tables = [table for table in schema.metadata.sorted_tables if table is not schema.state]
        with self._store.connect() as connection:
            found = [each for table in tables for each in conditions.of_table(connection, table)]
            return [*found, *conditions.of_states(connection)]
