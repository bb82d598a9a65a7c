"""Every position of a small game, solved, in a database you can query.

>>> import graphstore
>>> graph = graphstore.explore(graphstore.find_game("tictactoe"))
>>> solution = graphstore.solve(graph)
>>> graph.nodes[0]["value"], graph.nodes[0]["orbit"]
(0, 1)
"""

from importlib import import_module
from typing import Any

_ROOMS = {
    "explore": "exploration",
    "find_game": "games",
    "solve": "solution",
    "Game": "game",
    "GameGraph": "graph",
    "PlainGame": "game",
    "Solution": "solution",
    "Store": "store",
    "build": "building",
}


def __getattr__(name: str) -> Any:
    """Import a public name from its room when it is first used: ``--help`` needs none of them."""
    if name in _ROOMS:
        return getattr(import_module(f"graphstore.{_ROOMS[name]}"), name)
    raise AttributeError(f"module 'graphstore' has no attribute {name!r}")
