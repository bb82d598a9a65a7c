"""The steps that explore and solve a block; a step reads files and writes files.

Every step may run in another process, on another machine, and more than once. It reads only the
files of steps that have a record, and writes its own record at its end.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from functools import lru_cache, wraps
from pathlib import Path
from socket import gethostname
from threading import current_thread, main_thread
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphstore.building.parts.partition import apart, by_bucket, overlapping, rows_of, span
from graphstore.building.parts.places import Place, place_of
from graphstore.building.parts.texts import Texts, check_texts, merged, register, spelled
from graphstore.building.parts.work import BlockId, Record, Work, packed, unpacked
from graphstore.errors import RulesError, StoreError
from graphstore.games import find_game
from graphstore.rules.adapter import ArrayRules
from graphstore.rules.game import IN_PLAY, Codes, Game, Ints, margins_of, names_of
from graphstore.rules.positions import read_positions
from graphstore.solver.columns import PLAIN, Kind, Shorts, Solution, States, Worth, kept_turns
from graphstore.solver.exploration import Run, Wave, expand, unseen
from graphstore.solver.solution import backed_up, scores, solution_of
from graphstore.store.columns import state_columns
from graphstore.store.digests import ColumnDigests
from graphstore.store.folder.layout import CHUNK, file_of, write_rows
from graphstore.util.arrays import distinct, first_of_runs, offsets, places
from graphstore.util.memory import peak_bytes


class Build(NamedTuple):
    """The parameters of a build, passed to every step."""

    folder: str  # the draft, or its address in an exchange; every build that begins has a new one
    game: Game | str  # for other processes, its name for `find_game`
    rules: str  # the version of the rules
    below: tuple[str, ...] = ()  # positions to begin from; empty for the starts of the game
    parts: tuple[int, ...] = ()  # the number of parts of each known wave
    ones: tuple[int, ...] = ()  # of each wave, as bits: the one-bit counts of its ids; see `Run`
    shares: int = 0  # the number of shares; see `graphstore.building.parts.shares`
    memory: int = 0  # bytes that a step may take
    kind: Kind = PLAIN  # of the known waves
    with_digests: bool = True  # of all columns
    with_edges: bool = True  # else no files of edges are written
    keeps_moves: bool = False  # from exploring to solving; else states are expanded again

    @property
    def place(self) -> Place:
        """The place of all files."""
        return place_of(self.folder)

    @property
    def children(self) -> str:
        """The kind of the files with the candidates of the next wave."""
        return "asks" if self.keeps_moves else "children"

    @property
    def work(self) -> Work:
        """The files that are removed when the build is complete."""
        return Work(self.place)

    @property
    def name(self) -> str:
        """The name of the game."""
        return self.game if isinstance(self.game, str) else self.game.name

    def blocks(self, wave: int) -> list[BlockId]:
        """Return the blocks of a wave."""
        return [BlockId(wave, part) for part in range(self.parts[wave])]

    def ready(self) -> Game:
        """Return the rules without any known positions; raise if their version differs."""
        if not self.place.is_begun():
            raise StoreError(
                f"{gethostname()} does not see {self.folder}; choose a folder on a file system "
                "that all workers share, or an object store with --exchange (exchange=)"
            )
        game = _find(self.game, self.rules) if isinstance(self.game, str) else self.game
        if game.rules != self.rules:
            raise StoreError(
                f"{game.name}: the rules are {game.rules} on {gethostname()}, but {self.rules} "
                "where the build was begun; use the same on all machines"
            )
        return game.afresh() if isinstance(game, ArrayRules) else game


@lru_cache(maxsize=4)
def _find(name: str, rules: str) -> Game:
    """Return a game by name. `rules` is a key of the cache: a changed file is read again."""
    return find_game(name)


Step = Callable[..., Record]
"""A function of a build, a block and maybe more arguments; returns its record."""


def recorded(step: Step) -> Step:
    """Make a step write its record at its end, or return the record that exists.

    The record also has the ``seconds`` of the step and the ``peak_bytes`` of its process.
    """

    @wraps(step)
    def take(build: Build, at: BlockId, *rest: Any) -> Record:
        done = build.work.noted(step.__name__, at)
        if done is not None:
            return done
        since = perf_counter()
        try:
            with redirect_stdout(sys.stderr):  # rules may print, and a worker shares the stdout
                record = step(build, at, *rest)
        except KeyboardInterrupt as error:
            if current_thread() is not main_thread():  # not by Ctrl-C
                raise RulesError(f"{build.name}: the rules raise KeyboardInterrupt") from error
            raise
        record["seconds"] = round(perf_counter() - since, 6)
        record["peak_bytes"] = peak_bytes()
        build.work.note(step.__name__, at, record)
        return record

    return take


@recorded
def explore_block(build: Build, at: BlockId) -> Record:
    """Find the new states of a block and their children.

    Save the states and, by bucket, then by id, their children: int64[k] ``id``, ``text``, and
    ``begin``, where each bucket begins. If the build keeps moves, save all of `expand_block`. In
    the record, ``asked`` counts the children, and ``late`` the candidates of this block that are
    states of an earlier wave; ``names`` are the names of its moves by number.
    """
    game = build.ready()
    asks, asks_text = _candidates(build, game, at)
    asked, texts = merged(game, asks, asks_text)
    states = unseen(asked, _known(build, game, at, (asked, texts)))
    if len(texts):
        texts = texts[np.searchsorted(asked, states)]
    build.work.save("states", at, id=packed(states), count=np.array([len(states)]), text=texts)
    register(game, states, texts)
    found = expand(game, states)
    keeps = _keeps(game, found)
    record: Record = {
        "parts": build.parts[at.wave],
        "states": len(states),
        "moves": len(found.move),
        "late": len(asked) - len(states),
        "extra_turns": keeps is not None,
        "ones": _bits(Run.of(states).ones),
        "names": {str(move): name for move, name in names_of(game, found.move).items()},
        **received(asks, asks_text),
    }
    if build.keeps_moves:
        return record | _save_moves(build, game, at, found, texts, keeps)
    children, _, begin = by_bucket(found.found)
    build.work.save("children", at, begin=begin, id=children, text=spelled(game, children))
    return record | {"asked": len(children)}


@recorded
def expand_block(build: Build, at: BlockId) -> Record:
    """Expand the states of a block again, to solve them; see `_save_moves`."""
    game = build.ready()
    states, texts = states_of(build, at)
    register(game, states, texts)
    found = expand(game, states)
    return _save_moves(build, game, at, found, texts, _keeps(game, found))


def _keeps(game: Game, found: Wave) -> NDArray[np.bool_] | None:
    """Return where moves keep the turn; see `kept_turns`."""
    before = np.repeat(game.turns(found.states), found.counts)
    return kept_turns(before, game.turns(found.found)[found.into])


def _save_moves(
    build: Build,
    game: Game,
    at: BlockId,
    found: Wave,
    texts: Texts,
    keeps: NDArray[np.bool_] | None,
) -> Record:
    """Write the edges of a block; save a `Block`, and its children as `explore_block` does.

    A child is there twice if some moves to it keep the turn and others do not; see `apart`. In the
    record, ``edges`` counts distinct pairs.
    """
    parent = np.repeat(np.arange(len(found.states), dtype=np.int64), found.counts)
    child, into, turned = apart(found.found, found.into, keeps)
    pairs = np.sort(parent << 32 | into, kind="stable")
    more = pairs[~first_of_runs(pairs)]
    children, place, begin = by_bucket(child)
    turned[place] = turned.copy()
    written = write_file(build, "edge", at, _edges(found)) if len(found.move) else {}
    margin = margins_of(game, found.states, found.outcome)
    block = Block(
        found.states,
        texts,
        found.outcome,
        found.counts,
        place[into],
        more >> 32,
        place[more & 0xFFFFFFFF],
        turned,
        np.empty(0, dtype=np.int16) if margin is None else margin,
    )
    build.work.save("block", at, **block._asdict())
    build.work.save("asks", at, begin=begin, id=children, text=spelled(game, children))
    return {"asked": len(children), "edges": len(found.move) - len(more), **written}


@recorded
def solve_block(build: Build, at: BlockId) -> Record:
    """Solve the states of a block from their children, which are all in the next wave.

    Write the states; save the `Worth` of the children of each block of the wave before, and where
    those of each block begin.
    """
    game, work = build.ready(), build.work
    block = Block.load(work, at)
    register(game, block.id, block.text)
    worth = Worth.of_ended(block.outcome, build.kind, block.margin)
    pieces = [worth.at(np.empty(0, dtype=np.int64))]
    rows = np.flatnonzero(block.outcome == IN_PLAY)
    for other in build.blocks(at.wave + 1) if rows.size else ():
        answers = work.load("answers", other, (at.part, at.part + 1))
        pieces.append(Worth._make(map(answers.get, Worth._fields)))
    children = Worth.joined(pieces)
    if build.kind.extra_turns and rows.size:
        children = children.turned(block.turned)
    if rows.size:
        worth.put(rows, backed_up(block.counts[rows], children.at(block.into)))
    score = block_scores(block, worth.value, children.value)
    record = write_states(build, game, at, block, solution_of(worth, score))
    if at.wave:
        asked = [places(ids, block.id) for ids, _ in _children_in(build, at, "asks")]
        given = worth.at(np.concatenate(asked))
        begin = offsets(np.array([*map(len, asked)]))
        work.save("answers", at, begin=begin, **given.arrays())
    record["solved"] = len(block.id)
    return record | received(*zip(*(each.arrays().values() for each in pieces), strict=True))


class Block(NamedTuple):
    """The graph of a block: n states with m moves to k children; see `apart`."""

    id: Ints  # [n], ascending
    text: Texts  # of hashed ids
    outcome: Codes  # [n]
    counts: NDArray[np.int32]  # [n], how many moves each state has
    into: NDArray[np.int32]  # [m], the index of the child among those saved
    twice: NDArray[Any]  # [t], states of moves whose child another move reaches, too
    twice_into: NDArray[np.int32]  # [t], the children of those moves
    turned: NDArray[np.bool_]  # [k], True for a child of moves that keep the turn
    margin: Shorts  # [n], of ended states; empty in a game without scores

    @classmethod
    def load(cls, work: Work, at: BlockId) -> "Block":
        """Read a block."""
        found = work.load("block", at)
        return cls(*(np.array(found[name]) for name in cls._fields))


def block_scores(graph: Any, value: Codes, child_value: Codes) -> NDArray[np.float64]:
    """Return the scores of the states of a `Block` or `Share` from the values of the children."""
    parent = np.repeat(np.arange(len(value)), graph.counts)
    of_move, of_twice = child_value[graph.into], child_value[graph.twice_into]
    return scores(value, parent, of_move, graph.twice, of_twice)


def write_file(
    build: Build, table: str, at: BlockId, chunks: Iterable[Mapping[str, Any]]
) -> Record:
    """Write the rows of a block.

    Return the CRC-32 of the file, if one is written, by its path in the folder, and the digests of
    the columns.
    """
    file, hashes = file_of(Path(), table, *at), ColumnDigests()

    def hashed() -> Iterator[Mapping[str, Any]]:
        for columns in chunks:
            if build.with_digests:
                hashes.update_table(table, columns)
            yield columns

    sums = {}
    if table == "edge" and not build.with_edges:
        for _ in hashed():
            pass
    else:
        name = file.as_posix()
        sums[name] = write_rows(
            file, table, hashed(), lambda _, write: build.place.put(name, write)
        )
    return {"sums": sums, "digests": hashes.of_columns()}


def write_states(build: Build, game: Game, at: BlockId, block: Block, solution: Solution) -> Record:
    """Write the solved states of a block; return the record of them."""
    ids = block.id
    record: Record = {"positions": 0}

    def chunks() -> Iterator[Mapping[str, Any]]:
        for begin in range(0, len(ids), CHUNK):
            some = slice(begin, begin + CHUNK)
            ply = np.full(len(ids[some]), at.wave, dtype=np.int32)
            orbits = game.orbits(ids[some])
            record["positions"] += int(orbits.sum())
            states = States(ids[some], ply, game.turns(ids[some]), block.outcome[some], orbits)
            yield state_columns(states, solution.of(some), game.texts(ids[some]))

    if len(ids):
        record |= write_file(build, "state", at, chunks())
        if not at.wave:
            start = game.texts(ids[:1])[0]
            record["start"] = {"id": int(ids[0]), "start": start, **solution.at(0)}
    return record


def states_of(build: Build, at: BlockId) -> tuple[Ints, Texts]:
    """Return the states of a block, ascending, and their texts."""
    found = build.work.load("states", at)
    return unpacked(found["id"], int(found["count"][0])), found["text"]


def _children_in(build: Build, at: BlockId, kind: str) -> Iterator[tuple[Ints, Texts]]:
    """Yield the children in block `at` of each block of the wave before: their ids and texts."""
    buckets = span(at.part, build.parts[at.wave])
    for other in build.blocks(at.wave - 1):
        found = build.work.load(kind, other, buckets)
        yield found["id"], found["text"]


def _candidates(build: Build, game: Game, at: BlockId) -> tuple[Sequence[Ints], Sequence[Texts]]:
    """Return the candidates of a block and their texts, from each block of the wave before."""
    if at.wave:
        ids, texts = zip(*_children_in(build, at, build.children), strict=True)
        return ids, texts
    starts = read_positions(game, build.below) if build.below else game.start_states()
    found = distinct(game.canonical(starts))
    found = found[rows_of(found, at.part, build.parts[0])]
    return [found], [spelled(game, found)]


def received(*pieces: Sequence[NDArray[Any]]) -> dict[str, int]:
    """Return the number and bytes of the messages to a step, from the pieces of each column."""
    return {
        "messages": sum(any(map(len, message)) for message in zip(*pieces, strict=True)),
        "bytes": sum(each.nbytes for column in pieces for each in column),
    }


def _known(build: Build, game: Game, at: BlockId, asked: tuple[Ints, Texts]) -> Iterator[Run]:
    """Yield the states of earlier waves that can be among the candidates, the latest wave first."""
    bits = _bits(Run.of(asked[0]).ones)
    for wave in reversed(range(at.wave)):
        if build.ones[wave] & bits:
            for part in overlapping(at.part, build.parts[at.wave], build.parts[wave]):
                ids, texts = states_of(build, BlockId(wave, part))
                if ids.size:
                    check_texts(game, asked, (ids, texts))
                    yield Run.of(ids)


def _bits(flags: NDArray[np.bool_]) -> int:
    """Return flags as the bits of an integer."""
    return sum(1 << int(bit) for bit in np.flatnonzero(flags))


def _edges(found: Wave) -> Iterator[Mapping[str, Any]]:
    """Yield the edges of a wave, a row group at a time."""
    parent = np.repeat(found.states, found.counts)
    for begin in range(0, len(found.move), CHUNK):
        some = slice(begin, begin + CHUNK)
        child = found.found[found.into[some]]
        yield {"parent": parent[some], "move": found.move[some], "child": child}
