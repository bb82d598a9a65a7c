"""A hash table on numpy arrays: rows of 16-bit numbers by 63-bit id.

The ids are hashes, so their lowest bits are the slot. The highest bits would not do: an id is the
smallest of eight images, so few of them are set.
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
    """A thread-safe table of rows, uint16[width], by 63-bit id; `width` is even."""

    def __init__(self, *, width: int, game: str) -> None:
        self._game = game
        self._lock = Lock()
        self._count = 0
        self._kept = _vacant(SMALLEST, width)

    def add(self, ids: Ints, rows: Rows) -> None:
        with self._lock:
            self._make_room(len(ids))
            keys, kept = self._kept
            slots, fresh = _claim(keys, ids)
            kept[slots[fresh]] = rows[fresh]
            self._count += int(np.count_nonzero(fresh))  # counts a repeated new id twice: harmless
            pairs = np.ascontiguousarray(rows).view(np.uint32)  # compares two numbers at a time
            wrong = (kept.take(slots, axis=0).view(np.uint32) != pairs).any(axis=1)
        if wrong.any():
            raise RulesError(
                f"{self._game}: two positions share the id {ids[wrong.argmax()]}; "
                "a graph with both cannot be stored"
            )

    def rows(self, ids: Ints) -> Rows:
        """Return uint16[n, width]: the row of every id."""
        keys, kept = self._kept  # one read: another thread may replace both
        mask = len(keys) - 1
        slots = ids & mask
        pending = np.flatnonzero(keys.take(slots) != ids)
        while pending.size:
            slots[pending] = (slots[pending] + 1) & mask
            found = keys[slots[pending]]
            missing = found == VACANT
            if missing.any():
                raise PositionError(
                    f"{self._game} has not seen a position with the id "
                    f"{ids[pending[missing.argmax()]]}; read its text first"
                )
            pending = pending[found != ids[pending]]
        return kept.take(slots, axis=0)

    def _make_room(self, more: int) -> None:
        """Enlarge the table until at most half of its slots are taken."""
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
    """Return the slot of every id, and True where it was vacant; write the ids into `keys`."""
    mask = len(keys) - 1
    slots = ids & mask
    fresh = np.zeros(len(ids), dtype=np.bool_)
    pending = np.arange(len(ids))
    while pending.size:
        at, mine = slots[pending], ids[pending]
        vacant = keys[at] == VACANT
        keys[at[vacant]] = mine[vacant]  # if several ids claim a slot, one gets it
        got = keys[at] == mine
        fresh[pending[got & vacant]] = True
        pending = pending[~got]
        slots[pending] = (slots[pending] + 1) & mask
    return slots, fresh
