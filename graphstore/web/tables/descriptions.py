"""Datasette's metadata: what the tables, views and columns of a game mean."""

from typing import Any, Final

from graphstore.store.format import COLUMNS
from graphstore.store.meanings import TABLES, meaning

FEW_VALUES: Final = (
    "agent ended favourite keeps lose_depth move opponent optimal orbit plies ply remoteness side "
    "to_move value win_depth winner"
)
COUNTABLE: Final = {*FEW_VALUES.split()}
"""The columns that a page offers to count by: those with few values."""


def tables() -> dict[str, dict[str, Any]]:
    """Return the metadata of a game's tables and views, in Datasette's form."""
    described: dict[str, dict[str, Any]] = {
        table: {
            "description": about,
            "columns": {name: meaning(table, name) for name in COLUMNS[table]},
        }
        for table, about in TABLES.items()
    }
    described["state"]["label_column"] = "position"
    described["agent"]["label_column"] = "name"
    described["alembic_version"] = {"hidden": True}
    return described
