"""The `Game` on arrays that a `PlainGame`, rules for one position at a time, becomes.

It calls only the documented methods of the user's class, whose other names are free.
"""

import re
from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from functools import cached_property
from hashlib import blake2b
from inspect import signature
from itertools import chain, islice
from operator import index
from typing import Any, Final, NoReturn, Self, SupportsIndex, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from graphstore.errors import MoveError, PositionError, RulesError, shown
from graphstore.rules import sources
from graphstore.rules.game import (
    DRAW,
    IN_PLAY,
    LONGEST,
    LOSS,
    MOST_MARGIN,
    WIN,
    Codes,
    Game,
    Ints,
    Look,
    Moves,
    Position,
    _brief,
    after_turn,
    asking,
    blame,
    check_attributes,
    checked_text,
    guard,
    guarded,
    refuse_async,
    stuck,
)
from graphstore.rules.plain import PlainGame, samples
from graphstore.rules.values import is_same, plain_text
from graphstore.util import arguments

MOST: Final = 1_000_000
"""The most moves or images of a position, and the most starts."""
KEPT: Final = 1 << 18
"""The most positions whose ids, and images whose states, are kept for a while."""
READ: Final = 300
"""The most texts that `check_reading` reads."""
CLOSED: Final = 100
"""The states, of all and of each `CLOSED` after them, whose images are compared."""
_HOOKS: Final = {
    **dict.fromkeys(("start", "starts"), ()),
    **dict.fromkeys(("moves", "outcome", "to_move", "symmetries", "canonical"), ("position",)),
    **dict.fromkeys(("text", "board", "picture"), ("position",)),
    "play": ("position", "move"),
    "parse": ("text",),
    "write_move": ("move",),
    "read_move": ("text",),
}
"""The methods that a user may write, and their arguments."""
_ADAPTER: Final = "graphstore: adapter"  # a key in the dict of a game
_SCALARS: Final = (np.number, np.bool_)
_LIKE_INTS: Final = frozenset((bool, float, complex))
_NUMBERS: Final = _LIKE_INTS | {int}
Allowed: TypeAlias = tuple[int | None, ...] | None
"""The results that a user's method may return; None for any score, or None."""
_DIGITS: Final = frozenset(range(10))


def accept(game: Game | PlainGame, argument: str = "game") -> Game:
    """Return the `Game` of an argument with this name, after a check of a user's rules.

    Raises:
        RulesError: an attribute has a wrong value, or a method has a wrong form.
    """
    if isinstance(game, PlainGame):
        known = vars(game).get(_ADAPTER)
        if known is None or not known.fits(game):
            known = vars(game)[_ADAPTER] = ArrayRules(game)
        return known
    arguments.rules(argument, game)
    guard(game)
    return game


def check_reading(game: Game, ids: Ints) -> None:
    """Raise a RulesError if a user's rules do not draw or read some positions as they write them.

    Rules that only write texts may be built in memory: their positions are found as stored.
    """
    if isinstance(game, ArrayRules):
        some = ids[:: -(-len(ids) // READ)]
        (game.spelled if game.reads else game.texts)(some)
        for position in some.tolist():
            game.board(position)


class ArrayRules:
    """A `PlainGame` as a `Game`. Each position that was met is kept under its id."""

    def __init__(
        self, game: PlainGame, reference: str = "", origin: str = "", version: str = ""
    ) -> None:
        """Adapt a game.

        `reference` is the name of its rules, as ``FILE.py:NAME``, `origin` the same with the whole
        path of the file, for other processes.
        """
        self.game = game
        self.origin = origin
        self.name = reference or type(game).__name__
        self._folds, self._normal = self.writes("symmetries"), self.writes("canonical")
        self._write = game.text if self.writes("text") else plain_text
        self.reads = self.writes("parse") or not self.writes("text")
        with asking:
            self._check_hooks()
        check_attributes(game, self.name, ("players", "shape", "max_plies", "margins"))
        self.players, self.shape, self.max_plies = game.players, game.shape, game.max_plies
        self.scored = game.margins
        self._results = None if game.margins else (WIN, DRAW, LOSS, None)
        self._made_of = self._parts(game)
        digests = [version] if version else sources.digests(game)
        self.rules, self.rules_before = digests[0], digests[1:]
        self._forget()

    @staticmethod
    def _parts(game: PlainGame) -> list[Any]:
        return [
            game.players,
            game.shape,
            game.max_plies,
            game.margins,
            *sorted(sources.parameters(game, fixed=True)),
        ]

    def fits(self, game: PlainGame) -> bool:
        """Return False if the game is a copy of that adapted, or its attributes have changed."""
        with asking:
            return self.game is game and self._made_of == self._parts(game)

    def _forget(self) -> None:
        self.met: dict[int, Position] = {}
        self._ids: dict[Position, int] = {}  # of at most `KEPT` positions
        self._types = set[tuple[type, ...]]()  # of the elements of tuples
        self._states: dict[Position, int] = {}  # of at most `KEPT` images
        self._older: dict[Position, int] = {}  # and of as many before them
        self._orbits: dict[int, int] = {}  # of the states met
        vars(self).pop("_sampled", None)
        self._values: dict[int, Hashable] = {}  # moves that are not integers, by their numbers
        self._numbers: dict[Hashable, int] = {}  # and the reverse, if they are hashable

    def writes(self, hook: str) -> bool:
        """Return True if the user's class has a method, or another attribute, of this name."""
        own = getattr(self.game, hook, None)
        return getattr(own, "__func__", own) is not vars(PlainGame).get(hook)

    def _check_hooks(self) -> None:
        """Refuse a name of `_HOOKS` for something that is not such a method."""
        for hook in filter(self.writes, _HOOKS):
            method, wanted = getattr(self.game, hook), f"{hook}({', '.join(_HOOKS[hook])})"
            refuse_async(self.name, hook, method)
            try:
                signature(method).bind(*_HOOKS[hook])
            except TypeError as error:
                raise RulesError(
                    f"{self.name}: {hook} must be a method {wanted}, or have another name: "
                    f"{_brief(str(error))}"
                ) from error
            except ValueError:  # a function in C without a signature
                continue
        if self._normal and not self._folds:
            raise RulesError(
                f"{self.name}: canonical(position) needs symmetries(position) beside it, which "
                "counts the images; write it, or give canonical another name"
            )

    # The verbs of `Game`.

    @guarded
    def start_states(self) -> Ints:
        """See `Game.start_states`."""
        return np.array([*map(self._id, self._starts())], dtype=np.int64)

    @guarded
    def start_names(self) -> list[str]:
        """Return the names of the starts, in their order; empty if they have none."""
        starts = self.game.starts()
        names = [*map(str, starts)] if isinstance(starts, Mapping) else []
        for name in names:
            if not name.isprintable() or name != name.strip() or names.count(name) != 1 or not name:
                raise RulesError(
                    f"{self.name}: {_brief(repr(name))} cannot be the name of a start; the names "
                    "must be different texts without spaces around them"
                )
        return names

    @guarded
    def expand(self, positions: Ints) -> Moves:
        """See `Game.expand`."""
        return self._moves(positions, self._ids, self._id)

    @guarded
    def steps(self, positions: Ints) -> Moves:
        """Return the legal moves of positions, with the states that they lead to."""
        if not self._folds:
            return self._moves(positions, self._ids, self._id)
        return self._moves(positions, self._states, self._state)

    def _moves(
        self, positions: Ints, known: dict[Position, int], find: Callable[[Position], int]
    ) -> Moves:
        """Return the legal moves; the ids after them are in `known`, or `find` returns them."""
        user_moves, play, known_id = self.game.moves, self.game.play, known.get
        counts, moves, children = array("q"), array("q"), array("q")
        for position in self._positions(positions):
            try:
                listed = _listed(user_moves(position))
                try:
                    listed = sorted(listed, key=index)
                    legal = [*map(index, listed)]
                except TypeError:  # moves that are not integers, or an error
                    numbers = [*map(self._number, listed)]
                    order = sorted(range(len(numbers)), key=numbers.__getitem__)
                    legal, listed = [numbers[at] for at in order], [listed[at] for at in order]
                played = [play(position, move) for move in listed]
            except BaseException as error:
                self._blame("moves() or play()", error, position)
            twice = len({*legal}) != len(legal)
            if twice or (legal and not -(2**31) <= legal[0] <= legal[-1] < 2**31):
                fault = "lists a move twice" if twice else "must be 32-bit integers"
                where = self._text(position)
                raise RulesError(f"{self.name}: moves() of {where} {fault}: {_brief(str(legal))}")
            try:
                ids = list(map(known_id, played))
            except Exception:  # not hashable, as `find` explains
                ids = [None]
            children.extend(map(find, played) if None in ids else ids)  # type: ignore[arg-type]
            moves.extend(legal)
            counts.append(len(legal))
        return Moves(
            np.repeat(np.arange(len(counts), dtype=np.int64), np.array(counts)),
            np.array(moves, dtype=np.int32),
            np.array(children, dtype=np.int64),
        )

    def _number(self, move: Hashable) -> int:
        """Return the number of a move: itself, or 31 bits of a BLAKE2b hash of its name."""
        try:
            return self._numbers[move]
        except (KeyError, TypeError):  # a TypeError if it is not hashable
            if isinstance(move, SupportsIndex | float):
                return index(move)  # type: ignore[arg-type]  # refuses a float
        named, name = getattr(self.game, "write_move", None), ""
        with suppress(TypeError):  # of an object without a text
            name = str(move_name(move) if named is None else named(move))
        number = _move_hash(name)
        other = self._values.setdefault(number, move)
        if other != move or not name:
            raise RulesError(
                f"{self.name}: the move {_brief(repr(move))} has no name of its own"
                + (f": {_brief(repr(other))} has the same number" if other != move else "")
                + "; let write_move(self, move) name it, or use integers"
            )
        with suppress(TypeError):
            self._numbers[move] = number
        return number

    @property
    def names_moves(self) -> bool:
        """True if moves have names, by the user's methods or because they are not integers."""
        if self._values or (self.writes("write_move") and self.writes("read_move")):
            return True
        return self._named_at_start

    @cached_property
    def _named_at_start(self) -> bool:
        with suppress(Exception), asking:  # other verbs report the error
            moves = _listed(self.game.moves(self._starts()[0]))
            return not all(isinstance(each, SupportsIndex) for each in moves)
        return False

    def write_move(self, move: int) -> str:
        """See `NamesMoves`; a move that is not an integer must have been met."""
        value, named = self._values.get(move, move), getattr(self.game, "write_move", None)
        if named is None or (value is move and not self.writes("read_move")):
            return move_name(value)
        return named(value)  # type: ignore[no-any-return]

    @guarded
    def read_move(self, text: str) -> int:
        """See `NamesMoves`; the names of moves that are not integers need no method."""
        number = _move_hash(move_name(text))
        if number in self._values:
            return number
        if self.writes("read_move"):
            return self._number(self.game.read_move(text))  # type: ignore[attr-defined]
        if self.names_moves and number in self._sampled:
            return number
        raise MoveError(f"{shown(text)} is not a move; write the number of a move")

    @cached_property
    def _sampled(self) -> dict[int, Hashable]:
        """Return `_values`, after the moves of some random games were met."""
        for position in samples(self.game, self._starts()[0]):
            if self.game.outcome(position) is None:
                for move in _listed(self.game.moves(position)):
                    self._number(move)
        return self._values

    @guarded
    def outcomes(self, positions: Ints) -> Codes:
        """See `Game.outcomes`."""
        ends = self._answers("outcome", self._results, positions)
        codes = [IN_PLAY if each is None else int(each > 0) - int(each < 0) for each in ends]
        return np.array(codes, dtype=np.int8)

    @guarded
    def margins(self, positions: Ints) -> NDArray[np.int16]:
        """See `Scored.margins`."""
        ends = self._answers("outcome", None, positions)
        return np.array([each or 0 for each in ends], dtype=np.int16)

    @guarded
    def turns(self, positions: Ints) -> Codes:
        """See `Game.turns`."""
        if not self.writes("to_move"):
            return np.zeros(len(positions), dtype=np.int8)
        movers = self._answers("to_move", (1, 2, None), positions)
        return np.array([each or 0 for each in movers], dtype=np.int8)

    @guarded
    def canonical(self, positions: Ints) -> Ints:
        """See `Game.canonical`: the image with the smallest int, or with the smallest text."""
        if not self._folds:
            return positions
        return np.array([*map(self._state, self._positions(positions))], dtype=np.int64)

    @guarded
    def orbits(self, positions: Ints) -> Ints:
        """See `Game.orbits`."""
        if not self._folds:
            return np.ones(len(positions), dtype=np.int64)
        known = self._orbits.get
        orbits = [
            known(key) or len(self._images(self._position(key))) for key in positions.tolist()
        ]
        return np.array(orbits, dtype=np.int64)

    @guarded
    def images(self, position: int) -> list[int]:
        """Return the ids of a position and of its images, the state of the position first."""
        value = self._position(position)
        images = self._images(value)
        ids = [*map(self._id, images)]
        if not self._folds:
            return ids
        least = self._least(value, images)
        if least not in images:
            raise RulesError(
                f"{self.name}: canonical() of {self._text(value)} is {self._text(least)}, which "
                "is not one of its images"
            )
        first = self._id(least)
        return [first, *sorted(each for each in ids if each != first)]

    @guarded
    def texts(self, positions: Ints) -> list[str]:
        """See `Game.texts`."""
        return [*map(self._text, self._positions(positions))]

    @guarded
    def read(self, text: str) -> int:
        """See `Game.read`."""
        try:
            return self._id(self.game.parse(text))
        except PositionError:
            raise
        except Exception as error:
            self.start_states()  # meets them
            key = _hash(text)
            if key in self.met and self._text(self.met[key]) == text:
                return key
            raise PositionError(
                f"{shown(text)} is not a position of {self.name}: {_brief(str(error))}"
            ) from error
        except BaseException as error:
            self._blame(f"parse() of {shown(text)}", error)

    @guarded
    def read_many(self, texts: Sequence[str]) -> Ints:
        """See `Game.read_many`."""
        return np.array([*map(self.read, texts)], dtype=np.int64)

    @guarded
    def board(self, position: int) -> str:
        """See `Game.board`."""
        value = self._position(position)
        if not self.writes("board"):
            return self._text(value).replace("/", "\n")
        try:
            drawn = self.game.board(value)
        except BaseException as error:
            self._blame("board()", error, value)
        return checked_text(self, "board()", drawn, value)

    @guarded
    def picture(self, position: int) -> object:
        """Return the user's picture of a position, or None."""
        own = getattr(self.game, "picture", None)
        return None if own is None else own(self._position(position))

    @guarded
    def search_from(self, position: int) -> tuple[Hashable, Look]:
        """See `Nimble`: a node is the smallest image of a position."""
        value = self._position(position)
        return self._least(value, self._images(value)), self._look

    @guarded
    def _look(self, position: Position, goal: int) -> bool | list[Position]:
        turn = self._mover(position)

        def moves(wave: list[Position]) -> Iterator[tuple[Position, int | None, bool]]:
            for child in chain.from_iterable(map(self._children, wave)):
                outcome = self._answer("outcome", self._results, child)
                yield child, outcome, turn is not None and self._mover(child) == turn

        found = after_turn(position, goal, moves)
        if isinstance(found, bool):
            return found
        return [*dict.fromkeys(self._least(child, self._images(child)) for child in found)]

    def _children(self, position: Position) -> list[Position]:
        game = self.game
        try:
            children = [game.play(position, move) for move in _listed(game.moves(position))]
        except BaseException as error:
            self._blame("moves() or play()", error, position)
        if not children:
            raise stuck(self, self._text(position))
        return children

    def _mover(self, position: Position) -> int | None:
        return self._answer("to_move", (1, 2, None), position) if self.writes("to_move") else None

    # For builds in parts, whose processes know other positions.

    @guarded
    def hashed(self, positions: Ints) -> NDArray[np.bool_]:
        """Return bool[n]: True if an id is the hash of a position's text."""
        return np.array([not _is_id(each) for each in self._positions(positions)], np.bool_)

    @guarded
    def spelled(self, positions: Ints) -> list[str]:
        """Return `texts`, after a check that `parse` returns the position of each text.

        Raises:
            RulesError: `parse` fails, or returns another position.
        """
        texts, is_own = [], self.writes("parse") or self.writes("text")
        for position in self._positions(positions):
            text = self._text(position)
            try:
                same = self.game.parse(text)
            except BaseException as error:
                if is_own:
                    self._blame(f"parse() of {shown(text)}", error)
                same = error
            if not is_same(same, position):
                fault = (
                    f"parse() of {shown(text)} is {_brief(repr(same))}, but the text is that of "
                    f"{_brief(repr(position))}; write text(self, position) and parse(self, text) "
                    "that agree"
                    if is_own
                    else f"the position {_brief(repr(position))} cannot be read from a text by "
                    "itself; write text(self, position) and parse(self, text)"
                )
                raise RulesError(f"{self.name}: {fault}")
            texts.append(text)
        return texts

    def afresh(self) -> Self:
        """Return a copy of the rules that has met no positions."""
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        other._forget()
        return other

    @guarded
    def meet(self, ids: Ints) -> None:
        """Add positions that are their own ids to those that were met."""
        for key in ids.tolist():
            self._id(key)

    # Positions and their ids.

    def _id(self, position: Position) -> int:
        """Return the id of a position, which is kept."""
        kind = type(position)
        if kind is int and 0 <= position < 2**63:
            return self._kept(position, int(position))
        if isinstance(position, _SCALARS):
            return self._id(position.item())
        # True and 1.0 are equal to 1 in a dict, but their texts differ.
        ids = self._ids if kind not in _LIKE_INTS else {}
        try:
            known = ids.get(position)
        except Exception as error:
            raise RulesError(
                f"{self.name}: {_brief(repr(position))} cannot be a position: {error}; "
                "build it from tuples and frozensets"
            ) from error
        if known is not None:
            return known
        key = self._kept(position, position_id(position, self._text(position)))
        if kind is tuple:
            self._check_types(tuple(map(type, position)), position)
        if len(ids) >= KEPT:
            ids.clear()
        ids[position] = key
        return key

    def _check_types(self, types: tuple[type, ...], position: Position) -> None:
        """Refuse tuples with an int and a bool or float in one place: they may be equal."""
        if types in self._types:
            return
        for other in self._types:
            for one, two in zip(types, other, strict=False):
                if one is not two and {one, two} <= _NUMBERS and len(types) == len(other):
                    raise RulesError(
                        f"{self.name}: {_brief(repr(position))} has {one.__name__} where other "
                        f"positions have {two.__name__}, which may be equal; use one type"
                    )
        self._types.add(types)

    def _kept(self, position: Position, key: int) -> int:
        """Return the id of a position, which is kept; refuse one that another position has."""
        other = self.met.setdefault(key, position)
        if other is not position and other != position:
            raise RulesError(
                f"{self.name}: {_brief(repr(position))} and {_brief(repr(other))} share the id "
                f"{key}; text() must differ for any two positions, also for the side to move"
            )
        return key

    def _positions(self, ids: Ints) -> list[Position]:
        """Return the positions with these ids; see `_position`."""
        keys, met = ids.tolist(), self.met
        try:
            return [met[key] for key in keys]
        except KeyError:
            return [*map(self._position, keys)]

    def _position(self, key: int) -> Position:
        """Return the position with this id: one that was met, or the id itself."""
        if key not in self.met:
            starts = self._starts()
            for position in starts:
                self._id(position)
            if key not in self.met:
                if not _is_id(key) or not all(map(_is_id, starts)):
                    raise PositionError(
                        f"{self.name} has not seen a position with the id {key}; "
                        "read its text first"
                    )
                self._id(key)
        return self.met[key]

    def _text(self, position: Position) -> str:
        try:
            text = self._write(position)
        except BaseException as error:
            self._blame("text()", error, position)
        if type(text) is str and len(text) <= LONGEST and text.isascii():
            return text
        return checked_text(self, "text()", text, position)

    def _starts(self) -> Sequence[Position]:
        try:
            starts = self.game.starts()
            if isinstance(starts, str | bytes):
                raise TypeError(f"it returned {starts!r}; return a list of positions")
            starts = _listed(starts.values() if isinstance(starts, Mapping) else starts)
        except BaseException as error:
            self._blame("starts()", error)
        if not starts:
            raise RulesError(
                f"{self.name}: starts() is empty; it must return at least one position"
            )
        return starts

    # Symmetries.

    def _state(self, position: Position) -> int:
        """Return the id of the state of a position; its images are noted, too."""
        try:
            known = self._states.get(position, self._older.get(position))
        except TypeError:  # not hashable
            return self._id(position)
        if known is not None:
            return known
        images = self._images(position)
        least = self._least(position, images)
        state, count = self._id(least), len(self._orbits)
        orbit = self._orbits.setdefault(state, len(images))
        if len(self._states) >= KEPT:
            self._older = self._states.copy()
            self._states.clear()
        noted = len(self._states)
        self._states.update(dict.fromkeys(images, state))
        is_new = count < len(self._orbits) and (count < CLOSED or not count % CLOSED)
        if (
            orbit != len(images)
            or len(self._states) != noted + len(images)  # some were noted as of another state
            or least not in images
            or (is_new and self._images(least) != images)
            or (self._normal and self._least(least, images) != least)
        ):
            verb = "canonical()" if self._normal else "symmetries()"
            raise RulesError(
                f"{self.name}: {verb} of {self._text(position)} and of its image "
                f"{self._text(least)} differ; it must return the same for every image"
            )
        return state

    def _images(self, position: Position) -> set[Position]:
        """Return a position and its images under the symmetries."""
        if not self._folds:
            return {position}
        try:
            return {position, *_listed(self.game.symmetries(position))}
        except BaseException as error:
            self._blame("symmetries()", error, position)

    def _least(self, position: Position, images: set[Position]) -> Position:
        """Return the image that names the state: by default of the smallest int, or text."""
        if not self._folds:
            return position
        if self._normal:
            try:
                return self.game.canonical(position)
            except BaseException as error:
                self._blame("canonical()", error, position)
        if not self.writes("text"):
            kinds = {*map(type, images)}
            if kinds == {str}:
                return min(images)
            if kinds == {tuple} and len({*map(len, images)}) == 1:
                cells = set[Any]().union(*images)
                if cells <= _DIGITS and {*map(type, cells)} == {int}:
                    return min(images)  # the order of digits is that of their texts
        return min(images, key=self._rank)

    def _rank(self, position: Position) -> tuple[int, int, str]:
        """Return the sort key of an image: positions that are their own ids come first."""
        return (0, int(position), "") if _is_id(position) else (1, 0, self._text(position))

    # The answers of the user's methods.

    def _answers(self, verb: str, allowed: Allowed, positions: Ints) -> list[Any]:
        """Return the results of a user's method."""
        values, method = self._positions(positions), getattr(self.game, verb)
        answers: list[Any] = [True]
        with suppress(BaseException):  # `_answer` finds the position
            answers = [method(value) for value in values]
        if not {*map(type, answers)} <= {int, type(None)} or not all(
            _is_allowed(each, allowed) for each in {*answers}
        ):
            answers = [self._answer(verb, allowed, value) for value in values]
        return answers

    def _answer(self, verb: str, allowed: Allowed, position: Position) -> int | None:
        """Return the result of a user's method for a position, or raise a RulesError."""
        try:
            code: int | None = getattr(self.game, verb)(position)
            right = _is_allowed(code, allowed) and not isinstance(code, bool | np.bool_)
        except BaseException as error:
            self._blame(f"{verb}()", error, position)
        if not right:
            choices = f"one of {', '.join(map(repr, allowed or ()))}"
            if allowed is None:
                choices = (
                    f"a whole number from {-MOST_MARGIN:,} to {MOST_MARGIN:,}, or None in play"
                )
            raise RulesError(
                f"{self.name}: {verb}() of {self._text(position)} is {_brief(repr(code))}; "
                f"it must be {choices}"
            )
        return code

    def _blame(self, verb: str, error: BaseException, *where: Position) -> NoReturn:
        """Raise the RulesError for an error in a user's method; it names the position."""
        at = f" at {_brief(repr(where[0]))}" if where else ""
        blame(f"{self.name}: {verb} failed{at}", error)


def _is_allowed(code: Any, allowed: Allowed) -> bool:
    """Return True if a result is one of those allowed; None allows scores."""
    if allowed is not None:
        return code in allowed
    with suppress(TypeError, ValueError, OverflowError):
        return code is None or (-MOST_MARGIN <= code <= MOST_MARGIN and code == int(code))
    return False


def position_id(position: Hashable, text: str) -> int:
    """Return a position's id: the position if it is one, else a 63-bit BLAKE2b hash of its text.

    >>> position_id(5, "5"), position_id("a", "a")
    (5, 2340832890917691671)
    """
    return int(position) if _is_id(position) else _hash(text)


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest()) >> 1


def _move_hash(name: str) -> int:
    return int.from_bytes(blake2b(name.encode(errors="replace"), digest_size=4).digest()) >> 1


def move_name(move: object) -> str:
    """Return the name of a move as one word: that of ``(2, 3)`` is ``2-3``.

    >>> move_name("e2e4"), move_name((2, 3)), move_name(((0, 1), "up")), move_name(5)
    ('e2e4', '2-3', '0-1-up', '5')
    """
    if isinstance(move, Enum) and not isinstance(move, str):
        return str(move.name)
    if isinstance(move, tuple):
        return "-".join(filter(None, map(move_name, move)))
    return "-".join(re.findall(r"[^\s,'\"()\[\]{}]+", plain_text(move)))


def _is_id(position: object) -> TypeGuard[int]:
    if type(position) is not int and not isinstance(position, np.integer):
        return False
    return 0 <= int(position) < 2**63


def _listed(values: Iterable[Any]) -> Sequence[Any]:
    """Return the values that a user's method yields; refuse those without an end."""
    found = values if isinstance(values, list | tuple) else list(islice(values, MOST + 1))
    if len(found) > MOST:
        raise ValueError(f"more than {MOST:,} values")
    return found
