"""Exploration of a game, wave by wave, to the graph of all reachable states."""

import math
import warnings
from collections.abc import Iterable, Iterator
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphstore.errors import TooLargeError, TooLargeWarning
from graphstore.games import rules_of
from graphstore.rules.adapter import ArrayRules
from graphstore.rules.game import (
    IN_PLAY,
    Codes,
    Game,
    Ints,
    Moves,
    Progress,
    margins_of,
    quiet,
    stuck,
)
from graphstore.rules.plain import PlainGame
from graphstore.solver.columns import Edges, States, kind_of
from graphstore.solver.estimate import Estimate, RandomGames, about, project, sized
from graphstore.solver.graph import GameGraph
from graphstore.util import arguments
from graphstore.util.arrays import distinct, member, numbered
from graphstore.util.memory import machine_memory

MAX_STATES = 100_000_000
LOOK = 300_000  # states to explore before the size of the game is estimated
WALKERS = 600  # random games that are played for an estimate
WALKED = 40_000  # the most positions in them
MET = 10  # the fewest pairs of equal positions that tell the number of positions
CHUNK = 1 << 17  # states expanded at once; limits the memory of temporary arrays


class Wave(NamedTuple):
    """A wave of n new states and their m moves."""

    states: Ints  # ascending
    outcome: Codes
    counts: NDArray[np.int32]  # [n], the number of moves of each state
    move: NDArray[np.int32]  # [m], by state, then ascending
    found: Ints  # the distinct children, ascending
    into: NDArray[np.int32]  # [m], the index of each move's child in `found`


class Run(NamedTuple):
    """A sorted array of known states.

    If each mark on a board is a one-bit of the id, states of different plies have different numbers
    of one-bits. So `ones` often shows without a look-up that a run does not have a state.
    """

    ids: Ints  # ascending
    ones: NDArray[np.bool_]  # [64], True at each number of one-bits that an id has

    @classmethod
    def of(cls, ids: Ints) -> "Run":
        """Return the run of some ascending ids."""
        return cls(ids, np.bincount(np.bitwise_count(ids), minlength=64).astype(np.bool_))


def explore(
    game: Game | PlainGame | str,
    *,
    starts: Ints | None = None,
    max_states: int | None = None,
    progress: Progress = quiet,
) -> GameGraph:
    """Return the graph of all states that can be reached from the starts.

    Args:
        game: the rules, or a name for `graphstore.find_game`.
        starts: positions to begin from, int64[s]; by default the starts of the game.
        max_states: the most states to allow, by default 100 million.
        progress: called after each wave with the number of states so far.

    Raises:
        RulesError: a position in play has no move.
        TooLargeError: there are more states than allowed; without `max_states`, also if the whole
            range of the estimate is beyond 100 million.
        PositionTypeError: `starts` is empty or has values that are not integers.

    >>> graph = explore("tictactoe")
    >>> graph.number_of_nodes(), graph.number_of_moves(), graph.number_of_edges()
    (765, 2270, 2096)
    """
    game = rules_of(game)
    limit = MAX_STATES if max_states is None else arguments.count("max_states", max_states)
    found: list[Wave] = []
    seen, looked = 0, max_states is not None and limit <= MAX_STATES
    for wave in waves(game, limit, starts):
        found.append(wave)
        seen += len(wave.states)
        progress("explore", seen, None)
        if seen >= LOOK and not looked:
            _look_ahead(game, found, starts, refuse=max_states is None)
            looked = True
    ids = np.concatenate([wave.states for wave in found])
    ids.sort(kind="stable")  # merges the sorted waves
    return assemble(game, ids, found)


def estimate(
    game: Game | PlainGame | str,
    *,
    starts: Ints | None = None,
    look: int = LOOK,
    progress: Progress = quiet,
) -> Estimate:
    """Return an estimate of the size of a game, from its first `look` states or from all.

    >>> estimate("tictactoe").states
    765.0
    """
    game = rules_of(game)
    look = arguments.count("look", look, least=1)
    found: list[Wave] = []
    complete, began = True, perf_counter()
    for wave in waves(game, MAX_STATES, starts):
        found.append(wave)
        seen = sum(len(each.states) for each in found)
        progress("explore", seen, None)
        if seen >= look:
            complete = False
            break
    return _ahead(game, found, starts, complete=complete, seconds=perf_counter() - began)


def waves(game: Game, limit: int, starts: Ints | None = None) -> Iterator[Wave]:
    """Yield the waves of a game; raise a TooLargeError if there are more than `limit` states."""
    starts = game.start_states() if starts is None else arguments.position_ids("starts", starts)
    fresh = distinct(game.canonical(starts))
    known, count, depth = [Run.of(fresh)], len(fresh), 0
    while fresh.size:
        if count > limit:
            raise TooLargeError(
                f"{game.name} has more than {limit:,} states ({count:,} within {depth} "
                "plies); allow more with --max-states (max_states=)"
            )
        wave = expand(game, fresh)
        yield wave
        fresh = unseen(wave.found, reversed(known))
        count, depth = count + len(fresh), depth + 1
        _add_run(known, Run.of(fresh))


def unseen(states: Ints, known: Iterable[Run]) -> Ints:
    """Return those of `states` that are in no run; `states` and the result ascend."""
    ones = Run.of(states).ones
    for run in known:
        if (run.ones & ones).any():
            states = states[~member(states, run.ids)]
    return states


def _add_run(runs: list[Run], run: Run) -> None:
    """Add a run; merge short runs into long ones, so that few runs have to be searched.

    Each run is more than twice as long as the next, so each state is copied few times.
    """
    while runs and len(runs[-1].ids) <= 2 * len(run.ids):
        last = runs.pop()
        ids = np.concatenate((last.ids, run.ids))
        ids.sort(kind="stable")  # merges the two
        run = Run(ids, last.ones | run.ones)
    runs.append(run)


def _ahead(
    game: Game,
    found: list[Wave],
    starts: Ints | None,
    *,
    complete: bool = False,
    seconds: float = 0.0,
) -> Estimate:
    """Return the estimate from the first waves, which took some seconds, and from random games."""
    return project(
        [len(wave.states) for wave in found],
        [len(wave.move) for wave in found],
        None if complete else _play_randomly(game, found, starts),
        seconds=seconds,
        max_plies=game.max_plies if starts is None else None,
    )


def _play_randomly(game: Game, found: list[Wave], starts: Ints | None) -> RandomGames:
    """Return the growth in random games, which are the same in every run."""
    drawn = np.random.default_rng(0)
    at = np.resize(game.start_states() if starts is None else starts, WALKERS)
    first = np.arange(WALKERS) % 2 == 0  # of two independent samples
    moves, walked = list[float](), 0
    late: tuple[list[Ints], list[Ints]] = [], []
    while walked < WALKED:
        plays = game.outcomes(at) == IN_PLAY
        at, first = at[plays], first[plays]
        parent, _, child = game.expand(at)
        counts = np.bincount(parent, minlength=len(at))
        if not counts.all() or not counts.size:
            break
        if len(moves) >= len(found):
            states = game.canonical(at)
            late[0].append(states[first])
            late[1].append(states[~first])
        moves.append(float(counts.mean()))
        walked += len(at)
        at = child[np.cumsum(counts) - counts + drawn.integers(counts)]
    met = 0
    sizes = [sum(map(len, states)) for states in late]
    if all(sizes):
        (one, ones), (two, twos) = (
            np.unique(np.concatenate(states), return_counts=True) for states in late
        )
        _, at_one, at_two = np.intersect1d(one, two, assume_unique=True, return_indices=True)
        met = int((ones[at_one] * twos[at_two]).sum())
    later = sizes[0] * sizes[1] / met if met >= MET else math.inf
    return RandomGames(moves, at.size > 0, later)


def _look_ahead(game: Game, found: list[Wave], starts: Ints | None, *, refuse: bool) -> None:
    """Refuse a game whose estimate exceeds 100 million; warn if it exceeds the memory."""
    ahead = _ahead(game, found, starts)
    judged = (
        f"{game.name} has about {about(ahead)} states, judged by its first {len(found) - 1} plies"
    )
    if refuse and ahead.low > MAX_STATES:
        raise TooLargeError(
            f"{judged}, and the limit is {MAX_STATES:,}; to go on, give --max-states N "
            "(max_states=), with --out-of-core or --folder if memory is short"
        )
    memory = machine_memory()
    if ahead.memory_bytes > memory:
        warnings.warn(
            f"{judged}; that takes {sized(ahead.memory_bytes)} of memory, and this machine has "
            f"{sized(memory)}: --out-of-core (build_out_of_core) needs less",
            TooLargeWarning,
            stacklevel=3,
        )


def expand(game: Game, states: Ints) -> Wave:
    """Return the wave of new states, which must ascend, with their moves."""
    outcome = game.outcomes(states)
    counts = np.zeros(len(states), dtype=np.int32)
    moves, children = [], []
    open_rows = np.flatnonzero(outcome == IN_PLAY)
    for begin in range(0, len(open_rows), CHUNK):
        rows = open_rows[begin : begin + CHUNK]
        parent, move, child = steps(game, states[rows])
        counts[rows] = np.bincount(parent, minlength=len(rows))
        moves.append(move)
        children.append(child)
    without = open_rows[counts[open_rows] == 0]
    if without.size:
        raise stuck(game, game.texts(states[without[:1]])[0])
    move = np.concatenate([np.empty(0, dtype=np.int32), *moves])
    child = np.concatenate([np.empty(0, dtype=np.int64), *children])
    children.clear()  # free their memory before the sort
    found, into = numbered(child)
    return Wave(states, outcome, counts, move, found, into)


def steps(game: Game, states: Ints) -> Moves:
    """Return the legal moves of states in play, with the states that they lead to."""
    if isinstance(game, ArrayRules):
        return game.steps(states)
    moves = game.expand(states)
    return moves._replace(child=game.canonical(moves.child))


def assemble(game: Game, ids: Ints, waves: list[Wave]) -> GameGraph:
    """Return the graph of all waves, its states sorted by id."""
    n, m = len(ids), sum(len(wave.move) for wave in waves)
    ply = np.empty(n, dtype=np.int32)
    outcome = np.empty(n, dtype=np.int8)
    offset = np.zeros(n + 1, dtype=np.int64)
    move = np.empty(m, dtype=np.int32)
    child = np.empty(m, dtype=np.int32)
    rows = [np.searchsorted(ids, wave.states) for wave in waves]
    for depth, (wave, row) in enumerate(zip(waves, rows, strict=True)):
        ply[row] = depth
        outcome[row] = wave.outcome
        offset[row + 1] = wave.counts
    np.cumsum(offset, out=offset)
    waves.reverse()
    for row in rows:
        wave = waves.pop()  # frees its memory after this step
        begin = np.cumsum(wave.counts) - wave.counts
        to = np.repeat(offset[row] - begin, wave.counts) + np.arange(len(wave.move))
        move[to] = wave.move
        child[to] = np.searchsorted(ids, wave.found).astype(np.int32)[wave.into]
    states = States(ids, ply, game.turns(ids), outcome, game.orbits(ids))
    graph = GameGraph(game.name, states, Edges(offset, move, child), game.texts)
    graph.kind, graph.margin = kind_of(game), margins_of(game, ids, outcome)
    return graph
