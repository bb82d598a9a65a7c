"""What the tables, views and columns of a game mean: Datasette's metadata."""

from typing import Any, Final

MOVER = "for the player to move"
MOVED = "for the player who just moved"

_VALUE = f"+1, 0 or -1: win, draw or loss {MOVER}, under best play by both"
_SCORE = (
    f"the state as a move, {MOVED}: +1 where he wins, -1 where he loses, else the share of the "
    "opponent's distinct replies that lose"
)
_WIN_DEPTH = "moves that the player who just moved still needs to win; empty if he cannot force it"
_LOSE_DEPTH = "moves that the opponent needs to win; empty if he cannot force it"
_MOVE = (
    "as the rules number it, on the canonical position; on boards the cell, 0 at the top left; "
    "beside it the name, in games that have names for moves"
)
_POSITION = "the canonical position as text: one for all symmetric ones"
_OPTIMAL = "what the move is worth to the player who chooses it, if both then play their best"
_CHILD = "the state that the move leads to, where the other player is to move"

TABLES: Final[dict[str, tuple[str, dict[str, str]]]] = {
    "state": (
        "One row for each class of symmetric positions, with what it is worth.",
        {
            "id": "the canonical position packed into an integer; the same in every build",
            "position": _POSITION,
            "ply": "the fewest moves from a start",
            "to_move": "1 or 2; empty where the rules do not tell",
            "ended": "1 where the game is over",
            "value": _VALUE,
            "remoteness": "plies to the end under best play: the winner hurries, the loser delays; "
            "in a draw the shortest way to a tie that keeps the value; empty where play need "
            "never end",
            "score": _SCORE,
            "win_depth": _WIN_DEPTH,
            "lose_depth": _LOSE_DEPTH,
            "orbit": "how many positions the state stands for",
            "random_value": f"the expected result {MOVER} if both play at random; empty in games "
            "with cycles, without meaning in a strategy",
            "winner": "1, 2, or 0 for a draw, under best play",
            "best_response": f"the expected result {MOVED} if the opponent plays at random and he "
            "himself his best against that; empty in games with cycles, without meaning in a "
            "strategy",
        },
    ),
    "edge": (
        "Every legal move of the canonical positions. Two moves to one child are two rows.",
        {"parent": "the state in which the move is made", "move": _MOVE, "child": _CHILD},
    ),
    "game": (
        "What the file is: one row.",
        {
            "name": "what graphstore build was given",
            "rules": "the version or the digest of the rules",
            "starts": "how many starts there are",
            "states": "classes of symmetric positions",
            "positions": "all that they stand for",
            "moves": "legal moves of the canonical positions: the rows of edge",
            "edges": "the same, without those between the same two states",
            "plies": "the longest distance from a start",
            "cyclic": "1 where play can come back to a position",
            "start": "the first start",
            "value": f"of the start: {_VALUE}",
            "extent": "whole; or below: what some positions can reach; or strategy: one move of "
            "one player and all of the other, under which depths are bounds",
        },
    ),
    "digest": (
        "A BLAKE2b digest of every column, by which graphstore verify sees what was changed.",
        {"name": "the column", "blake2b": "its digest"},
    ),
    "agent": (
        "Learners: MENACEs, matchboxes of beads.",
        {
            "side": "the player that it learns to be: 1, 2, or 0 for both",
            "stages": "beads of a kind in a fresh box, at its first, second, ... move",
            "win": "beads added after a win",
            "draw": "beads added after a draw",
            "loss": "beads added after a loss",
            "empty": "what happens to an empty box: it is filled again, or the agent resigns",
            "games": "how many it has learned from",
        },
    ),
    "bead": (
        "What lies in the matchboxes. The view matchbox tells more.",
        {"state": "the box", "move": "the kind of bead", "beads": "how many of them"},
    ),
    "played": (
        "The games that agents have learned from.",
        {
            "number": "the first is 1",
            "side": "the player that the agent was; 0 is both",
            "opponent": "whom it played against",
            "winner": "1, 2, or 0 for a draw",
            "plies": "how long it was",
        },
    ),
    "checkpoint": (
        "How far an agent was after so many games.",
        {
            "games": "after how many",
            "kept": "boxes all of whose favourite moves keep the value",
            "boxes": "all boxes",
        },
    ),
    "best_move": (
        "All equally best moves of every state.",
        {
            "state": "the state in which the move is made",
            "move": _MOVE,
            "child": _CHILD,
            "score": _SCORE,
            "win_depth": _WIN_DEPTH,
            "lose_depth": _LOSE_DEPTH,
        },
    ),
    "q_table": (
        "What every move is worth to the player who chooses it, and against whom.",
        {
            "state": "the state in which the move is made",
            "position": _POSITION,
            "move": _MOVE,
            "child": _CHILD,
            "optimal": _OPTIMAL,
            "random": "the same, if both then play at random",
            "best_response": "the same, if the opponent then plays at random and he himself his "
            "best against that",
            "winner": "1, 2, or 0 for a draw, under best play after the move",
            "orbit": "how many positions the state stands for",
        },
    ),
    "census": (
        "Counts by ply.",
        {
            "ply": "the fewest moves from a start",
            "states": "classes of symmetric positions",
            "positions": "all that they stand for",
            "ended": "states in which the game is over",
            "won_by_1": "over, and won by player 1",
            "won_by_2": "over, and won by player 2",
            "tied": "over, and drawn",
            "wins": f"states that are a win {MOVER}",
            "draws": f"states that are a draw {MOVER}",
            "losses": f"states that are a loss {MOVER}",
        },
    ),
    "matchbox": (
        "The beads of all agents, and what they are worth.",
        {
            "agent": "its name",
            "state": "the box",
            "position": _POSITION,
            "ply": "the fewest moves from a start",
            "move": _MOVE,
            "child": _CHILD,
            "beads": "how many of this kind",
            "chance": "how likely one of them is drawn",
            "favourite": "1 if none has more",
            "keeps": "1 if the move keeps the value of the position",
            "optimal": _OPTIMAL,
        },
    ),
}
"""What each table or view is, and what its columns are."""


def tables() -> dict[str, dict[str, Any]]:
    """Return the metadata of a game's tables and views, as Datasette wants it."""
    described: dict[str, dict[str, Any]] = {
        name: {"description": about, "columns": columns}
        for name, (about, columns) in TABLES.items()
    }
    described["state"]["label_column"] = "position"
    described["agent"]["label_column"] = "name"
    described["alembic_version"] = {"hidden": True}
    return described
