"""The columns margin and nimber of state; in older files nimbers follow from the edges.

Of these, no game has margins. A column without cells has no digest.
"""

import json
import re
from hashlib import blake2b
from typing import Any

import numpy as np
import sqlalchemy as sa
from alembic import op
from alembic.util import CommandError

from graphstore.errors import RulesError
from graphstore.rules.game import IN_PLAY
from graphstore.solver.columns import Edges, States
from graphstore.solver.graph import GameGraph
from graphstore.solver.nimbers import nimbers

revision = "0006"
down_revision = "0005"

CHUNK = 50_000  # rows updated at once
SMALL = sa.SmallInteger().with_variant(sa.INTEGER(), "sqlite")
IMPARTIAL = re.compile(r"(nim|subtraction|octal|kayles|dawson|wythoff|chomp)\([^:]*\)")


def upgrade() -> None:
    """Apply this revision."""
    op.add_column("state", sa.Column("margin", SMALL))
    op.add_column("state", sa.Column("nimber", SMALL))
    connection = op.get_bind()
    game = connection.execute(sa.text("SELECT name, rules, digest FROM game")).one_or_none()
    if game is None:  # a new file: the build fills it
        return
    name, rules, before = game
    if rules != "1" or not IMPARTIAL.fullmatch(name) or "misere" in name:
        return
    ids, ply, outcome = _columns(
        f"SELECT id, ply, CASE WHEN ended THEN value ELSE {IN_PLAY} END FROM state ORDER BY id"
    )
    parent, _, child = _columns("SELECT parent, move, child FROM edge ORDER BY parent, move")
    if not ids.size or not (np.isin(parent, ids).all() and np.isin(child, ids).all()):
        raise CommandError("damaged: a move does not join two states")
    found = _nimbers(name, States(ids, ply, 0 * outcome, outcome, ids), parent, child)
    state = sa.table("state", sa.column("id"), sa.column("nimber"))
    put = sa.update(state).where(state.c.id == sa.bindparam("of_state"))
    for begin in range(0, len(ids), CHUNK):
        some = slice(begin, begin + CHUNK)
        cells = zip(ids[some].tolist(), found[some].tolist(), strict=True)
        connection.execute(put, [{"of_state": key, "nimber": nimber} for key, nimber in cells])
    cells_digest = blake2b(found.astype("<i8").tobytes(), digest_size=32).hexdigest()
    _renew_digests(connection, before, {"state.nimber": cells_digest})


def _columns(query: str) -> list[Any]:
    """Return the three integer columns of a query."""
    rows = op.get_bind().execute(sa.text(query), execution_options={"stream_results": True})
    table = np.fromiter(map(tuple, rows), np.dtype([("", "i8")] * 3))
    return [np.ascontiguousarray(table[name]) for name in table.dtype.names or ()]


def _nimbers(name: str, states: States, parent: Any, child: Any) -> Any:
    """Return the nimbers of states, int16[n]."""
    offset = np.append(np.searchsorted(parent, states.id), len(parent))
    below = np.searchsorted(states.id, child).astype(np.int32)
    graph = GameGraph(
        name,
        states._replace(ply=states.ply.astype(np.int32), outcome=states.outcome.astype(np.int8)),
        Edges(offset, np.zeros(len(parent), dtype=np.int32), below),
        lambda ids: [*map(str, ids.tolist())],
    )
    try:
        return nimbers(graph)
    except RulesError as error:
        raise CommandError(f"damaged: {error}") from error


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
