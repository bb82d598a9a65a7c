"""Commands in processes of their own, forked from one that has imported all they need.

Starting Python and importing what a build needs takes half a second, a fork some milliseconds: so
dozens of processes can be killed, starved and locked out in a test. Run as a script, this is the
process that forks.
"""

import fcntl
import gc
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path

NOBODY = 65534


class Warm:
    """A process that forks others; close it at the end."""

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
            words: of its command line.
            limits: of its resources by name, such as ``{"FSIZE": 0}``; AS is beyond what it has.
            user: whose rights it has.
            before: Python to run first.
            code: Python to run instead of a command.
            hold: whether it waits at every event for `Running.go` or `Running.release`.
            stdin: its input.
            stdout: a file descriptor.
            cwd: its folder.
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
        for each in (out, err):  # is read at the end, so all of it must fit in
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
        """Start a command, and return when it has come to a phase of its progress; it waits."""
        running = self.start(*words, hold=True, **how)
        while event := running.event():
            if event.startswith(phase):
                return running
            running.go()
        raise AssertionError(running.end())

    def run(self, *words, **how) -> subprocess.CompletedProcess:
        """Run a command to its end."""
        return self.start(*words, **how).end()

    def wait(self, pid) -> int:
        """Return the exit code of a process, negative if a signal ended it."""
        self._socket.send(json.dumps(pid).encode())
        return self._answer()

    def _answer(self):
        return json.loads(self._socket.recv(100))

    def close(self):
        """End it."""
        self._socket.close()
        self._process.wait(60)


class Running:
    """A command that runs.

    Its events are its progress, and the connections, renames and syncs that it is about to make.
    """

    def __init__(self, warm, words, pid, out, err, events, go):
        self._warm, self._words, self._pid = warm, words, pid
        self._out, self._err, self._events = (os.fdopen(each, "rb") for each in (out, err, events))
        self._go = go

    def event(self) -> str:
        """Return the next event, when it comes; nothing once the process has ended."""
        return self._events.readline().decode().rstrip("\n")

    def go(self):
        """Let it go on from an event at which it waits."""
        with suppress(BrokenPipeError):  # it has ended
            os.write(self._go, b".")

    def release(self):
        """Let it go on, and not wait any more."""
        if self._go is not None:
            os.close(self._go)
            self._go = None

    def send(self, number=signal.SIGKILL):
        """Send it a signal; it is there until `end` is called, though it may be dead."""
        os.kill(self._pid, number)

    def end(self) -> subprocess.CompletedProcess:
        """Wait for its end."""
        self.release()
        code = self._warm.wait(self._pid)
        self._events.close()
        with self._out, self._err:
            said = [file.read().decode() for file in (self._out, self._err)]
        return subprocess.CompletedProcess(self._words, code, *said)


def serve(channel):
    """Fork a process for each request; return in it what it must do."""
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
    """Take the place that a request describes."""
    out, err, tell, wait, typed = given
    for descriptor, number in ((typed, 0), (out, 1), (err, 2)):
        os.dup2(descriptor, number)
        os.close(descriptor)
    # As the interpreter opens them: output to a file is written when a block is full.
    sys.stdin, sys.stdout = open(0), open(1, "w")  # noqa: SIM115  # for good
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace")  # noqa: SIM115
    sys.argv = ["graphstore", *request["words"]]
    os.chdir(request["cwd"])
    os.environ.update(request["environment"])
    tell_events(tell, wait)
    for name, limit in request["limits"].items():
        if name == "AS":
            limit += int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        if name == "FSIZE":
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # as Python itself does at its start
        resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (limit, limit))
    exec(request["before"], {})  # noqa: S102  # a test's own
    if request["user"] is not None:
        os.setgroups([])
        os.setresgid(*[request["user"]] * 3)
        os.setresuid(*[request["user"]] * 3)


def tell_events(tell, wait):
    """Write every event to one pipe, and wait until the other has a byte for it, or is closed."""
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
    """Do once what imports all that a command may need."""
    import pyarrow.parquet  # noqa: F401

    from graphstore import Store, build, export, train, verify
    from graphstore.__main__ import run
    from graphstore.cli import console  # noqa: F401
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
    gc.freeze()  # what is here is left alone by the children, whose ends are quicker so
    request, given = serve(socket.socket(fileno=int(sys.argv[1])))
    become(request, given)
    if request["code"]:
        exec(request["code"], {"__name__": "__main__"})  # noqa: S102  # a test's own
    else:
        run()
