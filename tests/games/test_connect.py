"""Connect Four has the boards, results and values of the oracle and of simple rules."""

import json
import os
from itertools import product

import numpy as np
import pytest
from conftest import DATA, for_all
from hypothesis import given
from hypothesis import strategies as st
from oracles import reached

from graphstore import explore, solve
from graphstore.errors import PositionError
from graphstore.games.connect import BLOCK, connect
from graphstore.rules.game import DRAW, IN_PLAY, LOSS, WIN

GAME = connect(7, 6)
LARGEST = 10_000_000 if os.environ.get("GRAPHSTORE_SLOW") else 200_000  # positions
ORACLE = [json.loads(line) for line in (DATA / "connect_four.jsonl").read_text().splitlines()]
SIZES = sorted({(row["w"], row["h"]) for row in ORACLE if row["states"] <= LARGEST})
PARAMETERS = st.sampled_from(
    [(w, h, k) for w in range(1, 10) for h in range(1, 10) for k in range(1, 7) if w * (h + 1) < 64]
)


class Plain:
    """The rules again, for one position: a string of stones for each column, upward."""

    def __init__(self, w, h, k=4):
        self.w, self.h, self.k = w, h, k

    def cell(self, columns, column, row):
        """Return the stone at a cell, row 0 at the bottom, or a dot."""
        inside = 0 <= column < self.w and 0 <= row < len(columns[column])
        return columns[column][row] if inside else "."

    def won(self, columns, mark):
        """Return whether a side has a line."""
        return any(
            all(self.cell(columns, c + i * right, r + i * up) == mark for i in range(self.k))
            for c, r in product(range(self.w), range(self.h))
            for right, up in ((0, 1), (1, 0), (1, 1), (1, -1))
        )

    def mover(self, columns):
        """Return whose turn it is."""
        return "XO"[sum(map(len, columns)) % 2]

    def outcome(self, columns):
        """Return the result for the player to move."""
        if self.won(columns, "XO"["XO".index(self.mover(columns)) - 1]):
            return LOSS
        return DRAW if sum(map(len, columns)) == self.w * self.h else IN_PLAY

    def steps(self, columns):
        """Return the moves, each with where it leads."""
        return [
            (c, (*columns[:c], columns[c] + self.mover(columns), *columns[c + 1 :]))
            for c in range(self.w)
            if len(columns[c]) < self.h
        ]

    def text(self, columns):
        """Return a board as text."""
        rows = range(self.h - 1, -1, -1)
        return "/".join("".join(self.cell(columns, c, r) for c in range(self.w)) for r in rows)

    def played(self, choices):
        """Return the position after random moves, stopping where the game is over."""
        columns = ("",) * self.w
        for choice in choices:
            if self.outcome(columns) != IN_PLAY:
                break
            steps = self.steps(columns)
            columns = steps[choice % len(steps)][1]
        return columns


CHOICES = st.lists(st.integers(0, 719), max_size=64)


@pytest.fixture(scope="module", params=SIZES, ids=str)
def solved(request):
    """Each board of the oracle, explored and solved."""
    game = connect(*request.param)
    graph = explore(game)
    return request.param, game, graph, solve(graph)


@pytest.mark.parametrize("canonical", [0, 1])
def test_counts_and_values_are_the_oracles(solved, canonical):
    size, game, graph, solution = solved
    (row,) = (r for r in ORACLE if (r["w"], r["h"], r["canonical"]) == (*size, canonical))
    states, value, plies = graph.states, solution.value, solution.remoteness
    weight = np.ones_like(states.orbit) if canonical else states.orbit
    ended = states.outcome != IN_PLAY
    root = graph.row(game.start_states()[0])
    found = {
        "states": weight.sum(),
        "edges": (weight * graph.edges_by_move.counts).sum(),
        "terminal_win": weight[ended & (states.outcome != DRAW)].sum(),
        "terminal_draw": weight[ended & (states.outcome == DRAW)].sum(),
        **{letter: weight[value == v].sum() for letter, v in zip("WDL", (1, 0, -1), strict=True)},
        "root": value[root],
        "per_ply": np.bincount(states.ply, weights=weight).tolist(),
        "max_win_plies": plies[value == WIN].max(initial=0),
        "max_lose_plies": plies[value == LOSS].max(initial=0),
    }
    if row["root"] != DRAW:
        found["root_plies"] = plies[root]
    assert found == {name: row[name] for name in found}


@given(PARAMETERS, CHOICES)
def test_moves_and_results_are_those_of_the_plain_rules(parameters, choices):
    game, plain = connect(*parameters), Plain(*parameters)
    columns = plain.played(choices)
    position = np.array([game.read(plain.text(columns))])
    assert game.texts(position) == [plain.text(columns)]
    assert game.turns(position) == [1 + "XO".index(plain.mover(columns))]
    assert game.outcomes(position) == [plain.outcome(columns)]
    if plain.outcome(columns) == IN_PLAY:
        parent, move, child = game.expand(position)
        steps = plain.steps(columns)
        assert parent.tolist() == [0] * len(steps)
        assert move.tolist() == [column for column, _ in steps]
        assert game.texts(child) == [plain.text(after) for _, after in steps]


@given(PARAMETERS, CHOICES)
def test_the_mirror_is_the_columns_reversed_and_the_state_the_smaller_of_the_two(
    parameters, choices
):
    game, plain = connect(*parameters), Plain(*parameters)
    columns = plain.played(choices)
    positions = game.read_many([plain.text(columns), plain.text(columns[::-1])])
    assert game.mirror(positions).tolist() == positions[::-1].tolist()
    assert game.canonical(positions).tolist() == [positions.min()] * 2
    assert game.orbits(positions).tolist() == [len(np.unique(positions))] * 2


def test_many_positions_give_the_same_as_few():
    game = connect(4, 4)
    positions = explore(game).states.id[: BLOCK + 7]
    parts = np.array_split(positions, 3)
    for verb in (game.outcomes, game.turns, game.canonical, game.orbits):
        assert np.array_equal(verb(positions), np.concatenate([verb(part) for part in parts]))
        assert verb(positions).dtype == verb(parts[0]).dtype


def test_a_position_packs_a_bit_a_stone_and_a_marker_above_them():
    game = connect(3, 2)
    assert game.start_states().tolist() == [0b001_001_001]
    assert game.read(".../X..") == 0b011_001_001
    assert game.read(".../X.O") == 0b011_001_010
    assert game.read("X../X.O") == 0b111_001_010


@for_all("w", range(1, 32))
def test_the_largest_boards_fit(w):
    h = 63 // w - 1
    game, plain = connect(w, h, 63), Plain(w, h, 63)
    columns = ("",) * w
    while any(len(column) < h for column in columns):  # without lines, all boards are filled
        columns = plain.steps(columns)[0][1]
        position = game.read(plain.text(columns))
        assert 0 <= position < 2**63
        assert game.read_many([plain.text(columns)]).tolist() == [position]
        assert game.texts(np.array([position])) == [plain.text(columns)]
    assert game.outcomes(np.array([position])) == [DRAW]


def test_the_first_moves_of_connect_four_are_as_many_as_published():
    # positions at 0 to 6 plies, https://oeis.org/A212693
    wave, counts = GAME.start_states(), []
    for _ in range(7):
        counts.append(len(wave))
        wave = np.unique(GAME.expand(wave[GAME.outcomes(wave) == IN_PLAY]).child)
    assert counts == [1, 7, 49, 238, 1120, 4263, 16422]


@pytest.mark.parametrize(
    ("game", "board", "outcome"),
    [
        (connect(4, 4), "..../..../..../....", IN_PLAY),
        (connect(4, 4), "X.../XO../XO../XO..", LOSS),
        (connect(4, 4), "..../..../OOO./XXXX", LOSS),
        (connect(4, 4), "...X/..XO/OXXO/XOXO", LOSS),
        (connect(4, 4), "X.../OX../XXXO/OOOX", LOSS),
        (connect(2, 2), "OO/XX", DRAW),
        (connect(2, 2, 2), "O./XX", LOSS),
        (connect(2, 2, 999_999_999), "OO/XX", DRAW),
        (connect(3, 2, 1), ".../..X", LOSS),
        (connect(5, 1, 2), "XOX.O", IN_PLAY),
    ],
)
def test_a_line_of_any_direction_wins_and_a_full_board_is_drawn(game, board, outcome):
    assert game.outcomes(game.read_many([board])) == [outcome]


def test_boards_that_can_be_read_include_all_that_play_reaches():
    game, plain = connect(3, 3, 3), Plain(3, 3, 3)
    heaps = ["".join(stones) for height in range(4) for stones in product("XO", repeat=height)]
    readable, refused = [], []
    for columns in product(heaps, repeat=3):
        text = plain.text(columns)
        try:
            readable.append(game.read(text))
        except PositionError as error:
            refused.append((text, error))
    assert game.read_many(game.texts(np.array(readable))).tolist() == readable
    for text, error in refused[::7]:
        with pytest.raises(type(error)) as caught:
            game.read_many([text])
        assert str(caught.value) == str(error)
    assert (len(readable), len(reached(game))) == (724, 694)
    assert np.isin(reached(game), readable).all()
