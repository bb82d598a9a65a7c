"""Margins are those of a plain minimax, in every database; value stays their sign."""

import asyncio
import json
import shutil
import sqlite3
import tempfile
from contextlib import closing
from functools import cache
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import scoredgames
from conftest import check_all, error_line, for_all, graphstore
from hypothesis import given, settings
from hypothesis import strategies as st
from scoredgames import Ends, Heap, Round
from stored import redigest

from graphstore import (
    Folder,
    Player,
    Store,
    build,
    build_folder,
    compare,
    explore,
    find_game,
    load,
    nimbers,
    search,
    solve,
    upgrade,
    verify,
)
from graphstore.checks.laws import check_rules
from graphstore.errors import ArgumentError, RulesError
from graphstore.games.base import ArrayGame
from graphstore.rules.game import IN_PLAY, LOSS, Moves
from graphstore.store.digests import OrderedDigests
from graphstore.store.probe import margin_of, probe_as_stored
from graphstore.store.sqlite.structure import made

FILE = Path(scoredgames.__file__)
ROWS = st.lists(st.integers(-9, 9), min_size=1, max_size=8)


def rules(name):
    return f"{FILE}:{name}"


def minimax(game):
    """Return a function from a position to its margin, by recursion."""

    @cache
    def margin(position):
        result = game.outcome(position)
        if result is not None:
            return result
        return max(-margin(game.play(position, move)) for move in game.moves(position))

    return margin


@given(ROWS)
@settings(max_examples=30, deadline=None)
def test_margins_are_those_of_a_plain_minimax(row):
    game = Ends(*row)
    graph, right = explore(game), minimax(game)
    solution = solve(graph)
    assert solution.margin.dtype == np.int16
    assert solution.nimber is None
    positions = [game.parse(text) for text in graph.texts(graph.states.id)]
    assert solution.margin.tolist() == [right(position) for position in positions]
    assert np.array_equal(np.sign(solution.margin), solution.value)


def test_other_columns_are_those_of_play_for_a_win():
    class Signs(Heap):
        margins = False

        def outcome(self, heap):
            result = super().outcome(heap)
            return result and (result > 0) - (result < 0)

    scored, plain = solve(explore(Heap())), solve(explore(Signs()))
    assert plain.margin is None
    for name, column in plain._asdict().items():
        if name not in ("margin", "nimber"):
            assert np.array_equal(getattr(scored, name), column, equal_nan=True), name


@pytest.mark.parametrize("name", ["Ends", "Heap"])
def test_every_build_has_the_same_margins(name, place, tmp_path):
    game = find_game(rules(name))
    build(game, place)
    build_folder(game, tmp_path / "folder", parts=3)
    folder = Folder.open(tmp_path / "folder")
    load(folder, tmp_path / "loaded.db")
    right = minimax(getattr(scoredgames, name)())
    with Store.open(place, rules=game) as store:
        assert compare(store, tmp_path / "loaded.db", rows=True).same
        assert store.info["digest"] == folder.info["digest"]
        rows = list(store.sql("SELECT position, margin, nimber FROM state ORDER BY id"))
        assert all(
            margin == right(getattr(scoredgames, name)().parse(text)) for text, margin, _ in rows
        )
        assert {nimber for *_, nimber in rows} == {None}
        best = [*store.sql("SELECT state, move, child, margin FROM best_move_by_margin")]
        assert sorted(folder.sql("SELECT * FROM best_move_by_margin")) == sorted(best)
        margin = dict(store.sql("SELECT id, margin FROM state"))
        edges = [*store.sql("SELECT parent, move, child FROM edge")]
        assert sorted(best) == sorted(
            (*edge, -margin[edge[2]]) for edge in edges if -margin[edge[2]] == margin[edge[0]]
        )
        assert verify(store).ok
        graph, solved = store.graph(), explore(game)
        assert np.array_equal(graph.solution.margin, solve(solved).margin)
        assert np.array_equal(solve(graph).margin, solved.solution.margin)
        node = int(graph.states.id[0])
        assert graph.nodes[node]["margin"] == margin[node]
        assert nx.get_node_attributes(graph, "margin") == margin
        assert graph.to_table()["margin"].tolist() == [margin[key] for key in sorted(margin)]
        assert np.isnan(graph.to_table()["nimber"]).all()


def test_a_game_in_which_play_can_return_has_no_margins(tmp_path):
    why = "Round: margins are found only where play ends, and it can return to a position"
    with pytest.raises(RulesError, match=f"{why}, as from 1?[0-9]; let outcome"):
        solve(explore(Round()))
    for words in (["--db", tmp_path / "r.db"], ["--folder", tmp_path / "r"]):
        assert why in error_line(graphstore("build", rules("Round"), *words))
    assert not (tmp_path / "r").exists()
    (breach, *_) = check_rules(Round()).breaches
    assert "play comes here after a cycle, so there are no margins" in str(breach)


@for_all(
    "result", [1.5, "3", True, float("nan"), float("inf"), 32_768, -32_768, 10**30, [1], 1 + 1j]
)
def test_a_margin_that_is_not_an_integer_of_16_bits_is_refused(result):
    class Bad(Heap):
        def outcome(self, heap):
            return result if heap < 2 else None

    with pytest.raises(RulesError, match="must be a whole number from -32,767 to 32,767, or None"):
        explore(Bad())
    assert not check_rules(Bad()).complete


@for_all("result", [32_767, -32_767, np.int64(5), 5.0, np.int8(-3), 0])
def test_whole_numbers_are_margins(result):
    class Good(Heap):
        def start(self):
            return 2

        def outcome(self, heap):
            return result if heap < 2 else None

    solution = solve(explore(Good()))
    assert solution.margin.tolist() == [result, -result]


@for_all("value", [1, "yes", None, [3]])
def test_margins_is_true_or_false(value):
    kind = type("Mine", (Heap,), {"margins": value})
    with pytest.raises(RulesError, match=r"Mine: margins is .*; it must be True or False"):
        explore(kind())


class Pile(ArrayGame):
    """Take one or two; a game of arrays with scores."""

    name, results = "pile", {0: -7, 1: 4}

    def start_states(self):
        return np.array([9])

    def expand(self, positions):
        parent = np.repeat(np.arange(len(positions)), 2)
        take = np.tile([2, 3], len(positions))
        child = positions[parent] - take
        kept = child >= 0
        return Moves(parent[kept], take[kept].astype(np.int32), child[kept])

    def outcomes(self, positions):
        codes = {0: LOSS, 1: 1}
        return np.array([codes.get(each, IN_PLAY) for each in positions.tolist()], dtype=np.int8)

    def margins(self, positions):
        return np.array([self.results.get(each, 0) for each in positions.tolist()], dtype=np.int16)

    def texts(self, positions):
        return [*map(str, positions.tolist())]

    def read(self, text):
        return int(text)

    def read_many(self, texts):
        return np.array([*map(int, texts)])


def test_rules_on_arrays_give_margins_by_a_verb():
    assert check_rules(Pile()).breaches == ()
    solution = solve(explore(Pile()))
    right = [-7, 4]
    for heap in range(2, 10):
        right.append(max(-right[heap - take] for take in (2, 3) if take <= heap))
    assert solution.margin.tolist() == [right[heap] for heap in (*range(8), 9)]


def test_check_names_wrong_margins():
    def broken(**changed):
        (breach,) = check_rules(type("Wrong", (Pile,), changed)()).breaches
        return str(breach)

    check_all(
        [
            ({"results": {0: 7, 1: 4}}, "at position 0: its margin is 7, but its result a loss"),
            ({"results": {0: 0, 1: 4}}, "at position 0: its margin is 0, but its result a loss"),
            ({"results": {0: -7, 1: 4, 3: 2}}, "at position 3: its margin is 2, but its result"),
            ({"results": {0: -7, 1: -32_768}}, "margins() gives -32768 at 1"),
            ({"margins": lambda *_: np.zeros(3)}, "margins() gives float64 of shape (3,)"),
        ],
        lambda changed, words: words in broken(**changed) or pytest.fail(broken(**changed)),
    )
    with pytest.raises(RulesError, match=r"margins\(\) is 7 at 0, where outcomes\(\) is -1"):
        explore(type("Wrong", (Pile,), {"results": {0: 7, 1: 4}})())
    with pytest.raises(RulesError, match=r"Wrong: margins is not a method; write def margins"):
        explore(type("Wrong", (Pile,), {"margins": True})())


def test_a_search_has_the_sign_of_the_margin():
    game = Heap()
    for heap in range(12):
        assert search(game, str(heap)).value == np.sign(minimax(game)(heap)), heap
    assert search(Round(), "2").value == 1  # margins would be refused


def test_scores_of_openspiel_are_margins():
    pytest.importorskip("pyspiel")
    name = "openspiel:dots_and_boxes(num_rows=1,num_cols={},utility_margin={})"
    for columns, margin in ((1, -1), (2, 0)):  # by an independent minimax
        graph = explore(find_game(name.format(columns, "true")))
        assert solve(graph).margin[graph.states.ply == 0].tolist() == [margin]
    assert solve(explore(find_game(name.format(2, "false")))).margin is None


# Commands


@pytest.fixture(scope="module")
def ends(tmp_path_factory):
    path = tmp_path_factory.mktemp("ends") / "ends.db"
    build(rules("Ends"), path)
    return path


def test_moves_are_shown_by_margin_and_played_for_it(ends):
    right = minimax(Ends())
    with Store.open(ends, rules=rules("Ends")) as store:
        for text, _ in store.sql("SELECT position, id FROM state WHERE NOT ended"):
            probe = store.probe(text).by("margin")
            margins = [margin_of(move) for move in probe.moves]
            assert margins == sorted(margins, reverse=True)
            assert margins[0] == probe.margin == right(Ends().parse(text))
            assert {margin_of(move) for move in probe.best} == {probe.margin}
            with Player(store, by="margin", seed=1) as player:
                assert margin_of(player.choose(text)) == probe.margin
        line = store.line(by="margin")
        assert [abs(probe.margin) for probe in line.probes] == [4] * 7
        with pytest.raises(ArgumentError, match="by is 'score'; it must be 'value' or 'margin'"):
            store.start().by("score")


def test_commands_take_by_margin(ends, tmp_path):
    def run(*words):
        return graphstore(*words, "--rules", rules("Ends"))

    assert "margin +4" in run("show", ends).stdout
    shown = json.loads(run("show", ends, "--by", "margin", "--json").stdout)
    assert (shown["margin"], shown["nimber"]) == (4, None)
    assert [move["margin"] for move in shown["moves"]] == [-4, 4]
    assert run("line", ends, "--by", "margin").stdout.count("margin") == 7
    played = run("play", ends, "--by", "margin", "--you", "perfect", "--seed", "1", "--json")
    moves = json.loads(played.stdout)["moves"]
    assert moves[-1]["margin"] in (4, -4)
    exported = run("export", ends, "--format", "csv", "--table", "best_move_by_margin").stdout
    assert exported.startswith("state,move,child,margin\n")
    build("mnk(2,2,2)", tmp_path / "plain.db")
    for command in ("show", "line", "play"):
        done = graphstore(command, tmp_path / "plain.db", "--by", "margin")
        assert "has no margin, because the results of this game" in done.stderr, done
        assert done.returncode == 1


@for_all("change", ["margin = margin + 1", "margin = NULL", "margin = -margin", "nimber = 1"])
def test_verify_names_a_wrong_margin(change, ends):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(shutil.copy(ends, folder))
        with closing(sqlite3.connect(path)) as file:
            file.execute(
                f"UPDATE state SET {change} WHERE id = (SELECT max(id) FROM state WHERE margin > 2)"
            )
            file.commit()
        column = change.partition(" ")[0]
        with Store.open(path, rules=rules("Ends")) as store:
            found = {problem.column for problem in verify(store).problems}
            assert column in found, change
        assert column in {problem.column for problem in verify(path).problems}


# Nimbers


IMPARTIAL = (
    *("nim(2,2,12)", "subtraction(21,1,2,3)", "kayles(7)", "dawson(8)", "octal(0.137,8)"),
    *("wythoff(4,3)", "chomp(4,3)"),
)


def older(place):
    """Make a game as schema 0005 has it."""
    statements = (
        "DROP VIEW best_move_by_margin;"
        "ALTER TABLE state DROP COLUMN margin; ALTER TABLE state DROP COLUMN nimber;"
        "DELETE FROM digest WHERE name = 'state.nimber';"
        "UPDATE alembic_version SET version_num = '0005'"
    )
    if "://" in str(place):
        import postgresql

        postgresql.make_older_digests(place)
        name = str(place).partition("schema=")[2]
        played = postgresql.OLDER_PLAYED
        postgresql.ask(str(place), f"SET search_path TO {name}; {played}; {statements}")
        return
    redigest(place, OrderedDigests)
    with closing(sqlite3.connect(place)) as file:
        file.executescript(f"DROP TABLE played; {made('0005')['played']}; {statements}")


@pytest.mark.parametrize("name", IMPARTIAL)
def test_impartial_families_have_nimbers_in_every_build_and_after_an_upgrade(name, tmp_path):
    path, graph = tmp_path / "new.db", explore(name)
    build(name, path)
    build_folder(name, tmp_path / "parts", parts=2)
    load(tmp_path / "parts", tmp_path / "loaded.db")
    assert solve(graph).nimber.tolist() == nimbers(graph).tolist()
    with Store.open(path) as store:
        found = [each for (each,) in store.sql("SELECT nimber FROM state ORDER BY id")]
        assert found == graph.solution.nimber.tolist()
        assert store.graph().solution.nimber.tolist() == found
    assert compare(path, tmp_path / "loaded.db", rows=True).same
    assert verify(path).ok


@for_all("name", ["nim(1,3,5,7,misere)", "mnk(3,3,3)", "domineering(3,2)"])
def test_other_games_have_no_nimbers(name):
    graph = explore(name)
    solution = solve(graph)
    assert solution.nimber is solution.margin is None
    assert not {"nimber", "margin"} & graph.nodes[int(graph.states.id[0])].keys()


def test_an_older_game_is_read_and_upgraded(place, tmp_path):
    for name in ("kayles(7)", "mnk(3,3,3)"):
        new = tmp_path / "new.db"
        build(name, place, force=True)
        build(name, new, force=True)
        older(place)
        assert verify(place).ok
        assert verify(place, sample=5).ok
        with Store.open(place) as store, Store.open(new) as fresh:
            assert store.start()._replace(nimber=None) == fresh.start()._replace(nimber=None)
            with store.reader() as old, fresh.reader() as now:
                found, right = (probe_as_stored(each, store.info["start"]) for each in (old, now))
            assert found == right._replace(nimber=None)
            assert store.graph().solution.nimber is None
            assert {*store.sql("SELECT margin, nimber FROM state")} == {(None, None)}
            by_margin = store.sql("SELECT * FROM best_move_by_margin")
            assert (by_margin.columns, [*by_margin]) == (("state", "move", "child", "margin"), [])
            assert store.info["digest"] != fresh.info["digest"]
        exported = graphstore("export", place, "--format", "csv").stdout.splitlines()
        assert exported[0].endswith("margin,nimber")
        assert all(row.endswith(",,") for row in exported[1:])
        assert upgrade(place) == "0005"
        assert compare(place, new, rows=True).same
        assert verify(place).ok
        with Store.open(place) as store, Store.open(new) as fresh:
            assert store.info["digest"] == fresh.info["digest"]


def test_the_columns_of_a_game_without_them_cost_a_byte_each(tmp_path):
    build("mnk(4,3,3)", tmp_path / "new.db")
    build("mnk(4,3,3)", tmp_path / "old.db")
    older(tmp_path / "old.db")
    sizes = []
    for name in ("new.db", "old.db"):
        with closing(sqlite3.connect(tmp_path / name)) as file:
            file.execute("VACUUM")
            (states,) = file.execute("SELECT states FROM game").fetchone()
        sizes.append((tmp_path / name).stat().st_size)
    assert sizes[0] - sizes[1] <= 2 * states + 3 * 4096


def test_the_explorer_shows_margins_and_the_best_moves_by_them(ends, tmp_path):
    pytest.importorskip("datasette")
    from pages import Reader

    from graphstore.web import addresses
    from graphstore.web.application import application

    build("kayles(5)", tmp_path / "kayles.db")
    build("mnk(2,2,2)", tmp_path / "old.db")
    older(tmp_path / "old.db")
    stores = [Store.open(ends, rules=rules("Ends"))]
    stores += [Store.open(tmp_path / f"{name}.db") for name in ("kayles", "old")]
    with closing(application(stores)) as explorer:

        def read(path):
            response = asyncio.run(explorer.client.get(path))
            assert response.status_code == 200, (path, response.text[:500])
            return response.text

        page = Reader(read(addresses.write("ends", "(0, 6, 0)")))
        assert "margin+4" in page.text.replace(" ", "").replace("\n", "")
        assert "best by margin" in page.text
        assert "wins with 2 more moves, margin +4" in page.text
        assert "nimber" in read(addresses.write("kayles", "5"))
        assert "margin" not in read(addresses.write("old", "../.."))
        for table in ("ends/best_move_by_margin", "ends/state", "old/state", "kayles/state"):
            read(f"/{table}")
