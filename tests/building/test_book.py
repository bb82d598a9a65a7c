"""Opening books: the first plies of a game, with the values of the full build."""

import json
import random
import shutil
from contextlib import ExitStack, suppress

import numpy as np
import pytest
from conftest import SLOW, check_all, error_line, for_all
from stored import change, redigest, verdict_on

from graphstore import Match, Player, Solver, Store, book, build, train, verify
from graphstore.building import book as books
from graphstore.errors import (
    ArgumentError,
    NotInStoreError,
    SettingError,
    StoreError,
)

GAME, PLIES, STATES = "connect(4,3,3)", 4, 117
CASES = [
    (GAME, PLIES),
    ("mnk(3,3,3,misere)", 3),
    ("tictactoe", 7),
]
LARGE = [
    ("connect(5,4,3)", 4),
    ("connect(4,4)", 3),
    ("connect(4,4)", 9),
    ("mnk(3,4,3,misere)", 3),
    ("mnk(4,3,3)", 4),
]
RANDOM = {"random_value", "best_response"}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The file of a book; no test may change it."""
    path = tmp_path_factory.mktemp("made") / "book.db"
    book(GAME, path, plies=PLIES)
    path.chmod(0o444)
    return path


@pytest.fixture
def copied(made, tmp_path):
    """A copy that a test may change."""
    path = tmp_path / "copied.db"
    path.write_bytes(made.read_bytes())
    return path


def rows(store, table, where):
    found = store.sql(f"SELECT {table}.* FROM {table} {where} ORDER BY 1, 2")
    return [dict(zip(found.columns, row, strict=True)) for row in found]


def agrees(name, plies, folder):
    """Compare all cells of a book with those of the full build."""
    paths = [folder / f"{kind}-{name}-{plies}.db" for kind in ("whole", "book")]
    build(name, paths[0])
    book(name, paths[1], plies=plies)
    with ExitStack() as held:
        whole, made = (held.enter_context(Store.open(path)) for path in paths)
        assert (made.info["extent"], made.info["plies"], made.info["cyclic"]) == ("book", plies, 0)
        for column in ("starts", "start", "value", "remoteness", "rules"):
            assert made.info[column] == whole.info[column]
        expected = rows(whole, "state", f"WHERE ply <= {plies}")
        found = rows(made, "state", "")
        assert len(found) == len(expected)
        for got, right in zip(found, expected, strict=True):
            missing = {each for each in RANDOM if got[each] is None}
            assert got == right | dict.fromkeys(missing)
            assert not got["ended"] or not missing
            assert got["ply"] < plies or got["ended"] or missing == RANDOM
        above = f"JOIN state ON state.id = edge.parent AND ply < {plies}"
        assert rows(made, "edge", "") == rows(whole, "edge", above)
        for sample in (None, 20):
            verdict = verify(made, sample=sample)
            assert verdict.ok, verdict.problems
            assert [each for each in verdict.checked if each.startswith("last ply of the book")]


def test_a_book_has_the_cells_of_the_full_build(tmp_path):
    check_all(CASES, lambda name, plies: agrees(name, plies, tmp_path))


@SLOW
@pytest.mark.parametrize(("name", "plies"), LARGE)
def test_a_larger_book_has_the_cells_of_the_full_build(tmp_path, name, plies):
    agrees(name, plies, tmp_path)


def test_a_book_of_all_plies_is_the_whole_game(tmp_path):
    for plies in (9, 100):
        book("tictactoe", tmp_path / "all.db", plies=plies, force=True)
        build("tictactoe", tmp_path / "whole.db", force=True)
        with Store.open(tmp_path / "all.db") as store, Store.open(tmp_path / "whole.db") as whole:
            assert store.info["extent"] == "whole"
            assert store.info["digest"] == whole.info["digest"]


def test_a_database_of_either_kind_takes_a_book(place):
    report = book(GAME, place, plies=PLIES)
    assert (report.states, report.value) == (STATES, 1)
    verdict = verdict_on(place)
    assert verdict.ok, verdict.problems
    with pytest.raises(StoreError, match="exists"):
        book(GAME, place, plies=PLIES)


# Interruptions


def test_a_book_that_was_interrupted_resumes_with_the_solved_positions(made, tmp_path):
    path, kept = tmp_path / "book.db", tmp_path / "book.db.solved"
    left = []

    def stop(phase, done, total):
        if phase == "search":
            left.append(total)
            if done == 10 and len(left) < 30:
                raise KeyboardInterrupt

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            book(GAME, path, plies=PLIES, progress=stop)
        assert not path.exists()
        assert kept.exists()
    book(GAME, path, plies=PLIES, progress=stop)
    first = left[0]
    assert sorted({*left}) == [first - 20, first - 10, first]
    assert [each.name for each in tmp_path.iterdir()] == ["book.db"]
    with Store.open(path) as store, Store.open(made) as whole:
        assert store.info["digest"] == whole.info["digest"]


def test_solved_positions_are_written_every_few_seconds(monkeypatch, tmp_path):
    monkeypatch.setattr(books, "KEPT", 0)
    known = []

    def look(phase, _done, _total):
        if phase == "search":
            with np.load(tmp_path / "book.db.solved") if known else ExitStack() as arrays:
                known.append(len(arrays["rows"]) if known else 0)

    book(GAME, tmp_path / "book.db", plies=PLIES, progress=look)
    assert known == [*range(len(known))]


def test_a_damaged_file_of_solved_positions_is_named(run, tmp_path):
    path, kept = tmp_path / "book.db", tmp_path / "book.db.solved"

    def refused(plies=2):
        line = error_line(run("book", "connect(4,3)", "--plies", plies, "--db", path))
        assert f"{kept} " in line
        assert line.endswith("; remove it to begin again")
        assert not path.exists()
        return line

    kept.write_bytes(b"")
    assert "damaged" in refused()
    interrupted(tmp_path, GAME)
    assert f"has positions of {GAME} 1, not of connect(4,3) 1" in refused()
    interrupted(tmp_path, "connect(4,3)")
    content, chance = kept.read_bytes(), random.Random(0)
    known = books._Kept(kept, Solver("connect(4,3)").game)._read()
    for _ in range(40):
        at = chance.randrange(len(content))
        changed = bytearray(content)
        changed[at] ^= 1 << chance.randrange(8)
        for damaged in (bytes(changed), content[:at]):
            kept.write_bytes(damaged)
            before = books._Kept(kept, Solver("connect(4,3)").game)
            with suppress(StoreError):  # any other error is a traceback
                assert before._read() == known
    with kept.open("wb") as file:
        np.save(file, np.arange(3))
    assert "damaged" in refused()
    kept.write_bytes(content)
    assert run("book", "connect(4,3)", "--stones", 3, "--db", path).returncode == 0  # other plies


def interrupted(folder, name):
    """Leave the file of one solved position."""
    (folder / "book.db.solved").unlink(missing_ok=True)

    def stop(phase, _done, _total):
        if phase == "search":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        book(name, folder / "book.db", plies=2, progress=stop)


# Refusals


@for_all("name", ["nim(1,2,3)", "vanishing", "ultimate(open)", "kalah(2,1)"])
def test_a_game_without_such_a_search_is_refused(run, name, tmp_path):
    line = error_line(run("book", name, "--plies", 2, "--db", tmp_path / "book.db"))
    assert line.endswith(
        f"{name} cannot have a book: only connect and mnk are searched with the plies to the end"
    )
    assert not [*tmp_path.iterdir()]


def test_wrong_arguments_are_named(run, made, connect_db, tmp_path):
    assert book("tictactoe", tmp_path / "whole.db", plies=2**64).states == 765
    for plies in (0, -1, 1.5, "x"):
        with pytest.raises(ArgumentError, match="plies"):
            book(GAME, tmp_path / "book.db", plies=plies)
    assert "--plies" in error_line(run("book", GAME), 2)
    assert "connect(4,4)" in error_line(run("solve", GAME, "--book", connect_db))
    assert "none.db" in error_line(run("solve", GAME, "--book", "none.db"))
    assert "then give connect-4-3-3.db" in error_line(run("solve", GAME, "--book", GAME))
    with pytest.raises(ArgumentError, match="it must be an open store"):
        Solver(GAME, book=made)
    with pytest.raises(SettingError, match="train agents on a whole game"):
        train(made, "x", games=1)
    assert run("agents", made).stderr == f"{made} has no agents\n"


# Wrong cells


@for_all(
    "changed",
    [
        "value = 1 - abs(value), score = 0",
        "remoteness = remoteness + 2",
        "remoteness = NULL",
        "score = score / 2 + 0.1",
        "win_depth = 1",
        "lose_depth = NULL",
        "random_value = 0",
        "best_response = 0",
        "ended = 1",
        "ply = 3",
    ],
)
def test_a_wrong_cell_at_the_last_ply_is_named(copied, made, changed):
    shutil.copyfile(made, copied)
    [(state,)] = Store.open(made).sql(
        f"SELECT id FROM state WHERE ply = {PLIES} AND value = 1 ORDER BY id LIMIT 1"
    )
    change(copied, f"UPDATE state SET {changed} WHERE id = {state}")
    redigest(copied)
    verdict = verdict_on(copied)
    column = changed.split(" = ")[0]
    named = {each.column for each in verdict.problems if each.row.startswith(f"{state} ")}
    assert column in " ".join(named), verdict.problems


def test_a_book_is_not_a_whole_game_and_a_whole_game_not_a_book(copied, copy):
    changes = (
        (copied, "extent = 'whole'"),
        (copied, "extent = 'book', plies = 3"),
        (
            copied,
            "plies = 5",
        ),
    )
    for path, changed in (*changes, (copy, "extent = 'book', plies = 3")):
        change(path, f"UPDATE game SET {changed}")
        redigest(path)
        assert not verdict_on(path).ok, changed


# Reading


def test_a_solver_answers_from_the_book_and_searches_beyond_it(made, run):
    with Store.open(made) as store:
        solver, alone = Solver(GAME, book=store), Solver(GAME)
        for position, has in (
            ("start", True),
            ("moves:1 2", True),
            ("moves:2 1 2 3", False),
            ("moves:2 1 2 3 1", False),
        ):
            found, right = solver.search(position, moves=True), alone.search(position, moves=True)
            assert (found.method == "book", found.nodes == 0) == (has, has)
            assert (found[1:5], found[9:11]) == (right[1:5], right[9:11])
            assert sorted(found.moves) == sorted(right.moves)
        last = solver.search("moves:2 1 2 3")
        assert (last.method, last.nodes, last.moves) == ("book", 0, None)
        assert [each.method for each in solver.search_all(["start", "moves:2 1"])] == ["book"] * 2
    done = run("solve", GAME, "moves:1 2", "--book", made, "--moves")
    assert done.returncode == 0
    assert "\nbook, 0 nodes" in done.stdout


def test_show_and_line_say_where_the_book_ends(made, run):
    done = run("show", made, "moves:2 1 2 3")
    assert (done.returncode, "ply 4" in done.stdout) == (0, True)
    assert "the book ends here; to search the moves: graphstore solve" in done.stderr
    assert run("show", made).stderr == ""
    line = run("line", made)
    assert len(line.stdout.splitlines()) == PLIES + 1
    assert "the book ends here" in line.stderr
    beyond = error_line(run("show", made, "moves:2 1 2 3 1"))
    assert beyond.endswith(
        "is not in this book of first plies; graphstore solve searches such positions"
    )
    with Store.open(made) as store:
        with pytest.raises(NotInStoreError):
            store.probe("moves:2 1 2 3 1")
        assert Player(store).choose("moves:2 1 2 3 1").value is not None  # it is searched


def test_a_match_on_a_book_reads_its_ids_and_names_its_file(made, run):
    with Store.open(made) as store:
        state = store.probe("moves:2 1 2")
        stored = store.probe(state.state).position
    done = run("play", made, state.state, "--seed", 1, "--moves", "1", "--json")
    record = json.loads(done.stdout)
    assert (record["file"], record["start"]) == (str(made), stored)
    line = error_line(run("play", made, "--against", "menace"))
    assert "book.db holds the first plies only, and this needs a whole game" in line


def test_a_match_goes_on_where_the_book_ends(made):
    with Match(made, "perfect", "perfect", seconds=0, seed=1) as match:
        while not match.over:
            turn = match.reply()
            assert not turn.unsure or turn.number > PLIES
            match.store.seconds = 10 * (turn.number >= PLIES)
        with Store.open(made) as store:
            right = store.start()
        assert (match.result.winner or 0, len(match.turns)) == (
            {1: 1, 0: 0, -1: 2}[right.value],
            right.remoteness,
        )
