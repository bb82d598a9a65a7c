"""A solved graph as flat lists, fast enough for tens of thousands of games per second.

Games are played on states, not positions: an *edge* leads from a state to one child and stands for
all moves to that child. Perfect, random and learning players draw an edge by its weight.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from graphstore.rules.game import LOSS
from graphstore.solver.columns import Solution, kept_turns
from graphstore.util.arrays import first_of_runs

if TYPE_CHECKING:
    from graphstore.solver.graph import GameGraph  # imports networkx

Choose: TypeAlias = Callable[[int], int]  # from a state's row to the edge to follow, or `RESIGN`
RESIGN = -1


class Arena(NamedTuple):
    """The n states and e edges of a game, by row; in lists where Python reads single items."""

    state: NDArray[np.int64]  # [n], the ids, ascending
    outcome: list[int]  # n codes, as `graphstore.rules.game.Game.outcomes` gives them
    first: list[int]  # n + 1; the edges of the state in row r are first[r]:first[r + 1]
    child: list[int]  # e, rows of states
    parent: NDArray[np.int32]  # [e], rows of states
    move: NDArray[np.int32]  # [e], the lowest move of each edge
    moves: NDArray[np.int64]  # [e], the number of moves that the edge stands for
    best: NDArray[np.bool_]  # [e], True if it is one of the best edges of its state
    keeps: list[bool]  # e, True if it keeps the value of its state
    to_move: NDArray[np.int8]  # [n], 1 or 2; 0 if the rules do not say
    ply: NDArray[np.int32]  # [n]
    starts: list[int]  # rows of the starts

    @classmethod
    def of(cls, graph: "GameGraph") -> "Arena":
        """Return the arena of a solved graph."""
        assert graph.solution is not None
        parent, child = graph.edges_by_move.parent, graph.edges_by_move.child
        order = np.lexsort((graph.edges_by_move.move, child, parent))
        parent, child = parent[order], child[order]
        begins = np.flatnonzero(first_of_runs(parent) | first_of_runs(child))
        parent, child = parent[begins], child[begins]
        first = np.searchsorted(parent, np.arange(len(graph.states.id) + 1))
        kept = kept_turns(graph.states.to_move[parent], graph.states.to_move[child])
        to = graph.solution.of(child)
        if kept is not None:  # then for the opponent of the player who moves
            to = to._replace(
                value=np.where(kept, -to.value, to.value),
                score=np.where(kept, 0.0 - to.score, to.score),
                win_depth=np.where(kept, to.lose_depth, to.win_depth),
                lose_depth=np.where(kept, to.win_depth, to.lose_depth),
            )
        return cls(
            graph.states.id,
            graph.states.outcome.tolist(),
            first.tolist(),
            child.tolist(),
            parent,
            graph.edges_by_move.move[order][begins],
            np.diff(np.append(begins, len(order))),
            _best(to, parent),
            (-to.value == graph.solution.value[parent]).tolist(),
            graph.states.to_move,
            graph.states.ply,
            np.flatnonzero(graph.states.ply == 0).tolist(),
        )

    def total(self, weights: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sum of the weights of the edges of each state, int64[n]."""
        return np.bincount(self.parent, weights, minlength=len(self.state)).astype(np.int64)

    def edge(self, parent: int, child: int) -> int:
        """Return the edge between the states in two rows."""
        return self.child.index(child, self.first[parent], self.first[parent + 1])

    def begins(self, start: int) -> int:
        """Return the player who moves first from the state in a row; 1 if the rules do not say."""
        return int(self.to_move[start]) or 1


def _best(to: Solution, parent: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return bool[e], True for the best edges of each parent; `parent` must ascend.

    `to` has the columns of the child of each edge, for the opponent of the player who moves.
    """
    depth = np.where(to.value == LOSS, to.win_depth, -to.lose_depth)
    keys = (depth * np.abs(to.value), -to.value * to.remoteness, -to.score, parent)
    order = np.lexsort(keys)
    head = np.flatnonzero(first_of_runs(parent))
    leader = np.repeat(order[head], np.diff(np.append(head, len(order))))
    return np.asarray(np.all([key == key[leader] for key in keys], axis=0))


def weighted(arena: Arena, weights: NDArray[np.int64], random: Callable[[], float]) -> Choose:
    """Return a player that draws an edge by its weight; if all are 0, by its number of moves."""
    none = (arena.total(weights) == 0)[arena.parent]
    weights = np.where(none, arena.moves, weights)
    drawn, totals, first = weights.tolist(), arena.total(weights).tolist(), arena.first

    def choose(row: int) -> int:
        edge = first[row]
        left = int(random() * totals[row]) - drawn[edge]
        while left >= 0:
            edge += 1
            left -= drawn[edge]
        return edge

    return choose


def perfect(arena: Arena, random: Callable[[], float]) -> Choose:
    """Return a player that plays each of the equally best moves with the same probability."""
    return weighted(arena, np.where(arena.best, arena.moves, 0), random)


def at_random(arena: Arena, random: Callable[[], float]) -> Choose:
    """Return a player that plays each legal move with the same probability."""
    return weighted(arena, arena.moves, random)


def mistaken(arena: Arena, share: float, random: Callable[[], float]) -> Choose:
    """Return a player that plays a move outside the best with probability `share`, if any."""
    right = perfect(arena, random)
    wrong = weighted(arena, np.where(arena.best, 0, arena.moves), random)

    def choose(row: int) -> int:
        return wrong(row) if random() < share else right(row)

    return choose
