"""Public names can be imported, no submodule hides one, and every package has a docstring."""

import ast
import pkgutil
import subprocess
import sys

from conftest import ROOT, check_all

import graphstore

FOLDER = ROOT / "graphstore"
PACKAGES = sorted(path.parent.name for path in FOLDER.glob("*/__init__.py"))

# Run in a new process, so that nothing is imported before.
ALL_SUBMODULES = """
import pkgutil
from importlib import import_module

import graphstore

before = {name: getattr(graphstore, name) for name in graphstore.__all__}
for module in pkgutil.walk_packages(graphstore.__path__, "graphstore."):
    if not module.name.endswith(".__main__"):
        import_module(module.name)
for name, thing in before.items():
    assert getattr(graphstore, name) is thing, name
"""


def test_every_public_name_can_be_imported_and_is_not_a_module():
    def law(name):
        imported = {}
        exec(f"from graphstore import {name}", imported)  # noqa: S102  # a public name
        assert imported[name] is getattr(graphstore, name)
        assert callable(imported[name])
        assert name in dir(graphstore)

    check_all(graphstore.__all__, law)
    assert len(set(graphstore.__all__)) == len(graphstore.__all__)


def test_no_module_or_package_has_a_public_name():
    entries = {module.name for module in pkgutil.iter_modules([str(FOLDER)])}
    assert entries >= {"errors", "store"}
    assert not entries & set(graphstore.__all__)


def test_importing_every_submodule_changes_no_public_name():
    done = subprocess.run(
        [sys.executable, "-c", ALL_SUBMODULES],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_top_level_packages_are_those_of_the_layout():
    layout = "building checks cli exports games play rules solver store util web"
    assert layout.split() == PACKAGES
    assert len([entry for entry in FOLDER.iterdir() if entry.name != "__pycache__"]) <= 16


def test_the_docstring_of_a_package_has_five_to_ten_lines():
    def law(package):
        tree = ast.parse((FOLDER / package / "__init__.py").read_text())
        assert 5 <= len(ast.get_docstring(tree).splitlines()) <= 10

    check_all(PACKAGES, law)
