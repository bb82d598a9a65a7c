"""States of a database drawn at random, as a verification reads them, with what decides about them.

States are drawn uniformly, without repetition, by their rank in the order of the ids; ids have
gaps, so that an id at random would favour the states after large ones. The table is walked once
from one rank to the next inside the database, which neither decodes nor hands over what is between.

A state is wrong if a cell of its row, or one of its moves, is not what the rules, its children or
its parents say; so a wrong value may make its parents wrong as well. The module `confidence` says
what the number of wrong ones tells of all.
"""

from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
from sqlalchemy import Connection, func, select

from graphstore.checks.file import consistency, reading
from graphstore.checks.file.confidence import at_most
from graphstore.checks.file.consistency import Links, States
from graphstore.checks.file.findings import Check, Drawn, Findings
from graphstore.rules.game import Ints, Progress
from graphstore.store import schema
from graphstore.store.probe import BATCH
from graphstore.store.store import Store
from graphstore.util.arrays import distinct, member

CONFIDENCE = 0.95
UNSEEN = (
    "the file's structure, the digests of columns and the counts: they need the whole file",
    "whether play can come back to a position, which the file says itself",
)


class Sample:
    """Reads some states and their edges; see `graphstore.checks.file.whole.Whole`."""

    def __init__(
        self,
        store: Store,
        connection: Connection,
        findings: Findings,
        progress: Progress,
        wanted: int,
        seed: int,
    ) -> None:
        self.cyclic = bool(store.info["cyclic"])
        self.seed = seed
        self._connection, self._findings, self._progress = connection, findings, progress
        self.ids, self._states = draw(connection, store.info["states"], wanted, seed, progress)
        findings.drawn = self.ids

    def states(self) -> Iterator[dict[str, Any]]:
        """Yield the columns of the states that were drawn."""
        for _, ids in self._batches():
            self._findings.note(Check.VALUES, reading.false_nulls(self._connection, ids.tolist()))
            yield reading.states_of(self._connection, ids.tolist())

    def edges(self) -> Iterator[tuple[slice, dict[str, Any]]]:
        """Yield rows of the states that were drawn, and the columns of the edges from them."""
        for rows, ids in self._batches():
            yield rows, reading.edges_of(self._connection, ids.tolist(), "parent")

    def neighbourhoods(self) -> Iterator[tuple[States, Links, Ints]]:
        """Yield states, the moves that join them, and the rows of those that were drawn.

        The others are their parents, their children, and what the children lead to. Of the moves
        of the parents only those that lead to drawn states are there.
        """
        for rows, ids in self._batches():
            out = reading.edges_of(self._connection, ids.tolist(), "parent")
            into = reading.edges_of(self._connection, ids.tolist(), "child")
            children = distinct(out["child"])
            further = children[~member(children, ids)]
            below = reading.edges_of(self._connection, further.tolist(), "parent")
            everyone = np.concatenate((ids, children, below["child"], into["parent"]))
            states = States.of(reading.states_of(self._connection, distinct(everyone).tolist()))
            for edges in (out, into):
                ends = (member(edges[name], states.id) for name in ("parent", "child"))
                self._findings.note(Check.CLOSURE, consistency.astray(edges, *ends))
            new = ~np.isin(into["parent"], np.concatenate((ids, further)))
            parent, child, move = (
                np.concatenate((out[name], below[name], into[name][new]))
                for name in ("parent", "child", "move")
            )
            known = member(child, states.id) & member(parent, states.id)
            order = np.flatnonzero(known)[np.lexsort((move[known], parent[known]))]
            offset = np.append(np.searchsorted(parent[order], states.id), len(order))
            links = Links(offset, np.searchsorted(states.id, child[order]).astype(np.int32))
            yield states, links, np.searchsorted(states.id, ids)
            self._progress("verify: check states", min(rows.stop, len(self.ids)), len(self.ids))

    def plies(self, begins: Ints) -> tuple[Ints, Any]:
        """Return the ids and the plies of the states that were drawn, and of starts."""
        ids = distinct(np.concatenate((begins, self.ids)))
        part = reading.states_of(self._connection, ids.tolist())
        return part["id"], part["ply"]

    def counts(self) -> dict[str, Any]:
        """Return how many states there are."""
        return {"states": self._states}

    def drawn(self, confidence: float) -> Drawn:
        """Return what the number of wrong states tells of all."""
        drawn, wrong = len(self.ids), len(self._findings.wrong)
        share = wrong / max(1, self._states)
        if drawn < self._states:
            share = at_most(wrong, drawn, confidence)
        return Drawn(self._states, drawn, wrong, share, confidence, self.seed)

    def _batches(self) -> Iterator[tuple[slice, Ints]]:
        for begin in range(0, len(self.ids), BATCH):
            rows = slice(begin, begin + BATCH)
            yield rows, self.ids[rows]


def draw(
    connection: Connection, claimed: int, wanted: int, seed: int, progress: Progress
) -> tuple[Ints, int]:
    """Return the ids of states drawn at random, ascending, and how many states there are.

    `claimed` is how many there should be; of fewer than `wanted`, all are drawn.
    """
    key = schema.state.c.id
    claimed = max(0, claimed)
    ranks = sorted(Random(seed).sample(range(claimed), min(wanted, claimed)))
    found: list[int] = []
    passed = 0
    query = select(key).order_by(key).limit(1)
    for rank in ranks:
        after = query.where(key > found[-1]) if found else query
        state = connection.scalar(after.offset(rank - passed))
        if state is None:
            break
        found.append(state)
        passed = rank + 1
        if len(found) % 1000 == 0:
            progress("verify: draw states", len(found), len(ranks))
    rest = select(func.count()).select_from(schema.state)
    left = connection.scalar(rest.where(key > found[-1]) if found else rest)
    return np.array(found, dtype=np.int64), (passed if found else 0) + int(left or 0)
