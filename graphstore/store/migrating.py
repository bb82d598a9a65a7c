"""Creating and upgrading the tables and views of a database, by alembic."""

import warnings
from importlib.resources import files
from pathlib import Path

from sqlalchemy import Connection

from graphstore.errors import NotAStoreError


def migrate(connection: Connection) -> None:
    """Create or upgrade the tables and views; raise NotAStoreError if they are damaged."""
    from alembic import command  # takes a third of a second; only writing needs it
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", migrations().replace("%", "%%"))
    config.attributes["connection"] = connection
    with warnings.catch_warnings():  # SQLAlchemy: before PostgreSQL 18 `winner` is stored
        warnings.filterwarnings("ignore", message="Computed column")
        try:
            command.upgrade(config, "head")
        except CommandError as error:
            raise NotAStoreError(str(error)) from error


def migrations() -> str:
    """Return the folder of alembic's scripts: in the installed package, or in the checkout."""
    package = Path(str(files("graphstore")))
    inside = package / "migrations"
    return str(inside if inside.is_dir() else package.parent / "migrations")
