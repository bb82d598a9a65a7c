"""Time calls of networkx on a GameGraph, on a DiGraph with the same content, and in other packages.

All times are milliseconds of CPU time. A call runs up to three times, and the best run counts;
`first` is the first run on the GameGraph, in which it makes what later runs keep. rustworkx and
igraph have functions of the same purpose, and are left out if they are not installed.
"""

import argparse
import gc
import sys
import time
from collections import deque
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import networkx as nx
from shared import Figures, machine, run_main

from graphstore import GameGraph, explore, find_game, solve
from graphstore.cli.console import print_json, print_table

RUNS = 3
Call = Callable[[Any], Any]


def drain(things: Any) -> None:
    """Iterate over all things."""
    deque(things, maxlen=0)


def calls(start: int, some: int, last: int) -> dict[str, Call]:
    """Return the calls, by name; the arguments are states early, in the middle and at the end."""
    return {
        # Reading.
        "list(G)": list,
        "n in G": lambda graph: drain(state in graph for state in graph),
        "nodes(data=True)": lambda graph: drain(graph.nodes(data=True)),
        "nodes(data='value')": lambda graph: drain(graph.nodes(data="value")),
        "nodes[n]": lambda graph: drain(graph.nodes[state] for state in graph),
        "edges": lambda graph: drain(graph.edges),
        "edges(data=True)": lambda graph: drain(graph.edges(data=True)),
        "edges(data='moves')": lambda graph: drain(graph.edges(data="moves")),
        "in_edges(data=True)": lambda graph: drain(graph.in_edges(data=True)),
        "adjacency": lambda graph: drain(graph.adjacency()),
        "adj": lambda graph: drain(graph.adj.items()),
        "successors": lambda graph: drain(map(list, map(graph.successors, graph))),
        "predecessors": lambda graph: drain(map(list, map(graph.predecessors, graph))),
        "has_edge": lambda graph: drain(graph.has_edge(state, last) for state in graph),
        "degree": lambda graph: drain(graph.degree),
        "degree[n]": lambda graph: drain(graph.degree[state] for state in graph),
        "in_degree": lambda graph: drain(graph.in_degree),
        "out_degree": lambda graph: drain(graph.out_degree),
        "size": lambda graph: graph.size(),
        "get_node_attributes": lambda graph: nx.get_node_attributes(graph, "value"),
        "get_edge_attributes": lambda graph: nx.get_edge_attributes(graph, "moves"),
        # On arrays.
        "topological_sort": lambda graph: drain(nx.topological_sort(graph)),
        "topological_generations": lambda graph: drain(nx.topological_generations(graph)),
        "is_directed_acyclic_graph": nx.is_directed_acyclic_graph,
        "dag_longest_path": nx.dag_longest_path,
        "dag_longest_path_length": nx.dag_longest_path_length,
        "ancestors": lambda graph: nx.ancestors(graph, last),
        "descendants": lambda graph: nx.descendants(graph, start),
        "single_source_shortest_path_length": lambda graph: nx.single_source_shortest_path_length(
            graph, start
        ),
        "single_target_shortest_path_length": lambda graph: nx.single_target_shortest_path_length(
            graph, last
        ),
        "multi_source_dijkstra_path_length": lambda graph: nx.multi_source_dijkstra_path_length(
            graph, {start, some}
        ),
        "strongly_connected_components": lambda graph: drain(
            nx.strongly_connected_components(graph)
        ),
        "weakly_connected_components": lambda graph: drain(nx.weakly_connected_components(graph)),
        "condensation": nx.condensation,
        "immediate_dominators": lambda graph: nx.immediate_dominators(graph, start),
        "pagerank": nx.pagerank,
        "degree_centrality": nx.degree_centrality,
        "degree_histogram": nx.degree_histogram,
        "to_scipy_sparse_array": nx.to_scipy_sparse_array,
        "to_pandas_edgelist": nx.to_pandas_edgelist,
        # networkx's own functions.
        "dfs_preorder_nodes": lambda graph: drain(nx.dfs_preorder_nodes(graph, start)),
        "bfs_edges": lambda graph: drain(nx.bfs_edges(graph, start)),
        "single_source_shortest_path": lambda graph: nx.single_source_shortest_path(graph, start),
        "dijkstra with a function": lambda graph: nx.single_source_dijkstra_path_length(
            graph, start, weight=lambda _parent, _child, data: len(data["moves"])
        ),
        "lexicographical_topological_sort": lambda graph: drain(
            nx.lexicographical_topological_sort(graph)
        ),
        "betweenness_centrality(k=1)": lambda graph: nx.betweenness_centrality(graph, k=1, seed=1),
        "core_number": nx.core_number,
        "node_link_data": lambda graph: nx.node_link_data(graph, edges="edges"),
        "adjacency_data": nx.adjacency_data,
        "to_dict_of_dicts": nx.to_dict_of_dicts,
        # Copies.
        "copy": lambda graph: graph.copy(),
        "DiGraph(G)": nx.DiGraph,
        "reverse": lambda graph: graph.reverse(),
        "to_undirected": lambda graph: graph.to_undirected(),
        "copy of a subgraph": lambda graph: graph.subgraph(list(graph)[::2]).copy(),
        "convert_node_labels_to_integers": nx.convert_node_labels_to_integers,
    }


def in_rustworkx(graph: GameGraph, start: int, last: int) -> tuple[Any, dict[str, Call]]:
    """Return the graph in rustworkx, and its functions by the name of networkx's."""
    import rustworkx as rx  # type: ignore[import-not-found, import-untyped, unused-ignore]

    edges = graph._arrays.children
    other = rx.PyDiGraph()
    other.add_nodes_from(list(graph))
    other.add_edges_from_no_data(list(zip(edges.rows.tolist(), edges.to.tolist(), strict=True)))
    first, end = graph.row(start), graph.row(last)
    return other, {
        "degree": lambda graph: [
            graph.in_degree(n) + graph.out_degree(n) for n in range(len(graph))
        ],
        "topological_sort": rx.topological_sort,
        "topological_generations": lambda graph: list(rx.topological_generations(graph)),
        "is_directed_acyclic_graph": rx.is_directed_acyclic_graph,
        "dag_longest_path": rx.dag_longest_path,
        "dag_longest_path_length": rx.dag_longest_path_length,
        "ancestors": lambda graph: rx.ancestors(graph, end),
        "descendants": lambda graph: rx.descendants(graph, first),
        "single_source_shortest_path_length": lambda graph: dict(
            rx.dijkstra_shortest_path_lengths(graph, first, lambda _: 1.0)
        ),
        "strongly_connected_components": rx.strongly_connected_components,
        "weakly_connected_components": rx.weakly_connected_components,
        "immediate_dominators": lambda graph: rx.immediate_dominators(graph, first),
        "pagerank": lambda graph: dict(rx.pagerank(graph)),
        "degree_centrality": lambda graph: dict(rx.degree_centrality(graph)),
        "condensation": rx.condensation,
    }


def in_igraph(graph: GameGraph, start: int, last: int) -> tuple[Any, dict[str, Call]]:
    """Return the graph in igraph, and its functions by the name of networkx's."""
    import igraph  # type: ignore[import-not-found, import-untyped, unused-ignore]

    edges = graph._arrays.children
    pairs = list(zip(edges.rows.tolist(), edges.to.tolist(), strict=True))
    first, end = graph.row(start), graph.row(last)
    return igraph.Graph(n=len(graph), edges=pairs, directed=True), {
        "degree": lambda graph: graph.degree(),
        "topological_sort": lambda graph: graph.topological_sorting(),
        "is_directed_acyclic_graph": lambda graph: graph.is_dag(),
        "ancestors": lambda graph: graph.subcomponent(end, mode="in"),
        "descendants": lambda graph: graph.subcomponent(first, mode="out"),
        "single_source_shortest_path_length": lambda graph: graph.distances(first)[0],
        "strongly_connected_components": lambda graph: list(graph.connected_components("strong")),
        "weakly_connected_components": lambda graph: list(graph.connected_components("weak")),
        "immediate_dominators": lambda graph: graph.dominator(first),
        "pagerank": lambda graph: graph.pagerank(),
    }


PEERS = {"rustworkx": in_rustworkx, "igraph": in_igraph}


def seconds(call: Call, graph: Any) -> tuple[float, float]:
    """Return the seconds of CPU time of the first run and of the best run."""
    times: list[float] = []
    gc.collect()
    gc.disable()  # its time depends on all objects of the process
    try:
        while len(times) < RUNS and sum(times) < 2:
            begin = time.process_time()
            found = call(graph)
            times.append(time.process_time() - begin)
            del found
    finally:
        gc.enable()
    return times[0], min(times)


def compare(game: str, *, without_plain: bool) -> list[Figures]:
    """Return the milliseconds of every call."""
    graph = explore(find_game(game))
    solve(graph)
    plies = graph.states.ply
    start, some, last = (
        int(graph.states.id[(plies == ply).argmax()]) for ply in (0, plies.max() // 2, plies.max())
    )
    plain = None if without_plain else nx.DiGraph(graph)
    peers = {
        name: make(graph, start, last)
        for name, make in PEERS.items()
        if find_spec(name) is not None
    }
    rows = []
    for name, call in calls(start, some, last).items():
        print(name, file=sys.stderr)
        row: Figures = {"call": name}
        if plain is not None:
            row["DiGraph"] = seconds(call, plain)[1]
        row["first"], row["GameGraph"] = seconds(call, graph)
        for peer, (other, functions) in peers.items():
            if name in functions:
                row[peer] = seconds(functions[name], other)[1]
        if plain is not None:
            row["times faster"] = row["DiGraph"] / row["GameGraph"]
        rows.append({key: one if key == "call" else _rounded(key, one) for key, one in row.items()})
    return rows


def _rounded(key: str, number: float) -> float:
    return round(number, 2) if key == "times faster" else round(number * 1000, 3)


def main() -> None:
    """Measure, and print the milliseconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("game", nargs="?", default="connect(4,4)", help="default: connect(4,4)")
    parser.add_argument("--without-plain", action="store_true", help="leave out the DiGraph")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    rows = compare(arguments.game, without_plain=arguments.without_plain)
    if arguments.json:
        print_json({"machine": machine(), "game": arguments.game, "calls": rows})
        return
    head = ("call", "DiGraph", "first", "GameGraph", "times faster", *PEERS)
    print_table(head, [[row.get(name) for name in head] for row in rows])


if __name__ == "__main__":
    run_main(main)
