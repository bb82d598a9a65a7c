"""A game in PostgreSQL is the same as in a SQLite file; and the behaviour of a server."""

import math
import os
import random
import re
import signal
import subprocess
import threading
import time
from collections import Counter
from contextlib import closing

import numpy as np
import postgresql
import psycopg
import pytest
from conftest import (
    DATA,
    GRAPHSTORE,
    NASTY_TEXTS,
    TableGame,
    error_line,
    few,
    for_all,
    some_of,
    table_games,
)
from hypothesis import HealthCheck, given, settings

from graphstore import Store, build, export, find_game, train
from graphstore.checks import verify
from graphstore.errors import (
    MissingExtraError,
    NotAStoreError,
    QueryError,
    StoreError,
    StoreExistsError,
    StoreMissingError,
)
from graphstore.exports.selection import TABLES
from graphstore.play import agents
from graphstore.play.arena import Arena
from graphstore.store import schema
from graphstore.store.digests import of_content
from graphstore.store.postgres import backend, sql
from graphstore.store.postgres.server import connect, read_address
from graphstore.store.sql import Statement
from graphstore.store.store import upgrade

KEYS = {
    "state": "id",
    "edge": "parent, move",
    "move": "move",
    "census": "ply",
    "matchbox": "agent, state, move",
}
GAMES = ["tictactoe", "vanishing", f"{DATA / 'ring.py'}:Ring"]


@pytest.fixture
def database(server):
    """The address of a new database."""
    return postgresql.database(server)


@pytest.fixture(scope="module")
def asked(server):
    """Tic-tac-toe in a schema, opened."""
    with Store.open(build("tictactoe", postgresql.place(server)).file) as opened:
        yield opened


def schemas(address):
    """Return the names of all schemas of a database, without those of the server itself."""
    rows = postgresql.ask(
        address, "SELECT nspname FROM pg_namespace WHERE nspname !~ '^(pg_|information_|public$)'"
    )
    return sorted(name for (name,) in rows)


@pytest.mark.parametrize("name", GAMES)
def test_a_game_is_the_same_in_both_databases_row_by_row(name, server, tmp_path):
    place = postgresql.place(server)
    game = find_game(name)
    build(game, tmp_path / "game.db")
    build(game, place)
    for address in (tmp_path / "game.db", place) if name != "vanishing" else ():
        train(address, "menace", games=30, seed=1)
    with Store.open(tmp_path / "game.db") as file, Store.open(place) as schema_:
        differing = {"built_at", "built_with", "build_seconds"}
        assert {k: v for k, v in file.info.items() if k not in differing} == {
            k: v for k, v in schema_.info.items() if k not in differing
        }
        for table in TABLES:
            order = KEYS.get(table, "state, move")
            statement = f"SELECT * FROM {table} ORDER BY {order}"
            rows = [list(store.sql(statement)) for store in (file, schema_)]
            assert rows[0] == rows[1], table
            types = [[[type(cell) for cell in row] for row in of] for of in rows]
            assert types[0] == types[1], table
        for table in (*schema.AGENT_TABLES, schema.digest):
            where = "WHERE name NOT LIKE 'schema.%' AND name NOT LIKE 'game.built%' "
            where = where + "AND name NOT LIKE 'game.build%'" if table.name == "digest" else ""
            keys = ", ".join(column.name for column in table.primary_key)
            statement = f"SELECT * FROM {table} {where} ORDER BY {keys}"
            assert list(file.sql(statement)) == list(schema_.sql(statement)), table
        tables = [store.q_table() for store in (file, schema_)]
        for column in tables[0].dtype.names:
            np.testing.assert_array_equal(tables[0][column], tables[1][column])


@settings(max_examples=few(10), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table_games(cyclic=True))
def test_any_game_comes_back_from_a_schema_as_it_was_built(server, game):
    place = postgresql.place(server)
    digest = build(game, place).game
    with Store.open(place, rules=game) as store:
        assert store.info["name"] == digest
        graph = store.graph()
        assert len(graph) == store.info["states"]
        assert graph.number_of_moves() == store.info["moves"]
    postgresql.ask(server, f'DROP SCHEMA "{place.partition("schema=")[2]}" CASCADE')


@pytest.mark.parametrize("file_format", some_of(["csv", "jsonl", "graphml", "dot"], 2))
@pytest.mark.parametrize("part", [{}, {"below": "XO./.X./..."}, {"where": "ply < 4"}])
def test_an_export_has_the_same_bytes(asked, tictactoe_db, tmp_path, file_format, part):
    tables = ["state", "edge", "q_table", "best_move", "census"]
    for table in tables if file_format in ("csv", "jsonl") else [None]:
        texts = []
        for address in (tictactoe_db, asked.backend.address):
            target = tmp_path / f"{len(texts)}-{table}.{file_format}"
            with Store.open(address) as store:
                export(store, target, file_format, table=table, **part)
            texts.append(target.read_bytes())
        assert texts[0] == texts[1]


def test_unusual_texts_come_back_and_a_zero_character_is_refused(server):
    texts = [text for text in NASTY_TEXTS if "\0" not in text]

    class Odd(TableGame):
        def text(self, position):
            return texts[position]

    last = len(texts) - 1
    game = Odd({n: {1: n + 1} for n in range(last)} | {last: -1}, 0)
    place = postgresql.place(server)
    build(game, place)
    with Store.open(place, rules=game) as store:
        assert [text for (text,) in store.sql("SELECT position FROM state ORDER BY id")] == texts
        assert store.graph().texts(np.array([2])) == [texts[2]]
    with Store.open(place) as store:
        assert store.get("\0") is None
        assert agents.find(store, "\0") is None
    texts = NASTY_TEXTS
    with pytest.raises(StoreError, match=r"0x00; nothing was changed"):
        build(game, place, force=True)


def test_each_game_has_a_schema_of_its_own_name(database, run):
    assert run("build", "nim(1,2)", "--db", database).returncode == 0
    assert run("show", database).returncode == 0  # the only one
    build("mnk(1,1,1)", database)
    assert schemas(database) == ["mnk(1,1,1)", "nim(1,2)"]
    said = error_line(run("show", database))
    assert re.search(r"has 2 games; choose one: .*schema=mnk\(1,1,1\) or .*schema=nim\(1,2\)", said)
    assert run("show", f"{database}&schema=nim(1,2)").returncode == 0
    assert run("show", f"{database}&schema=mnk%281%2C1%2C1%29").returncode == 0
    assert "there is no schema" in error_line(run("show", f"{database}&schema=x"))
    build("mnk(1,1,1)", f'{database}&schema=100%25 "odd" %s $1 \'s')
    with Store.open(f'{database}&schema=100%25 "odd" %s $1 \'s') as store:
        assert store.info["states"] == 2
        assert len(store.graph()) == 2
    train(f'{database}&schema=100%25 "odd" %s $1 \'s', games=1)
    build("mnk(1,1,1)", f'{database}&schema=100%25 "odd" %s $1 \'s', force=True)


def test_a_database_without_a_game_says_how_to_build_one(database):
    with pytest.raises(StoreMissingError, match="has no game; run: graphstore build GAME --db"):
        Store.open(database)


def test_a_schema_of_others_is_never_replaced(database):
    postgresql.ask(database, "CREATE SCHEMA tictactoe; CREATE TABLE tictactoe.mine AS SELECT 1")
    for force in (False, True):
        with pytest.raises(StoreError, match=r"graphstore did not create.*add \?schema=NAME"):
            build("tictactoe", database, force=force)
    with pytest.raises(NotAStoreError, match="not a graphstore database"):
        Store.open(f"{database}&schema=tictactoe")
    assert postgresql.ask(database, "SELECT * FROM tictactoe.mine") == [(1,)]


def test_what_others_made_of_a_game_is_not_dropped_with_it(database):
    build("nim(1,2)", database)
    postgresql.ask(database, 'CREATE VIEW mine AS SELECT count(*) FROM "nim(1,2)".state')
    with pytest.raises(StoreError, match=r"view .*mine depends on .*nothing was changed"):
        build("nim(1,2)", database, force=True)
    assert len(postgresql.ask(database, "SELECT * FROM mine")) == 1
    postgresql.ask(database, "DROP VIEW mine")
    build("nim(1,2)", database, force=True)


def test_an_existing_game_is_replaced_only_with_force(spoilt):
    with pytest.raises(StoreExistsError, match=r"exists; add --force"):
        build("tictactoe", spoilt)
    build("tictactoe", spoilt, force=True)


def test_a_reader_sees_one_game_in_a_block_and_gets_an_error_afterwards(server):
    place = postgresql.place(server)
    build("nim(1,2)", place)
    with Store.open(place) as store:
        with store.connect() as connection:
            before = connection.execute(schema.state.select()).all()
            builder = threading.Thread(target=build, args=("nim(2,2)", place), kwargs={"force": 1})
            builder.start()
            builder.join(0.5)
            assert builder.is_alive()  # it waits for this block
            assert store.probe(store.info["start"]).state is not None  # readers do not wait
            assert connection.execute(schema.state.select()).all() == before
        builder.join()
        names = "SELECT name FROM game"
        for ask in (lambda: store.probe(0), store.census, store.graph, lambda: store.sql(names)):
            with pytest.raises(StoreError, match="now holds another game; open it again"):
                ask()
        with pytest.raises(StoreError, match="holds another game"):
            agents.remove(store, "x")


def test_after_the_server_ended_its_connections_a_store_opens_new_ones(server):
    place = postgresql.place(server)
    build("nim(1,2)", place)
    with Store.open(place) as store:
        with store.reader() as one, store.reader() as other:  # both are idle afterwards
            pids = [each.driver.info.backend_pid for each in (one, other)]
        for pid in pids:
            assert postgresql.ask(server, f"SELECT pg_terminate_backend({pid}, 10000)") == [(True,)]
        with pytest.raises(StoreError, match=r"terminat|closed"):
            store.start()
        assert store.start().ply == 0


def test_readers_meet_no_error_while_a_game_is_rebuilt(server):
    place = postgresql.place(server)
    build("tictactoe", place)
    done, failed, read = threading.Event(), [], []

    def ask():
        with Store.open(place) as store:
            while not done.is_set():
                try:
                    read.append(store.probe("XO./.X./...").value)
                    assert sum(row["states"] for row in store.census()) == 765
                except Exception as error:
                    failed.append(error)
                    return

    readers = [threading.Thread(target=ask) for _ in range(4)]
    for reader in readers:
        reader.start()
    for _ in range(3):
        build("tictactoe", place, force=True)
    done.set()
    for reader in readers:
        reader.join()
    assert failed == []
    assert set(read) == {-1}


@pytest.mark.parametrize("old", [False, True])
def test_a_build_that_is_killed_at_any_moment_leaves_the_old_game_or_none(
    warm, database, moments, old
):
    if old:
        build("nim(1,2)", f"{database}&schema=game")
    chance = random.Random(7)
    command = ["build", "mnk(3,3,3)", "--force", "--db", f"{database}&schema=game"]
    for _ in range(moments(3, 12)):
        child = warm.start(*command)
        time.sleep(chance.random() * 0.4)
        child.send(signal.SIGKILL)
        ended = child.end().returncode
        seen = schemas(database)
        assert seen in ([], ["game"])
        if seen:
            with Store.open(f"{database}&schema=game") as store:
                assert store.info["name"] in ({"nim(1,2)"} if old else set()) | {"mnk(3,3,3)"}
                assert len(store.graph()) == store.info["states"]
        assert ended in (0, -signal.SIGKILL)
    assert warm.run(*command).returncode == 0


BOOM = """
CREATE FUNCTION public.boom(text) RETURNS text IMMUTABLE LANGUAGE plpgsql
    AS $$BEGIN RAISE EXCEPTION 'untrusted code has run'; END$$;
CREATE FUNCTION public.boom() RETURNS trigger LANGUAGE plpgsql
    AS $$BEGIN RAISE EXCEPTION 'untrusted code has run'; END$$;
"""
HIDDEN = "ALTER TABLE {0} RENAME TO hidden; "
TRAPS = {
    "a view for a table": HIDDEN.format("alembic_version")
    + "CREATE VIEW alembic_version AS SELECT public.boom(version_num) AS version_num FROM hidden",
    "a view for the game": HIDDEN.format("game")
    + "CREATE VIEW game AS SELECT public.boom('x') AS name",
    "a view for the agents": HIDDEN.format("agent")
    + "CREATE VIEW agent AS SELECT public.boom('x') AS name",
    "a materialized view": HIDDEN.format("state")
    + "CREATE MATERIALIZED VIEW state AS SELECT * FROM hidden",
    "a foreign table": HIDDEN.format("edge")
    + "CREATE FOREIGN DATA WRAPPER w; CREATE SERVER s FOREIGN DATA WRAPPER w; "
    "CREATE FOREIGN TABLE edge (parent bigint) SERVER s",
    "a table in parts": HIDDEN.format("edge")
    + "CREATE TABLE edge (parent bigint) PARTITION BY LIST (parent)",
    "a table that inherits": "CREATE TABLE more () INHERITS (state)",
    "a trigger": "CREATE TRIGGER t BEFORE INSERT ON agent EXECUTE FUNCTION public.boom()",
    "a rule": "CREATE RULE r AS ON INSERT TO bead DO INSTEAD NOTHING",
    "row-level security": "ALTER TABLE state ENABLE ROW LEVEL SECURITY; "
    "CREATE POLICY p ON state USING (public.boom(position) IS NULL)",
    "a function": "CREATE FUNCTION concat(text, name) RETURNS text LANGUAGE sql "
    "AS $$SELECT public.boom($1)$$",
    "an aggregate": "CREATE AGGREGATE count(int) (SFUNC = int4pl, STYPE = int)",
    "an operator": "CREATE OPERATOR @@@@ (LEFTARG = int, RIGHTARG = int, FUNCTION = int4pl)",
    "an index that computes": "CREATE INDEX i ON state (public.boom(position)) WHERE id < 0",
    "an index with a condition": "CREATE OR REPLACE FUNCTION public.boom(text) "
    "RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT $1'; "
    "CREATE INDEX i ON edge (move) WHERE public.boom('x') = 'x'",
    "statistics that compute": "CREATE STATISTICS s ON public.boom(position), ply FROM state",
    "a check that calls": "ALTER TABLE played ADD CHECK (public.boom('x') = 'x') NOT VALID",
    "a default that calls": "ALTER TABLE agent ALTER empty SET DEFAULT public.boom('x')",
    "a type": "CREATE DOMAIN d AS text; ALTER TABLE game ADD more d",
    "a view that calls": "DROP VIEW census; CREATE VIEW census AS SELECT public.boom('x') AS ply",
    "a view that calls PostgreSQL": "DROP VIEW census; "
    "CREATE VIEW census AS SELECT pg_read_file('/etc/hostname') AS ply",
    "a view of another schema": "CREATE TABLE public.t (x int); DROP VIEW census; "
    "CREATE VIEW census AS SELECT x AS ply FROM public.t",
    "a view of another view": "CREATE VIEW mine AS SELECT public.boom('x') AS ply; "
    "DROP VIEW census; CREATE VIEW census AS SELECT ply FROM mine",
    "a table for a view": "DROP VIEW census; CREATE TABLE census (x int)",
}


@pytest.fixture(scope="module")
def trained(server):
    """The address of a database with a small game and an agent, to copy."""
    address = postgresql.database(server)
    build("nim(1,2)", address)
    train(address, games=3, seed=1)
    postgresql.ask(address, BOOM)
    return address


@for_all("trap", some_of(TRAPS, 4))
def test_a_schema_that_would_run_code_is_refused_unread(server, trained, trap):
    place = postgresql.database(server, postgresql.name(trained))
    postgresql.ask(place, f'SET search_path TO "nim(1,2)"; {TRAPS[trap]}')
    for refused in (
        lambda: Store.open(place),
        lambda: train(place, games=1),
        lambda: upgrade(place),
        lambda: build("nim(1,2)", place, force=True),
    ):
        with pytest.raises(NotAStoreError, match="is not as graphstore writes it"):
            refused()


@for_all(
    "change",
    [
        "ALTER TABLE played ADD CHECK (pg_sleep(0) IS NOT NULL)",
        "ALTER TABLE agent ALTER empty SET DEFAULT pg_read_file('x')",
        "ALTER TABLE checkpoint ALTER kept TYPE bigint",
        "CREATE INDEX i ON agent (lower(name))",
        "ALTER TABLE played DROP CONSTRAINT ck_played_side",
        "CREATE TABLE mine (id int REFERENCES agent ON DELETE CASCADE)",
    ],
)
def test_an_altered_schema_is_read_but_not_written(server, trained, change):
    place = postgresql.database(server, postgresql.name(trained))
    postgresql.ask(place, f'SET search_path TO "nim(1,2)"; {change}')
    with Store.open(place) as store:
        assert [problem.table for problem in verify(store).problems] == ["schema"]
    for refused in (lambda: train(place, games=1), lambda: upgrade(place)):
        with pytest.raises(NotAStoreError, match="writing to it could run untrusted code"):
            refused()


def test_what_users_add_and_set_is_not_a_problem(server, trained):
    place = postgresql.database(server, postgresql.name(trained))
    name = postgresql.name(place)
    postgresql.ask(
        place,
        'SET search_path TO "nim(1,2)"; CREATE TABLE mine (x int REFERENCES state (id)); '
        "ALTER TABLE mine ADD CHECK (x > 0) NOT VALID; CREATE INDEX i ON state (value, ply); "
        "CREATE VIEW own AS SELECT lower(position) FROM state; "
        f"ALTER DATABASE {name} SET extra_float_digits = -10; "
        f"ALTER DATABASE {name} SET default_transaction_read_only = on",
    )
    train(place, games=1)
    with Store.open(place) as store, Store.open(trained) as other:
        verdict = verify(store)
        assert (verdict.problems, verdict.skipped) == ((), ())
        reals = "SELECT random_value FROM state ORDER BY id"
        assert list(store.sql(reals)) == list(other.sql(reals))


def test_a_reader_without_temporary_tables_is_told_what_is_not_compared(server, trained):
    place = postgresql.database(server, postgresql.name(trained))
    name = postgresql.name(place)
    postgresql.ask(
        place,
        f"DROP ROLE IF EXISTS reader; CREATE ROLE reader LOGIN; "
        f"REVOKE TEMPORARY ON DATABASE {name} FROM PUBLIC; "
        'GRANT USAGE ON SCHEMA "nim(1,2)" TO reader; '
        'GRANT SELECT ON ALL TABLES IN SCHEMA "nim(1,2)" TO reader',
    )
    with Store.open(place.replace("me@", "reader@")) as store:
        verdict = verify(store)
    assert verdict.ok
    assert [said for said in verdict.skipped if "temporary tables" in said]


def test_an_upgrade_of_what_is_not_a_game_says_so(database):
    with pytest.raises(StoreMissingError, match="there is no schema"):
        upgrade(f"{database}&schema=nothing")
    postgresql.ask(database, "CREATE SCHEMA other")
    with pytest.raises(NotAStoreError, match="is not a graphstore database"):
        upgrade(f"{database}&schema=other")
    build("nim(1,2)", database)
    postgresql.ask(database, "INSERT INTO \"nim(1,2)\".alembic_version VALUES ('0003')")
    with pytest.raises(NotAStoreError, match="records 2 schema revisions"):
        upgrade(database)


def test_an_upgrade_from_the_first_schema_computes_what_a_build_does(database):
    build("tictactoe", database)
    query = "SELECT id, best_response FROM tictactoe.state ORDER BY id"
    before = postgresql.ask(database, query)
    postgresql.make_older_digests(f"{database}&schema=tictactoe")
    later = schema.state.c.keys()[schema.state.c.keys().index("best_response") :]
    agents_of = "tictactoe.checkpoint, tictactoe.played, tictactoe.bead, tictactoe.agent"
    for statement in (
        f"DROP VIEW {', '.join(f'tictactoe.{view}' for view in schema.VIEWS)}",
        f"DROP TABLE {agents_of}, tictactoe.move",
        "ALTER TABLE tictactoe.game DROP COLUMN extent",
        f"ALTER TABLE tictactoe.state {', '.join(f'DROP COLUMN {name}' for name in later)}",
        "DELETE FROM tictactoe.digest WHERE name = 'game.extent'",
        *(f"DELETE FROM tictactoe.digest WHERE name = 'state.{name}'" for name in later),
        "UPDATE tictactoe.alembic_version SET version_num = '0001'",
    ):
        postgresql.ask(database, statement)
    names = "name LIKE 'state.%' OR name LIKE 'edge.%'"
    columns = postgresql.ask(database, f"SELECT name, blake2b FROM tictactoe.digest WHERE {names}")
    postgresql.ask(database, f"UPDATE tictactoe.game SET digest = '{of_content(dict(columns))}'")
    assert upgrade(database) == "0001"
    assert postgresql.ask(database, query) == before


@pytest.mark.parametrize(
    "schema_name", some_of(["t", "Games", '"', "agent", "x;y", "a.b", "A B", "tab%09", "é"], 3)
)
def test_a_schema_may_have_any_name(database, schema_name):
    address = f"{database}&schema={schema_name}"
    build("nim(1,2)", address)
    with Store.open(address) as store:
        assert verify(store).ok
        assert verify(store, sample=3).ok


def test_a_column_refuses_nan(database):
    build("vanishing", database)
    with psycopg.connect(database) as other:
        for column in ("random_value", "best_response", "score"):
            with pytest.raises(psycopg.errors.CheckViolation), other.transaction():
                other.execute(f"UPDATE vanishing.state SET {column} = 'NaN'")


def test_an_answer_is_of_the_process_that_asked(asked):
    answer = asked.sql("SELECT n FROM generate_series(1, 20000) AS n")
    rows = iter(answer)
    next(rows)
    child = os.fork()
    if child == 0:
        try:
            list(rows)
        except QueryError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert len(list(rows)) == 19999


def test_a_child_that_leaves_a_block_of_its_parent_ends_nothing_there(asked):
    with asked.snapshot() as snapshot:
        right = snapshot.values(0)
        child = os.fork()
        if child:
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            assert snapshot.values(0) == right
    if not child:
        os._exit(0 if asked.lookup([0]).found.all() else 1)


@pytest.mark.parametrize(
    ("statement", "seconds", "message"),
    [
        ("SELECT repeat('x', 100001)", None, "100,000 bytes at most"),
        ("SELECT", None, "no columns"),
        ("SELECT FROM state LIMIT 2", None, "no columns"),
    ],
)
def test_odd_answers_are_one_line(asked, statement, seconds, message):
    with pytest.raises(QueryError, match=message):
        list(asked.sql(statement, seconds=seconds))


@pytest.mark.parametrize("seconds", [math.inf, 1e300, 3e6])
def test_any_number_of_seconds_is_accepted(asked, seconds):
    assert list(asked.sql("SELECT 1", seconds=seconds)) == [(1,)]


def test_of_two_builds_of_one_place_the_second_is_refused(server):
    place = postgresql.place(server)
    with (
        backend.PostgresSchema.of(place).draft(force=False),
        pytest.raises(StoreError, match="another build is writing"),
    ):
        build("nim(1)", place)
    build("nim(1)", place)


WRITES = [
    "DELETE FROM state",
    "INSERT INTO state SELECT * FROM state",
    "SELECT 1; DELETE FROM state",
    "SELECT 1; COMMIT; DELETE FROM state",
    "COMMIT",
    "ROLLBACK",
    "BEGIN",
    "SET transaction_read_only = off",
    "SET default_transaction_read_only = off",
    "SELECT set_config('transaction_read_only', 'off', true)",
    "SELECT set_config('transaction_read_only', 'off', false)",
    "WITH gone AS (DELETE FROM state RETURNING *) SELECT * FROM gone",
    "SELECT * INTO more FROM state",
    "CREATE TABLE x (y int)",
    "CREATE TEMP TABLE x (y int)",
    "DROP TABLE state CASCADE",
    "TRUNCATE state",
    "COPY state TO PROGRAM 'touch /tmp/x'",
    "COPY state FROM '/dev/null'",
    "DO $$ BEGIN DELETE FROM state; END $$",
    "CALL x()",
    "VACUUM",
    "LOCK TABLE state",
    "NOTIFY x",
    "GRANT ALL ON state TO PUBLIC",
    "PREPARE x AS DELETE FROM state",
    "EXPLAIN ANALYZE DELETE FROM state",
    "EXPLAIN SELECT 1",
    "SELECT * FROM state FOR UPDATE",
    "SELECT lo_from_bytea(0, 'x')",
    "SELECT query_to_xml('DELETE FROM state', true, true, '')",
    "SELECT pg_advisory_lock(1); DELETE FROM state",
    "1 UNION SELECT 1",
    "SELECT 1) ; DELETE FROM state; --",
    "",
    " ; ",
    "-- nothing",
    "/* nothing */",
]


@for_all("statement", some_of(WRITES, 4))
def test_nothing_that_is_typed_writes(server, statement):
    place = f"{server}&schema=kept"
    if "kept" not in schemas(server):
        build("nim(1,2)", place)
    with Store.open(place) as store:
        objects = "SELECT count(*) FROM pg_class UNION ALL SELECT count(*) FROM pg_largeobject"
        before = list(store.sql("SELECT * FROM state ORDER BY id")), postgresql.ask(server, objects)
        if statement.startswith("SELECT lo_"):  # rolled back with the transaction
            list(store.sql(statement))
        else:
            with pytest.raises(QueryError) as caught:
                list(store.sql(statement))
            assert "\n" not in str(caught.value)
        after = list(store.sql("SELECT * FROM state ORDER BY id")), postgresql.ask(server, objects)
        assert after == before


def test_a_statement_is_stopped_after_its_seconds_whatever_it_sets(asked):
    endless = (
        "SELECT set_config('statement_timeout', '0', true) FROM "
        "generate_series(1, 1000000000000) AS n"
    )
    for statement in (endless, "SELECT pg_sleep(100)"):
        connection = connect(read_address(asked.address), reads=True, views=())
        with pytest.raises(QueryError, match="not done within"):
            list(sql.run(connection, Statement(statement, seconds=0.3), set()))


def test_values_are_those_that_a_file_gives(asked):
    statement = (
        "SELECT true, false, sum(orbit), avg(ply), 1.5, now(), ARRAY[1,2], '{\"a\":1}'::json, "
        "NULL, 'x'::bytea FROM state"
    )
    (row,) = asked.sql(statement)
    assert [type(cell) for cell in row] == [
        int,
        int,
        int,
        float,
        float,
        str,
        str,
        str,
        type(None),
        bytes,
    ]
    assert row[:3] == (1, 0, 5478)


def test_board_and_canonical_are_refused_with_a_reason(asked):
    for statement in ("SELECT board(id) FROM state", "SELECT canonical('XO./.X./...')"):
        with pytest.raises(QueryError, match="SQLite files and folders, not in PostgreSQL"):
            asked.sql(statement)


def test_parameters_are_bound_but_not_in_texts_and_casts(asked):
    statement = "SELECT '?', ply::text, $$ ? $$ FROM state WHERE id = ? -- ?"
    assert list(asked.sql(statement, (0,))) == [("?", "0", " ? ")]
    statement = "SELECT ':x', ply::int FROM state WHERE id = :x AND :x = 0"
    assert list(asked.sql(statement, {"x": 0})) == [(":x", 0)]
    statement = r"""SELECT E'\'?', $a$ ? $$ $a$, "?", a$1 FROM (SELECT 1 AS "?", 2 AS a$1) AS b"""
    statement += " /* ? /* ? */ ? */ WHERE 3 = ? -- ?"
    assert list(asked.sql(statement, (3,))) == [("'?", " ? $$ ", 1, 2)]
    for wrong in ((), (1, 2)):
        with pytest.raises(QueryError):
            asked.sql("SELECT ply FROM state WHERE id = ?", wrong)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("postgresql://me:secret@127.0.0.1:1/games", "onnection refused"),
        ("postgresql://me:secret@/games?host=/nowhere&password=secret", "No such file"),
        ("postgresql://me:secret@[host/games", "not an address that libpq reads"),
        ("postgresql://me:secret@host/games?secret=secret", "not an address that libpq reads"),
        ("postgresql://me:secret@127.0.0.1:1/games?schema=" + "x" * 64, "1 to 63 bytes"),
        ("postgresql://me:secret@127.0.0.1:1/games?schema=", "1 to 63 bytes"),
        ("postgresql://me:secret@127.0.0.1:1/games?schema=$user", "cannot be called"),
    ],
)
def test_an_address_that_leads_nowhere_is_one_line_without_the_password(run, address, message):
    for words in (("show", address), ("build", "nim(1)", "--db", address), ("upgrade", address)):
        line = error_line(run(*words))
        assert message in line
        assert "secret" not in line.replace("?secret=secret", "")


@pytest.mark.parametrize(
    "words",
    some_of(
        [
            ("build", "tictactoe"),
            ("upgrade",),
            ("upgrade", "--json"),
            ("verify",),
            ("agents",),
            ("stats",),
            ("sql", "SELECT 1"),
            ("train", "--games", "1"),
            ("agents", "menace", "--remove"),
            ("build", "tictactoe", "--force", "--json"),
        ],
        3,
    ),
)
def test_no_report_has_the_password(run, server, words):
    place = postgresql.place(server)
    build("tictactoe", place)
    train(place, agent="menace", games=1)
    secret = place.replace("postgresql://me@", "postgresql://me:secret@") + "&password=secret"
    assert secret.count("secret") == 2
    where = [*words[1:], "--db", secret] if words[0] == "build" else [secret, *words[1:]]
    for done in (run(words[0], *where), run("diff", secret, place, "--json")):
        assert done.stdout + done.stderr
        assert "secret" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    "address",
    ["host=h user=me password=secret", "postgresql:/me:secret@h/g", "mysql://me:secret@h/g"],
)
def test_a_malformed_address_is_reported_without_the_password(run, address):
    line = error_line(run("show", address))
    assert "postgresql://" in line
    assert "secret" not in line


def test_a_name_that_is_too_long_for_a_schema_says_what_to_add(server):
    long_name = type("x" * 64, (TableGame,), {})
    with pytest.raises(StoreError, match=r"1 to 63 bytes; add \?schema=NAME"):
        build(long_name({0: -1}, 0), server)


def test_a_missing_database_or_permission_is_reported(server, database):
    with pytest.raises(StoreError, match='database "none" does not exist'):
        Store.open(server.replace("/games", "/none"))
    build("nim(1)", database)
    postgresql.ask(server, "DROP ROLE IF EXISTS guest; CREATE ROLE guest LOGIN")
    guest = database.replace("me@", "guest@")
    with pytest.raises(StoreError, match="may not read it; its owner can allow it: GRANT USAGE"):
        Store.open(guest)
    with pytest.raises(StoreError, match="belongs to me"):
        build("nim(1)", guest, force=True)
    with pytest.raises(StoreError, match="you may not create a schema there"):
        build("nim(2)", guest)
    postgresql.ask(
        database,
        'GRANT USAGE ON SCHEMA "nim(1)" TO guest; '
        'GRANT SELECT ON ALL TABLES IN SCHEMA "nim(1)" TO guest',
    )
    with Store.open(guest) as store:
        assert len(store.graph()) == 2
        with pytest.raises(StoreError, match=r"permission denied.*; nothing was written"):
            agents.remove(store, "x")
    postgresql.ask(database, 'DROP SCHEMA "nim(1)" CASCADE')


def test_a_server_that_stops_under_a_reader_is_one_line():
    with postgresql.server() as address:
        build("nim(1,2)", address)
        store = Store.open(address)
        assert store.probe(store.info["start"]).ply == 0
    with closing(store), pytest.raises(StoreError, match=r"postgresql://me@.*nim"):
        store.probe(0)


def test_a_rebuild_keeps_the_agents_or_is_refused_if_it_cannot(server):
    place = postgresql.place(server)
    build("tictactoe", place, below=["XO./.X./..."])
    train(place, "a", games=50, seed=1)
    build("tictactoe", place, below=["XO./.X./..."], force=True)
    statement = (
        "SELECT name, games, random, bead.* FROM agent JOIN bead ON agent.id = agent "
        "ORDER BY state, move"
    )
    with Store.open(place) as store:
        before = list(store.sql(statement))
        assert agents.load(store, "a").games == 50
    report = build("tictactoe", place, below=["X../.../..."])
    assert report.agents == ("a",)
    with Store.open(place) as store:
        grown = list(store.sql(statement))
        arena = Arena.of(store.graph())
        boxes = agents.boxes(store, arena, agents.load(store, "a"))
        assert len(boxes.rows) == len({row[-3] for row in grown})
        assert set(before) < set(grown)
        before = grown
    with pytest.raises(StoreError, match=r"has agents \(.*\) of tictactoe, not of nim"):
        build("nim(1,2)", place, force=True)
    with pytest.raises(StoreError, match="other states or moves"):
        build("tictactoe", place, force=True)
    with Store.open(place) as store:
        assert list(store.sql(statement)) == before
    assert build("nim(1,2)", place, force=True, drop_agents=True).agents == ()
    with Store.open(place) as store:
        assert agents.names(store) == []


@pytest.mark.parametrize(
    "change",
    [
        "REVOKE SELECT ON agent FROM owner",
        "REVOKE SELECT ON bead FROM owner",
        "ALTER TABLE agent ENABLE ROW LEVEL SECURITY; ALTER TABLE agent FORCE ROW LEVEL SECURITY",
        "ALTER TABLE agent RENAME COLUMN name TO called",
    ],
)
def test_a_game_whose_agents_cannot_be_read_is_not_replaced(database, change):
    postgresql.ask(database, "DROP ROLE IF EXISTS owner; CREATE ROLE owner LOGIN")
    name = postgresql.ask(database, "SELECT current_database()")[0][0]
    postgresql.ask(database, f"GRANT CREATE ON DATABASE {name} TO owner")
    place = database.replace("me@", "owner@") + "&schema=game"
    try:
        build("tictactoe", place)
        train(place, games=10, seed=1)
        postgresql.ask(database, f"SET search_path TO game; {change}")
        with pytest.raises(StoreError, match=r"nothing was changed|agents cannot be read"):
            build("tictactoe", place, force=True)
        assert postgresql.ask(database, "SELECT count(*), max(games) FROM game.agent") == [(1, 10)]
        assert build("tictactoe", place, force=True, drop_agents=True).agents == ()
    finally:
        postgresql.ask(database, "DROP OWNED BY owner CASCADE; DROP ROLE owner")


def test_of_two_programs_that_train_one_agent_the_later_is_refused(server):
    place = postgresql.place(server)
    build("tictactoe", place)
    train(place, games=10, seed=1)
    with Store.open(place) as store:
        known = agents.load(store, "menace")
        arena = Arena.of(store.graph())
        boxes = agents.boxes(store, arena, known)
        train(place, games=10)
        new = Counter([agents.Played(11, 0, "self", 1, 5)])
        with pytest.raises(StoreError, match="meanwhile"), agents.writing(store) as connection:
            agents.save(connection, known, arena, boxes, known.generator(), new, [])
        assert agents.load(store, "menace").games == 20


def test_a_second_trainer_waits_for_the_first(server):
    spoilt = build("tictactoe", postgresql.place(server)).file
    with Store.open(spoilt) as store:
        train(spoilt, games=5, seed=1)
        begun, ended = threading.Event(), threading.Event()

        def hold():
            with agents.writing(store):
                begun.set()
                ended.wait(20)

        holder = threading.Thread(target=hold)
        holder.start()
        begun.wait(20)
        other = threading.Thread(target=train, args=(spoilt,), kwargs={"games": 5})
        other.start()
        other.join(0.7)
        assert other.is_alive()
        ended.set()
        holder.join()
        other.join()
        assert agents.load(store, "menace").games == 10


def test_ctrl_c_stops_a_long_statement_on_the_server(server, asked):
    statement = "SELECT count(*) FROM edge AS a, edge AS b, edge AS c"
    child = subprocess.Popen(
        [*GRAPHSTORE, "sql", asked.address, statement], stderr=subprocess.PIPE, text=True
    )
    running = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'FETCH%' AND state = 'active'"
    while postgresql.ask(server, running) == [(0,)]:
        assert child.poll() is None
    child.send_signal(signal.SIGINT)
    assert child.communicate(timeout=20)[1] == "graphstore: interrupted\n"
    assert child.returncode == 130
    assert postgresql.ask(server, running) == [(0,)]


def test_without_psycopg_one_line_says_what_to_install(without):
    without("psycopg")
    with pytest.raises(MissingExtraError, match=r'pip install "psycopg\[binary\]"'):
        Store.open("postgresql://host/games")


def test_an_older_schema_is_upgraded(server):
    place = postgresql.place(server)
    build("tictactoe", place)
    name = place.partition("schema=")[2]
    with Store.open(place) as store:
        expected = list(store.sql("SELECT * FROM state ORDER BY id"))
        digests = list(store.sql("SELECT * FROM digest ORDER BY name"))
    views = ", ".join(f"{name}.{view}" for view in schema.VIEWS)
    postgresql.make_older_digests(place)
    postgresql.ask(
        server,
        f"SET search_path TO {name}; DROP VIEW {views}; "
        "ALTER TABLE game DROP COLUMN extent; DROP TABLE checkpoint, played, bead, agent, move; "
        "ALTER TABLE state DROP COLUMN margin, DROP COLUMN nimber; "
        "UPDATE alembic_version SET version_num = '0002'; "
        "DELETE FROM digest WHERE name = 'game.extent'",
    )
    assert upgrade(place) == "0002"
    with Store.open(place) as store:
        assert list(store.sql("SELECT * FROM state ORDER BY id")) == expected
        assert list(store.sql("SELECT * FROM digest ORDER BY name")) == digests
