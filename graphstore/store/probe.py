"""Probes: the row of a position in any orientation, and of each of its moves."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from math import inf
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeAlias, TypeGuard

import numpy as np

from graphstore.errors import (
    ArgumentError,
    NotAStoreError,
    NotInStoreError,
    PositionError,
    RulesError,
    shown,
)
from graphstore.rules import positions
from graphstore.rules.adapter import ArrayRules
from graphstore.rules.board import WORDS, Choice, choices
from graphstore.rules.game import DRAW, IN_PLAY, LOSS, WIN, Game, best_first, move_text
from graphstore.rules.notebook import or_none, picture, row, table
from graphstore.rules.positions import Position
from graphstore.store.by_key import Keyed
from graphstore.store.format import BOOK, COLUMNS, STRATEGY, WHOLE
from graphstore.store.reader import Reader
from graphstore.util import arguments

BATCH = 10_000  # ids per statement; SQLite takes 32,766 at most

_NOT_THERE = {
    WHOLE: "database: no play from its starts leads there",
    STRATEGY: "strategy: its moves for {player} never lead there",
    BOOK: "book of first plies; graphstore solve searches such positions",
}


class Values(NamedTuple):
    """The values of a state: some columns of the table `state`."""

    value: int
    remoteness: int | None
    score: float
    win_depth: int | None
    lose_depth: int | None


class Move(NamedTuple):
    """A legal move and columns of the state that it leads to.

    So `value` is for the opponent of the player who makes the move, and `score` for that player. If
    the move keeps the turn, both are negated, and the depths change places, so that this holds.
    Without a database, `score` is None, and `value` while it is not known.
    """

    move: int
    state: int
    position: str
    value: int
    remoteness: int | None
    score: float
    win_depth: int | None
    lose_depth: int | None
    margin: int | None = None


class _Columns(NamedTuple):
    """The columns of a `Probe`."""

    state: int
    position: str
    ply: int
    to_move: int | None
    ended: bool
    value: int
    remoteness: int | None
    score: float
    win_depth: int | None
    lose_depth: int | None
    orbit: int
    random_value: float | None
    winner: int | None
    best_response: float | None
    margin: int | None
    nimber: int | None
    moves: tuple[Move, ...] = ()


ORDERS: Final = ("value", "margin")
"""The orders of moves; see `Probe.by`."""

Rank: TypeAlias = Callable[[Move], tuple[float, ...]]
"""Returns a sort key that puts the best move first."""


def _by_value(move: Move) -> tuple[float, ...]:
    if move.score is None:  # searched without a database
        plies = inf if move.remoteness is None else move.remoteness
        return _AS_SEARCHED[move.value], plies * -move.value if move.value else 0
    return best_first(move.score, move.win_depth, move.lose_depth, move.remoteness)


def margin_of(move: Move) -> int | None:
    """Return the margin of a move for its player; None in a game without scores."""
    return None if move.margin is None else -move.margin


def _by_margin(move: Move) -> tuple[float, ...]:
    return (-(margin_of(move) or 0),)


_AS_SEARCHED: Final = {LOSS: 0, DRAW: 1, None: 2, WIN: 3}
"""The order of moves by `value`: those that are not known come before those that lose."""


class Probe(_Columns):
    """The row of a position's state in the table `state`, and all moves, best first.

    `state` is the column `id`. `position` and the moves keep the orientation of the request.
    """

    _game: Game | None = None  # whose picture a notebook shows
    _rank: Rank = staticmethod(_by_value)  # the order of the moves

    def __getstate__(self) -> None:
        """Leave out the rules: a pickle has the columns."""

    @property
    def best(self) -> tuple[Move, ...]:
        """All equally best moves."""
        return tuple(move for move in self.moves if self._rank(move) == self._rank(self.moves[0]))

    def by(self, order: str) -> "Probe":
        """Return the probe with its moves in an order of `ORDERS`; `best` follows it.

        ``value`` is the order of a probe: the fastest win first. ``margin`` puts the moves with the
        greatest margin first, of these the best by value.

        Raises:
            ArgumentError: there is no such order, or the results of the game are not scores.
        """
        if order not in ORDERS:
            raise ArgumentError(f"by is {shown(order)}; it must be 'value' or 'margin'")
        if order == "margin" and self.margin is None:
            raise ArgumentError(
                f"{self.position} has no margin, because the results of this game are not scores; "
                "leave out --by margin (by=)"
            )
        found = _ordered(self, _by_margin if order == "margin" else _by_value)
        found._game = self._game
        return found

    def as_dict(self) -> dict[str, Any]:
        """Return the probe as nested dicts and lists, by the names of the columns."""
        return {**self._asdict(), "moves": [move._asdict() for move in self.moves]}

    def choices(self) -> list[Choice]:
        """Return the moves as a board shows them, best first.

        Without rules, a move of a piece is named by its cells, ``6-3``.
        """
        name = partial(move_text, self._game)
        found = choices(self._game, self.position, self.moves, name)
        return (
            found
            if self._game is not None
            else [
                each
                if each.source is None or each.move == each.cell
                else each._replace(name=f"{each.source}-{each.cell}")
                for each in found
            ]
        )

    @or_none
    def _repr_svg_(self) -> str:
        return picture(self.position, game=self._game, shown=self.choices())

    @or_none
    def _repr_html_(self) -> str:
        cells = [
            (each.name, each.position, WORDS.get(each.value), each.depth) for each in self.choices()
        ]
        moves = table(("move", "position", "result", "depth"), cells) if cells else ""
        return (
            row([(picture(self.position, game=self._game, shown=self.choices()), _caption(self))])
            + moves
        )


class Line(NamedTuple):
    """A line of best play: its positions and the moves between them.

    Attributes:
        moves: the moves, each the lowest of the best ones.
        positions: the texts, one more than the moves.
        probes: the probe of each position.
        repeats: True if the line stops because it comes back to a state.
    """

    moves: tuple[int, ...]
    positions: tuple[str, ...]
    probes: tuple[Probe, ...]
    repeats: bool

    @or_none
    def _repr_html_(self) -> str:
        played = [(None, "\u00a0")] + [
            (each.cell, f"{each.name}: {each.label}")
            for probe, move in zip(self.probes, self.moves, strict=False)
            for each in probe.choices()
            if each.move == move
        ]
        return row(
            [
                (picture(probe.position, game=probe._game, last=cell, pixels=28), caption)
                for probe, (cell, caption) in zip(self.probes, played, strict=True)
            ]
        )


_CHILDREN = Keyed(["child"], "edge", "parent")
_BY_ID = Keyed(COLUMNS["state"], "state", "id")
_POSITION = Keyed(["position"], "state", "id")
_HERE = Keyed(["NULL" if name == "position" else name for name in COLUMNS["state"]], "state", "id")
_MOVED = Keyed(["id", "to_move", *Move._fields[3:]], "state", "id")
"""The row of a state whose text the rules write, and what a move says of its child."""
_MOVES = Keyed(["move", "child"], "edge", "parent")
_BY_TEXT = Keyed(COLUMNS["state"], "state", "position")
_VALUES = itemgetter(*map(Probe._fields.index, Move._fields[3:]))


def find(reader: Reader, info: Mapping[str, Any], game: Game | None, position: Any) -> Probe:
    """Return the probe of a position as `graphstore.Store.probe` does; see `start` for `info`."""
    position = arguments.position("position", position)
    extent = info["extent"]
    plain = game is None or isinstance(game, ArrayRules)  # other rules read all their texts
    if isinstance(position, str) and position.strip().lower() == positions.START:
        with suppress(PositionError, NotInStoreError):
            if plain:
                return probe_as_stored(reader, position)  # a text of the user's rules
        if position != info["start"]:  # else the file is damaged
            return start(reader, info, game)
    if game is None:
        return probe_as_stored(reader, position)
    try:
        here = read_position(reader, game, position)
    except PositionError as error:
        # For rules that write texts but cannot read them: look for the text as stored.
        with suppress(NotInStoreError):
            if plain:
                return probe_as_stored(reader, position)
        raise error from None
    try:
        return probe(reader, game, here, extent=extent)
    except (NotInStoreError, RulesError):
        if not isinstance(game, ArrayRules) or not isinstance(position, str):
            raise
        other = positions.read_bare(game, position)  # `PlainGame` may read any text as a position
        if other is None:
            raise
        return probe(reader, game, other, extent=extent)


def start(reader: Reader, info: Mapping[str, Any], game: Game | None) -> Probe:
    """Return the probe of the (first) start; `info` is the row of the table game."""
    if game is not None:
        here = game.start_states()[:1]
        if game.texts(game.canonical(here)) == [info["start"]]:
            return probe(reader, game, int(here[0]), extent=info["extent"])
    return find(reader, info, game, info["start"])


def read_position(reader: Reader, game: Game, position: Position) -> int:
    """Return the packed position of a text, the id of a state, or a list of moves."""

    def find(number: int) -> int | None:
        rows = _POSITION.rows(reader, [number])
        return next((game.read(position) for (position,) in rows), None)

    def stored(text: str) -> bool:
        return _by_text(reader, text) is not None

    own = stored if isinstance(game, ArrayRules) else None  # other rules read all their texts
    return positions.read_position(game, position, find=find, stored=own)


def states_by_id(reader: Reader, ids: Sequence[int]) -> dict[int, Probe]:
    """Return the rows of states by id, without moves; ids that are not stored are left out."""
    return {row[0]: Probe(*row) for row in _BY_ID.rows(reader, ids)}


def probe(reader: Reader, game: Game, position: int, *, extent: str = WHOLE) -> Probe:
    """Return the probe of a packed position.

    In a strategy (`extent`) a state in which player 1 is to move has the stored moves only. In a
    book, states in play at the last ply have no moves.
    """
    here = np.array([position], dtype=np.int64)
    if game.outcomes(here)[0] == IN_PLAY:
        _, played, children = game.expand(here)
    else:
        played, children = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int64)
    family = np.concatenate((here, children))
    text, *texts = game.texts(family)
    ids = game.canonical(family).tolist()
    row = next(iter(_HERE.rows(reader, ids[:1])), None)
    if row is None:
        why = _NOT_THERE.get(extent, _NOT_THERE[WHOLE]).format(player=game.players[0])
        raise NotInStoreError(f"{text} is not in this {why}")
    rows = {child: cells for child, *cells in _MOVED.rows(reader, list(set(ids[1:])))}
    stored = Probe(*row)
    is_last = extent == BOOK and not rows
    kept = set() if is_last else set(ids[1:])
    if extent == STRATEGY and stored.to_move == 1:
        kept = {child for (child,) in _CHILDREN.rows(reader, ids[:1])}
    legal = [each for each in zip(played.tolist(), ids[1:], texts, strict=True) if each[1] in kept]
    if not kept <= rows.keys() or (bool(legal) != bool(texts) and not is_last):
        raise NotAStoreError(f"the database is damaged: a move of {text} leads to no state")
    moves = [
        _move(stored.to_move, to_move, *each, *cells)
        for each in legal
        for to_move, *cells in [rows[each[1]]]
    ]
    found = _answer(stored, text, moves)
    found._game = game
    return found


def probe_as_stored(reader: Reader, position: Position) -> Probe:
    """Return the probe of a state by its id or its stored text, without the rules."""
    stored = _by_text(reader, position) if isinstance(position, str) else None
    if stored is None and is_number(position):
        stored = _by_id(reader, position)
    if stored is None:
        raise NotInStoreError(
            f"no stored state is written {shown(position)}; give --rules to read other spellings"
        )
    edges = list(_MOVES.rows(reader, [stored.state]))
    children = states_by_id(reader, list({child for _, child in edges}))
    moves = [
        _move(stored.to_move, row.to_move, move, row.state, row.position, *_VALUES(row))
        for move, child in edges
        if (row := children.get(child)) is not None
    ]
    return _answer(stored, stored.position, moves)


def line(
    probe: Callable[[str], Probe], first: Probe, *, by: str = "value", most: int | None = None
) -> Line:
    """Return a line of best play, up to the end, a repeated state or `most` moves."""
    probes = [first.by(by)]
    met: set[int] = set()
    while probes[-1].moves and probes[-1].state not in met and len(met) != most:
        met.add(probes[-1].state)
        probes.append(probe(probes[-1].moves[0].position).by(by))
    moves = tuple(each.moves[0].move for each in probes[:-1])
    positions = tuple(each.position for each in probes)
    return Line(moves, positions, tuple(probes), probes[-1].state in met)


def below(reader: Reader, start: int) -> Iterator[list[int]]:
    """Yield the ids of the states that play from a state can reach, in waves."""
    met = {start}
    wave = [start]
    while wave:
        yield wave
        children = _CHILDREN.rows(reader, wave)
        wave = list({child for (child,) in children} - met)
        met.update(wave)


def _caption(probe: Probe) -> str:
    """Return the value of a position in words, without the names of the players."""
    worth = WORDS.get(probe.value, "not known yet")
    if probe.ended:
        return f"over: {worth} for the player to move"
    mover = "the player to move" if probe.to_move is None else f"player {probe.to_move}, to move"
    end = "play need never end" if probe.remoteness is None else f"{probe.remoteness} plies"
    return f"{worth} for {mover}: {end}"


def is_number(position: Position) -> TypeGuard[str | int]:
    """Return whether a position can be the id of a state: an integer, or at most 19 digits."""
    if isinstance(position, str):
        return position.isdecimal() and len(position) < 20
    return isinstance(position, int)


def _by_text(reader: Reader, text: str) -> Probe | None:
    """Return the row of a state by its stored text; None without such a state."""
    with suppress(UnicodeEncodeError):  # a lone surrogate, which SQLite cannot store
        return next((Probe(*row) for row in _BY_TEXT.rows(reader, [text])), None)
    return None


def _by_id(reader: Reader, state: str | int) -> Probe | None:
    """Return the row of a state by its id, an integer of any size; None without such a state."""
    number = int(state)
    return states_by_id(reader, [number]).get(number) if 0 <= number < 2**63 else None


def _answer(row: Probe, text: str, moves: list[Move]) -> Probe:
    found = row._replace(position=text, ended=bool(row.ended), moves=tuple(moves))
    return _ordered(found, _by_value)


def _move(before: int | None, after: int | None, *cells: Any) -> Move:
    """Return a move from the players to move before and after it and columns of its child."""
    move = Move(*cells)
    if before is None or before != after:
        return move
    return move._replace(
        value=-move.value,
        score=0.0 - move.score,
        win_depth=move.lose_depth,
        lose_depth=move.win_depth,
        margin=None if move.margin is None else -move.margin,
    )


def _ordered(probe: Probe, rank: Rank) -> Probe:
    """Return a probe with its moves in order."""
    ordered = sorted(probe.moves, key=lambda move: (rank(move), _by_value(move), move.move))
    found = probe._replace(moves=tuple(ordered))
    found._rank = rank
    return found
