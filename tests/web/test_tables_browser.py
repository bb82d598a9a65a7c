"""The pages of tables and of SQL in a real browser: accessible, narrow, by keyboard, completed."""

import os
import sys
from pathlib import Path
from urllib.parse import urlencode

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

SQL = {
    "answered": "SELECT position, ply, score, board(id) AS b FROM state -- x\nWHERE ply = :p",
    "wrong": "SELECT nothing",
    "refused": "DROP TABLE state",
}
PAGES = [
    "tictactoe",
    "tictactoe/state?_size=9",
    "tictactoe/state?_facet=ply&_facet=value&value=1&_size=9",
    "tictactoe/state?ply=99",
    "tictactoe/state/514",
    "tictactoe/q_table?optimal=1&_sort_desc=random&_size=9",
    "tictactoe/edge?_size=9",
    "nim/edge?_size=9",
    "tictactoe/census",
    "tictactoe/game",
    "tictactoe/agent",
    "tictactoe/matchbox?_size=9",
    "tictactoe/openings",
    "tictactoe/moves",
    "tictactoe/position?position=XXX/XXX/...",
    "tictactoe/only_moves?value=1&ply=1",
    "tictactoe/remoteness",
    "tictactoe/blunders?agent=nobody",
    *(f"tictactoe?{urlencode({'sql': sql, 'p': 2})}" for sql in SQL.values()),
    "nothing",
]
EVERY_RULE = """
const rules = axe.getRules().filter((rule) => rule.ruleId !== "color-contrast-enhanced");
axe.run({rules: Object.fromEntries(rules.map((rule) => [rule.ruleId, {enabled: true}]))})
  .then((found) => arguments[0](found.violations.map((each) => [each.id, each.nodes[0].html])));
"""
OPEN_ALL = "document.querySelectorAll('details').forEach((each) => { each.open = true; });"


@pytest.fixture(scope="module")
def address(tictactoe_db, tmp_path_factory):
    """The address of a server of tic-tac-toe with an agent, and of nim."""
    assert chromium_there(), "GRAPHSTORE_CHROMIUM is required, and chromium is not installed"
    folder = tmp_path_factory.mktemp("served")
    (folder / "tictactoe.db").write_bytes(tictactoe_db.read_bytes())
    train(folder / "tictactoe.db", "menace", games=100, seed=1)
    build("nim(3,4,5)", folder / "nim.db")
    with served(sorted(folder.iterdir())) as address:
        yield address


@pytest.fixture(scope="module")
def driver(address):
    with browser() as driver:
        yield driver


@SLOW
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_no_fault_in_any_page(driver, address, width, scheme):
    seen_as(driver, width, 844, scheme)
    axe = pytest.importorskip("axe_core_python")
    source = Path(axe.__file__).with_name("axe.min.js").read_text()
    for page in PAGES:
        driver.get(f"{address}/{page}")
        driver.execute_script(OPEN_ALL)
        driver.execute_script(source)
        assert driver.execute_async_script(EVERY_RULE) == [], page


@pytest.mark.parametrize("width", some_of([320, 640], 2))
def test_pages_fit_narrow_windows_and_large_text(driver, address, width):
    """A window of 1,280 pixels at 200 % has 640."""
    seen_as(driver, width, 640, "light")
    for page in PAGES:
        driver.get(f"{address}/{page}")
        driver.execute_script(OPEN_ALL)
        wide = driver.execute_script("return document.scrollingElement.scrollWidth - innerWidth")
        assert wide <= 0, page


def test_a_hundred_rows_on_a_phone_are_cards(driver, address):
    """They were 81,595 pixels high."""
    seen_as(driver, 390, 844, "light")
    for table in ("state", "edge", "q_table"):
        driver.get(f"{address}/tictactoe/{table}")
        assert driver.execute_script("return document.scrollingElement.scrollHeight") < 20_000
        (first, *_) = driver.find_elements(By.CSS_SELECTOR, "tbody tr")
        boards = first.find_elements(By.CSS_SELECTOR, "svg")
        others = first.find_elements(By.CSS_SELECTOR, "td:not(:has(svg)):not(.gs-none)")
        shown = [each for each in others if each.is_displayed()]
        assert shown[0].rect["x"] > boards[-1].rect["x"]
        assert shown[0].rect["y"] < boards[0].rect["y"] + boards[0].rect["height"]


def typed(driver, *keys):
    ActionChains(driver, duration=0).send_keys(*keys).perform()


def comes(driver, part):
    """Wait until a page with a part of an address is loaded."""
    loaded = "return document.readyState === 'complete' && location.href"
    WebDriverWait(driver, 10, 0.02).until(lambda _: part in str(driver.execute_script(loaded)))


def with_held(driver, modifier, key):
    ActionChains(driver, duration=0).key_down(modifier).send_keys(key).key_up(modifier).perform()


def into_the_empty_editor(driver):
    driver.execute_script(
        "const editor = document.querySelector('.CodeMirror').CodeMirror;"
        "editor.setValue(''); editor.focus()"
    )


def statement(driver):
    return driver.execute_script(
        "return document.querySelector('.CodeMirror').CodeMirror.getValue()"
    )


def test_names_are_completed_by_keys_and_by_the_mouse(driver, address):
    seen_as(driver, 1280, 800, "light")
    driver.get(f"{address}/tictactoe")
    into_the_empty_editor(driver)
    typed(
        driver, "select rem", Keys.TAB, ", q_table.be", Keys.ENTER, " from sta", Keys.DOWN, Keys.UP
    )
    names = [each.text for each in driver.find_elements(By.CSS_SELECTOR, ".gs-complete li")]
    assert names == ["stages", "start", "starts", "state", "states"]
    driver.find_element(By.XPATH, "//li[text()='state']").click()
    assert statement(driver) == "select remoteness, q_table.best_response from state"
    typed(driver, " xyz", Keys.ESCAPE, " p")
    with_held(driver, Keys.CONTROL, Keys.SPACE)
    names = [each.text for each in driver.find_elements(By.CSS_SELECTOR, ".gs-complete li")]
    assert names == ["parent", "played", "plies", "ply", "position", "positions"]
    typed(driver, Keys.ESCAPE)
    assert not driver.find_elements(By.CSS_SELECTOR, ".gs-complete")
    typed(driver, Keys.TAB)  # leaves the editor
    assert driver.switch_to.active_element.get_attribute("value") == "Run SQL"


def test_a_statement_is_run_by_keys_and_its_command_line_copied(driver, address):
    driver.get(f"{address}/tictactoe")
    into_the_empty_editor(driver)
    typed(driver, "select x")
    with_held(driver, Keys.SHIFT, Keys.ENTER)
    comes(driver, "?sql=select+x")
    assert "no such column: x" in driver.find_element(By.CSS_SELECTOR, ".message-error").text
    assert statement(driver) == "select x"
    driver.find_element(By.CSS_SELECTOR, "[data-copy]").click()
    selected = driver.execute_script("return getSelection().toString()")
    assert selected == 'graphstore sql tictactoe.db "select x"'


def test_sql_and_questions_work_without_a_script(driver, address):
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        driver.get(f"{address}/tictactoe")
        field = driver.find_element(By.ID, "sql-editor")
        field.clear()
        field.send_keys("select 7 * 6 as n")
        driver.find_element(By.CSS_SELECTOR, ".sql [type=submit]").click()
        comes(driver, "?sql=select+7")
        assert driver.find_element(By.CSS_SELECTOR, "td").text == "42"
        driver.get(f"{address}/tictactoe/only_moves")
        driver.find_element(By.CSS_SELECTOR, "[name=ply] option:nth-child(4)").click()
        driver.find_element(By.CSS_SELECTOR, ".gs-asked [type=submit]").click()
        comes(driver, "ply=2")
        plies = driver.find_elements(By.CSS_SELECTOR, "td[data-label=ply]")
        assert {each.text for each in plies} == {"2"}
    finally:
        driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
