"""What building in parts costs, beside the build in memory, and what that says of larger games.

Every run is in a process of its own, so that its peak memory is its own. The short ones take turns,
and the best time of each counts, since other work on the machine can only add to a time. All runs
of a game must have the same content digest, and it is an error if they do not. Nothing is asserted
about time: a table says which aims this run met. Costs are fitted to the times, and shown with what
they leave unexplained; by them games are predicted that were not built.
"""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from graphstore import Folder, GraphstoreError, build_folder, explore, find_game, load, solve
from graphstore.building.out_of_core import OVERHEAD
from graphstore.building.parts.build import BYTES_A_MOVE, BYTES_A_STATE, BYTES_ASKED
from graphstore.building.parts.partition import BUCKETS
from graphstore.building.saving import Clock, save
from graphstore.solver.columns import Worth
from graphstore.store.arrow import pyarrow
from graphstore.store.columns import SolvedGraph
from graphstore.store.folder.layout import draft_of, write_rows
from graphstore.store.store import find_place

Figures = dict[str, Any]

GAMES = ("connect(4,4)", "connect(4,5)", "connect(6,3)", "connect(5,4)")
LARGE = "connect(6,4)"
SPLIT = "connect(5,4)"  # whose waves are split into parts, and among workers
PARTS = (1, 2, 4, 8)
WORKERS = (1, 2)
ROUNDS = 3

AIM_ONE_PART, AIM_TWO_WORKERS = 1.5, 1.5
AIMED = 1_000_000  # states of the games that the aims are for, if there are such

MB, TB = 1e6, 1e12
ASK = 8  # bytes: an id
ANSWER = sum(column.itemsize for column in Worth.of_ended(np.zeros(1, dtype=np.int8)))
KEPT_A_STATE, KEPT_A_MOVE = 8 + 1 + 4, 4  # bytes of work/: id, outcome, counts; into
OPENS = 3  # files that a block opens for each block of a neighbouring wave, both phases together
KEPT_FILES = 3  # files of a block in work/ once all is explored: two of arrays and a record


class Target(NamedTuple):
    """A game that nobody has built with this, and what is known of it.

    Attributes:
        name: of the game.
        positions: published: all that play can reach, mirror images counted apart.
        waves: how many plies it has, and one more.
        widest: what share of all states the widest wave has.
        moves: of a state, on average; an assumption, see docs/scale.md.
    """

    name: str
    positions: int
    waves: int
    widest: float
    moves: float


TARGETS = (
    Target("connect(7,5)", 112_829_665_923, 36, 0.125, 2.7),
    Target("connect(7,6)", 4_531_985_219_092, 43, 496_636_890_702 / 4_531_985_219_092, 2.7),
)
"""Positions: J. Tromp, M. Böck; the widest wave of connect(7,6): OEIS A212693, ply 33."""


class Cluster(NamedTuple):
    """Machines that share a file system, by their published figures.

    Attributes:
        name: what they are.
        nodes: how many of them.
        cores: of a node.
        memory: of a node, bytes.
        disk: that all share, bytes.
        speed: of that, bytes a second in all.
    """

    name: str
    nodes: int
    cores: int
    memory: float
    disk: float
    speed: float


CLUSTERS = (
    Cluster("one i3en.24xlarge", 1, 48, 768 * 2**30, 60e12, 16e9),
    Cluster("16 i3en.24xlarge", 16, 48, 768 * 2**30, 960e12, 16 * 12.5e9),
    Cluster("512 nodes of LUMI-C", 512, 128, 256 * 2**30, 8.5e15, 2_160e9),
)
"""Sources in docs/scale.md. Of the 16, the network of 100 Gbit/s each bounds the speed."""


def main() -> None:
    """Measure all, or, as a child of that, one run; print tables."""
    arguments = _arguments()
    if arguments.piece:
        try:
            figures = PIECES[arguments.piece](json.loads(arguments.task), Path(arguments.folder))
        except GraphstoreError as error:
            sys.exit(f"scaling: {error}")
        print(json.dumps(figures))
        return
    if arguments.again:
        result, blocks = read_again(arguments.again)
    else:
        result = measured(arguments)
        blocks = told(result)
    show = as_markdown if arguments.markdown or arguments.into else as_text
    shown = {name: "\n\n".join(map(show, sections)) for name, sections in blocks.items()}
    if arguments.into:
        put_into(Path(arguments.into), shown)
    elif arguments.json:
        print(json.dumps(result, indent=1))
    else:
        print("\n\n".join(shown.values()))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("games", nargs="*", help=f"built-in games  [default: {', '.join(GAMES)}]")
    parser.add_argument("--split", help=f"the game for parts and workers  [default: {SPLIT}]")
    parser.add_argument("--full", action="store_true", help=f"{LARGE}, too: an hour, 7 GB, 15 GB")
    parser.add_argument("--no-cluster", action="store_true", help="no worker processes")
    parser.add_argument("--parts", type=int, default=8, help="at most so many  [default: 8]")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"turns  [default: {ROUNDS}]")
    parser.add_argument("--again", metavar="FILE", help="measure nothing: what --json has printed")
    parser.add_argument("--json", action="store_true", help="print JSON, for --again")
    parser.add_argument("--markdown", action="store_true", help="print the tables of docs/scale.md")
    parser.add_argument("--into", metavar="FILE", help="put the tables into a document like that")
    parser.add_argument("--piece", help=argparse.SUPPRESS)
    parser.add_argument("--task", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if min(arguments.rounds, arguments.parts) < 1:
        parser.error("--rounds and --parts must be at least 1")
    arguments.split = arguments.split or (arguments.games[-1] if arguments.games else SPLIT)
    return arguments


def read_again(file: str) -> tuple[Figures, dict[str, list["Section"]]]:
    """Return what a file says that --json has written, and its tables."""
    try:
        result = json.loads(Path(file).read_text())
        return result, told(result)
    except (OSError, ValueError, KeyError, TypeError) as error:
        sys.exit(f"scaling: {file} is no JSON of an earlier run: {error}")


def put_into(document: Path, shown: dict[str, str]) -> None:
    """Replace what a document has between ``<!-- NAME -->`` and ``<!-- end of NAME -->``."""
    try:
        text = document.read_text()
    except OSError as error:
        sys.exit(f"scaling: {document} cannot be read: {error.strerror}")
    for name, tables in shown.items():
        begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        before, found, rest = text.partition(begin)
        _, closed, after = rest.partition(end)
        if not (found and closed):
            sys.exit(f"scaling: {document} has no place for what is {name}: {begin} {end}")
        text = "\n".join((before + begin, tables, end + after))
    document.write_text(text)


# Measuring


def measured(arguments: argparse.Namespace) -> Figures:
    """Return the best run of every kind."""
    workers = () if arguments.no_cluster else WORKERS
    games = [*dict.fromkeys([*(arguments.games or GAMES), arguments.split])]
    parts = [parts for parts in PARTS if parts <= arguments.parts]
    tasks = [*_tasks(games, arguments.split, parts, workers)] * arguments.rounds
    if arguments.full:
        tasks += [*_tasks([LARGE], None, (), ())]
        tasks += [_task("parts", LARGE, None, f"local:{size}") for size in workers]
    best: dict[str, Figures] = {}
    for number, task in enumerate(tasks, 1):
        what = " ".join(str(each) for each in task.values() if each is not None)
        print(f"{number}/{len(tasks)}  {what} ...", file=sys.stderr, flush=True)
        run = task | _child(task)
        known = best.setdefault(what, run)
        if run["explore"] + run["solve"] < known["explore"] + known["solve"]:
            best[what] = run
    digests: dict[str, str] = {}
    for run in best.values():
        if digests.setdefault(run["game"], run["digest"]) != run["digest"]:
            sys.exit(f"scaling: builds of {run['game']} differ: {run}")
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": machine(),
        "rounds": arguments.rounds,
        "split": arguments.split,
        "runs": [*best.values()],
    }


def _tasks(
    games: Sequence[str], split: str | None, parts: Iterable[int], workers: Iterable[int]
) -> Iterator[Figures]:
    for game in games:
        yield _task("memory", game, None, None)
        yield _task("parts", game, 1, None)
    if split is not None:
        yield from (_task("parts", split, number, None) for number in parts if number > 1)
        yield from (_task("parts", split, None, f"local:{size}") for size in workers)


def _task(piece: str, game: str, parts: int | None, cluster: str | None) -> Figures:
    return {"piece": piece, "game": game, "parts": parts, "cluster": cluster}


def _child(task: Figures) -> Figures:
    """Return one run's figures, measured in a process of its own, whose files are removed."""
    with tempfile.TemporaryDirectory(prefix="graphstore-scaling-") as folder:
        command = [sys.executable, __file__, "--piece", task["piece"], "--folder", folder]
        command += ["--task", json.dumps(task)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"scaling: a run failed: {task}; what it wrote stands above")
    figures: Figures = json.loads(done.stdout)
    return figures


def machine() -> str:
    """Return what the figures depend on."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{os.cpu_count()} cores, {memory:.0f} GiB of memory, Python {platform.python_version()}, "
        f"numpy {np.__version__}"
    )


def piece_memory(task: Figures, folder: Path) -> Figures:
    """Measure the build in memory: exploring, solving, the files of a folder, and into SQLite."""
    _import_all()
    game = find_game(task["game"])
    clock = Clock()
    graph = explore(game)
    clock.lap("explore")
    solve(graph)
    clock.lap("solve")
    content = SolvedGraph(game, graph)
    for table in ("state", "edge"):
        write_rows(folder / f"{table}.parquet", table, (rows for *_, rows in content.rows(table)))
    clock.lap("files")
    since = time.perf_counter()
    save(game.name, find_place(folder / "memory.db"), lambda _: SolvedGraph(game, graph))
    return {
        **clock.laps,
        "sqlite": round(time.perf_counter() - since, 3),
        "sqlite_bytes": (folder / "memory.db").stat().st_size,
        "states": content.states,
        "moves": content.moves,
        "digest": content.row()["digest"],
        "peak_bytes": peak_bytes(),
    }


def piece_parts(task: Figures, folder: Path) -> Figures:
    """Measure the build in parts: exploring, solving, digests, and the folder into SQLite."""
    _import_all()
    path, most = folder / "game.parts", 0
    draft, begun, last = draft_of(path), dict[str, float](), dict[str, float]()

    def look(phase: str, *_: int | None) -> None:
        """Note when a phase begins and ends, and how much lies on the disk when it begins."""
        nonlocal most
        if phase not in begun:
            begun[phase] = time.perf_counter()
            most = max(most, _bytes(draft))
        last[phase] = time.perf_counter()

    parts, cluster = task["parts"], task["cluster"]
    since = time.perf_counter()
    report = build_folder(task["game"], path, parts=parts, cluster=cluster, progress=look)
    made = Folder.open(path)
    took = made.contents.took
    figures = {
        "start": round(begun["explore"] - since, 3),
        "explore": report.seconds["explore"],
        "solve": report.seconds["solve"],
        "digests": report.seconds["digest"],
        "states": report.states,
        "moves": report.moves,
        "waves": made.info["plies"] + 1,
        "digest": made.info["digest"],
        "took": took,
        "files": len(made.files("state") + made.files("edge")),
        "state_bytes": _bytes(path / "state"),
        "edge_bytes": _bytes(path / "edge"),
        "most_bytes": most,
        "peak_bytes": peak_bytes(),
    }
    if cluster is None:  # both tables, one after the other
        edges = last.get("digest edges", last["digest states"]) - last["digest states"]
        figures["edge_digests"] = round(edges, 4)
    if cluster is None and parts == 1:
        since = time.perf_counter()
        load(path, folder / "parts.db")
        figures["load"] = round(time.perf_counter() - since, 3)
    return figures


def _import_all() -> None:
    """Import what would count otherwise: pyarrow, and what it imports for its first array."""
    pyarrow().array(np.zeros(1))


def peak_bytes() -> int:
    """Return the most memory that this process has held."""
    import resource  # POSIX only

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # bytes on macOS, else kilobytes
    return peak * (1 if sys.platform == "darwin" else 1024)


def _bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


# What the runs say


class Section(NamedTuple):
    """A table under a sentence that says what it is."""

    says: str
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


def told(result: Figures) -> dict[str, list[Section]]:
    """Return the tables of a run: what was measured, and what is predicted."""
    runs = result["runs"]
    when = f"{result['date']}, {result['machine']}, best of {result['rounds']}"
    if LARGE in {run["game"] for run in runs}:
        when += f"; {LARGE} once"
    costs = costs_of(runs)
    return {
        "measured": [
            beside_memory(runs, when),
            taken(runs),
            split(runs, result["split"]),
            aims(runs),
            costs_shown(costs),
            residuals(runs, costs),
        ],
        "predicted": [predicted(target, costs) for target in TARGETS],
    }


def beside_memory(runs: list[Figures], when: str) -> Section:
    """Return the times of one part in one process beside those in memory."""
    head = ["game", "states", "moves"]
    for what in ("explore + solve", "folder", "SQLite"):
        head += [f"{what}: in memory, s", "in parts, s", "ratio"]
    rows = []
    for one, memory in _pairs(runs):
        row = [one["game"], f"{one['states']:,}", f"{one['moves']:,}"]
        for ours, theirs in _compared(one, memory):
            row += [f"{theirs:.1f}", f"{ours:.1f}", f"{ours / theirs:.2f}"]
        rows.append(tuple(row))
    return Section(
        f"One part, one process, beside the build in memory ({when}).", tuple(head), rows
    )


def _pairs(runs: list[Figures]) -> Iterator[tuple[Figures, Figures]]:
    """Yield (in one part by one process, in memory) of each game, by states."""
    memory = {run["game"]: run for run in runs if run["piece"] == "memory"}
    ones = [run for run in runs if run["parts"] == 1 and run["cluster"] is None]
    for run in sorted(ones, key=lambda run: int(run["states"])):
        yield run, memory[run["game"]]


def _compared(one: Figures, memory: Figures) -> list[tuple[float, float]]:
    """Return the seconds (in parts, in memory) of what is compared: see docs/scale.md."""
    ours, theirs = one["explore"] + one["solve"], memory["explore"] + memory["solve"]
    folder = ours + one["digests"]
    return [
        (ours, theirs),
        (folder, theirs + memory["files"]),
        (folder + one["load"], theirs + memory["sqlite"]),
    ]


def taken(runs: list[Figures]) -> Section:
    """Return the memory, the disk and the messages of one part."""
    head = ["game", "memory: in memory, MB", "in parts, MB", "disk while building, MB"]
    head += ["folder, MB", "bytes a state", "bytes a move", "messages", "sent, MB"]
    rows = []
    for one, memory in _pairs(runs):
        messages, sent = _sent(one)
        rows.append(
            (
                one["game"],
                f"{memory['peak_bytes'] / MB:,.0f}",
                f"{_peak(one) / MB:,.0f}",
                f"{one['most_bytes'] / MB:,.1f}",
                f"{(one['state_bytes'] + one['edge_bytes']) / MB:,.1f}",
                f"{one['state_bytes'] / one['states']:.1f}",
                f"{one['edge_bytes'] / one['moves']:.1f}",
                f"{messages:,}",
                f"{sent / MB:,.1f}",
            )
        )
    return Section("What that takes.", tuple(head), rows)


def _sent(run: Figures) -> tuple[int, int]:
    """Return how many messages blocks have sent each other, and how many bytes."""
    took = run["took"].values()
    return sum(each.get("messages", 0) for each in took), sum(each.get("bytes", 0) for each in took)


def _peak(run: Figures) -> int:
    """Return the most memory that a process which took steps had."""
    return max(int(each["peak_bytes"]) for each in run["took"].values())


def split(runs: list[Figures], game: str) -> Section:
    """Return what parts and workers change, for the games that have workers, too."""
    head = [
        "game",
        "by",
        "parts",
        "starting, s",
        "explore, s",
        "solve, s",
        "of one",
        "digests, s",
        "steps",
    ]
    head += ["messages", "sent, MB", "expected, MB", "memory of a process, MB", "files"]
    ones: dict[tuple[str, bool], float] = {}
    rows = []
    for run in runs:
        if run["piece"] != "parts" or (run["game"] != game and run["cluster"] is None):
            continue
        seconds = run["explore"] + run["solve"]
        messages, sent = _sent(run)
        expected = sendings(run["states"], run["moves"], run["parts"]) if run["parts"] else None
        rows.append(
            (
                run["game"],
                run["cluster"] or "one process",
                f"{run['parts'] or 'chosen'}",
                f"{run['start']:.1f}",
                f"{run['explore']:.1f}",
                f"{run['solve']:.1f}",
                f"{seconds / ones.setdefault((run['game'], run['cluster'] is None), seconds):.2f}",
                f"{run['digests']:.1f}",
                f"{_steps(run):,}",
                f"{messages:,}",
                f"{sent / MB:,.1f}",
                "" if expected is None else f"{expected / MB:,.1f}",
                f"{_peak(run) / MB:,.0f}",
                f"{run['files']:,}",
            )
        )
    return Section("Parts and workers.", tuple(head), rows)


def _steps(run: Figures) -> int:
    return sum(int(each["steps"]) for each in run["took"].values())


def sendings(states: float, moves: float, parts: int) -> float:
    """Return how many bytes blocks send each other, if children fall into parts by chance.

    A child is asked for once by each part that has one of its parents, and answered as often.

    >>> round(sendings(1000, 2000, 1)) == 1000 * (ASK + ANSWER)
    True
    >>> round(sendings(1000, 2000, 10**6)) == 2000 * (ASK + ANSWER)
    True
    """
    asked = states * parts * (1 - (1 - 1 / parts) ** (moves / states))
    return float(asked * (ASK + ANSWER))


# Fits and predictions


class Costs(NamedTuple):
    """What was fitted.

    Attributes:
        work: seconds of one core, exploring and solving: a step, a file opened, a state, a move.
        digests: seconds of one core of the digests a state and a move.
        one_sent: bytes that are sent a state and a move, with one part.
        files: bytes of the folder a state and a move, the most measured.
    """

    work: tuple[float, ...]
    digests: tuple[float, ...]
    one_sent: tuple[float, ...]
    files: tuple[float, float]


def costs_of(runs: list[Figures]) -> Costs:
    """Return the costs that explain the runs of one process best."""
    alone = _alone(runs)
    ones = [one for one, _ in _pairs(runs)]
    counts = [(run["states"], run["moves"]) for run in ones]
    large = [run for run in alone if run["states"] >= max(run["states"] for run in alone) / 2]
    large += [run for run in alone if run["parts"] == max(PARTS)]
    return Costs(
        fitted([_counts(run) for run in alone], [_worked(run) for run in alone]),
        (
            *fitted([row[:1] for row in counts], [r["digests"] - r["edge_digests"] for r in ones]),
            *fitted([row[1:] for row in counts], [r["edge_digests"] for r in ones]),
        ),
        fitted(counts, [_sent(run)[1] for run in ones]),
        (
            max(run["state_bytes"] / run["states"] for run in large),
            max(run["edge_bytes"] / run["moves"] for run in large),
        ),
    )


def _alone(runs: list[Figures]) -> list[Figures]:
    return [run for run in runs if run["piece"] == "parts" and run["cluster"] is None]


def _counts(run: Figures) -> tuple[float, ...]:
    return counted(run["states"], run["moves"], run["waves"], run["parts"])


def counted(states: float, moves: float, waves: int, parts: float) -> tuple[float, ...]:
    """Return the steps of a build, the files they open of other blocks, the states, the moves."""
    return 2 * waves * parts, OPENS * waves * parts**2, states, moves


def _worked(run: Figures) -> float:
    """Return the seconds of all steps; where steps do not tell them all, of the two phases."""
    told = [float(each["seconds"]) for each in run["took"].values()]
    return sum(told) if all(told) else float(run["explore"] + run["solve"])


def fitted(counts: Sequence[Sequence[float]], measured: Sequence[float]) -> tuple[float, ...]:
    """Return the costs, none of them negative, with the least squares, each over what was measured.

    So a run that takes a hundred times as long counts ten times as much. Every set of the columns
    is tried, since there are few.

    Args:
        counts: n rows, k columns: how many of each there were.
        measured: n, what that took.

    >>> fitted([(1, 1), (1, 2), (1, 4)], [5, 7, 11])
    (3.0, 2.0)
    >>> fitted([(1, 1), (1, 2), (1, 4)], [1, 2, 4])
    (0.0, 1.0)
    """
    wanted = np.sqrt(np.maximum(np.array(measured, dtype=np.float64), 1e-9))
    rows = np.array(counts, dtype=np.float64) / wanted[:, None]
    best, least = np.zeros(rows.shape[1]), float((wanted**2).sum())
    for size in range(1, rows.shape[1] + 1):
        for some in combinations(range(rows.shape[1]), size):
            scale = np.linalg.norm(rows[:, some], axis=0)
            found = np.linalg.lstsq(rows[:, some] / scale, wanted)[0] / scale
            left = float(((rows[:, some] @ found - wanted) ** 2).sum())
            if (found >= 0).all() and left < least - 1e-12:
                best, least = np.zeros(rows.shape[1]), left
                best[list(some)] = found
    return tuple(float(f"{cost:.12g}") for cost in best)


def costs_shown(costs: Costs) -> Section:
    """Return the fitted costs."""
    rows = [
        ("exploring and solving, µs of a core", *(f"{cost * 1e6:,.2f}" for cost in costs.work)),
        ("digests, µs of a core", "", "", *(f"{cost * 1e6:,.2f}" for cost in costs.digests)),
        ("sent with one part, bytes", "", "", *(f"{cost:,.1f}" for cost in costs.one_sent)),
        ("sent with many parts, bytes", "", "", "0.0", f"{ASK + ANSWER:.1f}"),
        ("folder, bytes", "", "", *(f"{cost:,.1f}" for cost in costs.files)),
    ]
    return Section(
        "What is fitted.", ("cost", "a step", "a file opened", "a state", "a move"), rows
    )


def residuals(runs: list[Figures], costs: Costs) -> Section:
    """Return how far the fit of exploring and solving is from each run."""
    rows = []
    for run in _alone(runs):
        expected = sum(c * n for c, n in zip(costs.work, _counts(run), strict=True))
        worked = _worked(run)
        off = f"{expected / worked - 1:+.0%}"
        rows.append((run["game"], f"{run['parts']}", f"{worked:.1f}", f"{expected:.1f}", off))
    head = ("game", "parts", "seconds in steps", "fitted", "off")
    return Section("How well that fits.", head, rows)


def aims(runs: list[Figures]) -> Section:
    """Return which aims were met."""
    rows = []
    least = min(AIMED, max(run["states"] for run in runs))
    for one, memory in _pairs(runs):
        if one["states"] < least:
            continue
        pairs = zip(("explore + solve", "folder", "SQLite"), _compared(one, memory), strict=True)
        for what, (ours, theirs) in pairs:
            ratio = ours / theirs
            met = "yes" if ratio <= AIM_ONE_PART else "NO"
            aim = f"at most {AIM_ONE_PART}"
            rows.append((f"one part, {what}, {one['game']}", f"{ratio:.2f}", aim, met))
    by = {(run["game"], run["cluster"]): run for run in runs if run["cluster"]}
    for (game, cluster), run in by.items():
        if cluster == "local:2" and (game, "local:1") in by:
            one = by[game, "local:1"]
            for what, start in (("", 0), (", once they run", 1)):
                each = [r["explore"] + r["solve"] - start * r["start"] for r in (one, run)]
                gain = each[0] / each[1]
                met = "yes" if gain >= AIM_TWO_WORKERS else "NO"
                aim = f"at least {AIM_TWO_WORKERS}"
                rows.append((f"two workers over one{what}, {game}", f"{gain:.2f}", aim, met))
    return Section(
        "Which aims this run met, of a million states or more.",
        ("what", "measured", "aim", "met"),
        rows,
    )


def predicted(target: Target, costs: Costs) -> Section:
    """Return what a game would take on each of the clusters."""
    columns = [forecast(target, cluster, costs) for cluster in CLUSTERS]
    rows = [(name, *(column[name] for column in columns)) for name in columns[0]]
    states = target.positions / 2
    return Section(
        f"Predicted: {target.name}, {states:.3g} states, {states * target.moves:.3g} moves.",
        ("", *(cluster.name for cluster in CLUSTERS)),
        rows,
    )


def forecast(target: Target, cluster: Cluster, costs: Costs) -> dict[str, str]:
    """Return what a game would take on a cluster, by name."""
    states = target.positions / 2  # hardly any position is its own mirror image
    moves = states * target.moves
    widest = states * target.widest
    need = widest * (BYTES_ASKED * target.moves + BYTES_A_STATE + BYTES_A_MOVE * target.moves)
    processes = min(cluster.nodes * cluster.cores, BUCKETS)
    each = cluster.memory * cluster.nodes / processes
    parts = min(max(-(-need // (each - OVERHEAD)), processes), BUCKETS)
    block = need / parts + OVERHEAD
    held = int(cluster.memory // block)  # blocks that a node can work on at once
    processes = min(processes, held * cluster.nodes)
    counts = counted(states, moves, target.waves, parts)
    work = sum(c * n for c, n in zip(costs.work, counts, strict=True))
    sent = sendings(states, moves, int(parts))
    kept = states * KEPT_A_STATE + moves * KEPT_A_MOVE + sent * ASK / (ASK + ANSWER)
    edges = moves * costs.files[1], moves * (costs.files[1] + 2 * ASK)  # at most: no id shrinks
    final = states * costs.files[0] + edges[0], states * (costs.files[0] + ASK) + edges[1]
    most = kept + edges[0], kept + edges[1]
    least_disk, most_disk = (max(pair) for pair in zip(most, final, strict=True))
    through = 2 * (kept + sent * ANSWER / (ASK + ANSWER)) + 2 * final[0]  # which the digests read
    digests = max(states * costs.digests[0], moves * costs.digests[1]) / 3600  # at once
    computing = work / 3600 / processes if processes else float("inf")
    passing = through / cluster.speed / 3600
    fits = "yes" if most_disk <= cluster.disk else "NO" if least_disk > cluster.disk else "perhaps"
    return {
        "processes": f"{processes:,}" if processes else "none: a block does not fit",
        "parts": f"{parts:,.0f}",
        "memory of a process, GB": f"{block / 1e9:,.1f}",
        "slots of the largest block": f"{widest * target.moves / parts:.2g} of 2.1e+09",
        "core hours": f"{work / 3600:,.0f}",
        "hours of computing": f"{computing:,.1f}",
        "hours of reading and writing": f"{passing:,.1f}",
        "hours of digests": f"{digests:,.0f}",
        "hours in all, at least": f"{max(computing, passing) + digests:,.0f}",
        "sent, TB": f"{sent / TB:,.1f}",
        "disk while building, TB": " to ".join(f"{each / TB:,.1f}" for each in most),
        "folder, TB": " to ".join(f"{each / TB:,.1f}" for each in final),
        "fits the disk": fits,
        "files of the folder": f"{2 * target.waves * parts:,.0f}",
        "files while building": f"{(KEPT_FILES + 1) * target.waves * parts:,.0f}",
        "files opened": f"{counts[1]:.2g}",
    }


# Printing


def as_text(section: Section) -> str:
    """Return a table for a terminal."""
    rows = [section.head, *section.rows]
    wide = [max(len(row[column]) for row in rows) for column in range(len(section.head))]
    lines = [
        "  ".join(
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, wide, strict=True))
        ).rstrip()
        for row in rows
    ]
    return "\n".join([section.says, "", *lines])


def as_markdown(section: Section) -> str:
    """Return a table for a document."""
    rule = ("---", *("--:" for _ in section.head[1:]))
    rows = [" | ".join(row) for row in (section.head, rule, *section.rows)]
    return "\n".join([section.says, "", *(re.sub(" +", " ", f"| {row} |") for row in rows)])


PIECES: dict[str, Callable[[Figures, Path], Figures]] = {
    "memory": piece_memory,
    "parts": piece_parts,
}

if __name__ == "__main__":
    main()
