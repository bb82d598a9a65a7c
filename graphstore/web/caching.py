"""ETags, so that a browser loads a page again only after a file has changed."""

from collections.abc import Hashable, Iterable
from hashlib import blake2b
from typing import Any, Final

NAME: Final = b"etag"


def tag(started: str, stamps: Iterable[Hashable]) -> bytes:
    """Return the ETag of all pages; it changes with each start of the server and with its files."""
    text = repr((started, [*stamps])).encode()
    return b'W/"' + blake2b(text, digest_size=12).hexdigest().encode() + b'"'


def lasting(path: str) -> bool:
    """Return whether a page changes only if a file does; Datasette's own ``/-/`` pages may change.

    >>> lasting("/tictactoe/state"), lasting("/-/explore/tictactoe"), lasting("/-/threads")
    (True, True, False)
    """
    return not path.startswith("/-/") or path.startswith("/-/explore/")


def known(headers: Iterable[tuple[bytes, bytes]], current: bytes) -> bool:
    """Return whether the headers of a request have the current tag.

    >>> known([(b"if-none-match", b'"x", W/"abc"')], b'W/"abc"')
    True
    """
    given = (value for name, value in headers if name == b"if-none-match")
    return any(current == each.strip() for value in given for each in value.split(b","))


def tagged(headers: Iterable[Any], current: bytes) -> list[Any]:
    """Return the headers of a page, with the tag unless they say no-store."""
    kept = [*headers]
    control = b" ".join(value for name, value in kept if name.lower() == b"cache-control")
    if b"no-store" in control:
        return kept
    return [*kept, (NAME, current), *([] if control else [(b"cache-control", b"no-cache")])]
