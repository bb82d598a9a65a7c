"""The folder of Parquet files that a game in parts is: `state/` and `edge/`, by wave and part."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

import numpy as np

from graphstore import arrow, schema
from graphstore.digests import of_json
from graphstore.errors import NewerStoreError, NotAStoreError, StoreError, StoreMissingError
from graphstore.game import Game
from graphstore.parts.atomic import put

if TYPE_CHECKING:
    from graphstore.tables import Column  # a heavy room
from graphstore.usersql import Answer

FORMAT: Final = 1
ROW_GROUP: Final = 65_536
"""How many rows are compressed together, at most: who needs some ids reads no more than so many."""

MANIFEST: Final = "game.json"
WORK: Final = "work"
BUILDING: Final = ".building"
TABLES: Final = {
    "state": tuple(column for column in schema.state.c if column.computed is None),
    "edge": tuple(schema.edge.c),
}
"""The columns that are in the files, by table."""


class Contents(NamedTuple):
    """What a game in parts is, but for its rows.

    Attributes:
        info: the row of the table game.
        digests: of the columns of state and edge, as `graphstore.digests` has them; none in a
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


class Folder:
    """A game in parts that is complete.

    Attributes:
        path: the folder.
        contents: what it is.
    """

    def __init__(self, path: Path, contents: Contents) -> None:
        self.path = path
        self.contents = contents

    def __repr__(self) -> str:
        return f"<Folder {self.path}: {self.info['name']}, {self.info['states']:,} states>"

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """Return the game in a folder.

        Raises:
            StoreMissingError: there is no such folder.
            StoreError: the build has not come to its end.
            NotAStoreError: it holds something else, or its list of contents is damaged.
            NewerStoreError: a newer graphstore made it.
        """
        place = Path(path)
        if not place.is_dir():
            if draft_of(place).is_dir():
                raise StoreError(
                    f"{place} is not finished; give the command that began it again to go on"
                )
            raise StoreMissingError(f"there is no folder {place}")
        try:
            if (place / MANIFEST).exists() and not (place / MANIFEST).is_file():
                raise NotAStoreError(f"{place / MANIFEST} is no file; build it anew")
            text = (place / MANIFEST).read_text("utf-8")
        except FileNotFoundError:
            raise NotAStoreError(f"{place} is no game in parts: it has no {MANIFEST}") from None
        except NotAStoreError:
            raise
        except OSError as error:
            raise StoreError(f"{place} cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise NotAStoreError(f"{place / MANIFEST} is damaged; build it anew") from error
        try:
            found = json.loads(text)
            if int(found["format"]) > FORMAT:
                raise NewerStoreError(f"{place} is from a newer graphstore; upgrade the program")
            if found.pop("check") != of_json(found):
                raise ValueError("it is not what was written")
            info = {column.name: found["game"][column.name] for column in schema.game.c}
            contents = Contents(
                info, dict(found["digests"]), tuple(found["below"]), dict(found["took"])
            )
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            raise NotAStoreError(f"{place / MANIFEST} is damaged; build it anew") from error
        return cls(place, contents)

    @property
    def info(self) -> dict[str, Any]:
        """The row of the table game."""
        return self.contents.info

    @property
    def digests(self) -> dict[str, str]:
        """The digests of the columns of state and edge."""
        return self.contents.digests

    def sql(
        self,
        statement: str,
        parameters: Sequence[Any] | Mapping[str, Any] = (),
        *,
        rules: Game | None = None,
        seconds: float | None = None,
        rows: int | None = None,
        memory: int | None = None,
    ) -> Answer:
        """Return the rows of one reading statement in DuckDB's SQL; see `graphstore.parts.duck`.

        Raises:
            QueryError: the SQL is wrong, would do more than read, or comes to a limit.
            NotAStoreError: files are missing or damaged.
            MissingExtraError: DuckDB or pyarrow is not installed.
        """
        from graphstore.parts.duck import sql

        return sql(
            self,
            statement,
            parameters,
            rules=rules,
            seconds=seconds,
            rows=rows,
            memory=memory,
        )

    def files(self, table: str) -> list[Path]:
        """Return the files of a table, by wave, then by part."""
        return files_of(self.path, table)


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


def write_rows(path: Path, table: str, chunks: Iterable[Mapping[str, "Column"]]) -> None:
    """Write the rows of a block, a row group a chunk, which has no more than `ROW_GROUP` rows.

    Args:
        path: where; it is there as a whole, or not at all.
        table: state or edge.
        chunks: columns as in `graphstore.tables`, by name.
    """
    types = arrow.types_of(TABLES[table])
    pa = arrow.pyarrow()

    def write(file: Any) -> None:
        with arrow.writer(file, types) as rows:
            for columns in chunks:
                cells = [_cells(pa, field, columns[field.name]) for field in types]
                rows.write_batch(pa.record_batch(cells, schema=types))

    put(path, write)


def _cells(pa: Any, field: Any, column: "Column") -> Any:
    """Return a column as an arrow array, null where it is masked."""
    if isinstance(column, list):
        return pa.array(column, field.type)
    mask = np.ma.getmaskarray(column) if np.ma.is_masked(column) else None
    return pa.array(np.ma.getdata(column), mask=mask).cast(field.type)
