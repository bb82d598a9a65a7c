"""The value of a position by alpha-beta, with the rules of a game for one position at a time.

The search asks whether the player to move wins, and if not, whether he at least draws. It tries
moves, the most promising first, until one settles the question, and keeps the answers in a table.
"""

from collections.abc import Hashable, Iterable
from typing import Any, Final

import numpy as np

from graphstore.rules.game import (
    DRAW,
    IN_PLAY,
    LOSS,
    WIN,
    CycleError,
    Game,
    Look,
    Nimble,
    after_turn,
    stuck,
)
from graphstore.solver.clock import Clock
from graphstore.util.arrays import distinct

OFTEN: Final = 64  # nodes between two checks of the clock


class Table:
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
        """Return the answer for a node, or None."""
        known = self.new[goal].get(node)
        return self.old[goal].get(node) if known is None else known

    def keep(self, goal: int, node: Any, answer: bool) -> None:
        """Add an answer."""
        self.new[goal][node] = answer
        if len(self.new[0]) + len(self.new[1]) >= self._most:
            self.old, self.new = self.new, ({}, {})


def value_of(node: Hashable, look: Look, clock: Clock, table: Table) -> int:
    """Return the value of a node, +1, 0 or -1 for the player to move."""
    if _reaches(node, WIN, look, clock, table):
        return WIN
    return DRAW if _reaches(node, DRAW, look, clock, table) else LOSS


def _reaches(root: Hashable, goal: int, look: Look, clock: Clock, table: Table) -> bool:
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


def rules_for_search(game: Game, at: int) -> tuple[Hashable, Look]:
    """Return the root node and the `Look` of a game: its own, or derived from its arrays."""
    if isinstance(game, Nimble):
        return game.search_from(at)
    here = np.array([at], dtype=np.int64)

    def look(state: int, goal: int) -> bool | list[int]:
        turn = game.turns(np.array([state], dtype=np.int64))

        def moves(wave: list[int]) -> Iterable[tuple[int, int | None, bool]]:
            states = np.array(wave, dtype=np.int64)
            parent, _, child = game.expand(states)
            without = np.bincount(parent, minlength=len(wave)) == 0
            if without.any():
                raise stuck(game, game.texts(states[without])[0])
            child = distinct(game.canonical(child))
            ends = [None if each == IN_PLAY else each for each in game.outcomes(child).tolist()]
            keeps = (game.turns(child) == turn) & (turn != 0)
            return zip(child.tolist(), ends, keeps.tolist(), strict=True)

        found = after_turn(state, goal, moves)
        if isinstance(found, bool):
            return found
        child = np.array(sorted(found), dtype=np.int64)
        replies = np.bincount(game.expand(child).parent, minlength=len(child))
        children: list[int] = child[np.argsort(replies, kind="stable")].tolist()
        return children

    return int(game.canonical(here)[0]), look
