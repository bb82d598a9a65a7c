"""Solving progress of a share: the values known so far of its states and of their children.

It follows from what the share was told, which is on the disk. So a process keeps it from round to
round, and writes it to the disk only where another share needs the room.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, ClassVar, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from graphstore.building.parts.shares import Share
from graphstore.building.parts.steps import Build
from graphstore.building.parts.work import BlockId, Record
from graphstore.errors import StoreError
from graphstore.rules.game import DRAW, IN_PLAY, LOSS, WIN, Codes, Ints
from graphstore.solver.columns import Worth
from graphstore.solver.solution import OpenChildren, Retrograde, backed_up
from graphstore.util.arrays import ragged

NO_ROWS: Final = np.empty(0, dtype=np.int64)
Inbox: TypeAlias = tuple[tuple[int, int, int], ...]
"""Of what each share has told: (the share, from which row on, to which row)."""


class Round(NamedTuple):
    """Which round."""

    phase: str  # "upward" or "around"
    number: int  # from 0
    ties: int | None = None  # the round in which draws begin to be numbered; None if not yet known

    @property
    def opens(self) -> bool:
        """Whether shares have something to tell of which they did not hear."""
        return self.number in (0, self.ties)


class _Solving:
    """The progress of a share in one phase."""

    PHASE: ClassVar[str]
    FIELDS: ClassVar[tuple[str, ...]]  # of a `Worth`, what shares tell each other
    worth: Worth  # of the states, as far as it is known
    asked_value: Codes  # the value of each slot

    def __init__(self, share: Share) -> None:
        self.share = share
        self.next = 0  # the number of the round that is next


class Upward(_Solving):
    """Children before parents, which never ends where play can cycle."""

    PHASE = "upward"
    FIELDS = Worth._fields

    def __init__(self, share: Share) -> None:
        super().__init__(share)
        self.worth = Worth.of_ended(share.outcome)
        self._asked = Worth.of_ended(np.full(share.slots, IN_PLAY, dtype=np.int8))
        self.asked_value = self._asked.value
        self._open = OpenChildren(share.counts, share.backward)

    def take(
        self, now: Round, me: int, slots: Ints, *told: NDArray[Any]
    ) -> tuple[int, NDArray[Any], Ints]:
        """Take a round; go on with what the share, `me`, hears of itself, for which others wait.

        The slots were settled in the round before; `told` are the `FIELDS` of these. Returned are
        how many states are settled now; the slots that hear of them, ascending; and of which state
        each hears.
        """
        share, settled = self.share, 0
        offset, first, end = share.offset, share.hearers[me], share.hearers[me + 1]
        hearers: list[NDArray[Any]] = [NO_ROWS]
        of = [NO_ROWS]
        rows = np.flatnonzero(share.outcome != IN_PLAY) if now.opens else NO_ROWS
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
            rows = NO_ROWS
        told_to, told_of = np.concatenate(hearers), np.concatenate(of)
        order = np.argsort(told_to)
        return settled, told_to[order], told_of[order]

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """Return all that may change."""
        return (*self.worth, *self._asked, self._open.open)


class Around(_Solving):
    """Retrograde waves, a round each: first what is won or lost, then draws; see `Retrograde`."""

    PHASE = "around"
    FIELDS = ("value",)

    def __init__(self, share: Share) -> None:
        super().__init__(share)
        self.asked_value = np.full(share.slots, DRAW, dtype=np.int8)
        self._steps = Retrograde(share.outcome, share.counts, share.backward)
        self.worth = self._steps.worth

    def take(
        self, now: Round, me: int, slots: Ints, *told: NDArray[Any]
    ) -> tuple[int, NDArray[Any], Ints]:
        """Take a wave; see `Upward.take`."""
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

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """Return all that may change."""
        steps = self._steps
        changing = self.worth.value, self.worth.remoteness, steps.unsettled
        return (*changing, steps.open_children.open, self.asked_value)


Solving: TypeAlias = Upward | Around
PHASES: Final[dict[str, type[Solving]]] = {"upward": Upward, "around": Around}

_kept: dict[tuple[str, int], Solving] = {}
"""What this process keeps, by folder and share."""


def take_up(build: Build, share: int, now: Round) -> Solving:
    """Return the progress of a share before a round, which is not kept meanwhile."""
    found = _kept.pop((build.folder, share), None)
    if not isinstance(found, PHASES[now.phase]) or found.next > now.number:
        found = None  # let its memory go
        _make_room(build)
        found = _read(build, share, now)
    for number in range(found.next, now.number):
        past = now._replace(number=number)
        before = () if past.opens else [BlockId(number - 1, each) for each in range(build.shares)]
        inbox = inboxes([build.work.noted(now.phase, at) for at in before]).get(share, ())
        if inbox or past.opens:
            found.take(past, share, *heard(build, found, past, inbox))
        found.next = number + 1
    return found


def heard(build: Build, at: Solving, now: Round, inbox: Inbox) -> list[NDArray[Any]]:
    """Return int32[n], the slots settled by what others told in the round before, and `FIELDS`."""
    none = Worth.of_ended(np.empty(0, dtype=np.int8))
    pieces = [(np.empty(0, dtype=np.int32), *none[: len(at.FIELDS)])]
    for other, first, end in inbox:
        found = build.work.load(f"{now.phase}_told", BlockId(now.number - 1, other))
        slot, *told = (found[name][first:end] for name in ("slot", *at.FIELDS))
        pieces.append((slot + at.share.begin[other].astype(np.int32), *told))
    return [*map(np.concatenate, zip(*pieces, strict=True))]


def keep(build: Build, share: int, at: Solving) -> None:
    """Keep the progress of a share for the next round."""
    _kept[build.folder, share] = at


def release(build: Build) -> None:
    """Forget the progress of all shares."""
    for share in range(build.shares):
        _kept.pop((build.folder, share), None)


def _make_room(build: Build) -> None:
    """Write what is kept of other shares to the disk, as long as one more would be too much.

    The last ones first: shares take turns, so that their next turn is the furthest away.
    """
    while sizes := [_size(at) for at in [*_kept.values()]]:
        if sum(sizes) + max(sizes) <= build.memory:
            return
        with suppress(KeyError):  # another thread has taken the last one
            (folder, share), at = _kept.popitem()
            if folder == build.folder:  # else of a build that is over, or can go on without
                arrays = {f"{number}": array for number, array in enumerate(at.arrays())}
                arrays["next"] = np.array([at.next])
                build.work.save(f"{at.PHASE}_kept", BlockId(0, share), **arrays)


def _size(at: Solving) -> int:
    """Return how many bytes it takes to keep."""
    return sum(array.nbytes for array in (*at.arrays(), *at.share))


def _read(build: Build, share: int, now: Round) -> Solving:
    """Return the progress of a share as it was last written, if not too late for a round."""
    at = PHASES[now.phase](Share.load(build.work, share))
    try:
        kept = build.work.load(f"{now.phase}_kept", BlockId(0, share))
    except StoreError:  # it was not written
        return at
    if int(kept["next"][0]) <= now.number:
        at.next = int(kept["next"][0])
        for number, array in enumerate(at.arrays()):
            array[...] = kept[f"{number}"]
    return at


def inboxes(records: Sequence[Record | None]) -> dict[int, Inbox]:
    """Return for each share that is told something by whom, from the records of a round.

    The record of a share that did not hear anything is None.
    """
    found: dict[int, Inbox] = {}
    for other, record in enumerate(records):
        for share, first, end in record["told"] if record else ():
            found[share] = (*found.get(share, ()), (other, first, end))
    return found
