"""Loading the solved graph from a database, whole or in part."""

from collections.abc import Iterable
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
from graphstore.store.bulk import columns
from graphstore.store.columns import null_of
from graphstore.store.reader import Reader
from graphstore.util.arrays import member


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


_STATE = _read(schema.STORED["state"])
_EDGE = select(schema.edge)


def load(connection: Connection, name: str, *, below: int | None = None) -> GameGraph:
    """Return the solved graph of the game `name`.

    With `below`, the id of a state, return the part that play from it can reach.

    Raises:
        NotAStoreError: the rows are damaged.
    """
    by_state, by_parent = schema.state.c.id, schema.edge.c.parent
    of_states = [_STATE.order_by(by_state)]
    of_edges = [_EDGE.order_by(by_parent, schema.edge.c.move)]
    if below is not None:
        reader = Reader.of(connection)
        ids = sorted(chain.from_iterable(probe.below(reader, below)))
        parts = [ids[begin : begin + probe.BATCH] for begin in range(0, len(ids), probe.BATCH)]
        of_states = [of_states[0].where(by_state.in_(part)) for part in parts]
        of_edges = [of_edges[0].where(by_parent.in_(part)) for part in parts]
    states, edges = columns(connection, of_states), columns(connection, of_edges)
    ids = states["id"]
    if not ids.size:
        raise NotAStoreError("damaged: it has no states")
    astray = np.flatnonzero(~(member(edges["child"], ids) & member(edges["parent"], ids)))
    if astray.size:
        parent, move = edges["parent"][astray[0]], edges["move"][astray[0]]
        raise NotAStoreError(f"damaged: move {move} of state {parent} does not join two states")

    def of_state(name: str) -> Any:
        return _narrow(schema.state.c[name], states[name], ids)

    outcome = np.where(states["ended"] != 0, of_state("value"), np.int8(IN_PLAY))
    offset = np.append(np.searchsorted(edges["parent"], ids), len(edges["parent"]))
    move = _narrow(schema.edge.c.move, edges["move"], edges["parent"])
    child = np.searchsorted(ids, edges["child"])
    graph = GameGraph(
        name,
        States(ids, of_state("ply"), of_state("to_move"), outcome, states["orbit"]),
        Edges(offset.astype(np.int64), move, child.astype(np.int32)),
        partial(_texts, ids, states["position"]),
    )
    solution = Solution(*map(of_state, Solution._fields))
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
