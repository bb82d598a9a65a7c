"""Typed boards are read or refused with the reason; written boards are read back."""

from itertools import product

import numpy as np
import pytest
from conftest import for_all
from hypothesis import given
from hypothesis import strategies as st

from graphstore.errors import PositionError, WrongSizeError
from graphstore.games import find_game
from graphstore.games.boardtext import read_cells, write_cells
from graphstore.games.grid import mnk

TICTACTOE = find_game("tictactoe")
BOARD = "XO./.X./..."
TYPED = {
    "rows": "XO./.X./...",
    "run": "XO..X....",
    "lower case": "xo./.x./...",
    "underscores": "XO_/_X_/___",
    "hyphens": "XO-/-X-/---",
    "spaces": "XO / X /   ",
    "run of spaces": "XO  X    ",
    "every sign": "XO_/-X./. -",
    "lines": "XO.\n.X.\n...",
    "a last newline": "XO.\n.X.\n...\n",
    "newlines around": "\n\nXO.\n.X.\n...\n\n",
    "Windows lines": "XO.\r\n.X.\r\n...\r\n",
    "old Macintosh lines": "XO.\r.X.\r...",
    "lines of spaces": "XO \n X \n   ",
    "lines of spaces, a last newline": "XO \n X \n   \n",
    "spaces at the end lost": "XO\n X\n\n",
    "spaces at the end lost in a string": "\nXO\n X\n\n",
    "lines of hyphens": "XO-\n-X-\n---",
    "slashes and newlines": "XO./\n.X./\n...",
    "indented": "\n    XO.\n    .X.\n    ...\n    ",
    "spaces between cells": "X O .\n. X .\n. . .",
    "tabs between cells": "X\tO\t.\n.\tX\t.\n.\t.\t.",
    "wide gaps": "X  O  .\n.  X  .\n.  .  .",
    "spaces between cells in one line": "X O . . X . . . .",
    "spaces between rows": "XO. .X. ...",
    "spaces around slashes": "XO. / .X. / ...",
    "blank lines between": "X O .\n\n. X .\n\n. . .",
    "a space after each cell, empty ones too": "X O   \n  X   \n      ",
    "a space between cells, empty ones too": "X O  \n  X  \n     ",
    "spaces no editor shows": "\ufeffX\xa0O\xa0.\n.\xa0X\xa0.\n.\xa0.\xa0.",
    "rulers only": "X O .\n-----\n. X .\n-----\n. . .",
    "a lid and a floor": "+---+\nXO.\n.X.\n...\n+---+",
    "dashes of a word processor": "XO\u2013/\u2013X\u2013/\u2014\u2014\u2014",
}
PICTURES = {
    "wide": " X | O |   \n---+---+---\n   | X |   \n---+---+---\n   |   |   ",
    "wide, bars in rulers": " X | O |   \n---|---|---\n   | X |   \n---|---|---\n   |   |   ",
    "wide, plain rulers": " X | O |   \n-----------\n   | X |   \n-----------\n   |   |   ",
    "wide, double rulers": " X | O |   \n===+===+===\n   | X |   \n===+===+===\n   |   |   ",
    "wide, no rulers": " X | O |   \n   | X |   \n   |   |   ",
    "spaces at the end lost": " X | O |\n---+---+---\n   | X |\n---+---+---\n   |   |",
    "spaces at both ends lost": "X | O |\n---+---+---\n| X |\n---+---+---\n|   |",
    "compact": "X|O|.\n-+-+-\n.|X|.\n-+-+-\n.|.|.",
    "compact, spaces": "X|O| \n-+-+-\n |X| \n-+-+-\n | | ",
    "compact, nothing": "X|O|\n-+-+-\n|X|\n-+-+-\n||",
    "compact, hyphens are cells": "X|O|-\n-|X|-\n-|-|-",
    "compact, hyphens are rulers": "X|O| \n-|-|-\n |X| \n-|-|-\n | | ",
    "compact, hyphens are both": "X|O|-\n-|-|-\n-|X|-\n-|-|-\n-|-|-",
    "compact, hyphens are cells, plus in rulers": "X|O|-\n-+-+-\n-|X|-\n-+-+-\n-|-|-",
    "underscores are cells": "X|O|_\n_|X|_\n_|_|_",
    "underlined": "_X_|_O_|___\n___|_X_|___\n   |   |   ",
    "underscores are rulers": " X | O |\n___|___|___\n   | X |\n___|___|___\n   |   |",
    "underscores below every row": (
        " X | O |\n___|___|___\n   | X |\n___|___|___\n   |   |\n___|___|___"
    ),
    "slashes between rows": "X|O|./.|X|./.|.|.",
    "high": (
        "     |     |     \n  X  |  O  |     \n_____|_____|_____\n"
        "     |     |     \n     |  X  |     \n_____|_____|_____\n"
        "     |     |     \n     |     |     \n     |     |     \n"
    ),
    "high, with rulers": (
        "     |     |\n  X  |  O  |\n     |     |\n-----+-----+-----\n"
        "     |     |\n     |  X  |\n     |     |\n-----+-----+-----\n"
        "     |     |\n     |     |\n     |     |\n"
    ),
    "frame": (
        "+---+---+---+\n| X | O |   |\n+---+---+---+\n|   | X |   |\n+---+---+---+\n"
        "|   |   |   |\n+---+---+---+\n"
    ),
    "frame, rulers with bars": (
        "-------------\n| X | O |   |\n|---|---|---|\n|   | X |   |\n|---|---|---|\n"
        "|   |   |   |\n-------------\n"
    ),
    "frame, compact": "|X|O| |\n| |X| |\n| | | |",
    "frame, hyphens": "|X|O|-|\n|-|X|-|\n|-|-|-|",
    "frame, underscores": " _ _ _ \n|X|O|_|\n|_|X|_|\n|_|_|_|",
    "frame, indented": "  |X|O| |\n  | |X| |\n  | | | |",
    "frame around rows": "+---+\n|XO.|\n|.X.|\n|...|\n+---+",
    "frame around rows of spaces": "+---+\n|XO |\n| X |\n|   |\n+---+",
    "frame around spaced rows": "+-------+\n| X O . |\n| . X . |\n| . . . |\n+-------+",
    "frame around spaced rows of spaces": "+-------+\n| X O   |\n|   X   |\n|       |\n+-------+",
    "box": (
        "┌───┬───┬───┐\n│ X │ O │   │\n├───┼───┼───┤\n│   │ X │   │\n├───┼───┼───┤\n"
        "│   │   │   │\n└───┴───┴───┘"
    ),
    "double box": (
        "╔═══╦═══╦═══╗\n║ x ║ o ║   ║\n╠═══╬═══╬═══╣\n║   ║ x ║   ║\n╠═══╬═══╬═══╣\n"
        "║   ║   ║   ║\n╚═══╩═══╩═══╝"
    ),
    "heavy box, no sides": " X ┃ O ┃   \n━━━╋━━━╋━━━\n   ┃ X ┃   \n━━━╋━━━╋━━━\n   ┃   ┃   ",
    "rounded box, compact": "╭─┬─┬─╮\n│X│O│ │\n├─┼─┼─┤\n│ │X│ │\n├─┼─┼─┤\n│ │ │ │\n╰─┴─┴─╯",
}


@for_all("how", TYPED)
def test_a_board_is_read_as_users_type_it(how):
    assert TICTACTOE.texts(np.array([TICTACTOE.read(TYPED[how])])) == [BOARD]


@for_all(("how", "newline"), product(PICTURES, ["\n", "\r\n"]))
def test_a_picture_is_read(how, newline):
    picture = PICTURES[how].replace("\n", newline)
    assert TICTACTOE.texts(np.array([TICTACTOE.read(picture)])) == [BOARD]
    assert TICTACTOE.read(f"{newline}{picture}{newline}{newline}") == TICTACTOE.read(BOARD)


@for_all("how", PICTURES)
def test_a_picture_may_lose_the_spaces_at_the_end_of_its_lines(how):
    picture = "\n".join(line.rstrip() for line in PICTURES[how].split("\n"))
    assert TICTACTOE.texts(np.array([TICTACTOE.read(picture)])) == [BOARD]


@for_all(
    ("text", "board"),
    [
        ("XOX\nOXO\nXOX", "XOX/OXO/XOX"),
        ("X O X\nO X O\nX O X", "XOX/OXO/XOX"),
        ("   \n   \n   ", ".../.../..."),
        ("         ", ".../.../..."),
        ("---------", ".../.../..."),
        ("---\n---\n---", ".../.../..."),
        ("-|-|-\n-|-|-\n-|-|-", ".../.../..."),
        ("-|-|-\n-|-|-\n-|-|-\n-|-|-\n-|-|-", ".../.../..."),
        ("---|---|---\n---|---|---", None),
        ("| | |\n| | |\n| | |", None),  # two columns in a frame
        ("||\n||\n||", ".../.../..."),
        ("   |   |   \n   |   |   \n   |   |   ", ".../.../..."),
        ("X O X O X", "X.O/.X./O.X"),  # nine characters: a run whose empty cells are spaces
        ("X O\nO X\nX O", "X.O/O.X/X.O"),
        ("|X  |\n| O |\n|   |", "X../.O./..."),
        ("| X |\n| O |\n|   |", ".X./.O./..."),
        (" |X  | \n |O| \n | | ", ".X./.O./..."),
    ],
)
def test_an_ambiguous_text_is_read_as_the_plainer_board(text, board):
    cells = None
    try:
        cells = read_cells(text, rows=3, columns=3, marks="XO", game="tictactoe")
    except WrongSizeError:
        assert board is None
    assert cells == (board and board.replace("/", ""))


@for_all(
    ("rows", "columns", "text", "cells"),
    [
        (1, 1, "X", "X"),
        (1, 1, " ", "."),
        (1, 1, "-", "."),
        (1, 1, "|X|", "X"),
        (1, 1, "+-+\n|X|\n+-+", "X"),
        (1, 1, "+---+\n|   |\n+---+", "."),
        (1, 3, "X-O", "X.O"),
        (1, 3, "X|-|O", "X.O"),
        (1, 3, "-|-|-", "..."),
        (1, 3, "---", "..."),
        (1, 3, " X |   | O ", "X.O"),
        (1, 3, "+---+---+---+\n| X |   | O |\n+---+---+---+", "X.O"),
        (1, 3, "X . O", "X.O"),
        (1, 3, "X O", "X.O"),
        (3, 1, "X\n-\nO", "X.O"),
        (3, 1, "X/./O", "X.O"),
        (3, 1, "X.O", "X.O"),
        (3, 1, "X\n \nO", "X.O"),
        (3, 1, "X\n---\n.\n---\nO", "X.O"),
        (3, 1, "|X|\n| |\n|O|", "X.O"),
        (3, 1, "+---+\n| X |\n+---+\n|   |\n+---+\n| O |\n+---+", "X.O"),
        (2, 3, "X|O|-\n-|-|-\nO|-|-", "XO.O.."),
        (2, 3, "X|O|-\n-|-|-", "XO...."),
        (2, 3, "---\n---", "......"),
        (2, 2, "X \n  ", "X..."),
        (2, 2, " X\n\n", ".X.."),
        (2, 2, "X|\n-+-\n|", "X..."),
    ],
)
def test_single_rows_single_columns_and_small_boards(rows, columns, text, cells):
    assert read_cells(text, rows=rows, columns=columns, marks="XO", game="it") == cells


def test_marks_may_be_other_letters():
    assert read_cells("rY/.1", rows=2, columns=2, marks="RY1", game="it") == "RY.1"


def refusal(text, game=TICTACTOE):
    """Return the error for a text."""
    with pytest.raises(PositionError) as caught:
        game.read(text)
    return caught.value


def test_a_message_shows_no_more_than_sixty_characters_of_a_text():
    for text in ("X" * 10_000, "X|" * 10_000, "XO.\n" * 10_000, "-" * 10_000, "X\n" * 10_000):
        assert len(str(refusal(text))) < 200


SHAPES = [
    (rows, columns) for rows, columns in product(range(1, 32), repeat=2) if rows * columns < 32
]


@st.composite
def boards(draw):
    """Draw a shape, and the cells of a board with alternating marks."""
    rows, columns = draw(st.sampled_from(SHAPES))
    plies = draw(st.integers(0, rows * columns))
    cells = draw(
        st.permutations([*"XO" * (plies // 2), *"X" * (plies % 2), *"." * (rows * columns - plies)])
    )
    return rows, columns, "".join(cells)


def spellings(rows, columns, cells):
    """Return a board written in many ways, none of which could be another board."""
    lines = [cells[at : at + columns] for at in range(0, len(cells), columns)]
    spaced = [line.replace(".", " ") for line in lines]
    wide = [" | ".join(f" {line} "[1:-1]) for line in spaced]
    ruler = "+".join(["---"] * columns)
    frame = f"+{ruler}+"
    yield "/".join(lines)
    yield "".join(lines).lower()
    for sign in " _-":
        yield "/".join(lines).replace(".", sign)
    yield "\n".join(spaced) + "\n"
    yield "\r\n".join(lines)
    yield "\n".join(" ".join(line) for line in lines)
    yield "\n".join(f"| {row} |" for row in wide)
    yield f"\n{frame}\n".join(["", *(f"| {row} |" for row in wide), ""])
    yield f"\n{frame}\n".join(["", *(f"| {row} |" for row in wide), ""]).translate(
        str.maketrans("+-|", "┼─│")
    )
    if columns > 1:
        yield "\n".join("|".join(line) for line in lines)
        yield "\n".join("|".join(line) for line in lines).replace(".", "-")
        yield f"\n{ruler}\n".join(f" {row} " for row in wide)
        yield f"\n{ruler}\n".join(f" {row} ".rstrip() for row in wide)


@given(boards())
def test_every_spelling_of_any_board_is_read_as_that_board(board):
    rows, columns, cells = board
    for text in spellings(rows, columns, cells):
        assert read_cells(text, rows=rows, columns=columns, marks="XO", game="it") == cells, text


@given(boards())
def test_a_written_board_is_read_back(board):
    rows, columns, cells = board
    game = mnk(columns, rows, 99)  # no line is that long, so every board can be reached
    codes = np.array([[".XO".index(cell) for cell in cells]], dtype=np.int8)
    (text,) = write_cells(codes, rows=rows, columns=columns, marks=".XO")
    assert text.replace("/", "") == cells
    assert game.texts(np.array([game.read(text)])) == [text]


def test_any_number_of_boards_is_written_at_once():
    codes = np.array([[1, 0], [0, 2], [2, 1]], dtype=np.int8)
    assert write_cells(codes, rows=1, columns=2, marks=".XO") == ["X.", ".O", "OX"]
    assert write_cells(codes, rows=2, columns=1, marks=".XO") == ["X/.", "./O", "O/X"]
    assert write_cells(codes[:0], rows=2, columns=1, marks=".XO") == []


@for_all("unit", ["-", " ", "X", "|", "\n", "/", "-+", "X|", "X\n", "- ", "--X\n"])
def test_a_long_text_is_refused_at_once(unit):
    assert isinstance(refusal(unit * (10_000 // len(unit))), WrongSizeError)
    assert str(refusal(unit * (1_000_000 // len(unit)))).endswith(
        "characters long; tictactoe has 9 cells, 3 rows of 3"
    )
