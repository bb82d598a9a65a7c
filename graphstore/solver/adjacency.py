"""The distinct edges of a directed graph as arrays, and walks over them wave by wave."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphstore.solver.columns import Backward, Edges, Rows
from graphstore.util.arrays import distinct, first_of_runs, offsets, ragged

NARROW: Final = 20
"""A wave of fewer rows is faster in Python: numpy takes 20 us a wave, Python 1 us a row."""


class Links(NamedTuple):
    """The e distinct edges of n nodes, in one direction."""

    offset: NDArray[np.int64]  # [n + 1]: the neighbours of row r are to[offset[r]:offset[r + 1]]
    to: Rows  # [e]

    @property
    def degrees(self) -> NDArray[np.int64]:
        """The number of neighbours of every row, int64[n]."""
        return np.diff(self.offset)

    @property
    def rows(self) -> Rows:
        """The row that every edge belongs to, int32[e]."""
        return np.repeat(np.arange(len(self.offset) - 1, dtype=np.int32), self.degrees)

    def of(self, rows: NDArray[Any]) -> Rows:
        """Return the neighbours of some rows, in their order."""
        return self.to[ragged(self.offset, rows)]

    def waves(self, front: Any, waiting: NDArray[Any], *, last: bool) -> Iterator[NDArray[Any]]:
        """Yield `front`, then wave by wave the rows whose last awaited edge has come.

        `waiting`, integers[n], is changed: the number of edges that a row waits for after the next
        one; -1 in `front`. The rows of a wave are ordered by the edge that ended their wait: the
        last one to the row if `last` (networkx's topological generations), else the first one (its
        breadth-first search, where all rows wait for one edge).
        """
        place = None  # of a row in a wave
        one = np.ones(1, dtype=waiting.dtype)  # numpy is fast if the types are equal
        offset, to, left = self.offset.data, self.to.data, waiting.data
        while len(front):
            yield front
            if len(front) < NARROW:
                found = []
                for row in front.tolist():
                    for child in to[offset[row] : offset[row + 1]]:
                        if left[child] >= 0:
                            left[child] -= 1
                            if left[child] < 0:
                                found.append(child)
                front = np.array(found, dtype=np.int64)
                continue
            front = self.of(front).astype(np.int64)
            front = front[waiting[front] >= 0]
            if last:
                np.subtract.at(waiting, front, one)
                front = front[waiting[front] < 0]
            index = np.arange(len(front))
            if place is None:
                place = np.empty(len(waiting), dtype=np.int64)
            if last:
                place[front] = index  # numpy keeps the last of equal indices
            else:
                place[front[::-1]] = index[::-1]
                waiting[front] = -1
            front = front[place[front] == index]

    def reached(self, sources: Sequence[int]) -> Iterator[NDArray[Any]]:
        """Yield the rows at distance 0, 1, 2, ... of the sources, as networkx orders them."""
        front = np.array(sources, dtype=np.int64)
        waiting = np.zeros(len(self.offset) - 1, dtype=np.int8)
        waiting[front] = -1
        return self.waves(front, waiting, last=False)


@dataclass(eq=False)
class Arrays:
    """A directed graph of n nodes, as an algorithm on arrays reads it."""

    labels: NDArray[Any]  # [n] of int64 or object: the node of every row
    row: Callable[[Any], int]  # returns the row of a node, or raises a KeyError or TypeError
    children: Links  # the edges, as networkx orders them
    parents: Links  # the edges backwards, likewise

    def __len__(self) -> int:
        return len(self.labels)

    @classmethod
    def of_mappings(cls, succ: Any, pred: Any) -> "Arrays":
        """Return the arrays of the adjacency of any networkx.DiGraph."""
        labels = np.empty(len(succ), dtype=object)
        labels[:] = nodes = list(succ)
        rows = dict(zip(nodes, range(len(nodes)), strict=True))

        def links(near: Any) -> Links:
            to = [rows[node] for edges in near.values() for node in edges]
            return Links(
                offsets(np.array([*map(len, near.values())])), np.array(to, dtype=np.int32)
            )

        return cls(
            labels, rows.__getitem__, links(succ), links({node: pred[node] for node in nodes})
        )

    def nodes(self, rows: Any = slice(None)) -> list[Any]:
        """Return the nodes of some rows, or all."""
        found: list[Any] = self.labels[rows].tolist()
        return found

    @cached_property
    def generations(self) -> list[NDArray[Any]]:
        """The rows by topological generation; rows on a cycle, and below one, are missing."""
        waiting = self.parents.degrees.astype(np.int32) - np.int32(1)
        return [*self.children.waves(np.flatnonzero(waiting < 0), waiting, last=True)]

    @cached_property
    def acyclic(self) -> bool:
        """True if the graph has no cycle."""
        return sum(map(len, self.generations)) == len(self)

    @cached_property
    def generation(self) -> NDArray[np.int32]:
        """The generation of every row of an acyclic graph: the longest way to it, int32[n]."""
        found = np.empty(len(self), dtype=np.int32)
        for number, rows in enumerate(self.generations):
            found[rows] = number
        return found


class Children(NamedTuple):
    """The distinct edges ordered by parent, then first move; and the moves of each."""

    links: Links
    first: NDArray[np.int64]  # [e]: the first move of every edge, as an index of all moves
    more: NDArray[np.int64]  # the other moves, ascending
    edge: NDArray[np.int64]  # the edge of each of these

    @classmethod
    def of(cls, edges: Edges, backward: Backward) -> "Children":
        """Return the distinct edges of all moves, which `backward` has ordered by child."""
        parents = distinct(backward.parent[backward.again])  # with several moves to one child
        moves = ragged(edges.offset, parents)
        key = np.repeat(parents, edges.counts[parents]).astype(np.int64) << 32 | edges.child[moves]
        order = np.argsort(key, kind="stable")
        first = first_of_runs(key[order])
        moves = moves[order]
        kept = np.ones(len(edges.child), dtype=np.bool_)
        kept[moves] = first
        begin = np.cumsum(kept)[moves[first]] - 1  # the edge of each run of moves
        edge = begin[np.cumsum(first) - 1][~first]
        more = np.argsort(moves[~first])
        links = Links(_fewer(edges.offset, kept), edges.child[kept])
        return cls(links, np.flatnonzero(kept), moves[~first][more], edge[more])


def distinct_parents(backward: Backward) -> Links:
    """Return the distinct edges ordered by child, then parent."""
    kept = ~backward.again
    return Links(_fewer(backward.offset, kept), backward.parent[kept])


def _fewer(offset: NDArray[np.int64], kept: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the offsets of runs of which only some entries are kept."""
    return offsets(kept)[offset]
