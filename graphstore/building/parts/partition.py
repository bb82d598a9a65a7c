"""The part of a state: its id is hashed to one of `BUCKETS`, and a part is a range of buckets.

The number of parts, at most `BUCKETS`, may differ between waves. A block lists its children in the
order of the buckets, so that each part of the next wave reads one slice of the list.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphstore.rules.game import Ints
from graphstore.store.folder.layout import BUCKETS as BUCKETS  # exported for other modules
from graphstore.store.folder.layout import buckets
from graphstore.util.arrays import numbered, offsets


def span(part: int, parts: int) -> tuple[int, int]:
    """Return the first bucket of a part and the end of its range.

    >>> span(0, 3), span(1, 3), span(2, 3)
    ((0, 1366), (1366, 2731), (2731, 4096))
    """
    return -(-part * BUCKETS // parts), -(-(part + 1) * BUCKETS // parts)


def rows_of(ids: Ints, part: int, parts: int) -> NDArray[np.int64]:
    """Return the indices of the ids that belong to a part."""
    first, end = span(part, parts)
    of = buckets(ids)
    return np.flatnonzero((of >= first) & (of < end))


def overlapping(part: int, parts: int, others: int) -> range:
    """Return which of `others` parts share buckets with part number `part` of `parts`.

    >>> overlapping(1, 4, 2), overlapping(0, 2, 4), overlapping(1, 3, 2)
    (range(0, 1), range(0, 2), range(0, 2))
    """
    first, end = span(part, parts)
    return range(first * others // BUCKETS, (end - 1) * others // BUCKETS + 1)


def apart(
    children: Ints, into: NDArray[np.int32], keeps: NDArray[Any] | None
) -> tuple[Ints, NDArray[np.int32], NDArray[np.bool_]]:
    """Return children so that each has only moves that keep the turn, or only others.

    `into` is the child of each move, and `keeps` is True where it keeps the turn. Return the
    children, the child of each move, and bool[k]: True for a child of moves that keep the turn.
    """
    n = len(children)
    if keeps is None:
        return children, into, np.zeros(n, dtype=np.bool_)
    both, into = numbered(into + n * keeps.astype(np.int64))
    return children[both % n], into, both >= n


def by_bucket(ids: Ints) -> tuple[Ints, NDArray[np.int32], Ints]:
    """Sort ids by bucket; in a bucket they keep their order.

    Return the sorted ids, the new index of each id, and where each bucket begins.
    """
    of = buckets(ids)
    order = np.argsort(of, kind="stable")
    place = np.empty(len(ids), dtype=np.int32)
    place[order] = np.arange(len(ids), dtype=np.int32)
    return ids[order], place, offsets(np.bincount(of, minlength=BUCKETS))
