"""What differs between two databases: cells, rows that are in one only, and how many."""

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from graphstore.checks.merging import Page, cell_at, matched, unequal


class Difference(NamedTuple):
    """A cell that is another one in the other database, or a row that is in one of them only.

    Attributes:
        table: where.
        key: the cells of its key, by column.
        position: of a state, the text.
        column: the column; None if the row is in one of them only.
        first: the cell in the first database, or the row by column; None if it is not there.
        second: the same in the second.
    """

    table: str
    key: dict[str, Any]
    position: str | None
    column: str | None
    first: Any
    second: Any

    def __str__(self) -> str:
        key = [
            str(cell) if name in ("id", "name") else f"{name} {cell}"
            for name, cell in self.key.items()
        ]
        words = [self.table, ", ".join(key)]
        words += [] if self.position is None else [self.position]
        if self.column is None:
            what = f"only in the {'first' if self.second is None else 'second'}"
        else:
            first, second = (
                "NULL" if cell is None else str(cell) for cell in (self.first, self.second)
            )
            what = f"{self.column} {first}, in the second {second}"
        return " ".join(f"{' '.join(filter(None, words))}: {what}".splitlines())


class Counts(NamedTuple):
    """How much of a table differs.

    Attributes:
        only_first: rows that are in the first database only.
        only_second: rows that are in the second only.
        differ: rows that are in both, with other cells.
        cells: how many cells of a column differ, for those columns that do.
    """

    only_first: int
    only_second: int
    differ: int
    cells: dict[str, int]

    @property
    def rows(self) -> int:
        """How many rows are not the same in both."""
        return self.only_first + self.only_second + self.differ


class Comparison(NamedTuple):
    """What `compare` found.

    Attributes:
        names: the name and the rules of each game.
        digests: columns of `state` and `edge` whose digests, as they are stored, differ; or, if
            there is none, `game.digest`, if that differs, which is made of them.
        read: the tables that were compared row by row.
        tables: by name, those that differ.
        differences: the first ones.
        more: how many more there are.
    """

    names: tuple[str, str]
    digests: tuple[str, ...]
    read: tuple[str, ...]
    tables: dict[str, Counts]
    differences: tuple[Difference, ...]
    more: int

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return not self.tables

    @property
    def digests_tell(self) -> bool:
        """Whether the digests say of `state` and `edge` what the rows do, as far as read."""
        return all(
            (table in self.tables) == any(name.startswith(f"{table}.") for name in self.digests)
            for table in ("state", "edge")
        ) and ("game.digest" not in self.digests or bool(self.tables))


class Found:
    """The differences that were found so far: the first ones, and the numbers of all."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._listed: list[Difference] = []
        self._all = 0
        self._rows: dict[str, list[int]] = {}
        self._cells: dict[str, dict[str, int]] = {}

    def count(self, table: str, only_first: int, only_second: int, differ: int) -> None:
        """Count rows."""
        if only_first or only_second or differ:
            rows = self._rows.setdefault(table, [0, 0, 0])
            for place, number in enumerate((only_first, only_second, differ)):
                rows[place] += number
            self._all += only_first + only_second

    def count_cells(self, table: str, column: str, number: int) -> None:
        """Count cells of a column."""
        cells = self._cells.setdefault(table, {})
        cells[column] = cells.get(column, 0) + number
        self._all += number

    @property
    def room(self) -> int:
        """How many more differences will be listed."""
        return self._most - len(self._listed)

    def list(self, difference: Difference) -> None:
        """List a difference, if there is room."""
        if self.room > 0:
            self._listed.append(difference)

    def rows(
        self,
        table: str,
        first: Sequence[dict[str, Any]],
        second: Sequence[dict[str, Any]],
        key: Sequence[str],
    ) -> None:
        """Compare rows that are so few that they are dicts."""

        def by_key(rows: Sequence[dict[str, Any]]) -> dict[tuple[Any, ...], dict[str, Any]]:
            return {tuple(row[name] for name in key): row for row in rows}

        ours, theirs = by_key(first), by_key(second)
        for cells in sorted(ours.keys() | theirs.keys()):
            named = dict(zip(key, cells, strict=True))
            one, other = ours.get(cells), theirs.get(cells)
            if one is None or other is None:
                self.count(table, one is not None, other is not None, 0)
                self.list(Difference(table, named, None, None, one, other))
                continue
            differing = [name for name in one if one[name] != other[name]]
            self.count(table, 0, 0, bool(differing))
            for name in differing:
                self.count_cells(table, name, 1)
                self.list(Difference(table, named, None, name, one[name], other[name]))

    def counted(self) -> tuple[dict[str, Counts], tuple[Difference, ...], int]:
        """Return the numbers by table, what is listed, and how many are not."""
        counts = {
            table: Counts(first, second, differ, self._cells.get(table, {}))
            for table, (first, second, differ) in self._rows.items()
        }
        return counts, tuple(self._listed), self._all - len(self._listed)


def compare_pages(
    found: Found, table: str, one: Page, other: Page, key: Sequence[str], named: dict[str, Any]
) -> None:
    """Count and list what differs between pages that span the same keys.

    Args:
        found: where it goes.
        table: where the rows are from.
        one: those of the first database.
        other: those of the second.
        key: the columns of the key.
        named: what more a key has, of all these rows.
    """
    here, there = matched(one, other, key)
    only = [
        np.setdiff1d(np.arange(len(page[key[0]])), rows, assume_unique=True)
        for page, rows in ((one, here), (other, there))
    ]
    cells_differ = {
        name: unequal(one[name], other[name], here, there) for name in one if name not in key
    }
    rows = reduce(np.logical_or, cells_differ.values(), np.zeros(len(here), np.bool_))
    found.count(table, len(only[0]), len(only[1]), int(rows.sum()))
    for name, cells in cells_differ.items():
        if cells.any():
            found.count_cells(table, name, int(cells.sum()))

    def difference(page: Page, row: int, column: str | None, cells: tuple[Any, Any]) -> Difference:
        cells_of_key = {name: cell_at(page[name], row) for name in key}
        text = page["position"][row] if "position" in page else None
        return Difference(table, named | cells_of_key, text, column, *cells)

    for page, missing, in_first in ((one, only[0], True), (other, only[1], False)):
        for row in missing[: found.room].tolist():
            whole = {name: cell_at(cells, row) for name, cells in page.items()}
            found.list(difference(page, row, None, (whole, None) if in_first else (None, whole)))
    for place in np.flatnonzero(rows)[: found.room].tolist():
        at, beside = int(here[place]), int(there[place])
        for name, cells in cells_differ.items():
            if cells[place]:
                pair = (cell_at(one[name], at), cell_at(other[name], beside))
                found.list(difference(one, at, name, pair))
