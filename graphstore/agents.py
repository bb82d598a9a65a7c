"""Agents in a database: listed, loaded, created and saved. The only writer of their tables.

Everything is written in transactions: killed at any moment, an agent is as it was after the last
game that was saved.
"""

import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Row, Select, and_, bindparam, create_engine, func, select
from sqlalchemy.pool import NullPool

from graphstore import schema
from graphstore.arena import Arena
from graphstore.errors import AgentMissingError, NotAStoreError, StoreError, shown
from graphstore.inserting import insert_rows
from graphstore.menace import MOST_BEADS, Boxes, Settings, read_stages, written
from graphstore.opponents import agent_name
from graphstore.precautions import refuse_traps
from graphstore.schema import agent, bead, checkpoint, edge, played
from graphstore.store import Store, connect, explained

WAIT = 30  # seconds for another writer to end
MOST_GAMES = 2**62  # so that their number never overflows
UNCHANGED = "nothing was changed"
DROP = "add --drop-agents (drop_agents=True) to delete them, or write to another file"


class Agent(NamedTuple):
    """An agent as the database has it.

    Attributes:
        id: its number in the database.
        name: what it is called.
        settings: how it learns.
        seed: what its generator began with.
        games: how many it has learned from.
        random: the state of its generator, as JSON.
    """

    id: int
    name: str
    settings: Settings
    seed: int
    games: int
    random: str

    def generator(self) -> Random:
        """Return its generator, where it stopped.

        Raises:
            NotAStoreError: the state of it is damaged.
        """
        generator = Random()
        try:
            version, numbers, gauss = json.loads(self.random)
            generator.setstate((version, tuple(numbers), gauss))
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            raise NotAStoreError(f"the generator of {self.name} is damaged: {error}") from error
        return generator


class Played(NamedTuple):
    """Games that an agent has learned from, all of one kind, in the order they were played.

    Attributes:
        side: 1 or 2, the player that the agent was; 0: both.
        opponent: the other player.
        winner: 1, 2, or 0 for a draw.
        plies: how many moves were played.
    """

    side: list[int]
    opponent: str
    winner: list[int]
    plies: list[int]


def names(store: Store) -> list[str]:
    """Return the names of the agents in a database."""
    with store.connect() as connection:
        return list(connection.scalars(select(agent.c.name).order_by(agent.c.name)))


def find(store: Store, name: str) -> Agent | None:
    """Return the agent of a name, or None."""
    with store.connect() as connection:
        row = _by_name(connection, name)
        return None if row is None else _agent(row)


def load(store: Store, name: str) -> Agent:
    """Return the agent of a name.

    Raises:
        AgentMissingError: there is none.
    """
    found = find(store, name)
    if found is None:
        raise _missing(store, name)
    return found


def _by_name(connection: Connection, name: str) -> Row[Any] | None:
    with suppress(UnicodeEncodeError):  # of half a character, which SQLite cannot hold
        return connection.execute(agent.select().where(agent.c.name == name)).first()
    return None


def _missing(store: Store, name: str) -> AgentMissingError:
    known = ", ".join(names(store)) or "none yet"
    return AgentMissingError(
        f"{store.path} has no agent {shown(str(name))}; its agents: {known}; "
        f"graphstore train {store.path} makes one"
    )


def remove(store: Store, name: str) -> None:
    """Delete an agent, its beads and its games.

    Raises:
        AgentMissingError: there is none.
    """
    with writing(store) as connection:
        row = _by_name(connection, name)
        if row is None:
            raise _missing(store, name)
        for table in (checkpoint, played, bead):
            connection.execute(table.delete().where(table.c.agent == row.id))
        connection.execute(agent.delete().where(agent.c.id == row.id))


def boxes(store: Store, arena: Arena, known: Agent) -> Boxes:
    """Return an agent's matchboxes, as they were saved.

    Raises:
        NotAStoreError: the beads do not lie on the edges of its boxes.
    """
    edges = _places(arena, Boxes(arena, known.settings))
    query = (
        select(bead.c.state, bead.c.move, bead.c.beads)
        .where(bead.c.agent == known.id)
        .order_by(bead.c.state, bead.c.move)
    )
    rows = integers(store, query, 3)
    places = np.column_stack((arena.state[arena.parent[edges]], arena.move[edges]))
    if not np.array_equal(places, rows[:, :2]):
        raise NotAStoreError(
            f"{store.path} is damaged: the beads of {known.name} are not those of its boxes"
        )
    wrong = np.flatnonzero((rows[:, 2] < 0) | (rows[:, 2] > MOST_BEADS))
    if wrong.size:
        state, move, found = rows[wrong[0]].tolist()
        raise NotAStoreError(
            f"{store.path} is damaged: {known.name} has {found:,} beads on move {move} of {state}"
        )
    beads = np.zeros(len(arena.child), dtype=np.int64)
    beads[edges] = rows[:, 2]
    return Boxes(arena, known.settings, beads)


def create(store: Store, name: str, settings: Settings, seed: int, arena: Arena) -> Agent:
    """Write a new agent, all its boxes filled, and return it.

    Raises:
        OpponentError: an agent cannot have that name.
        StoreError: there is one of that name, or the file cannot be written.
    """
    filled = Boxes(arena, settings.checked())
    edges = _places(arena, filled)
    random = Random(seed)
    with writing(store) as connection:
        number = int(connection.scalar(select(func.max(agent.c.id))) or 0) + 1
        made = Agent(number, agent_name(name), settings, seed, 0, _state(random))
        if connection.scalar(select(agent.c.id).where(agent.c.name == name)) is not None:
            raise StoreError(f"{store.path} has an agent {name} already")
        connection.execute(agent.insert(), _columns(made))
        insert_rows(
            connection,
            "bead",
            {
                "agent": np.full(len(edges), number),
                "state": arena.state[arena.parent[edges]],
                "move": arena.move[edges],
                "beads": np.array(filled.beads, dtype=np.int64)[edges],
            },
        )
        at_first = {"agent": number, "games": 0, "kept": filled.kept, "boxes": len(filled.rows)}
        connection.execute(checkpoint.insert(), at_first)
    return made


def save(
    connection: Connection,
    known: Agent,
    arena: Arena,
    filled: Boxes,
    random: Random,
    new: Sequence[Played],
    checkpoints: Sequence[tuple[int, int]],
) -> Agent:
    """Write the games that an agent has learned from since it was loaded or saved.

    Args:
        connection: lent by `writing`.
        known: the agent before.
        arena: of its game.
        filled: its boxes now.
        random: its generator now.
        new: its games.
        checkpoints: (games, boxes that keep the value) on the way.

    Returns:
        The agent now.

    Raises:
        StoreError: another program has trained it meanwhile.
    """
    games = known.games + sum(len(some.winner) for some in new)
    now = known._replace(games=games, random=_state(random))
    updated = connection.execute(
        agent.update().where(agent.c.id == known.id, agent.c.games == known.games),
        {"games": now.games, "random": now.random},
    )
    if updated.rowcount != 1:
        raise StoreError(
            f"another program has trained or removed {known.name} meanwhile; "
            f"the last {games - known.games:,} games are not kept"
        )
    changed = [
        {
            "of_agent": known.id,
            "of_state": int(arena.state[arena.parent[each]]),
            "by_move": int(arena.move[each]),
            "beads": filled.beads[each],
        }
        for each in filled.settle()
    ]
    if changed:
        connection.execute(_CHANGE, changed)
    number = known.games + 1
    for some in new:
        count = len(some.winner)
        columns = {
            "agent": np.full(count, known.id),
            "number": np.arange(number, number + count),
            "side": np.array(some.side, dtype=np.int64),
            "opponent": [some.opponent] * count,
            "winner": np.array(some.winner, dtype=np.int64),
            "plies": np.array(some.plies, dtype=np.int64),
        }
        if count:
            insert_rows(connection, "played", columns)
        number += count
    if checkpoints:
        total = len(filled.rows)
        rows = [
            {"agent": known.id, "games": at, "kept": kept, "boxes": total}
            for at, kept in checkpoints
        ]
        connection.execute(checkpoint.insert(), rows)
    return now


_CHANGE = (
    bead.update()
    .where(
        bead.c.agent == bindparam("of_agent"),
        bead.c.state == bindparam("of_state"),
        bead.c.move == bindparam("by_move"),
    )
    .values(beads=bindparam("beads"))
)


@contextmanager
def writing(store: Store, consequence: str = "nothing was written") -> Iterator[Connection]:
    """Lend a connection in a transaction that is committed if the block ends well.

    Args:
        store: the database.
        consequence: what an error says that it means.

    Raises:
        StoreError: the file cannot be written, or holds another game than when it was opened.
    """
    driver = partial(
        sqlite3.connect,
        f"{store.path.absolute().as_uri()}?mode=rw",
        uri=True,
        isolation_level=None,  # the driver itself would begin one later than it is needed
        timeout=WAIT,
    )
    with explained(store.path, consequence):
        engine = create_engine("sqlite://", creator=driver, poolclass=NullPool)
        while True:
            before = store.path.stat()
            with engine.connect() as connection:
                connection.exec_driver_sql("PRAGMA trusted_schema = OFF")
                connection.exec_driver_sql("PRAGMA foreign_keys = ON")
                connection.exec_driver_sql("BEGIN IMMEDIATE")
                if not os.path.samestat(before, store.path.stat()):
                    continue  # a build has put another file in its place, which is the one to use
                row = connection.execute(schema.game.select()).mappings().one()
                if row["digest"] != store.info["digest"]:
                    raise StoreError(f"{store.path} holds another game by now: {row['name']}")
                yield connection
                connection.commit()
                return


@contextmanager
def carried_over(old: Path, draft: Path) -> Iterator[list[str]]:
    """Copy the agents of a file into the draft that will replace it; lend their names.

    Until the block ends nothing can be written to the old file, so that no game is lost.

    Raises:
        StoreError: the draft has other states or moves, or an agent is being trained.
    """
    with explained(old, UNCHANGED), ExitStack() as stack:
        kept = named_in(old)[1]
        if kept:
            held = stack.enter_context(closing(sqlite3.connect(old, timeout=WAIT)))
            held.execute("PRAGMA journal_mode = DELETE").fetchall()
            held.execute("BEGIN IMMEDIATE")
            copy = stack.enter_context(closing(sqlite3.connect(draft, isolation_level=None)))
            copy.execute("ATTACH ? AS old", (f"{old.absolute().as_uri()}?mode=ro",))
            if copy.execute(_OTHER_STATES).fetchone() is not None:
                raise StoreError(
                    f"{old} has agents ({', '.join(kept)}), and the game has other states or moves "
                    f"now, for which they have no beads; {DROP}"
                )
            copy.execute("BEGIN")
            for table in schema.AGENT_TABLES:
                columns = ", ".join(column.name for column in table.columns)
                copy.execute(
                    f"INSERT INTO main.{table} ({columns}) SELECT {columns} FROM old.{table}"
                )
            for row in copy.execute("SELECT id, side, stages FROM main.agent").fetchall():
                copy.execute(_fill_new_boxes(*row))
            copy.execute("COMMIT")
        yield kept


_OTHER_STATES = """
SELECT 1 FROM old.game AS before, main.game AS now WHERE before.digest <> now.digest
    AND (now.extent <> 'below' OR before.extent <> 'below' OR before.rules <> now.rules
        OR EXISTS (SELECT parent, move, child FROM old.edge EXCEPT SELECT * FROM main.edge))
"""


def _fill_new_boxes(number: int, side: int, stages: str) -> str:
    """Return the SQL that fills the boxes that an agent did not have, in a file that has grown."""
    beads = read_stages(stages)
    cases = " ".join(f"WHEN {stage} THEN {count}" for stage, count in enumerate(beads))
    mine = f"AND (to_move IS NULL OR to_move = {side})" if side else ""
    return f"""
        INSERT INTO main.bead (agent, state, move, beads)
        SELECT {number}, parent, min(move), CASE ply / 2 {cases} ELSE {beads[-1]} END
        FROM main.edge JOIN main.state ON state.id = parent
        WHERE NOT EXISTS (SELECT 1 FROM main.bead WHERE agent = {number} AND state = parent)
            AND (SELECT count(*) FROM main.edge AS e WHERE e.parent = edge.parent) > 1 {mine}
        GROUP BY parent, child"""


def named_in(path: Path) -> tuple[str, list[str]]:
    """Return the game and the agents of a file, which may be of any version, or anything else."""
    try:
        with closing(connect(path)) as connection:
            refuse_traps(connection, path)
            (game,) = connection.execute("SELECT name FROM game").fetchone()
            if not connection.execute(
                "SELECT 1 FROM sqlite_master WHERE name = 'agent'"
            ).fetchall():
                return str(game), []
            rows = connection.execute("SELECT name FROM agent ORDER BY name").fetchall()
            return str(game), [str(name) for (name,) in rows]
    except (sqlite3.Error, TypeError):
        return "", []


def beads_in(store: Store, known: Agent, state: int) -> list[tuple[int, int]]:
    """Return (child state, beads) of a state's box; nothing if it is none of the agent's."""
    query = (
        select(edge.c.child, bead.c.beads)
        .join(edge, and_(edge.c.parent == bead.c.state, edge.c.move == bead.c.move))
        .where(bead.c.agent == known.id, bead.c.state == state)
        .order_by(bead.c.move)
    )
    with store.connect() as connection:
        return [(child, beads) for child, beads in connection.execute(query)]


def integers(store: Store, query: Select[Any], width: int) -> NDArray[np.int64]:
    """Return the rows of a query of whole numbers, int64[n, width], past SQLAlchemy's own rows."""
    with store.connect() as connection:
        statement = str(query.compile(connection, compile_kwargs={"literal_binds": True}))
        with closing(connection.connection.cursor()) as cursor:
            cells = chain.from_iterable(cursor.execute(statement))
            return np.fromiter(cells, np.int64).reshape(-1, width)


def _agent(row: Row[Any]) -> Agent:
    settings = Settings(
        row.side, read_stages(row.stages), row.win, row.draw, row.loss, row.empty, row.longest
    )
    if not 0 <= row.games <= MOST_GAMES:
        raise NotAStoreError(f"damaged: {shown(row.name)} has learned from {row.games:,} games")
    return Agent(row.id, row.name, settings.checked(), row.seed, row.games, row.random)


def _columns(known: Agent) -> dict[str, Any]:
    """Return an agent as a row of its table."""
    row = known._asdict() | known.settings._asdict()
    del row["settings"]
    return row | {"stages": written(known.settings.stages)}


def _state(random: Random) -> str:
    return json.dumps(random.getstate(), separators=(",", ":"))


def _places(arena: Arena, filled: Boxes) -> NDArray[np.int64]:
    """Return the edges on which beads lie, as a box's ascend by move, so do these by state."""
    box = np.zeros(len(arena.state), dtype=np.bool_)
    box[filled.rows] = True
    edges = np.flatnonzero(box[arena.parent])
    return edges[np.lexsort((arena.move[edges], arena.parent[edges]))]
