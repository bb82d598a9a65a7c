"""Parquet, through pyarrow, which is imported when it is first needed."""

from collections.abc import Iterable
from typing import Any

from graphstore.errors import MissingExtraError
from graphstore.store.schema import cell_type


def pyarrow() -> Any:
    """Return pyarrow, with its module parquet.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        import pyarrow as arrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError("Parquet needs pyarrow: pip install pyarrow") from error
    return arrow


def types_of(columns: Iterable[Any]) -> Any:
    """Return the pyarrow.Schema of columns of the schema: the narrowest types that hold them.

    Raises:
        MissingExtraError: pyarrow is not installed.
    """
    arrow = pyarrow()
    return arrow.schema(
        [(column.name, arrow.type_for_alias(cell_type(column))) for column in columns]
    )


def writer(file: Any, types: Any) -> Any:
    """Return a pyarrow.parquet.ParquetWriter of columns, which compresses with zstd.

    Args:
        file: a path, or an open binary file.
        types: a pyarrow.Schema.
    """
    arrow = pyarrow()
    few = [field.name for field in types if field.type not in (arrow.int64(), arrow.string())]
    # Of ids a dictionary would be as long as they are.
    return arrow.parquet.ParquetWriter(file, types, compression="zstd", use_dictionary=few)
