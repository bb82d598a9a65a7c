"""How many positions there are after each ply, beside the numbers that were published.

From a database the census says what the positions are worth, too. A name is walked through, ply by
ply, without solving; with --plies also a game far too large to build, such as connect(7,6). Where
published numbers are known they stand in a column, and the exit code is 1 if any differs.
"""

import argparse
import os
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from graphstore import Game, GraphstoreError, Store, find_game
from graphstore.cli.console import print_json, print_table
from graphstore.errors import TooLargeError
from graphstore.rules.game import IN_PLAY

MOST = 20_000_000  # states of a walk: some GB
Row = dict[str, Any]


class Published(NamedTuple):
    """Numbers by ply, from 0 on, of which there may be more; of states or of positions."""

    source: str
    counts: str
    by_ply: tuple[int, ...]


PUBLISHED = {
    "tictactoe": Published(
        "OEIS A008907", "states", (1, 3, 12, 38, 108, 174, 204, 153, 57, 15)
    ),  # positions after n plays, up to rotation and reflection
    "connect(7,6)": Published(
        "OEIS A212693, its first terms",
        "positions",
        (1, 7, 49, 238, 1120, 4263, 16422, 54859, 184275, 558186, 1662623, 4568683, 12236101),
    ),  # legal 7 X 6 Connect-Four positions after n plies
}
TOTALS = {  # columns, rows, positions in all: John Tromp, tromp.github.io/c4/c4.html
    "connect(4,4)": (4, 4, 161_029),
    "connect(4,5)": (4, 5, 1_706_255),
    "connect(5,4)": (5, 4, 3_945_711),
}


def main() -> None:
    """Print the census of a game, and fail where it is not the published one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("game", help="a database, or a name such as tictactoe")
    parser.add_argument("--plies", type=int, help="stop after so many plies")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    if arguments.plies is not None and arguments.plies < 0:
        parser.error("--plies must not be negative")
    try:
        name, rows, whole = census(arguments.game, arguments.plies)
    except GraphstoreError as error:
        sys.exit(f"census: {error}")
    wrong = compare(name, rows) if whole else []
    if arguments.json:
        print_json({"game": name, "census": rows, "wrong": wrong})
    else:
        print_table([*rows[0]], [[*row.values()] for row in rows])
    if wrong:
        sys.exit(f"census: {name}: {'; '.join(wrong)}")


def census(game: str, plies: int | None = None) -> tuple[str, list[Row], bool]:
    """Return a game's name and rows by ply, of a database or a walk; and whether from its starts.

    >>> name, rows, whole = census("connect(7,6)", 4)
    >>> name, [row["positions"] for row in rows], whole
    ('connect(7,6)', [1, 7, 49, 238, 1120], True)
    """
    end = None if plies is None else plies + 1
    if Path(game).suffix == ".db":
        with Store.open(game) as store:
            whole = store.info["extent"] == "whole"
            return store.info["name"], store.census()[:end], whole
    rules = find_game(game)
    return rules.name, [*islice(walk(rules), end)], True


def walk(game: Game) -> Iterator[Row]:
    """Yield a row a ply: the states that play can reach in so many plies and no fewer.

    Raises:
        TooLargeError: there are more than this can hold.
    """
    new = np.unique(game.canonical(game.start_states()))
    known, ply = new, 0
    while new.size:
        outcomes = game.outcomes(new)
        yield {
            "ply": ply,
            "states": len(new),
            "positions": int(game.orbits(new).sum()),
            "ended": int((outcomes != IN_PLAY).sum()),
        }
        children = game.canonical(game.expand(new[outcomes == IN_PLAY]).child)
        new = np.setdiff1d(children, known)
        known, ply = np.union1d(known, new), ply + 1
        if known.size > MOST:
            raise TooLargeError(
                f"{game.name} has over {MOST:,} states; stop before: --plies {ply - 1}"
            )


def compare(name: str, rows: list[Row]) -> list[str]:
    """Put the published numbers into the rows; return where they differ, in words.

    >>> rows = [{"ply": 0, "states": 1}, {"ply": 1, "states": 4}]
    >>> compare("tictactoe", rows)
    ['ply 1 has 4 states, OEIS A008907 says 3']
    >>> [row["published"] for row in rows]
    [1, 3]
    """
    wrong = []
    published = PUBLISHED.get(name)
    if published is not None:
        for row in rows:
            known = dict(enumerate(published.by_ply)).get(row["ply"])
            row["published"] = known
            if known not in (None, row[published.counts]):
                wrong.append(
                    f"ply {row['ply']} has {row[published.counts]:,} {published.counts}, "
                    f"{published.source} says {known:,}"
                )
    columns, height, total = TOTALS.get(name, (0, 0, 0))
    if total and len(rows) == columns * height + 1:
        found = sum(row["positions"] for row in rows)
        if found != total:
            wrong.append(f"{found:,} positions in all, John Tromp says {total:,}")
    return wrong


if __name__ == "__main__":
    try:
        main()
    except (BrokenPipeError, KeyboardInterrupt):  # `head` has seen enough, or a person has
        os._exit(1)
