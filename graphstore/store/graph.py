"""A solved graph back from its database, whole or in part."""

from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from sqlalchemy import Connection, Select, func, select

from graphstore.errors import NotAStoreError
from graphstore.rules.game import IN_PLAY, Ints
from graphstore.solver.columns import NONE, Edges, Solution, States
from graphstore.solver.graph import GameGraph
from graphstore.store import probe, schema
from graphstore.store.bulk import columns
from graphstore.util.arrays import member

_NULLS = {"to_move": 0, "remoteness": NONE, "win_depth": NONE, "lose_depth": NONE}


def _read(*names: str) -> Select[Any]:
    """Return what reads columns of state, with numbers for NULL where they are integers."""
    columns = (schema.state.c[name] for name in names)
    return select(
        *(
            func.coalesce(column, _NULLS[column.name]).label(column.name)
            if column.name in _NULLS
            else column
            for column in columns
        )
    )


_STATE = _read(*(column.name for column in schema.state.c if column.name != "winner"))
_EDGE = select(schema.edge)


def load(connection: Connection, name: str, *, below: int | None = None) -> GameGraph:
    """Return the solved graph, or the part that play from one state can reach."""
    by_state, by_parent = schema.state.c.id, schema.edge.c.parent
    if below is None:
        states = columns(connection, [_STATE.order_by(by_state)])
        edges = columns(connection, [_EDGE.order_by(by_parent, schema.edge.c.move)])
    else:
        ids = sorted(chain.from_iterable(probe.below(connection, below)))
        parts = [ids[begin : begin + probe.BATCH] for begin in range(0, len(ids), probe.BATCH)]
        states = columns(
            connection, [_STATE.where(by_state.in_(part)).order_by(by_state) for part in parts]
        )
        edges = columns(
            connection,
            [
                _EDGE.where(by_parent.in_(part)).order_by(by_parent, schema.edge.c.move)
                for part in parts
            ],
        )
    graph = _graph(name, states, edges)
    graph.solution = _solution(states)
    return graph


def _graph(name: str, states: dict[str, Any], edges: dict[str, Any]) -> GameGraph:
    ids = states["id"]
    if not ids.size:
        raise NotAStoreError("damaged: it has no states")
    child = np.searchsorted(ids, edges["child"])
    astray = np.flatnonzero(~(member(edges["child"], ids) & member(edges["parent"], ids)))
    if astray.size:
        parent, move = edges["parent"][astray[0]], edges["move"][astray[0]]
        raise NotAStoreError(f"damaged: move {move} of state {parent} does not join two states")

    outcome = np.where(states["ended"] != 0, states["value"], IN_PLAY)
    offset = np.append(np.searchsorted(edges["parent"], ids), len(edges["parent"]))
    return GameGraph(
        name,
        States(
            ids,
            _narrow("ply", states["ply"], np.int32, ids),
            _narrow("to_move", states["to_move"], np.int8, ids),
            _narrow("value", outcome, np.int8, ids),
            states["orbit"],
        ),
        Edges(
            offset.astype(np.int64),
            _narrow("move", edges["move"], np.int32, edges["parent"]),
            child.astype(np.int32),
        ),
        partial(_texts, ids, states["position"]),
    )


def _solution(states: dict[str, Any]) -> Solution:
    def narrow(column: str, dtype: Any) -> Any:
        return _narrow(column, states[column], dtype, states["id"])

    return Solution(
        narrow("value", np.int8),
        narrow("remoteness", np.int32),
        states["score"],
        narrow("win_depth", np.int32),
        narrow("lose_depth", np.int32),
        states["random_value"],
        states["best_response"],
    )


def _narrow(column: str, wide: Any, dtype: Any, ids: Ints) -> Any:
    """Return a column in a smaller type that it must fit."""
    narrowed = wide.astype(dtype)
    wrong = np.flatnonzero(narrowed != wide)
    if wrong.size:
        raise NotAStoreError(
            f"damaged: {column} {wide[wrong[0]]} of state {ids[wrong[0]]} is out of range"
        )
    return narrowed


def _texts(ids: Ints, positions: list[str], wanted: Ints) -> list[str]:
    return [positions[row] for row in np.searchsorted(ids, wanted).tolist()]
