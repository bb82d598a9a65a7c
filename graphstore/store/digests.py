"""Digests of columns: sums over the rows, which parts of a table can compute and add.

The hash of a cell has two lanes of 64 bits, unsigned, modulo 2**64. A lane mixes the key of the
row, then the words of the cell; the first of these is combined with a word of the column's name::

    mix(x):  x ^= x >> 32; x *= FIRST[lane]; x ^= x >> 32; x *= SECOND[lane]; x ^= x >> 32
    hash:    x = mix(key); words[0] ^= name; for each word: x = mix(x ^ word)

key: the id of a state; of an edge the parent * GOLDEN + the move; of a name the move.
words: an integer or boolean is one word; a real its bits as a float64; a text is its UTF-8, a byte
0xFF, and zeros, each eight bytes a word, little-endian. NULL is the smallest int64, among reals it
is NAN, as every NaN.
name: the BLAKE2b hash, of 8 bytes, little-endian, of the name of the column, as ``state.value``.

The digest is the sum of each lane over the rows, in 32 hexadecimal digits. So it depends neither on
the order of rows nor on parts, the machine or the database. It is made against accidents, not
against forgers, who can compute other cells with the same sum. NULL in a column of `LATER` adds
nothing; without other cells it has no digest, so that files without these columns have the same.

Digests of earlier versions have 64 digits: see `OrderedDigests`.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from typing import Any, Final, Protocol

import numpy as np

from graphstore.store.format import LATER

NULL = np.iinfo(np.int64).min
NAN: Final = 0x7FF8000000000000
GOLDEN: Final = 0x9E3779B97F4A7C15  # 2**64 over the golden ratio
FIRST: Final = (0xFF51AFD7ED558CCD, 0xBF58476D1CE4E5B9)
SECOND: Final = (0xC4CEB9FE1A85EC53, 0x94D049BB133111EB)
"""The multipliers of each lane: those of MurmurHash3, and those of SplitMix64."""

KEYS: Final = {"state": ("id",), "edge": ("parent", "move"), "move": ("move",)}
"""The key of each table with digests of columns."""

_ROWS: Final = 16_384  # rows hashed at once: their arrays fit into the cache of a processor
_HALF: Final = np.uint64(32)
_FIRST, _SECOND = (np.array(each, dtype=np.uint64)[:, None] for each in (FIRST, SECOND))
_UP_TO: Final = np.array([min(2 ** (8 * size + 8), 2**64) - 1 for size in range(9)], np.uint64)
"""The bits of a word that hold the last bytes of a text and the one after, by their number."""
_LATER: Final = [f"state.{name}" for name in LATER]


class Digests(Protocol):
    """Digests of columns, updated part by part."""

    def update_table(self, table: str, columns: Mapping[str, Any]) -> None:
        """Add rows: all columns by name, also those of the key.

        The cells are an array, masked where NULL, or a list of texts.
        """

    def of_columns(self) -> dict[str, str]:
        """Return the digest of every column in hexadecimal, by name."""


class ColumnDigests:
    """Digests of columns of rows in any order; see `Digests`."""

    def __init__(self) -> None:
        self._sums: dict[str, Sequence[int]] = {}

    def update_table(self, table: str, columns: Mapping[str, Any]) -> None:
        """See `Digests`."""
        # Slices of masked arrays are slow.
        plain = {name: (np.ma.getmask(each), _plain(each)) for name, each in columns.items()}
        for begin in range(0, len(columns[KEYS[table][0]]), _ROWS):
            some = slice(begin, begin + _ROWS)
            lanes = _of_keys([plain[name][1][some] for name in KEYS[table]])
            for name, (mask, cells) in plain.items():
                nulls = mask if mask is np.ma.nomask else mask[some]
                self.add(f"{table}.{name}", _sums(f"{table}.{name}", lanes, cells[some], nulls))

    def add(self, name: str, sums: Sequence[int]) -> None:
        """Add the sum of each lane over other rows of a column; none if it has no cells there."""
        if sums:
            pairs = zip(self._sums.get(name, (0, 0)), sums, strict=True)
            self._sums[name] = [sum(pair) % 2**64 for pair in pairs]

    def of_columns(self) -> dict[str, str]:
        """See `Digests`."""
        return {name: "{:016x}{:016x}".format(*self._sums[name]) for name in sorted(self._sums)}


def added(digests: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Return the digests of all rows, from those of parts that have no row in common.

    >>> added([{"edge.move": f"{1:032x}"}, {"edge.move": "f" * 32}])
    {'edge.move': 'ffffffffffffffff0000000000000000'}
    """
    total = ColumnDigests()
    for each in digests:
        for name, digest in each.items():
            total.add(name, (int(digest[:16], 16), int(digest[16:], 16)))
    return total.of_columns()


def _plain(cells: Any) -> Any:
    return cells if isinstance(cells, list) else np.ma.getdata(cells)


def _of_keys(keys: Sequence[Any]) -> Any:
    """Return the lanes of rows, by the columns of their key."""
    words = _of_numbers(keys[0])
    for cells in keys[1:]:
        words = words * np.uint64(GOLDEN) + _of_numbers(cells)
    return _mixed(np.zeros((2, 1), np.uint64), words)


def _sums(name: str, lanes: Any, cells: Any, nulls: Any) -> Sequence[int]:
    """Return the sum of each lane over the cells of a column; none if it has no cells."""
    if isinstance(cells, list):
        for at, (rows, words) in enumerate(_of_texts(cells)):
            if at == 0:
                words ^= _of_name(name)
            if len(words) == len(cells):
                lanes = _mixed(lanes, words)
            else:
                lanes[:, rows] = _mixed(lanes.take(rows, axis=1), words)
    else:
        words = _of_numbers(cells, nulls)
        if name in _LATER:
            filled = words != np.uint64(NULL % 2**64)
            if not filled.any():
                return ()
            lanes, words = lanes[:, filled], words[filled]
        words ^= _of_name(name)
        lanes = _mixed(lanes, words)
    lanes = lanes ^ lanes >> _HALF
    found: list[int] = lanes.sum(axis=1).tolist()
    return found


def _mixed(lanes: Any, words: Any) -> Any:
    """Return uint64[2, n]: lanes after another word, uint64[n], of each row.

    The last step of `mix` is left out, for it would undo the first one of the next word.
    """
    words = words ^ words >> _HALF
    lanes = lanes ^ words
    lanes *= _FIRST
    lanes ^= lanes >> _HALF
    lanes *= _SECOND
    return lanes


@cache
def _of_name(name: str) -> Any:
    return np.uint64(int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little"))


def _of_numbers(cells: Any, nulls: Any = np.ma.nomask) -> Any:
    """Return the words of integers, booleans or reals, NULL where `nulls` is True."""
    words: Any
    if cells.dtype.kind == "f":
        reals = cells.astype(np.float64)
        words = reals.view(np.uint64)
        words[np.isnan(reals) | nulls] = NAN
        return words
    integers = cells.astype(np.int64)
    if nulls is not np.ma.nomask:
        integers[nulls] = NULL
    return integers.view(np.uint64)


def _of_texts(texts: Sequence[str]) -> Iterator[tuple[Any, Any]]:
    """Yield the first words of texts, the second ones, and so on, with the rows that have them."""
    text = "\0".join([*texts, ""]).encode()
    joined = np.frombuffer(bytearray(text + bytes(8)), np.uint8)
    ends = np.flatnonzero(joined[:-8] == 0)
    if len(ends) > len(texts):  # there are zeros in texts
        ends = np.cumsum([len(each.encode()) + 1 for each in texts]) - 1
    joined[ends] = 0xFF
    begins = np.concatenate(([0], ends[:-1] + 1))
    sizes = ends - begins
    at_byte = np.ndarray(len(joined) - 7, "<u8", joined, strides=(1,))  # the word at every byte
    for at in range(0, int(sizes.max()) + 1, 8):
        rows = slice(None) if at <= sizes.min() else np.flatnonzero(sizes >= at)
        left = np.minimum(sizes[rows] - at, 8)
        yield rows, at_byte[begins[rows] + at].astype(np.uint64) & _UP_TO[left]


class OrderedDigests:
    """Digests of earlier versions: BLAKE2b, of 64 digits, of the cells in key order.

    Integers and booleans are hashed as int64, reals as float64, little-endian, texts as UTF-8 with
    a zero byte at the end; NULL as the smallest int64, or as NaN. See `Digests`.
    """

    def __init__(self) -> None:
        self._hashes: dict[str, Any] = {}

    def update_table(self, table: str, columns: Mapping[str, Any]) -> None:
        """See `Digests`; rows ascend by key."""
        for name, cells in columns.items() if len(columns[KEYS[table][0]]) else ():
            if isinstance(cells, list):
                found = "\0".join([*cells, ""]).encode()
            elif cells.dtype.kind == "f":
                found = np.ma.filled(cells, np.nan).astype("<f8").tobytes()
            else:
                integers = np.ma.filled(cells.astype("<i8"), NULL)
                if name in LATER and (integers == NULL).all():
                    continue
                found = integers.tobytes()
            self._hashes.setdefault(f"{table}.{name}", blake2b(digest_size=32)).update(found)

    def of_columns(self) -> dict[str, str]:
        """See `Digests`."""
        return {name: self._hashes[name].hexdigest() for name in sorted(self._hashes)}


def are_ordered(digests: Mapping[str, str]) -> bool:
    """Return whether stored digests are those of `OrderedDigests`."""
    return any(len(digests.get(name, "")) == 64 for name in ("state.id", "state.value"))


def of_content(columns: Mapping[str, str]) -> str:
    """Return one digest of the digests of all columns but nimber, which older files lack.

    It follows from the edges.
    """
    return of_json(sorted(pair for pair in columns.items() if pair[0] != "state.nimber"))


def of_row(table: str, row: Mapping[str, Any]) -> dict[str, str]:
    """Return the digest of each cell of the only row of a table, by name."""
    return {f"{table}.{name}": of_json(cell) for name, cell in row.items()}


def of_names(names: Mapping[int, str], *, ordered: bool = False) -> dict[str, str]:
    """Return the digests of the columns of `move`; empty if it has no rows, which ascend.

    `ordered` returns those of `OrderedDigests`.
    """
    hashes: Digests = OrderedDigests() if ordered else ColumnDigests()
    if names:
        hashes.update_table("move", {"move": np.array([*names]), "name": [*names.values()]})
    return hashes.of_columns()


def of_json(value: Any) -> str:
    """Return the digest of a value as JSON."""
    return blake2b(json.dumps(value).encode(), digest_size=32).hexdigest()
