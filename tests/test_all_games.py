"""The contract of games: every built-in game, and the rules of users, keep these laws."""

import inspect
import re
from functools import cache, wraps
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import check_all, few, for_all
from gametexts import DRAWN, READ, REFUSED
from hypothesis import given
from hypothesis import strategies as st
from usergames import USER_GAMES

from graphstore.cli.boards import _board
from graphstore.errors import MoveError, PositionError
from graphstore.games import FAMILIES, find_game
from graphstore.games.connect import Connect
from graphstore.rules.adapter import ArrayRules, accept
from graphstore.rules.game import DRAW, IN_PLAY, LOSS, WIN, Game, Scored, move_text, read_move
from graphstore.rules.positions import IllegalMovesError, read_bare, read_position

NAMES = [name for family in FAMILIES for name in (*family.examples, *family.large)]
GAMES = [find_game(name) for name in NAMES] + [accept(make()) for make in USER_GAMES]
SMALL = (  # shapes of boards that are not among the examples
    *("mnk(1,1,1)", "mnk(5,1,2)", "mnk(1,5,3)", "mnk(1,7,2)", "mnk(7,1,2)", "mnk(4,4,3)"),
    *("mnk(31,1,9,misere)", "connect(2,2,2)", "connect(2,3,2)", "connect(1,1)"),
)
PER_PLY, PLIES = few(30), 80  # positions to test per ply, and plies


@cache
def sample(game):
    """Return positions of every stage of a game, in all orientations, the starts among them."""
    rng = np.random.default_rng(0)
    wave, found = np.unique(game.start_states()), []
    for _ in range(PLIES):
        wave = wave if len(wave) <= PER_PLY else rng.choice(wave, PER_PLY, replace=False)
        found.append(wave)
        wave = np.unique(game.expand(wave[game.outcomes(wave) == IN_PLAY]).child)
    return np.unique(np.concatenate(found))


def in_play_of(game):
    """Return those positions of the sample that are in play."""
    return sample(game)[game.outcomes(sample(game)) == IN_PLAY]


def every_game(law):
    """Return a test of a law for every game, with some of its positions as the law wants them."""
    makes = {"game": lambda game: game, "positions": sample, "in_play": in_play_of}
    wanted = [makes[name] for name in inspect.signature(law).parameters]

    @wraps(law)
    def test():
        games = {game.name: game for game in GAMES}
        check_all(games, lambda name: law(*(make(games[name]) for make in wanted)))

    del test.__wrapped__  # its arguments are not fixtures
    return test


def images(game, position):
    """Return all images of a position, or None if the game cannot list them."""
    at = np.array([position])
    if isinstance(game, Connect):
        return np.concatenate((at, game.mirror(at)))
    if isinstance(game, ArrayRules):
        return np.array(game.images(position))
    if hasattr(game, "images"):
        return game.images(at)[:, 0]
    if hasattr(game, "symmetry"):
        return game.symmetry.positions(at)[:, 0]
    return None


# Laws of every game


@every_game
def test_it_implements_the_game_protocol(game):
    assert isinstance(game, Game)
    assert isinstance(game.name, str)
    assert isinstance(game.rules, str)


@for_all("name", NAMES)
def test_a_game_is_its_name(name):
    assert find_game(name).name == name
    assert find_game(name).rules == find_game(name).rules


@every_game
def test_positions_are_integers_of_63_bits(game, positions):
    assert positions.dtype == np.int64
    assert len(positions) > 2
    assert positions.min() >= 0
    assert game.start_states().dtype == np.int64
    assert len(game.start_states()) >= 1


@every_game
def test_codes_have_their_types_and_ranges(game, positions):
    outcomes, turns = game.outcomes(positions), game.turns(positions)
    assert outcomes.dtype == turns.dtype == np.int8
    assert outcomes.shape == turns.shape == positions.shape
    assert set(outcomes.tolist()) <= {WIN, DRAW, LOSS, IN_PLAY}
    assert set(turns.tolist()) <= {0, 1, 2}


@every_game
def test_a_game_begins_in_play(game):
    assert (game.outcomes(game.start_states()) == IN_PLAY).all()


@every_game
def test_every_position_in_play_has_a_move(game, in_play):
    moves = game.expand(in_play)
    assert np.array_equal(np.unique(moves.parent), np.arange(len(in_play)))


@every_game
def test_moves_ascend_by_parent_then_by_move_and_are_distinct(game, in_play):
    parent, move, child = game.expand(in_play)
    assert (parent.dtype, move.dtype, child.dtype) == (np.int64, np.int32, np.int64)
    key = parent * 2**32 + move
    assert (np.diff(key) > 0).all()


@every_game
def test_turns_alternate_where_they_are_known(game, in_play):
    parent, _, child = game.expand(in_play)
    before, after = game.turns(in_play)[parent], game.turns(child)
    assert ((before == 0) == (after == 0)).all()
    alternate = (before == 0) | (before + after == 3)
    assert alternate.all() == getattr(game, "alternates", True)


@every_game
def test_a_margin_has_the_sign_of_the_outcome(game, positions):
    if isinstance(game, Scored):
        margins, outcomes = game.margins(positions), game.outcomes(positions)
        assert (margins.dtype, margins.shape) == (np.int16, positions.shape)
        assert np.array_equal(np.sign(margins), np.where(outcomes == IN_PLAY, 0, outcomes))


@every_game
def test_a_move_changes_the_position(game, in_play):
    parent, _, child = game.expand(in_play)
    assert (in_play[parent] != child).all()


@every_game
def test_on_a_board_a_move_fills_its_cell(game, in_play):
    if game.shape is None:
        return
    rows, columns = game.shape
    parent, move, child = game.expand(in_play)
    before = [list(text.replace("/", "")) for text in game.texts(in_play)]
    after = [text.replace("/", "") for text in game.texts(child)]
    assert 0 <= move.min() <= move.max() < rows * columns
    for p, m, text in zip(parent.tolist(), move.tolist(), after, strict=True):
        cells = zip(before[p], text, strict=True)
        filled = [at for at, (old, new) in enumerate(cells) if old == "." != new]
        assert filled == [m]  # others may change: in vanishing a mark goes, and all others age


@every_game
def test_canonical_is_idempotent(game, positions):
    canonical = game.canonical(positions)
    assert canonical.dtype == np.int64
    assert np.array_equal(game.canonical(canonical), canonical)


@every_game
def test_a_state_has_the_outcome_of_its_positions(game, positions):
    canonical = game.canonical(positions)
    assert np.array_equal(game.outcomes(canonical), game.outcomes(positions))
    assert np.array_equal(game.turns(canonical), game.turns(positions))
    assert np.array_equal(game.orbits(canonical), game.orbits(positions))


@every_game
def test_a_state_leads_to_the_same_states_as_its_positions(game, in_play):
    moves, twins = game.expand(in_play), game.expand(game.canonical(in_play))
    assert np.array_equal(moves.parent, twins.parent)
    children, others = game.canonical(moves.child), game.canonical(twins.child)
    for parent in range(len(in_play)):
        mine, theirs = children[moves.parent == parent], others[twins.parent == parent]
        assert np.array_equal(np.sort(mine), np.sort(theirs))


@every_game
def test_all_images_are_one_state_and_the_orbit_counts_them(game, positions):
    for position, orbit in zip(positions.tolist(), game.orbits(positions).tolist(), strict=True):
        seen = images(game, position)
        if seen is None:
            return
        assert position in seen
        assert len(set(seen.tolist())) == orbit
        assert len(np.unique(game.canonical(seen))) == 1
        assert game.canonical(seen)[0] in seen


@every_game
def test_texts_differ_and_are_read_back(game, positions):
    texts = game.texts(positions)
    assert len(set(texts)) == len(positions)
    assert all(text and "\n" not in text for text in texts)
    assert [game.read(text) for text in texts] == positions.tolist()


@every_game
def test_many_texts_are_read_like_each_alone(game, positions):
    texts = game.texts(positions)
    assert game.read_many(texts).dtype == np.int64
    assert game.read_many(texts).tolist() == [game.read(text) for text in texts]


@every_game
def test_different_positions_are_drawn_differently(game, positions):
    boards = [game.board(position) for position in positions.tolist()]
    assert len(set(boards)) == len(positions)


@every_game
def test_a_drawing_is_read_back(game, positions):
    in_play = game.outcomes(positions) == IN_PLAY
    for position, free in zip(positions.tolist(), in_play.tolist(), strict=True):
        (text,) = game.texts(np.array([position]))
        drawing = game.board(position)
        moves = [
            SimpleNamespace(move=cell)
            for cell, mark in enumerate(text.replace("/", ""))
            if mark == "." and free
        ]
        printed = _board(game, SimpleNamespace(position=text, moves=moves), lambda *_: "").plain
        if not isinstance(game, ArrayRules):
            assert game.read(drawing) == position
        drawings = [drawing, printed]
        if not (isinstance(game, ArrayRules) or game.name.startswith("ultimate")):
            drawings += [each.replace("\n", by) for each in drawings for by in (" / ", "/")]
        # `PlainGame` reads any text as a str, so a store tries the text first.
        any_text = isinstance(game, ArrayRules) and isinstance(next(iter(game.game.starts())), str)
        for each in drawings if not text.endswith("/") else ():  # a line without text is lost
            read = read_bare if any_text and each != text else read_position
            assert read(game, each) == position, each


def play_at_random(game, rng):
    """Return random moves from the start, and the position that they lead to."""
    here, moves = game.start_states()[:1], []
    for _ in range(rng.integers(1, 12)):
        if game.outcomes(here)[0] != IN_PLAY:
            break
        legal = game.expand(here)
        at = rng.integers(len(legal.move))
        moves.append(int(legal.move[at]))
        here = legal.child[at : at + 1]
    return moves, int(here[0])


@every_game
def test_moves_are_read_as_a_list_by_name_and_by_number(game):
    rng = np.random.default_rng(0)
    for _ in range(few(30)):
        moves, position = play_at_random(game, rng)
        names = [move_text(game, move) for move in moves]
        numbers = [int(name) if name.isdecimal() else name for name in names]
        lists = [names, numbers, tuple(names), [*names[:1], *numbers[1:]]]
        separators = (" ", ",", ", ", "\n", " ; ")
        texts = [f"moves:{separator.join([*names, ''])}" for separator in separators]
        texts += [
            f" Moves: {' '.join(map(str, numbers))} ",
            f"moves:{numbers}",
            f"moves:{tuple(names)}",
        ]
        opening = game.expand(game.start_states()[:1]).move.tolist()
        short = {len(move_text(game, move)) for move in opening} == {1} == {*map(len, names)}
        if short:
            texts.append(f"moves:{''.join(names)}")
        for each in lists + texts:
            assert read_position(game, each) == position, each
    assert (
        read_position(game, "moves:") == read_position(game, " Start ") == read_position(game, [])
    )
    assert read_position(game, []) == game.start_states()[0]


@every_game
def test_an_illegal_move_in_a_list_is_named_with_its_number_and_the_position(game):
    moves, position = play_at_random(game, np.random.default_rng(1))
    (text,) = game.texts(np.array([position]))
    for wrong in ("-99", "?", "123456789"):
        with pytest.raises(IllegalMovesError) as caught:
            read_position(game, [*(move_text(game, move) for move in moves), wrong])
        said = str(caught.value)
        assert said.startswith(f"move {len(moves) + 1}, '{wrong}', is not legal in {text}: ")
        assert "\n" not in said or "\n" in text


@every_game
def test_each_position_alone_has_the_same_results_as_among_others(game, positions):
    for verb in (game.outcomes, game.turns, game.canonical, game.orbits):
        alone = [verb(positions[at : at + 1]) for at in range(len(positions))]
        assert np.array_equal(np.concatenate(alone), verb(positions))
    alone = [game.texts(positions[at : at + 1])[0] for at in range(len(positions))]
    assert alone == game.texts(positions)


@every_game
def test_each_position_alone_has_the_moves_it_has_among_others(game, in_play):
    together = game.expand(in_play)
    for at in range(len(in_play)):
        alone = game.expand(in_play[at : at + 1])
        assert (alone.parent == 0).all()
        assert np.array_equal(alone.move, together.move[together.parent == at])
        assert np.array_equal(alone.child, together.child[together.parent == at])


@every_game
def test_the_order_of_positions_and_their_repetition_do_not_matter(game, in_play):
    twice = np.concatenate((in_play[::-1], in_play))
    n = len(in_play)
    assert np.array_equal(game.outcomes(twice)[n:], game.outcomes(in_play))
    assert np.array_equal(game.canonical(twice)[:n][::-1], game.canonical(in_play))
    moves, once = game.expand(twice), game.expand(in_play)
    assert np.array_equal(moves.child[moves.parent >= n], once.child)


@every_game
def test_arguments_do_not_change(game, in_play):
    before = in_play.copy()
    game.expand(in_play)
    for verb in (game.outcomes, game.turns, game.canonical, game.orbits, game.texts):
        verb(in_play)
    assert np.array_equal(in_play, before)


@every_game
def test_every_move_has_a_name_of_one_word_and_is_read_by_it_or_its_number(game, in_play):
    moves = np.unique(game.expand(in_play).move).tolist()
    names = [move_text(game, move) for move in moves]
    assert len(set(names)) == len(names)
    for move, name in zip(moves, names, strict=True):
        assert not re.search(r"[\s,]", name)
        assert read_move(game, name) == move
        assert isinstance(game, Connect) or read_move(game, f" {move} ") == move


@every_game
def test_a_text_that_is_not_a_move_is_refused_in_one_line(game):
    for text in ("", "foo", "1-", "-", "1-2-3", "99999-99999", "4.0.0", "x" * 5000, "\n", "٤", "²"):
        with pytest.raises(MoveError, match=r"^[^\n]{1,250}$"):
            read_move(game, text)


@every_game
def test_an_empty_array_gives_empty_results(game):
    none = np.empty(0, dtype=np.int64)
    for verb in (game.outcomes, game.turns, game.canonical, game.orbits, game.texts):
        assert len(verb(none)) == 0
    assert [len(column) for column in game.expand(none)] == [0, 0, 0]
    assert game.read_many([]).tolist() == []
    assert game.read_many([]).dtype == np.int64


# Texts as users write them


@for_all("name", READ)
def test_texts_are_read_as_users_write_them(name):
    game = find_game(name)

    def law(typed, proper):
        position = game.read(typed)
        assert game.texts(np.array([position])) == [proper]
        assert game.read(proper) == position
        assert game.read_many([typed, proper]).tolist() == [position, position]

    check_all(READ[name], law)


@every_game
def test_every_orientation_is_read_as_itself_and_is_the_same_state(game, positions):
    for position in positions[::7].tolist():
        turned = images(game, position)
        if turned is None:
            return
        read = game.read_many(game.texts(turned))
        assert read.tolist() == turned.tolist()
        assert len(np.unique(game.canonical(read))) == 1


@for_all("name", NAMES)
def test_neither_case_nor_space_around_matters(name):
    game = find_game(name)
    for text, position in zip(game.texts(sample(game)), sample(game).tolist(), strict=True):
        assert game.read(text.lower()) == game.read(f"\n {text}\n") == position


@for_all("name", REFUSED)
def test_a_text_that_is_not_a_position_is_refused_with_the_reason(name):
    game = find_game(name)
    start = game.texts(game.start_states())

    def law(typed, error, message):
        for read in (game.read, lambda text: game.read_many([*start, text])):
            with pytest.raises(error) as caught:
                read(typed)
            assert type(caught.value) is error
            said = str(caught.value)
            assert re.fullmatch(".*".join(map(re.escape, message.split("…"))), said), said
            assert len(said) < 300

    check_all(REFUSED[name], law)


def shuffled(text):
    """Draw the marks of a text in another order."""
    places = [place for place, sign in enumerate(text) if sign not in "/, "]

    def put(signs):
        cells = list(text)
        for place, sign in zip(places, signs, strict=True):
            cells[place] = sign
        return "".join(cells)

    return st.permutations([text[place] for place in places]).map(put)


def edited(text, at, length, sign):
    """Return a text with some of it replaced."""
    at %= len(text)
    return text[:at] + sign + text[at + length :]


@cache
def typed(game):
    """Draw texts that a user may type: any text, and right or nearly right positions."""
    texts = game.texts(sample(game))
    every = "".join(texts)
    signs = st.sampled_from(sorted({*every, *every.swapcase(), *"./ \n\t,;|-+=()[]{}'_0"}))
    right = st.sampled_from(texts)
    changed = st.builds(edited, right, st.integers(0, 200), st.integers(0, 2), signs | st.just(""))
    near = right.flatmap(shuffled)
    return (
        st.text() | st.text(signs, max_size=len(max(texts, key=len)) + 4) | right | changed | near
    )


@pytest.mark.parametrize("game", [*GAMES, *map(find_game, SMALL)], ids=lambda game: game.name)
@given(st.data())
def test_any_texts_are_read_or_refused_in_one_line_alone_and_together(game, data):
    texts = data.draw(st.lists(typed(game), max_size=2))
    alone, refused = [], []
    for text in texts:
        try:
            alone.append(game.read(text))
        except PositionError as error:
            refused.append(error)
    positions = np.array(alone, dtype=np.int64)
    assert [game.read(text) for text in game.texts(positions)] == alone
    for error in refused:
        assert re.fullmatch(r".{1,299}", str(error))
        assert not re.search(r"Error: |Traceback", str(error))
    if refused:
        with pytest.raises(type(refused[0])) as caught:
            game.read_many(texts)
        assert str(caught.value) == str(refused[0])
    else:
        assert game.read_many(texts).dtype == np.int64
        assert game.read_many(texts).tolist() == alone


def test_a_position_is_drawn_as_the_table_shows():
    def law(name, text, drawing):
        game = find_game(name)
        assert game.board(game.read(text)) == drawing

    check_all(DRAWN, law)
