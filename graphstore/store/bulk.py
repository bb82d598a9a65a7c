"""Bulk insert and bulk read of whole columns, through the database driver."""

import json
import sqlite3
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import chain
from typing import Any

import numpy as np
from sqlalchemy import (
    Boolean,
    ColumnElement,
    Connection,
    Double,
    Integer,
    Select,
    Text,
    literal,
    tuple_,
)

from graphstore.errors import NotAStoreError
from graphstore.solver.columns import NONE
from graphstore.store.columns import Column
from graphstore.store.postgres.copy import copy_in
from graphstore.store.probe import BATCH
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


def columns(connection: Connection, query: Select[Any]) -> dict[str, Any]:
    """Return the columns of a query: arrays, or lists of texts.

    Integers are int64 and must not be NULL; reals are float64, NaN where NULL. In SQLite, queries
    with a LIMIT are read several times as fast.
    """
    return _packed(connection, query) or _by_row(connection, query)


def joined(parts: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the columns of consecutive parts, of which there is at least one, as one."""
    found: dict[str, list[Any]] = {}
    for part in parts:
        for name, cells in part.items():
            found.setdefault(name, []).append(cells)
    return {
        name: [*chain.from_iterable(cells)] if isinstance(cells[0], list) else np.concatenate(cells)
        for name, cells in ((name, found.pop(name)) for name in [*found])  # frees memory
    }


def pages(
    connection: Connection, query: Select[Any], *key: ColumnElement[Any], rows: int
) -> Generator[dict[str, Any], None, None]:
    """Yield the columns of a query, `rows` rows at a time, ascending by `key`, which is unique.

    The last page may be empty. The result is as of `columns`.

    Raises:
        NotAStoreError: the database is damaged so that its keys do not ascend.
    """
    query, before = query.order_by(*key).limit(rows), list[int]()
    yield (part := columns(connection, query))
    while len(part[str(key[-1].key)]) == rows:
        last = [int(part[str(each.key)][-1]) for each in key]
        if last <= before:  # else this would never end
            raise NotAStoreError(f"damaged: rows are not in order at {key[0].key} {last[0]}")
        before, after = last, tuple_(*map(literal, last))
        yield (part := columns(connection, query.where(tuple_(*key) > after)))


def batches(
    connection: Connection, query: Select[Any], key: ColumnElement[Any], ids: Sequence[int]
) -> Generator[dict[str, Any], None, None]:
    """Yield the columns of the rows with a key in `ids`, which ascend: at least one part."""
    for begin in range(0, len(ids) or 1, BATCH):
        yield columns(connection, query.where(key.in_(ids[begin : begin + BATCH])))


def _by_row(connection: Connection, query: Select[Any]) -> dict[str, Any]:
    kinds = {str(column.name): _wide(column) for column in query.selected_columns}
    with streamed(connection, query) as rows:
        table = np.fromiter(rows, np.dtype([*kinds.items()]))
    return {
        name: table[name].tolist() if kind == "O" else np.ascontiguousarray(table[name])
        for name, kind in kinds.items()
    }


def _packed(connection: Connection, query: Select[Any]) -> dict[str, Any] | None:
    """Return the columns of a query as `columns` does, or None where only rows can be read.

    SQLite returns each column of integers or texts as one JSON text, without Python's lock, so that
    other threads run meanwhile. It writes too few digits of a real. Without a LIMIT, it need not
    keep the order.
    """
    if connection.dialect.name != "sqlite" or query._limit_clause is None:
        return None
    kinds = {str(column.name): _wide(column) for column in query.selected_columns}
    reals = [column for column in query.selected_columns if _wide(column) == "f8"]
    others = [name for name, kind in kinds.items() if kind != "f8"]
    lists = ", ".join(f'json_group_array("{name}")' for name in others)
    statement = query.compile(connection, compile_kwargs={"literal_binds": True})
    driver: Any = connection.connection
    with closing(driver.cursor()) as cursor:
        try:
            cursor.execute(f"SELECT count(*), {lists} FROM ({statement})")
            count, *texts = cursor.fetchone()
        except sqlite3.Error:  # a cell is a blob, or a column is too long for one text
            return None
    found = {
        name: _list_of(text, count, kinds[name]) for name, text in zip(others, texts, strict=True)
    }
    if any(cells is None for cells in found.values()):
        return None
    if reals:
        found |= _by_row(connection, query.with_only_columns(*reals, maintain_column_froms=True))
    return {name: found[name] for name in kinds}


def _list_of(text: str, count: int, kind: str) -> Any:
    """Return a JSON list as an array of integers or a list of texts; None if it has other cells."""
    if kind == "O":
        texts = json.loads(text)
        return texts if {*map(type, texts)} <= {str} else None
    try:
        # The number after the last one is not read if that one is followed by other characters.
        numbers = np.fromstring(text[1:-1] + ",0" if count else "0", dtype=np.int64, sep=",")
    except ValueError:
        return None
    return numbers[:-1] if len(numbers) == count + 1 else None


def _wide(column: ColumnElement[Any]) -> str:
    """Return the widest numpy type of a column, so that cells of damaged files fit too."""
    return next(wide for kind, wide in _WIDE if isinstance(column.type, kind))
