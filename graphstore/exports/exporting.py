"""Export of a solved game, or a part of it, to a file, a folder or a stream."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple, TextIO

from graphstore.errors import FormatError, StoreError
from graphstore.exports.graphs import FORMATS, write_graph
from graphstore.exports.selection import TABLES, Part, selected
from graphstore.exports.tables import write_csv, write_jsonl, write_parquet
from graphstore.rules.game import Progress, quiet
from graphstore.store.arrow import pyarrow
from graphstore.store.sqlite.opening import explained
from graphstore.store.store import Address, Store
from graphstore.util import arguments, files
from graphstore.util.signals import held_back

TABULAR: Final = ("parquet", "csv", "jsonl")
GRAPHS: Final = tuple(FORMATS)
BOTH: Final = ("state", "edge")  # the tables of a graph


class Exported(NamedTuple):
    """The result of an export; edges of a graph are distinct pairs of parent and child."""

    format: str
    files: tuple[str, ...]
    rows: dict[str, int]  # by table


def export(
    store: Store | Address,
    target: str | os.PathLike[str],
    file_format: str,
    *,
    table: str | None = None,
    below: str | int | None = None,
    plies: int | None = None,
    where: str | None = None,
    progress: Progress = quiet,
) -> Exported:
    """Write a game, or the part of it that meets all conditions, to a new file or folder.

    Args:
        store: the database, open or as an address.
        target: the new file or folder. For parquet, csv and jsonl it is a file with one table if
            `table` is given or the name ends in the format, such as ``.csv``; else it is a folder
            with ``state.csv`` and ``edge.csv``, and with ``move.csv`` if moves have names.
        file_format: parquet, csv or jsonl for tables; graphml, gexf or dot for the graph, which is
            one file.
        table: state, edge, move, or a view; for a file, the default is state.
        below: a position in any orientation, or the id of a state; selects what play from it
            reaches.
        plies: with `below`, selects states at most this many plies below it.
        where: an SQL condition on the columns of `state`; may call board() and canonical().
        progress: called with the phase, the rows done and their total.

    Raises:
        FormatError: there is no such format or table, `table` is given for a graph, or the name of
            the target ends in another format.
        MissingExtraError: the format is parquet and pyarrow is not installed.
        StoreExistsError: the target exists.
        StoreError: the target cannot be written.
        PositionError, NotInStoreError, QueryError, SelectionError: see
            `graphstore.exports.selection.selected`.

    >>> import tempfile, graphstore
    >>> folder = tempfile.mkdtemp()
    >>> graphstore.build("tictactoe", folder + "/tictactoe.db").states
    765
    >>> file = folder + "/tictactoe.db"
    >>> graphstore.export(file, folder + "/late", "csv", where="ply >= 7").rows
    {'state': 225, 'edge': 224}
    >>> graphstore.export(file, folder + "/below.dot", "dot", below="XO./.X./...").rows
    {'state': 145, 'edge': 284}
    """
    check(file_format, table)
    path = Path(arguments.path("target", target))
    other = path.suffix.lower().removeprefix(".")
    if other != file_format and other in (*TABULAR, *GRAPHS):
        raise FormatError(f"{path}: the name ends in .{other}, but the format is {file_format}")
    if str(path) == "-":
        raise FormatError('"-" is not a file name; leave --output out to write to standard output')
    single = file_format in GRAPHS or table is not None or other == file_format
    if file_format == "parquet":
        pyarrow()
    with (
        _draft(path) as draft,
        selected(store, below=below, plies=plies, where=where, progress=progress) as part,
    ):
        tables = [*BOTH, *["move"] * part.names.names_moves]
        names = [""] if single else [f"{each}.{file_format}" for each in tables]
        if not single:
            draft.mkdir()
        rows: dict[str, int] = {}
        for name, each in zip(names, [table] if single else tables, strict=True):
            mode: Any = {"mode": "x", "encoding": "utf-8", "newline": ""}
            if file_format == "parquet":
                mode = {"mode": "xb"}
            with (draft / name).open(**mode) as file:
                rows |= _write(part, file, file_format, each, progress)
    return Exported(file_format, tuple(str(path / name) for name in names), rows)


def stream(
    store: Store | Address,
    file: TextIO,
    file_format: str,
    *,
    table: str | None = None,
    progress: Progress = quiet,
    **part: Any,
) -> None:
    """Write a table, by default state, or the graph to an open file; options as for `export`."""
    check(file_format, table)
    if file_format == "parquet":
        raise FormatError("Parquet is binary; give --output")
    with selected(store, progress=progress, **part) as selection:
        _write(selection, file, file_format, table, progress)


def check(file_format: str, table: str | None) -> None:
    """Raise a FormatError if there is no such format or table, as in `export`."""
    if file_format not in (*TABULAR, *GRAPHS):
        known = ", ".join((*TABULAR, *GRAPHS))
        raise FormatError(f"there is no format {file_format!r}; the formats are {known}")
    if table is not None and file_format in GRAPHS:
        raise FormatError(f"{file_format} writes the graph; for a table use {', '.join(TABULAR)}")
    if table is not None and table not in TABLES:
        raise FormatError(f"there is no table {table!r}; the tables are {', '.join(TABLES)}")


def _write(
    part: Part, file: Any, file_format: str, table: str | None, progress: Progress
) -> dict[str, int]:
    if file_format in GRAPHS:
        return dict(zip(BOTH, write_graph(file_format, part, file, progress=progress), strict=True))
    write: Any = {"parquet": write_parquet, "csv": write_csv, "jsonl": write_jsonl}[file_format]
    name = table or BOTH[0]
    return {name: write(part, name, file, progress=progress)}


@contextmanager
def _draft(target: Path) -> Iterator[Path]:
    """Yield the path of a draft, which is renamed to the target if no error occurs.

    The draft is in a locked folder next to the target.
    """
    with explained(target):
        files.refuse_existing(target)
        if not target.parent.is_dir():
            raise StoreError(f"there is no folder {target.parent}; create it first")
        folder = target.with_name(f".{target.name}.exporting")
        busy = f"another export is writing {folder}; wait for it, or name another file"
        with files.locked_folder(folder, busy):
            files.clear(folder)
            try:
                yield folder / "draft"
                files.name_new(folder / "draft", target)
            finally:
                with held_back():
                    files.clear(folder)
