"""Measure how fast graphstore builds and answers, compared with a plain pipeline and with SQLite.

Every piece runs in its own process, so that its peak memory is its own. Short pieces run three
times in turn, and the best time of each counts, because other work on the machine can only add to a
time; the plain pipeline takes minutes and runs once. A missed target is not an error: the last
table says which targets this run met. It is an error if graphstore and the plain pipeline count
different states, moves or values.
"""

import argparse
import json
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from shared import Figures, Laps, best_runs, in_own_process, machine, run_main

from graphstore import GraphstoreError
from graphstore.util.memory import peak_bytes

ROUNDS = 3
REPEATED = ("build", "copy", "upgrade", "plain_game", "verify", "whole")  # in turn

DATABASE = "game.db"
MEGABYTE = 1_000_000
SAMPLE = 20_000  # positions in the look-ups that are timed
BATCH = 1_000  # of them in a batch
COUNTS = ("states", "moves", "edges", "wins", "draws", "losses")
VALUES = "id, value, remoteness, score, win_depth, lose_depth"

TARGETS = (
    ("explore + solve, times faster than plain", "plain/explore_solve", "build/explore_solve", 25),
    ("whole build, times faster than plain", "plain/total", "build/total", 5),
    ("whole build, times as long as SQLite's copy", "build/total", "copy/total", -1.2),
    ("peak RSS of the build, MB", "build/peak_mb", "", -500),
    ("upgrade of the first schema, over the copy", "upgrade/total", "copy/total", -1.6),
    ("edge rows loaded a second", "build/edges_per_s", "", 2_500_000),
    ("PlainGame states explored a second of CPU", "plain_game/states_per_s", "", 150_000),
    ("the same with 8 images", "plain_game/states_per_s_8", "", 60_000),
    ("the same with 720 images", "plain_game/states_per_s_720", "", 2_000),
    ("ids one by one, over the raw driver", "lookups/by_id", "lookups/raw_by_id_cached", 0.5),
    ("ids by the thousand, a second", "lookups/lookup_ids", "", 500_000),
    ("ids by the thousand, over raw one by one", "lookups/lookup_ids", "lookups/raw_by_id", 1.47),
    ("typed positions by the thousand, a second", "lookups/lookup_typed", "", 200_000),
    ("typed positions with all moves, a second", "lookups/probe_typed", "", 5_000),
    *(
        (f"a position of Connect Four with {stones} stones, s of CPU", f"solve/s_{stones}", "", -s)
        for stones, s in ((24, 0.01), (20, 0.2), (16, 0.2), (12, 2), (8, 20))
    ),
    ("positions searched a second of CPU", "solve/positions_per_s", "", 2_000_000),
    ("graphstore --help, s of CPU", "commands/help", "", -0.07),
    *(
        (f"graphstore {name}, {words}", f"commands/{name}", under, -most)
        for words, under, bounds in (
            ("s of CPU", "", (0.2, 0.2, 0.2, 0.2)),
            ("over that of python", "commands/python", (18, 15, 9, 9)),
            ("over import sqlite3, click", "commands/imports", (4.5, 4, 2.2, 2.2)),
        )
        for name, most in zip(("show", "line", "sql", "stats"), bounds, strict=True)
    ),
    ("verify, times as long as the driver reads all rows", "verify/total", "verify/rows", -1.25),
    ("peak RSS of verify, MB", "verify/peak_mb", "", -500),
    ("the graph, times as long as the driver", "whole/graph", "whole/rows", -0.75),
    ("edges to CSV, times as long as the driver reads them", "whole/csv", "whole/edges", -1.25),
)
"""Name, figure, the figure that divides it, and the bound: at least, or at most if negative."""


class Task(NamedTuple):
    """The task of a measurement: a built-in game, a folder for files, and whether to be quick."""

    game: str
    folder: Path
    quick: bool


def main() -> None:
    """Measure all pieces."""
    arguments = _arguments()
    with tempfile.TemporaryDirectory(prefix="graphstore-bench-") as folder:
        task = Task(arguments.game, Path(folder), arguments.quick)
        result = measure_all(task, without_plain=arguments.without_plain)
    if arguments.json:
        print(json.dumps(result, indent=2))
    else:
        print_tables(result)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("game", nargs="?", help="a built-in game  [default: mnk(4,4,4)]")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="take seconds: mnk(4,3,3) unless GAME is given, and shorter measurements",
    )
    parser.add_argument(
        "--without-plain",
        action="store_true",
        help="leave out the plain pipeline, which takes minutes and 3 GB (grid games only)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    arguments.game = arguments.game or ("mnk(4,3,3)" if arguments.quick else "mnk(4,4,4)")
    return arguments


def measure_all(task: Task, *, without_plain: bool = False) -> Figures:
    """Return the figures of every piece, and which targets they meet."""
    turns = REPEATED * (1 if task.quick else ROUNDS)
    pieces = (*["plain"] * (not without_plain), *turns, "solve", "commands", "lookups")
    figures = best_runs(
        [{"piece": piece} for piece in pieces],
        lambda each: in_own_process(
            __file__, "measured", each["piece"], task.game, str(task.folder), task.quick
        ),
        lambda found: found.get("total", found.get("explore", 0)),
    )
    if "plain" in figures:
        counts = [{name: figures[piece][name] for name in COUNTS} for piece in ("build", "plain")]
        if counts[0] != counts[1]:
            raise GraphstoreError(f"graphstore and the plain pipeline differ: {counts}")
    return {
        "game": task.game,
        "machine": machine(),
        "figures": figures,
        "targets": [target(figures, *each) for each in TARGETS],
    }


def measured(piece: str, game: str, folder: str, quick: bool) -> Figures:
    """Return the figures of one piece, measured in this process."""
    figures = PIECES[piece](Task(game, Path(folder), quick))
    peak_mb = round(peak_bytes() / MEGABYTE, 1)
    return figures | {"cpu_s": round(time.process_time(), 2), "peak_mb": peak_mb}


def target(figures: dict[str, Figures], name: str, over: str, under: str, bound: float) -> Figures:
    """Return the measured value of a target, and whether it is met; None if it is not measured."""

    def figure(path: str) -> Any:
        piece, _, name = path.partition("/")
        return figures.get(piece, {}).get(name)

    top, bottom = figure(over), figure(under) if under else 1
    value = round(top / bottom, 3) if top is not None and bottom else None
    met = None if value is None else value >= bound if bound > 0 else value <= -bound
    sign = ">=" if bound > 0 else "<="
    return {"name": name, "value": value, "target": f"{sign} {abs(bound):,}", "met": met}


def rate(task: Task, work: Callable[[Any], Any], items: Sequence[Any]) -> int:
    """Return how many items a second are processed, one by one, over a second or so."""
    return round(_passes(task, work, items))


def batch_rate(task: Task, work: Callable[[Any], Any], items: Any) -> int:
    """Return how many items a second are processed in batches of up to a thousand."""
    ends = range(BATCH, max(len(items), BATCH) + 1, BATCH)
    batches = [items[end - BATCH : end] for end in ends]
    return round(_passes(task, work, batches) * len(batches[0]))


def _passes(task: Task, work: Callable[[Any], Any], items: Sequence[Any]) -> float:
    """Return how often a second a function can be called, after a warm-up, item by item."""
    for item in items[: len(items) // 10 + 1]:
        work(item)
    begin = time.perf_counter()
    for done in count(1):
        work(items[done % len(items)])
        if done % 10 == 0 and time.perf_counter() - begin > (0.1 if task.quick else 1):
            break
    return done / (time.perf_counter() - begin)


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
        # They are written while the game is solved; what is left then is the time of the phase.
        "edges_per_s": round(report.moves / (seconds["solve"] + seconds["load_edges"])),
        "file_mb": round(file.stat().st_size / MEGABYTE, 1),
        "bytes_per_state": round(sizes[0] / report.states, 1),
        "bytes_per_edge": round(sizes[1] / report.moves, 1) if sizes[1] else None,
    }


def _sizes(connection: sqlite3.Connection) -> tuple[int, int | None]:
    """Return the bytes of all states and of all edges with their index.

    Without dbstat in SQLite, it is the bytes of the whole file, and None.
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


def piece_copy(task: Task) -> Figures:
    """Measure how long SQLite takes to copy the two tables row by row, and to index them again.

    The pragmas are those of a build, so only the way of inserting rows differs.
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


def piece_upgrade(task: Task) -> Figures:
    """Measure the upgrade of a file of the first schema, which lacks `best_response`."""
    from graphstore import Store, upgrade
    from graphstore.checks.file.reading import DatabaseRows
    from graphstore.store import schema
    from graphstore.store.digests import OrderedDigests, of_content

    file = task.folder / "older.db"
    shutil.copyfile(task.folder / DATABASE, file)
    columns = schema.state.c.keys()
    later = columns[columns.index("best_response") :]
    hashes = OrderedDigests()
    with Store.open(file) as store:
        for table in schema.STORED:
            for part in DatabaseRows(store).parts(table):
                hashes.update_table(table, part)
    with closing(sqlite3.connect(file)) as connection:
        for view in schema.VIEWS:
            connection.execute(f"DROP VIEW {view}")
        for table in (*reversed(schema.AGENT_TABLES), schema.move):
            connection.execute(f"DROP TABLE {table}")
        connection.execute("ALTER TABLE game DROP COLUMN extent")
        connection.execute("DELETE FROM digest WHERE name = 'game.extent' OR name LIKE 'move.%'")
        put = "UPDATE digest SET blake2b = ? WHERE name = ?"
        connection.executemany(put, [(each, name) for name, each in hashes.of_columns().items()])
        for name in later:
            connection.execute(f"ALTER TABLE state DROP COLUMN {name}")
            connection.execute("DELETE FROM digest WHERE name = ?", (f"state.{name}",))
        names = "name LIKE 'state.%' OR name LIKE 'edge.%'"
        digests = dict(connection.execute(f"SELECT name, blake2b FROM digest WHERE {names}"))
        connection.execute("UPDATE game SET digest = ?", (of_content(digests),))
        connection.execute("UPDATE alembic_version SET version_num = '0001'")
        connection.commit()
    laps = Laps()
    upgrade(file)
    laps.lap("total")
    return laps.seconds


def piece_plain_game(task: Task) -> Figures:
    """Measure the exploration of rules for one position: tuples, 8 images, and 720 images."""
    from plain_games import Heaps, sim, squares

    from graphstore import explore

    heaps, marks, edges = (14, 4, 4) if task.quick else (46, 7, 15)
    figures: Figures = {"total": 0.0}
    for name, game in (("", Heaps(heaps)), ("_8", squares(marks)), ("_720", sim(edges))):
        begin = time.process_time()
        graph = explore(game)
        seconds = time.process_time() - begin
        states = graph.number_of_nodes()
        figures["total"] += seconds
        figures |= {f"states{name}": states, f"states_per_s{name}": round(states / seconds)}
    return figures


def piece_solve(task: Task) -> Figures:
    """Measure the search of random positions of Connect Four, the median of each number of stones.

    Positions that end within two plies do not count. Every position has an empty table. Without
    numba the positions with few stones are left out. If bitbully is installed, a solver in C++ of
    Connect Four only, it searches the same positions.
    """
    import numpy as np

    from graphstore import Solver
    from graphstore.solver.bitboards import compiled_run

    drawn, compiled = np.random.default_rng(0), compiled_run() is not None
    figures: Figures = {"numba": int(compiled)}
    Solver("connect(6,5)").search(timeout=2)  # loads or compiles the code
    nodes, spent = 0, 0.0
    for stones in (24, 20, 16) if task.quick or not compiled else (24, 20, 16, 12, 8):
        seconds, others = list[float](), list[float]()
        while len(seconds) < (3 if task.quick else 20):
            solver = Solver("connect(7,6)")
            moves = _random_moves(solver.game, stones, drawn)
            at = solver.read(moves)
            begin = time.process_time()
            found = solver.search(at)
            if found.remoteness is not None and found.remoteness > 2:
                seconds.append(time.process_time() - begin)
                nodes += found.nodes
                others += _by_bitbully(moves, found.solver_score)
        figures[f"s_{stones}"] = round(statistics.median(seconds), 5)
        figures[f"most_s_{stones}"] = round(max(seconds), 4)
        if others:
            figures[f"bitbully_s_{stones}"] = round(statistics.median(others), 5)
        spent += sum(seconds)
    return figures | {"positions_per_s": round(nodes / spent), "total": round(spent, 4)}


def _random_moves(game: Any, stones: int, drawn: Any) -> list[str]:
    """Return random moves to a position in play, by the numbers of the columns from 1."""
    while True:
        at, moves = game.start_states(), list[str]()
        while len(moves) < stones and game.outcomes(at)[0] == 2:
            _, columns, children = game.expand(at)
            which = drawn.integers(len(columns))
            moves.append(str(columns[which] + 1))
            at = children[which : which + 1]
        if game.outcomes(at)[0] == 2:
            return moves


def _by_bitbully(moves: list[str], score: int | None) -> list[float]:
    """Return the seconds that bitbully takes, whose score must be equal; none without it."""
    try:
        from bitbully import bitbully_core
    except ImportError:
        return []
    board, solver = bitbully_core.BoardCore(), bitbully_core.BitBullyCore()
    board.setBoard([int(column) - 1 for column in moves])
    begin = time.process_time()
    found = solver.mtdf(board, 0)
    seconds = time.process_time() - begin
    if found != score:
        raise GraphstoreError(f"graphstore and bitbully differ at {moves}: {score}, {found}")
    return [seconds]


def piece_commands(task: Task) -> Figures:
    """Measure the CPU time of commands, run in turn: the median of 20 runs (quick: one)."""
    file = str(task.folder / DATABASE)
    python, command = [sys.executable, "-c"], [sys.executable, "-m", "graphstore"]
    programs = {
        "python": [*python, "pass"],
        "imports": [*python, "import sqlite3, click"],
        "help": [*command, "--help"],
        "show": [*command, "show", file],
        "line": [*command, "line", file],
        "sql": [*command, "sql", file, "SELECT count(*) FROM state"],
        "stats": [*command, "stats", file],
    }
    seconds: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(1 if task.quick else 20):
        for name, program in programs.items():
            begin = _of_children()
            subprocess.run(program, check=True, stdout=subprocess.DEVNULL)
            seconds[name].append(_of_children() - begin)
    return {name: round(statistics.median(each), 4) for name, each in seconds.items()}


def _of_children() -> float:
    """Return the CPU time of processes that have ended, in seconds; on Windows the wall time."""
    try:
        from resource import RUSAGE_CHILDREN, getrusage
    except ImportError:
        return time.perf_counter()
    spent = getrusage(RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def piece_lookups(task: Task) -> Figures:
    """Measure positions looked up a second, one by one and by the thousand.

    A probe includes all moves; outside a snapshot it has its own transaction. The raw driver reads
    rows by primary key, without moves, in one transaction: with SQLite's own cache, and with the
    cache of a store. All are measured in turn, and the best of each counts.
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
    """Return ids of states in play, and positions as typed, in any orientation."""
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
    query = f"SELECT {VALUES} FROM state WHERE id = ?"
    return lambda each: connection.execute(query, (each,)).fetchone()


def _many(connection: sqlite3.Connection) -> Callable[[list[int]], Any]:
    query = f"SELECT {VALUES} FROM state WHERE id IN (SELECT value FROM json_each(?))"
    return lambda some: connection.execute(query, (json.dumps(some),)).fetchall()


def piece_verify(task: Task) -> Figures:
    """Measure a verification of all rows, and how long the driver takes to read them."""
    from graphstore import verify

    laps = Laps()
    for table in ("state", "edge"):
        _read(task, table)
    laps.lap("rows")
    if not verify(task.folder / DATABASE).ok:
        raise GraphstoreError("the database that was built is wrong")
    laps.lap("total")
    return laps.seconds


def piece_whole(task: Task) -> Figures:
    """Measure the graph from the file, all edges as CSV, and the driver reading the same rows."""
    from graphstore import Store, export

    target = task.folder / "edge.csv"
    target.unlink(missing_ok=True)
    laps = Laps()
    for table in ("state", "edge"):
        _read(task, table)
        laps.lap(f"{table}s")
    with Store.open(task.folder / DATABASE) as store:
        store.graph()
        laps.lap("graph")
        export(store, target, "csv", table="edge")
        laps.lap("csv")
    rows = round(laps.seconds["states"] + laps.seconds["edges"], 4)
    return laps.seconds | {"rows": rows, "total": round(sum(laps.seconds.values()), 4)}


def _read(task: Task, table: str) -> None:
    """Read all rows of a table by the driver, keeping none."""
    with closing(_raw(task.folder / DATABASE)) as raw:
        for _ in raw.execute(f"SELECT * FROM {table}"):
            pass


def piece_plain(task: Task) -> Figures:
    """Measure the plain pipeline.

    Cyclic garbage collection is off, to be fair: with it, the pipeline takes half as long again.
    """
    import gc

    import plain

    from graphstore import find_game
    from graphstore.games.grid import Grid

    rules = find_game(task.game)
    if not isinstance(rules, Grid):
        raise GraphstoreError(f"the plain pipeline cannot play {task.game}; add --without-plain")
    gc.disable()
    board = plain.Board(rules.columns, rules.rows, rules.in_a_row, misere=rules.misere)
    seconds, states, graph = plain.pipeline(board, task.folder / "plain.db")
    return {
        **seconds,
        "explore_solve": round(seconds["explore"] + seconds["solve"], 4),
        "total": round(sum(seconds.values()), 4),
        "states": len(states),
        "moves": sum(len(moves) for _, _, moves in graph.edges(data="moves")),
        "edges": graph.number_of_edges(),
        **_outcomes(Counter(state.value for state in states.values())),
    }


PIECES: dict[str, Callable[[Task], Figures]] = {
    "build": piece_build,
    "copy": piece_copy,
    "upgrade": piece_upgrade,
    "plain_game": piece_plain_game,
    "solve": piece_solve,
    "commands": piece_commands,
    "lookups": piece_lookups,
    "verify": piece_verify,
    "whole": piece_whole,
    "plain": piece_plain,
}
"""Copy, upgrade, commands, lookups, verify and whole read the file of the piece build."""


def print_tables(result: Figures) -> None:
    """Print the figures of each piece, and a table of the targets."""
    from graphstore.cli.console import print_report, print_table

    print(result["game"])
    print(", ".join(f"{name} {value}" for name, value in result["machine"].items()), end="\n\n")
    for piece, figures in result["figures"].items():
        print(piece)
        print_report({f"    {name}": value for name, value in figures.items()})
    print()
    words = {True: "yes", False: "NO", None: "not measured"}
    rows = [[*(each | {"met": words[each["met"]]}).values()] for each in result["targets"]]
    print_table(("target", "measured", "bound", "met"), rows)


if __name__ == "__main__":
    run_main(main)
