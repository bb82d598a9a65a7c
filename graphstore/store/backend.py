"""The protocol of a database for one game: a SQLite file, or a schema in PostgreSQL.

What differs between the two is in `store.sqlite` and `store.postgres`; all else speaks SQL that
both understand. An *address* is what the user types to name a database.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

from sqlalchemy import Connection, Dialect, Engine

from graphstore.rules.game import Ints
from graphstore.store.sql import Answer, Function, Statement

WAIT: Final = 30  # seconds for other readers and writers to end
UNCHANGED: Final = "nothing was changed"
REPLACE: Final = "add --force (force=True) to replace it"

Carry: TypeAlias = Callable[[Connection, str, str], None]
"""Copies agents: takes a connection, and how to qualify the tables of the old and the new game."""


class Draft(Protocol):
    """A game that is being written, which readers do not see until it replaces the old one."""

    def check_space(self, needed: int) -> None:
        """Refuse a game of so many bytes where the disk is known to lack the space."""

    def filling(self, jobs: int) -> AbstractContextManager[Sequence[Connection]]:
        """Yield at most `jobs` connections, one a thread, to empty tables without indexes."""

    def index(self) -> None:
        """Create keys and indexes and analyze; from now on only the first connection is used."""

    def put(self, carry: Carry | None) -> None:
        """Replace the old game, all or nothing; first `carry` its agents, if there are any.

        No other program can write to the old game meanwhile.
        """


class RowReader(Protocol):
    """Reads many rows over its own connection, in one transaction."""

    main: str  # qualifies the tables of the game
    chosen: str  # the table of the chosen ids
    dialect: Dialect

    def cursor(self) -> AbstractContextManager[Any]:
        """Yield the driver's cursor, which streams rows and can be interrupted by Ctrl-C."""

    def edges(self, rows: int) -> Generator[list[Sequence[int]], None, None]:
        """Yield the columns of all edges in the order of their key, so many rows at a time."""


class Backend(Protocol):
    """The database of a game that exists or will be built."""

    address: str  # as the user types it, without a password
    dialect: str  # of its SQL: sqlite or postgresql

    @property
    def product(self) -> str:
        """The database manager and its version."""

    @property
    def path(self) -> Path:
        """The file; raises StoreError where there is none of its own."""

    def for_game(self, name: str) -> "Backend":
        """Return the backend for building a game of that name."""

    def located(self) -> "Backend":
        """Return the backend of the one game that exists; raise StoreError where it is not one."""

    def exists(self) -> bool:
        """Return whether the file or the schema exists."""

    def explained(self, consequence: str = "") -> AbstractContextManager[None]:
        """Turn errors of the database into a StoreError of one line that names the address."""

    def blame(self, error: BaseException) -> None:
        """Raise NotAStoreError if the database is damaged and that can have caused an error."""

    def revision(self) -> str:
        """Return the schema revision of a game.

        Raises:
            StoreMissingError, NotAStoreError: there is none, or it is damaged.
        """

    def engine(self) -> Engine:
        """Return an engine of read-only connections."""

    def check_same(self, connection: Connection, digest: str | None) -> None:
        """Begin to read; raise StoreReplacedError where the game has another digest by now."""

    def sql(self, statement: Statement, functions: Mapping[str, Function], digest: str) -> Answer:
        """Return the rows of a user's read-only statement on the game with a digest.

        Raises:
            QueryError: the SQL is wrong, or would do more than read.
        """

    def reading(self, digest: str, chosen: Ints | None) -> AbstractContextManager[RowReader]:
        """Yield a reader of many rows; `chosen` are ids of states to narrow them to."""

    def writing(self) -> AbstractContextManager[Connection]:
        """Yield a connection in a transaction without other writers; commit it at the end."""

    def upgrading(self) -> AbstractContextManager[Connection]:
        """Yield a connection in a transaction that may change tables; commit it at the end."""

    def agents_in(self) -> tuple[str, list[str]]:
        """Return the names of the game, of any revision, and of its agents; "" without a game."""

    def integrity(self) -> Iterator[str]:
        """Yield a line for each fault that the database manager itself finds."""

    def draft(self, *, force: bool) -> AbstractContextManager[Draft]:
        """Yield a draft; remove it if it was not put in place.

        Raises:
            StoreExistsError: the target exists and `force` is not given.
            StoreError: it cannot be written, or another build is writing it.
        """
