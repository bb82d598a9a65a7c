"""What several test modules share: games made from tables, and random ones."""

from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st

from graphstore import GameGraph, PlainGame, explore, find_game, solve

DATA = Path(__file__).parent / "data"

settings.register_profile("unhurried", deadline=None)  # machines that run tests are shared
settings.load_profile("unhurried")


class TableGame(PlainGame):
    """A game written as a table: position -> its result, or {move: the position it leads to}."""

    def __init__(self, table, *starts):
        self.table = table
        self.start_positions = starts

    def starts(self):
        """Return the positions given as starts."""
        return self.start_positions

    def moves(self, position):
        """Return the keys of the row."""
        return self.table[position].keys()

    def play(self, position, move):
        """Return the row's entry."""
        return self.table[position][move]

    def outcome(self, position):
        """Return the row, if it is a result."""
        row = self.table[position]
        return None if isinstance(row, dict) else row


@st.composite
def table_games(draw, *, cyclic):
    """Draw a game of up to 12 positions; unless cyclic, all moves lead to later positions."""
    ids = draw(st.lists(st.integers(0, 2**63 - 1) | st.integers(0, 20), unique=True, max_size=11))
    last = draw(st.integers(0, 2**63 - 1).filter(lambda position: position not in ids))
    ids.append(last)
    results = st.sampled_from((1, 0, -1))
    move = st.integers(0, 9) | st.sampled_from((-(2**31), 2**31 - 1))
    table = {last: draw(results)}
    for place, position in enumerate(ids[:-1]):
        children = st.sampled_from(ids if cyclic else ids[place + 1 :])
        rows = st.dictionaries(move, children, min_size=1, max_size=4)
        table[position] = draw(rows if place == 0 else results | rows | rows)
    more = draw(st.lists(st.sampled_from(ids), max_size=2))
    return TableGame(table, ids[0], *more)


@pytest.fixture(scope="session")
def tictactoe() -> GameGraph:
    """The solved graph of tic-tac-toe; no test may change it, nor can."""
    graph = explore(find_game("tictactoe"))
    solve(graph)
    return graph
