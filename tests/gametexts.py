"""Texts of positions of the built-in games: as users write them, and refused ones with reasons.

The laws of test_all_games.py run over these tables. A new game adds its own rows.
"""

from graphstore.errors import (
    BothSidesWonError,
    ImpossibleCountsError,
    PlayAfterWinError,
    PositionError,
    UnknownCharacterError,
    WrongSizeError,
)
from graphstore.games.connect import FloatingStoneError
from graphstore.games.heaps import HeapTooHighError
from graphstore.games.sided import TurnMissingError, UnreachableError
from graphstore.games.ultimate.text import ActiveFieldError
from graphstore.games.vanishing import MarkOrderError

ONE_EACH = "......./......./......./......./......./XO....."
EMPTY_ROWS = ["........."] * 9
START = ". . . . . . . . . any X"
CENTER = ". . . . ....X.... . . . . 4 O"

ULTIMATE = ("ultimate(open)", "ultimate(closed)", "ultimate(closed,count)")

# Texts as users type them, each with the text that the game writes.
ULTIMATE_READ = [
    (START, START),
    (CENTER, CENTER),
    (". . . . ....x.... . . . ., field 4, O to move", CENTER),
    (" ".join(EMPTY_ROWS) + " any X", START),
    (". . . . . . . . . any field; X to play", START),
    (" ".join(["_________"] * 9) + " Any x", START),
    (" ".join(["---------"] * 9) + " any X", START),
    ("* * * * ****X**** * * * * 4 O", CENTER),
    (". | . | . | . | . | . | . | . | . | any X", START),
    ("\n".join([*EMPTY_ROWS[:4], "....X....", *EMPTY_ROWS[:4], "field 4, O to move"]), CENTER),
]
# Other spellings of XO./.X./..O.
TICTACTOE_OTHERS = [
    "x,o,b,b,x,b,b,b,o",
    "X,O,,,X,,,,O",
    "X,O,.\n.,X,.\n.,.,O\n",
    "X, O, ., ., X, ., ., ., O,",
    "XO0/0X0/00O",
    "XO00X000O",
    "XO*/*X*/**O",
    "xobbxbbbo",
    "XO.|.X.|..O",
    "XO. | .X. | ..O",
    "|XO.|.X.|..O|",
    "X O . | . X . | . . O",
    "XO | X |  O",
    "XO.-.X.-..O",
    "XO.;.X.;..O",
    "XO.,.X.,..O",
    "X O 2\n3 X 5\n6 7 O",
    "X O 3/4 X 6/7 8 O",
    "XO2/3X5/67O",
    "X|O|2\n-+-+-\n3|X|5\n-+-+-\n6|7|O",
    "1 2 0/0 1 0/0 0 2",
    "120010002",
    "1,2,0,0,1,0,0,0,2",
    "1,-1,0,0,1,0,0,0,-1",
    "[1, -1, 0, 0, 1, 0, 0, 0, -1]",
    "[[1, -1, 0], [0, 1, 0], [0, 0, -1]]",
    "[[ 1. -1.  0.]\n [ 0.  1.  0.]\n [ 0.  0. -1.]]",
    '[["X", "O", null], ["", "x", ""], [null, null, "o"]]',
    "[['X', 'O', None], [' ', 'X', ' '], [None, None, 'O']]",
    "(('X', 'O', '.'), ('.', 'X', '.'), ('.', '.', 'O'))",
    "['XO.', '.X.', '..O']",
    "['X', 'O', 0, 0, 'X', 0, 0, 0, 'O']",
]
READ = {
    "tictactoe": [
        ("XO./.X./...", "XO./.X./..."),
        ("x o . . x . . . .", "XO./.X./..."),
        ("XO.\n.X.\n...", "XO./.X./..."),
        ("XXX/XOO/XOO", "XXX/XOO/XOO"),  # one move completed both lines
        ("XOX/OXO/XOX", "XOX/OXO/XOX"),
        ("XOO/OXO/XXX", "XOO/OXO/XXX"),
        *((typed, "XO./.X./..O") for typed in TICTACTOE_OTHERS),
        ("X0X/X0X/0X0", "XOX/XOX/OXO"),
        ("X0./.../...", "XO./.../..."),
        ("X00/000/000", "X../.../..."),
        ("000000000", ".../.../..."),
        ("x,x,x,x,o,o,x,o,o,positive", "XXX/XOO/XOO"),  # UCI tic-tac-toe endgame
        ("x,o,x,x,o,x,o,x,o,negative", "XOX/XOX/OXO"),
    ],
    "connect(7,6)": [
        (ONE_EACH.lower(), ONE_EACH),
        (ONE_EACH.replace("/", ""), ONE_EACH),
        (ONE_EACH.replace("/", "\n").replace(".", "_"), ONE_EACH),
        ("\n".join(" ".join(row) for row in ONE_EACH.split("/")), ONE_EACH),
        (
            "\n".join(f"|{'|'.join(row)}|" for row in ONE_EACH.split("/")).replace(".", " "),
            ONE_EACH,
        ),
    ],
    "connect(4,2)": [
        ("..../XO..\n1234", "..../XO.."),
        ("..../XO../1234", "..../XO.."),
        ("1 2 3 4\n. . . .\nX O . .", "..../XO.."),
        ("|.|.|.|.|\n|X|O|.|.|\n+-+-+-+-+\n|0|1|2|3|", "..../XO.."),
        ("0,0,0,0,1,2,0,0", "..../XO.."),
        ("....|XO..", "..../XO.."),
        ("[[0, 0, 0, 0], [1, -1, 0, 0]]", "..../XO.."),
    ],
    "vanishing": [
        (".........", ".../.../..."),
        ("A b 2\n3 C 5\n6 7 8", "Ab./.C./..."),
        ("Ab0|0C0|000", "Ab./.C./..."),
        ("A,b,,,C,,,,", "Ab./.C./..."),
        ("['A', 'b', None, None, 'C', None, None, None, None]", "Ab./.C./..."),
        ("ab./.c./...", "Ab./.C./..."),
        ("AB. .C. ...", "Ab./.C./..."),
        ("aB.\n.C.\n...", "Ab./.C./..."),
        ("A b .\n. C .\n. . .", "Ab./.C./..."),
        ("A|b| \n-+-+-\n |C| \n-+-+-\n | | ", "Ab./.C./..."),
        ("Ab.\n.C.\n...", "Ab./.C./..."),
    ],
    "morris(diagonals)": [
        (".../.../...", ".../.../... X"),
        ("X../.../...", "X../.../... O"),
        ("x........", "X../.../... O"),
        ("x . .\n. o .\n. . .", "X../.O./... X"),
        ("x . .\n. o .\n. . .\nX", "X../.O./... X"),
        ("x| | \n-+-+-\n |o| \n-+-+-\n | | ", "X../.O./... X"),
        ("XOX/OXO/... X", "XOX/OXO/... X"),
        ("XOXOXO... o", "XOX/OXO/... O"),
        ("XOX OXO ..., X", "XOX/OXO/... X"),
        ("XOX/OXO/...: X to move", "XOX/OXO/... X"),
        ("XOX/OXO/...\n\no To  Move\n", "XOX/OXO/... O"),
        ("XOX/OXO/... X moves", "XOX/OXO/... X"),
        ("XOX/OXO/...,x to play", "XOX/OXO/... X"),
        ("X O X O X O . . . O", "XOX/OXO/... O"),
        ("X . . . . . . . O", "X../.../..O X"),
        (". . X\nX . .\n. . O", "..X/X../..O O"),
        ("XO.\n.X.\n... O", "XO./.X./... O"),  # as it is drawn
        ("x,o,b,b,x,b,b,b,b", "XO./.X./... O"),
        ("x,b,b,b,b,b,b,b,o", "X../.../..O X"),
        ("x,o,b,b,x,b,b,b,b,o", "XO./.X./... O"),
        ("XO.|.X.|..., O", "XO./.X./... O"),
        ("[[1, -1, 0], [0, 1, 0], [0, 0, 0]] O", "XO./.X./... O"),
    ],
    "hexapawn(3,3)": [
        ("bbb/.../www w", "BBB/.../WWW W"),
        ("BBB...WWW, W", "BBB/.../WWW W"),
        ("BBB ... WWW white to move", "BBB/.../WWW W"),
        ("b b b\n. . w\nw w .\n\nBlack", "BBB/..W/WW. B"),
        ("|b|b|b|\n|w| | |\n| |w|w|\nblack moves", "BBB/W../.WW B"),
        ("BBB/W../.WW; black to play", "BBB/W../.WW B"),
        ("BBB|W00|0WW B", "BBB/W../.WW B"),
        ("2 2 2/1 0 0/0 1 1 B", "BBB/W../.WW B"),
        ("[['B', 'B', 'B'], ['W', None, None], [None, 'W', 'W']], black to move", "BBB/W../.WW B"),
    ],
    "nim(3,4,5)": [
        ("3,4,0", "3,4,0"),
        ("3 4 0", "3,4,0"),
        ("(3, 4, 0)", "3,4,0"),
        ("[3,4,0]", "3,4,0"),
        ("( 3 4 0 )", "3,4,0"),
        (" 3 ,4\t0\n", "3,4,0"),
        ("03,004,0", "3,4,0"),
        ("3,4,0,", "3,4,0"),
        ("3,4," + "0" * 5_000 + "5", "3,4,5"),
        ("3 |||\n4 ||||\n0", "3,4,0"),  # as it is drawn
        ("3 ||| 4 |||| 0", "3,4,0"),
        ("|||\n||||\n|||||", "3,4,5"),
        ("3,0,5", "3,0,5"),  # heaps keep their order
    ],
    "subtraction(21,1,2,3)": [
        ("17", "17"),
        (" 17\n", "17"),
        ("(17)", "17"),
        ("[17]", "17"),
        ("(17,)", "17"),
        ("0017", "17"),
        ("17 |||||||||||||||||", "17"),
    ],
    "kayles(12)": [
        ("3,1,2", "1,2,3"),  # the order of heaps is not kept
        ("(0, 3, 0, 1)", "1,3"),
        ("0", "0"),
        ("12", "12"),
        ("1 | 2 || 3 |||", "1,2,3"),
    ],
    "wythoff(5,8)": [("5 8", "5,8"), ("[0, 7]", "0,7"), ("5 |||||\n0", "5,0")],
    "chomp(4,3)": [("4 2 0", "4,2,0"), ("(1, 0, 0)", "1,0,0"), ("4 ||||/2 ||/0", "4,2,0")],
    "domineering(3,2)": [
        ("xx./... v", "XX./... V"),
        ("X X .\n. . .\n\nHorizontal to move", "XX./... H"),
        ("XX....,h", "XX./... H"),
        ("X X 2/3 4 5 H", "XX./... H"),
        ("[['X', 'X', None], [None, None, None]]; vertical moves", "XX./... V"),
    ],
    "othello(4,4)": [
        ("..../.wb./.bw./.... b", "..../.WB./.BW./.... B"),
        (".....wb..bw....., black to move", "..../.WB./.BW./.... B"),
        ("[[0,0,0,0],[0,2,1,0],[0,1,2,0],[0,0,0,0]] W", "..../.WB./.BW./.... W"),
        ("W W W W/W B B W/W B B W/W W W W White", "WWWW/WBBW/WBBW/WWWW W"),
    ],
    "dots_and_boxes(2,1)": [
        ("+-+ +\n|#|\n+-+ +\n1-0 A", "-./||./-. 1-0 A"),
        ("+---+   +\n|   |   |\n+---+   + 1:0; b to move", "-./|||/-. 1-0 B"),
        ("\u25000/110/\u25000, 0-1, B", "-./||./-. 0-1 B"),
        ("-. /.../.., a", "-./.../.. 0-0 A"),
    ],
    "kalah(2,3)": [
        ("0 3,3/3,3 0 s", "0 3,3/3,3 0 S"),
        ("0 | 3 0 |\n  | 4 4 | 1; North to move", "0 3,0/4,4 1 N"),
        ("3 0\n0 1\n4 4\nN", "0 3,0/4,4 1 N"),
        ("[[5, 1, 0], [0, 0, 6]], south", "6 0,0/0,0 6 S"),  # seeds go home where play is over
    ],
    **dict.fromkeys(ULTIMATE, ULTIMATE_READ),
}

# Texts that are not positions, each with the error and its message; "…" stands for any text.
NINE_CELLS = "tictactoe has 9 cells, 3 rows of 3, such as .../.../..."
TICTACTOE_WRONG_SIZE = {
    "": "has no cells",
    "/": "has no cells",
    "\n\n\n": "has no cells",
    "+---+": "has no cells",
    "X": "has 1 cell",
    "XO": "has 2 cells",
    "XO..X...": "has 8 cells",
    "XO..X.....": "has 10 cells",
    "X . O . X": "has 5 cells",
    "XO./.X.": "has 2 rows",
    "XO./.X./.../...": "has 4 rows",
    "XO./.X../..": "has 4 cells in row 2",
    "XO/.X./...": "has 2 cells in row 1",
    "XO/ X/": "has 2 rows",  # only an editor takes spaces away, and it keeps newlines
    "XOX\nOX\nXO": "has 2 cells in row 2",  # a mark forgotten, or a space lost?
    "X O\n  X\n\n": "has 2 rows",  # X.O/..X/... or XO./.X./...?
    "X .\n. O\n. .": "has 2 cells in row 1",
    "X|O|.": "has 3 cells",
    "X|O|.\n.|X|.": "has 2 rows",
    "X|O\n.|X\n.|.": "has 2 cells in row 1",
    "X|O|.|.\n.|X|.|.\n.|.|.|.": "has 4 cells in row 1",
    "X|O|.\nXXX\n.|X|.\n.|.|.": "does not show clearly which cells are meant",
    "X|O|.\n.|XX|.\n.|.|.": "does not show clearly which cells are meant",
    "X..|.O.|..": "has 2 cells in row 3",
    "X..-.O.-..": "has 2 cells in row 3",
    "X..|.O.": "has 2 rows",
    "X,O,.,.": "has 4 cells",
    "[[1, 0, 0], [0, 0]]": "has 2 rows",
    "XO-\n---\n-X-\n---\n--O": "has 5 rows",
    "X|.|.\n.|O|.\n.|.|.\n.|.|.\n.|.|.\n.|.|.": "has 6 rows",
    "X| | \n | | \n |O| \n | | \n | | \n | |X": "has 6 rows",
}
TICTACTOE_WRONG_CHARACTER = {
    "XO?/.X./...": "'?'",
    "XO0/.X./...": "'0'",
    "XO.\0X....": r"'\x00'",
    "XO./.X./..é": "'é'",
    "XO.+X....": "'+'",
    "XO./.=./...": "'='",
    "X|O|+\n.|X|.\n.|.|.": "'+'",
    "ß": "'ß'",
    "X,O,Z,,,,,,": "'Z'",
    "X1./7X./...": "'1'",
    "[['X', 'Q', None], [0, 0, 0], [0, 0, 0]]": "'Q'",
    "XO.\ud800X....": r"'\ud800'",
    "XO.\u2028.X.\u2028...": r"'\u2028'",
    "\u2573O./.X./...": "'\u2573'",  # of the box drawing characters the diagonal cross
}
X_O_AND_DOT = "write X, O and . for empty"
TICTACTOE_WRONG_COUNTS = [
    ("X../X../...", 2, 0),
    ("XXXXXXXXX", 9, 0),
]
X_BEGINS = "X begins and turns alternate, so X has as many as O or one more"
TWO_LINES = "has lines without a common cell, so play continued after the first line"
ULTIMATE_REFUSED = [
    ("", TurnMissingError, "'' does not end in the active field, 0 to 8 or any, and the side…"),
    (". . . . . . . . . any", TurnMissingError, "…does not end in the active field…"),
    (". . . . . . . . . X", TurnMissingError, "…does not end in the active field…"),
    (". . . . . . . . any X", WrongSizeError, "…has 8 fields; write nine fields with spaces…"),
    (".......... . . . . . . . . any X", WrongSizeError, "field 0 is '..........'; write its…"),
    ("XO . . . . . . . . any X", WrongSizeError, "field 0 is 'XO'; write its nine spots…"),
    ("." * 81 + " any X", WrongSizeError, "…has 1 field; write nine…"),
    (
        "/".join(EMPTY_ROWS) + " any X",
        WrongSizeError,
        "…is ambiguous: a / may separate rows or fields…",
    ),
    ("\n".join(EMPTY_ROWS[:8]) + "\nany X", WrongSizeError, "…has 8 rows of spots; there…"),
    ("\n".join([*EMPTY_ROWS[:8], "....", "any X"]), WrongSizeError, "…has 4 spots in row 9…"),
    ("Z........ . . . . . . . . any X", UnknownCharacterError, "'Z' is not a spot of ultimate(…"),
    (". . . . . . . . . 9 X", ActiveFieldError, "there is no field 9; the active field is 0 to…"),
    (". . . . . . . . . 4 X", ActiveFieldError, "the first move is free, so the active…"),
    ("X........ . . . . . . . . any O", ActiveFieldError, "every field can be played in, so…"),
    (
        "X........ . . . . . . . . 4 O",
        ActiveFieldError,
        "X moved last, but has no mark on spot 4 of any field to lead there",
    ),
    ("X........ . . . . . . . . 0 X", ImpossibleCountsError, "X has 1 more marks than O;…"),
    ("X........ . . . . . . . . 0 O X", TurnMissingError, "…does not end in the active field…"),
    (
        "\n".join(["..X......", *EMPTY_ROWS[:7], "......O..", "any field, X to move"]),
        ActiveFieldError,
        "every field can be played in, so the last move led to one of them; write its number",
    ),
    ("XX....... . . . . . . . . 0 O", ImpossibleCountsError, "X has 2 more marks than O;…"),
    ("= . . . . . . . . any X", ImpossibleCountsError, "X has -1 or 1 more marks than O…"),
    ("X X X O O O . . . any X", BothSidesWonError, "X and O both have three fields in a line…"),
    ("X X X . . O O . . any X", PlayAfterWinError, "X has three fields in a line, yet O…"),
    ("XXXOOO... . . . . . . . . any X", BothSidesWonError, "in field 0 both X and O have…"),
    ("x" * 2_000, WrongSizeError, "…is 2,000 characters long…"),
    ("0" * 50, PositionError, "the record '0000…"),
]
REFUSED = {
    "othello(4,4)": [
        ("", WrongSizeError, "'' has no cells; othello(4,4) has 16 cells, 4 rows of 4…"),
        ("..../.WB./.BW./....", TurnMissingError, "a board of othello(4,4) does not show whose…"),
        ("..../..B./.BW./.... B", UnreachableError, "…has an empty cell at the centre of the…"),
        ("..../.XB./.BW./.... B", UnknownCharacterError, "'X' is not a cell of othello(4,4);…"),
    ],
    "dots_and_boxes(2,1)": [
        ("", TurnMissingError, "'' does not show whose turn it is; write A or B after the board…"),
        ("../.../..", TurnMissingError, "…whose turn it is; write A or B after the board, as in…"),
        ("../../.. A", WrongSizeError, "…is not a board of dots_and_boxes(2,1); write rows of 2…"),
        ("+-+\n| |\n+-+ 0-0 A", WrongSizeError, "…is not a board of dots_and_boxes(2,1); write…"),
        ("+-+-+-+ 0-0 A", WrongSizeError, "…is not a board of dots_and_boxes(2,1); write rows…"),
        ("x./.../.. A", UnknownCharacterError, "'x' is not a line of dots_and_boxes(2,1); write…"),
        ("-./||./-. B", ImpossibleCountsError, "…has 1 closed box; write how many each player…"),
        ("../.../.. 1-0 A", ImpossibleCountsError, "…has 0 closed boxes; write how many each…"),
        ("-" * 10_000 + " A", WrongSizeError, "…is not a board of dots_and_boxes(2,1); write…"),
    ],
    "kalah(2,3)": [
        ("0 3,3/3,3 0", TurnMissingError, "…whose turn it is; write S or N after the board, as…"),
        ("0 3,3/3,3 S", WrongSizeError, "…has 5 numbers; kalah(2,3) has 4 pits and 2 stores, as…"),
        ("0 3,3/3,4 0 S", ImpossibleCountsError, "…has 13 seeds; kalah(2,3) has 12"),
        ("0 3,3/3,-3 0 S", UnknownCharacterError, "'-' is not allowed in a position of kalah(2…"),
        ("9" * 9_000 + " 3,3/3,3 0 S", ImpossibleCountsError, "…has 10,000,000,012 seeds;…"),
    ],
    "kayles(12)": [
        ("", WrongSizeError, "'' is not a position of kayles(12); write heaps of 0 to 12 tokens…"),
        ("1,,2", WrongSizeError, "'1,,2' is not a position of kayles(12); write heaps…"),
        ("7,6", WrongSizeError, "'7,6' is not a position of kayles(12); write heaps of 0 to 12…"),
        ("9" * 5_000, WrongSizeError, "'999…"),
        ("1,x", UnknownCharacterError, "'x' is not allowed in a position of kayles(12); write…"),
    ],
    "wythoff(5,8)": [("6,8", HeapTooHighError, "heap 1 has 6, but wythoff(5,8) starts it with 5")],
    "chomp(4,3)": [
        ("4,2", WrongSizeError, "'4,2' has 2 heaps and chomp(4,3) has 3;…"),
        ("5,2,0", HeapTooHighError, "heap 1 has 5, but chomp(4,3) starts it with 4"),
        ("2,3,0", UnreachableError, "2,3,0 is not a position of chomp(4,3): the top row has 1…"),
        ("0,0,0", UnreachableError, "0,0,0 is not a position of chomp(4,3): the top row has 1…"),
    ],
    "domineering(3,2)": [
        ("", TurnMissingError, "'' does not show whose turn it is; write V or H after the board…"),
        (".../...", TurnMissingError, "…whose turn it is; write V or H after the board, as in…"),
        ("X../... V", ImpossibleCountsError, "1 covered cells are impossible: a domino covers…"),
        ("XX./.. V", WrongSizeError, "'XX./..' has 2 cells in row 2; domineering(3,2) has 6…"),
        ("XO./... V", UnknownCharacterError, "'O' is not a cell of domineering(3,2); write X and…"),
    ],
    "tictactoe": [
        *(
            (typed, WrongSizeError, f"{typed!r} {fault}; {NINE_CELLS}")
            for typed, fault in TICTACTOE_WRONG_SIZE.items()
        ),
        *(
            (typed, UnknownCharacterError, f"{it} is not a cell of tictactoe; {X_O_AND_DOT}")
            for typed, it in TICTACTOE_WRONG_CHARACTER.items()
        ),
        *(
            (typed, ImpossibleCountsError, f"{x} X and {o} O are impossible: {X_BEGINS}")
            for typed, x, o in TICTACTOE_WRONG_COUNTS
        ),
        ("XXX/OOO/...", BothSidesWonError, "X and O both have a line; the first one ends the game"),
        ("XO./XO./XO.", BothSidesWonError, "X and O both have a line; the first one ends the game"),
        ("XXX/OOO/X..", BothSidesWonError, "X and O both have a line; the first one ends the game"),
        ("XXX/XXX/OOO", ImpossibleCountsError, "6 X and 3 O are impossible…"),  # lines come later
        ("XXX/OO./O..", PlayAfterWinError, "X has a line, yet O played on after it; if O began…"),
        (
            "O../.../...",
            ImpossibleCountsError,
            "…one more; if O began, swap the marks: X../.../...",
        ),
        (
            "XOO/.../...",
            ImpossibleCountsError,
            "…one more; if O began, swap the marks: OXX/.../...",
        ),
        ("OOO/XX./XX.", PlayAfterWinError, "O has a line, yet X played on after it"),
    ],
    "mnk(4,4,4)": [  # both diagonals
        ("XOOX/OXXO/OXXO/XO.X", PlayAfterWinError, f"X {TWO_LINES}")
    ],
    "mnk(4,4,3)": [
        ("XXX./OO../XXX./OO.O", PlayAfterWinError, f"X {TWO_LINES}"),
        ("OOO./XX.X/OOO./XX.X", PlayAfterWinError, f"O {TWO_LINES}"),
    ],
    "hexapawn(3,3)": [
        ("", WrongSizeError, "'' has no cells; hexapawn(3,3) has 9 cells, 3 rows of 3…"),
        ("BBB/.../WW W", WrongSizeError, "'BBB/.../WW' has 2 cells in row 3;…"),
        ("BBB/.../XXX W", UnknownCharacterError, "'X' is not a cell of hexapawn(3,3); write W, B…"),
        ("BBB/.../WWW X", UnknownCharacterError, "'X' is not a cell of hexapawn(3,3); write W, B…"),
        ("BBB/.../WWW", TurnMissingError, "a board of hexapawn(3,3) does not show whose turn it…"),
        (
            "BBB/W../WWW B",
            ImpossibleCountsError,
            "4 white and 3 black pawns are impossible: each side…",
        ),
        (
            "BB./WBB/.WW W",
            ImpossibleCountsError,
            "3 white and 4 black pawns are impossible: each side…",
        ),
        ("B.W/.../WB. W", BothSidesWonError, "both sides have reached the far side; the first…"),
        ("W.B/B../.W. W", PlayAfterWinError, "white had reached the far side, yet play continued"),
        ("W.W/B../... B", PlayAfterWinError, "white had reached the far side, yet play continued"),
        ("B../.W./B.. B", PlayAfterWinError, "black had reached the far side, yet play continued"),
        ("B../.../B.B W", PlayAfterWinError, "black had reached the far side, yet play continued"),
        (
            "BBB/.../WWW B",
            UnreachableError,
            "black cannot be to move: no sequence of moves leads…",
        ),
        (
            "B.B/.B./WWW B",
            UnreachableError,
            "black cannot be to move: no sequence of moves leads…",
        ),
    ],
    "morris(diagonals)": [
        ("", WrongSizeError, "'' has no cells; morris(diagonals) has 9 cells, 3 rows of 3…"),
        ("XO", WrongSizeError, "'XO' has 2 cells;…"),
        ("X O", WrongSizeError, "'X' has 1 cell;…"),
        ("XO./.X./.., O", WrongSizeError, "'XO./.X./..' has 2 cells in row 3;…"),
        ("XO./.X./. O", WrongSizeError, "'XO./.X./.' has 1 cell in row 3;…"),
        ("XO./.X./.Z. O", UnknownCharacterError, "'Z' is not a cell of morris(diagonals); write…"),
        ("XO./.X./... Z", UnknownCharacterError, "'Z' is not a cell…"),
        ("XOX/OXO/...", TurnMissingError, "all six men are placed, so the board does not show…"),
        (
            "X../.../... X",
            ImpossibleCountsError,
            "1 X and 0 O are impossible with X to move: X begins…",
        ),
        ("XX./.../...", ImpossibleCountsError, "2 X and 0 O are impossible: X begins and turns…"),
        ("XXX/XOO/OO. X", ImpossibleCountsError, "4 X and 4 O are impossible with X to move…"),
        ("XXX/XOO/O..", ImpossibleCountsError, "4 X and 3 O are impossible:…"),
        ("XXX/OOO/... X", BothSidesWonError, "X and O both have a line; the first one ends…"),
        ("XXX/OO./..O X", PlayAfterWinError, "X has a line, yet O played on after it"),
        ("OOO/XX./..X O", PlayAfterWinError, "O has a line, yet X played on after it"),
        ("XOX\nO O\nX X", WrongSizeError, "…may end in a man or in the side to move; write a dot…"),
        ("x" * 20_000, WrongSizeError, "'xxxxxx…"),
    ],
    "connect(4,4)": [
        ("", WrongSizeError, "'' has no cells; connect(4,4) has 16 cells, 4 rows of 4…"),
        ("..../..../....", WrongSizeError, "…has 3 rows…"),
        ("..../..../..../.....", WrongSizeError, "…has 5 cells in row 4…"),
        ("." * 20_000, WrongSizeError, "…is 20,000 characters long…"),
        ("..../..../..../Z...", UnknownCharacterError, "'Z' is not a cell of connect(4,4); write…"),
        ("..../..../..../XX..", ImpossibleCountsError, "2 X and 0 O are impossible: X begins and…"),
        ("..../..../..../O...", ImpossibleCountsError, "0 X and 1 O are impossible: X begins and…"),
        ("..../..../..../OXXX", ImpossibleCountsError, "3 X and 1 O are impossible: X begins and…"),
        ("..../..../X.../O...", ImpossibleCountsError, "with 1 X and 1 O, O moved last, but…"),
        ("..../..X./..../....", FloatingStoneError, "a stone floats in column 3…"),
        ("..../...O/..../X...", FloatingStoneError, "a stone floats in column 4…"),
        ("XO../..../..../....", FloatingStoneError, "a stone floats in column 1…"),
        ("..../..../OOOO/XXXX", BothSidesWonError, "X and O both have a line; the first one ends…"),
        ("X.../XXXX/OOOO/OXOX", BothSidesWonError, "X and O both have a line; the first one ends…"),
        ("..../..O./OOO./XXXX", PlayAfterWinError, "X has a line, yet O played on after it; if…"),
        ("X.../OOOO/XOXX/OXXX", PlayAfterWinError, "O has a line, yet X played on after it"),
        ("..../O.../OXOO/XXXX", PlayAfterWinError, "X has a line, but no X on top of a…"),
    ],
    "vanishing": [
        ("", WrongSizeError, "'' has no cells; vanishing has 9 cells, 3 rows of 3, such as…"),
        ("Ab./.C./..", WrongSizeError, "…has 2 cells in row 3…"),
        ("." * 20_000, WrongSizeError, "…is 20,000 characters long…"),
        ("XO./.X./...", UnknownCharacterError, "'X' is not a cell of vanishing; write A, B, C, D…"),
        ("AbC/dEf/g..", UnknownCharacterError, "'g' is not a cell of vanishing; write A, B, C, D…"),
        ("Ab./.b./...", MarkOrderError, "the marks A B B do not give an order: use each letter…"),
        ("Ab./.D./...", MarkOrderError, "the marks A B D do not give an order: use each letter…"),
        ("b../.../...", MarkOrderError, "the marks B do not give an order: use each letter…"),
        ("ACE/bdf/...", BothSidesWonError, "both players have a line; the first one ends the game"),
        ("ACE/b../d.f", PlayAfterWinError, "A C E are a line, yet F was played after it"),
    ],
    "nim(3,4,5)": [
        ("", WrongSizeError, "'' has no heaps and nim(3,4,5) has 3; write each, 0 if it is empty…"),
        ("()", WrongSizeError, "'()' has no heaps…"),
        ("3", WrongSizeError, "'3' has 1 heap and nim(3,4,5) has 3…"),
        ("3,4", WrongSizeError, "'3,4' has 2 heaps and…"),
        ("3,,5", WrongSizeError, "'3,,5' has 2 heaps…"),
        (",3,4,5", WrongSizeError, "',3,4,5' has 3 heaps…"),
        ("3,4,5,6", WrongSizeError, "'3,4,5,6' has 4 heaps…"),
        ("3,4,x", UnknownCharacterError, "'x' is not allowed in a position of nim(3,4,5); write…"),
        ("3,4,-1", UnknownCharacterError, "'-' is not allowed…"),
        ("3,4,5.0", UnknownCharacterError, "'.' is not allowed…"),
        ("3,4,٣", UnknownCharacterError, "'٣' is not allowed…"),
        ("(3,4,5", UnknownCharacterError, "'(' is not allowed…"),
        ("3,4,6", HeapTooHighError, "heap 3 has 6, but nim(3,4,5) starts it with 5"),
        ("5,4,3", HeapTooHighError, "heap 1 has 5, but nim(3,4,5) starts it with 3; write 3,4,5"),
        ("3,4," + "9" * 5_000, HeapTooHighError, "heap 3 has 9999…"),
    ],
    "subtraction(21,1,2,3)": [
        ("", WrongSizeError, "'' has no heaps and subtraction(21,1,2,3) has 1; write each, 0 if…"),
        ("3 4", WrongSizeError, "'3 4' has 2 heaps and…"),
        ("x", UnknownCharacterError, "'x' is not allowed in a position of subtraction(21,1,2,3)…"),
        ("-1", UnknownCharacterError, "'-' is not allowed…"),
        ("22", HeapTooHighError, "heap 1 has 22, but subtraction(21,1,2,3) starts it with 21"),
    ],
    **dict.fromkeys(ULTIMATE, ULTIMATE_REFUSED),
}

# Texts of positions, and how a game draws them.
DRAWN = [
    ("tictactoe", "XO./.X./...", "XO.\n.X.\n..."),
    ("connect(4,2)", "..../XO..", "....\nXO..\n1234"),
    ("connect(12,1)", "............", "............\n123456789012"),
    ("vanishing", "Ab./.C./...", "Ab.\n.C.\n..."),
    ("morris(diagonals)", "XO./.X./... O", "XO.\n.X.\n... O"),
    ("hexapawn(3,3)", "BBB/W../.WW B", "BBB\nW..\n.WW B"),
    ("othello(4,4)", "..../.WB./.BW./.... B", "....\n.WB.\n.BW.\n.... B"),
    ("dots_and_boxes(2,1)", "-./||./-. 0-1 B", "+-+ +\n|#|  \n+-+ +\n0-1 B"),
    ("kalah(2,3)", "0 3,0/4,4 1 N", " 0 |  3  0 |\n   |  4  4 |  1 N"),
    ("nim(3,4,5)", "3,0,5", "3 |||\n0\n5 |||||"),
    ("nim(2,100)", "0,100", "  0\n100 " + 60 * "|"),
    ("subtraction(21,1,2,3)", "5", "5 |||||"),
    ("subtraction(21,1,2,3)", "0", "0"),
]
