"""The arrays of a graph and of its solution, with one row per state or per move."""

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphstore.rules.game import DRAW, IN_PLAY, Codes, Game, Ints, is_scored
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

    def blocks(self, rows: int = BLOCK) -> Iterator[tuple[int, int, slice]]:
        """Yield pieces of all rows, which bound the memory: begin, end, and their moves."""
        n = len(self.offset) - 1
        for begin in range(0, n, rows):
            end = min(begin + rows, n)
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
        key = np.sort(np.concatenate(found), kind="stable")
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
        key.sort(kind="stable")  # one sort of integers that pack child and parent
        rows = len(edges.offset) - 1 if children is None else children
        offset = np.zeros(rows + 1, dtype=np.int64)
        np.cumsum(np.bincount(edges.child, minlength=rows), out=offset[1:])
        return cls(offset, key.astype(np.int32), ~first_of_runs(key))  # the low half is the parent

    def above(self, rows: NDArray[Any]) -> Ints:
        """Return the parents of some states, one for each move, as int64, numpy's fastest index."""
        return self.parent[ragged(self.offset, rows)].astype(np.int64)


Shorts = NDArray[np.int16]
"""Margins or nimbers of states. A game has them for all states, or None in place of the array."""


def kept_turns(before: Codes, after: Codes) -> NDArray[np.bool_] | None:
    """Return bool[m]: True for a move that keeps the turn; None if none does.

    `before` and `after` are the players to move, 1 or 2; where they are 0, turns alternate.
    """
    kept = (before == after) & (before != 0)
    return kept if kept.any() else None


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
    margin: Shorts | None = None
    nimber: Shorts | None = None

    @property
    def cyclic(self) -> bool:
        """True if play can return to a position, or leads beyond a book."""
        return bool(np.isnan(self.random_value).any())

    @property
    def columns(self) -> dict[str, NDArray[Any]]:
        """The columns that the game has, by name."""
        return {name: each for name, each in self._asdict().items() if each is not None}

    def of(self, rows: Any) -> "Solution":
        """Return the columns of some states."""
        return Solution._make(None if column is None else column[rows] for column in self)

    def at(self, row: int) -> dict[str, Any]:
        """Return the columns of one state as Python values, with None for missing numbers."""
        numbers = {name: column[row].item() for name, column in self.columns.items()}
        for name in ("remoteness", "win_depth", "lose_depth"):
            numbers[name] = None if numbers[name] == NONE else numbers[name]
        for name in ("random_value", "best_response"):
            numbers[name] = None if np.isnan(numbers[name]) else numbers[name]
        return numbers


class Kind(NamedTuple):
    """The properties of a game on which the columns of its solution depend."""

    scored: bool = False  # there are margins
    impartial: bool = False  # there are nimbers
    extra_turns: bool = False  # a move may keep the turn


PLAIN: Final = Kind()


def kind_of(game: Game) -> Kind:
    """Return the kind of a game as far as it says so; its moves tell if there are extra turns."""
    built_in = type(game).__module__.startswith("graphstore.games.")
    return Kind(is_scored(game), built_in and getattr(game, "impartial", False))


PLY, OWN = 1 << 32, 1
"""The units of `Worth.remoteness` if a game has extra turns: a move adds `PLY`, one of the winner
also `OWN`. So fewer moves come first, then fewer moves of the winner."""


class Worth(NamedTuple):
    """The values of n states from which those of their parents follow, for the player to move."""

    value: Codes
    remoteness: NDArray[Any]  # int32; with extra turns int64, a sum of `PLY` and `OWN`
    random_value: NDArray[np.float64]
    chooser: NDArray[np.float64]  # mean result of his best response to a random opponent
    drifter: NDArray[np.float64]  # mean result of his random play against a best response
    margin: Shorts | None = None  # in games of scores
    nimber: Shorts | None = None  # in impartial games

    @classmethod
    def of_ended(
        cls, outcome: Codes, kind: "Kind" = PLAIN, margin: Shorts | None = None
    ) -> "Worth":
        """Return the worth of ended states; states in play are drawn until `put` sets them.

        `margin` is that of ended states, for a `kind` with scores.
        """
        ended = outcome != IN_PLAY
        value = np.where(ended, outcome, DRAW).astype(np.int8)
        result = np.where(ended, outcome, np.nan)
        remoteness = np.where(ended, 0, NONE).astype(np.int64 if kind.extra_turns else np.int32)
        zeros = np.zeros(len(outcome), dtype=np.int16)
        margin = (zeros if margin is None else margin).copy() if kind.scored else None
        nimber = zeros if kind.impartial else None  # who cannot move loses
        return cls(value, remoteness, result, result.copy(), result.copy(), margin, nimber)

    def at(self, rows: NDArray[Any]) -> "Worth":
        """Return the worth of some states, in their order."""
        return Worth._make(None if column is None else column[rows] for column in self)

    @classmethod
    def joined(cls, pieces: Iterable["Worth"]) -> "Worth":
        """Return the worth of the states of several pieces, one after the other."""
        columns = zip(*pieces, strict=True)
        return cls._make(None if each[0] is None else np.concatenate(each) for each in columns)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the columns that the game has, by name."""
        return {name: each for name, each in self._asdict().items() if each is not None}

    def turned(self, kept: NDArray[np.bool_]) -> "Worth":
        """Return the worth for the opponent where `kept`, bool[n]; else for the player to move.

        So children are all for the opponent of the player who made the move.
        """
        value, remoteness, random, chooser, drifter, margin, nimber = self
        return Worth(
            np.where(kept, -value, value),
            remoteness,
            np.where(kept, 0.0 - random, random),
            np.where(kept, 0.0 - drifter, chooser),
            np.where(kept, 0.0 - chooser, drifter),
            None if margin is None else np.where(kept, -margin, margin),
            nimber,
        )

    def put(self, rows: NDArray[Any], worth: "Worth") -> None:
        """Set the worth of some states."""
        columns: Iterable[Any] = self
        for column, cells in zip(columns, worth, strict=True):
            if column is not None:
                column[rows] = cells
