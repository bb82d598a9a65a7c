"""Columns of the tables state and edge, in chunks, and the row of game, from a solved graph."""

import platform
from collections.abc import Iterator
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from graphstore.rules.game import IN_PLAY, Game, Progress, names_of, unless_numbers
from graphstore.solver.columns import NONE, Solution, States
from graphstore.store import digests, schema

if TYPE_CHECKING:
    from graphstore.solver.graph import GameGraph  # imports networkx

BUILT_WITH: Final = (
    f"graphstore {version('graphstore')}, Python {platform.python_version()}, "
    f"numpy {np.__version__}"
)
CHUNK = 50_000  # rows per chunk: bounds the memory
SORTED = 1 << 21  # edges sorted at once: bounds the memory

Column: TypeAlias = Any
"""The cells of a column: a numpy array, masked where NULL, or a list of texts."""

Chunk: TypeAlias = tuple[int, int, dict[str, Column]]
"""The rows done up to the end of this chunk, all rows, and the columns of the chunk by name."""


def state_parts(graph: "GameGraph", solution: Solution) -> Iterator[Chunk]:
    """Yield the states as chunks (see `Chunk`), by id."""
    total = len(graph.states.id)
    for begin in range(0, total, CHUNK):
        some = slice(begin, begin + CHUNK)
        states = graph.states.of(some)
        columns = state_columns(states, solution.of(some), graph.texts(states.id))
        yield min(begin + CHUNK, total), total, columns


def state_columns(states: States, solution: Solution, texts: list[str]) -> dict[str, Column]:
    """Return the columns of solved states; `texts` are their positions.

    A column of `schema.LATER` that the solution lacks is left out.
    """
    ended = (states.outcome != IN_PLAY).astype(np.int8)
    cells = {**states._asdict(), **solution._asdict(), "position": texts, "ended": ended}
    return {
        column.name: _masked(column, cells[column.name])
        for column in schema.STORED["state"]
        if cells[column.name] is not None
    }


def null_of(column: Any) -> int:
    """Return the integer that represents NULL in this column of the arrays of a graph."""
    if column.name in schema.LATER:
        return -(2**15)
    return 0 if column.name == "to_move" else NONE


def _masked(column: Any, cells: Any) -> Column:
    if not column.nullable or column.name in schema.LATER:
        return cells
    if cells.dtype.kind == "f":
        return np.ma.masked_invalid(cells)
    return np.ma.masked_equal(cells, null_of(column), copy=False)


def edge_parts(graph: "GameGraph") -> Iterator[Chunk]:
    """Yield the edges as chunks (see `Chunk`), by parent and move."""
    ids, edges = graph.states.id, graph.edges_by_move
    for begin, end, moves in edges.blocks(CHUNK // 4):
        if moves.start < moves.stop:
            parent, child = edges.parents(begin, end), edges.child[moves]
            columns = {"parent": ids[parent], "move": edges.move[moves], "child": ids[child]}
            yield moves.stop, len(edges.move), columns


def child_parts(graph: "GameGraph") -> Iterator[list[Any]]:
    """Yield chunks of the columns child, parent and move of the edges, in this order."""
    ids, edges = graph.states.id, graph.edges_by_move
    n, blocks = len(ids), len(edges.move) // SORTED + 1
    for block in range(blocks):
        low, high = n * block // blocks, n * (block + 1) // blocks
        pieces = []
        for begin, end, moves in edges.blocks():
            child = edges.child[moves]
            chosen = np.flatnonzero((child >= low) & (child < high))
            parent, move = edges.parents(begin, end)[chosen], edges.move[moves][chosen]
            pieces.append((parent, move, child[chosen]))
        parent, move, child = map(np.concatenate, zip(*pieces, strict=True))
        pieces.clear()  # frees their memory before the sort
        key = child.astype(np.int64) << 32 | np.arange(len(child))
        key.sort(kind="stable")  # one sort of integers that pack the child and the edge
        for begin in range(0, len(key), CHUNK):
            part = key[begin : begin + CHUNK]
            edge = part & 0xFFFFFFFF
            yield [ids[part >> 32], ids[parent[edge]], move[edge]]


class SolvedGraph:
    """The content of a database, from a solved graph; see `graphstore.building.saving.Content`."""

    def __init__(self, game: Game, graph: "GameGraph", extent: str = schema.WHOLE) -> None:
        self._game = game
        self._graph = graph
        self._extent = extent
        self._hashes = digests.ColumnDigests()
        self.states = len(graph.states.id)
        self.moves = graph.number_of_moves()
        self.names = unless_numbers(names_of(game, graph.edges_by_move.move))

    def rows(self, table: str) -> Iterator[Chunk]:
        """Yield the chunks of a table, state or edge, in key order; call it once per table."""
        state = table == "state"
        chunks = state_parts(self._graph, self._solution) if state else edge_parts(self._graph)
        for chunk in chunks:
            self._hashes.update_table(table, chunk[2])
            yield chunk

    def solve(self, progress: Progress) -> bool:
        """Solve the graph, unless it is solved; return whether it was not."""
        from graphstore.solver.solution import solve  # imports networkx

        if self._graph.solution is not None:
            return False
        solve(self._graph, progress=progress)
        return True

    def by_child(self) -> Iterator[list[Any]]:
        """Yield chunks of the columns child, parent and move, in this order."""
        return child_parts(self._graph)

    @property
    def _solution(self) -> Solution:
        assert self._graph.solution is not None
        return self._graph.solution

    def blocks(self, table: str) -> list[Iterator[Chunk]]:
        """Return the chunks of a table as a list of one stream."""
        return [self.rows(table)]

    def digests(self) -> dict[str, str]:
        """Return the digests of all columns, by name, after all rows were yielded."""
        return self._hashes.of_columns()

    def row(self) -> dict[str, Any]:
        """Return the row of the table game, without `built_at`."""
        graph, states = self._graph, self._graph.states
        starts = np.flatnonzero(states.ply == 0)
        first = self._solution.at(int(starts[0]))
        return {
            "id": 1,
            "name": self._game.name,
            "rules": self._game.rules,
            "extent": self._extent,
            "starts": len(starts),
            "states": self.states,
            "positions": graph.number_of_positions(),
            "moves": self.moves,
            "edges": graph.number_of_edges(),
            "plies": int(states.ply.max()),
            "cyclic": int(self._solution.cyclic and self._extent != schema.BOOK),
            "start": self._game.texts(states.id[starts[:1]])[0],
            "value": first["value"],
            "remoteness": first["remoteness"],
            "built_with": BUILT_WITH,
            "build_seconds": 0.0,
            "digest": digests.of_content(self.digests()),
        }
