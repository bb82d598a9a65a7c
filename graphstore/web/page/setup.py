"""Setting up a position: a board whose cells change their marks by clicks."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import select

from graphstore.errors import GraphstoreError, SettingError, shown
from graphstore.rules.board import EMPTY, Board, board_of, board_picture
from graphstore.rules.game import Game
from graphstore.store.schema import state
from graphstore.store.store import Store
from graphstore.store.words import in_words
from graphstore.web.page import pictures
from graphstore.web.page.pictures import Link

SAMPLE = 1000  # states whose texts give the marks of a game
MOST_BESIDE = 8  # texts beside the cells, such as the side to move


def can_set_up(game: Game | None, text: str) -> bool:
    """Return whether the text of a position begins with its cells."""
    board = board_of(text, game)
    return board is not None and text.startswith("/".join(board.rows))


def setup_context(store: Store, text: str | None, to: Callable[[str], str]) -> dict[str, Any]:
    """Return the template's values for the set-up of a text; `to` returns the address of another.

    Raises:
        SettingError: the positions of the game have no cells, or the text has others.
    """
    game, start = store.game if store.has_rules else None, store.info["start"]
    text = start if text is None else text
    board, first = board_of(text, game), board_of(start, game)
    if first is None or not can_set_up(game, start):
        raise SettingError("the texts of these positions have no cells; type the position instead")
    if board is None or (len(board.rows), board.columns) != (len(first.rows), first.columns):
        size = f"{len(first.rows)} rows and {first.columns} columns"
        raise SettingError(f"{shown(text)} is not a board of {size}")
    if store.backend.dialect == "duckdb":
        texts = [start, *(move.position for each in store.line().probes for move in each.moves)]
    else:
        with store.connect() as connection:
            texts = [start, *connection.scalars(select(state.c.position).limit(SAMPLE))]
    boards = [(each, drawn) for each in texts if (drawn := board_of(each, game)) is not None]
    found = {mark for _, drawn in boards for mark in drawn.cells}
    empty = next(iter(sorted(found & EMPTY)), ".")
    cycle = [empty, *sorted(found - EMPTY)]
    tails = list(dict.fromkeys(_tail(each, drawn) for each, drawn in boards))
    links = {}
    for at, mark in enumerate(board.cells):
        after = cycle[(cycle.index(mark) + 1) % len(cycle)] if mark in cycle else empty
        href = to(_text(board, at, after) + _tail(text, board))
        links[at] = Link(href, f"make it {'empty' if after == empty else after}", chooses=True)
    probe, why = None, ""
    try:
        probe = store.probe(text)
    except GraphstoreError as error:
        why = str(error)
    rows = "/".join(board.rows)
    return {
        "text": text,
        "board": pictures.linked(board_picture(board), links, title=f"board {text}"),
        "tails": [
            (tail.strip() or "nothing", to(rows + tail), text == rows + tail)
            for tail in tails
            if 1 < len(tails) <= MOST_BESIDE
        ],
        "clear": to("/".join(empty * board.columns for _ in board.rows) + _tail(text, board)),
        "why": why,
        "worth": "" if probe is None else in_words(game, probe),
    }


def _tail(text: str, board: Board) -> str:
    return text.removeprefix("/".join(board.rows))


def _text(board: Board, cell: int, mark: str) -> str:
    cells = board.cells[:cell] + mark + board.cells[cell + 1 :]
    width = board.columns
    return "/".join(cells[at : at + width] for at in range(0, len(cells), width))
