"""A folder of Parquet files answers as the SQLite file of the same game does."""

import json
import shutil
from contextlib import contextmanager

import numpy as np
import pytest
from conftest import TableGame, error_line, for_all
from turngames import random_turn_game

from graphstore import Folder, Store, build, build_folder
from graphstore.errors import (
    GraphstoreError,
    NotInStoreError,
    StoreError,
    StoreReplacedError,
)
from graphstore.store.digests import of_json
from graphstore.store.folder.layout import ROW_GROUP, write_manifest

SEVERAL_STARTS = TableGame({0: {1: 2, 2: 3}, 1: {1: 3}, 2: -1, 3: {5: 2, 6: 4}, 4: 0}, 0, 1)
GAMES = {
    "draws": "tictactoe",
    "cycles": "morris(orthogonal)",
    "margins and kept turns": "dots_and_boxes(2,1)",
    "nimbers": "nim(1,2,3)",
    "names of moves": "connect(3,3,3)",
    "kept turns and cycles": random_turn_game(1, cyclic=True),
    "several starts": SEVERAL_STARTS,
}
UNLIKE = ("built_at", "built_with", "build_seconds")


def pair(game, path, **options):
    """Build a game as a file and as a folder; return both paths."""
    build(game, path / "game.db")
    build_folder(game, path / "game", **options)
    return path / "game.db", path / "game"


@contextmanager
def both(paths, game=None):
    """Yield the two open stores."""
    rules = None if isinstance(game, str) else game
    with Store.open(paths[0], rules=rules) as file, Store.open(paths[1], rules=rules) as folder:
        yield file, folder


def answer(ask, *given):
    """Return what a function returns, or the kind and the words of its error."""
    try:
        return ask(*given)
    except GraphstoreError as error:
        return type(error), str(error)


def same_answers(file, folder):
    ids = file.graph().states.id
    few = ids[:: len(ids) // 40 + 1].tolist()
    texts = [file.probe(state).position for state in few]
    for at in [*few, *texts, 5, 2**63, "start", "nonsense", "moves:0", [0], ["x"]]:
        assert answer(file.probe, at) == answer(folder.probe, at), at
    for at in [*few[::8], "start"]:
        assert file.line(at) == folder.line(at)
        assert repr(file.q_table(at)) == repr(folder.q_table(at))
    assert file.start() == folder.start()
    assert vars(file.names) == vars(folder.names)
    assert file.census() == folder.census()
    assert {**file.info, **dict.fromkeys(UNLIKE)} == {**folder.info, **dict.fromkeys(UNLIKE)}
    wanted = np.concatenate([ids[::-1], ids[:1], [5, -1]])
    assert repr(file.lookup(wanted)) == repr(folder.lookup(wanted))
    assert repr(file.lookup(texts[:9])) == repr(folder.lookup(texts[:9]))
    with file.snapshot() as first, folder.snapshot() as second:
        for state in [*few, 5, -1]:
            assert first.values(state) == second.values(state)
        assert first.probe(texts[-1]) == second.probe(texts[-1])


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("kind", GAMES)
def test_every_look_up_in_a_folder_is_that_of_the_file(tmp_path, kind, parts):
    game = GAMES[kind]
    with both(pair(game, tmp_path, parts=parts), game) as (file, folder):
        same_answers(file, folder)


def test_without_rules_positions_as_stored_are_found(tmp_path):
    with both(pair(SEVERAL_STARTS, tmp_path, parts=3)) as (file, folder):
        assert not folder.has_rules
        for at in (*"01234", 0, "start", "7", 7, "\ud800"):
            assert answer(file.probe, at) == answer(folder.probe, at)
        assert file.line("0") == folder.line("0")


def test_a_folder_that_does_not_tell_its_parts_is_searched(tmp_path):
    paths = pair("tictactoe", tmp_path, parts=3)
    contents = Folder.open(paths[1]).contents
    some, none = contents._replace(waves=contents.waves[:3]), contents._replace(waves=())
    for older in (some, none, none._replace(sums={})):
        write_manifest(paths[1], older)
        with both(paths) as (file, folder):
            same_answers(file, folder)


def test_moves_of_a_state_in_two_row_groups_are_found(tmp_path, monkeypatch):
    monkeypatch.setitem(ROW_GROUP, "edge", 3)
    monkeypatch.setitem(ROW_GROUP, "state", 2)
    with both(pair(SEVERAL_STARTS, tmp_path), SEVERAL_STARTS) as (file, folder):
        same_answers(file, folder)
    shutil.rmtree(tmp_path / "game")
    build_folder("tictactoe", tmp_path / "game")
    build("tictactoe", tmp_path / "game.db", force=True, drop_agents=True)
    with Store.open(tmp_path / "game.db") as file, Store.open(tmp_path / "game") as folder:
        monkeypatch.setattr(Store, "has_rules", False)  # the edges tell the moves
        for state in file.graph().states.id.tolist()[::20]:
            assert file.probe(state) == folder.probe(state)


COMMANDS = [
    ("show",),
    ("show", "start", "--json"),
    ("show", "--by", "margin"),
    ("show", "moves:1 3 5"),
    ("show", "nonsense"),
    ("line",),
    ("line", "--json"),
    ("draw", "start", "--format", "text"),
    ("stats", "--csv"),
    ("play", "--against", "mistakes=0.5", "--you", "random", "--seed", "3"),
    ("play", "--against", "nobody"),
]


@for_all("game", ["tictactoe", "morris(orthogonal)", "dots_and_boxes(1,1)"])
def test_every_command_prints_the_same(run, tmp_path, game):
    at = tmp_path / game
    at.mkdir()
    file, folder = pair(game, at, parts=2)
    for command, *words in COMMANDS:
        first, second = (run(command, path, *words) for path in (file, folder))
        assert second.returncode == first.returncode
        assert second.stdout.replace(str(folder), "game") == first.stdout.replace(str(file), "game")
        assert second.stderr.replace(str(folder), "game") == first.stderr.replace(str(file), "game")
    facts = json.loads(run("stats", folder, "--json").stdout)["game"]
    assert facts["name"] == game


@for_all(
    "words",
    [
        ("train", "{}"),
        ("agents", "{}"),
        ("export", "{}", "--format", "csv"),
        ("export", "{}", "--format", "dot", "--below", "start"),
        ("diff", "{}", "{}"),
        ("upgrade", "{}"),
    ],
)
def test_what_needs_a_database_is_refused_in_one_line(run, tmp_path, words):
    if not (tmp_path / "game").exists():
        build_folder("nim(1,2)", tmp_path / "game")
    before = (tmp_path / "game" / "game.json").read_bytes()
    line = error_line(run(*(word.format(tmp_path / "game") for word in words)))
    assert f"{tmp_path / 'game'} is a game in parts" in line
    assert "graphstore load" in line
    assert (tmp_path / "game" / "game.json").read_bytes() == before


def test_what_needs_all_rows_is_refused(tmp_path):
    build_folder("nim(1,2)", tmp_path / "game")
    with Store.open(tmp_path / "game") as store:
        for ask in (store.graph, store.q_table, lambda: store.backend.reading("", None)):
            with pytest.raises(StoreError, match="is a game in parts"):
                ask()


def test_sql_of_a_store_is_that_of_its_folder(tmp_path):
    build_folder(SEVERAL_STARTS, tmp_path / "game")
    statement = "SELECT board(id), canonical(position), canonical('4') FROM state ORDER BY id"
    with Store.open(tmp_path / "game", rules=SEVERAL_STARTS) as store:
        rows = list(store.sql(statement))
    folder = Folder.open(tmp_path / "game")
    assert rows == list(folder.sql(statement, rules=SEVERAL_STARTS))
    assert rows


def cut(path):
    path.write_bytes(path.read_bytes()[:-200])


def flipped(path):
    content = bytearray(path.read_bytes())
    content[4:40] = bytes(36)
    path.write_bytes(content)


def replaced_by_edges(path):
    shutil.copy(path.parents[2] / "edge" / path.parent.name / path.name, path)


def a_folder(path):
    path.unlink()
    path.mkdir()


@for_all("damage", [cut, flipped, replaced_by_edges, a_folder, lambda path: path.unlink()])
def test_a_damaged_file_is_named_in_one_line(run, tmp_path, damage):
    folder = tmp_path / getattr(damage, "__name__", "").strip("<>")
    build_folder("tictactoe", folder)
    spoilt = folder / "state" / "wave-0001" / "part-0000.parquet"
    damage(spoilt)
    line = error_line(run("show", folder))
    assert str(spoilt) in line
    assert "damaged" in line or "cannot be read" in line


def test_a_damaged_or_unfinished_manifest_is_one_line(run, tmp_path):
    folder = tmp_path / "game"
    build_folder("nim(1,2)", folder)
    manifest = folder / "game.json"
    whole = manifest.read_text()
    for text in ("{", whole.replace("nim(1,2)", "nim(1,3)"), whole.replace("waves", "w")):
        assert text != whole
        manifest.write_text(text)
        assert f"{manifest} is damaged; rebuild the folder" in error_line(run("show", folder))


def of_game(name, cell):
    return lambda manifest: manifest["game"].__setitem__(name, cell)


@for_all(
    "change",
    [
        of_game("states", 10**30),
        of_game("states", "3"),
        of_game("name", 7),
        of_game("start", None),
        lambda manifest: manifest["names"].update({str(2**64): "a move"}),
        lambda manifest: manifest["sums"].update({"state/wave-0/../../other/part-0.parquet": 1}),
        lambda manifest: manifest["sums"].update({"state/there/file": 1}),
    ],
)
def test_a_manifest_that_no_build_writes_is_one_line(run, tmp_path, change):
    folder = tmp_path / "game"
    if not folder.exists():
        build_folder("nim(1,2)", folder)
        shutil.copy(folder / "game.json", tmp_path)
    manifest = json.loads((tmp_path / "game.json").read_text())
    del manifest["check"]
    change(manifest)
    (folder / "game.json").write_text(json.dumps(manifest | {"check": of_json(manifest)}))
    for command in ("show", "verify", "stats"):
        assert f"{folder / 'game.json'} is damaged" in error_line(run(command, folder))


def test_a_folder_that_is_replaced_or_removed_is_not_read_on(tmp_path):
    build_folder("nim(1,2)", tmp_path / "game")
    with Store.open(tmp_path / "game") as store:
        assert store.probe("start").value == 1
        build_folder("nim(1,2)", tmp_path / "game", force=True)
        with pytest.raises(StoreReplacedError, match="open it again"):
            store.probe("start")
    with Store.open(tmp_path / "game") as store:
        shutil.rmtree(tmp_path / "game")
        with pytest.raises(StoreReplacedError, match="open it again"):
            store.probe("start")


def test_without_pyarrow_a_folder_is_one_line(run, without, tmp_path):
    build_folder("nim(1,2)", tmp_path / "game")
    without("pyarrow")
    assert "pip install pyarrow" in error_line(run("show", tmp_path / "game"))


def test_a_look_up_opens_the_files_of_its_waves_only(tmp_path, monkeypatch):
    build_folder("tictactoe", tmp_path / "game", parts=4)
    with Store.open(tmp_path / "game") as store:
        opened = store.backend._lookups._opened
        store.probe("XO./.X./...")
        files = opened.cache_info().misses
        assert files <= 5  # of the state, and of its children in four parts
        with pytest.raises(NotInStoreError):
            store.probe(77 << 40)
