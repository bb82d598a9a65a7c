"""Boards of two colours with the side to move packed and written together with the board.

From the highest bits, a position packs the side to move (0 for player 1), the mask of player 1 and
the mask of player 2.
"""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from graphstore.errors import PositionError, WrongSizeError, shown
from graphstore.games.base import SymmetricGame
from graphstore.games.boardtext import TwoMasks
from graphstore.rules.game import Codes, Game, Ints
from graphstore.rules.symmetry import BoardSymmetry

LONGEST_TURN = 60  # characters of a comma, a player's name and "to move", at most


class TurnMissingError(PositionError):
    """A text that does not give the side to move, for a board that does not show it."""


class UnreachableError(PositionError):
    """A board that play cannot reach."""


def split_turn(text: str, game: Game) -> tuple[str, int]:
    """Return a text without the side to move at its end, and that player, 1 or 2.

    The end is a player's first letter or name, also as ``, V`` or ``; vertical to move``.
    """
    letters = "".join(player[0].upper() for player in game.players)
    end = text.rstrip()[-LONGEST_TURN:]
    said = re.search(
        rf"[\s,;:]+({'|'.join((*game.players, *letters))})(\s+to\s+(move|play)|\s+moves)?\Z",
        end,
        re.IGNORECASE,
    )
    if said is None:
        raise TurnMissingError(
            f"{shown(text)} does not show whose turn it is; write {' or '.join(letters)} after the "
            f"board, as in {game.texts(game.start_states())[0]}"
        )
    return text.rstrip()[: said.start() - len(end)], 1 + letters.index(said[1][0].upper())


class SidedBoard(BoardSymmetry):
    """Positions of a board with the side to move, at most 31 cells: packing, images and text.

    The letter of a man is the first letter of the player's name.
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
        """Return the masks of the player to move, and the masks of the other player."""
        first, second = self.split(positions)
        begins = self.turns(positions) == 1
        return np.where(begins, first, second), np.where(begins, second, first)

    def join(self, first: Ints, second: Ints, turns: Codes) -> Ints:
        """Return the positions of both players' masks and of the player to move, 1 or 2."""
        above = (turns.astype(np.int64) - 1) << self.cells
        return ((above | first) << self.cells) | second

    def after(self, own: Ints, other: Ints, turns: Codes) -> Ints:
        """Return the positions after a move; `turns` are the players who moved, 1 or 2.

        `own` are the new masks of these players, `other` those of their opponents.
        """
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
        """Return the masks of a text, and the player to move; 0 if the text does not say.

        The board may be followed by a player's letter or name, also as ``, O`` or ``O to move``.
        """
        end = text.rstrip()[-LONGEST_TURN:]
        said = self._said.search(end)
        if said is None:
            return *self._text.read(text, game=game), 0
        before = text.rstrip()[: said.start() - len(end)]
        only_space = said["comma"] == " " and " " not in before
        between_cells = said["comma"].strip() == "," and "," in before
        plainly = said["words"] or (said["comma"].strip() and not between_cells) or only_space
        board = self._attempt(before, game)
        whole = None if plainly else self._attempt(text, game)  # the letter may be a man
        if isinstance(whole, tuple) and isinstance(board, tuple):
            raise WrongSizeError(
                f"{shown(text)} may end in a man or in the side to move; write a dot for every "
                f"empty cell, and a comma before the {said['side']} if it is the side to move"
            )
        if isinstance(whole, tuple):
            return *whole, 0
        if isinstance(board, PositionError):
            raise board
        return *board, 1 + self.marks.index(said["side"][0].upper())

    def plain(self, texts: Sequence[str]) -> tuple[Ints, NDArray[np.bool_]]:
        """Return the positions of texts in standard form, and bool[n]: True for these texts."""
        first, second, side, right = self._text.plain(texts)
        return self.join(first, second, side + np.int8(1)), right

    def _attempt(self, text: str, game: str) -> tuple[int, int] | PositionError:
        try:
            return self._text.read(text, game=game)
        except PositionError as error:
            return error


class SidedGame(SymmetricGame):
    """A built-in game on a `SidedBoard`."""

    symmetry: SidedBoard

    def faults(self, positions: Ints) -> Codes:
        """Return int8[n]: the fault of each position, or 0 if `read` accepts it."""
        raise NotImplementedError

    def turns(self, positions: Ints) -> Codes:
        return self.symmetry.turns(positions)

    def texts(self, positions: Ints) -> list[str]:
        return self.symmetry.texts(positions)

    def _read_sides(self, text: str) -> tuple[int, int, int]:
        """Return both masks of a text that must say whose turn it is, and the player to move."""
        first, second, turn = self.symmetry.read(text, game=self.name)
        if not turn:
            raise TurnMissingError(
                f"a board of {self.name} does not show whose turn it is; write "
                f"{' or '.join(self.symmetry.marks)} after it, as in "
                f"{self.texts(self.start_states())[0]}"
            )
        return first, second, turn

    def _plain(self, texts: Sequence[str]) -> tuple[Ints, NDArray[np.bool_]]:
        positions, right = self.symmetry.plain(texts)
        return positions, right & (self.faults(positions) == 0)
