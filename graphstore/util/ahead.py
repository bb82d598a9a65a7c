"""Reading ahead: a thread computes the next item of an iterator while the last one is used."""

from collections.abc import Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from graphstore.util.signals import held_back

T = TypeVar("T")


def ahead(items: Iterable[T]) -> Generator[T, None, None]:
    """Yield the items, which a thread computes one ahead.

    >>> list(ahead(iter("abc")))
    ['a', 'b', 'c']
    """
    coming, end = iter(items), object()
    with ThreadPoolExecutor(max_workers=1) as thread:
        with held_back():  # a thread whose start is interrupted may never end
            job = thread.submit(next, coming, end)
        while (item := job.result()) is not end:
            job = thread.submit(next, coming, end)
            yield item  # type: ignore[misc]
