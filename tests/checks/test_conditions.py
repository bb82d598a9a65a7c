"""`verify` asks every condition of every table, and finds agents that cannot be."""

import shutil
import sqlite3
from contextlib import closing

import psycopg
import pytest
import sqlalchemy as sa
from conftest import TableGame, for_all, some_of
from stored import change, redigest, verdict_on

from graphstore import Match, Store, build, train
from graphstore.checks.file import conditions
from graphstore.play import training
from graphstore.store import schema

CHECKED = [
    (table, condition)
    for table in schema.metadata.sorted_tables
    for condition in conditions._checks(table)
    if condition.columns in table.c and table.c[condition.columns].computed is None
]
BREAKING = (2, -1, 7, "'NaN'")  # of these, each CHECK of one column refuses at least one


def refused(condition, *, strict):
    """Return a cell that breaks a condition; None if a database cannot store one."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for cell in BREAKING[: 3 if strict else 4]:
            query = f"SELECT NOT ({condition.text}) FROM (SELECT {cell} AS {condition.columns})"
            if connection.execute(query).fetchone()[0]:
                return cell
    return "'NaN'" if "NaN" in condition.text and not strict else None


def run_sql(address, statements):
    """Run statements without CHECKs, in a database of either kind."""
    if not address.startswith("postgresql"):
        change(address, *statements)
        return
    with psycopg.connect(address.partition("&schema=")[0], autocommit=True) as connection:
        connection.execute("SET search_path TO game")
        for table in schema.metadata.sorted_tables:
            for each in table.constraints:
                if isinstance(each, sa.CheckConstraint):
                    connection.execute(f"ALTER TABLE {table} DROP CONSTRAINT {each.name}")
        for statement in statements:
            connection.execute(statement)


def test_each_check_that_a_cell_breaks_is_named(spoilt):
    strict = not spoilt.startswith("postgresql")
    for name in ("a", "b"):
        train(spoilt, name, games=9, seed=1)
    broken, statements = [], []
    for table, condition in CHECKED:
        cell = refused(condition, strict=strict)
        if cell is not None:
            used = [each for each, _ in broken].count(table.name)
            keys = ", ".join(column.name for column in table.primary_key)
            place = f"ORDER BY {keys} LIMIT 1 OFFSET {used}"
            statements.append(
                f"UPDATE {table} SET {condition.columns} = {cell} WHERE ({keys}) = "
                f"(SELECT {keys} FROM {table} {place})"
            )
            broken.append((table.name, condition.columns))
    assert len(broken) == len(CHECKED) - 2 * strict  # SQLite stores no NaN
    run_sql(spoilt, statements)
    with Store.open(spoilt) as store, store.connect() as connection:
        found = {("state", each.column) for each in conditions.of_states(connection)}
        for table in schema.metadata.sorted_tables:
            if table is not schema.state:
                wrong = conditions.of_table(connection, table)
                found |= {(each.table, each.column) for each in wrong}
    assert {*broken} <= found
    named = {(each.table, each.column) for each in verdict_on(spoilt).problems}
    assert {*broken} <= named


def test_a_computed_column_that_is_wrong_is_named(spoilt):
    if not spoilt.startswith("postgresql"):
        pytest.skip("SQLite computes it when it is read")
    run_sql(
        spoilt,
        [
            "ALTER TABLE state ALTER COLUMN winner DROP EXPRESSION",
            "UPDATE state SET winner = 1 WHERE id = 0",
        ],
    )
    assert ("state", "winner") in {(p.table, p.column) for p in verdict_on(spoilt).problems}


@for_all(
    ("table", "columns", "statement"),
    [
        ("played", "games INTEGER NOT NULL", "UPDATE played SET games = NULL WHERE number = 3"),
        ("played", ",\n STRICT", "UPDATE played SET winner = 'x' WHERE number = 3"),
        ("state", "ply INTEGER NOT NULL", "UPDATE state SET ply = NULL WHERE id = 0"),
        ("state", "\n STRICT", "UPDATE state SET position = X'00' WHERE id = 0"),
        ("state", "\n STRICT", "UPDATE state SET score = 'x' WHERE id = 0"),
    ],
)
def test_a_cell_of_another_type_is_named(tictactoe_db, tmp_path, table, columns, statement):
    path = tmp_path / "typed.db"
    shutil.copyfile(tictactoe_db, path)
    train(path, games=5, seed=1)
    query = f"SELECT sql FROM sqlite_master WHERE name = '{table}'"
    with closing(sqlite3.connect(path)) as connection:
        (sql,) = connection.execute(query).fetchone()
    weaker = sql.replace(columns, columns.removesuffix(" NOT NULL") if "NULL" in columns else "")
    assert weaker != sql
    write = f"UPDATE sqlite_master SET sql = ? WHERE name = '{table}'"
    for steps in ([(write, (weaker,))], [statement], [(write, (sql,))]):
        change(path, "PRAGMA writable_schema = ON", *steps)
    column = statement.split()[3]
    verdict = verdict_on(path)
    assert (table, column) in {(each.table, each.column) for each in verdict.problems}
    assert verdict.skipped == ("everything else, because the file structure is damaged",)


# Agent 1 learns both sides, agent 2 is player 2.
IMPOSSIBLE = [
    ("UPDATE checkpoint SET kept = boxes + 1 WHERE games = 20", "checkpoint", "kept"),
    ("UPDATE checkpoint SET kept = -1 WHERE games = 20", "checkpoint", "kept"),
    ("UPDATE checkpoint SET kept = kept + 1 WHERE games = 0", "checkpoint", "kept"),
    ("UPDATE checkpoint SET boxes = boxes + 1 WHERE games = 20", "checkpoint", "boxes"),
    ("UPDATE checkpoint SET boxes = -1 WHERE games = 20", "checkpoint", "boxes"),
    ("UPDATE checkpoint SET boxes = boxes - 1 WHERE games = 20", "checkpoint", "boxes"),
    ("INSERT INTO checkpoint VALUES (1, 33, 0, 0)", "checkpoint", "games"),
    ("UPDATE played SET plies = 1000 WHERE number = 7", "played", "plies"),
    ("UPDATE played SET plies = 2147483647 WHERE number = 7", "played", "plies"),
    ("UPDATE played SET plies = 4, winner = 1 WHERE number = 7", "played", "winner"),
    ("UPDATE played SET plies = 5, winner = 2 WHERE number = 7", "played", "winner"),
    ("UPDATE played SET plies = 8, winner = 0 WHERE number = 7", "played", "winner"),
    ("UPDATE played SET side = 1 WHERE agent = 2 AND number = 7", "played", "side"),
    ("UPDATE played SET side = 0 WHERE agent = 2 AND number = 7", "played", "side"),
    ("UPDATE played SET side = 1 WHERE agent = 1 AND number = 7", "played", "side"),
    ("UPDATE played SET opponent = '??' WHERE number = 7", "played", "opponent"),
    ("UPDATE played SET opponent = 'mistakes=2' WHERE number = 7", "played", "opponent"),
    ("UPDATE played SET opponent = 'self' WHERE agent = 2 AND number = 7", "played", "opponent"),
    ("UPDATE agent SET longest = 8", "played", "plies"),
    ("UPDATE agent SET seed = -1", "agent", "seed"),
    ("INSERT INTO played VALUES (9, 1, 0, 'self', 1, 5, 1)", "played", "agent"),
    ("UPDATE played SET games = games + 1 WHERE number = 121", "played", "games"),
    ("UPDATE played SET games = 0 WHERE number = 7", "played", "games"),
    ("DELETE FROM played WHERE number = 126", "played", "games"),
    ("UPDATE played SET number = 124 WHERE number = 121 AND games > 1", "played", "number"),
    ("UPDATE OR REPLACE played SET number = 121 WHERE number = 126", "played", "games"),
    ("UPDATE played SET number = 141 WHERE number = 136", "played", "number"),
    ("UPDATE played SET number = 0 WHERE number = 7", "played", "number"),
    (
        "INSERT INTO played SELECT agent, number + 1, side, opponent, winner, plies, games "
        "FROM played WHERE number = 121",
        "played",
        "games",
    ),
    ("INSERT INTO bead VALUES (1, 8706, 99, 3)", "agent", "content"),
    ("DELETE FROM bead WHERE agent = 2", "agent", "content"),
]


@for_all(("statement", "table", "column"), IMPOSSIBLE)
def test_a_checkpoint_or_a_game_that_cannot_be_is_named(taught, tmp_path, statement, table, column):
    path = tmp_path / "agents.db"
    shutil.copyfile(taught, path)
    change(path, statement)
    named = {
        (each.table, name) for each in verdict_on(path).problems for name in each.column.split()
    }
    assert (table, column) in named


@pytest.fixture(scope="module")
def taught(tictactoe_db, tmp_path_factory):
    """The path of tic-tac-toe with two agents."""
    path = tmp_path_factory.mktemp("taught") / "taught.db"
    shutil.copyfile(tictactoe_db, path)
    train(path, "both", games=140, seed=1)
    train(path, "second", games=140, seed=1, side=2)
    assert verdict_on(path).ok
    return path


def test_the_generator_of_an_agent_without_games_is_that_of_its_seed(copy):
    train(copy, games=0, seed=1)
    assert verdict_on(copy).ok
    change(copy, "UPDATE agent SET seed = 2")
    assert [each.column for each in verdict_on(copy).problems] == ["random"]


TAUGHT = [  # small; with and without boards, cycles, margins and kept turns
    *("tictactoe", "nim(1,3,5,7,misere)", "kalah(2,3,empty)"),
    *("connect(4,3)", "vanishing", "hexapawn(3,3)"),
]


@for_all("name", some_of(TAUGHT, 2))
def test_no_agent_that_was_trained_is_wrong(tmp_path, name):
    path = tmp_path / "trained.db"
    build(name, path, force=True, drop_agents=True)
    for side in (0, 1, 2):
        for empty in ("refill", "resign"):
            given = {"side": side, "empty": empty, "loss": -2, "stages": (2, 1)}
            for against in ("perfect", "random", "mistakes=0.3", *["self"] * (side == 0)):
                train(path, f"{empty}{side}", games=30, seed=3, against=against, **given)
    train(path, "short", games=60, seed=1, longest=5)
    train(path, "short", games=60, against="resign0")
    train(path, "other", games=30, seed=1, side=1, against="resign2")
    with Store.open(path) as store:
        start = store.probe(store.info["start"]).moves[0].position
        for resigns in (False, True):
            match = Match(store, "person", "refill0", start=start, seed=1)
            while not match.over:
                if match.by != "person":
                    match.reply()
                elif resigns:
                    match.resign()
                else:
                    match.play(match.probe.moves[-1].move)
            assert training.learn_from(match) == ["refill0"]
    verdict = verdict_on(path)
    assert verdict.ok, verdict.problems


def test_states_that_share_a_text_are_named_with_and_without_rules(tmp_path):
    class Alike(TableGame):
        def text(self, position):
            return "x" if position > 1 else str(position)

    rules, path = Alike({1: {0: 2, 1: 3}, 2: -1, 3: -1}, 1), tmp_path / "alike.db"
    build(rules, path)
    for options in ({}, {"rules": rules}):
        problems = verdict_on(path, **options).problems
        assert ("3 (x)", "position", "x", "a text that state 2 does not have") in [
            (each.row, each.column, each.found, each.expected) for each in problems
        ]


def test_two_states_with_one_text_are_named_even_with_new_digests(copy):
    change(copy, "UPDATE state SET position = '.../.../...' WHERE id = 8706")
    redigest(copy)
    problems = verdict_on(copy).problems
    assert "a text that state 0 does not have" in [each.expected for each in problems]
