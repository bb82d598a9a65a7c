"""From the graph to the values: backward induction by retrograde waves.

One algorithm for graphs with and without cycles: a parent of a lost state is won; a parent all of
whose children are won is lost. Wave r settles the states of remoteness r, so the winner hurries
and the loser delays. What no wave reaches is drawn.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphstore.arrays import distinct, ragged
from graphstore.game import DRAW, IN_PLAY, LOSS, WIN, Codes, Progress, quiet
from graphstore.graph import GameGraph

NONE = -1
"""In an int32 column of a `Solution`: there is no such number. Remoteness and depths are >= 0."""


class Solution(NamedTuple):
    """What every state is worth, n states in the order of the graph.

    Value, remoteness and random_value are for the player to move; score, win_depth, lose_depth and
    best_response see the state as a move, for the player who just moved into it.

    Attributes:
        value: int8[n], +1 win, 0 draw, -1 loss under best play by both.
        remoteness: int32[n], plies to the end under best play; in a drawn state the shortest
            value-keeping way to a tie; `NONE` where play need never end.
        score: float64[n], +1 where the mover wins, -1 where he loses, else the share of the
            opponent's distinct replies that lose for the opponent, in [0, 1).
        win_depth: int32[n], moves that the player who just moved still needs to win, or `NONE`.
        lose_depth: int32[n], moves that the opponent needs to win from here, or `NONE`.
        random_value: float64[n], the expected result if both play uniformly at random over
            legal moves; NaN in all rows if the graph has a cycle.
        best_response: float64[n], the result that the player who just moved expects if the
            opponent plays uniformly at random over legal moves from here on, and he himself
            the best response to that; NaN in all rows if the graph has a cycle.
    """

    value: Codes
    remoteness: NDArray[np.int32]
    score: NDArray[np.float64]
    win_depth: NDArray[np.int32]
    lose_depth: NDArray[np.int32]
    random_value: NDArray[np.float64]
    best_response: NDArray[np.float64]

    @property
    def cyclic(self) -> bool:
        """Whether play can come back to a position."""
        return bool(np.isnan(self.random_value).any())

    def at(self, row: int) -> dict[str, Any]:
        """Return the columns of one state as Python values, None where there is no number."""
        numbers = {name: column[row].item() for name, column in self._asdict().items()}
        for name in ("remoteness", "win_depth", "lose_depth"):
            numbers[name] = None if numbers[name] == NONE else numbers[name]
        for name in ("random_value", "best_response"):
            numbers[name] = None if np.isnan(numbers[name]) else numbers[name]
        return numbers


def solve(graph: GameGraph, *, progress: Progress = quiet) -> Solution:
    """Return what every state is worth, and keep it as ``graph.solution``.

    >>> from graphstore import explore, find_game
    >>> graph = explore(find_game("mnk(4,3,3)"))
    >>> solution = solve(graph)
    >>> solution.value[graph.row(0)], solution.remoteness[graph.row(0)]
    (np.int8(1), np.int32(7))
    """
    value, remoteness = _values(graph, progress)
    progress("solve", len(value), len(value))
    won, lost = value == WIN, value == LOSS
    win_depth = np.where(lost, remoteness // 2, NONE).astype(np.int32)
    lose_depth = np.where(won, (remoteness + 1) // 2, NONE).astype(np.int32)
    graph.solution = Solution(
        value, remoteness, _scores(graph, value), win_depth, lose_depth, *random_play(graph)
    )
    return graph.solution


def _values(graph: GameGraph, progress: Progress) -> tuple[Codes, NDArray[np.int32]]:
    """Return value and remoteness."""
    outcome = graph.states.outcome
    value = np.where(outcome == IN_PLAY, DRAW, outcome).astype(np.int8)
    ended = outcome != IN_PLAY
    remoteness = np.where(ended, 0, NONE).astype(np.int32)
    unsettled = ~ended
    open_children = graph.edges_by_move.counts.astype(np.int32)
    wave = np.flatnonzero(ended & (outcome != DRAW))
    settled, depth = len(wave), 0
    while wave.size:
        depth += 1
        above_lost = _parents(graph, wave[value[wave] == LOSS])
        won = distinct(above_lost[unsettled[above_lost]])
        value[won], remoteness[won], unsettled[won] = WIN, depth, False
        above_won = _parents(graph, wave[value[wave] == WIN])
        np.subtract.at(open_children, above_won, np.int32(1))
        lost = distinct(above_won[unsettled[above_won] & (open_children[above_won] == 0)])
        value[lost], remoteness[lost], unsettled[lost] = LOSS, depth, False
        wave = np.concatenate((won, lost))
        settled += len(wave)
        progress("solve", settled, len(value))
    wave, depth = np.flatnonzero(outcome == DRAW), 0
    while wave.size:  # the shortest way to a tie leads through drawn states only
        depth += 1
        above = _parents(graph, wave)
        wave = distinct(above[unsettled[above]])
        remoteness[wave], unsettled[wave] = depth, False
    return value, remoteness


def _parents(graph: GameGraph, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the parents of states, once for every move; int64, which numpy indexes fastest by."""
    return graph.backward.parent[ragged(graph.backward.offset, rows)].astype(np.int64)


def _scores(graph: GameGraph, value: Codes) -> NDArray[np.float64]:
    """Return each state's worth as a move, for the player who made it."""
    edges, again = graph.edges_by_move, np.flatnonzero(graph.backward.again)
    n = len(value)
    twice = graph.backward.parent[again]  # parents with a second move to one child, and the child
    child = np.searchsorted(graph.backward.offset, again, side="right") - 1
    replies = edges.counts - np.bincount(twice, minlength=n)
    losing = np.bincount(edges.parent[value[edges.child] == WIN], minlength=n)
    losing -= np.bincount(twice[value[child] == WIN], minlength=n)
    share = losing / np.maximum(replies, 1)
    return np.where(value == DRAW, share, -value.astype(np.float64))


def random_play(graph: GameGraph) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return random_value and best_response of every state; NaN with cycles.

    One pass from the ended states up; sums follow the order of the moves. Of two players one of
    whom plays at random, the other his best response, `chooser` and `drifter` are what the player
    to move expects if he is the one who chooses, or the one who plays at random.
    """
    edges, outcome = graph.edges_by_move, graph.states.outcome
    value = np.where(outcome == IN_PLAY, np.nan, outcome)
    chooser, drifter = value.copy(), value.copy()
    done = np.count_nonzero(outcome != IN_PLAY)
    for wave in _upward(graph):
        done += len(wave)
        counts = edges.offset[wave + 1] - edges.offset[wave]
        children = edges.child[ragged(edges.offset, wave)]
        begin = np.cumsum(counts) - counts
        value[wave] = 0.0 - np.add.reduceat(value[children], begin) / counts
        drift = np.add.reduceat(chooser[children], begin) / counts
        chooser[wave] = 0.0 - np.minimum.reduceat(drifter[children], begin)
        drifter[wave] = 0.0 - drift
    if done < len(value):
        nothing = np.full(len(value), np.nan)
        return nothing, nothing
    return value, 0.0 - drifter


def _upward(graph: GameGraph) -> Iterator[NDArray[np.int64]]:
    """Yield the states in play, each in a wave after those of all its children; none on a cycle."""
    outcome = graph.states.outcome
    open_children = graph.edges_by_move.counts.astype(np.int32)
    wave = np.flatnonzero(outcome != IN_PLAY)
    while wave.size:
        above = _parents(graph, wave)
        np.subtract.at(open_children, above, np.int32(1))
        wave = distinct(above[open_children[above] == 0])
        if wave.size:
            yield wave
