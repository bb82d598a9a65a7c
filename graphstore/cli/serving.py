"""The command that serves: the browser explorer."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Any

import click

from graphstore.cli.options import ABOUT_RULES, from_environment, number_option, opened
from graphstore.errors import MissingExtraError


class Unsplit(click.types.StringParamType):
    """A text; also from the environment, where click would split it at its spaces."""

    def split_envvar_value(self, rv: str) -> list[str]:
        """Return the one text."""
        return [rv]


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(), metavar="FILE...")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@number_option("--port", "0: any free one.", least=0, most=65535, default=8001)
@click.option("--open", "show", is_flag=True, help="Open it in the browser.")
@click.option(
    "--rules",
    multiple=True,
    type=Unsplit(),
    envvar="GRAPHSTORE_RULES",
    metavar="FILE.py:NAME",
    help=f"{ABOUT_RULES} May be given more than once: "
    "each goes to the files that it built.  [env: GRAPHSTORE_RULES]",
)
def serve(files: tuple[str, ...], host: str, port: int, show: bool, rules: tuple[str, ...]) -> None:
    """Open FILEs in the browser: boards, moves, tables and SQL, all of it only to be read.

    The address is printed; Ctrl-C ends it.
    """
    check_installed()
    from graphstore.web import server
    from graphstore.web.application import application

    with ExitStack() as held:
        stores = [held.enter_context(store) for store in all_opened(files, rules)]
        explorer = held.enter_context(closing(application(stores)))
        listening = held.enter_context(server.listen(host, port))
        if not server.is_loopback(host):
            click.echo(
                f"graphstore: warning: whoever can reach {host} can read these games", err=True
            )
        url = server.address(host, listening)
        print(url)
        sys.stdout.flush()
        if show:
            server.show(url)
        server.serve(explorer, listening)


def check_installed() -> None:
    """Say in one line what is missing, before anything else is done.

    Raises:
        MissingExtraError: Datasette is not installed.
    """
    try:
        import datasette.app  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            "the explorer needs Datasette: pip install 'datasette<1'"
        ) from error


def all_opened(files: tuple[str, ...], rules: tuple[str, ...]) -> Iterator[Any]:
    """Open databases, each with the rules that fit it."""
    if len(files) == 1 and len(rules) < 2:
        yield opened(files[0], *rules)
        return
    from graphstore.games import find_game

    games = [find_game(text) for text in rules]
    unused = set(rules)
    for file in files:
        store = opened(file)
        fitting = [text for text, game in zip(rules, games, strict=True) if built(store, game)]
        if fitting and not store.has_rules:
            store.close()
            store = opened(file, fitting[0])
        unused -= {*fitting}
        yield store
    if not from_environment("rules"):
        for text in sorted(unused):
            click.echo(f"graphstore: warning: {text} has built none of these files", err=True)


def built(store: Any, game: Any) -> bool:
    """Return whether rules, or another version of them, have built a database."""
    from graphstore.games import are_those_of

    name, rules = store.info["name"], store.info["rules"]
    return game.name == name or are_those_of(game, name, rules)
