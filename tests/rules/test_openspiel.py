"""Games of OpenSpiel have the same solutions as graphstore's own rules."""

from pathlib import Path

import pytest

from graphstore import Store, build, explore, find_game, solve, verify
from graphstore.errors import GameNameError
from graphstore.rules.game import IN_PLAY

pytest.importorskip("pyspiel", reason="the package open_spiel is not installed")


def test_its_tic_tac_toe_has_all_positions_and_the_same_value() -> None:
    graph = explore(find_game("openspiel:tic_tac_toe"))
    solution = solve(graph)
    assert len(graph) == 5_478  # without symmetry; tests/data/tictactoe_ply_counts.csv
    assert graph.number_of_moves() == 16_167
    values = [int((solution.value == value).sum()) for value in (1, 0, -1)]
    assert values == [2_836, 1_068, 1_574]  # tests/data/mnk.jsonl


def test_its_connect_four_on_a_small_board_agrees_with_ours() -> None:
    graph = explore(find_game("openspiel:connect_four(rows=3,columns=4)"))
    assert len(graph) == graph.number_of_positions()
    ours = explore(find_game("connect(4,3)"))
    assert len(graph) == ours.number_of_positions()
    start = {solve(each).value[each.states.ply == 0].item() for each in (graph, ours)}
    assert len(start) == 1


def test_the_side_to_move_is_added_where_the_text_does_not_show_it() -> None:
    graph = explore(find_game("openspiel:dots_and_boxes(num_rows=2,num_cols=2)"))
    texts = graph.texts(graph.states.id)
    boards = [text.partition(": ")[2] for text in texts]
    assert len({*boards}) == 5_291
    assert graph.keeps is not None  # a box was closed
    in_play = (graph.states.outcome == IN_PLAY).tolist()
    playable = [board for board, is_open in zip(boards, in_play, strict=True) if is_open]
    assert len(playable) - len(set(playable)) == 256  # texts that belong to either player


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("kuhn_poker", "it has chance moves"),
        ("goofspiel", "moves are simultaneous"),
        ("no_such_game", "OpenSpiel has no game 'no_such_game'"),
        ("hex(nonsense=1)", "OpenSpiel cannot load"),
        ("", "OpenSpiel has no game ''"),
    ],
)
def test_other_games_are_refused_by_name_and_reason(name: str, reason: str) -> None:
    with pytest.raises(GameNameError, match=reason):
        find_game(f"openspiel:{name}")


def test_a_database_of_its_game_verifies_and_shows(tmp_path: Path) -> None:
    name = "openspiel:breakthrough(rows=4,columns=3)"
    report = build(name, tmp_path / "breakthrough.db")
    assert report.states == 10_689
    with Store.open(tmp_path / "breakthrough.db", rules=find_game(name)) as store:
        assert verify(store).ok
        start = store.probe(store.info["start"])
        assert (start.value, start.remoteness) == (report.value, report.remoteness)
    with Store.open(tmp_path / "breakthrough.db") as store:
        assert store.probe(store.info["start"]).moves == start.moves
