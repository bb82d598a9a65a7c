"""Boards of two colours that do not show whose turn it is: it is packed and written beside them.

A position packs the side to move (0 for player 1) above player 1's mask, and that above player 2's.
"""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from graphstore.errors import PositionError, WrongSizeError, shown
from graphstore.games.base import SymmetricGame
from graphstore.games.boardtext import TwoMasks
from graphstore.rules.game import Codes, Ints
from graphstore.rules.symmetry import BoardSymmetry

MAX_CELLS = 31  # two masks and the side to move must fit into 63 bits
LONGEST_TURN = 60  # characters: more than a comma, a player's name and "to move" need


class TurnMissingError(PositionError):
    """A board that does not show whose turn it is, without a word on it."""


class UnreachableError(PositionError):
    """A board that no play leads to."""


class SidedBoard(BoardSymmetry):
    """Positions of a board with the side to move, at most 31 cells: packing, images and text.

    The first letters of the players are their men.
    """

    def __init__(
        self,
        *,
        rows: int,
        columns: int,
        players: tuple[str, str],
        permutations: list[tuple[int, ...]] | None = None,
    ) -> None:
        super().__init__(rows=rows, columns=columns, permutations=permutations)
        self.marks = "".join(player[0].upper() for player in players)
        self.full = 2**self.cells - 1
        self.bits: Ints = 1 << np.arange(self.cells - 1, -1, -1, dtype=np.int64)
        tails = [f" {mark}" for mark in self.marks]
        self._text = TwoMasks(
            rows=rows, columns=columns, bits=self.bits, marks=self.marks, tails=tails
        )
        self._said = re.compile(
            rf"(?P<comma>[,;:]\s*|\s)(?P<side>{'|'.join((*players, *self.marks))})"
            r"(?P<words>\s+to\s+(?:move|play)|\s+moves)?\Z",
            re.IGNORECASE,
        )

    def split(self, positions: Ints) -> tuple[Ints, Ints]:
        return (positions >> self.cells) & self.full, positions & self.full

    def turns(self, positions: Ints) -> Codes:
        """Return int8[n]: the player to move, 1 or 2."""
        return ((positions >> 2 * self.cells) + 1).astype(np.int8)

    def sides(self, positions: Ints) -> tuple[Ints, Ints]:
        """Return the mask of the player to move and that of the other one."""
        first, second = self.split(positions)
        begins = self.turns(positions) == 1
        return np.where(begins, first, second), np.where(begins, second, first)

    def join(self, first: Ints, second: Ints, turns: Codes) -> Ints:
        """Return the positions of two masks and of the player to move."""
        above = (turns.astype(np.int64) - 1) << self.cells
        return ((above | first) << self.cells) | second

    def after(self, own: Ints, other: Ints, turns: Codes) -> Ints:
        """Return the positions in which the player of that turn has just moved to `own`."""
        begins = turns == 1
        first, second = np.where(begins, own, other), np.where(begins, other, own)
        return self.join(first, second, (3 - turns).astype(np.int8))

    def positions(self, positions: Ints) -> Ints:
        return super().positions(positions) | positions & 1 << 2 * self.cells

    def canonical(self, positions: Ints) -> Ints:
        return super().canonical(positions) | positions & 1 << 2 * self.cells

    def texts(self, positions: Ints) -> list[str]:
        return self._text.write(*self.split(positions), self.turns(positions) - 1)

    def read(self, text: str, *, game: str) -> tuple[int, int, int]:
        """Return the masks, and the player to move: 0 where the text does not say.

        After the board may stand a player's letter or name, ``, O`` and ``O to move`` included.
        """
        end = text.rstrip()[-LONGEST_TURN:]
        said = self._said.search(end)
        if said is None:
            return *self._text.read(text, game=game), 0
        before = text.rstrip()[: said.start() - len(end)]
        only_space = said["comma"] == " " and " " not in before
        plainly = said["words"] or said["comma"].strip() or only_space
        told = self._attempt(before, game)
        whole = None if plainly else self._attempt(text, game)  # the letter may be a man
        if isinstance(whole, tuple) and isinstance(told, tuple):
            raise WrongSizeError(
                f"{shown(text)} may end in a man or in whose turn it is; write a dot for every "
                f"empty cell, and a comma before the {said['side']} if it is the turn"
            )
        if isinstance(whole, tuple):
            return *whole, 0
        if isinstance(told, PositionError):
            raise told
        return *told, 1 + self.marks.index(said["side"][0].upper())

    def plain(self, texts: Sequence[str]) -> tuple[Ints, NDArray[np.bool_]]:
        """Return positions, and which texts are written as `texts` does; see `TwoMasks.plain`."""
        first, second, side, right = self._text.plain(texts)
        return self.join(first, second, side + np.int8(1)), right

    def _attempt(self, text: str, game: str) -> tuple[int, int] | PositionError:
        try:
            return self._text.read(text, game=game)
        except PositionError as error:
            return error


class SidedGame(SymmetricGame):
    """The verbs that games on a `SidedBoard` share."""

    symmetry: SidedBoard

    def faults(self, positions: Ints) -> Codes:
        """Return int8[n]: why each position cannot be, or 0 where `read` takes it."""
        raise NotImplementedError

    def turns(self, positions: Ints) -> Codes:
        return self.symmetry.turns(positions)

    def texts(self, positions: Ints) -> list[str]:
        return self.symmetry.texts(positions)

    def _plain(self, texts: Sequence[str]) -> tuple[Ints, NDArray[np.bool_]]:
        positions, right = self.symmetry.plain(texts)
        return positions, right & (self.faults(positions) == 0)
