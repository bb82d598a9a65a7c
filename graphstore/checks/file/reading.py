"""Reading the tables for a verification: as columns, part by part, in the order of their keys."""

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
from sqlalchemy import BigInteger, Connection, cast, func, select

from graphstore.errors import NotAStoreError
from graphstore.rules.game import Ints
from graphstore.store import schema
from graphstore.store.bulk import batches, joined, pages
from graphstore.store.digests import NULL
from graphstore.store.store import Store

PART = 50_000  # states of a part: bounds the memory
MOVES = 300_000  # edges of a part

_NULL = cast(NULL, BigInteger)
_INTEGERS = (
    *("to_move", "remoteness", "win_depth", "lose_depth", *schema.LATER),
    *("ply", "value", "orbit"),
)
"""Columns of integers; the last three can be NULL in a damaged file."""
_STATE = select(
    *(
        func.coalesce(column, _NULL).label(column.name) if column.name in _INTEGERS else column
        for column in schema.state.c
        if column.computed is None
    )
)
_EDGE = select(schema.edge)


class Rows(Protocol):
    """The rows of a game; columns of integers have `NULL` for NULL."""

    def parts(self, table: str) -> Generator[dict[str, Any], None, None]:
        """Yield the columns of state or edge in key order; one empty part if it has no rows."""

    def states_of(self, ids: Sequence[int]) -> dict[str, Any]:
        """Return the columns of states, ascending by id; missing ones are left out."""


class DatabaseRows:
    """The rows of a database; each method has its own connection. See `Rows`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def parts(self, table: str) -> Generator[dict[str, Any], None, None]:
        """See `Rows`."""
        query, rows = (_STATE, PART) if table == "state" else (_EDGE, MOVES)
        with self._store.connect() as connection, _typed():
            key = schema.metadata.tables[table].primary_key
            yield from pages(connection, query, *key, rows=rows)

    def states_of(self, ids: Sequence[int]) -> dict[str, Any]:
        """See `Rows`."""
        with self._store.connect() as connection:
            return states_of(connection, ids)


@contextmanager
def _typed() -> Iterator[None]:
    """Raise NotAStoreError if a cell cannot be in an array of the type of its column."""
    try:
        yield
    except UnicodeDecodeError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise NotAStoreError(f"a cell has another type than its column: {error}") from error


def by_parent(
    parts: Iterable[dict[str, Any]], ids: Ints
) -> Generator[tuple[slice, dict[str, Any]], None, None]:
    """Yield slices of the ids of all states, and the edges from those states, from parts of edges.

    Edges from parents that are not states are included, in the order of the parents.
    """
    begin, held = 0, dict[str, Any]()
    for part in parts:
        held = joined([held, part])
        parents = held["parent"]
        whole = int(np.searchsorted(parents, parents[-1])) if len(parents) else 0
        if whole:  # the last parent may have more moves in the next part
            end = int(np.searchsorted(ids, parents[whole - 1], side="right"))
            yield slice(begin, end), {name: cells[:whole] for name, cells in held.items()}
            begin, held = end, {name: cells[whole:] for name, cells in held.items()}
    yield slice(begin, len(ids)), held


def states_of(connection: Connection, ids: Sequence[int]) -> dict[str, Any]:
    """Return the columns of the states with these ids, ascending; missing ones are left out."""
    key = schema.state.c.id
    with _typed():
        return joined(batches(connection, _STATE.order_by(key), key, ids))


def edges_of(connection: Connection, ids: Sequence[int], end: str) -> dict[str, Any]:
    """Return the columns of the edges whose `end`, parent or child, is one of these ids."""
    query = _EDGE.order_by(schema.edge.c.parent, schema.edge.c.move)
    with _typed():
        return joined(batches(connection, query, schema.edge.c[end], ids))


def select_rows(part: dict[str, Any], kept: Any) -> dict[str, Any]:
    """Return the rows of a part where `kept`, bool[k], is True."""
    if kept.all():
        return part
    rows = np.flatnonzero(kept)
    return {
        name: [cells[row] for row in rows] if isinstance(cells, list) else cells[rows]
        for name, cells in part.items()
    }


def texts(connection: Connection, ids: Sequence[int]) -> dict[int, str]:
    """Return the texts of states, by id."""
    state = schema.state.c
    query = select(state.id, state.position).where(state.id.in_(ids))
    return {int(key): str(text) for key, text in connection.execute(query)}
