"""`check` and `verify` find wrong symmetries, and `check` rules whose answers change."""

import random
import time
from itertools import count, permutations, repeat

import pytest
from conftest import SLOW, for_all

from graphstore import PlainGame, Store, build, find_game, verify
from graphstore.checks.file import verifier
from graphstore.checks.laws import check_rules
from graphstore.errors import GraphstoreError


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


@SLOW
@pytest.mark.parametrize("name", ["mnk(4,3,3)", "connect(4,4)", "hexapawn(4,4)"])
def test_larger_games_keep_every_law(name):
    assert check_rules(find_game(name), max_positions=20_000).breaches == ()
