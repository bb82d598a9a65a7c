"""The learning curve of an agent as a picture."""

from typing import Any

from graphstore.play.agents import Agent
from graphstore.play.standings import Curve, record
from graphstore.rules.svg import COLOURS
from graphstore.store.store import Store
from graphstore.util.extras import extra
from graphstore.util.files import new_file


def figure_class() -> Any:
    """Return matplotlib's Figure, or raise a MissingExtraError."""
    with extra("pictures need matplotlib: pip install matplotlib"):
        from matplotlib.figure import Figure
    return Figure


def about(store: Store, known: Agent) -> str:
    """Return which side an agent played, against whom, and its seed."""
    players = store.game.players if store.has_rules else ("player 1", "player 2")
    played = record(store, known)
    sides = {row["side"] for row in played} or {known.settings.side}
    side = players[min(sides) - 1] if len(sides) == 1 and min(sides) else "both sides"
    opponents = ", ".join(dict.fromkeys(row["opponent"] for row in played)) or "nobody"
    return f"{side} against {opponents}, seed {known.seed}"


def draw(curve: Curve, agent: str, game: str, target: str, *, about: str = "") -> None:
    """Draw the learning curve of an agent as a PNG in a new file; `about` is a second title."""
    figure = figure_class()(figsize=(8, 4.5), layout="constrained")
    axes = figure.add_subplot()
    words = ("won", "drawn", "lost") if curve.alone else ("won by 1", "drawn", "won by 2")
    shares = (curve.won, curve.drawn, curve.lost)
    for share, word, colour in zip(shares, words, COLOURS.values(), strict=True):
        axes.plot(curve.games, share, color=colour, label=word)
    axes.plot(curve.games, curve.kept, "k--", label="boxes whose favourite moves keep the value")
    axes.set_xscale("symlog", linthresh=10)
    axes.set_xlim(0, max(int(curve.games[-1]), 1))
    axes.set_ylim(-0.02, 1.02)
    axes.set_xlabel("games (rates are over the second half of the games so far)")
    axes.set_ylabel("share of games or boxes")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_title(f"{agent} learns {game}" + (about and f"\n{about}"))
    axes.grid(alpha=0.3)
    figure.legend(loc="outside lower center", ncols=4, frameon=False)
    with new_file(target) as file:
        figure.savefig(file.buffer, format="png", dpi=150)
