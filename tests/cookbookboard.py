"""Tic-tac-toe from the oracle's rows, with moves made on the texts of positions.

It shares no code with graphstore; test_cookbook.py compares the answers of SQL with it.
"""

import csv
from collections import defaultdict
from fractions import Fraction
from functools import cache, cached_property
from math import inf

from conftest import DATA

LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
IMAGES = [  # of nine cells: four turns, each also reflected
    [row * a + column * b + c for row in range(3) for column in range(3)]
    for a, b, c in (
        *((3, 1, 0), (1, -3, 6), (-3, -1, 8), (-1, 3, 2)),
        *((3, -1, 2), (1, 3, 0), (-3, 1, 6), (-1, -3, 8)),
    )
]


class Board:
    """The oracle's rows as dicts of numbers, with moves on the texts of positions."""

    def __init__(self, oracle):
        words = ("position", "ended", "moves", "children", "state32")
        self.row = {
            row["position"]: {
                name: None if cell == "" else Fraction(cell)
                for name, cell in row.items()
                if name not in words
            }
            | {"ended": row["ended"] != ""}
            for row in oracle
        }
        self.order = sorted(self.row, key=self.id)
        self.of_id = {self.id(position): position for position in self.row}.__getitem__
        self.start = ".../.../..."

    @staticmethod
    def id(position):
        """Return the packed marks: X's mask above O's, top left the most significant bit."""
        cells = position.replace("/", "")
        masks = ("".join("01"[cell == mark] for cell in cells) for mark in "XO")
        return int("".join(masks), 2)

    @classmethod
    def canonical(cls, cells):
        images = ("".join(cells[cell] for cell in image) for image in IMAGES)
        return min(("/".join((t[:3], t[3:6], t[6:])) for t in images), key=cls.id)

    @cache  # noqa: B019  # there is one board, which lasts as long as its tests
    def moves(self, position):
        """Return (cell, child) of every legal move."""
        cells, row = position.replace("/", ""), self.row[position]
        if row["ended"]:
            return []
        mark = "XO"[int(row["to_move"]) - 1]
        return [
            (cell, self.canonical(cells[:cell] + mark + cells[cell + 1 :]))
            for cell in range(9)
            if cells[cell] == "."
        ]

    def replies(self, position):
        """Return the distinct children, in the order of their ids."""
        return sorted({child for _, child in self.moves(position)}, key=self.id)

    def value(self, position):
        return int(self.row[position]["value"])

    def winner(self, position):
        value, to_move = self.value(position), int(self.row[position]["to_move"])
        return 0 if value == 0 else to_move if value == 1 else 3 - to_move

    def keeps(self, position, child):
        return self.value(position) == -self.value(child)

    @cache  # noqa: B019  # there is one board, which lasts as long as its tests
    def random(self, position):
        """Return the mean result of random play, for the player to move."""
        moves = self.moves(position)
        if not moves:
            return Fraction(self.value(position))
        return sum(-self.random(child) for _, child in moves) / len(moves)

    @cache  # noqa: B019  # there is one board, which lasts as long as its tests
    def response(self, position):
        """Return the best mean result of the player who just moved against a random opponent."""
        moves = self.moves(position)
        if not moves:
            return Fraction(-self.value(position))
        after = (
            max((self.response(mine) for _, mine in self.moves(child)), default=self.value(child))
            for _, child in moves
        )
        return sum(after) / Fraction(len(moves))

    def remoteness(self, position):
        known = self.row[position]["remoteness"]
        return self.way_to_tie(position) if self.value(position) == 0 else int(known)

    @cache  # noqa: B019  # there is one board, which lasts as long as its tests
    def way_to_tie(self, position):
        ways = [self.way_to_tie(c) for c in self.replies(position) if self.value(c) == 0]
        return 1 + min(ways) if ways else 0

    def ranked(self, position):
        """Return (rank, cell, child) of the moves, the best first."""

        def rank(child):
            row = self.row[child]
            win, lose = row["win_depth"], row["lose_depth"]
            return -row["score"], -1 if win is None else win, inf if lose is None else -lose

        return sorted((rank(child), cell, child) for cell, child in self.moves(position))

    def best(self, position):
        ranked = self.ranked(position)
        return [(cell, child) for rank, cell, child in ranked if rank == ranked[0][0]]

    def paths(self, kept=lambda _position, _child: True):
        """Yield for each ply {position: (paths to it, chance that random play reaches it)}."""
        wave = {self.start: (1, Fraction(1))}
        while wave:
            yield wave
            following = defaultdict(lambda: (0, Fraction(0)))
            for position, (paths, chance) in wave.items():
                moves = self.moves(position)
                for _, child in moves:
                    if kept(position, child):
                        old = following[child]
                        following[child] = (old[0] + paths, old[1] + chance / len(moves))
            wave = dict(following)

    @cached_property
    def plies(self):
        with (DATA / "tictactoe_ply_counts.csv").open(newline="") as lines:
            rows = [{k: v for k, v in row.items() if k != "ply"} for row in csv.DictReader(lines)]
        return [{name: int(cell) for name, cell in row.items()} for row in rows]

    def by_ply(self):
        """Return the positions by ply, in the order of their ids."""
        waves = [[] for _ in range(10)]
        for position in self.order:
            waves[int(self.row[position]["ply"])].append(position)
        return waves

    def in_play(self):
        return [position for position in self.order if not self.row[position]["ended"]]

    def choices(self):
        """Yield (value, replies that keep it) of positions with a choice that are not lost."""
        for position in self.order:
            replies = self.replies(position)
            if len(replies) > 1 and self.value(position) >= 0:
                yield self.value(position), sum(self.keeps(position, child) for child in replies)
