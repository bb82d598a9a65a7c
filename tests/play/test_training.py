"""An agent is a function of its seed and its games, in any number of trainings and saves."""

import sqlite3
import threading
from collections import Counter
from contextlib import closing

import pytest
from conftest import SLOW, for_all, some_of
from stored import all_rows, rows

from graphstore import Match, Store, build, train, verify
from graphstore.errors import (
    AgentMissingError,
    OpponentError,
    SettingError,
    StoreError,
    StoreMissingError,
)
from graphstore.play import agents, standings, training
from graphstore.store.sqlite import backend


def test_training_in_parts_is_training_at_once(copy, tmp_path):
    whole = tmp_path / "whole.db"
    whole.write_bytes(copy.read_bytes())
    train(whole, games=3000, seed=1)
    for games in (1, 0, 999, 2000):
        train(copy, games=games, seed=1)
    assert all_rows(copy) == all_rows(whole)


def test_saving_often_changes_nothing(copy, tmp_path, monkeypatch):
    once = tmp_path / "once.db"
    once.write_bytes(copy.read_bytes())
    train(once, games=300, seed=1, against="random")
    monkeypatch.setattr(training, "SAVE_EVERY", 0.0)
    monkeypatch.setattr(training, "BATCH", 7)
    train(copy, games=300, seed=1, against="random")
    assert all_rows(copy) == all_rows(once)


def test_the_seed_decides_every_bead(spoilt):
    for name, seed in (("a", 5), ("b", 5), ("c", 6)):
        train(spoilt, name, games=500, seed=seed)
    a, b, c = (all_rows(spoilt, agent) for agent in (1, 2, 3))
    assert a == b
    assert a["bead"] != c["bead"]


def test_agents_of_one_file_do_not_change_each_other(copy):
    train(copy, "a", games=500, seed=1)
    before = all_rows(copy)
    train(copy, "b", games=500, seed=2, side=1)
    train(copy, "c", games=500, seed=3, against="a")
    assert all_rows(copy) == before
    with Store.open(copy) as store:
        assert agents.names(store) == ["a", "b", "c"]
        agents.remove(store, "b")
        assert agents.names(store) == ["a", "c"]
    assert all_rows(copy) == before
    assert verify_ok(copy)


def verify_ok(path):
    with Store.open(path) as store:
        verdict = verify(store)
    assert verdict.ok, verdict.problems
    return "agents" in verdict.checked


def test_beads_are_what_the_games_have_added(copy):
    """A draw adds 1 to each box used; a win adds 3 to the boxes of the winner, -1 to the others."""
    train(copy, games=400, seed=1, stages=(100,))  # enough that no box becomes empty
    with closing(sqlite3.connect(copy)) as connection:
        (added,) = connection.execute("SELECT sum(beads - 100) FROM bead").fetchone()
        games = connection.execute("SELECT winner, plies, games FROM played").fetchall()
    expected = 0
    for winner, plies, count in games:
        moves = {1: (plies + 1) // 2, 2: plies // 2}
        if plies == 9:
            moves[1] -= 1  # the last free cell has no box
        for player in (1, 2):
            reward = 1 if winner == 0 else 3 if winner == player else -1
            expected += reward * moves[player] * count
    assert added == expected


def winners(path, since, agent=1):
    """Return the numbers of games after the first `since`, the end of a block, by winner."""
    late = Counter()
    for row in rows(path, "played", agent):
        late[row["winner"]] += row["games"] * (row["number"] > since)
    assert late.total() > 0
    return late


def test_an_agent_of_one_side_learns_only_that_side(spoilt):
    for name, side in (("x", 1), ("o", 2)):
        report = train(spoilt, name, games=200, side=side, seed=1)
        assert (report.opponent, report.boxes) == ("perfect", {1: 304, 2: 289}[side])
        with Store.open(spoilt) as store:
            turns = store.sql(
                "SELECT DISTINCT to_move FROM matchbox JOIN state ON id = state WHERE agent = ?",
                [name],
            )
            assert list(turns) == [(side,)]
            played = store.sql(
                "SELECT DISTINCT played.side FROM played JOIN agent ON id = agent WHERE name = ?",
                [name],
            )
            assert list(played) == [(side,)]


def test_both_sides_against_others_alternate(spoilt):
    train(spoilt, games=4, seed=1, against="random")
    assert [row["side"] for row in rows(spoilt, "played")] == [1, 2, 1, 2]


def test_a_perfect_opponent_never_loses(copy):
    for name, side in (("x", 1), ("o", 2)):
        report = train(copy, name, games=1000, side=side, seed=1)
        assert (report.won_by_1, report.won_by_2)[side - 1] == 0


@SLOW
def test_menace_as_x_comes_to_draw_with_a_perfect_opponent_on_most_seeds(copy):
    drawn = []
    for seed in range(20):
        name = f"seed-{seed}"
        train(copy, name, games=3000, side=1, seed=seed)
        drawn.append(winners(copy, since=2500, agent=seed + 1)[0] / 500)
    assert sum(share >= 0.9 for share in drawn) > 10


def test_it_wins_more_and_more_against_random_play(copy):
    train(copy, games=4000, side=1, seed=1, against="random")
    in_all, after_500, late = (winners(copy, since=n)[1] for n in (0, 500, 3500))
    assert late > in_all - after_500 + 50


@pytest.mark.parametrize(
    "game", some_of(["nim(3,4,5)", "vanishing", "hexapawn(3,3)", "connect(4,3)"], 2)
)
def test_any_game_can_be_learned_from_any_opponent(tmp_path, game):
    path = tmp_path / "game.db"
    build(game, path)
    opponents = ("self", "random", "perfect", "mistakes=0.5")
    for number, against in enumerate(opponents, 1):
        report = train(path, f"a{number}", games=150, seed=1, against=against, longest=40)
        assert report.won_by_1 + report.drawn + report.won_by_2 == 150
        assert max(row["plies"] for row in rows(path, "played", number)) <= 40
    assert verify_ok(path)


def test_a_box_that_resigns_ends_the_game_at_once(tmp_path):
    """With loss=-4 the box of the empty board is empty after a loss with each kind of bead."""
    path = tmp_path / "game.db"
    build("tictactoe", path)
    train(path, games=60, side=1, seed=3, loss=-4, draw=-4, empty="resign")
    last = rows(path, "played")[-1]
    assert (last["winner"], last["plies"]) == (2, 0)


def test_the_first_checkpoint_is_before_the_first_game_and_the_kept_are_those_of_sql(copy):
    report = train(copy, games=1500, seed=4)
    points = rows(copy, "checkpoint")
    assert [point["games"] for point in points[:3]] == [0, 1, 2]
    assert points[-1] == {"games": 1500, "kept": report.kept, "boxes": 593}
    with Store.open(copy) as store:
        (summary,) = standings.summaries(store)
        assert (summary["kept"], summary["boxes"]) == (report.kept, 593)
        curve = standings.curve(store, agents.load(store, "menace"))
        (kept,) = store.sql("""
            SELECT count(*) FROM (SELECT state FROM matchbox WHERE agent = 'menace' AND favourite
            GROUP BY state HAVING min(keeps) = 1)""")
    assert kept == (report.kept,)
    assert curve.games.tolist() == [point["games"] for point in points]
    late = winners(copy, since=750)
    assert curve.drawn[-1] == late[0] / 750
    assert curve.won[-1] == late[1] / 750


@for_all(
    ("words", "error", "said"),
    [
        ({"agent": "perfect"}, OpponentError, "cannot be called"),
        ({"agent": "mistakes=1"}, OpponentError, "cannot be called"),
        ({"agent": ""}, OpponentError, "cannot be called"),
        ({"against": "nobody"}, AgentMissingError, "no agent 'nobody'"),
        ({"against": "mistakes=2"}, OpponentError, "from 0 to 1"),
        ({"against": "person"}, OpponentError, "graphstore play"),
        ({"against": "menace"}, OpponentError, "to let menace play itself, give --against self"),
        ({"against": "self", "side": 1}, OpponentError, "cannot play itself"),
        ({"games": -1}, SettingError, "games is .-1.; it must be"),
        ({"seed": -1}, SettingError, "seed"),
        ({"stages": (0,)}, SettingError, "stages"),
        ({"stages": (1.5,)}, SettingError, "whole number"),
        ({"games": 1.5}, SettingError, "whole number"),
        ({"games": "3"}, SettingError, "whole number"),
        ({"seed": 1.5}, SettingError, "whole number"),
        ({"stage": 1}, SettingError, "no setting 'stage'"),
        ({"against": 5}, OpponentError, "no opponent 5"),
        ({"agent": 5}, OpponentError, "cannot be called"),
    ],
)
def test_wrong_arguments_are_refused_and_leave_no_agent(spoilt, words, error, said):
    with pytest.raises(error, match=said):
        train(spoilt, **{"games": 1} | words)
    with Store.open(spoilt) as store:
        assert agents.names(store) == []


def test_settings_stay_those_that_the_agent_was_made_with(spoilt):
    train(spoilt, games=10, seed=1, stages=(8, 4, 2, 1))
    with pytest.raises(SettingError, match="stages 8/4/2/1, not 4/3/2/1"):
        train(spoilt, games=10, stages=(4, 3, 2, 1))
    with pytest.raises(SettingError, match="seed 1, not 2"):
        train(spoilt, games=10, seed=2)
    train(spoilt, games=10, seed=1, stages=(8, 4, 2, 1))


def test_an_opponent_must_have_learned_the_other_side(spoilt):
    train(spoilt, "x", games=10, side=1, seed=1)
    with pytest.raises(OpponentError, match="other side"):
        train(spoilt, "y", games=10, side=1, against="x")
    train(spoilt, "o", games=10, side=2, against="x", seed=1)
    with pytest.raises(OpponentError, match="both sides"):
        train(spoilt, "z", games=10, against="x")


def test_a_file_that_cannot_be_written_says_so(copy, monkeypatch):
    monkeypatch.setattr(backend, "WAIT", 0.1)
    with closing(sqlite3.connect(copy)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="when it is done; nothing was written"):
            train(copy, games=10)


def test_a_file_that_is_not_there_says_so(tmp_path):
    with pytest.raises(StoreMissingError):
        train(tmp_path / "none.db", games=10)


def test_two_programs_that_train_one_agent_do_not_overwrite_each_other(copy):
    train(copy, games=10, seed=1)
    with Store.open(copy) as store:
        known = agents.load(store, "menace")
        arena = training.Arena.of(store.graph())
        boxes = agents.boxes(store, arena, known)
        train(copy, games=10)
        new = Counter([agents.Played(11, 0, "self", 1, 5)])
        with agents.writing(store) as connection, pytest.raises(StoreError, match="meanwhile"):
            agents.save(connection, known, arena, boxes, known.generator(), new, [])
    assert verify_ok(copy)


def test_a_rebuild_keeps_the_agents(copy):
    train(copy, "a", games=100, seed=1)
    train(copy, "b", games=100, seed=2, side=2)
    before = all_rows(copy), all_rows(copy, 2)
    report = build("tictactoe", copy, force=True)
    assert report.agents == ("a", "b")
    assert (all_rows(copy), all_rows(copy, 2)) == before
    assert verify_ok(copy)
    train(copy, "a", games=100, seed=1)


def test_a_rebuild_drops_agents_only_on_request(copy):
    train(copy, games=100, seed=1)
    before = copy.read_bytes()
    with pytest.raises(StoreError, match="add --drop-agents"):
        build("nim(3,4,5)", copy, force=True)
    assert copy.read_bytes() == before
    assert build("nim(3,4,5)", copy, force=True, drop_agents=True).agents == ()
    with Store.open(copy) as store:
        assert agents.names(store) == []


def test_a_rebuild_with_other_moves_refuses_the_agents(copy):
    train(copy, games=100, seed=1)
    with closing(sqlite3.connect(copy)) as connection, connection:
        connection.execute("UPDATE game SET digest = 'of older rules'")
    before = copy.read_bytes()
    with pytest.raises(StoreError, match="other states or moves"):
        build("tictactoe", copy, force=True)
    assert copy.read_bytes() == before


def test_training_goes_on_while_its_file_is_rebuilt(copy, tmp_path, monkeypatch, moments):
    games = moments(1000, 5000)
    monkeypatch.setattr(training, "SAVE_EVERY", 0.0)
    monkeypatch.setattr(training, "BATCH", 20)
    done = threading.Event()

    def rebuild():
        while not done.is_set():
            build("tictactoe", copy, force=True)

    train(copy, games=10, seed=1)
    builder = threading.Thread(target=rebuild)
    builder.start()
    try:
        train(copy, games=games - 10)
    finally:
        done.set()
        builder.join()
    again = tmp_path / "again.db"
    build("tictactoe", again)
    train(again, games=games, seed=1)
    assert all_rows(again) == all_rows(copy)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        ("DELETE FROM bead WHERE state = (SELECT min(state) FROM bead)", "not those of its boxes"),
        ("UPDATE bead SET move = move + 9 WHERE state = 0 AND move = 0", "not those of its boxes"),
        ("UPDATE agent SET random = '[]'", "generator"),
        ("UPDATE agent SET stages = 'x'", "4/3/2/1"),
        ("UPDATE agent SET games = games + 1", "numbers 101 to 101): games is 0, not 1"),
        ("DELETE FROM played WHERE number = 7", "numbers 7 to 7): games is 0, not 1"),
        ("UPDATE checkpoint SET kept = kept + 1 WHERE games = 100", "kept"),
        ("DELETE FROM checkpoint", "games is wrong at 0"),
        ("DELETE FROM checkpoint WHERE games = 15", "games is wrong at 15"),
        ("UPDATE bead SET beads = 1 << 40 WHERE state = 0 AND move = 0", "1,099,511,627,776 beads"),
        ("UPDATE agent SET name = 'x' || char(10)", "cannot be called"),
        ("DELETE FROM agent", "the id of an agent"),
    ],
)
def test_verify_names_what_is_wrong_with_an_agent(copy, spoil, said):
    train(copy, games=100, seed=1)
    with closing(sqlite3.connect(copy)) as connection, connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute(spoil)
    with Store.open(copy) as store:
        verdict = verify(store)
    assert any(said in str(problem) for problem in verdict.problems), verdict


def beads(path):
    with closing(sqlite3.connect(path)) as connection:
        return {(s, m): n for s, m, n in connection.execute("SELECT state, move, beads FROM bead")}


@pytest.mark.parametrize(("won_by", "reward"), [(1, 3), (2, -1)])
def test_an_agent_learns_from_a_match(copy, won_by, reward):
    train(copy, games=0, seed=1, stages=(50,))
    before = beads(copy)
    with Store.open(copy) as store:
        match = Match(store, "menace", "person", seed=1)
        while not match.over:
            match.reply() if match.by == "menace" else match.play(match.probe.moves[-1].move)
            if len(match.turns) == 6 - won_by:  # the loser is to move
                match.resign()
        assert match.result.winner == won_by
        used = [turn.before.state for turn in match.turns if turn.by == "menace"]
        assert training.learn_from(match) == ["menace"]
    after = beads(copy)
    changed = {key: after[key] - n for key, n in before.items() if after[key] != n}
    assert sorted(state for state, _ in changed) == sorted(used)
    assert set(changed.values()) == {reward}
    (game,) = rows(copy, "played")
    assert (game["side"], game["opponent"], game["winner"]) == (1, "person", won_by)
    assert verify_ok(copy)
    train(copy, games=10)
    assert verify_ok(copy)


def test_two_agents_learn_from_one_match_and_one_from_both_its_sides(copy):
    train(copy, "a", games=0, seed=1)
    train(copy, "b", games=0, seed=2)
    with Store.open(copy) as store:
        for first, second, learned in (("a", "b", ["a", "b"]), ("b", "b", ["b"])):
            match = Match(store, first, second, seed=3)
            while not match.over:
                match.reply()
            assert training.learn_from(match) == learned
    a, b = (rows(copy, "played", number) for number in (1, 2))
    assert [(game["side"], game["opponent"]) for game in a] == [(1, "b")]
    assert [(game["side"], game["opponent"]) for game in b] == [(2, "a"), (0, "self")]
    assert verify_ok(copy)


def test_nothing_is_learned_from_a_match_that_is_not_over(copy):
    train(copy, games=0, seed=1)
    before = copy.read_bytes()
    with Store.open(copy) as store:
        match = Match(store, "menace", "person", seed=1)
        match.reply()
        assert training.learn_from(match) == []
    assert copy.read_bytes() == before


def test_an_empty_box_is_filled_before_it_learns(copy):
    train(copy, games=0, seed=1)
    with Store.open(copy) as store:
        with agents.writing(store) as connection:
            connection.exec_driver_sql("UPDATE bead SET beads = 0 WHERE state = 0")
        match = Match(store, "menace", "person", seed=1)
        match.reply()
        match.resign()
        training.learn_from(match)
    assert sorted(n for (state, _), n in beads(copy).items() if state == 0) == [4, 4, 7]
