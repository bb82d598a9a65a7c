"""What a place for a game can do: a SQLite file, or a schema in a PostgreSQL database.

All that differs between the two is in the rooms of this package, those of the one called sqlite...,
those of the other pg...; the rest asks a place, and speaks SQL that both understand. An *address*
is what a person types to name a place.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

from sqlalchemy import Connection, Dialect, Engine

from graphstore.rules.game import Ints
from graphstore.store.sql import Answer, Function, Statement

WAIT: Final = 30  # seconds for others, who write or read, to end
UNCHANGED: Final = "nothing was changed"
REPLACE: Final = "add --force (force=True) to replace it"

Carry: TypeAlias = Callable[[Connection, str, str], None]
"""Called with a connection that sees the old game and the new one, and how to qualify the tables
of each."""


class Draft(Protocol):
    """A game that is being written and can take the place of the old one."""

    def check_space(self, needed: int) -> None:
        """Refuse a game of so many bytes, if it is known that there is no room for it."""

    def filling(self, jobs: int) -> AbstractContextManager[Sequence[Connection]]:
        """Lend connections to empty tables, without what would make loading slow.

        They are at most so many as `jobs`, each for a thread of its own. Until the draft is put in
        its place, nobody else sees it.
        """

    def index(self) -> None:
        """Make what was left out for the load to be quick, and tell the planner what is there.

        From then on only the first connection is used.
        """

    def put(self, carry: Carry | None) -> None:
        """Put the draft in the place of the old game, all or nothing; `carry` agents first.

        It is called if the old game has agents, while nobody can write there.
        """


class Selecting(Protocol):
    """Reads many rows, over a connection of its own, in one transaction.

    Attributes:
        main: how the tables of the game are qualified.
        chosen: the table of the chosen ids.
        dialect: of the SQL.
    """

    main: str
    chosen: str
    dialect: Dialect

    def cursor(self) -> AbstractContextManager[Any]:
        """Lend the driver's cursor, which streams the rows, and in which Ctrl-C is seen."""

    def edges(self, rows: int) -> Generator[list[Sequence[int]], None, None]:
        """Yield the columns of all edges in the order of their key, so many rows at a time."""


class Place(Protocol):
    """Where a game is, or will be.

    Attributes:
        address: as a person types it, and as messages say it: without a password.
        dialect: of its SQL: sqlite or postgresql.
        product: what manages it, and which version.
    """

    address: str
    dialect: str

    @property
    def product(self) -> str:
        """What manages it, and which version."""

    @property
    def path(self) -> Path:
        """The file.

        Raises:
            StoreError: it is not in a file of its own.
        """

    def for_game(self, name: str) -> "Place":
        """Return the place in which a game of that name is built."""

    def located(self) -> "Place":
        """Return the place of the game that is there.

        Raises:
            StoreError: there is none, or there are several.
        """

    def exists(self) -> bool:
        """Return whether something is there."""

    def explained(self, consequence: str = "") -> AbstractContextManager[None]:
        """Turn errors of the database into one line about the place."""

    def blame(self, error: BaseException) -> None:
        """Say what is wrong with a damaged place where that can be why an error was raised.

        Raises:
            NotAStoreError: it is damaged, and the error is not of a caller's own code.
        """

    def revision(self) -> str:
        """Return the schema revision of a game that is there.

        Raises:
            StoreMissingError, NotAStoreError: there is none, or it is damaged.
        """

    def engine(self) -> Engine:
        """Return an engine whose connections only read."""

    def check_same(self, connection: Connection, digest: str | None) -> None:
        """Begin to read; refuse where another game than that of a digest has taken the place.

        Raises:
            StoreError: it has.
        """

    def sql(self, statement: Statement, functions: Mapping[str, Function], digest: str) -> Answer:
        """Return the rows of a user's statement, which can only read.

        Args:
            statement: what the user typed.
            functions: that it may call, where they can be called.
            digest: of the game that is meant, should another have taken the place.

        Raises:
            QueryError: the SQL is wrong, or would do more than read.
        """

    def selecting(self, digest: str, chosen: Ints | None) -> AbstractContextManager[Selecting]:
        """Lend what reads many rows; `chosen` are the ids of states to narrow them to."""

    def writing(self) -> AbstractContextManager[Connection]:
        """Lend a connection in a transaction that no other writer is in; commit it at the end."""

    def upgrading(self) -> AbstractContextManager[Connection]:
        """Lend a connection in a transaction in which tables may be changed."""

    def agents_in(self) -> tuple[str, list[str]]:
        """Return the name of the game and of its agents, whatever its version; or nothing."""

    def integrity(self) -> Iterator[str]:
        """Yield what the database manager itself finds wrong, a line each."""

    def draft(self, *, force: bool) -> AbstractContextManager[Draft]:
        """Lend a draft that can take the place; if it does not, nothing is left of it.

        Raises:
            StoreExistsError: something is there and `force` is not given.
            StoreError: it cannot be written, or another build is writing it.
        """
