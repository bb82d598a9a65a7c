"""Measure the cost of building in parts, compared with memory, and predict larger games.

Every run is in its own process, so that its peak memory is its own. Runs are repeated in turn, and
the best time of each counts, because other work on the machine can only add to a time. It is an
error if runs of a game differ in their content digest. A missed aim is not an error: a table says
which aims this run met. Costs are fitted to the times, and printed with the residuals of the fit.
They predict games that were not built.
"""

import argparse
import json
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from shared import Figures, Laps, as_text, best_runs, in_own_process, machine, peak_bytes, run_main

from graphstore import Folder, GraphstoreError, build_folder, explore, find_game, load, solve
from graphstore.building.out_of_core import OVERHEAD
from graphstore.building.parts.build import BYTES_A_MOVE, BYTES_A_STATE, BYTES_ASKED
from graphstore.building.parts.partition import BUCKETS
from graphstore.building.saving import save
from graphstore.solver.columns import Worth
from graphstore.store.arrow import pyarrow
from graphstore.store.columns import SolvedGraph
from graphstore.store.folder.layout import draft_of, write_rows
from graphstore.store.store import find_backend

GAMES = ("connect(4,4)", "connect(4,5)", "connect(6,3)", "connect(5,4)")
LARGE = "connect(6,4)"
SPLIT = "connect(5,4)"  # the game for several parts, and for workers
PARTS = (1, 2, 4, 8)
WORKERS = (1, 2)
ROUNDS = 3

AIM_ONE_PART, AIM_TWO_WORKERS = 1.5, 1.5
COMPARED = ("explore + solve", "folder", "SQLite")
AIMED = 1_000_000  # states: aims are for games of at least this size, or else the largest

MB, TB = 1e6, 1e12
ASK = 8  # bytes: an id
ANSWER = sum(column.itemsize for column in Worth.of_ended(np.zeros(1, dtype=np.int8)))
KEPT_A_STATE, KEPT_A_MOVE = 8 + 1 + 4, 4  # bytes of work/: id, outcome, counts; `into`
OPENS = 3  # files that a block opens for each block of a neighbouring wave, both phases together
KEPT_FILES = 3  # files of a block in work/ once all is explored: two of arrays and a record


class Target(NamedTuple):
    """A game that has not been built with graphstore."""

    name: str
    positions: int  # published: all that play reaches, mirror images counted separately
    waves: int  # its plies + 1
    widest: float  # the share of all states in the widest wave
    moves: float  # for each state, on average; an assumption, see docs/explanation/costs.md


TARGETS = (
    Target("connect(7,5)", 112_829_665_923, 36, 0.125, 2.7),
    Target("connect(7,6)", 4_531_985_219_092, 43, 496_636_890_702 / 4_531_985_219_092, 2.7),
)
"""Positions: J. Tromp, M. Böck; the widest wave of connect(7,6): OEIS A212693, ply 33."""


class Cluster(NamedTuple):
    """Machines that share a file system, by their published figures."""

    name: str
    nodes: int
    cores: int  # of a node
    memory: float  # of a node, bytes
    disk: float  # of all together, bytes
    speed: float  # of the disk, bytes a second in all


CLUSTERS = (
    Cluster("one i3en.24xlarge", 1, 48, 768 * 2**30, 60e12, 16e9),
    Cluster("16 i3en.24xlarge", 16, 48, 768 * 2**30, 960e12, 16 * 12.5e9),
    Cluster("512 nodes of LUMI-C", 512, 128, 256 * 2**30, 8.5e15, 2_160e9),
)
"""Sources in docs/explanation/costs.md.

Of the 16, the network of 100 Gbit/s each bounds the speed.
"""


class Section(NamedTuple):
    """A table with a title."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    @classmethod
    def of(cls, title: str, rows: Sequence[dict[str, str]]) -> "Section":
        """Return the table of rows that are dicts by column."""
        return cls(title, [*rows[0]], [[*row.values()] for row in rows])

    def text(self) -> str:
        """Return the section as text for a terminal."""
        return f"{self.title}\n\n{as_text(self.head, self.rows)}"

    def markdown(self) -> str:
        """Return the section as Markdown."""
        rule = ("---", *("--:" for _ in self.head[1:]))
        lines = (f"| {' | '.join(row)} |" for row in (self.head, rule, *self.rows))
        return "\n".join([self.title, "", *(re.sub(" +", " ", line) for line in lines)])


def main() -> None:
    """Measure, or read an earlier run; print the tables."""
    arguments = _arguments()
    if arguments.again:
        result, blocks = read_again(arguments.again)
    else:
        result = measured(arguments)
        blocks = sections(result)
    show = Section.markdown if arguments.markdown or arguments.into else Section.text
    shown = {name: "\n\n".join(map(show, tables)) for name, tables in blocks.items()}
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
    parser.add_argument(
        "--full", action="store_true", help=f"also {LARGE}: an hour, 7 GB RAM, 15 GB disk"
    )
    parser.add_argument("--no-cluster", action="store_true", help="no worker processes")
    parser.add_argument("--parts", type=int, default=8, help="the most parts  [default: 8]")
    parser.add_argument(
        "--rounds", type=int, default=ROUNDS, help=f"runs of each  [default: {ROUNDS}]"
    )
    parser.add_argument("--again", metavar="FILE", help="read the output of --json instead")
    parser.add_argument("--json", action="store_true", help="print JSON, for --again")
    parser.add_argument(
        "--markdown", action="store_true", help="print the tables of docs/explanation/costs.md"
    )
    parser.add_argument("--into", metavar="FILE", help="put the tables into such a document")
    arguments = parser.parse_args()
    if min(arguments.rounds, arguments.parts) < 1:
        parser.error("--rounds and --parts must be at least 1")
    arguments.split = arguments.split or (arguments.games[-1] if arguments.games else SPLIT)
    return arguments


def read_again(file: str) -> tuple[Figures, dict[str, list[Section]]]:
    """Return the result in a file that --json has written, and its tables."""
    try:
        result = json.loads(Path(file).read_text())
        return result, sections(result)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise GraphstoreError(f"{file} is not JSON of an earlier run: {error}") from error


def put_into(document: Path, shown: dict[str, str]) -> None:
    """Replace the text of a document between ``<!-- NAME -->`` and ``<!-- end of NAME -->``."""
    text = document.read_text()
    for name, tables in shown.items():
        marks = f"<!-- {name} -->", f"<!-- end of {name} -->"
        new = "\n".join((marks[0], tables, marks[1]))
        text, found = re.subn("(?s)" + ".*?".join(marks), new.replace("\\", r"\\"), text)
        if not found:
            raise GraphstoreError(f"{document} has no place for the tables: {' '.join(marks)}")
    document.write_text(text)


# Measuring


def measured(arguments: argparse.Namespace) -> Figures:
    """Return the best run of every kind."""
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
    best = best_runs(tasks, _child, lambda run: run["explore"] + run["solve"])
    digests: dict[str, str] = {}
    for each in best.values():
        if digests.setdefault(each["game"], each["digest"]) != each["digest"]:
            raise GraphstoreError(f"builds of {each['game']} differ: {each}")
    about = machine()
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{about['cores']} cores, {about['memory_gib']} GiB of memory, "
        f"Python {about['python']}, numpy {about['numpy']}",
        "rounds": arguments.rounds,
        "split": arguments.split,
        "runs": [*best.values()],
    }


def _task(
    piece: str, game: str, *, parts: int | None = None, cluster: str | None = None
) -> Figures:
    return {"piece": piece, "game": game, "parts": parts, "cluster": cluster}


def _child(task: Figures) -> Figures:
    """Measure a task in its own process, remove its files, and return it with its figures."""
    with tempfile.TemporaryDirectory(prefix="graphstore-scaling-") as folder:
        found: Figures = in_own_process(__file__, f"piece_{task['piece']}", task, folder)
    return task | found


def piece_memory(task: Figures, folder: str) -> Figures:
    """Measure the build in memory: exploring, solving, Parquet files, and saving to SQLite."""
    pyarrow().array(np.zeros(1))  # imports pyarrow before the measurement
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
    """Measure the build in parts: exploring, solving, digests, and loading into SQLite."""
    pyarrow().array(np.zeros(1))  # imports pyarrow before the measurement
    path, most = Path(folder, "game.parts"), 0
    draft, begun, last = draft_of(path), dict[str, float](), dict[str, float]()

    def look(phase: str, *_: int | None) -> None:
        """Record when a phase begins and ends, and the bytes on the disk when it begins."""
        nonlocal most
        if phase not in begun:
            begun[phase] = time.perf_counter()
            most = max(most, _bytes(draft))
        last[phase] = time.perf_counter()

    parts, cluster = task["parts"], task["cluster"]
    since = time.perf_counter()
    report = build_folder(task["game"], path, parts=parts, cluster=cluster, progress=look)
    built = Folder.open(path)
    took = built.contents.took
    figures = {
        "start": round(begun["explore"] - since, 3),
        "explore": report.seconds["explore"],
        "solve": report.seconds["solve"],
        "digests": report.seconds["digest"],
        "states": report.states,
        "moves": report.moves,
        "waves": built.info["plies"] + 1,
        "digest": built.info["digest"],
        "took": took,
        "files": len(built.files("state") + built.files("edge")),
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
        load(path, Path(folder, "parts.db"))
        figures["load"] = round(time.perf_counter() - since, 3)
    return figures


def _bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


# Tables of the runs


def sections(result: Figures) -> dict[str, list[Section]]:
    """Return the tables of a run: of measurements and of predictions."""
    runs = result["runs"]
    when = f"{result['date']}, {result['machine']}, best of {result['rounds']}"
    if LARGE in {run["game"] for run in runs}:
        when += f"; {LARGE} once"
    costs = costs_of(runs)
    return {
        "measured": [
            compared_with_memory(runs, when),
            taken(runs),
            split(runs, result["split"]),
            aims(runs),
            costs_shown(costs),
            residuals(runs, costs),
        ],
        "predicted": [predicted(target, costs) for target in TARGETS],
    }


def compared_with_memory(runs: list[Figures], when: str) -> Section:
    """Return the times of one part in one process, and those in memory."""
    head = ["game", "states", "moves"]
    for what in COMPARED:
        head += [f"{what}: in memory, s", "in parts, s", "ratio"]
    rows = []
    for one, memory in _pairs(runs):
        row = [one["game"], f"{one['states']:,}", f"{one['moves']:,}"]
        for ours, theirs in _compared(one, memory):
            row += [f"{theirs:.1f}", f"{ours:.1f}", f"{ours / theirs:.2f}"]
        rows.append(row)
    return Section(
        f"One part, one process, compared with the build in memory ({when}).", head, rows
    )


def _pairs(runs: list[Figures]) -> Iterator[tuple[Figures, Figures]]:
    """Yield (in one part by one process, in memory) of each game, by states."""
    memory = {run["game"]: run for run in runs if run["piece"] == "memory"}
    ones = [run for run in runs if run["parts"] == 1 and run["cluster"] is None]
    for run in sorted(ones, key=lambda run: int(run["states"])):
        yield run, memory[run["game"]]


def _compared(one: Figures, memory: Figures) -> list[tuple[float, float]]:
    """Return the seconds (in parts, in memory) of what docs/explanation/costs.md compares."""
    ours, theirs = one["explore"] + one["solve"], memory["explore"] + memory["solve"]
    folder = ours + one["digests"]
    return [
        (ours, theirs),
        (folder, theirs + memory["files"]),
        (folder + one["load"], theirs + memory["sqlite"]),
    ]


def taken(runs: list[Figures]) -> Section:
    """Return the memory, the disk and the messages of one part."""
    rows = []
    for one, memory in _pairs(runs):
        messages, sent = _sent(one)
        rows.append(
            {
                "game": one["game"],
                "memory: in memory, MB": f"{memory['peak_bytes'] / MB:,.0f}",
                "in parts, MB": f"{_peak(one) / MB:,.0f}",
                "disk while building, MB": f"{one['most_bytes'] / MB:,.1f}",
                "folder, MB": f"{(one['state_bytes'] + one['edge_bytes']) / MB:,.1f}",
                "bytes a state": f"{one['state_bytes'] / one['states']:.1f}",
                "bytes a move": f"{one['edge_bytes'] / one['moves']:.1f}",
                "messages": f"{messages:,}",
                "sent, MB": f"{sent / MB:,.1f}",
            }
        )
    return Section.of("Memory, disk and messages of one part.", rows)


def _sent(run: Figures) -> tuple[int, int]:
    """Return the number of messages between blocks, and their bytes."""
    took = run["took"].values()
    return sum(each.get("messages", 0) for each in took), sum(each.get("bytes", 0) for each in took)


def _peak(run: Figures) -> int:
    """Return the peak memory of the processes that took steps."""
    return max(int(each["peak_bytes"]) for each in run["took"].values())


def split(runs: list[Figures], game: str) -> Section:
    """Return the figures of several parts and of workers, for `game` and the games with workers."""
    ones: dict[tuple[str, bool], float] = {}
    rows = []
    for run in runs:
        if run["piece"] != "parts" or (run["game"] != game and run["cluster"] is None):
            continue
        seconds = run["explore"] + run["solve"]
        one = ones.setdefault((run["game"], run["cluster"] is None), seconds)
        messages, sent = _sent(run)
        expected = sendings(run["states"], run["moves"], run["parts"]) if run["parts"] else None
        rows.append(
            {
                "game": run["game"],
                "by": run["cluster"] or "one process",
                "parts": f"{run['parts'] or 'chosen'}",
                "starting, s": f"{run['start']:.1f}",
                "explore, s": f"{run['explore']:.1f}",
                "solve, s": f"{run['solve']:.1f}",
                "of one": f"{seconds / one:.2f}",
                "digests, s": f"{run['digests']:.1f}",
                "steps": f"{sum(int(each['steps']) for each in run['took'].values()):,}",
                "messages": f"{messages:,}",
                "sent, MB": f"{sent / MB:,.1f}",
                "expected, MB": "" if expected is None else f"{expected / MB:,.1f}",
                "memory of a process, MB": f"{_peak(run) / MB:,.0f}",
                "files": f"{run['files']:,}",
            }
        )
    return Section.of("Parts and workers.", rows)


def sendings(states: float, moves: float, parts: int) -> float:
    """Return the bytes that blocks send each other, if children are in random parts.

    Each part that has one of the parents of a child requests the child once and gets one answer.

    >>> round(sendings(1000, 2000, 1)) == 1000 * (ASK + ANSWER)
    True
    >>> round(sendings(1000, 2000, 10**6)) == 2000 * (ASK + ANSWER)
    True
    """
    requests = states * parts * (1 - (1 - 1 / parts) ** (moves / states))
    return float(requests * (ASK + ANSWER))


# Fits and predictions


class Costs(NamedTuple):
    """Fitted costs per state and per move; `work` begins with those per step and file opened."""

    work: tuple[float, ...]  # seconds of one core, exploring and solving
    digests: tuple[float, ...]  # seconds of one core
    one_sent: tuple[float, ...]  # bytes that are sent with one part
    files: tuple[float, float]  # bytes of the folder, the most measured


def costs_of(runs: list[Figures]) -> Costs:
    """Return the costs that fit the runs of one process best."""
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
    """Return the numbers of steps, of files opened of other blocks, of states, and of moves."""
    return 2 * waves * parts, OPENS * waves * parts**2, states, moves


def _worked(run: Figures) -> float:
    """Return the seconds of all steps, or of both phases if some steps have no time."""
    seconds = [float(each["seconds"]) for each in run["took"].values()]
    return sum(seconds) if all(seconds) else float(run["explore"] + run["solve"])


def fitted(counts: Sequence[Sequence[float]], measured: Sequence[float]) -> tuple[float, ...]:
    """Return the costs, none negative, with the least squares, each divided by what was measured.

    So a run that takes a hundred times as long counts ten times as much. Every subset of the
    columns is tried, because there are few.

    Args:
        counts: n rows, k columns: the number of each.
        measured: n values, the cost of each row.

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
    return Section("Fitted costs.", ("cost", "a step", "a file opened", "a state", "a move"), rows)


def residuals(runs: list[Figures], costs: Costs) -> Section:
    """Return the residual of each run, for exploring and solving."""
    rows = []
    for run in _alone(runs):
        expected = sum(c * n for c, n in zip(costs.work, _counts(run), strict=True))
        worked = _worked(run)
        rows.append(
            {
                "game": run["game"],
                "parts": f"{run['parts']}",
                "seconds in steps": f"{worked:.1f}",
                "fitted": f"{expected:.1f}",
                "off": f"{expected / worked - 1:+.0%}",
            }
        )
    return Section.of("Residuals of the fit of exploring and solving.", rows)


def aims(runs: list[Figures]) -> Section:
    """Return the aims, and which of them this run met."""
    rows = []

    def aim(name: str, found: float, words: str, *, met: bool) -> None:
        cells = (name, f"{found:.2f}", words, "yes" if met else "NO")
        rows.append(dict(zip(("ratio", "measured", "aim", "met"), cells, strict=True)))

    least = min(AIMED, max(run["states"] for run in runs))
    for one, memory in _pairs(runs):
        if one["states"] < least:
            continue
        for what, (ours, theirs) in zip(COMPARED, _compared(one, memory), strict=True):
            ratio, words = ours / theirs, f"at most {AIM_ONE_PART}"
            aim(f"one part, {what}, {one['game']}", ratio, words, met=ratio <= AIM_ONE_PART)
    by = {(run["game"], run["cluster"]): run for run in runs if run["cluster"]}
    for (game, cluster), two in by.items():
        if cluster == "local:2" and (game, "local:1") in by:
            for what, start in (("", 0), (", without starting", 1)):
                each = [
                    r["explore"] + r["solve"] - start * r["start"]
                    for r in (by[game, "local:1"], two)
                ]
                gain, words = each[0] / each[1], f"at least {AIM_TWO_WORKERS}"
                aim(f"two workers over one{what}, {game}", gain, words, met=gain >= AIM_TWO_WORKERS)
    return Section.of("Aims for games of a million states or more.", rows)


def predicted(target: Target, costs: Costs) -> Section:
    """Return the predicted costs of a game on each of the clusters."""
    columns = [forecast(target, cluster, costs) for cluster in CLUSTERS]
    rows = [(name, *(column[name] for column in columns)) for name in columns[0]]
    states = target.positions / 2
    return Section(
        f"Predicted: {target.name}, {states:.3g} states, {states * target.moves:.3g} moves.",
        ("", *(cluster.name for cluster in CLUSTERS)),
        rows,
    )


def forecast(target: Target, cluster: Cluster, costs: Costs) -> dict[str, str]:
    """Return the predicted costs of a game on a cluster, by name."""
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


if __name__ == "__main__":
    run_main(main)
