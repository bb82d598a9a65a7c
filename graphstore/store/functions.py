"""The SQL functions `board` and `canonical`, computed by the rules of a game."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from graphstore.errors import QueryError

if TYPE_CHECKING:
    from graphstore.rules.game import Game


def functions(read: "Callable[[Any], tuple[Game, int]]") -> dict[str, Callable[..., Any]]:
    """Return `board` and `canonical` by name; each returns NULL for NULL.

    `read` turns their arguments into the rules and a packed position.
    """

    def board(argument: Any) -> str | None:
        if argument is None:
            return None
        game, position = read(argument)
        return game.board(position)

    def canonical(argument: Any) -> int | None:
        if argument is None:
            return None
        import numpy as np  # few statements call it

        game, position = read(argument)
        return int(game.canonical(np.array([position], dtype=np.int64))[0])

    return {"board": board, "canonical": canonical}


def not_a_position(argument: str) -> QueryError:
    """Return the error for an argument of a wrong type."""
    return QueryError(
        f"board() and canonical() take the text of a position or the id of a state, not {argument}"
    )
