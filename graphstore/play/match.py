"""A match between users or players, with its record. It does no input or output."""

import random
from collections import Counter
from enum import Enum
from typing import Any, Literal, NamedTuple

import numpy as np

from graphstore.errors import GameOverError, MoveError, OpponentError, ResignedError, shown
from graphstore.play.players import Player
from graphstore.play.searched import SECONDS, Playable, beyond_book, playable, with_values
from graphstore.rules.adapter import move_name
from graphstore.rules.board import choices
from graphstore.rules.game import DRAW, WIN, Game, move_text, read_move
from graphstore.rules.notebook import or_none, picture
from graphstore.rules.plain import PlainGame
from graphstore.rules.positions import Position
from graphstore.store.format import STRATEGY
from graphstore.store.probe import Move, Probe
from graphstore.store.store import HoldsStore
from graphstore.util import arguments
from graphstore.util.forks import closed_on_error

PERSON = "person"
REPETITIONS = 3  # a player meets a state for the third time: the game is drawn, as in chess
LISTED = 30  # moves that an error lists


class Turn(NamedTuple):
    """A move of a match, in the orientation of the position before it."""

    number: int  # 1 for the first move of the match
    player: int  # 1 or 2
    by: str  # ``person``, or the name of the opponent that chose it
    name: str  # the move as text
    before: Probe
    move: Move

    @property
    def lost_value(self) -> bool:
        """True if the move is known to give away a win or a draw: another had a better value."""
        return not self.unsure and -self.move.value < self.before.value

    @property
    def unsure(self) -> bool:
        """True if the values of the position and of the move are not known, without a database."""
        return None in (self.before.value, self.move.value)


class Result(NamedTuple):
    """The result of a match.

    ``repetition`` is a draw: a player has met the same state for the third time.
    """

    winner: int | None  # 1, 2, or None
    who: str | None  # the name of the winner
    how: Literal["won", "drawn", "repetition", "resigned", "unfinished"]


class Match(HoldsStore):
    """A match of two players, from any position.

    `hint`, `play`, `reply` and `resign` raise a GameOverError if the match is over.

    >>> import tempfile, graphstore
    >>> path = tempfile.mkdtemp() + "/tictactoe.db"
    >>> graphstore.build("tictactoe", path).states
    765
    >>> with Match(path, "person", "perfect", start="X../.O./..X", seed=1) as match:
    ...     match.play("2").name, match.reply().name
    ('2', '6')
    """

    def __init__(
        self,
        store: Playable,
        first: str | Player = PERSON,
        second: str | Player = "perfect",
        *,
        start: Position | None = None,
        by: str = "value",
        seconds: float = SECONDS,
        seed: int | None = None,
    ) -> None:
        """Begin a match.

        Args:
            store: the solved game, open or as an address; then `close` the match. Or rules, or the
                name of a game, which is searched without a database.
            first: the side that makes the first move: ``person``, the name of an opponent as in
                `play.players.Player`, or a player.
            second: the other side, in the same way.
            start: a position as `Store.probe` takes it; by default the (first) start.
            by: ``value`` or ``margin``: which moves are best; see `store.probe.Probe.by`.
            seconds: the time limit of a search, for a reply or a hint.
            seed: of all random choices; by default a random one, which is recorded.

        Raises:
            OpponentError: there is no such opponent.
            GameOverError: the game is over at the start.
            PositionError, NotInStoreError: see `graphstore.store.store.Store.probe`.
        """
        self._hold(playable(store, seconds, by))
        self.store = beyond_book(self.store, seconds)
        with closed_on_error(self.close):
            self.order = by
            self._begin(first, second, start, arguments.seed(seed))

    def _begin(
        self, first: str | Player, second: str | Player, start: Position | None, seed: int | None
    ) -> None:
        store = self.store
        self.game: Game | None = store.game if store.has_rules else None
        self.seed = random.SystemRandom().randrange(2**32) if seed is None else seed
        chance = random.Random(self.seed)
        self._seats = tuple(
            None
            if each == PERSON
            else each
            if isinstance(each, Player)
            else Player(store, each, by=self.order, seed=chance)
            for each in (first, second)
        )
        self._probes = [
            store.start() if start is None else store.probe(arguments.position("start", start))
        ]
        self._probes[0].by(self.order)  # raises if there is no such order
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
                    "let the other side begin (--first)"
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
        """The current position and its moves, as the database has them or a search found them."""
        return self._probes[-1]

    def hint(self) -> Probe:
        """Return the current position with all its moves, best first."""
        self._check_in_play()
        self._probes[-1] = with_values(self.store, self.probe)
        return self.probe.by(self.order)

    @property
    def player(self) -> int:
        """The player to move, 1 or 2; if positions do not say, player 1 made the first move."""
        return self._player(len(self.turns))

    def _player(self, at: int) -> int:
        """Return the player to move after so many moves."""
        return self._probes[at].to_move or (self._first if at % 2 == 0 else 3 - self._first)

    @property
    def _seat(self) -> Player | None:
        return self._seats[self.player != self._first]

    @property
    def by(self) -> str:
        """The side that makes the next move: ``person``, or the name of an opponent."""
        return _called(self._seat)

    @property
    def opponents(self) -> tuple[str, str]:
        """The names of the sides that are player 1 and player 2."""
        first, second = map(_called, self._seats)
        return (first, second) if self._first == 1 else (second, first)

    @property
    def agents(self) -> dict[str, int]:
        """The player, 1 or 2, of each agent in the match; 0 if it plays itself."""
        found: dict[str, int] = {}
        for player, seat in zip((self._first, 3 - self._first), self._seats, strict=True):
            if seat is not None and seat.agent:
                found[seat.agent] = 0 if seat.agent in found else player
        return found

    @property
    def over(self) -> bool:
        """True if the match is over."""
        return self.result.how != "unfinished"

    @property
    def result(self) -> Result:
        """The result of the match so far."""
        if self._resigned:
            return self._won_by(3 - self.player, "resigned")
        if self.probe.ended:
            if self.probe.value == DRAW:
                return Result(None, None, "drawn")
            return self._won_by(self.player if self.probe.value == WIN else 3 - self.player, "won")
        met = Counter((probe.state, self._player(at)) for at, probe in enumerate(self._probes))
        again = met[self.probe.state, self.player] >= REPETITIONS
        return Result(None, None, "repetition" if again else "unfinished")

    def name_of(self, player: int) -> str:
        """Return the name of player 1 or 2 in this game."""
        players = PlainGame.players if self.game is None else self.game.players
        return players[player - 1]

    def name(self, move: Move) -> str:
        """Return the name of a move."""
        return move_text(self.store.namer, move.move)

    def read(self, text: Any) -> Move:
        """Return the legal move that a name, a number or the rules' own value means.

        Raises:
            MoveError: it cannot be read or is not legal here; the message says why.
        """
        text = move_name(text) if isinstance(text, tuple | Enum) else text
        move = (
            read_move(self.store.namer, text) if isinstance(text, str) else arguments.integer(text)
        )
        if move is None:
            raise MoveError(f"the move is {shown(text)}; it must be a text or an integer")
        for legal in self.probe.moves:
            if legal.move == move:
                return legal
        raise MoveError(self._why_not(move))

    def play(self, move: Any) -> Turn:
        """Make a move for the side ``person``: its name, its number or the rules' own value.

        Raises:
            MoveError: it cannot be read or is not legal.
            ValueError: it is an opponent's turn.
        """
        self._check_in_play()
        if self.by != PERSON:
            raise ValueError(f"it is the turn of {self.by}; reply() makes its move")
        return self._make(self.read(move))

    def reply(self) -> Turn | None:
        """Make the move of the opponent to move; return None if it resigns.

        Raises:
            ValueError: it is a person's turn.
        """
        self._check_in_play()
        seat = self._seat
        if seat is None:
            raise ValueError("it is a person's turn; play(move) makes the move")
        self._probes[-1] = seat.consider(self.probe)
        try:
            move = seat.pick(self.probe)
        except ResignedError:
            self._resigned = True
            return None
        return self._make(move)

    def undo(self) -> list[Turn]:
        """Take back the last move of ``person`` and all after it; return them, last first.

        Raises:
            MoveError: ``person`` has not moved yet.
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
        """Resign the match for the player to move."""
        self._check_in_play()
        self._resigned = True

    def first_mistake(self, player: int) -> Turn | None:
        """Return a player's first move that gave away a win or a draw, or None."""
        mistakes = (turn for turn in self.turns if turn.player == player and turn.lost_value)
        return next(mistakes, None)

    def as_dict(self) -> dict[str, Any]:
        """Return the record of the match as data for JSON, with the names of the columns.

        The columns of a move are those of the state that it leads to.
        """
        moves = [
            {
                "number": turn.number,
                "player": turn.player,
                "by": turn.by,
                "move": turn.move.move,
                "name": turn.name,
                **{k: v for k, v in turn.move._asdict().items() if k != "margin" or v is not None},
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
            **({} if self.order == "value" else {"order": self.order}),
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
        namer = self.store.namer
        names = [move_text(namer, each) for each in sorted(m.move for m in self.probe.moves)]
        more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
        legal = " ".join(names[:LISTED]) + more
        typed = shown(move_text(namer, move))[1:-1]
        if self.game is not None and self.store.info["extent"] == STRATEGY:
            here = np.array([self.game.read(self.probe.position)], dtype=np.int64)
            if move in self.game.expand(here).move:
                return (
                    f"{typed} is legal, but {self.store.address} holds a strategy, in which "
                    f"{self.name_of(self.player)} can only play {legal} here"
                )
        return f"{typed} is not legal here; legal: {legal}"


def _called(seat: Player | None) -> str:
    return PERSON if seat is None else seat.opponent
