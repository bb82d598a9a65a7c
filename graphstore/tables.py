"""A solved graph as the columns of the tables state and edge, part by part."""

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np

from graphstore.game import IN_PLAY
from graphstore.graph import GameGraph, States
from graphstore.solution import NONE, Solution

CHUNK = 50_000  # rows a part: bounds the memory of whatever is done with it

Column: TypeAlias = Any
"""The cells of a column: a numpy array, masked where NULL, or a list of texts."""

Part: TypeAlias = tuple[int, int, dict[str, Column]]
"""Rows done with this part, rows in all, and the columns of the part by name."""


def state_parts(graph: GameGraph, solution: Solution) -> Iterator[Part]:
    """Yield (states done, all, columns of the next ones)."""
    total = len(graph.states.id)
    for begin in range(0, total, CHUNK):
        some = slice(begin, begin + CHUNK)
        states = graph.states.of(some)
        columns = state_columns(states, solution.of(some), graph.texts(states.id))
        yield min(begin + CHUNK, total), total, columns


def state_columns(states: States, solution: Solution, texts: list[str]) -> dict[str, Column]:
    """Return the columns of solved states, whose positions have these texts."""

    def masked(column: Any, none: int) -> Column:
        return np.ma.masked_equal(column, none, copy=False)

    return {
        "id": states.id,
        "position": texts,
        "ply": states.ply,
        "to_move": masked(states.to_move, 0),
        "ended": (states.outcome != IN_PLAY).astype(np.int8),
        "value": solution.value,
        "remoteness": masked(solution.remoteness, NONE),
        "score": solution.score,
        "win_depth": masked(solution.win_depth, NONE),
        "lose_depth": masked(solution.lose_depth, NONE),
        "orbit": states.orbit,
        "random_value": np.ma.masked_invalid(solution.random_value),
        "best_response": np.ma.masked_invalid(solution.best_response),
    }


def edge_parts(graph: GameGraph) -> Iterator[Part]:
    """Yield (edges done, all, columns of the next ones)."""
    ids, edges = graph.states.id, graph.edges_by_move
    parent, total = edges.parent, len(edges.move)
    for begin in range(0, total, CHUNK):
        some = slice(begin, begin + CHUNK)
        yield (
            min(begin + CHUNK, total),
            total,
            {
                "parent": ids[parent[some]],
                "move": edges.move[some],
                "child": ids[edges.child[some]],
            },
        )
