"""`GameGraph`, a networkx.DiGraph that keeps its nodes and edges in flat arrays.

networkx sees read-only mappings over the arrays. So all algorithms that only read a DiGraph work,
and a million states take megabytes.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Final

import networkx as nx
import numpy as np
from networkx.utils import backends
from numpy.typing import NDArray

from graphstore.errors import ArgumentError, shown
from graphstore.rules.game import DRAW, IN_PLAY, LOSS, WIN, Ints
from graphstore.rules.notebook import facts, or_none
from graphstore.solver import views
from graphstore.solver.adjacency import Arrays, Children, distinct_parents
from graphstore.solver.columns import (
    NONE,
    PLAIN,
    Backward,
    Edges,
    Rows,
    Shorts,
    Solution,
    States,
    kept_turns,
)
from graphstore.util.arrays import numbered
from graphstore.util.memory import machine_memory

STATE: Final = (
    *("id", "position", "ply", "to_move", "ended", "value", "remoteness", "score", "win_depth"),
    *("lose_depth", "orbit", "random_value", "winner", "best_response"),
    *("margin", "nimber"),
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
        kind: the columns that the solution has beside those of all games.
        margin: int16[n], the margins of ended states, 0 in play; None in a game without scores.
    """

    # Functions of networkx run on the arrays, if networkx has found the entry point of the package.
    __networkx_backend__ = "graphstore" if "graphstore" in backends.backends else "networkx"

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
        self.kind = PLAIN
        self.margin: Shorts | None = None
        self._solution: Solution | None = None
        self._node = views.Nodes(self)
        # A DiGraph's _succ is its _adj.
        self._adj = views.Neighbours(self, lambda: (self._arrays.children, self._edge_data[1]))
        self._pred = views.Neighbours(self, lambda: (self._arrays.parents, self._edge_data_above))
        self.__networkx_cache__ = None  # nothing is ever converted
        nx.freeze(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the arrays, without the mappings over them."""
        arguments = (self.name, self.states, self.edges_by_move, self.texts)
        state = {name: getattr(self, name) for name in ("kind", "margin", "solution")}
        return GameGraph, arguments, state

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)

    @property
    def solution(self) -> Solution | None:
        """See `graphstore.solve`."""
        return self._solution

    @solution.setter
    def solution(self, solution: Solution | None) -> None:
        """See `graphstore.solve`; the data of nodes change."""
        self._solution = solution
        self._node.forget()

    # The views of a DiGraph, on arrays.
    nodes = cached_property(views.NodeView)
    edges = cached_property(views.OutEdgeView)
    out_edges = cached_property(views.OutEdgeView)
    in_edges = cached_property(views.InEdgeView)
    degree = cached_property(views.DegreeView)
    in_degree = cached_property(views.InDegreeView)
    out_degree = cached_property(views.OutDegreeView)

    def size(self, weight: str | None = None) -> Any:
        """Return the number of distinct edges, as networkx counts them."""
        return super().size(weight) if weight else self.number_of_moves() - len(self.repeated[0])

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
            for name in ("margin", "nimber"):
                if columns[name] is None:
                    columns[name] = np.full(len(to_move), np.nan)
            won = [solution.value == WIN, solution.value == DRAW]
            columns["winner"] = np.select(won, [to_move, 0 * to_move], 3 - to_move)
        return {name: columns[name] for name in STATE if name in columns}

    def row(self, state: int) -> int:
        """Return the row of a state, by its id or, as in a dict, by any key that equals it.

        Raises:
            KeyError: the graph does not have the state.
            TypeError: the key is not hashable.
        """
        if self._rows:
            return self._rows[state]
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
    def repeated(self) -> tuple[Rows, Rows]:
        """The moves to the same child as another move: see `Edges.repeated`."""
        return self.edges_by_move.repeated()

    @cached_property
    def backward(self) -> Backward:
        """The edges as arrays, ordered by child."""
        return Backward.of(self.edges_by_move)

    @property
    def keeps(self) -> NDArray[np.bool_] | None:
        """bool[m]: True for each move that keeps the turn; None if none does.

        Such a move is worth ``value[child]`` to its player, and another ``-value[child]``.
        """
        turn, edges = self.states.to_move, self.edges_by_move
        if all(
            kept_turns(turn[edges.parents(begin, end)], turn[edges.child[moves]]) is None
            for begin, end, moves in edges.blocks()
        ):
            return None
        return kept_turns(turn[edges.parent], turn[edges.child])

    @cached_property
    def _arrays(self) -> Arrays:
        parents = distinct_parents(self.backward)
        return Arrays(self.states.id, self.row, self._children.links, parents)

    @cached_property
    def _children(self) -> Children:
        return Children.of(self.edges_by_move, self.backward)

    @cached_property
    def _edge_data(self) -> tuple[list[views.Data], NDArray[np.int32]]:
        """The different data of edges, and the number of those of each distinct edge, int32[e]."""
        move, children = self.edges_by_move.move, self._children
        single, number = numbered(move[children.first].astype(np.int64))
        moves = [(one,) for one in single.tolist()]
        several: dict[int, tuple[int, ...]] = dict.fromkeys(children.edge.tolist(), ())
        for edge, one in zip(children.edge.tolist(), move[children.more].tolist(), strict=True):
            several[edge] = (*(several[edge] or moves[number[edge]]), one)
        numbers: dict[tuple[int, ...], int] = dict(zip(moves, range(len(moves)), strict=True))
        for edge, those in several.items():
            number[edge] = numbers.setdefault(those, len(numbers))
        return [views.Data(moves=those) for those in numbers], number

    @cached_property
    def _edge_data_above(self) -> NDArray[np.int32]:
        """The number of the data of each distinct edge, ordered by child, then parent."""
        return self._edge_data[1][np.argsort(self._arrays.children.to, kind="stable")]

    @cached_property
    def keeps_data(self) -> bool:
        """True if the data of states and edges that networkx reads are kept; see `views.SHARE`."""
        need = len(self.states.id) * views.BYTES_A_STATE
        need += len(self.edges_by_move.move) * views.BYTES_AN_EDGE
        return need <= machine_memory() // views.SHARE

    @cached_property
    def _rows(self) -> dict[int, int]:
        """The row of every state of a graph that keeps data; empty for a larger one."""
        ids = self.states.id if self.keeps_data else self.states.id[:0]
        return dict(zip(ids.tolist(), range(len(ids)), strict=True))

    @cached_property
    def _id_view(self) -> memoryview:
        return self.states.id.data  # indexing it gives int, three times as fast as numpy

    @cached_property
    def _positions(self) -> list[str]:
        return self.texts(self.states.id)


def _accept_plain_graphs() -> None:
    """Let functions of several graphs take a GameGraph together with other graphs of networkx.

    networkx refuses to mix graphs of two backends unless a setting names the backend to use.
    """
    priority = nx.config.backend_priority
    for name, function in backends._registered_algorithms.items():
        if (len(function.graphs) > 1 or function.list_graphs) and name not in priority:
            usual = priority.generators if function._returns_graph else priority.algos
            priority[name] = [*usual, "graphstore"]


if GameGraph.__networkx_backend__ == "graphstore":
    _accept_plain_graphs()


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
