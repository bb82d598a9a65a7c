"""HTML tables and SVG pictures for notebooks."""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, TypeVar

from graphstore.rules.board import Choice, picture_of
from graphstore.rules.game import Game
from graphstore.rules.picture import seen_by
from graphstore.rules.svg import marked_up, svg, text_svg

T = TypeVar("T")


def or_none(show: Callable[[T], str | None]) -> Callable[[T], str | None]:
    """Return `show` with errors turned into None: a notebook then shows the plain repr."""

    @wraps(show)
    def shown(thing: T) -> str | None:
        try:
            return show(thing)
        except Exception:  # a user's rules may raise any error
            return None

    return shown


def picture(
    text: str,
    *,
    game: Game | None = None,
    shown: Sequence[Choice] = (),
    last: int | None = None,
    pixels: int = 48,
    mover: int = 0,
) -> str:
    """Return a position as SVG: its picture if it has one, else the text; see `seen_by`."""
    drawn = picture_of(text, game)
    if drawn is None:
        return text_svg(text, shown=shown)
    seen = seen_by(drawn, mover)
    return svg(seen, shown=shown, last=last, title=text, pixels=pixels)


def table(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], *, boards: bool = False, note: str = ""
) -> str:
    """Return rows as an HTML table; with `boards`, texts of boards are pictures.

    `note` stands below it.
    """
    show = _board_or_cell if boards else _marked_up_cell
    head = "".join(f"<th>{marked_up(name)}</th>" for name in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{show(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    note = note and f"<p>{marked_up(note)}</p>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}"


def facts(title: str, report: Mapping[str, Any]) -> str:
    """Return names and values as an HTML table."""
    rows = "".join(
        f'<tr><th style="text-align:left">{marked_up(name)}</th>'
        f'<td style="text-align:left">{marked_up(_cell(value))}</td></tr>'
        for name, value in report.items()
    )
    return f"<table><caption>{marked_up(title)}</caption><tbody>{rows}</tbody></table>"


def row(figures: Sequence[tuple[str, str]]) -> str:
    """Return pictures, each with a caption below it, as a row in HTML."""
    drawn = "".join(
        f'<figure style="margin:0;text-align:center">{figure}<figcaption>{marked_up(caption)}'
        "</figcaption></figure>"
        for figure, caption in figures
    )
    style = "display:flex;flex-wrap:wrap;gap:1em;align-items:end"
    return f'<div style="{style}">{drawn}</div>'


def _marked_up_cell(cell: Any) -> str:
    return marked_up(_cell(cell))


def _board_or_cell(cell: Any) -> str:
    """Return a text of a board as a picture with the text below it, and other cells as text."""
    if isinstance(cell, str) and "\n" in cell:
        return f"<pre>{marked_up(cell)}</pre>"
    drawn = picture_of(cell) if isinstance(cell, str) else None
    text = _marked_up_cell(cell)
    return text if drawn is None else f"{svg(drawn, title=cell, pixels=16)}<br/>{text}"


def _cell(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, float):
        return f"{cell:.4g}"
    return f"{cell:,}" if isinstance(cell, int) and not isinstance(cell, bool) else str(cell)
