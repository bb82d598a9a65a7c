"""Run the commands in the console blocks of README.md and docs, and write their output there.

Output that differs only in times stays as it is; a line ``[...]`` stands for any lines. The
variable GAMES is the address of an empty PostgreSQL database; without it, pages that use $GAMES
are left out.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
PAGES: Final = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md")])
SHOWN: Final = "postgresql://me@host/games"
"""The address that a page shows in place of $GAMES."""

_BLOCK: Final = re.compile(r"(?<=```console\n).*?(?=```)", re.S)
_SESSION: Final = re.compile(r"^\$ (.*?)\n(.*?)(?=^\$ |\Z)", re.S | re.M)
_FILE: Final = re.compile(r"<!-- file: (\S+) -->\n```python\n(.*?)```", re.S)


def timeless(output: str) -> str:
    r"""Return an output without its times.

    >>> timeless("states         765\nseconds: solve 0.0013\n")
    'states         765\nseconds: solve'
    """
    output = re.sub(r"(nodes?), [\d.e-]+ s$", r"\1", output, flags=re.M)
    times = r"^(seconds(?:: [a-z ]*[a-z])?|games_per_second) +[\d.e+-]+$"
    return re.sub(times, r"\1", output, flags=re.M).rstrip()


def same(new: str, old: str) -> bool:
    r"""Return whether an output is the shown one, but for times and lines left out.

    >>> same("a  1\nseconds: total  0.1\nb  2\n", "a  1\nseconds: total  0.3\n[...]\n")
    True
    """
    parts = [re.escape(part) for part in f"{timeless(old)}\n".split("[...]\n")]
    return re.fullmatch(r"(?:.*\n)*".join(parts), f"{timeless(new)}\n") is not None


def write_files(text: str, folder: Path) -> None:
    """Write the Python files that a page shows below a comment with their name."""
    for name, code in _FILE.findall(text):
        (folder / name).write_text(code, encoding="utf-8")


def refreshed(text: str, run: Callable[[list[str]], str], games: str = "") -> str:
    r"""Return a page with the output that its commands now have.

    Args:
        text: the page.
        run: runs a command, given as words without ``graphstore``, and returns its output.
        games: the address for $GAMES.

    >>> refreshed("```console\n$ graphstore stats a.db\nold\n```\n", " ".join)
    '```console\n$ graphstore stats a.db\nstats a.db\n```\n'
    """

    def session(found: re.Match[str]) -> str:
        command, old = found.groups()
        name, *words = [games if word == "$GAMES" else word for word in shlex.split(command)]
        if name != "graphstore":
            raise ValueError(f"{command}: only graphstore is run")
        new = run(words)
        if games:
            new = new.replace(f"{games}&", f"{SHOWN}?").replace(games, SHOWN)
        if same(new, old):
            return found[0]
        return f"$ {command}\n{new.rstrip()}\n"

    return _BLOCK.sub(lambda block: _SESSION.sub(session, block[0]), text)


def main() -> None:
    """Refresh the pages that are named, by default all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="*", type=Path, default=PAGES, help="README.md, docs/...")
    for page in parser.parse_args().pages:
        text = page.read_text(encoding="utf-8")
        games = os.environ.get("GAMES", "") if "$GAMES" in text else ""
        if not _BLOCK.search(text):
            continue
        if "$GAMES" in text and not games:
            print(f"{page}: left out, GAMES is not set")
            continue
        with tempfile.TemporaryDirectory() as folder:

            def run(words: list[str], folder: str = folder) -> str:
                command = [sys.executable, "-m", "graphstore", *words]
                done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
                return done.stdout + done.stderr

            run(["build", "tictactoe"])
            write_files(text, Path(folder))
            new = refreshed(text, run, games)
        if new != text:
            page.write_text(new, encoding="utf-8")
            print(f"{page}: refreshed")


if __name__ == "__main__":
    main()
