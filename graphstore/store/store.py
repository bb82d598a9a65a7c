"""`Store`, a solved game opened for reading; `upgrade`, to the newest schema."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from graphstore.errors import (
    ArgumentError,
    NewerStoreError,
    NotAStoreError,
    NotInStoreError,
    OlderStoreError,
    PositionError,
    RulesMissingError,
    StoreError,
    StoreReplacedError,
    shown,
)
from graphstore.store.backend import UNCHANGED, Backend
from graphstore.store.format import CENSUS, COLUMNS, READABLE, REVISIONS
from graphstore.store.functions import functions, not_a_position
from graphstore.store.names import read_names
from graphstore.store.reader import Pool, Reader
from graphstore.store.sql import Answer, Statement
from graphstore.store.sqlite.backend import SqliteFile
from graphstore.util import arguments
from graphstore.util.extras import extra
from graphstore.util.forks import Owned

if TYPE_CHECKING:  # methods import what they need: SQL needs neither SQLAlchemy, numpy nor rules
    import numpy as np
    from numpy.typing import NDArray
    from sqlalchemy import Connection

    from graphstore.rules.game import Game, MoveNames
    from graphstore.rules.plain import PlainGame
    from graphstore.rules.positions import Position
    from graphstore.solver.graph import GameGraph
    from graphstore.store.lookup import Lookup, Many, Snapshot
    from graphstore.store.probe import Line, Probe

Address: TypeAlias = str | os.PathLike[str]
"""A file, its URL, the URL of a PostgreSQL database, or a folder; see `Store.open`."""


class Store:
    """A solved game in a database or a folder of Parquet files, opened read-only.

    >>> import tempfile, graphstore
    >>> path = tempfile.mkdtemp() + "/tictactoe.db"
    >>> graphstore.build("tictactoe", path).states
    765
    >>> with graphstore.Store.open(path) as store:
    ...     store.info["positions"]
    5478
    """

    def __init__(self, backend: Backend, rules: Game | PlainGame | str | None = None) -> None:
        self.backend = _backend(backend)
        self._rules: Game | None = None
        if rules is not None:
            from graphstore.games import rules_of, warn_of_other_rules

            self._rules = rules_of(rules, "rules")
        self._closed = False
        self._pool = self._own_pool()
        try:
            with backend.explained(), self._taken() as reader:
                backend.check_same(reader, None)
                rows = reader.rows(_GAME)
                if len(rows) != 1:
                    raise NotAStoreError(
                        f"{self.address} is damaged: its table game has {len(rows)} rows, not one"
                    )
                self.info: dict[str, Any] = dict(zip(COLUMNS["game"], rows[0], strict=True))
            if self._rules is not None:
                name, version = self.info["name"], self.info["rules"]
                warn_of_other_rules(
                    self._rules, self.address, name, version, hint="; run: graphstore verify"
                )
        except BaseException:
            self.close()
            raise

    @classmethod
    def open(cls, address: Address, *, rules: Game | PlainGame | str | None = None) -> Store:
        """Open a database for reading.

        Args:
            address: a file, its URL ``sqlite:///FILE``, or ``postgresql://USER@HOST/DATABASE``,
                with ``?schema=NAME`` if the database has several games; or a folder that
                `graphstore.build_folder` wrote, for look-ups and SQL only.
            rules: the rules of a game that is not built in, or a name for `graphstore.find_game`.

        Raises:
            StoreMissingError: there is no such file, or not one game in the database.
            NotAStoreError: graphstore did not write it, or it is damaged.
            OlderStoreError, NewerStoreError: its schema is of another version.
            MissingExtraError: psycopg, or pyarrow for a folder, is not installed.
        """
        return cls.at(find_backend(address).located(), rules=rules)

    @classmethod
    def at(cls, backend: Backend, *, rules: Game | PlainGame | str | None = None) -> Store:
        """Open the game of a backend; see `open`."""
        revision = _backend(backend).revision()
        if revision not in REVISIONS:
            raise _newer(backend, revision)
        if revision not in READABLE:
            raise OlderStoreError(
                f"{backend.address} has schema {revision}, this graphstore reads "
                f"{REVISIONS[-1]}; run: graphstore upgrade {backend.address}"
            )
        try:
            return cls(backend, rules)
        except StoreReplacedError:  # since its revision was read
            return cls.at(backend.located(), rules=rules)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self.close()
        if error is not None:
            self.backend.blame(error)

    def __del__(self) -> None:
        if hasattr(self, "_pool"):  # else Ctrl-C interrupted __init__
            self.close()

    def __reduce__(self) -> str:
        raise StoreError(
            f"a Store cannot be pickled; open it in the other process, from {self.address}"
        )

    def __repr__(self) -> str:
        return f"<Store {self.address}: {self.info['name']}, {self.info['states']} states>"

    def _repr_html_(self) -> str:
        from graphstore.rules.notebook import facts

        names = ("states", "moves", "positions", "plies", "start", "value", "remoteness", "extent")
        report = {name: self.info[name] for name in names if name in self.info}
        return facts(f"{self.info['name']}: {self.address}", report)

    def close(self) -> None:
        """Close all connections; a connection in use is closed at the end of its use."""
        self._closed = True
        self._pool.close()

    @property
    def address(self) -> str:
        """The address, as in `Store.open` and in messages."""
        return self.backend.address

    @property
    def path(self) -> Path:
        """The SQLite file, or the folder.

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
        from graphstore.games import given_or_builtin

        self._rules = given_or_builtin(self.info["name"], self._rules)
        return self._rules

    @cached_property
    def names(self) -> MoveNames:
        """The names of moves that the database holds; none if its moves have none."""
        from graphstore.rules.game import MoveNames

        with self.reader() as reader:
            return MoveNames(read_names(reader))

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

    def probe(self, position: Position) -> Probe:
        """Return the row of a position in the database, and all its moves, best first.

        Args:
            position: a text in any orientation, the id of a state, or a list of moves from the
                start; ``start`` is the (first) start, ``moves:4 0`` a list of moves as text.

        Raises:
            PositionError: it is not a position; the subclass says why.
            NotInStoreError: the database does not hold it.
        """
        with self.reader() as reader:
            return self._probe(reader, position)

    def start(self) -> Probe:
        """Return the probe of the (first) start, as the rules write it if they are known."""
        from graphstore.store.probe import start

        with self.reader() as reader:
            return start(reader, self.info, self.game if self.has_rules else None)

    def get(self, position: Position) -> Probe | None:
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
        with self.reader() as reader:
            return self._lookup(reader, positions)

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
        from graphstore.store.lookup import Snapshot

        with self.reader() as reader:
            if reader.dialect == "sqlite":  # psycopg has begun a transaction
                reader.driver.execute("BEGIN")
            snapshot = Snapshot(reader, self._probe, self._lookup)
            try:
                yield snapshot
            finally:
                snapshot.end()

    def _probe(self, reader: Reader, position: Position) -> Probe:
        from graphstore.store.probe import find

        return find(reader, self.info, self.game if self.has_rules else None, position)

    def _lookup(self, reader: Reader, positions: Many) -> Lookup:
        from graphstore.rules.positions import read_positions
        from graphstore.store.lookup import ids_or_texts, lookup

        states = ids_or_texts(positions)
        if isinstance(states, list):
            states = self.game.canonical(read_positions(self.game, states))
        return lookup(reader, states)

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
        from graphstore.store.q_table import of_position, whole

        if position is None:
            with self.connect() as connection:
                return whole(connection)
        probe = self.probe(position)
        with self.reader() as reader:
            return of_position(reader, probe)

    def line(
        self, position: Position | None = None, *, by: str = "value", most: int | None = None
    ) -> Line:
        """Return a line of best play from a position, by default from the (first) start.

        Args:
            position: as for `probe`.
            by: ``value`` or ``margin``: what both play for; see `graphstore.store.probe.Probe.by`.
            most: the most moves of the line.

        Raises:
            PositionError, NotInStoreError: see `probe`.
            ArgumentError: the game has no margins.
        """
        from graphstore.store.probe import line

        first = self.start() if position is None else self.probe(position)
        return line(self.probe, first, by=by, most=arguments.limit("most", most))

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

    def graph(self, *, below: Position | None = None) -> GameGraph:
        """Return the solved graph, or the part that play from the position `below` can reach.

        The ply of a state is its distance from a start, not from `below`.
        """
        from graphstore.store.graph import load

        start = None if below is None else self.probe(arguments.position("below", below)).state
        with self.connect() as connection:
            return load(connection, self.info["name"], below=start)

    def census(self) -> list[dict[str, Any]]:
        """Return the rows of the view census: counts of states and positions by ply."""
        if self.backend.dialect == "duckdb":
            rows = list(self.sql(CENSUS))
        else:
            with self.reader() as reader:
                rows = reader.rows(CENSUS)
        return [dict(zip(COLUMNS["census"], row, strict=True)) for row in rows]

    def functions(self) -> dict[str, Callable[[Any], Any]]:
        """Return the functions that a statement of `sql` may call, by name."""

        def find(query: Any, keys: Sequence[Any]) -> list[tuple[Any, ...]]:
            with self.reader() as reader:  # most texts need none
                return list(query.rows(reader, keys))

        lazy = Reader(None, "")
        lazy.find = find

        def read(position: Any) -> tuple[Game, int]:
            if not isinstance(position, str | int):
                raise not_a_position(repr(position))
            from graphstore.store.probe import read_position

            return self.game, read_position(lazy, self.game, position)

        return functions(read)

    @contextmanager
    def reader(self) -> Iterator[Reader]:
        """Yield a read-only connection; database errors become a StoreError of one line.

        In PostgreSQL the block is one transaction, which sees one state of the game.

        Raises:
            StoreError: another game has replaced this one, or it cannot be read.
        """
        with self.backend.explained(), self._taken() as reader, self._checked(reader):
            yield reader

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """Yield a connection of SQLAlchemy, as `reader` does."""
        with (
            self.backend.explained(),
            self._taken() as reader,
            reader.core() as connection,  # before the transaction, which its first use would end
            self._checked(reader),
        ):
            yield connection

    @contextmanager
    def _checked(self, reader: Reader) -> Iterator[None]:
        self.backend.check_same(reader, self.info["digest"])
        try:
            yield
        except Exception as error:
            self.backend.blame(error)
            raise

    @contextmanager
    def _taken(self) -> Iterator[Reader]:
        if not self._pool.ours:  # a forked process cannot use it
            self._pool.close()
            self._pool = self._own_pool()
        pool = self._pool.value
        reader = pool.take()
        with closing(Owned(reader, lambda: pool.give_back(reader), _OF_PARENT)):
            yield reader

    def _own_pool(self) -> Owned[Pool]:
        pool = Pool(self.backend.connect)
        if self._closed:
            pool.close()
        return Owned(pool, pool.close, _OF_PARENT)


_GAME = f"SELECT {', '.join(COLUMNS['game'])} FROM game"
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
        if before not in REVISIONS:
            raise _newer(backend, before)
        if before != REVISIONS[-1]:
            from graphstore.store.migrating import migrate  # imports SQLAlchemy

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
    if not colon and os.path.isdir(text):
        from graphstore.store.folder.backend import FolderBackend
        from graphstore.store.folder.layout import is_folder

        if is_folder(text):
            return FolderBackend(Path(text))
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
    if revision not in REVISIONS:
        raise _newer(backend, revision)


def _newer(backend: Backend, revision: str) -> NewerStoreError:
    return NewerStoreError(
        f"{backend.address} was written by a newer graphstore (schema {revision}, this one knows "
        f"up to {REVISIONS[-1]}); upgrade graphstore"
    )
