"""Build a game into a database: explore, solve, write. The only writer of a new one.

What is written is a draft, which takes the place of the old game at the end: killed at any moment,
a build leaves the old game or none.
"""

import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, insert

from graphstore import agents, digests, schema
from graphstore.errors import StoreError, StoreExistsError
from graphstore.exploration import explore
from graphstore.game import Game, Ints, Progress, quiet
from graphstore.games import find_game
from graphstore.graph import GameGraph
from graphstore.growth import file_bytes
from graphstore.inserting import insert_rows
from graphstore.places import REPLACE, Draft, Place
from graphstore.solution import solve
from graphstore.store import Store, find_place
from graphstore.tables import Chunk, edge_parts, state_parts

_STARTS = "SELECT position FROM state WHERE ply = 0 ORDER BY id"
_BUILT_WITH = (
    f"graphstore {version('graphstore')}, Python {platform.python_version()}, "
    f"numpy {np.__version__}"
)


class Report(NamedTuple):
    """What a build made.

    Attributes:
        file: the address of the database.
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
        target: the file to write, or its address: see `Store.open`.
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

    place = find_place(target).for_game(rules.name)
    wanted = rules.read_many(list(below)) if below else None
    grows = wanted is not None and not force and place.exists()

    def solved(clock: Clock) -> GameGraph:
        starts = wanted
        if wanted is not None and grows:
            starts = np.concatenate((_starts_in(place, rules, wanted), wanted))
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


def _starts_in(place: Place, game: Game, new: Ints) -> Ints:
    """Return the positions from which a file was built, if others can be added.

    Raises:
        StoreExistsError: it is of another kind, or has the new ones.
    """
    with Store.at(place) as store:
        info = store.info
        if (info["name"], info["rules"]) != (game.name, game.rules):
            raise StoreExistsError(
                f"{place.address} has {info['name']} {info['rules']}, to which positions of "
                f"{game.name} {game.rules} cannot be added; {REPLACE}"
            )
        if info["extent"] != schema.BELOW:
            what = "the whole game" if info["extent"] == schema.WHOLE else "a strategy"
            raise StoreExistsError(
                f"{place.address} has {what}, to which nothing is added; {REPLACE}"
            )
        starts = game.canonical(game.read_many([text for (text,) in store.sql(_STARTS)]))
    if np.isin(game.canonical(new), starts).all():
        raise StoreExistsError(f"{place.address} was built from there already; {REPLACE}")
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
        target: the file to write, or its address: see `Store.open`.
        solved: makes the graph, with its solution; called once the target is known to be free.
        extent: what the graph is, see `graphstore.schema`.
        force: see `build`.
        drop_agents: see `build`.
        progress: see `build`.

    Raises:
        StoreExistsError, StoreError: see `build`.
    """
    clock = Clock()
    place = find_place(target).for_game(game.name)
    kept: list[str] = []

    def carry(connection: Connection, old: str, new: str) -> None:
        kept.extend(agents.carry_over(connection, old, new, place.address))

    with place.draft(force=force) as draft:
        if not drop_agents:
            _check_agents(place, game)
        graph = solved(clock)
        draft.check_space(file_bytes(len(graph.states.id), graph.number_of_moves()))
        row = _fill(draft, place, game, graph, extent, clock, progress)
        draft.put(None if drop_agents else carry)
        clock.lap("finish")
    return Report(
        file=place.address,
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


def _check_agents(place: Place, game: Game) -> None:
    """Refuse to replace a game with agents by another, before the work begins."""
    trained_on, names = place.agents_in()
    if names and trained_on != game.name:
        raise StoreError(
            f"{place.address} has agents ({', '.join(names)}), which have learned {trained_on} and "
            f"not {game.name}; {agents.DROP}"
        )


def _fill(
    draft: Draft,
    place: Place,
    game: Game,
    graph: GameGraph,
    extent: str,
    clock: Clock,
    progress: Progress,
) -> dict[str, Any]:
    """Fill an empty draft; return the row of the table game."""
    solution = graph.solution
    assert solution is not None
    with draft.filling() as connection:
        hashes = digests.ColumnDigests()
        _load(connection, "state", state_parts(graph, solution), hashes, progress)
        clock.lap("load states")
        _load(connection, "edge", edge_parts(graph), hashes, progress)
        clock.lap("load edges")
        progress("index", 0, None)
        draft.index(connection)
        clock.lap("index")
        columns = hashes.of_columns()
        about = {"extent": extent, "built_with": f"{_BUILT_WITH}, {place.product}"}
        row = _describe(game, graph, columns, sum(clock.laps.values())) | about
        connection.execute(insert(schema.game), row)
        columns |= digests.of_row("game", row)
        connection.execute(
            insert(schema.digest),
            [{"name": name, "blake2b": value} for name, value in columns.items()],
        )
    return row


def _load(
    connection: Connection,
    table: str,
    parts: Iterator[Chunk],
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
    """Return the row of the table game, but for its extent and what it was built with."""
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
        "build_seconds": round(seconds, 3),
        "digest": digests.of_content(columns),
    }
