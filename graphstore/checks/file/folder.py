"""The rows of a game in parts for a verification, merged from its files; and their conditions."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from graphstore.checks.file import conditions
from graphstore.checks.file.findings import WrongCells
from graphstore.checks.file.reading import select_rows
from graphstore.store import schema
from graphstore.store.bulk import joined
from graphstore.store.digests import NULL
from graphstore.store.folder.folder import Folder
from graphstore.store.folder.moves import rows_of
from graphstore.util.arrays import member

MEMORY: Final = 1 << 27  # bytes of rows held while files are merged


class FolderRows:
    """The rows of a folder; see `reading.Rows`. `wrong` has the cells that break a condition."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self.wrong: list[WrongCells] = []

    def parts(self, table: str) -> Generator[dict[str, Any], None, None]:
        """See `reading.Rows`."""
        for part in self._parts(table):
            if table == "state":
                self.wrong += conditions.of_columns(schema.state, part)
            yield _plain(table, part)

    def states_of(self, ids: Sequence[int]) -> dict[str, Any]:
        """See `reading.Rows`; all states are read."""
        wanted = np.sort(np.array(ids, dtype=np.int64))
        parts = (_plain("state", part) for part in self._parts("state"))
        return joined(select_rows(part, member(part["id"], wanted)) for part in parts)

    def texts(self, ids: Sequence[int]) -> dict[int, str]:
        """Return the texts of states, by id."""
        found = self.states_of(ids)
        return dict(zip(found["id"].tolist(), found["position"], strict=True))

    def _parts(self, table: str) -> Iterator[dict[str, Any]]:
        """Yield the columns of a table in key order; one empty part if it has no rows."""
        found = rows_of(self._folder.path, self._folder.contents, table, memory=MEMORY)
        parts = (part for _, _, part in found)
        yield next(parts, _empty(table))
        yield from parts


def _empty(table: str) -> dict[str, Any]:
    return {
        column.name: [] if kind == "string" else np.empty(0, "f8" if kind == "float64" else "i8")
        for column, kind in ((each, schema.cell_type(each)) for each in schema.STORED[table])
    }


def _plain(table: str, part: Mapping[str, Any]) -> dict[str, Any]:
    """Return columns with `NULL` and NaN where they are masked or missing; integers as int64."""
    plain = {
        name: cells if isinstance(cells, list) else _filled(cells) for name, cells in part.items()
    }
    if table == "state":
        plain = dict.fromkeys(schema.LATER, np.full(len(part["id"]), NULL)) | plain
    return plain


def _filled(cells: Any) -> Any:
    if cells.dtype.kind == "f":
        return np.ma.filled(cells, np.nan)
    return np.ma.filled(cells.astype(np.int64), NULL)
