"""A game without a database: searches within a time limit, and players that use them."""

import json

import numpy as np
import pytest
from conftest import check_all, error_line, for_all, graphstore

from graphstore import Match, Player, PositionError, Solver, Store, build, find_game
from graphstore.errors import ArgumentError, GameNameError, StoreError, StoreMissingError
from graphstore.play.searched import SearchedGame
from graphstore.rules.bitboard import OnBitboard

GAMES = {  # with positions to try
    "mnk(3,3,3)": 60,
    "mnk(3,3,3,misere)": 40,
    "connect(4,3,3)": 60,
    "connect(5,2)": 40,
    "hexapawn(3,3)": 30,
    "nim(1,3,4)": 20,
    "vanishing": 5,  # play can return to a position
    "dots_and_boxes(1,2)": 30,  # moves keep the turn
}
AT_ONCE = ".BB/B.W/WW. W"  # one move of hexapawn wins at once, another later
LOST = "X../.O./..."  # the moves 1, 3, 5, 7 of tic-tac-toe are not lost at once
RULES = """
from graphstore import PlainGame

class Race(PlainGame):
    def starts(self):
        return [21]
    def moves(self, left):
        return [take for take in (1, 2, 3) if take <= left]
    def play(self, left, take):
        return left - take
    def outcome(self, left):
        return None if left else -1
"""


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A function that returns the store of a game, and some of its positions in play."""
    folder = tmp_path_factory.mktemp("stored")

    def stored(name, number):
        build(name, folder / f"{len(list(folder.iterdir()))}.db")
        store = Store.open(max(folder.glob("*.db"), key=lambda path: int(path.stem)))
        texts = [text for (text,) in store.sql("SELECT position FROM state WHERE NOT ended")]
        rng = np.random.default_rng(0)
        return store, rng.choice(texts, min(number, len(texts)), replace=False).tolist()

    return stored


@for_all("name", GAMES)
def test_a_search_agrees_with_the_database_and_its_best_moves_are_among_the_best(name, stored):
    store, texts = stored(name, GAMES[name])
    game = SearchedGame(name)
    exact = isinstance(game.game, OnBitboard)
    with store:
        for text in texts:
            right, found = store.probe(text), game.search(game.probe(text))
            assert (found.state, found.to_move) == (right.state, right.to_move)
            assert found.value == right.value
            values = {move.move: move.value for move in right.moves}
            assert {move.move: move.value for move in found.moves} == values
            best = {move.move for move in found.best}
            assert all(values[move] == right.best[0].value for move in best)
            if exact:
                depths = ("remoteness", "win_depth", "lose_depth")
                assert [getattr(found, each) for each in depths] == [
                    getattr(right, each) for each in depths
                ]
                assert {move.move for move in right.best} <= best
                assert right.value == 0 or best == {move.move for move in right.best}
            again = Player(game, seed=1).choose(text)
            assert values[again.move] == right.best[0].value


def test_a_search_that_ends_early_gives_no_value_that_is_not_right():
    known, positions = [], ("moves:3 3 2 2", "moves:3 3 2 2 4", "moves:1 2 3 4 5")
    exact = SearchedGame("connect(5,4)")
    for text in positions:
        right = exact.search(exact.probe(text), seconds=60)
        values = {move.move: (move.value, move.remoteness) for move in right.moves}
        for seconds in (0, 0.003, 0.01, 0.03):
            game = SearchedGame("connect(5,4)", seconds=seconds)
            found = game.search(game.probe(text))
            assert found.value in (None, right.value)
            for move in found.moves:
                assert (move.value, move.remoteness) in ((None, None), values[move.move])
            known.append(sum(move.value is not None for move in found.moves))
            assert game.probe(text) == found  # it is kept
    assert min(known) == 0 < max(known)


@for_all(
    ("game", "start", "moves"),
    [
        ("tictactoe", "start", {4}),  # in the centre
        ("connect(7,6)", "start", {3}),
        ("tictactoe", "XX./OO./...", {2}),  # wins at once
        ("tictactoe", "XX./O../...", {2}),  # all others lose at once
        ("connect(5,4)", "moves:1 3 1 3 1", {0}),  # likewise
        ("kalah(6,4)", "start", {1, 2, 3, 4, 5, 6}),
    ],
)
def test_without_time_a_player_moves_near_the_centre_and_does_not_lose_at_once(game, start, moves):
    with Match(game, "perfect", "person", start=start, seconds=0, seed=1) as match:
        turn = match.reply()
    assert turn.move.move in moves
    assert turn.unsure == (turn.before.value is None or turn.move.value is None)
    assert not turn.lost_value


def test_a_win_at_once_is_known_without_time_and_comes_first():
    with Match("connect(7,6)", "perfect", start="moves:1 2 1 2 1 2", seconds=0) as match:
        turn = match.reply()
        assert (turn.before.value, turn.before.remoteness, turn.unsure) == (1, 1, False)
    found = Solver("connect(7,6)").search("moves:1 2 1 2 1 2", moves=True, timeout=0)
    assert (found.value, found.remoteness, found.why) == (1, 1, "timeout")
    lost = Solver("connect(7,6)").search("moves:1 2 1 2 1 7 2 3 2", moves=True, timeout=0)
    assert (lost.value, lost.remoteness) == (None, None)
    pawns = Solver("hexapawn(3,3)", max_states=1)  # searched without the plies to the end
    found = pawns.search(AT_ONCE, moves=True)
    assert [(move.value, move.remoteness) for move in found.moves][:2] == [(-1, 0), (-1, None)]


@for_all(
    ("position", "line"),
    [("3", "3  wins in 1 ply\n"), ("4", "1  loses in 2 plies\n")],
)
def test_a_hint_without_depths_counts_plies(position, line, warm, tmp_path):
    (tmp_path / "race.py").write_text(RULES)
    done = graphstore("play", "race.py:Race", position, stdin="h\n", cwd=tmp_path)
    assert line in done.stdout


@for_all("given", ["connect(4,4)", "tic-tac-toe", find_game("mnk(3,3,3)")])
def test_a_match_without_a_database_is_played_perfectly_and_recorded(given):
    with Match(given, "perfect", "perfect", seed=1) as match:
        while not match.over:
            assert not match.reply().unsure
        assert match.result.how == "drawn"
        record = match.as_dict()
    assert record["file"] == record["game"] == find_game(match.store.address).name
    assert all(move["value"] == 0 for move in record["moves"])
    assert json.dumps(record)


def test_a_hint_is_searched_and_a_mistake_is_seen_where_the_values_are_known():
    with Match("tictactoe", start="X../.O./...", seed=1) as match:
        assert {move.value for move in match.probe.moves} <= {None, 0, 1}
        assert match.hint().value == 0
        match.play(5)
        match.reply()
        match.hint()
        assert match.first_mistake(1) == next((t for t in match.turns[:1] if t.lost_value), None)
    with Match("tictactoe", start="X.O/.../...") as match:
        best = match.hint().best
        assert match.play(best[0].move).lost_value is False


@pytest.mark.parametrize(
    ("act", "error", "why"),
    [
        (lambda: Match("tictactoe", by="margin"), ArgumentError, "no margins without a database"),
        (lambda: Player("kalah(3,2)", by="margin"), ArgumentError, "no margins"),
        (lambda: Player("tictactoe", "menace"), StoreError, "graphstore build tictactoe"),
        (lambda: Match("nosuch"), StoreMissingError, "nosuch"),
        (lambda: Match("no(such).db"), StoreMissingError, "no(such).db"),
        (lambda: Match("connect(99,9)"), GameNameError, "99 columns"),
        (lambda: Match("connect(7,6)", start="moves:9"), PositionError, "9"),
        (lambda: Match("connect(7,6)", seconds=-1), ArgumentError, "seconds"),
        (lambda: SearchedGame("tictactoe").sql("SELECT 1"), StoreError, "without a database"),
        (lambda: SearchedGame("tictactoe").line(), StoreError, "without a database"),
    ],
)
def test_what_a_game_without_a_database_cannot_do_is_refused(act, error, why):
    with pytest.raises(error, match=r"^[^\n]+$") as raised:
        act()
    assert why in str(raised.value)


def test_the_command_plays_games_by_name_and_says_when_it_is_not_sure(warm, tmp_path):
    (tmp_path / "race.py").write_text(RULES)
    here = {"cwd": tmp_path}
    done = graphstore("play", "connect(7,6)", "--seconds", "0", "--moves", "4 4", **here)
    assert done.returncode == 0
    assert done.stdout.count("perfect is not sure") == 2
    done = graphstore("play", "mnk(5,5,5)", "--seconds", "0", stdin="h\n3\nq\n", **here)
    assert done.stdout.count("not known yet") == 25
    words = ("--seconds", "5", "--first", "machine", "--json", "--moves", "3 3 3 3 3")
    done = graphstore("play", "race.py:Race", *words, **here)
    record = json.loads(done.stdout)
    assert record["result"]["winner"] == 1  # who takes first from 21 leaves 20
    assert [move["value"] for move in record["moves"][::2]] == [-1] * 6
    assert "not sure" not in done.stderr
    check_all(
        [
            (["--learn"], "is a game"),
            (["--by", "margin"], "no margins without a database"),
            (["--against", "menace"], "searched without a database"),
            (["--rules", "race.py:Race"], "--rules are for a database"),
        ],
        lambda words, why: refused(why, "play", "connect(7,6)", *words, **here),
    )


def refused(why, *words, **here):
    done = graphstore(*words, **here)
    assert why in error_line(done, done.returncode)
    assert done.returncode in (1, 2)
