"""What else could one use? graphstore beside OpenSpiel and easyAI, on the same games, in one run.

Each measurement runs in a process of its own, with a limit on its time; a package that is not
installed is left out and said so. Install them with: pip install '.[bench]'
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

GAMES = {  # graphstore's name -> OpenSpiel's
    "tictactoe": "tic_tac_toe",
    "mnk(4,3,3)": "mnk(m=4,n=3,k=3)",
    "connect(4,4)": "connect_four(rows=4,columns=4)",
}
Figures = dict[str, Any]


def graphstore(game: str) -> Figures:
    """Every position: explore up to symmetry and solve all columns."""
    from graphstore import explore, find_game, solve

    rules = find_game(game)
    begin = time.perf_counter()
    graph = explore(rules)
    solve(graph)
    return {"seconds": time.perf_counter() - begin, "positions": graph.number_of_positions()}


def openspiel_states(game: str) -> Figures:
    """Every position, without values: get_all_states with the text as the key."""
    import pyspiel
    from open_spiel.python.algorithms.get_all_states import get_all_states

    loaded = pyspiel.load_game(GAMES[game])
    begin = time.perf_counter()
    states = get_all_states(loaded, -1, True, False, to_string=str)
    return {"seconds": time.perf_counter() - begin, "positions": len(states)}


def openspiel_values(game: str) -> Figures:
    """Every position with its value: value_iteration."""
    import pyspiel
    from open_spiel.python.algorithms.value_iteration import value_iteration

    loaded = pyspiel.load_game(GAMES[game])
    begin = time.perf_counter()
    values = value_iteration(loaded, depth_limit=-1, threshold=0.01)
    return {"seconds": time.perf_counter() - begin, "positions": len(values)}


def openspiel_minimax(game: str) -> Figures:
    """The value of the start alone: alpha-beta search without a table."""
    import pyspiel
    from open_spiel.python.algorithms.minimax import alpha_beta_search

    loaded = pyspiel.load_game(GAMES[game])
    begin = time.perf_counter()
    alpha_beta_search(loaded)
    return {"seconds": time.perf_counter() - begin, "positions": 1}


def easyai(game: str) -> Figures:
    """The value of the start alone: depth-first search with a table of positions."""
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

    begin = time.perf_counter()
    solve_with_depth_first_search(TicTacToe(), win_score=90, tt=TranspositionTable())
    return {"seconds": time.perf_counter() - begin, "positions": 1}


PEERS: dict[str, tuple[Callable[[str], Figures], tuple[str, ...], tuple[str, ...]]] = {
    "graphstore": (graphstore, (), tuple(GAMES)),
    "OpenSpiel get_all_states": (openspiel_states, ("pyspiel",), tuple(GAMES)),
    "OpenSpiel value_iteration": (openspiel_values, ("pyspiel", "cvxpy"), tuple(GAMES)),
    "OpenSpiel minimax": (openspiel_minimax, ("pyspiel",), tuple(GAMES)),
    "easyAI": (easyai, ("easyAI",), ("tictactoe",)),
}


def compare(limit: float) -> list[Figures]:
    """Return the figures of every peer on every game, each in a process of its own."""
    rows: list[Figures] = []
    for game in GAMES:
        for peer, (_, packages, games) in PEERS.items():
            if game not in games:
                continue
            missing = [package for package in packages if find_spec(package) is None]
            figures = {"note": f"{missing[0]} is not installed"} if missing else {}
            if not missing:
                print(f"{game}: {peer}", file=sys.stderr)
                figures = _measured(peer, game, limit)
            rows.append({"game": game, "with": peer, **figures})
    return rows


def _measured(peer: str, game: str, limit: float) -> Figures:
    command = [sys.executable, __file__, "--one", peer, game]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return {"note": f"over {limit:g} s"}
    if done.returncode:
        return {"note": "failed: " + done.stderr.strip().rpartition("\n")[2]}
    figures: Figures = json.loads(done.stdout)
    return figures


def main() -> None:
    """Parse the command line, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=float, default=60, help="seconds for one (default: 60)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--one", nargs=2, metavar=("PEER", "GAME"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        peer, game = arguments.one
        print(json.dumps(PEERS[peer][0](game)))
        return
    rows = compare(arguments.limit)
    if arguments.json:
        print(json.dumps(rows, indent=2))
        return
    print(f"{'game':<14}{'with':<28}{'seconds':>10}{'positions':>12}")
    for row in rows:
        seconds = f"{row['seconds']:.3f}" if "seconds" in row else ""
        numbers = f"{seconds:>10}{row.get('positions', ''):>12}"
        print(f"{row['game']:<14}{row['with']:<28}{numbers}  {row.get('note', '')}".rstrip())


if __name__ == "__main__":
    main()
