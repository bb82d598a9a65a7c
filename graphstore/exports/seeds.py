"""A solved game in formats that other programs made for one game alone."""

import csv
import json
import math
from collections.abc import Iterator
from typing import Any, NamedTuple, TextIO

import numpy as np

from graphstore.errors import GameNameError
from graphstore.games.encodings import pack32
from graphstore.games.grid import tictactoe
from graphstore.games.ultimate.convert import record_of
from graphstore.games.ultimate.rules import Ultimate
from graphstore.solver.columns import NONE
from graphstore.store.store import Store

NO_DEPTH = 10  # what the 32-bit map writes where a win or a loss cannot be forced


class MapRow(NamedTuple):
    """A state of the 32-bit map of tic-tac-toe, under the names of the program that made it.

    Attributes:
        State: `graphstore.games.encodings.pack32` of the canonical position.
        Score: infinity where the player who just moved wins, minus infinity where he loses.
        WinDepth: moves he still needs to win, 10 for none.
        LoseDepth: moves the opponent needs to win, 10 for none.
        NextStates: the distinct children, ascending.
    """

    State: int
    Score: float
    WinDepth: int
    LoseDepth: int
    NextStates: tuple[int, ...]


def gmap(store: Store) -> list[MapRow]:
    """Return the 32-bit map of tic-tac-toe, ascending by state.

    Raises:
        GameNameError: the database holds another game.
    """
    if store.info["name"] not in ("tictactoe", "mnk(3,3,3)"):
        raise GameNameError(
            f"the 32-bit map has room for {tictactoe().name} only; {store.address} holds "
            f"{store.info['name']}"
        )
    graph = store.graph()
    states = dict(zip(graph.states.id.tolist(), pack32(graph.states.id).tolist(), strict=True))
    solution = graph.solution
    assert solution is not None
    score = solution.score.copy()
    decided = solution.value != 0
    score[decided] *= math.inf
    depths = (
        np.where(depth == NONE, NO_DEPTH, depth).tolist()
        for depth in (solution.win_depth, solution.lose_depth)
    )
    rows = zip(states, score.tolist(), *depths, strict=True)
    return sorted(
        MapRow(
            states[state], worth, win, lose, tuple(sorted(states[child] for child in graph[state]))
        )
        for state, worth, win, lose in rows
    )


def write_gmap(store: Store, file: TextIO, *, as_json: bool = False) -> None:
    """Write the 32-bit map as CSV, children parted by spaces, infinities as ``inf``, ``-inf``.

    As JSON it is one object of states; there, infinities are the texts "inf" and "-inf".
    """
    rows = gmap(store)
    if as_json:
        file.write(json.dumps({row.State: _json_cells(row) for row in rows}, indent=1) + "\n")
        return
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(MapRow._fields)
    for row in rows:
        writer.writerow((*row[:4], " ".join(map(str, row.NextStates))))


def records(store: Store) -> Iterator[bytes]:
    """Yield the 25-byte record of every state of ultimate tic-tac-toe, ascending by id.

    The best move is the lowest of the equally best ones. Of contents that a state does not keep,
    such as the marks of a won field, the record has some that could have been.

    Raises:
        GameNameError: the database holds another game.
    """
    game = store.game if store.has_rules else None
    if not isinstance(game, Ultimate):
        raise GameNameError(
            f"the record has room for ultimate tic-tac-toe only; {store.address} holds "
            f"{store.info['name']}"
        )
    for position, value, best in store.sql(_RECORDS):
        yield record_of(game, game.read(position), value, best)


def write_records(store: Store, file: TextIO, *, as_json: bool = False) -> None:
    """Write the record of every state as a line of 50 hexadecimal digits, or as a JSON list."""
    before, between, after = ('["', '",\n "', '"]\n') if as_json else ("", "\n", "\n")
    separator = before
    for record in records(store):
        file.write(separator + record.hex())
        separator = between
    file.write(after)


_RECORDS = """
SELECT position, value, (SELECT min(move) FROM best_move WHERE state = id) FROM state ORDER BY id
"""


def _json_cells(row: MapRow) -> dict[str, Any]:
    cells = row._asdict()
    del cells["State"]
    if math.isinf(row.Score):
        cells["Score"] = str(row.Score)
    return cells
