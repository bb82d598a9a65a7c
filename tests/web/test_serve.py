"""Games in the browser: tables, SQL, questions and JSON, all read-only."""

import asyncio
import gc
import html
import json
import os
import re
import shlex
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from itertools import pairwise
from pathlib import Path
from time import process_time
from urllib.parse import quote, urlencode, urlsplit

import postgresql
import pytest
from conftest import GRAPHSTORE, SLOW, error_line, for_all, some_of
from datasette.database import QueryInterrupted
from sqlwrites import WRITES

from graphstore import Store, build, build_folder, find_game, train
from graphstore.store.schema import COLUMNS, STRATEGY, VIEWS, metadata
from graphstore.web import server
from graphstore.web.application import application
from graphstore.web.tables import databases, statements
from graphstore.web.tables.descriptions import tables
from graphstore.web.tables.queries import QUERIES, queries

RULES = """
from graphstore import PlainGame

class Take(PlainGame):
    '''Take one or two; who takes the last wins.'''
    heap = 7
    def start(self):
        return self.heap
    def moves(self, heap):
        return [1, 2][:heap]
    def play(self, heap, take):
        return heap - take
    def outcome(self, heap):
        return -1 if heap == 0 else None

class More(Take):
    heap = 9
"""


class Site:
    """The explorer in this process."""

    def __init__(self, runner, explorer):
        self.runner = runner
        self.explorer = explorer

    def get(self, path, status=200):
        answer = self.runner.run(self.explorer.client.get(path))
        assert answer.status_code == status, (path, answer.status_code, answer.text[:2000])
        return answer

    def page(self, path, status=200):
        return self.get(path, status).text

    def rows(self, path, **parameters):
        """Return the JSON of an address: a dict for each row."""
        return self.get(f"{path}.json?{urlencode(parameters | {'_shape': 'array'})}").json()

    def sql(self, game, statement, status=200, **parameters):
        return self.get(f"/{game}.json?{urlencode({'sql': statement} | parameters)}", status).json()


@contextmanager
def served(*paths, rules=None):
    stores = [Store.open(path, rules=rules) for path in paths]
    with asyncio.Runner() as runner, closing(application(stores)) as explorer:
        yield Site(runner, explorer)


@pytest.fixture(scope="module")
def files(tictactoe_db, tmp_path_factory):
    """The files of tic-tac-toe with two agents, and of a game with cycles."""
    folder = tmp_path_factory.mktemp("served")
    file = folder / "tictactoe.db"
    shutil.copyfile(tictactoe_db, file)
    train(file, "both", games=100, seed=1)
    train(file, "x", games=50, side=1, seed=2)
    build("morris(orthogonal)", folder / "round.db")
    return file, folder / "round.db"


@pytest.fixture(scope="module")
def site(files):
    with served(*files) as site:
        yield site


def links(page):
    """Return all addresses that a page links to or loads."""
    return {html.unescape(each) for each in re.findall(r'(?:href|src|action)="([^"]*)"', page)}


def shown_error(page):
    (words,) = re.findall(r'class="message-error"[^>]*>([^<]*)<', page)
    return html.unescape(words).strip()


def test_no_connection_is_left_open(site):
    site.page("/")
    gc.collect()  # an unclosed connection is an error from Python 3.13 on


def test_the_first_page_lists_the_games_and_what_they_are_worth(site):
    page = site.page("/")
    assert "X to move: drawn, a tie is 9 plies away" in page
    assert (
        "765 states for 5,478 positions, 2,270 moves; every position is within 9 plies of the start"
        in page
    )
    assert "play can repeat positions" in page
    assert page.count('<svg xmlns="http://www.w3.org/2000/svg" class="gs-board"') == 2
    assert {"/-/explore/tictactoe", "/tictactoe", "/tictactoe/state", "/round/q_table"} <= links(
        page
    )
    assert set(site.get("/.json").json()) == {"tictactoe", "round"}


def test_every_link_of_the_first_pages_leads_somewhere_here(site):
    pages = ["/", "/tictactoe", "/round", "/tictactoe/state/514", "/tictactoe/openings"]
    seen = set()
    for page in pages:
        for link in links(site.page(page)) - seen:
            seen.add(link)
            parts = urlsplit(link)
            if parts.netloc in ("datasette.io", ""):
                assert parts.netloc or not link or link.startswith(("/", "?", "#")), (page, link)
            else:
                assert parts.netloc == "localhost", (page, link)
            if link.startswith("/") and "/-/explore/" not in link:
                site.get(link)
    assert len(seen) > 50


def test_the_policy_for_browsers_allows_nothing_from_other_hosts(site):
    policy = site.get("/tictactoe").headers["content-security-policy"]
    assert policy.startswith("default-src 'self';")
    assert "http" not in policy


@for_all("path", ["/tictactoe.csv", "/tictactoe.csv?sql=", "/tictactoe.csv?_stream=1&sql=&x=1"])
def test_csv_without_a_table_or_sql_is_refused(site, path):
    assert "name a table" in site.page(path, 400)


def test_positions_are_boards_in_pages_and_texts_in_json_and_csv(site):
    page = site.page("/tictactoe/state?id=514")
    assert '<a class="gs-position" href="/-/explore/tictactoe/.../.../.OX">' in page
    assert page.count('class="gs-board"') == 1
    assert page.count("<code>.../.../.OX</code>") == 1
    assert [row["position"] for row in site.rows("/tictactoe/state", id=514)] == [".../.../.OX"]
    assert site.page("/tictactoe/state.csv?id=514").splitlines()[1].startswith("514,.../.../.OX,2,")
    asked = "SELECT position AS their_position, id AS state FROM state WHERE id = 514"
    page = site.page(f"/tictactoe?{urlencode({'sql': asked})}")
    assert page.count('class="gs-board"') == 1
    assert '<a class="gs-id" href="/tictactoe/state/514">514</a>' in page
    assert "<svg" not in json.dumps(site.sql("tictactoe", asked))


def test_moves_show_the_positions_before_and_after(site):
    page = site.page("/tictactoe/edge?parent=0&_size=1")
    assert page.count('class="gs-board"') == 2
    assert {"/tictactoe/state/0", "/-/explore/tictactoe/.../.../..."} <= links(page)


def test_a_text_of_many_lines_is_shown_on_many_lines(site):
    page = site.page(f"/tictactoe?{urlencode({'sql': 'SELECT board(512) AS b'})}")
    assert '<pre class="gs-lines">...\n...\n..X</pre>' in page


def test_the_fields_of_tables_and_of_sql_have_names(site):
    pages = ("/tictactoe", "/tictactoe?sql=select+1", "/tictactoe/state?ply__gt=2")
    for page in map(site.page, pages):
        tags = re.findall(r"<(?:select|textarea|input)[^>]*>", page)
        fields = [tag for tag in tags if not re.search(r'type="(?:submit|hidden|checkbox)"', tag)]
        assert fields
        for field in fields:
            (named,) = re.findall(r'aria-label="([^"]+)"', field)
            assert named
        levels = [int(level) for level in re.findall(r"<h([1-6])[ >]", page)]
        assert levels[0] == 1
        assert all(b <= a + 1 for a, b in pairwise(levels)), levels


def visible(page):
    """Return a page without its folded parts, scripts and styles."""
    return re.sub(r"<(details|script|style)\b.*?</\1>", "", page, flags=re.DOTALL)


@for_all("path", ["state", "census", "q_table?_facet=optimal", "openings", "moves", "blunders"])
def test_the_rows_come_before_all_that_explains_them(site, path):
    page = site.page(f"/tictactoe/{path}")
    assert "<dl" not in visible(page)
    assert "SELECT" not in visible(page)
    assert page.index("<table") < page.index("JSON, CSV")


def test_numbers_have_four_digits_and_stand_at_the_right(site):
    page = site.page("/tictactoe/state?id=512")
    score = '<td class="gs-number" data-label="score"><span title="0.8">0.8000</span></td>'
    assert score in page
    assert '<td data-label="position"' in page
    assert '<td class="gs-none" data-label="win_depth">' in page
    assert site.rows("/tictactoe/state", id=512)[0]["random_value"] == pytest.approx(-12 / 35)
    page = site.page(f"/tictactoe?{urlencode({'sql': 'SELECT 1e9 AS a, -2.0/3 AS b, NULL AS c'})}")
    assert ">1e+09<" in page
    assert ">-0.6667<" in page
    assert '<th scope="col">c</th>' in page


@for_all("path", ["census", "remoteness", "?sql=SELECT+ply,wins,draws,losses+FROM+census"])
def test_wins_draws_and_losses_are_a_chart_with_a_bar_for_each_row(site, path):
    address = f"/tictactoe{path}" if path.startswith("?") else f"/tictactoe/{path}"
    page = site.page(address)
    rows = len(re.findall("<tr>", page)) - 1
    assert page.count('<div title="') == rows > 5
    heights = map(float, re.findall(r"height:([0-9.]+)%", page))
    assert max(heights) <= 100
    assert site.page("/tictactoe/state").count("gs-chart") == 0


@for_all(
    "columns",
    [
        "'<b>' AS ply, 'x' AS wins, 1 AS draws, 1 AS losses",
        "ply, -5 AS wins, 1 AS draws, 1 AS losses",
        "ply, 9e999 AS wins, 1.5 AS draws, x'00' AS losses",
        "ply, 1 AS wins, 1 AS draws",
    ],
)
def test_a_users_columns_of_these_names_that_are_not_counts_get_no_chart(site, columns):
    statement = urlencode({"sql": f"SELECT {columns} FROM state LIMIT 9"})
    assert "gs-chart" not in site.page(f"/tictactoe?{statement}")


def test_counted_values_are_bars_in_their_order(site):
    page = site.page("/tictactoe/state?_facet=ply&_facet=value")
    assert re.findall(r"width:([0-9.]+)%", page)[:3] == ["0.5", "1.5", "5.9"]  # 1, 3, 12 of 204
    link = re.findall(r'href="([^"]*_facet=ply)"', site.page("/tictactoe/state?ply__gt=2"))
    assert "ply__gt=2" in html.unescape(link[0])
    site.get(html.unescape(link[0]))


def test_the_parameters_of_questions_are_chosen_from_what_there_is(site):
    page = site.page("/tictactoe/only_moves?value=1&ply=6")
    options = re.findall(r'<option value="([^"]*)"( selected)?>', page)
    assert [value for value, _ in options] == ["", "1", "0", "-1", "", *map(str, range(10))]
    assert [value for value, chosen in options if chosen] == ["1", "6"]
    page = site.page("/tictactoe/blunders?agent=%3Cnobody")
    assert re.findall(r"<option[^>]*>([^<]*)<", page) == ["all", "both", "x", "&lt;nobody"]


WRONG = [
    "SELECT unheard FROM state",
    "ATTACH 'x' AS y",
    "  DELETE FROM state",
    "-- </textarea><script>\nSELECT canonical('XO')",
    "SELECT * FROM state WHERE nothing = :ply",
    f"SELECT {', '.join(f'zeroblob({99_000 + each}) AS c{each}' for each in range(8))} FROM edge",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n",
]


@for_all("statement", WRONG)
def test_a_statement_is_kept_after_an_error_with_its_command_line(site, statement):
    page = site.page(f"/tictactoe?{urlencode({'sql': statement, 'ply': 3, '_timelimit': 30})}", 400)
    assert shown_error(page)
    (kept,) = re.findall(r"<textarea[^>]*>\n(.*?)</textarea>", page, re.DOTALL)
    assert html.unescape(kept).strip() == statement.strip()
    (line,) = re.findall(r'<pre id="gs-command"[^>]*>(.*?)</pre>', page, re.DOTALL)
    words = shlex.split(html.unescape(line))
    assert [word for word in words if word != "--"] == [
        "graphstore",
        "sql",
        "tictactoe.db",
        statement.strip().replace(":ply", "'3'"),
    ]


def test_a_question_that_takes_too_long_shows_its_statement_and_command_line(site, monkeypatch):
    monkeypatch.setattr(statements, "STEPS", 10)
    page = html.unescape(site.page("/tictactoe/only_moves?value=&_timelimit=1", 400))
    assert "(:value = '' OR s.value = :value)" in page
    assert "('' = '' OR s.value = '') AND ('' = '' OR s.ply = '')" in page
    assert re.findall(r'name="(\w+)" value="(.*?)">', page) == [("value", ""), ("ply", "")]


@SLOW
def test_the_command_line_runs_in_a_shell(site, files):
    for statement in (
        "-- $HOME `x` \"y\" !\nSELECT ':ply' || :ply AS a",
        "SELECT :ply || 'b' AS a",
    ):
        page = site.page(f"/tictactoe?{urlencode({'sql': statement, 'ply': '2 $x'})}")
        (line,) = re.findall(r'<pre id="gs-command"[^>]*>(.*?)</pre>', page, re.DOTALL)
        shell = html.unescape(line).replace("graphstore", shlex.join(GRAPHSTORE), 1) + " --csv"
        shell = shell.replace(" sql ", " sql --csv ", 1).removesuffix(" --csv")
        done = subprocess.run(
            ["sh", "-c", shell], cwd=files[0].parent, capture_output=True, text=True
        )
        assert done.stdout.splitlines() == [
            "a",
            site.sql("tictactoe", statement, ply="2 $x")["rows"][0][0],
        ]


@pytest.mark.parametrize("game", ["tictactoe", "round"])
def test_counts_are_those_of_the_rows(site, files, game):
    with closing(sqlite3.connect(files[game == "round"])) as connection:
        for name in (*metadata.tables, *VIEWS):
            (count,) = connection.execute(f"SELECT count(*) FROM {name}").fetchone()
            page = site.get(f"/{game}/{name}.json?_size=1").json()
            assert page["filtered_table_rows_count"] == count, name
            if count > 1:
                assert f"<h2>{count:,} rows" in " ".join(site.page(f"/{game}/{name}").split())
    tables = {table["name"]: table["count"] for table in site.get(f"/{game}.json").json()["tables"]}
    with Store.open(files[game == "round"]) as store:
        assert (tables["state"], tables["edge"]) == (store.info["states"], store.info["moves"])


def test_a_view_that_would_take_long_to_count_is_shown_without_its_count(site, monkeypatch):
    monkeypatch.setattr(databases, "COUNTED", 100)
    page = site.get("/tictactoe/best_move.json?_size=7").json()
    assert (len(page["rows"]), page["filtered_table_rows_count"]) == (7, None)
    assert "0 rows" not in site.page("/tictactoe/best_move")


@pytest.mark.parametrize("view", ["q_table", "best_move"])
def test_a_view_of_moves_sorted_by_any_column_has_its_rows_in_order(site, files, view):
    with closing(sqlite3.connect(files[0])) as connection:
        rows = sorted(map(repr, connection.execute(f"SELECT * FROM {view}")))
        for column in COLUMNS[view]:
            for way in ("", "_desc"):
                by = f"SELECT {column} FROM {view} ORDER BY {column} {way[1:]}"
                found, following = [], 0
                while following is not None:
                    query = urlencode({f"_sort{way}": column, "_next": following, "_size": 700})
                    page = site.get(f"/tictactoe/{view}.json?{query}").json()
                    found, following = found + page["rows"], page["next"]
                assert sorted(repr(tuple(row)) for row in found) == rows, (column, way)
                place = COLUMNS[view].index(column)
                ordered = [row[place] for row in found]
                assert ordered == [row[0] for row in connection.execute(by)], (column, way)


@for_all(
    "statement",
    [
        "select state as random from q_table order by random limit 3",
        "select move from q_table order by 1 desc limit 3",
    ],
)
def test_a_users_names_and_numbers_of_columns_keep_their_meaning(site, files, statement):
    with closing(sqlite3.connect(files[0])) as connection:
        expected = connection.execute(statement).fetchall()
    assert list(map(tuple, site.sql("tictactoe", statement)["rows"])) == expected


def test_warming_up_changes_no_answer(files):
    pages = ("/", "/tictactoe/census.json", "/tictactoe/state.json?_size=1&_facet=ply&_facet=value")
    with served(*files) as site:
        site.runner.run(site.explorer.warm())
        warm = [site.get(page) for page in pages]
    with served(*files) as site:
        cold = [site.get(page) for page in pages]
    for one, other in zip(warm, cold, strict=True):
        if "json" in one.headers["content-type"]:
            assert one.json() | {"query_ms": 0} == other.json() | {"query_ms": 0}
        else:
            assert one.text == other.text


@pytest.mark.parametrize("game", ["tictactoe", "round"])
def test_the_served_view_best_move_has_the_rows_of_the_files(site, files, game):
    with Store.open(files[game == "round"]) as store:
        expected = list(store.sql("SELECT * FROM best_move ORDER BY state, move"))
    rows = []
    while True:
        sql = "SELECT * FROM best_move ORDER BY state, move LIMIT 900 OFFSET :rows"
        more = site.sql(game, sql, rows=len(rows))["rows"]
        rows += map(tuple, more)
        if not more:
            break
    assert rows == expected


def test_the_columns_are_described_by_their_names(site):
    described = tables()
    assert {*metadata.tables, *VIEWS, "alembic_version"} == {*described}
    del described["alembic_version"]
    for name, texts in described.items():
        page = html.unescape(site.page(f"/tictactoe/{name}"))
        for words in (texts["description"], *texts["columns"].values()):
            assert words in page, (name, words)
        there = site.get(f"/tictactoe/{name}.json?_size=1").json()["columns"]
        assert list(texts["columns"]) == there


def test_a_statement_that_would_write_is_refused_and_nothing_is_written(site, files):
    before, beside = files[0].read_bytes(), {*files[0].parent.iterdir()}
    for statement in WRITES:
        answer = site.sql("tictactoe", statement, status=400)
        assert (answer["ok"], "\n" in answer["error"]) == (False, False), statement
    assert files[0].read_bytes() == before
    assert {*files[0].parent.iterdir()} == beside


@pytest.mark.parametrize("path", ["/tictactoe", "/tictactoe/state", "/tictactoe/traps"])
def test_no_method_writes(site, path):
    for method in ("post", "put", "patch", "delete"):
        answer = site.runner.run(
            site.explorer.client.request(method, path, data={"sql": "DELETE FROM state"})
        )
        assert answer.status_code >= 400, method
    assert site.rows("/tictactoe", sql="SELECT count(*) AS n FROM state") == [{"n": 765}]


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("SELECT canonical('XO')", "'XO' has 2 cells; tictactoe has 9 cells"),
        ("SELECT board(5)", "no state has the id '5'"),
        ("SELECT unheard FROM state", "no such column: unheard"),
        ("SELECT 1; SELECT 2", "write one SELECT"),
        ("SELECT zeroblob(1000000000)", "too big"),
        ("SELECT load_extension('x')", "this statement would do more than read"),
        ("WITH x AS (SELECT 1) DELETE FROM state", "this statement would do more than read"),
        ("ATTACH 'x' AS y", "Statement must be a SELECT"),
    ],
)
def test_wrong_sql_gets_a_message(site, capfd, statement, words):
    assert words in site.sql("tictactoe", statement, status=400)["error"]
    asked = urlencode({"sql": statement})
    assert words in shown_error(site.page(f"/tictactoe?{asked}", 400))
    plain = site.page(f"/tictactoe.csv?{asked}", 400)
    assert words in plain
    assert plain.count("\n") == 1
    assert capfd.readouterr() == ("", "")


def test_an_error_is_not_reported_for_the_next_statement(site):
    site.sql("tictactoe", "SELECT canonical('XO')", status=400)
    for _ in range(4):  # each runs in another thread
        assert "unheard" in site.sql("tictactoe", "SELECT unheard", status=400)["error"]


def test_the_functions_work_in_sql(site):
    answer = site.sql("tictactoe", "SELECT canonical('XO./.../...') AS id, board(512)")
    assert answer["rows"] == [[514, "...\n...\n..X"]]


def test_a_statement_that_takes_too_long_is_stopped_with_a_message(site):
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n"
    parameters = urlencode({"sql": endless, "_timelimit": 30})
    words = "the statement took longer than 3 s, the limit here; "
    assert site.get(f"/tictactoe.json?{parameters}", 400).json()["error"].startswith(words)
    assert shown_error(site.page(f"/tictactoe?{parameters}", 400)).startswith(words)


@pytest.mark.parametrize("ending", [".json", ".csv", ""])
def test_an_answer_that_would_fill_the_memory_is_refused(site, ending):
    columns = ", ".join(f"zeroblob({99_000 + each}) AS c{each}" for each in range(8))
    answer = site.get(
        f"/tictactoe{ending}?" + urlencode({"sql": f"SELECT {columns} FROM edge"}), 400
    )
    assert "more than 10,000,000 bytes" in answer.text


def test_an_address_with_too_many_parameters_is_refused_at_once(site):
    for query in ("_where=ply%3D1&" * 1200, "_search=X&_where=ply%3D1&" * 1200, "&" * 100):
        started = process_time()
        answer = site.page(f"/tictactoe/state?{query}", 400)
        assert process_time() - started < 1
        assert answer == "too many parameters: an address may have up to 100\n"
    site.get("/tictactoe/state?" + "&".join(["_where=ply%3D1"] * 100))


@pytest.mark.parametrize("through", ["{}", "[]", "1"])
def test_parameters_that_datasette_cannot_read_are_not_a_bug(site, through):
    assert "_through= must be JSON" in site.get(f"/tictactoe/state?_through={through}", 400).text


def test_cookies_are_not_read_and_very_long_names_are_not_found(site):
    baked = site.explorer.client.get("/tictactoe", headers={b"cookie": b"a=\xff"})
    assert site.runner.run(baked).status_code == 200
    site.get("/-/static/" + "a" * 5000, 404)


def test_no_more_than_a_thousand_rows_are_returned(site):
    answer = site.sql("tictactoe", "SELECT * FROM edge")
    assert (len(answer["rows"]), answer["truncated"]) == (1000, True)
    assert len(site.page("/tictactoe/edge.csv?_stream=1").splitlines()) == 2271


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/nothing", 404),
        ("/tictactoe/nothing", 404),
        ("/tictactoe/state/99", 404),
        ("/tictactoe/q_table?_next=x", 400),
        ("/tictactoe/state?_size=x", 400),
        ("/tictactoe/state?_sort=nothing", 400),
        ("/tictactoe.db", 403),
        ("/_internal", 403),
        ("/_internal?sql=select+1", 403),
        ("/_memory", 404),
    ],
)
def test_a_missing_page_gets_a_message_in_one_line(site, capfd, path, status):
    assert shown_error(site.page(path, status))
    assert capfd.readouterr() == ("", "")


# The stored questions, answered by Python from the graph.


@pytest.fixture(scope="module")
def graph(files):
    with Store.open(files[0]) as store:
        return store.graph()


def ids(rows, column="id"):
    return [row[column] for row in rows]


def top(graph, key, of):
    """Return the first hundred states by a key, then by ply and id."""
    states = [state for state, data in graph.nodes(data=True) if of(data)]
    return sorted(states, key=lambda s: (key(graph.nodes[s]), graph.nodes[s]["ply"], s))[:100]


@pytest.mark.parametrize(
    ("query", "key", "of"),
    [
        ("traps", lambda s: -s["score"], lambda s: s["value"] == 0 and s["score"] > 0.5),
        ("longest_wins", lambda s: -s["remoteness"], lambda s: s["value"] == 1),
        ("symmetric", lambda s: s["orbit"], lambda s: s["orbit"] < 8),
        (
            "disagreements",
            lambda s: -abs(s["value"] - s["random_value"]),
            lambda s: not s["ended"] and abs(s["value"] - s["random_value"]) > 5e-5,
        ),
    ],
)
def test_the_first_hundred_are_those_of_the_graph(site, graph, query, key, of):
    assert ids(site.rows(f"/tictactoe/{query}")) == top(graph, key, of)


@pytest.mark.parametrize(("value", "ply"), [("", ""), ("1", ""), ("0", 3), ("1", 6)])
def test_only_moves_are_positions_with_one_move_that_keeps_the_value(site, graph, value, ply):
    expected = {}
    for state, data in graph.nodes(data=True):
        moves = [(move, child) for child in graph[state] for move in graph[state][child]["moves"]]
        keeping = [move for move, child in moves if graph.nodes[child]["value"] == -data["value"]]
        asked = (
            data["value"] >= 0 and value in ("", str(data["value"])) and ply in ("", data["ply"])
        )
        if asked and len(moves) > 1 and len(keeping) == 1:
            expected[state] = keeping[0]
    rows = site.rows("/tictactoe/only_moves", value=value, ply=ply)
    assert [(row["id"], row["move"]) for row in rows] == sorted(expected.items())[:100] != []


def test_positions_by_ply_and_value(site, graph):
    rows = site.rows("/tictactoe/by_ply_and_value", ply=4, value=-1)
    data = graph.nodes(data=True)
    expected = {state for state, row in data if (row["ply"], row["value"]) == (4, -1)}
    assert {*ids(rows)} == expected
    assert len(rows) == len(expected) > 0


def test_value_over_remoteness_counts_every_state(site, graph):
    count = Counter((row["remoteness"], row["value"]) for _, row in graph.nodes(data=True))
    for row in site.rows("/tictactoe/remoteness"):
        counted = [row["wins"], row["draws"], row["losses"]]
        expected = [count.pop((row["remoteness"], value), 0) for value in (1, 0, -1)]
        assert counted == expected
    assert not count


def test_the_states_with_the_most_moves_to_them(site, graph):
    ways = Counter()
    for _, child, data in graph.edges(data=True):
        ways[child] += len(data["moves"])
    expected = sorted(ways.items(), key=lambda each: (-each[1], each[0]))[:100]
    rows = site.rows("/tictactoe/transpositions")
    assert [(row["id"], row["ways"]) for row in rows] == expected


def test_the_openings_are_the_moves_of_the_start(site):
    rows = site.rows("/tictactoe/openings")
    assert [sorted(map(int, row["moves"].split())) for row in rows] == [
        [0, 2, 6, 8],
        [4],
        [1, 3, 5, 7],
    ]
    assert [(row["optimal"], row["best_response"]) for row in rows] == [
        (0, 0.9948),
        (0, 0.9896),
        (0, 0.987),
    ]


def test_a_position_is_looked_up_in_any_orientation(site, file_store):
    (row,) = site.rows("/tictactoe/position", position="X../.O./..X")
    probe = file_store.probe("X../.O./..X")
    assert (row["id"], row["ply"], row["value"]) == (probe.state, probe.ply, probe.value)
    moves = site.rows("/tictactoe/moves", position="X../.O./..X")
    assert sorted(ids(moves, "child")) == sorted(move.state for move in probe.moves)
    assert [row["optimal"] for row in moves] == [-move.value for move in probe.moves]
    assert site.rows("/tictactoe/position") == []
    assert len(site.rows("/tictactoe/moves")) == 9
    answer = site.page("/tictactoe/position?position=XXX/XXX/...", 400)
    assert shown_error(answer).startswith("6 X and 0 O are impossible")


def test_the_question_about_endless_draws_is_there_if_there_are_any(site, files):
    with Store.open(files[1]) as store:
        graph = store.graph()
    endless = {
        state
        for state, row in graph.nodes(data=True)
        if row["value"] == 0 and row["remoteness"] is None
    }
    rows = site.rows("/round/endless")
    assert {*ids(rows)} <= endless
    assert len(rows) == min(100, len(endless)) > 0
    site.get("/tictactoe/endless", 404)
    site.get("/round/disagreements", 404)


@pytest.mark.parametrize("agent", ["", "both", "x", "nobody"])
def test_blunders_are_favourite_moves_that_give_the_value_away(site, graph, files, agent):
    with closing(sqlite3.connect(files[0])) as connection:
        beads = connection.execute(
            "SELECT name, state, move, beads FROM bead JOIN agent ON agent.id = agent"
        ).fetchall()
    boxes = defaultdict(list)
    for name, state, _, count in beads:
        boxes[name, state].append(count)
    expected = set()
    for name, state, move, count in beads:
        (child,) = (each for each, data in graph[state].items() if move in data["moves"])
        value = -graph.nodes[child]["value"]
        kept = value == graph.nodes[state]["value"]
        most, least = max(boxes[name, state]), min(boxes[name, state])
        if count == most > least and not kept and agent in ("", name):
            expected.add((name, state, move, value))
    rows = site.rows("/tictactoe/blunders", agent=agent)
    found = {(row["agent"], row["state"], row["move"], row["optimal"]) for row in rows}
    assert found <= expected
    assert len(found) == len(rows) == min(200, len(expected))
    assert bool(found) == (agent != "nobody")
    likeliest = [(-row["chance"], -row["beads"], row["ply"]) for row in rows]
    assert likeliest == sorted(likeliest)


def test_what_an_agent_opens_with_adds_up_to_certainty(site):
    rows = site.rows("/tictactoe/repertoire", agent="x")
    assert {row["agent"] for row in rows} == {"x"}
    assert {row["ply"] for row in rows} == {0}
    assert sum(row["chance"] for row in rows) == pytest.approx(1, abs=1e-3)
    assert {row["agent"] for row in site.rows("/tictactoe/repertoire")} == {"x", "both"}


def test_every_question_has_a_title_and_is_answered(site):
    for name, question in QUERIES.items():
        game = "round" if name == "endless" else "tictactoe"
        assert question.title in site.page(f"/{game}")
        assert question.title in site.page(f"/{game}/{name}")


@pytest.fixture(scope="module")
def named(tmp_path_factory):
    """Games with names for their moves."""
    folder = tmp_path_factory.mktemp("named")
    for name in ("hexapawn(3,3)", "nim(2,2)", "nim(3)"):
        build(name, folder / f"{name}.db")
    with served(*folder.iterdir()) as site:
        yield site


@pytest.mark.parametrize("game", ["hexapawn~283~2C3~29", "nim~282~2C2~29", "nim~283~29"])
def test_the_question_about_symmetric_positions_is_there_if_orbits_differ(named, game):
    orbits = Counter(row["orbit"] for row in named.rows(f"/{game}/state", _size="max"))
    if len(orbits) == 1:
        named.get(f"/{game}/symmetric", 404)
    else:
        shown = Counter(row["orbit"] for row in named.rows(f"/{game}/symmetric"))
        assert shown == orbits - Counter({max(orbits): orbits.total()})


def test_moves_that_have_names_are_shown_with_them(named):
    for page in ("/hexapawn~283~2C3~29/edge?_size=200", "/hexapawn~283~2C3~29/openings"):
        moves = re.findall(r'<span class="gs-move">(\d+) <b>([^<]*)</b>', named.page(page))
        game = find_game("hexapawn(3,3)")
        assert moves
        assert [game.write_move(int(number)) for number, _ in moves] == [name for _, name in moves]
    page = named.page(
        "/hexapawn~283~2C3~29?sql=select+'x'+as+move,+move+as+n,+7+as+moves+from+edge"
    )
    assert "gs-move" not in page
    assert "gs-move" not in named.page("/hexapawn~283~2C3~29/game")
    assert type(named.rows("/hexapawn~283~2C3~29/edge")[0]["move"]) is int


@pytest.mark.parametrize(
    "change", [{}, {"cyclic": 1}, {"extent": STRATEGY}], ids=["all", "cycles", "strategy"]
)
def test_questions_use_random_play_only_if_it_has_an_expected_result(file_store, change):
    asked = queries({**file_store.info, **change})
    texts = " ".join(each["sql"] + each["description"] for each in asked.values())
    assert ("random" in texts, "best_response" in texts) == (not change, not change)
    assert ("disagreements" in asked, "openings" in asked) == (not change, True)
    assert not re.search(r"[][{}]", texts)
    with closing(sqlite3.connect(file_store.path)) as connection:
        connection.create_function("canonical", 1, lambda text: None)
        for each in asked.values():
            wanted = dict.fromkeys(("position", "value", "ply", "agent"), "")
            assert connection.execute(each["sql"], wanted).description


# Files that change, and files of all kinds.


def test_an_agent_that_is_trained_meanwhile_is_seen(copy):
    with served(copy) as site:
        assert site.rows("/copy/agent") == []
        facet = "/copy/state.json?_facet=ply&_size=0"
        before = site.get(facet).json()["facet_results"]
        train(copy, "late", games=20, seed=1)
        assert [row["name"] for row in site.rows("/copy/agent")] == ["late"]
        assert site.get("/copy/played.json").json()["filtered_table_rows_count"] == 20
        assert site.get(facet).json()["facet_results"] == before


def test_a_file_that_takes_the_place_of_another_is_served_instead(copy, tmp_path):
    with served(copy) as site:
        assert len(site.rows("/copy", sql="SELECT 1 FROM state")) == 765
        build("nim(2,2)", tmp_path / "other.db")
        os.replace(tmp_path / "other.db", copy)
        for _ in range(4):  # each thread has a connection of its own
            (row,) = site.rows("/copy", sql="SELECT name, states FROM game")
            assert row["name"] == "nim(2,2)"
            assert site.get("/copy/state.json").json()["filtered_table_rows_count"] == row["states"]
        assert "nim(2,2)" in site.page("/")
        copy.unlink()
        assert re.match("No such file|copy.db: unable to open", shown_error(site.page("/", 503)))


def test_the_name_of_a_file_may_be_anything(tictactoe_db, tmp_path):
    file = tmp_path / "a b.c~é&?#%41.db"
    shutil.copyfile(tictactoe_db, file)
    with served(file) as site:
        (database,) = {
            link for link in links(site.page("/")) if re.fullmatch(r"/[^/]+/state", link)
        }
        page = site.page(database)
        assert f'href="/-/explore/{quote("a b.c")}' in page
        assert "765 rows" in page
        assert site.rows(database.removesuffix("state") + "traps")


def test_a_game_whose_rules_are_not_known_shows_texts(tmp_path):
    (tmp_path / "take.py").write_text(RULES)
    game = find_game(f"{tmp_path}/take.py:Take")
    build(game, tmp_path / "take.db")
    with served(tmp_path / "take.db") as site:
        assert "<code>7</code>" in site.page("/")
        assert '<a class="gs-position" href="/-/explore/take/7"><code>7</code>' in site.page(
            "/take/state"
        )
        assert "add --rules" in site.sql("take", "SELECT board(7)", status=400)["error"]
    with served(tmp_path / "take.db", rules=game) as site:
        assert site.sql("take", "SELECT canonical('7') AS c")["rows"]


# Games that are not in SQLite files.


def test_a_game_in_postgresql_has_the_pages_of_positions_of_a_file(server, files):
    address = build("tictactoe", postgresql.database(server)).file
    build("tictactoe", files[0].with_name("same.db"))
    paths = [
        "",
        "/XO./.X./...",
        "/XXX/OO./...",
        "/wrong",
        "/XX./OO./...?against=perfect&as=2",
        "/X../.../..O",
    ]
    with served(files[0].with_name("same.db"), address) as site:
        for path in paths:
            pages = []
            for name in ("same", "tictactoe"):
                answer = site.runner.run(
                    site.explorer.client.get(f"/-/explore/{name}{path}", follow_redirects=True)
                )
                pages.append((answer.status_code, answer.text.replace(f"/{name}", "/GAME")))
            assert pages[0][0] == pages[1][0], pages[1][1]
            lines = [page.replace("tictactoe", "same") for _, page in pages]
            # The tables are only here in the file.
            lines[0] = re.sub(r'<a href="/GAME/state/\d+">(tables</a>|(\d+)</a>)', r"\2", lines[0])
            assert lines[0] == lines[1], path
        first = site.get("/-/explore/tictactoe").headers["etag"]
        assert site.get("/-/explore/tictactoe").headers["etag"] != first
        everything = site.page("/") + site.page("/-/explore/tictactoe")
        everything += site.page("/-/explore/tictactoe?against=nobody", 400)
        for path in ("/tictactoe", "/tictactoe/state/0", "/tictactoe?sql=SELECT+1"):
            error = shown_error(site.page(path, 404))
            assert error.startswith("tictactoe is in PostgreSQL, so its tables are not here")
            everything += error
        assert "no such" in shown_error(site.page("/nothing/state", 404))
        assert postgresql.name(address) not in everything


def test_a_folder_of_parts_is_served_with_its_tables(tmp_path):
    build_folder("tictactoe", tmp_path / "in.parts")
    with running(tmp_path / "in.parts") as (process, address):
        assert json.loads(fetch(address, "in.json?sql=SELECT+count(*)+FROM+edge")[1])["rows"] == [
            [2270]
        ]
        assert fetch(address, "-/explore/in/X../.O./..X")[0] == 200
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    file = tmp_path / "in.parts"
    expected = f"{file} is loaded into a temporary file; to keep one: graphstore load {file}\n"
    assert said == f"graphstore: {expected}"


def test_the_positions_of_a_large_folder_are_served_without_its_tables(tmp_path, tictactoe_db):
    build_folder("tictactoe", tmp_path / "tictactoe.parts", parts=2)
    with served(tmp_path / "tictactoe.parts") as site, served(tictactoe_db) as of_file:
        assert "Tic-tac-toe" in site.page("/")
        for path in ("", "/XO./.X./...", "?against=perfect", "/.../.../...?view=setup"):
            page, other = (each.page(f"/-/explore/tictactoe{path}") for each in (site, of_file))
            labels = (re.findall('aria-label="([^"]*)"', each) for each in (page, other))
            (shown, expected) = ({each for each in some if "/" in each} for some in labels)
            assert shown
            assert shown <= expected  # without the positions before
        page = site.page("/-/explore/tictactoe/XO./.X./...")
        assert "Positions before" not in page
        assert str(tmp_path) not in page
        for path in ("/tictactoe", "/tictactoe/state/0", "/tictactoe?sql=SELECT+1"):
            error = shown_error(site.page(path, 404))
            assert error.startswith("tictactoe is in a folder of Parquet files, so its tables")


# The command.


@contextmanager
def running(*words, **environment):
    process = subprocess.Popen(
        [*GRAPHSTORE, "serve", *map(str, words), "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
    )
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


def fetch(address, path=""):
    """Return the status and the body of a server's response."""
    with closing(HTTPConnection(urlsplit(address).netloc, timeout=30)) as connection:
        connection.request("GET", f"/{path}")
        answer = connection.getresponse()
        return answer.status, answer.read()


@pytest.mark.parametrize("number", some_of([signal.SIGINT, signal.SIGTERM], 2))
def test_a_server_answers_many_and_a_signal_ends_it_quietly(tictactoe_db, number):
    with running(tictactoe_db) as (process, address):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address)
        paths = ["", "tictactoe/state", "tictactoe/edge?_facet=move", "tictactoe/traps.json"] * 4

        with ThreadPoolExecutor(8) as pool:
            answers = [*pool.map(fetch, [address] * len(paths), paths)]
        assert {status for status, _ in answers} == {200}
        assert min(len(body) for _, body in answers) > 1000
        idle = HTTPConnection(urlsplit(address).netloc, timeout=30)
        idle.request("GET", "/.json")
        assert idle.getresponse().read()
        process.send_signal(number)
        said = process.communicate(timeout=30)
        idle.close()
    assert (process.returncode, *said) == (0, "", "")


def test_when_the_end_comes_no_statement_begins(tictactoe_db):
    with served(tictactoe_db) as site:
        assert site.sql("tictactoe", "SELECT 1 AS one")["rows"] == [[1]]
        site.explorer.stop()
        assert "the server is stopping" in site.sql("tictactoe", "SELECT 2", status=503)["error"]


def test_a_server_that_ends_while_it_loads_its_pages_says_nothing(tictactoe_db, monkeypatch):
    async def interrupted(*_, **__):
        raise QueryInterrupted(sqlite3.OperationalError("interrupted"), "SELECT 1", None)

    with served(tictactoe_db) as site:
        monkeypatch.setattr(databases.GameFile, "execute", interrupted)
        assert site.runner.run(site.explorer.warm()) is None
        site.explorer.stop()
        assert site.runner.run(site.explorer.warm()) is None


@SLOW
def test_an_address_that_others_can_reach_gets_a_warning(tictactoe_db):
    everywhere = "0.0.0.0"  # noqa: S104  # the test is about its warning
    with running(tictactoe_db, "--host", everywhere) as (process, address):
        assert fetch(address)[0] == 200
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert said == "graphstore: warning: anyone who can reach 0.0.0.0 can read these files\n"


def test_open_shows_the_address_in_the_browser(tictactoe_db, tmp_path):
    browser = tmp_path / "browser"
    browser.write_text(
        f'#!{sys.executable}\nimport sys\nopen(sys.argv[0] + ".saw", "w").write(sys.argv[1])\n'
    )
    browser.chmod(0o755)
    with running(tictactoe_db, "--open", BROWSER=str(browser)) as (_, address):
        saw = Path(f"{browser}.saw")
        while not (saw.exists() and saw.read_text()):
            assert fetch(address)[0] == 200
        assert saw.read_text() == address


def test_a_port_that_is_taken_gets_a_message(tictactoe_db, run):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        line = error_line(run("serve", tictactoe_db, "--port", port))
    assert line.startswith(f"cannot listen at 127.0.0.1 port {port}: ")
    assert "address already in use" in line


def test_a_host_that_does_not_exist_gets_a_message(tictactoe_db, run):
    line = error_line(run("serve", tictactoe_db, "--host", "no.such.host.invalid"))
    assert line.startswith("cannot listen at no.such.host.invalid port 8001: ")
    assert "--port" not in line


def test_the_address_that_is_printed_is_one_that_a_browser_can_open():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        written = [server.address(host, listening) for host in ("::1", "::", "localhost")]
    assert written == [f"http://{name}:{port}/" for name in ("[::1]", "[::1]", "localhost")]


def test_rules_from_the_environment_may_have_a_space_in_their_path(tmp_path, run, monkeypatch):
    (tmp_path / "my games").mkdir()
    rules = tmp_path / "my games" / "take.py"
    rules.write_text(RULES)
    build(find_game(f"{rules}:Take"), tmp_path / "take.db")
    monkeypatch.setenv("GRAPHSTORE_RULES", f"{rules}:Give")
    assert "Give" in error_line(run("serve", tmp_path / "take.db"))


def test_files_that_cannot_be_served_get_a_message_in_one_line(tictactoe_db, tmp_path, run):
    other = tmp_path / "other.db"
    other.write_text("no database")
    (tmp_path / "twice").mkdir()
    twin = tmp_path / "twice" / "tictactoe.db"
    shutil.copyfile(tictactoe_db, twin)
    taken = tmp_path / "_internal.db"
    shutil.copyfile(tictactoe_db, taken)
    assert "there is no file" in error_line(run("serve", tictactoe_db, tmp_path / "none.db"))
    assert "is not a graphstore database" in error_line(run("serve", other))
    assert "would both be called tictactoe" in error_line(run("serve", tictactoe_db, twin))
    assert "a reserved name" in error_line(run("serve", taken))


@pytest.mark.parametrize("missing", ["datasette", "uvicorn"])
def test_without_datasette_it_says_what_to_install_before_all_else(missing):
    code = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "sys.argv = ['graphstore', 'serve', 'none.db']\n"
        "from graphstore.__main__ import run; run()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert error_line(done) == 'the explorer needs Datasette: pip install "datasette<1"'


@SLOW
def test_each_file_gets_the_rules_that_built_it(tictactoe_db, tmp_path):
    rules = tmp_path / "take.py"
    rules.write_text(RULES)
    words = []
    for name in ("Take", "More"):
        build(find_game(f"{rules}:{name}"), tmp_path / f"{name}.db")
        words += ["--rules", f"{rules}:{name}"]
    files = [tmp_path / "More.db", tictactoe_db, tmp_path / "Take.db"]
    with running(*files, *words, "--rules", "nim(1)") as (process, address):
        for game, heap in (("More", 9), ("Take", 7)):
            sql = urlencode({"sql": f"SELECT position FROM state WHERE id = canonical('{heap}')"})
            assert json.loads(fetch(address, f"{game}.json?{sql}")[1])["rows"] == [[str(heap)]]
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert said == "graphstore: warning: none of these files was built with nim(1)\n"


def test_a_damaged_file_is_reported_without_its_folder(copy):
    with served(copy) as site:
        content = copy.read_bytes()
        copy.write_bytes(content[:8192] + b"\xff" * (len(content) - 8192))
        for path in ("/-/explore/copy", "/copy/state"):
            page = site.get(path, 503).text
            assert "copy.db is damaged" in page
            assert str(copy.parent) not in page
