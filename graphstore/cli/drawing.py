"""The command `draw`."""

import os
import sys
from typing import Any

import click

from graphstore.cli import options
from graphstore.errors import visible
from graphstore.util.files import new_file

ENDINGS = {".svg": "svg", ".png": "png", ".txt": "text", ".dot": "dot", ".gv": "dot"}


@click.command()
@options.FILE
@options.POSITION
@options.number("--plies", "Draw the graph of all states within N moves of POSITION.", least=1)
@click.option("--line", is_flag=True, help="Draw a line of best play from POSITION.")
@click.option("--best", is_flag=True, help="With --plies, follow only the best moves.")
@click.option(
    "--format",
    "kind",
    type=click.Choice(["svg", "png", "text", "dot"]),
    show_default="the ending of --output, else svg",
    help="Draw in this format; text is only for a single position.",
)
@click.option("--output", metavar="FILE", help="Write to a new file instead of standard output.")
@options.number(
    "--max-states",
    "With --plies, stop with an error at more than N states.",
    least=1,
    most=2000,
    show_default="300",
)
@click.option(
    "--layout",
    type=click.Choice(["down", "right", "radial"]),
    show_default="down if that fits --width, else right",
    help="With --plies, draw later plies further down, further right, or in wider circles.",
)
@options.number(
    "--width",
    "Scale a wider graph or line down to N pixels.",
    least=100,
    most=100_000,
    show_default="1200",
)
@options.RULES
@options.json("Print the states and moves of the picture as JSON.")
def draw(
    file: str,
    position: str | None,
    plies: int | None,
    line: bool,
    best: bool,
    kind: str | None,
    output: str | None,
    max_states: int | None,
    layout: Any,
    width: int | None,
    rules: str | None,
    as_json: bool,
) -> None:
    """Draw a position, the graph below it, or a line of best play.

    POSITION is as in `graphstore show`; the default is the start. Labels on cells and edges give
    the result for the player who makes the move: W2 is a win that needs 2 more moves, D a draw, L1
    a loss in 1 move. The best edges are bold. The tint of a board in a graph is its value for the
    player to move: green a win, yellow a draw, red a loss.

    Graphs and lines need pygraphviz, PNGs of positions matplotlib:
    pip install matplotlib pygraphviz.
    """
    if line and plies is not None:
        raise click.UsageError("give --line or --plies, not both")
    if plies is None and (best or max_states or layout):
        raise click.UsageError("--best, --layout and --max-states need --plies N")
    if width and plies is None and not line:
        raise click.UsageError("--width needs --plies N or --line")
    if as_json and kind is not None:
        raise click.UsageError("give --json or --format, not both")
    kind = "json" if as_json else kind or _by_ending(output)
    if kind == "text" and (line or plies is not None):
        raise click.UsageError("--format text draws only a position; graphstore line prints a line")
    if kind == "png" and output is None and sys.stdout.isatty():
        raise click.UsageError("a PNG is binary; add --output FILE.png")
    from graphstore.cli import console
    from graphstore.exports.dot import WIDTH
    from graphstore.exports.drawing import MANY, STATES
    from graphstore.exports.drawing import draw as draw_position

    if output is not None:
        options.refuse_existing(output)
    with options.opened(file, rules) as store:
        options.say_if_without_rules(store)
        drawing = draw_position(
            store,
            position,
            plies=plies,
            line=line,
            best=best,
            max_states=max_states or STATES,
            layout=layout,
            width=width or WIDTH,
        )
    if plies and not best and kind != "json" and len(drawing.nodes) > MANY:
        options.say(f"{len(drawing.nodes):,} states; --best draws only best play")
    if kind == "png":
        picture = drawing.png()
    else:
        if kind == "json":
            shown = drawing if line or plies is not None else drawing.probes[0]
            text = console.json_text(shown.as_dict())
        elif kind == "text":
            text = visible(drawing.text())
        else:
            text = drawing.svg() if kind == "svg" else drawing.dot()
        picture = (text.rstrip("\n") + "\n").encode(errors="backslashreplace")
    if output is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(picture)
        sys.stdout.buffer.flush()
        return
    with new_file(output) as target:
        target.buffer.write(picture)


def _by_ending(output: str | None) -> str:
    """Return the format that the ending of a file name means."""
    if output is None:
        return "svg"
    kind = ENDINGS.get(os.path.splitext(output)[1].lower())
    if kind is None:
        endings = ", ".join(ENDINGS)
        raise click.UsageError(
            f"{output}: unknown format; end the name in {endings}, or add --format"
        )
    return kind
