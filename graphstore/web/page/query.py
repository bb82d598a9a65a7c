"""The query of a page's address: whom to play, and what to show."""

from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import urlencode

from graphstore.errors import SettingError, shown

LONGEST_NAME = 100  # characters
LONGEST_CELL = 4  # digits


class Query(NamedTuple):
    """The query of an address: the part after ``?``."""

    against: str = ""  # the opponent, as in `graphstore.play.players`
    side: int = 0  # the player that the user is, 1 or 2; 0 where the opponent decides
    turn: int = 1  # the player to move, 1 or 2, if positions do not say
    agent: str = ""  # the agent whose beads to show
    hide: bool = False  # True if values are hidden
    source: int | None = None  # the cell of the piece to move
    target: int | None = None  # the cell to move to, where several moves go
    last: str = ""  # the name of the opponent's last move
    cell: int | None = None  # the cell of that move

    @property
    def chance(self) -> bool:
        """True if the same address may give another page the next time."""
        return bool(self.against or self.agent)

    @property
    def onwards(self) -> "Query":
        """The fields that a link to another position keeps."""
        return self._replace(source=None, target=None, last="", cell=None)

    def text(self) -> str:
        """Return the query as text with its ``?``; empty if there are no fields.

        >>> Query(against="perfect", side=2, hide=True).text()
        '?against=perfect&as=2&hide=1'
        """
        fields = self.fields()
        return f"?{urlencode(fields)}" if fields else ""

    def fields(self) -> list[tuple[str, str]]:
        """Return the query as the fields of a form."""
        pairs = [
            ("against", self.against),
            ("as", str(self.side) if self.against and self.side else ""),
            ("turn", str(self.turn) if self.against and self.turn != 1 else ""),
            ("agent", self.agent),
            ("hide", "1" if self.hide else ""),
            ("from", "" if self.source is None else str(self.source)),
            ("to", "" if self.target is None else str(self.target)),
            ("last", self.last),
            ("cell", "" if self.cell is None else str(self.cell)),
        ]
        return [(name, value) for name, value in pairs if value]


def read_query(get: Callable[[str], str | None]) -> Query:
    """Return the query of a request; `get` returns the first value of a name.

    Unknown names are ignored.

    Raises:
        SettingError: a player or a cell is wrong.
    """
    return Query(
        against=(get("against") or "")[:LONGEST_NAME],
        side=_player("as", get("as")),
        turn=_player("turn", get("turn")) or 1,
        agent=(get("agent") or "")[:LONGEST_NAME],
        hide=get("hide") not in (None, "", "0"),
        source=_cell("from", get("from")),
        target=_cell("to", get("to")),
        last=(get("last") or "")[:LONGEST_NAME],
        cell=_cell("cell", get("cell")),
    )


def _player(name: str, text: str | None) -> int:
    if text not in (None, "", "1", "2"):
        raise SettingError(f"{name}={shown(text)} is not a player; write {name}=1 or {name}=2")
    return int(text or 0)


def _cell(name: str, text: str | None) -> int | None:
    if not text:
        return None
    if len(text) > LONGEST_CELL or not (text.isascii() and text.isdigit()):
        raise SettingError(f"{name}={shown(text)} is not a cell; write its number, as {name}=0")
    return int(text)
