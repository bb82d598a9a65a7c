"""Which positions must play go through: those that dominate others, in the graph of a game.

A state dominates another if every way from the start to it leads through the first: without it the
other could not be reached. In the graph of all moves this says how much of a game hangs on one
position, `only_way_to`. In the graph of perfect play, in which nobody ever gives away value (--play
keeping), or in which everybody plays one of the best moves (--play best), the states that dominate
every end are `forced`: no game without a mistake avoids them.

Betweenness would count shortest paths between any two states, articulation points forget which way
a move leads; games begin at the start and go forward, and that is what dominators follow. Computed
by networkx, in Python: 80,000 states take seconds, a million minutes.
"""

import argparse
import os
import sys
from typing import Any, NamedTuple

import networkx as nx

from graphstore import GameGraph, GraphstoreError, Store
from graphstore.cli.console import print_json, print_table
from graphstore.rules.game import IN_PLAY

BEST = "SELECT state, child FROM best_move"
PLAY = ("all", "keeping", "best")
ROOT, END = -1, -2  # before the starts and after the ends; no state's id is negative


class Critical(NamedTuple):
    """A state that dominates others.

    Attributes:
        position: its text.
        ply: the fewest moves from a start.
        to_move: 1 or 2, None where the rules do not tell.
        value: for the player to move.
        only_way_to: how many states are reached through this one only, itself not counted.
        ends: how many of them are ended.
        forced: whether all games go through it.
    """

    position: str
    ply: int
    to_move: int | None
    value: int
    only_way_to: int
    ends: int
    forced: bool


def main() -> None:
    """Print the critical states of a game."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", help="a database that graphstore built")
    parser.add_argument("--play", choices=PLAY, default="all", help="default: %(default)s")
    parser.add_argument("--limit", type=int, default=10, help="how many, default: %(default)s")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    if arguments.limit < 0:
        parser.error("--limit must not be negative")
    try:
        with Store.open(arguments.file) as store:
            graph = store.graph()
            found, states = critical(graph, moves_of(store, graph, arguments.play))
        found = found[: arguments.limit]
        if arguments.json:
            rows = [each._asdict() for each in found]
            print_json({"play": arguments.play, "states": states, "critical": rows})
            return
        print(f"states that play by {arguments.play} moves comes to: {states:,}\n")
        print_table(Critical._fields, [[*each[:-1], int(each.forced)] for each in found])
    except GraphstoreError as error:
        sys.exit(f"critical: {error}")


def moves_of(store: Store, graph: GameGraph, play: str) -> Any:
    """Return the moves of a kind of play as a networkx.DiGraph of the states it can come to.

    ROOT leads to the starts, and the ended states to END.
    """
    if play == "best":
        edges = [(int(parent), int(child)) for parent, child in store.sql(BEST)]
    else:
        assert graph.solution is not None
        value, by_move, ids = graph.solution.value, graph.edges_by_move, graph.states.id
        parent, child = by_move.parent, by_move.child
        taken = (value[parent] == -value[child]) | (play == "all")
        edges = [*zip(ids[parent[taken]].tolist(), ids[child[taken]].tolist(), strict=True)]
    moves = nx.DiGraph(edges)
    ply, ended = graph.states.ply, graph.states.outcome != IN_PLAY
    moves.add_edges_from((ROOT, start) for start in graph.states.id[ply == 0].tolist())
    moves.add_edges_from((end, END) for end in graph.states.id[ended].tolist())
    return nx.DiGraph(moves.subgraph(nx.descendants(moves, ROOT) | {ROOT}))


def critical(graph: GameGraph, moves: Any) -> tuple[list[Critical], int]:
    """Return the states that dominate others, and how many states there are.

    Args:
        graph: solved.
        moves: what `moves_of` makes of it.

    Returns:
        Forced states first, in the order of play, then the others by `only_way_to`; and the number
        of states that play can come to.

    >>> import tempfile, graphstore
    >>> path = tempfile.mkdtemp() + "/nim.db"
    >>> graphstore.build("nim(1,1)", path).states
    3
    >>> with Store.open(path) as store:
    ...     graph = store.graph()
    ...     found, states = critical(graph, moves_of(store, graph, "all"))
    >>> [(each.position, each.only_way_to, each.forced) for each in found], states
    ([('1,1', 2, True), ('0,1', 1, True), ('0,0', 0, True)], 3)
    """
    above = nx.immediate_dominators(moves, ROOT)
    above.pop(ROOT, None)  # which newer versions of networkx leave out, or map to None
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
    found = []
    for state in ranked:
        data = graph.nodes[state]
        told = (data["position"], data["ply"], data["to_move"], data["value"])
        found.append(Critical(*told, below[state], ends[state], state in forced))
    return found, len(states)


if __name__ == "__main__":
    try:
        main()
    except (BrokenPipeError, KeyboardInterrupt):  # `head` has seen enough, or a person has
        os._exit(1)
