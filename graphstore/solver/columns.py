"""The arrays of a graph and of its solution, a row a state or a move."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphstore.rules.game import DRAW, IN_PLAY, Codes, Ints
from graphstore.util.arrays import first_of_runs, ragged

Rows = NDArray[np.int32]
"""Positions of states in the sorted ids: int32, so at most 2**31 states."""


class States(NamedTuple):
    """The nodes of a graph, n states ascending by id."""

    id: Ints
    ply: NDArray[np.int32]  # the fewest moves from a start
    to_move: Codes  # 1 or 2; 0 where the rules do not tell
    outcome: Codes  # WIN, DRAW, LOSS for the player to move, or IN_PLAY
    orbit: Ints  # how many positions the state stands for

    def of(self, rows: Any) -> "States":
        """Return some of them."""
        return States._make(column[rows] for column in self)


class Edges(NamedTuple):
    """The moves of a graph, m of them, by parent, then by move."""

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
        return np.repeat(np.arange(len(self.offset) - 1, dtype=np.int32), self.counts)


class Backward(NamedTuple):
    """The edges of a graph by child, then by parent."""

    offset: Ints  # [n + 1]: the parents of the state in row r are offset[r]:offset[r + 1]
    parent: Rows  # [m], once for every move
    again: NDArray[np.bool_]  # [m], whether the same parent stands before it for this child

    @classmethod
    def of(cls, edges: Edges, children: int | None = None) -> "Backward":
        """Sort the edges by child; `children` is their number, where it is not the parents'."""
        key = edges.child.astype(np.int64)
        key <<= 32
        key |= edges.parent
        key.sort()  # one sort of integers that hold child and parent
        rows = len(edges.offset) - 1 if children is None else children
        offset = np.zeros(rows + 1, dtype=np.int64)
        np.cumsum(np.bincount(edges.child, minlength=rows), out=offset[1:])
        return cls(offset, key.astype(np.int32), ~first_of_runs(key))  # the low half: the parent

    def above(self, rows: NDArray[Any]) -> Ints:
        """Return the parents of states, once a move; int64, which numpy indexes fastest by."""
        return self.parent[ragged(self.offset, rows)].astype(np.int64)

    @property
    def distinct(self) -> int:
        """How many pairs of parent and child there are."""
        return len(self.again) - int(np.count_nonzero(self.again))


NONE = -1
"""In an int32 column of a `Solution`: there is no such number. Remoteness and depths are >= 0."""


class Solution(NamedTuple):
    """What every state is worth, n states in the order of the graph.

    The arrays are the columns of the table `state` that have their names, which
    `store.meanings` explains. A cell that is NULL there is `NONE` in an int32 array, and NaN
    in a float64 array.
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
        """Whether play can come back to a position."""
        return bool(np.isnan(self.random_value).any())

    def of(self, rows: Any) -> "Solution":
        """Return the columns of some states."""
        return Solution._make(column[rows] for column in self)

    def at(self, row: int) -> dict[str, Any]:
        """Return the columns of one state as Python values, None where there is no number."""
        numbers = {name: column[row].item() for name, column in self._asdict().items()}
        for name in ("remoteness", "win_depth", "lose_depth"):
            numbers[name] = None if numbers[name] == NONE else numbers[name]
        for name in ("random_value", "best_response"):
            numbers[name] = None if np.isnan(numbers[name]) else numbers[name]
        return numbers


class Worth(NamedTuple):
    """What parents need to know of n states, for the player to move."""

    value: Codes
    remoteness: NDArray[np.int32]
    random_value: NDArray[np.float64]
    chooser: NDArray[np.float64]  # expected by his best response to an opponent at random
    drifter: NDArray[np.float64]  # expected at random against the best response

    @classmethod
    def of_ended(cls, outcome: Codes) -> "Worth":
        """Return what ended states are worth; those in play are drawn, without numbers."""
        ended = outcome != IN_PLAY
        value = np.where(ended, outcome, DRAW).astype(np.int8)
        result = np.where(ended, outcome, np.nan)
        remoteness = np.where(ended, 0, NONE).astype(np.int32)
        return cls(value, remoteness, result, result.copy(), result.copy())

    def at(self, rows: NDArray[Any]) -> "Worth":
        """Return the worth of some states, in their order."""
        return Worth._make(column[rows] for column in self)

    def put(self, rows: NDArray[Any], worth: "Worth") -> None:
        """Note what some states are worth."""
        columns: Iterable[Any] = self
        for column, cells in zip(columns, worth, strict=True):
            column[rows] = cells
