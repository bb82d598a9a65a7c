"""Nimbers are those of published tables and of a plain recursion; outcome classes are minimax."""

import json
from functools import cache, reduce
from operator import xor

import numpy as np
import pytest
from conftest import TableGame, check_all, for_all, graphstore
from hypothesis import given
from hypothesis import strategies as st

from graphstore import PlainGame, Store, build, explore, find_game, nimbers, outcome_class, solve
from graphstore.errors import RulesError, TooLargeError
from graphstore.rules.game import LOSS


def mex(values):
    return next(k for k in range(len(values) + 1) if k not in values)


def by_text(game):
    """Return {text: nimber} of every state of a game."""
    graph = explore(game)
    return dict(zip(graph.texts(graph.states.id), nimbers(graph).tolist(), strict=True))


def of_start(game):
    game = find_game(game)
    graph = explore(game)
    return int(nimbers(graph)[graph.row(int(game.canonical(game.start_states())[0]))])


# Published sequences, of heaps 0, 1, 2, ...

KAYLES = [0, 1, 2, 3, 1, 4, 3, 2, 1, 4, 2, 6, 4, 1, 2, 7, 1, 4, 3, 2]  # Winning Ways, chapter 4
DAWSON = [0, 1, 1, 2, 0, 3, 1, 1, 0, 3, 3, 2, 2, 4, 0, 5, 2, 2, 3, 3]  # OEIS A002187


@for_all(
    ("name", "known"),
    [
        ("kayles({})", KAYLES),
        ("octal(0.77,{})", KAYLES),
        ("dawson({})", DAWSON),
        ("octal(0.137,{})", DAWSON),
        ("octal(0.07,{})", [0, *DAWSON]),  # a heap has one more, Winning Ways, chapter 4
        ("nim({})", range(1, 20)),  # C. L. Bouton 1901
        ("subtraction({},1,2,3)", [1, 2, 3] + [0, 1, 2, 3] * 4),  # Winning Ways, chapter 4
        ("chomp({},1)", range(19)),  # a heap of nim without the poisoned square
    ],
)
def test_nimbers_are_the_published_ones(name, known):
    first = 1 if known[0] or name.startswith("chomp") else 0
    found = [of_start(name.format(n)) for n in range(first, first + len(known))]
    assert found == [*known]


# Laws


def random_table(draw):
    """Draw the moves of a game that ends: {position: later positions}."""
    size = draw(st.integers(1, 9))
    return {
        place: draw(st.lists(st.integers(place + 1, size - 1), unique=True))
        if place + 1 < size
        else []
        for place in range(size)
    }


tables = st.composite(random_table)()


class Sum(PlainGame):
    """A sum of games given as tables: a player moves in one of them; who cannot has lost."""

    def __init__(self, *tables):
        self.tables = tables

    def start(self):
        return (0,) * len(self.tables)

    def moves(self, at):
        pairs = enumerate(zip(at, self.tables, strict=True))
        return [100 * which + to for which, (place, table) in pairs for to in table[place]]

    def play(self, at, move):
        which, to = divmod(move, 100)
        return (*at[:which], to, *at[which + 1 :])

    def outcome(self, at):
        return None if any(self.moves(at)) else -1


@given(tables, tables)
def test_the_nimber_of_a_sum_is_the_xor_and_lost_positions_have_0(one, other):
    def alone(table):
        @cache
        def nimber(place):
            return mex({nimber(to) for to in table[place]})

        return nimber

    graph, (first, second) = explore(Sum(one, other)), map(alone, (one, other))
    found = nimbers(graph)
    assert found.dtype == np.int16
    assert found.shape == graph.states.id.shape
    for text, nimber in zip(graph.texts(graph.states.id), found.tolist(), strict=True):
        a, b = map(int, text.strip("()").split(","))
        assert nimber == first(a) ^ second(b)
    assert np.array_equal(found == 0, solve(graph).value == LOSS)


@for_all("name", ["nim(3,4,5)", "kayles(12)", "octal(4.3,9)", "wythoff(5,8)", "chomp(4,3)"])
def test_a_graph_of_a_database_has_the_same_nimbers(tmp_path, name):
    build(name, tmp_path / "game.db", force=True)
    with Store.open(tmp_path / "game.db") as store:
        assert nimbers(store.graph()).tolist() == nimbers(explore(name)).tolist()


def test_a_sum_of_heaps_of_nim_is_their_xor():
    for text, nimber in by_text("nim(3,4,5)").items():
        assert nimber == reduce(xor, map(int, text.split(",")))


# What is refused

CYCLE = TableGame({0: {0: 1, 1: 2}, 1: {0: 0}, 2: -1}, 0)


class Known(PlainGame):
    """One heap; the position says whose turn it is."""

    def start(self):
        return (3, 1)

    def moves(self, at):
        return range(1, at[0] + 1)

    def play(self, at, take):
        return (at[0] - take, 3 - at[1])

    def outcome(self, at):
        return None if at[0] else -1

    def to_move(self, at):
        return at[1]


TURN = "has no nimbers: its rules say whose turn it is"
NOT_NORMAL = "which is not lost for the player to move; nimbers are of normal play"
REFUSED = [
    (CYCLE, "has no nimbers: play can return to a position"),
    ("vanishing", "has no nimbers: play can return to a position"),
    ("nim(3,4,misere)", f"play ends in 0,0, {NOT_NORMAL}"),
    ("subtraction(9,2,misere)", f"play ends in 1, {NOT_NORMAL}"),
    (TableGame({0: {0: 1, 1: 2}, 1: 0, 2: -1}, 0), f"play ends in 1, {NOT_NORMAL}"),
    ("tictactoe", TURN),
    ("hexapawn(3,3)", TURN),
    ("morris(king)", TURN),
    ("domineering(3,3)", TURN),
    (Known(), TURN),
]


def test_other_games_are_refused_in_one_line():
    def law(game, why):
        with pytest.raises(RulesError) as caught:
            nimbers(explore(game))
        assert why in str(caught.value)
        assert "\n" not in str(caught.value)

    check_all(REFUSED, law)


# Outcome classes


@for_all(
    ("name", "outcome"),
    [
        *((f"domineering({n},{n})", "N") for n in (2, 3, 4)),  # D. M. Breuker, J. W. H. M.
        ("domineering(5,5)", "P"),  # Uiterwijk, H. J. van den Herik, TCS 230 (2000) 195-206
        ("domineering(1,1)", "P"),
        ("domineering(1,2)", "L"),  # one column: only vertical dominoes fit
        ("domineering(2,1)", "R"),
        ("nim(1,2,3)", "P"),
        ("nim(1,2,4)", "N"),
        ("nim(1,1,misere)", "N"),
        ("kayles(5)", "N"),
        ("octal(0.07,5)", "P"),
    ],
)
def test_outcome_classes_are_the_known_ones(name, outcome):
    assert outcome_class(name).outcome == outcome


class Partisan(PlainGame):
    """Two heaps: player 1 takes from the first one, player 2 from the second; either may begin."""

    def __init__(self, one, two):
        self.heaps = (one, two)

    def starts(self):
        return [(*self.heaps, 2), (*self.heaps, 1)]

    def moves(self, at):
        return range(1, at[at[2] - 1] + 1)

    def play(self, at, take):
        one, two, turn = at
        return (one - take, two, 2) if turn == 1 else (one, two - take, 1)

    def outcome(self, at):
        return None if self.moves(at) else -1

    def to_move(self, at):
        return at[2]


def test_the_starts_of_a_users_game_may_be_in_any_order():
    # The value of the game is one - two: Winning Ways, chapter 1.
    for one, two, outcome in ((2, 1, "L"), (1, 2, "R"), (2, 2, "P"), (0, 0, "P")):
        found = outcome_class(Partisan(one, two))
        assert found.outcome == outcome
        assert found.positions == (f"({one}, {two}, 1)", f"({one}, {two}, 2)")


def test_another_position_is_given_by_its_two_starts():
    game = find_game("domineering(3,2)")
    starts = game.read_many([".XX/... H", ".XX/... V"])
    found = outcome_class(game, starts=starts)
    assert found == ("domineering(3,2)", (".XX/... V", ".XX/... H"), (2, 2), "R")


def test_starts_that_do_not_fit_are_refused_in_one_line():
    drawn = TableGame({0: {0: 1}, 1: 0}, 0)
    two = TableGame({0: {0: 1}, 1: -1, 2: {0: 1}}, 0, 2)
    for game in ("tictactoe", "hexapawn(3,3)", two):
        with pytest.raises(RulesError, match=r"has no outcome class from \d starts?; give the pos"):
            outcome_class(game)
    for starts in ([0], [16], [0, 0], [0, 16, 0]):
        with pytest.raises(RulesError, match=f"from {len(starts)} start"):
            outcome_class("domineering(2,2)", starts=starts)
    with pytest.raises(RulesError, match="TableGame has no outcome class: 0 is drawn"):
        outcome_class(drawn)
    with pytest.raises(TooLargeError, match="more than 10 states"):
        outcome_class("domineering(3,3)", max_states=10)


def test_the_command_prints_the_outcome_class():
    done = graphstore("outcome", "domineering-2-2")
    assert done.stdout.splitlines() == [
        "game          domineering(2,2)",
        "outcome       N: the player who begins wins",
        "Left begins   ../.. V: vertical wins",
        "Right begins  ../.. H: horizontal wins",
    ]
    wanted = {
        "game": "domineering(2,2)",
        "positions": ["X./X. V", "X./X. H"],
        "winners": [1, 1],
        "outcome": "L",
    }
    words = ("--from", "X./X. H", "--from", "X./X. V", "--json")
    assert json.loads(graphstore("outcome", "domineering(2,2)", *words).stdout) == wanted
    done = graphstore("outcome", "tictactoe")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
