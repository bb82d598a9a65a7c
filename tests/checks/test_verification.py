"""`verify` finds and names every change in a file, and lists what it cannot check."""

import random
import sqlite3
from contextlib import closing, suppress

import networkx
import pytest
from conftest import DATA, TableGame, some_of, table_games
from hypothesis import given, settings
from hypothesis import strategies as st
from stored import change, other_values, redigest, verdict_on

from graphstore import Store, build, explore, find_game
from graphstore.checks import verify
from graphstore.checks.file import consistency, reading
from graphstore.errors import NotAStoreError, PositionError, StoreError
from graphstore.games.grid import Grid
from graphstore.store import schema


def is_named(verdict, table, column):
    """Return whether a problem names a column of a table, directly or by its digest."""
    digest = f"{table}.{column}"
    return any(
        (problem.table == table and column in problem.column.split())
        or (problem.table == "digest" and problem.row == digest)
        for problem in verdict.problems
    )


def corruptions():
    """Yield (table, column, index of the kind of corruption)."""
    for table in (schema.state, schema.edge, schema.game, schema.digest):
        for column in table.columns:
            if column.computed is None:
                kinds = 4 if column.type.python_type is str else 8
                yield from ((table.name, column.name, kind) for kind in range(kinds))


@pytest.mark.parametrize(("table", "column", "kind"), some_of(corruptions(), 4))
def test_a_changed_cell_anywhere_is_found_and_named(copy, table, column, kind):
    chance = random.Random(f"{table}.{column}.{kind}")
    keys = ", ".join(each.name for each in schema.metadata.tables[table].primary_key)
    with closing(sqlite3.connect(copy)) as connection:
        rows = connection.execute(f"SELECT {keys}, {column} FROM {table}").fetchall()
    *key, cell = chance.choice(rows)
    values = other_values(cell, [row[-1] for row in rows], chance)
    value = values[kind % len(values)]
    if value == cell:
        return  # another row has the same cell: nothing to find
    where = " AND ".join(f"{each} = ?" for each in keys.split(", "))
    before = copy.read_bytes()
    with suppress(sqlite3.IntegrityError):  # NULL, or a key that exists
        change(copy, (f"UPDATE {table} SET {column} = ? WHERE {where}", (value, *key)))
    if copy.read_bytes() == before:
        return  # the table refused it
    verdict = verdict_on(copy)
    assert not verdict.ok
    assert is_named(verdict, table, column) or table == "digest", verdict.problems
    assert table in {problem.table for problem in verdict.problems} | {
        problem.row.partition(".")[0] for problem in verdict.problems
    }


def test_a_new_file_is_correct(tictactoe_db):
    verdict = verdict_on(tictactoe_db)
    assert (verdict.ok, verdict.problems, verdict.more, verdict.skipped) == (True, (), 0, ())
    assert len(verdict.checked) == 14
    assert verdict.checked[-1] == "symmetries of the rules at 765 states"


@pytest.mark.parametrize("name", ["mnk(1,1,1)", "mnk(1,3,2)", "mnk(3,3,3,misere)", "mnk(4,2,2)"])
def test_other_new_files_are_correct(tmp_path, name):
    build(name, tmp_path / "t.db")
    assert verdict_on(tmp_path / "t.db").ok


def swap(table, column, key, one, other):
    """Return a statement that swaps a column between two rows."""
    return (
        f"UPDATE {table} SET {column} = (SELECT {column} FROM {table} AS t WHERE "
        f"t.{key} = CASE {table}.{key} WHEN {one} THEN {other} ELSE {one} END) "
        f"WHERE {key} IN ({one}, {other})"
    )


ENDED = "(SELECT min(id) FROM state WHERE ended)"
ROWS = {
    "two states swapped": [
        swap("state", column, "id", 0, 8706)
        for column in ("position", "ply", "to_move", "value", "remoteness", "score", "win_depth",
                       "lose_depth", "orbit", "random_value", "best_response")
    ],
    "two texts swapped": [swap("state", "position", "id", 512, 8706)],
    "two random values swapped": [swap("state", "random_value", "id", 0, 8706)],
    "two ids swapped": [
        "UPDATE state SET id = -1 WHERE id = 0",
        "UPDATE state SET id = 0 WHERE id = 8706",
        "UPDATE state SET id = 8706 WHERE id = -1",
    ],
    "two children swapped": [
        "UPDATE edge SET child = (SELECT child FROM edge e WHERE e.parent = 8706 AND e.move = "
        "CASE edge.move WHEN 0 THEN 2 ELSE 0 END) WHERE parent = 8706 AND move IN (0, 2)"
    ],
    "two moves swapped": [
        "UPDATE edge SET move = -1 WHERE parent = 8706 AND move = 2",
        "UPDATE edge SET move = 2 WHERE parent = 8706 AND move = 0",
        "UPDATE edge SET move = 0 WHERE parent = 8706 AND move = -1",
    ],
    "a state gone": ["DELETE FROM state WHERE id = 8706"],
    "an ended state gone": [f"DELETE FROM state WHERE id = {ENDED}"],
    "the start gone": ["DELETE FROM state WHERE id = 0"],
    "a state and its edges gone": [
        "DELETE FROM state WHERE id = 8706",
        "DELETE FROM edge WHERE 8706 IN (parent, child)",
    ],
    "an edge gone": ["DELETE FROM edge WHERE parent = 0 AND move = 4"],
    "the second edge to a child gone": ["DELETE FROM edge WHERE parent = 0 AND move = 8"],
    "all edges of a state gone": ["DELETE FROM edge WHERE parent = 8706"],
    "all edges gone": ["DELETE FROM edge"],
    "all states gone": ["DELETE FROM state"],
    "all gone": ["DELETE FROM edge", "DELETE FROM state"],
    "a state more": [
        "INSERT INTO state SELECT 100000, position, ply, to_move, ended, value, remoteness, score,"
        " win_depth, lose_depth, orbit, random_value, best_response, NULL, NULL FROM state "
        f"WHERE id = {ENDED}"
    ],
    "a start more": [
        "INSERT INTO state SELECT 100000, position, 0, to_move, ended, value, remoteness, score,"
        " win_depth, lose_depth, orbit, random_value, best_response, NULL, NULL FROM state "
        f"WHERE id = {ENDED}"
    ],
    "an edge more": ["INSERT INTO edge VALUES (8706, 99, (SELECT child FROM edge WHERE move = 1))"],
    "an edge from an ended state": [f"INSERT INTO edge VALUES ({ENDED}, 0, 0)"],
    "an edge to nowhere": ["INSERT INTO edge VALUES (8706, 99, 99)"],
    "an edge from nowhere": ["INSERT INTO edge VALUES (99, 0, 8706)"],
    "a digest gone": ["DELETE FROM digest WHERE name = 'state.value'"],
    "a digest more": ["INSERT INTO digest VALUES ('state.winner', 'x')"],
    "all digests gone": ["DELETE FROM digest"],
}  # fmt: skip


@pytest.mark.parametrize("what", ROWS)
def test_rows_that_moved_are_found(copy, what):
    change(copy, *ROWS[what])
    verdict = verdict_on(copy)
    assert not verdict.ok
    tables = {problem.table for problem in verdict.problems} | {
        problem.row.partition(".")[0] for problem in verdict.problems if problem.table == "digest"
    }
    assert tables & {"state", "edge", "digest"}
    assert all("\n" not in str(problem) for problem in verdict.problems)


def test_a_second_game_is_refused_on_opening(copy):
    names = ", ".join(column.name for column in schema.game.c if column.name != "id")
    change(copy, f"INSERT INTO game (id, {names}) SELECT 2, {names} FROM game")
    with pytest.raises(NotAStoreError, match="has 2 rows, not one"):
        Store.open(copy)


OBJECTS = {
    "best_move": ["DROP VIEW best_move"],
    "q_table": ["DROP VIEW q_table", "CREATE VIEW q_table AS SELECT 1 AS optimal"],
    "census": [
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_master SET sql = replace(sql, 'value = 1', 'value = 0') WHERE name='census'",
    ],
    "matchbox": [
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_master SET sql = replace(sql, ' = ', ' <> ') WHERE name = 'matchbox'",
    ],
    "ix_edge_child": ["DROP INDEX ix_edge_child"],
    "state": [
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_master SET sql = replace(sql, 'ply >= 0', 'ply > -9') WHERE name = 'state'",
    ],
}


@pytest.mark.parametrize("name", OBJECTS)
def test_a_view_an_index_or_a_check_that_was_dropped_or_changed_is_named(copy, name):
    change(copy, *OBJECTS[name])
    verdict = verdict_on(copy)
    assert [(problem.table, problem.row) for problem in verdict.problems] == [("schema", name)]
    assert "\n" not in str(verdict.problems[0])


def test_tables_that_a_user_adds_are_not_a_problem(copy):
    change(
        copy,
        "CREATE VIEW wins AS SELECT * FROM state WHERE value = 1",
        "CREATE INDEX by_value ON state (value)",
        "CREATE TABLE notes (id INTEGER PRIMARY KEY, note TEXT)",
        "INSERT INTO notes VALUES (0, 'the start')",
        "ANALYZE",
        "PRAGMA user_version = 7",
    )
    assert verdict_on(copy).ok


def content(path):
    """Return everything that a reader can see in the file, or None if SQLite cannot read it."""
    rows = {}
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            rows["sqlite_master"] = connection.execute(
                "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY 1"
            ).fetchall()
            for name in (*schema.OBJECTS, "best_move"):
                if name != "ix_edge_child":
                    rows[name] = connection.execute(f"SELECT * FROM {name} ORDER BY 1").fetchall()
    except (sqlite3.Error, ValueError):  # text that is not UTF-8
        return None
    return rows


def complaint(path):
    """Return the first problem of a file, or "" if it is correct."""
    try:
        verdict = verdict_on(path)
    except StoreError as error:
        return str(error)
    return "" if verdict.ok else str(verdict.problems[0])


@pytest.mark.parametrize("seed", range(6))
def test_flipped_bits_are_found_unless_they_change_no_content(tictactoe_db, copy, seed):
    whole = tictactoe_db.read_bytes()
    right = content(tictactoe_db)
    chance = random.Random(seed)
    for _ in range(12):
        spoiled = bytearray(whole)
        for _ in range(chance.choice((1, 1, 1, 4))):
            spoiled[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
        copy.write_bytes(spoiled)
        said = complaint(copy)
        assert "\n" not in said
        assert said or content(copy) == right


def test_redigest_writes_the_digests_that_a_build_writes(copy):
    before = copy.read_bytes()
    redigest(copy)
    assert verdict_on(copy).ok
    change(copy, "UPDATE game SET built_at = 'yesterday'")
    assert not verdict_on(copy).ok
    redigest(copy)
    assert verdict_on(copy).ok
    assert copy.read_bytes() != before


FORGED = {
    "value": ["UPDATE state SET value = -value WHERE id = 8706"],
    "score": ["UPDATE state SET score = score + 0.01 WHERE value = 0 AND ply = 3"],
    "remoteness": ["UPDATE state SET remoteness = remoteness + 2 WHERE id = 8706"],
    "win_depth": ["UPDATE state SET win_depth = win_depth + 1 WHERE id = 8706"],
    "lose_depth": ["UPDATE state SET lose_depth = 0 WHERE id = 8706"],
    "random_value": ["UPDATE state SET random_value = random_value + 1e-9 WHERE id = 8706"],
    "best_response": ["UPDATE state SET best_response = best_response - 1e-9 WHERE id = 8706"],
    "best_response that is gone": ["UPDATE state SET best_response = NULL WHERE id = 8706"],
    "ended": ["UPDATE state SET ended = 1 WHERE id = 8706"],
    "to_move": ["UPDATE state SET to_move = 3 - to_move"],
    "orbit": [
        "UPDATE state SET orbit = orbit + 1 WHERE id = 8706",
        "UPDATE game SET positions = positions + 1",
    ],
    "ply": ["UPDATE state SET ply = ply + 1", "UPDATE game SET plies = 10"],
    "position": ["UPDATE state SET position = lower(position)"],
    "move": ["UPDATE edge SET move = move + 9"],
    "child": ["UPDATE edge SET child = 512 WHERE parent = 0"],
    "parent": ["UPDATE edge SET parent = 512 WHERE parent = 0 AND move = 8"],
    "states": ["UPDATE game SET states = 766"],
    "edges": ["UPDATE game SET edges = 1"],
    "start": ["UPDATE game SET start = 'X../.../...'"],
    "remoteness of the game": ["UPDATE game SET remoteness = 1"],
    "cyclic": ["UPDATE game SET cyclic = 1"],
}


@pytest.mark.parametrize("what", FORGED)
def test_a_wrong_cell_is_found_even_with_new_digests(copy, what):
    change(copy, *FORGED[what])
    redigest(copy)
    verdict = verdict_on(copy)
    assert not verdict.ok
    column = what.split()[0]
    if column not in ("parent", "child", "move", "position", "ply"):
        assert column in {name for problem in verdict.problems for name in problem.column.split()}


def test_a_consistent_file_of_another_game_is_found_by_the_rules(tmp_path):
    path = tmp_path / "lies.db"
    lies = Grid("tictactoe", columns=3, rows=3, in_a_row=3, misere=True)
    build(lies, path)
    with Store.open(path, rules=lies) as store:
        assert verify(store).ok  # every value follows from its children, every digest is right
    verdict = verdict_on(path)
    assert not verdict.ok
    assert {problem.column for problem in verdict.problems} == {"ended or value"}
    assert verdict.more == 91 + 44 - len(verdict.problems)


def test_a_subtree_that_was_turned_around_is_found(copy):
    below = (
        "WITH RECURSIVE below(id) AS (SELECT 8706 UNION SELECT child FROM edge JOIN below "
        "ON parent = id) UPDATE state SET value = -value, score = -score, win_depth = lose_depth, "
        "lose_depth = win_depth WHERE id IN below"
    )
    change(copy, below)
    redigest(copy)
    verdict = verdict_on(copy)
    assert is_named(verdict, "state", "value")
    assert verdict.more > 0


CIRCLE = TableGame({1: {0: 2}, 2: {0: 1}}, 1)
RING = find_game(f"{DATA}/ring.py:Ring")


def test_values_that_only_support_each_other_in_a_circle_are_found(tmp_path):
    path = tmp_path / "circle.db"
    build(CIRCLE, path)
    assert verdict_on(path, rules=CIRCLE).ok
    change(
        path,
        "UPDATE state SET value = 1, score = -1 WHERE id = 1",
        "UPDATE state SET value = -1, score = 1 WHERE id = 2",
        "UPDATE game SET value = 1",
    )
    redigest(path)
    for options in ({}, {"rules": CIRCLE}):
        verdict = verdict_on(path, **options)
        assert [(problem.row, problem.column) for problem in verdict.problems] == [
            ("1 (1)", "remoteness"),
            ("2 (2)", "remoteness"),
        ]


def test_a_users_game_with_cycles_is_checked_by_its_rules(tmp_path):
    path = tmp_path / "ring.db"
    build(RING, path)
    with Store.open(path, rules=RING) as store:
        assert store.info["cyclic"] == 1
        assert store.info["digest"]
        verdict = verify(store)
    assert (verdict.ok, verdict.skipped) == (True, ())
    before = path.read_bytes()
    for statement, column in (
        ("UPDATE edge SET child = (SELECT id FROM state WHERE position = '7') WHERE move = 1 AND "
         "parent = (SELECT id FROM state WHERE position = '1')", "child"),
        ("UPDATE state SET value = 0, remoteness = NULL WHERE position = '6'", "value"),
        ("UPDATE state SET random_value = 0.5 WHERE position = '6'", "random_value"),
        ("UPDATE state SET best_response = 0.5 WHERE position = '6'", "best_response"),
        ("UPDATE state SET position = '3' WHERE position = '2'", "id or position"),
    ):  # fmt: skip
        change(path, statement)
        redigest(path)
        verdict = verdict_on(path, rules=RING)
        assert column in {problem.column for problem in verdict.problems}, verdict
        path.write_bytes(before)


def test_without_the_rules_the_rest_is_checked_and_a_note_says_so(tmp_path, run):
    path = tmp_path / "ring.db"
    build(RING, path)
    verdict = verdict_on(path)
    assert verdict.ok
    assert "states and edges against the rules" in " ".join(verdict.skipped)
    assert "--rules" in " ".join(verdict.skipped)
    assert not [what for what in verdict.checked if "rules" in what]
    said = run("verify", path).stdout
    assert "shows nothing wrong in what was checked" in said
    assert "is correct" not in said
    change(path, "UPDATE edge SET move = 3 WHERE move = 2")
    assert is_named(verdict_on(path), "edge", "move")


@pytest.mark.parametrize("what", some_of(ROWS, 4))
def test_parts_of_any_size_have_the_same_verdict(copy, monkeypatch, what):
    change(copy, *ROWS[what])
    whole = verdict_on(copy)
    for states, moves in ((40, 1), (150, 9), (10_000, 50)):
        monkeypatch.setattr(reading, "PART", states)
        monkeypatch.setattr(reading, "MOVES", moves)
        monkeypatch.setattr(consistency, "PART", states)
        verdict = verdict_on(copy)  # problems of one check are listed part by part
        assert verdict._replace(problems=()) == whole._replace(problems=())
        assert sorted(map(str, verdict.problems)) == sorted(map(str, whole.problems))


@given(st.booleans().flatmap(lambda cyclic: table_games(cyclic=cyclic)))
@settings(deadline=None, max_examples=60)
def test_plies_that_rise_along_all_edges_leave_no_cycle(game):
    graph = explore(game)
    links = consistency.Links(graph.edges_by_move.offset, graph.edges_by_move.child)
    rises = consistency.rises(graph.states.ply, links)
    assert not (rises and consistency.has_cycle(links))
    assert consistency.has_cycle(links) == (not networkx.is_directed_acyclic_graph(graph))


def test_of_many_problems_the_first_are_listed_and_all_are_counted(copy):
    change(copy, "UPDATE state SET score = 0.99 WHERE value = 0")
    verdict = verdict_on(copy)
    scores = [problem for problem in verdict.problems if problem.column == "score"]
    assert len(scores) == 20
    assert verdict.more == 151 - 20
    assert str(scores[0]) == "state 0 (.../.../...): score is 0.99, not 0.0"


def test_the_command_lists_what_is_wrong_and_fails_in_one_line(run, copy):
    change(copy, "UPDATE state SET value = 1 WHERE id = 0")
    done = run("verify", copy)
    assert done.returncode == 1
    assert "state 0 (.../.../...): value is 1, not 0" in done.stdout.split("\n")
    assert done.stderr.startswith(f"graphstore: {copy} is wrong in ")
    assert done.stderr.endswith("places; rebuild it\n")
    assert done.stderr.count("\n") == 1


WRITES_ONLY = """
from graphstore import PlainGame
class Heap(PlainGame):
    def start(self): return 5
    def moves(self, heap): return [take for take in (1, 2) if take <= heap]
    def play(self, heap, take): return heap - take
    def outcome(self, heap): return None if heap else -1
    def text(self, heap): return f"<{heap}>"
"""


def test_rules_that_write_texts_but_read_none_find_what_is_stored(tmp_path):
    rules = tmp_path / "rules.py"
    rules.write_text(WRITES_ONLY)
    path = tmp_path / "heap.db"
    build(f"{rules}:Heap", path)
    with Store.open(path, rules=find_game(f"{rules}:Heap")) as store:
        assert store.probe("<4>").value == 1
        with pytest.raises(PositionError):
            store.probe("<77>")
        verdict = verify(store)
    assert verdict.ok
    assert "parse(text)" in verdict.skipped[0]
