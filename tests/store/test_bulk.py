"""Columns that SQLite returns as JSON texts are those that its driver returns row by row."""

import random
import sqlite3

import numpy as np
import pytest
import sqlalchemy as sa

from graphstore.errors import NotAStoreError
from graphstore.store import bulk

TABLE = sa.Table(
    "cells",
    sa.MetaData(),
    sa.Column("id", sa.BigInteger, primary_key=True),
    sa.Column("text", sa.Text),
    sa.Column("real", sa.Double),
)
WHOLE = sa.select(TABLE)
TEXTS = (
    "",
    "plain",
    'a "quote" \\ and, a comma',
    "line\nbreak\t\x1f",
    "\0 inside",
    "naïve 棋 🎲",
    "[1]",
)


@pytest.fixture
def connection():
    engine = sa.create_engine("sqlite://", poolclass=sa.pool.StaticPool)
    with engine.connect() as connection:
        connection.exec_driver_sql("CREATE TABLE cells (id PRIMARY KEY, text, real)")
        yield connection
    engine.dispose()


def insert(connection, *rows):
    connection.connection.cursor().executemany("INSERT INTO cells VALUES (?, ?, ?)", rows)


def is_same(one, other):
    return one.keys() == other.keys() and all(
        one[name] == other[name]
        if isinstance(one[name], list)
        else one[name].dtype == other[name].dtype and one[name].tobytes() == other[name].tobytes()
        for name in one
    )


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 1000])
def test_pages_of_columns_have_all_rows_to_the_last_bit(connection, rows):
    chance = random.Random(1)
    ids = [-(2**63) + 1, -1, 0, 2**63 - 1, *(chance.randrange(2**63) for _ in range(60))]
    reals = [None, 0.1, -1.0, 5e-324, 1e300, *(chance.random() ** 9 for _ in range(60))]
    insert(connection, *((key, chance.choice(TEXTS), chance.choice(reals)) for key in ids))
    found = list(bulk.pages(connection, WHOLE, TABLE.c.id, rows=rows))
    assert all(len(page["id"]) == rows for page in found[:-1])
    assert is_same(bulk.joined(found), bulk._by_row(connection, WHOLE.order_by(TABLE.c.id)))
    assert bulk._packed(connection, WHOLE.order_by(TABLE.c.id).limit(rows)) is not None


def test_an_empty_table_is_one_empty_page(connection):
    (page,) = bulk.pages(connection, WHOLE, TABLE.c.id, rows=5)
    assert is_same(page, bulk._by_row(connection, WHOLE))
    assert page["id"].dtype == np.int64


def test_pages_of_rows_that_do_not_ascend_end(connection):
    insert(connection, *((each, "", 0.5) for each in range(9)))
    key = (TABLE.c.id + 100).label("id")  # so all rows are above the last one, as in a wrong tree
    with pytest.raises(NotAStoreError, match="rows are not in order at id 1"):
        list(bulk.pages(connection, WHOLE, key, rows=2))


ODD = {
    "a text for an integer": ("5", "x", 0.5),
    "a number for a text": (5, 7, 0.5),
    "a text with a number for a text": (5, None, 0.5),
    "a real for an integer": (5.5, "x", 0.5),
    "a large real for an integer": (1e300, "x", 0.5),
    "NULL for an integer": (None, "x", 0.5),
    "bytes": (5, b"x", 0.5),
    "bytes that are no UTF-8": (5, b"\xff", 0.5),
    "a text for a real": (5, "x", "half"),
}


@pytest.mark.parametrize("what", ODD)
@pytest.mark.parametrize("at", [0, 3])
def test_cells_of_other_types_are_what_the_driver_returns(connection, what, at):
    rows = [(each, str(each), each / 7) for each in range(10, 13)]
    rows.insert(at, ODD[what])
    insert(connection, *rows)
    results = []
    for read in (bulk._by_row, lambda *of: bulk.columns(of[0], of[1].limit(99))):
        try:
            results.append(read(connection, WHOLE.order_by(sa.text("rowid"))))
        except (TypeError, ValueError, OverflowError, sqlite3.Error) as error:
            results.append((type(error), str(error)))
    one, other = results
    assert one == other if isinstance(one, tuple) else is_same(one, other)
