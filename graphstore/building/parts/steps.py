"""What is done to a block: exploring it, and solving it, each from files and to files.

Every step may run in another process, on another machine, and more than once: it reads what other
steps have noted as done, and notes at its end what it did. What is computed in between, functions
of `graphstore.solver.exploration` and `graphstore.solver.solution` compute.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, redirect_stdout
from functools import lru_cache, wraps
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from socket import gethostname
from time import perf_counter
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphstore.building.parts.partition import in_order, meeting, mine, span
from graphstore.building.parts.texts import Texts, afresh, agree, meet, merged, spelled
from graphstore.building.parts.work import Work
from graphstore.errors import StoreError
from graphstore.games import find_game
from graphstore.rules.game import IN_PLAY, Codes, Game, Ints
from graphstore.solver.columns import Solution, States, Worth
from graphstore.solver.exploration import Run, Wave, again, expand, twice_in_turn, unseen
from graphstore.solver.solution import backed_up, scores, solution_of
from graphstore.store.columns import state_columns
from graphstore.store.folder.layout import ROW_GROUP, file_of, write_rows
from graphstore.util.arrays import distinct, first_of_runs, places

KINDS: Final = ("block", "asks", "answers")
"""What is kept of a block: by `explore`, a `Block`, and what it asks of the next wave, int64[k]
``id`` by bucket, then by id, where the buckets ``begin``, and ``text``; and by `solve`, what it
answers to the blocks of the wave before, a `Worth`, and where the answers to each ``begin``."""


class Job(NamedTuple):
    """What every step of a build is told.

    Attributes:
        folder: where.
        game: the rules, or, for other processes, the name that `find_game` takes.
        rules: their version.
        below: positions to begin from, as text; none: the starts of the game.
    """

    folder: str
    game: Game | str
    rules: str
    below: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """The folder."""
        return Path(self.folder)

    @property
    def work(self) -> Work:
        """What lies there meanwhile."""
        return Work(self.path)

    def ready(self) -> Game:
        """Return the rules, which have met no position.

        Raises:
            StoreError: they are of another version here than where the build was begun, or the
                folder is not seen from here.
        """
        if not self.work.path.is_dir():
            raise StoreError(
                f"{self.folder} cannot be seen from {gethostname()}; name a folder on a file "
                "system that all workers share"
            )
        game = _found(self.game, self.rules) if isinstance(self.game, str) else self.game
        if game.rules != self.rules:
            raise StoreError(
                f"{game.name}: the rules are {game.rules} here and {self.rules} where the build "
                "was begun; have the same on all machines"
            )
        return afresh(game)


@lru_cache(maxsize=4)
def _found(name: str, rules: str) -> Game:
    """Return a game by name; one whose file has changed since is another."""
    return find_game(name)


class Layout(NamedTuple):
    """What is known of the waves so far.

    Attributes:
        parts: how many each wave has.
        ones: which numbers of one-bits the ids of each wave have, as bits; see `Run`.
    """

    parts: tuple[int, ...]
    ones: tuple[int, ...] = ()


Step = Callable[..., dict[str, Any]]


def noting(key: Callable[..., tuple[str, int, int]]) -> Callable[[Step], Step]:
    """Let a step note its record at its end; a step that is noted as done is not taken again.

    The record has ``seconds``, what the step took, and ``peak_bytes``, the most memory that its
    process has had so far.

    Args:
        key: called with what the step is told beside the job: the step, the wave and the part by
            which its record is known.
    """

    def noted(step: Step) -> Step:
        @wraps(step)
        def take(job: Job, *rest: Any) -> dict[str, Any]:
            at = key(*rest)
            done = job.work.noted(*at)
            if done is not None:
                return done
            since = perf_counter()
            with redirect_stdout(sys.stderr) if isinstance(job.game, str) else nullcontext():
                record = step(job, *rest)  # what rules print on a worker is no data of ours
            record["seconds"] = round(perf_counter() - since, 6)
            record["peak_bytes"] = getrusage(RUSAGE_SELF).ru_maxrss * 1024
            job.work.note(*at, record)
            return record

        return take

    return noted


@noting(lambda wave, part, layout: ("explore", wave, part))
def explore(job: Job, wave: int, part: int, layout: Layout) -> dict[str, Any]:
    """Find the new states of a block and their moves; ask the next wave for the children.

    It keeps the block and its asks, see `KINDS`, and writes the edges.

    Returns:
        The record: ``parts`` of its wave, ``states``, ``moves``, ``edges`` (distinct pairs),
        ``asked`` (k), ``late``, how many children that it was asked for have an earlier ply,
        ``ones``; and ``messages`` and their ``bytes``, what it was sent by blocks.

    Raises:
        RulesError: a position in play has no move, a player moves twice in turn, or two positions
            share an id.
    """
    game, work = job.ready(), job.work
    asks, asks_text = _asks(job, game, wave, part, layout)
    asked, texts = merged(game, asks, asks_text)
    states = unseen(asked, _known(game, work, wave, part, layout, (asked, texts)))
    if len(texts):
        texts = texts[np.searchsorted(asked, states)]
    meet(game, states, texts)
    found = expand(game, states)
    parent = np.repeat(np.arange(len(states), dtype=np.int64), found.counts)
    _check_turns(game, found, parent)
    pairs = np.sort(parent << 32 | found.into)
    more = pairs[~first_of_runs(pairs)]
    order, begin = in_order(found.found)
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    children = found.found[order]
    if len(found.move):
        edges = file_of(job.path, "edge", wave, part)
        write_rows(edges, "edge", _edges(found))
    block = Block(
        states,
        texts,
        found.outcome,
        found.counts,
        place[found.into],
        more >> 32,
        place[more & 0xFFFFFFFF],
    )
    work.save("block", wave, part, **block._asdict())
    work.save("asks", wave, part, id=children, text=spelled(game, children), begin=begin)
    return {
        "parts": layout.parts[wave],
        "states": len(states),
        "moves": len(found.move),
        "edges": len(found.move) - len(more),
        "asked": len(children),
        "late": len(asked) - len(states),
        "ones": _bits(Run.of(states).ones),
        **received(asks, asks_text),
    }


@noting(lambda wave, part, layout: ("solve", wave, part))
def solve(job: Job, wave: int, part: int, layout: Layout) -> dict[str, Any]:
    """Back up what the states of a block are worth, whose children are all in the next wave.

    It writes the states, and keeps for those of the wave before what they asked for.

    Returns:
        The record: ``positions``, and, for a block of starts, ``start``: the position, the value
        and the remoteness of the first; ``messages`` and their ``bytes``.
    """
    game, work = job.ready(), job.work
    block = Block.load(work, wave, part)
    meet(game, block.id, block.text)
    worth = Worth.of_ended(block.outcome)
    pieces = [worth.at(np.empty(0, dtype=np.int64))]
    rows = np.flatnonzero(block.outcome == IN_PLAY)
    if rows.size:
        pieces = list(answers(work, wave, part, layout))
    children = Worth._make(map(np.concatenate, zip(*pieces, strict=True)))
    if rows.size:
        worth.put(rows, backed_up(block.counts[rows], children.at(block.into)))
    score = block.scores(worth.value, children.value)
    record = write_states(job, game, wave, part, block, solution_of(worth, score))
    if wave:
        _answer(work, wave, part, layout, block.id, worth)
    return record | received(*zip(*pieces, strict=True))


class Block(NamedTuple):
    """What solving needs of a block, n states with m moves to k distinct children.

    Attributes:
        id: int64[n], ascending.
        text: what others need to know of hashed ids, see `Texts`.
        outcome: int8[n].
        counts: int32[n], how many moves each state has.
        into: int32[m], which of what the block asks for a move leads to.
        twice: int[t], the states of moves that lead where another one of the same state leads.
        twice_into: int32[t], where these lead.
    """

    id: Ints
    text: Texts
    outcome: Codes
    counts: NDArray[np.int32]
    into: NDArray[np.int32]
    twice: NDArray[Any]
    twice_into: NDArray[np.int32]

    @classmethod
    def load(cls, work: Work, wave: int, part: int) -> "Block":
        """Read a block."""
        found = work.load("block", wave, part)
        return cls(*(np.array(found[name]) for name in cls._fields))

    def scores(self, value: Codes, asked: Codes) -> NDArray[np.float64]:
        """Return the scores of the states, by their values and those of what they asked for."""
        parent = np.repeat(np.arange(len(self.id)), self.counts)
        return scores(value, parent, asked[self.into], self.twice, asked[self.twice_into])


def write_states(
    job: Job, game: Game, wave: int, part: int, block: Block, solution: Solution
) -> dict[str, Any]:
    """Write the states of a block, solved; return what to record of them."""
    ids = block.id
    record: dict[str, Any] = {"positions": 0}

    def chunks() -> Iterator[Mapping[str, Any]]:
        record["positions"] = 0
        for begin in range(0, len(ids), ROW_GROUP):
            some = slice(begin, begin + ROW_GROUP)
            ply = np.full(len(ids[some]), wave, dtype=np.int32)
            orbits = game.orbits(ids[some])
            record["positions"] += int(orbits.sum())
            states = States(ids[some], ply, game.turns(ids[some]), block.outcome[some], orbits)
            yield state_columns(states, solution.of(some), game.texts(ids[some]))

    if len(ids):
        write_rows(file_of(job.path, "state", wave, part), "state", chunks())
        if not wave:
            first = solution.at(0)
            record["start"] = {
                "id": int(ids[0]),
                "start": game.texts(ids[:1])[0],
                "value": first["value"],
                "remoteness": first["remoteness"],
            }
    return record


def answers(work: Work, wave: int, part: int, layout: Layout) -> Iterator[Worth]:
    """Yield what the children of a block are worth, in the order in which it asked for them."""
    for other in range(layout.parts[wave + 1]):
        found = work.load("answers", wave + 1, other)
        begin, end = found["begin"][part : part + 2]
        yield Worth._make(found[name][begin:end] for name in Worth._fields)


def _answer(work: Work, wave: int, part: int, layout: Layout, ids: Ints, worth: Worth) -> None:
    """Keep what the blocks of the wave before asked for, one block after the other."""
    rows = [
        places(asked_by(work, wave - 1, other, part, layout)[0], ids)
        for other in range(layout.parts[wave - 1])
    ]
    begin = np.cumsum([0, *map(len, rows)])
    given = worth.at(np.concatenate(rows))
    work.save("answers", wave, part, begin=begin, **given._asdict())


def asked_by(work: Work, wave: int, other: int, part: int, layout: Layout) -> tuple[Ints, Texts]:
    """Return what a block has asked of a part of the next wave: ids and texts."""
    found = work.load("asks", wave, other)
    first, end = span(part, layout.parts[wave + 1])
    some = slice(found["begin"][first], found["begin"][end])
    return found["id"][some], found["text"][some]


def _asks(
    job: Job, game: Game, wave: int, part: int, layout: Layout
) -> tuple[list[Ints], list[Texts]]:
    """Return the states that a block is asked for, and their texts, by the blocks that ask."""
    if wave == 0:
        starts = game.read_many(list(job.below)) if job.below else game.start_states()
        ids = mine(distinct(game.canonical(starts)), part, layout.parts[0])
        return [ids], [spelled(game, ids)]
    others = range(layout.parts[wave - 1])
    pieces = [asked_by(job.work, wave - 1, other, part, layout) for other in others]
    return [ids for ids, _ in pieces], [texts for _, texts in pieces]


def received(*pieces: Sequence[NDArray[Any]]) -> dict[str, int]:
    """Return how many messages a step was sent, and how many bytes they have.

    Args:
        pieces: for each of some columns, what every block has sent of it.
    """
    return {
        "messages": sum(any(map(len, message)) for message in zip(*pieces, strict=True)),
        "bytes": sum(each.nbytes for column in pieces for each in column),
    }


def _known(
    game: Game, work: Work, wave: int, part: int, layout: Layout, asked: tuple[Ints, Texts]
) -> Iterator[Run]:
    """Yield the states of earlier waves that can be among those asked for, the latest first."""
    bits = _bits(Run.of(asked[0]).ones)
    for before in reversed(range(wave)):
        if layout.ones[before] & bits:
            for other in meeting(part, layout.parts[wave], layout.parts[before]):
                found = work.load("block", before, other)
                ids = np.array(found["id"])
                if ids.size:
                    agree(game, asked, (ids, found["text"]))
                    yield Run.of(ids)


def _bits(flags: NDArray[np.bool_]) -> int:
    """Return flags as the bits of an integer."""
    return sum(1 << int(bit) for bit in np.flatnonzero(flags))


def _edges(found: Wave) -> Iterator[Mapping[str, Any]]:
    """Yield the edges of a wave, a row group at a time."""
    parent = np.repeat(found.states, found.counts)
    for begin in range(0, len(found.move), ROW_GROUP):
        some = slice(begin, begin + ROW_GROUP)
        child = found.found[found.into[some]]
        yield {"parent": parent[some], "move": found.move[some], "child": child}


def _check_turns(game: Game, found: Wave, parent: Ints) -> None:
    before = game.turns(found.states)[parent]
    twice = np.flatnonzero(again(before, game.turns(found.found)[found.into]))
    if twice.size:
        edge = twice[0]
        ends = np.array([found.states[parent[edge]], found.found[found.into[edge]]])
        raise twice_in_turn(game, ends, int(found.move[edge]))
