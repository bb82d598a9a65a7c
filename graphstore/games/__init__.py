"""The built-in games: one module of rules for each family, listed in `FAMILIES`.

Input: a name such as ``mnk(4,4,4)``. Output: a `Game`. `find_game` also loads rules from files,
modules and OpenSpiel. `boardtext` and `heaps` read texts of positions, `ultimate.record` bytes of
other programs. A new game is a new module and a line in the list.

>>> find_game("mnk(4,4,4)").name
'mnk(4,4,4)'
"""

import os
import re
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, NamedTuple

from graphstore.errors import GameNameError, RulesDifferWarning, RulesMissingError, shown
from graphstore.rules import loading, openspiel
from graphstore.rules.adapter import accept
from graphstore.rules.game import Game
from graphstore.rules.plain import PlainGame


class Family(NamedTuple):
    """Games that share their rules and differ in parameters."""

    usage: str  # the name with its parameters, as help shows it
    about: str
    examples: tuple[str, ...]  # names of games that build in seconds
    large: tuple[str, ...] = ()  # names of games that build only from a late position
    aliases: tuple[str, ...] = ()  # other names; case, spaces, hyphens and apostrophes do not count
    default: str = ""  # the parameters if none are given
    words: str = "[a-z_]{1,32}"  # the pattern of parameters that are not whole numbers
    spell: Callable[[str], str] = str  # returns the parameters, as typed, in standard form
    maker: Callable[..., Game] | None = None  # by default the function called as the family

    @property
    def name(self) -> str:
        return self.usage.partition("(")[0]

    @property
    def make(self) -> Callable[..., Game]:
        """A function of parameters; it raises a GameNameError, or a TypeError for their number."""
        return self.maker or _in(self.name, self.name)

    @property
    def example(self) -> str:
        """The usage, with an example of the parameters."""
        return ", such as ".join(dict.fromkeys((self.usage, (*self.examples, *self.large)[0])))


def _in(module: str, name: str, *first: Any) -> Callable[..., Any]:
    """Return a function that calls one of a module of this package, imported at the first call.

    `first` are its first arguments.
    """

    def call(*parameters: Any) -> Any:
        function = getattr(import_module(f"graphstore.games.{module}"), name)
        return function(*first, *parameters)

    return call


FAMILIES = (
    Family(
        "tictactoe",
        "three in a row on a board of 3 by 3; the same as mnk(3,3,3)",
        ("tictactoe",),
        maker=_in("grid", "tictactoe"),
        aliases=("ttt", "noughts and crosses", "naughts and crosses"),
    ),
    Family(
        "mnk(m,n,k[,misere])",
        "k in a row on m columns by n rows, at most 31 cells; misere: a line loses",
        ("mnk(4,3,3)", "mnk(4,4,4)", "mnk(3,3,3,misere)"),
        maker=_in("grid", "mnk"),
    ),
    Family(
        "connect(w,h[,k])",
        "stones fall down w columns of h cells; k in a row win, by default 4; w * (h + 1) <= 63",
        ("connect(4,4)", "connect(5,3,3)", "connect(6,2)"),
        aliases=("connect 4", "connect four", "4 in a row", "four in a row"),
        default="7,6",
    ),
    Family(
        "vanishing",
        "three in a row on a board of 3 by 3; a player's fourth mark removes his oldest one",
        ("vanishing",),
        maker=_in("vanishing", "Vanishing"),
        aliases=("vanishing tic tac toe", "infinite tic tac toe"),
    ),
    Family(
        "morris(variant[,stuck][,straight])",
        "three men's morris: place three men, then move them; variant: orthogonal, diagonals, "
        "king or flying; stuck: loss, draw or pass; straight: diagonal lines do not win",
        ("morris(orthogonal)", "morris(diagonals)", "morris(flying)", "morris(king,pass,straight)"),
        aliases=("three men's morris", "3 men's morris"),
    ),
    Family(
        "nim(heap,...[,misere])",
        "take any number from one heap; taking the last one wins; misere: it loses",
        ("nim(3,4,5)", "nim(1,3,5,7,misere)", "nim(2,2,12)"),
    ),
    Family(
        "subtraction(n,take,...[,misere])",
        "take one of the given numbers from a heap of n; a player who cannot move loses; "
        "misere: wins",
        ("subtraction(21,1,2,3)", "subtraction(30,2,5,6,misere)"),
    ),
    Family(
        "octal(code,n)",
        "take from a heap of n, at most 63, and perhaps split it, as an octal code such as 0.77 "
        "says; a player who cannot move loses",
        ("octal(0.07,12)", "octal(4.3,9)"),
        words=r"[0-9]?\.[0-9]{1,99}",
        spell=_in("octal", "with_point"),
    ),
    Family(
        "kayles(n)",
        "knock down one pin or two neighbours of a row of n, at most 63; octal(0.77,n)",
        ("kayles(12)",),
        maker=_in("octal", "row", "kayles", "0.77"),
    ),
    Family(
        "dawson(n)",
        "take one of a row of n, at most 63, and its neighbours go, too; octal(0.137,n), the same "
        "as Dawson's Kayles, octal(0.07,n+1)",
        ("dawson(14)",),
        maker=_in("octal", "row", "dawson", "0.137"),
        aliases=("dawson's chess",),
    ),
    Family(
        "wythoff(a,b)",
        "take any number from one of two heaps, or the same number from both; taking the last wins",
        ("wythoff(5,8)",),
        aliases=("wythoff's game", "wythoff's nim"),
    ),
    Family(
        "chomp(w,h)",
        "eat a square of w columns by h rows with all that are below or to the right of it; the "
        "square at the top left is not eaten",
        ("chomp(4,3)",),
    ),
    Family(
        "domineering(w,h)",
        "cover two free cells of w columns by h rows, at most 31 cells: one player vertically, the "
        "other horizontally; either may begin, and a player who cannot move loses",
        ("domineering(3,3)", "domineering(4,4)"),
    ),
    Family(
        "hexapawn(w,h)",
        "pawns on w columns by h rows, at most 31 cells; a player wins by reaching the far side or "
        "leaving the opponent without a move",
        ("hexapawn(3,3)", "hexapawn(4,4)"),
    ),
    Family(
        "othello(w,h)",
        "discs that outflank others turn them; w columns by h rows, even, at most 31 cells; a "
        "player who cannot turn any passes; the result is the difference of the discs",
        ("othello(4,4)",),
        ("othello(4,6)",),
        aliases=("reversi",),
    ),
    Family(
        "dots_and_boxes(w,h)",
        "draw lines around w columns by h rows of boxes; who closes a box has it and moves again; "
        "the result is the difference of the boxes",
        ("dots_and_boxes(2,2)", "dots_and_boxes(1,3)"),
        aliases=("dots", "boxes"),
    ),
    Family(
        "kalah(m,n[,empty][,either])",
        "sow the seeds of m pits of n a side; a last seed in the own store moves again, in an own "
        "empty pit takes the seeds opposite; empty: also from an empty pit; either: the game ends "
        "when either player has no seeds in pits, else when the mover has none",
        ("kalah(3,2)", "kalah(2,3,empty)", "kalah(2,2,either)"),
        ("kalah(6,4)",),
        aliases=("kalaha",),
    ),
    Family(
        "ultimate(rules[,count])",
        "nine fields of tic-tac-toe; the spot played is the field of the next move; rules: open or "
        "closed; count: most fields decide; too large to build from the start",
        (),
        ("ultimate(open)", "ultimate(closed)", "ultimate(closed,count)"),
        aliases=("ultimate tic tac toe", "super tic tac toe"),
        maker=_in("ultimate.rules", "ultimate"),
    ),
)

_SEPARATORS = re.compile(r"[ \t_'\u2019-]+")
_SPELLED = {
    _SEPARATORS.sub("", spelling): family
    for family in FAMILIES
    for spelling in (family.name, *family.aliases)
}
_MOST_WORDS = 4  # of a name, such as "ultimate tic tac toe"


def find_game(name: str) -> Game:
    """Return the game of a name such as ``tictactoe``, ``mnk(4,4,4)`` or ``my_rules.py:Chomp``.

    Built-in games come first, then those of installed packages, then other names of built-in games,
    such as ``tic-tac-toe``. A name with a colon loads rules from a file or a module, which runs
    their code. ``mnk-4-4-4``, as in the name of a database, is another spelling of ``mnk(4,4,4)``
    that needs no quotes in a shell. For built-in games case and spaces do not matter;
    ``find_game(name).name`` is the one name that databases have.

    Raises:
        GameNameError: the game is unknown, or its parameters are invalid.

    >>> find_game("connect-4-4").name, find_game("Tic-Tac-Toe").name, find_game("connect four").name
    ('connect(4,4)', 'tictactoe', 'connect(7,6)')
    """
    if not isinstance(name, str):
        raise GameNameError(f"{shown(name)} is not the name of a game: a name is a str")
    if "://" in name:  # not quoted: a password may be in it
        raise GameNameError("the address of a database is not a game; give the name of a game")
    if name.endswith((".db", ".sqlite", ".sqlite3")):
        raise GameNameError(f"{shown(name)} is a database, not a game; give the name of a game")
    if name.startswith(openspiel.PREFIX):
        return openspiel.load(name.removeprefix(openspiel.PREFIX))
    if ":" in name or name.strip().endswith(".py"):
        return loading.load(name)
    game = None
    if re.split("[(-]", name.strip().lower())[0] not in {family.name for family in FAMILIES}:
        game = loading.load_installed(name)
    game = game or spelled(name)
    if game is None:
        raise GameNameError(f"there is no game {shown(name)}; {_instead_of(name)}")
    return game


def rules_of(game: Game | PlainGame | str, argument: str = "game") -> Game:
    """Return the rules of an argument, which may be the name of a game; a user's are checked."""
    return find_game(game) if isinstance(game, str) else accept(game, argument)


def find_builtin(name: str) -> Game | None:
    """Return the built-in game that databases call by this name; this never runs a user's code."""
    with suppress(GameNameError):
        game = spelled(name)
        if game is not None and game.name == name:  # a user's class may be called Connect4
            return game
    return None


def spelled(name: str) -> Game | None:
    """Return the built-in game that a user means by a name, or None.

    Raises:
        GameNameError: the parameters are invalid.
    """
    head, bracket, given = name.strip().partition("(")
    if bracket and (given[-1:] != ")" or re.search(r"[()]", given[:-1])):
        return None
    family, given = _SPELLED.get(_letters(head)), given[:-1].strip()
    words = head.split("-")
    if family is None and not bracket:
        for count in range(min(len(words), _MOST_WORDS), 0, -1):
            first = words[:count]  # not connect-4, so that connect-4-5 is connect(4,5)
            if family is None and not first[-1].isdigit():
                family, given = _SPELLED.get(_letters("-".join(first))), ",".join(words[count:])
    if family is None:
        return None
    given = family.spell(given or family.default)
    parameters = [_parameter(text, family) for text in given.split(",")] if given else []
    try:
        return family.make(*parameters)
    except TypeError:
        raise GameNameError(
            f"{shown(name)} has {len(parameters)} parameter{'s' * (len(parameters) != 1)}; "
            f"write {family.example}"
        ) from None
    except GameNameError as error:
        if parameters:
            raise
        raise GameNameError(f"{error}; write {family.example}") from None


def _letters(name: str) -> str:
    """Return a name in lower case, without separators."""
    return _SEPARATORS.sub("", name.lower())


def _instead_of(name: str) -> str:
    """Return an advice for an unknown name: the nearest name, or all names."""
    from difflib import get_close_matches

    known = _SPELLED | dict.fromkeys(loading.installed())
    meant = _letters(name.partition("(")[0][:60])
    for near in get_close_matches(meant, known, n=1, cutoff=0.8):
        family = known[near]
        return f"did you mean {near if family is None else family.example}?"
    usages = (family.usage for family in FAMILIES)
    return (
        f"the games are {', '.join((*usages, *loading.installed()))}; "
        "for your own rules write FILE.py:NAME"
    )


def file_name(game: str) -> str:
    """Return the default name of the database of a game; `find_game` reads it without ``.db``.

    >>> file_name("mnk(4,4,4)"), file_name("rules.py:Ring")
    ('mnk-4-4-4.db', 'ring.db')
    """
    short = game.rpartition(":")[2].lower()
    return re.sub(r"[^a-z0-9]+", "-", short).strip("-") + ".db"


def not_a_file(text: str, *, then: str = "open") -> str:
    """Return an advice for a missing file whose name is that of a game; empty if it is not."""
    try:
        game = spelled(text)
    except GameNameError as error:
        return str(error)
    if game is None:
        return ""
    file = file_name(game.name)
    built = f"run graphstore build {file.removesuffix('.db')}, then "
    return f"{text} is a game; {'' if os.path.isfile(file) else built}{then} {file}"


def are_those_of(rules: Game, name: str, version: str) -> bool:
    """Return True if a game of this name and version was built by these rules."""
    if rules.name != name and not loading.is_same_class(rules, name):
        return False
    return version in (rules.rules, *getattr(rules, "rules_before", ()))


def fitting(
    games: Sequence[Game], name: str, version: str, *, loosely: bool = False
) -> Game | None:
    """Return the rules of a game of this name and version, or those most like them, or None.

    They have the same class and parameters; `loosely`, their parameters may differ.
    """
    laws: tuple[Callable[[Game], bool], ...] = (
        lambda rules: rules.name == name,
        lambda rules: are_those_of(rules, name, version),
        lambda rules: loading.is_same_class(rules, name, loosely=loosely),  # in another version
    )
    return next((rules for fits in laws for rules in games if fits(rules)), None)


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
    if re.fullmatch(family.words, text):
        return text
    raise GameNameError(f"{shown(text)} is not a parameter of {family.usage}")
