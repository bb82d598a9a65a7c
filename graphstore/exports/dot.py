"""States and moves as DOT, and as pictures that Graphviz renders.

Graphviz runs through pygraphviz in its own process, so that it can be stopped and prints nothing.
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

SECONDS = 60  # limit of a layout
INSTALL: Final = "pip install matplotlib pygraphviz"
CELL = 18  # points
MOST_IN_A_ROW = 8  # boards of a line
CELL_WITH_MOVE = 44  # points
FONTS = "DejaVu Sans,Verdana,Helvetica,sans-serif"
PAPER: Final = "#ffffff"
INK: Final = "#222222"
RULE: Final = "#999999"
DARK: Final = {PAPER: "#1d1f23", INK: "#eeeeee", RULE: "#777777"}  # in dark mode


class Node(NamedTuple):
    """A state in a picture."""

    state: int
    position: str  # in the drawn orientation
    board: Board | None  # the cells; None if the text shows no cells
    distance: int  # moves from the first state, which is the rank
    ended: bool  # True if the game is over; the frame is then bold
    shown: Sequence[Choice] = ()  # moves to draw on the cells


class Arrow(NamedTuple):
    """All moves from a state to one child, numbered in the drawn orientation."""

    parent: int
    child: int
    moves: tuple[int, ...]
    names: tuple[str, ...]
    value: int  # for the player who makes the move
    depth: int | None  # moves that the winner needs afterwards; None for a draw
    best: bool  # True if the moves are among the best; the arrow is then bold

    @property
    def label(self) -> str:
        """The names of the moves and their value: ``0 2: W1``."""
        return f"{' '.join(self.names)}: {label_of(self.value, self.depth)}"


def dot(nodes: Sequence[Node], arrows: Iterable[Arrow], *, across: bool = False) -> str:
    """Return a graph as DOT, with boards as tables of cells; `nodes` must ascend by distance.

    Play runs downwards, or with `across` from left to right, in several rows if the line is long.
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
    ranks = _columns(nodes) if across else {node.state: node.distance for node in nodes}
    for _, wave in groupby(sorted(ranks, key=ranks.__getitem__), key=ranks.__getitem__):
        one_rank = list(map(str, wave))
        lines.append("{rank=same; " + "; ".join(one_rank) + "}")
        if across and len(one_rank) > 1:
            lines.append(" -> ".join(one_rank) + " [style=invis]")  # keeps the order of rows
    for arrow in arrows:
        # Graphviz may fail at a label between nodes of one rank; an xlabel is placed afterwards.
        kind = "xlabel" if ranks[arrow.parent] == ranks[arrow.child] else "label"
        label = f"\u00a0{marked_up(arrow.label)}\u00a0"  # space between text and line
        if arrow.best:
            label = f"<B>{label}</B>"
        lines.append(
            f'{arrow.parent} -> {arrow.child} [{kind}=<{label}>, color="{COLOURS[arrow.value]}", '
            f"penwidth={3 if arrow.best else 1}]"
        )
    return "\n".join([*lines, "}"]) + "\n"


def _columns(line: Sequence[Node]) -> dict[int, int]:
    """Return the column of each state of a line; every second row runs backwards."""
    rows = ceil(len(line) / MOST_IN_A_ROW)
    columns = ceil(len(line) / rows)  # so that the last row is not much shorter
    there_and_back = (*range(columns), *reversed(range(columns)))
    return {node.state: there_and_back[at % len(there_and_back)] for at, node in enumerate(line)}


def svg(nodes: Sequence[Node], arrows: Sequence[Arrow], *, title: str, across: bool = False) -> str:
    """Return a graph as SVG, dark if the reader's system is in dark mode."""
    drawn = render(dot(nodes, arrows, across=across), "svg").decode()
    drawn = re.sub(r"<!--.*?-->\n?", "", drawn[drawn.index("<svg") :], flags=re.DOTALL)
    titles = {str(node.state): marked_up(node.position) for node in nodes}
    for arrow in arrows:
        move = marked_up(f"{' '.join(arrow.names)}, {WORDS[arrow.value]}")
        titles[f"{arrow.parent}&#45;&gt;{arrow.child}"] = f"{titles[str(arrow.parent)]}: {move}"
    drawn = re.sub(r' (xml:space|font-family)="[^"]*"', "", drawn)  # shorter; see STYLE
    drawn = re.sub(
        r"<title>([^<]*)</title>",
        lambda found: f"<title>{titles[found[1]]}</title>" if found[1] in titles else "",
        drawn,
    )
    return drawn.replace("<svg ", f'<svg role="img" aria-label="{marked_up(title)}" ', 1).replace(
        ">", f"><style>{STYLE}</style>", 1
    )


def render(text: str, kind: Literal["svg", "png"], *, seconds: float = SECONDS) -> bytes:
    """Render DOT as a picture.

    Raises:
        MissingExtraError: pygraphviz is not installed.
        DrawingError: Graphviz failed or did not finish in time.
    """
    if not can_render():
        raise MissingExtraError(f"graphs and PNGs need pygraphviz: {INSTALL}")
    with tempfile.TemporaryDirectory() as folder:
        fonts = Path(folder) / "fonts.conf"
        fonts.write_text(_fonts(), encoding="utf-8")
        try:
            done = subprocess.run(  # noqa: S603  # this Python, without a shell
                [sys.executable, "-P", "-c", _PROGRAM, kind, str(fonts), str(ceil(seconds) + 1)],
                input=text.encode(),
                capture_output=True,
                timeout=seconds,
                check=True,
            )
        except subprocess.TimeoutExpired:
            raise DrawingError(
                f"Graphviz did not finish in {seconds:g} seconds; draw fewer plies or states"
            ) from None
        except subprocess.CalledProcessError as error:
            said = error.stderr.decode(errors="replace").strip().splitlines()
            why = said[-1] if said else f"its exit code is {error.returncode}"
            raise DrawingError(f"Graphviz cannot draw this: {why}") from error
    return done.stdout


def can_render() -> bool:
    """Return whether pygraphviz is installed."""
    return is_installed("pygraphviz")


def is_installed(package: str) -> bool:
    """Return whether a package is installed."""
    return find_spec(package) is not None


# The alarm ends the process even if its parent was killed.
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
    """Return fontconfig settings that add matplotlib's fonts, because a machine may have none."""
    system = os.environ.get("FONTCONFIG_FILE", "/etc/fonts/fonts.conf")
    found = find_spec("matplotlib")
    folder = ""
    if found is not None and found.origin is not None:
        fonts = Path(found.origin).parent / "mpl-data" / "fonts" / "ttf"
        folder = f"<dir>{marked_up(str(fonts))}</dir>"
    return (
        '<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig>'
        f'<include ignore_missing="yes">{marked_up(system)}</include>{folder}</fontconfig>'
    )


STYLE: Final = (
    f".gs-graph{{font-family:{FONTS};white-space:pre}}"
    "@media(prefers-color-scheme:dark){"
    + "".join(
        f'.gs-graph [{what}="{light}"]{{{what}:{dark}}}'
        for light, dark in DARK.items()
        for what in ("fill", "stroke")
    )
    + "}"
)


def _node_label(node: Node) -> str:
    width = 4 if node.ended else 2
    table = f'<TABLE BORDER="{width}" COLOR="{INK}" BGCOLOR="{PAPER}" CELLBORDER="0"'
    if node.board is None:
        lines = '<BR ALIGN="LEFT"/>'.join(map(marked_up, node.position.split("\n")))
        moves = "".join(
            f'<TR><TD ALIGN="LEFT" BGCOLOR="{COLOURS[choice.value]}">'
            f'<FONT COLOR="#000000">{choice.label}&#160; {marked_up(choice.name)}</FONT></TD></TR>'
            for choice in node.shown
        )
        return f"{table}><TR><TD>{lines}</TD></TR>{moves}</TABLE>"
    board = node.board
    down, across = board.block
    on_cell = {choice.cell: choice for choice in reversed(node.shown)}
    size = CELL_WITH_MOVE if node.shown else CELL
    if (down, across) == (len(board.rows), board.columns):
        return _field(board, 0, 0, on_cell, size, border=width)
    fields = _table_rows(
        [
            f"<TD>{_field(board, top, left, on_cell, size)}</TD>"
            for left in range(0, board.columns, across)
        ]
        for top in range(0, len(board.rows), down)
    )
    return f'{table} CELLSPACING="2" CELLPADDING="0">{fields}</TABLE>'


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
    rows = _table_rows(
        [
            _cell(board.rows[row][column], on_cell.get(row * board.columns + column), size)
            for column in range(left, left + board.block[1])
        ]
        for row in range(top, top + board.block[0])
    )
    return (
        f'<TABLE BORDER="{border}" COLOR="{INK}" BGCOLOR="{PAPER}" CELLBORDER="1" CELLSPACING="0" '
        f'CELLPADDING="0">{rows}</TABLE>'
    )


def _table_rows(rows: Iterable[list[str]]) -> str:
    return "".join(f"<TR>{''.join(cells)}</TR>" for cells in rows)


def _cell(mark: str, choice: Choice | None, size: int) -> str:
    text, fill = "" if mark in EMPTY else marked_up(mark), ""
    if text:
        points = size * (0.6 if choice is None else 0.4)
        text = f'<FONT POINT-SIZE="{points:.0f}"><B>{text}</B></FONT>'
    if choice is not None:
        fill = f' BGCOLOR="{COLOURS[choice.value]}"'
        small = f'<FONT POINT-SIZE="{size * 0.3:.0f}" COLOR="#000000">{choice.label}</FONT>'
        text = f"{text}<BR/>{small}" if text else small
    return f'<TD FIXEDSIZE="TRUE" WIDTH="{size}" HEIGHT="{size}" COLOR="{RULE}"{fill}>{text}</TD>'
