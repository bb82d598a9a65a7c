"""Who plays: the perfect opponent, a random one, and one that makes mistakes.

A player looks a position up and chooses among its moves: there are no rules here, so any solved
game will do, in any orientation, with or without its rules at hand.
"""

import random
from collections.abc import Callable, Sequence
from typing import TypeAlias

from graphstore.errors import GameOverError, OpponentError, shown
from graphstore.query import Move, Probe
from graphstore.store import Store

Chooser: TypeAlias = Callable[[Probe], Move]
"""Returns one of the moves of a position in play."""

PERFECT, RANDOM, MISTAKES = "perfect", "random", "mistakes="


class Player:
    """A player of a solved game.

    A perfect one wins a won game in the fewest moves, holds a lost one as long as it can be held,
    and keeps a drawn one; among equally best moves it plays any, each with the same probability.
    In a game in which play can go round in circles it comes back to no position that is won.

    >>> import tempfile, graphstore
    >>> path = tempfile.mkdtemp() + "/tictactoe.db"
    >>> graphstore.build("tictactoe", path).states
    765
    >>> with graphstore.Store.open(path) as store:
    ...     Player(store).choose("XX./OO./...").move
    2
    """

    def __init__(
        self,
        store: Store,
        opponent: str = PERFECT,
        *,
        seed: int | str | random.Random | None = None,
    ) -> None:
        """Take a place at the board.

        Args:
            store: the solved game.
            opponent: ``perfect``; ``random``: every legal move with the same probability; or
                ``mistakes=P``: with probability P one of the moves that are not best, if there are
                any.
            seed: the same seed makes the same choices; or a generator to share with others.

        Raises:
            OpponentError: there is no such opponent.
        """
        self.store = store
        self.opponent = opponent
        generator = seed if isinstance(seed, random.Random) else random.Random(seed)
        self._choose = chooser(store, opponent, generator)

    def __repr__(self) -> str:
        return f"<Player {self.opponent} of {self.store.info['name']}>"

    def choose(self, position: str | int) -> Move:
        """Return the move to play in a position, in the orientation in which it was given.

        Raises:
            GameOverError: the game is over there.
            PositionError, NotInStoreError: see `graphstore.store.Store.probe`.
        """
        return self.pick(self.store.probe(position))

    def pick(self, probe: Probe) -> Move:
        """Return the move to play in a position that was looked up.

        Raises:
            GameOverError: the game is over there.
        """
        if not probe.moves:
            raise GameOverError(f"{probe.position} is over; there is no move to choose")
        return self._choose(probe)


def chooser(store: Store, opponent: str, generator: random.Random) -> Chooser:
    """Return what chooses the moves of an opponent, taking chances from a generator.

    Raises:
        OpponentError: there is no such opponent.
    """
    if opponent == PERFECT:
        return lambda probe: one_of(probe.best, generator)
    if opponent == RANDOM:
        return lambda probe: one_of(probe.moves, generator)
    if opponent.startswith(MISTAKES):
        return _mistaken(_probability(opponent), generator)
    raise OpponentError(
        f"there is no opponent {shown(opponent)}; "
        f"{PERFECT}, {RANDOM}, {MISTAKES}P, or an agent of the file, which has none"
    )


def one_of(moves: Sequence[Move], generator: random.Random) -> Move:
    """Return any of some moves.

    Of the generator only random() is used: its numbers are the same in all versions of Python.
    """
    return moves[int(generator.random() * len(moves))]


def _mistaken(probability: float, generator: random.Random) -> Chooser:
    def choose(probe: Probe) -> Move:
        best = probe.best
        worse = probe.moves[len(best) :]  # they stand best first
        wrong = generator.random() < probability
        return one_of(worse if wrong and worse else best, generator)

    return choose


def _probability(opponent: str) -> float:
    try:
        probability = float(opponent.removeprefix(MISTAKES))
    except ValueError:
        probability = -1.0
    if not 0 <= probability <= 1:
        raise OpponentError(
            f"{shown(opponent)}: the probability of a mistake is a number from 0 to 1, "
            f"as in {MISTAKES}0.2"
        )
    return probability
