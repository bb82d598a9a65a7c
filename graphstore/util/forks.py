"""Connections to a database that no two processes share, and no two threads at the same time."""

import os
from collections.abc import Callable
from typing import Any, Final

from sqlalchemy import Engine

_forks = 0
_LEFT_TO_PARENT: Final[list[Any]] = []
"""The pools that a forked process found: were one forgotten, Python would close its connections,
and so the parent's, whose sockets and locks they are."""


def forks() -> int:
    """Return by how many forks this process came about, so a number that its parent has not."""
    return _forks


def _forked() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


class Connections:
    """The engine of a database, made anew in a process that was forked."""

    def __init__(self, make: Callable[[], Engine]) -> None:
        self._make = make
        self._held = _forks, make()

    @property
    def engine(self) -> Engine:
        """What lends connections, to any thread of this process."""
        made, engine = self._held
        if made != _forks:
            _LEFT_TO_PARENT.append(engine)  # it may even be locked, by a thread left behind
            engine = self._make()
            self._held = _forks, engine
        return engine

    def close(self) -> None:
        """Close all connections that are not lent; in a forked process the parent's stay open."""
        made, engine = self._held
        if made == _forks:
            engine.dispose()
