"""The view q_table as a structured array: the worth of each move to its player."""

from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, func, select

from graphstore.errors import NotAStoreError
from graphstore.solver.columns import kept_turns
from graphstore.store.bulk import streamed
from graphstore.store.probe import Probe, states_by_id
from graphstore.store.reader import Reader
from graphstore.store.schema import VIEWS, cell_type, edge, state

Q_TABLE = np.dtype(
    [
        (column.name, cell_type(column))
        for column in VIEWS["q_table"].selected_columns
        if column.name not in ("position", "winner", "orbit")
    ]
)
"""The columns of the view q_table, one row per move, NaN where NULL."""

CHUNK = 50_000  # rows joined at a time

_STATES = select(
    *(state.c.id, state.c.value, state.c.random_value, state.c.best_response),
    func.coalesce(state.c.to_move, 0).label("to_move"),
)
_WORTH = np.dtype([(column.name, cell_type(column)) for column in _STATES.selected_columns])
_EDGES = select(edge.c.parent, edge.c.move, edge.c.child).order_by(edge.c.parent, edge.c.move)


def whole(connection: Connection) -> NDArray[np.void]:
    """Return the moves of all states, `Q_TABLE`[m], by state, then by move.

    numpy joins them: SQLite's own join takes half as long again.
    """
    with streamed(connection, _STATES.order_by(state.c.id)) as rows:
        worth = np.fromiter(rows, _WORTH)  # None becomes NaN
    ids = np.append(worth["id"], np.int64(-1))  # no id is negative; for children without a state
    total = connection.execute(select(func.count()).select_from(edge)).scalar_one()
    table = np.empty(total, Q_TABLE)
    with streamed(connection, _EDGES) as rows:
        for begin in range(0, total, CHUNK):
            part = table[begin : begin + CHUNK]
            cells = chain.from_iterable(islice(rows, len(part)))
            read = np.fromiter(cells, np.int64, 3 * len(part)).reshape(-1, 3)
            part["state"], part["move"], part["child"] = read.T
            at = np.searchsorted(ids[:-1], read[:, 2])
            astray = np.flatnonzero(ids[at] != read[:, 2])
            if astray.size:
                parent, move, _ = read[astray[0]]
                raise NotAStoreError(f"damaged: move {move} of state {parent} leads to no state")
            child = worth[at]
            part["optimal"] = -child["value"]
            part["random"] = 0.0 - child["random_value"]
            part["best_response"] = child["best_response"]
            before = worth["to_move"][np.searchsorted(ids[:-1], read[:, 0])]
            kept = kept_turns(before, child["to_move"])
            if kept is not None:
                part["optimal"][kept] *= -1
                part["random"][kept] = child["random_value"][kept]
                part["best_response"][kept] = np.nan
    return table


def of_position(reader: Reader, probe: Probe) -> NDArray[np.void]:
    """Return the moves of a position in the orientation of its probe, `Q_TABLE`[k], by move."""
    children = states_by_id(reader, list({move.state for move in probe.moves}))
    rows = []
    for move in sorted(probe.moves, key=lambda move: move.move):
        child = children[move.state]
        random, best = child.random_value, child.best_response
        if probe.to_move and probe.to_move == child.to_move:
            best = None
        elif random is not None:
            random = 0.0 - random
        rows.append((probe.state, move.move, move.state, -move.value, random, best))
    return np.array(rows, Q_TABLE)
