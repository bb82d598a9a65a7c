"""A schema that is being built in one transaction, and takes the name of the old one at its end."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import psycopg
from sqlalchemy import Connection, Table
from sqlalchemy.exc import OperationalError
from sqlalchemy.schema import AddConstraint, DropConstraint, ForeignKeyConstraint

from graphstore import schema
from graphstore.errors import StoreError
from graphstore.places import UNCHANGED, WAIT, Carry
from graphstore.places.migrating import migrate
from graphstore.places.pgserver import MARK

if TYPE_CHECKING:
    from graphstore.places.pgschema import PostgresSchema

_PATIENCE = "200ms"  # how long those who come next wait behind a build that wants the lock


class PostgresDraft:
    """A schema that no other session sees yet; all of it is one transaction."""

    def __init__(self, place: "PostgresSchema", connection: Connection) -> None:
        self._place = place
        self._connection = connection
        self._run = connection.exec_driver_sql
        self._name = ""

    def check_space(self, needed: int) -> None:
        """Do nothing: the server knows its disk, and does not tell."""

    @contextmanager
    def filling(self) -> Iterator[Connection]:
        """Lend a connection to empty tables without keys and an index."""
        backend = self._run("SELECT pg_catalog.pg_backend_pid()").scalar_one()
        self._name = f"graphstore_draft_{backend}"
        self._run(f"CREATE SCHEMA {self._name}")
        self._run(f"SET LOCAL search_path TO {self._name}")
        self._run("SET LOCAL maintenance_work_mem = '128MB'")
        migrate(self._connection)
        for constraint in reversed(_constraints()):
            self._connection.execute(DropConstraint(constraint))
        schema.edge_child.drop(self._connection)
        yield self._connection

    def index(self, connection: Connection) -> None:
        """Make the keys and the index, and tell the planner what is there."""
        for constraint in _constraints():
            connection.execute(AddConstraint(constraint))
        schema.edge_child.create(connection)
        connection.exec_driver_sql("ANALYZE state, edge")

    def put(self, carry: Carry | None) -> None:
        """Give the draft the name of the old schema, which is dropped; and commit."""
        place = self._place
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
