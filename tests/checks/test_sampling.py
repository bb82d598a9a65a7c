"""A sample finds the wrong states among those drawn, and its bound for all states is true."""

import json
import math
import sqlite3
import tempfile
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from conftest import DATA, SLOW, TableGame, error_line, few, for_all, table_games
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from stored import change, other_values, redigest

from graphstore import Store, build, find_game, verify
from graphstore.checks.file.confidence import at_most
from graphstore.checks.file.sampling import draw
from graphstore.rules.game import quiet
from graphstore.store import schema


def sampled(path, count, *, rules=None, **options):
    with Store.open(path, rules=rules) as store:
        return verify(store, sample=count, **options)


ALL = 10_000


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("tictactoe", 2),
        ("mnk(1,1,1)", 2),
        ("nim(3,4,5)", 2),
        ("morris(king,pass,straight)", 2),
        (f"{DATA}/ring.py:Ring", 2),
    ],
)
def test_a_sample_of_all_states_of_a_fresh_file_finds_nothing_wrong(tmp_path, name, said):
    game = find_game(name)
    built = build(game, tmp_path / "t.db")
    verdict = sampled(tmp_path / "t.db", ALL, rules=game)
    assert (verdict.problems, len(verdict.skipped)) == ((), said)
    assert verdict.sample[:4] == (built.states, built.states, 0, 0.0)


@pytest.mark.parametrize("name", ["dots_and_boxes(2,2)", "kalah(3,2)"])
def test_samples_of_a_game_in_which_moves_keep_the_turn_find_nothing_wrong(tmp_path, name):
    """The children of parents of drawn states are not all read."""
    build(name, tmp_path / "t.db")
    for seed in range(4):
        assert sampled(tmp_path / "t.db", 40, seed=seed).ok


@SLOW
@settings(max_examples=few(20), phases=[Phase.explicit, Phase.generate])
@given(table_games(cyclic=True) | table_games(cyclic=False), st.randoms(use_true_random=False))
def test_a_wrong_cell_is_found_in_whole_and_by_a_sample_of_all_states(game, chance):
    """The digests are updated, so that only the rules and the neighbours show the change."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.db"
        build(game, path)
        with Store.open(path, rules=game) as store:
            assert verify(store).ok
            assert verify(store, sample=ALL).ok
        table = chance.choice((schema.state, schema.state, schema.edge))
        column = chance.choice([each for each in table.c if each.computed is None])
        keys = [each.name for each in table.primary_key]
        with closing(sqlite3.connect(path)) as connection:
            names = ", ".join((*keys, column.name))
            rows = connection.execute(f"SELECT {names} FROM {table}").fetchall()
        if not rows:
            return
        *key, cell = chance.choice(rows)
        known = [row[-1] for row in rows]
        new = chance.choice(other_values(cell, known, chance))
        taken = column.primary_key and tuple(
            new if name == column.name else each for name, each in zip(keys, key, strict=True)
        ) in {row[:-1] for row in rows}
        fits = not isinstance(new, int) or -(2**63) <= new < 2**63
        if new == cell or taken or not fits or (new is None and not column.nullable):
            return
        where = " AND ".join(f"{each} = ?" for each in keys)
        change(path, (f"UPDATE {table} SET {column.name} = ? WHERE {where}", (new, *key)))
        redigest(path)
        with Store.open(path, rules=game) as store:
            assert not verify(store).ok, (column, cell, new)
            verdict = verify(store, sample=ALL)
        assert not verdict.ok, (column, cell, new)
        assert verdict.sample is None or verdict.sample.wrong, (column, cell, new)


@pytest.mark.parametrize("statement", [
    "UPDATE state SET value = 1 WHERE id = 0",
    "UPDATE state SET win_depth = -9223372036854775807 - 1 WHERE id = 0",
    "UPDATE state SET best_response = 0.5 WHERE id = 8706",
    "UPDATE state SET ply = 5 WHERE id = 8706",
    "DELETE FROM edge WHERE parent = 0 AND move = 8",
    "UPDATE edge SET child = 99 WHERE parent = 0 AND move = 8",
    "UPDATE edge SET parent = 99 WHERE parent = 0 AND move = 8",
    "DELETE FROM state WHERE id = 8706",
    "DELETE FROM state",
    "DELETE FROM state WHERE ply = 0",
    "INSERT INTO edge VALUES (99, 0, 8706)",
    "INSERT INTO state SELECT 100000, position, ply, to_move, ended, value, remoteness, score, "
    "win_depth, lose_depth, orbit, random_value, best_response, NULL, NULL FROM state WHERE ended "
    "LIMIT 1",
    "UPDATE game SET states = -1",
    "UPDATE game SET states = 9000000000000000000",
    "UPDATE game SET remoteness = 8",
    "UPDATE game SET starts = 2",
    "DROP VIEW best_move",
    "DELETE FROM digest WHERE name = 'state.value'",
])  # fmt: skip
def test_a_sample_of_all_states_finds_what_is_wrong_with_a_file(copy, statement):
    change(copy, statement)
    verdict = sampled(copy, ALL)
    assert not verdict.ok
    assert all("\n" not in str(problem) for problem in verdict.problems)


def test_a_cell_of_another_type_is_reported_in_one_line(copy):
    change(
        copy,
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_master SET sql = replace(sql, 'STRICT', '') WHERE name = 'state'",
    )
    change(copy, "UPDATE state SET ply = 'many' WHERE id = 8706")
    for verdict in (sampled(copy, ALL), sampled(copy, None)):
        lines = [str(problem) for problem in verdict.problems]
        assert any("many" in line and "\n" not in line for line in lines), lines


def test_a_sample_lists_what_it_does_not_check(copy):
    change(copy, "UPDATE digest SET blake2b = 'x' WHERE name = 'state.value'")
    redigest(copy)
    lines = " ".join(sampled(copy, 5).skipped)
    for word in ("structure", "digests", "counts"):
        assert word in lines
    build(f"{DATA}/ring.py:Ring", copy.with_name("ring.db"))
    assert "--rules" in " ".join(sampled(copy.with_name("ring.db"), 5).skipped)


def test_the_same_seed_draws_the_same_states_and_every_state_as_often_as_any_other(store):
    drawn = 60
    with store.connect() as connection:
        ids, states = draw(connection, 765, drawn, 7, quiet)
        assert states == 765
        assert len(set(ids.tolist())) == drawn
        assert ids.tolist() == draw(connection, 765, drawn, 7, quiet)[0].tolist()
        rounds = 150
        every = np.concatenate([draw(connection, 765, drawn, s, quiet)[0] for s in range(rounds)])
    known, times = np.unique(every, return_counts=True)
    p = drawn / 765
    assert len(known) == 765
    assert abs(times - rounds * p).max() < 5 * math.sqrt(rounds * p * (1 - p))


def test_a_file_with_wrong_states_is_caught_as_often_as_the_chances_say(copy):
    """A wrong score makes no other state wrong, because no cell is computed from it."""
    wrong, drawn, rounds = 38, 20, 60
    change(copy, f"UPDATE state SET score = 0.99 WHERE id IN (SELECT id FROM state WHERE "
           f"score <> 0.99 ORDER BY position LIMIT {wrong})")  # fmt: skip
    caught = found = 0
    with Store.open(copy) as store:
        for seed in range(rounds):
            verdict = verify(store, sample=drawn, seed=seed)
            assert verdict.ok == (verdict.sample.wrong == 0)
            caught += not verdict.ok
            found += verdict.sample.wrong
    missed = math.comb(765 - wrong, drawn) / math.comb(765, drawn)
    assert abs(caught / rounds - (1 - missed)) < 5 * math.sqrt(missed * (1 - missed) / rounds)
    share_, few = wrong / 765, 1 - (drawn - 1) / 764
    sigma = math.sqrt(rounds * drawn * share_ * (1 - share_) * few)
    assert abs(found - rounds * drawn * share_) < 5 * sigma


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@for_all(("wrong", "drawn"), [(0, 1), (0, 59), (0, 3000), (1, 10), (7, 50), (9, 9)])
def test_the_bounds_are_the_exact_ones(wrong, drawn, confidence):
    """Compare with sums of the binomial distribution, in fractions."""

    def chance(numbers, p):
        p = Fraction(p)
        return float(sum(math.comb(drawn, k) * p**k * (1 - p) ** (drawn - k) for k in numbers))

    high = at_most(wrong, drawn, confidence)
    if wrong < drawn:
        assert chance(range(wrong + 1), high) == pytest.approx(1 - confidence, rel=1e-6)
    else:
        assert high == 1


@pytest.mark.parametrize(("drawn", "confidence"), [(20, 0.95), (100, 0.95), (100, 0.5), (40, 0.99)])
def test_a_bound_is_true_as_often_as_it_says_whatever_the_share(drawn, confidence):
    bounds = [at_most(wrong, drawn, confidence) for wrong in range(drawn + 1)]
    for share in [bound + step for bound in bounds[:-1] for step in (-1e-9, 1e-9)]:
        true = sum(
            math.comb(drawn, wrong) * share**wrong * (1 - share) ** (drawn - wrong)
            for wrong in range(drawn + 1)
            if share <= bounds[wrong]
        )
        assert true >= confidence - 1e-6


def test_the_command_prints_the_bound_and_the_seed(run, copy):
    done = run("verify", copy, "--sample", 300, "--seed", 5)
    assert (done.returncode, done.stderr) == (0, "")
    line = "random sample (seed 5): 0 of 300 checked states are wrong; with 95 % confidence at most"
    assert f"{line} 0.994 % of all 765 states are wrong\n" in done.stdout
    data = json.loads(run("verify", copy, "--sample", 300, "--confidence", 0.5, "--json").stdout)
    assert (data["ok"], data["sample"]["drawn"], data["sample"]["wrong"]) == (True, 300, 0)
    assert data["sample"]["at_most"] == pytest.approx(1 - 0.5 ** (1 / 300), rel=1e-12)
    change(copy, "UPDATE state SET score = 0.99")
    done = run("verify", copy, "--sample", 30, "--seed", 5)
    assert done.returncode == 1
    assert "random sample (seed 5): 30 of 30 checked states are wrong; with 95 % " in done.stdout
    assert done.stderr.startswith(f"graphstore: {copy} is wrong in 30 places; rebuild it")
    assert "needs --sample" in error_line(run("verify", copy, "--seed", 5), 2)
    for words in (("--sample", 0), ("--sample", 5, "--confidence", 1)):
        assert run("verify", copy, *words).returncode == 2


def test_an_impossible_sample_or_confidence_is_refused(store):
    refused = {"sample": (0, -1, 2.5, "5", True), "confidence": (0, 1, math.nan)}
    for name, values in refused.items():
        for value in values:
            with pytest.raises(ValueError, match=f"{name} is .*; it must be a"):
                verify(store, **({"sample": 5} | {name: value}))


def test_seeds_are_reported_and_differ(store):
    seeds = {verify(store, sample=1).sample.seed for _ in range(3)}
    assert len(seeds) == 3
    assert verify(store).sample is None


def test_the_largest_id_of_all_keeps_its_moves(tmp_path):
    last = 2**63 - 1
    game = TableGame({0: {1: last}, last: {1: 5, 2: 6}, 5: -1, 6: 0}, 0)
    build(game, tmp_path / "t.db")
    with Store.open(tmp_path / "t.db", rules=game) as store:
        assert [verify(store).problems, verify(store, sample=ALL).problems] == [(), ()]
        assert sorted(store.graph().successors(last)) == [5, 6]
