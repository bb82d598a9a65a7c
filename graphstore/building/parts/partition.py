"""Which part a state belongs to: its hashed id falls into one of `BUCKETS`, and parts have ranges.

A wave may have any number of parts up to that, whatever those before and after it have: what one
part asks of the next wave lies in the order of the buckets, of which each part takes a slice.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from graphstore.rules.game import Ints
from graphstore.util.arrays import offsets

_BITS: Final = 12
BUCKETS: Final = 1 << _BITS
"""How many parts there can be at most."""


def buckets(ids: Ints) -> NDArray[np.uint16]:
    """Return the bucket of each id, uint16[n] below `BUCKETS`.

    Two rounds of multiplication by odd numbers, of which the high bits depend on all bits.

    >>> counts = np.bincount(buckets(np.arange(1 << 20)), minlength=BUCKETS)
    >>> bool(counts.min() > 150), bool(counts.max() < 370)
    (True, True)
    """
    mixed = ids.astype(np.uint64)
    mixed *= np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio
    mixed ^= mixed >> np.uint64(32)
    mixed *= np.uint64(0xD6E8FEB86659FD93)  # odd, and of as many one-bits as zero-bits
    return (mixed >> np.uint64(64 - _BITS)).astype(np.uint16)


def span(part: int, parts: int) -> tuple[int, int]:
    """Return the first bucket of a part, and that after its last.

    >>> span(0, 3), span(1, 3), span(2, 3)
    ((0, 1366), (1366, 2731), (2731, 4096))
    """
    return -(-part * BUCKETS // parts), -(-(part + 1) * BUCKETS // parts)


def rows_of(ids: Ints, part: int, parts: int) -> NDArray[np.int64]:
    """Return which of some ids belong to a part."""
    first, end = span(part, parts)
    of = buckets(ids)
    return np.flatnonzero((of >= first) & (of < end))


def meeting(part: int, parts: int, others: int) -> range:
    """Return which of so many other parts have ids that a part can have.

    >>> meeting(1, 4, 2), meeting(0, 2, 4), meeting(1, 3, 2)
    (range(0, 1), range(0, 2), range(0, 2))
    """
    first, end = span(part, parts)
    return range(first * others // BUCKETS, (end - 1) * others // BUCKETS + 1)


def in_order(ids: Ints) -> tuple[Ints, NDArray[np.int32], Ints]:
    """Return ids, which ascend, by bucket, then by id; where each went; where the buckets begin."""
    of = buckets(ids)
    order = np.argsort(of, kind="stable")
    place = np.empty(len(ids), dtype=np.int32)
    place[order] = np.arange(len(ids), dtype=np.int32)
    return ids[order], place, offsets(np.bincount(of, minlength=BUCKETS))
