"""A schema in PostgreSQL as the database of a game.

Every reader and writer reads the table `game` first, and a build locks that table before any other,
so that deadlocks cannot occur.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import Connection, text

from graphstore.errors import (
    NotAStoreError,
    StoreError,
    StoreMissingError,
    StoreReplacedError,
)
from graphstore.rules.game import Ints
from graphstore.store import schema
from graphstore.store.backend import UNCHANGED, WAIT
from graphstore.store.format import views_of_new
from graphstore.store.postgres import server, structure
from graphstore.store.postgres.draft import GameSchema, PostgresDraft, sweep, try_lock, unlock
from graphstore.store.postgres.rows import RowReader
from graphstore.store.postgres.server import MARK, Address, check_name, explained, quoted
from graphstore.store.postgres.sql import run
from graphstore.store.postgres.structure import refuse_traps
from graphstore.store.reader import Reader
from graphstore.store.sql import Answer, Function, Statement
from graphstore.store.structure import altered, refuse_altered
from graphstore.util.forks import closed_on_error

_OURS = text(
    "SELECT nspname FROM pg_catalog.pg_namespace "
    "WHERE pg_catalog.obj_description(oid, 'pg_namespace') = :mark ORDER BY nspname COLLATE \"C\""
)
_BROKEN = text("""
SELECT concat('index ', i.indexrelid::regclass, ' is not valid')
FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indrelid
WHERE NOT i.indisvalid AND c.relnamespace = :namespace AND relname = ANY(:tables)
UNION ALL
SELECT concat('constraint ', conname, ' is not validated')
FROM pg_constraint JOIN pg_class AS c ON c.oid = conrelid
WHERE NOT convalidated AND c.relnamespace = :namespace AND relname = ANY(:tables)
""")


class PostgresSchema(GameSchema):
    """A schema that contains or will contain a game; see `store.backend.Backend`."""

    dialect = "postgresql"

    def __init__(self, at: Address) -> None:
        super().__init__(at)
        self._made: dict[str, dict[str, str]] = {}  # what migrations make, by revision
        self._views: list[str] = []  # of what an older schema lacks

    @classmethod
    def of(cls, address: str) -> "PostgresSchema":
        """Return the schema at a ``postgresql://`` address."""
        return cls(server.read_address(address))

    @property
    def path(self) -> Path:
        """Raise StoreError: a schema is not a file."""
        raise StoreError(f"{self.address} is in PostgreSQL, so there is no file")

    @cached_property
    def product(self) -> str:
        with self.explained(), closing(server.connect(self._at, reads=True)) as connection:
            return f"PostgreSQL {connection.info.parameter_status('server_version')}"

    def for_game(self, name: str) -> "PostgresSchema":
        """Return the schema of the address, or the one with the game's name if it names none."""
        if self._at.schema is not None:
            return self
        return PostgresSchema(self._at._replace(schema=check_name(name, self._at.shown)))

    def located(self) -> "PostgresSchema":
        """Return the schema of the address, or the only one with a game if it names none."""
        if self._at.schema is not None:
            return self
        with self.explained(), self.session() as connection:
            found = list(connection.scalars(_OURS, {"mark": MARK}))
        if not found:
            raise StoreMissingError(
                f"{self.address} has no game; run: graphstore build GAME --db {self.address}"
            )
        if len(found) > 1:
            known = [str(self._at._replace(schema=name)) for name in found]
            raise StoreMissingError(
                f"{self.address} has {len(found)} games; choose one: {' or '.join(known)}"
            )
        return PostgresSchema(self._at._replace(schema=found[0]))

    def recover(self) -> None:
        """Do nothing: the server does it."""

    def exists(self) -> bool:
        with self.explained(), self.session() as connection:
            return self.catalog_row(connection) is not None

    def explained(self, consequence: str = "") -> AbstractContextManager[None]:
        return explained(self._at, consequence)

    def blame(self, error: BaseException) -> None:
        """Do nothing: the server checks its own files."""

    def revision(self) -> str:
        with self.explained(), self.session(reads=True) as connection:
            found = self.catalog_row(connection)
            if found is None:
                raise StoreMissingError(
                    f"there is no schema {self.address}; run: graphstore build GAME "
                    f"--db {self.address}"
                )
            if found.mark != MARK:
                raise NotAStoreError(f"{self.address} is not a graphstore database")
            if not found.open:
                raise StoreError(
                    f"{self.address}: you may not read it; its owner can allow it: GRANT USAGE ON "
                    "SCHEMA and GRANT SELECT ON ALL TABLES IN SCHEMA"
                )
            revision = self._recorded(connection, found.oid)
        self._views = views_of_new(revision, self.name)
        return revision

    def _recorded(self, connection: Connection, namespace: int) -> str:
        """Return the schema revision that is recorded; raise NotAStoreError for traps."""
        refuse_traps(connection, namespace, self._at)
        versions = f"SELECT version_num FROM {self.name}.alembic_version"
        rows = connection.exec_driver_sql(versions).scalars().all()
        if len(rows) != 1:
            raise NotAStoreError(
                f"{self.address} is damaged: it records {len(rows)} schema revisions, not one"
            )
        return str(rows[0])

    def connect(self) -> Reader:
        return Reader(self._driver(), self.dialect)

    def _driver(self, *, autocommit: bool = False) -> psycopg.Connection[Any]:
        return server.connect(self._at, reads=True, views=self._views, autocommit=autocommit)

    def check_same(self, reader: Reader, digest: str | None) -> None:
        """Begin a transaction; raise StoreReplacedError if the game has another digest."""
        self._check_same(reader.driver, digest)

    def _check_same(self, driver: psycopg.Connection[Any], digest: str | None) -> None:
        try:
            found = server.begin(driver)
        except psycopg.errors.UndefinedTable as error:
            if digest is None:
                raise
            raise StoreReplacedError(f"{self.address} no longer exists; open it again") from error
        if digest is not None and found != [digest]:
            raise StoreReplacedError(f"{self.address} now holds another game; open it again")

    def sql(self, statement: Statement, functions: Mapping[str, Function], digest: str) -> Answer:
        connection = self._driver()
        with closed_on_error(connection.close):
            self._check_same(connection, digest)
        return run(connection, statement, functions)

    @contextmanager
    def reading(self, digest: str, chosen: Ints | None) -> Iterator[RowReader]:
        with (
            self.explained(),
            closing(self._driver(autocommit=True)) as driver,
        ):
            if chosen is not None:
                driver.read_only = False
                driver.execute(f"CREATE TABLE {RowReader.chosen} (id bigint PRIMARY KEY)")
                with (
                    driver.cursor() as cursor,
                    cursor.copy(f"COPY {RowReader.chosen} FROM STDIN") as copy,
                ):
                    copy.write("".join(f"{state}\n" for state in chosen.tolist()))
                driver.execute(f"ANALYZE {RowReader.chosen}")
                driver.read_only = True
            driver.autocommit = False
            self._check_same(driver, digest)
            yield RowReader(driver, quoted(self.schema))

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        with self.upgrading() as connection:
            connection.exec_driver_sql("LOCK TABLE agent IN EXCLUSIVE MODE")
            yield connection

    @contextmanager
    def upgrading(self) -> Iterator[Connection]:
        with self.session() as connection:
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{WAIT}s'")
            namespace = self._namespace(connection)
            revision = self._recorded(connection, namespace)
            # Before any other table, so that deadlocks cannot occur.
            connection.exec_driver_sql(f"LOCK TABLE {self.name}.game IN ACCESS SHARE MODE")
            if revision in schema.REVISIONS:
                found, made = self._structures(connection, namespace, revision)
                refuse_altered(self.address, found, made)
            connection.exec_driver_sql(f"SET LOCAL search_path TO {self.name}")
            yield connection
            connection.commit()

    def altered(self) -> Iterator[tuple[str, str]]:
        with self.explained(), self.session() as connection:
            namespace = self._namespace(connection)
            revision = self._recorded(connection, namespace)
            yield from altered(*self._structures(connection, namespace, revision))

    def _structures(
        self, connection: Connection, namespace: int, revision: str
    ) -> tuple[dict[str, str], dict[str, str]]:
        """Return the SQL of the objects in the schema, and as the migrations make them."""
        if revision not in self._made:
            self._made[revision] = structure.made(connection, revision, self._at)
        return structure.objects(connection, namespace, self._at), self._made[revision]

    def _namespace(self, connection: Connection) -> int:
        """Return the oid of the schema; raise a StoreError if it is not a game, or is gone."""
        found = self.catalog_row(connection)
        if found is None or found.mark != MARK:
            self.revision()  # says why
            raise StoreReplacedError(f"{self.address} no longer exists; open it again")
        return int(found.oid)

    def agents_in(self) -> tuple[str, list[str]]:
        with self.explained(UNCHANGED), self.session() as connection:
            return self.agents_seen(connection)

    def integrity(self, stopped: Callable[[], bool]) -> Iterator[str]:
        with self.explained(), self.session() as connection:
            asked = {"namespace": self._namespace(connection), "tables": [*schema.metadata.tables]}
            yield from connection.scalars(_BROKEN, asked)

    @contextmanager
    def draft(self, *, force: bool) -> Iterator[PostgresDraft]:
        # The lock of a session: the server releases it when the session ends for any reason.
        number = int.from_bytes(
            blake2b(f"graphstore {self.schema}".encode(), digest_size=8).digest(), signed=True
        )
        with self.explained(UNCHANGED), self.session() as connection:
            self.check_target(connection, force=force)
            if not try_lock(connection, number):
                raise StoreError(
                    f"another build is writing {self.address}; wait for it, or name another schema"
                )
            sweep(connection)
            connection.rollback()  # keeps the lock; no transaction is open while solving
            draft = PostgresDraft(self, connection, number, force=force)
            try:
                yield draft
            except BaseException:
                draft.discard()
                raise
            finally:
                unlock(connection, number)
