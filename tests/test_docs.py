"""The documents: their commands and examples run and print what is shown; their links work."""

import doctest
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import postgresql
import pytest
from conftest import GRAPHSTORE, ROOT, TESTS

from graphstore import Store

DOCUMENTS = sorted(
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
    + [path for path in ROOT.glob("docs/**/*.md") if "_build" not in path.parts]
)
RUN = [path for path in DOCUMENTS if re.search(r"```console|^>>> ", path.read_text(), re.M)]


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
    times = r"^(seconds: [a-z ]*[a-z]|games_per_second) +[\d.e-]+$"
    output = re.sub(r"(nodes?), [\d.e-]+ s$", r"\1", output, flags=re.M)
    return re.sub(times, r"\1", output, flags=re.M).rstrip()


def anchors(document: Path) -> set[str]:
    """Return the anchors of a document's headings."""
    titles = re.findall(r"^#+ (.*)$", document.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("document", RUN, ids=lambda path: path.stem)
def test_what_a_document_shows_is_what_happens(
    document, run, tictactoe_db, tmp_path, monkeypatch, request
):
    monkeypatch.chdir(tmp_path)
    shutil.copyfile(tictactoe_db, "tictactoe.db")
    text = document.read_text()
    for name, code in re.findall(r"<!-- file: (\S+) -->\n```python\n(.*?)```", text, re.S):
        Path(name).write_text(code)
    shown = "postgresql://me@host/games"  # what $GAMES is in a document
    games = ""
    if "$GAMES" in text:
        games = postgresql.database(request.getfixturevalue("server"))
    for command, output in sessions(document):
        words = [games if word == "$GAMES" else word for word in shlex.split(command)]
        assert words[0] == "graphstore"
        if words[1] == "sql" and Path(words[2]).is_dir():  # it bounds the memory of its process
            done = subprocess.run([*GRAPHSTORE, *words[1:]], capture_output=True, text=True)
        else:
            done = run(*words[1:])
        said = done.stdout + done.stderr
        if games:
            said = said.replace(f"{games}&", f"{shown}?").replace(games, shown)
        assert timeless(said) == timeless(output), command
    monkeypatch.syspath_prepend(str(tmp_path))
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    test = doctest.DocTestParser().get_doctest(text, {}, document.name, str(document), 0)
    assert runner.run(test, clear_globs=False).failed == 0
    for thing in test.globs.values():
        if isinstance(thing, Store):
            thing.close()


def test_every_link_leads_somewhere():
    for document in DOCUMENTS:
        for link in re.findall(r"\]\(([^)\s]+)\)", document.read_text()):
            if not link.startswith("https://"):
                path, _, anchor = link.partition("#")
                target = document.parent / path if path else document
                assert target.exists(), (document.name, link)
                assert not anchor or anchor in anchors(target), (document.name, link)


def test_every_test_that_a_document_names_is_there():
    for document in DOCUMENTS:
        for file, name in re.findall(r"`(test_\w+)(?:\.py)?::(test_\w+)`", document.read_text()):
            (source,) = (path.read_text() for path in TESTS.rglob(f"{file}.py"))
            assert f"\ndef {name}(" in source, (document.name, file, name)


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_bytes()) <= 6000
