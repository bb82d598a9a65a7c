"""The addresses of the explorer's pages: the address is the position.

The slashes of a position stay. Browsers drop segments that are only ``.`` or ``..``, also where
their dots are written ``%2E``; so there a dot is ``~2E``, and with it ``~`` itself is ``~7E``.
"""

import re
from urllib.parse import quote, unquote

ROOT = "/-/explore"
NOTHING = "~"  # the position whose text is empty; without any there is the start
PLAIN = "!$()*+,=:@"  # beside letters, digits and -._~; a ; some take for the end of a segment
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
    """Return the game and the position that the parts of a path mean; None is the start.

    >>> read("mnk", "~2E~2E/..%20O")
    ('mnk', '../.. O')

    Raises:
        UnicodeDecodeError: its bytes are no UTF-8.
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
