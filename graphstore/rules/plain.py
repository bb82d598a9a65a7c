"""`PlainGame`, which turns rules for one position at a time into a `Game` on arrays."""

import ast
import inspect
import warnings
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import fields, is_dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import islice
from operator import index
from pathlib import Path
from typing import Any, Final, NoReturn, Self, TypeGuard

import numpy as np
from numpy.typing import NDArray

from graphstore.errors import PositionError, RulesError, shown
from graphstore.rules import sources
from graphstore.rules.game import (
    DRAW,
    IN_PLAY,
    LOSS,
    WIN,
    Codes,
    Ints,
    Look,
    Moves,
    Position,
    _brief,
    blame,
    checked_text,
    stuck,
)


class PlainGame:
    """The base class of a user's rules: a subclass is a `Game`.

    Write `start` (or `starts`), `moves`, `play` and `outcome` for one position at a time. Optional:
    `symmetries` (fewer states), `to_move` (which player wins), `text` and `parse`, and the
    `write_move` and `read_move` of `NamesMoves`.
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
    >>> Countdown().expand(np.array([7])).child.tolist()
    [6, 5]
    """

    reference: str = ""
    """The source of the rules, as ``FILE.py:NAME``; empty if they were not loaded."""
    origin: str = ""
    """The reference with the whole path of the file, for other processes."""
    shape: tuple[int, int] | None = None
    players: tuple[str, str] = ("player 1", "player 2")
    max_plies: int | None = None

    @property
    def name(self) -> str:
        """The reference of the rules, or the name of the class."""
        return self.reference or type(self).__name__

    @cached_property
    def rules(self) -> str:
        """A digest of the class's file and of its imports from the same folder, or ``unknown``."""
        return self._digest(sources.digest)

    @cached_property
    def rules_alone(self) -> str:
        """The digest of the class's file alone, as databases of earlier versions hold it."""
        return self._digest(sources.digest_alone)

    def _digest(self, of: Callable[[Path], str]) -> str:
        try:
            return of(Path(inspect.getfile(type(self))).resolve())
        except (TypeError, OSError):
            return "unknown"

    # The rules, for one position.

    def start(self) -> Position:
        """Return the position in which a game begins."""
        raise RulesError(
            f"{self.name} has no start: write start(self), or starts(self) for several"
        )

    def starts(self) -> Iterable[Position]:
        """Return all positions in which a game may begin; by default only `start`."""
        return (self.start(),)

    def moves(self, position: Position) -> Iterable[int]:
        """Return the legal moves of a position in play, as distinct integers."""
        raise RulesError(f"{self.name} has no moves: write moves(self, position)")

    def play(self, position: Position, move: int) -> Position:
        """Return the position after a legal move, without changing the argument."""
        raise RulesError(f"{self.name} cannot play: write play(self, position, move)")

    def outcome(self, position: Position) -> int | None:
        """Return +1, 0 or -1 if the player to move has won, drawn or lost; None in play."""
        raise RulesError(f"{self.name} has no outcome: write outcome(self, position)")

    def to_move(self, position: Position) -> int | None:
        """Return 1 or 2, the player to move, or None if the position does not show it."""
        return None

    def symmetries(self, position: Position) -> Iterable[Position]:
        """Return the images of a position under the symmetries, with or without the position."""
        return ()

    def text(self, position: Position) -> str:
        """Return the text of a position; different positions must have different texts."""
        return plain_text(position)

    def parse(self, text: str) -> Position:
        """Return the position of a text; by default the text is a Python literal."""
        return plain_value(text, like=self._first)

    # The verbs of `Game`. Each position that was seen is kept under its id.

    _met = cached_property[dict[int, Position]](lambda _: {})
    _ids = cached_property[dict[Position, int]](lambda _: {})
    _classes = cached_property[dict[int, tuple[int, int]]](lambda _: {})
    _first = cached_property[Position](lambda self: next(iter(self.starts())))

    def start_states(self) -> Ints:
        """See `Game.start_states`."""
        try:
            starts = _listed(self.starts())
        except BaseException as error:
            self._blame("starts()", error)
        if not starts:
            raise RulesError(
                f"{self.name}: starts() is empty; it must return at least one position"
            )
        return np.array([self._id(position) for position in starts], dtype=np.int64)

    def expand(self, positions: Ints) -> Moves:
        """See `Game.expand`."""
        counts, moves, children = [], list[int](), list[int]()
        for key in positions.tolist():
            position = self._position(key)
            try:
                legal = sorted(map(index, _listed(self.moves(position))))
                played = [self.play(position, move) for move in legal]
            except BaseException as error:
                self._blame("moves() or play()", error, position)
            twice = len({*legal}) != len(legal)
            if twice or (legal and not -(2**31) <= legal[0] <= legal[-1] < 2**31):
                fault = "lists a move twice" if twice else "must be 32-bit integers"
                where = self._text(position)
                raise RulesError(f"{self.name}: moves() of {where} {fault}: {_brief(str(legal))}")
            children += map(self._id, played)
            moves += legal
            counts.append(len(legal))
        return Moves(
            np.repeat(np.arange(len(counts), dtype=np.int64), counts),
            np.array(moves, dtype=np.int32),
            np.array(children, dtype=np.int64),
        )

    def outcomes(self, positions: Ints) -> Codes:
        """See `Game.outcomes`."""
        return self._codes("outcome", (WIN, DRAW, LOSS, None), IN_PLAY, positions)

    def turns(self, positions: Ints) -> Codes:
        """See `Game.turns`."""
        if type(self).to_move is PlainGame.to_move:
            return np.zeros(len(positions), dtype=np.int8)
        return self._codes("to_move", (1, 2, None), 0, positions)

    def canonical(self, positions: Ints) -> Ints:
        """See `Game.canonical`: the image with the smallest int, or with the smallest text."""
        if type(self).symmetries is PlainGame.symmetries:
            return positions
        return np.array([self._class(key)[0] for key in positions.tolist()], dtype=np.int64)

    def orbits(self, positions: Ints) -> Ints:
        """See `Game.orbits`."""
        if type(self).symmetries is PlainGame.symmetries:
            return np.ones(len(positions), dtype=np.int64)
        return np.array([self._class(key)[1] for key in positions.tolist()], dtype=np.int64)

    def _image_ids(self, position: int) -> list[int]:
        """Return the ids of a position and of its images under the symmetries, the least first."""
        if type(self).symmetries is PlainGame.symmetries:
            return [position]
        images = sorted(self._images(self._position(position)), key=self._rank)
        return [self._id(image) for image in images]

    def texts(self, positions: Ints) -> list[str]:
        """See `Game.texts`."""
        return [self._text(self._position(key)) for key in positions.tolist()]

    def read(self, text: str) -> int:
        """See `Game.read`."""
        try:
            return self._id(self.parse(text))
        except PositionError:
            raise
        except Exception as error:
            known = self._known(text)
            if known is None:
                raise PositionError(
                    f"{shown(text)} is not a position of {self.name}: {_brief(str(error))}"
                ) from error
            return known
        except BaseException as error:
            self._blame(f"parse() of {shown(text)}", error)

    def read_many(self, texts: Sequence[str]) -> Ints:
        """See `Game.read_many`."""
        return np.array([self.read(text) for text in texts], dtype=np.int64)

    def board(self, position: int) -> str:
        """See `Game.board`: the text, with a new line at each ``/``."""
        return self.texts(np.array([position]))[0].replace("/", "\n")

    def search_from(self, position: int) -> tuple[Hashable, Look]:
        """See `Nimble`: a node is the smallest image of a position."""
        return self._least(self._position(position))[0], self._look

    def hashed(self, positions: Ints) -> NDArray[np.bool_]:
        """Return bool[n]: True if an id is the hash of a position's text."""
        return np.array([not _is_id(self._position(key)) for key in positions.tolist()], np.bool_)

    def spelled(self, positions: Ints) -> list[str]:
        """Return `texts`, after a check that `parse` returns the position of each text.

        Raises:
            RulesError: `parse` fails, or returns another position.
        """
        texts = []
        for key in positions.tolist():
            position = self._position(key)
            text = self._text(position)
            try:
                same = self.parse(text)
            except BaseException as error:
                self._blame(f"parse() of {shown(text)}", error)
            if same != position:
                raise RulesError(
                    f"{self.name}: parse() of {shown(text)} is {_brief(repr(same))}, but the text "
                    f"is the text() of {_brief(repr(position))}; a build out of core needs parse() "
                    "to return the same position"
                )
            texts.append(text)
        return texts

    def afresh(self) -> Self:
        """Return a copy of the rules that has seen no positions."""
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        for kept in ("_met", "_ids", "_classes"):
            vars(other).pop(kept, None)
        return other

    def meet(self, ids: Ints) -> None:
        """Add positions that are their own ids to those that were seen."""
        for key in ids.tolist():
            self._id(key)

    def _id(self, position: Position) -> int:
        # True and 1.0 are equal to 1 in a dict, but their texts differ.
        kept = type(position) not in _LIKE_INTS
        try:
            key = self._ids.get(position) if kept else None
        except Exception as error:
            raise RulesError(
                f"{self.name}: {_brief(repr(position))} cannot be a position: {error}; "
                "build it from tuples and frozensets"
            ) from error
        if key is None:
            position = position.item() if isinstance(position, _SCALARS) else position
            key = position_id(position, self._text(position))
            other = self._met.setdefault(key, position)
            if other != position:
                raise RulesError(
                    f"{self.name}: {_brief(repr(position))} and {_brief(repr(other))} share the id "
                    f"{key}; text() must differ for any two positions, also for the side to move"
                )
            if kept:
                self._ids[position] = key
        return key

    def _position(self, key: int) -> Position:
        """Return the position with this id: one that was seen, or the id itself."""
        if key not in self._met:
            self.start_states()  # adds them
            if key not in self._met:
                if not _is_id(key) or not all(map(_is_id, self.starts())):
                    raise PositionError(
                        f"{self.name} has not seen a position with the id {key}; "
                        "read its text first"
                    )
                self._id(key)
        return self._met[key]

    def _known(self, text: str) -> int | None:
        """Return the id of a position that was seen and has this text, or None."""
        self.start_states()
        key = position_id(None, text)
        return key if key in self._met and self._text(self._met[key]) == text else None

    def _text(self, position: Position) -> str:
        try:
            text = self.text(position)
        except BaseException as error:
            self._blame("text()", error, position)
        return checked_text(self, "text()", text, position)

    def _look(self, position: Position, goal: int) -> bool | list[Position]:
        try:
            children = [self.play(position, move) for move in _listed(self.moves(position))]
        except BaseException as error:
            self._blame("moves() or play()", error, position)
        if not children:
            raise stuck(self, self._text(position))
        found = []
        for child in children:
            worth = self._answer("outcome", (WIN, DRAW, LOSS, None), child)
            if worth is None:
                found.append(child)
            elif -worth >= goal:
                return True
        return list(dict.fromkeys(self._least(child)[0] for child in found)) or False

    def _least(self, position: Position) -> tuple[Position, int]:
        """Return the smallest image of a position, and the number of its images."""
        if type(self).symmetries is PlainGame.symmetries:
            return position, 1
        images = self._images(position)
        return min(images, key=self._rank), len(images)

    def _images(self, position: Position) -> set[Position]:
        """Return a position and its images under the symmetries."""
        try:
            return {position, *_listed(self.symmetries(position))}
        except BaseException as error:
            self._blame("symmetries()", error, position)

    def _class(self, key: int) -> tuple[int, int]:
        """Return (canonical id, orbit) of the position with this id."""
        known = self._classes.get(key)
        if known is None:
            position = self._position(key)
            least, orbit = self._least(position)
            known = (self._id(least), orbit)
            if known[0] != key and self._class(known[0]) != known:
                raise RulesError(
                    f"{self.name}: symmetries() of {self._text(position)} and of its image "
                    f"{self._text(least)} differ; it must return the same set for every image"
                )
            self._classes[key] = known
        return known

    def _rank(self, position: Position) -> tuple[int, int, str]:
        """Return the sort key of an image: positions that are their own ids come first."""
        return (0, int(position), "") if _is_id(position) else (1, 0, self._text(position))

    def _codes(
        self, verb: str, allowed: tuple[int | None, ...], none: int, positions: Ints
    ) -> Codes:
        """Return the results of a user's method as codes; `none` is the code of None."""
        answers = (self._answer(verb, allowed, self._position(key)) for key in positions.tolist())
        return np.array([none if code is None else code for code in answers], dtype=np.int8)

    def _answer(self, verb: str, allowed: tuple[int | None, ...], position: Position) -> int | None:
        """Return the result of a user's method for a position, or raise a RulesError."""
        try:
            code: int | None = getattr(self, verb)(position)
            right = code in allowed and not isinstance(code, bool | np.bool_)
        except BaseException as error:
            self._blame(f"{verb}()", error, position)
        if not right:
            choices = ", ".join(map(repr, allowed))
            raise RulesError(
                f"{self.name}: {verb}() of {self._text(position)} is {_brief(repr(code))}; "
                f"it must be one of {choices}"
            )
        return code

    def _blame(self, verb: str, error: BaseException, *where: Position) -> NoReturn:
        """Raise the RulesError for an error in a user's method; it names the position."""
        at = f" at {_brief(repr(where[0]))}" if where else ""
        blame(f"{self.name}: {verb} failed{at}", error)


def position_id(position: Hashable, text: str) -> int:
    """Return a position's id: the position if it is one, else a 63-bit BLAKE2b hash of its text.

    >>> position_id(5, "5"), position_id("a", "a")
    (5, 2340832890917691671)
    """
    if _is_id(position):
        return int(position)
    return int.from_bytes(blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest()) >> 1


def plain_text(position: Hashable) -> str:
    """Return the default text of a position; it is the same in every run.

    >>> plain_text((3, frozenset("ba"))), plain_text("XO.")
    ("(3, {'a', 'b'})", 'XO.')
    """
    return position if isinstance(position, str) else _literal(position)


def plain_value(text: str, *, like: Hashable) -> Position:
    """Return the value of a text of `plain_text`, of the type of `like`; a str stays as it is.

    Raises:
        ValueError: the text is not a Python literal of such a value.
    """
    if isinstance(like, str):
        return text
    like = like.item() if isinstance(like, _SCALARS) else like
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # from the compiler: the error says what is wrong
            value = _frozen(ast.literal_eval(text))
        if isinstance(like, tuple) and isinstance(value, tuple):
            return getattr(type(like), "_make", type(like))(value)  # a NamedTuple again
        if isinstance(value, str | bool | float | complex) and type(value) is not type(like):
            raise ValueError(f"{value!r} may be confused with a value of another type")
        return value
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise ValueError(
            f"write a Python value such as {plain_text(like)}, or define parse(self, text)"
        ) from error


MOST: Final = 1_000_000
"""The most moves or images of a position, and the most starts."""


def _listed(values: Iterable[Any]) -> list[Any]:
    """Return the values that a user's method yields; refuse those without an end."""
    found = list(islice(values, MOST + 1))
    if len(found) > MOST:
        raise ValueError(f"more than {MOST:,} values")
    return found


_SCALARS: Final = (np.number, np.bool_)
_LIKE_INTS: Final = frozenset((bool, float, complex, np.bool_, np.float16, np.float32, np.float64))


def _is_id(position: object) -> TypeGuard[int]:
    if isinstance(position, bool) or not isinstance(position, int | np.integer):
        return False
    return 0 <= int(position) < 2**63


_FREQUENT = frozenset((int, str, type(None)))  # types with a fast path


def _literal(value: object) -> str:
    """Return a repr that does not depend on hash order or on addresses."""
    if type(value) in _FREQUENT:
        return repr(value)
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_literal, value)) + (",)" if len(value) == 1 else ")")
    if isinstance(value, frozenset):
        return "{" + ", ".join(sorted(map(_literal, value))) + "}" if value else "set()"
    if is_dataclass(value):
        parts = (f"{f.name}={_literal(getattr(value, f.name))}" for f in fields(value) if f.compare)
        return f"{type(value).__qualname__}({', '.join(parts)})"
    if isinstance(value, np.generic):
        return repr(value.item())
    if type(value).__repr__ is object.__repr__:
        raise TypeError(f"a {type(value).__name__} has no text; define text(self, position)")
    return repr(value)


def _frozen(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return tuple(map(_frozen, value))
    if isinstance(value, set):
        return frozenset(map(_frozen, value))
    return value  # a dict is refused by the caller's hash()
