"""Write a solved game to a database.

The game is written as a draft, which replaces the old game at the end. A build that is killed
leaves the old game or none.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from queue import SimpleQueue
from threading import Event
from typing import Any, NamedTuple, Protocol

from sqlalchemy import Connection, insert

from graphstore.building import kept_agents
from graphstore.errors import NotAStoreError, StoreError
from graphstore.rules.game import Progress, quiet
from graphstore.solver.estimate import file_bytes
from graphstore.store import digests, schema
from graphstore.store.backend import Backend, Draft
from graphstore.store.bulk import insert_rows
from graphstore.store.columns import Chunk
from graphstore.store.store import refuse_newer
from graphstore.util.signals import held_back

_OFTEN = 0.2  # seconds between two reports of progress


class Content(Protocol):
    """A solved game to write.

    Attributes:
        states: their number.
        moves: their number, the rows of `edge`.
        names: the names of moves by number; empty if they have none.
    """

    states: int
    moves: int
    names: dict[int, str]

    def rows(self, table: str) -> Iterator[Chunk]:
        """Yield the rows of `state` or `edge` in the order of their key; called once per table.

        Raise a NotAStoreError, at the end at the latest, if the rows are damaged.
        """

    def blocks(self, table: str) -> Sequence[Iterator[Chunk]]:
        """Return the same rows as several streams, for several threads."""

    def digests(self) -> dict[str, str]:
        """Return the digests of all columns by name; called after all rows were yielded."""

    def row(self) -> dict[str, Any]:
        """Return the row of the table `game`, without `built_at`."""


class Report(NamedTuple):
    """The result of a build.

    The fields from `states` to `remoteness` are columns of the table `game`, explained by
    `store.meanings`; value and remoteness are those of the start.

    Attributes:
        file: the address of the database, or the folder.
        game: its name.
        agents: the names of the agents that were kept from the old game.
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


def save(
    game: str,
    place: Backend,
    solved: Callable[["Clock"], Content],
    *,
    force: bool = False,
    drop_agents: bool = False,
    jobs: int = 1,
    progress: Progress = quiet,
) -> Report:
    """Write a solved game to a database, all or nothing; see `graphstore.build`.

    `solved` returns the content to write; it is called after the target is known to be free. `jobs`
    is the number of connections to load over, if the backend supports several.
    """
    clock = Clock()
    kept: list[str] = []

    def carry(connection: Connection, old: str, new: str) -> None:
        kept.extend(kept_agents.carry_over(connection, old, new, place.address))

    with _drafted(place, game, force=force, drop_agents=drop_agents) as draft:
        content = solved(clock)
        draft.check_space(file_bytes(content.states, content.moves))
        row = _fill(draft, place, content, clock, jobs, progress)
        draft.put(None if drop_agents else carry)
        clock.lap("finish")
    return Report(
        file=place.address,
        game=game,
        **{name: row[name] for name in Report._fields if name in row},
        agents=tuple(kept),
        seconds=clock.laps,
    )


def refuse_target(place: Backend, game: str, *, force: bool, drop_agents: bool) -> None:
    """Raise the StoreError that `save` would raise before it writes."""
    with _drafted(place, game, force=force, drop_agents=drop_agents):
        pass


@contextmanager
def _drafted(place: Backend, game: str, *, force: bool, drop_agents: bool) -> Iterator[Draft]:
    """Yield the draft of a target that may be replaced."""
    with place.draft(force=force) as draft:
        if not drop_agents:
            _check_agents(place, game)
        refuse_newer(place)
        yield draft


def beside(place: Backend, game: str, ending: str) -> Path:
    """Return a path for the work on a database: next to a file, else in the current directory."""
    try:
        path = place.path
    except StoreError:
        path = Path("".join(each if each.isalnum() else "-" for each in game).strip("-"))
    return path.with_name(f"{path.name}.{ending}")


class Clock:
    """A clock that notes the seconds of each phase."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._since = time.perf_counter()

    def lap(self, phase: str) -> None:
        """Note the seconds since the last phase."""
        now = time.perf_counter()
        self.laps[phase] = round(now - self._since, 4)
        self._since = now


def _check_agents(place: Backend, game: str) -> None:
    """Raise if the target holds agents of another game, before the work begins."""
    try:
        trained_on, names = place.agents_in()
    except NotAStoreError as error:
        raise NotAStoreError(f"{error}; its agents cannot be read: {kept_agents.DROP}") from error
    if names and trained_on != game:
        raise StoreError(
            f"{place.address} has agents ({', '.join(names)}) of {trained_on}, not of {game}; "
            f"{kept_agents.DROP}"
        )


def _fill(
    draft: Draft, place: Backend, content: Content, clock: Clock, jobs: int, progress: Progress
) -> dict[str, Any]:
    """Fill an empty draft; return the row of the table `game`."""
    with draft.filling(jobs) as connections:
        for table in ("state", "edge"):
            if len(connections) == 1:
                for done, total, columns in content.rows(table):
                    insert_rows(connections[0], table, columns)
                    progress(f"load {table}s", done, total)
            else:
                _load_in_parallel(connections, table, content, progress)
            clock.lap(f"load {table}s")
        progress("index", 0, None)
        draft.index()
        clock.lap("index")
        if content.names:
            rows = [{"move": move, "name": name} for move, name in content.names.items()]
            connections[0].execute(insert(schema.move), rows)
        columns, row = content.digests() | digests.of_names(content.names), content.row()
        row |= {
            "built_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "built_with": f"{row['built_with']}, {place.product}",
            "build_seconds": round(row["build_seconds"] + sum(clock.laps.values()), 3),
        }
        connections[0].execute(insert(schema.game), row)
        columns |= digests.of_row("game", row)
        connections[0].execute(
            insert(schema.digest),
            [{"name": name, "blake2b": value} for name, value in columns.items()],
        )
    return row


def _load_in_parallel(
    connections: Sequence[Connection], table: str, content: Content, progress: Progress
) -> None:
    """Insert blocks over several connections, while another thread computes the digests."""
    stop, blocks = Event(), SimpleQueue[Iterator[Chunk] | None]()
    loaded = [0] * len(connections)
    for block in (*content.blocks(table), *(None for _ in connections)):
        blocks.put(block)

    def load(number: int) -> None:
        for block in iter(blocks.get, None):
            for _, _, columns in block:
                if stop.is_set():
                    return
                insert_rows(connections[number], table, columns)
                loaded[number] += len(next(iter(columns.values())))

    def read() -> None:
        for _ in content.rows(table):
            if stop.is_set():
                return

    total = content.states if table == "state" else content.moves
    with ThreadPoolExecutor(len(connections) + 1) as pool:
        try:
            with held_back():  # a thread whose start is interrupted may never end
                working = [pool.submit(read)]
                working += [pool.submit(load, number) for number in range(len(connections))]
            while True:
                done, left = wait(working, timeout=_OFTEN, return_when=FIRST_EXCEPTION)
                for each in done:
                    each.result()
                progress(f"load {table}s", sum(loaded), total)
                if not left:
                    break
        finally:
            stop.set()
