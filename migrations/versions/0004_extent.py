"""What is in a file: the whole game, what lies below some positions, or a strategy."""

import sqlalchemy as sa
from alembic import op

from graphstore.store.digests import of_row

revision = "0004"
down_revision = "0003"
WORDS = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Apply this revision."""
    extent = sa.Column("extent", WORDS, server_default="whole", nullable=False)
    op.add_column("game", extent)
    connection = op.get_bind()
    if connection.execute(sa.text("SELECT count(*) FROM game")).scalar() == 0:
        return  # a new file: the build fills it
    put = sa.text("INSERT INTO digest (name, blake2b) VALUES (:name, :blake2b)")
    rows = of_row("game", {"extent": "whole"}).items()
    connection.execute(put, [{"name": name, "blake2b": blake2b} for name, blake2b in rows])
