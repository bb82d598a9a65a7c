"""The laws that every rule set must keep, and their check position by position.

The rules answer once at each position; every law looks at these `Answers`. A breach names the law
and the position. The game is also solved with and without its symmetries, to find symmetric
positions with different values.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from graphstore.errors import ArgumentError, GameNameError, GraphstoreError, PositionError
from graphstore.games import rules_of
from graphstore.rules.adapter import ArrayRules
from graphstore.rules.board import EMPTY, board_of, picture_of
from graphstore.rules.game import (
    IN_PLAY,
    Codes,
    Game,
    Ints,
    Progress,
    is_scored,
    margins_at,
    move_text,
    names_moves,
    quiet,
    read_move,
)
from graphstore.rules.plain import PlainGame
from graphstore.solver.exploration import explore
from graphstore.solver.solution import solve
from graphstore.util import arguments
from graphstore.util.arrays import distinct, member, offsets, ragged

POSITIONS = 100_000
"""The number of positions that `check_rules` looks at by default."""

NO_POSITION = -1

ANSWER = "the rules must answer at every position"

RESULTS: Final = {1: "a win", 0: "a draw", -1: "a loss", IN_PLAY: "that of a position in play"}

SOME = 8
"""The most images of a position that are looked at: all of a square board's."""


class Answers(NamedTuple):
    """The answers of the rules at n distinct positions, which have m moves."""

    id: Ints  # [n], the positions
    outcome: Codes
    margin: Ints  # 0 in a game without scores
    turn: Codes
    degree: Ints  # the number of moves
    text: NDArray[Any]  # str
    read: Ints  # the position of the text
    images: NDArray[Any]  # tuples: the state, then all images that the rules list
    move: Ints  # [m], by position, then ascending
    child: Ints

    @property
    def parent(self) -> Ints:
        """The row of each move's position, int64[m]."""
        return np.repeat(np.arange(len(self.id)), self.degree)

    @property
    def state(self) -> Ints:
        """The row of each position's state, int64[n]; -1 where it is not one of these."""
        return self.rows(np.array([images[0] for images in self.images]))

    def of(self, rows: Ints) -> "Answers":
        """Return the answers at some of the positions."""
        moves = ragged(offsets(self.degree), rows)
        columns: tuple[NDArray[Any], ...] = self
        cells = *(each[rows] for each in columns[:-2]), *(each[moves] for each in columns[-2:])
        return Answers._make(cells)

    def rows(self, positions: Ints) -> Ints:
        """Return the row of each position, -1 where it is not one of these."""
        rows = {position: row for row, position in enumerate(self.id.tolist())}
        return np.array([rows.get(each, -1) for each in positions.tolist()], dtype=np.int64)


ASKED: Final = (
    *(
        "position",
        "result",
        "margin",
        "side to move",
        "list of moves",
        "text",
        "position of its text",
    ),
    *("set of symmetric positions", "list of moves", "position after a move"),
)
"""The name of each field of `Answers`."""

Found: TypeAlias = Iterator[tuple[Any, str]]
"""Pairs: the row of a position that breaks a law, None if it is not one position; the detail."""

Laws: TypeAlias = tuple[Callable[[Game, Answers], Found], ...]
"""Called with a game and its answers; yield what breaks the law, which the docstring states."""


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
    complete: bool  # True if these are all positions that play reaches
    orbits: int | None = None  # the sum of all orbits, if complete and without a breach


def check_rules(
    game: Game | PlainGame | str, *, max_positions: int = POSITIONS, progress: Progress = quiet
) -> CheckedRules:
    """Return the laws that a rule set breaks, each with the first position that breaks it.

    At most `max_positions` positions are checked, those nearest to the starts; symmetric positions
    count separately.
    """
    most = arguments.count("max_positions", max_positions, least=1)
    try:
        game = rules_of(game)
        at, complete = _walk(game, most, progress)
        more = _with_images(game, at)
    except (ArgumentError, GameNameError):
        raise
    except GraphstoreError as error:
        return CheckedRules((Breach(ANSWER, "", str(error)),), 0, complete=False)
    breaches = [*_breaches(LAWS, game, at, progress)]
    breaches += _breaches(SYMMETRY_LAWS, game, more, progress)
    if complete and {f"{each.law}." for each in breaches} <= {_moves_agree.__doc__}:
        breaches += _breaches((_values_agree,), game, at, progress)
    if breaches or not complete:
        return CheckedRules(tuple(breaches), len(at.id), complete)
    orbits = game.orbits(distinct(game.canonical(at.id)))
    return CheckedRules((), len(at.id), complete, int(orbits.sum()))


def symmetry_breaches(game: Game, states: Ints) -> Iterator[Breach]:
    """Yield the first breach of each law of symmetry, at some states or at their children."""
    try:
        at = ask(game, states)
        at = _with_images(game, _with(game, at, at.child))
    except GraphstoreError as error:
        yield Breach(ANSWER, "", str(error))
    else:
        yield from _breaches(SYMMETRY_LAWS, game, at, quiet)


def _breaches(laws: Laws, game: Game, at: Answers, progress: Progress) -> Iterator[Breach]:
    """Yield the first breach of each broken law."""
    for law in laws:
        progress(f"check: {law.__doc__}", 0, None)
        try:
            found = next(law(game, at), None)
        except GraphstoreError as error:
            found = (None, str(error))
        if found is not None:
            row, detail = found
            yield Breach(
                str(law.__doc__).rstrip("."), "" if row is None else str(at.text[row]), detail
            )


def _walk(game: Game, limit: int, progress: Progress) -> tuple[Answers, bool]:
    """Return the answers at the positions that play reaches, by ply; True if these are all."""
    starts = fresh = distinct(np.asarray(game.start_states()))
    found, known = list[Answers](), fresh[:0]
    while fresh.size and len(known) < limit:
        found.append(ask(game, fresh[: limit - len(known)]))
        known = np.concatenate((known, found[-1].id))
        fresh = np.setdiff1d(found[-1].child, known)
        progress("check: positions", len(known), None)
    at = _joined(found)
    return at, bool(np.isin(np.concatenate((starts, at.child)), known).all())


def ask(game: Game, positions: Ints) -> Answers:
    """Return the answers of the rules at some positions."""
    outcome, texts = game.outcomes(positions), game.texts(positions)
    in_play = np.flatnonzero(outcome == IN_PLAY)
    none = np.empty(0, dtype=np.int64)
    parent, move, child = game.expand(positions[in_play]) if in_play.size else (none, none, none)
    count = np.bincount(in_play[parent], minlength=len(positions))
    if isinstance(game, ArrayRules):
        read = packed(game.afresh(), texts)  # the game remembers the texts that it has written
        images = [tuple(game.images(key)) for key in positions.tolist()]
    else:
        read = packed(game, texts)
        images = [(state,) for state in game.canonical(positions).tolist()]
    text, sets = (np.fromiter(each, dtype=object) for each in (texts, images))
    margin, turn, number = margins_at(game, positions), game.turns(positions), move.astype(np.int64)
    return Answers(positions, outcome, margin, turn, count, text, read, sets, number, child)


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


def _joined(parts: list[Answers]) -> Answers:
    return Answers._make(map(np.concatenate, zip(*parts, strict=True)))


def _with(game: Game, at: Answers, positions: Ints) -> Answers:
    """Return the answers with those at other positions."""
    others = np.setdiff1d(positions, at.id)
    return _joined([at, ask(game, others)]) if others.size else at


def _with_images(game: Game, at: Answers) -> Answers:
    """Return the answers with those at some images of each position."""
    images = {image for images in at.images for image in _some(images)}
    return _with(game, at, np.array([*images], dtype=np.int64))


def _some(images: tuple[int, ...]) -> tuple[int, ...]:
    """Return the state and images spread over the others, so that many cost little."""
    return images[:: -(-len(images) // SOME)]


def _answers_repeat(game: Game, at: Answers) -> Found:
    """The same position gives the same answers."""
    count, chance = len(at.id), np.random.default_rng(0)
    for _ in range(min(10, 2 + 1000 // count)):
        order = chance.permutation(count)
        before = at.of(order)
        now = ask(game, before.id)
        for name, what, old, new in zip(Answers._fields, ASKED, before, now, strict=True):
            for place in np.flatnonzero(old != new):
                row = before.parent[place] if name in ("move", "child") else place
                yield order[row], f"the {what} changes when the rules are called again"


def _in_play_has_moves(game: Game, at: Answers) -> Found:
    """A position without a result has a move."""
    for row in np.flatnonzero((at.outcome == IN_PLAY) & (at.degree == 0)):
        yield row, "no move and no result; give it a result, or add a pass"


def _margins_fit(game: Game, at: Answers) -> Found:
    """Margins have the sign of the result, and are 0 in play."""
    sign = np.where(at.outcome == IN_PLAY, 0, at.outcome)
    for row in np.flatnonzero((np.sign(at.margin) != sign) & is_scored(game)):
        yield row, f"its margin is {at.margin[row]}, but its result {RESULTS[at.outcome[row]]}"


def _games_end_in_time(game: Game, at: Answers) -> Found:
    """No game is longer than max_plies."""
    if game.max_plies is None:
        return
    rows, waiting = _after(at, game.max_plies)
    for row in rows[at.degree[rows] > 0]:
        yield row, f"play goes on here after {game.max_plies} moves, which is max_plies"
    for row in np.flatnonzero(waiting):
        yield row, f"play comes here after a cycle, so max_plies cannot be {game.max_plies}"


def _scored_games_end(game: Game, at: Answers) -> Found:
    """Play ends if results are scores."""
    for row in np.flatnonzero(_after(at, len(at.id))[1]) if is_scored(game) else ():
        yield row, "play comes here after a cycle, so there are no margins"


def _after(at: Answers, plies: int) -> tuple[Ints, Ints]:
    """Return the rows that are reached last within `plies` moves, and the moves not played.

    These are counted at the rows where they end.
    """
    child, offset = at.rows(at.child), offsets(at.degree)
    waiting = np.bincount(child[child >= 0], minlength=len(at.id))  # for moves that lead there
    rows = np.flatnonzero(waiting == 0)
    for _ in range(plies):
        if not rows.size:
            break
        ends = child[ragged(offset, rows)]
        ends, moves = np.unique(ends[ends >= 0], return_counts=True)
        waiting[ends] -= moves
        rows = ends[waiting[ends] == 0]
    return rows, waiting


def _turns_are_known(game: Game, at: Answers) -> Found:
    """The side to move is known at every position or at none."""
    parent, move = at.parent, at.move
    before, after = at.turn[parent], game.turns(at.child)
    for edge in np.flatnonzero((before == 0) != (after == 0)):
        when = f"only before or only after move {move[edge]}; give it at every position or at none"
        yield parent[edge], f"the side to move is known {when}"


def _players_differ(game: Game, at: Answers) -> Found:
    """The two players have different names."""
    if game.players[0] == game.players[1]:
        yield None, f"both of players are {game.players[0]!r}"


def _texts_read_back(game: Game, at: Answers) -> Found:
    """A text reads back as its position."""  # so no two positions have one text
    game = game.afresh() if isinstance(game, ArrayRules) else game
    for row in np.flatnonzero(at.read != at.id):
        try:
            yield (
                row,
                f"the text is read as another position, {_text(game, game.read(at.text[row]))}",
            )
        except GraphstoreError as error:
            yield row, f"the text is not read back: {error}"


def _boards_are_drawn(game: Game, at: Answers) -> Found:
    """Positions are drawn; with shape, move m fills the free cell m of the board."""
    boards = []
    for row, position in enumerate(at.id.tolist()):
        try:
            boards.append(game.board(position))
            if isinstance(game, ArrayRules) and game.writes("picture"):
                picture_of(at.text[row], game)
        except GraphstoreError as error:
            yield row, str(error)
    if game.shape is None:
        return
    down, across = game.shape
    for row, board in enumerate(boards):
        if [*map(len, board.split("\n"))] != [across] * down:
            yield row, f"shape is {game.shape}, but the board is {board!r}"
        read = board_of(at.text[row], game)
        if read is not None and "\n".join(read.rows) != board:
            yield row, f"the board is {board!r}, but the text shows {'/'.join(read.rows)!r}"
    free = np.array([[mark in EMPTY for mark in each.replace("\n", "")] for each in boards])
    parent, child, move = at.parent, at.rows(at.child), at.move
    for edge in np.flatnonzero((move < 0) | (move >= down * across)):
        yield parent[edge], f"move {move[edge]} is not a cell of a board of shape {game.shape}"
    for edge in np.flatnonzero(~free[parent, move]):
        yield parent[edge], f"move {move[edge]} is legal, but cell {move[edge]} is not free"
    for edge in np.flatnonzero((child >= 0) & free[child, move]):
        yield parent[edge], f"cell {move[edge]} is free after move {move[edge]}"


def _moves_have_names(game: Game, at: Answers) -> Found:
    """Each move has a name, which reads back as the move."""
    rules = game.game if isinstance(game, ArrayRules) else game
    if hasattr(rules, "write_move") != hasattr(rules, "read_move") and not names_moves(game):
        yield None, "write_move() and read_move() need each other; write both or neither"
    moves, first = np.unique(at.move, return_index=True)
    for row, move in zip(at.parent[first], moves.tolist(), strict=True):
        try:
            name = move_text(game, move)
            back = read_move(game, name)
        except GraphstoreError as error:
            yield row, str(error)
        else:
            if back != move:
                yield row, f"move {move} is written {name}, which is read as move {back}"


def _images_are_closed(game: Game, at: Answers) -> Found:
    """Symmetric positions have the same images."""
    known = dict(zip(at.id.tolist(), at.images, strict=True))
    for row, images in enumerate(at.images):
        for image in _some(images):
            if (others := known.get(image, images)) == images:
                continue
            if {*others} == {*images}:
                yield (
                    row,
                    f"canonical() gives {_text(game, images[0])}, but {_text(game, others[0])} for "
                    f"its image {_text(game, image)}; it must return one image for all",
                )
            else:
                only = f"only it has {_only(game, images, others)}, and only that one has"
                yield (
                    row,
                    f"of its images and those of its image {_text(game, image)}, {only} "
                    f"{_only(game, others, images)}; symmetries() must return one set for all",
                )


def _images_agree(game: Game, at: Answers) -> Found:
    """A position and its canonical image have one result and one side to move."""
    state = at.state
    answers = ("result", at.outcome), ("margin", at.margin), ("side to move", at.turn)
    for name, answer in answers:
        for row in np.flatnonzero(answer != answer[state]):
            yield row, f"its {name} is not that of its canonical position, {at.text[state[row]]}"


def _moves_agree(game: Game, at: Answers) -> Found:
    """The moves of a position and of its canonical image lead to the same states."""
    state, child = at.state, game.canonical(at.child)
    child = child[np.lexsort((child, at.parent))]
    ends = pairwise(offsets(at.degree).tolist())
    reached = [tuple(child[begin:end].tolist()) for begin, end in ends]
    for row, here in enumerate(reached):
        there = reached[state[row]]
        if here != there and here and there:
            only = f"only its moves lead to {_only(game, here, there)}, and only those of its"
            other = f"{at.text[state[row]]}, to {_only(game, there, here)}"
            yield row, f"up to symmetry, {only} canonical position, {other}"


def _only(game: Game, these: tuple[int, ...], others: tuple[int, ...]) -> str:
    """Return the texts of some positions that the first has more often than the second."""
    more = list((Counter(these) - Counter(others)).elements())[:3]
    return ", ".join(game.texts(np.array(more, dtype=np.int64))) or "none"


LAWS: Laws = (
    *(_answers_repeat, _players_differ, _in_play_has_moves, _margins_fit, _turns_are_known),
    _scored_games_end,
    *(_games_end_in_time, _texts_read_back, _boards_are_drawn, _moves_have_names),
)
SYMMETRY_LAWS: Laws = (_images_are_closed, _images_agree, _moves_agree)
"""The laws that `graphstore verify` checks at some states."""


def _values_agree(game: Game, at: Answers) -> Found:
    """Images under the symmetries have one value."""

    class Unfolded:  # every position is its own state
        canonical, orbits = staticmethod(np.asarray), staticmethod(np.ones_like)

        def __getattr__(self, name: str) -> Any:
            return getattr(game, name)

    alone: Any = Unfolded()
    folded, unfolded = explore(game), explore(alone)
    here, there = solve(folded), solve(unfolded)
    ids, states = unfolded.states.id, game.canonical(unfolded.states.id)
    row, stored = at.rows(ids), member(states, folded.states.id)
    for missing in np.flatnonzero(~stored):
        state = _text(game, states[missing])
        yield row[missing], f"its canonical position, {state}, is not reached with symmetry"
    rows = np.searchsorted(folded.states.id, states)
    for name in ("value", "remoteness"):
        without, with_ = getattr(there, name), getattr(here, name)[rows]
        for wrong in np.flatnonzero(without != with_):
            state = f"its canonical position, {_text(game, states[wrong])}, is {with_[wrong]}"
            yield row[wrong], f"its {name} is {without[wrong]}, but that of {state}"
    reached, orbit = np.bincount(rows), folded.states.orbit
    for wrong in np.flatnonzero(reached > orbit[: len(reached)]):
        count = f"its orbit is {orbit[wrong]}, but play reaches {reached[wrong]} images"
        yield row[rows == wrong][0], count


def _text(game: Game, position: Any) -> str:
    return game.texts(np.array([position], dtype=np.int64))[0]
