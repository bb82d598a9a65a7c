"""Rows of a database as whole columns, through the driver's own cursor: a graph has millions."""

from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import numpy as np
from sqlalchemy import Connection, Select

_PAGE = 20_000  # rows that a server sends at once
_INTEGERS = ("id", "ply", "to_move", "ended", "value", "remoteness", "win_depth", "lose_depth")
_TYPES = dict.fromkeys((*_INTEGERS, "orbit", "parent", "move", "child"), "i8") | {"position": "O"}


@contextmanager
def streamed(connection: Connection, statement: str) -> Iterator[Iterator[tuple[Any, ...]]]:
    """Lend the rows of a statement of known columns from the driver, past SQLAlchemy's own rows.

    psycopg would hold all of them at once, unless the server keeps the cursor.
    """
    driver: Any = connection.connection
    if connection.dialect.name != "postgresql":
        with closing(driver.cursor()) as cursor:
            cursor.execute(statement)
            yield cursor
        return
    with driver.driver_connection.cursor("graphstore_rows", binary=True) as cursor:
        cursor.itersize = _PAGE
        cursor.execute(statement)
        yield cursor


def columns(connection: Connection, queries: Iterable[Select[Any]]) -> dict[str, Any]:
    """Return the columns that the queries yield one after the other: arrays, a list of texts.

    Integers are int64, which no NULL may be among; reals float64, NaN where NULL.
    """
    parts = []
    for each in queries:
        statement = each.compile(connection, compile_kwargs={"literal_binds": True})
        # Doubles where no other type is known: None becomes NaN.
        names = [column.name for column in each.selected_columns]
        row = np.dtype([(name, _TYPES.get(name, "f8")) for name in names])
        with streamed(connection, str(statement)) as cursor:
            parts.append(np.fromiter(cursor, row))
    table = np.concatenate(parts)
    columns = {name: np.ascontiguousarray(table[name]) for name in table.dtype.names or ()}
    return {
        name: cells.tolist() if name == "position" else cells for name, cells in columns.items()
    }
