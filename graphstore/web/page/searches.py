"""Searches for pages of games without a database: bounded in number and in time."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore, Event
from typing import Any, Final

from graphstore.play.searched import SearchedGame
from graphstore.store.probe import Probe
from graphstore.store.store import Store

AT_ONCE: Final = BoundedSemaphore(min(os.cpu_count() or 1, 24))  # there are 28 threads or more
FIRST, REPLY = 0.25, 2.0  # seconds of the first search of a page, and of a search for a reply


def searched(store: Store, probe: Probe, seconds: float, stop: Event) -> Probe | None:
    """Return a probe with what a search finds; None if there are too many searches."""
    if not isinstance(store, SearchedGame):
        return probe
    if not AT_ONCE.acquire(blocking=False):
        return None
    try:
        return store.search(probe, seconds=seconds, stopped=stop.is_set)
    finally:
        AT_ONCE.release()


@contextmanager
def stopped(datasette: Any, request: Any) -> Iterator[Event]:
    """Yield an event that is set when the browser leaves the page, or the server stops."""
    stop = Event()

    async def watch() -> None:
        await request.receive()  # the body, which is empty
        if (await request.receive())["type"] == "http.disconnect":
            stop.set()

    watching = asyncio.create_task(watch())
    datasette.searches.add(stop)
    try:
        yield stop
    finally:
        watching.cancel()
        datasette.searches.discard(stop)
