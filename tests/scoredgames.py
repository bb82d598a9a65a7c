"""User's rules whose results are scores."""

from graphstore import PlainGame


class Ends(PlainGame):
    """Take a number from an end of a row: the larger sum wins by the difference."""

    margins = True

    def __init__(self, *row):
        self.row = row or (3, 9, 1, 2, 7, 4)

    def start(self):
        return (0, len(self.row), 0)  # begin, end, the lead of the player to move

    def moves(self, position):
        return ["left", "right"]

    def play(self, position, move):
        begin, end, lead = position
        if move == "left":
            return (begin + 1, end, -lead - self.row[begin])
        return (begin, end - 1, -lead - self.row[end - 1])

    def outcome(self, position):
        begin, end, lead = position
        return lead if begin == end else None


class Heap(PlainGame):
    """Take 2 or 3; a heap of 0 loses 3 points and a heap of 1 gains 2: children of any ply."""

    margins = True

    def start(self):
        return 30

    def moves(self, heap):
        return [take for take in (2, 3) if take <= heap]

    def play(self, heap, take):
        return heap - take

    def outcome(self, heap):
        return (-3, 2)[heap] if heap < 2 else None


class Round(Heap):
    """Play can return to a position."""

    def moves(self, heap):
        return [2, 3, -28] if heap == 2 else super().moves(heap)
