"""Build a game into a database: explore, solve, write. The only writer of a new file.

A build writes a draft beside its target and renames it at the end, so that, killed at any moment,
it leaves the old file or none.
"""

import os
import platform
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, create_engine, insert
from sqlalchemy.pool import NullPool

from graphstore import agents, digests, schema
from graphstore.errors import NotAStoreError, StoreError, StoreExistsError
from graphstore.exploration import explore
from graphstore.game import Game, Ints, Progress, quiet
from graphstore.games import find_game
from graphstore.graph import GameGraph
from graphstore.growth import file_bytes, sized
from graphstore.inserting import insert_rows
from graphstore.interrupts import held_back
from graphstore.solution import solve
from graphstore.store import Store, explained, local_path, migrate
from graphstore.tables import Part, edge_parts, state_parts

REPLACE = "add --force (force=True) to replace it"
_STARTS = "SELECT position FROM state WHERE ply = 0 ORDER BY id"


class Report(NamedTuple):
    """What a build made.

    Attributes:
        file: the database.
        game: its name.
        states: canonical states.
        positions: positions, every state counted as often as it has images.
        moves: legal moves of all states.
        edges: distinct pairs of parent and child.
        start: the position in which a game may begin, of several the one with the lowest id.
        value: of that start, for the player to move.
        remoteness: of that start in plies, or None.
        agents: those of the file that was replaced, which the new one keeps.
        seconds: by phase.
    """

    file: str
    game: str
    states: int
    positions: int
    moves: int
    edges: int
    start: str
    value: int
    remoteness: int | None
    agents: tuple[str, ...]
    seconds: dict[str, float]


def build(
    game: Game | str,
    target: str | os.PathLike[str],
    *,
    below: Sequence[str] = (),
    force: bool = False,
    drop_agents: bool = False,
    max_states: int | None = None,
    progress: Progress = quiet,
) -> Report:
    """Explore and solve a game and write it to a database, all or nothing.

    With positions to begin from, only what play from them can reach is built; if the file is there
    and was built so, they are added to those it has.

    Args:
        game: the rules, or a name for `graphstore.find_game`.
        target: the file to write, or its ``sqlite:///`` URL.
        below: positions to begin from, as text; by default the starts of the game.
        force: replace the file if there is one; its agents are kept.
        drop_agents: with `force`, do not keep them.
        max_states: how many states to allow, by default 100 million.
        progress: called with the phase and how far it is.

    Raises:
        StoreExistsError: the file is there and `force` is not given, or has the positions.
        StoreError: it cannot be written, or has agents that the new one could not keep.
        RulesError, TooLargeError: see `graphstore.explore`.
        PositionError: a text of `below` is no position.
    """
    rules = find_game(game) if isinstance(game, str) else game

    path = local_path(target)
    wanted = rules.read_many(list(below)) if below else None
    grows = wanted is not None and not force and path.exists()

    def solved(clock: Clock) -> GameGraph:
        starts = wanted
        if wanted is not None and grows:
            starts = np.concatenate((_starts_in(path, rules, wanted), wanted))
        graph = explore(rules, starts=starts, max_states=max_states, progress=progress)
        clock.lap("explore")
        solve(graph, progress=progress)
        clock.lap("solve")
        return graph

    return save(
        rules,
        target,
        solved,
        extent=schema.WHOLE if wanted is None else schema.BELOW,
        force=force or grows,
        drop_agents=drop_agents,
        progress=progress,
    )


def _starts_in(path: Path, game: Game, new: Ints) -> Ints:
    """Return the positions from which a file was built, if others can be added.

    Raises:
        StoreExistsError: it is of another kind, or has the new ones.
    """
    with Store.open(path) as store:
        info = store.info
        if (info["name"], info["rules"]) != (game.name, game.rules):
            raise StoreExistsError(
                f"{path} has {info['name']} {info['rules']}, to which positions of {game.name} "
                f"{game.rules} cannot be added; {REPLACE}"
            )
        if info["extent"] != schema.BELOW:
            what = "the whole game" if info["extent"] == schema.WHOLE else "a strategy"
            raise StoreExistsError(f"{path} has {what}, to which nothing is added; {REPLACE}")
        starts = game.canonical(game.read_many([text for (text,) in store.sql(_STARTS)]))
    if np.isin(game.canonical(new), starts).all():
        raise StoreExistsError(f"{path} was built from there already; {REPLACE}")
    return starts


def save(
    game: Game,
    target: str | os.PathLike[str],
    solved: Callable[["Clock"], GameGraph],
    *,
    extent: str = schema.WHOLE,
    force: bool = False,
    drop_agents: bool = False,
    progress: Progress = quiet,
) -> Report:
    """Write a solved graph to a database, all or nothing.

    Args:
        game: the rules.
        target: the file to write, or its ``sqlite:///`` URL.
        solved: makes the graph, with its solution; called once the target is known to be free.
        extent: what the graph is, see `graphstore.schema`.
        force: see `build`.
        drop_agents: see `build`.
        progress: see `build`.

    Raises:
        StoreExistsError, StoreError: see `build`.
    """
    clock = Clock()
    path = local_path(target)
    kept: list[str] = []
    with _draft(path, force=force, kept=None if drop_agents else kept) as draft:
        if not drop_agents:
            _check_agents(path, game)
        graph = solved(clock)
        _check_space(draft.parent, graph)
        row = _write(draft, game, graph, extent, clock, progress)
    return Report(
        file=str(path),
        game=game.name,
        **{name: row[name] for name in Report._fields if name in row},
        agents=tuple(kept),
        seconds=clock.laps,
    )


class Clock:
    """Seconds by phase."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._since = time.perf_counter()

    def lap(self, phase: str) -> None:
        """Note the seconds since the last phase."""
        now = time.perf_counter()
        self.laps[phase] = round(now - self._since, 4)
        self._since = now


@contextmanager
def _draft(target: Path, *, force: bool, kept: list[str] | None) -> Iterator[Path]:
    """Lend the path of a draft that becomes the target if the block ends well.

    It takes over the agents of the target, whose names are added to `kept`, unless that is None.
    The draft is locked while it is written; what a killed build left is not locked, and is
    taken over.
    """
    with explained(target, agents.UNCHANGED):
        _check_target(target, force=force)
        draft = target.with_name(f".{target.name}.building")
        lock = None
        try:
            with held_back():
                lock = _take_over(draft)
            yield draft
            with ExitStack() as stack:
                if kept is not None and target.exists():
                    kept += stack.enter_context(agents.carried_over(target, draft))
                os.fsync(lock)
                _settle(target)
                draft.replace(target)
            _sync_folder(target.absolute().parent)
        except BaseException:
            if lock is not None:  # else it is another build's
                draft.unlink(missing_ok=True)
            raise
        finally:
            if lock is not None:
                os.close(lock)


def _check_target(target: Path, *, force: bool) -> None:
    if target.is_dir():
        raise StoreError(f"{target} is a folder; name a file in it")
    if not target.absolute().parent.is_dir():
        raise StoreError(f"there is no folder {target.parent}; make it first")
    if os.path.lexists(target) and not force:
        raise StoreExistsError(f"{target} exists; {REPLACE}")
    if target.exists() and not target.is_file():
        raise StoreError(f"{target} is a pipe or device, which a database cannot replace")


def _check_agents(target: Path, game: Game) -> None:
    """Refuse to replace a file with agents by another game, before the work begins."""
    trained_on, names = agents.named_in(target) if target.exists() else ("", [])
    if names and trained_on != game.name:
        raise StoreError(
            f"{target} has agents ({', '.join(names)}), which have learned {trained_on} and not "
            f"{game.name}; {agents.DROP}"
        )


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
    journals = [target.with_name(target.name + end) for end in ("-wal", "-shm", "-journal")]
    if not any(journal.exists() for journal in journals):
        return
    if target.exists():
        with (
            suppress(NotAStoreError),
            explained(target, agents.UNCHANGED),
            closing(_connect(target)) as old,
        ):
            old.execute("PRAGMA journal_mode = DELETE").fetchall()
            old.execute("SELECT count(*) FROM sqlite_master").fetchall()
            if any(journal.exists() for journal in journals):
                raise StoreError(f"{target} is being written by another program; close it first")
    for journal in journals:  # of a file that is gone, or that SQLite itself cannot read
        journal.unlink(missing_ok=True)


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=1)


def _check_space(folder: Path, graph: GameGraph) -> None:
    """Refuse what the disk has no room for, before it is full."""
    needed = file_bytes(len(graph.states.id), graph.number_of_moves())
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise StoreError(f"{folder} has room for {sized(free)}; the file takes {sized(needed)}")


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
    graph: GameGraph,
    extent: str,
    clock: Clock,
    progress: Progress,
) -> dict[str, Any]:
    """Fill an empty draft; return the row of the table game."""
    solution = graph.solution
    assert solution is not None
    engine = create_engine("sqlite://", creator=partial(_connect, draft), poolclass=NullPool)
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
        _load(connection, "state", state_parts(graph, solution), hashes, progress)
        clock.lap("load states")
        _load(connection, "edge", edge_parts(graph), hashes, progress)
        clock.lap("load edges")
        progress("index", 0, None)
        schema.edge_child.create(connection)
        connection.exec_driver_sql("PRAGMA analysis_limit=1000")
        connection.exec_driver_sql("ANALYZE")
        clock.lap("index")
        columns = hashes.of_columns()
        row = _describe(game, graph, columns, sum(clock.laps.values())) | {"extent": extent}
        connection.execute(insert(schema.game), row)
        columns |= digests.of_row("game", row)
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
    parts: Iterator[Part],
    hashes: digests.ColumnDigests,
    progress: Progress,
) -> None:
    """Insert whole columns, part by part, with many rows to a statement."""
    for done, total, columns in parts:
        for name, cells in columns.items():
            hashes.update(f"{table}.{name}", cells)
        insert_rows(connection, table, columns)
        progress(f"load {table}s", done, total)


def _describe(
    game: Game, graph: GameGraph, columns: dict[str, str], seconds: float
) -> dict[str, Any]:
    """Return the row of the table game, but for its extent."""
    solution = graph.solution
    assert solution is not None
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
