r"""A graph as GraphML, GEXF or DOT, a line for each state and for each distinct child of one.

What an XML file cannot hold, such as most control characters, is written as in Python: ``\x07``.
"""

import re
from collections.abc import Callable, Iterator
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, Final, NamedTuple, TextIO

from sqlalchemy.types import BigInteger, Boolean, Double, Integer, SmallInteger, Text

from graphstore.exports.selection import TABLES, Part, Row
from graphstore.rules.game import Progress, best_first, quiet

_NODE: Final = {
    "state" if column.name == "id" else str(column.name): type(column.type)
    for column in TABLES["state"].selected_columns
}
_POSITION, _ENDED = map([*_NODE].index, ("position", "ended"))
_EDGE: Final = {"moves": Text, "best": Boolean, "optimal": SmallInteger}
_GRAPHML: Final = {
    BigInteger: "long",
    Integer: "int",
    SmallInteger: "int",
    Boolean: "boolean",
    Double: "double",
    Text: "string",
}
_GEXF: Final = _GRAPHML | {Integer: "integer", SmallInteger: "integer"}
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SPECIAL = re.compile('[&<>"\t\n\r]')


class Arc(NamedTuple):
    """All moves that lead from a state to one child.

    Attributes:
        parent: the state.
        child: the state that they lead to.
        moves: the moves, ascending.
        best: whether they are best, of all moves of the state.
        optimal: what they are worth to the player who chooses them, if both then play their best.
    """

    parent: int
    child: int
    moves: tuple[int, ...]
    best: bool
    optimal: int


def arcs(part: Part, *, progress: Progress = quiet) -> Iterator[Arc]:
    """Yield the edges between selected states, by parent, then by the lowest move."""
    rows = chain.from_iterable(part.moves(progress=progress))
    for parent, group in groupby(rows, key=itemgetter(0)):
        children: dict[int, list[int]] = {}
        worth: dict[int, Any] = {}
        for _, move, child, *rest in group:
            if child in children:
                children[child].append(move)
            else:
                children[child], worth[child] = [move], rest
        ranks = {child: best_first(*depths) for child, (_, *depths, _) in worth.items()}
        best = min(ranks.values())
        for child, moves in children.items():
            value, *_, kept = worth[child]
            if kept:
                yield Arc(parent, child, tuple(moves), ranks[child] == best, -value)


class Format(NamedTuple):
    """How a graph is written.

    Attributes:
        head: the beginning, of the game's name.
        node: a state, of its cells in the order of the columns.
        between: what parts states from edges.
        edge: an edge, of its number and itself.
        tail: the end.
    """

    head: Callable[[str], str]
    node: Callable[[Row], str]
    between: str
    edge: Callable[[int, Arc], str]
    tail: str


def write_graph(
    name: str, part: Part, file: TextIO, *, progress: Progress = quiet
) -> tuple[int, int]:
    """Write the graph as it is read; return the numbers of states and of edges.

    Args:
        name: of `FORMATS`.
        part: what is selected.
        file: where to.
        progress: called with the phase and how far it is.
    """
    form = FORMATS[name]
    file.write(form.head(part.name))
    nodes = edges = 0
    for rows in part.rows("state", progress=progress):
        file.writelines(map(form.node, rows))
        nodes += len(rows)
    file.write(form.between)
    for edges, arc in enumerate(arcs(part, progress=progress), 1):
        file.write(form.edge(edges - 1, arc))
    file.write(form.tail)
    return nodes, edges


def escaped(text: str) -> str:
    r"""Return a text as XML has it, in an element or an attribute.

    >>> escaped('<"A&B">\n\x07')
    '&lt;&quot;A&amp;B&quot;&gt;&#10;\\x07'
    """
    return _SPECIAL.sub(_entity, printable(text))


def printable(text: str) -> str:
    r"""Return a text with what XML cannot hold written as in Python.

    >>> print(printable("a\x07\n\ufffe"))
    a\x07
    \ufffe
    """
    return _NO_XML.sub(lambda found: ascii(found[0])[1:-1], text)


def _entity(found: re.Match[str]) -> str:
    names = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}
    return names.get(found[0]) or f"&#{ord(found[0])};"


def _cells(row: Row, text: str) -> list[tuple[str, Any]]:
    """Return the attributes of a state that are not NULL: the text as given, flags as in XML."""
    cells = list(row)
    cells[_POSITION], cells[_ENDED] = text, _flag(row[_ENDED])
    return [each for each in zip(_NODE, cells, strict=True) if each[1] is not None]


def _moves(arc: Arc) -> str:
    return " ".join(map(str, arc.moves))


def _flag(truth: bool) -> str:
    return "true" if truth else "false"


def _graphml_head(name: str) -> str:
    keys = "".join(
        f'<key id="{key}" for="{domain}" attr.name="{key}" attr.type="{_GRAPHML[kind]}"/>\n'
        for domain, columns in (("node", _NODE), ("edge", _EDGE))
        for key, kind in columns.items()
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
        f"<desc>{escaped(name)}</desc>\n"
        f'{keys}<graph id="game" edgedefault="directed">\n'
    )


def _graphml_node(row: Row) -> str:
    cells = _cells(row, escaped(row[_POSITION]))
    data = "".join([f'<data key="{name}">{cell}</data>' for name, cell in cells])
    return f'<node id="{row[0]}">{data}</node>\n'


def _graphml_edge(_number: int, arc: Arc) -> str:
    return (
        f'<edge source="{arc.parent}" target="{arc.child}">'
        f'<data key="moves">{_moves(arc)}</data>'
        f'<data key="best">{_flag(arc.best)}</data>'
        f'<data key="optimal">{arc.optimal}</data></edge>\n'
    )


def _gexf_head(name: str) -> str:
    lists = "".join(
        f'<attributes class="{domain}" mode="static">\n'
        + "".join(
            f'<attribute id="{key}" title="{key}" type="{_GEXF[kind]}"/>\n'
            for key, kind in columns.items()
        )
        + "</attributes>\n"
        for domain, columns in (("node", _NODE), ("edge", _EDGE))
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<gexf xmlns="http://www.gexf.net/1.2draft" version="1.2">\n'
        f"<meta><creator>graphstore</creator><description>{escaped(name)}</description></meta>\n"
        f'<graph mode="static" defaultedgetype="directed">\n{lists}<nodes>\n'
    )


def _gexf_node(row: Row) -> str:
    text = escaped(row[_POSITION])
    values = "".join(
        [f'<attvalue for="{name}" value="{cell}"/>' for name, cell in _cells(row, text)]
    )
    return f'<node id="{row[0]}" label="{text}"><attvalues>{values}</attvalues></node>\n'


def _gexf_edge(number: int, arc: Arc) -> str:
    return (
        f'<edge id="{number}" source="{arc.parent}" target="{arc.child}"><attvalues>'
        f'<attvalue for="moves" value="{_moves(arc)}"/>'
        f'<attvalue for="best" value="{_flag(arc.best)}"/>'
        f'<attvalue for="optimal" value="{arc.optimal}"/></attvalues></edge>\n'
    )


def _dot_text(text: str) -> str:
    """Return a text as DOT has it in quotes; two backslashes are drawn as one."""
    return printable(text).replace("\\", "\\\\").replace('"', '\\"')


def _dot_head(name: str) -> str:
    return f'digraph "{_dot_text(name)}" {{\n'


def _dot_node(row: Row) -> str:
    text = _dot_text(row[_POSITION])
    label = text.replace("&", "&amp;")  # in labels Graphviz reads entities
    data = "".join([f', {name}="{cell}"' for name, cell in _cells(row, text)])
    return f'"{row[0]}" [label="{label}"{data}];\n'


def _dot_edge(_number: int, arc: Arc) -> str:
    return (
        f'"{arc.parent}" -> "{arc.child}" '
        f'[moves="{_moves(arc)}", best="{_flag(arc.best)}", optimal="{arc.optimal}"];\n'
    )


FORMATS: Final = {
    "graphml": Format(_graphml_head, _graphml_node, "", _graphml_edge, "</graph>\n</graphml>\n"),
    "gexf": Format(
        _gexf_head,
        _gexf_node,
        "</nodes>\n<edges>\n",
        _gexf_edge,
        "</edges>\n</graph>\n</gexf>\n",
    ),
    "dot": Format(_dot_head, _dot_node, "", _dot_edge, "}\n"),
}
