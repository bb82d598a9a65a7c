"""The command `draw`."""

import os
import sys

import click

from graphstore.cli import options
from graphstore.errors import visible
from graphstore.util.files import new_file

ENDINGS = {".svg": "svg", ".png": "png", ".txt": "text", ".dot": "dot", ".gv": "dot"}


@click.command()
@options.FILE
@options.POSITION
@options.number("--plies", "Draw the graph of all that N moves can reach.", least=1)
@click.option("--line", is_flag=True, help="Draw a line of best play.")
@click.option("--best", is_flag=True, help="With --plies, follow only the best moves.")
@click.option(
    "--format",
    "kind",
    type=click.Choice(["svg", "png", "text", "dot"]),
    help="What to draw  [default: by the ending of --output, else svg]; text is for a position.",
)
@click.option("--output", metavar="FILE", help="Write to a file instead of standard output.")
@options.number(
    "--max-states", "Draw up to N states  [default: 300; at most 2,000]", least=1, most=2000
)
@options.RULES
@options.JSON
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
    from graphstore.cli import console
    from graphstore.exports.drawing import STATES
    from graphstore.exports.drawing import draw as draw_position

    if output is not None:
        options.refuse_existing(output)
    with options.opened(file, rules) as store:
        options.say_if_without_rules(store)
        drawing = draw_position(
            store, position, plies=plies, line=line, best=best, max_states=max_states or STATES
        )
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
    """Return the format of a file by the ending of its name."""
    if output is None:
        return "svg"
    kind = ENDINGS.get(os.path.splitext(output)[1].lower())
    if kind is None:
        endings = ", ".join(ENDINGS)
        raise click.UsageError(f"{output}: which format? end it in {endings}, or add --format")
    return kind
