"""The explorer in a real browser: clicks, keys, history, narrow screens, dark mode."""

import os
import re
import sys

import pytest
from conftest import SCRIPTS, SLOW, some_of

from graphstore import build, train

sys.path.append(str(SCRIPTS / "checks"))

from screenshots import browser, chromium_there, seen_as
from shared import served

pytest.importorskip("selenium")

from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

pytestmark = pytest.mark.skipif(
    not chromium_there() and os.environ.get("GRAPHSTORE_CHROMIUM") != "required",
    reason="chromium and chromedriver are not installed",
)

CONTRAST = """
const luminance = (colour) => {
  const parts = colour.match(/[0-9.]+/g).slice(0, 3).map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
};
const clear = (colour) => colour === "transparent" || /^rgba.*, 0\\)$/.test(colour);
const found = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  const words = walker.currentNode.textContent.trim();
  if (!words || element.closest("svg, :disabled, option") || !element.checkVisibility()) continue;
  let behind = element;
  while (behind && clear(getComputedStyle(behind).backgroundColor)) behind = behind.parentElement;
  const back = luminance(behind ? getComputedStyle(behind).backgroundColor : "rgb(255,255,255)");
  const front = luminance(getComputedStyle(element).color);
  const ratio = (Math.max(back, front) + 0.05) / (Math.min(back, front) + 0.05);
  found.push([ratio, words]);
}
return found;
"""


class Visitor:
    """A user at the browser.

    One script reads what a page says: another page may come between two requests to the browser.

    Attributes:
        driver: the browser.
        address: the URL of the server.
    """

    def __init__(self, driver, address):
        self.driver = driver
        self.address = address

    def open(self, path):
        """Type an address."""
        self.driver.get(f"{self.address}/-/explore/{path}")

    @property
    def path(self):
        """The address in the address bar, after that of the explorer, without the game."""
        path = self.driver.current_url.removeprefix(f"{self.address}/-/explore/")
        return re.sub("[?&](start|moves|at)=[^&]*", "", path)

    @property
    def moves(self):
        """The moves of the game, as the page lists them."""
        return self.script(
            "return Array.from(document.querySelectorAll('.gs-story b'), (each) => each.innerText)"
        )

    def text(self, name):
        """Return the text of the element with an id."""
        return self.script(f"return document.getElementById('{name}').innerText")

    @property
    def said(self):
        """The announcement of the page."""
        return self.text("announcement")

    def cell(self, number):
        """Return the link on a cell."""
        return self.driver.find_element(By.CSS_SELECTOR, f'[data-cell="{number}"]')

    @property
    def free(self):
        """The numbers of the cells that are links."""
        return self.script(
            "return Array.from(document.querySelectorAll('[data-cell]'), (it) => +it.dataset.cell)"
        )

    @property
    def undo(self):
        """The link that takes a move back."""
        return self.driver.find_element(By.ID, "gs-undo")

    @property
    def can_undo(self):
        """True if there is a move to take back."""
        return self.script("return document.getElementById('gs-undo').hasAttribute('href')")

    def focused(self):
        """Return the id of the focused element, or its cell, its key or its tag."""
        return self.script(
            "const it = document.activeElement;"
            "return it.id || it.dataset.cell || it.dataset.key || it.tagName"
        )

    def script(self, source):
        """Return the result of a script."""
        return self.driver.execute_script(source)

    def leaves(self, act):
        """Do something that shows another page, and wait for it."""
        self.script("document.querySelector('main').old = true")
        act()
        self.until("!document.querySelector('main')?.old")

    def comes(self, path):
        """Wait until a page is shown."""
        WebDriverWait(self.driver, 10, poll_frequency=0.02).until(lambda _: self.path == path)
        self.until("true")

    def until(self, condition):
        """Wait until a page is shown and a condition of it is true."""
        done = f"return document.readyState === 'complete' && {condition}"
        WebDriverWait(self.driver, 10, poll_frequency=0.02).until(lambda _: self.script(done))

    def press(self, *keys):
        """Press keys, one after the other."""
        ActionChains(self.driver, duration=0).send_keys(*keys).perform()

    def goes(self, *keys):
        """Press keys that open another page, and wait for it."""
        self.leaves(lambda: self.press(*keys))

    def click(self, element):
        """Click on an element that opens another page, and wait for it."""
        self.leaves(element.click)

    def click_cell(self, number):
        """Click on a cell of a page that may be replaced between two requests to the browser."""
        event = "new MouseEvent('click', {bubbles: true, cancelable: true})"
        cell = f"document.querySelector('[data-cell=\"{number}\"]')"
        self.leaves(lambda: self.script(f"{cell}.dispatchEvent({event})"))


@pytest.fixture(scope="module")
def address(tictactoe_db, tmp_path_factory):
    """The address of a server of some games."""
    assert chromium_there(), "GRAPHSTORE_CHROMIUM is required, and chromium is not installed"
    folder = tmp_path_factory.mktemp("served")
    (folder / "trained.db").write_bytes(tictactoe_db.read_bytes())
    train(folder / "trained.db", "menace", games=100, seed=1)
    train(folder / "trained.db", "first", games=10, side=1, against="random", seed=1)
    for name, game in (
        ("connect", "connect(3,3,3)"),
        ("nim", "nim(3,4,5)"),
        ("hexapawn", "hexapawn(3,3)"),
        ("dots", "mnk(2,2,2)"),
    ):
        build(game, folder / f"{name}.db")
    files = [tictactoe_db, *sorted(folder.iterdir()), "connect(5,4)", "connect(7,6)"]
    with served(files) as address:
        yield address


@pytest.fixture(scope="module")
def driver(address):
    """One browser for all tests."""
    with browser() as driver:
        yield driver


@pytest.fixture
def visitor(driver, address):
    """A user in a new tab without history; nothing may be logged or loaded from other hosts."""
    driver.switch_to.new_window("tab")
    seen_as(driver, 1120, 800, "light")
    driver.get_log("browser")
    visitor = Visitor(driver, address)
    yield visitor
    names = visitor.script("return performance.getEntriesByType('resource').map((e) => e.name)")
    assert [name for name in names if not name.startswith(f"{address}/")] == []
    logged = [each["message"] for each in driver.get_log("browser")]
    assert [line for line in logged if "status of 400" not in line] == []
    for handle in driver.window_handles[1:]:
        driver.switch_to.window(handle)
        driver.close()
    driver.switch_to.window(driver.window_handles[0])


def test_a_whole_game_is_played_by_clicks_and_the_perfect_player_does_not_lose(visitor):
    visitor.open("tictactoe?against=perfect&as=1&hide=1")
    moves = 0
    while visitor.free:
        visitor.click(visitor.cell(visitor.free[-1]))
        moves += 1
        assert visitor.focused() == "announcement"
    assert moves >= 3
    assert "The game is over: " in visitor.said
    assert "you have won" not in visitor.said
    assert "Play again" in visitor.script("return document.body.innerText")
    for _ in range(moves):  # a move and its reply are one step of the history
        assert visitor.can_undo
        visitor.click(visitor.undo)
    assert not visitor.can_undo
    assert len(visitor.free) == 9


@SLOW
def test_playing_begins_with_the_form_and_the_opponent_may_begin(visitor):
    visitor.open("tictactoe")
    form = visitor.driver.find_element(By.CSS_SELECTOR, ".gs-play form")
    form.find_element(By.CSS_SELECTOR, "[name=as] option:nth-child(2)").click()
    visitor.click(form.find_element(By.TAG_NAME, "button"))
    assert visitor.said.startswith("The perfect player played ")
    assert visitor.said.endswith("Your turn as O.")
    assert len(visitor.free) == 8
    assert not visitor.can_undo
    visitor.leaves(visitor.driver.back)
    assert visitor.path == "tictactoe"


def test_values_of_a_game_without_a_file_appear_when_they_are_found(visitor):
    """The first page takes minutes, the second a second or so; a click leaves them before."""
    visitor.open("connect-7-6")
    assert "not known yet" in visitor.said
    visitor.click_cell(38)
    visitor.open("connect-5-4")
    visitor.click_cell(17)
    visitor.click_cell(12)
    board = "...../..O../..X.."
    assert visitor.path.endswith(board)
    visitor.script("document.querySelector('[data-cell=\"7\"]').focus()")
    visitor.until("!document.querySelector('#gs-more a')")  # all are known
    assert visitor.said == "X to move: drawn, 18 plies to the end."
    label = "document.querySelector('[data-cell=\"7\"]').getAttribute('aria-label')"
    assert visitor.script(f"return {label}") == "cell 7: 3: D, draw"
    assert visitor.focused() == "7"
    assert visitor.path.endswith(board)  # so Back leads to the position before
    visitor.leaves(visitor.driver.back)
    assert visitor.path.endswith("...../..X..")
    visitor.until("!document.querySelector('#gs-more a')")
    assert visitor.said.startswith("O to move: drawn")


@SLOW
def test_undo_and_the_back_button_agree_also_after_flips_and_never_leave_the_explorer(visitor):
    visitor.open("tictactoe")
    assert not visitor.can_undo
    visitor.click(visitor.cell(0))
    visitor.click(visitor.cell(1))
    visitor.goes("f")
    assert visitor.path == "tictactoe/.OX/.../..."
    visitor.goes("r")
    assert visitor.path == "tictactoe/.../..O/..X"
    assert visitor.focused() == "r"
    assert visitor.moves == ["8", "5"]
    visitor.click(visitor.undo)
    assert visitor.path == "tictactoe/.../.../..X"
    visitor.leaves(visitor.driver.back)
    assert visitor.path == "tictactoe/.../..O/..X"
    visitor.leaves(visitor.driver.back)  # a flip is not a step
    assert visitor.path == "tictactoe/X../.../..."
    visitor.goes("u")
    assert visitor.path == "tictactoe/.../.../..."
    assert not visitor.can_undo
    visitor.press("u")
    assert visitor.text("gs-typed-move") == "there is nothing to undo"
    visitor.leaves(visitor.driver.back)
    visitor.leaves(visitor.driver.refresh)
    assert visitor.can_undo
    visitor.open("nim")  # an address that was typed has nothing before it to undo
    assert not visitor.can_undo
    visitor.press("u")
    assert visitor.path == "nim"


@SLOW
def test_an_address_is_shared_with_another_window(visitor):
    visitor.open("tictactoe")
    for cell in (4, 0, 8):
        visitor.click(visitor.cell(cell))
    shared, said = visitor.driver.current_url, visitor.said
    visitor.driver.switch_to.new_window("window")
    visitor.driver.get(shared)
    assert (visitor.path, visitor.said) == ("tictactoe/O../.X./..X", said)
    assert visitor.moves == ["4", "0", "8"]
    assert visitor.can_undo


@SLOW
def test_dots_in_an_address_survive_the_browser(visitor):
    visitor.open("dots")
    visitor.click(visitor.cell(0))
    assert visitor.path == "dots/X./~2E~2E"
    visitor.click(visitor.driver.find_element(By.CSS_SELECTOR, ".gs-tile"))
    assert visitor.said.startswith("Over" if not visitor.free else "X to move")


def test_wrong_input_gets_a_reason_and_the_field_again(visitor):
    visitor.open("tictactoe")
    field = visitor.driver.find_element(By.ID, "gs-typed")
    field.send_keys("XXX......")
    visitor.leaves(lambda: field.send_keys(Keys.ENTER))
    assert "are impossible: X begins" in visitor.text("why")
    field = visitor.driver.find_element(By.ID, "gs-typed")
    assert field.get_attribute("value") == "XXX......"
    field.clear()
    field.send_keys("xo--x----")
    visitor.leaves(lambda: field.send_keys(Keys.ENTER))
    assert visitor.path == "tictactoe/XO./.X./..."
    assert visitor.said == "O to move: X wins in 2 moves (4 plies)."


@SLOW
@pytest.mark.parametrize("page", ["tictactoe", "tictactoe/wrong"])
def test_a_pasted_board_of_several_lines_is_read(visitor, page):
    visitor.open(page)
    field = visitor.driver.find_element(By.ID, "gs-typed")
    field.clear()
    for line in ("x|o|", "-+-+-", "|x|", "-+-+-"):
        field.send_keys(line, Keys.SHIFT, Keys.ENTER, Keys.NULL)
    field.send_keys("||")
    visitor.leaves(lambda: field.send_keys(Keys.ENTER))
    assert visitor.path == "tictactoe/XO./.X./..."


@SLOW
@pytest.mark.parametrize("arrow", [Keys.ARROW_UP, Keys.ARROW_DOWN, Keys.ARROW_LEFT])
def test_any_arrow_enters_the_board(visitor, arrow):
    visitor.open("tictactoe")
    visitor.press(arrow)
    assert visitor.focused() == "0"


@SLOW
def test_the_form_takes_the_player_that_an_agent_of_one_side_leaves(visitor):
    visitor.open("trained")
    form = visitor.driver.find_element(By.CSS_SELECTOR, ".gs-play form")
    form.find_element(By.CSS_SELECTOR, "[value=first]").click()
    visitor.click(form.find_element(By.TAG_NAME, "button"))
    assert visitor.said.startswith("first played ")
    assert visitor.said.endswith("Your turn as O.")


@SLOW
def test_a_game_is_played_by_keys(visitor):
    visitor.open("tictactoe")
    visitor.press(Keys.ARROW_RIGHT)
    assert visitor.focused() == "0"
    visitor.press(Keys.ARROW_RIGHT, Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_UP)
    assert visitor.focused() == "4"
    visitor.goes(Keys.ENTER)
    assert visitor.path == "tictactoe/.../.X./..."
    assert visitor.focused() == "announcement"
    visitor.goes("0")
    assert visitor.path == "tictactoe/O../.X./..."
    visitor.press("4")
    assert visitor.text("gs-typed-move") == "4 is not a move here"
    visitor.goes("h")
    assert visitor.path == "tictactoe/O../.X./...?hide=1"
    assert visitor.said == "X to move."
    visitor.press("u")  # and values stay hidden
    visitor.comes("tictactoe/.../.X./...?hide=1")
    visitor.goes("h")
    visitor.press("u")
    visitor.comes("tictactoe/.../.../...")
    visitor.press("f")
    assert visitor.text("gs-typed-move").startswith("this board does not change")
    visitor.press("?")
    assert visitor.driver.find_element(By.ID, "gs-keys").is_displayed()


@SLOW
def test_a_move_of_many_characters_is_typed_by_its_name(visitor):
    visitor.open("nim")
    visitor.press("2")
    assert visitor.text("gs-typed-move") == "move 2…"
    visitor.goes("-", "3")
    assert visitor.path == "nim/3,1,5"


@SLOW
def test_keys_do_nothing_in_a_field_or_with_a_modifier(visitor):
    visitor.open("tictactoe/XO./.X./...")
    ActionChains(visitor.driver).key_down(Keys.ALT).send_keys("f").key_up(Keys.ALT).perform()
    field = visitor.driver.find_element(By.ID, "gs-typed")
    field.send_keys("ufrh?8")
    assert field.get_attribute("value") == "ufrh?8"
    assert visitor.path == "tictactoe/XO./.X./..."
    assert not visitor.driver.find_element(By.ID, "gs-keys").is_displayed()


def test_a_piece_is_moved_by_two_clicks(visitor):
    visitor.open("hexapawn")
    visitor.click(visitor.cell(7))
    assert visitor.free == [4, 7]
    assert visitor.said == "W at 7 chosen: where to?"
    assert visitor.focused() == "announcement"
    visitor.click(visitor.cell(7))
    visitor.click(visitor.cell(7))
    visitor.click(visitor.cell(4))
    assert visitor.path == "hexapawn/BBB/.W./W.W%20B"
    visitor.press("u")  # choosing a piece is not a step
    visitor.comes("hexapawn/BBB/.../WWW%20W")
    assert visitor.free == [6, 7, 8]
    assert not visitor.can_undo


def test_a_page_works_without_its_script(visitor):
    visitor.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        visitor.open("tictactoe?against=perfect&as=1")
        visitor.cell(4).click()
        WebDriverWait(visitor.driver, 10, 0.02).until(lambda _: len(visitor.free) == 7)
        assert "Your turn as X" in visitor.said
        visitor.undo.click()
        WebDriverWait(visitor.driver, 10, 0.02).until(lambda _: len(visitor.free) == 9)
    finally:
        visitor.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


PAGES = [
    "tictactoe",
    "tictactoe/XO./.X./...",
    "tictactoe/XXX/OO./...",
    "trained/X../.O./...?against=menace&as=1",
    "hexapawn?from=7",
    "nim",
    "tictactoe/wrong",
    "nothing",
]


@pytest.mark.parametrize("scheme", some_of(["light", "dark"], 2))
def test_pages_fit_a_phone_and_are_legible_in_both_schemes(visitor, scheme):
    seen_as(visitor.driver, 360, 740, scheme)
    for path in PAGES:
        visitor.open(path)
        wide = "return document.scrollingElement.scrollWidth - innerWidth"
        assert visitor.script(wide) <= 0, path
        ratios = visitor.script(CONTRAST)
        assert len(ratios) > 3
        assert [words for ratio, words in ratios if ratio < 4.5] == [], path
        (back,) = visitor.script("return [getComputedStyle(document.body).backgroundColor]")
        assert (sum(map(int, back[4:-1].split(","))) < 3 * 64) == (scheme == "dark")
    visitor.driver.get_log("browser")  # missing pages are logged as errors


def test_a_row_of_the_list_and_its_cell_light_up_together(visitor):
    visitor.open("tictactoe/XO./.X./...")
    lit = (
        "const all = [...document.querySelectorAll('.gs-lit')];"
        "return all.map((each) => each.dataset.at ?? each.dataset.cell)"
    )
    row = visitor.driver.find_element(By.CSS_SELECTOR, 'tr[data-at="5"]')
    for element in (row, visitor.cell(5), visitor.cell(8)):
        ActionChains(visitor.driver, duration=0).move_to_element(element).perform()
        at = element.get_attribute("data-at") or element.get_attribute("data-cell")
        assert visitor.script(lit) == [at, at]


@pytest.mark.parametrize(("width", "height"), [(640, 360), (360, 640), (320, 480), (1280, 800)])
def test_a_board_fits_the_window_and_stays_in_place_from_move_to_move(visitor, width, height):
    seen_as(visitor.driver, width, height, "light")
    for paths in (
        ("tictactoe/XO./.X./...", "tictactoe/XOO/.X./...?hide=1", "tictactoe/XOO/XXO/XOX"),
        ("connect/.../.../X..", "connect/.../O../X..?hide=1"),
        ("hexapawn", "hexapawn?from=7"),
        ("nim/3,4,5", "nim/0,0,1?hide=1"),
    ):
        boxes = []
        for path in paths:
            visitor.open(path)
            boxes.append(
                visitor.script(
                    "const box = document.querySelector('.gs-large svg').getBoundingClientRect();"
                    "return [box.left, box.top, box.width, box.height]"
                )
            )
        assert boxes == boxes[:1] * len(boxes)
        left, _, wide, high = boxes[0]
        assert left >= 0
        assert left + wide <= width
        assert high <= height


def test_a_click_anywhere_in_a_column_plays_it(visitor):
    visitor.open("connect/.../O../X..?hide=1")
    stone = visitor.driver.find_element(By.CSS_SELECTOR, '.gs-large [aria-label="cell 6: X"]')
    visitor.leaves(
        lambda: ActionChains(visitor.driver, duration=0).move_to_element(stone).click().perform()
    )
    assert visitor.path == "connect/X../O../X..?hide=1"


def test_moves_keep_the_page_its_scroll_and_the_place_of_the_board(visitor):
    seen_as(visitor.driver, 360, 640, "light")
    visitor.open("tictactoe")
    visitor.script("window.kept = 1; scrollTo(0, 40)")
    place = "return document.querySelector('.gs-large').getBoundingClientRect().top + scrollY"
    before = visitor.script(place)
    for cell in (4, 0, 8):
        visitor.click(visitor.cell(cell))
        assert visitor.script("return [window.kept, scrollY]") == [1, 40]
        assert visitor.script(place) == before


def test_of_fast_clicks_and_keys_the_first_one_is_played(visitor):
    clicks = """
    for (const cell of arguments) {
      document.querySelector(`[data-cell="${cell}"]`).dispatchEvent(
        new MouseEvent("click", { bubbles: true, cancelable: true }));
    }
    """
    visitor.open("tictactoe")
    visitor.leaves(lambda: visitor.driver.execute_script(clicks, 4, 0, 8))
    assert visitor.moves == ["4"]
    visitor.leaves(lambda: visitor.press("0", "8"))
    assert visitor.moves[:2] == ["4", "0"]
    visitor.open("nim")  # a double click is one move, though its row is then another move's
    first = visitor.driver.find_element(By.CSS_SELECTOR, "a[data-move]")
    visitor.leaves(lambda: ActionChains(visitor.driver).double_click(first).perform())
    assert len(visitor.moves) == 1


def test_a_game_is_walked_through_by_keys_and_by_its_list(visitor):
    visitor.open("tictactoe?moves=4,1,0")
    visitor.goes(",")
    visitor.goes(",")
    assert visitor.path == "tictactoe/.../.X./..."
    assert visitor.moves == ["4", "1", "0"]
    visitor.goes(".")
    assert visitor.path == "tictactoe/.O./.X./..."
    assert visitor.focused() == "."
    visitor.click(visitor.driver.find_elements(By.CSS_SELECTOR, ".gs-story a")[2])
    while visitor.free:
        visitor.goes(".")  # best play
    assert visitor.said == "Over: X has won."
    assert visitor.moves[:3] == ["4", "1", "0"]
    assert len(visitor.moves) == 7


def test_arrow_keys_act_from_anywhere_and_remember_the_cell(visitor):
    visitor.open("tictactoe")
    visitor.driver.find_element(By.CSS_SELECTOR, "a[data-move]").send_keys(Keys.ARROW_DOWN)
    assert visitor.focused() == "0"
    visitor.press(Keys.ARROW_RIGHT, Keys.ARROW_DOWN)
    visitor.goes(Keys.ENTER)
    visitor.press(Keys.ARROW_RIGHT)
    assert visitor.focused() in ("1", "3", "5", "7")  # beside the cell just played
    field = visitor.driver.find_element(By.ID, "gs-typed")
    field.send_keys("xo", Keys.ARROW_LEFT)
    assert visitor.focused() == "gs-typed"


def test_a_position_is_set_up_by_clicks(visitor):
    visitor.open("hexapawn")
    visitor.click(visitor.driver.find_element(By.LINK_TEXT, "Set up a position"))
    visitor.click(visitor.driver.find_element(By.LINK_TEXT, "Clear"))
    assert visitor.said.startswith("Not a position yet: ")
    for cell, clicks in ((0, 1), (7, 2), (6, 2)):  # from empty to B, then to W
        for _ in range(clicks):
            visitor.click(visitor.cell(cell))
    visitor.click(visitor.driver.find_elements(By.CSS_SELECTOR, ".gs-tools .gs-button")[1])
    assert visitor.path == "hexapawn/B../.../WW.%20B?view=setup"
    visitor.leaves(visitor.driver.back)
    assert visitor.path == "hexapawn"


def test_a_position_its_address_and_its_pictures_are_copied(visitor):
    grant = {
        "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"],
        "origin": visitor.address,
    }
    visitor.driver.execute_cdp_cmd("Browser.grantPermissions", grant)
    visitor.open("tictactoe?moves=4,0")
    kinds = []
    for button in visitor.driver.find_elements(By.CSS_SELECTOR, ".gs-share button"):
        visitor.script("document.getElementById('gs-typed-move').textContent = ''")
        button.click()
        WebDriverWait(visitor.driver, 10, 0.02).until(lambda _: visitor.text("gs-typed-move"))
        assert visitor.text("gs-typed-move") == "copied"
        kinds.append(
            visitor.driver.execute_async_script(
                "const done = arguments[0]; navigator.clipboard.read().then(async ([item]) => {"
                "const type = item.types.at(-1); const blob = await item.getType(type);"
                "done(type === 'image/png' ? type + blob.size : await blob.text()) }, done)"
            )
        )
    position, address, svg, png = kinds
    assert (position, address) == ("O../.X./...", visitor.driver.current_url)
    assert svg.startswith("<svg ")
    assert int(png.removeprefix("image/png")) > 1000
