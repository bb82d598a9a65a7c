"""Comparison of two databases, by digests and by rows: it lists all differences and no others."""

import json
import shutil
import sqlite3
from contextlib import closing

import pytest
from conftest import TableGame, error_line, few, some_of, table_games
from hypothesis import given, settings
from hypothesis import strategies as st

from graphstore import Store, build, compare, train
from graphstore.checks.compare import in_step
from graphstore.store import schema

KEYS = {"state": ("id",), "edge": ("parent", "move")}


def change(path, *statements):
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def compared(first, second, **how):
    with Store.open(first) as one, Store.open(second) as other:
        return compare(one, other, **how)


def rows(path, table):
    """Return the rows of a table by key, without computed columns."""
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        found = [dict(row) for row in connection.execute(f"SELECT * FROM {table}")]
    for row in found:
        row.pop("winner", None)
    return {tuple(row[name] for name in KEYS[table]): row for row in found}


def expected(first, second):
    """Yield the differences, from dicts of rows: (table, key, column, cell or row, the other)."""
    for table in KEYS:
        ours, theirs = rows(first, table), rows(second, table)
        for key in ours.keys() | theirs.keys():
            one, other = ours.get(key), theirs.get(key)
            if one is None or other is None:
                yield table, key, None, one, other
                continue
            for name in one:
                if one[name] != other[name]:
                    yield table, key, name, one[name], other[name]


def listed(found):
    return [
        (each.table, tuple(each.key.values()), each.column, each.first, each.second)
        for each in found.differences
        if each.table in KEYS
    ]


@st.composite
def pairs(draw):
    """Two games; often the second is the first from another start, so that states are shared."""
    cyclic = draw(st.booleans())
    one = draw(table_games(cyclic=cyclic))
    start = st.sampled_from(sorted(one.table))
    return one, draw(start.map(lambda at: TableGame(one.table, at)) | table_games(cyclic=cyclic))


@settings(max_examples=few(20))
@given(pair=pairs())
def test_what_is_listed_is_what_differs_between_dicts_of_rows(pair, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pair")
    files = [folder / name for name in ("one.db", "other.db")]
    for game, file in zip(pair, files, strict=True):
        build(game, file)
    trusting = compared(*files, most=10_000)
    reading = compared(*files, rows=True, most=10_000)
    wanted = sorted(expected(*files), key=str)
    for found in (trusting, reading):
        assert sorted(listed(found), key=str) == wanted
        assert found.more == 0
        for table in KEYS:
            these = [each for each in wanted if each[0] == table]
            counts = found.tables.get(table)
            if counts is None:
                assert not these
                continue
            number = counts.only_first + counts.only_second + counts.differ
            assert number == len({key for _, key, *_ in these})
            assert sum(counts.cells.values()) == sum(each[2] is not None for each in these)
        assert found.same == (not wanted and "game" not in found.tables)
    assert set(reading.read) == set(KEYS)
    empty = {table for table in KEYS if not rows(files[0], table)}  # an empty table has no digests
    assert set(trusting.read) == {name.split(".")[0] for name in trusting.digests} | empty
    assert {each[0] for each in wanted} <= set(trusting.read)


@given(*[st.dictionaries(st.tuples(*[st.integers(0, 4)] * 2), st.integers(0, 1))] * 2)
def test_two_sorted_streams_are_paired_by_key_and_only_one_row_of_each_is_held(one, other):
    read = [0, 0]

    def stream(rows, side):
        for key in sorted(rows):
            read[side] += 1
            yield (*key, rows[key])

    met, streams = [], (stream(one, 0), stream(other, 1))
    for pair in in_step(*streams, 2):
        met.append(pair)
        for side, count in enumerate(read):
            assert count <= 1 + sum(each[side] is not None for each in met)
    assert met == [
        tuple((*key, rows[key]) if key in rows else None for rows in (one, other))
        for key in sorted(one.keys() | other.keys())
    ]


WRONG = {
    "position": "'elsewhere'",
    "to_move": "NULL",
    "ended": "1 - ended",
    "value": "CASE value WHEN 1 THEN 0 ELSE 1 END",
    "score": "0.125",
    "random_value": "NULL",
    "best_response": "0.125",
}
STORED = [column.name for column in schema.state.c if column.computed is None]


@pytest.mark.parametrize(
    ("table", "column"),
    some_of(
        [
            *(("state", name) for name in STORED),
            *(("edge", column.name) for column in schema.edge.c),
        ],
        3,
    ),
)
def test_one_changed_cell_in_any_column_is_found_and_named(copy, tictactoe_db, table, column):
    key = " AND ".join(f"{name} = ?" for name in KEYS[table])
    one_row = sorted(rows(copy, table))[100]
    with closing(sqlite3.connect(copy)) as connection, connection:
        cell = WRONG.get(column, f"coalesce({column}, 0) + 1000000")
        connection.execute(f"UPDATE {table} SET {column} = {cell} WHERE {key}", one_row)
    (*differences,) = expected(tictactoe_db, copy)
    assert [each[2] for each in differences] == (
        [None, None] if column in KEYS[table] else [column]
    )
    found = compared(tictactoe_db, copy, rows=True)
    assert sorted(listed(found), key=str) == sorted(differences, key=str)
    assert not found.digests
    assert not found.digests_tell
    assert compared(tictactoe_db, copy).same  # the stored digests are trusted


@pytest.mark.parametrize("column", [each.name for each in schema.game.c])
def test_of_the_games_own_row_all_but_the_build_is_compared(copy, tictactoe_db, column):
    wrong = {"id": "1", "cyclic": "1", "name": "'mnk'"}.get(column, f"'1' || {column}")
    change(copy, "PRAGMA ignore_check_constraints = ON", f"UPDATE game SET {column} = {wrong}")
    found = compared(tictactoe_db, copy)
    if column in ("id", "built_at", "built_with", "build_seconds", "digest"):
        assert found.same
        assert (found.read == ()) == (column != "digest")
    else:
        assert found.tables["game"].cells == {column: 1}
        assert not found.same


def test_a_game_built_twice_is_the_same_however_long_it_took(tmp_path):
    files = [tmp_path / "one.db", tmp_path / "other.db"]
    for file in files:
        build("mnk(3,2,2)", file)
    change(files[1], "UPDATE game SET built_with = 'another Python', built_at = '1999'")
    for rows_too in (False, True):
        found = compared(*files, rows=rows_too)
        assert found.same
        assert found.digests_tell
        assert found.read == (("state", "edge") if rows_too else ())


def test_rows_are_read_where_digests_differ_and_the_rows_decide(copy, tictactoe_db):
    change(copy, "UPDATE digest SET blake2b = 'x' WHERE name = 'edge.child'")
    found = compared(tictactoe_db, copy)
    assert (found.digests, found.read, found.same) == (("edge.child",), ("edge",), True)
    assert not found.digests_tell
    change(copy, "DELETE FROM digest WHERE name LIKE 'state.%'")
    assert compared(tictactoe_db, copy).read == ("state", "edge")
    assert compared(copy, copy).read == ("state",)  # without digests it must be read


def test_agents_are_compared_by_name_on_request(copy, tmp_path):
    other = tmp_path / "other.db"
    shutil.copyfile(copy, other)
    train(other, "first", games=5, seed=1)
    for file, seed in ((copy, 7), (other, 7)):
        train(file, "same", games=30, seed=seed)
        train(file, "unlike", games=30, seed=1 if file == copy else 2)
    assert compared(copy, other).same
    found = compared(copy, other, agents=True, most=10_000)
    assert {each.table for each in found.differences} == set(found.tables)
    assert found.tables.keys() <= {"agent", "bead", "played", "checkpoint"}
    assert found.tables["agent"].only_second == 1
    assert found.tables["agent"].cells.keys() == {"seed", "random"}
    assert found.tables["bead"].cells.keys() == {"beads"}
    names = {each.key.get("agent", each.key.get("name")) for each in found.differences}
    assert names == {"first", "unlike"}
    with closing(sqlite3.connect(copy)) as connection:
        connection.execute("ATTACH ? AS theirs", [str(other)])
        ((beads,),) = connection.execute(
            "SELECT count(*) FROM main.bead AS a JOIN theirs.bead AS b USING (state, move) "
            "WHERE a.agent = (SELECT id FROM main.agent WHERE name = 'unlike') "
            "AND b.agent = (SELECT id FROM theirs.agent WHERE name = 'unlike') "
            "AND a.beads <> b.beads"
        )
    assert found.tables["bead"].cells["beads"] == beads


def test_the_command_exits_with_0_for_the_same_and_with_1_for_others(run, copy, tictactoe_db):
    done = run("diff", tictactoe_db, copy)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("the same game: 765 states, 2,270 moves (by the digests)\n")
    change(copy, "UPDATE state SET value = -1 WHERE id = 0", "DELETE FROM edge WHERE parent = 0")
    done = run("diff", tictactoe_db, copy, "--rows", "--limit", 2)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines() == [
        "state: 1 with different cells (value 1)",
        "edge: 9 only in the first",
        "state 0 .../.../...: value 0, in the second -1",
        "edge parent 0, move 0: only in the first",
        "and 8 more",
        "the stored digests disagree with the rows; graphstore verify finds the changed file",
    ]
    done = run("diff", copy, tictactoe_db, "--rows", "--json", "--limit", 1)
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["same"], answer["more"]) == (1, False, 9)
    assert answer["tables"]["edge"]["only_second"] == 9
    assert answer["differences"] == [
        {
            "table": "state",
            "key": {"id": 0},
            "position": ".../.../...",
            "column": "value",
            "first": -1,
            "second": 0,
        }
    ]


def test_other_games_are_reported_first_and_bad_files_in_one_line(run, tictactoe_db, tmp_path):
    build("mnk(2,2,2)", tmp_path / "small.db")
    done = run("diff", tictactoe_db, tmp_path / "small.db")
    assert done.returncode == 1
    assert done.stdout.startswith("different games: tictactoe 1, in the second mnk(2,2,2) 1\n")
    for words in ((tictactoe_db, tmp_path / "none.db"), (tmp_path, tictactoe_db)):
        error_line(run("diff", *words))
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(tictactoe_db.read_bytes()[:100_000])
    assert str(damaged) in error_line(run("diff", damaged, tictactoe_db, "--rows"))


def test_a_changed_digest_of_the_game_is_reported(run, tictactoe_db, copy):
    with closing(sqlite3.connect(copy)) as connection:
        connection.execute("UPDATE game SET digest = '00'")
        connection.commit()
    done = run("diff", tictactoe_db, copy)
    assert done.returncode == 0
    assert "different digests: game.digest" in done.stdout
    assert "the stored digests disagree with the rows" in done.stdout
