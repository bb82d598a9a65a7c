"""Searches of boards of lines: exact values, plies and scores, with and without numba."""

import csv
import io
import json
import sys
from itertools import chain, repeat

import numpy as np
import pytest
from conftest import DATA, error_line, everything, for_all

from graphstore import Solver, explore, find_game, search, solve
from graphstore.rules.bitboard import OnBitboard
from graphstore.rules.game import IN_PLAY
from graphstore.solver import bitboards
from graphstore.solver.bitboards import Bitboards

ORACLE = [json.loads(line) for line in (DATA / "connect_7x6.jsonl").read_text().splitlines()]
GAMES = {  # with the number of states to try
    "connect(4,4)": 6_000,
    "connect(5,4,3)": 2_000,
    "connect(4,4,5)": 1_000,
    "connect(4,4,2)": 1_000,
    "connect(3,4,1)": 10,
    "connect(2,5)": 1_000,
    "tictactoe": 1_000,
    "mnk(4,3,3)": 2_000,
    "mnk(3,4,3,misere)": 800,
    "mnk(3,3,3,misere)": 1_000,
    "mnk(6,1,2)": 1_000,
    "mnk(1,7,3,misere)": 1_000,
    "mnk(2,2,1,misere)": 10,
    "mnk(3,2,9)": 1_000,
}
HARD = "connect(6,5)"


def ignored(_nodes):
    """Count nothing."""


def states(name, number):
    """Return the game, and rows of states in play: (position, value, plies to the end)."""
    graph = explore(name)
    found = solve(graph)
    rows = np.flatnonzero(graph.states.outcome == IN_PLAY)
    if len(rows) > number:
        rows = np.random.default_rng(0).choice(rows, number, replace=False)
    chosen = (graph.states.id[rows], found.value[rows], found.remoteness[rows])
    return find_game(name), list(zip(*(each.tolist() for each in chosen), strict=True))


def late(name, stones, seed):
    """Return a position of random play in play."""
    game, rng = find_game(name), np.random.default_rng(seed)
    while True:
        at = game.start_states()[:1]
        for _ in range(stones):
            at = rng.choice(game.expand(at).child, 1)
            if game.outcomes(at)[0] != IN_PLAY:
                break
        else:
            return int(at[0])


@pytest.fixture
def plain(monkeypatch, without):
    """Search without numba."""
    without("numba")
    bitboards.compiled_run.cache_clear()
    yield
    bitboards.compiled_run.cache_clear()


@pytest.mark.parametrize("name", GAMES)
def test_every_state_has_the_value_and_plies_of_the_full_solution(name):
    game, rows = states(name, GAMES[name])
    for entries in (100_000, 2):
        boards = Bitboards(game.bitboard, entries=entries)
        for position, value, plies in rows[:: 1 if entries > 2 else 10]:
            own, filled = game.stones(position)
            score = boards.score(own, filled, ignored)
            assert boards.worth(score, filled) == (value, plies), game.texts(np.array([position]))


@pytest.mark.slow
def test_a_sample_of_larger_boards_has_the_values_of_the_full_solution():
    graph = explore("connect(5,4)")
    found = solve(graph)
    rows = np.flatnonzero(graph.states.outcome == IN_PLAY)
    rows = np.random.default_rng(0).choice(rows, 10_000)
    searched = Solver("connect(5,4)").search_all(graph.states.id[rows])
    for row, got in zip(rows.tolist(), searched, strict=True):
        assert (got.value, got.remoteness) == (found.value[row], found.remoteness[row])


def test_every_move_of_connect_four_has_the_score_of_another_solver():
    solver = Solver("connect(7,6)")
    fewest = 18 if bitboards.compiled_run() is None else 10 if everything else 14
    for row in ORACLE:
        if row["stones"] < fewest:
            continue
        found = solver.search(row["position"], moves=True)
        assert found.solver_score == row["best"]
        scores = {str(move.move + 1): move.solver_score for move in found.moves}
        assert scores == row["scores"]
        assert [*scores.values()] == sorted(scores.values(), reverse=True)
        for move in found.moves:
            assert move.value == -np.sign(move.solver_score)


@for_all("name", ["connect(4,4)", "tictactoe", "mnk(4,3,3)", "mnk(3,3,3,misere)", "nim(1,2,3)"])
def test_moves_lead_to_positions_with_their_values(name):
    game, rows = states(name, 12)
    solver = Solver(game)
    for limit in (1, 10**6):
        for position, value, plies in rows[:12]:
            found = Solver(game, max_states=limit).search(position, moves=True)
            _, moves, children = game.expand(np.array([position]))
            assert sorted(move.move for move in found.moves) == moves.tolist()
            by_move = dict(zip(moves.tolist(), game.texts(children), strict=True))
            for move in found.moves:
                after = solver.search(by_move[move.move])
                assert (move.position, move.value) == (after.position, after.value)
                assert move.remoteness in (after.remoteness, None)
            best = found.moves[0]
            assert (found.value, -best.value) == (value, value)
            if isinstance(game, OnBitboard):
                assert (found.remoteness, best.remoteness) == (plies, plies - 1)


def test_an_ended_position_has_no_moves():
    found = search("connect(4,4)", "moves:1 2 1 2 1 2 1", moves=True)
    assert (found.value, found.remoteness, found.moves) == (-1, 0, ())
    assert found.solver_score == -((16 + 2 - 7) // 2)


@for_all(("name", "stones"), [("connect(7,6)", 20), ("connect(4,4)", 3), ("mnk(4,4,4)", 5)])
def test_images_of_a_position_have_its_score(name, stones):
    game = find_game(name)
    for seed in range(4):
        at = np.array([late(name, stones, seed)])
        images = [at, game.mirror(at)] if name < "m" else game.symmetry.positions(at)
        warm = Bitboards(game.bitboard, entries=10_000)
        scores = {
            boards.score(*game.stones(int(image[0])), ignored)
            for image in images
            for boards in (warm, Bitboards(game.bitboard, entries=10_000))
        }
        assert len(scores) == 1


# Limits


def test_a_search_that_is_stopped_and_resumed_reports_no_guess():
    position = late(HARD, 9, 1)
    right = search(HARD, position, moves=True)
    by_move = {move.move: move for move in right.moves}
    solver, known = Solver(HARD), 0
    for limit in (0, *(0.001 * 2**n for n in range(20))):
        found = solver.search(position, moves=True, timeout=limit)
        assert found.why in ("timeout", None)
        assert found.value in (None, right.value)
        assert (found.value is None) == (found.solver_score is None) == (found.remoteness is None)
        for move in found.moves:
            assert move.value is None or move == by_move[move.move]
        known = sum(move.value is not None for move in found.moves)
        if found.why is None:
            break
    assert known == len(right.moves)
    assert found[3:5] == right[3:5]


def test_a_search_that_pauses_examines_the_same_positions(monkeypatch, plain):
    def nodes(pause):
        monkeypatch.setattr(bitboards, "PLAIN_PAUSE", pause)
        found = search(HARD, late(HARD, 14, 0))
        return found.nodes, found.solver_score

    assert nodes(3) == nodes(10**6)


def test_numba_and_python_examine_the_same_positions(monkeypatch):
    pytest.importorskip("numba")
    found = {}
    with_numba = bitboards.compiled_run()
    runs = [lambda: with_numba, lambda: None, chain([None] * 9, repeat(with_numba)).__next__]
    for run in runs:  # the last one changes during a search
        monkeypatch.setattr(bitboards, "compiled_run", run)
        for name, stones in ((HARD, 16), ("mnk(4,4,4)", 6), ("mnk(4,4,3,misere)", 4)):
            got = search(name, late(name, stones, 0), moves=True)
            found.setdefault(name, []).append((got.nodes, got.entries, got.moves))
    for each in found.values():
        assert each == each[:1] * 3


def test_without_numba_one_line_says_what_to_install(plain, run, monkeypatch):
    monkeypatch.setattr(bitboards, "PLAIN", 10)
    typed = "\n".join(find_game(HARD).texts(np.array([late(HARD, 16, seed) for seed in range(4)])))
    done = run("solve", HARD, "--file", "-", stdin=typed.encode())
    assert (done.returncode, done.stdout.count("alpha-beta")) == (0, 4)
    assert done.stderr == (
        "graphstore: the search is faster with numba: pip install 'graphstore[fast]'\n"
    )


def test_a_numba_that_cannot_be_imported_is_named(plain, caplog, monkeypatch):
    monkeypatch.delitem(sys.modules, "numba")
    monkeypatch.setattr(sys, "meta_path", [Refused()])
    caplog.set_level("INFO", "graphstore.solver.bitboards")
    assert bitboards.compiled_run() is None
    assert caplog.messages == ["the search runs without numba: numba needs an older numpy"]


class Refused:
    """A finder of modules that refuses all."""

    def find_spec(self, name, path=None, target=None):
        raise ImportError("numba needs an older numpy")


def test_the_table_counts_its_entries():
    solver = Solver(HARD, max_entries=1_000)
    position = late(HARD, 14, 0)
    found = solver.search(position)
    table = solver._table._table
    assert found.entries == np.count_nonzero(table[1::2]) <= 1_000


# Many positions


def test_many_positions_have_the_results_of_each():
    texts = [row["position"] for row in ORACLE if row["stones"] >= 20]
    found = search("connect(7,6)", texts)
    assert [each.solver_score for each in found] == [
        row["best"] for row in ORACLE if row["stones"] >= 20
    ]
    assert [each.position for each in found] == texts
    assert search("tictactoe", ["X../.../...", "moves:4"])[1].position == ".../.X./..."
    assert search("tictactoe", ["4", "0"]).position == "O../.X./..."
    assert search("tictactoe", [4, 0]).position == "O../.X./..."
    assert search("connect(4,4)", ["112", "moves:1"])[0].position == "..../..../O.../XX.."
    assert [each.value for each in Solver("nim(1,2)").search_all(["1,1", [21], 0])] == [-1, -1, -1]


def test_a_caller_may_stop_before_the_last_result():
    found = Solver("connect(7,6)").search_all([ORACLE[-1]["position"], "start", "start"])
    assert next(found).solver_score == ORACLE[-1]["best"]
    found.close()  # while it searches the empty board, which takes very long


# The command


def test_the_command_prints_every_move(run):
    done = run("solve", "connect(7,6)", ORACLE[-1]["position"], "--moves")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[3].startswith("plies to the end ")
    assert lines[3].endswith(f", solver score {ORACLE[-1]['best']:+}")
    rows = [line.split() for line in lines[6:]]
    assert {row[1]: int(row[-1]) for row in rows} == ORACLE[-1]["scores"]
    data = json.loads(
        run("solve", "connect(7,6)", ORACLE[-1]["position"], "--moves", "--json").stdout
    )
    assert {move["name"]: move["solver_score"] for move in data["moves"]} == ORACLE[-1]["scores"]
    assert "moves" not in json.loads(run("solve", "tictactoe", "--json").stdout)


def test_the_command_takes_many_positions(run, tmp_path):
    rows = [row for row in ORACLE if row["stones"] >= 28]
    file = tmp_path / "positions.txt"
    file.write_text("".join(f"{row['position']}\n\n" for row in rows), "utf-16")
    done = run("solve", "connect(7,6)", "--file", file, "--moves")
    found = [*csv.DictReader(io.StringIO(done.stdout))]
    assert [int(each["solver_score"]) for each in found] == [row["best"] for row in rows]
    assert len(json.loads(found[0]["moves"])) == len(rows[0]["scores"])
    typed = "\n".join(f"moves:{row['columns_from_1']}" for row in rows).encode()
    done = run("solve", "connect(7,6)", "--file", "-", "--json", stdin=typed)
    objects = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["solver_score"] for each in objects] == [row["best"] for row in rows]
    assert [each["position"] for each in objects] == [row["position"] for row in rows]


def test_a_wrong_line_or_option_is_named(run, tmp_path):
    (tmp_path / "positions.txt").write_text("start\n\nXX.\n")
    line = error_line(run("solve", "tictactoe", "--file", tmp_path / "positions.txt"))
    assert "positions.txt, line 3: " in line
    assert "not both" in error_line(run("solve", "tictactoe", "start", "--file", "-"), 2)
    assert "none.txt" in error_line(run("solve", "tictactoe", "--file", "none.txt"), 2)
    assert run("solve", "tictactoe", "--file", "-", stdin=b"\n").stdout == ""
