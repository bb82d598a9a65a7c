"""Checks of the agents in a database: their boxes, games and checkpoints."""

from collections.abc import Iterator

from sqlalchemy import func, select

from graphstore.checks.file.findings import Problem
from graphstore.errors import GraphstoreError
from graphstore.play import agents
from graphstore.play.arena import Arena
from graphstore.play.menace import checkpoints
from graphstore.play.opponents import agent_name
from graphstore.store import schema
from graphstore.store.store import Store


def orphans(store: Store) -> Iterator[Problem]:
    """Yield the rows that belong to agents that do not exist."""
    for table in schema.AGENT_TABLES[1:]:
        query = select(table.c.agent).where(table.c.agent.not_in(select(schema.agent.c.id)))
        with store.connect() as connection:
            of_none = connection.scalars(query.distinct()).all()
        for number in of_none:
            yield Problem(str(table), str(number), "agent", number, "the id of an agent")


def impossible(store: Store, names: list[str]) -> Iterator[Problem]:
    """Yield impossible boxes, games and checkpoints of the agents `names`."""
    if not names:
        return
    arena = Arena.of(store.graph())
    for name in names:
        try:
            known = agents.load(store, agent_name(name))
            boxes = agents.boxes(store, arena, known)
            known.generator()
        except GraphstoreError as error:
            yield Problem("agent", name, "content", f"wrong ({error})", "a valid agent")
            continue
        number, games = schema.played.c.number, schema.checkpoint.c.games
        mine = schema.played.c.agent == known.id
        with store.connect() as connection:
            count, least, most = connection.execute(
                select(func.count(), func.min(number), func.max(number)).where(mine)
            ).one()
            query = schema.checkpoint.select().where(schema.checkpoint.c.agent == known.id)
            points = connection.execute(query.order_by(games)).all()
        least, most = least or 0, most or 0
        if (count, least, most) != (known.games, min(known.games, 1), known.games):
            found = f"{count} games, numbered {least} to {most}"
            yield Problem("played", name, "number", found, f"1 to {known.games}")
        wrong = sorted({*checkpoints(known.games)} ^ {point.games for point in points})
        if wrong:
            yield Problem(
                "checkpoint",
                name,
                "games",
                f"wrong at {wrong[0]}",
                "the numbers at which checkpoints are due",
            )
        # A file that has grown since then has more boxes.
        last = points[-1] if points else None
        same = (known.games, len(boxes.rows))
        if last is not None and (last.games, last.boxes) == same and last.kept != boxes.kept:
            yield Problem("checkpoint", name, "kept", last.kept, boxes.kept)
