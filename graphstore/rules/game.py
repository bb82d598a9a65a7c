"""The protocol `Game`, which all rules implement, and the optional `NamesMoves` and `Nimble`.

A *position* is a board as the user sees it; inside the package it is an integer in [0, 2**63).
Each method of `Game` (a *verb*) takes an array of positions, so that numpy explores built-in games.
`PlainGame` derives the verbs from rules for one position.
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
"""Called as ``progress(phase, done, total)`` during long work; total is None if unknown."""

WIN: Final = 1
DRAW: Final = 0
LOSS: Final = -1
IN_PLAY: Final = 2
"""The four results of `Game.outcomes`; the first three are values for the player to move."""


def best_first(
    score: float, win_depth: int | None, lose_depth: int | None
) -> tuple[float, int, int]:
    """Return a sort key that puts the best move first.

    Moves are ordered by score, then by the fewest moves to a win, then by the most to a loss.
    """
    return -score, win_depth or 0, -(lose_depth or 0)


def quiet(phase: str, done: int, total: int | None) -> None:
    """Ignore progress: the default callback."""


class Moves(NamedTuple):
    """All m legal moves of an array of positions, ascending by parent, then by move."""

    parent: Ints  # int64[m], the index of the position in the expanded array
    move: NDArray[np.int32]  # int32[m], the move, as the rules number it
    child: Ints  # int64[m], the position after it, in the orientation of its parent


@runtime_checkable
class Game(Protocol):
    """A two-player game of perfect information without chance, in which turns alternate.

    Arrays of positions are int64[n]. A game with extra turns inserts a forced pass.
    """

    @property
    def name(self) -> str:
        """The name from which `graphstore.games.find_game` rebuilds this game."""

    @property
    def rules(self) -> str:
        """The version of the rules: it changes whenever a state, an edge or an id would."""

    @property
    def shape(self) -> tuple[int, int] | None:
        """(rows, columns) of a board on which move m fills cell m, row by row; else None."""

    @property
    def max_plies(self) -> int | None:
        """The most moves that a game can last; None if the rules do not say."""

    @property
    def players(self) -> tuple[str, str]:
        """The names of the players 1 and 2."""

    def start_states(self) -> Ints:
        """Return the positions in which a game may begin, int64[s] with s >= 1."""

    def expand(self, positions: Ints) -> Moves:
        """Return every legal move of positions, all of them in play."""

    def outcomes(self, positions: Ints) -> Codes:
        """Return int8[n]: `WIN`, `DRAW`, `LOSS` for the player to move, or `IN_PLAY`."""

    def turns(self, positions: Ints) -> Codes:
        """Return int8[n]: 1 or 2, the player to move; 0 where the rules do not say."""

    def canonical(self, positions: Ints) -> Ints:
        """Return int64[n]: the state of each position, one for each symmetry class."""

    def orbits(self, positions: Ints) -> Ints:
        """Return int64[n]: the number of positions in each position's symmetry class."""

    def texts(self, positions: Ints) -> list[str]:
        """Return the text of each position; `read` returns the position of a text."""

    def read(self, text: str) -> int:
        """Return the position of a text, in its orientation, or raise a PositionError."""

    def read_many(self, texts: Sequence[str]) -> Ints:
        """Return int64[n]: `read` of every text, with its errors."""

    def board(self, position: int) -> str:
        """Return a drawing of the position, of one or more lines."""


@runtime_checkable
class NamesMoves(Protocol):
    """Names for moves, which a `Game` may add."""

    def write_move(self, move: int) -> str:
        """Return the name of a move: one word without commas."""

    def read_move(self, text: str) -> int:
        """Return the move of a name, or raise a MoveError."""


def move_text(game: Game | None, move: int) -> str:
    """Return the name of a move in the game, or its number if the game has no names."""
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
    """Return the move of a text, its name in the game or its number; it may be illegal."""
    text = text.strip()
    fault = MoveError(f"{shown(text)} is not a move; write its number")
    if isinstance(game, NamesMoves):
        try:
            return index(game.read_move(text))
        except MoveError as error:
            fault = error
        except Exception:  # a user's rules may raise any error, such as that of int()
            fault = MoveError(f"{shown(text)} is not a move of {game.name}")
    if re.fullmatch(r"[+-]?[0-9]{1,10}", text):
        return int(text)
    raise fault


Look: TypeAlias = Callable[[Any, int], bool | list[Any]]
"""Called as ``look(node, goal)``; see `Nimble`."""


@runtime_checkable
class Nimble(Protocol):
    """Rules for one position at a time, which a `Game` may add for a faster search."""

    def search_from(self, position: int) -> tuple[Hashable, Look]:
        """Return the node of a position in play, and a function that evaluates or expands nodes.

        A node is a hashable value that determines the rest of the game; the more positions share
        one, the faster the search. ``look(node, goal)`` returns True or False if it sees at once
        whether the player to move gets at least `goal`, `WIN` or `DRAW`. Else it returns the nodes
        after the moves, the most promising first. It may leave out moves that certainly miss the
        goal; if no move is left, it returns False. It never returns nodes of ended games.
        """


VERBS: Final = (
    *("start_states", "expand", "outcomes", "turns", "canonical", "orbits", "texts", "read"),
    *("read_many", "board", "search_from", "_look", "write_move", "read_move"),
)
_LOCKS: Final[dict[type, Any]] = {}
if hasattr(os, "register_at_fork"):  # a thread that does not exist in the child may hold one
    os.register_at_fork(after_in_child=_LOCKS.clear)


def one_thread_at_a_time(game: Game) -> None:
    """Lock the verbs of a user's class of rules, so that one thread at a time runs them."""
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
    """Return the error for a position in play without a move."""
    return RulesError(
        f"{game.name}: {text} has no move and no result; "
        "the rules must give it a result, or a move such as a pass"
    )


def _brief(text: str) -> str:
    """Return a text as one line, shortened for a message."""
    line = " ".join(text.split())
    return line if len(line) <= 100 else f"{line[:64]} ... {line[-31:]}"
