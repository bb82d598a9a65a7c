"""Rules that misbehave end in one line of error; rules of any hashable values build anywhere."""

import json
import textwrap
from itertools import cycle

import pytest
from conftest import check_all, error_line, graphstore, some_of

from graphstore import build, explore, find_game
from graphstore.errors import GraphstoreError
from graphstore.rules.adapter import accept
from graphstore.rules.game import LONGEST, move_text

RULES = """
import itertools, signal, sys
import numpy as np
from graphstore import PlainGame

class G(PlainGame):
    def start(self): return 3
    def moves(self, n): return [take for take in (1, 2) if take <= n]
    def play(self, n, take): return n - take
    def outcome(self, n): return None if n else -1
"""
AT_3 = "r.py:G: moves() or play() failed at 3: "
MISBEHAVING = {
    # the changed lines of the class, or of the file: the message
    "def start(self): exit()": "r.py:G: starts() failed: SystemExit: None",
    "def moves(self, n): sys.exit('bye')": AT_3 + "SystemExit: bye",
    "def moves(self, n): yield quit(2)": AT_3 + "SystemExit: 2",
    "def play(self, n, t): return self.play(n, t)": AT_3
    + "RecursionError: maximum recursion depth",
    "def outcome(self, n): raise GeneratorExit": "r.py:G: outcome() failed at 3: GeneratorExit",
    "def outcome(self, n): raise StopIteration": "r.py:G: outcome() failed at 3: StopIteration",
    "def outcome(self, n): return np.bool_(not n)": "r.py:G: outcome() of 3 is np.False_; it must",
    "def to_move(self, n): exit()": "r.py:G: to_move() failed at ",
    "def symmetries(self, n): exit()": "r.py:G: symmetries() failed at 3: SystemExit",
    "def symmetries(self, n): return itertools.count()": "ValueError: more than 1,000,000 values",
    "def starts(self): return itertools.count()": "ValueError: more than 1,000,000 values",
    "def moves(self, n): return itertools.count()": AT_3 + "ValueError: more than 1,000,000 values",
    "def moves(self, n): return range(10**10)": AT_3 + "ValueError: more than 1,000,000 values",
    "def text(self, n): exit()": "r.py:G: text() failed at 3: SystemExit: None",
    r"def text(self, n): return '\ud800'": r"text() of 3 is '\ud800'; UTF-8 does not have this",
    "def text(self, n): return b'3'": "r.py:G: text() of 3 is b'3'; it must be a str",
    "def text(self, n): return '3' * 20_000_000": "it has 20,000,000 bytes, more than 20,000",
    "async def moves(self, n): return []": "r.py:G: moves() is async; write it without the word",
    "def __init__(self): exit()": "r.py:G cannot be created: SystemExit: None",
    "def __init__(self, heap): pass": "r.py:G cannot be created: TypeError",
    r"players = ('a\n', 'b')": r"r.py:G: players is ('a\n', 'b'); it must be two texts of one line",
    "shape = 5": "r.py:G: shape is 5; it must be (rows, columns) or None",
    "shape = property(lambda self: 1 / 0)": "ZeroDivisionError: division by zero",
    "max_plies = 'x'": "r.py:G: max_plies is 'x'; it must be a whole number or None",
    "#\nexit()": "r.py cannot be loaded: SystemExit: None",
    "#\n\0": "null bytes",
    # Names of `PlainGame` that mean something else.
    "start = (4, 4)": "r.py:G: start must be a method start(), or have another name: ",
    "def play(self, n): return n": "r.py:G: play must be a method play(position, move), or have",
    "def board(self): return ''": "r.py:G: board must be a method board(position), or have another",
    "board = None": "r.py:G: board must be a method board(position), or have another name: ",
    "def board(self, n): return [n]": "r.py:G: board() of 3 is [3]; it must be a str",
    "def board(self, n): exit()": "r.py:G: board() failed at 3: SystemExit: None",
    "def canonical(self, n): return n": "r.py:G: canonical(position) needs symmetries(position)",
    "symmetries = lambda self, n: [n]\ncanonical = lambda self, n: 9": "canonical() of 3",
    "symmetries = lambda self, n: [n]\ncanonical = lambda self, n: 1 / 0": "canonical() failed",
}
COMMANDS = (
    ("build", "r.py:G", "--db", "g.db"),
    ("build", "r.py:G", "--folder", "g"),
    ("check", "r.py:G", "--max-positions", "9"),
)
STARTS = {
    # starts that are no ids, or are equal to one, and from which play reaches 0, 1 and 2
    *("-3", "2**63", "True", "1.0", "None", "1.5", "np.int64(-3)", "np.True_", "(1,)", "b''"),
}


def write(folder, changes):
    """Write the rules with a change of the class, or after a line of # of the file."""
    indented = changes[1:] if changes.startswith("#") else textwrap.indent(changes, " " * 4)
    (folder / "r.py").write_text(RULES + indented + "\n")


def test_rules_that_misbehave_are_one_line_in_memory_in_parts_and_in_a_check(tmp_path):
    def law(changes, message, command):
        write(tmp_path, changes)
        done = graphstore(*command, cwd=tmp_path)
        if command[0] == "check" and done.stdout:
            assert (done.returncode, done.stderr.count("\n")) == (1, 1)
            assert message in done.stdout
        else:
            assert message in error_line(done)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["r.py"]

    wanted = [(*case, command) for case in MISBEHAVING.items() for command in COMMANDS]
    one_each = [(*case, at) for case, at in zip(MISBEHAVING.items(), cycle(COMMANDS), strict=False)]
    check_all(one_each if len(some_of(wanted, 3)) < len(wanted) else wanted, law)


def test_texts_that_are_not_read_as_their_positions_are_refused_in_a_build(tmp_path):
    def law(changes, message, command):
        write(tmp_path, changes)
        assert message in error_line(graphstore(*command, cwd=tmp_path))

    wrong = {
        "def parse(self, n): return int(n) + 1": "parse() of '3' is 4, but the text is that of 3; ",
        "def start(self): return range(3)": "the position range(0, 3) cannot be read from a text ",
    }
    check_all([(*case, command) for case in wrong.items() for command in COMMANDS[:2]], law)


def test_any_start_that_is_hashable_builds_alike_in_memory_and_in_parts(tmp_path):
    def law(start):
        write(
            tmp_path,
            f"def start(self): return {start}\n"
            "def moves(self, n): return [1, 2] if type(n) is not int or n != 1 else [1]\n"
            "def play(self, n, t): return n - t if type(n) is int and 0 < n < 9 else t\n"
            "def outcome(self, n): return -1 if type(n) is int and n == 0 else None",
        )
        built = []
        for command in COMMANDS[:2]:
            done = graphstore(*command, "--json", "--force", cwd=tmp_path)
            assert (done.returncode, done.stderr) == (0, ""), done
            built.append(json.loads(done.stdout))
        names = ("states", "moves", "edges", "start", "value", "remoteness")
        assert [built[0][each] for each in names] == [built[1][each] for each in names]
        assert built[0]["states"] == 4

    check_all(some_of(sorted(STARTS), 4), law)


def test_what_rules_print_goes_to_standard_error(tmp_path):
    write(
        tmp_path,
        "print('in the class')\n"
        "def moves(self, n):\n    print('in a generator')\n    yield from range(1, min(n, 2) + 1)\n"
        "def text(self, n):\n    sys.stdout.write('in text\\n')\n    return str(n)\n"
        "def symmetries(self, n):\n    print('in symmetries')\n    return ()",
    )
    with_rules = ("g.db", "--rules", "r.py:G")
    for command in (*COMMANDS, ("show", *with_rules), ("verify", *with_rules)):
        done = graphstore(*command, "--json", cwd=tmp_path)
        assert json.loads(done.stdout)
        assert {*done.stderr.splitlines()} <= {
            *("in the class", "in a generator", "in text", "in symmetries")
        }
        assert done.stderr


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_while_rules_run_still_interrupts(tmp_path, name):
    write(tmp_path, f"def moves(self, n): signal.raise_signal(signal.{name})")
    done = graphstore("build", "r.py:G", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (130, "graphstore: interrupted\n")


def test_a_signal_whose_handler_is_python_s_own_passes_through_rules(tmp_path):
    write(tmp_path, "def moves(self, n): signal.raise_signal(signal.SIGINT)")
    with pytest.raises(KeyboardInterrupt):
        build(find_game(f"{tmp_path}/r.py:G"), tmp_path / "g.db")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ("def write_move(self, move): return move", "write_move() of 1 is 1; it must be a str"),
        ("def write_move(self, move): return 'a b'", "'a b'; it must be one word without commas"),
        ("def write_move(self, move): exit()", "write_move(1) failed: SystemExit: None"),
        ("def parse(self, text): exit()", "parse() of '3' failed: SystemExit: None"),
    ],
)
def test_wrong_boards_names_and_readings_are_found_by_a_check(tmp_path, changes, message):
    write(tmp_path, changes + "\ndef read_move(self, text): return 1")
    done = graphstore("check", "r.py:G", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert message in done.stdout


def test_the_longest_text_can_be_read_by_sql(tmp_path):
    write(
        tmp_path,
        f"def text(self, n): return str(n) * {LONGEST}\ndef parse(self, text): return int(text[0])",
    )
    game = find_game(f"{tmp_path}/r.py:G")
    assert build(game, tmp_path / "g.db").states == 4
    done = graphstore("sql", "g.db", "SELECT position FROM state WHERE id = 0", cwd=tmp_path)
    assert done.stdout.split()[-1] == "0" * LONGEST


def test_rules_given_to_the_python_api_are_guarded_too(tmp_path):
    write(tmp_path, "def outcome(self, n): exit()")
    game = type(find_game(f"{tmp_path}/r.py:G").game)()
    for function in (lambda game: build(game, tmp_path / "g.db"), explore):
        with pytest.raises(GraphstoreError, match="failed at 3: SystemExit"):
            function(game)
    assert move_text(accept(game), 1) == "1"
