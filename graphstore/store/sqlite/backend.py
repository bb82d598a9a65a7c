"""A SQLite file as the database of a game."""

import errno
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphstore.errors import NotAStoreError, StoreMissingError, StoreReplacedError
from graphstore.store.backend import UNCHANGED, WAIT
from graphstore.store.format import APPLICATION_ID, REVISIONS, views_of_new
from graphstore.store.reader import Reader
from graphstore.store.sql import LONGEST, Answer, Function, Statement, run
from graphstore.store.sqlite.opening import application_id, blame, connect, explained, refuse_traps
from graphstore.store.sqlite.rows import RowReader
from graphstore.util.files import locked_file, uri
from graphstore.util.forks import closed_on_error

if TYPE_CHECKING:  # slow to import
    from sqlalchemy import Connection

    from graphstore.rules.game import Ints
    from graphstore.store.sqlite.draft import SqliteDraft

CACHE = 64 * 2**20  # most bytes of a file that a connection keeps in memory
_STEPS = 100_000  # of SQLite's virtual machine between two checks for signals


class SqliteFile:
    """A file that contains or will contain a game; see `store.backend.Backend`.

    After `revision` only that file is read, and not one that replaces it.
    """

    dialect = "sqlite"
    product = f"SQLite {sqlite3.sqlite_version}"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.address = str(path)
        self._file: os.stat_result | None = None
        self._views: list[str] = []  # of what an older file lacks

    def for_game(self, name: str) -> "SqliteFile":
        return self

    def located(self) -> "SqliteFile":
        return SqliteFile(self.path)

    def exists(self) -> bool:
        return self.path.exists()

    def explained(self, consequence: str = "") -> AbstractContextManager[None]:
        return explained(self.path, consequence)

    def blame(self, error: BaseException) -> None:
        blame(self.path, error)

    def revision(self) -> str:
        path = self.path
        _check_header(path)
        with explained(path):
            before = path.stat()
            with closing(connect(path)) as connection:
                connection.execute("BEGIN")
                refuse_traps(connection, path)
                rows = connection.execute("SELECT version_num FROM alembic_version").fetchall()
                page, count, mode = (
                    connection.execute(f"PRAGMA {each}").fetchone()[0]
                    for each in ("page_size", "page_count", "journal_mode")
                )
                file = path.stat()
        if not os.path.samestat(before, file):  # a build has just replaced it
            return self.revision()
        if mode != "wal" and file.st_size < page * count:
            # SQLite itself accepts a last page that is cut short.
            raise NotAStoreError(
                f"{path} is damaged: it has {file.st_size:,} of {page * count:,} bytes"
            )
        if len(rows) != 1:
            raise NotAStoreError(
                f"{path} is damaged: it records {len(rows)} schema revisions, not one"
            )
        self._file, self._views = file, views_of_new(str(rows[0][0]), "main")
        return str(rows[0][0])

    def _driver(self) -> sqlite3.Connection:
        """Return a read-only connection to the file that `revision` has read."""
        connection = connect(self.path)
        with closed_on_error(connection.close):
            if self._file is not None and not os.path.samestat(self.path.stat(), self._file):
                raise StoreReplacedError(
                    f"{self.path} was replaced by another build meanwhile; open it again"
                )
            for view in self._views:
                connection.execute(view)
        return connection

    def connect(self) -> Reader:
        connection = self._driver()
        with closed_on_error(connection.close):
            connection.execute(f"PRAGMA cache_size = -{CACHE // 1024}")
        return Reader(connection, self.dialect)

    def check_same(self, reader: Reader, digest: str | None) -> None:
        """Do nothing: an open file keeps its content when another file replaces it."""

    def sql(self, statement: Statement, functions: Mapping[str, Function], digest: str) -> Answer:
        return run(self._driver(), statement, functions)

    @contextmanager
    def reading(self, digest: str, chosen: "Ints | None") -> Iterator[RowReader]:
        with explained(self.path):
            connection = self._driver()
        with closing(connection):
            connection.set_progress_handler(lambda: 0, _STEPS)  # lets Python handle signals
            if chosen is not None:
                connection.execute("PRAGMA temp_store = MEMORY")
                connection.execute(f"CREATE TABLE {RowReader.chosen} (id INTEGER PRIMARY KEY)")
                ids = ((state,) for state in chosen.tolist())
                connection.executemany(f"INSERT INTO {RowReader.chosen} VALUES (?)", ids)
            yield RowReader(connection)

    @contextmanager
    def writing(self, *, foreign_keys: bool = True) -> "Iterator[Connection]":
        from sqlalchemy import create_engine
        from sqlalchemy.pool import NullPool

        driver = partial(
            sqlite3.connect,
            uri(self.path.absolute(), "mode=rw"),
            uri=True,
            isolation_level=None,  # the driver would begin a transaction too late
            timeout=WAIT,
        )
        engine = create_engine("sqlite://", creator=driver, poolclass=NullPool)
        while True:
            before = self.path.stat()
            with engine.connect() as connection:
                connection.exec_driver_sql("PRAGMA trusted_schema = OFF")
                connection.exec_driver_sql(f"PRAGMA foreign_keys = {foreign_keys:d}")
                connection.exec_driver_sql("BEGIN IMMEDIATE")
                if not os.path.samestat(before, self.path.stat()):
                    continue  # a build has replaced the file: open the new one
                opened: Any = connection.connection.driver_connection
                opened.set_progress_handler(lambda: 0, _STEPS)
                self._refuse_altered(opened)
                yield connection
                connection.commit()
                return

    def recover(self) -> None:
        if self.path.with_name(f"{self.path.name}-journal").exists():
            _check_header(self.path)
            with suppress(sqlite3.Error), closing(connect(self.path, "mode=rw")) as connection:
                connection.execute("SELECT 1 FROM sqlite_master").fetchone()

    @contextmanager
    def upgrading(self) -> "Iterator[Connection]":
        """Yield a connection in a transaction that may change tables.

        SQLite first rolls back the transaction of a killed program. If most of the file is empty at
        the end, it becomes smaller.
        """
        _check_header(self.path)
        with self.writing(foreign_keys=False) as connection:
            yield connection
        with suppress(sqlite3.Error), closing(connect(self.path, "mode=rw")) as driver:
            free, pages = (
                driver.execute(f"PRAGMA {each}").fetchone()[0]
                for each in ("freelist_count", "page_count")
            )
            if free > pages // 2:
                driver.execute("VACUUM")

    def altered(self) -> Iterator[tuple[str, str]]:
        from graphstore.store.sqlite.structure import made, objects
        from graphstore.store.structure import altered

        with closing(self._driver()) as connection:
            (revision,) = connection.execute("SELECT version_num FROM alembic_version").fetchone()
            yield from altered(objects(connection), made(revision))

    def _refuse_altered(self, connection: Any) -> None:
        from graphstore.store.sqlite.structure import made, objects
        from graphstore.store.structure import refuse_altered

        refuse_traps(connection, self.path)
        revisions = connection.execute("SELECT version_num FROM alembic_version").fetchall()
        if len(revisions) == 1 and revisions[0][0] in REVISIONS:
            refuse_altered(self.address, objects(connection), made(revisions[0][0]))

    def agents_in(self) -> tuple[str, list[str]]:
        """Return the names of the game and its agents, after a rollback as in `upgrading`."""
        from graphstore.store.sqlite.draft import agents_seen

        with self.explained(UNCHANGED):
            if not self.path.exists() or application_id(self.path) is None:
                return "", []
            with closing(connect(self.path, "mode=rw")) as connection:
                return agents_seen(connection, self.path)

    def integrity(self, stopped: Callable[[], bool]) -> Iterator[str]:
        with closing(self._driver()) as connection:
            # The file may have an index on an expression that takes long for each row.
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
            connection.set_progress_handler(stopped, _STEPS)
            try:
                for (found,) in connection.execute("PRAGMA integrity_check"):
                    for line in found.split("\n"):
                        if line != "ok" and not line.startswith("***"):
                            yield line
            except sqlite3.DataError as error:  # a row or an expression is too long
                yield str(error)

    @contextmanager
    def draft(self, *, force: bool) -> "Iterator[SqliteDraft]":
        from graphstore.store.sqlite.draft import SqliteDraft, check_target

        with explained(self.path, UNCHANGED):
            target = check_target(self.path, force=force)
            path = target.with_name(f".{target.name}.building")
            with locked_file(path, target):
                yield SqliteDraft(target, path, force=force)


def _check_header(path: Path) -> None:
    """Raise StoreError if there is no file, or one that graphstore did not write."""
    with explained(path):
        if not path.exists():
            from graphstore.games import not_a_file

            advice = not_a_file(str(path)) or f"run: graphstore build GAME --db {path}"
            raise StoreMissingError(f"there is no file {path}; {advice}")
        if not path.is_file():
            kind = "folder" if path.is_dir() else "pipe or device"
            raise NotAStoreError(f"{path} is a {kind}, not a graphstore database")
        if not os.access(path, os.R_OK, effective_ids=os.access in os.supports_effective_ids):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        if application_id(path) != APPLICATION_ID:
            raise NotAStoreError(f"{path} is not a graphstore database")
