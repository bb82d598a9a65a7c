"""A game of each family in Firefox."""

import os
import sys

import pytest
from conftest import SCRIPTS, SLOW

from graphstore import build

sys.path.append(str(SCRIPTS / "checks"))

from firefox import firefox, firefox_there
from shared import served

pytestmark = pytest.mark.skipif(
    not firefox_there() and os.environ.get("GRAPHSTORE_FIREFOX") != "required",
    reason="firefox-esr is not installed",
)

GAMES = {
    "tictactoe": "tictactoe",
    "row": "mnk(3,3,3)",
    "connect": "connect(3,3,3)",
    "hexapawn": "hexapawn(3,3)",
    "morris": "morris(orthogonal)",
    "nim": "nim(3,4,5)",
    "take": "subtraction(9,1,2)",
    "vanishing": "vanishing",
    "ultimate": "ultimate(open)",
}
LATE = "X O X = = O O X XXOO..... any X"  # a position of ultimate tic-tac-toe, near its end
LONGEST = 60  # moves of a game against a random player
MOVE, CELL = "a[data-move]", "[data-cell]"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The address of a server of a game of each family."""
    assert firefox_there(), "GRAPHSTORE_FIREFOX is required, and firefox-esr is not installed"
    folder = tmp_path_factory.mktemp("firefox")
    for name, game in GAMES.items():
        below = [LATE] if name == "ultimate" else None
        build(game, folder / f"{name}.db", below=below)
    with served(sorted(folder.iterdir())) as address:
        yield address


@pytest.fixture(scope="module")
def browser(address):
    with firefox() as browser:
        yield browser


def shows(browser, selector):
    return browser.script(f"return document.querySelectorAll({selector!r}).length")


@SLOW
@pytest.mark.parametrize("name", GAMES)
def test_a_game_is_played_by_clicks_on_the_board_and_on_moves(browser, address, name):
    browser.open(f"{address}/-/explore/{name}?against=random&as=1")
    if shows(browser, CELL):
        browser.click(CELL)
        if "from=" in browser.script("return location.search"):  # a piece, and then where it goes
            piece = browser.script("return new URLSearchParams(location.search).get('from')")
            browser.click(f'{CELL}:not([data-cell="{piece}"])')
    for _ in range(LONGEST):
        if not shows(browser, MOVE):
            break
        browser.click(MOVE)  # the best one
    said = browser.script("return document.getElementById('announcement').textContent")
    assert "The game is over: " in said
    assert shows(browser, CELL) == 0
