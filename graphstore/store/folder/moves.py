"""The moves of a folder without files of edges: they follow from the rules of a built-in game."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graphstore.errors import NotAStoreError
from graphstore.games import are_those_of, find_builtin
from graphstore.rules.game import Game, Ints
from graphstore.solver.exploration import expand
from graphstore.store import arrow
from graphstore.store.columns import Chunk, Column
from graphstore.store.folder.layout import TABLES, Contents, files_of
from graphstore.store.folder.rows import MEMORY, chunks, ordered

BATCH = 50_000  # states that are expanded at once for SQL


def edge_columns(game: Game, states: Ints) -> dict[str, Column]:
    """Return the columns of the edges from states, which ascend: by parent, then by move."""
    found = expand(game, states)
    parent = np.repeat(states, found.counts)
    return {"parent": parent, "move": found.move, "child": found.found[found.into]}


def rules_for(path: Path, contents: Contents) -> Game:
    """Return the rules that a folder without edges was built by.

    Raises:
        NotAStoreError: this version of graphstore does not have them.
    """
    name, version = contents.info["name"], contents.info["rules"]
    game = find_builtin(name)
    if game is None or not are_those_of(game, name, version):
        raise NotAStoreError(
            f"{path} has no edges, and the rules of {name} have changed; build it again"
        )
    return game


def rows_of(path: Path, contents: Contents, table: str, memory: int = MEMORY) -> Iterator[Chunk]:
    """Yield the rows of a table in key order, read or expanded; see `folder.rows.ordered`."""
    if table == "state" or contents.has_edges:
        yield from ordered(files_of(path, table), table, memory=memory)
        return
    states = ordered(files_of(path, "state"), "state", memory=memory, columns=["id"])
    yield from _expanded(rules_for(path, contents), states, contents.info["moves"])


def blocks_of(path: Path, contents: Contents, table: str) -> list[Iterator[Chunk]]:
    """Return the rows of a table by blocks, the largest block first; each in key order."""
    read = table if contents.has_edges else "state"
    files = sorted(files_of(path, read), key=lambda file: -file.stat().st_size)
    if read == table:
        return [chunks(file, table) for file in files]
    game, moves = rules_for(path, contents), contents.info["moves"]
    return [_expanded(game, chunks(file, "state", columns=["id"]), moves) for file in files]


def _expanded(game: Game, states: Iterator[Chunk], total: int) -> Iterator[Chunk]:
    """Yield the edges from the states of some chunks."""
    done = 0
    for _, _, columns in states:
        edges = edge_columns(game, columns["id"])
        done += len(edges["move"])
        yield done, total, edges


class EdgeStream:
    """The edges of all states as a stream of Arrow batches, which DuckDB reads like a table."""

    def __init__(self, path: Path, contents: Contents, states: Any) -> None:
        self._path, self._contents = path, contents
        self._states = states  # a pyarrow dataset

    def __arrow_c_stream__(self, schema: object = None) -> object:
        """Begin a new stream; see Arrow's PyCapsule interface."""
        types = arrow.types_of(TABLES["edge"])
        reader = arrow.pyarrow().RecordBatchReader.from_batches(types, self._batches(types))
        return reader.__arrow_c_stream__(schema)

    def _batches(self, types: Any) -> Iterator[Any]:
        game = rules_for(self._path, self._contents)
        for batch in self._states.to_batches(columns=["id"], batch_size=BATCH, use_threads=False):
            edges = edge_columns(game, batch["id"].to_numpy())
            cells: Sequence[Any] = [edges[field.name] for field in types]
            yield arrow.pyarrow().record_batch(cells, schema=types)
