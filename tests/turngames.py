"""Rules of games in which a move may keep the turn."""

import numpy as np
from conftest import TableGame, random_table, table_games
from hypothesis import strategies as st

from graphstore import PlainGame


class TurnGame(TableGame):
    """A `TableGame` that says whose turn it is."""

    def __init__(self, table, turns, *starts):
        super().__init__(table, *starts)
        self.turns = turns

    def to_move(self, position):
        """Return the entry of the position."""
        return self.turns[position]


@st.composite
def turn_games(draw, *, cyclic):
    """Draw a game of a table in which it is a random player's turn at each position."""
    game = draw(table_games(cyclic=cyclic))
    turns = draw(st.lists(st.integers(1, 2), min_size=len(game.table), max_size=len(game.table)))
    return TurnGame(game.table, dict(zip(game.table, turns, strict=True)), *game.start_positions)


def random_turn_game(seed, *, cyclic):
    """Return a game of 15 to 30 positions."""
    random = np.random.default_rng(seed)
    table = random_table(random, 15, 30, cyclic=cyclic)
    turns = dict(enumerate(random.integers(1, 3, size=len(table)).tolist()))
    return TurnGame(table, turns, 0)


class Boxes(PlainGame):
    """Dots and boxes: (drawn lines, boxes of the player to move less those of the other, turn)."""

    def __init__(self, wide=1, high=1):
        across = wide * (high + 1)
        self.boxes = [
            {top, top + wide, left, left + 1}
            for top, left in (
                (r * wide + c, across + r * (wide + 1) + c)
                for r in range(high)
                for c in range(wide)
            )
        ]
        self.lines = across + high * (wide + 1)

    def start(self):
        """Return the board without lines."""
        return ((), 0, 1)

    def moves(self, position):
        """Return the lines that are not drawn."""
        return [line for line in range(self.lines) if line not in position[0]]

    def play(self, position, line):
        """Draw a line; a player who closes a box moves again."""
        drawn, lead, turn = position
        after = tuple(sorted({*drawn, line}))
        closed = sum(line in box and box <= {*after} for box in self.boxes)
        return (after, lead + closed, turn) if closed else (after, -lead, 3 - turn)

    def outcome(self, position):
        """Return the sign of the lead when all lines are drawn."""
        drawn, lead, _ = position
        return None if len(drawn) < self.lines else (lead > 0) - (lead < 0)

    def to_move(self, position):
        """Return the player to move."""
        return position[2]


class Kalah(PlainGame):
    """Kalah with two houses and some seeds each: (pits of 1 and store, of 2 and store, turn)."""

    seeds = 2

    def start(self):
        """Return the first position."""
        return ((self.seeds,) * 2 + (0,)) * 2, 1

    def moves(self, position):
        """Return the houses of the player that have seeds."""
        pits, turn = position
        return [house for house in range(2) if pits[3 * (turn - 1) + house]]

    def play(self, position, house):
        """Sow a house; with the last seed in the player's own store, the turn stays."""
        pits, turn = [*position[0]], position[1]
        store, other = (2, 5) if turn == 1 else (5, 2)
        at = 3 * (turn - 1) + house
        seeds, pits[at] = pits[at], 0
        while seeds:
            at = (at + 1) % 6
            if at != other:
                pits[at] += 1
                seeds -= 1
        if at != store and at // 3 == turn - 1 and pits[at] == 1 and pits[4 - at]:
            pits[store] += 1 + pits[4 - at]
            pits[at] = pits[4 - at] = 0
        after = turn if at == store else 3 - turn
        if not any(pits[0:2]) or not any(pits[3:5]):
            pits = [0, 0, pits[2] + sum(pits[0:2]), 0, 0, pits[5] + sum(pits[3:5])]
        return tuple(pits), after

    def outcome(self, position):
        """Compare the stores when the houses are empty."""
        pits, turn = position
        if any(pits[0:2]) or any(pits[3:5]):
            return None
        lead = (pits[2] - pits[5]) * (3 - 2 * turn)
        return (lead > 0) - (lead < 0)

    def to_move(self, position):
        """Return the player to move."""
        return position[1]
