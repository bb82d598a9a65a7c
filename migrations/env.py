"""Alembic's environment, which upgrades a database.

graphstore passes the connection. On the command line, in a checkout: alembic -x db=ADDRESS upgrade
head, where ADDRESS is a file or postgresql://USER@HOST/DATABASE?schema=NAME.
"""

from typing import Any

from alembic import context
from alembic.util import CommandError
from sqlalchemy import Connection

from graphstore.errors import GraphstoreError
from graphstore.store.schema import create_views, digest, metadata
from graphstore.store.store import find_backend


def migrate(connection: Connection) -> None:
    """Run the revisions; if any ran, replace the views."""
    applied: list[Any] = []
    context.configure(
        connection=connection,
        target_metadata=metadata,
        render_as_batch=True,
        on_version_apply=lambda step, **_: applied.append(step),
    )
    with context.begin_transaction():
        context.run_migrations()
        if applied:
            create_views(connection)
            # Earlier versions stored digests of the SQL of tables.
            connection.execute(digest.delete().where(digest.c.name.startswith("schema.")))


def by_hand(address: str | None) -> None:
    """Migrate the database at an address, for alembic's command line."""
    if not address:
        raise CommandError(
            "name the database: alembic -x db=FILE ..., or "
            "alembic -x db=postgresql://USER@HOST/DATABASE?schema=NAME ..."
        )
    try:
        place = find_backend(address).located()
        place.revision()  # raises an error if graphstore did not write it
        with place.explained("nothing was changed"), place.upgrading() as connection:
            migrate(connection)
    except GraphstoreError as error:
        raise CommandError(str(error)) from error


passed: Connection | None = context.config.attributes.get("connection")
if passed is not None:
    migrate(passed)
else:
    by_hand(context.get_x_argument(as_dictionary=True).get("db"))
