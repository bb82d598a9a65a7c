"""Nim: take any number from one heap; taking the last one wins, or loses in misère.

A position packs one bit field per heap, wide enough for the start of the heap; heap 1 is the most
significant. The heaps of a game are ordered by their start, the heaps of a state by their size.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from graphstore.errors import GameNameError, MoveError
from graphstore.games.base import ArrayGame, check_bits, read_pair
from graphstore.games.heaps import read_heaps
from graphstore.rules.game import IN_PLAY, LOSS, WIN, Codes, Ints, Moves
from graphstore.rules.picture import UNITS, Picture, heaps

MAX_HEAP = 999_999  # so that a move fits into 32 bits


class Nim(ArrayGame):
    """A game of nim. Create one with `nim`. Move 203 takes 3 from heap 2 in nim(3,4,15)."""

    def __init__(self, name: str, *, heaps: Sequence[int], misere: bool = False) -> None:
        self.name = name
        self.misere, self.impartial = misere, not misere
        self.heaps: Ints = np.sort(np.array(heaps, dtype=np.int64))
        widths = np.array([int(heap).bit_length() for heap in self.heaps])
        self._shift = (widths[::-1].cumsum()[::-1] - widths).astype(np.int64)
        self._mask = (1 << widths.astype(np.int64)) - 1
        self.max_plies = int(self.heaps.sum())
        self._digits = len(str(self.heaps[-1]))

    def start_states(self) -> Ints:
        return self._pack(self.heaps[np.newaxis])

    def expand(self, positions: Ints) -> Moves:
        n, k = len(positions), len(self.heaps)
        sizes = self._unpack(positions).ravel()
        which = np.repeat(np.arange(n * k), sizes)
        parent, heap = which // k, which % k
        take = np.arange(len(which)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + 1
        move = (heap + 1) * 10**self._digits + take
        return Moves(parent, move.astype(np.int32), positions[parent] - (take << self._shift[heap]))

    def outcomes(self, positions: Ints) -> Codes:
        return np.where(positions == 0, WIN if self.misere else LOSS, IN_PLAY).astype(np.int8)

    def canonical(self, positions: Ints) -> Ints:
        return self._pack(np.sort(self._unpack(positions), axis=1))

    def orbits(self, positions: Ints) -> Ints:
        """Return int64[n]: the number of arrangements in which no heap exceeds its start."""
        falling = np.sort(self._unpack(positions), axis=1)[:, ::-1]
        orbits, of_run, run = np.ones((3, len(positions)), dtype=np.int64)
        for rank in range(len(self.heaps)):  # a heap fits any free place that is high enough
            size = falling[:, rank]
            first = size != (falling[:, rank - 1] if rank else -1)
            orbits = np.where(first, orbits * of_run, orbits)
            of_run, run = np.where(first, 1, of_run), np.where(first, 1, run + 1)
            places = len(self.heaps) - np.searchsorted(self.heaps, size) - rank
            whole, rest = np.divmod(of_run, run)  # the order of equal heaps does not count
            of_run = whole * places + rest * places // run
        return orbits * of_run

    def texts(self, positions: Ints) -> list[str]:
        first, *others = self._unpack(positions).astype(f"U{self._digits}").T
        for sizes in others:
            first = np.strings.add(np.strings.add(first, ","), sizes)
        joined: list[str] = first.tolist()
        return joined

    def read(self, text: str) -> int:
        sizes = read_heaps(text, starts=self.heaps.tolist(), game=self.name)
        return int(self._pack(np.array([sizes]))[0])

    def _plain(self, texts: Sequence[str]) -> tuple[Ints, NDArray[np.bool_]]:
        try:
            sizes = np.array(",".join(texts).split(","), dtype=np.int64)
            sizes = sizes.reshape(len(texts), len(self.heaps))
        except (ValueError, OverflowError):
            return super()._plain(texts)
        positions = self._pack(sizes)
        same = np.array(self.texts(positions), dtype=object) == np.array(texts, dtype=object)
        return positions, same & (sizes <= self.heaps).all(axis=1)

    def board(self, position: int) -> str:
        """Return a drawing: a line for each heap, with a stroke for each unit."""
        sizes = self._unpack(np.array([position]))[0].tolist()
        return "\n".join(f"{size:>{self._digits}} {'|' * min(size, 60)}".rstrip() for size in sizes)

    def picture(self, position: int) -> Picture:
        """Return the heaps; a move is on the lowest unit that it takes."""
        sizes = self._unpack(np.array([position]))[0].tolist()
        takes = (
            ((heap + 1) * 10**self._digits + take, heap, take)
            for heap, size in enumerate(sizes)
            for take in range(1, min(size, UNITS) + 1)
        )
        return heaps(sizes, self.heaps.tolist(), takes)

    def write_move(self, move: int) -> str:
        """Return ``2-3`` for taking 3 from heap 2."""
        heap, take = divmod(move, 10**self._digits)
        return f"{heap}-{take}"

    def read_move(self, text: str) -> int:
        heap, take = read_pair(text, how="write HEAP-TAKE: 2-3 takes 3 from heap 2")
        if not 1 <= heap <= len(self.heaps):
            raise MoveError(f"there is no heap {heap}: 1 to {len(self.heaps)}")
        if not 1 <= take <= self.heaps[-1]:
            raise MoveError(f"{take} cannot be taken from a heap")
        return heap * int(10**self._digits) + take

    def _pack(self, sizes: Ints) -> Ints:
        return np.asarray((sizes << self._shift).sum(axis=1))

    def _unpack(self, positions: Ints) -> Ints:
        return np.asarray((positions[:, np.newaxis] >> self._shift) & self._mask)


def nim(heap: int | str, *more: int | str) -> Nim:
    """Return nim with the given heaps; with ``misere`` as last argument, taking the last one loses.

    >>> nim(5, 3, 4, "misere").name
    'nim(3,4,5,misere)'
    """
    misere = more[-1:] == ("misere",)
    heaps = checked_heaps("nim", heap, *more[: len(more) - misere])
    name = f"nim({','.join(map(str, heaps))}{',misere' * misere})"
    return Nim(name, heaps=heaps, misere=misere)


def checked_heaps(family: str, *values: int | str) -> list[int]:
    """Return the heaps of a game, ascending, or refuse those that a position does not pack."""
    heaps: list[int] = []
    for value in values:
        if not isinstance(value, int) or not 1 <= value <= MAX_HEAP:
            raise GameNameError(
                f"{family}: a heap is {value!r}; it must be a whole number from 1 to {MAX_HEAP}"
            )
        heaps.append(value)
    bits = sum(value.bit_length() for value in heaps)
    hint = ": a heap of 15 needs 4, a heap of 7 needs 3, a heap of 3 needs 2"
    check_bits(family, f"{len(heaps)} heaps", bits, hint)
    return sorted(heaps)
