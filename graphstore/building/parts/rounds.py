"""Solve a game in which a child can be of any wave: in rounds between shares.

In a round, every share that received messages settles the states that follow from them, and sends
messages to the shares that have parents of these states. Rounds go upward from the ended states. If
they stall, play can cycle, and rounds of retrograde waves begin, one for each remoteness.
"""

from typing import Any

import numpy as np

from graphstore.building.parts.partition import BUCKETS, overlapping, rows_of
from graphstore.building.parts.progress import (
    Inbox,
    Round,
    inboxes,
    keep,
    messages_to,
    progress_at,
    release,
)
from graphstore.building.parts.shares import gather, listen
from graphstore.building.parts.steps import (
    Block,
    Build,
    Step,
    block_scores,
    received,
    recorded,
    write_states,
)
from graphstore.building.parts.texts import register
from graphstore.building.parts.work import BlockId, Record, damaged
from graphstore.building.parts.workers import LITTLE, Workers, take_all
from graphstore.rules.game import Progress
from graphstore.solver.columns import Worth
from graphstore.solver.solution import endless, solution_of

BYTES_A_STATE, BYTES_A_MOVE = 100, 60  # bytes of a share in memory, as measured


def solve_in_rounds(
    build: Build, workers: Workers, states: int, moves: int, progress: Progress
) -> list[Record]:
    """Solve all states, after all blocks are explored; return the records of all steps."""
    build = build._replace(shares=_number_of_shares(build, workers, states, moves))
    workers = workers.enough(states)
    work, shares, records = build.work, range(build.shares), list[Record]()

    def each(step: Step, *arguments: Any) -> None:
        calls = [(step, BlockId(0, share), *arguments) for share in shares]
        records.extend(take_all(workers, build, calls, homes=True))

    def rounds(step: Step, now: Round) -> tuple[int, Round]:
        """Take rounds until no message is sent; return the states settled and the next round."""
        settled, inbox = 0, dict.fromkeys(shares, Inbox())
        while inbox:
            some = sorted(inbox)
            calls = [(step, BlockId(now.number, share), now, inbox[share]) for share in some]
            done = take_all(workers, build, calls, homes=True)
            records.extend(done)
            settled += sum(record["settled"] for record in done)
            if now.ties is None:  # in these rounds each state is settled once
                progress("solve", settled, states)
            inbox = inboxes(dict(zip(some, done, strict=True)))
            now = now._replace(number=now.number + 1)
        return settled, now

    each(gather)
    if any(record["shares"] != build.shares for record in records):
        raise damaged(build.folder, "its shares were begun with another number of them")
    work.clear("asks")
    each(listen)
    work.clear("share_asks")
    settled, last = rounds(upward, Round("upward", 0))
    if settled < states:
        if build.kind.scored:
            raise endless(build.name)
        work.clear("upward_*")
        _, last = rounds(around, Round("around", 0))
        _, last = rounds(around, last._replace(ties=last.number))
    each(finish, last)
    work.clear(f"{last.phase}_*", "share", "share_heard")  # not "shares", the number of them
    blocks = [at for wave in range(len(build.parts)) for at in build.blocks(wave)]
    calls = [(write_block, at) for at in blocks]
    records += take_all(workers, build, calls, homes=True)
    work.clear("solved", "block", "states")
    progress("solve", states, states)
    return records


def _number_of_shares(build: Build, workers: Workers, states: int, moves: int) -> int:
    """Return the number of shares: the recorded one, if the build chose it before."""
    at = BlockId(0, 0)
    before = build.work.noted("shares", at)
    if before is None:
        need = states * BYTES_A_STATE + moves * BYTES_A_MOVE
        size = workers.size if states > LITTLE * workers.size else 1
        parts = max(build.parts)
        before = {"shares": min(max(size, -(-need // build.memory), parts), BUCKETS)}
        build.work.note("shares", at, before)
    return int(before["shares"])


@recorded
def upward(build: Build, at: BlockId, now: Round, inbox: Inbox) -> Record:
    """Take a round of the first phase; see `_take`."""
    return _take(build, at, now, inbox)


@recorded
def around(build: Build, at: BlockId, now: Round, inbox: Inbox) -> Record:
    """Take a round of the second phase; see `_take`."""
    return _take(build, at, now, inbox)


def _take(build: Build, at: BlockId, now: Round, inbox: Inbox) -> Record:
    """Settle the states that follow from the messages of the round before, and send messages.

    The record has the number of states ``settled`` and, in ``told``, the messages: for each
    receiving share, the first and the end row among the slots that this step saves.
    """
    solving = progress_at(build, at.part, now)
    messages = messages_to(build, solving, now, inbox)
    settled, hearers, rows = solving.take(now, at.part, *messages)
    begin = solving.share.hearers
    ends = np.searchsorted(hearers, begin)
    if len(hearers):
        slot = (hearers - np.repeat(begin[:-1], np.diff(ends))).astype(np.int32)
        told = {name: getattr(solving.worth, name)[rows] for name in solving.fields}
        build.work.save(f"{now.phase}_told", at, slot=slot, **told)
    solving.next = now.number + 1
    keep(build, at.part, solving)
    others = np.flatnonzero(np.diff(ends)).tolist()
    return {
        "settled": settled,
        "told": [[other, int(ends[other]), int(ends[other + 1])] for other in others],
        "messages": len(inbox),
        "bytes": sum(column.nbytes for column in messages),
    }


@recorded
def finish(build: Build, at: BlockId, now: Round) -> Record:
    """Save the final worth of the states of a share, in the order of their ids."""
    solving = progress_at(build, at.part, now)
    share, worth = solving.share, solving.worth
    score = block_scores(share, worth.value, solving.asked_value)
    build.work.save("solved", at, id=share.id, score=score, **worth.arrays())
    return {}


@recorded
def write_block(build: Build, at: BlockId) -> Record:
    """Write the states of a block, after the shares have solved them."""
    release(build)  # frees the memory of this process
    game = build.ready()
    block = Block.load(build.work, at)
    register(game, block.id, block.text)
    rows, pieces = [], []
    names = ("score", *Worth.of_ended(block.outcome[:0], build.kind).arrays())
    for share in overlapping(at.part, build.parts[at.wave], build.shares):
        rows.append(rows_of(block.id, share, build.shares))
        found = build.work.load("solved", BlockId(0, share))
        places = np.searchsorted(found["id"], block.id[rows[-1]])
        pieces.append([found[name][places] for name in names])
    columns = [*zip(*pieces, strict=True)]
    order = np.argsort(np.concatenate(rows), kind="stable")
    cells = dict(zip(names, (np.concatenate(column)[order] for column in columns), strict=True))
    score = cells.pop("score")
    solution = solution_of(Worth(**cells), score)
    record = write_states(build, game, at, block, solution)
    return record | received(*columns) | ({"cyclic": True} if solution.cyclic else {})
