"""The hosts that the server answers for, against DNS rebinding.

A web page can give its own name the address of this machine, and so read what a server here
answers. Its requests have the page's name as their host.
"""

import re
from collections.abc import Iterable
from contextlib import suppress
from ipaddress import ip_address
from typing import Final

from graphstore.errors import AddressError, shown

_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9_-]+(?:\.[a-z0-9_-]+)*)\.?)(?::[0-9]{0,5})?")
LOCAL: Final = ("localhost", "127.0.0.1", "::1")


def host_of(text: str) -> str | None:
    """Return the name or the IP address in a Host header; None if the header is malformed.

    >>> host_of("LocalHost.:8001"), host_of("[::1]:80"), host_of("user@localhost"), host_of("")
    ('localhost', '::1', None, None)
    """
    found = _HOST.fullmatch(text.lower())
    return found and (found[1] or found[2])


def is_address(host: str) -> bool:
    """Return whether a host is an IP address."""
    try:
        return bool(ip_address(host))
    except ValueError:
        return False


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address.

    >>> is_loopback("localhost"), is_loopback("127.0.0.2"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    return ip_address(host).is_loopback if is_address(host) else host == "localhost"


class Hosts:
    """The hosts that a server answers for: this machine, the names given, and where it listens.

    If it listens at an address of the network, it answers for every IP address: a page cannot
    change what an IP address stands for.
    """

    def __init__(self, names: Iterable[str] = (), *, listens_at: str = LOCAL[0]) -> None:
        """Raise AddressError if one of the names is not the name of a host."""
        self._names = {*LOCAL, listens_at.lower(), *map(_read, names)}
        self._addresses = not is_loopback(listens_at)

    def include(self, host: str) -> bool:
        """Return whether a server answers for a host."""
        return host in self._names or (self._addresses and is_address(host))


def _read(name: str) -> str:
    with suppress(UnicodeError):
        host = None if ":" in name else host_of(name.encode("idna").decode())
        if host is not None:
            return host
    raise AddressError(f"{shown(name)} is not the name of a host, without http:// and port")
