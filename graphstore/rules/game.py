"""What the rules of a game must answer: `Game`, in arrays, and `PlainGame`, for one position.

A *position* is a board as the user sees it; inside the package it is an integer in [0, 2**63).
Every verb of `Game` takes a whole array of positions, so that a built-in game is explored by
numpy. `PlainGame` takes rules for one position and supplies the arrays.
"""

import inspect
import os
import re
from collections.abc import Callable, Hashable, Sequence
from functools import wraps
from operator import index
from threading import RLock
from typing import Any, Final, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from graphstore.errors import GraphstoreError, MoveError, RulesError, shown

Ints: TypeAlias = NDArray[np.int64]
Codes: TypeAlias = NDArray[np.int8]
Progress: TypeAlias = Callable[[str, int, int | None], None]
"""Called as ``progress(phase, done, total)`` while work goes on; total is None if unknown."""

WIN: Final = 1
DRAW: Final = 0
LOSS: Final = -1
IN_PLAY: Final = 2
"""The four answers of `Game.outcomes`; the first three are values for the player to move."""


def best_first(
    score: float, win_depth: int | None, lose_depth: int | None
) -> tuple[float, int, int]:
    """Return what orders moves best first: score, the fewest moves to a win, the most to a loss."""
    return -score, win_depth or 0, -(lose_depth or 0)


def quiet(phase: str, done: int, total: int | None) -> None:
    """Report no progress: the default callback."""


class Moves(NamedTuple):
    """All m legal moves of an array of positions, ascending by parent, then by move."""

    parent: Ints  # int64[m], the index of the position in the array that was expanded
    move: NDArray[np.int32]  # int32[m], what was played, as the rules number it
    child: Ints  # int64[m], the position it leads to, in the orientation of its parent


@runtime_checkable
class Game(Protocol):
    """A two-player game of perfect information without chance, in which turns alternate.

    Arrays of positions are int64[n]. A game with extra turns inserts a forced pass.
    """

    @property
    def name(self) -> str:
        """The text that `graphstore.games.find_game` turns back into this very game."""

    @property
    def rules(self) -> str:
        """The version of the rules: it changes whenever a state, an edge or an id would."""

    @property
    def shape(self) -> tuple[int, int] | None:
        """(rows, columns) of a board on which move m fills cell m, row by row; else None."""

    @property
    def max_plies(self) -> int | None:
        """After how many moves a game is over at the latest; None if the rules do not tell."""

    @property
    def players(self) -> tuple[str, str]:
        """What the players 1 and 2 are called."""

    def start_states(self) -> Ints:
        """Return the positions in which a game may begin, int64[s] with s >= 1."""

    def expand(self, positions: Ints) -> Moves:
        """Return every legal move of positions that are all still in play."""

    def outcomes(self, positions: Ints) -> Codes:
        """Return int8[n]: `WIN`, `DRAW`, `LOSS` for the player to move, or `IN_PLAY`."""

    def turns(self, positions: Ints) -> Codes:
        """Return int8[n]: 1 or 2, the player to move; 0 where the rules do not tell."""

    def canonical(self, positions: Ints) -> Ints:
        """Return int64[n]: the state that stands for each position's symmetry class."""

    def orbits(self, positions: Ints) -> Ints:
        """Return int64[n]: how many positions each one's symmetry class holds."""

    def texts(self, positions: Ints) -> list[str]:
        """Return each position as a user would write it; `read` takes it back."""

    def read(self, text: str) -> int:
        """Return the position that was typed, as oriented; raise a PositionError if it is none."""

    def read_many(self, texts: Sequence[str]) -> Ints:
        """Return int64[n], `read` of every text; raises what `read` raises."""

    def board(self, position: int) -> str:
        """Return the position drawn on as many lines as it needs."""


@runtime_checkable
class NamesMoves(Protocol):
    """What a game may have beside `Game`: names for its moves."""

    def write_move(self, move: int) -> str:
        """Return the name of a move, in one word without commas."""

    def read_move(self, text: str) -> int:
        """Return the move of a name; raise MoveError if no move has it."""


def move_text(game: Game | None, move: int) -> str:
    """Return the name that the game has for a move, else its number."""
    if not isinstance(game, NamesMoves):
        return str(move)
    try:
        return str(game.write_move(move))
    except GraphstoreError:
        raise
    except Exception as error:
        why = f"{type(error).__name__}: {_brief(str(error))}"
        raise RulesError(f"{game.name}: write_move({move}) failed: {why}") from error


def read_move(game: Game | None, text: str) -> int:
    """Return the move that was typed, by its name in the game or its number, legal or not."""
    text = text.strip()
    fault = MoveError(f"{shown(text)} is not a move; write its number")
    if isinstance(game, NamesMoves):
        try:
            return index(game.read_move(text))
        except MoveError as error:
            fault = error
        except Exception:  # a user's rules may raise whatever int() and the like do
            fault = MoveError(f"{shown(text)} is not a move of {game.name}")
    if re.fullmatch(r"[+-]?[0-9]{1,10}", text):
        return int(text)
    raise fault


Look: TypeAlias = Callable[[Any, int], bool | list[Any]]
"""Called as ``look(node, goal)``; see `Nimble`."""


@runtime_checkable
class Nimble(Protocol):
    """What a game may have beside `Game`: rules for one position at a time, to search faster."""

    def search_from(self, position: int) -> tuple[Hashable, Look]:
        """Return the node of a position that is not over, and how to look at nodes.

        A node is any hashable value that tells all that play from it depends on; the more positions
        share one, the better. ``look(node, goal)`` answers whether the player to move there gets at
        least `goal`, `WIN` or `DRAW`, if that is seen at once. Else it returns the nodes that the
        moves lead to, the most promising first. Those by which the goal is surely missed may be
        left out; if they all are, the answer is False. Nodes that are over are never returned.
        """


VERBS: Final = (
    *("start_states", "expand", "outcomes", "turns", "canonical", "orbits", "texts", "read"),
    *("read_many", "board", "search_from", "_look", "write_move", "read_move"),
)
_LOCKS: Final[dict[type, Any]] = {}
if hasattr(os, "register_at_fork"):  # a thread that the child lacks may hold one
    os.register_at_fork(after_in_child=_LOCKS.clear)


def one_thread_at_a_time(game: Game) -> None:
    """Let the verbs of a user's rules run in one thread at a time, for each class of rules."""
    kind = type(game)
    if kind in _LOCKS or kind.__module__.startswith("graphstore.games."):
        return
    _LOCKS[kind] = RLock()

    def locked(verb: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(verb)
        def alone(*arguments: Any) -> Any:
            with _LOCKS.get(kind) or _LOCKS.setdefault(kind, RLock()):
                return verb(*arguments)

        return alone

    for name in VERBS:
        verb = inspect.getattr_static(kind, name, None)
        if inspect.isfunction(verb):
            setattr(kind, name, locked(verb))


Position: TypeAlias = Any  # any hashable; Hashable itself would reject `def moves(self, p: X)`


def stuck(game: Game, text: str) -> RulesError:
    """Return what is wrong with a position in play that has no move."""
    return RulesError(
        f"{game.name}: {text} has no move and no result; "
        "the rules must say what it is worth, or give a move (a pass is one)"
    )


def _brief(text: str) -> str:
    """Return a text in one line, and cut where it is too long for a message."""
    line = " ".join(text.split())
    return line if len(line) <= 100 else f"{line[:64]} ... {line[-31:]}"
