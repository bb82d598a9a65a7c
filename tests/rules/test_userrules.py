"""A stranger's rules build, show, verify and play a line with no change to the package."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import graphstore
from graphstore.errors import GameNameError, NotInStoreError, RulesDifferWarning, RulesMissingError

RULES = '''
from dataclasses import dataclass
from graphstore import PlainGame
from neighbour import TAKES

class Take(PlainGame):
    """Take one or two; who takes the last wins."""
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
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    return tmp_path


def run(*words: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "graphstore", *words],
        capture_output=True,
        text=True,
        env=os.environ | environment,
    )


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
        ("take.py", "say which game of take.py you mean, take.py:NAME; it defines Take, Other"),
        ("take.py:NO_GAME", "take.py:NO_GAME is no game; subclass graphstore.PlainGame"),
        ("take.py:Take(heap)", "'take.py:Take(heap)': parameters are Python literals"),
        ("take.py:Take(1, 2)", "take.py:Take(1, 2) cannot be made: TypeError"),
        ("broken.py:X", "broken.py, line 1: "),
        ("raises.py:X", "raises.py cannot be loaded: ZeroDivisionError: division by zero"),
        ("no_such_module:X", "no_such_module cannot be loaded: ModuleNotFoundError"),
        (":", "':' is not of the form"),
        ("take.py:", "there is no file"),
    ],
)
def test_what_cannot_be_loaded_is_refused_in_one_line(rules: Path, name: str, message: str) -> None:
    (rules / "broken.py").write_text("class X(:\n")
    (rules / "raises.py").write_text("1 / 0\n")
    with pytest.raises(GameNameError) as raised:
        graphstore.find_game(name)
    if name != "take.py:":
        assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_an_installed_package_s_games_are_found_through_entry_points(
    rules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = rules / "takes-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: takes\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[graphstore.games]\ntakes = take:Take\n")
    monkeypatch.syspath_prepend(str(rules))
    assert graphstore.find_game("takes").name == "take:Take"
    assert graphstore.find_game("takes(4)").name == "take:Take(4)"


def test_a_user_s_game_goes_all_the_way_on_the_command_line(rules: Path) -> None:
    assert run("build", "take.py:Take").returncode == 0
    shown = run("show", "take.db", "(7,1)", "--rules", "take.py:Take")
    assert shown.stderr == ""
    assert "player 1 to move: player 1 wins" in shown.stdout
    assert run("show", "take.db", "(7,1)", GRAPHSTORE_RULES="take.py:Take").stdout == shown.stdout
    verified = run("verify", "take.db", "--rules", "take.py:Take")
    assert (verified.returncode, verified.stderr) == (0, "")
    assert "states and edges from the rules" in verified.stdout
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
        "graphstore: take.py:Take is not built in; without --rules FILE.py:NAME, "
        "positions are found only as they are stored"
    ]
    with graphstore.Store.open("take.db") as store:
        with pytest.raises(NotInStoreError, match="the rules are needed"):
            store.probe("(5,1)")
        known = graphstore.Store.open("take.db", rules=graphstore.find_game("take.py:Take"))
        assert store.probe("(5, 1)") == known.probe("(5,1)")
        known.close()


def test_other_rules_than_it_was_built_by_are_warned_of(rules: Path) -> None:
    run("build", "take.py:Take")
    (rules / "take.py").write_text(RULES + "# another line\n")
    with pytest.warns(RulesDifferWarning, match="was built by other rules"):
        graphstore.Store.open("take.db", rules=graphstore.find_game("take.py:Take")).close()
    shown = run("show", "take.db", "--rules", "take.py:Take")
    assert shown.returncode == 0
    assert shown.stderr.startswith("graphstore: warning: take.db was built by other rules")
    assert len(shown.stderr.splitlines()) == 1


def test_rules_that_changed_what_they_say_do_not_verify(rules: Path) -> None:
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


def test_the_same_rules_under_another_name_are_not_warned_of(rules: Path) -> None:
    game = graphstore.find_game("take.py:Take")
    graphstore.build(type(game)(), "take.db")
    shown = run("show", "take.db", "--rules", "take.py:Take")
    assert (shown.returncode, shown.stderr) == (0, "")
