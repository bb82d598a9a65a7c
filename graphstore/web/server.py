"""The server: it listens at an address, and serves until SIGINT or SIGTERM."""

import asyncio
import errno
import signal
import socket
import threading
import warnings
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from types import FrameType

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from graphstore.errors import AddressError
from graphstore.web.application import Explorer

PATIENCE = 4  # seconds to answer the last requests when it ends
WHOLE_WITHIN = 30  # seconds in which a request must arrive


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address.

    >>> is_loopback("localhost"), is_loopback("127.0.0.2"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens; port 0 is any free one. AddressError says why it cannot."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        return socket.create_server(found[0][4][:2], family=found[0][0])
    except (OSError, UnicodeError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        taken = getattr(error, "errno", None) in (errno.EADDRINUSE, errno.EACCES)
        hint = "; --port 0 takes any free port" * taken
        raise AddressError(f"{host} port {port}: {reason.lower()}{hint}") from error


def address(host: str, listening: socket.socket) -> str:
    """Return the URL at which a browser on this machine finds the server."""
    name = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)  # noqa: S104
    port = listening.getsockname()[1]
    return f"http://[{name}]:{port}/" if ":" in name else f"http://{name}:{port}/"


def serve(explorer: Explorer, listening: socket.socket) -> None:
    """Serve games until SIGINT or SIGTERM."""
    config = uvicorn.Config(
        explorer.app(),
        log_level="critical",
        access_log=False,
        lifespan="off",
        timeout_graceful_shutdown=PATIENCE,
        server_header=False,
        http=Connection,
    )
    server = _Server(config, explorer)
    # Datasette drops coroutines when a facet fails, which the page says, or when it ends.
    warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
    with _ended_by_signals(server):
        server.run(sockets=[listening])


def show(url: str) -> None:
    """Open a URL in the browser, without waiting for it."""
    threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()


class Connection(H11Protocol):
    """A connection that is closed if a request does not arrive whole in time."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start to wait for a request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take a part of a request, and wait for the rest, if any."""
        super().data_received(data)
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._stop_waiting()
        elif self._late is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop to wait."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._late = self.loop.call_later(WHOLE_WITHIN, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


class _Server(uvicorn.Server):
    """A server whose explorer warms up once it listens, and stops at the first signal."""

    def __init__(self, config: uvicorn.Config, explorer: Explorer) -> None:
        super().__init__(config)
        self._explorer = explorer

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._explorer.stop()  # or all that waits for a thread would be answered first
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._warming = asyncio.create_task(self._explorer.warm())


@contextmanager
def _ended_by_signals(server: uvicorn.Server) -> Iterator[None]:
    """Let signals only end the server; uvicorn raises them again after it has ended."""

    def end(_number: int, _frame: FrameType | None) -> None:
        server.should_exit = True

    signals = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, end) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
