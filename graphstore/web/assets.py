"""Static files: their addresses have a digest of their content, so browsers keep them."""

from hashlib import blake2b
from pathlib import Path
from typing import Final

from datasette.app import app_root

from graphstore.exports import dot
from graphstore.rules.svg import STYLE
from graphstore.web.page import pictures

BOARDS: Final = STYLE + pictures.STYLE + dot.STYLE
UNCHANGING: Final = (b"cache-control", b"public, max-age=31536000, immutable")

_FOLDERS: Final = {
    "/-/graphstore/": Path(__file__).parent / "static",
    "/-/static/": app_root / "datasette" / "static",
}


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=6).hexdigest()


_DIGESTS: Final = {"/-/boards.css": _digest(BOARDS.encode())} | {
    path + file.name: _digest(file.read_bytes())
    for path, folder in _FOLDERS.items()
    for file in folder.iterdir()
    if file.is_file()
}
_PATHS: Final = {path.rpartition("/")[2]: path for path in _DIGESTS}


def address(base: str, name: str) -> str:
    """Return the address of a static file with its digest; `base` ends in a slash.

    >>> address("/", "colours.css").partition("?")[0]
    '/-/graphstore/colours.css'
    """
    path = _PATHS[name]
    return f"{base}{path[1:]}?{_DIGESTS[path]}"


def unchanging(path: str, query: str) -> bool:
    """Return whether an address has the digest of the file that it shows.

    >>> unchanging(*address("/", "colours.css").split("?")), unchanging("/-/boards.css", "")
    (True, False)
    """
    return query != "" and _DIGESTS.get(path) == query
