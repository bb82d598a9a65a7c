"""Reading through the driver of SQLite or PostgreSQL, with SQL that both understand.

Importing SQLAlchemy takes longer than most reads, so only `Reader.core` does it.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, Self

if TYPE_CHECKING:
    from sqlalchemy import Connection

KEPT: Final = 8  # connections that a pool keeps open
_ENGINES: Final[dict[str, dict[str, Any]]] = {
    "sqlite": {"url": "sqlite://"},
    "postgresql": {"url": "postgresql+psycopg://", "use_native_hstore": False},
}


class Reader:
    """A connection of a driver that can only read; `dialect` is sqlite or postgresql.

    In a folder, whose rows are not in the connection, `find` takes the place of the statements of
    `by_key.Keyed`.
    """

    def __init__(self, driver: Any, dialect: str) -> None:
        self.driver = driver
        self.dialect = dialect
        self.find: Callable[[Any, Sequence[Any]], list[tuple[Any, ...]]] | None = None
        self._engine: Any = None

    @classmethod
    def of(cls, connection: "Connection") -> Self:
        """Return the reader that a connection of SQLAlchemy uses."""
        return cls(connection.connection.driver_connection, connection.dialect.name)

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a statement, in which ``?`` marks a parameter."""
        cursor = self.driver.cursor()
        rows: list[tuple[Any, ...]] = cursor.execute(self.text(sql), parameters).fetchall()
        cursor.close()
        return rows

    def text(self, sql: str) -> str:
        """Return a statement as the driver takes it."""
        return sql if self.dialect == "sqlite" else sql.replace("?", "%s")

    @contextmanager
    def core(self) -> Iterator["Connection"]:
        """Yield the connection as one of SQLAlchemy."""
        if self._engine is None:
            from sqlalchemy import create_engine
            from sqlalchemy.pool import StaticPool

            settings = _ENGINES[self.dialect]
            self._engine = create_engine(
                **settings, creator=lambda: self.driver, poolclass=StaticPool
            )
        with self._engine.connect() as connection:
            yield connection


class Pool:
    """Open readers, which threads take and give back."""

    def __init__(self, connect: Callable[[], Reader]) -> None:
        self._connect = connect
        self._idle: list[Reader] = []
        self._closed = False

    def take(self) -> Reader:
        """Return an idle reader, the last one used, or a new one."""
        try:
            return self._idle.pop()
        except IndexError:
            return self._connect()

    def give_back(self, reader: Reader) -> None:
        """End the transaction of a reader, and keep it for the next `take`.

        If it is broken, the server may have ended all connections, so all are closed.
        """
        try:
            reader.driver.rollback()
        except Exception:
            reader.driver.close()
            self._drain()
        else:
            self._idle.append(reader)
            self._drain(0 if self._closed else KEPT)

    def close(self) -> None:
        """Close the idle readers now, and those in use when they are given back."""
        self._closed = True
        self._drain()

    def _drain(self, most: int = 0) -> None:
        """Close the idle readers that were not used for longest, but for `most`."""
        while len(self._idle) > most:
            with suppress(IndexError):  # another thread has taken it
                self._idle.pop(0).driver.close()
