"""Rules of games in which a move may keep the turn."""

import numpy as np
from conftest import TableGame

from graphstore import PlainGame
from graphstore.rules.game import DRAW, LOSS, WIN


class TurnGame(TableGame):
    """A `TableGame` that says whose turn it is."""

    def __init__(self, table, turns, *starts):
        super().__init__(table, *starts)
        self.turns = turns

    def to_move(self, position):
        """Return the entry of the position."""
        return self.turns[position]


def random_turn_game(seed, *, cyclic):
    """Return a game of 15 to 30 positions whose moves lead no further than 8 away."""
    random = np.random.default_rng(seed)
    size = int(random.integers(15, 31))
    table = {size - 1: int(random.choice((WIN, DRAW, LOSS)))}
    for place in range(size - 1):
        first, last = max(0, place - 8) if cyclic else place + 1, min(place + 9, size)
        children = random.integers(first, last, size=random.integers(1, 4)).tolist()
        ended = place > 0 and random.random() < 0.15
        table[place] = int(random.choice((WIN, DRAW, LOSS))) if ended else dict(enumerate(children))
    turns = dict(enumerate(random.integers(1, 3, size=size).tolist()))
    return TurnGame(table, turns, 0)
