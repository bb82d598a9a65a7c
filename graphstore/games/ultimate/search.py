"""Ultimate tic-tac-toe for a search: a position is one Python integer, a move is an addition.

Fields with the same free spots from which marks lead to the same results are one *class*. A node
has a number for each field's class, and beside it, a bit a field each, what the class means:
whether it can be played in, and for each player whether the field is theirs, could become theirs
with one mark, or could ever.
"""

from collections.abc import Iterable
from functools import cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphstore.games.ultimate.fields import ANY, LINES, SPOTS, Board, tables
from graphstore.rules.game import WIN

ACTIVE: Final = 1  # the lowest bit is the side to move, 1 for O
CLOSED: Final = 5
WON: Final = 14  # a bit a field for X, then for O; so are the next
ONE: Final = 32
ABLE: Final = 50
CLASS: Final = 68  # a class a field
WIDTH: Final = 14  # bits of a class
LOW: Final = (1 << CLASS) - 1
NINE: Final = (1 << SPOTS) - 1
KIND: Final = (1 << WIDTH) - 1
ANYWHERE: Final = 100  # how bad it is to let the other player choose; a field is as its free spots
FORWARD: Final = 3  # how many free spots a won field or a threat is worth; tried on late positions


class Classes(NamedTuple):
    """The k classes of fields under the open or the closed rules."""

    of: NDArray[np.int64]  # the class of a field by its number
    won: NDArray[np.bool_]  # [2, k], whether it is X's, or O's
    one: NDArray[np.bool_]  # [2, k], whether one mark would make it so
    able: NDArray[np.bool_]  # [2, k], whether it is, or any marks could make it so
    free: NDArray[np.bool_]  # [k, 9], the spots that can be played
    after: NDArray[np.int64]  # [2, k, 9], the class after a mark of a player on a free spot


@cache
def classes(*, dead: bool) -> Classes:
    """Return the classes, found from the full fields backwards."""
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
        told = np.concatenate([winner[rows, np.newaxis], free, *marked], axis=1)
        _, which, into = np.unique(told, axis=0, return_index=True, return_inverse=True)
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
    for each in range(count):  # ascending by free spots, so what comes after is known
        if not winner[like[each]]:
            for player in (0, 1):
                able[player, each] |= able[player, then[:, each][:, free[each]]].any()
    return Classes(of, won, one, able, free, then)


def _completing(held: int) -> int:
    """Return the fields that would make a line of those held, a bit each."""
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
    """How to look at nodes of ultimate tic-tac-toe: see `graphstore.rules.game.Nimble`."""

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

        Left out are moves after which the other player wins at once, and those after which no line
        of fields is left to the player who needs one.
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
        """Return (spot, what to add to the node) of the marks that a player can make in a field."""
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
    """Return whether the player who just moved gets at least `goal`, where fields are counted.

    None if that is not plain. Without a line most fields win: a player has at least those won, at
    most those that could be.
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
    """Return what every class in every place adds to a node."""
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
