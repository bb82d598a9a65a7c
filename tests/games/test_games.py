"""Every built-in game and every move is found by its name, in any spelling."""

import re

import pytest
from conftest import check_all, for_all
from hypothesis import given
from hypothesis import strategies as st

from graphstore.errors import GameNameError, MoveError, RulesError
from graphstore.games import FAMILIES, file_name, find_builtin, find_game
from graphstore.rules.adapter import accept
from graphstore.rules.game import move_text, read_move
from graphstore.rules.plain import PlainGame

NAMES = [name for family in FAMILIES for name in (*family.examples, *family.large)]


@for_all("name", NAMES)
def test_a_game_is_its_name(name):
    assert find_game(name).name == name
    assert find_game(name).rules == find_game(name).rules


PROPER_NAMES = [
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
    ("connect(7,6)", "connect(7,6)"),
    ("connect(7,6,4)", "connect(7,6)"),
    (" Connect( 07, 6 ,5 )", "connect(7,6,5)"),
    ("connect(9,6)", "connect(9,6)"),
    ("connect(1,62)", "connect(1,62)"),
    ("connect(3,3,999999999)", "connect(3,3,999999999)"),
    ("morris(Flying)", "morris(flying)"),
    ("morris(diagonals, loss)", "morris(diagonals)"),
    ("morris(king,straight,pass)", "morris(king,pass,straight)"),
    ("morris(king,pass,pass)", "morris(king,pass)"),
    ("subtraction(21,3,1,2)", "subtraction(21,1,2,3)"),
    ("subtraction(9,2,2)", "subtraction(9,2)"),
    ("Subtraction(9, 2, 12, misere)", "subtraction(9,2,12,misere)"),
    ("subtraction(999999999,1)", "subtraction(999999999,1)"),
    ("Wythoff(8, 5)", "wythoff(5,8)"),
    ("wythoff's game(8,5)", "wythoff(5,8)"),
    ("kayles(0)", "kayles(0)"),
    ("chomp(1,1)", "chomp(1,1)"),
    ("Reversi(4,4)", "othello(4,4)"),
    ("othello-4-6", "othello(4,6)"),
    ("Dots and Boxes (2, 1)", "dots_and_boxes(2,1)"),
    ("dots-and-boxes-2-1", "dots_and_boxes(2,1)"),
    ("kalah(3,2,either,Empty)", "kalah(3,2,empty,either)"),
    ("kalaha-6-4", "kalah(6,4)"),
    ("domineering(31,1)", "domineering(31,1)"),
    ("nim(5,3,4)", "nim(3,4,5)"),
    ("Nim( 7, 5,3,1 , Misere)", "nim(1,3,5,7,misere)"),
    (" Vanishing() ", "vanishing"),
    # Other names of the families.
    ("tic-tac-toe", "tictactoe"),
    ("tic tac toe", "tictactoe"),
    ("Tic_Tac_Toe", "tictactoe"),
    ("TTT", "tictactoe"),
    ("noughts and crosses", "tictactoe"),
    ("noughts-and-crosses", "tictactoe"),
    ("connect", "connect(7,6)"),
    ("connect4", "connect(7,6)"),
    ("connect-4", "connect(7,6)"),
    ("connect-four", "connect(7,6)"),
    ("Connect Four", "connect(7,6)"),
    ("4 in a row", "connect(7,6)"),
    ("four-in-a-row-5-4", "connect(5,4)"),
    ("connectfour(5,4)", "connect(5,4)"),
    ("infinite tic-tac-toe", "vanishing"),
    ("three men's morris(king)", "morris(king)"),
    ("three-mens-morris-king-pass", "morris(king,pass)"),
    ("ultimate-tic-tac-toe-closed-count", "ultimate(closed,count)"),
    # Names of files.
    ("connect-4-4", "connect(4,4)"),
    ("connect-4-5-4", "connect(4,5)"),
    ("MNK-3-3-3-misere", "mnk(3,3,3,misere)"),
    ("nim-5-3-4", "nim(3,4,5)"),
    ("ultimate-open", "ultimate(open)"),
]


def test_case_spaces_and_the_order_of_parameters_do_not_matter_to_a_name():
    def law(name, proper):
        assert find_game(name).name == proper
        assert find_game(proper).name == proper

    check_all(PROPER_NAMES, law)


@given(st.integers(1, 31), st.integers(1, 31), st.integers(1, 40), st.booleans())
def test_every_name_that_fits_is_printed_back(m, n, k, misere):
    name = f"mnk({m},{n},{k}{',misere' * misere})"
    if m * n <= 31:
        assert find_game(name).name == name
    else:
        with pytest.raises(GameNameError, match=f"{m} columns by {n} rows are {m * n} cells"):
            find_game(name)


@for_all("name", NAMES)
def test_the_name_of_a_game_s_file_is_a_spelling_of_its_name(name):
    assert find_game(file_name(name).removesuffix(".db")).name == name


@for_all("name", ["ttt", "Tictactoe", "connect", "Connect4", "connect(7,6,4)", "mnk-3-3-3", "Nim"])
def test_a_database_means_a_built_in_game_by_its_one_name_only(name):
    assert find_builtin(name) is None


USAGE = "mnk(m,n,k[,misere])"
BAD_NAMES = {
    "": "there is no game ''; the games are tictactoe, ",
    "chess": "there is no game 'chess'; the games are tictactoe, ",
    "tictactow": "there is no game 'tictactow'; did you mean tictactoe?",
    "conect-4-4": "there is no game 'conect-4-4'; did you mean connect(w,h[,k]), such as ",
    "mnk(3,3,3": f"there is no game 'mnk(3,3,3'; did you mean {USAGE}, such as mnk(4,3,3)?",
    "mnk(3,3,3))": f"there is no game 'mnk(3,3,3))'; did you mean {USAGE}, such as ",
    "mnk 3 3 3": "there is no game 'mnk 3 3 3'; the games are tictactoe, ",
    "mnk\0": r"there is no game 'mnk\x00'; did you mean mnk(",
    "tictactoe\ntictactoe": r"there is no game 'tictactoe\ntictactoe'; the games are tictactoe, ",
    "tictactoe(3)": "'tictactoe(3)' has 1 parameter; write tictactoe",
    "mnk": f"'mnk' has 0 parameters; write {USAGE}, such as mnk(4,3,3)",
    "mnk-3-3": f"'mnk-3-3' has 2 parameters; write {USAGE}",
    "mnk(3,3)": f"'mnk(3,3)' has 2 parameters; write {USAGE}",
    "mnk(3,3,3,misere,3)": f"'mnk(3,3,3,misere,3)' has 5 parameters; write {USAGE}",
    "mnk(3,,3)": f"'' is not a parameter of {USAGE}",
    "mnk(3,3,3,)": f"'' is not a parameter of {USAGE}",
    "mnk(-3,3,3)": f"'-3' is not a parameter of {USAGE}",
    "mnk(3.0,3,3)": f"'3.0' is not a parameter of {USAGE}",
    "mnk(٣,3,3)": f"'٣' is not a parameter of {USAGE}",
    "mnk(1 2,1,1)": f"'1 2' is not a parameter of {USAGE}",
    "mnk(0,3,3)": "mnk: m is 0; it must be a whole number of at least 1",
    "mnk(3,0,3)": "mnk: n is 0; it must be a whole number of at least 1",
    "mnk(3,3,0)": "mnk: k is 0; it must be a whole number of at least 1",
    "mnk(a,3,3)": "mnk: m is 'a'; it must be a whole number of at least 1",
    "mnk(3,3,3,wild)": "mnk: 'wild' is not a variant; the only one is misere",
    "mnk(3,3,3,4)": "mnk: 4 is not a variant; the only one is misere",
    "mnk(6,6,4)": "mnk: 6 columns by 6 rows are 36 cells, too many; "
    "a position packs at most 31 cells into 63 bits",
    "mnk(32,1,4)": "mnk: 32 columns by 1 rows are 32 cells, too many; ",
    "mnk(999999999,999999999,3)": "mnk: 999999999 columns by 999999999 rows are "
    "999999998000000001 cells, too many; ",
    "mnk(1000000000,1,3)": f"'1000000000' is too large a number for {USAGE}",
    "mnk(3,3," + "9" * 10_000 + ")": "'99999999",
    "mnk(3,3,3," + "a" * 10_000 + ")": "'aaaaaaaa",
    "mnk(" + "3," * 10_000 + "3)": "'mnk(3,3,3,3",
    "hexapawn": "'hexapawn' has 0 parameters; write hexapawn(w,h)",
    "hexapawn(0,3)": "hexapawn: w is 0; it must be a whole number of at least 1",
    "hexapawn(3,2)": "hexapawn: h is 2; it must be a whole number of at least 3",
    "hexapawn(3,wide)": "hexapawn: h is 'wide'; it must be a whole number of at least 3",
    "hexapawn(8,4)": "hexapawn: 8 columns by 4 rows are 32 cells, too many; a position packs",
    "morris": "'morris' has 0 parameters; write morris(variant[,stuck][,straight])",
    "morris(3)": "morris: 3 is not a variant; choose orthogonal, diagonals, king, flying",
    "morris(knight)": "morris: 'knight' is not a variant; choose orthogonal, ",
    "morris(king,win)": "morris: 'win' is not an option; choose among loss, draw, pass, straight",
    "morris(king,3)": "morris: 3 is not an option; choose among loss, draw, pass, straight",
    "morris(king,loss,draw)": "morris: draw and loss exclude each other; choose one of them",
    "connect(7)": "'connect(7)' has 1 parameter; write connect(w,h[,k])",
    "connect(7,6,4,4)": "'connect(7,6,4,4)' has 4 parameters; write connect(w,h[,k])",
    "connect(0,6)": "connect: w is 0; it must be a whole number of at least 1",
    "connect(7,a)": "connect: h is 'a'; it must be a whole number of at least 1",
    "connect(7,6,0)": "connect: k is 0; it must be a whole number of at least 1",
    "connect(8,7)": "connect: 8 columns by 7 rows need 64 bits, too many; ",
    "connect(64,1)": "connect: 64 columns by 1 rows need 128 bits, too many; ",
    "connect(999999999,999999999)": "connect: 999999999 columns by 999999999 rows need ",
    "nim": "'nim' has 0 parameters; write nim(heap,...[,misere])",
    "nim(misere)": "nim: a heap is 'misere'; it must be a whole number from 1 to 999999",
    "nim(3,0)": "nim: a heap is 0; it must be",
    "nim(3,misere,4)": "nim: a heap is 'misere'; it must be",
    "nim(3,normal)": "nim: a heap is 'normal'; it must be",
    "nim(1000000)": "nim: a heap is 1000000; it must be a whole number from 1 to 999999",
    "nim(" + "15," * 15 + "15)": "nim: 16 heaps need 64 bits, too many; a position packs",
    "subtraction": "'subtraction' has 0 parameters; write subtraction(n,take,...[,misere])",
    "subtraction(21)": "'subtraction(21)' has 1 parameter; write subtraction(n,take,",
    "subtraction(21,misere)": "subtraction: a parameter is 'misere'; it must be a whole",
    "subtraction(0,1)": "subtraction: a parameter is 0; it must be a whole number of at least 1",
    "subtraction(9,1,0)": "subtraction: a parameter is 0; it must be",
    "subtraction(9,1,misere,2)": "subtraction: a parameter is 'misere'; it must be",
    "subtraction(3,4,5)": "subtraction: none of the takes can be taken from 3; make one",
    "subtraction(1000000000,1)": "'1000000000' is too large a number for subtraction(",
    "octal": "'octal' has 0 parameters; write octal(code,n), such as octal(0.07,12)",
    "octal(0.77)": "'octal(0.77)' has 1 parameter; write octal(code,n)",
    "octal(0.77,3,3)": "'octal(0.77,3,3)' has 3 parameters; write octal(code,n)",
    "octal(0.8,5)": "octal: the code is '0.8'; write 0 or 4, a point, and 1 to 63 digits from 0",
    "octal(9.7,5)": "octal: the code is '9.7'; write 0 or 4, a point, and 1 to 63 digits from 0",
    "octal(0." + "7" * 64 + ",5)": "octal: the code is '0.777",
    "octal(0." + "7" * 9_999 + ",5)": "'0.7777",
    "octal(x,5)": "'x' is not a parameter of octal(code,n)",
    "octal(0.77,64)": "octal: n is 64, too large; a position packs at most 63",
    "octal(0.77,-1)": "'-1' is not a parameter of octal(code,n)",
    "octal(0.77,0.5)": "octal: n is '0.5'; it must be a whole number of at least 0",
    "kayles(64)": "kayles: n is 64, too large; a position packs at most 63",
    "kayles(a)": "kayles: n is 'a'; it must be a whole number of at least 0",
    "kayles(5,5)": "'kayles(5,5)' has 2 parameters; write kayles(n)",
    "dawson(999999999)": "dawson: n is 999999999, too large; a position packs at most 63",
    "wythoff(3)": "'wythoff(3)' has 1 parameter; write wythoff(a,b)",
    "wythoff(0,3)": "wythoff: a heap is 0; it must be a whole number from 1 to 999999",
    "wythoff(3,misere)": "wythoff: a heap is 'misere'; it must be a whole number from 1 to 999999",
    "chomp(4)": "'chomp(4)' has 1 parameter; write chomp(w,h)",
    "chomp(0,3)": "chomp: w is 0; it must be a whole number of at least 1",
    "chomp(8,16)": "chomp: 16 rows of up to 8 squares need 64 bits, too many; a position packs",
    "chomp(1000000,1)": "chomp: w is 1000000, too large; the limit is 999999",
    "domineering(8,4)": "domineering: 8 columns by 4 rows are 32 cells, too many",
    "domineering(0,4)": "domineering: w is 0; it must be a whole number of at least 1",
    "othello(5,4)": "othello: 5 columns by 4 rows; both must be even, and one of them at least 4",
    "othello(2,2)": "othello: 2 columns by 2 rows; both must be even, and one of them at least 4",
    "othello(0,4)": "othello: w is 0; it must be a whole number of at least 2",
    "othello(6,6)": "othello: 6 columns by 6 rows are 36 cells, too many; a position packs at most",
    "dots_and_boxes(2)": "'dots_and_boxes(2)' has 1 parameter; write dots_and_boxes(w,h), such as",
    "dots_and_boxes(0,2)": "dots_and_boxes: w is 0; it must be a whole number of at least 1",
    "dots_and_boxes(5,5)": "dots_and_boxes: 5 columns by 5 rows need 66 bits, too many; a position",
    "kalah(3,0)": "kalah: n is 0; it must be a whole number of at least 1",
    "kalah(6,5)": "kalah: 6 pits of 5 seeds need 74 bits, too many; a position packs at most 63: m",
    "kalah(3,2,all)": "kalah: 'all' is not an option; choose among empty, either",
    "kalah(3,2,4)": "kalah: 4 is not an option; choose among empty, either",
    "ultimate": "ultimate: '' is not a rule set; choose open or closed; write ultimate(rules[,coun",
    "ultimate(3)": "ultimate: 3 is not a rule set; choose open or closed",
    "ultimate(ajar)": "ultimate: 'ajar' is not a rule set; choose open or closed",
    "ultimate(closed,counts)": "ultimate: 'counts' is not an option; the only one is count",
    "ultimate(closed,count,count)": "ultimate: 'count' is not an option; the only one is",
    "ultimate(open,count)": "ultimate: only the closed rules can count fields",
    "t.db": "'t.db' is a database, not a game; give the name of a game",
    "postgresql://user:secret@host/games": "the address of a database is not a game; give the name",
    "vanishing(3)": "'vanishing(3)' has 1 parameter; write vanishing",
    "x" * 1_000_000: "there is no game 'xxxx",
    "(" * 1_000_000: "there is no game '((((",
    " " * 1_000_000: "there is no game '    ",
}


def test_a_bad_name_is_refused_in_one_line():
    longest = 300 + len(", ".join(family.usage for family in FAMILIES))

    def law(name, said):
        with pytest.raises(GameNameError) as caught:
            find_game(name)
        message = str(caught.value)
        assert message.startswith(said)
        assert "\n" not in message
        assert len(message) < longest

        assert "secret" not in message

    check_all(BAD_NAMES.items(), law)


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


def test_families_are_listed_once_with_a_description():
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


@for_all(
    ("name", "move", "text"),
    [
        ("tictactoe", 4, "4"),
        ("connect(4,4)", 3, "4"),
        ("morris(flying)", 4, "4"),
        ("morris(flying)", 23, "1-5"),
        ("morris(flying)", 90, "pass"),
        ("hexapawn(3,3)", 57, "6-3"),
        ("nim(3,4,5)", 23, "2-3"),
        ("nim(3,4,15)", 203, "2-3"),
        ("nim(3,4,15)", 315, "3-15"),
        ("subtraction(21,1,2,3)", 2, "2"),
        ("vanishing", 8, "8"),
        ("kayles(12)", 120307, "12-3-7"),
        ("kayles(12)", 10000, "1-0-0"),
        ("wythoff(5,8)", 25, "2-5"),
        ("wythoff(5,8)", 35, "both-5"),
        ("chomp(4,3)", 23, "2-3"),
        ("othello(4,6)", 11, "d3"),
        ("othello(4,6)", 24, "pass"),
        ("dots_and_boxes(2,1)", 0, "a1b1"),
        ("dots_and_boxes(2,1)", 3, "b1b2"),
        ("dots_and_boxes(2,1)", 6, "b2c2"),
        ("kalah(3,2)", 3, "3"),
    ],
)
def test_moves_have_the_names_that_the_documents_say(name, move, text):
    game = find_game(name)
    assert (move_text(game, move), read_move(game, text)) == (text, move)


@for_all(
    ("name", "text", "why"),
    [
        ("morris(flying)", "1-9", "there is no cell 9: 0 to 8"),
        ("morris(flying)", "foo", "'foo' is not a move; write a cell"),
        ("hexapawn(3,3)", "6-9", "there is no cell 9: 0 to 8"),
        ("othello(4,4)", "e1", "'e1' is not a move; write a cell from a1, at the top left, to d4"),
        ("othello(4,4)", "a5", "'a5' is not a move; write a cell from a1"),
        ("dots_and_boxes(2,1)", "a1c1", "'a1c1' is not a line of dots_and_boxes(2,1); write its"),
        ("hexapawn(3,3)", "6 3", "'6 3' is not a move; write FROM-TO, such as 8-5"),
        ("nim(3,4,5)", "0-1", "there is no heap 0: 1 to 3"),
        ("nim(3,4,5)", "4-1", "there is no heap 4: 1 to 3"),
        ("nim(3,4,5)", "1-6", "6 cannot be taken"),
        ("nim(3,4,5)", "1-0", "0 cannot be taken"),
        ("tictactoe", "b2", "'b2' is not a move; write the number of a move"),
        ("kayles(12)", "12-3-6", "'12-3-6' is not a move of kayles(12); write HEAP-A-B"),
        ("wythoff(5,8)", "both-9", "9 cannot be taken"),
        ("wythoff(5,8)", "3-1", "there is no heap 3: 1 to 2"),
    ],
)
def test_a_move_that_cannot_be_read_is_explained(name, text, why):
    with pytest.raises(MoveError, match=re.escape(why)):
        read_move(find_game(name), text)


class Named(PlainGame):
    """A game with names of moves that look like numbers."""

    def write_move(self, move):
        return str(move + 1)

    def read_move(self, text):
        return int(text) - 1


class Unnamed(PlainGame):
    def write_move(self, move):
        raise KeyError(move)

    def read_move(self, text):
        return "no number"


def test_a_users_names_of_moves_come_before_the_numbers():
    assert (move_text(accept(Named()), 0), read_move(accept(Named()), "1")) == ("1", 0)
    with pytest.raises(MoveError, match="'foo' is not a move of Named"):
        read_move(accept(Named()), "foo")
    with pytest.raises(RulesError, match=r"Unnamed: write_move\(3\) failed: KeyError: 3"):
        move_text(accept(Unnamed()), 3)
    assert read_move(accept(Unnamed()), "3") == 3
    assert (move_text(None, 3), read_move(None, "3")) == ("3", 3)
