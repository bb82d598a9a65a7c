"""The ASGI application: Datasette over solved games, read-only."""

import re
import sqlite3
from collections.abc import Container, Iterable
from contextlib import suppress
from copy import copy
from pathlib import Path
from secrets import token_hex
from threading import Event
from typing import Any, Final
from urllib.parse import parse_qsl

from datasette.app import Datasette
from datasette.database import Database, QueryInterrupted
from datasette.plugins import pm
from datasette.url_builder import Urls
from datasette.utils import tilde_encode
from datasette.utils.asgi import asgi_send
from datasette.views.base import DatasetteError

from graphstore.errors import GraphstoreError, StoreError, shown
from graphstore.store.store import Store
from graphstore.web import addresses, assets, caching, hooks
from graphstore.web.compression import compressing
from graphstore.web.hosts import Hosts, host_of
from graphstore.web.naming import is_file, name_of
from graphstore.web.tables.databases import AS_CSV, LARGE, GameFile
from graphstore.web.tables.descriptions import tables
from graphstore.web.tables.statements import HAS_SQL, Threads, has_sql

# Importing Datasette turns these on for the whole process; pages and commands show the errors.
sqlite3.enable_callback_tracebacks(False)

HERE = Path(__file__).parent
TAKEN: Final = ("_internal", "_memory", "-", ".", "..")
ROUTES: Final = re.compile(r"\^?/(\$|\(|favicon|-/(boards|explore|graph/|graphstore/|static/))")
"""The beginnings of the routes that pages need; Datasette's others tell about the machine."""

NO_BODY: Final = "this server reads no request bodies: send none"
READING: Final = {"view-instance", "view-database", "view-table", "view-query", "execute-sql"}
MOST_DESCRIPTIONS: Final = 1000  # in the cache; requests for missing tables add some, too
MOST_PARAMETERS: Final = 100  # Datasette's time grows with the square of their number
MOST_FACETS: Final = 12  # each may take up to its time limit
FACET_KINDS: Final = {"_facet", "_facet_array", "_facet_date", "_facet_size"}
SETTINGS: Final = {
    "allow_download": False,  # a copy made while an agent is trained could be inconsistent
    "default_cache_ttl": 0,
    "facet_time_limit_ms": 1500,
    "max_csv_mb": 0,  # no limit: CSV is streamed, a thousand rows at a time
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
"""Browsers load nothing from other hosts; Datasette's pages have inline scripts and styles."""


class _Internal(Database):  # type: ignore[misc]  # Datasette ships no types
    """Datasette's internal database, in memory; it lists its connections, to close them."""

    def connect(self, write: bool = False) -> sqlite3.Connection:
        connection: sqlite3.Connection = super().connect(write)
        self._all_file_connections.append(connection)
        return connection


class _Urls(Urls):  # type: ignore[misc]  # Datasette ships no types
    """Addresses, also of games without tables: those pages say where the tables are."""

    def database(self, database: str, format: str | None = None) -> Any:  # noqa: A002
        return self.path(tilde_encode(database), format=format)


class Explorer(Datasette):  # type: ignore[misc]  # Datasette ships no types
    """A Datasette that serves games; `close` closes their stores, too."""

    def __init__(self, stores: Iterable[Store], hosts: Hosts) -> None:
        named = by_name(stores)
        self.hosts = hosts
        self.stopping = False
        self.searches: set[Event] = set()
        self.statements = Threads()
        self._started = token_hex()
        self._schemas_of: object = None
        self._descriptions: dict[tuple[Any, ...], Any] = {}
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
        self._named = named
        self.files_served = {
            name: GameFile(self, store) for name, store in named.items() if is_file(store)
        }
        for name, file in self.files_served.items():
            self.add_database(file, name=name)

    @property
    def stores(self) -> dict[str, Store]:
        """The stores by name; those of `files_served` have tables, too."""
        return self._named | {name: file.store for name, file in self.files_served.items()}

    @property
    def urls(self) -> _Urls:
        """The addresses of pages."""
        return _Urls(self)

    def app(self) -> Any:
        """Return the ASGI application."""
        inner = super().app()

        async def application(scope: Any, receive: Any, send: Any) -> None:
            current = b""

            async def send_with_policy(message: Any) -> None:
                if message["type"] == "http.response.start":
                    given = {name.lower() for name, _ in message.get("headers", [])}
                    # A page may be stricter.
                    more = [each for each in HEADERS if each[0] not in given]
                    headers = [*message.get("headers", []), *more]
                    if current and message["status"] == 200:
                        headers = caching.tagged(headers, current)
                    if assets.unchanging(scope["path"], scope["query_string"].decode("latin-1")):
                        headers = [each for each in headers if each[0].lower() != b"cache-control"]
                        headers.append(assets.UNCHANGING)
                    message = {**message, "headers": headers}
                await send(message)

            if scope["type"] != "http":
                await send({"type": "websocket.close"})
                return
            send = compressing(scope, send)
            refused = refusal(scope, self.hosts, self.files_served)
            if refused is not None:  # its body may still come, so the connection is closed
                why, status = refused
                closed = {"connection": "close"}
                await asgi_send(send_with_policy, f"{why}\n", status, headers=closed)
                return
            for file in self.files_served.values():
                file.refresh()
            AS_CSV.set(scope["path"].endswith(".csv"))
            HAS_SQL.set(has_sql(scope["query_string"]))
            if caching.lasting(scope["path"]) and not HAS_SQL.get():
                stamps = [file.stamp for file in self.files_served.values()]
                if len(stamps) < len(self._named):
                    stamps.append(token_hex())  # a game in PostgreSQL may have changed
                current = caching.tag(self._started, stamps)
                if caching.known(scope["headers"], current):
                    same = [(caching.NAME, current), (b"cache-control", b"no-cache")]
                    await send({"type": "http.response.start", "status": 304, "headers": same})
                    await send({"type": "http.response.body"})
                    return
            headers = [header for header in scope["headers"] if header[0] != b"cookie"]  # not used
            await inner({**scope, "headers": headers}, receive, send_with_policy)

        return application

    def _routes(self) -> list[tuple[re.Pattern[str], Any]]:
        return [each for each in super()._routes() if ROUTES.match(each[0].pattern)]

    async def permission_allowed(
        self, actor: Any, action: str, resource: Any = None, default: bool = False
    ) -> bool:
        """Return whether an action is allowed: users may read the games, and do nothing else."""
        database = resource[0] if isinstance(resource, tuple) else resource
        return action in READING and database != "_internal"

    def metadata(self, *given: Any, **named: Any) -> Any:
        """Return the descriptions of tables and columns, cached, because merging is slow."""
        key = (given, *sorted(named.items()))
        if key not in self._descriptions:
            if len(self._descriptions) >= MOST_DESCRIPTIONS:
                self._descriptions.clear()
            self._descriptions[key] = super().metadata(*given, **named)
        return copy(self._descriptions[key])

    async def refresh_schemas(self) -> None:
        """Refresh Datasette's list of tables, but only after a file has changed."""
        now = [file.stamp for file in self.files_served.values()]
        if now != self._schemas_of:
            await super().refresh_schemas()
            self._schemas_of = now

    async def warm(self) -> None:
        """Load the slowest pages once, so that their first request is quick."""
        failures = (DatasetteError, QueryInterrupted, sqlite3.Error, GraphstoreError)
        with suppress(*failures):  # pages show the error
            await self.refresh_schemas()
        pages = [self.urls.path("/")]
        pages += [self.urls.path(addresses.write(name)) for name in self._named]
        for name, file in self.files_served.items():
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
        """Interrupt the running statements and searches, and start no other statements."""
        self.stopping = True
        for search in [*self.searches]:
            search.set()
        for file in self.files_served.values():
            file.interrupt()

    def close(self) -> None:
        """Stop the threads, and close all databases and stores."""
        self.stop()
        self.statements.close()
        self.executor.shutdown(cancel_futures=True)  # waits for running ones
        for database in self.databases.values():
            database.close()
        for store in self.stores.values():
            store.close()


def refusal(scope: Any, hosts: Hosts, games: Container[str]) -> tuple[str, int] | None:
    """Return (message, status) if a request is refused before Datasette reads it, else None."""
    given = dict(scope["headers"])
    named = [value for name, value in scope["headers"] if name == b"host"]
    host = host_of(named[0].decode("latin-1")) if len(named) == 1 else None
    if host is None:
        return "the Host header is missing, repeated or malformed", 400
    if not hosts.include(host):
        return f"this server does not answer for {shown(host)}; --allow-host NAME adds a name", 421
    if not scope["path"].startswith("/"):
        return "the address of a page begins with /", 400
    if b"transfer-encoding" in given:
        return NO_BODY, 400
    if scope["method"] not in ("GET", "HEAD"):
        return "this server is read-only: use GET or HEAD", 405
    if given.get(b"content-length", b"0") != b"0":
        return NO_BODY, 400
    site, kind = (given.get(name) for name in (b"sec-fetch-site", b"sec-fetch-dest"))
    if site == b"cross-site" and kind != b"document":
        return "pages of other sites may link to this server, but not load from it", 403
    if not scope.get("raw_path", b"").isascii():
        return "the address is not ASCII: percent-encode other characters, as in %C3%A9", 400
    query = scope["query_string"].decode("latin-1")
    if query.count("&") >= MOST_PARAMETERS:
        return f"too many parameters: an address may have up to {MOST_PARAMETERS}", 400
    pairs, path = parse_qsl(query, keep_blank_values=True), scope["path"]
    if (
        path.endswith(".csv")
        and path[1:-4] in games
        and not any(each[0] == "sql" and each[1] for each in pairs)
    ):
        return "a game has no rows: name a table, as in /GAME/state.csv, or add ?sql=", 400
    facets = [name for name, _ in pairs if name.startswith("_facet")]
    if len(facets) > MOST_FACETS or not {*facets} <= FACET_KINDS:
        kinds = "_facet=, _facet_array= and _facet_date="
        return f"wrong facets: up to {MOST_FACETS} of {kinds} are allowed", 400
    return None


def by_name(stores: Iterable[Store]) -> dict[str, Store]:
    """Return the stores by their names.

    Raises:
        StoreError: two names are the same, or one is reserved or cannot be part of an address.
    """
    found: dict[str, Store] = {}
    for store in stores:
        name = name_of(store)
        at = store.address
        if name in found:
            both = f"{found[name].address} and {at}"
            raise StoreError(f"{both} would both be called {name}; rename one")
        if name in TAKEN:
            raise StoreError(f"{at} would be called {name}, a reserved name; rename the file")
        if not name.isprintable():
            raise StoreError(f"{at!r} has an unprintable name; rename the file")
        found[name] = store
    return found


def application(stores: Iterable[Store], hosts: Hosts | None = None) -> Explorer:
    """Return an explorer: a server runs its ``app()``; call `Explorer.close` at the end.

    It answers for `hosts`, by default this machine only.
    """
    if not pm.is_registered(hooks):
        pm.register(hooks, name="graphstore")
        # This plugin would print every error in a user's SQL, with all local variables.
        pm.unregister(name="datasette.handle_exception")
    return Explorer(stores, hosts or Hosts())
