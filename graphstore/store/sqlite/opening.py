"""Safe opening of untrusted SQLite files, and one-line errors for them."""

import os
import re
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from traceback import walk_tb
from typing import Final

from graphstore.errors import GraphstoreError, NotAStoreError, StoreError, shown
from graphstore.store.format import TABLES, WINNER
from graphstore.util.files import uri
from graphstore.util.forks import closed_on_error


def connect(path: Path, how: str = "mode=ro", *, timeout: float = 5) -> sqlite3.Connection:
    """Return a connection to an existing file, read-only by default, that runs no code in it."""
    name = uri(path.absolute(), how)
    connection = sqlite3.connect(name, timeout=timeout, uri=True, check_same_thread=False)
    with closed_on_error(connection.close):
        connection.execute("PRAGMA trusted_schema = OFF")  # views call harmless functions only
        connection.execute("PRAGMA cell_size_check = ON")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
    return connection


def application_id(path: Path) -> int | None:
    """Return the application id in the header of a file, or None if it is not a SQLite file.

    SQLite must read it: if a process closes another descriptor of the file, it drops all its locks
    on it. `immutable` ignores locks and journals of other programs.
    """
    with closing(connect(path, "mode=ro&immutable=1")) as connection:
        try:
            return int(connection.execute("PRAGMA application_id").fetchone()[0])
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorname != "SQLITE_NOTADB":
                raise
            return None


@contextmanager
def explained(path: str | os.PathLike[str], consequence: str = "") -> Iterator[None]:
    """Turn errors of the database and the file system into a StoreError of one line."""
    try:
        yield
    except StoreError:
        raise
    except Exception as error:
        reason = getattr(error, "orig", None) or error  # SQLAlchemy's errors have the driver's
        if not isinstance(reason, sqlite3.Error | OSError | UnicodeDecodeError):
            raise
        what = getattr(reason, "strerror", None) or str(reason)
        if isinstance(reason, UnicodeDecodeError):  # a message of SQLite is not UTF-8
            what = bytes(reason.object).decode(errors="replace")
        what = " ".join(what.split())
        then = f"{'; ' * bool(consequence)}{consequence}"
        if what == "database is locked":
            what = "another program is writing to it; try again when it is done"
        damaged = type(reason) is sqlite3.DatabaseError  # SQLITE_CORRUPT or SQLITE_NOTADB
        if damaged or what.startswith(("no such", "malformed", "Could not decode")):
            raise NotAStoreError(f"{path} is damaged: {what}{then}") from error
        if getattr(reason, "sqlite_errorname", "") == "SQLITE_READONLY_ROLLBACK":
            what = f"another program was killed while it wrote; run: graphstore upgrade {path}"
        raise StoreError(f"{path}: {what}{then}") from error


LONGEST: Final = 10_000_000
"""The most bytes of a text or a row; those that graphstore writes have some thousands."""

_LIBRARIES: Final = {*sys.stdlib_module_names, "networkx", "numpy", "sqlalchemy"}
_UNFORESEEN: Final = (TypeError, ValueError, ArithmeticError, LookupError, AssertionError)
"""Errors that reading cells of a wrong type can cause."""

_TABLES: Final = {*TABLES, "alembic_version"}
_WINNER: Final = f"GENERATED ALWAYS AS ({WINNER})"
_PLAIN: Final = re.compile(r"create table\s(?!.*\bas\b)", re.IGNORECASE | re.DOTALL)


def refuse_traps(connection: sqlite3.Connection, path: Path) -> None:
    """Raise NotAStoreError if a table is a view, is virtual, computes columns or has a trigger."""
    master = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master")
    for kind, name, table, sql in master:
        fault = ""
        if kind == "trigger" and str(table).lower() in _TABLES:
            fault = f"{shown(str(table))} has a trigger, {shown(str(name))}"
        elif kind in ("table", "view") and str(name).lower() in _TABLES:
            plain = kind == "table" and _PLAIN.match(str(sql).replace(_WINNER, ""))
            fault = "" if plain else f"{shown(str(name))} is not a plain table"
        if fault:
            raise NotAStoreError(
                f"{path} is not as graphstore writes it: {fault}; reading it could run "
                "untrusted SQL"
            )


def damage(path: Path) -> str:
    """Read the whole file, and return the first fault that SQLite finds, or ""."""
    try:
        with closing(connect(path)) as connection:
            (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.Error as error:
        found = error
    return "" if found == "ok" else " ".join(str(found).split())


def blame(path: Path, error: BaseException) -> None:
    """Raise NotAStoreError if the file is damaged and this may have caused `error`."""
    if isinstance(error, _UNFORESEEN) and not isinstance(error, GraphstoreError) and _ours(error):
        found = damage(path)
        if found:
            raise NotAStoreError(f"{path} is damaged: {found}") from error


def _ours(error: BaseException) -> bool:
    """Return whether graphstore or its libraries raised an error, not the caller's code."""
    raised_in = ""
    for frame, _ in walk_tb(error.__traceback__):
        package = str(frame.f_globals.get("__name__")).partition(".")[0]
        raised_in = raised_in if package in _LIBRARIES else package
    return raised_in == "graphstore"
