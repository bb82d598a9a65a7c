"""ETags, so that a browser loads a page again only when a file has changed."""

from collections.abc import Hashable, Iterable
from hashlib import blake2b
from typing import Any, Final

NAME: Final = b"etag"


def tag(started: str, stamps: Iterable[Hashable]) -> bytes:
    """Return the tag of all pages: of one start of a server, and of the stamps of its files."""
    text = repr((started, [*stamps])).encode()
    return b'W/"' + blake2b(text, digest_size=12).hexdigest().encode() + b'"'


def lasting(path: str) -> bool:
    """Return whether a page changes only with the files, as Datasette's own pages do not.

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
    """Return the headers of a page with its tag, unless no browser may store it."""
    kept = [*headers]
    control = b" ".join(value for name, value in kept if name.lower() == b"cache-control")
    if b"no-store" in control:
        return kept
    return [*kept, (NAME, current), *([] if control else [(b"cache-control", b"no-cache")])]
