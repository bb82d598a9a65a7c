"""The table played has a row for the games of a block that ended alike, no longer one a game."""

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

CHUNK = 100_000  # games counted at once, unless one block has more
BIG = sa.BigInteger().with_variant(sa.INTEGER(), "sqlite")
SMALL = sa.SmallInteger().with_variant(sa.INTEGER(), "sqlite")
WORDS = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
COUNT = sa.text("""
SELECT CASE opponent WHEN 'person' THEN number ELSE (number - 1) / :step * :step + 1 END AS block,
    side, opponent, winner, plies, count(*) AS games
FROM played WHERE agent = :agent AND number BETWEEN :begin AND :end
GROUP BY block, plies, winner, side, opponent
""")


def upgrade() -> None:
    """Apply this revision."""
    connection = op.get_bind()
    last = sa.text("SELECT agent, max(number) FROM played GROUP BY agent")
    rows: list[dict[str, Any]] = []
    for agent, most in connection.execute(last).all():
        for begin, end, step in _ranges(most):
            some = {"agent": agent, "begin": begin, "end": end, "step": step}
            for block, *cells in connection.execute(COUNT, some):
                names = ("side", "opponent", "winner", "plies", "games")
                rows.append(
                    {"agent": agent, "number": block} | dict(zip(names, cells, strict=True))
                )
    op.drop_table("played")
    played = op.create_table(
        "played",
        sa.Column("agent", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", BIG, autoincrement=False, nullable=False),
        sa.Column("side", SMALL, autoincrement=False, nullable=False),
        sa.Column("opponent", WORDS, nullable=False),
        sa.Column("winner", SMALL, autoincrement=False, nullable=False),
        sa.Column("plies", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("games", BIG, nullable=False),
        sa.CheckConstraint("games >= 1", name=op.f("ck_played_games")),
        sa.CheckConstraint("plies >= 0", name=op.f("ck_played_plies")),
        sa.CheckConstraint("side IN (0, 1, 2)", name=op.f("ck_played_side")),
        sa.CheckConstraint("winner IN (0, 1, 2)", name=op.f("ck_played_winner")),
        sa.ForeignKeyConstraint(["agent"], ["agent.id"], name=op.f("fk_played_agent")),
        sa.PrimaryKeyConstraint(
            "agent", "number", "side", "opponent", "winner", "plies", name=op.f("pk_played")
        ),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.bulk_insert(played, rows)


def _ranges(most: int) -> Iterator[tuple[int, int, int]]:
    """Yield ranges of numbers of games, to `most`: first, last, and the length of the blocks."""
    begin, games = -(2**63), 0  # a damaged file stays damaged
    while games < max(most, 1):
        digits = len(str(games))
        step = 5 * 10 ** (digits - 3) if digits >= 3 else 1
        end = min(10 ** max(digits, 2), games + max(step, CHUNK), 2**63 - 1)
        yield begin, end, step
        begin, games = end + 1, end
