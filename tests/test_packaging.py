"""The sdist and the wheel are complete, and the wheel works without the checkout."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest
from conftest import ROOT, SLOW


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the sdist and of the wheel that is built from it."""
    source = tmp_path_factory.mktemp("source") / "checkout"
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(".git", ".*_cache", "*.db"))
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    return folder


def test_the_wheel_holds_the_migrations_and_no_tests(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "graphstore/migrations/env.py" in names
    assert "graphstore/py.typed" in names
    assert not [name for name in names if name.startswith(("tests/", "scripts/", "migrations/"))]


def test_the_sdist_holds_what_the_tests_need(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"README.md", "LICENSE", "migrations/env.py", "tests/conftest.py"} <= names


@SLOW
def test_the_wheel_alone_builds_and_shows_tictactoe(built: Path, tmp_path: Path) -> None:
    (wheel,) = built.glob("*.whl")
    venv.create(tmp_path / "venv", with_pip=False, symlinks=True)
    python = tmp_path / "venv" / "bin" / "python"
    (site,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    zipfile.ZipFile(wheel).extractall(site)
    # The dependencies of the wheel come from this environment, after the wheel in the path.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def run(*words: str) -> str:
        return subprocess.run(
            [str(python), *words],
            cwd=tmp_path,
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    home = run("-c", "import graphstore; print(graphstore.__file__)").strip()
    assert Path(home).is_relative_to(site)
    run("-m", "graphstore", "build", "tictactoe")
    assert "O to move: X wins in 2 moves" in run(
        "-m", "graphstore", "show", "tictactoe.db", "XO./.X./..."
    )
