"""Shared fixtures and helpers of the tests: games from tables, random games, a built database."""

import atexit
import csv
import gc
import inspect
import io
import os
import runpy
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, wraps
from pathlib import Path

import postgresql
import pytest
from hypothesis import settings
from hypothesis import strategies as st

from graphstore import GameGraph, PlainGame, Store, build, explore, find_game, solve
from graphstore.cli.main import main

TESTS = Path(__file__).parent
ROOT = TESTS.parent
DATA = TESTS / "data"
SCRIPTS = ROOT / "scripts"
DATABASES = ("sqlite", "postgresql")
GRAPHSTORE = (sys.executable, "-m", "graphstore")
SLOW = pytest.mark.slow

# Tests may run on slow, shared machines, so examples have no deadline. The gate draws the same
# examples each time, so more of them would find nothing new.
GATE = os.environ.get("GRAPHSTORE_EXAMPLES") == "gate"
settings.register_profile("quick", deadline=None, derandomize=GATE, max_examples=10 if GATE else 25)
settings.register_profile("slow", deadline=None, derandomize=GATE, max_examples=25 if GATE else 50)


def pytest_addoption(parser):
    """Add --slow, which runs the slow tests too."""
    parser.addoption("--slow", action="store_true", help="run the tests marked slow, too")


everything = False  # True if --slow is given


def pytest_configure(config):
    """Draw few examples, unless --slow is given."""
    global everything
    everything = config.getoption("--slow")
    settings.load_profile("slow" if everything else "quick")


def some_of(cases, step):
    """Return every `step`-th case, or all of them if --slow is given."""
    return list(cases)[:: 1 if everything else step]


def few(number):
    """Return a third of a number of examples, or all of it if --slow is given."""
    return len(some_of(range(number), 3))


def pytest_collection_modifyitems(config, items):
    """Leave out the slow tests unless --slow or the name of a test is given."""
    if everything or any("::" in word for word in config.args):
        return
    slow = [item for item in items if item.get_closest_marker("slow")]
    config.hook.pytest_deselected(items=slow)
    items[:] = [item for item in items if not item.get_closest_marker("slow")]


def pytest_collection_finish():
    """Keep what was imported out of the garbage collector, which would read it again and again."""
    gc.collect()
    gc.freeze()


def pytest_xdist_auto_num_workers(config):
    """Return 0, for no other processes, where only some files or tests are run."""
    named = config.args_source is pytest.Config.ArgsSource.ARGS
    return 0 if named or config.option.usepdb else None


def check_all(cases, law):
    """Call a law with every case, a tuple of its arguments or its only one; report all failures."""
    cases, failed = list(cases), []
    assert cases
    for case in cases:
        try:
            law(*(case if isinstance(case, tuple) else (case,)))
        except (Exception, pytest.fail.Exception) as error:
            frames = traceback.extract_tb(error.__traceback__)
            at = [each for each in frames if TESTS in Path(each.filename).parents][-1]
            why = "".join(traceback.format_exception_only(error)).rstrip()
            failed.append(f"{case!a:.300}\n{Path(at.filename).name}:{at.lineno}: {why:.600}")
    if failed:
        report = "\n\n".join(failed)
        pytest.fail(f"{len(failed)} of {len(cases)} cases failed\n\n{report}", pytrace=False)


def for_all(names, cases):
    """Return a decorator like `pytest.mark.parametrize`, but with one test for all cases.

    It is for cases that are quicker than the overhead of a test. They share their fixtures.
    """
    given = [names] if isinstance(names, str) else names
    cases = [(case,) if given is not names else tuple(case) for case in cases]

    def decorate(law):
        wanted = inspect.signature(law)
        others = [each for each in wanted.parameters.values() if each.name not in given]

        @wraps(law)
        def test(**fixtures):
            check_all(cases, lambda *case: law(**dict(zip(given, case, strict=True)), **fixtures))

        test.__signature__ = wanted.replace(parameters=others)
        return test

    return decorate


class TableGame(PlainGame):
    """A game given as a table: {position: its result, or {move: next position}}."""

    def __init__(self, table, *starts):
        self.table = table
        self.start_positions = starts

    def starts(self):
        """Return the positions given as starts."""
        return self.start_positions

    def moves(self, position):
        """Return the keys of the row."""
        return self.table[position].keys()

    def play(self, position, move):
        """Return the row's entry."""
        return self.table[position][move]

    def outcome(self, position):
        """Return the row, if it is a result."""
        row = self.table[position]
        return None if isinstance(row, dict) else row


NASTY_TEXTS = [
    '<a href="x">&amp; &lt;</a>',
    "two\nlines, \ttabs\t",
    "\x00\x01\x07\x1b\x7f\x85",
    "quotes \"' and ]]> and <!-- --> and <?x?>",
    "a\\b\\\\c\\n\\",
    "é井😀 \ufffe\uffff\u2028",
    " spaces  ",
    "carriage\rreturn\r\n",
    'digraph { "a" -> "b" } // /* # \\"',
]


class Nasty(TableGame):
    """A game with texts that are hard for every format."""

    def __init__(self):
        last = len(NASTY_TEXTS) - 1
        table = {place: {1: place + 1, 7: max(place - 1, 0)} for place in range(last)}
        super().__init__(table | {last: -1}, 0)

    def text(self, position):
        """Return the text with that number."""
        return NASTY_TEXTS[position]


@st.composite
def table_games(draw, *, cyclic):
    """Draw a game of up to 14 positions; unless cyclic, all moves lead to later positions."""
    size = draw(st.sampled_from(range(14, 0, -1)))
    numbers = st.integers(0, 2**63 - 1) | st.integers(0, 20)
    ids = draw(st.lists(numbers, unique=True, min_size=size, max_size=size))
    results = st.sampled_from((1, 0, -1))
    move = st.integers(0, 9) | st.sampled_from((-(2**31), 2**31 - 1))
    table = {}
    for place, position in enumerate(ids):
        near = ids[place + 1 : place + 4]  # so that some games are long
        far = ids if cyclic else near
        if far:
            children = st.sampled_from(near or far) | st.sampled_from(far)
            rows = st.dictionaries(move, children, min_size=1, max_size=4)
            table[position] = draw(rows if place == 0 else rows | results | rows)
        else:
            table[position] = draw(results)
    more = draw(st.lists(st.sampled_from(ids), max_size=2))
    return TableGame(table, ids[0], *more)


def random_table(random, least, most, *, cyclic):
    """Return the table of a game of so many positions, whose moves lead no further than 8 away."""
    size = int(random.integers(least, most + 1))
    table = {size - 1: int(random.choice((1, 0, -1)))}
    for place in range(size - 1):
        first, last = max(0, place - 8) if cyclic else place + 1, min(place + 9, size)
        children = random.integers(first, last, size=random.integers(1, 4)).tolist()
        ended = place > 0 and random.random() < 0.15
        table[place] = int(random.choice((1, 0, -1))) if ended else dict(enumerate(children))
    return table


@pytest.fixture(scope="session", autouse=True)
def blocks_of_few_states():
    """Let builds in parts of this process split waves of few states, too."""
    from graphstore.building.parts import build

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "FEWEST", 1e-9)
        yield


@pytest.fixture(scope="session")
def tictactoe() -> GameGraph:
    """The solved graph of tic-tac-toe; it is read-only."""
    graph = explore(find_game("tictactoe"))
    solve(graph)
    return graph


@pytest.fixture(scope="session")
def tictactoe_db(tmp_path_factory) -> Path:
    """The database of tic-tac-toe; a test that writes must use a copy."""
    path = tmp_path_factory.mktemp("built") / "tictactoe.db"
    build("tictactoe", path)
    path.chmod(0o444)
    return path


@pytest.fixture(scope="session")
def connect_db(tmp_path_factory) -> Path:
    """The database of connect(4,4); no test may change it."""
    path = tmp_path_factory.mktemp("built") / "connect-4-4.db"
    build("connect(4,4)", path)
    path.chmod(0o444)
    return path


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The address of an empty database on a throw-away PostgreSQL server."""
    with postgresql.server() as address:
        yield address


@pytest.fixture(scope="session", params=DATABASES)
def built(request, tictactoe_db) -> str:
    """The address of tic-tac-toe in a database of either kind; no test may change it.

    It is built more than once for a kind if tests of both kinds alternate.
    """
    if request.param == "sqlite":
        return str(tictactoe_db)
    return build("tictactoe", postgresql.database(request.getfixturevalue("server"))).file


@pytest.fixture(params=DATABASES)
def place(request, tmp_path) -> str:
    """The address for a new game in a database of either kind; nothing is there yet."""
    if request.param == "sqlite":
        return str(tmp_path / "place.db")
    return postgresql.place(request.getfixturevalue("server"))


@pytest.fixture(scope="session")
def template(server) -> str:
    """The name of a PostgreSQL database with tic-tac-toe, to be copied."""
    address = postgresql.database(server)
    build("tictactoe", f"{address}&schema=game")
    return postgresql.name(address)


@pytest.fixture
def spoilt(place, request) -> str:
    """The address of tic-tac-toe in a database of either kind; a test may change it."""
    if place.startswith("postgresql"):
        server, template = map(request.getfixturevalue, ("server", "template"))
        return f"{postgresql.database(server, template)}&schema=game"
    shutil.copyfile(request.getfixturevalue("tictactoe_db"), place)
    return place


@pytest.fixture(scope="session")
def store(built):
    """The open store of tic-tac-toe, in a database of either kind."""
    with Store.open(built) as opened:
        yield opened


@pytest.fixture(scope="session")
def file_store(tictactoe_db):
    """The open store of the SQLite file of tic-tac-toe."""
    with Store.open(tictactoe_db) as opened:
        yield opened


@pytest.fixture
def copy(tictactoe_db, tmp_path) -> Path:
    """A copy of the database of tic-tac-toe; a test may change or damage it."""
    path = tmp_path / "copy.db"
    path.write_bytes(tictactoe_db.read_bytes())
    return path


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user of the machine can reach, as `tmp_path` is not."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def oracle() -> list[dict[str, str]]:
    """The rows of tictactoe_765.csv."""
    with (DATA / "tictactoe_765.csv").open(newline="") as lines:
        return list(csv.DictReader(lines))


@pytest.fixture
def without(monkeypatch):
    """Return a function that makes the import of a library and of its modules fail."""

    def without(library):
        loaded = [name for name in sys.modules if name.startswith(f"{library}.")]
        for name in (library, *loaded):
            monkeypatch.setitem(sys.modules, name, None)

    return without


@pytest.fixture
def moments():
    """Return a function that returns how many moments to try: all of them if --slow is given."""
    return lambda few, all_of_them: all_of_them if everything else few


@pytest.fixture(scope="session", name="warm")
def warm_fixture():
    """The process that forks commands."""
    return warm()


@pytest.fixture
def run(monkeypatch, capsys):
    """Return a function that runs `main` in this process, which is quicker than in a new one."""

    def run(*words, stdin=b""):
        monkeypatch.setattr(sys, "argv", ["graphstore", *map(str, words)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = 0
        try:
            main()
        except SystemExit as done:
            code = done.code
        said = capsys.readouterr()
        return subprocess.CompletedProcess(words, code, said.out, said.err)

    return run


@pytest.fixture
def run_script(monkeypatch, capsys):
    """Return a function that runs a script of scripts/ in this process: (exit code, out, err)."""

    def run(script, *arguments):
        monkeypatch.setattr(sys, "argv", [script, *map(str, arguments)])
        monkeypatch.syspath_prepend((SCRIPTS / script).parent)  # for the modules that scripts share
        code, said = 0, ""
        try:
            runpy.run_path(str(SCRIPTS / script), run_name="__main__")
        except SystemExit as done:
            code, said = (done.code, "") if isinstance(done.code, int) else (1, f"{done.code}\n")
        out, err = capsys.readouterr()
        return code, out, err + said

    return run


@contextmanager
def small_disk(tmp_path, size):
    """Yield a folder on its own file system of a given size."""
    if os.geteuid() != 0 or not shutil.which("mount"):
        pytest.skip("only root can mount a small disk")
    folder = tmp_path / "disk"
    folder.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={size},mode=777", "tmpfs", folder]
    done = subprocess.run(["mount", *options], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no small disk can be mounted here: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


@cache
def warm():
    """Return the process that forks commands; it ends with this one."""
    from warm import Warm  # not on Windows

    process = Warm()
    atexit.register(process.close)
    return process


def graphstore(*words, stdin="", cwd=None, **environment):
    """Run the command line in its own process; return the completed process."""
    if hasattr(os, "fork"):
        return warm().run(*words, stdin=stdin, cwd=cwd, environment=environment)
    return subprocess.run(
        [*GRAPHSTORE, *map(str, words)],
        input=stdin,
        capture_output=True,
        text=True,
        cwd=cwd,
        env=os.environ | environment,
    )


def openpty():
    """Return the two ends of a new terminal; skip the test where there are none."""
    return pytest.importorskip("pty").openpty()


def error_line(done, exit_code=1):
    """Return the error of a failed command, which must have printed one line, on stderr."""
    assert (done.returncode, done.stdout) == (exit_code, ""), done
    assert done.stderr.startswith("graphstore: "), done.stderr
    assert done.stderr.endswith("\n"), done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert "a bug" not in done.stderr
    return done.stderr.removeprefix("graphstore: ").rstrip("\n")
