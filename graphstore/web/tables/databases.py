"""A solved game as a read-only Datasette database that knows its row counts."""

import os
import re
import sqlite3
import threading
from collections.abc import Awaitable, Callable, Hashable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from copy import copy
from functools import partial
from typing import Any, Final, TypeVar

from datasette.database import Database, QueryInterrupted, Results
from datasette.views.base import DatasetteError

from graphstore.errors import GraphstoreError, QueryError
from graphstore.store.schema import VIEWS, written
from graphstore.store.sql import ERRORS, Watch, guard, weight
from graphstore.store.sqlite.opening import connect, explained
from graphstore.store.store import Store
from graphstore.web.tables.sorting import alternates, sorted_first
from graphstore.web.tables.statements import HAS_SQL, in_thread, limited

T = TypeVar("T")

AS_CSV: Final = ContextVar("AS_CSV", default=False)
"""True if the address of the current request ends in ``.csv``."""

COUNT_LIMIT_MS: Final = 250  # to count the rows of a filter; a page works without the count
LARGEST: Final = 10_000_000  # bytes of the cells of an answer
KEPT: Final = 400  # cached answers
GRACE: Final = 0.2  # seconds after its time limit in which a statement should end itself

_COUNT = re.compile(r'select count\(\*\) from (?:\[(\w+)\]|"?(\w+)"?) *(where )?')
_CENSUS = re.compile(r"select [^()]+ from census +limit \d+")
COUNTED: Final = 100_000  # states up to which the rows of best_move are counted
LARGE: Final = 3_000_000  # states up to which the census is computed without a limit, once

_BEST_MOVE: Final = "CREATE TEMP VIEW best_move AS " + written(
    VIEWS["best_move"], "sqlite"
).replace(" JOIN ", " CROSS JOIN ")
"""The file's own view with CROSS JOIN: SQLite then reads the edges in order, and the first hundred
of six million rows take a millisecond."""

DESCRIBING: Final = (
    "fts_table foreign_keys_for_table get_all_foreign_keys get_table_definition hidden_table_names "
    "label_column_for_table primary_keys table_column_details table_columns table_exists "
    "table_names view_names"
)
"""The methods of Database that describe tables; a page calls them some forty times."""


def _cached(name: str) -> Callable[..., Awaitable[Any]]:
    """Return a method of Database with a cache."""
    inner = getattr(Database, name)

    async def answered(self: "GameFile", *arguments: Hashable) -> Any:
        return copy(await self.remembered((name, *arguments), lambda: inner(self, *arguments)))

    return answered


class GameFile(Database):  # type: ignore[misc]  # Datasette ships no types
    """The Datasette database of a store; if the file is replaced, it opens the new one."""

    def __init__(self, datasette: Any, store: Store) -> None:
        super().__init__(datasette, path=str(store.path), is_mutable=True)
        self.store = store
        self._file = self._identity()
        self._threads = threading.local()
        self._answers: dict[tuple[Hashable, ...], Any] = {}
        self._answers_of: object = None

    @property
    def stamp(self) -> Hashable:
        """A value that changes when the file or its content does."""
        there = self._stat()
        return id(self.store), there and (there.st_ino, there.st_mtime_ns, there.st_size)

    def refresh(self) -> None:
        """Open the file that has replaced the old one, for example after ``build --force``.

        If it cannot be opened, the old one stays open.
        """
        file = self._identity()
        if file in (None, self._file):
            return
        with suppress(GraphstoreError):
            store = Store.open(self.store.path)
            known = (store.info["name"], store.info["rules"])
            if known == (self.store.info["name"], self.store.info["rules"]) and (
                self.store.has_rules and not store.has_rules
            ):
                store.close()
                store = Store.open(self.store.path, rules=self.store.game)
            self.store.close()
            self.store, self._file = store, file

    def interrupt(self) -> None:
        """Interrupt the running statements."""
        for connection in self._all_file_connections:
            connection.interrupt()

    def connect(self, write: bool = False) -> sqlite3.Connection:
        """Return a read-only connection; with `write`, raise RuntimeError."""
        if write:
            raise RuntimeError("a served game is read-only")
        connection = connect(self.store.path)
        self._all_file_connections.append(connection)
        return connection

    async def execute_fn(self, fn: Callable[[sqlite3.Connection], T]) -> T:
        """Call a function with a guarded connection in a thread of Datasette; return its result."""
        seconds = self.ds.sql_time_limit_ms / 1000 + GRACE
        return await in_thread(self.ds.executor, self._in_thread, fn, seconds)

    async def execute(
        self,
        sql: str,
        params: Any = None,
        truncate: bool = False,
        custom_time_limit: int | None = None,
        page_size: int | None = None,
        log_sql_errors: bool = False,  # they are shown to the user
    ) -> Results:
        """Return the rows of a statement; the row counts of whole tables are known."""
        count = None if truncate else _COUNT.fullmatch(sql) or _COUNT.match(sql)
        if count and count[3] is None and count.end() == len(sql):
            known = self._counts(count[1] or count[2])
            if known is not None:
                return Results([(known,)], False, [("count(*)",)])
        if count:
            custom_time_limit = min(custom_time_limit or COUNT_LIMIT_MS, COUNT_LIMIT_MS)
        if _CENSUS.fullmatch(sql) and self.store.info["states"] <= LARGE:

            def census(connection: sqlite3.Connection) -> Results:
                cursor = connection.execute(sql)
                return Results(cursor.fetchall(), False, cursor.description)

            return await self.remembered(
                (sql, ""), lambda: in_thread(self.ds.executor, self._in_thread, census, None)
            )

        quick = sorted_first(sql, self.store.info["starts"])
        if quick != sql and await in_thread(self.ds.executor, alternates, self.store):
            sql = quick
        limit = min(custom_time_limit or self.ds.sql_time_limit_ms, self.ds.sql_time_limit_ms)
        most = self.ds.max_returned_rows
        most += most == (page_size or self.ds.page_size)  # one more shows that a page follows

        async def run_in(executor: Executor, limit: int) -> Results:
            run = limited(sql, params, limit, most if truncate else None)
            return await in_thread(executor, self._in_thread, run, limit / 1000 + GRACE)

        async def answered() -> Results:
            if HAS_SQL.get():
                return await self.ds.statements.answer(run_in, limit)
            return await run_in(self.ds.executor, limit)

        if not truncate and custom_time_limit == self.ds.setting("facet_time_limit_ms"):
            return await self.remembered((sql, repr(params)), answered)
        try:
            return await answered()
        except sqlite3.OperationalError as error:
            if AS_CSV.get():  # else Datasette sends an empty answer
                raise DatasetteError(str(error), status=400) from error
            raise

    async def remembered(self, key: tuple[Hashable, ...], ask: Callable[[], Awaitable[Any]]) -> Any:
        """Return the result of `ask`, cached under `key` until the file changes."""
        now = self.stamp
        if now != self._answers_of or len(self._answers) > KEPT:
            self._answers, self._answers_of = {}, now
        answers = self._answers  # it may be replaced while the answer is awaited
        if key not in answers:
            answers[key] = await ask()
        return answers[key]

    async def attached_databases(self) -> list[Any]:
        """Return an empty list; SQLite would list the database of the temporary view."""
        return []

    def _counts(self, table: str) -> int | None:
        """Return the number of rows of a table or view, or None if it is not known."""
        info = self.store.info
        if table == "best_move" and info["states"] > COUNTED:
            raise QueryInterrupted("best_move is not counted", table, None)
        known = {"state": "states", "edge": "moves", "q_table": "moves"}
        if table == "census":
            return int(info["plies"]) + 1
        return int(info[known[table]]) if table in known else None

    def _in_thread(self, fn: Callable[[sqlite3.Connection], T], seconds: float | None) -> T:
        held = self._threads
        if getattr(held, "store", None) is not self.store:
            with explained(self.store.path.name):
                self._open(held, self.store)
        if self.ds.stopping:
            raise DatasetteError("the server is stopping", title="Stopping", status=503)
        held.watch.raised, held.watch.denied, held.bytes = None, False, 0
        try:
            with _interrupted_after(held.connection, seconds):
                return fn(held.connection)
        except ERRORS as error:
            raise sqlite3.OperationalError(str(held.watch.cause(error))) from error

    def _open(self, held: Any, store: Store) -> None:
        """Open the connection of a thread, and close the one that it had to another file."""
        old = getattr(held, "connection", None)
        held.connection, held.watch = self.connect(), Watch()
        if old is not None:
            self._all_file_connections.remove(old)
            old.close()
        held.connection.execute(_BEST_MOVE)
        self.ds._prepare_connection(held.connection, self.name)
        held.connection.row_factory = partial(_limited_row, held)
        guard(held.connection, store.functions(), held.watch)
        held.store = store

    def _stat(self) -> os.stat_result | None:
        with suppress(OSError):
            return self.store.path.stat()
        return None

    def _identity(self) -> tuple[int, int] | None:
        there = self._stat()
        return there and (there.st_dev, there.st_ino)


for _each in DESCRIBING.split():
    setattr(GameFile, _each, _cached(_each))


@contextmanager
def _interrupted_after(connection: sqlite3.Connection, seconds: float | None) -> Iterator[None]:
    """Interrupt a connection after some seconds, even inside a long step; None means never."""
    if seconds is None:
        yield
        return
    timer = threading.Timer(seconds, connection.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _limited_row(held: Any, cursor: sqlite3.Cursor, row: tuple[Any, ...]) -> sqlite3.Row:
    """Return a row in Datasette's form; raise if the answer becomes larger than `LARGEST`."""
    held.bytes += weight(row)
    if held.bytes > LARGEST:
        held.watch.raised = QueryError(
            f"the answer has more than {LARGEST:,} bytes; select fewer rows or columns"
        )
        raise sqlite3.OperationalError
    return sqlite3.Row(cursor, row)
