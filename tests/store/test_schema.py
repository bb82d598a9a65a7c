"""The migrations create the tables of a file, which refuse cells that no solved game has."""

import sqlite3
from contextlib import closing

import pytest
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine
from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateView

from graphstore import Store
from graphstore.solver.columns import Solution
from graphstore.store import format as plain
from graphstore.store import meanings, schema
from graphstore.store.lookup import Lookup
from graphstore.store.migrating import migrate, migrations
from graphstore.store.probe import Move, Probe, Values
from graphstore.store.q_table import Q_TABLE

TABLES = {
    "agent",
    "bead",
    "played",
    "checkpoint",
    "alembic_version",
    "digest",
    "edge",
    "move",
    "game",
    "state",
}


@pytest.fixture
def spoiled(copy):
    """A connection to a copy that a test may damage, with foreign keys enforced."""
    with closing(sqlite3.connect(copy)) as connection:
        connection.execute("PRAGMA foreign_keys = ON")
        yield connection


@pytest.fixture(scope="module")
def reader(tictactoe_db):
    """A connection to the built database."""
    with closing(sqlite3.connect(tictactoe_db)) as connection:
        yield connection


def script():
    config = Config()
    config.set_main_option("script_location", migrations())
    return config


def objects(connection):
    """Return everything that makes up a schema: {name: (type, sql)}."""
    rows = connection.execute(
        "SELECT name, type, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'"
    )
    return {name: (kind, sql) for name, kind, sql in rows}


def test_a_built_file_has_the_schema_of_the_migrations(reader, tmp_path):
    engine = create_engine(f"sqlite:///{tmp_path / 'empty.db'}")
    with engine.begin() as connection:
        migrate(connection)
    engine.dispose()
    with closing(sqlite3.connect(tmp_path / "empty.db")) as empty:
        assert objects(empty) == objects(reader)
    assert {name for name, (kind, _) in objects(reader).items() if kind == "table"} == TABLES


def test_alembic_finds_no_difference_between_the_migrations_and_the_schema(copy):
    engine = create_engine(f"sqlite:///{copy}")
    config = script()
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.check(config)
    engine.dispose()


def test_the_revisions_are_those_of_the_scripts_in_order():
    walked = ScriptDirectory.from_config(script()).walk_revisions()
    assert tuple(each.revision for each in walked)[::-1] == schema.REVISIONS


def test_a_built_file_is_at_the_last_revision(reader):
    rows = reader.execute("SELECT version_num FROM alembic_version").fetchall()
    assert rows == [(schema.REVISIONS[-1],)]


@pytest.mark.parametrize("name", schema.VIEWS)
def test_a_view_in_the_file_is_the_one_in_the_source(reader, name):
    expected = str(CreateView(schema.VIEWS[name], name).compile(dialect=sqlite.dialect()))
    assert objects(reader)[name] == ("view", expected.strip())


def test_the_objects_that_are_named_are_all_that_there_are(reader):
    assert objects(reader).keys() == set(schema.OBJECTS)


def test_tables_are_strict_and_edges_have_no_second_key(reader):
    kinds = {
        name: (strict, without_rowid)
        for _, name, kind, _, without_rowid, strict in reader.execute("PRAGMA table_list")
        if kind == "table" and name in TABLES - {"alembic_version"}
    }
    with_rowid = {"digest", "game", "move", "state", "agent"}
    assert kinds == {
        name: (1, int(name not in with_rowid)) for name in TABLES - {"alembic_version"}
    }


def test_the_file_has_the_application_id(reader, tictactoe_db):
    assert reader.execute("PRAGMA application_id").fetchone() == (schema.APPLICATION_ID,)
    assert tictactoe_db.read_bytes()[68:72] == b"grfs"


def test_columns_stand_in_the_order_of_the_documents(reader):
    names = {
        table: " ".join(row[1] for row in reader.execute(f"PRAGMA table_xinfo({table})"))
        for table in ("state", "edge")
    }
    assert names["edge"] == "parent move child"
    assert names["state"] == (
        "id position ply to_move ended value remoteness score win_depth lose_depth orbit "
        "random_value winner best_response margin nimber"
    )


def test_edges_are_found_by_parent_and_by_child(reader):
    for column, index in (("parent", "PRIMARY KEY"), ("child", "ix_edge_child")):
        plan = reader.execute(f"EXPLAIN QUERY PLAN SELECT * FROM edge WHERE {column} = 1")
        assert [index in row[3] and row[3].startswith("SEARCH") for row in plan] == [True]


def test_every_reference_holds_and_the_planner_knows_the_tables(reader):
    assert reader.execute("PRAGMA foreign_key_check").fetchall() == []
    assert reader.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    analysed = {row[0] for row in reader.execute("SELECT tbl FROM sqlite_stat1")}
    assert {"state", "edge"} <= analysed


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        ("ply", -1),
        ("to_move", 0),
        ("to_move", 3),
        ("value", 2),
        ("value", -2),
        ("remoteness", -1),
        ("score", 1.5),
        ("score", -1.5),
        ("orbit", 0),
    ],
)
def test_a_check_refuses_a_cell_that_means_nothing(spoiled, column, cell):
    with pytest.raises(sqlite3.IntegrityError, match=f"CHECK constraint failed: ck_state_{column}"):
        spoiled.execute(f"UPDATE state SET {column} = ? WHERE id = 0", (cell,))


@pytest.mark.parametrize(
    "column", ["position", "ply", "ended", "value", "score", "orbit", "id", "winner"]
)
def test_a_column_refuses_what_is_not_of_its_type(spoiled, column):
    with pytest.raises(sqlite3.Error, match=r"NOT NULL|cannot store|mismatch|generated column"):
        spoiled.execute(f"UPDATE state SET {column} = x'00' WHERE id = 0")
    if column not in ("id", "winner"):  # a NULL id asks SQLite for a new one
        with pytest.raises(sqlite3.IntegrityError, match="NOT NULL"):
            spoiled.execute(f"UPDATE state SET {column} = NULL WHERE id = 0")


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("INSERT INTO edge VALUES (0, 99, 12345)", "FOREIGN KEY"),
        ("INSERT INTO edge VALUES (12345, 0, 0)", "FOREIGN KEY"),
        ("INSERT INTO edge VALUES (0, 0, 0)", "UNIQUE"),
        ("INSERT INTO state VALUES (0, '', 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, NULL, NULL)", "UNIQUE"),
        ("DELETE FROM state WHERE id = 0", "FOREIGN KEY"),
        ("UPDATE game SET id = 2", "CHECK"),
        ("INSERT INTO digest VALUES ('state.id', 'x')", "UNIQUE"),
    ],
)
def test_a_key_refuses_a_second_or_a_missing_row(spoiled, statement, reason):
    with pytest.raises(sqlite3.Error, match=reason):
        spoiled.execute(statement)


def test_the_winner_follows_from_value_and_to_move(reader):
    rows = set(reader.execute("SELECT to_move, value, winner FROM state"))
    assert rows == {(1, 1, 1), (1, 0, 0), (1, -1, 2), (2, 1, 2), (2, 0, 0), (2, -1, 1)}


def test_the_classes_of_answers_have_the_columns_of_the_table_state():
    columns = schema.COLUMNS["state"]
    assert Probe._fields == ("state", *columns[1:], "moves")
    assert Lookup._fields[2:] == Values._fields == tuple(columns[5:10])
    assert Move._fields[3:] == (*Values._fields, "margin")
    assert {*Solution._fields} < {*columns}
    assert [*Q_TABLE.names] == [name for name in schema.COLUMNS["q_table"] if name in Q_TABLE.names]


def test_the_plain_names_of_columns_are_those_of_the_schema():
    defined = {name: of.c.keys() for name, of in schema.metadata.tables.items()}
    views = {name: view.selected_columns.keys() for name, view in schema.VIEWS.items()}
    assert list(plain.COLUMNS.items()) == list((defined | views).items())
    assert (*schema.metadata.tables,) == plain.TABLES


def test_a_look_up_has_the_types_of_the_table_state(tictactoe_db):
    with Store.open(tictactoe_db) as store:
        found = store.lookup([0])
    for name in Values._fields:
        assert getattr(found, name).dtype == schema.cell_type(schema.state.c[name])


def test_every_column_has_a_meaning_and_every_meaning_a_column():
    used = {
        f"{table}.{column}" if f"{table}.{column}" in meanings.COLUMNS else column
        for table, columns in schema.COLUMNS.items()
        for column in columns
    }
    assert used == meanings.COLUMNS.keys()
    assert meanings.TABLES.keys() == schema.COLUMNS.keys()


@pytest.mark.parametrize("column", ["value", "random_value"])
def test_a_column_for_the_player_to_move_says_so(column):
    assert meanings.MOVER in meanings.meaning("state", column)


@pytest.mark.parametrize("column", ["score", "best_response"])
def test_a_column_for_the_player_who_just_moved_says_so(column):
    assert meanings.MOVED in meanings.meaning("state", column)
