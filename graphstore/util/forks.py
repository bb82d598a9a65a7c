"""Connections belong to the process that opened them; a forked child leaves them to its parent."""

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from graphstore.errors import GraphstoreError

T = TypeVar("T")


@contextmanager
def closed_on_error(close: Callable[[], object]) -> Iterator[None]:
    """Close a connection if the block raises an error; else it stays open."""
    try:
        yield
    except BaseException:
        close()
        raise


class Owned(Generic[T]):
    """A connection, or what reads over one, of the process that made it.

    Args:
        value: it.
        close: closes it.
        refusal: the error for a forked child that asks for it.
    """

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
        """The connection, in the process that made it."""
        if not self.ours:
            raise self._refusal
        return self._value

    def close(self) -> None:
        """Close it, in the process that made it.

        In a forked child it lives for ever: were it collected, Python would close the parent's
        socket, or give its locks up.
        """
        if self.ours:
            self._close()
        else:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._value))
