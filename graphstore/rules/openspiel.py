"""Games of OpenSpiel, through its Python package: ``openspiel:breakthrough(rows=4,columns=3)``.

Two-player, deterministic, sequential, zero-sum games of perfect information. The result of a game
is the sign of its returns; if they can exceed 1, as with ``utility_margin=true``, they are margins.
States with the same text and the same player to move are one position.

OpenSpiel reads the texts of a few games only, such as the FEN of chess. Other texts are found by
play: a best-first search that prefers boards with few characters that differ from the text.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from heapq import heappop, heappush
from importlib import import_module
from itertools import chain, islice
from math import inf
from random import Random
from time import perf_counter
from typing import Any, Final, NamedTuple

from graphstore.errors import GameNameError, MoveError, PositionError, shown
from graphstore.rules.adapter import ArrayRules, position_id
from graphstore.rules.plain import PlainGame
from graphstore.util.extras import extra

PREFIX = "openspiel:"
MORE: Final = 5_000  # positions searched on for another position with the same board
RECENT: Final = 500  # positions in whose moves a name is looked up
SAMPLE: Final = 300  # positions whose names of moves are compared

_PREFIXED = re.compile(r"\s*(?P<mover>[12]):(?P<board>.*)", re.DOTALL)


class Effort(NamedTuple):
    """The most positions and seconds for reading a text; infinite for no limit."""

    positions: float = 50_000  # about 50 MB; of chess, 150 MB
    seconds: float = 10.0


EFFORT: Final = Effort()
_effort: Final = ContextVar("effort", default=EFFORT)


@contextmanager
def reading(
    *, positions: float | None = None, seconds: float | None = None, are_reached: bool = False
) -> Iterator[None]:
    """Limit the effort of reading a text further, in a with statement.

    Texts that `are_reached`, as it is known, are read without a limit.
    """
    now = Effort(inf, inf) if are_reached else _effort.get()
    limits = Effort(
        now.positions if positions is None else min(positions, now.positions),
        now.seconds if seconds is None else min(seconds, now.seconds),
    )
    token = _effort.set(limits)
    try:
        yield
    finally:
        _effort.reset(token)


@dataclass(frozen=True)
class _Place:
    """A position; when the game is over, `mover` did not make the last move."""

    mover: int
    text: str
    state: Any = field(compare=False)


def load(name: str) -> ArrayRules:
    """Return the game of OpenSpiel with this name."""
    with extra("games of OpenSpiel need its package: pip install open_spiel"):
        import pyspiel
    game = OpenSpielGame(name, pyspiel)
    version = f"open_spiel {getattr(pyspiel, '__version__', 'unknown')}"
    rules = ArrayRules(game, game.name, version=version)
    game.met = rules.met
    return rules


class OpenSpielGame(PlainGame):
    """Rules of a game of OpenSpiel, for one position at a time."""

    def __init__(self, name: str, pyspiel: Any) -> None:
        self.name = PREFIX + name
        self.met: dict[int, _Place] = {}  # by their ids
        short = name.partition("(")[0].strip()
        if short not in pyspiel.registered_names():
            import_module("open_spiel.python.games")  # registers those written in Python
        known = pyspiel.registered_names()
        if short not in known:
            near = ", ".join(get_close_matches(short.lower(), known, n=4))
            raise GameNameError(
                f"OpenSpiel has no game {shown(name)}" + (f"; near ones: {near}" if near else "")
            )
        kinds = {kind.short_name: kind for kind in pyspiel.registered_games()}
        if kinds[short].is_concrete:  # not made of another game
            self._refuse_others(pyspiel, kinds[short], kinds[short].max_num_players)
        try:
            with _silence():
                self._game = pyspiel.load_game(name)
        except Exception as error:
            reason = " ".join(str(error).split()).removesuffix(":")
            raise GameNameError(f"OpenSpiel cannot load {shown(name)}: {reason:.300}") from None
        self._refuse_others(pyspiel, self._game.get_type(), self._game.num_players())
        most = float(self._game.max_utility())
        says = self._game.get_parameters().get("utility_margin", False)
        self.margins = bool(says or most > 1) and most.is_integer()
        self._below: dict[_Place, list[_Place]] = {}
        self._by_text: dict[str, _Place] = {}
        self._boards: dict[tuple[int, str], str] = {}
        self._spaced = False  # True if boards were met that differ in spaces only

    def start(self) -> _Place:
        return self._place(self._game.new_initial_state(), 1)

    def moves(self, position: _Place) -> list[int]:
        return list(position.state.legal_actions())

    def play(self, position: _Place, move: int) -> _Place:
        return self._place(position.state.child(move), 3 - position.mover)

    def outcome(self, position: _Place) -> int | None:
        if not position.state.is_terminal():
            return None
        worth: float = position.state.returns()[position.mover - 1]
        return int(worth) if self.margins else (worth > 0) - (worth < 0)

    def to_move(self, position: _Place) -> int:
        return position.mover

    def text(self, position: _Place) -> str:
        """Return the player to move and OpenSpiel's text, its lines joined by ``/``."""
        return f"{position.mover}: {position.text}"

    def parse(self, text: str) -> _Place:
        """Return the position of a text; case, spaces, line ends and the player may be left out.

        Raises:
            PositionError: the game cannot reach it, or it is not found in time; see `reading`.
        """
        given = _PREFIXED.fullmatch(text)
        board = given["board"] if given else text
        effort, began = _effort.get(), perf_counter()
        if len(self._by_text) > 4 * effort.positions:
            self._below.clear()
            self._by_text.clear()
            self._boards.clear()
        known = self._by_text.get(text) or self.met.get(position_id(text, text))
        if known is not None and self.text(known) == text:
            return known
        why = f"is not a position that {self.name} can reach"
        wanted, same, last = self._squeezed(board), list[_Place](), effort.positions
        for place, done in chain(self._read_by_openspiel(board), self._nearest(wanted)):
            fits = given is None or str(place.mover) == given["mover"]
            if fits and self._squeezed(place.text) == wanted and place not in same:
                same.append(place)
                last = min(last, done + MORE) if done else 0
            if self.text(place) == text:
                return place
            if done > last or perf_counter() - began > effort.seconds:
                why = f"was not found among {done:,} positions of {self.name}"
                break
        if self._spaced:
            same = [place for place in same if _lines(place.text) == _lines(board)]
        if len(same) == 1:
            return same[0]
        if len(same) > 1:
            choices = " or ".join(shown(self.text(place)) for place in same[:2])
            raise PositionError(f"{shown(text)} may be one of several positions: write {choices}")
        start = self.start()
        first = "".join(self.write_move(move) for move in self.moves(start)[:1])
        raise PositionError(
            f"{shown(text)} {why}; write it like the start, {shown(self.text(start))}, or write "
            f"the moves that lead to it, such as moves:{first}"
        )

    def write_move(self, move: int) -> str:
        """Return OpenSpiel's name of a move without the player; the number if names vary."""
        return self._names.get(move, str(move))

    def read_move(self, text: str) -> int:
        """Return the move of OpenSpiel's name, of the name of `write_move`, or of a number."""
        if re.fullmatch(r"-?[0-9]+", text):
            return int(text)
        wanted = _name(text)
        for move, name in self._names.items():
            if name == wanted:
                return move
        for place in (*islice(reversed(self.met.values()), RECENT), self.start()):
            for action in place.state.legal_actions():
                if _name(place.state.action_to_string(action)) == wanted:
                    return int(action)
        raise MoveError(
            f"{shown(text)} is not a move of {self.name} here; write the number of a move"
        )

    @cached_property
    def _names(self) -> dict[int, str]:
        """Return the name of each move; empty if names depend on the position or are not unique.

        What differs between the players, such as their marks, is left out.
        """
        start, drawn = self._game.new_initial_state(), Random(0)
        state, met = start, dict[tuple[int, int], str]()
        for _ in range(SAMPLE):
            if state.is_terminal():
                state = start
            player, legal = state.current_player(), state.legal_actions()
            for action in legal:
                name = state.action_to_string(action)
                if met.setdefault((player, action), name) != name:
                    return {}
            state = state.child(drawn.choice(legal))
        names = {-1: "pass"}  # as in earlier versions, a game that has this name has numbers
        for action in range(self._game.num_distinct_actions()):
            one, two = (start.action_to_string(player, action) for player in (0, 1))
            if any(met.get((p, action), each) != each for p, each in ((0, one), (1, two))):
                return {}
            if one != two:
                begin = _same(one, two)
                end = _same(one[begin:][::-1], two[begin:][::-1])
                one = one[:begin] + one[len(one) - end :]
            names[action] = _name(one)
        unclear = any(
            not name or (name.isdigit() and int(name) != move) for move, name in names.items()
        )
        return {} if unclear or len({*names.values()}) < len(names) else names

    def _read_by_openspiel(self, board: str) -> Iterator[tuple[_Place, int]]:
        """Yield the positions, for each player to move, of a text that OpenSpiel itself reads.

        The second value, as in `_nearest`, is 0.
        """
        try:
            with _silence():
                state = self._game.new_initial_state(board.strip())
        except Exception:  # it does not read texts, or not this one
            return
        for mover in (1, 2):
            yield self._place(state, mover), 0

    def _nearest(self, wanted: str) -> Iterator[tuple[_Place, int]]:
        """Yield all positions, those whose squeezed boards are like `wanted` first.

        Each comes with the number of positions generated.
        """

        def add(place: _Place, plies: int) -> None:
            if place not in seen:
                seen.add(place)
                own = self._squeezed(place.text)
                key = place.mover, own
                self._spaced |= self._boards.setdefault(key, place.text) != place.text
                far = sum(map(str.__ne__, own, wanted)) + abs(len(own) - len(wanted))
                heappush(heap, (far + plies, far, len(seen), plies, place))

        heap: list[tuple[int, int, int, int, _Place]] = []
        seen: set[_Place] = set()
        add(self.start(), 0)
        while heap:
            *_, plies, place = heappop(heap)
            yield place, len(seen)
            if place not in self._below:
                legal = [] if place.state.is_terminal() else self.moves(place)
                self._below[place] = [self.play(place, move) for move in legal]
                self._by_text |= {self.text(child): child for child in self._below[place]}
            for child in self._below[place]:
                add(child, plies + 1)

    @cached_property
    def _has_case(self) -> bool:
        """True if the start has a letter in both cases, such as the pieces of chess."""
        letters = {each for each in str(self._game.new_initial_state()) if each.isalpha()}
        return len({each.casefold() for each in letters}) < len(letters)

    def _squeezed(self, board: str) -> str:
        """Return a board without spaces, line ends and ``/``, and without case if it has none."""
        text = re.sub(r"[\s/]+", "", board)
        return text if self._has_case else text.casefold()

    def _place(self, state: Any, mover: int) -> _Place:
        """Return the position of a state; `mover` is to move if the game is over."""
        mover = mover if state.is_terminal() else state.current_player() + 1
        return _Place(mover, str(state).rstrip("\n").replace("\n", "/"), state)

    def _refuse_others(self, pyspiel: Any, kind: Any, players: int) -> None:
        """Refuse a game that cannot be solved, of a kind and with the most players given."""
        types = pyspiel.GameType
        faults = {
            f"it has {players} player{'s' * (players != 1)}, not two": players < 2
            or kind.min_num_players > 2
            or kind.max_num_players < 2,
            "moves are simultaneous": kind.dynamics != types.Dynamics.SEQUENTIAL,
            "it has chance moves": kind.chance_mode != types.ChanceMode.DETERMINISTIC,
            "information is imperfect": kind.information != types.Information.PERFECT_INFORMATION,
            "it is not zero-sum": kind.utility != types.Utility.ZERO_SUM,
        }
        for what, wrong in faults.items():
            if wrong:
                raise GameNameError(f"{self.name} cannot be solved: {what}")


@contextmanager
def _silence() -> Iterator[None]:
    """Hide what the C++ code of OpenSpiel writes to standard error before it raises an error."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _lines(board: str) -> list[str]:
    """Return the lines of a board without spaces around them, in lower case."""
    return [line.strip() for line in re.split(r"[\n/]", board.strip().casefold())]


def _same(one: str, two: str) -> int:
    """Return the number of characters with which both texts begin."""
    differ = (at for at, (a, b) in enumerate(zip(one, two, strict=False)) if a != b)
    return next(differ, min(len(one), len(two)))


def _name(text: str) -> str:
    """Return OpenSpiel's name of a move as one word without commas: ``x(0,1)`` is ``x(0.1)``."""
    return re.sub(r"[\s_]+", "", text).replace(",", ".")
