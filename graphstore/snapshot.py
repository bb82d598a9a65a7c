"""Many look-ups in one state of a database, without a transaction for each."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import index
from typing import Any, NamedTuple, TypeAlias

from sqlalchemy import Connection

from graphstore.batches import Lookup, Many
from graphstore.connections import forks
from graphstore.errors import StoreError
from graphstore.keyed import Keyed
from graphstore.query import Probe
from graphstore.schema import state

Asked: TypeAlias = str | int


class Values(NamedTuple):
    """What a state is worth.

    Value and remoteness are for the player to move; score, win_depth and lose_depth for the player
    who just moved.
    """

    value: int
    remoteness: int | None
    score: float
    win_depth: int | None
    lose_depth: int | None


_VALUES = Keyed(state.c.id, *(state.c[name] for name in Values._fields))


class Snapshot:
    """One state of a database, for one thread, as long as the block lasts that lends it."""

    def __init__(
        self,
        connection: Connection,
        probe: Callable[[Connection, Asked], Probe],
        lookup: Callable[[Connection, Many], Lookup],
    ) -> None:
        self._connection = connection
        self._probe = probe
        self._lookup = lookup
        self._forks = forks()
        self._ended = False
        self._one = _VALUES.text(connection.dialect, 1)
        self._cursor: Any = connection.connection.cursor()

    def values(self, state: int) -> Values | None:
        """Return what a state is worth, None if the database does not hold it.

        Raises:
            TypeError: the id is not an integer.
        """
        self._check()
        key = index(state)
        if not 0 <= key < 2**63:
            return None
        row = self._cursor.execute(self._one, (key,)).fetchone()
        return None if row is None else Values(*row)

    def probe(self, position: Asked) -> Probe:
        """Return what `graphstore.Store.probe` does."""
        self._check()
        return self._probe(self._connection, position)

    def lookup(self, positions: Many) -> Lookup:
        """Return what `graphstore.Store.lookup` does."""
        self._check()
        return self._lookup(self._connection, positions)

    def end(self) -> None:
        """Look no more up."""
        self._ended = True
        if self._forks == forks():
            self._cursor.close()

    def _check(self) -> None:
        if self._ended:
            raise StoreError("this snapshot has ended; take another: with store.snapshot()")
        if self._forks != forks():
            raise StoreError(
                "this snapshot is the parent process's; take one here: with store.snapshot()"
            )


@contextmanager
def pinned(connection: Connection) -> Iterator[None]:
    """Let a connection see one state of the database throughout."""
    before = forks()
    if connection.dialect.name == "sqlite":  # whose driver begins no transaction to read
        connection.exec_driver_sql("BEGIN")
    try:
        yield
    finally:
        if before == forks():
            connection.rollback()
