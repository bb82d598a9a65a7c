"""Checks of stored states and edges against the rules, part by part."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphstore.checks.file.findings import Problem, WrongCells
from graphstore.checks.laws import NO_POSITION
from graphstore.errors import GraphstoreError
from graphstore.rules.game import IN_PLAY, Game, Ints, Moves, margins_of, move_text
from graphstore.solver.columns import kind_of
from graphstore.store.digests import NULL
from graphstore.util.arrays import member


def ids(found: Ints, rows: Mapping[str, Any]) -> Iterator[WrongCells]:
    """Yield the states with a text that is not a position, or is that of another id.

    `found` is the result of `packed` for the texts of `rows`.
    """
    none = np.flatnonzero(found == NO_POSITION)
    texts = [rows["position"][place] for place in none.tolist()]
    yield WrongCells(rows["id"][none], "position", texts, "a position")
    other = np.flatnonzero((found != NO_POSITION) & (found != rows["id"]))
    yield WrongCells(rows["id"][other], "id or position", rows["id"][other], found[other])


def states(game: Game, rows: Mapping[str, Any]) -> Iterator[WrongCells]:
    """Yield the cells that differ from the rules, of states whose ids and texts are positions."""
    here = rows["id"]
    turns = game.turns(here).astype(np.int64)
    outcome, results = np.where(rows["ended"] != 0, rows["value"], IN_PLAY), game.outcomes(here)
    margin, nimber = rows["margin"], rows["nimber"]
    scores, none = margins_of(game, here, results), np.full(len(here), NULL)
    ended = (results != IN_PLAY) & (margin != NULL)  # a file of an older version has none
    texts, stored = (np.array(each, dtype=object) for each in (game.texts(here), rows["position"]))
    for name, found, expected in (
        ("id", here, game.canonical(here)),
        ("to_move", rows["to_move"], np.where(turns == 0, NULL, turns)),
        ("orbit", rows["orbit"], game.orbits(here)),
        ("ended or value", outcome, results),
        ("margin", margin, none if scores is None else np.where(ended, scores, margin)),
        ("nimber", nimber, nimber if kind_of(game).impartial else none),
        ("position", stored, texts),
    ):
        at = np.flatnonzero(found != expected)
        yield WrongCells(here[at], name, found[at], expected[at])


def names(
    game: Game | None, stored: Mapping[int, str], moves: Collection[int]
) -> Iterator[Problem]:
    """Yield the rows of `move` that differ from the rules, if they are known, or from `moves`."""
    for move in sorted(stored.keys() | set(moves)):
        found = stored.get(move)
        if move not in moves:
            yield Problem("move", str(move), "move", move, "a move of the table edge")
            continue
        try:
            expected = (found or "a name") if game is None else move_text(game, move)
        except GraphstoreError:  # the edge is wrong, too
            expected = "that of a move"
        if found != expected:
            yield Problem("move", str(move), "name", found, expected)


def starts(
    game: Game, begins: Ints, known: Ints, ply: Any, *, complete: bool
) -> Iterator[Problem | WrongCells]:
    """Yield the starts that are missing or not at ply 0, and other states at ply 0.

    `begins` are the starts, and `known` ids of states that include those stored, both ascending.
    `complete` is True if there are no other starts.
    """
    is_start = member(known, begins)
    late = np.flatnonzero(is_start & (ply != 0))
    yield WrongCells(known[late], "ply", ply[late], np.zeros(len(late), dtype=np.int64))
    early = np.flatnonzero(~is_start & (ply == 0) & complete)
    yield WrongCells(known[early], "ply", ply[early], "above 0")
    missing = begins[~member(begins, known)]
    for start, text in zip(missing.tolist(), game.texts(missing), strict=True):
        yield Problem("state", f"{start} ({text})", "row", "missing", "a start")


def edges(game: Game, here: Ints, in_play: NDArray[np.bool_], rows: Any) -> Iterator[WrongCells]:
    """Yield the edges of states that are missing, not legal, or have a wrong child.

    `here` are ids, ascending. `rows` are the columns of the edges from them, and maybe others.
    """
    if not here.size:
        return
    kept = member(rows["parent"], here)
    found = [rows[name][kept] for name in ("parent", "move", "child")]
    parents = here[in_play]
    none = np.empty(0, dtype=np.int64)
    legal = game.expand(parents) if parents.size else Moves(none, none.astype(np.int32), none)
    expected: list[Any] = [parents[legal.parent], legal.move, game.canonical(legal.child)]
    if all(np.array_equal(*pair) for pair in zip(found, expected, strict=True)):
        return
    has, must = (
        {(p, m): c for p, m, c in zip(*(column.tolist() for column in columns), strict=True)}
        for columns in (found, expected)
    )
    not_legal = "missing: the rules have no such move"
    wrong = [
        (*key, has.get(key, "missing"), must.get(key, not_legal))
        for key in sorted(has.keys() | must.keys())
        if has.get(key) != must.get(key)
    ]
    if wrong:
        parent, move, child, legal_child = zip(*wrong, strict=True)
        yield WrongCells(np.array(parent), "child", child, legal_child, moves=move)
