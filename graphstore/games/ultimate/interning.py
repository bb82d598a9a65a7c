"""Positions that do not fit 63 bits, kept under ids that do: a hash table on numpy arrays.

The ids are hashes, so their lowest bits say where to look (not the highest: the smallest of eight
images has few of those set).
"""

from threading import Lock

import numpy as np
from numpy.typing import NDArray

from graphstore.errors import PositionError, RulesError
from graphstore.rules.game import Ints

Rows = NDArray[np.uint16]
VACANT = -1
SMALLEST = 1 << 12  # slots


class Interned:
    """Rows of `width` (an even number) of 16 bits under 63-bit ids; several threads may use it."""

    def __init__(self, *, width: int, game: str) -> None:
        self._game = game
        self._lock = Lock()
        self._count = 0
        self._kept = _vacant(SMALLEST, width)

    def __len__(self) -> int:
        return self._count

    def add(self, ids: Ints, rows: Rows) -> None:
        with self._lock:
            self._make_room(len(ids))
            keys, kept = self._kept
            slots, fresh = _claim(keys, ids)
            kept[slots[fresh]] = rows[fresh]
            self._count += int(np.count_nonzero(fresh))  # twice where an id is new twice: no harm
            pairs = np.ascontiguousarray(rows).view(np.uint32)  # two at a time is quicker
            wrong = (kept.take(slots, axis=0).view(np.uint32) != pairs).any(axis=1)
        if wrong.any():
            raise RulesError(
                f"{self._game}: two positions share the id {ids[wrong.argmax()]}; "
                "a graph that holds both cannot be stored"
            )

    def rows(self, ids: Ints) -> Rows:
        """Return uint16[n, width]: the row of every id."""
        keys, kept = self._kept  # both of one size, even if another thread makes room meanwhile
        mask = len(keys) - 1
        slots = ids & mask
        pending = np.flatnonzero(keys.take(slots) != ids)
        while pending.size:
            slots[pending] = (slots[pending] + 1) & mask
            found = keys[slots[pending]]
            missing = found == VACANT
            if missing.any():
                raise PositionError(
                    f"{self._game} has met no position with the id "
                    f"{ids[pending[missing.argmax()]]}; read its text first"
                )
            pending = pending[found != ids[pending]]
        return kept.take(slots, axis=0)

    def _make_room(self, more: int) -> None:
        """Let at most half of the slots be taken."""
        keys, kept = self._kept
        size = len(keys)
        while 2 * (self._count + more) > size:
            size *= 2
        if size == len(keys):
            return
        taken = np.flatnonzero(keys != VACANT)
        self._count = len(taken)
        larger = _vacant(size, kept.shape[1])
        slots, _ = _claim(larger[0], keys[taken])
        larger[1][slots] = kept[taken]
        self._kept = larger


def _vacant(size: int, width: int) -> tuple[Ints, Rows]:
    return np.full(size, VACANT, dtype=np.int64), np.zeros((size, width), dtype=np.uint16)


def _claim(keys: Ints, ids: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    """Return the slot of every id, and whether it was vacant; it is the id's from now on."""
    mask = len(keys) - 1
    slots = ids & mask
    fresh = np.zeros(len(ids), dtype=np.bool_)
    pending = np.arange(len(ids))
    while pending.size:
        at, mine = slots[pending], ids[pending]
        vacant = keys[at] == VACANT
        keys[at[vacant]] = mine[vacant]  # where several want a slot, one of them gets it
        got = keys[at] == mine
        fresh[pending[got & vacant]] = True
        pending = pending[~got]
        slots[pending] = (slots[pending] + 1) & mask
    return slots, fresh
