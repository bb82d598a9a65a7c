"""Rows by key, through the driver's own cursor: a look-up must not cost much more than its rows.

SQLAlchemy writes the text of a statement once for each kind of database and number of keys; after
that only the driver is at work.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Dialect, Select, bindparam, select

MOST: Final = 1_024  # keys of one statement; SQLite takes 32,766 at most
_EXACT = 32  # up to so many keys a statement has as many marks, beyond a power of two
_POSITIONAL = {"pyformat": "format", "named": "qmark", "numeric": "qmark"}


class Keyed:
    """A SELECT of the rows that have one of some keys, ascending by key."""

    def __init__(self, key: ColumnElement[Any], *columns: ColumnElement[Any]) -> None:
        self._query = select(*columns).where(key.in_(bindparam("keys", expanding=True)))
        self._query = self._query.order_by(key)

    def rows(self, connection: Connection, keys: Sequence[int]) -> Iterator[tuple[Any, ...]]:
        """Yield the rows as plain tuples.

        Args:
            connection: to the database.
            keys: distinct; ascending, or the rows ascend only by the `MOST`.
        """
        for begin in range(0, len(keys), MOST):
            some = keys[begin : begin + MOST]
            marks = len(some)
            if marks > _EXACT:  # a key more than once in a statement is a key
                marks = 1 << (marks - 1).bit_length()
                some = [*some, *[some[-1]] * (marks - len(some))]
            cursor: Any = connection.connection.cursor()
            try:
                yield from cursor.execute(self.text(connection.dialect, marks), some)
            finally:
                cursor.close()

    def text(self, dialect: Dialect, marks: int) -> str:
        """Return the statement for so many keys, which are bound by place."""
        return _text(self._query, dialect.__class__, dialect.paramstyle, marks)


@cache
def _text(query: Select[Any], kind: Any, paramstyle: str, marks: int) -> str:
    dialect = kind(paramstyle=_POSITIONAL.get(paramstyle, paramstyle))
    some = query.params(keys=list(range(marks)))
    return str(some.compile(dialect=dialect, compile_kwargs={"render_postcompile": True}))
