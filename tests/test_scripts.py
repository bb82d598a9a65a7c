"""Every script has a help that works, its doctests hold, and what it prints is tested."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from graphstore import build, find_game, prove
from graphstore.game import IN_PLAY

SCRIPTS = Path(__file__).parents[1] / "scripts"

# Wikipedia, "Game complexity" and "Tic-tac-toe"; the tree has 549,945 nodes below the empty board.
TICTACTOE = {
    "game": "tictactoe",
    "games": 255_168,
    "won_by_1": 131_184,
    "won_by_2": 77_904,
    "tied": 46_080,
    "tree_nodes": 549_946,
}


def run(script, *arguments):
    command = [sys.executable, "-W", "error", SCRIPTS / script, *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def printed(script, *arguments):
    done = run(script, *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


@pytest.mark.parametrize("script", sorted(path.name for path in SCRIPTS.glob("*.py")))
def test_a_script_has_help_and_doctests_that_hold_and_a_test_here(script):
    done = run(script, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: {script}")
    doctests = [sys.executable, "-W", "error", "-m", "doctest", SCRIPTS / script]
    subprocess.run(doctests, check=True, timeout=60)
    assert f'"{script}"' in Path(__file__).read_text()


def test_the_games_of_tictactoe_are_counted_by_name_and_from_a_database(tmp_path):
    build("tictactoe", tmp_path / "tictactoe.db")
    assert printed("count_games.py", "tictactoe", "--json") == TICTACTOE
    assert printed("count_games.py", tmp_path / "tictactoe.db", "--json") == TICTACTOE


def test_games_are_counted_for_people_too():
    done = run("count_games.py", "tictactoe")
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines == [
        [name, value if isinstance(value, str) else f"{value:,}"]
        for name, value in TICTACTOE.items()
    ]


def all_games(game, positions, players):
    """Play every game out, without symmetry: (tree nodes, results by winner), a ply at a time."""
    nodes, results = len(positions), {0: 0, 1: 0, 2: 0}
    while positions.size:
        outcomes = game.outcomes(positions)
        for winner, value in zip(players, (1, -1), strict=True):
            results[winner] += int((outcomes == value).sum())
        results[0] += int((outcomes == 0).sum())
        positions = game.expand(positions[outcomes == IN_PLAY]).child
        nodes += len(positions)
        players = players[::-1]
    return nodes, results


@pytest.mark.parametrize("name", ["mnk(3,2,2)", "mnk(3,2,3)", "mnk(2,2,2,misere)", "mnk(8,1,3)"])
def test_symmetry_changes_no_count(name):
    game = find_game(name)
    nodes, results = all_games(game, game.start_states(), (1, 2))
    assert printed("count_games.py", name, "--json") == {
        "game": name,
        "games": sum(results.values()),
        "won_by_1": results[1],
        "won_by_2": results[2],
        "tied": results[0],
        "tree_nodes": nodes,
    }


HEAP = '''
from graphstore import PlainGame

class Heap(PlainGame):
    """Take one or two of three; who takes the last wins."""
    def start(self): return 3
    def moves(self, heap): return range(1, min(heap, 2) + 1)
    def play(self, heap, take): return heap - take
    def outcome(self, heap): return None if heap else -1

class Round(Heap):
    """Goes round."""
    def play(self, heap, take): return (heap + take) % 4
'''


@pytest.fixture
def heap(tmp_path):
    """Rules of one's own, in a file."""
    rules = tmp_path / "rules.py"
    rules.write_text(HEAP)
    return rules


def test_a_game_that_does_not_tell_whose_turn_it_is_is_counted_by_who_began(heap):
    # 1+1+1 and the beginner wins; 1+2 and 2+1 and the other one does.
    count = printed("count_games.py", f"{heap}:Heap", "--json")
    assert (count["games"], count["won_by_1"], count["won_by_2"], count["tied"]) == (3, 1, 2, 0)
    assert count["tree_nodes"] == 7


def test_games_without_number_are_refused(heap):
    done = run("count_games.py", f"{heap}:Round")
    assert (done.returncode, done.stdout) == (1, "")
    assert "can come back to a position" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("game", ["missing.db", "chess"])
def test_a_game_that_there_is_not_is_refused_in_one_line(game):
    done = run("count_games.py", game)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("count_games: there is no ")
    assert len(done.stderr.splitlines()) == 1


FIGURES = {
    "build": "explore solve load_states load_edges index finish explore_solve total states moves "
    "edges wins draws losses states_per_s edges_per_s file_mb bytes_per_state bytes_per_edge",
    "copy": "states edges index total",
    "plain_game": "explore states moves states_per_s",
    "commands": "help show",
    "lookups": "probe_by_id probe_typed lookup_ids lookup_typed raw_by_id raw_json_each",
}


def test_the_benchmark_measures_everything():
    done = run("bench.py", "tictactoe", "--quick", "--without-plain", "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert set(result) == {"game", "machine", "figures", "targets"}
    assert {piece: set(figures) for piece, figures in result["figures"].items()} == {
        piece: {*names.split(), "cpu_s", "peak_mb"} for piece, names in FIGURES.items()
    }
    build = result["figures"]["build"]
    assert [build[name] for name in ("states", "moves", "edges")] == [765, 2270, 2096]
    assert [build[name] for name in ("wins", "draws", "losses")] == [390, 151, 224]
    for target in result["targets"]:
        measured = "plain" not in target["name"].split()
        assert (target["value"] is not None, target["met"] is not None) == (measured, measured)


@pytest.mark.parametrize("game", ["tictactoe", "mnk(3,2,2,misere)"])
def test_the_plain_pipeline_writes_the_very_rows_that_graphstore_does(tmp_path, game):
    for piece in ("build", "plain"):
        printed("bench.py", game, "--piece", piece, "--folder", tmp_path)
    with closing(sqlite3.connect(tmp_path / "game.db")) as connection:
        connection.execute("ATTACH ? AS plain", (str(tmp_path / "plain.db"),))
        for table in ("edge", "state"):
            info = connection.execute(f"PRAGMA plain.table_info({table})").fetchall()
            names = ", ".join(
                f"round({row[1]}, 12)" if row[1] in ("random_value", "best_response") else row[1]
                for row in info
            )
            ours, theirs = (
                connection.execute(f"SELECT {names} FROM {place}.{table} ORDER BY 1, 2").fetchall()
                for place in ("main", "plain")
            )
            assert ours == theirs


def test_the_benchmark_says_what_the_plain_pipeline_does_not_know():
    done = run("bench.py", "nim(1,2)")
    assert (done.returncode, done.stdout) == (1, "")
    assert "bench: the plain pipeline knows no nim(1,2); add --without-plain" in done.stderr


def test_the_benchmark_prints_tables():
    done = run("bench.py", "mnk(2,2,2)", "--quick")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "mnk(2,2,2)"
    assert [line for line in lines if line in FIGURES] == list(FIGURES)
    assert [line.split()[-1] in ("yes", "NO") for line in lines[-8:]] == [True] * 8


def test_a_peer_solves_the_same_positions():
    figures = printed("peers.py", "--one", "graphstore", "tictactoe")
    assert figures["positions"] == 5_478
    pytest.importorskip("pyspiel", reason="the package open_spiel is not installed")
    assert printed("peers.py", "--one", "OpenSpiel get_all_states", "tictactoe") == {
        "seconds": pytest.approx(1, abs=60),
        "positions": 5_478,
    }


def test_menace_is_trained_for_every_seed():
    words = ("--seeds", "3", "--games", "600", "--last", "100")
    learned = printed("menace_seeds.py", *words, "--json")
    assert [each["seed"] for each in learned] == [0, 1, 2]
    assert all(abs(each["won"] + each["drawn"] + each["lost"] - 1) < 1e-9 for each in learned)
    assert all(each["won"] == 0 for each in learned)  # against a perfect opponent
    done = run("menace_seeds.py", *words)
    assert done.stdout.count("quartiles") == 4


def test_a_strategy_is_walked_through_exact_boards(tmp_path):
    prove(tmp_path / "proof.db")
    done = run("walk_strategy.py", tmp_path / "proof.db", "--plies", "7")
    assert (done.returncode, done.stderr) == (0, "")
    boards = [int(line.split()[1].replace(",", "")) for line in done.stdout.splitlines()[1:-1]]
    # 8 choose n boards after X's answer to n marks of O in field 4; 8 - n replies of O to each.
    assert boards == [1, 1, 8, 8, 56, 28, 168, 56]
    assert done.stdout.splitlines()[-1].endswith("X wins in 0; the rest was not walked")


def test_a_walk_through_no_strategy_fails_in_one_line(tmp_path):
    build("tictactoe", tmp_path / "tictactoe.db")
    done = run("walk_strategy.py", tmp_path / "tictactoe.db")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("walk_strategy: ")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.skipif(
    shutil.which("chromedriver") is None and os.environ.get("GRAPHSTORE_CHROMIUM") != "required",
    reason="chromium and chromedriver are not installed",
)
def test_the_pictures_of_the_explorer_are_small_and_those_that_the_documents_show(tmp_path):
    done = run("screenshots.py", "--output", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    taken = sorted(path.name for path in tmp_path.iterdir())
    assert taken == sorted(path.name for path in (SCRIPTS.parent / "docs/images").iterdir())
    for path in tmp_path.iterdir():
        data = path.read_bytes()
        assert data.startswith(b"\x89PNG")
        assert 5_000 < len(data) < 150_000


def test_pictures_need_a_browser(tmp_path):
    command = [sys.executable, SCRIPTS / "screenshots.py", "--output", tmp_path]
    nowhere = os.environ | {"PATH": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, env=nowhere)
    assert done.stderr == (
        "screenshots.py: chromium and chromedriver are needed; install them and run this again\n"
    )
    assert done.returncode == 1
