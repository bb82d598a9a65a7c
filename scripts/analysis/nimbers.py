"""Print the nimbers of the heaps 0, 1, 2, ... of an octal game, and their period.

CODE is an octal code such as 0.77 (Kayles), 0.137 (Dawson's Chess) or 0.07 (Dawson's Kayles). A
heap that splits is worth the XOR of its parts. The period is proved: if it holds from heap e to
heap 2e + p + k - 1, for a period of p and a code of k digits after the point, it holds for all
larger heaps (R. K. Guy and C. A. B. Smith, Proc. Cambridge Phil. Soc. 52, 1956, 514-526).
"""

from itertools import count
from typing import NamedTuple

import numpy as np
from common import number, options, run_main
from numpy.typing import NDArray

from graphstore.cli.console import print_json
from graphstore.games.octal import octal

ACROSS = 20  # nimbers in a line


class Period(NamedTuple):
    """The nimbers of heaps from `first` on repeat after `period` heaps."""

    period: int
    first: int


def main() -> None:
    """Print the sequence and its period."""
    parser = options(__doc__, "code", "an octal code such as 0.77")
    parser.add_argument(
        "--heaps", type=number, default=400, metavar="N", help="heaps 0 to N, default: %(default)s"
    )
    arguments = parser.parse_args()
    code = octal(arguments.code, 0).code
    found = nimbers(code, arguments.heaps)
    known = period(code, found)
    if arguments.json:
        first, length = (known.first, known.period) if known else (None, None)
        print_json({"code": code, "nimbers": found.tolist(), "period": length, "first": first})
        return
    for begin in range(0, len(found), ACROSS):
        print(f"{begin:>6}:", *found[begin : begin + ACROSS])
    shown = f"{code}: the heaps up to {arguments.heaps} show no period"
    print(f"{code}: period {known.period} from heap {known.first}" if known else shown)


def nimbers(code: str, heaps: int) -> NDArray[np.int64]:
    """Return the nimbers of the heaps 0 to `heaps` of an octal game.

    >>> nimbers("0.77", 11).tolist()
    [0, 1, 2, 3, 1, 4, 3, 2, 1, 4, 2, 6]
    """
    digits = [int(digit) for digit in code.replace(".", "")]
    found = np.zeros(heaps + 1, dtype=np.int64)
    for heap in range(1, heaps + 1):
        options = []
        for rest, digit in zip(range(heap, -1, -1), digits, strict=False):
            if digit & (2 if rest else 1):
                options.append(found[rest : rest + 1])
            if digit & 4:
                half = np.arange(1, rest // 2 + 1)
                options.append(found[half] ^ found[rest - half])
        counts = np.bincount(np.concatenate([np.empty(0, dtype=np.int64), *options]))
        missing = np.flatnonzero(counts == 0)
        found[heap] = missing[0] if missing.size else len(counts)
    return found


def period(code: str, found: NDArray[np.int64]) -> Period | None:
    """Return the least period that the nimbers of the first heaps prove, or None.

    >>> period("0.77", nimbers("0.77", 200))
    Period(period=12, first=71)
    """
    digits = len(code.partition(".")[2])
    for length in count(1):
        if 2 * length + digits > len(found):
            return None
        differs = np.flatnonzero(found[length:] != found[:-length])
        first = int(differs[-1]) + 1 if differs.size else 1  # heap 0 is not a part
        if 2 * (first + length) + digits <= len(found):
            return Period(length, first)
    return None


if __name__ == "__main__":
    run_main(main)
