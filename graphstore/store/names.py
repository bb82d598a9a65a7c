"""Reading of the table `move`."""

from sqlalchemy import Connection, select

from graphstore.store.schema import move


def read_names(connection: Connection) -> dict[int, str]:
    """Return the names of moves by number, ascending; empty if the file is older than the table."""
    version = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    if str(version) < "0005":
        return {}
    rows = connection.execute(select(move).order_by(move.c.move))
    return {number: str(name) for number, name in rows if isinstance(number, int)}  # else damage
