"""A second, simple implementation of ultimate tic-tac-toe for tests: one position, all marks."""

import json
from typing import NamedTuple

import numpy as np
from conftest import DATA
from hypothesis import strategies as st

from graphstore import explore, find_game, solve

LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]
RULES = ("open", "closed", "closed,count")
ORACLE = json.loads((DATA / "ultimate.json").read_text())
GAMES = {rules: find_game(f"ultimate({rules})") for rules in RULES}


def after(game, moves, position=None):
    """Return the position after legal moves, from the start or from a position."""
    at = game.start_states() if position is None else np.array([position])
    for move in moves:
        found = game.expand(at)
        at = found.child[found.move == move]
    return int(at[0])


class Raw(NamedTuple):
    """81 spots of 0 empty, 1 X, 2 O; nine results, 3 drawn; the active field or None; the turn."""

    spots: tuple[int, ...] = (0,) * 81
    results: tuple[int, ...] = (0,) * 9
    active: int | None = None
    turn: int = 1


def playable(raw, rules):
    """Return the fields that are open for a move."""
    full = [0 not in raw.spots[9 * f : 9 * f + 9] for f in range(9)]
    return [f for f in range(9) if not full[f] and (rules == "open" or not raw.results[f])]


def winner(cells):
    """Return the mark that has a line of three, or 0."""
    return next((cells[a] for a, b, c in LINES if 0 != cells[a] == cells[b] == cells[c] != 3), 0)


def result(raw, rules):
    """Return the result: 0 in play, 1 X, 2 O, 3 drawn."""
    if winner(raw.results) or playable(raw, rules):
        return winner(raw.results)
    x, o = raw.results.count(1), raw.results.count(2)
    return 3 if rules != "closed,count" or x == o else 1 + (o > x)


def moves(raw, rules):
    """Return the moves, ascending; none if the game is over."""
    if result(raw, rules):
        return []
    fields = playable(raw, rules)
    if raw.active in fields:
        fields = [raw.active]
    return [9 * f + s for f in fields for s in range(9) if not raw.spots[9 * f + s]]


def played(raw, move, rules):
    """Return the position after a move."""
    field, spot = divmod(move, 9)
    spots, results = list(raw.spots), list(raw.results)
    spots[move] = raw.turn
    if not results[field]:
        cells = spots[9 * field : 9 * field + 9]
        results[field] = winner(cells) or 3 * (0 not in cells)
    after = Raw(tuple(spots), tuple(results), spot, 3 - raw.turn)
    return after if spot in playable(after, rules) else after._replace(active=None)


@st.composite
def games(draw, *, rules=None):
    """Draw a game: its rules, and (move, position) of each ply; it may stop before the end."""
    rules = draw(st.sampled_from(RULES)) if rules is None else rules
    rng, plies = draw(st.randoms(use_true_random=False)), draw(st.integers(0, 81))
    raw, found = Raw(), []
    for _ in range(plies):
        legal = moves(raw, rules)
        if not legal:
            break
        move = rng.choice(legal)
        raw = played(raw, move, rules)
        found.append((move, raw))
    return rules, found


class Below:
    """A game that begins in one late position; unfolded, every position is its own state."""

    def __init__(self, game, position, *, folded=True):
        self.game, self.position, self.folded = game, position, folded

    def __getattr__(self, name):
        return getattr(self.game, name)

    def start_states(self):
        """Return the late position."""
        return np.array([self.position])

    def canonical(self, positions):
        """Return the game's states, or the positions themselves."""
        return self.game.canonical(positions) if self.folded else positions

    def orbits(self, positions):
        """Return the game's orbits, or 1."""
        return self.game.orbits(positions) if self.folded else np.ones(len(positions), np.int64)


def solved(game):
    """Return the graph below a late position, its solution, and the row of that position."""
    graph = explore(game)
    return graph, solve(graph), graph.row(game.canonical(game.start_states())[0])
