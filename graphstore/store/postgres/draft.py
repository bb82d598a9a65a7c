"""The draft of a schema, which replaces the old schema and takes its name.

With one connection, the build is one transaction. A draft for several connections is committed
first, with a comment that marks it, and belongs to the session that holds the lock of its target.
If no session holds the lock, the owner was killed, and the next build drops the draft.
"""

import re
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import psycopg
from sqlalchemy import Connection, Table, create_engine, text
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError
from sqlalchemy.pool import NullPool
from sqlalchemy.schema import AddConstraint, DropConstraint, ForeignKeyConstraint

from graphstore.errors import StoreError, StoreExistsError
from graphstore.store import schema
from graphstore.store.backend import REPLACE, UNCHANGED, WAIT, Carry
from graphstore.store.migrating import migrate
from graphstore.store.postgres import server
from graphstore.store.postgres.server import MARK, Address, quoted
from graphstore.store.postgres.structure import refuse_traps
from graphstore.util.signals import held_back

_PATIENCE = "200ms"  # the longest time that readers wait behind a build that wants the lock
_DRAFT = "graphstore: a draft"  # the comment on a committed draft
_NAME = re.compile(r"graphstore_draft_([0-9a-f]{16})_\d+")
_DRAFTS = text(
    "SELECT nspname FROM pg_catalog.pg_namespace "
    "WHERE pg_catalog.obj_description(oid, 'pg_namespace') = :mark "
    "AND pg_catalog.pg_has_role(nspowner, 'USAGE')"
)
_THERE = text(
    "SELECT oid, pg_catalog.obj_description(oid, 'pg_namespace') AS mark, "
    "pg_catalog.pg_has_role(nspowner, 'USAGE') AS mine, "
    "pg_catalog.pg_get_userbyid(nspowner) AS owner, "
    "pg_catalog.has_schema_privilege(oid, 'USAGE') AS open "
    "FROM pg_catalog.pg_namespace WHERE nspname = :name"
)
_TRY_LOCK = text("SELECT pg_catalog.pg_try_advisory_lock(:number)")
_UNLOCK = text("SELECT pg_catalog.pg_advisory_unlock(:number)")


class GameSchema:
    """A schema that contains or will contain a game.

    Attributes:
        address: the address, without a password.
    """

    def __init__(self, at: Address) -> None:
        self._at = at
        self.address = str(at)

    @property
    def schema(self) -> str:
        """The name of the schema."""
        assert self._at.schema is not None, "for_game() or located() must choose the schema"
        return self._at.schema

    @property
    def name(self) -> str:
        """The name of the schema, quoted for SQL, with % doubled for the driver."""
        return quoted(self.schema).replace("%", "%%")

    @contextmanager
    def session(self, *, reads: bool = False) -> Iterator[Connection]:
        """Yield a new connection whose search path is pg_catalog."""
        engine = create_engine(
            "postgresql+psycopg://",
            creator=lambda: server.connect(self._at, reads=reads),
            poolclass=NullPool,
            use_native_hstore=False,
        )
        with engine.connect() as connection:
            yield connection

    def catalog_row(self, connection: Connection) -> Any:
        """Return the row of the schema: oid, mark, mine, owner, open; None without a schema."""
        return connection.execute(_THERE, {"name": self.schema}).first()

    def agents_seen(self, connection: Connection) -> tuple[str, list[str]]:
        """Return the name of the game and the names of its agents."""
        found = self.catalog_row(connection)
        if found is None or found.mark != MARK:
            return "", []
        refuse_traps(connection, found.oid, self._at)
        game = connection.exec_driver_sql(f"SELECT name FROM {self.name}.game").scalar()
        known = text("SELECT pg_catalog.to_regclass(:name) IS NOT NULL")
        if not connection.scalar(known, {"name": f"{quoted(self.schema)}.agent"}):
            return str(game), []
        rows = connection.exec_driver_sql(f"SELECT name FROM {self.name}.agent ORDER BY name")
        return str(game), list(rows.scalars())

    def check_target(self, connection: Connection, *, force: bool) -> None:
        """Raise StoreError if the schema must not or cannot be replaced."""
        found = self.catalog_row(connection)
        right = "SELECT has_database_privilege(current_database(), 'CREATE')"
        if found is not None and found.mark != MARK:
            raise StoreError(
                f"{self.address} is a schema that graphstore did not create, so it is not "
                "replaced; add ?schema=NAME to the address"
            )
        if found is not None and not force:
            raise StoreExistsError(f"{self.address} exists; {REPLACE}")
        if found is not None and not found.mine:
            raise StoreError(f"{self.address} belongs to {found.owner}; log in as that role")
        if not connection.exec_driver_sql(right).scalar():
            raise StoreError(
                f"{self.address}: you may not create a schema there; its owner can allow it: "
                "GRANT CREATE ON DATABASE"
            )


class PostgresDraft:
    """The draft of `target`; its connection holds the advisory lock `number` of the target."""

    put_edges = None  # PostgreSQL inserts all rows

    def __init__(
        self, target: GameSchema, connection: Connection, number: int, *, force: bool
    ) -> None:
        self._target = target
        self._connection = connection
        self._run = connection.exec_driver_sql
        self._number = number
        self._force = force
        self._name = ""
        self._others: list[Connection] = []
        self._committed = False

    def check_space(self, needed: int) -> None:
        """Do nothing: the server does not report its free space."""

    @contextmanager
    def filling(self, jobs: int) -> Iterator[list[Connection]]:
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
                self._committed = True
                self._connection.commit()
            for _ in range(jobs - 1):
                other = stack.enter_context(self._target.session())
                other.exec_driver_sql(f"SET search_path TO {self._name}")
                self._others.append(other)
            yield [self._connection, *self._others]

    def index(self) -> None:
        for other in self._others:
            other.commit()
        for constraint in _constraints():
            self._connection.execute(AddConstraint(constraint))
        schema.edge_child.create(self._connection)
        self._run("ANALYZE state, edge")

    def discard(self) -> None:
        """Drop the draft, if it was committed."""
        with held_back(), suppress(DBAPIError, psycopg.Error):  # the next build would drop it
            self._connection.rollback()
            if self._committed:
                self._run(f"DROP SCHEMA IF EXISTS {self._name} CASCADE")
                self._connection.commit()

    def put(self, carry: Carry | None) -> None:
        target = self._target
        target.check_target(self._connection, force=self._force)
        if target.catalog_row(self._connection) is not None:
            self._lock()
            if carry is not None and target.agents_seen(self._connection)[1]:
                carry(self._connection, target.name, self._name)
            self._drop()
        self._run(f"ALTER SCHEMA {self._name} RENAME TO {target.name}")
        self._run(f"COMMENT ON SCHEMA {target.name} IS '{MARK}'")
        self._connection.commit()

    def _lock(self) -> None:
        """Lock the old game when no program uses it; other programs may read it until then."""
        until = time.monotonic() + WAIT
        while True:
            try:
                with self._connection.begin_nested():
                    self._run(f"SET LOCAL lock_timeout = '{_PATIENCE}'")
                    self._run(f"LOCK TABLE {self._target.name}.game IN ACCESS EXCLUSIVE MODE")
                break
            except OperationalError as error:
                late = time.monotonic() > until
                if late or not isinstance(error.orig, psycopg.errors.LockNotAvailable):
                    raise
            time.sleep(0.05)
        self._run(f"SET LOCAL lock_timeout = '{WAIT}s'")

    def _drop(self) -> None:
        """Drop the old game; raise StoreError if other objects depend on it."""
        old = self._target.name
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
                    f"{self._target.address} has objects that graphstore did not create "
                    f"({''.join(what)}); drop them first; {UNCHANGED}"
                ) from error
            raise


def _constraints() -> list[Any]:
    """Return the primary keys of state and edge, then the foreign keys that refer to them."""
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
    """Try to take an advisory lock until the session ends; return whether this succeeded."""
    return bool(connection.scalar(_TRY_LOCK, {"number": number}))


def unlock(connection: Connection, number: int) -> None:
    """Unlock a target now: the server may take a moment to notice the end of the session."""
    with suppress(SQLAlchemyError):
        connection.rollback()
        connection.execute(_UNLOCK, {"number": number})
        connection.rollback()


def sweep(connection: Connection) -> None:
    """Drop the drafts of killed sessions that the user may drop."""
    for name in list(connection.scalars(_DRAFTS, {"mark": _DRAFT})):
        found = _NAME.fullmatch(name)
        if found is None:
            continue
        number = int.from_bytes(bytes.fromhex(found[1]), signed=True)
        if not try_lock(connection, number):
            continue
        with suppress(DBAPIError), connection.begin_nested():  # its owner may still be ending
            connection.exec_driver_sql("SET LOCAL lock_timeout = '2s'")
            connection.exec_driver_sql(f"DROP SCHEMA {name} CASCADE")
        connection.commit()
        connection.execute(_UNLOCK, {"number": number})
