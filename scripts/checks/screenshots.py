"""Take the pictures of the explorer that the documents show, in a real browser.

Tic-tac-toe is built and an agent trained in a temporary folder; Chromium opens the pages.
"""

import argparse
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from shared import run_main, served

from graphstore import GraphstoreError, build, train

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

COLOURS = 128  # of a picture; the pages have few, and files stay small
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)


class Picture(NamedTuple):
    """A picture to take: its page, its size in pixels, and the colour scheme."""

    name: str
    path: str
    width: int
    height: int
    scheme: str


PICTURES = (
    Picture("explorer", "tictactoe/.O./O.X/.X.", 1120, 800, "light"),
    Picture("explorer-dark", "tictactoe/.O./O.X/.X.", 1120, 800, "dark"),
    Picture("explorer-phone", "tictactoe/.O./O.X/.X.", 360, 720, "light"),
    Picture("explorer-menace", "tictactoe/X../.O./...?against=menace&as=1", 1120, 800, "light"),
)


def chromium_there() -> bool:
    """Return whether Chromium and its driver are installed."""
    return shutil.which("chromium") is not None and shutil.which("chromedriver") is not None


@contextmanager
def browser() -> Iterator["Chrome"]:
    """Yield a browser without a window, with a new, empty profile."""
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    options = ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for flag in (*FLAGS, f"--user-data-dir={profile}", "--window-size=1120,800"):
            options.add_argument(flag)
        driver = Chrome(options=options, service=Service(shutil.which("chromedriver")))
        try:
            yield driver
        finally:
            driver.quit()


def seen_as(driver: "Chrome", width: int, height: int, scheme: str) -> None:
    """Set the size of the page in pixels, and the colour scheme of the system."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)


def take(driver: "Chrome", address: str, picture: Picture) -> bytes:
    """Return a picture of a page, as a PNG of few colours."""
    from PIL import Image

    seen_as(driver, picture.width, picture.height, picture.scheme)
    driver.get(f"{address}/-/explore/{picture.path}")
    with Image.open(BytesIO(driver.get_screenshot_as_png())) as full:
        few = full.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    data = BytesIO()
    few.save(data, "PNG", optimize=True)
    return data.getvalue()


def main() -> None:
    """Take the pictures, and print where they are."""
    parser = argparse.ArgumentParser(description=__doc__)
    here = Path(__file__).parents[2] / "docs" / "images"
    parser.add_argument(
        "--output", type=Path, default=here, metavar="FOLDER", help="default: docs/images"
    )
    output: Path = parser.parse_args().output
    if not chromium_there():
        raise GraphstoreError("chromium and chromedriver are needed; install them and try again")
    output.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        file = Path(stack.enter_context(tempfile.TemporaryDirectory()), "tictactoe.db")
        build("tictactoe", file)
        train(file, "menace", games=1000, seed=1)
        address = stack.enter_context(served([file]))
        driver = stack.enter_context(browser())
        for picture in PICTURES:
            path = output / f"{picture.name}.png"
            path.write_bytes(take(driver, address, picture))
            print(path)


if __name__ == "__main__":
    run_main(main)
