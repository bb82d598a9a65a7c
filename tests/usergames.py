"""Rules written for one position at a time, on Python values of many kinds."""

from dataclasses import dataclass
from enum import Enum
from itertools import permutations
from typing import NamedTuple

import numpy as np

from graphstore.rules.game import DRAW, LOSS, WIN
from graphstore.rules.plain import PlainGame


class Countdown(PlainGame):
    """An int: take one or two from a heap; taking the last wins."""

    def start(self):
        return 7

    def moves(self, heap):
        return (take for take in (2, 1) if take <= heap)

    def play(self, heap, take):
        return heap - take

    def outcome(self, heap):
        return LOSS if heap == 0 else None


class NumpyCountdown(Countdown):
    """An int of numpy."""

    def start(self):
        return np.int64(7)

    def moves(self, heap):
        return np.flatnonzero(np.arange(3) <= heap)[1:]


class Nim(PlainGame):
    """A tuple: heaps in any order, several starts; a player who cannot move loses."""

    def starts(self):
        return [(1, 2, 3), (2, 2), (3,)]

    def moves(self, heaps):
        return [heap * 10 + take for heap, n in enumerate(heaps) for take in range(1, n + 1)]

    def play(self, heaps, move):
        heap, take = divmod(move, 10)
        return (*heaps[:heap], heaps[heap] - take, *heaps[heap + 1 :])

    def outcome(self, heaps):
        return None if any(heaps) else LOSS

    def symmetries(self, heaps):
        return permutations(heaps)


class Nested(PlainGame):
    """A tuple of tuples: two lines of stones, and the player to move."""

    def start(self):
        return ((2, 1), (), 1)

    def moves(self, position):
        return range(len(position[0]))

    def play(self, position, move):
        left, taken, player = position
        return (left[:move] + left[move + 1 :], (*taken, left[move]), 3 - player)

    def outcome(self, position):
        return None if position[0] else DRAW

    def to_move(self, position):
        return position[2]


class Picking(PlainGame):
    """A frozenset: picking the last letter wins."""

    def start(self):
        return frozenset("abcd")

    def moves(self, letters):
        return map(ord, letters)

    def play(self, letters, move):
        return letters - {chr(move)}

    def outcome(self, letters):
        return None if letters else LOSS


class Strip(PlainGame):
    """A str: tic-tac-toe on a strip of five cells, two in a row win."""

    shape = (1, 5)

    def start(self):
        return "....."

    def moves(self, cells):
        return [cell for cell, mark in enumerate(cells) if mark == "."]

    def play(self, cells, move):
        return cells[:move] + "XO"[self.to_move(cells) - 1] + cells[move + 1 :]

    def outcome(self, cells):
        if "XX" in cells or "OO" in cells:
            return LOSS
        return None if "." in cells else DRAW

    def to_move(self, cells):
        return 1 if cells.count("X") == cells.count("O") else 2

    def symmetries(self, cells):
        return [cells[::-1]]


class Walk(NamedTuple):
    """The place of a walker, the rest, and the player to move."""

    place: int
    left: frozenset = frozenset("ab")
    player: int = 1


class Walking(PlainGame):
    """A NamedTuple."""

    def start(self):
        return Walk(0)

    def moves(self, walk):
        return [move for move, letter in ((1, "b"), (-1, "a")) if letter in walk.left]

    def play(self, walk, move):
        return Walk(walk.place + move, walk.left - {"ab"[move > 0]}, 3 - walk.player)

    def outcome(self, walk):
        return None if walk.left else WIN

    def to_move(self, walk):
        return walk.player

    def symmetries(self, walk):
        swapped = frozenset(letter.translate({97: "b", 98: "a"}) for letter in walk.left)
        return [walk, Walk(-walk.place, swapped, walk.player)]


@dataclass(frozen=True)
class Stones:
    """Stones on the table, and the player to move."""

    table: frozenset = frozenset({"black", "white", "red"})
    player: int = 1


class Taking(PlainGame):
    """A dataclass without its own text."""

    def start(self):
        return Stones()

    def moves(self, stones):
        return range(len(stones.table))

    def play(self, stones, move):
        return Stones(stones.table - {sorted(stones.table)[move]}, 3 - stones.player)

    def outcome(self, stones):
        return None if stones.table else WIN

    def to_move(self, stones):
        return stones.player


class TakingWithText(Taking):
    """A dataclass with a text that is easy to type."""

    def text(self, stones):
        return f"{stones.player}/{','.join(sorted(stones.table))}"

    def parse(self, text):
        player, _, table = text.partition("/")
        return Stones(frozenset(table.split(",")) - {""}, {"1": 1, "2": 2}[player])


class Light(Enum):
    """A traffic light."""

    GREEN = 1
    AMBER = 2
    RED = 3


class Lights(PlainGame):
    """An Enum with endless play."""

    def start(self):
        return Light.GREEN

    def moves(self, light):
        return [0]

    def play(self, light, move):
        return Light(light.value % 3 + 1)

    def outcome(self, light):
        return None


class Mixed(Countdown):
    """Values of several types in one game."""

    def play(self, heap, take):
        return heap - take or "over"

    def outcome(self, heap):
        return LOSS if heap == "over" else None


class Stone(NamedTuple):
    """A stone on a line: its place and its light."""

    place: int
    light: Light


@dataclass(frozen=True)
class Line:
    """A NamedTuple, an Enum, a frozenset, a float and bytes in a dataclass."""

    stones: tuple
    lit: frozenset = frozenset({Light.RED})
    weight: float = -float("inf")
    note: bytes = b"\x00'Stone('"
    last: Stone | None = None


class Lines(PlainGame):
    """Values of many types in each other."""

    def start(self):
        return Line((Stone(0, Light.GREEN), Stone(1, Light.RED)))

    def moves(self, line):
        return [stone.place for stone in line.stones]

    def play(self, line, move):
        gone = next(stone for stone in line.stones if stone.place == move)
        left = tuple(stone for stone in line.stones if stone is not gone)
        return Line(left, line.lit | {gone.light}, line.weight, line.note, gone)

    def outcome(self, line):
        return None if line.stones else LOSS


class Hopping(PlainGame):
    """Moves that are a str, a tuple and a frozenset: a token hops along one of two rails."""

    def start(self):
        return (0, 0)

    def moves(self, at):
        return {"hop", (1, 2), frozenset({"up", 3})}

    def play(self, at, move):
        rail, place = at
        hop, change = {"hop": (1, 0), (1, 2): (2, 0)}.get(move, (1, 1))
        return (rail ^ change, place + hop)

    def outcome(self, at):
        return LOSS if at[1] > 5 else None


USER_GAMES = (
    Countdown,
    NumpyCountdown,
    Nim,
    Nested,
    Picking,
    Strip,
    Walking,
    Taking,
    TakingWithText,
    Lights,
    Mixed,
    Lines,
    Hopping,
)
