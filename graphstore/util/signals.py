"""Delay Ctrl-C and SIGTERM during steps that must not stop half-way, or note that they came."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def held_back() -> Iterator[None]:
    """Delay signals for which Python raises an error until the block has ended.

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
    if threading.current_thread() is not threading.main_thread():  # which alone is interrupted
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


_came: bool | None = None


@contextmanager
def noticed() -> Iterator[None]:
    """Note in this block whether a signal came for which Python raises an error; see `came`."""
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
        _came = None


def came() -> bool | None:
    """Return whether a signal came since the block of `noticed` began; None outside of one."""
    return _came
