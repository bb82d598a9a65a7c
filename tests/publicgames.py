"""Games with public rules, written for one position at a time; their sizes are known."""

import random

from graphstore import PlainGame


class Board(PlainGame):
    """A board of `rows` by `columns` cells as a str, and the player to move, "1" or "2" before it.

    `cells` is the board after the player's digit; a player without a move loses.
    """

    def __init__(self, rows, columns):
        self.rows, self.columns = rows, columns

    def start(self):
        return "1" + "." * (self.rows * self.columns)

    def next_to(self, cell, steps):
        """Return the cells on the board that are some (row, column) steps away."""
        row, column = divmod(cell, self.columns)
        places = [(row + down, column + right) for down, right in steps]
        inside = [p for p in places if 0 <= p[0] < self.rows and 0 <= p[1] < self.columns]
        return [row * self.columns + column for row, column in inside]

    def marked(self, position, marks):
        """Return the position after marks, {cell: mark}, with the other player to move."""
        cells = list(position[1:])
        for cell, mark in marks.items():
            cells[cell] = mark
        return str(3 - self.to_move(position)) + "".join(cells)

    def outcome(self, position):
        return None if self.moves(position) else -1

    def to_move(self, position):
        return int(position[0])


class Domineering(Board):
    """Player 1 puts a domino upright, player 2 flat (G. Andersson, 1973)."""

    def second(self, position, cell):
        return self.next_to(cell, [(1, 0)] if position[0] == "1" else [(0, 1)])

    def moves(self, position):
        cells = position[1:]
        free = [cell for cell, mark in enumerate(cells) if mark == "."]
        return [c for c in free if any(cells[d] == "." for d in self.second(position, c))]

    def play(self, position, move):
        return self.marked(position, {move: "#", self.second(position, move)[0]: "#"})


class Clobber(Board):
    """A player takes a neighbouring stone of the other (Albert, Grossman, Nowakowski 2001)."""

    def start(self):
        of = range(self.rows * self.columns)
        return "1" + "".join("12"[sum(divmod(cell, self.columns)) % 2] for cell in of)

    def moves(self, position):
        own, other = position[0], str(3 - int(position[0]))
        steps = [(0, 1), (1, 0), (0, -1), (-1, 0)]
        return [
            cell * 100 + to
            for cell, mark in enumerate(position[1:])
            if mark == own
            for to in self.next_to(cell, steps)
            if position[1 + to] == other
        ]

    def play(self, position, move):
        return self.marked(position, {move // 100: ".", move % 100: position[0]})


class Isolation(Board):
    """A piece moves as a king, and the cell it leaves is lost; a variant of Isola (1972)."""

    def start(self):
        return "11" + "." * (self.rows * self.columns - 2) + "2"

    def moves(self, position):
        steps = [(down, right) for down in (-1, 0, 1) for right in (-1, 0, 1)]
        cell = position.index(position[0], 1) - 1
        return [to for to in self.next_to(cell, steps) if position[1 + to] == "."]

    def play(self, position, move):
        cell = position.index(position[0], 1) - 1
        return self.marked(position, {cell: "#", move: position[0]})


class Pawns(Board):
    """Breakthrough: pawns go forward or diagonally, and take diagonally (D. Troyka, 2000)."""

    def start(self):
        free = "." * ((self.rows - 2) * self.columns)
        return "1" + "1" * self.columns + free + "2" * self.columns

    def moves(self, position):
        own, ahead = position[0], 1 if position[0] == "1" else -1
        return [
            cell * 100 + to
            for cell, mark in enumerate(position[1:])
            if mark == own
            for to in self.next_to(cell, [(ahead, -1), (ahead, 0), (ahead, 1)])
            if position[1 + to] == "." or (position[1 + to] != own and (cell - to) % self.columns)
        ]

    def play(self, position, move):
        return self.marked(position, {move // 100: ".", move % 100: position[0]})

    def outcome(self, position):
        cells = position[1:]
        if "2" in cells[: self.columns] or "1" in cells[-self.columns :]:
            return -1
        return super().outcome(position)


class Fox(Board):
    """Fox and hounds on the dark cells: hounds go down, the fox, who begins, anywhere.

    Every game goes on until a player cannot move.
    """

    def start(self):
        cells = list((".2" * self.columns)[: self.columns] + "." * (self.rows - 1) * self.columns)
        column = self.columns // 2
        column += (self.rows + column) % 2  # to a dark cell
        cells[(self.rows - 1) * self.columns + column] = "1"
        return "1" + "".join(cells)

    def moves(self, position):
        down = [(1, -1), (1, 1)]
        steps = down if position[0] == "2" else [*down, (-1, -1), (-1, 1)]
        if "1" in position[1 : 1 + self.columns]:
            return []
        return [
            cell * 100 + to
            for cell, mark in enumerate(position[1:])
            if mark == position[0]
            for to in self.next_to(cell, steps)
            if position[1 + to] == "."
        ]

    def play(self, position, move):
        return self.marked(position, {move // 100: ".", move % 100: position[0]})


class Rook(PlainGame):
    """King and rook against king on a board of n by n: play runs in cycles."""

    def __init__(self, n):
        self.n = n
        self.cells = [(row, column) for row in range(n) for column in range(n)]

    def start(self):
        return (0, 0), (1, 1), (self.n - 1, self.n - 1), 1

    def near(self, cell):
        return [c for c in self.cells if c != cell and self.close(c, cell)]

    @staticmethod
    def close(a, b):
        return max(abs(a[0] - b[0]), abs(a[1] - b[1])) <= 1

    def held(self, king, rook, cell):
        """Return True if the white king or the rook holds a cell."""
        if self.close(king, cell):
            return True
        for axis in (0, 1):
            if rook and rook != cell and rook[axis] == cell[axis]:
                ends = sorted((rook[1 - axis], cell[1 - axis]))
                between = king[axis] == rook[axis] and ends[0] < king[1 - axis] < ends[1]
                return not between
        return False

    def targets(self, position):
        king, rook, other, player = position
        if player == 2:
            return [
                (king, None if c == rook else rook, c, 1)
                for c in self.near(other)
                if not self.held(king, rook, c)
            ]
        found = [
            (c, rook, other, 2) for c in self.near(king) if c != rook and not self.close(c, other)
        ]
        for down, right in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            row, column = rook[0] + down, rook[1] + right
            while 0 <= row < self.n and 0 <= column < self.n and (row, column) not in (king, other):
                found.append((king, (row, column), other, 2))
                row, column = row + down, column + right
        return found

    def moves(self, position):
        return range(len(self.targets(position)))

    def play(self, position, move):
        return self.targets(position)[move]

    def outcome(self, position):
        king, rook, other, player = position
        if rook is None:
            return 0
        if self.targets(position):
            return None
        return -1 if player == 2 and self.held(king, rook, other) else 0

    def to_move(self, position):
        return position[3]


class Dodgem(Board):
    """Cars leave a board of n by n: player 1 to the right, player 2 upwards (C. Vout, 1972)."""

    def __init__(self, n):
        super().__init__(n, n)

    def start(self):
        n = self.rows
        cells = [["."] * n for _ in range(n)]
        for at in range(n - 1):
            cells[at][0], cells[n - 1][at + 1] = "1", "2"
        return "1" + "".join(map("".join, cells))

    def moves(self, position):
        own = position[0]
        steps = [(0, 1), (1, 0), (-1, 0)] if own == "1" else [(-1, 0), (0, 1), (0, -1)]
        found = []
        for cell, mark in enumerate(position[1:]):
            if mark == own:
                to = self.next_to(cell, steps)
                found += [cell * 100 + c for c in to if position[1 + c] == "."]
                leaves = cell % self.rows == self.rows - 1 if own == "1" else cell < self.rows
                found += [cell * 100 + 99] if leaves else []
        return found

    def play(self, position, move):
        cell, to = divmod(move, 100)
        return self.marked(position, {cell: "."} | ({to: position[0]} if to != 99 else {}))

    def outcome(self, position):
        if position[1:].count("12"[int(position[0]) == 1]) == 0:
            return -1  # the other player has left the board
        return None if self.moves(position) else 1


class Chomp(PlainGame):
    """Eat a square and all below it and to its right; the last square loses (F. Schuh, 1952)."""

    def __init__(self, rows, columns):
        self.bar = (columns,) * rows

    def start(self):
        return self.bar

    def moves(self, rows):
        return [100 * r + c for r, length in enumerate(rows) for c in range(length)]

    def play(self, rows, move):
        r, c = divmod(move, 100)
        return tuple(min(length, c) if at >= r else length for at, length in enumerate(rows))

    def outcome(self, rows):
        return 1 if rows[0] == 0 else None


class Table(PlainGame):
    """A random graph: every position has `width` moves, to positions of at most `span` on."""

    def __init__(self, size, width, span, seed):
        self.size, self.width, self.span, self.seed = size, width, span, seed

    def start(self):
        return 0

    def moves(self, position):
        return range(self.width)

    def play(self, position, move):
        drawn = random.Random(f"{self.seed} {position} {move}")
        return (position + 2 * drawn.randrange(self.span) + 1) % (2 * self.size)

    def outcome(self, position):
        return -1 if random.Random(f"{self.seed} {position}").random() < 0.05 and position else None


class Kalah(PlainGame):
    """`pits` a side, `seeds` a pit; a seed that is last in an own empty pit takes those opposite.

    The game is over when the player to move has no seeds; the other keeps his. After a last seed in
    the own store the other player passes, as move -1.
    """

    def __init__(self, pits, seeds):
        self.pits, self.seeds = pits, seeds

    def start(self):
        return (self.seeds,) * self.pits, 0, (self.seeds,) * self.pits, 0, 1, False

    def moves(self, position):
        return [-1] if position[5] else [m for m, seeds in enumerate(position[0]) if seeds]

    def play(self, position, move):
        own, store, others, their, player, passes = position
        if passes:
            return others, their, own, store, 3 - player, False
        n = self.pits
        cells, left, at = [*own, store, *others], own[move], move
        cells[move] = 0
        while left:
            at, left = (at + 1) % len(cells), left - 1
            cells[at] += 1
        if at < n and cells[at] == 1:
            cells[n] += 1 + cells[2 * n - at]
            cells[at] = cells[2 * n - at] = 0
        own, store, others = cells[:n], cells[n], cells[n + 1 :]
        again = at == n and any(own)
        if not any(own if at == n else others):
            store, their = store + sum(own), their + sum(others)
            own = others = [0] * n
        return tuple(others), their, tuple(own), store, 3 - player, again

    def outcome(self, position):
        own, store, _, their, _, passes = position
        if passes or any(own):
            return None
        return (store > their) - (store < their)

    def to_move(self, position):
        return position[4]
