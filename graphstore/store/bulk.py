"""Bulk insert and bulk read of whole columns, through the database driver."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import chain
from typing import Any

import numpy as np
from sqlalchemy import Boolean, ColumnElement, Connection, Double, Integer, Select, Text

from graphstore.solver.columns import NONE
from graphstore.store.columns import Column
from graphstore.store.postgres.copy import copy_in
from graphstore.store.schema import metadata

CELLS_A_STATEMENT = 1_500  # more are not faster, fewer take more calls


def insert_rows(connection: Connection, table: str, columns: Mapping[str, Column]) -> None:
    """Insert columns of one length, by name: many rows per statement, or by PostgreSQL's COPY."""
    if connection.dialect.name == "postgresql":
        copy_in(connection, metadata.tables[table], columns)
        return
    width = len(columns)
    marks, cells = zip(*map(_bound, columns.values()), strict=True)
    row = f"({', '.join(marks)})"
    head = f"INSERT INTO {table} ({', '.join(columns)}) VALUES "
    cursor = connection.connection.cursor()
    size = CELLS_A_STATEMENT // width * width
    whole = len(cells[0]) * width // size * size
    for step, rows in zip((size, width), _in_rows(cells, whole, size), strict=True):
        cursor.executemany(head + ", ".join([row] * (step // width)), rows)


def _bound(column: Column) -> tuple[str, Column]:
    """Return the placeholder of a column in a statement, and its cells without None.

    The driver looks for an adapter for each None, which takes ten times as long as a number.
    """
    if isinstance(column, list) or not isinstance(column, np.ma.MaskedArray):
        return "?", column
    if np.issubdtype(column.dtype, np.floating):
        return "?", column.filled(np.nan)  # SQLite stores a NaN as NULL
    return (f"nullif(?, {NONE})" if np.ma.is_masked(column) else "?"), column.filled(NONE)


def _in_rows(cells: Sequence[Column], whole: int, size: int) -> tuple[list[Any], list[Any]]:
    """Return the cells row by row: up to `whole` in lists of `size`, then one list per row."""
    width = len(cells)
    if all(isinstance(column, np.ndarray) and column.dtype.kind == "i" for column in cells):
        table = np.column_stack(cells).ravel()
        return (
            table[:whole].reshape(-1, size).tolist(),
            table[whole:].reshape(-1, width).tolist(),
        )
    lists = [column if isinstance(column, list) else column.tolist() for column in cells]
    flat = list(chain.from_iterable(zip(*lists, strict=True)))
    return (
        [flat[i : i + size] for i in range(0, whole, size)],
        [flat[i : i + width] for i in range(whole, len(flat), width)],
    )


_PAGE = 20_000  # rows that a server sends at once
_WIDE = ((Integer, "i8"), (Boolean, "i8"), (Text, "O"), (Double, "f8"))


@contextmanager
def streamed(connection: Connection, query: Select[Any]) -> Iterator[Iterator[tuple[Any, ...]]]:
    """Yield the rows of a query from the driver; in PostgreSQL through a server-side cursor."""
    statement = str(query.compile(connection, compile_kwargs={"literal_binds": True}))
    driver: Any = connection.connection
    if connection.dialect.name == "postgresql":
        opened = driver.driver_connection.cursor("graphstore_rows", binary=True)
        opened.itersize = _PAGE
    else:
        opened = closing(driver.cursor())
    with opened as cursor:
        cursor.execute(statement)
        yield cursor


def columns(connection: Connection, queries: Iterable[Select[Any]]) -> dict[str, Any]:
    """Return the columns of several queries, concatenated: arrays, or lists of texts.

    Integers are int64 and must not be NULL; reals are float64, NaN where NULL.
    """
    parts = []
    for query in queries:
        row = np.dtype([(column.name, _wide(column)) for column in query.selected_columns])
        with streamed(connection, query) as rows:
            parts.append(np.fromiter(rows, row))
    table = np.concatenate(parts)
    return {
        name: cells.tolist() if cells.dtype == object else np.ascontiguousarray(cells)
        for name, cells in ((name, table[name]) for name in table.dtype.names or ())
    }


def _wide(column: ColumnElement[Any]) -> str:
    """Return the widest numpy type of a column, so that cells of damaged files fit too."""
    return next(wide for kind, wide in _WIDE if isinstance(column.type, kind))
