"""Rows of a folder of parts are read in key order, in any distribution over its files."""

import numpy as np
import pyarrow.parquet
import pytest
from conftest import few, table_games
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stored import scatter

from graphstore import explore, solve
from graphstore.errors import NotAStoreError
from graphstore.store.columns import edge_parts, state_parts
from graphstore.store.digests import ColumnDigests, OrderedDigests
from graphstore.store.folder import rows as folder_rows
from graphstore.store.folder.layout import files_of
from graphstore.store.folder.rows import chunks, ordered


def tables(graph):
    """Return the columns of state and edge of a graph that fits into one chunk."""
    chunks = {"state": state_parts(graph, solve(graph)), "edge": edge_parts(graph)}
    return {table: columns for table, of in chunks.items() for _, _, columns in of}


@settings(max_examples=few(15), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table_games(cyclic=True), st.data())
def test_neither_rows_nor_digests_depend_on_the_files_or_on_the_number_of_rows_in_memory(
    tmp_path_factory, game, data
):
    graph = explore(game)
    path = tmp_path_factory.mktemp("parts")
    ids = graph.states.id.tolist()
    numbers = st.lists(st.integers(0, 3), min_size=len(ids), max_size=len(ids))
    parts = dict(zip(ids, data.draw(numbers), strict=True))
    hashes, by_files = ColumnDigests(), ColumnDigests()
    in_order, found = OrderedDigests(), OrderedDigests()
    for table, columns in tables(graph).items():
        scatter(path, table, columns, parts, data.draw(st.integers(1, 5)))
        hashes.update_table(table, columns)
        in_order.update_table(table, columns)
    with pytest.MonkeyPatch.context() as small:
        small.setattr(folder_rows, "_FEWEST", data.draw(st.integers(1, 6)))
        small.setattr(folder_rows, "_MOST", data.draw(st.integers(1, 9)))
        for table in ("state", "edge"):
            for file in files_of(path, table):
                for _, _, columns in chunks(file, table):
                    by_files.update_table(table, columns)
            for _, _, columns in ordered(files_of(path, table), table, memory=1):
                found.update_table(table, columns)
        assert by_files.of_columns() == hashes.of_columns()
        assert found.of_columns() == in_order.of_columns()


def many_moves(count):
    """Return the columns of moves, each with another parent."""
    parent = np.sort(np.random.default_rng(1).choice(2**62, count, replace=False))
    return {"parent": parent, "move": np.zeros(count, np.int32), "child": parent + 1}


def test_a_table_of_any_size_is_held_in_the_memory_that_was_given(tmp_path):
    columns = many_moves(500_000)
    parts = {int(key): number % 40 for number, key in enumerate(columns["parent"])}
    scatter(tmp_path, "edge", columns, parts, 65_536)
    memory, peaks = 3_000_000, []
    for _ in range(3):  # threads of other tests disturb not all of them
        parent, held, before = [], [], pyarrow.total_allocated_bytes()
        for done, total, rows in ordered(files_of(tmp_path, "edge"), "edge", memory=memory):
            parent.extend(rows["parent"].tolist())
            assert done == len(parent) <= total
            held.append(pyarrow.total_allocated_bytes() - before)
        assert parent == columns["parent"].tolist()
        peaks.append(max(held))
    assert min(peaks) < memory * 1.1 < sum(cells.nbytes for cells in columns.values()) / 3


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda rows: rows.take([1, 0, 2]), "edge is damaged: parent 3 move 0 is out of order"),
        (lambda rows: rows.take([0, 0, 2]), "edge is damaged: parent 3 move 0 is .* twice"),
        (lambda rows: rows.take([0, None, 2]), r"part-0000.parquet is damaged: \w+ is NULL"),
        (
            lambda rows: rows.select(["move", "parent", "child"]),
            "its columns are not those of edge",
        ),
        (
            lambda rows: rows.cast(pyarrow.schema(dict.fromkeys(rows.column_names, "int64"))),
            "those",
        ),
    ],
)
def test_a_file_that_no_build_writes_is_refused_in_one_line(tmp_path, spoil, message):
    columns = {
        "parent": np.array([3, 5, 8]),
        "move": np.zeros(3, np.int32),
        "child": np.arange(3),
    }
    scatter(tmp_path, "edge", columns, dict.fromkeys((3, 5, 8), 0), 3)
    (file,) = files_of(tmp_path, "edge")
    pyarrow.parquet.write_table(spoil(pyarrow.parquet.read_table(file)), file)
    with pytest.raises(NotAStoreError, match=message) as refused:
        list(ordered([file], "edge"))
    assert "\n" not in str(refused.value)
