"""The draft of a SQLite file, in the same folder, which is renamed at the end.

A build that is killed leaves the old file, or no file.
"""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path

from sqlalchemy import Connection, create_engine
from sqlalchemy.pool import NullPool

from graphstore.errors import NotAStoreError, StoreError, StoreExistsError
from graphstore.solver.estimate import sized
from graphstore.store import schema
from graphstore.store.backend import REPLACE, UNCHANGED, WAIT, Carry, RowChunks
from graphstore.store.migrating import migrate
from graphstore.store.sqlite.opening import application_id, connect, explained, refuse_traps
from graphstore.store.sqlite.trees import write_trees
from graphstore.util.files import WINDOWS, keep_rights, name_new, rename, sync, uri


class SqliteDraft:
    """A locked file in the folder of the target; see `store.backend.Draft`."""

    def __init__(self, target: Path, path: Path, *, force: bool) -> None:
        self._target = target
        self._path = path
        self._force = force
        self._filling: Connection
        self._roots: dict[str, int]  # pages by tables and indexes
        self._indexed = False

    def check_space(self, needed: int) -> None:
        free = shutil.disk_usage(self._path.parent).free
        if needed > free:
            raise StoreError(
                f"{self._path.parent} has room for {sized(free)}; the file needs {sized(needed)}"
            )

    @contextmanager
    def filling(self, jobs: int) -> Iterator[list[Connection]]:
        driver = partial(sqlite3.connect, self._path, timeout=1)
        engine = create_engine("sqlite://", creator=driver, poolclass=NullPool)
        with engine.connect() as connection:
            # A draft is discarded if the build fails, so it needs no journal. The solver's columns
            # satisfy the CHECKs, which are for later changes and for integrity_check. A small cache
            # and two threads sort the index faster.
            pragmas = (
                "page_size=4096",
                "auto_vacuum=NONE",
                "journal_mode=OFF",
                "synchronous=OFF",
                "ignore_check_constraints=ON",
            )
            for pragma in (*pragmas, "cache_size=-16384", "threads=2"):
                connection.exec_driver_sql(f"PRAGMA {pragma}")
            connection.exec_driver_sql(f"PRAGMA application_id={schema.APPLICATION_ID}")
            migrate(connection)
            query = "SELECT name, rootpage FROM sqlite_master"
            self._roots = {str(name): page for name, page in connection.exec_driver_sql(query)}
            connection.commit()
            self._filling = connection
            yield [connection]
            connection.commit()

    def put_edges(self, rows: RowChunks, by_child: RowChunks | None) -> None:
        trees = {"edge": rows}
        if by_child is not None:
            self._indexed = True
            trees[str(schema.edge_child.name)] = by_child
        write_trees(self._path, {self._roots[name]: chunks for name, chunks in trees.items()})

    def index(self) -> None:
        connection = self._filling
        if not self._indexed:
            schema.edge_child.drop(connection)  # it is empty
            schema.edge_child.create(connection)
        connection.exec_driver_sql("PRAGMA analysis_limit=1000")
        connection.exec_driver_sql("ANALYZE")

    def put(self, carry: Carry | None) -> None:
        target = self._target
        with ExitStack() as stack:
            if target.exists():
                sync(self._path)  # most of it, before other programs have to wait
                check_target(target, force=self._force)  # another program may have created it
                with suppress(NotAStoreError) if carry is None else nullcontext():
                    self._hold(stack, carry)
            sync(self._path)
            for end in ("-wal", "-shm", "-journal"):  # SQLite would use them for the new file
                target.with_name(target.name + end).unlink(missing_ok=True)
            if WINDOWS:
                stack.close()  # which cannot replace an open file
            if self._force:
                keep_rights(target, self._path)
                rename(self._path, target, replace=True)
            else:
                name_new(self._path, target)
        sync(target.absolute().parent)

    def _hold(self, stack: ExitStack, carry: Carry | None) -> None:
        """Lock the old file for writing, if it is SQLite's, and copy its agents."""
        with explained(self._target, UNCHANGED):
            if application_id(self._target) is None:
                return
            old = stack.enter_context(closing(connect(self._target, "mode=rw", timeout=WAIT)))
            old.execute("PRAGMA journal_mode = DELETE").fetchall()  # removes the WAL
            old.execute("BEGIN IMMEDIATE")
            if carry is not None and agents_seen(old, self._target)[1]:
                self._copy_agents(carry)

    def _copy_agents(self, carry: Carry) -> None:
        driver = partial(
            sqlite3.connect, uri(self._path.absolute(), "mode=rw"), isolation_level=None, uri=True
        )
        engine = create_engine("sqlite://", creator=driver, poolclass=NullPool)
        with engine.connect() as copy:
            old = uri(self._target.absolute(), "mode=ro")
            # The draft needs no journal, which a killed build would leave.
            copy.exec_driver_sql("PRAGMA journal_mode = OFF")
            copy.exec_driver_sql("ATTACH ? AS old", (old,))
            copy.exec_driver_sql("BEGIN")
            carry(copy, "old", "main")
            copy.commit()


def check_target(path: Path, *, force: bool) -> Path:
    """Return the file to write, with links resolved; raise StoreError if it must not be replaced.

    Only an empty file, or one of graphstore, even if it is damaged, is replaced.
    """
    target = Path(os.path.realpath(path)) if path.is_symlink() else path
    if path.is_dir():
        raise StoreError(f"{path} is a folder; name a file in it")
    if path.exists() and not path.is_file():
        raise StoreError(f"{path} is a pipe or device, which a database cannot replace")
    if target.is_symlink():
        raise StoreError(f"{path} is a link that leads to itself; remove it")
    if not target.absolute().parent.is_dir():
        raise StoreError(f"there is no folder {target.parent}; create it first")
    if target.exists() and target.stat().st_size and not _is_ours(target):
        raise StoreExistsError(
            f"{target} exists and is not a graphstore database, so it is not replaced; remove it, "
            "or name another file"
        )
    if os.path.lexists(path) and not force:
        raise StoreExistsError(f"{path} exists; {REPLACE}")
    return target


def _is_ours(path: Path) -> bool:
    """Return whether graphstore wrote a SQLite file, as its header says."""
    try:
        return application_id(path) == schema.APPLICATION_ID
    except sqlite3.DatabaseError:  # it is damaged
        with path.open("rb") as file:
            return file.read(72)[68:] == schema.APPLICATION_ID.to_bytes(4)


def agents_seen(connection: sqlite3.Connection, path: Path) -> tuple[str, list[str]]:
    """Return the name of the game, "" without one, and the names of its agents."""
    refuse_traps(connection, path)
    agents, games = _names(connection, "agent"), _names(connection, "game")
    return (games or [""])[0], agents


def _names(connection: sqlite3.Connection, table: str) -> list[str]:
    """Return the names in a table; an empty list if the table is missing."""
    try:
        rows = connection.execute(f"SELECT name FROM {table} NOT INDEXED").fetchall()
    except sqlite3.OperationalError as error:
        if not str(error).startswith("no such table"):
            raise
        return []
    return sorted(str(name) for (name,) in rows)
