"""Views for games in which a move may keep the turn; every upgrade makes the views again."""

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Apply this revision."""
