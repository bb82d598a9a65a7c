"""How well MENACE learns, over many seeds.

For each seed a new agent learns a game against one opponent. Printed is the share of its last
games that it won, drew and lost, and of the boxes whose favourite moves keep the value.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from statistics import quantiles
from typing import NamedTuple

from graphstore import GraphstoreError, Store, build, train


class Learned(NamedTuple):
    """What one seed came to, as shares.

    Attributes:
        seed: of the agent's generator.
        won: of the last games.
        drawn: likewise.
        lost: likewise.
        kept: of the boxes.
    """

    seed: int
    won: float
    drawn: float
    lost: float
    kept: float


def main() -> None:
    """Train an agent for each seed and print what they came to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("game", nargs="?", default="tictactoe", help="default: %(default)s")
    parser.add_argument("--side", type=int, default=1, choices=(1, 2), help="default: %(default)s")
    parser.add_argument("--against", default="perfect", help="default: %(default)s")
    parser.add_argument("--games", type=int, default=3000, help="default: %(default)s")
    parser.add_argument("--last", type=int, default=500, help="default: %(default)s")
    parser.add_argument("--seeds", type=int, default=20, help="default: %(default)s")
    parser.add_argument("--empty", default="refill", choices=("refill", "resign"))
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    try:
        learned = over_seeds(
            arguments.game,
            range(arguments.seeds),
            side=arguments.side,
            against=arguments.against,
            games=arguments.games,
            last=arguments.last,
            empty=arguments.empty,
        )
    except GraphstoreError as error:
        sys.exit(f"menace_seeds: {error}")
    if arguments.json:
        print(json.dumps([each._asdict() for each in learned]))
        return
    print("seed    won  drawn   lost   kept")
    for seed, *shares in learned:
        print(f"{seed:>4}  " + "  ".join(f"{share:.3f}" for share in shares))
    for name in Learned._fields[1:]:
        shares = sorted(getattr(each, name) for each in learned)
        low, middle, high = (
            quantiles(shares, n=4, method="inclusive") if len(shares) > 1 else shares * 3
        )
        print(
            f"{name:<5} least {shares[0]:.3f}, quartiles {low:.3f} {middle:.3f} {high:.3f}, "
            f"most {shares[-1]:.3f}"
        )


def over_seeds(
    game: str, seeds: range, *, side: int, against: str, games: int, last: int, empty: str
) -> list[Learned]:
    """Return what an agent of each seed came to.

    >>> learned = over_seeds(
    ...     "tictactoe", range(2), side=1, against="perfect", games=500, last=100, empty="refill"
    ... )
    >>> [round(each.won + each.drawn + each.lost, 6) for each in learned]
    [1.0, 1.0]
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "game.db"
        build(game, file)
        return [
            _learned(file, seed, side, games, last, against=against, empty=empty) for seed in seeds
        ]


def _learned(
    file: Path, seed: int, side: int, games: int, last: int, *, against: str, empty: str
) -> Learned:
    name = f"seed-{seed}"
    report = train(file, name, games=games, side=side, against=against, empty=empty, seed=seed)
    with Store.open(file) as store:
        answer = store.sql(
            """SELECT winner, count(*) FROM played JOIN agent ON agent.id = played.agent
            WHERE name = ? AND number > ? GROUP BY winner""",
            [name, games - last],
        )
        count: dict[int, int] = dict(answer)
    total = max(sum(count.values()), 1)
    won, drawn, lost = (count.get(winner, 0) / total for winner in (side, 0, 3 - side))
    return Learned(seed, won, drawn, lost, report.kept / max(report.boxes, 1))


if __name__ == "__main__":
    main()
