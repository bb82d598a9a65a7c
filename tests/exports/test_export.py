"""The 32-bit map equals, row by row, the map of the program that defined it."""

import csv
import io
import json
import math

import pytest
from conftest import error_line

from graphstore import Store, build
from graphstore.errors import GameNameError
from graphstore.exports.game_formats import MapRow, gmap, write_gmap

NONE = 10  # the depth in the map if a win or loss cannot be forced


@pytest.fixture(scope="module")
def expected(oracle):
    """The rows of the map, from the oracle."""
    rows = []
    for row in oracle:
        score, value = float(row["score"]), int(row["value"])
        rows.append(
            MapRow(
                int(row["state32"]),
                score if value == 0 else math.copysign(math.inf, -value),
                int(row["win_depth"] or NONE),
                int(row["lose_depth"] or NONE),
                tuple(sorted(map(int, row["children"].split()))),
            )
        )
    return sorted(rows)


def written(store, **options):
    file = io.StringIO()
    write_gmap(store, file, **options)
    return file.getvalue()


def test_the_map_equals_the_oracle_on_all_rows(store, expected):
    assert len(expected) == 765
    assert gmap(store) == expected


def test_a_depth_of_ten_is_never_a_depth(expected):
    depths = {depth for row in expected for depth in (row.WinDepth, row.LoseDepth)}
    assert depths == {0, 1, 2, 3, NONE}
    for row in expected:
        assert (row.WinDepth < NONE) == (row.Score == math.inf)
        assert (row.LoseDepth < NONE) == (row.Score == -math.inf)


def test_csv_reads_back_as_the_map(store, expected):
    text = written(store)
    rows = list(csv.DictReader(io.StringIO(text)))
    assert "\r" not in text
    assert [
        MapRow(
            int(row["State"]),
            float(row["Score"]),
            int(row["WinDepth"]),
            int(row["LoseDepth"]),
            tuple(map(int, row["NextStates"].split())),
        )
        for row in rows
    ] == expected
    assert {row["Score"] for row in rows if "inf" in row["Score"]} == {"inf", "-inf"}


def test_json_reads_back_as_the_map_in_any_program(store, expected):
    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    rows = json.loads(written(store, as_json=True), parse_constant=refuse)
    assert [
        MapRow(
            int(state), float(row.pop("Score")), **row | {"NextStates": tuple(row["NextStates"])}
        )
        for state, row in rows.items()
    ] == expected


def test_the_start_leads_to_three_openings(expected):
    start = 2147484159
    by_state = {row.State: row for row in expected}
    openings = [by_state[child] for child in by_state[start].NextStates]
    assert sorted(row.Score for row in openings) == [0.4, 0.5, 0.8]


def test_the_command_writes_the_same_to_stdout_and_to_a_file(run, store, tictactoe_db, tmp_path):
    for option, right in ([], written(store)), (["--json"], written(store, as_json=True)):
        command = ["export", tictactoe_db, "--format", "gmap", *option]
        assert run(*command).stdout == right
        target = tmp_path / f"map{len(option)}"
        done = run(*command, "--output", target)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert target.read_text() == right
        again = run(*command, "--output", target)
        assert error_line(again) == f"{target} exists; remove it, or name another"
        assert target.read_text() == right


@pytest.mark.parametrize("name", ["mnk(3,3,3,misere)", "mnk(2,2,2)"])
def test_other_games_are_refused(run, tmp_path, name):
    path = tmp_path / "other.db"
    build(name, path)
    with Store.open(path) as store, pytest.raises(GameNameError, match="tictactoe only"):
        gmap(store)
    target = tmp_path / "map.csv"
    done = run("export", path, "--format", "gmap", "--output", target)
    assert "tictactoe only" in error_line(done)
    assert not target.exists()


def test_tictactoe_by_its_other_name_has_the_same_map(tmp_path, expected):
    build("mnk(3,3,3)", tmp_path / "t.db")
    with Store.open(tmp_path / "t.db") as store:
        assert gmap(store) == expected


@pytest.mark.parametrize("output", ["", "none/map.csv", "."])
def test_a_target_that_cannot_be_written_is_named(run, tictactoe_db, tmp_path, monkeypatch, output):
    monkeypatch.chdir(tmp_path)
    done = run("export", tictactoe_db, "--format", "gmap", "--output", output)
    error_line(done)
    assert list(tmp_path.iterdir()) == []
