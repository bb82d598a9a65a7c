"""The built-in games: one module of rules for each family, listed in `FAMILIES`.

Input: a name such as ``mnk(4,4,4)``. Output: a `Game`. `find_game` also loads rules from files,
modules and OpenSpiel. `boardtext` and `heaps` read texts of positions; `encodings` and
`ultimate.record` are formats of other programs. A new game is a new module and a line in the list.

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
from graphstore.rules.game import Game, accept
from graphstore.util import arguments


class Family(NamedTuple):
    """Games that share their rules and differ in parameters."""

    usage: str  # the name with its parameters, as help shows it
    about: str
    examples: tuple[str, ...]  # names of games that build in seconds
    make: Callable[..., Game]  # raises GameNameError, or TypeError for a wrong number of parameters
    large: tuple[str, ...] = ()  # names of games that build only from a late position

    @property
    def name(self) -> str:
        return self.usage.partition("(")[0]


FAMILIES = (
    Family(
        "tictactoe",
        "three in a row on a board of 3 by 3; the same as mnk(3,3,3)",
        ("tictactoe",),
        grid.tictactoe,
    ),
    Family(
        "mnk(m,n,k[,misere])",
        "k in a row on m columns by n rows, at most 31 cells; misere: a line loses",
        ("mnk(4,3,3)", "mnk(4,4,4)", "mnk(3,3,3,misere)"),
        grid.mnk,
    ),
    Family(
        "connect(w,h[,k])",
        "stones fall down w columns of h cells; k in a row win, by default 4; w * (h + 1) <= 63",
        ("connect(4,4)", "connect(5,3,3)", "connect(6,2)"),
        connect.connect,
    ),
    Family(
        "vanishing",
        "three in a row on a board of 3 by 3; a player's fourth mark removes his oldest one",
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
        "take any number from one heap; taking the last one wins; misere: it loses",
        ("nim(3,4,5)", "nim(1,3,5,7,misere)", "nim(2,2,12)"),
        nim.nim,
    ),
    Family(
        "subtraction(n,take,...[,misere])",
        "take one of the given numbers from a heap of n; a player who cannot move loses; "
        "misere: wins",
        ("subtraction(21,1,2,3)", "subtraction(30,2,5,6,misere)"),
        subtraction.subtraction,
    ),
    Family(
        "hexapawn(w,h)",
        "pawns on w columns by h rows, at most 31 cells; a player wins by reaching the far side or "
        "leaving the opponent without a move",
        ("hexapawn(3,3)", "hexapawn(4,4)"),
        hexapawn.hexapawn,
    ),
    Family(
        "ultimate(rules[,count])",
        "nine fields of tic-tac-toe; the spot played is the field of the next move; rules: open or "
        "closed; count: most fields decide; too large to build from the start",
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
        GameNameError: the game is unknown, or its parameters are invalid.
    """
    if not isinstance(name, str):
        raise GameNameError(f"{shown(name)} is not the name of a game: a name is a str")
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
            f"there is no game {shown(name)}; the games are {known}; "
            "for your own rules write FILE.py:NAME"
        )
    return game


def rules_of(game: Game | str) -> Game:
    """Return the rules of a game: the argument itself, or the game of a name."""
    if isinstance(game, str):
        return find_game(game)
    arguments.rules("game", game)
    accept(game)
    return game


def find_builtin(name: str) -> Game | None:
    """Return the built-in game of a name, or None; this never runs a user's code."""
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
    """Return True if a game of this name and version was built by these rules."""
    # A digest of files identifies rules in any folder; the version of a built-in game does not.
    if find_builtin(rules.name) is not None:
        return (rules.name, rules.rules) == (name, version)
    return version in (rules.rules, getattr(rules, "rules_alone", rules.rules))


def warn_of_other_rules(rules: Game, where: str, name: str, version: str, hint: str = "") -> None:
    """Warn if a game of this name and version was built by other rules."""
    if not are_those_of(rules, name, version):
        warnings.warn(
            f"{where} was built by other rules: {name}, version {version}; "
            f"these rules are {rules.name}, version {rules.rules}{hint}",
            RulesDifferWarning,
            stacklevel=4,
        )


def given_or_builtin(name: str, rules: Game | None) -> Game:
    """Return the given rules, else those of the built-in game, or raise a RulesMissingError."""
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
    raise GameNameError(f"{shown(text)} is not a parameter of {family.usage}")
