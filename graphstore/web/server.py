"""The web server: it listens at an address, and serves until SIGINT or SIGTERM."""

import asyncio
import errno
import signal
import socket
import threading
import warnings
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from types import FrameType

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from graphstore.errors import AddressError
from graphstore.web.application import Explorer

PATIENCE = 4  # seconds for open requests when the server stops
WHOLE_WITHIN = 30  # seconds in which a request must arrive completely
MOST_CONNECTIONS = 500  # Linux lets a process open 1,024 files by default
BACKLOG = 100  # connections accepted at once, up to four times before one is closed


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 takes any free port.

    Raises:
        AddressError: the host or the port cannot be used.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        return socket.create_server(found[0][4][:2], family=found[0][0])
    except (OSError, UnicodeError, OverflowError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).partition(" (while")[0]
        taken = getattr(error, "errno", None) in (errno.EADDRINUSE, errno.EACCES)
        hint = "; --port 0 takes any free port" * taken
        raise AddressError(
            f"cannot listen at {host or repr(host)} port {port}: {reason.lower()}{hint}"
        ) from error


def address(host: str, listening: socket.socket) -> str:
    """Return the URL of the server for a browser on this machine."""
    name = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)  # noqa: S104
    port = listening.getsockname()[1]
    return f"http://[{name}]:{port}/" if ":" in name else f"http://{name}:{port}/"


def serve(explorer: Explorer, listening: socket.socket, *, behind_proxy: bool = False) -> None:
    """Serve games until SIGINT or SIGTERM; behind a proxy, obey its X-Forwarded headers."""
    config = uvicorn.Config(
        explorer.app(),
        log_level="critical",
        access_log=False,
        lifespan="off",
        timeout_graceful_shutdown=PATIENCE,
        server_header=False,
        backlog=BACKLOG,
        ws="none",
        proxy_headers=behind_proxy,
        http=Connection,
    )
    server = _Server(config, explorer)
    # Datasette drops coroutines when a facet fails (the page says so) and when the server stops.
    warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
    with _stopped_by_signals(server):
        server.run(sockets=[listening])


def show(url: str) -> None:
    """Open a URL in the browser, without waiting for it."""
    threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()


class Connection(H11Protocol):
    """An HTTP connection that is closed if a request does not arrive completely in time.

    If there are too many, the one is closed that has waited longest for its request.
    """

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer for the first request."""
        super().connection_made(transport)
        self._wait()
        if len(self.connections) > MOST_CONNECTIONS:
            all_of_them = (each for each in self.connections if isinstance(each, Connection))
            oldest = min(all_of_them, key=Connection._closes_at)
            oldest._stop_waiting()
            oldest.transport.close()

    def data_received(self, data: bytes) -> None:
        """Receive a part of a request; start or stop the timer."""
        super().data_received(data)
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._stop_waiting()
        elif self._late is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._late = self.loop.call_later(WHOLE_WITHIN, self.transport.close)

    def _closes_at(self) -> float:
        return inf if self._late is None else self._late.when()

    def _stop_waiting(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


class _Server(uvicorn.Server):
    """A uvicorn server: it warms the explorer up once it listens, and stops it at a signal."""

    def __init__(self, config: uvicorn.Config, explorer: Explorer) -> None:
        super().__init__(config)
        self._explorer = explorer

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._explorer.stop()  # else requests that wait for a thread would be answered first
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._warming = asyncio.create_task(self._explorer.warm())


@contextmanager
def _stopped_by_signals(server: uvicorn.Server) -> Iterator[None]:
    """Let signals only stop the server; uvicorn raises them again after it has stopped."""

    def end(_number: int, _frame: FrameType | None) -> None:
        server.should_exit = True

    signals = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, end) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
