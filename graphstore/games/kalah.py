"""Kalah: sow the seeds of a pit, and have more of them in the store at the end.

A move sows one seed in each place after its pit, the own store among them and the other one not. A
last seed in the own store gives another move. A last seed in an own empty pit goes to the own store
with the seeds of the pit opposite, if there are any; with ``empty`` also if there are none. The
game ends when the player to move has no seeds in his pits; with ``either`` as soon as one player
has none. Who still has seeds keeps them. The result is the difference of the seeds (G. Irving, J.
Donkers, J. Uiterwijk, Solving Kalah, ICGA Journal 23 (2000) 139-147).

A position packs the side to move above a row of seeds, 0, with a bar, 1, between the places: the
pits and the store of player 1, then those of player 2.
"""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from graphstore.errors import (
    GameNameError,
    ImpossibleCountsError,
    UnknownCharacterError,
    WrongSizeError,
    shown,
)
from graphstore.games.base import ScoredGame, check_bits, check_whole
from graphstore.games.heaps import heap_size
from graphstore.games.sided import split_turn
from graphstore.rules.game import Codes, Ints, Moves
from graphstore.rules.picture import Cell, Picture

OPTIONS = ("empty", "either")


class Kalah(ScoredGame):
    """Kalah. Create one with `kalah`. Move m sows pit m of the mover, from 1, his store last."""

    alternates = False
    players = ("south", "north")

    def __init__(self, name: str, *, pits: int, seeds: int, empty: bool, either: bool) -> None:
        self.name = name
        self.pits = pits
        self.seeds = seeds
        self.empty = empty
        self.either = either
        self.total = 2 * pits * seeds
        self._width = self.total + 2 * pits + 1  # bits below the side to move
        ring = 2 * pits + 1  # places for the seeds of a player: all but the other store
        place, pit, held = np.ogrid[:ring, :pits, : self.total + 1]
        sown = held // ring + ((place - pit - 1) % ring < held % ring) - held * (place == pit)
        self._sown = sown.astype(np.int8)  # added to each place by sowing a pit of a size
        self._digits = len(str(self.total))

    def start_states(self) -> Ints:
        side = np.full((self.pits + 1, 1), self.seeds, dtype=np.int8)
        side[-1] = 0
        return self._pack(side, side.copy(), np.zeros(1, dtype=np.int64))

    def turns(self, positions: Ints) -> Codes:
        return ((positions >> self._width) + 1).astype(np.int8)

    def expand(self, positions: Ints) -> Moves:
        pits, side = self.pits, positions >> self._width
        own, other = self._by_mover(positions)
        parent, pit = np.nonzero(own[:pits].T)
        held = own[pit, parent]
        ring = np.concatenate((own, other[:pits]))[:, parent] + self._sown[:, pit, held]
        last = (pit + held) % len(ring)
        at = np.flatnonzero(last < pits)
        pit_of, across = last[at], 2 * pits - last[at]
        takes = (ring[pit_of, at] == 1) & (self.empty | (ring[across, at] > 0))
        at, pit_of, across = at[takes], pit_of[takes], across[takes]
        ring[pits, at] += 1 + ring[across, at]
        ring[pit_of, at] = ring[across, at] = 0
        side = side[parent]
        own, other = ring[: pits + 1], np.concatenate((ring[pits + 1 :], other[-1:, parent]))
        south, north = np.where(side, other, own), np.where(side, own, other)
        child = self._pack(south, north, np.where(last == pits, side, 1 - side))
        return Moves(parent, (pit + 1).astype(np.int32), child)

    def results(self, positions: Ints) -> tuple[NDArray[np.bool_], Ints]:
        own, other = self._by_mover(positions)
        ended = np.equal(own[:-1].max(axis=0), 0)
        if self.either:
            ended |= np.equal(other[:-1].max(axis=0), 0)
        return ended, own.sum(axis=0, dtype=np.int64) - other.sum(axis=0, dtype=np.int64)

    def texts(self, positions: Ints) -> list[str]:
        """Return north's store and pits from left to right, south's pits and store, and S or N."""
        south, north = self._unpack(positions)
        numbers = np.concatenate((north[::-1], south)).T
        row = "," * (self.pits - 1)
        signs = f" {row}/{row}  ".encode()  # after each number
        letters = np.zeros((len(positions), len(signs) + 1, 3), dtype=np.uint8)
        letters[:, :-1, 0] = np.where(numbers > 9, numbers // 10 + ord("0"), 0)
        letters[:, :-1, 1] = numbers % 10 + ord("0")
        letters[:, :-1, 2] = [*signs]
        letters[:, -1, 0] = np.where(positions >> self._width, ord("N"), ord("S"))
        letters[:, -1, 1] = ord("\n")
        return letters.tobytes().translate(None, b"\0").decode("ascii").split("\n")[:-1]

    def board(self, position: int) -> str:
        """Return a drawing: north's store and pits above south's pits and store."""
        numbers = re.findall("[0-9]+|[SN]", self.texts(np.array([position]))[0])
        *cells, turn = (each.rjust(self._digits) for each in numbers)
        middle = self.pits + 1
        above, below = " ".join(cells[1:middle]), " ".join(cells[middle:-1])
        space = " " * self._digits
        return f"{cells[0]} | {above} |\n{space} | {below} | {cells[-1]} {turn.strip()}"

    def picture(self, position: int) -> Picture:
        """Return both rows of pits between the stores; a move is on its pit."""
        south, north = (side[:, 0].tolist() for side in self._unpack(np.array([position])))
        pits = [*north[-2::-1], *south[:-1]]
        cells = [Cell(label=str(each), pale=not each) for each in pits]
        stores = [
            Cell(label=str(side[-1]), note=player)
            for side, player in zip((south, north), self.players, strict=True)
        ]
        above = [stores[1], *cells[: self.pits], Cell()]
        below = [Cell(), *cells[self.pits :], stores[0]]
        turn = self._mover(position)
        moves = self.expand(np.array([position])).move.tolist() if turn else []
        first = self.pits + 2 if turn == 1 else self.pits + 1
        step = 1 if turn == 1 else -1
        targets = {move: first + step * move for move in moves}
        return self._picture(position, [*above, *below], self.pits + 2, targets=targets)

    def read(self, text: str) -> int:
        """Return the position of a text; boards that play does not reach are read, too.

        Numbers stand as in the standard form, or in three lines with both stores in the middle.
        """
        board, turn = split_turn(text, self)
        strange = re.search(r"[^0-9\s,;:|/()\[\]]", board)
        if strange is not None:
            raise UnknownCharacterError(
                f"{strange[0]!r} is not allowed in a position of {self.name}; write numbers, as in "
                f"{self.texts(self.start_states())[0]}"
            )
        rows = [re.findall("[0-9]+", row) for row in re.split("[/\n]", board.strip())]
        pits = self.pits
        if [*map(len, rows)] == [pits, 2, pits]:
            rows = [rows[1][:1], rows[0], rows[2], rows[1][1:]]
        numbers = [heap_size(each) for row in rows for each in row]
        if len(numbers) != 2 * pits + 2:
            raise WrongSizeError(
                f"{shown(text)} has {len(numbers)} numbers; {self.name} has {2 * pits} pits and 2 "
                f"stores, as in {self.texts(self.start_states())[0]}"
            )
        if sum(numbers) != self.total:
            raise ImpossibleCountsError(
                f"{shown(text)} has {sum(numbers):,} seeds; {self.name} has {self.total}"
            )
        south = np.array(numbers[pits + 1 :], dtype=np.int8)[:, np.newaxis]
        north = np.array(numbers[pits::-1], dtype=np.int8)[:, np.newaxis]
        return int(self._pack(south, north, np.array([turn - 1]))[0])

    def _plain(self, texts: Sequence[str]) -> tuple[Ints, NDArray[np.bool_]]:
        joined = ",".join(texts).replace("S", "0").replace("N", "1")
        try:
            numbers = np.array(re.split("[ ,/]", joined), dtype=np.int64)
            numbers = numbers.reshape(len(texts), 2 * self.pits + 3).T
        except (ValueError, OverflowError):
            return super()._plain(texts)
        right = (numbers >= 0).all(axis=0) & (numbers[-1] <= 1)
        right &= (numbers <= self.total).all(axis=0) & (numbers[:-1].sum(axis=0) == self.total)
        places: Codes = np.where(right, numbers, 0).astype(np.int8)
        south, north = places[self.pits + 1 : -1], places[self.pits :: -1]
        positions = self._pack(south, north, places[-1].astype(np.int64))
        same = np.array(self.texts(positions), dtype=object) == np.array(texts, dtype=object)
        return positions, right & same

    def _by_mover(self, positions: Ints) -> tuple[Codes, Codes]:
        """Return the pits and the store of the mover, int8[pits + 1, n], and of the other."""
        south, north = self._unpack(positions)
        side = positions >> self._width
        return np.where(side, north, south), np.where(side, south, north)

    def _pack(self, south: Codes, north: Codes, side: Ints) -> Ints:
        """Return the positions of pits and stores; where play is over, all seeds go to a store."""
        ends = [~south[:-1].any(axis=0), ~north[:-1].any(axis=0)]
        over = ends[0] | ends[1] if self.either else np.where(side, ends[1], ends[0])
        code = np.zeros(len(side), dtype=np.int64)
        for row in (south, north):
            everything = row.sum(axis=0, dtype=np.int64)
            for place, held in enumerate(row):
                code <<= np.where(over, everything if place == self.pits else 0, held)
                code = (code << 1) | 1
        return (code >> 1) | side << self._width

    def _unpack(self, positions: Ints) -> tuple[Codes, Codes]:
        """Return the pits and the store of south, int8[pits + 1, n], and those of north."""
        rest = positions & ((1 << self._width) - 1)
        places = np.zeros((2 * self.pits + 2, len(positions)), dtype=np.int8)
        for place in range(len(places) - 1, 0, -1):
            held = np.bitwise_count((rest & -rest) - 1).astype(np.int64)
            places[place] = held
            rest >>= held + 1
        places[0] = self.total - places.sum(axis=0, dtype=np.int64)
        return places[: self.pits + 1], places[self.pits + 1 :]


def kalah(m: int, n: int, *options: str) -> Kalah:
    """Return kalah with m pits a side and n seeds a pit.

    Options: ``empty``, a last seed in an own empty pit goes to the store also if the pit opposite
    is empty; ``either``, the game ends as soon as either player has no seeds in his pits.

    >>> kalah(3, 2, "either", "empty").name
    'kalah(3,2,empty,either)'
    """
    check_whole("kalah", m=m, n=n)
    for option in options:
        if option not in OPTIONS:
            known = ", ".join(OPTIONS)
            raise GameNameError(f"kalah: {option!r} is not an option; choose among {known}")
    bits = 2 * m * (n + 1) + 2
    check_bits("kalah", f"{m} pits of {n} seeds", bits, ": m * (n + 1) is at most 30")
    said = [each for each in OPTIONS if each in options]
    name = f"kalah({','.join(map(str, (m, n, *said)))})"
    return Kalah(name, pits=m, seeds=n, empty="empty" in said, either="either" in said)
