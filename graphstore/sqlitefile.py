"""A place for a game: a SQLite file. See `graphstore.places` for what a place can do.

A build writes a draft beside its target and renames it at the end, so that, killed at any moment,
it leaves the old file or none.
"""

import errno
import json
import os
import shutil
import sqlite3
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Dialect, Engine, create_engine
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool, QueuePool

from graphstore import schema, usersql
from graphstore.errors import (
    NotAStoreError,
    StoreError,
    StoreExistsError,
    StoreMissingError,
    StoreReplacedError,
)
from graphstore.game import Ints
from graphstore.growth import sized
from graphstore.interrupts import held_back
from graphstore.migrating import migrate
from graphstore.places import REPLACE, UNCHANGED, WAIT, Carry
from graphstore.precautions import blamed, careful, refuse_traps

CACHE = 64 * 2**20  # bytes of a file, at most, that a connection keeps in memory
_STEPS = 100_000  # of SQLite's virtual machine between two chances to interrupt it
_PAGE = """
SELECT json_group_array(parent), json_group_array(move), json_group_array(child)
FROM (SELECT * FROM edge WHERE (parent, move) > (?, ?) ORDER BY parent, move LIMIT ?)
"""


class SqliteFile:
    """A file that has a game, or will have.

    Once its revision was asked, it is that file alone that is read, and none that takes its place.

    Attributes:
        path: where it is.
        address: the same as text.
        product: what manages it, and which version.
    """

    product = f"SQLite {sqlite3.sqlite_version}"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.address = str(path)
        self._file: os.stat_result | None = None

    def for_game(self, name: str) -> "SqliteFile":
        """Return the place itself: a file may have any name."""
        return self

    def located(self) -> "SqliteFile":
        """Return the place of the file that is there by now: it holds one game."""
        return SqliteFile(self.path)

    def exists(self) -> bool:
        """Return whether something is there."""
        return self.path.exists()

    @contextmanager
    def explained(self, consequence: str = "") -> Iterator[None]:
        """Turn errors of the database and the file system into one line about the file."""
        with explained(self.path, consequence):
            yield

    def blamed(self) -> AbstractContextManager[None]:
        """Turn what a damaged file has led to into one line about it; what is a bug stays one."""
        return blamed(self.path)

    def revision(self) -> str:
        """Return the schema revision of a file that is ours.

        Raises:
            StoreMissingError, NotAStoreError: there is none, or it is damaged.
        """
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
            # SQLite itself does not mind if the last page is there in part
            raise NotAStoreError(
                f"{path} is damaged: it has {file.st_size:,} bytes of {page * count:,}"
            )
        if len(rows) != 1:
            raise NotAStoreError(
                f"{path} is damaged: it records {len(rows)} schema revisions, not one"
            )
        self._file = file
        return str(rows[0][0])

    def connect(self) -> sqlite3.Connection:
        """Return a read-only connection of the standard library's driver.

        Raises:
            StoreReplacedError: another file has taken the place of the one that was opened.
        """
        connection = connect(self.path)
        if self._file is None or os.path.samestat(self.path.stat(), self._file):
            return connection
        connection.close()
        raise StoreReplacedError(
            f"{self.path} was replaced by another build meanwhile; open it anew"
        )

    def engine(self) -> Engine:
        """Return an engine whose connections only read, and keep in memory what they have read."""

        def remembering() -> sqlite3.Connection:
            connection = self.connect()
            connection.execute(f"PRAGMA cache_size = -{CACHE // 1024}")
            return connection

        return create_engine(
            "sqlite://",
            creator=remembering,
            poolclass=QueuePool,
            pool_size=8,
            max_overflow=-1,
            pool_use_lifo=True,
            pool_reset_on_return=None,
        )

    def check_same(self, connection: Connection, digest: str | None) -> None:
        """Do nothing: an open file stays what it was when another takes its name."""

    def sql(
        self,
        statement: str,
        parameters: Sequence[Any] | Mapping[str, Any],
        functions: Mapping[str, usersql.Function],
        *,
        seconds: float | None = None,
        rows: int | None = None,
    ) -> usersql.Answer:
        """Return the rows of a person's statement, which can only read."""
        return usersql.run(
            self.connect(), statement, parameters, functions, seconds=seconds, rows=rows
        )

    @contextmanager
    def selecting(self, digest: str, chosen: Ints | None) -> Iterator["Selecting"]:
        """Lend what reads many rows; `chosen` are the ids of states to narrow them to."""
        with explained(self.path):
            connection = self.connect()
        with closing(connection):
            connection.set_progress_handler(lambda: 0, _STEPS)  # where Python sees to signals
            if chosen is not None:
                connection.execute("PRAGMA temp_store = MEMORY")
                connection.execute(f"CREATE TABLE {Selecting.chosen} (id INTEGER PRIMARY KEY)")
                ids = ((state,) for state in chosen.tolist())
                connection.executemany(f"INSERT INTO {Selecting.chosen} VALUES (?)", ids)
            yield Selecting(connection)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Lend a connection in a transaction that no other writer is in; commit it at the end.

        A trainer that waited for a build finds another file in its place, and opens it.
        """
        driver = partial(
            sqlite3.connect,
            f"{self.path.absolute().as_uri()}?mode=rw",
            uri=True,
            isolation_level=None,  # the driver itself would begin one later than it is needed
            timeout=WAIT,
        )
        engine = create_engine("sqlite://", creator=driver, poolclass=NullPool)
        while True:
            before = self.path.stat()
            with engine.connect() as connection:
                connection.exec_driver_sql("PRAGMA trusted_schema = OFF")
                connection.exec_driver_sql("PRAGMA foreign_keys = ON")
                connection.exec_driver_sql("BEGIN IMMEDIATE")
                if not os.path.samestat(before, self.path.stat()):
                    continue  # a build has put another file in its place, which is the one to use
                yield connection
                connection.commit()
                return

    @contextmanager
    def upgrading(self) -> Iterator[Connection]:
        """Lend a connection in a transaction in which tables may be changed.

        A write that another program was killed in is rolled back first.
        """
        _check_header(self.path)
        with closing(sqlite3.connect(self.path)) as connection:
            connection.execute("PRAGMA schema_version").fetchall()
        # The driver itself would begin a transaction only at the first INSERT or the like.
        driver = partial(sqlite3.connect, self.path, isolation_level=None)
        engine = create_engine("sqlite://", creator=driver, poolclass=NullPool)
        with engine.begin() as begun:
            begun.exec_driver_sql("BEGIN IMMEDIATE")
            yield begun

    def agents_in(self) -> tuple[str, list[str]]:
        """Return the game and the agents of a file of any version, or anything else."""
        if not self.path.exists():
            return "", []
        try:
            with closing(connect(self.path)) as connection:
                refuse_traps(connection, self.path)
                (game,) = connection.execute("SELECT name FROM game").fetchone()
                there = "SELECT 1 FROM sqlite_master WHERE name = 'agent'"
                if not connection.execute(there).fetchall():
                    return str(game), []
                rows = connection.execute("SELECT name FROM agent ORDER BY name").fetchall()
                return str(game), [str(name) for (name,) in rows]
        except (sqlite3.Error, TypeError):
            return "", []

    def integrity(self) -> Iterator[str]:
        """Yield what the database manager itself finds wrong, a line each."""
        with closing(self.connect()) as connection:
            for (found,) in connection.execute("PRAGMA integrity_check"):
                for line in found.split("\n"):
                    if line != "ok" and not line.startswith("***"):
                        yield line

    @contextmanager
    def draft(self, *, force: bool) -> Iterator["SqliteDraft"]:
        """Lend a draft that can take the place of the file; if it does not, nothing is left of it.

        The draft is locked while it is written; what a killed build left is not locked, and is
        taken over.
        """
        with explained(self.path, UNCHANGED):
            _check_target(self.path, force=force)
            path = self.path.with_name(f".{self.path.name}.building")
            lock = None
            try:
                with held_back():
                    lock = _take_over(path)
                yield SqliteDraft(self, path, lock)
            except BaseException:
                if lock is not None:  # else it is another build's
                    path.unlink(missing_ok=True)
                raise
            finally:
                if lock is not None:
                    os.close(lock)


class SqliteDraft:
    """A file beside the target, which will be renamed."""

    def __init__(self, place: SqliteFile, path: Path, lock: int) -> None:
        self._place = place
        self._path = path
        self._lock = lock

    def check_space(self, needed: int) -> None:
        """Refuse what the disk has no room for, before it is full."""
        free = shutil.disk_usage(self._path.parent).free
        if needed > free:
            raise StoreError(
                f"{self._path.parent} has room for {sized(free)}; the file takes {sized(needed)}"
            )

    @contextmanager
    def filling(self) -> Iterator[Connection]:
        """Lend a connection to empty tables without an index; commit at the end."""
        driver = partial(sqlite3.connect, self._path, timeout=1)
        engine = create_engine("sqlite://", creator=driver, poolclass=NullPool)
        with engine.connect() as connection:
            # The draft is worth nothing until it is renamed, so it needs no journal; the solver's
            # columns keep the CHECKs, which are there for later hands and for integrity_check.
            # A small cache sorts the index faster than a large one, and so do two threads.
            pragmas = ("journal_mode=OFF", "synchronous=OFF", "ignore_check_constraints=ON")
            for pragma in (*pragmas, "cache_size=-16384", "threads=2"):
                connection.exec_driver_sql(f"PRAGMA {pragma}")
            connection.exec_driver_sql(f"PRAGMA application_id={schema.APPLICATION_ID}")
            migrate(connection)
            schema.edge_child.drop(connection)
            yield connection
            connection.commit()

    def index(self, connection: Connection) -> None:
        """Make what was left out for the load to be quick, and tell the planner what is there."""
        schema.edge_child.create(connection)
        connection.exec_driver_sql("PRAGMA analysis_limit=1000")
        connection.exec_driver_sql("ANALYZE")

    def put(self, carry: Carry | None) -> None:
        """Put the draft in the place of the file.

        Until then nothing can be written to the old file whose agents are carried over, so that
        no game is lost.
        """
        target = self._place.path
        with ExitStack() as stack:
            if carry is not None and self._place.agents_in()[1]:
                held = stack.enter_context(closing(sqlite3.connect(target, timeout=WAIT)))
                held.execute("PRAGMA journal_mode = DELETE").fetchall()
                held.execute("BEGIN IMMEDIATE")
                driver = partial(sqlite3.connect, self._path, isolation_level=None)
                engine = create_engine("sqlite://", creator=driver, poolclass=NullPool)
                with engine.connect() as copy:
                    old = f"{target.absolute().as_uri()}?mode=ro"
                    # A killed build would leave a journal, and the draft, like its first pages,
                    # needs none.
                    copy.exec_driver_sql("PRAGMA journal_mode = OFF")
                    copy.exec_driver_sql("ATTACH ? AS old", (old,))
                    copy.exec_driver_sql("BEGIN")
                    carry(copy, "old", "main")
                    copy.commit()
            os.fsync(self._lock)
            _settle(target)
            self._path.replace(target)
        _sync_folder(target.absolute().parent)


class Selecting:
    """Reads many rows of a file, over a connection of its own.

    Attributes:
        main: how the tables of the game are qualified.
        chosen: the table of the chosen ids.
        dialect: of the SQL.
    """

    main = "main"
    chosen = "temp.graphstore_chosen"
    dialect: Dialect = sqlite.dialect()

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    @contextmanager
    def cursor(self) -> Iterator[sqlite3.Cursor]:
        """Lend a cursor in whose long steps Ctrl-C is seen."""
        cursor = self._connection.cursor()
        try:
            yield cursor
        except sqlite3.OperationalError as error:
            if str(error) == "interrupted":
                raise KeyboardInterrupt from None
            raise
        finally:
            with suppress(sqlite3.ProgrammingError):  # rows read half may outlive the connection
                cursor.close()

    def edges(self, rows: int) -> Generator[list[Sequence[int]], None, None]:
        """Yield the columns of all edges in the order of their key, so many rows at a time.

        SQLite makes one text of each, as the driver takes twice as long for that many rows; and a
        thread of its own fetches the next while the last is made use of.
        """
        with self.cursor() as cursor, ThreadPoolExecutor(max_workers=1) as ahead:

            def page(parent: int, move: int) -> tuple[str, ...]:
                texts: tuple[str, ...] = cursor.execute(_PAGE, (parent, move, rows)).fetchone()
                return texts

            with held_back():  # a thread whose start is interrupted may never end
                coming = ahead.submit(page, -1, 0)  # no id is negative
            while (texts := coming.result())[0] != "[]":
                coming = ahead.submit(page, _last(texts[0]), _last(texts[1]))
                yield [json.loads(text) for text in texts]


def _last(numbers: str) -> int:
    """Return the last of a JSON list of numbers."""
    return int(numbers[max(numbers.rfind(","), 0) + 1 : -1])


def connect(path: Path, how: str = "") -> sqlite3.Connection:
    """Return a read-only connection of the standard library's driver."""
    uri = f"{path.absolute().as_uri()}?mode=ro{how}"
    return careful(sqlite3.connect(uri, uri=True, check_same_thread=False))


@contextmanager
def explained(path: str | os.PathLike[str], consequence: str = "") -> Iterator[None]:
    """Turn errors of the database and the file system into one line about the file."""
    try:
        yield
    except StoreError:
        raise
    except (DBAPIError, sqlite3.Error, OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "orig", None) or error
        what = getattr(reason, "strerror", None) or str(reason)
        if isinstance(reason, UnicodeDecodeError):  # of what SQLite itself would say
            what = bytes(reason.object).decode(errors="replace")
        what = " ".join(what.split())
        then = f"{'; ' * bool(consequence)}{consequence}"
        if what == "database is locked":
            what = "another program is writing to it; try again when it is done"
        damaged = type(reason) is sqlite3.DatabaseError  # SQLITE_CORRUPT or SQLITE_NOTADB
        if damaged or what.startswith(("no such", "malformed", "Could not decode")):
            raise NotAStoreError(f"{path} is damaged: {what}{then}") from error
        if getattr(reason, "sqlite_errorname", "") == "SQLITE_READONLY_ROLLBACK":
            what = f"another program was killed while it wrote; run: graphstore upgrade {path}"
        raise StoreError(f"{path}: {what}{then}") from error


def _check_header(path: Path) -> None:
    """Refuse a file that graphstore did not write.

    SQLite reads it, since a process that closes any descriptor of a file of its own drops all its
    locks on it; and without journals, which another program may have left.
    """
    with explained(path):
        if not path.exists():
            raise StoreMissingError(f"there is no file {path}; graphstore build GAME --db {path}")
        if not path.is_file():
            kind = "folder" if path.is_dir() else "pipe or device"
            raise NotAStoreError(f"{path} is a {kind}, not a graphstore database")
        if not os.access(path, os.R_OK, effective_ids=os.access in os.supports_effective_ids):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        with closing(connect(path, "&immutable=1")) as connection:
            try:
                (found,) = connection.execute("PRAGMA application_id").fetchone()
            except sqlite3.DatabaseError as error:
                if error.sqlite_errorname != "SQLITE_NOTADB":
                    raise
                found = None
        if found != schema.APPLICATION_ID:
            raise NotAStoreError(f"{path} is not a graphstore database")


def _check_target(target: Path, *, force: bool) -> None:
    if target.is_dir():
        raise StoreError(f"{target} is a folder; name a file in it")
    if not target.absolute().parent.is_dir():
        raise StoreError(f"there is no folder {target.parent}; make it first")
    if os.path.lexists(target) and not force:
        raise StoreExistsError(f"{target} exists; {REPLACE}")
    if target.exists() and not target.is_file():
        raise StoreError(f"{target} is a pipe or device, which a database cannot replace")


def _take_over(draft: Path) -> int:
    """Return an open file descriptor of an empty draft that no other build is writing."""
    while True:
        lock = os.open(draft, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            with suppress(ImportError):  # no fcntl on Windows, where an open file cannot be taken
                import fcntl

                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if draft.exists() and os.path.samestat(os.fstat(lock), draft.stat()):
                os.ftruncate(lock, 0)
                return lock
        except BlockingIOError:
            os.close(lock)
            raise StoreError(
                f"another build is writing {draft}; wait for it, or name another file"
            ) from None
        except BaseException:
            os.close(lock)
            raise
        os.close(lock)  # the build that wrote it has just renamed it


def _settle(target: Path) -> None:
    """Let SQLite fold a journal that lies beside the old file into it, or it would hit the new."""
    journals = [target.with_name(target.name + end) for end in ("-wal", "-shm", "-journal")]
    if not any(journal.exists() for journal in journals):
        return
    if target.exists():
        with (
            suppress(NotAStoreError),
            explained(target, UNCHANGED),
            closing(sqlite3.connect(target, timeout=1)) as old,
        ):
            old.execute("PRAGMA journal_mode = DELETE").fetchall()
            old.execute("SELECT count(*) FROM sqlite_master").fetchall()
            if any(journal.exists() for journal in journals):
                raise StoreError(f"{target} is being written by another program; close it first")
    for journal in journals:  # of a file that is gone, or that SQLite itself cannot read
        journal.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    with suppress(OSError):  # not every file system has folders that can be synced
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
