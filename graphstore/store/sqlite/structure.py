"""The SQL of the objects in a SQLite file."""

import sqlite3
from functools import cache

from sqlalchemy import create_engine
from sqlalchemy.pool import StaticPool

from graphstore.store import schema
from graphstore.store.migrating import create


def objects(connection: sqlite3.Connection) -> dict[str, str]:
    """Return the SQL of the tables and views, and of all that writing to agents would use."""
    names = ", ".join("?" * len(schema.OBJECTS))
    tables = ", ".join("?" * len(schema.AGENT_TABLES))
    rows = connection.execute(
        f"SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND (name IN ({names}) "
        f"OR lower(tbl_name) IN ({tables}))",
        (*schema.OBJECTS, *map(str, schema.AGENT_TABLES)),
    )
    return {str(name): str(sql) for name, sql in rows}


@cache
def made(revision: str) -> dict[str, str]:
    """Return the SQL of the objects that the migrations make, up to a revision."""
    driver = sqlite3.connect(":memory:")
    engine = create_engine("sqlite://", creator=lambda: driver, poolclass=StaticPool)
    with engine.begin() as connection:
        create(connection, revision)
    try:
        return objects(driver)
    finally:
        engine.dispose()
