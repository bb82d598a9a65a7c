"""Faults in real processes: kills, full disks, missing rights; files stay whole, errors are clear.

Elsewhere: two builds of one file, journals of an old file (test_building); files that are cut short
or of a newer version, upgrades that fail (test_store); exports that are killed (test_export_parts);
outputs that are closed (test_cli).
"""

import gzip
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, closing
from itertools import pairwise, product

import pytest
from conftest import DATA, GRAPHSTORE, error_line, small_disk, some_of
from stored import all_rows, content, games_of, names
from warm import NOBODY, resource

from graphstore import Store, build, build_folder, train, upgrade
from graphstore.checks import verify
from graphstore.errors import GraphstoreError

SAVED_OFTEN = "from graphstore.play import training; training.SAVE_EVERY = 0.0; training.BATCH = 50"
IMPATIENT = "from graphstore.store.sqlite import backend; backend.WAIT = 0.2"


@pytest.fixture(scope="module")
def trained_db(tictactoe_db, tmp_path_factory):
    """The database of tic-tac-toe with an agent; tests must not change it."""
    path = tmp_path_factory.mktemp("trained") / "trained.db"
    path.write_bytes(tictactoe_db.read_bytes())
    train(path, games=100, seed=1)
    return path


def assert_whole(path):
    """Check a file with SQLite and with `graphstore verify`."""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    with Store.open(path) as store:
        verdict = verify(store)
    assert verdict.ok, verdict.problems


def line_of(error):
    """Return the message of an error, which must be one line."""
    (line,) = str(error).splitlines()
    return line


# Killed


def course(warm, *words, **how):
    """Return the events of a command, and the seconds from each to the next."""
    running = warm.start(*words, **how)
    seen = [(event, time.monotonic()) for event in iter(running.event, "")]
    assert running.end().returncode == 0
    gaps = [later - before for (_, before), (_, later) in pairwise(seen)]
    return [event for event, _ in seen], [*gaps, gaps[-1]]


def phase_of(event):
    return event.rstrip("0123456789 ")


def proceed(running, places):
    """Let a held command continue past some events; yield once for each event to read."""
    for _ in range(places):
        yield
        running.go()


def strike(running, place, pause):
    """Send SIGKILL some seconds after an event; return the last event before it."""
    for _ in proceed(running, place):
        running.event()
    seen = [running.event()]
    if pause is not None:
        running.release()
        time.sleep(pause)
    running.send(signal.SIGKILL)
    return phase_of([*seen, *iter(running.event, "")][-1])


@pytest.mark.parametrize("old", [True, False])
def test_killed_at_any_moment_a_build_leaves_the_old_file_or_none(
    warm, trained_db, tmp_path, moments, old
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
    for number in range(moments(len(phases), 2 * len(phases))):
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
    assert len(phases) >= 7
    if old:
        target.write_bytes(before)
    assert warm.run(*command).returncode == 0
    assert names(tmp_path) == ["t.db"]
    assert content(target) == built


def test_killed_at_any_moment_an_agent_has_learned_from_its_last_saved_game(
    warm, copy, tmp_path, moments
):
    chance = random.Random(1)
    command = ("train", copy, "--games", "1000", "--seed", "1")
    train(copy, games=100, seed=1)
    for number in range(moments(8, 30)):
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
        except GraphstoreError as error:  # killed while it wrote; a reader cannot repair that
            complaint = line_of(error)
            assert f"killed while it wrote; run: graphstore upgrade {copy}" in complaint
            upgrade(copy)
        learned = games_of(copy) - before
        saved = max((int(each.split()[1]) for each in told if each.startswith("train")), default=0)
        assert saved <= learned <= saved + 50
        assert_whole(copy)
    games = games_of(copy)
    assert games > 100 + number * 10
    again = tmp_path / "again.db"
    build("tictactoe", again)
    train(again, games=games, seed=1)
    assert all_rows(again) == all_rows(copy)


@pytest.mark.parametrize("option", ["--db", "--folder"])
def test_a_new_file_is_on_the_disk_before_it_has_its_name_and_its_name_is_before_the_end(
    tmp_path, option
):
    """A loss of power cannot be tested, but the calls that protect from it can.

    They come in this order: sync the draft (of a folder, first all files, then all names in it),
    rename it, sync the folder that it is in.
    """
    trace, target = tmp_path / "trace", tmp_path / "t"
    calls = "trace=fsync,rename,renameat,renameat2"
    try:
        tracer = ["strace", "-f", "-y", "-o", trace, "-e", calls]
        command = [*GRAPHSTORE, "build", "mnk(2,2,2)", option, target]
        done = subprocess.run([*tracer, *command], capture_output=True, text=True, timeout=100)
    except FileNotFoundError:
        assert os.environ.get("GRAPHSTORE_STRACE") != "required"
        pytest.skip("strace is not installed")
    if done.returncode and "ptrace" in done.stderr:
        pytest.skip(f"nothing can be traced here: {done.stderr.strip()}")
    assert (done.returncode, done.stderr) == (0, "")
    lines = [line.partition(" ")[2].strip() for line in trace.read_text().splitlines()]
    begin = next(at for at, line in enumerate(lines) if line.startswith("fsync"))
    *synced, rename, folder = (line for line in lines[begin:] if line[:5] in ("fsync", "renam"))
    paths = [re.search("<(.*)>", line)[1] for line in synced]
    draft = f"{tmp_path}/.t.building"
    assert re.search(f'{draft}(/[0-9a-f]*)?", .*"{target}"', rename)
    assert re.match(rf"fsync\(\d+<{tmp_path}>", folder)
    if option == "--db":
        assert paths == [draft]
    else:
        root = re.match(f"{draft}/[0-9a-f]*", paths[0])[0]
        assert {path.removeprefix(root) for path in paths} == {
            str(each).removeprefix(str(target)) for each in (target, *target.rglob("*"))
        }
        assert all(not path.endswith((".parquet", ".json")) for path in paths[-7:])
        assert paths[-1] == root


# No room


@pytest.mark.parametrize("size", some_of([0, 1, 5_000, 30_000, 100_000, 150_000, 165_000], 3))
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
        for left in some_of((16_384, 0, 131_072), 3):
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
                said = "" if left and not done.returncode else error_line(done)
                if said:
                    assert any(word in said for word in ("full", "space", "has room for")), said
                    found = {path.name: path.read_bytes() for path in disk.iterdir()}
                    assert found == before | {"full": found["full"]}
                for path in disk.iterdir():
                    if path.is_dir():
                        shutil.rmtree(path)
                    elif path.name not in (*before, "full"):
                        path.unlink()
                for name, was in before.items():
                    (disk / name).write_bytes(was)


# No right to write


@pytest.mark.parametrize("how", ["permissions", "mount"])
def test_in_a_folder_that_is_only_for_reading_each_command_reads_or_says_so(
    warm, trained_db, open_folder, tmp_path, how
):
    older = gzip.decompress((DATA / "tictactoe.0001.db.gz").read_bytes())
    with ExitStack() as stack:
        folder = open_folder
        if how == "mount":
            folder = stack.enter_context(small_disk(tmp_path, "2m"))
        shutil.copy(trained_db, folder / "t.db")
        (folder / "older.db").write_bytes(older)
        user = None
        if how == "mount":
            subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
        else:
            folder.chmod(0o555)
            user = NOBODY if os.geteuid() == 0 else None
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        for words, wrong in (
            (("show", "t.db"), None),
            (("verify", "t.db"), None),
            (("export", "t.db", "--format", "csv"), None),
            (("build", "tictactoe", "--db", "t.db", "--force"), "nothing was changed"),
            (("build", "tictactoe", "--db", "new.db"), "nothing was changed"),
            (("train", "t.db", "--games", "10"), "t.db: attempt to write a readonly database"),
            (("agents", "t.db", "menace", "--remove"), "nothing was written"),
            (("upgrade", "older.db"), "nothing was changed"),
            (("export", "t.db", "--format", "csv", "--output", "new"), "new: "),
            (("export", "t.db", "--format", "gmap", "--output", "new"), "new: "),
        ):
            done = warm.run(*words, cwd=folder, user=user)
            if wrong is None:
                assert (done.returncode, done.stderr) == (0, "")
            else:
                assert wrong in error_line(done)
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


WRITER = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute(f"PRAGMA journal_mode = {sys.argv[2]}")
connection.execute("PRAGMA cache_size = 5")
connection.execute("BEGIN")
connection.execute("UPDATE played SET plies = plies")
connection.execute("UPDATE edge SET move = move + 10")
if sys.argv[2] == "wal":
    connection.execute("UPDATE edge SET move = move - 10")
    connection.execute("COMMIT")
os._exit(0)
"""


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_what_a_killed_writer_left_is_no_wrong_answer_to_one_who_may_only_read(
    warm, trained_db, open_folder, mode
):
    path = open_folder / "t.db"
    shutil.copy(trained_db, path)
    subprocess.run([sys.executable, "-c", WRITER, path, mode], check=True, timeout=60)
    journal = "-journal" if mode == "delete" else "-wal"
    assert path.with_name(path.name + journal).stat().st_size > 0
    for each in open_folder.iterdir():
        each.chmod(0o444)
    open_folder.chmod(0o555)
    user = NOBODY if os.geteuid() == 0 else None
    left = names(open_folder)
    for words in (("show", path), ("verify", path), ("sql", path, "SELECT count(*) FROM edge")):
        done = warm.run(*words, user=user)
        if mode == "delete":
            assert f"killed while it wrote; run: graphstore upgrade {path}" in error_line(done)
        elif done.returncode:
            assert str(path) in error_line(done)
    done = warm.run("upgrade", path, user=user)  # with a readable log there is nothing to upgrade
    assert mode == "wal" or str(path) in error_line(done)
    assert names(open_folder) == left
    open_folder.chmod(0o755)
    for each in open_folder.iterdir():
        each.chmod(0o644)
    assert warm.run("upgrade", path).returncode == 0
    assert_whole(path)


# Files that change under their readers


def ask(store):
    """Return the answers of a store to some queries, or the class of the error."""
    questions = {
        "probe": lambda: [store.probe(text) for text in ("XO./.X./...", "X../.O./...", 0)],
        "line": lambda: store.line(),
        "census": lambda: store.census(),
        "lookup": lambda: [each.tolist() for each in store.lookup(range(0, 70_000, 7))],
        "rows": lambda: list(store.sql("SELECT * FROM state JOIN edge ON parent = id")),
        "graph": lambda: len(store.graph()),
        "q_table": lambda: store.q_table().tolist(),
    }
    answers = {}
    for name, question in questions.items():
        try:
            answers[name] = repr(question())
        except GraphstoreError as error:
            answers[name] = None
            line_of(error)
    return answers


def test_a_file_that_vanishes_is_still_there_for_those_who_have_it_open(copy):
    with Store.open(copy) as store:
        right = ask(store)
        copy.unlink()
        for name, answer in ask(store).items():
            assert answer in (right[name], None)
        with pytest.raises(GraphstoreError, match="unable to open"):
            list(store.sql("SELECT 1"))
        assert names(copy.parent) == []


def test_a_file_that_is_cut_short_under_a_reader_gives_right_answers_or_errors(tictactoe_db, copy):
    whole = tictactoe_db.read_bytes()
    with Store.open(tictactoe_db) as store:
        right = ask(store)
    failed = 0
    for size in (0, 1, 100, 4096, 5000, len(whole) // 2, len(whole) - 4096, len(whole) - 1):
        copy.write_bytes(whole)
        with Store.open(copy) as store:
            os.truncate(copy, size)
            answers = ask(store)
            failed += sum(answer is None for answer in answers.values())
            wrong = [name for name, found in answers.items() if found not in (right[name], None)]
            assert wrong == [], size
    assert failed


def test_a_flipped_bit_is_harmless_or_an_error_or_found_by_verify(warm, tictactoe_db, copy):
    chance = random.Random(2)
    whole = tictactoe_db.read_bytes()
    with Store.open(tictactoe_db) as store:
        right = ask(store)
    outcomes = set()
    for number in range(24):
        flipped = bytearray(whole)
        flipped[chance.randrange(100 if number < 6 else len(whole))] ^= 1 << chance.randrange(8)
        copy.write_bytes(whole)
        try:
            with Store.open(copy) as store:
                copy.write_bytes(flipped)
                answers = ask(store)
                wrong = {name for name in right if answers[name] not in (right[name], None)}
            with Store.open(copy) as store:
                answers = ask(store)
                wrong |= {name for name in right if answers[name] not in (right[name], None)}
                found = not verify(store).ok
        except GraphstoreError as error:
            found = bool(line_of(error))
        assert found or not wrong
        outcomes.add((bool(wrong), found))
        if found and number % 8 == 0:
            assert warm.run("verify", copy).returncode == 1
    assert {(False, False), (True, True)} <= outcomes


# Many at once

READER = """
import os, sys
from graphstore import Store
from graphstore.errors import StoreReplacedError
path, times = sys.argv[1], int(sys.argv[2])
while times:
    try:
        with Store.open(path) as store:
            rows, moves = (tuple(store.sql(f"SELECT * FROM {each}")) for each in ("state", "edge"))
            here = store.probe(store.info["start"])
            answers = store.info["name"], hash(rows), hash(moves), here.value, len(here.moves)
    except StoreReplacedError:
        continue
    print(*answers, flush=True)
    times -= 1
os._exit(0)
"""


def test_while_a_file_is_replaced_8_readers_see_the_old_game_or_the_new_one(warm, tmp_path):
    target = tmp_path / "t.db"
    games = ("tictactoe", "mnk(3,3,2)")
    right = set()
    for game in games:
        build(game, target, force=True)
        right.add(warm.run(target, 1, before=READER).stdout)
    readers = [warm.start(target, 12, before=READER) for _ in range(8)]
    reading, builds = threading.Event(), 0
    done = []

    def wait():
        done.extend(reader.end() for reader in readers)
        reading.set()

    waiter = threading.Thread(target=wait)
    waiter.start()
    while not reading.is_set():
        build(games[builds % 2], target, force=True)
        builds += 1
    waiter.join()
    for each in done:
        lines = each.stdout.splitlines(keepends=True)
        assert (each.returncode, each.stderr, len(lines)) == (0, "", 12)
        assert {*lines} <= right
    assert builds > 1
    assert_whole(target)


def test_a_reader_that_opens_a_file_lets_go_of_no_lock_of_its_process(warm, trained_db, tmp_path):
    """POSIX drops all locks of a process on a file when it closes any descriptor of it."""
    path = tmp_path / "t.db"
    shutil.copy(trained_db, path)
    with closing(sqlite3.connect(path, isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        Store.open(path).close()
        done = warm.run("train", path, "--games", "10", before=IMPATIENT)
        assert "another program is writing to it" in error_line(done)
        holder.execute("ROLLBACK")
    assert warm.run("train", path, "--games", "10").returncode == 0


# Signals


@pytest.mark.parametrize(
    "words",
    [
        ("build", "tictactoe", "--db", "new", "--force"),
        ("train", "t.db", "--games", "20000", "--seed", "1"),
        ("export", "t.db", "--format", "csv", "--output", "new"),
        ("export", "t.db", "--format", "parquet", "--output", "new"),
        ("export", "t.db", "--format", "gexf", "--output", "new"),
        ("verify", "t.db"),
        ("sql", "t.db", "SELECT count(board(id)) FROM state"),
    ],
    ids=lambda words: "-".join(words[::3]),
)
def test_a_signal_at_any_moment_is_one_line_and_exit_130_and_leaves_nothing(
    warm, trained_db, tmp_path, moments, words
):
    chance = random.Random(str(words))
    shutil.copy(trained_db, tmp_path / "t.db")
    events, gaps = course(warm, *words, cwd=tmp_path)
    for number in range(moments(1, 6)):
        new = tmp_path / "new"
        shutil.rmtree(new) if new.is_dir() else new.unlink(missing_ok=True)
        running = warm.start(*words, cwd=tmp_path, hold=True)
        place = chance.randrange(len(events))
        for _ in proceed(running, place):
            running.event()
        running.event()
        if number % 2:
            running.release()
            time.sleep(chance.random() * gaps[place])
        running.send(chance.choice((signal.SIGINT, signal.SIGTERM)))
        done = running.end()
        if done.returncode == 0:  # it ended before the signal
            assert done.stderr == ""
        else:
            assert (done.returncode, done.stderr.count("\n")) == (130, 1), done.stderr
            assert done.stderr.startswith("graphstore: interrupted")
        assert set(names(tmp_path)) <= {"t.db", "new"}
    assert_whole(tmp_path / "t.db")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_all_is_imported_is_one_line_too(number):
    code = "import os, signal, sys\nfrom graphstore.__main__ import run\n"
    code += "class Finder:\n    def find_spec(self, name, *_):\n"
    code += f"        name == 'click' and signal.raise_signal({int(number)})\n"
    code += "sys.meta_path.insert(0, Finder())\nrun()"
    done = subprocess.run(
        [sys.executable, "-c", code, "games"], capture_output=True, text=True, timeout=60
    )
    assert error_line(done, 130) == "interrupted"


# Other resources that run out or disappear


def test_a_build_whose_folder_is_removed_midway_is_one_line(warm, tmp_path):
    folder = tmp_path / "gone"
    for phase in ("explore", "load states", "fsync", "os.rename"):
        folder.mkdir()
        running = warm.start("build", "tictactoe", "--db", folder / "t.db", hold=True)
        while phase_of(running.event()) != phase:
            running.go()
        shutil.rmtree(folder)
        done = running.end()
        assert error_line(done).startswith(f"{folder}")
        assert not folder.exists()


@pytest.mark.parametrize("most", range(3, 8))
@pytest.mark.parametrize("words", [("build", "tictactoe", "--db", "new"), ("verify", "t.db")])
def test_where_too_few_files_can_be_opened_a_command_says_so_in_one_line(warm, copy, most, words):
    copy.rename(copy.with_name("t.db"))
    done = warm.run(*words, cwd=copy.parent, limits={"NOFILE": most})
    if done.returncode:
        error_line(done)
        assert names(copy.parent) == ["t.db"]
    else:
        assert done.stderr == ""


@pytest.mark.parametrize(
    ("words", "megabytes"),
    some_of(
        product(
            (
                ("build", "mnk(4,3,3)", "--db", "new"),
                ("export", "t.db", "--format", "gexf", "--output", "new"),
                ("sql", "t.db", "SELECT count(DISTINCT hex(randomblob(40000))) FROM edge"),
                ("verify", "t.db"),
            ),
            (5, 40),
        ),
        3,
    ),
)
def test_where_memory_is_short_a_command_says_so_in_one_line(warm, copy, megabytes, words):
    copy.rename(copy.with_name("t.db"))
    done = warm.run(*words, cwd=copy.parent, limits={"AS": megabytes * 2**20})
    if done.returncode:
        assert "memory" in error_line(done)
        assert names(copy.parent) == ["t.db"]


@pytest.mark.parametrize(
    "words",
    [
        ("games",),
        ("show", "t.db"),
        ("sql", "t.db", "SELECT * FROM state"),
        ("export", "t.db", "--format", "csv"),
        ("export", "t.db", "--format", "gmap"),
        ("verify", "t.db", "--json"),
        ("build", "mnk(2,2,2)", "--db", "new", "--json"),
        ("train", "t.db", "--games", "10"),
    ],
)
def test_an_output_that_is_full_or_closed_is_reported(warm, copy, words):
    copy.rename(copy.with_name("t.db"))
    with open("/dev/full", "w") as full:
        done = warm.run(*words, cwd=copy.parent, stdout=full.fileno())
    assert "No space left on device" in error_line(done)
    (copy.parent / "new").unlink(missing_ok=True)
    reading, writing = os.pipe()
    os.close(reading)
    done = warm.run(*words, cwd=copy.parent, stdout=writing)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_clock_that_goes_back_changes_nothing(warm, trained_db, tmp_path):
    path = tmp_path / "t.db"
    shutil.copy(trained_db, path)
    (tmp_path / ".t.db.building").touch()
    for name in names(tmp_path):
        os.utime(tmp_path / name, (2**33, 2**33))
    back = (
        "import time; now, begun = time.time(), time.perf_counter();"
        "time.time = lambda: now - 10**6 * (time.perf_counter() - begun)"
    )
    for words in (("build", "tictactoe", "--db", path, "--force"), ("train", path, "--games", 9)):
        assert warm.run(*words, before=back).returncode == 0
    assert names(tmp_path) == ["t.db"]
    assert_whole(path)


def test_a_writer_repairs_what_a_killed_writer_left(warm, trained_db, tmp_path):
    path = tmp_path / "t.db"
    for words in (
        ("train", path, "--games", "10"),
        ("train", path, "--agent", "new", "--as", "X", "--games", "10"),
        ("play", path, "--against", "menace", "--learn", "--moves", "4"),
        ("agents", path, "menace", "--remove"),
        ("build", "tictactoe", "--db", path, "--force"),
    ):
        shutil.copy(trained_db, path)
        subprocess.run([sys.executable, "-c", WRITER, path, "delete"], check=True, timeout=60)
        assert "run: graphstore upgrade" in error_line(warm.run("show", path))
        done = warm.run(*words)
        assert done.returncode == 0, done
        assert_whole(path)


def test_in_a_removed_working_folder_absolute_names_work_and_others_name_the_cause(
    warm, copy, tmp_path
):
    for words, code in (
        (("games",), 0),
        (("show", copy), 0),
        (("build", "nim(1)", "--db", tmp_path / "new.db"), 0),
        (("build", "nim(1)", "--folder", tmp_path / "new"), 0),
        (("export", copy, "--format", "csv", "--output", tmp_path / "out"), 0),
        (("show", "t.db"), 1),
        (("build", "nim(1)"), 1),
        (("build", "nim(1)", "--folder", "new"), 1),
        (("load", tmp_path / "new"), 1),
        (("sql", tmp_path / "new", "SELECT 1"), 0),
        (("draw", copy, "--output", "new.svg"), 1),
    ):
        folder = tmp_path / "gone"
        folder.mkdir()
        done = warm.run(
            *words, before=f"import os; os.chdir({str(folder)!r}); os.rmdir({str(folder)!r})"
        )
        assert done.returncode == code, done
        if code:
            assert "the working folder does not exist any more" in error_line(done)


@pytest.mark.parametrize("megabytes", some_of(range(100, 600, 200), 2))
@pytest.mark.parametrize(
    "words",
    [
        ("build", "tictactoe", "--db", "new"),
        ("build", "tictactoe", "--folder", "new"),
        ("load", "t.parts", "--db", "new"),
        ("sql", "t.parts", "SELECT 1"),
        ("export", "t.db", "--format", "parquet", "--output", "new"),
        ("train", "t.db", "--games", "10"),
    ],
    ids=lambda words: "-".join(words[:2]),
)
def test_a_process_with_little_address_space_works_or_says_so_in_one_line(
    trained_db, tmp_path, words, megabytes
):
    """It begins with the limit, as after ``ulimit -v``."""
    shutil.copy(trained_db, tmp_path / "t.db")
    build_folder("tictactoe", tmp_path / "t.parts")
    most = megabytes * 1_000_000
    done = subprocess.run(
        [*GRAPHSTORE, *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)),
    )
    if done.returncode:
        assert (done.returncode, done.stdout) == (1, "")
        assert len(done.stderr.splitlines()) == 1
        assert "memory" in done.stderr.lower()
        assert "t.parts" not in done.stderr


LOCKLESS = """
import errno, filelock
def fails(*_, **__):
    raise OSError(errno.ENOLCK, "No locks available")
filelock.lock_descriptor = fails
"""


@pytest.mark.parametrize(
    "words",
    [
        ("export", "t.db", "--format", "csv", "--output", "new"),
        ("build", "nim(1)", "--db", "new.db"),
        ("build", "nim(1)", "--folder", "new"),
    ],
    ids=lambda words: words[3],
)
def test_where_files_cannot_be_locked_a_command_says_so_and_leaves_no_draft(warm, copy, words):
    copy.rename(copy.with_name("t.db"))
    done = warm.run(*words, cwd=copy.parent, before=LOCKLESS)
    assert "No locks available" in error_line(done)
    assert names(copy.parent) == ["t.db"]
