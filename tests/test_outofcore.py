"""A game is built out of core as it is built in memory; what is stopped goes on."""

import json
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest
from conftest import GRAPHSTORE, TableGame, error_line, graphstore

from graphstore import Folder, Store, build, build_folder, build_out_of_core, compare
from graphstore.errors import (
    PositionError,
    RulesError,
    StoreError,
    StoreExistsError,
    TooLargeError,
)
from graphstore.parts import steps

SLOW_RULES = """
import pathlib, time
from graphstore import PlainGame

class Slow(PlainGame):
    def start(self):
        return 40
    def moves(self, heap):
        while heap < 30 and pathlib.Path("wait").exists():
            pathlib.Path("reached").touch()
            time.sleep(0.01)
        return [take for take in (1, 2) if take <= heap]
    def play(self, heap, take):
        return heap - take
    def outcome(self, heap):
        return -1 if heap == 0 else None
"""


def same(first, second):
    with Store.open(first) as one, Store.open(second) as other:
        return compare(one, other, rows=True).same


@pytest.mark.parametrize("options", [(), ("--parts", 3), ("--memory", "256MB")])
def test_a_database_built_out_of_core_holds_the_same_game(
    run, tmp_path, monkeypatch, tictactoe_db, options
):
    monkeypatch.chdir(tmp_path)
    done = run("build", "tictactoe", "--out-of-core", *options, "--json")
    assert done.returncode == 0, done
    assert json.loads(done.stdout)["file"] == "tictactoe.db"
    assert [path.name for path in tmp_path.iterdir()] == ["tictactoe.db"]
    assert same("tictactoe.db", tictactoe_db)
    assert run("verify", "tictactoe.db").returncode == 0


def test_positions_to_begin_from_are_as_in_memory(tmp_path):
    below = ["XO./.X./...", "XOX/.../..."]
    build("tictactoe", tmp_path / "memory.db", below=below)
    build_out_of_core("tictactoe", tmp_path / "parts.db", below=below, parts=2)
    assert same(tmp_path / "memory.db", tmp_path / "parts.db")
    with Store.open(tmp_path / "parts.db") as store:
        assert store.info["extent"] == "below"


def test_a_postgresql_schema_is_built_the_same(server, tmp_path, monkeypatch, tictactoe_db):
    monkeypatch.chdir(tmp_path)
    report = build_out_of_core("tictactoe", server, force=True)
    assert list(tmp_path.iterdir()) == []
    assert same(report.file, tictactoe_db)


def test_a_folder_is_all_or_nothing_and_replaced_only_by_force(run, tmp_path):
    folder = tmp_path / "game"
    assert run("build", "tictactoe", "--folder", folder).returncode == 0
    before = Folder.open(folder).info
    assert "--force" in error_line(run("build", "nim(1,2)", "--folder", folder))
    assert Folder.open(folder).info == before
    assert "more than 3 states" in error_line(
        run("build", "connect(4,4)", "--folder", folder, "--force", "--max-states", 3)
    )
    assert Folder.open(folder).info == before
    assert run("build", "connect(6,2)", "--folder", folder, "--force").returncode == 0
    assert Folder.open(folder).info["name"] == "connect(6,2)"


def test_what_was_begun_is_told_from_what_is_there(run, tmp_path):
    folder = tmp_path / "game"
    error_line(run("build", "tictactoe", "--folder", folder, "--max-states", 5))
    with pytest.raises(StoreError, match="not finished; give the command"):
        Folder.open(folder)
    assert "begun for tictactoe" in error_line(run("build", "nim(1,2)", "--folder", folder))
    assert run("build", "tictactoe", "--folder", folder).returncode == 0


def test_other_folders_and_files_are_left_alone(run, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").touch()
    (tmp_path / "file").touch()
    for name in ("full", "file"):
        done = run("build", "tictactoe", "--folder", tmp_path / name, "--force")
        assert "no game in parts; name another" in error_line(done)
    assert "make it first" in error_line(run("build", "nim(1)", "--folder", tmp_path / "no" / "x"))
    (tmp_path / "empty").mkdir()
    assert run("build", "nim(1)", "--folder", tmp_path / "empty").returncode == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--folder", "x", "--db", "y"), "--folder writes no database"),
        (("--folder", "x", "--drop-agents"), "--folder writes no database"),
        (("--memory", "4GB"), "are for --out-of-core"),
        (("--parts", "4"), "are for --out-of-core"),
        (("--out-of-core", "--memory", "much"), "not a size"),
        (("--out-of-core", "--memory", "-1GB"), "not a size"),
        (("--out-of-core", "--parts", "0"), "not in the range"),
    ],
)
def test_wrong_usage_is_said(run, words, says):
    assert says in error_line(run("build", "tictactoe", *words), 2)


def test_too_little_memory_is_refused(run, tmp_path):
    done = run("build", "nim(1)", "--folder", tmp_path / "x", "--memory", "100MB")
    assert "100 MB is too little memory" in error_line(done)


@pytest.mark.parametrize(("text", "size"), [("4GB", 4 * 10**9), ("1.5 GiB", 3 * 2**29), ("7", 7)])
def test_sizes_are_read_as_people_write_them(text, size):
    from graphstore.commands.options import SIZE

    assert SIZE.convert(text, None, None) == size


def test_a_database_that_is_there_is_refused_before_the_work(tmp_path, copy):
    with pytest.raises(StoreExistsError, match="--force"):
        build_out_of_core("connect(6,4)", copy)


def test_what_the_rules_get_wrong_is_said_as_in_memory(tmp_path):
    class Twice(TableGame):
        def to_move(self, position):
            return 1

    game = Twice({0: {0: 1}, 1: {0: 2}, 2: -1}, 0)
    for build_it in (build, build_out_of_core):
        with pytest.raises(RulesError, match="player 1 moves at 0 and, after move 0, again at 1"):
            build_it(game, tmp_path / "x.db")
    with pytest.raises(RulesError, match="0 has no move and no result"):
        build_folder(TableGame({0: {}}, 0), tmp_path / "y")
    with pytest.raises(TooLargeError, match="more than 2 states"):
        build_folder("tictactoe", tmp_path / "z", max_states=2)
    with pytest.raises(PositionError):
        build_folder("tictactoe", tmp_path / "q", below=["what"])


def test_a_build_that_was_interrupted_goes_on_and_does_nothing_twice(tmp_path):
    (tmp_path / "slow.py").write_text(SLOW_RULES)
    (tmp_path / "wait").touch()
    command = [*GRAPHSTORE, "build", "slow.py", "--out-of-core"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as begun:
        while not (tmp_path / "reached").exists():
            assert begun.poll() is None
            time.sleep(0.01)
        begun.send_signal(signal.SIGINT)
        _, said = begun.communicate(timeout=60)
    assert begun.returncode == 130
    assert "the same command goes on" in said
    draft = tmp_path / ".slow.db.parts.building"
    done = sorted((draft / "work" / "done").glob("explore-*"))
    assert done
    records = {path: path.stat().st_mtime_ns for path in done}
    assert not (tmp_path / "slow.db").exists()
    (tmp_path / "wait").unlink()

    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as again:
        while again.poll() is None and draft.exists():  # what was done is not done again
            for path, written in records.items():
                with suppress(FileNotFoundError):  # at the end all of it is removed
                    assert path.stat().st_mtime_ns == written
        out, _ = again.communicate(timeout=60)
    assert re.search(r"states +41\n", out)
    assert {path.name for path in tmp_path.glob("*.*")} == {"slow.py", "slow.db"}
    build(f"{tmp_path / 'slow.py'}", tmp_path / "memory.db")
    assert same(tmp_path / "memory.db", tmp_path / "slow.db")


def test_a_database_that_could_not_be_loaded_keeps_its_parts(tmp_path, monkeypatch):
    calls = []
    explore = steps.explore
    monkeypatch.setattr(steps, "explore", lambda *job: calls.append(job[1:3]) or explore(*job))
    target = tmp_path / "sub" / "game.db"
    target.parent.mkdir()
    (tmp_path / "sub" / ".game.db.building").mkdir()  # so that no draft can be written
    with pytest.raises(StoreError):
        build_out_of_core("connect(6,2)", target)
    first = len(calls)
    assert first > 0
    (tmp_path / "sub" / ".game.db.building").rmdir()
    with pytest.raises(StoreError, match="from another build; load it"):
        build_out_of_core("tictactoe", target)
    build_out_of_core("connect(6,2)", target)
    assert len(calls) == first
    assert [path.name for path in target.parent.iterdir()] == ["game.db"]


def test_two_builds_of_one_folder_do_not_meet(tmp_path):
    (tmp_path / "slow.py").write_text(SLOW_RULES)
    (tmp_path / "wait").touch()
    command = [*GRAPHSTORE, "build", "slow.py", "--folder", "game"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL) as begun:
        while not (tmp_path / "reached").exists():
            time.sleep(0.01)
        done = graphstore("build", "slow.py", "--folder", "game", cwd=tmp_path)
        assert "another build is writing" in error_line(done)
        (tmp_path / "wait").unlink()
        assert begun.wait(60) == 0
    assert Folder.open(tmp_path / "game").info["states"] == 41


@pytest.mark.parametrize("command", ["show", "verify", "play", "train", "serve", "stats", "line"])
def test_commands_that_need_a_database_say_what_a_folder_is_for(run, tmp_path, command):
    build_folder("nim(1)", tmp_path / "game")
    assert "is a game in parts" in error_line(run(command, tmp_path / "game"))


def test_extra_packages_that_are_missing_are_named(run, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    done = run("build", "tictactoe", "--folder", tmp_path / "x")
    assert "pip install pyarrow" in error_line(done)
    assert list(tmp_path.iterdir()) == []
