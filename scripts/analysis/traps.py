"""List the positions in which most moves give the value away, and count those with one good move.

A trap is a position, won or drawn for the player to move, in which some moves give the value away.
Moves that lead to the same state count once, and a position with a single move has no choice. If
exactly one move keeps the value, it is an only move.

choices     moves that lead to different states
keep        how many of them keep the value
share       the share of the choices that do not
moves       all moves that keep the value
mean_share  of the positions with a choice
"""

from collections.abc import Sequence
from itertools import chain

import numpy as np
from common import DATABASE, Row, add_limit, options, print_rows, run_main, worth

from graphstore import GameGraph, Store
from graphstore.cli.console import print_json

VALUES = {"win": 1, "draw": 0}


def main() -> None:
    """Print the traps of a game."""
    parser = options(__doc__, "file", DATABASE)
    parser.add_argument("--value", choices=VALUES, help="traps of this value only")
    add_limit(parser)
    arguments = parser.parse_args()
    wanted = (arguments.value,) if arguments.value else tuple(VALUES)
    with Store.open(arguments.file) as store:
        summary, worst = find_traps(store.graph(), wanted, limit=arguments.limit)
    if arguments.json:
        print_json({"summary": summary, "worst": worst})
        return
    print_rows(summary, digits=4)
    print()
    print_rows(worst)


def find_traps(
    graph: GameGraph, wanted: Sequence[str] = tuple(VALUES), *, limit: int
) -> tuple[list[Row], list[Row]]:
    """Return the traps of a solved graph: a summary for each value, and the worst.

    >>> from graphstore import explore, find_game, solve
    >>> graph = explore(find_game("tictactoe"))
    >>> _ = solve(graph)
    >>> _, (worst,) = find_traps(graph, ("draw",), limit=1)
    >>> worst["position"], worst["choices"], worst["moves"]
    ('.../.O./.XX', 6, [6])
    """
    assert graph.solution is not None
    value, edges = graph.solution.value, graph.edges_by_move
    pairs = edges.parent.astype(np.int64) << 32 | edges.child
    pairs, first = np.unique(pairs, return_index=True)  # one for each choice
    parent = pairs >> 32
    choices = np.bincount(parent, minlength=len(value))
    keep = np.bincount(parent[worth(graph, value)[first] == value[parent]], minlength=len(value))
    share = 1 - keep / np.maximum(choices, 1)
    summary = []
    for name in wanted:
        here = (value == VALUES[name]) & (choices > 1)
        summary.append(
            {
                "value": name,
                "with_choice": int(here.sum()),
                "only_moves": int((here & (keep == 1)).sum()),
                "mean_share": round(float(share[here].mean()), 4) if here.any() else None,
            }
        )
    listed = np.isin(value, [VALUES[name] for name in wanted]) & (share > 0) & (choices > 1)
    rows = np.flatnonzero(listed)
    rows = rows[np.lexsort((rows, -choices[rows], -share[rows]))][:limit]
    worst = []
    for row in rows.tolist():
        state = int(graph.states.id[row])
        data = graph.nodes[state]
        kept = [
            edge["moves"]
            for child, edge in graph[state].items()
            if -graph.nodes[child]["value"] == data["value"]
        ]
        about = {name: data[name] for name in ("position", "ply", "to_move", "value")}
        about |= {"choices": int(choices[row]), "keep": int(keep[row]), "share": float(share[row])}
        worst.append(about | {"moves": sorted(chain.from_iterable(kept))})
    return summary, worst


if __name__ == "__main__":
    run_main(main)
