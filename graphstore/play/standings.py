"""What the agents of a database have learned: a list of all, one's games, and its curve."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import and_, func, select

from graphstore.errors import NotAStoreError
from graphstore.play.agents import Agent, integers
from graphstore.play.menace import Settings
from graphstore.store import schema
from graphstore.store.schema import agent, checkpoint, played
from graphstore.store.store import Store

_BY_WINNER = [
    func.count().filter(played.c.winner == winner).label(label)
    for winner, label in ((1, "won_by_1"), (0, "drawn"), (2, "won_by_2"))
]


def summaries(store: Store) -> list[dict[str, Any]]:
    """Return one row an agent: its settings, games by winner, boxes, beads, and boxes kept."""
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
    """Return an agent's games by the side that it played and its opponent, counted by winner."""
    query = (
        select(
            played.c.side,
            played.c.opponent,
            func.count().label("games"),
            *_BY_WINNER,
        )
        .where(played.c.agent == known.id)
        .group_by(played.c.side, played.c.opponent)
        .order_by(func.min(played.c.number))
    )
    with store.connect() as connection:
        return [dict(row) for row in connection.execute(query).mappings()]


class Curve(NamedTuple):
    """How an agent has learned, at k checkpoints.

    Attributes:
        games: int64[k], how many it had learned from; the first is 0.
        kept: float64[k], the share of its boxes all of whose favourite moves keep the value.
        won: float64[k], the share of games that it won, or where it played both sides, that
            player 1 won, of the latter half of its games until then; NaN at the first.
        drawn: float64[k], likewise.
        lost: float64[k], likewise; or that player 2 won.
        alone: whether it played one side only, so that won and lost are its own.
    """

    games: NDArray[np.int64]
    kept: NDArray[np.float64]
    won: NDArray[np.float64]
    drawn: NDArray[np.float64]
    lost: NDArray[np.float64]
    alone: bool

    def points(self) -> list[dict[str, Any]]:
        """Return one row a checkpoint, None for NaN."""
        columns = zip(self.games, self.kept, self.won, self.drawn, self.lost, strict=True)
        return [
            {"games": int(games)}
            | {
                name: None if np.isnan(share) else float(share)
                for name, share in zip(self._fields[1:5], shares, strict=True)
            }
            for games, *shares in columns
        ]


def curve(store: Store, known: Agent) -> Curve:
    """Return how an agent has learned."""
    points = (
        select(checkpoint.c.games, 1.0 * checkpoint.c.kept / func.nullif(checkpoint.c.boxes, 0))
        .where(checkpoint.c.agent == known.id)
        .order_by(checkpoint.c.games)
    )
    results = (
        select(played.c.side, played.c.winner)
        .where(played.c.agent == known.id)
        .order_by(played.c.number)
    )
    with store.connect() as connection:
        rows = connection.execute(points).all()
    pairs = integers(store, results, 2)
    if not rows:
        raise NotAStoreError(f"{store.address} is damaged: {known.name} has no checkpoints")
    games = np.array([row[0] for row in rows], dtype=np.int64)
    kept = np.array([np.nan if row[1] is None else row[1] for row in rows], dtype=np.float64)
    side, winner = pairs.T
    alone = bool((side != 0).all()) and bool(len(side))
    until = np.minimum(games, len(winner))
    since = until // 2
    rates: list[NDArray[np.float64]] = []
    for wanted in (np.where(alone, side, 1), 0, np.where(alone, 3 - side, 2)):
        met = np.concatenate(([0], np.cumsum(winner == wanted)))
        with np.errstate(invalid="ignore"):
            rates.append((met[until] - met[since]) / (until - since))
    won, drawn, lost = rates
    return Curve(games, kept, won, drawn, lost, alone)
