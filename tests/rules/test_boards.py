"""A board shows the cells of its text and each legal move on its cell; its SVG is always valid."""

from functools import partial
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from conftest import TableGame, for_all
from hypothesis import given
from hypothesis import strategies as st

from graphstore import PlainGame, find_game
from graphstore.rules import svg
from graphstore.rules.adapter import accept
from graphstore.rules.board import (
    EMPTY,
    WORDS,
    Board,
    Choice,
    board_of,
    board_picture,
    choices,
    images,
    picture_of,
    plain,
    text_plain,
)
from graphstore.rules.game import IN_PLAY, move_text
from graphstore.store.probe import Move
from graphstore.web.page.pictures import Link, large, turned

SVG = "{http://www.w3.org/2000/svg}"
ANY_TEXT = st.text(st.characters(), max_size=30)  # lone surrogates and control characters too
CLASSES = {f"gs-{word}": value for value, word in WORDS.items()}
NO_NUMBERS = {"value": 0, "remoteness": None, "score": 0.0, "win_depth": None, "lose_depth": None}


def parsed(picture):
    return ET.fromstring(picture)  # noqa: S314  # our own SVG; the test is that it is well formed


def overlays(picture):
    """Return (x, y, value, label) of every coloured rectangle of a board, x and y in cells."""
    found = []
    for group in parsed(picture).iter(SVG + "g"):
        drawn = [each for each in group.iter(SVG + "rect") if each.get("class") in CLASSES]
        assert len(drawn) <= 1
        if drawn:
            x, y = map(int, group.get("transform")[len("translate(") : -1].split())
            label = [text.text for text in group.iter(SVG + "text")][-1]
            found.append((x // svg.CELL, y // svg.CELL, CLASSES[drawn[0].get("class")], label))
    return found


def played(game, position):
    """Return the moves of a packed position for choices(), with dummy values."""
    position = np.array([position], dtype=np.int64)
    if game.outcomes(position)[0] != IN_PLAY:
        return []
    _, moves, children = game.expand(position)
    rows = zip(moves.tolist(), children.tolist(), game.texts(children), strict=True)
    return [Move(*row, **NO_NUMBERS) for row in rows]


def walk(game, count, seed):
    """Return the packed positions of some random games."""
    chance = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        position = int(game.start_states()[0])
        for _ in range(100):
            found.append(position)
            moves = played(game, position)
            if not moves:
                break
            position = moves[int(chance.integers(len(moves)))].state
    return found


@pytest.mark.parametrize(
    ("text", "rows", "beside"),
    [
        ("XO./.X./...", ("XO.", ".X.", "..."), ""),
        ("BBB/.W./W.W B", ("BBB", ".W.", "W.W"), "B"),
        ("..../X...", ("....", "X..."), ""),
    ],
)
def test_a_text_of_rows_is_a_board(text, rows, beside):
    assert board_of(text) == Board(rows, beside, (len(rows), len(rows[0])))


@pytest.mark.parametrize(
    "text", ["", "3,4,5", "XO.", "XO./X", "/", "//", "a\n/bc", "X ./...", "\x07\x07/\x07\x07"]
)
def test_a_text_without_rows_is_not_a_board(text):
    assert board_of(text) is None


def test_a_board_too_large_for_a_picture_is_none():
    row = "." * 32
    assert board_of("/".join([row] * 32)) is not None
    assert board_of("/".join([row] * 33)) is None


def test_one_row_is_a_board_where_the_rules_say_so():
    assert board_of("X.", find_game("mnk(2,1,2)")) == Board(("X.",), "", (1, 2))
    assert board_of("X.") is None


def test_the_board_of_ultimate_has_nine_fields_of_nine_cells():
    board = board_of(". . . . ....X.... . . . . 4 O", find_game("ultimate(open)"))
    assert (len(board.rows), board.columns, board.block) == (9, 9, (3, 3))
    assert board.cells.index("X") == 4 * 9 + 4
    assert board.cells.count(".") == 80
    assert board.beside == "field 4, O to move"


@pytest.mark.parametrize(
    "name",
    ["tictactoe", "mnk(4,3,3)", "connect(4,4)", "hexapawn(3,4)", "vanishing", "morris(king)"],
)
def test_the_cell_of_a_move_is_where_its_mark_lands(name):
    game = find_game(name)
    for position in walk(game, 20, seed=1):
        (text,) = game.texts(np.array([position]))
        before = board_of(text, game)
        moves = played(game, position)
        for choice, move in zip(choices(game, text, moves), moves, strict=True):
            after = board_of(choice.position, game)
            assert after.cells[choice.cell] not in EMPTY
            assert after.cells[choice.cell] != before.cells[choice.cell]
            if choice.source is not None:
                assert before.cells[choice.source] not in EMPTY
                assert after.cells[choice.source] in EMPTY
            if game.shape is not None:
                assert choice.cell == move.move
            if name.startswith("connect"):
                assert choice.cell % before.columns == move.move
            if name.startswith("hexapawn"):
                assert choice.source is not None
                expected = f"{choice.source}-{choice.cell}"
                assert move_text(game, move.move) == expected


@pytest.mark.parametrize("rules", ["open", "closed"])
def test_a_move_of_ultimate_is_on_its_spot_also_where_it_wins_the_field(rules):
    game = find_game(f"ultimate({rules})")
    decided = 0
    for position in walk(game, 3, seed=2)[::2]:
        (text,) = game.texts(np.array([position]))
        before = board_of(text, game)
        for choice in choices(game, text, played(game, position)):
            field, spot = divmod(choice.move, 9)
            row, column = 3 * (field // 3) + spot // 3, 3 * (field % 3) + spot % 3
            assert choice.cell == 9 * row + column
            after = board_of(choice.position, game)
            changed = sum(a != b for a, b in zip(before.cells, after.cells, strict=True))
            decided += changed > 1
    assert decided > 0


def test_the_images_of_a_position_are_its_symmetry_class(tictactoe):
    game = find_game("tictactoe")
    for state, data in tictactoe.nodes(data=True):
        found = images(game, data["position"])
        assert len(found) == 8
        assert next(iter(found.items())) == ("same", data["position"])
        assert len(set(found.values())) == data["orbit"]
        texts = list(found.values())
        assert set(game.canonical(game.read_many(texts)).tolist()) == {state}


@pytest.mark.parametrize(
    "name", ["connect(4,4)", "connect(4,3,3)", "hexapawn(3,3)", "morris(king)"]
)
def test_images_are_the_symmetry_class_in_games_of_fewer_symmetries(name):
    game = find_game(name)
    for position in walk(game, 12, seed=3):
        (text,) = game.texts(np.array([position]))
        orbit = int(game.orbits(np.array([position]))[0])
        assert len(set(images(game, text).values())) == orbit


def test_a_position_without_rows_has_no_image_but_itself():
    assert images(find_game("nim(3,4)"), "3,4") == {"same": "3,4"}


class Ruled(PlainGame):
    """Marks on a board of 2 by 2 that is drawn with a ruler, the same when it is mirrored."""

    def start(self):
        """Return the empty board."""
        return (0, 0, 0, 0)

    def moves(self, position):
        """Return the empty cells."""
        return [cell for cell in range(4) if not position[cell]]

    def play(self, position, move):
        """Mark a cell."""
        return (*position[:move], 1, *position[move + 1 :])

    def outcome(self, position):
        """End when all cells have marks."""
        return -1 if all(position) else None

    def symmetries(self, position):
        """Return the mirror image."""
        return [(position[1], position[0], position[3], position[2])]

    def board(self, position):
        """Return two rows with a ruler between them."""
        a, b, c, d = (".X"[mark] for mark in position)
        return f"{a} | {b}\n--+--\n{c} | {d}"


def test_images_of_a_users_drawing_are_found_by_the_rules():
    game = accept(Ruled())
    text = game.texts(np.array([game.read("(1, 0, 0, 0)")]))[0]
    other = "(0, 1, 0, 0)"
    found = {"same": text, "mirrored": other, "turned": other, "mirrored and turned back": text}
    assert turned(game, text) == found


@for_all("state", range(0, 765, 9))
def test_every_legal_move_is_on_its_cell_with_its_value(store, tictactoe, state):
    probe = store.probe(int(tictactoe.states.id[state]))
    shown = choices(store.game, probe.position, probe.moves)
    drawn = overlays(svg.svg(picture_of(probe.position), shown=shown))
    expected = []
    for move in probe.moves:
        depth = {1: move.lose_depth, 0: "", -1: move.win_depth}[move.value]
        row, column = divmod(move.move, 3)
        expected.append((column, row, -move.value, f"{'DWL'[-move.value]}{depth}"))
    assert sorted(drawn) == sorted(expected)


def test_a_picture_says_what_it_shows():
    picture = picture_of("XO./.X./... O")
    assert parsed(svg.svg(picture, title="a fork")).get("aria-label") == "a fork"


def test_a_board_as_text_has_the_values_of_moves_in_place(store):
    probe = store.probe("X../.O./..X")
    shown = choices(store.game, probe.position, probe.moves)
    text = plain(board_of(probe.position), shown=shown)
    assert text == "X  D  L2\nD  O  D\nL2 D  X"


def test_a_board_of_fields_as_text_has_rulers():
    assert plain(Board(("XO", ".."), "field 1", (1, 1))) == "X | O\n--+--\n. | .\nfield 1"


@given(
    st.integers(1, 4).flatmap(
        lambda width: st.lists(
            st.text(st.characters(), min_size=width, max_size=width), min_size=1, max_size=4
        )
    ),
    ANY_TEXT,
    st.lists(st.tuples(ANY_TEXT, st.integers(0, 15), st.sampled_from((1, 0, -1))), max_size=5),
)
def test_no_text_breaks_a_picture(rows, text, moves):
    board = board_picture(Board(tuple(rows), text, (1, 1)))
    shown = [Choice(0, text, cell, None, value, None, name) for name, cell, value in moves]
    links = {cell: Link(name, text, text=text, below=name) for name, cell, _ in moves}
    for picture in (
        svg.svg(board, shown=shown, title=text),
        large(None, "/".join(rows), links, last=1, title=text),
        svg.svg(board, shown=shown),
        svg.text_svg(text, shown=shown),
    ):
        root = parsed(picture)
        assert root.tag == SVG + "svg"
        assert {each.tag for each in root.iter()} <= {
            SVG + name
            for name in ("svg", "style", "rect", "g", "path", "circle", "text", "tspan", "a")
        }


@given(ANY_TEXT)
def test_a_text_is_kept_except_for_control_characters(text):
    kept = parsed(f"<a>{svg.marked_up(text)}</a>").text or ""
    assert len(kept) == len(text)
    for was, now in zip(text, kept, strict=True):
        assert now in (was, "\ufffd")
        assert now == was or not was.isprintable()


@given(ANY_TEXT)
def test_any_text_is_a_board_or_none(text):
    board = board_of(text)
    assert board is None or all(len(row) == board.columns for row in board.rows)


def test_a_picture_of_text_has_all_moves_below_it():
    game = find_game("nim(1,2)")
    moves = played(game, game.read("1,2"))
    shown = choices(game, "1,2", moves, partial(move_text, game))
    lines = text_plain("1,2", shown=shown).split("\n")
    assert lines == ["1,2", "D    1-1", "D    2-1", "D    2-2"]
    (spoken,) = parsed(svg.text_svg("1,2", shown=shown)).iter(SVG + "text")
    assert "".join(spoken.itertext()) == "".join(lines).replace("    ", "  ")


def test_rules_that_cannot_read_their_own_text_are_shown_as_text():
    game = accept(TableGame({"a": {0: "b"}, "b": -1}, "a"))
    assert board_of("nowhere", game) is None
    assert images(game, "a") == {"same": "a"}
