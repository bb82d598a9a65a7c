"""Check that every parser of untrusted text reads it correctly, or refuses it in one line.

Inputs are valid texts, mutated and spliced, and texts that programs often handle badly: huge
numbers, deep nesting, NUL, lone surrogates, digits of other scripts. Every parser gets its share of
them, in this process: positions of every game, names of games, bytes of other programs, SQL,
settings, names and addresses, the explorer's URLs, whole commands and their standard input. A
position must be the same after it is read, written and read again. An input that takes more than
--seconds of the processor, or more than 200 MB, is also a defect.
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
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from unittest.mock import patch
from urllib.parse import quote

import click
import numpy as np

from graphstore import Store, build, find_game
from graphstore.cli.console import print_json, print_table
from graphstore.cli.main import main as graphstore
from graphstore.errors import GraphstoreError, NotInStoreError, shown
from graphstore.exports.selection import selected
from graphstore.games import FAMILIES, find_builtin
from graphstore.games.ultimate.convert import position_of, record_of
from graphstore.games.ultimate.record import Record
from graphstore.play.match import Match
from graphstore.play.menace import Settings, read_stages, written
from graphstore.play.opponents import agent_name, read_opponent
from graphstore.rules.game import IN_PLAY, Game
from graphstore.web import addresses

MEMORY = 200  # MB that an input may take
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
SPECS = ("Heap", "Heap(3)", "Heap(most=3)", "Word", "Pair(1, 2)")
NASTY = (
    *("", " ", "\0", "\ud800", "\udcff", "\u202e", "\ufeff", "e\u0301", "\U0001f600", "\x1b[31m"),
    *("9" * 20, "9" * 5000, "-1", "-0", "+1", "1e999", "nan", "inf", "0x10", "1_000", "1.0"),
    "1" * 63,
    *("\u0663\u0664", "\u00b2", "\uff13", "\u2460", "½", "ß", "İ", "\u0130", "ﬁ"),
    *("%s%n%d", "{0.__class__}", "{}", "[red]x[/red]", "[/]", "<b>&amp;", "'\"`", "\\", "../.."),
    "~",
    *("(" * 90, "(" * 9000, "[" * 9000 + "]" * 9000, "-" * 9000 + "1", "not " * 3000 + "1"),
    *("X" * 100_000, "." * 10_001, "/" * 5000, "a,b;" * 2000, "\n" * 1000, "| " * 3000),
    *("NULL", "None"),
)
SQL = """\
SELECT count(*) FROM state WHERE ply <= 3 AND value = 1
SELECT board(id), canonical(position) FROM state ORDER BY id LIMIT 3
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n
SELECT replace(hex(zeroblob(9000)), '0', group_concat(id)) FROM state, edge, state AS more
SELECT printf('%*c%.*f', 99999999, 'x', 9999, 1.5), trim(hex(randomblob(9999)), '0123')
SELECT json_group_array(position) FROM state WHERE position LIKE '%X%O%X%'
SELECT max(score) OVER (ORDER BY id) FROM state, state GLOB '*[a-z]*'
SELECT * FROM json_tree('[[[1, {"a": 2}]]]'), pragma_table_info('edge')
DELETE FROM state WHERE 1
UPDATE state SET value = 0 RETURNING *
DROP TABLE edge
ATTACH 'new.db' AS new
VACUUM INTO 'new.db'
PRAGMA writable_schema = 1
INSERT INTO edge SELECT * FROM edge
CREATE TEMP TABLE x AS SELECT 1
ALTER TABLE x
SELECT load_extension('x.so')
SELECT writefile('new.db', 1)
BEGIN IMMEDIATE
REINDEX""".splitlines()
SYNTAX = """\
id; ply; value; position; score; NULL; 1; -9223372036854775808; 1e308; x'ff'; 'X'; random(); \
hex(zeroblob(%)); board(#); canonical(#); printf(#, #, #); (# || #); replace(#, #, #); \
trim(#, #); instr(#, #); (# LIKE #); (# GLOB #); substr(#, #, #); CAST(# AS TEXT); zeroblob(%); \
json_array(#, #); group_concat(#); max(#); count(*); (SELECT #); CASE # WHEN # THEN # END; \
(# IN (#, #)); quote(#); abs(#); char(#, #); json_patch(#, #); (# + #); (# << #); round(#, #); \
unicode(#); strftime(#, #)"""
TERMS = SYNTAX.split("; ")  # of statements: # is a term, % a number
WHERE = """\
ply <= 3 AND value = 1
position LIKE 'X%'
id IN (SELECT child FROM edge)
1) OR (1
board(id) GLOB '*O'
ply = (SELECT max(ply) FROM state)
id = canonical('XO.......')""".splitlines()

URLS = """\
/
/tictactoe
/-/explore/tictactoe
/-/explore/tictactoe/XO./.X./...
/-/explore/tictactoe/X../.O./...?against=perfect&as=2&turn=1&hide=1&from=0&to=1&moves=0,4&at=2&start=.../.../...&flip=turned&view=setup
/-/explore/tictactoe/8706.json?agent=menace
/tictactoe/state?ply__lte=3&_sort=score
/tictactoe/state.json?_shape=array&_size=5&_next=7
/tictactoe/q_table.csv?_size=3
/tictactoe.json?sql=SELECT+board(id)+FROM+state+LIMIT+2
/tictactoe/edge/0,4
/tictactoe/state?_facet=ply&_where=ply%3D1&_search=X
/-/static/app.css
/-/versions.json""".splitlines()


class Parser(NamedTuple):
    """A function that reads texts, and its examples."""

    name: str  # of the texts that it reads
    share: float  # weight of its inputs among those of all parsers
    seeds: Sequence[str]  # valid texts, from which inputs are derived
    ask: Callable[[str], object]  # raises GraphstoreError to refuse a text, AssertionError if wrong


class Tally(NamedTuple):
    """The results of a parser; times are processor time."""

    parser: str
    inputs: int
    accepted: int
    refused: int
    slowest_ms: float
    peak_mb: float
    defects: list[dict[str, str]]


class RefusedError(GraphstoreError):
    """A command or the explorer refused an input."""


class TooSlowError(BaseException):
    """The time of an input is up."""


def main() -> None:
    """Print the results; exit with 1 if there are defects."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000, metavar="N", help="number of inputs")
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same inputs")
    parser.add_argument("--seconds", type=float, default=1.0, help="processor time for an input")
    parser.add_argument("--only", metavar="TEXT", help="only parsers with this in their name")
    parser.add_argument("--json", action="store_true", help="print JSON, with whole inputs")
    given = parser.parse_args()
    with parsers() as known:
        chosen = [each for each in known if given.only is None or given.only in each.name]
        tallies = fuzz(chosen, given.inputs, seed=given.seed, seconds=given.seconds)
    if given.json:
        print_json([each._asdict() for each in tallies])
    else:
        print_table(Tally._fields, [[*each[:-1], len(each.defects)] for each in tallies])
        for each in tallies:
            for defect in each.defects:
                text = defect["input"]
                print(f"\n{each.parser}: {defect['defect']}")
                print(f"    {shown(text)} ({len(text):,} characters)")
    sys.exit(any(each.defects for each in tallies))


def fuzz(known: Sequence[Parser], inputs: int, *, seed: int, seconds: float) -> list[Tally]:
    """Give every parser its share of the inputs, and return the results."""
    whole = sum(each.share for each in known)
    shares = [max(1, round(inputs * each.share / whole)) for each in known]
    return [
        run_parser(each, share, Random(f"{seed} {each.name}"), seconds)
        for each, share in zip(known, shares, strict=True)
    ]


def run_parser(parser: Parser, inputs: int, chance: Random, seconds: float) -> Tally:
    """Return the results of a parser after so many inputs; the first 20 of these are seeds."""
    accepted, refused, slowest, peak = 0, 0, 0.0, 0.0
    defects: list[dict[str, str]] = []
    forget_peak()
    before = memory("VmRSS")
    for number in range(inputs):
        first = number < min(len(parser.seeds), 20)
        text = parser.seeds[number] if first else new_input(parser.seeds, chance)
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
            defects.append({"defect": fault, "input": text})
    figures = (round(slowest * 1000, 1), round(peak, 1))
    return Tally(parser.name, inputs, accepted, refused, *figures, defects)


# Inputs


def new_input(seeds: Sequence[str], chance: Random) -> str:
    """Return a random text, most often a mutation of one of the seeds."""
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
        opening, closing = chance.choice(("()", "[]", "{}", ("-", ""), ("not ", "")))
        return opening * depth + text + closing * depth
    if way < 0.22:
        zeros = (0x660, 0xFF10, 0x1D7CE)
        return text.translate({48 + digit: chance.choice(zeros) + digit for digit in range(10)})
    for _ in range(int(2 ** (4 * chance.random()))):
        begin = chance.randrange(len(text) + 1)
        end = min(len(text), begin + chance.choice((0, 0, 1, 1, 2, 8)))
        letter = chance.choice("".join(seeds) or "x")
        new = chance.choice((text[end : end + 3], text[begin:end], letter))
        if chance.random() < 0.1:
            new = chance.choice(NASTY)
        text = text[:begin] + new + text[end:]
    return text


def statements(count: int) -> Iterator[str]:
    """Yield statements that are mostly valid."""
    chance = Random(count)

    def term(depth: int) -> str:
        word = chance.choice(TERMS if depth < 4 else TERMS[:12])
        word = word.replace("%", str(10 ** chance.randrange(11)))
        return "".join(term(depth + 1) if each == "#" else each for each in word)

    for _ in range(count):
        names = (f"state AS s{at}" if at else "state" for at in range(chance.randrange(1, 4)))
        tables = ", ".join(names)
        columns = ", ".join(term(0) for _ in range(chance.randrange(1, 4)))
        columns = re.sub(r"\b(id|ply|value|position|score)\b", r"state.\1", columns)
        limit = f"LIMIT {term(3)}"
        ends = ("", "", limit, "ORDER BY 1", "GROUP BY state.ply", "UNION SELECT 1")
        yield f"SELECT {columns} FROM {tables} {chance.choice(ends)}"


# Limits


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise TooSlowError in a block that takes more processor time; Windows lacks this timer."""
    if not hasattr(signal, "setitimer"):
        yield
        return

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
    """Return the memory of the process in MB: VmRSS now, VmHWM at most; 0 without /proc."""
    with suppress(OSError), open("/proc/self/status", encoding="ascii") as lines:
        for line in lines:
            if line.startswith(kind):
                return int(line.split()[1]) / 1024
    return 0.0


def forget_peak() -> None:
    """Reset the peak to the memory that the process has now."""
    with suppress(OSError), open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")


# Parsers


@contextmanager
def parsers() -> Iterator[list[Parser]]:
    """Yield all parsers, over databases in a temporary folder, which is the current one."""
    with ExitStack() as stack:
        stack.enter_context(patch.dict(os.environ, {"GRAPHSTORE_DEBUG": ""}))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stack.callback(os.chdir, Path.cwd())
        os.chdir(folder)
        (folder / "fuzzed.py").write_text(RULES, encoding="utf-8")
        stores = {}
        for name in BUILT:
            path = folder / (re.sub(r"\W+", "-", name) + ".db")
            build(name, path)
            stores[name] = stack.enter_context(Store.open(path))
        tictactoe = stores["tictactoe"]
        known = [*positions(stores), *words(folder), *of_databases(tictactoe)]
        known += [*commands(tictactoe.path), explorer(stack, tictactoe.path)]
        before = {each: each.read_bytes() for each in folder.glob("*.db")}
        yield known
        changed = [each.name for each in before if each.read_bytes() != before[each]]
        assert not changed, f"an input has changed {changed}"


def positions(stores: dict[str, Store]) -> Iterator[Parser]:
    """Yield the parsers of positions, for every kind of game."""
    names = [name for family in FAMILIES for name in (*family.examples, *family.large)]
    names += ["mnk(3,3,3,misere)", "connect(7,6)", "morris(king,pass,straight)"]
    names += [f"fuzzed.py:{kind}" for kind in ("Heap", "Named", "Numbers", "Word", "Placed")]
    for name in dict.fromkeys(names):
        game = find_game(name)
        ask = reads_again(game, stores.get(name))
        yield Parser(f"position of {name}", 2, some_texts(game), ask)


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
    """Return a function that reads a position, writes it, and reads it again."""

    def ask(text: str) -> None:
        position = game.read(text)
        here = np.array([position], dtype=np.int64)
        (again,) = game.texts(here)
        assert game.read(again) == position, (again, "is read as another")
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
    """Yield the parsers of names, numbers, settings and addresses."""

    def name(text: str) -> None:
        find_builtin(text)
        if ":" not in text and not text.strip().endswith(".py"):
            game = find_game(text)
            assert find_game(game.name).name == game.name

    def spec(text: str) -> None:
        module = text.partition(":")[0].strip().split(".")[0]
        others = module.isidentifier() and module != "fuzzed" and importlib.util.find_spec(module)
        if not others and ":" in text:  # the code of other modules must not run here
            find_game(text)

    ultimate: Any = find_game("ultimate(closed)")

    def record(text: str) -> None:
        hexadecimal = re.fullmatch("([0-9a-f]{2})*", text)
        data = bytes.fromhex(text) if hexadecimal else text.encode("utf-8", "replace")
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

    names = [
        name for family in FAMILIES for name in (*family.examples, *family.large, family.usage)
    ]
    specs = [f"fuzzed.py:{spec}" for spec in SPECS]
    specs += ["fuzzed.py", f"{folder}/fuzzed.py:Numbers", "no.such.module:Name"]
    specs += ["fuzzed.py:Heap('a',)"]
    boards = (ultimate.read(each) for each in some_texts(ultimate)[::2])
    hexed = [record_of(ultimate, each).hex() for each in boards]
    staged = ["4/3/2/1", "2", "win=3", "longest=9", "empty=resign", "side=2"]
    played = ["perfect", "mistakes=0.2", "random", "menace", "x-1_.y"]
    urls = ["tictactoe.db", "sqlite:///tictactoe.db", "sqlite:tictactoe.db", "fuzzed.py", "."]
    urls += ["nim.db", "postgresql://host/games", "file:tictactoe.db?mode=rwc"]
    urls += ["sqlite:///:memory:"]
    yield Parser("name of a game", 4, names, name)
    yield Parser("rules of others", 2, specs, spec)
    yield Parser("records of ultimate", 3, hexed, record)
    yield Parser("settings", 3, staged, settings)
    yield Parser("opponents", 3, played, opponent)
    yield Parser("databases", 2, urls, address)
    yield Parser("addresses", 3, ["XO./.X./...", "~2E~2E/..%20O", "~", "a%2Fb", "%FF"], place)


def of_databases(store: Store) -> Iterator[Parser]:
    """Yield the parsers of SQL, and of moves in play."""
    match = Match(store, start="X../.O./..X", seed=1)

    def sql(text: str) -> None:
        before = store.path.stat(), sorted(os.listdir())
        try:
            for _ in store.sql(text, seconds=0.1, rows=50):
                pass
        finally:
            assert (store.path.stat(), sorted(os.listdir())) == before, "SQL has written"

    def where(text: str) -> None:
        with selected(store, where=text) as part:
            assert part.states

    yield Parser("SQL", 6, (*SQL, *statements(500)), sql)
    yield Parser("conditions", 3, WHERE, where)
    yield Parser("moves", 3, ["1", "3", "5", "7", "+2", " 1 "], match.read)


def commands(path: Path) -> Iterator[Parser]:
    """Yield whole commands, in which ? is the input; without a ? it is their standard input."""
    texts = ["XO./.X./...", ".........", "8706", "x|o|.\n-+-+-\n.|x|.\n-+-+-\n.|.|."]
    typed = ["4\nhint\nundo\n?\nmoves\n0\nq\n", "resign\n"]
    lines: list[tuple[str, str, Sequence[str]]] = [
        ("show", "show FILE ?", texts),
        ("line", "line FILE ?", texts),
        ("draw", "draw FILE ? --format text", texts),
        ("solve", "solve tictactoe ? --timeout 0.3", texts),
        ("sql", "sql --seconds 0.1 --rows 50 FILE ?", SQL),
        ("export", "export FILE --format csv --where ?", WHERE),
        ("agents", "agents FILE ?", ["menace"]),
        ("play", "play FILE --seed 1 --moves ?", ["4 0 8", "0,1,2"]),
        ("against", "play FILE --moves 0 --against ?", ["random", "mistakes=1"]),
        ("replies", "play FILE --seed 1", typed),
    ]
    for name, line, seeds in lines:
        command = [str(path) if word == "FILE" else word for word in line.split()]
        yield Parser(f"command: {name}", 0.6, seeds, commanded(command))


def commanded(command: Sequence[str]) -> Callable[[str], None]:
    """Return a function that runs a command; it raises RefusedError after a proper error line."""

    def ask(text: str) -> None:
        line = [text if word == "?" else word for word in command]
        code, out, err = run(line, text.encode(errors="surrogatepass"))
        if code:
            last = err.rstrip("\n").split("\n")[-1]
            assert code in (1, 2), (code, err)
            assert last.startswith("graphstore: "), err
            assert "a bug" not in err, err
            raise RefusedError(last)
        for said in (out, err):
            printable = said.replace("\n", "").replace("\t", "").isprintable()
            assert printable or "csv" in line, "control"

    return ask


def run(line: Sequence[str], typed: bytes = b"") -> tuple[int, str, str]:
    """Run a command in this process; return its exit code, stdout and stderr."""
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
    """Return the parser of the explorer's URLs."""
    from graphstore.web.application import application

    runner = stack.enter_context(asyncio.Runner())
    site = application([Store.open(path)])
    stack.callback(site.close)
    app = site.app()

    async def status(text: str) -> int:
        path, _, query = text.encode(errors="surrogatepass").partition(b"?")
        statuses: list[int] = []

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        async def receive() -> Any:
            return {"type": "http.request", "body": b"", "more_body": False}

        scope: dict[str, Any] = {
            "type": "http",
            "http_version": "1.1",
            "scheme": "http",
            "method": "GET",
        }
        scope |= {"server": ("localhost", 80), "client": ("localhost", 1), "root_path": ""}
        scope |= {"path": path.decode("utf-8", "replace"), "raw_path": path, "query_string": query}
        scope |= {"headers": [(b"host", b"localhost")]}
        await app(scope, receive, send)
        return statuses[0]

    def ask(text: str) -> None:
        code = runner.run(status(text if text.startswith("/") else f"/{text}"))
        assert code < 500, f"status {code}"
        if code >= 400:
            raise RefusedError(f"status {code}")

    quick = (each for each in SQL if "RECURSIVE" not in each and "more" not in each)
    pages = [*URLS, *(f"/tictactoe.json?sql={quote(each)}" for each in quick)]
    return Parser("URLs", 6, pages, ask)


if __name__ == "__main__":
    main()
