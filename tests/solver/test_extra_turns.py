"""Games in which a move may keep the turn, against a plain minimax."""

from fractions import Fraction
from functools import cache

import pytest
from conftest import table_games
from hypothesis import given
from hypothesis import strategies as st
from turngames import TurnGame, random_turn_game

from graphstore import explore, solve


@st.composite
def turn_games(draw, *, cyclic):
    """Draw a game of a table in which it is a random player's turn at each position."""
    game = draw(table_games(cyclic=cyclic))
    turns = draw(st.lists(st.integers(1, 2), min_size=len(game.table), max_size=len(game.table)))
    return TurnGame(game.table, dict(zip(game.table, turns, strict=True)), *game.start_positions)


class Minimax:
    """The columns of a state, by recursion over the positions of a `TurnGame`."""

    def __init__(self, game, states):
        self.game, self.plies = game, len(states)
        for name in ("best", "tie", "random", "chooser", "drifter"):
            setattr(self, name, cache(getattr(self, name)))

    def children(self, at):
        """List the children, each with +1 if the same player is to move there, else -1."""
        row = self.game.table[at]
        if not isinstance(row, dict):
            return []
        mine = self.game.to_move(at)
        return [(child, 1 if self.game.to_move(child) == mine else -1) for child in row.values()]

    def best(self, at, plies):
        """Return the value if the game stops as a draw, all moves, and those of the winner."""
        if not self.children(at):
            return self.game.table[at], 0, 0
        found = {1: [], 0: [], -1: []}
        for child, sign in self.children(at) if plies else ():
            value, moves, own = self.best(child, plies - 1)
            found[sign * value].append((moves + 1, own + (sign * value == 1)))
        if found[1]:
            return 1, *min(found[1])
        return (-1, *max(found[-1])) if found[-1] and not found[0] else (0, 0, 0)

    def value(self, at):
        return self.best(at, self.plies)[0]

    def tie(self, at, plies):
        """Return the moves to a tie through drawn states, or infinity."""
        if self.value(at) or not plies:
            return float("inf")
        below = [1 + self.tie(child, plies - 1) for child, _ in self.children(at)]
        return min(below, default=0)

    def random(self, at):
        if not self.children(at):
            return Fraction(self.game.table[at])
        below = [sign * self.random(child) for child, sign in self.children(at)]
        return sum(below) / len(below)

    def chooser(self, at):
        """Return the mean for the player to move, who plays best against random moves."""
        below = [
            self.chooser(child) if sign == 1 else -self.drifter(child)
            for child, sign in self.children(at)
        ]
        return max(below) if below else Fraction(self.game.table[at])

    def drifter(self, at):
        """Return the mean for the player to move, who moves at random against best play."""
        below = [
            self.drifter(child) if sign == 1 else -self.chooser(child)
            for child, sign in self.children(at)
        ]
        return sum(below) / len(below) if below else Fraction(self.game.table[at])

    def row(self, at, *, cyclic):
        """Return the columns of a state, with None for NULL."""
        value, moves, own = self.best(at, self.plies)
        replies = {child: sign * self.value(child) for child, sign in self.children(at)}
        score = -float(value)
        if value == 0:
            moves = self.tie(at, self.plies + 1)
            score = sum(worth == -1 for worth in replies.values()) / max(len(replies), 1)
        return {
            "value": value,
            "remoteness": None if moves == float("inf") else moves,
            "score": score,
            "win_depth": own if value == -1 else None,
            "lose_depth": own if value == 1 else None,
            "random_value": None if cyclic else pytest.approx(float(self.random(at)), abs=1e-12),
            "best_response": None if cyclic else pytest.approx(-float(self.drifter(at)), abs=1e-12),
        }


def assert_is_minimax(game):
    graph = explore(game)
    solution, reference = solve(graph), Minimax(game, list(graph))
    for row, at in enumerate(graph):
        assert solution.at(row) == reference.row(at, cyclic=solution.cyclic), at


@pytest.mark.parametrize("cyclic", [False, True])
def test_every_column_is_that_of_a_plain_minimax(cyclic):
    @given(turn_games(cyclic=cyclic))
    def check(game):
        assert_is_minimax(game)

    check()
    for seed in range(12):
        assert_is_minimax(random_turn_game(seed, cyclic=cyclic))
