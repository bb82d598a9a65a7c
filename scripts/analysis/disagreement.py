"""List the positions where random play and best play disagree most.

A position has a value if both players play their best, and a mean result if both play at random.
The gap between the two is the error of judging a position by random games. The script lists the
positions in play with the largest gaps; with --wrong, only those where random play misleads.

value         for the player to move, if both play their best
random_value  the mean result for the same player, if both play at random
gap           the difference of the two, 0 to 2
best          the moves that keep the value
random        the moves that are best if both then play at random
response      the moves that are best if then only the opponent plays at random
costs         the value that even the best of `random` gives away: 1 from win to draw or from draw
              to loss, 2 from win to loss
"""

import numpy as np
from common import DATABASE, Row, add_limit, options, print_rows, run_main
from numpy.typing import NDArray

from graphstore import GameGraph, GraphstoreError, Store
from graphstore.cli.console import print_json

CLOSE = 1e-9  # equal sums can differ in the last bits


def main() -> None:
    """Print the largest disagreements of a game."""
    parser = options(__doc__, "file", DATABASE)
    parser.add_argument("--wrong", action="store_true", help="only where random play misleads")
    add_limit(parser)
    arguments = parser.parse_args()
    with Store.open(arguments.file) as store:
        if store.info["cyclic"]:
            raise GraphstoreError(
                f"play in {store.info['name']} can come back to a position, so random play has no "
                "mean result"
            )
        found, misled, in_play = disagreements(
            store.graph(), wrong=arguments.wrong, limit=arguments.limit
        )
    if arguments.json:
        print_json({"misled": misled, "in_play": in_play, "positions": found})
        return
    print_rows(found)
    print(
        f"\nin {misled:,} of {in_play:,} states in play, the moves that random play prefers "
        "all give value away"
    )


def disagreements(
    graph: GameGraph, *, wrong: bool = False, limit: int
) -> tuple[list[Row], int, int]:
    """Return the largest disagreements, and the numbers of misleading states and states in play.

    >>> from graphstore import explore, find_game, solve
    >>> graph = explore(find_game("tictactoe"))
    >>> _ = solve(graph)
    >>> (first, *_), misled, in_play = disagreements(graph, wrong=True, limit=1)
    >>> misled, in_play
    (10, 627)
    """
    assert graph.solution is not None
    solution, edges = graph.solution, graph.edges_by_move
    if graph.keeps is not None:
        raise GraphstoreError(
            f"{graph.name}: moves keep the turn, and their best response is not stored; ask the "
            "view q_table for the others"
        )
    parents = np.flatnonzero(edges.counts)
    kinds = {
        "best": _most(-solution.value[edges.child].astype(float), edges.offset),
        "random": _most(-solution.random_value[edges.child], edges.offset),
        "response": _most(solution.best_response[edges.child], edges.offset),
    }
    spoils = solution.value[edges.parent] + solution.value[edges.child]  # 0 if it is kept
    costs = np.zeros(len(solution.value), dtype=np.int64)
    costs[parents] = np.minimum.reduceat(
        np.where(kinds["random"], spoils, 2), edges.offset[parents]
    )
    gap = np.abs(solution.value - solution.random_value)
    rows = parents[costs[parents] > 0] if wrong else parents
    rows = rows[np.lexsort((rows, -costs[rows], -gap[rows].round(9)))][:limit]
    found = []
    for row in rows:
        data = graph.nodes[int(graph.states.id[row])]
        span = slice(edges.offset[row], edges.offset[row + 1])
        moves = {kind: edges.move[span][taken[span]].tolist() for kind, taken in kinds.items()}
        about = {name: data[name] for name in ("position", "ply", "value", "random_value")}
        found.append(about | {"gap": float(gap[row])} | moves | {"costs": int(costs[row])})
    return found, int((costs > 0).sum()), len(parents)


def _most(worth: NDArray[np.float64], offset: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return bool[m]: True for each move with the highest worth of its state."""
    counts = np.diff(offset)
    top = np.maximum.reduceat(worth, offset[:-1][counts > 0])
    most: NDArray[np.bool_] = worth > np.repeat(top, counts[counts > 0]) - CLOSE
    return most


if __name__ == "__main__":
    run_main(main)
