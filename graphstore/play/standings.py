"""Results of agents: a list of all agents, and the games and learning curve of one."""

from math import isnan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import and_, cast, func, select

from graphstore.errors import NotAStoreError
from graphstore.play.agents import Agent, integers
from graphstore.play.menace import Settings
from graphstore.store import schema
from graphstore.store.schema import Big, agent, checkpoint, played
from graphstore.store.store import Store

_GAMES = cast(func.sum(played.c.games), Big).label("games")
_BY_WINNER = [
    cast(func.coalesce(func.sum(played.c.games).filter(played.c.winner == winner), 0), Big).label(
        label
    )
    for winner, label in ((1, "won_by_1"), (0, "drawn"), (2, "won_by_2"))
]


def summaries(store: Store) -> list[dict[str, Any]]:
    """Return a row for each agent: settings, games by winner, boxes, beads and boxes kept."""
    games = select(played.c.agent, *_BY_WINNER).group_by(played.c.agent).subquery("games")
    view = schema.VIEWS["matchbox"].subquery("matchbox")
    box = (
        select(
            view.c.agent,
            func.sum(view.c.beads).label("beads"),
            func.sum(view.c.favourite).label("favourites"),
            func.sum(view.c.favourite * view.c.keeps).label("keeping"),
        )
        .group_by(view.c.agent, view.c.state)
        .subquery("box")
    )
    kept = and_(box.c.favourites > 0, box.c.keeping == box.c.favourites)
    filled = (
        select(
            box.c.agent,
            func.count().label("boxes"),
            func.sum(box.c.beads).label("beads"),
            func.count().filter(kept).label("kept"),
        )
        .group_by(box.c.agent)
        .subquery("filled")
    )
    counted = [column for column in (*games.c, *filled.c) if column.name != "agent"]
    query = (
        select(
            agent.c.name.label("agent"),
            *(agent.c[name] for name in (*Settings._fields, "seed", "games")),
            *(func.coalesce(column, 0).label(column.name) for column in counted),
        )
        .join(games, games.c.agent == agent.c.id, isouter=True)
        .join(filled, filled.c.agent == agent.c.name, isouter=True)
        .order_by(agent.c.name)
    )
    with store.connect() as connection:
        return [dict(row) for row in connection.execute(query).mappings()]


def record(store: Store, known: Agent) -> list[dict[str, Any]]:
    """Return the games of an agent by side and opponent, counted by winner."""
    query = (
        select(played.c.side, played.c.opponent, _GAMES, *_BY_WINNER)
        .where(played.c.agent == known.id)
        .group_by(played.c.side, played.c.opponent)
        .order_by(func.min(played.c.number))
    )
    with store.connect() as connection:
        return [dict(row) for row in connection.execute(query).mappings()]


class Curve(NamedTuple):
    """The learning curve of an agent, at k checkpoints.

    The rates are over the second half of the games up to a checkpoint; NaN at the first one.
    """

    games: NDArray[np.int64]  # [k], the games it had learned from; the first is 0
    kept: NDArray[np.float64]  # [k], the share of boxes whose favourite moves all keep the value
    won: NDArray[np.float64]  # [k], by the agent; by player 1 if it played both sides
    drawn: NDArray[np.float64]  # [k]
    lost: NDArray[np.float64]  # [k], by the agent; won by player 2 if it played both sides
    alone: bool  # True if it played only one side

    def points(self) -> list[dict[str, Any]]:
        """Return a row for each checkpoint, with None for NaN."""
        names = self._fields[:5]
        rows = zip(self.games.tolist(), *(each.tolist() for each in self[1:5]), strict=True)
        return [
            {name: None if isnan(cell) else cell for name, cell in zip(names, row, strict=True)}
            for row in rows
        ]


def curve(store: Store, known: Agent) -> Curve:
    """Return the learning curve of an agent."""
    points = (
        select(checkpoint.c.games, 1.0 * checkpoint.c.kept / func.nullif(checkpoint.c.boxes, 0))
        .where(checkpoint.c.agent == known.id)
        .order_by(checkpoint.c.games)
    )
    results = (
        select(played.c.side, played.c.winner, played.c.games)
        .where(played.c.agent == known.id)
        .order_by(played.c.number)
    )
    with store.connect() as connection:
        rows = connection.execute(points).all()
    side, winner, count = integers(store, results, 3).T
    if not rows:
        raise NotAStoreError(f"{store.address} is damaged: {known.name} has no checkpoints")
    games = np.array([row[0] for row in rows], dtype=np.int64)
    kept = np.array([np.nan if row[1] is None else row[1] for row in rows], dtype=np.float64)
    alone = bool((side != 0).all()) and bool(len(side))
    played_by = np.cumsum(count)  # a checkpoint, and half of one, is the end of a block
    until = np.minimum(games, played_by[-1] if len(count) else 0)
    since = until // 2
    last, before = (np.searchsorted(played_by, each, side="right") for each in (until, since))
    rates: list[NDArray[np.float64]] = []
    for wanted in (np.where(alone, side, 1), 0, np.where(alone, 3 - side, 2)):
        met = np.concatenate(([0], np.cumsum(np.where(winner == wanted, count, 0))))
        with np.errstate(invalid="ignore"):
            rates.append((met[last] - met[before]) / (until - since))
    won, drawn, lost = rates
    return Curve(games, kept, won, drawn, lost, alone)
