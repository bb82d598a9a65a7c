"""Checks of the agents in a database: their boxes, games and checkpoints."""

from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
from sqlalchemy import func, select

from graphstore.checks.file.findings import Problem
from graphstore.errors import GraphstoreError, OpponentError
from graphstore.play import agents
from graphstore.play.agents import Agent
from graphstore.play.arena import Arena
from graphstore.play.menace import Boxes, block, box_rows, checkpoints
from graphstore.play.opponents import agent_name, read_opponent
from graphstore.rules.game import DRAW, IN_PLAY, WIN, Ints
from graphstore.store import schema
from graphstore.store.store import Store
from graphstore.util.arrays import ragged

REPEATED = 4  # the least plies after which a state can be met for the third time
LAYERS = 10_000  # plies after which the results of a game with cycles are assumed to repeat


class _Lengths:
    """The players who can win, or be to move, after a number of plies."""

    def __init__(self, store: Store, arena: Arena) -> None:
        self.cyclic = bool(store.info["cyclic"])
        self._outcome, self._to_move = np.array(arena.outcome), arena.to_move
        self._first, self._child = np.array(arena.first), np.array(arena.child, dtype=np.int64)
        self._known: dict[bool, list[tuple[set[int], set[int]]]] = {False: [], True: []}
        # A layer has the pairs of a state's row and the player to move, as 2 * row + player - 1.
        in_play = np.flatnonzero(self._outcome == IN_PLAY).tolist()
        self._layers: dict[bool, list[Ints]] = {
            anywhere: [np.array([2 * row + arena.begins(row) - 1 for row in rows], dtype=np.int64)]
            for anywhere, rows in ((False, arena.starts), (True, in_play))
        }
        # What were starts before a file has grown may be none now.
        self._grows = store.info["extent"] != schema.WHOLE

    def at(self, plies: int, *, anywhere: bool) -> tuple[set[int], set[int]]:
        """Return the winners (0: a draw) of games that end after these plies, and the movers.

        Games begin in a start or, if `anywhere`, in any state. The movers are the players who can
        be to move if the game goes on.
        """
        anywhere = anywhere or self._grows
        known, layers = self._known[anywhere], self._layers[anywhere]
        repeats = False
        while len(known) <= min(plies, LAYERS) and layers[-1].size and not repeats:
            here = layers[-1]
            row, mover = here >> 1, (here & 1) + 1
            outcome = self._outcome[row]
            winner = np.where(outcome == WIN, mover, np.where(outcome == DRAW, 0, 3 - mover))
            is_open = outcome == IN_PLAY
            known.append(({*winner[~is_open].tolist()}, {*mover[is_open].tolist()}))
            counts = self._first[row + 1] - self._first[row]
            into = np.zeros(2 * len(self._outcome), dtype=np.bool_)
            child = self._child[ragged(self._first, row)]
            known_mover = self._to_move[child]
            after = np.where(known_mover == 0, np.repeat(3 - mover, counts), known_mover)
            into[2 * child + after - 1] = True
            layers.append(np.flatnonzero(into))
            repeats = len(layers) > 2 and np.array_equal(layers[-1], layers[-3])
            del layers[:-3]
        if 0 <= plies < len(known):
            return known[plies]
        if plies < 0 or not layers[-1].size:
            return set(), set()
        return known[-2 + (plies - len(known)) % 2]


def orphans(store: Store) -> Iterator[Problem]:
    """Yield the rows that belong to agents that do not exist."""
    for table in schema.AGENT_TABLES[1:]:
        query = select(table.c.agent).where(table.c.agent.not_in(select(schema.agent.c.id)))
        with store.connect() as connection:
            of_none = connection.scalars(query.distinct()).all()
        for number in of_none:
            yield Problem(str(table), str(number), "agent", number, "the id of an agent")


def impossible(store: Store, names: list[str]) -> Iterator[Problem]:
    """Yield impossible boxes, games and checkpoints of the agents `names`."""
    if not names:
        return
    arena = Arena.of(store.graph())
    lengths = _Lengths(store, arena)
    for name in names:
        try:
            known = agents.load(store, agent_name(name))
            boxes = agents.boxes(store, arena, known)
            known.generator()
        except GraphstoreError as error:
            yield Problem("agent", name, "content", f"wrong ({error})", "a valid agent")
            continue
        if not 0 <= known.seed < 2**63:
            yield Problem("agent", name, "seed", known.seed, "from 0 to 2**63 - 1")
        elif not known.games and known.generator().getstate() != Random(known.seed).getstate():
            yield Problem("agent", name, "random", "another state", f"that of seed {known.seed}")
        yield from _blocks(store, known)
        yield from _games(store, lengths, known)
        yield from _checkpoints(store, arena, known, boxes)


def _checkpoints(store: Store, arena: Arena, known: Agent, boxes: Boxes) -> Iterator[Problem]:
    """Yield the checkpoints that are not due, and counts of boxes that cannot be."""
    table = schema.checkpoint
    query = select(table).where(table.c.agent == known.id).order_by(table.c.games)
    with store.connect() as connection:
        points = connection.execute(query).all()
    wrong = sorted({*checkpoints(known.games)} ^ {point.games for point in points})
    if wrong:
        due = "the numbers at which checkpoints are due"
        yield Problem("checkpoint", known.name, "games", f"wrong at {wrong[0]}", due)
    loses = np.zeros(len(arena.state), dtype=np.bool_)
    loses[arena.parent[~np.array(arena.keeps, dtype=np.bool_)]] = True
    # At first all moves of a box have the same number of beads.
    at_first = int((box_rows(arena, known.settings.side) & ~loses).sum())
    before, now = 0, len(boxes.rows)
    for point in points:
        row = f"(agent {known.name}, games {point.games})"
        if not before <= point.boxes <= now:
            # A file that has grown since then has more boxes.
            yield Problem("checkpoint", row, "boxes", point.boxes, f"from {before} to {now}")
            continue
        before = point.boxes
        if not 0 <= point.kept <= point.boxes:
            yield Problem("checkpoint", row, "kept", point.kept, f"from 0 to {point.boxes}")
        elif point.boxes == now:
            sure = {0: at_first, known.games: boxes.kept}.get(point.games, point.kept)
            if point.kept != sure:
                yield Problem("checkpoint", row, "kept", point.kept, sure)


def _blocks(store: Store, known: Agent) -> Iterator[Problem]:
    """Yield the first block with too few or too many games, and rows that belong to no block."""
    table = schema.played.c
    rows = select(table.number, table.games).where(table.agent == known.id).order_by(table.number)
    number, games = agents.integers(store, rows, 2).T
    first = [1]
    while (following := block(first[-1] - 1).stop) <= known.games:
        first.append(following)
    starts = np.array(first, dtype=np.int64)
    of = np.searchsorted(starts, number, side="right") - 1
    # A game against a person, or in an older file, has its own number.
    alone = (games == 1) & (number <= known.games)
    for row in np.flatnonzero((of < 0) | ((number != starts[of]) & ~alone))[:1].tolist():
        found = f"{number[row]} of {games[row]} games"
        yield Problem("played", known.name, "number", found, "the first game of a block")
    counts = np.zeros(len(starts), dtype=np.int64)
    np.add.at(counts, of[of >= 0], games[of >= 0])
    due = np.diff(starts, append=known.games + 1)
    for each in np.flatnonzero(counts != due)[:1].tolist():
        row = f"(agent {known.name}, numbers {starts[each]} to {starts[each] + due[each] - 1})"
        yield Problem("played", row, "games", int(counts[each]), int(due[each]))


def _games(store: Store, lengths: _Lengths, known: Agent) -> Iterator[Problem]:
    """Yield the games whose side, opponent or result cannot be."""
    table = schema.played.c
    kinds = (table.side, table.opponent, table.winner, table.plies)
    number = func.count(), func.min(table.number)
    alike = select(*kinds, *number).where(table.agent == known.id).group_by(*kinds)
    with store.connect() as connection:
        groups = connection.execute(alike).all()
    for *game, rows, first in sorted(groups, key=lambda row: row[-1]):
        row = f"(agent {known.name}, number {first}{f' and {rows - 1:,} more' * (rows > 1)})"
        try:
            yield from (Problem("played", row, *each) for each in _wrong(lengths, known, *game))
        except OpponentError:
            yield Problem("played", row, "opponent", game[1], "the name of an opponent")


def _wrong(
    lengths: _Lengths, known: Agent, side: int, opponent: str, winner: int, plies: int
) -> Iterator[tuple[str, Any, Any]]:
    """Yield columns that cannot be in a game of an agent: the names, what is found, and expected.

    Raises:
        OpponentError: the opponent's name cannot be read.
    """
    kind = read_opponent(opponent).kind
    if (kind == "self") != (side == 0):
        yield "side opponent", f"{side} against {opponent}", "1 or 2, or 0 against self"
    elif known.settings.side not in (0, side):
        yield "side", side, known.settings.side
    ends, movers = lengths.at(plies, anywhere=kind == "person")
    may_resign = {"person": {1, 2}, "agent": {3 - side}}.get(kind, set())
    if known.settings.empty == "resign":
        may_resign = may_resign | ({side} if side else {1, 2})
    if winner == 0:
        stopped = plies == known.settings.longest or (lengths.cyclic and plies >= REPEATED)
        possible = 0 in ends or (stopped and bool(movers))
    else:
        possible = winner in ends or 3 - winner in movers & may_resign
    if not possible or (kind != "person" and plies > known.settings.longest):
        yield "winner plies", f"{winner} after {plies} plies", "the result of a game"
