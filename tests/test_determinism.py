"""The same game has the same content on every machine, with every Python and numpy."""

import json
import os
import subprocess
import sys
from itertools import chain

import numpy as np
import pytest
from conftest import DATA, SLOW, some_of

from graphstore import Solution, explore, find_game, solve
from graphstore.games import FAMILIES
from graphstore.store import digests
from graphstore.store.columns import edge_parts, state_parts

KNOWN = json.loads((DATA / "digests.json").read_text())
SMALL = [name for name in KNOWN if name != "mnk(4,4,4)"]

ALL = """
import json, sys
from test_determinism import SMALL, content_digest
print(json.dumps({name: content_digest(name) for name in SMALL}))
"""


def content_digest(name):
    """Return the digest of the content of a game, as a build stores it."""
    graph = explore(find_game(name))
    solution = solve(graph)
    hashes = digests.ColumnDigests()
    parts = {"state": state_parts(graph, solution), "edge": edge_parts(graph)}
    for table, some in parts.items():
        for _, _, columns in some:
            hashes.update_table(table, columns)
    return digests.of_content(hashes.of_columns())


@pytest.mark.parametrize(
    "name", [*SMALL, *(pytest.param(name, marks=SLOW) for name in KNOWN if name not in SMALL)]
)
def test_a_game_has_the_content_that_it_had_elsewhere(name):
    assert content_digest(name) == KNOWN[name]


def test_every_builtin_game_is_known():
    assert sorted(KNOWN) == sorted(chain.from_iterable(family.examples for family in FAMILIES))


@pytest.mark.parametrize("seed", some_of(["2", "1"], 2))
def test_neither_the_seed_of_hashes_nor_the_processor_changes_the_content(seed):
    # The instruction sets that numpy may use beyond those of every machine.
    features = " ".join(np._core._multiarray_umath.__cpu_dispatch__)
    environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
    if seed == "2":
        environment |= {"NPY_DISABLE_CPU_FEATURES": features}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", ALL],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {name: KNOWN[name] for name in SMALL}


def test_sums_of_random_play_follow_the_order_of_the_moves():
    """A real number could depend on the machine only through the order of additions."""
    graph = explore(find_game("nim(1,3,5,7,misere)"))
    solution: Solution = solve(graph)
    for row in range(len(graph.states.id)):
        children = graph.edges_by_move.child[
            graph.edges_by_move.offset[row] : graph.edges_by_move.offset[row + 1]
        ]
        if 0 < len(children) < 8:  # numpy adds eight or more in pairs
            total = 0.0
            for child in children.tolist():
                total += solution.random_value[child]
            assert solution.random_value[row] == 0.0 - total / len(children)
