"""Conversion between positions of ultimate tic-tac-toe and 25-byte records."""

import numpy as np

from graphstore.errors import EncodingError, PositionError
from graphstore.games.ultimate.fields import CROSS, Board, fillings, tables
from graphstore.games.ultimate.record import LENGTH, Record
from graphstore.games.ultimate.rules import Ultimate
from graphstore.rules.game import IN_PLAY


def record_of(
    game: Ultimate, position: int, value: int | None = None, best_move: int | None = None
) -> bytes:
    """Return the record of a position that the game has seen.

    `value` is +1, 0 or -1 for the player to move, None if unknown; `best_move` is 9 * field + spot,
    None if there is none or if it is unknown.

    Raises:
        EncodingError: the move is illegal, or the value contradicts the result of an ended game.
        PositionError: the game has not seen the position.
    """
    board = game.merged(position)
    over = game.outcomes(np.array([position]))[0]
    if over != IN_PLAY and value not in (None, over):
        raise EncodingError(f"the game is over with the value {over:+d}, not {value:+d}")
    cells = _completed(board, dead=game.dead)
    record = Record(
        to_move=board.turn,
        active=board.active,
        evaluation=None if value is None else value * (1 if board.turn == CROSS else -1),
        best_move=best_move,
        spots=tuple(cell for field in cells for cell in field),
        results=tuple(tables().result[list(board.fields)].tolist()),
    )
    data = record.pack()
    record.contents(dead=game.dead)
    return data


def position_of(game: Ultimate, data: bytes) -> int:
    """Return the position of a record, or raise an EncodingError if it is invalid in the game."""
    if len(data) != LENGTH:
        raise EncodingError(f"a record has {LENGTH} bytes, not {len(data)}")
    try:
        return game.read(data.hex())
    except PositionError as error:
        raise EncodingError(str(error)) from error


def _completed(board: Board, *, dead: bool) -> list[tuple[int, ...]]:
    """Return possible cells of every field: with as many X as O, or one more X if O is to move."""
    options = [fillings(field, dead=dead) for field in board.fields]
    sums = [{0}]  # the sums that the last fields can have
    for option in reversed(options):
        sums.append({one + other for one in sums[-1] for other in option})
    left, cells = board.turn - 1, []
    for option, reached in zip(options, reversed(sums[:-1]), strict=True):
        lead = next(lead for lead in sorted(option, key=abs) if left - lead in reached)
        cells.append(option[lead])
        left -= lead
    return cells
