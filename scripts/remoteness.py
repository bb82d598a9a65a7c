"""How are won, drawn and lost positions spread over remoteness, the plies to the end?

Remoteness is counted under best play: the winner hurries, the loser delays, and a drawn position
has the shortest way to a tie that keeps the draw. A drawn position from which play need never end
has none; such ones are in a row without a number. Counted are states, or with --positions every
position that they stand for. In a file of a strategy depths are bounds.
"""

import argparse
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from graphstore import GameGraph, GraphstoreError, Store
from graphstore.cli.console import print_json, print_table
from graphstore.exports.learning_curve import figure_class

WORDS = {"wins": 1, "draws": 0, "losses": -1}
COLOURS = {"wins": "#2a9d55", "draws": "#c9a227", "losses": "#c0392b"}
Row = dict[str, Any]


def main() -> None:
    """Print the table, and draw it where asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", help="a database that graphstore built")
    parser.add_argument("--positions", action="store_true", help="count positions, not states")
    parser.add_argument("--plot", metavar="PNG", help="draw it, too (needs matplotlib)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    if arguments.plot and not arguments.plot.lower().endswith(".png"):
        parser.error(
            f"--plot {arguments.plot}: its name must end in .png, which is what it will be"
        )
    if arguments.plot and Path(arguments.plot).resolve() == Path(arguments.file).resolve():
        parser.error(f"--plot {arguments.plot} would replace the database")
    try:
        with Store.open(arguments.file) as store:
            rows = spread(store.graph(), positions=arguments.positions)
            if arguments.plot:
                what = "positions" if arguments.positions else "states"
                plot(rows, f"{store.info['name']}: {what} by remoteness", arguments.plot)
    except GraphstoreError as error:
        sys.exit(f"remoteness: {error}")
    except OSError as error:
        sys.exit(f"remoteness: {arguments.plot}: {error.strerror}")
    if arguments.json:
        print_json(rows)
    else:
        print_table(["remoteness", *WORDS], [[*row.values()] for row in rows])


def spread(graph: GameGraph, *, positions: bool = False) -> list[Row]:
    """Return a row for each remoteness of a solved graph, the endless draws last.

    Wins, draws and losses are for the player to move.

    >>> from graphstore import explore, find_game, solve
    >>> graph = explore(find_game("nim(1,2)"))
    >>> _ = solve(graph)
    >>> [[*row.values()] for row in spread(graph)]
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


def plot(rows: list[Row], title: str, target: str) -> None:
    """Draw the rows as stacked bars, a PNG.

    Raises:
        MissingExtraError: matplotlib is not installed.
        OSError: the file cannot be written.
    """
    figure = figure_class()(figsize=(8, 4.5), layout="constrained")
    axes = figure.add_subplot()
    names = ["none" if row["remoteness"] is None else str(row["remoteness"]) for row in rows]
    below = np.zeros(len(rows))
    for word, colour in COLOURS.items():
        counts = np.array([row[word] for row in rows])
        axes.bar(names, counts, bottom=below, color=colour, label=word)
        below += counts
    axes.set_xlabel("remoteness, plies")
    axes.set_title(title)
    axes.legend(frameon=False)
    with Path(target).open("wb") as file:
        figure.savefig(file, format="png", dpi=150)


if __name__ == "__main__":
    try:
        main()
    except (BrokenPipeError, KeyboardInterrupt):  # `head` has seen enough, or a person has
        os._exit(1)
