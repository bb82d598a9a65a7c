"""Play on the page of a position: the opponent's reply, an agent's beads, and what is announced."""

from collections import Counter

from graphstore.errors import OpponentError
from graphstore.play import agents
from graphstore.play.players import Player
from graphstore.rules.board import board_of, choices
from graphstore.rules.game import WIN, Game, move_text
from graphstore.rules.plain import PlainGame
from graphstore.store.probe import Probe
from graphstore.store.store import Store
from graphstore.web.page.query import Asked


class TakenSideError(OpponentError):
    """The opponent can only be the player that the user wants to be.

    `left` is the player that the user can be, 1 or 2, and `name` what that player is called.
    """

    def __init__(self, why: str, left: int, name: str) -> None:
        super().__init__(why)
        self.left, self.name = left, name


def seated(store: Store, asked: Asked) -> Asked:
    """Return what is asked with the user's player; if none is given, the first that is left.

    TakenSideError is raised where the opponent can only be that player.
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


def reply(store: Store, probe: Probe, asked: Asked) -> tuple[str, Asked] | None:
    """Return the position after the opponent's reply and what its address asks.

    It is None where the opponent does not move; ResignedError is raised where it gives up.
    """
    player = Player(store, asked.against)
    if probe.ended or not probe.moves or turn(probe, asked) == asked.side:
        return None
    move = player.pick(probe)
    game = store.game if store.has_rules else None
    (choice,) = choices(game, probe.position, [move])
    onwards = asked.onwards._replace(last=move_text(game, move.move), cell=choice.cell)
    return move.position, passed_on(probe, onwards)


def turn(probe: Probe, asked: Asked) -> int:
    """Return the player to move, 1 or 2; where positions do not tell, the address does."""
    return probe.to_move or asked.turn


def passed_on(probe: Probe, asked: Asked) -> Asked:
    """Return what an address asks after one more move."""
    return asked if probe.to_move else asked._replace(turn=3 - asked.turn)


def announcement(game: Game | None, probe: Probe, asked: Asked, resigned: str, worth: str) -> str:
    """Return the first sentence of a page, which a screen reader reads out."""
    players = player_names(game)
    if asked.source is not None:
        board = board_of(probe.position, game)
        piece = f"{board.cells[asked.source] if board else 'piece'} at {asked.source}"
        if asked.target is None:
            return f"{piece} chosen: where to?"
        return f"{piece} to {asked.target}: by which move?"
    mover = turn(probe, asked)
    if not asked.against:
        if worth:
            return f"{worth[0].upper()}{worth[1:]}."
        return f"{players[mover - 1]} to move." if probe.to_move else ""
    if resigned:
        return f"{resigned}. You have won."
    said = f"{asked.against} played {asked.last}. " if asked.last else ""
    if probe.ended:
        winner = mover if probe.value == WIN else 3 - mover
        result = "you have won" if winner == asked.side else "you have lost"
        return f"{said}The game is over: {result if probe.value else 'a draw'}."
    worth = worth.removeprefix(f"{players[asked.side - 1]} to move: ")
    return f"{said}Your turn as {players[asked.side - 1]}{f': {worth}' if worth else ''}."


def player_names(game: Game | None) -> tuple[str, str]:
    """Return what the players are called."""
    return PlainGame.players if game is None else game.players


def beads(store: Store, name: str, probe: Probe) -> dict[int, tuple[int, float]]:
    """Return an agent's box: by child state, its beads and the chance of each move to it."""
    agent = agents.load(store, name)
    number = dict(agents.beads_in(store, agent, probe.state))
    total = sum(number.values())
    moves = Counter(move.state for move in probe.moves)
    refilled = not total and agent.settings.empty != "resign"  # all children are as likely
    return {
        child: (n, (1 / len(number) if refilled else n / max(total, 1)) / moves[child])
        for child, n in number.items()
        if child in moves
    }
