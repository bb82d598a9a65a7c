"""Check that many readers of the same files at once get right answers, and measure their speed.

Clients request pages of all kinds from a `graphstore serve`, and some of them SQL that takes too
long. Every answer is compared with data that was read from the files before. A statement that a
busy server refuses (503, with Retry-After) counts as busy; any other wrong answer is an error, and
the exit code is 1.
"""

import argparse
import html
import json
import os
import random
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from shared import run_main, served

from graphstore import Store, build
from graphstore.cli.console import print_json, print_table

PATIENCE = 60  # seconds to wait for one answer
SAMPLE = 200  # states of a file that are requested
NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n {}) SELECT {} FROM n"
ENDLESS, LONG = (NUMBERS.format(end, "max(i) AS most") for end in ("", "WHERE i < 1000000"))
SLOW = "slow sql"
Row = dict[str, Any]
Right = Callable[[int, str], bool]  # returns whether a status and a body are right


class Known(NamedTuple):
    """A state as a file has it; `game` is the name of the file without its ending."""

    game: str
    row: Row
    edges: list[Row]  # by move
    board: str | None  # as SQL gives it; None if the rules are not known


class Request(NamedTuple):
    """A request, and the check of its answer."""

    kind: str
    path: str
    right: Right


class Answered(NamedTuple):
    """The result of a request."""

    kind: str
    seconds: float
    wrong: str  # the error; empty if the answer is right
    busy: bool = False  # True if the server was busy and refused it
    in_time: bool = True  # True if it came before the end of the run


def main() -> None:
    """Run many readers at once; print the number of their answers, the times and the errors."""
    arguments = _arguments()
    seconds = 1.5 if arguments.quick else arguments.seconds
    with ExitStack() as held:
        files = arguments.files
        if not files:
            files = [
                os.path.join(held.enter_context(tempfile.TemporaryDirectory()), "tictactoe.db")
            ]
            build("tictactoe", files[0])
        known = [read(file, seed=arguments.seed) for file in files]
        quick = [page for some in known for each in some for page in pages_of(each)]
        index = Request("index", "/", holds(*(f'/-/explore/{some[0].game}"' for some in known)))
        quick += [index] * (len(quick) // 9)
        slow = [
            slow_sql(some[0].game, endless=endless)
            for some in known
            for endless in (False, *[True] * (not arguments.quick))
        ]
        with served(files) as address:
            answers = ask_at_once(
                address,
                lambda chance: chance.choice(slow if chance.random() < arguments.slow else quick),
                clients=arguments.clients,
                seconds=seconds,
                seed=arguments.seed,
            )
    pages = report(answers, seconds)
    wrong = [f"{each.kind}: {each.wrong}" for each in answers if each.wrong]
    result = {"clients": arguments.clients, "seconds": seconds, "pages": pages}
    result |= {"errors": len(wrong), "wrong": wrong[:10]}
    if arguments.json:
        print_json(result)
    else:
        print_table([*pages[0]], [[*each.values()] for each in pages])
    if wrong:
        sys.exit(f"load: {len(wrong)} errors, the first: {' '.join(wrong[0].split())[:500]}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", help="databases; by default tic-tac-toe is built")
    parser.add_argument("--clients", type=int, default=64, help="default: %(default)s")
    parser.add_argument("--seconds", type=float, default=10, help="default: %(default)s")
    parser.add_argument("--slow", type=float, default=0.02, help="share of slow SQL, default: 0.02")
    parser.add_argument("--seed", type=int, default=0, help="default: %(default)s")
    parser.add_argument("--quick", action="store_true", help="1.5 seconds, and no endless SQL")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    if arguments.clients < 1:
        parser.error("--clients must be at least 1")
    return arguments


def read(file: str, *, seed: int) -> list[Known]:
    """Return the start of a file and some random states, as the file has them."""
    chance = random.Random(seed)
    with Store.open(file) as store:
        ids = [state for (state,) in store.sql("SELECT id FROM state ORDER BY id")]
        start = store.probe(store.info["start"]).state
        known = []
        for state in (start, *chance.sample(ids, min(SAMPLE, len(ids)))):
            (row,) = rows(store, "SELECT * FROM state WHERE id = ?", state)
            edges = rows(store, "SELECT * FROM edge WHERE parent = ? ORDER BY move", state)
            board = store.game.board(store.game.read(row["position"])) if store.has_rules else None
            known.append(Known(Path(file).stem, row, edges, board))
        return known


def rows(store: Store, statement: str, *parameters: Any) -> list[Row]:
    """Return the rows of a statement as dicts."""
    answer = store.sql(statement, parameters)
    return [dict(zip(answer.columns, row, strict=True)) for row in answer]


# Requests


def pages_of(known: Known) -> Iterator[Request]:
    """Yield a request of each kind for a state."""
    game, row, edges, board = known
    state, position = row["id"], row["position"]
    worth = {1: "win", 0: "draw", -1: "loss"}[row["value"]]
    on_page = holds(f'/state/{state}">{state}</a>', f'gs-announcement gs-{worth}"')
    yield Request(
        "position",
        f"/-/explore/{game}/{'/'.join(map(quote, position.split('/')))}",
        lambda status, body: (
            on_page(status, body) and (row["ended"] or body.count(" data-move=") == len(edges))
        ),
    )
    in_row = holds(html.escape(position), "<h1", str(row["orbit"]))
    yield Request("row", f"/{game}/state/{state}", in_row)
    found = f"{len(edges)} row{'s' * (len(edges) != 1)}"
    in_table = holds(found, *(f'/state/{each["child"]}"' for each in edges))
    yield Request("table", f"/{game}/edge?parent={state}", in_table)
    yield Request("row json", f"/{game}/state/{state}.json?_shape=array", says([row]))
    path = f"/{game}/edge.json?parent={state}&_shape=array&_sort=move"
    yield Request("table json", path, says(edges))
    statement = "SELECT count(*) AS n, sum(child) AS s FROM edge WHERE parent = :id"
    total = sum(each["child"] for each in edges) if edges else None
    yield in_sql("sql", game, statement, says([{"n": len(edges), "s": total}]), id=state)
    if board is not None:
        statement = "SELECT board(CAST(:id AS INTEGER)) AS b"
        yield in_sql("sql", game, statement, says([{"b": board}]), id=state)


def slow_sql(game: str, *, endless: bool) -> Request:
    """Return a request for slow SQL, or with `endless` for SQL that a limit must stop."""
    counted = says([{"most": 1_000_000}])

    def right(status: int, body: str) -> bool:
        stopped = status == 400 and "took" in body
        return stopped or (not endless and counted(status, body))

    return in_sql(SLOW, game, ENDLESS if endless else LONG, right)


def in_sql(kind: str, game: str, statement: str, right: Right, **parameters: Any) -> Request:
    """Return the request for a statement's rows as JSON."""
    query = urlencode({"sql": statement, "_shape": "array", **parameters})
    return Request(kind, f"/{game}.json?{query}", right)


def holds(*texts: str) -> Right:
    """Return a check that all texts are on a page.

    >>> holds("a", "b")(200, "abc"), holds("d")(200, "abc"), holds("a")(500, "abc")
    (True, False, False)
    """
    return lambda status, body: status == 200 and all(text in body for text in texts)


def says(expected: list[Row]) -> Right:
    """Return a check that a page is the JSON of some rows.

    >>> says([{"a": 1}])(200, '[{"a": 1}]'), says([])(200, '[{"a": 1}]')
    (True, False)
    """
    return lambda status, body: status == 200 and json.loads(body) == expected


# Clients


def ask_at_once(
    address: str,
    choose: Callable[[random.Random], Request],
    *,
    clients: int,
    seconds: float,
    seed: int,
) -> list[Answered]:
    """Return the answers to many clients that send requests at the same time, without a pause."""
    host = urlsplit(address).netloc
    begun = threading.Barrier(clients)

    def ask(number: int) -> list[Answered]:
        found: list[Answered] = []
        chance = random.Random(f"{seed} {number}")
        begun.wait()
        end = time.perf_counter() + seconds
        with closing(HTTPConnection(host, timeout=PATIENCE)) as connection:
            while time.perf_counter() <= end:
                got = answered(connection, choose(chance))
                found.append(got._replace(in_time=time.perf_counter() <= end))
        return found

    with ThreadPoolExecutor(clients) as pool:
        return [each for found in pool.map(ask, range(clients)) for each in found]


def answered(connection: HTTPConnection, request: Request) -> Answered:
    """Send one request, and check the answer."""
    kind, path, is_right = request
    begin = time.perf_counter()
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        body = response.read().decode()
    except (OSError, HTTPException, ValueError) as error:
        connection.close()
        took = time.perf_counter() - begin
        return Answered(kind, took, f"{path}: {type(error).__name__} {error}")
    took = time.perf_counter() - begin
    put_off = response.status == 503 and response.getheader("Retry-After", "").isdigit()
    if put_off and kind in ("sql", SLOW):
        return Answered(kind, took, "", busy=True)
    try:
        right = is_right(response.status, body)
    except ValueError:
        right = False
    return Answered(kind, took, "" if right else f"{path}: {response.status} {body[:200]}")


def report(answers: Sequence[Answered], seconds: float) -> list[Row]:
    """Return the number of answers and their times in ms, for each kind and for all.

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
        table.append(
            {
                "kind": kind,
                "requests": len(some),
                "errors": sum(bool(each.wrong) for each in some),
                "busy": sum(each.busy for each in some),
                "per_second": round(sum(each.in_time for each in some) / seconds, 1),
                **{f"p{part}": percentile(took, part) for part in (50, 95, 99)},
                "most": percentile(took, 100),
            }
        )
    return table


def percentile(ordered: Sequence[float], part: int) -> float | None:
    """Return a percentile in ms of ascending times in seconds; None if there are none.

    >>> percentile([0.001, 0.002, 0.003, 0.004], 50), percentile([], 50)
    (2.0, None)
    """
    if not ordered:
        return None
    return round(1000 * ordered[max(0, -(-len(ordered) * part // 100) - 1)], 1)


if __name__ == "__main__":
    run_main(main)
