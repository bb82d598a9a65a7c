"""`Store.q_table` agrees with the view q_table and with probe, and orients moves as probe does."""

import math
import sqlite3
from contextlib import closing

import numpy as np
import pytest
from conftest import DATA

from graphstore import NotInStoreError, PositionError, Store, build
from graphstore.errors import NotAStoreError
from graphstore.store import q_table

COLUMNS = ", ".join(q_table.Q_TABLE.names)


def plain(table):
    """Return the rows as tuples, None for NaN."""
    return [tuple(None if cell != cell else cell for cell in row) for row in table.tolist()]


@pytest.mark.parametrize("name", ["tictactoe", "nim(3,4,5)", "mnk(4,3,3)", "vanishing"])
def test_the_whole_table_is_the_view(tmp_path, name):
    build(name, tmp_path / "t.db")
    with Store.open(tmp_path / "t.db") as store:
        table = store.q_table()
        view = list(store.sql(f"SELECT {COLUMNS} FROM q_table ORDER BY state, move"))
    assert table.dtype == q_table.Q_TABLE
    assert plain(table) == view
    for column in ("random", "best_response"):
        cells = table[column]
        assert not np.signbit(cells[cells == 0]).any()
        assert np.isnan(cells).all() == (name == "vanishing")


@pytest.mark.parametrize("size", [1, 7, 2269, 2270, 2271])
def test_the_size_of_the_parts_does_not_matter(store, monkeypatch, size):
    table = store.q_table()
    monkeypatch.setattr(q_table, "CHUNK", size)
    assert store.q_table().tobytes() == table.tobytes()


def test_of_a_canonical_position_it_is_the_rows_of_that_state(store):
    table = store.q_table()
    for state, position in store.sql("SELECT id, position FROM state"):
        rows = table[table["state"] == state].tobytes()
        for key in (position, state, str(state)):
            assert store.q_table(key).tobytes() == rows


@pytest.mark.parametrize("position", ["XO./.X./...", ".OX/.X./...", ".../.X./XO.", "..O/OX./X.."])
def test_moves_are_in_the_orientation_of_the_position(store, position):
    probe, table = store.probe(position), store.q_table(position)
    assert set(table["state"].tolist()) == {probe.state}
    children = {move.move: store.probe(move.position) for move in probe.moves}
    assert table["move"].tolist() == sorted(children)
    for row in table:
        child = children[int(row["move"])]
        assert row["child"] == child.state
        assert row["optimal"] == -child.value
        assert row["random"] == -child.random_value
        assert row["best_response"] == child.best_response


def test_an_ended_position_has_no_moves(store):
    table = store.q_table("XXX/OO./...")
    assert (len(table), table.dtype) == (0, q_table.Q_TABLE)


def test_what_is_not_a_position_is_refused_as_by_probe(store):
    with pytest.raises(PositionError):
        store.q_table("XXX/OOO/...")
    with pytest.raises(NotInStoreError):
        store.q_table(77)


def test_without_the_rules_a_position_is_found_as_it_is_stored(tmp_path):
    build(f"{DATA}/ring.py:Ring", tmp_path / "ring.db")
    with Store.open(tmp_path / "ring.db") as store:
        table = store.q_table("5")
        assert [row["optimal"] for row in table] == [-store.probe(p).value for p in ("6", "7")]
        assert all(math.isnan(cell) for cell in table["random"])
        assert len(store.q_table()) == store.info["moves"]


@pytest.mark.parametrize("statement", ["UPDATE edge SET child = 3", "DELETE FROM state"])
def test_a_move_that_leads_nowhere_is_named(copy, statement):
    with closing(sqlite3.connect(copy)) as connection:
        connection.execute(statement)
        connection.commit()
    with (
        Store.open(copy) as store,
        pytest.raises(NotAStoreError, match="damaged: move 0 of state 0 leads to no state"),
    ):
        store.q_table()
