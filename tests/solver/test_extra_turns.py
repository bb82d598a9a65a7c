"""Games in which a move may keep the turn, against a plain minimax."""

import re
import sqlite3
from ast import literal_eval
from contextlib import closing
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from turngames import Boxes, Kalah, random_turn_game, turn_games

from graphstore import PlainGame, Store, build, build_folder, explore, search, solve, train, verify
from graphstore.games import rules_of
from graphstore.play.arena import Arena
from graphstore.play.match import Match
from graphstore.store.folder.folder import Folder
from graphstore.store.words import move_in_words
from graphstore.web.tables.queries import QUERIES
from graphstore.web.tables.sorting import alternates


class Minimax:
    """The columns of a state, by recursion over positions as a user's class has them."""

    def __init__(self, game, plies):
        self.game, self.plies = game, plies  # no win takes more plies
        for name in ("best", "tie", "random", "chooser", "drifter"):
            setattr(self, name, cache(getattr(self, name)))

    def children(self, at):
        """List the children, each with +1 if the same player is to move there, else -1."""
        if self.game.outcome(at) is not None:
            return []
        mine, below = self.game.to_move(at), [self.game.play(at, m) for m in self.game.moves(at)]
        return [(child, 1 if self.game.to_move(child) == mine else -1) for child in below]

    def best(self, at, plies):
        """Return the value if the game stops as a draw, all moves, and those of the winner."""
        if not self.children(at):
            return self.game.outcome(at), 0, 0
        found = {1: [], 0: [], -1: []}
        for child, sign in self.children(at) if plies else ():
            value, moves, own = self.best(child, plies - 1)
            found[sign * value].append((moves + 1, own + (sign * value == 1)))
        if found[1]:
            return 1, *min(found[1])
        return (-1, *max(found[-1])) if found[-1] and not found[0] else (0, 0, 0)

    def value(self, at):
        return self.best(at, self.plies)[0]

    def tie(self, at, plies):
        """Return the moves to a tie through drawn states, or infinity."""
        if self.value(at) or not plies:
            return float("inf")
        below = [1 + self.tie(child, plies - 1) for child, _ in self.children(at)]
        return min(below, default=0)

    def random(self, at):
        if not self.children(at):
            return Fraction(self.game.outcome(at))
        below = [sign * self.random(child) for child, sign in self.children(at)]
        return sum(below) / len(below)

    def chooser(self, at):
        """Return the mean for the player to move, who plays best against random moves."""
        below = [
            self.chooser(child) if sign == 1 else -self.drifter(child)
            for child, sign in self.children(at)
        ]
        return max(below) if below else Fraction(self.game.outcome(at))

    def drifter(self, at):
        """Return the mean for the player to move, who moves at random against best play."""
        below = [
            self.drifter(child) if sign == 1 else -self.chooser(child)
            for child, sign in self.children(at)
        ]
        return sum(below) / len(below) if below else Fraction(self.game.outcome(at))

    def row(self, at, *, cyclic):
        """Return the columns of a state, with None for NULL."""
        value, moves, own = self.best(at, self.plies)
        replies = {child: sign * self.value(child) for child, sign in self.children(at)}
        score = -float(value)
        if value == 0:
            moves = self.tie(at, self.plies + 1)
            score = sum(worth == -1 for worth in replies.values()) / max(len(replies), 1)
        return {
            "value": value,
            "remoteness": None if moves == float("inf") else moves,
            "score": score,
            "win_depth": own if value == -1 else None,
            "lose_depth": own if value == 1 else None,
            "random_value": None if cyclic else pytest.approx(float(self.random(at)), abs=1e-12),
            "best_response": None if cyclic else pytest.approx(-float(self.drifter(at)), abs=1e-12),
        }


def assert_is_minimax(game):
    graph = explore(game)
    solution, reference = solve(graph), Minimax(game, len(graph))
    for row, at in enumerate(graph):
        assert solution.at(row) == reference.row(at, cyclic=solution.cyclic), at


@pytest.mark.parametrize("cyclic", [False, True])
def test_every_column_is_that_of_a_plain_minimax(cyclic):
    @given(turn_games(cyclic=cyclic))
    def check(game):
        assert_is_minimax(game)

    check()
    for seed in range(12):
        assert_is_minimax(random_turn_game(seed, cyclic=cyclic))


def test_dots_and_boxes_and_kalah_have_the_values_of_a_minimax():
    # The results of dots and boxes are known; -1 of 1x1 is that of four lines drawn in turn.
    for size, value in (((1, 1), -1), ((2, 1), 0), ((1, 2), 0)):
        game = Boxes(*size)
        graph = explore(game)
        found = solve(graph).at(int(graph.states.ply.argmin()))
        assert found["value"] == Minimax(game, game.lines).value(game.start()) == value
        assert found["remoteness"] == game.lines
    graph = explore(Kalah())
    solution, reference = solve(graph), Minimax(Kalah(), 30)
    for row, text in enumerate(graph.texts(graph.states.id)):
        assert solution.at(row) == reference.row(literal_eval(text), cyclic=False)


GAMES = [
    *(random_turn_game(seed, cyclic=cyclic) for seed in (0, 2) for cyclic in (False, True)),
    Boxes(2, 1),
    Kalah(),
]


@pytest.fixture(scope="module", params=range(len(GAMES)))
def solved(request, tmp_path_factory):
    """A game in which a move keeps the turn, and its database."""
    game, path = GAMES[request.param], tmp_path_factory.mktemp("turns") / "game.db"
    assert explore(game).keeps is not None
    build(game, path)
    with Store.open(path, rules=game) as store:
        yield game, store


def test_a_build_in_parts_is_the_game_that_is_built_in_memory(solved, tmp_path):
    game, store = solved
    for parts in (1, 3):
        report = build_folder(game, tmp_path / f"{parts}.parts", parts=parts)
        assert Folder.open(report.file).info["digest"] == store.info["digest"]


def test_verify_finds_a_correct_game_right_and_a_wrong_cell_wrong(solved, tmp_path):
    _, store = solved
    for sample in (None, 1, 5, 10**6):
        assert verify(store, sample=sample, seed=1).ok
    path = tmp_path / "wrong.db"
    for column in ("value", "remoteness", "score", "win_depth", "lose_depth", "best_response"):
        path.write_bytes(store.path.read_bytes())
        with closing(sqlite3.connect(path)) as connection:
            change = f"UPDATE state SET {column} = {column} - 1 WHERE id = ?"
            if column in ("score", "best_response"):
                change = change.replace("- 1", "* 0.5 + 0.125")
            ((state,),) = connection.execute(
                f"SELECT id FROM state WHERE {column} IS NOT NULL AND NOT ended AND "
                f"coalesce({column}, 0) > 0 LIMIT 1"
            ).fetchall() or [(None,)]
            connection.execute(change, (state,))
            connection.commit()
        if state is not None:
            with Store.open(path) as wrong:
                named = {(each.column, each.row.split()[0]) for each in verify(wrong).problems}
            assert (column, str(state)) in named


def test_views_probes_and_lines_rank_moves_for_the_player_who_moves(solved):
    _, store = solved
    states = {row[0]: row[1:] for row in store.sql("SELECT id, value, remoteness FROM state")}
    table = {(row[0], row[1]): row[2:] for row in store.sql(Q_TABLE)}
    best = {}
    for state, *cells in store.sql("SELECT * FROM best_move"):
        best.setdefault(state, set()).add(tuple(cells))
    arena = Arena.of(store.graph())
    for state, (value, remoteness) in states.items():
        probe = store.probe(state)
        assert best.get(state, set()) == {
            (m.move, m.state, m.score, m.win_depth, m.lose_depth) for m in probe.best
        }
        row = int(np.searchsorted(arena.state, state))
        edges = range(arena.first[row], arena.first[row + 1])
        found = {arena.state[arena.child[edge]] for edge in edges if arena.best[edge]}
        assert found == {move.state for move in probe.best}
        for move in probe.moves:
            optimal, *_, keeps = table[state, move.move]
            assert "-" not in move_in_words(move)
            assert (optimal, keeps) == (
                -move.value,
                probe.to_move == store.probe(move.state).to_move,
            )
        if not probe.ended:
            assert max(-move.value for move in probe.moves) == value == -probe.best[0].value
        if value:
            assert len(store.line(state).moves) == remoteness
            own = probe.lose_depth if value == 1 else probe.win_depth
            winner = probe.to_move if value == 1 else 3 - probe.to_move
            movers = [each.to_move for each in store.line(state).probes[:-1]]
            assert movers.count(winner) == own
    q_table, listed = store.q_table(), list(store.sql(Q_TABLE))
    assert [row[:5] for row in listed] == [
        (
            *(int(n) for n in list(row)[:2]),
            int(row["optimal"]),
            *(None if np.isnan(x) else x for x in (row["random"], row["best_response"])),
        )
        for row in q_table
    ]


NUMBERS = ("state", "move", "optimal", "random", "best_response")
Q_TABLE = """
SELECT q.state, q.move, q.optimal, q.random, q.best_response, p.to_move = c.to_move
FROM q_table AS q JOIN state AS p ON p.id = q.state JOIN state AS c ON c.id = q.child
ORDER BY q.state, q.move
"""


def test_agents_learn_from_the_moves_that_they_made(solved, tmp_path):
    game, store = solved
    path = tmp_path / "agents.db"
    path.write_bytes(store.path.read_bytes())
    for number, against in enumerate(("self", "random", "perfect")):
        train(path, f"menace-{number}", games=20, against=against, seed=1)
    with Store.open(path, rules=game) as learned:
        assert verify(learned).ok  # the lengths and winners of games, too


def test_both_databases_hold_the_same_views(place):
    build(Kalah(), place)
    rows = {
        view: [*Store.open(place, rules=Kalah()).sql(f"SELECT * FROM {view} ORDER BY state, move")]
        for view in ("best_move", "q_table")
    }
    graph = explore(Kalah())
    with Store.open(place, rules=Kalah()) as store:
        assert verify(store).ok
        arrays = store.q_table()
    assert len(rows["q_table"]) == graph.number_of_moves() == len(arrays)
    assert [row[4] for row in rows["q_table"]] == arrays["optimal"].tolist()
    value = solve(graph).value
    worth = np.where(graph.keeps, 1, -1) * value[graph.edges_by_move.child]
    assert arrays["optimal"].tolist() == worth.tolist()


def test_perfect_players_take_their_own_turns(solved):
    _, store = solved
    start = store.start()
    with Match(store, "perfect", "mistakes=0.5", seed=1) as match:
        while not match.over:
            player = match.probe.to_move
            assert match.player == player
            assert match.by == ("perfect" if player == start.to_move else "mistakes=0.5")
            assert match.reply().player == player
        if match.result.how in ("won", "drawn"):
            mine = {match.result.winner: 1, None: 0}.get(
                start.to_move, 0 if match.result.winner is None else -1
            )
            assert mine >= start.value


class OnArrays:
    """Rules without `search_from`."""

    def __init__(self, game):
        self.rules_of_one = game

    def __getattr__(self, name):
        if name in ("search_from", "rules_of_one"):
            raise AttributeError(name)
        return getattr(self.rules_of_one, name)


def test_a_search_finds_the_value_of_a_minimax():
    for seed in range(5):
        for cyclic in (False, True):
            game = random_turn_game(seed, cyclic=cyclic)
            graph = explore(game)
            for row, at in list(enumerate(graph))[:8]:
                value = Minimax(game, len(graph)).value(at)
                assert search(game, at).value == solve(graph).value[row] == value
                for rules in (game, OnArrays(rules_of(game))):
                    searched = search(rules, at, max_states=0)  # not by solving all states below
                    assert searched.value == value or (cyclic and searched.why == "endless")


def test_a_folder_has_the_views_of_a_database(solved, tmp_path):
    game, store = solved
    folder = Folder.open(build_folder(game, tmp_path / "game.parts").file)
    for view in ("best_move", "q_table"):
        statement = f"SELECT * FROM {view} ORDER BY state, move"
        assert list(folder.sql(statement)) == list(store.sql(statement))


class FewAgain(PlainGame):
    """A tree of two plies, in which only moves near the middle keep the turn."""

    def start(self):
        """Return the root."""
        return 0

    def moves(self, position):
        """Return 200 moves at the root, else 100."""
        return range(1, 101 if position else 201)

    def play(self, position, move):
        """Return the child of that number."""
        return 100 * (position + 1) + move if position else move

    def outcome(self, position):
        """End after two moves."""
        return position % 3 - 1 if position > 200 else None

    def to_move(self, position):
        """Keep the turn after one of the first moves."""
        return 1 if position == 0 or (position > 200 and position - 1 not in AGAIN) else 2


AGAIN = range(10_100, 10_200)


def test_moves_that_keep_the_turn_are_found_among_many(tmp_path):
    for game, is_same in ((FewAgain(), False), ("kalah(2,2)", False), ("mnk(2,2,2)", True)):
        build(game, tmp_path / "game.db", force=True)
        with Store.open(tmp_path / "game.db") as store:
            assert alternates(store) == is_same


def test_stored_questions_and_sorted_pages_see_moves_that_keep_the_turn(solved):
    _, store = solved
    assert not alternates(store)
    keeping = {
        state: 0 for (state,) in store.sql("SELECT id FROM state WHERE NOT ended AND value >= 0")
    }
    moves = {}
    for row in store.sql(Q_TABLE):
        moves.setdefault(row[0], []).append(row[2])
    values = dict(store.sql("SELECT id, value FROM state"))
    for state in keeping:
        keeping[state] = sum(optimal == values[state] for optimal in moves[state])
    only = {state for state, n in keeping.items() if n == 1 and len(moves[state]) > 1}
    sql = QUERIES["only_moves"].sql
    asked = store.sql(re.sub(":value|:ply", "''", sql))
    assert {row[-1] for row in asked} == {*sorted(only)[:100]}
    sql = QUERIES["moves"].sql.replace("[", "").replace("]", "")
    for state in list(moves)[:20]:
        asked = store.sql(
            sql.replace("canonical(:position)", str(state)).replace(":position", "'x'")
        )
        found = [(row[-1], row[2], row[-3], row[-2]) for row in asked]
        probe = store.probe(state)
        ranked = [(m.state, -m.value, m.win_depth, m.lose_depth) for m in probe.moves]
        assert found == ranked
