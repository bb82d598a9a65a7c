"""Mappings and views through which networkx reads the arrays of a GameGraph."""

from collections.abc import Callable, ItemsView, Iterator, Mapping, ValuesView
from itertools import chain, pairwise, repeat
from typing import Any, Final

import networkx as nx
import numpy as np
from networkx.classes import reportviews
from numpy.typing import NDArray

from graphstore.rules.game import IN_PLAY
from graphstore.solver.adjacency import Links
from graphstore.solver.columns import NONE, Solution

BYTES_A_STATE, BYTES_AN_EDGE = 500, 260  # of the data that are kept, as measured
SHARE: Final = 10
"""A graph keeps the data that was read, for the next reading, as a DiGraph does, if in the end they
take at most this part of the machine's memory. A larger one makes them whenever they are read."""

ALONE: Final = 1000
"""After so many single readings a graph that keeps its data makes the rest of it at once."""

STEP: Final = 2**16  # rows or edges that become Python objects at once

NODE: Final = ("position", "ply", "to_move", "ended", "orbit")


class Data(dict[str, Any]):
    """The data of a node or an edge: a read-only dict; its copies are plain dicts."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = nx.classes.function.frozen
    clear = pop = popitem = setdefault = update = nx.classes.function.frozen

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (self.copy(),)

    def __deepcopy__(self, memo: object) -> dict[str, Any]:
        return self.copy()  # all values are immutable


class _Items(ItemsView[int, Any]):
    def __iter__(self) -> Iterator[tuple[int, Any]]:
        return self._mapping.pairs()  # type: ignore[attr-defined, no-any-return]


class _Values(ValuesView[Any]):
    def __iter__(self) -> Iterator[Any]:
        return (data for _, data in self._mapping.pairs())  # type: ignore[attr-defined]


class ByState(Mapping[int, Any]):
    """A read-only mapping with all states of a graph as keys.

    Subclasses make the data of one row, and of all rows in a span.
    """

    def __init__(self, graph: Any) -> None:  # a GameGraph, whose module imports this one
        self.graph = graph
        self.kept: dict[int, Any] = {}
        self.whole = False  # `kept` has all states, in their order

    def one(self, row: int) -> Any:
        """Return the data of a row."""
        raise NotImplementedError

    def some(self, span: slice) -> Iterator[Any]:
        """Return the data of consecutive rows."""
        raise NotImplementedError

    def forget(self) -> None:
        """Drop the data that were kept."""
        self.kept, self.whole = {}, False

    def pairs(self) -> Iterator[tuple[int, Any]]:
        """Return all states with their data."""
        if not self.whole:
            data = chain.from_iterable(map(self.some, spans(len(self))))
            if not self.graph.keeps_data:
                return zip(self, data, strict=True)
            self.kept, self.whole = dict(zip(self, data, strict=True)), True
        return iter(self.kept.items())

    def __len__(self) -> int:
        return len(self.graph.states.id)

    def __iter__(self) -> Iterator[int]:
        return iter(self.graph._rows or self.graph.states.id.tolist())

    def __contains__(self, state: object) -> bool:
        if self.graph._rows:
            return state in self.graph._rows
        try:
            self.graph.row(state)
        except KeyError:
            return False
        return True

    def __getitem__(self, state: int) -> Any:
        data = self.kept.get(state)
        if data is not None:
            return data
        row = self.graph.row(state)
        if not self.graph.keeps_data:
            return self.one(row)
        if len(self.kept) < ALONE:
            return self.kept.setdefault(state, self.one(row))
        self.pairs()
        return self.kept[state]

    def items(self) -> ItemsView[int, Any]:
        """Return a view of all states with their data."""
        return _Items(self)

    def values(self) -> ValuesView[Any]:
        """Return a view of the data of all states."""
        return _Values(self)


def spans(size: int) -> Iterator[slice]:
    """Yield consecutive slices that cover `size` entries."""
    return (slice(begin, min(begin + STEP, size)) for begin in range(0, size, STEP))


class Nodes(ByState):
    """The data of all states."""

    def names(self) -> tuple[str, ...]:
        """Return the names of the data of every node."""
        solution: Solution | None = self.graph.solution
        return NODE if solution is None else (*NODE, *solution.columns)

    def one(self, row: int) -> Data:
        """Return the data of a row."""
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
        return Data(data)

    def some(self, span: slice) -> Iterator[Data]:
        """Return the data of consecutive rows."""
        names = self.names()
        cells = zip(*(self.column(name, span) for name in names), strict=True)
        return map(Data, map(zip, repeat(names), cells))

    def column(self, name: str, span: slice = slice(None)) -> list[Any]:
        """Return one of `names` of consecutive rows, as Python values with None for no number."""
        if name == "position":
            positions: list[str] = self.graph._positions[span]
            return positions
        states = self.graph.states
        if name == "ended":
            return (states.outcome[span] != IN_PLAY).tolist()  # type: ignore[no-any-return]
        cells = getattr(states if name in NODE else self.graph.solution, name)[span]
        values: list[Any] = cells.tolist()
        if name == "to_move":
            none = cells == 0
        elif name in (*NODE, "value", "margin", "nimber"):
            return values
        else:
            none = cells == NONE if cells.dtype == np.int32 else np.isnan(cells)
        for row in np.flatnonzero(none).tolist():
            values[row] = None
        return values


class Neighbours(ByState):
    """The children or the parents of all states, with the data of the edges."""

    def __init__(self, graph: Any, links: Callable[[], tuple[Links, NDArray[np.int32]]]) -> None:
        super().__init__(graph)
        self.links = links  # returns the edges, and the number of the data of each

    def one(self, row: int) -> dict[int, Data]:
        """Return the data of the edges of a row, by neighbour."""
        (offset, to), numbers = self.links()
        edges = slice(offset[row], offset[row + 1])
        data = map(self.graph._edge_data[0].__getitem__, numbers[edges].tolist())
        return dict(zip(self.graph.states.id[to[edges]].tolist(), data, strict=True))

    def some(self, span: slice) -> Iterator[dict[int, Data]]:
        """Return the data of the edges of consecutive rows, by neighbour."""
        links, numbers = self.links()
        offset = links.offset[span.start : span.stop + 1].tolist()
        edges = slice(offset[0], offset[-1])
        ids = self.graph.states.id[links.to[edges]].tolist()
        data = list(map(self.graph._edge_data[0].__getitem__, numbers[edges].tolist()))
        begin = offset[0]
        for low, high in pairwise(offset):
            here = slice(low - begin, high - begin)
            yield dict(zip(ids[here], data[here], strict=True))

    def edges(self, data: Any, *, into: bool) -> Iterator[tuple[Any, ...]]:
        """Return all edges as tuples, with their data, a function of it, or without any.

        Args:
            data: None, or a list with the third member of the tuples, by number of the data.
            into: True if the neighbour comes first.
        """
        links, numbers = self.links()
        ids, rows = self.graph.states.id, links.rows

        def tuples(span: slice) -> Iterator[tuple[Any, ...]]:
            pair = ids[rows[span]].tolist(), ids[links.to[span]].tolist()
            if into:
                pair = pair[::-1]
            if data is None:
                return zip(*pair, strict=True)
            return zip(*pair, map(data.__getitem__, numbers[span].tolist()), strict=True)

        return chain.from_iterable(map(tuples, spans(len(rows))))


class NodeDataView(reportviews.NodeDataView):  # type: ignore[misc]
    """`graph.nodes(data=NAME)`, read from one column."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        name = self._data
        if not isinstance(name, str):
            return super().__iter__()  # type: ignore[no-any-return]
        if name not in self._nodes.names():
            return zip(self._nodes, repeat(self._default))
        return zip(self._nodes, self._nodes.column(name), strict=True)


class NodeView(reportviews.NodeView):  # type: ignore[misc]
    """`graph.nodes`."""

    __slots__ = ()

    def __call__(self, data: Any = False, default: Any = None) -> Any:
        """Return a view of the states with some of their data, or without any."""
        return self if data is False else NodeDataView(self._nodes, data, default)

    def data(self, data: Any = True, default: Any = None) -> Any:
        """Return a view of the states with some of their data."""
        return self(data, default)

    def items(self) -> ItemsView[int, Any]:
        """Return a view of all states with their data."""
        return self._nodes.items()  # type: ignore[no-any-return]

    def values(self) -> ValuesView[Any]:
        """Return a view of the data of all states."""
        return self._nodes.values()  # type: ignore[no-any-return]


class _EdgeData:
    """Iteration over `graph.edges(data=...)` and `graph.in_edges(data=...)` from arrays."""

    __slots__ = ()
    into = False

    def __len__(self) -> int:
        if self._nbunch is None:  # type: ignore[attr-defined]
            return len(self._viewer)  # type: ignore[attr-defined]
        return super().__len__()  # type: ignore[misc, no-any-return]

    def __iter__(self) -> Any:
        if self._nbunch is not None:  # type: ignore[attr-defined]
            return super().__iter__()  # type: ignore[misc]
        near, name, default = self._adjdict, self._data, self._default  # type: ignore[attr-defined]
        if name is False:
            return iter(self._viewer)  # type: ignore[attr-defined]
        data = near.graph._edge_data[0]
        if name is not True:
            data = [one.get(name, default) for one in data]
        return near.edges(data, into=self.into)


class _Edges:
    """Length and iteration of `graph.edges` and `graph.in_edges` from arrays."""

    __slots__ = ()

    def __len__(self) -> int:
        return self._adjdict.graph.size()  # type: ignore[attr-defined, no-any-return]

    def __iter__(self) -> Any:
        return self._adjdict.edges(None, into=self.dataview.into)  # type: ignore[attr-defined]


class OutEdgeDataView(_EdgeData, reportviews.OutEdgeDataView):  # type: ignore[misc]
    """`graph.edges(data=...)`."""

    __slots__ = ()


class InEdgeDataView(_EdgeData, reportviews.InEdgeDataView):  # type: ignore[misc]
    """`graph.in_edges(data=...)`."""

    __slots__ = ()
    into = True


class OutEdgeView(_Edges, reportviews.OutEdgeView):  # type: ignore[misc]
    """`graph.edges`."""

    __slots__ = ()
    dataview = OutEdgeDataView


class InEdgeView(_Edges, reportviews.InEdgeView):  # type: ignore[misc]
    """`graph.in_edges`."""

    __slots__ = ()
    dataview = InEdgeDataView


class _Degrees:
    """Degrees from arrays; every edge counts 1, except by its moves, which are not a number."""

    ways: tuple[str, ...]

    def __iter__(self) -> Any:
        if self._nodes is not self._succ or self._weight == "moves":  # type: ignore[attr-defined]
            return super().__iter__()  # type: ignore[misc]
        arrays = self._succ.graph._arrays  # type: ignore[attr-defined]
        degrees = sum(getattr(arrays, way).degrees for way in self.ways)
        return zip(self._succ, degrees.tolist(), strict=True)  # type: ignore[attr-defined]


class DegreeView(_Degrees, reportviews.DiDegreeView):  # type: ignore[misc]
    """`graph.degree`."""

    ways = ("children", "parents")


class InDegreeView(_Degrees, reportviews.InDegreeView):  # type: ignore[misc]
    """`graph.in_degree`."""

    ways = ("parents",)


class OutDegreeView(_Degrees, reportviews.OutDegreeView):  # type: ignore[misc]
    """`graph.out_degree`."""

    ways = ("children",)
