"""Records of ultimate tic-tac-toe have the documented bits; contradictory ones are refused."""

from contextlib import suppress

import numpy as np
import pytest
from conftest import for_all
from hypothesis import given
from hypothesis import strategies as st
from ultimateplay import RULES, Raw, after, games, result

from graphstore import find_game
from graphstore.errors import EncodingError, PositionError
from graphstore.games.ultimate.convert import position_of, record_of
from graphstore.games.ultimate.record import LENGTH, Record
from graphstore.rules.game import DRAW, IN_PLAY, LOSS, WIN

GAMES = {rules: find_game(f"ultimate({rules})") for rules in RULES}
OPEN, CLOSED, COUNT = GAMES.values()


def record(raw, **changes):
    """Return the record of a plain position."""
    active = 9 if raw.active is None else raw.active
    return Record(raw.turn, active, None, None, raw.spots, raw.results)._replace(**changes)


def bits(*fields):
    """Return the bytes of a text of bits."""
    text = "".join(fields).replace(" ", "") + "00000"
    assert len(text) == 8 * LENGTH
    return int(text, base=2).to_bytes(LENGTH)


START = bits("1 1111 11 11111111", "00" * 81, "00" * 9)


def test_the_bits_stand_where_they_are_documented():
    assert Record.unpack(START) == record(Raw())
    assert record_of(OPEN, OPEN.read(START.hex())) == START
    moved = bits("0 0100 10 0100 1000", "00" * 40, "11", "00" * 40, "00" * 9)
    position = after(OPEN, [40])
    assert record_of(OPEN, position, -1, 44) == moved
    assert position_of(OPEN, moved) == position
    assert moved.hex() == "2490" + "00" * 9 + "0180" + "00" * 12
    found = Record.unpack(moved)
    assert (found.to_move, found.active, found.evaluation, found.best_move) == (2, 4, 1, 44)
    assert (found.spots[40], sum(found.spots)) == (1, 1)


def test_marks_and_results_have_their_codes():
    x_won = "11 11 11 00 00 00 00 00 00"
    others = "10" + "00" * 8
    data = bits("0 0000 11 11111111", x_won, others, others, "00" * 54, "11", "00" * 8)
    found = Record.unpack(data)
    assert found.spots[:10] == (1, 1, 1, 0, 0, 0, 0, 0, 0, 2)
    assert found.results == (1, *[0] * 8)
    assert OPEN.texts(np.array([position_of(OPEN, data)])) == [
        "XXX...... O........ O........ . . . . . . 0 O"
    ]
    with pytest.raises(EncodingError, match=r"^field 0 cannot be played in any more"):
        position_of(CLOSED, data)


@given(games())
def test_a_game_that_was_played_is_packed_and_unpacked(drawn):
    rules, plies = drawn
    raw = plies[-1][1] if plies else Raw()
    mine = record(raw)
    assert Record.unpack(mine.pack()) == mine
    game = GAMES[rules]
    position = after(game, (move for move, _ in plies))
    for typed in (mine.pack().hex(), "0x" + mine.pack().hex().upper()):
        assert game.read(typed) == position
    assert position_of(game, mine.pack()) == position


@given(games(), st.sampled_from((WIN, DRAW, LOSS, None)))
def test_a_position_is_written_and_read_back(drawn, value):
    rules, plies = drawn
    game = GAMES[rules]
    raw = plies[-1][1] if plies else Raw()
    position = after(game, (move for move, _ in plies))
    at, over = np.array([position]), result(raw, rules)
    outcome = int(game.outcomes(at)[0])
    best = None if over else int(game.expand(at).move[-1])
    if over and value not in (None, outcome):
        with pytest.raises(EncodingError, match="the game is over with the value"):
            record_of(game, position, value)
        value = outcome
    data = record_of(game, position, value, best)
    found = Record.unpack(data)
    assert position_of(game, data) == position
    assert found.best_move == best
    assert found.evaluation == (None if value is None else value * (1 if raw.turn == 1 else -1))
    assert found.results == raw.results
    for field in range(9):
        mine, marks = found.field(field).cells, raw.spots[9 * field : 9 * field + 9]
        if not raw.results[field]:
            assert mine == marks
        elif rules == "open":
            assert [cell == 0 for cell in mine] == [cell == 0 for cell in marks]


def test_an_ended_game_has_no_best_move():
    over = CLOSED.read("X X X O........ . . . . . any O")
    assert Record.unpack(record_of(CLOSED, over, LOSS)).evaluation == 1
    with pytest.raises(EncodingError, match="there is a best move, but the game is over"):
        record_of(CLOSED, over, LOSS, 40)


X_LINE = (1, 1, 1, 0, 0, 0, 0, 0, 0)
O_ONE = (2, *[0] * 8)
FULL = (1, 2, 1, 1, 2, 2, 2, 1, 1)
WON = Raw((*X_LINE, *O_ONE, *O_ONE, *[0] * 54), (1, *[0] * 8), 1, 2)
ONE = Raw((*[0] * 40, 1, *[0] * 40), (0,) * 9, 4, 2)
DRAWN = Raw((*FULL, *[0] * 72), (3, *[0] * 8), 1, 2)
O_SIX = (2, 2, 0, 2, 0, 2, 0, 2, 2)
X_WINS = Raw((*X_LINE * 3, *O_ONE * 2, *O_SIX, *[0] * 27), (1, 1, 1, *[0] * 6), 3, 2)
CONTRADICTIONS = [
    (
        record(ONE, to_move=1),
        "1 X and 0 O are impossible with X to move: X begins and turns alternate",
    ),
    (record(ONE, to_move=3), "a number of the record is out of range"),
    (record(ONE, active=10), "a number of the record is out of range"),
    (record(ONE, spots=(0,) * 80), "a number of the record is out of range"),
    (record(ONE, evaluation=2), "a number of the record is out of range"),
    (record(ONE, best_move=40), "the best move is field 4, spot 4, which is taken"),
    (record(ONE, best_move=0), "the best move is field 0, spot 0, but field 4 must be played in"),
    (record(WON, results=(0,) * 9), "field 0: X has a line, but has not won"),
    (record(WON, results=(3, *[0] * 8)), "field 0: X has a line, but has not won"),
    (record(WON, results=(2, *[0] * 8)), "field 0: O has won, but has no line"),
    (record(WON, results=(1, 3, *[0] * 7)), "field 1: it is drawn, but not full"),
    (record(DRAWN, results=(0,) * 9), "field 0: it is full, but has no result"),
    (record(DRAWN, active=0), "the active field 0 is full"),
    (record(X_WINS, evaluation=-1), "X has three fields in a line, but the evaluation is -1"),
    (record(X_WINS, best_move=30), "there is a best move, but the game is over"),
]


@for_all(("wrong", "message"), CONTRADICTIONS)
def test_a_record_that_contradicts_itself_is_refused(wrong, message):
    with pytest.raises(EncodingError) as caught:
        wrong.pack()
    assert str(caught.value) == message


def flipped(data, *places):
    """Return the bytes with some bits flipped."""
    number = int.from_bytes(data)
    for place in places:
        number ^= 1 << 8 * LENGTH - 1 - place
    return number.to_bytes(LENGTH)


BAD_BYTES = {
    b"": "a record has 25 bytes, not 0",
    START + b"\0": "a record has 25 bytes, not 26",
    flipped(START, 199): "the last 5 bits must be 0",
    flipped(START, 195): "the last 5 bits must be 0",
    flipped(START, 2, 3): "the active field is 9; it must be 0 to 8, or 15 for any",
    flipped(START, 4): "the active field is 14; it must be 0 to 8, or 15 for any",
    flipped(START, 7): "the best move is field 7, spot 15; both must be 0 to 8, or 15 if there is "
    "none",
    flipped(START, 16): "field 0, spot 0 has the code 01; it must be 00 empty, 11 X or 10 O",
    flipped(START, 176): "field 8, spot 8 has the code 01; it must be 00 empty, 11 X or 10 O",
    flipped(START, 178): "field 0: it is drawn, but not full",
    flipped(START, 0): "0 X and 0 O are impossible with O to move: X begins and turns alternate",
}


@pytest.mark.parametrize("data", BAD_BYTES, ids=lambda data: BAD_BYTES[data][:40])
def test_bytes_that_are_not_a_record_are_refused(data):
    for read in (Record.unpack, lambda data: position_of(OPEN, data)):
        with pytest.raises(EncodingError) as caught:
            read(data)
        assert BAD_BYTES[data] in str(caught.value)
    if len(data) == LENGTH:
        with pytest.raises(PositionError) as refused:
            OPEN.read(data.hex())
        assert BAD_BYTES[data] in str(refused.value)


def test_records_that_only_the_closed_rules_forbid_are_refused_there():
    dead = record(WON, best_move=5, active=9)
    assert position_of(OPEN, record(WON, best_move=None, active=0).pack())
    with pytest.raises(EncodingError, match="the best move is field 0, spot 5, in a dead field"):
        position_of(CLOSED, dead.pack())
    both = (1, 1, 1, 2, 2, 2, 0, 0, 0)
    twice = record(Raw((*both, 1, *[0] * 71), (1, *[0] * 8), 0, 2))
    assert OPEN.texts(np.array([position_of(OPEN, twice.pack())])) == [
        "XXXXXX... X........ . . . . . . . 0 O"
    ]
    with pytest.raises(EncodingError, match="field 0: marks were added after X had won"):
        position_of(CLOSED, twice.pack())


def test_the_start_has_no_active_field():
    with pytest.raises(EncodingError, match="the first move is free"):
        position_of(OPEN, flipped(START, 1, 2, 3, 4))


@given(games(), st.lists(st.integers(0, 194), min_size=1, max_size=3))
def test_bits_that_change_are_refused_or_make_another_record(drawn, places):
    _, plies = drawn
    data = flipped(record(plies[-1][1] if plies else Raw()).pack(), *places)
    with suppress(EncodingError):
        assert Record.unpack(data).pack() == data


@given(st.binary(max_size=30) | st.binary(min_size=25, max_size=25))
def test_any_bytes_are_a_record_or_are_refused(data):
    with suppress(EncodingError):
        assert Record.unpack(data).pack() == data


def test_a_position_in_play_may_have_any_value():
    for value, code in ((WIN, -1), (DRAW, 0), (LOSS, 1)):
        assert OPEN.outcomes(np.array([after(OPEN, [40])])) == [IN_PLAY]
        assert Record.unpack(record_of(OPEN, after(OPEN, [40]), value)).evaluation == code
