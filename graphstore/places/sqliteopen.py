"""SQLite files opened to be read, and what goes wrong with them in one line."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.exc import DBAPIError

from graphstore.errors import NotAStoreError, StoreError
from graphstore.places.precautions import careful


def connect(path: Path, how: str = "") -> sqlite3.Connection:
    """Return a read-only connection of the standard library's driver."""
    uri = f"{path.absolute().as_uri()}?mode=ro{how}"
    return careful(sqlite3.connect(uri, uri=True, check_same_thread=False))


@contextmanager
def explained(path: str | os.PathLike[str], consequence: str = "") -> Iterator[None]:
    """Turn errors of the database and the file system into one line about the file."""
    try:
        yield
    except StoreError:
        raise
    except (DBAPIError, sqlite3.Error, OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "orig", None) or error
        what = getattr(reason, "strerror", None) or str(reason)
        if isinstance(reason, UnicodeDecodeError):  # of what SQLite itself would say
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
