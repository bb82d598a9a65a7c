"""Checks of cells against the conditions of their tables in `graphstore.store.schema`.

On a connection that can only read, SQLite's ``integrity_check`` leaves out CHECKs, so a query asks
each table. As in a CHECK, a condition that is NULL holds.
"""

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa

from graphstore.checks.file.findings import Problem, WrongCells
from graphstore.store import schema
from graphstore.store.digests import NULL
from graphstore.util.arrays import distinct

_NULLABLE = (
    "to_move",
    "remoteness",
    "win_depth",
    "lose_depth",
    *schema.LATER,
)  # arrays have `NULL` for NULL
_TYPES = {sa.Text: "text", sa.Double: "real"}  # in SQLite; all other columns have integers


class Condition(NamedTuple):
    """A condition of a table."""

    columns: str  # their names, with spaces between
    text: str
    broken: Any  # the SQL that is true in the rows that break it


def of_states(connection: sa.Connection, ids: Sequence[int] | None = None) -> Iterator[WrongCells]:
    """Yield the cells, of all states or of `ids`, that break a condition."""
    conditions = _checks(schema.state)
    conditions += [
        Condition(name, f"{name} <> {NULL}", schema.state.c[name] == sa.literal_column(str(NULL)))
        for name in _NULLABLE
    ]
    only = sa.true() if ids is None else schema.state.c.id.in_(ids)
    wrong: dict[Condition, list[tuple[int, Any]]] = {}
    for condition, key, cell in _broken(connection, schema.state, conditions, only):
        shown = str(cell) if cell == NULL else cell
        wrong.setdefault(condition, []).append((key[0], shown))
    for condition, rows in wrong.items():
        found, cells = zip(*rows, strict=True)
        yield WrongCells(np.array(found), condition.columns, cells, f"one with {condition.text}")


def of_columns(table: sa.Table, columns: Mapping[str, Any]) -> Iterator[WrongCells]:
    """Yield the cells of columns of a table, masked where NULL, that break a condition.

    SQLite evaluates each condition on the distinct cells.
    """
    (key,) = table.primary_key
    for name, cells in columns.items():
        if not isinstance(cells, list) and cells.dtype.kind == "f":
            at = np.flatnonzero(np.isnan(np.ma.getdata(cells)) & ~np.ma.getmaskarray(cells))
            yield WrongCells(columns[key.name][at], name, ["NaN"] * len(at), "a number or NULL")
    with closing(sqlite3.connect(":memory:")) as database:
        for condition in _checks(table):
            name = condition.columns  # one name, or the database computes the column
            if name in columns and "NaN" not in condition.text:
                test = f"SELECT 1 FROM (SELECT ? AS {name}) WHERE NOT ({condition.text})"
                cells = np.ma.compressed(columns[name])
                ids = columns[key.name][~np.ma.getmaskarray(columns[name])]
                for cell in distinct(cells).tolist():
                    if database.execute(test, (cell,)).fetchone():
                        at = np.flatnonzero(cells == cell)
                        yield WrongCells(ids[at], name, cells[at], f"one with {condition.text}")


def of_table(connection: sa.Connection, table: sa.Table) -> Iterator[Problem]:
    """Yield the cells of a table that break a CHECK, and those of several rows that must differ."""
    yield from _problems(connection, table, _checks(table))
    for unique in table.constraints:
        if isinstance(unique, sa.UniqueConstraint):
            query = sa.select(*unique.columns, sa.func.count()).group_by(*unique.columns)
            names = " ".join(column.name for column in unique.columns)
            for *cells, count in connection.execute(query.having(sa.func.count() > 1)):
                row = ", ".join(map(str, cells))
                yield Problem(str(table), row, names, f"that of {count} rows", "that of one row")


def of_types(connection: sa.Connection) -> Iterator[Problem]:
    """Yield the cells of a SQLite file that have another type than their column."""
    for table in schema.metadata.sorted_tables:
        conditions = []
        for column in table.c:
            types = [_TYPES.get(type(column.type), "integer"), *["null"] * bool(column.nullable)]
            broken = sa.func.typeof(column).not_in(types)
            conditions.append(Condition(column.name, f"type {' or '.join(types)}", broken))
        yield from _problems(connection, table, conditions)


def _checks(table: sa.Table) -> list[Condition]:
    """Return the CHECKs of a table, and what it computes.

    A CHECK that only one database has must hold in the others, too.
    """
    checks = (each for each in table.constraints if isinstance(each, sa.CheckConstraint))
    texts = sorted(str(check.sqltext) for check in checks)
    names = schema.COLUMNS[table.name]
    computed = [column for column in table.c if column.computed is not None]
    return [
        Condition(
            " ".join(name for name in names if re.search(rf"\b{name}\b", text)),
            text,
            sa.text(f"NOT ({text})"),
        )
        for text in texts
    ] + [
        Condition(
            column.name,
            f"{column.name} = {column.computed.sqltext}",
            column.is_distinct_from(sa.literal_column(f"({column.computed.sqltext})")),
        )
        for column in computed
        if column.computed is not None
    ]


def _problems(
    connection: sa.Connection, table: sa.Table, conditions: Sequence[Condition]
) -> Iterator[Problem]:
    """Yield the cells that break a condition."""
    names = [column.name for column in table.primary_key]
    for condition, key, cell in _broken(connection, table, conditions, sa.true()):
        pairs = ", ".join(f"{name} {each}" for name, each in zip(names, key, strict=True))
        row = f"({pairs})" if len(names) > 1 else str(key[0])
        yield Problem(str(table), row, condition.columns, cell, f"one with {condition.text}")


def _broken(
    connection: sa.Connection, table: sa.Table, conditions: Sequence[Condition], only: Any
) -> Iterator[tuple[Condition, tuple[Any, ...], Any]]:
    """Yield each condition that a row breaks, the key of the row, and its cell or cells."""
    if not conditions:
        return
    tests = [sa.case((each.broken, 1), else_=0) for each in conditions]
    query = sa.select(*tests, *table.c).where(sa.or_(*(each.broken for each in conditions)), only)
    for row in connection.execute(query.order_by(*table.primary_key)):
        cells = dict(zip(schema.COLUMNS[table.name], row[len(tests) :], strict=True))
        key = tuple(cells[column.name] for column in table.primary_key)
        for condition, is_broken in zip(conditions, row, strict=False):
            if is_broken:
                of = [cells[name] for name in condition.columns.split()]
                plain = len(of) == 1 and not isinstance(of[0], bytes)
                yield condition, key, of[0] if plain else ", ".join(map(str, of))
