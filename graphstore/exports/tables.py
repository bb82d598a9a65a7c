"""Rows as CSV, JSON lines or Parquet, written in chunks."""

import json
from collections.abc import Iterable, Sequence
from json.encoder import encode_basestring
from math import isfinite
from typing import Any, BinaryIO, TextIO

from sqlalchemy.types import Double, Text

from graphstore.errors import NotAStoreError
from graphstore.exports.selection import TABLES, Part
from graphstore.rules.game import Progress, quiet
from graphstore.store.arrow import pyarrow, types_of, writer
from graphstore.store.schema import COLUMNS

_GROUP = 20  # chunks in a row group


def write_csv(part: Part, table: str, file: TextIO, *, progress: Progress = quiet) -> int:
    """Write a table as CSV with a header; NULL is an empty cell. Return the number of rows."""
    file.write(f"{','.join(COLUMNS[table])}\n")
    count = 0
    for rows, lines in part.lines(table, progress=progress):
        file.write(lines)
        count += rows
    return count


def write_jsonl(part: Part, table: str, file: TextIO, *, progress: Progress = quiet) -> int:
    """Write a table as one JSON object per line; NULL is null. Return the number of rows."""
    pairs = ", ".join(f"{json.dumps(name)}: %s" for name in COLUMNS[table])
    kinds = [column.type for column in TABLES[table].selected_columns]
    count = 0
    for columns in part.columns(table, progress=progress):
        cells = zip(*map(_as_json, kinds, columns), strict=True)
        file.writelines(map(f"{{{pairs}}}\n".__mod__, cells))
        count += len(columns[0])
    return count


def _as_json(kind: Any, cells: Sequence[Any]) -> Iterable[Any]:
    """Return cells that are JSON when formatted with ``%s``."""
    if isinstance(kind, Text):
        return map(encode_basestring, cells)
    if isinstance(kind, Double):  # a damaged database may hold NaN, which JSON lacks
        cells = [cell if cell is None or isfinite(cell) else f'"{cell}"' for cell in cells]
    return ["null" if cell is None else cell for cell in cells]


def write_parquet(part: Part, table: str, file: BinaryIO, *, progress: Progress = quiet) -> int:
    """Write a table as Parquet, compressed with zstd; NULL is null. Return the number of rows."""
    arrow, types = pyarrow(), types_of(TABLES[table].selected_columns)
    count, batches = 0, []
    with writer(file, types) as rows:
        for columns in part.columns(table, progress=progress):
            cells = zip(types, columns, strict=True)
            batches.append(
                arrow.record_batch([_array(arrow, *each) for each in cells], schema=types)
            )
            count += len(columns[0])
            if len(batches) == _GROUP:
                rows.write_table(arrow.Table.from_batches(batches))
                batches.clear()
        if batches:
            rows.write_table(arrow.Table.from_batches(batches))
    return count


def _array(arrow: Any, field: Any, cells: Sequence[Any]) -> Any:
    flag = arrow.types.is_boolean(field.type)
    try:
        array = arrow.array(cells, arrow.int8() if flag else field.type)
    except arrow.ArrowInvalid as error:
        raise NotAStoreError(f"damaged: a cell of {field.name} is out of range: {error}") from error
    return array.cast(field.type) if flag else array
