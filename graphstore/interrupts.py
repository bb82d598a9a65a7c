"""Ctrl-C and SIGTERM held back for a moment, where what is half done would be left behind."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def held_back() -> Iterator[None]:
    """Let a signal that Python would raise an error for come when the block has ended.

    >>> with held_back():
    ...     signal.raise_signal(signal.SIGINT)
    ...     print("first this")
    Traceback (most recent call last):
    KeyboardInterrupt
    """
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():  # which alone is interrupted
        yield
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}
    ours = {number: handler for number, handler in before.items() if callable(handler)}
    try:
        for number in ours:
            signal.signal(number, lambda number, _: came.append(number))
        yield
    finally:
        for number, handler in ours.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])
