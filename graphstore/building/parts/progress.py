"""Solving progress of a share: the values known so far of its states and of their children.

A process keeps the progress in memory between rounds, and writes it to the disk only to make room
for another share. If a process dies, the progress is computed again from the messages that the
share received, which are on the disk.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, ClassVar, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from graphstore.building.parts.shares import Share
from graphstore.building.parts.steps import Build
from graphstore.building.parts.work import BlockId, Record
from graphstore.errors import StoreError
from graphstore.rules.game import DRAW, IN_PLAY, LOSS, WIN, Codes, Ints
from graphstore.solver.columns import Kind, Worth
from graphstore.solver.solution import OpenChildren, Retrograde, backed_up, decided
from graphstore.util.arrays import ragged

NO_ROWS: Final = np.empty(0, dtype=np.int64)
Inbox: TypeAlias = tuple[tuple[int, int, int], ...]
"""The messages to a share: (sending share, first row, end row) in the file of the sender."""


class Round(NamedTuple):
    """A round of solving."""

    phase: str  # "upward" or "around"
    number: int  # from 0
    ties: int | None = None  # the round in which numbering draws begins; None if not yet known

    @property
    def opens(self) -> bool:
        """True if shares begin with their own ended states, without messages."""
        return self.number in (0, self.ties)


class _Solving:
    """The progress of a share in one phase."""

    PHASE: ClassVar[str]
    fields: tuple[str, ...]  # the fields of a `Worth` that shares send to each other
    worth: Worth  # of the states, as far as known
    asked_value: Codes  # int8[k], the value of each slot, for the opponent of the player who moves

    def __init__(self, share: Share, kind: Kind) -> None:
        self.share, self.kind = share, kind
        self.next = 0  # the number of the next round


class Upward(_Solving):
    """The first phase: children before parents. It stalls if play can cycle."""

    PHASE = "upward"

    def __init__(self, share: Share, kind: Kind) -> None:
        super().__init__(share, kind)
        self.worth = Worth.of_ended(share.outcome, kind, share.margin)
        self.fields = tuple(self.worth.arrays())
        self._asked = Worth.of_ended(np.full(share.slots, IN_PLAY, dtype=np.int8), kind)
        self.asked_value = self._asked.value
        self._open = OpenChildren(share.counts, share.backward)

    def take(
        self, now: Round, me: int, slots: Ints, *told: NDArray[Any]
    ) -> tuple[int, NDArray[Any], Ints]:
        """Take a round of the share `me`, and continue with the states that it settles itself.

        `slots` were settled in the round before, and `told` are their `fields`. Return the number
        of states settled now, the slots of other shares that hear of them, ascending, and the state
        of each such slot.
        """
        share, settled = self.share, 0
        offset, first, end = share.offset, share.hearers[me], share.hearers[me + 1]
        hearers: list[NDArray[Any]] = [NO_ROWS]
        of = [NO_ROWS]
        rows = np.flatnonzero(share.outcome != IN_PLAY) if now.opens else NO_ROWS
        worth = Worth(**dict(zip(self.fields, told, strict=True)))
        while True:
            if slots.size:
                if self.kind.extra_turns:
                    worth = worth.turned(share.turned[slots])
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
        order = np.argsort(told_to, kind="stable")
        return settled, told_to[order], told_of[order]

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """Return all arrays that rounds change."""
        held = self.worth.arrays(), self._asked.arrays()
        return (*(each for of in held for each in of.values()), self._open.open)


class Around(_Solving):
    """The second phase, if play can cycle: a retrograde wave per round, wins and losses first."""

    PHASE = "around"

    def __init__(self, share: Share, kind: Kind) -> None:
        super().__init__(share, kind)
        extra_turns = kind.extra_turns
        self.fields = ("value", "remoteness") if extra_turns else ("value",)
        self.asked_value = np.full(share.slots, DRAW, dtype=np.int8)
        self._asked_remoteness = np.zeros(share.slots * extra_turns, dtype=np.int64)
        self._steps = Retrograde(
            share.outcome, share.counts, share.backward, extra_turns=extra_turns
        )
        self.worth = self._steps.worth

    def take(
        self, now: Round, me: int, slots: Ints, *told: NDArray[Any]
    ) -> tuple[int, NDArray[Any], Ints]:
        """Take a wave; return the same as `Upward.take`."""
        share, value = self.share, told[0]
        outcome = share.outcome
        if self.kind.extra_turns:
            value = np.where(share.turned[slots], -value, value)
            self._asked_remoteness[slots] = told[1]
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
            if self.kind.extra_turns and rows.size:
                at = share.into[ragged(share.offset, rows)]
                counts = share.offset[rows + 1] - share.offset[rows]
                _, remoteness = decided(counts, self.asked_value[at], self._asked_remoteness[at])
                self.worth.remoteness[rows] = remoteness
        return len(rows), *share.hear(rows)

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """Return all arrays that rounds change."""
        steps = self._steps
        changing = self.worth.value, self.worth.remoteness, steps.unsettled
        asked = self.asked_value, self._asked_remoteness
        return (*changing, steps.open_children.open, *asked)


Solving: TypeAlias = Upward | Around
PHASES: Final[dict[str, type[Solving]]] = {"upward": Upward, "around": Around}

_kept: dict[tuple[str, int], Solving] = {}
"""The progress that this process keeps, by folder and share."""


def progress_at(build: Build, share: int, now: Round) -> Solving:
    """Return the progress of a share at the beginning of a round.

    It is taken out of this process's memory, or else read from the disk. Earlier rounds that it
    lacks are taken again from their messages.
    """
    found = _kept.pop((build.folder, share), None)
    if not isinstance(found, PHASES[now.phase]) or found.next > now.number:
        found = None  # free its memory
        _make_room(build)
        found = _read(build, share, now)
    for number in range(found.next, now.number):
        past = now._replace(number=number)
        before = () if past.opens else [BlockId(number - 1, each) for each in range(build.shares)]
        noted = {at.part: build.work.noted(now.phase, at) for at in before}
        inbox = inboxes(noted).get(share, ())
        if inbox or past.opens:
            found.take(past, share, *messages_to(build, found, past, inbox))
        found.next = number + 1
    return found


def messages_to(build: Build, at: Solving, now: Round, inbox: Inbox) -> list[NDArray[Any]]:
    """Return the messages of the round before: int32[n] settled slots, and their `fields`."""
    none = Worth.of_ended(np.empty(0, dtype=np.int8), at.kind)
    pieces = [(np.empty(0, dtype=np.int32), *(getattr(none, name) for name in at.fields))]
    for other, first, end in inbox:
        of = BlockId(now.number - 1, other)
        found = build.work.load(f"{now.phase}_told", of, (first, end))
        slot, *told = (found[name] for name in ("slot", *at.fields))
        pieces.append((slot + at.share.begin[other].astype(np.int32), *told))
    return [*map(np.concatenate, zip(*pieces, strict=True))]


def keep(build: Build, share: int, at: Solving) -> None:
    """Keep the progress of a share for the next round."""
    _kept[build.folder, share] = at


def release(build: Build) -> None:
    """Drop the progress of all shares from this process's memory."""
    for share in range(build.shares):
        _kept.pop((build.folder, share), None)


def _make_room(build: Build) -> None:
    """Write kept shares to the disk until there is memory for one more share.

    The last ones are written first: shares are solved in turn, so those are needed last.
    """
    while sizes := [_size(at) for at in [*_kept.values()]]:
        if sum(sizes) + max(sizes) <= build.memory:
            return
        with suppress(KeyError):  # another thread took the last one
            (folder, share), at = _kept.popitem()
            if folder == build.folder:  # other builds are complete or do not need it
                arrays = {f"{number}": array for number, array in enumerate(at.arrays())}
                arrays["next"] = np.array([at.next])
                build.work.save(f"{at.PHASE}_kept", BlockId(0, share), **arrays)


def _size(at: Solving) -> int:
    """Return the bytes of memory that the progress of a share takes."""
    return sum(array.nbytes for array in (*at.arrays(), *at.share))


def _read(build: Build, share: int, now: Round) -> Solving:
    """Return the progress of a share from the disk, or a new one if that is of a later round."""
    at = PHASES[now.phase](Share.load(build.work, share), build.kind)
    try:
        kept = build.work.load(f"{now.phase}_kept", BlockId(0, share))
    except StoreError:  # it was not written
        return at
    if int(kept["next"][0]) <= now.number:
        at.next = int(kept["next"][0])
        for number, array in enumerate(at.arrays()):
            array[...] = kept[f"{number}"]
    return at


def inboxes(records: Mapping[int, Record | None]) -> dict[int, Inbox]:
    """Return the messages to each share that has some, from the records of a round by share.

    The record of a share that took no step in the round is None, or missing.
    """
    found: dict[int, Inbox] = {}
    for other, record in sorted(records.items()):
        for share, first, end in record["told"] if record else ():
            found[share] = (*found.get(share, ()), (other, first, end))
    return found
