"""The protocol `Game`, which all rules implement; the optional `NamesMoves`, `Nimble`, `Scored`.

A *position* is a board as the user sees it; inside the package it is an integer in [0, 2**63).
Each method of `Game` (a *verb*) takes an array of positions, so that numpy explores built-in games.
`graphstore.rules.adapter` derives the verbs from rules for one position.
"""

import inspect
import os
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import wraps
from operator import index
from threading import RLock
from typing import (
    Any,
    Final,
    NamedTuple,
    NoReturn,
    Protocol,
    TypeAlias,
    TypeVar,
    cast,
    runtime_checkable,
)
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from graphstore.errors import GraphstoreError, MoveError, RulesError, shown, visible
from graphstore.util import output
from graphstore.util.arrays import distinct

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
    score: float, win_depth: int | None, lose_depth: int | None, remoteness: int | None
) -> tuple[float, int, int, int]:
    """Return a sort key that puts the best move first.

    Moves are ordered by score, then by the fewest plies to a win or the most to a loss, then by the
    winner's own moves, which differ only if a move may keep the turn.
    """
    until = 0 if win_depth == lose_depth else remoteness or 0  # both are None in a draw
    return -score, until if lose_depth is None else -until, win_depth or 0, -(lose_depth or 0)


def quiet(phase: str, done: int, total: int | None) -> None:
    """Ignore progress: the default callback."""


class Moves(NamedTuple):
    """All m legal moves of an array of positions, ascending by parent, then by move."""

    parent: Ints  # int64[m], the index of the position in the expanded array
    move: NDArray[np.int32]  # int32[m], the move, as the rules number it
    child: Ints  # int64[m], the position after it, in the orientation of its parent


@runtime_checkable
class Game(Protocol):
    """A two-player game of perfect information without chance.

    Arrays of positions are int64[n]. A move keeps the turn if `turns` is 1 before and after it, or
    2; so `canonical` must not exchange the players. Where `turns` is 0, turns alternate.
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


@runtime_checkable
class Scored(Protocol):
    """Results that are scores, which a `Game` may add."""

    def margins(self, positions: Ints) -> NDArray[np.int16]:
        """Return int16[n]: by how much the player to move has won; negative if he has lost.

        Of ended positions, the difference of the scores; it has the sign of `Game.outcomes`, and is
        32,767 at most. Of positions in play, 0.
        """


MOST_MARGIN: Final = np.iinfo(np.int16).max


def is_scored(game: Game) -> bool:
    """Return True if the results of a game are scores."""
    return isinstance(game, Scored) and getattr(game, "scored", True)


def margins_at(game: Game, positions: Ints) -> Ints:
    """Return `Scored.margins` of positions, int64[n]; 0 in a game without scores.

    Raises:
        RulesError: a margin is not an integer of up to `MOST_MARGIN`.
    """
    if not is_scored(game):
        return np.zeros(len(positions), dtype=np.int64)
    found = np.asarray(cast(Scored, game).margins(positions))
    if found.shape != positions.shape or found.dtype.kind != "i":
        fault = f"{found.dtype} of shape {found.shape}"
    elif (wide := np.flatnonzero(abs(found.astype(np.int64)) > MOST_MARGIN)).size:
        fault = f"{found[wide[0]]} at {game.texts(positions[wide[:1]])[0]}"
    else:
        return found.astype(np.int64)
    raise RulesError(
        f"{game.name}: margins() gives {fault}; give int16 for each position, at most "
        f"{MOST_MARGIN:,}"
    )


def margins_of(game: Game, positions: Ints, outcome: Codes) -> NDArray[np.int16] | None:
    """Return the margins of ended positions, int16[n]; None in a game without scores.

    `outcome` are those of the positions; in play there is a 0.

    Raises:
        RulesError: see `margins_at`, or a margin has not the sign of the outcome.
    """
    if not is_scored(game):
        return None
    found = np.zeros(len(positions), dtype=np.int16)
    ended = np.flatnonzero(outcome != IN_PLAY)
    found[ended] = margins_at(game, positions[ended])
    wrong = ended[np.sign(found[ended]) != outcome[ended]]
    if wrong.size:
        where = game.texts(positions[wrong[:1]])[0]
        raise RulesError(
            f"{game.name}: margins() is {found[wrong[0]]} at {where}, where outcomes() is "
            f"{outcome[wrong[0]]}; a margin has the sign of the outcome"
        )
    return found


class MoveNames:
    """The names of moves in a database, `names` by number, for use without the rules."""

    name: Final = "the database"

    def __init__(self, names: Mapping[int, str]) -> None:
        self.names = {move: visible(name) for move, name in sorted(names.items())}
        self.names_moves = bool(names)
        self._moves = {name: move for move, name in reversed(self.names.items())}

    def write_move(self, move: int) -> str:
        """See `NamesMoves`; the number if the move has no name."""
        return self.names.get(move, str(move))

    def read_move(self, text: str) -> int:
        """See `NamesMoves`."""
        if text not in self._moves:
            raise MoveError(f"{shown(text)} is not the name of a move")
        return self._moves[text]


Namer: TypeAlias = Game | MoveNames | None
"""The writer and reader of moves: the rules, or names without rules; None for numbers."""


def names_moves(game: Namer) -> bool:
    """Return True if the moves of a game have names."""
    return isinstance(game, NamesMoves) and getattr(game, "names_moves", True)


def move_text(game: Namer, move: int) -> str:
    """Return the name of a move in the game, or its number if the game has no names."""
    if isinstance(game, MoveNames):  # of any words, because the file may be damaged
        return game.write_move(move)
    if not isinstance(game, NamesMoves):
        return str(move)
    try:
        with asking:
            name = checked_text(game, "write_move()", game.write_move(move), move)
    except BaseException as error:
        blame(f"{game.name}: write_move({move}) failed", error)
    if name.split() != [name] or "," in name or not name.isprintable():
        raise RulesError(
            f"{game.name}: write_move() of {move} is {_brief(repr(name))}; "
            "it must be one word without commas"
        )
    return name


def names_of(game: Game, moves: NDArray[np.int32]) -> dict[int, str]:
    """Return the name of each of the moves, by number, ascending; without names the numbers."""
    if not isinstance(game, NamesMoves):
        return {}
    names = {move: move_text(game, move) for move in distinct(moves).tolist()}
    first = {name: move for move, name in reversed(names.items())}
    if len(first) < len(names):
        move = next(move for move, name in names.items() if first[name] != move)
        raise RulesError(
            f"{game.name}: the moves {first[names[move]]} and {move} have one name, "
            f"{shown(names[move])}; names must differ"
        )
    return names


def unless_numbers(names: dict[int, str]) -> dict[int, str]:
    """Return the names of moves; empty if all are the numbers of the moves."""
    return names if any(str(move) != name for move, name in names.items()) else {}


def read_move(game: Namer, text: str) -> int:
    """Return the move of a text, its name in the game or its number; it may be illegal."""
    text = text.strip()
    fault = MoveError(f"{shown(text)} is not a move; write the number of a move")
    if isinstance(game, NamesMoves):
        try:
            with asking:
                return index(game.read_move(text))
        except MoveError as error:
            fault = error
        except Exception:  # a user's rules may raise any error, such as that of int()
            fault = MoveError(f"{shown(text)} is not a move of {game.name}")
    if re.fullmatch(r"[+-]?[0-9]{1,10}", text):
        return int(text)
    raise fault


class CycleError(GraphstoreError):
    """Play returned to a position during a search."""


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
        goal; if no move is left, it returns False. It never returns nodes of ended games. The
        opponent is to move at the nodes: if moves may keep the turn, they are after a whole turn.
        """


def after_turn(node: Any, goal: int, moves: Callable[[list[Any]], Iterable[Any]]) -> Any:
    """Return True if some turn from a node gets at least `goal`; else the nodes after all turns.

    A turn may have several moves. `moves` returns (child, its outcome or None, True if the move
    keeps the turn) for the moves of some nodes. A turn without end raises a CycleError.
    """
    after, wave, met, length = dict[Any, None](), [node], {node}, 0
    while wave:
        length, again = length + 1, dict[Any, None]()
        if length > len(met):
            raise CycleError
        for child, outcome, keeps in moves(wave):
            if outcome is None:
                (again if keeps else after)[child] = None
            elif (outcome if keeps else -outcome) >= goal:
                return True
        wave = [*again]
        met.update(wave)
    return [*after] or False


VERBS: Final = (
    *("start_states", "expand", "outcomes", "turns", "canonical", "orbits", "texts", "read"),
    *("read_many", "board", "picture", "search_from", "_look", "write_move", "read_move"),
    "margins",
)
_ATTRIBUTES: Final[dict[str, tuple[str, Callable[[Any], bool]]]] = {
    "name": ("a text of one line", lambda value: _is_label(value)),
    "rules": ("a text of one line", lambda value: _is_label(value)),
    "players": (
        "two texts of one line",
        lambda value: isinstance(value, tuple | list) and [*map(_is_label, value)] == [True] * 2,
    ),
    "shape": (
        "(rows, columns) or None",
        lambda value: value is None or [index(each) > 0 for each in value] == [True] * 2,
    ),
    "max_plies": ("a whole number or None", lambda value: value is None or index(value) >= 0),
    "margins": ("True or False", lambda value: isinstance(value, bool)),
}
"""Per attribute of `Game` and `PlainGame`: a description of the allowed values, and their test."""

LONGEST: Final = 20_000
"""The most bytes of a text of the rules. SQL reads rows of up to 100,000 bytes."""


class _Asking:
    """A context in which a user's code runs, in one thread at a time; see `DataOutput`."""

    def __init__(self) -> None:
        self._lock = RLock()

    def __enter__(self) -> None:
        self._lock.acquire()
        output.rules.depth += 1

    def __exit__(self, *_: object) -> None:
        output.rules.depth -= 1
        self._lock.release()


asking: Final = _Asking()
if hasattr(os, "register_at_fork"):  # a thread that does not exist in the child may be inside
    os.register_at_fork(after_in_child=asking.__init__)  # type: ignore[misc]
_guarded: Final = WeakSet[type]()
Verb = TypeVar("Verb", bound=Callable[..., Any])


def guard(game: Game) -> None:
    """Refuse a user's rules with wrong attributes, and guard their verbs; see `guarded`.

    Raises:
        RulesError: an attribute has a wrong value, or a method is async.
    """
    kind = type(game)
    if kind.__module__.startswith("graphstore."):
        return
    who = kind.__name__
    check_attributes(game, who, [name for name in _ATTRIBUTES if name != "margins"])
    if not callable(getattr(kind, "margins", guard)):
        raise RulesError(f"{who}: margins is not a method; write def margins(self, positions)")
    for name in VERBS if kind not in _guarded else ():
        verb = inspect.getattr_static(kind, name, None)
        refuse_async(who, name, verb)
        if inspect.isfunction(verb):
            setattr(kind, name, guarded(verb, is_users=True))
    _guarded.add(kind)


def check_attributes(game: Any, who: str, names: Iterable[str]) -> None:
    """Raise a RulesError if an attribute of a user's rules has a wrong value."""
    for name in names:
        (wanted, is_right), value = _ATTRIBUTES[name], None
        try:
            with asking:
                value = getattr(game, name)
                right = is_right(value)
        except TypeError:
            right = False
        except BaseException as error:
            blame(f"{who}: {name} failed", error)
        if not right:
            raise RulesError(f"{who}: {name} is {_brief(repr(value))}; it must be {wanted}")


def refuse_async(who: str, name: str, method: Any) -> None:
    """Raise a RulesError if a user's method is async."""
    if inspect.iscoroutinefunction(method):
        raise RulesError(f"{who}: {name}() is async; write it without the word async")


def guarded(verb: Verb, *, is_users: bool = False) -> Verb:
    """Return a verb that runs in `asking` and whose errors are explained.

    Verbs that the user wrote must return positions and texts as `Game` says.
    """
    name = verb.__name__

    @wraps(verb)
    def asked(game: Game, *arguments: Any) -> Any:
        with asking:
            try:
                answer = verb(game, *arguments)
                if is_users:
                    _check_answer(game, name, answer, *arguments)
                return answer
            except MemoryError:
                raise
            except BaseException as error:
                blame(f"{game.name}: {name}() failed", error)

    return cast(Verb, asked)


def _check_answer(game: Game, verb: str, answer: Any, *arguments: Any) -> None:
    """Raise a RulesError if a verb returns texts or positions that cannot be stored."""
    if verb == "board":
        checked_text(game, "board()", answer, *arguments)
    elif verb == "texts":
        for position, text in zip(arguments[0].tolist(), answer, strict=True):
            checked_text(game, "texts()", text, position)
    elif verb in ("start_states", "expand", "canonical", "read_many"):
        ids = np.asarray(answer.child if verb == "expand" else answer)
        if ids.dtype.kind != "i" or (ids < 0).any():
            raise RulesError(
                f"{game.name}: {verb}() gives the positions {_brief(repr(ids))}; "
                "they must be int64, 0 or more"
            )


def blame(
    what: str, error: BaseException, kind: Callable[[str], GraphstoreError] = RulesError
) -> NoReturn:
    """Raise the error for an error in a user's code; errors of graphstore and Ctrl-C stay.

    Any other error becomes one of `kind`, also SystemExit.
    """
    if isinstance(error, GraphstoreError | KeyboardInterrupt):
        raise error
    why = f"{type(error).__name__}: {_brief(str(error))}".removesuffix(": ")
    raise kind(f"{what}: {why}") from error


def checked_text(game: Game, verb: str, text: Any, *where: Any) -> str:
    """Return the text that a user's method returns, or raise a RulesError if it cannot be stored.

    It must be a str of UTF-8 of up to `LONGEST` bytes; `where` is the argument of the method.
    """
    why = "it must be a str"
    if isinstance(text, str):
        try:
            size = len(text) if text.isascii() else len(text.encode())
        except UnicodeEncodeError:
            why = "UTF-8 does not have this character"
        else:
            if size <= LONGEST:
                return text
            why = f"it has {size:,} bytes, more than {LONGEST:,}"
    of = f" of {_brief(repr(where[0]))}" if where else ""
    raise RulesError(f"{game.name}: {verb}{of} is {_brief(repr(text))}; {why}")


def _is_label(value: Any) -> bool:
    """Return True for a text of one line that is not too long and has no control characters."""
    return (
        isinstance(value, str)
        and 0 < len(value) <= LONGEST // 4
        and not re.search(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]", value)
    )


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
