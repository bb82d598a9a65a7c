"""Shares: a share is one part of all waves together, with the graph that solving it needs.

A share has a *slot* for each distinct child of its states, or two if some moves to it keep the turn
and others do not; slots are sorted by the share that has the child. A slot *hears* of its child:
when the child is solved, the share that has it sends the value to these slots of all shares. Each
share finds them once, at the beginning; later rounds look up no ids.
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphstore.building.parts.partition import (
    BUCKETS,
    apart,
    by_bucket,
    overlapping,
    rows_of,
    span,
)
from graphstore.building.parts.steps import Build, received, recorded
from graphstore.building.parts.work import BlockId, Record, Work
from graphstore.rules.game import Codes, Ints
from graphstore.solver.columns import Backward, Edges, Rows, Shorts
from graphstore.util.arrays import numbered, offsets, places, ragged

SMALL: Final = 1 << 20  # bytes; smaller arrays are copied, so that their files can be closed


class Share(NamedTuple):
    """The graph of a share: n states, m moves to k slots, and w slots, of any share, that hear."""

    id: Ints  # [n], ascending
    outcome: Codes  # [n]
    margin: Shorts  # [n], of ended states; empty in a game without scores
    offset: Ints  # [n + 1], where the moves of each state begin
    into: NDArray[np.int32]  # [m], the slot that a move leads to
    above: Ints  # [k + 1], where the parents of each slot begin
    parent: Rows  # [m], the parents
    twice: NDArray[np.int32]  # [t], states of moves whose child another move reaches, too
    twice_into: NDArray[np.int32]  # [t], the slots of those children
    turned: NDArray[np.bool_]  # [k], True for a slot of moves that keep the turn
    begin: Ints  # [shares + 1], where the slots for the states of each share begin
    heard: Ints  # [n + 1], where the slots that hear of each state begin
    hearer: NDArray[np.int32]  # [w], those slots, numbered through all shares
    hearers: Ints  # [shares + 1], where the numbers of each share begin

    @classmethod
    def load(cls, work: Work, share: int) -> "Share":
        """Read a share; large arrays are mapped from the disk."""
        at = BlockId(0, share)
        found = work.load("share", at) | work.load("share_heard", at)
        arrays = (found[field] for field in cls._fields)
        return cls(*(np.array(a) if a.nbytes < SMALL else a for a in arrays))

    @property
    def counts(self) -> Ints:
        """int64[n], the number of moves of each state."""
        return np.diff(self.offset)

    @property
    def slots(self) -> int:
        """The number of slots, k."""
        return int(self.begin[-1])

    @property
    def backward(self) -> Backward:
        """The moves by slot."""
        return Backward(self.above, self.parent, np.empty(0, dtype=np.bool_))

    def hear(self, rows: NDArray[Any]) -> tuple[NDArray[np.int32], Ints]:
        """Return the slots that hear of some states, ascending, and the state of each."""
        slots = self.hearer[ragged(self.heard, rows)]
        order = np.argsort(slots)
        of = np.repeat(rows, self.heard[rows + 1] - self.heard[rows])
        return slots[order], of[order]


@recorded
def gather(build: Build, at: BlockId) -> Record:
    """Collect the states of a share from all blocks, and number their children as slots.

    Save the arrays of a `Share` up to ``begin``, and the ids of the slots, int64[k], by share.
    """
    columns: list[list[NDArray[Any]]] = [[], [], [], [], [], []]
    for wave, parts in enumerate(build.parts):
        for part in overlapping(at.part, build.shares, parts):
            of = BlockId(wave, part)
            block, asks = build.work.load("block", of), build.work.load("asks", of)["id"]
            rows = rows_of(block["id"], at.part, build.shares)
            for column, name in zip(columns, ("id", "outcome", "counts"), strict=False):
                column.append(block[name][rows])
            into = block["into"][ragged(offsets(block["counts"]), rows)]
            columns[3].append(asks[into])
            columns[4].append(block["turned"][into if build.kind.extra_turns else into[:0]])
            columns[5].append(block["margin"][rows] if build.kind.scored else block["margin"])
    record: Record = {"shares": build.shares, **received(*columns)}
    ids, outcome, counts, child, keeps, margin = map(np.concatenate, columns)
    columns.clear()  # free their memory
    rows = np.argsort(ids, kind="stable")
    children, into, turned = apart(*numbered(child), keeps if build.kind.extra_turns else None)
    del child, keeps
    asked, place, bucket = by_bucket(children)
    turned[place] = turned.copy()
    into = place[into][ragged(offsets(counts), rows)]
    offset = offsets(counts[rows])
    backward = Backward.of(Edges(offset, np.empty(0, dtype=np.int32), into), len(children))
    again = np.flatnonzero(backward.again)
    begin = bucket[[*(span(other, build.shares)[0] for other in range(build.shares)), BUCKETS]]
    build.work.save(
        "share",
        at,
        id=ids[rows],
        outcome=outcome[rows],
        margin=margin[rows] if build.kind.scored else margin,
        offset=offset,
        into=into,
        above=backward.offset,
        parent=backward.parent,
        twice=backward.parent[again],
        twice_into=(np.searchsorted(backward.offset, again, side="right") - 1).astype(np.int32),
        turned=turned,
        begin=begin,
    )
    build.work.save("share_asks", at, begin=begin, id=asked)
    return record


@recorded
def listen(build: Build, at: BlockId) -> Record:
    """Find the slots, of any share, that hear of the states of a share; all must be gathered."""
    asked = []
    for other in range(build.shares):
        own = at.part, at.part + 1
        asked.append(build.work.load("share_asks", BlockId(0, other), own)["id"])
    ids = build.work.load("share", at)["id"]
    rows = places(np.concatenate(asked), ids)
    build.work.save(
        "share_heard",
        at,
        heard=offsets(np.bincount(rows, minlength=len(ids))),
        hearer=np.argsort(rows, kind="stable").astype(np.int32),
        hearers=offsets(np.array([*map(len, asked)])),
    )
    return received(asked)
