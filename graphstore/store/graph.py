"""Loading the solved graph from a database, whole or in part."""

from collections.abc import Iterable
from contextlib import closing
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from sqlalchemy import Column, Connection, Select, func, select

from graphstore.errors import NotAStoreError
from graphstore.rules.game import IN_PLAY, Ints
from graphstore.solver.columns import Edges, Kind, Solution, States
from graphstore.solver.graph import GameGraph
from graphstore.store import probe, schema
from graphstore.store.bulk import batches, joined, pages
from graphstore.store.columns import null_of
from graphstore.store.reader import Reader
from graphstore.util.ahead import ahead
from graphstore.util.arrays import found_in, offsets


def _read(columns: Iterable[Column[Any]]) -> Select[Any]:
    """Return a query of columns of state, with the number `null_of` for NULL in integer columns."""
    return select(
        *(
            func.coalesce(column, null_of(column)).label(column.name)
            if column.nullable and schema.cell_type(column) != "float64"
            else column
            for column in columns
        )
    )


_PAGE = 50_000  # rows: bounds the memory of a page
_STATE = _read(schema.STORED["state"])
_EDGE = select(schema.edge)


def load(connection: Connection, name: str, *, below: int | None = None) -> GameGraph:
    """Return the solved graph of the game `name`.

    With `below`, the id of a state, return the part that play from it can reach.

    Raises:
        NotAStoreError: the rows are damaged.
    """
    by_state, by_edge = (schema.state.c.id,), (schema.edge.c.parent, schema.edge.c.move)
    if below is None:
        of_states = pages(connection, _STATE, *by_state, rows=_PAGE)
        of_edges = pages(connection, _EDGE, *by_edge, rows=_PAGE)
    else:
        chosen = sorted(chain.from_iterable(probe.below(Reader.of(connection), below)))
        of_states = batches(connection, _STATE.order_by(*by_state), by_state[0], chosen)
        of_edges = batches(connection, _EDGE.order_by(*by_edge), by_edge[0], chosen)
    with closing(ahead(of_states)) as parts:
        states = joined(map(_state_columns, parts))
    ids = states["id"]
    if not ids.size:
        raise NotAStoreError("damaged: it has no states")
    with closing(ahead(of_edges)) as parts:
        edges = joined(_edge_columns(ids, part) for part in parts)
    moves = np.bincount(edges["parent"], minlength=len(ids))
    graph = GameGraph(
        name,
        States(*(states[field] for field in States._fields)),
        Edges(offsets(moves), edges["move"], edges["child"]),
        partial(_texts, ids, states["position"]),
    )
    solution = Solution(*(states[field] for field in Solution._fields))
    later: dict[str, Any] = {
        name: None if (column == null_of(schema.state.c[name])).all() else column
        for name, column in solution._asdict().items()
        if name in schema.LATER
    }
    graph.solution = solution._replace(**later)
    graph.kind = Kind(later["margin"] is not None, later["nimber"] is not None)
    if graph.kind.scored:
        graph.margin = np.where(states["ended"] != 0, later["margin"], 0).astype(np.int16)
    return graph


def _state_columns(part: dict[str, Any]) -> dict[str, Any]:
    """Return columns of states in their own types, and their outcomes."""
    narrow = {
        name: cells if isinstance(cells, list) else _narrow(schema.state.c[name], cells, part["id"])
        for name, cells in part.items()
    }
    outcome = np.where(part["ended"] != 0, narrow["value"], np.int8(IN_PLAY))
    return narrow | {"outcome": outcome}


def _edge_columns(ids: Ints, part: dict[str, Any]) -> dict[str, Any]:
    """Return columns of edges, with the rows of their ends in `ids`."""
    (parent, has_parent), (child, has_child) = (
        found_in(part[end], ids) for end in ("parent", "child")
    )
    astray = np.flatnonzero(~(has_parent & has_child))
    if astray.size:
        parent, move = part["parent"][astray[0]], part["move"][astray[0]]
        raise NotAStoreError(f"damaged: move {move} of state {parent} does not join two states")
    move = _narrow(schema.edge.c.move, part["move"], part["parent"])
    return {"parent": parent.astype(np.int32), "move": move, "child": child.astype(np.int32)}


def _narrow(column: Column[Any], wide: Any, ids: Ints) -> Any:
    """Return the cells of a column in its own type; raise NotAStoreError if one does not fit."""
    narrowed = wide.astype(schema.cell_type(column))
    wrong = np.flatnonzero((narrowed != wide) & (wide == wide))  # NaN is not equal to itself
    if wrong.size:
        raise NotAStoreError(
            f"damaged: {column.name} {wide[wrong[0]]} of state {ids[wrong[0]]} is out of range"
        )
    return narrowed


def _texts(ids: Ints, positions: list[str], wanted: Ints) -> list[str]:
    return [positions[row] for row in np.searchsorted(ids, wanted).tolist()]
