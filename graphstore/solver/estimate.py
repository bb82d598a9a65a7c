"""Estimates of the size of a game, from its first waves and from random games.

A wave has b moves a state, and m of its moves lead to one new state: the next wave is b / m times
as large. Both are measured in the waves explored. Later b is that of the positions in random games
from the start, times the quotient of the two at the last wave. Later m grows by a line, either from
1 at the start to the last m, or as in the last waves; these are the two projections. The estimate
is their geometric mean. Two independent halves of the random games also tell the number of later
positions: the product of their sizes by the number of equal pairs (Lincoln and Petersen). As some
positions are met more often than others, there may be `UNEVEN` times as many, but not more.

The range covers both projections, and a factor of (all / seen) ** `DOUBT`, at least `LEAST`, each
way; `tests/solver/test_growth.py` says how often it contains known sizes.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

# Measured on mnk(4,4,4), connect(5,4) and on connect(6,4), which has 47 M states and 119 M moves
# and takes a file of 6.8 GB and 6.1 GB of memory; the seconds are those after exploration.
BYTES_A_STATE, BYTES_A_MOVE = 75, 30
MEMORY_A_STATE, MEMORY_A_MOVE = 60, 28
SECONDS_A_STATE, SECONDS_A_MOVE = 4e-6, 8e-7
RECENT = 6  # the number of last waves that give the growth of m
FAR = 10_000  # the last ply of a projection
ENDLESS = 1e60  # more states than this are as many as without end
UNEVEN = 50  # the most that the number of positions is underrated as some are met more often
DOUBT = 0.45  # the exponent of the range, see above
LEAST = 2.0  # the least factor of the range


class Estimate(NamedTuple):
    """The expected size and cost of a build."""

    states: float  # exact if `complete`; infinite if no end is in sight
    low: float  # the lower end of the range of states
    high: float  # the upper end; infinite if no end is in sight
    moves: float
    plies: int  # the last ply
    file_bytes: float
    memory_bytes: float  # at the peak
    seconds: float
    seen: int  # the number of states explored
    complete: bool  # True if these are all states


class RandomGames(NamedTuple):
    """Random games from the start."""

    moves: Sequence[float]  # at each ply, the mean number of moves of the positions in play
    endless: bool  # True if some games were cut off
    later: float  # the number of later positions, judged by pairs of equal ones; may be infinite


def project(
    states: Sequence[int],
    moves: Sequence[int],
    games: RandomGames | None = None,
    *,
    seconds: float = 0.0,
    max_plies: int | None = None,
) -> Estimate:
    """Return the estimate for a game.

    Args:
        states: the number of states of each wave explored.
        moves: the number of their moves.
        games: random games; None if the waves are the whole game.
        seconds: the time that the exploration of the waves took.
        max_plies: the most plies of a game; None if unknown.

    >>> games = RandomGames([9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.5], False, math.inf)
    >>> about(project([1, 3, 12, 38, 108], [9, 24, 84, 228, 540], games))
    '1,700 (410 to 7,300)'
    """
    seen = sum(states)
    total, low, high, plies = float(seen), float(seen), float(seen), len(states) - 1
    if games is not None:
        last = FAR if max_plies is None else max_plies
        slopes = _slopes(states, moves)
        both = [_follow(states, moves, games, slope, last) for slope in slopes]
        sizes = sorted(seen + more for more, _ in both)
        plies = max(ply for _, ply in both)
        if sizes[1] > seen + UNEVEN * games.later:
            sizes = [min(sizes[0], seen + games.later), seen + UNEVEN * games.later]
        total = math.sqrt(sizes[0] * sizes[1])
        doubt = max((total / seen) ** DOUBT, LEAST)
        low = max(sizes[0] / doubt, float(seen)) if math.isfinite(sizes[1]) else float(seen)
        high = sizes[1] * doubt
    all_moves = sum(moves) * total / seen
    return Estimate(
        states=total,
        low=low,
        high=high,
        moves=all_moves,
        plies=plies,
        file_bytes=total * BYTES_A_STATE + all_moves * BYTES_A_MOVE,
        memory_bytes=total * MEMORY_A_STATE + all_moves * MEMORY_A_MOVE,
        seconds=total * (seconds / seen + SECONDS_A_STATE) + all_moves * SECONDS_A_MOVE,
        seen=seen,
        complete=games is None,
    )


def _slopes(states: Sequence[int], moves: Sequence[int]) -> tuple[float, float]:
    """Return the growth of m a ply: from 1 at the start on, and in the last waves.

    The latter is less its standard error, so that chance makes no estimate too small.
    """
    merged = np.asarray(moves[:-1]) / np.asarray(states[1:])
    some, late = merged[-RECENT:], 0.0
    if len(some) > 3:
        line, spread = np.polyfit(range(len(some)), some, 1, cov=True)
        late = float(line[0] - spread[0, 0] ** 0.5)
    whole = (_merged(states, moves) - 1) / max(len(merged) - 1.5, 1)
    return max(whole, 0.0), max(late, 0.0)


def _merged(states: Sequence[int], moves: Sequence[int]) -> float:
    """Return the mean m of the last two waves, because the two players may differ."""
    some = [made / new for made, new in zip(moves[:-1], states[1:], strict=True)][-2:]
    return sum(some) / len(some) if some else 1.0


def _follow(
    states: Sequence[int], moves: Sequence[int], games: RandomGames, slope: float, last: int
) -> tuple[float, int]:
    """Return the number of states in later waves, perhaps infinite, and the last ply."""
    ply, of = len(states) - 1, games.moves
    share = moves[-1] / states[-1] / of[min(ply, len(of) - 1)]
    merged = _merged(states, moves) + slope / 2
    more, wave = 0.0, float(states[-1])
    while wave >= 1 and ply < last and (ply < len(of) or games.endless):
        wave *= share * of[min(ply, len(of) - 1)] / merged
        more, ply, merged = more + wave, ply + 1, merged + slope
        if more > ENDLESS or ply == FAR:
            return math.inf, ply
    return more, ply


def about(estimate: Estimate) -> str:
    """Return the rounded number of states with its range, as text."""
    if estimate.complete:
        return f"{int(estimate.states):,}"
    if math.isinf(estimate.high):
        return f"more than {int(estimate.low):,} (no end in sight)"
    return f"{_round(estimate.states)} ({_round(estimate.low)} to {_round(estimate.high)})"


def _round(number: float) -> str:
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
