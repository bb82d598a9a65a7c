"""Vanishing tic-tac-toe has the counts and values of the oracle and of simple rules."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import answers, expected, reached, rows

from graphstore import explore, solve
from graphstore.errors import BothSidesWonError, PlayAfterWinError
from graphstore.games.vanishing import Vanishing
from graphstore.rules.game import IN_PLAY, LOSS
from graphstore.rules.symmetry import board_permutations

GAME = Vanishing()
LINES = ["012", "345", "678", "036", "147", "258", "048", "246"]
ALL = reached(GAME)


class Plain:
    """The rules again: each player's cells, the oldest first, and the player to move."""

    def __init__(self):
        self.cells, self.mover = ([], []), 0

    def over(self):
        """Return whether the player who just moved has a line."""
        return any(all(int(c) in self.cells[1 - self.mover] for c in line) for line in LINES)

    def moves(self):
        """Return the free cells, without the cell of the mark that will vanish."""
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


def test_the_player_to_move_is_unknown():
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


def test_all_texts_are_read_back_at_once():
    assert np.array_equal(GAME.read_many(GAME.texts(ALL)), ALL)
