"""Load a folder of Parquet files into a database."""

import os
from collections.abc import Iterator
from typing import Any, Final

from graphstore.building.saving import Report, save
from graphstore.errors import NotAStoreError
from graphstore.rules.game import Progress, quiet
from graphstore.store import digests
from graphstore.store.backend import UNCHANGED
from graphstore.store.columns import Chunk
from graphstore.store.folder.folder import Folder
from graphstore.store.folder.moves import blocks_of, rows_of
from graphstore.store.folder.rows import check_files
from graphstore.store.store import find_backend
from graphstore.util import arguments

JOBS: Final = min(max((os.cpu_count() or 1) // 2, 1), 4)
"""Default number of connections to load over. More do not help: the server writes to one disk."""


def load(
    folder: Folder | str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    force: bool = False,
    drop_agents: bool = False,
    jobs: int | None = None,
    progress: Progress = quiet,
) -> Report:
    """Write a folder of Parquet files to a database, all or nothing.

    The digests of all columns are computed again. A folder that was changed since it was built is
    refused.

    Args:
        folder: a folder that `graphstore.build_folder` wrote, or its path.
        target: the file or address to write: see `Store.open`.
        force: replace an existing game; its agents are kept.
        drop_agents: with `force`, delete its agents.
        jobs: connections to load over, for PostgreSQL; by default one for every two processors,
            since the server needs the others, at most 4. With one, rows are stored in key order.
        progress: called with the phase, the number done and the total, if known.

    Raises:
        MissingExtraError: pyarrow is not installed.
        StoreMissingError, NotAStoreError: the folder does not exist, or is damaged.
        StoreExistsError: the target exists and `force` is not given.
        StoreError: the target cannot be written, the folder is not complete, or the old game has
            agents that the new one cannot keep.
    """
    jobs = arguments.limit("jobs", jobs, least=1)
    source = folder if isinstance(folder, Folder) else arguments.path("folder", folder)
    place = find_backend(target, "target")
    rows = FolderRows(source if isinstance(source, Folder) else Folder.open(source))
    return save(
        rows.name,
        place.for_game(rows.name),
        lambda _: rows,
        force=force,
        drop_agents=drop_agents,
        jobs=JOBS if jobs is None else jobs,
        progress=progress,
    )


class FolderRows:
    """The rows of a folder, as they are written to a database; see `saving.Content`."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._hashes = digests.ColumnDigests()
        self.name: str = folder.info["name"]
        self.states: int = folder.info["states"]
        self.moves: int = folder.info["moves"]
        self.names = folder.contents.names
        known = digests.of_content(folder.digests) if folder.digests else ""
        if known != folder.info["digest"]:
            raise self._damaged("the digests of its columns differ from the digest of its game")
        try:
            check_files(folder.path, folder.contents)
        except NotAStoreError as error:
            raise NotAStoreError(f"{error}; {UNCHANGED}") from error

    def rows(self, table: str) -> Iterator[Chunk]:
        """Yield the rows of a table; at the end, raise if the folder was changed."""
        folder = self._folder
        for done, total, columns in rows_of(folder.path, folder.contents, table):
            self._hashes.update_table(table, columns)
            yield done, total, columns
        found, built = self._hashes.of_columns(), self._folder.digests
        names = {name for name in found.keys() | built if name.startswith(f"{table}.")}
        differing = sorted(name for name in names if found.get(name) != built.get(name))
        if built and differing:
            raise self._damaged(f"cells were changed in {', '.join(differing)}")

    def solve(self, progress: Progress) -> bool:
        """Return False: the rows are solved."""
        return False

    def by_child(self) -> None:
        """Return None: only SQLite can sort more rows than fit into memory."""

    def blocks(self, table: str) -> list[Iterator[Chunk]]:
        """Return the rows of each file, the largest file first."""
        return blocks_of(self._folder.path, self._folder.contents, table)

    def digests(self) -> dict[str, str]:
        """See `saving.Content`."""
        return self._hashes.of_columns()

    def row(self) -> dict[str, Any]:
        """See `saving.Content`."""
        return self._folder.info | {"digest": digests.of_content(self.digests())}

    def _damaged(self, what: str) -> NotAStoreError:
        return NotAStoreError(f"{self._folder.path} is damaged: {what}; {UNCHANGED}")
