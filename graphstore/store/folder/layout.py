"""The files of a folder: their names, their columns and the functions that write them."""

import json
import os
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphstore.rules.game import Ints
from graphstore.store import arrow, schema
from graphstore.store.columns import Column
from graphstore.store.digests import of_json
from graphstore.util.files import checksum, explained, put

FORMAT: Final = 2  # in 1, digests are `OrderedDigests`
ROW_GROUP: Final = {"state": 4_096, "edge": 65_536}
"""The most rows that are compressed together: the least that a look-up reads."""

CHUNK: Final = 65_536
"""The rows that are computed and written at once: whole row groups."""

MANIFEST: Final = "game.json"
WORK: Final = "work"
BUILDING: Final = ".building"
TABLES: Final = schema.STORED
"""The columns of the files, by table."""

_BITS: Final = 12
BUCKETS: Final = 1 << _BITS
"""The most parts that a wave can have."""


class Contents(NamedTuple):
    """The contents of a folder, without the rows.

    Attributes:
        info: the row of the table game.
        digests: of the columns of state and edge; empty in a folder that was written for loading.
        below: the positions from which it was built; empty: the starts of the game.
        took: ``steps`` of exploring and solving, ``messages`` between blocks and their ``bytes``,
            ``seconds`` of all steps, and ``peak_bytes`` of the largest process.
        sums: the CRC-32 of each Parquet file, by its path in the folder.
        names: the names of moves by number, ascending; empty if they have none.
        waves: the number of parts of each wave, and as bits the one-bit counts of its ids; empty in
            folders of older versions.
        has_edges: False if there are no files of edges, which follow from the rules.
    """

    info: dict[str, Any]
    digests: dict[str, str]
    below: tuple[str, ...]
    took: dict[str, dict[str, Any]]
    sums: dict[str, int] = {}  # noqa: RUF012  # nothing changes it
    names: dict[int, str] = {}  # noqa: RUF012
    waves: tuple[tuple[int, int], ...] = ()
    has_edges: bool = True


def buckets(ids: Ints) -> NDArray[np.uint16]:
    """Return the bucket of each id, uint16[n] below `BUCKETS`.

    Two multiplications by odd numbers; the high bits of the result depend on all bits of the id.

    >>> counts = np.bincount(buckets(np.arange(1 << 20)), minlength=BUCKETS)
    >>> bool(counts.min() > 150), bool(counts.max() < 370)
    (True, True)
    """
    mixed = ids.astype(np.uint64)
    mixed *= np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio
    mixed ^= mixed >> np.uint64(32)
    mixed *= np.uint64(0xD6E8FEB86659FD93)  # odd, with as many one-bits as zero-bits
    return (mixed >> np.uint64(64 - _BITS)).astype(np.uint16)


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a game in parts, finished or not."""
    return (Path(path) / MANIFEST).is_file() or draft_of(Path(path)).is_dir()


def draft_of(path: Path) -> Path:
    """Return the path of the draft of a folder, which is renamed to it at the end."""
    return path.absolute().with_name(f".{path.absolute().name}{BUILDING}")


def file_of(path: Path, table: str, wave: int, part: int) -> Path:
    """Return the file of a block."""
    return path / table / f"wave-{wave:04}" / f"part-{part:04}.parquet"


def files_of(path: Path, table: str) -> list[Path]:
    """Return the files of a table, by wave, then by part."""
    files: list[Path] = []
    if (path / table).is_dir():
        with explained(path):  # glob() would leave out a folder that cannot be read
            for wave in (path / table).iterdir():
                files += wave.iterdir() if wave.name.startswith("wave-") else ()
    return sorted(file for file in files if file.match("part-*.parquet"))


def damaged_file(path: Path, sums: Mapping[str, int]) -> Path | None:
    """Return the first file whose CRC-32 is not that of `Contents.sums`; None without any."""
    there = {file.relative_to(path).as_posix() for of in TABLES for file in files_of(path, of)}
    names = sorted(there | sums.keys())
    return next((path / name for name in names if checksum(path / name) != sums.get(name)), None)


def write_manifest(path: Path, contents: Contents) -> None:
    """Write game.json, the last file, which completes a folder."""
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "game": contents.info,
        "below": list(contents.below),
        "took": contents.took,
        "digests": contents.digests,
        "sums": contents.sums,
        "names": {str(move): name for move, name in contents.names.items()},
        "waves": contents.waves,
        "has_edges": contents.has_edges,
    }
    manifest["check"] = of_json(manifest)
    put(path / MANIFEST, lambda file: file.write(json.dumps(manifest, indent=1).encode()))


def write_rows(
    path: Path,
    table: str,
    chunks: Iterable[Mapping[str, Column]],
    put: Callable[[Path, Callable[[Any], object]], int] = put,
) -> int:
    """Write the file of a block, all or nothing; return its CRC-32.

    A chunk has `CHUNK` rows, the last one maybe less. The first one decides which columns of
    `schema.LATER` there are.
    """
    chunks = iter(chunks)
    first = next(chunks)
    types = arrow.types_of(column for column in TABLES[table] if column.name in first)
    pa = arrow.pyarrow()

    def write(file: Any) -> None:
        with arrow.writer(file, types) as rows:
            for columns in chain([first], chunks):
                cells = [_cells(pa, field, columns[field.name]) for field in types]
                rows.write_batch(pa.record_batch(cells, schema=types), ROW_GROUP[table])

    return put(path, write)


def _cells(pa: Any, field: Any, column: Column) -> Any:
    """Return a column as an Arrow array, null where it is masked."""
    if isinstance(column, list):
        return pa.array(column, field.type)
    mask = np.ma.getmaskarray(column) if np.ma.is_masked(column) else None
    return pa.array(np.ma.getdata(column), mask=mask).cast(field.type)
