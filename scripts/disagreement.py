"""Where do random play and best play disagree most about what a position is worth?

A position has a value, if both play their best, and a mean result, if both play at random. The gap
between them is how far a judge who plays games out at random errs. Listed are the positions in
play with the largest gaps, with the moves that each prefers: those that keep the value, those whose
mean result under random play is best, and those that are best against an opponent who plays at
random. `costs` is what the best of the second kind throw away: 1 from win to draw or from draw to
loss, 2 from win to loss. With --wrong only positions where that is something.
"""

import argparse
import os
import sys
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphstore import GameGraph, GraphstoreError, Store
from graphstore.cli.console import print_json, print_table

CLOSE = 1e-9  # sums of equal worth can differ in the last bits


class Disagreement(NamedTuple):
    """A state about which they disagree; all but the moves in the columns' words.

    Attributes:
        position: its text.
        ply: the fewest moves from a start.
        value: for the player to move, if both play their best.
        random_value: the mean result for him, if both play at random.
        gap: how far these are apart, 0 to 2.
        best: the moves that keep the value.
        random: those that are best if both then play at random.
        response: those that are best if the opponent then plays at random and he his best.
        costs: how much of the value the best of the moves in `random` give away.
    """

    position: str
    ply: int
    value: int
    random_value: float
    gap: float
    best: list[int]
    random: list[int]
    response: list[int]
    costs: int


def main() -> None:
    """Print the largest disagreements of a game."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", help="a database that graphstore built")
    parser.add_argument("--wrong", action="store_true", help="only where random play misleads")
    parser.add_argument("--limit", type=int, default=10, help="how many, default: %(default)s")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    if arguments.limit < 0:
        parser.error("--limit must not be negative")
    try:
        with Store.open(arguments.file) as store:
            if store.info["cyclic"]:
                sys.exit(
                    f"disagreement: {store.info['name']} can come back to a position: "
                    "random play has no mean result"
                )
            found, misled, in_play = disagreements(
                store.graph(), wrong=arguments.wrong, limit=arguments.limit
            )
    except GraphstoreError as error:
        sys.exit(f"disagreement: {error}")
    if arguments.json:
        rows = [each._asdict() for each in found]
        print_json({"misled": misled, "in_play": in_play, "positions": rows})
        return
    print_table(Disagreement._fields, [_shown(each) for each in found])
    print(
        f"\nin {misled:,} of {in_play:,} states in play, the moves that random play prefers "
        "all throw something away"
    )


def disagreements(
    graph: GameGraph, *, wrong: bool = False, limit: int
) -> tuple[list[Disagreement], int, int]:
    """Return the largest, how many states random play misleads in, and how many are in play.

    >>> from graphstore import explore, find_game, solve
    >>> graph = explore(find_game("tictactoe"))
    >>> _ = solve(graph)
    >>> (first, *_), misled, in_play = disagreements(graph, wrong=True, limit=1)
    >>> misled, in_play
    (10, 627)
    """
    assert graph.solution is not None
    solution, edges = graph.solution, graph.edges_by_move
    parents = np.flatnonzero(edges.counts)
    best = _most(-solution.value[edges.child].astype(float), edges.offset)
    random = _most(-solution.random_value[edges.child], edges.offset)
    response = _most(solution.best_response[edges.child], edges.offset)
    spoils = solution.value[edges.parent] + solution.value[edges.child]  # 0 where it is kept
    costs = np.zeros(len(solution.value), dtype=np.int64)
    costs[parents] = np.minimum.reduceat(np.where(random, spoils, 2), edges.offset[parents])
    gap = np.abs(solution.value - solution.random_value)
    rows = parents[costs[parents] > 0] if wrong else parents
    rows = rows[np.lexsort((rows, -costs[rows], -gap[rows].round(9)))][:limit]
    found = []
    for row in rows:
        data = graph.nodes[int(graph.states.id[row])]
        span = slice(edges.offset[row], edges.offset[row + 1])
        found.append(
            Disagreement(
                **{name: data[name] for name in Disagreement._fields[:4]},
                gap=float(gap[row]),
                best=edges.move[span][best[span]].tolist(),
                random=edges.move[span][random[span]].tolist(),
                response=edges.move[span][response[span]].tolist(),
                costs=int(costs[row]),
            )
        )
    return found, int((costs > 0).sum()), len(parents)


def _most(worth: NDArray[np.float64], offset: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which moves are worth most among those of their state, bool[m]."""
    counts = np.diff(offset)
    top = np.maximum.reduceat(worth, offset[:-1][counts > 0])
    most: NDArray[np.bool_] = worth > np.repeat(top, counts[counts > 0]) - CLOSE
    return most


def _shown(each: Disagreement) -> list[Any]:
    cells: list[Any] = []
    for cell in each:
        if isinstance(cell, float):
            cells.append(round(cell, 3))
        else:
            cells.append(" ".join(map(str, cell)) if isinstance(cell, list) else cell)
    return cells


if __name__ == "__main__":
    try:
        main()
    except (BrokenPipeError, KeyboardInterrupt):  # `head` has seen enough, or a person has
        os._exit(1)
