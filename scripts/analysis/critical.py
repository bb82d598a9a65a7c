"""List the positions that play must go through: those that dominate others in the game's graph.

A state dominates another one if every way from the start to that one leads through it. In the graph
of all moves, `only_way_to` says how much of a game depends on one position. In the graph of perfect
play, the states that dominate every end are `forced`: every game without a mistake meets them. With
--play keeping, players make only moves that keep the value; with --play best, only best moves.

only_way_to  how many other states are reached through this one only
ends         how many of them are ended
forced       whether all games go through it

Betweenness would count shortest paths between any two states, and articulation points ignore the
direction of a move. Dominators follow games from the start forward. networkx computes them in
Python: 80,000 states take seconds, a million minutes.
"""

from typing import Any

import networkx as nx
from common import DATABASE, Row, add_limit, options, print_rows, run_main, worth

from graphstore import GameGraph, Store
from graphstore.cli.console import print_json
from graphstore.rules.game import IN_PLAY

BEST = "SELECT state, child FROM best_move"
PLAY = ("all", "keeping", "best")
ROOT, END = -1, -2  # before the starts and after the ends; ids of states are not negative


def main() -> None:
    """Print the critical states of a game."""
    parser = options(__doc__, "file", DATABASE)
    parser.add_argument("--play", choices=PLAY, default="all", help="default: %(default)s")
    add_limit(parser)
    arguments = parser.parse_args()
    with Store.open(arguments.file) as store:
        graph = store.graph()
        found, states = critical(graph, moves_of(store, graph, arguments.play))
    found = found[: arguments.limit]
    if arguments.json:
        print_json({"play": arguments.play, "states": states, "critical": found})
        return
    print(f"states reached by {arguments.play} moves: {states:,}\n")
    print_rows(found)


def moves_of(store: Store, graph: GameGraph, play: str) -> Any:
    """Return the moves of a kind of play as a networkx.DiGraph of the states that it reaches.

    ROOT leads to the starts, and the ended states lead to END.
    """
    if play == "best":
        edges = [(int(parent), int(child)) for parent, child in store.sql(BEST)]
    else:
        assert graph.solution is not None
        value, by_move, ids = graph.solution.value, graph.edges_by_move, graph.states.id
        parent, child = by_move.parent, by_move.child
        taken = (value[parent] == worth(graph, value)) | (play == "all")
        edges = [*zip(ids[parent[taken]].tolist(), ids[child[taken]].tolist(), strict=True)]
    moves = nx.DiGraph(edges)
    ply, ended = graph.states.ply, graph.states.outcome != IN_PLAY
    moves.add_edges_from((ROOT, start) for start in graph.states.id[ply == 0].tolist())
    moves.add_edges_from((end, END) for end in graph.states.id[ended].tolist())
    return nx.DiGraph(moves.subgraph(nx.descendants(moves, ROOT) | {ROOT}))


def critical(graph: GameGraph, moves: Any) -> tuple[list[Row], int]:
    """Return the states that dominate others, and the number of states that play reaches.

    Args:
        graph: solved.
        moves: the result of `moves_of` for this graph.

    Returns:
        The states, forced ones first in the order of play, then by `only_way_to`; the number.

    >>> import tempfile, graphstore
    >>> path = tempfile.mkdtemp() + "/nim.db"
    >>> graphstore.build("nim(1,1)", path).states
    3
    >>> with Store.open(path) as store:
    ...     graph = store.graph()
    ...     found, states = critical(graph, moves_of(store, graph, "all"))
    >>> [(each["position"], each["only_way_to"], each["forced"]) for each in found], states
    ([('1,1', 2, True), ('0,1', 1, True), ('0,0', 0, True)], 3)
    """
    above = nx.immediate_dominators(moves, ROOT)
    above.pop(ROOT, None)  # newer versions of networkx leave it out, or map it to None
    tree = nx.DiGraph((over, state) for state, over in above.items())
    states = [state for state in moves if state not in (ROOT, END)]
    ended = set(graph.states.id[graph.states.outcome != IN_PLAY].tolist())
    forced = nx.ancestors(tree, END) if END in tree else set()
    below, ends = dict.fromkeys(tree, 0), dict.fromkeys(tree, 0)
    for state in nx.dfs_postorder_nodes(tree, ROOT):
        for child in tree[state]:
            if child != END:
                below[state] += below[child] + 1
                ends[state] += ends[child] + (child in ended)
    ranked = sorted(
        (state for state in states if below[state] or state in forced),
        key=lambda state: (state not in forced, -below[state], state),
    )
    found = [
        {name: graph.nodes[state][name] for name in ("position", "ply", "to_move", "value")}
        | {"only_way_to": below[state], "ends": ends[state], "forced": state in forced}
        for state in ranked
    ]
    return found, len(states)


if __name__ == "__main__":
    run_main(main)
