"""Look-ups of rows by key, by few statements."""

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import chain
from typing import Any, Final

from graphstore.store.reader import Reader

MOST: Final = 1_000  # keys per statement; SQLite takes 32,766 at most
_EXACT = 32  # more keys than this are padded to a power of two, so that few statements exist


class Keyed:
    """A SELECT of columns of a table by one of them, the key, ascending by it."""

    def __init__(self, columns: Iterable[str], table: str, key: str) -> None:
        self.columns, self.table, self.key = tuple(columns), table, key
        names = ", ".join(self.columns)
        self._sql = f"SELECT {names} FROM {table} WHERE {key} IN ({{}}) ORDER BY {key}"

    def rows(self, reader: Reader, keys: Sequence[Any]) -> Iterable[tuple[Any, ...]]:
        """Return the rows with these distinct keys; they ascend by key if the keys do.

        More than `MOST` keys are looked up in parts, as the rows are consumed.
        """
        if reader.find is not None:
            return reader.find(self, keys)
        if len(keys) <= MOST:
            return self._some(reader, keys)
        parts = (keys[begin : begin + MOST] for begin in range(0, len(keys), MOST))
        return chain.from_iterable(self._some(reader, part) for part in parts)

    def _some(self, reader: Reader, keys: Sequence[Any]) -> list[tuple[Any, ...]]:
        marks = len(keys)
        if marks > _EXACT:
            marks = min(1 << (marks - 1).bit_length(), MOST)
            keys = [*keys, *[keys[-1]] * (marks - len(keys))]  # repeats find no more rows
        return reader.rows(self.text(marks), keys) if marks else []

    def text(self, marks: int) -> str:
        """Return the statement for a number of keys, `marks`."""
        return _with_marks(self._sql, marks)


@cache
def _with_marks(sql: str, marks: int) -> str:
    return sql.format(", ".join("?" * marks))
