"""Named questions about a solved game, asked over a connection to its database.

Any orientation of a position is found: the rules turn it into its state, and its moves are given
in the orientation that was asked.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, RowMapping, Select, bindparam, select

from graphstore.boards import WORDS, Choice, choices
from graphstore.errors import NotAStoreError, NotInStoreError, PositionError, shown
from graphstore.game import IN_PLAY, Game, Ints, best_first
from graphstore.notebook import or_none, picture, row, table
from graphstore.schema import STRATEGY, WHOLE, edge, state

BATCH = 10_000  # ids bound to one statement; SQLite takes 32,766 at most

_BY_ID = select(state).where(state.c.id.in_(bindparam("ids", expanding=True)))
_VALUES = select(
    state.c.id,
    state.c.value,
    state.c.remoteness,
    state.c.score,
    state.c.win_depth,
    state.c.lose_depth,
).where(state.c.id.in_(bindparam("ids", expanding=True)))
_MOVES = (
    select(
        edge.c.move,
        state.c.id,
        state.c.position,
        state.c.value,
        state.c.remoteness,
        state.c.score,
        state.c.win_depth,
        state.c.lose_depth,
    )
    .join(state, state.c.id == edge.c.child)
    .where(edge.c.parent == bindparam("state"))
)
_CHILDREN = select(edge.c.child).where(edge.c.parent.in_(bindparam("ids", expanding=True)))

_NOT_THERE = {
    WHOLE: "database: no play from its starts leads there",
    STRATEGY: "strategy: {player} never lets play come there",
}


class Move(NamedTuple):
    """A legal move and what it leads to.

    Value and remoteness are the child's, so for the opponent, whose turn it then is; score,
    win_depth and lose_depth are for the player who makes the move.
    """

    move: int
    state: int
    position: str
    value: int
    remoteness: int | None
    score: float
    win_depth: int | None
    lose_depth: int | None


class Probe(NamedTuple):
    """What the database says of a position: its state's columns, and all moves, best first.

    Value, remoteness and random_value are for the player to move; score, win_depth, lose_depth
    and best_response for the player who just moved. The position and its moves keep the orientation
    that was asked.
    """

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
    moves: tuple[Move, ...]

    @property
    def best(self) -> tuple[Move, ...]:
        """All equally best moves."""
        return tuple(move for move in self.moves if _rank(move) == _rank(self.moves[0]))

    def as_dict(self) -> dict[str, Any]:
        """Return it as nested dicts and lists, under the names of the columns."""
        return {**self._asdict(), "moves": [move._asdict() for move in self.moves]}

    def choices(self) -> list[Choice]:
        """Return the moves as a board shows them, best first; read off the texts alone."""
        return choices(None, self.position, self.moves)

    @or_none
    def _repr_svg_(self) -> str:
        return picture(self.position, shown=self.choices())

    @or_none
    def _repr_html_(self) -> str:
        cells = [
            (each.move, each.position, WORDS[each.value], each.depth) for each in self.choices()
        ]
        moves = table(("move", "position", "result", "depth"), cells) if cells else ""
        return row([(picture(self.position, shown=self.choices()), _caption(self))]) + moves


class Lookup(NamedTuple):
    """What the database says of many positions, in the order asked; masked where NULL or missing.

    Attributes:
        state: int64[k].
        found: bool[k], whether the database holds the state.
        value: int8[k], for the player to move.
        remoteness: int32[k].
        score: float64[k], for the player who just moved.
        win_depth: int32[k], likewise.
        lose_depth: int32[k], likewise.
    """

    state: Ints
    found: NDArray[np.bool_]
    value: "np.ma.MaskedArray[Any, np.dtype[np.int8]]"
    remoteness: "np.ma.MaskedArray[Any, np.dtype[np.int32]]"
    score: "np.ma.MaskedArray[Any, np.dtype[np.float64]]"
    win_depth: "np.ma.MaskedArray[Any, np.dtype[np.int32]]"
    lose_depth: "np.ma.MaskedArray[Any, np.dtype[np.int32]]"


class Line(NamedTuple):
    """A line of best play: the positions met, each with the move that led to it.

    Attributes:
        moves: the moves played, the lowest of the best ones each time.
        positions: the texts, one more than the moves.
        probes: what the database says of each position.
        repeats: whether the line stops because it would come back to a state.
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
                (picture(position, last=cell, pixels=28), caption)
                for position, (cell, caption) in zip(self.positions, played, strict=True)
            ]
        )


def read_position(connection: Connection, game: Game, position: str | int) -> int:
    """Return the packed position that a text or a state id means.

    Raises:
        PositionError: the text is no position.
        NotInStoreError: no state has that id.
    """
    if isinstance(position, str):
        try:
            return game.read(position)
        except PositionError:
            if not _is_number(position):
                raise
    row = _by_id(connection, int(position))
    if row is None:
        raise NotInStoreError(f"no state has the id {shown(str(position))}")
    return game.read(row["position"])


def states_by_id(connection: Connection, ids: Sequence[int]) -> dict[int, RowMapping]:
    """Return the rows of the states that the database holds, by id."""
    return {row["id"]: row for row in _rows(connection, _BY_ID, ids)}


def probe(connection: Connection, game: Game, position: int, *, extent: str = WHOLE) -> Probe:
    """Return what the database says of a packed position.

    Args:
        connection: to the database.
        game: its rules.
        position: in any orientation.
        extent: what is in the database; where it is a strategy, player 1 has only its moves.

    Raises:
        NotInStoreError: the database does not hold it.
    """
    here = np.array([position], dtype=np.int64)
    if game.outcomes(here)[0] == IN_PLAY:
        _, played, children = game.expand(here)
    else:
        played, children = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int64)
    family = np.concatenate((here, children))
    text, *texts = game.texts(family)
    ids = game.canonical(family).tolist()
    rows = states_by_id(connection, ids)
    row = rows.get(ids[0])
    if row is None:
        why = _NOT_THERE.get(extent, _NOT_THERE[WHOLE]).format(player=game.players[0])
        raise NotInStoreError(f"{text} is not in this {why}")
    kept = set(ids)
    if extent == STRATEGY and row["to_move"] == 1:
        kept = {child for (child,) in _rows(connection, _CHILDREN, ids[:1], plain=True)}
    legal = [each for each in zip(played.tolist(), ids[1:], texts, strict=True) if each[1] in kept]
    if not kept <= rows.keys() or bool(legal) != bool(texts):
        raise NotAStoreError(f"the database is damaged: a move of {text} leads to no state")
    moves = [Move(*each, *(rows[each[1]][name] for name in Move._fields[3:])) for each in legal]
    return _answer(row, text, moves)


def lookup(connection: Connection, states: Ints) -> Lookup:
    """Return the values of many canonical states."""
    wanted = states.tolist()
    known = {row[0]: row[1:] for row in _rows(connection, _VALUES, list(set(wanted)), plain=True)}
    nothing = (None,) * 5
    columns = list(zip(*(known.get(each, nothing) for each in wanted), strict=True)) or [()] * 5
    types = (np.int8, np.int32, np.float64, np.int32, np.int32)
    found = np.array([each in known for each in wanted], dtype=np.bool_)
    return Lookup(
        states, found, *(_masked(cells, t) for cells, t in zip(columns, types, strict=True))
    )


def probe_as_stored(connection: Connection, position: str | int) -> Probe:
    """Return what the database says of a state, without the rules: by id, or text as stored.

    Raises:
        NotInStoreError: the database has no such row.
    """
    row = _as_stored(connection, position)
    if row is None:
        raise NotInStoreError(
            f"{shown(str(position))} is no position as stored; to read others the rules are needed"
        )
    moves = [Move(*cells) for cells in connection.execute(_MOVES, {"state": row["id"]})]
    return _answer(row, row["position"], moves)


def line(
    probe: Callable[[str | int], Probe], position: str | int, *, most: int | None = None
) -> Line:
    """Return a line of best play from a position to the end, or to a repetition.

    Args:
        probe: what looks a position up.
        position: where the line begins.
        most: how many moves will do.
    """
    moves: list[int] = []
    probes = [probe(position)]
    met: set[int] = set()
    while probes[-1].moves and probes[-1].state not in met and len(moves) != most:
        met.add(probes[-1].state)
        best = probes[-1].moves[0]
        moves.append(best.move)
        probes.append(probe(best.position))
    repeats = probes[-1].state in met
    return Line(tuple(moves), tuple(each.position for each in probes), tuple(probes), repeats)


def below(connection: Connection, start: int) -> Iterator[list[int]]:
    """Yield the states that play from a state can reach, one wave of new ones at a time."""
    met = {start}
    wave = [start]
    while wave:
        yield wave
        children = _rows(connection, _CHILDREN, wave, plain=True)
        wave = list({child for (child,) in children} - met)
        met.update(wave)


def _caption(probe: Probe) -> str:
    """Return what a position is worth, in words that need no rules."""
    worth = WORDS[probe.value]
    if probe.ended:
        return f"over: {worth} for the player to move"
    mover = "the player to move" if probe.to_move is None else f"player {probe.to_move}, to move"
    end = "play need never end" if probe.remoteness is None else f"{probe.remoteness} plies"
    return f"{worth} for {mover}: {end}"


def _as_stored(connection: Connection, position: str | int) -> RowMapping | None:
    by_text = select(state).where(state.c.position == position)
    row = None
    if isinstance(position, str):
        with suppress(UnicodeEncodeError):  # of half a character, which SQLite cannot hold
            row = connection.execute(by_text).mappings().first()
    if row is None and (not isinstance(position, str) or _is_number(position)):
        row = _by_id(connection, int(position))
    return row


def _is_number(text: str) -> bool:
    """Return whether a text can be the id of a state: of 19 digits at most."""
    return text.isdecimal() and len(text) < 20


def _by_id(connection: Connection, state: int) -> RowMapping | None:
    """Return the row of a state, None for want of one, however large the number."""
    return states_by_id(connection, [state]).get(state) if 0 <= state < 2**63 else None


def _answer(row: RowMapping, text: str, moves: list[Move]) -> Probe:
    columns = {name: row[name] for name in Probe._fields if name in row}
    columns |= {"state": row["id"], "position": text, "ended": bool(row["ended"])}
    ordered = sorted(moves, key=lambda move: (_rank(move), move.move))
    return Probe(**columns, moves=tuple(ordered))


def _rank(move: Move) -> tuple[float, int, int]:
    return best_first(move.score, move.win_depth, move.lose_depth)


def _masked(cells: Sequence[Any], dtype: Any) -> Any:
    mask = [cell is None for cell in cells]
    return np.ma.array([0 if cell is None else cell for cell in cells], dtype=dtype, mask=mask)


def _rows(
    connection: Connection, query: Select[Any], ids: Sequence[int], *, plain: bool = False
) -> Iterator[Any]:
    for begin in range(0, len(ids), BATCH):
        result = connection.execute(query, {"ids": ids[begin : begin + BATCH]})
        yield from result if plain else result.mappings()
