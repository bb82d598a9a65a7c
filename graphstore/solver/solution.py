"""The values of a graph: by backward induction, or by retrograde analysis if play can cycle.

docs/explanation/how-it-works.md describes both. The winner takes the shortest way, the loser the
longest. The steps are functions of arrays, not of graphs, so that builds out of core share them.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphstore.rules.game import DRAW, IN_PLAY, LOSS, WIN, Codes, Progress, quiet
from graphstore.solver.columns import BLOCK, NONE, Backward, Solution, Worth
from graphstore.solver.graph import GameGraph
from graphstore.util import arguments
from graphstore.util.arrays import distinct, ragged


def solve(graph: GameGraph, *, progress: Progress = quiet) -> Solution:
    """Return the solution of a graph, and keep it as ``graph.solution``.

    >>> from graphstore import explore, find_game
    >>> graph = explore(find_game("mnk(4,3,3)"))
    >>> solution = solve(graph)
    >>> solution.value[graph.row(0)], solution.remoteness[graph.row(0)]
    (np.int8(1), np.int32(7))
    """
    arguments.instance("graph", graph, GameGraph, "a graph, as explore(game) returns it")
    worth = _by_induction(graph, progress) or _by_retrograde(graph, progress)
    progress("solve", len(worth.value), len(worth.value))
    best_response = np.subtract(0.0, worth.drifter, out=worth.chooser)  # which nothing needs now
    worth = worth._replace(drifter=best_response)
    graph.solution = solution_of(worth, scores_in(graph, worth.value), best_response)
    return graph.solution


def scores_in(graph: GameGraph, value: Codes) -> NDArray[np.float64]:
    """Return the score of each state of a graph, float64[n], from the values."""
    edges, (parent, child) = graph.edges_by_move, graph.repeated
    score = np.empty(len(value), dtype=np.float64)
    for begin, end, moves in edges.blocks():
        twice = slice(*np.searchsorted(parent, (begin, end)))
        score[begin:end] = scores(
            value[begin:end],
            edges.parents(begin, end) - np.int32(begin),
            value[edges.child[moves]],
            parent[twice] - np.int32(begin),
            value[child[twice]],
        )
    return score


def solution_of(
    worth: Worth, score: NDArray[np.float64], best_response: NDArray[np.float64] | None = None
) -> Solution:
    """Return all columns of a solution, from the worth and the score of its states."""
    value, remoteness = worth.value, worth.remoteness
    return Solution(
        value,
        remoteness,
        score,
        np.where(value == LOSS, remoteness // 2, NONE).astype(np.int32, copy=False),
        np.where(value == WIN, (remoteness + 1) // 2, NONE).astype(np.int32, copy=False),
        worth.random_value,
        0.0 - worth.drifter if best_response is None else best_response,
    )


def scores(
    value: Codes,
    parent: NDArray[Any],
    child_value: Codes,
    twice: NDArray[Any],
    twice_value: Codes,
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
    value = -np.minimum.reduceat(children.value, begin)
    keeps = children.value == np.repeat(-value, counts)
    near = np.where(keeps, children.remoteness, np.iinfo(np.int32).max)
    plies = np.where(
        value == LOSS,
        np.maximum.reduceat(children.remoteness, begin),
        np.minimum.reduceat(near, begin),
    )
    return Worth(
        value,
        plies + np.int32(1),
        0.0 - np.add.reduceat(children.random_value, begin) / counts,
        0.0 - np.minimum.reduceat(children.drifter, begin),
        0.0 - np.add.reduceat(children.chooser, begin) / counts,
    )


def _by_induction(graph: GameGraph, progress: Progress) -> Worth | None:
    """Return the worth of every state by backward induction; None if play can cycle."""
    edges, waves = graph.edges_by_move, [*levels(graph)]
    worth = Worth.of_ended(graph.states.outcome)  # after `levels`, which needs as much memory
    done = int(np.count_nonzero(graph.states.outcome != IN_PLAY))
    for wave in waves:
        for begin in range(0, len(wave), BLOCK):
            some = wave[begin : begin + BLOCK].astype(np.int64)  # numpy's fastest index
            counts = edges.offset[some + 1] - edges.offset[some]
            children = edges.child[ragged(edges.offset, some)]
            worth.put(some, backed_up(counts, worth.at(children)))
        done += len(wave)
        progress("solve", done, len(worth.value))
    return worth if done == len(worth.value) else None


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

    def __init__(self, outcome: Codes, counts: NDArray[Any], backward: Backward) -> None:
        self.worth = Worth.of_ended(outcome)
        for column in self.worth[2:]:
            column.fill(np.nan)  # random play need not end
        self._backward = backward
        self.unsettled = outcome == IN_PLAY
        self.open_children = OpenChildren(counts, backward)

    def settle(
        self, lost: NDArray[Any], won: NDArray[Any], depth: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Set the values that follow from the last wave, `lost` and `won`; return the next wave."""
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
        self.worth.value[rows], self.worth.remoteness[rows] = value, depth
        self.unsettled[rows] = False


def _by_retrograde(graph: GameGraph, progress: Progress) -> Worth:
    """Return the worth of every state by retrograde analysis."""
    outcome = graph.states.outcome
    steps = Retrograde(outcome, graph.edges_by_move.counts, graph.backward)
    lost, won = np.flatnonzero(outcome == LOSS), np.flatnonzero(outcome == WIN)
    settled, depth = 0, 0
    while lost.size or won.size:
        settled, depth = settled + len(lost) + len(won), depth + 1
        progress("solve", settled, len(outcome))
        lost, won = steps.settle(lost, won, depth)
    drawn, depth = np.flatnonzero(outcome == DRAW), 0
    while drawn.size:  # the shortest way to a tie leads only through drawn states
        depth += 1
        drawn = steps.tie(drawn, depth)
    return steps.worth
