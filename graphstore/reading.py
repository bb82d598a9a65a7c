"""Rows of a database as whole columns, through the driver's own cursor: a graph has millions."""

from collections.abc import Iterable
from contextlib import closing
from typing import Any

import numpy as np
from sqlalchemy import Connection, Select

_INTEGERS = ("id", "ply", "to_move", "ended", "value", "remoteness", "win_depth", "lose_depth")
_TYPES = dict.fromkeys((*_INTEGERS, "orbit", "parent", "move", "child"), "i8") | {"position": "O"}


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
        cursor: Any = connection.connection.cursor()
        with closing(cursor):
            cursor.execute(str(statement))
            parts.append(np.fromiter(cursor, row))
    table = np.concatenate(parts)
    columns = {name: np.ascontiguousarray(table[name]) for name in table.dtype.names or ()}
    return {
        name: cells.tolist() if name == "position" else cells for name, cells in columns.items()
    }
