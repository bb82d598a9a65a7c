"""Measure what building in parts costs, beside the build in memory; extrapolate to larger games.

Every run is in its own process, so its peak memory is its own. The kinds of runs alternate, and the
best time of each counts, since other work on the machine can only add to a time. All runs of a game
must have the same content digest; it is an error if they do not. Nothing is asserted about time.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import numpy as np
from shared import Figures, Laps, best_runs, in_own_process, machine, run_main

from graphstore import Folder, GraphstoreError, build_folder, explore, find_game, load, solve
from graphstore.building.parts import build
from graphstore.building.saving import save
from graphstore.solver.columns import Worth
from graphstore.store.arrow import pyarrow
from graphstore.store.columns import SolvedGraph
from graphstore.store.folder.layout import draft_of, write_rows
from graphstore.store.store import find_backend
from graphstore.util.memory import peak_bytes

GAMES = ("connect(4,4)", "connect(4,5)", "connect(6,3)", "connect(5,4)")
LARGE = "connect(6,4)"
SPLIT = "connect(5,4)"  # its waves are split into parts, and among workers
PARTS = (1, 2, 4, 8, 32, 128)
WORKERS = (1, 2)
ROUNDS = 3

MB, TB = 1e6, 1e12
SENT = 8 + sum(column.itemsize for column in Worth.of_ended(np.zeros(1, np.int8)).arrays().values())
"""Bytes that are sent for a child that another part has: its id, and the answer."""

TARGETS = {"connect(7,5)": 112_829_665_923 // 2, "connect(7,6)": 4_531_985_219_092 // 2}
"""States of games too large to build here: half of the positions that M. Böck and J. Tromp count.

Hardly any position is its own mirror image.
"""
MOVES_A_STATE = 2.7  # of these games, on average; an assumption


MARKS = "<!-- measured -->", "<!-- end of measured -->"
"""The marks around the tables in a document."""

Rows = list[dict[str, str]]


def main() -> None:
    """Measure all, or read what was measured; print tables."""
    arguments = _arguments()
    result, shown = read_again(arguments.again) if arguments.again else measured(arguments)
    if arguments.into:
        put_into(Path(arguments.into), shown)
    else:
        print(json.dumps(result, indent=1) if arguments.json else shown)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("games", nargs="*", help=f"built-in games  [default: {', '.join(GAMES)}]")
    parser.add_argument("--split", help=f"the game for parts and workers  [default: {SPLIT}]")
    parser.add_argument("--full", action="store_true", help=f"{LARGE}, too: an hour, 7 GB, 15 GB")
    parser.add_argument("--no-cluster", action="store_true", help="no worker processes")
    parser.add_argument("--parts", type=int, default=PARTS[-1], help="at most so many")
    parser.add_argument("--fewest", type=float, default=50_000, help="states of a block, at least")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"turns  [default: {ROUNDS}]")
    parser.add_argument("--again", metavar="FILE", help="measure nothing: what --json has printed")
    parser.add_argument("--json", action="store_true", help="print JSON, for --again")
    parser.add_argument("--into", metavar="FILE", help="put the tables into a document, costs.md")
    arguments = parser.parse_args()
    if min(arguments.rounds, arguments.parts) < 1:
        parser.error("--rounds and --parts must be at least 1")
    if arguments.fewest <= 0:
        parser.error("--fewest must be above 0")
    arguments.split = arguments.split or (arguments.games[-1] if arguments.games else SPLIT)
    return arguments


def read_again(file: str) -> tuple[Figures, str]:
    """Return the result in a file that --json has written, and its tables."""
    try:
        result = json.loads(Path(file).read_bytes())
        return result, tables(result)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise GraphstoreError(f"{file} is not JSON of an earlier run: {error}") from error


def put_into(document: Path, shown: str) -> None:
    """Replace what a document has between `MARKS`."""
    before, begin, rest = document.read_text(encoding="utf-8").partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1])
    if not end:
        raise GraphstoreError(f"{document} has no place for the tables: {' '.join(MARKS)}")
    document.write_text(f"{before}{begin}\n{shown}\n{end}{after}", encoding="utf-8")


# Measuring


def measured(arguments: argparse.Namespace) -> tuple[Figures, str]:
    """Return the best run of every kind, and its tables."""
    workers = () if arguments.no_cluster else WORKERS
    tasks = []
    for game in dict.fromkeys([*(arguments.games or GAMES), arguments.split]):
        tasks += [_task("memory", game), _task("parts", game, parts=1)]
    parts = [parts for parts in PARTS if 1 < parts <= arguments.parts]
    tasks += [_task("parts", arguments.split, parts=each) for each in parts]
    tasks += [_task("parts", arguments.split, cluster=f"local:{each}") for each in workers]
    tasks *= arguments.rounds
    if arguments.full:
        tasks += [_task("memory", LARGE), _task("parts", LARGE, parts=1)]
        tasks += [_task("parts", LARGE, cluster=f"local:{each}") for each in workers]
    best = best_runs(
        tasks, partial(_child, fewest=arguments.fewest), lambda run: run["explore"] + run["solve"]
    )
    digests: dict[str, str] = {}
    for each in best.values():
        if digests.setdefault(each["game"], each["digest"]) != each["digest"]:
            raise GraphstoreError(f"builds of {each['game']} differ: {each}")
    about = machine()
    result = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{about['cores']} cores, {about['memory_gib']} GiB of memory, "
        f"Python {about['python']}, numpy {about['numpy']}",
        "rounds": arguments.rounds,
        "split": arguments.split,
        "runs": [*best.values()],
    }
    return result, tables(result)


def _task(
    piece: str, game: str, *, parts: int | None = None, cluster: str | None = None
) -> Figures:
    return {"piece": piece, "game": game, "parts": parts, "cluster": cluster}


def _child(task: Figures, fewest: float) -> Figures:
    """Return a task with its figures, measured in a process of its own; its files are removed."""
    with tempfile.TemporaryDirectory(prefix="graphstore-scaling-") as folder:
        found: Figures = in_own_process(
            __file__, f"piece_{task['piece']}", task | {"fewest": fewest}, folder
        )
    return task | found


def piece_memory(task: Figures, folder: str) -> Figures:
    """Measure the build in memory: exploring, solving, the files of a folder, and into SQLite."""
    pyarrow().array(np.zeros(1))  # imports what would count otherwise
    game, file = find_game(task["game"]), Path(folder, "memory.db")
    laps = Laps()
    graph = explore(game)
    laps.lap("explore")
    solve(graph)
    laps.lap("solve")
    content = SolvedGraph(game, graph)
    for table in ("state", "edge"):
        write_rows(
            Path(folder, f"{table}.parquet"), table, (rows for *_, rows in content.rows(table))
        )
    laps.lap("files")
    since = time.perf_counter()
    save(game.name, find_backend(file), lambda _: SolvedGraph(game, graph))
    return {
        **laps.seconds,
        "sqlite": round(time.perf_counter() - since, 3),
        "sqlite_bytes": file.stat().st_size,
        "states": content.states,
        "moves": content.moves,
        "digest": content.row()["digest"],
        "peak_bytes": peak_bytes(),
    }


def piece_parts(task: Figures, folder: str) -> Figures:
    """Measure the build in parts: the folder with its digests, and the folder into SQLite."""
    pyarrow().array(np.zeros(1))  # imports what would count otherwise
    path, most = Path(folder, "game.parts"), 0
    draft, seen = draft_of(path), set[tuple[str, int]]()

    def look(phase: str, done: int, total: int | None) -> None:
        """Note how much lies on the disk, at most twenty times in a phase."""
        nonlocal most
        moment = (phase, 20 * done // total if total else 0)
        if moment not in seen:
            seen.add(moment)
            most = max(most, _bytes(draft))

    parts, cluster, build.FEWEST = task["parts"], task["cluster"], task["fewest"]
    report = build_folder(task["game"], path, parts=parts, cluster=cluster, progress=look)
    made = Folder.open(path)
    figures = {
        "explore": report.seconds["explore"],
        "solve": report.seconds["solve"],
        "states": report.states,
        "moves": report.moves,
        "waves": made.info["plies"] + 1,
        "digest": made.info["digest"],
        "took": made.contents.took,
        "files": len(made.files("state") + made.files("edge")),
        "state_bytes": _bytes(path / "state"),
        "edge_bytes": _bytes(path / "edge"),
        "most_bytes": most,
        "peak_bytes": peak_bytes(),
    }
    if cluster is None and parts == 1:
        since = time.perf_counter()
        load(path, Path(folder, "parts.db"))
        figures["load"] = round(time.perf_counter() - since, 3)
    return figures


def _bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


# Tables


def tables(result: Figures) -> str:
    """Return the tables of a run, in Markdown."""
    runs = result["runs"]
    when = f"{result['date']}, {result['machine']}, best of {result['rounds']}"
    if LARGE in {run["game"] for run in runs}:
        when += f"; {LARGE} once"
    largest = [one for one, _ in _pairs(runs)][-1]
    return "\n\n".join(
        [
            _table(f"One part, one process, and the build in memory ({when}).", times(runs)),
            _table("Memory and disk of the same builds.", sizes(runs)),
            _table(
                "Parts and workers; the speed-up is over one part or one worker.",
                split(runs, result["split"]),
            ),
            _table(f"In proportion to the moves of {largest['game']}.", extrapolated(largest)),
        ]
    )


def _table(says: str, rows: Rows) -> str:
    lines = [[*rows[0]], ["---"] + ["--:"] * (len(rows[0]) - 1), *([*row.values()] for row in rows)]
    return "\n".join([says, "", *(f"| {' | '.join(line)} |" for line in lines)])


def _pairs(runs: list[Figures]) -> Iterator[tuple[Figures, Figures]]:
    """Yield (in one part by one process, in memory) of each game, by states."""
    memory = {run["game"]: run for run in runs if run["piece"] == "memory"}
    ones = [run for run in runs if run["parts"] == 1 and run["cluster"] is None]
    for run in sorted(ones, key=lambda run: int(run["states"])):
        yield run, memory[run["game"]]


def times(runs: list[Figures]) -> Rows:
    """Return the times of one part in one process beside those in memory."""
    rows = []
    for one, memory in _pairs(runs):
        row = {"game": one["game"], "states": f"{one['states']:,}", "moves": f"{one['moves']:,}"}
        ours, theirs = one["explore"] + one["solve"], memory["explore"] + memory["solve"]
        for what, seconds, in_memory in (
            ("folder", ours, theirs + memory["files"]),
            ("SQLite", ours + one["load"], theirs + memory["sqlite"]),
        ):
            row[f"{what}: in memory, s"] = f"{in_memory:.1f}"
            row[f"{what}: in parts"] = f"{seconds:.1f}"
        rows.append(row)
    return rows


def sizes(runs: list[Figures]) -> Rows:
    """Return the memory and the disk of one part."""
    return [
        {
            "game": one["game"],
            "memory: in memory, MB": f"{memory['peak_bytes'] / MB:,.0f}",
            "memory: in parts": f"{_peak(one) / MB:,.0f}",
            "disk while building, MB": f"{one['most_bytes'] / MB:,.1f}",
            "folder, MB": f"{(one['state_bytes'] + one['edge_bytes']) / MB:,.1f}",
            "of it, bytes a state": f"{one['state_bytes'] / one['states']:.1f}",
            "bytes a move": f"{one['edge_bytes'] / one['moves']:.1f}",
        }
        for one, memory in _pairs(runs)
    ]


def _sent(run: Figures) -> int:
    """Return how many bytes blocks have sent each other."""
    return sum(each.get("bytes", 0) for each in run["took"].values())


def _peak(run: Figures) -> int:
    """Return the peak memory of the processes that took steps."""
    return max(int(each["peak_bytes"]) for each in run["took"].values())


def split(runs: list[Figures], game: str) -> Rows:
    """Return what parts and workers change, for the games that have workers, too."""
    ones: dict[tuple[str, bool], float] = {}
    rows = []
    for run in runs:
        if run["piece"] == "parts" and (run["game"] == game or run["cluster"]):
            seconds = run["explore"] + run["solve"]
            one = ones.setdefault((run["game"], run["cluster"] is None), seconds)
            rows.append(
                {
                    "game": run["game"],
                    "by": run["cluster"] or "one process",
                    "parts": f"{run['parts'] or 'chosen'}",
                    "folder, s": f"{seconds:.1f}",
                    "speed-up": f"{one / seconds:.2f}",
                    "sent, bytes a state": f"{_sent(run) / run['states']:.0f}",
                    "memory of a process, MB": f"{_peak(run) / MB:,.0f}",
                    "files": f"{run['files']:,}",
                }
            )
    return rows


def extrapolated(run: Figures) -> Rows:
    """Return what larger games would take if all grew with the moves, as from a measured run."""
    rows = []
    for game, states in TARGETS.items():
        moves = states * MOVES_A_STATE
        more = moves / run["moves"]
        hours = more * (run["explore"] + run["solve"]) / 3600
        rows.append(
            {
                "game": game,
                "states": f"{states:.2g}",
                "folder, core hours": f"{hours:,.0f}",
                "disk while building, TB": f"{more * run['most_bytes'] / TB:,.1f}",
                "folder, TB": f"{more * (run['state_bytes'] + run['edge_bytes']) / TB:,.1f}",
                "sent, TB": f"{moves * SENT / TB:,.1f}",
            }
        )
    return rows


if __name__ == "__main__":
    run_main(main)
