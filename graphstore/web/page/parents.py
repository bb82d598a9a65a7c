"""The parents of a position: those with a move to it, in its orientation."""

from typing import NamedTuple

import numpy as np
from sqlalchemy import bindparam, func, select

from graphstore.errors import GraphstoreError
from graphstore.rules.board import turned_rows
from graphstore.rules.game import IN_PLAY, Game
from graphstore.store.probe import Probe
from graphstore.store.schema import edge, state
from graphstore.store.store import Store
from graphstore.web.page.pictures import turned

MOST_COUNTED = 1000  # parents; counting more takes long

_ALL = select(edge.c.parent).where(edge.c.child == bindparam("child")).distinct()
_FIRST = _ALL.order_by(edge.c.parent).limit(bindparam("most")).subquery()
_PARENTS = (
    select(state.c.id.label("parent"), state.c.position, state.c.value)
    .join(_FIRST, state.c.id == _FIRST.c.parent)
    .order_by(state.c.id)
)
_COUNT = select(func.count()).select_from(_ALL.limit(MOST_COUNTED + 1).subquery())


class Parent(NamedTuple):
    """A parent of a position, in the position's orientation if such an image is found.

    `value` is for the player to move in the parent. `exact` is True if `move` leads to the position
    itself, and False if it leads to another one of the same state.
    """

    position: str
    value: int
    move: int
    exact: bool


class Parents(NamedTuple):
    """Some parents of a position, and how many more states are parents.

    If `counted` is False, there are even more than that.
    """

    shown: list[Parent]
    more: int
    counted: bool


def parents(store: Store, probe: Probe, most: int) -> Parents:
    """Return the parents of a position, from up to `most` states; none in a folder."""
    if store.backend.dialect == "duckdb":  # its edges are not indexed by child
        return Parents([], 0, counted=True)
    with store.connect() as connection:
        rows = connection.execute(_PARENTS, {"child": probe.state, "most": most}).all()
        number = len(rows)
        if number == most:
            number = connection.execute(_COUNT, {"child": probe.state}).scalar_one()
    shown: list[Parent] = []
    for row in rows:
        found = _exact(store.game, probe, row.parent, row.position) if store.has_rules else {}
        shown += [Parent(text, row.value, move, exact=True) for text, move in found.items()]
        if not found:  # then as it is stored, with its first move to the state of the position
            moves = [each for each in store.probe(row.position).moves if each.state == probe.state]
            exact = [each for each in moves if each.position == probe.position]
            move = min(each.move for each in exact or moves)
            shown.append(Parent(row.position, row.value, move, exact=bool(exact)))
    return Parents(shown, number - len(rows), number <= MOST_COUNTED)


def _exact(game: Game, probe: Probe, parent: int, text: str) -> dict[str, int]:
    """Return {image of a parent: the move that leads exactly to the position}."""
    read = {}
    for image in (text, *(turned_rows(game, text) or turned(game, text)).values()):
        try:
            read[game.read(image)] = image
        except GraphstoreError:
            continue  # not a position: a turned board has other dimensions, or a stone floats
    family = np.array(list(read), dtype=np.int64)
    same = family[(game.canonical(family) == parent) & (game.outcomes(family) == IN_PLAY)]
    if not same.size:
        return {}
    at, moves, children = game.expand(same)
    names = game.texts(same)
    found = {}
    for each in np.flatnonzero(children == game.read(probe.position))[::-1].tolist():
        found[names[at[each]]] = int(moves[each])  # of several moves the lowest is last
    return found
