"""The meaning of every table, view and column of a game; their types are in `graphstore.store.schema`.

From this the descriptions in the explorer are made; the README's table is tested against it.
"""

from typing import Final

MOVER: Final = "for the player to move"
MOVED: Final = "for the player who just moved"

TABLES: Final = {
    "state": "One row for each class of symmetric positions, with what it is worth.",
    "edge": "Every legal move of the canonical positions. Two moves to one child are two rows.",
    "game": "What the file is: one row.",
    "digest": "A BLAKE2b digest of every column, by which graphstore verify sees what was changed.",
    "agent": "Learners: MENACEs, matchboxes of beads.",
    "bead": "What lies in the matchboxes. The view matchbox tells more.",
    "played": "The games that agents have learned from.",
    "checkpoint": "How far an agent was after so many games.",
    "best_move": "All equally best moves of every state.",
    "q_table": "What every move is worth to the player who chooses it, and against whom.",
    "census": "Counts by ply.",
    "matchbox": "The beads of all agents, and what they are worth.",
}

_BOX = "the box"
_BY_PLAY = "1, 2, or 0 for a draw"

COLUMNS: Final = {
    "id": "the canonical position packed into an integer: the same in every build, everywhere",
    "position": "the canonical position as text: one for all symmetric ones",
    "ply": "the fewest moves from a start",
    "to_move": "1 or 2 (X or O); NULL where the rules do not tell",
    "ended": "1 where the game is over",
    "value": f"+1, 0, -1: win, draw, loss {MOVER} under best play by both",
    "remoteness": "plies to the end under best play: the winner hurries, the loser delays; in a "
    "drawn state the shortest value-keeping way to a tie; NULL where play need never end",
    "score": f"the state as a move, {MOVED}: +1 where he wins, -1 where he loses, else the share "
    "of the opponent's distinct replies that lose",
    "win_depth": "moves that the player who just moved still needs to win; NULL if he cannot force "
    "it",
    "lose_depth": "moves that the opponent needs to win; NULL if he cannot force it",
    "orbit": "how many positions the state stands for",
    "random_value": f"the expected result {MOVER} if both play at random; NULL in games with "
    "cycles, without meaning in a strategy",
    "winner": f"{_BY_PLAY}, under best play",
    "best_response": f"the expected result {MOVED} if the opponent plays at random and he himself "
    "his best against that; NULL in games with cycles, without meaning in a strategy",
    "parent": "the state in which the move is made",
    "state": "the state in which the move is made",
    "move": "as the rules number it, on the canonical position; on boards the cell, 0 at the top "
    "left; beside it the name, in games that have names for moves",
    "child": "the state that the move leads to, where the other player is to move",
    "optimal": "what the move is worth to the player who chooses it, if both then play their best",
    "game.id": "always 1",
    "game.name": "what graphstore build was given",
    "rules": "the version or the digest of the rules",
    "starts": "how many starts there are",
    "states": "classes of symmetric positions",
    "positions": "all that they stand for",
    "moves": "legal moves of the canonical positions: the rows of edge",
    "edges": "the same, without those between the same two states",
    "game.plies": "the longest distance from a start",
    "cyclic": "1 where play can come back to a position",
    "start": "the first start",
    "game.value": f"of the start: +1, 0, -1: win, draw, loss {MOVER} under best play by both",
    "game.remoteness": "of the start: plies to the end under best play",
    "built_at": "when the file was built, in UTC",
    "built_with": "the versions of graphstore, Python and numpy that built it",
    "build_seconds": "how long that took",
    "digest": "over the digests of all columns of state and edge",
    "extent": "whole; or below: what some positions can reach; or strategy: one move of one player "
    "and all of the other, under which depths are bounds",
    "digest.name": "the column",
    "blake2b": "its digest",
    "agent": "the agent's id",
    "agent.id": "by which other tables name the agent",
    "name": "its name",
    "agent.side": "the player that it learns to be: 1, 2, or 0 for both",
    "stages": "beads of a kind in a fresh box, at its first, second, ... move",
    "win": "beads added after a win",
    "draw": "beads added after a draw",
    "loss": "beads added after a loss",
    "empty": "what happens to an empty box: it is filled again, or the agent resigns",
    "longest": "plies after which a game is broken off as a draw",
    "seed": "of the agent's random numbers",
    "agent.games": "how many it has learned from",
    "agent.random": "the state of its random numbers",
    "bead.state": _BOX,
    "bead.move": "the kind of bead: the lowest of the moves that lead to one child",
    "bead.beads": "how many of them",
    "number": "the first is 1",
    "side": "the player that the agent was; 0 is both",
    "opponent": "whom it played against",
    "played.winner": _BY_PLAY,
    "plies": "how long it was",
    "games": "after how many",
    "kept": "boxes all of whose favourite moves keep the value",
    "boxes": "all boxes",
    "random": "the same, if both then play at random",
    "q_table.best_response": "the same, if the opponent then plays at random and he himself his "
    "best against that",
    "q_table.winner": f"{_BY_PLAY}, under best play after the move",
    "census.ended": "states in which the game is over",
    "won_by_1": "over, and won by player 1",
    "won_by_2": "over, and won by player 2",
    "tied": "over, and drawn",
    "wins": f"states that are a win {MOVER}",
    "draws": f"states that are a draw {MOVER}",
    "losses": f"states that are a loss {MOVER}",
    "matchbox.agent": "its name",
    "matchbox.state": _BOX,
    "beads": "how many of this kind",
    "chance": "how likely one of them is drawn",
    "favourite": "1 if none has more",
    "keeps": "1 if the move keeps the value of the position",
}
"""What a column means: by its name, or as table.column where the name means another thing there."""


def meaning(table: str, column: str) -> str:
    """Return what a column of a table or view means.

    >>> meaning("state", "orbit"), meaning("bead", "state")
    ('how many positions the state stands for', 'the box')
    """
    return COLUMNS.get(f"{table}.{column}") or COLUMNS[column]
