"""What alembic runs to bring a database up to date.

graphstore hands over the connection. By hand, from a checkout: alembic -x db=FILE upgrade head.
"""

from alembic import context
from sqlalchemy import Connection, create_engine

from graphstore.store.digests import of_row
from graphstore.store.schema import create_views, digest, metadata, objects


def migrate(connection: Connection) -> None:
    """Run the revisions, then renew the views, and the digests of all that was made."""
    context.configure(connection=connection, target_metadata=metadata, render_as_batch=True)
    with context.begin_transaction():
        context.run_migrations()
        create_views(connection)
        connection.execute(digest.delete().where(digest.c.name.startswith("schema.")))
        made = of_row("schema", objects(connection))
        rows = [{"name": name, "blake2b": value} for name, value in made.items()]
        connection.execute(digest.insert(), rows)


handed_over: Connection | None = context.config.attributes.get("connection")
if handed_over is not None:
    migrate(handed_over)
else:
    file = context.get_x_argument(as_dictionary=True)["db"]
    with create_engine(f"sqlite:///{file}").connect() as opened:
        migrate(opened)
        opened.commit()
