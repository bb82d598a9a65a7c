"""The files of a folder: their names and columns, and how they are written."""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from graphstore.store import arrow, schema
from graphstore.store.columns import Column
from graphstore.store.digests import of_json
from graphstore.util.files import put

FORMAT: Final = 1
ROW_GROUP: Final = 65_536
"""How many rows are compressed together, at most: who needs some ids reads no more than so many."""

MANIFEST: Final = "game.json"
WORK: Final = "work"
BUILDING: Final = ".building"
TABLES: Final = schema.STORED
"""The columns that are in the files, by table."""


class Contents(NamedTuple):
    """What a game in parts is, but for its rows.

    Attributes:
        info: the row of the table game.
        digests: of the columns of state and edge, as `graphstore.store.digests` has them; none in a
            folder that was made only to be loaded.
        below: the positions from which it was built; none: the starts of the game.
        took: what exploring and solving it took: how many ``steps``, how many ``messages`` between
            blocks and their ``bytes``, the ``seconds`` of all steps together, and ``peak_bytes``,
            the most memory that one of the processes had.
    """

    info: dict[str, Any]
    digests: dict[str, str]
    below: tuple[str, ...]
    took: dict[str, dict[str, Any]]


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Return whether a game in parts is, or is being made, at a path."""
    return (Path(path) / MANIFEST).is_file() or draft_of(Path(path)).is_dir()


def draft_of(path: Path) -> Path:
    """Return where a folder is built, until it takes its name."""
    place = path.absolute()
    return place.parent / f".{place.name}{BUILDING}"


def file_of(path: Path, table: str, wave: int, part: int) -> Path:
    """Return where the rows of a block are."""
    return path / table / f"wave-{wave:04}" / f"part-{part:04}.parquet"


def files_of(path: Path, table: str) -> list[Path]:
    """Return the files of a table, by wave, then by part."""
    return sorted((path / table).glob("wave-*/part-*.parquet"))


def write_manifest(path: Path, contents: Contents) -> None:
    """Say what is in a folder, which is complete from now on."""
    info, digests, below, took = contents
    said: dict[str, Any] = {
        "format": FORMAT,
        "game": info,
        "below": list(below),
        "took": took,
        "digests": digests,
    }
    said["check"] = of_json(said)
    put(path / MANIFEST, lambda file: file.write(json.dumps(said, indent=1).encode()))


def write_rows(path: Path, table: str, chunks: Iterable[Mapping[str, Column]]) -> None:
    """Write the rows of a block, a row group a chunk, which has no more than `ROW_GROUP` rows.

    Args:
        path: where; it is there as a whole, or not at all.
        table: state or edge.
        chunks: columns as in `graphstore.store.columns`, by name.
    """
    types = arrow.types_of(TABLES[table])
    pa = arrow.pyarrow()

    def write(file: Any) -> None:
        with arrow.writer(file, types) as rows:
            for columns in chunks:
                cells = [_cells(pa, field, columns[field.name]) for field in types]
                rows.write_batch(pa.record_batch(cells, schema=types))

    put(path, write)


def _cells(pa: Any, field: Any, column: Column) -> Any:
    """Return a column as an arrow array, null where it is masked."""
    if isinstance(column, list):
        return pa.array(column, field.type)
    mask = np.ma.getmaskarray(column) if np.ma.is_masked(column) else None
    return pa.array(np.ma.getdata(column), mask=mask).cast(field.type)
