"""The options and messages that commands share, and functions that open a database."""

import logging
import os
import re
import sys
import warnings
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, TypeVar

import click

from graphstore.errors import GameNameError, GraphstoreError, StoreMissingError, visible
from graphstore.util.extras import short_of_memory
from graphstore.util.files import new_file

FEW = 20_000  # states to explore before the time of a build is estimated
SOON = 2.0  # seconds; a game that takes longer is not built for one command

F = TypeVar("F", bound=Callable[..., Any])


def fail(message: str, exit_code: int = 1) -> None:
    """Print an error in one line and exit."""
    say(" ".join(message.splitlines()))
    sys.exit(exit_code)


def fail_at_once(message: str) -> None:
    """Print an error and exit without the end of the interpreter, which would need memory, too."""
    say(message)
    os._exit(1)


def say(message: str) -> None:
    """Print a message to standard error, without control characters."""
    click.echo(f"graphstore: {visible(message)}", err=True)


class SayFirst(logging.Handler):
    """A handler of log messages that prints the first one."""

    said = False

    def emit(self, record: logging.LogRecord) -> None:
        """Print a message if none was printed before."""
        if not self.said:
            self.said = True
            say(record.getMessage())


@contextmanager
def notes_printed() -> Iterator[None]:
    """Print one line if moves are read without their prefix, and one if a search lacks numba."""
    names = ("graphstore.rules.positions", "graphstore.solver.bitboards")
    handlers = [(logging.getLogger(name), SayFirst()) for name in names]
    for log, handler in handlers:
        log.addHandler(handler)
        log.setLevel(logging.INFO)
    try:
        yield
    finally:
        for log, handler in handlers:
            log.removeHandler(handler)
            log.setLevel(logging.NOTSET)


def size(text: str) -> int:
    """Return the number of bytes in a text such as 4GB or 500 MB."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", text, re.IGNORECASE)
    if match is None:
        raise click.BadParameter(f"{text!r} is not a size: write it as 4GB or 500MB")
    number, unit, binary = match.groups()
    return int(float(number) * (1024 if binary else 1000) ** " kmgt".index(unit.lower() or " "))


def decoded(typed: bytes) -> str:
    """Return the text of a file or of standard input."""
    # PowerShell before version 6 writes files in UTF-16, and UTF-8 with a mark.
    encoding = "utf-16" if typed[:2] in (BOM_UTF16_LE, BOM_UTF16_BE) else "utf-8-sig"
    return typed.decode(encoding, errors="replace")


def complete_game(_context: Any, _parameter: Any, typed: str) -> list[str]:
    """Return the names of games that start with the typed text, for shell completion."""
    from graphstore.games import FAMILIES

    names = [name for family in FAMILIES for name in (*family.examples, *family.large)]
    return [name for name in names if name.startswith(typed)]


@contextmanager
def warnings_printed() -> Iterator[None]:
    """Print each warning of the package as one line."""

    def warn(message: Warning | str, *_: Any) -> None:
        say(f"warning: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = warn  # type: ignore[assignment]  # only the message is used
        yield


def opened(
    file: str,
    rules: str | Sequence[Any] | None = None,
    *,
    loosely: bool = False,
    repair: bool = False,
) -> Any:
    """Return the open database of a file, with the rules of --rules that fit it, if any.

    `rules` are the text of --rules, or rules to choose from. See `graphstore.games.fitting` for
    `loosely`, and `recover` for `repair`.
    """
    from graphstore.store.store import Store, recover
    from graphstore.util.forks import closed_on_error

    try:
        if repair:
            recover(file)
        with warnings_printed():
            store = Store.open(file)
            with closed_on_error(store.close):
                game = _fitting(rules, store.info, file, loosely=loosely)
            if game is None:
                return store
            store.close()
            return Store.open(file, rules=game)
    except StoreMissingError:
        context = click.get_current_context()
        for other in (context.params.get("position"), context.params.get("statement")):
            if other is not None and os.path.isfile(other):
                raise click.UsageError(f"{other} is a file; FILE goes first") from None
        from graphstore.games import not_a_file

        then = "give" if "book" in context.params else f"run graphstore {context.info_name}"
        advice = not_a_file(file, then=then)
        if advice:
            raise StoreMissingError(f"there is no file {file}; {advice}") from None
        raise


@contextmanager
def opened_or_built(
    file: str, rules: str | None = None, *, seconds: float | None = None
) -> Iterator[Any]:
    """Yield what `opened` returns; or the database of a small built-in game with that name.

    The database of a game is in the working folder, or is built for this command only. With
    `seconds`, other games are searched without a database, for up to so long.
    """
    from graphstore.games import file_name, spelled

    game = None
    if not os.path.lexists(file):
        with suppress(GameNameError):
            game = spelled(file)
    if game is not None and os.path.isfile(file_name(game.name)):
        say(f"there is no file {file}, so {file_name(game.name)} is read")
        file, game = file_name(game.name), None
    with ExitStack() as held:
        if game is not None:
            from tempfile import TemporaryDirectory

            from graphstore.building.in_memory import build
            from graphstore.solver.exploration import estimate

            if estimate(game, look=FEW).seconds < SOON:
                folder, name = held.enter_context(TemporaryDirectory()), file_name(game.name)
                build(game, os.path.join(folder, name))
                again = f"graphstore build {name.removesuffix('.db')}"
                say(
                    f"there is no file {file}, so the game is built for this command; "
                    f"to keep it: {again}"
                )
                file = os.path.join(folder, name)
        if seconds is None:
            yield held.enter_context(opened(file, rules))
        else:
            yield held.enter_context(opened_or_searched(file, rules, seconds=seconds))


def opened_or_searched(
    file: str, rules: str | Sequence[Any] | None = None, *, seconds: float | None = None
) -> Any:
    """Return what `opened` returns; or else a game of that name, to search without a database."""
    from graphstore.play.searched import SearchedGame, named

    game = named(file)
    if game is None:
        return opened(file, rules)
    if isinstance(rules, str) and not from_environment("rules"):
        raise click.UsageError(f"--rules are for a database; {file} is a game with its own rules")
    return SearchedGame(game, seconds=seconds)


@contextmanager
def opened_or_folder(
    file: str, rules: str | None = None, *, loosely: bool = False
) -> Iterator[tuple[Any, Any]]:
    """Yield an open database, or a `Folder`, and the rules for it that the database lacks."""
    if not os.path.isdir(file):
        with opened(file, rules, loosely=loosely) as store:
            yield store, None
        return
    from graphstore.store.folder.folder import Folder

    folder = Folder.open(file)
    with warnings_printed():
        yield folder, _fitting(rules, folder.info, file, loosely=loosely)


def _fitting(
    rules: str | Sequence[Any] | None, info: dict[str, Any], file: str, *, loosely: bool = False
) -> Any:
    """Return the rules that fit a database, or None, for its built-in rules or none.

    A warning says that no given rules fit, except for built-in games if several were given.
    """
    if not rules:
        return None
    from graphstore.games import find_builtin, find_game, fitting

    name, builtin = info["name"], find_builtin(info["name"]) is not None
    if builtin and from_environment("rules"):
        return None  # the variable does not apply to built-in games
    games: Sequence[Any] = [find_game(rules)] if isinstance(rules, str) else rules
    game = fitting(games, name, info["rules"], loosely=loosely)
    if game is None and (isinstance(rules, str) or not builtin):
        given = ", ".join(each.name for each in games)
        without = "with its own" if builtin else "without"
        say(f"warning: {file} holds {name}, so it is opened {without} rules, not with {given}")
    return game


def from_environment(option: str) -> bool:
    """Return whether the value of an option comes from an environment variable."""
    source = click.get_current_context().get_parameter_source(option)
    return source is click.core.ParameterSource.ENVIRONMENT


def is_strategy(store: Any) -> bool:
    """Return whether a database holds a strategy, whose depths are upper bounds."""
    from graphstore.store.format import STRATEGY

    return bool(store.info["extent"] == STRATEGY)


def say_if_at_last_ply(store: Any, probe: Any) -> None:
    """Print a message if a position is at the last ply of a book, which has no moves there."""
    if not probe.moves and not probe.ended:
        say(
            f'the book ends here; to search the moves: graphstore solve "{store.info["name"]}" '
            f"{probe.position} --moves"
        )


def say_if_without_rules(store: Any) -> Any:
    """Return the rules of a database; print a message and return None if they are unknown."""
    if store.has_rules:
        return store.game
    if click.get_current_context().params.get("rules"):
        return None  # they did not fit; a warning said so
    name = store.info["name"]
    say(
        f"{name} is not built in, so only positions as stored are found; "
        "give --rules FILE.py:NAME to read other spellings"
    )
    return None


def refuse_existing(path: str, *, ending: str = "") -> None:
    """Raise an error early if a new file of this name cannot be written."""
    if not path.lower().endswith(ending):
        raise click.UsageError(f"{path}: the name of the file must end in {ending}")
    with new_file(path, keep=False):
        pass


def number(
    name: str, text: str, *, least: int = 0, most: int | None = None, **more: Any
) -> Callable[[F], F]:
    """Return an option that takes an integer N; `text` is its help."""
    more = {"metavar": "N", "show_default": "default" in more, **more}
    return click.option(name, type=click.IntRange(least, most), help=text, **more)


class Number(click.FloatRange):
    """A number in a range, but not nan."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the number."""
        number = super().convert(value, param, ctx)
        return self.fail(f"{value} is not a number", param, ctx) if number != number else number


@contextmanager
def working() -> Iterator[Any]:
    """Yield a progress callback that draws on a terminal; print each warning as one line."""
    from graphstore.cli.console import progress_shown

    with warnings_printed(), progress_shown() as progress:
        yield progress


@contextmanager
def advised(advice: str) -> Iterator[None]:
    """End the process with an advice if an error means too little memory."""
    try:
        yield
    except Exception as error:
        if isinstance(error, GraphstoreError) or not short_of_memory(error):
            raise
        fail_at_once(f"not enough memory; {advice}")


def json(text: str = "Print JSON instead of text.") -> Callable[[F], F]:
    """Return the option --json; `text` is its help."""
    return click.option("--json", "as_json", is_flag=True, help=text)


JSON = json()
CSV = click.option("--csv", "as_csv", is_flag=True, help="Print CSV instead of text.")
FILE = click.argument("file", type=click.Path())
GAME = click.argument("game", shell_complete=complete_game)
ABOUT_RULES = "Load the rules of a game that is not built in; this runs their code."
RULES = click.option(
    "--rules", envvar="GRAPHSTORE_RULES", show_envvar=True, metavar="FILE.py:NAME", help=ABOUT_RULES
)
POSITION = click.argument("position", required=False)
BY = click.option(
    "--by",
    type=click.Choice(["value", "margin"]),
    default="value",
    show_default=True,
    help="What best play is: the fastest win, or the greatest margin in a game of scores.",
)
MAX_STATES = number(
    "--max-states", "Stop with an error at more than N states.", least=1, show_default="100 million"
)
DB = click.option(
    "--db",
    metavar="FILE",
    show_default="named after the game, such as tictactoe.db",
    help="Write to this file, or to a postgresql:// address.",
)
FORCE = click.option(
    "--force", is_flag=True, help="Replace what graphstore wrote before, but keep its agents."
)
DROP_AGENTS = click.option(
    "--drop-agents", is_flag=True, help="With --force, delete the agents of the old database."
)
CURVE = click.option(
    "--curve", metavar="PNG", help="Draw the learning curve of the agent to a new PNG file."
)


def _below(text: str) -> Callable[[Any], Any]:
    return click.option(
        "--from",
        "below",
        multiple=True,
        metavar="POSITION",
        callback=lambda _context, _parameter, given: given or None,
        show_default="the starts of the game",
        help=text,
    )


BELOW = _below("Include only what play from POSITION can reach; may be given more than once.")
BEGUN = _below("Begin at POSITION; give it twice, with each player to move.")
