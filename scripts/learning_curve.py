"""How does a MENACE learn: how often it wins, and how much of what it does is right, game by game?

With a database and --agent NAME it shows what is there. With --games N the agent, or a new one,
plays N games more, in a copy that is thrown away: the file is not written to. A game's name is
built first, into a folder that is thrown away, too.
"""

import argparse
import csv
import os
import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from graphstore import GraphstoreError, Store, build, train
from graphstore.cli.console import print_json, print_table
from graphstore.exports.learning_curve import draw, figure_class
from graphstore.play.agents import load
from graphstore.play.standings import Curve, curve

SETTINGS = ("side", "against", "seed")


def main() -> None:
    """Print the curve of an agent, and draw it where asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("game", help="a database, or a name such as tictactoe")
    parser.add_argument("--agent", default="menace", help="its name, default: %(default)s")
    parser.add_argument("--games", type=int, default=0, help="train it so many games more")
    parser.add_argument("--side", type=int, choices=(0, 1, 2), help="of a new agent; 0: both")
    parser.add_argument("--against", help="self, perfect, random, mistakes=P, or another agent")
    parser.add_argument("--seed", type=int, help="of a new agent")
    parser.add_argument("--plot", metavar="PNG", help="draw it, too (needs matplotlib)")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="print CSV")
    form.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    if arguments.plot and not arguments.plot.lower().endswith(".png"):
        parser.error(
            f"--plot {arguments.plot}: its name must end in .png, which is what it will be"
        )
    if arguments.plot and Path(arguments.plot).resolve() == Path(arguments.game).resolve():
        parser.error(f"--plot {arguments.plot} would replace the database")
    given = {name: getattr(arguments, name) for name in SETTINGS}
    settings = {name: value for name, value in given.items() if value is not None}
    if settings and not arguments.games:
        parser.error("--side, --against and --seed are for training; add --games")
    if not arguments.games and Path(arguments.game).suffix != ".db":
        parser.error(f"{arguments.game} is no database, and so has no agents yet; add --games")
    try:
        if arguments.plot:
            figure_class()  # says that matplotlib is missing before the games, not after
        game, learned = learning_curve(arguments.game, arguments.agent, arguments.games, **settings)
        if arguments.plot:
            draw(learned, arguments.agent, game, arguments.plot)
    except GraphstoreError as error:
        sys.exit(f"learning_curve: {error}")
    rows = learned.points()
    if arguments.json:
        print_json(rows)
    elif arguments.csv:
        writer = csv.DictWriter(sys.stdout, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    else:
        print_table(
            [*rows[0]],
            [[None if cell is None else round(cell, 3) for cell in row.values()] for row in rows],
        )


def learning_curve(
    game: str, agent: str, games: int = 0, **settings: int | str
) -> tuple[str, Curve]:
    """Return the name of the game, and how an agent learned it, with so many games more.

    >>> name, learned = learning_curve("tictactoe", "x", 100, side=1, seed=1)
    >>> name, learned.games.tolist()[-3:], learned.alone
    ('tictactoe', [90, 95, 100], True)
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(game)
        if file.suffix != ".db":
            file = Path(folder) / "game.db"
            build(game, file)
        elif games:
            with Store.open(file) as store:  # which says it if there is no such file
                file = Path(folder) / "copy.db"
                copy(store.path, file)
        if games:
            try:
                train(file, agent, games=games, **settings)  # type: ignore[arg-type]
            except GraphstoreError as error:  # which must not name a file that is thrown away
                raise GraphstoreError(str(error).replace(str(file), game)) from error
        with Store.open(file) as store:
            return store.info["name"], curve(store, load(store, agent))


def copy(source: Path, target: Path) -> None:
    """Copy a database as a reader sees it, even while another program writes to it."""
    uri = f"{source.absolute().as_uri()}?mode=ro"
    with (
        closing(sqlite3.connect(uri, uri=True)) as old,
        closing(sqlite3.connect(target)) as new,
    ):
        old.backup(new)


if __name__ == "__main__":
    try:
        main()
    except (BrokenPipeError, KeyboardInterrupt):  # `head` has seen enough, or a person has
        os._exit(1)
