"""Ultimate tic-tac-toe has the moves, results, counts and values of simple rules and the oracle."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from conftest import for_all
from hypothesis import given
from ultimateplay import (
    GAMES,
    LINES,
    ORACLE,
    Below,
    Raw,
    after,
    games,
    moves,
    playable,
    result,
    solved,
)

from graphstore import find_game
from graphstore.checks.laws import check_rules
from graphstore.errors import (
    BothSidesWonError,
    MoveError,
    PlayAfterWinError,
    PositionError,
    RulesError,
)
from graphstore.games.ultimate.fields import cells_of, fillings, tables
from graphstore.games.ultimate.interning import Interned
from graphstore.games.ultimate.text import ActiveFieldError
from graphstore.rules.game import DRAW, IN_PLAY, LOSS, WIN
from graphstore.solver.columns import NONE

OPEN, CLOSED, COUNT = GAMES.values()
START = ". . . . . . . . . any X"


# The oracle


@pytest.mark.parametrize("rules", ["open", "closed"])
def test_positions_and_games_by_ply_are_the_oracles(rules):
    game, counts, perft = find_game(f"ultimate({rules})"), [1], []
    states, times = game.start_states(), np.ones(1, dtype=np.int64)
    for _ in range(5):
        parent, _, child = game.expand(states)
        states, into = np.unique(game.canonical(child), return_inverse=True)
        counts.append(len(states))
        times = np.bincount(into, weights=times[parent]).astype(np.int64)
        perft.append(int(times.sum()))
    perft.append(int(times[game.expand(states).parent].sum()))
    assert perft == ORACLE["perft"][rules][:6]
    assert counts == ORACLE["distinct_by_ply"]["up_to_symmetry"]
    assert int(game.orbits(states).sum()) == ORACLE["distinct_by_ply"]["all"][5]


def test_positions_by_ply_without_symmetry_are_the_oracles():
    game, wave, counts = find_game("ultimate(open)"), OPEN.start_states(), [1]
    for _ in range(4):
        wave = np.unique(game.expand(wave).child)
        counts.append(len(wave))
    assert counts == ORACLE["distinct_by_ply"]["all"][:5]


@pytest.mark.parametrize("row", ORACLE["late_positions"], ids=lambda row: str(len(row["moves"])))
def test_late_positions_are_the_oracles(row):
    game = GAMES[row["rules"]]
    position = after(game, row["moves"])
    free = tables().free[list(game.merged(position).fields)].sum()
    assert free == row["playable_empty"]
    graph, solution, root = solved(Below(game, position, folded=False))
    states = graph.states
    assert len(states.id) == row["states_without_symmetry"]
    assert len(graph.edges_by_move.child) == row["edges_without_symmetry"]
    winner = np.where(states.outcome == WIN, states.to_move, 3 - states.to_move)
    winner[states.outcome == DRAW] = 0
    ended = winner[states.outcome != IN_PLAY].tolist()
    assert [ended.count(who) for who in (1, 2, 0)] == row["ended_x_o_draw"]
    assert solution.value[root] == row["value"]
    if row["remoteness"] is not None:
        assert solution.remoteness[root] == row["remoteness"]
    folded, its, at = solved(Below(game, position))
    rows = np.searchsorted(folded.states.id, game.canonical(states.id))
    assert np.array_equal(its.value[rows], solution.value)
    assert np.array_equal(its.remoteness[rows], solution.remoteness)
    assert (its.remoteness != NONE).all()
    assert at == rows[root]


# Laws


@pytest.mark.parametrize("game", GAMES.values(), ids=repr)
def test_the_first_positions_keep_every_law(game):
    found = check_rules(game, max_positions=800)
    assert found.breaches == ()
    assert found.positions == 800


@given(games())
def test_moves_and_results_are_those_of_the_plain_rules(drawn):
    rules, plies = drawn
    game = GAMES[rules]
    position = after(game, (move for move, _ in plies))
    raw = plies[-1][1] if plies else Raw()
    at = np.array([position])
    assert game.turns(at) == [raw.turn]
    over = result(raw, rules)
    codes = {0: IN_PLAY, 3: DRAW, raw.turn: WIN, 3 - raw.turn: LOSS}
    assert game.outcomes(at) == [codes[over]]
    board = game.merged(position)
    assert board.active == (9 if raw.active is None else raw.active)
    assert tables().result[list(board.fields)].tolist() == list(raw.results)
    assert [f for f in range(9) if tables().playable[board.fields[f]]] == playable(raw, rules)
    if not over:
        assert game.expand(at).move.tolist() == moves(raw, rules)


@given(games())
def test_all_images_are_one_state_and_the_orbit_counts_them(drawn):
    rules, plies = drawn
    game = GAMES[rules]
    position = after(game, (move for move, _ in plies))
    images = game.images(np.array([position]))[:, 0]
    assert images[0] == position
    assert len({*game.canonical(images).tolist()}) == 1
    assert game.canonical(images)[0] == images.min()
    assert (game.orbits(images) == len({*images.tolist()})).all()
    assert len({*game.outcomes(images).tolist()}) == 1
    assert [game.read(text) for text in game.texts(images)] == images.tolist()


@given(games())
def test_an_image_of_a_game_leads_to_the_image_of_its_end(drawn):
    rules, plies = drawn
    game = GAMES[rules]
    turned = [2, 5, 8, 1, 4, 7, 0, 3, 6]  # a quarter turn
    moves = [move for move, _ in plies]
    other = after(game, (9 * turned[move // 9] + turned[move % 9] for move in moves))
    assert other in game.images(np.array([after(game, moves)]))
    assert game.canonical(np.array([other])) == game.canonical(np.array([after(game, moves)]))


@given(games())
def test_a_written_or_drawn_position_is_read_back(drawn):
    rules, plies = drawn
    game = GAMES[rules]
    position = after(game, (move for move, _ in plies))
    (text,) = game.texts(np.array([position]))
    assert game.read(text) == game.read(text.lower()) == game.read(game.board(position)) == position
    fresh = find_game(game.name)
    assert fresh.read(text) == position
    assert fresh.texts(np.array([position])) == [text]


@given(games())
def test_a_board_with_all_its_marks_is_the_position_that_play_leads_to(drawn):
    rules, plies = drawn
    game = GAMES[rules]
    raw = plies[-1][1] if plies else Raw()
    fields = ["".join(".XO"[c] for c in raw.spots[9 * f : 9 * f + 9]) for f in range(9)]
    active = "any" if raw.active is None else raw.active
    typed = f"{' '.join(fields)} {active} {'.XO'[raw.turn]}"
    both = [f for f in fields if _has_line(f, "X") and _has_line(f, "O")]
    if both:
        assert rules == "open"
        with pytest.raises(BothSidesWonError, match="as those of the first player with a line"):
            game.read(typed)
    else:
        assert game.read(typed) == after(game, (move for move, _ in plies))


def _has_line(field, mark):
    return any(all(field[spot] == mark for spot in line) for line in LINES)


# Ids


def splitmix(seed):
    """Return splitmix64's first output without its lowest bit, as its authors wrote it."""
    z = (seed + 1) * 0x9E3779B97F4A7C15 % 2**64
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
    return (z ^ z >> 31) >> 1


def test_an_id_is_the_exclusive_or_of_ten_keys():
    def position(codes, active, turn):
        found = splitmix(9 << 20 | active << 1 | turn - 1)
        for place, code in enumerate(codes):
            found ^= splitmix(place << 20 | code)
        return found

    assert OPEN.read(START) == CLOSED.read(START) == position([0] * 9, 9, 1)
    center = 1 << 8
    assert after(OPEN, [40]) == position([0] * 4 + [center] + [0] * 4, 4, 2)
    line = OPEN.read("XXX...... O........ O........ . . . . . . 0 O")
    won = 1 << 18 | 0b111111 << 12
    o = 2 << 16
    assert line == position([won, o, o] + [0] * 6, 0, 2)
    dead = 1 << 18 | 2**18 - 1
    typed = "XXX...... O........ O........ . . . . . . any O"
    assert CLOSED.read(typed) == position([dead, o, o] + [0] * 6, 9, 2)
    assert OPEN.read(START) == 2731934060457437115


def test_two_positions_under_one_id_are_refused():
    met = Interned(width=2, game="this")
    met.add(np.array([5, 7, 5]), np.array([[1, 2], [3, 4], [1, 2]], dtype=np.uint16))
    met.add(np.array([5]), np.array([[1, 2]], dtype=np.uint16))
    assert met.rows(np.array([7, 5])).tolist() == [[3, 4], [1, 2]]
    for twice in ([[1, 3]], [[1, 2], [2, 2]]):
        with pytest.raises(RulesError, match="this: two positions share the id 5"):
            met.add(np.array([5] * len(twice)), np.array(twice, dtype=np.uint16))
    with pytest.raises(RulesError, match="share the id 6"):
        met.add(np.array([6, 6]), np.array([[1, 2], [2, 2]], dtype=np.uint16))


def test_a_position_that_was_not_seen_is_refused():
    with pytest.raises(
        PositionError, match=r"has not seen a position with the id 5; read its text"
    ):
        find_game("ultimate(open)").texts(np.array([5]))


def test_all_kept_rows_are_found_again():
    met, rng = Interned(width=2, game="this"), np.random.default_rng(0)
    crowded = rng.integers(0, 2**63 - 1, 300) & ~np.int64(0xFFF0)
    ids = np.unique(np.concatenate((crowded, rng.integers(0, 2**63 - 1, 30_000))))
    rows = rng.integers(0, 2**16, (len(ids), 2)).astype(np.uint16)
    for part in np.array_split(rng.permutation(len(ids)), 7):
        met.add(ids[part], rows[part])
    assert np.array_equal(met.rows(ids), rows)
    with pytest.raises(PositionError):
        met.rows(crowded[:1] ^ 0x10)


def test_threads_may_share_a_game():
    game = find_game("ultimate(closed)")

    def walk(seed):
        rng, at = np.random.default_rng(seed), game.start_states()
        for _ in range(30):
            moves = game.expand(at[game.outcomes(at) == IN_PLAY])
            at = rng.choice(game.canonical(moves.child), 20)
        return game.texts(at), at

    with ThreadPoolExecutor(4) as pool:
        for texts, positions in pool.map(walk, range(12)):
            assert CLOSED.read_many(texts).tolist() == positions.tolist()


# Fields


def test_fields_are_numbered_by_their_codes():
    known = tables()
    assert known.codes[0] == 0
    assert (np.diff(known.codes) > 0).all()
    open_spots = cells_of(known.codes) == 0
    assert np.array_equal(open_spots, known.free)
    assert np.array_equal(known.free.any(axis=1), known.playable)
    assert sorted(np.unique(known.result[~known.playable]).tolist()) == [1, 2, 3]
    assert np.count_nonzero(~known.playable) == 3


@pytest.mark.parametrize("dead", [False, True])
def test_the_marks_a_field_may_hold_lead_to_it(dead):
    known = tables()
    rng = np.random.default_rng(0)
    reached = np.unique(known.after[int(dead)][:, known.playable])
    for field in {*rng.choice(reached, 60).tolist(), *np.flatnonzero(~known.playable).tolist()}:
        for lead, cells in fillings(field, dead=dead).items():
            assert lead == cells.count(1) - cells.count(2)
            code = known.codes[field]
            if not (dead and known.result[field]):
                assert [c == 0 for c in cells] == known.free[field].tolist()
            if code >> 18 == 0:
                assert list(cells) == cells_of(np.array([code]))[0].tolist()


# Text and moves


def test_a_drawing_has_rulers_and_says_whose_turn_it_is():
    assert OPEN.board(after(OPEN, [2, 24])).splitlines() == [
        ". . X | . . . | . . .",
        ". . . | . . . | . . .",
        ". . . | . . . | O . .",
        "------+-------+------",
        *[". . . | . . . | . . ."] * 3,
        "------+-------+------",
        *[". . . | . . . | . . ."] * 3,
        "field 6, X to move",
    ]


def test_the_marks_of_a_decided_field_are_forgotten():
    rest = "O........ O........ . . . . . ."
    here = "XXX...... " + rest
    assert (
        CLOSED.texts(CLOSED.read_many([f"{here} any O", f"X {rest} any O"]))
        == [f"X {rest} any O"] * 2
    )
    assert OPEN.texts(OPEN.read_many([f"{here} 0 O"])) == [f"{here} 0 O"]
    assert OPEN.texts(
        OPEN.read_many(["XXXO..... O........ O........ X........ . . . . . 0 O"])
    ) == ["XXXX..... O........ O........ X........ . . . . . 0 O"]


def test_a_dead_field_is_neither_played_in_nor_gone_to():
    rest = "O........ O........ . . . . . ."
    with pytest.raises(ActiveFieldError, match=r"^field 0 cannot be played in any more"):
        CLOSED.read(f"XXX...... {rest} 0 O")
    with pytest.raises(PlayAfterWinError, match=r"^field 0: marks were added after X had won"):
        CLOSED.read("XXXXXX... O........ O........ OO....... O........ . . . . any O")
    with pytest.raises(ActiveFieldError, match=r"^every field can be played in"):
        OPEN.read(f"XXX...... {rest} any O")


def test_moves_are_written_as_field_and_spot():
    for move in range(81):
        written = OPEN.write_move(move)
        assert written == f"{move // 9}.{move % 9}"
        assert OPEN.read_move(written) == OPEN.read_move(str(move)) == move
    for typed in (" 4,0 ", "4 : 0", "4.0", "36"):
        assert OPEN.read_move(typed) == 36


@for_all("typed", ["", "a", "81", "-1", "9.0", "4.9", "4.0.0", "٤.٤", "4" * 5000])
def test_a_text_that_is_not_a_move_is_refused(typed):
    with pytest.raises(MoveError, match=r"is not a move of ultimate\(open\); write field and spot"):
        OPEN.read_move(typed)


def test_no_move_is_legal_in_a_dead_field():
    position = CLOSED.read("X O........ O........ . . . . . . any O")
    assert 5 not in CLOSED.expand(np.array([position])).move
    over = CLOSED.read("X X X O........ . . . . . any O")
    assert CLOSED.outcomes(np.array([over])) == [LOSS]


# The rules


def test_a_won_field_is_played_on_under_the_open_rules_only():
    won = "XXX...... O........ O........ . . . . . . 0 O"
    assert OPEN.expand(OPEN.read_many([won])).move.tolist() == [3, 4, 5, 6, 7, 8]
    free = CLOSED.expand(CLOSED.read_many(["X O........ O........ . . . . . . any O"]))
    assert len(free.move) == 8 + 8 + 6 * 9


@pytest.mark.parametrize(
    ("fields", "side", "counted"),
    [
        ("X X O O O X X O =", "X", DRAW),
        ("X X O O O X X X =", "X", WIN),
        ("X X O O O X X X =", "O", LOSS),
        ("X = O O O X X O =", "X", LOSS),
    ],
)
def test_most_fields_decide_only_where_they_are_counted(fields, side, counted):
    typed = [f"{fields} any {side}"]
    assert COUNT.outcomes(COUNT.read_many(typed)) == [counted]
    assert CLOSED.outcomes(CLOSED.read_many(typed)) == [DRAW]


# Names
