"""Agents in a database: list, load, create, save and remove them.

No other module writes their tables. Every write is a transaction: after a kill, an agent is as it
was after its last saved game.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from random import Random
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Row, Select, and_, bindparam, func, select, text

from graphstore.errors import AgentMissingError, NotAStoreError, StoreError, shown
from graphstore.play.arena import Arena
from graphstore.play.menace import MOST_BEADS, Boxes, Settings, read_stages, written
from graphstore.play.opponents import agent_name
from graphstore.store import schema
from graphstore.store.bulk import insert_rows, streamed
from graphstore.store.schema import agent, bead, checkpoint, edge, played
from graphstore.store.store import Store

MOST_GAMES = 2**62  # a limit that keeps the count from overflowing


class Agent(NamedTuple):
    """An agent as stored in the database."""

    id: int
    name: str
    settings: Settings
    seed: int  # of its generator at the first game
    games: int  # the number of games it has learned from
    random: str  # the state of the generator, as JSON

    def generator(self) -> Random:
        """Return its generator in the state in which it was saved."""
        generator = Random()
        try:
            version, numbers, gauss = json.loads(self.random)
            generator.setstate((version, tuple(numbers), gauss))
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            raise NotAStoreError(f"the generator of {self.name} is damaged: {error}") from error
        return generator


class Played(NamedTuple):
    """Games of a block that ended alike: the key of a row of the table `played`."""

    number: int  # of the first game of the block, or of the only game
    side: int  # the player that the agent was, 1 or 2; 0 for both
    opponent: str
    winner: int  # 1, 2, or 0 for a draw
    plies: int


def names(store: Store) -> list[str]:
    """Return the names of the agents in a database."""
    with store.connect() as connection:
        return list(connection.scalars(select(agent.c.name).order_by(agent.c.name)))


def find(store: Store, name: str) -> Agent | None:
    """Return the agent of a name, or None."""
    with store.connect() as connection:
        row = _by_name(connection, name)
    if row is None:
        return None
    if not 0 <= row.games <= MOST_GAMES:
        raise NotAStoreError(f"damaged: {shown(row.name)} has learned from {row.games:,} games")
    settings = Settings(
        row.side, read_stages(row.stages), row.win, row.draw, row.loss, row.empty, row.longest
    )
    return Agent(row.id, row.name, settings.checked(), row.seed, row.games, row.random)


def load(store: Store, name: str) -> Agent:
    """Return the agent of a name, or raise an AgentMissingError."""
    found = find(store, name)
    if found is None:
        raise _missing(store, name)
    return found


def _by_name(connection: Connection, name: str) -> Row[Any] | None:
    with suppress(UnicodeEncodeError):  # a lone surrogate, which SQLite cannot store
        return connection.execute(agent.select().where(agent.c.name == str(name))).first()
    return None


def _missing(store: Store, name: str) -> AgentMissingError:
    known = ", ".join(names(store)) or "none yet"
    return AgentMissingError(
        f"{store.address} has no agent {shown(str(name))}; its agents: {known}; "
        f"graphstore train {store.address} creates one"
    )


def remove(store: Store, name: str) -> None:
    """Delete an agent, its beads and its games, even if they are damaged."""
    with writing(store) as connection:
        row = _by_name(connection, name)
        if row is None:
            raise _missing(store, name)
        for table in (checkpoint, played, bead):
            connection.execute(table.delete().where(table.c.agent == row.id))
        connection.execute(agent.delete().where(agent.c.id == row.id))


def boxes(store: Store, arena: Arena, known: Agent) -> Boxes:
    """Return the saved matchboxes of an agent.

    Raises:
        NotAStoreError: the beads do not lie on the moves of its boxes, or a number is out of range.
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
    """Write a new agent with filled boxes and return it."""
    filled = Boxes(arena, settings.checked())
    edges = _places(arena, filled)
    random = Random(seed)
    with writing(store) as connection:
        number = int(connection.scalar(select(func.max(agent.c.id))) or 0) + 1
        made = Agent(number, agent_name(name), settings, seed, 0, _state(random))
        if connection.scalar(select(agent.c.id).where(agent.c.name == name)) is not None:
            raise StoreError(f"{store.address} has an agent {name} already")
        row = made._asdict() | settings._asdict() | {"stages": written(settings.stages)}
        del row["settings"]
        connection.execute(agent.insert(), row)
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
    new: Counter[Played],
    checkpoints: Sequence[tuple[int, int]],
) -> Agent:
    """Write the games and beads of an agent since it was `known`, and return the new agent.

    `connection` comes from `writing`; `new` has the numbers of the games since then; a checkpoint
    is (games, boxes that keep the value).

    Raises:
        StoreError: another program has changed the agent meanwhile.
    """
    count = new.total()
    games = known.games + count
    now = known._replace(games=games, random=_state(random))
    updated = connection.execute(
        agent.update().where(agent.c.id == known.id, agent.c.games == known.games),
        {"games": now.games, "random": now.random},
    )
    if updated.rowcount != 1:
        raise StoreError(
            f"another program has trained or removed {known.name} meanwhile; "
            f"the last {count:,} games are not kept"
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
    counts = [{"agent": known.id, **key._asdict(), "games": n} for key, n in new.items()]
    if counts:
        connection.execute(_COUNT, counts)
    rows = [
        {"agent": known.id, "games": at, "kept": kept, "boxes": len(filled.rows)}
        for at, kept in checkpoints
    ]
    if rows:
        connection.execute(checkpoint.insert(), rows)
    return now


_COUNT = text("""
INSERT INTO played (agent, number, side, opponent, winner, plies, games)
VALUES (:agent, :number, :side, :opponent, :winner, :plies, :games)
ON CONFLICT (agent, number, side, opponent, winner, plies)
DO UPDATE SET games = played.games + excluded.games
""")
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
    """Yield a connection in a transaction that is committed if the block ends without an error.

    Raises:
        StoreError: the database cannot be written, or it now holds another game than when it was
            opened; the message ends with `consequence`.
    """
    with store.backend.explained(consequence), store.backend.writing() as connection:
        row = connection.execute(schema.game.select()).mappings().one()
        if row["digest"] != store.info["digest"]:
            raise StoreError(
                f"{store.address} now holds another game, {row['name']}; open it again"
            )
        yield connection


def beads_in(store: Store, known: Agent, state: int) -> list[tuple[int, int]]:
    """Return (child state, beads) of the box of a state; empty if the state is not a box."""
    query = (
        select(edge.c.child, bead.c.beads)
        .join(edge, and_(edge.c.parent == bead.c.state, edge.c.move == bead.c.move))
        .where(bead.c.agent == known.id, bead.c.state == state)
        .order_by(bead.c.move)
    )
    with store.connect() as connection:
        return [(child, beads) for child, beads in connection.execute(query)]


def integers(store: Store, query: Select[Any], width: int) -> NDArray[np.int64]:
    """Return the rows of a query of integers, int64[n, width], without SQLAlchemy's row objects."""
    with store.connect() as connection, streamed(connection, query) as rows:
        return np.fromiter(chain.from_iterable(rows), np.int64).reshape(-1, width)


def _state(random: Random) -> str:
    return json.dumps(random.getstate(), separators=(",", ":"))


def _places(arena: Arena, filled: Boxes) -> NDArray[np.int64]:
    """Return the edges that have beads, ascending by state and move."""
    box = np.zeros(len(arena.state), dtype=np.bool_)
    box[filled.rows] = True
    edges = np.flatnonzero(box[arena.parent])
    return edges[np.lexsort((arena.move[edges], arena.parent[edges]))]
