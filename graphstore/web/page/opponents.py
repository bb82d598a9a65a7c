"""Play on the page of a position: an opponent's reply, an agent's beads, the announcement."""

import re
from collections import Counter
from collections.abc import Callable

from graphstore.errors import OpponentError
from graphstore.play import agents
from graphstore.play.opponents import spoken
from graphstore.play.players import Player
from graphstore.rules.board import board_of
from graphstore.rules.game import WIN, Game, move_text
from graphstore.rules.plain import PlainGame
from graphstore.store.probe import Probe
from graphstore.store.store import Store
from graphstore.web.page.query import Query
from graphstore.web.page.story import Story


class TakenSideError(OpponentError):
    """The opponent plays only the side that the user chose.

    `left` is the player that the user can be, 1 or 2; `name` is the name of that player.
    """

    def __init__(self, why: str, left: int, name: str) -> None:
        super().__init__(why)
        self.left, self.name = left, name


def with_side(store: Store, query: Query) -> Query:
    """Return the query with the user's player; by default 1, or the one the opponent leaves.

    Raises:
        TakenSideError: the opponent plays only the side that the query gives to the user.
    """
    taken = Player(store, query.against).side if query.against else 0
    if not taken or not query.side:
        return query._replace(side=query.side or (3 - taken if taken else 1))
    if taken != query.side:
        return query
    names = player_names(store.game if store.has_rules else None)
    its, left = names[taken - 1], names[2 - taken]
    why = f"{query.against} has learned to be {its} only; play as {left}"
    raise TakenSideError(why, 3 - taken, left)


def reply(
    store: Store, story: Story, query: Query, find: Callable[[Probe], Probe | None]
) -> tuple[str, Query] | None:
    """Return the position after the opponent's reply and its query; None if it does not move.

    `find` returns a probe with its values, which a game without a database searches, or None.

    Raises:
        ResignedError: the opponent resigns.
    """
    probe, player = story.probe, Player(store, query.against)
    if probe.ended or not probe.moves or story.mover() == query.side:
        return None
    move = player.pick(probe if query.against == "random" else find(probe) or probe)
    return move.position, story.then(query, move_text(store.namer, move.move))


def announcement(story: Story, query: Query, resigned: str, worth: str) -> str:
    """Return the first sentence of a page, which screen readers announce."""
    game, probe, mover = story.game, story.probe, story.mover()
    players = player_names(game)
    if query.source is not None:
        board = board_of(probe.position, game)
        piece = f"{board.cells[query.source] if board else 'piece'} at {query.source}"
        if query.target is None:
            return f"{piece} chosen: where to?"
        return f"{piece} to {query.target}: by which move?"
    if not query.against:
        if not worth and (probe.to_move or story.moves):
            worth = f"{players[mover - 1]} to move"
        return f"{worth[0].upper()}{worth[1:]}." if worth else ""
    if resigned:
        return f"{resigned}. You have won."
    played, since = "", story.at
    while since and story.mover(since - 1) != query.side:
        since -= 1
    if since < story.at:
        names = " ".join(story.names[since : story.at])
        played = f"{sentence(query.against)} played {names}. "
        if story.moves[story.at - 1].value is None and query.against != "random":
            played += "It was not sure. "
    if probe.ended:
        winner = mover if probe.value == WIN else 3 - mover
        result = "you have won" if winner == query.side else "you have lost"
        return f"{played}The game is over: {result if probe.value else 'a draw'}."
    worth = worth.removeprefix(f"{players[query.side - 1]} to move: ")
    return f"{played}Your turn as {players[query.side - 1]}{f': {worth}' if worth else ''}."


def sentence(opponent: str) -> str:
    """Return the spoken name of an opponent as it begins a sentence."""
    return re.sub("^the ", "The ", spoken(opponent))


def player_names(game: Game | None) -> tuple[str, str]:
    """Return the names of the players."""
    return PlainGame.players if game is None else game.players


def beads(store: Store, name: str, probe: Probe) -> dict[int, tuple[int, float]]:
    """Return an agent's box: {child state: (its beads, the chance of each move to it)}."""
    agent = agents.load(store, name)
    number = dict(agents.beads_in(store, agent, probe.state))
    total = sum(number.values())
    moves = Counter(move.state for move in probe.moves)
    refilled = not total and agent.settings.empty != "resign"  # then all children are as likely
    return {
        child: (n, (1 / len(number) if refilled else n / max(total, 1)) / moves[child])
        for child, n in number.items()
        if child in moves
    }
