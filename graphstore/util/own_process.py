"""What a command that is alone in its process may do: bound its memory, and leave a thread behind.

DuckDB cannot be interrupted within one function, nor does it count what a function allocates. In a
process that is the caller's there is nothing to be done about it; one's own can be ended.
"""

import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from math import inf
from pathlib import Path
from threading import Thread
from typing import Final, NoReturn

from graphstore.errors import QueryError
from graphstore.util.signals import SIGNALS

try:
    import resource
except ImportError:  # on Windows
    resource = None  # type: ignore[assignment]

PATIENCE_S: Final = 2.0
"""For how long a command waits for a thread that has been told to stop."""

MARGIN: Final = 1 << 30
"""Bytes beyond what DuckDB counts: for reading files, for threads, for small things."""

TOO_MUCH: Final = "SQL: it needs more memory than it may take; ask for less"

_threads: list[tuple[Thread, str]] | None = None


@contextmanager
def own_process(say: Callable[[str], None]) -> Iterator[None]:
    """Let this process be ended, after the block, where a thread that the block began still runs.

    Args:
        say: prints one line about an error, which then cannot be raised.

    Raises:
        QueryError: the memory was not enough.
    """
    global _threads
    before = None if resource is None else resource.getrlimit(resource.RLIMIT_DATA)
    _threads = []
    error: BaseException | None = None
    try:
        yield
    except MemoryError as raised:
        error = QueryError(TOO_MUCH)
        raise error from raised
    except BaseException as raised:
        error = raised
        raise
    finally:
        rooms = [room for thread, room in _threads if thread.is_alive()]
        if rooms:
            _end(error, rooms, say)
        _threads = None
        if before is not None:
            resource.setrlimit(resource.RLIMIT_DATA, before)


def patience() -> float:
    """Return for how many seconds to wait for what has been told to stop."""
    return inf if _threads is None else PATIENCE_S


def began(thread: Thread, room: str) -> None:
    """Note a thread of this block, and its folder of temporary files, to be removed with it."""
    if _threads is not None:
        _threads.append((thread, room))


def bound_memory(memory: int) -> None:
    """Let this process, if it is a command's own, take so many bytes more, and a margin."""
    taken = _taken()
    if _threads is None or resource is None or taken is None:
        return
    limits = resource.getrlimit(resource.RLIMIT_DATA)
    most = min(limit for limit in (taken + memory + MARGIN, *limits) if limit >= 0)
    resource.setrlimit(resource.RLIMIT_DATA, (most, limits[1]))


def _taken() -> int | None:
    """Return the bytes that the system counts for RLIMIT_DATA; None where it does not say."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            name, _, told = line.partition(":")
            if name == "VmData":
                return int(told.split()[0]) << 10
    return None


def _end(error: BaseException | None, rooms: list[str], say: Callable[[str], None]) -> NoReturn:
    """End the process as `graphstore.cli.main` would, but at once and without Python's clearing up."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    for room in rooms:
        shutil.rmtree(room, ignore_errors=True)
    code = 0
    with suppress(OSError, ValueError):  # there is nobody any more who listens
        if isinstance(error, KeyboardInterrupt):
            code = 130
            say("interrupted")
        elif isinstance(error, BrokenPipeError):
            code = 141
        elif error is not None:
            code = 1
            say(" ".join(str(error).splitlines()))
        sys.stdout.flush()
    os._exit(code)
