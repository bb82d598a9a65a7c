"""Nimbers (Grundy values) of impartial games, and outcome classes of games that either may begin.

A nimber says how a position adds to others: a sum of positions, of which a player moves in one,
has the XOR of their nimbers, and is lost for the player to move if that is 0 (R. P. Sprague 1935,
P. M. Grundy 1939).
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphstore.errors import RulesError
from graphstore.games import rules_of
from graphstore.rules.game import DRAW, IN_PLAY, LOSS, WIN, Game, Ints, Progress, quiet
from graphstore.rules.plain import PlainGame
from graphstore.solver.exploration import explore
from graphstore.solver.graph import GameGraph
from graphstore.solver.solution import levels, nimbers_of, solve
from graphstore.util import arguments
from graphstore.util.arrays import ragged

CLASSES: Final = {
    "N": "the player who begins wins",
    "P": "the player who begins loses",
    "L": "Left wins, whichever player begins",
    "R": "Right wins, whichever player begins",
}
"""The outcome classes, with their meanings."""


def nimbers(graph: GameGraph) -> NDArray[np.int16]:
    """Return the nimber of every state, int16[n], in the order of ``graph.states``.

    The nimber is the least whole number that no child has. Checked are these conditions: play
    ends, the player who cannot move loses, and `to_move` is unknown. It is assumed that rules
    without `to_move` give both players the same moves.

    Raises:
        RulesError: a condition does not hold, or a nimber exceeds 32,767.

    >>> from graphstore import explore, find_game
    >>> nimbers(explore(find_game("kayles(4)"))).tolist()  # of 0, 1, 2, 1+1, 3, 1+2, 4
    [0, 1, 2, 0, 3, 3, 1]
    """
    arguments.instance("graph", graph, GameGraph, "a graph, as explore(game) returns it")
    states, edges = graph.states, graph.edges_by_move
    ended = states.outcome != IN_PLAY
    others = np.flatnonzero(ended & (states.outcome != LOSS))
    if states.to_move.any():
        raise RulesError(
            f"{graph.name} has no nimbers: its rules say whose turn it is, so the moves of the "
            "players may differ; if they do not, leave to_move out of the rules"
        )
    if others.size:
        raise RulesError(
            f"{graph.name} has no nimbers: play ends in {graph.texts(states.id[others[:1]])[0]}, "
            "which is not lost for the player to move; nimbers are of normal play, in which the "
            "player who cannot move loses"
        )
    found, done = np.zeros(len(ended), dtype=np.int16), int(np.count_nonzero(ended))
    for wave in levels(graph):
        counts = edges.offset[wave + 1] - edges.offset[wave]
        found[wave] = nimbers_of(counts, found[edges.child[ragged(edges.offset, wave)]])
        done += len(wave)
    if done < len(found):
        raise RulesError(f"{graph.name} has no nimbers: play can return to a position")
    return found


class OutcomeClass(NamedTuple):
    """The result of `outcome_class`: who wins if Left begins, and who if Right does.

    Left is player 1, Right is player 2.
    """

    game: str
    positions: tuple[str, str]  # with Left to move, and with Right to move
    winners: tuple[int, int]  # 1 or 2, if Left begins and if Right begins
    outcome: str  # N, P, L or R; see `CLASSES`


def outcome_class(
    game: Game | PlainGame | str,
    *,
    starts: Ints | None = None,
    max_states: int | None = None,
    progress: Progress = quiet,
) -> OutcomeClass:
    """Return who wins a position if Left (player 1) begins, and who if Right (player 2) does.

    The position is given twice, with each player to move, by the two starts of the game or by
    `starts`: it is assumed that they differ only in the turn. One start whose `to_move` is unknown
    is taken for both: it is assumed that both players have the same moves.

    Args:
        game: the rules, or a name for `graphstore.find_game`.
        starts: the two positions, or the one, int64[s]; by default the starts of the game.
        max_states: the most states to explore, by default 100 million.
        progress: called with the phase, ``explore`` or ``solve``, and the number of states so far.

    Raises:
        RulesError: the starts are not such positions, or one is drawn.
        TooLargeError: there are more states than allowed.

    >>> outcome_class("domineering(2,2)").outcome, outcome_class("nim(1,2,3)").outcome
    ('N', 'P')
    """
    game = rules_of(game)
    given = game.start_states() if starts is None else arguments.position_ids("starts", starts)
    turns = game.turns(given)
    given = given[np.argsort(turns, kind="stable")]
    if sorted(turns.tolist()) not in ([0], [1, 2]):
        raise RulesError(
            f"{game.name} has no outcome class from {len(given)} start{'s' * (len(given) > 1)}; "
            "give the position with player 1 to move and with player 2 to move, in starts() or "
            "with --from (starts=), or once if the rules have no to_move"
        )
    graph = explore(game, starts=given, max_states=max_states, progress=progress)
    texts = game.texts(given)
    value = solve(graph, progress=progress).value
    values = [int(value[graph.row(state)]) for state in game.canonical(given).tolist()]
    if DRAW in values:
        raise RulesError(f"{game.name} has no outcome class: {texts[values.index(DRAW)]} is drawn")
    winners = (1 if values[0] == WIN else 2, 2 if values[-1] == WIN else 1)
    outcome = {(1, 2): "N", (2, 1): "P", (1, 1): "L", (2, 2): "R"}[winners]
    return OutcomeClass(game.name, (texts[0], texts[-1]), winners, outcome)
