"""A search finds the values of the full solution, or says that the value is unknown."""

import json
import os
import random
import signal
import subprocess
import time
from itertools import pairwise

import numpy as np
import pytest
from conftest import GRAPHSTORE, TableGame, error_line, openpty, some_of, table_games
from hypothesis import given, settings
from hypothesis import strategies as st
from ultimateplay import GAMES, ORACLE, Below, after, solved

from graphstore import PlainGame, explore, find_game, solve
from graphstore.errors import PositionError, RulesError
from graphstore.games.ultimate.fields import tables
from graphstore.rules.adapter import accept
from graphstore.rules.game import IN_PLAY, WIN, Nimble
from graphstore.solver.search import search

RULES = tuple(GAMES)


def late(rules, free, seed):
    """Return a position of random play with so many playable spots."""
    game, rng = GAMES[rules], random.Random(f"{rules}/{free}/{seed}")
    while True:
        at, left = game.start_states(), 81
        while left > free and game.outcomes(at)[0] == IN_PLAY:
            children = game.expand(at).child
            at = children[[rng.randrange(len(children))]]
            left = int(tables().free[list(game.merged(int(at[0])).fields)].sum())
        if left == free and game.outcomes(at)[0] == IN_PLAY:
            return int(at[0])


class Arrays:
    """A game without its search rules, so that a search must use the array verbs."""

    max_plies = 100

    def __init__(self, game):
        self._game = game

    def __getattr__(self, name):
        if name == "search_from":
            raise AttributeError(name)
        return getattr(self._game, name)


# Values


def test_all_states_of_tictactoe_have_their_values(tictactoe):
    game = find_game("tictactoe")
    for row, state in enumerate(tictactoe.states.id.tolist()):
        assert search(game, state).value == tictactoe.solution.value[row]
        if row % 20 == 0:
            assert search(game, state, max_states=1).value == tictactoe.solution.value[row]


@pytest.mark.parametrize("method", ["retrograde", "alpha-beta"])
@pytest.mark.parametrize(
    "name",
    ["connect(4,4)", "mnk(3,3,3,misere)", "nim(3,4,5)", "nim(3,4,5,misere)", "hexapawn", "morris"],
)
def test_a_sample_of_every_game_has_its_values(name, method):
    game = find_game({"hexapawn": "hexapawn(3,4)", "morris": "morris(orthogonal)"}.get(name, name))
    graph = explore(game)
    solution = solve(graph)
    limit = 1 if method == "alpha-beta" else 1_000_000
    rows = [r for r in range(len(graph.states.id)) if graph.states.outcome[r] == IN_PLAY]
    if method == "alpha-beta" and name == "connect(4,4)":
        rows = [row for row in rows if graph.states.ply[row] >= 5]
    for row in random.Random(0).sample(rows, 8):
        found = search(game, int(graph.states.id[row]), max_states=limit)
        if name == "morris" and method == "alpha-beta":
            assert found.value in (None, solution.value[row])
            assert (found.value is None) == (found.why == "endless")
        else:
            assert (found.value, found.why) == (solution.value[row], None)


@settings(max_examples=30)
@given(
    st.booleans().flatmap(lambda cyclic: table_games(cyclic=cyclic)), st.sampled_from([1, 10**6])
)
def test_any_table_has_its_values(game, limit):
    graph = explore(game)
    solution = solve(graph)
    for row, state in enumerate(graph.states.id.tolist()):
        for entries in (2, 10**6):
            found = search(game, state, max_states=limit, max_entries=entries)
            assert found.value in (None, solution.value[row])
            assert (found.value is None) == (found.why == "endless")
            assert found.value is not None or limit == 1


@settings(max_examples=20)
@given(table_games(cyclic=False))
def test_a_table_without_cycles_is_always_found_out(game):
    game.max_plies = 14
    graph = explore(game)
    solution = solve(graph)
    for row, state in enumerate(graph.states.id.tolist()):
        for rules in (game, Arrays(accept(game))):
            found = search(rules, state, max_entries=3, max_states=1)
            assert found.value == solution.value[row]


def test_a_long_game_needs_no_recursion():
    table = {n: {0: n + 1} for n in range(20_000)} | {20_000: -1}
    game = TableGame(table, 0)
    game.max_plies = 20_000
    assert search(game).value == -1
    assert search(game, 1).value == 1


def test_cyclic_play_is_unknown_only_if_there_are_too_many_states():
    game = TableGame({0: {0: 1}, 1: {0: 0}}, 0)
    assert search(game).value == 0
    assert search(game, max_states=1)[3:5] == (None, "endless")
    game.max_plies = 5  # which is not so
    assert (search(game).value, search(game).method) == (0, "retrograde")


# Ultimate


@pytest.mark.parametrize("row", ORACLE["late_positions"], ids=lambda row: str(len(row["moves"])))
def test_late_positions_of_ultimate_are_the_oracles(row):
    game = GAMES[row["rules"]]
    found = search(game, after(game, row["moves"]))
    assert (found.value, found.method) == (row["value"], "alpha-beta")


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("free", some_of([12, 10, 14], 3))
def test_all_positions_below_a_late_one_have_their_values(rules, free):
    game, rng = GAMES[rules], random.Random(0)
    for seed in range(2):
        graph, solution, root = solved(Below(game, late(rules, free, seed)))
        rows = [root, *rng.sample(range(len(graph.states.id)), min(100, len(graph.states.id)))]
        for row in rows:
            for entries in (100, 10**6):
                found = search(game, int(graph.states.id[row]), max_entries=entries)
                assert found.value == solution.value[row], game.texts(graph.states.id[[row]])


def children(search_rules, node):
    """Return the nodes of all moves, by the tables that `look` uses."""
    low, found = node & (1 << 68) - 1, []
    active = low >> 1 & 15
    for field in range(9) if active == 9 else (active,):
        for spot, add in search_rules._marks(node, field, low & 1):
            child = node - (active << 1) + 1 - 2 * (low & 1) + add
            found.append((9 * field + spot, child + ((9 if child >> 5 + spot & 1 else spot) << 1)))
    return found


@pytest.mark.parametrize("rules", some_of(RULES, 3))
def test_nodes_are_the_positions_of_the_game(rules):
    game, rng = GAMES[rules], np.random.default_rng(0)
    looker = game.search_from(int(game.start_states()[0]))[1].__self__
    wave, seen = np.repeat(game.start_states(), 80), 0
    while wave.size:
        in_play = wave[game.outcomes(wave) == IN_PLAY]
        if not in_play.size:
            break
        parent, move, child = game.expand(in_play)
        for row, position in enumerate(in_play.tolist()):
            here = parent == row
            node = looker.node(game.merged(position))
            after = [looker.node(game.merged(each)) for each in child[here].tolist()]
            assert children(looker, node) == list(zip(move[here].tolist(), after, strict=True))
            wins = bool((game.outcomes(child[here]) == -WIN).any())
            assert not wins or looker.look(node, WIN) is True
            kept = looker.look(node, WIN)
            assert isinstance(kept, bool) or {*kept} <= {*after}
            seen += len(after)
        pick = rng.integers(0, 2**31, len(in_play)) % np.bincount(parent)
        begin = np.searchsorted(parent, np.arange(len(in_play)))
        wave = child[begin + pick]
    assert seen > 15_000


# Limits and mistakes


def test_a_timeout_gives_unknown():
    for game in (GAMES["closed"], find_game("connect(6,5)"), find_game("morris(king)")):
        found = search(game, timeout=0)
        assert (found.value, found.why) == (None, "timeout")
    began = time.perf_counter()
    assert search(GAMES["closed"], timeout=0.3).value is None
    assert time.perf_counter() - began < 5


@pytest.mark.parametrize("limit", [0.0005, 0.002, 0.01, 0.05])
def test_a_timeout_never_gives_a_wrong_value(limit):
    for seed in range(4):
        position = late("closed", 22, seed)
        right = search(GAMES["closed"], position).value
        assert search(GAMES["closed"], position, timeout=limit).value in (None, right)


def test_progress_is_reported():
    reports = []
    search(GAMES["closed"], timeout=0.5, progress=lambda *step: reports.append(step))
    assert reports
    assert all(a[1] < b[1] for a, b in pairwise(reports))


def test_games_offer_their_rules_for_a_search():
    assert isinstance(GAMES["open"], Nimble)
    assert isinstance(accept(TableGame({0: 0}, 0)), Nimble)
    assert not isinstance(find_game("tictactoe"), Nimble)


@pytest.mark.parametrize("position", [-1, 2**63, 2**62 + 5, "XX./.../...", "", "X" * 1000])
def test_a_text_or_id_that_is_not_a_position_is_refused(position):
    with pytest.raises(PositionError):
        search(find_game("tictactoe"), position)


class Broken(PlainGame):
    """Rules that fail at their second position."""

    max_plies = 3

    def start(self):
        """Return 0."""
        return 0

    def moves(self, position):
        """Return no move at 2."""
        return [1, 2] if position == 0 else []

    def play(self, position, move):
        """Return the move."""
        return move

    def outcome(self, position):
        """Return no result at all."""
        return


def test_rules_that_break_a_law_are_named():
    with pytest.raises(RulesError, match=r"1 has no move and no result"):
        search(Broken())


# The command


def test_the_command_prints_words_or_json(run):
    done = run("solve", "tictactoe", "XO./.X./...")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("tictactoe: XO./.X./...\nO to move: X wins (value -1)\nretro")
    data = json.loads(run("solve", "nim(1,2)", "start", "--json").stdout)
    assert data | {"game": "nim(1,2)", "position": "1,2", "to_move": None, "value": 1} == data
    assert "over: X has won (value -1)" in run("solve", "tictactoe", "XXX/OO./...").stdout
    assert "drawn (value 0)" in run("solve", "tictactoe").stdout


def test_the_command_says_that_the_value_is_unknown(run):
    done = run("solve", "ultimate(closed)", "--timeout", "0.2")
    assert (done.returncode, done.stderr) == (0, "")
    assert "X to move: unknown (it did not end in time)" in done.stdout
    data = json.loads(run("solve", "ultimate(open)", "--timeout", 0.1, "--json").stdout)
    assert (data["value"], data["why"]) == (None, "timeout")


def test_the_command_takes_rules_from_a_file(run, tmp_path):
    (tmp_path / "rules.py").write_text(
        "from graphstore import PlainGame\n"
        "class Countdown(PlainGame):\n"
        "    max_plies = 9\n"
        "    def start(self): return 9\n"
        "    def moves(self, heap): return [n for n in (1, 2) if n <= heap]\n"
        "    def play(self, heap, take): return heap - take\n"
        "    def outcome(self, heap): return -1 if heap == 0 else None\n"
    )
    assert "the other player wins (value -1)" in run("solve", tmp_path / "rules.py").stdout
    done = run("solve", tmp_path / "rules.py:Countdown", "8", "--json")
    assert json.loads(done.stdout)["value"] == 1


def test_the_command_fails_in_one_line(run):
    assert "'XX.'" in error_line(run("solve", "tictactoe", "XX."))
    assert "no" in error_line(run("solve", "chess"))
    assert error_line(run("solve", "tictactoe", "--timeout", "-1"), 2)


def test_ctrl_c_in_a_terminal_exits_with_130():
    here, there = openpty()
    process = subprocess.Popen(
        [*GRAPHSTORE, "solve", "ultimate(closed)"], stdin=there, stdout=there, stderr=there
    )
    os.close(there)
    shown = b""
    while b"search" not in shown:
        shown += os.read(here, 10_000)
    process.send_signal(signal.SIGINT)
    try:
        while part := os.read(here, 10_000):
            shown += part
    except OSError:  # the other side was closed
        pass
    os.close(here)
    assert process.wait(60) == 130
    assert b"interrupted" in shown


@pytest.mark.parametrize("timeout", [float("nan"), -1.0])
def test_a_timeout_is_a_number_of_seconds(timeout, run):
    with pytest.raises(ValueError, match="0 seconds or more"):
        search(find_game("tictactoe"), timeout=timeout)
    assert error_line(run("solve", "tictactoe", "--timeout", timeout), 2)


def test_where_the_memory_is_full_the_value_is_unknown(monkeypatch):
    game = find_game("nim(1,2)")

    def full(_positions):
        raise MemoryError

    monkeypatch.setattr(game, "expand", full)
    found = search(game)
    assert (found.value, found.why) == (None, "memory")
