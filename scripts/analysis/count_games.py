"""Count the different games that can be played, and the nodes of the full game tree.

All positions of a symmetry class have as many continuations as their state. So the script counts
paths along the moves of states; several moves between the same two states count separately.

games       different sequences of moves from a start to the end
won_by_1    how many of them player 1 wins; player 1 begins if the rules do not say who does
tied        how many end in a tie
tree_nodes  different sequences of moves from a start, the empty and unfinished ones included
"""

import networkx as nx
import numpy as np
from common import DATABASE_OR_NAME, Row, is_database, options, run_main

from graphstore import GameGraph, GraphstoreError, Store, explore, find_game, solve
from graphstore.cli.console import print_json
from graphstore.rules.game import IN_PLAY
from graphstore.util.arrays import ragged


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
    if not nx.is_directed_acyclic_graph(graph):
        raise GraphstoreError(
            f"play in {graph.name} can come back to a position: its games cannot be counted"
        )
    states, edges = graph.states, graph.edges_by_move
    assert graph.solution is not None
    # The number of ways to a state, by the player to move there: if the rules do not say whose turn
    # it is, both players can meet the same state. Counts may be greater than 2**63.
    ways = {player: np.zeros(len(graph), dtype=object) for player in (1, 2)}
    begins = np.where(states.to_move == 0, 1, states.to_move)
    for player, there in ways.items():
        there[(states.ply == 0) & (begins == player)] = 1
    for generation in nx.topological_generations(graph):
        rows = np.searchsorted(states.id, generation)
        moves = ragged(edges.offset, rows)
        parent = np.repeat(rows, edges.counts[rows])
        child = edges.child[moves]
        for player, there in ways.items():
            after = np.where(states.to_move[child] == 0, 3 - player, states.to_move[child])
            for mover in (1, 2):
                to = after == mover
                np.add.at(ways[mover], child[to], there[parent[to]])
    ended, value = states.outcome != IN_PLAY, graph.solution.value
    results = dict.fromkeys((1, 2, 0), 0)
    for player, there in ways.items():
        for one, winner in ((1, player), (0, 0), (-1, 3 - player)):
            results[winner] += int(there[ended & (value == one)].sum())
    return {
        "game": graph.name,
        "games": sum(results.values()),
        "won_by_1": results[1],
        "won_by_2": results[2],
        "tied": results[0],
        "tree_nodes": sum(int(there.sum()) for there in ways.values()),
    }


if __name__ == "__main__":
    run_main(main)
