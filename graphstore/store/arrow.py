"""Parquet files through pyarrow, which is imported on first use."""

from collections.abc import Iterable
from typing import Any, Final

from graphstore.store.schema import cell_type
from graphstore.util.extras import extra

PYARROW_MB: Final = 600  # with less, some reads end the process, as measured


def pyarrow() -> Any:
    """Import and return pyarrow and its modules `compute` and `parquet`."""
    with extra("Parquet needs pyarrow: pip install pyarrow", megabytes=PYARROW_MB):
        import pyarrow as arrow
        import pyarrow.compute
        import pyarrow.parquet
    return arrow


def types_of(columns: Iterable[Any]) -> Any:
    """Return the pyarrow.Schema of columns, with the narrowest types that hold their cells."""
    types = [(column.name, cell_type(column)) for column in columns]
    return pyarrow().schema(types)


def writer(file: Any, types: Any) -> Any:
    """Return a ParquetWriter for a path or an open file; `types` is a pyarrow.Schema."""
    arrow = pyarrow()
    # Most ids and texts are distinct, so a dictionary of them saves no space.
    few = [field.name for field in types if field.type not in (arrow.int64(), arrow.string())]
    return arrow.parquet.ParquetWriter(file, types, compression="zstd", use_dictionary=few)
