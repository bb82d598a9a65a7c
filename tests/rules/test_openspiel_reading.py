"""Positions and moves of OpenSpiel's games are read in many forms, and within limits."""

import random

import pytest
from conftest import check_all, for_all

from graphstore import build, find_game, search
from graphstore.errors import GameNameError, PositionError
from graphstore.rules.game import move_text, read_move
from graphstore.rules.openspiel import reading

pytest.importorskip("pyspiel", reason="the package open_spiel is not installed")

UNREACHED = (
    "1: ......./......./......./......./......./...x..."  # one stone, and its player to move
)


@for_all(
    ("name", "text", "canonical"),
    [
        *(
            (name, text, "2: x../.o./..x")
            for name in ("tic_tac_toe", "python_tic_tac_toe", "misere(game=tic_tac_toe())")
            for text in (
                "2: x../.o./..x",
                "2:x../.o./..x",
                "x../.o./..x",
                "X../.O./..X",
                "x...o...x",
                "x..\n.o.\n..x\n",
                "  x..\n  .o.\n  ..x",
            )
        ),
        ("connect_four", UNREACHED[3:], "2" + UNREACHED[1:]),
        ("connect_four", "2" + UNREACHED[1:], "2" + UNREACHED[1:]),
        ("nim", "(1): 0 3 5 7", "2: (1): 0 3 5 7"),
        (
            "breakthrough(rows=4,columns=3)",
            "4BBB/3.../2.../1WWW/ABC",
            "1: 4bbb/3.../2.../1www/ abc",
        ),
        (
            "chess",
            "r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3",
            "2: r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3",
        ),
    ],
)
def test_a_board_is_read(name, text, canonical):
    game = find_game(f"openspiel:{name}").game
    assert game.text(game.parse(text)) == canonical


@for_all("name", ["tic_tac_toe", "connect_four", "hex(board_size=5)", "nim", "mnk(m=5,n=5,k=4)"])
def test_the_text_of_each_position_is_read(name):
    game, drawn = find_game(f"openspiel:{name}").game, random.Random(1)
    place = game.start()
    while game.outcome(place) is None:
        place = game.play(place, drawn.choice(game.moves(place)))
        assert find_game(f"openspiel:{name}").game.parse(game.text(place)) == place


def test_a_board_that_either_player_may_have_needs_the_player():
    game = find_game("openspiel:dots_and_boxes(num_rows=2,num_cols=2)").game
    boards = {}
    for place, _ in game._nearest(""):
        boards.setdefault(place.text, []).append(place)
    both = next(board for board, places in boards.items() if len(places) == 2)
    with pytest.raises(PositionError, match=r"write '[12]: .*' or '[12]: "):
        find_game(game.name).game.parse(both)


@for_all(
    ("name", "text", "why"),
    [
        ("tic_tac_toe", "1: x../.o./..x", "is not a position that openspiel:tic_tac_toe can reach"),
        ("tic_tac_toe", "", r"write it like the start, '1: \.\.\./\.\.\./\.\.\.'"),
        ("tic_tac_toe", "xxx/ooo/...", r"such as moves:\(0\.0\)"),
        ("connect_four", UNREACHED, "was not found among 6,[0-9]+ positions"),
        ("connect_four", "nonsense", "write the moves that lead to it, such as moves:0"),
        ("quoridor", "nonsense", "was not found among 6,"),
        ("chess", "nonsense", "was not found among 6,"),
    ],
)
def test_what_is_not_read_is_refused_with_the_way_to_write_it(name, text, why):
    with reading(positions=6_000), pytest.raises(PositionError, match=why) as caught:
        find_game(f"openspiel:{name}").read(text)
    assert "\n" not in str(caught.value)


def test_each_reading_keeps_the_limits_of_its_call(tmp_path):
    game = find_game("openspiel:connect_four")

    def stops(call):
        with pytest.raises(PositionError, match=r"not found among [0-9,]+ positions"):
            call()

    check_all(
        [
            lambda: search(game, UNREACHED, timeout=0.5),
            lambda: search(game, UNREACHED, max_states=2_000),
            lambda: build(game, tmp_path / "four.db", below=[UNREACHED], max_states=2_000),
            lambda: game.read_many([UNREACHED]),
        ],
        stops,
    )


def test_a_timeout_ends_a_reading_early():
    game = find_game("openspiel:connect_four")
    with pytest.raises(PositionError, match=r"not found among [0-9]{1,3} positions"):
        search(game, UNREACHED, timeout=0)


@for_all(
    ("name", "written"),
    [
        ("tic_tac_toe", "(0.0)"),
        ("python_tic_tac_toe", "(0.0)"),
        ("connect_four", "0"),
        ("breakthrough(rows=4,columns=3)", "a4a3"),
        ("dots_and_boxes(num_rows=2,num_cols=2)", "P(h.0.0)"),
        ("nim", "pile:1.take:1;"),
        ("hex", "a1"),
        ("go(board_size=3)", "a1"),
        ("ultimate_tic_tac_toe", "0"),  # names depend on the position
        ("othello", "19"),
    ],
)
def test_moves_are_written_and_read_by_the_names_of_openspiel(name, written):
    rules, drawn = find_game(f"openspiel:{name}"), random.Random(1)
    game = rules.game
    place = game.start()
    assert move_text(rules, game.moves(place)[0]) == written
    for _ in range(6):
        rules.texts(rules.read_many([game.text(place)]))
        for move in game.moves(place):
            assert read_move(rules, move_text(rules, move)) == move
            assert read_move(rules, str(move)) == move
            if move >= 0:
                assert read_move(rules, place.state.action_to_string(move)) == move
        if game.outcome(game.play(place, move)) is None:
            place = game.play(place, drawn.choice(game.moves(place)))


@for_all(
    ("name", "reason"),
    [
        ("tictactoe", "near ones: tic_tac_toe, python_tic_tac_toe"),
        ("Chess", "near ones: chess"),
        ("conect_four(rows=4)", "near ones: connect_four"),
        ("hearts", "it has 4 players, not two"),
        ("solitaire", "it has 1 player, not two"),
        ("backgammon", "it has chance moves"),
        ("python_liars_poker", "it has chance moves"),
        ("phantom_ttt", "information is imperfect"),
        ("python_iterated_prisoners_dilemma", "moves are simultaneous"),
        ("python_team_dominoes", "it has 4 players, not two"),
        ("misere", "Missing parameter game"),
        ("tic_tac_toe(", "Missing closing bracket"),
    ],
)
def test_other_games_are_refused_in_one_line(name, reason, capfd):
    with pytest.raises(GameNameError, match=reason) as caught:
        find_game(f"openspiel:{name}")
    assert "\n" not in str(caught.value)
    assert capfd.readouterr().err == ""
