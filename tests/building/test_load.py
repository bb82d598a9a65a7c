"""Loading a folder gives the game that is built in memory, or changes nothing."""

import shutil
import signal
import time

import numpy as np
import postgresql
import pyarrow
import pytest
from conftest import DATABASES, SLOW, error_line, few, some_of, table_games
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from stored import scatter

from graphstore import Store, build, explore, find_game, load, solve, train
from graphstore.building.from_folder import FolderRows
from graphstore.building.parts.build import build as build_parts
from graphstore.building.parts.workers import OwnProcess
from graphstore.checks import verify
from graphstore.checks.compare import compare
from graphstore.errors import NotAStoreError, StoreExistsError
from graphstore.games import rules_of
from graphstore.store.columns import BUILT_WITH, SolvedGraph
from graphstore.store.digests import OrderedDigests, of_content
from graphstore.store.folder import layout
from graphstore.store.folder.folder import Folder
from graphstore.store.folder.layout import MANIFEST, Contents, write_manifest
from graphstore.store.folder.rows import ordered


def in_parts(game, path, parts=3):
    """Build a game in parts into a folder."""
    return build_parts(rules_of(game), path, workers=OwnProcess(), parts=parts).path


def scattered(game, path, parts):
    """Write a game that was built in memory to a folder, in parts."""
    path.mkdir(parents=True, exist_ok=True)
    graph = explore(game)
    solve(graph)
    solved = SolvedGraph(rules_of(game), graph)
    of = {each: each % parts for each in graph.states.id.tolist()}
    for table in ("state", "edge"):
        for _, _, columns in solved.rows(table):
            scatter(path, table, columns, of, 3)
    row = solved.row() | {"built_at": ""}
    write_manifest(path, Contents(row, solved.digests(), (), {}))
    return path


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Tic-tac-toe in parts; tests must not change it."""
    return in_parts(find_game("tictactoe"), tmp_path_factory.mktemp("parts") / "tictactoe")


@pytest.fixture
def spoilt_folder(folder, tmp_path):
    """A copy of tic-tac-toe in parts that a test may change."""
    return shutil.copytree(folder, tmp_path / "parts")


@pytest.fixture
def database(server):
    """The address of a new, empty database."""
    return postgresql.database(server)


def schemas(address):
    """Return the names of all schemas of a database, except those of the server."""
    rows = postgresql.ask(
        address, "SELECT nspname FROM pg_namespace WHERE nspname !~ '^(pg_|information_|public$)'"
    )
    return sorted(name for (name,) in rows)


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_folder_in_a_database_is_the_game_that_was_built(folder, place, tictactoe_db, jobs):
    report = load(folder, place, jobs=jobs)
    with Store.open(place) as store, Store.open(tictactoe_db) as other:
        assert compare(other, store, rows=True).same
        assert verify(store).ok
        same = {"game", "states", "positions", "moves", "edges", "start", "value", "remoteness"}
        assert report._asdict().items() >= {
            (name, other.info["name" if name == "game" else name]) for name in same
        }
        assert store.info["built_with"] == f"{BUILT_WITH}, {store.backend.product}"
        assert store.info["built_at"] >= Folder.open(folder).info["built_at"]
        assert store.info["build_seconds"] > Folder.open(folder).info["build_seconds"]
    phases = {"load states", "load edges", "index", "finish"}
    assert (report.file, {*report.seconds}) == (place, phases)


@pytest.mark.parametrize("database", DATABASES)
@settings(max_examples=few(6), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(game=table_games(cyclic=True), parts=st.integers(1, 4))
def test_any_game_in_parts_is_the_game_that_is_built_in_memory(
    database, request, tmp_path_factory, game, parts
):
    path = tmp_path_factory.mktemp("any")
    build(game, path / "game.db")
    target = path / "loaded.db"
    if database == "postgresql":
        target = postgresql.place(request.getfixturevalue("server"))
    load(scattered(game, path / "parts", parts), target, jobs=2)
    with Store.open(target, rules=game) as store, Store.open(path / "game.db") as other:
        assert compare(other, store, rows=True).same
        assert verify(store).ok


def test_agents_of_the_file_that_is_replaced_are_kept(folder, spoilt):
    with pytest.raises(StoreExistsError, match="exists; add --force"):
        load(folder, spoilt)
    train(spoilt, "m", games=5, seed=1)
    assert load(folder, spoilt, force=True, jobs=2).agents == ("m",)
    assert load(folder, spoilt, force=True, drop_agents=True, jobs=2).agents == ()


def flipped(path):
    """Change one bit in the middle of a file, where the cells are."""
    cells = bytearray(path.read_bytes())
    cells[len(cells) // 4] ^= 4
    path.write_bytes(cells)


def without_a_file(path):
    Folder.open(path).files("edge")[5].unlink()


def of_another_game(path, other):
    """Replace files by those of another game."""
    shutil.rmtree(path / "state")
    shutil.copytree(other / "state", path / "state")


def said_otherwise(path, before, after):
    manifest = path / MANIFEST
    text = manifest.read_text()
    assert before in text
    manifest.write_text(text.replace(before, after))


SPOILT = {
    "a bit of states": lambda path: flipped(Folder.open(path).files("state")[9]),
    "a bit of edges": lambda path: flipped(Folder.open(path).files("edge")[9]),
    "no file": without_a_file,
    "two files in one": lambda path: shutil.copy(*Folder.open(path).files("state")[7:9]),
    "one digest": lambda path: said_otherwise(path, '"state.score": "', '"state.score": "0'),
    "a count": lambda path: said_otherwise(path, '"states": 765', '"states": 766'),
    "a count that is none": lambda path: said_otherwise(path, '"states": 765', '"states": "765"'),
    "no list": lambda path: (path / MANIFEST).write_text("{"),
    "no row of game": lambda path: said_otherwise(path, '"rules"', '"laws"'),
}


@pytest.mark.parametrize("what", some_of(SPOILT, 3))
def test_a_damaged_folder_is_refused_in_one_line_and_nothing_is_changed(
    spoilt_folder, server, tmp_path, run, what
):
    SPOILT[what](spoilt_folder)
    there = postgresql.database(server)
    for target in (tmp_path / "t.db", f"{there}&schema=t"):
        build("nim(1,2)", target)
        line = error_line(run("load", spoilt_folder, "--db", target, "--force", "--jobs", "3"))
        assert str(spoilt_folder) in line
        assert "is damaged" in line
        with Store.open(target) as store:
            assert store.info["name"] == "nim(1,2)"
            assert verify(store).ok
    assert schemas(there) == ["t"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["parts", "t.db"]


def test_states_of_another_game_are_refused(spoilt_folder, tmp_path):
    of_another_game(spoilt_folder, in_parts(find_game("mnk(3,3,2)"), tmp_path / "other"))
    with pytest.raises(NotAStoreError, match=r"is damaged: its files have [\d,]+ states, not 765"):
        load(spoilt_folder, tmp_path / "t.db")


def test_whatever_bit_is_another_one_the_rows_are_the_same_or_refused(spoilt_folder, moments):
    chance = np.random.default_rng(3)
    files = [
        file for table in ("state", "edge") for file in Folder.open(spoilt_folder).files(table)
    ]
    refused = 0
    for _ in range(moments(20, 60)):
        file = files[chance.integers(len(files))]
        right = file.read_bytes()
        wrong = bytearray(right)
        wrong[chance.integers(len(wrong))] ^= 1 << chance.integers(8)
        file.write_bytes(wrong)
        try:
            content = FolderRows(Folder.open(spoilt_folder))
            for table in ("state", "edge"):  # their digests are compared at the end
                list(content.rows(table))
        except NotAStoreError:
            refused += 1
        file.write_bytes(right)
    assert refused > 5


def test_a_folder_that_is_missing_or_not_finished_is_refused(tmp_path, run, folder):
    assert "there is no folder" in error_line(run("load", tmp_path / "none"))
    assert "is not a game in parts" in error_line(run("load", tmp_path))
    (tmp_path / ".unfinished.building").mkdir()
    assert "is not finished" in error_line(run("load", tmp_path / "unfinished"))
    damaged = shutil.copytree(folder, tmp_path / "damaged")
    (damaged / MANIFEST).unlink()
    assert "it has no game.json" in error_line(run("load", damaged))


def test_the_command_writes_to_the_name_of_the_game(folder, tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run("load", folder)
    assert done.returncode == 0, done.stderr
    with Store.open("tictactoe.db") as store:
        assert store.info["states"] == 765
    assert "exists; add --force" in error_line(run("load", folder, "--json"))
    assert '"states": 765' in run("load", folder, "--force", "--json").stdout


def test_without_pyarrow_one_line_says_what_to_install(folder, tmp_path, run, without):
    without("pyarrow")
    line = error_line(run("load", folder, "--db", tmp_path / "t.db"))
    assert "pip install pyarrow" in line


# Into PostgreSQL over several connections


OTHERS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
"""The number of other sessions: the server ends those of a killed client."""


def at_once(folder, address):
    return ("load", folder, "--db", f"{address}&schema=game", "--jobs", "3", "--force")


@pytest.mark.parametrize(
    ("phase", "old"),
    [
        ("load edges", True),
        *(
            pytest.param(phase, old, marks=SLOW)
            for phase in ("load states", "load edges", "index")
            for old in (False, True)
            if (phase, old) != ("load edges", True)
        ),
    ],
)
def test_a_load_that_is_killed_leaves_the_old_game_or_none_and_the_next_one_its_draft(
    warm, folder, database, phase, old
):
    if old:
        build("nim(1,2)", f"{database}&schema=game")
    running = warm.at(phase, *at_once(folder, database))
    running.send(signal.SIGKILL)
    assert running.end().returncode == -signal.SIGKILL
    (draft,) = (name for name in schemas(database) if name != "game")
    assert draft.startswith("graphstore_draft_")
    if old:
        with Store.open(database) as store:  # the only game: a draft does not count
            assert store.info["name"] == "nim(1,2)"
    while postgresql.ask(database, OTHERS) != [(0,)]:
        time.sleep(0.02)
    build("nim(1)", f"{database}&schema=another")  # any build removes abandoned drafts
    assert schemas(database) == ["another", *(["game"] if old else [])]
    assert warm.run(*at_once(folder, database)).returncode == 0
    assert schemas(database) == ["another", "game"]


def test_of_two_loads_to_one_target_the_second_is_refused_and_spoils_nothing(
    warm, folder, database
):
    first = warm.at("load states", *at_once(folder, database))
    line = error_line(warm.run(*at_once(folder, database)))
    assert "another build is writing" in line
    build("nim(1,2)", f"{database}&schema=other")  # does not remove a draft in use
    assert first.end().returncode == 0
    assert schemas(database) == ["game", "other"]
    with Store.open(f"{database}&schema=game") as store:
        assert verify(store).ok


@pytest.mark.parametrize("phase", some_of(["load states", "load edges", "index"], 3))
def test_a_load_that_is_interrupted_leaves_no_draft(warm, folder, database, phase):
    running = warm.at(phase, *at_once(folder, database))
    running.send(signal.SIGINT)
    done = running.end()
    assert (done.returncode, done.stderr) == (130, "graphstore: interrupted\n")
    assert schemas(database) == []


def as_older(path, monkeypatch):
    """Give a folder the digests and the format of older versions."""
    folder, hashes = Folder.open(path), OrderedDigests()
    for table in ("state", "edge"):
        for _, _, columns in ordered(folder.files(table), table):
            hashes.update_table(table, columns)
    of_columns = hashes.of_columns()
    info = folder.info | {"digest": of_content(of_columns)}
    with monkeypatch.context() as older:
        older.setattr(layout, "FORMAT", 1)
        write_manifest(path, folder.contents._replace(info=info, digests=of_columns))
    return info["digest"]


def test_a_folder_of_an_older_version_is_checked_by_its_own_digests(
    spoilt_folder, tictactoe_db, tmp_path, monkeypatch
):
    older = as_older(spoilt_folder, monkeypatch)
    assert verify(spoilt_folder).ok
    load(spoilt_folder, tmp_path / "t.db")
    assert verify(tmp_path / "t.db").ok
    with Store.open(tmp_path / "t.db") as store, Store.open(tictactoe_db) as built:
        assert store.info["digest"] == built.info["digest"] != older
    file = Folder.open(spoilt_folder).files("state")[3]
    rows = parquet.read_table(file)
    score = pyarrow.array(np.nextafter(rows["score"].to_numpy(), 2))
    rows = rows.set_column(rows.schema.get_field_index("score"), rows.schema.field("score"), score)
    parquet.write_table(rows, file)
    with pytest.raises(NotAStoreError, match=r"cells were changed in state\.score; nothing"):
        load(spoilt_folder, tmp_path / "t.db", force=True)
    named = {problem.row for problem in verify(spoilt_folder).problems if problem.table == "digest"}
    assert named == {"state.score"}
