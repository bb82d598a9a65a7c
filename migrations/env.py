"""What alembic runs to bring a database up to date.

graphstore hands over the connection. By hand, from a checkout: alembic -x db=FILE upgrade head.
"""

from alembic import context
from graphstore.schema import create_views, metadata
from sqlalchemy import Connection, create_engine


def migrate(connection: Connection) -> None:
    """Run the revisions, then renew the views."""
    context.configure(connection=connection, target_metadata=metadata, render_as_batch=True)
    with context.begin_transaction():
        context.run_migrations()
        create_views(connection)


handed_over: Connection | None = context.config.attributes.get("connection")
if handed_over is not None:
    migrate(handed_over)
else:
    file = context.get_x_argument(as_dictionary=True)["db"]
    with create_engine(f"sqlite:///{file}").connect() as opened:
        migrate(opened)
        opened.commit()
