"""Parquet, through pyarrow, which is imported when it is first needed."""

from collections.abc import Iterable
from typing import Any

from graphstore.errors import MissingExtraError
from graphstore.store.schema import cell_type


def pyarrow() -> Any:
    """Return pyarrow, with its module parquet."""
    try:
        import pyarrow as arrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError("Parquet needs pyarrow: pip install pyarrow") from error
    return arrow


def types_of(columns: Iterable[Any]) -> Any:
    """Return the pyarrow.Schema of columns: the narrowest types that hold them."""
    types = [(column.name, cell_type(column)) for column in columns]
    return pyarrow().schema(types)


def writer(file: Any, types: Any) -> Any:
    """Return a ParquetWriter to a path or an open file, of a pyarrow.Schema."""
    arrow = pyarrow()
    # A dictionary of ids would be as long as they are.
    few = [field.name for field in types if field.type not in (arrow.int64(), arrow.string())]
    return arrow.parquet.ParquetWriter(file, types, compression="zstd", use_dictionary=few)
