"""Reading the tables for a verification: as columns, part by part, in the order of their keys."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeAlias

import numpy as np
from sqlalchemy import BigInteger, Connection, Select, cast, func, select

from graphstore.errors import NotAStoreError
from graphstore.rules.game import Ints
from graphstore.store import schema
from graphstore.store.bulk import columns, pages
from graphstore.store.digests import NULL
from graphstore.store.probe import BATCH
from graphstore.store.store import Store

PART = 50_000  # states of a part: bounds the memory
MOVES = 300_000  # edges of a part, unless one state has more

Parts: TypeAlias = Generator[tuple[slice, dict[str, Any]], None, None]
"""Slices of ascending ids, and the columns of the edges from those states."""

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

    def states(self) -> Generator[dict[str, Any], None, None]:
        """Yield the columns of all states, ascending by id; one empty part if there are none."""

    def edges(self, ids: Ints) -> Parts:
        """Yield the edges from the states `ids`, which are all states.

        Edges from parents that are not states are included, in the order of the parents.
        """

    def positions(self) -> Generator[dict[str, Any], None, None]:
        """Yield the ids and texts of all states, as `states`."""

    def states_of(self, ids: Sequence[int]) -> dict[str, Any]:
        """Return the columns of states, ascending by id; missing ones are left out."""


class DatabaseRows:
    """The rows of a database; each method has its own connection. See `Rows`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def states(self) -> Generator[dict[str, Any], None, None]:
        """See `Rows`."""
        with self._store.connect() as connection:
            yield from states(connection)

    def edges(self, ids: Ints) -> Parts:
        """See `Rows`."""
        with self._store.connect() as connection:
            yield from edges(connection, ids)

    def positions(self) -> Generator[dict[str, Any], None, None]:
        """See `Rows`."""
        key, text = schema.state.c.id, schema.state.c.position
        with self._store.connect() as connection, _typed():
            yield from pages(connection, select(key, text), key, rows=PART)

    def states_of(self, ids: Sequence[int]) -> dict[str, Any]:
        """See `Rows`."""
        with self._store.connect() as connection:
            return states_of(connection, ids)


def read(connection: Connection, query: Select[Any]) -> dict[str, Any]:
    """Return the columns of a query; integers use `NULL` for NULL."""
    with _typed():
        return columns(connection, [query])


@contextmanager
def _typed() -> Iterator[None]:
    """Raise NotAStoreError if a cell cannot be in an array of the type of its column."""
    try:
        yield
    except UnicodeDecodeError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise NotAStoreError(f"a cell has another type than its column: {error}") from error


def states(connection: Connection) -> Generator[dict[str, Any], None, None]:
    """Yield the columns of all states, ascending by id; one empty part if there are none."""
    with _typed():
        yield from pages(connection, _STATE, schema.state.c.id, rows=PART)


def edges(connection: Connection, ids: Ints) -> Parts:
    """Yield slices of `ids`, and the edges from those states.

    Edges from parents that are not states are included, in the order of the parents.
    """
    parent, move = schema.edge.c.parent, schema.edge.c.move
    query, begin, after, is_last = _EDGE.order_by(parent, move), 0, None, False
    while not is_last:
        end = min(begin + PART, len(ids))
        some = query if after is None else query.where(parent > after)
        is_last = end == len(ids)
        if not is_last:
            after = int(ids[end - 1])
            some = some.where(parent <= after)
        part = read(connection, some.limit(MOVES))
        if len(part["parent"]) == MOVES:  # the last parent may have more
            whole = int(np.searchsorted(part["parent"], part["parent"][-1]))
            if whole:
                part = {name: cells[:whole] for name, cells in part.items()}
                after, is_last = int(part["parent"][-1]), False
                end = int(np.searchsorted(ids, after, side="right"))
            else:
                part = read(connection, some)
        yield slice(begin, end), part
        begin = end


def states_of(connection: Connection, ids: Sequence[int]) -> dict[str, Any]:
    """Return the columns of the states with these ids, ascending; missing ones are left out."""
    return _in_batches(connection, _STATE.order_by(schema.state.c.id), schema.state.c.id, ids)


def edges_of(connection: Connection, ids: Sequence[int], end: str) -> dict[str, Any]:
    """Return the columns of the edges whose `end`, parent or child, is one of these ids."""
    query = _EDGE.order_by(schema.edge.c.parent, schema.edge.c.move)
    return _in_batches(connection, query, schema.edge.c[end], ids)


def _in_batches(
    connection: Connection, query: Select[Any], key: Any, ids: Sequence[int]
) -> dict[str, Any]:
    """Return the columns of the rows with a key in `ids`, which ascend; read them in batches."""
    batches = [ids[begin : begin + BATCH] for begin in range(0, len(ids), BATCH)] or [[]]
    found = [read(connection, query.where(key.in_(batch))) for batch in batches]
    return {
        name: [text for part in found for text in part[name]]
        if name == "position"
        else np.concatenate([part[name] for part in found])
        for name in found[0]
    }


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
