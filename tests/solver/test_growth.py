"""Estimates contain the known sizes, and games that are too large are refused early."""

import math

import pytest
from conftest import SLOW

from graphstore import find_game
from graphstore.errors import TooLargeError
from graphstore.solver.estimate import about, project, sized
from graphstore.solver.exploration import LOOK, estimate, explore

# Positions of Connect Four on 7 by 6 by ply, J. Tromp, https://tromp.github.io/c4/c4.html
# (A212693 in the OEIS); their sum is 4,531,985,219,092.
CONNECT_7_6 = [
    1, 7, 49, 238, 1120, 4263, 16422, 54859, 184275, 558186, 1662623, 4568683, 12236101, 30929111,
]  # fmt: skip
ALL_7_6 = 4_531_985_219_092
# mnk(4,4,4), all positions by ply: tests/data/mnk.jsonl
MNK_444 = [1, 16, 240, 1680, 10920, 43680, 160160, 400400, 895950, 1433520]
ALL_444 = 9_722_011


@pytest.mark.parametrize("plies", range(9, 15))
def test_connect_four_is_estimated_within_its_range(plies: int) -> None:
    waves = CONNECT_7_6[:plies]
    ahead = project(waves, waves, waves, max_plies=42)
    assert ahead.low <= ALL_7_6 <= ahead.high


@pytest.mark.parametrize("plies", range(5, 11))
def test_four_in_a_row_is_estimated_within_its_range(plies: int) -> None:
    waves = MNK_444[:plies]
    ahead = project(waves, waves, waves, max_plies=16)
    assert ahead.low <= ALL_444 <= ahead.high


def test_a_small_game_is_counted_not_estimated() -> None:
    ahead = estimate(find_game("tictactoe"))
    assert (ahead.complete, ahead.states, ahead.low, ahead.high) == (True, 765, 765, 765)
    assert (ahead.moves, ahead.plies, about(ahead)) == (2270, 9, "765")


def test_endless_growth_is_reported() -> None:
    waves = [3**ply for ply in range(8)]
    ahead = project(waves, waves, waves)
    assert math.isinf(ahead.states)
    assert "no end in sight" in about(ahead)
    assert sized(ahead.file_bytes) == "unlimited bytes"


@SLOW
def test_a_game_that_goes_far_beyond_the_limit_is_refused_early_with_its_size() -> None:
    with pytest.raises(TooLargeError, match=r"mnk\(5,5,5\) has about .* states, judged by"):
        explore(find_game("mnk(5,5,5)"))


def test_the_limit_stops_games_that_the_estimate_lets_pass() -> None:
    with pytest.raises(TooLargeError, match="has more than 1,000 states"):
        explore(find_game("mnk(4,3,3)"), max_states=1_000)
    assert LOOK > 1_000
