r"""A graph as GraphML, GEXF or DOT: one line for each state and for each of its distinct children.

Characters that XML cannot hold, such as most control characters, are escaped as in Python,
``\x07``.
"""

import re
from collections.abc import Callable, Iterator, Mapping
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
_ENTITIES = str.maketrans(
    {
        "&": "&amp;",
        "<": "&lt;",
        ">": "&gt;",
        '"': "&quot;",
        "\t": "&#9;",
        "\n": "&#10;",
        "\r": "&#13;",
    }
)


def edges(part: Part, *, progress: Progress = quiet) -> Iterator[dict[str, Any]]:
    """Yield the edges between selected states, by parent, then by lowest move.

    `best` compares all moves of the parent, selected or not. `optimal` is the value for the player
    who makes the moves.
    """
    number = 0
    rows = chain.from_iterable(part.moves(progress=progress))
    for parent, group in groupby(rows, key=itemgetter(0)):
        moves: dict[int, list[str]] = {}
        facts: dict[int, Any] = {}
        for _, move, child, *rest in group:
            moves.setdefault(child, []).append(str(move))
            facts[child] = rest
        ranks = {child: best_first(*depths) for child, (_, *depths, _) in facts.items()}
        best = min(ranks.values())
        for child, (optimal, *_, selected) in facts.items():
            if selected:
                yield {
                    "number": number,
                    "parent": parent,
                    "child": child,
                    "moves": " ".join(moves[child]),
                    "best": _flag(ranks[child] == best),
                    "optimal": optimal,
                }
                number += 1


class Format(NamedTuple):
    """The templates of a format, in the syntax of the operator ``%``."""

    head: str  # takes the name of the game, and `declared` or nothing
    escaped: Callable[[str], str]
    cell: str  # takes the name of a column and a value
    node: str  # takes id, label and data, which is the cells
    between: str  # nodes and edges
    edge: str  # takes an item of `edges`, and `names`
    tail: str
    label: Callable[[str], str] = str  # takes an escaped text
    declared: str = ""  # in the head, if moves have names
    named: str = ', names="%s"'  # in an edge, if moves have names

    def write_node(self, row: Row) -> str:
        """Return a state as text, without columns that are NULL."""
        cells: list[Any] = list(row)
        cells[_POSITION], cells[_ENDED] = self.escaped(row[_POSITION]), _flag(row[_ENDED])
        pairs = zip(_NODE, cells, strict=True)
        data = "".join([self.cell % pair for pair in pairs if pair[1] is not None])
        return self.node % {"id": row[0], "label": self.label(cells[_POSITION]), "data": data}


def write_graph(
    name: str, part: Part, file: TextIO, *, progress: Progress = quiet
) -> tuple[int, int]:
    """Write the graph in one of `FORMATS`; return the numbers of states and of edges."""
    form, names = FORMATS[name], part.names
    file.write(form.head % (form.escaped(part.name), form.declared * names.names_moves))
    nodes = count = 0
    for rows in part.rows("state", progress=progress):
        file.writelines(map(form.write_node, rows))
        nodes += len(rows)
    file.write(form.between)
    for edge in edges(part, progress=progress):
        edge["names"] = ""
        if names.names_moves:
            words = map(names.write_move, map(int, edge["moves"].split()))
            edge["names"] = form.named % form.escaped(" ".join(words))
        file.write(form.edge % edge)
        count += 1
    file.write(form.tail)
    return nodes, count


def escaped(text: str) -> str:
    r"""Return a text escaped for an XML element or attribute.

    >>> escaped('<"A&B">\n\x07')
    '&lt;&quot;A&amp;B&quot;&gt;&#10;\\x07'
    """
    return printable(text).translate(_ENTITIES)


def printable(text: str) -> str:
    r"""Return a text in which characters that XML cannot hold are escaped as in Python.

    >>> print(printable("a\x07\n\ufffe"))
    a\x07
    \ufffe
    """
    return _NO_XML.sub(lambda found: ascii(found[0])[1:-1], text)


def _dot_text(text: str) -> str:
    """Return a text escaped for DOT quotes; Graphviz draws two backslashes as one."""
    return printable(text).replace("\\", "\\\\").replace('"', '\\"')


def _flag(truth: bool) -> str:
    return "true" if truth else "false"


def _declared(template: str, types: Mapping[type, str], domain: str) -> str:
    """Return a declaration line for each column of nodes or edges."""
    columns = {"node": _NODE, "edge": _EDGE}[domain].items()
    return "".join(
        template % {"key": key, "domain": domain, "type": types[kind]} for key, kind in columns
    )


_KEY = '<key id="%(key)s" for="%(domain)s" attr.name="%(key)s" attr.type="%(type)s"/>\n'
_ATTRIBUTE = '<attribute id="%(key)s" title="%(key)s" type="%(type)s"/>\n'

FORMATS: Final = {
    "graphml": Format(
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
        "<desc>%s</desc>\n"
        f"{_declared(_KEY, _GRAPHML, 'node')}{_declared(_KEY, _GRAPHML, 'edge')}%s"
        '<graph id="game" edgedefault="directed">\n',
        escaped,
        '<data key="%s">%s</data>',
        '<node id="%(id)s">%(data)s</node>\n',
        "",
        '<edge source="%(parent)s" target="%(child)s"><data key="moves">%(moves)s</data>'
        '<data key="best">%(best)s</data><data key="optimal">%(optimal)s</data>%(names)s</edge>\n',
        "</graph>\n</graphml>\n",
        declared=_KEY % {"key": "names", "domain": "edge", "type": "string"},
        named='<data key="names">%s</data>',
    ),
    "gexf": Format(
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<gexf xmlns="http://www.gexf.net/1.2draft" version="1.2">\n'
        "<meta><creator>graphstore</creator><description>%s</description></meta>\n"
        '<graph mode="static" defaultedgetype="directed">\n'
        '<attributes class="node" mode="static">\n'
        f"{_declared(_ATTRIBUTE, _GEXF, 'node')}</attributes>\n"
        '<attributes class="edge" mode="static">\n'
        f"{_declared(_ATTRIBUTE, _GEXF, 'edge')}%s</attributes>\n<nodes>\n",
        escaped,
        '<attvalue for="%s" value="%s"/>',
        '<node id="%(id)s" label="%(label)s"><attvalues>%(data)s</attvalues></node>\n',
        "</nodes>\n<edges>\n",
        '<edge id="%(number)s" source="%(parent)s" target="%(child)s"><attvalues>'
        '<attvalue for="moves" value="%(moves)s"/><attvalue for="best" value="%(best)s"/>'
        '<attvalue for="optimal" value="%(optimal)s"/>%(names)s</attvalues></edge>\n',
        "</edges>\n</graph>\n</gexf>\n",
        declared=_ATTRIBUTE % {"key": "names", "type": "string"},
        named='<attvalue for="names" value="%s"/>',
    ),
    "dot": Format(
        'digraph "%s" {%s\n',
        _dot_text,
        ', %s="%s"',
        '"%(id)s" [label="%(label)s"%(data)s];\n',
        "",
        '"%(parent)s" -> "%(child)s" '
        '[moves="%(moves)s", best="%(best)s", optimal="%(optimal)s"%(names)s];\n',
        "}\n",
        lambda text: text.replace("&", "&amp;"),  # Graphviz decodes entities in labels
    ),
}
