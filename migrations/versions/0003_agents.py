"""The tables of agents that learn: their settings, beads, games and checkpoints."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

BIG = sa.BigInteger().with_variant(sa.INTEGER(), "sqlite")
SMALL = sa.SmallInteger().with_variant(sa.INTEGER(), "sqlite")
WORDS = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Apply this revision."""
    op.create_table(
        "agent",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", WORDS, nullable=False),
        sa.Column("side", SMALL, nullable=False),
        sa.Column("stages", WORDS, nullable=False),
        sa.Column("win", sa.Integer(), nullable=False),
        sa.Column("draw", sa.Integer(), nullable=False),
        sa.Column("loss", sa.Integer(), nullable=False),
        sa.Column("empty", WORDS, nullable=False),
        sa.Column("longest", sa.Integer(), nullable=False),
        sa.Column("seed", BIG, nullable=False),
        sa.Column("games", BIG, nullable=False),
        sa.Column("random", WORDS, nullable=False),
        sa.CheckConstraint("games >= 0", name=op.f("ck_agent_games")),
        sa.CheckConstraint("side IN (0, 1, 2)", name=op.f("ck_agent_side")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_agent")),
        sa.UniqueConstraint("name", name="uq_agent_name"),
        sqlite_strict=True,
    )
    op.create_table(
        "bead",
        sa.Column("agent", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("state", BIG, autoincrement=False, nullable=False),
        sa.Column("move", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("beads", sa.Integer(), nullable=False),
        sa.CheckConstraint("beads >= 0", name=op.f("ck_bead_beads")),
        sa.ForeignKeyConstraint(["agent"], ["agent.id"], name=op.f("fk_bead_agent")),
        sa.ForeignKeyConstraint(
            ["state", "move"], ["edge.parent", "edge.move"], name="fk_bead_edge"
        ),
        sa.PrimaryKeyConstraint("agent", "state", "move", name=op.f("pk_bead")),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_table(
        "played",
        sa.Column("agent", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", BIG, autoincrement=False, nullable=False),
        sa.Column("side", SMALL, nullable=False),
        sa.Column("opponent", WORDS, nullable=False),
        sa.Column("winner", SMALL, nullable=False),
        sa.Column("plies", sa.Integer(), nullable=False),
        sa.CheckConstraint("plies >= 0", name=op.f("ck_played_plies")),
        sa.CheckConstraint("side IN (0, 1, 2)", name=op.f("ck_played_side")),
        sa.CheckConstraint("winner IN (0, 1, 2)", name=op.f("ck_played_winner")),
        sa.ForeignKeyConstraint(["agent"], ["agent.id"], name=op.f("fk_played_agent")),
        sa.PrimaryKeyConstraint("agent", "number", name=op.f("pk_played")),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_table(
        "checkpoint",
        sa.Column("agent", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("games", BIG, autoincrement=False, nullable=False),
        sa.Column("kept", sa.Integer(), nullable=False),
        sa.Column("boxes", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["agent"], ["agent.id"], name=op.f("fk_checkpoint_agent")),
        sa.PrimaryKeyConstraint("agent", "games", name=op.f("pk_checkpoint")),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
