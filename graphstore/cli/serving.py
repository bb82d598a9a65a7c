"""The command `serve`: the browser explorer."""

import os
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Final

import click

from graphstore.cli import options
from graphstore.errors import AddressError
from graphstore.util.extras import extra


class Unsplit(click.types.StringParamType):
    """A text that click does not split at spaces if it comes from the environment."""

    def split_envvar_value(self, rv: str) -> list[str]:
        """Return the whole text as one value."""
        return [rv]


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(), metavar="FILE...")
@click.option(
    "--host", default="127.0.0.1", show_default=True, metavar="HOST", help="Listen at this address."
)
@options.number(
    "--port", "Listen at this port; 0 for any free port.", least=0, most=65535, default=8001
)
@click.option(
    "--allow-host",
    "allowed",
    multiple=True,
    metavar="NAME",
    help="Answer requests for this name, too, not only for localhost or, with --host, for HOST and "
    "any IP address. May be given more than once.",
)
@click.option(
    "--behind-proxy",
    is_flag=True,
    help="Obey X-Forwarded-For and X-Forwarded-Proto of a proxy on this machine.",
)
@click.option("--open", "show", is_flag=True, help="Open the explorer in the browser.")
@click.option(
    "--rules",
    multiple=True,
    type=Unsplit(),
    envvar="GRAPHSTORE_RULES",
    show_envvar=True,
    metavar="FILE.py:NAME",
    help=f"{options.ABOUT_RULES} May be given more than once; each file is opened with the rules "
    "that fit it.",
)
def serve(
    files: tuple[str, ...],
    host: str,
    port: int,
    allowed: tuple[str, ...],
    behind_proxy: bool,
    show: bool,
    rules: tuple[str, ...],
) -> None:
    """Serve a read-only web explorer of FILEs.

    It has boards, moves, tables and SQL. The command prints its address; Ctrl-C ends it. FILE may
    also be a postgresql:// address, whose tables are not shown, or a folder that `graphstore build
    --folder` wrote: up to 200,000 states are loaded into a temporary file first, and the tables of
    more are not shown. The positions of a game such as connect(7,6) or FILE.py:NAME are searched
    when they are looked at.
    """
    with extra('the explorer needs Datasette: pip install "datasette<1"', megabytes=600):
        from graphstore.web import server
        from graphstore.web.application import application
        from graphstore.web.hosts import Hosts, is_loopback

    try:
        hosts = Hosts(allowed, listens_at=host)
    except AddressError as error:
        raise click.UsageError(f"--allow-host {error}") from error
    with ExitStack() as held:
        stores = all_opened(held, [loaded(held, file) for file in files], rules)
        explorer = held.enter_context(closing(application(stores, hosts)))
        listening = held.enter_context(server.listen(host, port))
        if not is_loopback(host):
            options.say(f"warning: anyone who can reach {host} can read these files")
        url = server.address(host, listening)
        print(url, flush=True)
        if show:
            server.show(url)
        server.serve(explorer, listening, behind_proxy=behind_proxy)


MOST_LOADED: Final = 200_000  # states; more would take many seconds


def loaded(held: ExitStack, file: str) -> str:
    """Return a file or address; of a small folder of parts a temporary file, which has tables."""
    if not os.path.isdir(file):
        return file
    from tempfile import TemporaryDirectory

    from graphstore.building.from_folder import load
    from graphstore.store.folder.folder import Folder

    folder = Folder.open(file)
    if folder.info["states"] > MOST_LOADED:
        return file
    target = Path(held.enter_context(TemporaryDirectory()), f"{folder.path.resolve().stem}.db")
    options.say(f"{file} is loaded into a temporary file; to keep one: graphstore load {file}")
    with options.working() as progress:
        load(folder, target, progress=progress)
    return str(target)


def all_opened(held: ExitStack, files: Sequence[str], rules: Sequence[str]) -> list[Any]:
    """Return the open databases, each with the rules that fit it; closing `held` closes them."""
    if len(files) == 1 and len(rules) < 2:
        return [held.enter_context(options.opened_or_searched(files[0], *rules))]
    from graphstore.games import find_game

    games = [find_game(text) for text in rules]
    stores = [held.enter_context(options.opened_or_searched(file, games)) for file in files]
    used = [store.game.name for store in stores if store.has_rules]
    if len(used) == len(stores) and not options.from_environment("rules"):
        for text, game in zip(rules, games, strict=True):
            if game.name not in used:
                options.say(f"warning: none of these files was built with {text}")
    return stores
