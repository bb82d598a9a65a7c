"""A memory limit for the process of a command, and its exit while a DuckDB thread still runs.

DuckDB cannot be interrupted inside one SQL function, nor does it count the memory of functions.
"""

import os
import re
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from graphstore.util.signals import SIGNALS

try:
    import resource
except ImportError:  # on Windows
    resource = None  # type: ignore[assignment]

PATIENCE_S: Final = 2.0  # that a command waits for an interrupted thread to stop
MARGIN: Final = 1 << 30  # bytes that DuckDB does not count: files, threads, small objects

_say: Callable[[str], None] | None = None


@contextmanager
def own_process(say: Callable[[str], None]) -> Iterator[None]:
    """Enable `bound_memory` and `end` in this block; `say` prints a one-line error."""
    global _say
    before = resource.getrlimit(resource.RLIMIT_DATA) if resource else None
    _say = say
    try:
        yield
    finally:
        _say = None
        if before:
            resource.setrlimit(resource.RLIMIT_DATA, before)


def bound_memory(memory: int) -> None:
    """Let the process of a command take at most `memory` + `MARGIN` more bytes, on Linux."""
    status = Path("/proc/self/status")
    if _say and resource and status.exists():
        (taken,) = re.findall(r"VmData:\s*(\d+) kB", status.read_text())
        most = (int(taken) << 10) + memory + MARGIN
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (most if soft < 0 else min(most, soft), hard))


def end(error: BaseException, folder: str) -> None:
    """Remove a folder, print the error and exit the process of a command at once.

    The exit code is that of `cli.main`: 130 for Ctrl-C, else 1. Outside a command, do nothing.
    """
    if _say is None:
        return
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    shutil.rmtree(folder, ignore_errors=True)
    interrupted = isinstance(error, KeyboardInterrupt)
    with suppress(OSError, ValueError):  # nobody listens
        _say("interrupted" if interrupted else str(error))
        sys.stdout.flush()
    os._exit(130 if interrupted else 1)
