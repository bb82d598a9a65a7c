"""Agents in a database: listed, loaded, created and saved. The only writer of their tables.

Everything is written in transactions: killed at any moment, an agent is as it was after the last
game that was saved.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from random import Random
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Row, Select, and_, bindparam, func, select

from graphstore.errors import AgentMissingError, NotAStoreError, StoreError, shown
from graphstore.play.arena import Arena
from graphstore.play.menace import MOST_BEADS, Boxes, Settings, read_stages, written
from graphstore.play.opponents import agent_name
from graphstore.store import schema
from graphstore.store.bulk import insert_rows, streamed
from graphstore.store.schema import agent, bead, checkpoint, edge, played
from graphstore.store.store import Store

MOST_GAMES = 2**62  # so that their number never overflows


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
        return connection.execute(agent.select().where(agent.c.name == str(name))).first()
    return None


def _missing(store: Store, name: str) -> AgentMissingError:
    known = ", ".join(names(store)) or "none yet"
    return AgentMissingError(
        f"{store.address} has no agent {shown(str(name))}; its agents: {known}; "
        f"graphstore train {store.address} makes one"
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
            f"{store.address} is damaged: the beads of {known.name} are not those of its boxes"
        )
    wrong = np.flatnonzero((rows[:, 2] < 0) | (rows[:, 2] > MOST_BEADS))
    if wrong.size:
        state, move, found = rows[wrong[0]].tolist()
        raise NotAStoreError(
            f"{store.address} is damaged: {known.name} has {found:,} beads on move {move} of state "
            f"{state}"
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
            raise StoreError(f"{store.address} has an agent {name} already")
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
        StoreError: it cannot be written, or holds another game than when it was opened.
    """
    with store.backend.explained(consequence), store.backend.writing() as connection:
        row = connection.execute(schema.game.select()).mappings().one()
        if row["digest"] != store.info["digest"]:
            raise StoreError(f"{store.address} holds another game by now: {row['name']}")
        yield connection


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
    with store.connect() as connection, streamed(connection, query) as rows:
        return np.fromiter(chain.from_iterable(rows), np.int64).reshape(-1, width)


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
