"""Untrusted input is refused in one line or answered correctly, and runs no code."""

import asyncio
import json
import runpy
import shutil
import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest
from conftest import SCRIPTS, error_line, for_all
from hypothesis import given
from hypothesis import strategies as st

from graphstore import Store, build, find_game, train, upgrade, verify
from graphstore.errors import (
    GameNameError,
    NotAStoreError,
    NotInStoreError,
    OpponentError,
    PositionError,
    QueryError,
    visible,
)
from graphstore.play.opponents import agent_name, read_opponent
from graphstore.web.application import application

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
GAMES = ("tictactoe", "connect(4,4)", "vanishing", "hexapawn(3,3)", "nim(3,4,5)", "ultimate(open)")


def test_a_small_share_of_what_the_fuzzer_tries_finds_nothing():
    fuzz = runpy.run_path(str(SCRIPTS / "checks" / "fuzz.py"))
    with fuzz["parsers"]() as known:
        tallies = fuzz["fuzz"](known, 700, seed=7, seconds=20)
    assert [each for each in tallies if each.defects] == []
    assert sum(each.accepted for each in tallies) > 100
    assert sum(each.refused for each in tallies) > 100


@given(st.sampled_from(GAMES), st.text() | st.text("XO./|- 0123456789,()WBany", max_size=90))
def test_a_text_is_refused_or_its_position_is_read_from_its_own_text_again(name, text):
    game = find_game(name)
    try:
        position = game.read(text)
    except PositionError:
        return
    (again,) = game.texts(np.array([position]))
    assert game.read(again) == position


@given(st.text() | st.from_regex(r"[a-z]{1,9}\([0-9a-z, ]{0,20}\)"))
def test_a_text_names_no_game_or_the_one_that_is_called_so(text):
    if ":" in text or text.strip().endswith(".py"):
        return  # the name of a file or a module, which find_game would run
    try:
        game = find_game(text)
    except GameNameError:
        return
    assert find_game(game.name).name == game.name


@given(st.text() | st.from_regex(r"(mistakes=)?[0-9.a-zA-Z_-]{0,70}"))
def test_a_text_means_no_opponent_or_one_of_the_six_kinds(text):
    with suppress(OpponentError):
        assert 0 <= read_opponent(text).mistakes <= 1
    with suppress(OpponentError):
        assert read_opponent(agent_name(text)).agent == text


@given(st.text())
def test_no_terminal_finds_a_command_in_what_is_made_visible(text):
    assert visible(text).replace("\n", "").replace("\t", "").isprintable()
    assert visible("".join(filter(str.isprintable, text))) == "".join(filter(str.isprintable, text))


# Cases that the fuzzer found, and cases that it need not find.


def test_rules_nested_too_deeply_and_odd_numbers_are_refused_without_a_warning(tmp_path):
    file = tmp_path / "heap.py"
    file.write_text("from graphstore import PlainGame\nclass Heap(PlainGame): pass\n")
    for inside in ("-" * 9000 + "1", "(" * 9000, "1st", "9" * 5000, "[] < 1"):
        with pytest.raises(GameNameError, match="Python literals"):
            find_game(f"{file}:Heap({inside})")


def test_time_is_up_where_nothing_else_ends_a_statement(store):
    with pytest.raises(QueryError, match=r"not done within 0.1 s; .*--seconds"):
        list(store.sql(f"{ENDLESS} SELECT sum(i) FROM n", seconds=0.1))


def test_the_time_between_requests_for_rows_does_not_count(store):
    answer = iter(store.sql(f"{ENDLESS} SELECT i FROM n LIMIT 3000", seconds=0.3))
    next(answer)
    time.sleep(0.6)
    assert len(list(answer)) == 2999


def test_rows_beyond_the_limit_are_an_error_after_those_within_it(store):
    answer = store.sql("SELECT id FROM state", rows=700)
    rows = iter(answer)
    assert len([next(rows) for _ in range(700)]) == 700
    with pytest.raises(QueryError, match=r"more than 700 rows; .*--rows 0"):
        next(rows)
    assert len(list(store.sql("SELECT id FROM state", rows=765))) == 765


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("SELECT zeroblob(100001)", "100,000 bytes at most"),
        ("SELECT replace(hex(zeroblob(40000)), '0', 'abc')", "100,000 bytes at most"),
        (f"SELECT group_concat(i) FROM ({ENDLESS} SELECT i FROM n LIMIT 50000)", "too big"),
        ("SELECT printf('%.*c', 2147483647, 'x')", "99,999 characters"),
        ("SELECT format('%.2147483647c', 'x')", "99,999 characters"),
        ("SELECT printf('%*s', 1e9, 'x')", "99,999 characters"),
        (f"SELECT '{'x' * 50_001}'", "too large"),
        (f"SELECT {', '.join(['1'] * 101)}", "too many columns"),
        (f"SELECT 1 LIKE '{'%a' * 101}'", "pattern too complex"),
        ("SELECT board(CAST(x'ff' AS TEXT))", "not UTF-8"),
    ],
)
def test_no_step_of_a_statement_is_a_long_one(run, tictactoe_db, statement, words):
    assert words in error_line(run("sql", tictactoe_db, statement))


def test_trim_takes_no_longer_than_its_texts_and_answers_as_sqlite_does(file_store):
    (row,) = file_store.sql("SELECT length(trim(hex(zeroblob(49000)), hex(randomblob(49000))))")
    assert row == (0,)


@given(
    st.lists(
        st.text("ab .0é", max_size=6) | st.integers() | st.floats(-1e15, 1e15) | st.none(),
        min_size=2,
    )
)
def test_functions_that_stand_in_for_sqlites_answer_as_those_do(file_store, values):
    marks = "SELECT trim(?, ?), ltrim(?, ?), rtrim(?, ?), printf('%s|%5.2f', ?, ?)"
    values = [
        each if not isinstance(each, int) or abs(each) < 2**63 else 7 for each in values[:2]
    ] * 4
    with closing(sqlite3.connect(":memory:")) as plain:
        assert list(file_store.sql(marks, values)) == plain.execute(marks, values).fetchall()


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/copy/state?_facete=ply", 400),
        ("/copy/state?%5Ffacete=ply", 400),
        ("/copy/state?" + "&".join(["_facet=ply"] * 13), 400),
        ("/-/static/app.css/app.css", 404),
        ("/copy/\u00e9", 400),
    ],
)
def test_a_malformed_url_is_not_an_internal_error_of_the_server(copy, path, status):
    told = []

    async def send(message):
        told.append(message.get("status"))

    scope = {"type": "http", "method": "GET", "path": path.partition("?")[0]}
    scope |= {"raw_path": path.partition("?")[0].encode(), "scheme": "http", "http_version": "1.1"}
    scope |= {"query_string": path.partition("?")[2].encode(), "root_path": ""}
    scope |= {"headers": [(b"host", b"localhost")]}
    with asyncio.Runner() as runner, closing(application([Store.open(copy)])) as explorer:
        runner.run(explorer.app()(scope, None, send))
    assert told[0] == status


def test_0_means_no_limit(run, tictactoe_db):
    done = run("sql", tictactoe_db, "SELECT id FROM state", "--rows", 0, "--seconds", 0, "--csv")
    assert (done.returncode, done.stdout.count("\n"), done.stderr) == (0, 766, "")
    assert "'--seconds': nan" in error_line(run("sql", tictactoe_db, "x", "--seconds", "nan"), 2)


def test_all_connections_to_a_file_trust_nothing_in_it(file_store):
    with file_store.connect() as connection, file_store.reader() as reader:
        for driver in (connection.connection.driver_connection, reader.driver):
            assert driver.execute("PRAGMA trusted_schema").fetchone() == (0,)
            assert driver.execute("PRAGMA cell_size_check").fetchone() == (1,)


TRAPS = {
    "a view for a table": "ALTER TABLE state RENAME TO s; CREATE VIEW state AS SELECT * FROM s",
    "an endless view": f"DROP TABLE alembic_version; CREATE VIEW alembic_version AS {ENDLESS} "
    "SELECT max(i) AS version_num FROM n",
    "a virtual table": "DROP TABLE game; CREATE VIRTUAL TABLE game USING fts5(name)",
    "another computed column": "ALTER TABLE state ADD COLUMN x TEXT AS (hex(zeroblob(9)))",
    "a trigger": "CREATE TRIGGER x AFTER INSERT ON bead BEGIN DELETE FROM state; END",
}


@pytest.mark.parametrize("trap", TRAPS)
def test_a_file_whose_tables_would_run_sql_is_refused_unread(run, copy, trap):
    spoil(copy, TRAPS[trap])
    before = copy.read_bytes()
    for words in (
        ("show",),
        ("stats",),
        ("sql", "SELECT 1"),
        ("train", "--games", "1"),
        ("upgrade",),
    ):
        said = error_line(run(words[0], copy, *words[1:]))
        assert "is not as graphstore writes it" in said
    with pytest.raises(NotAStoreError):
        build("tictactoe", copy, force=True)
    assert copy.read_bytes() == before


SCHEMA = "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = {} WHERE name = '{}'"


@for_all(
    "change",
    [
        SCHEMA.format("replace(sql, 'plies >= 0', 'length(randomblob(9)) > 0')", "played"),
        SCHEMA.format(
            "replace(sql, 'kept INTEGER', 'kept INTEGER DEFAULT (random())')", "checkpoint"
        ),
        SCHEMA.format("replace(sql, 'id = 1', 'id > 0')", "game"),
        SCHEMA.format("replace(sql, 'agent (id)', 'agent (id) ON DELETE CASCADE')", "bead"),
        "CREATE TABLE t (id REFERENCES AGENT ON DELETE CASCADE)",
        "CREATE TABLE t (id REFERENCES agent (games))",
        "CREATE INDEX i ON agent (hex(name))",
        "CREATE INDEX i ON bead (beads) WHERE beads > abs(-1)",
        "DROP INDEX ix_edge_child; CREATE INDEX ix_edge_child ON edge (child) WHERE child > 0",
    ],
)
def test_a_file_whose_tables_were_altered_is_read_but_not_written(tictactoe_db, tmp_path, change):
    path = Path(shutil.copy(tictactoe_db, tmp_path / "altered.db"))
    spoil(path, change)
    with Store.open(path) as store:
        assert [problem.table for problem in verify(store).problems] == ["schema"]
    before = path.read_bytes()
    for refused in (lambda: train(path, games=1), lambda: upgrade(path)):
        with pytest.raises(NotAStoreError, match="writing to it could run untrusted code"):
            refused()
    assert path.read_bytes() == before


def test_verify_ends_where_an_index_computes_for_long(copy):
    spoil(copy, "CREATE INDEX i ON state (length(position))")
    endless = "instr(hex(zeroblob(4500000)), hex(zeroblob(2000000)) || position)"
    spoil(copy, SCHEMA.format(f"'CREATE INDEX i ON state ({endless})'", "i"))
    with Store.open(copy) as store:
        assert not verify(store).ok


def test_views_of_a_file_call_no_function_that_graphstore_adds(copy):
    spoil(copy, "CREATE VIEW mine AS SELECT board(0) AS b; CREATE VIEW own AS SELECT 7 AS seven")
    with Store.open(copy) as store:
        assert list(store.sql("SELECT * FROM own")) == [(7,)]
        with pytest.raises(QueryError, match="unsafe use of board"):
            list(store.sql("SELECT * FROM mine"))


def test_an_export_and_the_census_use_no_view_of_the_file(run, copy):
    whole = run("export", copy, "--format", "csv", "--table", "census").stdout
    spoil(copy, f"DROP VIEW census; CREATE VIEW census AS {ENDLESS} SELECT max(i) AS ply FROM n")
    assert run("export", copy, "--format", "csv", "--table", "census").stdout == whole
    assert run("stats", copy, "--csv").stdout == whole
    assert "not done" in error_line(run("sql", copy, "SELECT * FROM census", "--seconds", 0.2))


def test_a_start_that_is_written_start_is_not_looked_for_without_end(run, copy):
    spoil(copy, "UPDATE game SET start = 'start'")
    assert run("show", copy, "--json").returncode == 0  # the rules know the start
    spoil(copy, "UPDATE game SET name = 'x'")
    with Store.open(copy) as store, pytest.raises(NotInStoreError, match="is written 'start'"):
        store.start()


NAMES = [
    "rules.py:Evil",
    "__import__('os').system('touch evil')",
    "os:getpid",
    "tictactoe; x",
    "{0}%s",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_in_a_file_is_never_run(run, copy, monkeypatch, name):
    monkeypatch.chdir(copy.parent)
    (copy.parent / "rules.py").write_text("open('evil', 'w')")
    spoil(copy, f"UPDATE game SET name = {quoted(name)}, start = '../../..'")
    done = run("show", copy, 0)
    assert (done.returncode, done.stdout[:11]) == (0, ".../.../...")
    assert name in done.stderr
    assert not (copy.parent / "evil").exists()


def test_no_terminal_obeys_what_a_file_has_in_its_texts(run, copy):
    train(copy, "known", games=5, seed=1)
    evil = quoted("\x1b]0;owned\x07\x1b[2J[red]\u202e\x9b1m")
    spoil(
        copy,
        f"UPDATE game SET name = {evil}, built_with = {evil}; UPDATE agent SET name = {evil};"
        f"UPDATE state SET position = position || {evil} WHERE ply < 2; UPDATE game SET start = 0",
    )
    commands = [
        ("show", 0),
        ("line", 0),
        ("stats",),
        ("agents",),
        ("agents", "nobody"),
        ("verify",),
    ]
    commands += [("draw", 0, "--format", "text"), ("play", 0, "--moves", "4"), ("show", "\x1b[2J")]
    commands += [("sql", "SELECT position, char(27) AS [a\x1b] FROM state WHERE ply < 2")]
    for command in commands:
        done = run(command[0], copy, *command[1:])
        for said in (done.stdout, done.stderr):
            assert said.replace("\n", "").isprintable(), command
        assert "a bug" not in done.stderr
    said = json.loads(run("stats", copy, "--json").stdout)
    assert said["game"]["name"] == "\x1b]0;owned\x07\x1b[2J[red]\u202e\x9b1m"


@pytest.mark.parametrize(
    "random",
    ["[" * 100_000, "[3, [1], null]", "{}", "[3, [], 1e999]", "9" * 5000, '["x", "y", "z"]'],
)
def test_a_damaged_random_generator_is_reported(run, copy, random):
    train(copy, "known", games=5, seed=1)
    spoil(copy, f"UPDATE agent SET random = {quoted(random)}")
    assert "the generator of known is damaged" in error_line(run("train", copy, "--agent", "known"))


@pytest.mark.parametrize("version", ["'0099'", "''", "x'00'", "'../../evil'", "NULL", "1e99"])
def test_an_unknown_revision_is_reported(run, copy, version):
    spoil(copy, "DROP TABLE alembic_version; CREATE TABLE alembic_version (version_num)")
    spoil(copy, f"INSERT INTO alembic_version VALUES ({version})")
    for command in ("show", "upgrade"):
        assert "was written by a newer graphstore" in error_line(run(command, copy))


def test_cells_of_a_wrong_type_are_reported_as_damage(run, copy):
    schema = "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = {} WHERE name = 'state'"
    spoil(copy, schema.format("replace(sql, 'STRICT', '-- STRICT')"))
    spoil(copy, "UPDATE state SET position = 7, remoteness = 'x' WHERE ply < 2")
    spoil(copy, schema.format("replace(sql, '-- STRICT', 'STRICT')"))
    with Store.open(copy) as store, pytest.raises(NotAStoreError, match="is damaged: non-"):
        store.graph()
    assert run("verify", copy).returncode == 1


def spoil(path, script):
    """Run SQL on a file, without graphstore."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)


def quoted(text):
    """Return a text quoted for SQL."""
    return "'" + text.replace("'", "''") + "'"
