"""The SQL guide: its statements print what it shows, and another computation agrees."""

import json
import re
import shlex
import shutil
import sqlite3
import subprocess
from fractions import Fraction

import pytest
from conftest import DATA
from cookbookanswers import AGENT, CONNECT, TICTACTOE
from cookbookboard import Board
from recipes import RECIPES, TEXT

from graphstore import Store, explore, find_game, solve, train
from graphstore.cli.console import print_table
from graphstore.play.agents import load

SESSIONS = re.findall(r"```shell\n\$ python scripts/(.*?)\n(.*?)```", TEXT, re.S)


@pytest.fixture(scope="module")
def board(oracle):
    return Board(oracle)


@pytest.fixture(scope="module")
def connect():
    """The solved graph of four by four, and its rows in connect_four.jsonl by symmetry."""
    graph = explore(find_game("connect(4,4)"))
    solve(graph)
    with (DATA / "connect_four.jsonl").open() as lines:
        rows = [row for row in map(json.loads, lines) if (row["w"], row["h"]) == (4, 4)]
    return graph, {row["canonical"]: row for row in rows}


@pytest.fixture(scope="module")
def kitchen(tictactoe_db, connect_db, tmp_path_factory):
    """A folder with the files of the guide, and the reports of three times 1,000 games."""
    folder = tmp_path_factory.mktemp("kitchen")
    shutil.copyfile(tictactoe_db, folder / "tictactoe.db")
    shutil.copyfile(connect_db, folder / "connect-4-4.db")
    new = {"side": 1, "seed": 1}
    reports = [
        train(folder / "tictactoe.db", "x", games=1000, **(new if first else {}))
        for first in (True, False, False)
    ]
    return folder, reports


def rounded(rows, like):
    """Return rows whose numbers are rounded as those of the same columns of others are."""
    digits = [
        max(
            (len(repr(cell).partition(".")[2]) for cell in column if isinstance(cell, float)),
            default=0,
        )
        for column in zip(*like, strict=True)
    ]
    return [
        tuple(
            round(float(cell), places) if isinstance(cell, Fraction) else cell
            for cell, places in zip(row, digits, strict=True)
        )
        for row in rows
    ]


@pytest.mark.parametrize("number", RECIPES)
def test_a_question_prints_the_answer_that_the_guide_shows_and_it_is_right(
    number, kitchen, board, request, capsys
):
    folder, reports = kitchen
    file, sql, printed = RECIPES[number]
    with Store.open(folder / file) as store:
        answer = store.sql(sql)
        rows = [*answer]
        if number in TICTACTOE:
            told = TICTACTOE[number](board)
        elif number in AGENT:
            told = AGENT[number](board, store, load(store, "x"), reports)
        else:
            told = CONNECT[number](*request.getfixturevalue("connect"))
    print_table(answer.columns, rows)
    assert capsys.readouterr().out == printed
    assert rows == rounded(told, like=rows)


def test_there_are_forty_questions_each_with_another_way_to_its_answer():
    assert [*RECIPES] == [*range(1, 41)] == sorted([*TICTACTOE, *AGENT, *CONNECT])
    assert len(re.findall(r"^### \d+\. ", TEXT, re.M)) == len(RECIPES)


@pytest.mark.parametrize("number", RECIPES)
def test_a_question_without_our_functions_can_be_asked_of_any_sqlite(number, kitchen):
    file, sql, _ = RECIPES[number]
    with sqlite3.connect(kitchen[0] / file) as plain:
        if re.search(r"\b(board|canonical)\(", sql):
            with pytest.raises(sqlite3.OperationalError, match="no such function"):
                plain.execute(f"EXPLAIN {sql}")
        else:
            assert plain.execute(f"EXPLAIN {sql}").fetchall()
    plain.close()


@pytest.mark.parametrize(("command", "printed"), SESSIONS, ids=[each for each, _ in SESSIONS])
def test_a_script_prints_what_the_guide_shows(command, printed, kitchen, monkeypatch, run_script):
    monkeypatch.chdir(kitchen[0])
    assert run_script(*shlex.split(command)) == (0, printed, "")


def test_other_libraries_read_the_file_as_shown(kitchen, monkeypatch):
    monkeypatch.chdir(kitchen[0])
    names = {}
    for code in re.findall(r"```python\n(.*?)```", TEXT, re.S):
        pytest.importorskip(re.findall(r"^import (\w+)", code, re.M)[-1])
        exec(code, names)  # noqa: S102  # the document's own
        assert len(names["states"]) == 765
        assert names["states"]["orbit"].sum() == 5478
    names["connection"].close()


def test_the_shell_of_sqlite_reads_the_file_as_shown(kitchen):
    (command,) = re.findall(r"^(sqlite3 .*)$", TEXT, re.M)
    if shutil.which("sqlite3") is None:
        pytest.skip("there is no sqlite3 shell here")
    done = subprocess.run(shlex.split(command), cwd=kitchen[0], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"\b4\b.*\b108\b.*\b756\b", done.stdout)
