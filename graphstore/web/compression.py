"""Answers compressed by gzip, for browsers on other machines that accept it."""

import re
import zlib
from collections.abc import Awaitable, Callable
from typing import Any, Final

from graphstore.web.hosts import is_address, is_loopback

Send = Callable[[Any], Awaitable[None]]

TEXT: Final = re.compile(rb"text/|application/(json|javascript)|image/svg")
LEVEL: Final = 5  # 240 kB of a table become 12 kB in 4 ms
GZIP: Final = 16 + zlib.MAX_WBITS  # zlib's number for gzip's format


def accepts(header: str) -> bool:
    """Return whether the header Accept-Encoding allows gzip.

    >>> [accepts(each) for each in ("br, GZip", "*", "gzip;q=0, *", "identity", "gzip; q=0.5")]
    [True, True, False, False, True]
    """
    qualities = {}
    for each in header.lower().replace(" ", "").split(","):
        name, _, quality = each.partition(";q=")
        qualities[name] = not re.fullmatch(r"0(\.0*)?", quality)
    return qualities.get("gzip", qualities.get("*", False))


def compressing(scope: Any, send: Send) -> Send:
    """Return `send`, or a function that compresses texts before it sends them."""
    host = (scope.get("client") or ("localhost",))[0]
    if not is_address(host) or is_loopback(host):
        return send
    header = b",".join(value for name, value in scope["headers"] if name == b"accept-encoding")
    accepted = accepts(header.decode("latin-1"))
    packer: Any = None

    async def send_compressed(message: Any) -> None:
        nonlocal packer
        if message["type"] == "http.response.start":
            headers = [*message.get("headers", [])]
            kinds = b"".join(value for name, value in headers if name.lower() == b"content-type")
            if TEXT.match(kinds):
                headers.append((b"vary", b"accept-encoding"))
                if accepted:
                    packer = zlib.compressobj(LEVEL, wbits=GZIP)
                    headers = [each for each in headers if each[0].lower() != b"content-length"]
                    headers.append((b"content-encoding", b"gzip"))
            message = {**message, "headers": headers}
        elif packer is not None:
            more = message.get("more_body", False)
            body = packer.compress(message.get("body", b"")) + (b"" if more else packer.flush())
            message = {**message, "body": body}
        await send(message)

    return send_compressed
