"""Every command does what its help says, prints only data, and fails in one line."""

import csv
import io
import json
import os
import re
import select
import sqlite3
import subprocess
import sys
from contextlib import closing
from importlib.metadata import version
from pathlib import Path

import click
import pytest
from conftest import GRAPHSTORE, error_line, for_all, graphstore, openpty

from graphstore import Store, build
from graphstore.cli import console
from graphstore.cli.console import PlainProgress
from graphstore.cli.main import cli
from graphstore.store import schema

SCRIPT = str(Path(sys.executable).with_name("graphstore"))
ESCAPE = "\x1b"
STATE_COLUMNS = [column.name for column in schema.state.c]
NAMED = ["state", *STATE_COLUMNS[1:]]  # the names in show and line


@pytest.fixture
def inside(tmp_path, monkeypatch):
    """An empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def printed(done):
    """Return the standard output of a command that succeeded without any message."""
    assert (done.returncode, done.stderr) == (0, ""), done
    assert ESCAPE not in done.stdout
    return done.stdout


def in_terminal(*words, **environment):
    """Run a command in a terminal; return its exit code and the text it showed."""
    here, there = openpty()
    process = subprocess.Popen(
        [*GRAPHSTORE, *map(str, words)],
        stdin=there,
        stdout=there,
        stderr=there,
        env={k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
        | {"TERM": "xterm-256color", "COLUMNS": "100"}
        | environment,
    )
    os.close(there)
    shown = b""
    while select.select([here], [], [], 60)[0]:
        try:
            part = os.read(here, 10_000)
        except OSError:  # the other side was closed
            break
        if not part:
            break
        shown += part
    os.close(here)
    return process.wait(60), shown.decode()


# Help


@pytest.mark.parametrize("name", cli.commands)
def test_every_command_explains_itself(run, name):
    text = printed(run(name, "-h"))
    assert text == printed(run(name, "--help"))
    assert text.startswith(f"Usage: graphstore {name} ")
    assert "\\b" not in text
    for parameter in cli.commands[name].params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.name
        elif parameter.required:
            assert parameter.make_metavar(click.Context(cli.commands[name])) in text
    summary = text.split("\n\n")[1]
    assert summary.strip().split("\n")[0].rstrip().endswith((".", ":")) or "\n" in summary


def test_the_examples_in_the_help_are_lines_of_their_own_and_work(run, inside):
    text = printed(run("-h"))
    examples = re.findall(r"^  (graphstore .*)$", text, re.M)
    assert len(examples) >= 3
    for example in examples:
        words = [word.strip('"') for word in re.findall(r'"[^"]*"|\S+', example)]
        assert printed(run(*words[1:]))


def test_without_a_command_the_help_is_shown_and_that_is_wrong_usage(run):
    done = run()
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.rstrip() == printed(run("-h")).rstrip()


SLOW_TO_IMPORT = {
    *("alembic", "asyncio", "datasette", "duckdb", "filelock", "importlib.metadata", "matplotlib"),
    *("networkx", "numpy", "pandas", "psutil", "psycopg", "pyarrow", "rich", "scipy", "sqlalchemy"),
}
BOARDS = "base boardtext grid"  # the modules of graphstore.games that tictactoe needs
IMPORTS = [
    ("-h", "", ""),
    ("sql FILE SELECT/**/1", "", ""),
    ("sql FILE SELECT/**/board(0)", "numpy", BOARDS),
    ("stats FILE", "", ""),
    ("line FILE", "numpy", BOARDS),
    ("show FILE XO./.X./... --json", "numpy", BOARDS),
    ("show FILE", "numpy rich", BOARDS),
    ("draw FILE --format text", "numpy", BOARDS),
    ("play FILE --moves 4 --json", "numpy rich", BOARDS),
    ("agents FILE", "asyncio importlib.metadata numpy sqlalchemy", ""),
]


@for_all(("words", "libraries", "games"), IMPORTS)
def test_a_command_imports_only_what_it_needs(words, libraries, games, tictactoe_db):
    typed = [str(tictactoe_db) if word == "FILE" else word for word in words.split()]
    code = (
        "import sys, graphstore.cli.main\n"
        f"sys.argv = ['graphstore', *{typed}]\n"
        "try: graphstore.cli.main.main()\n"
        "finally: print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    modules, of_games = done.stderr.split(), "graphstore.games."
    assert SLOW_TO_IMPORT.intersection(modules) == {*libraries.split()}
    assert {name.removeprefix(of_games) for name in modules if name.startswith(of_games)} == {
        *games.split()
    }


@pytest.mark.parametrize("missing", [(), ("SIGALRM", "setitimer")], ids=["POSIX", "Windows"])
def test_ctrl_c_in_a_destructor_is_one_line(missing):
    code = f"""
import signal, time
for name in {missing}:
    delattr(signal, name)
import graphstore.cli.main
from graphstore.__main__ import run

class Late:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)

def main():
    Late()
    while True:
        time.sleep(0.01)

graphstore.cli.main.main = main
run()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert error_line(done, 130) == "interrupted"


def test_ctrl_c_in_the_last_destructor_does_not_end_the_exit_by_a_signal():
    code = """
import signal, time
import graphstore.cli.main
from graphstore.__main__ import run

class Late:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)

class Last:
    def __del__(self, sleep=time.sleep):
        sleep(0.1)

last = Last()  # deleted when Python has reset its signals
graphstore.cli.main.main = Late
run()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_script_and_the_module_print_the_same_version():
    right = f"graphstore {version('graphstore')}\n"
    assert printed(graphstore("--version")) == right
    done = subprocess.run([SCRIPT, "--version"], capture_output=True, text=True, timeout=60)
    assert printed(done) == right


# Data


def test_build_reports_the_database_it_wrote(run, inside):
    text = printed(run("build", "tictactoe"))
    facts = dict(line.split(maxsplit=1) for line in text.splitlines() if ":" not in line)
    assert facts | {"file": "tictactoe.db"} == facts
    assert (facts["states"], facts["positions"], facts["moves"]) == ("765", "5,478", "2,270")
    assert "seconds: total" in text
    report = json.loads(printed(run("build", "mnk(2,2,2)", "--json")))
    assert report["file"] == "mnk-2-2-2.db"
    assert report.keys() >= {"states", "positions", "moves", "edges", "value", "remoteness"}
    assert sorted(p.name for p in inside.iterdir()) == ["mnk-2-2-2.db", "tictactoe.db"]


def test_games_are_listed_with_examples_that_build(run, inside):
    text = printed(run("games"))
    rows = json.loads(printed(run("games", "--json")))
    assert [row["game"] for row in rows] == [line.split("  ")[0] for line in text.splitlines()[2:]]
    assert printed(run("build", rows[0]["examples"][0]))


def test_show_gives_json_with_the_names_of_the_columns(run, store, tictactoe_db):
    for position in ("XO./.X./...", "xo..x....", "8706", "XXX/OO./..."):
        data = json.loads(printed(run("show", tictactoe_db, position, "--json")))
        assert list(data) == [*NAMED, "moves"]
        assert data == json.loads(json.dumps(store.probe(position).as_dict()))


def test_line_gives_json_with_the_names_of_the_columns(run, store, tictactoe_db):
    data = json.loads(printed(run("line", tictactoe_db, "XO./.X./...", "--json")))
    assert list(data) == ["moves", "positions", "repeats"]
    assert data["moves"] == list(store.line("XO./.X./...").moves)
    assert {tuple(row) for row in data["positions"]} == {tuple(NAMED)}


def test_stats_give_the_row_of_the_game_and_the_census(run, file_store, tictactoe_db):
    data = json.loads(printed(run("stats", tictactoe_db, "--json")))
    assert data == {"game": file_store.info, "census": file_store.census()}
    assert list(data["game"]) == [column.name for column in schema.game.c]
    rows = list(csv.DictReader(io.StringIO(printed(run("stats", tictactoe_db, "--csv")))))
    assert [{k: int(v) for k, v in row.items()} for row in rows] == file_store.census()
    text = printed(run("stats", tictactoe_db))
    assert "positions      5,478" in text
    assert " won_by_1" in text


def test_sql_prints_the_same_rows_in_three_forms(run, store, tictactoe_db):
    statement = "SELECT * FROM state ORDER BY id"
    rows = list(store.sql(statement))
    parsed = json.loads(printed(run("sql", tictactoe_db, statement, "--json")))
    assert [tuple(row.values()) for row in parsed] == rows
    assert list(parsed[0]) == STATE_COLUMNS
    lines = list(csv.reader(io.StringIO(printed(run("sql", tictactoe_db, statement, "--csv")))))
    assert lines[0] == STATE_COLUMNS
    assert lines[1:] == [["" if c is None else str(c) for c in row] for row in rows]
    table = printed(run("sql", tictactoe_db, statement)).splitlines()
    assert table[0].split() == STATE_COLUMNS
    assert len(table) == 2 + len(rows)


def test_json_output_is_valid_for_any_cell(run, tictactoe_db):
    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    statement = (
        "SELECT 9e999 a, -9e999 b, x'00ff' c, NULL d, 'é' || char(10) || '\"' e, 1 a, '' AS ''"
    )
    (row,) = json.loads(
        printed(run("sql", tictactoe_db, statement, "--json")), parse_constant=refuse
    )
    assert row == {"a": "inf", "b": "-inf", "c": "00ff", "d": None, "e": 'é\n"', "a_2": 1, "": ""}
    assert json.loads(printed(run("sql", tictactoe_db, "SELECT 1 WHERE 0", "--json"))) == []
    assert printed(run("sql", tictactoe_db, "SELECT 1 AS a WHERE 0", "--csv")) == "a\n"
    assert printed(run("sql", tictactoe_db, "SELECT 1 AS a WHERE 0")) == "a\n-\n"


def test_a_board_in_a_table_takes_several_lines(run, tictactoe_db):
    text = printed(run("sql", tictactoe_db, "SELECT board(8706) AS board, 1 AS one"))
    assert text.splitlines() == ["board  one", "-----  ---", "...      1", ".X.", ".OX"]


def test_sql_takes_its_statement_from_standard_input(run, tictactoe_db):
    statement = "-- how many\nSELECT count(*) AS n\nFROM state;\n"
    assert printed(run("sql", tictactoe_db, "-", "--csv", stdin=statement.encode())) == "n\n765\n"
    assert printed(graphstore("sql", tictactoe_db, "-", "--csv", stdin=statement)) == "n\n765\n"
    assert "nothing to run" in error_line(run("sql", tictactoe_db, "-"))
    error_line(run("sql", tictactoe_db, "-", stdin=bytes(range(256))))


def test_verify_and_upgrade_report_as_text_and_as_json(run, copy):
    assert printed(run("verify", copy)).startswith(f"{copy} is correct: 765 states, 2,270 moves\n")
    data = json.loads(printed(run("verify", copy, "--json")))
    assert (data["ok"], data["problems"], data["skipped"]) == (True, [], [])
    last = schema.REVISIONS[-1]
    assert printed(run("upgrade", copy)) == f"{copy} is at schema {last} already\n"
    data = json.loads(printed(run("upgrade", copy, "--json")))
    assert data == {"file": str(copy), "before": last, "after": last}
    with closing(sqlite3.connect(copy)) as connection:
        connection.execute("UPDATE state SET ply = 7 WHERE id = 0")
        connection.commit()
    done = run("verify", copy, "--json")
    assert done.returncode == 1
    data = json.loads(done.stdout)
    assert not data["ok"]
    assert {"table", "row", "column", "found", "expected"} == set(data["problems"][0])
    assert "ply" in {problem["column"] for problem in data["problems"]}


@pytest.mark.parametrize(
    ("position", "words"),
    [
        (".../.../...", "X to move: drawn, a tie is 9 plies away"),
        ("XOX/XOO/OX.", "X to move: drawn, a tie is 1 ply away"),
        ("XX./OO./...", "X to move: X wins in 1 move (1 ply)"),
        ("XO./.X./...", "O to move: X wins in 2 moves (4 plies)"),
        ("XO./.X./..O", "X to move: X wins in 2 moves (3 plies)"),
        ("XX./OO./..X", "O to move: O wins in 1 move (1 ply)"),
        ("XXX/OO./...", "over: X has won"),
        ("OOO/XX./XX.", None),
        ("OOO/XX./X..", "over: O has won"),
        ("XOX/XOO/OXX", "over: drawn"),
    ],
)
def test_show_prints_the_value_of_every_kind_of_position(run, tictactoe_db, position, words):
    done = run("show", tictactoe_db, position)
    if words is None:
        error_line(done)
        return
    text = printed(done)
    assert f"{position}  {words}\n" in text
    board = [line.split() for line in text.splitlines()[:3]]
    cells = position.replace("/", "")
    over = words.startswith("over")
    for cell, mark in enumerate(cells):
        free = "." if over else str(cell)
        assert board[cell // 3][cell % 3] == (mark if mark in "XO" else free)
    moves = [line.split() for line in text.splitlines() if re.match(r" +\d+  ", line)]
    assert len(moves) == (0 if over else cells.count("."))
    assert ("result" in text) == (not over)


def test_a_line_is_listed_with_its_moves(run, tictactoe_db):
    lines = printed(run("line", tictactoe_db, "XO./.X./...")).splitlines()
    assert len(lines) == 5
    assert " ".join(lines[0].split()) == "0 XO./.X./... O to move: X wins in 2 moves (4 plies)"
    assert lines[-1].endswith("over: X has won")
    assert len(printed(run("line", tictactoe_db)).splitlines()) == 10
    assert printed(run("line", tictactoe_db, "XXX/OO./...")).count("\n") == 1


def test_a_game_without_end_says_so(run, inside):
    printed(run("build", "vanishing", "--db", "v.db"))
    (position,) = printed(
        run("sql", "v.db", "SELECT position FROM state WHERE remoteness IS NULL LIMIT 1", "--csv")
    ).splitlines()[1:]
    assert "drawn, play need never end" in printed(run("show", "v.db", position))
    last = printed(run("line", "v.db", position)).splitlines()[-1]
    assert last == "the line repeats from here; play need never end"


# A game where a file is expected


OF_SMALL_GAMES = [
    *(["show", "ttt"], ["line", "ttt"], ["play", "ttt", "--moves", "4"]),
    *(["show", "tic-tac-toe", "XO./.X./...", "--json"], ["show", "nim(1,2)"]),
]


@for_all("words", OF_SMALL_GAMES)
def test_a_small_game_without_a_file_is_built_for_one_command(inside, run, words):
    name, game, *more = words
    built = "nim-1-2" if "nim" in game else "tictactoe"
    done = run(*words)
    assert done.returncode == 0
    assert done.stderr == (
        f"graphstore: there is no file {game}, so the game is built for this command; "
        f"to keep it: graphstore build {built}\n"
    )
    assert [*inside.iterdir()] == []
    assert run("build", built).returncode == 0
    again = run(*words)
    assert again.stderr == f"graphstore: there is no file {game}, so {built}.db is read\n"
    if name != "play":
        assert again.stdout == done.stdout == run(name, f"{built}.db", *more).stdout
    (inside / f"{built}.db").unlink()


OF_GAMES = [
    *(["verify"], ["stats"], ["sql", "SELECT 1"], ["draw"], ["agents"]),
    *(["export", "--format", "csv"], ["play", "--learn"], ["diff", "other.db"]),
]


@for_all("words", OF_GAMES)
def test_a_game_where_a_file_is_needed_gives_the_commands_to_type(inside, run, words):
    name, *more = words
    at = "there is no file tictactoe; tictactoe is a game; "
    then = f"run graphstore {name} tictactoe.db"
    done = run(name, "tictactoe", *more)
    assert error_line(done) == f"{at}run graphstore build tictactoe, then {then}"
    (inside / "tictactoe.db").touch()
    assert error_line(run(name, "tictactoe", *more)) == at + then
    (inside / "tictactoe.db").unlink()


@for_all(
    ("words", "message"),
    [
        (
            ["show", "connect4"],
            "run graphstore build connect-7-6, then run graphstore show connect",
        ),
        (
            ["line", "mnk-4-4-4"],
            "run graphstore build mnk-4-4-4, then run graphstore line mnk-4-4-4",
        ),
        (["show", "nim"], "there is no file nim; 'nim' has 0 parameters; write nim(heap,...[,mi"),
        (["train", "tictactoe"], "tictactoe is a game; run graphstore build tictactoe, then open "),
        (["upgrade", "tictactoe"], "tictactoe is a game; run graphstore build tictactoe, then ope"),
        (["show", "none"], "there is no file none; run: graphstore build GAME --db none"),
    ],
)
def test_a_large_or_incomplete_game_where_a_file_is_needed(inside, run, words, message):
    assert message in error_line(run(*words))


# Errors

WRONG_USAGE = [
    (["shwo", "t.db"], "No such command 'shwo'"),
    (["t.db", "show"], "No such command 't.db'"),
    (["show"], "Missing argument 'FILE'"),
    (["build"], "Missing argument 'GAME'"),
    (["build", "mnk", "4", "4", "4"], "unexpected extra arguments"),
    (["build", "mnk(4,", "4,", "4)"], "unexpected extra arguments"),
    (["build", "tictactoe", "t.db"], "unexpected extra argument"),
    (["show", "t.db", "XO.", ".X.", "..."], "unexpected extra arguments"),
    (["sql", "t.db"], "Missing argument 'STATEMENT'"),
    (["sql", "t.db", "SELECT", "*", "FROM", "state"], "unexpected extra arguments"),
    (["sql", "SELECT 1", "t.db"], "t.db is a file; FILE goes first"),
    (["show", "XO./.X./...", "t.db"], "t.db is a file; FILE goes first"),
    (["line", "XO./.X./...", "t.db"], "t.db is a file; FILE goes first"),
    (["show", "t.db", "--jsno"], "No such option"),
    (["show", "--json=yes", "t.db"], "does not take a value"),
    (["export", "t.db"], "Missing option '--format'"),
    (["export", "t.db", "--format", "xml"], "'xml' is not one of 'parquet', 'csv'"),
    (["build", "tictactoe", "--max-states", "0"], "0 is not in the range"),
    (["build", "tictactoe", "--max-states", "many"], "'many' is not a valid integer range"),
    (["build", "tictactoe", "--max-states", "-5"], "-5 is not in the range"),
    (["build", "tictactoe", "--db"], "requires an argument"),
    (["build", "--", "--force", "x"], "unexpected extra argument"),
    (["verify", "t.db", "t.db"], "unexpected extra argument"),
    (["games", "tictactoe"], "unexpected extra argument"),
]

ERRORS = [
    (["show", "none.db"], "there is no file none.db"),
    (["show", ""], "is a folder"),
    (["show", "."], ". is a folder, not a graphstore database"),
    (["show", "/dev/zero"], "/dev/zero is a pipe or device"),
    (["show", "empty"], "empty is not a graphstore database"),
    (["show", "noise"], "noise is not a graphstore database"),
    (["show", "other.db"], "other.db is not a graphstore database"),
    (["show", "half.db"], "half.db is damaged"),
    (["sql", "none.db", "SELECT 1"], "there is no file none.db"),
    (["stats", "none.db"], "there is no file none.db"),
    (["stats", "noise"], "noise is not a graphstore database"),
    (["verify", "noise"], "noise is not a graphstore database"),
    (["verify", "half.db"], "half.db is damaged"),
    (["upgrade", "none.db"], "there is no file none.db"),
    (["upgrade", "noise"], "noise is not a graphstore database"),
    (["upgrade", "half.db"], "half.db is damaged"),
    (["export", "none.db", "--format", "gmap"], "there is no file none.db"),
    (["line", "t.db/x"], "there is no file t.db/x"),
    (["show", "x" * 5000], "File name too long"),
    (["show", "mysql://host/db"], "give a file, sqlite:///FILE"),
    (["show", "t.db", "XO"], "has 2 cells"),
    (["show", "t.db", ""], "9 cells"),
    (["show", "t.db", "XXXXXXXXX"], "9 X and 0 O"),
    (["show", "t.db", "XXX/OOO/..."], "both have a line"),
    (["show", "t.db", "XO./.X./..?"], "'?' is not a cell"),
    (["show", "t.db", "❌⭕ "], "'❌' is not a cell"),
    (["show", "t.db", "77"], "no state has the id"),
    (["show", "t.db", "9" * 19], "no state has the id"),
    (["show", "t.db", "\udcff"], "not a cell"),
    (["line", "t.db", "\udcff"], "not a cell"),
    (["play", "t.db", "\udcff"], "not a cell"),
    (["draw", "t.db", "\udcff"], "not a cell"),
    (["export", "t.db", "--format", "csv", "--below", "\udcff"], "not a cell"),
    (["agents", "t.db", "\udcff", "--remove"], "has no agent"),
    (["agents", "t.db", "\udcff"], "has no agent '\\udcff'"),
    (["show", "t.db", "9" * 5000], "not a cell"),
    (["show", "t.db", "X" * 20_000], "20,000 characters"),
    (["line", "t.db", "XO"], "has 2 cells"),
    (["sql", "t.db", ""], "nothing to run"),
    (["sql", "t.db", "SELCT 1"], "syntax error"),
    (["sql", "t.db", "DELETE FROM state"], "do more than read"),
    (["sql", "t.db", "SELECT 1; SELECT 2"], "one statement"),
    (["sql", "t.db", "SELECT '\udcff'"], "surrogates"),
    (["build", "chess"], "there is no game 'chess'"),
    (["build", ""], "there is no game ''"),
    (["build", "mnk"], "mnk"),
    (["build", "mnk(4,4)"], "write mnk(m,n,k"),
    (["build", "mnk(4,4,4"], "mnk(4,4,4"),
    (["build", "mnk 4 4 4"], "mnk 4 4 4"),
    (["build", "mnk(6,6,4)"], "36 cells"),
    (["build", "mnk(0,3,3)"], "0"),
    (["build", "mnk(99999999999999999999,1,1)"], "too large a number"),
    (["build", "mnk(4,4,4,Misère)"], "not a parameter"),
    (["build", "井字棋"], "井字棋"),
    (["build", "tictactoe", "--db", "t.db"], "t.db exists; add --force"),
    (["build", "tictactoe", "--db", "none/t.db"], "there is no folder none"),
    (["build", "tictactoe", "--db", "."], ". is a folder"),
    (["build", "tictactoe", "--db", "/dev/null", "--force"], "pipe or device"),
    (["build", "tictactoe", "--db", "x" * 300], "File name too long"),
    (["build", "tictactoe", "--db", "new.db", "--max-states", "700"], "more than 700 states"),
    (["export", "small.db", "--format", "gmap"], "tictactoe only"),
    (["export", "t.db", "--format", "gmap", "--output", "t.db"], "t.db exists; remove it"),
    (
        ["export", "t.db", "--format", "gmap", "--output", "none/map"],
        "there is no folder none; create it first",
    ),
]


@pytest.fixture(scope="module")
def clutter(tictactoe_db, tmp_path_factory):
    """A folder with a database and several files that are not databases."""
    folder = tmp_path_factory.mktemp("clutter")
    whole = tictactoe_db.read_bytes()
    (folder / "t.db").write_bytes(whole)
    (folder / "half.db").write_bytes(whole[: len(whole) // 2])
    (folder / "empty").touch()
    (folder / "noise").write_bytes(bytes(range(256)) * 40)
    build("mnk(2,2,2)", folder / "small.db")
    with closing(sqlite3.connect(folder / "other.db")) as connection:
        connection.execute("CREATE TABLE state (id)")
    return folder


def short(words):
    """Return an id for a test."""
    return ascii(" ".join(words))[1:60] if isinstance(words, list) else ""


@pytest.mark.parametrize(("words", "message"), WRONG_USAGE, ids=short)
def test_wrong_usage_is_one_line_that_names_the_help(run, clutter, monkeypatch, words, message):
    monkeypatch.chdir(clutter)
    line = error_line(run(*words), 2)
    assert message in line
    assert line.endswith((f" (see graphstore {words[0]} -h)", " (see graphstore -h)"))


@pytest.mark.parametrize(("words", "message"), ERRORS, ids=short)
def test_an_error_is_one_line_and_changes_no_file(run, clutter, monkeypatch, words, message):
    monkeypatch.chdir(clutter)
    before = sorted(clutter.iterdir())
    assert message in error_line(run(*words))
    assert sorted(clutter.iterdir()) == before


@pytest.mark.parametrize("option", ["--json", "--csv"])
def test_an_error_leaves_standard_output_empty(run, tictactoe_db, option):
    error_line(run("sql", tictactoe_db, "SELECT board(id + 1) FROM state", option))


def test_a_real_process_fails_in_the_same_way(clutter):
    for words, message, code in (
        (["show", "half.db"], "damaged", 1),
        (["shwo"], "No such command", 2),
    ):
        done = graphstore(*words, cwd=clutter)
        assert message in error_line(done, code)
    done = graphstore("show", os.fsdecode(b"\xff.db"), cwd=clutter)
    assert "there is no file \\udcff.db" in error_line(done)


def test_a_file_name_with_a_line_break_is_still_one_line(run, inside):
    assert "there is no file a b.db" in error_line(run("show", "a\nb.db"))


# The surroundings


def shell(script, *words, **environment):
    return subprocess.run(
        ["bash", "-c", script, "bash", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | environment,
    )


@pytest.mark.parametrize("statement", ["SELECT * FROM state, edge", "SELECT 1"])
def test_a_closed_pipe_ends_a_command_quietly(tictactoe_db, statement):
    script = '"$1" sql "$2" "$3" --csv | true; echo "${PIPESTATUS[0]}"'
    done = shell(script, SCRIPT, tictactoe_db, statement)
    assert (done.stdout, done.stderr) == ("141\n", "")


def test_head_gets_its_line(tictactoe_db):
    script = '"$1" sql "$2" "SELECT id FROM state, edge" --json | head -2'
    done = shell(script, SCRIPT, tictactoe_db)
    assert (done.stdout.startswith('[\n{"id": '), done.stderr) == (True, "")


def test_a_full_disk_is_one_line_and_a_closed_output_is_silent(tictactoe_db):
    done = shell('"$1" stats "$2" > /dev/full', SCRIPT, tictactoe_db)
    assert "No space left on device" in error_line(done)
    done = shell('"$1" stats "$2" >&-', SCRIPT, tictactoe_db)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    "environment",
    [
        {"LC_ALL": "C", "LANG": "C"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "latin-1"},
    ],
)
def test_any_character_is_printed_in_any_locale(tictactoe_db, environment):
    statement = "SELECT char(0x4e95, 0xe9, 0x1f600) AS text"
    done = graphstore("sql", tictactoe_db, statement, "--json", **environment)
    assert json.loads(printed(done)) == [{"text": "井é😀"}]


def test_outside_a_terminal_there_are_no_escape_codes(tictactoe_db):
    for words in (["show", tictactoe_db], ["line", tictactoe_db]):
        printed(graphstore(*words, TERM="xterm-256color"))


def test_a_narrow_terminal_or_a_pipe_cuts_nothing(run, tictactoe_db):
    narrow = printed(graphstore("show", tictactoe_db, COLUMNS="20"))
    assert narrow == printed(run("show", tictactoe_db))
    assert "…" not in narrow


def test_in_a_terminal_results_have_colours(tictactoe_db):
    code, shown = in_terminal("show", tictactoe_db, "X../.O./..X")
    assert code == 0
    assert f"{ESCAPE}[33mdraw" in shown
    assert f"{ESCAPE}[31mloss" in shown
    code, plain = in_terminal("show", tictactoe_db, "X../.O./..X", NO_COLOR="1")
    assert (code, ESCAPE in plain) == (0, False)
    assert re.sub(r"\x1b\[[0-9;]*m", "", shown) == plain


def test_in_a_terminal_a_build_shows_its_progress_and_ends_with_a_summary(inside):
    code, shown = in_terminal("build", "mnk(4,3,3)")
    assert code == 0
    assert "explore" in shown
    assert "load states" in shown
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
    assert re.search(r"^states +28,275\r?$", text, re.M)
    assert re.search(r"^seconds: total +[0-9.]+\r?$", text, re.M)


def test_progress_is_not_mixed_into_data(inside):
    done = graphstore("build", "mnk(2,2,2)", "--json", FORCE_COLOR="1")
    assert json.loads(done.stdout)["states"] == 6


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_in_the_shell_is_offered(shell):
    done = graphstore(_GRAPHSTORE_COMPLETE=f"{shell}_source")
    assert "_GRAPHSTORE_COMPLETE=" in printed(done)


def test_completion_knows_commands_and_games():
    for words, right in (
        ("graphstore bu", "plain,build\n"),
        ("graphstore build ticta", "plain,tictactoe\n"),
        ("graphstore show --js", "plain,--json\n"),
    ):
        done = graphstore(
            _GRAPHSTORE_COMPLETE="bash_complete",
            COMP_WORDS=words,
            COMP_CWORD=str(words.count(" ")),
        )
        assert printed(done) == right


def test_a_position_that_the_file_does_not_hold_is_not_called_a_bug(run, copy):
    with closing(sqlite3.connect(copy)) as connection:
        connection.execute("DELETE FROM state WHERE id = 8706")
        connection.commit()
    assert "not in this database" in error_line(run("show", copy, "XO./.X./..."))
    assert "damaged: a move of" in error_line(run("show", copy, ".O./.X./..."))
    with Store.open(copy) as store:
        assert store.info["states"] == 765


# Tables and progress


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_tables_fit_the_terminal(run, tictactoe_db, copy, monkeypatch, columns):
    run("train", copy, "--games", 5)
    commands = [
        ("games",),
        ("stats", tictactoe_db),
        ("show", tictactoe_db),
        ("agents", copy),
        ("agents", copy, "menace"),
        *(("sql", tictactoe_db, f"SELECT * FROM {table} LIMIT 3") for table in ("game", "q_table")),
        ("sql", tictactoe_db, "SELECT board(id), position, id FROM state LIMIT 3"),
    ]
    whole = [printed(run(*words)) for words in commands]
    assert max(len(line) for line in whole[0].split("\n")) > 200
    monkeypatch.setattr(console, "room", lambda: columns)
    for words, text in zip(commands, whole, strict=True):
        fitted = printed(run(*words))
        assert max(len(line.rstrip()) for line in fitted.split("\n")) <= columns, words
        letters, kept = ("".join(sorted(filter(str.isalnum, each))) for each in (text, fitted))
        assert len(kept) >= len(letters), words  # nothing is cut; records repeat the heads


def test_only_a_terminal_folds_tables():
    code, shown = in_terminal("games", COLUMNS="60")
    assert code == 0
    assert max(map(len, shown.splitlines())) <= 60
    assert printed(graphstore("games", COLUMNS="60")) == printed(graphstore("games"))


def test_a_table_that_cannot_fit_names_each_cell(run, tictactoe_db, monkeypatch):
    monkeypatch.setattr(console, "room", lambda: 60)
    rows = printed(run("sql", tictactoe_db, "SELECT * FROM state LIMIT 2")).split("\n\n")
    assert [[line.split()[0] for line in row.splitlines()] for row in rows] == [STATE_COLUMNS] * 2


def test_progress_without_a_terminal_is_a_line_a_phase_and_at_intervals():
    now, said = 0, []
    progress = PlainProgress(said.append, every=30, clock=lambda: now)
    calls = [
        (0, "explore", 1_000, None),
        (29, "explore", 5_000, None),
        (31, "solve", 10, 100),  # it is the first call after 30 s
        (41, "solve", 50, 100),
        (62, "solve", 75, 100),
        (72, "index", 0, None),
    ]
    for when, *call in calls:
        now = when
        progress(*call)
    now = 80
    progress.finish()
    assert said == [
        "explore: 5,000 in 0:00:31",
        "solve: 10/100 after 0:00:00, 0:00:00 left",
        "solve: 75/100 after 0:00:31, 0:00:10 left",
        "solve: 75/100 in 0:00:41",
        "index: done in 0:00:08",
    ]


def test_short_work_prints_no_progress_without_a_terminal():
    said = []
    progress = PlainProgress(said.append, clock=lambda: 0.0)
    progress("explore", 5, None)
    progress("solve", 5, 5)
    progress.finish()
    assert said == []
