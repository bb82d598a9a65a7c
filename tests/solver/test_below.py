"""The states below some positions are built, estimated, extended and verified like a game."""

import json
import sqlite3
from contextlib import closing

import numpy as np
import pytest
from conftest import error_line

from graphstore import Store, build, explore, find_game, solve, train, verify
from graphstore.errors import PositionError, StoreExistsError
from graphstore.games.ultimate.record import LENGTH, Record
from graphstore.play import standings
from graphstore.solver.exploration import estimate

GAMES = [
    ("tictactoe", ("X../.O./..X", "OX./.X./...")),
    ("connect(4,4)", ("..../..../O.../XX..", "..../..../..../XOXO")),
    ("nim(3,4,5)", ("2,2,2", "3,1,5")),
    ("hexapawn(3,3)", ("BBB/W../.WW B", "BBB/.W./W.W B")),
    ("morris(orthogonal)", ("XO./.X./... O", "XOX/O.O/.X. O")),
]
LATE = "OXOOO.XOX .XXXXXXXX X...OXOOX XXXX..XX. OO...OOXX O.OOOOO.O X XXXXXXXX. OOO..OOOO 2 O"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A function that returns the database of a whole game, built once."""
    folder, built = tmp_path_factory.mktemp("whole"), {}

    def whole(name):
        if name not in built:
            built[name] = folder / f"{len(built)}.db"
            build(name, built[name])
        return built[name]

    return whole


def solved_columns(path, only=None):
    """Return value, remoteness, score and depths of the states of a file, by id."""
    columns = "id, value, remoteness, score, win_depth, lose_depth, position, to_move, ended"
    with closing(sqlite3.connect(path)) as connection:
        rows = {row[0]: row[1:] for row in connection.execute(f"SELECT {columns} FROM state")}
    return rows if only is None else {key: rows[key] for key in only}


def edges(path, parents):
    with closing(sqlite3.connect(path)) as connection:
        return {row for row in connection.execute("SELECT * FROM edge") if row[0] in parents}


def closure(path, starts):
    """Return the states that play from some can reach, by SQL alone."""
    marks = ", ".join("(?)" for _ in starts)
    query = f"""
        WITH RECURSIVE reached(id) AS (VALUES {marks}
            UNION SELECT child FROM edge JOIN reached ON parent = id)
        SELECT id FROM reached"""
    with closing(sqlite3.connect(path)) as connection:
        return {state for (state,) in connection.execute(query, starts)}


@pytest.mark.parametrize(("name", "texts"), GAMES)
def test_below_a_position_is_the_same_part_of_the_whole_game(whole, tmp_path, name, texts):
    game = find_game(name)
    path = tmp_path / "below.db"
    report = build(name, path, below=texts[:1])
    (start,) = game.canonical(game.read_many(texts[:1])).tolist()
    reached = closure(whole(name), [start])
    found = solved_columns(path)
    assert found == solved_columns(whole(name), reached)
    assert report.states == len(found)
    assert edges(path, found.keys()) == edges(whole(name), reached)
    with Store.open(path) as store:
        assert (store.info["extent"], store.info["starts"]) == ("below", 1)
        verdict = verify(store)
        assert verdict.ok, verdict.problems
        assert store.probe(texts[0]).ply == 0


@pytest.mark.parametrize(("name", "texts"), GAMES)
def test_positions_that_are_added_make_the_file_that_all_at_once_would(tmp_path, name, texts):
    once, grown = tmp_path / "once.db", tmp_path / "grown.db"
    build(name, once, below=texts)
    for text in texts:
        build(name, grown, below=[text])
    with Store.open(once) as a, Store.open(grown) as b:
        assert a.info["digest"] == b.info["digest"]
        assert b.info["starts"] == 2
        assert verify(b).ok


def test_positions_that_cannot_be_added_are_refused_and_nothing_changes(copy, tmp_path):
    below = tmp_path / "below.db"
    build("tictactoe", below, below=["X../.O./..X"])
    before = copy.read_bytes(), below.read_bytes()
    with pytest.raises(StoreExistsError, match="has the whole game"):
        build("tictactoe", copy, below=["X../.O./..X"])
    with pytest.raises(StoreExistsError, match="already has these positions"):
        build("tictactoe", below, below=["..X/.O./X.."])
    with pytest.raises(StoreExistsError, match="cannot be added"):
        build("mnk(4,3,3)", below, below=["X.../..../...."])
    with pytest.raises(StoreExistsError, match="exists; add --force"):
        build("tictactoe", below)
    with pytest.raises(PositionError):
        build("tictactoe", below, below=["XXX/XXX/..."])
    assert (copy.read_bytes(), below.read_bytes()) == before
    build("tictactoe", below, below=["XO./.../..."], force=True)
    with Store.open(below) as store:
        assert store.info["starts"] == 1


def test_agents_get_boxes_for_what_is_added(tmp_path):
    path = tmp_path / "below.db"
    build("tictactoe", path, below=["X../.O./..X"])
    train(path, "a", games=50, side=2, seed=1)
    train(path, "b", games=50, seed=1, stages=(8, 4))
    with closing(sqlite3.connect(path)) as connection:
        before = set(connection.execute("SELECT * FROM bead"))
    assert build("tictactoe", path, below=["XO./.../..."]).agents == ("a", "b")
    with Store.open(path) as store:
        assert verify(store).ok
        for row in standings.summaries(store):
            fresh = f"fresh-{row['agent']}"
            side = row["side"]
            train(path, fresh, games=0, side=side, stages=(8, 4) if side == 0 else (4, 3, 2, 1))
            (new,) = (each for each in standings.summaries(store) if each["agent"] == fresh)
            assert new["boxes"] == row["boxes"]
    with closing(sqlite3.connect(path)) as connection:
        assert before <= set(connection.execute("SELECT * FROM bead"))
    train(path, "a", games=50)


def test_an_estimate_below_a_position_is_exact_where_all_is_seen():
    game = find_game("mnk(4,4,4)")
    start = game.read_many(["XOXO/OXOX/X.../..O."])
    graph = explore(game, starts=start)
    solve(graph)
    ahead = estimate(game, starts=start)
    assert (ahead.complete, ahead.states, ahead.moves) == (
        True,
        len(graph.states.id),
        graph.number_of_moves(),
    )


def test_an_ended_position_is_a_game_of_one_state(tmp_path):
    assert build("tictactoe", tmp_path / "t.db", below=["XXX/OO./..."]).states == 1


def test_the_command_line_builds_estimates_and_adds(tmp_path, run):
    path = tmp_path / "t.db"
    first, second = "X../.O./..X", "XO./.../..."
    report = json.loads(run("build", "tictactoe", "--from", first, "--db", path, "--json").stdout)
    ahead = json.loads(run("estimate", "tictactoe", "--from", first, "--json").stdout)
    assert ahead["states"] == report["states"]
    assert report["start"] == "..X/.O./X.."
    more = json.loads(run("build", "tictactoe", "--from", second, "--db", path, "--json").stdout)
    assert more["states"] > report["states"]
    both = ("--from", first, "--from", second)
    assert (
        json.loads(run("estimate", "tictactoe", *both, "--json").stdout)["states"]
        == (more["states"])
    )
    assert "2 X" in run("estimate", "tictactoe", "--from", "XX.......").stderr
    assert "is not in this database" in error_line(run("show", path, "....X...."))


def test_a_late_position_of_ultimate_is_a_file_like_any(tmp_path, run):
    path = tmp_path / "u.db"
    run("build", "ultimate(open)", "--from", LATE, "--db", path)
    with Store.open(path) as store:
        assert verify(store).ok
        states = store.info["states"]
        assert store.probe(LATE).value == 1
    records = run("export", path, "--format", "record").stdout.split()
    assert len(records) == states
    as_json = run("export", path, "--format", "record", "--json").stdout
    assert json.loads(as_json) == records
    with Store.open(path) as store:
        game = store.game
        rows = list(store.sql("SELECT id, value, ended FROM state ORDER BY id"))
        best = dict(store.sql("SELECT state, min(move) FROM best_move GROUP BY state"))
        ids = game.canonical(game.read_many(records))
        assert ids.tolist() == [state for state, _, _ in rows]
        for text, (state, value, ended) in zip(records, rows, strict=True):
            record = Record.unpack(bytes.fromhex(text))
            sign = 1 if record.to_move == 1 else -1
            assert record.evaluation == value * sign
            assert record.best_move == best.get(state)
            assert (record.best_move is None) == bool(ended)
    assert all(len(text) == 2 * LENGTH for text in records)
    shown = run("show", path, records[0])
    assert shown.returncode == 0


def test_the_record_is_for_ultimate_only(tictactoe_db, run):
    said = error_line(run("export", tictactoe_db, "--format", "record"))
    assert "ultimate tic-tac-toe only" in said


def test_a_changed_cell_below_is_found_as_in_a_whole_game(tmp_path):
    path = tmp_path / "t.db"
    build("tictactoe", path, below=["X../.O./..X"])
    later = "(SELECT min(id) FROM state WHERE ply = 3)"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"UPDATE state SET ply = 0 WHERE id = {later}")
    with Store.open(path) as store:
        assert not verify(store).ok
        assert np.all(store.lookup(["X../.O./..X"]).found)
