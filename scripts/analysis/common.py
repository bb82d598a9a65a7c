"""Functions that the scripts of this folder share: options, errors and tables."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphstore import GameGraph, GraphstoreError
from graphstore.cli.console import print_table

Row = dict[str, Any]

DATABASE = "a database that graphstore built"
DATABASE_OR_NAME = "a database, or a name such as tictactoe"


def run_main(main: Callable[[], None]) -> None:
    """Run a script: an error is one line on stderr, and the exit code is 1."""
    script = Path(sys.argv[0]).stem
    try:
        main()
    except GraphstoreError as error:
        sys.exit(f"{script}: {error}")
    except (BrokenPipeError, KeyboardInterrupt):  # `head` has read enough, or Ctrl-C
        os._exit(1)
    except OSError as error:
        sys.exit(f"{script}: {error.filename}: {error.strerror}")


def worth(graph: GameGraph, of_states: NDArray[Any]) -> NDArray[Any]:
    """Return a column of the child of each move, such as `value`, for the player who moves."""
    of_child, keeps = of_states[graph.edges_by_move.child], graph.keeps
    return np.asarray(-of_child if keeps is None else np.where(keeps, of_child, -of_child))


def options(description: str | None, source: str, text: str) -> argparse.ArgumentParser:
    """Return a parser with --json and the one positional argument, given as its name and help."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(source, help=text)
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def number(text: str) -> int:
    """Return the value of an option that is a number and not negative."""
    if int(text) < 0:
        raise argparse.ArgumentTypeError("must not be negative")
    return int(text)


def add_limit(parser: argparse.ArgumentParser) -> None:
    """Add --limit."""
    parser.add_argument("--limit", type=number, default=10, help="rows shown, default: %(default)s")


def is_database(source: str) -> bool:
    """Return whether an argument is a database, and not the name of a game."""
    path = Path(source)
    return path.suffix == ".db" or (path.suffix != ".py" and path.is_file())


def print_rows(rows: Sequence[Row], *, digits: int = 3) -> None:
    """Print rows as a table: fractions are rounded, True is 1, a list is its items."""

    def cell(value: Any) -> Any:
        if isinstance(value, list):
            return " ".join(map(str, value))
        if isinstance(value, float):
            return round(value, digits)
        return int(value) if isinstance(value, bool) else value

    if rows:
        print_table([*rows[0]], ([cell(value) for value in row.values()] for row in rows))
