"""Nim has the moves of simple rules, the oracle's counts and the values of Bouton's theorem."""

from functools import reduce
from itertools import permutations, product
from math import prod
from operator import xor

import numpy as np
import pytest
from conftest import for_all
from hypothesis import given
from hypothesis import strategies as st
from oracles import answers, expected, played, reached, rows

from graphstore import explore, solve
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
@for_all("heaps", [(1,), (9,), (1, 1, 1, 1), (3, 4, 5), (2, 7, 12), (4, 4, 4, 4)])
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


def test_a_move_is_a_heap_and_a_number_with_the_digits_of_the_highest_heap():
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
