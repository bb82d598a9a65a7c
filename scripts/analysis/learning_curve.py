"""Print how a MENACE agent learns, game by game: its results, and how many of its moves are right.

With a database and --agent NAME, it prints the curve of the stored games. With --games N, the agent
or a new one plays N more games in a temporary copy, and the file does not change. A game given by
name is built in a temporary folder first.
"""

import argparse
import csv
import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from common import (
    DATABASE_OR_NAME,
    add_plot,
    check_plot,
    is_database,
    options,
    print_rows,
    run_main,
)

from graphstore import GraphstoreError, Store, build, train
from graphstore.cli.console import print_json
from graphstore.exports.learning_curve import about, draw, figure_class
from graphstore.play.agents import load
from graphstore.play.standings import Curve, curve

SETTINGS = ("side", "against", "seed")


def main() -> None:
    """Print the curve of an agent, and draw it with --plot."""
    parser = _parser()
    arguments = parser.parse_args()
    if arguments.csv and arguments.json:
        parser.error("--csv and --json exclude each other")
    check_plot(parser, arguments.plot, arguments.game)
    given = {name: getattr(arguments, name) for name in SETTINGS}
    settings = {name: value for name, value in given.items() if value is not None}
    if settings and not arguments.games:
        parser.error("--side, --against and --seed are for training; add --games")
    if not arguments.games and not is_database(arguments.game):
        parser.error(f"{arguments.game} is not a database, so it has no agents; add --games")
    if arguments.plot:
        figure_class()  # raises if matplotlib is missing, before the games are played
    game, learned, played = learning_curve(
        arguments.game, arguments.agent, arguments.games, **settings
    )
    if arguments.plot:
        draw(learned, arguments.agent, game, arguments.plot, about=played)
    rows = learned.points()
    if arguments.json:
        print_json(rows)
    elif arguments.csv:
        writer = csv.DictWriter(sys.stdout, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    else:
        print_rows(rows)


def _parser() -> argparse.ArgumentParser:
    parser = options(__doc__, "game", DATABASE_OR_NAME)
    parser.add_argument("--agent", default="menace", help="name of the agent, default: %(default)s")
    parser.add_argument(
        "--games", type=int, default=0, help="train the agent in this many more games"
    )
    parser.add_argument(
        "--side", type=int, choices=(0, 1, 2), help="side of a new agent; 0 is both"
    )
    parser.add_argument("--against", help="self, perfect, random, mistakes=P or an agent")
    parser.add_argument("--seed", type=int, help="seed of a new agent")
    parser.add_argument("--csv", action="store_true", help="print CSV")
    add_plot(parser)
    return parser


def learning_curve(
    game: str, agent: str, games: int = 0, **settings: int | str
) -> tuple[str, Curve, str]:
    """Return the game, an agent's curve after `games` more games, and whom it played.

    >>> name, learned, played = learning_curve("tictactoe", "x", 100, side=1, seed=1)
    >>> name, learned.games.tolist()[-3:], learned.alone, played
    ('tictactoe', [90, 95, 100], True, 'X against perfect, seed 1')
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(game)
        if not is_database(game):
            file = Path(folder) / "game.db"
            build(game, file)
        elif games:
            with Store.open(file) as store:  # raises if there is no such file
                file = Path(folder) / "copy.db"
                copy(store.path, file)
        if games:
            try:
                train(file, agent, games=games, **settings)  # type: ignore[arg-type]
            except GraphstoreError as error:  # must not name the temporary file
                raise GraphstoreError(str(error).replace(str(file), game)) from error
        with Store.open(file) as store:
            known = load(store, agent)
            return store.info["name"], curve(store, known), about(store, known)


def copy(source: Path, target: Path) -> None:
    """Copy a database as a reader sees it, even while another program writes to it."""
    uri = f"{source.absolute().as_uri()}?mode=ro"
    with (
        closing(sqlite3.connect(uri, uri=True)) as old,
        closing(sqlite3.connect(target)) as new,
    ):
        old.backup(new)


if __name__ == "__main__":
    run_main(main)
