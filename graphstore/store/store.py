"""`Store`, a solved game opened for reading; `upgrade`, to the newest schema."""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Engine

from graphstore.errors import (
    ArgumentError,
    NewerStoreError,
    NotAStoreError,
    NotInStoreError,
    OlderStoreError,
    PositionError,
    RulesError,
    RulesMissingError,
    StoreError,
    StoreReplacedError,
    shown,
)
from graphstore.games import given_or_builtin, rules_of, warn_of_other_rules
from graphstore.rules.adapter import ArrayRules
from graphstore.rules.game import Game, MoveNames
from graphstore.rules.notebook import facts, or_none
from graphstore.rules.plain import PlainGame
from graphstore.rules.positions import START, Position, read_bare, read_positions
from graphstore.store import probe as query
from graphstore.store import schema
from graphstore.store.backend import UNCHANGED, Backend
from graphstore.store.functions import functions, not_a_position
from graphstore.store.lookup import Lookup, Many, Snapshot, ids_or_texts, lookup
from graphstore.store.migrating import migrate
from graphstore.store.names import read_names
from graphstore.store.q_table import of_position, whole
from graphstore.store.sql import Answer, Statement
from graphstore.store.sqlite.backend import SqliteFile
from graphstore.util import arguments
from graphstore.util.extras import extra
from graphstore.util.forks import Owned

if TYPE_CHECKING:
    from graphstore.solver.graph import GameGraph  # imports networkx, which only graph() needs

Address: TypeAlias = str | os.PathLike[str]
"""A file, its URL, or the URL of a PostgreSQL database; see `Store.open`."""


class Store:
    """A solved game in a database, opened read-only.

    >>> import tempfile, graphstore
    >>> path = tempfile.mkdtemp() + "/tictactoe.db"
    >>> graphstore.build("tictactoe", path).states
    765
    >>> with graphstore.Store.open(path) as store:
    ...     store.info["positions"]
    5478
    """

    def __init__(
        self,
        backend: Backend,
        rules: Game | PlainGame | str | None = None,
        *,
        revision: str = schema.REVISIONS[-1],
    ) -> None:
        self.backend = _backend(backend)
        self.revision = revision
        self._rules: Game | None = None if rules is None else rules_of(rules, "rules")
        self._closed = False
        self._engine = self._own_engine()
        try:
            with backend.explained(), self._connection() as connection:
                backend.check_same(connection, None)
                rows = connection.execute(schema.game.select()).mappings().all()
                if len(rows) != 1:
                    raise NotAStoreError(
                        f"{self.address} is damaged: its table game has {len(rows)} rows, not one"
                    )
                self.info: dict[str, Any] = dict(rows[0])
            if self._rules is not None:
                name, version = self.info["name"], self.info["rules"]
                warn_of_other_rules(
                    self._rules, self.address, name, version, hint="; run: graphstore verify"
                )
        except BaseException:
            self.close()
            raise

    @classmethod
    def open(cls, address: Address, *, rules: Game | PlainGame | str | None = None) -> "Store":
        """Open a database for reading.

        Args:
            address: a file, its URL ``sqlite:///FILE``, or ``postgresql://USER@HOST/DATABASE``,
                with ``?schema=NAME`` if the database has several games.
            rules: the rules of a game that is not built in, or a name for `graphstore.find_game`.

        Raises:
            StoreMissingError: there is no such file, or not one game in the database.
            NotAStoreError: graphstore did not write it, or it is damaged.
            OlderStoreError, NewerStoreError: its schema is of another version.
            MissingExtraError: psycopg is not installed.
        """
        return cls.at(find_backend(address).located(), rules=rules)

    @classmethod
    def at(cls, backend: Backend, *, rules: Game | PlainGame | str | None = None) -> "Store":
        """Open the game of a backend; see `open`."""
        revision = _backend(backend).revision()
        if revision not in schema.REVISIONS:
            raise _newer(backend, revision)
        if revision not in schema.READABLE:
            raise OlderStoreError(
                f"{backend.address} has schema {revision}, this graphstore reads "
                f"{schema.REVISIONS[-1]}; run: graphstore upgrade {backend.address}"
            )
        try:
            return cls(backend, rules, revision=revision)
        except StoreReplacedError:  # since its revision was read
            return cls.at(backend.located(), rules=rules)

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self.close()
        if error is not None:
            self.backend.blame(error)

    def __del__(self) -> None:
        if hasattr(self, "_engine"):  # else Ctrl-C interrupted __init__
            self.close()

    def __reduce__(self) -> str:
        raise StoreError(
            f"a Store cannot be pickled; open it in the other process, from {self.address}"
        )

    def __repr__(self) -> str:
        return f"<Store {self.address}: {self.info['name']}, {self.info['states']} states>"

    @or_none
    def _repr_html_(self) -> str:
        names = ("states", "moves", "positions", "plies", "start", "value", "remoteness", "extent")
        report = {name: self.info[name] for name in names if name in self.info}
        return facts(f"{self.info['name']}: {self.address}", report)

    def close(self) -> None:
        """Close all connections; a connection in use is closed at the end of its use."""
        self._closed = True
        self._engine.close()

    @property
    def address(self) -> str:
        """The address, as in `Store.open` and in messages."""
        return self.backend.address

    @property
    def path(self) -> Path:
        """The SQLite file.

        Raises:
            StoreError: the game is in PostgreSQL.
        """
        return self.backend.path

    @property
    def game(self) -> Game:
        """The rules that were given, else the built-in game that the database names.

        Raises:
            RulesMissingError: the game is not built in and no rules were given.
        """
        self._rules = given_or_builtin(self.info["name"], self._rules)
        return self._rules

    @cached_property
    def names(self) -> MoveNames:
        """The names of moves that the database holds; none if its moves have none."""
        with self.connect() as connection:
            return MoveNames(read_names(connection))

    @property
    def namer(self) -> Game | MoveNames:
        """The rules, which name the moves, or without them the names in the database."""
        return self.game if self.has_rules else self.names

    @property
    def has_rules(self) -> bool:
        """True if the rules are known; without them positions are found only as stored."""
        try:
            return self.game is not None
        except RulesMissingError:
            return False

    def probe(self, position: Position) -> query.Probe:
        """Return the row of a position in the database, and all its moves, best first.

        Args:
            position: a text in any orientation, the id of a state, or a list of moves from the
                start; ``start`` is the (first) start, ``moves:4 0`` a list of moves as text.

        Raises:
            PositionError: it is not a position; the subclass says why.
            NotInStoreError: the database does not hold it.
        """
        with self.connect() as connection:
            return self._probe(connection, position)

    def start(self) -> query.Probe:
        """Return the probe of the (first) start, as the rules write it if they are known."""
        with self.connect() as connection:
            if self.has_rules:
                here = self.game.start_states()[:1]
                if self.game.texts(self.game.canonical(here)) == [self.info["start"]]:
                    extent = self.info["extent"]
                    return query.probe(connection, self.game, int(here[0]), extent=extent)
            return self._probe(connection, self.info["start"])

    def get(self, position: Position) -> query.Probe | None:
        """Return `probe` of a position, or None if there is no such position."""
        position = arguments.position("position", position)
        try:
            return self.probe(position)
        except (PositionError, NotInStoreError):
            return None

    def lookup(self, positions: Many) -> Lookup:
        """Return the values of many positions at once, as arrays, without their moves.

        Args:
            positions: texts in any orientation, lists of moves, or ids of states: a list, an
                array, a column.

        Raises:
            PositionError: a text is not a position, or the list is neither all texts nor all ids.
            NotInStoreError: an integer is too large for an id. Other missing ids are masked.
        """
        with self.connect() as connection:
            return self._lookup(connection, positions)

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """Yield a snapshot: many look-ups, by one thread, in one state of the database.

        >>> import tempfile, graphstore
        >>> path = tempfile.mkdtemp() + "/tictactoe.db"
        >>> graphstore.build("tictactoe", path).states
        765
        >>> with graphstore.Store.open(path) as store, store.snapshot() as snapshot:
        ...     [snapshot.values(state) for state in (34832, 77)]
        [Values(value=0, remoteness=6, score=0.5, win_depth=None, lose_depth=None), None]
        """
        with self.connect() as connection:
            if connection.dialect.name == "sqlite":  # psycopg has begun a transaction
                connection.exec_driver_sql("BEGIN")
            snapshot = Snapshot(connection, self._probe, self._lookup)
            try:
                yield snapshot
            finally:
                snapshot.end()

    def _probe(self, connection: Connection, position: Position) -> query.Probe:
        position = arguments.position("position", position)
        extent = self.info["extent"]
        if isinstance(position, str) and position.strip().lower() == START:
            with suppress(PositionError, NotInStoreError):
                return query.probe_as_stored(connection, position)  # a text of the user's rules
            return self.start()
        if not self.has_rules:
            return query.probe_as_stored(connection, position)
        try:
            here = query.read_position(connection, self.game, position)
        except PositionError as error:
            # For rules that write texts but cannot read them: look for the text as stored.
            with suppress(NotInStoreError):
                return query.probe_as_stored(connection, position)
            raise error from None
        try:
            return query.probe(connection, self.game, here, extent=extent)
        except (NotInStoreError, RulesError):
            if not isinstance(self.game, ArrayRules) or not isinstance(position, str):
                raise
            other = read_bare(self.game, position)  # `PlainGame` may read any text as a position
            if other is None:
                raise
            return query.probe(connection, self.game, other, extent=extent)

    def _lookup(self, connection: Connection, positions: Many) -> Lookup:
        states = ids_or_texts(positions)
        if isinstance(states, list):
            states = self.game.canonical(read_positions(self.game, states))
        return lookup(connection, states)

    def q_table(self, position: Position | None = None) -> NDArray[np.void]:
        """Return the worth of moves to the player who makes them, one row per legal move.

        The fields are columns of the view q_table, NaN where NULL: see `graphstore.store.meanings`.
        ``pandas.DataFrame(table)`` converts it to a data frame.

        Args:
            position: as for `probe`: return only its moves, in its orientation. By default return
                the moves of all states, by state and then by move.

        Raises:
            PositionError, NotInStoreError: see `probe`.

        >>> import tempfile, graphstore
        >>> path = tempfile.mkdtemp() + "/tictactoe.db"
        >>> graphstore.build("tictactoe", path).moves
        2270
        >>> with graphstore.Store.open(path) as store:
        ...     table = store.q_table()
        ...     openings = store.q_table(".../.../...")
        >>> table.dtype.names
        ('state', 'move', 'child', 'optimal', 'random', 'best_response')
        >>> len(table), openings["move"].tolist()
        (2270, [0, 1, 2, 3, 4, 5, 6, 7, 8])
        >>> openings["best_response"].round(4).tolist()[:5]
        [0.9948, 0.987, 0.9948, 0.987, 0.9896]
        """
        probe = None if position is None else self.probe(position)
        with self.connect() as connection:
            if probe is None:
                return whole(connection)
            return of_position(connection, probe)

    def line(
        self, position: Position | None = None, *, by: str = "value", most: int | None = None
    ) -> query.Line:
        """Return a line of best play from a position, by default from the (first) start.

        Args:
            position: as for `probe`.
            by: ``value`` or ``margin``: what both play for; see `graphstore.store.probe.Probe.by`.
            most: the most moves of the line.

        Raises:
            PositionError, NotInStoreError: see `probe`.
            ArgumentError: the game has no margins.
        """
        first = self.start() if position is None else self.probe(position)
        return query.line(self.probe, first, by=by, most=arguments.limit("most", most))

    def sql(
        self,
        statement: str,
        parameters: Sequence[Any] | Mapping[str, Any] = (),
        *,
        seconds: float | None = None,
        rows: int | None = None,
    ) -> Answer:
        """Return the rows of one read-only statement; it may call board(id) and canonical(text).

        Args:
            statement: in SQL.
            parameters: values for ``?`` in order, or for ``:name`` by name.
            seconds: the most time that the database may use; None: no limit.
            rows: the most rows of the answer; None: no limit.

        Raises:
            QueryError: the SQL is wrong, would do more than read, or reaches a limit.
        """
        limits = arguments.seconds("seconds", seconds), arguments.limit("rows", rows)
        with self.backend.explained():
            arguments.instance("statement", statement, str, "SQL as a text")
            limited = Statement(statement, arguments.parameters(parameters), *limits)
            return self.backend.sql(limited, self.functions(), self.info["digest"])

    def graph(self, *, below: Position | None = None) -> "GameGraph":
        """Return the solved graph, or the part that play from the position `below` can reach.

        The ply of a state is its distance from a start, not from `below`.
        """
        from graphstore.store.graph import load

        start = None if below is None else self.probe(arguments.position("below", below)).state
        with self.connect() as connection:
            return load(connection, self.info["name"], below=start)

    def census(self) -> list[dict[str, Any]]:
        """Return the rows of the view census: counts of states and positions by ply."""
        with self.connect() as connection:
            return [dict(row) for row in connection.execute(schema.VIEWS["census"]).mappings()]

    def functions(self) -> dict[str, Callable[[Any], Any]]:
        """Return the functions that a statement of `sql` may call, by name."""

        def read(position: Any) -> tuple[Game, int]:
            if not isinstance(position, str | int):
                raise not_a_position(repr(position))
            with self.connect() as connection:
                return self.game, query.read_position(connection, self.game, position)

        return functions(read)

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """Yield a read-only connection; database errors become a StoreError of one line.

        In PostgreSQL the block is one transaction, which sees one state of the game.

        Raises:
            StoreError: another game has replaced this one, or it cannot be read.
        """
        with self.backend.explained(), self._connection() as connection:
            self.backend.check_same(connection, self.info["digest"])
            try:
                yield connection
            except Exception as error:
                self.backend.blame(error)
                raise

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        if not self._engine.ours:  # a forked process cannot use it
            self._engine.close()
            self._engine = self._own_engine()
        connection = self._engine.value.connect()

        def close() -> None:
            if self._closed and not connection.invalidated:
                connection.detach()  # else the engine would keep it
            connection.close()

        with closing(Owned(connection, close, _OF_PARENT)):
            yield connection

    def _own_engine(self) -> Owned[Engine]:
        engine: Any = self.backend.engine()
        engine.dialect.lacks_later = self.revision < "0006"
        return Owned(engine, engine.dispose, _OF_PARENT)


_OF_PARENT = StoreError("this connection belongs to the parent process")


def upgrade(address: str | os.PathLike[str]) -> str:
    """Upgrade a database to the newest schema, in one transaction; return its old revision.

    A transaction that a killed program did not finish is rolled back first.

    Raises:
        NotAStoreError, NewerStoreError: it cannot be upgraded.
    """
    backend = find_backend(address).located()
    with backend.explained(UNCHANGED), backend.upgrading() as connection:
        before = backend.revision()
        if before not in schema.REVISIONS:
            raise _newer(backend, before)
        if before != schema.REVISIONS[-1]:
            try:
                migrate(connection)
            except NotAStoreError as error:
                raise NotAStoreError(f"{backend.address} is {error}; {UNCHANGED}") from error
    return before


@contextmanager
def opened(
    store: Store | Address, argument: str = "store", *, repair: bool = False
) -> Iterator[Store]:
    """Yield the argument, an open store; or open an address, and close it at the end.

    `repair` calls `recover` before.
    """
    if isinstance(store, Store):
        if repair:
            store.backend.recover()
        yield store
        return
    address = arguments.path(argument, store, "an open Store, or the address of a database")
    if repair:
        recover(address)
    with Store.open(address) as found:
        yield found


class HoldsStore:
    """The base of objects that read a store for their whole life: `close` them, or use ``with``.

    A store that was given stays open; one that was opened from an address is closed.
    """

    store: Store

    def _hold(self, store: Store | Address) -> None:
        self._held = ExitStack()
        self.store = self._held.enter_context(opened(store))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def close(self) -> None:
        """Close the store, if this object opened it."""
        self._held.close()


def recover(file: Address) -> None:
    """Let SQLite undo what a killed program left half-written; a reader cannot do this."""
    find_backend(file, "file").recover()


def _backend(backend: Backend) -> Backend:
    """Return the argument; raise an ArgumentError if it is of another kind, such as an address."""
    if not hasattr(backend, "located"):
        raise ArgumentError(f"backend is {shown(backend)}; to open an address, use Store.open")
    return backend


_ALMOST = re.compile(r"postgres(ql)?:|(host|hostaddr|port|user|password|dbname|service) *=")


def find_backend(address: str | os.PathLike[str], name: str = "address") -> Backend:
    """Return the backend of an address; errors name the argument `name`."""
    text = arguments.path(name, address)
    scheme, colon, rest = text.partition("://")
    scheme = scheme.lower()
    if not colon and _ALMOST.match(text):  # not quoted: a password may be in it
        raise StoreError(
            "a PostgreSQL address has the form postgresql://USER@HOST/DATABASE?schema=NAME"
        )
    if not colon:
        return SqliteFile(Path(text))
    if scheme == "sqlite":
        return SqliteFile(Path(rest.removeprefix("/")))
    if scheme in ("postgresql", "postgres"):
        with extra('a PostgreSQL address needs psycopg: pip install "psycopg[binary]"'):
            import psycopg  # noqa: F401  # or is libpq missing?
        from graphstore.store.postgres.backend import PostgresSchema

        return PostgresSchema.of(f"{scheme}://{rest}")
    raise StoreError(
        f"{scheme}://{rest.rpartition('@')[2]}: unknown kind of address; give a file, "
        "sqlite:///FILE or postgresql://USER@HOST/DATABASE"
    )


def refuse_newer(backend: Backend) -> None:
    """Raise NewerStoreError if a newer graphstore wrote the game, as far as that can be read."""
    try:
        revision = backend.revision()
    except StoreError:
        return
    if revision not in schema.REVISIONS:
        raise _newer(backend, revision)


def _newer(backend: Backend, revision: str) -> NewerStoreError:
    return NewerStoreError(
        f"{backend.address} was written by a newer graphstore (schema {revision}, this one knows "
        f"up to {schema.REVISIONS[-1]}); upgrade graphstore"
    )
