"""A folder without files of edges answers like one with them."""

import json
import shutil

import postgresql
import pytest
from conftest import TableGame, error_line, some_of

from graphstore import Folder, Store, build, build_folder, find_game, load, verify
from graphstore.errors import NotAStoreError, RulesError
from graphstore.store.digests import of_json

GAMES = some_of(["tictactoe", "nim(2,2,3)", "kalah(3,2)", "hexapawn(3,3)", "chomp(4,3)"], 3)
QUESTIONS = (
    "SELECT * FROM edge ORDER BY parent, move",
    "SELECT count(*) FROM edge",
    "SELECT * FROM best_move ORDER BY state, move",
    "SELECT a.parent, b.child FROM edge a JOIN edge b ON b.parent = a.child ORDER BY 1, 2 LIMIT 99",
    "SELECT * FROM q_table ORDER BY state, move LIMIT 50",
)


def digests(address):
    """Return the digests of the columns of state and edge in a database."""
    with Store.open(address) as store:
        found = store.sql("SELECT name, blake2b FROM digest")
        return {name: digest for name, digest in found if name.startswith(("state.", "edge."))}


@pytest.fixture(scope="module", params=GAMES)
def pair(request, tmp_path_factory):
    """Return the folders of a game with and without edges."""
    path = tmp_path_factory.mktemp("pair")
    build_folder(request.param, path / "with", parts=2)
    build_folder(request.param, path / "without", parts=3, edges=False)
    return Folder.open(path / "with"), Folder.open(path / "without")


def test_it_has_no_files_of_edges_but_their_digests_and_counts(pair):
    full, bare = pair
    assert full.files("edge")
    assert not (bare.path / "edge").exists()
    assert bare.digests == full.digests
    counts = ("states", "moves", "edges", "digest")
    assert [bare.info[name] for name in counts] == [full.info[name] for name in counts]


@pytest.mark.parametrize("question", QUESTIONS)
def test_sql_answers_the_same(pair, question):
    with_edges, without = (sorted(map(repr, folder.sql(question))) for folder in pair)
    assert without == with_edges
    assert with_edges


def test_look_ups_answer_the_same(pair):
    full, bare = pair
    texts = [text for (text,) in full.sql("SELECT position FROM state ORDER BY id LIMIT 40")]
    with Store.open(full.path) as one, Store.open(bare.path) as other:
        for text in texts:
            assert other.probe(text) == one.probe(text)
        assert other.line() == one.line()


def test_it_is_loaded_as_the_same_game(pair, tmp_path):
    full, bare = pair
    load(bare, tmp_path / "loaded.db")
    build(full.info["name"], tmp_path / "built.db")
    assert digests(tmp_path / "loaded.db") == digests(tmp_path / "built.db") == bare.digests
    assert verify(tmp_path / "loaded.db").ok


def test_it_is_loaded_into_postgresql_over_several_connections(server, tmp_path):
    build_folder("tictactoe", tmp_path / "t", parts=3, edges=False)
    report = load(tmp_path / "t", postgresql.place(server), jobs=2)
    build("tictactoe", tmp_path / "t.db")
    assert digests(report.file) == digests(tmp_path / "t.db")


def test_it_is_verified_where_it_is(pair):
    verdict = verify(pair[1])
    assert verdict.ok
    assert any("edges" in each for each in verdict.skipped)


def test_files_of_states_that_were_changed_are_noticed(pair, tmp_path):
    shutil.copytree(pair[1].path, tmp_path / "t")
    file = Folder.open(tmp_path / "t").files("state")[-1]
    file.unlink()
    with pytest.raises(NotAStoreError):
        load(tmp_path / "t", tmp_path / "t.db")
    assert not verify(tmp_path / "t").ok


def test_rules_that_are_not_built_in_need_edges(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(
        "from graphstore import PlainGame\n\n\nclass Mine(PlainGame):\n"
        "    def start(self):\n        return 3\n"
        "    def moves(self, position):\n        return [1]\n"
        "    def play(self, position, move):\n        return position - 1\n"
        "    def outcome(self, position):\n        return None if position else -1\n"
    )
    done = run("build", "mine.py:Mine", "--folder", tmp_path / "t", "--no-edges")
    assert "leave out --no-edges" in error_line(done)
    assert [each.name for each in tmp_path.iterdir()] == ["mine.py"]
    with pytest.raises(RulesError, match="must be stored"):
        build_folder(find_game(f"{tmp_path}/mine.py:Mine"), tmp_path / "t", edges=False)


def test_rules_with_the_name_of_a_built_in_game_need_edges(tmp_path):
    rules = type("tictactoe", (TableGame,), {})({0: {0: 1}, 1: -1}, 0)
    with pytest.raises(RulesError, match="must be stored"):
        build_folder(rules, tmp_path / "t", edges=False)
    assert not any(tmp_path.iterdir())


def test_edges_of_rules_that_have_changed_are_refused_in_one_line(run, tmp_path):
    folder = tmp_path / "t"
    build_folder("tictactoe", folder, edges=False)
    found = json.loads((folder / "game.json").read_text())
    del found["check"]
    found["game"]["rules"] = "0"
    (folder / "game.json").write_text(json.dumps(found | {"check": of_json(found)}))
    assert "1\n" in run("sql", folder, "SELECT count(*) FROM state WHERE ply = 0").stdout
    load_it = ("load", folder, "--db", tmp_path / "t.db")
    for words in (("sql", folder, "SELECT count(*) FROM edge"), load_it):
        done = run(*words)
        assert error_line(done).endswith("the rules of tictactoe have changed; build it again")


def test_a_database_has_edges(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for words in ((), ("--out-of-core",), ("--db", "t.db")):
        done = run("build", "tictactoe", "--no-edges", *words)
        assert "a database has edges" in error_line(done, 2)
