"""Othello, dots and boxes and kalah have the positions, moves and margins of plain rules.

Each of the classes below has the rules of one game on tuples, written from the published rules.
"""

import json
from functools import cache

import numpy as np
import pytest
from conftest import DATA, SLOW, few, for_all, some_of

from graphstore import find_game
from graphstore.rules.game import IN_PLAY, move_text, read_move
from graphstore.util.arrays import distinct, member

LINES = (DATA / "scored_games.jsonl").read_text().splitlines()
KNOWN = {row["game"]: row for row in map(json.loads, LINES)}
LARGE = 200_000  # positions, from which on a test is slow
PUBLISHED = {  # margins for the player who begins; tests/data/SOURCE.md has the sources
    "othello(4,4)": -8,
    "dots_and_boxes(2,2)": 2,
    "dots_and_boxes(3,3)": -3,
    "kalah(4,3)": 6,
}


class PlainOthello:
    """A position is {(row, column): the player of the disc} as sorted pairs, and the mover."""

    def __init__(self, w, h):
        self.cells = [(r, c) for r in range(h) for c in range(w)]
        self.w, down, right = w, h // 2, w // 2
        laid = {(-1, -1): 2, (-1, 0): 1, (0, -1): 1, (0, 0): 2}
        discs = {(down + r, right + c): who for (r, c), who in laid.items()}
        self.start = tuple(sorted(discs.items())), 1

    def discs_after(self, position, cell):
        """Return the discs after the mover's disc on a cell, or None if it takes none."""
        discs, mover = dict(position[0]), position[1]
        taken = []
        for down, right in [(d, r) for d in (-1, 0, 1) for r in (-1, 0, 1) if d or r]:
            line, (r, c) = [], cell
            while discs.get((r := r + down, c := c + right)) == 3 - mover:
                line.append((r, c))
            taken += line if discs.get((r, c)) == mover else []
        taken = taken if cell not in discs else []
        return discs | dict.fromkeys([*taken, cell], mover) if taken else None

    def moves(self, position):
        """Return {name: the next position}; empty where the game is over."""
        other = 3 - position[1]
        after = {cell: self.discs_after(position, cell) for cell in self.cells}
        found = {
            f"{'abcdefghijklmn'[c]}{r + 1}": (tuple(sorted(discs.items())), other)
            for (r, c), discs in after.items()
            if discs
        }
        passed = position[0], other
        if not found and any(self.discs_after(passed, cell) for cell in self.cells):
            return {"pass": passed}
        return found

    def score(self, position):
        """Return the margin of player 1."""
        players = [who for _, who in position[0]]
        return players.count(1) - players.count(2)

    def mover(self, position):
        return position[1]

    def text(self, position):
        marks = {cell: "BW"[who - 1] for cell, who in position[0]}
        rows = ["".join(marks.get(cell, ".") for cell in self.cells[at : at + self.w])
                for at in range(0, len(self.cells), self.w)]  # fmt: skip
        return f"{'/'.join(rows)} {'BW'[position[1] - 1]}"


class PlainBoxes:
    """A position is the lines, as pairs of dots, the boxes of both players, and the mover."""

    def __init__(self, w, h):
        self.w, self.h = w, h
        across = [[((r, c), (r, c + 1)) for c in range(w)] for r in range(h + 1)]
        down = [[((r, c), (r + 1, c)) for c in range(w + 1)] for r in range(h)]
        self.rows = [row for pair in zip(across, down, strict=False) for row in pair] + [across[-1]]
        self.start = frozenset(), (0, 0), 1

    def sides(self, r, c):
        """Return the lines of the box whose upper left dot this is."""
        corners = (r, c), (r, c + 1), (r + 1, c), (r + 1, c + 1)
        return {(corners[a], corners[b]) for a, b in ((0, 1), (2, 3), (0, 2), (1, 3))}

    def moves(self, position):
        lines, boxes, mover = position
        found = {}
        for line in {line for row in self.rows for line in row} - lines:
            new = lines | {line}
            closed = 0
            for r in range(self.h):
                for c in range(self.w):
                    closed += line in self.sides(r, c) and self.sides(r, c) <= new
            score = (boxes[0] + closed, boxes[1]) if mover == 1 else (boxes[0], boxes[1] + closed)
            name = "".join(f"{'abcdefgh'[c]}{r + 1}" for r, c in line)
            found[name] = new, score, mover if closed else 3 - mover
        return found

    def score(self, position):
        return position[1][0] - position[1][1]

    def mover(self, position):
        return position[2]

    def text(self, position):
        lines, (one, two), mover = position
        rows = ["".join("-|"[n % 2] if line in lines else "." for line in row)
                for n, row in enumerate(self.rows)]  # fmt: skip
        return f"{'/'.join(rows)} {one}-{two} {'AB'[mover - 1]}"


class PlainKalah:
    """A position is the seeds of the pits and the store of each player, and the mover."""

    def __init__(self, m, n, *options):
        self.m, self.options = m, options
        self.start = ((n,) * m + (0,), (n,) * m + (0,), 1)

    def moves(self, position):
        mover = position[2]
        own, other = position[mover - 1], position[2 - mover]
        found = {}
        for pit in range(self.m):
            if own[pit] and any(other[:-1]) | ("either" not in self.options):
                found[str(pit + 1)] = self.after(list(own), list(other), pit, mover)
        return found

    def after(self, own, other, pit, mover):
        places = [(own, at) for at in range(self.m + 1)] + [(other, at) for at in range(self.m)]
        hand, own[pit], at = own[pit], 0, pit
        for _ in range(hand):
            at = (at + 1) % len(places)
            places[at][0][places[at][1]] += 1
        if at < self.m and own[at] == 1:
            opposite = self.m - 1 - at
            if other[opposite] or "empty" in self.options:
                own[-1] += own[at] + other[opposite]
                own[at] = other[opposite] = 0
        again = at == self.m
        nothing = not any(own[:-1]), not any(other[:-1])
        if any(nothing) if "either" in self.options else nothing[0 if again else 1]:
            own, other = ([0] * self.m + [sum(side)] for side in (own, other))
        sides = (tuple(own), tuple(other))
        return (*(sides if mover == 1 else sides[::-1]), mover if again else 3 - mover)

    def score(self, position):
        return sum(position[0]) - sum(position[1])

    def mover(self, position):
        return position[2]

    def text(self, position):
        (*south, home), (*north, far), mover = position
        above, below = (",".join(map(str, row)) for row in (north[::-1], south))
        return f"{far} {above}/{below} {home} {'SN'[mover - 1]}"


def plain(name):
    """Return the plain rules of a game."""
    family, _, given = name.removesuffix(")").partition("(")
    parameters = [int(each) if each.isdigit() else each for each in given.split(",")]
    kinds = {"othello": PlainOthello, "dots_and_boxes": PlainBoxes, "kalah": PlainKalah}
    return kinds[family](*parameters)


def reachable(rules):
    """Return {position: its moves}."""
    found, waiting = {}, [rules.start]
    while waiting:
        here = waiting.pop()
        if here not in found:
            found[here] = rules.moves(here)
            waiting += found[here].values()
    return found


def explored(game, canonical):
    """Return the positions that play reaches, ascending, and their moves (parent, child)."""
    found = wave = distinct(canonical(game.start_states()))
    while wave.size:
        moves = game.expand(wave[game.outcomes(wave) == IN_PLAY])
        wave = distinct(canonical(moves.child))
        wave = wave[~member(wave, found)]
        found = np.sort(np.concatenate((found, wave)), kind="stable")  # merges two runs
    rows = np.flatnonzero(game.outcomes(found) == IN_PLAY)
    moves = game.expand(found[rows])
    return found, rows[moves.parent], np.searchsorted(found, canonical(moves.child))


def margins_of(game):
    """Return the states, their margins under best play, and the parents of all moves.

    A state takes its margin once all of its children have theirs.
    """
    states, parent, child = explored(game, game.canonical)
    turns = game.turns(states)
    sign = np.where(turns[parent] == turns[child], 1, -1)
    margins = game.margins(states).astype(np.int64)
    open_moves = np.bincount(parent, minlength=len(states))
    margins[open_moves > 0] = -(10**6)
    into = np.argsort(child, kind="stable")
    begin = np.searchsorted(child[into], np.arange(len(states) + 1))
    known = np.flatnonzero(open_moves == 0)
    while known.size:
        count = begin[known + 1] - begin[known]
        first = np.repeat(begin[known] - np.cumsum(count) + count, count)
        edges = into[first + np.arange(count.sum())]
        np.maximum.at(margins, parent[edges], sign[edges] * margins[child[edges]])
        np.subtract.at(open_moves, parent[edges], 1)
        known = distinct(parent[edges])
        known = known[open_moves[known] == 0]
    return states, margins, parent


SMALL = [name for name, row in KNOWN.items() if row["positions"] < 7_000]


@for_all("name", some_of(SMALL, 3))
def test_positions_moves_turns_and_margins_are_those_of_the_plain_rules(name):
    game, rules = find_game(name), plain(name)
    found = reachable(rules)
    assert len(found) == KNOWN[name]["positions"]
    texts = [rules.text(position) for position in found]
    positions = game.read_many(texts)
    assert game.texts(positions) == texts
    assert np.array_equal(np.sort(positions), explored(game, lambda each: each)[0])
    assert game.turns(positions).tolist() == [rules.mover(position) for position in found]
    ended = np.array([not moves for moves in found.values()])
    assert np.array_equal(game.outcomes(positions) != IN_PLAY, ended)
    wanted = [0 if found[p] else rules.score(p) * (3 - 2 * rules.mover(p)) for p in found]
    assert game.margins(positions).tolist() == wanted
    moves = game.expand(positions[~ended])
    names = [move_text(game, move) for move in moves.move.tolist()]
    seen = zip(
        positions[~ended][moves.parent].tolist(), names, game.texts(moves.child), strict=True
    )
    assert sorted(seen) == sorted(
        (position, move, rules.text(after))
        for position, legal in zip(positions.tolist(), found.values(), strict=True)
        for move, after in legal.items()
    )


@for_all("name", some_of(SMALL, 3))
def test_margins_are_those_of_a_plain_minimax(name):
    game, rules = find_game(name), plain(name)

    @cache
    def best(position):
        mover = rules.mover(position)
        ways = [
            best(after) * (1 if rules.mover(after) == mover else -1)
            for after in rules.moves(position).values()
        ]
        return max(ways) if ways else rules.score(position) * (3 - 2 * mover)

    states, margins, _ = margins_of(game)
    found = list(reachable(rules))
    here = np.searchsorted(states, game.canonical(game.read_many(list(map(rules.text, found)))))
    assert margins[here].tolist() == list(map(best, found))


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=SLOW if row["positions"] > LARGE else ())
        for name, row in KNOWN.items()
        if 7_000 <= row["positions"] < 6_000_000
    ],
)
def test_sizes_and_margins_are_those_of_another_program(name):
    game, known = find_game(name), KNOWN[name]
    states, margins, parents = margins_of(game)
    orbits = game.orbits(states)
    assert (orbits.sum(), orbits[parents].sum()) == (known["positions"], known["moves"])
    start = np.searchsorted(states, game.canonical(game.start_states()))
    assert margins[start].tolist() == [known["margin"]]


def test_margins_are_the_published_ones():
    assert {name: KNOWN[name]["margin"] for name in PUBLISHED} == PUBLISHED


def test_passes_of_othello_are_moves_where_there_is_no_other():
    game = find_game("othello(4,4)")
    states, _, _ = explored(game, lambda each: each)
    moves = game.expand(states[game.outcomes(states) == IN_PLAY])
    passes = moves.parent[moves.move == game.read_move("pass")]
    assert len(passes) == KNOWN[game.name]["passes"]
    assert np.bincount(moves.parent)[passes].tolist() == [1] * len(passes)


@for_all(
    ("name", "other", "names"),
    [
        (
            "dots_and_boxes(3,2)",
            "dots_and_boxes(num_rows=2,num_cols=3)",  # its lines: all horizontal ones first
            "a1b1 b1c1 c1d1 a2b2 b2c2 c2d2 a3b3 b3c3 c3d3 a1a2 b1b2 c1c2 d1d2 a2a3 b2b3 c2c3 d2d3",
        ),
        ("kalah(6,4,either)", "mancala", "- 1 2 3 4 5 6 - 1 2 3 4 5 6"),
    ],
)
def test_games_at_random_have_the_moves_turns_and_results_of_openspiel(name, other, names):
    pyspiel = pytest.importorskip("pyspiel")
    game, names, chance = find_game(name), names.split(), np.random.default_rng(0)
    for _ in range(few(60)):
        state, here = pyspiel.load_game(other).new_initial_state(), game.start_states()
        while not state.is_terminal():
            assert game.outcomes(here) == IN_PLAY
            assert game.turns(here) == state.current_player() + 1
            moves = game.expand(here)
            legal = {read_move(game, names[each]): each for each in state.legal_actions()}
            assert moves.move.tolist() == sorted(legal)
            at = chance.integers(len(legal))
            state.apply_action(legal[int(moves.move[at])])
            here = moves.child[at : at + 1]
        sign = 3 - 2 * game.turns(here)
        assert game.outcomes(here) * sign == state.returns()[0]
