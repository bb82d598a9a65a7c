"""States and moves as DOT, and as pictures that Graphviz renders.

Graphviz runs through pygraphviz in its own process, so that it can be stopped and prints nothing.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from itertools import groupby
from math import ceil
from pathlib import Path
from textwrap import wrap
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

from graphstore.errors import DrawingError, MissingExtraError
from graphstore.rules import svg as boardsvg
from graphstore.rules.board import WORDS, Choice, label_of, on_cells
from graphstore.rules.picture import Cell, Picture
from graphstore.rules.svg import COLOURS, marked_up

Layout: TypeAlias = Literal["down", "right", "radial"]
LAYOUTS: Final[tuple[Layout, ...]] = get_args(Layout)
"""Ways to lay out a graph: plies downwards, from left to right, or in circles."""


SECONDS = 60  # limit of a layout
INSTALL: Final = "pip install matplotlib pygraphviz"
CELL = 18  # points
MOST_IN_A_ROW = 8  # boards of a line
WIDTH: Final = 1200  # default limit of a picture in pixels, as browsers count them
LINE: Final = 24  # letters of a line of a text
LINES: Final = 8  # of a text
LETTER: Final = 8  # pixels of a letter of a label, about
GAP: Final = 30  # pixels between two boards, about
CELL_WITH_MOVE = 44  # points
FONTS = "DejaVu Sans,Verdana,Helvetica,sans-serif"
PAPER: Final = "#ffffff"
INK: Final = "#222222"
RULE: Final = "#999999"


def _tinted(paper: str, colour: str) -> str:
    """Return a colour of paper mixed with a quarter of another colour."""
    both = (bytes.fromhex(each[1:]) for each in (paper, colour))
    return "#" + "".join(f"{(3 * one + other) // 4:02x}" for one, other in zip(*both, strict=True))


TINTS: Final = {value: _tinted(PAPER, colour) for value, colour in COLOURS.items()}
"""Colours of boards by their value for the player to move."""
DARK: Final = {PAPER: "#1d1f23", INK: "#eeeeee", RULE: "#777777"} | {
    tint: _tinted("#1d1f23", COLOURS[value]) for value, tint in TINTS.items()
}  # in dark mode
DARK.update({boardsvg.LIGHT[side]: boardsvg.DARK[side] for side in ("one", "two")})
_GLYPHS: Final = {("disc", 1): "●", ("disc", 2): "◉"} | {
    (piece, side): chr(code + 6 * side)
    for code, piece in enumerate(("king", "queen", "rook", "bishop", "knight", "pawn"), 0x264E)
    for side in (1, 2)
}  # of marks, by shape and side


class Node(NamedTuple):
    """A state in a picture."""

    state: int
    position: str  # in the drawn orientation
    picture: Picture | None  # None if the text shows no cells
    distance: int  # moves from the first state, which is the rank
    ended: bool  # True if the game is over; the frame is then bold
    value: int  # for the player to move; the tint of the board
    depth: int | None  # moves that the winner needs; None for a draw
    shown: Sequence[Choice] = ()  # moves to draw on the cells

    @property
    def cells(self) -> Picture | None:
        """The picture, if it is one of cells that fit a graph; else the text is drawn."""
        found = self.picture
        return None if found is None or found.image or found.ground == "heaps" else found

    @property
    def lines(self) -> list[str]:
        """The text in lines that fit a graph; a long one is cut."""
        lines = [part for line in self.position.split("\n") for part in wrap(line, LINE) or [""]]
        return lines if len(lines) <= LINES else [*lines[: LINES - 1], "\u2026"]

    @property
    def paper(self) -> str:
        """The colour of the board: its value, or white if the moves on it have colours."""
        return PAPER if self.shown else TINTS[self.value]

    @property
    def width(self) -> int:
        """The width in a graph in pixels, about."""
        if self.cells is None:
            return max(map(len, self.lines)) * LETTER
        return self.cells.columns * (CELL + 1) * 4 // 3


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


def dot(
    nodes: Sequence[Node],
    arrows: Sequence[Arrow],
    *,
    layout: Layout | None = None,
    line: bool = False,
    width: int = WIDTH,
    links: Mapping[int, str] | None = None,
) -> str:
    """Return a graph as DOT, with boards as tables of cells; `nodes` must ascend by distance.

    A picture wider than `width` is scaled down. Without a `layout` the plies run downwards if that
    fits, else from left to right. A `line` is drawn in rows. `links` are addresses by state.
    """
    layout = "right" if line else layout or fitting(nodes, arrows, width)
    most = f"{width / 96:.2f},{10**4}"  # inches of 96 pixels
    lines = [
        "digraph {",
        f'graph [class="gs-graph", bgcolor="{PAPER}", rankdir={"LR" if layout == "right" else "TB"}'
        f', ranksep={1 if layout == "radial" else 0.6}, nodesep=0.25, pad=0.15, size="{most}", '
        f'splines=true, fontname="{FONTS}"]',
        f'node [shape=plain, fontname="{FONTS}", fontcolor="{INK}"]',
        f'edge [fontname="{FONTS}", fontcolor="{INK}", fontsize=10, arrowsize=0.7]',
    ]
    if layout == "radial":
        lines.append(f'layout=twopi; root="{nodes[0].state}"; overlap=scale')
    for node in nodes:
        link = f', URL="{links[node.state]}"' if links and node.state in links else ""
        lines.append(f"{node.state} [label=<{_node_label(node, alone=layout == 'radial')}>{link}]")
    ranks = (
        _columns(nodes, arrows, width) if line else {each.state: each.distance for each in nodes}
    )
    level = [ranks[arrow.parent] == ranks[arrow.child] for arrow in arrows]
    if line or not any(level):  # else labels would lie on each other between states of one rank
        for _, wave in groupby(sorted(ranks, key=ranks.__getitem__), key=ranks.__getitem__):
            one_rank = list(map(str, wave))
            lines.append("{rank=same; " + "; ".join(one_rank) + "}")
            if line and len(one_rank) > 1:
                lines.append(" -> ".join(one_rank) + " [style=invis]")  # keeps the order of rows
    for arrow, is_level in zip(arrows, level, strict=True):
        # Graphviz may fail at a label between nodes of one rank; an xlabel is placed afterwards.
        kind = "xlabel" if line and is_level else "label"
        label = f"\u00a0{marked_up(arrow.label)}\u00a0"  # space between text and line
        if arrow.best:
            label = f"<B>{label}</B>"
        named = "" if layout == "radial" else f"{kind}=<{label}>, "  # twopi leaves no room for it
        lines.append(
            f'{arrow.parent} -> {arrow.child} [{named}color="{COLOURS[arrow.value]}", '
            f"penwidth={3 if arrow.best else 1}]"
        )
    return "\n".join([*lines, "}"]) + "\n"


def fitting(nodes: Sequence[Node], arrows: Sequence[Arrow], width: int) -> Layout:
    """Return "down" if the widest ply and its labels fit about a width in pixels, else "right"."""
    used, distances = Counter[float](), {node.state: node.distance for node in nodes}
    for node in nodes:
        used[node.distance] += node.width + GAP
    for arrow in arrows:  # labels lie between two plies
        used[distances[arrow.parent] + 0.5] += len(arrow.label) * LETTER + GAP
    return "down" if max(used.values()) <= width else "right"


def _columns(line: Sequence[Node], arrows: Sequence[Arrow], width: int) -> dict[int, int]:
    """Return the column of each state of a line; every second row runs backwards."""
    label = max((len(arrow.label) * LETTER for arrow in arrows), default=0)
    most = min(MOST_IN_A_ROW, max(2, width // (max(node.width for node in line) + label + GAP)))
    rows = ceil(len(line) / most)
    columns = ceil(len(line) / rows)  # so that the last row is not much shorter
    there_and_back = (*range(columns), *reversed(range(columns)))
    return {node.state: there_and_back[at % len(there_and_back)] for at, node in enumerate(line)}


def svg(
    text: str, nodes: Sequence[Node], arrows: Sequence[Arrow], *, title: str, style: bool = True
) -> str:
    """Return the DOT of a graph as SVG, dark if the reader's system is in dark mode.

    With ``style=False`` the SVG leaves out its `STYLE`.
    """
    drawn = render(text, "svg").decode()
    drawn = re.sub(r"<!--.*?-->\n?", "", drawn[drawn.index("<svg") :], flags=re.DOTALL)
    titles = {str(node.state): marked_up(node.position) for node in nodes}
    for arrow in arrows:
        move = marked_up(f"{' '.join(arrow.names)}, {WORDS[arrow.value]}")
        titles[f"{arrow.parent}&#45;&gt;{arrow.child}"] = f"{titles[str(arrow.parent)]}: {move}"
    drawn = re.sub(r' (xml:space|font-family|xlink:title)="[^"]*"', "", drawn)  # shorter; see STYLE
    drawn = re.sub(
        r"<title>([^<]*)</title>",
        lambda found: f"<title>{titles[found[1]]}</title>" if found[1] in titles else "",
        drawn,
    )
    named = r'(<title>([^<]*)</title>\s*<g id="[^"]*"><a )'
    drawn = re.sub(named, r'\1aria-label="position \2" ', drawn)  # links of a page
    role = "group" if "<a " in drawn else "img"
    drawn = drawn.replace("<svg ", f'<svg role="{role}" aria-label="{marked_up(title)}" ', 1)
    return drawn.replace(">", f"><style>{STYLE}</style>", 1) if style else drawn


def render(text: str, kind: Literal["svg", "png"], *, seconds: float = SECONDS) -> bytes:
    """Render DOT as a picture.

    Raises:
        MissingExtraError: pygraphviz is not installed.
        DrawingError: Graphviz failed or did not finish in time.
    """
    if not can_render():
        raise MissingExtraError(f"graphs and lines need pygraphviz: {INSTALL}")
    prog = "twopi" if "\nlayout=twopi;" in text else "dot"
    alarm = str(ceil(seconds) + 1)
    with tempfile.TemporaryDirectory() as folder:
        fonts = Path(folder) / "fonts.conf"
        fonts.write_text(_fonts(), encoding="utf-8")
        try:
            done = subprocess.run(  # noqa: S603  # this Python, without a shell
                [sys.executable, "-P", "-c", _PROGRAM, kind, str(fonts), alarm, prog],
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
            if said and "not found in path" in said[-1]:  # pygraphviz before 2 brings no programs
                raise MissingExtraError(
                    f"the program {prog} of Graphviz is missing: pip install --upgrade pygraphviz"
                ) from error
            why = said[-1] if said else f"its exit code is {error.returncode}"
            raise DrawingError(f"Graphviz cannot draw this: {why}") from error
    return done.stdout


def can_render() -> bool:
    """Return whether pygraphviz is installed."""
    return find_spec("pygraphviz") is not None


# The alarm ends the process even if its parent was killed.
_PROGRAM: Final = """
import os, signal, sys
if hasattr(signal, "alarm"):
    signal.alarm(int(sys.argv[3]))
os.environ["FONTCONFIG_FILE"] = sys.argv[2]
import pygraphviz
graph = pygraphviz.AGraph(string=sys.stdin.buffer.read().decode())
sys.stdout.buffer.write(graph.draw(format=sys.argv[1], prog=sys.argv[4]))
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


def _node_label(node: Node, *, alone: bool) -> str:
    """Return a board as a table; `alone` adds its value, which the labels of arrows also tell."""
    width = 4 if node.ended else 2
    table = f'<TABLE BORDER="{width}" COLOR="{INK}" BGCOLOR="{node.paper}" CELLBORDER="0"'
    worth = f"<TR><TD>{label_of(node.value, node.depth)}</TD></TR>" if alone else ""
    picture = node.cells
    if picture is None:
        lines = '<BR ALIGN="LEFT"/>'.join(map(marked_up, node.lines))
        moves = "".join(
            f'<TR><TD ALIGN="LEFT" BGCOLOR="{COLOURS[choice.value]}">'
            f'<FONT COLOR="#000000">{choice.label}&#160; {marked_up(choice.name)}</FONT></TD></TR>'
            for choice in node.shown
        )
        return f"{table}><TR><TD>{lines}</TD></TR>{moves}{worth}</TABLE>"
    down, across = picture.block
    on_cell = on_cells(node.shown)
    size = CELL_WITH_MOVE if node.shown else CELL
    whole = (down, across) == (picture.rows, picture.columns)
    if whole and not alone:
        return _field(picture, 0, 0, on_cell, size, paper=node.paper, border=width)
    fields = _table_rows(
        [
            f"<TD>{_field(picture, top, left, on_cell, size, paper=node.paper)}</TD>"
            for left in range(0, picture.columns, across)
        ]
        for top in range(0, picture.rows, down)
    )
    worth = worth and worth.replace("<TD", f'<TD COLSPAN="{picture.columns // across}"')
    return f'{table} CELLSPACING="2" CELLPADDING="0">{fields}{worth}</TABLE>'


def _field(
    picture: Picture,
    top: int,
    left: int,
    on_cell: Mapping[int, Choice],
    size: int,
    *,
    paper: str,
    border: int = 1,
) -> str:
    """Return the cells of one field as a table."""
    rows = _table_rows(
        [
            _cell(picture.cells[at + column], on_cell.get(at + column), size)
            for column in range(left, left + picture.block[1])
        ]
        for at in range(
            top * picture.columns, (top + picture.block[0]) * picture.columns, picture.columns
        )
    )
    return (
        f'<TABLE BORDER="{border}" COLOR="{INK}" BGCOLOR="{paper}" CELLBORDER="1" '
        f'CELLSPACING="0" CELLPADDING="0">{rows}</TABLE>'
    )


def _table_rows(rows: Iterable[list[str]]) -> str:
    return "".join(f"<TR>{''.join(cells)}</TR>" for cells in rows)


def _cell(cell: Cell, choice: Choice | None, size: int) -> str:
    text, fill = marked_up(_GLYPHS.get((cell.shape, cell.side), cell.label)), ""
    if text:
        points = size * (0.6 if choice is None else 0.4)
        side = ("", "one", "two")[cell.side]
        colour = side and f' COLOR="{boardsvg.LIGHT[side]}"'
        text = f'<FONT POINT-SIZE="{points:.0f}"{colour}><B>{text}</B></FONT>'
    if choice is not None:
        fill = f' BGCOLOR="{COLOURS[choice.value]}"'
        small = f'<FONT POINT-SIZE="{size * 0.3:.0f}" COLOR="#000000">{choice.label}</FONT>'
        text = f"{text}<BR/>{small}" if text else small
    return f'<TD FIXEDSIZE="TRUE" WIDTH="{size}" HEIGHT="{size}" COLOR="{RULE}"{fill}>{text}</TD>'
