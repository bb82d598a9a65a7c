"""Dodgem, a game of Colin Vout, as rules of a user: an image of its start is not a start.

Berlekamp, Conway, Guy, Winning Ways, chapter 22, has the rules.
"""

from graphstore import PlainGame


class Dodgem(PlainGame):
    """Cars leave a board of n by n squares: player 1's to the right, player 2's at the top."""

    def __init__(self, n=3):
        self.n = n

    def start(self):
        n = self.n
        left = frozenset((row, 0) for row in range(n - 1))
        bottom = frozenset((n - 1, column) for column in range(1, n))
        return (left, bottom, 1)

    def _steps(self, position):
        left, bottom, player = position
        ahead = (0, 1) if player == 1 else (-1, 0)
        sides = ((1, 0), (-1, 0)) if player == 1 else ((0, 1), (0, -1))
        for row, column in sorted(left if player == 1 else bottom):
            for down, right in (ahead, *sides):
                to = (row + down, column + right)
                inside = 0 <= to[0] < self.n and 0 <= to[1] < self.n
                off = not inside and (down, right) == ahead
                if (inside and to not in left | bottom) or off:
                    yield (row, column), to if inside else None

    def moves(self, position):
        return range(len(list(self._steps(position))))

    def play(self, position, move):
        left, bottom, player = position
        at, to = list(self._steps(position))[move]
        cars = (left if player == 1 else bottom) - {at} | ({to} if to else frozenset())
        return (cars, bottom, 2) if player == 1 else (left, cars, 1)

    def outcome(self, position):
        left, bottom, player = position
        if not (left if player == 2 else bottom):
            return -1
        return None if any(self._steps(position)) else 1

    def symmetries(self, position):
        """Return the image by the diagonal, on which the players change places."""
        *cars, player = position
        image = [frozenset((self.n - 1 - c, self.n - 1 - r) for r, c in each) for each in cars]
        return [(image[1], image[0], 3 - player)]
