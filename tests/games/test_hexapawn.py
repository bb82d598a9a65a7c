"""Hexapawn has the moves, results and values of simple rules and of the oracle."""

import re
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import answers, as_documented, documented, expected, played, reached, rows

from graphstore import find_game
from graphstore.games.hexapawn import hexapawn
from graphstore.rules.game import IN_PLAY, LOSS

GAME = hexapawn(3, 3)
SIZES = [(1, 3), (2, 3), (3, 3), (4, 3), (3, 4), (4, 4), (5, 4), (2, 7), (6, 5), (10, 3)]


def steps(state):
    """Return the moves of a board (a list of rows) and a side, each with the board after it."""
    board, mover = state
    height, width = len(board), len(board[0])
    up, last, far = (-1, "B", height - 1) if mover == "W" else (1, "W", 0)
    if last in board[far]:
        return []
    moves = []
    for row, column in product(range(height), range(width)):
        if board[row][column] != mover:
            continue
        for aside in (-1, 0, 1):
            to_row, to_column = row + up, column + aside
            if not (0 <= to_row < height and 0 <= to_column < width):
                continue
            if board[to_row][to_column] != (last if aside else "."):
                continue
            after = [list(each) for each in board]
            after[row][column], after[to_row][to_column] = ".", mover
            number = (row * width + column) * width * height + to_row * width + to_column
            moves.append((number, (tuple("".join(each) for each in after), last)))
    return moves


def text(state):
    """Return the text of a plain state."""
    return f"{'/'.join(state[0])} {state[1]}"


@pytest.mark.parametrize("row", rows("hexapawn"), ids=lambda row: f"{row['game']} {row['sym']}")
def test_counts_and_values_are_the_oracles(row):
    width, height = map(int, re.findall(r"\d+", row["game"]))
    game = hexapawn(width, height)
    assert answers(game, positions=row["sym"] == 0) == expected(row)


def test_positions_counted_one_by_one_are_as_many():
    assert len(reached(GAME)) == rows("hexapawn 3")[0]["states"] == 135
    assert len(reached(hexapawn(4, 4))) == rows("hexapawn 4")[0]["states"] == 20286


@given(st.sampled_from(SIZES), st.lists(st.integers(0, 10**6), max_size=30))
def test_moves_and_results_are_those_of_the_plain_rules(size, choices):
    width, height = size
    game = hexapawn(width, height)
    start = ("B" * width, *["." * width] * (height - 2), "W" * width), "W"
    assert game.texts(game.start_states()) == [text(start)]
    states = played(start, steps, choices)
    positions = game.read_many([text(state) for state in states])
    assert game.texts(positions) == [text(state) for state in states]
    assert game.turns(positions).tolist() == [1 + (state[1] == "B") for state in states]
    legal = [steps(state) for state in states]
    assert game.outcomes(positions).tolist() == [IN_PLAY if moves else LOSS for moves in legal]
    moves = game.expand(positions[: len(legal) - (not legal[-1])])
    assert moves.move.tolist() == [number for each in legal for number, _ in each]
    assert game.texts(moves.child) == [text(child) for each in legal for _, child in each]
    assert len(states) <= game.max_plies + 1


@pytest.mark.parametrize(
    ("board", "outcome"),
    [
        ("BBB/.../WWW W", IN_PLAY),
        ("BBW/B../..W B", LOSS),  # white is on the far side
        ("B.B/.../BW. W", LOSS),  # black is
        ("B../W../... B", LOSS),  # no move
        ("B../W../... W", LOSS),
        ("B../WB./..W W", IN_PLAY),
        (".../W../... B", LOSS),  # no pawn
    ],
)
def test_reaching_the_far_side_or_leaving_no_move_wins(board, outcome):
    masks = GAME.symmetry.read(board, game="")[:2]
    turn = np.array([1 + (board[-1] == "B")])
    position = GAME.symmetry.join(*(np.array([mask]) for mask in masks), turn)
    assert GAME.outcomes(position) == [outcome]


def test_pawns_do_not_take_around_the_edge():
    position = GAME.read_many(["B.B/W../..W W"])
    assert GAME.texts(GAME.expand(position).child) == ["B.B/W.W/... B"]


def test_the_image_is_the_mirror_image():
    position = GAME.read_many(["BBB/W../.WW B"])
    images = GAME.symmetry.positions(position)[:, 0]
    assert GAME.texts(images) == ["BBB/W../.WW B", "BBB/..W/WW. B"]
    assert GAME.texts(GAME.canonical(position)) == ["BBB/..W/WW. B"]
    assert GAME.orbits(position) == [2]


def test_the_side_to_move_is_above_the_masks():
    assert GAME.read("BBB/.../WWW W") == 0b000000111 << 9 | 0b111000000
    assert GAME.read("BBB/W../.WW B") == 1 << 18 | 0b000100011 << 9 | 0b111000000


def test_all_boards_that_play_reaches_can_be_read_and_some_others():
    cells = np.array(list(product(range(3), repeat=9)))
    white, black = ((cells == side) @ GAME.symmetry.bits for side in (1, 2))
    boards = np.concatenate(
        [GAME.symmetry.join(white, black, np.full(len(white), turn)) for turn in (1, 2)]
    )
    readable = boards[GAME.faults(boards) == 0]
    assert len(readable) == 2531
    assert np.isin(reached(GAME), readable).all()
    texts = GAME.texts(readable[::50])
    assert [GAME.read(each) for each in texts] == readable[::50].tolist()


def test_the_largest_boards_fit():
    for width, height in ((10, 3), (1, 31), (5, 6), (7, 4)):
        game = hexapawn(width, height)
        assert game.name == find_game(game.name).name
        children = game.expand(game.start_states()).child
        assert len(children) == width
        assert 0 < children.min() <= children.max() < 2**63
        assert game.read_many(game.texts(children)).tolist() == children.tolist()


def test_the_documents_tables_are_right():
    table = documented("hexapawn")
    assert len(table) == 5
    for name, row in table.items():
        if len(row[0]) > len("99,999"):
            continue  # slow
        assert as_documented(find_game(name)) == row
