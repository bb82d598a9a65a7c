"""The m,n,k games have the boards, results and moves that independent counts give."""

import csv
import json
from collections import Counter
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from conftest import DATA, for_all
from gametexts import READ, REFUSED

from graphstore import explore
from graphstore.errors import PositionError
from graphstore.games.grid import mnk, tictactoe
from graphstore.rules.game import DRAW, IN_PLAY, LOSS, WIN

TICTACTOE = tictactoe()
MISERE = mnk(3, 3, 3, "misere")
BOARDS = ["".join(cells) for cells in product(".XO", repeat=9)]
MNK = [json.loads(line) for line in (DATA / "mnk.jsonl").read_text().splitlines()]
NONE = np.empty(0, dtype=np.int64)


def ply_counts():
    """Return tictactoe_ply_counts.csv: {ply, or "total": {column: count}}."""
    with (DATA / "tictactoe_ply_counts.csv").open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    return {row.pop("ply"): {column: int(n) for column, n in row.items()} for row in rows}


class Kind(NamedTuple):
    """The kind of a board: invalid with a reason, in play or over, and the winner."""

    kind: str
    winner: str | None = None
    reason: str | None = None


def kind_of(game, text):
    try:
        position = np.array([game.read(text)])
    except PositionError as error:
        return Kind("invalid", reason=str(error))
    (outcome,) = game.outcomes(position)
    if outcome == IN_PLAY:
        return Kind("in play")
    if outcome == DRAW:
        return Kind("over")
    x_moves = game.turns(position)[0] == 1
    return Kind("over", winner="X" if (outcome == WIN) == x_moves else "O")


@pytest.fixture(scope="module")
def classified():
    """All 3**9 boards, each with its kind."""
    return {board: kind_of(TICTACTOE, board) for board in BOARDS}


def waves(game):
    """Return all positions that play reaches, in every orientation, by ply."""
    wave = game.start_states()
    while wave.size:
        yield wave
        wave = np.unique(game.expand(wave[game.outcomes(wave) == IN_PLAY]).child)


def test_of_all_boards_5478_are_positions_and_958_of_them_over(classified):
    kinds = Counter((each.kind, each.winner) for each in classified.values())
    total = ply_counts()["total"]
    assert kinds["in play", None] == total["nonterm"] == 4520
    assert kinds["over", "X"] == total["xwin"] == 626
    assert kinds["over", "O"] == total["owin"] == 316
    assert kinds["over", None] == total["draw"] == 16
    assert kinds["invalid", None] == 3**9 - total["states"] == 3**9 - 5478


@pytest.mark.parametrize("ply", range(10))
def test_boards_are_classified_by_ply_as_the_oracle_counts_them(classified, ply):
    kinds = Counter(
        (each.kind, each.winner)
        for board, each in classified.items()
        if each.kind != "invalid" and 9 - board.count(".") == ply
    )
    expected = ply_counts()[str(ply)]
    assert kinds["in play", None] == expected["nonterm"]
    assert kinds["over", "X"] == expected["xwin"]
    assert kinds["over", "O"] == expected["owin"]
    assert kinds["over", None] == expected["draw"]


def test_568_boards_with_possible_counts_are_impossible(classified):
    # by ply 160/120/240/48: recomputed; the diary that counted them all at ply 6 is wrong
    plies = Counter(
        9 - board.count(".")
        for board, each in classified.items()
        if each.kind == "invalid" and board.count("X") - board.count("O") in (0, 1)
    )
    assert plies == {6: 160, 7: 120, 8: 240, 9: 48}
    assert plies.total() == 568


def test_boards_that_can_be_read_are_those_that_play_reaches(classified):
    reached = set(TICTACTOE.texts(np.concatenate(list(waves(TICTACTOE)))))
    readable = {board for board, each in classified.items() if each.kind != "invalid"}
    assert {text.replace("/", "") for text in reached} == readable


def test_all_boards_are_read_or_refused_alike_in_a_batch(classified):
    texts = {board: "/".join((board[:3], board[3:6], board[6:])) for board in BOARDS}
    valid = [texts[board] for board, each in classified.items() if each.kind != "invalid"]
    assert TICTACTOE.read_many(valid).tolist() == [TICTACTOE.read(text) for text in valid]
    for board in [board for board, each in classified.items() if each.kind == "invalid"][::11]:
        with pytest.raises(PositionError) as caught:
            TICTACTOE.read_many([valid[0], texts[board]])
        assert str(caught.value) == classified[board].reason


def test_an_invalid_board_comes_with_its_reason(classified):
    assert classified["XX......."] == Kind(
        "invalid",
        reason="2 X and 0 O are impossible: X begins and turns alternate, "
        "so X has as many as O or one more",
    )
    assert all((each.reason is None) != (each.kind == "invalid") for each in classified.values())


@pytest.mark.parametrize(
    ("game", "board", "kind", "winner"),
    [
        (TICTACTOE, ".../.../...", "in play", None),
        (TICTACTOE, "XXX/OO./...", "over", "X"),
        (TICTACTOE, "OOO/XX./X..", "over", "O"),
        (TICTACTOE, "XOX/XOO/OXX", "over", None),
        (TICTACTOE, "XXX/XOO/XOO", "over", "X"),
        (MISERE, "XXX/OO./...", "over", "O"),
        (MISERE, "OOO/XX./X..", "over", "X"),
        (MISERE, "XOX/XOO/OXX", "over", None),
        (MISERE, "XO./.../...", "in play", None),
        (mnk(1, 1, 1), "X", "over", "X"),
        (mnk(1, 1, 2), "X", "over", None),
    ],
)
def test_a_board_is_in_play_or_won_or_drawn(game, board, kind, winner):
    assert kind_of(game, board) == Kind(kind, winner=winner)


def test_results_are_for_the_player_to_move():
    boards = ["XXX/OO./...", "OOO/XX./X..", "XOX/XOO/OXX", "XO./.../...", "XXX/XOO/XOO"]
    normal = TICTACTOE.outcomes(TICTACTOE.read_many(boards)).tolist()
    assert normal == [LOSS, LOSS, DRAW, IN_PLAY, LOSS]
    misere = MISERE.outcomes(MISERE.read_many(boards)).tolist()
    assert misere == [WIN, WIN, DRAW, IN_PLAY, WIN]


def test_a_move_marks_its_cell_for_the_player_to_move():
    positions = TICTACTOE.read_many(["XO./.X./...", "X../.../..."])
    parent, move, child = TICTACTOE.expand(positions)
    assert parent.tolist() == [0] * 6 + [1] * 8
    assert move.tolist() == [2, 3, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8]
    assert TICTACTOE.texts(child[:2]) == ["XOO/.X./...", "XO./OX./..."]
    assert TICTACTOE.texts(child[6:8]) == ["XO./.../...", "X.O/.../..."]


def test_a_position_packs_x_above_o_with_the_top_left_cell_first():
    assert TICTACTOE.read("X../.../..O") == 0b100000000_000000001
    assert mnk(4, 3, 3).read("X.../..../...O") == 1 << 11 + 12 | 1


@pytest.mark.parametrize("row", [r for r in MNK if not r["canonical"] and r["states"] < 10_000])
def test_positions_by_ply_are_as_many_as_the_oracle_counts(row):
    game = mnk(row["m"], row["n"], row["k"], "misere" if row["game"] == "mnk_misere" else "")
    by_ply = list(waves(game))
    assert [len(wave) for wave in by_ply] == row["per_ply"]
    every = np.concatenate(by_ply)
    outcomes = game.outcomes(every)
    assert np.isin(outcomes, (WIN, LOSS)).sum() == row["terminal_win"]
    assert (outcomes == DRAW).sum() == row["terminal_draw"]
    assert len(game.expand(every[outcomes == IN_PLAY]).move) == row["move_edges"]


@pytest.mark.parametrize("row", [r for r in MNK if r["canonical"] and r["states"] < 30_000])
def test_states_by_ply_are_as_many_as_the_oracle_counts(row):
    game = mnk(row["m"], row["n"], row["k"], "misere" if row["game"] == "mnk_misere" else "")
    wave, by_ply = game.start_states(), []
    while wave.size:
        by_ply.append(len(wave))
        moves = game.expand(wave[game.outcomes(wave) == IN_PLAY])
        wave = np.unique(game.canonical(moves.child))
    assert by_ply == row["per_ply"]


@for_all(("m", "n", "k"), product(range(1, 6), range(1, 6), range(2, 7)))
def test_lines_are_as_many_as_counting_their_starts_gives(m, n, k):
    across, down = max(m - k + 1, 0), max(n - k + 1, 0)
    game = mnk(m, n, k)
    assert len(game.lines) == across * n + m * down + 2 * across * down
    assert {line.bit_count() for line in game.lines} <= {k}


def test_with_k_1_every_cell_is_a_line():
    assert mnk(4, 3, 1).lines == tuple(1 << cell for cell in range(12))


def test_a_line_longer_than_the_board_never_is():
    game = mnk(2, 2, 10**8)
    assert game.lines == ()
    outcomes = np.concatenate([game.outcomes(wave) for wave in waves(game)])
    assert set(outcomes.tolist()) == {DRAW, IN_PLAY}


@pytest.mark.parametrize(("m", "n"), [(1, 1), (31, 1), (1, 31), (5, 6), (6, 5), (15, 2)])
def test_the_largest_boards_fit(m, n):
    game = mnk(m, n, 3)
    cells = m * n
    corners = (1 << cells - 1) << cells | (cells > 1)
    assert corners < 2**63
    (text,) = game.texts(np.array([corners]))
    assert text[0] == "X"
    assert text[-1] == ("O" if cells > 1 else "X")
    assert game.read(text) == corners
    assert game.shape == (n, m)


def test_all_958_boards_of_the_uci_tic_tac_toe_endgame_data_are_read():
    # https://archive.ics.uci.edu/dataset/101/tic+tac+toe+endgame: all boards of ended games.
    graph = explore(TICTACTOE)
    images = np.unique(TICTACTOE.symmetry.positions(graph.states.id))
    ended = images[TICTACTOE.outcomes(images) != IN_PLAY]
    assert len(ended) == 958
    for position, board in zip(ended.tolist(), TICTACTOE.texts(ended), strict=True):
        cells = board.replace("/", "").replace(".", "b").lower()
        row = ",".join([*cells, "positive"])
        assert TICTACTOE.read(",".join(cells)) == TICTACTOE.read(row) == position


def test_any_text_is_classified_or_refused_with_the_reason():
    for typed, _, message in REFUSED["tictactoe"]:
        found = kind_of(TICTACTOE, typed)
        assert (found.kind, found.winner) == ("invalid", None)
        assert message.strip("…") in found.reason
    for typed, proper in READ["tictactoe"]:
        assert kind_of(TICTACTOE, typed) == kind_of(TICTACTOE, proper)
