"""An exported graph equals the graph of the database, in networkx and in Graphviz."""

import networkx as nx
import pygraphviz
import pytest
from conftest import Nasty, TableGame

from graphstore import Store, build, export
from graphstore.exports.graphs import printable

READERS = {
    "graphml": lambda path: nx.read_graphml(path, node_type=int),
    "gexf": lambda path: nx.read_gexf(path, node_type=int),
}
GAMES = ["tictactoe", "nim(2,3,4)", "cyclic", "nasty"]


@pytest.fixture(scope="module", params=GAMES)
def path(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("game") / "game.db"
    cyclic = {0: {0: 1, 5: 2}, 1: {3: 0, 1: 2, 2: 2}, 2: {0: 0, 1: 3}, 3: -1}
    games = {"cyclic": TableGame(cyclic, 0), "nasty": Nasty()}
    build(games.get(request.param, request.param), path)
    return path


def expected(path):
    """Return {id: attributes} and {(parent, child): attributes} from the database."""
    with Store.open(path) as store:
        graph = store.graph()
        winners = dict(store.sql("SELECT id, winner FROM state"))
        best = set(store.sql("SELECT DISTINCT state, child FROM best_move"))
        names = dict(store.sql("SELECT * FROM move"))
    nodes = {
        state: {
            name: cell
            for name, cell in {"state": state, **data, "winner": winners[state]}.items()
            if cell is not None
        }
        for state, data in graph.nodes(data=True)
    }
    edges = {
        (parent, child): {
            "moves": " ".join(map(str, data["moves"])),
            "best": (parent, child) in best,
            "optimal": -graph.nodes[child]["value"],
            **({"names": " ".join(names[move] for move in data["moves"])} if names else {}),
        }
        for parent, child, data in graph.edges(data=True)
    }
    return nodes, edges


@pytest.mark.parametrize("file_format", READERS)
def test_networkx_reads_the_graph_of_the_database_with_all_its_values(path, tmp_path, file_format):
    target = tmp_path / "graph"
    with Store.open(path) as store:
        done = export(store, target, file_format)
    nodes, edges = expected(path)
    assert done == (file_format, (str(target),), {"state": len(nodes), "edge": len(edges)})
    graph = READERS[file_format](target)
    assert type(graph) is nx.DiGraph
    for data in nodes.values():
        data["position"] = printable(data["position"])
        if file_format == "gexf":
            data["label"] = data["position"]
    assert dict(graph.nodes(data=True)) == nodes
    read = {(parent, child): data for parent, child, data in graph.edges(data=True)}
    if file_format == "gexf":
        assert [data.pop("id") for data in read.values()] == [str(n) for n in range(len(edges))]
    assert read == edges


def test_values_come_back_in_their_types(path, tmp_path):
    nodes, _ = expected(path)
    with Store.open(path) as store:
        export(store, tmp_path / "graph", "graphml")
    for state, data in nx.read_graphml(tmp_path / "graph", node_type=int).nodes(data=True):
        assert {name: type(cell) for name, cell in data.items()} == {
            name: type(cell) for name, cell in nodes[state].items()
        }


def test_graphviz_reads_the_graph_of_the_database(path, tmp_path):
    target = tmp_path / "graph.dot"
    with Store.open(path) as store:
        export(store, target, "dot")
    nodes, edges = expected(path)
    graph = pygraphviz.AGraph(string=target.read_bytes().decode())
    assert graph.is_directed()
    assert {int(node) for node in graph.nodes()} == set(nodes)
    assert {(int(parent), int(child)) for parent, child in graph.edges()} == set(edges)
    for state, right in list(nodes.items())[:300]:
        attributes = graph.get_node(state).attr
        for name, cell in right.items():
            text = {"True": "true", "False": "false"}.get(str(cell), str(cell))
            if name == "position":
                text = printable(cell).replace("\\", "\\\\")
                assert attributes["label"] == text.replace("&", "&amp;")
            assert attributes[name] == text
    for (parent, child), right in list(edges.items())[:300]:
        attributes = graph.get_edge(parent, child).attr
        assert attributes["moves"] == right["moves"]
        assert attributes["best"] == str(right["best"]).lower()
        assert attributes["optimal"] == str(right["optimal"])


@pytest.mark.parametrize("file_format", [*READERS, "dot"])
def test_ids_of_63_bits_survive(tmp_path, file_format):
    large = 2**63 - 1
    build(TableGame({2**62 + 1: {-(2**31): large}, large: -1}, 2**62 + 1), tmp_path / "t.db")
    target = tmp_path / "graph"
    with Store.open(tmp_path / "t.db") as store:
        export(store, target, file_format)
    if file_format == "dot":
        graph = pygraphviz.AGraph(string=target.read_text())
        assert graph.get_edge(2**62 + 1, large).attr["moves"] == str(-(2**31))
        return
    graph = READERS[file_format](target)
    assert list(graph.edges(data="moves")) == [(2**62 + 1, large, str(-(2**31)))]
    assert graph.nodes[large]["state"] == large


def test_the_best_moves_of_a_part_are_the_best_of_the_game(store, tmp_path):
    """If the best move of a state leads out of the part, no other move becomes the best."""
    export(store, tmp_path / "graph", "graphml", where="value >= 0")
    graph = READERS["graphml"](tmp_path / "graph")
    whole = store.graph()
    chosen = {state for state, value in whole.nodes(data="value") if value >= 0}
    best = set(store.sql("SELECT DISTINCT state, child FROM best_move"))
    assert set(graph.edges) == set(whole.subgraph(chosen).edges)
    flagged = {edge for edge in graph.edges if graph.edges[edge]["best"]}
    assert flagged == best & set(graph.edges)
    assert {state for state in graph if graph.out_degree(state)} > {state for state, _ in flagged}
