"""Solve small two-player games completely and store every position in a database.

>>> import graphstore
>>> graph = graphstore.explore(graphstore.find_game("tictactoe"))
>>> solution = graphstore.solve(graph)
>>> graph.nodes[0]["value"], graph.nodes[0]["orbit"]
(0, 1)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphstore.building.book import book as book
    from graphstore.building.from_folder import load as load
    from graphstore.building.in_memory import build as build
    from graphstore.building.out_of_core import build_folder as build_folder
    from graphstore.building.out_of_core import build_out_of_core as build_out_of_core
    from graphstore.building.strategy import prove as prove
    from graphstore.checks import verify as verify
    from graphstore.checks.compare import compare as compare
    from graphstore.errors import GraphstoreError as GraphstoreError
    from graphstore.errors import MoveError as MoveError
    from graphstore.errors import NotInStoreError as NotInStoreError
    from graphstore.errors import PositionError as PositionError
    from graphstore.errors import RulesError as RulesError
    from graphstore.errors import StoreError as StoreError
    from graphstore.exports.drawing import draw as draw
    from graphstore.exports.exporting import export as export
    from graphstore.games import find_game as find_game
    from graphstore.play.match import Match as Match
    from graphstore.play.players import Player as Player
    from graphstore.play.training import train as train
    from graphstore.rules.game import Game as Game
    from graphstore.rules.plain import PlainGame as PlainGame
    from graphstore.solver.columns import Solution as Solution
    from graphstore.solver.exploration import explore as explore
    from graphstore.solver.graph import GameGraph as GameGraph
    from graphstore.solver.nimbers import nimbers as nimbers
    from graphstore.solver.nimbers import outcome_class as outcome_class
    from graphstore.solver.search import Solver as Solver
    from graphstore.solver.search import search as search
    from graphstore.solver.solution import solve as solve
    from graphstore.store.folder.folder import Folder as Folder
    from graphstore.store.store import Store as Store
    from graphstore.store.store import upgrade as upgrade

_MODULES = {
    "Folder": "store.folder.folder",
    "Game": "rules.game",
    "GameGraph": "solver.graph",
    "GraphstoreError": "errors",
    "Match": "play.match",
    "MoveError": "errors",
    "NotInStoreError": "errors",
    "PlainGame": "rules.plain",
    "Player": "play.players",
    "PositionError": "errors",
    "RulesError": "errors",
    "Solution": "solver.columns",
    "Solver": "solver.search",
    "Store": "store.store",
    "StoreError": "errors",
    "book": "building.book",
    "build": "building.in_memory",
    "build_folder": "building.out_of_core",
    "build_out_of_core": "building.out_of_core",
    "compare": "checks.compare",
    "draw": "exports.drawing",
    "explore": "solver.exploration",
    "export": "exports.exporting",
    "find_game": "games",
    "load": "building.from_folder",
    "nimbers": "solver.nimbers",
    "outcome_class": "solver.nimbers",
    "prove": "building.strategy",
    "search": "solver.search",
    "solve": "solver.solution",
    "train": "play.training",
    "upgrade": "store.store",
    "verify": "checks",
}
__all__ = [*_MODULES]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that ``--help`` stays fast."""
    if name in _MODULES:
        return getattr(import_module(f"graphstore.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'graphstore' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *_MODULES]
