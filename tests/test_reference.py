"""The reference and the output in documents follow from the code, which describes all it lists."""

import re

import click
import outputs
import pytest
import reference
from conftest import ROOT

import graphstore
from graphstore.cli.main import cli
from graphstore.store import meanings


def test_the_pages_of_the_reference_are_up_to_date(run_script, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")  # of a terminal, which must not matter
    assert run_script("docs/reference.py", "--check") == (0, "", "")


def test_a_page_that_is_out_of_date_is_named(monkeypatch):
    monkeypatch.setitem(meanings.COLUMNS, "orbit", "another meaning")
    monkeypatch.setattr("sys.argv", ["reference.py", "--check"])
    with pytest.raises(SystemExit, match=r"columns.md is out of date; run: python scripts/"):
        reference.main()


def test_a_column_without_a_meaning_is_refused(monkeypatch):
    monkeypatch.delitem(meanings.COLUMNS, "orbit")
    with pytest.raises(KeyError, match="orbit"):
        reference.columns_page()


@pytest.mark.parametrize(
    ("command", "named"),
    [
        (click.Command("mute"), "command mute"),
        (
            click.Command("mute", help="It.", params=[click.Option(["--x"])]),
            "option --x .* of mute",
        ),
    ],
)
def test_a_command_or_an_option_without_help_is_refused(monkeypatch, command, named):
    monkeypatch.setitem(cli.commands, "mute", command)
    with pytest.raises(ValueError, match=named):
        reference.commands_page()


def mute():
    pass


def test_a_public_name_without_a_docstring_is_refused(monkeypatch):
    monkeypatch.setattr(graphstore, "mute", mute, raising=False)
    monkeypatch.setattr(graphstore, "__all__", [*graphstore.__all__, "mute"])
    with pytest.raises(ValueError, match="Python name mute"):
        reference.python_page()


def test_the_index_links_to_every_page_of_a_folder():
    linked = re.findall(r"\]\(([^)#]+)\)", (ROOT / "docs" / "index.md").read_text())
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in ROOT.glob("docs/*/*.md")}
    assert pages <= set(linked)


def test_the_output_in_a_page_is_refreshed(run_script, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```console\n$ graphstore line tictactoe.db XX./OO./...\nold\n```\n")
    assert run_script("docs/outputs.py", page) == (0, f"{page}: refreshed\n", "")
    assert re.search(r"^  0 .*\n  1 .*\n```$", page.read_text(), re.M)


def test_an_output_that_differs_only_in_times_stays():
    page = "```console\n$ graphstore build\nseconds: total  1.5\n```\n"
    assert outputs.refreshed(page, lambda _: "seconds: total  2.5\n") == page
