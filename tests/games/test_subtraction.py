"""Subtraction games have the oracle's counts, and values that repeat as in theory."""

import numpy as np
import pytest
from conftest import for_all
from hypothesis import given
from hypothesis import strategies as st
from oracles import answers, expected, played, reached, rows

from graphstore import explore, solve
from graphstore.errors import GameNameError
from graphstore.games.subtraction import subtraction
from graphstore.rules.game import IN_PLAY, LOSS, WIN

GAME = subtraction(21, 1, 2, 3)
takes_of = st.lists(st.integers(1, 9), min_size=1, max_size=4)


def values(game):
    """Return {heap: (value, remoteness)}."""
    solution = solve(graph := explore(game))
    pairs = zip(solution.value.tolist(), solution.remoteness.tolist(), strict=True)
    return dict(zip(graph.states.id.tolist(), pairs, strict=True))


def test_counts_and_values_are_the_oracles():
    (row,) = rows("subtraction 10 by (1, 2)")
    assert answers(subtraction(10, 1, 2), positions=False) == expected(row)


@pytest.mark.parametrize("most", range(1, 7))
@for_all("misere", [False, True])
def test_one_up_to_k_is_lost_once_in_every_k_plus_1_heaps(most, misere):
    # Berlekamp, Conway, Guy: Winning Ways, chapter 4; in misère one has to be left over
    game = subtraction(40, *range(1, most + 1), *["misere"] * misere)
    lost = {heap for heap, (value, _) in values(game).items() if value == LOSS}
    assert lost == {heap for heap in range(41) if heap % (most + 1) == (1 if misere else 0)}


@given(takes_of)
def test_values_repeat(takes):
    # Values follow from the window of values before them, as long as the largest take (9).
    game = subtraction(79, 1, *takes)
    value = [value for _, (value, _) in sorted(values(game).items())]
    window = max(takes)
    seen, at = {}, 0
    while (before := tuple(value[at : at + window])) not in seen:
        seen[before] = at
        at += 1
    period = at - seen[before]
    assert all(value[at] == value[at + period] for at in range(seen[before], 80 - period))


@given(st.integers(9, 40), takes_of, st.booleans())
def test_values_and_depths_are_those_of_a_plain_recursion(n, takes, misere):
    known = {}
    for heap in range(n + 1):
        replies = [known[heap - take] for take in set(takes) if take <= heap]
        wins = [depth for value, depth in replies if value == LOSS]
        if not replies:
            known[heap] = (WIN if misere else LOSS), 0
        elif wins:
            known[heap] = WIN, 1 + min(wins)
        else:
            known[heap] = LOSS, 1 + max(depth for _, depth in replies)
    found = values(subtraction(n, *takes, *["misere"] * misere))
    assert found == {heap: known[heap] for heap in found}
    assert n in found


@given(st.integers(9, 60), takes_of, st.booleans(), st.lists(st.integers(0, 99), max_size=60))
def test_moves_and_results_are_those_of_the_plain_rules(n, takes, misere, choices):
    game = subtraction(n, *takes, *["misere"] * misere)

    def steps(heap):
        return [(take, heap - take) for take in sorted(set(takes)) if take <= heap]

    heap = played(n, steps, choices)[-1]
    position = game.read_many([str(heap)])
    moves = game.expand(position)
    assert list(zip(moves.move.tolist(), moves.child.tolist(), strict=True)) == steps(heap)
    ended = WIN if misere else LOSS
    assert game.outcomes(position) == [IN_PLAY if steps(heap) else ended]
    assert game.turns(position) == [0]
    assert game.orbits(position) == [1]
    assert game.canonical(position) == position == [heap]


def test_without_a_one_some_heaps_are_not_reached():
    assert reached(subtraction(10, 4, 6)).tolist() == [0, 2, 4, 6, 10]
    assert subtraction(10, 4, 6).outcomes(np.array([0, 3, 4])).tolist() == [LOSS, LOSS, IN_PLAY]


def test_numbers_that_moves_cannot_hold_are_refused():
    with pytest.raises(GameNameError, match="1000000000 is too large; the limit is 999,999,999"):
        subtraction(10, 1, 10**9)
