"""A SQLite file that is being built beside its target, locked, and renamed at the end."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, create_engine
from sqlalchemy.pool import NullPool

from graphstore.errors import NotAStoreError, StoreError, StoreExistsError
from graphstore.solver.estimate import sized
from graphstore.store import schema
from graphstore.store.backend import REPLACE, UNCHANGED, WAIT, Carry
from graphstore.store.migrating import migrate
from graphstore.store.sqlite.opening import explained

if TYPE_CHECKING:
    from graphstore.store.sqlite.backend import SqliteFile


class SqliteDraft:
    """A file beside the target, which will be renamed."""

    def __init__(self, place: "SqliteFile", path: Path, lock: int) -> None:
        self._place = place
        self._path = path
        self._lock = lock
        self._filling: Connection

    def check_space(self, needed: int) -> None:
        """Refuse what the disk has no room for, before it is full."""
        free = shutil.disk_usage(self._path.parent).free
        if needed > free:
            raise StoreError(
                f"{self._path.parent} has room for {sized(free)}; the file takes {sized(needed)}"
            )

    @contextmanager
    def filling(self, jobs: int) -> Iterator[list[Connection]]:
        """Lend the one connection that can write; commit at the end."""
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
            self._filling = connection
            yield [connection]
            connection.commit()

    def index(self) -> None:
        """Make the index, and tell the planner what is there."""
        connection = self._filling
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


def check_target(target: Path, *, force: bool) -> None:
    """Refuse what no file can be built at, or must not be."""
    if target.is_dir():
        raise StoreError(f"{target} is a folder; name a file in it")
    if not target.absolute().parent.is_dir():
        raise StoreError(f"there is no folder {target.parent}; make it first")
    if os.path.lexists(target) and not force:
        raise StoreExistsError(f"{target} exists; {REPLACE}")
    if target.exists() and not target.is_file():
        raise StoreError(f"{target} is a pipe or device, which a database cannot replace")


def take_over(draft: Path) -> int:
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
