"""What goes wrong in the world is done here to real processes; what is left is whole, and told.

Elsewhere: two builds of one file, journals beside it, Ctrl-C by phase (test_building); files that are
cut short or newer, upgrades that fail (test_store); exports that are killed (test_export_parts);
outputs that are closed (test_cli).
"""

import gzip
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, closing, contextmanager
from functools import partial

import pytest
from conftest import DATA, error_line
from test_building import content, names
from test_training import all_rows, games_of
from warm import NOBODY, Warm

from graphstore import Store, build, train, upgrade
from graphstore.errors import GraphstoreError
from graphstore.verification import verify

KILLS = 30
SAVED_OFTEN = "from graphstore import training; training.SAVE_EVERY = 0.0; training.BATCH = 50"
AGENTS = "from graphstore import agents; agents.WAIT = 0.2"


@pytest.fixture(scope="module")
def warm():
    """A process that forks others."""
    with closing(Warm()) as process:
        yield process


@pytest.fixture(scope="module")
def trained_db(tictactoe_db, tmp_path_factory):
    """The database of tic-tac-toe with an agent; a test that changes it changes a copy."""
    path = tmp_path_factory.mktemp("trained") / "trained.db"
    path.write_bytes(tictactoe_db.read_bytes())
    train(path, games=100, seed=1)
    return path


def assert_whole(path):
    """Check a file as SQLite does, and as `graphstore verify` does."""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    with Store.open(path) as store:
        verdict = verify(store)
    assert verdict.ok, verdict.problems


# Killed


def course(warm, *words, **how):
    """Return the events of a command and how long each is before the next, in seconds."""
    running, events, gaps = warm.start(*words, **how), [], []
    while event := running.event():
        now = time.monotonic()
        gaps += [now - before] if events else []
        events.append(event)
        before = now
    assert running.end().returncode == 0
    return events, [*gaps, gaps[-1]]


def phase_of(event):
    return event.rstrip("0123456789 ")


def proceed(running, places):
    """Let a command that is held go past so many events, for each of which one is to be read."""
    for _ in range(places):
        yield
        running.go()


def strike(running, place, pause):
    """Send SIGKILL at an event, or so many seconds after it; return the last event before it."""
    for _ in proceed(running, place):
        running.event()
    seen = [running.event()]
    if pause is not None:
        running.release()
        time.sleep(pause)
    running.send(signal.SIGKILL)
    return phase_of([*seen, *iter(running.event, "")][-1])


@pytest.mark.parametrize("old", [True, False])
def test_killed_at_30_moments_a_build_leaves_the_old_file_or_none(
    warm, trained_db, tmp_path, old
):
    chance = random.Random(old)
    target, before = tmp_path / "t.db", trained_db.read_bytes() if old else None
    command = ("build", "tictactoe", "--db", target, "--force")
    if old:
        target.write_bytes(before)
    events, gaps = course(warm, *command)
    built = content(target)
    target.unlink()
    phases = [*dict.fromkeys(map(phase_of, events))]
    struck = []
    for number in range(2 * len(phases)):
        if old:
            target.write_bytes(before)
        phase = phases[number % len(phases)]
        places = [at for at, event in enumerate(events) if phase_of(event) == phase]
        place = chance.choice(places)
        pause = None if number < len(phases) else chance.random() * gaps[place]
        running = warm.start(*command, hold=True)
        struck.append(strike(running, place, pause))
        code = running.end().returncode
        assert code == -signal.SIGKILL or (code == 0 and pause is not None)
        if target.exists() and (code == 0 or target.read_bytes() != before):
            assert content(target) == built
            assert_whole(target)
            target.unlink()
        else:
            assert target.exists() == old
        assert set(names(tmp_path)) <= {"t.db", ".t.db.building"}
    assert struck[: len(phases)] == phases
    assert len(struck) >= KILLS // 2
    if old:
        target.write_bytes(before)
    assert warm.run(*command).returncode == 0
    assert names(tmp_path) == ["t.db"]
    assert content(target) == built


def test_killed_at_30_moments_an_agent_has_learned_from_its_last_saved_game(
    warm, copy, tmp_path
):
    chance = random.Random(1)
    command = ("train", copy, "--games", "1000", "--seed", "1")
    train(copy, games=0, seed=1)
    for number in range(KILLS):
        before = games_of(copy)
        running = warm.start(*command, hold=True, before=SAVED_OFTEN)
        told = [running.event() for _ in proceed(running, 3 + chance.randrange(24))]
        if number % 2:
            running.release()
            time.sleep(chance.random() * 0.005)
        running.send()
        told += iter(running.event, "")
        assert running.end().returncode == -signal.SIGKILL
        try:
            Store.open(copy).close()
        except GraphstoreError as error:  # killed while it wrote, which no reader can mend
            assert f"killed while it wrote; run: graphstore upgrade {copy}" in str(error)
            upgrade(copy)
        learned = games_of(copy) - before
        saved = max((int(each.split()[1]) for each in told if each.startswith("train")), default=0)
        assert saved <= learned <= saved + 50
        assert_whole(copy)
    games = games_of(copy)
    assert games > 1000
    again = tmp_path / "again.db"
    build("tictactoe", again)
    train(again, games=games, seed=1)
    assert all_rows(again) == all_rows(copy)


# No room


@contextmanager
def small_disk(tmp_path, size):
    """Lend a folder on a file system of its own."""
    if os.geteuid() != 0 or not shutil.which("mount"):
        pytest.skip("only root can mount a small disk")
    folder = tmp_path / "disk"
    folder.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={size},mode=777", "tmpfs", folder]
    done = subprocess.run(["mount", *options], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no small disk can be mounted here: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


@pytest.mark.parametrize("size", [0, 1, 5_000, 30_000, 100_000, 150_000, 165_000])
@pytest.mark.parametrize("old", [True, False])
def test_a_file_that_may_not_grow_as_it_must_is_one_line_and_changes_nothing(
    warm, tictactoe_db, tmp_path, size, old
):
    target = tmp_path / "t.db"
    if old:
        shutil.copy(tictactoe_db, target)
    done = warm.run("build", "tictactoe", "--db", target, "--force", limits={"FSIZE": size})
    assert error_line(done).startswith(f"{target}: ")
    assert error_line(done).endswith("; nothing was changed")
    assert names(tmp_path) == ["t.db"] * old
    assert not old or target.read_bytes() == tictactoe_db.read_bytes()


def test_on_a_full_disk_nothing_is_lost(warm, trained_db, tmp_path):
    older = gzip.decompress((DATA / "tictactoe.0001.db.gz").read_bytes())
    with small_disk(tmp_path, "1200k") as disk:
        shutil.copy(trained_db, disk / "t.db")
        (disk / "older.db").write_bytes(older)
        before = {path.name: path.read_bytes() for path in disk.iterdir()}
        room = os.statvfs(disk)
        for left in (0, 4096, 16_384, 65_536, 131_072):
            (disk / "full").write_bytes(b"x" * (room.f_bavail * room.f_frsize - left))
            for words in (
                ("build", "tictactoe", "--db", "t.db", "--force"),
                ("build", "mnk(2,2,2)", "--db", "new.db"),
                ("upgrade", "older.db"),
                ("train", "t.db", "--games", "5000"),
                ("train", "t.db", "--agent", "new", "--games", "0"),
                *(
                    ("export", "t.db", "--format", each, "--output", "out")
                    for each in ("csv", "parquet", "gexf", "gmap")
                ),
            ):
                done = warm.run(*words, cwd=disk)
                if done.returncode == 0:
                    assert left >= 4096
                    for name in ("new.db", "out"):
                        shutil.rmtree(disk / name) if (disk / name).is_dir() else (
                            disk / name
                        ).unlink(missing_ok=True)
                else:
                    assert "full" in error_line(done) or "space" in error_line(done) or "room" in (
                        error_line(done)
                    )
                    assert sorted(before) == [each for each in names(disk) if each != "full"]
                    assert (disk / words[1]).suffix != ".db" or (
                        (disk / words[1]).read_bytes() == before[words[1]]
                    )
                for name, was in before.items():
                    (disk / name).write_bytes(was)
