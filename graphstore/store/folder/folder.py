"""`Folder`, a game in parts: Parquet files in `state/` and `edge/`, by wave and part."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

from sqlalchemy import Column

from graphstore.errors import NewerStoreError, NotAStoreError, StoreError, StoreMissingError
from graphstore.games import given_or_builtin, rules_of, warn_of_other_rules
from graphstore.rules.game import Game
from graphstore.rules.plain import PlainGame
from graphstore.store import schema
from graphstore.store.digests import of_json
from graphstore.store.folder.layout import FORMAT, MANIFEST, Contents, draft_of, files_of
from graphstore.store.folder.lookups import Lookups
from graphstore.store.functions import functions
from graphstore.store.reader import Reader
from graphstore.store.sql import Answer, Statement
from graphstore.util import arguments

_FILE: Final = re.compile(r"(state|edge)/wave-\d+/part-\d+\.parquet", re.ASCII)


class Folder:
    """A complete game in parts, in the folder `path`."""

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
            StoreError: it is not finished.
            NotAStoreError: it holds something else, or game.json is damaged.
            NewerStoreError: a newer graphstore wrote it.
        """
        folder = Path(arguments.path("path", path))
        if not folder.is_dir():
            if draft_of(folder).is_dir():
                raise StoreError(f"{folder} is not finished; run the same command again to resume")
            raise StoreMissingError(f"there is no folder {folder}")
        file = folder / MANIFEST
        try:
            there, regular = file.exists(), file.is_file()
            text = file.read_bytes() if regular else b""
        except OSError as error:
            raise StoreError(f"{folder} cannot be read: {error.strerror}") from error
        if not there:
            raise NotAStoreError(f"{folder} is not a game in parts: it has no {MANIFEST}")
        if not regular:
            raise NotAStoreError(f"{file} is not a regular file; rebuild the folder")
        try:
            found = json.loads(text)
            if int(found["format"]) > FORMAT:
                raise NewerStoreError(f"a newer graphstore wrote {folder}; upgrade graphstore")
            if found.pop("check") != of_json(found):
                raise ValueError("its digest differs")
            contents = Contents(
                {column.name: _cell(column, found["game"]) for column in schema.game.c},
                dict(found["digests"]),
                tuple(found["below"]),
                dict(found["took"]),
                {_name(file): crc for file, crc in found.get("sums", {}).items()},
                {_integer(int(move)): str(name) for move, name in found.get("names", {}).items()},
                tuple((int(parts), int(ones)) for parts, ones in found.get("waves", ())),
                bool(found.get("has_edges", True)),
            )
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            raise NotAStoreError(f"{file} is damaged; rebuild the folder") from error
        return cls(folder, contents)

    @property
    def address(self) -> str:
        """The path, as a text."""
        return str(self.path)

    @property
    def info(self) -> dict[str, Any]:
        """The row of the table game."""
        return self.contents.info

    @property
    def digests(self) -> dict[str, str]:
        """The digests of the columns of state and edge, by name."""
        return self.contents.digests

    def sql(
        self,
        statement: str,
        parameters: Sequence[Any] | Mapping[str, Any] = (),
        *,
        rules: Game | PlainGame | str | None = None,
        seconds: float | None = None,
        rows: int | None = None,
        memory: int | None = None,
    ) -> Answer:
        """Return the rows of one read-only statement; it may call board(id) and canonical(text).

        When the time is up, or at Ctrl-C, this waits until DuckDB's current function ends, which
        takes minutes for a text of many megabytes. DuckDB does not count the memory of a function.
        The command `graphstore sql` limits the memory of its own process, and ends it if needed.

        Args:
            statement: DuckDB's SQL over state, edge, game, digest and the views.
            parameters: values for ``?`` in order, or for ``:name`` by name.
            rules: the rules of a game that is not built in, or a name for `graphstore.find_game`.
            seconds: the most time that DuckDB may use; None: no limit.
            rows: the most rows of the answer; None: no limit.
            memory: bytes for tables and sorting; None: half of the machine's memory, at most 4 GB.

        Raises:
            QueryError: the SQL is wrong, would do more than read, or reaches a limit.
            NotAStoreError: files are missing or damaged.
            MissingExtraError: DuckDB or pyarrow is not installed.
        """
        from graphstore.store.folder.sql import run
        from graphstore.store.probe import read_position

        limits = arguments.seconds("seconds", seconds), arguments.limit("rows", rows)
        memory = arguments.limit("memory", memory)
        arguments.instance("statement", statement, str, "SQL as a text")
        limited = Statement(statement, arguments.parameters(parameters), *limits)
        laws, name = None if rules is None else rules_of(rules, "rules"), self.info["name"]
        if laws is not None:
            warn_of_other_rules(laws, str(self.path), name, self.info["rules"])
        reader = Reader(None, "duckdb")
        reader.find = Lookups(self.path, self.contents).find

        def read(position: str | int) -> tuple[Game, int]:
            game = given_or_builtin(name, laws)
            return game, read_position(reader, game, position)

        return run(self.path, self.contents, limited, functions(read), memory)

    def files(self, table: str) -> list[Path]:
        """Return the files of a table, by wave, then by part."""
        return files_of(self.path, table)


def _cell(column: Column[Any], row: Mapping[str, Any]) -> Any:
    """Return a cell of the row of `game`; raise ValueError if it is not one of its column."""
    cell, kind = row[column.name], schema.cell_type(column)
    types = {"float64": float, "string": str}.get(kind, int)
    if not (column.nullable if cell is None else isinstance(cell, types)):
        raise ValueError(f"{column.name} cannot be {cell}")
    return _integer(cell) if types is int and cell is not None else cell


def _integer(number: int) -> int:
    """Return an integer; raise ValueError if it has more than 64 bits."""
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"{number} has more than 64 bits")
    return number


def _name(file: str) -> str:
    """Return the name of a file; raise ValueError if it is not one of the folder's."""
    if not _FILE.fullmatch(file):
        raise ValueError(f"{file} is not a file of a table")
    return file
