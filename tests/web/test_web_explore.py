"""The page of a position: its address, its texts, play on it, and errors."""

import asyncio
import html
import re
import sqlite3
from collections import Counter
from contextlib import closing
from urllib.parse import parse_qs, quote, unquote, urljoin, urlsplit

import pytest
from conftest import TableGame, for_all
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from pages import Reader

from graphstore import PlainGame, Store, book, build, draw, prove, train
from graphstore.errors import SettingError
from graphstore.rules.board import Choice, images
from graphstore.rules.game import move_text
from graphstore.rules.svg import Strength
from graphstore.web import addresses
from graphstore.web.application import application
from graphstore.web.page.pictures import Link, links
from graphstore.web.page.query import Query, read_query
from graphstore.web.page.review import label

GAMES = {
    "dots": "mnk(2,2,2)",
    "one": "mnk(1,1,1)",
    "connect": "connect(3,3,3)",
    "nim": "nim(2,3)",
    "heap": "subtraction(9,1,2)",
    "hexapawn": "hexapawn(3,3)",
    "morris": "morris(orthogonal)",
    "vanishing": "vanishing",
}
ODD = [
    "",
    ".",
    "..",
    "./..//...",
    "a?b=c&d#e",
    "50% \\ ~2E + %2e",
    "<script>alert(1)</script>",
    "\"quotes\" and 'others'",
    "é ☃ \U0001f600",
    "tab\tand\nline",
    "~",
    "/",
]


class OddTexts(PlainGame):
    """A game of steps along positions with odd texts; the last one is lost."""

    def start(self):
        return 0

    def moves(self, at):
        return range(1, min(4, len(ODD) - at))

    def play(self, at, step):
        return at + step

    def outcome(self, at):
        return -1 if at == len(ODD) - 1 else None

    def text(self, at):
        return ODD[at]

    def parse(self, text):
        return ODD.index(text)


class Foreign(TableGame):
    """A game whose rules are not given to the explorer."""


@pytest.fixture(scope="module")
def trained(tictactoe_db, tmp_path_factory):
    """Tic-tac-toe with two agents: one for both sides, one for X that resigns."""
    path = tmp_path_factory.mktemp("trained") / "trained.db"
    path.write_bytes(tictactoe_db.read_bytes())
    train(path, "menace", games=200, seed=1)
    quick = {"stages": (1,), "loss": -1, "win": 0, "draw": -1, "empty": "resign"}
    train(path, "weary", games=400, against="perfect", side=1, seed=1, **quick)
    return path


@pytest.fixture(scope="module")
def site(tictactoe_db, trained, tmp_path_factory):
    """The explorer over many games."""
    folder = tmp_path_factory.mktemp("games")
    for name, game in GAMES.items():
        build(game, folder / f"{name}.db")
    build("tictactoe", folder / "below.db", below=["XO./.X./..."])
    build(OddTexts(), folder / "odd ~ 100%.db")
    table = {0: {0: 1, 1: 2}, 1: {0: 2}, 2: {0: 0, 5: 3}, 3: -1}
    build(Foreign(table, 0), folder / "foreign.db")
    build(
        Foreign({0: {n: n for n in range(1, 31)}, 99: -1} | {n: {0: 99} for n in range(1, 31)}, 0),
        folder / "many.db",
    )
    stores = [Store.open(path) for path in (tictactoe_db, trained)]
    stores += [Store.open(folder / f"{name}.db") for name in (*GAMES, "below", "foreign", "many")]
    stores.append(Store.open(folder / "odd ~ 100%.db", rules=OddTexts()))
    with closing(application(stores)) as explorer:
        yield explorer


@pytest.fixture(scope="module")
def get(site):
    """Return a function that requests an address and does not follow redirects."""

    def get(path, status=200):
        response = asyncio.run(site.client.get(path))
        assert response.status_code == status, (path, response.text[:500])
        return response

    return get


@pytest.mark.parametrize(
    ("game", "typed", "board"),
    [
        ("tictactoe", "moves:0 1 4", "XO./.X./..."),
        ("tictactoe", "014", "XO./.X./..."),
        ("tictactoe", "X O 2 / 3 X 5 / 6 7 8", "XO./.X./..."),
        ("tictactoe", "start", ".../.../..."),
        ("connect", "112", ".../O../XX."),
        ("connect", ".../O../XX./012", ".../O../XX."),
        ("nim", "moves:2-3", "2,0"),
        ("hexapawn", "moves:6-3", "BBB/W../.WW B"),
    ],
)
def test_an_address_and_the_form_take_moves_and_other_spellings(get, game, typed, board):
    for path in (at(game, typed), f"{at(game, None)}?position={quote(typed)}"):
        assert get(path, 302).headers["location"].partition("?")[0] == at(game, board)


@pytest.fixture(scope="module")
def read(get):
    """Return a function that reads a page."""
    return lambda path, status=200: Reader(get(path, status).text)


def at(game, position, query=""):
    return addresses.write(game, position) + query


def position_of(href):
    """Return the position of an address."""
    _, _, _, game, *rest = urlsplit(href).path.split("/", 4)
    return addresses.read(game, rest[0] if rest else None)[1]


def as_browsers_do(path):
    """Return a path without its dot segments, as in the URL standard of the WHATWG."""
    kept = []
    segments = path.split("/")[1:]
    for number, segment in enumerate(segments):
        plain = segment.lower().replace("%2e", ".")
        if plain == "..":
            kept[-1:] = []
        if plain not in (".", ".."):
            kept.append(segment)
        elif number == len(segments) - 1:
            kept.append("")
    return "/" + "/".join(kept)


SPOKEN = {
    "perfect": "The perfect player",
    "random": "The random player",
    "mistakes=0.5": "The player with 50% mistakes",
}
NAMES = ["against", "as", "turn", "agent", "hide", "from", "to", "start", "moves", "at", "flip"]
TEXTS = st.text() | st.text(alphabet="./~%2E7e\\?# XO") | st.sampled_from(ODD)


@given(st.none() | TEXTS, TEXTS.filter(lambda name: name and "/" not in name))
def test_an_address_is_read_as_it_was_written_also_after_what_browsers_do_to_it(position, game):
    path = addresses.write(game, position)
    assert re.fullmatch(r"[A-Za-z0-9/%!$()*+,;=:@._~-]+", path)
    for sent in (path, as_browsers_do(path), urlsplit(urljoin("http://host/a/b", path)).path):
        _, dash, explore, name, *rest = sent.split("/", 4)
        assert (dash, explore) == ("-", "explore")
        assert addresses.read(name, rest[0] if rest else None) == (game, position)


@settings(suppress_health_check=[HealthCheck.filter_too_much])
@given(st.dictionaries(st.sampled_from(NAMES), TEXTS))
def test_what_an_address_asks_is_written_so_that_it_is_read_again(query):
    try:
        asked = read_query(query.get)
    except SettingError:
        assume(False)
    again = {name: values[0] for name, values in parse_qs(asked.text()[1:]).items()}
    read = read_query(again.get)
    assert read == (asked if asked.against else asked._replace(side=0))


@for_all("game", [*GAMES, "tictactoe"])
def test_equal_parts_of_pictures_are_written_once_and_a_page_is_light(get, game):
    """The page of mnk(4,4,4) after two moves, which is too large to be built here, has 23.5 kB."""
    page = get(f"/-/explore/{game}").text
    parts = re.findall(r'<g id="(g\d+)">', page)
    assert sorted({*re.findall(r'<use href="#(\w+)"', page)}) == sorted(parts)
    assert len(page.encode()) < 25_000


def test_states_have_their_moves_on_their_cells_and_their_marks_labelled(read, file_store, moments):
    rows = list(file_store.sql("SELECT position FROM state ORDER BY id"))[:: moments(100, 20)]
    words = {-1: "win", 0: "draw", 1: "loss"}
    for (text,) in rows:
        page, probe = read(at("tictactoe", text)), file_store.probe(text)
        assert {
            cell: (position_of(href), re.sub(": [WDL][0-9]*, ", ": ", label).split(", depth")[0])
            for cell, (href, label) in page.cells.items()
        } == {
            move.move: (move.position, f"cell {move.move}: {words[move.value]}")
            for move in probe.moves
        }
        cells = text.replace("/", "")
        marks = [f"cell {cell}: {mark}" for cell, mark in enumerate(cells) if mark != "."]
        assert page.labels == marks
        assert list(page.moves) == [str(move.move) for move in probe.moves]


def test_any_orientation_is_kept_and_leads_to_the_row_of_its_state(read, file_store, site):
    for text in images(file_store.game, "XO./.X./...").values():
        page = read(at("tictactoe", text))
        assert page.by_id["announcement"] == "O to move: X wins in 2 moves (4 plies)."
        assert f"tictactoe {text}" in page.text
        assert all(position_of(href) for href, _ in page.cells.values())
        row = next(each["href"] for each, shown in page.links if shown == "8706")
        assert asyncio.run(site.client.get(row)).status_code == 200


@pytest.mark.parametrize(
    "typed",
    [
        "xo..x....",
        " XO-/-X-/---\n",
        "1000000000000",
        "x|o|.\r\n-+-+-\r\n.|x|.\r\n-+-+-\r\n.|.|.\r\n",
        "XO\r\n X\r\n   ",
    ],
)
def test_any_spelling_leads_to_the_one_address_of_the_position(get, file_store, typed):
    typed = str(file_store.probe("XO./.X./...").state) if typed.isdigit() else typed
    wanted = file_store.probe(typed).position
    asked_for = [f"/-/explore/tictactoe?position={quote(typed)}"]
    if "\n" not in typed:
        asked_for.append(at("tictactoe", typed))
    for path in asked_for:
        assert position_of(get(path, 302).headers["location"]) == wanted
    path = at("tictactoe", typed, "?hide=1")
    assert get(path, 302).headers["location"] == at("tictactoe", wanted, "?hide=1")


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/-/explore/tictactoe/XXX/XXX/XXX", 400, "9 X and 0 O are impossible"),
        ("/-/explore/tictactoe/hello", 400, "'h' is not a cell"),
        ("/-/explore/tictactoe/%3Cscript%3Ealert(1)%3C/script%3E", 400, "'<' is not a cell"),
        ("/-/explore/tictactoe/%00X", 400, "is not a cell"),
        ("/-/explore/tictactoe/%FF", 400, "not UTF-8"),
        ("/-/explore/%FF/X", 400, "not UTF-8"),
        ("/-/explore/tictactoe/99999999999", 404, "no state has the id"),
        ("/-/explore/tictactoe/" + "X" * 50_000, 414, "has 50,000 characters"),
        ("/-/explore/tictactoe?position=" + "9" * 4096, 400, "'9' is not a cell"),
        ("/-/explore/below/.../.../...", 404, "is not in this database"),
        ("/-/explore/foreign/7", 404, "no stored state is written"),
        ("/-/explore/chess", 404, "there is no game 'chess' here"),
        ("/-/explore/chess/a/b?position=c", 404, "there is no game 'chess' here"),
        ("/-/explore/tictactoe?against=nobody!", 400, "there is no opponent"),
        ("/-/explore/tictactoe?against=nobody", 400, "no agent"),
        ("/-/explore/tictactoe?agent=nobody", 400, "no agent"),
        ("/-/explore/tictactoe?against=person", 400, "does not choose moves itself"),
        ("/-/explore/tictactoe?against=mistakes%3D7", 400, "with P from 0 to 1"),
        ("/-/explore/tictactoe?as=3", 400, "as='3' is not a player; write as=1 or as=2"),
        ("/-/explore/nim?against=perfect&turn=5", 400, "turn='5' is not a player"),
        ("/-/explore/tictactoe?from=x", 400, "from='x' is not a cell"),
        ("/-/explore/tictactoe?from=" + "1" * 4000, 400, "is not a cell"),
        ("/-/explore/tictactoe?moves=4,4", 400, "move 2, '4', is not legal in .../.X./..."),
        ("/-/explore/tictactoe?moves=4,x", 400, "move 2, 'x', is not legal"),
        ("/-/explore/tictactoe?moves=0,3,1,4,2,5", 400, "legal in XXX/OO./...: the game is over"),
        ("/-/explore/tictactoe?moves=4&at=2", 400, "at=2 is beyond the game, which has 1 moves"),
        ("/-/explore/tictactoe?moves=4&at=-1", 400, "at='-1' is not a number of moves"),
        ("/-/explore/vanishing?moves=" + "0," * 201, 400, "201 moves; a game may have up to 200"),
        ("/-/explore/tictactoe?moves=" + "0" * 3000, 400, "3,000 characters, too many for moves"),
        ("/-/explore/tictactoe?moves=0&start=nowhere", 400, "is not a cell"),
        ("/-/explore/tictactoe/X../.../...?moves=4", 400, "lead to .../.X./..., not to X../..."),
        ("/-/explore/connect?moves=1&flip=turned", 400, "flip='turned' is not an image"),
        ("/-/explore/foreign?moves=0&flip=turned", 400, "Foreign is not built in"),
        ("/-/explore/nim?view=setup", 400, "have no cells; type the position"),
        ("/-/explore/tictactoe/XX/X.?view=setup", 400, "not a board of 3 rows and 3 columns"),
        ("/-/explore/tictactoe?from=1", 400, "from=1: no piece can move from this cell"),
        ("/-/explore/hexapawn?from=4", 400, "from=4: no piece can move"),
        ("/-/explore/hexapawn?from=7&to=0", 400, "to=0: the piece on 7 cannot go there"),
        ("/-/explore/hexapawn?to=4", 400, "to=4 needs from="),
    ],
)
def test_what_cannot_be_shown_gets_a_page_with_the_reason(get, path, status, said):
    response = get(path, status)
    page = Reader(response.text)
    assert said in page.by_id["why"]
    assert "\n" not in page.by_id["why"]
    assert len(response.text) < 10_000
    (script,) = [each for tag, each in page.tags if tag == "script"]
    assert script["src"].startswith("/-/graphstore/field.js?")
    if status != 414 and "explore/tictactoe/" in path and "%FF" not in path:
        typed = unquote(path.removeprefix("/-/explore/tictactoe/").partition("?")[0])
        assert page.by_id["gs-typed"] == typed


@pytest.mark.parametrize(
    "query",
    [
        "?from=&to=&at=&moves=&start=&flip=&view=&as=&turn=&hide=0&cell=&last=",
        "?cell=500",
        "?%FF=%FF&&&=&a=b=c;d",
        "?" + "&".join(f"a{n}={n}" for n in range(100)),
        "?position=",
    ],
)
def test_empty_and_unknown_fields_of_a_query_are_ignored(get, query):
    for game in ("tictactoe", "hexapawn", "nim"):
        get(f"/-/explore/{game}{query}", 302 if "position" in query else 200)


@pytest.mark.parametrize("game", [*GAMES, "odd ~ 100%", "foreign", "below"])
def test_the_graph_below_a_position_links_each_board_to_its_page(get, site, game):
    at = addresses.write(game)
    (link,) = re.findall(r'href="([^"#]*)#node1">Graph<', get(at).text)
    store = site.stores[game]
    drawing = draw(store, html.unescape(position_of(link.replace("graph", "explore", 1))), plies=1)
    page = get(f"{link}?plies=1").text
    linked = {
        html.unescape(each)
        for each in re.findall(r'<a aria-label="[^"]+" xlink:href="([^"]*)"', page)
    }
    assert linked == {addresses.write(game, node.position) for node in drawing.nodes}
    assert "<style" not in page  # the policy of the page forbids it
    assert page.count('class="edge"') == len(drawing.arrows)


@pytest.mark.parametrize(
    ("query", "why"),
    [("plies=0", "from 1 to 9"), ("plies=x", "from 1 to 9"), ("plies=9", "choose fewer plies")],
)
def test_a_graph_that_cannot_be_drawn_gets_a_page_with_the_reason(get, query, why):
    assert why in get(f"/-/graph/tictactoe?{query}", 400).text
    assert get("/-/graph/tictactoe?plies=9&best=1").text.count('class="node"') > 9


@pytest.mark.parametrize("game", [*GAMES, "odd ~ 100%", "foreign", "below"])
def test_all_pages_that_links_lead_to_are_there_and_name_the_moves_of_the_store(read, site, game):
    store = site.stores[game]
    rules = store.game if store.has_rules else None
    waiting, met = [addresses.write(game)], set()
    while waiting and len(met) < 12:
        path = waiting.pop(0)
        if path in met:
            continue
        met.add(path)
        page = read(path)
        text = store.info["start"] if path == addresses.write(game) else position_of(path)
        probe = store.probe(text)
        assert probe.position == text
        assert {name: position_of(href) for name, href in page.moves.items()} == {
            move_text(rules, move.move): move.position for move in probe.moves
        }
        waiting += [*page.moves.values()][:2] + page.tiles()[::3]
        waiting += [href for href, _ in page.cells.values()][:2]
    assert len(met) > 1


@pytest.mark.parametrize(
    "game", ["tictactoe", "dots", "connect", "hexapawn", "morris", "vanishing"]
)
def test_from_where_a_position_comes_a_move_leads_exactly_to_it(read, site, game):
    store = site.stores[game]
    rows = list(store.sql("SELECT position FROM state WHERE ply > 2 ORDER BY id"))
    for (text,) in rows[:: max(1, len(rows) // 4)]:
        for image in [*images(store.game, text).values()][::3]:
            page = read(at(game, image))
            tiles = {position_of(href) for href in page.tiles()}
            before = {
                tile
                for tile in tiles
                if image in {move.position for move in store.probe(tile).moves}
            }
            states = list(
                store.sql(
                    "SELECT DISTINCT parent FROM edge WHERE child = ?", [store.probe(image).state]
                )
            )
            shown = {store.probe(tile).state for tile in before}
            assert shown == {state for (state,) in states} or len(states) > 12


def test_parents_of_a_game_without_cells_name_a_move_that_leads_here_exactly_or_by_symmetry(
    read, site
):
    store = site.stores["nim"]
    kinds = set()
    for text in ("0,2", "2,0", "1,1"):
        page, state = read(at("nim", text)), store.probe(text).state
        assert "its value for the player to move there" in page.text
        tiles = [
            each["aria-label"].split(", ")
            for each, _ in page.links
            if "gs-tile" in each.get("class", "")
        ]
        parents = [label for label in tiles if label[1] in ("win", "draw", "loss")]
        assert parents
        for name, _, position in parents:
            move = name.removesuffix(" (by symmetry)")
            (child,) = [
                each
                for each in store.probe(position).moves
                if move_text(store.game, each.move) == move
            ]
            assert child.state == state
            assert (child.position == text) == (move == name)
            kinds.add(move == name)
    assert kinds == {True, False}


def test_many_parents_are_shown_in_part_and_counted(read):
    page = read("/-/explore/many/99")
    assert len(page.tiles()) == 12
    assert "and 18 more" in page.text


def test_a_piece_is_chosen_before_its_target(read):
    page = read("/-/explore/hexapawn")
    assert {cell: href for cell, (href, _) in page.cells.items()} == {
        cell: at("hexapawn", "BBB/.../WWW W", f"?from={cell}") for cell in (6, 7, 8)
    }
    assert page.cells[7][1] == "cell 7: W, 1 move from here: L3, loss, depth 3"
    page = read(page.cells[7][0])
    assert page.by_id["announcement"] == "W at 7 chosen: where to?"
    assert {cell: href for cell, (href, _) in page.cells.items()} == {
        4: at("hexapawn", "BBB/.W./W.W B", "?moves=7-4"),
        7: at("hexapawn", "BBB/.../WWW W"),
    }
    assert len(page.moves) == 3


def test_where_several_moves_bring_a_piece_to_one_cell_that_is_chosen_too():
    moves = [
        Choice(move, f"m{move}", cell, source, value, None, "...")
        for move, cell, source, value in [(1, 5, 2, 1), (2, 5, 2, 0), (3, 6, 2, 0), (4, 7, 3, -1)]
    ]
    here = {"to": lambda move: move.name, "here": lambda asked: asked.text() or "here"}
    best = Strength(best=True)
    assert links(moves, Query(), **here) == {
        2: Link("?from=2", "3 moves from here: W, win", "win", "W", chooses=True, strength=best),
        3: Link("?from=3", "1 move from here: L, loss", "loss", "L", chooses=True),
    }
    for asked in (Query(source=2), Query(source=2, target=5)):
        assert links(moves, asked, **here) == {
            2: Link("here", "put back", "chosen", chooses=True),
            5: Link("?from=2&to=5", "2 moves: W, win", "win", "W", chooses=True, strength=best),
            6: Link("m3", "m3: D, draw", "draw", "D"),
        }
    assert links(moves, Query(source=9), **here) == links(moves, Query(), **here)


def test_many_may_ask_at_once(site):
    async def ask():
        paths = [addresses.write(game) for game in site.stores] * 3
        return await asyncio.gather(*map(site.client.get, paths))

    assert {response.status_code for response in asyncio.run(ask())} == {200}


def test_flipping_and_turning_come_back_to_where_they_began(read):
    start = path = at("tictactoe", "XO./.X./...", "?hide=1")
    for keys in ("ff", "rrrr", "frfr"):
        for key in keys:
            path = read(path).tools()[key]
            assert path == start or position_of(path) != position_of(start)
        assert path == start
    assert set(read(at("connect", ".../.../X..")).tools()) == {"f", "h", "."}
    for symmetric in ("tictactoe", "connect", "nim"):
        assert set(read(f"/-/explore/{symmetric}").tools()) == {"h", "."}


def test_the_game_is_turned_with_the_board(read, get):
    path = at("tictactoe", "X../..O/...", "?against=perfect&as=1&moves=0,5")
    assert read(path).labels == ["cell 0: X", "cell 5: O, played last"]
    turned = {key: get(read(path).tools()[key], 302).headers["location"] for key in "fr"}
    assert turned["f"] == at("tictactoe", "..X/O../...", "?against=perfect&as=1&moves=2,3")
    page = read(turned["f"])
    assert page.labels == ["cell 2: X", "cell 3: O, played last"]
    assert page.by_id["announcement"].startswith("The perfect player played 3. ")
    assert read(turned["r"]).labels == ["cell 2: X", "cell 7: O, played last"]


def test_hidden_values_are_nowhere_on_the_page(get, read):
    html = get(at("trained", "XO./.X./...", "?hide=1&agent=menace")).text
    words = Reader(html).text.split() + re.findall(r'aria-label="([^"]*)"', html)
    found = [
        word
        for word in words
        if re.search(r"\b(wins?|loss|los[et]s?|draws?|drawn|L1|beads)\b", word)
    ]
    assert set(found) <= {"Beads"}
    assert not re.search(r'class="[^"]*gs-(is|has)?-?(win|loss|draw)\b', html)
    page = Reader(html)
    assert list(page.moves) == sorted(page.moves)
    assert all("hide=1" in href for href in page.moves.values())
    assert "hide" not in page.tools()["h"]


@pytest.mark.parametrize(
    ("game", "opponent"),
    [(game, "perfect") for game in ("tictactoe", "connect", "hexapawn", "nim", "heap")]
    + [("trained", "menace"), ("tictactoe", "random"), ("nim", "mistakes=0.5")],
)
@pytest.mark.parametrize("side", [1, 2])
def test_a_game_is_played_by_following_links_to_its_end(get, site, game, opponent, side):
    store = site.stores[game]
    path = f"/-/explore/{game}?against={quote(opponent)}&as={side}&hide=1"
    worth = store.probe(store.info["start"]).value * (1 if side == 1 else -1)
    for number in range(20):
        response = asyncio.run(site.client.get(path))
        assert response.headers["cache-control"] == "no-store"
        moved = response.status_code == 302
        if moved:
            path = response.headers["location"]
            response = get(path)
        page = Reader(response.text)
        said = page.by_id["announcement"]
        assert said.startswith(f"{SPOKEN.get(opponent, opponent)} played ") == moved
        if said.endswith(".") and "over" in said:
            break
        assert moved or (number == 0 and side == 1)
        assert f"Your turn as {store.game.players[side - 1]}." in said
        path = list(page.moves.values())[-1]
    assert "The game is over" in said
    assert not page.cells
    result = {"won": 1, "draw.": 0, "lost": -1}[
        said.split()[-1].rstrip(".") if "have" in said else "draw."
    ]
    if opponent == "perfect":
        assert result <= worth


@pytest.mark.parametrize("path", ["trained", "trained/XO./.X./..."])
def test_against_an_agent_of_one_side_the_user_plays_the_other(read, path):
    page = read(f"/-/explore/{path}?against=weary&as=1", 400)
    assert page.by_id["why"] == "weary has learned to be X only; play as O"
    (other,) = [each["href"] for each, text in page.links if text == "Play as O"]
    assert other == f"/-/explore/{path}?against=weary&as=2"
    assert "weary (plays X)" in read(f"/-/explore/{path}").text


def test_without_a_side_the_user_gets_one_that_is_left(read):
    assert "You are O against weary" in read("/-/explore/trained?against=weary").text
    page = read("/-/explore/trained?against=menace")
    assert page.by_id["announcement"].startswith("Your turn as X")
    assert all("?against=menace&as=1" in href for href in page.moves.values())


@pytest.mark.parametrize(
    ("game", "typed", "path"),
    [
        ("tictactoe", "4,0,8", at("tictactoe", "O../.X./..X", "?moves=4,0,8")),
        ("tictactoe", "4 0 8", at("tictactoe", "O../.X./..X", "?moves=4,0,8")),
        ("tictactoe", "408", at("tictactoe", "O../.X./..X", "?moves=4,0,8")),
        ("connect", "1,1", at("connect", ".../O../X..", "?moves=1,1")),
        ("nim", "2-3", at("nim", "2,0", "?moves=2-3")),
        ("hexapawn", "6-3;2-5", at("hexapawn", "BB./W.B/.WW W", "?moves=6-3,2-5")),
        ("foreign", "0,0,0", at("foreign", "0", "?moves=0,0,0")),
    ],
)
def test_a_game_is_shared_by_its_moves(get, read, game, typed, path):
    assert get(f"/-/explore/{game}?moves={quote(typed)}", 302).headers["location"] == path
    if game != "foreign":  # its rules are not known
        form = f"/-/explore/{game}?position={quote('moves:' + typed)}"
        assert get(form, 302).headers["location"] == path
    page = read(path)
    steps = [each["href"] for each, _ in page.links if each.get("aria-current") == "step"]
    assert steps == [path]


def test_a_game_says_what_each_move_was_worth_and_where_it_was_thrown_away(read):
    page = read("/-/explore/tictactoe/XO./.X./...?moves=4,1,0,8,3&at=3")
    moves = [text for each, text in page.links if "story" not in each and "?" in text]
    assert [text.split()[:3] for text in moves] == [["1", "L3?,", "loss,"]]
    assert "Move 2: O turned a draw into a loss with 1; the best move was 0." in page.text
    ahead = page.moves
    assert ahead["8"] == at("tictactoe", "XO./.X./..O", "?moves=4,1,0,8,3&at=4")  # the game goes on
    assert ahead["2"] == at("tictactoe", "XOO/.X./...", "?moves=4,1,0,2")
    bars = [each["href"] for each, _ in page.links if each.get("tabindex") == "-1"]
    assert [position_of(href) for href in bars] == [
        ".../.../...", ".../.X./...", ".O./.X./...", "XO./.X./...", "XO./.X./..O", "XO./XX./..O"
    ]  # fmt: skip
    hidden = read("/-/explore/tictactoe/XO./.X./...?moves=4,1,0&hide=1")
    assert "turned a" not in hidden.text
    assert not [each for each, _ in hidden.links if each.get("tabindex") == "-1"]


def test_every_position_of_a_long_game_with_repetitions_is_reached(read, site):
    probe, path = site.stores["vanishing"].start(), "/-/explore/vanishing"
    for _ in range(204):
        move = next(move for move in probe.moves if move.value == 0)  # a draw never ends
        path = read(path).moves[str(move.move)]
        assert len(path) < 1000
        probe = site.stores["vanishing"].probe(move.position)
        assert position_of(path) == probe.position
    played = parse_qs(urlsplit(path).query)["moves"][0].split(",")
    assert len(played) == 3  # the 201st move began a new game


def test_after_a_game_one_plays_again_or_swaps_sides(read):
    path = at("tictactoe", "XOO/.X./..X", "?against=perfect&as=2&hide=1&moves=4,1,0,2,8")
    links = {text: each.get("href") for each, text in read(path).links}
    assert links["Play again"] == "/-/explore/tictactoe?against=perfect&as=2&hide=1"
    assert links["Swap sides"] == "/-/explore/tictactoe?against=perfect&as=1&hide=1"
    path = at("nim", "0,0", "?against=random&as=1&start=0,2&turn=2&moves=2-2")
    links = {text: each.get("href") for each, text in read(path).links}
    assert links["Swap sides"] == at("nim", "0,2", "?against=random&as=2&turn=2")


@pytest.mark.parametrize("game", [*GAMES, "odd ~ 100%", "foreign", "tictactoe"])
def test_a_position_is_set_up_cell_by_cell(read, get, game):
    path = read(f"/-/explore/{game}")
    links = [each["href"] for each, text in path.links if text == "Set up a position"]
    assert bool(links) == (game not in ("nim", "heap", "odd ~ 100%", "foreign"))
    for href in links:
        page = read(href)
        assert page.by_id["announcement"].startswith(
            ("X to move", "White to move", "The player to move")
        )
        after = read(page.cells[0][0])
        assert len(after.cells) == len(page.cells)
        assert after.text != page.text


@pytest.mark.parametrize("game", [*GAMES, "foreign"])
def test_the_picture_of_a_position_stands_alone(get, game):
    answer = get(f"/-/explore/{game}?view=svg")
    assert answer.headers["content-type"] == "image/svg+xml"
    assert answer.text.startswith("<svg ")
    assert "<style>" in answer.text
    assert "<a " not in answer.text


def test_the_learning_curve_of_an_agent_is_on_its_page(read):
    page = read("/-/explore/trained?agent=menace")
    assert "How menace learned" in page.text
    assert "After 200 games" in page.text
    assert [each for tag, each in page.tags if each.get("class") == "gs-curve"]
    assert "How menace learned" not in read("/-/explore/trained?agent=menace&hide=1").text


def test_the_first_page_names_and_filters_games(get, site):
    page = Reader(get("/").text)
    titles = [
        text for each, text in page.links if text in ("Tic-tac-toe", "Nim 2, 3", "Hexapawn, 3 by 3")
    ]
    assert sorted(set(titles)) == ["Hexapawn, 3 by 3", "Nim 2, 3", "Tic-tac-toe"]
    plays = [each["href"] for each, text in page.links if text == "Play"]
    assert {asyncio.run(site.client.get(href)).status_code for href in plays} == {200, 302}
    few = Reader(get("/?q=CONNECT").text)
    assert [text for each, text in few.links if text.startswith("Connect ")] == [
        "Connect 3, 3 by 3"
    ]
    assert "No game has" in Reader(get("/?q=<b>").text).text


def test_the_last_move_is_marked(read, get):
    path = get(at("tictactoe", "X../.../...", "?against=perfect&as=1"), 302).headers["location"]
    begun = "start=X../.../...&moves=4"
    assert path == at("tictactoe", "X../.O./...", f"?against=perfect&as=1&{begun}")
    page = read(path)
    assert page.labels == ["cell 0: X", "cell 4: O, played last"]
    assert (
        page.by_id["announcement"]
        == "The perfect player played 4. Your turn as X: drawn, a tie is 7 plies away."
    )


def test_an_agent_with_an_empty_box_resigns(read, site):
    store = site.stores["trained"]
    query = (
        "SELECT position FROM matchbox WHERE agent = 'weary' GROUP BY state HAVING sum(beads) = 0"
    )
    (text,) = next(iter(store.sql(query)))
    page = read(at("trained", text, "?against=weary&as=2"))
    assert "weary resigns" in page.by_id["announcement"]
    assert "You have won." in page.by_id["announcement"]
    assert not page.moves


def test_beads_are_shown_in_the_orientation_of_the_page(read, site):
    store = site.stores["trained"]
    box = store.probe("X../.O./...").state
    query = "SELECT child, beads FROM matchbox WHERE agent = 'menace' AND state = ?"
    beads = dict(store.sql(query, [box]))
    for text in images(store.game, "X../.O./...").values():
        page, probe = read(at("trained", text, "?agent=menace")), store.probe(text)
        total = sum(beads[state] for state in {move.state for move in probe.moves})
        assert f"The box of menace has {total:,} beads." in page.text
        shared = len({move.state for move in probe.moves}) < len(probe.moves)
        assert ("share their beads" in page.text) == shared
        for move in probe.moves:
            assert page.cells[move.move][1].startswith(
                f"cell {move.move}: {label(move)} {beads[move.state]} beads, "
            )
        chances = [float(row[-1].rstrip("%")) for row in page.rows[1:]]
        assert [int(row[-2]) for row in page.rows[1:]] == [
            beads[move.state] for move in probe.moves
        ]
        assert sum(chances) == pytest.approx(100, abs=0.5)
    assert "has no box" in read("/-/explore/trained/X../.../...?agent=weary").text


def test_pages_say_what_browsers_may_do_and_name_no_other_host(get):
    for path, status in (
        (at("tictactoe", "XO./.X./..."), 200),
        ("/-/explore/hexapawn?from=7", 200),
        ("/-/explore/tictactoe/nonsense", 400),
    ):
        response = get(path, status)
        assert "default-src 'none'" in response.headers["content-security-policy"]
        html = response.text.replace("http://www.w3.org/2000/svg", "")
        assert "//" not in re.sub(r"/-/[^\"]*", "", html)
        page = Reader(response.text)
        tags = Counter(tag for tag, _ in page.tags)
        assert (tags["main"], tags["h1"], tags["html"]) == (1, 1, 1)
        assert dict(page.tags)["html"]["lang"] == "en"
        assert not [each for _, each in page.tags if "style" in each]
        assert not [name for _, each in page.tags for name in each if name.startswith("on")]
        ids = [each["id"] for _, each in page.tags if "id" in each]
        assert len(ids) == len(set(ids))
        for tag, each in page.tags:
            if tag in ("script", "link"):
                link = each.get("src") or each["href"]
                assert get(link).status_code == 200


def test_an_address_without_a_game_leads_to_the_list(get):
    for path in ("/-/explore", "/-/explore/"):
        assert get(path, 302).headers["location"] == "/"


def test_a_strategy_says_that_its_depths_are_bounds(tmp_path):
    prove(tmp_path / "ult.db")
    with closing(application([Store.open(tmp_path / "ult.db")])) as explorer:
        client = explorer.client
        page = Reader(asyncio.run(client.get("/-/explore/ult")).text)
        (first,) = page.moves.values()
        after = Reader(asyncio.run(client.get(first)).text)
        second = Reader(asyncio.run(client.get(next(iter(after.moves.values())))).text)
        turned = Reader(asyncio.run(client.get(second.tools()["r"], follow_redirects=True)).text)
    assert page.by_id["announcement"] == "X to move: X wins within 22 moves (at most 43 plies)."
    assert "depths are bounds" in page.text
    assert "remotenessat most 43 plies" in page.text.replace("\n", "")
    assert "mean result" not in page.text
    assert "best response" not in page.text
    assert turned.by_id["announcement"] == second.by_id["announcement"]
    assert turned.text != second.text


def test_a_book_says_where_it_ends_and_what_searches_beyond_it(tmp_path):
    book("connect(4,3,3)", tmp_path / "book.db", plies=4)
    with closing(application([Store.open(tmp_path / "book.db")])) as explorer:
        pages = {}
        for moves in ("2 1 2", "2 1 2 3", "2 1 2 3 1"):
            path = at("book", f"moves:{moves}")
            pages[moves] = asyncio.run(explorer.client.get(path, follow_redirects=True)).text
        home = asyncio.run(explorer.client.get("/")).text
        past = asyncio.run(explorer.client.get("/-/explore/book?moves=2,1,2,3,1")).text
    assert "The first 4 plies." in home
    assert "move 5, &#39;1&#39;, is not legal in" in past
    assert past.count("the book ends there") == 1
    ends, beyond = "This book ends here.", "is not in this book of first plies"
    assert [ends in page for page in pages.values()] == [False, True, False]
    assert [beyond in page for page in pages.values()] == [False, False, True]
    assert ["Play from here" in page for page in pages.values()] == [True, False, False]
    assert "mean result" not in pages["2 1 2"]


def test_pages_are_below_the_base_of_the_addresses(tictactoe_db):
    with closing(application([Store.open(tictactoe_db)])) as site:
        site._settings["base_url"] = "/games/"
        response = asyncio.run(site.client.get("/-/explore/tictactoe"))
    page = Reader(response.text)
    assert all(href.startswith("/games/-/explore/tictactoe/") for href in page.moves.values())


def test_marks_keep_their_colours_in_a_game_whose_positions_do_not_say_who_moves(read, get):
    played = []
    for move in "40821763":
        played.append(move)
        there = get(f"/-/explore/vanishing?moves={','.join(played)}", 302)
        page = read(there.headers["location"])
        marks = dict(re.findall(r"cell (\d): ([XO])", " ".join(page.labels)))
        for number, cell in list(enumerate(played))[-6:]:
            assert marks[cell] == "XO"[number % 2]


class Row(PlainGame):
    """A row of four cells, which is the same from both ends; two neighbours win."""

    def start(self):
        return "../.."

    def moves(self, row):
        return [cell for cell, mark in enumerate(row) if mark == "."]

    def play(self, row, cell):
        return row[:cell] + "x" + row[cell + 1 :]

    def outcome(self, row):
        return None if "." in row else 0

    def symmetries(self, row):
        return [row[::-1]]


class Undrawn(Row):
    """Its picture cannot be drawn."""

    def picture(self, row):
        raise ZeroDivisionError


def test_without_rules_and_with_rules_that_fail_to_draw_every_link_leads_to_a_page(tmp_path):
    build(Row(), tmp_path / "row.db")
    build(Undrawn(), tmp_path / "undrawn.db")
    train(tmp_path / "row.db", "menace", games=1)
    with closing(sqlite3.connect(tmp_path / "row.db")) as connection, connection:
        connection.execute("UPDATE agent SET name = '<b>'")
    stores = [Store.open(tmp_path / "row.db")]
    stores += [Store.open(tmp_path / "undrawn.db", rules=Undrawn())]
    with closing(application(stores)) as explorer:
        seen, left = set(), ["/", "/-/explore/row", "/-/explore/undrawn"]
        while left and len(seen) < 60:
            path = left.pop(0)
            if path not in seen:
                seen.add(path)
                response = asyncio.run(explorer.client.get(path))
                assert response.status_code in (200, 302), path
                hrefs = re.findall(r'href="(/-/explore/[^"]*)"', response.text)
                left += [html.unescape(each) for each in hrefs if "view=svg" not in each]
    assert any("to=" in path for path in seen)
