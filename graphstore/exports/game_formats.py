"""Formats for a single game: a 32-bit map of tic-tac-toe, a record of ultimate tic-tac-toe."""

import csv
import json
import math
from collections.abc import Iterator
from typing import NamedTuple, TextIO

import numpy as np

from graphstore.errors import GameNameError
from graphstore.games.grid import tictactoe
from graphstore.games.ultimate.convert import record_of
from graphstore.games.ultimate.rules import Ultimate
from graphstore.rules.game import DRAW, IN_PLAY, Ints
from graphstore.solver.columns import NONE
from graphstore.store.store import Address, Store, opened

NO_DEPTH = 10  # a win or loss cannot be forced


class MapRow(NamedTuple):
    """A state of the 32-bit map of tic-tac-toe, with the names of the program that defined it."""

    State: int  # `pack32` of the canonical position
    Score: float  # for the player who just moved: infinity for a win, minus infinity for a loss
    WinDepth: int  # moves that this player still needs to win, or `NO_DEPTH`
    LoseDepth: int  # moves that the opponent needs to win, or `NO_DEPTH`
    NextStates: tuple[int, ...]  # the distinct children, ascending


def pack32(positions: Ints) -> Ints:
    """Return the 32-bit states of positions of tic-tac-toe that play can reach, int64[n].

    - bit 31, C: the game is in play; bit 30, T: it is a tie;
    - bits 29 and 28, W and L: 0 and 1 where X has won, 1 and 0 where O has, otherwise both 0;
    - bit 27, turn: 0 X, 1 O; it also changes after the last move;
    - bits 26..18, X's mask; bits 17..9, O's mask; bits 8..0, vacancy, the mask of the empty cells.
      The highest bit of a mask is the top-left cell, then row by row.

    >>> pack32(np.array([0])).tolist()
    [2147484159]
    """
    game = tictactoe()
    x, o = game.symmetry.split(positions)
    outcome = game.outcomes(positions)
    turn = (game.turns(positions) == 2).astype(np.int64)
    in_play, tie = (outcome == IN_PLAY).astype(np.int64), (outcome == DRAW).astype(np.int64)
    won = 1 - in_play - tie  # by the player who is not to move
    flags = in_play << 4 | tie << 3 | won << 2 - turn | turn
    return np.asarray(flags << 27 | x << 18 | o << 9 | game.full & ~(x | o))


def gmap(store: Store | Address) -> list[MapRow]:
    """Return the 32-bit map of tic-tac-toe, ascending by state."""
    with opened(store) as store:
        if store.info["name"] not in ("tictactoe", "mnk(3,3,3)"):
            raise GameNameError(
                f"the 32-bit map can hold {tictactoe().name} only; {store.address} holds "
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


def write_gmap(store: Store | Address, file: TextIO, *, as_json: bool = False) -> None:
    """Write the 32-bit map as CSV, with spaces between children, or as a JSON object of states.

    Infinities are ``inf`` and ``-inf``; in JSON they are strings.
    """
    rows = gmap(store)
    if as_json:
        cells = {row.State: row._asdict() for row in rows}
        for each in cells.values():
            del each["State"]
            if math.isinf(each["Score"]):
                each["Score"] = str(each["Score"])
        file.write(json.dumps(cells, indent=1) + "\n")
        return
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(MapRow._fields)
    for row in rows:
        writer.writerow((*row[:4], " ".join(map(str, row.NextStates))))


def records(store: Store | Address) -> Iterator[bytes]:
    """Yield the 25-byte record of every state of ultimate tic-tac-toe, ascending by id.

    The best move is the lowest of the equally best ones. Details that a state does not keep, such
    as the marks of a won field, have an arbitrary possible value in the record.
    """
    with opened(store) as store:
        game = store.game if store.has_rules else None
        if not isinstance(game, Ultimate):
            raise GameNameError(
                f"the record can hold ultimate tic-tac-toe only; {store.address} holds "
                f"{store.info['name']}"
            )
        for position, value, best in store.sql(_RECORDS):
            yield record_of(game, game.read(position), value, best)


def write_records(store: Store | Address, file: TextIO, *, as_json: bool = False) -> None:
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
