"""The review of a game: its moves with what each was worth, its mistakes, and two charts."""

from collections.abc import Callable
from functools import lru_cache
from math import log10
from typing import Any, Final

from graphstore.play.agents import Agent
from graphstore.play.standings import curve
from graphstore.rules.board import WORDS, depth_of, label_of
from graphstore.rules.game import DRAW, LOSS, WIN
from graphstore.rules.svg import marked_up
from graphstore.store.probe import Move
from graphstore.store.store import Store
from graphstore.web.page.story import Story

STEP: Final = 20  # units of the strip: the width of a position
HALF: Final = 34  # the height of each side of the strip
MOST_NUMBERS: Final = 40  # positions up to which the strip shows remotenesses
WIDE, HIGH = 320, 120  # units of a learning curve

_LOST: Final = {(WIN, DRAW): "gave away a win", (WIN, LOSS): "turned a win into a loss"}


def moves(story: Story, to: Callable[[int], str], *, show: bool) -> list[dict[str, Any]]:
    """Return the rows of the list of a game's moves; with `show` they say what each was worth."""
    rows = []
    for number, (move, name) in enumerate(zip(story.moves, story.names, strict=True), 1):
        best, worth = story.probes[number - 1].value, move.value
        known = show and None not in (best, worth)
        value = -worth if known else DRAW
        wrong = known and value < best
        lost = _LOST.get((best, value), "turned a draw into a loss") if wrong else ""
        row = {
            "number": number,
            "name": name,
            "href": to(number),
            "mover": story.mover(number - 1),
            "kind": WORDS[value] if known else "free",
            "label": label(move) if known else "",
            "words": f"{WORDS[value]}{', ' * wrong}{lost}" if known else "",
            "lost": lost,
            "best": story.best(number - 1) if wrong else "",
            "now": number == story.at,
        }
        rows.append(row)
    return rows


def label(move: Move) -> str:
    """Return the value of a move for its player, and its depth, such as ``W2``."""
    return label_of(-move.value, depth_of(move))


def strip(story: Story, to: Callable[[int], str]) -> str:
    """Return a chart of value and remoteness by ply, as SVG; each bar is a link to its position.

    A bar upwards is a win of player 1, downwards of player 2, longer as the end comes nearer; a
    draw is a mark on the line. The numbers are remotenesses.
    """
    last = max((each.remoteness or 0 for each in story.probes), default=0) or 1
    wide, high = STEP * len(story.probes), 2 * HALF
    parts = [
        f'<svg class="gs-strip" viewBox="0 -12 {wide} {high + 24}" width="{wide}" '
        f'height="{high + 24}" aria-hidden="true">'
        f'<path class="gs-axis" d="M0 {HALF}H{wide}"/>'
    ]
    for at, probe in enumerate(story.probes):
        x = at * STEP
        if probe.value is None:
            continue
        first = probe.value * (1 if story.mover(at) == 1 else -1)
        tall = 6.0
        if first:
            tall = 8 + (HALF - 8) * (1 - (probe.remoteness or 0) / (last + 1))
        top = HALF - (tall if first > 0 else 0 if first else 3)
        now = f'<rect class="gs-now" x="{x}" y="-12" width="{STEP}" height="{high + 24}"/>'
        number = "∞" if probe.remoteness is None else str(probe.remoteness)
        shown = ""
        if len(story.probes) <= MOST_NUMBERS:
            y = top - 3 if first >= 0 else top + tall + 10
            shown = f'<text x="{x + STEP / 2:g}" y="{y:.1f}">{number}</text>'
        parts.append(
            f'<a tabindex="-1" href="{marked_up(to(at))}">{now if at == story.at else ""}'
            f'<rect class="gs-reach" x="{x}" y="-12" width="{STEP}" height="{high + 24}"/>'
            f'<rect class="gs-{WORDS[first]}" x="{x + 3}" y="{top:.1f}" width="{STEP - 6}" '
            f'height="{tall:.1f}" rx="2"/>{shown}</a>'
        )
    return "".join([*parts, "</svg>"])


def bar(share: float) -> str:
    """Return a bar of a width from 0 to 1, as SVG."""
    return (
        '<svg class="gs-bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="gs-bar-all" width="100" height="8"/><rect width="{100 * share:.1f}" '
        'height="8"/></svg>'
    )


@lru_cache(maxsize=32)
def learning(store: Store, known: Agent) -> dict[str, Any]:
    """Return the learning curve of an agent: a chart as SVG, the numbers at its end.

    The chart has the games on a logarithmic scale.
    """
    learned = curve(store, known)
    won, lost = ("won", "lost") if learned.alone else ("won by player 1", "won by player 2")
    rates = [
        ("boxes whose first choice keeps the value", "kept", learned.kept),
        (f"games {won}", "win", learned.won),
        ("games drawn", "draw", learned.drawn),
        (f"games {lost}", "loss", learned.lost),
    ]
    games = learned.games.tolist()
    scale = WIDE / max(log10(games[-1] + 1), 1)
    marks = [10**power for power in range(1, 19) if 10**power <= games[-1]]
    parts = [
        f'<svg class="gs-curve" viewBox="-34 -6 {WIDE + 64} {HIGH + 28}" role="img" '
        f'aria-label="shares by number of games, to {games[-1]:,} games"><path class="gs-axis" '
        f'd="M0 0H{WIDE}M0 {HIGH / 2:g}H{WIDE}M0 {HIGH}H{WIDE}"/>'
    ]
    for share in (0, 0.5, 1):
        y = HIGH * (1 - share) + 4
        parts.append(f'<text x="-4" y="{y:g}" text-anchor="end">{share:.0%}</text>')
    for mark in marks:
        x = log10(mark + 1) * scale
        parts.append(f'<text x="{x:.0f}" y="{HIGH + 16}" text-anchor="middle">{mark:,}</text>')
    rows = []
    for name, kind, shares in rates:
        pairs = [pair for pair in zip(games, shares.tolist(), strict=True) if pair[1] == pair[1]]
        points = (f"{log10(at + 1) * scale:.1f},{HIGH * (1 - y):.1f}" for at, y in pairs)
        parts.append(f'<polyline class="gs-{kind}" points="{" ".join(points)}"/>')
        if pairs and pairs[-1][0] == games[-1]:
            rows.append((name, kind, f"{pairs[-1][1]:.0%}"))
    return {"chart": "".join([*parts, "</svg>"]), "games": known.games, "rows": rows}
