"""In which positions do most moves throw the value away, and in which does only one keep it?

A position that is won or drawn for the player to move is a trap to the share of his moves that
keep less; moves that lead to one state count once, and a position with a single such move has no
choice. Where exactly one move keeps the value it is an only move. Printed is how many there are,
and the worst traps.
"""

import argparse
import os
import sys
from typing import Any, NamedTuple

import numpy as np

from graphstore import GameGraph, GraphstoreError, Store
from graphstore.cli.console import print_json, print_table

VALUES = {"win": 1, "draw": 0}


class Trap(NamedTuple):
    """A state with a choice.

    Attributes:
        position: its text.
        ply: the fewest moves from a start.
        to_move: the player whose trap it is, None where the rules do not tell.
        value: for him.
        choices: moves that lead to different states.
        keep: how many of them keep the value.
        share: of the choices that do not.
        moves: all moves that keep the value.
    """

    position: str
    ply: int
    to_move: int | None
    value: int
    choices: int
    keep: int
    share: float
    moves: list[int]


class Traps(NamedTuple):
    """The traps of a game.

    Attributes:
        summary: for each value: states with a choice, only moves among them, and the mean share.
        worst: by share, then by the number of choices.
    """

    summary: list[dict[str, Any]]
    worst: list[Trap]


def main() -> None:
    """Print the traps of a game."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", help="a database that graphstore built")
    parser.add_argument("--value", choices=VALUES, help="traps of this value only")
    parser.add_argument("--limit", type=int, default=10, help="traps shown, default: %(default)s")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    if arguments.limit < 0:
        parser.error("--limit must not be negative")
    wanted = (arguments.value,) if arguments.value else tuple(VALUES)
    try:
        with Store.open(arguments.file) as store:
            traps = find_traps(store.graph(), wanted, limit=arguments.limit)
    except GraphstoreError as error:
        sys.exit(f"traps: {error}")
    if arguments.json:
        worst = [trap._asdict() for trap in traps.worst]
        print_json({"summary": traps.summary, "worst": worst})
        return
    print_table([*traps.summary[0]], [[*row.values()] for row in traps.summary])
    print()
    rows = [
        [*trap[:-2], round(trap.share, 3), " ".join(map(str, trap.moves))] for trap in traps.worst
    ]
    print_table(Trap._fields, rows)


def find_traps(graph: GameGraph, wanted: tuple[str, ...] = tuple(VALUES), *, limit: int) -> Traps:
    """Return the traps of a solved graph.

    >>> from graphstore import explore, find_game, solve
    >>> graph = explore(find_game("tictactoe"))
    >>> _ = solve(graph)
    >>> traps = find_traps(graph, ("draw",), limit=1)
    >>> traps.worst[0].position, traps.worst[0].choices, traps.worst[0].moves
    ('.../.O./.XX', 6, [6])
    """
    assert graph.solution is not None
    value, edges = graph.solution.value, graph.edges_by_move
    pairs = np.unique(edges.parent.astype(np.int64) << 32 | edges.child)  # one a choice
    parent, child = pairs >> 32, pairs & 0xFFFFFFFF
    keeps = -value[child] == value[parent]
    choices = np.bincount(parent, minlength=len(value))
    keep = np.bincount(parent[keeps], minlength=len(value))
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
    rows = np.flatnonzero(
        (share > 0) & np.isin(value, [VALUES[name] for name in wanted]) & (choices > 1)
    )
    rows = rows[np.lexsort((rows, -choices[rows], -share[rows]))][:limit]
    return Traps(
        summary, [_trap(graph, int(row), int(choices[row]), int(keep[row])) for row in rows]
    )


def _trap(graph: GameGraph, row: int, choices: int, keep: int) -> Trap:
    state = int(graph.states.id[row])
    data = graph.nodes[state]
    moves = [
        move
        for child, edge in graph[state].items()
        for move in edge["moves"]
        if -graph.nodes[child]["value"] == data["value"]
    ]
    told = (data["position"], data["ply"], data["to_move"], data["value"])
    return Trap(*told, choices, keep, 1 - keep / choices, sorted(moves))


if __name__ == "__main__":
    try:
        main()
    except (BrokenPipeError, KeyboardInterrupt):  # `head` has seen enough, or a person has
        os._exit(1)
