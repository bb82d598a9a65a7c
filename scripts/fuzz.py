"""Does anything that reads what a stranger wrote fail otherwise than by one clear line?

Texts are made from valid ones, by mutation and by splicing, and from what programs like least:
huge numbers, deep nesting, NUL, half characters, digits of other scripts. Every parser is given its
share of them, in this process: positions of every game, names of games, integers and bytes of other
programs, SQL, settings, names and addresses, the explorer's URLs, whole commands with what is typed
at them, and database files with bytes that are not theirs. Each must be refused in one line, or be
answered rightly: a position that is read is written so that it is read as the same again. What
takes more than --seconds of the processor, or more than 200 MB, is a defect as well.
"""

import argparse
import asyncio
import importlib.util
import io
import os
import re
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import (
    ExitStack,
    contextmanager,
    redirect_stderr,
    redirect_stdout,
    suppress,
)
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from unittest.mock import patch
from urllib.parse import quote

import click
import numpy as np

from graphstore import Store, build, find_game, train, verify
from graphstore.cli.console import print_json, print_table
from graphstore.cli.main import main as graphstore
from graphstore.errors import GraphstoreError, NotInStoreError, shown
from graphstore.exports.selection import selected
from graphstore.games import FAMILIES, encodings, find_builtin
from graphstore.games.ultimate.convert import position_of, record_of
from graphstore.games.ultimate.record import Record
from graphstore.play.agents import load
from graphstore.play.match import Match
from graphstore.play.menace import Settings, read_stages, written
from graphstore.play.opponents import agent_name, read_opponent
from graphstore.play.standings import summaries
from graphstore.rules.game import IN_PLAY, Game
from graphstore.web import addresses

MEMORY = 200  # MB
BUILT = ("tictactoe", "hexapawn(3,3)", "nim(3,4,5)", "morris(orthogonal)", "subtraction(21,1,2,3)")
RULES = '''
from dataclasses import dataclass
from typing import NamedTuple
from graphstore import PlainGame

class Heap(PlainGame):
    """Take one or two."""
    def __init__(self, most=7): self.most = most
    def start(self): return self.most
    def moves(self, heap): return [1, 2][:heap]
    def play(self, heap, take): return heap - take
    def outcome(self, heap): return -1 if heap == 0 else None

class Pair(NamedTuple):
    heap: int
    turn: int

class Named(Heap):
    def start(self): return Pair(5, 1)
    def moves(self, at): return [1, 2][:at.heap]
    def play(self, at, take): return Pair(at.heap - take, 3 - at.turn)
    def outcome(self, at): return -1 if at.heap == 0 else None

class Numbers(Heap):
    def start(self): return frozenset({1, 2, 3})
    def moves(self, left): return sorted(left)
    def play(self, left, number): return left - {number}
    def outcome(self, left): return None if left else -1

class Word(Heap):
    def start(self): return "abc"
    def moves(self, word): return range(len(word))
    def play(self, word, at): return word[:at] + word[at + 1:]
    def outcome(self, word): return None if word else -1

@dataclass(frozen=True)
class Place:
    left: int

class Placed(Heap):
    def start(self): return Place(4)
    def moves(self, at): return [1, 2][:at.left]
    def play(self, at, take): return Place(at.left - take)
    def outcome(self, at): return -1 if at.left == 0 else None
'''
NASTY = (
    *("", " ", "\0", "\ud800", "\udcff", "\u202e", "\ufeff", "e\u0301", "\U0001f600", "\x1b[31m"),
    *(
        "9" * 20,
        "9" * 5000,
        "-1",
        "-0",
        "+1",
        "1e999",
        "nan",
        "inf",
        "0x10",
        "1_000",
        "1.0",
        "1" * 63,
    ),
    *("\u0663\u0664", "\u00b2", "\uff13", "\u2460", "½", "ß", "İ", "\u0130", "ﬁ"),
    *(
        "%s%n%d",
        "{0.__class__}",
        "{}",
        "[red]x[/red]",
        "[/]",
        "<b>&amp;",
        "'\"`",
        "\\",
        "../..",
        "~",
    ),
    *("(" * 90, "(" * 9000, "[" * 9000 + "]" * 9000, "-" * 9000 + "1", "not " * 3000 + "1"),
    *(
        "X" * 100_000,
        "." * 10_001,
        "/" * 5000,
        "a,b;" * 2000,
        "\n" * 1000,
        "| " * 3000,
        "NULL",
        "None",
    ),
)
SQL = (
    "SELECT count(*) FROM state WHERE ply <= 3 AND value = 1",
    "SELECT board(id), canonical(position) FROM state ORDER BY id LIMIT 3",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
    "SELECT replace(hex(zeroblob(9000)), '0', group_concat(id)) FROM state, edge, state AS more",
    "SELECT printf('%*c%.*f', 99999999, 'x', 9999, 1.5), trim(hex(randomblob(9999)), '0123')",
    "SELECT json_group_array(position) FROM state WHERE position LIKE '%X%O%X%'",
    "SELECT max(score) OVER (ORDER BY id) FROM state, state GLOB '*[a-z]*'",
    "SELECT * FROM json_tree('[[[1, {\"a\": 2}]]]'), pragma_table_info('edge')",
    *("DELETE FROM state WHERE 1", "UPDATE state SET value = 0 RETURNING *", "DROP TABLE edge"),
    *("ATTACH 'new.db' AS new", "VACUUM INTO 'new.db'", "PRAGMA writable_schema = 1"),
    *("INSERT INTO edge SELECT * FROM edge", "CREATE TEMP TABLE x AS SELECT 1", "ALTER TABLE x"),
    *(
        "SELECT load_extension('x.so')",
        "SELECT writefile('new.db', 1)",
        "BEGIN IMMEDIATE",
        "REINDEX",
    ),
)
TERMS = (
    *(
        "id",
        "ply",
        "value",
        "position",
        "score",
        "NULL",
        "1",
        "-9223372036854775808",
        "1e308",
        "x'ff'",
    ),
    *(
        "'X'",
        "random()",
        "hex(zeroblob(%))",
        "board(#)",
        "canonical(#)",
        "printf(#, #, #)",
        "(# || #)",
    ),
    *(
        "replace(#, #, #)",
        "trim(#, #)",
        "instr(#, #)",
        "(# LIKE #)",
        "(# GLOB #)",
        "substr(#, #, #)",
    ),
    *(
        "CAST(# AS TEXT)",
        "zeroblob(%)",
        "json_array(#, #)",
        "group_concat(#)",
        "max(#)",
        "count(*)",
    ),
    *(
        "(SELECT #)",
        "CASE # WHEN # THEN # END",
        "(# IN (#, #))",
        "quote(#)",
        "abs(#)",
        "char(#, #)",
    ),
    *("json_patch(#, #)", "(# + #)", "(# << #)", "round(#, #)", "unicode(#)", "strftime(#, #)"),
)
"""Of statements: # is a term, % a number."""
WHERE = (
    *("ply <= 3 AND value = 1", "position LIKE 'X%'", "id IN (SELECT child FROM edge)", "1) OR (1"),
    *("board(id) GLOB '*O'", "ply = (SELECT max(ply) FROM state)", "id = canonical('XO.......')"),
)


class Parser(NamedTuple):
    """Something that reads texts.

    Attributes:
        name: of what it reads.
        share: of all inputs, beside those of others.
        seeds: valid texts, from which others are made.
        ask: reads a text; raises what it is refused with, or AssertionError for a wrong answer.
    """

    name: str
    share: float
    seeds: Sequence[str]
    ask: Callable[[str], object]


class Tally(NamedTuple):
    """What came of the inputs of a parser; the slowest in ms of the processor."""

    parser: str
    inputs: int
    accepted: int
    refused: int
    slowest_ms: float
    peak_mb: float
    defects: list[dict[str, str]]


class RefusedError(GraphstoreError):
    """What a command said in its one line."""


class TooSlowError(BaseException):
    """The time of an input is up."""


def main() -> None:
    """Print what came of it; exit with 1 if there are defects."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000, metavar="N", help="how many")
    parser.add_argument("--seed", type=int, default=1, help="the same makes the same inputs")
    parser.add_argument("--seconds", type=float, default=1.0, help="that an input may take")
    parser.add_argument("--only", metavar="TEXT", help="parsers whose name has this in it")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args()
    with parsers() as known:
        chosen = [each for each in known if given.only is None or given.only in each.name]
        tallies = fuzz(chosen, given.inputs, seed=given.seed, seconds=given.seconds)
    if given.json:
        print_json([each._asdict() for each in tallies])
    else:
        counted = [[*each[:-1], len(each.defects)] for each in tallies]
        print_table(Tally._fields, counted)
        for each in tallies:
            for defect in each.defects:
                print(f"\n{each.parser}: {defect['defect']}\n    {defect['input']}")
    sys.exit(any(each.defects for each in tallies))


def fuzz(known: Sequence[Parser], inputs: int, *, seed: int, seconds: float) -> list[Tally]:
    """Give every parser its share of the inputs, and return what came of them."""
    whole = sum(each.share for each in known)
    return [
        tried(
            each, max(1, round(inputs * each.share / whole)), Random(f"{seed} {each.name}"), seconds
        )
        for each in known
    ]


def tried(parser: Parser, inputs: int, chance: Random, seconds: float) -> Tally:
    """Return what comes of so many inputs of a parser."""
    accepted, refused, slowest, peak = 0, 0, 0.0, 0.0
    defects: list[dict[str, str]] = []
    forget_peak()
    before = memory("VmRSS")
    for number in range(inputs):
        text = (
            parser.seeds[number]
            if number < min(len(parser.seeds), 20)
            else made(parser.seeds, chance)
        )
        fault, began = None, time.process_time()
        try:
            with limited(seconds):
                parser.ask(text)
            accepted += 1
        except (GraphstoreError, click.ClickException) as error:
            refused += 1
            if len(str(error).splitlines()) != 1 and len(text.splitlines()) <= 1:
                fault = f"not one line: {error!s:.200}"
        except TooSlowError:
            fault = "too slow"
        except (Exception, KeyboardInterrupt) as error:
            fault = f"{type(error).__name__}: {error!s:.200}"
        took, grown = time.process_time() - began, memory("VmHWM") - before
        slowest, peak = max(slowest, took), max(peak, grown)
        if fault is None and (took > seconds or grown > MEMORY):
            fault = f"{took:.2f} s, {grown:.0f} MB"
            forget_peak()
        if fault is not None and len(defects) < 20:
            defects.append({"defect": fault, "input": f"{shown(text)} ({len(text):,} characters)"})
            if os.environ.get("FUZZ_WHOLE"):
                defects[-1]["input"] = ascii(text)[:100000]
    return Tally(
        parser.name, inputs, accepted, refused, round(slowest * 1000, 1), round(peak, 1), defects
    )


def made(seeds: Sequence[str], chance: Random) -> str:
    """Return a text that is like one of the seeds, or like nothing that anybody wants."""
    text = chance.choice(seeds)
    way = chance.random()
    if way < 0.05:
        return chance.choice(NASTY)
    if way > 0.9:
        return text
    if way < 0.1:
        codes = (int(chance.random() ** 4 * 0x10FFFF) for _ in range(chance.randrange(30)))
        return "".join(map(chr, codes))
    if way < 0.15:
        other, at = chance.choice(seeds), chance.randrange(len(text) + 1)
        return text[:at] + other[chance.randrange(len(other) + 1) :]
    if way < 0.17:
        return text * int(2 ** (12 * chance.random()))
    if way < 0.19:
        depth = chance.choice((2, 50, 150, 5000))
        opening, closing_ = chance.choice(("()", "[]", "{}", ("-", ""), ("not ", "")))
        return opening * depth + text + closing_ * depth
    if way < 0.22:
        return text.translate(
            {48 + digit: chance.choice((0x660, 0xFF10, 0x1D7CE)) + digit for digit in range(10)}
        )
    for _ in range(int(2 ** (4 * chance.random()))):
        begin = chance.randrange(len(text) + 1)
        end = min(len(text), begin + chance.choice((0, 0, 1, 1, 2, 8)))
        new = chance.choice(
            (text[end : end + 3], text[begin:end], chance.choice("".join(seeds) or "x"))
        )
        if chance.random() < 0.1:
            new = chance.choice(NASTY)
        text = text[:begin] + new + text[end:]
    return text


def statements(count: int) -> Iterator[str]:
    """Yield statements that are mostly right, and do nothing that anybody wants."""
    chance = Random(count)

    def term(depth: int) -> str:
        word = chance.choice(TERMS if depth < 4 else TERMS[:12])
        word = word.replace("%", str(10 ** chance.randrange(11)))
        return "".join(term(depth + 1) if each == "#" else each for each in word)

    for _ in range(count):
        tables = ", ".join(
            f"state AS s{at}" if at else "state" for at in range(chance.randrange(1, 4))
        )
        columns = ", ".join(term(0) for _ in range(chance.randrange(1, 4)))
        columns = re.sub(r"\b(id|ply|value|position|score)\b", r"state.\1", columns)
        end = chance.choice(
            ("", "", f"LIMIT {term(3)}", "ORDER BY 1", "GROUP BY state.ply", "UNION SELECT 1")
        )
        yield f"SELECT {columns} FROM {tables} {end}"


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """End what takes longer than that of the processor's time, where Python sees to signals."""

    def up(*_: object) -> None:
        raise TooSlowError

    before = signal.signal(signal.SIGPROF, up)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def memory(kind: str) -> float:
    """Return MB that the process has (VmRSS), or had at most (VmHWM); 0 where Linux tells not."""
    with suppress(OSError), open("/proc/self/status", encoding="ascii") as lines:
        for line in lines:
            if line.startswith(kind):
                return int(line.split()[1]) / 1024
    return 0.0


def forget_peak() -> None:
    """Let the peak be what the process has now."""
    with suppress(OSError), open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")


@contextmanager
def parsers() -> Iterator[list[Parser]]:
    """Lend all parsers, over databases in a folder of their own, which is the current one."""
    with ExitStack() as stack:
        stack.enter_context(patch.dict(os.environ, {"GRAPHSTORE_DEBUG": ""}))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        before = Path.cwd()
        stack.callback(os.chdir, before)
        os.chdir(folder)
        (folder / "fuzzed.py").write_text(RULES)
        stores = {}
        for name in BUILT:
            path = folder / (re.sub(r"\W+", "-", name) + ".db")
            build(name, path)
            stores[name] = stack.enter_context(Store.open(path))
        train(stores["hexapawn(3,3)"].path, "known", games=20, seed=1)
        known = [*positions(stores), *words(folder), *of_databases(stores["tictactoe"])]
        known += commands(stores["tictactoe"].path)
        known.append(explorer(stack, stores["tictactoe"].path))
        known.append(damaged(stores["hexapawn(3,3)"].path, folder / "damaged.db"))
        before_all = {each: each.read_bytes() for each in folder.glob("*.db")}
        yield known
        after_all = {each: each.read_bytes() for each in folder.glob("*.db") if each in before_all}
        assert after_all == before_all, "an input has changed a database"


def positions(stores: dict[str, Store]) -> Iterator[Parser]:
    """Yield what reads the positions of every kind of game."""
    names = [name for family in FAMILIES for name in (*family.examples, *family.large)]
    names += ["mnk(3,3,3,misere)", "connect(7,6)", "morris(king,pass,straight)"]
    names += [f"fuzzed.py:{kind}" for kind in ("Heap", "Named", "Numbers", "Word", "Placed")]
    for name in dict.fromkeys(names):
        game = find_game(name)
        store = stores.get(name)
        yield Parser(f"position of {name}", 2, some_texts(game), reads_again(game, store))


def some_texts(game: Game, *, lines: int = 8) -> list[str]:
    """Return texts and boards of positions, of games played at random."""
    chance, found = Random(game.name), []
    for _ in range(lines):
        here = game.start_states()[:1]
        while True:
            found += [*game.texts(here), game.board(int(here[0]))]
            if game.outcomes(here)[0] != IN_PLAY:
                break
            here = chance.choice(game.expand(here).child.tolist())
            here = np.array([here], dtype=np.int64)
    return list(dict.fromkeys(found))


def reads_again(game: Game, store: Store | None) -> Callable[[str], None]:
    """Return what reads a position, writes it, and reads that again."""

    def ask(text: str) -> None:
        position = game.read(text)
        here = np.array([position], dtype=np.int64)
        (written_,) = game.texts(here)
        assert game.read(written_) == position, (written_, "is read as another")
        assert game.texts(np.array([game.read(written_)])) == [written_]
        assert game.read_many([text]).tolist() == [position], "read_many differs"
        canonical = game.canonical(here)
        assert game.canonical(canonical).tolist() == canonical.tolist()
        assert 0 <= position < 2**63
        game.board(position)
        if store is not None:
            with suppress(NotInStoreError):
                assert store.probe(text).state == canonical[0]

    return ask


def words(folder: Path) -> Iterator[Parser]:
    """Yield what reads names, numbers, settings and addresses."""
    names = [
        name for family in FAMILIES for name in (*family.examples, *family.large, family.usage)
    ]
    specs = [
        f"fuzzed.py:{name}" for name in ("Heap", "Heap(3)", "Heap(most=3)", "Word", "Pair(1, 2)")
    ]
    specs += [
        "fuzzed.py",
        f"{folder}/fuzzed.py:Numbers",
        "no.such.module:Name",
        "fuzzed.py:Heap('a',)",
    ]

    def name(text: str) -> None:
        find_builtin(text)
        if ":" not in text and not text.strip().endswith(".py"):
            game = find_game(text)
            assert find_game(game.name).name == game.name

    def spec(text: str) -> None:
        module = text.partition(":")[0].strip().split(".")[0]
        others = module.isidentifier() and module != "fuzzed" and importlib.util.find_spec(module)
        if not others and ":" in text:  # code of other modules is not to be run here
            find_game(text)

    def integers(text: str) -> None:
        numbers = [int(each) for each in re.findall(r"-?[0-9]{1,30}", text)][:50]
        for odd in (text, [text, 1], [numbers, [*numbers, 1]], 0.5, [numbers, None]):
            for function in (encodings.to_masks, encodings.pack32, encodings.unpack32):
                with suppress(GraphstoreError):
                    function(odd)  # type: ignore[arg-type]
        with suppress(GraphstoreError):
            assert encodings.unpack32(encodings.pack32(numbers)).tolist() == numbers
        with suppress(GraphstoreError):
            assert encodings.pack32(encodings.unpack32(numbers)).tolist() == numbers
        assert encodings.from_masks(*encodings.to_masks(numbers)).tolist() == numbers

    ultimate: Any = find_game("ultimate(closed)")

    def record(text: str) -> None:
        data = (
            bytes.fromhex(text)
            if re.fullmatch("([0-9a-f]{2})*", text)
            else text.encode("utf-8", "replace")
        )
        with suppress(GraphstoreError):
            position_of(ultimate, data)
        assert Record.unpack(data).pack() == data

    def settings(text: str) -> None:
        name, _, value = text.partition("=")
        if not value:
            assert read_stages(written(read_stages(name))) == read_stages(name)
            return
        whole = int(value) if re.fullmatch(r"-?[0-9]{1,40}", value) else value
        Settings.of({name: whole})

    def opponent(text: str) -> None:
        assert 0 <= read_opponent(text).mistakes <= 1
        assert agent_name(text) == text

    def address(text: str) -> None:
        Store.open(text).close()

    def place(text: str) -> None:
        with suppress(UnicodeDecodeError):
            game, position = addresses.read("game", text)
            with suppress(UnicodeEncodeError):
                path = addresses.write(game, position).split("/", 4)
                assert addresses.read(path[3], [*path, ""][4]) == (game, position)

    hexed = [record_of(ultimate, ultimate.read(each)).hex() for each in some_texts(ultimate)[::2]]
    packed = [str(each) for each in encodings.pack32([0, 1 << 13, 1 << 13 | 1]).tolist()]
    urls = [
        "tictactoe.db",
        "sqlite:///tictactoe.db",
        "sqlite:tictactoe.db",
        "fuzzed.py",
        ".",
        "nim.db",
    ]
    urls += ["postgresql://host/games", "file:tictactoe.db?mode=rwc", "sqlite:///:memory:"]
    yield Parser("name of a game", 4, names, name)
    yield Parser("rules of others", 2, specs, spec)
    yield Parser("integers of others", 2, [*packed, "0 16 131088", "262143", "511 0"], integers)
    yield Parser("records of ultimate", 3, hexed, record)
    yield Parser(
        "settings", 3, ["4/3/2/1", "2", "win=3", "longest=9", "empty=resign", "side=2"], settings
    )
    yield Parser(
        "opponents", 3, ["perfect", "mistakes=0.2", "random", "menace", "x-1_.y"], opponent
    )
    yield Parser("databases", 2, urls, address)
    yield Parser("addresses", 3, ["XO./.X./...", "~2E~2E/..%20O", "~", "a%2Fb", "%FF"], place)


def of_databases(store: Store) -> Iterator[Parser]:
    """Yield what reads SQL, and moves in play."""
    match = Match(store, start="X../.O./..X", seed=1)

    def sql(text: str) -> None:
        before = store.path.stat(), sorted(os.listdir())
        try:
            for _ in store.sql(text, seconds=0.1, rows=50):
                pass
        finally:
            assert (store.path.stat(), sorted(os.listdir())) == before, "it has written"

    def where(text: str) -> None:
        with selected(store, where=text) as part:
            assert part.states

    yield Parser("SQL", 6, (*SQL, *statements(500)), sql)
    yield Parser("conditions", 3, WHERE, where)
    yield Parser("moves", 3, ["1", "3", "5", "7", "+2", " 1 "], match.read)


def commands(path: Path) -> Iterator[Parser]:
    """Yield whole commands, one word of each being the input, or what is typed at them."""
    texts = ["XO./.X./...", ".........", "8706", "x|o|.\n-+-+-\n.|x|.\n-+-+-\n.|.|."]
    lines: dict[str, tuple[tuple[str, ...], Sequence[str]]] = {
        "show": (("show", str(path), "?"), texts),
        "line": (("line", str(path), "?"), texts),
        "draw": (("draw", str(path), "?", "--format", "text"), texts),
        "solve": (("solve", "tictactoe", "?", "--timeout", "0.3"), texts),
        "sql": (("sql", "--seconds", "0.1", "--rows", "50", str(path), "?"), SQL),
        "export": (("export", str(path), "--format", "csv", "--where", "?"), WHERE),
        "agents": (("agents", str(path), "?"), ["menace", "known"]),
        "play": (("play", str(path), "--seed", "1", "--moves", "?"), ["4 0 8", "0,1,2"]),
        "against": (
            ("play", str(path), "--moves", "0", "--against", "?"),
            ["random", "mistakes=1"],
        ),
        "replies": (
            ("play", str(path), "--seed", "1"),
            ["4\nhint\nundo\n?\nmoves\n0\nq\n", "resign\n"],
        ),
    }
    for name, (command, seeds) in lines.items():
        yield Parser(f"command: {name}", 0.6, seeds, commanded(command))


def commanded(command: Sequence[str]) -> Callable[[str], None]:
    """Return what runs a command, and refuses where it did, in one line."""

    def ask(text: str) -> None:
        line = [text if word == "?" else word for word in command]
        typed = text.encode(errors="surrogatepass")
        code, out, err = run(line, typed)
        if code:
            last = err.rstrip("\n").split("\n")[-1]
            assert code in (1, 2), (code, err)
            assert last.startswith("graphstore: "), err
            assert "a bug" not in err, err
            raise RefusedError(last)
        for said in (out, err):
            assert said.replace("\n", "").replace("\t", "").isprintable() or "csv" in line, (
                "control"
            )

    return ask


def run(line: Sequence[str], typed: bytes = b"") -> tuple[int, str, str]:
    """Run a command here; return its exit code, and what it printed."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace") for _ in range(2))
    stdin = io.TextIOWrapper(io.BytesIO(typed), encoding="utf-8")
    code: Any = 0
    with (
        patch.object(sys, "argv", ["graphstore", *line]),
        patch.object(sys, "stdin", stdin),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            graphstore()
        except SystemExit as done:
            code = done.code or 0
    texts = []
    for each in (out, err):
        each.flush()
        texts.append(each.buffer.getvalue().decode())
    return int(code), texts[0], texts[1]


def explorer(stack: ExitStack, path: Path) -> Parser:
    """Return what answers the URLs of the explorer."""
    from graphstore.web.application import application

    runner = stack.enter_context(asyncio.Runner())
    site = application([Store.open(path)])
    stack.callback(site.close)
    app = site.app()

    async def status(text: str) -> int:
        path, _, query = text.encode(errors="surrogatepass").partition(b"?")
        told: list[int] = []

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                told.append(message["status"])

        async def receive() -> Any:
            return {"type": "http.request", "body": b"", "more_body": False}

        scope = {
            "type": "http",
            "method": "GET",
            "path": path.decode("utf-8", "replace"),
            "raw_path": path,
        }
        scope |= {
            "query_string": query,
            "headers": [(b"host", b"localhost")],
            "http_version": "1.1",
        }
        scope |= {
            "scheme": "http",
            "server": ("localhost", 80),
            "client": ("localhost", 1),
            "root_path": "",
        }
        await app(scope, receive, send)
        return told[0]

    def ask(text: str) -> None:
        code = runner.run(status(text if text.startswith("/") else f"/{text}"))
        assert code < 500, f"status {code}"
        if code >= 400:
            raise RefusedError(f"status {code}")

    pages = ["/", "/tictactoe", "/-/explore/tictactoe", "/-/explore/tictactoe/XO./.X./..."]
    pages += [
        "/-/explore/tictactoe/X../.O./...?against=perfect&as=2&turn=1&hide=1&from=0&to=1&cell=2"
    ]
    pages += [
        "/-/explore/tictactoe/8706.json?agent=menace",
        "/tictactoe/state?ply__lte=3&_sort=score",
    ]
    pages += [
        "/tictactoe/state.json?_shape=array&_size=5&_next=7",
        "/tictactoe/q_table.csv?_size=3",
    ]
    pages += ["/tictactoe.json?sql=SELECT+board(id)+FROM+state+LIMIT+2", "/tictactoe/edge/0,4"]
    pages += [
        f"/tictactoe.json?sql={quote(each)}"
        for each in SQL
        if "RECURSIVE" not in each and "more" not in each
    ]
    pages += [
        "/tictactoe/state?_facet=ply&_where=ply%3D1&_search=X",
        "/-/static/app.css",
        "/-/versions.json",
    ]
    return Parser("URLs", 6, pages, ask)


def damaged(path: Path, target: Path) -> Parser:
    """Return what reads a database of which bytes were changed, as the text says by chance."""
    whole = path.read_bytes()

    def ask(text: str) -> None:
        data, chance = bytearray(whole), Random(ascii(text))
        page = 4096 * chance.randrange(len(data) // 4096)
        way = chance.random()
        if way < 0.15:
            del data[chance.randrange(len(data)) :]
        elif way < 0.3:
            other = 4096 * chance.randrange(len(data) // 4096)
            data[page : page + 4096], data[other : other + 4096] = (
                data[other : other + 4096],
                data[page : page + 4096],
            )
        elif way < 0.4:
            data[page : page + 4096] = (
                chance.randbytes(4096) if chance.random() < 0.5 else bytes(4096)
            )
        else:
            for _ in range(int(2 ** (8 * chance.random()))):
                near = page if chance.random() < 0.5 else chance.randrange(len(data) - 4096)
                data[near + chance.randrange(4096 if chance.random() < 0.5 else 100)] = (
                    chance.randrange(256)
                )
        target.write_bytes(data)
        read_all(target, chance)

    return Parser("damaged files", 1, [str(number) for number in range(1000)], ask)


def read_all(path: Path, chance: Random) -> None:
    """Read a database in every way."""
    line = chance.choice(("show", "stats", "verify", "agents", "line", "draw --format text"))
    for words in (line, "agents known", "export --format csv --table matchbox"):
        command, *others = words.split()
        code, _, err = run([command, str(path), *others])
        assert code in (0, 1), err
        assert "a bug" not in err, err
    with Store.open(path) as store:
        ways: list[Callable[[], object]] = [
            lambda: store.probe(store.info["start"]),
            lambda: store.lookup([store.info["start"]]),
            store.line,
            store.census,
            store.q_table,
            store.graph,
            lambda: list(store.sql("SELECT * FROM state, game, agent")),
            lambda: summaries(store),
            lambda: load(store, "known").generator(),
            lambda: verify(store),
        ]
        for way in ways:
            with suppress(GraphstoreError):
                way()


if __name__ == "__main__":
    main()
