"""Values of positions without a store: by a search, or by solving all states below a position.

Games of lines are searched on bitboards (`graphstore.solver.bitboards`), which also finds the plies
to the end. Other games are searched by `graphstore.solver.alpha_beta`, for the value only; if play
can return to a position, the states below are explored and solved instead.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import cycle
from math import inf
from threading import Event
from time import perf_counter
from typing import Any, Final, NamedTuple, Protocol, TypeVar, overload, runtime_checkable

import numpy as np

from graphstore.errors import ArgumentError, PositionError, TooLargeError
from graphstore.games import are_those_of, rules_of
from graphstore.rules.bitboard import OnBitboard
from graphstore.rules.game import (
    IN_PLAY,
    LOSS,
    WIN,
    CycleError,
    Game,
    Ints,
    Moves,
    Nimble,
    Progress,
    quiet,
)
from graphstore.rules.openspiel import reading
from graphstore.rules.plain import PlainGame
from graphstore.rules.positions import START, Position, are_positions, read_position
from graphstore.solver.alpha_beta import Table, rules_for_search, value_of
from graphstore.solver.bitboards import Bitboards
from graphstore.solver.clock import Clock, TimeIsUpError
from graphstore.solver.columns import NONE, PLAIN
from graphstore.solver.exploration import explore
from graphstore.solver.solution import solve
from graphstore.util import arguments

MAX_ENTRIES: Final = 4_000_000  # 16 bytes each on bitboards, else about 150 or more
MAX_STATES: Final = 1_000_000  # about 300 MB
FEW: Final = 10  # free cells up to which, without numba, exploring is quicker: 5 ms at most
PIECE: Final = 4096  # positions expanded between two checks of the clock

T = TypeVar("T")


@runtime_checkable
class Book(Protocol):
    """Solved states for a `Solver`: an open `graphstore.Store` of a book or of a whole game."""

    info: dict[str, Any]

    @property
    def address(self) -> str:
        """Its name in messages."""

    def lookup(self, positions: Any) -> Any:
        """Return the values of ids of states; see `graphstore.Store.lookup`."""


class SearchedMove(NamedTuple):
    """A legal move and the worth of the position after it; see `Searched`.

    `value` and `remoteness` are those of the position after the move, for the opponent of the
    player who makes it, as in `graphstore.store.probe.Move`; `solver_score` is for the player who
    makes it. All are None if they are unknown.
    """

    move: int
    position: str
    value: int | None = None
    remoteness: int | None = None
    solver_score: int | None = None


class Searched(NamedTuple):
    """The result of a search: the value of a position, or the reason why it is unknown.

    `value` is +1, 0 or -1 for the player to move under best play by both, or None if it is unknown.
    `why` is None if all that was requested is known; ``timeout``; ``memory`` if the memory was
    full; or ``endless`` if play can return to a position and there are too many states below it.
    """

    game: str
    position: str
    to_move: int | None  # 1 or 2; None if the rules do not say
    value: int | None
    why: str | None
    nodes: int  # the number of positions examined
    entries: int  # the number of answers in the table at the end
    seconds: float
    method: str  # ``rules`` if the game is over, ``book``, ``alpha-beta`` or ``retrograde``
    remoteness: int | None = None  # plies to the end under best play, if the method finds them
    solver_score: int | None = None  # the score of Connect Four solvers, on boards of lines
    moves: tuple[SearchedMove, ...] | None = None  # best first, if requested


class _Worth(NamedTuple):
    """The worth of a position for the player to move; None for what the method does not find."""

    value: int
    remoteness: int | None = None
    solver_score: int | None = None


class _Task:
    """The search of one position: the value and then the moves, as far as they are found."""

    def __init__(self, game: Game, at: int, clock: Clock, *, moves: bool) -> None:
        here = np.array([at], dtype=np.int64)
        self.game, self.at, self.clock = game, at, clock
        self.ended = bool(game.outcomes(here)[0] != IN_PLAY)
        self.worth: _Worth | None = _ended(game, at) if self.ended else None
        self.children: dict[int, tuple[int, _Worth | None]] | None = None
        if moves:
            _, played, after = game.expand(here[: not self.ended])
            turn, turns = game.turns(here), game.turns(after)
            self._keep = set(played[(turns == turn) & (turn > 0)].tolist())
            self.children = {
                move: (child, None)
                for move, child in zip(played.tolist(), after.tolist(), strict=True)
            }
            over = game.outcomes(after) != IN_PLAY
            for move, child in zip(played[over].tolist(), after[over].tolist(), strict=True):
                self.settle(move, _ended(game, child))

    def open_children(self) -> Iterator[tuple[int, int]]:
        """Yield the moves whose worth is unknown, each with the position after it."""
        for move, (child, worth) in [*(self.children or {}).items()]:
            if worth is None:
                yield move, child

    def look_up(self, book: Book) -> bool:
        """Note the worths that a book has; return True if nothing is left to search."""
        open_ = [(None, self.at), *self.open_children()]
        ids = self.game.canonical(np.array([at for _, at in open_], dtype=np.int64))
        rows = book.lookup(ids)
        known = rows.found & ~np.ma.getmaskarray(rows.remoteness)
        for (move, at), is_known, value, plies in zip(
            open_, known, rows.value, rows.remoteness, strict=True
        ):
            if is_known:
                worth = _worth(self.game, at, int(value), int(plies))
                if move is None:
                    self.worth = worth
                else:
                    self.settle(move, worth)
        return bool(known.all())

    def is_late(self) -> bool:
        """Return whether a board of lines has few free cells."""
        return (
            isinstance(self.game, OnBitboard)
            and self.game.bitboard.cells - self.game.stones(self.at)[1].bit_count() <= FEW
        )

    def settle(self, move: int, worth: _Worth) -> None:
        """Note the worth of the position after a move."""
        assert self.children is not None
        if move in self._keep:  # then worth is for the player who made the move
            worth = worth._replace(value=-worth.value)
        self.children[move] = self.children[move][0], worth

    def settle_lost(self) -> None:
        """Settle the moves after which the opponent wins at once."""
        moves = [*self.open_children()]
        here = np.array([child for _, child in moves], dtype=np.int64)
        parent, _, after = self.game.expand(here)
        turns = self.game.turns(after)
        passed = (turns == 0) | (turns != self.game.turns(here)[parent])
        for at in {*parent[passed & (self.game.outcomes(after) == LOSS)].tolist()}:
            self.settle(moves[at][0], _worth(self.game, moves[at][1], WIN, 1))

    def settle_from_moves(self) -> None:
        """Note the worth that follows from that of some moves."""
        assert self.children is not None
        worths = [worth for _, worth in self.children.values()]
        best, all_known = min(worths, key=_rank), None not in worths
        if self.worth is None and best and (best.value == LOSS or all_known):
            plies = best.remoteness if all_known or best.remoteness == 0 else None
            plies = None if plies is None else plies + 1
            self.worth = _worth(self.game, self.at, -best.value, plies)

    def moves(self) -> tuple[SearchedMove, ...] | None:
        """Return the moves, best first; None if they were not requested."""
        if self.children is None:
            return None
        found = sorted(self.children.items(), key=lambda each: _rank(each[1][1]))
        texts = self.game.texts(np.array([child for _, (child, _) in found], dtype=np.int64))
        return tuple(
            SearchedMove(move, text, *_of_move(worth))
            for (move, (_, worth)), text in zip(found, texts, strict=True)
        )


def _ended(game: Game, at: int) -> _Worth:
    return _worth(game, at, int(game.outcomes(np.array([at], dtype=np.int64))[0]), 0)


def _worth(game: Game, at: int, value: int, plies: int | None) -> _Worth:
    """Return the worth of a position, with the score of Connect Four solvers on boards of lines."""
    if not isinstance(game, OnBitboard) or plies is None:
        return _Worth(value, plies)
    left = game.bitboard.cells - game.stones(at)[1].bit_count()
    return _Worth(value, plies, value * ((left + 2 - plies) // 2))


def _of_move(worth: _Worth | None) -> tuple[int | None, int | None, int | None]:
    """Return the columns of a move to a position."""
    if worth is None:
        return None, None, None
    score = worth.solver_score
    return worth.value, worth.remoteness, None if score is None else -score


def _rank(worth: _Worth | None) -> tuple[int, float]:
    """Return a sort key that puts the move to the worst position for the opponent first."""
    if worth is None:
        return 2, 0
    plies = inf if worth.remoteness is None else worth.remoteness
    return worth.value, plies if worth.value == LOSS else -plies if worth.value == WIN else 0


def cores() -> int:
    """Return the number of threads that make a search on bitboards faster: 1 without numba."""
    return (os.cpu_count() or 1) if find_spec("numba") is not None else 1


@contextmanager
def in_threads(
    one: Callable[[int, Event], T], listed: Sequence[int], threads: int
) -> Iterator[list[Future[T]]]:
    """Yield the coming results of `one` for each position.

    At the end of the block its event is set, at which `one` ends early.
    """
    stop, pool = Event(), ThreadPoolExecutor(threads)
    try:
        yield [pool.submit(one, at, stop) for at in listed]
    finally:
        stop.set()
        pool.shutdown(wait=False, cancel_futures=True)  # a garbage collector may run this


class Solver:
    """Search positions of one game; the answers of a search are kept for the next ones.

    >>> solver = Solver("connect(7,6)")
    >>> found = solver.search("moves:545232353443546162")
    >>> found.value, found.remoteness, found.solver_score
    (-1, 8, -9)
    """

    def __init__(
        self,
        game: Game | PlainGame | str,
        *,
        book: Book | None = None,
        max_entries: int = MAX_ENTRIES,
        max_states: int = MAX_STATES,
    ) -> None:
        """Prepare searches; the other arguments are those of `search`.

        `book` is an open `Store` of the game, such as one that `graphstore.book` wrote. Positions
        that it has are answered from it. It must stay open.

        Raises:
            ArgumentError: the book is not a store or has another game, or the game is not searched
                on bitboards.
        """
        self.game = rules_of(game)
        self._book = book if book is None else _checked(book, self.game)
        self._max_states = arguments.count("max_states", max_states)
        entries = arguments.count("max_entries", max_entries)
        self._table: Bitboards | Table
        if isinstance(self.game, OnBitboard):
            self._table = Bitboards(self.game.bitboard, entries=entries)
        else:
            self._table = Table(entries)

    def search(
        self,
        position: Position = START,
        *,
        moves: bool = False,
        timeout: float | None = None,
        progress: Progress = quiet,
    ) -> Searched:
        """Return the value of a position; see `graphstore.search`."""
        clock = Clock(arguments.seconds("timeout", timeout), progress)
        at = self.read(arguments.position("position", position), timeout=timeout)
        return self._searched(at, clock, moves=moves, explore_late=True)

    def search_all(
        self,
        positions: Iterable[Position],
        *,
        moves: bool = False,
        timeout: float | None = None,
        progress: Progress = quiet,
    ) -> Iterator[Searched]:
        """Yield the result of each position, in order; `timeout` is for each of them.

        All positions are read first. Compiled searches on bitboards use all cores.
        """
        timeout = arguments.seconds("timeout", timeout)
        listed = [
            self.read(arguments.position("positions", each), timeout=timeout) for each in positions
        ]
        return self._each(listed, timeout, progress, moves=moves)

    def read(self, position: Position, *, timeout: float | None = None) -> int:
        """Return the packed position of a text, of moves, or of an integer, checked."""
        with reading(positions=self._max_states, seconds=timeout):
            if not isinstance(position, int):
                return read_position(self.game, position)
            if 0 <= position < 2**63:
                (text,) = self.game.texts(np.array([position], dtype=np.int64))
                if self.game.read(text) == position:
                    return position
        raise PositionError(f"{position} is not a position of {self.game.name}")

    def _each(
        self, listed: list[int], timeout: float | None, progress: Progress, *, moves: bool
    ) -> Iterator[Searched]:
        threads = cores() if isinstance(self._table, Bitboards) else 1

        def one(at: int, stop: Event) -> Searched:
            clock = Clock(timeout, quiet, stop)
            return self._searched(at, clock, moves=moves, explore_late=threads == 1)

        with in_threads(one, listed, threads) as results:
            for done, found in enumerate(results, 1):
                yield found.result()
                progress("search", done, len(listed))

    def _searched(self, at: int, clock: Clock, *, moves: bool, explore_late: bool) -> Searched:
        """Return the result of a packed position."""
        game, here = self.game, np.array([at], dtype=np.int64)
        task = _Task(game, at, clock, moves=moves)
        why, method = None, "rules"
        if not task.ended:
            method = "book"
            if self._book is None or not task.look_up(self._book):
                why, method = self._find(task, explore_late)
        if why is not None and moves:
            task.settle_lost()
            task.settle_from_moves()
        value, remoteness, score = task.worth or (None, None, None)
        return Searched(
            game.name,
            game.texts(here)[0],
            int(game.turns(here)[0]) or None,
            value,
            why,
            clock.nodes,
            len(self._table),
            round(perf_counter() - clock.began, 4),
            method,
            remoteness,
            score,
            task.moves(),
        )

    def _find(self, task: _Task, explore_late: bool) -> tuple[str | None, str]:
        """Find the worth of a position; return None or why it is unknown, and the method."""
        game, methods = self.game, ["retrograde", "alpha-beta"]
        if isinstance(game, Nimble) and game.max_plies is not None:
            methods.reverse()
        if isinstance(self._table, Bitboards) and not (explore_late and task.is_late()):
            methods = ["alpha-beta"]
        why = ""
        for method in methods:
            try:
                if method == "retrograde":
                    _by_exploration(task, self._max_states)
                elif isinstance(self._table, Bitboards):
                    _on_bitboards(task, self._table)
                else:
                    _by_alpha_beta(task, self._table)
                return None, method
            except TimeIsUpError:
                return "timeout", method
            except (TooLargeError, CycleError):
                why = "endless"
            except MemoryError:
                why = "memory"
        return why, methods[-1]


@overload
def search(
    game: Game | PlainGame | str,
    position: str | int = START,
    *,
    moves: bool = False,
    timeout: float | None = None,
    max_entries: int = MAX_ENTRIES,
    max_states: int = MAX_STATES,
    progress: Progress = quiet,
) -> Searched: ...


@overload
def search(
    game: Game | PlainGame | str,
    position: Sequence[Any],
    *,
    moves: bool = False,
    timeout: float | None = None,
    max_entries: int = MAX_ENTRIES,
    max_states: int = MAX_STATES,
    progress: Progress = quiet,
) -> Any: ...


def search(
    game: Game | PlainGame | str,
    position: Position = START,
    *,
    moves: bool = False,
    timeout: float | None = None,
    max_entries: int = MAX_ENTRIES,
    max_states: int = MAX_STATES,
    progress: Progress = quiet,
) -> Searched | list[Searched]:
    """Return the value of a position, with the cost of the search; or a list for many positions.

    Args:
        game: the rules, or a name for `graphstore.find_game`.
        position: a text, a list of moves, or a packed integer; ``start`` is the first start. Or
            many positions: a list of texts the first of which is not a move.
        moves: also find the worth of every move.
        timeout: the time limit in seconds for each position, also for reading it.
        max_entries: the capacity of the table of answers.
        max_states: the most states to explore below the position; with more, it is searched.
        progress: called with the number of positions examined.

    Raises:
        PositionError: `position` is not a position of the game, or reading it takes too long.
        RulesError: the rules break a law.
        ArgumentError: a number is negative.

    >>> search("ultimate(open)", "X X . O O . XXOO..... = = 6 X").value
    1
    >>> [found.solver_score for found in search("connect(3,3,3)", ["moves:1 1", "moves:1 1 2"])]
    [1, -1]
    """
    solver = Solver(game, max_entries=max_entries, max_states=max_states)
    if not isinstance(position, str | int) and are_positions(solver.game, position):
        return [*solver.search_all(position, moves=moves, timeout=timeout, progress=progress)]
    return solver.search(position, moves=moves, timeout=timeout, progress=progress)


def _checked(book: Book, game: Game) -> Book:
    """Return a book; raise an ArgumentError if the searches of a game cannot use it."""
    arguments.instance("book", book, Book, "an open store: graphstore.Store.open(FILE)")
    name, rules = book.info["name"], book.info["rules"]
    if not are_those_of(game, name, rules):
        raise ArgumentError(
            f"book is {book.address}, which has {name} {rules}, not {game.name} {game.rules}"
        )
    on_bitboard(game)
    return book


def on_bitboard(game: Game) -> OnBitboard:
    """Return a game; raise an ArgumentError if it is not searched on bitboards."""
    if isinstance(game, OnBitboard):
        return game
    raise ArgumentError(
        f"{game.name} cannot have a book: only connect and mnk are searched with the plies to the "
        "end"
    )


def _on_bitboards(task: _Task, boards: Bitboards) -> None:
    """Find the worth of a position, and of its moves, on bitboards.

    The worth of moves is found in the order of the plies to the end, so that a search without much
    time knows what is near.
    """
    game: Any = task.game
    own, filled = game.stones(task.at)
    if task.children is None:
        score = boards.score(own, filled, task.clock.count)
        task.worth = _worth(game, task.at, *boards.worth(score, filled))
        return
    task.clock.count(0)  # there may be no time at all
    bounds = {move: boards.bounds(*game.stones(child)) for move, child in task.open_children()}
    for upper in cycle((True, False)):  # is a score the greatest one left, is it the least one
        for move, (low, high) in [*bounds.items()]:
            child, _ = task.children[move]
            own, stones = game.stones(child)
            if low < high:
                goal = high if upper else low + 1
                bound = boards.bound(own, stones, goal, task.clock.count)
                low, high = bounds[move] = (bound, high) if bound >= goal else (low, bound)
            if low == high:
                task.settle(move, _worth(game, child, *boards.worth(low, stones)))
                del bounds[move]
        known = [-(worth.solver_score or 0) for _, worth in task.children.values() if worth]
        if known and max(known) >= max((-low for low, _ in bounds.values()), default=-inf):
            task.worth = _worth(game, task.at, *boards.worth(max(known), filled))
        if not bounds:
            return


def _by_alpha_beta(task: _Task, table: Table) -> None:
    """Find the value of a position, and of those after its moves, without the plies to the end."""
    for move, at in ((None, task.at), *task.open_children()):
        node, look = rules_for_search(task.game, at)
        worth = _Worth(value_of(node, look, task.clock, table))
        if move is None:
            task.worth = worth
        else:
            task.settle(move, worth)


class _Timed:
    """A game that checks the clock during exploration."""

    def __init__(self, game: Game, clock: Clock) -> None:
        self._game = game
        self._clock = clock

    def __getattr__(self, name: str) -> Any:
        return getattr(self._game, name)

    def expand(self, positions: Ints) -> Moves:
        parts = []
        for begin in range(0, len(positions), PIECE):
            piece = positions[begin : begin + PIECE]
            self._clock.count(len(piece))
            parent, move, child = self._game.expand(piece)
            parts.append(Moves(parent + begin, move, child))
        return Moves(*map(np.concatenate, zip(*parts, strict=True)))


def _by_exploration(task: _Task, max_states: int) -> None:
    """Find the worth of a position, and of those after its moves, from the graph below it."""
    game = task.game

    def tick(_phase: str, _done: int, _total: int | None) -> None:
        task.clock.count(0)

    timed: Any = _Timed(game, task.clock)
    starts = np.array([task.at], dtype=np.int64)
    graph = explore(timed, starts=starts, max_states=max_states, progress=tick)
    graph.kind = PLAIN  # margins are not asked for
    solution = solve(graph, progress=tick)

    def worth(at: int) -> _Worth:
        row = graph.row(int(game.canonical(np.array([at], dtype=np.int64))[0]))
        plies = int(solution.remoteness[row])
        return _worth(game, at, int(solution.value[row]), None if plies == NONE else plies)

    task.worth = worth(task.at)
    for move, child in task.open_children():
        task.settle(move, worth(child))
