"""A user's SQL runs if it only reads, and is refused in one line if it would do more."""

import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import suppress

import pytest
from conftest import error_line, for_all
from sqlwrites import WRITES

from graphstore import Store
from graphstore.errors import (
    GraphstoreError,
    NotInStoreError,
    QueryError,
    UnknownCharacterError,
    WrongSizeError,
)
from graphstore.store.sql import Watch
from graphstore.util.signals import noticed

READS = {
    "SELECT count(*) FROM state": [(765,)],
    "select COUNT(*) from STATE;": [(765,)],
    "  \n -- all of them\n SELECT count(*) FROM state; -- done": [(765,)],
    "VALUES (1), (2)": [(1,), (2,)],
    "WITH x AS (SELECT ply FROM state) SELECT max(ply) FROM x": [(9,)],
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3) SELECT * FROM n": [
        (1,),
        (2,),
        (3,),
    ],
    "SELECT ply, sum(count(*)) OVER (ORDER BY ply) FROM state GROUP BY ply LIMIT 2": [
        (0, 1),
        (1, 4),
    ],
    "SELECT value FROM json_each('[1, null, \"a\"]')": [(1,), (None,), ("a",)],
    "SELECT json_group_array(ply) FROM (SELECT DISTINCT ply FROM state ORDER BY ply)": [
        ("[0,1,2,3,4,5,6,7,8,9]",)
    ],
    "SELECT name FROM pragma_table_info('edge')": [("parent",), ("move",), ("child",)],
    "PRAGMA foreign_key_check": [],
    "PRAGMA integrity_check": [("ok",)],
    "PRAGMA Quick_Check(1)": [("ok",)],
    "PRAGMA application_id": [(0x67726673,)],
    "SELECT count(*) FROM sqlite_master WHERE type = 'view'": [(5,)],
    "SELECT typeof(random()), abs(-1), upper('x'), x'00ff'": [("integer", 1, "X", b"\x00\xff")],
    "SELECT NULL WHERE 0": [],
    "SELECT move FROM edge WHERE parent = 0 INTERSECT SELECT 4": [(4,)],
    "SELECT board(0), board(8706)": [("...\n...\n...", "...\n.X.\n.OX")],
    "SELECT board('XO. .X. ...'), board('xo..x....')": [("XO.\n.X.\n...", "XO.\n.X.\n...")],
    "SELECT canonical('XO./.X./...'), canonical(0), canonical('........X')": [(8706, 0, 512)],
    "SELECT board(NULL), canonical(NULL)": [(None, None)],
    "SELECT count(*) FROM state WHERE canonical(board(id)) <> id": [(0,)],
    "SELECT count(DISTINCT board(id)) FROM state": [(765,)],
    "SELECT DISTINCT move FROM best_move WHERE state = canonical('........X')": [(4,)],
}


@pytest.fixture
def apart(copy, monkeypatch):
    """A store in the working directory, where SQL would create files with relative names."""
    monkeypatch.chdir(copy.parent)
    with Store.open(copy) as store:
        yield store


@for_all("statement", WRITES)
def test_nothing_that_is_typed_can_write(apart, statement):
    before = apart.path.read_bytes(), apart.path.stat().st_mtime_ns
    with pytest.raises(QueryError) as caught:
        list(apart.sql(statement))
    assert "\n" not in str(caught.value)
    assert (apart.path.read_bytes(), apart.path.stat().st_mtime_ns) == before
    assert [each.name for each in apart.path.parent.iterdir()] == [apart.path.name]
    assert list(apart.sql("SELECT count(*) FROM state")) == [(765,)]


def test_the_list_of_attempts_is_a_long_one():
    assert len(set(WRITES)) == len(WRITES) > 90


@for_all("statement", READS)
def test_what_reads_is_answered(file_store, statement):
    assert list(file_store.sql(statement)) == READS[statement]


@pytest.mark.parametrize(
    "statement",
    ["EXPLAIN SELECT * FROM state", "EXPLAIN QUERY PLAN SELECT * FROM state", "PRAGMA table_list"],
)
def test_statements_about_the_tables_are_answered(file_store, statement):
    assert list(file_store.sql(statement))


def test_the_columns_are_known_without_any_row(store):
    answer = store.sql("SELECT id AS state, ply + 1 AS next, NULL AS state FROM state WHERE false")
    assert answer.columns == ("state", "next", "state")
    assert list(answer) == []


def test_parameters_are_bound_by_order_or_by_name(store):
    statement = "SELECT {0}, count(*) FROM state WHERE ply = {1}"
    assert list(store.sql(statement.format("?", "?"), ("x", 9))) == [("x", 15)]
    by_name = store.sql(statement.format(":text", ":ply"), {"ply": 9, "text": "x"})
    assert list(by_name) == [("x", 15)]


@for_all(
    ("statement", "parameters", "error", "message"),
    [
        ("", (), QueryError, "there is nothing to run; write a SELECT"),
        ("-- only a comment", (), QueryError, "there is nothing to run"),
        ("/* only a comment", (), QueryError, "there is nothing to run"),
        (";", (), QueryError, "there is nothing to run"),
        ("SELECT 1; SELECT 2", (), QueryError, "write one SELECT"),
        ("SELCT 1", (), QueryError, 'near "SELCT": syntax error'),
        ("SELECT", (), QueryError, "incomplete input"),
        ("SELECT x FROM state", (), QueryError, "no such column: x"),
        ("SELECT * FROM states", (), QueryError, "no such table: states"),
        ("SELECT 'x", (), QueryError, "unrecognized token"),
        ("SELECT ?", (), QueryError, "bindings"),
        ("SELECT 1", (1,), QueryError, "bindings"),
        ("SELECT ?", (2**63,), QueryError, "too large"),
        ("SELECT ?", ([],), QueryError, "type 'list' is not supported"),
        ("SELECT '\0'", (), QueryError, "null character"),
        ("SELECT '\ud800'", (), QueryError, "surrogates"),
        ("SELECT abs(-9223372036854775808)", (), QueryError, "integer overflow"),
        ("SELECT json('x')", (), QueryError, "malformed JSON"),
        ("SELECT CAST(x'ff' AS TEXT)", (), QueryError, "decode to UTF-8"),
        ("SELECT zeroblob(3000000000)", (), QueryError, "too big"),
        ("SELECT board()", (), QueryError, "wrong number of arguments"),
        ("SELECT board(77)", (), NotInStoreError, "no state has the id"),
        ("SELECT board(-1)", (), NotInStoreError, "no state has the id"),
        ("SELECT board(1e300)", (), QueryError, "not 1e\\+300"),
        ("SELECT board(1.0)", (), QueryError, "the id of a state, not 1.0"),
        ("SELECT board(x'00')", (), QueryError, "the id of a state, not b'"),
        ("SELECT board('?')", (), UnknownCharacterError, "'\\?' is not a cell"),
        ("SELECT canonical('XOXO')", (), WrongSizeError, "4 cells"),
        ("SELECT canonical(1.5)", (), QueryError, "not 1.5"),
        ("SELECT canonical(77)", (), NotInStoreError, "77"),
        ("SELECT id, board(id + 1) FROM state", (), NotInStoreError, "no state has the id"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(file_store, statement, parameters, error, message):
    with pytest.raises(error, match=message) as caught:
        list(file_store.sql(statement, parameters))
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, GraphstoreError)


@for_all(
    "statement",
    [
        "PRAGMA database_list",
        "SELECT * FROM pragma_database_list",
        "PRAGMA compile_options",
        "SELECT * FROM pragma_module_list",
        "PRAGMA data_store_directory",
        "SELECT sqlite_compileoption_used('x')",
        "SELECT sql FROM sqlite_stmt",
    ],
)
def test_nothing_about_the_machine_is_answered(file_store, statement):
    with pytest.raises(QueryError, match="would do more than read the game"):
        list(file_store.sql(statement))


@for_all(
    "words",
    [
        "authorized",
        "x is prohibited",
        "one statement",
        "too big",
        "interrupted",
        "user-defined function raised exception",
        "database disk image is malformed",
        "file is not a database",
    ],
)
def test_words_that_a_user_writes_do_not_decide_what_an_error_is(file_store, words):
    for statement, reason in (
        (f"SELECT [{words}]", "column"),
        (f"SELECT * FROM [{words}]", "table"),
    ):
        with pytest.raises(QueryError) as caught:
            list(file_store.sql(statement))
        assert str(caught.value) == f"SQL: no such {reason}: {words}"


def test_an_answer_is_read_as_it_comes(store):
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
    answer = iter(store.sql(endless))
    assert [next(answer) for _ in range(5000)][-1] == (5000,)
    answer.close()


@pytest.mark.parametrize(
    "statement",
    [
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n",
        "SELECT count(*) FROM state a, state b, state c, state d",
        "SELECT sum(length(board(a.id))) FROM state a, state b, state c",
    ],
)
def test_ctrl_c_ends_a_long_query_at_once(warm, tictactoe_db, statement):
    running = warm.start("sql", tictactoe_db, statement, "--seconds", 30)
    time.sleep(0.5)
    running.send(signal.SIGINT)
    assert error_line(running.end(), 130) == "interrupted"


def test_names_and_texts_in_a_database_are_not_run_as_python(copy):
    """A database is data: no name in it is imported, no text in it evaluated."""
    code = (
        "import sqlite3, sys\n"
        "c = sqlite3.connect(sys.argv[1])\n"
        "c.execute(\"UPDATE game SET name = 'os:getpid', start = '__import__(\\\"os\\\")'\")\n"
        "c.commit()\n"
    )
    subprocess.run([sys.executable, "-c", code, copy], check=True, timeout=60)
    with Store.open(copy) as store:
        assert not store.has_rules
        assert store.get(0) is not None


def test_ctrl_c_before_the_first_line_of_a_function_is_ctrl_c_too(file_store):
    """SQLite reports only that a function raised an error, and here no function recorded one."""
    error = sqlite3.OperationalError("user-defined function raised exception")
    with noticed():
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert isinstance(Watch().cause(error), KeyboardInterrupt)
    for statement in ("SELECT printf('%s', 'a' || x'ff')", "SELECT board('a' || x'ff')"):
        with pytest.raises(QueryError, match="not UTF-8"):
            list(file_store.sql(statement))
