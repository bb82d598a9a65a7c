"""Ranges of estimates contain the known sizes, and games far too large are refused early."""

import math

import publicgames as public
import pytest
from conftest import SLOW, some_of
from usergames import USER_GAMES

from graphstore import find_game
from graphstore.errors import TooLargeError
from graphstore.solver import exploration
from graphstore.solver.estimate import RandomGames, about, project, sized
from graphstore.solver.exploration import LOOK, estimate, explore

# The number of states of each game. Those of up to a million were counted by `explore`, and so were
# connect(5,4) and connect(6,4); for larger boards of connect, half of the positions at
# https://tromp.github.io/c4/c4.html. Kalah and fox were counted by another implementation.
# The method of graphstore/solver/estimate.py was chosen on the games in TUNED. Those in HELD_OUT
# were seen, too, before its range was last widened, so what they show is optimistic.
TUNED = {
    "mnk(4,3,3)": 28_275,
    "mnk(4,4,4)": 1_217_977,
    "mnk(4,4,3)": 756_387,
    "mnk(5,3,3)": 573_900,
    "mnk(5,3,4)": 857_514,
    "mnk(6,2,3,misere)": 31_625,
    "mnk(7,2,4)": 293_220,
    "vanishing": 9_190,
    "morris(orthogonal)": 744,
    "morris(king,pass,straight)": 756,
    "nim(30,30,30)": 5_456,
    "nim(1,2,3,4,5,6)": 429,
    "subtraction(5000,1,2,3)": 5_001,
    "subtraction(3000,50,70,111)": 2_386,
    "hexapawn(4,4)": 10_173,
    "hexapawn(5,4)": 180_181,
    "hexapawn(3,6)": 5_048,
    "hexapawn(4,5)": 59_140,
    "hexapawn(3,7)": 11_233,
    "hexapawn(6,3)": 32_069,
    "hexapawn(5,3)": 4_367,
}
HELD_OUT = {
    "connect(4,4)": 80_541,
    "connect(4,5)": 853_185,
    "connect(5,4)": 1_974_174,
    "connect(6,3)": 1_043_793,
    "connect(5,3,3)": 35_575,
    "connect(6,2)": 14_893,
    "connect(8,2)": 608_508,
    "connect(3,6)": 118_405,
    "connect(4,4,3)": 20_890,
    "connect(2,12)": 490_359,
    "connect(6,4)": 47_455_869,
    "connect(7,4)": 2_265_792_710 / 2,
    "connect(5,5)": 69_763_700 / 2,
    "connect(6,5)": 2_818_972_642 / 2,
    "connect(7,5)": 112_829_665_923 / 2,
    "connect(4,6)": 15_835_683 / 2,
    "connect(5,6)": 1_044_334_437 / 2,
    "connect(6,6)": 69_173_028_785 / 2,
    "connect(7,6)": 4_531_985_219_092 / 2,
    public.Domineering(4, 4): 2_443,
    public.Domineering(4, 5): 24_007,
    public.Domineering(3, 7): 35_011,
    public.Domineering(3, 8): 187_083,
    public.Clobber(3, 5): 206_805,
    public.Clobber(4, 4): 600_161,
    public.Isolation(3, 4): 3_881,
    public.Isolation(3, 5): 32_780,
    public.Isolation(2, 8): 21_869,
    public.Pawns(4, 3): 10_689,
    public.Pawns(5, 3): 51_608,
    public.Pawns(6, 3): 164_608,
    public.Pawns(4, 4): 387_693,
    public.Fox(6, 6): 10_321,
    public.Fox(8, 6): 37_962,
    public.Fox(7, 6): 21_006,
    public.Fox(8, 8): 895_280,
    public.Rook(4): 3_636,
    public.Rook(5): 17_960,
    public.Dodgem(3): 1_963,
    public.Dodgem(4): 393_900,
    public.Chomp(6, 7): 1_716,
    public.Chomp(8, 8): 12_870,
    public.Table(6000, 3, 6000, 1): 11_100,
    public.Table(20000, 2, 20000, 2): 30_744,
    public.Table(20000, 4, 50, 3): 39_027,
    public.Table(20000, 3, 300, 4): 37_197,
    public.Table(20000, 2, 2000, 5): 30_764,
    public.Table(5000, 10, 1000, 6): 10_000,
    public.Kalah(2, 6): 3_860,
    public.Kalah(3, 2): 4_357,
    public.Kalah(3, 3): 37_859,
    public.Kalah(3, 4): 294_540,
    public.Kalah(3, 5): 1_185_903,
    public.Kalah(4, 2): 339_870,
    public.Kalah(4, 3): 7_145_439,
}


def missed(sizes, share):
    """Return the estimates that do not contain the size, from a share of the states, and all."""
    wrong, tried = [], 0
    for given, size in sizes.items():
        game = find_game(given) if isinstance(given, str) else given
        most = 20_000 if isinstance(given, str) else 1_000  # games in Python are slower
        ahead = estimate(game, look=max(2, min(int(size * share), most)))
        tried += not ahead.complete
        if not ahead.low <= size <= ahead.high:
            wrong.append((str(given), size, about(ahead), ahead.seen))
    return wrong, tried


@pytest.mark.parametrize(
    ("sizes", "share"), [(TUNED, 0.02), (TUNED, 0.1), (TUNED, 0.3), (HELD_OUT, 0.1)]
)
def test_nine_ranges_in_ten_contain_the_size(sizes, share):
    wrong, tried = missed(dict(some_of(sizes.items(), 3)), share)
    assert tried
    assert len(wrong) <= math.ceil(tried / 10), wrong


def test_a_game_that_is_seen_as_a_whole_is_counted():
    for kind in USER_GAMES:
        ahead = estimate(kind())
        assert (ahead.complete, ahead.states) == (True, len(explore(kind())))


@SLOW
def test_the_sizes_are_those_of_the_games():
    for given, size in (TUNED | HELD_OUT).items():
        if size < 15_000:
            game = find_game(given) if isinstance(given, str) else given
            assert (given, len(explore(game))) == (given, size)


def test_a_small_game_is_counted_not_estimated():
    ahead = estimate(find_game("tictactoe"))
    assert (ahead.complete, ahead.states, ahead.low, ahead.high) == (True, 765, 765, 765)
    assert (ahead.moves, ahead.plies, about(ahead)) == (2270, 9, "765")


def test_endless_growth_is_reported():
    waves = [3**ply for ply in range(8)]
    ahead = project(waves, [*waves[1:], 3**8], RandomGames([3.0] * 100, True, math.inf))
    assert math.isinf(ahead.states)
    assert about(ahead) == "more than 3,280 (no end in sight)"
    assert sized(ahead.file_bytes) == "unlimited bytes"


def test_the_seconds_are_measured_on_the_rules():
    quick = project([1, 2], [2, 0], seconds=1.0)
    slow = project([1, 2], [2, 0], seconds=5.0)
    assert slow.seconds - quick.seconds == pytest.approx(4.0)
    assert estimate(find_game("tictactoe")).seconds > project([765], [2270]).seconds


def test_a_game_far_beyond_the_limit_is_refused_early_with_its_size_and_the_way_on():
    with pytest.raises(TooLargeError, match=r"has about .* judged by .* --max-states N") as caught:
        explore(find_game("connect(8,6)"))
    assert "--out-of-core or --folder" in str(caught.value)


def test_states_that_are_allowed_are_explored_whatever_the_estimate_says(monkeypatch):
    monkeypatch.setattr(exploration, "LOOK", 1_000)
    monkeypatch.setattr(exploration, "MAX_STATES", 3_000)
    with pytest.raises(TooLargeError, match="judged by"):
        explore(find_game("connect(8,6)"))
    monkeypatch.setattr(exploration, "MAX_STATES", 30_000)
    with pytest.raises(TooLargeError, match="has more than 150 states"):
        explore(find_game("mnk(4,4,4)"), max_states=150)
    assert len(explore(find_game("mnk(4,3,3)"), max_states=28_275)) == 28_275


def test_the_limit_stops_games_that_the_estimate_lets_pass():
    with pytest.raises(TooLargeError, match="has more than 1,000 states"):
        explore(find_game("mnk(4,3,3)"), max_states=1_000)
    assert LOOK > 1_000
