"""How fast graphstore builds and answers, beside a plain pipeline and beside SQLite itself.

Every piece is measured in a process of its own, so that its peak memory is its own. The short
ones take turns three times and the best time of each counts, since other work on the machine can
only add to a time; the plain pipeline, which takes minutes, runs once. Nothing is asserted about
time: the last table says which targets this run met. The pieces that must agree about a game are
compared, and it is an error if they do not.
"""

import argparse
import json
import os
import platform
import sqlite3
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from itertools import count
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from graphstore import GraphstoreError

Figures = dict[str, Any]
Triple = tuple[int, int, int]

ROUNDS = 3
REPEATED = {"build": "total", "copy": "total", "plain_game": "explore"}
"""The pieces that take turns, and the time of each by which its best run is chosen."""

DATABASE = "game.db"
MEGABYTE = 1_000_000
SAMPLE = 20_000  # positions that look-ups are timed with
BATCH = 1_000  # of them in a batch
COUNTS = ("states", "moves", "edges", "wins", "draws", "losses")
PLAIN_COLUMNS = (
    "position, ply, to_move, ended, value, remoteness, score, "
    "win_depth, lose_depth, orbit, random_value, best_response"
)
VALUES = ("id", "value", "remoteness", "score", "win_depth", "lose_depth")

TARGETS = (
    ("explore + solve, times faster than plain", "plain/explore_solve", "build/explore_solve", 25),
    ("whole build, times faster than plain", "plain/total", "build/total", 5),
    ("whole build, in SQLite's copies", "build/total", "copy/total", -2),
    ("peak RSS of the build, MB", "build/peak_mb", "", -1_000),
    ("edge rows loaded a second", "build/edges_per_s", "", 2_500_000),
    ("PlainGame states explored a second", "plain_game/states_per_s", "", 50_000),
    ("ids one by one, of the raw driver's", "lookups/by_id", "lookups/raw_by_id_cached", 0.5),
    ("ids by the thousand, a second", "lookups/lookup_ids", "", 500_000),
    ("ids by the thousand, of raw one by one", "lookups/lookup_ids", "lookups/raw_by_id", 1.47),
    ("typed positions by the thousand, a second", "lookups/lookup_typed", "", 200_000),
    ("typed positions with all moves, a second", "lookups/probe_typed", "", 5_000),
    ("graphstore --help, s", "commands/help", "", -0.2),
    ("graphstore show, s", "commands/show", "", -0.6),
)
"""What is measured, by what it is divided, and the bound: at least, or if negative at most."""


class Task(NamedTuple):
    """What to measure with.

    Attributes:
        game: a built-in game's name.
        folder: for the files of all pieces.
        quick: whether to be done soon rather than steady.
    """

    game: str
    folder: Path
    quick: bool


def main() -> None:
    """Measure all pieces, or, as a child of that, one."""
    arguments = _arguments()
    if arguments.piece:
        task = Task(arguments.game, Path(arguments.folder), arguments.quick)
        try:
            figures = PIECES[arguments.piece](task)
        except GraphstoreError as error:
            sys.exit(f"bench: {error}")
        print(json.dumps(figures | {"cpu_s": round(time.process_time(), 2), "peak_mb": peak_mb()}))
        return
    with tempfile.TemporaryDirectory(prefix="graphstore-bench-") as folder:
        task = Task(arguments.game, Path(folder), arguments.quick)
        result = run(task, without_plain=arguments.without_plain)
    print(json.dumps(result, indent=2) if arguments.json else as_text(result))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("game", nargs="?", help="a built-in game  [default: mnk(4,4,4)]")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="be done in seconds: mnk(4,3,3) unless GAME is given, and shorter looks",
    )
    parser.add_argument(
        "--without-plain",
        action="store_true",
        help="leave out the plain pipeline: minutes, 3 GB; it knows the grid games only",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--piece", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.game = arguments.game or ("mnk(4,3,3)" if arguments.quick else "mnk(4,4,4)")
    return arguments


def run(task: Task, *, without_plain: bool = False) -> Figures:
    """Return the figures of every piece, and what they say of the targets."""
    figures: dict[str, Figures] = {}
    turns = [*REPEATED] * (1 if task.quick else ROUNDS)
    for piece in ["plain"] * (not without_plain) + [*turns, "commands", "lookups"]:
        print(f"{task.game}: {piece} ...", file=sys.stderr, flush=True)
        new, by = measure(piece, task), REPEATED.get(piece, "cpu_s")
        figures[piece] = min(figures.get(piece, new), new, key=itemgetter(by))
    if "plain" in figures:
        counts = [{name: figures[piece][name] for name in COUNTS} for piece in ("build", "plain")]
        if counts[0] != counts[1]:
            sys.exit(f"bench: graphstore and the plain pipeline differ: {counts}")
    return {
        "game": task.game,
        "machine": machine(),
        "figures": figures,
        "targets": [target(figures, *each) for each in TARGETS],
    }


def measure(piece: str, task: Task) -> Figures:
    """Return one piece's figures, measured in a process of its own."""
    command = [sys.executable, __file__, task.game, "--piece", piece, "--folder", str(task.folder)]
    done = subprocess.run(command + ["--quick"] * task.quick, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"bench: {piece} failed with {task.game}; what it wrote stands above")
    figures: Figures = json.loads(done.stdout)
    return figures


def target(figures: dict[str, Figures], name: str, over: str, under: str, bound: float) -> Figures:
    """Return what was measured for a target, and whether it is met; None where nothing was."""
    top = _figure(figures, over)
    bottom = _figure(figures, under) if under else 1
    value = round(top / bottom, 3) if top is not None and bottom else None
    met = None if value is None else value >= bound if bound > 0 else value <= -bound
    sign = ">=" if bound > 0 else "<="
    return {"name": name, "value": value, "target": f"{sign} {abs(bound):,}", "met": met}


def _figure(figures: dict[str, Figures], path: str) -> Any:
    piece, name = path.split("/")
    return figures.get(piece, {}).get(name)


def machine() -> Figures:
    """Return what the figures depend on."""
    from importlib.metadata import version

    packages = {name: version(name) for name in ("graphstore", "numpy", "networkx", "sqlalchemy")}
    return {
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
        "system": platform.platform(),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
    } | packages


def peak_mb() -> float:
    """Return the most memory that this process has held, in megabytes."""
    import resource  # POSIX only

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # bytes on macOS, else kilobytes
    return round(peak * (1 if sys.platform == "darwin" else 1024) / MEGABYTE, 1)


def rate(task: Task, work: Callable[[Any], Any], items: Sequence[Any]) -> int:
    """Return how many items a second are worked off, one by one, over a second or so."""
    return round(_passes(task, work, items))


def batch_rate(task: Task, work: Callable[[Any], Any], items: Any) -> int:
    """Return how many items a second are worked off by the thousand; or all, if fewer, at once."""
    ends = range(BATCH, max(len(items), BATCH) + 1, BATCH)
    batches = [items[end - BATCH : end] for end in ends]
    return round(_passes(task, work, batches) * len(batches[0]))


def _passes(task: Task, work: Callable[[Any], Any], items: Sequence[Any]) -> float:
    """Return how often a second work can be called, after a warm-up, one item after another."""
    for item in items[: len(items) // 10 + 1]:
        work(item)
    begin = time.perf_counter()
    for done in count(1):
        work(items[done % len(items)])
        if done % 10 == 0 and time.perf_counter() - begin > (0.1 if task.quick else 1):
            break
    return done / (time.perf_counter() - begin)


class Laps:
    """Seconds by phase."""

    def __init__(self) -> None:
        self.seconds: Figures = {}
        self._since = time.perf_counter()

    def lap(self, name: str) -> None:
        """Give the time since the last lap a name."""
        now = time.perf_counter()
        self.seconds[name] = round(now - self._since, 4)
        self._since = now


# graphstore


def piece_build(task: Task) -> Figures:
    """Measure a build by phase, the file it writes, and the speed of loading."""
    from graphstore import build

    file = task.folder / DATABASE
    file.unlink(missing_ok=True)
    begin = time.perf_counter()
    report = build(task.game, file)
    total = time.perf_counter() - begin
    seconds = {name.replace(" ", "_"): lap for name, lap in report.seconds.items()}
    with closing(sqlite3.connect(file)) as connection:
        values = dict(connection.execute("SELECT value, count(*) FROM state GROUP BY value"))
        sizes = _sizes(connection)
    return {
        **seconds,
        "explore_solve": round(seconds["explore"] + seconds["solve"], 4),
        "total": round(total, 4),
        "states": report.states,
        "moves": report.moves,
        "edges": report.edges,
        **_outcomes(values),
        "states_per_s": round(report.states / seconds["load_states"]),
        "edges_per_s": round(report.moves / seconds["load_edges"]),
        "file_mb": round(file.stat().st_size / MEGABYTE, 1),
        "bytes_per_state": round(sizes[0] / report.states, 1),
        "bytes_per_edge": round(sizes[1] / report.moves, 1) if sizes[1] else None,
    }


def _sizes(connection: sqlite3.Connection) -> tuple[int, int | None]:
    """Return the bytes of all states and of all edges with their index.

    A SQLite without dbstat cannot tell: then all bytes are the states'.
    """
    try:
        pages = connection.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name")
        by_name = dict(pages.fetchall())
    except sqlite3.OperationalError:
        pages = connection.execute(
            "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
        )
        return pages.fetchone()[0], None
    return by_name["state"], by_name["edge"] + by_name["ix_edge_child"]


def _outcomes(values: dict[int, int]) -> Figures:
    return {"wins": values.get(1, 0), "draws": values.get(0, 0), "losses": values.get(-1, 0)}


# SQLite


def piece_copy(task: Task) -> Figures:
    """Measure how long SQLite takes to copy the two tables row by row, and to index them again.

    With the pragmas of a build, so that nothing but the rows' way into SQLite differs.
    """
    file = task.folder / "copy.db"
    file.unlink(missing_ok=True)
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        for pragma in ("journal_mode=OFF", "synchronous=OFF", "cache_size=-16384", "threads=2"):
            connection.execute(f"PRAGMA {pragma}").fetchall()
        connection.execute("ATTACH ? AS source", (str(task.folder / DATABASE),))
        laps = Laps()
        connection.execute("BEGIN")
        for table in ("state", "edge"):
            connection.execute(_ddl(connection, table))
            info = connection.execute(f"PRAGMA source.table_info({table})")
            names = ", ".join(row[1] for row in info)  # the generated column is not among them
            connection.execute(f"INSERT INTO {table} ({names}) SELECT {names} FROM source.{table}")
            laps.lap(f"{table}s")
        connection.execute(_ddl(connection, "ix_edge_child"))
        connection.execute("COMMIT")
        laps.lap("index")
    return laps.seconds | {"total": round(sum(laps.seconds.values()), 4)}


def _ddl(connection: sqlite3.Connection, name: str) -> str:
    query = "SELECT sql FROM source.sqlite_master WHERE name = ?"
    return str(connection.execute(query, (name,)).fetchone()[0])


# PlainGame


def piece_plain_game(task: Task) -> Figures:
    """Measure the exploration of a game written for one position: about 100,000 tuples."""
    from graphstore import PlainGame, explore

    class Heaps(PlainGame):
        """Three heaps: take one or two from one of them; who takes the last wins."""

        def start(self) -> Triple:
            return (14, 14, 14) if task.quick else (46, 46, 46)

        def moves(self, heaps: Triple) -> Iterator[int]:
            for heap, size in enumerate(heaps):
                for take in range(1, min(size, 2) + 1):
                    yield 3 * heap + take

        def play(self, heaps: Triple, move: int) -> Triple:
            heap, take = divmod(move, 3)
            left = list(heaps)
            left[heap] -= take
            return left[0], left[1], left[2]

        def outcome(self, heaps: Triple) -> int | None:
            return None if any(heaps) else -1

    laps = Laps()
    graph = explore(Heaps())
    laps.lap("explore")
    states = graph.number_of_nodes()
    return {
        **laps.seconds,
        "states": states,
        "moves": graph.number_of_moves(),
        "states_per_s": round(states / laps.seconds["explore"]),
    }


# The command line


def piece_commands(task: Task) -> Figures:
    """Measure the wall time of commands, the median of five runs (quick: one)."""
    from graphstore import Store

    with Store.open(task.folder / DATABASE) as store:
        start = store.info["start"]
    return {
        "help": _wall(task, "--help"),
        "show": _wall(task, "show", str(task.folder / DATABASE), start),
    }


def _wall(task: Task, *words: str) -> float:
    script = Path(sysconfig.get_path("scripts")) / "graphstore"
    program = [str(script)] if script.exists() else [sys.executable, "-m", "graphstore"]
    seconds = []
    for _ in range(1 if task.quick else 5):
        begin = time.perf_counter()
        subprocess.run([*program, *words], check=True, stdout=subprocess.DEVNULL)
        seconds.append(time.perf_counter() - begin)
    return round(statistics.median(seconds), 4)


# Look-ups


def piece_lookups(task: Task) -> Figures:
    """Measure positions looked up a second, one by one and by the thousand.

    A probe has all moves with it; one that is not from a snapshot has a transaction of its own.
    The raw driver's are rows by primary key, without moves, in one transaction: with the cache that
    SQLite has by itself, and with that of a store. All take turns; the best of each counts.
    """
    from graphstore import Store
    from graphstore.store.sqlite.backend import CACHE

    file = task.folder / DATABASE
    with Store.open(file) as store, store.snapshot() as snapshot:
        ids, texts = _sample(store)
        listed = ids.tolist()
        with closing(_raw(file)) as raw, closing(_raw(file, cache=CACHE)) as cached:
            works: dict[str, Callable[[], int]] = {
                "by_id": lambda: rate(task, snapshot.values, listed),
                "raw_by_id": lambda: rate(task, _one(raw), listed),
                "raw_by_id_cached": lambda: rate(task, _one(cached), listed),
                "probe_by_id": lambda: rate(task, store.probe, listed),
                "probe_typed": lambda: rate(task, store.probe, texts),
                "probe_typed_snapshot": lambda: rate(task, snapshot.probe, texts),
                "lookup_ids": lambda: batch_rate(task, store.lookup, ids),
                "lookup_typed": lambda: batch_rate(task, store.lookup, texts),
                "raw_ids": lambda: batch_rate(task, _many(raw), listed),
                "raw_ids_cached": lambda: batch_rate(task, _many(cached), listed),
            }
            figures = dict.fromkeys(works, 0)
            for _ in range(1 if task.quick else ROUNDS):
                for name, work in works.items():
                    figures[name] = max(figures[name], work())
    return figures


def _sample(store: Any) -> tuple[Any, list[str]]:
    """Return ids of states in play, and positions as typed, in whatever orientation they come."""
    import numpy as np

    rows = store.sql("SELECT id FROM state WHERE NOT ended")
    ids = np.array([row[0] for row in rows], dtype=np.int64)
    ids = np.random.default_rng(1).permutation(ids)[:SAMPLE]
    children = store.game.expand(ids).child
    in_play = store.game.outcomes(children) == 2
    texts = store.game.texts(children[in_play] if in_play.any() else ids)
    order = np.random.default_rng(2).permutation(len(texts))[: len(ids)]
    return ids, [texts[each] for each in order]


def _raw(file: Path, *, cache: int = 0) -> sqlite3.Connection:
    """Return the driver of the standard library, inside a transaction."""
    uri = f"{file.absolute().as_uri()}?mode=ro"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None)
    if cache:
        connection.execute(f"PRAGMA cache_size = -{cache // 1024}")
    connection.execute("BEGIN")
    return connection


def _one(connection: sqlite3.Connection) -> Callable[[int], Any]:
    query = f"SELECT {', '.join(VALUES)} FROM state WHERE id = ?"
    return lambda each: connection.execute(query, (each,)).fetchone()


def _many(connection: sqlite3.Connection) -> Callable[[list[int]], Any]:
    where = "id IN (SELECT value FROM json_each(?))"
    query = f"SELECT {', '.join(VALUES)} FROM state WHERE {where}"
    return lambda some: connection.execute(query, (json.dumps(some),)).fetchall()


# The plain pipeline


def piece_plain(task: Task) -> Figures:
    """Measure what one writes in an afternoon: networkx, one state at a time, executemany.

    Cyclic garbage collection is off, to be fair: it would take another half of its time.
    """
    import gc

    from graphstore import find_game
    from graphstore.games.grid import Grid

    rules = find_game(task.game)
    if not isinstance(rules, Grid):
        sys.exit(f"bench: the plain pipeline knows no {task.game}; add --without-plain")
    gc.disable()
    board = PlainBoard(rules.columns, rules.rows, rules.in_a_row, misere=rules.misere)
    laps = Laps()
    states, graph = plain_explore(board)
    laps.lap("explore")
    plain_solve(states, graph)
    laps.lap("solve")
    plain_store(board, states, graph, task.folder / "plain.db", laps)
    seconds = laps.seconds
    return {
        **seconds,
        "explore_solve": round(seconds["explore"] + seconds["solve"], 4),
        "total": round(sum(seconds.values()), 4),
        "states": len(states),
        "moves": sum(len(moves) for _, _, moves in graph.edges(data="moves")),
        "edges": graph.number_of_edges(),
        **_outcomes(Counter(state.value for state in states.values())),
    }


@dataclass(slots=True)
class PlainState:
    """What the plain pipeline knows of a state."""

    ply: int
    outcome: int | None = None
    value: int = 0
    remoteness: int = 0
    score: float = 0
    random_value: float = 0
    chooser: float = 0  # against a random opponent, for the player to move
    drifter: float = 0  # the same if it is the player to move who plays at random


class PlainBoard:
    """The rules of an m,n,k game for one position: X's mask above O's, in one integer."""

    def __init__(self, columns: int, rows: int, in_a_row: int, *, misere: bool) -> None:
        self.columns, self.rows, self.misere = columns, rows, misere
        self.cells = columns * rows
        self.full = 2**self.cells - 1
        self.bits = [(cell, self.bit(cell)) for cell in range(self.cells)]
        self.lines = [sum(map(self.bit, line)) for line in self._lines(in_a_row)]
        self.images = cache(self._images)
        where = [[row * columns + column for column in range(columns)] for row in range(rows)]
        turned = [where, [list(line) for line in zip(*where, strict=True)]][: 1 + (rows == columns)]
        views = [
            [row[::x] for row in view[::y]] for view in turned for x in (1, -1) for y in (1, -1)
        ]
        self.symmetries = [[cell for row in view for cell in row] for view in views]

    def bit(self, cell: int) -> int:
        """Return the mask of a cell."""
        return 1 << (self.cells - 1 - cell)

    def _lines(self, k: int) -> Iterator[list[int]]:
        for row in range(self.rows):
            for column in range(self.columns):
                for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
                    last_row, last_column = row + down * (k - 1), column + right * (k - 1)
                    if last_row < self.rows and 0 <= last_column < self.columns:
                        step = down * self.columns + right
                        yield [row * self.columns + column + i * step for i in range(k)]

    def _images(self, mask: int) -> list[int]:
        """Return a mask under every symmetry."""
        marked = [bool(mask & self.bit(cell)) for cell in range(self.cells)]
        return [
            sum(self.bit(cell) for cell, origin in enumerate(symmetry) if marked[origin])
            for symmetry in self.symmetries
        ]

    def split(self, state: int) -> tuple[int, int]:
        """Return X's and O's mask."""
        return state >> self.cells, state & self.full

    def positions(self, x: int, o: int) -> list[int]:
        """Return a position under every symmetry."""
        cells = self.cells
        return [a << cells | b for a, b in zip(self.images(x), self.images(o))]  # noqa: B905

    def outcome(self, x: int, o: int) -> int | None:
        """Return the value of an ended position for the player to move, None in play."""
        opponent = o if x.bit_count() == o.bit_count() else x
        for line in self.lines:
            if opponent & line == line:
                return 1 if self.misere else -1
        return 0 if x | o == self.full else None

    def text(self, x: int, o: int) -> str:
        """Return a position as text."""
        marks = "".join(["X" if x & bit else "O" if o & bit else "." for _, bit in self.bits])
        starts = range(0, self.cells, self.columns)
        return "/".join(marks[begin : begin + self.columns] for begin in starts)


def plain_explore(board: PlainBoard) -> tuple[dict[int, PlainState], Any]:
    """Return all canonical states, first come, first explored, and a networkx.DiGraph of them."""
    import networkx as nx

    graph = nx.DiGraph()
    graph.add_node(0)
    states = {0: PlainState(0)}
    queue = deque(states)
    while queue:
        parent = queue.popleft()
        x, o = board.split(parent)
        outcome = states[parent].outcome = board.outcome(x, o)
        if outcome is not None:
            continue
        x_moves = x.bit_count() == o.bit_count()
        children: dict[int, list[int]] = {}
        for cell, bit in board.bits:
            if not (x | o) & bit:
                images = board.positions(x | bit, o) if x_moves else board.positions(x, o | bit)
                children.setdefault(min(images), []).append(cell)
        for child, moves in children.items():
            graph.add_edge(parent, child, moves=moves)
            if child not in states:
                states[child] = PlainState(states[parent].ply + 1)
                queue.append(child)
    return states, graph


def plain_solve(states: dict[int, PlainState], graph: Any) -> None:
    """Solve one state at a time, the last found first: every move leads to a later one."""
    neighbours = dict(graph.adjacency())
    for key, state in reversed(states.items()):
        if state.outcome is not None:
            state.value, state.score = state.outcome, -float(state.outcome)
            state.random_value = state.chooser = state.drifter = float(state.outcome)
            continue
        edges = neighbours[key]
        children = [states[child] for child in edges]
        state.value = value = -min([child.value for child in children])
        kept = [child.remoteness for child in children if child.value == -value]
        state.remoteness = 1 + (max(kept) if value == -1 else min(kept))
        losing = sum([child.value == 1 for child in children])
        state.score = losing / len(children) if value == 0 else float(-value)
        moves = [len(edge["moves"]) for edge in edges.values()]
        total = sum([n * child.random_value for n, child in zip(moves, children, strict=True)])
        state.random_value = -total / sum(moves)
        state.chooser = -min([child.drifter for child in children])
        total = sum([n * child.chooser for n, child in zip(moves, children, strict=True)])
        state.drifter = -total / sum(moves)


def plain_store(
    board: PlainBoard, states: dict[int, PlainState], graph: Any, file: Path, laps: Laps
) -> None:
    """Write the two tables row by row in the order of their keys, then the index."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=OFF").fetchall()
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute(f"CREATE TABLE state (id INTEGER PRIMARY KEY, {PLAIN_COLUMNS})")
        connection.execute(
            "CREATE TABLE edge (parent, move, child, PRIMARY KEY (parent, move)) WITHOUT ROWID"
        )
        connection.execute("BEGIN")
        keys = sorted(states)
        neighbours = dict(graph.adjacency())
        places = ", ".join("?" * 13)
        rows = (plain_row(board, key, states[key]) for key in keys)
        connection.executemany(f"INSERT INTO state VALUES ({places})", rows)
        laps.lap("load_states")
        edges = (
            (key, move, child)
            for key in keys
            for child, edge in neighbours[key].items()
            for move in edge["moves"]
        )
        connection.executemany("INSERT INTO edge VALUES (?, ?, ?)", edges)
        laps.lap("load_edges")
        connection.execute("CREATE INDEX child ON edge (child)")
        connection.execute("COMMIT")
        laps.lap("index")


def plain_row(board: PlainBoard, key: int, state: PlainState) -> tuple[Any, ...]:
    """Return a row of the table state."""
    x, o = board.split(key)
    return (
        key,
        board.text(x, o),
        state.ply,
        1 if x.bit_count() == o.bit_count() else 2,
        int(state.outcome is not None),
        state.value,
        state.remoteness,
        state.score,
        state.remoteness // 2 if state.value == -1 else None,
        (state.remoteness + 1) // 2 if state.value == 1 else None,
        len(set(board.positions(x, o))),
        state.random_value,
        -state.drifter,
    )


# Printing


def as_text(result: Figures) -> str:
    """Return the figures as two tables: the pieces', then the targets'."""
    about = ", ".join(f"{name} {value}" for name, value in result["machine"].items())
    lines = [result["game"], about, ""]
    for piece, figures in result["figures"].items():
        lines += [piece]
        lines += [f"    {name:<22}{_number(value):>14}" for name, value in figures.items()]
    lines += ["", f"{'target':<46}{'measured':>12}  {'wanted':<12} met"]
    for each in result["targets"]:
        met = {True: "yes", False: "NO", None: "not measured"}[each["met"]]
        lines += [f"{each['name']:<46}{_number(each['value']):>12}  {each['target']:<12} {met}"]
    return "\n".join(lines)


def _number(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) or value >= 1_000 else f"{value:,.3f}"


PIECES: dict[str, Callable[[Task], Figures]] = {
    "build": piece_build,
    "copy": piece_copy,
    "plain_game": piece_plain_game,
    "commands": piece_commands,
    "lookups": piece_lookups,
    "plain": piece_plain,
}
"""copy, commands and lookups read what build wrote."""


if __name__ == "__main__":
    main()
