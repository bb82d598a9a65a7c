"""The laws that every rule set must keep, and their check position by position.

A breach names the law and the position. The game is also solved with and without its symmetries, to
find symmetric positions with different values.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from graphstore.errors import GraphstoreError
from graphstore.rules.game import IN_PLAY, Game, Ints, Progress, move_text, quiet
from graphstore.rules.plain import PlainGame
from graphstore.solver.exploration import explore
from graphstore.solver.solution import solve
from graphstore.util.arrays import distinct

POSITIONS = 100_000
"""The number of positions that `check_rules` looks at by default."""

Found = Iterator[tuple[str, str]]
"""Pairs: the text of a position that breaks a law, and the detail."""


class Breach(NamedTuple):
    """A law that a rule set breaks."""

    law: str  # the law, as a sentence
    position: str  # the position that breaks it, as text; empty if it is not one position
    detail: str  # the observed behaviour

    def __str__(self) -> str:
        at = f"at position {self.position}: " * bool(self.position)
        return f"broken law: {self.law}; {at}{self.detail}"


class CheckedRules(NamedTuple):
    """The result of `check_rules`."""

    breaches: tuple[Breach, ...]  # the first breach of each broken law
    positions: int  # the number of positions checked
    complete: bool  # True if these are all positions


class _Unfolded:
    """A game without its symmetries: every position is its own state."""

    def __init__(self, game: Game) -> None:
        self._game = game

    def __getattr__(self, name: str) -> Any:
        return getattr(self._game, name)

    def canonical(self, positions: Ints) -> Ints:
        return positions

    def orbits(self, positions: Ints) -> Ints:
        return np.ones(len(positions), dtype=np.int64)


def check_rules(
    game: Game, *, max_positions: int = POSITIONS, progress: Progress = quiet
) -> CheckedRules:
    """Return the laws that a rule set breaks, each with the first position that breaks it.

    The search for positions stops after `max_positions`, counted without symmetry.
    """
    breaches: list[Breach] = []
    try:
        positions, complete = _positions(game, max_positions, progress)
    except GraphstoreError as error:
        breach = Breach("the rules must answer at every position", "", str(error))
        return CheckedRules((breach,), 0, complete=False)
    for law in LAWS:
        progress(f"check: {law.__doc__}", 0, None)
        try:
            found = next(law(game, positions), None)
        except GraphstoreError as error:
            found = ("", str(error))
        if found is not None:
            breaches.append(Breach(str(law.__doc__).rstrip("."), *found))
    if complete and not breaches:
        breaches += _symmetric_values_agree(game, progress)
    return CheckedRules(tuple(breaches), len(positions), complete)


def _positions(game: Game, limit: int, progress: Progress) -> tuple[Ints, bool]:
    """Return the positions that play reaches, by ply, and whether these are all."""
    fresh = known = distinct(np.asarray(game.start_states()))
    while fresh.size and len(known) < limit:
        in_play = fresh[game.outcomes(fresh) == IN_PLAY]
        children = distinct(game.expand(in_play).child) if in_play.size else in_play
        fresh = children[~np.isin(children, known)]
        known = np.concatenate((known, fresh))
        progress("check: positions", len(known), None)
    return known, not fresh.size


def _in_play_has_moves(game: Game, positions: Ints) -> Found:
    """A position without a result has a move."""
    rows = positions[game.outcomes(positions) == IN_PLAY]
    parents = game.expand(rows).parent
    stuck = np.setdiff1d(np.arange(len(rows)), parents)
    for row in stuck:
        yield _text(game, rows[row]), "no move and no result; give it a result, or add a pass"


def _turns_alternate(game: Game, positions: Ints) -> Found:
    """Turns alternate."""
    rows = positions[game.outcomes(positions) == IN_PLAY]
    parent, move, child = game.expand(rows)
    before, after = game.turns(rows)[parent], game.turns(child)
    for edge in np.flatnonzero((before == after) & (before != 0)):
        yield (
            _text(game, rows[parent[edge]]),
            f"player {before[edge]} moves, and after move {move[edge]} moves again at "
            f"{_text(game, child[edge])}; insert a forced pass",
        )
    for edge in np.flatnonzero((before == 0) != (after == 0)):
        yield (
            _text(game, rows[parent[edge]]),
            f"the side to move is known only before or only after move {move[edge]}; give it at "
            "every position or at none",
        )


def _answers_repeat(game: Game, positions: Ints) -> Found:
    """The same position gives the same answers."""
    rows = positions[game.outcomes(positions) == IN_PLAY]
    first, second = game.expand(rows), game.expand(rows)
    for column in range(3):
        if not np.array_equal(first[column], second[column]):
            yield "", "moves() or play() returns something else when called again"
    for verb in (game.outcomes, game.turns, game.canonical):
        for row in np.flatnonzero(verb(positions) != verb(positions)):
            yield _text(game, positions[row]), "the answer changes when the rules are called again"


def _texts_read_back(game: Game, positions: Ints) -> Found:
    """A text reads back as its position."""
    texts = game.texts(positions)
    if isinstance(game, PlainGame):  # it would remember the texts that it has written
        game = game.afresh()
    for position, text in zip(positions.tolist(), texts, strict=True):
        try:
            back = game.read(text)
        except GraphstoreError as error:
            yield text, f"the text is not read back: {error}"
            continue
        if back != position:
            yield text, f"the text is read as {_text(game, back)}"


def _texts_differ(game: Game, positions: Ints) -> Found:
    """Different positions have different texts."""
    seen: dict[str, int] = {}
    for position, text in zip(positions.tolist(), game.texts(positions), strict=True):
        if seen.setdefault(text, position) != position:
            yield (
                text,
                "two positions have this text; text() must write all that the rules look at",
            )


def _canonical_is_idempotent(game: Game, positions: Ints) -> Found:
    """The canonical position of a canonical position is itself."""
    states = game.canonical(positions)
    again = game.canonical(states)
    for row in np.flatnonzero(again != states):
        yield (
            _text(game, positions[row]),
            f"its canonical position is {_text(game, states[row])}, and that of this one is "
            f"{_text(game, again[row])}",
        )


def _images_agree(game: Game, positions: Ints) -> Found:
    """A position and its canonical image have one result and one side to move."""
    states = game.canonical(positions)
    for name, verb in (("result", game.outcomes), ("side to move", game.turns)):
        for row in np.flatnonzero(verb(positions) != verb(states)):
            yield (
                _text(game, positions[row]),
                f"its {name} differs from that of its canonical position, "
                f"{_text(game, states[row])}",
            )


def _boards_and_moves_have_texts(game: Game, positions: Ints) -> Found:
    """Positions are drawn, and moves are named, as texts."""
    rows = positions[game.outcomes(positions) == IN_PLAY]
    parent, move, _ = game.expand(rows)
    _, first = np.unique(move, return_index=True)
    named = zip(rows[parent[first]], move[first].tolist(), strict=True)
    try:
        for at in positions.tolist():
            game.board(at)
        for at, name in named:  # noqa: B007  # its text is below
            move_text(game, name)
    except GraphstoreError as error:
        yield _text(game, at), str(error)


LAWS: tuple[Callable[[Game, Ints], Found], ...] = (
    _in_play_has_moves,
    _turns_alternate,
    _answers_repeat,
    _texts_differ,
    _texts_read_back,
    _canonical_is_idempotent,
    _images_agree,
    _boards_and_moves_have_texts,
)


def _symmetric_values_agree(game: Game, progress: Progress) -> Iterator[Breach]:
    """Yield the first differences between the solutions with and without symmetry."""
    progress("check: values with and without symmetry", 0, None)
    folded, unfolded = explore(game), explore(_Unfolded(game))
    here, there = solve(folded), solve(unfolded)
    ids = unfolded.states.id
    states = game.canonical(ids)
    rows = np.searchsorted(folded.states.id, states)
    for name in ("value", "remoteness"):
        without, with_ = getattr(there, name), getattr(here, name)[rows]
        for row in np.flatnonzero(without != with_)[:1]:
            yield Breach(
                "Images under the symmetries have one value",
                _text(game, ids[row]),
                f"its {name} is {without[row]}, but that of its canonical position, "
                f"{_text(game, states[row])}, is {with_[row]}",
            )
    counted = np.bincount(rows, minlength=len(folded.states.id))
    for row in np.flatnonzero(counted > folded.states.orbit)[:1]:
        yield Breach(
            "An orbit counts all images",
            _text(game, folded.states.id[row]),
            f"its orbit is {folded.states.orbit[row]}, but play reaches {counted[row]} images",
        )


def _text(game: Game, position: Any) -> str:
    return game.texts(np.array([position], dtype=np.int64))[0]
