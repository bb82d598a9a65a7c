"""Rules that a person wrote: from a file, a module, or an installed package.

To load rules is to run their code. Nothing here is called because of what a database says.
"""

import importlib
import importlib.util
import re
import sys
import warnings
from ast import literal_eval
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from graphstore.errors import GameNameError, shown
from graphstore.rules.game import Game
from graphstore.rules.plain import PlainGame

GROUP = "graphstore.games"
"""The entry point group in which a package lists its games."""

_REFERENCE = re.compile(
    r"(?P<module>[^:]+?|.+\.py)(?::(?P<name>[^\W\d]\w*)(?:\((?P<parameters>.*)\))?)?"
)


def load(reference: str) -> Game:
    """Return the game that ``rules.py:Name`` or ``package.module:Name`` names.

    A file may leave the name out if it defines one game only. Parameters follow the name in
    parentheses, as Python literals: ``rules.py:Chomp(3, 4)``.

    Raises:
        GameNameError: it cannot be found, loaded or made; the message says why.
    """
    match = _REFERENCE.fullmatch(reference.strip())
    if match is None:
        raise GameNameError(f"{shown(reference)} is not of the form FILE.py:NAME or MODULE:NAME")
    module = _module(match["module"])
    name = match["name"] or _only_game(module, match["module"])
    if not hasattr(module, name):
        games = ", ".join(_games(module)) or "none"
        raise GameNameError(f"{match['module']} has no {name}; the games it defines: {games}")
    parameters = _parameters(reference, match["parameters"])
    file = Path(match["module"])
    place = file.resolve() if match["module"].endswith(".py") else file
    game = _make(
        getattr(module, name), parameters, reference=f"{file.name}:{name}", given=reference
    )
    if isinstance(game, PlainGame):
        vars(game)["origin"] = f"{place}:{name}{game.name.removeprefix(f'{file.name}:{name}')}"
    return game


def installed() -> dict[str, str]:
    """Return the games that installed packages list, by name: ``package.module:Name``."""
    return {point.name: point.value for point in entry_points(group=GROUP)}


def load_installed(name: str, parameters: str | None) -> Game | None:
    """Return an installed package's game, or None if there is none of that name."""
    reference = installed().get(name)
    if reference is None:
        return None
    return load(reference if parameters is None else f"{reference}({parameters})")


def _module(name: str) -> ModuleType:
    is_file = name.endswith(".py")
    try:
        return _module_of_file(Path(name)) if is_file else importlib.import_module(name)
    except GameNameError:
        raise
    except SyntaxError as error:
        raise GameNameError(f"{name}, line {error.lineno}: {error.msg}") from error
    except Exception as error:
        raise GameNameError(f"{name} cannot be loaded: {type(error).__name__}: {error}") from error


def _module_of_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise GameNameError(f"there is no file {path}")
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)  # as for a script: a file of rules may import its neighbours
    name = f"graphstore_rules_{path.stem}"  # a file random.py must not stand in for the library
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickle look themselves up there
    spec.loader.exec_module(module)
    return module


def _games(module: ModuleType) -> list[str]:
    """Return the names of the games that a module defines itself."""
    return [
        name
        for name, value in vars(module).items()
        if isinstance(value, type)
        and issubclass(value, PlainGame)
        and value.__module__ == module.__name__
    ]


def _only_game(module: ModuleType, file: str) -> str:
    games = _games(module)
    if len(games) != 1:
        found = ", ".join(games) or "none"
        raise GameNameError(f"say which game of {file} you mean, {file}:NAME; it defines {found}")
    return games[0]


def _parameters(reference: str, text: str | None) -> tuple[Any, ...]:
    if not text or not text.strip():
        return ()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the compiler: the error says what is wrong
            return tuple(literal_eval(f"({text},)"))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise GameNameError(
            f"{shown(reference)}: parameters are Python literals, such as (3, 'misere')"
        ) from error


def _make(value: Any, parameters: tuple[Any, ...], *, reference: str, given: str) -> Game:
    try:
        game = value(*parameters) if callable(value) else value
    except Exception as error:
        raise GameNameError(f"{given} cannot be made: {type(error).__name__}: {error}") from error
    if not isinstance(game, Game):
        raise GameNameError(f"{given} is no game; subclass graphstore.PlainGame")
    if isinstance(game, PlainGame):
        inside = ",".join(map(repr, parameters))
        vars(game)["reference"] = f"{reference}({inside})" if parameters else reference
    return game
