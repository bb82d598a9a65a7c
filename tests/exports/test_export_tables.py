"""Exported tables equal the results of SQL to the last bit, in every reader."""

import csv
import json
import sqlite3
from contextlib import closing

import duckdb
import polars
import pytest
from conftest import Nasty, error_line
from pyarrow import parquet

from graphstore import Store, build, export, train
from graphstore.errors import FormatError, NotAStoreError
from graphstore.exports.selection import TABLES
from graphstore.store import schema
from graphstore.store.schema import COLUMNS

FORMATS = ["parquet", "csv", "jsonl"]
KEYS = {
    "state": "id",
    "edge": "parent, move",
    "move": "move",
    "best_move": "state, move",
    "best_move_by_margin": "state, move",
    "q_table": "state, move",
    "census": "ply",
    "matchbox": "agent, state, move",
}
GAMES = ["tictactoe", "vanishing", "nasty", "nim(2,3)"]
"""The second has more rows than one chunk, and cycles, so that there are NULLs; the last, names."""


@pytest.fixture(scope="module", params=GAMES)
def path(request, tmp_path_factory):
    """The database of a game, with an agent."""
    path = tmp_path_factory.mktemp("game") / "game.db"
    build(Nasty() if request.param == "nasty" else request.param, path)
    train(path, "menace", games=20)
    return path


def rows_of(path, table, condition="true"):
    """Return the result of SQL in sqlite3, without graphstore."""
    with closing(sqlite3.connect(path)) as connection:
        statement = f"SELECT * FROM {table} WHERE {condition} ORDER BY {KEYS[table]}"
        return connection.execute(statement).fetchall()


def exported(path, target, file_format, **options):
    with Store.open(path) as store:
        return export(store, target, file_format, **options)


@pytest.mark.parametrize("table", TABLES)
def test_parquet_reads_back_as_sql_has_it_in_three_readers(path, tmp_path, table):
    target = tmp_path / "file.parquet"
    done = exported(path, target, "parquet", table=table)
    right = rows_of(path, table)
    assert len(right) > 0 or table in ("move", "best_move_by_margin")
    assert done == ("parquet", (str(target),), {table: len(right)})
    read = parquet.read_table(target)
    assert read.column_names == COLUMNS[table]
    assert [tuple(row.values()) for row in read.to_pylist()] == right
    assert polars.read_parquet(target).rows() == right
    with duckdb.connect() as duck:
        assert duck.execute("SELECT * FROM read_parquet(?)", [str(target)]).fetchall() == right


def test_parquet_has_the_narrowest_types_and_no_pandas_in_it(tmp_path, tictactoe_db):
    exported(tictactoe_db, tmp_path / "both", "parquet")
    types = {
        name: str(parquet.read_schema(tmp_path / "both" / f"{name}.parquet")).splitlines()
        for name in ("state", "edge")
    }
    assert types == {
        "state": [
            "id: int64",
            "position: string",
            "ply: int32",
            "to_move: int8",
            "ended: bool",
            "value: int8",
            "remoteness: int32",
            "score: double",
            "win_depth: int32",
            "lose_depth: int32",
            "orbit: int64",
            "random_value: double",
            "winner: int8",
            "best_response: double",
            "margin: int16",
            "nimber: int16",
        ],
        "edge": ["parent: int64", "move: int32", "child: int64"],
    }


def test_parquet_is_compressed_with_zstd_in_row_groups(store, tmp_path, monkeypatch):
    monkeypatch.setattr("graphstore.exports.selection.CHUNK", 100)
    export(store, tmp_path / "some.parquet", "parquet", table="edge")
    about = parquet.read_metadata(tmp_path / "some.parquet")
    groups = [about.row_group(number) for number in range(about.num_row_groups)]
    assert [group.num_rows for group in groups] == [2000, 270]
    assert {group.column(0).compression for group in groups} == {"ZSTD"}


@pytest.mark.parametrize("table", TABLES)
def test_csv_has_the_cells_of_sql_and_null_as_an_empty_one(path, tmp_path, table):
    target = tmp_path / "file.csv"
    exported(path, target, "csv", table=table)
    with target.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == COLUMNS[table]
    right = [["" if c is None else str(c) for c in row] for row in rows_of(path, table)]
    assert rows == right
    assert b"\r\n" not in target.read_bytes().replace(b"return\r\n", b"")


@pytest.mark.parametrize("table", TABLES)
def test_jsonl_has_an_object_per_row_with_the_cells_of_sql(path, tmp_path, table):
    target = tmp_path / "file.jsonl"
    exported(path, target, "jsonl", table=table)
    rows = [json.loads(line) for line in target.read_bytes().splitlines()]
    assert [tuple(row.values()) for row in rows] == rows_of(path, table)
    assert {tuple(row) for row in rows} <= {tuple(COLUMNS[table])}


@pytest.mark.parametrize("file_format", FORMATS)
def test_a_name_without_the_formats_ending_is_a_folder_of_both_tables(
    tictactoe_db, tmp_path, file_format
):
    done = exported(tictactoe_db, tmp_path / "both", file_format)
    files = [tmp_path / "both" / f"{name}.{file_format}" for name in ("state", "edge")]
    assert done == (file_format, tuple(map(str, files)), {"state": 765, "edge": 2270})
    assert sorted((tmp_path / "both").iterdir()) == sorted(files)
    for file, name in zip(files, ("state", "edge"), strict=True):
        alone = tmp_path / name
        exported(tictactoe_db, alone, file_format, table=name)
        assert alone.read_bytes() == file.read_bytes()
    ending = tmp_path / f"UPPER.{file_format.upper()}"
    assert exported(tictactoe_db, ending, file_format).rows == {"state": 765}
    assert ending.read_bytes() == files[0].read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"both", "state", "edge", ending.name}


def test_an_empty_table_has_its_columns(tictactoe_db, tmp_path):
    for name in FORMATS:
        target = tmp_path / f"file.{name}"
        assert exported(tictactoe_db, target, name, table="matchbox").rows == {"matchbox": 0}
    assert (tmp_path / "file.csv").read_text() == ",".join(COLUMNS["matchbox"]) + "\n"
    assert (tmp_path / "file.jsonl").read_text() == ""
    assert polars.read_parquet(tmp_path / "file.parquet").columns == COLUMNS["matchbox"]


@pytest.mark.parametrize("name", ["best_move", "q_table", "matchbox"])
def test_of_a_part_views_have_the_moves_of_its_states(path, tmp_path, name):
    exported(path, tmp_path / "f.parquet", "parquet", table=name, where="value = 1")
    right = rows_of(path, name, "state IN (SELECT id FROM state WHERE value = 1)")
    assert polars.read_parquet(tmp_path / "f.parquet").rows() == right


def test_of_a_part_the_census_counts_its_states(path, tmp_path):
    exported(path, tmp_path / "f.parquet", "parquet", table="census", where="value = 1")
    rows = polars.read_parquet(tmp_path / "f.parquet").rows(named=True)
    whole = [dict(zip(COLUMNS["census"], row, strict=True)) for row in rows_of(path, "census")]
    assert [(row["ply"], row["states"]) for row in rows] == [
        (row["ply"], row["wins"]) for row in whole if row["wins"]
    ]
    assert {row["draws"] + row["losses"] for row in rows} == {0}


def test_every_column_of_every_table_and_view_is_exported(store):
    assert set(TABLES) == {"state", "edge", "move", *schema.VIEWS}
    for table in TABLES:
        with closing(store.sql(f"SELECT * FROM {table}")) as answer:
            assert COLUMNS[table] == list(answer.columns)


def test_a_cell_that_is_out_of_range_is_damage(copy, tmp_path):
    with closing(sqlite3.connect(copy)) as connection, connection:
        connection.execute("UPDATE state SET ply = 1 << 40 WHERE id = 512")
    with pytest.raises(NotAStoreError, match="ply is out of range"):
        exported(copy, tmp_path / "f.parquet", "parquet")
    assert [path.name for path in tmp_path.iterdir()] == [copy.name]


def test_an_unknown_format_or_table_is_refused_by_name(store, tmp_path):
    with pytest.raises(FormatError, match="no format 'xlsx'; the formats are parquet, csv"):
        export(store, tmp_path / "f", "xlsx")
    with pytest.raises(FormatError, match="no table 'game'; the tables are state, edge"):
        export(store, tmp_path / "f", "csv", table="game")
    with pytest.raises(FormatError, match="dot writes the graph"):
        export(store, tmp_path / "f", "dot", table="edge")
    with pytest.raises(FormatError, match=r"f\.csv: the name ends in \.csv, but the format is dot"):
        export(store, tmp_path / "f.csv", "dot")
    with pytest.raises(FormatError, match=r"\"-\" is not a file name"):
        export(store, "-", "csv")
    assert list(tmp_path.iterdir()) == []


def test_without_pyarrow_one_line_says_what_to_install(tictactoe_db, tmp_path, run, without):
    without("pyarrow")
    done = run("export", tictactoe_db, "--format", "parquet", "--output", tmp_path / "both")
    assert "pip install pyarrow" in error_line(done)
    assert list(tmp_path.iterdir()) == []
