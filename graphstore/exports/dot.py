"""States and the moves between them as DOT, and drawn by Graphviz, which pygraphviz brings.

Graphviz runs in a process of its own: it can be stopped, and what it says goes to nobody's screen.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from itertools import groupby
from math import ceil
from pathlib import Path
from typing import Final, Literal, NamedTuple

from graphstore.errors import DrawingError, MissingExtraError
from graphstore.rules.board import EMPTY, WORDS, Board, Choice, label_of
from graphstore.rules.svg import COLOURS, marked_up

SECONDS = 60  # that a layout may take
INSTALL: Final = "pip install matplotlib pygraphviz"
CELL = 18  # points
MOST_IN_A_ROW = 8  # boards of a line
ROOMY = 44  # points, where moves stand on the cells
FONTS = "DejaVu Sans,Verdana,Helvetica,sans-serif"
PAPER: Final = "#ffffff"
INK: Final = "#222222"
RULE: Final = "#999999"
DARK: Final = {PAPER: "#1d1f23", INK: "#eeeeee", RULE: "#777777"}
"""What the colours become where the reader's system is dark."""


class Node(NamedTuple):
    """A state as the picture shows it.

    Attributes:
        state: its id.
        position: its text, in the orientation that is drawn.
        board: its cells, if the text shows any.
        distance: in which rank it stands.
        ended: whether the game is over; its frame is bold.
        shown: moves that stand on its cells.
    """

    state: int
    position: str
    board: Board | None
    distance: int
    ended: bool
    shown: Sequence[Choice] = ()


class Arrow(NamedTuple):
    """All moves from a state to one child.

    Attributes:
        parent: the id of the state.
        child: the id of what they lead to.
        moves: as the rules number them, in the orientation in which the parent is drawn.
        names: what people call them.
        value: for the player who makes them.
        depth: moves that the winner needs after them; None in a draw.
        best: whether they are among the best moves; those are bold.
    """

    parent: int
    child: int
    moves: tuple[int, ...]
    names: tuple[str, ...]
    value: int
    depth: int | None
    best: bool

    @property
    def label(self) -> str:
        """The names, with what the moves are worth: ``0 2: W1``."""
        return f"{' '.join(self.names)}: {label_of(self.value, self.depth)}"


def dot(nodes: Sequence[Node], arrows: Iterable[Arrow], *, across: bool = False) -> str:
    """Return a graph as DOT, boards as tables of cells.

    Args:
        nodes: the states, by distance.
        arrows: the moves.
        across: whether play goes from left to right, not downwards: a line, in rows if it is long.
    """
    lines = [
        "digraph {",
        f'graph [class="gs-graph", bgcolor="{PAPER}", rankdir={"LR" if across else "TB"}, '
        f'ranksep=0.6, nodesep=0.3, pad=0.15, fontname="{FONTS}"]',
        f'node [shape=plain, fontname="{FONTS}", fontcolor="{INK}"]',
        f'edge [fontname="{FONTS}", fontcolor="{INK}", fontsize=10, arrowsize=0.7]',
    ]
    for node in nodes:
        lines.append(f"{node.state} [label=<{_node_label(node)}>]")
    ranks = {node.state: node.distance for node in nodes}
    if across:
        ranks = _columns(nodes)
    for _, wave in groupby(sorted(ranks, key=ranks.__getitem__), key=ranks.__getitem__):
        one_rank = list(map(str, wave))
        lines.append("{rank=same; " + "; ".join(one_rank) + "}")
        if across and len(one_rank) > 1:
            lines.append(" -> ".join(one_rank) + " [style=invis]")  # or rows lose their order
    for arrow in arrows:
        # Graphviz may fail at a label between nodes of one rank, unless it is put there afterwards.
        level = ranks[arrow.parent] == ranks[arrow.child]
        kind = "xlabel" if level else "label"
        label = f"\u00a0{marked_up(arrow.label)}\u00a0"  # or it touches the line
        if arrow.best:
            label = f"<B>{label}</B>"
        lines.append(
            f'{arrow.parent} -> {arrow.child} [{kind}=<{label}>, color="{COLOURS[arrow.value]}", '
            f"penwidth={3 if arrow.best else 1}]"
        )
    return "\n".join([*lines, "}"]) + "\n"


def _columns(line: Sequence[Node]) -> dict[int, int]:
    """Return in which column each state of a line stands; every other row goes backwards."""
    rows = ceil(len(line) / MOST_IN_A_ROW)
    columns = ceil(len(line) / rows)  # so that the last row is not much shorter
    there_and_back = (*range(columns), *reversed(range(columns)))
    return {node.state: there_and_back[at % len(there_and_back)] for at, node in enumerate(line)}


def svg(nodes: Sequence[Node], arrows: Sequence[Arrow], *, title: str, across: bool = False) -> str:
    """Return a graph as SVG, which is dark where the reader's system is.

    Raises:
        MissingExtraError, DrawingError: see `render`.
    """
    drawn = render(dot(nodes, arrows, across=across), "svg").decode()
    drawn = re.sub(r"<!--.*?-->\n?", "", drawn[drawn.index("<svg") :], flags=re.DOTALL)
    positions = {str(node.state): node.position for node in nodes}
    titles = {name: marked_up(position) for name, position in positions.items()}
    for arrow in arrows:
        move = f"{positions[str(arrow.parent)]}: {' '.join(arrow.names)}, {WORDS[arrow.value]}"
        titles[f"{arrow.parent}&#45;&gt;{arrow.child}"] = marked_up(move)
    drawn = re.sub(r' (xml:space|font-family)="[^"]*"', "", drawn)  # shorter; see STYLE
    drawn = re.sub(
        r"<title>([^<]*)</title>",
        lambda match: f"<title>{titles[match[1]]}</title>" if match[1] in titles else "",
        drawn,
    )
    return drawn.replace("<svg ", f'<svg role="img" aria-label="{marked_up(title)}" ', 1).replace(
        ">", f"><style>{STYLE}</style>", 1
    )


def render(text: str, kind: Literal["svg", "png"], *, seconds: float = SECONDS) -> bytes:
    """Return DOT as a picture.

    Raises:
        MissingExtraError: pygraphviz is not installed.
        DrawingError: Graphviz failed, or was not done in time.
    """
    if not can_render():
        raise MissingExtraError(f"graphs and PNGs need pygraphviz: {INSTALL}")
    with tempfile.TemporaryDirectory() as folder:
        fonts = Path(folder) / "fonts.conf"
        fonts.write_text(_fonts())
        try:
            done = subprocess.run(  # noqa: S603  # this very Python, and no shell
                [sys.executable, "-P", "-c", _PROGRAM, kind, str(fonts), str(ceil(seconds) + 1)],
                input=text.encode(),
                capture_output=True,
                timeout=seconds,
                check=True,
            )
        except subprocess.TimeoutExpired:
            raise DrawingError(
                f"Graphviz was not done after {seconds:g} seconds; draw fewer plies or states"
            ) from None
        except subprocess.CalledProcessError as error:
            said = error.stderr.decode(errors="replace").strip().splitlines()
            why = said[-1] if said else f"it ended with {error.returncode}"
            raise DrawingError(f"Graphviz cannot draw this: {why}") from error
    return done.stdout


def can_render() -> bool:
    """Return whether pygraphviz is installed."""
    return find_spec("pygraphviz") is not None


# It ends by itself if this process was killed, and so cannot end it in time.
_PROGRAM: Final = """
import os, signal, sys
if hasattr(signal, "alarm"):
    signal.alarm(int(sys.argv[3]))
os.environ["FONTCONFIG_FILE"] = sys.argv[2]
import pygraphviz
graph = pygraphviz.AGraph(string=sys.stdin.buffer.read().decode())
sys.stdout.buffer.write(graph.draw(format=sys.argv[1], prog="dot"))
"""


def _fonts() -> str:
    """Return settings by which Graphviz finds fonts on machines that have none: matplotlib's."""
    system = os.environ.get("FONTCONFIG_FILE", "/etc/fonts/fonts.conf")
    found = find_spec("matplotlib")
    folder = ""
    if found is not None and found.origin is not None:
        ours = Path(found.origin).parent / "mpl-data" / "fonts" / "ttf"
        folder = f"<dir>{marked_up(str(ours))}</dir>"
    return (
        '<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig>'
        f'<include ignore_missing="yes">{marked_up(system)}</include>{folder}</fontconfig>'
    )


def _rules(colours: Mapping[str, str]) -> str:
    return "".join(
        f'.gs-graph [{what}="{light}"]{{{what}:{dark}}}'
        for light, dark in colours.items()
        for what in ("fill", "stroke")
    )


STYLE: Final = (
    f".gs-graph{{font-family:{FONTS};white-space:pre}}"
    f"@media(prefers-color-scheme:dark){{{_rules(DARK)}}}"
)


def _node_label(node: Node) -> str:
    width = 4 if node.ended else 2
    if node.board is None:
        left = '<BR ALIGN="LEFT"/>'
        lines = left.join(map(marked_up, node.position.split("\n")))
        moves = "".join(
            f'<TR><TD ALIGN="LEFT" BGCOLOR="{COLOURS[choice.value]}">'
            f'<FONT COLOR="#000000">{choice.label}&#160; {marked_up(choice.name)}</FONT></TD></TR>'
            for choice in node.shown
        )
        return (
            f'<TABLE BORDER="{width}" COLOR="{INK}" BGCOLOR="{PAPER}" CELLBORDER="0">'
            f"<TR><TD>{lines}</TD></TR>{moves}</TABLE>"
        )
    board = node.board
    down, across = board.block
    on_cell = {choice.cell: choice for choice in reversed(node.shown)}
    size = ROOMY if node.shown else CELL
    fields = [
        "<TR>"
        + "".join(
            f"<TD>{_field(board, top, left, on_cell, size)}</TD>"
            for left in range(0, board.columns, across)
        )
        + "</TR>"
        for top in range(0, len(board.rows), down)
    ]
    if (down, across) == (len(board.rows), board.columns):
        return _field(board, 0, 0, on_cell, size, border=width)
    return (
        f'<TABLE BORDER="{width}" COLOR="{INK}" BGCOLOR="{PAPER}" CELLBORDER="0" CELLSPACING="2" '
        f'CELLPADDING="0">{"".join(fields)}</TABLE>'
    )


def _field(
    board: Board,
    top: int,
    left: int,
    on_cell: Mapping[int | None, Choice],
    size: int,
    *,
    border: int = 1,
) -> str:
    """Return the cells of one field as a table."""
    down, across = board.block
    rows = "".join(
        "<TR>"
        + "".join(
            _cell(board.rows[row][column], on_cell.get(row * board.columns + column), size)
            for column in range(left, left + across)
        )
        + "</TR>"
        for row in range(top, top + down)
    )
    return (
        f'<TABLE BORDER="{border}" COLOR="{INK}" BGCOLOR="{PAPER}" CELLBORDER="1" CELLSPACING="0" '
        f'CELLPADDING="0">{rows}</TABLE>'
    )


def _cell(mark: str, choice: Choice | None, size: int) -> str:
    what = "" if mark in EMPTY else marked_up(mark)
    fill = ""
    if what:
        share = 0.6 if choice is None else 0.4
        what = f'<FONT POINT-SIZE="{size * share:.0f}"><B>{what}</B></FONT>'
    if choice is not None:
        fill = f' BGCOLOR="{COLOURS[choice.value]}"'
        small = f'<FONT POINT-SIZE="{size * 0.3:.0f}" COLOR="#000000">{choice.label}</FONT>'
        what = f"{what}<BR/>{small}" if what else small
    return f'<TD FIXEDSIZE="TRUE" WIDTH="{size}" HEIGHT="{size}" COLOR="{RULE}"{fill}>{what}</TD>'
