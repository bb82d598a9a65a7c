"""BLAKE2b digests of columns, over their cells in key order.

Integers and booleans are hashed as little-endian int64, reals as little-endian float64, texts as
UTF-8 with a zero byte at the end; NULL as the smallest int64, or as NaN. So a digest does not
depend on the machine, the database or the size of the parts. Columns of `LATER` without
cells have no digest, so that files without these columns have the same.
"""

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import numpy as np

from graphstore.store.format import LATER

NULL = np.iinfo(np.int64).min


_LATER = [f"state.{name}" for name in LATER]


class ColumnDigests:
    """Digests of named columns, updated part by part."""

    def __init__(self) -> None:
        self._hashes: dict[str, Any] = {}

    def update(self, name: str, cells: Any) -> None:
        """Hash the next cells of a column such as ``state.value``.

        The cells are an array, masked where NULL, or a list of texts.
        """
        if name in _LATER and _are_null(cells):
            return
        known = self._hashes.setdefault(name, blake2b(digest_size=32))
        if isinstance(cells, list):
            known.update("\0".join([*cells, ""]).encode())
        elif np.issubdtype(cells.dtype, np.floating):
            known.update(np.ma.filled(cells, np.nan).astype("<f8").tobytes())
        else:
            known.update(np.ma.filled(cells.astype("<i8"), NULL).tobytes())

    def update_table(self, table: str, columns: Mapping[str, Any]) -> None:
        """Hash the next cells of several columns of a table, by their names in it."""
        for name, cells in columns.items():
            self.update(f"{table}.{name}", cells)

    def of_columns(self) -> dict[str, str]:
        """Return the digest of every column in hexadecimal, by name."""
        return {name: self._hashes[name].hexdigest() for name in sorted(self._hashes)}


def _are_null(cells: Any) -> bool:
    return bool(np.ma.getmaskarray(cells).all() or (np.ma.getdata(cells) == NULL).all())


def of_content(columns: Mapping[str, str]) -> str:
    """Return one digest of the digests of all columns but nimber, which older files lack.

    It follows from the edges.
    """
    return of_json(sorted(pair for pair in columns.items() if pair[0] != "state.nimber"))


def of_row(table: str, row: Mapping[str, Any]) -> dict[str, str]:
    """Return the digest of each cell of the only row of a table, by name."""
    return {f"{table}.{name}": of_json(cell) for name, cell in row.items()}


def of_names(names: Mapping[int, str]) -> dict[str, str]:
    """Return the digests of the columns of `move`; empty if it has no rows, which ascend."""
    hashes = ColumnDigests()
    if names:
        hashes.update_table("move", {"move": np.array([*names]), "name": [*names.values()]})
    return hashes.of_columns()


def of_json(value: Any) -> str:
    """Return the digest of a value as JSON."""
    return blake2b(json.dumps(value).encode(), digest_size=32).hexdigest()
