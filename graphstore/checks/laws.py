"""The laws that every rule set must keep, and their check position by position.

A breach names the law and the position. The game is also solved with and without its symmetries, to
find symmetric positions with different values.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import blake2b
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from graphstore.errors import GraphstoreError, PositionError
from graphstore.games import rules_of
from graphstore.rules.game import IN_PLAY, Game, Ints, Progress, move_text, quiet
from graphstore.rules.plain import PlainGame
from graphstore.solver.exploration import explore
from graphstore.solver.solution import solve
from graphstore.util import arguments
from graphstore.util.arrays import distinct, member, offsets

POSITIONS = 100_000
"""The number of positions that `check_rules` looks at by default."""

NO_POSITION = -1

SOME = 8
"""The most images of a position that are looked at: all of a square board's."""

Found = Iterator[tuple[str, str]]
"""Pairs: the text of a position that breaks a law, and the detail."""

Law: TypeAlias = Callable[[Game, Ints], Found]
"""Called with a game and positions; yields those that break the law, which its docstring states."""


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
    game: Game | str, *, max_positions: int = POSITIONS, progress: Progress = quiet
) -> CheckedRules:
    """Return the laws that a rule set breaks, each with the first position that breaks it.

    The search for positions stops after `max_positions`, counted without symmetry.
    """
    game = rules_of(game)
    max_positions = arguments.count("max_positions", max_positions, least=1)
    try:
        positions, answers, complete = _walk(game, max_positions, progress)
    except GraphstoreError as error:
        breach = Breach("the rules must answer at every position", "", str(error))
        return CheckedRules((breach,), 0, complete=False)

    def answers_repeat(game: Game, positions: Ints) -> Found:
        """The same position gives the same answers."""
        count, chance = len(positions), np.random.default_rng(0)
        for _ in range(min(10, 2 + 1000 // count)):
            order = chance.permutation(count)
            again = _ask(game, positions[order])[0]
            for at, column in np.argwhere(again != answers[order]):
                text = _text(game, positions[order[at]])
                yield text, f"{ASKED[column]} changes when the rules are called again"

    breaches: list[Breach] = []
    for law in (answers_repeat, *LAWS):
        progress(f"check: {law.__doc__}", 0, None)
        breaches += _first(law, game, positions)
    if complete and not breaches:
        breaches += _symmetric_values_agree(game, progress)
    breaches += _first(_moves_agree, game, positions)
    return CheckedRules(tuple(breaches), len(positions), complete)


def symmetry_breaches(game: Game, states: Ints) -> Iterator[Breach]:
    """Yield the first breach of each law of symmetry, at some states or at their children."""
    in_play = states[game.outcomes(states) == IN_PLAY]
    children = game.expand(in_play).child if in_play.size else in_play
    positions = distinct(np.concatenate((states, children)))
    for law in SYMMETRY_LAWS:
        yield from _first(law, game, positions)


def _first(law: Law, game: Game, positions: Ints) -> Iterator[Breach]:
    """Yield the first breach of a law, if there is one."""
    try:
        found = next(law(game, positions), None)
    except GraphstoreError as error:
        found = ("", str(error))
    if found is not None:
        yield Breach(str(law.__doc__).rstrip("."), *found)


def _walk(game: Game, limit: int, progress: Progress) -> tuple[Ints, Ints, bool]:
    """Return the positions that play reaches, by ply, their answers, and whether these are all."""
    fresh = known = distinct(np.asarray(game.start_states()))
    answers = []
    while fresh.size and len(known) < limit:
        answer, children = _ask(game, fresh)
        answers.append(answer)
        fresh = children[~np.isin(children, known)]
        known = np.concatenate((known, fresh))
        progress("check: positions", len(known), None)
    if fresh.size:
        answers.append(_ask(game, fresh)[0])
    return known, np.concatenate(answers), not fresh.size


ASKED = (
    *("the result", "the side to move", "the list of moves", "a position after a move"),
    *("the text", "the position of its text", "the set of symmetric positions"),
)


def _ask(game: Game, positions: Ints) -> tuple[Ints, Ints]:
    """Return the answers of the rules, int64[n, 7] as in `ASKED`, and the distinct children.

    Answers that are not numbers are hashed.
    """
    outcome, texts = game.outcomes(positions), game.texts(positions)
    in_play = np.flatnonzero(outcome == IN_PLAY)
    none = np.empty(0, dtype=np.int64)
    parent, move, child = game.expand(positions[in_play]) if in_play.size else (none, none, none)
    offset = offsets(np.bincount(in_play[parent], minlength=len(positions))).tolist()
    moves, children = (
        [_hash(each[begin:end].tobytes()) for begin, end in pairwise(offset)]
        for each in (move, child)
    )
    if isinstance(game, PlainGame):
        images = [_hash(str(game._image_ids(key)).encode()) for key in positions.tolist()]
    else:
        images = (game.canonical(positions) ^ game.orbits(positions)).tolist()
    hashes = [_hash(text.encode(errors="surrogatepass")) for text in texts]
    columns = (outcome, game.turns(positions), moves, children, hashes, packed(game, texts), images)
    return np.column_stack([np.asarray(each, dtype=np.int64) for each in columns]), distinct(child)


def packed(game: Game, texts: list[Any]) -> Ints:
    """Return packed positions, with `NO_POSITION` for a text that is not a position."""
    try:
        return game.read_many(texts)
    except PositionError:
        found = np.full(len(texts), NO_POSITION, dtype=np.int64)
        for place, text in enumerate(texts):
            with suppress(PositionError):
                found[place] = game.read(text)
        return found


def _hash(content: bytes) -> int:
    return int.from_bytes(blake2b(content, digest_size=8).digest(), signed=True)


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


def _images_are_closed(game: Game, positions: Ints) -> Found:
    """Symmetric positions have the same images."""
    if not isinstance(game, PlainGame):
        return
    right: set[int] = set()
    for position in positions.tolist():
        if position not in right:
            images = game._image_ids(position)
            for image in _some(images):
                others = game._image_ids(image)
                if others != images:
                    yield (
                        _text(game, position),
                        f"of its images and those of its image {_text(game, image)}, only it has "
                        f"{_only(game, images, others)}, and only that one has "
                        f"{_only(game, others, images)}; symmetries() must return the same set for "
                        "every image",
                    )
                right.add(image)


def _images_agree(game: Game, positions: Ints) -> Found:
    """A position and its canonical image have one result and one side to move."""
    positions = _with_images(game, positions)
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


def _moves_agree(game: Game, positions: Ints) -> Found:
    """The moves of a position and of its canonical image lead to the same states."""
    positions = _with_images(game, positions)
    states = game.canonical(positions)
    others = (positions != states) & (game.outcomes(positions) == IN_PLAY)
    others &= game.outcomes(states) == IN_PLAY
    positions, states = positions[others], states[others]
    reached = zip(_reached(game, positions), _reached(game, states), strict=True)
    for row, (here, there) in enumerate(reached):
        if here != there:
            yield (
                _text(game, positions[row]),
                f"up to symmetry, only its moves lead to {_only(game, here, there)}, and only "
                f"those of its canonical position, {_text(game, states[row])}, to "
                f"{_only(game, there, here)}",
            )


def _with_images(game: Game, positions: Ints) -> Ints:
    """Return positions and, of a user's rules, some images of their states."""
    if not isinstance(game, PlainGame):
        return positions
    states = distinct(game.canonical(positions)).tolist()
    images = [image for state in states for image in _some(game._image_ids(state))]
    return distinct(np.concatenate((positions, np.array(images, dtype=np.int64))))


def _some(images: list[int]) -> list[int]:
    """Return images spread over the list, so that long lists cost little."""
    return images[:: -(-len(images) // SOME)]


def _reached(game: Game, positions: Ints) -> list[list[int]]:
    """Return the states that the moves of each position in play lead to, ascending."""
    if not positions.size:
        return []
    parent, _, child = game.expand(positions)
    child = game.canonical(child)
    ordered = child[np.lexsort((child, parent))].tolist()
    ends = offsets(np.bincount(parent, minlength=len(positions))).tolist()
    return [ordered[begin:end] for begin, end in pairwise(ends)]


def _only(game: Game, these: list[int], others: list[int]) -> str:
    """Return the texts of some positions that the first list has more often than the second."""
    more = list((Counter(these) - Counter(others)).elements())[:3]
    return ", ".join(game.texts(np.array(more, dtype=np.int64))) or "none"


LAWS: tuple[Law, ...] = (
    _in_play_has_moves,
    _turns_alternate,
    _texts_differ,
    _texts_read_back,
    _images_are_closed,
    _canonical_is_idempotent,
    _images_agree,
    _boards_and_moves_have_texts,
)
SYMMETRY_LAWS: tuple[Law, ...] = (
    _images_are_closed,
    _canonical_is_idempotent,
    _images_agree,
    _moves_agree,
)
"""The laws that `graphstore verify` checks at some states."""


def _symmetric_values_agree(game: Game, progress: Progress) -> Iterator[Breach]:
    """Yield the first differences between the solutions with and without symmetry."""
    progress("check: values with and without symmetry", 0, None)
    folded, unfolded = explore(game), explore(_Unfolded(game))
    here, there = solve(folded), solve(unfolded)
    ids = unfolded.states.id
    states = game.canonical(ids)
    stored = member(states, folded.states.id)
    for row in np.flatnonzero(~stored)[:1]:
        yield Breach(
            "Play with and without symmetry reaches the same states",
            _text(game, ids[row]),
            f"its canonical position, {_text(game, states[row])}, is not reached with symmetry",
        )
    ids, states = ids[stored], states[stored]
    rows = np.searchsorted(folded.states.id, states)
    for name in ("value", "remoteness"):
        without, with_ = getattr(there, name)[stored], getattr(here, name)[rows]
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
