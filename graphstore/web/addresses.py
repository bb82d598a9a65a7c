"""The addresses of the pages of positions.

A position keeps its slashes. Browsers drop path segments that are only ``.`` or ``..``, even if
the dots are written ``%2E``; so such dots are written ``~2E``, and ``~`` itself ``~7E``.
"""

import re
from urllib.parse import quote, unquote

ROOT = "/-/explore"
NOTHING = "~"  # the position whose text is empty
PLAIN = "!$()*+,=:@"  # not quoted, like letters, digits and -._~; but ; is quoted
_TILDES = re.compile("~(2E|7E)", re.IGNORECASE)


def write(game: str, position: str | None = None) -> str:
    """Return the path of a position's page; without a position, of the game's start.

    >>> write("tictactoe", "XO./.X./...")
    '/-/explore/tictactoe/XO./.X./...'
    >>> write("mnk", "../.. O")
    '/-/explore/mnk/~2E~2E/..%20O'
    """
    path = f"{ROOT}/{_segment(game)}"
    if position is None:
        return path
    return f"{path}/{'/'.join(map(_segment, position.split('/'))) if position else NOTHING}"


def read(game: str, position: str | None) -> tuple[str, str | None]:
    """Return the game and the position in a path; the position is None for the start.

    Raises:
        UnicodeDecodeError: the path is not UTF-8.

    >>> read("mnk", "~2E~2E/..%20O")
    ('mnk', '../.. O')
    """
    if position == NOTHING:
        return _text(game), ""
    return _text(game), _text(position) if position else None


def _segment(text: str) -> str:
    text = text.replace("~", "~7E")
    if text in (".", ".."):
        text = text.replace(".", "~2E")
    return quote(text, safe=PLAIN)


def _text(part: str) -> str:
    text = unquote(part, errors="strict")
    return _TILDES.sub(lambda found: "." if found[1].upper() == "2E" else "~", text)
