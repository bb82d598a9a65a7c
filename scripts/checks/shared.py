"""Functions that the scripts of this folder share: processes, time and memory."""

import json
import os
import platform
import runpy
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil

from graphstore import GraphstoreError
from graphstore.util.memory import machine_memory

Figures = dict[str, Any]


def run_main(main: Callable[[], None]) -> None:
    """Run a script: an error is reported on stderr, and the exit code is 1."""
    try:
        main()
    except GraphstoreError as error:
        sys.exit(f"{Path(sys.argv[0]).stem}: {error}")
    except (BrokenPipeError, KeyboardInterrupt):  # `head` has read enough, or Ctrl-C
        os._exit(1)
    except OSError as error:
        sys.exit(f"{Path(sys.argv[0]).stem}: {error.filename}: {error.strerror}")


# Processes


def in_own_process(
    script: str, function: str, *arguments: Any, seconds: float | None = None
) -> Any:
    """Call a function of a script in a new process, so that its peak memory is its own.

    Raises:
        GraphstoreError: the function fails; the message is the stderr of the process.
    """
    command = [sys.executable, __file__, script, function, json.dumps(arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    if done.returncode:
        raise GraphstoreError(
            done.stderr.strip() or f"{function} ended with exit code {done.returncode}"
        )
    sys.stderr.write(done.stderr)
    return json.loads(done.stdout)


def best_runs(
    tasks: Sequence[Figures],
    measure: Callable[[Figures], Figures],
    seconds: Callable[[Figures], Any],
) -> dict[str, Figures]:
    """Return the fastest run of each task, by the text of the task; tasks may be repeated."""
    best: dict[str, Figures] = {}
    for number, task in enumerate(tasks, 1):
        words = " ".join(str(each) for each in task.values() if each is not None)
        print(f"{number}/{len(tasks)}  {words} ...", file=sys.stderr, flush=True)
        new = measure(task)
        best[words] = min(best.get(words, new), new, key=seconds)
    return best


@contextmanager
def served(files: Sequence[str | os.PathLike[str]]) -> Iterator[str]:
    """Yield the address of a `graphstore serve` of some files, in a new process."""
    command = [sys.executable, "-m", "graphstore", "serve", "--port", "0", *files]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip().rstrip("/")
        finally:
            process.terminate()


# Time and memory


class Laps:
    """Seconds by phase."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._since = time.perf_counter()

    def lap(self, name: str) -> None:
        """Record the time since the last lap under a name."""
        now = time.perf_counter()
        self.seconds[name] = round(now - self._since, 4)
        self._since = now


def machine() -> Figures:
    """Return the machine and versions of a run."""
    packages = ("graphstore", "numpy", "networkx", "sqlalchemy")
    return {
        "cores": os.cpu_count(),
        "memory_gib": round(machine_memory() / 2**30),
        "load": round(psutil.getloadavg()[0], 2),
        "system": platform.platform(),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
    } | {name: version(name) for name in packages}


def _child() -> None:
    """Run a function of a script, for `in_own_process`."""
    script, function, arguments = sys.argv[1:]
    print(json.dumps(runpy.run_path(script)[function](*json.loads(arguments))))


if __name__ == "__main__":
    try:
        _child()
    except GraphstoreError as error:
        sys.exit(str(error))
