"""The boxes are those of MENACE, and beads are added and removed as Michie did."""

import csv
from collections import Counter
from random import Random

import pytest
from conftest import DATA

from graphstore import GameGraph, explore, find_game, solve
from graphstore.errors import SettingError
from graphstore.play.arena import RESIGN, Arena
from graphstore.play.menace import MOST_BEADS, NO_BOX, Boxes, Settings, read_stages, written
from graphstore.rules.game import DRAW, LOSS, WIN


@pytest.fixture(scope="module")
def arena(tictactoe: GameGraph) -> Arena:
    return Arena.of(tictactoe)


@pytest.fixture(scope="module")
def published():
    """The rows of menace_boxes.csv."""
    with (DATA / "menace_boxes.csv").open(newline="") as lines:
        return list(csv.DictReader(lines))


def kinds(arena, boxes):
    """Return the number of kinds of beads in every box, by the text of its board."""
    texts = find_game("tictactoe").texts(arena.state[boxes.rows])
    edges = [arena.first[row + 1] - arena.first[row] for row in boxes.rows]
    return {text.replace("/", ""): number for text, number in zip(texts, edges, strict=True)}


def test_the_boxes_of_x_are_the_304_of_the_rebuilt_engines(arena, published):
    expected = {
        row["board_lexmin"]: int(row["n_move_orbits"]) for row in published if row["in304"] == "1"
    }
    found = kinds(arena, Boxes(arena, Settings(side=1)))
    assert len(found) == len(expected) == 304
    # the file has the least image as text, graphstore the least as packed masks
    assert Counter(map(images, found)) == Counter(map(images, expected))
    by_images = {images(board): number for board, number in expected.items()}
    assert {images(board): number for board, number in found.items()} == by_images


def images(board):
    """Return the least of a board's eight images."""
    turned = [board]
    for _ in range(3):
        turned.append("".join(turned[-1][3 * (2 - cell % 3) + cell // 3] for cell in range(9)))
    flipped = ["".join(b[3 * row : 3 * row + 3][::-1] for row in range(3)) for b in turned]
    return min(turned + flipped)


def test_the_boxes_of_o_are_289_and_of_both_593(arena, published):
    odd = [row for row in published if int(row["ply"]) % 2 == 1 and int(row["n_moves"]) > 1]
    found = kinds(arena, Boxes(arena, Settings(side=2)))
    assert {images(board) for board in found} == {images(row["board_lexmin"]) for row in odd}
    assert len(found) == 289
    assert len(Boxes(arena, Settings()).rows) == 593


@pytest.mark.parametrize(("stages", "first"), [((4, 3, 2, 1), 12), ((8, 4, 2, 1), 24), ((2,), 6)])
def test_a_box_is_filled_by_the_stage_of_its_player(arena, stages, first):
    boxes = Boxes(arena, Settings(stages=stages))
    assert boxes.total[arena.starts[0]] == first  # three kinds: corner, edge and centre
    for row in boxes.rows:
        edges = range(arena.first[row], arena.first[row + 1])
        expected = stages[min(int(arena.ply[row]) // 2, len(stages) - 1)]
        assert {boxes.beads[edge] for edge in edges} == {expected}
        assert boxes.total[row] == expected * len(edges)


def test_a_state_with_a_single_move_has_no_box(arena):
    boxes = Boxes(arena, Settings())
    choose = boxes.player(Random(1).random)
    forced = [
        row for row, total in enumerate(boxes.total) if total == NO_BOX and arena.ply[row] == 8
    ]
    for row in forced:
        if arena.first[row] < arena.first[row + 1]:
            assert choose(row) == arena.first[row]


def test_a_move_is_drawn_as_a_bead(arena):
    boxes = Boxes(arena, Settings(stages=(1,)))
    start = arena.starts[0]
    edges = list(range(arena.first[start], arena.first[start + 1]))
    boxes.learn([edges[0]] * 2, WIN)  # 1 + 2 x 3
    drawn = Counter(map(boxes.player(Random(5).random), [start] * 9000))
    assert sum(drawn.values()) == 9000
    for edge, beads in zip(edges, (7, 1, 1), strict=True):
        assert abs(drawn[edge] - 1000 * beads) < 5 * (1000 * beads) ** 0.5


def test_winners_gain_three_drawers_one_and_losers_lose_one(arena):
    boxes = Boxes(arena, Settings())
    edge = arena.first[arena.starts[0]]
    for result, expected in ((WIN, 7), (DRAW, 8), (LOSS, 7), (LOSS, 6)):
        boxes.learn([edge], result)
        assert boxes.beads[edge] == expected
        assert boxes.total[arena.starts[0]] == 8 + expected


def test_the_beads_of_a_box_stay_between_0_and_the_limit(arena):
    edge = arena.first[arena.starts[0]]
    boxes = Boxes(arena, Settings(loss=-3, win=10_000))
    boxes.learn([edge, edge], LOSS)
    assert boxes.beads[edge] == 0
    boxes.beads[edge] = MOST_BEADS - 1
    boxes.learn([edge], WIN)
    assert boxes.beads[edge] == MOST_BEADS - 1


def test_an_empty_box_resigns_or_is_filled_as_at_first(arena):
    start = arena.starts[0]
    for empty in ("resign", "refill"):
        boxes = Boxes(arena, Settings(empty=empty, loss=-4))
        boxes.learn(list(range(arena.first[start], arena.first[start + 1])), LOSS)
        assert boxes.total[start] == 0
        edge = boxes.player(Random(6).random)(start)
        assert (edge == RESIGN) == (empty == "resign")
        assert boxes.total[start] == (0 if empty == "resign" else 12)


def test_a_box_is_kept_if_every_favourite_keeps_the_value(arena):
    boxes = Boxes(arena, Settings())

    def counted():
        kept = 0
        for row in boxes.rows:
            edges = range(arena.first[row], arena.first[row + 1])
            most = max(boxes.beads[edge] for edge in edges)
            kept += most > 0 and all(arena.keeps[e] for e in edges if boxes.beads[e] == most)
        return kept

    random = Random(7)
    assert boxes.kept == counted()
    for _ in range(50):
        boxes.learn(random.sample(range(len(arena.child)), 40), random.choice((WIN, DRAW, LOSS)))
        assert boxes.kept == counted()
        if random.random() < 0.3:
            boxes.settle()


def test_settle_names_every_edge_of_the_boxes_that_changed_once(arena):
    boxes = Boxes(arena, Settings())
    edge = arena.first[arena.starts[0]]
    boxes.learn([edge, edge + 1], DRAW)
    assert boxes.settle() == [edge, edge + 1, edge + 2]
    assert boxes.settle() == []


def test_states_that_do_not_say_who_moves_have_boxes_for_both_sides():
    graph = explore(find_game("nim(3,4,5)"))
    solve(graph)
    arena = Arena.of(graph)
    both, one = (Boxes(arena, Settings(side=side)).rows for side in (0, 1))
    assert both == one != []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"side": 3}, "1, 2, or 0"),
        ({"stages": ()}, "from 1 to 10,000, such as 4/3/2/1"),
        ({"stages": (0,)}, "from 1 to 10,000, such as 4/3/2/1"),
        ({"win": 10**6}, "from -10,000 to 10,000"),
        ({"empty": "weep"}, "refill or resign"),
        ({"longest": 0}, "must be from 1 to"),
        ({"longest": 10**20}, "must be from 1 to"),
        ({"stages": (1.5,)}, "whole number"),
        ({"stages": (True,)}, "whole number"),
        ({"stages": "4"}, "give numbers"),
        ({"win": 1.5}, "whole number"),
    ],
)
def test_wrong_settings_are_refused(wrong, said):
    with pytest.raises(SettingError, match=said):
        Settings(**wrong).checked()


@pytest.mark.parametrize("text", ["", "4/", "a", "4/3/x", "0", "99999", "-1", "4,3", "\uff14"])
def test_stages_that_cannot_be_read_are_refused(text):
    with pytest.raises(SettingError, match="4/3/2/1"):
        read_stages(text)


@pytest.mark.parametrize("text", ["4/3/2/1", "8/4/2/1", "2"])
def test_stages_are_read_as_they_are_written(text):
    assert written(read_stages(text)) == text
