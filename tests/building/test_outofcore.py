"""A game built out of core is the game built in memory; a stopped build resumes."""

import json
import random
import re
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from functools import wraps
from itertools import product

import postgresql
import pytest
from conftest import GRAPHSTORE, SLOW, TableGame, error_line, graphstore, some_of

from graphstore import Folder, Store, build, build_folder, build_out_of_core, compare, find_game
from graphstore.building.parts import build as building
from graphstore.building.parts import draft as drafts
from graphstore.building.parts import steps
from graphstore.building.parts.build import build as build_in_parts
from graphstore.building.parts.work import BlockId
from graphstore.building.parts.workers import OwnProcess
from graphstore.errors import (
    NewerStoreError,
    PositionError,
    RulesError,
    StoreError,
    StoreExistsError,
    TooLargeError,
)
from graphstore.store.folder.layout import FORMAT, draft_of

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


@pytest.mark.parametrize("options", [(), ("--parts", 3), ("--memory", "400MB")])
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
    report = build_out_of_core("tictactoe", postgresql.place(server))
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


def test_an_unfinished_folder_is_refused_and_resumed_only_with_the_same_options(run, tmp_path):
    folder = tmp_path / "game"
    error_line(run("build", "tictactoe", "--folder", folder, "--max-states", 5))
    with pytest.raises(StoreError, match="not finished; run the same command again to resume"):
        Folder.open(folder)
    assert "begun with other options (name tictactoe, not nim(1,2)" in error_line(
        run("build", "nim(1,2)", "--folder", folder)
    )
    assert run("build", "tictactoe", "--folder", folder).returncode == 0


def test_a_folder_of_a_newer_version_is_left_to_it_but_a_damaged_one_is_replaced(tmp_path):
    folder = tmp_path / "game"
    build_folder("nim(1,2)", folder)
    manifest = folder / "game.json"
    newer = manifest.read_text().replace(f'"format": {FORMAT}', '"format": 99')
    manifest.write_text(newer)
    with pytest.raises(NewerStoreError, match="a newer graphstore wrote"):
        build_folder("nim(1,2)", folder, force=True)
    assert manifest.read_text() == newer
    manifest.write_text("{")
    assert build_folder("nim(1,2)", folder, force=True).game == "nim(1,2)"


def test_other_folders_and_files_are_left_alone(run, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").touch()
    (tmp_path / "file").touch()
    (tmp_path / "their game").mkdir()
    (tmp_path / "their game" / "game.json").write_text('{"format": 1, "title": "Chess"}')
    for name in ("full", "file", "their game"):
        done = run("build", "tictactoe", "--folder", tmp_path / name, "--force")
        assert "is not a game in parts; choose another" in error_line(done)
    assert "create it first" in error_line(
        run("build", "nim(1)", "--folder", tmp_path / "no" / "x")
    )
    (tmp_path / "empty").mkdir()
    assert run("build", "nim(1)", "--folder", tmp_path / "empty").returncode == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--folder", "x", "--db", "y"), "--folder does not write a database"),
        (("--folder", "x", "--drop-agents"), "--folder does not write a database"),
        (("--memory", "4GB"), "need --out-of-core"),
        (("--parts", "4"), "need --out-of-core"),
        (("--out-of-core", "--memory", "much"), "not a size"),
        (("--out-of-core", "--memory", "-1GB"), "not a size"),
        (("--out-of-core", "--parts", "0"), "not in the range"),
    ],
)
def test_wrong_usage_is_reported(run, words, says):
    assert says in error_line(run("build", "tictactoe", *words), 2)


def test_too_little_memory_is_refused(run, tmp_path):
    done = run("build", "nim(1)", "--folder", tmp_path / "x", "--memory", "100MB")
    assert "100 MB is too little memory" in error_line(done)


@pytest.mark.parametrize(("text", "size"), [("4GB", 4 * 10**9), ("1.5 GiB", 3 * 2**29), ("7", 7)])
def test_sizes_are_read_with_units(text, size):
    from graphstore.cli import options

    assert options.size(text) == size


def test_a_database_that_is_there_is_refused_before_the_work(tmp_path, copy):
    with pytest.raises(StoreExistsError, match="--force"):
        build_out_of_core("connect(6,4)", copy)


def test_wrong_rules_give_the_same_errors_as_in_memory(tmp_path):
    for build_it in (build, build_folder):
        with pytest.raises(RulesError, match="0 has no move and no result"):
            build_it(TableGame({0: {}}, 0), tmp_path / "y")
    with pytest.raises(TooLargeError, match="more than 2 states"):
        build_folder("tictactoe", tmp_path / "z", max_states=2)
    with pytest.raises(PositionError):
        build_folder("tictactoe", tmp_path / "q", below=["what"])


@SLOW
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
    assert "run the same command again" in said
    draft = tmp_path / ".slow.db.parts.building"
    done = sorted(draft.rglob("explore_block/*/*.json"))
    assert done
    records = {path: path.stat().st_mtime_ns for path in done}
    assert not (tmp_path / "slow.db").exists()
    (tmp_path / "wait").unlink()

    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as again:
        while again.poll() is None and draft.exists():  # no step that is done is taken again
            for path, written in records.items():
                with suppress(FileNotFoundError):  # the draft is removed at the end
                    assert path.stat().st_mtime_ns == written
        out, _ = again.communicate(timeout=60)
    assert re.search(r"states +41\n", out)
    assert {path.name for path in tmp_path.glob("*.*")} == {"slow.py", "slow.db"}
    build(f"{tmp_path / 'slow.py'}", tmp_path / "memory.db")
    assert same(tmp_path / "memory.db", tmp_path / "slow.db")


def test_a_database_that_could_not_be_loaded_keeps_its_parts(tmp_path, monkeypatch):
    calls = []
    explore = steps.explore_block

    @wraps(explore)
    def noted(build, at):
        calls.append(at)
        return explore(build, at)

    monkeypatch.setattr(steps, "explore_block", noted)
    target = tmp_path / "sub" / "game.db"
    target.parent.mkdir()
    (tmp_path / "sub" / ".game.db.building").mkdir()  # so that no draft can be written
    with pytest.raises(StoreError):
        build_out_of_core("connect(6,2)", target)
    first = len(calls)
    assert first > 0
    (tmp_path / "sub" / ".game.db.building").rmdir()
    with pytest.raises(StoreError, match="holds another build; load it"):
        build_out_of_core("tictactoe", target)
    build_out_of_core("connect(6,2)", target)
    assert len(calls) == first
    assert [path.name for path in target.parent.iterdir()] == ["game.db"]


class Dies(OwnProcess):
    """A worker that stops after some steps."""

    def __init__(self, steps_left):
        self.left = steps_left

    def run(self, calls, homes=()):
        for number, (step, *call) in enumerate(calls):
            if not self.left:
                raise KeyboardInterrupt
            self.left -= 1
            yield number, step(*call)


def begun(folder, steps_left, game="tictactoe", **options):
    """Begin a build that stops after some steps; return the path of its draft."""
    with pytest.raises(KeyboardInterrupt):
        build_in_parts(find_game(game), folder, workers=Dies(steps_left), parts=2, **options)
    (path,) = (each for each in draft_of(folder).iterdir() if each.is_dir())
    return path


@pytest.mark.parametrize(
    ("damage", "after"),
    [("edge/wave-0003", 46), ("state/wave-0009", 46), ("work/states/0004/0001*", 22)],
)
def test_a_missing_file_in_a_stopped_build_gives_no_wrong_result(run, tmp_path, damage, after):
    path = begun(tmp_path / "game", after)
    assert [*path.glob(damage)]
    for each in path.glob(damage):
        shutil.rmtree(each) if each.is_dir() else each.unlink()
    done = run("build", "tictactoe", "--folder", tmp_path / "game", "--parts", 2)
    assert f"remove {draft_of(tmp_path / 'game')} and begin again" in error_line(done)
    shutil.rmtree(draft_of(tmp_path / "game"))
    again = run("build", "tictactoe", "--folder", tmp_path / "game", "--parts", 2)
    assert again.returncode == 0


@pytest.mark.parametrize(
    ("name", "contents"),
    some_of(
        product(
            ("plan.json", "*/*3/0000.json", "states/*3/0000*"),
            (b"", b"{}", b"[1,2]", b"00000000{}", b'{"parts": 1}', b"PK"),
        ),
        5,
    ),
)
def test_damaged_files_in_a_stopped_build_give_no_wrong_result(
    tictactoe_db, tmp_path, name, contents
):
    folder = tmp_path / "game"
    begun(folder, 13)
    files = [*draft_of(folder).rglob(name)]
    assert files
    for each in files:
        each.write_bytes(contents)
    try:
        build_folder("tictactoe", folder, parts=2)
    except StoreError as error:
        assert "and begin again" in str(error)  # noqa: PT017
        shutil.rmtree(draft_of(folder))
        build_folder("tictactoe", folder, parts=2)
    with Store.open(tictactoe_db) as store:
        assert Folder.open(folder).info["digest"] == store.info["digest"]


def flip(file, chance):
    """Change one bit of a file."""
    wrong = bytearray(file.read_bytes())
    wrong[chance.randrange(len(wrong))] ^= 1 << chance.randrange(8)
    file.write_bytes(wrong)


@pytest.mark.parametrize("game", ["tictactoe", "nim(2,2,3)"])  # solved by waves, and in rounds
@pytest.mark.parametrize("after", some_of([9, 17, 24, 31, "solved", "complete"], 2))
def test_a_flipped_bit_in_any_file_of_a_stopped_build_gives_the_right_game_or_one_line(
    tmp_path, monkeypatch, game, after
):
    build_folder(game, tmp_path / "right")
    right = Folder.open(tmp_path / "right").info["digest"]
    folder, chance = tmp_path / "game", random.Random(f"{game} {after}")

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        if after == "solved":
            patch.setattr(building, "write_manifest", killed)
        if after == "complete":
            patch.setattr(drafts, "sync_all", killed)
        begun(folder, after if isinstance(after, int) else -1, game)
    draft = draft_of(folder)
    files = [each for each in draft.rglob("*") if each.is_file() and each.stat().st_size]
    refused = 0
    for file in some_of(sorted(files)[::5], 3):
        shutil.copytree(draft, tmp_path / "kept")
        flip(file, chance)
        try:
            build_folder(game, folder, parts=2)
            assert Folder.open(folder).info["digest"] == right
        except StoreError as error:
            refused += 1
            said = str(error)
            plan = file.name == "plan.json" and "begun with other options" in said
            assert plan or f"{file} is damaged; remove {draft} and begin again" in said
        shutil.rmtree(draft, ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.move(tmp_path / "kept", draft)
    assert refused


def test_a_flipped_bit_in_a_folder_that_waits_to_be_loaded_is_refused(run, tmp_path):
    (tmp_path / ".game.db.building").mkdir()  # so that no draft of the database can be written
    words = ("build", "nim(1,2)", "--out-of-core", "--db", tmp_path / "game.db")
    error_line(run(*words))
    (tmp_path / ".game.db.building").rmdir()
    folder, chance = tmp_path / "game.db.parts", random.Random(1)
    assert not Folder.open(folder).digests
    for file in [each for each in folder.rglob("*") if each.is_file()]:
        right = file.read_bytes()
        flip(file, chance)
        for command in (("load", folder, "--db", tmp_path / "other.db"), words):
            assert f"{file}" in error_line(run(*command))
        file.write_bytes(right)
    assert run(*words).returncode == 0


@pytest.mark.parametrize("old", [{"version": 1}, {}], ids=["numbered", "without a number"])
def test_a_build_begun_by_another_version_begins_again(tictactoe_db, tmp_path, old):
    path = begun(tmp_path / "game", 13)
    plan = draft_of(tmp_path / "game") / "plan.json"
    said = json.loads(plan.read_text())
    del said["version"]
    plan.write_text(json.dumps(said | old))
    workers = Dies(-1)
    folder = build_in_parts(find_game("tictactoe"), tmp_path / "game", workers=workers, parts=2)
    assert not path.exists()
    assert workers.left == -1 - sum(each["steps"] for each in folder.contents.took.values())
    with Store.open(tictactoe_db) as store:
        assert folder.info["digest"] == store.info["digest"]


def test_a_step_of_a_build_that_was_given_up_changes_nothing_of_the_next(tmp_path):
    old = begun(tmp_path / "game", 5)
    rules = find_game("tictactoe")
    given_up = steps.Build(str(old), rules, rules.rules, parts=(2,))
    build_folder("connect(6,2)", tmp_path / "game", force=True)
    with pytest.raises(StoreError):
        steps.explore_block(given_up, BlockId(0, 0))
    old.mkdir(parents=True)
    (old / "work").mkdir()
    shutil.rmtree(draft_of(tmp_path / "game"))
    assert Folder.open(tmp_path / "game").info["name"] == "connect(6,2)"


@pytest.mark.parametrize("steps_left", [-1])
def test_killed_just_before_its_end_a_build_ends_when_it_is_given_again(
    tmp_path, monkeypatch, steps_left
):
    folder = tmp_path / "game"
    build_folder("nim(1,2)", folder)
    for fault in ("rmtree", "rename"):
        with monkeypatch.context() as patch:

            def killed(*_, **__):
                raise KeyboardInterrupt

            if fault == "rmtree":
                patch.setattr(drafts.shutil, "rmtree", killed)
            else:
                rename = type(folder).rename
                patch.setattr(
                    type(folder),
                    "rename",
                    lambda path, to, rename=rename: (
                        rename(path, to) if to.name == drafts.OLD else killed()
                    ),
                )
            with pytest.raises(KeyboardInterrupt):
                build_in_parts(find_game("tictactoe"), folder, workers=OwnProcess(), force=True)
        build_in_parts(find_game("tictactoe"), folder, workers=Dies(0), force=True)
        assert Folder.open(folder).info["name"] == "tictactoe"
        assert [path.name for path in tmp_path.iterdir()] == ["game"]
        build_folder("nim(1,2)", folder, force=True)


def test_a_file_that_appears_at_the_target_meanwhile_is_kept(tmp_path):
    path = begun(tmp_path / "game", 22)
    (tmp_path / "game").mkdir()
    (tmp_path / "game" / "thesis.txt").touch()
    with pytest.raises(StoreError, match="is not a game in parts; choose another"):
        build_folder("tictactoe", tmp_path / "game", parts=2, force=True)
    assert path.is_dir()
    (tmp_path / "game" / "thesis.txt").unlink()
    build_folder("tictactoe", tmp_path / "game", parts=2)
    (tmp_path / "game" / "notes.txt").touch()
    with pytest.raises(StoreError, match=r"files of other programs \(notes.txt\)"):
        build_folder("tictactoe", tmp_path / "game", force=True)


def test_a_link_leads_to_the_folder_that_is_built_and_some_names_are_refused(tmp_path, monkeypatch):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    build_folder("nim(1)", tmp_path / "link")
    assert Folder.open(tmp_path / "real").info["states"] == 2
    with pytest.raises(StoreError, match="not UTF-8"):
        build_folder("nim(1)", tmp_path / "bad\udcff")
    with pytest.raises(StoreError, match="choose a folder in it"):
        build_folder("nim(1)", "/")


def test_a_folder_that_was_built_to_stay_is_loaded_and_stays(tmp_path):
    build_folder("nim(1,2)", tmp_path / "game.db.parts")
    build_out_of_core("nim(1,2)", tmp_path / "game.db")
    assert Folder.open(tmp_path / "game.db.parts").digests


@pytest.mark.parametrize("edit", ['"plies": 2', '"positions": 9', '"format": 0', "[" * 200_000])
def test_an_edited_list_of_contents_is_refused(run, tmp_path, edit):
    folder = tmp_path / "game"
    build_folder("nim(1,1)", folder)
    file = folder / "game.json"
    name = edit.partition(":")[0]
    text = re.sub(rf"{name}: \d+", edit, file.read_text()) if ":" in edit else edit
    assert text != file.read_text() or name == '"plies"'
    file.write_text(text.replace('"name": "nim(1,1)"', '"name": "nim(1,2)"'))
    for command in ("load", "sql"):
        words = () if command == "load" else ("SELECT 1",)
        assert "is damaged" in error_line(run(command, folder, *words))


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


def test_extra_packages_that_are_missing_are_named(run, without, tmp_path):
    without("pyarrow")
    done = run("build", "tictactoe", "--folder", tmp_path / "x")
    assert "pip install pyarrow" in error_line(done)
    assert list(tmp_path.iterdir()) == []
