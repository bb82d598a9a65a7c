"""The ASGI application: Datasette over solved games, which are only read."""

import platform
import sqlite3
import sys
from collections.abc import Iterable
from contextlib import suppress
from copy import copy
from importlib.metadata import version
from pathlib import Path
from secrets import token_hex
from typing import Any, Final
from urllib.parse import parse_qsl

from datasette.app import Datasette
from datasette.database import Database, QueryInterrupted
from datasette.plugins import pm
from datasette.utils.asgi import asgi_send
from datasette.views.base import DatasetteError

from graphstore.errors import GraphstoreError, StoreError
from graphstore.store.store import Store
from graphstore.web import addresses, caching, hooks
from graphstore.web.tables.databases import AS_CSV, LARGE, GameFile
from graphstore.web.tables.descriptions import tables
from graphstore.web.tables.statements import WRITTEN, Threads, written

# Importing Datasette turns them on for the whole process; pages and commands print the error.
sqlite3.enable_callback_tracebacks(False)

HERE = Path(__file__).parent
TAKEN: Final = ("_internal", "_memory", "-", ".", "..")
READ_ONLY: Final = "games are only read here: GET and HEAD, no other method\n"
READING: Final = {"view-instance", "view-database", "view-table", "view-query", "execute-sql"}
MOST_TOLD: Final = 1000  # cached descriptions, also of tables that do not exist
MOST_PARAMETERS: Final = 100  # Datasette's time grows with the square of their number
PARAMETERS: Final = f"an address has {MOST_PARAMETERS} parameters at most\n"
NOT_ASCII: Final = "an address is ASCII; other characters are written as %C3%A9\n"
MOST_FACETS: Final = 12  # each may take its time
FACET_KINDS: Final = ("_facet", "_facet_array", "_facet_date", "_facet_size")
FACETS: Final = (
    f"a page has {MOST_FACETS} facets at most, each as _facet=, _facet_array= or _facet_date=\n"
)
SETTINGS: Final = {
    "allow_download": False,  # a file in which an agent is being trained would arrive torn
    "default_cache_ttl": 0,
    "facet_time_limit_ms": 1500,
    "max_csv_mb": 0,  # a table as CSV is streamed, a thousand rows at a time
    "max_returned_rows": 1000,
    "num_sql_threads": 8,
    "sql_time_limit_ms": 3000,
    "suggest_facets": False,  # counting every column of a million rows takes seconds
}
HEADERS: Final = (
    (
        b"content-security-policy",
        b"default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
        b"img-src 'self' data:; frame-ancestors 'self'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
)
"""Browsers load nothing from elsewhere; Datasette's own pages have scripts and styles inline."""


class _Internal(Database):  # type: ignore[misc]  # it ships no types
    """Datasette's own database, in memory, with a list of its connections, so that all close."""

    def connect(self, write: bool = False) -> sqlite3.Connection:
        connection: sqlite3.Connection = super().connect(write)
        self._all_file_connections.append(connection)
        return connection


class Explorer(Datasette):  # type: ignore[misc]  # it ships no types
    """Datasette with the games that it serves; `close` closes their stores too."""

    def __init__(self, stores: Iterable[Store]) -> None:
        named = by_name(stores)
        self.stopping = False
        self.statements = Threads()
        self._started = token_hex()
        self._schemas_of: object = None
        self._told: dict[tuple[Any, ...], Any] = {}
        super().__init__(
            template_dir=str(HERE / "templates"),
            static_mounts=[("-/graphstore", str(HERE / "static"))],
            settings=SETTINGS,
            metadata={
                "title": "graphstore",
                "databases": {name: {"tables": tables()} for name in named},
            },
        )
        self.remove_database("_memory")
        self.remove_database("_internal")
        self.add_database(_Internal(self, memory_name=token_hex()), name="_internal")
        self.files_served = {name: GameFile(self, store) for name, store in named.items()}
        for name, file in self.files_served.items():
            self.add_database(file, name=name)

    @property
    def stores(self) -> dict[str, Store]:
        """The stores by the name of their file without its ending: Datasette's name for each."""
        return {name: file.store for name, file in self.files_served.items()}

    def app(self) -> Any:
        """Return the ASGI application."""
        inner = super().app()

        async def application(scope: Any, receive: Any, send: Any) -> None:
            current = b""

            async def send_with_policy(message: Any) -> None:
                if message["type"] == "http.response.start":
                    given = dict(message.get("headers", []))  # a page may be stricter
                    more = [each for each in HEADERS if each[0] not in given]
                    headers = [*message.get("headers", []), *more]
                    if current and message["status"] == 200:
                        headers = caching.tagged(headers, current)
                    message = {**message, "headers": headers}
                await send(message)

            if scope["type"] != "http":
                await send({"type": "websocket.close"})
                return
            refused = refusal(scope)
            if refused is not None:
                await asgi_send(send, *refused)
                return
            for file in self.files_served.values():
                file.refresh()
            AS_CSV.set(scope["path"].endswith(".csv"))
            WRITTEN.set(written(scope["query_string"]))
            if caching.lasting(scope["path"]) and not WRITTEN.get():
                stamps = [file.stamp for file in self.files_served.values()]
                current = caching.tag(self._started, stamps)
                if caching.known(scope["headers"], current):
                    same = [(caching.NAME, current), (b"cache-control", b"no-cache")]
                    await send({"type": "http.response.start", "status": 304, "headers": same})
                    await send({"type": "http.response.body"})
                    return
            headers = [header for header in scope["headers"] if header[0] != b"cookie"]  # of no use
            await inner({**scope, "headers": headers}, receive, send_with_policy)

        return application

    async def permission_allowed(
        self, actor: Any, action: str, resource: Any = None, default: bool = False
    ) -> bool:
        """Return whether an action is allowed: everybody may read the games, and nothing else."""
        database = resource[0] if isinstance(resource, tuple) else resource
        return action in READING and database != "_internal"

    def metadata(self, *given: Any, **named: Any) -> Any:
        """Return the descriptions of tables and columns, cached as they take time to merge."""
        asked = (given, *sorted(named.items()))
        if asked not in self._told:
            if len(self._told) >= MOST_TOLD:
                self._told.clear()
            self._told[asked] = super().metadata(*given, **named)
        return copy(self._told[asked])

    async def refresh_schemas(self) -> None:
        """Refresh Datasette's list of tables when a file has changed, not at every page."""
        now = [file.stamp for file in self.files_served.values()]
        if now != self._schemas_of:
            await super().refresh_schemas()
            self._schemas_of = now

    async def warm(self) -> None:
        """Load the slowest pages once, for which the first request would wait."""
        failures = (DatasetteError, QueryInterrupted, sqlite3.Error, GraphstoreError)
        with suppress(*failures):  # pages will show it
            await self.refresh_schemas()
        pages = [self.urls.path("/")]
        for name, file in self.files_served.items():
            pages.append(self.urls.path(addresses.write(name)))
            pages.append(f"{self.urls.table(name, 'state')}?_size=1")
            if file.store.info["states"] <= LARGE:
                pages.append(self.urls.table(name, "census"))
                pages.append(f"{self.urls.table(name, 'state')}?_size=1&_facet=ply&_facet=value")
        for page in pages:
            if self.stopping:
                return
            with suppress(*failures):
                await self.client.get(page)

    def stop(self) -> None:
        """End the statements that are running, and let no other begin."""
        self.stopping = True
        for file in self.files_served.values():
            file.interrupt()

    def close(self) -> None:
        """End the threads, and close all databases and stores."""
        self.stop()
        self.statements.close()
        self.executor.shutdown(cancel_futures=True)  # it waits for those that run
        for database in self.databases.values():
            database.close()
        for store in self.stores.values():
            store.close()

    def _versions(self) -> dict[str, Any]:
        """Return the answer for /-/versions; Datasette's own leaves a connection open."""
        return {
            "graphstore": version("graphstore"),
            "python": {"version": platform.python_version(), "full": sys.version},
            "datasette": {"version": version("datasette")},
            "sqlite": {"version": sqlite3.sqlite_version},
        }

    def _connected_databases(self) -> list[dict[str, Any]]:
        """Datasette's list for /-/databases, without the folders that the files are in."""
        return [
            {**each, "path": Path(each["path"]).name} for each in super()._connected_databases()
        ]


def refusal(scope: Any) -> tuple[str, int] | None:
    """Return the message and the status for a request that is refused unread, else None."""
    if scope["method"] not in ("GET", "HEAD"):
        return READ_ONLY, 405
    if not scope.get("raw_path", b"").isascii():
        return NOT_ASCII, 400
    query = scope["query_string"].decode("latin-1")
    if query.count("&") >= MOST_PARAMETERS:
        return PARAMETERS, 400
    names = [name for name, _ in parse_qsl(query, keep_blank_values=True)]
    facets = [name for name in names if name.startswith("_facet")]
    if len(facets) > MOST_FACETS or not {*facets} <= {*FACET_KINDS}:
        return FACETS, 400
    return None


def by_name(stores: Iterable[Store]) -> dict[str, Store]:
    """Return stores by the names of their files, which must be different and free: StoreError."""
    found: dict[str, Store] = {}
    for store in stores:
        name = store.path.stem
        if name in found:
            raise StoreError(
                f"{found[name].path} and {store.path} would both be called {name}; rename one"
            )
        if name in TAKEN:
            raise StoreError(f"{store.path} would be called {name}, which is taken; rename it")
        if not name.isprintable():
            raise StoreError(f"{str(store.path)!r} cannot stand in an address; rename it")
        found[name] = store
    return found


def application(stores: Iterable[Store]) -> Explorer:
    """Return Datasette over games; a server runs its ``app()``, and `Explorer.close` ends it."""
    if not pm.is_registered(hooks):
        pm.register(hooks, name="graphstore")
        # It would print every error in a user's SQL, with all local variables.
        pm.unregister(name="datasette.handle_exception")
    return Explorer(stores)
