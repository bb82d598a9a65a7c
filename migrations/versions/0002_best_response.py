"""What a state is worth as a move against a random opponent: a column, and its digest."""

from math import isnan

import sqlalchemy as sa
from alembic import op

from graphstore.errors import NotAStoreError
from graphstore.solver.solution import solve
from graphstore.store.digests import ColumnDigests, of_content, of_row
from graphstore.store.graph import load_unsolved

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
    game = connection.execute(sa.text("SELECT name, digest FROM game")).one_or_none()
    if game is None:  # a new file: the build fills it
        return
    graph = load_unsolved(connection, game.name)
    best_response = solve(graph).best_response
    state = sa.table("state", sa.column("id"), sa.column("best_response"))
    put = sa.update(state).where(state.c.id == sa.bindparam("of_state"))
    for begin in range(0, len(best_response), CHUNK):
        some = slice(begin, begin + CHUNK)
        cells = zip(graph.states.id[some].tolist(), best_response[some].tolist(), strict=True)
        rows = [
            {"of_state": of_state, "best_response": None if isnan(worth) else worth}
            for of_state, worth in cells
        ]
        connection.execute(put, rows)
    added = ColumnDigests()
    added.update("state.best_response", best_response)
    _renew_digests(connection, game.digest, added.of_columns())


def _renew_digests(connection: sa.Connection, before: str, added: dict[str, str]) -> None:
    """Add digests of columns; make the game's one over all columns, if it was one before."""
    of_columns = "SELECT name, blake2b FROM digest WHERE name LIKE 'state.%' OR name LIKE 'edge.%'"
    columns = {row.name: row.blake2b for row in connection.execute(sa.text(of_columns))}
    if of_content(columns) != before:
        raise NotAStoreError("damaged: its digests are not those it was built with; build it anew")
    digest = of_content(columns | added)
    connection.execute(sa.text("UPDATE game SET digest = :digest"), {"digest": digest})
    rows = added | of_row("game", {"digest": digest})
    connection.execute(
        sa.text("DELETE FROM digest WHERE name = :name"), [{"name": name} for name in rows]
    )
    put = sa.text("INSERT INTO digest (name, blake2b) VALUES (:name, :blake2b)")
    connection.execute(put, [{"name": name, "blake2b": value} for name, value in rows.items()])
