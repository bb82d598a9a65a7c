"""Encodings of tic-tac-toe by earlier programs: two masks, and a 32-bit state.

A position of this package is X's mask of 9 bits above O's, and the *two masks* are its halves.
Bit 8 of a mask is the top-left cell, then row by row. The fields of the *32-bit state* are

- bit 31, C: the game is in play; bit 30, T: it is a tie;
- bits 29 and 28, W and L: 0 and 1 where X has won, 1 and 0 where O has, otherwise both 0;
- bit 27, turn: 0 X, 1 O; it also changes after the last move;
- bits 26..18, X's mask; bits 17..9, O's mask; bits 8..0, vacancy, the mask of the empty cells.

All functions take an integer or an array of any shape, and return int64 of that shape: as int32, a
state in play would be negative. They raise an EncodingError for invalid values.
"""

from functools import cache
from itertools import combinations
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from graphstore.errors import EncodingError, PositionError, shown
from graphstore.games.grid import tictactoe
from graphstore.rules.game import DRAW, IN_PLAY, Ints
from graphstore.util.arrays import distinct, member

BitT = TypeVar("BitT", int, Ints)
_GAME = tictactoe()


def to_masks(positions: ArrayLike) -> tuple[Ints, Ints]:
    """Return X's and O's masks.

    >>> x, o = to_masks(0b110000000_000010000)
    >>> f"{x:09b} {o:09b}"
    '110000000 000010000'
    """
    return _GAME.symmetry.split(_integers(positions, "position", bits=2 * _GAME.cells))


def from_masks(x: ArrayLike, o: ArrayLike) -> Ints:
    """Return the positions of X's and O's masks.

    >>> int(from_masks(0b110000000, 0b000010000)) == 0b110000000_000010000
    True
    """
    x = _integers(x, "mask of X", bits=_GAME.cells)
    o = _integers(o, "mask of O", bits=_GAME.cells)
    both = (x & o).ravel()
    wrong = both[both != 0]
    if wrong.size:
        raise EncodingError(f"the masks of X and O both hold cell {_first_cell(int(wrong[0]))}")
    return x << _GAME.cells | o


def pack32(positions: ArrayLike) -> Ints:
    """Return the 32-bit states of positions.

    >>> int(pack32(0))
    2147484159
    """
    array = _integers(positions, "position", bits=2 * _GAME.cells)
    wrong = array.ravel()[~member(array.ravel(), _reachable())]
    if wrong.size:
        raise EncodingError(f"{wrong[0]} is not a position of tic-tac-toe: {_fault(int(wrong[0]))}")
    return _pack(array)


def unpack32(states: ArrayLike) -> Ints:
    """Return the positions of 32-bit states.

    >>> tictactoe().texts(unpack32([2147484159, 404500960]))
    ['.../.../...', '.../.OO/XXX']
    """
    array = _integers(states, "state", bits=32)
    state = array.ravel()
    x, o, _ = _fields(state)
    position: Ints = x << _GAME.cells | o
    right = member(position, _reachable())
    right[right] = _pack(position[right]) == state[right]
    wrong = state[~right]
    if wrong.size:
        raise EncodingError(f"state {wrong[0]}: {_contradiction(int(wrong[0]))}")
    return position.reshape(array.shape)


def _pack(positions: Ints) -> Ints:
    """Return the 32-bit states of reachable positions."""
    x, o = _GAME.symmetry.split(positions)
    outcome = _GAME.outcomes(positions)
    turn = (_GAME.turns(positions) == 2).astype(np.int64)
    in_play, tie = (outcome == IN_PLAY).astype(np.int64), (outcome == DRAW).astype(np.int64)
    won = 1 - in_play - tie  # by the player who is not to move
    flags = in_play << 4 | tie << 3 | won << 2 - turn | turn
    vacancy = _GAME.full & ~(x | o)
    return np.asarray(flags << 27 | x << 18 | o << 9 | vacancy)


def _fields(state: BitT) -> tuple[BitT, BitT, BitT]:
    """Return X's mask, O's mask and vacancy."""
    return state >> 18 & _GAME.full, state >> 9 & _GAME.full, state & _GAME.full


def _contradiction(state: int) -> str:
    """Return a message about the first contradiction in a state."""
    x, o, vacancy = _fields(state)
    fields = ("X (bits 26..18)", x), ("O (bits 17..9)", o), ("vacancy (bits 8..0)", vacancy)
    for (name, mask), (other_name, other) in combinations(fields, 2):
        if mask & other:
            return f"{name} and {other_name} both hold cell {_first_cell(mask & other)}"
    if x | o | vacancy != _GAME.full:
        cell = _first_cell(_GAME.full & ~(x | o | vacancy))
        return f"neither X, O nor vacancy (bits 26..0) holds cell {cell}"
    position = x << _GAME.cells | o
    if position not in _reachable():
        return f"X (bits 26..18) and O (bits 17..9): {_fault(position)}"
    right = int(_pack(np.array([position]))[0])
    turn = state >> 27 & 1
    if turn != right >> 27 & 1:
        return (
            f"turn (bit 27) is {turn}; it must be {1 - turn}, because with {x.bit_count()} X and "
            f"{o.bit_count()} O, {'OX'[turn]} is to move"
        )
    return (
        f"C T W L (bits 31..28) are {state >> 28:04b}; "
        f"for {_text(position)} they must be {right >> 28:04b}"
    )


def _fault(position: int) -> str:
    """Return the reason why play cannot reach a position."""
    x, o = position >> _GAME.cells, position & _GAME.full
    if x & o:
        return f"X and O both hold cell {_first_cell(x & o)}"
    try:
        _GAME.packed(x, o)
    except PositionError as error:
        return str(error)
    raise AssertionError(f"play leads to {_text(position)}")


def _text(position: int) -> str:
    return _GAME.texts(np.array([position]))[0]


def _first_cell(mask: int) -> int:
    return _GAME.cells - mask.bit_length()


def _integers(values: ArrayLike, what: str, *, bits: int) -> Ints:
    wrong = f"is not a {what}; it must be an integer of {bits} bits"
    try:
        array = np.asarray(values)
    except (ValueError, TypeError, OverflowError) as error:  # lists of several lengths
        raise EncodingError(f"{shown(str(values))} {wrong}") from error
    if array.size == 0:
        return np.zeros(array.shape, dtype=np.int64)
    if array.dtype.kind not in "iu":
        raise EncodingError(f"{shown(str(values))} {wrong}")
    outside = array[(array < 0) | (array >= 2**bits)]
    if outside.size:
        raise EncodingError(f"{outside[0]} {wrong}")
    return array.astype(np.int64)


@cache
def _reachable() -> Ints:
    """Return the positions that play can reach, ascending."""
    waves = [_GAME.start_states()]
    while waves[-1].size:
        in_play = waves[-1][_GAME.outcomes(waves[-1]) == IN_PLAY]
        waves.append(distinct(_GAME.expand(in_play).child))
    return np.sort(np.concatenate(waves))
