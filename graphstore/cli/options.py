"""What the commands share: options, opening a database, messages on standard error."""

import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import click

from graphstore.errors import StoreMissingError, visible
from graphstore.util.files import new_file

F = TypeVar("F", bound=Callable[..., Any])


def fail(message: str, exit_code: int = 1) -> None:
    """Print an error in one line, and exit."""
    say(" ".join(message.splitlines()))
    sys.exit(exit_code)


def say(message: str) -> None:
    """Print a message on standard error, without control characters."""
    click.echo(f"graphstore: {visible(message)}", err=True)


def size(text: str) -> int:
    """Return a number of bytes, written as 4GB or 500 MB."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", text, re.IGNORECASE)
    if match is None:
        raise click.BadParameter(f"{text!r} is not a size: write it as 4GB or 500MB")
    number, unit, binary = match.groups()
    return int(float(number) * (1024 if binary else 1000) ** " kmgt".index(unit.lower() or " "))


def complete_game(_context: Any, _parameter: Any, typed: str) -> list[str]:
    """Return the names of games that begin as typed, for the shell."""
    from graphstore.games import FAMILIES

    names = [name for family in FAMILIES for name in (*family.examples, *family.large)]
    return [name for name in names if name.startswith(typed)]


@contextmanager
def warnings_said() -> Iterator[None]:
    """Print the package's warnings as they come, each as one line."""

    def warn(message: Warning | str, *_: Any) -> None:
        say(f"warning: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = warn  # type: ignore[assignment]  # it needs no more than the message
        yield


def opened(file: str, rules: str | None = None) -> Any:
    """Return the open database of a file, with the rules that an option named."""
    from graphstore.store.store import Store
    from graphstore.util.forks import closed_on_error

    try:
        with warnings_said():
            store = Store.open(file)
            with closed_on_error(store.close):
                game = _named_rules(store.info["name"], rules)
            if game is None:
                return store
            store.close()
            return Store.open(file, rules=game)
    except StoreMissingError:
        given = click.get_current_context().params
        for other in (given.get("position"), given.get("statement")):
            if other is not None and os.path.isfile(other):
                raise click.UsageError(f"{other} is a file; FILE goes first") from None
        raise


@contextmanager
def asked(file: str, rules: str | None = None) -> Iterator[Callable[..., Any]]:
    """Yield the method `sql` of a database or of a folder, with the rules that an option named."""
    if not os.path.isdir(file):
        with opened(file, rules) as store:
            yield store.sql
        return
    from graphstore.store.folder.folder import Folder

    folder = Folder.open(file)
    with warnings_said():
        yield partial(folder.sql, rules=_named_rules(folder.info["name"], rules))


def _named_rules(name: str, rules: str | None) -> Any:
    """Return the rules that an option or the variable names for a game; None: the built-in ones."""
    from graphstore.games import find_builtin, find_game

    if rules is None or (find_builtin(name) and from_environment("rules")):
        return None  # the variable is for games that are not built in
    return find_game(rules)


def from_environment(option: str) -> bool:
    """Return whether an option has its value from an environment variable."""
    source = click.get_current_context().get_parameter_source(option)
    return source is click.core.ParameterSource.ENVIRONMENT


def is_strategy(store: Any) -> bool:
    """Return whether a database holds a strategy, under which depths are bounds."""
    from graphstore.store.schema import STRATEGY

    return bool(store.info["extent"] == STRATEGY)


def say_if_without_rules(store: Any) -> Any:
    """Return the rules; print a message and return None where they are unknown."""
    if store.has_rules:
        return store.game
    name = store.info["name"]
    say(
        f"{name} is not built in; without --rules FILE.py:NAME, "
        "positions are found only as they are stored"
    )
    return None


def refuse_existing(path: str, *, ending: str = "") -> None:
    """Raise an error for a file that cannot be made, before the work."""
    if not path.lower().endswith(ending):
        raise click.UsageError(f"{path}: its name must end in {ending}, which is what it will be")
    with new_file(path, keep=False):
        pass


def number(
    name: str, text: str, *, least: int = 0, most: int | None = None, **more: Any
) -> Callable[[F], F]:
    """Return an option that takes a whole number N; `text` is its help."""
    more = {"metavar": "N", "show_default": "default" in more, **more}
    return click.option(name, type=click.IntRange(least, most), help=text, **more)


class Number(click.FloatRange):
    """A number in a range, which nan is not."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the number."""
        number = super().convert(value, param, ctx)
        return self.fail(f"{value} is not a number", param, ctx) if number != number else number


@contextmanager
def working() -> Iterator[Any]:
    """Yield a progress callback that draws on a terminal; meanwhile warnings are one line each."""
    from graphstore.cli.console import progress_shown

    with warnings_said(), progress_shown() as progress:
        yield progress


JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
CSV = click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
FILE = click.argument("file", type=click.Path())
GAME = click.argument("game", shell_complete=complete_game)
ABOUT_RULES = "The rules of a game that is not built in; runs their code."
RULES = click.option(
    "--rules",
    envvar="GRAPHSTORE_RULES",
    metavar="FILE.py:NAME",
    help=f"{ABOUT_RULES}  [env: GRAPHSTORE_RULES]",
)
POSITION = click.argument("position", required=False)
DB = click.option(
    "--db", metavar="FILE", help="Where to write it  [default: the game's name, here]"
)
FORCE = click.option(
    "--force", is_flag=True, help="Replace the file if there is one; keep its agents."
)
DROP_AGENTS = click.option(
    "--drop-agents", is_flag=True, help="With --force, do not keep its agents."
)
CURVE = click.option(
    "--curve", metavar="PNG", help="Draw how the agent has learned, to a new file."
)
BELOW = click.option(
    "--from",
    "below",
    multiple=True,
    metavar="POSITION",
    callback=lambda _context, _parameter, given: given or None,
    help="Only what play from here can reach; may be given more than once.",
)
