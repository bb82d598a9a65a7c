"""Compare graphstore with OpenSpiel and easyAI, on the same games, in one run.

Each measurement has its own process and a time limit. A package that is not installed is left out,
and a note says so. Install them with: pip install ".[bench]"
"""

import argparse
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from subprocess import TimeoutExpired
from typing import Any

from shared import Figures, in_own_process, run_main

from graphstore import GraphstoreError
from graphstore.cli.console import print_json, print_table

GAMES = {  # graphstore's name -> OpenSpiel's
    "tictactoe": "tic_tac_toe",
    "mnk(4,3,3)": "mnk(m=4,n=3,k=3)",
    "connect(4,4)": "connect_four(rows=4,columns=4)",
}
PEERS: dict[str, tuple[str, tuple[str, ...]]] = {  # function, packages
    "graphstore": ("graphstore", ()),
    "OpenSpiel get_all_states": ("openspiel_states", ("pyspiel",)),
    "OpenSpiel value_iteration": ("openspiel_values", ("pyspiel", "cvxpy")),
    "OpenSpiel minimax": ("openspiel_minimax", ("pyspiel",)),
    "easyAI": ("easyai", ("easyAI",)),  # tictactoe only
}


def timed(work: Callable[[], Any], positions: Callable[[Any], int]) -> Figures:
    """Return the seconds of some work, and the number of positions in its result."""
    begin = time.perf_counter()
    found = work()
    return {"seconds": time.perf_counter() - begin, "positions": positions(found)}


def graphstore(game: str) -> Figures:
    """Measure graphstore on every position: explore up to symmetry and solve all columns."""
    from graphstore import GameGraph, explore, find_game, solve

    rules = find_game(game)

    def work() -> GameGraph:
        graph = explore(rules)
        solve(graph)
        return graph

    return timed(work, lambda graph: int(graph.number_of_positions()))


def openspiel_states(game: str) -> Figures:
    """Measure get_all_states, with the text as the key: every position, without values."""
    import pyspiel
    from open_spiel.python.algorithms.get_all_states import get_all_states

    loaded = pyspiel.load_game(GAMES[game])
    return timed(lambda: get_all_states(loaded, -1, True, False, to_string=str), len)


def openspiel_values(game: str) -> Figures:
    """Measure value_iteration: every position with its value."""
    import pyspiel
    from open_spiel.python.algorithms.value_iteration import value_iteration

    loaded = pyspiel.load_game(GAMES[game])
    return timed(lambda: value_iteration(loaded, depth_limit=-1, threshold=0.01), len)


def openspiel_minimax(game: str) -> Figures:
    """Measure alpha-beta search without a table: the value of the start alone."""
    import pyspiel
    from open_spiel.python.algorithms.minimax import alpha_beta_search

    loaded = pyspiel.load_game(GAMES[game])
    return timed(lambda: alpha_beta_search(loaded), lambda _: 1)


def easyai(_: str) -> Figures:
    """Measure depth-first search with a table of positions: the value of the start of tictactoe."""
    from easyAI import TranspositionTable, TwoPlayerGame, solve_with_depth_first_search

    lines = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))

    class TicTacToe(TwoPlayerGame):  # type: ignore[misc]  # easyAI has no types
        def __init__(self) -> None:
            self.players = [None, None]
            self.board = [0] * 9
            self.current_player = 1

        def possible_moves(self) -> list[int]:
            return [cell for cell in range(9) if not self.board[cell]]

        def make_move(self, move: int) -> None:
            self.board[move] = self.current_player

        def unmake_move(self, move: int) -> None:
            self.board[move] = 0

        def lose(self) -> bool:
            other = 3 - self.current_player
            return any(all(self.board[cell] == other for cell in line) for line in lines)

        def is_over(self) -> bool:
            return self.lose() or 0 not in self.board

        def scoring(self) -> int:
            return -100 if self.lose() else 0

        def ttentry(self) -> tuple[int, ...]:
            return tuple(self.board)

    game, table = TicTacToe(), TranspositionTable()
    return timed(lambda: solve_with_depth_first_search(game, win_score=90, tt=table), lambda _: 1)


def compare(limit: float) -> list[Figures]:
    """Return the figures of every peer on every game."""
    rows = []
    for game in GAMES:
        for peer, (function, packages) in PEERS.items():
            if peer != "easyAI" or game == "tictactoe":
                print(f"{game}: {peer}", file=sys.stderr)
                rows.append(
                    {"game": game, "with": peer} | measured(function, packages, game, limit)
                )
    return rows


def measured(function: str, packages: tuple[str, ...], game: str, limit: float) -> Figures:
    """Return the figures of one peer on one game, or a note that says why there are none."""
    for package in packages:
        if find_spec(package) is None:
            return {"note": f"{package} is not installed"}
    try:
        figures: Figures = in_own_process(__file__, function, game, seconds=limit)
    except TimeoutExpired:
        return {"note": f"over {limit:g} s"}
    except GraphstoreError as error:
        return {"note": f"failed: {str(error).rpartition(chr(10))[2]}"}
    return figures


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=float, default=60, help="seconds for each, default: 60")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    found = compare(arguments.limit)
    if arguments.json:
        print_json(found)
        return
    for row in found:
        row["seconds"] = round(row["seconds"], 3) if "seconds" in row else None
    head = ("game", "with", "seconds", "positions", "note")
    print_table(head, [[row.get(name) for name in head] for row in found])


if __name__ == "__main__":
    run_main(main)
