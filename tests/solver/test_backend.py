"""Functions of networkx on a GameGraph run on its arrays, and give what networkx gives."""

import os
import re
import subprocess
import sys
from pathlib import Path

import networkx as nx
import pytest
from conftest import check_all, table_games
from hypothesis import given
from hypothesis import strategies as st
from networkx.utils.backends import _registered_algorithms
from test_graph import CYCLE, plain

from graphstore import GameGraph, explore, find_game, solve
from graphstore.solver import adjacency, backend, views
from graphstore.solver.backend_info import FUNCTIONS, THROUGH, get_info

pytest.importorskip("scipy.sparse.csgraph")  # before small graphs use it

DOCS = Path(__file__).parents[2] / "docs"


def answer(function, *arguments, ordered=True):
    """Return the result of a call with its types and order, or its error and message."""
    try:
        found = function(*arguments)
    except Exception as error:
        return type(error), str(error)
    if isinstance(found, nx.Graph):
        return type(found), found.graph, dict(found.nodes(data=True)), list(found.edges(data=True))
    if hasattr(found, "asformat"):
        found = found.asformat("csr")
        return found.dtype, found.indices.tolist(), found.indices.dtype, found.indptr.tolist()
    if hasattr(found, "to_dict"):
        return found.to_dict(), found.dtypes.to_dict()
    if isinstance(found, dict):
        kinds = {type(value) for value in found.values()}
        return kinds, found, list(found.items()) if ordered else None
    if hasattr(found, "__next__"):
        got = []
        try:
            got.extend(found)
        except nx.NetworkXException as error:
            return type(found), got, type(error), str(error)
        return type(found), got
    return type(found), found


def calls(source, target, cutoff, sources):
    """Return the arguments of every function that runs on arrays."""
    from_source, to_target = [(source,), ("none",)], [(target,), (None,)]
    away = [(source,), (source, cutoff), ("none",), ([],)]
    lengths = [(), ("weight", 2), ("moves",), (None,)]
    alone = [()]
    arguments = {
        "ancestors": to_target,
        "descendants": from_source,
        "dag_longest_path": lengths,
        "dag_longest_path_length": lengths,
        "get_edge_attributes": [("moves",), ("moves", 7), ("weight",), ("weight", 7)],
        "get_node_attributes": [("ply",), ("value",), ("value", 7), ("weight",), ("weight", 7)],
        "immediate_dominators": from_source,
        "dominance_frontiers": from_source,
        "multi_source_dijkstra_path_length": [
            (sources,),
            (set(sources), cutoff),
            (sources, None, None),
            (sources, None, lambda *_: 2),
            ([*sources, "none"],),
            ([],),
        ],
        "single_source_dijkstra_path_length": [*away[:3], (source, cutoff, "moves")],
        "single_source_shortest_path_length": away,
        "single_target_shortest_path_length": [(target,), (target, cutoff), ("none",)],
        "shortest_path_length": [(source,), (source, target)],
        "to_pandas_edgelist": [(), ("from", "to"), ("moves",), ("a", "b", [source])],
        "to_scipy_sparse_array": [(), ([source],), (None, float), (None, None, "moves")],
    }
    return [(name, each) for name in FUNCTIONS for each in arguments.get(name, alone)]


def same(name, arguments, graph, known):
    """Check that a call gives the same on two graphs."""
    function = _registered_algorithms[name]
    ordered = name not in ("immediate_dominators", "dominance_frontiers")
    found, expected = (answer(function, one, *arguments, ordered=ordered) for one in (graph, known))
    assert (name, arguments, found) == (name, arguments, expected)


CUTOFFS = st.sampled_from([None, 0, 1, 2, 1.5, -1, float("inf")])


@pytest.mark.parametrize("narrow", [0, 20], ids=["waves in numpy", "waves in Python"])
@pytest.mark.parametrize("cyclic", [False, True], ids=["acyclic", "cyclic"])
def test_results_on_random_graphs_are_those_of_networkx(monkeypatch, narrow, cyclic):
    monkeypatch.setattr(adjacency, "NARROW", narrow)
    monkeypatch.setattr(backend, "NARROW", narrow or 0.1)

    @given(table_games(cyclic=cyclic), CUTOFFS, st.data())
    def law(game, cutoff, data):
        graph = explore(game)
        solve(graph)
        nodes = st.sampled_from(list(graph))
        ends = data.draw(nodes), data.draw(nodes)
        several = data.draw(st.lists(nodes, min_size=1, max_size=3, unique=True))
        known = plain(graph)
        for call in calls(*ends, cutoff, several):
            same(*call, graph, known)

    law()


@given(st.lists(st.tuples(*[st.sampled_from("abcdefgh")] * 2), max_size=20), CUTOFFS)
def test_results_on_any_digraph_are_those_of_networkx(edges, cutoff):
    """`backend=` and networkx's own tests run the functions on plain graphs."""
    known = nx.DiGraph([("a", "b"), *edges])
    for name, arguments in calls("a", "b", cutoff, ["b", "a"]):
        mine, own = getattr(backend, name), _registered_algorithms[name].orig_func
        ordered = name not in ("immediate_dominators", "dominance_frontiers")
        found = answer(mine, known, *arguments, ordered=ordered)
        assert (name, found) == (name, answer(own, known, *arguments, ordered=ordered))


@pytest.mark.parametrize("name", ["tictactoe", "morris(king)", "nim(2,3,4)"])
def test_results_on_games_are_those_of_networkx(name):
    graph = explore(find_game(name))
    solve(graph)
    known = plain(graph)
    nodes = list(graph)
    check_all(
        calls(nodes[0], nodes[-1], 3, nodes[5:7]),
        lambda function, arguments: same(function, arguments, graph, known),
    )


def test_the_installed_package_is_a_backend_of_networkx():
    reason = "the entry points are missing; install the package again"
    assert "graphstore" in nx.utils.backends.backends, reason
    assert GameGraph.__networkx_backend__ == "graphstore"
    assert nx.utils.backends.backend_info["graphstore"] == get_info()


def test_functions_that_run_on_arrays_are_listed_and_documented():
    defined = {name for name, each in vars(backend).items() if hasattr(each, "__wrapped__")}
    assert defined == {name for name, note in FUNCTIONS.items() if note != THROUGH}
    text = (DOCS / "guides" / "networkx.md").read_text(encoding="utf-8")
    for name, note in FUNCTIONS.items():
        documented = _registered_algorithms[name].__doc__
        assert re.search(rf"graphstore : .*\n\s+{re.escape(note)}", documented), name
        assert f"`{name}`" in text


def test_no_function_on_arrays_reads_the_mappings(tictactoe):
    graph = GameGraph(
        "tictactoe", tictactoe.states, tictactoe.edges_by_move, tictactoe.texts
    )  # a new graph, of which nothing was read
    start = min(graph)
    for name, note in FUNCTIONS.items():
        if note != THROUGH:
            function = _registered_algorithms[name]
            wants = {"get_node_attributes": ("ply",), "get_edge_attributes": ("moves",)}
            wants |= {"multi_source_dijkstra_path_length": ([start],)}
            away = ("ancestors", "descendants", "immediate_dominators")
            if name in away or name.startswith("single_"):
                wants[name] = (start,)
            found = function(graph, *wants.get(name, ()))
            if hasattr(found, "__next__"):
                list(found)
            assert (name, graph._adj.kept, graph._pred.kept) == (name, {}, {})


def test_without_scipy_networkx_finds_the_components(without):
    graph = explore(CYCLE)
    known = plain(graph)
    expected = [list(find(known)) for find in (nx.strongly_connected_components,)]
    without("scipy")
    assert [list(find(graph)) for find in (nx.strongly_connected_components,)] == expected
    assert set(nx.condensation(graph)) == set(nx.condensation(known))


def test_other_graphs_run_as_before(tictactoe):
    known = plain(tictactoe)
    assert backend.should_run("pagerank", (tictactoe,), {}) is True
    assert backend.should_run("compose_all", ([known, tictactoe],), {}) is True
    assert "takes as long" in backend.should_run("descendants", (known, 0), {})
    assert nx.descendants(known, 0, backend="graphstore") == nx.descendants(known, 0)
    assert nx.descendants(tictactoe, 0, backend="networkx") == nx.descendants(known, 0)
    for _ in ("once", "again"):  # networkx warns of conversions that it has kept
        composed = nx.compose(known, tictactoe)
        assert len(nx.compose(composed, nx.DiGraph([(1, 2)]))) == len(known) + 2
    with pytest.raises(NotImplementedError, match="is not implemented by 'graphstore'"):
        nx.core_number(known, backend="graphstore")
    assert nx.number_connected_components(nx.Graph([(1, 2)])) == 1


@pytest.mark.parametrize("share", [2**60, 10], ids=["large", "small"])
@pytest.mark.parametrize("solved", [False, True], ids=["not solved", "solved"])
def test_large_graphs_that_keep_nothing_read_the_same(monkeypatch, share, solved):
    monkeypatch.setattr(views, "SHARE", share)
    monkeypatch.setattr(views, "ALONE", 3)
    monkeypatch.setattr(views, "STEP", 4)

    @given(table_games(cyclic=True))
    def law(game):
        graph = explore(game)
        if solved:
            list(graph.nodes(data=True))
            solve(graph)
        known = plain(graph)
        for read in (
            lambda one: [one.nodes[node] for node in one],
            lambda one: [(node, dict(one[node]), dict(one.pred[node])) for node in one],
            lambda one: [*one.nodes(data=True), *one.nodes.items(), *one.nodes.values()],
            lambda one: [*one.nodes(data="ply"), *one.nodes(data="value", default=3)],
            lambda one: [*one.nodes.data(), *one.nodes.data("to_move")],
            lambda one: [*one.edges, *one.edges(data=True), *one.edges(data="moves")],
            lambda one: [*one.in_edges, *one.in_edges(data=True), *one.in_edges(data="no")],
            lambda one: [*one.edges(list(one)[:3], data=True), *one.in_edges(list(one)[:3])],
            lambda one: [len(one.edges), len(one.in_edges), len(one.edges(data=True))],
            lambda one: [*one.degree, *one.in_degree, *one.out_degree, *one.degree(list(one)[:2])],
            lambda one: [*one.degree(weight="weight"), *one.in_degree(weight="ply")],
            lambda one: [one.degree[node] + one.in_degree(node) for node in one],
            lambda one: [list(one.adj), *one.adjacency(), *one.pred.items(), one.size("weight")],
            lambda one: [node in one for node in (0, 0.0, -1, "x", None)],
        ):
            assert read(graph) == read(known)
            assert read(graph) == read(known)  # from what is kept

    law()


def test_importing_networkx_imports_nothing_else_of_graphstore():
    code = "import networkx, sys; print(*sorted(n for n in sys.modules if 'graphstore' in n))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() in (
        ["graphstore", "graphstore.solver", "graphstore.solver.backend_info"],
        [],  # not installed
    )
    assert done.stderr == ""


OWN_TESTS = [  # those of networkx that call functions which run on arrays
    *(f"networkx.algorithms.{name}" for name in ("components", "link_analysis", "shortest_paths")),
    *(f"networkx.algorithms.tests.{name}" for name in ("test_dag", "test_dominance")),
    "networkx.algorithms.centrality.tests.test_degree_centrality",
    "networkx.classes.tests.test_function",
    "networkx.linalg.tests.test_graphmatrix",
    *(f"networkx.tests.test_convert_{name}" for name in ("pandas", "scipy")),
]


def test_the_tests_of_networkx_pass_with_the_backend(tmp_path):
    """One test changes a graph while it is read, which a GameGraph refuses."""
    options = ["-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", tmp_path]
    options += ["-k", "not test_topological_sort6"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--pyargs", *OWN_TESTS],
        env=os.environ
        | {"NETWORKX_TEST_BACKEND": "graphstore", "NETWORKX_FALLBACK_TO_NX": "1"}
        | {"PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout[-2000:]
