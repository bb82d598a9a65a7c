"""SQL on a folder of parts gives the same answers as on the database, and is read-only."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from conftest import ROOT, SLOW, TableGame, error_line, for_all, graphstore, some_of
from recipes import RECIPES

from graphstore import Folder, Store, build_folder, find_game
from graphstore.errors import (
    GraphstoreError,
    MissingExtraError,
    NotAStoreError,
    NotInStoreError,
    QueryError,
    RulesDifferWarning,
    RulesMissingError,
    StoreError,
    StoreMissingError,
    UnknownCharacterError,
    WrongSizeError,
)
from graphstore.store.digests import of_json

pytest.importorskip("duckdb")


def in_parts(game, path):
    """Return the folder of a game in three parts."""
    build_folder(game, path, parts=3)
    return Folder.open(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder of tic-tac-toe, with a name that SQL and globs must quote. Read-only."""
    path = tmp_path_factory.mktemp("parts") / "a=b [c]*?'d\""
    return in_parts(find_game("tictactoe"), path)


@pytest.fixture
def spoilt(folder, tmp_path):
    """A folder of tic-tac-toe that a test may damage."""
    return Folder.open(shutil.copytree(folder.path, tmp_path / "spoilt"))


def files_of(folder):
    return {path: path.read_bytes() for path in folder.path.rglob("*") if path.is_file()}


@for_all(
    "statement",
    [
        "SELECT * FROM state ORDER BY id",
        "SELECT * FROM edge ORDER BY parent, move",
        "SELECT * FROM best_move ORDER BY state, move",
        "SELECT * FROM q_table ORDER BY state, move",
        "SELECT * FROM census",
        "SELECT * FROM digest WHERE name LIKE 'state.%' OR name LIKE 'edge.%' ORDER BY name",
        "SELECT name, rules, states, positions, moves, edges, plies, cyclic, start, value, "
        "remoteness, digest, extent FROM game",
        "SELECT board(id), canonical(id), canonical(position) FROM state ORDER BY id",
        "SELECT id FROM state ORDER BY win_depth, lose_depth DESC, id LIMIT 9",
        "SELECT sum(value) / 2, 7 / 2, -7 / 2, avg(score), sum(orbit) FROM state WHERE ply > 7",
        "SELECT ply, count(*) / sum(ended), 1e0 / 0, 5 % 0 FROM state GROUP BY ply ORDER BY ply",
        "SELECT x'00ff', 'é\U0001f600', NULL, count(*) FROM state WHERE false",
    ],
)
def test_an_answer_is_that_of_the_database(folder, file_store, statement):
    here, there = folder.sql(statement), file_store.sql(statement)
    found, told = list(here), list(there)
    assert found == told
    assert [[*map(type, row)] for row in found] == [[*map(type, row)] for row in told]
    if "*" in statement and "(" not in statement:
        assert here.columns == there.columns


def test_a_game_without_a_move_has_an_empty_table_of_them(tmp_path):
    folder = in_parts(TableGame({5: -1}, 5), tmp_path / "over")
    assert [*folder.sql("SELECT * FROM edge")] == [*folder.sql("SELECT * FROM q_table")] == []
    assert [*folder.sql("SELECT id, value, ended FROM state")] == [(5, -1, 1)]


READS = {
    "SELECT count(*) FROM state": [(765,)],
    "  \n -- all of them\n SELECT count(*) FROM state; -- done": [(765,)],
    "VALUES (1), (2)": [(1,), (2,)],
    "FROM state SELECT max(ply)": [(9,)],
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) FROM n": [
        (1,),
        (2,),
        (3,),
    ],
    "SELECT board(0), board(8706), board('xo..x....')": [
        ("...\n...\n...", "...\n.X.\n.OX", "XO.\n.X.\n...")
    ],
    "SELECT canonical('XO./.X./...'), canonical(0), canonical('........X')": [(8706, 0, 512)],
    "SELECT board(NULL), canonical(NULL)": [(None, None)],
    "SELECT board(id) FROM (SELECT 512 AS id)": [("...\n...\n..X",)],
    "WITH state AS (SELECT 512 AS id) SELECT board(id), canonical(state.id) FROM state": [
        ("...\n...\n..X", 512)
    ],
    "SELECT count(*) FROM state WHERE canonical(board(id)) <> id": [(0,)],
    "SELECT DISTINCT move FROM best_move WHERE state = canonical('........X')": [(4,)],
    "SELECT count(DISTINCT board(child)) FROM edge WHERE parent = 0": [(3,)],
    "SELECT 0.5, sum(1.5), true, [1, 2], {'a': 1}, DATE '2020-01-02', 1e300": [
        (0.5, 1.5, 1, "[1, 2]", '{"a": 1}', "2020-01-02", 1e300)
    ],
    'SELECT \'"type":"COPY_QUERY_NODE"\' AS "INSERT_NODE"': [('"type":"COPY_QUERY_NODE"',)],
}


@for_all("statement", some_of(READS, 3))
def test_what_reads_is_answered(folder, statement):
    assert list(folder.sql(statement)) == READS[statement]


@pytest.mark.parametrize(
    "statement", ["EXPLAIN FROM state", "explain analyze SELECT 1", "DESCRIBE state", "SHOW TABLES"]
)
def test_statements_about_the_tables_are_answered(folder, statement):
    assert list(folder.sql(statement))


def test_parameters_are_bound_by_order_or_by_name(folder):
    statement = "SELECT {0}, count(*) FROM state WHERE ply = {1}"
    assert list(folder.sql(statement.format("?", "?"), ("x", 9))) == [("x", 15)]
    by_name = folder.sql(statement.format(":text", ":ply"), {"ply": 9, "text": "x"})
    assert list(by_name) == [("x", 15)]
    quoted = r"""SELECT e'\'?', $a$ ? $$ $a$, "?", `?`, a$1 FROM (SELECT 1 AS "?", 2 AS a$1)"""
    quoted += " /* ? /* ? */ ? */ WHERE 3 = ? -- ?"
    assert list(folder.sql(quoted, (3,))) == [("'?", " ? $$ ", 1, 1, 2)]


WRITES = """
INSERT INTO digest VALUES ('a', 'b')
UPDATE game SET name = 'x'
DELETE FROM digest
TRUNCATE digest
MERGE INTO digest USING game ON false WHEN NOT MATCHED THEN INSERT VALUES ('a', 'b')
WITH x AS (SELECT 1) DELETE FROM digest
WITH x AS (INSERT INTO digest VALUES ('a', 'b') RETURNING *) SELECT * FROM x
WITH x AS (DELETE FROM digest RETURNING *) SELECT * FROM x
WITH x AS (COPY (SELECT 1) TO '{new}') SELECT 1
WITH x AS (COPY (SELECT 1) TO '{file}' (FORMAT parquet, USE_TMP_FILE false)) SELECT 1
SELECT (WITH x AS (COPY (SELECT 1) TO '{new}') SELECT 1)
SELECT * FROM query('WITH x AS (COPY (SELECT 1) TO ''{new}'') SELECT 1')
SELECT * FROM query('COPY (SELECT 1) TO ''{new}''')
FROM json_execute_serialized_sql(json_serialize_sql('WITH x AS (COPY (SELECT 1) TO ''{new}'') SELECT 1'))
FROM json_execute_serialized_sql(json_serialize_sql('WITH x AS (COPY (SELECT 1) TO ''{file}'' (USE_TMP_FILE false)) SELECT 1'))
EXPLAIN ANALYZE COPY (SELECT 1) TO '{new}'
EXPLAIN ANALYZE COPY (SELECT 1) TO '{file}'
EXPLAIN (ANALYZE) DELETE FROM digest
EXPLAIN (ANALYZE, FORMAT json) COPY (SELECT 1) TO '{new}'
EXPLAIN /* x */ ANALYZE COPY (SELECT 1) TO '{new}'
EXPLAIN ANALYZE WITH x AS (COPY (SELECT 1) TO '{new}') SELECT 1
EXPLAIN ANALYZE CREATE TABLE x (y INT)
COPY state TO '{new}'
COPY digest FROM '{file}'
EXPORT DATABASE '{new}'
IMPORT DATABASE '{new}'
CREATE TABLE x (y INT)
CREATE TEMP TABLE x (y INT)
CREATE OR REPLACE VIEW state AS SELECT 1
CREATE MACRO x() AS 1
CREATE TYPE x AS ENUM ('a')
CREATE SECRET x (TYPE s3)
CREATE PERSISTENT SECRET x (TYPE http)
CREATE SEQUENCE x
DROP VIEW state
ALTER TABLE game ADD COLUMN x INT
COMMENT ON TABLE game IS 'x'
ATTACH '{new}'
ATTACH ':memory:' AS x
DETACH memory
USE rules
SET threads = 1
SET enable_external_access = true
SET lock_configuration = false
RESET memory_limit
PRAGMA enable_profiling
PRAGMA threads = 1
SELECT * FROM enable_logging()
SELECT * FROM enable_logging('QueryLog', storage = 'file', storage_path = '{new}')
CALL enable_logging()
INSTALL httpfs
FORCE INSTALL httpfs
LOAD httpfs
LOAD '{new}'
UPDATE EXTENSIONS
BEGIN
COMMIT
ROLLBACK
CHECKPOINT
VACUUM
ANALYZE
PREPARE x AS SELECT 1
EXECUTE x
PIVOT state ON ply
SELECT 1; DELETE FROM digest
; DELETE FROM digest
SELECT * FROM read_text('{file}')
SELECT * FROM read_blob('{file}')
SELECT * FROM read_csv('{file}')
SELECT * FROM read_parquet('{file}')
SELECT * FROM '{file}'
SELECT * FROM glob('/*')
SELECT * FROM parquet_metadata('{file}')
SELECT * FROM sniff_csv('{file}')
SELECT * FROM read_parquet('http://127.0.0.1:1/x.parquet')
SELECT * FROM read_text('/etc/hostname')
SELECT * FROM sqlite_scan('{file}', 'state')
SELECT * FROM duckdb_extensions()
SELECT * FROM folder
""".strip().split("\n")  # noqa: E501


@for_all("statement", some_of(WRITES, 5))
def test_nothing_that_is_typed_writes_or_opens_a_file(spoilt, tmp_path, monkeypatch, statement):
    monkeypatch.chdir(tmp_path)
    before = files_of(spoilt)
    file = str(next(path for path in before if path.suffix == ".parquet"))
    with pytest.raises(QueryError) as caught:
        list(spoilt.sql(statement.replace("{file}", file).replace("{new}", "new")))
    assert "\n" not in str(caught.value)
    assert files_of(spoilt) == before
    assert [path.name for path in tmp_path.iterdir()] == ["spoilt"]


def test_no_variable_of_python_is_a_table(folder):
    import pyarrow

    secret = pyarrow.table({"x": [1]})
    with pytest.raises(QueryError, match="secret does not exist"):
        folder.sql("SELECT * FROM secret")
    assert secret.num_rows == 1


@for_all(
    ("statement", "parameters", "error", "message"),
    [
        ("", (), QueryError, "there is nothing to run; write a SELECT"),
        ("-- only a comment", (), QueryError, "there is nothing to run"),
        (";", (), QueryError, "there is nothing to run"),
        ("SELECT 1; SELECT 2", (), QueryError, "more than one statement"),
        ("SELCT 1", (), QueryError, "syntax error"),
        ("SELECT x FROM state", (), QueryError, '"x" not found'),
        ("SELECT * FROM states", (), QueryError, "states does not exist"),
        ("SELECT * FROM matchbox", (), QueryError, "matchbox does not exist"),
        ("SELECT ?", (), QueryError, "SQL: "),
        ("SELECT 1", (1,), QueryError, "0 \\? for 1 parameters"),
        ("SELECT :x", {"y": 1}, QueryError, "no parameter for :x"),
        ("SELECT ?", (object(),), QueryError, "SQL: "),
        ("SELECT '\ud800'", (), QueryError, "SQL: "),
        ("SELECT CAST('x' AS INT)", (), QueryError, "SQL: Conversion Error"),
        ("SELECT 1" + "+1" * 2000, (), QueryError, "SQL: "),
        ("SELECT repeat('x', 200000)", (), QueryError, "100,000 bytes at most"),
        ("SELECT board()", (), QueryError, "board"),
        ("SELECT board(77)", (), NotInStoreError, "no state has the id"),
        ("SELECT board(-1)", (), NotInStoreError, "no state has the id"),
        ("SELECT board('77')", (), NotInStoreError, "no state has the id"),
        ("SELECT board(9223372036854775808)", (), NotInStoreError, "no state has the id"),
        ("SELECT board(1.5)", (), QueryError, "the id of a state, not 1.5"),
        ("SELECT board(true)", (), QueryError, "the id of a state, not true"),
        ("SELECT board('?')", (), UnknownCharacterError, "'\\?' is not a cell"),
        ("SELECT canonical('XOXO')", (), WrongSizeError, "4 cells"),
        ("SELECT id, board(id + 1) FROM state", (), NotInStoreError, "no state has the id"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(folder, statement, parameters, error, message):
    with pytest.raises(error, match=message) as caught:
        list(folder.sql(statement, parameters))
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, GraphstoreError)


def test_the_rules_of_a_game_that_is_not_built_in_are_run_only_when_they_are_given(tmp_path):
    game = TableGame({0: {1: 1}, 1: -1}, 0)
    manifest = in_parts(game, tmp_path / "game").path / "game.json"
    told = json.loads(manifest.read_text())
    told["game"]["name"] = "os:getpid"
    told["check"] = of_json({name: cell for name, cell in told.items() if name != "check"})
    manifest.write_text(json.dumps(told))
    folder = Folder.open(tmp_path / "game")
    with pytest.raises(RulesMissingError, match="os:getpid is not built in; add --rules"):
        list(folder.sql("SELECT board(id) FROM state"))
    with pytest.warns(RulesDifferWarning, match="built by other rules"):
        folder.sql("SELECT 1", rules=find_game("tictactoe")).close()
    with pytest.warns(RulesDifferWarning, match="built by other rules"):  # of another name
        rows = [*folder.sql("SELECT board(id) FROM state ORDER BY id", rules=game)]
    assert rows == [("0",), ("1",)]


LONG = [
    "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b",
    "SELECT a.range FROM range(100000000) a, range(10000000) b WHERE a.range * b.range = -1",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n",
    "SELECT sum(length(board(a.id))) FROM state a, state b, state c",
]


@pytest.mark.parametrize("statement", some_of(LONG, 2))
def test_time_is_up_where_nothing_else_ends_a_statement(folder, statement):
    with pytest.raises(QueryError, match=r"not done within 0\.2 s"):
        list(folder.sql(statement, seconds=0.2))


def test_only_the_time_of_duckdb_counts(folder):
    rows = iter(folder.sql("SELECT range FROM range(9000)", seconds=1))
    assert next(rows) == (0,)
    time.sleep(1)
    assert len([*rows]) == 8999


def test_there_are_as_many_rows_as_were_allowed(folder):
    assert len([*folder.sql("SELECT * FROM state", rows=765)]) == 765
    answer = iter(folder.sql("SELECT range FROM range(100000000000)", rows=5000))
    assert [next(answer) for _ in range(5000)][-1] == (4999,)
    with pytest.raises(QueryError, match="more than 5,000 rows"):
        next(answer)


def test_more_memory_than_the_limit_is_an_error_of_one_line(folder):
    with pytest.raises(QueryError, match="needs more memory than its limit") as caught:
        list(folder.sql("SELECT list(range) FROM range(100000000)", memory=100_000_000))
    assert "\n" not in str(caught.value)


# In a new process: here a function could use memory that other tests have freed.
LITTLE_MEMORY = """
import resource

from graphstore.cli.main import main
from graphstore.store.folder import sql
from graphstore.util import own_process

own_process.MARGIN, sql.MEMORY = 64 << 20, 100 << 20
before = resource.getrlimit(resource.RLIMIT_DATA)
try:
    main()
finally:
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is not bounded here")
@pytest.mark.parametrize(
    "statement",
    some_of(
        [
            "SELECT damerau_levenshtein(repeat('a', 12000), repeat('b', 12000))",
            "SELECT length(json_extract(repeat('[', 29000000), '$'))",
            "SELECT list_sort(range(30000000))[1]",
        ],
        3,
    ),
)
def test_a_function_cannot_take_more_memory_than_the_limit_of_the_command(folder, statement):
    words = ["sql", folder.path, statement, "--seconds", "0"]
    done = subprocess.run(
        [sys.executable, "-c", LITTLE_MEMORY, *words], capture_output=True, text=True, timeout=60
    )
    assert error_line(done).startswith("SQL: the statement needs more memory than its limit")


def test_rows_beyond_the_memory_are_in_temporary_files_until_the_answer_is_closed(
    folder, tmp_path, monkeypatch
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    answer = folder.sql("SELECT range FROM range(6000000) ORDER BY hash(range)", memory=48 << 20)
    assert [*tmp_path.rglob("*")]
    answer.close()
    assert not [*tmp_path.rglob("*")]


@pytest.mark.parametrize("statement", some_of([LONG[3], LONG[1]], 2))
def test_ctrl_c_ends_a_long_query_at_once(warm, folder, statement):
    running = warm.start("sql", folder.path, statement, "--seconds", 30)
    time.sleep(1)
    running.send(signal.SIGINT)
    assert error_line(running.end(), 130) == "interrupted"


STUCK = """
SELECT jaro_similarity(repeat('ab', 1000000 + r % 2), repeat('cd', 1000000))
FROM (SELECT range AS r FROM range(4000000) ORDER BY hash(range) LIMIT 1 OFFSET 2000000)
"""
"""SQL that takes a minute in one function, while it has temporary files."""


@SLOW
@pytest.mark.parametrize(
    "stop", [signal.SIGINT, *(pytest.param(each, marks=SLOW) for each in ("time", signal.SIGTERM))]
)
def test_the_command_ends_even_if_a_function_does_not_stop(folder, tmp_path, stop):
    code = (
        "import graphstore.cli.main; from graphstore.util import own_process;"
        "from graphstore.store.folder import sql; own_process.PATIENCE_S = 0.3;"
        "sql.MEMORY = 48 << 20; graphstore.cli.main.main()"
    )
    seconds = "2" if stop == "time" else "0"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "sql", folder.path, STUCK, "--seconds", seconds],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    )
    while process.poll() is None and not [*tmp_path.rglob("*.tmp")]:
        time.sleep(0.05)
    if stop != "time":
        time.sleep(1)
        process.send_signal(stop)
    out, said = process.communicate(timeout=30)
    message = "SQL: not done within 2 s" if stop == "time" else "interrupted\n"
    assert said.startswith(f"graphstore: {message}")
    assert (process.returncode, out, said.count("\n")) == (1 if stop == "time" else 130, "", 1)
    assert not [*tmp_path.iterdir()]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_an_answer_is_not_read_in_a_forked_process(folder):
    answer = folder.sql("SELECT range FROM range(100000)")
    child = os.fork()
    if not child:
        try:
            list(answer)
        except QueryError as error:
            os._exit(42 if "the parent process" in str(error) else 1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 42
    assert len([*answer]) == 100_000


def cut(folder):
    file = folder.files("edge")[3]
    os.truncate(file, file.stat().st_size // 2)


def empty(folder):
    folder.files("state")[5].write_bytes(b"")


def remove(folder):
    folder.files("state")[5].unlink()


def remove_all(folder):
    for file in folder.files("edge"):
        file.unlink()


def swap(folder):
    folder.files("state")[0].write_bytes(folder.files("edge")[0].read_bytes())


def instead(make):
    def spoil(folder):
        file = folder.files("edge")[3]
        file.unlink()
        make(file)

    return spoil


def spoil_game(folder):
    path = folder.path / "game.json"
    path.write_text(path.read_text()[:100])


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (cut, "part-0000.parquet is damaged: .*; rebuild the folder"),
        (empty, "parquet is damaged: .*; rebuild the folder"),
        (remove, r"its files have \d+ states, not 765"),
        (remove_all, "its files have 0 moves, not 2,270"),
        (swap, "is damaged: its columns are not those of state"),
        (spoil_game, "game.json is damaged"),
        (instead(Path.mkdir), "parquet is damaged: it is not a regular file; rebuild the folder"),
        (instead(os.mkfifo), "it is not a regular file"),
        (instead(lambda file: file.symlink_to("nowhere")), "it is not a regular file"),
    ],
)
def test_a_damaged_folder_is_one_line(spoilt, spoil, message):
    spoil(spoilt)
    with pytest.raises(NotAStoreError, match=message) as caught:
        Folder.open(spoilt.path).sql("SELECT 1")
    assert "\n" not in str(caught.value)


def test_a_file_that_is_damaged_within_is_one_line(spoilt):
    file = max(spoilt.files("state"), key=lambda path: path.stat().st_size)
    content = bytearray(file.read_bytes())
    content[100:2000] = bytes(1900)
    file.write_bytes(content)
    with pytest.raises(StoreError, match="damaged; rebuild the folder") as caught:
        list(spoilt.sql("SELECT * FROM state"))
    assert "\n" not in str(caught.value)


@for_all(
    "words",
    [
        "arrow_scan",
        "read-only",
        "std::bad_alloc",
        "allocation failure",
        "reading the stream registered as ''files of state'' failed: IOError",
    ],
)
def test_words_that_a_user_writes_do_not_decide_what_an_error_is(folder, words):
    for statement in (f"SELECT error('{words}')", f"SELECT CAST('{words}' AS INT)"):
        with pytest.raises(QueryError, match=r"^SQL: (Invalid Input|Conversion) Error: "):
            list(folder.sql(statement))


@for_all(
    "statement",
    [
        "SELECT current_setting('temp_directory')",
        "SELECT 'temp_directory'.pg_catalog.\"current_setting\" /* */ ()",
        "SELECT value FROM duckdb_settings()",
        "FROM `DuckDB_settings`()",
        "FROM pg_catalog.pg_settings",
        "FROM 'pg_settings'",
        "FROM duckdb_temporary_files()",
        "FROM query('FROM duckdb_' || 'settings()')",
        "FROM query_table('pg_settings')",
        "FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))",
        "EXPLAIN SELECT current_setting('temp_directory')",
        "FROM duckdb_extensions()",
        "FROM read_text(':memory:')",
    ],
)
def test_nothing_about_the_machine_is_answered(folder, statement):
    with pytest.raises(QueryError, match=r"tells about this machine|would open a file"):
        list(folder.sql(statement))
    assert list(
        folder.sql(
            "SELECT query, query.current_setting FROM (SELECT 1 AS current_setting) AS query"
        )
    )


def test_a_folder_that_is_not_one_of_parts_is_one_line(tmp_path):
    assert "is a folder, not a graphstore" in error_line(graphstore("sql", tmp_path, "SELECT 1"))
    with pytest.raises(StoreMissingError):
        Folder.open(tmp_path / "none")


@pytest.mark.parametrize("extra", ["duckdb", "pyarrow"])
def test_without_an_extra_one_line_says_what_to_install(folder, monkeypatch, without, extra):
    for name in ("sql", "sql_rows"):
        monkeypatch.delitem(sys.modules, f"graphstore.store.folder.{name}", raising=False)
    without(extra)
    with pytest.raises(MissingExtraError, match=f"pip install {extra}$"):
        folder.sql("SELECT 1")


def test_the_command_prints_as_of_a_database(folder, file_store, run):
    statement = "SELECT ply, ended, score, win_depth FROM state ORDER BY id LIMIT 5"
    for form in ([], ["--json"], ["--csv"]):
        here = run("sql", folder.path, "-", *form, stdin=statement.encode())
        assert here.stdout == run("sql", file_store.path, statement, *form).stdout
        assert (here.returncode, here.stderr) == (0, "")
    done = run("sql", folder.path, "SELECT * FROM state", "--rows", "5", "--csv")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "more than 5 rows" in done.stderr


OF_AGENTS = (28, 29, 30, 31)


@pytest.fixture(scope="module")
def games(folder, tictactoe_db, connect_db, tmp_path_factory):
    """The games of the cookbook, each in a folder and in a database, by the database's name."""
    connect = in_parts(find_game("connect(4,4)"), tmp_path_factory.mktemp("games") / "connect")
    with Store.open(tictactoe_db) as tictactoe, Store.open(connect_db) as four:
        yield {"tictactoe.db": (folder, tictactoe), "connect-4-4.db": (connect, four)}


@pytest.mark.parametrize("number", some_of([each for each in RECIPES if each not in OF_AGENTS], 6))
def test_a_question_of_the_cookbook_is_answered_as_by_the_database(games, number):
    file, statement, _ = RECIPES[number]
    folder, store = games[file]
    told = [*store.sql(statement)]
    found = [*folder.sql(statement)]
    for row, known in zip(sorted(found, key=repr), sorted(told, key=repr), strict=True):
        assert row == pytest.approx(known, nan_ok=False)


@for_all(
    "statement",
    [
        "SELECT position, count(*) FROM state GROUP BY ply",
        "SELECT sum(orbit * (value < 0)) FROM state",
        "SELECT max(ply, value) FROM state",
        "SELECT iif(ended, 1, 0) FROM state",
        "SELECT total(ply) FROM state",
        "SELECT '3' + 4",
        "WITH RECURSIVE line(move, state) AS (SELECT NULL, id FROM state WHERE ply = 0 UNION ALL "
        "SELECT edge.move, child FROM line JOIN edge ON parent = line.state WHERE edge.move = 0) "
        "SELECT * FROM line",
    ],
)
def test_a_statement_of_sqlite_alone_has_another_answer_or_none(folder, file_store, statement):
    known = [*file_store.sql(statement)]
    with suppress(QueryError):
        assert [*folder.sql(statement)] != known


@pytest.mark.parametrize(
    "code",
    re.findall(
        r"```python\n(.*?)```", (ROOT / "docs" / "guides" / "beyond-memory.md").read_text(), re.S
    ),
)
def test_other_libraries_read_the_files_as_shown(code, folder, tmp_path, monkeypatch):
    shutil.copytree(folder.path, tmp_path / "tictactoe.parts")
    monkeypatch.chdir(tmp_path)
    library = re.search(r"^import (\w+)", code, re.M)[1]
    if library != "pyspark":  # the tests do not install it
        pytest.importorskip(library)
        names = {}
        exec(code, names)  # noqa: S102  # code of the document
        assert len(names["best"]) == 3 if "best" in names else names["rows"] == 765
