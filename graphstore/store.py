"""The database of a solved game, opened for reading; and its upgrade to a newer schema."""

import os
import sqlite3
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool, QueuePool

from graphstore import qtable, query, schema
from graphstore.errors import (
    GraphstoreError,
    NewerStoreError,
    NotAStoreError,
    NotInStoreError,
    OlderStoreError,
    PositionError,
    QueryError,
    RulesDifferWarning,
    RulesMissingError,
    StoreError,
    StoreMissingError,
)
from graphstore.game import Game, Ints
from graphstore.games import find_builtin
from graphstore.notebook import facts, or_none
from graphstore.precautions import UNFORESEEN, blamed, careful, refuse_traps
from graphstore.usersql import Answer, run

if TYPE_CHECKING:
    from graphstore.graph import GameGraph  # and with it networkx: only graph() needs it


class Store:
    """A solved game in a database, opened for reading only.

    >>> import tempfile, graphstore
    >>> path = tempfile.mkdtemp() + "/tictactoe.db"
    >>> graphstore.build("tictactoe", path).states
    765
    >>> with graphstore.Store.open(path) as store:
    ...     store.info["positions"]
    5478
    """

    def __init__(self, path: Path, rules: Game | None = None) -> None:
        self.path = path
        self._rules = rules
        self._engine = create_engine(
            "sqlite://",
            creator=partial(connect, path),
            poolclass=QueuePool,
            max_overflow=-1,
            pool_reset_on_return=None,
        )
        try:
            with self.connect() as connection:
                self.info: dict[str, Any] = _game_row(connection, path)
        except BaseException:
            self.close()
            raise
        built_by = (self.info["name"], self.info["rules"])
        # The digest of a file tells its rules, wherever it lies; a built-in version needs the name.
        if rules is not None and (
            rules.rules != built_by[1]
            or (find_builtin(rules.name) is not None and rules.name != built_by[0])
        ):
            warnings.warn(
                f"{path} was built by other rules, or another version of them: "
                f"{' '.join(built_by)}, now {rules.name} {rules.rules}; verify tells more",
                RulesDifferWarning,
                stacklevel=3,
            )

    @classmethod
    def open(cls, path_or_url: str | os.PathLike[str], *, rules: Game | None = None) -> "Store":
        """Open a database for reading.

        Args:
            path_or_url: a file, or a URL such as ``sqlite:///tictactoe.db``.
            rules: the game's rules, where they are not built in.

        Raises:
            StoreMissingError: there is no such file.
            NotAStoreError: graphstore did not write it, or it is damaged.
            OlderStoreError, NewerStoreError: its schema is not this version's.
        """
        path = local_path(path_or_url)
        revision = _revision(path)
        if revision not in schema.REVISIONS:
            raise _newer(path, revision)
        if revision != schema.REVISIONS[-1]:
            raise OlderStoreError(
                f"{path} has schema {revision}, this graphstore reads {schema.REVISIONS[-1]}; "
                f"run: graphstore upgrade {path}"
            )
        return cls(path, rules)

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self.close()
        if isinstance(error, UNFORESEEN) and not isinstance(error, GraphstoreError):
            with blamed(self.path):
                raise error

    def __repr__(self) -> str:
        return f"<Store {self.path}: {self.info['name']}, {self.info['states']} states>"

    @or_none
    def _repr_html_(self) -> str:
        told = ("states", "moves", "positions", "plies", "start", "value", "remoteness", "extent")
        report = {name: self.info[name] for name in told if name in self.info}
        return facts(f"{self.info['name']}: {self.path}", report)

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    @property
    def address(self) -> str:
        """Where it is, as `Store.open` takes it and messages say it."""
        return str(self.path)

    @property
    def game(self) -> Game:
        """The rules: those given, else the built-in game that the database names.

        Raises:
            RulesMissingError: the game is not built in and no rules were given.
        """
        if self._rules is None:
            self._rules = find_builtin(self.info["name"])
        if self._rules is None:
            raise RulesMissingError(
                f"{self.info['name']} is not built in; add --rules FILE.py:NAME (rules=)"
            )
        return self._rules

    @property
    def has_rules(self) -> bool:
        """Whether the rules are known; if not, positions are found only as they are stored."""
        try:
            return self.game is not None
        except RulesMissingError:
            return False

    def probe(self, position: str | int) -> query.Probe:
        """Return what the database says of a position, and all its moves, best first.

        Args:
            position: as a person types it, in any orientation; or the id of a state.

        Raises:
            PositionError: the text is no position; the leaf says why.
            NotInStoreError: the database does not hold it.
        """
        with self.connect() as connection:
            if not self.has_rules:
                return query.probe_as_stored(connection, position)
            try:
                here = query.read_position(connection, self.game, position)
            except PositionError as error:
                # Rules that write texts but cannot read them: what is stored can still be found.
                with suppress(NotInStoreError):
                    return query.probe_as_stored(connection, position)
                raise error from None
            return query.probe(connection, self.game, here, extent=self.info["extent"])

    def get(self, position: str | int) -> query.Probe | None:
        """Return what `probe` does, or None where that raises for want of such a position."""
        try:
            return self.probe(position)
        except (PositionError, NotInStoreError):
            return None

    def lookup(self, positions: Sequence[str] | Sequence[int] | Ints) -> query.Lookup:
        """Return the values of many positions at once, as arrays, without their moves.

        Args:
            positions: texts in any orientation, or ids of states: a list, an array, a column.

        Raises:
            PositionError: a text is no position.
        """
        array = np.asarray(positions)
        if array.dtype.kind in "iu":
            states = array.astype(np.int64)
        else:
            states = self.game.canonical(self.game.read_many([str(each) for each in positions]))
        with self.connect() as connection:
            return query.lookup(connection, states)

    def q_table(self, position: str | int | None = None) -> NDArray[np.void]:
        """Return what moves are worth to the player who chooses them, one row a legal move.

        The fields are those of the view q_table: ``state`` and ``child``, int64 ids; ``move``,
        int32; ``optimal``, int8, if both then play their best; ``random``, float64, if both play
        at random; ``best_response``, float64, if the opponent plays at random and the mover his
        best against that. NaN where NULL. ``pandas.DataFrame(table)`` makes a data frame of it.

        Args:
            position: as for `probe`: its moves alone, in the orientation asked. By default those
                of all states, by state and then by move.

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
                return qtable.whole(connection)
            return qtable.of_position(connection, probe)

    def line(self, position: str | int | None = None, *, most: int | None = None) -> query.Line:
        """Return a line of best play from a position, by default from the (first) start.

        Args:
            position: as for `probe`.
            most: how many moves will do.

        Raises:
            PositionError, NotInStoreError: see `probe`.
        """
        start = self.info["start"] if position is None else position
        return query.line(self.probe, start, most=most)

    def sql(
        self,
        statement: str,
        parameters: Sequence[Any] | Mapping[str, Any] = (),
        *,
        seconds: float | None = None,
        rows: int | None = None,
    ) -> Answer:
        """Return the rows of one reading statement; it may call board(id) and canonical(text).

        Args:
            statement: in SQL.
            parameters: what takes the place of ``?`` in order, or of ``:name`` by name.
            seconds: that the database may work on it; None: as long as it takes.
            rows: that the answer may have; None: any number.

        Raises:
            QueryError: the SQL is wrong, would do more than read, or comes to a limit.
        """
        limits: dict[str, Any] = {"seconds": seconds, "rows": rows}
        with explained(self.path):
            return run(connect(self.path), statement, parameters, self.functions(), **limits)

    def graph(self, *, below: str | int | None = None) -> "GameGraph":
        """Return the solved graph, whole or what play from one position can reach.

        The ply of a state is its distance from the game's start, not from `below`.
        """
        from graphstore.loading import load

        with self.connect() as connection:
            if below is None:
                return load(connection, self.info["name"])
            probe = self.probe(below)
            return load(connection, self.info["name"], below=probe.state)

    def census(self) -> list[dict[str, Any]]:
        """Return the rows of the view census: counts of states and positions by ply."""
        with self.connect() as connection:
            rows = connection.execute(schema.VIEWS["census"]).mappings()
            return [dict(row) for row in rows]

    def functions(self) -> dict[str, Callable[[Any], Any]]:
        """Return the SQL functions that a person's statement may call, by name."""

        def here(position: Any) -> int:
            if not isinstance(position, str | int):
                raise QueryError(
                    f"board() and canonical() take the text of a position or the id of a state, "
                    f"not {position!r}"
                )
            with self.connect() as connection:
                return query.read_position(connection, self.game, position)

        def board(position: Any) -> str:
            return self.game.board(here(position))

        def canonical(position: Any) -> int:
            return int(self.game.canonical(np.array([here(position)], dtype=np.int64))[0])

        return {"board": board, "canonical": canonical}

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """Lend a read-only connection; database errors come out as one clear line."""
        with explained(self.path), blamed(self.path), self._engine.connect() as connection:
            yield connection


def upgrade(path_or_url: str | os.PathLike[str]) -> str:
    """Bring a database to the newest schema, in place and in one transaction.

    A write that another program was killed in is rolled back first.

    Returns:
        The revision that it had before.

    Raises:
        NotAStoreError, NewerStoreError: it cannot be upgraded.
    """
    path = local_path(path_or_url)
    _check_header(path)
    with explained(path, "nothing was changed"):
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA schema_version").fetchall()
        before = _revision(path)
        if before not in schema.REVISIONS:
            raise _newer(path, before)
        if before != schema.REVISIONS[-1]:
            # The driver itself would begin a transaction only at the first INSERT or the like.
            driver = partial(sqlite3.connect, path, isolation_level=None)
            engine = create_engine("sqlite://", creator=driver, poolclass=NullPool)
            with engine.begin() as begun:
                begun.exec_driver_sql("BEGIN IMMEDIATE")
                try:
                    migrate(begun)
                except NotAStoreError as error:  # of what is in it, not of which file it is
                    raise NotAStoreError(f"{path} is {error}; nothing was changed") from error
    return before


def migrate(connection: Connection) -> None:
    """Create or upgrade the tables and views of a database through alembic."""
    from alembic import command  # a third of a second to import: only writing needs it
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", migrations().replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def migrations() -> str:
    """Return the folder of the alembic scripts: inside an installed package, else beside it."""
    package = Path(str(files("graphstore")))
    inside = package / "migrations"
    return str(inside if inside.is_dir() else package.parent / "migrations")


def connect(path: Path) -> sqlite3.Connection:
    """Return a read-only connection of the standard library's driver."""
    uri = f"{path.absolute().as_uri()}?mode=ro"
    return careful(sqlite3.connect(uri, uri=True, check_same_thread=False))


def local_path(path_or_url: str | os.PathLike[str]) -> Path:
    """Return the file that a path or a URL such as ``sqlite:///tictactoe.db`` names.

    Raises:
        StoreError: a URL of another kind.
    """
    text = os.fspath(path_or_url)
    scheme, colon, rest = text.partition("://")
    if not colon:
        return Path(text)
    if scheme == "sqlite":
        return Path(rest.removeprefix("/"))
    raise StoreError(f"{text}: only files and sqlite:/// addresses will do")


def _check_header(path: Path) -> bytes:
    """Return the header of a file that graphstore wrote; refuse any other."""
    with explained(path):
        if not path.exists():
            raise StoreMissingError(f"there is no file {path}; graphstore build GAME --db {path}")
        if not path.is_file():
            kind = "folder" if path.is_dir() else "pipe or device"
            raise NotAStoreError(f"{path} is a {kind}, not a graphstore database")
        with path.open("rb") as file:
            header = file.read(100)
        ours = header[:16] == b"SQLite format 3\0" and header[68:72] == (
            schema.APPLICATION_ID.to_bytes(4, "big")
        )
        if not ours:
            raise NotAStoreError(f"{path} is not a graphstore database")
        return header


def _revision(path: Path) -> str:
    """Return the schema revision of a file that is ours."""
    header = _check_header(path)
    with explained(path), closing(connect(path)) as connection:
        refuse_traps(connection, path)
        rows = connection.execute("SELECT version_num FROM alembic_version").fetchall()
        (page_size,) = connection.execute("PRAGMA page_size").fetchone()
        size, whole = path.stat().st_size, page_size * int.from_bytes(header[28:32])
    if size < whole:  # SQLite itself does not mind if the last page is there in part
        raise NotAStoreError(f"{path} is damaged: it has {size:,} bytes of {whole:,}")
    if len(rows) != 1:
        raise NotAStoreError(f"{path} is damaged: it records {len(rows)} schema revisions, not one")
    return str(rows[0][0])


def _newer(path: Path, revision: str) -> NewerStoreError:
    return NewerStoreError(
        f"{path} was written by a newer graphstore (schema {revision}, this one knows up to "
        f"{schema.REVISIONS[-1]}); upgrade graphstore"
    )


def _game_row(connection: Connection, path: Path) -> dict[str, Any]:
    rows = connection.execute(schema.game.select()).mappings().all()
    if len(rows) != 1:
        raise NotAStoreError(f"{path} is damaged: its table game has {len(rows)} rows, not one")
    return dict(rows[0])


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
