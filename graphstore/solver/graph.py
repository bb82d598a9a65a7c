"""`GameGraph`: a networkx.DiGraph whose nodes and edges live in flat arrays.

networkx sees read-only mappings over the arrays, so every algorithm that only reads a DiGraph runs
on it, and a million states cost megabytes.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

import networkx as nx
import numpy as np

from graphstore.rules.game import DRAW, IN_PLAY, LOSS, WIN, Ints
from graphstore.rules.notebook import facts, or_none
from graphstore.solver.columns import Backward, Edges, Solution, States


class GameGraph(nx.DiGraph):  # type: ignore[misc]  # networkx has no types
    """All states of a game and the moves between them: a read-only networkx.DiGraph.

    An edge's data is ``{"moves": (…)}``: all moves that lead from a state to one child. A node's
    data has the columns of the table ``state``; the solved ones once `graphstore.solve` was run.

    Attributes:
        states: the nodes as arrays.
        edges_by_move: the edges as arrays, one row a move.
        solution: what `graphstore.solve` found, or None.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Return a plain DiGraph where networkx, for a view or a copy, asks for an empty graph."""
        return super().__new__(cls) if args or kwargs else nx.DiGraph()

    def __init__(
        self, name: str, states: States, edges: Edges, texts: Callable[[Ints], list[str]]
    ) -> None:
        super().__init__(name=name)
        self.states = states
        self.edges_by_move = edges
        self.texts = texts
        self.solution: Solution | None = None
        self._node = _Nodes(self)
        self._adj = _Successors(self)  # a DiGraph's _succ is its _adj
        self._pred = _Predecessors(self)
        nx.freeze(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the arrays, not the views of them."""
        arguments = (self.name, self.states, self.edges_by_move, self.texts)
        return GameGraph, arguments, {"solution": self.solution}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.solution = state["solution"]

    def size(self, weight: str | None = None) -> Any:
        """Return the number of distinct edges, as networkx counts them."""
        return super().size(weight) if weight else self.backward.distinct

    def number_of_moves(self) -> int:
        """Return the number of moves: parallel ones each count."""
        return len(self.edges_by_move.move)

    def number_of_positions(self) -> int:
        """Return the number of positions: every state as often as it has images."""
        return int(self.states.orbit.sum())

    def row(self, state: int) -> int:
        """Return the row of a state; as in a dict, whatever equals its id will do.

        Raises:
            KeyError: the graph has no such state.
            TypeError: it is not hashable.
        """
        ids = self._id_view
        row = bisect_left(ids, state if isinstance(state, int) else _whole(state))
        if row < len(ids) and ids[row] == state:
            return row
        raise KeyError(state)

    @or_none
    def _repr_html_(self) -> str:
        counts: dict[str, Any] = {
            "states": len(self),
            "moves": self.number_of_moves(),
            "positions": self.number_of_positions(),
            "plies": int(self.states.ply.max()),
            "ended": int(np.count_nonzero(self.states.outcome != IN_PLAY)),
        }
        if self.solution is None:
            counts["solved"] = "no"
        else:
            values, numbers = np.unique(self.solution.value, return_counts=True)
            words = {WIN: "won", DRAW: "drawn", LOSS: "lost"}
            counts |= {words[v]: n for v, n in zip(values.tolist(), numbers.tolist(), strict=True)}
        return facts(self.name, counts)

    @cached_property
    def backward(self) -> Backward:
        """The edges by child."""
        return Backward.of(self.edges_by_move)

    @cached_property
    def _id_view(self) -> memoryview:
        return self.states.id.data  # indexing it gives int, three times as fast as numpy

    @cached_property
    def _positions(self) -> list[str]:
        return self.texts(self.states.id)


def _whole(key: Any) -> int:
    """Return the only int that a key of another type could equal."""
    hash(key)
    try:
        return int(key)
    except (TypeError, ValueError, OverflowError):
        raise KeyError(key) from None


class _Data(dict[str, Any]):
    """The data of a node or an edge: a dict to read, of which every copy is a plain dict."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = nx.classes.function.frozen
    clear = pop = popitem = setdefault = update = nx.classes.function.frozen

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (self.copy(),)


class _ByState(Mapping[int, Mapping[Any, Any]]):
    """What the mappings share whose keys are all states of a graph."""

    def __init__(self, graph: GameGraph) -> None:
        self.graph = graph

    def __len__(self) -> int:
        return len(self.graph.states.id)

    def __iter__(self) -> Iterator[int]:
        return iter(self.graph.states.id.tolist())

    def __contains__(self, state: object) -> bool:
        try:
            self.graph.row(state)  # type: ignore[arg-type]
        except KeyError:
            return False
        return True


class _Nodes(_ByState):
    def __getitem__(self, state: int) -> Mapping[str, Any]:
        row = self.graph.row(state)
        states, solution = self.graph.states, self.graph.solution
        data = {
            "position": self.graph._positions[row],
            "ply": int(states.ply[row]),
            "to_move": int(states.to_move[row]) or None,
            "ended": bool(states.outcome[row] != IN_PLAY),
            "orbit": int(states.orbit[row]),
        }
        if solution is not None:
            data |= solution.at(row)
        return _Data(data)


class _Successors(_ByState):
    def __init__(self, graph: GameGraph) -> None:
        super().__init__(graph)
        self.data: dict[tuple[int, ...], Mapping[str, Any]] = {}

    def edge(self, moves: tuple[int, ...]) -> Mapping[str, Any]:
        """Return an edge's data, one read-only object for all edges that are alike."""
        data = self.data.get(moves)
        if data is None:
            data = self.data[moves] = _Data(moves=moves)
        return data

    def __getitem__(self, state: int) -> Mapping[int, Mapping[str, Any]]:
        edges, row = self.graph.edges_by_move, self.graph.row(state)
        span = slice(edges.offset[row], edges.offset[row + 1])
        moves: dict[int, tuple[int, ...]] = {}
        children = self.graph.states.id[edges.child[span]].tolist()
        for child, move in zip(children, edges.move[span].tolist(), strict=True):
            moves[child] = (*moves.get(child, ()), move)
        return {child: self.edge(of) for child, of in moves.items()}


class _Predecessors(_ByState):
    def __getitem__(self, state: int) -> Mapping[int, Mapping[str, Any]]:
        backward, row = self.graph.backward, self.graph.row(state)
        parents = backward.parent[backward.offset[row] : backward.offset[row + 1]]
        ids = dict.fromkeys(self.graph.states.id[parents].tolist())
        return _Parents(self.graph, state, ids)


class _Parents(Mapping[int, Mapping[str, Any]]):
    """The parents of a state; an edge's data is looked up where asked for, which is seldom."""

    def __init__(self, graph: GameGraph, state: int, ids: Mapping[int, None]) -> None:
        self.graph = graph
        self.state = state
        self.ids = ids

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[int]:
        return iter(self.ids)

    def __contains__(self, parent: object) -> bool:
        return parent in self.ids

    def __getitem__(self, parent: int) -> Mapping[str, Any]:
        if parent in self.ids:
            return self.graph._adj[parent][self.state]
        raise KeyError(parent)
