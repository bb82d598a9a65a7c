"""Three men's morris has the moves, results and values of simple rules and of the oracle."""

from itertools import product

import numpy as np
import pytest
from conftest import for_all
from hypothesis import given
from hypothesis import strategies as st
from oracles import answers, as_documented, documented, expected, played, reached, rows

from graphstore import explore, find_game, solve
from graphstore.games.morris import PASS, STUCK, VARIANTS, morris
from graphstore.games.sided import UnreachableError
from graphstore.rules.game import DRAW, IN_PLAY, LOSS, WIN

GAME = morris("diagonals")
OPTIONS = [
    (variant, stuck, *lines)
    for variant, stuck, lines in product(VARIANTS, STUCK, ((), ("straight",)))
]
GAMES = {options: morris(*options) for options in OPTIONS}
ROW_OF = {"diagonals": "three men's morris, orthogonal+board", "flying": "nine holes"}


def neighbours(variant, cell):
    """Return the cells where a man may go, listed by hand."""
    rook = {0: "13", 1: "024", 2: "15", 3: "046", 4: "1357", 5: "248", 6: "37", 7: "468", 8: "57"}
    bishop = {0: "4", 1: "35", 2: "4", 3: "17", 4: "0268", 5: "17", 6: "4", 7: "35", 8: "4"}
    drawn = bishop | dict.fromkeys((1, 3, 5, 7), "")
    cells = {
        "orthogonal": rook[cell],
        "diagonals": rook[cell] + drawn[cell],
        "king": rook[cell] + bishop[cell],
        "flying": "012345678".replace(str(cell), ""),
    }
    return {int(each) for each in cells[variant]}


class Plain:
    """The rules again, on strings, for one position at a time."""

    def __init__(self, variant, stuck="loss", *lines):
        self.variant, self.stuck = variant, stuck
        self.lines = ["012", "345", "678", "036", "147", "258"]
        self.lines += [] if lines else ["048", "246"]

    def steps(self, state):
        """Return the moves, each with the position after it; none if the game is over."""
        cells, mover = state
        last = "O" if mover == "X" else "X"
        if self.won(cells, last):
            return []
        if cells.count(mover) < 3:
            moves = [(c, {c: mover}) for c in range(9) if cells[c] == "."]
        else:
            moves = [
                (9 + 9 * a + b, {a: ".", b: mover})
                for a in range(9)
                for b in sorted(neighbours(self.variant, a))
                if cells[a] == mover and cells[b] == "."
            ]
            if not moves and self.stuck == "pass":
                moves = [(90, {})]
        return [
            (move, ("".join(change.get(c, cells[c]) for c in range(9)), last))
            for move, change in moves
        ]

    def won(self, cells, mark):
        """Return whether a side has a line."""
        return any(all(cells[int(c)] == mark for c in line) for line in self.lines)

    def outcome(self, state):
        """Return the result for the player to move."""
        cells, mover = state
        if self.won(cells, "O" if mover == "X" else "X"):
            return LOSS
        if not self.steps(state):
            return {"loss": LOSS, "draw": DRAW}[self.stuck]
        return IN_PLAY


def text(state):
    """Return the text of a plain state."""
    cells, mover = state
    return f"{cells[:3]}/{cells[3:6]}/{cells[6:]} {mover}"


def check(game, plain, state):
    """Compare all that the two rules say about one position."""
    position = np.array([game.read(text(state))])
    assert game.texts(position) == [text(state)]
    assert game.turns(position) == [1 if state[1] == "X" else 2]
    assert game.outcomes(position) == [plain.outcome(state)]
    steps = plain.steps(state)
    if steps:
        moves = game.expand(position)
        assert moves.move.tolist() == [move for move, _ in steps]
        assert game.texts(moves.child) == [text(child) for _, child in steps]


@pytest.mark.parametrize("variant", ROW_OF)
def test_counts_and_values_are_the_oracles(variant):
    table = rows(ROW_OF[variant])
    assert [row["sym"] for row in table] == [0, 1]
    for row in table:
        assert answers(morris(variant), positions=row["sym"] == 0) == expected(row)


@for_all("game", GAMES.values())
def test_boards_that_can_be_read_are_those_that_play_reaches(game):
    x, o = np.meshgrid(*2 * [np.arange(2**9, dtype=np.int64)])
    x, o = x[(x & o) == 0], o[(x & o) == 0]
    boards = np.concatenate([game.symmetry.join(x, o, np.full(len(x), t)) for t in (1, 2)])
    assert np.array_equal(np.sort(boards[game.faults(boards) == 0]), reached(game))


@given(st.sampled_from(OPTIONS), st.lists(st.integers(0, 10**6), min_size=5, max_size=20))
def test_moves_and_results_are_those_of_the_plain_rules(options, choices):
    game, plain = GAMES[options], Plain(*options)
    for state in played(("." * 9, "X"), plain.steps, choices)[-3:]:
        check(game, plain, state)


@pytest.mark.parametrize("variant", ["orthogonal", "diagonals"])
def test_a_player_is_stuck_only_without_diagonal_lines(variant):
    for lines, stuck in ((), 0), (("straight",), 8):
        graph = explore(morris(variant, "draw", *lines))
        ties = graph.states.outcome == DRAW
        assert graph.states.orbit[ties].sum() == stuck


STUCK_BOARD = "XXO/XO./O.. X"  # O's diagonal is not a line


def test_a_player_who_is_stuck_has_lost_or_drawn_or_passes():
    outcomes = []
    for stuck in STUCK:
        game = morris("orthogonal", stuck, "straight")
        position = np.array([game.read(STUCK_BOARD)])
        outcomes.append(game.outcomes(position)[0])
        if stuck == "pass":
            assert game.expand(position).move.tolist() == [PASS] == [90]
            assert game.texts(game.expand(position).child) == ["XXO/XO./O.. O"]
    assert outcomes == [LOSS, DRAW, IN_PLAY]


@pytest.mark.parametrize(
    ("game", "board", "outcome"),
    [
        (GAME, ".../.../... X", IN_PLAY),
        (GAME, "XXX/OO./... O", LOSS),
        (GAME, "X.O/.XO/..X O", LOSS),
        (morris("diagonals", "straight"), "X.O/.XO/..X O", IN_PLAY),
        (GAME, "XXO/XO./O.. X", LOSS),
        (GAME, "XOX/OXO/... X", IN_PLAY),
    ],
)
def test_a_line_wins_while_men_are_placed_and_after(game, board, outcome):
    assert game.outcomes(game.read_many([board])) == [outcome]


def test_a_man_is_placed_and_then_moved():
    placed, moved = GAME.read_many(["XO./.X./O.. X", "X../OXO/.XO X"])
    moves = GAME.expand(np.array([placed, moved]))
    first, then = (moves.move[moves.parent == at].tolist() for at in (0, 1))
    assert first == [2, 3, 5, 7, 8]
    assert then == [9 + 9 * 0 + 1, 9 + 9 * 4 + 1, 9 + 9 * 4 + 2, 9 + 9 * 4 + 6, 9 + 9 * 7 + 6]
    assert GAME.texts(moves.child)[5:7] == [".X./OXO/.XO O", "XX./O.O/.XO O"]


def test_the_side_to_move_is_above_the_masks():
    assert GAME.read("X../.../... O") == 1 << 18 | 0b100000000 << 9
    assert GAME.read("X../..O/... X") == 0b100000000 << 9 | 0b1000


def test_the_best_of_the_variants():
    values = {}
    for variant in VARIANTS:
        solution = solve(graph := explore(morris(variant)))
        values[variant] = (
            solution.at(graph.row(0))["value"],
            solution.at(graph.row(0))["remoteness"],
        )
    assert values["diagonals"] == (WIN, 9)  # the oracle's, as is the next
    assert values["flying"] == (DRAW, None)


def test_men_who_cannot_have_come_from_anywhere_are_refused():
    with pytest.raises(UnreachableError, match=r"^X cannot have moved last: no man"):
        morris("orthogonal", "straight").read(STUCK_BOARD.replace(" X", " O"))


def test_the_documents_tables_are_right():
    table = documented("morris")
    assert len(table) == 5
    for name, row in table.items():
        assert as_documented(find_game(name)) == row
