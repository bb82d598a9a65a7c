"""The commands on other systems: an emulated Windows, its paths, its texts and its consoles.

What `aswindows` cannot show: Windows' own paths, consoles, signals and locks, and what libraries do
there.
"""

import codecs
import json
import os
import re
import subprocess
import sys
import tomllib
import urllib.request
from pathlib import PureWindowsPath
from textwrap import dedent

import pytest
from conftest import GRAPHSTORE, ROOT, SLOW, TESTS, check_all, error_line, for_all, graphstore

from graphstore import find_game
from graphstore.store.store import find_backend
from graphstore.util.files import uri

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc tells which files are open")

RULES = '''from graphstore import PlainGame

class Piles(PlainGame):
    """Take any number from one pile."""
    players = ("Zoë", "Ωmega井")
    def start(self): return (2, 1)
    def moves(self, piles): return [3 * i + n for i, pile in enumerate(piles) for n in range(pile)]
    def play(self, piles, move):
        left = list(piles)
        left[move // 3] -= move % 3 + 1
        return tuple(left)
    def outcome(self, piles): return None if any(piles) else -1
    def text(self, piles): return "■".join(map(str, piles))
    def parse(self, text): return tuple(map(int, text.split("■")))
    def write_move(self, move): return f"é{move}"
    def read_move(self, text): return int(text.strip("é→"))
'''
QUICK = [
    "build tictactoe",
    "show tictactoe.db",
    "line tictactoe.db --json",
    "sql tictactoe.db SELECT/count(*)/FROM/state",
    "train tictactoe.db --games 3",
    "build tictactoe --force",
    "verify tictactoe.db",
    "play tictactoe.db --moves 4",
    "export tictactoe.db --output tables --format csv",
    "draw tictactoe.db --output position.svg",
    "build rules.py",
    "build nim(2,2) --folder parts",
    "build nim(2,2) --folder parts --force",
    "sql parts SELECT/count(*)/FROM/state",
]
SLOWER = [
    "build rules.py --folder more --cluster local:2",
    "load more --db loaded.db",
    "build nim(2,2) --out-of-core --db nim.db",
]
COMMANDS = """
import json, sys
from graphstore.cli.main import main
for words in json.load(open(sys.argv[1])):
    sys.argv = ["graphstore", *words]
    try:
        main()
    except SystemExit as done:
        assert not done.code, words
"""
CHECK = """
from contextlib import suppress
import os, signal, sys
assert (os.name, sys.platform, hasattr(os, "fork")) == ("nt", "win32", False)
assert not hasattr(signal, "SIGKILL")
with suppress(ImportError):
    import fcntl
    raise AssertionError
"""


@pytest.fixture(scope="module")
def as_windows(tmp_path_factory):
    """The environment of a process that emulates Windows, as its child processes do."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "sitecustomize.py").write_text("import aswindows\naswindows.pretend()\n")
    paths = (folder, TESTS, *filter(None, [os.environ.get("PYTHONPATH")]))
    return os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))}


@pytest.fixture(scope="module")
def piles(tmp_path_factory):
    """A folder with rules and their database, with texts that few consoles have."""
    folder = tmp_path_factory.mktemp("piles")
    (folder / "piles.py").write_text(RULES, encoding="utf-8")
    assert graphstore("build", "piles.py", "--db", "piles.db", cwd=folder).returncode == 0
    return folder


@pytest.mark.parametrize("commands", [QUICK, pytest.param(SLOWER, marks=SLOW)])
def test_the_commands_work_on_an_emulated_windows(as_windows, tmp_path, commands):
    (tmp_path / "rules.py").write_text(CHECK + RULES, encoding="utf-8")
    words = [[word.replace("/", " ") for word in each.split()] for each in commands]
    (tmp_path / "commands").write_text(json.dumps(words))
    script = [sys.executable, "-c", COMMANDS, "commands"]
    done = subprocess.run(
        script, cwd=tmp_path, env=as_windows, capture_output=True, text=True, input=""
    )
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.glob(".*"))


def test_a_server_starts_and_answers_on_an_emulated_windows(as_windows, tictactoe_db):
    command = [*GRAPHSTORE, "serve", "--port", "0", str(tictactoe_db)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=as_windows) as server:
        try:
            address = server.stdout.readline().strip()
            with urllib.request.urlopen(address) as page:  # noqa: S310  # our own
                assert page.status == 200
        finally:
            server.terminate()
        assert server.wait(60) == 0


def test_what_another_program_has_open_on_windows_stays_and_is_named(as_windows, tmp_path):
    targets = {"file.db": ["--db", "file.db"], "parts": ["--folder", "parts"]}
    for name, where in targets.items():
        command = ["build", "nim(2,2)", *where]
        assert graphstore(*command, cwd=tmp_path).returncode == 0
        path = tmp_path / name
        with (path if path.is_file() else path / "game.json").open("rb") as file:
            before = file.read()
            done = subprocess.run(
                [*GRAPHSTORE, *command, "--force"],
                cwd=tmp_path,
                env=as_windows,
                capture_output=True,
                text=True,
            )
            file.seek(0)
            assert file.read() == before
        assert re.search(rf"\b{name} is open in another program; close it", error_line(done))
        assert graphstore(*command, "--force", cwd=tmp_path).returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file.db", "parts"]


@for_all(
    ("address", "path"),
    [
        ("sqlite:///C:/dir/t.db", "C:/dir/t.db"),
        (r"sqlite:///C:\dir\t.db", r"C:\dir\t.db"),
        ("sqlite:////abs/t.db", "/abs/t.db"),
        ("sqlite:///rel/t.db", "rel/t.db"),
        *[(each, each) for each in (r"C:\x\t.db", "C:t.db", r"\\host\x\t.db", "C:/a b#?%.db")],
    ],
)
def test_a_drive_is_part_of_a_path(address, path):
    assert find_backend(address).address == path


@for_all(
    "file", [r"C:\games\mine.py", "C:mine.py", r"\\host\x\mine.py", "C:/a (b)/mine.py", "a:b.py"]
)
@for_all("game", ["", ":Nim", ":Nim(3)", ":Nim(3,'a:b.py')"])
def test_a_drive_is_part_of_the_path_of_rules(file, game):
    with pytest.raises(ValueError, match=re.escape(f"there is no file {file}")):
        find_game(file + game)


@for_all(
    ("path", "name"),
    [
        ("C:/a b#?%é.db", "file:///C:/a%20b%23%3F%25%C3%A9.db?mode=ro"),
        (r"\\host\share\t.db", "file:////host/share/t.db?mode=ro"),
    ],
)
def test_sqlite_gets_a_uri_without_a_host(path, name):
    assert uri(PureWindowsPath(path), "mode=ro") == name


def test_any_character_may_be_in_the_name_of_a_file(run, tmp_path):
    def law(name):
        path = tmp_path / name
        for words in (
            ["build", "mnk(2,2,2)", "--db"],
            ["show"],
            ["train", "--games=2"],
            ["verify"],
        ):
            assert run(*words, path).returncode == 0
        assert run("build", "mnk(2,2,2)", "--db", path, "--force").returncode == 0
        assert path.is_file()

    check_all(["a b.db", "a#b.db", "a?mode=rw", "a%20b", "é井.db", "a:b.db", "a'b;\"&.db"], law)


def test_windows_lines_and_a_mark_change_no_rules(tmp_path):
    digests = set()
    for name, ends, mark in (("a", "\n", b""), ("b", "\r\n", b""), ("c", "\r\n", codecs.BOM_UTF8)):
        (tmp_path / name).mkdir()
        path = tmp_path / name / "piles.py"
        path.write_bytes(mark + RULES.replace("\n", ends).encode())
        assert find_game(f"{path}:Piles").players == ("Zoë", "Ωmega井")
        digests.add(find_game(f"{path}:Piles").rules)
    assert len(digests) == 1
    (tmp_path / "utf16.py").write_text(RULES, encoding="utf-16")
    with pytest.raises(ValueError, match="is not UTF-8; save it as UTF-8"):
        find_game(str(tmp_path / "utf16.py"))


@for_all("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_sql_may_have_windows_lines_and_a_mark(run, tictactoe_db, encoding):
    typed = "SELECT 'é井' AS text,\r\n1 AS one".encode(encoding)
    assert run("sql", tictactoe_db, "-", "--csv", stdin=typed).stdout == "text,one\né井,1\n"


def test_moves_may_have_windows_lines_and_a_mark(run, tictactoe_db):
    typed = "4\r\nq\r\n"
    for encoding in ("utf-8", "utf-8-sig"):
        done = run("play", tictactoe_db, stdin=typed.encode(encoding))
        assert (done.returncode, "is not a move" in done.stdout) == (0, False)
        assert done.stdout.endswith("unfinished: X to move\n")
    done = run("play", tictactoe_db, stdin=typed.encode("utf-16"))
    assert "standard input is UTF-16; save it as UTF-8" in done.stdout + done.stderr


@pytest.mark.parametrize("encoding", ["cp1252", "cp437", "ascii"])
def test_no_console_is_too_poor(piles, encoding):
    def law(*words):
        command, *rest = words
        done = graphstore(
            *(command, "piles.db", *rest), cwd=piles, PYTHONIOENCODING=encoding, stdin="é0\n?\nq\n"
        )
        assert (done.returncode, done.stderr) == (0, ""), done

    rules = ("--rules", "piles.py")
    texts = [("show",), ("line",), ("play",), ("verify",), ("draw",), ("draw", "--format", "text")]
    rows = [("export", "--format", "csv"), ("sql", "SELECT * FROM state", "--csv")]
    check_all([(*words, *rules) for words in texts + rows], law)


def test_the_workflow_runs_the_commands_of_the_readme(tmp_path):
    workflow = (ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
    script = dedent(workflow.partition("run: |\n")[2])
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for command in ("pip install . && graphstore", 'pip install -e ".[test]" && pytest'):
        assert readme.count(f"```sh\n{command}") == 1
        readme = readme.replace(command, f"echo done: {command.split()[-1]} ")
    (tmp_path / "README.md").write_text(readme, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.stderr == ""
    assert re.findall("^done.*", done.stdout, re.M) == [
        "done: graphstore build tictactoe",
        "done: pytest",
    ]


def test_the_table_of_platforms_has_every_library():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = {
        re.split(r"[\[<>=]", each)[0]
        for name in (
            "algorithms",
            "openspiel",
            "draw",
            "parquet",
            "dask",
            "duckdb",
            "postgres",
            "web",
        )
        for each in [*project["dependencies"], *extras[name]]
    }
    table = (ROOT / "docs" / "reference" / "platforms.md").read_text(encoding="utf-8")
    assert {each for each in wanted if f"`{each}`" not in table} == set()
