"""The query of a page's address: the game so far, whom to play, and what to show."""

from collections.abc import Callable
from typing import Final, NamedTuple
from urllib.parse import urlencode

from graphstore.errors import SettingError, shown

LONGEST_NAME = 100  # characters
LONGEST_NUMBER = 4  # digits
LONGEST_SEARCH: Final = 8  # seconds
LONGEST_TEXT = 4096  # characters of a position, and of moves
RENAMED: Final = {"side": "as", "source": "from", "target": "to"}  # in addresses


class Query(NamedTuple):
    """The query of an address: the part after ``?``."""

    against: str = ""  # the opponent, as in `graphstore.play.players`
    side: int = 0  # the player that the user is, 1 or 2; 0 where the opponent decides
    turn: int = 1  # the player to move at first, 1 or 2, if positions do not say
    agent: str = ""  # the agent whose beads to show
    hide: bool = False  # True if values are hidden
    source: int | None = None  # the cell of the piece to move
    target: int | None = None  # the cell to move to, where several moves go
    start: str = ""  # the position in which the game began; empty for the start
    moves: str = ""  # the game, as `graphstore.rules.positions` reads moves
    at: int | None = None  # the number of its moves before the position; None for all of them
    flip: str = ""  # an image in `graphstore.rules.board.TURNS`, to show the game in
    search: int = 0  # seconds to search, in a game without a database; 0: a short time
    view: str = ""  # "setup" to set a position up, "svg" for the picture alone

    @property
    def chance(self) -> bool:
        """True if the same address may give another page the next time."""
        return bool(self.against or self.agent)

    @property
    def onwards(self) -> "Query":
        """The fields that a link to another position keeps; not the game."""
        return self._replace(
            source=None, target=None, start="", moves="", at=None, flip="", search=0, view=""
        )

    def text(self) -> str:
        """Return the query as text with its ``?``; empty if there are no fields.

        >>> Query(against="perfect", side=2, hide=True, moves="4,0").text()
        '?against=perfect&as=2&hide=1&moves=4,0'
        """
        fields = self.fields()
        return f"?{urlencode(fields, safe=',/')}" if fields else ""

    def fields(self) -> list[tuple[str, str]]:
        """Return the query as the fields of a form."""
        given = self if self.against else self._replace(side=0)
        return [
            (RENAMED.get(name, name), "1" if value is True else str(value))
            for name, value in given._asdict().items()
            if value != Query._field_defaults[name]
        ]


def read_query(get: Callable[[str], str | None]) -> Query:
    """Return the query of a request; `get` returns the first value of a name.

    Unknown names are ignored.

    Raises:
        SettingError: a player or a number is wrong.
    """
    return Query(
        against=(get("against") or "")[:LONGEST_NAME],
        side=_player("as", get("as")),
        turn=_player("turn", get("turn")) or 1,
        agent=(get("agent") or "")[:LONGEST_NAME],
        hide=get("hide") not in (None, "", "0"),
        source=_number("from", get("from"), "a cell"),
        target=_number("to", get("to"), "a cell"),
        start=(get("start") or "")[:LONGEST_TEXT],
        moves=(get("moves") or "")[:LONGEST_TEXT],
        at=_number("at", get("at"), "a number of moves"),
        flip=(get("flip") or "")[:LONGEST_NAME],
        search=min(_number("search", get("search"), "a number of seconds") or 0, LONGEST_SEARCH),
        view=(get("view") or "")[:LONGEST_NAME],
    )


def _player(name: str, text: str | None) -> int:
    if text not in (None, "", "1", "2"):
        raise SettingError(f"{name}={shown(text)} is not a player; write {name}=1 or {name}=2")
    return int(text or 0)


def _number(name: str, text: str | None, what: str) -> int | None:
    if not text:
        return None
    if len(text) > LONGEST_NUMBER or not (text.isascii() and text.isdigit()):
        raise SettingError(f"{name}={shown(text)} is not {what}; write {name}=0 or more")
    return int(text)
