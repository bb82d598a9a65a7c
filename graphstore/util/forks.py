"""A connection belongs to the process that opened it; a forked child does not close it."""

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
    """A connection of this process; a forked child that asks for it gets the `refusal`."""

    def __init__(self, value: T, close: Callable[[], object], refusal: GraphstoreError) -> None:
        self._value = value
        self._close = close
        self._refusal = refusal
        self._process = os.getpid()

    @property
    def ours(self) -> bool:
        """Whether this process made it."""
        return self._process == os.getpid()

    @property
    def value(self) -> T:
        """The connection."""
        if not self.ours:
            raise self._refusal
        return self._value

    def close(self) -> None:
        """Close the connection, in the process that made it."""
        if self.ours:
            self._close()
        else:  # never collect it, or Python closes the parent's socket or releases its locks
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._value))
