"""Moves that are two numbers, as people type them: ``1-5``."""

import re

from graphstore.errors import MoveError, shown


def read_pair(text: str, *, how: str) -> tuple[int, int]:
    """Return the two numbers of a move.

    >>> read_pair("1-5", how="write FROM-TO, such as 0-4")
    (1, 5)

    Args:
        text: what was typed.
        how: what the error says of the right way.

    Raises:
        MoveError: it is not two numbers with a hyphen between them.
    """
    pair = re.fullmatch(r"([0-9]{1,9})-([0-9]{1,9})", text)
    if pair is None:
        raise MoveError(f"{shown(text)} is not a move; {how}")
    return int(pair[1]), int(pair[2])
