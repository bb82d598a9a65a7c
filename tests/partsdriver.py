"""Build a game in parts, in a process that tests can kill: CLUSTER GAME FOLDER PARTS."""

import sys
from pathlib import Path

from graphstore import find_game
from graphstore.building.parts import build as building
from graphstore.building.parts import cluster as clusters
from graphstore.errors import GraphstoreError

if __name__ == "__main__":
    where, game, folder, parts = sys.argv[1:]
    try:
        clusters.LITTLE = -1  # they take the steps of small waves, too
        building.FEWEST = 1e-9  # which are split
        with clusters.cluster(where) as workers:
            building.build(
                find_game(game),
                Path(folder),
                workers=workers,
                parts=int(parts),
            )
    except GraphstoreError as error:
        sys.exit(f"graphstore: {error}")
    except KeyboardInterrupt:
        print("graphstore: interrupted", file=sys.stderr)
        sys.exit(130)
