"""The tables and views of a database, created or brought to the newest schema by alembic."""

import warnings
from importlib.resources import files
from pathlib import Path

from sqlalchemy import Connection

from graphstore.errors import NotAStoreError


def migrate(connection: Connection) -> None:
    """Create or upgrade the tables and views of a database through alembic.

    Raises:
        NotAStoreError: what is in it is damaged.
    """
    from alembic import command  # a third of a second to import: only writing needs it
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", migrations().replace("%", "%%"))
    config.attributes["connection"] = connection
    with warnings.catch_warnings():  # of SQLAlchemy, that before PostgreSQL 18 winner is stored
        warnings.filterwarnings("ignore", message="Computed column")
        try:
            command.upgrade(config, "head")
        except CommandError as error:
            raise NotAStoreError(str(error)) from error


def migrations() -> str:
    """Return the folder of the alembic scripts: inside an installed package, else beside it."""
    package = Path(str(files("graphstore")))
    inside = package / "migrations"
    return str(inside if inside.is_dir() else package.parent / "migrations")
