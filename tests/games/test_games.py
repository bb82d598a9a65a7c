"""Every built-in game keeps the laws that all games keep, and is found by its name."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_game import USER_GAMES

from graphstore.errors import GameNameError, MoveError, RulesError
from graphstore.games import FAMILIES, find_game
from graphstore.rules.game import DRAW, IN_PLAY, LOSS, WIN, Game, move_text, read_move
from graphstore.rules.plain import PlainGame

NAMES = [name for family in FAMILIES for name in (*family.examples, *family.large)]
GAMES = [find_game(name) for name in NAMES] + [make() for make in USER_GAMES]
PER_PLY, PLIES = 30, 80  # how many positions to look at, on every ply of how many


def sample(game):
    """Return positions of every stage of a game, in all orientations, the starts among them."""
    rng = np.random.default_rng(0)
    wave, found = np.unique(game.start_states()), []
    for _ in range(PLIES):
        wave = wave if len(wave) <= PER_PLY else rng.choice(wave, PER_PLY, replace=False)
        found.append(wave)
        wave = np.unique(game.expand(wave[game.outcomes(wave) == IN_PLAY]).child)
    return np.unique(np.concatenate(found))


SAMPLES = {game.name: sample(game) for game in GAMES}


@pytest.fixture(params=GAMES, ids=lambda game: game.name)
def game(request):
    """Each game in turn."""
    return request.param


@pytest.fixture
def positions(game):
    """Positions of the game."""
    return SAMPLES[game.name]


@pytest.fixture
def in_play(game, positions):
    """Positions of the game that are not over."""
    return positions[game.outcomes(positions) == IN_PLAY]


def images(game, position):
    """Return all images of a position, or None if the game does not show them."""
    if hasattr(game, "symmetry"):
        return game.symmetry.positions(np.array([position]))[:, 0]
    if isinstance(game, PlainGame):
        if type(game).symmetries is PlainGame.symmetries:
            return np.array([position])
        (text,) = game.texts(np.array([position]))
        others = map(game.text, game.symmetries(game.parse(text)))
        return np.array([position, *map(game.read, others)])
    return None


def test_it_is_a_game(game):
    assert isinstance(game, Game)
    assert isinstance(game.name, str)
    assert isinstance(game.rules, str)


@pytest.mark.parametrize("name", NAMES)
def test_a_game_is_its_name(name):
    assert find_game(name).name == name
    assert find_game(name).rules == find_game(name).rules


def test_positions_are_integers_of_63_bits(game, positions):
    assert positions.dtype == np.int64
    assert len(positions) > 2
    assert positions.min() >= 0
    assert game.start_states().dtype == np.int64
    assert len(game.start_states()) >= 1


def test_codes_have_their_types_and_ranges(game, positions):
    outcomes, turns = game.outcomes(positions), game.turns(positions)
    assert outcomes.dtype == turns.dtype == np.int8
    assert outcomes.shape == turns.shape == positions.shape
    assert set(outcomes.tolist()) <= {WIN, DRAW, LOSS, IN_PLAY}
    assert set(turns.tolist()) <= {0, 1, 2}


def test_a_game_begins_in_play(game):
    assert (game.outcomes(game.start_states()) == IN_PLAY).all()


def test_every_position_in_play_has_a_move(game, in_play):
    moves = game.expand(in_play)
    assert np.array_equal(np.unique(moves.parent), np.arange(len(in_play)))


def test_moves_ascend_by_parent_then_by_move_and_are_distinct(game, in_play):
    parent, move, child = game.expand(in_play)
    assert (parent.dtype, move.dtype, child.dtype) == (np.int64, np.int32, np.int64)
    key = parent * 2**32 + move
    assert (np.diff(key) > 0).all()


def test_turns_alternate_where_they_are_told(game, in_play):
    parent, _, child = game.expand(in_play)
    before, after = game.turns(in_play)[parent], game.turns(child)
    assert ((before == 0) == (after == 0)).all()
    assert ((before == 0) | (before + after == 3)).all()


def test_a_move_changes_the_position(game, in_play):
    parent, _, child = game.expand(in_play)
    assert (in_play[parent] != child).all()


def test_on_a_board_a_move_fills_its_cell(game, in_play):
    if game.shape is None:
        pytest.skip("no board")
    rows, columns = game.shape
    parent, move, child = game.expand(in_play)
    before = [list(text.replace("/", "")) for text in game.texts(in_play)]
    after = [text.replace("/", "") for text in game.texts(child)]
    assert 0 <= move.min() <= move.max() < rows * columns
    for p, m, text in zip(parent.tolist(), move.tolist(), after, strict=True):
        cells = zip(before[p], text, strict=True)
        filled = [at for at, (old, new) in enumerate(cells) if old == "." != new]
        assert filled == [m]  # others may change: in vanishing a mark goes, and all others age


def test_canonical_is_idempotent(game, positions):
    canonical = game.canonical(positions)
    assert canonical.dtype == np.int64
    assert np.array_equal(game.canonical(canonical), canonical)


def test_a_state_is_worth_what_its_positions_are(game, positions):
    canonical = game.canonical(positions)
    assert np.array_equal(game.outcomes(canonical), game.outcomes(positions))
    assert np.array_equal(game.turns(canonical), game.turns(positions))
    assert np.array_equal(game.orbits(canonical), game.orbits(positions))


def test_a_state_leads_where_its_positions_lead(game, in_play):
    moves, twins = game.expand(in_play), game.expand(game.canonical(in_play))
    assert np.array_equal(moves.parent, twins.parent)
    children, others = game.canonical(moves.child), game.canonical(twins.child)
    for parent in range(len(in_play)):
        mine, theirs = children[moves.parent == parent], others[twins.parent == parent]
        assert np.array_equal(np.sort(mine), np.sort(theirs))


def test_all_images_are_one_state_and_the_orbit_counts_them(game, positions):
    for position, orbit in zip(positions.tolist(), game.orbits(positions).tolist(), strict=True):
        seen = images(game, position)
        if seen is None:
            pytest.skip("does not show its images")
        assert position in seen
        assert len(set(seen.tolist())) == orbit
        assert len(np.unique(game.canonical(seen))) == 1
        assert game.canonical(seen)[0] in seen


def test_texts_differ_and_are_read_back(game, positions):
    texts = game.texts(positions)
    assert len(set(texts)) == len(positions)
    assert all(text and "\n" not in text for text in texts)
    assert [game.read(text) for text in texts] == positions.tolist()


def test_many_texts_are_read_as_each_is(game, positions):
    texts = game.texts(positions)
    assert game.read_many(texts).dtype == np.int64
    assert game.read_many(texts).tolist() == [game.read(text) for text in texts]


def test_different_positions_are_drawn_differently(game, positions):
    boards = [game.board(position) for position in positions.tolist()]
    assert len(set(boards)) == len(positions)


def test_each_position_alone_is_as_it_is_among_others(game, positions):
    for verb in (game.outcomes, game.turns, game.canonical, game.orbits):
        alone = [verb(positions[at : at + 1]) for at in range(len(positions))]
        assert np.array_equal(np.concatenate(alone), verb(positions))
    alone = [game.texts(positions[at : at + 1])[0] for at in range(len(positions))]
    assert alone == game.texts(positions)


def test_each_position_alone_has_the_moves_it_has_among_others(game, in_play):
    together = game.expand(in_play)
    for at in range(len(in_play)):
        alone = game.expand(in_play[at : at + 1])
        assert (alone.parent == 0).all()
        assert np.array_equal(alone.move, together.move[together.parent == at])
        assert np.array_equal(alone.child, together.child[together.parent == at])


def test_the_order_of_positions_and_their_repetition_do_not_matter(game, in_play):
    twice = np.concatenate((in_play[::-1], in_play))
    n = len(in_play)
    assert np.array_equal(game.outcomes(twice)[n:], game.outcomes(in_play))
    assert np.array_equal(game.canonical(twice)[:n][::-1], game.canonical(in_play))
    moves, once = game.expand(twice), game.expand(in_play)
    assert np.array_equal(moves.child[moves.parent >= n], once.child)


def test_arguments_do_not_change(game, in_play):
    before = in_play.copy()
    game.expand(in_play)
    for verb in (game.outcomes, game.turns, game.canonical, game.orbits, game.texts):
        verb(in_play)
    assert np.array_equal(in_play, before)


def test_every_move_has_a_name_of_one_word_and_is_read_by_it_or_its_number(game, in_play):
    moves = np.unique(game.expand(in_play).move).tolist()
    names = [move_text(game, move) for move in moves]
    assert len(set(names)) == len(names)
    for move, name in zip(moves, names, strict=True):
        assert not re.search(r"[\s,]", name)
        assert read_move(game, name) == read_move(game, f" {move} ") == move


def test_what_is_no_move_is_refused_in_one_line(game):
    for text in ("", "foo", "1-", "-", "1-2-3", "99999-99999", "4.0.0", "x" * 5000, "\n", "٤", "²"):
        with pytest.raises(MoveError, match=r"^[^\n]{1,250}$"):
            read_move(game, text)


def test_no_positions_have_no_answers(game):
    none = np.empty(0, dtype=np.int64)
    for verb in (game.outcomes, game.turns, game.canonical, game.orbits, game.texts):
        assert len(verb(none)) == 0
    assert [len(column) for column in game.expand(none)] == [0, 0, 0]
    assert len(game.read_many([])) == 0


@pytest.mark.parametrize(
    ("name", "proper"),
    [
        ("tictactoe", "tictactoe"),
        ("  TicTacToe\n", "tictactoe"),
        ("tictactoe()", "tictactoe"),
        ("mnk(3,3,3)", "mnk(3,3,3)"),
        (" MNK ( 4 ,\t4 , 4 ) ", "mnk(4,4,4)"),
        ("mnk(04,3,3)", "mnk(4,3,3)"),
        ("mnk(3,3,3,Misere)", "mnk(3,3,3,misere)"),
        ("mnk(31,1,5)", "mnk(31,1,5)"),
        ("mnk(1,1,1)", "mnk(1,1,1)"),
        ("mnk(5,6,999999999)", "mnk(5,6,999999999)"),
    ],
)
def test_case_and_spaces_of_a_name_do_not_matter(name, proper):
    assert find_game(name).name == proper
    assert find_game(find_game(name).name).name == proper


@given(st.integers(1, 31), st.integers(1, 31), st.integers(1, 40), st.booleans())
def test_every_name_that_fits_is_printed_back(m, n, k, misere):
    name = f"mnk({m},{n},{k}{',misere' * misere})"
    if m * n <= 31:
        assert find_game(name).name == name
    else:
        with pytest.raises(GameNameError, match=f"{m} columns by {n} rows are {m * n} cells"):
            find_game(name)


USAGE = "mnk(m,n,k[,misere])"
BAD_NAMES = {
    "": "there is no game ''; the games are tictactoe, ",
    "chess": "there is no game 'chess'; the games are tictactoe, ",
    "tic tac toe": "there is no game 'tic tac toe'; the games are tictactoe, ",
    "mnk(3,3,3": "there is no game 'mnk(3,3,3'; the games are tictactoe, ",
    "mnk(3,3,3))": "there is no game 'mnk(3,3,3))'; the games are tictactoe, ",
    "mnk 3 3 3": "there is no game 'mnk 3 3 3'; the games are tictactoe, ",
    "mnk\0": r"there is no game 'mnk\x00'; the games are tictactoe, ",
    "tictactoe\ntictactoe": r"there is no game 'tictactoe\ntictactoe'; the games are tictactoe, ",
    "tictactoe(3)": "'tictactoe(3)' has 1 parameter; write tictactoe",
    "mnk": f"'mnk' has 0 parameters; write {USAGE}",
    "mnk(3,3)": f"'mnk(3,3)' has 2 parameters; write {USAGE}",
    "mnk(3,3,3,misere,3)": f"'mnk(3,3,3,misere,3)' has 5 parameters; write {USAGE}",
    "mnk(3,,3)": f"'' is not a parameter that {USAGE} can have",
    "mnk(3,3,3,)": f"'' is not a parameter that {USAGE} can have",
    "mnk(-3,3,3)": f"'-3' is not a parameter that {USAGE} can have",
    "mnk(3.0,3,3)": f"'3.0' is not a parameter that {USAGE} can have",
    "mnk(٣,3,3)": f"'٣' is not a parameter that {USAGE} can have",
    "mnk(1 2,1,1)": f"'1 2' is not a parameter that {USAGE} can have",
    "mnk(0,3,3)": "mnk: m is 0; it must be a whole number from 1",
    "mnk(3,0,3)": "mnk: n is 0; it must be a whole number from 1",
    "mnk(3,3,0)": "mnk: k is 0; it must be a whole number from 1",
    "mnk(a,3,3)": "mnk: m is 'a'; it must be a whole number from 1",
    "mnk(3,3,3,wild)": "mnk: 'wild' is no variant; the one there is is misere",
    "mnk(3,3,3,4)": "mnk: 4 is no variant; the one there is is misere",
    "mnk(6,6,4)": "mnk: 6 columns by 6 rows are 36 cells, too many; "
    "a position packs at most 31 cells into 63 bits",
    "mnk(32,1,4)": "mnk: 32 columns by 1 rows are 32 cells, too many; ",
    "mnk(999999999,999999999,3)": "mnk: 999999999 columns by 999999999 rows are "
    "999999998000000001 cells, too many; ",
    "mnk(1000000000,1,3)": f"'1000000000' is too large a number for {USAGE}",
    "mnk(3,3," + "9" * 10_000 + ")": "'99999999",
    "mnk(3,3,3," + "a" * 10_000 + ")": "'aaaaaaaa",
    "mnk(" + "3," * 10_000 + "3)": "'mnk(3,3,3,3",
    "x" * 1_000_000: "there is no game 'xxxx",
    "(" * 1_000_000: "there is no game '((((",
    " " * 1_000_000: "there is no game '    ",
}


@pytest.mark.parametrize("name", BAD_NAMES, ids=lambda name: repr(name[:20]))
def test_a_bad_name_is_refused_in_one_line(name):
    with pytest.raises(GameNameError) as caught:
        find_game(name)
    message = str(caught.value)
    assert message.startswith(BAD_NAMES[name])
    assert "\n" not in message
    assert len(message) < 300 + len(", ".join(family.usage for family in FAMILIES))


@given(st.text() | st.from_regex(r"(tictactoe|mnk)\s*\(.{0,12}\)?", fullmatch=True))
def test_any_text_is_a_game_or_is_refused_in_one_line(text):
    try:
        name, refused = find_game(text).name, None
    except GameNameError as error:
        name, refused = None, str(error)
    if refused is None:
        assert find_game(name).name == name
    else:
        assert "\n" not in refused


def test_families_are_listed_once_and_say_what_they_are():
    names = [family.name for family in FAMILIES]
    assert len(set(names)) == len(names)
    assert len(set(NAMES)) == len(NAMES)
    for family in FAMILIES:
        names = family.examples + family.large
        assert names
        assert family.usage.startswith(family.name)
        assert all(re.match(rf"{family.name}\b", name) for name in names)
        assert family.about
        assert "\n" not in family.about


# Names of moves


@pytest.mark.parametrize(
    ("name", "move", "text"),
    [
        ("tictactoe", 4, "4"),
        ("connect(4,4)", 3, "3"),
        ("morris(flying)", 4, "4"),
        ("morris(flying)", 23, "1-5"),
        ("morris(flying)", 90, "pass"),
        ("hexapawn(3,3)", 57, "6-3"),
        ("nim(3,4,5)", 23, "2-3"),
        ("nim(3,4,15)", 203, "2-3"),
        ("nim(3,4,15)", 315, "3-15"),
        ("subtraction(21,1,2,3)", 2, "2"),
        ("vanishing", 8, "8"),
    ],
)
def test_moves_have_the_names_that_the_documents_say(name, move, text):
    game = find_game(name)
    assert (move_text(game, move), read_move(game, text)) == (text, move)


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("morris(flying)", "1-9", "there is no cell 9: 0 to 8"),
        ("morris(flying)", "foo", "'foo' is not a move; write a cell"),
        ("hexapawn(3,3)", "6-9", "there is no cell 9: 0 to 8"),
        ("hexapawn(3,3)", "6 3", "'6 3' is not a move; write FROM-TO, such as 8-5"),
        ("nim(3,4,5)", "0-1", "there is no heap 0: 1 to 3"),
        ("nim(3,4,5)", "4-1", "there is no heap 4: 1 to 3"),
        ("nim(3,4,5)", "1-6", "6 cannot be taken"),
        ("nim(3,4,5)", "1-0", "0 cannot be taken"),
        ("tictactoe", "b2", "'b2' is not a move; write its number"),
    ],
)
def test_a_move_that_cannot_be_read_is_explained(name, text, why):
    with pytest.raises(MoveError, match=re.escape(why)):
        read_move(find_game(name), text)


class Named(PlainGame):
    """A game whose moves are called by the numbers that people would give them."""

    def write_move(self, move):
        return str(move + 1)

    def read_move(self, text):
        return int(text) - 1


class Unnamed(PlainGame):
    def write_move(self, move):
        raise KeyError(move)

    def read_move(self, text):
        return "no number"


def test_a_user_s_names_of_moves_go_before_the_numbers():
    assert (move_text(Named(), 0), read_move(Named(), "1")) == ("1", 0)
    with pytest.raises(MoveError, match="'foo' is not a move of Named"):
        read_move(Named(), "foo")
    with pytest.raises(RulesError, match=r"Unnamed: write_move\(3\) failed: KeyError: 3"):
        move_text(Unnamed(), 3)
    assert read_move(Unnamed(), "3") == 3
    assert (move_text(None, 3), read_move(None, "3")) == ("3", 3)
