"""Look-ups of rows by key through the driver's cursor, with statements compiled only once."""

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import chain
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Dialect, Select, bindparam, select

MOST: Final = 1_000  # keys per statement; SQLite takes 32,766 at most
_EXACT = 32  # more keys than this are padded to a power of two, so that few statements exist
_POSITIONAL = {"pyformat": "format", "named": "qmark", "numeric": "qmark"}


class Keyed:
    """A SELECT of rows by their keys, ascending by key."""

    def __init__(self, key: ColumnElement[Any], *columns: ColumnElement[Any]) -> None:
        self._query = select(*columns).where(key.in_(bindparam("keys", expanding=True)))
        self._query = self._query.order_by(key)

    def rows(self, connection: Connection, keys: Sequence[int]) -> Iterable[tuple[Any, ...]]:
        """Return the rows with these distinct keys; they ascend by key if the keys do.

        More than `MOST` keys are looked up in parts, as the rows are consumed.
        """
        if len(keys) <= MOST:
            return self._some(connection, keys)
        parts = (keys[begin : begin + MOST] for begin in range(0, len(keys), MOST))
        return chain.from_iterable(self._some(connection, part) for part in parts)

    def _some(self, connection: Connection, keys: Sequence[int]) -> list[tuple[Any, ...]]:
        marks = len(keys)
        if marks > _EXACT:
            marks = min(1 << (marks - 1).bit_length(), MOST)
            keys = [*keys, *[keys[-1]] * (marks - len(keys))]  # repeats find no more rows
        cursor: Any = connection.connection.cursor()
        rows: list[tuple[Any, ...]] = (
            cursor.execute(self.text(connection.dialect, marks), keys).fetchall() if marks else []
        )
        cursor.close()
        return rows

    def text(self, dialect: Dialect, marks: int) -> str:
        """Return the SQL text for a number of keys, `marks`, which are bound by position."""
        kind: Any = type(dialect)
        lacks = getattr(dialect, "lacks_later", False)
        return _text(self._query, kind, dialect.paramstyle, marks, lacks)


@cache
def _text(query: Select[Any], kind: Any, paramstyle: str, marks: int, lacks_later: bool) -> str:
    dialect = kind(paramstyle=_POSITIONAL.get(paramstyle, paramstyle))
    dialect.lacks_later = lacks_later
    some = query.params(keys=list(range(marks)))
    return str(some.compile(dialect=dialect, compile_kwargs={"render_postcompile": True}))
