"""Rules for one position at a time are a game, on any hashable Python values."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import NamedTuple

import numpy as np
import pytest
from conftest import for_all
from hypothesis import given
from hypothesis import strategies as st
from oracles import reached
from usergames import (
    USER_GAMES,
    Countdown,
    Hopping,
    Light,
    Lights,
    Mixed,
    Nested,
    Nim,
    NumpyCountdown,
    Stones,
    Strip,
    Taking,
    TakingWithText,
    Walk,
    Walking,
)

from graphstore import Match, Store, build, build_folder, compare, explore, load, search, solve
from graphstore.checks.laws import check_rules
from graphstore.errors import MoveError, PositionError, RulesError
from graphstore.rules.adapter import ArrayRules, accept, position_id
from graphstore.rules.game import DRAW, IN_PLAY, LOSS, WIN, Game, move_text, names_moves, read_move
from graphstore.rules.plain import PlainGame
from graphstore.rules.positions import read_position
from graphstore.rules.values import is_same, plain_text


def rules(**changes):
    """Return Countdown with some of its rules replaced."""
    return accept(type("Changed", (Countdown,), changes)())


@pytest.mark.parametrize("make", USER_GAMES)
def test_a_user_s_game_is_a_game(make):
    assert isinstance(accept(make()), Game)
    assert accept(make()).name == make.__name__


@pytest.mark.parametrize("make", USER_GAMES)
def test_different_positions_have_different_ids_and_texts(make):
    game = accept(make())
    known = reached(game)
    assert len(known) == len(set(game.texts(known))) > 2
    assert known.min() >= 0


@pytest.mark.parametrize("make", USER_GAMES)
def test_a_position_that_was_met_is_read_from_its_text(make):
    game = accept(make())
    known = reached(game)
    assert np.array_equal(game.read_many(game.texts(known)), known)


@pytest.mark.parametrize("make", USER_GAMES)
def test_positions_are_read_from_their_text_by_a_game_that_never_met_them(make):
    game = accept(make())
    known = reached(game)
    for text, key in zip(game.texts(known), known.tolist(), strict=True):
        fresh = accept(make())
        assert fresh.read(text) == key
        assert repr(fresh.images(key)) == repr(game.images(key))
        assert fresh.texts(np.array([key])) == [text]


@pytest.mark.parametrize("make", [Taking, Lights])
def test_a_start_is_read_even_if_its_text_is_not_a_literal(make):
    (text,) = accept(make()).texts(accept(make()).start_states())
    assert accept(make()).read(text) == accept(make()).start_states()[0]


def test_ids_do_not_depend_on_the_order_of_hashes():
    program = (
        "from graphstore.rules.adapter import accept; "
        "from oracles import reached; from usergames import USER_GAMES; "
        "[print(make.__name__, reached(accept(make())).tolist()) for make in USER_GAMES]"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1
    assert printed.pop() == "".join(
        f"{make.__name__} {reached(accept(make())).tolist()}\n" for make in USER_GAMES
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
    assert reached(accept(NumpyCountdown())).tolist() == reached(accept(Countdown())).tolist()
    assert (
        accept(NumpyCountdown()).texts(np.array([3]))
        == accept(Countdown()).texts(np.array([3]))
        == ["3"]
    )


@for_all(
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


# Names in a user's class that only graphstore itself had a use for.
TAKEN = {
    *(name for name in [*dir(ArrayRules), *vars(accept(Countdown()))] if not name.startswith("__")),
} - {*vars(PlainGame), "picture", "write_move", "read_move"}


@for_all("name", sorted(TAKEN))
def test_a_user_s_class_may_have_any_other_names(name):
    for helper in (lambda *_: "helper", property(lambda self: 1 / 0)):
        game = rules(**{name: helper})
        starts = game.start_states()
        assert explore(game.game).number_of_nodes() == 8
        assert game.name == "Changed"
        assert game.read("7") == starts[0] == game.canonical(starts)[0]
        assert (game.texts(starts), game.board(7)) == (["7"], "7")
        assert check_rules(game.game).breaches == ()


def test_a_position_that_was_met_is_known_in_the_next_call():
    game = Nested()
    graph = explore(game)
    assert search(game, int(graph.states.id[3])).position == graph.texts(graph.states.id[3:4])[0]


class Normal(Nim):
    """Heaps of which the sorted ones are the state."""

    def canonical(self, heaps):
        return tuple(sorted(heaps, reverse=True))

    def board(self, heaps):
        return "\n".join("o" * heap for heap in heaps)


def test_a_user_chooses_the_state_and_the_drawing():
    game, other = accept(Normal()), accept(Nim())
    assert check_rules(Normal()).breaches == ()
    states = game.canonical(game.start_states())
    assert game.texts(states) == ["(3, 2, 1)", "(2, 2)", "(3,)"]
    assert game.orbits(states).tolist() == other.orbits(other.start_states()).tolist() == [6, 1, 1]
    assert game.board(states[0]) == "ooo\noo\no"


def test_starts_may_have_names():
    game = rules(starts=lambda self: {"seven": 7, "late": 3})
    assert game.texts(game.start_states()) == ["7", "3"]
    assert [read_position(game, each) for each in ("start", "start:late", "5")] == [7, 3, 5]
    for of, message in ((game, "the starts are seven, late"), (accept(Nim()), "have no names")):
        with pytest.raises(PositionError, match=f"no start 'early': .*{message}"):
            read_position(of, "start:early")


def test_moves_that_are_not_integers_have_numbers_and_names():
    game = accept(Hopping())
    graph = explore(Hopping())  # other rules of the same class
    numbers = {"hop": 1910576802, "1-2": 1114221992, "up-3": 298971000}
    assert names_moves(game)
    assert not names_moves(accept(Countdown()))
    assert [read_move(game, name) for name in numbers] == list(numbers.values())
    assert game.expand(game.start_states()).move.tolist() == sorted(numbers.values())
    assert {*graph.edges_by_move.move.tolist()} == {*numbers.values()}
    assert [move_text(game, number) for number in numbers.values()] == list(numbers)
    assert game.texts(np.array([read_position(game, "moves:hop 1-2")])) == ["(0, 3)"]
    assert check_rules(Hopping()).breaches == ()
    with pytest.raises(MoveError, match="is not a move"):
        read_move(accept(Countdown()), "hop")


@for_all(
    "moves", [[("a b", 1), ("a", "b", 1)], ["a,b", "a b"], [""], [object()], ["a", "a"], [[1], 2]]
)
def test_moves_that_are_not_integers_and_have_no_names_of_their_own_are_refused(moves):
    game = rules(moves=lambda self, position: moves)
    with pytest.raises(RulesError) as refused:
        explore(game.game)
    assert re.search(
        "write_move|lists a move twice|moves.. or play.. failed at 7", str(refused.value)
    )


class Take(IntEnum):
    ONE, TWO = 1, 2


@for_all(
    ("listed", "taken"),
    [
        ([Take.TWO, Take.ONE], lambda move: 2 if move is Take.TWO else 1),
        ([True, False], lambda move: 2 if move is True else 1),
        ([{"b", "a"}, "one"], lambda move: 2 if move == {"a", "b"} else 1),
        ([Take.TWO, "one"], lambda move: move.value if isinstance(move, Take) else 1),
    ],
)
def test_play_gets_the_moves_that_the_rules_list(listed, taken):
    game = rules(
        moves=lambda self, heap: listed if heap > 1 else listed[1:],
        play=lambda self, heap, move: heap - taken(move),
    )
    assert solve(explore(game)).value.tolist() == [LOSS, WIN, WIN, LOSS, WIN, WIN, LOSS, WIN]


def test_two_moves_with_one_name_are_refused(tmp_path):
    game = rules(moves=lambda self, heap: [1, "1"][:heap], play=lambda self, heap, move: heap - 1)
    with pytest.raises(RulesError, match="have one name"):
        build(game.game, tmp_path / "g.db")


def test_moves_are_given_as_the_rules_list_them(tmp_path):
    game = rules(
        start=lambda self: (3, 4),
        moves=lambda self, heaps: [(i, n) for i in (0, 1) for n in range(1, heaps[i] + 1)],
        play=lambda self, heaps, move: (
            *heaps[: move[0]],
            heaps[move[0]] - move[1],
            *heaps[move[0] + 1 :],
        ),
        outcome=lambda self, heaps: None if any(heaps) else LOSS,
    )
    build(game.game, tmp_path / "g.db")
    with Store.open(tmp_path / "g.db", rules=game.game) as store:
        assert store.probe([(0, 3), (1, 3)]).position == "(0, 1)"
        match = Match(store)
        match.play((0, 3))
        assert match.probe.position == "(0, 4)"


@for_all("starts", ["abc", {" pad": 7}, {"": 7}, {"1": 7, 1: 6}])
def test_starts_that_are_not_positions_or_have_no_names_are_refused(starts):
    game = rules(starts=lambda self: starts)
    with pytest.raises(RulesError, match=r"a list of positions|the name of a start"):
        assert game.start_names() or game.start_states()


def test_equal_values_of_two_types_are_refused_wherever_they_meet(monkeypatch, tmp_path):
    class Flags(Countdown):
        def start(self):
            return (7, 0)

        def moves(self, position):
            return [1, 2][: position[0]]

        def play(self, position, take):
            return (position[0] - take, position[1] == 0 if take == 1 else 1)

        def outcome(self, position):
            return None if position[0] else LOSS

    with pytest.raises(RulesError, match="use one type"):
        explore(Flags())
    with pytest.raises(RulesError, match="use one type"):
        build_folder(Flags(), tmp_path / "parts")


class Level(IntEnum):
    TOP, MIDDLE, END = 3, 2, 0


class Word(str, Enum):  # noqa: UP042  # its str() is not its value, unlike that of a StrEnum
    TOP, MIDDLE, END = "top", "middle", "end"


class Pair(NamedTuple):
    heap: int
    rest: int = 0


class Other(NamedTuple):
    heap: int
    rest: int = 0


@dataclass(frozen=True)
class Total:
    heap: int
    total: int = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "total", self.heap)


@for_all(
    ("positions", "is_read"),
    [
        ([*Level], True),
        ([*Word], True),
        ([7, Pair(3), Pair(0)], True),
        ([Total(3), Total(2), Total(0)], True),
        ([Pair(3), Other(2), Pair(0)], False),
        ([(1, Pair(3)), (1, Other(2)), (1, Pair(0))], False),
        ([type("Small", (int,), {})(3), 2, 0], False),
    ],
)
def test_a_position_keeps_its_type_in_parts_or_is_refused_by_every_build(
    tmp_path_factory, positions, is_read
):
    place = tmp_path_factory.mktemp("types")
    game = type(
        "Along",
        (Countdown,),
        {
            "start": lambda self: positions[0],
            "moves": lambda self, position: [1],
            "play": lambda self, position, move: positions[positions.index(position) + 1],
            "outcome": lambda self, position: LOSS if position == positions[-1] else None,
            "to_move": lambda self, position: next(
                1 + number % 2 for number, each in enumerate(positions) if is_same(each, position)
            ),
        },
    )()
    if not is_read:
        for make in (build, build_folder):
            with pytest.raises(RulesError, match="write text"):
                make(game, place / make.__name__)
        return
    build(game, place / "g.db")
    build_folder(game, place / "parts", parts=2)
    load(place / "parts", place / "h.db")
    with Store.open(place / "g.db") as one, Store.open(place / "h.db") as other:
        assert compare(one, other).same


def test_what_is_kept_for_speed_makes_no_difference(monkeypatch):
    graphs = []
    for kept in (1, 1 << 18):
        monkeypatch.setattr("graphstore.rules.adapter.KEPT", kept)
        graphs += [explore(kind()) for kind in (Nim, Strip, Mixed)]
    for one, other in zip(graphs[:3], graphs[3:], strict=True):
        assert one.texts(one.states.id) == other.texts(other.states.id)
        assert one.states.orbit.tolist() == other.states.orbit.tolist()
        assert one.edges_by_move.child.tolist() == other.edges_by_move.child.tolist()


@given(st.lists(st.tuples(*[st.integers(-1, 11) | st.booleans() | st.text(max_size=1)] * 2)))
def test_the_state_is_the_image_with_the_smallest_text(images):
    images = [(0, 0), *images]
    for place in zip(*images, strict=True):
        if {int, bool} <= {*map(type, place)}:
            return  # refused: (1,) and (True,) are equal
    game = rules(start=lambda self: images[0], symmetries=lambda self, position: images)
    assert game.texts(game.canonical(game.start_states())) == [min(map(plain_text, images))]


def test_moves_are_sorted_and_numbered_by_their_parent():
    game = accept(Countdown())
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
    game = accept(Strip())
    positions = game.read_many([".....", "XX.O.", "XOXOX", "X...."])
    assert game.outcomes(positions).tolist() == [IN_PLAY, LOSS, DRAW, IN_PLAY]
    assert game.turns(positions).tolist() == [1, 2, 2, 2]
    assert accept(Countdown()).turns(np.array([7, 3])).tolist() == [0, 0]
    assert game.outcomes(positions).dtype == game.turns(positions).dtype == np.int8


def test_a_position_may_leave_open_who_moves():
    game = rules(to_move=lambda self, heap: 1 if heap == 7 else None)
    assert game.turns(np.array([7, 3])).tolist() == [1, 0]


def test_all_starts_are_starts():
    game = accept(Nim())
    assert game.texts(game.start_states()) == ["(1, 2, 3)", "(2, 2)", "(3,)"]
    assert game.start_states().dtype == np.int64


def test_symmetric_positions_are_one_state():
    game = accept(Nim())
    positions = game.read_many(["(1, 2, 3)", "(3, 1, 2)", "(2, 2)", "(1, 1, 2)", "(0, 0, 0)"])
    canonical = game.canonical(positions)
    assert canonical[0] == canonical[1]
    assert game.texts(canonical) == ["(1, 2, 3)", "(1, 2, 3)", "(2, 2)", "(1, 1, 2)", "(0, 0, 0)"]
    assert game.orbits(positions).tolist() == [6, 6, 1, 3, 1]


def test_without_symmetries_every_position_is_its_own_state():
    game = accept(Nested())
    known = reached(game)
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


def test_the_rules_own_text_and_parse_are_used():
    game = accept(TakingWithText())
    assert game.texts(game.start_states()) == ["1/black,red,white"]
    assert game.texts(game.read_many(["2/red"])) == ["2/red"]


def test_an_int_is_always_known_but_a_hash_must_have_been_seen():
    assert accept(Countdown()).texts(np.array([123])) == ["123"]
    with pytest.raises(PositionError) as caught:
        accept(Strip()).outcomes(np.array([123]))
    assert str(caught.value) == "Strip has not seen a position with the id 123; read its text first"
    with pytest.raises(PositionError, match="has not seen a position with the id -1;"):
        accept(Countdown()).expand(np.array([-1]))


def failing(error):
    """Return a rule that raises."""

    def rule(self, *_):
        raise error

    return rule


def returning(value):
    """Return a rule that always returns `value`."""
    return lambda self, *_: value


class Shy:
    """A hashable value without a text."""


BROKEN = {
    # the fault of the rules: the call that finds it, and the message
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
        "Changed: starts() is empty; it must return at least one position",
    ),
    "start raises": (
        {"start": failing(KeyError("heap"))},
        "Changed: starts() failed: KeyError: 'heap'",
    ),
    "starts is not a list": (
        {"starts": returning(7)},
        "Changed: starts() failed: TypeError: 'int' object is not iterable",
    ),
    "start is a list": (
        {"start": returning([7])},
        "Changed: [7] cannot be a position: unhashable type: 'list'; "
        "build it from tuples and frozensets",
    ),
    "start holds a list": (
        {"start": returning((7, [1]))},
        "Changed: (7, [1]) cannot be a position: unhashable type: 'list'; "
        "build it from tuples and frozensets",
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
    "a move is a float": (
        {"moves": returning([1.0])},
        "Changed: moves() or play() failed at 7: TypeError: "
        "'float' object cannot be interpreted as an integer",
    ),
    "a move is too large": (
        {"moves": returning([1, 2**31])},
        "Changed: moves() of 7 must be 32-bit integers: [1, 2147483648]",
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
        "build it from tuples and frozensets",
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
            "parse": returning("7"),
        },
        "Changed: '6' and '7' share the id ",
    ),
    "two starts with one text": (
        {"starts": returning(["a", "b"]), "text": returning("same"), "parse": returning("a")},
        "Changed: 'b' and 'a' share the id ",
    ),
}


def explored(game):
    """Call every verb of a game on its starts."""
    starts = game.start_states()
    assert game.texts(starts)
    return game.outcomes(starts), game.turns(starts), game.canonical(starts), game.expand(starts)


@for_all("what", BROKEN)
def test_broken_rules_are_refused_with_the_position_named(what):
    changes, message = BROKEN[what]
    game = rules(**changes)
    with pytest.raises(RulesError) as caught:
        explored(game)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_the_error_of_the_rules_is_the_cause_of_the_rules_error():
    with pytest.raises(RulesError) as caught:
        rules(moves=failing(ZeroDivisionError("division by zero"))).expand(np.array([7]))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_the_error_for_a_collision_says_what_to_do():
    game = rules(
        starts=returning((("XO.", 1), ("XO.", 2))),
        text=lambda self, p: p[0],
        parse=lambda self, text: (text, 1),
    )
    with pytest.raises(RulesError) as caught:
        game.start_states()
    assert re.fullmatch(
        r"Changed: \('XO\.', 2\) and \('XO\.', 1\) share the id \d+; "
        r"text\(\) must differ for any two positions, also for the side to move",
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


def test_a_long_position_and_a_long_message_are_cut():
    game = rules(
        start=returning(tuple(range(10_000))), outcome=failing(ValueError("why " * 10_000))
    )
    with pytest.raises(RulesError) as caught:
        game.outcomes(game.start_states())
    assert len(str(caught.value)) < 300
    assert "(0, 1, 2," in str(caught.value)


@for_all(
    ("make", "text", "reason"),
    [
        (Countdown, "seven", "write a Python value such as 7, or define parse(self, text)"),
        (Countdown, "", "write a Python value such as 7, or define parse(self, text)"),
        (Countdown, "'7'", "write a Python value such as 7, or define parse(self, text)"),
        (Countdown, "7.0", "write a Python value such as 7, or define parse(self, text)"),
        (Countdown, "True", "write a Python value such as 7, or define parse(self, text)"),
        (Countdown, "7 7", "write a Python value such as 7, or define parse(self, text)"),
        (Countdown, "9" * 5000, "write a Python value such as 7, or define parse(self, text)"),
        (Countdown, "(" * 500, "write a Python value such as 7, or define parse(self, text)"),
        (Countdown, "\0", "write a Python value such as 7, or define parse(self, text)"),
        (Countdown, "{1: 2}", "{1: 2} cannot be a position: unhashable type: 'dict'"),
        (Nim, "((1, 2)", "write a Python value such as (1, 2, 3), or define parse"),
        (Walking, "(1,)", ""),
        (Taking, "Stones(1, 2, 3)", "write a Python value such as Stones(table="),
        (TakingWithText, "3/red", "'3'"),
    ],
)
def test_a_text_that_is_not_a_position_is_refused(make, text, reason):
    with pytest.raises(PositionError) as caught:
        accept(make()).read(text)
    message = str(caught.value)
    assert f" is not a position of {make.__name__}: " in message
    assert reason in message
    assert len(message) < 300


def test_a_position_error_of_the_rules_is_not_wrapped():
    game = rules(parse=failing(PositionError("heaps are not negative")))
    with pytest.raises(PositionError, match=r"^heaps are not negative$"):
        game.read("-1")


def test_broken_starts_are_the_rules_fault_also_when_reading():
    with pytest.raises(RulesError, match=r"starts\(\) is empty"):
        rules(starts=returning(())).read("7")
    with pytest.raises(RulesError, match=r"starts\(\) failed"):
        rules(start=failing(OSError("no file"))).read("7")
