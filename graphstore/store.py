"""The database of a solved game: build, open, upgrade, load. The only writer.

A build writes a draft beside its target and renames it at the end, so that, killed at any moment,
it leaves the old file or none. Everything else opens the file for reading only.
"""

import os
import platform
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

import numpy as np
from sqlalchemy import Connection, Engine, create_engine, insert
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from graphstore import digests, schema
from graphstore.errors import (
    NewerStoreError,
    NotAStoreError,
    OlderStoreError,
    StoreError,
    StoreExistsError,
    StoreMissingError,
)
from graphstore.game import IN_PLAY, Game, Ints, Progress, quiet
from graphstore.games import find_game

if TYPE_CHECKING:
    from graphstore.graph import GameGraph
    from graphstore.solution import Solution

CHUNK = 50_000  # rows turned into Python objects at once: bounds the memory of a load
CELLS_A_STATEMENT = 1_500  # more gains nothing, fewer cost calls

Column = Any  # a numpy array, masked where NULL, or a list of texts


class Report(NamedTuple):
    """What a build made.

    Attributes:
        file: the database.
        game: its name.
        states: canonical states.
        positions: positions, every state counted as often as it has images.
        moves: legal moves of all states.
        edges: distinct pairs of parent and child.
        value: of the (first) start, for the player to move.
        remoteness: of the (first) start in plies, or None.
        seconds: by phase.
    """

    file: str
    game: str
    states: int
    positions: int
    moves: int
    edges: int
    value: int
    remoteness: int | None
    seconds: dict[str, float]


def build(
    game: Game | str,
    target: str | os.PathLike[str],
    *,
    force: bool = False,
    max_states: int | None = None,
    progress: Progress = quiet,
) -> Report:
    """Explore and solve a game and write it to a database, all or nothing.

    Args:
        game: the rules, or a name for `graphstore.find_game`.
        target: the file to write.
        force: replace the file if there is one.
        max_states: how many states to allow, by default 100 million.
        progress: called with the phase and how far it is.

    Raises:
        StoreExistsError: the file is there and `force` is not given.
        StoreError: it cannot be written.
        RulesError, TooLargeError: see `graphstore.explore`.
    """
    from graphstore.exploration import explore  # networkx: only a build and a load need it
    from graphstore.solution import solve

    rules = find_game(game) if isinstance(game, str) else game
    clock = _Clock()
    with _draft(Path(target), force=force) as draft:
        graph = explore(rules, max_states=max_states, progress=progress)
        clock.lap("explore")
        solution = solve(graph, progress=progress)
        clock.lap("solve")
        row = _write(draft, rules, graph, solution, clock, progress)
    return Report(
        str(target),
        rules.name,
        *(row[name] for name in ("states", "positions", "moves", "edges", "value", "remoteness")),
        clock.laps,
    )


def upgrade(path: str | os.PathLike[str]) -> str:
    """Bring a database to the newest schema, in place and in one transaction.

    Returns:
        The revision that it had before.

    Raises:
        NotAStoreError, NewerStoreError: it cannot be upgraded.
    """
    before = _revision(Path(path))
    if before not in schema.REVISIONS:
        raise _newer(Path(path), before)
    if before != schema.REVISIONS[-1]:
        engine = create_engine(f"sqlite:///{path}", poolclass=NullPool)
        with engine.begin() as connection:
            migrate(connection)
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
        self.engine: Engine = create_engine(
            "sqlite://", creator=lambda: connect(path), pool_reset_on_return=None
        )
        with self.connect() as connection:
            self.info: dict[str, Any] = _game_row(connection, path)

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
        path = _local_path(path_or_url)
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

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Store {self.path}: {self.info['name']}, {self.info['states']} states>"

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    @property
    def game(self) -> Game:
        """The rules, by the name that the database records."""
        if self._rules is None:
            self._rules = find_game(self.info["name"])
        return self._rules

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """Lend a read-only connection; database errors come out as one clear line."""
        with _explained(self.path), self.engine.connect() as connection:
            yield connection


def connect(path: Path) -> sqlite3.Connection:
    """Return a read-only connection of the standard library's driver."""
    return sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, check_same_thread=False)


class _Clock:
    """Seconds by phase."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._since = time.perf_counter()

    def lap(self, phase: str) -> None:
        now = time.perf_counter()
        self.laps[phase] = round(now - self._since, 4)
        self._since = now


@contextmanager
def _draft(target: Path, *, force: bool) -> Iterator[Path]:
    """Lend the path of a draft that becomes the target if the block ends well.

    The draft is locked while it is written; what a killed build left is not locked, and is
    taken over.
    """
    if target.is_dir():
        raise StoreError(f"{target} is a folder; name a file in it")
    if not target.absolute().parent.is_dir():
        raise StoreError(f"there is no folder {target.parent}; make it first")
    if os.path.lexists(target) and not force:
        raise StoreExistsError(f"{target} exists; add --force (force=True) to replace it")
    draft = target.with_name(f".{target.name}.building")
    with _explained(target, "nothing was changed"):
        lock = _take_over(draft)
        try:
            yield draft
            os.fsync(lock)
            _settle(target)
            draft.replace(target)
            _sync_folder(target.absolute().parent)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
        finally:
            os.close(lock)


def _take_over(draft: Path) -> int:
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
    if not any(target.with_name(target.name + end).exists() for end in ("-wal", "-journal")):
        return
    with closing(sqlite3.connect(target, timeout=1)) as old:
        old.execute("PRAGMA journal_mode = DELETE").fetchall()
        old.execute("SELECT count(*) FROM sqlite_master").fetchall()
    if any(target.with_name(target.name + end).exists() for end in ("-wal", "-journal")):
        raise StoreError(f"{target} is being written by another program; close it first")


def _sync_folder(folder: Path) -> None:
    with suppress(OSError):  # not every file system has folders that can be synced
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _write(
    draft: Path,
    game: Game,
    graph: "GameGraph",
    solution: "Solution",
    clock: _Clock,
    progress: Progress,
) -> dict[str, Any]:
    """Fill an empty draft; return the row of the table game."""
    engine = create_engine(f"sqlite:///{draft}", poolclass=NullPool)
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
        hashes = digests.ColumnDigests()
        _load(connection, "state", _state_parts(game, graph, solution), hashes, progress)
        clock.lap("load states")
        _load(connection, "edge", _edge_parts(graph), hashes, progress)
        clock.lap("load edges")
        progress("index", 0, None)
        schema.edge_child.create(connection)
        connection.exec_driver_sql("PRAGMA analysis_limit=1000")
        connection.exec_driver_sql("ANALYZE")
        clock.lap("index")
        columns = hashes.of_columns()
        row = _describe(game, graph, solution, columns, sum(clock.laps.values()))
        connection.execute(insert(schema.game), row)
        columns["game"] = digests.of_row(row)
        connection.execute(
            insert(schema.digest),
            [{"name": name, "blake2b": value} for name, value in columns.items()],
        )
        connection.commit()
    clock.lap("finish")
    return row


def _load(
    connection: Connection,
    table: str,
    parts: Iterator[tuple[int, int, dict[str, Column]]],
    hashes: digests.ColumnDigests,
    progress: Progress,
) -> None:
    """Insert whole columns, part by part, with many rows to a statement."""
    for done, total, columns in parts:
        for name, cells in columns.items():
            hashes.update(f"{table}.{name}", cells)
        cells = [
            column if isinstance(column, list) else column.tolist() for column in columns.values()
        ]
        insert_rows(connection, table, list(columns), cells)
        progress(f"load {table}s", done, total)


def insert_rows(
    connection: Connection, table: str, names: Sequence[str], columns: Sequence[list[Any]]
) -> None:
    """Insert equally long lists of cells, one a column, through the driver."""
    width = len(names)
    flat = list(chain.from_iterable(zip(*columns, strict=True)))
    row = f"({', '.join('?' * width)})"
    head = f"INSERT INTO {table} ({', '.join(names)}) VALUES "
    cursor = connection.connection.cursor()
    size = CELLS_A_STATEMENT // width * width
    whole = len(flat) // size * size
    for begin, end, step in ((0, whole, size), (whole, len(flat), width)):
        cursor.executemany(
            head + ", ".join([row] * (step // width)),
            (flat[i : i + step] for i in range(begin, end, step)),
        )


def _state_parts(
    game: Game, graph: "GameGraph", solution: "Solution"
) -> Iterator[tuple[int, int, dict[str, Column]]]:
    """Yield (states done, all, columns of the next ones)."""
    from graphstore.solution import NONE

    states = graph.states
    total = len(states.id)

    def masked(column: Any, none: int) -> Column:
        return np.ma.masked_equal(column, none, copy=False)

    for begin in range(0, total, CHUNK):
        some = slice(begin, begin + CHUNK)
        ids = states.id[some]
        random_value = solution.random_value[some]
        yield (
            min(begin + CHUNK, total),
            total,
            {
                "id": ids,
                "position": game.texts(ids),
                "ply": states.ply[some],
                "to_move": masked(states.to_move[some], 0),
                "ended": (states.outcome[some] != IN_PLAY).astype(np.int8),
                "value": solution.value[some],
                "remoteness": masked(solution.remoteness[some], NONE),
                "score": solution.score[some],
                "win_depth": masked(solution.win_depth[some], NONE),
                "lose_depth": masked(solution.lose_depth[some], NONE),
                "orbit": states.orbit[some],
                "random_value": np.ma.array(random_value, mask=np.isnan(random_value)),
            },
        )


def _edge_parts(graph: "GameGraph") -> Iterator[tuple[int, int, dict[str, Column]]]:
    """Yield (edges done, all, columns of the next ones)."""
    ids, edges = graph.states.id, graph.edges_by_move
    parent, total = edges.parent, len(edges.move)
    for begin in range(0, total, CHUNK):
        some = slice(begin, begin + CHUNK)
        yield (
            min(begin + CHUNK, total),
            total,
            {
                "parent": ids[parent[some]],
                "move": edges.move[some],
                "child": ids[edges.child[some]],
            },
        )


def _describe(
    game: Game, graph: "GameGraph", solution: "Solution", columns: dict[str, str], seconds: float
) -> dict[str, Any]:
    """Return the row of the table game."""
    states = graph.states
    starts = np.flatnonzero(states.ply == 0)
    first = solution.at(int(starts[0]))
    return {
        "id": 1,
        "name": game.name,
        "rules": game.rules,
        "starts": len(starts),
        "states": len(states.id),
        "positions": graph.number_of_positions(),
        "moves": graph.number_of_moves(),
        "edges": graph.number_of_edges(),
        "plies": int(states.ply.max()),
        "cyclic": int(solution.cyclic),
        "start": game.texts(states.id[starts[:1]])[0],
        "value": first["value"],
        "remoteness": first["remoteness"],
        "built_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "built_with": f"graphstore {version('graphstore')}, Python {platform.python_version()}, "
        f"numpy {np.__version__}, SQLite {sqlite3.sqlite_version}",
        "build_seconds": round(seconds, 3),
        "digest": digests.of_content(columns),
    }


def _local_path(path_or_url: str | os.PathLike[str]) -> Path:
    text = os.fspath(path_or_url)
    scheme, colon, rest = text.partition("://")
    if not colon:
        return Path(text)
    if scheme == "sqlite":
        return Path(rest.removeprefix("/"))
    raise StoreError(f"{text}: only files and sqlite:/// addresses can be opened")


def _revision(path: Path) -> str:
    """Return the schema revision of a file that is ours."""
    if not path.exists():
        raise StoreMissingError(f"there is no file {path}; graphstore build GAME --db {path}")
    with _explained(path):
        if path.is_dir():
            raise NotAStoreError(f"{path} is a folder, not a graphstore database")
        with path.open("rb") as file:
            header = file.read(100)
        ours = header[:16] == b"SQLite format 3\0" and header[68:72] == (
            schema.APPLICATION_ID.to_bytes(4, "big")
        )
        if not ours:
            raise NotAStoreError(f"{path} is not a graphstore database")
        with closing(connect(path)) as connection:
            rows = connection.execute("SELECT version_num FROM alembic_version").fetchall()
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
def _explained(path: Path, consequence: str = "") -> Iterator[None]:
    """Turn errors of the database and the file system into one line about the file."""
    try:
        yield
    except StoreError:
        raise
    except (DBAPIError, sqlite3.Error, OSError) as error:
        reason = getattr(error, "orig", None) or error
        what = getattr(reason, "strerror", None) or str(reason)
        raise StoreError(f"{path}: {what}{'; ' * bool(consequence)}{consequence}") from error
