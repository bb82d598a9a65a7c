"""Count the different games that can be played, and the nodes of the full game tree.

All positions of a symmetry class have as many continuations as their state. So the script counts
paths along the moves of states; several moves between the same two states count separately.

games       different sequences of moves from a start to the end
won_by_1    how many of them player 1 wins; player 1 begins if the rules do not say who does
tied        how many end in a tie
tree_nodes  different sequences of moves from a start, the empty and unfinished ones included
"""

import networkx as nx
from common import DATABASE_OR_NAME, Row, is_database, options, run_main

from graphstore import GameGraph, GraphstoreError, Store, explore, find_game, solve
from graphstore.cli.console import print_json


def main() -> None:
    """Print the count of a game."""
    arguments = options(__doc__, "game", DATABASE_OR_NAME).parse_args()
    count = count_games(solved_graph(arguments.game))
    if arguments.json:
        print_json(count)
        return
    for name, value in count.items():
        print(f"{name:<12}{value if isinstance(value, str) else format(value, ','):>24}")


def solved_graph(game: str) -> GameGraph:
    """Return the solved graph of a database, or of the game of a name."""
    if is_database(game):
        with Store.open(game) as store:
            return store.graph()
    graph = explore(find_game(game))
    solve(graph)
    return graph


def count_games(graph: GameGraph) -> Row:
    """Return the number of games of a solved graph, by result, and of the nodes of its tree.

    Raises:
        GraphstoreError: play can come back to a position, so there are endless games.

    >>> [*count_games(solved_graph("tictactoe")).values()]
    ['tictactoe', 255168, 131184, 77904, 46080, 549946]
    """
    try:
        order = list(nx.topological_sort(graph))
    except nx.NetworkXUnfeasible:
        raise GraphstoreError(
            f"play in {graph.name} can come back to a position: its games cannot be counted"
        ) from None
    # The number of ways to a state, by the player to move there: if the rules do not say whose turn
    # it is, both players can meet the same state. Numbers are dropped once its children have them.
    ways: dict[int, dict[int, int]] = {}
    results = {1: 0, 2: 0, 0: 0}
    nodes = 0
    for state in order:
        data, here = graph.nodes[state], ways.pop(state, {1: 0, 2: 0})
        if data["ply"] == 0:
            here[data["to_move"] or 1] += 1
        nodes += here[1] + here[2]
        if data["ended"]:
            for player, winner in ((1, (0, 1, 2)), (2, (0, 2, 1))):
                results[winner[data["value"]]] += here[player]
        for child, edge in graph[state].items():
            there = ways.setdefault(child, {1: 0, 2: 0})
            there[2] += here[1] * len(edge["moves"])
            there[1] += here[2] * len(edge["moves"])
    return {
        "game": graph.name,
        "games": sum(results.values()),
        "won_by_1": results[1],
        "won_by_2": results[2],
        "tied": results[0],
        "tree_nodes": nodes,
    }


if __name__ == "__main__":
    run_main(main)
