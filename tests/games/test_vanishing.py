"""Vanishing tic-tac-toe has the counts and values of the oracle, and of rules written plainly."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import answers, expected, reached, rows

from graphstore import explore, find_game, solve
from graphstore.errors import (
    BothSidesWonError,
    GameNameError,
    PlayAfterWinError,
    PositionError,
    UnknownCharacterError,
    WrongSizeError,
)
from graphstore.games.vanishing import MarkOrderError, vanishing
from graphstore.rules.game import IN_PLAY, LOSS
from graphstore.rules.symmetry import board_permutations

GAME = vanishing()
LINES = ["012", "345", "678", "036", "147", "258", "048", "246"]
ALL = reached(GAME)


class Plain:
    """The rules once more: each player's cells, the oldest first, and who moves."""

    def __init__(self):
        self.cells, self.mover = ([], []), 0

    def over(self):
        """Return whether the player who just moved has a line."""
        return any(all(int(c) in self.cells[1 - self.mover] for c in line) for line in LINES)

    def moves(self):
        """Return the free cells; the one of a mark that will vanish is not."""
        return [c for c in range(9) if c not in self.cells[0] + self.cells[1]]

    def play(self, cell):
        """Place a mark, and take the oldest of four away."""
        mine = self.cells[self.mover]
        mine.append(cell)
        del mine[:-3]
        self.mover = 1 - self.mover

    def text(self):
        """Return the position as text."""
        first, second = self.cells
        if len(first) + len(second) == 6 and self.mover == 1:
            first, second = second, first  # the older mark is always the first's
        letters = dict(zip(first, "ACE", strict=False))
        letters |= dict(zip(second, "bdf", strict=False))
        board = "".join(letters.get(c, ".") for c in range(9))
        return f"{board[:3]}/{board[3:6]}/{board[6:]}"


@pytest.mark.parametrize("sym", [0, 1])
def test_counts_and_values_are_the_oracles(sym):
    (row,) = (row for row in rows("infinite tic-tac-toe") if row["sym"] == sym)
    assert answers(GAME, positions=sym == 0) == expected(row)


def test_all_positions_are_as_many_as_the_orbits_say():
    assert len(ALL) == explore(GAME).number_of_positions() == 73450  # small_games.jsonl


@given(st.lists(st.integers(0, 719), max_size=40))
def test_moves_and_results_are_those_of_the_plain_rules(choices):
    plain = Plain()
    position = GAME.start_states()
    for choice in choices:
        assert GAME.texts(position) == [plain.text()]
        assert GAME.read(plain.text()) == position[0]
        assert GAME.outcomes(position) == [LOSS if plain.over() else IN_PLAY]
        if plain.over():
            break
        parent, move, child = GAME.expand(position)
        assert parent.tolist() == [0] * len(move)
        assert move.tolist() == plain.moves()
        plain.play(plain.moves()[choice % len(move)])
        position = child[choice % len(move)][np.newaxis]


def test_the_oldest_mark_goes_when_a_fourth_is_placed_and_its_cell_is_not_free_before():
    position = GAME.read_many(["Ab./dC./.Ef"])
    moves = GAME.expand(position)
    assert moves.move.tolist() == [2, 5, 6]
    assert GAME.texts(moves.child) == [".Af/Cb./.dE", ".A./Cbf/.dE", ".A./Cb./fdE"]


def test_the_line_counts_once_the_oldest_mark_is_gone():
    lost, on = GAME.read_many(["ACE/b.d/...", "AC./bd./E.f"])
    assert GAME.outcomes(np.array([lost, on])).tolist() == [LOSS, IN_PLAY]
    moves = GAME.expand(np.array([on]))
    through = moves.child[moves.move == 2]  # 0, 1 and 2 are a line, but 0 vanishes
    assert GAME.texts(through) == [".bf/AC./d.E"]
    assert GAME.outcomes(through) == [IN_PLAY]


def test_a_position_packs_the_moves_the_newest_lowest():
    assert GAME.start_states().tolist() == [0]
    assert GAME.read("Ab./.C./...") == 0x125
    assert GAME.read("Ab./dC./.Ef") == 0x125489


def test_nobody_is_told_to_move():
    assert set(GAME.turns(ALL).tolist()) == {0}


def test_images_are_the_board_turned_and_reflected():
    positions = ALL[::97]
    images = GAME.images(positions)
    texts = [text.replace("/", "") for text in GAME.texts(positions)]
    for row, permutation in zip(images, board_permutations(rows=3, columns=3), strict=True):
        for text, image in zip(texts, GAME.texts(row), strict=True):
            assert all(text[c] == image.replace("/", "")[permutation[c]] for c in range(9))
    assert np.array_equal(images[0], positions)
    assert np.array_equal(GAME.canonical(positions), images.min(axis=0))
    orbits = [len(np.unique(column)) for column in images.T]
    assert GAME.orbits(positions).tolist() == orbits


def test_a_won_position_is_won_in_as_many_plies_as_its_best_child_and_one():
    graph = explore(GAME)
    solution = solve(graph)
    row = graph.row(0)
    assert (solution.value[row], solution.remoteness[row]) == (1, 13)  # small_games.jsonl
    children = graph.edges_by_move.child[slice(*graph.edges_by_move.offset[row : row + 2])]
    best = solution.remoteness[children[solution.value[children] == LOSS]].min()
    assert best == 12


def test_boards_that_can_be_read_are_those_that_play_reaches():
    known = set(GAME.texts(ALL))
    rng = np.random.default_rng(0)
    boards = [cells for n in range(4) for cells in permutations(range(9), n)]
    boards += [rng.permutation(9)[: rng.integers(4, 7)].tolist() for _ in range(3000)]
    for cells in boards:
        letters = dict(zip(cells, "AbCdEf", strict=False))
        text = "/".join("".join(letters.get(c, ".") for c in range(r, r + 3)) for r in (0, 3, 6))
        try:
            GAME.read(text)
        except (PlayAfterWinError, BothSidesWonError):
            assert text not in known
        else:
            assert text in known


@pytest.mark.parametrize(
    ("typed", "proper"),
    [
        (".........", ".../.../..."),
        ("ab./.c./...", "Ab./.C./..."),
        ("AB. .C. ...", "Ab./.C./..."),
        ("aB.\n.C.\n...", "Ab./.C./..."),
        ("A b .\n. C .\n. . .", "Ab./.C./..."),
        ("A|b| \n-+-+-\n |C| \n-+-+-\n | | ", "Ab./.C./..."),
    ],
)
def test_boards_are_read_as_people_write_them(typed, proper):
    assert GAME.texts(GAME.read_many([typed])) == [proper]


@pytest.mark.parametrize(
    ("typed", "error", "message"),
    [
        ("", WrongSizeError, "'' has no cells; vanishing has 9 cells, 3 rows of 3, such as"),
        ("Ab./.C./..", WrongSizeError, "has 2 cells in row 3"),
        ("." * 20_000, WrongSizeError, "is 20,000 characters long"),
        ("XO./.X./...", UnknownCharacterError, "'X' is not a cell of vanishing; write A, B, C, D"),
        ("AbC/dEf/g..", UnknownCharacterError, "'g' is not a cell of vanishing; write A, B, C, D"),
        ("Ab./.b./...", MarkOrderError, "the marks A B B do not tell their order: each must have"),
        ("Ab./.D./...", MarkOrderError, "the marks A B D do not tell their order: each must have"),
        ("b../.../...", MarkOrderError, "the marks B do not tell their order: each must have a"),
        ("ACE/bdf/...", BothSidesWonError, "both players have a line; the first one ends the ga"),
        ("ACE/b../d.f", PlayAfterWinError, "A C E are a line, yet F was played after it"),
    ],
)
def test_what_is_no_position_is_refused_by_its_cause(typed, error, message):
    with pytest.raises(error) as caught:
        GAME.read(typed)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert type(caught.value) is error
    with pytest.raises(error) as again:
        GAME.read_many(["Ab./.../...", typed])
    assert str(again.value) == str(caught.value)


@given(st.text() | st.text("abcdefABCDEF./ \n,|-", max_size=24))
def test_any_text_is_a_position_or_is_refused(typed):
    try:
        position, refused = GAME.read(typed), ""
    except PositionError as error:
        position, refused = 0, str(error)
    assert "\n" not in refused
    assert GAME.read_many(GAME.texts(np.array([position]))).tolist() == [position]


ROW = st.text("ABCdefabc.", min_size=3, max_size=3) | st.sampled_from(["...", "..\0", "..é"])
BOARD = st.lists(ROW, min_size=3, max_size=3).map("/".join)


@given(st.lists(st.sampled_from(GAME.texts(ALL[::500])) | BOARD, max_size=4))
def test_many_texts_are_read_as_each_is_and_refused_as_the_first_wrong_one(texts):
    alone, refused = [], None
    for text in texts:
        try:
            alone.append(GAME.read(text))
        except PositionError as error:
            refused = refused or error
    if refused is None:
        assert GAME.read_many(texts).tolist() == alone
    else:
        with pytest.raises(type(refused)) as caught:
            GAME.read_many(texts)
        assert str(caught.value) == str(refused)


def test_all_texts_are_read_back_at_once():
    assert np.array_equal(GAME.read_many(GAME.texts(ALL)), ALL)


def test_a_board_is_drawn_a_line_for_each_row():
    assert GAME.board(GAME.read("Ab./.C./...")) == "Ab.\n.C.\n..."


def test_it_has_no_parameters():
    assert find_game(" Vanishing() ").name == "vanishing"
    with pytest.raises(GameNameError, match=r"'vanishing\(3\)' has 1 parameter; write vanishing"):
        find_game("vanishing(3)")
