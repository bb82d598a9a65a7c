"""Games of OpenSpiel, through its Python package: ``openspiel:breakthrough(rows=4,columns=3)``.

Two-player, deterministic, sequential, zero-sum games of perfect information. If a player moves
twice in a row, a forced pass of the other player (move -1) is inserted. The result of a game is the
sign of its returns. States with the same text and the same player to move are one position.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from graphstore.errors import GameNameError, PositionError, shown
from graphstore.rules.plain import PlainGame
from graphstore.util.extras import extra

PREFIX = "openspiel:"
PASS = -1


@dataclass(frozen=True)
class _Place:
    """A position: `mover` is to move, and `player` in the `state` of OpenSpiel.

    If they differ, the only move is that `mover` passes.
    """

    mover: int
    player: int
    text: str
    state: Any = field(compare=False)


class OpenSpielGame(PlainGame):
    """Rules of a game of OpenSpiel, for one position at a time."""

    def __init__(self, name: str) -> None:
        with extra("games of OpenSpiel need its package: pip install open_spiel"):
            import pyspiel
        self.reference = PREFIX + name
        if name.partition("(")[0].strip() not in pyspiel.registered_names():
            raise GameNameError(f"OpenSpiel has no game {shown(name)}")
        try:
            self._game = pyspiel.load_game(name)
        except Exception as error:
            reason = str(error).strip().splitlines()[0]
            raise GameNameError(f"OpenSpiel cannot load {shown(name)}: {reason}") from None
        self._refuse_others(pyspiel)
        self.rules = f"open_spiel {getattr(pyspiel, '__version__', 'unknown')}"
        self._queue: deque[_Place] | None = None
        self._by_text: dict[str, _Place] = {}

    def start(self) -> _Place:
        return self._place(self._game.new_initial_state(), 1)

    def moves(self, position: _Place) -> list[int]:
        if position.player != position.mover:
            return [PASS]
        return list(position.state.legal_actions())

    def play(self, position: _Place, move: int) -> _Place:
        if move == PASS:
            return self._place(position.state, 3 - position.mover)
        return self._place(position.state.child(move), 3 - position.mover)

    def outcome(self, position: _Place) -> int | None:
        if not position.state.is_terminal():
            return None
        worth: float = position.state.returns()[position.mover - 1]
        return (worth > 0) - (worth < 0)

    def to_move(self, position: _Place) -> int:
        return position.mover

    def text(self, position: _Place) -> str:
        """Return the player to move and OpenSpiel's text, its lines joined by ``/``."""
        forced = "" if position.player == position.mover else " passes"
        return f"{position.mover}{forced}: {position.text}"

    def parse(self, text: str) -> _Place:
        """Return the position of a text, found by play: OpenSpiel does not read texts."""
        if self._queue is None:
            self._queue = deque([self.start()])
            self._by_text = {self.text(self._queue[0]): self._queue[0]}
        while text not in self._by_text and self._queue:
            place = self._queue.popleft()
            if self.outcome(place) is None:
                for move in self.moves(place):
                    child = self.play(place, move)
                    if self._by_text.setdefault(self.text(child), child) is child:
                        self._queue.append(child)
        if text not in self._by_text:
            raise PositionError(f"{shown(text)} is not a position that {self.name} can reach")
        return self._by_text[text]

    def _place(self, state: Any, mover: int) -> _Place:
        player = mover if state.is_terminal() else state.current_player() + 1
        return _Place(mover, player, str(state).rstrip("\n").replace("\n", "/"), state)

    def _refuse_others(self, pyspiel: Any) -> None:
        kind, types = self._game.get_type(), pyspiel.GameType
        faults = {
            f"it has {self._game.num_players()} players, not two": self._game.num_players() != 2,
            "moves are simultaneous": kind.dynamics != types.Dynamics.SEQUENTIAL,
            "it has chance moves": kind.chance_mode != types.ChanceMode.DETERMINISTIC,
            "information is imperfect": (kind.information != types.Information.PERFECT_INFORMATION),
            "it is not zero-sum": kind.utility != types.Utility.ZERO_SUM,
        }
        for what, wrong in faults.items():
            if wrong:
                raise GameNameError(f"{self.name} cannot be solved: {what}")
