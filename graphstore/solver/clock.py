"""A counter of nodes that checks the time limit of a search."""

from threading import Event
from time import perf_counter
from typing import Final

from graphstore.rules.game import Progress

PAUSE: Final = 0.1  # seconds between two calls of progress


class TimeIsUpError(Exception):
    """The time is up."""


class StoppedError(Exception):
    """The caller wants no more results."""


class Clock:
    """A counter of nodes that reports progress and checks the time limit."""

    def __init__(
        self, timeout: float | None, progress: Progress, stop: Event | None = None
    ) -> None:
        self.began = self._reported = perf_counter()
        self.nodes = 0
        self._end = None if timeout is None else self.began + timeout
        self._progress = progress
        self._stop = stop

    def count(self, nodes: int) -> None:
        """Count nodes; raise TimeIsUpError if the time is up, or StoppedError after `stop`."""
        self.nodes += nodes
        if self._stop is not None and self._stop.is_set():
            raise StoppedError
        now = perf_counter()
        if self._end is not None and now > self._end:
            raise TimeIsUpError
        if now > self._reported + PAUSE:
            self._reported = now
            self._progress("search", self.nodes, None)
