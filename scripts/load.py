"""Do many readers of the same files all get right answers, and how soon?

Clients ask a `graphstore serve` of its own for pages of all kinds, all of them at once, and some
of them for SQL that takes too long; then processes look states up in one file. What is right is
read from the files before; every answer is compared with it. A statement that a busy server puts
off (503, with Retry-After) is counted as busy; anything else that is not right is an error, and
the exit code is 1.
"""

import argparse
import html
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection, HTTPException
from multiprocessing import get_all_start_methods, get_context
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from graphstore import GraphstoreError, Store, build
from graphstore.cli.console import print_json, print_table

PATIENCE = 60  # seconds for one answer
SAMPLE = 200  # states of a file that are asked for
BATCH = 100  # ids of one look-up of many
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
LONG = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000) "
    "SELECT max(i) AS most FROM n"
)
SLOW = "slow sql"


class Known(NamedTuple):
    """What a file says of a state, read beforehand.

    Attributes:
        game: the name of the file without its ending.
        row: of the table `state`.
        edges: its rows of `edge`, by move.
        board: its board, as SQL gives it; None where the rules are not known.
    """

    game: str
    row: dict[str, Any]
    edges: list[dict[str, Any]]
    board: str | None


class Request(NamedTuple):
    """What to ask for, and how to tell whether the answer is right.

    Attributes:
        kind: of page.
        path: with its query.
        right: whether a status and a body are right.
    """

    kind: str
    path: str
    right: Callable[[int, str], bool]


class Answered(NamedTuple):
    """What came of a request.

    Attributes:
        kind: of page.
        seconds: that it took.
        wrong: what was, if anything.
        busy: whether it was put off.
        in_time: whether the answer came before the time for all was over.
    """

    kind: str
    seconds: float
    wrong: str
    busy: bool = False
    in_time: bool = True


class Looked(NamedTuple):
    """What a process did: look-ups of one state with its moves, of a batch, by SQL; what failed."""

    probes: int
    batched: int
    statements: int
    seconds: float
    wrong: list[str]


def main() -> None:
    """Print what many readers got, and how soon."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", help="databases; by default tic-tac-toe is built")
    parser.add_argument("--clients", type=int, default=64, help="default: %(default)s")
    parser.add_argument("--processes", type=int, default=8, help="default: %(default)s")
    parser.add_argument("--seconds", type=float, default=10, help="of each part, default: 10")
    parser.add_argument("--slow", type=float, default=0.02, help="share of slow SQL, default: 0.02")
    parser.add_argument("--seed", type=int, default=0, help="default: %(default)s")
    parser.add_argument(
        "--quick", action="store_true", help="a second and a half for each part, no endless SQL"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    if min(arguments.clients, arguments.processes) < 1:
        parser.error("--clients and --processes must be at least 1")
    seconds = 1.5 if arguments.quick else arguments.seconds
    with ExitStack() as held:
        files = arguments.files
        try:
            if not files:
                folder = held.enter_context(tempfile.TemporaryDirectory())
                files = [os.path.join(folder, "tictactoe.db")]
                build("tictactoe", files[0])
            known = [each for file in files for each in read(file, seed=arguments.seed)]
        except GraphstoreError as error:
            sys.exit(f"load: {error}")
        with served(files) as address:
            answers = ask_at_once(
                address,
                known,
                clients=arguments.clients,
                seconds=seconds,
                slow=arguments.slow,
                endless=0.0 if arguments.quick else 0.5,
                seed=arguments.seed,
            )
        first = [each for each in known if each.game == Path(files[0]).stem]
        looked = look_up_at_once(files[0], first, processes=arguments.processes, seconds=seconds)
    pages = report(answers, seconds)
    lookups = report_lookups(looked)
    wrong = [f"{each.kind}: {each.wrong}" for each in answers if each.wrong]
    wrong += [line for each in looked for line in each.wrong]
    told = {"clients": arguments.clients, "seconds": seconds, "pages": pages}
    told |= {"lookups": lookups, "errors": len(wrong), "wrong": wrong[:10]}
    if arguments.json:
        print_json(told)
    else:
        print_table([*pages[0]], [[*each.values()] for each in pages])
        print()
        print_table([*lookups[0]], [[*each.values()] for each in lookups])
    if wrong:
        sys.exit(f"load: {len(wrong)} errors, first of all {' '.join(wrong[0].split())[:500]}")


def read(file: str, *, seed: int) -> list[Known]:
    """Return what a file says of some states at random, the first one being the start."""
    chance = random.Random(seed)
    with Store.open(file) as store:
        ids = [state for (state,) in store.sql("SELECT id FROM state ORDER BY id")]
        start = store.probe(store.info["start"]).state
        chosen = [start, *chance.sample(ids, min(SAMPLE, len(ids)))]
        known = []
        for state in chosen:
            (row,) = rows(store, "SELECT * FROM state WHERE id = ?", state)
            edges = rows(store, "SELECT * FROM edge WHERE parent = ? ORDER BY move", state)
            board = None
            if store.has_rules:
                board = store.game.board(store.game.read(row["position"]))
            known.append(Known(Path(file).stem, row, edges, board))
    return known


def rows(store: Store, statement: str, *parameters: Any) -> list[dict[str, Any]]:
    """Return the rows of a statement as dicts."""
    answer = store.sql(statement, parameters)
    return [dict(zip(answer.columns, row, strict=True)) for row in answer]


@contextmanager
def served(files: Sequence[str]) -> Iterator[str]:
    """Serve files in a process of its own; lend the address."""
    command = [sys.executable, "-m", "graphstore", "serve", "--port", "0", *files]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def requests(
    known: Sequence[Known], chance: random.Random, *, slow: float, endless: float
) -> Iterator[Request]:
    """Yield requests of all kinds, without end.

    Args:
        known: what is asked for.
        chance: which is next.
        slow: the share of slow SQL.
        endless: how much of that would never end.
    """
    games = sorted({each.game for each in known})
    kinds = (position_page, row_page, moves_page, row_as_json, moves_as_json, sql, sql_board)
    while True:
        if chance.random() < slow:
            yield slow_sql(chance.choice(games), endless=chance.random() < endless)
        elif chance.random() < 0.1:
            yield Request("index", "/", holds(*(f">{game}</a>" for game in games)))
        else:
            yield chance.choice(kinds)(chance.choice(known))


def position_page(known: Known) -> Request:
    """Ask for the page of a position: its state, its worth, and as many moves as there are."""
    state, position = known.row["id"], known.row["position"]
    words = {1: "win", 0: "draw", -1: "loss"}[known.row["value"]]

    def right(status: int, body: str) -> bool:
        return (
            status == 200
            and f'/state/{state}">{state}</a>' in body
            and f'gs-has-{words}"' in body
            and (bool(known.row["ended"]) or body.count(" data-move=") == len(known.edges))
        )

    path = "/".join(map(quote, position.split("/")))
    return Request("position", f"/-/explore/{known.game}/{path}", right)


def row_page(known: Known) -> Request:
    """Ask for the page of a row: all its integers are there."""
    state, position = known.row["id"], known.row["position"]
    right = holds(html.escape(position), "<h1", str(known.row["orbit"]))
    return Request("row", f"/{known.game}/state/{state}", right)


def moves_page(known: Known) -> Request:
    """Ask for the moves of a state as a table with as many rows."""
    state, number = known.row["id"], len(known.edges)
    children = [f'/state/{each["child"]}"' for each in known.edges]
    some = [f"{number} row{'s' * (number != 1)}"] if number else ["0 records"]
    return Request("table", f"/{known.game}/edge?parent={state}", holds(*some, *children))


def row_as_json(known: Known) -> Request:
    """Ask for a row as JSON."""
    path = f"/{known.game}/state/{known.row['id']}.json?_shape=array"
    return Request("row json", path, says([known.row]))


def moves_as_json(known: Known) -> Request:
    """Ask for the moves of a state as JSON."""
    path = f"/{known.game}/edge.json?parent={known.row['id']}&_shape=array&_sort=move"
    return Request("table json", path, says(known.edges))


def sql(known: Known) -> Request:
    """Ask in SQL for the sum of a state's children."""
    statement = "SELECT count(*) AS n, sum(child) AS s FROM edge WHERE parent = :id"
    total = sum(each["child"] for each in known.edges) if known.edges else None
    right = says([{"n": len(known.edges), "s": total}])
    return in_sql("sql", known.game, statement, right, id=known.row["id"])


def sql_board(known: Known) -> Request:
    """Ask in SQL for what needs the rules."""
    if known.board is None:
        return sql(known)
    statement = "SELECT board(CAST(:id AS INTEGER)) AS b"
    return in_sql("sql", known.game, statement, says([{"b": known.board}]), id=known.row["id"])


def slow_sql(game: str, *, endless: bool) -> Request:
    """Ask for what takes long, or too long."""
    if endless:
        return in_sql(SLOW, game, ENDLESS, lambda status, body: status == 400 and "took" in body)
    counted = says([{"most": 1_000_000}])
    return in_sql(
        SLOW,
        game,
        LONG,
        lambda status, body: counted(status, body) or (status == 400 and "took" in body),
    )


def in_sql(
    kind: str, game: str, statement: str, right: Callable[[int, str], bool], **parameters: Any
) -> Request:
    """Return the request for a statement's rows as JSON."""
    query = urlencode({"sql": statement, "_shape": "array", **parameters})
    return Request(kind, f"/{game}.json?{query}", right)


def holds(*texts: str) -> Callable[[int, str], bool]:
    """Return whether all texts are on a page.

    >>> holds("a", "b")(200, "abc"), holds("d")(200, "abc"), holds("a")(500, "abc")
    (True, False, False)
    """
    return lambda status, body: status == 200 and all(text in body for text in texts)


def says(expected: list[dict[str, Any]]) -> Callable[[int, str], bool]:
    """Return whether JSON says just that.

    >>> says([{"a": 1}])(200, '[{"a": 1}]'), says([])(200, '[{"a": 1}]')
    (True, False)
    """
    return lambda status, body: status == 200 and json.loads(body) == expected


def ask_at_once(
    address: str,
    known: Sequence[Known],
    *,
    clients: int,
    seconds: float,
    slow: float,
    endless: float,
    seed: int,
) -> list[Answered]:
    """Return what many clients got that asked at once and without a pause."""
    host = urlsplit(address).netloc
    begun = threading.Barrier(clients)

    def ask(number: int) -> list[Answered]:
        found: list[Answered] = []
        begun.wait()
        end = time.perf_counter() + seconds
        with closing(HTTPConnection(host, timeout=PATIENCE)) as connection:
            chance = random.Random(f"{seed} {number}")
            for request in requests(known, chance, slow=slow, endless=endless):
                if time.perf_counter() > end:
                    return found
                got = answered(connection, request)
                found.append(got._replace(in_time=time.perf_counter() <= end))
        return found

    with ThreadPoolExecutor(clients) as pool:
        return [each for found in pool.map(ask, range(clients)) for each in found]


def answered(connection: HTTPConnection, request: Request) -> Answered:
    """Ask once, and compare the answer."""
    begin = time.perf_counter()
    try:
        connection.request("GET", request.path)
        response = connection.getresponse()
        body = response.read().decode()
    except (OSError, HTTPException, ValueError) as error:
        connection.close()
        took = time.perf_counter() - begin
        return Answered(request.kind, took, f"{request.path}: {type(error).__name__} {error}")
    took = time.perf_counter() - begin
    put_off = response.status == 503 and response.getheader("Retry-After", "").isdigit()
    if put_off and request.kind in ("sql", SLOW):
        return Answered(request.kind, took, "", busy=True)
    try:
        right = request.right(response.status, body)
    except ValueError:
        right = False
    return Answered(
        request.kind, took, "" if right else f"{request.path}: {response.status} {body[:200]}"
    )


def report(answers: Sequence[Answered], seconds: float) -> list[dict[str, Any]]:
    """Return, by kind and of all, how many answers there were and how long they took, in ms.

    >>> row = report([Answered("x", 0.25, "")], 0.5)[0]
    >>> row["requests"], row["per_second"], row["p50"], row["errors"]
    (1, 2.0, 250.0, 0)
    """
    by_kind: dict[str, list[Answered]] = defaultdict(list)
    for each in answers:
        by_kind[each.kind].append(each)
    quick = [each for each in answers if each.kind != SLOW]
    table = []
    for kind, some in [*sorted(by_kind.items()), ("all but slow sql", quick)]:
        took = sorted(each.seconds for each in some if not each.busy)
        shown = {f"p{part}": percentile(took, part) for part in (50, 95, 99)}
        table.append(
            {
                "kind": kind,
                "requests": len(some),
                "errors": sum(bool(each.wrong) for each in some),
                "busy": sum(each.busy for each in some),
                "per_second": round(sum(each.in_time for each in some) / seconds, 1),
                **shown,
                "most": percentile(took, 100),
            }
        )
    return table


def percentile(ordered: Sequence[float], part: int) -> float | None:
    """Return in ms what that part of some times, in seconds, do not exceed.

    >>> percentile([0.001, 0.002, 0.003, 0.004], 50), percentile([], 50)
    (2.0, None)
    """
    if not ordered:
        return None
    return round(1000 * ordered[max(0, -(-len(ordered) * part // 100) - 1)], 1)


def look_up_at_once(
    file: str, known: Sequence[Known], *, processes: int, seconds: float
) -> list[Looked]:
    """Return what processes got that read one file at once."""
    context: Any = get_context("forkserver" if "forkserver" in get_all_start_methods() else "spawn")
    context.set_forkserver_preload(["graphstore.store.store"])  # or each would import it
    with context.Manager() as manager, ProcessPoolExecutor(processes, mp_context=context) as pool:
        begun = manager.Barrier(processes)
        running = [
            pool.submit(look_up, file, known, number, seconds, begun) for number in range(processes)
        ]
        return [each.result() for each in running]


def look_up(file: str, known: Sequence[Known], number: int, seconds: float, begun: Any) -> Looked:
    """Look states up at random, in three ways in turn, each for a third of the time."""
    chance = random.Random(number)
    done = [0, 0, 0]
    wrong = []
    with Store.open(file) as store:

        def probe() -> int:
            each = chance.choice(known)
            found = store.probe(each.row["position"] if number % 2 else each.row["id"])
            told = {name: getattr(found, name, each.row[name]) for name in each.row}
            if told | {"position": each.row["position"]} != each.row or {
                move.state for move in found.moves
            } != {edge["child"] for edge in each.edges}:
                wrong.append(f"probe of state {each.row['id']}: {found}")
            return 1

        def batch() -> int:
            some = chance.choices(known, k=BATCH)
            found = store.lookup([each.row["id"] for each in some])
            for name in ("value", "remoteness", "score", "win_depth", "lose_depth"):
                if getattr(found, name).tolist() != [each.row[name] for each in some]:
                    wrong.append(f"lookup of {BATCH} states: {name}")
            return BATCH

        def statement() -> int:
            each = chance.choice(known)
            if rows(store, "SELECT * FROM state WHERE id = ?", each.row["id"]) != [each.row]:
                wrong.append(f"SQL for state {each.row['id']}")
            return 1

        begun.wait()
        begin = time.perf_counter()
        for way, look in enumerate((probe, batch, statement)):
            end = begin + seconds * (way + 1) / 3
            while time.perf_counter() < end:
                done[way] += look()
        return Looked(done[0], done[1], done[2], time.perf_counter() - begin, wrong)


def report_lookups(looked: Sequence[Looked]) -> list[dict[str, Any]]:
    """Return how many look-ups a second there were: in all, by the least and the most of processes.

    >>> report_lookups([Looked(10, 300, 6, 3.0, []), Looked(20, 300, 6, 3.0, [])])[0]
    {'lookups': 'probe', 'processes': 2, 'per_second': 30, 'least': 10, 'most': 20}
    """
    table = []
    for way, name in (("probes", "probe"), ("batched", "lookup"), ("statements", "sql")):
        rates = [3 * getattr(each, way) / each.seconds for each in looked]
        table.append(
            {
                "lookups": name,
                "processes": len(looked),
                "per_second": round(sum(rates)),
                "least": round(min(rates)),
                "most": round(max(rates)),
            }
        )
    return table


if __name__ == "__main__":
    try:
        main()
    except (BrokenPipeError, KeyboardInterrupt):  # `head` has seen enough, or a person has
        os._exit(1)
