"""What a command may do to its own process: bound its memory, and end it while a thread runs.

DuckDB does not stop within one function, and does not count the memory that a function takes.
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

PATIENCE_S: Final = 2.0
"""For how long a command waits for a thread that has been told to stop."""

MARGIN: Final = 1 << 30
"""Bytes beyond what DuckDB counts: for reading files, for threads, for small things."""

_say: Callable[[str], None] | None = None


@contextmanager
def own_process(say: Callable[[str], None]) -> Iterator[None]:
    """Let `bound_memory` and `end` do something in this block: the process is a command's.

    Args:
        say: prints one line about an error.
    """
    global _say
    before = None if resource is None else resource.getrlimit(resource.RLIMIT_DATA)
    _say = say
    try:
        yield
    finally:
        _say = None
        if before is not None:
            resource.setrlimit(resource.RLIMIT_DATA, before)


def bound_memory(memory: int) -> None:
    """Let a command's process take so many bytes more, and a margin, where the system can tell."""
    status = Path("/proc/self/status")
    if _say is None or resource is None or not status.exists():
        return
    taken = re.search(r"VmData:\s*(\d+) kB", status.read_text())
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if taken is not None:
        most = (int(taken[1]) << 10) + memory + MARGIN
        resource.setrlimit(resource.RLIMIT_DATA, (most if soft < 0 else min(most, soft), hard))


def end(error: BaseException, folder: str) -> None:
    """End a command's process as `cli.main` would, but at once, without Python's clearing up.

    Args:
        error: why.
        folder: to be removed before, with what is in it.
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
