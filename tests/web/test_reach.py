"""Who can reach the explorer, by which requests, and what it tells about its machine."""

import gzip
import json
import re
import shutil
import signal
import socket
from contextlib import ExitStack, closing
from functools import partial
from http.client import HTTPConnection
from urllib.parse import urlencode, urlsplit

import pytest
from conftest import SLOW, error_line, for_all
from test_serve import links, running, served

from graphstore.errors import AddressError
from graphstore.web.application import ROUTES, Explorer
from graphstore.web.hosts import Hosts, host_of


@pytest.fixture(scope="module")
def port(tictactoe_db):
    """The port of a server that also answers for games.example.org."""
    with running(tictactoe_db, "--allow-host", "Games.example.org") as (_, address):
        yield urlsplit(address).port


@pytest.fixture(scope="module")
def site(tictactoe_db):
    """The explorer of a game in this process; no test may change its file."""
    with served(tictactoe_db) as site:
        yield site


def exchange(port, request):
    """Return all that the server sends for some bytes until it closes the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(request)
        with connection.makefile("rb") as answer:
            return answer.read()


def ask(port, *headers, line="GET /.json HTTP/1.1", more=b"Connection: close\r\n\r\n"):
    """Return the status of the only response to a request."""
    head = "".join(f"{each}\r\n" for each in (line, *headers)).encode("latin-1")
    answer = exchange(port, head + more)
    assert len(re.findall(rb"HTTP/1\.1 \d", answer)) == 1, answer
    return int(answer.split()[1])


HERE = "Host: localhost"
OURS = """
localhost LocalHost:80 localhost. localhost: 127.0.0.1:8001 [::1]:8001
games.example.org GAMES.Example.org.:443
"""
OTHERS = """
evil.example localhost.evil.example 127.0.0.1.evil.example evil.localhost example.org
192.168.0.1 0.0.0.0 127.1 2130706433 [::2] [::ffff:127.0.0.1]
"""
MALFORMED = """
a@localhost localhost:x localhost/ http://localhost [::1 ::1 localhost:1:2 %6cocalhost
localhost.. . :80 localhost\xff localhost# localhost\\ [localhost] localhost,localhost
"""
STATUSES = {
    200: OURS.split(),
    421: OTHERS.split(),
    400: [*MALFORMED.split(), "", " ", "local host"],
}


@for_all(("host", "status"), [(each, status) for status in STATUSES for each in STATUSES[status]])
def test_a_server_of_this_machine_answers_only_for_it_and_for_names_given(port, host, status):
    assert ask(port, f"Host: {host}") == status


def test_a_server_of_the_network_answers_for_addresses_and_for_names_given():
    """No page can make an IP address stand for another machine, as it can a name."""
    hosts = Hosts(["games.example.org", "bücher.example"], listens_at="Here.Lan")
    ours = "192.168.0.1 [fe80::1]:80 here.lan localhost games.example.org xn--bcher-kva.example"
    assert all(hosts.include(host_of(each)) for each in ours.split())
    assert not any(hosts.include(each) for each in ("evil.example", "lan", "127.1"))
    for wrong in ("http://a", "a:80", "", "a b", "a/b", "." * 300):
        with pytest.raises(AddressError, match="is not the name of a host"):
            Hosts([wrong])


def test_a_wrong_name_of_a_host_is_an_error_of_usage(tictactoe_db, run):
    line = error_line(run("serve", tictactoe_db, "--allow-host", "http://a"), 2)
    assert line.startswith("--allow-host 'http://a' is not the name of a host")


CHUNKED = "Transfer-Encoding: chunked"
SECOND = b"\r\n0\r\n\r\nGET /.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
"""The end of a body, and a request that only a wrong reader of bodies sees."""
BODIES = [
    ["Content-Length: 4", CHUNKED],
    [CHUNKED, "Content-Length: 4"],
    ["Content-Length: 0", "Content-Length: 5"],
    ["Content-Length: -1"],
    ["Content-Length: +0"],
    [CHUNKED],
    ["Transfer-Encoding: chunked, identity"],
    ["Transfer-Encoding: xchunked"],
    ["Transfer-Encoding: gzip, chunked"],
    [CHUNKED, "Transfer-Encoding: identity"],
    ["Transfer-Encoding : chunked"],
    ["Transfer-Encoding:\x0bchunked"],
]


@for_all(
    ("line", "headers", "status"),
    [
        *(("GET / HTTP/1.1", [HERE, *each], 400) for each in BODIES),
        *(("POST / HTTP/1.1", [HERE, *each], 400) for each in BODIES),
        ("GET / HTTP/1.1", [HERE, "Content-Length: 5"], 400),
        ("GET / HTTP/1.1", [HERE, "Content-Length: 5", "Content-Length: 5"], 400),
        ("GET / HTTP/1.0", [HERE, CHUNKED], 400),
        ("POST / HTTP/1.1", [HERE, "Content-Length: 1000000000000"], 405),
        ("PUT / HTTP/1.1", [HERE, "Content-Length: 5", "Expect: 100-continue"], 405),
        ("GET / HTTP/1.1", [], 400),
        ("GET / HTTP/1.0", [], 400),
        ("GET / HTTP/1.1", [HERE, HERE], 400),
        ("GET / HTTP/1.1", [HERE, "Host: evil.example"], 400),
        ("GET / HTTP/1.1", ["Host : localhost"], 400),
        ("GET http://evil.example/ HTTP/1.1", [HERE], 400),
        ("GET http://localhost/ HTTP/1.1", [HERE], 400),
        ("GET localhost HTTP/1.1", [HERE], 400),
        ("CONNECT evil.example:80 HTTP/1.1", [HERE], 400),
        ("OPTIONS * HTTP/1.1", [HERE], 400),
    ],
)
def test_a_request_that_could_be_read_in_two_ways_is_refused_and_its_connection_closed(
    port, line, headers, status
):
    assert ask(port, *headers, line=line, more=SECOND) == status


@SLOW
def test_more_idle_connections_than_files_may_be_open_keep_nobody_out(tictactoe_db):
    resource = pytest.importorskip("resource")
    limit = partial(resource.setrlimit, resource.RLIMIT_NOFILE)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with ExitStack() as held:
        limit((1024, hard))
        held.callback(limit, (soft, hard))
        process, address = held.enter_context(running(tictactoe_db))
        limit((hard, hard))
        port = urlsplit(address).port
        for _ in range(1200):
            idle = held.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20))
            idle.sendall(b"GET / HTTP/1.1\r\n")
        assert ask(port, HERE) == 200
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=30) == ("", "")


@pytest.mark.parametrize(("option", "scheme"), [([], "http"), (["--behind-proxy"], "https")])
def test_headers_of_a_proxy_are_obeyed_only_behind_one(tictactoe_db, option, scheme):
    told = "X-Forwarded-Proto: https", "X-Forwarded-Host: evil.example", "X-Forwarded-For: 1.2.3.4"
    head = ["GET /tictactoe/state.json HTTP/1.0", HERE, *told, "Forwarded: host=evil.example"]
    with running(tictactoe_db, *option) as (_, address):
        answer = exchange(urlsplit(address).port, "\r\n".join([*head, "", ""]).encode())
    next_url = json.loads(answer.partition(b"\r\n\r\n")[2])["next_url"]
    assert next_url.startswith(f"{scheme}://localhost/tictactoe/state.json?")


def test_the_routes_of_datasette_are_those_that_pages_need_or_closed(site):
    patterns = [pattern.pattern for pattern, _ in super(Explorer, site.explorer)._routes()]
    opened = [each for each in patterns if ROUTES.match(each)]
    assert [each.split("(")[0] for each in opened if "/-/" in each or "favicon" in each] == [
        "^/-/explore/",
        "^/-/explore/?$",
        "^/-/graph/",
        r"^/-/boards\.css$",
        "/favicon.ico",
        "/-/static/",
        "/-/graphstore/",
    ]
    assert "/-/graphstore/(?P<path>.*)$" in {each.pattern for each, _ in site.explorer._routes()}
    closed = {re.sub(r"\(.*\)\??|[$\\]", "", each) for each in {*patterns} - {*opened}}
    assert {"/-/metadata", "/-/permissions", "/-/threads", "/:memory:"} <= closed
    for path in closed | {"/-/debug", "/-/allow-debug", "/-/auth-token", "/-/sql", "/-/config"}:
        name = path.removeprefix("/-/")
        for each in (
            *(
                f"{path}{ending}"
                for ending in ("", ".json", ".jsono", ".csv", ".html", "/", "/x", "%2F")
            ),
            *(f"/{path}", f"/{path}/", path.upper(), f"{path}?_trace=1", f"/x/..{path}"),
            *(
                f"/%2D/{name}",
                f"/-%2F{name}",
                f"/~2D/{name}",
                f"/-//{name}",
                f"/-/static/../{name}",
            ),
        ):
            asked = site.explorer.client.get(each, follow_redirects=True)
            answer = site.runner.run(asked)
            assert answer.status_code == 404, (each, answer.text)
            assert "there is no such" in answer.text, each


WRONG = """
/one/state/99 /-/explore/one/nonsense /one/nothing /nothing.json /one.db /one/state.blob
/one/state/0.blob?_blob_column=position /one/state.json?_trace=1 /one/state?_sort=x
/-/databases.json /-/static/../../x /-/static/%2e%2e/x /-/graphstore/..%2f..%2fx
/one/state?_where=nothing /one/state?_where=1) /one/state.csv?_stream=1&_where=nothing
"""
ABOUT_THE_MACHINE = """
SELECT * FROM pragma_database_list
SELECT file FROM temp.pragma_database_list
SELECT * FROM pragma_compile_options
SELECT * FROM pragma_module_list
SELECT * FROM pragma_temp_store_directory
SELECT sql FROM sqlite_stmt
SELECT sqlite_compileoption_get(1)
SELECT fts3_tokenizer('x')
SELECT load_extension('x')
SELECT readfile('x')
""".strip().split("\n")


@pytest.fixture
def two(tictactoe_db, tmp_path):
    """The explorer of two files in a folder whose name is easily found; a test may change them."""
    folder = tmp_path / "a-secret-folder"
    folder.mkdir()
    for name in ("one", "two"):
        shutil.copyfile(tictactoe_db, folder / f"{name}.db")
    with served(*folder.iterdir()) as site:
        yield folder, site


def test_no_page_tells_the_folder_of_a_file(two):
    """All pages that links lead to, errors, and errors of files that are damaged or missing."""
    folder, site = two

    def told(path, **headers):
        answer = site.runner.run(site.explorer.client.get(path, headers=headers))
        assert folder.name not in f"{answer.headers}{answer.text}", path
        return answer

    sql = [
        f"/one{ending}?{urlencode({'sql': each})}"
        for each in ABOUT_THE_MACHINE
        for ending in ("", ".json", ".csv")
    ]
    for path in sql:
        assert told(path).status_code == 400, path
    pages = {"/", "/one", "/one/state", "/one/game", "/-/explore/one", "/one/openings"}
    pages |= {each for page in pages for each in links(told(page).text) if each.startswith("/")}
    for path in (*sorted(pages), *WRONG.split()):
        told(path)
    for spoil in (
        lambda path: path.write_bytes(path.read_bytes()[:8192] + b"\xff" * 40_000),
        lambda path: path.write_bytes(b"x" * 9000),
        lambda path: path.unlink(),
        lambda path: path.mkdir(),
    ):
        spoil(folder / "one.db")
        for path in (
            *WRONG.split(),
            *sql,
            "/",
            "/one",
            "/one.json",
            "/one/state.csv",
            "/-/explore/one",
        ):
            told(path)


@for_all(
    ("site_of_asker", "destination", "status"),
    [
        ("cross-site", "image", 403),
        ("cross-site", "script", 403),
        ("cross-site", "empty", 403),
        ("cross-site", "iframe", 403),
        ("cross-site", "document", 200),
        ("same-origin", "script", 200),
        ("same-site", "empty", 200),
        ("none", "document", 200),
    ],
)
def test_other_sites_may_link_to_a_page_but_not_load_it(site, site_of_asker, destination, status):
    headers = {"sec-fetch-site": site_of_asker, "sec-fetch-dest": destination}
    answer = site.runner.run(site.explorer.client.get("/tictactoe?sql=SELECT+1", headers=headers))
    assert answer.status_code == status
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "frame-ancestors 'self'" in answer.headers["content-security-policy"]
    assert answer.headers["referrer-policy"] in ("same-origin", "no-referrer")
    assert not {"access-control-allow-origin", "server"} & {*answer.headers}


# What browsers keep, and what is compressed.


@pytest.fixture(scope="module")
def behind(tictactoe_db):
    """The port of a server that takes the address of a client from a proxy on this machine."""
    with running(tictactoe_db, "--behind-proxy") as (_, address):
        yield urlsplit(address).port


def fetched(port, path, client, accepted="gzip"):
    """Return the headers and the body of a response."""
    with closing(HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        headers = {"x-forwarded-for": client, "accept-encoding": accepted}
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.headers, answer.read()


@for_all(
    "path",
    [
        "/tictactoe/state?ply=1",
        "/tictactoe/edge.csv?_stream=1",
        "/tictactoe/census.json",
        "/-/graphstore/graphstore.css",
        "/nothing",
    ],
)
def test_texts_are_compressed_for_other_machines_that_accept_it(behind, path):
    plain, body = fetched(behind, path, "127.0.0.1")
    assert plain["content-encoding"] is None
    for client, accepted in (("192.0.2.1", "gzip;q=0"), ("192.0.2.1", ""), ("::1", "gzip")):
        assert fetched(behind, path, client, accepted)[0]["content-encoding"] is None
    for client, accepted in (("192.0.2.1", "br, gzip"), ("2001:db8::1", "*")):
        headers, packed = fetched(behind, path, client, accepted)
        assert headers["content-encoding"] == "gzip"
        assert "accept-encoding" in headers.get_all("vary")
        assert headers["etag"] == plain["etag"]
        shown = [
            re.sub(rb'[0-9.e-]+ ms|"query_ms": [0-9.e-]+', b"", each)
            for each in (body, gzip.decompress(packed))
        ]
        assert shown[0] == shown[1]
    picture = fetched(behind, "/-/static/favicon.png", "192.0.2.1")
    assert picture[0]["content-encoding"] is None


def test_files_with_a_digest_in_their_address_are_kept_and_others_are_not(site):
    pages = ("/", "/tictactoe", "/tictactoe/state", "/tictactoe?sql=SELECT", "/nothing")
    found = set()
    for page in pages:
        text = site.runner.run(site.explorer.client.get(page)).text
        found |= {link for link in links(text) if re.search(r"\.(css|js)\b", link)}
    assert len(found) > 6
    for link in found:
        path, _, digest = link.partition("?")
        kept = site.get(link).headers["cache-control"]
        assert kept == "public, max-age=31536000, immutable", link
        for other in (path, f"{path}?", f"{path}?{digest}0", f"{path}?{digest[::-1]}"):
            assert "immutable" not in site.get(other).headers.get("cache-control", ""), other
