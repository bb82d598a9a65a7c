"""The parts of a game that an export selects, and the reports and errors of the command."""

import csv
import io
import json
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing

import networkx as nx
import pytest
from conftest import GRAPHSTORE, NASTY_TEXTS, Nasty, TableGame, error_line, for_all, some_of

from graphstore import Store, build, export
from graphstore.errors import QueryError, SelectionError, StoreError, StoreExistsError
from graphstore.exports.selection import selected
from graphstore.store.sqlite.rows import RowReader

CYCLIC = TableGame({0: {0: 1, 5: 2}, 1: {3: 0, 1: 2}, 2: {0: 1, 1: 3}, 3: {0: 4}, 4: -1}, 0)


def part_of(store, **options):
    """Return the ids of the states of a part, and its edges as (parent, move, child)."""
    with selected(store, **options) as part:
        states = [row[0] for rows in part.rows("state") for row in rows]
        edges = [row for rows in part.rows("edge") for row in rows]
        assert part.states == len(states)
    assert states == sorted(states)
    assert edges == sorted(edges)
    return set(states), set(edges)


def induced(graph, states):
    """Return the expected result of `part_of`, from networkx."""
    edges = graph.subgraph(states).edges(data="moves")
    return states, {(parent, move, child) for parent, child, moves in edges for move in moves}


def within(graph, start, plies):
    """Return the states at most `plies` below a state, from networkx."""
    return set(nx.single_source_shortest_path_length(graph, start, cutoff=plies))


@pytest.mark.parametrize("plies", [None, 0, 1, 2, 5, 10**20])
@pytest.mark.parametrize("position", [".../.../...", "XO./.../...", "XO./.X./...", "XXX/OO./..."])
def test_below_a_position_is_what_play_can_reach_within_the_plies(store, position, plies):
    graph = store.graph()
    start = store.probe(position).state
    right = induced(graph, within(graph, start, plies))
    assert part_of(store, below=position, plies=plies) == right
    assert part_of(store, below=start, plies=plies) == right


@pytest.mark.parametrize("plies", [None, 0, 1, 2, 3])
@pytest.mark.parametrize("start", range(5))
def test_in_a_game_with_cycles_the_shortest_way_counts(tmp_path, start, plies):
    build(CYCLIC, tmp_path / "t.db")
    with Store.open(tmp_path / "t.db") as store:
        graph = store.graph()
        right = induced(graph, within(graph, start, plies))
        assert part_of(store, below=start, plies=plies) == right


@pytest.mark.parametrize(
    ("condition", "right"),
    [
        ("ply <= 3 AND value = 1", lambda of: of["ply"] <= 3 and of["value"] == 1),
        ("ply = 9 OR ended", lambda of: of["ply"] == 9 or of["ended"]),
        ("win_depth IS NULL -- and so on", lambda of: of["win_depth"] is None),
        ("position LIKE 'X%' /* ) */", lambda of: of["position"].startswith("X")),
        ("id IN (SELECT parent FROM edge)", lambda of: not of["ended"]),
        ("position <> ') OR (' AND (ply) > (7)", lambda of: of["ply"] > 7),
    ],
)
def test_where_is_a_condition_over_the_columns_of_state(store, condition, right):
    graph = store.graph()
    chosen = {state for state, of in graph.nodes(data=True) if right(of)}
    assert chosen
    assert part_of(store, where=condition) == induced(graph, chosen)
    start = store.probe("XO./.X./...").state
    both = chosen & within(graph, start, 4)
    options = {"below": "XO./.X./...", "plies": 4, "where": condition}
    if both:
        assert part_of(store, **options) == induced(graph, both)
    else:
        with pytest.raises(SelectionError, match=r"no state of .* below 'XO.*' fulfils"):
            part_of(store, **options)


QUOTED = {
    "sqlite": [
        "position <> ') OR ('",
        "position <> ''')'",
        r"position <> '\'",
        "`position` <> ')' AND [position] <> ')' AND \"position\" <> ')'",
        "(SELECT `)` FROM (SELECT 1 AS `)`))",
        "(SELECT [)] FROM (SELECT 1 AS [)]))",
        '(SELECT ")""" FROM (SELECT 1 AS ")"""))',
        "1 /* ; ) ' \" */ AND 1 -- ) ? :x ;\n",
        "position <> ';?:x'",
    ],
    "postgresql": [
        "position <> $$)$$",
        "position <> $a$ ) $$ ) $b$ $a$ AND position <> $é$)$é$",
        r"position <> E'\')' AND position <> e'\\'",
        "position <> E'a'  -- more\n  '\\')'",
        r"position <> '\'",
        r"position <> U&'\0029)' AND position <> N')'",
        "(SELECT a$$ FROM (SELECT true AS a$$) AS b) /* ) ' $$ */",
        '(SELECT ")""" FROM (SELECT true AS ")""") AS b)',
        "true /* ; ) /* ) */ ) ' */ AND true -- ) ? :x ;\n",
        "(ARRAY[true])[1] AND position <> ';?:x'",
    ],
}
CLOSED = {
    "sqlite": [
        "1 /* /* */ ) OR (1 /* */",
        "$$ ) OR ($$ = 1",
        r"position <> E'\') OR (1",
    ],
    "postgresql": [
        r"position <> '\') OR (true",
        "`) OR (`",
        "a$$) OR (true) OR (a$$ = 1",
        r"position <> E'a' '\') OR (true",
        "true /* /* */ */) OR (true /* */",
    ],
}


def test_brackets_in_quotes_and_comments_do_not_count(store):
    everything = part_of(store, where="ply >= 0")
    for condition in QUOTED[store.backend.dialect]:
        assert part_of(store, where=condition) == everything, condition


def test_quotes_of_another_database_do_not_hide_a_bracket(store):
    for condition in CLOSED[store.backend.dialect]:
        with pytest.raises(QueryError, match=r"a closing [)] has no opening"):
            part_of(store, where=condition)


@pytest.mark.parametrize(
    ("condition", "start"),
    [("board(id) LIKE 'O%'", "O"), ("id = canonical('..X/.O./X..')", "..X/.O./X..")],
)
def test_of_a_file_a_condition_may_call_functions(file_store, condition, start):
    nodes = file_store.graph().nodes
    right = {n for n, of in nodes.items() if of["position"].startswith(start)}
    assert part_of(file_store, where=condition) == induced(file_store.graph(), right)


@for_all(
    ("condition", "message"),
    [
        ("", "the condition is empty"),
        ("nope = 1", "no such column: nope|column .nope. does not exist"),
        ("1) OR (1", "a closing [)] has no opening"),
        ("1) UNION SELECT 77 WHERE (1", "a closing [)] has no opening"),
        ("(1", "incomplete|syntax error"),
        ("1 /*", "incomplete|unterminated"),
        ("1; DELETE FROM state", "syntax error"),
        ("ply < 3 LIMIT 1", "syntax error"),
        ("max(ply) = 9", "misuse of aggregate|aggregate functions are not allowed"),
        ("load_extension('x')", "do more than read|does not exist"),
        ("canonical(1.5)", "board.. and canonical.. take|not in PostgreSQL"),
    ],
)
def test_a_wrong_condition_is_refused(store, condition, message):
    with pytest.raises(QueryError, match=message):
        part_of(store, where=condition)


def test_a_part_of_a_late_game_or_one_under_hashes_is_like_any(tmp_path):
    late = "X../.O./..X"
    build("tictactoe", tmp_path / "t.db", below=[late])
    hashed = TableGame({"ab": {0: "c", 1: "d"}, "c": {0: "d"}, "d": {3: "e"}, "e": -1}, "ab")
    build(hashed, tmp_path / "h.db")
    for path, below in ((tmp_path / "t.db", late), (tmp_path / "h.db", "c")):
        with Store.open(path) as store:
            graph = store.graph()
            start = store.probe(below).state
            right = within(graph, start, 2)
            assert len(right) > 2
            assert part_of(store, below=below, plies=2) == induced(graph, right)


EDGES = {
    "integers": [(1, 0, 2), (1, -1, 3), (2**63 - 1, 7, -5), (4, 0, 2**40)],
    "a text": [(1, 0, 2), (1, 1, 'a "b", c'), (2, 0, "5"), (3, 0, "")],
    "a line": [(1, 0, 2), (1, 1, "a\nb")],
    "NULL and a real": [(1, 0, None), (2, 0, 1.5), (3, 0, 2)],
}


@pytest.mark.parametrize("what", EDGES)
def test_all_edges_as_csv_are_what_the_module_csv_writes(what):
    with closing(sqlite3.connect(":memory:", check_same_thread=False)) as connection:
        connection.execute("CREATE TABLE edge (parent, move, child)")
        connection.executemany("INSERT INTO edge VALUES (?, ?, ?)", EDGES[what])
        expected = io.StringIO()
        ordered = connection.execute("SELECT * FROM edge ORDER BY parent, move")
        csv.writer(expected, lineterminator="\n").writerows(ordered)
        for rows in (1, 2, 99):
            lines = list(RowReader(connection).edge_lines(rows))
            assert "".join(text for _, text in lines) == expected.getvalue()
            assert sum(count for count, _ in lines) == len(EDGES[what])


# The command


def test_tables_and_graphs_go_to_standard_output_as_to_a_file(run, store, tictactoe_db, tmp_path):
    for file_format in ("csv", "jsonl", "graphml", "gexf", "dot"):
        options = ["--below", "XO./.X./...", "--plies", "2", "--where", "value <> 0"]
        done = run("export", tictactoe_db, "--format", file_format, *options)
        assert (done.returncode, done.stderr) == (0, "")
        target = tmp_path / f"file.{file_format}"
        export(store, target, file_format, below="XO./.X./...", plies=2, where="value <> 0")
        assert done.stdout == target.read_text(encoding="utf-8")


def test_with_output_a_report_says_what_was_written(run, tictactoe_db, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = ["export", tictactoe_db, "--format", "csv", "--where", "ply < 2", "--output"]
    assert run(*command, "a.csv").stdout == "files  a.csv\nstate  4\n"
    assert json.loads(run(*command, "both", "--json").stdout) == {
        "format": "csv",
        "files": ["both/state.csv", "both/edge.csv"],
        "rows": {"state": 4, "edge": 9},
    }


def test_a_target_that_is_there_stays_as_it_is(run, tictactoe_db, tmp_path):
    for target in (tmp_path / "file", tmp_path / "folder", tmp_path / "link"):
        if target.name == "file":
            target.write_text("mine")
        elif target.name == "folder":
            target.mkdir()
        else:
            target.symlink_to(tmp_path / "nowhere")
        for file_format in ("parquet", "csv", "dot"):
            done = run("export", tictactoe_db, "--format", file_format, "--output", target)
            assert error_line(done) == f"{target} exists; remove it, or name another"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder", "link"]
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("other", ["file", "folder"])
@pytest.mark.parametrize(("name", "file_format"), [("x.csv", "csv"), ("x", "csv"), ("x", "dot")])
def test_a_target_that_appears_meanwhile_stays_as_it_is(
    tictactoe_db, tmp_path, name, file_format, other
):
    target = tmp_path / name

    def appear(phase, *_):
        if phase.startswith("export") and not target.exists():
            target.write_text("mine") if other == "file" else target.mkdir()

    with Store.open(tictactoe_db) as store, pytest.raises(StoreExistsError):
        export(store, target, file_format, progress=appear)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert target.is_dir() or target.read_text() == "mine"


@pytest.mark.parametrize("file_format", ["parquet", "csv", "graphml"])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--output", "none/x"], "there is no folder none; create it first"),
        (["--output", "x" * 300], "File name too long"),
        (["--output", "x", "--where", "ply = 99"], " fulfils 'ply = 99'; change the condition"),
        (["--output", "x", "--where", "ply ="], "syntax error"),
        (["--output", "x", "--below", "XO"], "has 2 cells"),
        (["--output", "x", "--below", "77"], "no state has the id"),
    ],
)
def test_after_an_error_nothing_is_left(
    run, tictactoe_db, tmp_path, monkeypatch, file_format, options, message
):
    monkeypatch.chdir(tmp_path)
    assert message in error_line(run("export", tictactoe_db, "--format", file_format, *options))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["gmap", "--where", "ply = 1"], "--format gmap writes the whole game; leave out --where"),
        (["record", "--below", "0"], "--format record writes the whole game; leave out --below"),
        (["gmap", "--table", "edge"], "leave out --table"),
        (["dot", "--table", "state"], "--format dot writes the graph; leave out --table"),
        (["csv", "--plies", "3"], "--plies needs --below POSITION"),
        (["csv", "--below", "0", "--plies", "-1"], "-1 is not in the range"),
        (["csv", "--table", "game"], "'game' is not one of 'state', 'edge', 'move'"),
        (["parquet"], "add --output TARGET"),
        (["csv", "--json"], "for rows as JSON use --format jsonl"),
    ],
)
def test_options_that_exclude_each_other_are_wrong_usage(run, tictactoe_db, options, message):
    done = run("export", tictactoe_db, "--format", *options)
    assert message in error_line(done, exit_code=2)


def exporting(warm, folder, file_format, phase):
    """Return a process that exports a game to a folder and has reached a phase."""
    build("hexapawn(4,4)", folder / "game.db")
    with Store.open(folder / "game.db") as store:
        start = store.info["start"]
    words = ["export", folder / "game.db", "--format", file_format, "--below", start]
    return warm.at(phase, *words, "--output", folder / "out")


@pytest.mark.parametrize("file_format", some_of(["parquet", "csv", "gexf"], 2))
@pytest.mark.parametrize(
    ("phase", "number"),
    [
        ("select below", signal.SIGINT),
        ("export state", signal.SIGTERM),
        ("export edge", signal.SIGINT),
    ],
)
def test_a_signal_is_answered_in_one_line_and_leaves_nothing(
    warm, tmp_path, file_format, phase, number
):
    process = exporting(warm, tmp_path, file_format, phase)
    process.send(number)
    assert error_line(process.end(), 130) == "interrupted"
    assert [path.name for path in tmp_path.iterdir()] == ["game.db"]


@pytest.mark.parametrize("file_format", ["csv", "dot"])
def test_the_draft_of_a_killed_export_is_replaced_but_not_while_it_runs(
    warm, tmp_path, file_format
):
    process = exporting(warm, tmp_path, file_format, "export state")
    with Store.open(tmp_path / "game.db") as store:
        with pytest.raises(StoreError, match="another export is writing"):
            export(store, tmp_path / "out", file_format)
        process.send(signal.SIGKILL)
        process.end()
        left = {path.name for path in tmp_path.iterdir()}
        assert left == {"game.db", ".out.exporting"}
        export(store, tmp_path / "out", file_format)
        export(store, tmp_path / "again", file_format)
    assert {path.name for path in tmp_path.iterdir()} == {"game.db", "out", "again"}
    for path in (tmp_path / "out").rglob("*.csv") if file_format == "csv" else [tmp_path / "out"]:
        again = tmp_path / "again" / path.relative_to(tmp_path / "out")
        assert path.read_bytes() == again.read_bytes()


@pytest.mark.parametrize("file_format", some_of(["csv", "jsonl", "graphml", "gexf", "dot"], 3))
def test_a_closed_pipe_ends_an_export_quietly(tictactoe_db, file_format):
    with subprocess.Popen(
        [*GRAPHSTORE, "export", tictactoe_db, "--format", file_format],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""


def test_in_any_locale_the_output_is_utf_8(tmp_path):
    build(Nasty(), tmp_path / "n.db")
    command = ["export", tmp_path / "n.db", "--format", "csv"]
    done = subprocess.run(
        [*GRAPHSTORE, *map(str, command)],
        capture_output=True,
        env={"PYTHONIOENCODING": "latin-1", "PYTHONPATH": ":".join(sys.path)},
        check=True,
    )
    with Store.open(tmp_path / "n.db") as store:
        export(store, tmp_path / "n.csv", "csv")
    assert done.stdout == (tmp_path / "n.csv").read_bytes()
    assert NASTY_TEXTS[5].encode() in done.stdout


def test_without_its_rules_a_game_is_exported_below_positions_as_stored(tmp_path, run):
    rules = tmp_path / "rules.py"
    rules.write_text(
        "from graphstore import PlainGame\n"
        "class Heap(PlainGame):\n"
        "    def start(self): return 9\n"
        "    def moves(self, heap): return range(1, min(heap, 3) + 1)\n"
        "    def play(self, heap, take): return heap - take\n"
        "    def outcome(self, heap): return None if heap else -1\n"
        "    def text(self, heap): return f'heap of {heap}'\n"
        "    def parse(self, text): return int(text.removeprefix('heap of '))\n"
    )
    path = tmp_path / "h.db"
    assert run("build", f"{rules}:Heap", "--db", path).returncode == 0
    done = run("export", path, "--format", "csv", "--below", "heap of 4", "--table", "edge")
    assert "only positions as stored are found" in done.stderr
    assert done.stdout.splitlines()[:3] == ["parent,move,child", "1,1,0", "2,1,1"]
    done = run("export", path, "--format", "csv", "--below", "4x")
    assert "no stored state is written '4x'" in done.stderr
    where = ["--where", "id <= canonical('2')"]
    assert "add --rules" in error_line(run("export", path, "--format", "csv", *where))
    done = run("export", path, "--format", "csv", *where, "--rules", f"{rules}:Heap")
    assert [line.split(",")[1] for line in done.stdout.splitlines()] == [
        "position",
        "heap of 0",
        "heap of 1",
        "heap of 2",
    ]
