"""Pages of games without a file: searches without a script, their limits and their end."""

import asyncio
import os
import re
from contextlib import closing

import pytest
from conftest import check_all, for_all

from graphstore import PlainGame
from graphstore.play.searched import SearchedGame
from graphstore.web import addresses
from graphstore.web.application import application
from graphstore.web.page import query, searches, view

pytest.importorskip("datasette")

MORE = re.compile(
    r'id="gs-more">[^<]*<a data-replace href="([^"]*)"( data-auto)?>Search for (\d+) s'
)
LATE = "...../..X../.OO../.XX.."


@pytest.fixture(scope="module")
def site():
    with closing(application(map(SearchedGame, ("connect(5,4)", "connect(7,6)")))) as explorer:
        yield explorer


@pytest.fixture(scope="module")
def get(site):
    """Return a function that requests an address and follows redirects."""

    def get(path, status=200):
        response = asyncio.run(site.client.get(path, follow_redirects=True))
        assert response.status_code == status, (path, response.text[:500])
        return response

    return get


def test_without_a_script_links_search_on_until_all_is_known(get, monkeypatch):
    monkeypatch.setattr(view, "FIRST", 0)
    page, times = get(addresses.write("connect-5-4", LATE)), 0
    assert page.headers["cache-control"] == "no-store"
    while found := MORE.search(page.text):
        assert found[3] == str(2**times)
        page, times = get(found[1].replace("&amp;", "&")), times + 1
    game = SearchedGame("connect(5,4)")
    right = game.search(game.probe(LATE))
    labels = re.findall(
        r'data-cell="\d+" aria-label="cell \d+: (\d): ([WDL])\d*, (win|draw|loss)', page.text
    )
    values = {"W": -1, "D": 0, "L": 1}
    assert {int(name) - 1: values[letter] for name, letter, _ in labels} == {
        move.move: move.value for move in right.moves
    }
    assert "Search for" not in get(addresses.write("connect-5-4", LATE)).text  # it is kept


def test_where_values_are_hidden_nothing_is_searched(get):
    assert MORE.search(get(f"{addresses.write('connect-7-6')}?hide=1").text) is None


def test_of_many_searches_only_some_run_and_others_are_asked_for_again(get):
    at = addresses.write("connect-7-6", "/".join([*5 * ["......."], "...X..."]))
    held = 0
    while searches.AT_ONCE.acquire(blocking=False):
        held += 1
    try:
        asked = MORE.search(get(f"{at}?search=4").text)
        assert asked[2] is not None  # by the script, too
        assert asked[3] == "4"  # not for longer
    finally:
        searches.AT_ONCE.release(held)
    assert held == min(os.cpu_count(), 24)


@for_all("end", ["left", "stopped"])
def test_a_search_ends_when_its_page_is_left_or_the_server_stops(end, monkeypatch):
    monkeypatch.setattr(query, "LONGEST_SEARCH", 10_000)
    game = SearchedGame("connect(7,6)")
    scope = {
        "type": "http",
        "method": "GET",
        "path": addresses.write("connect-7-6", "start"),
        "query_string": b"search=9999",
        "headers": [(b"host", b"localhost")],
    }
    with closing(application([game])) as explorer:

        async def receive():
            while not explorer.searches:
                await asyncio.sleep(0.01)
            if end == "stopped":
                explorer.stop()
                await asyncio.sleep(60)
            return {"type": "http.disconnect"}

        sent = []

        async def send(message):
            sent.append(message)

        asyncio.run(asyncio.wait_for(explorer.app()(scope, receive, send), 50))
        assert not explorer.searches
    assert searches.AT_ONCE.acquire(blocking=False)
    searches.AT_ONCE.release()


def test_what_needs_a_file_is_refused_with_a_reason(get):
    def refused(path, status, why):
        assert why in get(path, status).text

    check_all(
        [
            ("/connect-7-6", 404, "has no tables"),
            ("/connect-7-6/state.json", 404, "has no tables"),
            ("/-/graph/connect-7-6", 400, "has no graph"),
            ("/-/explore/connect-7-6?view=setup", 400, "searched without a database"),
            ("/-/explore/connect-7-6?agent=menace", 400, "searched without a database"),
            ("/-/explore/connect-7-6?against=menace", 400, "searched without a database"),
            ("/-/explore/connect-7-6?search=x", 400, "search="),
            ("/-/explore/connect-7-6/XX", 400, "XX"),
        ],
        refused,
    )
    assert "Searched position by position" in get("/").text


def test_the_list_of_games_says_which_rules_are_wrong():
    class Broken(PlainGame):
        def start(self):
            return 5

    with closing(application([SearchedGame(Broken())])) as explorer:
        page = asyncio.run(explorer.client.get("/"))
    assert page.status_code == 503
    assert "The rules are wrong" in page.text
    assert "Broken has no outcome" in page.text


def test_an_opponent_that_is_not_sure_says_so(get, monkeypatch):
    monkeypatch.setattr(view, "REPLY", 0)
    page = get("/-/explore/connect-7-6?against=perfect&as=2&hide=1").text
    assert "The perfect player played 4. It was not sure. Your turn as O." in page
    page = get("/-/explore/connect-7-6?against=random&as=2&hide=1").text
    assert "sure" not in page
    monkeypatch.setattr(view, "REPLY", 10)
    path = addresses.write("connect-5-4", LATE)
    assert "sure" not in get(f"{path}?against=perfect&as=2&hide=1").text
