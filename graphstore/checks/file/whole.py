"""All rows of a database for a verification, each table read once."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sqlalchemy import Connection

from graphstore.checks.file import conditions, consistency, reading
from graphstore.checks.file.consistency import Links, States
from graphstore.checks.file.findings import Check, Findings, WrongCells, plain
from graphstore.rules.game import Ints, Progress
from graphstore.store.digests import NULL, ColumnDigests
from graphstore.store.store import Store
from graphstore.util.arrays import first_of_runs, member


class Whole:
    """A reader of all states and edges of a database.

    Call `states`, `edges` and `neighbourhoods` once each, in this order, before the other methods.
    Edges that do not join two states, and numbers that stand for NULL, are noted as problems.
    """

    def __init__(
        self, store: Store, connection: Connection, findings: Findings, progress: Progress
    ) -> None:
        self.ids: Ints = np.empty(0, dtype=np.int64)  # the ids of the states, ascending
        self.cyclic = False  # True if play can cycle
        self._store, self._connection = store, connection
        self._findings, self._progress = findings, progress
        self.hashes = ColumnDigests()
        self._positions = 0

    def states(self) -> Iterator[dict[str, Any]]:
        """Yield the columns of the states, part by part, ascending by id."""
        parts: list[States] = []
        hashes: list[Ints] = []
        done, total = 0, self._store.info["states"]
        for part in reading.states(self._connection):
            if len(part["id"]):  # an empty column has no digest
                self.hashes.update_table("state", part)
            # Python's sum is exact, also for large cells.
            self._positions += sum(part["orbit"][part["orbit"] != NULL].tolist())
            parts.append(States.of(part))
            hashes.append(np.fromiter(map(hash, part["position"]), dtype=np.int64))
            yield part
            done += len(part["id"])
            self._progress("verify states", done, total)
        self._states = States.joined(parts)
        self.ids = self._states.id
        self._findings.note(Check.CONDITIONS, conditions.of_states(self._connection))
        self._findings.note(Check.TEXTS, self._shared_texts(np.concatenate(hashes)))

    def _shared_texts(self, hashes: Ints) -> Iterator[WrongCells]:
        """Yield the states that have the text of another; `hashes` are those of their texts."""
        order = np.argsort(hashes)
        again = ~first_of_runs(hashes[order])
        rows = order[again | np.append(again[1:], False)]
        first: dict[str, int] = {}
        for ids in consistency.in_parts(np.sort(self.ids[rows])):
            texts = reading.states_of(self._connection, ids.tolist())["position"]
            pairs = list(zip(ids.tolist(), texts, strict=True))
            second = [(each, text) for each, text in pairs if first.setdefault(text, each) != each]
            if second:
                found, shared = zip(*second, strict=True)
                expected = [f"a text that state {first[text]} does not have" for text in shared]
                yield WrongCells(np.array(found), "position", shared, expected)

    def edges(self) -> Iterator[tuple[slice, dict[str, Any]]]:
        """Yield slices of `ids`, and the columns of the edges from those states."""
        ids = self.ids
        counts, children, self._moves = np.zeros(len(ids) + 1, dtype=np.int64), [], 0
        for rows, part in reading.edges(self._connection, ids):
            parent, child = part["parent"], part["child"]
            if len(parent):
                self.hashes.update_table("edge", part)
            from_, to = (
                member(each, ids) if ids.size else np.zeros(len(each), dtype=np.bool_)
                for each in (parent, child)
            )
            self._findings.note(Check.CLOSURE, consistency.dangling(part, from_, to))
            both = from_ & to
            counts[rows.start + 1 : rows.stop + 1] = np.bincount(
                np.searchsorted(ids[rows], parent[both]), minlength=len(ids[rows])
            )
            children.append(np.searchsorted(ids, child[both]).astype(np.int32))
            yield rows, part
            self._moves += len(parent)
            self._progress("verify edges", self._moves, self._store.info["moves"])
        self._links = Links(np.cumsum(counts), np.concatenate(children))
        self.cyclic = consistency.has_cycle(self._links)

    def neighbourhoods(self) -> Iterator[tuple[States, Links, Ints]]:
        """Yield all states, the edges between them, and all rows."""
        yield self._states, self._links, np.arange(len(self.ids))

    def plies(self, _begins: Ints) -> tuple[Ints, Any]:
        """Return the ids and the plies of all states."""
        return self.ids, self._states.ply

    def counts(self) -> dict[str, Any]:
        """Return the cells of the table `game` that can be counted."""
        ply, links = self._states.ply, self._links
        replies = (
            consistency.distinct_replies(*links.of(rows))[0]
            for rows in consistency.in_parts(np.arange(len(ply)))
        )
        return {
            "starts": int((ply == 0).sum()),
            "states": len(ply),
            "positions": self._positions,
            "moves": self._moves,
            "edges": sum(map(len, replies)),
            "plies": plain(consistency.widened(ply).max()) if len(ply) else None,
            "cyclic": int(self.cyclic),
        }
