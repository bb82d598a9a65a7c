"""MENACE, the Matchbox Educable Noughts and Crosses Engine, for any solved game.

Donald Michie, "Experiments on the mechanization of game-learning", Computer Journal 6(3), 1963,
232-236. A matchbox is a state in which the learner has more than one legal move; its beads lie on
the edges, the distinct moves. A move is drawn as a bead; after the game the beads of a winner are
given back with more of their kind, and those of a loser are taken away.
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
MOST_BEADS: Final = 2**31 - 1  # in one place
MOST_ADDED: Final = 10_000
MOST_STAGES: Final = 100
LONGEST: Final = 1_000_000  # plies
NO_BOX: Final = -1


class Settings(NamedTuple):
    """How an agent learns.

    Attributes:
        side: 1 or 2, the player that it learns to be; 0 for both, from one set of boxes.
        stages: how many beads of a kind lie in a box at the player's first move, second and so
            on; the last number counts for all later ones. Michie's are 4, 3, 2, 1.
        win: beads added to every box each time it was used in a game won; may be negative.
        draw: likewise in a game drawn.
        loss: likewise in a game lost.
        empty: what happens at an empty box: ``refill`` it as it was at first, or ``resign``.
        longest: plies after which a game is broken off as a draw.
    """

    side: int = 0
    stages: tuple[int, ...] = (4, 3, 2, 1)
    win: int = 3
    draw: int = 1
    loss: int = -1
    empty: str = "refill"
    longest: int = 1000

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "Settings":
        """Return the settings that were given by name, the others as they are by default.

        Raises:
            SettingError: there is no such setting, or one makes no sense.
        """
        unknown = sorted(given.keys() - {*cls._fields})
        if unknown:
            raise SettingError(
                f"there is no setting {shown(unknown[0])}; there are {', '.join(cls._fields)}"
            )
        return cls(**given).checked()

    def checked(self) -> "Settings":
        """Return them, if they make sense.

        Raises:
            SettingError: one does not.
        """
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
                f"the beads are {shown(written(stages))}; write 1 to 10,000 a stage, as 4/3/2/1"
            )
        for name in ("win", "draw", "loss"):
            if abs(whole[name]) > MOST_ADDED:
                raise SettingError(f"{name} adds {whole[name]:,} beads; 10,000 at most")
        if self.empty not in EMPTY:
            raise SettingError(f"an empty box is {self.empty!r}; it must be {' or '.join(EMPTY)}")
        if not 1 <= whole["longest"] <= LONGEST:
            raise SettingError(
                f"the longest game has {whole['longest']:,} plies; it must have 1 to {LONGEST:,}"
            )
        return self._replace(stages=stages, **whole)


def whole_number(name: str, value: Any) -> int:
    """Return a setting that must be a whole number, as an int.

    Raises:
        SettingError: it is not one.
    """
    number = arguments.integer(value)
    if number is None:
        raise SettingError(f"{name} is {shown(value)}; it must be a whole number")
    return number


def written(stages: tuple[int, ...]) -> str:
    """Return the numbers of beads as text.

    >>> written((4, 3, 2, 1))
    '4/3/2/1'
    """
    return "/".join(map(str, stages))


def read_stages(text: str) -> tuple[int, ...]:
    """Return the numbers of beads that a text such as ``8/4/2/1``, or ``2``, means.

    Raises:
        SettingError: it means none.
    """
    if not re.fullmatch(r"[0-9]{1,5}(/[0-9]{1,5})*", text):
        raise SettingError(f"{shown(text)} are no beads; write numbers such as 4/3/2/1, or one: 2")
    return Settings(stages=tuple(map(int, text.split("/")))).checked().stages


class Boxes:
    """The matchboxes of one agent in an arena, and what lies in them.

    Attributes:
        beads: of every edge; 0 where the state is not a box.
        total: of every state's beads; `NO_BOX` where it is not a box.
        kept: boxes all of whose favourite moves, those with the most beads, keep the value.
        touched: rows of the boxes that changed since `settle` was last called.
    """

    def __init__(
        self, arena: Arena, settings: Settings, beads: NDArray[np.int64] | None = None
    ) -> None:
        self._arena = arena
        self._settings = settings
        box = box_rows(arena, settings.side)
        self._parent: list[int] = arena.parent.tolist()
        self._at_first: list[int] = np.where(
            box[arena.parent], _at_first(arena, settings), 0
        ).tolist()
        now = np.array(self._at_first, dtype=np.int64) if beads is None else beads
        self.beads: list[int] = now.tolist()
        self.total: list[int] = np.where(box, arena.total(now), NO_BOX).tolist()
        self.rows: list[int] = np.flatnonzero(box).tolist()
        self.touched: set[int] = set()
        self._keeps = {row for row in self.rows if self._keeps_value(row)}

    @property
    def kept(self) -> int:
        """How many boxes there are all of whose favourite moves keep the value."""
        self._look_at_touched()
        return len(self._keeps)

    def settle(self) -> list[int]:
        """Return the edges of the boxes that changed since the last call."""
        self._look_at_touched()
        first = self._arena.first
        edges = [e for row in sorted(self.touched) for e in range(first[row], first[row + 1])]
        self.touched.clear()
        return edges

    def player(self, random: Callable[[], float]) -> Choose:
        """Return the agent as a player of its side."""
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
        """Add to or take from the boxes that were used, after a result for their player."""
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
                self.touched.add(row)

    def fill(self, row: int) -> int:
        """Fill an empty box as it was at first; return the number of its beads."""
        edges = slice(self._arena.first[row], self._arena.first[row + 1])
        self.beads[edges] = self._at_first[edges]
        self.total[row] = sum(self.beads[edges])
        self.touched.add(row)
        return self.total[row]

    def _look_at_touched(self) -> None:
        for row in self.touched:
            (self._keeps.add if self._keeps_value(row) else self._keeps.discard)(row)

    def _keeps_value(self, row: int) -> bool:
        begin, end = self._arena.first[row], self._arena.first[row + 1]
        most = max(self.beads[begin:end])
        keeps = self._arena.keeps
        return most > 0 and all(keeps[e] for e in range(begin, end) if self.beads[e] == most)


def next_checkpoint(games: int) -> int:
    """Return after how many games the next look at the boxes is due: 18 in each power of ten.

    >>> next_checkpoint(9), next_checkpoint(95), next_checkpoint(1000)
    (10, 100, 1500)
    """
    step = 1 if games < 10 else 5 * int(f"1{'0' * (len(str(games)) - 2)}")
    return (games // step + 1) * step


def checkpoints(games: int) -> list[int]:
    """Return after how many games there are looks at the boxes, up to so many.

    >>> checkpoints(17)
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15]
    """
    due = [0]
    while next_checkpoint(due[-1]) <= games:
        due.append(next_checkpoint(due[-1]))
    return due


def box_rows(arena: Arena, side: int) -> NDArray[np.bool_]:
    """Return bool[n], whether each state is a box: more than one move, and the side's turn.

    Where the rules do not tell whose turn it is, the states are boxes of either side.
    """
    box = arena.total(arena.moves) > 1
    if side:
        box &= (arena.to_move == side) | (arena.to_move == 0)
    return box


def _at_first(arena: Arena, settings: Settings) -> NDArray[np.int64]:
    """Return the beads of every edge when the boxes are filled, by the player's own move."""
    stages = np.array(settings.stages, dtype=np.int64)
    stage = arena.ply[arena.parent] // 2
    return stages[np.minimum(stage, len(stages) - 1)]
