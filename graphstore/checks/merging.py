"""Two sorted streams of rows, side by side: whole columns, a page at a time, matched by key."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from graphstore.rules.game import Ints
from graphstore.store.digests import NULL

PAGE: Final = 100_000  # rows of each stream that are held at once

Page: TypeAlias = dict[str, Any]
"""Columns by name: int64 or float64 arrays, texts as lists; sorted by the columns of the key."""

Pages: TypeAlias = Callable[[Sequence[int] | None], Page]
"""Returns the next `PAGE` rows after a key, fewer only at the end; after None the first ones."""


def in_step(first: Pages, second: Pages, key: Sequence[str]) -> Iterator[tuple[Page, Page]]:
    """Yield the rows of two sorted streams in pairs of pages that span the same keys."""
    streams = (first, second)
    pages = [read(None) for read in streams]
    ended = [len(page[key[0]]) < PAGE for page in pages]
    while any(len(page[key[0]]) for page in pages):
        # Of a stream that goes on, nothing beyond its page is known.
        lasts = [_last(page, key) for page, end in zip(pages, ended, strict=True) if not end]
        bound = min(lasts, default=None)
        cuts = [_up_to(page, key, bound) for page in pages]
        yield _slice(pages[0], 0, cuts[0]), _slice(pages[1], 0, cuts[1])
        for side, cut in enumerate(cuts):
            page = pages[side]
            pages[side] = _slice(page, cut, None)
            if cut == len(page[key[0]]) and not ended[side]:
                pages[side] = streams[side](_last(page, key))
                ended[side] = len(pages[side][key[0]]) < PAGE


def matched(one: Page, other: Page, key: Sequence[str]) -> tuple[Ints, Ints]:
    """Return the places of the rows that are in both pages, in the order of their keys."""
    if all(np.array_equal(one[name], other[name]) for name in key):
        places = np.arange(len(one[key[0]]))
        return places, places
    length = len(one[key[0]])
    rank = np.zeros(length + len(other[key[0]]), np.int64)
    for name in key:  # ranks among so few cells that those of several columns fit one integer
        distinct, places = np.unique(np.concatenate((one[name], other[name])), return_inverse=True)
        rank = rank * len(distinct) + places
    _, here, there = np.intersect1d(
        rank[:length], rank[length:], assume_unique=True, return_indices=True
    )
    return here, there


def unequal(one: Any, other: Any, here: Ints, there: Ints) -> NDArray[np.bool_]:
    """Return which of the matched cells differ."""
    if isinstance(one, list):
        if one == other and np.array_equal(here, there):
            return np.zeros(len(here), np.bool_)
        pairs = zip(here.tolist(), there.tolist(), strict=True)
        return np.fromiter((one[at] != other[beside] for at, beside in pairs), np.bool_, len(here))
    ours, theirs = one[here], other[there]
    unequal: NDArray[np.bool_] = ours != theirs
    if ours.dtype.kind == "f":  # NaN is NULL
        unequal &= ~(np.isnan(ours) & np.isnan(theirs))
    return unequal


def cell_at(cells: Any, row: int) -> Any:
    """Return a cell as Python has it."""
    if isinstance(cells, list):
        return cells[row]
    cell = cells[row].item()
    return None if cell == NULL or cell != cell else cell


def _last(page: Page, key: Sequence[str]) -> tuple[int, ...]:
    return tuple(int(page[name][-1]) for name in key)


def _up_to(page: Page, key: Sequence[str], bound: tuple[int, ...] | None) -> int:
    """Return how many rows have a key up to a bound; they come first."""
    length = len(page[key[0]])
    if bound is None:
        return length
    begin, end = 0, length
    for name, cell in zip(key, bound, strict=True):
        cells = page[name][begin:end]
        begin, end = (
            begin + int(np.searchsorted(cells, cell, side="left")),
            begin + int(np.searchsorted(cells, cell, side="right")),
        )
    return end


def _slice(page: Page, begin: int, end: int | None) -> Page:
    return {name: cells[begin:end] for name, cells in page.items()}
