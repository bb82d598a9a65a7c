"""The steps of a block: explore it, and solve it, each from files to files.

Every step may run in another process, on another machine, and more than once: it reads what steps
with a record have written, and writes its own record at its end. Functions of
`graphstore.solver.exploration` and `graphstore.solver.solution` compute what is in between.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, redirect_stdout
from functools import lru_cache, wraps
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from socket import gethostname
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphstore.building.parts.partition import in_order, meeting, rows_of, span
from graphstore.building.parts.texts import Texts, afresh, agree, meet, merged, spelled
from graphstore.building.parts.work import BlockId, Record, Work
from graphstore.errors import StoreError
from graphstore.games import find_game
from graphstore.rules.game import IN_PLAY, Codes, Game, Ints
from graphstore.solver.columns import Solution, States, Worth
from graphstore.solver.exploration import Run, Wave, again, expand, twice_in_turn, unseen
from graphstore.solver.solution import backed_up, scores, solution_of
from graphstore.store.columns import state_columns
from graphstore.store.folder.layout import ROW_GROUP, file_of, write_rows
from graphstore.util.arrays import distinct, first_of_runs, offsets, places


class Build(NamedTuple):
    """What every step of a build is told.

    Attributes:
        folder: where; each build that begins has another.
        game: the rules, or, for other processes, the name that `find_game` takes.
        rules: their version.
        below: positions to begin from, as text; none: the starts of the game.
        parts: how many each wave has, as far as waves are known.
        ones: which numbers of one-bits the ids of each wave have, as bits; see `Run`.
        shares: how many there are, see `graphstore.building.parts.shares`.
        memory: bytes that a step may take.
    """

    folder: str
    game: Game | str
    rules: str
    below: tuple[str, ...] = ()
    parts: tuple[int, ...] = ()
    ones: tuple[int, ...] = ()
    shares: int = 0
    memory: int = 0

    @property
    def path(self) -> Path:
        """The folder."""
        return Path(self.folder)

    @property
    def work(self) -> Work:
        """What is in it until the build is complete."""
        return Work(self.path)

    def blocks(self, wave: int) -> list[BlockId]:
        """Return the blocks of a wave."""
        return [BlockId(wave, part) for part in range(self.parts[wave])]

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


Step = Callable[..., Record]
"""Called with a build, a block and maybe more; returns what to record."""


def recorded(step: Step) -> Step:
    """Let a step write its record, by its name, at its end; one that has a record is skipped.

    The record also has ``seconds``, what the step took, and ``peak_bytes``, the most memory that
    its process has had so far.
    """

    @wraps(step)
    def take(build: Build, at: BlockId, *rest: Any) -> Record:
        done = build.work.noted(step.__name__, at)
        if done is not None:
            return done
        since = perf_counter()
        # What rules print on a worker is not output of ours.
        with redirect_stdout(sys.stderr) if isinstance(build.game, str) else nullcontext():
            record = step(build, at, *rest)
        record["seconds"] = round(perf_counter() - since, 6)
        record["peak_bytes"] = getrusage(RUSAGE_SELF).ru_maxrss * 1024
        build.work.note(step.__name__, at, record)
        return record

    return take


@recorded
def explore_block(build: Build, at: BlockId) -> Record:
    """Find the new states of a block and their moves; ask the next wave for the children.

    It writes the edges, and keeps a `Block` and what that asks of the next wave: int64[k] ``id`` by
    bucket, then by id, where the buckets ``begin``, and ``text``.

    Returns:
        The record: ``parts`` of its wave, ``states``, ``moves``, ``edges`` (distinct pairs),
        ``asked`` (k), ``late``, how many children that it was asked for have an earlier ply,
        ``ones``; and ``messages`` and their ``bytes``, what it was sent by blocks.

    Raises:
        RulesError: a position in play has no move, a player moves twice in turn, or two positions
            share an id.
    """
    game, work = build.ready(), build.work
    asks, asks_text = _asks(build, game, at)
    asked, texts = merged(game, asks, asks_text)
    states = unseen(asked, _known(build, game, at, (asked, texts)))
    if len(texts):
        texts = texts[np.searchsorted(asked, states)]
    meet(game, states, texts)
    found = expand(game, states)
    parent = np.repeat(np.arange(len(states), dtype=np.int64), found.counts)
    _check_turns(game, found, parent)
    pairs = np.sort(parent << 32 | found.into)
    more = pairs[~first_of_runs(pairs)]
    children, place, begin = in_order(found.found)
    if len(found.move):
        write_rows(file_of(build.path, "edge", *at), "edge", _edges(found))
    block = Block(
        states,
        texts,
        found.outcome,
        found.counts,
        place[found.into],
        more >> 32,
        place[more & 0xFFFFFFFF],
    )
    work.save("block", at, **block._asdict())
    work.save("asks", at, id=children, text=spelled(game, children), begin=begin)
    return {
        "parts": build.parts[at.wave],
        "states": len(states),
        "moves": len(found.move),
        "edges": len(found.move) - len(more),
        "asked": len(children),
        "late": len(asked) - len(states),
        "ones": _bits(Run.of(states).ones),
        **received(asks, asks_text),
    }


@recorded
def solve_block(build: Build, at: BlockId) -> Record:
    """Back up what the states of a block are worth, whose children are all in the next wave.

    It writes the states, and keeps a `Worth` of what the blocks of the wave before asked for, block
    by block, and where that of each begins.

    Returns:
        The record: ``positions``, and, for a block of starts, ``start``: the position, the value
        and the remoteness of the first; ``messages`` and their ``bytes``.
    """
    game = build.ready()
    block = Block.load(build.work, at)
    meet(game, block.id, block.text)
    worth = Worth.of_ended(block.outcome)
    pieces = [worth.at(np.empty(0, dtype=np.int64))]
    rows = np.flatnonzero(block.outcome == IN_PLAY)
    if rows.size:
        pieces = list(_answers(build, at))
    children = Worth._make(map(np.concatenate, zip(*pieces, strict=True)))
    if rows.size:
        worth.put(rows, backed_up(block.counts[rows], children.at(block.into)))
    score = block_scores(block, worth.value, children.value)
    record = write_states(build, game, at, block, solution_of(worth, score))
    if at.wave:
        _answer(build, at, block.id, worth)
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
    def load(cls, work: Work, at: BlockId) -> "Block":
        """Read a block."""
        found = work.load("block", at)
        return cls(*(np.array(found[name]) for name in cls._fields))


def block_scores(graph: Any, value: Codes, asked: Codes) -> NDArray[np.float64]:
    """Return the scores of the states of a block or a share.

    Args:
        graph: the `Block` or `Share`.
        value: of its states.
        asked: the values of what it asks for.
    """
    parent = np.repeat(np.arange(len(value)), graph.counts)
    return scores(value, parent, asked[graph.into], graph.twice, asked[graph.twice_into])


def write_states(build: Build, game: Game, at: BlockId, block: Block, solution: Solution) -> Record:
    """Write the states of a block, solved; return what to record of them."""
    ids = block.id
    record: Record = {"positions": 0}

    def chunks() -> Iterator[Mapping[str, Any]]:
        record["positions"] = 0
        for begin in range(0, len(ids), ROW_GROUP):
            some = slice(begin, begin + ROW_GROUP)
            ply = np.full(len(ids[some]), at.wave, dtype=np.int32)
            orbits = game.orbits(ids[some])
            record["positions"] += int(orbits.sum())
            states = States(ids[some], ply, game.turns(ids[some]), block.outcome[some], orbits)
            yield state_columns(states, solution.of(some), game.texts(ids[some]))

    if len(ids):
        write_rows(file_of(build.path, "state", *at), "state", chunks())
        if not at.wave:
            first = solution.at(0)
            record["start"] = {
                "id": int(ids[0]),
                "start": game.texts(ids[:1])[0],
                "value": first["value"],
                "remoteness": first["remoteness"],
            }
    return record


def _answers(build: Build, at: BlockId) -> Iterator[Worth]:
    """Yield what the children of a block are worth, in the order in which it asked for them."""
    for other in build.blocks(at.wave + 1):
        found = build.work.load("answers", other)
        begin, end = found["begin"][at.part : at.part + 2]
        yield Worth._make(found[name][begin:end] for name in Worth._fields)


def _answer(build: Build, at: BlockId, ids: Ints, worth: Worth) -> None:
    """Keep what the blocks of the wave before asked for, one block after the other."""
    rows = [places(asked, ids) for asked, _ in _asked_of(build, at)]
    given = worth.at(np.concatenate(rows))
    build.work.save("answers", at, begin=offsets(np.array([*map(len, rows)])), **given._asdict())


def _asked_of(build: Build, at: BlockId) -> Iterator[tuple[Ints, Texts]]:
    """Yield what each block of the wave before has asked of a block: ids and texts."""
    first, end = span(at.part, build.parts[at.wave])
    for other in build.blocks(at.wave - 1):
        found = build.work.load("asks", other)
        some = slice(found["begin"][first], found["begin"][end])
        yield found["id"][some], found["text"][some]


def _asks(build: Build, game: Game, at: BlockId) -> tuple[Sequence[Ints], Sequence[Texts]]:
    """Return the states that a block is asked for, and their texts, by the blocks that ask."""
    if at.wave:
        ids, texts = zip(*_asked_of(build, at), strict=True)
        return ids, texts
    starts = game.read_many(list(build.below)) if build.below else game.start_states()
    found = distinct(game.canonical(starts))
    found = found[rows_of(found, at.part, build.parts[0])]
    return [found], [spelled(game, found)]


def received(*pieces: Sequence[NDArray[Any]]) -> dict[str, int]:
    """Return how many messages a step was sent, and how many bytes they have.

    Args:
        pieces: for each of some columns, what every block has sent of it.
    """
    return {
        "messages": sum(any(map(len, message)) for message in zip(*pieces, strict=True)),
        "bytes": sum(each.nbytes for column in pieces for each in column),
    }


def _known(build: Build, game: Game, at: BlockId, asked: tuple[Ints, Texts]) -> Iterator[Run]:
    """Yield the states of earlier waves that can be among those asked for, the latest first."""
    bits = _bits(Run.of(asked[0]).ones)
    for wave in reversed(range(at.wave)):
        if build.ones[wave] & bits:
            for part in meeting(at.part, build.parts[at.wave], build.parts[wave]):
                found = build.work.load("block", BlockId(wave, part))
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
