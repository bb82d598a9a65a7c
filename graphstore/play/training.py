"""Training of an agent: thousands of games, one after the other.

Each game uses the beads that the previous game left; there are no batches. So an agent after n
games is a function of its seed.
"""

import time
from collections import Counter
from random import Random
from typing import Any, NamedTuple

from sqlalchemy import text

from graphstore.errors import OlderStoreError, OpponentError, SettingError, TooLargeError, shown
from graphstore.play import agents
from graphstore.play.agents import Agent, Played
from graphstore.play.arena import RESIGN, Arena, Choose, at_random, mistaken, perfect
from graphstore.play.match import PERSON, Match
from graphstore.play.menace import Boxes, Settings, block, next_checkpoint, whole_number, written
from graphstore.play.opponents import read_opponent
from graphstore.rules.game import DRAW, IN_PLAY, LOSS, WIN, Progress, quiet
from graphstore.store.format import BLOCKS, BOOK, STRATEGY
from graphstore.store.store import Address, Store, opened

SELF = "self"
BATCH = 2_000  # games between two checks of the clock
SAVE_EVERY = 1.0  # seconds
MOST_GAMES = 10**12
LARGEST = 20_000_000  # moves, of some 200 bytes each in an arena


class Training(NamedTuple):
    """The result of `train`: counts are of this training unless stated otherwise."""

    file: str
    agent: str
    side: int  # the player that it learns to be, 1 or 2; 0 for both
    seed: int  # of the agent when it was created
    opponent: str
    games: int
    games_in_all: int  # since the agent was created
    won_by_1: int
    drawn: int
    won_by_2: int
    boxes: int
    kept: int  # boxes in which all favourite moves keep the value
    games_per_second: float  # without the time to load the file


def train(
    file: Store | Address,
    agent: str = "menace",
    *,
    games: int,
    against: str | None = None,
    seed: int | None = None,
    progress: Progress = quiet,
    **settings: Any,
) -> Training:
    """Train an agent of a database; create the agent if it does not exist.

    Args:
        file: the database, open or as an address.
        agent: its name there.
        games: the number of games to play.
        against: ``self``, ``perfect``, ``random``, ``mistakes=P``, or another agent, which does
            not learn; by default ``self`` if the agent learns both sides, else ``perfect``.
        seed: of the generator of a new agent; by default a random one, which is stored.
        progress: called with the number of games played.
        **settings: of a new agent, see `graphstore.play.menace.Settings`: side, stages, win, draw,
            loss, empty, longest.

    Raises:
        SettingError: a setting is wrong or differs from that of the existing agent; or the file
            holds a strategy or a book, not a game.
        OpponentError: there is no such opponent, or it cannot play the other side.
        StoreError: the file cannot be read or written.
    """
    games = whole_number("games", games)
    if not 0 <= games <= MOST_GAMES:
        raise SettingError(f"games is {shown(games)}; it must be from 0 to {MOST_GAMES:,}")
    if seed is not None and not 0 <= whole_number("seed", seed) < 2**63:
        raise SettingError(f"the seed is {shown(seed)}; it must be from 0 to 2**63 - 1")
    given = Settings.of(settings)
    with opened(file, "file", repair=True) as store:
        if store.info["extent"] in (STRATEGY, BOOK):
            what = {STRATEGY: "a strategy, in which one player has no choice"}
            raise SettingError(
                f"{store.address} holds {what.get(store.info['extent'], 'the first plies only')}; "
                "train agents on a whole game"
            )
        refuse_store(store)
        known = agents.find(store, agent)
        wanted = given
        if known is not None:
            wanted = known.settings
            _check(known, seed, {name: getattr(given, name) for name in settings})
        against = against or ("perfect" if wanted.side else "self")
        _check_opponent(store, agent, wanted.side, against)
        arena = Arena.of(store.graph())
        if known is None:
            seed = Random().getrandbits(48) if seed is None else seed
            known = agents.create(store, agent, wanted, seed, arena)
            boxes = Boxes(arena, wanted)  # not read: a build may have replaced the file by now
        else:
            boxes = agents.boxes(store, arena, known)
        begun = time.perf_counter()
        drawn, won_by_1, won_by_2 = _play(store, arena, known, boxes, against, games, progress)
        seconds = time.perf_counter() - begun
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


def refuse_store(store: Store) -> None:
    """Raise an error if agents cannot learn in a database.

    Raises:
        TooLargeError: the game has more than `LARGEST` moves.
        OlderStoreError: the schema is too old.
    """
    with store.connect() as connection:
        revision = connection.scalar(text("SELECT version_num FROM alembic_version"))
    if revision < BLOCKS:
        raise OlderStoreError(
            f"{store.address} has schema {revision}, in which agents cannot learn; "
            f"run: graphstore upgrade {store.address}"
        )
    if store.info["moves"] > LARGEST:
        raise TooLargeError(
            f"{store.address} has {store.info['moves']:,} moves; "
            f"agents can be trained on at most {LARGEST:,}"
        )


def refuse_match(match: Match) -> None:
    """Raise an error if agents cannot learn from a match.

    Raises:
        TooLargeError, OlderStoreError: see `refuse_store`.
        OpponentError: machines play it from a position that is not a start.
    """
    refuse_store(match.store)
    first = match.turns[0].before if match.turns else match.probe
    if first.ply > 0 and PERSON not in match.opponents:
        raise OpponentError(
            "agents learn from a match of two machines only if it begins at the start; leave out "
            "the position, or play yourself"
        )


def learn_from(match: Match) -> list[str]:
    """Let the agents of a match learn from it, save them and return their names.

    They do not learn from a match that is not over; the list is then empty.

    Raises:
        TooLargeError, OlderStoreError, OpponentError: see `refuse_match`.
    """
    if not match.over or not match.agents:
        return []
    refuse_match(match)
    store = match.store
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
            boxes.learn(edges, _value(winner, player))
        opponent = match.opponents[2 - side] if side else SELF
        number = known.games + 1
        first = number if opponent == PERSON else block(known.games).start
        played = Counter([Played(first, side, opponent, winner, len(match.turns))])
        due = [(number, boxes.kept)] if number == next_checkpoint(known.games) else []
        with agents.writing(store) as connection:
            agents.save(connection, known, arena, boxes, known.generator(), played, due)
    return list(match.agents)


def _value(winner: int, player: int) -> int:
    """Return the value of an ended game for a player; `winner` is 0 for a draw."""
    return DRAW if winner == 0 else WIN if winner == player else LOSS


def _play(
    store: Store,
    arena: Arena,
    known: Agent,
    boxes: Boxes,
    against: str,
    games: int,
    progress: Progress,
) -> list[int]:
    """Play games, learn from them and save them once a second; return [drawn, won by 1, by 2]."""
    results = [0, 0, 0]  # drawn, won by 1, won by 2
    random = known.generator()
    learner = boxes.player(random.random)
    other = _opponent(store, arena, against, learner, random)
    players = {1: (learner, other), 2: (other, learner), 0: (learner, learner)}
    to_move: list[int] = arena.to_move.tolist()
    side, alternates = known.settings.side, against != SELF
    number, last = known.games, known.games + games
    new: Counter[Played] = Counter()
    checkpoints: list[tuple[int, int]] = []
    saved = time.perf_counter()
    while number < last:
        numbers = block(number)
        until = min(numbers[-1], last, number + BATCH)
        ended: Counter[tuple[int, int, int]] = Counter()  # games by side, winner and plies
        for each in range(number + 1, until + 1):
            seat = 2 - each % 2 if alternates and not side else side
            winner, plies = _game(
                arena, to_move, boxes, players[seat], seat, known.settings.longest, random
            )
            ended[seat, winner, plies] += 1
        for (seat, winner, plies), count in ended.items():
            results[winner] += count
            new[Played(numbers.start, seat, against, winner, plies)] += count
        if until == next_checkpoint(number):
            checkpoints.append((until, boxes.kept))
        number = until
        now = time.perf_counter()
        if now - saved > SAVE_EVERY or number == last:
            with agents.writing(store, "games since the last save are lost") as connection:
                known = agents.save(connection, known, arena, boxes, random, new, checkpoints)
            new, checkpoints, saved = Counter(), [], now
        progress("train", games - (last - number), games)
    return results


def _game(
    arena: Arena,
    to_move: list[int],
    boxes: Boxes,
    players: tuple[Choose, Choose],
    seat: int,
    longest: int,
    random: Random,
) -> tuple[int, int]:
    """Play one game and learn from it; return the winner and the plies."""
    outcome, child, starts = arena.outcome, arena.child, arena.starts
    row = starts[0] if len(starts) == 1 else starts[int(random.random() * len(starts))]
    mover = arena.begins(row)
    edges: tuple[list[int], list[int]] = ([], [])
    plies = 0
    value = DRAW  # for the player to move, if the game is too long
    while plies < longest and outcome[row] == IN_PLAY:
        edge = players[mover - 1](row)
        if edge == RESIGN:
            value = LOSS
            break
        edges[mover - 1].append(edge)
        row = child[edge]
        mover = to_move[row] or 3 - mover
        plies += 1
    if outcome[row] != IN_PLAY:
        value = outcome[row]
    winner = 0 if value == DRAW else mover if value == WIN else 3 - mover
    for player in (seat,) if seat else (1, 2):
        boxes.learn(edges[player - 1], _value(winner, player))
    return winner, plies


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
    """Raise an OpponentError for an opponent that is unknown or cannot play the other side."""
    opponent = read_opponent(against)
    if opponent.kind == "person":
        raise OpponentError(
            f"to play against {agent} yourself, run graphstore play {store.address} "
            f"--against {agent} --learn"
        )
    if opponent.kind == "self" or opponent.agent == agent:
        if side:
            raise OpponentError(f"{agent} learns as player {side} only, so it cannot play itself")
        if opponent.agent:
            raise OpponentError(
                f'to let {agent} play itself, give --against {SELF} (against="{SELF}")'
            )
    elif opponent.kind == "agent":
        other = agents.load(store, opponent.agent).settings.side
        if other not in (0, 3 - side if side else 0):
            raise OpponentError(
                f"{opponent.agent} has learned to be player {other} only; "
                f"{agent} needs an opponent for {'the other side' if side else 'both sides'}"
            )


def _check(known: Agent, seed: int | None, settings: dict[str, Any]) -> None:
    """Raise a SettingError for settings that differ from those of an existing agent."""
    was = known.settings._asdict() | {"seed": known.seed}
    for setting, value in (settings if seed is None else settings | {"seed": seed}).items():
        if was[setting] != value:
            both = [written(v) if isinstance(v, tuple) else v for v in (was[setting], value)]
            raise SettingError(
                f"{known.name} was created with {setting} {both[0]}, not {both[1]}; leave it out, "
                "or name another agent"
            )
