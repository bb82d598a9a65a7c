"""A networkx backend: functions that run on the arrays of a GameGraph.

networkx calls the function of the same name here if it is given a GameGraph. What the arrays cannot
answer raises `NotOnArraysError`: then networkx's own function runs on the same graph. So do all
functions that this module does not have. Results, their order and errors are those of networkx.
"""

import functools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, pairwise, repeat
from typing import Any, Final, TypeVar

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from graphstore.solver.adjacency import NARROW, Arrays, Links
from graphstore.solver.backend_info import FUNCTIONS
from graphstore.solver.graph import GameGraph
from graphstore.util.arrays import first_of_runs

WORTH_SCIPY: Final = 20_000
"""Python finds the components of a smaller graph before scipy is imported, in half a second."""

F = TypeVar("F", bound=Callable[..., Any])


class NotOnArraysError(Exception):
    """The arrays cannot answer a call."""


# The interface of a backend.


def convert_from_nx(graph: Any, **_: Any) -> Any:
    """Return the graph itself: the functions read any networkx graph.

    networkx is about to keep the result, and would warn of it in the next call.
    """
    cache = getattr(graph, "__networkx_cache__", None) or {}
    cache.get("backends", {}).pop("graphstore", None)
    return graph


def convert_to_nx(graph: Any, **_: Any) -> Any:
    """Return the graph itself: a GameGraph is a networkx graph."""
    return graph


def can_run(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Return True for the functions here; if a GameGraph is given, for all functions."""
    return name in FUNCTIONS or _on_game_graph(args, kwargs)


def should_run(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool | str:
    """Return True if a GameGraph is given, or else the reason to run networkx's own function."""
    reason = "making arrays of another graph takes as long as networkx's own function"
    return _on_game_graph(args, kwargs) or reason


def _on_game_graph(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    given = chain(args, kwargs.values())
    graphs = chain.from_iterable(one if isinstance(one, list) else [one] for one in given)
    return any(isinstance(graph, GameGraph) for graph in graphs)


def __getattr__(name: str) -> Any:
    """Return networkx's own function for all that is not defined here."""
    if name in nx.utils.backends._registered_algorithms:
        return _own(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _own(name: str) -> Any:
    return nx.utils.backends._registered_algorithms[name].orig_func


def on_arrays(function: F) -> F:
    """Let networkx's own function answer what the arrays cannot."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except NotOnArraysError:
            return _own(function.__name__)(*args, **kwargs)

    return run  # type: ignore[return-value]


def arrays_of(graph: Any) -> Arrays:
    """Return the arrays of a GameGraph, or those made of another DiGraph with nodes."""
    if isinstance(graph, GameGraph):
        return graph._arrays
    if not graph or not graph.is_directed() or graph.is_multigraph():
        raise NotOnArraysError
    return Arrays.of_mappings(graph._succ, graph._pred)


def rows_of(arrays: Arrays, nodes: Any) -> list[int]:
    """Return the rows of some nodes of the graph."""
    try:
        return [arrays.row(node) for node in nodes]
    except (KeyError, TypeError):
        raise NotOnArraysError from None


def count_edges_as_one(graph: Any, weight: Any) -> None:
    """Raise a NotOnArraysError if an edge may have the weight, or the weight is a function."""
    if weight is None:
        return
    if not isinstance(weight, str) or weight == "moves":
        raise NotOnArraysError
    if not isinstance(graph, GameGraph) and any(
        weight in data for *_, data in graph.edges(data=True)
    ):
        raise NotOnArraysError


# Order and longest paths.


@on_arrays
def topological_generations(G: Any) -> Iterator[list[Any]]:
    """Yield the nodes whose parents have all come, wave by wave."""
    return _generations(arrays_of(G))


def _generations(arrays: Arrays) -> Iterator[list[Any]]:
    yield from map(arrays.nodes, arrays.generations)
    if not arrays.acyclic:
        raise nx.NetworkXUnfeasible("Graph contains a cycle or graph changed during iteration")


@on_arrays
def topological_sort(G: Any) -> Iterator[Any]:
    """Yield all nodes, parents before children."""
    return (node for generation in _generations(arrays_of(G)) for node in generation)


@on_arrays
def is_directed_acyclic_graph(G: Any) -> bool:
    """Return True if the graph has no cycle."""
    return arrays_of(G).acyclic


@on_arrays
def dag_longest_path(
    G: Any, weight: Any = "weight", default_weight: Any = 1, topo_order: Any = None
) -> list[Any]:
    """Return the nodes of a longest path."""
    arrays = _unweighted(G, weight, default_weight, topo_order)
    row = arrays.generations[-1][0]
    path = [row]
    for number in range(len(arrays.generations) - 2, -1, -1):
        parents = arrays.parents.of(np.array([row]))
        row = parents[np.argmax(arrays.generation[parents] == number)]  # the first
        path.append(row)
    return arrays.nodes(np.array(path[::-1]))


@on_arrays
def dag_longest_path_length(G: Any, weight: Any = "weight", default_weight: Any = 1) -> int:
    """Return the number of edges of a longest path."""
    return len(_unweighted(G, weight, default_weight).generations) - 1


def _unweighted(graph: Any, weight: Any, default: Any, order: Any = None) -> Arrays:
    if order is not None or default != 1:
        raise NotOnArraysError
    count_edges_as_one(graph, weight)
    return _acyclic(graph)


def _acyclic(graph: Any) -> Arrays:
    arrays = arrays_of(graph)
    if not arrays.acyclic:
        raise NotOnArraysError
    return arrays


@on_arrays
def transitive_reduction(G: Any) -> Any:
    """Return the graph of the edges that no longer path replaces, without data.

    An edge to the next generation is never replaced.
    """
    arrays = _acyclic(G)
    generation, links = arrays.generation, arrays.children
    if (generation[links.to] != generation[links.rows] + 1).any():
        raise NotOnArraysError
    nodes, to, offset = arrays.nodes(), arrays.nodes(links.to), links.offset.tolist()
    reduced = nx.DiGraph()
    reduced.add_nodes_from(nodes)
    for node, (begin, end) in zip(nodes, pairwise(offset), strict=True):
        reduced.add_edges_from(zip(repeat(node), set(to[begin:end])))  # the order of networkx
    return reduced


# Distances.


@on_arrays
def descendants(G: Any, source: Any) -> set[Any]:
    """Return all nodes that a path from the source leads to, without the source."""
    arrays = arrays_of(G)
    return _reached(arrays, arrays.children, source)


@on_arrays
def ancestors(G: Any, source: Any) -> set[Any]:
    """Return all nodes from which a path leads to the source, without the source."""
    arrays = arrays_of(G)
    return _reached(arrays, arrays.parents, source)


def _reached(arrays: Arrays, links: Links, source: Any) -> set[Any]:
    waves = [*links.reached(rows_of(arrays, [source]))]
    return set(arrays.nodes(np.concatenate(waves)[1:]))


@on_arrays
def single_source_shortest_path_length(
    G: Any, source: Any, cutoff: float | None = None
) -> dict[Any, int]:
    """Return the distances from the source."""
    arrays = arrays_of(G)
    return _distances(arrays, arrays.children, [source], _starts_below(cutoff))


@on_arrays
def single_target_shortest_path_length(
    G: Any, target: Any, cutoff: float | None = None
) -> dict[Any, int]:
    """Return the distances to the target."""
    arrays = arrays_of(G)
    return _distances(arrays, arrays.parents, [target], _starts_below(cutoff))


@on_arrays
def single_source_dijkstra_path_length(
    G: Any, source: Any, cutoff: float | None = None, weight: Any = "weight"
) -> dict[Any, int]:
    """Return the distances from the source."""
    return multi_source_dijkstra_path_length(G, {source}, cutoff=cutoff, weight=weight)


@on_arrays
def multi_source_dijkstra_path_length(
    G: Any, sources: Any, cutoff: float | None = None, weight: Any = "weight"
) -> dict[Any, int]:
    """Return the distances from the nearest source."""
    if not sources or not isinstance(sources, set | list | tuple):
        raise NotOnArraysError
    arrays = arrays_of(G)
    count_edges_as_one(G, weight)
    return _distances(
        arrays, arrays.children, sources, lambda far: cutoff is None or not far > cutoff
    )


def _starts_below(cutoff: float | None) -> Callable[[int], bool]:
    """Return networkx's rule: a wave begins while the distance reached is less than the cutoff."""
    return lambda far: cutoff is None or cutoff > far - 1


def _distances(
    arrays: Arrays, links: Links, sources: Any, within: Callable[[int], bool]
) -> dict[Any, int]:
    rows = rows_of(arrays, sources)
    if len(rows) != len(set(rows)):
        raise NotOnArraysError
    found: dict[Any, int] = dict.fromkeys(sources, 0)
    for far, wave in enumerate(links.reached(rows)):
        if far and not within(far):
            break
        found.update(zip(arrays.nodes(wave), repeat(far)))
    return found


# Components and dominators.


@on_arrays
def strongly_connected_components(G: Any) -> Iterator[set[Any]]:
    """Yield the sets of nodes between which paths lead both ways."""
    arrays = arrays_of(G)
    return _components(arrays, _numbered(arrays, "strong"))


@on_arrays
def weakly_connected_components(G: Any) -> Iterator[set[Any]]:
    """Yield the sets of nodes that edges connect, whatever their direction."""
    arrays = arrays_of(G)
    return _components(arrays, _numbered(arrays, "weak"))


def _numbered(arrays: Arrays, connection: str) -> NDArray[np.int32]:
    """Return the component of each row, numbered in the order in which networkx finds them."""
    if len(arrays) < WORTH_SCIPY and "scipy.sparse.csgraph" not in sys.modules:
        raise NotOnArraysError
    try:
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components
    except ImportError:
        raise NotOnArraysError from None

    def numbered(offset: Any, to: Any) -> NDArray[np.int32]:
        shape = len(offset) - 1, len(offset) - 1
        matrix = csr_array((np.ones(len(to)), to, offset), shape=shape)
        return connected_components(matrix, connection=connection)[1]  # type: ignore[no-any-return]

    offset, to = arrays.children
    _, first, second = numbered([0, 2, 2, 2], [1, 2]).tolist()
    if first > second:  # before scipy 1.18 the depth-first search takes the last child first
        ends = np.repeat(offset[:-1] + offset[1:] - 1, arrays.children.degrees)
        to = to[ends - np.arange(len(to))]
    return numbered(offset, to)


def _components(arrays: Arrays, number: NDArray[np.int32]) -> Iterator[set[Any]]:
    nodes = arrays.nodes(np.argsort(number, kind="stable"))
    ends = np.cumsum(np.bincount(number)).tolist()
    if len(ends) == len(nodes):
        return ({node} for node in nodes)
    return (set(nodes[begin:end]) for begin, end in pairwise((0, *ends)))


@on_arrays
def condensation(G: Any, scc: Any = None) -> Any:
    """Return the graph of the strongly connected components."""
    if scc is not None:
        raise NotOnArraysError
    arrays = arrays_of(G)
    number = _numbered(arrays, "strong")
    members = dict(enumerate(_components(arrays, number)))
    mapping = {node: one for one, nodes in members.items() for node in nodes}
    condensed = nx.DiGraph(mapping=mapping)
    condensed.add_nodes_from((one, {"members": nodes}) for one, nodes in members.items())
    one, other = number[arrays.children.rows], number[arrays.children.to]
    between = one != other
    condensed.add_edges_from(zip(one[between].tolist(), other[between].tolist(), strict=True))
    return condensed


@on_arrays
def immediate_dominators(G: Any, start: Any) -> dict[Any, Any]:
    """Return the last node, before each node, that lies on all paths from the start to it."""
    arrays = _acyclic(G)
    waves, parents = arrays.generations, arrays.parents
    if len(waves) > len(arrays) / NARROW:  # then Python is faster
        raise NotOnArraysError
    [begin] = rows_of(arrays, [start])
    above = np.full(len(arrays), -1)
    above[begin] = begin
    depth = np.zeros(len(arrays), dtype=np.int32)  # in the tree of dominators
    for wave in waves[arrays.generation[begin] + 1 :]:
        rows = np.repeat(wave, parents.degrees[wave])
        at = parents.of(wave).astype(np.int64)
        rows, at = rows[above[at] >= 0], at[above[at] >= 0]
        if not len(rows):
            continue
        first = np.flatnonzero(first_of_runs(rows))
        group = np.cumsum(first_of_runs(rows)) - 1
        while True:  # all parents of a row climb the tree until they meet
            climbs = depth[at] > np.minimum.reduceat(depth[at], first)[group]
            if not climbs.any():
                climbs = (np.minimum.reduceat(at, first) != np.maximum.reduceat(at, first))[group]
                if not climbs.any():
                    break
            at[climbs] = above[at[climbs]]
        above[rows[first]] = at[first]
        depth[rows[first]] = depth[at[first]] + 1
    reached = np.flatnonzero(depth)
    lone = nx.DiGraph()
    lone.add_node(start)
    found: dict[Any, Any] = _own("immediate_dominators")(lone, start)  # differs by version
    found.update(zip(arrays.nodes(reached), arrays.nodes(above[reached]), strict=True))
    return found


# Attributes, degrees and matrices.


@on_arrays
def get_node_attributes(G: Any, name: Any, default: Any = None) -> dict[Any, Any]:
    """Return one of the data of all nodes that have it."""
    if name in _game_graph(G, name)._node.names() or default is not None:
        return dict(G.nodes(data=name, default=default))
    return {}


@on_arrays
def get_edge_attributes(G: Any, name: Any, default: Any = None) -> dict[Any, Any]:
    """Return one of the data of all edges that have it."""
    edges = _game_graph(G, name).edges
    if name == "moves":
        return dict(zip(edges, (moves for *_, moves in edges(data=name)), strict=True))
    return {} if default is None else dict.fromkeys(edges, default)


def _game_graph(graph: Any, name: Any) -> Any:
    if not isinstance(graph, GameGraph) or not isinstance(name, str):
        raise NotOnArraysError
    return graph


@on_arrays
def degree_centrality(G: Any) -> dict[Any, float]:
    """Return the share of the other nodes that each node has an edge with."""
    arrays = arrays_of(G)
    return _shares(arrays, arrays.children.degrees + arrays.parents.degrees)


@on_arrays
def in_degree_centrality(G: Any) -> dict[Any, float]:
    """Return the share of the other nodes that are parents of each node."""
    arrays = arrays_of(G)
    return _shares(arrays, arrays.parents.degrees)


@on_arrays
def out_degree_centrality(G: Any) -> dict[Any, float]:
    """Return the share of the other nodes that are children of each node."""
    arrays = arrays_of(G)
    return _shares(arrays, arrays.children.degrees)


def _shares(arrays: Arrays, degrees: NDArray[np.int64]) -> dict[Any, float]:
    if len(arrays) < 2:
        raise NotOnArraysError
    shares = degrees * (1.0 / (len(arrays) - 1.0))
    return dict(zip(arrays.nodes(), shares.tolist(), strict=True))


@on_arrays
def to_scipy_sparse_array(
    G: Any, nodelist: Any = None, dtype: Any = None, weight: Any = "weight", format: str = "csr"
) -> Any:
    """Return the adjacency matrix."""
    arrays = arrays_of(G)
    links, size = arrays.children, len(arrays)
    count_edges_as_one(G, weight)
    if nodelist is not None and (type(nodelist) is not list or nodelist != arrays.nodes()):
        raise NotOnArraysError
    if not len(links.to):
        raise NotOnArraysError
    try:
        from scipy.sparse import coo_array

        cells = links.rows.astype(np.int64), links.to.astype(np.int64)  # as made from lists
        data = np.ones(len(links.to), dtype=np.int64)
        matrix = coo_array((data, cells), shape=(size, size), dtype=dtype)
        return matrix.asformat(format)
    except (ImportError, ValueError):
        raise NotOnArraysError from None


@on_arrays
def to_pandas_edgelist(
    G: Any,
    source: Any = "source",
    target: Any = "target",
    nodelist: Any = None,
    dtype: Any = None,
    edge_key: Any = None,
) -> Any:
    """Return a data frame of all edges."""
    graph = _game_graph(G, source)
    links, ids = graph._arrays.children, graph.states.id
    names = source, target, "moves"
    if nodelist is not None or len(set(names)) < len(names) or not len(links.to):
        raise NotOnArraysError
    try:
        from pandas import DataFrame
    except ImportError:
        raise NotOnArraysError from None
    data, number = graph._edge_data
    moves = np.empty(len(data), dtype=object)
    moves[:] = [one["moves"] for one in data]
    columns = ids[links.rows], ids[links.to], moves[number]
    return DataFrame(dict(zip(names, columns, strict=True)), dtype=dtype)
