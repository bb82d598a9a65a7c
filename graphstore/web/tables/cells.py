"""Table cells as HTML: positions as boards, ids as links, moves with their names.

JSON and CSV have the plain values.
"""

import re
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from graphstore.errors import GraphstoreError
from graphstore.rules.board import picture_if_any
from graphstore.rules.game import Game, Namer, move_text, names_moves
from graphstore.rules.svg import svg
from graphstore.store.store import Store
from graphstore.web import addresses
from graphstore.web.naming import name_of

STATES = ("state", "child", "parent")  # columns of ids
SIZE = 96  # pixels of a board

_MOVES = re.compile(r"-?\d{1,10}( -?\d{1,10})*")


def cell(store: Store, table_address: str, row: Any, column: str, value: Any) -> Markup | None:
    """Return a cell as HTML, or None to leave it to Datasette.

    `table_address` is the page of the table `state`, `row` has all cells by column, and a value is
    {value, label} where Datasette has looked up the row that it refers to.
    """
    game, name = store.game if store.has_rules else None, name_of(store)
    link = Markup('<a class="gs-id" href="{}/{}">{}</a>')
    if isinstance(value, dict):
        if column not in STATES:
            return None
        state = value["value"]
        return _position(game, name, str(value["label"])) + link.format(table_address, state, state)
    if isinstance(value, str) and (column == "position" or column.endswith("_position")):
        return _position(game, name, value)
    is_id = column in STATES or (column == "id" and "position" in row.keys())  # noqa: SIM118
    if is_id and isinstance(value, int):
        return link.format(table_address, value, value)
    if column in ("move", "moves"):
        return _moves(store.names if store.names.names_moves else game, column, value)
    if isinstance(value, float):
        return Markup('<span title="{}">{}</span>').format(value, four_digits(value))
    if isinstance(value, str) and "\n" in value:
        return Markup('<pre class="gs-lines">{}</pre>').format(value)
    return None


def four_digits(value: float) -> str:
    """Return a number with four digits after the point, or in all if those are too few or many.

    >>> four_digits(2 / 3), four_digits(-0.0), four_digits(1e9), four_digits(2e-7)
    ('0.6667', '0.0000', '1e+09', '2e-07')
    """
    usual = value == 0 or 1e-4 <= abs(value) < 1e5
    return f"{value:z.4f}" if usual else f"{value:.4g}"


def numeric(columns: Sequence[str], rows: Sequence[Any]) -> set[str]:
    """Return the names of the columns that have numbers, and nothing else but NULL."""
    kinds = {name: {type(row[name]) for row in rows} - {type(None)} for name in columns}
    return {name for name, found in kinds.items() if found and found <= {int, float}}


def _moves(namer: Namer, column: str, value: Any) -> Markup | None:
    """Return moves as numbers with their names, or None if they have no names.

    A column "move" holds a number, "moves" a text of several; in the table `game` it is a count.
    """
    if not names_moves(namer) or isinstance(value, int) == (column == "moves"):
        return None
    if not _MOVES.fullmatch(str(value)):
        return None
    try:
        named = [(move, move_text(namer, int(move))) for move in str(value).split()]
    except GraphstoreError:  # a user's SQL returned a number that is not a move
        return None
    return Markup(" ").join(
        Markup('<span class="gs-move">{} <b>{}</b></span>').format(*each) for each in named
    )


def _position(game: Game | None, name: str, text: str) -> Markup:
    """Return a position as a link to its page: its board, if it has one, and its text."""
    return Markup('<a class="gs-position" href="{}">{}<code>{}</code></a>').format(
        addresses.write(name, text), picture(game, text, size=SIZE), text
    )


def picture(game: Game | None, text: str, *, size: int) -> Markup:
    """Return the board of a position, up to `size` pixels wide and high; empty without cells."""
    board = picture_if_any(text, game)
    if board is None:
        return Markup()
    pixels = max(5, min(size // 5, size // max(board.columns, board.rows, 1)))
    drawn = svg(board, pixels=pixels, style=False)
    return Markup('<span aria-hidden="true">{}</span>').format(Markup(drawn))  # noqa: S704  # ours
