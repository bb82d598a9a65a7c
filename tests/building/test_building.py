"""A build is all or nothing, and gives the same result every time."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing

import pytest
from conftest import TableGame, error_line, for_all, graphstore, some_of
from stored import content, names

from graphstore import Store, build, build_folder, build_out_of_core, load, prove, train
from graphstore.checks import verify
from graphstore.errors import (
    NewerStoreError,
    NotAStoreError,
    RulesError,
    StoreError,
    StoreExistsError,
    TooLargeError,
)
from graphstore.play import agents
from graphstore.store.sqlite import opening

GAME, STATES = "mnk(4,3,3)", 28_275  # takes about a second; the number is from mnk.jsonl


def test_the_file_holds_the_765_states_with_their_children(store, oracle):
    rows = {row[0]: row[1:] for row in store.sql("SELECT * FROM state")}
    children = {}
    for parent, move, child in store.sql("SELECT * FROM edge ORDER BY parent, move"):
        children.setdefault(parent, {})[move] = child
    ids = {row["state32"]: int(row["state32"]) >> 9 & 0x3FFFF for row in oracle}
    assert rows.keys() == set(ids.values())
    for row in oracle:
        key = ids[row["state32"]]
        position, ply, to_move, ended, value, remoteness, score, win, lose, orbit, *_ = rows[key]
        assert (position, ply, to_move, orbit) == (
            row["position"],
            int(row["ply"]),
            int(row["to_move"]),
            int(row["orbit"]),
        )
        assert (ended, value, score) == (
            row["ended"] != "",
            int(row["value"]),
            float(row["score"]),
        )
        assert ("" if win is None else str(win)) == row["win_depth"]
        assert ("" if lose is None else str(lose)) == row["lose_depth"]
        if value:
            assert str(remoteness) == row["remoteness"]
        below = children.get(key, {})
        assert len(below) == int(row["moves"])
        assert sorted(set(below.values())) == sorted(ids[c] for c in row["children"].split())
        free = [cell for cell, mark in enumerate(position.replace("/", "")) if mark == "."]
        assert list(below) == ([] if ended else free)


def test_the_report_has_the_numbers_of_the_file(tmp_path):
    report = build("tictactoe", tmp_path / "t.db")
    with Store.open(tmp_path / "t.db") as store:
        assert (
            report._asdict().items()
            >= {
                name: store.info[name]
                for name in ("states", "positions", "moves", "edges", "value", "remoteness")
            }.items()
        )
        assert (report.game, report.file) == (store.info["name"], str(tmp_path / "t.db"))
        assert (
            store.info["digest"]
            == "e96349b4f1a077c10b64ae85575a05c90eba6f59f109b398b9edcf43792e6ce9"
        )
    assert list(report.seconds) == [
        "explore", "solve", "load edges", "load states", "index", "finish"
    ]  # fmt: skip


def test_two_builds_of_a_game_are_equal(tictactoe_db, tmp_path):
    again = tmp_path / "again.db"
    done = graphstore("build", "tictactoe", "--db", again, PYTHONHASHSEED="1")
    assert done.returncode == 0
    assert content(again) == content(tictactoe_db)
    build("mnk(3,3,3)", tmp_path / "mnk.db")
    with Store.open(again) as one, Store.open(tmp_path / "mnk.db") as other:
        assert one.info["digest"] == other.info["digest"]


def test_several_starts_and_results_without_turns_are_stored(tmp_path):
    game = TableGame({5: {1: 3, 2: 4}, 6: {0: 4}, 3: -1, 4: 0}, 6, 5)
    build(game, tmp_path / "t.db")
    with Store.open(tmp_path / "t.db", rules=game) as store:
        assert store.info["starts"] == 2
        assert [row[0] for row in store.sql("SELECT winner FROM state")] == [None] * 4
        assert store.probe("5").value == 1
        assert verify(store).ok


def test_a_file_that_is_there_is_not_replaced_without_force(copy):
    before = copy.read_bytes()
    with pytest.raises(StoreExistsError, match=f"{copy} exists; add --force"):
        build("mnk(2,2,2)", copy)
    assert copy.read_bytes() == before
    assert build("mnk(2,2,2)", copy, force=True).states == 6
    with Store.open(copy) as store:
        assert store.info["name"] == "mnk(2,2,2)"
    assert names(copy.parent) == [copy.name]


def test_not_even_a_link_to_nowhere_is_replaced_without_force(tmp_path):
    (tmp_path / "t.db").symlink_to(tmp_path / "nowhere")
    with pytest.raises(StoreExistsError):
        build("mnk(2,2,2)", tmp_path / "t.db")
    assert names(tmp_path) == ["t.db"]


@pytest.mark.parametrize("force", [False, True])
def test_a_target_that_cannot_be_a_file_is_refused(tmp_path, force):
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    before = names(tmp_path)
    for target, message in (
        ("", "is a folder; name a file in it"),
        ("none/t.db", "there is no folder .*none; create it first"),
        ("file/t.db", "there is no folder .*file; create it first"),
        ("x" * 300, "File name too long; nothing was changed"),
        ("x" * 250, "File name too long; nothing was changed"),
        *([("pipe", "is a pipe or device")] if force else []),
    ):
        with pytest.raises(StoreError, match=message):
            build("mnk(2,2,2)", tmp_path / target, force=force)
        assert names(tmp_path) == before
    with pytest.raises(StoreError, match="/dev/null"):
        build("mnk(2,2,2)", "/dev/null", force=force)


FORBIDDEN = """
import os, sys, graphstore
folder = sys.argv[1]
graphstore.build("mnk(2,2,2)", f"{folder}/first.db")  # all is imported now
os.chmod(folder, 0o555)
if os.geteuid() == 0:  # permissions do not stop root
    os.seteuid(65534)
for force in (False, True):
    try:
        graphstore.build("mnk(2,2,2)", f"{folder}/t.db", force=force)
    except graphstore.errors.StoreError as error:
        print(error)
"""


def test_a_folder_that_cannot_be_written_is_named(warm, open_folder):
    done = warm.run(open_folder, code=FORBIDDEN)
    line = f"{open_folder}/t.db: Permission denied; nothing was changed\n"
    assert (done.stdout, done.stderr) == (2 * line, "")
    assert names(open_folder) == ["first.db"]


@pytest.mark.parametrize("phase", ["explore", "load states", "index"])
def test_ctrl_c_is_answered_in_one_line_and_leaves_nothing(warm, tmp_path, phase):
    building = warm.at(phase, "build", "tictactoe", "--db", tmp_path / "t.db")
    building.send(signal.SIGINT)
    assert error_line(building.end(), 130) == "interrupted"
    assert names(tmp_path) == []


def test_of_two_builds_of_one_file_the_second_is_refused(tmp_path):
    target = tmp_path / "t.db"
    writing, go_on = threading.Event(), threading.Event()

    def wait(phase, done, total):
        if phase == "load states":
            writing.set()
            go_on.wait(60)

    first = threading.Thread(target=build, args=("tictactoe", target), kwargs={"progress": wait})
    first.start()
    try:
        assert writing.wait(60)
        done = graphstore("build", "tictactoe", "--db", target, "--force")
        assert "another build is writing" in error_line(done)
        with pytest.raises(StoreError, match="another build is writing"):
            build("mnk(2,2,2)", target)
    finally:
        go_on.set()
        first.join()
    assert names(tmp_path) == ["t.db"]
    with Store.open(target) as store:
        assert verify(store).ok


def test_of_many_builds_of_one_file_at_once_one_wins_and_its_file_is_whole(tmp_path):
    target = tmp_path / "t.db"
    results = []

    def try_to_build():
        try:
            results.append(build("mnk(2,2,2)", target, force=True).states)
        except StoreError as error:
            results.append(str(error))

    threads = [threading.Thread(target=try_to_build) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 6 in results
    assert all(each == 6 or "another build is writing" in each for each in results)
    assert names(tmp_path) == ["t.db"]
    with Store.open(target) as store:
        assert verify(store).ok


def stuck_game():
    return TableGame({1: {0: 2}, 2: {0: 3}, 3: {}}, 1)


@pytest.mark.parametrize("old", [True, False])
@pytest.mark.parametrize(
    ("game", "options", "error"),
    [
        (stuck_game(), {}, RulesError),
        ("tictactoe", {"max_states": 700}, TooLargeError),
        (TableGame({1: {0: 2}}, 1), {}, RulesError),
    ],
)
def test_a_build_that_fails_leaves_what_was_there(copy, game, options, error, old):
    before = copy.read_bytes()
    if not old:
        copy.unlink()
    with pytest.raises(error):
        build(game, copy, force=old, **options)
    assert names(copy.parent) == ([copy.name] if old else [])
    assert not old or copy.read_bytes() == before


def test_an_error_raised_by_the_progress_callback_leaves_nothing(tmp_path):
    for phase in ("explore", "solve", "load states", "load edges", "index"):

        def fail(now, done, total, phase=phase):
            if now == phase:
                raise ZeroDivisionError(phase)

        with pytest.raises(ZeroDivisionError, match=phase):
            build("tictactoe", tmp_path / "t.db", progress=fail)
        assert names(tmp_path) == []


CRASH = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute(f"PRAGMA journal_mode = {sys.argv[2]}")
connection.execute("PRAGMA cache_size = 5")
connection.execute("BEGIN")
connection.execute("UPDATE state SET orbit = orbit + 1")
connection.execute("UPDATE edge SET move = move + 10")
if sys.argv[2] == "wal":
    connection.execute("COMMIT")
os._exit(0)
"""


@pytest.mark.parametrize(("mode", "suffix"), [("delete", "-journal"), ("wal", "-wal")])
@pytest.mark.parametrize("old", ["whole", "garbage", "gone"])
def test_a_journal_of_the_old_file_does_not_change_the_new_one(
    copy, tictactoe_db, mode, suffix, old
):
    subprocess.run([sys.executable, "-c", CRASH, copy, mode], check=True, timeout=60)
    assert copy.with_name(copy.name + suffix).exists()
    if old == "garbage":
        copy.write_bytes(copy.read_bytes()[:100] + b"garbage" * 1000)  # still ours by its header
    elif old == "gone":
        copy.unlink()
    build("tictactoe", copy, force=True, drop_agents=old == "garbage")
    assert names(copy.parent) == [copy.name]
    assert content(copy) == content(tictactoe_db)


def test_a_file_that_another_program_is_writing_is_not_replaced(copy, monkeypatch):
    monkeypatch.setitem(opening.connect.__kwdefaults__, "timeout", 0.2)
    with closing(sqlite3.connect(copy, isolation_level=None)) as other:
        other.execute("PRAGMA cache_size = 5")
        other.execute("BEGIN IMMEDIATE")
        other.execute("UPDATE state SET orbit = orbit + 1")
        other.execute("UPDATE edge SET move = move + 10")
        with pytest.raises(StoreError, match="when it is done; nothing was changed"):
            build("tictactoe", copy, force=True)
        other.execute("ROLLBACK")
    assert names(copy.parent) == [copy.name]
    with Store.open(copy) as store:
        assert verify(store).ok


def test_what_a_killed_build_left_is_taken_over_whatever_it_is(tmp_path):
    (tmp_path / ".t.db.building").write_bytes(b"half a database" * 10_000)
    (tmp_path / ".other.db.building").touch()
    build("mnk(2,2,2)", tmp_path / "t.db")
    assert names(tmp_path) == [".other.db.building", "t.db"]


def test_a_file_in_use_is_replaced_under_its_readers(copy):
    with Store.open(copy) as reader:
        build("mnk(2,2,2)", copy, force=True)
        assert reader.probe("XO./.X./...").value == -1
        with Store.open(copy) as newer:
            assert newer.info["states"] == 6


# What is replaced


def rights(path):
    """Return the permissions, the owner and the group of a file or folder."""
    found = path.stat()
    return oct(found.st_mode & 0o7777), found.st_uid, found.st_gid


ROOT_ONLY = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away"
)


@ROOT_ONLY
@pytest.mark.parametrize("way", ["build", "load", "prove", "out of core"])
def test_a_replaced_file_keeps_its_permissions_owner_and_group(copy, way):
    copy.chmod(0o664)
    os.chown(copy, 65534, 65533)
    before = rights(copy)
    replacing(way, copy)
    assert rights(copy) == before


@for_all("mode", [0o600, 0o640, 0o400, 0o664])
def test_a_draft_is_not_readable_for_more_users_than_the_file_that_it_replaces(copy, mode):
    copy.chmod(mode)
    draft, seen = copy.parent / f".{copy.name}.building", set()
    draft.touch(0o666)  # as a killed build left it

    def look(*_):
        seen.add(draft.stat().st_mode & 0o777)

    build("mnk(2,2,2)", copy, force=True, progress=look)
    assert [oct(wider) for wider in seen if wider & ~(mode | 0o600)] == []
    assert copy.stat().st_mode & 0o777 == mode


@ROOT_ONLY
def test_a_replaced_folder_keeps_its_permissions_owner_and_group(tmp_path):
    folder, draft = tmp_path / "parts", tmp_path / ".parts.building"
    folder.mkdir()
    for game in ("nim(1,2)", "nim(2,2)"):  # it is empty, then a game
        folder.chmod(0o700)
        os.chown(folder, 65534, 65533)
        before, seen = rights(folder), set()
        build_folder(
            game, folder, force=True, progress=lambda *_, to=seen: to.add(rights(draft)[0])
        )
        assert rights(folder) == before
        assert seen == {"0o700"}


def test_a_build_writes_where_a_link_leads(copy):
    there = copy.parent / "there"
    there.mkdir()
    real, link = there / "real.db", copy.parent / "link.db"
    for target, old in ((real, True), ("there/real.db", True), (real, False)):
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        copy.replace(real) if copy.exists() else real.unlink(missing_ok=not old)
        drafts = set()
        build("nim(1,2)", link, force=True, progress=lambda *_, to=drafts: to.update(names(there)))
        assert ".real.db.building" in drafts
        assert link.is_symlink()
        assert names(there) == ["real.db"]
        with Store.open(real) as store:
            assert store.info["name"] == "nim(1,2)"
    for target, message in (
        ("link.db", "is a link that leads to itself"),
        ("nowhere/t.db", "there is no folder .*nowhere; create it first"),
        ("there", "is a folder; name a file in it"),
    ):
        link.unlink()
        link.symlink_to(target)
        with pytest.raises(StoreError, match=message):
            build("nim(1,2)", link, force=True)
        assert link.is_symlink()
    assert names(copy.parent) == ["link.db", "there"]


def other_database(path):
    """Write a database of another program."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE state (id INTEGER PRIMARY KEY)")


def of_a_newer_version(path):
    """Write a database of a version to come."""
    build("mnk(2,2,2)", path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")


OTHERS = {
    "text": (lambda path: path.write_text("notes"), StoreExistsError),
    "long text": (lambda path: path.write_text("notes" * 1000), StoreExistsError),
    "database of another program": (other_database, StoreExistsError),
    "newer database": (of_a_newer_version, NewerStoreError),
}


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("way", ["build", "load", "prove", "out of core"])
def test_only_a_database_that_graphstore_wrote_is_replaced(tmp_path, way, other):
    target = tmp_path / "t.db"
    write, error = OTHERS[other]
    write(target)
    before = target.read_bytes()
    for options in ({},) if way == "prove" else ({}, {"drop_agents": True}):
        with pytest.raises(error, match=r"so it is not replaced|newer graphstore"):
            replacing(way, target, **options)
        shutil.rmtree(tmp_path / "folder", ignore_errors=True)
    assert target.read_bytes() == before
    assert names(tmp_path) == ["t.db"]


def test_an_empty_file_is_replaced_by_force(tmp_path):
    (tmp_path / "t.db").touch(0o600)
    with pytest.raises(StoreExistsError, match="add --force"):
        build("mnk(2,2,2)", tmp_path / "t.db")
    assert build("mnk(2,2,2)", tmp_path / "t.db", force=True).states == 6
    assert rights(tmp_path / "t.db")[0] == "0o600"


@pytest.mark.parametrize("force", [False, True])
def test_a_build_does_not_write_through_links_that_others_put_in_its_way(copy, force):
    victim, target = copy.parent / "victim", copy.parent / "t.db"
    draft, refused = (
        copy.parent / ".t.db.building",
        ["t.db.building is in the way", "t.db: unable to open"],
    )
    victim.write_text("mine")
    copy.rename(target) if force else copy.unlink()
    for link, message in ((draft, refused[0]), (target.with_name("t.db-journal"), refused[1])):
        link.symlink_to(victim)
        if force or link == draft:
            with pytest.raises(StoreError, match=message):
                build("nim(1,2)", target, force=force)
        link.unlink()
    draft.hardlink_to(victim)
    for end in ("-journal", "-wal"):
        draft.with_name(draft.name + end).symlink_to(victim)
    build("nim(1,2)", target, force=force)
    assert victim.read_text() == "mine"
    assert names(copy.parent) == ["t.db", "victim"]


@ROOT_ONLY
def test_a_draft_of_another_user_is_refused(tmp_path):
    draft, folder = tmp_path / ".t.db.building", tmp_path / ".t.parts.building"
    draft.touch()
    folder.mkdir()
    (folder / "plan.json").write_text("theirs")
    begun = tmp_path / "t.db.parts"
    build_folder("nim(1,2)", begun)
    for each in (draft, folder, begun):
        os.chown(each, 65534, 65534)
    for way, target in ((build, "t.db"), (build_folder, "t.parts")):
        with pytest.raises(StoreError, match="belongs to another user; remove it"):
            way("nim(1,2)", tmp_path / target)
    draft.unlink()
    with pytest.raises(StoreError, match=f"{begun} belongs to another user"):
        build_out_of_core("nim(1,2)", tmp_path / "t.db")
    assert names(tmp_path) == [".t.parts.building", "t.db.parts"]


# Agents


def replacing(way, target, **options):
    """Replace a file by force: build, load, prove or build out of core."""
    folder = target.parent / "folder"
    if way == "load":
        build_folder("tictactoe", folder)
        load(folder, target, force=True, **options)
    elif way == "prove":
        prove(target, force=True, **options)
    else:
        {"build": build, "out of core": build_out_of_core}[way](
            "tictactoe", target, force=True, **options
        )


def damage(path, table):
    """Overwrite the first page of a table."""
    with closing(sqlite3.connect(path)) as connection:
        (page,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)
        ).fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)


@pytest.mark.parametrize("table", ["agent", "bead"])
@pytest.mark.parametrize("way", ["build", "load", "prove", "out of core"])
def test_a_file_whose_agents_cannot_be_read_is_not_replaced(copy, way, table):
    if (way, table) == ("prove", "bead"):
        pytest.skip("a strategy keeps no agents of another game, so their beads are not read")
    train(copy, games=10, seed=1)
    damage(copy, table)
    before = copy.read_bytes()
    with pytest.raises(NotAStoreError, match="nothing was changed"):
        replacing(way, copy)
    assert copy.read_bytes() == before
    assert set(names(copy.parent)) <= {copy.name, "folder", f"{copy.name}.parts"}


def test_a_file_whose_agents_cannot_be_read_is_replaced_where_they_are_dropped(copy, run):
    train(copy, games=10, seed=1)
    damage(copy, "agent")
    said = error_line(run("build", "tictactoe", "--db", copy, "--force"))
    assert "its agents cannot be read: add --drop-agents" in said
    build("tictactoe", copy, force=True, drop_agents=True)
    assert names(copy.parent) == [copy.name]
    with Store.open(copy) as store:
        assert agents.names(store) == []


IMPATIENT = (
    "from graphstore.store.sqlite import opening; opening.connect.__kwdefaults__['timeout'] = 0.2"
)
HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.read()
"""


def test_agents_of_a_file_that_another_program_holds_locked_are_not_lost(warm, copy):
    train(copy, games=10, seed=1)
    before = copy.read_bytes()
    command = [sys.executable, "-c", HOLD, str(copy)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as holder:
        assert holder.stdout.readline() == "held\n"
        done = warm.run("build", "tictactoe", "--db", copy, "--force", before=IMPATIENT)
        holder.stdin.close()
    assert "another program is writing to it" in error_line(done)
    assert copy.read_bytes() == before
    assert names(copy.parent) == [copy.name]


def test_agents_are_kept_of_a_file_whose_writer_was_killed(copy):
    train(copy, games=10, seed=1)
    subprocess.run([sys.executable, "-c", CRASH, copy, "delete"], check=True, timeout=60)
    assert copy.with_name(f"{copy.name}-journal").exists()
    assert build("tictactoe", copy, force=True).agents == ("menace",)


@pytest.mark.parametrize("flush", [1, 2])
@pytest.mark.parametrize("before", some_of([("a",), ()], 2))
def test_an_agent_that_is_first_trained_while_the_file_is_flushed_is_kept(
    copy, monkeypatch, flush, before
):
    for name in before:
        train(copy, name, games=10, seed=1)
    fsync, flushed, trainers = os.fsync, [], []

    def training(descriptor):
        flushed.append(descriptor)
        if len(flushed) == flush:
            trainer = threading.Thread(target=train, args=(copy, "new"), kwargs={"games": 10})
            trainer.start()
            trainer.join(60 if flush == 1 else 0.5)  # the second flush keeps it waiting
            trainers.append(trainer)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", training)
    build("tictactoe", copy, force=True)
    for trainer in trainers:
        trainer.join()
    with Store.open(copy) as store:
        assert agents.names(store) == [*before, "new"]
        assert agents.load(store, "new").games == 10
        assert verify(store).ok


@pytest.mark.parametrize("moment", ["index", "flush"])
def test_a_build_that_is_not_to_replace_leaves_a_file_that_appears_meanwhile(
    tmp_path, monkeypatch, moment
):
    target, fsync = tmp_path / "t.db", os.fsync

    def appear(phase, *_):
        if phase == moment:
            target.write_text("mine")

    def flush(descriptor):
        appear("flush")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", flush)
    with pytest.raises(StoreExistsError):
        build("mnk(2,2,2)", target, progress=appear)
    assert target.read_text() == "mine"
    assert names(tmp_path) == ["t.db"]
