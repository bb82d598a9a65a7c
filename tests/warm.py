"""Run graphstore commands in processes that are forked from one with all imports done.

Starting Python and importing what a build needs takes half a second, a fork some milliseconds. So a
test can kill dozens of processes, or run them without memory or rights. Run as a script, this file
is the process that forks.
"""

import gc
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path

try:
    import fcntl
    import resource
except ImportError:  # on Windows
    import pytest

    pytest.skip("processes cannot be forked here", allow_module_level=True)

NOBODY = 65534


class Warm:
    """A process that forks commands; close it at the end."""

    def __init__(self):
        self._socket, theirs = socket.socketpair()
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno())], pass_fds=(theirs.fileno(),)
        )
        theirs.close()

    def start(
        self,
        *words,
        limits=None,
        user=None,
        before="",
        code="",
        hold=False,
        stdin="",
        stdout=None,
        cwd=None,
        environment=None,
    ) -> "Running":
        """Start a command.

        Args:
            words: the words of the command line.
            limits: resource limits by name, such as ``{"FSIZE": 0}``; AS counts from the memory
                that the process has at its start.
            user: the id of the user and group to run as.
            before: Python code to run first.
            code: Python code to run instead of a command.
            hold: True to wait at every event for `Running.go` or `Running.release`.
            stdout: a file descriptor; by default the output is returned by `Running.end`.
            stdin: the text of its standard input.
            cwd: the current directory.
            environment: variables to add.
        """
        request = {
            "words": [*map(str, words)],
            "limits": limits or {},
            "user": user,
            "before": before,
            "code": code,
            "cwd": str(cwd or os.getcwd()),
            "environment": environment or {},
        }
        (out, printed), (err, said), (events, tell), (wait, go) = (os.pipe() for _ in range(4))
        for each in (out, err):  # read at the end, so the pipe must hold everything
            fcntl.fcntl(each, fcntl.F_SETPIPE_SZ, 2**20)
        with tempfile.TemporaryFile() as typed:
            typed.write(stdin.encode())
            typed.seek(0)
            given = [printed if stdout is None else stdout, said, tell, wait, typed.fileno()]
            socket.send_fds(self._socket, [json.dumps(request).encode()], given)
            pid = self._answer()
        for each in (printed, said, tell, wait):
            os.close(each)
        running = Running(self, words, pid, out, err, events, go)
        if not hold:
            running.release()
        return running

    def at(self, phase, *words, **how) -> "Running":
        """Start a command and return when it waits at a phase of its progress."""
        running = self.start(*words, hold=True, **how)
        while event := running.event():
            if event.startswith(phase):
                return running
            running.go()
        raise AssertionError(running.end())

    def run(self, *words, **how) -> subprocess.CompletedProcess:
        """Run a command and wait for its end."""
        return self.start(*words, **how).end()

    def wait(self, pid) -> int:
        """Wait for a process; return its exit code, negative if a signal ended it."""
        self._socket.send(json.dumps(pid).encode())
        return self._answer()

    def _answer(self):
        return json.loads(self._socket.recv(100))

    def close(self):
        """End the process that forks."""
        self._socket.close()
        self._process.wait(60)


class Running:
    """A running command.

    Its events are progress reports, and connections, renames and syncs just before they happen.
    """

    def __init__(self, warm, words, pid, out, err, events, go):
        self._warm, self._words, self._pid = warm, words, pid
        self._out, self._err, self._events = (os.fdopen(each, "rb") for each in (out, err, events))
        self._go = go

    def event(self) -> str:
        """Wait for the next event and return it; "" after the process has ended."""
        return self._events.readline().decode().rstrip("\n")

    def go(self):
        """Let the command continue from the event at which it waits."""
        with suppress(BrokenPipeError):  # it has ended
            os.write(self._go, b".")

    def release(self):
        """Let the command continue without waiting at events."""
        if self._go is not None:
            os.close(self._go)
            self._go = None

    def send(self, number=signal.SIGKILL):
        """Send a signal; the process id is valid until `end` is called, also after it has died."""
        os.kill(self._pid, number)

    def end(self) -> subprocess.CompletedProcess:
        """Wait for the end of the command; return its result."""
        self.release()
        code = self._warm.wait(self._pid)
        self._events.close()
        with self._out, self._err:
            said = [file.read().decode() for file in (self._out, self._err)]
        return subprocess.CompletedProcess(self._words, code, *said)


def serve(channel):
    """Fork a process for each request; in that process, return the request."""
    while True:
        message, given, *_ = socket.recv_fds(channel, 100_000, 5)
        if not message:
            os._exit(0)
        request = json.loads(message)
        if isinstance(request, int):
            answer = os.waitstatus_to_exitcode(os.waitpid(request, 0)[1])
        else:
            answer = os.fork()
            if answer == 0:
                channel.close()
                return request, given
        for each in given:
            os.close(each)
        channel.send(json.dumps(answer).encode())


def become(request, given):
    """Set up this process as a request describes."""
    out, err, tell, wait, typed = given
    for descriptor, number in ((typed, 0), (out, 1), (err, 2)):
        os.dup2(descriptor, number)
        os.close(descriptor)
    # As the interpreter opens them: with block buffering.
    sys.stdin, sys.stdout = open(0), open(1, "w")  # noqa: SIM115  # stays open
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace")  # noqa: SIM115
    sys.argv = ["graphstore", *request["words"]]
    os.chdir(request["cwd"])
    os.environ.update(request["environment"])
    tell_events(tell, wait)
    for name, limit in request["limits"].items():
        if name == "AS":
            limit += int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        if name == "FSIZE":
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # as Python does at its start
        resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (limit, limit))
    exec(request["before"], {})  # noqa: S102  # code of a test
    if request["user"] is not None:
        os.setgroups([])
        os.setresgid(*[request["user"]] * 3)
        os.setresuid(*[request["user"]] * 3)


def tell_events(tell, wait):
    """Write every event to the pipe `tell`, then wait for a byte on `wait`, or for its end."""
    from graphstore.cli import console
    from graphstore.rules import game

    def event(name):
        with suppress(BrokenPipeError):
            os.write(tell, f"{name}\n".encode())
        os.read(wait, 1)

    class Shown:
        def __enter__(self):
            return lambda phase, done, _: event(f"{phase} {done}")

        def __exit__(self, *_):
            pass

    sync = os.fsync

    def fsync(descriptor):
        event("fsync")
        sync(descriptor)

    def hook(name, arguments):
        if name == "os.rename" or (name == "sqlite3.connect" and "/" in str(arguments[0])):
            event(name)

    assert game.quiet
    console.progress_shown = Shown
    os.fsync = fsync
    sys.addaudithook(hook)


def warm_up():
    """Import everything that a command may need, by running some commands."""
    import pyarrow.parquet  # noqa: F401

    from graphstore import Store, build, export, train, verify
    from graphstore.__main__ import run
    from graphstore.cli import boards, console  # noqa: F401
    from graphstore.cli.main import main  # noqa: F401

    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        path = f"{folder}/t.db"
        build("mnk(2,2,2)", path)
        train(path, games=1)
        store = stack.enter_context(Store.open(path))
        verify(store)
        export(store, f"{folder}/t", "parquet")
        export(store, f"{folder}/t.gexf", "gexf")
        list(store.sql("SELECT board(id) FROM state"))
    return run


if __name__ == "__main__":
    run = warm_up()
    gc.freeze()  # children do not collect these objects, so they end faster
    request, given = serve(socket.socket(fileno=int(sys.argv[1])))
    become(request, given)
    if request["code"]:
        exec(request["code"], {"__name__": "__main__"})  # noqa: S102  # a test's own
    else:
        run()
