"""Pages of b-trees that are written without SQLite."""

import sqlite3
from contextlib import closing

import numpy as np
import pytest
from conftest import TableGame, few
from hypothesis import given, settings
from hypothesis import strategies as st

from graphstore import Store, build, explore, export, verify
from graphstore.store import columns
from graphstore.store.columns import child_parts, edge_parts
from graphstore.store.sqlite import trees
from graphstore.store.sqlite.trees import write_trees

LARGE = [2**bits + more for bits in (7, 15, 23, 31, 47) for more in (-1, 0)]
"""The first and last integers of serial types: https://www.sqlite.org/fileformat2.html#record_format"""


def written(path, rows, chunk, page_size=4096, reserved=0):
    """Write rows of three integers to a table and its index; return a connection to them."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA page_size = {page_size}")
        connection.execute("VACUUM")
    first = bytearray(path.read_bytes())
    first[20] = reserved  # bytes at the end of each page, which some programs use
    first[105:107] = (page_size - reserved).to_bytes(2)  # where the cells of the first page begin
    path.write_bytes(first)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(
        "CREATE TABLE edge (parent INTEGER, move INTEGER, child INTEGER, "
        "PRIMARY KEY (parent, move)) WITHOUT ROWID"
    )
    connection.execute("CREATE INDEX by_child ON edge (child)")
    roots = dict(connection.execute("SELECT name, rootpage FROM sqlite_master"))

    def chunks(rows):
        table = np.array(rows, dtype=np.int64).reshape(-1, 3)
        for begin in range(0, len(table) or 1, chunk):
            yield list(table[begin : begin + chunk].T)

    above = sorted((child, parent, move) for parent, move, child in rows)
    write_trees(path, {roots["edge"]: chunks(rows), roots["by_child"]: chunks(above)})
    return connection


@pytest.mark.parametrize(("page_size", "reserved"), [(512, 0), (4096, 0), (4096, 32), (32768, 0)])
def test_sqlite_finds_no_fault_in_trees_of_any_size(tmp_path, page_size, reserved):
    path = tmp_path / "t.db"
    # A leaf of 4,096 bytes has some 270 rows of 13 bytes, an interior page some 200 leaves.
    for count in (0, 1, 2, 32, 33, 34, 35, 270, 271, 272, 273, 274, 5_000):
        for chunk in (count or 1, 100):
            rows = [(each // 3, each % 3 - 1, count - each) for each in range(count)]
            with closing(written(path, rows, chunk, page_size, reserved)) as connection:
                assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
                assert connection.execute("SELECT * FROM edge ORDER BY 1, 2").fetchall() == rows
                connection.execute("INSERT INTO edge VALUES (9, 9, 9)")
                connection.execute("DELETE FROM edge WHERE move = 0")
                assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            path.unlink()


@settings(max_examples=few(30))
@given(
    rows=st.dictionaries(
        st.tuples(*2 * [st.sampled_from(LARGE) | st.integers(-(2**63), 2**63 - 1)]),
        st.sampled_from(LARGE) | st.integers(-(2**63), 2**63 - 1),
    ),
    chunk=st.integers(1, 9),
)
def test_integers_of_any_length_are_read_as_written(tmp_path_factory, rows, chunk):
    table = sorted((*key, child) for key, child in rows.items())
    path = tmp_path_factory.mktemp("trees") / "t.db"
    with closing(written(path, table, chunk, 512)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("SELECT * FROM edge ORDER BY 1, 2").fetchall() == table


def test_the_page_of_locks_stays_empty(tmp_path, monkeypatch):
    monkeypatch.setattr(trees, "_LOCKED", 9 * 4096)  # in SQLite the byte 2**30
    rows = [(each, 0, each) for each in range(5_000)]
    written(tmp_path / "t.db", rows, 1_000).close()
    pages = (tmp_path / "t.db").read_bytes()
    empty = [at // 4096 + 1 for at in range(0, len(pages), 4096) if not any(pages[at : at + 4096])]
    assert empty == [10]


def test_edges_are_sorted_by_child_in_blocks(monkeypatch):
    graph = explore("tictactoe")
    parent, move, child = (
        np.concatenate([chunk[2][name] for chunk in edge_parts(graph)])
        for name in ("parent", "move", "child")
    )
    order = np.lexsort((move, parent, child))
    for block in (columns.SORTED, 500):
        monkeypatch.setattr(columns, "SORTED", block)
        found = map(np.concatenate, zip(*child_parts(graph), strict=True))
        for column, expected in zip(found, (child, parent, move), strict=True):
            assert (column == expected[order]).all()


@pytest.mark.parametrize(
    "table", [{"a": 0}, {"a": {-(2**31): "b"}, "b": 1}, {"a": {2**31 - 1: "a", 0: "b"}, "b": 0}]
)
def test_a_game_of_few_moves_is_written_whole(tmp_path, table):
    path = tmp_path / "few.db"
    report = build(TableGame(table, "a"), path)
    moves = sum(len(row) for row in table.values() if isinstance(row, dict))
    assert (report.states, report.moves) == (len(table), moves)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert verify(path).ok
    with Store.open(path) as store:
        assert store.graph().number_of_moves() == report.moves
        assert export(store, tmp_path / "edges.csv", "csv", table="edge").rows == {"edge": moves}
