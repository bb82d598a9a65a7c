"""The explorer with many readers: slow SQL and idle connections do not delay other requests."""

import asyncio
import socket
import threading
from contextlib import closing
from http.client import HTTPConnection
from urllib.parse import urlencode

import pytest
import uvicorn

from graphstore import Store, train
from graphstore.web import server
from graphstore.web.application import application
from graphstore.web.tables import statements

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
PAGES = ("/", "/-/explore/tictactoe", "/tictactoe/state", "/tictactoe/edge.json?parent=0")


def sql(statement, ending=".json"):
    return f"/tictactoe{ending}?{urlencode({'sql': statement})}"


@pytest.fixture
def explorer(tictactoe_db):
    with Store.open(tictactoe_db) as store, closing(application([store])) as explorer:
        yield explorer


def test_slow_sql_does_not_delay_pages_and_only_a_few_statements_wait(explorer, monkeypatch):
    monkeypatch.setattr(statements, "MOMENT_MS", 20)
    monkeypatch.setattr(statements, "WAITING", 2)
    explorer.sql_time_limit_ms = 30_000  # no statement ends before the last check
    taken = statements.SLOW + statements.WAITING

    async def visited():
        get = explorer.client.get
        for page in PAGES:
            await get(page)
        slow = [asyncio.create_task(get(sql(ENDLESS))) for _ in range(taken + 3)]
        while sum(task.done() for task in slow) < 3:  # the statements beyond SLOW + WAITING
            await asyncio.sleep(0.01)
        refused = [task.result() for task in slow if task.done()]
        as_csv = await get(sql(ENDLESS, ".csv"))
        as_page = await get(sql(ENDLESS, ""))
        quick = [await get(path) for path in (*PAGES, sql("SELECT 1 + 1 AS two"))]
        still = sum(not task.done() for task in slow)
        explorer.stop()
        await asyncio.gather(*slow)
        return refused, (as_csv, as_page), quick, still

    refused, put_off, quick, still = asyncio.run(visited())
    assert [answer.status_code for answer in quick] == [200] * 5
    assert quick[-1].json()["rows"] == [[2]]
    assert still == taken  # all answers came before the first slow one
    assert len(refused) == 3
    for answer in refused:
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "30")
        assert answer.json()["error"].startswith("too many slow statements are running here; ")
        assert "\n" not in answer.json()["error"]
    for answer in put_off:
        assert answer.status_code == 503
        assert "too many slow statements" in answer.text


def test_a_slow_statement_is_answered(explorer, monkeypatch):
    monkeypatch.setattr(statements, "MOMENT_MS", 1)
    explorer.sql_time_limit_ms = 60_000
    counted = ENDLESS.replace("FROM n)", "FROM n WHERE i < 300000)")
    answer = asyncio.run(explorer.client.get(sql(counted)))
    assert answer.json()["rows"] == [[300_000]]


@pytest.fixture
def address(explorer):
    """The explorer over a socket, in a thread of this process."""
    with server.listen("127.0.0.1", 0) as listening:
        config = uvicorn.Config(
            explorer.app(), log_level="critical", lifespan="off", http=server.Connection
        )
        running = uvicorn.Server(config)
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]})
        thread.start()
        yield listening.getsockname()
        running.should_exit = True
        thread.join()


@pytest.mark.parametrize("page", [*PAGES, "/tictactoe/census.csv"])
def test_a_page_that_a_browser_has_is_sent_again_only_when_the_file_changes(copy, page):
    page = page.replace("tictactoe", "copy")

    async def visited(explorer):
        get = explorer.client.get
        first = await get(page)
        kept = {"If-None-Match": first.headers["etag"]}
        again = await get(page, headers=kept)
        other = await get(page, headers={"If-None-Match": 'W/"0", "x"'})
        train(copy, "x", games=1, seed=1)
        return first, again, other, await get(page, headers=kept)

    with Store.open(copy) as store, closing(application([store])) as explorer:
        first, again, other, trained = asyncio.run(visited(explorer))
    assert [each.status_code for each in (first, again, other, trained)] == [200, 304, 200, 200]
    assert (again.content, len(other.content) > 100) == (b"", True)
    assert again.headers["etag"] == other.headers["etag"] == first.headers["etag"]
    assert trained.headers["etag"] != first.headers["etag"]
    assert first.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize(
    ("page", "status"),
    [
        (sql("SELECT random()"), 200),
        ("/-/explore/tictactoe?agent=nobody", 400),
        ("/tictactoe/none", 404),
        ("/-/explore/tictactoe?against=random&as=1", 200),
    ],
)
def test_an_answer_that_can_change_has_no_etag(explorer, page, status):
    answer = asyncio.run(explorer.client.get(page))
    assert answer.status_code == status
    assert "etag" not in answer.headers


UNFINISHED = [
    b"",
    b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ",
    b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n1",
    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n",
]


def test_unfinished_requests_do_not_delay_others_and_are_closed(address, monkeypatch):
    held = [socket.create_connection(address, timeout=60) for _ in range(100)]
    for number, each in enumerate(held):
        each.sendall(UNFINISHED[number % len(UNFINISHED)])
    with closing(HTTPConnection(*address, timeout=60)) as connection:
        for page in PAGES:
            connection.request("GET", page)
            answer = connection.getresponse()
            assert (answer.status, bool(answer.read())) == (200, True)
    for each in held:
        each.close()
    monkeypatch.setattr(server, "WHOLE_WITHIN", 0.3)
    for beginning in UNFINISHED:
        with socket.create_connection(address, timeout=60) as late:
            late.sendall(beginning)
            while late.recv(65536):  # earlier answers, then the end, without a timeout
                pass


def test_a_connection_serves_many_requests_and_one_that_comes_in_parts(address):
    with socket.create_connection(address, timeout=60) as client:
        for _ in range(3):
            for part in (
                b"GET /tictactoe/st",
                b"ate.json?_size=1 HTTP/1.1\r\nHost: localhost",
                b"\r\n\r\n",
            ):
                client.sendall(part)
            said = b""
            while not said.endswith(b"0\r\n\r\n"):
                said += client.recv(65536)
            assert said.startswith(b"HTTP/1.1 200 ")
