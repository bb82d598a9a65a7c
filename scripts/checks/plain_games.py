"""Rules for one position at a time whose exploration bench.py measures."""

from collections.abc import Callable, Iterator
from itertools import combinations, permutations
from operator import itemgetter

from graphstore import PlainGame

Triple = tuple[int, int, int]


class Heaps(PlainGame):
    """Three heaps: take one or two from one of them; the player who takes the last one wins."""

    def __init__(self, size: int = 46) -> None:
        self.size = size

    def start(self) -> Triple:
        """Return three equal heaps."""
        return (self.size,) * 3

    def moves(self, heaps: Triple) -> Iterator[int]:
        """Yield 3 * heap + take."""
        for heap, size in enumerate(heaps):
            for take in range(1, min(size, 2) + 1):
                yield 3 * heap + take

    def play(self, heaps: Triple, move: int) -> Triple:
        """Return the heaps after a move."""
        heap, take = divmod(move, 3)
        left = list(heaps)
        left[heap] -= take
        return left[0], left[1], left[2]

    def outcome(self, heaps: Triple) -> int | None:
        """Return -1 when the heaps are empty."""
        return None if any(heaps) else -1


class Filling(PlainGame):
    """X and O fill the cells of a str; `lines` end the game, `images` are its symmetries."""

    cells: int
    lines: list[tuple[int, ...]]
    images: list[Callable[[str], tuple[str, ...]]]
    completed: int  # the result for the player to move after a line was completed
    most: int  # marks on the board

    def start(self) -> str:
        """Return the empty board."""
        return "." * self.cells

    def moves(self, board: str) -> list[int]:
        """Return the empty cells."""
        return [cell for cell, mark in enumerate(board) if mark == "."]

    def play(self, board: str, cell: int) -> str:
        """Return the board after a move."""
        mark = "XO"[(self.cells - board.count(".")) % 2]
        return board[:cell] + mark + board[cell + 1 :]

    def outcome(self, board: str) -> int | None:
        """Return the result when a line is completed, or a draw when `most` marks stand."""
        for line in self.lines:
            if board[line[0]] != "." and len({board[cell] for cell in line}) == 1:
                return self.completed
        return None if self.cells - board.count(".") < self.most else 0

    def symmetries(self, board: str) -> list[str]:
        """Return the images of a board."""
        return ["".join(image(board)) for image in self.images]


def squares(most: int) -> Filling:
    """Return four in a row on a square of 16 cells, with its 8 images, up to `most` marks."""
    game, at = Filling(), [divmod(cell, 4) for cell in range(16)]
    game.cells, game.completed, game.most = 16, -1, most
    rows = [tuple(4 * r + c for c in range(4)) for r in range(4)]
    across = [tuple(row[c] for row in rows) for c in range(4)]
    game.lines = [*rows, *across, (0, 5, 10, 15), (3, 6, 9, 12)]
    turned = [[r if not flip else 3 - r for r, _ in at] for flip in (0, 1)]
    other = [[c if not flip else 3 - c for _, c in at] for flip in (0, 1)]
    pairs = [(a, b) for a in turned for b in other]
    pairs += [(b, a) for a, b in pairs]
    game.images = [itemgetter(*(4 * r + c for r, c in zip(a, b, strict=True))) for a, b in pairs]
    return game


def sim(most: int) -> Filling:
    """Return Sim, whose 15 cells are the edges between 6 points, with its 720 images."""
    game, edges = Filling(), list(combinations(range(6), 2))
    game.cells, game.completed, game.most = 15, 1, most
    number = {frozenset(edge): at for at, edge in enumerate(edges)}
    triangles = combinations(range(6), 3)
    game.lines = [tuple(number[frozenset(e)] for e in combinations(t, 2)) for t in triangles]
    game.images = [
        itemgetter(*(number[frozenset((order[a], order[b]))] for a, b in edges))
        for order in permutations(range(6))
    ]
    return game
