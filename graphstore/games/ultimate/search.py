"""Fast rules of ultimate tic-tac-toe for a search: a node is an integer, a move an addition.

Fields belong to one *class* if they have the same free spots, and marks there lead to the same
results. A node packs the class of each field, and for each field the bits of its class: it is
closed; and for each player: it is won, it can be won with one mark, it can still be won.
"""

from collections.abc import Iterable
from functools import cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphstore.games.ultimate.fields import ANY, LINES, SPOTS, Board, tables
from graphstore.rules.game import WIN

ACTIVE: Final = 1  # shifts in a node; bit 0 is the side to move, 1 for O
CLOSED: Final = 5
WON: Final = 14  # one bit per field for X, then for O; `ONE` and `ABLE` are alike
ONE: Final = 32
ABLE: Final = 50
CLASS: Final = 68  # the classes of the fields
WIDTH: Final = 14  # bits of a class
LOW: Final = (1 << CLASS) - 1
NINE: Final = (1 << SPOTS) - 1
KIND: Final = (1 << WIDTH) - 1
ANYWHERE: Final = 100  # rank of a free choice for the opponent; of a field it is its free spots
FORWARD: Final = 3  # free spots that a won field or a threat outweighs; tuned on late positions


class Classes(NamedTuple):
    """The k classes of fields under the open or the closed rules."""

    of: NDArray[np.int64]  # [c], the class of a field by its number
    won: NDArray[np.bool_]  # [2, k], True if X, or O, has won it
    one: NDArray[np.bool_]  # [2, k], True if one mark can win it
    able: NDArray[np.bool_]  # [2, k], True if it is won or can still be won
    free: NDArray[np.bool_]  # [k, 9], True where a spot can be played
    after: NDArray[np.int64]  # [2, k, 9], the class after a mark of a player on a free spot


@cache
def classes(*, dead: bool) -> Classes:
    """Return the classes, computed from full fields to empty ones."""
    known = tables()
    after = known.after[int(dead)].astype(np.int64)
    of = np.zeros(len(known.codes), dtype=np.int64)
    spots = known.free.sum(axis=1)
    winner = np.where(known.result <= 2, known.result, 0)
    first: list[NDArray[np.int64]] = []
    count = 0
    for left in range(SPOTS + 1):
        rows = np.flatnonzero(spots == left)
        free = known.free[rows]
        marked = [np.where(free, of[after[player][rows]], -1) for player in (0, 1)]
        traits = np.concatenate([winner[rows, np.newaxis], free, *marked], axis=1)
        _, which, into = np.unique(traits, axis=0, return_index=True, return_inverse=True)
        of[rows] = count + into.ravel()
        first.append(rows[which])
        count += len(which)
    like = np.concatenate(first)
    free = known.free[like]
    then: NDArray[np.int64] = np.where(free, of[after[:, like]], 0)
    won = np.array([winner[like] == player for player in (1, 2)])
    turned = np.array([won[player][then[player]] for player in (0, 1)])
    one = (turned & free).any(axis=2) & (winner[like] == 0)
    able = won.copy()
    for each in range(count):  # ascending by free spots: the classes after a mark are known
        if not winner[like[each]]:
            for player in (0, 1):
                able[player, each] |= able[player, then[:, each][:, free[each]]].any()
    return Classes(of, won, one, able, free, then)


def _completing(held: int) -> int:
    """Return the fields that complete a line of the held fields; one bit per field."""
    fields = 0
    for line in LINES:
        missing = [field for field in line if not held >> field & 1]
        if len(missing) == 1:
            fields |= 1 << missing[0]
    return fields


COMPLETING: Final = tuple(map(_completing, range(1 << SPOTS)))
HAS_LINE: Final = tuple(
    any(all(held >> field & 1 for field in line) for line in LINES) for held in range(1 << SPOTS)
)


class UltimateSearch:
    """The functions of `graphstore.rules.game.Nimble` for ultimate tic-tac-toe."""

    def __init__(self, *, dead: bool, count: bool) -> None:
        self._known = classes(dead=dead)
        self._count = count
        self._parts = _parts(dead=dead)
        self._spots = self._known.free.sum(axis=1).tolist()
        self._steps: dict[int, list[tuple[int, int]]] = {}

    def node(self, board: Board) -> int:
        """Return the node of a position."""
        node = (board.turn - 1) | board.active << ACTIVE
        for field, number in enumerate(board.fields):
            node |= self._parts[field][int(self._known.of[number])]
        return node

    def look(self, node: int, goal: int) -> bool | list[int]:
        """See `graphstore.rules.game.Nimble.search_from`.

        It leaves out moves that let the opponent win at once, and moves after which the player who
        needs a line of fields cannot get one.
        """
        low = node & LOW
        player = low & 1
        mine, theirs = SPOTS * player, SPOTS - SPOTS * player
        active = low >> ACTIVE & 15
        won = low >> WON + mine & NINE
        ready = COMPLETING[won] & low >> ONE + mine
        if ready if active == ANY else ready >> active & 1:
            return True
        fields: Iterable[int] = (active,)
        if active == ANY:
            closed = low >> CLOSED & NINE
            fields = [field for field in range(SPOTS) if not closed >> field & 1]
        threat = COMPLETING[low >> WON + theirs & NINE]
        base = node - (active << ACTIVE) + 1 - 2 * player
        needs = ABLE + (mine if goal == WIN else theirs)
        spots = self._spots
        found = []
        for field in fields:
            for spot, add in self._marks(node, field, player):
                child = base + add
                low = child & LOW
                danger = threat & low >> ONE + theirs
                if low >> CLOSED + spot & 1:
                    if danger:
                        continue
                    child += ANY << ACTIVE
                    rank = ANYWHERE
                else:
                    if danger >> spot & 1:
                        continue
                    child += spot << ACTIVE
                    rank = spots[child >> CLASS + WIDTH * spot & KIND]
                if not HAS_LINE[low >> needs & NINE]:
                    reached = goal != WIN
                    if not self._count:
                        known: bool | None = reached
                    else:
                        known = _counted(low, mine, theirs, goal)
                    if known:
                        return True
                    if known is False:
                        continue
                now = low >> WON + mine & NINE
                rank -= FORWARD * (COMPLETING[now] & low >> ONE + mine).bit_count()
                found.append((rank - FORWARD * (now != won), child))
        found.sort()
        return [child for _, child in found] or False

    def _marks(self, node: int, field: int, player: int) -> list[tuple[int, int]]:
        """Return (spot, number to add to the node) for each legal mark of a player in a field."""
        kind = node >> CLASS + WIDTH * field & KIND
        index = (kind * SPOTS + field) * 2 + player
        marks = self._steps.get(index)
        if marks is None:
            part, after = self._parts[field], self._known.after[player, kind].tolist()
            free = np.flatnonzero(self._known.free[kind]).tolist()
            marks = [(spot, part[after[spot]] - part[kind]) for spot in free]
            self._steps[index] = marks
        return marks


def _counted(low: int, mine: int, theirs: int, goal: int) -> bool | None:
    """Return whether counting fields gives the player who just moved at least `goal`.

    Return None if that is still open. Without a line most fields win: a player gets at least his
    won fields, and at most the fields that he can still win.
    """
    able, their_able = low >> ABLE + mine & NINE, low >> ABLE + theirs & NINE
    won, their_won = low >> WON + mine & NINE, low >> WON + theirs & NINE
    if not HAS_LINE[their_able] and won.bit_count() - their_able.bit_count() >= goal:
        return True
    if not HAS_LINE[able] and able.bit_count() - their_won.bit_count() < goal:
        return False
    return None


@cache
def _parts(*, dead: bool) -> list[list[int]]:
    """Return the numbers that classes of fields add to a node, [field][class]."""
    known = classes(dead=dead)
    meanings = (
        (CLOSED, ~known.free.any(axis=1)),
        *((WON + SPOTS * player, known.won[player]) for player in (0, 1)),
        *((ONE + SPOTS * player, known.one[player]) for player in (0, 1)),
        *((ABLE + SPOTS * player, known.able[player]) for player in (0, 1)),
    )
    bits = [0] * len(known.free)
    for shift, meant in meanings:
        for kind in np.flatnonzero(meant).tolist():
            bits[kind] |= 1 << shift
    return [
        [each << field | kind << CLASS + WIDTH * field for kind, each in enumerate(bits)]
        for field in range(SPOTS)
    ]
