"""The learning curve of an agent as a picture."""

from typing import Any

from graphstore.play.standings import Curve
from graphstore.util.extras import extra
from graphstore.util.files import new_file


def figure_class() -> Any:
    """Return matplotlib's Figure, or raise a MissingExtraError."""
    with extra("pictures need matplotlib: pip install matplotlib"):
        from matplotlib.figure import Figure
    return Figure


def draw(curve: Curve, agent: str, game: str, target: str) -> None:
    """Draw the learning curve of an agent as a PNG in a new file."""
    figure = figure_class()(figsize=(8, 4.5), layout="constrained")
    axes = figure.add_subplot()
    words = ("won", "drawn", "lost") if curve.alone else ("won by 1", "drawn", "won by 2")
    shares = (curve.won, curve.drawn, curve.lost)
    for share, word, colour in zip(shares, words, ("#2a9d55", "#c9a227", "#c0392b"), strict=True):
        axes.plot(curve.games, share, color=colour, label=word)
    axes.plot(curve.games, curve.kept, "k--", label="boxes whose favourite moves keep the value")
    axes.set_xscale("symlog", linthresh=10)
    axes.set_xlim(0, max(int(curve.games[-1]), 1))
    axes.set_ylim(-0.02, 1.02)
    axes.set_xlabel("games (rates are over the second half of the games so far)")
    axes.set_ylabel("share")
    axes.set_title(f"{agent} learns {game}")
    axes.grid(alpha=0.3)
    figure.legend(loc="outside lower center", ncols=4, frameon=False)
    with new_file(target) as file:
        figure.savefig(file.buffer, format="png", dpi=150)
