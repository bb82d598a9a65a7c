"""What the commands share: options, how a database is opened, how an error ends a command."""

import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar, TypeVar

import click

from graphstore.errors import StoreMissingError, visible
from graphstore.util.files import new_file

F = TypeVar("F", bound=Callable[..., Any])


def fail(message: str, exit_code: int = 1) -> None:
    """Say in one line what went wrong, and exit."""
    say(" ".join(message.splitlines()))
    sys.exit(exit_code)


def say(message: str) -> None:
    """Say something on stderr, of which a terminal obeys nothing."""
    click.echo(f"graphstore: {visible(message)}", err=True)


class Size(click.ParamType[int]):
    """A number of bytes, such as 4GB or 500 MB."""

    name = "size"
    _powers: ClassVar = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        """Return the number."""
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", str(value), re.I)
        if match is None:
            self.fail(f"{value!r} is not a size: write it as 4GB or 500MB", param, ctx)
        number, unit, binary = match.groups()
        power = self._powers[unit.lower()]
        return int(float(number) * (1024 if binary else 1000) ** power)


SIZE = Size()


def json_option(command: F) -> F:
    """Add ``--json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def csv_option(command: F) -> F:
    """Add ``--csv``."""
    return click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")(command)


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
    """Open a database with the rules that were named, and say what is wrong with them."""
    from graphstore.games import find_game
    from graphstore.store.store import Store

    try:
        with warnings_said():
            store = Store.open(file)
            if rules is None or (store.has_rules and from_environment("rules")):
                return store  # the variable is for games that are not built in
            store.close()
            return Store.open(file, rules=find_game(rules))
    except StoreMissingError:
        given = click.get_current_context().params
        for other in (given.get("position"), given.get("statement")):
            if other is not None and os.path.isfile(other):
                raise click.UsageError(f"{other} is a file; FILE goes first") from None
        raise


@contextmanager
def asked(file: str, rules: str | None = None) -> Iterator[Callable[..., Any]]:
    """Lend the method `sql` of a database, or of a folder, with the rules that were named."""
    if not os.path.isdir(file):
        with opened(file, rules) as store:
            yield store.sql
        return
    from graphstore.games import find_builtin, find_game
    from graphstore.store.folder.folder import Folder

    folder = Folder.open(file)
    if rules is not None and find_builtin(folder.info["name"]) and from_environment("rules"):
        rules = None  # the variable is for games that are not built in
    game = None if rules is None else find_game(rules)
    with warnings_said():
        yield partial(folder.sql, rules=game)


def from_environment(option: str) -> bool:
    """Return whether an option's value is an environment variable's."""
    source = click.get_current_context().get_parameter_source(option)
    return source is click.core.ParameterSource.ENVIRONMENT


def is_strategy(store: Any) -> bool:
    """Return whether a database holds a strategy, under which depths are bounds."""
    from graphstore.store.schema import STRATEGY

    return bool(store.info["extent"] == STRATEGY)


def say_if_without_rules(store: Any) -> Any:
    """Return the rules; without them, say in one line what that means, and return None."""
    if store.has_rules:
        return store.game
    name = store.info["name"]
    say(
        f"{name} is not built in; without --rules FILE.py:NAME, "
        "positions are found only as they are stored"
    )
    return None


def refuse_existing(path: str, *, ending: str = "") -> None:
    """Refuse a file that cannot be made, before the work."""
    if not path.lower().endswith(ending):
        raise click.UsageError(f"{path}: its name must end in {ending}, which is what it will be")
    with new_file(path, keep=False):
        pass


FILE = click.argument("file", type=click.Path())
RULES = click.option(
    "--rules",
    envvar="GRAPHSTORE_RULES",
    metavar="FILE.py:NAME",
    help="The rules of a game that is not built in; runs their code.  [env: GRAPHSTORE_RULES]",
)
POSITION = click.argument("position", required=False)
BELOW = click.option(
    "--from",
    "below",
    multiple=True,
    metavar="POSITION",
    help="Only what play from here can reach; may be given more than once.",
)
