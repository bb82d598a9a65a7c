"""A folder of Parquet files as the database of a game, for reading only."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateTable

from graphstore.errors import NotAStoreError, StoreError, StoreReplacedError
from graphstore.store import schema
from graphstore.store.folder.folder import Folder
from graphstore.store.folder.layout import MANIFEST
from graphstore.store.folder.lookups import Lookups
from graphstore.store.format import REVISIONS
from graphstore.store.reader import Reader
from graphstore.store.sql import Answer, Function, Statement
from graphstore.store.sqlite.backend import SqliteFile
from graphstore.util.forks import closed_on_error


class FolderBackend(SqliteFile):
    """A folder that `build_folder` wrote; see `store.backend.Backend`.

    A connection is to a SQLite database in memory, with all tables but `state` and `edge`, whose
    rows `Reader.find` looks up in the files. Statements that need more than that are refused.
    """

    dialect = "duckdb"
    product = "Parquet"

    def located(self) -> "FolderBackend":
        return FolderBackend(self.path)

    def revision(self) -> str:
        self._stamp = self._stamp_now()
        self._folder = Folder.open(self.path)
        self._lookups = Lookups(self.path, self._folder.contents)
        return REVISIONS[-1]

    def _stamp_now(self) -> tuple[int, ...]:
        """Return what changes when a build replaces the folder."""
        with suppress(OSError):
            there = (self.path / MANIFEST).stat()
            return there.st_dev, there.st_ino, there.st_mtime_ns, there.st_size
        return ()

    def connect(self) -> Reader:
        driver = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        with closed_on_error(driver.close):
            for table in (schema.game, schema.move, *schema.AGENT_TABLES):
                driver.execute(str(CreateTable(table).compile(dialect=sqlite.dialect())))
            driver.execute("CREATE TABLE alembic_version (version_num TEXT)")
            driver.execute("INSERT INTO alembic_version VALUES (?)", REVISIONS[-1:])
            row = [self._folder.info[column.name] for column in schema.game.c]
            driver.execute(f"INSERT INTO game VALUES ({', '.join('?' * len(row))})", row)
            names = self._folder.contents.names.items()
            driver.executemany("INSERT INTO move VALUES (?, ?)", names)
        reader = Reader(driver, "sqlite")
        reader.find = self._lookups.find
        return reader

    def check_same(self, reader: Reader, digest: str | None) -> None:
        if self._stamp_now() != self._stamp:
            raise StoreReplacedError(
                f"{self.path} was replaced by another build meanwhile; open it again"
            )

    @contextmanager
    def explained(self, consequence: str = "") -> Iterator[None]:
        try:
            with super().explained(consequence):
                yield
        except NotAStoreError as error:
            if "no such table: " not in str(error):
                raise
            self._refuse()

    def blame(self, error: BaseException) -> None:
        """Do nothing: the errors of damaged files name them."""

    def sql(self, statement: Statement, functions: Mapping[str, Function], digest: str) -> Answer:
        from graphstore.store.folder.sql import run

        return run(self.path, self._folder.contents, statement, functions)

    def _refuse(self, *_: Any, **options: Any) -> NoReturn:
        raise StoreError(
            f"{self.path} is a game in parts, for look-ups and SQL only; for everything else, load "
            "it into a database with graphstore load"
        )

    reading = writing = upgrading = integrity = _refuse
