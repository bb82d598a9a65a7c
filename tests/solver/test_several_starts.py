"""A game with several starts works end to end: all positions of a chess ending.

King and rook against king on a board of four by four; White, with the rook, wins by mate. Black
may take the rook, which draws, and stalemate draws.
"""

from itertools import permutations, product
from pathlib import Path

import networkx as nx
import pytest

from graphstore import PlainGame, Store, build, explore, solve, verify
from graphstore.checks.laws import check_rules

SIDE = 4
SQUARES = list(product(range(SIDE), repeat=2))


def near(a, b):
    return max(abs(a[0] - b[0]), abs(a[1] - b[1])) <= 1


def sees(rook, target, between):
    """Return whether a rook attacks a square, with the white king possibly between."""
    for axis in (0, 1):
        if rook[axis] == target[axis] and rook != target:
            low, high = sorted((rook[1 - axis], target[1 - axis]))
            blocked = between[axis] == rook[axis] and low < between[1 - axis] < high
            return not blocked
    return False


class RookEnding(PlainGame):
    """A position is (white king, rook or None, black king, side to move)."""

    def starts(self):
        for king, rook, black in permutations(SQUARES, 3):
            if not near(king, black):
                yield (king, rook, black, 2)
                if not sees(rook, black, king):
                    yield (king, rook, black, 1)

    def black_moves(self, position):
        king, rook, black, _ = position
        return [
            at
            for at in SQUARES
            if at != black
            and near(at, black)
            and not near(at, king)
            and (at == rook or not sees(rook, at, king))
        ]

    def white_moves(self, position):
        king, rook, black, _ = position
        for at in SQUARES:
            if near(at, king) and at not in (king, rook) and not near(at, black):
                yield (at, rook)
        for at in SQUARES:
            if at not in (king, black) and sees(rook, at, king) and not self.jumps(rook, at, black):
                yield (king, at)

    def jumps(self, rook, at, black):
        return sees(rook, at, (-9, -9)) and not sees(rook, at, black)

    def moves(self, position):
        moves = self.black_moves(position) if position[3] == 2 else self.white_moves(position)
        return range(len(list(moves)))

    def play(self, position, move):
        king, rook, black, player = position
        if player == 2:
            at = self.black_moves(position)[move]
            return (king, None if at == rook else rook, at, 1)
        return (*list(self.white_moves(position))[move], black, 2)

    def outcome(self, position):
        king, rook, black, player = position
        if rook is None:
            return 0
        if player == 2 and not self.black_moves(position):
            return -1 if sees(rook, black, king) else 0
        return None

    def to_move(self, position):
        return position[3]

    def symmetries(self, position):
        images = [position]
        for turn in (
            lambda square: (SIDE - 1 - square[0], square[1]),
            lambda square: (square[0], SIDE - 1 - square[1]),
            lambda square: (square[1], square[0]),
        ):
            images += [self.turned(image, turn) for image in images]
        return images

    def turned(self, position, turn):
        return (*(piece and turn(piece) for piece in position[:3]), position[3])


@pytest.fixture(scope="module")
def ending(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ending") / "krk.db"
    build(RookEnding(), path)
    return path


def test_its_rules_keep_every_law() -> None:
    found = check_rules(RookEnding())
    assert found.breaches == ()
    assert found.complete


def test_every_start_is_at_ply_0_and_all_verify(ending: Path) -> None:
    with Store.open(ending, rules=RookEnding()) as store:
        starts = len(set(store.game.canonical(store.game.start_states()).tolist()))
        assert store.info["starts"] == starts
        answer = store.sql("SELECT count(*) FROM state WHERE ply = 0")
        assert answer.columns == ("count(*)",)
        assert list(answer) == [(starts,)]
        assert verify(store).ok


def test_values_are_those_of_plain_iteration() -> None:
    graph = explore(RookEnding())
    solution = solve(graph)
    plain = nx.DiGraph(graph)
    mated = {n for n, data in plain.nodes(data=True) if data["ended"] and data["value"] == -1}
    won, lost = set(), set(mated)
    while True:
        more_won = {n for n in plain if n not in won and any(c in lost for c in plain[n])}
        won |= more_won
        more_lost = {
            n for n in plain if n not in lost and len(plain[n]) and all(c in won for c in plain[n])
        }
        lost |= more_lost
        if not more_won and not more_lost:
            break
    values = dict(zip(graph, solution.value.tolist(), strict=True))
    assert {n for n, value in values.items() if value == 1} == won
    assert {n for n, value in values.items() if value == -1} == lost


def test_play_may_repeat_yet_the_longest_mate_ends(ending: Path) -> None:
    with Store.open(ending, rules=RookEnding()) as store:
        assert store.info["cyclic"] == 1
        longest = "SELECT position FROM state WHERE value = 1 ORDER BY remoteness DESC LIMIT 1"
        ((position,),) = store.sql(longest)
        line = store.line(position)
        assert not line.repeats
        assert line.probes[-1].ended
        assert len(line.moves) == line.probes[0].remoteness
