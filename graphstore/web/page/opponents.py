"""Playing on the page of a position: the opponent's reply, what is said, how a game ended."""

from typing import NamedTuple

from graphstore.errors import OpponentError, ResignedError
from graphstore.play import agents
from graphstore.play.players import Player
from graphstore.rules.board import board_of, choices
from graphstore.rules.game import WIN, Game, move_text
from graphstore.rules.plain import PlainGame
from graphstore.store.probe import Move, Probe
from graphstore.store.store import Store
from graphstore.web.page.query import Asked


class TakenSideError(OpponentError):
    """An opponent that can only be the player that one wants to be.

    Attributes:
        left: the player that one can be against it, 1 or 2.
        name: what that player is called.
    """

    def __init__(self, why: str, left: int, name: str) -> None:
        """Keep the player that is left."""
        super().__init__(why)
        self.left = left
        self.name = name


class Resigned(NamedTuple):
    """The opponent gives up."""

    why: str


class Reply(NamedTuple):
    """What the opponent plays.

    Attributes:
        position: what it leads to.
        asked: what the address of that asks.
    """

    position: str
    asked: Asked


def seated(store: Store, asked: Asked) -> Asked:
    """Return what is asked, with the player that one is; not said, the first that is left.

    Raises:
        OpponentError: there is no such opponent.
        TakenSideError: it can only be the player that one wants to be.
    """
    taken = Player(store, asked.against).side if asked.against else 0
    if not taken or not asked.side:
        return asked._replace(side=asked.side or (3 - taken if taken else 1))
    if taken != asked.side:
        return asked
    names = player_names(store.game if store.has_rules else None)
    its, left = names[taken - 1], names[2 - taken]
    why = f"{asked.against} has learned to be {its} only; against it you can be {left}"
    raise TakenSideError(why, 3 - taken, left)


def reply(store: Store, probe: Probe, asked: Asked) -> Reply | Resigned | None:
    """Return what the opponent does in a position; None if it is not its turn, or all is over.

    Raises:
        OpponentError: there is no such opponent, or it plays the other side only.
    """
    player = Player(store, asked.against)
    if probe.ended or not probe.moves or turn(probe, asked) == asked.side:
        return None
    try:
        move = player.pick(probe)
    except ResignedError as error:
        return Resigned(str(error))
    game = store.game if store.has_rules else None
    (choice,) = choices(game, probe.position, [move])
    onwards = asked.onwards._replace(last=move_text(game, move.move), cell=choice.cell)
    return Reply(move.position, passed_on(probe, onwards))


def turn(probe: Probe, asked: Asked) -> int:
    """Return whose turn it is, 1 or 2; where positions do not tell, the address says it."""
    return probe.to_move or asked.turn


def passed_on(probe: Probe, asked: Asked) -> Asked:
    """Return what an address asks after one more move."""
    return asked if probe.to_move else asked._replace(turn=3 - asked.turn)


def outcome(probe: Probe, asked: Asked) -> str:
    """Return how a game ended for the one who plays, in words."""
    if probe.value == 0:
        return "The game is over: a draw."
    winner = turn(probe, asked) if probe.value == WIN else 3 - turn(probe, asked)
    return f"The game is over: {'you have won' if winner == asked.side else 'you have lost'}."


def announcement(game: Game | None, probe: Probe, asked: Asked, resigned: str, worth: str) -> str:
    """Return what a page says first, and a screen reader says of it."""
    players = player_names(game)
    if asked.source is not None:
        board = board_of(probe.position, game)
        piece = f"{board.cells[asked.source] if board else 'piece'} at {asked.source}"
        if asked.target is None:
            return f"{piece} chosen: where to?"
        return f"{piece} to {asked.target}: by which move?"
    if not asked.against:
        if worth:
            return f"{worth[0].upper()}{worth[1:]}."
        return f"{players[turn(probe, asked) - 1]} to move." if probe.to_move else ""
    said = f"{asked.against} played {asked.last}. " if asked.last else ""
    if resigned:
        return f"{resigned}. You have won."
    if probe.ended:
        return said + outcome(probe, asked)
    worth = worth.removeprefix(f"{players[asked.side - 1]} to move: ")
    return f"{said}Your turn as {players[asked.side - 1]}{f': {worth}' if worth else ''}."


def player_names(game: Game | None) -> tuple[str, str]:
    """Return what the players are called."""
    return PlainGame.players if game is None else game.players


class Beads(NamedTuple):
    """The beads of an agent in a position.

    Attributes:
        number: by state, the beads of the kind that leads there.
        chance: by state, that one of them is drawn.
        sharing: by state, how many moves lead there, each of them as likely as the others.
    """

    number: dict[int, int]
    chance: dict[int, float]
    sharing: dict[int, int]

    def of(self, move: Move) -> tuple[int, float] | None:
        """Return the beads of a move and the chance that it is played; None without a box."""
        if move.state not in self.number:
            return None
        return self.number[move.state], self.chance[move.state] / self.sharing[move.state]


def beads(store: Store, name: str, probe: Probe) -> Beads:
    """Return what is in an agent's box of a position, in its orientation.

    Raises:
        AgentMissingError: there is no such agent.
    """
    known = agents.load(store, name)
    number = dict(agents.beads_in(store, known, probe.state))
    total = sum(number.values())
    sharing: dict[int, int] = {}
    for move in probe.moves:
        sharing[move.state] = sharing.get(move.state, 0) + 1
    if total or known.settings.empty == "resign":
        chance = {child: beads / max(total, 1) for child, beads in number.items()}
    else:  # as likely as each other, as at first
        chance = dict.fromkeys(number, 1 / max(len(number), 1))
    return Beads(number, chance, sharing)
