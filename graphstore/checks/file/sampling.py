"""A random sample of states for a verification, read with the neighbours that determine them.

States are drawn uniformly, without repetition, by their rank in the order of the ids. Drawing ids
would favour the states after large gaps. The database skips from one rank to the next, and does not
return the states between.

A state is wrong if a cell of its row or one of its moves differs from what follows from the rules,
its children or its parents. So a wrong value can make its parents wrong, too. The module
`confidence` computes the bound for all states.
"""

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import numpy as np
from sqlalchemy import Connection, func, select

from graphstore.checks.file import conditions, consistency, reading
from graphstore.checks.file.confidence import at_most
from graphstore.checks.file.consistency import Links, States
from graphstore.checks.file.findings import Check, Drawn, Findings
from graphstore.rules.game import Ints, Progress
from graphstore.store import schema
from graphstore.store.probe import BATCH
from graphstore.store.store import Store
from graphstore.util.arrays import distinct, member

CONFIDENCE = 0.95
NOT_SAMPLED = (
    "file structure, digests of columns, distinct texts, names, counts: these need the whole file",
    "whether play can cycle: this is taken from the table game",
)


class Sample:
    """A reader of random states and their edges; see `graphstore.checks.file.whole.Whole`."""

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
        """Yield the columns of the drawn states."""
        for _, ids in self._batches():
            self._findings.note(
                Check.CONDITIONS, conditions.of_states(self._connection, ids.tolist())
            )
            yield reading.states_of(self._connection, ids.tolist())

    def edges(self) -> Iterator[tuple[slice, dict[str, Any]]]:
        """Yield slices of `ids`, and the columns of the edges from those states."""
        for rows, ids in self._batches():
            yield rows, reading.edges_of(self._connection, ids.tolist(), "parent")

    def neighbourhoods(self) -> Iterator[tuple[States, Links, Ints]]:
        """Yield states, the edges between them, and the rows of the drawn ones.

        The other states are the parents, the children, and the children of the children. Of the
        parents, only the edges to drawn states are there.
        """
        for rows, ids in self._batches():
            out = reading.edges_of(self._connection, ids.tolist(), "parent")
            into = reading.edges_of(self._connection, ids.tolist(), "child")
            children = distinct(out["child"])
            further = children[~member(children, ids)]
            below = reading.edges_of(self._connection, further.tolist(), "parent")
            needed = np.concatenate((ids, children, below["child"], into["parent"]))
            states = States.of(reading.states_of(self._connection, distinct(needed).tolist()))
            for edges in (out, into):
                ends = (member(edges[name], states.id) for name in ("parent", "child"))
                self._findings.note(Check.CLOSURE, consistency.dangling(edges, *ends))
            new = ~np.isin(into["parent"], np.concatenate((ids, further)))
            parent, child, move = (
                np.concatenate((out[name], below[name], into[name][new]))
                for name in ("parent", "child", "move")
            )
            known = member(child, states.id) & member(parent, states.id)
            order = np.flatnonzero(known)[np.lexsort((move[known], parent[known]))]
            offset = np.append(np.searchsorted(parent[order], states.id), len(order))
            to = np.searchsorted(states.id, child[order]).astype(np.int32)
            whole = np.isin(states.id, np.concatenate((ids, further)))
            links = Links(offset, to, whole=whole)
            yield states, links, np.searchsorted(states.id, ids)
            self._progress("verify states", min(rows.stop, len(self.ids)), len(self.ids))

    def states_of(self, ids: Sequence[int]) -> dict[str, Any]:
        """Return the columns of states, ascending by id."""
        return reading.states_of(self._connection, ids)

    def plies(self, begins: Ints) -> tuple[Ints, Any]:
        """Return the ids and the plies of the drawn states and of the starts `begins`."""
        ids = distinct(np.concatenate((begins, self.ids)))
        part = reading.states_of(self._connection, ids.tolist())
        return part["id"], part["ply"]

    def counts(self) -> dict[str, Any]:
        """Return the cells of the table `game` that can be counted: only ``states``."""
        return {"states": self._states}

    def drawn(self, confidence: float) -> Drawn:
        """Return the result of the sample."""
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

    `claimed` is the number of states that the table `game` has. At most `wanted` states are drawn.
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
            progress("draw states", len(found), len(ranks))
    rest = select(func.count()).select_from(schema.state)
    left = connection.scalar(rest.where(key > found[-1]) if found else rest)
    return np.array(found, dtype=np.int64), (passed if found else 0) + int(left or 0)
