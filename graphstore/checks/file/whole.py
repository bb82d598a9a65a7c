"""All rows of a game for a verification, each table read once."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from functools import cached_property
from typing import Any

import numpy as np

from graphstore.checks.file import consistency
from graphstore.checks.file.consistency import Links, States
from graphstore.checks.file.findings import Check, Findings, WrongCells, plain
from graphstore.checks.file.reading import Rows, by_parent
from graphstore.rules.game import Ints, Progress
from graphstore.store.digests import NULL, ColumnDigests, Digests
from graphstore.util.ahead import ahead
from graphstore.util.arrays import distinct, found_in, member


class Whole:
    """A reader of all states and edges of a game; `info` is its row of the table game.

    Call `states`, `edges` and `neighbourhoods` once each, in this order, before the other methods.
    Edges that do not join two states, and numbers that stand for NULL, are noted as problems.
    """

    def __init__(
        self, rows: Rows, info: Mapping[str, Any], findings: Findings, progress: Progress
    ) -> None:
        self.ids: Ints = np.empty(0, dtype=np.int64)  # the ids of the states, ascending
        self.moves, self.names = 0, set[int]()  # the number of edges, and their moves
        self._rows, self._info = rows, info
        self._findings, self._progress = findings, progress
        self.hashes: Digests = ColumnDigests()
        self._positions = 0

    def states(self) -> Iterator[dict[str, Any]]:
        """Yield the columns of the states, part by part, ascending by id."""
        parts: list[States] = []
        hashes: list[Ints] = []
        done, total = 0, self._info["states"]
        with closing(ahead(self._rows.parts("state"))) as found:
            for part in found:
                self.hashes.update_table("state", part)
                # Python's sum is exact, also for large cells.
                self._positions += sum(part["orbit"][part["orbit"] != NULL].tolist())
                parts.append(States.of(part))
                hashes.append(np.fromiter(map(hash, part["position"]), dtype=np.int64))
                yield part
                done += len(part["id"])
                self._progress("verify states", done, total)
        self._states = States.joined(parts)
        self.ids, self._hashes = self._states.id, np.concatenate(hashes)

    def shared_texts(self) -> Iterator[WrongCells]:
        """Yield the states that have the text of another."""
        ordered = np.sort(self._hashes)
        rows = member(self._hashes, ordered[1:][ordered[1:] == ordered[:-1]])
        first: dict[str, int] = {}
        for ids in consistency.in_parts(self.ids[rows]):
            known = self._rows.states_of(ids.tolist())
            pairs = list(zip(known["id"].tolist(), known["position"], strict=True))
            second = [(each, text) for each, text in pairs if first.setdefault(text, each) != each]
            if second:
                found, shared = zip(*second, strict=True)
                expected = [f"a text that state {first[text]} does not have" for text in shared]
                yield WrongCells(np.array(found), "position", shared, expected)

    def edges(self) -> Iterator[tuple[slice, dict[str, Any]]]:
        """Yield slices of `ids`, and the columns of the edges from those states."""
        ids, children = self.ids, []
        self._hashes = self._hashes[:0]  # frees its memory
        counts = np.zeros(len(ids) + 1, dtype=np.int64)
        with closing(ahead(by_parent(self._rows.parts("edge"), ids))) as parts:
            for rows, part in parts:
                self.hashes.update_table("edge", part)
                row, from_ = found_in(part["parent"], ids[rows])
                child, to = found_in(part["child"], ids)
                self._findings.note(Check.CLOSURE, consistency.dangling(part, from_, to))
                both = from_ & to
                counts[rows.start + 1 : rows.stop + 1] = np.bincount(
                    row[both], minlength=rows.stop - rows.start
                )
                children.append(child[both].astype(np.int32))
                self.names.update(distinct(part["move"]).tolist())
                yield rows, part
                self.moves += len(row)
                self._progress("verify edges", self.moves, self._info["moves"])
        offset = np.cumsum(counts, out=counts)
        self._links = Links(offset, np.concatenate(children))

    @cached_property
    def cyclic(self) -> bool:
        """True if play can cycle."""
        return not consistency.rises(self._states.ply, self._links) and consistency.has_cycle(
            self._links
        )

    def neighbourhoods(self) -> Iterator[tuple[States, Links, range]]:
        """Yield all states, the edges between them, and all rows."""
        yield self._states, self._links, range(len(self.ids))

    def states_of(self, ids: Sequence[int]) -> dict[str, Any]:
        """Return the columns of states, ascending by id."""
        return self._rows.states_of(ids)

    def plies(self, _begins: Ints) -> tuple[Ints, Any]:
        """Return the ids and the plies of all states."""
        return self.ids, self._states.ply

    def counts(self) -> dict[str, Any]:
        """Return the cells of the table `game` that can be counted."""
        ply, links = self._states.ply, self._links
        replies = (
            consistency.distinct_replies(*links.of(rows))[0]
            for rows in consistency.in_parts(range(len(ply)))
        )
        return {
            "starts": int((ply == 0).sum()),
            "states": len(ply),
            "positions": self._positions,
            "moves": self.moves,
            "edges": sum(map(len, replies)),
            "plies": plain(consistency.widened(ply).max()) if len(ply) else None,
            "cyclic": int(self.cyclic),
        }
