"""Descriptions of every table, view and column of a game; their types are in `store.schema`.

The explorer shows them, and a test compares the README's table with them.
"""

from typing import Final

MOVER: Final = "for the player to move"
MOVED: Final = "for the player who just moved"

TABLES: Final = {
    "state": "One row for each class of symmetric positions, with its values.",
    "edge": "Every legal move of the canonical positions. Two moves to one child are two rows.",
    "move": "The names of the moves of edge; empty if the rules give them none.",
    "game": "The name and size of the game, and how it was built: one row.",
    "digest": "A digest of every column, by which graphstore verify finds changes.",
    "agent": "Agents that learn as MENACE does, by matchboxes of beads.",
    "bead": "The beads in the matchboxes. The view matchbox adds positions and values.",
    "played": "The games that agents have learned from, counted in blocks of consecutive games.",
    "checkpoint": "The progress of an agent after a number of games.",
    "best_move": "All equally best moves of every state.",
    "best_move_by_margin": "All moves of every state with the greatest margin; empty in games "
    "without scores.",
    "q_table": "What every move is worth to its player: under best play, and against random play.",
    "census": "Counts of states and positions by ply.",
    "matchbox": "The beads of all agents, with the position, chance and value of each move.",
}

_BOX = "the state of the box"
_PLAYERS = "1, 2, or 0 for a draw"

COLUMNS: Final = {
    "id": "the canonical position packed into an integer; the same in every build on every machine",
    "position": "the canonical position as text; it stands for all symmetric positions",
    "ply": "the fewest moves from a start",
    "to_move": "the player to move: 1 or 2 (X or O); NULL if the rules do not say",
    "ended": "1 if the game is over, else 0",
    "value": f"+1, 0, -1: win, draw, loss {MOVER} under best play by both",
    "remoteness": "plies to the end under best play: the winner wins as fast, and the loser loses "
    "as slowly, as possible; in a drawn state, plies of the shortest way to a tie by moves that "
    "keep the value; NULL if play need never end",
    "score": f"the worth of the state as a move, {MOVED}: +1 for a win, -1 for a loss, else the "
    "share of the opponent's distinct replies that lose",
    "win_depth": "moves that the player who just moved still needs to win; NULL if that player "
    "cannot force a win",
    "lose_depth": "moves that the opponent, who is to move, needs to win; NULL if the opponent "
    "cannot force a win",
    "orbit": "how many positions the state stands for",
    "random_value": f"the expected result {MOVER} if both play at random; NULL in games with "
    "cycles and where play leads beyond a book; without meaning in a strategy",
    "winner": f"the winner under best play: {_PLAYERS}; NULL if to_move is NULL",
    "best_response": f"the expected result {MOVED} if that player plays best against an opponent "
    "who plays at random; NULL in games with cycles and where play leads beyond a book; without "
    "meaning in a strategy",
    "margin": f"the score {MOVER} minus the opponent's at the end, if both play for that "
    "difference; value is its sign, remoteness and depths are those of play for a win or draw; "
    "NULL in games whose results are not scores",
    "nimber": "the Grundy value: in a sum of games the state is worth a nim heap of this size; 0 "
    "is lost for the player to move; NULL but in nim, subtraction, octal, kayles, dawson, wythoff "
    "and chomp",
    "parent": "the id of the state in which the move is played",
    "state": "the id of the state in which the move is played",
    "move": "the number of the move on the canonical position; on boards the cell, 0 at the top "
    "left; the table move has the names of moves, if they have any",
    "move.move": "the number of the move",
    "move.name": "the name of the move, one word",
    "child": "the id of the state that the move leads to, where the other player is to move, "
    "unless the move keeps the turn",
    "best_move_by_margin.margin": "the margin of the move for its player",
    "optimal": "the result of the move for its player, if both then play best",
    "game.id": "always 1",
    "game.name": "the name of the game",
    "rules": "the version or the digest of the rules",
    "starts": "the number of starts",
    "states": "the number of states: classes of symmetric positions",
    "positions": "the number of positions that the states stand for: the sum of orbit; play may "
    "reach fewer if an image of a start is not a start",
    "moves": "the number of legal moves of the canonical positions: the rows of edge",
    "edges": "the number of moves, with all moves between the same two states counted as one",
    "game.plies": "the largest ply of a state",
    "cyclic": "1 if play can come back to a position, else 0",
    "start": "the first start, as text",
    "game.value": f"the value of the start: +1, 0, -1: win, draw, loss {MOVER}",
    "game.remoteness": "the remoteness of the start: plies to the end under best play",
    "built_at": "when the file was built, in UTC",
    "built_with": "the versions of graphstore, Python and numpy that built it",
    "build_seconds": "the duration of the build, in seconds",
    "digest": "the digest of the digests of all columns of state and edge, but nimber",
    "extent": "what the database holds: whole: all states; below: the states that some positions "
    "can reach; strategy: one move of player 1 and all of player 2, so that depths are bounds; "
    "book: the states of the first plies, of which those in play at the last ply have no moves",
    "digest.name": "the column, as table.column",
    "blake2b": "the digest, in hexadecimal: of a column, 128 bits, the sum over its rows of a hash "
    "of key and cell, against accidents, not forgers; of a cell of game, 256 bits, its BLAKE2b "
    "hash, as of columns before schema 0008",
    "agent": "the agent's id",
    "agent.id": "the number of the agent in other tables",
    "name": "the agent's name",
    "agent.side": "the player that the agent learns to be: 1, 2, or 0 for both",
    "stages": "beads of each kind in a new box, at the player's first, second, ... move",
    "win": "beads added after a win",
    "draw": "beads added after a draw",
    "loss": "beads added after a loss",
    "empty": "at an empty box: refill, the box is filled again; or resign, the agent resigns",
    "longest": "plies after which a game is stopped and counted as a draw",
    "seed": "the seed of the agent's random numbers",
    "agent.games": "the number of games that the agent has learned from",
    "agent.random": "the state of the agent's random number generator",
    "bead.state": _BOX,
    "bead.move": "the kind of bead: the lowest of the moves that lead to one child",
    "number": "the number of the first game of the block; of a game against a person, its own",
    "side": "the player that the agent was; 0 is both",
    "opponent": "the opponent that the agent played against",
    "played.winner": f"the winner: {_PLAYERS}",
    "plies": "the length of the games, in plies",
    "played.games": "how many games of the block ended so",
    "games": "the number of games that the agent had learned from",
    "kept": "the number of boxes in which all favourite moves keep the value",
    "boxes": "the number of all boxes",
    "random": "the expected result of the move for its player, if both then play at random",
    "q_table.best_response": "the expected result of the move for its player, if that player then "
    "plays best against an opponent who plays at random; NULL also where the move keeps the turn",
    "q_table.winner": f"the winner under best play after the move: {_PLAYERS}; NULL if to_move is "
    "NULL",
    "census.ended": "states in which the game is over",
    "won_by_1": "ended states that player 1 has won",
    "won_by_2": "ended states that player 2 has won",
    "tied": "ended states that are drawn",
    "wins": f"states that are a win {MOVER}",
    "draws": f"states that are a draw {MOVER}",
    "losses": f"states that are a loss {MOVER}",
    "matchbox.agent": "the agent's name",
    "matchbox.state": _BOX,
    "beads": "the number of beads of this kind",
    "chance": "the probability that a bead of this kind is drawn; NULL if the box is empty",
    "favourite": "1 if the box has beads of this kind and no more of another, else 0",
    "keeps": "1 if the move keeps the value of the position, else 0",
}
"""Descriptions of columns, by name, or by table.column where a name has another meaning there."""


def meaning(table: str, column: str) -> str:
    """Return the description of a column of a table or view.

    >>> meaning("state", "orbit"), meaning("bead", "state")
    ('how many positions the state stands for', 'the state of the box')
    """
    return COLUMNS.get(f"{table}.{column}") or COLUMNS[column]
