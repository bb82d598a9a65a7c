"""The table move, the names of moves; in older files it is empty."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
WORDS = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Apply this revision."""
    op.create_table(
        "move",
        sa.Column("move", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", WORDS, nullable=False),
        sa.PrimaryKeyConstraint("move", name=op.f("pk_move")),
        sqlite_strict=True,
    )
