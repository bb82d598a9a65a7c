"""A game with cycles. Databases of older schemas hold the digest of this file: do not change it."""

from graphstore import PlainGame


class Ring(PlainGame):
    """Step one or two around a ring; who comes to 0 has won."""

    def start(self):
        """Return where it begins."""
        return "5"

    def moves(self, place):
        """Return the steps."""
        return (1, 2)

    def play(self, place, step):
        """Return where a step leads."""
        return str((int(place) + step) % 8)

    def outcome(self, place):
        """Return a loss for the player who finds 0 taken."""
        return -1 if place == "0" else None
