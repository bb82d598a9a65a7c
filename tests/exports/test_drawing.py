"""A picture of a game has the states, moves and values of the database."""

import io
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from xml.etree import ElementTree as ET

import networkx as nx
import pytest
from conftest import ROOT, TableGame, error_line, graphstore
from matplotlib.image import imread

from graphstore import Match, Store, build, draw, explore, find_game, verify
from graphstore.errors import DrawingError, MissingExtraError, TooLargeError
from graphstore.exports import dot
from graphstore.exports.drawing import STATES
from graphstore.rules.board import WORDS
from graphstore.rules.game import move_text
from graphstore.rules.notebook import or_none, picture
from graphstore.rules.svg import COLOURS

SVG = "{http://www.w3.org/2000/svg}"
PNG = b"\x89PNG\r\n\x1a\n"
TRAP = "XO./.X./..O"
HOSTILE = {
    "<&\"'> --> ]]>": {0: "\x07\\", 1: "</svg><script>alert(1)</script>", 2: '"];}\n\x1b'},
    "\x07\\": {0: "</svg><script>alert(1)</script>"},
    "</svg><script>alert(1)</script>": -1,
    '"];}\n\x1b': 0,
}


def parsed(picture):
    return ET.fromstring(picture)  # noqa: S314  # our own SVG; the test is whether it is well formed


def drawn(picture, kind):
    """Return the groups of an SVG that are nodes or edges, by `kind`."""
    return [each for each in parsed(picture).iter(SVG + "g") if each.get("class") == kind]


@pytest.fixture(scope="module")
def stores(tmp_path_factory, tictactoe_db):
    """A function that opens the database of a game, built once."""
    folder = tmp_path_factory.mktemp("games")
    opened = {"tictactoe": Store.open(tictactoe_db)}

    def store(name):
        if name not in opened:
            path = folder / f"{len(opened)}.db"
            build(TableGame(HOSTILE, next(iter(HOSTILE))) if name == "hostile" else name, path)
            opened[name] = Store.open(path)
        return opened[name]

    yield store
    for each in opened.values():
        each.close()


@pytest.mark.parametrize("best", [False, True])
@pytest.mark.parametrize(
    ("name", "position", "plies"),
    [
        ("tictactoe", TRAP, 1),
        ("tictactoe", TRAP, 9),
        ("tictactoe", None, 3),
        ("nim(2,3)", None, 3),
        ("hexapawn(3,3)", None, 4),
        ("connect(4,3,3)", None, 3),
        ("morris(king)", "XO./O.X/X.O X", 3),  # a game with cycles
        ("hostile", None, 2),
    ],
)
def test_the_graph_below_a_position_is_that_of_the_database(stores, name, position, plies, best):
    store = stores(name)
    drawing = draw(store, position, plies=plies, best=best)
    graph = nx.DiGraph(store.graph())
    root = drawing.nodes[0].state
    assert root == store.probe(store.info["start"] if position is None else position).state
    rows = store.sql("SELECT DISTINCT state, child FROM best_move")
    good = set(map(tuple, rows))
    if best:
        graph.remove_edges_from([edge for edge in graph.edges if edge not in good])
    distances = nx.single_source_shortest_path_length(graph, root, cutoff=plies)
    assert {node.state: node.distance for node in drawing.nodes} == distances
    values = dict(map(tuple, store.sql("SELECT id, value FROM state")))
    counts = {
        (parent, child): len(data["moves"])
        for parent, child, data in graph.edges(data=True)
        if distances.get(parent, plies) < plies
    }
    arrows = {(arrow.parent, arrow.child): arrow for arrow in drawing.arrows}
    assert {edge: len(arrow.moves) for edge, arrow in arrows.items()} == counts
    for edge, arrow in arrows.items():
        assert arrow.value == -values[edge[1]]
        assert arrow.best == (edge in good)
    assert [node.distance for node in drawing.nodes] == sorted(distances.values())


@pytest.mark.parametrize("name", ["tictactoe", "nim(2,3)", "morris(king)", "hostile"])
def test_the_moves_of_a_drawn_state_are_those_of_the_position_as_it_is_drawn(stores, name):
    store = stores(name)
    drawing = draw(store, plies=2)
    for node, probe in zip(drawing.nodes, drawing.probes, strict=True):
        assert store.probe(node.position) == probe
        legal = {move.move: move.state for move in probe.moves}
        for arrow in drawing.arrows:
            if arrow.parent == node.state:
                assert {legal[move] for move in arrow.moves} == {arrow.child}


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("tictactoe", {"position": TRAP, "plies": 2}),
        ("tictactoe", {"line": True}),
        ("nim(2,3)", {"plies": 2}),
        ("nim(1,3,5)", {"plies": 3}),  # many moves between states of one rank
        ("nim(3,4,5)", {"plies": 12}),
        ("subtraction(12,1,2,3)", {"plies": 6}),
        ("vanishing", {"plies": 3}),
        ("hexapawn(3,3)", {"plies": 12}),
        ("morris(king)", {"position": "XO./O.X/X.O X", "plies": 3}),
        ("morris(king)", {"line": True}),
        ("hostile", {"plies": 2}),
    ],
)
def test_the_picture_of_a_graph_has_its_nodes_and_edges_in_the_colours_of_values(
    stores, name, what
):
    drawing = draw(stores(name), **what)
    picture = drawing.svg()
    assert len(drawn(picture, "node")) == len(drawing.nodes)
    found = Counter()
    for edge in drawn(picture, "edge"):
        line = edge.find(SVG + "path")
        bold = float(line.get("stroke-width", 1)) > 1
        title, text = edge.find(SVG + "title").text, edge.find(SVG + "text").text
        found[line.get("stroke"), bold, title.rpartition(", ")[2], text.strip("\xa0")] += 1
    assert found == Counter(
        (COLOURS[arrow.value], arrow.best, WORDS[arrow.value], arrow.label)
        for arrow in drawing.arrows
    )
    assert parsed(picture).get("aria-label")
    assert "<script" not in picture
    assert "<!" not in picture


def test_labels_name_all_moves_to_a_child_and_their_worth(stores):
    opening = {arrow.label for arrow in draw(stores("tictactoe"), plies=1).arrows}
    assert opening == {"0 2 6 8: D", "1 3 5 7: D", "4: D"}
    assert {arrow.label for arrow in draw(stores("nim(2,3)"), "1,1", plies=1).arrows} == {
        "1-1 2-1: L1"
    }


def test_a_line_is_the_line_of_the_store(stores):
    for name in ("tictactoe", "hexapawn(3,3)", "nim(2,3)"):
        line, drawing = stores(name).line(), draw(stores(name), line=True)
        assert tuple(node.position for node in drawing.nodes) == line.positions
        assert tuple(move for arrow in drawing.arrows for move in arrow.moves) == line.moves


@pytest.mark.parametrize("name", ["tictactoe", "subtraction(40,1,2)"])
def test_a_long_line_is_drawn_in_rows_that_go_to_and_fro(stores, name):
    drawing = draw(stores(name), line=True)
    picture = drawing.svg()
    assert len(drawn(picture, "node")) == len(drawing.nodes)
    assert len(drawn(picture, "edge")) == len(drawing.arrows)
    places = {}
    for node in drawn(picture, "node"):
        frame = node.findall(f".//{SVG}polygon")[-1].get("points").split()
        places[node.find(SVG + "title").text] = [
            sum(map(float, each)) / len(frame)
            for each in zip(*(corner.split(",") for corner in frame), strict=True)
        ]
    row, rows = [], []
    for x, y in (places[node.position] for node in drawing.nodes):
        if row and abs(y - row[-1][1]) > 20:  # points; a board is at least as high
            rows.append(row)
            row = []
        row.append((x, y))
    rows.append(row)
    assert len(rows) > 1
    assert max(map(len, rows)) <= dot.MOST_IN_A_ROW
    for number, row in enumerate(rows):
        assert [x for x, _ in row] == sorted((x for x, _ in row), reverse=number % 2 == 1)
    heights = [row[0][1] for row in rows]
    assert heights == sorted(heights)


def test_a_line_that_repeats_leads_back(stores):
    line, drawing = stores("morris(king)").line(), draw(stores("morris(king)"), line=True)
    assert line.repeats
    assert len(drawing.nodes) == len(drawing.arrows) == len(line.moves)
    assert drawing.arrows[-1].child in {node.state for node in drawing.nodes[:-1]}


def test_a_picture_too_large_is_refused_with_what_fits(stores):
    store = stores("tictactoe")
    with pytest.raises(TooLargeError) as refused:
        draw(store, plies=9)
    (fits, states) = map(
        int, re.search(r"--plies (\d+) \((\d+) states\)", str(refused.value)).groups()
    )
    assert len(draw(store, plies=fits).nodes) == states <= STATES
    with pytest.raises(TooLargeError):
        draw(store, plies=fits + 1)
    assert len(draw(store, plies=9, max_states=765).nodes) == 765
    with pytest.raises(TooLargeError):
        draw(store, plies=9, max_states=764)
    with pytest.raises(TooLargeError) as refused:
        draw(store, plies=1, max_states=3)
    assert "--plies 0" not in str(refused.value)


def test_two_pictures_at_once_are_refused(stores):
    with pytest.raises(ValueError, match="plies or line, not both"):
        draw(stores("tictactoe"), plies=1, line=True)


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("tictactoe", {}),
        ("tictactoe", {"plies": 1}),
        ("nim(2,3)", {}),
        ("hexapawn(3,3)", {"position": "BBB/.W./W.W B"}),
        ("hostile", {"plies": 2}),
    ],
)
def test_a_png_is_a_picture_with_ink_and_the_colours_of_values(stores, name, what):
    drawing = draw(stores(name), **what)
    image = drawing.png()
    assert image.startswith(PNG)
    pixels = imread(io.BytesIO(image), format="png")
    rgb = {
        tuple(round(c * 255) for c in pixel) for pixel in pixels[:, :, :3].reshape(-1, 3).tolist()
    }
    assert (255, 255, 255) in rgb
    values = {arrow.value for arrow in drawing.arrows}
    values |= {choice.value for choice in drawing.nodes[0].shown}
    assert {tuple(bytes.fromhex(COLOURS[value][1:])) for value in values} <= rgb


@pytest.mark.parametrize(
    ("name", "position"),
    [("tictactoe", TRAP), ("nim(2,3)", None), ("hexapawn(3,3)", "BBB/.W./W.W B")],
)
def test_a_png_has_the_shapes_of_the_svg(stores, name, position):
    drawing = draw(stores(name), position)
    root = parsed(drawing.svg())
    left, top, wide, high = map(float, root.get("viewBox").split())
    image = imread(io.BytesIO(drawing.png()), format="png")
    assert image.shape[1] / image.shape[0] == pytest.approx(wide / high, rel=0.02)
    seen = 0
    for group in root.iter(SVG + "g"):
        found = re.fullmatch(r"translate\((\d+) (\d+)\)", group.get("transform", ""))
        for rect in group.findall(SVG + "rect"):
            kind = rect.get("class").removeprefix("gs-")
            values = {word: value for value, word in WORDS.items()}
            if kind in values and rect.get("fill-opacity") is None:
                x = float(found[1]) + float(rect.get("x")) + float(rect.get("width")) / 2 - left
                y = float(found[2]) + float(rect.get("y")) + 5 - top
                at = image[int(y * image.shape[0] / high), int(x * image.shape[1] / wide)]
                wanted = bytes.fromhex(COLOURS[values[kind]][1:])
                assert bytes(round(255 * part) for part in at[:3].tolist()) == wanted
                seen += 1
    assert seen == len({choice.cell for choice in drawing.nodes[0].shown})


def test_letters_are_drawn_where_the_machine_has_no_fonts(stores, monkeypatch):
    board = draw(stores("tictactoe"), TRAP).dot()
    without_system = re.sub("<include.*</include>", "", dot._fonts())
    without_any = re.sub("<dir>.*</dir>", "", without_system)
    assert dot._fonts() != without_system != without_any
    monkeypatch.setattr(dot, "_fonts", lambda: without_system)
    letters = dot.render(board, "png")
    monkeypatch.setattr(dot, "_fonts", lambda: without_any)
    assert letters != dot.render(board, "png")


def test_what_graphviz_cannot_do_is_one_line(capfd):
    with pytest.raises(DrawingError) as failed:
        dot.render("digraph {", "svg")
    assert "\n" not in str(failed.value)
    with pytest.raises(DrawingError, match="did not finish"):
        dot.render("digraph {a -> b}", "svg", seconds=1e-6)
    assert capfd.readouterr() == ("", "")


STUCK = """
import graphstore.cli.main, graphstore.exports.dot
graphstore.exports.dot._PROGRAM = (
    "import os, time; fifo = open(os.environ['FIFO'], 'w', buffering=1); print('begun', file=fifo);"
    "time.sleep(30); print('done', file=fifo)"
)
graphstore.cli.main.main()
"""


def test_a_draw_that_is_terminated_ends_its_layout_and_leaves_nothing(tictactoe_db, tmp_path):
    fifo, folder = tmp_path / "fifo", tmp_path / "tmp"
    os.mkfifo(fifo)
    folder.mkdir()
    words = ["draw", str(tictactoe_db), "--plies", "1", "--output", str(folder / "x.svg")]
    with subprocess.Popen(
        [sys.executable, "-c", STUCK, *words],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"FIFO": str(fifo), "TMPDIR": str(folder)},
    ) as process:
        with fifo.open() as layout:
            assert layout.readline() == "begun\n"
            process.terminate()
            assert layout.read() == ""
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (130, "graphstore: interrupted\n")
    assert list(folder.iterdir()) == []


def test_a_layout_ends_by_itself_after_its_time():
    words = [sys.executable, "-c", dot._PROGRAM, "svg", "fonts.conf", "1"]
    with subprocess.Popen(words, stdin=subprocess.PIPE) as process:  # it waits for its input
        assert process.wait(timeout=60) == -signal.SIGALRM


def test_dot_is_read_back_by_graphviz(stores):
    pygraphviz = pytest.importorskip("pygraphviz")
    for name in ("tictactoe", "hostile"):
        drawing = draw(stores(name), plies=2)
        graph = pygraphviz.AGraph(string=drawing.dot())
        assert sorted(map(int, graph.nodes())) == sorted(node.state for node in drawing.nodes)
        edges = sorted((int(a), int(b)) for a, b in graph.edges())
        assert edges == sorted((arrow.parent, arrow.child) for arrow in drawing.arrows)


# Notebooks


def test_every_object_shows_itself_in_a_notebook(stores):
    for name in ("tictactoe", "nim(2,3)", "morris(king)", "hostile"):
        store = stores(name)
        probe = store.probe(store.info["start"])
        assert parsed(probe._repr_svg_()).tag == SVG + "svg"
        for html in (store._repr_html_(), probe._repr_html_(), store.line()._repr_html_()):
            assert parsed(f"<div>{html}</div>") is not None
            assert "<script" not in html
        match = Match(store)
        match.play(probe.moves[0].move)
        assert parsed(match._repr_svg_()).tag == SVG + "svg"
        assert draw(store)._repr_svg_() == draw(store).svg()


def test_a_probe_shows_the_values_of_moves_without_the_rules(stores):
    probe = stores("tictactoe").probe("X../.O./..X")
    labels = Counter(text.text for text in parsed(probe._repr_svg_()).iter(SVG + "text"))
    assert labels == {"D": 4, "L2": 2}
    rows = parsed(f"<div>{probe._repr_html_()}</div>").findall(".//tbody/tr")
    assert [row[0].text for row in rows] == [str(move.move) for move in probe.moves]


def test_a_match_marks_the_last_move_and_gives_no_hint(stores):
    match = Match(stores("tictactoe"))
    match.play("4")
    shown = match._repr_svg_()
    assert shown.count('class="gs-last"') == 1
    assert not re.search(r'class="gs-(win|draw|loss)"', shown)


def test_a_graph_shows_its_numbers(tictactoe):
    small = explore(find_game("nim(2,3)"))
    assert "<td" in small._repr_html_()
    assert not hasattr(small, "_repr_svg_")
    cells = [cell.text for cell in parsed(tictactoe._repr_html_()).iter("td")]
    assert {"765", "2,270", "5,478"} <= set(cells)


def test_an_object_that_cannot_be_drawn_falls_back():
    @or_none
    def fails(_):
        raise RuntimeError("rules of anybody")

    assert fails(None) is None
    assert parsed(picture("\x00<")).tag == SVG + "svg"


def test_without_pygraphviz_graphs_say_what_to_install_and_positions_need_nothing(
    stores, monkeypatch
):
    monkeypatch.setattr(dot, "find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.delitem(sys.modules, "graphstore.exports.painting", raising=False)
    store = stores("tictactoe")
    position, graph = draw(store), draw(store, plies=1)
    for way in (position.png, graph.svg, graph.png):
        with pytest.raises(MissingExtraError, match="pip install matplotlib pygraphviz"):
            way()
    assert parsed(position.svg()) is not None
    assert graph.dot().startswith("digraph")
    assert (position._repr_html_(), graph._repr_svg_()) == (None, None)
    assert "pip install" in graph._repr_html_()
    assert repr(graph) == "<Drawing: Play of tictactoe from .../.../... for 1 ply, 4 states>"


# The command


def test_a_position_is_drawn_to_standard_output(run, tictactoe_db, stores):
    done = run("draw", tictactoe_db, "X../.O./..X")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == draw(stores("tictactoe"), "X../.O./..X").svg() + "\n"


@pytest.mark.parametrize(
    ("ending", "begins"),
    [("svg", b"<svg"), ("png", PNG), ("txt", b".  .  .".replace(b".", b"D")), ("dot", b"digraph")],
)
def test_the_ending_of_the_file_says_the_format(run, tictactoe_db, tmp_path, ending, begins):
    path = tmp_path / f"x.{ending}"
    done = run("draw", tictactoe_db, "--output", path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert path.read_bytes().replace(b" ", b"").startswith(begins.replace(b" ", b""))
    before = path.read_bytes()
    assert str(path) in error_line(run("draw", tictactoe_db, "--output", path))
    assert path.read_bytes() == before


def test_a_graph_goes_to_a_file_and_nothing_to_the_screen(tictactoe_db, tmp_path):
    path = tmp_path / "x.png"
    done = graphstore("draw", tictactoe_db, TRAP, "--plies", 1, "--output", path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert path.read_bytes().startswith(PNG)


def test_the_graph_as_json_has_the_names_of_the_columns(run, tictactoe_db):
    found = json.loads(run("draw", tictactoe_db, TRAP, "--plies", 1, "--json").stdout)
    assert found["nodes"][0]["position"] == TRAP
    assert found["nodes"][0].keys() >= {"state", "ply", "value", "remoteness", "orbit", "distance"}
    assert found["edges"][0] == {
        "parent": found["nodes"][0]["state"],
        "child": found["nodes"][1]["state"],
        "moves": [3],
        "names": ["3"],
        "optimal": 1,
        "depth": 1,
        "best": True,
    }
    shown = run("show", tictactoe_db, TRAP, "--json").stdout
    assert run("draw", tictactoe_db, TRAP, "--json").stdout == shown


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--line", "--plies", "2"), 2, "not both"),
        (("--best",), 2, "need --plies"),
        (("--json", "--format", "svg"), 2, "not both"),
        (("--plies", "1", "--format", "text"), 2, "only a position"),
        (("--output", "x.jpeg"), 2, "unknown format"),
        (("--plies", "0"), 2, "--plies"),
        (("--layout", "down"), 2, "need --plies"),
        (("--width", "500"), 2, "needs --plies"),
        (("--plies", "1", "--layout", "up"), 2, "--layout"),
        (("--plies", "1", "--width", "5"), 2, "--width"),
        (("--plies", "9"), 1, "more than 300 states"),
        (("XX./.../...",), 1, ""),
        (("--output", "/nowhere/x.svg"), 1, "there is no folder /nowhere"),
    ],
)
def test_a_wrong_draw_is_refused_in_one_line(
    run, tictactoe_db, tmp_path, monkeypatch, words, code, said
):
    monkeypatch.chdir(tmp_path)
    assert said in error_line(run("draw", tictactoe_db, *words), code)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_could_not_be_drawn_is_not_there(run, tictactoe_db, tmp_path, monkeypatch):
    monkeypatch.setattr(dot, "find_spec", lambda name: None)
    done = run("draw", tictactoe_db, "--plies", 1, "--output", tmp_path / "x.svg")
    assert "pip install matplotlib pygraphviz" in error_line(done)
    assert list(tmp_path.iterdir()) == []


def test_a_file_without_rules_is_drawn_as_stored(run, stores):
    path = stores("hostile").path
    done = run("draw", path, "--plies", 2)
    assert done.returncode == 0
    assert len(drawn(done.stdout, "node")) == len(HOSTILE)
    assert "not built in" in done.stderr


def test_drawing_a_position_imports_no_drawing_program(tictactoe_db):
    code = (
        "import sys\n"
        "from graphstore.cli.main import main\n"
        "main()\n"
        "sys.exit(len({'pygraphviz', 'matplotlib', 'networkx'} & set(sys.modules)))"
    )
    words = [sys.executable, "-c", code, "draw", str(tictactoe_db)]
    assert subprocess.run(words, capture_output=True).returncode == 0


def test_the_pictures_of_the_documents_are_what_their_commands_draw(run, tictactoe_db, tmp_path):
    """Compare only the texts: the layout differs between versions of Graphviz."""
    document = (ROOT / "docs" / "guides" / "pictures-and-exports.md").read_text()
    shown = re.findall(r"graphstore draw tictactoe.db (.*) --output (.*\.svg)", document)
    images = re.findall(r"\(../images/(.*)\)", document)
    assert sorted(images) == sorted(name for _, name in shown)
    for words, name in shown:
        assert run("draw", tictactoe_db, *words.split(), "--output", tmp_path / name).stderr == ""
        now, then = ((folder / name).read_text() for folder in (tmp_path, ROOT / "docs" / "images"))
        assert sorted(parsed(now).itertext()) == sorted(parsed(then).itertext())


# Layouts


def pixels(picture):
    """Return the width of an SVG in pixels; Graphviz counts points."""
    return float(parsed(picture).get("width").removesuffix("pt")) * 96 / 72


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("tictactoe", {"plies": 3}),
        ("tictactoe", {"plies": 3, "layout": "down"}),
        ("tictactoe", {"plies": 3, "layout": "radial"}),
        ("tictactoe", {"line": True}),
        ("nim(3,4,5)", {"plies": 3}),
        ("hexapawn(3,3)", {"plies": 4}),
        ("morris(king)", {"position": "XO./O.X/X.O X", "plies": 3}),
    ],
)
@pytest.mark.parametrize("width", [400, 1200])
def test_a_picture_fits_its_width(stores, name, what, width):
    drawing = draw(stores(name), **what, width=width)
    picture = drawing.svg()
    assert pixels(picture) <= width + 2  # Graphviz rounds up to whole points
    assert len(drawn(picture, "node")) == len(drawing.nodes)
    assert len(drawn(picture, "edge")) == len(drawing.arrows)


def test_a_board_is_tinted_by_its_value_for_the_player_to_move(stores):
    for layout in dot.LAYOUTS:
        drawing = draw(stores("tictactoe"), TRAP, plies=2, layout=layout)
        papers = {
            node.find(SVG + "title").text: {each.get("fill") for each in node.iter(SVG + "polygon")}
            for node in drawn(drawing.svg(), "node")
        }
        for node, probe in zip(drawing.nodes, drawing.probes, strict=True):
            tints = papers[probe.position] & {*dot.TINTS.values()}
            assert tints == {dot.TINTS[probe.value]}
            assert (node.value, node.depth) == (
                probe.value,
                {1: probe.lose_depth, 0: None, -1: probe.win_depth}[probe.value],
            )


def test_labels_of_moves_between_states_of_one_distance_do_not_touch(stores):
    picture = draw(stores("nim(3,4,5)"), plies=2).svg()
    boxes = []
    for edge in drawn(picture, "edge"):
        text = edge.find(SVG + "text")
        x, y, half = float(text.get("x")), float(text.get("y")), 3 * len(text.text)  # 10 pt letters
        boxes.append((x - half + 3, x + half - 3, y - 8, y))
    pairs = [(a, b) for n, a in enumerate(boxes) for b in boxes[:n]]
    touching = [
        pair
        for pair in pairs
        if all(pair[0][at] < pair[1][at + 1] and pair[1][at] < pair[0][at + 1] for at in (0, 2))
    ]
    assert touching == []


def test_a_large_graph_comes_with_a_hint(run, tictactoe_db):
    assert "--best" in run("draw", tictactoe_db, "--plies", 3, "--format", "dot").stderr
    assert run("draw", tictactoe_db, "--plies", 3, "--best", "--format", "dot").stderr == ""


def test_answers_and_verdicts_are_tables_in_a_notebook(stores, copy):
    store = stores("tictactoe")
    answer = store.sql("SELECT id, position, board(id) AS board FROM state")
    shown = parsed(f"<div>{answer._repr_html_()}</div>")
    assert len(shown.findall(".//tbody/tr")) == len(shown.findall(f".//{SVG}svg")) == 20
    assert "all rows" in shown.find("p").text
    assert len([*answer]) == store.info["states"]  # showing it has read nothing
    assert "have been read" in answer._repr_html_()
    hostile = stores("hostile").sql("SELECT position FROM state")._repr_html_()
    assert parsed(f"<div>{hostile}</div>") is not None
    assert "<script" not in hostile
    verdict = verify(store)
    checks = [row[0].text for row in parsed(f"<div>{verdict._repr_html_()}</div>").iter("tr")]
    assert [*checks[1:]] == [*verdict.checked]
    with closing(sqlite3.connect(copy)) as connection, connection:
        connection.execute("UPDATE state SET ply = ply + 1 WHERE id = 0")
    with Store.open(copy) as wrong:
        assert "<td>ply</td>" in verify(wrong)._repr_html_()


def test_moves_of_pieces_have_their_names_without_the_rules(stores):
    store = stores("hexapawn(3,3)")
    probe = store.start()
    names = {choice.name for choice in probe.choices()}
    assert names == {move_text(store.game, move.move) for move in probe.moves}
    assert all(f"<td>{name}</td>" in probe._repr_html_() for name in names)
