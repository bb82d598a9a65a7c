"""`check` and `verify` find wrong symmetries; `check` finds rules that break any other law."""

import json
import random
import time
from itertools import count, permutations, repeat
from pathlib import Path

import dodgem
import pytest
from conftest import SLOW, check_all, for_all, graphstore, some_of

from graphstore import PlainGame, Store, build, explore, find_game, verify
from graphstore.checks.file import verifier
from graphstore.checks.laws import check_rules
from graphstore.errors import GraphstoreError
from graphstore.games import FAMILIES


class Heap(PlainGame):
    """Take one or two of seven; taking the last wins."""

    def start(self):
        return 7

    def moves(self, heap):
        return [take for take in (1, 2) if take <= heap]

    def play(self, heap, take):
        return heap - take

    def outcome(self, heap):
        return None if heap else -1


class Row(PlainGame):
    """X and O fill a row of four cells; two neighbours win."""

    def start(self):
        return "...."

    def moves(self, row):
        return [cell for cell, mark in enumerate(row) if mark == "."]

    def play(self, row, cell):
        return row[:cell] + "XO"[(4 - row.count(".")) % 2] + row[cell + 1 :]

    def outcome(self, row):
        if "XX" in row or "OO" in row:
            return -1
        return None if "." in row else 0

    def symmetries(self, row):
        return [row[::-1]]


def with_symmetries(kind, images):
    return type("Wrong", (kind,), {"symmetries": lambda _, position: images(position)})()


WRONG = [
    (Heap, lambda n: [2, 3] if n in (2, 3) else [n]),
    (Heap, lambda n: [n, n + 1]),
    (Heap, lambda n: [n - 1]),
    (Heap, lambda n: [3] if n == 2 else [n]),
    (Heap, lambda n: [2] if n == 3 else [n]),
    (Heap, count),
    (Heap, repeat),
    (Heap, lambda _: None),
    (Heap, lambda n: [1 // (n - 3)]),
    (Heap, lambda n: [str(n)]),
    (Heap, lambda n: [[n]]),
    (Heap, lambda _: range(8)),
    (Heap, lambda n: range(2 - n % 2, 8, 2) if n else [0]),
    (Heap, lambda n: [n % 100, n % 100 + 100]),
    (Heap, lambda n: [0, 100] if n in (0, 100) else [n]),
    (Heap, lambda n: [random.randrange(8), n]),
    (Row, lambda row: [row[1:] + row[:1]]),
    (Row, lambda row: [row[cell:] + row[:cell] for cell in range(4)]),
    (Row, lambda row: [row.translate(str.maketrans("XO", "OX"))]),
    (Row, lambda row: row[::-1]),
    (Row, lambda row: ["".join(sorted(row))]),
    (Row, lambda row: ["".join(each) for each in permutations(row)]),
    (Row, lambda row: [row[1] + row[0] + row[2:]]),
    (Row, lambda row: [row[::-1]] if row.count(".") > 2 else []),
    (Row, lambda row: [row[::-1]] if row[0] == row[-1] else []),
]


@for_all(("kind", "images"), WRONG)
def test_wrong_symmetries_are_found_in_rules_and_in_what_they_build(tmp_path, kind, images):
    rules = with_symmetries(kind, images)
    found = check_rules(rules)
    assert found.breaches
    assert all("\n" not in str(breach) for breach in found.breaches)
    path = tmp_path / "wrong.db"
    try:
        build(rules, path, force=True)
        with Store.open(path, rules=with_symmetries(kind, images)) as store:
            verdicts = verify(store), verify(store, sample=1000)
    except GraphstoreError:  # where the image that is stored has other symmetries
        return
    for each in verdicts:
        wrong = [problem for problem in each.problems if problem.column == "rules"]
        assert wrong
        assert all("keep the law" in problem.expected for problem in wrong)


def test_a_state_with_several_images_that_name_it_is_blamed_on_canonical():
    kind = type("Wrong", (Row,), {"canonical": lambda _, row: row})
    assert "canonical() gives" in check_rules(kind()).breaches[0].detail


@pytest.mark.parametrize("name", ["tictactoe", "vanishing", "nim(2,2,12)", "morris(flying)"])
def test_right_symmetries_keep_the_laws_and_verify_says_where_it_looked(
    tmp_path, monkeypatch, name
):
    monkeypatch.setattr(verifier, "SYMMETRIC", 50)
    path = tmp_path / "right.db"
    states = build(name, path).states
    with Store.open(path) as store:
        verdict = verify(store)
    assert verdict.ok
    tried = len(range(0, states, -(-states // 50)))
    assert verdict.checked[-1] == f"symmetries of the rules at {tried} states"


@for_all("rules", [Heap(), Row()])
def test_right_rules_keep_every_law(rules):
    assert check_rules(rules).breaches == ()


calls = count()


class RandomMoves(Heap):
    def moves(self, heap):
        return [random.randint(1, heap)]


class RandomPlay(Heap):
    def play(self, heap, take):
        return random.randrange(heap)


class EveryThird(Heap):
    def moves(self, heap):
        return [1] if next(calls) % 3 else super().moves(heap)


class MovesOnce(Heap):
    def __init__(self):
        self.asked = set()

    def moves(self, heap):
        if heap in self.asked:
            return [1]
        self.asked.add(heap)
        return super().moves(heap)


class OtherResult(MovesOnce):
    moves = Heap.moves

    def outcome(self, heap):
        first = heap not in self.asked
        self.asked.add(heap)
        return super().outcome(heap) if first or heap != 3 else 0


class Clock(Heap):
    def moves(self, heap):
        return [1] if time.perf_counter_ns() // 1000 % 2 else super().moves(heap)


class NewText(Heap):
    def text(self, heap):
        return f"{heap} {next(calls)}"

    def parse(self, text):
        return int(text.split()[0])


class OtherReading(Heap):
    def parse(self, text):
        return int(text) if next(calls) % 2 else 7 - int(text)


class RandomTurns(Heap):
    def to_move(self, heap):
        return random.choice((1, 2))


class LateSymmetry(Heap):
    def __init__(self):
        self.asked = 0

    def symmetries(self, heap):
        self.asked += 1
        return [heap] if self.asked < 20 or heap < 5 else [heap, heap + 10]


@for_all(
    "kind",
    [
        *(RandomMoves, RandomPlay, EveryThird, MovesOnce, OtherResult, Clock, NewText),
        *(OtherReading, RandomTurns, LateSymmetry),
    ],
)
def test_rules_that_answer_otherwise_when_they_are_asked_again_are_found(kind):
    repeats = [b for b in check_rules(kind()).breaches if b.law.startswith("The same position")]
    assert repeats
    assert repeats[0].position


def changed(kind, **parts):
    return type("Changed", (kind,), parts)()


BOARD = "Positions are drawn; with shape, move m fills the free cell m of the board"
NAMES = "Each move has a name, which reads back as the move"
PLIES = "No game is longer than max_plies"
TURNS = "The side to move is known at every position or at none"


def second_heap(heap, take):
    return max(heap - take, 0) or 7


ATTRIBUTES = [
    # Row fills cells 0 to 3 of one row.
    (Row, BOARD, {"shape": (2, 2)}),
    (Row, BOARD, {"picture": lambda _, row: [["x"], []]}),
    (Row, BOARD, {"shape": (4, 1)}),
    (Row, BOARD, {"shape": (1, 5)}),
    (Row, BOARD, {"shape": (1, 4), "board": lambda _, key: "XOXO"}),
    (Row, BOARD, {"shape": (1, 4), "board": lambda _, key: "...."}),
    (Row, BOARD, {"shape": (1, 4), "board": lambda _, key: ".\n.\n.\n."}),
    (
        Row,
        BOARD,
        {
            "shape": (1, 4),
            "moves": lambda _, row: [1 + cell for cell, mark in enumerate(row) if mark == "."],
            "play": lambda _, row, cell: Row.play(_, row, cell - 1),
        },
    ),
    (
        Row,
        BOARD,
        {
            "shape": (1, 4),
            "moves": lambda _, row: [3 - cell for cell, mark in enumerate(row) if mark == "."],
            "play": lambda _, row, cell: Row.play(_, row, 3 - cell),
        },
    ),
    (Heap, BOARD, {"shape": (1, 7)}),
    (Heap, "The two players have different names", {"players": ("Ann", "Ann")}),
    (Heap, "the rules must answer at every position", {"players": ("Ann",)}),
    (Heap, "the rules must answer at every position", {"shape": (0, 3)}),
    (Heap, "the rules must answer at every position", {"max_plies": 1.5}),
    (Heap, NAMES, {"write_move": lambda _, move: "take"}),
    (Heap, NAMES, {"read_move": lambda _, text: 1}),
    (
        Heap,
        NAMES,
        {"write_move": lambda _, move: "take", "read_move": lambda _, text: 1},
    ),
    (
        Heap,
        NAMES,
        {"write_move": lambda _, move: str(3 - move), "read_move": lambda _, text: int(text)},
    ),
    (
        Heap,
        NAMES,
        {"write_move": lambda _, move: f"t{move}", "read_move": lambda _, text: int(text)},
    ),
    (
        Heap,
        NAMES,
        {"write_move": lambda _, move: f"take {move}", "read_move": lambda _, text: 1},
    ),
    (
        Heap,
        NAMES,
        {"write_move": lambda _, move: "a,b"[move:], "read_move": lambda _, text: 1},
    ),
    (Heap, PLIES, {"max_plies": 0}),
    (Heap, PLIES, {"max_plies": 6}),
    (Row, PLIES, {"max_plies": 3}),
    (Heap, PLIES, {"max_plies": 10**30, "play": second_heap, "outcome": lambda _, heap: None}),
    (Heap, PLIES, {"max_plies": 6, "starts": lambda _: [1, 3, 7]}),
    (Heap, TURNS, {"to_move": lambda _, heap: 1 if heap == 7 else None}),
    (Heap, BOARD, {"board": lambda _, key: 1 // (key - 3)}),
    (Heap, "A text reads back as its position", {"text": lambda _, heap: str(heap // 2)}),
]


@for_all(("kind", "law", "parts"), ATTRIBUTES)
def test_attributes_and_optional_methods_that_do_not_fit_are_found(kind, law, parts):
    parts = {
        name: staticmethod(part) if part is second_heap else part for name, part in parts.items()
    }
    breaches = check_rules(changed(kind, **parts)).breaches
    assert law in [breach.law for breach in breaches]
    assert all("\n" not in str(breach) for breach in breaches)


FITTING = [
    (Row, {"shape": (1, 4), "max_plies": 4, "players": ("X", "O")}),
    (Heap, {"max_plies": 7}),
    (Heap, {"to_move": lambda _, heap: 1 + heap // 2 % 2}),  # moves may keep the turn
    (Heap, {"max_plies": 8, "starts": lambda _: [7, 2, 3]}),
    (Heap, {"write_move": lambda _, move: str(move), "read_move": lambda _, text: 1 // 0}),
    (
        Heap,
        {"write_move": lambda _, move: str(3 - move), "read_move": lambda _, text: 3 - int(text)},
    ),
]


@for_all(("kind", "parts"), FITTING)
def test_attributes_and_optional_methods_that_fit_keep_every_law(kind, parts):
    assert check_rules(changed(kind, **parts)).breaches == ()


def test_a_check_stops_at_its_number_also_among_starts_and_within_a_wave():
    class Heaps(Heap):
        def starts(self):
            return range(100)

    cases = [(Heaps(), 7), (Heaps(), 100), (find_game("mnk(4,4,4)"), 2), (Row(), 9)]

    def law(rules, most):
        found = check_rules(rules, max_positions=most)
        complete = isinstance(rules, Heaps) and most == 100
        assert (found.breaches, found.positions, found.complete) == ((), most, complete)

    check_all(cases, law)


# n: positions that play reaches, positions that the states stand for
DODGEM = [(2, 15, 28), (3, 1_963, 2_698)]


@for_all(("n", "reached", "orbits"), DODGEM)
def test_a_check_counts_positions_that_play_reaches_and_those_that_states_stand_for(
    n, reached, orbits
):
    found = check_rules(dodgem.Dodgem(n))
    assert found == ((), reached, True, orbits)
    assert explore(dodgem.Dodgem(n)).number_of_positions() == orbits


def test_of_a_built_in_game_play_reaches_all_positions_that_its_states_stand_for():
    def law(name):
        found = check_rules(find_game(name), max_positions=6_000)
        assert found.breaches == ()
        assert found.orbits == (found.positions if found.complete else None)

    check_all(some_of([name for family in FAMILIES for name in family.examples], 3), law)


def test_the_command_prints_both_numbers_of_positions(tmp_path):
    (tmp_path / "dodgem.py").write_text(Path(dodgem.__file__).read_text())
    words = ("check", "dodgem.py:Dodgem(2)")
    done = graphstore(*words, cwd=tmp_path)
    assert done.stdout.splitlines() == [
        "dodgem.py:Dodgem(2) keeps every law at all 15 positions",
        "its states stand for 28 positions, but play reaches only 15: not every image of a start "
        "is a start",
    ]
    wanted = {"breaches": [], "positions": 15, "complete": True, "orbits": 28}
    assert json.loads(graphstore(*words, "--json", cwd=tmp_path).stdout) == wanted


@SLOW
@pytest.mark.parametrize("name", ["mnk(4,3,3)", "connect(4,4)", "hexapawn(4,4)"])
def test_larger_games_keep_every_law(name):
    assert check_rules(find_game(name), max_positions=20_000).breaches == ()


def test_the_command_advises_to_correct_wrong_symmetries(run, tmp_path):
    path = tmp_path / "take.py"
    path.write_text(
        "from graphstore import PlainGame\n"
        "class Take(PlainGame):\n"
        "    def start(self): return 7\n"
        "    def moves(self, heap): return [take for take in (1, 2) if take <= heap]\n"
        "    def play(self, heap, take): return heap - take\n"
        "    def outcome(self, heap): return None if heap else -1\n"
        "    def symmetries(self, heap): return [2, 3] if heap in (2, 3) else [heap]\n"
    )
    assert run("build", f"{path}:Take", "--db", tmp_path / "take.db").returncode == 0
    done = run("verify", tmp_path / "take.db", "--rules", f"{path}:Take")
    assert done.returncode == 1
    assert "correct the symmetries of the rules" in done.stderr
