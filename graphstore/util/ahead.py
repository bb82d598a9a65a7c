"""Reading ahead: a thread computes the next item of an iterator while the last one is used."""

from collections.abc import Generator
from contextlib import closing
from typing import TypeVar

from graphstore.util.signals import held_back

T = TypeVar("T")


def ahead(items: Generator[T, None, None]) -> Generator[T, None, None]:
    """Yield the items, which a thread computes one ahead.

    >>> list(ahead(each for each in "abc"))
    ['a', 'b', 'c']
    """
    from concurrent.futures import ThreadPoolExecutor  # slow to import

    end = object()
    with closing(items), ThreadPoolExecutor(max_workers=1) as thread:
        with held_back():  # a thread whose start is interrupted may never end
            job = thread.submit(next, items, end)
        while (item := job.result()) is not end:
            job = thread.submit(next, items, end)
            yield item  # type: ignore[misc]
