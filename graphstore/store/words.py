"""The value of a position or a move, in words."""

from graphstore.rules import game as rules
from graphstore.rules.board import depth_of
from graphstore.rules.game import Game
from graphstore.rules.plain import PlainGame
from graphstore.store.probe import Move, Probe, margin_of


def signed(margin: int | None) -> str | None:
    """Return a margin with its sign; None if there is none.

    >>> signed(3), signed(0), signed(-2)
    ('+3', '0', '-2')
    """
    return None if margin is None else f"{margin:+d}" if margin else "0"


def _with_margin(words: str, margin: int | None) -> str:
    return words if margin is None else f"{words}, margin {signed(margin)}"


def move_in_words(move: Move, *, bound: bool = False) -> str:
    """Return the value of a move for its player, in words; `bound` as in `in_words`."""
    return _with_margin(_move_in_words(move, bound=bound), margin_of(move))


def _move_in_words(move: Move, *, bound: bool) -> str:
    if move.value is None:
        return "not known yet"
    if move.value and depth_of(move) is None:  # searched without a database
        word = "wins" if move.value == rules.LOSS else "loses"
        if move.remoteness is None:
            return word
        return f"{word} in {_count(move.remoteness + 1, 'ply', 'plies')}"
    if move.value == rules.LOSS:
        if not move.win_depth:
            return "wins at once"
        most = "at most " if bound else ""
        return f"wins with {most}{_count(move.win_depth, 'more move', 'more moves')}"
    if move.value == rules.WIN:
        within = "within" if bound else "in"
        if not move.lose_depth and move.remoteness:  # by moves of the player's own
            return "loses whatever is played"
        return f"loses {within} {move.lose_depth}" if move.lose_depth else "loses at once"
    if move.score is not None and move.score < 0:  # the player moves again
        return f"draw, {-move.score:.0%} of the same player's next moves lose"
    return f"draw, {move.score:.0%} of the replies lose" if move.score else "draw"


def in_words(game: Game | None, probe: Probe, *, bound: bool = False) -> str:
    """Return the value of a position, in words.

    `game` gives the names of the players. With `bound` the depths are upper bounds, as in a
    database of a strategy.
    """
    return _with_margin(_in_words(game, probe, bound=bound), probe.margin)


def _in_words(game: Game | None, probe: Probe, *, bound: bool) -> str:
    if probe.to_move is None:
        mover, other = "the player to move", "the other player"
    else:
        players = PlainGame.players if game is None else game.players
        mover, other = players[probe.to_move - 1], players[2 - probe.to_move]
    winner = {rules.WIN: mover, rules.LOSS: other}.get(probe.value)
    if probe.ended:
        return f"over: {winner} has won" if winner else "over: drawn"
    turn = "" if probe.to_move is None else f"{mover} to move: "
    if probe.value is None:
        return f"{turn}not known yet"
    if probe.score is None and depth_of(probe) is None:  # searched without a database
        worth = f"{turn}{f'{winner} wins' if winner else 'drawn'}"
        if probe.remoteness is None:
            return worth
        return f"{worth}, {_count(probe.remoteness, 'ply', 'plies')} to the end"
    if winner is None:
        if probe.remoteness is None:
            return f"{turn}drawn, play need never end"
        return f"{turn}drawn, a tie is {_count(probe.remoteness, 'ply', 'plies')} away"
    depth = probe.lose_depth if probe.value == rules.WIN else probe.win_depth
    if depth is None or probe.remoteness is None:
        return f"{turn}{winner} wins, but the depths are missing; run: graphstore verify"
    plies = _count(probe.remoteness, "ply", "plies")
    if depth == 0:
        return f"{turn}{winner} wins whatever is played ({plies})"
    if bound:
        return f"{turn}{winner} wins within {_count(depth, 'move', 'moves')} (at most {plies})"
    return f"{turn}{winner} wins in {_count(depth, 'move', 'moves')} ({plies})"


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
