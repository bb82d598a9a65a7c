"""Scripts: every one has a working --help, passing doctests, and a test of its output."""

import csv
import doctest
import importlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from fractions import Fraction
from functools import cache
from itertools import chain
from pathlib import Path

import networkx as nx
import pytest
from conftest import SLOW

from graphstore import build, find_game, prove
from graphstore.rules.game import IN_PLAY

DATA = Path(__file__).parents[1] / "data"
SCRIPTS = Path(__file__).parents[2] / "scripts"

# Wikipedia, "Game complexity" and "Tic-tac-toe"; the tree has 549,945 nodes below the empty board.
TICTACTOE = {
    "game": "tictactoe",
    "games": 255_168,
    "won_by_1": 131_184,
    "won_by_2": 77_904,
    "tied": 46_080,
    "tree_nodes": 549_946,
}


HELPERS = {"common.py", "shared.py", "plain.py", "plain_games.py"}
ALL = sorted(
    str(path.relative_to(SCRIPTS)) for path in SCRIPTS.glob("*/*.py") if path.name not in HELPERS
)


def in_own_process(script, *arguments):
    """Run a script that starts processes, which import it."""
    command = [sys.executable, "-W", "error", SCRIPTS / script, *arguments]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.fixture
def run(run_script):
    """Return a function that runs a script here."""

    def run(script, *arguments):
        return subprocess.CompletedProcess(script, *run_script(script, *arguments))

    return run


@pytest.fixture
def output_of(run):
    """Return a function that runs a script with --json here and returns what it printed."""

    def output_of(script, *arguments):
        done = run(script, *arguments, "--json")
        assert (done.returncode, done.stderr) == (0, "")
        return json.loads(done.stdout)

    return output_of


@pytest.fixture
def line(run):
    """Return a function that runs a script that must fail, and returns its error line."""

    def line(script, *arguments):
        done = run(script, *arguments)
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
        assert done.stderr.startswith(f"{Path(script).stem}: ")
        return done.stderr

    return line


@pytest.mark.parametrize("script", ALL)
def test_a_script_has_help_with_its_purpose_and_a_test_here(run, script):
    done = run(script, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: {Path(script).name}")
    purpose = (SCRIPTS / script).read_text().splitlines()[0].removeprefix('"""')
    assert " ".join(purpose.split()) in " ".join(done.stdout.split())
    tests = (Path(__file__), Path(__file__).parents[1] / "test_reference.py")
    assert any(f'"{script}"' in path.read_text() for path in tests)


@pytest.mark.parametrize("module", sorted(SCRIPTS.glob("*/*.py")), ids=lambda path: path.stem)
def test_the_doctests_of_a_script_hold(monkeypatch, module):
    monkeypatch.syspath_prepend(module.parent)
    assert doctest.testmod(importlib.import_module(module.stem)).failed == 0


def test_the_games_of_tictactoe_are_counted_by_name_and_from_a_database(output_of, tmp_path):
    build("tictactoe", tmp_path / "tictactoe.db")
    assert output_of("analysis/count_games.py", "tictactoe") == TICTACTOE
    assert output_of("analysis/count_games.py", tmp_path / "tictactoe.db") == TICTACTOE


@SLOW
def test_the_fuzzer_counts_what_was_accepted_and_what_was_refused(run):
    done = run("checks/fuzz.py", "--inputs", "60", "--only", "settings", "--json")
    (tally,) = json.loads(done.stdout)
    assert (done.returncode, tally["inputs"], tally["defects"]) == (0, 60, [])
    assert tally["accepted"] + tally["refused"] == 60


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
def test_a_small_share_of_all_faults_loses_nothing():
    numbers = {"kills": 1, "calls": 1, "disks": 1, "files": 2}
    words = [word for kind, number in numbers.items() for word in (f"--{kind}", str(number))]
    done = in_own_process("checks/faults.py", *words, "--json")
    tallies = json.loads(done.stdout)
    assert (done.returncode, [each for each in tallies if each["lost"]]) == (0, [])
    tried = {each["kind"]: each["tried"] for each in tallies}
    assert tried == numbers or "skipped" in done.stderr


def test_counts_of_games_are_printed_as_a_table(run):
    done = run("analysis/count_games.py", "tictactoe")
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
def test_symmetry_changes_no_count(output_of, name):
    game = find_game(name)
    nodes, results = all_games(game, game.start_states(), (1, 2))
    assert output_of("analysis/count_games.py", name) == {
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
    """Take one or two of three; the player who takes the last one wins."""
    def start(self): return 3
    def moves(self, heap): return range(1, min(heap, 2) + 1)
    def play(self, heap, take): return heap - take
    def outcome(self, heap): return None if heap else -1

class Round(Heap):
    """A heap in which play repeats positions."""
    def play(self, heap, take): return (heap + take) % 4
'''


@pytest.fixture
def heap(tmp_path):
    """A file of rules that are not built in."""
    rules = tmp_path / "rules.py"
    rules.write_text(HEAP)
    return rules


def test_without_turns_in_the_rules_games_are_counted_by_the_player_who_began(output_of, heap):
    # 1+1+1 and the beginner wins; 1+2 and 2+1 and the other one does.
    count = output_of("analysis/count_games.py", f"{heap}:Heap")
    assert (count["games"], count["won_by_1"], count["won_by_2"], count["tied"]) == (3, 1, 2, 0)
    assert count["tree_nodes"] == 7


def test_games_with_cycles_are_not_counted(line, heap):
    assert "can come back to a position" in line("analysis/count_games.py", f"{heap}:Round")


@pytest.mark.parametrize("game", ["missing.db", "chess"])
def test_a_missing_game_is_refused_in_one_line(line, game):
    assert "there is no " in line("analysis/count_games.py", game)


FIGURES = {
    "build": "explore solve load_states load_edges index finish explore_solve total states moves "
    "edges wins draws losses states_per_s edges_per_s file_mb bytes_per_state bytes_per_edge",
    "copy": "states edges index total",
    "upgrade": "total",
    "plain_game": "total states states_per_s states_8 states_per_s_8 states_720 states_per_s_720",
    "verify": "rows total",
    "whole": "states edges rows graph csv total",
    "solve": "numba s_24 most_s_24 s_20 most_s_20 s_16 most_s_16 positions_per_s total",
    "commands": "python imports help show line sql stats",
    "lookups": (
        "by_id probe_by_id probe_typed probe_typed_snapshot lookup_ids lookup_typed "
        "raw_by_id raw_by_id_cached raw_ids raw_ids_cached"
    ),
}


@SLOW
def test_the_benchmark_measures_everything(run):
    done = run("checks/bench.py", "tictactoe", "--quick", "--without-plain", "--json")
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
        measured = not re.search(r"\bplain\b|with (12|8) stones", target["name"])
        assert (target["value"] is not None, target["met"] is not None) == (measured, measured)


@pytest.mark.parametrize("game", ["tictactoe", "mnk(3,2,2,misere)"])
def test_the_plain_pipeline_writes_the_same_rows_as_graphstore(monkeypatch, tmp_path, game):
    monkeypatch.syspath_prepend(SCRIPTS / "checks")
    plain, rules = importlib.import_module("plain"), find_game(game)
    board = plain.Board(rules.columns, rules.rows, rules.in_a_row, misere=rules.misere)
    plain.pipeline(board, tmp_path / "plain.db")
    build(game, tmp_path / "game.db")
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


def test_the_benchmark_refuses_games_that_the_plain_pipeline_cannot_play(run):
    done = run("checks/bench.py", "nim(1,2)")
    assert (done.returncode, done.stdout) == (1, "")
    error = "bench: the plain pipeline cannot play nim(1,2); add --without-plain"
    assert done.stderr.splitlines()[-1] == error


@SLOW
def test_the_benchmark_prints_tables(run):
    done = run("checks/bench.py", "mnk(2,2,2)", "--quick")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "mnk(2,2,2)"
    assert [line for line in lines if line in FIGURES] == list(FIGURES)
    assert [line.split()[-1] in ("yes", "NO") for line in lines[-8:]] == [True] * 8


def test_a_peer_solves_the_same_positions(monkeypatch):
    monkeypatch.syspath_prepend(SCRIPTS / "checks")
    peers = importlib.import_module("peers")
    assert peers.graphstore("tictactoe")["positions"] == 5_478
    pytest.importorskip("pyspiel", reason="the package open_spiel is not installed")
    measured = peers.measured("openspiel_states", ("pyspiel",), "tictactoe", 60)
    assert measured == {"seconds": pytest.approx(1, abs=60), "positions": 5_478}


def test_a_peer_that_takes_too_long_is_named(run):
    done = run("checks/peers.py", "--limit", "0.001", "--json")
    notes = {(row["game"], row["note"]) for row in json.loads(done.stdout)}
    assert {("tictactoe", "over 0.001 s"), ("connect(4,4)", "over 0.001 s")} <= notes


@SLOW
def test_calls_of_networkx_are_timed_on_both_graphs(run):
    done = run("checks/algorithms.py", "mnk(2,2,2)", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert set(found) == {"machine", "game", "calls"}
    for row in found["calls"]:
        assert {"call", "DiGraph", "first", "GameGraph", "times faster"} <= row.keys(), row


def test_menace_is_trained_for_every_seed(run, output_of):
    words = ("--seeds", "3", "--games", "600", "--last", "100")
    learned = output_of("checks/menace_seeds.py", *words)
    assert [each["seed"] for each in learned] == [0, 1, 2]
    assert all(abs(each["won"] + each["drawn"] + each["lost"] - 1) < 1e-9 for each in learned)
    assert all(each["won"] == 0 for each in learned)  # against a perfect opponent
    done = run("checks/menace_seeds.py", *words)
    spreads = re.findall(
        r"least ([\d.]+), quartiles ([\d.]+) ([\d.]+) ([\d.]+), most ([\d.]+)", done.stdout
    )
    assert len(spreads) == 4
    assert all(list(spread) == sorted(spread, key=float) for spread in spreads)


@SLOW
def test_a_strategy_is_walked_through_exact_boards(run, output_of, tmp_path):
    prove(tmp_path / "proof.db")
    done = run("analysis/walk_strategy.py", tmp_path / "proof.db", "--plies", "7")
    assert (done.returncode, done.stderr) == (0, "")
    boards = [int(line.split()[1].replace(",", "")) for line in done.stdout.splitlines()[1:-1]]
    # 8 choose n boards after X's answer to n marks of O in field 4; 8 - n replies of O to each.
    assert boards == [1, 1, 8, 8, 56, 28, 168, 56]
    assert done.stdout.splitlines()[-1].endswith("X wins in 0; the rest was not walked")
    rows = output_of("analysis/walk_strategy.py", tmp_path / "proof.db", "--plies", "7")
    assert [(row["ply"], row["boards"], row["x_wins"]) for row in rows] == [
        (ply, number, 0) for ply, number in enumerate(boards)
    ]


def test_a_walk_through_a_file_that_is_not_a_strategy_fails_in_one_line(line, tictactoe_db):
    assert "tictactoe" in line("analysis/walk_strategy.py", tictactoe_db)


@pytest.fixture(scope="session")
def vanishing_db(tmp_path_factory):
    """A game with cycles."""
    path = tmp_path_factory.mktemp("built") / "vanishing.db"
    build("vanishing", path)
    return path


def counts(file):
    with (DATA / file).open(newline="") as lines:
        return list(csv.DictReader(lines))


@pytest.mark.parametrize("stored", [True, False])
def test_the_census_of_tictactoe_is_the_published_one(output_of, tictactoe_db, stored):
    census = output_of("analysis/census.py", tictactoe_db if stored else "tictactoe")
    assert (census["game"], census["wrong"]) == ("tictactoe", [])
    assert [
        (row["ply"], row["positions"], row["states"], row["published"]) for row in census["census"]
    ] == [
        (int(row["ply"]), int(row["states"]), int(row["canon"]), int(row["canon"]))
        for row in counts("tictactoe_ply_counts.csv")[:-1]
    ]


def test_a_game_too_large_to_build_has_a_census_of_its_first_plies(output_of):
    census = output_of("analysis/census.py", "connect(7,6)", "--plies", 6)
    assert [row["positions"] for row in census["census"]] == [1, 7, 49, 238, 1120, 4263, 16422]
    assert census["wrong"] == []


def test_the_census_of_a_game_with_cycles_ends_and_agrees_with_the_database(
    output_of, vanishing_db
):
    walked = output_of("analysis/census.py", "vanishing")["census"]
    stored = output_of("analysis/census.py", vanishing_db)["census"]
    assert walked == [{name: row[name] for name in walked[0]} for row in stored]


def test_a_census_that_is_not_the_published_one_fails(line, copy):
    with closing(sqlite3.connect(copy)) as connection, connection:
        connection.execute("UPDATE state SET ply = 3 WHERE id = (SELECT max(id) FROM state)")
    assert "states, OEIS A008907 says" in line("analysis/census.py", copy)


def replies(graph, state):
    """Return the worths of the moves to distinct children, for the mover."""
    return [-graph.nodes[child]["value"] for child in graph[state]]


def test_traps_and_only_moves_follow_from_the_values_of_children(
    output_of, tictactoe_db, tictactoe
):
    traps = output_of("analysis/traps.py", tictactoe_db, "--limit", 1000)
    choices = {
        state: (data["value"], replies(tictactoe, state))
        for state, data in tictactoe.nodes.items()
        if data["value"] >= 0 and len(tictactoe[state]) > 1
    }
    assert traps["summary"] == [
        {
            "value": name,
            "with_choice": len(shares),
            "only_moves": sum(v == value and w.count(v) == 1 for v, w in choices.values()),
            "mean_share": round(sum(shares) / len(shares), 4),
        }
        for name, value in (("win", 1), ("draw", 0))
        if (shares := [1 - w.count(v) / len(w) for v, w in choices.values() if v == value])
    ]
    worst = traps["worst"]
    assert len(worst) == sum(set(w) != {v} for v, w in choices.values())
    assert [trap["share"] for trap in worst] == sorted(
        (trap["share"] for trap in worst), reverse=True
    )
    states = {data["position"]: state for state, data in tictactoe.nodes.items()}
    for trap in worst:
        state = states[trap["position"]]
        kept = [
            edge["moves"]
            for child, edge in tictactoe[state].items()
            if -tictactoe.nodes[child]["value"] == trap["value"]
        ]
        assert (trap["keep"], trap["moves"]) == (len(kept), sorted(chain(*kept)))
        if trap["value"] == 0:  # the score of the move into it is the share of replies that lose
            assert trap["share"] == pytest.approx(tictactoe.nodes[state]["score"])


@pytest.mark.parametrize("positions", [False, True])
def test_counts_by_remoteness_are_those_of_the_oracle(output_of, tictactoe_db, oracle, positions):
    wanted = Counter()
    for row in oracle:
        if row["value"] != "0":
            wanted[int(row["remoteness"]), row["value"]] += int(row["orbit"]) if positions else 1
    rows = output_of("analysis/remoteness.py", tictactoe_db, *["--positions"] * positions)
    found = {(row["remoteness"], "1"): row["wins"] for row in rows}
    found |= {(row["remoteness"], "-1"): row["losses"] for row in rows}
    assert {key: count for key, count in found.items() if count} == wanted
    assert sum(row["draws"] for row in rows) == (1068 if positions else 151)


def test_endless_draws_have_a_row_without_a_number(output_of, vanishing_db):
    rows = output_of("analysis/remoteness.py", vanishing_db)
    assert rows[-1] == {"remoteness": None, "wins": 0, "draws": 951, "losses": 0}
    assert sum(row["wins"] for row in rows) == 5719  # small_games.jsonl
    assert sum(row["losses"] for row in rows) == 2520


def test_remoteness_is_drawn_to_a_new_file(run_script, line, tictactoe_db, tmp_path):
    picture = tmp_path / "remoteness.png"
    words = ("analysis/remoteness.py", tictactoe_db, "--plot", picture)
    code, _, err = run_script(*words)
    assert (code, err) == (0, "")
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert f"{picture} exists" in line(*words)
    assert "exists" in line(*words[:3], tictactoe_db)


def test_disagreements_are_those_of_games_played_out(output_of, tictactoe_db, tictactoe):
    @cache
    def mean(state):  # for the player to move
        moves = [-mean(child) for child, edge in tictactoe[state].items() for _ in edge["moves"]]
        return Fraction(sum(moves)) / len(moves) if moves else tictactoe.nodes[state]["value"]

    expected = {}
    for state, data in tictactoe.nodes.items():
        if not data["ended"]:
            worth = {child: -mean(child) for child in tictactoe[state]}
            liked = [child for child in worth if worth[child] == max(worth.values())]
            kept = max(-tictactoe.nodes[child]["value"] for child in liked)
            moves = sorted(move for child in liked for move in tictactoe[state][child]["moves"])
            gap = float(abs(data["value"] - mean(state)))
            expected[data["position"]] = (pytest.approx(gap), moves, data["value"] - kept)
    answer = output_of("analysis/disagreement.py", tictactoe_db, "--limit", 1000)
    found = answer["positions"]
    assert {row["position"]: (row["gap"], row["random"], row["costs"]) for row in found} == expected
    assert found == sorted(found, key=lambda row: -round(row["gap"], 9))
    assert answer["in_play"] == 627
    wrong = output_of("analysis/disagreement.py", tictactoe_db, "--wrong", "--limit", 1000)
    assert wrong["positions"] == [row for row in found if row["costs"]]
    # docs/explanation/q-tables.md: optimal and random have no best move in common.
    assert answer["misled"] == len(wrong["positions"]) == 10


@pytest.mark.parametrize("play", ["all", "keeping", "best"])
def test_what_a_critical_state_dominates_cannot_be_reached_without_it(
    output_of, store, tictactoe_db, tictactoe, play
):
    best = set(store.sql("SELECT state, child FROM best_move"))
    value = {state: data["value"] for state, data in tictactoe.nodes.items()}
    moves = nx.DiGraph(
        edge
        for edge in tictactoe.edges
        if play == "all"
        or (play == "keeping" and value[edge[0]] == -value[edge[1]])
        or edge in best
    )
    ended = {state for state, data in tictactoe.nodes.items() if data["ended"]}
    state_of = {data["position"]: state for state, data in tictactoe.nodes.items()}
    reached = nx.descendants(moves, 0) | {0}
    answer = output_of("analysis/critical.py", tictactoe_db, "--play", play, "--limit", 1000)
    assert answer["states"] == len(reached)
    found = {state_of[row["position"]]: row for row in answer["critical"]}
    for state, row in found.items():
        without = moves.subgraph(set(moves) - {state})
        left = nx.descendants(without, 0) | {0} if state else set()
        lost = reached - left - {state}
        assert (row["only_way_to"], row["ends"]) == (len(lost), len(lost & ended))
        assert row["forced"] == (not left & ended)
    assert all(
        len(moves.pred[child]) > 1 or parent in found
        for parent, child in moves.subgraph(reached).edges
    )


READERS = (
    "analysis/census.py",
    "analysis/traps.py",
    "analysis/remoteness.py",
    "analysis/disagreement.py",
    "analysis/critical.py",
)


@pytest.mark.parametrize("script", READERS)
def test_a_file_that_is_missing_or_not_a_database_is_refused_in_one_line(line, tmp_path, script):
    assert "there is no file" in line(script, tmp_path / "missing.db")
    (tmp_path / "text.db").write_text("no database")
    assert "is not a graphstore database" in line(script, tmp_path / "text.db")


@pytest.mark.parametrize("script", READERS)
def test_a_script_prints_tables_of_any_game(run_script, heap, tmp_path, script):
    build(f"{heap}:Heap", tmp_path / "heap.db")
    code, out, err = run_script(script, tmp_path / "heap.db")
    assert (code, err) == (0, "")
    assert "---" in out


def test_errors_of_scripts_are_one_line(line, tictactoe_db, vanishing_db, tmp_path):
    assert "can come back to a position" in line("analysis/disagreement.py", vanishing_db)
    nowhere = tmp_path / "nowhere" / "picture.png"
    assert "create it first" in line("analysis/remoteness.py", tictactoe_db, "--plot", nowhere)


@SLOW
@pytest.mark.skipif(
    shutil.which("chromedriver") is None and os.environ.get("GRAPHSTORE_CHROMIUM") != "required",
    reason="chromium and chromedriver are not installed",
)
def test_the_pictures_of_the_explorer_are_small_and_those_that_the_documents_show(tmp_path):
    done = in_own_process("checks/screenshots.py", "--output", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    taken = sorted(path.name for path in tmp_path.iterdir())
    assert taken == sorted(path.name for path in (SCRIPTS.parent / "docs/images").glob("*.png"))
    for path in tmp_path.iterdir():
        data = path.read_bytes()
        assert data.startswith(b"\x89PNG")
        assert 5_000 < len(data) < 150_000


def test_pictures_need_a_browser(line, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    error = line("checks/screenshots.py", "--output", tmp_path)
    assert "chromium and chromedriver are needed" in error


@SLOW
def test_many_readers_at_once_get_right_answers_and_no_error():
    done = in_own_process("checks/load.py", "--quick", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    result = json.loads(done.stdout)
    assert (result["errors"], result["wrong"], result["clients"]) == (0, [], 64)
    by_kind = {each["kind"]: each for each in result["pages"]}
    kinds = {"index", "position", "row", "table", "row json", "table json", "sql"}
    assert kinds | {"all but slow sql"} <= by_kind.keys()
    assert all(each["requests"] and not each["errors"] for each in result["pages"])
    assert not any(by_kind[kind]["busy"] for kind in kinds - {"sql"})
    assert by_kind["all but slow sql"]["requests"] >= 64


def test_a_wrong_answer_is_an_error_of_the_load(monkeypatch, tictactoe_db):
    monkeypatch.syspath_prepend(SCRIPTS / "checks")
    load = importlib.import_module("load")
    first, *others = load.read(str(tictactoe_db), seed=0)
    assert first.row["position"] == ".../.../..."
    right, wrong = json.dumps([first.row]), json.dumps([others[0].row])
    (asked,) = [page for page in load.pages_of(first) if page.kind == "row json"]
    assert asked.right(200, right)
    assert not asked.right(200, wrong)
    assert not asked.right(500, right)


BUILT = ("tictactoe", 765, 2270)  # states and moves: tests/data/mnk.jsonl


@pytest.fixture(scope="module")
def scaling_run(tmp_path_factory):
    """The file of a run of `scaling.py` for a tiny game."""
    done = in_own_process(
        *("checks/scaling.py", BUILT[0], "--no-cluster", "--rounds", "1", "--parts", "2"),
        *("--fewest", "1e-9", "--json"),
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[0] == f"1/3  memory {BUILT[0]} ..."
    file = tmp_path_factory.mktemp("scaling") / "run.json"
    file.write_text(done.stdout)
    return file


@SLOW
def test_a_game_in_parts_sends_each_child_to_each_part_that_asks_once(scaling_run):
    memory, one, two = json.loads(scaling_run.read_text())["runs"]
    name, states, moves = BUILT
    assert {(each["game"], each["states"], each["moves"]) for each in (memory, one, two)} == {
        (name, states, moves)
    }
    assert len({each["digest"] for each in (memory, one, two)}) == 1
    ask, answer = 8, 1 + 4 + 8 + 8 + 8  # bytes: an id; a Worth
    sent = [{phase: took["bytes"] for phase, took in run["took"].items()} for run in (one, two)]
    assert sent[0] == {"explore": states * ask, "solve": (states - 1) * answer}
    assert states * ask <= sent[1]["explore"] <= (moves + 1) * ask
    assert sent[1]["solve"] % answer == 0
    assert sent[1]["solve"] // answer == sent[1]["explore"] // ask - 1
    for parts, each in enumerate((one, two), 1):  # a block is explored, expanded again and solved
        steps = {phase: took["steps"] for phase, took in each["took"].items()}
        assert steps == {"explore": parts * each["waves"], "solve": 2 * parts * each["waves"]}


@SLOW
def test_the_tables_of_a_run_are_printed_again_and_put_into_a_document(run, scaling_run, tmp_path):
    again = run("checks/scaling.py", "--again", scaling_run)
    assert (again.returncode, again.stderr) == (0, "")
    json_again = run("checks/scaling.py", "--again", scaling_run, "--json").stdout
    assert json_again == scaling_run.read_text()
    document = tmp_path / "scale.md"
    document.write_text("# Title\n<!-- measured -->\nold\n<!-- end of measured -->\nText.\n")
    assert run("checks/scaling.py", "--again", scaling_run, "--into", document).returncode == 0
    assert document.read_text() == (
        f"# Title\n<!-- measured -->\n{again.stdout}<!-- end of measured -->\nText.\n"
    )


def test_the_tables_of_the_document_are_those_of_its_stored_run(run):
    docs = SCRIPTS.parent / "docs" / "explanation"
    tables = run("checks/scaling.py", "--again", docs / "scale.json").stdout
    assert tables in (docs / "costs.md").read_text()


def test_a_run_that_cannot_be_read_again_is_refused_in_one_line(run, line, tmp_path):
    (tmp_path / "other.json").write_text("{}")
    for file in (tmp_path / "other.json", tmp_path / "missing.json"):
        assert "is not JSON of an earlier run" in line("checks/scaling.py", "--again", file)
    assert "at least 1" in run("checks/scaling.py", "--rounds", "0").stderr


PERIODS = {  # R. K. Guy, C. A. B. Smith, The G-values of various games (1956), with corrections
    "0.77": (12, 71),  # Kayles; Winning Ways, chapter 4
    "0.07": (34, 53),  # Dawson's Kayles
    "0.137": (34, 52),  # Dawson's Chess
}


@pytest.mark.parametrize("code", PERIODS)
def test_nimbers_of_an_octal_game_have_the_published_period(output_of, code):
    found = output_of("analysis/nimbers.py", code, "--heaps", 200)
    assert (found["period"], found["first"]) == PERIODS[code]
    few = output_of("analysis/nimbers.py", code, "--heaps", 120)
    assert few["nimbers"] == found["nimbers"][:121]
    assert few["period"] is None  # too few heaps prove it


@pytest.mark.parametrize("code", ["0.77", "0.137", "4.3", "4.0714", "0.165"])
def test_nimbers_of_an_octal_game_are_those_of_a_plain_recursion(output_of, code):
    known = [0]
    for heap in range(1, 81):
        below = set()
        for taken, digit in enumerate(map(int, code.replace(".", ""))):
            rest = heap - taken
            below |= {0} if rest == 0 and digit & 1 else set()
            below |= {known[rest]} if rest > 0 and digit & 2 else set()
            below |= {known[a] ^ known[rest - a] for a in range(1, rest) if digit & 4}
        known.append(min({*range(len(below) + 1)} - below))
    assert output_of("analysis/nimbers.py", code, "--heaps", 80)["nimbers"] == known


def test_nimbers_of_an_octal_game_are_printed_with_the_heaps(run, line):
    done = run("analysis/nimbers.py", "0.77", "--heaps", "170")
    assert done.stdout.startswith("     0: 0 1 2 3 1 4 3 2 1 4 2 6 4 1 2 7 1 4 3 2\n    20: 1 4 6 ")
    assert done.stdout.endswith("0.77: period 12 from heap 71\n")
    done = run("analysis/nimbers.py", ".6", "--heaps", "5")  # no period of 0.6 is known
    assert done.stdout == "     0: 0 0 1 2 0 1\n0.6: the heaps up to 5 show no period\n"
    assert "the code is '0.9'" in line("analysis/nimbers.py", "0.9")
