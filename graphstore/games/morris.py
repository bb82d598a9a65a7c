"""Three men's morris: place three men each, then move them; a line of three wins at any time.

A position is packed by `graphstore.games.sided.SidedBoard`; men that are not on the board are in
hand. With diagonal lines a player is never stuck: all reachable positions were checked.
"""

import numpy as np
from numpy.typing import NDArray

from graphstore.errors import GameNameError, ImpossibleCountsError, PositionError
from graphstore.games.base import line_fault, o_began, read_pair
from graphstore.games.sided import SidedBoard, SidedGame, TurnMissingError, UnreachableError
from graphstore.rules.game import DRAW, IN_PLAY, LOSS, Codes, Ints, Moves
from graphstore.rules.picture import Picture, lines

CELLS, MEN = 9, 3
PASS = CELLS + CELLS * CELLS
VARIANTS = ("orthogonal", "diagonals", "king", "flying")
STUCK = ("loss", "draw", "pass")
STRAIGHT = "straight"
_COUNTS, _BOTH, _AFTER, _ORIGIN = 1, 2, 3, 4  # faults of a position


class Morris(SidedGame):
    """Three men's morris. Create one with `morris`.

    Move c places a man on cell c; 9 + 9 * a + b moves a man from cell a to cell b; 90 is a pass.
    """

    players = ("X", "O")

    def __init__(self, name: str, *, variant: str, stuck: str, straight: bool) -> None:
        self.name = name
        self.stuck = stuck
        self.symmetry = SidedBoard(rows=3, columns=3, players=self.players)
        bits = self.symmetry.bits
        steps = [(a, b) for a in range(CELLS) for b in range(CELLS) if _near(a, b, variant)]
        free = variant == "flying"  # then the points are holes without lines
        self._roads = tuple((a, b) for a, b in steps if a < b and not free)
        self.straight = straight
        begins, ends = np.array(steps, dtype=np.int64).T
        self._move = np.concatenate((np.arange(CELLS), CELLS + CELLS * begins + ends, [PASS]))
        self._from = np.concatenate(([0] * CELLS, bits[begins], [0]))
        self._to = np.concatenate((bits, bits[ends], [0]))
        self._places = self._move < CELLS
        cells = np.arange(CELLS).reshape(3, 3)
        lines = [*cells, *cells.T]
        lines += [] if straight else [cells.diagonal(), cells[::-1].diagonal()]
        masks = np.arange(2**CELLS, dtype=np.int64)
        self._has_line: NDArray[np.bool_] = np.logical_or.reduce(
            [(masks & bits[line].sum()) == bits[line].sum() for line in lines]
        )

    def expand(self, positions: Ints) -> Moves:
        own, other = self.symmetry.sides(positions)
        legal = self._legal(own, other)
        legal[:, -1] = ~legal.any(axis=1)
        parent, action = np.nonzero(legal)
        own = own[parent] ^ self._from[action] ^ self._to[action]
        child = self.symmetry.after(own, other[parent], self.turns(positions)[parent])
        return Moves(parent, self._move[action].astype(np.int32), child)

    def outcomes(self, positions: Ints) -> Codes:
        own, other = self.symmetry.sides(positions)
        codes = np.full(len(positions), IN_PLAY, dtype=np.int8)
        if self.stuck != "pass":
            codes[~self._legal(own, other).any(axis=1)] = LOSS if self.stuck == "loss" else DRAW
        codes[self._has_line[other]] = LOSS
        return codes

    def read(self, text: str) -> int:
        """Return the position of a text; it must be reachable from the empty board.

        The side to move may be left out until all men are placed.
        """
        x, o, turn = self.symmetry.read(text, game=self.name)
        try:
            return self._packed(x, o, turn)
        except PositionError as error:
            raise o_began(self, error, lambda: self._packed(o, x, turn and 3 - turn)) from None

    def _packed(self, x: int, o: int, turn: int) -> int:
        n_x, n_o = x.bit_count(), o.bit_count()
        if not turn and n_x == n_o == MEN:
            raise TurnMissingError(
                "all six men are placed, so the board does not show whose turn it is; "
                "write X or O after it"
            )
        turns = np.array([turn or 1 + (n_x > n_o)], dtype=np.int8)
        position = self.symmetry.join(np.array([x]), np.array([o]), turns)
        fault = self.faults(position)[0]
        mover, last = self.players[turns[0] - 1], self.players[2 - turns[0]]
        if fault == _COUNTS:
            to_move = f" with {mover} to move" if turn else ""
            raise ImpossibleCountsError(
                f"{n_x} X and {n_o} O are impossible{to_move}: X begins and turns alternate, "
                f"and each side has {MEN} men"
            )
        if fault in (_BOTH, _AFTER):
            raise line_fault(mover, lasts=fault == _BOTH)
        if fault == _ORIGIN:
            raise UnreachableError(
                f"{last} cannot have moved last: no man of {last} has a free cell to come from"
            )
        return int(position[0])

    def picture(self, position: int) -> Picture:
        """Return men on points; lines join those between which a man may step."""
        cells = self._marks(position, "XO", ("disc", "disc"))
        won = lines(cells, 3, MEN, diagonals=not self.straight)
        return self._picture(position, cells, 3, ground="points", roads=self._roads, won=won)

    def write_move(self, move: int) -> str:
        """Return ``4`` for placing a man, ``1-5`` for moving one, or ``pass``."""
        if move < CELLS or move >= PASS:
            return "pass" if move == PASS else str(move)
        begin, end = divmod(move - CELLS, CELLS)
        return f"{begin}-{end}"

    def read_move(self, text: str) -> int:
        if text.lower() == "pass":
            return PASS
        how = "write a cell to place a man, FROM-TO to move one, such as 1-4, or pass"
        begin, end = read_pair(text, how=how, cells=CELLS)
        return CELLS + CELLS * begin + end

    def _legal(self, own: Ints, other: Ints) -> NDArray[np.bool_]:
        """Return bool[n, actions]: True where a move is legal; always False for the pass."""
        own, other = own[:, np.newaxis], other[:, np.newaxis]
        legal: NDArray[np.bool_] = (own & self._from) == self._from
        legal &= ((own | other) & self._to) == 0
        legal &= (np.bitwise_count(own) < MEN) == self._places
        legal[:, -1] = False
        return legal

    def faults(self, positions: Ints) -> Codes:
        """Return int8[n]: the fault of each position, or 0 if it can be reached."""
        x, o = self.symmetry.split(positions)
        n_x, n_o, turns = np.bitwise_count(x), np.bitwise_count(o), self.turns(positions)
        own, last = self.symmetry.sides(positions)
        back = self._legal(last, own)  # moves taken back: every step is legal both ways
        stuck = ~back.any(axis=1)
        back &= ~self._has_line[last[:, np.newaxis] ^ self._from ^ self._to]
        came = back.any(axis=1) | (stuck & (self.stuck == "pass")) | (turns == 1) | (n_o < MEN)
        placing = n_x == n_o + (turns == 2)
        counts = (n_x <= MEN) & (placing | ((n_x == MEN) & (n_o == MEN)))
        faults = np.where(came, 0, _ORIGIN)
        faults[self._has_line[own]] = _AFTER
        faults[self._has_line[own] & self._has_line[last]] = _BOTH
        faults[~counts] = _COUNTS
        return faults.astype(np.int8)


def morris(variant: str, *options: str) -> Morris:
    """Return three men's morris.

    `variant` says how a man moves: ``orthogonal``, one step along a row or column; ``diagonals``,
    also along the two diagonals; ``king``, to any neighbour; ``flying``, to any cell. Options: the
    result of a player who is stuck, ``loss`` (default), ``draw`` or ``pass``; and ``straight``, if
    diagonal lines do not win.

    >>> morris("diagonals", "loss").name
    'morris(diagonals)'
    """
    if variant not in VARIANTS:
        raise GameNameError(f"morris: {variant!r} is not a variant; choose {', '.join(VARIANTS)}")
    for option in options:
        if option not in (*STUCK, STRAIGHT):
            known = ", ".join((*STUCK, STRAIGHT))
            raise GameNameError(f"morris: {option!r} is not an option; choose among {known}")
    ends = set(options) & set(STUCK)
    if len(ends) > 1:
        raise GameNameError(
            f"morris: {' and '.join(sorted(ends))} exclude each other; choose one of them"
        )
    stuck, straight = (*ends, "loss")[0], STRAIGHT in options
    said = [variant, *[stuck] * (stuck != "loss"), *[STRAIGHT] * straight]
    return Morris(f"morris({','.join(said)})", variant=variant, stuck=stuck, straight=straight)


def _near(a: int, b: int, variant: str) -> bool:
    """Return True if a man may move between cells `a` and `b` in one step."""
    (down, across) = sorted((abs(a // 3 - b // 3), abs(a % 3 - b % 3)))
    if variant == "flying":
        return a != b
    if (down, across) == (1, 1):
        return variant == "king" or (variant == "diagonals" and 4 in (a, b))
    return (down, across) == (0, 1)
