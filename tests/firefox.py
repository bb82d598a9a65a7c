"""Firefox without a window, driven by its own protocol, Marionette.

Debian has no geckodriver, which translates WebDriver into this protocol.
"""

import json
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

START = 60  # seconds until Firefox listens
CHANGE = 10  # seconds until a page has changed
PREFERENCES = {
    "app.update.auto": False,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "marionette.port": 0,  # any free one; Firefox writes it to MarionetteActivePort
    "network.captive-portal-service.enabled": False,
    "toolkit.telemetry.reportingpolicy.firstRun": False,
}


def firefox_there() -> bool:
    """Return whether Firefox ESR is installed."""
    return shutil.which("firefox-esr") is not None


class Firefox:
    """A browser at the other end of a connection."""

    def __init__(self, connection: socket.socket) -> None:
        self._file = connection.makefile("rwb")
        self._number = 0
        self._read()
        self.ask("WebDriver:NewSession")

    def ask(self, command: str, **parameters: Any) -> Any:
        """Return the result of a command; raise RuntimeError if Firefox refuses it."""
        self._number += 1
        data = json.dumps([0, self._number, command, parameters]).encode()
        self._file.write(b"%d:%s" % (len(data), data))
        self._file.flush()
        _, _, error, result = self._read()
        if error is not None:
            raise RuntimeError(f"{command}: {error['message']}")
        return result["value"] if isinstance(result, dict) and "value" in result else result

    def open(self, address: str) -> None:
        """Type an address."""
        self.ask("WebDriver:Navigate", url=address)

    def script(self, source: str) -> Any:
        """Return the result of a script."""
        return self.ask("WebDriver:ExecuteScript", script=source, args=[])

    def click(self, selector: str) -> None:
        """Click on an element, and wait until the page has changed."""
        left, top = self.script(
            "document.querySelector('main').old = true;"
            f"const it = document.querySelector({selector!r});"
            "it.scrollIntoView({block: 'center'}); const at = it.getBoundingClientRect();"
            "return [Math.round(at.x + at.width / 2), Math.round(at.y + at.height / 2)]"
        )
        mouse = [
            {"type": "pointerMove", "x": left, "y": top},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerUp", "button": 0},
        ]
        self.ask(
            "WebDriver:PerformActions",
            actions=[{"type": "pointer", "id": "mouse", "actions": mouse}],
        )
        end = time.monotonic() + CHANGE
        changed = "document.readyState === 'complete' && !document.querySelector('main')?.old"
        while not self.script(f"return {changed}"):
            if time.monotonic() > end:
                raise RuntimeError(f"the page did not change after a click on {selector}")
            time.sleep(0.02)

    def _read(self) -> Any:
        length = b""
        while not length.endswith(b":"):
            byte = self._file.read(1)
            if not byte:
                raise RuntimeError("Firefox has ended")
            length += byte
        return json.loads(self._file.read(int(length[:-1])))


@contextmanager
def firefox() -> Iterator[Firefox]:
    """Yield a browser without a window, with a new, empty profile."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        lines = (
            f"user_pref({json.dumps(name)}, {json.dumps(value)});\n"
            for name, value in PREFERENCES.items()
        )
        Path(profile, "user.js").write_text("".join(lines))
        command = ["firefox-esr", "--headless", "--marionette", "--no-remote", "--profile", profile]
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            try:
                with closing(
                    socket.create_connection(("127.0.0.1", _port(process, profile)))
                ) as connection:
                    yield Firefox(connection)
            finally:
                process.terminate()


def _port(process: "subprocess.Popen[bytes]", profile: str) -> int:
    file, end = Path(profile, "MarionetteActivePort"), time.monotonic() + START
    while not (file.exists() and file.read_text().strip()):
        if process.poll() is not None or time.monotonic() > end:
            raise RuntimeError("Firefox did not start")
        time.sleep(0.05)
    return int(file.read_text())
