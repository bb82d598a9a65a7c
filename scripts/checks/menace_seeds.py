"""Measure how well MENACE learns, over many seeds.

For each seed a new agent learns a game against one opponent. The script prints the shares of its
last games that it won, drew and lost, and the share of its boxes whose favourite moves keep the
value.
"""

import argparse
import tempfile
from pathlib import Path
from statistics import quantiles
from typing import Any

from shared import Figures, run_main

from graphstore import Store, build, train
from graphstore.cli.console import print_json, print_table

SHARES = ("won", "drawn", "lost", "kept")
RESULTS = """SELECT winner, sum(played.games) FROM played JOIN agent ON agent.id = played.agent
    WHERE name = ? AND number > ? GROUP BY winner"""


def main() -> None:
    """Train an agent for each seed and print the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("game", nargs="?", default="tictactoe", help="default: %(default)s")
    parser.add_argument("--side", type=int, default=1, choices=(1, 2), help="default: %(default)s")
    parser.add_argument("--against", default="perfect", help="opponent, default: %(default)s")
    parser.add_argument(
        "--games", type=int, default=3000, help="of each agent, default: %(default)s"
    )
    parser.add_argument(
        "--last",
        type=int,
        default=500,
        help="games that count, in whole blocks, default: %(default)s",
    )
    parser.add_argument(
        "--seeds", type=int, default=20, help="number of agents, default: %(default)s"
    )
    parser.add_argument(
        "--empty",
        default="refill",
        choices=("refill", "resign"),
        help="what to do with an empty box",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = vars(parser.parse_args())
    as_json = options.pop("json")
    learned = over_seeds(options.pop("game"), options.pop("seeds"), **options)
    if as_json:
        print_json(learned)
        return
    rows = [[each["seed"], *(round(each[name], 3) for name in SHARES)] for each in learned]
    print_table(("seed", *SHARES), rows)
    for name in SHARES:
        found = sorted(each[name] for each in learned)
        low, middle, high = (
            quantiles(found, n=4, method="inclusive") if len(found) > 1 else found * 3
        )
        print(
            f"{name:<5} least {found[0]:.3f}, quartiles {low:.3f} {middle:.3f} {high:.3f}, "
            f"most {found[-1]:.3f}"
        )


def over_seeds(
    game: str, seeds: int, *, side: int, games: int, last: int, **settings: Any
) -> list[Figures]:
    """Return the shares of an agent for each seed.

    >>> learned = over_seeds("tictactoe", 2, side=1, against="perfect", games=500, last=100)
    >>> [round(each["won"] + each["drawn"] + each["lost"], 6) for each in learned]
    [1.0, 1.0]
    """
    learned = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "game.db"
        build(game, file)
        for seed in range(seeds):
            name = f"seed-{seed}"
            report = train(file, name, games=games, side=side, seed=seed, **settings)
            with Store.open(file) as store:
                count: dict[int, int] = dict(store.sql(RESULTS, [name, games - last]))
            total = max(sum(count.values()), 1)
            shares = [count.get(winner, 0) / total for winner in (side, 0, 3 - side)]
            shares.append(report.kept / max(report.boxes, 1))
            learned.append({"seed": seed} | dict(zip(SHARES, shares, strict=True)))
    return learned


if __name__ == "__main__":
    run_main(main)
