"""The views agree with the look-ups, and for one state read only the rows of that state."""

import csv
from collections import Counter

import numpy as np
import pytest
from conftest import DATA

from graphstore import Store, build


@pytest.fixture(scope="module")
def ply_counts():
    """The rows of tictactoe_ply_counts.csv by ply."""
    with (DATA / "tictactoe_ply_counts.csv").open(newline="") as lines:
        return {
            int(row.pop("ply")): {name: int(count) for name, count in row.items()}
            for row in csv.DictReader(lines)
            if row["ply"].isdecimal()
        }


def rows(store, statement, *parameters):
    """Return the rows of a statement as dicts."""
    answer = store.sql(statement, parameters)
    return [dict(zip(answer.columns, row, strict=True)) for row in answer]


def test_q_table_has_every_move_of_every_position_by_who_wins(store):
    winners = dict(store.sql("SELECT winner, sum(orbit) FROM q_table GROUP BY winner"))
    assert winners == {1: 8_242, 2: 4_752, 0: 3_173}
    assert sum(winners.values()) == 16_167


def test_q_table_is_for_the_player_who_moves_against_either_opponent(store):
    table = rows(store, "SELECT * FROM q_table")
    assert len(table) == store.info["moves"]
    states = {row["id"]: row for row in rows(store, "SELECT * FROM state")}
    for row in table:
        parent, child = states[row["state"]], states[row["child"]]
        assert (row["position"], row["orbit"]) == (parent["position"], parent["orbit"])
        assert (row["optimal"], row["random"]) == (-child["value"], -child["random_value"])
        assert row["best_response"] == child["best_response"]
        assert row["winner"] == child["winner"]
        if row["optimal"]:
            assert row["winner"] == (
                parent["to_move"] if row["optimal"] == 1 else 3 - parent["to_move"]
            )
    assert {(row["state"], row["move"], row["child"]) for row in table} == set(
        store.sql("SELECT * FROM edge")
    )


def test_the_best_q_is_the_value_and_the_mean_q_is_the_value_of_random_play(store):
    table = rows(
        store,
        "SELECT value, max(optimal) AS best, random_value, avg(random) AS mean "
        "FROM q_table JOIN state ON id = state GROUP BY id, value, random_value ORDER BY id",
    )
    assert len(table) == 627  # the unfinished states: 765 - 91 - 44 - 3
    assert [row["best"] for row in table] == [row["value"] for row in table]
    np.testing.assert_allclose(
        [row["mean"] for row in table], [row["random_value"] for row in table], atol=1e-12
    )


def test_against_a_random_opponent_the_openings_are_worth_what_is_known(store):
    statement = (
        "SELECT best_response FROM q_table WHERE state = 0 GROUP BY child, best_response "
        "ORDER BY min(move)"
    )
    # corner, edge, centre; the search is in test_solution.py
    openings = [value for (value,) in store.sql(statement)]
    assert openings == pytest.approx([191 / 192, 379 / 384, 95 / 96])


def test_random_play_from_the_start_is_worth_what_is_known(store):
    ((value,),) = store.sql("SELECT random_value FROM state WHERE ply = 0")
    assert value == pytest.approx(0.2968254, abs=1e-7)


def test_best_move_lists_the_best_moves_of_probe(store):
    best = {}
    for row in rows(store, "SELECT * FROM best_move"):
        cells = (row["move"], row["child"], row["score"], row["win_depth"], row["lose_depth"])
        best.setdefault(row["state"], set()).add(cells)
    for (state,) in store.sql("SELECT id FROM state"):
        probe = store.probe(state)
        assert best.get(state, set()) == {
            (move.move, move.state, move.score, move.win_depth, move.lose_depth)
            for move in probe.best
        }


def test_the_best_openings_are_the_corners(store):
    moves = store.sql("SELECT move, score FROM best_move WHERE state = 0 ORDER BY move")
    assert list(moves) == [(0, 0.8), (2, 0.8), (6, 0.8), (8, 0.8)]
    scores = store.sql("SELECT position, score FROM state WHERE ply = 1 ORDER BY score DESC")
    assert list(scores) == [(".../.../..X", 0.8), (".../.X./...", 0.5), (".../.../.X.", 0.4)]


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM best_move WHERE state = 8706",
        "SELECT * FROM best_move WHERE state IN (0, 8706)",
        "SELECT move FROM best_move WHERE state = 8706 ORDER BY move LIMIT 1",
        "SELECT * FROM q_table WHERE state = 8706",
        "SELECT * FROM q_table WHERE child = 8706",
    ],
)
def test_of_one_state_the_views_read_only_its_own_rows(file_store, statement):
    plan = [row[3] for row in file_store.sql(f"EXPLAIN QUERY PLAN {statement}")]
    tables = ("edge", "state", "parent", "child")  # by their names in the views
    assert not [step for step in plan if step.startswith(tuple(f"SCAN {t}" for t in tables))], plan
    assert [step for step in plan if step.startswith("SEARCH edge USING")]


def test_census_counts_what_the_oracle_counts(store, ply_counts):
    census = {row["ply"]: row for row in rows(store, "SELECT * FROM census")}
    assert store.census() == [*census.values()]
    assert census.keys() == ply_counts.keys()
    for ply, row in census.items():
        right = ply_counts[ply]
        assert row["positions"] == right["states"]
        assert row["states"] == right["canon"]
        assert row["ended"] == right["canon"] - right["c_nonterm"]
        assert row["won_by_1"] == right["c_xwin"]
        assert row["won_by_2"] == right["c_owin"]
        assert row["tied"] == right["c_draw"]
        assert row["wins"] == right["c_nt_win"]
        assert row["draws"] == right["c_nt_draw"] + right["c_draw"]
        assert row["losses"] == right["c_nt_loss"] + right["c_xwin"] + right["c_owin"]


def test_the_endings_of_all_positions_are_626_and_316_and_16(store):
    statement = "SELECT winner, sum(orbit), count(*) FROM state WHERE ended GROUP BY winner"
    found = {winner: counts for winner, *counts in store.sql(statement)}
    assert found == {1: [626, 91], 2: [316, 44], 0: [16, 3]}


def test_census_of_a_misere_game_gives_the_line_to_the_other_player(tmp_path):
    build("mnk(3,3,3,misere)", tmp_path / "m.db")
    with Store.open(tmp_path / "m.db") as store:
        lines = Counter()
        for position, winner in store.sql("SELECT position, winner FROM state WHERE ended"):
            by = {
                mark
                for mark in "XO"
                if any(
                    all(position.replace("/", "")[cell] == mark for cell in line)
                    for line in ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8),
                                 (0, 4, 8), (2, 4, 6))
                )
            }  # fmt: skip
            lines["".join(by), winner] += 1
        assert {key for key, _ in lines.items()} == {("X", 2), ("O", 1), ("", 0)}
        census = store.census()
        assert sum(row["won_by_2"] for row in census) == lines["X", 2]
