"""The first tables: states, edges, the game and the digests of its columns."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

BIG = sa.BigInteger().with_variant(sa.INTEGER(), "sqlite")
SMALL = sa.SmallInteger().with_variant(sa.INTEGER(), "sqlite")
TRUTH = sa.Boolean().with_variant(sa.INTEGER(), "sqlite")
REAL: sa.Double[float] = sa.Double().with_variant(sa.REAL(), "sqlite")
WORDS = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Apply this revision."""
    op.create_table(
        "digest",
        sa.Column("name", WORDS, nullable=False),
        sa.Column("blake2b", WORDS, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_digest")),
        sqlite_strict=True,
    )
    op.create_table(
        "game",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", WORDS, nullable=False),
        sa.Column("rules", WORDS, nullable=False),
        sa.Column("starts", BIG, nullable=False),
        sa.Column("states", BIG, nullable=False),
        sa.Column("positions", BIG, nullable=False),
        sa.Column("moves", BIG, nullable=False),
        sa.Column("edges", BIG, nullable=False),
        sa.Column("plies", sa.Integer(), nullable=False),
        sa.Column("cyclic", TRUTH, nullable=False),
        sa.Column("start", WORDS, nullable=False),
        sa.Column("value", SMALL, nullable=False),
        sa.Column("remoteness", sa.Integer()),
        sa.Column("built_at", WORDS, nullable=False),
        sa.Column("built_with", WORDS, nullable=False),
        sa.Column("build_seconds", REAL, nullable=False),
        sa.Column("digest", WORDS, nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_game_one_row")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_game")),
        sqlite_strict=True,
    )
    op.create_table(
        "state",
        sa.Column("id", BIG, autoincrement=False, nullable=False),
        sa.Column("position", WORDS, nullable=False),
        sa.Column("ply", sa.Integer(), nullable=False),
        sa.Column("to_move", SMALL),
        sa.Column("ended", TRUTH, nullable=False),
        sa.Column("value", SMALL, nullable=False),
        sa.Column("remoteness", sa.Integer()),
        sa.Column("score", REAL, nullable=False),
        sa.Column("win_depth", sa.Integer()),
        sa.Column("lose_depth", sa.Integer()),
        sa.Column("orbit", BIG, nullable=False),
        sa.Column("random_value", REAL),
        sa.Column(
            "winner",
            SMALL,
            sa.Computed(
                "CASE WHEN to_move IS NULL THEN NULL WHEN value = 0 THEN 0 "
                "WHEN value = 1 THEN to_move ELSE 3 - to_move END"
            ),
        ),
        sa.CheckConstraint("orbit >= 1", name=op.f("ck_state_orbit")),
        sa.CheckConstraint("ply >= 0", name=op.f("ck_state_ply")),
        sa.CheckConstraint("remoteness >= 0", name=op.f("ck_state_remoteness")),
        sa.CheckConstraint("score BETWEEN -1 AND 1", name=op.f("ck_state_score")),
        sa.CheckConstraint("to_move IN (1, 2)", name=op.f("ck_state_to_move")),
        sa.CheckConstraint("value IN (-1, 0, 1)", name=op.f("ck_state_value")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_state")),
        sqlite_strict=True,
    )
    op.create_table(
        "edge",
        sa.Column("parent", BIG, autoincrement=False, nullable=False),
        sa.Column("move", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("child", BIG, nullable=False),
        sa.ForeignKeyConstraint(["child"], ["state.id"], name=op.f("fk_edge_child")),
        sa.ForeignKeyConstraint(["parent"], ["state.id"], name=op.f("fk_edge_parent")),
        sa.PrimaryKeyConstraint("parent", "move", name=op.f("pk_edge")),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    if op.get_bind().dialect.name == "postgresql":  # SQLite has no NaN
        op.create_check_constraint(op.f("ck_state_random_value"), "state", "random_value <> 'NaN'")
    op.create_index("ix_edge_child", "edge", ["child"], unique=False)
