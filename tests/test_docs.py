"""The documents say what is so: their commands are run and their output compared."""

import doctest
import re
import shlex
import subprocess
import sys
from pathlib import Path

import postgresql
import pytest

from graphstore.store import schema
from graphstore.store.meanings import meaning

GRAPHSTORE = [sys.executable, "-m", "graphstore"]
ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted([ROOT / "README.md", *ROOT.glob("docs/*.md")])


def sessions(document: Path) -> list[tuple[str, str]]:
    """Return (command, output) of every ``$`` line in the console blocks."""
    blocks = re.findall(r"```console\n(.*?)```", document.read_text(), re.S)
    return [
        (command, output)
        for block in blocks
        for command, output in re.findall(r"^\$ (.*?)\n(.*?)(?=^\$ |\Z)", block, re.S | re.M)
    ]


def timeless(output: str) -> str:
    """Return an output without its times."""
    times = r"^(seconds: [a-z ]*[a-z]|games_per_second) +[\d.]+$"
    output = re.sub(r"(nodes?), [\d.e-]+ s$", r"\1", output, flags=re.M)
    output = re.sub(r'"seconds": {[^}]*}', '"seconds": {}', output)
    return re.sub(times, r"\1", output, flags=re.M).rstrip()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_what_a_document_shows_is_what_happens(
    document: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    monkeypatch.chdir(tmp_path)
    subprocess.run([*GRAPHSTORE, "build", "tictactoe"], check=True, capture_output=True)
    for name, code in re.findall(
        r"<!-- file: (\S+) -->\n```python\n(.*?)```", document.read_text(), re.S
    ):
        Path(name).write_text(code)
    shown = "postgresql://me@host/games"  # what $GAMES is in a document
    games = ""
    if "$GAMES" in document.read_text():
        games = postgresql.database(request.getfixturevalue("server"))
    for command, output in sessions(document):
        words = [games if word == "$GAMES" else word for word in shlex.split(command)]
        assert words[0] == "graphstore"
        done = subprocess.run([*GRAPHSTORE, *words[1:]], capture_output=True, text=True)
        said = done.stdout + done.stderr
        if games:
            said = said.replace(f"{games}&", f"{shown}?").replace(games, shown)
        assert timeless(said) == timeless(output), command
    monkeypatch.syspath_prepend(str(tmp_path))
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    test = doctest.DocTestParser().get_doctest(
        document.read_text(), {}, document.name, str(document), 0
    )
    assert runner.run(test).failed == 0


def test_every_link_leads_somewhere() -> None:
    for document in DOCUMENTS:
        for target in re.findall(r"\]\(([^)#]+)\)", document.read_text()):
            if not target.startswith("https://"):
                assert (document.parent / target).exists(), (document.name, target)


def test_the_columns_of_the_readme_mean_what_they_mean_everywhere() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", (ROOT / "README.md").read_text(), re.M)
    told = {name: words.replace("**", "") for name, words in rows}
    assert told == {name: meaning("state", name) for name in schema.COLUMNS["state"]}


def test_every_test_that_a_document_names_is_there() -> None:
    for document in DOCUMENTS:
        for file, name in re.findall(r"`(test_\w+)(?:\.py)?::(test_\w+)`", document.read_text()):
            source = (ROOT / "tests" / f"{file}.py").read_text()
            assert f"\ndef {name}(" in source, (document.name, file, name)
