"""The column best_response of state, and its digest."""

import json
from hashlib import blake2b
from typing import Any

import numpy as np
import sqlalchemy as sa
from alembic import op
from alembic.util import CommandError

revision = "0002"
down_revision = "0001"

CHUNK = 50_000  # rows updated at once

REAL: sa.Double[float] = sa.Double().with_variant(sa.REAL(), "sqlite")


def upgrade() -> None:
    """Apply this revision."""
    op.add_column("state", sa.Column("best_response", REAL))
    connection = op.get_bind()
    if connection.dialect.name == "postgresql":  # SQLite has no NaN
        op.create_check_constraint(
            op.f("ck_state_best_response"), "state", "best_response <> 'NaN'"
        )
    before = connection.execute(sa.text("SELECT digest FROM game")).scalar_one_or_none()
    if before is None:  # a new file: the build fills it
        return
    ids, value, ended = _columns("SELECT id, value, ended FROM state ORDER BY id", 3)
    parent, child = _columns("SELECT parent, child FROM edge ORDER BY parent, move", 2)
    best_response = _best_response(ids, np.where(ended != 0, value, 0), ended != 0, parent, child)
    if not np.isnan(best_response).any():  # else all are, and the new column has only NULL
        _put(connection, ids, best_response)
    cells_digest = blake2b(best_response.astype("<f8").tobytes(), digest_size=32).hexdigest()
    _renew_digests(connection, before, {"state.best_response": cells_digest})


def _columns(query: str, width: int) -> list[Any]:
    """Return the integer columns of a query."""
    connection = op.get_bind()
    if connection.dialect.name == "sqlite":  # the driver is three times as fast as SQLAlchemy
        rows: Any = connection.connection.cursor().execute(query)
    else:
        options = {"stream_results": True}
        rows = map(tuple, connection.execute(sa.text(query), execution_options=options))
    table = np.fromiter(rows, np.dtype([("", "i8")] * width))
    return [np.ascontiguousarray(table[name]) for name in table.dtype.names or ()]


def _put(connection: sa.Connection, ids: Any, best_response: Any) -> None:
    """Set the new column; through the driver, because SQLAlchemy takes longer than the update."""
    mark = "?" if connection.dialect.name == "sqlite" else "%s"
    put = f"UPDATE state SET best_response = {mark} WHERE id = {mark}"
    for begin in range(0, len(ids), CHUNK):
        some = slice(begin, begin + CHUNK)
        rows = [*zip(best_response[some].tolist(), ids[some].tolist(), strict=True)]
        connection.exec_driver_sql(put, rows)


def _best_response(ids: Any, outcome: Any, ended: Any, parent: Any, child: Any) -> Any:
    """Return the expected result for the player who just moved, float64[n]; NaN if play can cycle.

    One player, the chooser, plays the best response; the other, the drifter, plays at random. A
    state is computed after all states that its moves lead to.
    """
    if not ids.size:
        raise CommandError("damaged: it has no states")
    above, below = (
        np.searchsorted(ids, column).clip(max=len(ids) - 1) for column in (parent, child)
    )
    if (ids[above] != parent).any() or (ids[below] != child).any():
        raise CommandError("damaged: a move does not join two states")
    count = np.bincount(above, minlength=len(ids))
    offset = np.append(0, np.cumsum(count))
    order = np.argsort(below, kind="stable")
    of_child = np.searchsorted(below[order], np.arange(len(ids) + 1))
    chooser, drifter = np.where(ended, outcome, np.nan), np.where(ended, outcome, np.nan)
    left, done = count.copy(), 0
    wave = np.flatnonzero(ended)
    while wave.size:
        done += len(wave)
        parents = above[order[_ragged(of_child, wave)]]
        np.subtract.at(left, parents, 1)
        wave = np.sort(parents[left[parents] == 0])
        wave = wave[np.diff(wave, prepend=-1) != 0]  # faster than numpy.unique
        moves, begin = below[_ragged(offset, wave)], np.cumsum(count[wave]) - count[wave]
        if wave.size:
            chooser[wave], drifter[wave] = (
                0.0 - np.minimum.reduceat(drifter[moves], begin),
                0.0 - np.add.reduceat(chooser[moves], begin) / count[wave],
            )
    return 0.0 - drifter if done == len(ids) else np.full(len(ids), np.nan)


def _ragged(offset: Any, rows: Any) -> Any:
    """Return the indices of all entries of these rows of a ragged array."""
    count = offset[rows + 1] - offset[rows]
    end = np.cumsum(count)
    return np.repeat(offset[rows] - end + count, count) + np.arange(end[-1] if end.size else 0)


def _renew_digests(connection: sa.Connection, before: str, added: dict[str, str]) -> None:
    """Add digests of columns, and update the digest of the game, which must be `before`."""
    of_columns = "SELECT name, blake2b FROM digest WHERE name LIKE 'state.%' OR name LIKE 'edge.%'"
    columns = {row.name: row.blake2b for row in connection.execute(sa.text(of_columns))}
    if _of_json(sorted(columns.items())) != before:
        raise CommandError("damaged: its digests are not those it was built with; rebuild it")
    digest = _of_json(sorted((columns | added).items()))
    connection.execute(sa.text("UPDATE game SET digest = :digest"), {"digest": digest})
    rows = added | {"game.digest": _of_json(digest)}
    connection.execute(
        sa.text("DELETE FROM digest WHERE name = :name"), [{"name": name} for name in rows]
    )
    put = sa.text("INSERT INTO digest (name, blake2b) VALUES (:name, :blake2b)")
    connection.execute(put, [{"name": name, "blake2b": value} for name, value in rows.items()])


def _of_json(value: Any) -> str:
    return blake2b(json.dumps(value).encode(), digest_size=32).hexdigest()
