"""How far a share is: what it knows of its states, and of those that their moves lead to.

It is nowhere on the disk as such: it follows from what the share has received. So a process keeps
it from round to round, and writes it down only where another share needs the room.
"""

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from graphstore.building.parts.shares import Plan, Share
from graphstore.building.parts.steps import Job
from graphstore.building.parts.work import Work
from graphstore.errors import StoreError
from graphstore.rules.game import DRAW, IN_PLAY, LOSS, WIN, Codes, Ints
from graphstore.solver.columns import Worth
from graphstore.solver.solution import OpenChildren, Retrograde, backed_up
from graphstore.util.arrays import ragged

NOBODY: Final = np.empty(0, dtype=np.int64)
Inbox: TypeAlias = tuple[tuple[int, int, int], ...]
"""Of what each share has told: (the share, from which row on, to which row)."""


class Round(NamedTuple):
    """Which round.

    Attributes:
        phase: `Upward` or `Around` by name.
        number: of the round, from 0.
        ties: the number of the round in which draws begin to be numbered; None if not yet known.
    """

    phase: str
    number: int
    ties: int | None = None

    @property
    def opens(self) -> bool:
        """Whether shares have something to tell of which they did not hear."""
        return self.number in (0, self.ties)


class Upward:
    """Children before parents, which never ends where play can cycle.

    Args:
        share: whose states.

    Attributes:
        share: the same.
        next: the number of the round that is next.
        worth: of its states, as far as it is known.
    """

    PHASE = "upward"
    FIELDS = Worth._fields

    def __init__(self, share: Share) -> None:
        self.share = share
        self.next = 0
        self.worth = Worth.of_ended(share.outcome)
        self._asked = Worth.of_ended(np.full(share.slots, IN_PLAY, dtype=np.int8))
        self._open = OpenChildren(share.counts, share.backward)

    @property
    def asked_value(self) -> Codes:
        """The value of each slot."""
        return self._asked.value

    def take(
        self, now: Round, me: int, slots: Ints, told: Iterable[NDArray[Any]]
    ) -> tuple[int, NDArray[Any], Ints]:
        """Return how many states are settled now that some slots are; who hears; of which states.

        A share goes on with what it hears of itself as long as it can; only other shares wait for
        the next round.
        """
        share, settled = self.share, 0
        offset, first, end = share.offset, share.hearers[me], share.hearers[me + 1]
        hearers: list[NDArray[Any]] = [NOBODY]
        of = [NOBODY]
        rows = np.flatnonzero(share.outcome != IN_PLAY) if now.opens else NOBODY
        worth = Worth(*told)
        while True:
            if slots.size:
                self._asked.put(slots, worth)
                closed = self._open.closed(slots)
                if closed.size:
                    children = self._asked.at(share.into[ragged(offset, closed)])
                    counts = offset[closed + 1] - offset[closed]
                    self.worth.put(closed, backed_up(counts, children))
                rows = np.concatenate((rows, closed))
            if not rows.size:
                break
            settled += len(rows)
            hearer, row = share.hear(rows)
            own = slice(*np.searchsorted(hearer, (first, end)))
            slots, worth = hearer[own] - first + share.begin[me], self.worth.at(row[own])
            hearers += (hearer[: own.start], hearer[own.stop :])
            of += (row[: own.start], row[own.stop :])
            rows = NOBODY
        told_to, told_of = np.concatenate(hearers), np.concatenate(of)
        order = np.argsort(told_to)
        return settled, told_to[order], told_of[order]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all that may change, by name."""
        named = {f"worth_{name}": column for name, column in self.worth._asdict().items()}
        named |= {f"asked_{name}": column for name, column in self._asked._asdict().items()}
        return named | {"open": self._open.open}


class Around:
    """Retrograde waves, a round each: first what is won or lost, then the draws; see `Retrograde`.

    Args:
        share: whose states.

    Attributes:
        share: the same.
        next: the number of the round that is next.
        worth: of its states, as far as it is known.
        asked_value: the value of each slot.
    """

    PHASE = "around"
    FIELDS = ("value",)

    def __init__(self, share: Share) -> None:
        self.share = share
        self.next = 0
        self.asked_value = np.full(share.slots, DRAW, dtype=np.int8)
        self._steps = Retrograde(share.outcome, share.counts, share.backward)

    @property
    def worth(self) -> Worth:
        """See the class."""
        return self._steps.worth

    def take(
        self, now: Round, me: int, slots: Ints, told: Iterable[NDArray[Any]]
    ) -> tuple[int, NDArray[Any], Ints]:
        """Return how many states are settled, who hears, and of which; as `Upward` does."""
        (value,) = told
        outcome = self.share.outcome
        self.asked_value[slots] = value
        if now.ties is not None and now.number >= now.ties:
            if now.opens:
                rows = np.flatnonzero(outcome == DRAW)
            else:
                rows = self._steps.tie(slots, now.number - now.ties)
        elif now.opens:
            rows = np.flatnonzero((outcome == LOSS) | (outcome == WIN))
        else:
            lost, won = slots[value == LOSS], slots[value == WIN]
            rows = np.concatenate(self._steps.settle(lost, won, now.number))
        return len(rows), *self.share.hear(rows)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all that may change, by name."""
        return {
            "value": self.worth.value,
            "remoteness": self.worth.remoteness,
            "unsettled": self._steps.unsettled,
            "open": self._steps.open_children.open,
            "asked": self.asked_value,
        }


Standing: TypeAlias = Upward | Around
PHASES: Final[dict[str, type[Upward] | type[Around]]] = {
    each.PHASE: each for each in (Upward, Around)
}

_kept: dict[tuple[str, int], Standing] = {}
_lock = threading.Lock()


def standing(job: Job, plan: Plan, share: int, now: Round) -> Standing:
    """Return how far a share is before a round; nobody else has it until `keep`."""
    with _lock:
        found = _kept.pop((plan.token, share), None)
    if not isinstance(found, PHASES[now.phase]) or found.next > now.number:
        found = None  # let its memory go
        _make_room(job.work, plan)
        found = _written(job.work, share, now)
    for number in range(found.next, now.number):
        past = Round(now.phase, number, now.ties)
        inbox = _inbox(job.work, plan, share, past)
        if inbox or past.opens:
            found.take(past, share, *told_to(job.work, found, past, inbox))
        found.next = number + 1
    return found


def told_to(work: Work, at: Standing, now: Round, inbox: Inbox) -> tuple[Ints, list[NDArray[Any]]]:
    """Return the slots that are settled by what others told in the round before; and the worth."""
    told = [np.empty(0, dtype=message_of(at))]
    slots = [NOBODY]
    for other, first, end in inbox:
        rows = np.array(work.load(f"{now.phase}_told", now.number - 1, other)["told"][first:end])
        slots.append(rows["slot"] + at.share.begin[other])
        told.append(rows)
    whole = np.concatenate(told)
    return np.concatenate(slots), [np.ascontiguousarray(whole[name]) for name in at.FIELDS]


def message_of(at: Standing | type[Standing]) -> np.dtype[Any]:
    """Return the columns of what shares tell: which slot of the hearer, and what it is worth."""
    return np.dtype([("slot", np.int32), *((name, WORTH[name]) for name in at.FIELDS)])


WORTH: Final = {
    name: column.dtype for name, column in Worth.of_ended(np.empty(0, np.int8))._asdict().items()
}
"""The types of the columns of a `Worth`."""


def keep(plan: Plan, share: int, at: Standing) -> None:
    """Keep how far a share is, for the next round."""
    with _lock:
        _kept[plan.token, share] = at


def release(plan: Plan, *shares: int) -> None:
    """Forget how far shares are."""
    with _lock:
        for share in shares:
            _kept.pop((plan.token, share), None)


def _make_room(work: Work, plan: Plan) -> None:
    """Write down what is kept of other shares, as long as one more would be too much.

    The last ones first: shares take turns, so that their next turn is the furthest away.
    """
    while True:
        with _lock:
            sizes = [_size(at) for at in _kept.values()]
            if not sizes or sum(sizes) + max(sizes) <= plan.memory:
                return
            (token, share), at = _kept.popitem()
        if token == plan.token:  # else of a build that is over, or can go on without
            _write_down(work, share, at)


def _size(at: Standing) -> int:
    """Return how many bytes it takes to keep."""
    return sum(array.nbytes for array in (*at.arrays().values(), *at.share))


def _write_down(work: Work, share: int, at: Standing) -> None:
    """Write down how far a share is."""
    kind = f"{at.PHASE}_kept"
    before = work.noted(kind, 0, share)
    work.save(kind, at.next, share, **at.arrays())
    work.note(kind, 0, share, {"next": at.next})
    if before is not None and before["next"] != at.next:
        work.drop(kind, before["next"], share)


def _written(work: Work, share: int, now: Round) -> Standing:
    """Return how far a share was when that was written down last, if not too late for a round."""
    at = PHASES[now.phase](Share.load(work, share))
    before = work.noted(f"{now.phase}_kept", 0, share)
    if before is None or before["next"] > now.number:
        return at
    try:
        kept = work.load(f"{now.phase}_kept", before["next"], share)
        for name, array in at.arrays().items():
            array[...] = kept[name]
    except StoreError:  # another process has just replaced it
        return PHASES[now.phase](at.share)
    at.next = before["next"]
    return at


def _inbox(work: Work, plan: Plan, share: int, now: Round) -> Inbox:
    """Return what was told to a share in the round before one that was taken long ago."""
    if now.opens:
        return ()
    records = [work.noted(now.phase, now.number - 1, other) for other in range(plan.shares)]
    return tuple(inboxes(records).get(share, ()))


def inboxes(records: Sequence[Mapping[str, Any] | None]) -> dict[int, Inbox]:
    """Return for each share that is told something by whom, from the records of a round.

    Args:
        records: of all shares; None of one that did not hear anything.
    """
    found: dict[int, Inbox] = {}
    for other, record in enumerate(records):
        for share, first, end in record["told"] if record else ():
            found[share] = (*found.get(share, ()), (other, first, end))
    return found
