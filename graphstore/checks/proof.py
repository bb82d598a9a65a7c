"""Checker of a stored strategy for ultimate tic-tac-toe under the open rules.

It has its own rules, and shares no code with the search for the strategy or with the games. The
checks prove that X wins: the empty board is a state; a state with O to move has every legal move,
and one with X to move has one; a move leads to an image of the position after it, with fewer free
spots; and play ends only where X has three fields in a line.

In a won field only the winner and the free spots matter. So all its marks are written as the
winner's, and a full field is written as its result.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

GAME = "ultimate(open)"
ANY = 9
LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
# A symmetry of the square: where cell 3 * row + column goes.
SYMMETRIES = tuple(
    tuple(
        3 * (row, column, 2 - row, 2 - column, row, column, 2 - row, 2 - column)[turn]
        + (column, 2 - row, 2 - column, row, 2 - column, row, column, 2 - row)[turn]
        for row in range(3)
        for column in range(3)
    )
    for turn in range(8)
)
SOURCES = tuple(tuple(map(symmetry.index, range(9))) for symmetry in SYMMETRIES)


class Position(NamedTuple):
    """A position.

    An empty field is written ``.``, a full one as its result ``X``, ``O`` or ``=``, any other as
    nine spots.
    """

    fields: tuple[str, ...]  # nine
    active: int  # the field that must be played in, or `ANY`
    turn: str  # X or O


class Row(NamedTuple):
    """The columns of the table `state` that are checked."""

    id: int
    position: str
    ply: int
    to_move: int | None
    ended: int
    value: int
    remoteness: int | None
    orbit: int


class Edge(NamedTuple):
    """A row of the table `edge`."""

    parent: int
    move: int
    child: int


class Flaw(NamedTuple):
    """A gap in the proof, with the fields of a `Problem` of `verify`."""

    table: str
    row: str
    column: str
    found: Any
    expected: Any


START = Position((".",) * 9, ANY, "X")


def flaws(rows: Iterable[Row], edges: Iterable[Edge]) -> Iterator[Flaw]:
    """Yield the flaws of a stored strategy; none if it proves that X wins."""
    moves: dict[int, dict[int, int]] = {}
    for edge in edges:
        moves.setdefault(edge.parent, {})[edge.move] = edge.child
    states: dict[int, tuple[Row, Position]] = {}
    by_key: dict[Position, int] = {}
    for row in rows:
        position = parse(row.position)
        if position is None:
            yield Flaw("state", str(row.id), "position", row.position, "a valid position")
            continue
        states[row.id] = row, position
        other = by_key.setdefault(key(position), row.id)
        if other != row.id:
            yield _state_flaw(row, "position", f"an image of state {other}", "a state of its own")
    keys = {state: each for each, state in by_key.items()}
    for row, position in states.values():
        yield from _check_state(row, position)
        yield from _check_moves(row, position, moves.get(row.id, {}), keys, states)
    start = by_key.get(START)
    if start is None:
        yield Flaw("state", "of the empty board", "row", "missing", "the start")
        return
    reached, wave = {start}, [start]
    while wave:
        wave = [*{each for state in wave for each in moves.get(state, {}).values()} - reached]
        reached.update(wave)
    for row, _ in states.values():
        if row.id not in reached:
            yield _state_flaw(row, "row", "not reachable", "reachable from the empty board")


def _check_state(row: Row, position: Position) -> Iterator[Flaw]:
    """Yield the cells of a row that are wrong for its position."""
    ended = winner(position) is not None
    if ended and winner(position) != "X":
        yield _state_flaw(row, "position", "an end without a win of X", "won by X or in play")
    for column, expected in (
        ("ended", int(ended)),
        ("value", 1 if position.turn == "X" else -1),
        ("to_move", 1 if position.turn == "X" else 2),
        ("ply", 81 - spots_left(position)),
        ("orbit", len(set(images(position)))),
    ):
        if getattr(row, column) != expected:
            yield _state_flaw(row, column, getattr(row, column), expected)


def _check_moves(
    row: Row,
    position: Position,
    moves: dict[int, int],
    keys: dict[int, Position],
    states: dict[int, tuple[Row, Position]],
) -> Iterator[Flaw]:
    """Yield the flaws in the moves of a state, and in the remoteness that follows from them."""
    legal = [] if winner(position) is not None else legal_moves(position)
    for move in moves:
        if move not in legal:
            yield _edge_flaw(row, move, "move", move, "legal")
    if position.turn == "O":
        for move in legal:
            if move not in moves:
                yield _edge_flaw(
                    row, move, "row", "missing", "present, as every legal move of O must be"
                )
    elif legal and len(moves) != 1:
        yield _state_flaw(row, "moves", len(moves), "1, the move of X")
    for move, child in moves.items():
        if move not in legal:
            continue
        after = key(play(position, move))
        if keys.get(child) != after:
            yield _edge_flaw(row, move, "child", child, f"the state {write(after)}")
        elif spots_left(states[child][1]) >= spots_left(position):
            yield _edge_flaw(row, move, "child", child, "a state with fewer free spots")
    below = [states[child][0].remoteness or 0 for child in moves.values() if child in states]
    depth = 1 + max(below, default=-1)
    if row.remoteness != depth:
        yield _state_flaw(row, "remoteness", row.remoteness, depth)


def parse(text: str) -> Position | None:
    """Return the position for a text as the database writes it, else None.

    >>> parse(". . . . ....X.... . . . . 4 O").active
    4
    >>> parse(". . . . ....X.... . . . . 4") is None
    True
    """
    *fields, active, turn = text.split(" ") if text.count(" ") == 10 else ("", "")
    if len(fields) != 9 or turn not in ("X", "O") or active not in (*"012345678", "any"):
        return None
    if any(field not in (".", "X", "O", "=") and not _is_partial(field) for field in fields):
        return None
    position = Position(tuple(fields), ANY if active == "any" else int(active), turn)
    if winner(position) is None and position.active != ANY and not free(fields[position.active]):
        return None
    return position


@lru_cache(None)
def _is_partial(field: str) -> bool:
    """Return whether a text is a field of nine spots, neither empty nor full.

    All marks of a won field must be the winner's.
    """
    return (
        len(field) == 9
        and {*field} <= {*".XO"}
        and "." in field
        and field != "." * 9
        and (result(field) is None or len({*field}) == 2)
    )


def write(position: Position) -> str:
    """Return the text of a position."""
    active = "any" if position.active == ANY else str(position.active)
    return " ".join((*position.fields, active, position.turn))


@lru_cache(None)
def result(field: str) -> str | None:
    """Return the result of a field: ``X``, ``O``, ``=``, or None if it is not decided."""
    if len(field) == 1:
        return None if field == "." else field
    winners = [field[a] for a, b, c in LINES if "." != field[a] == field[b] == field[c]]
    return winners[0] if winners else None if "." in field else "="


@lru_cache(None)
def free(field: str) -> tuple[int, ...]:
    """Return the free spots of a field, also of a won one.

    >>> free("XXX......"), free("."), free("X")
    ((3, 4, 5, 6, 7, 8), (0, 1, 2, 3, 4, 5, 6, 7, 8), ())
    """
    spots = "." * 9 if field == "." else field
    return tuple(spot for spot in range(len(spots)) if spots[spot] == ".")


def spots_left(position: Position) -> int:
    """Return the number of free spots on the board."""
    return sum(map(len, map(free, position.fields)))


@lru_cache(None)
def marked(field: str, spot: int, mark: str) -> str:
    """Return a field after a mark.

    >>> marked("XX.......", 2, "X"), marked("XXX......", 8, "O"), marked("XOXXOXO.O", 7, "X")
    ('XXX......', 'XXX.....X', '=')
    """
    won = result(field)
    spots = "." * 9 if field == "." else field
    spots = spots[:spot] + (won or mark) + spots[spot + 1 :]
    won = won or result(spots)
    if "." not in spots:
        return won or "="
    return "".join(won if won and each != "." else each for each in spots)


def winner(position: Position) -> str | None:
    """Return the side with a line of fields, ``X`` or ``O``, ``=`` for a draw, None in play."""
    results = [result(field) for field in position.fields]
    for a, b, c in LINES:
        if results[a] == results[b] == results[c] and results[a] in ("X", "O"):
            return results[a]
    return None if spots_left(position) else "="


def legal_moves(position: Position) -> list[int]:
    """Return the legal moves of a position in play, 9 * field + spot."""
    fields = range(9) if position.active == ANY else (position.active,)
    return [9 * field + spot for field in fields for spot in free(position.fields[field])]


def play(position: Position, move: int) -> Position:
    """Return the position after a legal move.

    >>> write(play(START, 40))
    '. . . . ....X.... . . . . 4 O'
    """
    field, spot = divmod(move, 9)
    fields = list(position.fields)
    fields[field] = marked(fields[field], spot, position.turn)
    active = spot if free(fields[spot]) else ANY
    return Position(tuple(fields), active, "O" if position.turn == "X" else "X")


@lru_cache(None)
def _turned(field: str) -> tuple[str, ...]:
    """Return a field under each symmetry."""
    if len(field) == 1:
        return (field,) * len(SYMMETRIES)
    return tuple("".join(field[spot] for spot in sources) for sources in SOURCES)


def images(position: Position) -> list[Position]:
    """Return a position under each symmetry, the identity first."""
    turned = [_turned(field) for field in position.fields]
    return [
        Position(
            tuple([turned[field][which] for field in sources]),
            ANY if position.active == ANY else symmetry[position.active],
            position.turn,
        )
        for which, (symmetry, sources) in enumerate(zip(SYMMETRIES, SOURCES, strict=True))
    ]


def key(position: Position) -> Position:
    """Return the least image of a position, which is the same for all symmetric positions."""
    return min(images(position))


def _state_flaw(row: Row, column: str, found: Any, expected: Any) -> Flaw:
    return Flaw("state", f"{row.id} ({row.position})", column, found, expected)


def _edge_flaw(row: Row, move: int, column: str, found: Any, expected: Any) -> Flaw:
    return Flaw("edge", f"(parent {row.id}, move {move})", column, found, expected)
