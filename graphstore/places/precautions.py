"""What is done before a file is read that anybody may have written: it is data, and runs nothing.

SQLite runs the SQL of a file's views, triggers and computed columns, as far as others name them.
So on every connection it may call nothing that a program added, nor make texts without measure; and
a file is refused in which what graphstore reads by name is no plain table.
"""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from graphstore.errors import GraphstoreError, NotAStoreError, shown
from graphstore.schema import metadata, state

LONGEST: Final = 10_000_000
"""Bytes of a text, or of a row: the longest that graphstore writes has some thousands."""

UNFORESEEN: Final = (TypeError, ValueError, ArithmeticError, LookupError, AssertionError)
"""What reading cells leads to that are not of their column's kind."""

_TABLES: Final = {*metadata.tables, "alembic_version"}
_PLAIN: Final = re.compile(r"create table\s(?!.*\bas\b)", re.IGNORECASE | re.DOTALL)


def careful(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Return a connection to which the SQL in its file is no more than data."""
    connection.execute("PRAGMA trusted_schema = OFF")  # views call SQLite's harmless functions only
    connection.execute("PRAGMA cell_size_check = ON")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
    return connection


def refuse_traps(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a file whose tables are no plain tables: reading one would run SQL of others.

    Raises:
        NotAStoreError: one is a view or a virtual table, computes a column, or has a trigger.
    """
    master = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master")
    for kind, name, table, sql in master:
        fault = ""
        if kind == "trigger" and str(table).lower() in _TABLES:
            fault = f"{shown(str(table))} has a trigger, {shown(str(name))}"
        elif kind in ("table", "view") and str(name).lower() in _TABLES:
            plain = kind == "table" and _PLAIN.match(_without_winner(str(sql)))
            fault = "" if plain else f"{shown(str(name))} is no plain table"
        if fault:
            raise NotAStoreError(
                f"{path} is not as graphstore writes it: {fault}; what reads it would run "
                "the SQL of others"
            )


def damage(path: Path) -> str:
    """Return what SQLite finds wrong with a file, in one line; nothing where that is nothing.

    It looks at every page and at the kind of every cell, which takes as long as reading the file.
    """
    try:
        with closing(
            careful(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True))
        ) as c:
            (found,) = c.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.Error as error:
        found = error
    return "" if found == "ok" else " ".join(str(found).split())


@contextmanager
def blamed(path: Path) -> Iterator[None]:
    """Turn what a damaged file has led to into one line about it; what is a bug stays one.

    Raises:
        NotAStoreError: the file is damaged, and something failed that should not have.
    """
    try:
        yield
    except GraphstoreError:
        raise
    except UNFORESEEN as error:
        found = damage(path)
        if not found:
            raise
        raise NotAStoreError(f"{path} is damaged: {found}") from error


def _without_winner(sql: str) -> str:
    """Return the SQL of a table without the one computed column that there is."""
    return sql.replace(f"GENERATED ALWAYS AS ({_WINNER})", "")


_computed = state.c.winner.computed
assert _computed is not None
_WINNER: Final = str(_computed.sqltext)
