"""The server: it listens, says where, and ends when it is told to."""

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

PATIENCE = 4  # seconds for what is being answered, when the end comes
WHOLE_WITHIN = 30  # seconds for a request to arrive in


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
    """Return a socket that listens.

    Args:
        host: a name or an address.
        port: 0 is any free one.

    Raises:
        AddressError: it cannot be listened at.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        return socket.create_server(found[0][4][:2], family=found[0][0])
    except (OSError, UnicodeError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        taken = getattr(error, "errno", None) in (errno.EADDRINUSE, errno.EACCES)
        hint = "; --port 0 takes any free port" * taken
        raise AddressError(f"{host} port {port}: {reason.lower()}{hint}") from error


def address(host: str, listening: socket.socket) -> str:
    """Return where a browser on this machine finds the server."""
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
    # Datasette drops coroutines when a facet fails, which the page says, or when it is to end.
    warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
    with _ended_by_signals(server):
        server.run(sockets=[listening])


def show(url: str) -> None:
    """Open an address in the browser, which may take its time."""
    threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()


class Connection(H11Protocol):
    """uvicorn's; it is closed if a request on it does not arrive in time, however it trickles."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take a part of a request, and wait for the rest of it, if there is one."""
        super().data_received(data)
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._wait_no_more()
        elif self._late is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        self._wait_no_more()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._late = self.loop.call_later(WHOLE_WITHIN, self.transport.close)

    def _wait_no_more(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


class _Server(uvicorn.Server):
    """uvicorn's; the explorer warms up as soon as it listens, and stops at the first signal."""

    def __init__(self, config: uvicorn.Config, explorer: Explorer) -> None:
        super().__init__(config)
        self._explorer = explorer

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._explorer.stop()  # or what waits for a thread would be worked off first
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._warming = asyncio.create_task(self._explorer.warm())


@contextmanager
def _ended_by_signals(server: uvicorn.Server) -> Iterator[None]:
    """Let the signals that end a server end it, and nothing else.

    uvicorn has its own handlers while it runs, and afterwards raises the signals again.
    """

    def end(_number: int, _frame: FrameType | None) -> None:
        server.should_exit = True

    signals = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, end) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
