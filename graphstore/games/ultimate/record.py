"""The record of a position of ultimate tic-tac-toe: 195 bits in 25 bytes.

docs/reference/games.md describes the bits. A position of this package does not keep the marks of a
decided field; its record has possible marks there.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple, Self

from graphstore.errors import EncodingError
from graphstore.games.ultimate.fields import (
    ANY,
    CROSS,
    DRAWN,
    NOUGHT,
    SPOTS,
    Contents,
    Field,
    contents,
    lines_of,
)

LENGTH: Final = 25  # bytes
PADDING: Final = 5  # bits
WIDTHS: Final = (1, 4, 2, 8, *[2] * (SPOTS * SPOTS), *[2] * SPOTS)
NO_FIELD, NO_MOVE = 0b1111, 0b11111111
CODES: Final = (0b00, 0b11, 0b10, 0b01)
"""The codes of empty, X, O and drawn; only a result of a field is drawn."""
EVALUATIONS: Final = (-1, 0, 1, None)
"""The evaluations by their code: O wins, draw, X wins, unknown."""


class Record(NamedTuple):
    """An unpacked record. Its methods raise an EncodingError if it contradicts itself."""

    to_move: int  # 1 for X, 2 for O
    active: int  # the field to play in, 9 for any
    evaluation: int | None  # +1 X wins, 0 draw, -1 O wins, None unknown
    best_move: int | None  # 9 * field + spot, or None
    spots: tuple[int, ...]  # 81 spots, field by field: 0 empty, 1 X, 2 O
    results: tuple[int, ...]  # of the nine fields: 0 none, 1 X, 2 O, 3 drawn

    def pack(self) -> bytes:
        """Return the record as 25 bytes."""
        self.check()
        best = NO_MOVE if self.best_move is None else self.best_move // 9 << 4 | self.best_move % 9
        values = [
            int(self.to_move == CROSS),
            NO_FIELD if self.active == ANY else self.active,
            EVALUATIONS.index(self.evaluation),
            best,
            *[CODES[each] for each in (*self.spots, *self.results)],
        ]
        bits = 0
        for value, width in zip(values, WIDTHS, strict=True):
            bits = bits << width | value
        return (bits << PADDING).to_bytes(LENGTH)

    @classmethod
    def unpack(cls, data: bytes) -> Self:
        """Return the record that 25 bytes hold."""
        if len(data) != LENGTH:
            raise EncodingError(f"a record has {LENGTH} bytes, not {len(data)}")
        bits = int.from_bytes(data)
        if bits & (1 << PADDING) - 1:
            raise EncodingError(f"the last {PADDING} bits must be 0")
        side, active, evaluation, best, *cells = _split(bits >> PADDING)
        if SPOTS <= active < NO_FIELD:
            raise EncodingError(f"the active field is {active}; it must be 0 to 8, or 15 for any")
        if best != NO_MOVE and max(best >> 4, best & 15) >= SPOTS:
            raise EncodingError(
                f"the best move is field {best >> 4}, spot {best & 15}; both must be 0 to 8, or 15 "
                "if there is none"
            )
        places = [CODES.index(cell) for cell in cells]
        spots, results = tuple(places[: SPOTS * SPOTS]), tuple(places[SPOTS * SPOTS :])
        if DRAWN in spots:
            raise EncodingError(
                f"{_place(spots.index(DRAWN))} has the code 01; it must be 00 empty, 11 X or 10 O"
            )
        record = cls(
            to_move=CROSS if side else NOUGHT,
            active=ANY if active == NO_FIELD else active,
            evaluation=EVALUATIONS[evaluation],
            best_move=None if best == NO_MOVE else SPOTS * (best >> 4) + (best & 15),
            spots=spots,
            results=results,
        )
        record.check()
        return record

    def check(self) -> None:
        """Raise an EncodingError if the record contradicts itself under any rules."""
        right = (
            self.to_move in (CROSS, NOUGHT)
            and self.active in range(SPOTS + 1)
            and self.evaluation in EVALUATIONS
            and (self.best_move is None or self.best_move in range(SPOTS * SPOTS))
            and len(self.spots) == SPOTS * SPOTS
            and len(self.results) == SPOTS
            and {*self.spots} <= {0, CROSS, NOUGHT}
            and {*self.results} <= {0, CROSS, NOUGHT, DRAWN}
        )
        if not right:  # possible only if `unpack` did not create it
            raise EncodingError("a number of the record is out of range")
        self.contents(dead=False)
        n_x, n_o = self.spots.count(CROSS), self.spots.count(NOUGHT)
        if n_x - n_o != self.to_move - 1:
            raise EncodingError(
                f"{n_x} X and {n_o} O are impossible with {'.XO'[self.to_move]} to move: X "
                "begins and turns alternate"
            )
        won = [bool(lines_of(self.results, side)) for side in (CROSS, NOUGHT)]
        if all(won) or won[self.to_move - 1]:
            raise EncodingError("a side has three fields in a line, yet play continued after it")
        if any(won) and self.evaluation not in (None, won[0] - won[1]):
            raise EncodingError(
                f"{'XO'[won.index(True)]} has three fields in a line, but the evaluation is "
                f"{self.evaluation:+d}"
            )
        if self.active != ANY and 0 not in self.field(self.active).cells:
            raise EncodingError(f"the active field {self.active} is full")
        if self.best_move is None:
            return
        if any(won):
            raise EncodingError("there is a best move, but the game is over")
        if self.spots[self.best_move]:
            raise EncodingError(f"the best move is {_place(self.best_move)}, which is taken")
        if self.active not in (ANY, self.best_move // SPOTS):
            raise EncodingError(
                f"the best move is {_place(self.best_move)}, but field {self.active} must be "
                "played in"
            )

    def field(self, at: int) -> Field:
        """Return the marks and the result of a field."""
        return Field(self.spots[SPOTS * at : SPOTS * (at + 1)], self.results[at])

    def contents(self, *, dead: bool) -> list[Contents]:
        """Return the contents of the nine fields; `dead` is True if won fields are closed.

        Raises:
            EncodingError: a field contradicts itself, or the best move is in a dead field.
        """
        found = []
        for at in range(SPOTS):
            try:
                field = contents(self.field(at), dead=dead)
            except EncodingError as error:
                raise EncodingError(f"field {at}: {error}") from error
            cells = self.field(at).cells
            found.append(field._replace(leads=(cells.count(CROSS) - cells.count(NOUGHT),)))
        if dead and self.best_move is not None and self.results[self.best_move // SPOTS]:
            raise EncodingError(f"the best move is {_place(self.best_move)}, in a dead field")
        return found


def _split(bits: int) -> Iterator[int]:
    """Yield the numbers packed in the bits of a record, in their order."""
    left = sum(WIDTHS)
    for width in WIDTHS:
        left -= width
        yield bits >> left & (1 << width) - 1


def _place(at: int) -> str:
    return f"field {at // SPOTS}, spot {at % SPOTS}"
