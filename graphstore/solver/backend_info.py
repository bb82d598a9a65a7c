"""The description of graphstore's backend that networkx reads whenever it is imported.

So this module imports nothing. `backend` has the functions.
"""

from typing import Any, Final

PATHS: Final = "Breadth-first waves in numpy. A weight other than `moves` counts 1 per edge."
ORDER: Final = "Waves in numpy, kept for the next call."
SCIPY: Final = "scipy's compiled routine; without scipy, networkx's own."

THROUGH: Final = "networkx's own function, which calls others of this list."

FUNCTIONS: Final = {
    "ancestors": PATHS,
    "condensation": SCIPY,
    "dag_longest_path": ORDER,
    "dag_longest_path_length": ORDER,
    "degree_centrality": "One array.",
    "descendants": PATHS,
    "get_edge_attributes": "One array.",
    "get_node_attributes": "One column.",
    "immediate_dominators": "Waves in numpy if the graph has no cycle.",
    "in_degree_centrality": "One array.",
    "is_directed_acyclic_graph": ORDER,
    "multi_source_dijkstra_path_length": PATHS,
    "out_degree_centrality": "One array.",
    "single_source_dijkstra_path_length": PATHS,
    "single_source_shortest_path_length": PATHS,
    "single_target_shortest_path_length": PATHS,
    "strongly_connected_components": SCIPY,
    "to_pandas_edgelist": "Arrays, if all edges are asked for.",
    "to_scipy_sparse_array": "Arrays, if all nodes are asked for in their order.",
    "topological_generations": ORDER,
    "topological_sort": ORDER,
    "transitive_reduction": "Arrays, if every edge leads one generation further.",
    "pagerank": THROUGH,
    "is_strongly_connected": THROUGH,
    "is_weakly_connected": THROUGH,
    "number_strongly_connected_components": THROUGH,
    "number_weakly_connected_components": THROUGH,
    "attracting_components": THROUGH,
    "dominance_frontiers": THROUGH,
    "all_pairs_shortest_path_length": THROUGH,
    "adjacency_matrix": THROUGH,
    "shortest_path_length": THROUGH,
    "weakly_connected_components": SCIPY,
}
"""The functions that run on arrays, with a note for their documentation."""


def get_info() -> dict[str, Any]:
    """Return the description of the backend, as networkx wants it."""
    return {
        "backend_name": "graphstore",
        "project": "graphstore",
        "package": "graphstore",
        "short_summary": "On the arrays of a GameGraph, if a GameGraph is given.",
        "functions": {name: {"additional_docs": note} for name, note in FUNCTIONS.items()},
    }
