"""MENACE, the Matchbox Educable Noughts and Crosses Engine, for any solved game.

Donald Michie, "Experiments on the mechanization of game-learning", Computer Journal 6(3), 1963,
232-236. A matchbox is a state in which the learner has more than one legal move; its beads lie on
the edges, which are the distinct moves. The learner draws a bead for each move; after the game,
beads are added to the edges that a winner played and taken from those that a loser played.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphstore.errors import SettingError, shown
from graphstore.play.arena import RESIGN, Arena, Choose
from graphstore.rules.game import DRAW, WIN
from graphstore.util import arguments

EMPTY: Final = ("refill", "resign")
MOST_BEADS: Final = 2**31 - 1  # on an edge
MOST_ADDED: Final = 10_000
MOST_STAGES: Final = 100
LONGEST: Final = 1_000_000  # plies
NO_BOX: Final = -1


class Settings(NamedTuple):
    """The settings by which an agent learns."""

    side: int = 0  # the player that it learns to be, 1 or 2; 0 for both, with one set of boxes
    stages: tuple[int, ...] = (4, 3, 2, 1)
    """Beads on each edge of a box for the player's first move, second move and so on; the last
    number is for all later moves. The default is Michie's."""
    win: int = 3  # beads added to an edge each time it was played in a won game; may be negative
    draw: int = 1  # the same in a drawn game
    loss: int = -1  # the same in a lost game
    empty: str = "refill"  # at an empty box: ``refill`` it with its first beads, or ``resign``
    longest: int = 1000  # plies after which a game is ended as a draw

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "Settings":
        """Return the given settings and defaults for the others; raise a SettingError if wrong."""
        unknown = sorted(given.keys() - {*cls._fields})
        if unknown:
            raise SettingError(
                f"there is no setting {shown(unknown[0])}; the settings are "
                f"{', '.join(cls._fields)}"
            )
        return cls(**given).checked()

    def checked(self) -> "Settings":
        """Return the settings if they are in range; else raise a SettingError."""
        names = ("side", "win", "draw", "loss", "longest")
        whole: dict[str, Any] = {name: whole_number(name, getattr(self, name)) for name in names}
        if not isinstance(self.stages, Iterable) or isinstance(self.stages, str):
            raise SettingError(
                f"the stages are {self.stages!r}; give numbers, such as (4, 3, 2, 1)"
            )
        stages = tuple(whole_number("a stage", number) for number in self.stages)
        if whole["side"] not in (0, 1, 2):
            raise SettingError(f"the side is {self.side}; it must be 1, 2, or 0 for both")
        if not 1 <= len(stages) <= MOST_STAGES or not all(1 <= n <= MOST_ADDED for n in stages):
            raise SettingError(
                f"the stages are {shown(written(stages))}; give 1 to {MOST_STAGES} numbers "
                f"from 1 to {MOST_ADDED:,}, such as 4/3/2/1"
            )
        if self.empty not in EMPTY:
            raise SettingError(f"empty is {self.empty!r}; it must be {' or '.join(EMPTY)}")
        added = (-MOST_ADDED, MOST_ADDED, "beads")
        limits = {"win": added, "draw": added, "loss": added, "longest": (1, LONGEST, "plies")}
        for name, (least, most, unit) in limits.items():
            if not least <= whole[name] <= most:
                raise SettingError(
                    f"{name} is {whole[name]:,} {unit}; it must be from {least:,} to {most:,}"
                )
        return self._replace(stages=stages, **whole)


def whole_number(name: str, value: Any) -> int:
    """Return a setting as an integer, or raise a SettingError."""
    number = arguments.integer(value)
    if number is None:
        raise SettingError(f"{name} is {shown(value)}; it must be a whole number")
    return number


def written(stages: tuple[int, ...]) -> str:
    """Return the stages as text.

    >>> written((4, 3, 2, 1))
    '4/3/2/1'
    """
    return "/".join(map(str, stages))


def read_stages(text: str) -> tuple[int, ...]:
    """Return the stages that a text such as ``8/4/2/1`` or ``2`` means."""
    if not re.fullmatch(r"[0-9]{1,5}(/[0-9]{1,5})*", text):
        raise SettingError(
            f"{shown(text)} is not a list of stages; write numbers of beads, such as 4/3/2/1 or 2"
        )
    return Settings(stages=tuple(map(int, text.split("/")))).checked().stages


class Boxes:
    """The matchboxes of one agent in an arena, and their beads.

    Attributes:
        beads: [e], the beads on each edge; 0 if the state is not a box.
        total: [n], the beads in each box; `NO_BOX` if the state is not a box.
        rows: the rows of the boxes.
    """

    def __init__(
        self, arena: Arena, settings: Settings, beads: NDArray[np.int64] | None = None
    ) -> None:
        self._arena = arena
        self._settings = settings
        box = box_rows(arena, settings.side)
        self._parent: list[int] = arena.parent.tolist()
        stages = np.array(settings.stages, dtype=np.int64)
        stage = np.minimum(arena.ply[arena.parent] // 2, len(stages) - 1)  # of the player's moves
        at_first = np.where(box[arena.parent], stages[stage], 0)
        self._at_first: list[int] = at_first.tolist()
        now = at_first if beads is None else beads
        self.beads: list[int] = now.tolist()
        self.total: list[int] = np.where(box, arena.total(now), NO_BOX).tolist()
        self.rows: list[int] = np.flatnonzero(box).tolist()
        self._changed: set[int] = set()  # rows of boxes that changed since the last `settle`
        self._kept = {row for row in self.rows if self._keeps_value(row)}

    @property
    def kept(self) -> int:
        """The number of boxes in which all moves with the most beads keep the value."""
        self._update_kept()
        return len(self._kept)

    def settle(self) -> list[int]:
        """Return the edges of the boxes that have changed since the last call."""
        self._update_kept()
        first = self._arena.first
        edges = [e for row in sorted(self._changed) for e in range(first[row], first[row + 1])]
        self._changed.clear()
        return edges

    def player(self, random: Callable[[], float]) -> Choose:
        """Return the agent as a player of the arena."""
        first, beads, total = self._arena.first, self.beads, self.total
        refill = self._settings.empty == "refill"

        def choose(row: int) -> int:
            left = total[row]
            edge = first[row]
            if left <= 0:
                if left == NO_BOX:
                    return edge  # the only one
                if not refill:
                    return RESIGN
                left = self.fill(row)
            left = int(random() * left) - beads[edge]
            while left >= 0:
                edge += 1
                left -= beads[edge]
            return edge

        return choose

    def learn(self, edges: list[int], result: int) -> None:
        """Add or remove beads on the edges that a player played; `result` is that player's."""
        settings = self._settings
        more = settings.win if result == WIN else settings.draw if result == DRAW else settings.loss
        beads, total, parent = self.beads, self.total, self._parent
        for edge in edges:
            row = parent[edge]
            if total[row] != NO_BOX:
                there = beads[edge]
                added = more if -more <= there else -there
                if there + added > MOST_BEADS:
                    added = 0
                beads[edge] = there + added
                total[row] += added
                self._changed.add(row)

    def fill(self, row: int) -> int:
        """Fill a box with its first beads; return their number."""
        edges = slice(self._arena.first[row], self._arena.first[row + 1])
        self.beads[edges] = self._at_first[edges]
        self.total[row] = sum(self.beads[edges])
        self._changed.add(row)
        return self.total[row]

    def _update_kept(self) -> None:
        for row in self._changed:
            (self._kept.add if self._keeps_value(row) else self._kept.discard)(row)

    def _keeps_value(self, row: int) -> bool:
        begin, end = self._arena.first[row], self._arena.first[row + 1]
        most = max(self.beads[begin:end])
        keeps = self._arena.keeps
        return most > 0 and all(keeps[e] for e in range(begin, end) if self.beads[e] == most)


def next_checkpoint(games: int) -> int:
    """Return the number of games at the next checkpoint; there are 18 in each power of ten.

    >>> next_checkpoint(9), next_checkpoint(95), next_checkpoint(1000)
    (10, 100, 1500)
    """
    step = _step(games, 2)
    return (games // step + 1) * step


def block(games: int) -> range:
    """Return the numbers of the next game and of those that are counted together with it.

    The first 100 games are blocks of their own; then there are 180 blocks in each power of ten. A
    checkpoint, and half of one, is the end of a block.

    >>> block(99), block(123), block(1234)
    (range(100, 101), range(121, 126), range(1201, 1251))
    """
    step = _step(games, 3)
    first = games // step * step + 1
    return range(first, first + step)


def _step(games: int, digits: int) -> int:
    """Return five in the place of the given digit of a number of games, from the left, or 1."""
    return 5 * 10 ** (len(str(games)) - digits) if games >= 10 ** (digits - 1) else 1


def checkpoints(games: int) -> list[int]:
    """Return the numbers of games at all checkpoints up to `games`.

    >>> checkpoints(17)
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15]
    """
    due = [0]
    while next_checkpoint(due[-1]) <= games:
        due.append(next_checkpoint(due[-1]))
    return due


def box_rows(arena: Arena, side: int) -> NDArray[np.bool_]:
    """Return bool[n], True for a box: a state with more than one move, and `side` to move.

    If the rules do not say which player is to move, a state is a box of both sides.
    """
    box = arena.total(arena.moves) > 1
    if side:
        box &= (arena.to_move == side) | (arena.to_move == 0)
    return box
