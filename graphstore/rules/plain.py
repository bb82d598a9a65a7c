"""`PlainGame`, the base class of rules for one position at a time."""

import sys
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from random import Random
from typing import Any, Final

from graphstore.errors import RulesError
from graphstore.rules.game import Position
from graphstore.rules.values import Reader, plain_text

_READER: Final = "graphstore: reader"  # a key in the dict of a game, the name of no attribute
_GAMES: Final = 8  # random games that show the types of positions
_LENGTH: Final = 100  # plies of each


class PlainGame:
    """The base class of a user's rules.

    Write `start` (or `starts`), `moves`, `play` and `outcome` for one position at a time. Optional:
    `symmetries` (fewer states), `canonical` beside it (faster), `to_move` (which player wins),
    `margins` (results are scores), `text` and `parse`, `board`, and the `write_move` and
    `read_move` of `NamesMoves`. All other names are free.
    A position is any hashable Python value. An int in [0, 2**63) is its own id; the id of another
    value, such as True or 1.0, is a 63-bit hash of its text. Two positions with one id are refused.

    >>> class Countdown(PlainGame):  # take one or two from a heap; taking the last wins
    ...     def start(self):
    ...         return 7
    ...     def moves(self, heap):
    ...         return [take for take in (1, 2) if take <= heap]
    ...     def play(self, heap, take):
    ...         return heap - take
    ...     def outcome(self, heap):
    ...         return -1 if heap == 0 else None
    >>> from graphstore import explore
    >>> len(explore(Countdown()))
    8
    """

    shape: tuple[int, int] | None = None
    """(rows, columns) of a board on which move m fills cell m, row by row; else None."""
    players: tuple[str, str] = ("player 1", "player 2")
    max_plies: int | None = None
    """The most moves that a game can last; None if the rules do not say."""
    margins: bool = False
    """True if results are scores: `outcome` returns the difference."""

    def start(self) -> Position:
        """Return the position in which a game begins."""
        raise RulesError(
            f"{type(self).__name__} has no start: write start(self), or starts(self) for several"
        )

    def starts(self) -> Iterable[Position] | Mapping[str, Position]:
        """Return the positions in which a game may begin, or {name: position}; else `start`."""
        return (self.start(),)

    def moves(self, position: Position) -> Iterable[Hashable]:
        """Return the distinct legal moves of a position in play: integers, texts or other values.

        A move that is not an integer gets a number, the same in every build, and a name of one
        word: ``e2e4`` is its own name, that of ``(2, 3)`` is ``2-3``, that of an Enum its member's.
        Databases hold both.
        """
        raise RulesError(f"{type(self).__name__} has no moves: write moves(self, position)")

    def play(self, position: Position, move: Any) -> Position:
        """Return the position after a legal move, without changing the argument."""
        raise RulesError(f"{type(self).__name__} cannot play: write play(self, position, move)")

    def outcome(self, position: Position) -> int | None:
        """Return +1, 0 or -1 if the player to move has won, drawn or lost; None in play.

        With ``margins = True`` in the class: his score minus the opponent's, up to 32,767.
        """
        raise RulesError(f"{type(self).__name__} has no outcome: write outcome(self, position)")

    def to_move(self, position: Position) -> int | None:
        """Return 1 or 2, the player to move, or None if the position does not show it."""
        return None

    def symmetries(self, position: Position) -> Iterable[Position]:
        """Return the images of a position under the symmetries, with or without the position."""
        return ()

    def canonical(self, position: Position) -> Position:
        """Return the image that names the state, the same for all images of a position.

        Without it, that is the image with the smallest int, or with the smallest text.
        """
        return position

    def text(self, position: Position) -> str:
        """Return the text of a position; different positions must have different texts.

        By default it is a Python literal; a str is its own text.
        """
        return plain_text(position)

    def parse(self, text: str) -> Position:
        """Return the position of a text; by default it is read as the types seen in play."""
        own, starts = vars(self), self.starts()
        start = next(iter(starts.values() if isinstance(starts, Mapping) else starts))
        if type(start) in (int, str):  # enough for most games
            with suppress(ValueError):
                position = Reader([start]).read(text)
                if type(position) is type(start):
                    return position
        if _READER not in own:
            module = sys.modules.get(type(self).__module__)
            own[_READER] = Reader(samples(self, start), vars(module).values() if module else ())
        return own[_READER].read(text)

    def board(self, position: Position) -> str:
        """Return a drawing of a position; by default its text, with a new line at each ``/``."""
        return self.text(position).replace("/", "\n")


def samples(game: PlainGame, start: Position) -> Iterator[Position]:
    """Yield a start and the positions of some random games, which are the same in every run."""
    yield start
    for seed in range(_GAMES):
        position, chance = start, Random(seed)
        with suppress(Exception):  # broken rules, as other calls report
            for _ in range(_LENGTH):
                if game.outcome(position) is not None:
                    break
                moves = sorted(islice(game.moves(position), 1_000), key=repr)
                position = game.play(position, chance.choice(moves))
                yield position
