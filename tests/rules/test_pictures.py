"""Every game has a picture: its cells are those of the position, its moves are on their cells."""

import numpy as np
import pytest
from conftest import for_all, some_of
from test_boards import parsed, played, walk

from graphstore import PlainGame, Store, build, draw, find_game
from graphstore.errors import DrawingError, RulesError
from graphstore.games import FAMILIES as FAMILIES_LISTED
from graphstore.rules.adapter import accept
from graphstore.rules.board import choices, picture_of
from graphstore.rules.game import move_text
from graphstore.rules.picture import LARGEST, Cell, lines, marks
from graphstore.rules.svg import COLOURS, DARK, LIGHT, Strength, mark_svg, strengths, svg
from graphstore.web.page.pictures import Link, large, little, with_definitions
from graphstore.web.tables.cells import picture as table_picture

FAMILIES = (
    *("tictactoe", "mnk(4,3,3)", "mnk(3,3,3,misere)", "connect(4,4)", "connect(7,6)", "vanishing"),
    *("morris(king)", "morris(flying,straight)", "nim(3,4,5)", "nim(2,70)", "hexapawn(3,4)"),
    *("subtraction(30,2,5)", "subtraction(500,1,100)", "ultimate(open)", "ultimate(closed)"),
    *(
        "chomp(4,3)",
        "kayles(9)",
        "octal(4.3,6)",
        "domineering(4,4)",
        "othello(4,4)",
        "othello(2,4)",
    ),
    *("dots_and_boxes(2,1)", "dots_and_boxes(2,3)", "kalah(2,3)", "kalah(4,2)", "kalah(1,4)"),
)
SOME_MOVES = ("subtraction(500", "nim(2,70", "kayles", "octal", "othello")  # others have no cell
NO_TURN = ("nim", "subtraction", "chomp", "kayles", "octal")


def luminance(colour):
    digits = colour[1:] if len(colour) == 7 else "".join(2 * each for each in colour[1:])
    parts = [byte / 255 for byte in bytes.fromhex(digits)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(a * b for a, b in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one, two):
    high, low = sorted((luminance(one), luminance(two)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("name", some_of(FAMILIES, 8))
def test_every_position_has_a_picture_of_one_size_with_each_move_on_a_cell(name):
    game = find_game(name)
    sizes = set()
    for position in walk(game, 4, seed=5):
        (text,) = game.texts(np.array([position]))
        picture = picture_of(text, game)
        sizes.add((picture.rows, picture.columns, picture.block))
        assert len(picture.cells) == picture.rows * picture.columns <= LARGEST
        moves = played(game, position)
        found = choices(game, text, moves, lambda move: move_text(game, move))
        placed = [(each.source, each.cell) for each in found if each.cell is not None]
        assert len(set(placed)) == len(placed)
        assert len(placed) == len(moves) or name.startswith(SOME_MOVES)
        assert bool(picture.turn) == bool(moves) or name.startswith(NO_TURN)
        ended = game.outcomes(np.array([position]))[0] != 2
        assert not picture.won or ended
        assert parsed(svg(picture, shown=found, title=text)) is not None
        page = f"<main>{little(game, text)}{large(game, text, {}, last=0, title=text)}</main>"
        used = [each.get("href")[1:] for each in parsed(with_definitions(page)).iter("use")]
        known = {each.get("id") for each in parsed(with_definitions(page)).iter("g")}
        assert set(used) <= known
    assert len(sizes) == 1


def test_a_move_on_a_heap_is_on_the_lowest_unit_that_it_takes():
    game = find_game("nim(3,4,5)")
    position = game.read("1,4,5")
    for choice in choices(game, "1,4,5", played(game, position)):
        heap, take = divmod(choice.move, 10)
        size = (1, 4, 5)[heap - 1]
        assert choice.cell == (heap - 1) * 6 + 1 + size - take
    picture = picture_of("1,4,5", game)
    assert [cell.label for cell in picture.cells].count("●") == 10
    assert [picture.cells[at].label for at in (0, 6, 12)] == ["1", "4", "5"]


def test_a_column_of_connect_is_one_target_with_its_number():
    game = find_game("connect(4,4)")
    text = "..../..../.O../.XX."
    picture = picture_of(text, game)
    assert picture.names == ("1", "2", "3", "4")
    link = Link("there", "2")
    drawn = parsed(large(game, text, {5: link}, last=9, title=text))
    (hit,) = [each for each in drawn.iter() if each.get("class") == "gs-reach"]
    assert (float(hit.get("y")), float(hit.get("height"))) == (2 - 60, 4 * 60 - 4)
    assert len([each for each in drawn.iter() if each.get("class") == "gs-fall"]) == 1


@for_all(
    ("name", "text", "won"),
    [
        ("tictactoe", "XXX/OO./...", {(0, 2)}),
        ("tictactoe", "XOX/OXO/X..", {(2, 6)}),
        ("mnk(3,3,3,misere)", "XXX/OO./...", {(0, 2)}),
        ("connect(4,4)", "X.../XO../XO../XO..", {(0, 12)}),
        ("hexapawn(3,3)", "W.B/.B./..W B", {(0, 0)}),
        ("vanishing", "Ab./Cd./E..", {(0, 6)}),
        ("morris(king)", "XXX/OO./... O", {(0, 2)}),
        ("ultimate(closed)", "X X X O O . . ....O.... O 7 O", {(10, 16)}),
        ("tictactoe", "XO./.X./...", set()),
    ],
)
def test_the_winning_line_is_marked(name, text, won):
    assert set(picture_of(text, find_game(name)).won) == won


def test_ultimate_has_large_marks_over_decided_fields_and_tints_those_to_play_in():
    game = find_game("ultimate(closed)")
    picture = picture_of(". . . . X ....O...O . . O 5 X", game)
    assert {field: cell.label for field, cell in picture.big.items()} == {4: "X", 8: "O"}
    assert picture.active == {5}
    assert picture.cells[40] == Cell()
    chosen = picture_of(". . . . X ....O...O . . O any X", game)
    assert chosen.active == set(range(9)) - {4, 8}


def test_the_mark_that_vanishes_next_is_pale_and_marks_have_their_ages():
    picture = picture_of("AbC/dE./f..", find_game("vanishing"))
    assert [cell.note for cell in picture.cells] == ["3", "3", "2", "2", "1", "", "1", "", ""]
    assert [at for at, cell in enumerate(picture.cells) if cell.pale] == [0]
    assert picture.cells[0].side == picture.turn
    assert not any(cell.pale for cell in picture_of("Ab./.C./...", find_game("vanishing")).cells)


@for_all(
    ("text", "rows"),
    [
        ("1: .../x.o/...", ["...", "x.o", "..."]),
        ("2: 3oxox/2o..x/1oxox/ abcd", ["oxox", "o..x", "oxox"]),
        ("1: . . . . / . . . o /  x . . . /   . . . .", ["....", "...o", "x...", "...."]),
        ("2 passes: Black (x) to play:/  a b/1 - x 1/2 o - 2/  a b", ["-x", "o-"]),
        ("8/8/4k3/8/8/4K3/4R3/8 w - - 0 1", None),
        ("1: 4k3/8/8/8/8/8/8/4K2R w K - 0 1", None),
    ],
)
def test_boards_of_openspiel_and_of_chess_are_grids(text, rows):
    picture = picture_of(text)
    if rows is not None:
        seen = [cell.label or "." for cell in picture.cells]
        assert "".join(seen) == "".join(rows).replace("-", ".")
        assert picture.columns == len(rows[0])
    else:
        pieces = {(cell.shape, cell.side) for cell in picture.cells if cell.shape}
        assert pieces == {("king", 1), ("king", 2), ("rook", 1)}
        assert picture.ground == "chess"


@pytest.mark.parametrize("text", ["1: (0): 1 3 2 5", "1: a/bc", "1: ", "1: \x1b[9/ab"])
def test_other_texts_of_openspiel_stay_text(text):
    assert picture_of(text) is None


class Lamps(PlainGame):
    """Switch lamps off; the hook for pictures returns `shown`."""

    shown = None

    def start(self):
        return "OO/.O"

    def moves(self, lamps):
        return [at for at, each in enumerate(lamps.replace("/", "")) if each == "O"]

    def play(self, lamps, move):
        cells = [*lamps]
        cells[move + (move > 1)] = "."
        return "".join(cells)

    def outcome(self, lamps):
        return None if "O" in lamps else -1

    def picture(self, lamps):
        return self.shown(lamps) if callable(self.shown) else self.shown


def lamps(shown):
    game = Lamps()
    game.shown = shown
    return accept(game)


IMAGE = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


def test_a_users_rules_draw_cells():
    game = lamps(
        lambda text: [
            [("#f0e442", "on") if each == "O" else {"colour": "gray"} for each in row]
            for row in text.split("/")
        ]
    )
    picture = picture_of("OO/.O", game)
    assert [cell.label for cell in picture.cells] == ["on", "on", "", "on"]
    drawn = large(game, "OO/.O", {}, last=None, title="t")
    assert drawn.count('fill="#f0e442"') == 3
    moves = played(game, game.read("OO/.O"))
    assert [each.cell for each in choices(game, "OO/.O", moves)] == [0, 1, 3]


def test_a_users_svg_is_an_image_in_which_no_script_runs(tmp_path):
    game = lamps(IMAGE)
    for drawn in (large(game, "OO/.O", {}, last=None, title="<t>"), little(game, "OO/.O")):
        assert drawn.startswith("<img ")
        assert "data:image/svg+xml;base64," in drawn
        assert "<script" not in drawn
    build(game, tmp_path / "lamps.db")

    with Store.open(tmp_path / "lamps.db", rules=game) as store:
        picture = draw(store)
        assert "<script" not in picture.svg()
        assert len(list(parsed(picture.svg()).iter("{http://www.w3.org/2000/svg}image"))) == 1
        with pytest.raises(DrawingError, match="a PNG cannot hold; write SVG"):
            picture.png()
    cell = lamps([[{"image": IMAGE}]])
    assert "<script" not in large(cell, "OO/.O", {}, last=None, title="t")


@for_all(
    "shown",
    [
        "<html>",
        "javascript:alert(1)",
        [],
        [[]],
        [["a"], ["b", "c"]],
        [["."] * 33] * 33,
        7,
        [[("red;background:url(x)", "a")]],
        [[('"><script>', "a")]],
        [[{"image": "http://example.org/a.png"}]],
        [[{"sound": "x"}]],
        IMAGE + " " * 100_000,
        lambda _: 1 / 0,
    ],
)
def test_a_wrong_picture_is_an_error_in_one_line(shown):
    game = lamps(shown)
    with pytest.raises(RulesError, match="Lamps: picture") as failed:
        picture_of("OO/.O", game)
    assert "\n" not in str(failed.value)
    assert len(choices(game, "OO/.O", played(game, game.read("OO/.O")))) == 3
    assert table_picture(game, "OO/.O", size=96) == ""


def test_no_picture_leaves_the_board():
    assert [cell.label for cell in picture_of("OO/.O", lamps(None)).cells] == ["O", "O", "", "O"]
    assert picture_of("nowhere", lamps(None)) is None


def test_deeper_wins_are_paler_and_the_best_moves_have_a_ring(store):
    probe = store.probe(".../OO./.XX")  # X wins now, or one move later
    shown = choices(store.game, probe.position, probe.moves)
    strength = strengths(shown)
    best = {move.move for move in probe.best}
    assert {move for move, each in strength.items() if each.best} == best
    wins = [each for each in shown if each.value == 1]
    opacities = [strength[each.move].opacity for each in sorted(wins, key=lambda win: win.depth)]
    assert opacities == sorted(opacities, reverse=True)
    assert min(opacities) < 1
    assert all(strength[each.move].opacity == 1 for each in shown if each.value != 1)
    drawn = svg(picture_of(probe.position, store.game), shown=shown)
    assert drawn.count('class="gs-ring"') == len(best)
    start = choices(store.game, ".../.../...", store.start().moves)
    assert set(strengths(start).values()) == {Strength()}


@pytest.mark.parametrize("colours", [LIGHT, DARK])
def test_marks_have_contrast_and_players_differ_without_colours(colours):
    for side in ("one", "two", "rule", "ink"):
        assert contrast(colours[side], colours["paper"]) >= 3
    for side in ("one", "two", "ink"):
        assert contrast(colours[side], colours["last"]) >= 3
        assert contrast(colours[side], colours["active"]) >= 3
    for value in COLOURS.values():
        assert contrast(value, "#000") >= 4.5
    for shape in ("X", "disc", "pawn"):
        other = "O" if shape == "X" else shape
        one, two = (
            mark_svg(Cell(label="m", shape=each, side=side)).replace(f"{side}", "")
            for each, side in ((shape, 1), (other, 2))
        )
        assert one != two or shape == "pawn"  # white and black


def test_lines_are_of_one_side():
    cells = marks("XXO.OX.OX", "XO")
    assert lines(cells, 3, 3) == ()
    assert lines(marks("X", "XO"), 1, 1)
    assert set(lines(marks("X..XX.XXX", "XO"), 3, 3)) == {(0, 6), (0, 8), (6, 8)}
    assert set(lines(marks("X..XX.XXX", "XO"), 3, 3, diagonals=False)) == {(0, 6), (6, 8)}


def test_every_built_in_family_draws_itself():
    games = [find_game(name) for family in FAMILIES_LISTED for name in family.examples]
    assert all(hasattr(game, "picture") for game in games)
