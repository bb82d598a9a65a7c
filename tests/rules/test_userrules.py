"""A user's rules build, show, verify and play without a change to the package."""

import asyncio
import copy
import os
import pickle
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from conftest import check_all, for_all, some_of
from conftest import graphstore as run
from usergames import Countdown

import graphstore
from graphstore.cli.serving import all_opened, serve
from graphstore.errors import GameNameError, NotInStoreError, RulesDifferWarning, RulesMissingError
from graphstore.games import are_those_of
from graphstore.rules.adapter import accept
from graphstore.web.application import application

RULES = '''
from dataclasses import dataclass
from graphstore import PlainGame
from neighbour import TAKES

class Take(PlainGame):
    """Take one or two; taking the last wins."""
    def __init__(self, heap=7):
        self.heap = heap
    def start(self):
        return (self.heap, 1)
    def moves(self, position):
        return [take for take in TAKES if take <= position[0]]
    def play(self, position, take):
        return (position[0] - take, 3 - position[1])
    def outcome(self, position):
        return -1 if position[0] == 0 else None
    def to_move(self, position):
        return position[1]

class Other(Take):
    pass

LARGE = Take(12)
NO_GAME = 5
'''


@pytest.fixture
def rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "neighbour.py").write_text("TAKES = (1, 2)\n")
    (tmp_path / "take.py").write_text(RULES)
    monkeypatch.chdir(tmp_path)
    for name in ("take", "neighbour"):  # as modules, from another test's folder
        sys.modules.pop(name, None)
    return tmp_path


def test_a_file_s_game_is_found_by_name_with_parameters_or_as_an_instance(rules: Path) -> None:
    assert graphstore.find_game("take.py:Take").name == "take.py:Take"
    assert graphstore.find_game(f"{rules}/take.py:Take(3)").name == "take.py:Take(3)"
    assert len(graphstore.explore(graphstore.find_game("take.py:LARGE"))) == 24


def test_a_module_s_game_is_found(rules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(rules))
    assert graphstore.find_game("take:Take").name == "take:Take"


def test_a_file_that_is_called_like_a_library_does_not_replace_it(rules: Path) -> None:
    import random

    (rules / "random.py").write_text(RULES)
    graphstore.find_game("random.py:Take")
    assert sys.modules["random"] is random


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none.py:Take", "there is no file none.py"),
        ("take.py:Nope", "take.py has no Nope; the games it defines: Take, Other"),
        ("take.py", "name the game: write take.py:NAME; take.py defines Take, Other"),
        ("take.py:NO_GAME", "take.py:NO_GAME is not a game; subclass graphstore.PlainGame"),
        ("take.py:Take(heap)", "'take.py:Take(heap)': parameters are Python literals"),
        ("take.py:Take(1, 2)", "take.py:Take(1, 2) cannot be created: TypeError"),
        ("take.py:Take(nope=1)", "take.py:Take(nope=1) cannot be created: TypeError"),
        ("take.py:Take(heap=1, heap=2)", "parameters are Python literals"),
        ("take.py:Take(**{'heap': 1})", "parameters are Python literals"),
        ("take.py:Take(*(1,))", "parameters are Python literals"),
        ("take.py:Take(1) + f(2)", "parameters are Python literals"),
        ("take.py:Take(1e999)", "parameters are Python literals"),
        ("take.py:LARGE(3)", "'take.py:LARGE(3)' is an object, which takes no parameters"),
        ("broken.py:X", "broken.py, line 1: "),
        ("in/broken.py:X", os.path.join("in", "broken.py") + ", line 1: "),
        ("quits.py:X", "quits.py cannot be loaded: SystemExit: 0"),
        ("quits_later.py:x", "quits_later.py:x cannot be created: SystemExit: 0"),
        ("raises.py:X", "raises.py cannot be loaded: ZeroDivisionError: division by zero"),
        ("no_such_module:X", "no_such_module cannot be loaded: ModuleNotFoundError"),
        (":", "':' is not of the form"),
        ("take.py:", "there is no file"),
    ],
)
def test_rules_that_cannot_be_loaded_are_refused_in_one_line(
    rules: Path, name: str, message: str
) -> None:
    (rules / "in").mkdir()
    for broken in ("broken.py", "in/broken.py"):
        (rules / broken).write_text("class X(:\n")
    (rules / "quits.py").write_text("import sys\nsys.exit(0)\n")
    (rules / "quits_later.py").write_text("import sys\nx = lambda: sys.exit(0)\n")
    (rules / "raises.py").write_text("1 / 0\n")
    with pytest.raises(GameNameError) as raised:
        graphstore.find_game(name)
    if name != "take.py:":
        assert message in str(raised.value)
    assert "\n" not in str(raised.value)


PARAMETERS = """
from graphstore import PlainGame
class Base(PlainGame):
    def start(self):
        return (self.heap, bool(self.misere))
    def moves(self, position):
        return range(1, position[0] + 1)
    def play(self, position, take):
        return (position[0] - take, position[1])
    def outcome(self, position):
        return None if position[0] else 1 if position[1] else -1
class Wild(Base):
    def __init__(self, misere=False, heap=3):
        self.misere, self.heap = misere, heap
class Free(Base):
    def __init__(self, *heaps, misere=False, **more):
        self.misere, self.heap = misere, sum(heaps)
class Odd(Base):
    misere = False
    def __init__(self, start=object(), heap=3):
        self.heap = heap
def made(heap, misere=False):
    return Wild(misere, heap)
"""
SPELLINGS = {
    "Wild": ("Wild()", "Wild(False)", "Wild(False, 3)", "Wild(heap=3)", "Wild-false-3"),
    "Wild(True)": ("Wild(misere=True)", "Wild( True , )", "Wild-True", "Wild(heap=3,misere=True)"),
    "Wild(False,4)": ("Wild(heap=4)", "Wild(heap=0x4,misere=False)", "Wild-False-4"),
    "Wild(1)": ("Wild(misere=1)", "Wild-1"),
    "Wild(\"a 'b'\")": ("Wild(\"a 'b'\")", "Wild(misere=\"a 'b'\")"),
    "Wild([1, (2,), {'a': None}])": ("Wild( [ 1,(2,),{'a':None} ] )",),
    "Wild({'a', 'b'})": ("Wild({'b','a'})", "Wild(misere={'b', 'a'})"),
    "Free(1,2,misere=True,a=1,z=2)": ("Free(1, 2, z=2, a=1, misere=True)",),
    "Free(misere=True)": ("Free( misere = True )",),
    "Free(3)": ("Free(3, misere=False)", "Free-3"),
    "Odd(heap=4)": ("Odd( heap = 4 )",),
    "Odd(5,4)": ("Odd(heap=4,start=5)",),
    "made(3)": ("made(heap=3)", "made(3,False)", "made-3"),
}


def test_equal_parameters_have_one_spelling_in_the_name_of_a_game(rules: Path) -> None:
    (rules / "wild.py").write_text(PARAMETERS)

    def law(name: str, written: str) -> None:
        game = graphstore.find_game(f"wild.py:{written}")
        assert game.name == f"wild.py:{name}"
        assert game.origin == f"{rules / 'wild.py'}:{name}"
        again = graphstore.find_game(game.name)
        assert (again.name, again.start_states()) == (game.name, game.start_states())

    check_all(
        [(name, each) for name, written in SPELLINGS.items() for each in (name, *written)], law
    )


def test_the_name_of_a_game_rebuilds_it_in_another_process(rules: Path) -> None:
    (rules / "wild.py").write_text(PARAMETERS)
    code = "import graphstore, sys; print(*(graphstore.find_game(x).name for x in sys.argv[1:]))"
    names = ["wild.py:Wild(misere={'b','a','c'})", "wild.py:Free(2,z=[1],misere=True)"]
    done = subprocess.run(
        [sys.executable, "-c", code, *names], capture_output=True, text=True, check=True
    )
    assert done.stdout.rstrip() == " ".join(graphstore.find_game(name).name for name in names)


# (the game of a database, rules, whether these are its rules)
OF_ONE_FILE = [
    ("Wild", "Wild", True),
    ("Wild", "Wild(heap=3)", True),
    ("Wild(False,3)", "Wild", True),  # as earlier versions wrote it
    ("Wild( False, 3 )", "Wild", True),
    ("Wild(False,1)", "Wild(True,1)", False),
    ("Wild(True)", "Wild(1)", False),
    ("Wild", "Free", False),
    ("Wild(heap", "Wild", False),
    ("made(3)", "made(3)", True),
    ("made(3)", "made(4)", False),
]


def test_the_class_and_the_parameters_are_part_of_the_identity_of_rules(rules: Path) -> None:
    for file in ("wild.py", "other.py"):
        (rules / file).write_text(PARAMETERS)

    def law(stored: str, given: str, same: bool) -> None:
        game = graphstore.find_game(f"wild.py:{given}")
        for file in ("wild.py", "other.py"):
            assert are_those_of(game, f"{file}:{stored}", game.rules) is same
        assert not are_those_of(game, f"other.py:{stored}", "another version")

    check_all(OF_ONE_FILE, law)
    loaded = graphstore.find_game("wild.py:Wild(True)")
    wild = type(loaded.game)
    assert are_those_of(accept(wild(True)), "wild.py:Wild(True)", loaded.rules)
    assert are_those_of(loaded, "Wild", accept(wild(True)).rules)
    assert not are_those_of(accept(wild(False)), "wild.py:Wild(True)", loaded.rules)
    assert not are_those_of(loaded, "Wild", accept(wild(False)).rules)
    graphstore.build("wild.py:Wild(False,1)", "wild.db")
    with pytest.warns(RulesDifferWarning, match=r"these rules are wild.py:Wild\(True,1\)"):
        graphstore.Store.open("wild.db", rules="wild.py:Wild(True,1)").close()


def opened(files: list[str], *rules: str) -> list[str]:
    """Return the names of the rules with which `serve` opens files, or "" without rules."""
    with click.Context(serve).scope(), ExitStack() as held:
        stores = all_opened(held, files, rules)
        return [store.game.name if store.has_rules else "" for store in stores]


def test_each_database_gets_the_given_rules_that_fit_it(rules: Path, capsys) -> None:
    (rules / "wild.py").write_text(PARAMETERS)
    games = ["wild.py:Wild", "wild.py:Free(3)", "wild.py:Wild(True)", "tictactoe"]
    files = [graphstore.build(game, f"{n}.db").file for n, game in enumerate(games)]
    first, second, third, _ = games
    said = "graphstore: warning: {} holds {}, so it is opened {} rules, not with {}\n".format

    def law(given: list[str], expected: list[str], warned: str) -> None:
        assert opened(files, *given) == [*expected, "tictactoe"]
        assert capsys.readouterr().err == warned

    check_all(
        [
            (games[:3], games[:3], ""),
            (games[2::-1], games[:3], ""),
            (["take.py:Take", *games[:3]], games[:3], unused("take.py:Take")),
            (
                [second],
                ["", second, ""],
                said("0.db", first, "without", second) + said("2.db", third, "without", second),
            ),
            (
                [first, third],
                [first, "", third],
                said("1.db", second, "without", f"{first}, {third}"),
            ),
        ],
        law,
    )
    assert opened(files[:1], second) == [""]
    assert capsys.readouterr().err == said("0.db", first, "without", second)
    for words in (
        ["show", "0.db"],
        ["line", "0.db"],
        ["sql", "0.db", "SELECT 1"],
        ["verify", "0.db"],
    ):
        for given in (second, third)[: 1 if words[0] == "verify" else 2]:
            done = run(*words, "--rules", given)
            assert (done.returncode, done.stderr) == (0, said("0.db", first, "without", given))
    done = run("show", "3.db", "--rules", first)
    assert (done.returncode, done.stderr) == (0, said("3.db", "tictactoe", "with its own", first))


def unused(rules: str) -> str:
    return f"graphstore: warning: none of these files was built with {rules}\n"


def test_an_installed_package_s_games_are_found_through_entry_points(
    rules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = rules / "takes-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: takes\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[graphstore.games]\ntakes = take:Take\n")
    monkeypatch.syspath_prepend(str(rules))
    assert graphstore.find_game("takes").name == "take:Take"
    for name in ("takes(4)", "takes-4", "takes (heap=4)"):
        assert graphstore.find_game(name).name == "take:Take(4)"
    with pytest.raises(GameNameError, match=r"did you mean takes\?"):
        graphstore.find_game("takess")


def test_a_user_s_game_goes_all_the_way_on_the_command_line(rules: Path) -> None:
    assert run("build", "take.py:Take").returncode == 0
    shown = run("show", "take.db", "(7,1)", "--rules", "take.py:Take")
    assert shown.stderr == ""
    assert "player 1 to move: player 1 wins" in shown.stdout
    assert run("show", "take.db", "(7,1)", GRAPHSTORE_RULES="take.py:Take").stdout == shown.stdout
    verified = run("verify", "take.db", "--rules", "take.py:Take")
    assert (verified.returncode, verified.stderr) == (0, "")
    assert "states and edges against the rules" in verified.stdout
    assert "over: player 1 has won" in run("line", "take.db", "--rules", "take.py:Take").stdout


def test_opening_a_database_runs_no_code_that_it_names(rules: Path) -> None:
    (rules / "evil.py").write_text(RULES + "\nopen('ran', 'a').write('x')\n")
    assert run("build", "evil.py:Take", "--db", "evil.db").returncode == 0
    (rules / "ran").unlink()
    for words in (
        ("show", "evil.db"),
        ("show", "evil.db", "(7, 1)"),
        ("line", "evil.db"),
        ("sql", "evil.db", "SELECT count(*) FROM state"),
        ("stats", "evil.db"),
        ("verify", "evil.db"),
    ):
        done = run(*words)
        assert done.returncode == 0, done.stderr
    with graphstore.Store.open("evil.db") as store, pytest.raises(RulesMissingError):
        _ = store.game
    assert not (rules / "ran").exists()


def test_without_rules_positions_are_found_as_stored_and_a_line_says_so(rules: Path) -> None:
    run("build", "take.py:Take")
    shown = run("show", "take.db", "(5, 1)")
    assert shown.returncode == 0
    assert shown.stderr.splitlines() == [
        "graphstore: take.py:Take is not built in, so only positions as stored are found; "
        "give --rules FILE.py:NAME to read other spellings"
    ]
    with graphstore.Store.open("take.db") as store:
        with pytest.raises(NotInStoreError, match="give --rules to read other spellings"):
            store.probe("(5,1)")
        known = graphstore.Store.open("take.db", rules=graphstore.find_game("take.py:Take"))
        assert store.probe("(5, 1)") == known.probe("(5,1)")
        known.close()


def test_other_rules_than_those_of_the_build_give_a_warning(rules: Path) -> None:
    run("build", "take.py:Take")
    (rules / "take.py").write_text(RULES.replace("3 - position[1]", "1 + position[1] % 2"))
    with pytest.warns(RulesDifferWarning, match="was built by other rules"):
        graphstore.Store.open("take.db", rules=graphstore.find_game("take.py:Take")).close()
    shown = run("show", "take.db", "--rules", "take.py:Take")
    assert shown.returncode == 0
    assert shown.stderr.startswith("graphstore: warning: take.db was built by other rules")
    assert len(shown.stderr.splitlines()) == 1


def test_a_database_that_does_not_verify_with_other_parameters_names_those_of_the_build(
    rules: Path,
) -> None:
    run("build", "take.py:Take(5)", "--db", "take.db")
    done = run("verify", "take.db", "--rules", "take.py:Take")
    assert done.returncode == 1
    assert "give the rules that built it, take.py:Take(5), or rebuild it" in done.stderr


def test_a_database_does_not_verify_with_rules_that_changed(rules: Path) -> None:
    run("build", "take.py:Take")
    (rules / "neighbour.py").write_text("TAKES = (1, 3)\n")
    done = run("verify", "take.db", "--rules", "take.py:Take")
    assert done.returncode == 1
    assert "the rules have no such move" in done.stdout


def test_the_variable_for_rules_leaves_built_in_games_alone(rules: Path) -> None:
    run("build", "tictactoe")
    shown = run("show", "tictactoe.db", GRAPHSTORE_RULES="take.py:Take")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert run("verify", "tictactoe.db", GRAPHSTORE_RULES="nowhere.py:Take").returncode == 0


def test_the_same_rules_under_another_name_give_no_warning(rules: Path) -> None:
    game = graphstore.find_game("take.py:Take")
    graphstore.build(type(game.game)(), "take.db")
    shown = run("show", "take.db", "--rules", "take.py:Take")
    assert (shown.returncode, shown.stderr) == (0, "")


# Files of rules do not mix.

BESIDE = """
import helper
from graphstore import PlainGame
from inside.deep import WHO
from {base} import Base

class Take(Base, PlainGame):
    def start(self):
        return helper.HEAP
    def play(self, heap, take):
        from later import less  # not before a game is played
        return less(heap, take)
    def to_move(self, heap):
        return WHO[heap % 2]
"""
BASE = """
class Base:
    def moves(self, heap):
        return [take for take in (1, {most}) if take <= heap]
    def outcome(self, heap):
        return None if heap else -1
"""


def folder_of_rules(folder: Path, stem: str, base: str, heap: int) -> str:
    """Write rules in several files, each with its own content in each folder."""
    (folder / "inside").mkdir(parents=True)
    (folder / f"{stem}.py").write_text(BESIDE.format(base=base))
    (folder / "helper.py").write_text(f"HEAP = {heap}\n")
    (folder / f"{base}.py").write_text(BASE.format(most=heap))
    (folder / "inside" / "__init__.py").write_text("import helper\nparity = helper.HEAP % 2\n")
    (folder / "inside" / "deep.py").write_text(
        "from . import parity\nWHO = (2 - parity, 1 + parity)"
    )
    (folder / "later.py").write_text(
        "import helper\ndef less(a, b):\n    return (a - b) % (helper.HEAP + 1)\n"
    )
    return f"{folder / stem}.py:Take"


def what_is_played(game: graphstore.Game) -> tuple[int, list[int], list[int], list[int]]:
    start = game.start_states()
    moves = game.expand(start)
    return start[0], moves.move.tolist(), moves.child.tolist(), game.turns(start).tolist()


@pytest.mark.parametrize("base", ["base", "statistics", "yaml", "click"])
@pytest.mark.parametrize("stem", ["rules", "random", "numpy"])
def test_files_of_one_name_in_two_folders_each_have_their_own_neighbours(
    tmp_path: Path, stem: str, base: str
) -> None:
    before, path = {**sys.modules}, [*sys.path]
    names = [folder_of_rules(tmp_path / at, stem, base, heap) for at, heap in (("a", 3), ("b", 4))]
    games = [graphstore.find_game(name) for name in names]
    played = [(3, [1, 3], [2, 0], [2]), (4, [1, 4], [3, 0], [2])]
    assert [what_is_played(game) for game in games] == played
    assert [what_is_played(graphstore.find_game(name)) for name in reversed(names)] == played[::-1]
    assert [what_is_played(game) for game in games] == played
    assert sys.path == path
    assert all(sys.modules[name] is module for name, module in before.items())
    assert not {"helper", "inside", "later"} & sys.modules.keys() - before.keys()


def test_rules_that_are_called_like_a_library_can_import_it(tmp_path: Path) -> None:
    (tmp_path / "random.py").write_text("from random import Random\nfrom aid import *" + RULES)
    (tmp_path / "aid.py").write_text("import random\nrandom.Random\n")
    (tmp_path / "neighbour.py").write_text("TAKES = (1, 2)\n")
    assert graphstore.find_game(f"{tmp_path}/random.py:Take").start_states().shape == (1,)


@pytest.mark.parametrize("file", ["helper.py", "base.py", "later.py", "inside/__init__.py"])
def test_a_file_that_changed_is_loaded_as_it_is_now_and_an_old_game_as_it_was(
    tmp_path: Path, file: str
) -> None:
    name = folder_of_rules(tmp_path, "rules", "base", 3)
    old = graphstore.find_game(name)
    digest, before = old.rules, what_is_played(old)
    text = (tmp_path / file).read_text()
    changes = {"(1, 3)": "(1, 2)", "% 2": "% 1", "(a - b)": "(a - b - 1)", "= 3": "= 5"}
    for change in changes.items():
        text = text.replace(*change)
    (tmp_path / file).write_text(text)
    new = graphstore.find_game(name)
    assert what_is_played(new) != before
    assert new.rules != digest
    assert (what_is_played(old), old.rules) == (before, digest)


def test_a_game_of_a_file_is_pickled_for_another_process(tmp_path: Path) -> None:
    names = [
        folder_of_rules(tmp_path / at, "rules", "base", heap) for at, heap in (("a", 3), ("b", 4))
    ]
    games = [graphstore.find_game(name) for name in names]
    code = (
        "import pickle, sys, graphstore\n"
        "for game in pickle.load(sys.stdin.buffer): print(game.start_states()[0], game.rules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=pickle.dumps(games), capture_output=True, check=True
    )
    assert done.stdout.decode().split() == ["3", games[0].rules, "4", games[1].rules]


# The digest of rules.


def test_a_change_of_any_imported_module_in_the_folder_gives_a_warning(
    tmp_path: Path,
) -> None:
    name = folder_of_rules(tmp_path, "rules", "base", 3)
    (tmp_path / "unused.py").write_text("")
    graphstore.build(name, tmp_path / "take.db")
    files = sorted(tmp_path.rglob("*.py"))
    assert len(files) == 7
    for file in files:
        source = file.read_text()
        inside = source.replace("    def start", "    extra = 0\n    def start")
        file.write_text(inside if file.stem == "rules" else f"extra = 0\n{source}")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            graphstore.Store.open(tmp_path / "take.db", rules=graphstore.find_game(name)).close()
        wanted = [] if file.name == "unused.py" else [RulesDifferWarning]
        assert [warning.category for warning in caught] == wanted, file
        file.write_text(source)


CODE = '''
from starred import *
import neighbour, shared
from graphstore import PlainGame
from neighbour import TAKES as ALL, OTHERS
STEP = 1
TABLE = {}
TABLE["most"] = 2
def less(heap, take):
    """A docstring."""
    return heap - take * STEP
def fill():
    SQUARES.update({each: each**2 for each in range(2)})
SQUARES = {}
fill()
class Base(PlainGame):
    def outcome(self, heap):
        return None if heap else -SQUARES[1] + DEPTH - DEPTH
class Take(Base):
    def __init__(self, heap=7):
        self.heap, self.asked, self.seen = heap, {}, None
    def start(self):
        return self.heap
    def moves(self, heap):
        return [take for take in ALL if take <= min(heap, TABLE["most"])]
    def play(self, heap, take):
        self.asked[heap] = take
        return less(heap, take)
class Unused(PlainGame):
    def start(self):
        return shared.START
repr(Take())
'''


@for_all(
    ("file", "old", "new", "same"),
    [
        ("take.py", "STEP = 1", "STEP = 1  # a comment\n\n", True),
        ("take.py", "A docstring.", "Another docstring.", True),
        ("take.py", "\n", "\r\n", True),
        ("take.py", "heap - take * STEP", "(heap-take*STEP)", True),
        ("take.py", "shared.START", "shared.START + 1", True),
        ("take.py", "class Unused", "class Renamed", True),
        ("take.py", "TAKES as ALL, OTHERS", "TAKES as ALL", True),
        ("shared.py", "START = 1", "START = 2", True),
        ("neighbour.py", "TAKES", "# a comment\nTAKES", True),
        ("take.py", "STEP = 1", "STEP = 2", False),
        ("take.py", '["most"] = 2', '["most"] = 3', False),
        ("take.py", "heap - take", "heap - 2 * take", False),
        ("take.py", "if heap else -", "if heap else ", False),
        ("take.py", "heap=7", "heap=8", False),
        ("neighbour.py", "(1, 2)", "(1, 3)", False),
        ("take.py", "import TAKES as ALL, OTHERS", "import *\nALL = TAKES", False),
        ("starred.py", "DEPTH = 3", "DEPTH = 4", False),
        ("take.py", "range(2)", "range(3)", False),
        ("take.py", "less(heap, take):", "less(heap: int, take: int) -> int:", True),
        ("take.py", "repr(Take())", "for game in (Take(), Take(8)):\n    repr(game)", True),
    ],
)
def test_the_digest_is_that_of_the_code_that_the_rules_use(
    tmp_path: Path, file: str, old: str, new: str, same: bool
) -> None:
    (tmp_path / "take.py").write_text(CODE)
    (tmp_path / "neighbour.py").write_text("TAKES = (1, 2)\nOTHERS = ()\n")
    (tmp_path / "starred.py").write_text("DEPTH = 3\n")
    (tmp_path / "shared.py").write_text("START = 1\n")
    before = graphstore.find_game(f"{tmp_path}/take.py:Take").rules
    source = (tmp_path / file).read_text()
    assert old in source
    (tmp_path / file).write_bytes(source.replace(old, new).encode())
    assert (graphstore.find_game(f"{tmp_path}/take.py:Take").rules == before) == same


def test_parameters_belong_to_the_digest_however_they_are_given(tmp_path: Path) -> None:
    (tmp_path / "take.py").write_text(CODE)
    (tmp_path / "neighbour.py").write_text("TAKES, OTHERS = (1, 2), ()\n")
    (tmp_path / "starred.py").write_text("DEPTH = 3\n")
    (tmp_path / "shared.py").touch()
    names = ("Take", "Take()", "Take(7)", "Take(5)")
    games = [graphstore.find_game(f"{tmp_path}/take.py:{name}") for name in names]
    assert games[0].rules == games[1].rules == games[2].rules != games[3].rules
    game = type(games[3].game)(heap=5)
    graphstore.build(game, tmp_path / "take.db")
    assert accept(game).rules == games[3].rules


@dataclass
class Settings:
    heap: int


class Set(Countdown):
    def __init__(self, value: object) -> None:
        self.value, self.asked, self.seen = value, 0, {}  # type: ignore[var-annotated]

    def outcome(self, heap: int) -> int | None:
        self.asked += 1
        self.seen[heap] = True
        return super().outcome(heap)


def around(heap: int) -> type[Countdown]:
    class Inner(Countdown):
        def start(self) -> int:
            return heap

    return Inner


@for_all(
    ("one", "other"),
    [
        ([5], [7]),
        ({"a": 5}, {"a": 7}),
        ({5}, {7}),
        (Settings(5), Settings(7)),
        (np.arange(5), np.arange(7)),
        (np.int64(5), np.int64(7)),
        (range(5), range(7)),
        (len, abs),
    ],
)
def test_all_values_are_parameters_and_what_play_sets_is_not(one: Any, other: Any) -> None:
    game = Set(one)
    before = accept(game).rules
    graphstore.explore(game)
    assert game.asked == len(game.seen)
    assert accept(game).rules == accept(Set(copy.copy(one))).rules == before
    assert accept(Set(other)).rules != before


def test_a_function_around_a_class_gives_parameters() -> None:
    assert accept(around(5)()).rules == accept(around(5)()).rules != accept(around(7)()).rules


def test_a_parameter_that_changed_makes_other_rules() -> None:
    game = Set(5)
    before = accept(game)
    game.value = 7
    assert accept(game).rules == accept(Set(7)).rules != before.rules


def test_without_a_file_the_parameters_are_told_apart() -> None:
    lines = "class K(Countdown):\n    def __init__(self, heap):\n        self.heap = heap"
    made = {"Countdown": Countdown, "__name__": "__main__"}
    exec(lines, made)  # noqa: S102  # as in a notebook
    digests = [accept(made["K"](heap)).rules for heap in (5, 7)]  # type: ignore[operator]
    assert digests[0] != digests[1]


def test_rules_without_neighbours_had_the_digest_of_their_file(tmp_path: Path) -> None:
    file = tmp_path / "alone.py"
    file.write_text(RULES.replace("from neighbour import TAKES", "TAKES = (1, 2)"))
    digest = blake2b(file.read_bytes(), digest_size=8).hexdigest()
    assert graphstore.find_game(f"{file}:Take").rules_before == [digest] * 2


def test_a_database_with_the_digest_of_files_as_older_versions_made_it_draws_no_warning(
    tmp_path: Path, run
) -> None:
    name = folder_of_rules(tmp_path, "rules", "base", 3)
    game = graphstore.find_game(name)
    assert len({game.rules, *game.rules_before}) == 3
    for before in game.rules_before:
        game.rules = before
        graphstore.build(game, tmp_path / "take.db", below=["2"], force=True)
        shown = run("show", tmp_path / "take.db", "--rules", name)
        assert (shown.returncode, shown.stderr) == (0, "")
    assert run("build", name, "--db", tmp_path / "take.db", "--from", "3").returncode == 0
    with graphstore.Store.open(tmp_path / "take.db") as store:
        assert (store.info["starts"], store.info["rules"]) == (2, graphstore.find_game(name).rules)


def test_one_game_has_one_digest_however_it_is_imported(tmp_path: Path) -> None:
    package = tmp_path / "games"
    folder_of_rules(package, "base", "rules", 3)
    (package / "__init__.py").touch()
    (package / "neighbour.py").write_text("TAKES = (1, 2)\n")
    source = "from .helper import *\nfrom games.rules import Base\n" + RULES
    (package / "take.py").write_text(source.replace("from neighbour", "from .neighbour"))
    code = "import graphstore, sys; print(*(graphstore.find_game(x).rules for x in sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", code, "games.take:Take", f"{package}/take.py:Take"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        capture_output=True,
        text=True,
        check=True,
    )
    one, other = done.stdout.split()
    assert one == other != blake2b((package / "take.py").read_bytes(), digest_size=8).hexdigest()


# Threads.


class Busy(graphstore.PlainGame):
    """Rules that detect a second thread."""

    inside = most = 0

    def _asked(self):
        kind = type(self)
        kind.inside += 1
        kind.most = max(kind.most, kind.inside)
        time.sleep(0.001)  # so that another thread would come in
        kind.inside -= 1

    def start(self):
        return 40

    def moves(self, heap):
        self._asked()
        return [take for take in (1, 2) if take <= heap]

    def play(self, heap, take):
        return heap - take

    def outcome(self, heap):
        return None if heap else -1

    def parse(self, text):
        self._asked()
        return int(text)

    def board(self, position):
        self._asked()
        return str(position)

    def write_move(self, move):
        self._asked()
        return f"take-{move}"

    def read_move(self, text):
        return int(text.removeprefix("take-"))


class BusyArrays(type(graphstore.find_game("subtraction(40,1,2)"))):
    """The same for rules in arrays, where a user may write every verb."""

    inside = most = 0
    _asked = Busy._asked
    rules = "mine"
    write_move, read_move = Busy.write_move, Busy.read_move

    def canonical(self, positions):
        self._asked()
        return super().canonical(positions)

    def board(self, position):
        self._asked()
        return super().board(position)


@pytest.mark.parametrize(
    "game",
    some_of([BusyArrays("mine", start=40, takes=[1, 2], misere=False), Busy()], 2),
    ids=lambda game: type(game).__name__,
)
def test_rules_of_users_run_in_one_thread_at_a_time(game, tmp_path: Path) -> None:
    graphstore.build(game, tmp_path / "heap.db")
    pages = [
        "/heap.json?sql=select+board(id),+canonical(position)+from+state+limit+9",
        "/heap/edge?_size=9",
        "/-/explore/heap/9",
        "/-/explore/heap/8",
    ]
    kind = type(game)
    kind.most = 0
    with graphstore.Store.open(tmp_path / "heap.db", rules=game) as store:
        explorer = application([store])

        def ask(number: int) -> int:
            if number % 3:
                return len(store.probe(str(number % 30 + 2)).moves)
            return asyncio.run(explorer.client.get(pages[number // 3 % len(pages)])).status_code

        with ThreadPoolExecutor(6) as threads:
            assert {*threads.map(ask, range(48))} == {2, 200}
        explorer.close()
    assert kind.most == 1
