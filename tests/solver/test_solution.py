"""Every state has the values of a slow search and of independent programs."""

import csv
import json
import math
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from conftest import DATA, TableGame, random_table, table_games
from hypothesis import given

from graphstore import explore, find_game, solve
from graphstore.rules.game import DRAW, IN_PLAY, LOSS, WIN
from graphstore.solver.columns import NONE

MNK = [json.loads(line) for line in (DATA / "mnk.jsonl").read_text().splitlines()]


class Reference:
    """The solved columns of a table, computed directly from their definitions."""

    def __init__(self, table, states):
        self.table = table
        self.states = states
        self.wins = cache(self.wins)
        self.loses = cache(self.loses)
        self.ties = cache(self.ties)
        self.random_value = cache(self.random_value)
        self.chooser = cache(self.chooser)
        self.drifter = cache(self.drifter)

    def children(self, state):
        """List the states that the moves lead to, none if the game is over."""
        row = self.table[state]
        return list(row.values()) if isinstance(row, dict) else []

    def wins(self, state, plies):
        """Return whether the player to move can win within so many plies."""
        if not self.children(state):
            return self.table[state] == WIN
        return plies > 0 and any(self.loses(child, plies - 1) for child in self.children(state))

    def loses(self, state, plies):
        """Return whether the opponent can force a win within so many plies."""
        if not self.children(state):
            return self.table[state] == LOSS
        return plies > 0 and all(self.wins(child, plies - 1) for child in self.children(state))

    def value(self, state):
        """Return +1, 0, -1; every win takes fewer plies than there are states."""
        plies = len(self.states)
        return WIN if self.wins(state, plies) else LOSS if self.loses(state, plies) else DRAW

    def ties(self, state, plies):
        """Return whether a way through drawn states ends in a tie within so many plies."""
        if self.value(state) != DRAW or not self.children(state):
            return self.value(state) == DRAW
        return plies > 0 and any(self.ties(child, plies - 1) for child in self.children(state))

    def remoteness(self, state):
        """Return the plies to the end under best play, or NONE."""
        done = {WIN: self.wins, LOSS: self.loses, DRAW: self.ties}[self.value(state)]
        return next((plies for plies in range(len(self.states)) if done(state, plies)), NONE)

    def score(self, state):
        """Return +1 or -1 for the player who just moved, or the share of losing replies."""
        replies = set(self.children(state))
        if self.value(state) != DRAW or not replies:
            return -self.value(state)
        return sum(self.value(reply) == WIN for reply in replies) / len(replies)

    def win_depth(self, state):
        """Count the moves of the player who just moved; the opponent moves first."""
        players = ["opponent", "mover"] * len(self.states)
        decided = self.value(state) == LOSS
        return players[: self.remoteness(state)].count("mover") if decided else NONE

    def lose_depth(self, state):
        """Count the moves of the opponent."""
        players = ["opponent", "mover"] * len(self.states)
        decided = self.value(state) == WIN
        return players[: self.remoteness(state)].count("opponent") if decided else NONE

    def random_value(self, state):
        """Return the exact mean over the moves of a graph without cycles."""
        children = self.children(state)
        if not children:
            return Fraction(self.table[state])
        return -sum(map(self.random_value, children)) / len(children)

    def chooser(self, state):
        """Return the mean for the player to move if the opponent plays at random."""
        children = self.children(state)
        if not children:
            return Fraction(self.table[state])
        return max(-self.drifter(child) for child in children)

    def drifter(self, state):
        """Return the mean for the player to move if he plays at random, the opponent his best."""
        children = self.children(state)
        if not children:
            return Fraction(self.table[state])
        return sum(-self.chooser(child) for child in children) / len(children)

    def best_response(self, state):
        """Return the mean for the player who just moved if the opponent plays at random."""
        return -self.drifter(state)

    def cyclic(self):
        """Return whether some state leads back to itself."""
        edges = ((state, child) for state in self.states for child in self.children(state))
        return not nx.is_directed_acyclic_graph(nx.DiGraph(edges))


def assert_is_the_reference(game):
    graph = explore(game)
    solution, states = solve(graph), list(graph)
    reference = Reference(game.table, states)
    for column in ("value", "remoteness", "score", "win_depth", "lose_depth"):
        found = getattr(solution, column).tolist()
        assert (column, found) == (column, [getattr(reference, column)(state) for state in states])
    assert solution.cyclic == reference.cyclic()
    for column in ("random_value", "best_response"):
        found = getattr(solution, column)
        if solution.cyclic:
            assert np.isnan(found).all()
        else:
            exact = [float(getattr(reference, column)(state)) for state in states]
            assert found.tolist() == pytest.approx(exact, abs=1e-12)
            assert not np.signbit(found[found == 0]).any()


@given(table_games(cyclic=False))
def test_without_cycles_every_column_is_the_definition(game):
    assert_is_the_reference(game)


@given(table_games(cyclic=True))
def test_with_cycles_every_column_is_the_definition(game):
    assert_is_the_reference(game)


def larger_game(seed, *, cyclic):
    """Return a game of 20 to 60 positions."""
    return TableGame(random_table(np.random.default_rng(seed), 20, 60, cyclic=cyclic), 0)


@pytest.mark.parametrize("cyclic", [False, True])
def test_on_larger_graphs_every_column_is_the_definition(cyclic):
    for seed in range(300):
        assert_is_the_reference(larger_game(seed, cyclic=cyclic))


@pytest.mark.parametrize("length", [2000, 2001])
@pytest.mark.parametrize("result", [WIN, LOSS])
def test_a_game_may_be_longer_than_recursion_is_deep(length, result):
    table = {place: {0: place + 1} for place in range(length)} | {length: result}
    solution = solve(explore(TableGame(table, 0)))
    assert solution.remoteness.tolist() == list(range(length, -1, -1))
    assert solution.value[0] == solution.random_value[0] == result * (-1) ** length
    assert solution.best_response[0] == -solution.value[0]


# Small games that show one definition each.


def test_the_winner_hurries_and_the_loser_delays():
    hurry = {0: {0: 1, 1: 2}, 1: LOSS, 2: {0: 3}, 3: {0: 1}}  # to win in one ply or in three
    assert solve(explore(TableGame(hurry, 0))).remoteness.tolist() == [1, 0, 2, 1]
    delay = {0: {0: 1, 1: 2}, 1: WIN, 2: {0: 3}, 3: {0: 1}}  # to lose in one ply or in three
    assert solve(explore(TableGame(delay, 0))).remoteness.tolist() == [3, 0, 2, 1]


def test_an_endless_draw_is_not_a_tie():
    endless = solve(explore(TableGame({0: {0: 1}, 1: {0: 0}}, 0)))
    assert endless.value.tolist() == [DRAW, DRAW]
    assert endless.remoteness.tolist() == [NONE, NONE]
    tie = solve(explore(TableGame({0: {0: 1}, 1: {0: 0, 1: 2}, 2: DRAW}, 0)))
    assert tie.value.tolist() == [DRAW, DRAW, DRAW]
    assert tie.remoteness.tolist() == [2, 1, 0]


def test_the_way_to_a_tie_does_not_lead_through_a_mistake():
    # From 0, one ply leads to 1, a won state for the opponent, which also could tie;
    # the value is kept only through 2 and 3.
    table = {0: {0: 1, 1: 2}, 1: {0: 4, 1: 5}, 2: {0: 3}, 3: {0: 4}, 4: DRAW, 5: LOSS}
    solution = solve(explore(TableGame(table, 0)))
    assert (solution.value[1], solution.value[0], solution.remoteness[0]) == (WIN, DRAW, 3)


def test_a_trap_is_measured_in_distinct_replies():
    # At 1 the opponent has two moves to 2, which lose, and one move to 3, which ties.
    table = {0: {0: 1}, 1: {0: 2, 1: 2, 2: 3}, 2: WIN, 3: DRAW}
    solution = solve(explore(TableGame(table, 0)))
    assert solution.score[1] == 1 / 2
    assert solution.random_value[1] == pytest.approx(-2 / 3)  # but moves are chosen at random


def test_a_missing_number_is_none_not_a_sentinel():
    graph = explore(TableGame({0: {0: 0, 1: 1, 2: 2}, 1: WIN, 2: {0: 0}}, 0))
    assert solve(graph).at(0) == {
        "value": 0,
        "remoteness": None,
        "score": 1 / 3,
        "win_depth": None,
        "lose_depth": None,
        "random_value": None,
        "best_response": None,
    }


# The laws, on games of thousands of states.


@pytest.fixture(scope="module", params=["tictactoe", "mnk(3,3,3,misere)", "mnk(4,3,3)"])
def solved(request):
    graph = explore(find_game(request.param))
    solve(graph)
    return graph


def best(graph, column):
    """Return the greatest entry among every open state's children."""
    edges = graph.edges_by_move
    counts = np.diff(edges.offset)
    begin = edges.offset[:-1][counts > 0]
    return np.maximum.reduceat(column[edges.child], begin)


def test_value_is_the_best_childs_negated(solved):
    in_play = solved.states.outcome == IN_PLAY
    value = solved.solution.value
    assert np.array_equal(value[in_play], best(solved, -value))


def test_a_won_state_has_a_lost_child_one_ply_nearer_to_the_end(solved):
    in_play = solved.states.outcome == IN_PLAY
    value, remoteness = solved.solution.value, solved.solution.remoteness
    nearest = -best(solved, np.where(value == LOSS, -remoteness, -999))
    won = in_play & (value == WIN)
    assert np.array_equal(remoteness[won], 1 + nearest[won[in_play]])


def test_a_lost_state_is_one_ply_from_its_most_remote_child(solved):
    in_play = solved.states.outcome == IN_PLAY
    value, remoteness = solved.solution.value, solved.solution.remoteness
    lost = in_play & (value == LOSS)
    assert np.array_equal(remoteness[lost], 1 + best(solved, remoteness)[lost[in_play]])


def test_the_best_move_is_the_first_by_score_then_win_depth_then_lose_depth(solved):
    solution = solved.solution
    for row, state in enumerate(solved):
        children = [solution.at(solved.row(child)) for child in solved[state]]
        if children:
            by = [(-c["score"], c["win_depth"] or 0, -(c["lose_depth"] or 0)) for c in children]
            chosen = children[by.index(min(by))]
            assert chosen["value"] == -solution.value[row]
            if chosen["value"] != DRAW:
                assert chosen["remoteness"] == solution.remoteness[row] - 1


def test_the_best_response_is_at_least_as_good_as_best_or_random_play(solved):
    solution = solved.solution
    assert (solution.best_response >= -solution.value).all()
    assert (solution.best_response >= -solution.random_value - 1e-12).all()
    assert (solution.best_response <= 1).all()
    assert (solution.best_response[solution.value == LOSS] == 1).all()


def test_solving_twice_gives_the_same_columns_and_keeps_the_last():
    graph = explore(find_game("tictactoe"))
    first = solve(graph)
    second = solve(graph)
    assert graph.solution is second
    for name, one in first._asdict().items():
        other = getattr(second, name)
        assert np.array_equal(one, other), name
        assert one is None or one.dtype == other.dtype


def test_progress_rises_to_the_number_of_states():
    calls = []
    solve(explore(find_game("tictactoe")), progress=lambda *call: calls.append(call))
    assert {(phase, total) for phase, _, total in calls} == {("solve", 765)}
    done = [settled for _, settled, _ in calls]
    assert all(before <= after for before, after in pairwise(done))
    assert done[-1] == 765


# The numbers of independent programs: tests/data/SOURCE.md says where each comes from.


def census(graph, weights):
    """Return the counts of a row of mnk.jsonl, each state counted as its weight says."""
    states, edges, solution = graph.states, graph.edges_by_move, graph.solution
    ended = states.outcome != IN_PLAY

    def number(rows):
        return int(weights[rows].sum())

    return {
        "states": int(weights.sum()),
        "move_edges": int(weights[edges.parent].sum()),
        "terminal_win": number(ended & (solution.value != DRAW)),
        "terminal_draw": number(ended & (solution.value == DRAW)),
        "W": number(solution.value == WIN),
        "D": number(solution.value == DRAW),
        "L": number(solution.value == LOSS),
        "root": int(solution.value[graph.row(0)]),
        "per_ply": np.bincount(states.ply, weights).astype(int).tolist(),
        "max_win_plies": int(solution.remoteness[solution.value == WIN].max()),
        "max_lose_plies": int(solution.remoteness[solution.value == LOSS].max()),
    }


@pytest.mark.parametrize(
    "row", [row for row in MNK if row["canonical"]], ids="{0[game]}({0[m]},{0[n]},{0[k]})".format
)
def test_the_counts_are_the_known_ones(row):
    misere = ",misere" if row["game"] == "mnk_misere" else ""
    graph = explore(find_game(f"mnk({row['m']},{row['n']},{row['k']}{misere})"))
    solution = solve(graph)

    ones = np.ones(len(graph), dtype=np.int64)
    canonical = census(graph, ones) | {"distinct_edges": graph.number_of_edges()}
    assert {name: row[name] for name in canonical} == canonical

    size = ("game", "m", "n", "k")
    all_positions = next(
        other
        for other in MNK
        if not other["canonical"] and all(other[name] == row[name] for name in size)
    )
    by_orbit = census(graph, graph.states.orbit.astype(np.int64))
    by_orbit["distinct_edges"] = by_orbit["move_edges"]  # no two moves lead to one position
    assert {name: all_positions[name] for name in by_orbit} == by_orbit

    if row["root"] != DRAW:  # the file says 0 for a drawn root, where graphstore counts to the tie
        assert solution.remoteness[graph.row(0)] == row["root_plies"]


def rows_of(file):
    """Read a CSV file, each cell an int, a float, a text, or None where it is blank."""

    def cell(text):
        try:
            return float(text) if "." in text else int(text)
        except ValueError:
            return text or None

    with (DATA / file).open(newline="") as lines:
        for row in csv.DictReader(lines):
            yield {name: text if name == "position" else cell(text) for name, text in row.items()}


def unpacked(state32):
    """Return the packed masks, X's above O's: bits 26 to 9 of the seed's 32-bit map."""
    return (int(state32) >> 9) & 0x3FFFF


def winner(node):
    """Return the winner, by the name in the tables."""
    if not node["ended"]:
        return None
    return {DRAW: "draw", LOSS: "first" if node["to_move"] == 2 else "second"}[node["value"]]


def test_tictactoe_is_the_known_table_row_for_row(tictactoe):
    rows = {unpacked(row["state32"]): row for row in rows_of("tictactoe_765.csv")}
    assert sorted(rows) == list(tictactoe)
    for state, row in rows.items():
        found = tictactoe.nodes[state]
        columns = ["position", "ply", "to_move", "orbit", "value", "win_depth", "lose_depth"]
        if row["value"] != DRAW:  # the table leaves the remoteness of draws blank
            columns.append("remoteness")
        assert {name: found[name] for name in columns} == {name: row[name] for name in columns}
        assert found["score"] == pytest.approx(row["score"], abs=1e-6)
        assert winner(found) == row["ended"]
        children = map(unpacked, str(row["children"] or "").split())
        assert sorted(tictactoe[state]) == sorted(children)
        assert sum(len(moves) for _, _, moves in tictactoe.edges(state, "moves")) == row["moves"]


def test_tictactoe_has_the_known_counts_at_every_ply(tictactoe):
    known = {row["ply"]: row for row in rows_of("tictactoe_ply_counts.csv")}
    found = {ply: Counter() for ply in known}
    names = {None: "nonterm", "first": "xwin", "second": "owin", "draw": "draw"}
    for node in tictactoe.nodes.values():
        kinds = [("states", "canon"), (names[winner(node)], "c_" + names[winner(node)])]
        if not node["ended"]:
            kind = "nt_" + {WIN: "win", DRAW: "draw", LOSS: "loss"}[node["value"]]
            kinds.append((kind, "c_" + kind))
        for by_orbit, canonical in kinds:
            for ply in (node["ply"], "total"):
                found[ply] += {by_orbit: node["orbit"], canonical: 1}
    for ply, row in known.items():
        assert {"ply": ply} | {name: found[ply][name] for name in list(row)[1:]} == row


@pytest.mark.parametrize(("cell", "score"), [(0, 0.8), (1, 0.4), (4, 0.5)])
def test_the_openings_of_tictactoe_have_the_known_scores(tictactoe, cell, score):
    # tictactoe_765.csv: a corner loses for 4 of the 5 distinct replies, an edge for 2, the
    # centre for 1 of 2.
    (opening,) = [child for _, child, moves in tictactoe.edges(0, "moves") if cell in moves]
    assert tictactoe.nodes[opening]["score"] == score


def test_random_play_of_tictactoe_has_the_known_value(tictactoe):
    # The games that end at plies 5 to 9 with a line, all equally likely among the 9!/(9 - ply)!
    # ways to place so many marks: 1440 + 47952 + 81792 for X, 5328 + 72576 for O (they and the
    # 46080 draws add up to the 255168 of OEIS A061526).
    games = {5: 1440, 6: -5328, 7: 47952, 8: -72576, 9: 81792}
    assert sum(map(abs, games.values())) + 46080 == 255168
    exact = sum(Fraction(wins, math.perm(9, ply)) for ply, wins in games.items())
    assert exact == Fraction(187, 630)
    assert round(float(exact), 7) == 0.2968254
    assert tictactoe.nodes[0]["random_value"] == pytest.approx(float(exact))


LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))


@cache
def expected(cells, mark, chooser):
    """Return the mean for the chooser, mark to move, if the other player plays at random.

    On boards of nine characters, in all orientations, in fractions: no symmetry, no array.
    """
    for who in "XO":
        if any(all(cells[cell] == who for cell in line) for line in LINES):
            return Fraction(1 if who == chooser else -1)
    results = [
        expected(cells[:cell] + mark + cells[cell + 1 :], "XO"[mark == "X"], chooser)
        for cell in range(9)
        if cells[cell] == "."
    ]
    if not results:
        return Fraction(0)
    return max(results) if mark == chooser else sum(results) / len(results)


def test_the_best_response_to_random_play_of_tictactoe_is_a_search_without_symmetry(tictactoe):
    for cell, exact in ((0, (191, 192)), (1, (379, 384)), (4, (95, 96))):
        (opening,) = [child for _, child, moves in tictactoe.edges(0, "moves") if cell in moves]
        cells = "." * cell + "X" + "." * (8 - cell)
        assert expected(cells, "O", "X") == Fraction(*exact)
        assert tictactoe.nodes[opening]["best_response"] == pytest.approx(float(Fraction(*exact)))
    for data in dict(tictactoe.nodes(data=True)).values():
        mark, mover = "XO" if data["to_move"] == 1 else "OX"
        exact = expected(data["position"].replace("/", ""), mark, mover)
        assert data["best_response"] == pytest.approx(float(exact), abs=1e-12)
