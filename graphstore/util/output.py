"""A standard output for data only: what a user's rules print goes to standard error."""

import sys
import threading
from typing import Any, TextIO


class _Rules(threading.local):
    """The number of calls of a user's rules that the current thread is in."""

    depth = 0


rules = _Rules()


class DataOutput:
    """A text output that passes what rules print to standard error."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, text: str) -> int:
        """Write a text to the output, or to standard error while rules run."""
        return (sys.stderr if rules.depth else self._file).write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)
