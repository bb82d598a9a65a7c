"""The two masks and the 32-bit state agree with the programs that wrote them."""

import csv
import re

import numpy as np
import pytest
from conftest import DATA, for_all
from hypothesis import example, given
from hypothesis import strategies as st

from graphstore.errors import EncodingError
from graphstore.games import find_game
from graphstore.games.encodings import from_masks, pack32, to_masks, unpack32

GAME = find_game("tictactoe")
EMPTY_BOARD = 2147484159  # the start of the game-graph program's map
POSITIONS = 5478  # tictactoe_ply_counts.csv


def oracle():
    """Return the rows of tictactoe_765.csv."""
    with (DATA / "tictactoe_765.csv").open(newline="") as lines:
        return list(csv.DictReader(lines))


def oracle_states():
    return np.array([int(row["state32"]) for row in oracle()])


def oracle_positions():
    return GAME.read_many([row["position"] for row in oracle()])


def all_positions():
    """Return every position of tic-tac-toe in every orientation, from the oracle's 765."""
    return np.unique(GAME.symmetry.positions(oracle_positions()))


def state_of(board, *, flags, turn, vacancy=None):
    """Return the bits of a board such as ``XO./.X./...``, also of an invalid one."""
    cells = board.replace("/", "")
    x, o, empty = ("".join("01"[c == mark] for c in cells) for mark in "XO.")
    return int(flags + turn + x + o + (vacancy or empty), base=2)


def test_all_765_states_are_packed_as_the_program_packed_them():
    assert pack32(oracle_positions()).tolist() == oracle_states().tolist()


def test_all_765_states_are_unpacked_to_the_boards_that_they_are():
    assert GAME.texts(unpack32(oracle_states())) == [row["position"] for row in oracle()]


def test_the_empty_board_is_the_program_s_start():
    assert pack32(0) == EMPTY_BOARD
    assert unpack32(EMPTY_BOARD) == 0


@for_all("row", oracle()[::7])
def test_every_field_says_what_the_row_says(row):
    bits = f"{pack32(GAME.read(row['position'])):032b}"
    goes_on, tie, o_won, x_won, turn = bits[:5]
    cells = row["position"].replace("/", "")
    assert goes_on == "01"[row["ended"] == ""]
    assert tie == "01"[row["ended"] == "draw"]
    assert o_won == "01"[row["ended"] == "second"]
    assert x_won == "01"[row["ended"] == "first"]
    assert turn == "01"[row["to_move"] == "2"]
    assert bits[5:14] == "".join("01"[cell == "X"] for cell in cells)
    assert bits[14:23] == "".join("01"[cell == "O"] for cell in cells)
    assert bits[23:] == "".join("01"[cell == "."] for cell in cells)


def test_states_and_positions_are_one_to_one_in_all_orientations():
    positions = all_positions()
    states = pack32(positions)
    assert len(positions) == len(np.unique(states)) == POSITIONS
    assert np.array_equal(unpack32(states), positions)


def test_masks_are_the_halves_of_a_position():
    x, o = to_masks(GAME.read("XO./.X./..."))
    assert (int(x), int(o)) == (0b100010000, 0b010000000)
    positions = all_positions()
    assert np.array_equal(from_masks(*to_masks(positions)), positions)


@pytest.mark.parametrize("shape", [(), (1,), (0,), (2, 3), (0, 4)])
def test_shapes_are_kept_and_the_result_is_int64(shape):
    positions = np.full(shape, GAME.read("XO./.X./..."), dtype=np.int32)
    states = pack32(positions)
    for array in (states, unpack32(states), *to_masks(positions), from_masks(1, positions >> 9)):
        assert np.shape(array) == shape
        assert array.dtype == np.int64
    assert np.array_equal(unpack32(states), positions)


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64, np.int64, object])
def test_states_of_any_integer_type_are_unpacked(dtype):
    states = oracle_states()
    given_states = states.tolist() if dtype is object else states.astype(dtype)
    assert np.array_equal(unpack32(given_states), oracle_positions())


def test_arguments_do_not_change():
    positions = oracle_positions()
    states = pack32(positions)
    before = positions.copy(), states.copy()
    unpack32(states)
    from_masks(*to_masks(positions))
    assert np.array_equal(positions, before[0])
    assert np.array_equal(states, before[1])


OVERLAP = int("10000" + "100000000" + "100000000" + "011111111", base=2)
REFUSED = {
    -1: "-1 is not a state; it must be an integer of 32 bits",
    2**32: "4294967296 is not a state; it must be an integer of 32 bits",
    2**70: "'1180591620717411303424' is not a state; it must be an integer of 32 bits",
    OVERLAP: "X (bits 26..18) and O (bits 17..9) both hold cell 0",
    state_of("X../.../...", flags="1000", turn="1", vacancy="111111111"): (
        "X (bits 26..18) and vacancy (bits 8..0) both hold cell 0"
    ),
    state_of("X../.O./...", flags="1000", turn="0", vacancy="011111111"): (
        "O (bits 17..9) and vacancy (bits 8..0) both hold cell 4"
    ),
    state_of("X../.../...", flags="1000", turn="1", vacancy="011111110"): (
        "neither X, O nor vacancy (bits 26..0) holds cell 8"
    ),
    0: "neither X, O nor vacancy (bits 26..0) holds cell 0",
    state_of("XX./.../...", flags="1000", turn="0"): (
        "X (bits 26..18) and O (bits 17..9): 2 X and 0 O are impossible: "
        "X begins and turns alternate, so X has as many as O or one more"
    ),
    state_of("XXX/OOO/...", flags="0001", turn="0"): (
        "X (bits 26..18) and O (bits 17..9): X and O both have a line; the first one ends the game"
    ),
    state_of("XXX/OO./O..", flags="0001", turn="0"): (
        "X (bits 26..18) and O (bits 17..9): X has a line, yet O played on after it"
    ),
    EMPTY_BOARD
    ^ 1 << 27: "turn (bit 27) is 1; it must be 0, because with 0 X and 0 O, X is to move",
    state_of("XXX/OO./...", flags="0001", turn="0"): (
        "turn (bit 27) is 0; it must be 1, because with 3 X and 2 O, O is to move"
    ),
    state_of("XXX/OO./...", flags="0010", turn="1"): (
        "C T W L (bits 31..28) are 0010; for XXX/OO./... they must be 0001"
    ),
    state_of("XXX/OO./...", flags="1001", turn="1"): (
        "C T W L (bits 31..28) are 1001; for XXX/OO./... they must be 0001"
    ),
    EMPTY_BOARD ^ 0b11 << 30: "C T W L (bits 31..28) are 0100; for .../.../... they must be 1000",
}


@for_all("state", REFUSED)
def test_a_wrong_state_is_refused_and_the_contradiction_named(state):
    reason = REFUSED[state]
    message = reason if "32 bits" in reason else f"state {state}: {reason}"
    with pytest.raises(EncodingError, match=f"^{re.escape(message)}$"):
        unpack32(state)


def test_the_first_wrong_state_of_an_array_is_named():
    with pytest.raises(EncodingError, match=r"^state 0: "):
        unpack32(np.array([EMPTY_BOARD, 0, EMPTY_BOARD ^ 1 << 27]))


@for_all("state", oracle_states()[::25].tolist())
def test_no_single_bit_may_be_wrong(state):
    for bit in range(32):
        with pytest.raises(EncodingError, match=f"^state {state ^ 1 << bit}: "):
            unpack32(state ^ 1 << bit)


@given(st.integers(0, 2**32 - 1) | st.integers())
@example(EMPTY_BOARD)
def test_any_integer_is_a_state_or_is_refused_in_one_line(number):
    try:
        position, refusal = unpack32(number), None
    except EncodingError as error:
        position, refusal = None, str(error)
    if refusal is None:
        assert pack32(position) == number
    else:
        assert str(number)[:10] in refusal
        assert "\n" not in refusal
        assert len(refusal) < 300


@given(st.integers(0, 2**18 - 1))
def test_masks_that_the_rules_refuse_have_no_state(position):
    known = all_positions()
    if position in known:
        assert unpack32(pack32(position)) == position
    else:
        with pytest.raises(EncodingError, match=f"^{position} is not a position of tic-tac-toe: "):
            pack32(position)


@pytest.mark.parametrize(
    ("position", "message"),
    [
        (2**18, "262144 is not a position; it must be an integer of 18 bits"),
        (-1, "-1 is not a position; it must be an integer of 18 bits"),
        (0.5, "'0.5' is not a position; it must be an integer of 18 bits"),
        ("XO.", "'XO.' is not a position; it must be an integer of 18 bits"),
        (True, "'True' is not a position; it must be an integer of 18 bits"),
        (1 << 9 | 1, "513 is not a position of tic-tac-toe: X and O both hold cell 8"),
    ],
    ids=str,
)
def test_an_impossible_position_has_no_state(position, message):
    with pytest.raises(EncodingError, match=f"^{re.escape(message)}"):
        pack32(position)


@pytest.mark.parametrize(
    ("x", "o", "message"),
    [
        (1, 1, "the masks of X and O both hold cell 8"),
        ([0, 256], [1, 256], "the masks of X and O both hold cell 0"),
        (512, 0, "512 is not a mask of X; it must be an integer of 9 bits"),
        (0, -1, "-1 is not a mask of O; it must be an integer of 9 bits"),
    ],
    ids=str,
)
def test_masks_that_cannot_be_packed_are_refused(x, o, message):
    with pytest.raises(EncodingError, match=f"^{re.escape(message)}$"):
        from_masks(x, o)


def test_a_million_states_do_not_take_a_loop():
    states = np.tile(oracle_states(), 1400)  # 1,071,000: minutes if each were a call
    assert np.array_equal(pack32(unpack32(states)), states)
