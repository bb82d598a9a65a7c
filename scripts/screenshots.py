"""Take the pictures of the explorer that the documents show, in a real browser.

Tic-tac-toe is built and an agent trained in a temporary folder; Chromium opens the pages.
"""

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from io import BytesIO
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, NamedTuple

from graphstore import Store, build, train

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

COLOURS = 128  # of a picture; the pages have few, and a small file is a kind one
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
    """A page to be shown, in which size, and in which scheme."""

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
    """Lend a browser without a window, with a new, empty profile."""
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


@contextmanager
def served(stores: Iterable[Store]) -> Iterator[str]:
    """Serve the explorer on a free port; lend its address."""
    import uvicorn

    from graphstore.web.application import application

    app = application(stores).app()
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", ws="none"))
    thread = Thread(target=server.run)
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


def seen_as(driver: "Chrome", width: int, height: int, scheme: str) -> None:
    """Give the page a size in pixels, and the reader's system a colour scheme."""
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
    """Parse the arguments, take the pictures, say where they are."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    here = Path(__file__).parents[1] / "docs" / "images"
    parser.add_argument(
        "--output", type=Path, default=here, metavar="FOLDER", help="where to [docs/images]"
    )
    output: Path = parser.parse_args().output
    if not chromium_there():
        sys.exit(
            "screenshots.py: chromium and chromedriver are needed; install them and run this again"
        )
    output.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        build("tictactoe", folder / "tictactoe.db")
        train(folder / "tictactoe.db", "menace", games=1000, seed=1)
        store = stack.enter_context(Store.open(folder / "tictactoe.db"))
        address = stack.enter_context(served([store]))
        driver = stack.enter_context(browser())
        for picture in PICTURES:
            path = output / f"{picture.name}.png"
            path.write_bytes(take(driver, address, picture))
            print(path)


if __name__ == "__main__":
    main()
