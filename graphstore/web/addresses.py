"""The addresses of the pages of positions.

Slashes of a position stay. Browsers drop segments that are only ``.`` or ``..``, even where the
dots are written ``%2E``; so these dots are ``~2E``, and ``~`` itself is ``~7E``.
"""

import re
from urllib.parse import quote, unquote

ROOT = "/-/explore"
NOTHING = "~"  # the position whose text is empty
PLAIN = "!$()*+,=:@"  # with letters, digits and -._~; not ; which may end a segment
_TILDES = re.compile("~(2E|7E)", re.IGNORECASE)


def write(game: str, position: str | None = None) -> str:
    """Return the path of a position's page; without a position, that of the game's start.

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
    """Return the game and the position of a path; None is the start.

    >>> read("mnk", "~2E~2E/..%20O")
    ('mnk', '../.. O')

    UnicodeDecodeError is raised where its bytes are not UTF-8.
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
