"""Pictures of a solved game: a position, the graph below it, or a line of best play."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from graphstore.errors import ArgumentError, TooLargeError
from graphstore.exports import dot
from graphstore.rules import board as boards
from graphstore.rules import svg as boardsvg
from graphstore.rules.game import Game, Namer, move_text
from graphstore.rules.notebook import facts, or_none
from graphstore.store.probe import Move, Probe
from graphstore.store.store import Address, Store, opened
from graphstore.util import arguments
from graphstore.util.extras import extra

STATES = 300  # default limit of a picture
MANY = 50  # states of a picture that is hard to read


class Drawing(NamedTuple):
    """A picture of states and the moves between them; a notebook shows it.

    `nodes` ascend by distance from the first. Each is in the orientation in which play first meets
    it, so a child usually differs from its parent by one mark. `probes` have the same order.
    """

    title: str  # the text for screen readers
    nodes: tuple[dot.Node, ...]
    arrows: tuple[dot.Arrow, ...]
    probes: tuple[Probe, ...]
    line: bool = False  # True for a line of best play, which is drawn in rows
    layout: dot.Layout | None = None  # of a graph; None to choose one that fits
    width: int = dot.WIDTH  # most pixels
    board: boards.Board | None = None  # of the first position as text; None if it has no cells

    @property
    def alone(self) -> bool:
        """True for a single position; its SVG does not need Graphviz."""
        return len(self.nodes) == 1 and not self.arrows

    def svg(self, links: Mapping[int, str] | None = None, *, style: bool = True) -> str:
        """Return the picture as SVG; ``style=False`` leaves out the colours of dark mode.

        `links` are the addresses of states in a graph.

        Raises:
            MissingExtraError: the picture is a graph, and pygraphviz is not installed.
            DrawingError: Graphviz failed or did not finish in time.
        """
        if not self.alone:
            text = self.dot(links)
            return dot.svg(text, self.nodes, self.arrows, title=self.title, style=style)
        node = self.nodes[0]
        if node.picture is None:
            return boardsvg.text_svg(node.position, shown=node.shown, style=style)
        return boardsvg.svg(node.picture, shown=node.shown, title=self.title, style=style)

    def png(self) -> bytes:
        """Return the picture as PNG; a position needs matplotlib, and is drawn from its SVG.

        Raises the errors of `svg`.
        """
        if not self.alone:
            return dot.render(self.dot(), "png")
        with extra(f"PNGs of positions need matplotlib: {dot.INSTALL}"):
            from graphstore.exports.painting import painted
        return painted(self.svg())

    def dot(self, links: Mapping[int, str] | None = None) -> str:
        """Return the picture in DOT, the language of Graphviz."""
        return dot.dot(
            self.nodes,
            self.arrows,
            layout=self.layout,
            line=self.line,
            width=self.width,
            links=links,
        )

    def text(self) -> str:
        """Return the first position as lines of text, with values on the cells of its moves."""
        node = self.nodes[0]
        if self.board is None:
            return boards.text_plain(node.position, shown=node.shown)
        return boards.plain(self.board, shown=node.shown)

    def as_dict(self) -> dict[str, Any]:
        """Return the states and moves as data, with the names of the columns.

        Moves to one child are one edge; its ``optimal`` is the value for the player who moves.
        """
        nodes = [
            probe.as_dict() | {"distance": node.distance}
            for node, probe in zip(self.nodes, self.probes, strict=True)
        ]
        edges = [arrow._asdict() | {"optimal": arrow.value} for arrow in self.arrows]
        for columns, name in ((nodes, "moves"), (edges, "value")):
            for each in columns:
                del each[name]
        return {"title": self.title, "nodes": nodes, "edges": edges}

    def __repr__(self) -> str:
        return f"<Drawing: {self.title}, {len(self.nodes)} states>"

    @or_none
    def _repr_svg_(self) -> str:
        return self.svg()

    @or_none
    def _repr_html_(self) -> str | None:
        if self.alone or dot.can_render():
            return None
        return facts(self.title, {"states": len(self.nodes), "to see them": dot.INSTALL})


def draw(
    store: Store | Address,
    position: str | int | None = None,
    *,
    plies: int | None = None,
    line: bool = False,
    best: bool = False,
    max_states: int = STATES,
    layout: dot.Layout | None = None,
    width: int = dot.WIDTH,
) -> Drawing:
    """Return a picture of a position with its moves, or of the states below it.

    Args:
        store: the solved game, open or as an address.
        position: as for `graphstore.store.store.Store.probe`; by default the (first) start.
        plies: draw the graph of all states within this many moves.
        line: draw a line of best play instead.
        best: with `plies`, follow only the best moves.
        max_states: the largest graph to draw.
        layout: with `plies`, ``down``, ``right`` or ``radial``: where the plies run; by default
            down if that fits the width, else right.
        width: the most pixels of a graph or line; a wider one is scaled down.

    Raises:
        PositionError, NotInStoreError: see `graphstore.store.store.Store.probe`.
        TooLargeError: the graph has more states than `max_states`.
        ArgumentError: both `plies` and `line` are given, or a number is negative.

    >>> import tempfile, graphstore
    >>> path = tempfile.mkdtemp() + "/tictactoe.db"
    >>> graphstore.build("tictactoe", path).states
    765
    >>> print(graphstore.draw(path, "XO./.X./..O").text())
    X  O  D
    W1 X  D
    W1 D  O
    >>> graph = graphstore.draw(path, "XO./.X./...", plies=9)
    >>> len(graph.nodes), len(graph.arrows)
    (145, 284)
    """
    plies = arguments.limit("plies", plies)
    max_states = arguments.count("max_states", max_states)
    if line and plies is not None:
        raise ArgumentError("give plies or line, not both")
    width = arguments.count("width", width)
    if layout not in (None, *dot.LAYOUTS):
        raise ArgumentError(f"layout must be one of {', '.join(dot.LAYOUTS)}, not {layout!r}")
    with opened(store) as store:
        game = store.game if store.has_rules else None
        root = store.start() if position is None else store.probe(position)
        if line:
            drawing = _line(store, game, root)
        elif plies is None:
            drawing = _alone(store, game, root)
        else:
            drawing = _graph(store, game, root, plies, best=best, most=max_states)
    return drawing._replace(layout=layout, width=width)


def _alone(store: Store, game: Game | None, root: Probe) -> Drawing:
    shown = boards.choices(game, root.position, root.moves, partial(move_text, store.namer))
    node, board = _node(game, root, 0)._replace(shown=shown), boards.board_of(root.position, game)
    return Drawing(f"{store.info['name']}: {root.position}", (node,), (), (root,), board=board)


def _graph(
    store: Store, game: Game | None, root: Probe, plies: int, *, best: bool, most: int
) -> Drawing:
    found, namer = _below(store, root, plies, best=best, most=most), store.namer
    arrows = [
        arrow
        for probe, distance in found
        if distance < plies
        for arrow in _arrows(game, namer, probe, probe.best if best else probe.moves)
    ]
    play = f"{'Best play' if best else 'Play'} of {store.info['name']}"
    return Drawing(
        f"{play} from {root.position} for {_plies(plies)}",
        tuple(_node(game, probe, distance) for probe, distance in found),
        tuple(arrows),
        tuple(probe for probe, _ in found),
    )


def _below(
    store: Store, root: Probe, plies: int, *, best: bool, most: int
) -> list[tuple[Probe, int]]:
    """Return the states within some plies with their distances, nearest first."""
    found = [(root, 0)]
    met = {root.state}
    wave = [root]
    for distance in range(1, plies + 1):
        reached = [move for probe in wave for move in (probe.best if best else probe.moves)]
        fresh: dict[int, str] = {}
        for move in reached:
            if move.state not in met:
                fresh.setdefault(move.state, move.position)
        met |= fresh.keys()
        if len(met) > most:
            fewer = [f"--plies {distance - 1} ({len(found):,} states)"] if distance > 1 else []
            narrower = [*fewer, *([] if best else ["--best"]), "a later position"]
            raise TooLargeError(
                f"more than {most:,} states are within {_plies(distance)} of {root.position}; "
                f"try {', '.join(narrower)}, or --max-states N"
            )
        wave = [store.probe(each) for each in fresh.values()]
        if not wave:
            break
        found += [(probe, distance) for probe in wave]
    return found


def _plies(number: int) -> str:
    return f"{number} {'ply' if number == 1 else 'plies'}"


def _line(store: Store, game: Game | None, root: Probe) -> Drawing:
    line, namer = store.line(root.position), store.namer
    title = f"A line of best play of {store.info['name']} from {root.position}"
    probes = line.probes[:-1] if line.repeats else line.probes
    nodes = tuple(_node(game, probe, distance) for distance, probe in enumerate(probes))
    arrows = [
        arrow
        for probe, move in zip(line.probes, line.moves, strict=False)
        for arrow in _arrows(
            game, namer, probe, [each for each in probe.moves if each.move == move]
        )
    ]
    return Drawing(title, nodes, tuple(arrows), probes, line=True)


def _node(game: Game | None, probe: Probe, distance: int) -> dot.Node:
    seen = (probe.state, probe.position, boards.picture_of(probe.position, game), distance)
    return dot.Node(*seen, probe.ended, probe.value, boards.depth_of(probe))


def _arrows(
    game: Game | None, namer: Namer, probe: Probe, moves: Sequence[Move]
) -> list[dot.Arrow]:
    """Return moves of a state, merged by child."""
    best = {move.state for move in probe.best}
    by_child: dict[int, list[boards.Choice]] = {}
    named = boards.choices(game, probe.position, moves, partial(move_text, namer))
    for move, choice in zip(moves, named, strict=True):
        by_child.setdefault(move.state, []).append(choice)
    return [
        dot.Arrow(
            probe.state,
            child,
            tuple(choice.move for choice in alike),
            tuple(choice.name for choice in alike),
            alike[0].value,
            alike[0].depth,
            child in best,
        )
        for child, alike in by_child.items()
    ]
