"""The rows of a game in parts for a verification, merged from its files; and their conditions."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from graphstore.checks.file import conditions
from graphstore.checks.file.findings import WrongCells
from graphstore.checks.file.reading import Parts, select_rows
from graphstore.errors import NotAStoreError
from graphstore.rules.game import Ints
from graphstore.store import schema
from graphstore.store.digests import NULL
from graphstore.store.folder.folder import Folder
from graphstore.store.folder.layout import damaged_file
from graphstore.store.folder.rows import check_rows, ordered
from graphstore.util.arrays import member

MEMORY: Final = 1 << 27  # bytes of rows held while files are merged


class FolderRows:
    """The rows of a folder; see `reading.Rows`. `wrong` has the cells that break a condition."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self.wrong: list[WrongCells] = []

    def check(self) -> None:
        """Raise NotAStoreError if files are missing or changed, as their number of rows tells.

        The checksums of files count only if there are no digests of columns, which say more.
        """
        folder = self._folder
        for table, name in (("state", "states"), ("edge", "moves")):
            check_rows(folder.path, table, folder.info[name])
        changed = None if folder.digests else damaged_file(folder.path, folder.contents.sums)
        if changed is not None:
            raise NotAStoreError(f"{folder.path} is damaged: {changed} was changed")

    def states(self) -> Generator[dict[str, Any], None, None]:
        """See `reading.Rows`."""
        for part in self._parts("state"):
            self.wrong += conditions.of_columns(schema.state, part)
            yield _plain(part)

    def edges(self, ids: Ints) -> Parts:
        """See `reading.Rows`."""
        begin, held = 0, _empty("edge")
        for part in self._parts("edge"):
            part = {name: np.concatenate((held[name], part[name])) for name in held}
            parents = part["parent"]
            whole = int(np.searchsorted(parents, parents[-1])) if len(parents) else 0
            held = {name: cells[whole:] for name, cells in part.items()}
            if whole:  # the last parent may have more moves in the next part
                end = int(np.searchsorted(ids, parents[whole - 1], side="right"))
                yield slice(begin, end), {name: cells[:whole] for name, cells in part.items()}
                begin = end
        yield slice(begin, len(ids)), held

    def positions(self) -> Generator[dict[str, Any], None, None]:
        """See `reading.Rows`."""
        for part in self._parts("state"):
            yield {name: part[name] for name in ("id", "position")}

    def states_of(self, ids: Sequence[int]) -> dict[str, Any]:
        """See `reading.Rows`; all states are read."""
        wanted = np.sort(np.array(ids, dtype=np.int64))
        parts = [_empty("state")]
        for part in self._parts("state"):
            kept = member(part["id"], wanted)
            if kept.any():
                parts.append(select_rows(_plain(part), kept))
        return {
            name: [text for part in parts for text in part[name]]
            if isinstance(cells, list)
            else np.concatenate([part[name] for part in parts])
            for name, cells in parts[0].items()
        }

    def texts(self, ids: Sequence[int]) -> dict[int, str]:
        """Return the texts of states, by id."""
        found = self.states_of(ids)
        return dict(zip(found["id"].tolist(), found["position"], strict=True))

    def _parts(self, table: str) -> Iterator[dict[str, Any]]:
        """Yield the columns of a table in key order; one empty part if it has no rows."""
        found = ordered(self._folder.files(table), table, memory=MEMORY)
        parts = (part for _, _, part in found)
        yield next(parts, _empty(table))
        yield from parts


def _empty(table: str) -> dict[str, Any]:
    return {
        column.name: [] if kind == "string" else np.empty(0, "f8" if kind == "float64" else "i8")
        for column, kind in ((each, schema.cell_type(each)) for each in schema.STORED[table])
    }


def _plain(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return columns with `NULL` and NaN where they are masked or missing; integers as int64."""
    lacking = np.full(len(part["id"]), NULL)
    return dict.fromkeys(schema.LATER, lacking) | {
        name: cells if isinstance(cells, list) else _filled(cells) for name, cells in part.items()
    }


def _filled(cells: Any) -> Any:
    if cells.dtype.kind == "f":
        return np.ma.filled(cells, np.nan)
    return np.ma.filled(cells.astype(np.int64), NULL)
