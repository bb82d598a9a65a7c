"""Octal games have the moves of their codes, and a sum of heaps has the XOR of the nimbers."""

from functools import reduce
from operator import xor

import numpy as np
from conftest import for_all
from hypothesis import given
from hypothesis import strategies as st
from oracles import played

from graphstore import explore, find_game, nimbers
from graphstore.games.octal import octal
from graphstore.rules.game import IN_PLAY, LOSS

codes = st.from_regex(r"[04]\.[0-7]{1,4}", fullmatch=True)


def rests(code, heap):
    """Return the ways to leave a heap, from the definition of the code."""
    for taken, digit in enumerate(code.replace(".", "")):
        rest = heap - taken
        if rest == 0 and int(digit) & 1:
            yield (0, 0)
        if rest > 0 and int(digit) & 2:
            yield (0, rest)
        if int(digit) & 4:
            yield from ((a, rest - a) for a in range(1, rest) if a <= rest - a)


def steps_of(code):
    """Return a function that returns the moves of heaps, with the heaps after each, ascending."""

    def steps(heaps):
        found = []
        for heap in sorted({*heaps}):
            rest = list(heaps)
            rest.remove(heap)
            for a, b in sorted(rests(code, heap)):
                after = sorted([*rest, *(each for each in (a, b) if each)])
                found.append((10_000 * heap + 100 * a + b, tuple(after)))
        return found

    return steps


@given(codes, st.integers(0, 63), st.lists(st.integers(0, 10**6), max_size=12))
def test_moves_and_results_are_those_of_the_code(code, n, choices):
    game, steps = octal(code, n), steps_of(code)
    for heaps in played((n,) if n else (), steps, choices):
        position = game.read_many([",".join(map(str, heaps)) or "0"])
        wanted = steps(heaps)
        moves = game.expand(position)
        assert moves.move.tolist() == [move for move, _ in wanted]
        texts = [",".join(map(str, child)) or "0" for _, child in wanted]
        assert game.texts(moves.child) == texts
        assert game.outcomes(position) == [IN_PLAY if wanted else LOSS]


@given(codes, st.integers(0, 12))
def test_a_sum_of_heaps_has_the_xor_of_their_nimbers(code, n):
    alone = [0]
    for heap in range(1, n + 1):
        options = {alone[a] ^ alone[b] for a, b in rests(code, heap)}
        alone.append(min({*range(len(options) + 1)} - options))
    graph = explore(octal(code, n))
    for text, nimber in zip(graph.texts(graph.states.id), nimbers(graph).tolist(), strict=True):
        assert nimber == reduce(xor, (alone[int(heap)] for heap in text.split(",")))


def test_the_most_that_fits():
    game = octal("4.7", 63)
    assert game.start_states().tolist() == [2**62]
    ones = game.read(",".join(["1"] * 63))
    assert ones == 2**63 - 1
    assert game.texts(np.array([ones])) == [",".join(["1"] * 63)]
    assert game.expand(np.array([2**62])).child.min() > 0


@for_all(
    ("typed", "name"),
    [
        ("octal(.770,12)", "octal(0.77,12)"),
        (" Octal( 0.07 , 12 )", "octal(0.07,12)"),
        ("octal(07,12)", "octal(0.07,12)"),
        ("octal-0-07-12", "octal(0.07,12)"),
        ("octal-4-007-9", "octal(4.007,9)"),
        ("octal(0.00,3)", "octal(0.0,3)"),
        ("kayles-12", "kayles(12)"),
        ("Dawson's Chess(14)", "dawson(14)"),
    ],
)
def test_a_code_keeps_its_zeros_in_every_spelling(typed, name):
    assert find_game(typed).name == find_game(name).name == name
