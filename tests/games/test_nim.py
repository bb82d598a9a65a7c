"""Nim has the moves of plain rules, the oracle's counts, and the values of Bouton's theorem."""

from functools import reduce
from itertools import permutations, product
from math import prod
from operator import xor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import answers, expected, played, reached, rows

from graphstore import explore, find_game, solve
from graphstore.errors import GameNameError, PositionError, UnknownCharacterError, WrongSizeError
from graphstore.games.heaps import HeapTooHighError
from graphstore.games.nim import nim
from graphstore.rules.game import IN_PLAY, LOSS, WIN

GAME = nim(3, 4, 5)
starts = st.lists(st.integers(1, 6), min_size=1, max_size=4)


def of_row(row):
    """Return the game of a row such as "nim (3, 4, 5) misere (sorted heaps)"."""
    _, heaps, rest = row["game"].replace(")", "(").split("(", 2)
    return nim(*map(int, heaps.split(",")), *["misere"] * ("misere" in rest))


@pytest.mark.parametrize("row", rows("nim"), ids=lambda row: row["game"])
def test_counts_and_values_are_the_oracles(row):
    assert answers(of_row(row), positions=False) == expected(row)


def bouton(heaps, *, misere):
    """Return the value: C. L. Bouton, Annals of Mathematics 3 (1901) 35-39, of both games."""
    if misere and max(heaps) <= 1:
        return LOSS if sum(heaps) % 2 else WIN
    return WIN if reduce(xor, heaps) else LOSS


@pytest.mark.parametrize("misere", [False, True])
@pytest.mark.parametrize("heaps", [(1,), (9,), (1, 1, 1, 1), (3, 4, 5), (2, 7, 12), (4, 4, 4, 4)])
def test_values_are_boutons(heaps, misere):
    graph = explore(nim(*heaps, *["misere"] * misere))
    values = solve(graph).value.tolist()
    for text, value in zip(graph.texts(graph.states.id), values, strict=True):
        assert value == bouton([int(heap) for heap in text.split(",")], misere=misere), text


@given(starts)
def test_every_arrangement_that_fits_is_a_position_and_orbits_count_them(heaps):
    game = nim(*heaps)
    heaps = sorted(heaps)
    positions = reached(game)
    every = product(*(range(heap + 1) for heap in heaps))
    assert set(game.texts(positions)) == {",".join(map(str, sizes)) for sizes in every}
    assert len(positions) == prod(heap + 1 for heap in heaps)
    states, counts = np.unique(game.canonical(positions), return_counts=True)
    assert game.orbits(states).tolist() == counts.tolist()
    assert explore(game).states.orbit.sum() == len(positions)


@given(starts, st.data())
def test_a_state_is_the_least_of_the_arrangements_that_fit(heaps, data):
    game = nim(*heaps)
    position = data.draw(st.sampled_from(reached(game).tolist()))
    (text,) = game.texts(np.array([position]))
    images = set()
    for sizes in permutations(text.split(",")):
        try:
            images.add(game.read(",".join(sizes)))
        except HeapTooHighError:
            assert any(int(a) > b for a, b in zip(sizes, sorted(heaps), strict=True))
    assert set(game.canonical(np.array(sorted(images))).tolist()) == {min(images)}
    assert set(game.orbits(np.array(sorted(images))).tolist()) == {len(images)}


@given(starts, st.booleans(), st.lists(st.integers(0, 10**6), max_size=8))
def test_moves_and_results_are_those_of_the_plain_rules(heaps, misere, choices):
    heaps = sorted(heaps)
    game = nim(*heaps, *["misere"] * misere)

    def steps(sizes):
        return [
            (10 * heap + take, (*sizes[: heap - 1], size - take, *sizes[heap:]))
            for heap, size in enumerate(sizes, 1)
            for take in range(1, size + 1)
        ]

    sizes = played(tuple(heaps), steps, choices)[-1]
    position = game.read_many([str(sizes)])
    moves = game.expand(position)
    assert moves.move.tolist() == [move for move, _ in steps(sizes)]
    assert moves.child.tolist() == [game.read(str(child)) for _, child in steps(sizes)]
    assert game.turns(position) == [0]
    ended = WIN if misere else LOSS
    assert game.outcomes(position) == [IN_PLAY if any(sizes) else ended]


def test_a_move_is_a_heap_and_what_is_taken_in_as_many_digits_as_the_highest_heap_has():
    assert GAME.expand(GAME.read_many(["0,2,1"])).move.tolist() == [21, 22, 31]
    high = nim(3, 4, 15)
    moves = high.expand(high.read_many(["1,0,12"])).move.tolist()
    assert moves == [101, *range(301, 313)]


def test_a_position_packs_heap_1_first():
    assert GAME.read("3,4,5") == 0b11_100_101
    assert nim(999_999, 1).read("1,999999") == 1 << 20 | 999_999


def test_the_most_that_fits():
    game = nim(*[15] * 15, 7)
    (start,) = game.start_states().tolist()
    assert start == 2**63 - 1
    assert game.name == "nim(7," + ",".join(["15"] * 15) + ")"
    assert game.texts(np.array([start])) == [game.name[4:-1]]
    ones = nim(*[1] * 63)
    half = np.array([2**31 - 1])
    assert len(ones.expand(half).move) == 31
    assert ones.orbits(half) == [916312070471295267]  # 63 choose 31


def test_heaps_are_sorted_in_the_name_only():
    assert find_game("nim(5,3,4)").name == "nim(3,4,5)"
    assert find_game("Nim( 7, 5,3,1 , Misere)").name == "nim(1,3,5,7,misere)"
    assert GAME.texts(GAME.read_many(["3,0,5"])) == ["3,0,5"]


@pytest.mark.parametrize(
    "typed",
    ["3,4,0", "3 4 0", "(3, 4, 0)", "[3,4,0]", "( 3 4 0 )", " 3 ,4\t0\n", "03,004,0", "3,4,0,"],
)
def test_heaps_are_read_as_people_write_them(typed):
    assert GAME.texts(GAME.read_many([typed, "3,4,5"])) == ["3,4,0", "3,4,5"]


@pytest.mark.parametrize(
    ("typed", "error", "message"),
    [
        ("", WrongSizeError, "'' has no heaps and nim(3,4,5) has 3; write each, 0 if it is empty"),
        ("()", WrongSizeError, "'()' has no heaps"),
        ("3", WrongSizeError, "'3' has 1 heap and nim(3,4,5) has 3"),
        ("3,4", WrongSizeError, "'3,4' has 2 heaps and"),
        ("3,,5", WrongSizeError, "'3,,5' has 2 heaps"),
        (",3,4,5", WrongSizeError, "',3,4,5' has 3 heaps"),
        ("3,4,5,6", WrongSizeError, "'3,4,5,6' has 4 heaps"),
        ("3,4,x", UnknownCharacterError, "'x' cannot be in a position of nim(3,4,5); write num"),
        ("3,4,-1", UnknownCharacterError, "'-' cannot be"),
        ("3,4,5.0", UnknownCharacterError, "'.' cannot be"),
        ("3,4,٣", UnknownCharacterError, "'٣' cannot be"),
        ("(3,4,5", UnknownCharacterError, "'(' cannot be"),
        ("3,4,6", HeapTooHighError, "heap 3 has 6, but nim(3,4,5) starts it with 5"),
        ("5,4,3", HeapTooHighError, "heap 1 has 5, but nim(3,4,5) starts it with 3; write 3,4,5"),
        ("3,4," + "9" * 5000, HeapTooHighError, "heap 3 has 9999"),
    ],
)
def test_what_is_no_position_is_refused_by_its_cause(typed, error, message):
    with pytest.raises(error) as caught:
        GAME.read(typed)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300
    with pytest.raises(error) as caught:
        GAME.read_many(["0,0,0", typed])
    assert str(caught.value).startswith(message)


def test_zeros_in_front_do_not_matter_however_many():
    assert GAME.read("3,4," + "0" * 5000 + "5") == GAME.read("3,4,5")


@given(st.text() | st.text("0123456 ,()[]-\n", max_size=12))
def test_any_text_is_a_position_or_is_refused(typed):
    try:
        position = GAME.read(typed)
    except PositionError as error:
        with pytest.raises(type(error)):
            GAME.read_many([typed])
    else:
        assert GAME.read_many([typed]).tolist() == [position]
        assert GAME.read(*GAME.texts(np.array([position]))) == position


def test_a_board_is_drawn_a_line_for_each_heap():
    assert GAME.board(GAME.read("3,0,5")) == "3 |||\n0\n5 |||||"
    assert nim(2, 100).board(100) == "  0\n100 " + 60 * "|"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nim", "'nim' has 0 parameters; write nim(heap,...[,misere])"),
        ("nim(misere)", "nim: a heap is 'misere'; it must be a whole number from 1 to 999999"),
        ("nim(3,0)", "nim: a heap is 0; it must be"),
        ("nim(3,misere,4)", "nim: a heap is 'misere'; it must be"),
        ("nim(3,normal)", "nim: a heap is 'normal'; it must be"),
        ("nim(1000000)", "nim: a heap is 1000000; it must be a whole number from 1 to 999999"),
        (f"nim({','.join(['15'] * 16)})", "nim: 16 heaps need 64 bits, too many; a position packs"),
    ],
)
def test_a_wrong_parameter_is_named(name, message):
    with pytest.raises(GameNameError) as caught:
        find_game(name)
    assert str(caught.value).startswith(message)
