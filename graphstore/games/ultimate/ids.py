"""The ids of positions of ultimate tic-tac-toe and of their images.

A *row* is a position: the numbers of its nine fields (`ultimate.fields`), and its state,
``result << 8 | active field << 1 | turn - 1``. Its id is the exclusive or of ten 63-bit keys. Nine
are the keys of the fields, ``place << 20 | code``, and one is that of the state without the result,
``9 << 20 | active field << 1 | turn - 1``. The key of a number is the output of splitmix64 for this
seed, without the lowest bit. So the ids of images and children are table look-ups, and they are
the same on every machine.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

from graphstore.games.ultimate.fields import ANY, SPOTS, SYMMETRIES, tables
from graphstore.games.ultimate.interning import Rows
from graphstore.rules.game import Ints

STATE = SPOTS  # the column of a row that holds the state
MIX = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


class Keys(NamedTuple):
    """The keys that make up ids, under all eight symmetries."""

    fields: Ints  # [9, c, 8]: by place and number of a field
    states: Ints  # [20, 8]: by active field << 1 | turn - 1


def image_ids(rows: Rows) -> Ints:
    """Return int64[n, 8]: the ids of all images, the identity's first."""
    keys = id_keys()
    ids: Ints = keys.states[rows[:, STATE] & 31]
    for field in range(SPOTS):
        ids ^= keys.fields[field].take(rows[:, field], axis=0)
    return ids


def image_rows(rows: Rows, which: Ints) -> Rows:
    """Return the image of every row; `which`, int64[n], is the symmetry of each."""
    permutation = np.array([(*each, ANY) for each in SYMMETRIES])
    images = np.empty_like(rows)
    fields = tables().images[which[:, np.newaxis], rows[:, :STATE]]
    np.put_along_axis(images, permutation[which, :STATE], fields, axis=1)
    state = rows[:, STATE]
    images[:, STATE] = state & ~np.uint16(30) | permutation[which, state >> 1 & 15] << 1
    return images


@cache
def id_keys() -> Keys:
    """Return the keys, 63 bits of splitmix64 (Steele, Lea, Flood 2014)."""
    known = tables()
    place = np.array(SYMMETRIES, dtype=np.int64)
    fields = np.empty((SPOTS, len(known.codes), len(place)), dtype=np.int64)
    for field in range(SPOTS):
        seeds = place[:, field, np.newaxis] << 20 | known.codes[known.images]
        fields[field] = _mixed(seeds).T
    active = np.concatenate([place, np.full((len(place), 1), ANY)], axis=1)
    seeds = SPOTS << 20 | active[:, :, np.newaxis] << 1 | np.arange(2)
    return Keys(fields, _mixed(seeds).reshape(len(place), -1).T.copy())


def _mixed(seeds: Ints) -> Ints:
    """Return the 63-bit keys of seeds, which are not negative."""
    increment, first, second = (np.uint64(number) for number in MIX)
    z = (seeds.astype(np.uint64) + np.uint64(1)) * increment
    z = (z ^ (z >> np.uint64(30))) * first
    z = (z ^ (z >> np.uint64(27))) * second
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(1)).astype(np.int64)
