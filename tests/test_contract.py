"""`check` names the law that a rule set breaks, with the position."""

import pytest

from graphstore import PlainGame, find_game
from graphstore.checks.laws import check_rules


class Take(PlainGame):
    """Take one or two from a heap of six; taking the last wins. It keeps every law."""

    def start(self):
        return (6, 1)

    def moves(self, position):
        return [take for take in (1, 2) if take <= position[0]]

    def play(self, position, take):
        return (position[0] - take, 3 - position[1])

    def outcome(self, position):
        return -1 if position[0] == 0 else None

    def to_move(self, position):
        return position[1]


class NoResult(Take):
    def outcome(self, position):
        return None


class ForgetsTheSide(Take):
    def to_move(self, position):
        return position[1] if position[0] > 2 else None


class ForgetsText(Take):
    def text(self, position):
        return f"{position[0]} left"


class UnreadableText(Take):
    def text(self, position):
        return f"{position[0]}-{position[1]}"


class WrongSymmetry(Take):
    """A wrong rule: a heap of five is treated as one of six."""

    def to_move(self, position):
        return None

    def symmetries(self, position):
        heap, player = position
        return [({5: 6, 6: 5}.get(heap, heap), player)]


class EndsDiffer(Take):
    def symmetries(self, position):
        heap, player = position
        return [({0: 1, 1: 0}.get(heap, heap), player)]


class ChangesItsMind(Take):
    def __init__(self):
        self.asked = 0

    def moves(self, position):
        self.asked += 1
        return [1] if self.asked % 2 else [take for take in (1, 2) if take <= position[0]]


class Raises(Take):
    def play(self, position, take):
        return {6: (5, 2)}[position[0]]


BREACHES = [
    (NoResult, "A position without a result has a move", "(0, "),
    (ForgetsTheSide, "The side to move is known at every position or at none", "("),
    (ForgetsText, "the rules must answer at every position", ""),
    (UnreadableText, "A text reads back as its position", "5-2"),
    (WrongSymmetry, "Images under the symmetries have one value", "("),
    (EndsDiffer, "A position and its canonical image have one result and one side to move", "("),
    (ChangesItsMind, "The same position gives the same answers", ""),
    (Raises, "the rules must answer at every position", ""),
]


def test_rules_that_keep_every_law_pass_and_all_positions_are_checked() -> None:
    found = check_rules(Take())
    assert found.breaches == ()
    assert found.complete
    assert found.positions == 12


@pytest.mark.parametrize("name", ["tictactoe", "mnk(3,3,3,misere)", "mnk(3,2,2)"])
def test_built_in_games_keep_every_law(name: str) -> None:
    found = check_rules(find_game(name))
    assert found.breaches == ()
    assert found.complete


@pytest.mark.parametrize(("rules", "law", "where"), BREACHES, ids=lambda part: str(part)[:30])
def test_a_broken_law_is_named_with_its_position(
    rules: type[PlainGame], law: str, where: str
) -> None:
    found = check_rules(rules())
    assert law in [breach.law for breach in found.breaches]
    breach = next(breach for breach in found.breaches if breach.law == law)
    assert breach.position.startswith(where)
    assert "\n" not in str(breach)
    assert str(breach).startswith(f"broken law: {law}; ")


def test_the_check_stops_at_its_limit() -> None:
    found = check_rules(find_game("mnk(4,4,4)"), max_positions=2_000)
    assert found.breaches == ()
    assert not found.complete
    assert found.positions < 20_000
