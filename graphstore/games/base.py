"""Base classes of the built-in families, and checks that several families share."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphstore.errors import (
    BothSidesWonError,
    GameNameError,
    ImpossibleCountsError,
    MoveError,
    PlayAfterWinError,
    PositionError,
    shown,
)
from graphstore.rules.game import IN_PLAY, Codes, Game, Ints
from graphstore.rules.picture import Cell, Picture, marks
from graphstore.rules.symmetry import BoardSymmetry

MAX_BITS = 63  # of a position, a non-negative int64
MAX_CELLS = 31  # two masks and the side to move must fit into 63 bits


class ArrayGame(Game):
    """A built-in game. `graphstore.rules.game.Game` says what each verb returns.

    By default, a game begins at position 0, the player to move is unknown, and each position is a
    symmetry class of its own.
    """

    name: str = ""
    rules: str = "1"
    shape: tuple[int, int] | None = None
    max_plies: int | None = None
    alternates: bool = True  # no move keeps the turn
    impartial: bool = False  # both players have the same moves, and who cannot move loses
    players: tuple[str, str] = ("player 1", "player 2")

    def __repr__(self) -> str:
        return f"<game {self.name}>"

    def start_states(self) -> Ints:
        return np.zeros(1, dtype=np.int64)

    def turns(self, positions: Ints) -> Codes:
        return np.zeros(len(positions), dtype=np.int8)

    def canonical(self, positions: Ints) -> Ints:
        return positions

    def orbits(self, positions: Ints) -> Ints:
        return np.ones(len(positions), dtype=np.int64)

    def read_many(self, texts: Sequence[str]) -> Ints:
        positions, right = self._plain(texts)
        for row in np.flatnonzero(~right).tolist():
            positions[row] = self.read(texts[row])  # another form, or not a position
        return positions

    def _plain(self, texts: Sequence[str]) -> tuple[Ints, NDArray[np.bool_]]:
        """Return the positions of texts in standard form, and bool[n]: True for these texts.

        The positions of other texts mean nothing. By default, all texts are other texts.
        """
        return np.zeros(len(texts), dtype=np.int64), np.zeros(len(texts), dtype=np.bool_)

    def board(self, position: int) -> str:
        return self.texts(np.array([position]))[0].replace("/", "\n")

    def _mover(self, position: int) -> int:
        """Return the player to move, 1 or 2; 0 if the game is over or the rules do not say."""
        here = np.array([position], dtype=np.int64)
        return int(self.turns(here)[0]) if self.outcomes(here)[0] == IN_PLAY else 0

    def _marks(self, position: int, sides: str, shapes: Sequence[str] = ()) -> tuple[Cell, ...]:
        """Return the cells of the text of a position; see `graphstore.rules.picture.marks`."""
        text = self.texts(np.array([position], dtype=np.int64))[0]
        return marks(text.partition(" ")[0].replace("/", ""), sides, shapes)

    def _picture(self, position: int, cells: Sequence[Cell], columns: int, **more: Any) -> Picture:
        """Return a picture of a board without fields; `more` are other fields of `Picture`."""
        block = (len(cells) // columns, columns)
        return Picture(tuple(cells), columns, block, turn=self._mover(position), **more)


class SymmetricGame(ArrayGame):
    """A built-in game whose positions are packed masks of a board."""

    symmetry: BoardSymmetry

    def canonical(self, positions: Ints) -> Ints:
        return self.symmetry.canonical(positions)

    def orbits(self, positions: Ints) -> Ints:
        return self.symmetry.orbits(positions)


class TurnedGame(ArrayGame):
    """A built-in game that lists the images of positions; the state is the smallest image."""

    def images(self, positions: Ints) -> Ints:
        """Return int64[k, n]: every position under every symmetry, the identity first."""
        raise NotImplementedError

    def canonical(self, positions: Ints) -> Ints:
        return np.asarray(self.images(positions).min(axis=0))

    def orbits(self, positions: Ints) -> Ints:
        images = self.images(positions)
        return np.asarray(len(images) // (images == positions).sum(axis=0))


class ScoredGame(ArrayGame):
    """A built-in game whose results are differences of scores."""

    def results(self, positions: Ints) -> tuple[NDArray[np.bool_], Ints]:
        """Return bool[n], True for ended positions, and the mover's score minus the other one."""
        raise NotImplementedError

    def outcomes(self, positions: Ints) -> Codes:
        ended, difference = self.results(positions)
        return np.where(ended, np.sign(difference), IN_PLAY).astype(np.int8)

    def margins(self, positions: Ints) -> NDArray[np.int16]:
        """See `graphstore.rules.game.Scored`."""
        ended, difference = self.results(positions)
        return np.where(ended, difference, 0).astype(np.int16)


def check_whole(family: str, /, *, least: int = 1, **parameters: object) -> None:
    """Refuse parameters of a family that are not whole numbers of at least `least`."""
    for name, value in parameters.items():
        if not isinstance(value, int) or value < least:
            raise GameNameError(
                f"{family}: {name} is {value!r}; it must be a whole number of at least {least}"
            )


def check_cells(family: str, columns: int, rows: int) -> None:
    """Refuse a board with more than `MAX_CELLS`."""
    if columns * rows > MAX_CELLS:
        raise GameNameError(
            f"{family}: {columns} columns by {rows} rows are {columns * rows} cells, too many; "
            f"a position packs at most {MAX_CELLS} cells into {MAX_BITS} bits"
        )


def check_bits(family: str, what: str, bits: int, hint: str = "") -> None:
    """Refuse parameters with which a position has more than `MAX_BITS`."""
    if bits > MAX_BITS:
        raise GameNameError(
            f"{family}: {what} need {bits} bits, too many; a position packs at most {MAX_BITS}"
            + hint
        )


def check_counts(x: int, o: int) -> None:
    """Refuse masks unless there are as many X as O, or one more X."""
    n_x, n_o = x.bit_count(), o.bit_count()
    if n_x - n_o not in (0, 1):
        raise ImpossibleCountsError(
            f"{n_x} X and {n_o} O are impossible: X begins and turns alternate, "
            "so X has as many as O or one more"
        )


def o_began(game: Game, error: PositionError, read: Callable[[], int]) -> PositionError:
    """Return the error of a board, with the board of swapped marks if O can have begun.

    `read` returns the position of that board, or raises a PositionError.
    """
    if not isinstance(error, ImpossibleCountsError | PlayAfterWinError):
        return error
    try:
        swapped = game.texts(np.array([read()]))[0]
    except PositionError:
        return error
    return type(error)(f"{error}; if O began, swap the marks: {swapped}")


def line_fault(other: str, *, lasts: bool) -> PositionError:
    """Return the error for a board on which `other`, who did not move last, has a line.

    `lasts` is True if the player who moved last has a line, too.
    """
    if lasts:
        return BothSidesWonError("X and O both have a line; the first one ends the game")
    last = "O" if other == "X" else "X"
    return PlayAfterWinError(f"{other} has a line, yet {last} played on after it")


def read_pair(text: str, *, how: str, cells: int = 10**9) -> tuple[int, int]:
    """Return the two numbers of a move such as ``1-5``, each below `cells`.

    >>> read_pair("1-5", how="write FROM-TO, such as 0-4")
    (1, 5)
    """
    pair = re.fullmatch(r"([0-9]{1,9})-([0-9]{1,9})", text)
    if pair is None:
        raise MoveError(f"{shown(text)} is not a move; {how}")
    one, two = int(pair[1]), int(pair[2])
    if max(one, two) >= cells:
        raise MoveError(f"there is no cell {max(one, two)}: 0 to {cells - 1}")
    return one, two
