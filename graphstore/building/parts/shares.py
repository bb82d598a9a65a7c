"""A share: a part of all waves at once, whose states know which other shares to tell their worth.

Children of a share's states are its *slots*, each once, by the share that has the child. So that no
state is looked up more than once, a share finds out at the beginning which slots of all shares,
its own included, stand for its states: the slots that *hear* of them.
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphstore.building.parts.partition import BUCKETS, buckets, in_order, meeting, span
from graphstore.building.parts.steps import Job, Layout, noting, received
from graphstore.building.parts.work import Work
from graphstore.rules.game import Codes, Ints
from graphstore.solver.columns import Backward, Edges, Rows
from graphstore.util.arrays import numbered, places, ragged

SMALL: Final = 1 << 20  # bytes of an array that is copied into memory, and keeps no file open


class Plan(NamedTuple):
    """What every step of the rounds is told beside the job.

    Attributes:
        shares: how many there are.
        token: what tells this build from all others.
        memory: bytes that a process may take.
        layout: the blocks.
    """

    shares: int
    token: str
    memory: int
    layout: Layout


class Share(NamedTuple):
    """The graph of a share's n states, with m moves to k slots; of w slots they are heard.

    Attributes:
        id: int64[n], ascending.
        outcome: int8[n].
        offset: int64[n + 1], where the moves of each state begin.
        into: int32[m], the slot that a move leads to.
        above: int64[k + 1], where the parents of each slot begin.
        parent: int32[m], the parents.
        twice: int32[t], the states of moves that lead where another one of the state leads.
        twice_into: int32[t], the slots of these.
        begin: int64[shares + 1], where the slots for the states of each share begin.
        heard: int64[n + 1], where the hearers of each state begin.
        hearer: int32[w], which slots these are, if all that hear are counted share by share.
        hearers: int64[shares + 1], where the count begins for each share.
    """

    id: Ints
    outcome: Codes
    offset: Ints
    into: NDArray[np.int32]
    above: Ints
    parent: Rows
    twice: NDArray[np.int32]
    twice_into: NDArray[np.int32]
    begin: Ints
    heard: Ints
    hearer: NDArray[np.int32]
    hearers: Ints

    @classmethod
    def load(cls, work: Work, share: int) -> "Share":
        """Read a share; what is large lies on the disk until it is used."""
        found = work.load("share", 0, share) | work.load("share_heard", 0, share)
        arrays = (found[field] for field in cls._fields)
        return cls(*(np.array(a) if a.nbytes < SMALL else a for a in arrays))

    @property
    def counts(self) -> Ints:
        """How many moves each state has."""
        return np.diff(self.offset)

    @property
    def slots(self) -> int:
        """How many there are."""
        return int(self.begin[-1])

    @property
    def backward(self) -> Backward:
        """The moves by slot."""
        return Backward(self.above, self.parent, np.empty(0, dtype=np.bool_))

    def hear(self, rows: NDArray[Any]) -> tuple[NDArray[np.int32], Ints]:
        """Return which slots hear of some states, ascending, and of which state each hears."""
        slots = self.hearer[ragged(self.heard, rows)]
        order = np.argsort(slots)
        of = np.repeat(rows, self.heard[rows + 1] - self.heard[rows])
        return slots[order], of[order]


GATHERED: Final = Share._fields[: Share._fields.index("heard")]


@noting(lambda plan, share: ("gather", 0, share))
def gather(job: Job, plan: Plan, share: int) -> dict[str, Any]:
    """Collect the states of a share from all blocks, and number what their moves lead to.

    It keeps the arrays of a `Share` up to ``begin``; and the ids of the slots, int64[k], by share.

    Returns:
        The record: ``messages`` and their ``bytes``, what blocks had for it.
    """
    work = job.work
    columns = _collected(work, plan, share)
    record: dict[str, Any] = received(*columns)
    ids, outcome, counts, child = map(np.concatenate, columns)
    columns.clear()  # let their memory go
    rows = np.argsort(ids)
    found, into = numbered(child)
    del child
    order, bucket = in_order(found)
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    into = place[into][ragged(_offset(counts), rows)]
    edges = Edges(_offset(counts[rows]), np.empty(0, dtype=np.int32), into)
    backward = Backward.of(edges, len(found))
    again = np.flatnonzero(backward.again)
    spans = [*(span(other, plan.shares)[0] for other in range(plan.shares)), BUCKETS]
    arrays: tuple[NDArray[Any], ...] = (
        ids[rows],
        outcome[rows],
        edges.offset,
        into,
        backward.offset,
        backward.parent,
        backward.parent[again],
        (np.searchsorted(backward.offset, again, side="right") - 1).astype(np.int32),
        bucket[spans],
    )
    work.save("share", 0, share, **dict(zip(GATHERED, arrays, strict=True)))
    work.save("share_asks", 0, share, id=found[order], begin=bucket[spans])
    return record


@noting(lambda plan, share: ("listen", 0, share))
def listen(job: Job, plan: Plan, share: int) -> dict[str, Any]:
    """Find out which slots of all shares stand for the states of one; all must be gathered.

    Returns:
        The record: ``messages`` and their ``bytes``, what shares ask for.
    """
    work = job.work
    asked = []
    for other in range(plan.shares):
        found = work.load("share_asks", 0, other)
        first, end = found["begin"][share : share + 2]
        asked.append(found["id"][first:end])
    ids = work.load("share", 0, share)["id"]
    rows = places(np.concatenate(asked), ids)
    work.save(
        "share_heard",
        0,
        share,
        heard=_offset(np.bincount(rows, minlength=len(ids))),
        hearer=np.argsort(rows, kind="stable").astype(np.int32),
        hearers=_offset(np.array([*map(len, asked)])),
    )
    return received(asked)


def _collected(work: Work, plan: Plan, share: int) -> list[list[NDArray[Any]]]:
    """Return the ids, outcomes and numbers of moves of a share's states, and the children.

    Each is in pieces, block by block.
    """
    columns: list[list[NDArray[Any]]] = [[], [], [], []]
    first, end = span(share, plan.shares)
    for wave, parts in enumerate(plan.layout.parts):
        for part in meeting(share, plan.shares, parts):
            block, asks = work.load("block", wave, part), work.load("asks", wave, part)["id"]
            ids, outcome, counts, into = (
                block[name] for name in ("id", "outcome", "counts", "into")
            )
            of = buckets(ids)
            rows = np.flatnonzero((of >= first) & (of < end))
            moves = ragged(_offset(counts), rows)
            found = (ids[rows], outcome[rows], counts[rows], asks[into[moves]])
            for column, some in zip(columns, found, strict=True):
                column.append(some)
    return columns


def _offset(counts: NDArray[Any]) -> Ints:
    """Return where each of some runs begins, and where the last one ends."""
    offset = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=offset[1:])
    return offset
