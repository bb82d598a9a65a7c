"""How many different games can be played, and how many nodes the full game tree has.

The game is a built-in one's name, or the database of a solved one. Games are counted over the
moves of all positions: every position of a symmetry class has as many continuations as its
state, so the paths through the states' own moves, parallel ones each counted, are as many.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import NamedTuple

import networkx as nx

from graphstore import GameGraph, GraphstoreError, Store, explore, find_game, solve


class Count(NamedTuple):
    """How many games there are.

    Attributes:
        game: the name.
        games: different sequences of moves from a start to the end.
        won_by_1: how many of them player 1 wins; where the rules do not tell who begins, he does.
        won_by_2: likewise.
        tied: how many end in a tie.
        tree_nodes: different sequences of moves from a start, the empty one and unfinished ones
            included.
    """

    game: str
    games: int
    won_by_1: int
    won_by_2: int
    tied: int
    tree_nodes: int


def main() -> None:
    """Print the count of a game."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "game", help="a name such as tictactoe, or a database that graphstore built"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    try:
        count = count_games(solved_graph(arguments.game))
    except (GraphstoreError, nx.NetworkXUnfeasible) as error:
        sys.exit(f"count_games: {error}")
    if arguments.json:
        print(json.dumps(count._asdict()))
        return
    for name, value in count._asdict().items():
        print(f"{name:<12}{value if isinstance(value, str) else format(value, ','):>24}")


def solved_graph(game: str) -> GameGraph:
    """Return the solved graph of a database, or of the game of a name."""
    if Path(game).suffix == ".db" or Path(game).is_file():
        with Store.open(game) as store:
            return store.graph()
    graph = explore(find_game(game))
    solve(graph)
    return graph


def count_games(graph: GameGraph) -> Count:
    """Return how many ways lead from the starts to the ends of a solved graph.

    Raises:
        networkx.NetworkXUnfeasible: play can come back to a position, so there is no number.

    >>> count_games(solved_graph("tictactoe"))[1:5]
    (255168, 131184, 77904, 46080)
    """
    try:
        order = list(nx.topological_sort(graph))
    except nx.NetworkXUnfeasible:
        raise nx.NetworkXUnfeasible(
            f"{graph.name} can come back to a position: its games have no number"
        ) from None
    # Ways to a state, by the player to move there: where the rules do not tell whose turn it is,
    # one state can be met with either. A state's are forgotten once they are passed on.
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
    return Count(graph.name, sum(results.values()), results[1], results[2], results[0], nodes)


if __name__ == "__main__":
    main()
