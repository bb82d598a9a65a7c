"""Print the number of positions at each ply, together with published numbers.

For a database the values are printed, too. The game of a name is explored ply by ply and not
solved, so with --plies it may be far too large to build, such as connect(7,6). Published numbers,
where they are known, are in a column; the exit code is 1 if any number differs.
"""

import sys
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np
from common import DATABASE_OR_NAME, Row, is_database, number, options, print_rows, run_main

from graphstore import Game, Store, find_game
from graphstore.cli.console import print_json
from graphstore.errors import TooLargeError
from graphstore.rules.game import IN_PLAY

MOST = 20_000_000  # states that an exploration keeps in memory: some GB


class Published(NamedTuple):
    """Published numbers of states or of positions by ply, from ply 0."""

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
    """Print the census of a game, and fail if it is not the published one."""
    parser = options(__doc__, "game", DATABASE_OR_NAME)
    parser.add_argument("--plies", type=number, help="stop after this many plies")
    arguments = parser.parse_args()
    name, rows, whole = census(arguments.game, arguments.plies)
    wrong = compare(name, rows) if whole else []
    if arguments.json:
        print_json({"game": name, "census": rows, "wrong": wrong})
    else:
        print_rows(rows)
    if wrong:
        sys.exit(f"census: {name}: {'; '.join(wrong)}")


def census(game: str, plies: int | None = None) -> tuple[str, list[Row], bool]:
    """Return the name of a game, its rows by ply, and whether they begin at its starts.

    >>> name, rows, whole = census("connect(7,6)", 4)
    >>> name, [row["positions"] for row in rows], whole
    ('connect(7,6)', [1, 7, 49, 238, 1120], True)
    """
    end = None if plies is None else plies + 1
    if is_database(game):
        with Store.open(game) as store:
            whole = store.info["extent"] == "whole"
            return store.info["name"], store.census()[:end], whole
    rules = find_game(game)
    return rules.name, [*islice(walk(rules), end)], True


def walk(game: Game) -> Iterator[Row]:
    """Yield a row for each ply: the states that are reached in so many plies and not in fewer.

    Raises:
        TooLargeError: the states do not fit in memory.
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
                f"{game.name} has over {MOST:,} states; stop earlier: --plies {ply - 1}"
            )


def compare(name: str, rows: list[Row]) -> list[str]:
    """Add the published numbers to the rows; return a message for each difference.

    >>> rows = [{"ply": 0, "states": 1}, {"ply": 1, "states": 4}]
    >>> compare("tictactoe", rows)
    ['ply 1 has 4 states, OEIS A008907 says 3']
    >>> [row["published"] for row in rows]
    [1, 3]
    """
    wrong = []
    if name in PUBLISHED:
        source, counts, by_ply = PUBLISHED[name]
        for row in rows:
            known = row["published"] = dict(enumerate(by_ply)).get(row["ply"])
            if known not in (None, row[counts]):
                wrong.append(
                    f"ply {row['ply']} has {row[counts]:,} {counts}, {source} says {known:,}"
                )
    columns, height, total = TOTALS.get(name, (0, 0, 0))
    found = sum(row.get("positions", 0) for row in rows)
    if total and len(rows) == columns * height + 1 and found != total:
        wrong.append(f"{found:,} positions in all, John Tromp says {total:,}")
    return wrong


if __name__ == "__main__":
    run_main(main)
