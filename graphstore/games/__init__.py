"""The built-in games: one file of rules a family, listed here once.

In comes a name such as ``mnk(4,4,4)``; out comes a `Game`. `find_game` also finds rules in files,
modules and OpenSpiel. `boardtext` and `heaps` read what users type; `encodings` and
`ultimate.record` are formats of other programs. A new game is a new file and a line in `FAMILIES`.

>>> find_game("mnk(4,4,4)").name
'mnk(4,4,4)'
"""

import re
import warnings
from collections.abc import Callable
from typing import NamedTuple

from graphstore.errors import GameNameError, RulesDifferWarning, RulesMissingError, shown
from graphstore.games import connect, grid, hexapawn, morris, nim, subtraction, vanishing
from graphstore.games.ultimate import rules as ultimate
from graphstore.rules import loading, openspiel
from graphstore.rules.game import Game
from graphstore.util import arguments


class Family(NamedTuple):
    """Games that share their rules and differ in parameters."""

    usage: str  # the name with its parameters, as help shows it
    about: str
    examples: tuple[str, ...]  # names that build in seconds
    make: Callable[..., Game]  # raises GameNameError, or TypeError for a wrong number of parameters
    large: tuple[str, ...] = ()  # names too large to build, except from a late position

    @property
    def name(self) -> str:
        return self.usage.partition("(")[0]


FAMILIES = (
    Family(
        "tictactoe",
        "three in a row on a board of three by three: mnk(3,3,3)",
        ("tictactoe",),
        grid.tictactoe,
    ),
    Family(
        "mnk(m,n,k[,misere])",
        "k in a row on m columns by n rows, at most 31 cells; misere: making a line loses",
        ("mnk(4,3,3)", "mnk(4,4,4)", "mnk(3,3,3,misere)"),
        grid.mnk,
    ),
    Family(
        "connect(w,h[,k])",
        "stones fall down w columns of h cells, k in a row win, by default 4; w * (h + 1) <= 63",
        ("connect(4,4)", "connect(5,3,3)", "connect(6,2)"),
        connect.connect,
    ),
    Family(
        "vanishing",
        "three in a row on three by three with three marks each: a fourth makes the oldest vanish",
        ("vanishing",),
        vanishing.Vanishing,
    ),
    Family(
        "morris(variant[,stuck][,straight])",
        "three men's morris: place three men, then move them; variant: orthogonal, diagonals, "
        "king or flying; stuck: loss, draw or pass; straight: diagonal lines do not win",
        ("morris(orthogonal)", "morris(diagonals)", "morris(flying)", "morris(king,pass,straight)"),
        morris.morris,
    ),
    Family(
        "nim(heap,...[,misere])",
        "take any number from one heap; who takes the last wins; misere: loses",
        ("nim(3,4,5)", "nim(1,3,5,7,misere)", "nim(2,2,12)"),
        nim.nim,
    ),
    Family(
        "subtraction(n,take,...[,misere])",
        "take one of the given numbers from a heap of n; who cannot loses; misere: wins",
        ("subtraction(21,1,2,3)", "subtraction(30,2,5,6,misere)"),
        subtraction.subtraction,
    ),
    Family(
        "hexapawn(w,h)",
        "pawns on w columns by h rows, at most 31 cells; who reaches the far side or leaves the "
        "opponent without a move wins",
        ("hexapawn(3,3)", "hexapawn(4,4)"),
        hexapawn.hexapawn,
    ),
    Family(
        "ultimate(rules[,count])",
        "nine fields of tic-tac-toe, the spot played is the field to go to; rules: open or closed, "
        "with count most fields decide; too large to build from the start",
        (),
        ultimate.ultimate,
        ("ultimate(open)", "ultimate(closed)", "ultimate(closed,count)"),
    ),
)

_NAME = re.compile(r"\s*(?P<family>[a-z][a-z0-9_]*)\s*(?:\((?P<parameters>[^()]*)\))?\s*", re.I)


def find_game(name: str) -> Game:
    """Return the game of a name such as ``tictactoe``, ``mnk(4,4,4)`` or ``my_rules.py:Chomp``.

    Built-in games come first, then those of installed packages; a name with a colon loads rules
    from a file or a module, which runs their code. For built-in games case and spaces do not
    matter; ``find_game(name).name`` is the name without them.

    Raises:
        GameNameError: no such game, or parameters that it cannot have.
    """
    if not isinstance(name, str):
        raise GameNameError(f"{shown(name)} is not the name of a game, which is a text")
    if name.startswith(openspiel.PREFIX):
        return openspiel.OpenSpielGame(name.removeprefix(openspiel.PREFIX))
    if ":" in name or name.strip().endswith(".py"):
        return loading.load(name)
    match = _NAME.fullmatch(name)
    game = find_builtin(name)
    if game is None and match is not None:
        game = loading.load_installed(match["family"], match["parameters"])
    if game is None:
        known = ", ".join([*(family.usage for family in FAMILIES), *loading.installed()])
        raise GameNameError(
            f"there is no game {shown(name)}; the games are {known}; your own is FILE.py:NAME"
        )
    return game


def rules_of(game: Game | str) -> Game:
    """Return the rules that were given, or those of the game whose name was given."""
    if isinstance(game, str):
        return find_game(game)
    arguments.rules("game", game)
    return game


def find_builtin(name: str) -> Game | None:
    """Return the built-in game of a name, or None; this runs no code but the package's own."""
    match = _NAME.fullmatch(name)
    families = {family.name: family for family in FAMILIES}
    if match is None or match["family"].lower() not in families:
        return None
    family = families[match["family"].lower()]
    given = (match["parameters"] or "").strip()
    parameters = [_parameter(text, family) for text in given.split(",")] if given else []
    try:
        return family.make(*parameters)
    except TypeError:
        raise GameNameError(
            f"{shown(name)} has {len(parameters)} parameter{'s' * (len(parameters) != 1)}; "
            f"write {family.usage}"
        ) from None


def are_those_of(rules: Game, name: str, version: str) -> bool:
    """Return whether rules are those that a game of this name and version was built by."""
    # A digest of files tells their rules, wherever they lie; a built-in version needs the name.
    if find_builtin(rules.name) is not None:
        return (rules.name, rules.rules) == (name, version)
    return version in (rules.rules, getattr(rules, "rules_alone", rules.rules))


def warn_of_other_rules(rules: Game, where: str, name: str, version: str, hint: str = "") -> None:
    """Warn where rules are not those that a game of this name and version was built by."""
    if not are_those_of(rules, name, version):
        warnings.warn(
            f"{where} was built by other rules, or another version of them: "
            f"{name} {version}, now {rules.name} {rules.rules}{hint}",
            RulesDifferWarning,
            stacklevel=4,
        )


def given_or_builtin(name: str, rules: Game | None) -> Game:
    """Return the rules of a game: those given, else the built-in ones."""
    found = rules or find_builtin(name)
    if found is None:
        raise RulesMissingError(f"{name} is not built in; add --rules FILE.py:NAME (rules=)")
    return found


def _parameter(text: str, family: Family) -> int | str:
    text = text.strip().lower()
    if re.fullmatch(r"[0-9]{1,9}", text):
        return int(text)
    if re.fullmatch(r"[0-9]+", text):
        raise GameNameError(f"{shown(text)} is too large a number for {family.usage}")
    if re.fullmatch(r"[a-z_]{1,32}", text):
        return text
    raise GameNameError(f"{shown(text)} is not a parameter that {family.usage} can have")
