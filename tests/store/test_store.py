"""A store finds every position in every orientation, never writes, and explains its errors."""

import gzip
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext
from functools import partial
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from conftest import DATA, ROOT, few, table_games, warm
from hypothesis import given, settings
from hypothesis import strategies as st
from stored import redigest

from graphstore import Store, build, find_game
from graphstore.checks import verify
from graphstore.errors import (
    ImpossibleCountsError,
    NewerStoreError,
    NotAStoreError,
    NotInStoreError,
    OlderStoreError,
    PositionError,
    RulesError,
    StoreError,
    StoreMissingError,
    WrongSizeError,
)
from graphstore.rules.adapter import ArrayRules
from graphstore.solver.columns import Solution
from graphstore.store import schema
from graphstore.store.digests import OrderedDigests, of_content
from graphstore.store.sqlite.opening import damage
from graphstore.store.store import find_backend, upgrade

TURNED = [6, 3, 0, 7, 4, 1, 8, 5, 2]  # cell i of the turned board is cell TURNED[i] of the board
MIRRORED = [2, 1, 0, 5, 4, 3, 8, 7, 6]
COLUMNS = ("value", "remoteness", "score", "win_depth", "lose_depth")


def images(cells):
    """Return the eight images of a board of nine characters."""
    result = []
    for each in (cells, "".join(cells[i] for i in MIRRORED)):
        for _ in range(4):
            result.append(each)
            each = "".join(each[i] for i in TURNED)
    return result


def packed(cells):
    return int("".join("01"[c == "X"] for c in cells) + "".join("01"[c == "O"] for c in cells), 2)


def slashed(cells):
    return "/".join((cells[:3], cells[3:6], cells[6:]))


def number(cell, kind=int):
    return kind(cell) if cell else None


def rank(row):
    return -row["score"], row["win_depth"] or 0, -(row["lose_depth"] or 0)


@pytest.fixture(scope="module")
def expected(oracle, tictactoe):
    """The oracle's row of each of the 5,478 positions, by the nine characters of its board."""
    rows = {}
    for each in oracle:
        cells = each["position"].replace("/", "")
        row = {
            "state": packed(cells),
            "ply": int(each["ply"]),
            "to_move": int(each["to_move"]),
            "orbit": int(each["orbit"]),
            "ended": bool(each["ended"]),
            "value": int(each["value"]),
            "score": float(each["score"]),
            "win_depth": number(each["win_depth"]),
            "lose_depth": number(each["lose_depth"]),
            # The oracle leaves it out for draws. A drawn game fills the board.
            "remoteness": int(each["remoteness"] or 9 - int(each["ply"])),
        }
        for image in images(cells):
            rows[image] = row
    return rows


def moves_of(expected, cells):
    """Return the moves that probe must list for a position, best first."""
    row = expected[cells]
    if row["ended"]:
        return []
    mark = "XO"[row["to_move"] - 1]
    moves = []
    for cell in range(9):
        if cells[cell] == ".":
            child = cells[:cell] + mark + cells[cell + 1 :]
            moves.append({"move": cell, "position": slashed(child)} | expected[child])
    return sorted(moves, key=lambda move: (rank(move), move["move"]))


def test_every_position_is_found_in_its_own_orientation(store, expected, moments):
    assert len(expected) == 5478
    step = moments(10, 1) if store.backend.product.startswith("PostgreSQL") else 1
    for cells, row in list(expected.items())[::step]:
        probe = store.probe(slashed(cells))
        assert probe.position == slashed(cells)
        assert {name: getattr(probe, name) for name in row} == row, cells
        moves = moves_of(expected, cells)
        found = [{name: getattr(move, name) for name in move._fields} for move in probe.moves]
        assert all(move.pop("margin") is None for move in found)
        assert found == [{name: move[name] for name in found[0]} for move in moves]
        assert list(probe.best) == [
            move
            for move, right in zip(probe.moves, moves, strict=True)
            if rank(right) == rank(moves[0])
        ]


def test_a_position_may_be_typed_in_many_ways(store):
    first = store.probe("XO./.X./...")
    for text in (
        "xo..x....",
        "XO.\n.X.\n...",
        " X | O | \n---+---+---\n   | X | \n---+---+---\n   |   | ",
    ):
        assert store.probe(text) == first


def test_a_state_is_found_by_its_id_as_an_integer_or_as_text(store, oracle):
    for row in oracle[::37]:
        by_text = store.probe(row["position"])
        for key in (by_text.state, str(by_text.state), np.int64(by_text.state)):
            assert store.probe(key) == by_text


@pytest.mark.parametrize(
    ("position", "error", "message"),
    [
        ("XXX/OOO/...", PositionError, "both have a line"),
        ("XX./.../...", ImpossibleCountsError, "2 X and 0 O"),
        ("XO", WrongSizeError, "2 cells"),
        ("", WrongSizeError, "9 cells"),
        ("what is this", PositionError, "not a cell"),
        (77, NotInStoreError, "77"),
        (-1, NotInStoreError, "-1"),
        (2**63, NotInStoreError, str(2**63)),
        (10**30, NotInStoreError, "10000"),
        pytest.param(10**5000, NotInStoreError, "0x", id="5,001 digits"),
        ("77", NotInStoreError, "77"),
        ("9" * 19, NotInStoreError, "9999"),
        ("9" * 5000, PositionError, "not a cell"),
    ],
)
def test_what_is_not_a_position_raises_in_probe_and_is_none_in_get(store, position, error, message):
    with pytest.raises(error, match=message):
        store.probe(position)
    assert store.get(position) is None


def test_a_probe_as_dict_is_plain_data(store):
    data = store.probe("XO./.X./...").as_dict()
    assert list(data) == [*(c.name if c.name != "id" else "state" for c in schema.state.c), "moves"]
    assert {type(cell) for cell in data.values()} <= {int, float, str, bool, list, type(None)}
    assert data["moves"][0]["move"] == 8


def test_a_batch_agrees_with_probe_for_each_position(store, expected):
    texts = [slashed(cells) for cells in expected]
    ids = np.array([row["state"] for row in expected.values()])
    by_text, by_id = store.lookup(texts), store.lookup(ids)
    assert by_text.found.all()
    for column in (*COLUMNS, "state"):
        cells = getattr(by_text, column).tolist()
        assert cells == getattr(by_id, column).tolist()
        assert cells == [row[column] for row in expected.values()]


@pytest.mark.parametrize("kind", [list, tuple, np.array, lambda ids: np.array(ids, np.int32)])
def test_a_batch_of_ids_may_come_in_any_sequence(store, kind):
    assert store.lookup(kind([0, 77, 8706])).found.tolist() == [True, False, True]


def test_in_a_batch_what_is_missing_is_masked(store):
    answer = store.lookup(np.array([77, 0, -1, 2**63 - 1]))
    assert answer.found.tolist() == [False, True, False, False]
    for column in COLUMNS:
        assert np.ma.getmaskarray(getattr(answer, column))[[0, 2, 3]].all()
    assert answer.value.tolist() == [None, 0, None, None]
    assert np.ma.getmaskarray(answer.win_depth).all()  # no player can force a win at the start


@pytest.mark.parametrize("nothing", [[], np.array([], dtype=np.int64), ()])
def test_a_batch_of_none_is_empty(store, nothing):
    answer = store.lookup(nothing)
    assert [len(column) for column in answer] == [0] * 7


def test_a_batch_with_a_text_that_is_not_a_position_is_refused(store):
    with pytest.raises(ImpossibleCountsError):
        store.lookup([".........", "XX......."])


def test_a_line_ends_after_as_many_plies_as_its_remoteness_and_is_best_play(store, expected):
    for cells, row in list(expected.items())[::11]:
        line = store.line(slashed(cells))
        assert len(line.moves) == row["remoteness"] if row["value"] else len(line.moves) <= 9
        assert line.probes[-1].ended
        assert not line.repeats
        assert line.positions[0] == slashed(cells)
        for move, probe, after in zip(line.moves, line.probes, line.probes[1:], strict=False):
            assert move == probe.best[0].move
            assert after.position == probe.best[0].position
            assert after.value == -probe.value
        assert abs(line.probes[-1].value) == abs(row["value"])


def test_a_line_begins_at_the_start_by_default(store):
    line = store.line()
    assert (line.positions[0], len(line.moves), line.probes[-1].value) == (".../.../...", 9, 0)


def test_the_graph_comes_back_as_it_was_explored_and_solved(store, tictactoe):
    graph = store.graph()
    for found, right in (
        (graph.states, tictactoe.states),
        (graph.edges_by_move, tictactoe.edges_by_move),
        (graph.solution, tictactoe.solution),
    ):
        for name in right._fields:
            column, expected = getattr(found, name), getattr(right, name)
            if expected is None:
                assert column is None, name
                continue
            assert column.dtype == expected.dtype, name
            assert np.array_equal(column, expected, equal_nan=column.dtype == np.float64), name
    assert graph.name == tictactoe.name
    assert graph.texts(graph.states.id) == tictactoe.texts(tictactoe.states.id)


@pytest.mark.parametrize("position", [".../.../...", "XO./.X./...", "OXX/XXO/OXO", "..X/.O./..."])
def test_a_part_of_the_graph_is_what_networkx_says_is_below(store, tictactoe, position):
    start = store.probe(position).state
    part = store.graph(below=position)
    whole = tictactoe.subgraph(nx.descendants(tictactoe, start) | {start})
    assert dict(part.nodes(data=True)) == dict(whole.nodes(data=True))
    assert sorted(part.edges(data="moves")) == sorted(whole.edges(data="moves"))
    assert isinstance(part.solution, Solution)
    assert set(store.graph(below=start)) == set(part)


def test_census_adds_up_to_the_whole_game(store):
    census = store.census()
    assert [row["ply"] for row in census] == list(range(10))
    assert sum(row["states"] for row in census) == store.info["states"] == 765
    assert sum(row["positions"] for row in census) == store.info["positions"] == 5478


def test_many_threads_may_ask_at_once(store, expected):
    some = list(expected)[::9]

    def ask(cells):
        probe = store.probe(slashed(cells))
        return probe.state, store.lookup([probe.state]).value.tolist(), len(probe.moves)

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(ask, some))
    assert answers == [
        (expected[c]["state"], [expected[c]["value"]], len(moves_of(expected, c))) for c in some
    ]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files by /proc")
def test_at_the_end_of_the_block_no_file_is_open(copy):
    def is_open():
        links = Path("/proc/self/fd").iterdir()
        return any(os.path.realpath(link) == str(copy.resolve()) for link in links)

    with Store.open(copy) as store:
        store.probe("XO./.X./...")
        assert is_open()
        list(store.sql("SELECT board(id) FROM state"))
        store.graph()
    assert not is_open()
    copy.write_bytes(copy.read_bytes()[:5000])
    with pytest.raises(NotAStoreError):
        Store.open(copy)
    assert not is_open()


ASK_ALL = """
import os, sys
from pathlib import Path
from graphstore import Store, verify

path = Path(sys.argv[1])

def ask_all():
    with Store.open(path) as store:
        store.probe("XO./.X./..."), store.line(), store.census(), store.graph(), store.lookup([0])
        list(store.sql("SELECT board(id), canonical(position) FROM state ORDER BY score"))
        assert verify(store).ok

ask_all()  # imports all modules, which the next user may not be able to read
if os.geteuid() == 0:  # root ignores permissions
    os.seteuid(65534)
try:
    (path.parent / "new").touch()
except OSError:
    pass
else:
    raise SystemExit("the folder can be written")
ask_all()
"""


def test_a_file_is_read_where_nothing_can_be_written(tictactoe_db, open_folder):
    path = Path(shutil.copy(tictactoe_db, open_folder))
    path.chmod(0o444)
    open_folder.chmod(0o555)
    before = path.read_bytes(), path.stat().st_mtime_ns
    done = warm().run(path, code=ASK_ALL)
    assert (done.stderr, done.returncode) == ("", 0)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert [each.name for each in open_folder.iterdir()] == [path.name]


NAMES = [
    "two words.db",
    "100%.db",
    "%41.db",
    "why?.db",
    "a#b.db",
    "a&b=c;d.db",
    "Zúñiga 井字棋.db",
    "'quoted\".db",
    "no-suffix",
    "-dash.db",
    "a\nb.db",
    os.fsdecode(b"not-utf-8-\xff.db"),
    ":memory:",
]


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_any_file_name_will_do(tmp_path, name):
    path = tmp_path / name
    build("mnk(2,2,2)", path)
    with Store.open(path) as store:
        assert store.info["states"] == 6
        assert list(store.sql("SELECT count(*) FROM edge")) == [(11,)]
        assert verify(store).ok
    assert upgrade(path) == schema.REVISIONS[-1]
    assert [each.name for each in tmp_path.iterdir()] == [name]


def test_a_url_or_a_relative_path_names_the_same_file(copy, monkeypatch):
    monkeypatch.chdir(copy.parent)
    for name in (f"sqlite:///{copy}", "sqlite:///copy.db", "copy.db", "./copy.db", copy, str(copy)):
        with Store.open(name) as store:
            assert store.info["states"] == 765
    with Store.open("/" + str(copy)) as store:
        assert store.info["states"] == 765
    assert build("mnk(2,2,2)", "sqlite:///small.db").file == "small.db"
    assert upgrade("sqlite:///small.db") == schema.REVISIONS[-1]


def sqlite_file(path, statement):
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(statement)


def a_folder(path):
    path.mkdir()


def a_pipe(path):
    os.mkfifo(path)


def some_text(path):
    path.write_text("Dear diary, " * 100)


def an_empty_file(path):
    path.touch()


def another_programs_database(path):
    sqlite_file(path, "CREATE TABLE state (id)")


def an_empty_database_under_our_sign(path):
    sqlite_file(path, f"CREATE TABLE t (id); PRAGMA application_id = {schema.APPLICATION_ID}")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (a_folder, "{} is a folder, not a graphstore database"),
        (a_pipe, "{} is a pipe or device, not a graphstore database"),
        (some_text, "{} is not a graphstore database"),
        (an_empty_file, "{} is not a graphstore database"),
        (another_programs_database, "{} is not a graphstore database"),
        (an_empty_database_under_our_sign, "{} is damaged: no such table: alembic_version"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
@pytest.mark.parametrize("use", [Store.open, upgrade])
def test_what_is_not_ours_is_refused_by_name(tmp_path, make, message, use):
    path = tmp_path / "a.db"
    make(path)
    with pytest.raises(NotAStoreError) as caught:
        use(path)
    assert str(caught.value).removesuffix("; nothing was changed") == message.format(path)
    assert isinstance(caught.value, OSError)


@pytest.mark.parametrize("use", [Store.open, upgrade])
@pytest.mark.parametrize("name", ["none.db", "no/folder.db", "x" * 200])
def test_a_file_that_is_missing_is_named_and_not_made(tmp_path, use, name):
    with pytest.raises(StoreMissingError, match=f"there is no file {tmp_path / name};") as caught:
        use(tmp_path / name)
    assert isinstance(caught.value, FileNotFoundError)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["x" * 300, "tictactoe.db/x"])
def test_a_path_that_cannot_be_is_an_error_of_the_store(tictactoe_db, name):
    with pytest.raises(StoreError):
        Store.open(tictactoe_db.parent / name)


@pytest.mark.parametrize(
    "address", ["mysql://me:secret@host/db", "https://example.org/t.db", "://"]
)
def test_other_addresses_are_refused(address):
    for use in (Store.open, upgrade, lambda address: build("mnk(1,1,1)", address)):
        with pytest.raises(StoreError, match="give a file, sqlite:///FILE or postgresql://"):
            use(address)


def test_a_file_that_was_cut_short_anywhere_is_damaged_or_not_ours(tictactoe_db, tmp_path):
    whole = tictactoe_db.read_bytes()
    path = tmp_path / "cut.db"
    for length in (*range(0, 200, 9), *range(200, len(whole), 1777), len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(NotAStoreError, match="damaged" if length >= 72 else "not a graph"):
            Store.open(path)


def test_a_file_of_a_newer_version_is_left_to_it(spoilt):
    with find_backend(spoilt).located().writing() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    replace = partial(build, "tictactoe", force=True, drop_agents=True)
    for use in (Store.open, upgrade, replace):
        with pytest.raises(NewerStoreError, match=r"written by a newer graphstore \(schema 9999"):
            use(spoilt)


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM alembic_version",
        "DROP TABLE alembic_version",
        "INSERT INTO alembic_version VALUES ('0000')",
        "DELETE FROM game",
        "DROP TABLE game",
        "DROP TABLE edge; DROP TABLE state; DROP TABLE game; DROP TABLE digest",
    ],
)
def test_a_file_without_its_own_description_is_damaged(copy, statement):
    sqlite_file(copy, statement)
    with pytest.raises(NotAStoreError, match=f"{copy} is damaged: ") as caught:
        Store.open(copy)
    assert "\n" not in str(caught.value)


def test_a_current_file_needs_no_upgrade_and_is_not_touched(copy):
    before = copy.read_bytes(), copy.stat().st_mtime_ns
    assert upgrade(copy) == schema.REVISIONS[-1]
    assert (copy.read_bytes(), copy.stat().st_mtime_ns) == before


@pytest.fixture(params=["tictactoe", "ring"])
def older(request, tmp_path):
    """A file with schema 0001, and the rules of its game."""
    path = tmp_path / f"{request.param}.db"
    path.write_bytes(gzip.decompress((DATA / f"{request.param}.0001.db.gz").read_bytes()))
    return path, find_game(f"{DATA}/ring.py:Ring" if request.param == "ring" else request.param)


def tables_of(path):
    """Return the rows of all tables, without the time and the versions of the build."""
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        rows = {
            table: sorted(tuple(row) for row in connection.execute(f"SELECT * FROM {table}"))
            for table in ("edge", "alembic_version")
        }
        rows["state"] = [tuple(r) for r in connection.execute("SELECT * FROM state ORDER BY id")]
        (game,) = map(dict, connection.execute("SELECT * FROM game"))
        rows["digest"] = dict(map(tuple, connection.execute("SELECT * FROM digest")))
    for name in ("built_at", "built_with", "build_seconds"):
        del game[name], rows["digest"][f"game.{name}"]
    return rows | {"game": game}


def test_an_older_file_needs_an_upgrade_and_then_equals_a_new_file(run, older):
    path, game = older
    last = schema.REVISIONS[-1]
    with pytest.raises(OlderStoreError):
        Store.open(path)
    assert run("show", path).stderr == (
        f"graphstore: {path} has schema 0001, this graphstore reads {last}; "
        f"run: graphstore upgrade {path}\n"
    )
    done = run("upgrade", path)
    assert (done.stdout, done.stderr) == (f"{path}: schema 0001 -> {last}\n", "")
    fresh = path.with_name("fresh.db")
    if isinstance(game, ArrayRules):
        game.rules = game.rules_before[0]  # the digest that schema 0001 stored
    build(game, fresh)
    assert tables_of(path) == tables_of(fresh)
    with Store.open(path, rules=game) as store:
        verdict = verify(store)
    assert (verdict.problems, verdict.skipped) == ((), ())
    assert sorted(each.name for each in path.parent.iterdir()) == ["fresh.db", path.name]


@pytest.mark.parametrize("end", ["raise ValueError('halfway')", "import os; os._exit(9)"])
def test_an_upgrade_that_fails_at_its_end_changes_nothing(older, end):
    path, _ = older
    before = path.read_bytes()
    fail = "import sys\nfrom graphstore import upgrade\nfrom graphstore.store import schema\n"
    fail += "def fail(connection):\n"
    fail += "    assert connection.exec_driver_sql('SELECT best_response FROM state').all()\n"
    fail += f"    {end}\nschema.create_views = fail\nupgrade(sys.argv[1])"
    done = warm().run(path, code=fail)
    assert done.returncode in (1, 9)
    assert "Assertion" not in done.stderr
    assert path.read_bytes() == before
    path.with_name(path.name + "-journal").unlink(missing_ok=True)
    assert upgrade(path) == "0001"


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE digest SET blake2b = 'x' WHERE name = 'state.value'", "its digests are not those"),
        ("DELETE FROM digest", "its digests are not those"),
        ("DELETE FROM edge; DELETE FROM state", "it has no states"),
        ("DELETE FROM state WHERE ply = 1", "does not join two states"),
        ("DROP TABLE edge", "it has no edge"),
    ],
)
def test_an_upgrade_refuses_a_damaged_file_and_changes_nothing(older, statement, message):
    path, _ = older
    sqlite_file(path, statement)
    before = path.read_bytes()
    with pytest.raises(NotAStoreError, match=f"{path} is damaged: .*{message}"):
        upgrade(path)
    assert path.read_bytes() == before


def test_an_upgrade_refuses_a_file_with_changed_cells(older):
    path, _ = older
    sqlite_file(path, "UPDATE state SET value = CASE value WHEN 0 THEN 1 ELSE 0 END WHERE ply = 0")
    before = path.read_bytes()
    with pytest.raises(NotAStoreError, match=r"cells were changed in state\.value; rebuild"):
        upgrade(path)
    assert path.read_bytes() == before


TO_0001 = "\n".join(
    [
        *(f"DROP VIEW {view};" for view in schema.VIEWS),
        *(f"DROP TABLE {table};" for table in ("checkpoint", "played", "bead", "agent", "move")),
        "ALTER TABLE game DROP COLUMN extent;",
        *(f"ALTER TABLE state DROP COLUMN {name};" for name in ("best_response", *schema.LATER)),
        "DELETE FROM digest WHERE name IN ('game.extent', 'state.best_response');",
        "UPDATE alembic_version SET version_num = '0001';",
    ]
)


def alembic(*words):
    """Run alembic in the checkout, as its developers do."""
    return warm().run(*words, code="from alembic.config import main; main()", cwd=ROOT)


def test_alembic_reports_a_missing_or_wrong_address_in_one_line(tmp_path):
    for named in ((), ("-x", "db="), ("-x", "file=x.db")):
        done = alembic(*named, "current")
        assert (done.returncode, done.stderr) == (255, "")
        assert done.stdout.startswith("FAILED: name the database: alembic -x db=FILE ..., or ")
    none, other = tmp_path / "none.db", tmp_path / "other.db"
    sqlite_file(other, "CREATE TABLE t (a)")
    for address, why in {
        none: f"there is no file {none}",
        other: f"{other} is not a graphstore database",
        "mysql://me@there": "mysql://there: unknown kind of address; give a file",
    }.items():
        done = alembic("-x", f"db={address}", "upgrade", "head")
        assert (done.returncode, done.stderr, done.stdout.count("\n")) == (255, "", 1)
        assert done.stdout.startswith(f"FAILED: {why}")
    assert not none.exists()


def test_alembic_takes_any_address_and_changes_nothing_that_is_current(spoilt):
    with Store.open(spoilt) as store:
        before = list(store.sql("SELECT * FROM digest ORDER BY name"))
    for words in (["current"], ["upgrade", "head"]):
        done = alembic("-x", f"db={spoilt}", *words)
        assert done.returncode == 0, done.stdout
    with Store.open(spoilt) as store:
        assert list(store.sql("SELECT * FROM digest ORDER BY name")) == before
    assert alembic("-x", f"db={spoilt}", "current").stdout == f"{schema.REVISIONS[-1]} (head)\n"


def test_alembic_upgrades_as_the_command_does(older, tmp_path):
    path, _ = older
    copy = Path(shutil.copy(path, tmp_path / "copy.db"))
    upgrade(copy)
    assert alembic("-x", f"db={path}", "current").stdout == "0001\n"
    assert alembic("-x", f"db=sqlite:///{path}", "upgrade", "head").returncode == 0
    assert tables_of(path) == tables_of(copy)


def test_no_revision_imports_the_package():
    for revision in (ROOT / "migrations" / "versions").glob("*.py"):
        assert not re.search(r"^\s*(from|import) graphstore", revision.read_text(), re.MULTILINE)


@pytest.mark.parametrize("cyclic", [False, True])
@settings(max_examples=few(8))
@given(data=st.data())
def test_the_column_that_an_upgrade_adds_is_what_a_build_computes(data, cyclic):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "any.db"
        build(data.draw(table_games(cyclic=cyclic)), path)
        expected = tables_of(path)
        redigest(path, OrderedDigests)
        sqlite_file(path, TO_0001)
        with closing(sqlite3.connect(path)) as connection:
            digests = connection.execute(
                "SELECT name, blake2b FROM digest WHERE name LIKE 'state.%' OR name LIKE 'edge.%'"
            )
            digest = of_content(dict(digests.fetchall()))
            connection.execute("UPDATE game SET digest = ?", (digest,))
            connection.commit()
        assert upgrade(path) == "0001"
        assert tables_of(path) == expected


KILLED = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("PRAGMA cache_size = 5")
connection.execute("UPDATE state SET orbit = orbit + 1")
connection.execute("UPDATE edge SET move = move + 10")
os._exit(0)
"""


def test_after_another_program_was_killed_while_writing_an_upgrade_repairs_the_file(copy):
    before = copy.read_bytes()
    subprocess.run([sys.executable, "-c", KILLED, copy], check=True, timeout=60)
    assert copy.with_name("copy.db-journal").exists()
    with pytest.raises(StoreError, match=f"killed while it wrote; run: graphstore upgrade {copy}"):
        Store.open(copy)
    upgrade(copy)
    assert copy.read_bytes() == before
    with Store.open(copy) as store:
        assert store.info["name"] == "tictactoe"


@pytest.mark.parametrize("error", [KeyError("mine"), TypeError("mine"), AssertionError("mine")])
@pytest.mark.parametrize("block", [lambda _: nullcontext(), Store.connect, Store.snapshot])
def test_an_error_of_a_callers_own_code_is_not_blamed_on_the_file(spoilt_page, block, error):
    with pytest.raises(type(error), match="mine"), Store.open(spoilt_page) as store, block(store):
        raise error


def test_an_error_of_given_rules_is_not_blamed_on_the_file(spoilt_page):
    class Mine(type(find_game("tictactoe"))):
        def read(self, text):
            return {}[text]

    rules = find_game("tictactoe")
    rules.__class__ = Mine
    with Store.open(spoilt_page, rules=rules) as store, pytest.raises(RulesError, match="KeyError"):
        store.probe(".../.../...")


@pytest.fixture
def spoilt_page(copy):
    """A file with damage that SQLite finds, in a page that the tests do not read."""
    with closing(sqlite3.connect(copy)) as connection:
        query = "SELECT rootpage FROM sqlite_master WHERE name = 'ix_edge_child'"
        (page,) = connection.execute(query).fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    content = bytearray(copy.read_bytes())
    content[(page - 1) * size] = 0
    copy.write_bytes(content)
    assert damage(copy)
    return copy
