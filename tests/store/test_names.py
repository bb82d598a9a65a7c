"""Databases hold the names of moves, which every reader says without the rules."""

import asyncio
import json
import re
import shutil
import sqlite3
from contextlib import closing

import pytest
from conftest import graphstore
from stored import redigest

import graphstore as package
from graphstore import Match, Store, build, upgrade, verify
from graphstore.building.parts.build import _names
from graphstore.checks.compare import compare
from graphstore.errors import MoveError, RulesError
from graphstore.games import find_game
from graphstore.rules.game import move_text
from graphstore.store import schema
from graphstore.store.digests import OrderedDigests
from graphstore.store.sqlite.structure import made
from graphstore.web import addresses
from graphstore.web.application import application

RULES = '''
from enum import Enum
from graphstore import PlainGame

class Way(Enum):
    LEFT = "l"
    RIGHT = "r"

class Texts(PlainGame):
    """A pawn on a file of eight squares goes one or two steps; on the last square it has won."""
    def start(self):
        return 2
    def moves(self, at):
        return [f"e{at}e{to}" for to in (at + 1, at + 2) if to <= 8]
    def play(self, at, move):
        return int(move[3])
    def outcome(self, at):
        return -1 if at == 8 else None

class Tuples(PlainGame):
    def start(self):
        return (2, 1)
    def moves(self, heaps):
        return [(heap, take) for heap in (0, 1) for take in range(1, heaps[heap] + 1)]
    def play(self, heaps, move):
        return tuple(n - move[1] * (heap == move[0]) for heap, n in enumerate(heaps))
    def outcome(self, heaps):
        return None if any(heaps) else -1
    def symmetries(self, heaps):
        return [heaps[::-1]]  # the state is the smaller of the two, such as (1, 2)

class Enums(PlainGame):
    def start(self):
        return ""
    def moves(self, path):
        return Way
    def play(self, path, way):
        return path + way.value
    def outcome(self, path):
        return {0: None, 1: None}.get(len(path), 1 if path == "rl" else -1)

class Mixed(Enums):
    """Integers at first, then texts."""
    def moves(self, path):
        return ["l", "r"] if path else [1, 2]
    def play(self, path, way):
        return path + {1: "l", 2: "r"}.get(way, way)
'''
NAMES = {
    "Texts": [f"e{n}e{n + by}" for n in range(2, 8) for by in (1, 2) if n + by <= 8],
    "Tuples": ["0-1", "1-1", "1-2"],
    "Enums": ["LEFT", "RIGHT"],
    "Mixed": ["1", "2", "l", "r"],
}
"""The names of the moves of all states, as `PlainGame.moves` describes them."""
SQL = "SELECT name FROM best_move JOIN move USING (move) JOIN state ON id = state WHERE ply = 0"


@pytest.fixture(scope="module")
def rules(tmp_path_factory):
    """Return a function that returns the name of a game of `RULES`."""
    file = tmp_path_factory.mktemp("rules") / "named.py"
    file.write_text(RULES)
    return lambda name: f"{file}:{name}"


def names_in(address):
    with Store.open(address) as store:
        return dict(store.sql("SELECT move, name FROM move ORDER BY move"))


def changed(path, *statements):
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(";".join(statements))
    return path


@pytest.mark.parametrize("name", NAMES)
def test_a_database_names_moves_without_the_rules(name, rules, place, run, tmp_path):
    game = find_game(rules(name))
    build(game, place)
    names = names_in(place)
    assert sorted(names.values()) == sorted(NAMES[name])
    with Store.open(place) as store, Match(place, "person", "person") as match:
        assert not store.has_rules
        best = [names[move.move] for move in store.start().best]
        assert sorted(each for (each,) in store.sql(SQL)) == sorted(best)
        assert match.play(best[0]).name == best[0]
        with pytest.raises(MoveError, match="is not the name of a move"):
            match.play("elsewhere")
        line = [names[move] for move in store.line().moves]
    shown = json.loads(run("show", place, "--json").stdout)["moves"]
    assert {each["name"] for each in shown} == {names[each["move"]] for each in shown}
    assert json.loads(run("line", place, "--json").stdout)["names"] == line
    assert all(f" {each} " in run("line", place).stdout for each in line)
    assert {each["name"] for each in shown} <= {*run("show", place).stdout.split()}
    rows = "".join(f"{move},{each}\n" for move, each in names.items())
    exported = run("export", place, "--format", "csv", "--table", "move").stdout
    assert exported == f"move,name\n{rows}"
    for file_format in ("graphml", "gexf", "dot"):
        graph = run("export", place, "--format", file_format).stdout
        assert line[0] in re.split(r'[<>" ]', graph)
    done = package.export(place, tmp_path / "tables", "csv")
    assert done.rows["move"] == len(names)
    with Store.open(place, rules=game) as store:
        assert verify(store).ok
        assert all(move_text(game, move) == each for move, each in names.items())
    assert verify(place).ok


@pytest.mark.parametrize("name", [*NAMES, "nim(2,3)", "hexapawn(3,3)"])
def test_builds_in_parts_and_in_other_processes_give_the_same_names(name, rules, tmp_path):
    game = rules(name) if name in NAMES else name
    build(find_game(game), tmp_path / "memory.db")
    again = graphstore("build", game, "--db", tmp_path / "again.db")
    assert again.returncode == 0, again.stderr
    package.build_folder(game, tmp_path / "folder", parts=3)
    package.load(tmp_path / "folder", tmp_path / "loaded.db")
    expected = names_in(tmp_path / "memory.db")
    assert expected
    for each in ("again.db", "loaded.db"):
        assert names_in(tmp_path / each) == expected
        assert compare(tmp_path / "memory.db", tmp_path / each, rows=True).same
    folder = package.Folder.open(tmp_path / "folder")
    assert dict(folder.sql("SELECT move, name FROM move")) == expected


def test_names_of_a_distributed_build_are_those_of_all_processes(rules, tmp_path):
    package.build_folder(rules("Texts"), tmp_path / "folder", cluster="local:2", parts=3)
    folder = package.Folder.open(tmp_path / "folder")
    assert sorted(folder.contents.names.values()) == sorted(NAMES["Texts"])


def test_two_names_of_one_number_in_different_blocks_are_refused(rules):
    records = [{"names": {"7": "a", "8": "b"}}, {"names": {"7": "c"}}]
    with pytest.raises(RulesError, match="the moves c and a share the number 7"):
        _names(find_game(rules("Texts")), records)


@pytest.mark.parametrize("game", ["tictactoe", "subtraction(9,1,2)"])
def test_a_game_whose_moves_are_numbers_has_no_names(game, tmp_path):
    build(game, tmp_path / "game.db")
    assert names_in(tmp_path / "game.db") == {}
    with Store.open(tmp_path / "game.db") as store:
        assert not store.names.names_moves
        digests = {name for (name,) in store.sql("SELECT name FROM digest")}
    assert not any(name.startswith("move.") for name in digests)


@pytest.mark.parametrize("with_rules", [True, False])
def test_wrong_names_are_found(with_rules, rules, tmp_path):
    game, path = find_game(rules("Texts")), tmp_path / "texts.db"
    build(game, path)
    for number, statement in enumerate(
        (
            "UPDATE move SET name = 'e2e8' WHERE name = 'e2e4'",
            "DELETE FROM move WHERE name = 'e2e4'",
            "INSERT INTO move VALUES (5, 'e2e9')",
        )
    ):
        other = changed(shutil.copy(path, tmp_path / f"{number}.db"), statement)
        with Store.open(other, rules=game if with_rules else None) as store:
            tables = {problem.table for problem in verify(store).problems}
        # Without the rules a wrong name differs only from its digest.
        assert tables == ({"digest", "move"} if with_rules or number else {"digest"})
        assert compare(path, other).tables.keys() == {"move"}


def test_an_older_file_is_read_without_names_and_written_after_an_upgrade(rules, run, tmp_path):
    game, path = find_game(rules("Texts")), tmp_path / "texts.db"
    build(game, path)
    shutil.copy(path, tmp_path / "new.db")
    redigest(path, OrderedDigests)
    changed(
        path,
        "DROP TABLE move",
        "DROP TABLE played",
        made("0004")["played"],
        "DELETE FROM digest WHERE name LIKE 'move.%'",
        f"DROP VIEW {schema.BY_MARGIN}",
        *(f"ALTER TABLE state DROP COLUMN {name}" for name in schema.LATER),
        "UPDATE alembic_version SET version_num = '0004'",
    )
    for upgraded in (False, True):
        assert "name" not in json.loads(run("show", path, "--json").stdout)["moves"][0]
        with Store.open(path, rules=game) as store:
            assert verify(store).ok
            assert list(store.sql("SELECT * FROM move")) == []
        assert verify(path).ok
        assert compare(path, tmp_path / "new.db", rows=True).same
        assert package.export(path, tmp_path / f"{upgraded}.csv", "csv", table="move").rows == {
            "move": 0
        }
        assert upgrade(path) == (schema.REVISIONS[-1] if upgraded else "0004")
    assert upgrade(path) == schema.REVISIONS[-1]
    package.train(path, games=2, seed=1)
    build(game, path, force=True)
    assert sorted(names_in(path).values()) == sorted(NAMES["Texts"])


def test_hostile_names_are_written_out_and_escaped(rules, run, tmp_path):
    path = tmp_path / "texts.db"
    build(find_game(rules("Texts")), path)
    hostile = "<b>\x1b[31m,\n "
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE move SET name = ? WHERE name LIKE 'e2%'", (hostile,))
        connection.commit()
    for command in (["show"], ["line"], ["sql", "SELECT name FROM move"], ["draw", "--plies=1"]):
        done = run(command[0], path, *command[1:], *["--format=dot"] * (command[0] == "draw"))
        assert done.returncode == 0, done.stderr
        assert "\x1b" not in done.stdout
        assert "31m" in done.stdout
    with Store.open(path) as store, closing(application([store])) as site:
        pages = [addresses.write("texts", None), "/texts/edge", "/texts/move"]
        for address in pages:
            answer = asyncio.run(site.client.get(address, follow_redirects=True))
            assert answer.status_code == 200
            assert "<b>\\x1b" not in answer.text
            assert "31m" in answer.text
