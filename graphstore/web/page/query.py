"""What the address of a page asks beside the position: whom to play, and what to show."""

from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import urlencode

from graphstore.errors import SettingError, shown

LONGEST_NAME = 100  # characters of what an address may give a name
LONGEST_CELL = 4  # digits of a cell


class Asked(NamedTuple):
    """The part of an address after ``?``.

    Attributes:
        against: whom to play against, as in `graphstore.play.opponents`; nobody.
        side: the player that one is, 1 or 2; 0 where the address leaves it to the opponent.
        turn: where positions do not tell, whose turn it is, 1 or 2.
        agent: whose beads to show.
        hide: whether to keep secret what positions are worth.
        source: the cell of the piece to be moved.
        target: the cell to move to, where several moves go.
        last: the name of the move that the opponent made.
        cell: the cell that it made it on.
    """

    against: str = ""
    side: int = 0
    turn: int = 1
    agent: str = ""
    hide: bool = False
    source: int | None = None
    target: int | None = None
    last: str = ""
    cell: int | None = None

    @property
    def chance(self) -> bool:
        """Whether the page may be another one the next time it is asked for."""
        return bool(self.against or self.agent)

    @property
    def onwards(self) -> "Asked":
        """What of it goes for the next position too."""
        return self._replace(source=None, target=None, last="", cell=None)

    def query(self, **changes: Any) -> str:
        """Return it as it is written, from the ``?`` on; nothing where nothing is asked.

        >>> Asked(against="perfect", side=2).query(hide=True)
        '?against=perfect&as=2&hide=1'
        """
        return "".join(
            f"{'&' if at else '?'}{each}" for at, each in enumerate(self._words(changes))
        )

    def fields(self, **changes: Any) -> list[tuple[str, str]]:
        """Return it as the fields of a form."""
        asked = self._replace(**changes)
        pairs = [
            ("against", asked.against),
            ("as", str(asked.side) if asked.against and asked.side else ""),
            ("turn", str(asked.turn) if asked.against and asked.turn != 1 else ""),
            ("agent", asked.agent),
            ("hide", "1" if asked.hide else ""),
            ("from", "" if asked.source is None else str(asked.source)),
            ("to", "" if asked.target is None else str(asked.target)),
            ("last", asked.last),
            ("cell", "" if asked.cell is None else str(asked.cell)),
        ]
        return [(name, value) for name, value in pairs if value]

    def _words(self, changes: dict[str, Any]) -> list[str]:
        return [urlencode([pair]) for pair in self.fields(**changes)]


def read_asked(get: Callable[[str], str | None]) -> Asked:
    """Return what a query asks; names that mean nothing here are passed over.

    Args:
        get: the first value of a name, as ``request.args.get`` returns it.

    Raises:
        SettingError: what should be a player or a cell is none.
    """
    return Asked(
        against=_name(get("against")),
        side=_player("as", get("as")),
        turn=_player("turn", get("turn")) or 1,
        agent=_name(get("agent")),
        hide=get("hide") not in (None, "", "0"),
        source=_cell("from", get("from")),
        target=_cell("to", get("to")),
        last=_name(get("last")),
        cell=_cell("cell", get("cell")),
    )


def _name(text: str | None) -> str:
    return (text or "")[:LONGEST_NAME]


def _player(name: str, text: str | None) -> int:
    if text not in (None, "", "1", "2"):
        raise SettingError(f"{name}={shown(text)} is no player; write {name}=1 or {name}=2")
    return int(text or 0)


def _cell(name: str, text: str | None) -> int | None:
    if not text:
        return None
    if len(text) > LONGEST_CELL or not (text.isascii() and text.isdigit()):
        raise SettingError(f"{name}={shown(text)} is no cell; write its number, as {name}=0")
    return int(text)
