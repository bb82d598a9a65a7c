"""Count how often a fault loses something: kills, failing calls, full disks, damaged files.

Faults are tried at random, in commands on small games that are forked from this process. A case is
lost if content is lost or wrong, or a command ends with a traceback or a wrong exit code, hangs, or
leaves a draft or a process. A case whose command ends before the fault is not counted.
"""

import argparse
import gzip
import json
import multiprocessing
import os
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from unittest.mock import patch

import duckdb
import pyarrow.parquet
from shared import run_main

from graphstore import GraphstoreError, Store, build, export, train, verify
from graphstore.__main__ import run as graphstore
from graphstore.building.parts import build as in_parts
from graphstore.cli.console import print_json, print_table
from graphstore.play import training
from graphstore.store.folder import sql as folder_sql
from graphstore.store.folder.layout import TABLES

OLDER = Path(__file__).parents[2] / "tests/data/tictactoe.0001.db.gz"
TIMES = ("built_at", "built_with", "build_seconds")  # differ between two builds
OF_AGENTS = {"agent", "bead", "played", "checkpoint"}  # tables that verify checks in part
SECONDS = 100  # until a command counts as hanging
CALLS = "write pwrite64 pread64 fsync fdatasync openat rename link ftruncate mmap"
ERRORS = ("EIO", "ENOSPC", "EINTR", "ENOMEM", "EACCES")
SIGNALS = (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM))


class Task(NamedTuple):
    """A command, the files that it needs, and the file or folder that it writes."""

    words: str
    needs: str
    target: str = ""


WRITING = (
    Task("build tictactoe --folder new --parts 2", "", "new"),
    Task("build 'mnk(3,3,2)' --folder parts --parts 2 --force", "parts", "parts"),
    Task("build tictactoe --db t.db --force", "t.db", "t.db"),
    Task("build 'mnk(3,3,2)' --db t.db --force --drop-agents", "t.db", "t.db"),
    Task("build tictactoe --db new.db", "", "new.db"),
    Task("load parts --db t.db --force", "parts t.db", "t.db"),
    Task("load parts --db new.db", "parts", "new.db"),
    Task("upgrade older.db", "older.db", "older.db"),
    Task("train t.db --games 600", "t.db", "t.db"),
)
READING = (
    Task("sql parts 'SELECT * FROM state ORDER BY id'", "parts"),
    Task("sql parts 'SELECT * FROM edge ORDER BY parent, move'", "parts"),
    Task("show t.db XO./.X./...", "t.db"),
    Task("export t.db --format csv --output out", "t.db", "out"),
    Task("export t.db --format gexf --output out", "t.db", "out"),
)
OF_FILES = (
    *("show t.db XO./.X./...", "stats t.db", "line t.db", "agents t.db", "agents t.db menace"),
    *("draw t.db --format text", "play t.db --moves 4,1 --against menace --seed 1"),
    "export t.db --format gexf",
    *(f"export t.db --format csv --table {each}" for each in ("state", "edge", "matchbox")),
    "sql t.db 'SELECT * FROM edge JOIN state ON child = id ORDER BY parent, move'",
)


class UntraceableError(GraphstoreError):
    """strace is missing, or may not trace."""


class Case(NamedTuple):
    """A fault, and what it has lost."""

    fault: str
    lost: str = ""


class Done(NamedTuple):
    """A command that has ended; the code is None if it hung or left a process."""

    code: int | None
    out: str
    err: str
    calls: str  # the log of strace

    @property
    def wrong(self) -> str:
        """The outcome, if it is not success, one line of error, or the end by SIGKILL."""
        last = self.err.splitlines()[-1:]
        line = self.err.count("\n") == 1 + ("are kept; run" in self.err) and "bug" not in self.err
        refused = self.code in (1, 130) and line and last[0].startswith("graphstore: ")
        right = refused or (self.code in (0, -9) and "Traceback" not in self.err)
        return "" if right else f"exit code {self.code}: {self.out[-200:]}{self.err[-500:]}"


def run(
    words: str,
    folder: Path,
    *,
    kill: tuple[int, float] | None = None,
    room: int | None = None,
    tracer: Sequence[str] = (),
) -> Done:
    """Run a command; send it a signal after some seconds, limit its files, or trace its calls."""
    ready, go = os.pipe()
    with ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile("w+")) for _ in range(2)]
        log = stack.enter_context(tempfile.NamedTemporaryFile("r"))
        numbers = [each.fileno() for each in files]
        fork = multiprocessing.get_context("fork").Process
        child = fork(target=work, args=(shlex.split(words), folder, numbers, ready, room))
        child.start()
        assert child.pid
        code: int | None = None
        try:
            if tracer:
                command = ["strace", "-f", "-o", log.name, *tracer, "-p", str(child.pid)]
                if not shutil.which("strace"):
                    raise UntraceableError("strace is not installed")
                strace = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
                if strace.stderr and "attached" not in (said := strace.stderr.readline()):
                    raise UntraceableError(said.strip())
            os.write(go, b".")
            if kill:
                time.sleep(kill[1])
                os.kill(child.pid, kill[0])
            child.join(SECONDS)
            code = child.exitcode
        finally:
            os.close(ready)
            os.close(go)
            child.kill()
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
                code = None
        if tracer:
            strace.communicate()
        out, err, calls = (each.read() for each in (*files, log) if each.seek(0) == 0)
        return Done(code, out, err, calls)


def work(words: list[str], folder: Path, files: list[int], ready: int, room: int | None) -> None:
    """Run a command in this process, after a byte can be read from `ready`."""
    os.setpgid(0, 0)
    os.chdir(folder)
    for number, file in enumerate((os.open(os.devnull, os.O_RDONLY), *files)):
        os.dup2(file, number)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", 1)  # noqa: SIM115
    sys.argv = ["graphstore", *words]
    os.read(ready, 1)
    if room is not None:
        import resource  # not on Windows

        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
    graphstore()


def content(path: Path) -> Any:
    """Return the rows of a database, the files of a folder, the bytes of a file, or None."""
    if path.is_dir():
        files = {each.name: each.read_bytes() for each in path.glob("*.*")}
        digests = json.loads(files.pop("game.json", b"{}")).get("digests")
        parts = sorted(each for table in TABLES for each in path.glob(f"{table}/*/*"))
        return files, digests, [each.read_bytes() for each in parts]
    if path.suffix != ".db" or not path.exists():
        return path.read_bytes() if path.exists() else None
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            schema = connection.execute("SELECT name, type, sql FROM sqlite_schema").fetchall()
            found = {"sqlite_schema": sorted(map(repr, schema))}
            for name in [name for name, kind, _ in schema if kind == "table"]:
                if name.startswith("sqlite_"):  # estimates, by how full pages are
                    continue
                table = connection.execute(f'SELECT * FROM "{name}"')
                kept = [at for at, (each, *_) in enumerate(table.description) if each not in TIMES]
                rows = sorted(repr([row[at] for at in kept]) for row in table)
                found[name] = [row for row in rows if not row.startswith(DIGESTS)]
            return found
    except (sqlite3.Error, UnicodeDecodeError) as error:
        return {"unreadable": repr(error)}


# Children that are killed after a moment must not spend it on imports.
IMPORTED = (duckdb, pyarrow.parquet, in_parts, folder_sql, pyarrow.array([0]))
DIGESTS = tuple(f"['game.{each}'" for each in TIMES)


class Bench:
    """The files that commands need in `made`, and a small disk; each method makes a case."""

    def __init__(self, made: Path, disk: Path | None) -> None:
        self.made, self.disk = made, disk
        right, trained = made / "right.db", made / "t.db"
        build("tictactoe", right)
        shutil.copy(right, trained)
        train(trained, games=100, seed=1)
        with Store.open(trained) as store:  # so that children need not import the modules
            verify(store)
            export(store, made / "imports.gexf", "gexf")
        assert run("build tictactoe --folder parts --parts 2", made).code == 0
        (made / "older.db").write_bytes(gzip.decompress(OLDER.read_bytes()))

    @contextmanager
    def folder(self, needs: str, within: Path | None = None) -> Iterator[Path]:
        """Yield a temporary folder with copies of some files."""
        with tempfile.TemporaryDirectory(dir=within) as folder:
            for name in needs.split():
                copy = shutil.copytree if (self.made / name).is_dir() else shutil.copy
                copy(self.made / name, Path(folder, name))
            yield Path(folder)

    @cache  # noqa: B019  # there is one bench
    def right(self, task: Task) -> tuple[float, Any, str]:
        """Return the seconds of a command without fault, its result and its output."""
        with self.folder(task.needs) as folder:
            began = time.monotonic()
            done = run(task.words, folder)
            took = time.monotonic() - began
            assert done.code == 0, done
            return took, content(folder / task.target) if task.target else None, done.out

    @cache  # noqa: B019
    def calls(self, task: Task) -> list[str]:
        """Return the names of the system calls of a command."""
        with self.folder(task.needs) as folder:
            trace = f"trace=?{CALLS.replace(' ', ',?')}"
            log = run(task.words, folder, tracer=("-e", trace)).calls
            return re.findall(r"^\d+ +(\w+)\(", log, re.MULTILINE)

    def killed(self, chance: Random) -> Case | None:
        """Send a signal to a command."""
        task, number = chance.choice(WRITING), chance.choice(SIGNALS)
        kill = number, 0.005 + chance.random() * self.right(task)[0]  # not before its handlers
        return self.after(task, f"{number.name} after {kill[1]:.3f} s", kill=kill)

    def failed(self, chance: Random) -> Case | None:
        """Let a system call of a command fail."""
        task = chance.choice(WRITING + READING)
        calls = self.calls(task)
        call, error = chance.choice(sorted({*calls})), chance.choice(ERRORS)
        fault = f"{call}:error={error}:when={chance.randint(1, calls.count(call))}"
        return self.after(task, fault, tracer=("-e", f"trace={call}", "-e", f"inject={fault}"))

    def full(self, chance: Random) -> Case | None:
        """Limit the size of the files of a command, or the room on the disk."""
        task, room = chance.choice(WRITING + READING[3:]), 2 ** chance.randrange(12, 20)
        room += chance.randrange(room)
        if self.disk and chance.random() < 0.5:
            return self.after(task, f"{room} bytes on the disk", left=room)
        return self.after(task, f"files of {room} bytes", room=room)

    def after(self, task: Task, fault: str, *, left: int = -1, **how: Any) -> Case | None:
        """Run a command with a fault, and see what is lost."""
        with self.folder(task.needs, self.disk if left >= 0 else None) as folder:
            filler = folder / "filler"
            if left >= 0:
                filler.write_bytes(bytes(shutil.disk_usage(folder).free - left))
            done = run(task.words, folder, **how)
            filler.unlink(missing_ok=True)
            if ("kill" in how and done.code == 0) or ("tracer" in how and "INJ" not in done.calls):
                return None
            return Case(f"{task.words}: {fault}", self.lost(task, folder, done))

    def lost(self, task: Task, folder: Path, done: Done) -> str:
        """Return what is lost after a fault, and after the command is repeated without one."""
        target, (_, new, output) = folder / task.target, self.right(task)
        old = content(self.made / task.target) if task.target in task.needs.split() else None
        names = {task.target, *task.needs.split()} - {""}
        left = {each.name for each in folder.iterdir()} - names - {f"{task.target}-journal"}
        if done.wrong or (left and done.code != -signal.SIGKILL and "--folder" not in task.words):
            return done.wrong or f"left: {left}"
        if not task.target:
            return "wrong output" if done.code == 0 and done.out != output else ""
        words, found = task.words, content(target)
        if target.suffix == ".db" and found not in (None, old):
            checked = run(f"verify {task.target}", folder)
            if "killed while it wrote; run: graphstore upgrade" in checked.err:
                run(f"upgrade {task.target}", folder)
                checked, found = run(f"verify {task.target}", folder), content(target)
            if checked.code:
                return f"verify: {checked.out}{checked.err}"
        if words.startswith("train"):
            more = sum(row[-1] for row in new["played"]) - sum(row[-1] for row in found["played"])
            words = f"train {task.target} --games {more}"
        elif found not in (old, new) or (done.code == 0 and found != new):
            return "the content is neither old nor new, or not new after success"
        if found != new or "--force" in words:
            done = run(words, folder)
            if done.code or content(target) != new:
                return f"repeated: not the new content; {done.err}"
        left = {each.name for each in folder.iterdir()} - names
        if left:
            return f"repeated: left {left}"
        return self.loaded(folder) if task.target == "new" else ""

    def loaded(self, folder: Path, parts: str = "new", *, damaged: bool = False) -> str:
        """Load tic-tac-toe from a folder and read it by SQL; return what is wrong."""
        done = run(f"load {parts} --db loaded.db", folder)
        if done.code:
            return done.wrong if damaged else f"load: {done.err}"
        if content(folder / "loaded.db") != content(self.made / "right.db"):
            return "load: wrong content"
        for task in READING[:2]:
            sql = run(task.words.replace("parts", parts, 1), folder)
            if sql.wrong or (sql.code == 0 and sql.out != self.right(task)[2]):
                return f"{task.words}: {sql.wrong or 'wrong rows'}"
        return ""

    def file(self, chance: Random) -> Case:
        """Damage a database: readers are right or refuse it, or `verify` names a problem."""
        with self.folder("t.db") as folder:
            fault = damage(folder / "t.db", chance)
            verdict = run("verify t.db", folder)
            passed, now = verdict.code == 0, content(folder / "t.db")
            right = self.right(Task("stats t.db", "t.db", "t.db"))[1]
            changed = {each for each in right if now.get(each) != right[each]}
            if verdict.wrong and not (verdict.code == 1 and not verdict.err):
                return Case(fault, f"verify: {verdict.wrong}")
            if passed and changed - OF_AGENTS:
                return Case(fault, f"verify finds nothing, but changed: {changed}")
            for words in chance.sample(OF_FILES, 3):
                done = run(words, folder)
                same = changed or done.code or done.out == self.right(Task(words, "t.db"))[2]
                if done.wrong or (passed and not same):
                    return Case(fault, f"{words}: {done.wrong or 'wrong output'}")
        return Case(fault)

    def parts(self, chance: Random) -> Case:
        """Damage a finished folder: it loads as it was, and SQL is right, or it is refused."""
        with self.folder("parts") as folder:
            fault = damage(chance.choice(files(folder)), chance)
            return Case(fault, self.loaded(folder, "parts", damaged=True))

    def draft(self, chance: Random) -> Case | None:
        """Kill a build in parts, damage its draft, and build it again."""
        with self.folder("") as folder:
            task = WRITING[0]
            run(task.words, folder, kill=(SIGNALS[2], chance.random() * self.right(task)[0]))
            if (folder / task.target).exists() or not files(folder):
                return None
            fault = damage(chance.choice(files(folder)), chance)
            done = run(task.words, folder)
            return Case(fault, done.wrong if done.code else self.loaded(folder))


def files(folder: Path) -> list[Path]:
    """Return all files in a folder."""
    return sorted(each for each in folder.rglob("*") if each.is_file())


def damage(path: Path, chance: Random) -> str:
    """Damage a file: cut it, swap or overwrite pages, flip one bit, or change some bytes."""
    data, way = bytearray(path.read_bytes()), chance.random()
    size = min(4096, len(data) // 4 + 1)
    places = [size * chance.randrange(len(data) // size or 1) for _ in range(2)]
    one, two = (slice(at, at + size) for at in places)
    if not data or way < 0.15:
        del data[chance.randrange(len(data) + 1) :]
    elif way < 0.3:
        data[one], data[two] = data[two], data[one]
    elif way < 0.4:
        data[one] = chance.randbytes(size) if chance.random() < 0.5 else bytes(size)
    elif way < 0.7:
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    else:
        for _ in range(int(2 ** (8 * chance.random()))):
            near = places[0] if chance.random() < 0.5 else chance.randrange(len(data))
            spot = near + chance.randrange(size if chance.random() < 0.5 else 100)
            data[min(spot, len(data) - 1)] = chance.randrange(256)
    path.write_bytes(data)
    return f"{path.relative_to(path.parents[1])}, {way:.2f}"


KINDS: dict[str, tuple[Callable[[Bench, Random], Case | None], int, str]] = {
    "kills": (Bench.killed, 300, "signals to commands that write"),
    "calls": (Bench.failed, 200, "system calls that fail, where strace is installed"),
    "disks": (Bench.full, 200, "full disks, for root, and limits to the size of files"),
    "files": (Bench.file, 1000, "damaged databases"),
    "folders": (Bench.parts, 300, "damaged folders"),
    "drafts": (Bench.draft, 100, "builds in parts whose drafts are damaged"),
}


def main() -> None:
    """Print how many cases were tried and lost; exit with 1 if any was lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    for kind, (_, number, what) in KINDS.items():
        parser.add_argument(f"--{kind}", type=int, metavar="N", help=f"{what} (default: {number})")
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same cases")
    parser.add_argument("--case", type=int, metavar="N", help="only the case of this number")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args()
    if not hasattr(os, "fork"):
        raise GraphstoreError("processes cannot be forked here")
    asked = {kind: getattr(given, kind) for kind in KINDS}
    numbers = asked if any(asked.values()) else {kind: row[1] for kind, row in KINDS.items()}
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the disk is unmounted first
    with bench() as here:
        tallies = [
            tally(here, kind, number, given.seed, given.case)
            for kind, number in numbers.items()
            if number
        ]
    if given.json:
        print_json(tallies)
    else:
        head = ("kind", "tried", "lost")
        print_table(head, [[len(v) if k == "lost" else v for k, v in t.items()] for t in tallies])
        for each in tallies:
            for case, fault, lost in each["lost"]:
                print(f"\n--{each['kind']} 1 --case {case}: {fault}\n    {lost}")
    sys.exit(any(each["lost"] for each in tallies))


def tally(here: Bench, kind: str, number: int, seed: int, only: int | None) -> dict[str, Any]:
    """Return how many cases of a kind were tried, and those that were lost."""
    tried, lost = 0, list[tuple[int, str, str]]()
    for at in range(3 * number) if only is None else [only]:
        try:
            case = KINDS[kind][0](here, Random(f"{seed} {kind} {at}")) if tried < number else None
        except UntraceableError as error:
            print(f"{kind}: skipped: {error}", file=sys.stderr)
            break
        if case:
            tried += 1
            lost += [(at, *case)] if case.lost else []
    return {"kind": kind, "tried": tried, "lost": lost}


@contextmanager
def bench() -> Iterator[Bench]:
    """Yield a bench in a temporary folder; for root with a small disk."""
    with ExitStack() as stack:
        stack.enter_context(patch.object(training, "SAVE_EVERY", 0.01))  # more to interrupt
        stack.enter_context(patch.dict(os.environ, {"GRAPHSTORE_DEBUG": ""}))
        made = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        disk = made / "disk"
        disk.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(disk)]
        root = os.geteuid() == 0 and shutil.which("mount") and sys.platform == "linux"
        mounted = root and subprocess.run(mount, capture_output=True).returncode == 0
        if mounted:
            stack.callback(subprocess.run, ["umount", str(disk)])
        yield Bench(made, disk if mounted else None)


if __name__ == "__main__":
    run_main(main)
