"""The arrays of a graph and of its solution, with one row per state or per move."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphstore.rules.game import DRAW, IN_PLAY, Codes, Ints
from graphstore.util.arrays import first_of_runs, ragged

BLOCK = 1 << 17  # states whose moves are processed at once: bounds the memory

Rows = NDArray[np.int32]
"""Rows of states, which are indices into the sorted ids: int32, so at most 2**31 states."""


class States(NamedTuple):
    """The nodes of a graph, n states ascending by id."""

    id: Ints
    ply: NDArray[np.int32]  # the fewest moves from a start
    to_move: Codes  # 1 or 2; 0 where the rules do not say
    outcome: Codes  # WIN, DRAW, LOSS for the player to move, or IN_PLAY
    orbit: Ints  # the number of positions in the symmetry class

    def of(self, rows: Any) -> "States":
        """Return the columns of some states."""
        return States._make(column[rows] for column in self)


class Edges(NamedTuple):
    """The m moves of a graph, ordered by parent, then by move."""

    offset: Ints  # [n + 1]: the moves of the state in row r are offset[r]:offset[r + 1]
    move: NDArray[np.int32]  # [m]
    child: Rows  # [m]

    @property
    def counts(self) -> Ints:
        """The number of moves of every state, int64[n]."""
        return np.diff(self.offset)

    @property
    def parent(self) -> Rows:
        """The row of every move's parent, int32[m]."""
        return self.parents(0, len(self.offset) - 1)

    def parents(self, begin: int, end: int) -> Rows:
        """Return the row of the parent of every move of the states in some rows."""
        counts = np.diff(self.offset[begin : end + 1])
        return np.repeat(np.arange(begin, end, dtype=np.int32), counts)

    def blocks(self) -> Iterator[tuple[int, int, slice]]:
        """Yield pieces of all rows, which bound the memory: begin, end, and their moves."""
        n = len(self.offset) - 1
        for begin in range(0, n, BLOCK):
            end = min(begin + BLOCK, n)
            yield begin, end, slice(int(self.offset[begin]), int(self.offset[end]))

    def repeated(self) -> tuple[Rows, Rows]:
        """Return the parent and child of each move to the child of an earlier move of its parent.

        They are ordered by parent, then by child.
        """
        found = [np.empty(0, dtype=np.int64)]
        for begin, end, _ in self.blocks():
            first, counts = self.offset[begin:end], np.diff(self.offset[begin : end + 1])
            for count in np.flatnonzero(np.bincount(counts)[2:]) + 2:
                rows = np.flatnonzero(counts == count)
                child = self.child[first[rows, None] + np.arange(count)]
                child.sort(axis=1)  # many short sorts are faster than one
                row, again = np.nonzero(child[:, 1:] == child[:, :-1])
                found.append((begin + rows[row]) << 32 | child[row, again])
        key = np.sort(np.concatenate(found))
        return (key >> 32).astype(np.int32), key.astype(np.int32)


class Backward(NamedTuple):
    """The m moves of a graph, ordered by child, then by parent."""

    offset: Ints  # [n + 1]: the parents of the state in row r are offset[r]:offset[r + 1]
    parent: Rows  # [m], one for each move
    again: NDArray[np.bool_]  # [m], True if the previous entry is the same parent and child

    @classmethod
    def of(cls, edges: Edges, children: int | None = None) -> "Backward":
        """Return the edges sorted by child; `children` is the number of children.

        By default, the children are the same states as the parents.
        """
        key = edges.child.astype(np.int64)
        key <<= 32
        key |= edges.parent
        key.sort()  # one sort of integers that pack child and parent
        rows = len(edges.offset) - 1 if children is None else children
        offset = np.zeros(rows + 1, dtype=np.int64)
        np.cumsum(np.bincount(edges.child, minlength=rows), out=offset[1:])
        return cls(offset, key.astype(np.int32), ~first_of_runs(key))  # the low half is the parent

    def above(self, rows: NDArray[Any]) -> Ints:
        """Return the parents of some states, one for each move, as int64, numpy's fastest index."""
        return self.parent[ragged(self.offset, rows)].astype(np.int64)


NONE = -1
"""The missing value of int32 columns of a `Solution`; remoteness and depths are >= 0."""


class Solution(NamedTuple):
    """The solved columns of n states, in the order of the graph.

    The arrays are the columns of the same names in the table `state`; `store.meanings` explains
    them. NULL in the table is `NONE` in an int32 array, and NaN in a float64 array.
    """

    value: Codes
    remoteness: NDArray[np.int32]
    score: NDArray[np.float64]
    win_depth: NDArray[np.int32]
    lose_depth: NDArray[np.int32]
    random_value: NDArray[np.float64]
    best_response: NDArray[np.float64]

    @property
    def cyclic(self) -> bool:
        """True if play can return to a position."""
        return bool(np.isnan(self.random_value).any())

    def of(self, rows: Any) -> "Solution":
        """Return the columns of some states."""
        return Solution._make(column[rows] for column in self)

    def at(self, row: int) -> dict[str, Any]:
        """Return the columns of one state as Python values, with None for missing numbers."""
        numbers = {name: column[row].item() for name, column in self._asdict().items()}
        for name in ("remoteness", "win_depth", "lose_depth"):
            numbers[name] = None if numbers[name] == NONE else numbers[name]
        for name in ("random_value", "best_response"):
            numbers[name] = None if np.isnan(numbers[name]) else numbers[name]
        return numbers


class Worth(NamedTuple):
    """The values of n states from which those of their parents follow, for the player to move."""

    value: Codes
    remoteness: NDArray[np.int32]
    random_value: NDArray[np.float64]
    chooser: NDArray[np.float64]  # mean result of his best response to a random opponent
    drifter: NDArray[np.float64]  # mean result of his random play against a best response

    @classmethod
    def of_ended(cls, outcome: Codes) -> "Worth":
        """Return the worth of ended states; states in play are drawn until `put` sets them."""
        ended = outcome != IN_PLAY
        value = np.where(ended, outcome, DRAW).astype(np.int8)
        result = np.where(ended, outcome, np.nan)
        remoteness = np.where(ended, 0, NONE).astype(np.int32)
        return cls(value, remoteness, result, result.copy(), result.copy())

    def at(self, rows: NDArray[Any]) -> "Worth":
        """Return the worth of some states, in their order."""
        return Worth._make(column[rows] for column in self)

    def put(self, rows: NDArray[Any], worth: "Worth") -> None:
        """Set the worth of some states."""
        columns: Iterable[Any] = self
        for column, cells in zip(columns, worth, strict=True):
            column[rows] = cells
