"""Players: perfect, random, with mistakes, or an agent.

A player looks a position up and chooses one of its moves, so it does not need the rules.
"""

import random
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, TypeAlias

from graphstore.errors import AgentMissingError, GameOverError, OpponentError, ResignedError
from graphstore.play.opponents import USAGE, Opponent, read_opponent
from graphstore.store.probe import Move, Probe
from graphstore.store.store import Address, HoldsStore, Store
from graphstore.util.forks import closed_on_error

if TYPE_CHECKING:
    from graphstore.play.agents import Agent  # imports SQLAlchemy, which only an agent needs

Chooser: TypeAlias = Callable[[Probe], Move]  # returns a move of a position in play


class Player(HoldsStore):
    """A player of a solved game.

    A perfect player wins a won game in the fewest moves, delays the end of a lost game as long as
    possible and keeps a drawn game drawn. It plays each of the equally best moves with the same
    probability. In a game with cycles it never repeats a position that is won.

    >>> import tempfile, graphstore
    >>> path = tempfile.mkdtemp() + "/tictactoe.db"
    >>> graphstore.build("tictactoe", path).states
    765
    >>> with Player(path) as player:
    ...     player.choose("XX./OO./...").move
    2
    """

    def __init__(
        self,
        store: Store | Address,
        opponent: str = "perfect",
        *,
        by: str = "value",
        seed: int | str | random.Random | None = None,
    ) -> None:
        """Create a player.

        Args:
            store: the solved game, open or as an address; then `close` the player.
            opponent: ``perfect``; ``random``: every legal move with the same probability;
                ``mistakes=P``: with probability P a move that is not among the best, if there is
                one; or the name of an agent of the database, which plays but does not learn.
            by: ``value`` or ``margin``: which moves are best; see `store.probe.Probe.by`.
            seed: of its random choices, or a generator to share with other players.

        Raises:
            OpponentError: there is no such opponent.
            AgentMissingError: there is no agent of that name.
        """
        read = read_opponent(opponent)
        if read.kind in ("person", "self"):
            raise OpponentError(f"{opponent} does not choose moves itself; write {USAGE}")
        generator = seed if isinstance(seed, random.Random) else random.Random(seed)
        self._hold(store)
        self.opponent = opponent
        self.agent = read.agent
        """The name of the agent that plays; empty if it is not an agent."""
        with closed_on_error(self.close):
            known = _loaded(self.store, read.agent) if read.agent else None
        self.side = 0 if known is None else known.settings.side
        """The only player, 1 or 2, that it can be; 0 if it can be both."""
        self._choose = (
            _by_value(read, generator, by)
            if known is None
            else _by_beads(self.store, known, generator)
        )

    def __repr__(self) -> str:
        return f"<Player {self.opponent} of {self.store.info['name']}>"

    def choose(self, position: str | int) -> Move:
        """Return the move to play in a position, in the orientation of that position.

        Raises:
            GameOverError: the game is over there.
            ResignedError: the agent resigns, because its box is empty.
            OpponentError: the agent has learned only the other side.
            PositionError, NotInStoreError: see `graphstore.store.store.Store.probe`.
        """
        return self.pick(self.store.probe(position))

    def pick(self, probe: Probe) -> Move:
        """Return the move to play in a probed position; raises the same errors as `choose`."""
        if not probe.moves:
            raise GameOverError(f"{probe.position} is over; there is no move to choose")
        if self.side and probe.to_move not in (None, self.side):
            raise OpponentError(f"{self.opponent} has learned to be player {self.side} only")
        return self._choose(probe)


def one_of(moves: Sequence[Move], generator: random.Random) -> Move:
    """Return one of some moves at random.

    Only random() of the generator is used: its numbers are the same in all versions of Python.
    """
    return moves[int(generator.random() * len(moves))]


def _by_value(opponent: Opponent, generator: random.Random, by: str) -> Chooser:
    """Return a chooser for a perfect player, a random one, or one with mistakes."""

    def choose(probe: Probe) -> Move:
        if opponent.kind == "random":
            return one_of(probe.moves, generator)
        probe = probe.by(by)
        best = probe.best
        if opponent.kind == "mistakes" and generator.random() < opponent.mistakes:
            return one_of(probe.moves[len(best) :] or best, generator)  # the best are first
        return one_of(best, generator)

    return choose


def _by_beads(store: Store, known: "Agent", generator: random.Random) -> Chooser:
    """Return a chooser that draws beads from the boxes of an agent in the database."""
    from graphstore.play.agents import beads_in

    def choose(probe: Probe) -> Move:
        beads = beads_in(store, known, probe.state)
        if not beads:
            return one_of(probe.moves, generator)  # a single edge, which needs no box
        left = sum(number for _, number in beads)
        if left == 0:
            if known.settings.empty == "resign":
                raise ResignedError(f"{known.name} resigns: its box of {probe.position} is empty")
            beads = [(child, 1) for child, _ in beads]  # equal numbers, as in a new box
            left = len(beads)
        drawn = int(generator.random() * left)
        ends = accumulate(number for _, number in beads)
        child = next(child for (child, _), end in zip(beads, ends, strict=True) if drawn < end)
        return one_of([move for move in probe.moves if move.state == child], generator)

    return choose


def _loaded(store: Store, name: str) -> "Agent":
    from graphstore.play import agents

    try:
        return agents.load(store, name)
    except AgentMissingError as error:
        raise AgentMissingError(f"{error}; other opponents: perfect, random, mistakes=P") from None
