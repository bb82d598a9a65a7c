"""Cells of tables: a position as its board, an id as a link; JSON and CSV have them as they are."""

from typing import Any

from markupsafe import Markup

from graphstore.boards import board_of
from graphstore.boardsvg import svg
from graphstore.game import Game
from graphstore.store import Store
from graphstore.web import addresses

STATES = ("state", "child", "parent")  # columns of ids
SIZE = 96  # pixels of a board


def cell(store: Store, table_address: str, row: Any, column: str, value: Any) -> Markup | None:
    """Return a cell as HTML, or None for Datasette's own way.

    Args:
        store: the game.
        table_address: where Datasette shows its table `state`.
        row: all cells by column.
        column: the name of this one's.
        value: what is in it; {value, label}, where Datasette has looked up the row that it names.
    """
    game = store.game if store.has_rules else None
    if isinstance(value, dict):
        if column not in STATES:
            return None
        link = Markup('<a class="gs-id" href="{}/{}">{}</a>').format(
            table_address, value["value"], value["value"]
        )
        return position(game, store.path.stem, str(value["label"])) + link
    if isinstance(value, str) and (column == "position" or column.endswith("_position")):
        return position(game, store.path.stem, value)
    is_id = column in STATES or (column == "id" and "position" in row.keys())  # noqa: SIM118
    if is_id and isinstance(value, int):
        return Markup('<a class="gs-id" href="{}/{}">{}</a>').format(table_address, value, value)
    return None


def position(game: Game | None, name: str, text: str) -> Markup:
    """Return a position as a link to its page: its board, if it has one, and its text."""
    return Markup('<a class="gs-position" href="{}">{}<code>{}</code></a>').format(
        addresses.write(name, text), picture(game, text, size=SIZE), text
    )


def picture(game: Game | None, text: str, *, size: int) -> Markup:
    """Return the board of a position, for those who see; nothing, if it shows no cells.

    Args:
        game: the rules, if they are known.
        text: the position.
        size: pixels that it may be wide and high; a fifth of that is the most for a cell.
    """
    board = board_of(text, game)
    if board is None:
        return Markup()
    pixels = max(5, min(size // 5, size // max(board.columns, len(board.rows))))
    drawn = svg(board, pixels=pixels, style=False)
    return Markup('<span aria-hidden="true">{}</span>').format(Markup(drawn))  # noqa: S704  # ours
