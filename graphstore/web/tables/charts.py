"""Charts above tables: won, drawn and lost states by ply or by remoteness, as bars of HTML."""

from collections.abc import Sequence
from math import ceil
from typing import Any, Final

from markupsafe import Markup

BY: Final = ("ply", "remoteness")
PARTS: Final = {"wins": "win", "draws": "draw", "losses": "loss"}  # the column and its colour
MOST_LABELS: Final = 12  # below the bars, so that they fit a phone
BARS: Final = range(2, 101)  # numbers of bars that make a chart


def chart(columns: Sequence[str], rows: Sequence[Any]) -> Markup:
    """Return the chart of rows with wins, draws and losses by ply or remoteness, else nothing."""
    by = next((name for name in BY if name in columns), None)
    if by is None or not {*PARTS} <= {*columns} or len(rows) not in BARS:
        return Markup()
    counts = [{name: row[name] or 0 for name in PARTS} for row in rows]
    if not all(isinstance(n, int) and n >= 0 for each in counts for n in each.values()):
        return Markup()  # a user's SQL has other columns of these names
    most = max(sum(each.values()) for each in counts)
    every = ceil(len(rows) / MOST_LABELS)
    bars = Markup().join(
        _bar(by, rows[number][by], each, most, labelled=not number % every)
        for number, each in enumerate(counts)
    )
    key = Markup(" ").join(
        Markup('<span class="gs-key gs-{}">{}</span>').format(kind, name)
        for name, kind in PARTS.items()
    )
    return Markup(
        '<figure class="gs-chart"><figcaption>States by {}: {} &middot; the highest bar is {:,} '
        'states</figcaption><div class="gs-bars" aria-hidden="true">{}</div></figure>'
    ).format(by, key, most, bars)


def _bar(by: str, at: Any, counts: dict[str, int], most: int, *, labelled: bool) -> Markup:
    words = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    parts = Markup().join(
        Markup('<i class="gs-{}" style="height:{:.2f}%"></i>').format(
            PARTS[name], 100 * count / most
        )
        for name, count in counts.items()
        if count
    )
    label = at if at is not None else "\N{INFINITY}"
    return Markup('<div title="{} {}: {}"><div>{}</div><b>{}</b></div>').format(
        by, label, words, parts, label if labelled else ""
    )
