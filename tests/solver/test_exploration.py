"""Exploration finds each reachable state once, with every move, or fails with the reason."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from conftest import TableGame, table_games
from hypothesis import given
from turngames import TurnGame

from graphstore import PlainGame, explore, find_game, solve
from graphstore.errors import RulesError, TooLargeError
from graphstore.rules.game import IN_PLAY
from graphstore.solver import exploration

WON_BY_FIRST_AT_PLY_5 = 1_440  # 8 lines x 3! orders x 6 x 5 replies of O
GAMES_OF_TICTACTOE = 255_168  # OEIS A061526(3); A061526(2) = 24


def reached(game):
    """Return {position: fewest moves from a start}, in plain Python."""
    ply, wave, depth = {}, set(game.starts()), 0
    while wave:
        ply |= dict.fromkeys(wave, depth)
        rows = [game.table[position] for position in wave]
        children = {child for row in rows if isinstance(row, dict) for child in row.values()}
        wave, depth = children - ply.keys(), depth + 1
    return ply


def moves_of(graph):
    """Return all (parent, move, child) of a graph, in the order of its arrays."""
    ids, edges = graph.states.id, graph.edges_by_move
    columns = (ids[edges.parent], edges.move, ids[edges.child])
    return list(zip(*(column.tolist() for column in columns), strict=True))


def games_by_length(graph):
    """Return how many different games end after 0, 1, 2, ... moves."""
    edges, ended = graph.edges_by_move, graph.states.outcome != IN_PLAY
    ways = (graph.states.ply == 0).astype(np.int64)
    lengths = []
    while ways.any():
        lengths.append(int(ways[ended].sum()))
        ways = np.bincount(edges.child, ways[edges.parent], len(ways)).astype(np.int64)
    return lengths


@given(table_games(cyclic=True))
def test_the_states_are_those_that_a_slow_search_reaches(game):
    states, ply = explore(game).states, reached(game)
    assert states.id.tolist() == sorted(ply)
    assert states.ply.tolist() == [ply[position] for position in sorted(ply)]
    assert states.orbit.tolist() == [1] * len(ply)
    rows = [game.table[position] for position in sorted(ply)]
    assert states.outcome.tolist() == [IN_PLAY if isinstance(row, dict) else row for row in rows]


@given(table_games(cyclic=True))
def test_every_move_is_kept_by_parent_then_by_move(game):
    assert moves_of(explore(game)) == [
        (parent, move, child)
        for parent in sorted(reached(game))
        if isinstance(game.table[parent], dict)
        for move, child in sorted(game.table[parent].items())
    ]


def test_two_moves_to_one_child_are_two_moves_and_one_edge():
    graph = explore(TableGame({5: {3: 7, 1: 7, 2: 9}, 7: -1, 9: 0}, 5))
    assert moves_of(graph) == [(5, 1, 7), (5, 2, 9), (5, 3, 7)]
    assert graph.number_of_moves() == 3
    assert graph.number_of_edges() == 2


def test_a_move_back_to_the_same_position_is_kept():
    graph = explore(TableGame({0: {0: 0, 1: 1}, 1: 0}, 0))
    assert moves_of(graph) == [(0, 0, 0), (0, 1, 1)]
    assert graph.states.ply.tolist() == [0, 1]


def test_play_starts_from_every_start():
    table = {1: {0: 3}, 2: {0: 4}, 3: 0, 4: -1, 5: 1}
    graph = explore(TableGame(table, 2, 1))
    assert graph.states.id.tolist() == [1, 2, 3, 4]
    assert graph.states.ply.tolist() == [0, 0, 1, 1]


def test_a_start_that_another_start_reaches_has_ply_0():
    graph = explore(TableGame({1: {0: 2}, 2: {0: 3}, 3: {0: 4}, 4: 0}, 1, 3))
    assert graph.states.ply.tolist() == [0, 1, 0, 1]


def test_a_game_may_be_over_where_it_starts():
    graph = explore(TableGame({8: 0, 9: -1, 3: {0: 8}}, 9, 8))
    assert graph.states.id.tolist() == [8, 9]
    assert graph.states.outcome.tolist() == [0, -1]
    assert graph.number_of_moves() == graph.number_of_edges() == 0
    assert solve(graph).remoteness.tolist() == [0, 0]


def test_a_game_that_is_over_has_no_moves_even_if_the_rules_list_some():
    class PlaysOn(TableGame):
        def outcome(self, position):
            return -1 if position == 1 else super().outcome(position)

    assert explore(PlaysOn({0: {0: 1}, 1: {0: 2}, 2: 0}, 0)).states.id.tolist() == [0, 1]


def test_a_start_given_twice_counts_once():
    table = {1: {0: 3}, 3: 0}
    assert moves_of(explore(TableGame(table, 1, 1))) == moves_of(explore(TableGame(table, 1)))


class Mirrored(TableGame):
    """A table in which position 9 - p is the mirror image of p."""

    def symmetries(self, position):
        """Return the mirror image."""
        return [9 - position]


def test_starts_that_mirror_each_other_are_one_state():
    graph = explore(Mirrored({1: {0: 3, 1: 6}, 3: 0}, 8, 1))
    assert graph.states.id.tolist() == [1, 3]
    assert graph.states.orbit.tolist() == [2, 2]
    assert graph.number_of_positions() == 4
    assert moves_of(graph) == [(1, 0, 3), (1, 1, 3)]


@pytest.mark.parametrize("start", [0, 7])
def test_a_position_without_move_or_result_is_refused_by_name(start):
    class Stuck(TableGame):
        def text(self, position):
            return f"<board {position}>"

    with pytest.raises(RulesError, match=r"^Stuck: <board 7> has no move and no result"):
        explore(Stuck({0: {0: 1, 1: 7}, 1: 0, 7: {}}, start))


def test_a_graph_tells_which_moves_keep_the_turn():
    table = {0: {0: 4}, 4: {3: 5}, 5: {0: 6}, 6: 0}
    assert explore(TableGame(table, 0)).keeps is None
    assert explore(TurnGame(table, {0: 1, 4: 2, 5: 1, 6: 2}, 0)).keeps is None
    kept = explore(TurnGame(table, {0: 1, 4: 2, 5: 2, 6: 1}, 0))
    assert kept.keeps.tolist() == [False, True, False]


def test_rules_need_not_say_who_is_to_move():
    class TellsNobody(TableGame):
        def to_move(self, position):
            return None

    table = {0: {0: 1}, 1: {0: 0, 1: 2}, 2: 0}
    assert explore(TableGame(table, 0)).states.to_move.tolist() == [0, 0, 0]
    assert explore(TellsNobody(table, 0)).states.to_move.tolist() == [0, 0, 0]


@pytest.mark.parametrize("limit", [0, 1, 100, 764])
def test_more_states_than_allowed_are_refused(limit):
    with pytest.raises(
        TooLargeError, match=rf"^tictactoe has more than {limit} states .*max_states"
    ):
        explore(find_game("tictactoe"), max_states=limit)


def test_as_many_states_as_allowed_are_allowed():
    assert len(explore(find_game("tictactoe"), max_states=765)) == 765


def test_a_game_without_end_is_stopped_by_the_limit():
    class Endless(PlainGame):
        def start(self):
            return 0

        def moves(self, position):
            return (0,)

        def play(self, position, move):
            return position + 1

        def outcome(self, position):
            return None

    with pytest.raises(TooLargeError, match="Endless has more than 50 states"):
        explore(Endless(), max_states=50)


def test_progress_rises_to_the_number_of_states():
    calls = []
    explore(find_game("tictactoe"), progress=lambda *call: calls.append(call))
    assert {(phase, total) for phase, _, total in calls} == {("explore", None)}
    done = [count for _, count, _ in calls]
    assert all(before < after for before, after in pairwise(done))
    assert (done[0], done[-1]) == (1, 765)


@pytest.mark.parametrize("name", ["tictactoe", "mnk(4,3,3)"])
def test_two_runs_give_the_same_arrays(name):
    first, second = explore(find_game(name)), explore(find_game(name))
    for one, other in zip(
        first.states + first.edges_by_move, second.states + second.edges_by_move, strict=True
    ):
        assert one.dtype == other.dtype
        assert np.array_equal(one, other)


def test_how_many_states_are_expanded_at_once_changes_nothing(monkeypatch, tictactoe):
    monkeypatch.setattr(exploration, "CHUNK", 7)
    graph = explore(find_game("tictactoe"))
    assert moves_of(graph) == moves_of(tictactoe)
    assert np.array_equal(graph.states.ply, tictactoe.states.ply)


def test_the_states_of_a_symmetry_class_still_hold_all_games(tictactoe):
    lengths = games_by_length(tictactoe)
    assert lengths[:6] == [0, 0, 0, 0, 0, WON_BY_FIRST_AT_PLY_5]
    assert sum(lengths) == GAMES_OF_TICTACTOE
    assert sum(games_by_length(explore(find_game("mnk(2,2,2)")))) == 24


LINES = ("012", "345", "678", "036", "147", "258", "048", "246")


class Tuples(PlainGame):
    """Tic-tac-toe in simple Python, on tuples of nine characters."""

    def start(self):
        """Return the empty board."""
        return (".",) * 9

    def moves(self, board):
        """Return the empty cells."""
        return [cell for cell in range(9) if board[cell] == "."]

    def play(self, board, cell):
        """Mark a cell."""
        return (*board[:cell], "-XO"[self.to_move(board)], *board[cell + 1 :])

    def to_move(self, board):
        """Return the player to move, from the numbers of marks."""
        return 1 if board.count("X") == board.count("O") else 2

    def outcome(self, board):
        """Return a loss after a line, a draw on a full board."""
        if {"XXX", "OOO"} & {"".join(board[int(cell)] for cell in line) for line in LINES}:
            return -1
        return None if "." in board else 0

    def symmetries(self, board):
        """Yield the eight images, by turns of the board and of its mirror image."""
        for _ in range(4):
            board = tuple(board[cell] for cell in (2, 5, 8, 1, 4, 7, 0, 3, 6))
            yield from (board, board[6:] + board[3:6] + board[:3])

    def text(self, board):
        """Write the rows from the top."""
        return "/".join("".join(board[row : row + 3]) for row in (0, 3, 6))


@pytest.fixture(scope="module")
def tuples():
    graph = explore(Tuples())
    solve(graph)
    return graph


@pytest.fixture(scope="module")
def same_state(tuples):
    """Return {state of the plain game: state of the built-in game}."""
    game = find_game("tictactoe")
    states = game.canonical(game.read_many(tuples.texts(tuples.states.id)))
    return dict(zip(tuples.states.id.tolist(), states.tolist(), strict=True))


def test_rules_for_one_position_give_the_states_of_the_arrays(tuples, tictactoe, same_state):
    assert sorted(same_state.values()) == list(tictactoe)
    for state, data in tuples.nodes.items():
        known = tictactoe.nodes[same_state[state]]
        sums = ("random_value", "best_response")  # of children in another order
        assert [data[each] for each in sums] == pytest.approx([known[each] for each in sums])
        but = dict.fromkeys(("position", *sums))
        assert data | but == known | but


def test_rules_for_one_position_give_the_edges_of_the_arrays(tuples, tictactoe, same_state):
    def edges(graph, names):
        return Counter((names[parent], names[child]) for parent, _, child in moves_of(graph))

    assert edges(tuples, same_state) == edges(tictactoe, {state: state for state in tictactoe})
    assert tuples.number_of_positions() == tictactoe.number_of_positions() == 5478
