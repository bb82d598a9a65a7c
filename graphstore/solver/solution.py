"""The values of a graph: by backward induction, or by retrograde analysis if play can cycle.

docs/explanation/how-it-works.md describes both. The winner takes the shortest way, the loser the
longest. The steps are functions of arrays, not of graphs, so that builds out of core share them.

They take children as the opponent of the player who moves sees them. Where a move keeps the turn,
that is not the player to move there: `Worth.turned` turns the child round. A state that moves of
both kinds lead to is two children: one in its row, and one n rows further, turned round.
"""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from graphstore.errors import RulesError
from graphstore.rules.game import DRAW, IN_PLAY, LOSS, WIN, Codes, Progress, quiet
from graphstore.solver.columns import (
    BLOCK,
    NONE,
    OWN,
    PLY,
    Backward,
    Edges,
    Kind,
    Rows,
    Shorts,
    Solution,
    Worth,
)
from graphstore.solver.graph import GameGraph
from graphstore.util import arguments
from graphstore.util.arrays import distinct, mex, ragged

MOST_NIMBER: Final = np.iinfo(np.int16).max


def solve(graph: GameGraph, *, progress: Progress = quiet) -> Solution:
    """Return the solution of a graph, and keep it as ``graph.solution``.

    >>> from graphstore import explore, find_game
    >>> graph = explore(find_game("mnk(4,3,3)"))
    >>> solution = solve(graph)
    >>> solution.value[graph.row(0)], solution.remoteness[graph.row(0)]
    (np.int8(1), np.int32(7))
    """
    arguments.instance("graph", graph, GameGraph, "a graph, as explore(game) returns it")
    edges = graph.edges_by_move
    if (keeps := graph.keeps) is not None:
        edges = edges._replace(child=edges.child + np.int32(len(graph.states.id)) * keeps)
    kind = graph.kind._replace(extra_turns=keeps is not None)
    worth = _by_induction(
        graph, Worth.of_ended(graph.states.outcome, kind, graph.margin), edges, progress
    ) or _by_retrograde(graph, edges, progress)
    progress("solve", len(worth.value), len(worth.value))
    graph.solution = _scored(graph, worth, edges)
    return graph.solution


def solve_above(graph: GameGraph, known: NDArray[np.void]) -> Solution:
    """Return the solution of a graph, and keep it as ``graph.solution``; see `solve`.

    `known` has the id, value, remoteness and score of all states in play without moves; numbers of
    random play that depend on them are NaN. Play must not cycle, and no move keep the turn.
    """
    outcome, edges = graph.states.outcome.copy(), graph.edges_by_move
    rows = np.searchsorted(graph.states.id, known["id"])
    outcome[rows] = known["value"]
    worth = Worth.of_ended(outcome)
    worth.remoteness[rows] = known["remoteness"]
    for random in worth[2:5]:
        random[rows] = np.nan
    ended = GameGraph(graph.name, graph.states._replace(outcome=outcome), edges, graph.texts)
    assert _by_induction(ended, worth, edges, quiet) is not None
    graph.solution = _scored(graph, worth, edges)
    graph.solution.score[rows] = known["score"]
    return graph.solution


def _scored(graph: GameGraph, worth: Worth, edges: Edges) -> Solution:
    """Return all columns of a solution, from the worth of its states."""
    best_response = np.subtract(0.0, worth.drifter, out=worth.chooser)  # which nothing needs now
    worth = worth._replace(drifter=best_response)
    keeps = graph.keeps
    repeated = graph.repeated if keeps is None else edges.repeated()
    seen = worth.value if keeps is None else np.concatenate((worth.value, -worth.value))
    return solution_of(worth, _scores_in(edges, repeated, worth.value, seen), best_response)


def _scores_in(
    edges: Edges, repeated: tuple[Rows, Rows], value: Codes, seen: Codes
) -> NDArray[np.float64]:
    """Return the score of each state, float64[n]; `seen` are the values of the children."""
    parent, child = repeated
    score = np.empty(len(value), dtype=np.float64)
    for begin, end, moves in edges.blocks():
        twice = slice(*np.searchsorted(parent, (begin, end)))
        score[begin:end] = scores(
            value[begin:end],
            edges.parents(begin, end) - np.int32(begin),
            seen[edges.child[moves]],
            parent[twice] - np.int32(begin),
            seen[child[twice]],
        )
    return score


def solution_of(
    worth: Worth, score: NDArray[np.float64], best_response: NDArray[np.float64] | None = None
) -> Solution:
    """Return all columns of a solution, from the worth and the score of its states."""
    value, remoteness = worth.value, worth.remoteness
    if remoteness.dtype == np.int64:
        moves, remoteness = remoteness % PLY, (remoteness // PLY).astype(np.int32)
    else:
        moves = (remoteness + (value == WIN)) // 2
    return Solution(
        value,
        remoteness,
        score,
        np.where(value == LOSS, moves, NONE).astype(np.int32, copy=False),
        np.where(value == WIN, moves, NONE).astype(np.int32, copy=False),
        worth.random_value,
        0.0 - worth.drifter if best_response is None else best_response,
        worth.margin,
        worth.nimber,
    )


def scores(
    value: Codes, parent: NDArray[Any], child_value: Codes, twice: NDArray[Any], twice_value: Codes
) -> NDArray[np.float64]:
    """Return each state's score, float64[n], from the parents and child values of all moves.

    `twice` and `twice_value` are the parents and child values of moves that lead to the same child
    as an earlier move; such a move is not counted again.
    """
    n = len(value)
    replies = np.bincount(parent, minlength=n) - np.bincount(twice, minlength=n)
    losing = np.bincount(parent[child_value == WIN], minlength=n)
    losing -= np.bincount(twice[twice_value == WIN], minlength=n)
    share = losing / np.maximum(replies, 1)
    return np.where(value == DRAW, share, -value.astype(np.float64))


def backed_up(counts: NDArray[Any], children: Worth) -> Worth:
    """Return the worth of states in play, from their numbers of moves and their children.

    `children` has the worth of the child of each move, ordered by state, then by move.
    Sums are in the order of the moves, so that every build gets the same floats.
    """
    begin = np.cumsum(counts) - counts
    value, remoteness = decided(counts, children.value, children.remoteness)
    return Worth(
        value,
        remoteness,
        0.0 - np.add.reduceat(children.random_value, begin) / counts,
        0.0 - np.minimum.reduceat(children.drifter, begin),
        0.0 - np.add.reduceat(children.chooser, begin) / counts,
        None if children.margin is None else -np.minimum.reduceat(children.margin, begin),
        None if children.nimber is None else nimbers_of(counts, children.nimber),
    )


def decided(
    counts: NDArray[Any], child_value: Codes, child_remoteness: NDArray[Any]
) -> tuple[Codes, NDArray[Any]]:
    """Return the value and `Worth.remoteness` of states from those of the child of each move."""
    begin = np.cumsum(counts) - counts
    value = -np.minimum.reduceat(child_value, begin)
    keeps = child_value == np.repeat(-value, counts)
    near = np.where(keeps, child_remoteness, np.iinfo(child_remoteness.dtype).max)
    remoteness = np.where(
        value == LOSS,
        np.maximum.reduceat(child_remoteness, begin),
        np.minimum.reduceat(near, begin),
    )
    if remoteness.dtype == np.int32:
        return value, remoteness + np.int32(1)
    return value, remoteness + PLY + OWN * (value == WIN)


def nimbers_of(counts: NDArray[Any], nimbers: Shorts) -> Shorts:
    """Return the nimbers of states, from those of their children."""
    least = mex(counts, nimbers)
    if least.max(initial=0) > MOST_NIMBER:
        raise RulesError(f"a position has the nimber {least.max()}; the limit is {MOST_NIMBER:,}")
    return least.astype(np.int16)


def _children(worth: Worth, child: NDArray[Any]) -> Worth:
    """Return the worth of children; those n rows further are turned round."""
    if worth.remoteness.dtype == np.int32:
        return worth.at(child)
    n = len(worth.value)
    return worth.at(child % n).turned(child >= n)


def _by_induction(graph: GameGraph, worth: Worth, edges: Edges, progress: Progress) -> Worth | None:
    """Return the worth of every state by backward induction; None if play can cycle.

    `worth` has that of ended states, and is filled.
    """
    waves = [*levels(graph)]
    done = int(np.count_nonzero(graph.states.outcome != IN_PLAY))
    for wave in waves:
        for begin in range(0, len(wave), BLOCK):
            some = wave[begin : begin + BLOCK].astype(np.int64)  # numpy's fastest index
            counts = edges.offset[some + 1] - edges.offset[some]
            children = edges.child[ragged(edges.offset, some)]
            worth.put(some, backed_up(counts, _children(worth, children)))
        done += len(wave)
        progress("solve", done, len(worth.value))
    if done == len(worth.value):
        return worth
    if graph.kind.scored:
        stuck = np.flatnonzero(worth.remoteness == NONE)[:1]
        raise endless(graph.name, f", as from {graph.texts(graph.states.id[stuck])[0]}")
    return None


def endless(name: str, where: str = "") -> RulesError:
    """Return the error for a game of scores in which play can return to a position."""
    return RulesError(
        f"{name}: margins are found only where play ends, and it can return to a position{where}; "
        "let outcome() return 1, 0 or -1, without margins = True"
    )


def levels(graph: GameGraph) -> Iterator[NDArray[Any]]:
    """Yield waves of states in play, each state after all its children; leave out cycles."""
    outcome, ply, edges = graph.states.outcome, graph.states.ply, graph.edges_by_move
    if all(
        np.array_equal(ply[edges.parents(begin, end)] + np.int32(1), ply[edges.child[moves]])
        for begin, end, moves in edges.blocks()
    ):
        rows = np.flatnonzero(outcome == IN_PLAY).astype(np.int32)
        short = len(ply) and ply.max() < 2**15
        waves: NDArray[Any] = ply[rows].astype(np.int16 if short else np.int32)
        rows = rows[np.argsort(waves, kind="stable")]  # numpy sorts 16 bits ten times as fast
        ends = np.cumsum(np.bincount(waves)) if rows.size else rows
        yield from reversed(np.split(rows, ends[:-1]))
        return
    open_children = OpenChildren(edges.counts, graph.backward)
    wave = np.flatnonzero(outcome != IN_PLAY)
    while wave.size:
        wave = open_children.closed(wave)
        if wave.size:
            yield wave


class OpenChildren:
    """A count of the unsolved children of each of n states.

    Children are numbered as in `backward`, which may differ from the numbers of the states.
    """

    def __init__(self, counts: NDArray[Any], backward: Backward) -> None:
        self.open = counts.astype(np.int32)
        self._backward = backward

    def closed(self, children: NDArray[Any]) -> NDArray[np.int64]:
        """Mark children as solved; return the states without other unsolved children, ascending."""
        above = self._backward.above(children)
        np.subtract.at(self.open, above, np.int32(1))
        return distinct(above[self.open[above] == 0])


class Retrograde:
    """Retrograde analysis of n states, wave by wave.

    Call `settle` until no more states are won or lost, then `tie` until no more draws get a
    remoteness. `unsettled` is True for states without a value, and for draws without a remoteness.
    """

    def __init__(
        self, outcome: Codes, counts: NDArray[Any], backward: Backward, *, extra_turns: bool = False
    ) -> None:
        self.worth = Worth.of_ended(outcome, Kind(extra_turns=extra_turns))
        for column in self.worth[2:5]:
            column.fill(np.nan)  # random play need not end
        self._backward = backward
        self.unsettled = outcome == IN_PLAY
        self.open_children = OpenChildren(counts, backward)

    def settle(
        self, lost: NDArray[Any], won: NDArray[Any], depth: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Set the values that follow from the last wave, `lost` and `won`; return the next wave.

        With extra turns, the caller adds the winner's moves to its remoteness; see `decided`.
        """
        above = self._backward.above(lost)
        wins = distinct(above[self.unsettled[above]])
        self._note(wins, WIN, depth)
        closed = self.open_children.closed(won)
        losses = closed[self.unsettled[closed]]
        self._note(losses, LOSS, depth)
        return losses, wins

    def tie(self, drawn: NDArray[Any], depth: int) -> NDArray[np.int64]:
        """Set the remoteness of draws that lead to `drawn`, the last wave; return the next wave."""
        above = self._backward.above(drawn)
        draws = distinct(above[self.unsettled[above]])
        self._note(draws, DRAW, depth)
        return draws

    def _note(self, rows: NDArray[np.int64], value: int, depth: int) -> None:
        remoteness = self.worth.remoteness
        remoteness[rows] = depth if remoteness.dtype == np.int32 else depth * PLY
        self.worth.value[rows] = value
        self.unsettled[rows] = False


def _by_retrograde(graph: GameGraph, edges: Edges, progress: Progress) -> Worth:
    """Return the worth of every state by retrograde analysis."""
    outcome, counts = graph.states.outcome, edges.counts
    n, extra_turns = len(outcome), edges is not graph.edges_by_move
    backward = Backward.of(edges, 2 * n) if extra_turns else graph.backward
    steps = Retrograde(outcome, counts, backward, extra_turns=extra_turns)
    lost, won = np.flatnonzero(outcome == LOSS), np.flatnonzero(outcome == WIN)
    settled, depth = 0, 0
    while lost.size or won.size:
        settled, depth = settled + len(lost) + len(won), depth + 1
        progress("solve", settled, len(outcome))
        if not extra_turns:
            lost, won = steps.settle(lost, won, depth)
            continue
        turned = np.concatenate((lost, won + n)), np.concatenate((won, lost + n))
        lost, won = steps.settle(*turned, depth)
        rows = np.concatenate((lost, won))
        if rows.size:
            child = _children(steps.worth, edges.child[ragged(edges.offset, rows)])
            _, remoteness = decided(counts[rows], child.value, child.remoteness)
            steps.worth.remoteness[rows] = remoteness
    drawn, depth = np.flatnonzero(outcome == DRAW), 0
    while drawn.size:  # the shortest way to a tie leads only through drawn states
        depth += 1
        drawn = steps.tie(np.concatenate((drawn, drawn + n)) if extra_turns else drawn, depth)
    return steps.worth
