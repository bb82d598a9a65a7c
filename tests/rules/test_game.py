"""Rules written for one position at a time make a game, whatever Python values they speak of."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from enum import Enum
from itertools import permutations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphstore.errors import PositionError, RulesError
from graphstore.rules.game import DRAW, IN_PLAY, LOSS, WIN, Game
from graphstore.rules.plain import PlainGame, plain_text, position_id


class Countdown(PlainGame):
    """An int: take one or two from a heap; who takes the last wins."""

    def start(self):
        return 7

    def moves(self, heap):
        return (take for take in (2, 1) if take <= heap)

    def play(self, heap, take):
        return heap - take

    def outcome(self, heap):
        return LOSS if heap == 0 else None


class NumpyCountdown(Countdown):
    """An int of numpy."""

    def start(self):
        return np.int64(7)

    def moves(self, heap):
        return np.flatnonzero(np.arange(3) <= heap)[1:]


class Nim(PlainGame):
    """A tuple: heaps in any order, several starts; who cannot move loses."""

    def starts(self):
        return [(1, 2, 3), (2, 2), (3,)]

    def moves(self, heaps):
        return [heap * 10 + take for heap, n in enumerate(heaps) for take in range(1, n + 1)]

    def play(self, heaps, move):
        heap, take = divmod(move, 10)
        return (*heaps[:heap], heaps[heap] - take, *heaps[heap + 1 :])

    def outcome(self, heaps):
        return None if any(heaps) else LOSS

    def symmetries(self, heaps):
        return permutations(heaps)


class Nested(PlainGame):
    """A tuple of tuples: two lines of stones, and the player to move."""

    def start(self):
        return ((2, 1), (), 1)

    def moves(self, position):
        return range(len(position[0]))

    def play(self, position, move):
        left, taken, player = position
        return (left[:move] + left[move + 1 :], (*taken, left[move]), 3 - player)

    def outcome(self, position):
        return None if position[0] else DRAW

    def to_move(self, position):
        return position[2]


class Picking(PlainGame):
    """A frozenset: who picks the last letter wins."""

    def start(self):
        return frozenset("abcd")

    def moves(self, letters):
        return map(ord, letters)

    def play(self, letters, move):
        return letters - {chr(move)}

    def outcome(self, letters):
        return None if letters else LOSS


class Strip(PlainGame):
    """A str: tic-tac-toe on a strip of five cells, two in a row win."""

    shape = (1, 5)

    def start(self):
        return "....."

    def moves(self, cells):
        return [cell for cell, mark in enumerate(cells) if mark == "."]

    def play(self, cells, move):
        return cells[:move] + "XO"[self.to_move(cells) - 1] + cells[move + 1 :]

    def outcome(self, cells):
        if "XX" in cells or "OO" in cells:
            return LOSS
        return None if "." in cells else DRAW

    def to_move(self, cells):
        return 1 if cells.count("X") == cells.count("O") else 2

    def symmetries(self, cells):
        return [cells[::-1]]


class Walk(NamedTuple):
    """Where a walker stands, what is left, and who moves."""

    place: int
    left: frozenset = frozenset("ab")
    player: int = 1


class Walking(PlainGame):
    """A NamedTuple."""

    def start(self):
        return Walk(0)

    def moves(self, walk):
        return [move for move, letter in ((1, "b"), (-1, "a")) if letter in walk.left]

    def play(self, walk, move):
        return Walk(walk.place + move, walk.left - {"ab"[move > 0]}, 3 - walk.player)

    def outcome(self, walk):
        return None if walk.left else WIN

    def to_move(self, walk):
        return walk.player

    def symmetries(self, walk):
        swapped = frozenset(letter.translate({97: "b", 98: "a"}) for letter in walk.left)
        return [walk, Walk(-walk.place, swapped, walk.player)]


@dataclass(frozen=True)
class Stones:
    """Stones on the table, and who moves."""

    table: frozenset = frozenset({"black", "white", "red"})
    player: int = 1


class Taking(PlainGame):
    """A dataclass that has no text of its own."""

    def start(self):
        return Stones()

    def moves(self, stones):
        return range(len(stones.table))

    def play(self, stones, move):
        return Stones(stones.table - {sorted(stones.table)[move]}, 3 - stones.player)

    def outcome(self, stones):
        return None if stones.table else WIN

    def to_move(self, stones):
        return stones.player


class TakingWithText(Taking):
    """A dataclass with a text that a person can type."""

    def text(self, stones):
        return f"{stones.player}/{','.join(sorted(stones.table))}"

    def parse(self, text):
        player, _, table = text.partition("/")
        return Stones(frozenset(table.split(",")) - {""}, {"1": 1, "2": 2}[player])


class Light(Enum):
    """A traffic light."""

    GREEN = 1
    AMBER = 2
    RED = 3


class Lights(PlainGame):
    """An Enum, whose play goes round for ever."""

    def start(self):
        return Light.GREEN

    def moves(self, light):
        return [0]

    def play(self, light, move):
        return Light(light.value % 3 + 1)

    def outcome(self, light):
        return None


class Mixed(Countdown):
    """Values of several types in one game."""

    def play(self, heap, take):
        return heap - take or "over"

    def outcome(self, heap):
        return LOSS if heap == "over" else None


USER_GAMES = (
    Countdown,
    NumpyCountdown,
    Nim,
    Nested,
    Picking,
    Strip,
    Walking,
    Taking,
    TakingWithText,
    Lights,
    Mixed,
)


def everything(game):
    """Return all positions that play reaches."""
    known = wave = np.unique(game.start_states())
    while wave.size:
        moves = game.expand(wave[game.outcomes(wave) == IN_PLAY])
        wave = np.setdiff1d(moves.child, known)
        known = np.union1d(known, wave)
    return known


def rules(**changes):
    """Return Countdown with some of its rules replaced."""
    return type("Changed", (Countdown,), changes)()


@pytest.mark.parametrize("make", USER_GAMES)
def test_a_user_s_game_is_a_game(make):
    assert isinstance(make(), Game)
    assert make().name == make.__name__


@pytest.mark.parametrize("make", USER_GAMES)
def test_different_positions_have_different_ids_and_texts(make):
    game = make()
    known = everything(game)
    assert len(known) == len(set(game.texts(known))) > 2
    assert known.min() >= 0


@pytest.mark.parametrize("make", USER_GAMES)
def test_a_position_that_was_met_is_read_from_its_text(make):
    game = make()
    known = everything(game)
    assert np.array_equal(game.read_many(game.texts(known)), known)


@pytest.mark.parametrize(
    "make", [make for make in USER_GAMES if make not in (Taking, Lights, Mixed)]
)
def test_most_positions_are_read_from_their_text_by_a_game_that_never_met_them(make):
    game = make()
    known = everything(game)
    for text, key in zip(game.texts(known), known.tolist(), strict=True):
        fresh = make()
        assert fresh.read(text) == key
        assert fresh.texts(np.array([key])) == [text]


@pytest.mark.parametrize("make", [Taking, Lights])
def test_a_start_is_read_even_where_its_text_is_no_literal(make):
    (text,) = make().texts(make().start_states())
    assert make().read(text) == make().start_states()[0]


def test_ids_do_not_depend_on_the_order_of_hashes():
    program = (
        "import sys; sys.path.insert(0, 'tests'); from test_game import *; "
        "[print(make.__name__, everything(make()).tolist()) for make in USER_GAMES]"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=Path(__file__).parent.parent,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1
    assert printed.pop() == "".join(
        f"{make.__name__} {everything(make()).tolist()}\n" for make in USER_GAMES
    )


def test_an_int_that_fits_is_its_own_id_and_other_values_are_hashed():
    assert position_id(0, "0") == 0
    assert position_id(2**63 - 1, "") == 2**63 - 1
    assert position_id(np.int64(5), "5") == 5
    # BLAKE2b of 8 bytes, its lowest bit dropped, by hashlib
    assert position_id("a", "a") == position_id(None, "a") == 2340832890917691671
    for value in (-1, 2**63, True, 1.0, "1", (1,), None):
        assert position_id(value, repr(value)) != value
        assert 0 <= position_id(value, repr(value)) < 2**63


def test_an_int_of_numpy_is_the_same_position_as_the_int():
    assert everything(NumpyCountdown()).tolist() == everything(Countdown()).tolist()
    assert NumpyCountdown().texts(np.array([3])) == Countdown().texts(np.array([3])) == ["3"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("XO.", "XO."),
        (3, "3"),
        (-3, "-3"),
        (None, "None"),
        (("XO", 1), "('XO', 1)"),
        ((1,), "(1,)"),
        ((), "()"),
        (((), (1, (2,))), "((), (1, (2,)))"),
        (frozenset(), "set()"),
        (frozenset("ba"), "{'a', 'b'}"),
        ((frozenset("ba"), np.int64(1)), "({'a', 'b'}, 1)"),
        (b"XO", "b'XO'"),
        (Walk(1), "(1, {'a', 'b'}, 1)"),
        (Stones(frozenset("ba")), "Stones(table={'a', 'b'}, player=1)"),
        ((Light.RED,), "(<Light.RED: 3>,)"),
    ],
    ids=str,
)
def test_a_value_has_a_stable_text(value, text):
    assert plain_text(value) == text


VALUES = st.recursive(
    st.integers() | st.text() | st.none() | st.booleans() | st.binary(max_size=3),
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.frozensets(inner, max_size=3),
)


@given(VALUES)
def test_plain_python_values_are_read_back_from_their_text(value):
    game = rules(start=lambda self: value)
    (key,) = game.start_states()
    (text,) = game.texts(np.array([key]))
    assert rules(start=lambda self: value).read(text) == key


def test_moves_are_sorted_and_numbered_by_their_parent():
    game = Countdown()
    moves = game.expand(np.array([7, 1, 5]))
    assert moves.parent.tolist() == [0, 0, 1, 2, 2]
    assert moves.move.tolist() == [1, 2, 1, 1, 2]
    assert moves.child.tolist() == [6, 5, 0, 4, 3]
    assert (moves.parent.dtype, moves.move.dtype, moves.child.dtype) == (
        np.int64,
        np.int32,
        np.int64,
    )


def test_outcomes_and_turns_are_codes():
    game = Strip()
    positions = game.read_many([".....", "XX.O.", "XOXOX", "X...."])
    assert game.outcomes(positions).tolist() == [IN_PLAY, LOSS, DRAW, IN_PLAY]
    assert game.turns(positions).tolist() == [1, 2, 2, 2]
    assert Countdown().turns(np.array([7, 3])).tolist() == [0, 0]
    assert game.outcomes(positions).dtype == game.turns(positions).dtype == np.int8


def test_a_position_may_leave_open_who_moves():
    game = rules(to_move=lambda self, heap: 1 if heap == 7 else None)
    assert game.turns(np.array([7, 3])).tolist() == [1, 0]


def test_all_starts_are_starts():
    game = Nim()
    assert game.texts(game.start_states()) == ["(1, 2, 3)", "(2, 2)", "(3,)"]
    assert game.start_states().dtype == np.int64


def test_symmetric_positions_are_one_state():
    game = Nim()
    positions = game.read_many(["(1, 2, 3)", "(3, 1, 2)", "(2, 2)", "(1, 1, 2)", "(0, 0, 0)"])
    canonical = game.canonical(positions)
    assert canonical[0] == canonical[1]
    assert game.texts(canonical) == ["(1, 2, 3)", "(1, 2, 3)", "(2, 2)", "(1, 1, 2)", "(0, 0, 0)"]
    assert game.orbits(positions).tolist() == [6, 6, 1, 3, 1]


def test_without_symmetries_every_position_is_its_own_state():
    game = Nested()
    known = everything(game)
    assert np.array_equal(game.canonical(known), known)
    assert game.orbits(known).tolist() == [1] * len(known)


def test_images_may_be_ids_and_other_values_at_once():
    game = rules(
        start=lambda self: -2, symmetries=lambda self, n: [-n, n], text=lambda self, n: f"{n}"
    )
    assert game.texts(game.canonical(game.start_states())) == ["2"]
    assert game.orbits(game.start_states()).tolist() == [2]


def test_a_board_is_drawn_a_line_for_each_row():
    game = rules(start=lambda self: "XO/..")
    assert game.board(game.start_states()[0]) == "XO\n.."


def test_a_text_and_a_parse_of_one_s_own_are_used():
    game = TakingWithText()
    assert game.texts(game.start_states()) == ["1/black,red,white"]
    assert game.texts(game.read_many(["2/red"])) == ["2/red"]


def test_an_int_needs_no_start_to_be_met_but_a_hash_must_have_been():
    assert Countdown().texts(np.array([123])) == ["123"]
    with pytest.raises(PositionError) as caught:
        Strip().outcomes(np.array([123]))
    assert str(caught.value) == "Strip has met no position with the id 123; read its text first"
    with pytest.raises(PositionError, match="has met no position with the id -1;"):
        Countdown().expand(np.array([-1]))


def failing(error):
    """Return a rule that raises."""

    def rule(self, *_):
        raise error

    return rule


def returning(value):
    """Return a rule that always answers the same."""
    return lambda self, *_: value


class Shy:
    """A value that Python can hash but that has no text."""


BROKEN = {
    # what is wrong with the rules: how it is found out, and the message
    "start is missing": (
        {"start": PlainGame.start},
        "Changed has no start: write start(self), or starts(self) for several",
    ),
    "moves is missing": (
        {"moves": PlainGame.moves},
        "Changed has no moves: write moves(self, position)",
    ),
    "play is missing": (
        {"play": PlainGame.play},
        "Changed cannot play: write play(self, position, move)",
    ),
    "outcome is missing": (
        {"outcome": PlainGame.outcome},
        "Changed has no outcome: write outcome(self, position)",
    ),
    "no starts": (
        {"starts": returning(())},
        "Changed: starts() is empty; give at least one position",
    ),
    "start raises": (
        {"start": failing(KeyError("heap"))},
        "Changed: starts() failed: KeyError: 'heap'",
    ),
    "starts is no list": (
        {"starts": returning(7)},
        "Changed: starts() failed: TypeError: 'int' object is not iterable",
    ),
    "start is a list": (
        {"start": returning([7])},
        "Changed: [7] cannot be a position: unhashable type: 'list'; "
        "make it of tuples and frozensets",
    ),
    "start holds a list": (
        {"start": returning((7, [1]))},
        "Changed: (7, [1]) cannot be a position: unhashable type: 'list'; "
        "make it of tuples and frozensets",
    ),
    "moves raises": (
        {"moves": failing(ZeroDivisionError("division by zero"))},
        "Changed: moves() or play() failed at 7: ZeroDivisionError: division by zero",
    ),
    "moves raises on the way": (
        {"moves": lambda self, heap: (1 // (n - 1) for n in (3, 2, 1))},
        "Changed: moves() or play() failed at 7: ZeroDivisionError: "
        "integer division or modulo by zero",
    ),
    "moves returns nothing": (
        {"moves": returning(None)},
        "Changed: moves() or play() failed at 7: TypeError: 'NoneType' object is not iterable",
    ),
    "a move is a text": (
        {"moves": returning("ab")},
        "Changed: moves() or play() failed at 7: TypeError: "
        "'str' object cannot be interpreted as an integer",
    ),
    "a move is a float": (
        {"moves": returning([1.0])},
        "Changed: moves() or play() failed at 7: TypeError: "
        "'float' object cannot be interpreted as an integer",
    ),
    "a move is too large": (
        {"moves": returning([1, 2**31])},
        "Changed: moves() of 7 must be integers of 32 bits: [1, 2147483648]",
    ),
    "a move comes twice": (
        {"moves": returning([2, 1, 2])},
        "Changed: moves() of 7 lists a move twice: [1, 2, 2]",
    ),
    "play raises": (
        {"play": failing(RuntimeError("two\nlines"))},
        "Changed: moves() or play() failed at 7: RuntimeError: two lines",
    ),
    "play returns a list": (
        {"play": returning([5])},
        "Changed: [5] cannot be a position: unhashable type: 'list'; "
        "make it of tuples and frozensets",
    ),
    "outcome raises": (
        {"outcome": failing(IndexError("string index out of range"))},
        "Changed: outcome() failed at 7: IndexError: string index out of range",
    ),
    "outcome is a text": (
        {"outcome": returning("win")},
        "Changed: outcome() of 7 is 'win'; it must be one of 1, 0, -1, None",
    ),
    "outcome is another number": (
        {"outcome": returning(2)},
        "Changed: outcome() of 7 is 2; it must be one of 1, 0, -1, None",
    ),
    "outcome says whether it is over": (
        {"outcome": returning(False)},
        "Changed: outcome() of 7 is False; it must be one of 1, 0, -1, None",
    ),
    "outcome is an array": (
        {"outcome": returning(np.array([1, 2]))},
        "Changed: outcome() failed at 7: ValueError: The truth value of an array",
    ),
    "to_move raises": (
        {"to_move": failing(AttributeError("no player"))},
        "Changed: to_move() failed at 7: AttributeError: no player",
    ),
    "to_move is the other convention": (
        {"to_move": returning(0)},
        "Changed: to_move() of 7 is 0; it must be one of 1, 2, None",
    ),
    "symmetries raises": (
        {"symmetries": failing(ValueError("no mirror"))},
        "Changed: symmetries() failed at 7: ValueError: no mirror",
    ),
    "symmetries returns nothing": (
        {"symmetries": returning(None)},
        "Changed: symmetries() failed at 7: TypeError: ",
    ),
    "an image is a list": (
        {"symmetries": returning([[7]])},
        "Changed: symmetries() failed at 7: TypeError: unhashable type: 'list'",
    ),
    "images that go one way only": (
        {"symmetries": lambda self, heap: [heap - 1] if heap else []},
        "Changed: symmetries() of ",
    ),
    "text raises": (
        {"text": failing(ValueError("unspeakable"))},
        "Changed: text() failed at 7: ValueError: unspeakable",
    ),
    "text is a number": (
        {"text": lambda self, heap: heap},
        "Changed: text() of 7 is 7; it must be a str",
    ),
    "a value without a text": (
        {"start": returning(Shy())},
        "Changed: text() failed at <",
    ),
    "a value that holds one without a text": (
        {"start": returning((1, Shy()))},
        "Changed: text() failed at (1, <",
    ),
    "two positions with one text": (
        {
            "start": returning("7"),
            "moves": returning([1]),
            "play": returning("6"),
            "outcome": returning(None),
            "text": returning("same"),
        },
        "Changed: '6' and '7' share the id ",
    ),
    "two starts with one text": (
        {"starts": returning(("a", "b")), "text": returning("same")},
        "Changed: 'b' and 'a' share the id ",
    ),
}


def explored(game):
    """Ask a game everything about its starts."""
    starts = game.start_states()
    return game.outcomes(starts), game.turns(starts), game.canonical(starts), game.expand(starts)


@pytest.mark.parametrize("what", BROKEN)
def test_broken_rules_are_refused_with_the_position_named(what):
    changes, message = BROKEN[what]
    game = rules(**changes)
    with pytest.raises(RulesError) as caught:
        explored(game)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_the_error_of_the_rules_is_the_cause_of_ours():
    with pytest.raises(RulesError) as caught:
        rules(moves=failing(ZeroDivisionError("division by zero"))).expand(np.array([7]))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_collision_says_what_to_do():
    game = rules(starts=returning((("XO.", 1), ("XO.", 2))), text=lambda self, p: p[0])
    with pytest.raises(RulesError) as caught:
        game.start_states()
    assert re.fullmatch(
        r"Changed: \('XO\.', 2\) and \('XO\.', 1\) share the id \d+; "
        r"text\(\) must tell every two positions apart, the side to move included",
        str(caught.value),
    )


def test_a_hash_that_meets_an_int_is_refused_too():
    unlucky = position_id("a", "a")
    game = rules(starts=returning(("a", unlucky)))
    with pytest.raises(RulesError, match=f"{unlucky} and 'a' share the id {unlucky};"):
        game.start_states()


def test_the_position_at_fault_is_named_among_many():
    game = rules(outcome=lambda self, heap: "?" if heap == 3 else None)
    with pytest.raises(RulesError, match=r"outcome\(\) of 3 is '\?'"):
        game.outcomes(np.arange(10))
    game = rules(moves=lambda self, heap: [1, 1] if heap == 3 else [1, 2])
    with pytest.raises(RulesError, match=r"moves\(\) of 3 lists a move twice"):
        game.expand(np.arange(2, 10))


def test_a_long_position_and_a_long_complaint_are_cut():
    game = rules(
        start=returning(tuple(range(10_000))), outcome=failing(ValueError("why " * 10_000))
    )
    with pytest.raises(RulesError) as caught:
        game.outcomes(game.start_states())
    assert len(str(caught.value)) < 300
    assert "(0, 1, 2," in str(caught.value)


@pytest.mark.parametrize(
    ("make", "text", "reason"),
    [
        (Countdown, "seven", "write it as Python would, like 7, or give the game a parse(text)"),
        (Countdown, "", "write it as Python would, like 7, or give the game a parse(text)"),
        (Countdown, "'7'", "write it as Python would, like 7, or give the game a parse(text)"),
        (Countdown, "7.0", "write it as Python would, like 7, or give the game a parse(text)"),
        (Countdown, "True", "write it as Python would, like 7, or give the game a parse(text)"),
        (Countdown, "7 7", "write it as Python would, like 7, or give the game a parse(text)"),
        (Countdown, "9" * 5000, "write it as Python would, like 7, or give the game a parse(text)"),
        (Countdown, "(" * 500, "write it as Python would, like 7, or give the game a parse(text)"),
        (Countdown, "\0", "write it as Python would, like 7, or give the game a parse(text)"),
        (Countdown, "{1: 2}", "{1: 2} cannot be a position: unhashable type: 'dict'"),
        (Nim, "((1, 2)", "write it as Python would, like (1, 2, 3), or give the game a parse"),
        (Walking, "(1,)", ""),
        (Taking, "Stones()", "write it as Python would, like Stones(table="),
        (TakingWithText, "3/red", "'3'"),
    ],
)
def test_a_text_that_is_no_position_is_refused(make, text, reason):
    with pytest.raises(PositionError) as caught:
        make().read(text)
    message = str(caught.value)
    assert f" is not a position of {make.__name__}: " in message
    assert reason in message
    assert len(message) < 300


def test_a_position_error_of_one_s_own_is_not_wrapped():
    game = rules(parse=failing(PositionError("heaps are not negative")))
    with pytest.raises(PositionError, match=r"^heaps are not negative$"):
        game.read("-1")


def test_broken_starts_are_the_rules_fault_also_when_reading():
    with pytest.raises(RulesError, match=r"starts\(\) is empty"):
        rules(starts=returning(())).read("7")
    with pytest.raises(RulesError, match=r"starts\(\) failed"):
        rules(start=failing(OSError("no file"))).read("7")


@given(st.text(max_size=40) | st.text("()[]{},'\"0123456789 abX.-+jx\\\n", max_size=40))
def test_any_text_is_a_position_or_is_refused_in_one_line(text):
    for make in (Countdown, Nim, Strip, Walking, TakingWithText):
        game = make()
        try:
            position, refused = game.read(text), None
        except PositionError as error:
            position, refused = None, str(error)
        if refused is None:
            assert game.read(game.texts(np.array([position]))[0]) == position
        else:
            assert "\n" not in refused
            assert len(refused) < 300
