"""A temporary PostgreSQL server for tests, which listens at a Unix socket only."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import psycopg
import pytest
from stored import new_digests

from graphstore.store.sqlite.structure import made

OWNER = "me"
numbers = count(1)


def programs() -> Path | None:
    """Return the folder of the newest installed server."""
    found = [Path(path).resolve().parent for path in [shutil.which("initdb")] if path]
    found += Path("/usr/lib/postgresql").glob("*/bin")
    whole = [folder for folder in found if (folder / "initdb").exists()]
    return max(
        whole, key=lambda folder: [int(n) for n in folder.parts if n.isdigit()], default=None
    )


def user() -> str | None:
    """Return the unprivileged user that runs the server, which refuses root; None if not root."""
    if os.geteuid() != 0:
        return None
    import pwd

    known = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody") if name in known)


@contextmanager
def server() -> Iterator[str]:
    """Run a server and yield the address of its database; stop it at the end, also on errors."""
    folder = programs()
    if folder is None:
        reason = "no PostgreSQL server is installed"
        if os.environ.get("GRAPHSTORE_POSTGRES") == "required":
            pytest.fail(reason)
        pytest.skip(reason)
    home = Path(tempfile.mkdtemp(prefix="pg"))  # a socket's path is short
    who = user()
    if who is not None:
        shutil.chown(home, who)
    home.chmod(0o755)
    data, log = home / "data", home / "log"
    run = {"user": who, "cwd": home, "stdout": subprocess.DEVNULL}
    process = None
    try:
        subprocess.run(
            [
                *(folder / "initdb", "-D", data, "-U", OWNER, "-A", "trust", "-E", "UTF8"),
                *("--locale=C", "--no-sync", "--no-instructions"),
            ],
            check=True,
            **run,
        )
        settings = {"fsync": "off", "listen_addresses": "", "unix_socket_directories": home}
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with log.open("wb") as said:
            process = subprocess.Popen(
                [folder / "postgres", "-D", data, *options], stderr=said, **run
            )
        address = f"postgresql://{OWNER}@/games?host={home}"
        started(process, f"postgresql://{OWNER}@/postgres?host={home}", log)
        yield address
    finally:
        if process is not None:
            if process.poll() is None and not stopped(process):
                process.kill()
            process.wait(10)
        shutil.rmtree(home, ignore_errors=True)


def started(process: subprocess.Popen, address: str, log: Path) -> None:
    """Wait until a server answers, and create its database."""
    while True:
        try:
            with psycopg.connect(address, autocommit=True) as connection:
                connection.execute("CREATE DATABASE games")
                return
        except psycopg.OperationalError:
            assert process.poll() is None, log.read_text()
            try:
                process.wait(0.02)
            except subprocess.TimeoutExpired:
                continue


def stopped(process: subprocess.Popen) -> bool:
    """Stop a server without waiting for its clients; return whether it stopped."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        return False
    return True


def place(address: str) -> str:
    """Return the address of a new schema."""
    return f"{address}&schema=place{next(numbers)}"


def database(address: str, template: str = "template1") -> str:
    """Create a new database on the same server; return its address."""
    name = f"games_{next(numbers)}"  # not by chance in a digest
    ask(address, f"CREATE DATABASE {name} TEMPLATE {template}")
    return address.replace("/games", f"/{name}", 1)


def name(address: str) -> str:
    """Return the name of the database of an address."""
    return address.partition("?")[0].rpartition("/")[2]


def ask(address: str, statement: str) -> list:
    """Return the rows of one or more statements, without graphstore."""
    with psycopg.connect(address.partition("&schema=")[0], autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


OLDER_PLAYED = "DROP TABLE played; " + (
    made("0006")["played"]
    .partition(" WITHOUT")[0]
    .replace("TEXT", 'TEXT COLLATE "C"')
    .replace("side INTEGER", "side SMALLINT")
    .replace("winner INTEGER", "winner SMALLINT")
    .replace("number INTEGER", "number BIGINT")
)
"""SQL that puts a table with a row for each game in the place of the one with blocks."""


def make_older_digests(place: str) -> None:
    """Give a game the digests of older versions."""
    address, _, name = place.partition("&schema=")
    there = f"{address}&options=-csearch_path%3D{name}"
    ask(there, "; ".join(new_digests(lambda query: ask(there, query))))
