"""`GameGraph`, a networkx.DiGraph that keeps its nodes and edges in flat arrays.

networkx sees read-only mappings over the arrays. So all algorithms that only read a DiGraph work,
and a million states take megabytes.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from graphstore.errors import ArgumentError, shown
from graphstore.rules.game import DRAW, IN_PLAY, LOSS, WIN, Ints
from graphstore.rules.notebook import facts, or_none
from graphstore.solver.columns import NONE, Backward, Edges, Solution, States

STATE: Final = (
    *("id", "position", "ply", "to_move", "ended", "value", "remoteness", "score", "win_depth"),
    *("lose_depth", "orbit", "random_value", "winner", "best_response"),
)
"""The columns of the table state, in their order in a database."""


class GameGraph(nx.DiGraph):  # type: ignore[misc]  # networkx has no types
    """All states of a game and the moves between them: a read-only networkx.DiGraph.

    The data of an edge is ``{"moves": (…)}``, all moves from a state to one child. The data of a
    node are the columns of the table ``state``; `graphstore.solve` adds the solved columns.

    Attributes:
        states: the nodes as arrays.
        edges_by_move: the edges as arrays, one row per move.
        texts: the function that returns the texts of ids.
        solution: the result of `graphstore.solve`, or None.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Return a plain DiGraph if there are no arguments: so networkx begins views and copies."""
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
        """Pickle the arrays, without the mappings over them."""
        arguments = (self.name, self.states, self.edges_by_move, self.texts)
        return GameGraph, arguments, {"solution": self.solution}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.solution = state["solution"]

    def size(self, weight: str | None = None) -> Any:
        """Return the number of distinct edges, as networkx counts them."""
        return super().size(weight) if weight else self.backward.distinct

    def number_of_moves(self) -> int:
        """Return the number of moves; parallel moves are counted separately."""
        return len(self.edges_by_move.move)

    def number_of_positions(self) -> int:
        """Return the number of positions that the states stand for: the sum of all orbits.

        Play may reach fewer of them if an image of a start is not a start.
        """
        return int(self.states.orbit.sum())

    def to_table(self, table: str = "state") -> dict[str, NDArray[Any]]:
        """Return the table ``state`` or ``edge`` of a database: a numpy array for each column.

        The dict makes a data frame of pandas or polars. Rows ascend by id, or by parent and move. A
        column that may be NULL is float64, with NaN for NULL, as in `Store.q_table`; `position` is
        an array of str. Columns of the solution are missing until `graphstore.solve` is called.

        Raises:
            ArgumentError: the graph has no such table.

        >>> from graphstore import explore, find_game
        >>> explore(find_game("tictactoe")).to_table("edge")["child"][:5]
        array([ 512, 1024,  512, 1024, 8192])
        """
        states, edges, solution = self.states, self.edges_by_move, self.solution
        if table == "edge":
            parent, child = states.id[edges.parent], states.id[edges.child]
            return {"parent": parent, "move": edges.move, "child": child}
        if table != "state":
            raise ArgumentError(f"table is {shown(table)}; it must be 'state' or 'edge'")
        to_move = _or_nan(states.to_move, 0)
        columns: dict[str, NDArray[Any]] = {
            **states._asdict(),
            "position": np.array(self._positions, dtype=object),
            "to_move": to_move,
            "ended": states.outcome != IN_PLAY,
        }
        if solution is not None:
            columns |= solution._asdict()
            for name in ("remoteness", "win_depth", "lose_depth"):
                columns[name] = _or_nan(columns[name], NONE)
            won = [solution.value == WIN, solution.value == DRAW]
            columns["winner"] = np.select(won, [to_move, 0 * to_move], 3 - to_move)
        return {name: columns[name] for name in STATE if name in columns}

    def row(self, state: int) -> int:
        """Return the row of a state, by its id or, as in a dict, by any key that equals it.

        Raises:
            KeyError: the graph does not have the state.
            TypeError: the key is not hashable.
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
        """The edges as arrays, ordered by child."""
        return Backward.of(self.edges_by_move)

    @cached_property
    def _id_view(self) -> memoryview:
        return self.states.id.data  # indexing it gives int, three times as fast as numpy

    @cached_property
    def _positions(self) -> list[str]:
        return self.texts(self.states.id)


def _or_nan(column: NDArray[Any], none: int) -> NDArray[np.float64]:
    """Return a column as float64, with NaN for the number that represents NULL."""
    return np.where(column == none, np.nan, column)


def _whole(key: Any) -> int:
    """Return a key of another type as an int, or raise a KeyError if it is not a number."""
    hash(key)
    try:
        return int(key)
    except (TypeError, ValueError, OverflowError):
        raise KeyError(key) from None


class _Data(dict[str, Any]):
    """The data of a node or an edge: a read-only dict; its copies are plain dicts."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = nx.classes.function.frozen
    clear = pop = popitem = setdefault = update = nx.classes.function.frozen

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (self.copy(),)


class _ByState(Mapping[int, Mapping[Any, Any]]):
    """A mapping with all states of a graph as keys."""

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
        """Return the data of an edge; edges with the same moves share one read-only object."""
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
    """The parents of a state; the data of an edge is looked up on demand."""

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
