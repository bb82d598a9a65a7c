"""The column extent of game: the whole game, the part below some positions, or a strategy."""

import json
from hashlib import blake2b

import sqlalchemy as sa
from alembic import op

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
    digest = blake2b(json.dumps("whole").encode(), digest_size=32).hexdigest()
    connection.execute(put, {"name": "game.extent", "blake2b": digest})
