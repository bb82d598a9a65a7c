"""All kinds of look-ups agree with the graph, in threads and in forked processes."""

import multiprocessing
import os
import pickle
import sqlite3
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest
from conftest import for_all, table_games
from hypothesis import given, settings
from hypothesis import strategies as st

from graphstore import Store, build, explore, solve
from graphstore.errors import (
    GraphstoreError,
    NotAStoreError,
    NotInStoreError,
    PositionError,
    QueryError,
    StoreError,
)
from graphstore.store.by_key import MOST
from graphstore.store.lookup import Lookup, Values

LARGEST = 2**63 - 1
missing = st.sampled_from((-1, -(2**63), LARGEST, LARGEST - 1, 15)) | st.integers(-(2**63), LARGEST)
FORKS = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
PROC = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files by /proc")


def times_open(file):
    """Return how often this process has a file open."""
    links = Path("/proc/self/fd").iterdir()
    return sum(os.path.realpath(link) == str(file.resolve()) for link in links)


def rows_of(answer: Lookup):
    """Return a batch's answer as `Values`, None where nothing was found."""
    columns = zip(*(getattr(answer, name).tolist() for name in Values._fields), strict=True)
    return [
        Values(*row) if found else None
        for found, row in zip(answer.found.tolist(), columns, strict=True)
    ]


@settings(max_examples=15)
@given(st.booleans().flatmap(lambda cyclic: table_games(cyclic=cyclic)), st.data())
def test_all_look_ups_say_what_the_graph_says(game, data):
    graph = explore(game)
    solve(graph)
    ids = graph.states.id.tolist()
    right = {each: tuple(graph.nodes[each][name] for name in Values._fields) for each in ids}
    asked = data.draw(st.lists(st.sampled_from(ids) | missing, max_size=30))
    with tempfile.TemporaryDirectory() as folder:
        build(game, Path(folder) / "game.db")
        with (
            Store.open(Path(folder) / "game.db", rules=game) as store,
            store.snapshot() as snapshot,
        ):
            expected = [right.get(each) for each in asked]
            assert [snapshot.values(each) for each in asked] == expected
            for batch in (asked, np.array(asked, dtype=np.int64), np.array(asked, dtype=object)):
                answer = store.lookup(batch)
                assert answer.state.tolist() == asked
                assert rows_of(answer) == expected
                assert rows_of(snapshot.lookup(batch)) == expected
            texts = graph.texts(graph.states.id)
            assert rows_of(store.lookup(texts)) == [right[each] for each in ids]
            for each, values in zip(asked, expected, strict=True):
                probe = store.get(each)
                assert (probe is None) == (values is None)
                if probe is not None:
                    assert snapshot.probe(each) == probe
                    assert tuple(getattr(probe, name) for name in Values._fields) == values
                    children = [(move.move, move.state) for move in probe.moves]
                    assert sorted(children) == sorted(
                        (move, child)
                        for _, child, moves in graph.out_edges(each, data="moves")
                        for move in moves
                    )


@pytest.mark.parametrize("size", [1, 31, 32, 33, 100, MOST - 1, MOST, MOST + 1, 3 * MOST + 5])
def test_a_batch_of_any_size_is_in_the_order_of_the_request(store, size):
    known = np.array([row[0] for row in store.sql("SELECT id FROM state")])
    ids = np.random.default_rng(size).choice(np.append(known, np.arange(300)), size)
    answer = store.lookup(ids)
    assert answer.found.tolist() == np.isin(ids, known).tolist()
    with store.snapshot() as snapshot:
        assert rows_of(answer) == [snapshot.values(each) for each in ids]


@for_all(
    ("batch", "error", "message"),
    [
        ([2**63], NotInStoreError, "id '9223372036854775808': ids are below 2"),
        ([-1, 2**64], NotInStoreError, "18446744073709551616"),
        ([10**5000], NotInStoreError, "0x"),  # which Python does not write in decimal
        (np.array([0, 2**64 - 1], dtype=np.uint64), NotInStoreError, "18446744073709551615"),
        (np.array([0.0]), PositionError, "0.0"),
        ([0, 1.0], PositionError, "1.0"),
        ([float("nan")], PositionError, "nan"),
        ([0, True], PositionError, "True"),
        (np.array([False]), PositionError, "False"),
        ([0, "........."], PositionError, "'.........'"),
        ([".........", 0], PositionError, "'.........'"),
        ([0, None], PositionError, "None"),
        ([[0, 1], [2, 3]], PositionError, r"\[0, 1\]"),
        (np.zeros((2, 2), dtype=np.int64), PositionError, r"an array of shape \(2, 2\)"),
        (np.array(0), PositionError, r"an array of shape \(\)"),
        (".........", PositionError, "not one text"),
    ],
)
def test_a_batch_of_what_is_neither_ids_nor_texts_is_refused(store, batch, error, message):
    with pytest.raises(error, match=message) as caught:
        store.lookup(batch)
    assert "\n" not in str(caught.value)


def test_an_unsigned_id_is_an_id(store):
    for kind in (np.uint64, np.uint16):
        ids = np.array([0, 77, 8706], dtype=kind)
        assert store.lookup(ids).state.tolist() == ids.tolist()
        assert store.lookup(ids).found.tolist() == [True, False, True]


@pytest.mark.parametrize("wrong", [0.0, "0", None])
def test_the_values_of_what_is_not_an_integer_are_refused(store, wrong):
    with store.snapshot() as snapshot, pytest.raises(TypeError):
        snapshot.values(wrong)


def test_no_state_has_an_id_that_does_not_fit(store):
    with store.snapshot() as snapshot:
        for state in (-1, 2**63, 2**64, -(2**70)):
            assert snapshot.values(state) is None


def test_a_snapshot_that_has_ended_says_so(store):
    with store.snapshot() as snapshot:
        assert snapshot.values(0) is not None
    for ask in (snapshot.values, snapshot.probe, lambda state: snapshot.lookup([state])):
        with pytest.raises(StoreError, match="this snapshot has ended"):
            ask(0)


def test_a_snapshot_sees_one_state_of_the_file(copy):
    with closing(sqlite3.connect(copy)) as connection:
        connection.execute("PRAGMA journal_mode = WAL").fetchall()  # or the writer would wait
        with Store.open(copy) as store:
            with store.snapshot() as snapshot:
                before = snapshot.values(0)
                connection.execute("UPDATE state SET remoteness = 5 WHERE id = 0")
                connection.commit()
                assert [snapshot.values(0)] == rows_of(snapshot.lookup([0])) == [before]
                assert snapshot.probe(0).remoteness == before.remoteness == 9
            with store.snapshot() as snapshot:
                assert snapshot.values(0) == before._replace(remoteness=5)


def test_a_number_that_no_column_holds_is_damage(copy):
    with closing(sqlite3.connect(copy)) as connection:
        connection.execute("UPDATE state SET remoteness = 1 << 40 WHERE id = 0")
        connection.commit()
    with Store.open(copy) as store, pytest.raises(NotAStoreError, match="damaged"):
        store.lookup([0])


def ask_all(store, texts):
    """Return the answers of all kinds of look-ups for positions."""
    probes = [store.probe(text) for text in texts]
    ids = [probe.state for probe in probes]
    with store.snapshot() as snapshot:
        values = [snapshot.values(state) for state in ids]
    return probes, values, rows_of(store.lookup(ids)), rows_of(store.lookup(texts))


@pytest.fixture(scope="module")
def texts(store):
    return [text for (text,) in store.sql("SELECT position FROM state ORDER BY id LIMIT 60")]


def test_threads_get_what_one_thread_gets(store, texts):
    right = ask_all(store, texts)
    together = Barrier(8)

    def ask(_):
        together.wait(60)
        return ask_all(store, texts)

    with ThreadPoolExecutor(8) as pool:
        assert all(answer == right for answer in pool.map(ask, range(8)))


@PROC
def test_threads_that_have_ended_leave_few_files_open(copy):
    with Store.open(copy) as store:
        for _ in range(3):
            together = Barrier(24)

            def ask(state, together=together):
                with store.snapshot() as snapshot:
                    together.wait(60)  # so that each thread has its own connection
                    return snapshot.values(state)

            with ThreadPoolExecutor(24) as pool:
                assert len({*pool.map(ask, [0] * 24)}) == 1
            assert times_open(copy) <= 8
    assert times_open(copy) == 0


@PROC
def test_a_closed_store_still_answers_and_leaves_no_file_open(copy):
    store = Store.open(copy)
    with store.connect():
        store.close()
    assert times_open(copy) == 0
    assert store.probe(0).state == 0
    with store.snapshot() as snapshot:
        assert snapshot.values(0) is not None
    assert times_open(copy) == 0


@PROC
def test_a_store_is_closed_when_its_last_reference_is_deleted(copy):
    store = Store.open(copy)
    assert store.probe(0).state == 0
    assert times_open(copy) == 1
    del store
    assert times_open(copy) == 0


@PROC
@pytest.mark.parametrize("read", [0, 1, 900, 2000])
def test_an_answer_that_is_not_read_to_its_end_leaves_no_file_open(copy, read):
    with Store.open(copy) as store:
        answer = store.sql("SELECT * FROM edge")
        rows = iter(answer)
        assert len([*islice(rows, read)]) == read
        assert times_open(copy) == 2
        del rows, answer
        assert times_open(copy) == 1
        for wrong in ("", "nonsense", "SELECT canonical('?')", "SELECT id FROM state"):
            with suppress(GraphstoreError):
                store.sql(wrong, rows=1).close()
        with pytest.raises(QueryError, match="more than 7 rows"):
            [*store.sql("SELECT id FROM state", rows=7)]
        assert times_open(copy) == 1


@FORKS
def test_an_answer_is_not_read_in_a_forked_process(store):
    answer = iter(store.sql("SELECT * FROM edge"))
    next(answer)
    child = os.fork()
    if not child:
        try:
            list(answer)
        except QueryError as error:
            os._exit(42 if "the parent process" in str(error) else 1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 42
    assert len([*answer]) == 2269


FORKED = """
import multiprocessing, os, sys
from graphstore import Store, StoreError

store = Store.open(sys.argv[1])
texts = [text for (text,) in store.sql("SELECT position FROM state LIMIT 60")]
def ask():
    probes = [store.probe(text) for text in texts]
    with store.snapshot() as snapshot:
        return [snapshot.values(each.state) for each in probes], probes
right = ask()

def child(pipe, snapshot):
    refused = False
    try:
        snapshot.values(0)
    except StoreError as error:
        refused = "the parent process" in str(error)
    same = all(ask() == right for _ in range(5))
    store.close()
    pipe.send((refused, same, ask() == right))

context = multiprocessing.get_context("fork")
with store.snapshot() as snapshot:
    assert snapshot.values(0) is not None
    pipes, children = [], []
    for _ in range(4):
        ours, theirs = context.Pipe()
        children.append(context.Process(target=child, args=(theirs, snapshot)))
        children[-1].start()
        pipes.append(ours)
    same = all([snapshot.values(each.state) for each in right[1]] == right[0] for _ in range(5))
    answers = [pipe.recv() for pipe in pipes]
    for each in children:
        each.join()
    assert snapshot.values(0) is not None
pid = 0
with store.snapshot() as snapshot:  # a child that leaves the block, and ends as Python ends
    sys.stdout.flush()
    pid = os.fork()
if pid == 0:
    assert ask() == right
    store.close()
    sys.exit()
_, status = os.waitpid(pid, 0)
print(same, answers == [(True, True, True)] * 4, [c.exitcode for c in children], status)
print(ask() == right)
store.close()
"""


@FORKS
def test_forked_children_and_their_parent_ask_one_store_at_once(tictactoe_db):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", FORKED, tictactoe_db],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.stdout, done.stderr) == ("True True [0, 0, 0, 0] 0\nTrue\n", "")


@FORKS
@PROC
def test_a_forked_child_opens_the_file_itself(copy):
    def child(pipe):
        before = times_open(copy)
        store.probe(0)
        pipe.send((before, times_open(copy)))

    with Store.open(copy) as store:
        store.probe(0)
        context = multiprocessing.get_context("fork")
        ours, theirs = context.Pipe()
        process = context.Process(target=child, args=(theirs,))
        process.start()
        assert ours.recv() == (1, 2)
        process.join()
        assert times_open(copy) == 1


def test_a_store_is_not_pickled_but_opened_by_its_address(store):
    with pytest.raises(StoreError, match="cannot be pickled; open it in the other process"):
        pickle.dumps(store)
