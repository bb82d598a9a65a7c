"""A folder of parts into a database."""

import os
from collections.abc import Iterator
from typing import Any, Final

from graphstore.building.saving import Clock, Report, save
from graphstore.errors import NotAStoreError, shown
from graphstore.rules.game import Progress, quiet
from graphstore.store import digests, schema
from graphstore.store.arrow import pyarrow
from graphstore.store.backend import UNCHANGED
from graphstore.store.columns import Chunk
from graphstore.store.folder.folder import Folder
from graphstore.store.folder.rows import chunks, ordered, rows_in
from graphstore.util import arguments

MOST_JOBS: Final = 4
"""Connections to load over, by default: more do not help, as the server writes one disk."""


def load(
    folder: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    force: bool = False,
    drop_agents: bool = False,
    jobs: int | None = None,
    progress: Progress = quiet,
) -> Report:
    """Write a folder of parts to a database, all or nothing.

    All columns get their digests anew, and a folder whose rows are not those that it was built with
    is refused.

    Args:
        folder: what `graphstore.build_folder` made.
        target: the file to write, or its address: see `Store.open`.
        force: replace the file if there is one; its agents are kept.
        drop_agents: with `force`, do not keep them.
        jobs: connections to load over, into PostgreSQL; by default one for two processors, since
            the server works as much, at most 4. With one, rows lie in the order of their key.
        progress: called with the phase and how far it is.

    Raises:
        MissingExtraError: pyarrow is not installed.
        StoreMissingError, NotAStoreError: there is no such folder, or it is damaged.
        StoreExistsError: the file is there and `force` is not given.
        StoreError: it cannot be written, the folder is not finished, or the file has agents that
            the new one could not keep.
    """
    jobs = arguments.limit("jobs", jobs, least=1)
    folder = arguments.path("folder", folder)
    pyarrow()
    content = FolderRows(Folder.open(folder))

    def solved(_: Clock) -> FolderRows:
        return content

    return save(
        content.name,
        target,
        solved,
        force=force,
        drop_agents=drop_agents,
        jobs=min(max((os.cpu_count() or 1) // 2, 1), MOST_JOBS) if jobs is None else jobs,
        progress=progress,
    )


class FolderRows:
    """The rows of a folder of parts that are written to a database; see `saving.Content`."""

    def __init__(self, folder: Folder) -> None:
        """Take a folder.

        Raises:
            NotAStoreError: what it says of itself cannot be.
        """
        self._folder = folder
        self._hashes = digests.ColumnDigests()
        for column in schema.game.c:
            cell = folder.info[column.name]
            kind = {"float64": float, "string": str}.get(schema.cell_type(column), int)
            if not (column.nullable if cell is None else isinstance(cell, kind)):
                raise self._damaged(f"its {column.name} cannot be {shown(str(cell))}")
        self.name: str = folder.info["name"]
        self.states: int = folder.info["states"]
        self.moves: int = folder.info["moves"]
        known = digests.of_content(folder.digests) if folder.digests else ""
        if known != folder.info["digest"]:
            raise self._damaged("its digests are not those that it was built with")
        for table, what, said in (("state", "states", self.states), ("edge", "moves", self.moves)):
            found = rows_in(folder.files(table), table)
            if found != said:
                raise self._damaged(f"its files have {found:,} {what}, not {said:,}")

    def rows(self, table: str) -> Iterator[Chunk]:
        """Yield the rows of state or of edge in the order of their key, each table once.

        Raises:
            NotAStoreError: they are not those that the folder was built with; at the end.
        """
        for done, total, columns in ordered(self._folder.files(table), table):
            self._hashes.update_table(table, columns)
            yield done, total, columns
        found, said = self._hashes.of_columns(), self._folder.digests
        if not said:  # it was made to be loaded, and nobody has read all of it before
            return
        names = {name for name in found.keys() | said if name.startswith(f"{table}.")}
        differing = sorted(name for name in names if found.get(name) != said.get(name))
        if differing:
            raise self._damaged(f"what was built had other cells in {', '.join(differing)}")

    def blocks(self, table: str) -> list[Iterator[Chunk]]:
        """Return the rows of each file, of the largest first."""
        files = sorted(self._folder.files(table), key=lambda file: -file.stat().st_size)
        return [chunks(file, table) for file in files]

    def digests(self) -> dict[str, str]:
        """Return the digests of all columns, by name, once all rows were yielded."""
        return self._hashes.of_columns()

    def row(self) -> dict[str, Any]:
        """Return the row of the table game as it is before the writing."""
        return self._folder.info | {"digest": digests.of_content(self.digests())}

    def _damaged(self, what: str) -> NotAStoreError:
        return NotAStoreError(f"{self._folder.path} is damaged: {what}; {UNCHANGED}")
