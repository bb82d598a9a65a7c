"""A solved graph as the columns of the tables state and edge, chunk by chunk."""

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np

from graphstore.game import IN_PLAY
from graphstore.graph import GameGraph
from graphstore.solution import NONE, Solution

CHUNK = 50_000  # rows a chunk: bounds the memory of whatever is done with it

Column: TypeAlias = Any
"""The cells of a column: a numpy array, masked where NULL, or a list of texts."""

Chunk: TypeAlias = tuple[int, int, dict[str, Column]]
"""Rows done with this chunk, rows in all, and the columns of the chunk by name."""


def state_parts(graph: GameGraph, solution: Solution) -> Iterator[Chunk]:
    """Yield (states done, all, columns of the next ones)."""
    states = graph.states
    total = len(states.id)

    def masked(column: Any, none: int) -> Column:
        return np.ma.masked_equal(column, none, copy=False)

    for begin in range(0, total, CHUNK):
        some = slice(begin, begin + CHUNK)
        ids = states.id[some]
        yield (
            min(begin + CHUNK, total),
            total,
            {
                "id": ids,
                "position": graph.texts(ids),
                "ply": states.ply[some],
                "to_move": masked(states.to_move[some], 0),
                "ended": (states.outcome[some] != IN_PLAY).astype(np.int8),
                "value": solution.value[some],
                "remoteness": masked(solution.remoteness[some], NONE),
                "score": solution.score[some],
                "win_depth": masked(solution.win_depth[some], NONE),
                "lose_depth": masked(solution.lose_depth[some], NONE),
                "orbit": states.orbit[some],
                "random_value": np.ma.masked_invalid(solution.random_value[some]),
                "best_response": np.ma.masked_invalid(solution.best_response[some]),
            },
        )


def edge_parts(graph: GameGraph) -> Iterator[Chunk]:
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
