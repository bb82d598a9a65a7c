"""Print how many positions are won, drawn and lost at each remoteness, the plies to the end.

Remoteness assumes best play: the winner hurries, the loser delays, and a drawn position takes the
shortest way to a tie that keeps the draw. A drawn position from which play need never end has no
remoteness; such positions are in a row without a number. The script counts states, or with
--positions all their positions. In the file of a strategy depths are bounds.
"""

import numpy as np
from common import DATABASE, Row, options, print_rows, run_main

from graphstore import GameGraph, Store
from graphstore.cli.console import print_json
from graphstore.exports.learning_curve import figure_class
from graphstore.rules.svg import COLOURS
from graphstore.util.files import new_file

WORDS = {"wins": 1, "draws": 0, "losses": -1}


def main() -> None:
    """Print the table, and draw it with --plot."""
    parser = options(__doc__, "file", DATABASE)
    parser.add_argument("--positions", action="store_true", help="count positions, not states")
    parser.add_argument(
        "--plot", metavar="PNG", help="also draw a picture to a new file (needs matplotlib)"
    )
    arguments = parser.parse_args()
    with Store.open(arguments.file) as store:
        rows = by_remoteness(store.graph(), positions=arguments.positions)
        if arguments.plot:
            counted = "positions" if arguments.positions else "states"
            plot(rows, store.info["name"], counted, arguments.plot)
    if arguments.json:
        print_json(rows)
    else:
        print_rows(rows)


def by_remoteness(graph: GameGraph, *, positions: bool = False) -> list[Row]:
    """Return a row for each remoteness of a solved graph, the endless draws last.

    Wins, draws and losses are for the player to move.

    >>> from graphstore import explore, find_game, solve
    >>> graph = explore(find_game("nim(1,2)"))
    >>> _ = solve(graph)
    >>> [[*row.values()] for row in by_remoteness(graph)]
    [[0, 0, 0, 1], [1, 2, 0, 0], [2, 0, 0, 1], [3, 1, 0, 0]]
    """
    assert graph.solution is not None
    value, remoteness = graph.solution.value, graph.solution.remoteness
    weights = graph.states.orbit if positions else np.ones(len(value), dtype=np.int64)
    rows = []
    for plies in sorted(np.unique(remoteness).tolist(), key=lambda plies: (plies < 0, plies)):
        here = remoteness == plies
        counts = {
            word: int(weights[here & (value == wanted)].sum()) for word, wanted in WORDS.items()
        }
        rows.append({"remoteness": plies if plies >= 0 else None} | counts)
    return rows


def plot(rows: list[Row], game: str, counted: str, target: str) -> None:
    """Draw the rows as stacked bars, a PNG; `counted` is what they count, states or positions.

    Raises:
        MissingExtraError: matplotlib is not installed.
        StoreError: the file exists or cannot be written.
    """
    figure = figure_class()(figsize=(8, 4.5), layout="constrained")
    axes = figure.add_subplot()
    names = ["none" if row["remoteness"] is None else str(row["remoteness"]) for row in rows]
    below = np.zeros(len(rows))
    for word, value in WORDS.items():
        counts = np.array([row[word] for row in rows])
        axes.bar(names, counts, bottom=below, color=COLOURS[value], label=word)
        below += counts
    axes.set_xlabel("remoteness, plies")
    axes.set_ylabel(counted)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_ylim(0, 1.08 * max(below.max(), 1))  # so that no bar touches the frame
    axes.set_title(f"{game}: {counted} by remoteness, for the player to move")
    axes.legend(frameon=False)
    with new_file(target) as file:
        figure.savefig(file.buffer, format="png", dpi=150)


if __name__ == "__main__":
    run_main(main)
