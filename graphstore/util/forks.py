"""Connections that only the process that opened them may use or close."""

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from graphstore.errors import GraphstoreError

T = TypeVar("T")


@contextmanager
def closed_on_error(close: Callable[[], object]) -> Iterator[None]:
    """Close a connection if the block raises an error."""
    try:
        yield
    except BaseException:
        close()
        raise


class Owned(Generic[T]):
    """A connection of this process; `value` raises `refusal` in a forked child."""

    def __init__(self, value: T, close: Callable[[], object], refusal: GraphstoreError) -> None:
        self._value = value
        self._close = close
        self._refusal = refusal
        self._process = os.getpid()

    @property
    def ours(self) -> bool:
        """True if this process opened the connection."""
        return self._process == os.getpid()

    @property
    def value(self) -> T:
        """The connection; raises the refusal in a forked child."""
        if not self.ours:
            raise self._refusal
        return self._value

    def close(self) -> None:
        """Close the connection in the process that opened it; do nothing in a forked child."""
        if self.ours:
            self._close()
        else:  # keep it alive: collecting it would close the parent's socket or release its locks
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._value))
