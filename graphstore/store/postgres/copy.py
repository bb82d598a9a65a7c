"""PostgreSQL's binary COPY: columns encoded by numpy.

The manual's page on COPY has the format: a row is the number of its fields, int16, then for each
field its length, int32, and its bytes; a NULL has length -1 and no bytes. Numbers are big-endian.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import BigInteger, Boolean, Connection, Double, Integer, SmallInteger, Table, Text

from graphstore.store.columns import Column

_HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_END = b"\xff\xff"
_CHUNK = 50_000  # rows encoded at a time; a wide row has over a hundred bytes
_KINDS = {
    BigInteger: ">i8",
    SmallInteger: ">i2",
    Integer: ">i4",
    Boolean: "u1",
    Double: ">f8",
    Text: "text",
}


def copy_in(connection: Connection, table: Table, columns: Mapping[str, Column]) -> None:
    """Copy columns of one length, by name, into a table, through psycopg."""
    kinds = [_KINDS[type(table.c[name].type)] for name in columns]
    names = ", ".join(columns)
    driver: Any = connection.connection.driver_connection
    with (
        driver.cursor() as cursor,
        cursor.copy(f"COPY {table} ({names}) FROM STDIN (FORMAT BINARY)") as copy,
    ):
        copy.write(_HEADER)
        total = len(next(iter(columns.values())))
        for begin in range(0, total, _CHUNK):
            some = [column[begin : begin + _CHUNK] for column in columns.values()]
            copy.write(rows(kinds, some))
        copy.write(_END)


def rows(kinds: list[str], columns: list[Column]) -> bytes:
    """Return rows in the binary format; `kinds` are numpy types or ``text``. NaN becomes NULL.

    >>> rows([">i2", "text"], [np.ma.array([7, 0], mask=[False, True]), ["a", "bc"]]).hex(" ")
    '00 02 00 00 00 02 00 07 00 00 00 01 61 00 02 ff ff ff ff 00 00 00 02 62 63'
    """
    fields = [_field(kind, column) for kind, column in zip(kinds, columns, strict=True)]
    row = np.dtype(
        [("fields", ">i2")]
        + [
            part
            for index, (cells, _) in enumerate(fields)
            for part in ((f"length{index}", ">i4"), (f"cell{index}", cells.dtype))
        ]
    )
    table = np.empty(len(columns[0]), row)
    table["fields"] = len(columns)
    for index, (cells, lengths) in enumerate(fields):
        table[f"length{index}"] = lengths
        table[f"cell{index}"] = cells
    if all((lengths == cells.dtype.itemsize).all() for cells, lengths in fields):
        return table.tobytes()
    as_bytes = table.view(np.uint8).reshape(len(table), row.itemsize)
    kept = np.ones(as_bytes.shape, dtype=np.bool_)
    end = 2
    for cells, lengths in fields:
        begin = end + 4
        end = begin + cells.dtype.itemsize
        kept[:, begin:end] = np.arange(end - begin) < lengths[:, None]
    return as_bytes[kept].tobytes()


def _field(kind: str, column: Column) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Return the cells of a column, of one width, and their lengths in bytes, -1 for NULL."""
    if kind == "text":
        texts = [text.encode() for text in column]
        lengths = np.fromiter(map(len, texts), np.int32, len(texts))
        widest = max(int(lengths.max(initial=0)), 1)
        return np.array(texts, dtype=f"S{widest}"), lengths
    array = np.asarray(np.ma.getdata(column))
    null = np.ma.getmaskarray(column) if np.ma.isMaskedArray(column) else None
    if array.dtype.kind == "f":
        null = np.isnan(array) if null is None else null | np.isnan(array)
    cells = array.astype(kind)
    lengths = np.full(len(cells), cells.dtype.itemsize, dtype=np.int32)
    if null is not None:
        lengths[null] = -1
    return cells, lengths
