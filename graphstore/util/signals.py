"""Delay Ctrl-C and SIGTERM during steps that must not stop half-way, or record them."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def held_back() -> Iterator[None]:
    """Delay signals that raise an error in Python until the block has ended.

    >>> try:
    ...     with held_back():
    ...         signal.raise_signal(signal.SIGINT)
    ...         print("first this")
    ... except KeyboardInterrupt:
    ...     print("then that")
    first this
    then that
    """
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():  # only it receives signals
        yield
        return
    ours = {each: handler for each in SIGNALS if callable(handler := signal.getsignal(each))}
    try:
        for number in ours:
            signal.signal(number, lambda number, _: came.append(number))
        yield
    finally:
        for number, handler in ours.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])


_came = False


@contextmanager
def noticed() -> Iterator[None]:
    """Record signals that raise an error in Python during this block; `came` returns the record."""
    global _came
    ours = {each: handler for each in SIGNALS if callable(handler := signal.getsignal(each))}

    def noting(number: int, frame: Any) -> None:
        global _came
        _came = True
        ours[signal.Signals(number)](number, frame)

    try:
        _came = False
        for number in ours:
            signal.signal(number, noting)
        yield
    finally:
        for number, handler in ours.items():
            signal.signal(number, handler)
        _came = False


def came() -> bool:
    """Return whether a signal came since the `noticed` block began."""
    return _came
