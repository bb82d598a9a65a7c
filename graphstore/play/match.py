"""A game that people or players play, with its record; it neither reads nor prints."""

import random
from collections import Counter
from typing import Any, Literal, NamedTuple

import numpy as np

from graphstore.errors import GameOverError, MoveError, OpponentError, ResignedError, shown
from graphstore.play.players import Player
from graphstore.rules.board import choices
from graphstore.rules.game import DRAW, WIN, Game, move_text, read_move
from graphstore.rules.notebook import or_none, picture
from graphstore.rules.plain import PlainGame
from graphstore.store.probe import Move, Probe
from graphstore.store.schema import STRATEGY
from graphstore.store.store import Store
from graphstore.util import arguments

PERSON = "person"
REPETITIONS = 3  # how often one player may meet a state before the game is drawn, as in chess
LISTED = 30  # moves that an error lists


class Turn(NamedTuple):
    """A move that was made, in the orientation of the position before it."""

    number: int  # 1 for the first move of the match
    player: int  # 1 or 2
    by: str  # ``person``, or the opponent that chose it
    name: str  # the move as people write it
    before: Probe
    move: Move

    @property
    def lost_value(self) -> bool:
        """Whether another move was better: a win instead of a draw, a draw instead of a loss."""
        return -self.move.value < self.before.value


class Result(NamedTuple):
    """How a match ended, or that it has not: drawn by repetition at the third time in a state."""

    winner: int | None  # 1, 2, or None
    who: str | None  # the name of the winner
    how: Literal["won", "drawn", "repetition", "resigned", "unfinished"]


class Match:
    """A game of two players from some position on.

    `hint`, `play`, `reply` and `resign` raise a GameOverError when the match is over.

    >>> import tempfile, graphstore
    >>> path = tempfile.mkdtemp() + "/tictactoe.db"
    >>> graphstore.build("tictactoe", path).states
    765
    >>> with graphstore.Store.open(path) as store:
    ...     match = Match(store, "person", "perfect", start="X../.O./..X", seed=1)
    ...     match.play("2").name, match.reply().name
    ('2', '6')
    """

    def __init__(
        self,
        store: Store,
        first: str | Player = PERSON,
        second: str | Player = "perfect",
        *,
        start: str | int | None = None,
        seed: int | None = None,
    ) -> None:
        """Begin.

        Args:
            store: the solved game.
            first: who makes the first move: ``person``, what `play.players.Player` takes as
                an opponent, or a player.
            second: who makes the second.
            start: a position in any orientation; by default the (first) start of the game.
            seed: of all that is left to chance; without it a seed is drawn, and recorded.

        Raises:
            OpponentError: there is no such opponent.
            GameOverError: in the start the game is over.
            PositionError, NotInStoreError: see `graphstore.store.store.Store.probe`.
        """
        self.store = store
        self.game: Game | None = store.game if store.has_rules else None
        seed = arguments.seed(seed)
        self.seed = random.SystemRandom().randrange(2**32) if seed is None else seed
        chance = random.Random(self.seed)
        self._seats = tuple(
            None
            if each == PERSON
            else each
            if isinstance(each, Player)
            else Player(store, each, seed=chance)
            for each in (first, second)
        )
        start = store.info["start"] if start is None else arguments.position("start", start)
        self._probes = [store.probe(start)]
        self._first = self.probe.to_move or 1
        self._resigned = False
        self.turns: list[Turn] = []
        if self.probe.ended:
            raise GameOverError(f"{self.probe.position} is over; there is nothing to play")
        for player, seat in zip((self._first, 3 - self._first), self._seats, strict=True):
            if seat is not None and seat.side not in (0, player):
                raise OpponentError(
                    f"{seat.opponent} has learned to be {self.name_of(seat.side)} only, "
                    f"who moves {'second' if player == self._first else 'first'}; "
                    "change who begins (--first)"
                )

    @or_none
    def _repr_svg_(self) -> str:
        last = None
        if self.turns:
            before, move = self.turns[-1].before, self.turns[-1].move
            last = choices(self.game, before.position, [move])[0].cell
        return picture(self.probe.position, game=self.game, last=last)

    @property
    def probe(self) -> Probe:
        """The position now, with what the database says of it and of its moves."""
        return self._probes[-1]

    def hint(self) -> Probe:
        """Return the position now with all its moves, best first."""
        self._check_in_play()
        return self.probe

    @property
    def player(self) -> int:
        """The player to move, 1 or 2; where positions do not tell, player 1 made the first move."""
        return self._first if len(self.turns) % 2 == 0 else 3 - self._first

    @property
    def by(self) -> str:
        """Who makes the next move: ``person``, or an opponent."""
        return _called(self._seats[len(self.turns) % 2])

    @property
    def opponents(self) -> tuple[str, str]:
        """Who plays as player 1 and as player 2."""
        first, second = map(_called, self._seats)
        return (first, second) if self._first == 1 else (second, first)

    @property
    def agents(self) -> dict[str, int]:
        """The agents that play, each with the player that it is; 0 if it plays itself."""
        found: dict[str, int] = {}
        for player, seat in zip((self._first, 3 - self._first), self._seats, strict=True):
            if seat is not None and seat.agent:
                found[seat.agent] = 0 if seat.agent in found else player
        return found

    @property
    def over(self) -> bool:
        """Whether the match is over."""
        return self.result.how != "unfinished"

    @property
    def result(self) -> Result:
        """How the match ended, or that it has not."""
        if self._resigned:
            return self._won_by(3 - self.player, "resigned")
        if self.probe.ended:
            if self.probe.value == DRAW:
                return Result(None, None, "drawn")
            return self._won_by(self.player if self.probe.value == WIN else 3 - self.player, "won")
        met = Counter((probe.state, at % 2) for at, probe in enumerate(self._probes))
        again = met[self.probe.state, len(self.turns) % 2] >= REPETITIONS
        return Result(None, None, "repetition" if again else "unfinished")

    def name_of(self, player: int) -> str:
        """Return what player 1 or 2 is called in this game."""
        players = PlainGame.players if self.game is None else self.game.players
        return players[player - 1]

    def name(self, move: Move) -> str:
        """Return what people call a move."""
        return move_text(self.game, move.move)

    def read(self, text: str | int) -> Move:
        """Return the legal move of a name or a number.

        Raises:
            MoveError: it cannot be read, or is not legal here; the message says why.
        """
        move = read_move(self.game, text) if isinstance(text, str) else arguments.integer(text)
        if move is None:
            raise MoveError(f"the move is {shown(text)}; it must be a text or an integer")
        for legal in self.probe.moves:
            if legal.move == move:
                return legal
        raise MoveError(self._why_not(move))

    def play(self, move: str | int) -> Turn:
        """Make the move of the person whose turn it is.

        Raises:
            MoveError: it cannot be read, or is not legal.
            ValueError: it is not a person's turn.
        """
        self._check_in_play()
        if self.by != PERSON:
            raise ValueError(f"it is the turn of {self.by}; reply() makes its move")
        return self._make(self.read(move))

    def reply(self) -> Turn | None:
        """Make the move of the opponent whose turn it is; None if it resigns.

        Raises:
            ValueError: it is a person's turn.
        """
        self._check_in_play()
        seat = self._seats[len(self.turns) % 2]
        if seat is None:
            raise ValueError("it is a person's turn; play(move) makes the move")
        try:
            move = seat.pick(self.probe)
        except ResignedError:
            self._resigned = True
            return None
        return self._make(move)

    def undo(self) -> list[Turn]:
        """Take moves back down to the last one of a person; return them, last first.

        Raises:
            MoveError: no person has moved yet.
        """
        if PERSON not in {turn.by for turn in self.turns}:
            raise MoveError("there is no move of yours to take back")
        self._resigned = False
        taken: list[Turn] = []
        while not taken or taken[-1].by != PERSON:
            taken.append(self.turns.pop())
            self._probes.pop()
        return taken

    def resign(self) -> None:
        """Give the match up for the player to move."""
        self._check_in_play()
        self._resigned = True

    def first_mistake(self, player: int) -> Turn | None:
        """Return a player's first move that lost a win or a draw, or None."""
        mistakes = (turn for turn in self.turns if turn.player == player and turn.lost_value)
        return next(mistakes, None)

    def as_dict(self) -> dict[str, Any]:
        """Return the record of the match for JSON, under the names of the columns.

        The columns of a move are those of the state that it leads to.
        """
        moves = [
            {
                "number": turn.number,
                "player": turn.player,
                "by": turn.by,
                "move": turn.move.move,
                "name": turn.name,
                **turn.move._asdict(),
                "ply": after.ply,
            }
            for turn, after in zip(self.turns, self._probes[1:], strict=True)
        ]
        return {
            "game": self.store.info["name"],
            "file": self.store.address,
            "start": self._probes[0].position,
            "players": list(self.opponents),
            "seed": self.seed,
            "moves": moves,
            "result": self.result._asdict(),
        }

    def _make(self, move: Move) -> Turn:
        after = self.store.probe(move.position)
        turn = Turn(len(self.turns) + 1, self.player, self.by, self.name(move), self.probe, move)
        self.turns.append(turn)
        self._probes.append(after)
        return turn

    def _won_by(self, winner: int, how: Literal["won", "resigned"]) -> Result:
        return Result(winner, self.name_of(winner), how)

    def _check_in_play(self) -> None:
        if self.over:
            raise GameOverError("the match is over; undo() takes moves back")

    def _why_not(self, move: int) -> str:
        """Return why a move is not legal."""
        if self.game is not None and self.game.shape is not None:
            rows, columns = self.game.shape
            if not 0 <= move < rows * columns:
                return f"there is no cell {move}: 0 to {rows * columns - 1}"
            return f"cell {move} is taken"
        names = [move_text(self.game, each) for each in sorted(m.move for m in self.probe.moves)]
        more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
        legal = " ".join(names[:LISTED]) + more
        typed = shown(move_text(self.game, move))[1:-1]
        if self.game is not None and self.store.info["extent"] == STRATEGY:
            here = np.array([self.game.read(self.probe.position)], dtype=np.int64)
            if move in self.game.expand(here).move:
                return (
                    f"{typed} is legal, but {self.store.address} holds a strategy, which knows no "
                    f"other move of {self.name_of(self.player)} here than {legal}"
                )
        return f"{typed} is not legal here; legal: {legal}"


def _called(seat: Player | None) -> str:
    return PERSON if seat is None else seat.opponent
