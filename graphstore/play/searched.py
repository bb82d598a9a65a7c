"""A game without a database: its positions are searched when their values are asked for."""

import os
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import numpy as np

from graphstore.errors import ArgumentError, GameNameError, StoreError
from graphstore.games import file_name, find_game, rules_of
from graphstore.rules.bitboard import OnBitboard
from graphstore.rules.game import LOSS, WIN, Game
from graphstore.rules.plain import PlainGame
from graphstore.rules.positions import START, Position
from graphstore.solver.clock import TimeIsUpError
from graphstore.store.format import BOOK
from graphstore.store.probe import Line, Move, Probe, is_number
from graphstore.store.store import Address, Store
from graphstore.util import arguments

if TYPE_CHECKING:
    from graphstore.solver.search import Searched

Playable: TypeAlias = Store | Address | Game | PlainGame
"""An argument of `play.match.Match` and `play.players.Player`; a game by name is searched."""

SECONDS: Final = 5.0
ENTRIES: Final = 1_000_000  # of the table of a search that is not on bitboards, 150 MB or more
MOST: Final = 10_000  # positions whose values are kept


class SearchedGame(Store):
    """A game without a database, which `probe` gives the moves of, and `search` their values.

    In a `Probe` of it and in its moves `value` is None while it is not known, and all that only a
    solved game has is None: `ply`, `score`, `orbit` and the columns of random play. `win_depth` and
    `lose_depth` are known on boards of lines. What needs a database raises a StoreError.

    >>> game = SearchedGame("connect(4,4)")
    >>> game.probe("start").value, game.search(game.probe("start")).value
    (None, 0)
    """

    def __init__(
        self,
        game: Game | PlainGame | str,
        *,
        seconds: float | None = None,
        book: Store | None = None,
    ) -> None:
        """Prepare searches of up to so many seconds, after a look into a book."""
        from graphstore.solver.search import MAX_ENTRIES, Solver  # imports networkx

        self._rules = rules = rules_of(game)
        self._lines = isinstance(rules, OnBitboard)
        self._book = book
        self._solver = Solver(rules, book=book, max_entries=MAX_ENTRIES if self._lines else ENTRIES)
        self._free = BoundedSemaphore((os.cpu_count() or 1) if self._lines else 1)
        self._found: OrderedDict[str, Probe] = OrderedDict()
        limit = arguments.seconds("seconds", seconds)
        self.seconds = SECONDS if limit is None else limit
        start = rules.texts(rules.start_states()[:1])[0]
        self.info = {"name": rules.name, "rules": rules.rules, "start": start, "extent": None}

    def __getattr__(self, name: str) -> Any:
        if name == "backend":  # of which a database has one
            raise self._refusal()
        raise AttributeError(name)

    def _refusal(self) -> StoreError:
        build = file_name(str(self.info["name"])).removesuffix(".db")
        lacks = "is searched without a database, which this needs"
        if self._book is not None:
            lacks = "holds the first plies only, and this needs a whole game"
        return StoreError(
            f"{self.address} {lacks}; "
            f"graphstore build {build} writes one if there is room for all positions"
        )

    def __repr__(self) -> str:
        return f"<SearchedGame {self.address}>"

    def __exit__(self, *_: object) -> None:
        """Do nothing: there is no connection."""

    def close(self) -> None:
        """Do nothing, likewise."""

    @property
    def address(self) -> str:
        """The name of the game, or the address of its book."""
        return str(self.info["name"]) if self._book is None else self._book.address

    def probe(self, position: Position) -> Probe:
        """Return a position with its moves, and their values as far as they have been found."""
        at = self._read(arguments.position("position", position))
        (text,) = self.game.texts(np.array([at], dtype=np.int64))
        known = self._found.get(text)
        return known or self._probe_of(at, self._solver.search(at, moves=True, timeout=0))

    def _read(self, position: Position) -> int:
        """Return the packed position; the ids of states are those of the book."""
        if self._book is not None and is_number(position):
            found = self._book.get(position)
            if found is not None:
                return self._solver.read(found.position)
        return self._solver.read(position)

    def start(self) -> Probe:
        """Return the probe of the (first) start."""
        return self.probe(START)

    def line(self, *_: Any, **__: Any) -> Line:
        """Raise the error: the positions of a line need values."""
        raise self._refusal()

    @contextmanager
    def snapshot(self) -> Iterator[Any]:
        """Yield the game itself."""
        yield self

    def search(
        self,
        probe: Probe,
        *,
        seconds: float | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> Probe:
        """Return a probe with the values that a search finds in its time; they are kept.

        Args:
            probe: a position of the game.
            seconds: the time limit; by default that of the game.
            stopped: called ten times a second; the search ends when it returns True.
        """
        if not unknown(probe):
            return probe

        def tick(*_: object) -> None:
            if stopped():
                raise TimeIsUpError

        timeout = self.seconds if seconds is None else seconds
        at = self._solver.read(probe.position)
        if not self._free.acquire(timeout=timeout):  # other threads search
            return probe
        try:
            searched = self._solver.search(at, moves=True, timeout=timeout, progress=tick)
        finally:
            self._free.release()
        found = min(self._probe_of(at, searched), probe, key=unknown)
        self._found[found.position] = found
        if len(self._found) > MOST:
            self._found.popitem(last=False)
        return found

    def _probe_of(self, at: int, searched: "Searched") -> Probe:
        game, here = self.game, np.array([at], dtype=np.int64)
        over = searched.method == "rules"
        _, played, after = game.expand(here[: not over])
        states = dict(zip(played.tolist(), game.canonical(after).tolist(), strict=True))

        def values(each: Any) -> dict[str, Any]:
            plies, known = each.remoteness, self._lines and each.remoteness is not None
            return {
                "value": each.value,
                "remoteness": plies,
                "score": None,
                "win_depth": plies // 2 if known and each.value == LOSS else None,
                "lose_depth": (plies + 1) // 2 if known and each.value == WIN else None,
            }

        moves = [
            Move(each.move, states[each.move], each.position, **values(each))
            for each in searched.moves or ()
        ]
        columns: dict[str, Any] = dict.fromkeys(Probe._fields) | values(searched)
        columns |= {"state": int(game.canonical(here)[0]), "position": searched.position}
        columns |= {"to_move": searched.to_move, "ended": over, "moves": tuple(moves)}
        found = Probe(**columns)
        found._game = game
        return found.by("value")


def unknown(probe: Probe) -> int:
    """Return how many values are not known, of a position and its moves."""
    return [probe.value, *(move.value for move in probe.moves)].count(cast(int, None))


def with_values(store: Store, probe: Probe) -> Probe:
    """Return a probe with its values, which a database has, and a game without one searches."""
    return store.search(probe) if isinstance(store, SearchedGame) else probe


def beyond_book(store: Store, seconds: float) -> Store:
    """Return a book as a game whose other positions are searched, and another store as it is."""
    if store.info["extent"] != BOOK:
        return store
    return SearchedGame(store.game, seconds=seconds, book=store)


def named(text: str) -> Game | None:
    """Return the game of a name where an address may stand, too; None if it can be an address.

    Raises:
        GameNameError: the text is a game with wrong parameters, or rules that cannot be loaded.
    """
    if "://" in text or os.path.lexists(text):
        return None
    try:
        return find_game(text)
    except GameNameError:
        if text.endswith(")") or ".py:" in text:
            raise
    return None


def playable(given: Playable, seconds: float = SECONDS, by: str = "value") -> Store | Address:
    """Return a store or an address as it is, and a game to search for rules or for their name.

    Raises:
        GameNameError: the text is a game with wrong parameters.
        ArgumentError: only a database has margins.
    """
    if isinstance(given, str):
        given = named(given) or given
    if isinstance(given, str | os.PathLike):
        return given
    if not isinstance(given, Store):
        given = SearchedGame(rules_of(given, "store"), seconds=seconds)
    if isinstance(given, SearchedGame) and by == "margin":
        raise ArgumentError(
            f"{given.info['name']} has no margins without a database; leave out --by margin (by=)"
        )
    return given
