"""The protocol of a database for one game: a SQLite file, or a schema in PostgreSQL.

`store.sqlite` and `store.postgres` implement it; all other modules use SQL that both understand.
An *address* is the text by which a user names a database.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from graphstore.store.reader import Reader
from graphstore.store.sql import Answer, Function, Statement

if TYPE_CHECKING:  # slow to import
    from sqlalchemy import Connection

    from graphstore.rules.game import Ints

WAIT: Final = 30  # seconds to wait for other readers and writers
UNCHANGED: Final = "nothing was changed"
REPLACE: Final = "add --force (force=True) to replace it"

Carry: TypeAlias = Callable[["Connection", str, str], None]
"""Copies agents. Takes a connection, and the SQL qualifiers of the old and the new tables."""


RowChunks: TypeAlias = Iterable[Sequence[Any]]
"""Chunks of ascending rows of integers: an array for each column."""


class Draft(Protocol):
    """A game that is being written; readers see it only when it replaces the old one."""

    def check_space(self, needed: int) -> None:
        """Raise StoreError if the disk is known to have less than `needed` bytes."""

    def filling(self, jobs: int) -> "AbstractContextManager[Sequence[Connection]]":
        """Yield at most `jobs` connections, one per thread, to empty tables without indexes."""

    @property
    def put_edges(self) -> Callable[[RowChunks, RowChunks | None], None] | None:
        """The function that writes all edges faster than `insert_rows`, or None.

        It takes chunks of edges in key order, and maybe of (child, parent, move), in this order,
        from which it writes the index. No connection may be used meanwhile.
        """

    def index(self) -> None:
        """Create keys and indexes and analyze; from here on only the first connection is used."""

    def put(self, carry: Carry | None) -> None:
        """Replace the old game, all or nothing, after `carry` has copied its agents, if any.

        Other programs cannot write to the old game meanwhile.
        """


class RowReader(Protocol):
    """A reader of many rows, with its own connection and one transaction."""

    main: str  # SQL qualifier of the tables of the game
    chosen: str  # name of the table of the chosen ids
    dialect: str  # of SQL: sqlite or postgresql

    def cursor(self) -> AbstractContextManager[Any]:
        """Yield the driver's cursor, which streams rows and which Ctrl-C can interrupt."""

    def edges(self, rows: int) -> Generator[list[Sequence[int]], None, None]:
        """Yield the columns of `rows` edges at a time, all edges in key order."""

    def edge_lines(self, rows: int) -> Generator[tuple[int, str], None, None]:
        """Yield `rows` edges at a time as lines of CSV, and their number, in key order."""


class Backend(Protocol):
    """The database of one game, which exists or will be built."""

    address: str  # without a password
    dialect: str  # of SQL: sqlite, postgresql, or duckdb for a folder

    @property
    def product(self) -> str:
        """The name and version of the database system."""

    @property
    def path(self) -> Path:
        """The SQLite file or the folder; raises StoreError if the game is in PostgreSQL."""

    def for_game(self, name: str) -> "Backend":
        """Return the backend in which to build the game `name`."""

    def located(self) -> "Backend":
        """Return the backend of the only game at the address.

        Raises:
            StoreMissingError: the address has no game or several.
        """

    def recover(self) -> None:
        """Let the database undo what a killed program left half-written, if anything."""

    def exists(self) -> bool:
        """Return whether the file or the schema exists."""

    def explained(self, consequence: str = "") -> AbstractContextManager[None]:
        """Turn database errors into a StoreError, one line that names the address."""

    def blame(self, error: BaseException) -> None:
        """Raise NotAStoreError if the database is damaged and this may have caused `error`."""

    def revision(self) -> str:
        """Return the schema revision of the game.

        Raises:
            StoreMissingError: there is no game.
            NotAStoreError: graphstore did not write it, or it is damaged.
        """

    def connect(self) -> Reader:
        """Return a new connection that can only read."""

    def check_same(self, reader: Reader, digest: str | None) -> None:
        """Begin to read; raise StoreReplacedError if the game now has another digest."""

    def sql(self, statement: Statement, functions: Mapping[str, Function], digest: str) -> Answer:
        """Return the rows of a user's read-only statement on the game with this digest.

        Raises:
            QueryError: the SQL is wrong, or would do more than read.
        """

    def reading(self, digest: str, chosen: "Ints | None") -> AbstractContextManager[RowReader]:
        """Yield a reader of many rows; with `chosen`, of the states with these ids only."""

    def altered(self) -> Iterator[tuple[str, str]]:
        """Yield the name and SQL of each object that is not as the migrations make it."""

    def writing(self) -> "AbstractContextManager[Connection]":
        """Yield a connection in a transaction that excludes other writers; commit at the end.

        Raises:
            NotAStoreError: a table is not as the migrations make it, so writing could run code.
        """

    def upgrading(self) -> "AbstractContextManager[Connection]":
        """Yield a connection in a transaction that may change tables; commit at the end.

        Raises:
            NotAStoreError: as for `writing`.
        """

    def agents_in(self) -> tuple[str, list[str]]:
        """Return the names of the game, of any schema revision, and of its agents.

        Without a game the first is "".
        """

    def integrity(self, stopped: Callable[[], bool]) -> Iterator[str]:
        """Yield one line for each fault that the database system itself finds.

        SQLite raises an error soon after `stopped` returns True in another thread.
        """

    def draft(self, *, force: bool) -> AbstractContextManager[Draft]:
        """Yield a draft; remove it if it did not replace the target.

        Raises:
            StoreExistsError: the target exists and `force` is not given.
            StoreError: it cannot be written, or another build is writing it.
        """
