"""Chomp has the moves, values and nimbers of a plain recursion, and Gale's theorem."""

from functools import cache
from math import comb

from conftest import for_all

from graphstore import explore, nimbers, solve
from graphstore.games.chomp import chomp
from graphstore.rules.game import WIN


def steps(rows):
    """Return (move, rows after it), ascending."""
    return [
        (10 * (r + 1) + c + 1, (*rows[:r], *(min(length, c) for length in rows[r:])))
        for r, length in enumerate(rows)
        for c in range(length)
        if r or c
    ]


@cache
def nimber(rows):
    below = {nimber(after) for _, after in steps(rows)}
    return min({*range(len(below) + 1)} - below)


@for_all(("w", "h"), [(1, 1), (1, 5), (5, 1), (2, 2), (4, 3), (3, 4), (5, 4)])
def test_moves_and_nimbers_are_those_of_a_plain_recursion(w, h):
    graph = explore(game := chomp(w, h))
    assert len(graph) == comb(w + h, w) - 1  # lattice paths, but without the empty bar
    moves = game.expand(graph.states.id[graph.states.outcome == 2])
    at, found = 0, nimbers(graph).tolist()
    for text, of_state in zip(graph.texts(graph.states.id), found, strict=True):
        rows = tuple(map(int, text.split(",")))
        assert of_state == nimber(rows)
        for move, after in steps(rows):
            assert moves.move[at] == move
            assert game.texts(moves.child[at : at + 1]) == [",".join(map(str, after))]
            at += 1
    assert at == len(moves.move)


@for_all(("w", "h"), [(2, 1), (3, 3), (5, 4), (7, 2), (2, 7)])
def test_the_player_who_begins_wins(w, h):
    # D. Gale, A curious nim-type game, American Mathematical Monthly 81 (1974) 876-879
    graph = explore(chomp(w, h))
    assert solve(graph).value[graph.row(int(chomp(w, h).start_states()[0]))] == WIN
