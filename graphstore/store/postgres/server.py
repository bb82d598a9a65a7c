"""PostgreSQL servers: addresses, connections, conversion of values, and errors."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple
from urllib.parse import quote, unquote

import psycopg
from psycopg import adapters, errors
from psycopg.abc import AdaptContext
from psycopg.adapt import AdaptersMap, Loader
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types.string import StrDumper, TextLoader
from sqlalchemy.exc import DBAPIError

from graphstore.errors import NotAStoreError, StoreError
from graphstore.util.forks import closed_on_error

MARK: Final = "graphstore: a solved game"
"""The comment on a schema that graphstore created; only such a schema is replaced."""

LONGEST = 63  # bytes of a name in PostgreSQL
_DEFAULTS: dict[str, str | int | None] = {
    "client_encoding": "utf8",
    "connect_timeout": 10,
    "application_name": "graphstore",
}
_SECRETS = ("password", "sslpassword", "passfile", "sslkey", "oauth_client_secret")


class Address(NamedTuple):
    """The address of a database and of a schema in it."""

    conninfo: str  # for libpq, with the password
    shown: str  # the address without passwords and without the schema
    schema: str | None  # None: the only schema with a game, or the one of the game's name

    def __str__(self) -> str:
        if self.schema is None:
            return self.shown
        return f"{self.shown}{'&' if '?' in self.shown else '?'}schema={quote(self.schema, '(),')}"


def read_address(text: str) -> Address:
    """Return a ``postgresql://`` address, parsed; ``schema=NAME`` in it is not passed to libpq.

    >>> str(read_address("postgresql://me:secret@host/games?schema=mnk(4,4,4)"))
    'postgresql://me@host/games?schema=mnk(4,4,4)'
    """
    base, _, query = text.partition("?")
    given = [part.partition("=") for part in query.split("&") if part]
    names = [unquote(value) for key, _, value in given if key == "schema"]
    rest = [(key, value) for key, _, value in given if key != "schema"]
    open_to_all = [f"{key}={value}" for key, value in rest if unquote(key) not in _SECRETS]
    # Hide the password of a malformed address, too.
    shown = re.sub(r"^(\w+://[^/@:]*):.*@", r"\1@", base) + "?" * bool(open_to_all)
    shown += "&".join(open_to_all)
    whole = base + "?" * bool(rest) + "&".join(f"{key}={value}" for key, value in rest)
    try:
        settings = conninfo_to_dict(whole)
    except (psycopg.Error, UnicodeError) as error:
        what = " ".join(str(error).split())
        hidden = "it is not an address that libpq reads" if "@" in base else what
        raise StoreError(f"{shown}: {hidden}") from error
    settings = {**_DEFAULTS, **settings}
    return Address(
        make_conninfo("", **settings), shown, check_name(names[-1], shown) if names else None
    )


def check_name(name: str, shown: str) -> str:
    """Return the name of a schema; raise StoreError if PostgreSQL cannot store it."""
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        size = 0
    if not 0 < size <= LONGEST or "\0" in name or name == "$user":  # $user means the role
        raise StoreError(
            f"{shown}: a schema cannot be called {name!r:.100}; a name has 1 to {LONGEST} bytes; "
            f"add ?schema=NAME to the address"
        )
    return name


def connect(
    address: Address,
    *,
    reads: bool,
    views: Iterable[str] | None = None,
    autocommit: bool = False,
) -> psycopg.Connection[Any]:
    """Return a connection whose search path is pg_catalog.

    With `reads` it is read-only, and each transaction sees one state of the database. With `views`,
    which it creates, the search path is the address's schema.
    """
    connection = psycopg.connect(address.conninfo, context=_VALUES, autocommit=True)
    with closed_on_error(connection.close):
        path = quoted(address.schema) if views is not None and address.schema else "pg_catalog"
        connection.execute(f"SET search_path TO {path}".encode())
        # Other settings would change the SQL of views, texts with a backslash, and reals.
        connection.execute(
            "SET quote_all_identifiers = off; SET standard_conforming_strings = on; "
            "SET extra_float_digits = 1"
        )
        for view in views or ():
            connection.execute(view.encode())
        connection.read_only = reads
        if reads:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.autocommit = autocommit
    return connection


def begin(connection: psycopg.Connection[Any]) -> list[str]:
    """Begin a transaction for reading, and return the digests in the table game.

    The lock comes first: waiting for it takes no snapshot, so a build that ends meanwhile is seen.
    """
    with connection.cursor() as cursor:
        cursor.execute("LOCK TABLE game IN ACCESS SHARE MODE; SELECT digest FROM game")
        cursor.nextset()
        return [digest for (digest,) in cursor]


class _Truth(Loader):
    """A loader of booleans as SQLite returns them: 1 or 0."""

    def load(self, data: Any) -> int:
        return int(bytes(data) == b"t")


class _BinaryTruth(_Truth):
    format = psycopg.pq.Format.BINARY

    def load(self, data: Any) -> int:
        return bytes(data)[0]


class _Number(Loader):
    """A loader of numerics, such as sums and means, as SQLite returns them: int or float."""

    def load(self, data: Any) -> int | float:
        text = bytes(data).decode()
        return int(text) if text.lstrip("-").isdecimal() else float(text)


class _Text(StrDumper):
    """A dumper of texts that refuses zero characters, which PostgreSQL cannot store."""

    def dump(self, obj: str) -> Any:
        at = obj.find("\0")
        if at >= 0:
            raise UnicodeEncodeError("utf-8", obj, at, at + 1, "PostgreSQL has no such character")
        return super().dump(obj)


class _Values(AdaptContext):
    """Conversion of values to those of SQLite: integers, doubles, texts, bytes and None."""

    connection = None

    def __init__(self) -> None:
        self._adapters = AdaptersMap(adapters)
        kept = {"int2", "int4", "int8", "oid", "float4", "float8", "bytea"}
        for kind in adapters.types:
            if kind.name not in kept:
                self._adapters.register_loader(kind.oid, TextLoader)
            if kind.array_oid:
                self._adapters.register_loader(kind.array_oid, TextLoader)
        self._adapters.register_loader("bool", _Truth)
        self._adapters.register_loader("bool", _BinaryTruth)
        self._adapters.register_loader("numeric", _Number)
        self._adapters.register_dumper(str, _Text)

    @property
    def adapters(self) -> AdaptersMap:
        return self._adapters


_VALUES = _Values()
_CHANGED = (errors.UndefinedTable, errors.UndefinedColumn, errors.InvalidSchemaName)


@contextmanager
def explained(address: Address, consequence: str = "") -> Iterator[None]:
    """Turn errors of the server and the connection into a StoreError of one line."""
    try:
        yield
    except StoreError:
        raise
    except (DBAPIError, psycopg.Error, OSError, UnicodeError) as error:
        reason = getattr(error, "orig", None) or error
        if isinstance(reason, errors.QueryCanceled) and "user request" in str(reason):
            raise KeyboardInterrupt from None
        then = f"{'; ' * bool(consequence)}{consequence}"
        what = message_of(reason)
        if isinstance(reason, _CHANGED):
            raise NotAStoreError(f"{address} is damaged, or changed just now: {what}{then}") from (
                error
            )
        if isinstance(reason, errors.LockNotAvailable | errors.DeadlockDetected):
            what = "another program is writing to it or reading it; try again when it is done"
        raise StoreError(f"{address}: {what}{then}") from error


def message_of(reason: BaseException) -> str:
    """Return the message of the driver or the server, as one line."""
    message = getattr(getattr(reason, "diag", None), "message_primary", None)
    if message is None:
        message = str(reason) or type(reason).__name__
        if isinstance(reason, psycopg.OperationalError) and not reason.sqlstate:
            message = message.partition("Multiple connection attempts failed")[0]
    return " ".join(message.replace("\n\t", "; ").split()).rstrip(".:?")


def quoted(name: str) -> str:
    """Return a name quoted for SQL.

    >>> quoted('mnk(4,4,4)')
    '"mnk(4,4,4)"'
    """
    return '"' + name.replace('"', '""') + '"'
