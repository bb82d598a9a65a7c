"""The SQL of the objects in a SQLite file."""

import sqlite3
from functools import cache

from sqlalchemy import create_engine
from sqlalchemy.pool import StaticPool

from graphstore.store import schema
from graphstore.store.migrating import create


def objects(connection: sqlite3.Connection) -> dict[str, str]:
    """Return the SQL of the tables and views.

    For the tables of agents, which are written, also that of all indexes, triggers, and tables that
    refer to them.
    """
    ours = [*schema.OBJECTS, *map(str, schema.AGENT_TABLES)]
    names = ", ".join("?" * len(schema.OBJECTS))
    agents = ", ".join("?" * len(schema.AGENT_TABLES))
    rows = connection.execute(
        f"""
        SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND (
            name IN ({names}) OR lower(tbl_name) IN ({agents})
            OR name IN (SELECT m.name FROM sqlite_master AS m, pragma_foreign_key_list(m.name) AS f
                WHERE lower(f."table") IN ({agents})))
        """,
        (*ours, *ours[len(schema.OBJECTS) :]),
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
