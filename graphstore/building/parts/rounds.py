"""Solving where children may be of any wave: rounds between shares, which hold all their waves.

In a round every share that has heard of something settles what follows from it, and tells those
shares whose slots stand for what it settled. Rounds go upward from the ended states; if they stall,
play can cycle, and rounds of retrograde waves begin, one for each remoteness.

A process holds one share at a time, whose size is chosen for that, and more of them only if there
is room. The disk takes up to a row for each state, and one for each slot, beside the blocks.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final
from uuid import uuid4

import numpy as np

from graphstore.building.parts.crew import LITTLE, Crew
from graphstore.building.parts.partition import BUCKETS, buckets, meeting, span
from graphstore.building.parts.progress import (
    WORTH,
    Inbox,
    Round,
    inboxes,
    keep,
    message_of,
    release,
    standing,
    told_to,
)
from graphstore.building.parts.shares import Plan, gather, listen
from graphstore.building.parts.steps import Block, Job, Layout, noting, received, write_states
from graphstore.building.parts.texts import meet
from graphstore.building.parts.work import Work
from graphstore.rules.game import Progress
from graphstore.solver.columns import Worth
from graphstore.solver.solution import solution_of

BYTES_A_STATE, BYTES_A_MOVE = 100, 60  # of a share, while it is gathered or solved: measured

SOLVED: Final = np.dtype([*WORTH.items(), ("score", np.float64)])
"""What is kept of each state of a share that is solved."""


def solve(
    job: Job, crew: Crew, layout: Layout, memory: int, progress: Progress
) -> list[dict[str, Any]]:
    """Solve all states, whose blocks are explored; return the records of all steps.

    Args:
        job: what every step is told.
        crew: who takes them.
        layout: the blocks.
        memory: bytes that a process may take.
        progress: called with the phase and how far it is.
    """
    blocks = [(wave, part) for wave, parts in enumerate(layout.parts) for part in range(parts)]
    states, moves = (
        sum((job.work.noted("explore", *block) or {})[of] for block in blocks)
        for of in ("states", "moves")
    )
    plan = _planned(job.work, crew, layout, memory, states, moves)
    return _Rounds(job, crew, plan, states, progress).solve(blocks)


@noting(lambda plan, share, now, inbox: (now.phase, now.number, share))
def take(job: Job, plan: Plan, share: int, now: Round, inbox: Inbox) -> dict[str, Any]:
    """Settle what follows from what a share was told in the round before, and tell others.

    Returns:
        The record: ``settled``, how many states; ``told``, to which shares, and which rows of what
        it keeps: the slots, and what they are worth; ``messages`` and their ``bytes``.
    """
    work = job.work
    at = standing(job, plan, share, now)
    slots, heard = told_to(work, at, now, inbox)
    settled, hearers, rows = at.take(now, share, slots, heard)
    ends = np.searchsorted(hearers, at.share.hearers)
    if len(hearers):
        told = np.empty(len(hearers), dtype=message_of(at))
        told["slot"] = hearers - np.repeat(at.share.hearers[:-1], np.diff(ends))
        for name in at.FIELDS:
            told[name] = getattr(at.worth, name)[rows]
        work.save(f"{now.phase}_told", now.number, share, told=told)
    at.next = now.number + 1
    others = np.flatnonzero(np.diff(ends)).tolist()
    keep(plan, share, at)
    return {
        "settled": settled,
        "told": [[other, int(ends[other]), int(ends[other + 1])] for other in others],
        "messages": len(inbox),
        "bytes": len(slots) * message_of(at).itemsize,
    }


@noting(lambda plan, share, now: ("finish", 0, share))
def finish(job: Job, plan: Plan, share: int, now: Round) -> dict[str, Any]:
    """Keep what the states of a share are worth in the end, in the order of their ids."""
    work = job.work
    at = standing(job, plan, share, now)
    held = at.share
    solved = np.empty(len(held.id), dtype=SOLVED)
    for name in WORTH:
        solved[name] = getattr(at.worth, name)
    block = Block(
        held.id,
        np.zeros(0, dtype="U1"),
        held.outcome,
        held.counts.astype(np.int32),
        held.into,
        held.twice,
        held.twice_into,
    )
    solved["score"] = block.scores(at.worth.value, at.asked_value)
    work.save("solved", 0, share, id=held.id, solved=solved)
    return {}


@noting(lambda plan, wave, part: ("solve", wave, part))
def write(job: Job, plan: Plan, wave: int, part: int) -> dict[str, Any]:
    """Write the states of a block, that the shares have solved.

    Returns:
        The record, as that of `graphstore.building.parts.steps.solve`; and ``cyclic``, if play can cycle.
    """
    work = job.work
    release(plan, *range(plan.shares))  # in this process, which may have had some
    game = job.ready()
    block = Block.load(work, wave, part)
    ids = block.id
    meet(game, ids, block.text)
    solved = np.empty(len(ids), dtype=SOLVED)
    of = buckets(ids)
    pieces = []
    for share in meeting(part, plan.layout.parts[wave], plan.shares):
        first, end = span(share, plan.shares)
        rows = np.flatnonzero((of >= first) & (of < end))
        found = work.load("solved", 0, share)
        pieces.append(found["solved"][np.searchsorted(found["id"], ids[rows])])
        solved[rows] = pieces[-1]
    worth = Worth(*(np.ascontiguousarray(solved[name]) for name in WORTH))
    solution = solution_of(worth, np.ascontiguousarray(solved["score"]))
    record = write_states(job, game, wave, part, block, solution)
    return record | received(pieces) | ({"cyclic": True} if solution.cyclic else {})


def _planned(work: Work, crew: Crew, layout: Layout, memory: int, states: int, moves: int) -> Plan:
    """Return the plan: with as many shares as were chosen before, if they were."""
    before = work.noted("shares", 0, 0)
    if before is None:
        need = states * BYTES_A_STATE + moves * BYTES_A_MOVE
        hands = crew.size if states > LITTLE * crew.size else 1
        asked = layout.parts[0]  # few starts are in as many parts as were asked for, or in one
        shares = min(max(hands, -(-need // memory), asked), BUCKETS)
        before = {"shares": shares, "token": uuid4().hex}
        work.note("shares", 0, 0, before)
    return Plan(before["shares"], before["token"], memory, layout)


class _Rounds:
    """Has all steps taken, each after those that it needs."""

    def __init__(self, job: Job, crew: Crew, plan: Plan, states: int, progress: Progress) -> None:
        self._job = job
        self._work = job.work
        self._crew = crew
        self._plan = plan
        self._states = states
        self._progress = progress
        self._records: list[dict[str, Any]] = []

    def solve(self, blocks: list[tuple[int, int]]) -> list[dict[str, Any]]:
        """See the function."""
        job, plan, work, shares = self._job, self._plan, self._work, range(self._plan.shares)
        self._all("gather", gather, {(0, share): (job, plan, share) for share in shares})
        work.clear("asks")
        self._all("listen", listen, {(0, share): (job, plan, share) for share in shares})
        work.clear("share_asks")
        settled, last = self._rounds(Round("upward", 0))
        if settled < self._states:
            work.clear("upward_*")
            _, last = self._rounds(Round("around", 0))
            _, last = self._rounds(Round("around", last.number, last.number))
        self._all("finish", finish, {(0, share): (job, plan, share, last) for share in shares})
        for kinds in (f"{last.phase}_*", "share*"):
            work.clear(kinds)
        self._all("solve", write, {block: (job, plan, *block) for block in blocks})
        for kinds in ("solved", "block"):
            work.clear(kinds)
        self._progress("solve", self._states, self._states)
        return self._records

    def _rounds(self, now: Round) -> tuple[int, Round]:
        """Take rounds until no share tells another; return how much was settled, and what is next.

        Upward, and around before the draws, a state is settled once.
        """
        shares, settled = range(self._plan.shares), 0
        inbox: dict[int, Inbox] = dict.fromkeys(shares, ())
        while inbox:
            calls = {
                (now.number, share): (self._job, self._plan, share, now, inbox[share])
                for share in sorted(inbox)
            }
            done = self._all(now.phase, take, calls)
            settled += sum(record["settled"] for record in done.values())
            if now.ties is None:
                self._progress("solve", settled, self._states)
            inbox = inboxes([done.get((now.number, share)) for share in shares])
            now = now._replace(number=now.number + 1)
        return settled, now

    def _all(
        self,
        step: str,
        function: Callable[..., Any],
        calls: Mapping[tuple[int, int], tuple[Any, ...]],
    ) -> dict[tuple[int, int], dict[str, Any]]:
        """Take a step wherever it is not noted as done; return all records."""
        records = {key: self._work.noted(step, *key) for key in calls}
        left = [key for key, record in records.items() if record is None]
        for number, record in self._crew.run(
            function, [calls[key] for key in left], homes=[part for _, part in left]
        ):
            records[left[number]] = record
        done = {key: record for key, record in records.items() if record is not None}
        self._records += done.values()
        return done
