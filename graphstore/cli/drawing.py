"""The commands that show a game as a picture."""

import os
import sys

import click

from graphstore.cli.options import (
    FILE,
    POSITION,
    RULES,
    json_option,
    opened,
    refuse_existing,
    say_if_without_rules,
)
from graphstore.errors import visible
from graphstore.util.files import new_file

ENDINGS = {".svg": "svg", ".png": "png", ".txt": "text", ".dot": "dot", ".gv": "dot"}


@click.command()
@FILE
@POSITION
@click.option(
    "--plies",
    type=click.IntRange(min=1),
    metavar="N",
    help="Draw the graph of all that N moves can reach.",
)
@click.option("--line", is_flag=True, help="Draw a line of best play.")
@click.option("--best", is_flag=True, help="With --plies, follow only the best moves.")
@click.option(
    "--format",
    "kind",
    type=click.Choice(["svg", "png", "text", "dot"]),
    help="What to draw  [default: by the ending of --output, else svg]; text is for a position.",
)
@click.option("--output", metavar="FILE", help="Write to a file instead of standard output.")
@click.option(
    "--max-states",
    type=click.IntRange(1, 2000),
    metavar="N",
    help="Draw up to N states  [default: 300; at most 2,000]",
)
@RULES
@json_option
def draw(
    file: str,
    position: str | None,
    plies: int | None,
    line: bool,
    best: bool,
    kind: str | None,
    output: str | None,
    max_states: int | None,
    rules: str | None,
    as_json: bool,
) -> None:
    """Draw POSITION with what its moves are worth, the graph below it, or a line of best play.

    POSITION is a board in any orientation, such as XO./.X./..., or the id of a state; without
    it, the start. On a cell, or at an edge of the graph, W2 is a move that wins and needs 2 moves
    more, D a draw, L1 a loss. The best edges are bold.

    Graphs, lines and PNGs need pygraphviz: pip install matplotlib pygraphviz.
    """
    if line and plies is not None:
        raise click.UsageError("--line and --plies are two pictures; ask for one")
    if plies is None and (best or max_states):
        raise click.UsageError("--best and --max-states need --plies N")
    if as_json and kind is not None:
        raise click.UsageError("--json prints data, --format a picture; ask for one")
    kind = "json" if as_json else kind or _by_ending(output)
    if kind == "text" and (line or plies is not None):
        raise click.UsageError("as text only a position is drawn; graphstore line prints a line")
    if kind == "png" and output is None and sys.stdout.isatty():
        raise click.UsageError("a PNG is nothing for a terminal; add --output FILE.png")
    if output is not None:
        refuse_existing(output)
    picture = _drawn(file, position, rules, kind, (plies, line, best, max_states))
    if output is None:
        _print(picture)
        return
    with new_file(output) as target:
        target.buffer.write(picture)


def _drawn(
    file: str,
    position: str | None,
    rules: str | None,
    kind: str,
    what: tuple[int | None, bool, bool, int | None],
) -> bytes:
    """Return a picture, or what it shows as JSON."""
    from graphstore.cli import console
    from graphstore.exports.drawing import STATES
    from graphstore.exports.drawing import draw as draw_position

    plies, line, best, max_states = what
    with opened(file, rules) as store:
        say_if_without_rules(store)
        drawing = draw_position(
            store, position, plies=plies, line=line, best=best, max_states=max_states or STATES
        )
    if kind == "png":
        return drawing.png()
    if kind == "json":
        only = plies is None and not line
        text = console.json_text(drawing.probes[0].as_dict() if only else drawing.as_dict())
    else:
        text = {"svg": drawing.svg, "dot": drawing.dot, "text": drawing.text}[kind]()
        text = visible(text) if kind == "text" else text
    return (text.rstrip("\n") + "\n").encode(errors="backslashreplace")


def _by_ending(output: str | None) -> str:
    if output is None:
        return "svg"
    kind = ENDINGS.get(os.path.splitext(output)[1].lower())
    if kind is None:
        raise click.UsageError(
            f"{output}: which format? end it in {', '.join(ENDINGS)}, or add --format"
        )
    return kind


def _print(picture: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(picture)
    sys.stdout.buffer.flush()
