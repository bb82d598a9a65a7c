"""Connect Four has the boards, results and values of the oracle, and of rules written plainly."""

import json
import os
from itertools import product

import numpy as np
import pytest
from conftest import DATA
from hypothesis import given
from hypothesis import strategies as st
from oracles import reached

from graphstore import explore, find_game, solve
from graphstore.errors import (
    BothSidesWonError,
    GameNameError,
    ImpossibleCountsError,
    PlayAfterWinError,
    PositionError,
    UnknownCharacterError,
    WrongSizeError,
)
from graphstore.games.connect import BLOCK, FloatingStoneError, connect
from graphstore.rules.game import DRAW, IN_PLAY, LOSS, WIN

GAME = connect(7, 6)
LARGEST = 10_000_000 if os.environ.get("GRAPHSTORE_SLOW") else 200_000  # positions
ORACLE = [json.loads(line) for line in (DATA / "connect_four.jsonl").read_text().splitlines()]
SIZES = sorted({(row["w"], row["h"]) for row in ORACLE if row["states"] <= LARGEST})
PARAMETERS = st.sampled_from(
    [(w, h, k) for w in range(1, 10) for h in range(1, 10) for k in range(1, 7) if w * (h + 1) < 64]
)


class Plain:
    """The rules once more, for one position: a string of stones for each column, upward."""

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
        """Return what the result is for the player to move."""
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


def test_many_positions_are_treated_as_few():
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


@pytest.mark.parametrize("w", range(1, 32))
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


ONE_EACH = "......./......./......./......./......./XO....."


@pytest.mark.parametrize(
    "typed",
    [
        ONE_EACH.lower(),
        ONE_EACH.replace("/", ""),
        ONE_EACH.replace("/", "\n").replace(".", "_"),
        "\n".join(" ".join(row) for row in ONE_EACH.split("/")),
        "\n".join("|" + "|".join(row).replace(".", " ") + "|" for row in ONE_EACH.split("/")),
    ],
)
def test_boards_are_read_as_people_write_them(typed):
    assert GAME.texts(GAME.read_many([typed])) == [ONE_EACH]


@pytest.mark.parametrize(
    ("typed", "error", "message"),
    [
        ("", WrongSizeError, "'' has no cells; connect(4,4) has 16 cells, 4 rows of 4"),
        ("..../..../....", WrongSizeError, "has 3 rows"),
        ("..../..../..../.....", WrongSizeError, "has 5 cells in row 4"),
        ("." * 20_000, WrongSizeError, "is 20,000 characters long"),
        ("..../..../..../Z...", UnknownCharacterError, "'Z' is not a cell of connect(4,4); write"),
        ("..../..../..../XX..", ImpossibleCountsError, "2 X and 0 O cannot be: X begins and"),
        ("..../..../..../O...", ImpossibleCountsError, "0 X and 1 O cannot be: X begins and"),
        ("..../..../..../OXXX", ImpossibleCountsError, "3 X and 1 O cannot be: X begins and"),
        ("..../..../X.../O...", ImpossibleCountsError, "1 X and 1 O say that O moved last, yet no"),
        ("..../..X./..../....", FloatingStoneError, "a stone floats in column 2 (the left one is"),
        ("..../...O/..../X...", FloatingStoneError, "a stone floats in column 3 (the left one is"),
        ("XO../..../..../....", FloatingStoneError, "a stone floats in column 0 (the left one is"),
        ("..../..../OOOO/XXXX", BothSidesWonError, "X and O both have a line; the first one ends"),
        ("X.../XXXX/OOOO/OXOX", BothSidesWonError, "X and O both have a line; the first one ends"),
        ("..../..O./OOO./XXXX", PlayAfterWinError, "X has a line, yet O played on after it"),
        ("X.../OOOO/XOXX/OXXX", PlayAfterWinError, "O has a line, yet X played on after it"),
        ("..../O.../OXOO/XXXX", PlayAfterWinError, "X has a line, but no stone on top of a column"),
    ],
)
def test_what_is_no_position_is_refused_by_its_cause(typed, error, message):
    game = connect(4, 4)
    with pytest.raises(error) as caught:
        game.read(typed)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert type(caught.value) is error
    with pytest.raises(error):
        game.read_many(["..../..../..../X...", typed])


@given(
    st.sampled_from([connect(4, 4), connect(2, 3, 2), connect(1, 1)]),
    st.text() | st.text("XOxo./ \n|-", max_size=24) | st.text("XO.", min_size=16, max_size=16),
)
def test_any_text_is_a_position_or_is_refused(game, typed):
    try:
        position, refused = game.read(typed), ""
    except PositionError as error:
        position, refused = int(game.start_states()[0]), str(error)
    assert "\n" not in refused
    assert game.read_many(game.texts(np.array([position]))).tolist() == [position]


@given(st.lists(st.text("XO.", min_size=4, max_size=4) | st.sampled_from(["X...", "xo", "...X"])))
def test_many_texts_are_read_as_each_is_and_refused_as_the_first_wrong_one(rows):
    game, alone, refused = connect(2, 2, 2), [], None
    texts = [f"{row[:2]}/{row[2:]}" for row in rows]
    for text in texts:
        try:
            alone.append(game.read(text))
        except PositionError as error:
            refused = refused or error
    if refused is None:
        assert game.read_many(texts).tolist() == alone
    else:
        with pytest.raises(type(refused)) as caught:
            game.read_many(texts)
        assert str(caught.value) == str(refused)


def test_a_board_is_drawn_with_the_numbers_of_its_columns():
    assert connect(4, 2).board(connect(4, 2).read("..../XO..")) == "....\nXO..\n0123"
    assert connect(12, 1).board(connect(12, 1).start_states()[0]).endswith("\n012345678901")


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("connect(7,6)", "connect(7,6)"),
        ("connect(7,6,4)", "connect(7,6)"),
        (" Connect( 07, 6 ,5 )", "connect(7,6,5)"),
        ("connect(9,6)", "connect(9,6)"),
        ("connect(1,62)", "connect(1,62)"),
        ("connect(3,3,999999999)", "connect(3,3,999999999)"),
    ],
)
def test_the_usual_length_of_a_line_is_left_out_of_the_name(typed, name):
    assert find_game(typed).name == name
    assert find_game(name).name == name


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("connect", "'connect' has 0 parameters; write connect(w,h[,k])"),
        ("connect(7)", "'connect(7)' has 1 parameter; write connect(w,h[,k])"),
        ("connect(7,6,4,4)", "'connect(7,6,4,4)' has 4 parameters; write connect(w,h[,k])"),
        ("connect(0,6)", "connect: w is 0; it must be a whole number from 1"),
        ("connect(7,a)", "connect: h is 'a'; it must be a whole number from 1"),
        ("connect(7,6,0)", "connect: k is 0; it must be a whole number from 1"),
        (
            "connect(8,7)",
            "connect: 8 columns by 7 rows are too many; a position packs a bit a cell ",
        ),
        ("connect(64,1)", "connect: 64 columns by 1 rows are too many; a position packs a bit a "),
        ("connect(999999999,999999999)", "connect: 999999999 columns by 999999999 rows are too "),
    ],
)
def test_a_wrong_parameter_is_named(name, message):
    with pytest.raises(GameNameError) as caught:
        find_game(name)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
