"""The tables and views of a database, created or brought to the newest schema by alembic."""

import warnings
from importlib.resources import files
from pathlib import Path

from sqlalchemy import Connection


def migrate(connection: Connection) -> None:
    """Create or upgrade the tables and views of a database through alembic."""
    from alembic import command  # a third of a second to import: only writing needs it
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", migrations().replace("%", "%%"))
    config.attributes["connection"] = connection
    with warnings.catch_warnings():  # of SQLAlchemy, that before PostgreSQL 18 winner is stored
        warnings.filterwarnings("ignore", message="Computed column")
        command.upgrade(config, "head")


def migrations() -> str:
    """Return the folder of the alembic scripts: inside an installed package, else beside it."""
    package = Path(str(files("graphstore")))
    inside = package / "migrations"
    return str(inside if inside.is_dir() else package.parent / "migrations")
