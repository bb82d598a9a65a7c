"""The documents: their commands and examples run and print what is shown; their links work."""

import doctest
import re
import shutil
from pathlib import Path

import outputs
import postgresql
import pytest
from conftest import ROOT, TESTS, graphstore

from graphstore import Store

DOCUMENTS = sorted(
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
    + [path for path in ROOT.glob("docs/**/*.md") if "_build" not in path.parts]
)
RUN = [path for path in DOCUMENTS if re.search(r"```console|^>>> ", path.read_text(), re.M)]


def anchors(document: Path) -> set[str]:
    """Return the anchors of a document's headings."""
    titles = re.findall(r"^#+ (.*)$", document.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("document", RUN, ids=lambda path: path.stem)
def test_a_document_shows_what_its_commands_print(
    document, run, tictactoe_db, tmp_path, monkeypatch, request
):
    def output(words):
        apart = words[0] == "sql" and Path(words[1]).is_dir()  # it bounds the memory of its process
        done = graphstore(*words) if apart else run(*words)
        return done.stdout + done.stderr

    monkeypatch.chdir(tmp_path)
    shutil.copyfile(tictactoe_db, "tictactoe.db")
    text = document.read_text()
    outputs.write_files(text, tmp_path)
    games = postgresql.database(request.getfixturevalue("server")) if "$GAMES" in text else ""
    assert outputs.refreshed(text, output, games) == text
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
