"""The positions from which a move leads to a position, in its orientation."""

from typing import NamedTuple

import numpy as np
from sqlalchemy import bindparam, func, select

from graphstore.errors import GraphstoreError
from graphstore.rules.board import TURNS, board_of
from graphstore.rules.game import IN_PLAY, Game
from graphstore.store.probe import Probe
from graphstore.store.schema import edge, state
from graphstore.store.store import Store
from graphstore.web.page.pictures import turned

MOST_COUNTED = 1000  # parents; counting goes through the index

_PARENTS = (
    select(edge.c.parent, state.c.position, state.c.value)
    .join(state, state.c.id == edge.c.parent)
    .where(edge.c.child == bindparam("child"))
    .group_by(edge.c.parent)
    .limit(bindparam("most"))
)
_COUNT = select(func.count()).select_from(
    select(edge.c.parent)
    .where(edge.c.child == bindparam("child"))
    .distinct()
    .limit(MOST_COUNTED + 1)
    .subquery()
)


class Parent(NamedTuple):
    """A position from which a move leads to another.

    Attributes:
        position: its text, in the orientation of the other where that could be found.
        value: for the player to move in it.
        move: the move that leads to the other, or to one that is the other by symmetry.
        exact: whether it leads to the other as it is.
    """

    position: str
    value: int
    move: int
    exact: bool


class Parents(NamedTuple):
    """The parents of a position.

    Attributes:
        shown: some of them.
        more: of how many more states there are some, at least, if `counted` is False.
        counted: whether all were counted.
    """

    shown: list[Parent]
    more: int
    counted: bool


def parents(store: Store, probe: Probe, most: int) -> Parents:
    """Return the parents of a position, of as many states as `most`."""
    with store.connect() as connection:
        rows = connection.execute(_PARENTS, {"child": probe.state, "most": most}).all()
        number = len(rows)
        if number == most:
            number = connection.execute(_COUNT, {"child": probe.state}).scalar_one()
    shown: list[Parent] = []
    for row in rows:
        found = _towards(store.game, probe, row.parent, row.position) if store.has_rules else {}
        shown += [Parent(text, row.value, move, exact=True) for text, move in found.items()]
        if not found:
            shown.append(_stored(store, probe, row.position, row.value))
    return Parents(shown, number - len(rows), number <= MOST_COUNTED)


def _stored(store: Store, probe: Probe, text: str, value: int) -> Parent:
    """Return a parent as it is in the database, and its first move to the state of a position."""
    moves = [move for move in store.probe(text).moves if move.state == probe.state]
    exact = [move for move in moves if move.position == probe.position]
    return Parent(text, value, min(each.move for each in exact or moves), exact=bool(exact))


def _towards(game: Game, probe: Probe, parent: int, text: str) -> dict[str, int]:
    """Return the images of a parent that lead exactly to a position, with the move that does."""
    read = {}
    for image in _images(game, text):
        try:
            read[game.read(image)] = image
        except GraphstoreError:
            continue  # no position: a turned board of other sides, a floating stone
    family = np.array(list(read), dtype=np.int64)
    same = family[(game.canonical(family) == parent) & (game.outcomes(family) == IN_PLAY)]
    if not same.size:
        return {}
    here = game.read(probe.position)
    at, moves, children = game.expand(same)
    exact = np.flatnonzero(children == here)
    names = game.texts(same)
    found = {}
    for each in exact[::-1].tolist():  # so that of several moves the lowest is kept
        found[names[at[each]]] = int(moves[each])
    return found


def _images(game: Game, text: str) -> dict[str, None]:
    board = board_of(text, game)
    drawn = "" if board is None else "/".join(board.rows)
    if board is None or not text.startswith(drawn):
        return dict.fromkeys((text, *turned(game, text).values()))
    tail = text.removeprefix(drawn)
    images = ("/".join(turn(board.rows)) + tail for turn in TURNS.values())
    return dict.fromkeys((text, *images))
