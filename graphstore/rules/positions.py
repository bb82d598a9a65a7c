"""Reading of positions as users write them; every entry point reads positions here.

A text is, in this order:

- the word ``start``, ``start:NAME`` for a start with a name, or moves from the start after the
  prefix ``moves:``, unless the rules write a position of their own like that;
- a position as `Game.read` reads it;
- the id of a state, where the caller can find states;
- moves without the prefix, if they can be played. This reading is logged.

A list or a tuple holds moves, or else the cells of a board.
"""

import logging
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from enum import Enum
from typing import Any, Final, TypeAlias

import numpy as np

from graphstore.errors import (
    BothSidesWonError,
    GraphstoreError,
    ImpossibleCountsError,
    MoveError,
    NotInStoreError,
    PlayAfterWinError,
    PositionError,
    UnknownCharacterError,
    WrongSizeError,
    shown,
)
from graphstore.rules.adapter import ArrayRules, move_name
from graphstore.rules.board import EMPTY
from graphstore.rules.game import IN_PLAY, Game, Ints, move_text, names_moves, read_move
from graphstore.util import arguments

START: Final = "start"
PREFIX: Final = "moves:"
LISTED: Final = 12  # legal moves that an error lists
LONGEST: Final = 2_000  # characters of moves

Position: TypeAlias = str | int | Sequence[Any]
"""A text, the id of a state, or a list of moves or of cells."""

BOARD_ERRORS: Final = (ImpossibleCountsError, BothSidesWonError, PlayAfterWinError)
"""The errors of a text that is a board."""

LOG: Final = logging.getLogger(__name__)
"""Gets a message of level INFO when moves are read; by default nothing prints it."""

_SPECIAL = re.compile(
    rf"\s*(?:{START}(?::(?P<start>.+))?\s*\Z|{PREFIX}(?P<moves>.*))", re.IGNORECASE | re.DOTALL
)

_FIRST = frozenset("mMsS \t\r\n")  # a quick test for texts that `_SPECIAL` may match


class IllegalMovesError(PositionError, MoveError):
    """A list of moves that cannot be played from the start."""


def read_position(
    game: Game,
    position: Position,
    *,
    find: Callable[[int], int | None] | None = None,
    stored: Callable[[str], bool] | None = None,
) -> int:
    """Return the packed position that a user means.

    Args:
        game: the rules.
        position: a text, an integer, or a list of moves or cells.
        find: returns the packed position of the id of a state; None if there is no such state.
        stored: returns whether a database holds a state with a text.

    Raises:
        PositionError: it is not a position.
        NotInStoreError: it is an integer, and `find` returns None.

    >>> from graphstore.games import find_game
    >>> game = find_game("tictactoe")
    >>> at = [read_position(game, each) for each in ("moves:4 0", "40", ["4", 0], "O../.X./...")]
    >>> game.texts(np.array(at))
    ['O../.X./...', 'O../.X./...', 'O../.X./...', 'O../.X./...']
    """
    if isinstance(position, int):
        return _by_id(position, find)
    if not isinstance(position, str):
        return _read_list(game, position, stored)
    special = _SPECIAL.match(position) if position[:1] in _FIRST else None
    if special is not None and not _is_own(game, position, stored):
        moves = special["moves"]
        return _start(game, special["start"]) if moves is None else _play_text(game, moves)
    try:
        return game.read(position)
    except PositionError as error:
        is_number = find is not None and position.isdecimal() and len(position) < 20
        try:
            if is_number:
                return _by_id(int(position), find)
        except NotInStoreError as missing:
            refused: PositionError | NotInStoreError = missing
        else:
            refused = error
        if not _may_be_moves(position, error):
            raise refused from None
        try:
            return _read_bare(game, position)
        except MoveError as illegal:
            raise _with_moves(refused, illegal) from None


def read_positions(game: Game, positions: Sequence[str | Sequence[Any]]) -> Ints:
    """Return int64[n]: `read_position` of each text or list; many boards are fast."""
    texts = [each for each in positions if isinstance(each, str)]
    joined = "".join(texts).lower()
    if len(texts) == len(positions) and PREFIX not in joined and START not in joined:
        with suppress(PositionError):  # another form, or not a position
            return game.read_many(texts)
    return np.array([read_position(game, each) for each in positions], dtype=np.int64)


def are_positions(game: Game, given: Any) -> bool:
    """Return whether a list holds positions; other lists are one position, of moves or cells.

    A list of positions has texts, the first of which is not a cell or a legal first move.
    """
    if not isinstance(given, list | tuple) or not given:
        return False
    if not all(isinstance(each, str) for each in given) or len(given[0].strip()) < 2:
        return False
    try:
        return read_move(game, given[0]) not in _legal(game, game.start_states()[:1])
    except MoveError:
        return True


def read_bare(game: Game, text: str) -> int | None:
    """Return the position of a text without a prefix: moves, or the lines of a drawing.

    It is for texts that the rules read as positions that no database has; None if it is neither.
    """
    try:
        return _read_bare(game, text)
    except MoveError:
        return None


def read_moves(game: Game | None, text: str) -> list[str]:
    """Return the words of a text of moves, such as ``4 0``, ``4,0`` or, with the rules, ``40``.

    Raises:
        IllegalMovesError: the text is too long.
    """
    if len(text) > LONGEST:
        raise IllegalMovesError(f"{shown(text)} has {len(text):,} characters, too many for moves")
    words = _words(text)
    if game is not None and len(words) == 1 and re.search(r"[\s,;]", text.strip()) is None:
        return _run(game, words[0])
    return words


def play(game: Game, moves: Iterable[Any]) -> int:
    """Return the packed position after moves, by name or number, from the (first) start.

    Raises:
        IllegalMovesError: a move is not legal; the message names its number, and the position.
    """
    here = game.start_states()[:1]
    for number, given in enumerate(moves, 1):
        move = move_name(given) if isinstance(given, tuple | Enum) else str(given)
        legal = _legal(game, here)
        names = [move_text(game, each) for each in legal]
        more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
        why = f"legal: {' '.join(names[:LISTED])}{more}" if names else "the game is over"
        try:
            wanted = read_move(game, move)
        except MoveError as error:
            wanted, why = None, str(error) if names else why
        if wanted not in legal:
            raise IllegalMovesError(
                f"move {number}, {shown(move)}, is not legal in {game.texts(here)[0]}: {why}"
            )
        here = np.array([legal[wanted]], dtype=np.int64)
    return int(here[0])


def _start(game: Game, name: str | None) -> int:
    """Return the start with a name, or the first one."""
    names = game.start_names() if isinstance(game, ArrayRules) else []
    if name is not None and name.strip() not in names:
        starts = f"the starts are {', '.join(names)}" if names else "starts have no names"
        raise PositionError(f"{game.name} has no start {shown(name)}: {starts}")
    return int(game.start_states()[0 if name is None else names.index(name.strip())])


def _by_id(number: int, find: Callable[[int], int | None] | None) -> int:
    found = find(number) if find is not None and 0 <= number < 2**63 else None
    if found is None:
        raise NotInStoreError(f"no state has the id {shown(number)}")
    return found


def _is_own(game: Game, text: str, stored: Callable[[str], bool] | None) -> bool:
    """Return whether a text such as ``start`` is the text of a position of the rules."""
    if stored is not None and stored(text):
        return True
    try:
        here = np.array([game.read(text)], dtype=np.int64)
    except PositionError:
        return False
    if not isinstance(game, ArrayRules):
        return True
    known = game.texts(game.start_states())  # the default `parse` reads any text as a str
    return text in known or (game.writes("parse") and game.texts(here) == [text])


def _read_bare(game: Game, text: str) -> int:
    drawn = _undrawn(game, text) if isinstance(game, ArrayRules) else None
    if drawn is not None:
        with suppress(PositionError):
            return game.read(drawn)
    if not _words(text):
        raise MoveError("there is no move")
    return _play_text(game, text, bare=True)


def _undrawn(game: ArrayRules, text: str) -> str | None:
    """Return the text of a position from its drawing, if that has numbers on cells or lines."""
    lines = [line.strip() for line in text.strip().splitlines()]
    cells = text.split()
    if game.shape is not None and len(cells) == game.shape[0] * game.shape[1]:
        start = game.texts(game.start_states()[:1])[0]
        empty = next((mark for mark in start if mark in EMPTY), ".")
        marks = [empty if cell == str(at) else cell for at, cell in enumerate(cells)]
        rows = [
            "".join(marks[at : at + game.shape[1]]) for at in range(0, len(cells), game.shape[1])
        ]
        return ("/" if "/" in start else "").join(rows)
    return "/".join(lines) if len(lines) > 1 else None


def _with_moves(refused: GraphstoreError, illegal: MoveError) -> GraphstoreError:
    """Return the error of a text; it also says which move is illegal, if the first one is legal."""
    is_board = isinstance(refused, BOARD_ERRORS)
    is_first = not isinstance(illegal, IllegalMovesError) or str(illegal).startswith("move 1,")
    return refused if is_board or is_first else type(refused)(f"{refused}; as moves: {illegal}")


def _may_be_moves(text: str, error: PositionError) -> bool:
    """Return False for a digit, and for a number that is a wrong position, as a heap too high."""
    if len(text.strip()) < 2:
        return False
    not_a_board = isinstance(error, WrongSizeError | UnknownCharacterError)
    return not_a_board or type(error) is PositionError or not text.strip().isdecimal()


def _play_text(game: Game, text: str, *, bare: bool = False) -> int:
    """Return the position after moves in a text; moves without the prefix are logged."""
    words = read_moves(game, text)
    if bare:
        for word in words:
            read_move(game, word)  # else it is not a list of moves
    at = play(game, words)
    if bare:
        count = f"{len(words)} move{'s' * (len(words) != 1)}"
        reached = game.texts(np.array([at]))[0]
        hint = f"write {shown(PREFIX + text.strip())} to say so"
        LOG.info("%s is read as %s, to %s; %s", shown(text.strip()), count, reached, hint)
    return at


def _words(text: str) -> list[str]:
    """Return the words of a text, also of a list as Python and JSON write it."""
    text = text.strip()
    if text[:1] + text[-1:] in ("[]", "()"):
        text = text[1:-1]
    words = [word.strip("'\"") for word in re.split(r"[\s,;]+", text)]
    return [word for word in words if word]


def _run(game: Game, word: str) -> list[str]:
    """Return the moves of a word: one, or one for each character if all names have one."""
    legal = _legal(game, game.start_states()[:1])
    return [*word] if all(len(move_text(game, move)) == 1 for move in legal) else [word]


def _read_list(game: Game, given: Any, stored: Callable[[str], bool] | None) -> int:
    """Return the position of a list: moves, or else the cells of a board."""
    listed = given.tolist() if isinstance(given, np.ndarray) else list(given)
    illegal: PositionError | None = None
    kinds = (str, tuple, Enum) if isinstance(game, ArrayRules) and names_moves(game) else (str,)
    if all(isinstance(each, kinds) or arguments.integer(each) is not None for each in listed):
        try:
            return play(game, listed)
        except IllegalMovesError as error:
            illegal = error
    text = repr(tuple(listed) if isinstance(game, ArrayRules) else listed)
    if illegal is not None and isinstance(game, ArrayRules) and not (stored and stored(text)):
        raise illegal  # `PlainGame` may read any list
    try:
        return game.read(text)
    except BOARD_ERRORS:
        raise  # it is a board
    except PositionError as error:
        raise (illegal or error) from None


def _legal(game: Game, here: Ints) -> dict[int, int]:
    """Return {move: position after it}; empty if the game is over."""
    if game.outcomes(here)[0] != IN_PLAY:
        return {}
    _, moves, children = game.expand(here)
    return dict(zip(moves.tolist(), children.tolist(), strict=True))
