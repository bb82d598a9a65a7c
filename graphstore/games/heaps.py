"""Reading of heaps as text: ``3,4,5``, ``3 4 5``, ``(3, 4, 5)`` or ``[3, 4, 5]``, or as drawn."""

import re
from collections.abc import Sequence

from graphstore.errors import PositionError, UnknownCharacterError, WrongSizeError, shown


class HeapTooHighError(PositionError):
    """A heap that is higher than at the start."""


def read_heaps(text: str, *, starts: Sequence[int], game: str) -> list[int]:
    """Return the size of every heap.

    >>> read_heaps("(1, 0, 5)", starts=(3, 4, 5), game="this")
    [1, 0, 5]
    """
    example = ",".join(map(str, starts))
    fields = heap_texts(text, example=example, game=game)
    if len(fields) != len(starts) or not all(fields):
        n = len([field for field in fields if field])
        raise WrongSizeError(
            f"{shown(text)} has {n or 'no'} heap{'s' * (n != 1)} and {game} has {len(starts)}; "
            f"write each, 0 if it is empty, like {example}"
        )
    heaps = [*map(heap_size, fields)]
    for number, (heap, start) in enumerate(zip(heaps, starts, strict=True), 1):
        if heap > start:
            fits = all(a <= b for a, b in zip(sorted(heaps), sorted(starts), strict=True))
            instead = f"; write {','.join(map(str, sorted(heaps)))}" if fits else ""
            raise HeapTooHighError(
                f"heap {number} has {shown(fields[number - 1].lstrip('0'))[1:-1]}, "
                f"but {game} starts it with {start}{instead}"
            )
    return heaps


def heap_texts(text: str, *, example: str, game: str) -> list[str]:
    """Return the digits of each heap; an empty text where a comma has no number before it."""
    inside = text.replace("/", " ").strip()
    if len(inside) > 1 and inside[0] + inside[-1] in ("()", "[]"):
        inside = inside[1:-1].strip()
    if "|" in inside:  # strokes, as `Game.board` draws them, beside the numbers or instead of them
        has_numbers = re.search("[0-9]", inside) is not None
        inside = re.sub(
            r"\|+", lambda strokes: " " if has_numbers else f"{len(strokes[0])} ", inside
        )
        inside = inside.strip()
    strange = re.search(r"[^0-9,\s]", inside)
    if strange is not None:
        raise UnknownCharacterError(
            f"{strange[0]!r} is not allowed in a position of {game}; write numbers, like {example}"
        )
    return re.split(r"\s*,\s*|\s+", inside.removesuffix(",").rstrip())


def heap_size(digits: str) -> int:
    """Return the number of digits, or 10**10 for any too high number."""
    digits = digits.lstrip("0") or "0"
    return int(digits) if len(digits) < 10 else 10**10
