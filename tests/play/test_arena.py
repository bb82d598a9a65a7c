"""Players in an arena play as players on the board do."""

from collections import Counter
from random import Random

import numpy as np
import pytest

from graphstore import Store, build
from graphstore.play.arena import Arena, at_random, mistaken, perfect, weighted
from graphstore.rules.game import IN_PLAY

GAMES = (
    "tictactoe",
    "mnk(3,3,3,misere)",
    "nim(1,2,3)",
    "vanishing",
    "hexapawn(3,3)",
    "connect(4,3)",
)


@pytest.fixture(scope="module", params=GAMES)
def opened(request, tmp_path_factory):
    """The database of each of several games, and its arena."""
    path = tmp_path_factory.mktemp("arena") / "game.db"
    build(request.param, path)
    with Store.open(path) as store:
        yield store, Arena.of(store.graph())


def in_play(arena):
    return [row for row, outcome in enumerate(arena.outcome) if outcome == IN_PLAY]


def edges_of(arena, row):
    return range(arena.first[row], arena.first[row + 1])


def test_an_edge_is_a_distinct_child_and_counts_its_moves(opened):
    store, arena = opened
    rows = store.sql("SELECT parent, min(move), count(*), child FROM edge GROUP BY parent, child")
    found = {
        (int(arena.state[parent]), move, moves, int(arena.state[child]))
        for parent, move, moves, child in zip(
            arena.parent, arena.move.tolist(), arena.moves.tolist(), arena.child, strict=True
        )
    }
    assert found == set(rows)


def test_the_best_edges_are_those_of_the_view_best_move(opened):
    store, arena = opened
    best = {
        (int(arena.state[arena.parent[edge]]), int(arena.state[arena.child[edge]]))
        for edge in np.flatnonzero(arena.best).tolist()
    }
    assert best == set(store.sql("SELECT DISTINCT state, child FROM best_move"))


def test_an_edge_keeps_the_value_where_sql_says_so(opened):
    store, arena = opened
    query = """
        SELECT DISTINCT parent, child FROM edge JOIN state AS p ON p.id = parent
        JOIN state AS c ON c.id = child WHERE p.value = -c.value"""
    keeps = {
        (int(arena.state[arena.parent[edge]]), int(arena.state[arena.child[edge]]))
        for edge in np.flatnonzero(arena.keeps).tolist()
    }
    assert keeps == set(store.sql(query))


def test_a_perfect_player_plays_only_and_all_the_best_edges(opened):
    _, arena = opened
    choose = perfect(arena, Random(1).random)
    for row in in_play(arena)[:200]:
        best = {edge for edge in edges_of(arena, row) if arena.best[edge]}
        assert {choose(row) for _ in range(40 * len(best))} == best


def test_a_random_player_plays_an_edge_as_often_as_it_has_moves(opened):
    _, arena = opened
    choose = at_random(arena, Random(2).random)
    row = max(in_play(arena), key=lambda row: len(set(arena.moves[list(edges_of(arena, row))])))
    drawn = Counter(choose(row) for _ in range(6000))
    total = sum(arena.moves[edge] for edge in edges_of(arena, row))
    for edge in edges_of(arena, row):
        expected = 6000 * arena.moves[edge] / total
        assert abs(drawn[edge] - expected) < 5 * expected**0.5


def test_a_player_with_mistakes_errs_with_the_given_probability(opened):
    _, arena = opened
    choose = mistaken(arena, 0.25, Random(3).random)
    row = next(
        row for row in in_play(arena) if not all(arena.best[edge] for edge in edges_of(arena, row))
    )
    wrong = sum(not arena.best[choose(row)] for _ in range(4000))
    assert 850 < wrong < 1150


def test_if_all_weights_are_0_all_moves_are_drawn(opened):
    _, arena = opened
    choose = weighted(arena, np.zeros(len(arena.child), dtype=np.int64), Random(4).random)
    row = in_play(arena)[0]
    assert {choose(row) for _ in range(400)} == set(edges_of(arena, row))
