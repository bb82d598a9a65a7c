"""Estimates of the size of a game, from the growth of its first waves.

Let r be the ratio of the wave at ply i to the wave before. If the rules limit a game to P plies,
log r is fitted as a + b log((P - i) / (i + 1)): b is 1 if marks go on free cells in any order, and
less if gravity or the like restricts them. Otherwise log r is fitted as a + b i; if that does not
fall, no end is in sight. Positions are fitted, not states, because symmetry merges few states of
the first waves. The range is empirical: a factor of (all / seen) ** 0.15, at least 1.5, each way.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

# Measured on mnk(4,4,4) and on connect(6,4), which has 47 M states and 119 M moves and takes a file
# of 6.8 GB, 6.1 GB of memory and 470 s of one core.
BYTES_A_STATE, BYTES_A_MOVE = 75, 30
MEMORY_A_STATE, MEMORY_A_MOVE = 60, 28
SECONDS_A_STATE, SECONDS_A_MOVE = 6e-6, 1.5e-6
RATIOS = 8  # the number of last ratios that are fitted
FAR = 1_000  # the last ply of a projection
DOUBT = 0.15  # the exponent of the range, see above


class Estimate(NamedTuple):
    """The expected size and cost of a build."""

    states: float  # exact if `complete`
    low: float  # the lower end of the range of states
    high: float  # the upper end; infinite if no end is in sight
    moves: float
    plies: int  # the last ply
    file_bytes: float
    memory_bytes: float  # at the peak
    seconds: float  # for rules in numpy on a machine like the one measured
    seen: int  # the number of states explored
    complete: bool  # True if these are all states


def project(
    states: Sequence[int],
    positions: Sequence[int],
    moves: Sequence[int],
    *,
    max_plies: int | None = None,
    complete: bool = False,
) -> Estimate:
    """Return the estimate for a game from the numbers of states, positions and moves of its waves.

    >>> about(project([1, 3, 12, 38, 108], [1, 9, 72, 252, 756], [9] * 5, max_plies=9))
    '1,400 (910 to 2,000)'
    """
    seen = sum(states)
    total, plies, doubt, all_moves = float(seen), len(states) - 1, 1.0, float(sum(moves))
    if not complete:
        more, plies = _follow(positions, max_plies)
        total += more * states[-1] / positions[-1]
        doubt = max((total / seen) ** DOUBT, 1.5) if math.isfinite(total) else 1.0
        all_moves += (total - seen) * sum(moves[-3:]) / sum(states[-3:])
    return Estimate(
        states=total,
        low=max(total / doubt, float(seen)) if math.isfinite(total) else float(seen),
        high=total * doubt,
        moves=all_moves,
        plies=plies,
        file_bytes=total * BYTES_A_STATE + all_moves * BYTES_A_MOVE,
        memory_bytes=total * MEMORY_A_STATE + all_moves * MEMORY_A_MOVE,
        seconds=total * SECONDS_A_STATE + all_moves * SECONDS_A_MOVE,
        seen=seen,
        complete=complete,
    )


def _follow(positions: Sequence[int], max_plies: int | None) -> tuple[float, int]:
    """Return the number of positions in later waves, perhaps infinite, and the last ply."""

    def shape(ply: float) -> float:
        return ply if max_plies is None else math.log((max_plies - ply) / (ply + 1))

    waves = np.asarray(positions, dtype=np.float64)
    logs = np.log(waves)
    ratios = ((logs[2:] - logs[:-2]) / 2)[-RATIOS:]  # over two plies: the two players may differ
    last = len(positions) - 1
    plies = [shape(last - len(ratios) + at) for at in range(len(ratios))]
    if len(ratios) > 1:
        slope, level = np.polyfit(plies, ratios, 1)
    else:
        slope, level = 0.0, logs[-1] - logs[max(last - 1, 0)]
    more, wave = 0.0, float(waves[-1])
    while wave >= 1 and last != max_plies:
        if last >= FAR or more > 1e30:
            return math.inf, last
        wave *= math.exp(min(float(level + slope * shape(last)), 50.0))
        more += wave
        last += 1
    return more, last


def about(estimate: Estimate) -> str:
    """Return the rounded number of states with its range, as text."""
    if estimate.complete:
        return f"{int(estimate.states):,}"
    if math.isinf(estimate.states):
        return f"more than {_round(estimate.low)} (no end in sight)"
    high = "without end" if math.isinf(estimate.high) else _round(estimate.high)
    return f"{_round(estimate.states)} ({_round(estimate.low)} to {high})"


def _round(number: float) -> str:
    if math.isinf(number):
        return "any number of"
    return f"{number:.1e}" if number >= 1e9 else f"{int(float(f'{number:.2g}')):,}"


def file_bytes(states: int, moves: int) -> int:
    """Return the approximate size of a database in bytes."""
    return states * BYTES_A_STATE + moves * BYTES_A_MOVE


def sized(number: float) -> str:
    """Return a rounded number of bytes with its unit, as text.

    >>> sized(282_644_480), sized(float("inf"))
    ('280 MB', 'unlimited bytes')
    """
    if math.isinf(number):
        return "unlimited bytes"
    for unit in ("bytes", "kB", "MB", "GB", "TB", "PB"):
        if number < 1000:
            return f"{float(f'{number:.2g}'):g} {unit}"
        number /= 1000
    return f"{number:.1e} EB"
