"""Loading of a user's rules from a file, a module or an installed package.

Loading rules runs their code; nothing in a database triggers it.

A file of rules imports the modules in its folder by their names, as a script does. Each load has
its own copies of them, in a package of its own, so that files of the same name do not mix.
"""

import ast
import builtins
import copyreg
import importlib
import importlib.util
import inspect
import re
import sys
import warnings
from collections.abc import Sequence
from contextlib import chdir, suppress
from functools import cache, partial
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from itertools import count
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, TypeAlias

from graphstore.errors import GameNameError, shown
from graphstore.rules import sources
from graphstore.rules.adapter import ArrayRules, accept
from graphstore.rules.game import Game, asking, blame
from graphstore.rules.plain import PlainGame

GROUP = "graphstore.games"
"""The entry point group in which a package lists its games."""

_PACKAGE = "graphstore_rules_"
_numbers = count(1)
_REFERENCE = re.compile(
    r"(?P<module>[^:]+?|.+?\.py)"
    r"(?::(?P<name>[^\W\d]\w*)(?:\((?P<parameters>.*)\)|-(?P<words>[^()]+))?)?"
)

Parameters: TypeAlias = tuple[list[Any], dict[str, Any]]
"""The positional parameters of a class, and those by name."""


def load(reference: str) -> Game:
    """Return the game of a reference such as ``rules.py:Name`` or ``package.module:Name``.

    The name may be left out if the file defines one game only. Parameters follow the name in
    parentheses, as Python literals: ``rules.py:Chomp(3, rows=4)``; or, without quotes in a shell,
    after hyphens: ``rules.py:Chomp-3-4``. The name of the game has them in one spelling: by
    position where that is possible, and without defaults at the end.

    Raises:
        GameNameError: the reference is malformed, or the rules cannot be loaded.
    """
    match = _REFERENCE.fullmatch(reference.strip())
    if match is None:
        raise GameNameError(f"{shown(reference)} is not of the form FILE.py:NAME or MODULE:NAME")
    module = _module(match["module"])
    of, games = match["module"], _games(module)
    defined = ", ".join(games) or "none"
    if match["name"] is None and len(games) != 1:
        raise GameNameError(f"name the game: write {of}:NAME; {of} defines {defined}")
    name = match["name"] or games[0]
    if not hasattr(module, name):
        raise GameNameError(f"{of} has no {name}; the games it defines: {defined}")
    parameters = _parameters(reference, match)
    made = getattr(module, name)
    game = _make(made, parameters, reference)
    if not isinstance(game, PlainGame):
        return accept(game)
    file = Path(of)
    place = file.resolve() if of.endswith(".py") else file
    said = _said(made, parameters)
    said = said and f"({said})"
    return ArrayRules(game, f"{file.name}:{name}{said}", f"{place}:{name}{said}")


def _reduced(game: ArrayRules) -> str | tuple[Any, ...]:
    """Return the pickle form of a game: its origin, from which another process loads the rules."""
    return (load, (game.origin,)) if game.origin else object.__reduce_ex__(game, 4)


copyreg.pickle(ArrayRules, _reduced)


def installed() -> dict[str, str]:
    """Return the games of installed packages, {name: ``package.module:Name``}."""
    from importlib.metadata import entry_points  # slow to import

    return {point.name: point.value for point in entry_points(group=GROUP)}


def load_installed(name: str) -> Game | None:
    """Return the game of that name of an installed package, or None."""
    name = name.strip()
    for known, reference in sorted(installed().items(), reverse=True):  # the longest first
        rest = name.removeprefix(known).lstrip()
        if name.startswith(known) and rest[:1] in ("", "(", "-"):
            return load(reference + rest)
    return None


def is_same_class(rules: Game, name: str, *, loosely: bool = False) -> bool:
    """Return True if a name of a game means the class of these rules, with the same parameters.

    The name of rules that were not loaded is that of their class, which fits any parameters;
    `loosely`, all do.
    """
    ours, theirs = _REFERENCE.fullmatch(rules.name), _REFERENCE.fullmatch(name)
    if not isinstance(rules, ArrayRules) or ours is None or theirs is None:
        return False
    kind = type(rules.game)
    wanted = theirs["name"] or name
    if ours["name"] is None or theirs["name"] is None or ours["name"] != wanted:
        return wanted == kind.__name__
    if loosely:
        return True
    with suppress(GameNameError):
        one, other = (_said(kind, _parameters(each.string, each)) for each in (ours, theirs))
        return one == other
    return False  # graphstore does not write such a name


def _module(name: str) -> ModuleType:
    is_file = name.endswith(".py")
    try:
        with asking, chdir("."):  # and back
            return _module_of_file(Path(name)) if is_file else importlib.import_module(name)
    except GameNameError:
        raise
    except SyntaxError as error:
        file = Path(error.filename or name)
        with suppress(ValueError):  # leave the working folder out
            file = file.relative_to(Path.cwd())
        raise GameNameError(f"{file}, line {error.lineno}: {error.msg}") from error
    except BaseException as error:
        blame(f"{name} cannot be loaded", error, GameNameError)


def _module_of_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise GameNameError(f"there is no file {path}")
    file = path.resolve()
    package = ModuleType(f"{_PACKAGE}{next(_numbers)}")
    package.__path__, package.__file__ = [str(file.parent)], str(file)
    name = f"{package.__name__}.{file.stem}"
    loader = _Loader(name, str(file))
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    importlib.invalidate_caches()  # a new module may not be in the cached listing of the folder
    sys.modules[package.__name__] = package
    sys.modules[name] = module  # dataclasses and pickle look modules up there
    loader.exec_module(module)
    return module


class _Loader(SourceFileLoader):
    """A loader of a file of rules, or of a module in its folder, that imports from that folder."""

    def get_code(self, fullname: str) -> CodeType:
        """Return the code of the file as it is now; cached bytecode may be older."""
        source = self.get_data(self.path)
        if b"\0" in source:  # as PowerShell before version 6 writes texts
            raise GameNameError(f"{self.path} has null bytes, so it is not UTF-8; save it as UTF-8")
        return self.source_to_code(source, self.path)

    def exec_module(self, module: ModuleType) -> None:
        """Run a module with its own `__import__`."""
        package = module.__name__.partition(".")[0]
        own = {"__import__": partial(_import, package)}
        vars(module)["__builtins__"] = vars(builtins) | own
        super().exec_module(module)


class _Finder:
    """A finder of modules in the packages that are created for files of rules."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module, or None if it is not in such a package."""
        if path is None or not name.startswith(_PACKAGE):
            return None
        spec = PathFinder.find_spec(name, path)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(name, spec.loader.path)
        return spec


sys.meta_path.insert(0, _Finder)


def _import(
    package: str,
    name: str,
    globals: Any = None,  # noqa: A002  # the names of `__import__`
    locals: Any = None,  # noqa: A002
    fromlist: Sequence[str] | None = (),
    level: int = 0,
) -> Any:
    """Import a module for a file of rules; modules in the file's folder come first."""
    top = name.partition(".")[0]
    if level or not _is_in_folder(package, top):
        return __import__(name, globals, locals, fromlist or (), level)
    found = __import__(f"{package}.{name}", globals, locals, fromlist or (), 0)
    return found if fromlist else sys.modules[f"{package}.{top}"]


@cache
def _is_in_folder(package: str, top: str) -> bool:
    """Return True if a name means a module in the folder of a package's file of rules."""
    rules = sys.modules[package]
    spec = PathFinder.find_spec(f"{package}.{top}", rules.__path__)
    if spec is None or top == sources.OURS or Path(rules.__path__[0]).name in sources.SHARED:
        return False
    if spec.loader is not None and spec.origin != rules.__file__:
        return True
    # Installed modules come before the file itself and before folders that are not packages.
    installed = importlib.util.find_spec(top)
    return installed is None or installed.origin == spec.origin


def _games(module: ModuleType) -> list[str]:
    """Return the names of the games that a module defines and does not import."""
    return [
        name
        for name, value in vars(module).items()
        if isinstance(value, type)
        and issubclass(value, PlainGame)
        and value.__module__ == module.__name__
    ]


def _parameters(reference: str, match: re.Match[str]) -> Parameters:
    """Return the parameters in a reference."""
    try:
        if match["words"] is not None:
            return [_word(text) for text in match["words"].split("-")], {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # from the compiler: the error says what is wrong
            call = ast.parse(f"f({match['parameters'] or ''})", mode="eval").body
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
                raise ValueError
            by_name = {str(each.arg): ast.literal_eval(each.value) for each in call.keywords}
            values = [*map(ast.literal_eval, call.args), *by_name.values()]
            repeated = len(by_name) < len(call.keywords)
            if repeated or "None" in by_name or not all(map(_is_literal, values)):
                raise ValueError  # also for **{}, and for 1e999
            return values[: len(call.args)], by_name
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise GameNameError(
            f"{shown(reference)}: parameters are Python literals, such as (3, 'misere') or (rows=3)"
        ) from error


def _word(text: str) -> Any:
    """Return the value of a parameter after a hyphen; case does not matter to True and None."""
    if re.fullmatch(r"[0-9]{1,99}", text):
        return int(text)
    return {"true": True, "false": False, "none": None}.get(text.lower(), text)


def _said(made: Any, parameters: Parameters) -> str:
    """Return parameters in the one spelling of the game's name; see `load`."""
    values, by_name = parameters
    try:
        signature = inspect.signature(made)
        bound = signature.bind(*values, **by_name)
    except (TypeError, ValueError):  # of a class in C; or the name is of other rules
        return ",".join(
            [*map(_literal, values), *(f"{n}={_literal(v)}" for n, v in by_name.items())]
        )
    given = {*bound.arguments}
    bound.apply_defaults()
    said: list[str] = []
    needed, by_position = 0, True  # `needed`: how many are left without defaults at the end
    for name, parameter in signature.parameters.items():
        value, text = bound.arguments[name], f"{name}={_literal(bound.arguments[name])}"
        is_default = name not in given or repr(value) == repr(parameter.default)
        if parameter.kind is parameter.VAR_POSITIONAL:
            said += map(_literal, value)
            needed = len(said) if value else needed
        elif parameter.kind is parameter.VAR_KEYWORD:
            said[needed:] = [f"{key}={_literal(each)}" for key, each in sorted(value.items())]
            needed = len(said)
        elif parameter.kind is parameter.KEYWORD_ONLY or not by_position:
            said[needed:] = [] if is_default else [text]
            needed = len(said)
        elif name not in given and not _is_literal(value):
            by_position = False
        else:
            said.append(_literal(value))
            needed = needed if is_default else len(said)
    return ",".join(said[:needed])


def _literal(value: Any) -> str:
    """Return the literal of a value; the elements of a set are in order."""
    if isinstance(value, set) and value:
        return f"{{{', '.join(sorted(map(repr, value)))}}}"
    return repr(value)


def _is_literal(value: Any) -> bool:
    """Return whether the repr of a value is a literal; that of infinity is not."""
    try:
        ast.literal_eval(repr(value))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return False
    return True


def _make(value: Any, parameters: Parameters, reference: str) -> Game | PlainGame:
    values, by_name = parameters
    try:
        with asking, chdir("."):
            if not callable(value) and (values or by_name):
                raise GameNameError(f"{shown(reference)} is an object, which takes no parameters")
            game = value(*values, **by_name) if callable(value) else value
            if isinstance(game, Game | PlainGame):
                return game
    except BaseException as error:
        blame(f"{reference} cannot be created", error, GameNameError)
    raise GameNameError(f"{reference} is not a game; subclass graphstore.PlainGame")
