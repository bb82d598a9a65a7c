"""Let an agent learn: thousands of games between states, one after the other.

One at a time, not in batches, since every game is played with the beads that the one before has
left: only so is an agent after n games a function of its seed alone. On flat lists that is fast.
"""

import os
import time
from random import Random
from typing import Any, NamedTuple

from graphstore.errors import OpponentError, SettingError, TooLargeError
from graphstore.play import agents
from graphstore.play.agents import Agent, Played
from graphstore.play.arena import RESIGN, Arena, Choose, at_random, mistaken, perfect
from graphstore.play.match import Match
from graphstore.play.menace import Boxes, Settings, next_checkpoint, whole_number, written
from graphstore.play.opponents import read_opponent
from graphstore.rules.game import DRAW, IN_PLAY, LOSS, WIN, Progress, quiet
from graphstore.store.schema import STRATEGY
from graphstore.store.store import Store

SELF = "self"
BATCH = 2_000  # games between two looks at the clock
SAVE_EVERY = 1.0  # seconds
MOST_GAMES = 10**12
LARGEST = 20_000_000  # moves: an arena takes some 200 bytes for each


class Training(NamedTuple):
    """What `train` did.

    Attributes:
        file: the database.
        agent: the agent's name.
        side: the player that it learns to be, 1 or 2; 0 for both.
        seed: that it began with.
        opponent: whom it played.
        games: how many this time.
        games_in_all: how many since it was made.
        won_by_1: of the games of this time.
        drawn: likewise.
        won_by_2: likewise.
        boxes: how many the agent has.
        kept: boxes all of whose favourite moves keep the value.
        games_per_second: of play and learning; loading the file is not counted.
    """

    file: str
    agent: str
    side: int
    seed: int
    opponent: str
    games: int
    games_in_all: int
    won_by_1: int
    drawn: int
    won_by_2: int
    boxes: int
    kept: int
    games_per_second: float


def train(
    file: str | os.PathLike[str],
    agent: str = "menace",
    *,
    games: int,
    against: str | None = None,
    seed: int | None = None,
    progress: Progress = quiet,
    **settings: Any,
) -> Training:
    """Let an agent of a database learn from games, and make the agent if there is none.

    Args:
        file: the database.
        agent: its name there.
        games: how many.
        against: ``self``, ``perfect``, ``random``, ``mistakes=P``, or another agent, which does
            not learn; by default ``self`` where the agent learns both sides, else ``perfect``.
        seed: of a new agent's generator; by default a random one, which is stored.
        progress: called with the games done.
        **settings: of a new agent, see `graphstore.play.menace.Settings`: side, stages, win, draw,
            loss, empty, longest.

    Raises:
        SettingError: a setting is wrong, or not the one that the agent was made with; or the file
            holds a strategy, not a game.
        OpponentError: there is no such opponent, or it cannot play the other side.
        StoreError: the file cannot be read or written.
    """
    games = whole_number("games", games)
    if not 0 <= games <= MOST_GAMES:
        raise SettingError(f"{games:,} games cannot be played; 0 to {MOST_GAMES:,} can")
    if seed is not None and not 0 <= whole_number("seed", seed) < 2**63:
        raise SettingError(f"the seed is {seed}; it must be from 0 to 2**63 - 1")
    given = Settings.of(settings)
    with Store.open(file) as store:
        if store.info["extent"] == STRATEGY:
            raise SettingError(
                f"{store.address} holds a strategy for {store.info['name']}, in which one player "
                "has no choice; agents learn whole games"
            )
        check_size(store)
        known = agents.find(store, agent)
        _check(known, agent, seed, {name: getattr(given, name) for name in settings})
        wanted = given if known is None else known.settings
        against = against or ("perfect" if wanted.side else "self")
        _check_opponent(store, agent, wanted.side, against)
        arena = Arena.of(store.graph())
        if known is None:
            seed = Random().getrandbits(48) if seed is None else seed
            known = agents.create(store, agent, wanted, seed, arena)
        boxes = agents.boxes(store, arena, known)
        course = _Course(store, arena, known, boxes, against)
        begun = time.perf_counter()
        course.run(games, progress)
        seconds = time.perf_counter() - begun
    drawn, won_by_1, won_by_2 = course.results
    return Training(
        file=store.address,
        agent=agent,
        side=wanted.side,
        seed=known.seed,
        opponent=against,
        games=games,
        games_in_all=known.games + games,
        won_by_1=won_by_1,
        drawn=drawn,
        won_by_2=won_by_2,
        boxes=len(boxes.rows),
        kept=boxes.kept,
        games_per_second=round(games / seconds, 1) if games else 0.0,
    )


def check_size(store: Store) -> None:
    """Refuse a database whose graph is too large for agents to learn.

    Raises:
        TooLargeError: it has more than `LARGEST` moves.
    """
    moves = store.info["moves"]
    if moves > LARGEST:
        raise TooLargeError(f"{store.address} has {moves:,} moves; agents take {LARGEST:,} at most")


def learn_from(match: Match) -> list[str]:
    """Let the agents that played a match learn from it, and save them; return their names.

    A match that is not over teaches nothing.

    Raises:
        StoreError: the file cannot be written.
        TooLargeError: see `check_size`.
    """
    if not match.over or not match.agents:
        return []
    store = match.store
    check_size(store)
    arena = Arena.of(store.graph())
    rows = {state: row for row, state in enumerate(arena.state.tolist())}
    winner = match.result.winner or 0
    for name, side in match.agents.items():
        known = agents.load(store, name)
        boxes = agents.boxes(store, arena, known)
        for player in (side,) if side else (1, 2):
            edges = []
            for turn in match.turns:
                if turn.player == player:
                    row = rows[turn.before.state]
                    if boxes.total[row] == 0:
                        boxes.fill(row)
                    edges.append(arena.edge(row, rows[turn.move.state]))
            boxes.learn(edges, DRAW if winner == 0 else WIN if winner == player else LOSS)
        opponent = match.opponents[2 - side] if side else SELF
        played = Played([side], opponent, [winner], [len(match.turns)])
        number = known.games + 1
        due = [(number, boxes.kept)] if number == next_checkpoint(known.games) else []
        with agents.writing(store) as connection:
            agents.save(connection, known, arena, boxes, known.generator(), [played], due)
    return list(match.agents)


class _Course:
    """Games of one agent against one opponent, and their saving."""

    def __init__(
        self, store: Store, arena: Arena, known: Agent, boxes: Boxes, against: str
    ) -> None:
        self.results = [0, 0, 0]  # drawn, won by 1, won by 2
        self._store = store
        self._arena = arena
        self._known = known
        self._boxes = boxes
        self._against = against
        self._random = known.generator()
        learner = boxes.player(self._random.random)
        other = _opponent(store, arena, against, learner, self._random)
        self._players = {1: (learner, other), 2: (other, learner), 0: (learner, learner)}
        self._new = Played([], against, [], [])
        self._checkpoints: list[tuple[int, int]] = []

    def run(self, games: int, progress: Progress) -> None:
        """Play and learn from so many games; save them about once a second."""
        number, last = self._known.games, self._known.games + games
        side, alternates = self._known.settings.side, self._against != SELF
        saved = time.perf_counter()
        while number < last:
            until = min(next_checkpoint(number), last, number + BATCH)
            for each in range(number + 1, until + 1):
                seat = 2 - each % 2 if alternates and not side else side
                winner, plies = self._game(seat)
                self.results[winner] += 1
                self._new.side.append(seat)
                self._new.winner.append(winner)
                self._new.plies.append(plies)
            due, number = until == next_checkpoint(number), until
            if due:
                self._checkpoints.append((number, self._boxes.kept))
            now = time.perf_counter()
            if now - saved > SAVE_EVERY or number == last:
                self._save()
                saved = now
            progress("train", games - (last - number), games)

    def _game(self, seat: int) -> tuple[int, int]:
        """Play one game and learn from it; return the winner and the plies."""
        arena, random, settings = self._arena, self._random.random, self._known.settings
        outcome, child, starts = arena.outcome, arena.child, arena.starts
        row = starts[0] if len(starts) == 1 else starts[int(random() * len(starts))]
        begins = arena.begins(row)
        players = self._players[seat] if begins == 1 else self._players[seat][::-1]
        edges: tuple[list[int], list[int]] = ([], [])
        plies = 0
        value = DRAW  # for the player to move, if the game is broken off
        while plies < settings.longest and outcome[row] == IN_PLAY:
            turn = plies & 1
            edge = players[turn](row)
            if edge == RESIGN:
                value = LOSS
                break
            edges[turn].append(edge)
            row = child[edge]
            plies += 1
        if outcome[row] != IN_PLAY:
            value = outcome[row]
        mover = begins if plies % 2 == 0 else 3 - begins
        winner = 0 if value == DRAW else mover if value == WIN else 3 - mover
        for player in (seat,) if seat else (1, 2):
            result = DRAW if winner == 0 else WIN if winner == player else LOSS
            self._boxes.learn(edges[0 if player == begins else 1], result)
        return winner, plies

    def _save(self) -> None:
        with agents.writing(self._store, "games since the last save are lost") as connection:
            self._known = agents.save(
                connection,
                self._known,
                self._arena,
                self._boxes,
                self._random,
                [self._new],
                self._checkpoints,
            )
        self._new = Played([], self._against, [], [])
        self._checkpoints = []


def _opponent(store: Store, arena: Arena, against: str, learner: Choose, random: Random) -> Choose:
    opponent = read_opponent(against)
    if opponent.kind == "self":
        return learner
    if opponent.kind == "perfect":
        return perfect(arena, random.random)
    if opponent.kind == "random":
        return at_random(arena, random.random)
    if opponent.kind == "mistakes":
        return mistaken(arena, opponent.mistakes, random.random)
    other = agents.load(store, opponent.agent)
    return agents.boxes(store, arena, other).player(random.random)


def _check_opponent(store: Store, agent: str, side: int, against: str) -> None:
    """Refuse an opponent that there is not, or that cannot play the other side."""
    opponent = read_opponent(against)
    if opponent.kind == "person":
        raise OpponentError(
            f"a person plays in a terminal: graphstore play {store.address} --against {agent} "
            "--learn"
        )
    if opponent.kind == "self" or opponent.agent == agent:
        if side or opponent.agent:
            raise OpponentError(
                f"{agent} learns as player {side} only, so it cannot play itself"
                if side
                else f"{agent} against itself is called {SELF}"
            )
    elif opponent.kind == "agent":
        other = agents.load(store, opponent.agent).settings.side
        if other not in (0, 3 - side if side else 0):
            raise OpponentError(
                f"{opponent.agent} has learned to be player {other} only; "
                f"{agent} needs an opponent for {'both sides' if not side else 'the other side'}"
            )


def _check(known: Agent | None, name: str, seed: int | None, settings: dict[str, Any]) -> None:
    """Refuse settings that an agent was not made with."""
    if known is None:
        return
    was = known.settings._asdict() | {"seed": known.seed}
    for setting, value in {**settings, **({} if seed is None else {"seed": seed})}.items():
        if was[setting] != value:
            shown = [written(v) if isinstance(v, tuple) else v for v in (was[setting], value)]
            raise SettingError(
                f"{name} was made with {setting} {shown[0]}, not {shown[1]}; leave it out, "
                "or name another agent"
            )
