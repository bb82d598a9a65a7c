"""Domineering has the moves and the outcome classes of a plain minimax on sets of cells."""

from functools import cache

import numpy as np
import pytest
from conftest import SLOW, for_all, some_of
from hypothesis import given
from hypothesis import strategies as st

from graphstore import explore, outcome_class
from graphstore.games.domineering import domineering

SIZES = [(w, h) for w in range(1, 13) for h in range(1, 13) if w * h <= 12]


def dominoes(free, turn):
    """Return {first cell: both cells} of the dominoes that fit, as cells (row, column)."""
    down, across = ((1, 0), (0, 1))[turn - 1]
    pairs = {(r, c): (r + down, c + across) for r, c in free}
    return {cell: {cell, other} for cell, other in pairs.items() if other in free}


def minimax(w, h):
    """Return the outcome class of a board."""

    @cache
    def wins(free, turn):
        return any(not wins(free - two, 3 - turn) for two in dominoes(free, turn).values())

    free = frozenset((r, c) for r in range(h) for c in range(w))
    return {(True, True): "N", (False, False): "P", (True, False): "L", (False, True): "R"}[
        wins(free, 1), wins(free, 2)
    ]


@for_all(("w", "h"), some_of(SIZES, 2))
def test_outcome_classes_are_those_of_a_plain_minimax(w, h):
    assert outcome_class(domineering(w, h)).outcome == minimax(w, h)


def test_a_board_on_its_side_has_the_outcome_of_the_other_player():
    swapped = {"N": "N", "P": "P", "L": "R", "R": "L"}
    for w, h in ((4, 5), (3, 5), (2, 7), (2, 8), (1, 31)):
        one, other = (outcome_class(domineering(*size)).outcome for size in ((w, h), (h, w)))
        assert other == swapped[one]


@given(st.sampled_from(SIZES), st.lists(st.integers(0, 99), max_size=6), st.sampled_from((1, 2)))
def test_moves_are_those_of_the_plain_rules(size, choices, turn):
    game, (w, h) = domineering(*size), size
    free = frozenset((r, c) for r in range(h) for c in range(w))
    at = game.start_states()[turn - 1 : turn]
    for choice in choices:
        legal = sorted(dominoes(free, turn).items())
        assert (game.outcomes(at) == -1) == (not legal)
        assert game.turns(at) == [turn]
        moves = game.expand(at)
        assert moves.move.tolist() == [w * r + c for (r, c), _ in legal]
        if not legal:
            break
        pick = choice % len(legal)
        free, turn, at = free - legal[pick][1], 3 - turn, moves.child[pick : pick + 1]
        text = "/".join("".join(".X"[(r, c) not in free] for c in range(w)) for r in range(h))
        assert game.texts(at) == [f"{text} {'VH'[turn - 1]}"]


@pytest.mark.parametrize("size", [pytest.param((5, 6), marks=SLOW)])
def test_the_largest_boards_fit(size):
    assert len(explore(domineering(*size))) == 4_294_515  # as this program counts them
    assert np.log2(domineering(31, 1).start_states()[1]) == 31
