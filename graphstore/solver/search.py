"""The value of one position, without a store: by a search, or by solving all states below it.

A search answers two questions: does the player to move win, and if not, does he at least draw? It
tries moves, the most promising first, until one settles the question, and keeps the answers in a
table. If play can return to a position, the states below are explored and solved instead.
"""

from collections.abc import Hashable
from time import perf_counter
from typing import Any, Final, NamedTuple

import numpy as np

from graphstore.errors import PositionError, TooLargeError
from graphstore.games import rules_of
from graphstore.rules.game import (
    DRAW,
    IN_PLAY,
    LOSS,
    WIN,
    CycleError,
    Game,
    Ints,
    Look,
    Moves,
    Nimble,
    Progress,
    quiet,
    stuck,
)
from graphstore.rules.openspiel import reading
from graphstore.rules.plain import PlainGame
from graphstore.rules.positions import START, Position, read_position
from graphstore.solver.columns import PLAIN
from graphstore.solver.exploration import explore
from graphstore.solver.solution import solve
from graphstore.util import arguments
from graphstore.util.arrays import distinct

MAX_ENTRIES: Final = 4_000_000  # about 150 bytes each, more where nodes are large
MAX_STATES: Final = 1_000_000  # about 300 MB
OFTEN: Final = 64  # nodes between two checks of the clock
PIECE: Final = 4096  # positions expanded between two checks of the clock
PAUSE: Final = 0.1  # seconds between two calls of progress


class Searched(NamedTuple):
    """The result of `search`: the value of a position, or the reason why it is unknown.

    `value` is +1, 0 or -1 for the player to move under best play by both, or None if it is unknown.
    Then `why` is ``timeout``; ``memory`` if the memory was full; or ``endless`` if play can return
    to a position and there are too many states below this one.
    """

    game: str
    position: str
    to_move: int | None  # 1 or 2; None if the rules do not say
    value: int | None
    why: str | None
    nodes: int  # the number of positions examined
    entries: int  # the number of answers in the table at the end
    seconds: float
    method: str  # ``rules`` if the game is over, ``alpha-beta`` or ``retrograde``


class _TimeoutError(Exception):
    """The time is up."""


def search(
    game: Game | PlainGame | str,
    position: Position = START,
    *,
    timeout: float | None = None,
    max_entries: int = MAX_ENTRIES,
    max_states: int = MAX_STATES,
    progress: Progress = quiet,
) -> Searched:
    """Return the value of a position, with the cost of the search.

    Args:
        game: the rules, or a name for `graphstore.find_game`.
        position: a text, a list of moves, or a packed integer; ``start`` is the first start.
        timeout: the time limit in seconds, also for reading the position.
        max_entries: the capacity of the table of answers; a full table drops its older half.
        max_states: the most states to explore below the position; with more, it is searched.
        progress: called with the number of positions examined.

    Raises:
        PositionError: `position` is not a position of the game, or reading it takes too long.
        RulesError: the rules break a law.
        ArgumentError: a number is negative.

    >>> search("ultimate(open)", "X X . O O . XXOO..... = = 6 X").value
    1
    """
    game = rules_of(game)
    max_states = arguments.count("max_states", max_states)
    clock = _Clock(arguments.seconds("timeout", timeout), progress)
    with reading(positions=max_states, seconds=timeout):
        at = _read(game, arguments.position("position", position))
    here = np.array([at], dtype=np.int64)
    value, why, method = int(game.outcomes(here)[0]), None, "rules"
    table = _Table(arguments.count("max_entries", max_entries))
    if value == IN_PLAY:
        value, why, method = _value(game, at, clock, table, max_states)
    return Searched(
        game.name,
        game.texts(here)[0],
        int(game.turns(here)[0]) or None,
        None if why else value,
        why,
        clock.nodes,
        len(table),
        round(perf_counter() - clock.began, 4),
        method,
    )


def _value(
    game: Game, at: int, clock: "_Clock", table: "_Table", max_states: int
) -> tuple[int, str | None, str]:
    """Return the value (0 if unknown), the reason why it is unknown or None, and the method."""
    first, second = "retrograde", "alpha-beta"
    if isinstance(game, Nimble) and game.max_plies is not None:
        first, second = second, first
    method, why = first, ""
    for method in (first, second):
        try:
            if method == "retrograde":
                return _by_exploration(game, at, clock, max_states), None, method
            node, look = _rules(game, at)
            return _by_search(node, look, clock, table), None, method
        except _TimeoutError:
            return 0, "timeout", method
        except (TooLargeError, CycleError):
            why = "endless"
        except MemoryError:
            why = "memory"
    return 0, why, method


def _read(game: Game, position: Position) -> int:
    """Return the packed position of a text, of moves, or of an integer, checked."""
    if not isinstance(position, int):
        return read_position(game, position)
    if 0 <= position < 2**63:
        (text,) = game.texts(np.array([position], dtype=np.int64))
        if game.read(text) == position:
            return position
    raise PositionError(f"{position} is not a position of {game.name}")


class _Clock:
    """A counter of nodes that reports progress and checks the time limit."""

    def __init__(self, timeout: float | None, progress: Progress) -> None:
        self.began = self._reported = perf_counter()
        self.nodes = 0
        self._end = None if timeout is None else self.began + timeout
        self._progress = progress

    def count(self, nodes: int) -> None:
        """Count nodes; raise _TimeoutError if the time is up."""
        self.nodes += nodes
        now = perf_counter()
        if self._end is not None and now > self._end:
            raise _TimeoutError
        if now > self._reported + PAUSE:
            self._reported = now
            self._progress("search", self.nodes, None)


class _Table:
    """A table of answers by goal and node, in a new half and an old half.

    When the new half is full, it replaces the old half.
    """

    def __init__(self, entries: int) -> None:
        self._most = max(1, entries // 2)
        self.new: tuple[dict[Any, bool], ...] = ({}, {})
        self.old: tuple[dict[Any, bool], ...] = ({}, {})

    def __len__(self) -> int:
        return sum(map(len, (*self.new, *self.old)))

    def get(self, goal: int, node: Any) -> bool | None:
        known = self.new[goal].get(node)
        return self.old[goal].get(node) if known is None else known

    def keep(self, goal: int, node: Any, answer: bool) -> None:
        self.new[goal][node] = answer
        if len(self.new[0]) + len(self.new[1]) >= self._most:
            self.old, self.new = self.new, ({}, {})


def _by_search(node: Hashable, look: Look, clock: _Clock, table: _Table) -> int:
    """Return the value of a node, +1, 0 or -1 for the player to move."""
    if _reaches(node, WIN, look, clock, table):
        return WIN
    return DRAW if _reaches(node, DRAW, look, clock, table) else LOSS


def _reaches(root: Hashable, goal: int, look: Look, clock: _Clock, table: _Table) -> bool:
    """Return True if the player to move gets at least `goal`, `WIN` or `DRAW`.

    He does if, after some move, the opponent does not get at least ``1 - goal``: one player wins
    unless the other at least draws. The path is a list, not recursion, so a game may be long.
    """
    path: list[tuple[Any, list[Any]]] = []  # nodes, each with its untried children, best last
    on_path: set[Any] = set()
    node: Any = root
    nodes = 0
    while True:
        nodes += 1
        if nodes % OFTEN == 0:
            clock.count(OFTEN)
        seen = look(node, goal)
        if isinstance(seen, bool):
            answer = seen
        else:
            known = [table.get(1 - goal, child) for child in seen]
            answer = False in known
            left = [] if answer else [c for c, k in zip(seen, known, strict=True) if k is None]
            if left:
                left.reverse()
                path.append((node, left))
                on_path.add(node)
                node, goal = _unvisited(left.pop(), on_path), 1 - goal
                continue
        table.keep(goal, node, answer)
        while path:
            parent, left = path[-1]
            goal = 1 - goal
            settled = not answer
            below = None
            while left and not settled:
                child = left.pop()
                known_child = table.get(1 - goal, child)
                if known_child is None:
                    below = child
                    break
                settled = not known_child
            if below is not None:
                node, goal = _unvisited(below, on_path), 1 - goal
                break
            path.pop()
            on_path.discard(parent)
            answer = settled
            table.keep(goal, parent, answer)
        else:
            clock.count(nodes % OFTEN)
            return answer


def _unvisited(node: Any, on_path: set[Any]) -> Any:
    if node in on_path:
        raise CycleError
    return node


def _rules(game: Game, at: int) -> tuple[Hashable, Look]:
    """Return the root node and the `Look` of a game: its own, or derived from its arrays."""
    if isinstance(game, Nimble):
        return game.search_from(at)
    here = np.array([at], dtype=np.int64)

    def look(state: int, goal: int) -> bool | list[int]:
        wave = np.array([state], dtype=np.int64)
        turn, after, met, moves = int(game.turns(wave)[0]), [wave[:0]], {state}, 0
        while wave.size:  # a turn of several moves is one step
            met.update(wave.tolist())
            moves += 1
            if moves > len(met):
                raise CycleError
            parent, _, child = game.expand(wave)
            without = np.bincount(parent, minlength=len(wave)) == 0
            if without.any():
                raise stuck(game, game.texts(wave[without])[0])
            child = distinct(game.canonical(child))
            outcome, keeps = game.outcomes(child), (game.turns(child) == turn) & (turn != 0)
            ended = outcome != IN_PLAY
            worth = np.where(keeps, outcome, -outcome)
            if (worth[ended] >= goal).any():
                return True
            after.append(child[~ended & ~keeps])
            wave = child[~ended & keeps]
        child = distinct(np.concatenate(after))
        if not child.size:
            return False
        replies = np.bincount(game.expand(child).parent, minlength=len(child))
        children: list[int] = child[np.argsort(replies, kind="stable")].tolist()
        return children

    return int(game.canonical(here)[0]), look


class _Timed:
    """A game that checks the clock during exploration."""

    def __init__(self, game: Game, clock: _Clock) -> None:
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


def _by_exploration(game: Game, at: int, clock: _Clock, max_states: int) -> int:
    """Return the value of a position from the graph below it."""

    def tick(_phase: str, _done: int, _total: int | None) -> None:
        clock.count(0)

    timed: Any = _Timed(game, clock)
    starts = np.array([at], dtype=np.int64)
    graph = explore(timed, starts=starts, max_states=max_states, progress=tick)
    graph.kind = PLAIN  # margins are not asked for
    solution = solve(graph, progress=tick)
    return int(solution.value[graph.row(int(game.canonical(starts)[0]))])
