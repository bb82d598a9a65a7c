"""Wythoff's game has the lost positions of Wythoff's theorem, and nimbers of a recursion."""

from functools import cache
from math import isqrt

from graphstore import explore, nimbers, solve
from graphstore.games.wythoff import wythoff
from graphstore.rules.game import LOSS


def steps(a, b):
    """Return the moves and the heaps after them; heap 3 stands for both."""
    first = [(100 + k, (a - k, b)) for k in range(1, a + 1)]
    second = [(200 + k, (a, b - k)) for k in range(1, b + 1)]
    return [*first, *second, *((300 + k, (a - k, b - k)) for k in range(1, min(a, b) + 1))]


@cache
def nimber(a, b):
    below = {nimber(*after) for _, after in steps(a, b)}
    return min({*range(len(below) + 1)} - below)


def test_moves_nimbers_and_lost_positions():
    # W. A. Wythoff, Nieuw Archief voor Wiskunde 7 (1907) 199-202: lost are k * phi, k * phi + k
    lost = {((k + isqrt(5 * k * k)) // 2, (k + isqrt(5 * k * k)) // 2 + k) for k in range(20)}
    graph = explore(game := wythoff(15, 10))
    value, found = solve(graph).value.tolist(), nimbers(graph).tolist()
    for row, text in enumerate(graph.texts(graph.states.id)):
        a, b = map(int, text.split(","))
        assert found[row] == nimber(a, b)
        assert (value[row] == LOSS) == ((a, b) in lost)
        if a + b:
            moves = game.expand(graph.states.id[row : row + 1])
            wanted = steps(a, b)
            assert moves.move.tolist() == [move for move, _ in wanted]
            assert game.texts(moves.child) == [f"{a},{b}" for _, (a, b) in wanted]
