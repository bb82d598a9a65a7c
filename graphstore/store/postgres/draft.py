"""A schema that is being built, and takes the name of the old one at its end.

Filled over one connection, it is one transaction, and nobody else sees it. What several connections
fill at once must be committed first: such a draft is marked, and is owned by the session that holds
the lock of its target. Where nobody holds that, the owner was killed, and whoever builds next in
that database drops the draft.
"""

import re
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from typing import Any, Protocol

import psycopg
from sqlalchemy import Connection, Table, text
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.schema import AddConstraint, DropConstraint, ForeignKeyConstraint

from graphstore.errors import StoreError
from graphstore.store import schema
from graphstore.store.backend import UNCHANGED, WAIT, Carry
from graphstore.store.migrating import migrate
from graphstore.store.postgres.server import MARK
from graphstore.util.signals import held_back

_PATIENCE = "200ms"  # how long those who come next wait behind a build that wants the lock


_DRAFT = "graphstore: a draft"
"""The comment on a draft that others see."""
_NAME = re.compile(r"graphstore_draft_([0-9a-f]{16})_\d+")
_DRAFTS = text(
    "SELECT nspname FROM pg_catalog.pg_namespace "
    "WHERE pg_catalog.obj_description(oid, 'pg_namespace') = :mark "
    "AND pg_catalog.pg_has_role(nspowner, 'USAGE')"
)
_TRY_LOCK = text("SELECT pg_catalog.pg_try_advisory_lock(:number)")
_UNLOCK = text("SELECT pg_catalog.pg_advisory_unlock(:number)")


class Target(Protocol):
    """What a draft needs to know of the schema that it replaces."""

    address: str

    @property
    def name(self) -> str:
        """The schema, as SQL names it."""

    def session(self) -> AbstractContextManager[Connection]:
        """Yield a connection of its own."""

    def there(self, connection: Connection) -> Any:
        """Return the schema of that name, None if there is none."""

    def check_target(self, connection: Connection, *, force: bool) -> None:
        """Refuse a schema that cannot be replaced, or must not be."""

    def agents_seen(self, connection: Connection) -> tuple[str, list[str]]:
        """Return the name of the game and of its agents."""


class PostgresDraft:
    """A schema that takes the place of another."""

    def __init__(self, place: Target, connection: Connection, number: int, *, force: bool) -> None:
        """Begin a draft.

        Args:
            place: what it will replace.
            connection: to its database; holds the lock of the place.
            number: of that lock.
            force: whether it may replace a game.
        """
        self._place = place
        self._connection = connection
        self._run = connection.exec_driver_sql
        self._number = number
        self._force = force
        self._name = ""
        self._others: list[Connection] = []
        self._seen = False  # by others

    def check_space(self, needed: int) -> None:
        """Do nothing: the server knows its disk, and does not tell."""

    @contextmanager
    def filling(self, jobs: int) -> Iterator[list[Connection]]:
        """Lend connections to empty tables without keys and an index."""
        backend = self._run("SELECT pg_catalog.pg_backend_pid()").scalar_one()
        self._name = f"graphstore_draft_{self._number % 2**64:016x}_{backend}"
        self._run(f"CREATE SCHEMA {self._name}")
        self._run(f"SET search_path TO {self._name}")
        self._run("SET maintenance_work_mem = '128MB'")
        migrate(self._connection)
        for constraint in reversed(_constraints()):
            self._connection.execute(DropConstraint(constraint))
        schema.edge_child.drop(self._connection)
        with ExitStack() as stack:
            if jobs > 1:
                self._run(f"COMMENT ON SCHEMA {self._name} IS '{_DRAFT}'")
                self._seen = True
                self._connection.commit()
            for _ in range(jobs - 1):
                other = stack.enter_context(self._place.session())
                other.exec_driver_sql(f"SET search_path TO {self._name}")
                self._others.append(other)
            yield [self._connection, *self._others]

    def index(self) -> None:
        """Make the keys and the index, and tell the planner what is there."""
        for other in self._others:
            other.commit()
        for constraint in _constraints():
            self._connection.execute(AddConstraint(constraint))
        schema.edge_child.create(self._connection)
        self._run("ANALYZE state, edge")

    def discard(self) -> None:
        """Drop what others see of the draft, if there is any."""
        with held_back(), suppress(DBAPIError, psycopg.Error):  # the next build would drop it
            self._connection.rollback()
            if self._seen:
                self._run(f"DROP SCHEMA IF EXISTS {self._name} CASCADE")
                self._connection.commit()

    def put(self, carry: Carry | None) -> None:
        """Give the draft the name of the old schema, which is dropped; and commit."""
        place = self._place
        place.check_target(self._connection, force=self._force)
        if place.there(self._connection) is not None:
            self._lock()
            if carry is not None and place.agents_seen(self._connection)[1]:
                carry(self._connection, place.name, self._name)
            self._drop()
        self._run(f"ALTER SCHEMA {self._name} RENAME TO {place.name}")
        self._run(f"COMMENT ON SCHEMA {place.name} IS '{MARK}'")
        self._connection.commit()

    def _lock(self) -> None:
        """Wait until nobody reads or writes the old game; let those who come pass meanwhile."""
        until = time.monotonic() + WAIT
        while True:
            try:
                with self._connection.begin_nested():
                    self._run(f"SET LOCAL lock_timeout = '{_PATIENCE}'")
                    self._run(f"LOCK TABLE {self._place.name}.game IN ACCESS EXCLUSIVE MODE")
                break
            except OperationalError as error:
                late = time.monotonic() > until
                if late or not isinstance(error.orig, psycopg.errors.LockNotAvailable):
                    raise
            time.sleep(0.05)
        self._run(f"SET LOCAL lock_timeout = '{WAIT}s'")

    def _drop(self) -> None:
        """Drop the old game: what this package made, and only if nothing else hangs on it."""
        old = self._place.name
        views = ", ".join(f"{old}.{name}" for name in schema.VIEWS)
        tables = ", ".join(f"{old}.{name}" for name in (*schema.metadata.tables, "alembic_version"))
        try:
            self._run(f"DROP VIEW IF EXISTS {views}")
            self._run(f"DROP TABLE IF EXISTS {tables}")
            self._run(f"DROP SCHEMA {old}")
        except Exception as error:
            reason = getattr(error, "orig", None)
            if isinstance(reason, psycopg.errors.DependentObjectsStillExist):
                what = (reason.diag.message_detail or "").splitlines()[:1]
                raise StoreError(
                    f"{self._place.address} has what graphstore did not make ({''.join(what)}); "
                    f"drop that first; {UNCHANGED}"
                ) from error
            raise


def _constraints() -> list[Any]:
    """Return the keys of the tables that are loaded, before what refers to them."""
    loaded: tuple[Table, ...] = (schema.state, schema.edge)
    keys = [table.primary_key for table in loaded]
    foreign = [
        constraint
        for table in (schema.edge, schema.bead)
        for constraint in table.constraints
        if isinstance(constraint, ForeignKeyConstraint) and constraint.referred_table in loaded
    ]
    return [*keys, *sorted(foreign, key=lambda each: str(each.name))]


def try_lock(connection: Connection, number: int) -> bool:
    """Return whether a session now holds the lock of a place, until it ends."""
    return bool(connection.scalar(_TRY_LOCK, {"number": number}))


def sweep(connection: Connection) -> None:
    """Drop the drafts of sessions that were killed, if they are ours to drop."""
    for name in list(connection.scalars(_DRAFTS, {"mark": _DRAFT})):
        found = _NAME.fullmatch(name)
        if found is None:
            continue
        number = int.from_bytes(bytes.fromhex(found[1]), signed=True)
        if not try_lock(connection, number):
            continue
        with suppress(DBAPIError), connection.begin_nested():  # where its owner is only just gone
            connection.exec_driver_sql("SET LOCAL lock_timeout = '2s'")
            connection.exec_driver_sql(f"DROP SCHEMA {name} CASCADE")
        connection.commit()
        connection.execute(_UNLOCK, {"number": number})
