"""Creating and upgrading the tables and views of a database, by alembic."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

from sqlalchemy import Connection

from graphstore.errors import NotAStoreError
from graphstore.store import schema


def migrate(connection: Connection) -> None:
    """Create or upgrade the tables and views; raise NotAStoreError if they are damaged."""
    from alembic import command  # takes a third of a second; only writing needs it
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", migrations().replace("%", "%%"))
    config.attributes["connection"] = connection
    with _quiet():
        try:
            command.upgrade(config, "head")
        except CommandError as error:
            raise NotAStoreError(str(error)) from error


def create(connection: Connection, revision: str) -> None:
    """Create the tables as the migrations make them up to a revision; if it is readable, the views.

    Unlike `migrate`, it may be called while alembic's command upgrades another database.
    """
    from alembic.migration import MigrationContext
    from alembic.operations import Operations
    from alembic.script import ScriptDirectory

    scripts = ScriptDirectory(migrations())
    context = MigrationContext.configure(connection)
    with _quiet(), Operations.context(context):
        for step in reversed([*scripts.walk_revisions("base", revision)]):
            step.module.upgrade()
    context.stamp(scripts, revision)
    if revision in schema.READABLE:
        schema.create_views(connection, revision)


@contextmanager
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():  # SQLAlchemy: before PostgreSQL 18 `winner` is stored
        warnings.filterwarnings("ignore", message="Computed column")
        yield


def migrations() -> str:
    """Return the folder of alembic's scripts: in the installed package, or in the checkout."""
    package = Path(str(files("graphstore")))
    inside = package / "migrations"
    return str(inside if inside.is_dir() else package.parent / "migrations")
