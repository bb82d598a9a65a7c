"""Look-ups of rows by key in the files of a folder.

A key belongs to one part of each wave, so few files are read; those of other waves only if their
ids have as many one-bits.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from graphstore.rules.game import Ints
from graphstore.store.arrow import pyarrow
from graphstore.store.by_key import Keyed
from graphstore.store.folder.layout import BUCKETS, TABLES, Contents, buckets, files_of
from graphstore.store.folder.moves import edge_columns, rules_for
from graphstore.store.folder.rows import RowFile
from graphstore.util.arrays import distinct, member

FOOTERS: Final = 256  # files whose footers are kept in memory


class Lookups:
    """Look-ups in a folder; any thread may call `find`."""

    def __init__(self, path: Path, contents: Contents) -> None:
        self._path, self._contents, self._waves = path, contents, contents.waves
        self._files: dict[str, dict[int, dict[int, Path]]] = {}
        for table in TABLES:
            waves = self._files[table] = defaultdict(dict)
            listed = [path / name for name in contents.sums if name.startswith(f"{table}/")]
            for file in listed or files_of(path, table):
                wave, part = (
                    int(each.rpartition("-")[2]) for each in (file.parent.name, file.stem)
                )
                waves[wave][part] = file
        self._opened = lru_cache(FOOTERS)(RowFile)
        self._near = 0  # the wave of the last row found: play goes on from there

    def find(self, query: Keyed, keys: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Return the rows of a query with some keys, as the query in a database does."""
        needs = {"winner": ("to_move", "value"), "NULL": ()}
        wanted = {name for column in query.columns for name in needs.get(column, (column,))}
        columns = sorted({query.key, *wanted})
        find: Callable[[Keyed, Sequence[str], Sequence[Any]], Iterator[Any]] = self._by_id
        if query.key == "position":
            find = self._by_text
        elif query.table == "edge" and not self._contents.has_edges:
            find = self._expanded
        found = list(find(query, columns, keys))
        if not found:
            return []
        rows = pyarrow().concat_tables(found)
        cells = {name: rows[name].to_pylist() for name in rows.column_names}
        if "winner" in query.columns:
            ends = zip(cells["to_move"], cells["value"], strict=True)
            cells["winner"] = [_winner(to_move, value) for to_move, value in ends]
        if "ended" in cells:
            cells["ended"] = [int(each) for each in cells["ended"]]
        missing = [None] * len(rows)  # an older folder or another game lacks the column
        order = np.argsort(rows[query.key], kind="stable").tolist()
        tuples = list(zip(*(cells.get(name, missing) for name in query.columns), strict=True))
        return [tuples[row] for row in order]

    def _by_id(self, query: Keyed, columns: Sequence[str], keys: Sequence[int]) -> Iterator[Any]:
        """Yield tables of rows, from the waves nearest to the last row found first."""
        left, files = distinct(np.array(keys, dtype=np.int64)), self._files[query.table]
        near = self._near
        for wave in sorted(files, key=lambda wave: (abs(wave - near), -wave)):
            for file, some in self._candidates(files[wave], wave, left):
                for rows in self._opened(file, query.table).find(some, columns):
                    yield rows
                    self._near = wave
                    left = left[~member(left, rows[query.key].to_numpy())]
            if not left.size:
                return

    def _candidates(
        self, files: dict[int, Path], wave: int, keys: Ints
    ) -> Iterator[tuple[Path, Ints]]:
        """Yield files of a wave, each with the keys that may be in it."""
        if wave >= len(self._waves):
            yield from ((file, keys) for file in files.values())
            return
        parts, ones = self._waves[wave]
        keys = keys[[bool(ones >> key.bit_count() & 1) for key in keys.tolist()]]
        part = buckets(keys).astype(np.int64) * parts // BUCKETS
        for each in distinct(part).tolist():
            if each in files:
                yield files[each], keys[part == each]

    def _expanded(self, query: Keyed, columns: Sequence[str], keys: Sequence[int]) -> Iterator[Any]:
        """Yield a table of the moves of those keys that are states."""
        states = self.find(Keyed(["id"], "state", "id"), keys)
        ids = np.array([state for (state,) in states], dtype=np.int64)
        edges = edge_columns(rules_for(self._path, self._contents), ids)
        yield pyarrow().table({name: edges[name] for name in columns})

    def _by_text(self, query: Keyed, columns: Sequence[str], texts: Sequence[str]) -> Iterator[Any]:
        """Yield the row of the state with a text; files are searched until it is found."""
        for _, files in sorted(self._files[query.table].items()):
            for file in files.values():
                for rows in self._opened(file, query.table).find_text(texts[0], columns):
                    yield rows
                    return


def _winner(to_move: int | None, value: int) -> int | None:
    """Return the column winner of `state`."""
    if to_move is None or not value:
        return None if to_move is None else 0
    return to_move if value == 1 else 3 - to_move
