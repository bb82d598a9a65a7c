"""The rows of a folder in key order, merged from its files.

Each file is in key order, and no key is in two files. Some rows of each file are held in memory;
the rows below the first key that may be unread are sorted and yielded.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from graphstore.errors import NotAStoreError, StoreError
from graphstore.rules.game import Ints
from graphstore.store.arrow import pyarrow, types_of
from graphstore.store.columns import Chunk, Column
from graphstore.store.folder.layout import ROW_GROUP, TABLES, Contents, damaged_file, files_of
from graphstore.store.format import LATER
from graphstore.util.arrays import member

PRIMARY: Final = {"state": ("id",), "edge": ("parent", "move")}
"""The key of each table; files are merged by its first column, and rows of one id share a file."""
MEMORY: Final = 1 << 30  # bytes held in memory, by default
_MOST = 250_000  # rows per chunk: more are not sorted faster
_FEWEST = 1_000  # rows held of a file: fewer would open it too often
_LAST = np.iinfo(np.int64).max


def rows_in(files: Sequence[Path], table: str) -> int:
    """Return the number of rows of files, from their footers."""
    return sum(RowFile(file, table).rows for file in files)


def check_rows(path: Path, table: str, wanted: int) -> list[Path]:
    """Return the files of a table; raise NotAStoreError unless they have `wanted` rows."""
    files = files_of(path, table)
    found, what = rows_in(files, table), {"state": "states", "edge": "moves"}[table]
    if found != wanted:
        raise NotAStoreError(f"{path} is damaged: its files have {found:,} {what}, not {wanted:,}")
    return files


def check_files(path: Path, contents: Contents) -> None:
    """Raise NotAStoreError if files are missing or changed, as far as can be told in short.

    Checksums count only if there are no digests of columns, which say more.
    """
    check_rows(path, "state", contents.info["states"])
    check_rows(path, "edge", contents.info["moves"] if contents.has_edges else 0)
    changed = None if contents.digests else damaged_file(path, contents.sums)
    if changed is not None:
        raise NotAStoreError(f"{path} is damaged: {changed} was changed")


def chunks(file: Path, table: str, columns: Sequence[str] | None = None) -> Iterator[Chunk]:
    """Yield the chunks of one file, in its order: some columns, by default all."""
    run, done = RowFile(file, table, columns), 0
    while run.left:
        rows = run.read(_MOST)
        done += len(rows)
        yield done, run.rows, _columns(rows)


def ordered(
    files: Sequence[Path],
    table: str,
    *,
    memory: int = MEMORY,
    columns: Sequence[str] | None = None,
) -> Iterator[Chunk]:
    """Yield the rows of all files in key order, as chunks: some columns, by default all.

    About `memory` bytes are held. If one row group of each file takes more than half of that, row
    groups are decoded several times.

    Raises:
        NotAStoreError: a file is damaged or not in order.
    """
    runs = [run for run in (RowFile(file, table, columns) for file in files) if run.left]
    if len({run.columns for run in runs}) > 1:
        raise NotAStoreError(f"{files[0].parents[1]} is damaged: its files have different columns")
    total, done, before = sum(run.rows for run in runs), 0, (-1, -1)
    width = max((run.width() for run in runs[:1]), default=1)
    most = min(max(memory // (8 * width), _FEWEST), _MOST)
    most_held = 2 * ROW_GROUP["edge"]
    quota = min(max(memory // (3 * width * max(len(runs), 1)), _FEWEST), most_held)
    while runs:
        for run in runs:
            run.hold(quota)
        bound = min((run.keys[-1] for run in runs if run.left), default=_LAST)
        bound = _cut(runs, bound, most)
        pieces = [piece for run in runs if len(piece := run.take(bound))]
        rows = _in_order(pieces, PRIMARY[table][0])
        runs = [run for run in runs if run.left or len(run.keys)]
        cells = _columns(rows)
        before = _check_order(files[0].parents[1], table, cells, before)
        done += len(rows)
        yield done, total, cells


class RowFile:
    """A file of sorted rows; `ordered` holds some of its rows in memory, with their `keys`."""

    def __init__(self, file: Path, table: str, columns: Sequence[str] | None = None) -> None:
        self._file = file
        self._wanted = columns
        self._key = PRIMARY[table][0]
        self._never_null = [column.name for column in TABLES[table] if not column.nullable]
        with self._blamed():
            if not file.is_file():  # a pipe would block
                raise ValueError("it is not a regular file")
            self._metadata = pyarrow().parquet.read_metadata(file)
            found = self._metadata.schema.to_arrow_schema()
            lacking = {*LATER} - {*found.names}
            types = types_of(each for each in TABLES[table] if each.name not in lacking)
            if not found.equals(types):
                raise ValueError(f"its columns are not those of {table}")
        self._group = 0
        self._offset = 0  # in the row group, of the next row
        held = types.empty_table()
        self._held = held if columns is None else held.select(columns)
        self.rows: int = self._metadata.num_rows
        self.left = self.rows  # not read yet
        self.columns = tuple(types.names)
        self.keys: Ints = np.empty(0, dtype=np.int64)

    def width(self) -> int:
        """Return the bytes of memory that a held row takes."""
        rows = self.decoded(0)
        return max(int(rows.nbytes) // max(len(rows), 1), 1)

    def hold(self, quota: int) -> None:
        """Read until at least half of `quota` rows are held, or no rows are left."""
        while self.left and len(self.keys) < (quota + 1) // 2:
            rows = self.read(quota)
            self._held = pyarrow().concat_tables([self._held, rows])
            self.keys = np.concatenate((self.keys, rows[self._key].to_numpy()))

    def take(self, bound: int) -> Any:
        """Return and release the held rows with keys up to `bound`."""
        count = int(np.searchsorted(self.keys, bound, side="right"))
        taken, self._held = self._held.slice(0, count), self._held.slice(count)
        self.keys = self.keys[count:]
        return taken

    def read(self, most: int) -> Any:
        """Return the next rows, at most `most`, of one row group."""
        rows = self.decoded(self._group)
        size, begin = len(rows), self._offset
        if begin or size > most:
            some = np.arange(begin, min(begin + most, size))
            rows = rows.take(some)  # a copy: a slice would keep the whole row group
        self._offset += len(rows)
        if self._offset == size:
            self._group, self._offset = self._group + 1, 0
        self.left -= len(rows)
        return rows

    @cached_property
    def _bounds(self) -> tuple[Ints, Ints]:
        """The first and the last key of each row group."""
        with self._blamed():
            at, groups = self.columns.index(self._key), range(self._metadata.num_row_groups)
            found = [self._metadata.row_group(group).column(at).statistics for group in groups]
            if not all(each and each.has_min_max for each in found):
                raise ValueError(f"it has no bounds of {self._key}")
            first, last = np.array([(each.min, each.max) for each in found]).reshape(-1, 2).T
        return first, last

    def find(self, keys: Ints, columns: Sequence[str]) -> list[Any]:
        """Return tables of the rows with some ascending keys: the columns that the file has."""
        first, last = self._bounds
        begin = np.searchsorted(last, keys).tolist()
        end = np.searchsorted(first, keys, side="right").tolist()
        groups = {group for pair in zip(begin, end, strict=True) for group in range(*pair)}
        tables, others = [], [name for name in columns if name != self._key]
        with self._opened() as file:
            for group in sorted(groups):
                ids = self._read(file, group, [self._key])
                rows = np.flatnonzero(member(ids[self._key].to_numpy(), keys))
                if rows.size:
                    found = self._read(file, group, others)
                    found = found.append_column(self._key, ids[self._key])
                    # A slice is faster, but it keeps the whole row group in memory.
                    tables.append(found.take(rows) if rows.size > 1 else found.slice(rows[0], 1))
        return tables

    def find_text(self, text: str, columns: Sequence[str]) -> list[Any]:
        """Return a table of the row with a `position`, if the file has it: a search."""
        wanted = pyarrow().compute.field("position") == text
        names = [name for name in columns if name in self.columns]
        read = partial(pyarrow().parquet.read_table, use_threads=False, pre_buffer=False)
        with self._blamed():
            rows = read(self._file, columns=names, filters=wanted, partitioning=None)
        return [rows] if len(rows) else []

    def decoded(self, group: int) -> Any:
        """Return a row group, as one record batch."""
        with self._opened() as file:
            return self._read(file, group, self._wanted)

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        """Yield the file for `_read`; errors name it."""
        with (
            self._blamed(),
            pyarrow().OSFile(str(self._file)) as source,
            pyarrow().parquet.ParquetFile(
                source,
                metadata=self._metadata,
                pre_buffer=False,  # starts threads, in which an error ends the process
            ) as file,
        ):
            yield file

    def _read(self, file: Any, group: int, columns: Sequence[str] | None) -> Any:
        rows = file.read_row_group(group, columns, use_threads=False).combine_chunks()
        if "position" in rows.column_names:
            rows.validate(full=True)  # texts are UTF-8
        for name in {*self._never_null} & {*rows.column_names}:
            if rows[name].null_count:
                raise ValueError(f"{name} is NULL")
        return rows

    @contextmanager
    def _blamed(self) -> Iterator[None]:
        try:
            yield
        except MemoryError:
            raise
        except (OSError, ValueError, pyarrow().ArrowException) as error:
            if getattr(error, "errno", None) is not None:
                raise StoreError(f"{self._file} cannot be read: {error}") from error
            what = " ".join(str(error).split())
            raise NotAStoreError(f"{self._file} is damaged: {what}") from error


def _cut(runs: Sequence[RowFile], bound: int, most: int) -> int:
    """Return `bound`, or a lower bound if far more than `most` held rows are below it."""
    up_to = [int(np.searchsorted(run.keys, bound, side="right")) for run in runs]
    if sum(up_to) <= most * 5 // 4:
        return bound
    step = max(most // (16 * len(runs)), 1)
    some = np.concatenate(
        [run.keys[:count][step - 1 :: step] for run, count in zip(runs, up_to, strict=True)]
    )
    at = min(most // step, len(some) - 1)
    return int(np.partition(some, at)[at])


def _in_order(pieces: Sequence[Any], key: str) -> Any:
    """Return rows sorted by the first column of the key; moves of a state keep their order."""
    if len(pieces) == 1:
        return pieces[0]
    rows = pyarrow().concat_tables(pieces).combine_chunks()
    return rows.take(np.argsort(rows[key].to_numpy(), kind="stable"))


def _check_order(
    folder: Path, table: str, columns: dict[str, Column], before: tuple[int, int]
) -> tuple[int, int]:
    """Return the last key of a chunk; raise NotAStoreError unless keys ascend from `before`."""
    keys = [columns[name] for name in PRIMARY[table]]
    first = np.concatenate(([before[0]], keys[0]))
    ascends = first[1:] > first[:-1]
    if len(keys) == 2:
        second = np.concatenate(([before[1]], keys[1]))
        ascends |= (first[1:] == first[:-1]) & (second[1:] > second[:-1])
    wrong = np.flatnonzero(~ascends)
    if wrong.size:
        row = " ".join(f"{name} {columns[name][wrong[0]]}" for name in PRIMARY[table])
        raise NotAStoreError(f"{folder} is damaged: {row} is out of order, or occurs twice")
    return int(keys[0][-1]), int(keys[-1][-1])


def _columns(rows: Any) -> dict[str, Column]:
    """Return an Arrow table as arrays, masked where NULL, and lists of texts."""
    return {name: _column(rows[name].combine_chunks()) for name in rows.column_names}


def _column(cells: Any) -> Column:
    types = pyarrow().types
    if types.is_string(cells.type):
        return cells.to_numpy(zero_copy_only=False).tolist()
    if types.is_boolean(cells.type):
        cells = cells.cast("int8")
    if not cells.null_count:
        return cells.to_numpy()
    mask = cells.is_null().to_numpy(zero_copy_only=False)
    return np.ma.MaskedArray(cells.fill_null(0).to_numpy(), mask)
