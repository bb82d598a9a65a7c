"""A game in parts is the game that is built in memory, also after interruptions."""

import json
import random
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import DATA, SLOW, TableGame, few, some_of, table_games
from hypothesis import given, settings
from hypothesis import strategies as st
from stops import StoppedError, Stops
from turngames import TurnGame, turn_games

from graphstore import explore, find_game, solve
from graphstore.building.parts import build as building
from graphstore.building.parts import progress, rounds
from graphstore.building.parts.build import build
from graphstore.building.parts.workers import OwnProcess
from graphstore.errors import RulesError, StoreError
from graphstore.games import rules_of
from graphstore.games.base import ArrayGame
from graphstore.rules.game import IN_PLAY, LOSS, Moves
from graphstore.store.arrow import pyarrow
from graphstore.store.columns import edge_parts, state_parts
from graphstore.store.digests import ColumnDigests

DIGESTS = json.loads((DATA / "digests.json").read_text())
LARGE = {"mnk(4,4,4)", "connect(4,4)"}
FEW = ("vanishing", "hexapawn(4,4)", "nim(3,4,5)", "tictactoe")
RING = TableGame(
    {0: {0: 1, 5: 2}, 1: {3: 0, 1: 2}, 2: {0: 1, 1: 3}, 3: {0: 4, 2: 5}, 4: -1, 5: 0}, 0
)
"""A game in which play can cycle, with a win, a loss and draws."""


def in_parts(game, folder, *, workers=None, **options):
    """Build a game in parts."""
    return build(rules_of(game), folder, workers=workers or OwnProcess(), **options)


def rows_of(folder, table):
    """Return the rows of a folder by key; the rows of each file must be in order."""
    key = {"state": ("id",), "edge": ("parent", "move")}[table]
    found = []
    for file in folder.files(table):
        rows = pyarrow().parquet.read_table(file).to_pylist()
        keys = [tuple(row[name] for name in key) for row in rows]
        assert keys == sorted(keys)
        assert rows
        if table == "state":
            assert {row["ply"] for row in rows} == {int(file.parent.name.removeprefix("wave-"))}
        found += rows
    return sorted(found, key=lambda row: tuple(row[name] for name in key))


def solved(game):
    """Return the parts of both tables of a game built in memory."""
    graph = explore(game, max_states=10_000_000)
    return ("state", state_parts(graph, solve(graph))), ("edge", edge_parts(graph))


def built(game):
    """Return (rows of the states, rows of the edges, digests) of a game built in memory."""
    rows = {"state": [], "edge": []}
    hashes = ColumnDigests()
    for table, parts in solved(game):
        for _, _, columns in parts:
            hashes.update_table(table, columns)
            cells = [c if isinstance(c, list) else c.tolist() for c in columns.values()]
            rows[table] += [
                dict(zip(columns, row, strict=True)) for row in zip(*cells, strict=True)
            ]
    return rows["state"], rows["edge"], hashes.of_columns()


def hashed(game):
    """Return the same game with text positions, so that ids are hashes."""
    table = {
        ("at", at): {move: ("at", to) for move, to in row.items()} if isinstance(row, dict) else row
        for at, row in game.table.items()
    }
    starts = [("at", at) for at in game.start_positions]
    if isinstance(game, TurnGame):
        return TurnGame(table, {("at", at): turn for at, turn in game.turns.items()}, *starts)
    return TableGame(table, *starts)


@pytest.mark.parametrize(
    ("name", "parts"),
    some_of(
        [*((name, 3) for name in sorted(DIGESTS.keys() - LARGE)), *((name, 1) for name in FEW)], 4
    ),
)
def test_a_game_in_parts_has_the_digest_that_it_has_in_memory(name, parts, tmp_path):
    assert in_parts(name, tmp_path / "parts", parts=parts).info["digest"] == DIGESTS[name]


def test_a_large_game_in_as_many_parts_as_memory_demands_has_the_same_digest(tmp_path):
    folder = in_parts("connect(4,4)", tmp_path / "parts", memory=1 << 21)
    assert folder.info["digest"] == DIGESTS["connect(4,4)"]
    assert len(list((folder.path / "state").glob("wave-0010/*"))) > 1


def test_parts_that_are_given_are_no_smaller_than_they_are_worth(monkeypatch, tmp_path):
    monkeypatch.setattr(building, "FEWEST", 1000)
    folder = in_parts("connect(4,4)", tmp_path / "parts", parts=8)
    assert folder.info["digest"] == DIGESTS["connect(4,4)"]
    parts = [parts for parts, _ in folder.contents.waves]
    assert parts[:3] == [1, 1, 1]
    assert max(parts) == 8
    assert set(parts) > {1, 8}


class Shuffled(OwnProcess):
    """A worker that takes steps in any order, some of them as if in a new process."""

    def __init__(self, seed, size=1):
        self.random = random.Random(seed)
        self.size = size

    def run(self, calls, homes=()):
        order = self.random.sample(range(len(calls)), len(calls))
        for number in order:
            if self.random.random() < 0.3:
                progress._kept.clear()
            step, *call = calls[number]
            yield number, step(*call)


@settings(max_examples=few(40))
@given(
    st.booleans().flatmap(lambda cyclic: table_games(cyclic=cyclic) | turn_games(cyclic=cyclic)),
    st.booleans(),
    st.integers(1, 4),
    st.sampled_from((None, 1500)),
    st.integers(0, 99),
)
def test_any_game_in_parts_has_the_rows_that_it_has_in_memory(
    tmp_path_factory, game, spelled, parts, memory, seed
):
    game = hashed(game) if spelled else game
    path = tmp_path_factory.mktemp("any") / "parts"
    folder = in_parts(game, path, workers=Shuffled(seed), parts=parts, memory=memory)
    states, edges, digests = built(game)
    assert rows_of(folder, "state") == states
    assert rows_of(folder, "edge") == edges
    assert folder.digests == digests


@pytest.mark.parametrize("game", [RING, hashed(RING), "nim(2,2,3)"], ids=["ring", "hashed", "nim"])
@pytest.mark.parametrize("steps", [1, 7])
def test_a_build_that_was_stopped_goes_on_and_does_nothing_twice(game, steps, tmp_path):
    game = find_game(game) if isinstance(game, str) else game
    whole = Stops()
    expected = in_parts(game, tmp_path / "whole", workers=whole, parts=2).digests
    taken = []
    while True:
        workers = Stops(steps)
        try:
            folder = in_parts(game, tmp_path / "parts", workers=workers, parts=2)
            break
        except StoppedError:
            taken += workers.taken
    taken += workers.taken
    assert folder.digests == expected
    assert len(taken) == len(whole.taken) > 20
    assert len({repr(each) for each in taken}) == len(taken)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("game", [RING, find_game("nim(2,2,3)")], ids=["ring", "nim"])
def test_a_build_that_was_stopped_goes_on_with_another_memory(game, tmp_path):
    expected, folder, stops = in_parts(game, tmp_path / "whole").digests, None, 0
    while folder is None:
        memory = 1 << 30 if stops % 2 else 1 << 9
        try:
            folder = in_parts(game, tmp_path / "parts", workers=Stops(1), memory=memory)
        except StoppedError:
            stops += 1
    assert folder.digests == expected
    assert stops > 10


@pytest.mark.parametrize("first", [True, False])
def test_a_build_that_was_stopped_does_not_go_on_with_or_without_edges(first, tmp_path):
    with pytest.raises(StoppedError):
        in_parts("tictactoe", tmp_path / "t", workers=Stops(4), with_edges=first)
    with pytest.raises(StoreError, match=rf"other options \(edges {first}, not {not first}\)"):
        in_parts("tictactoe", tmp_path / "t", with_edges=not first)


class Looks(OwnProcess):
    """A worker that sees that files are removed as soon as all steps that read them are done."""

    looked = 0

    def run(self, calls, homes=()):
        for number, (step, setup, at) in enumerate(calls):
            there = {tuple(name.split("/")[1:]) for name in setup.place.names("work")}
            if step.__name__ == "solve_block":
                parts = [
                    int(part[:4])
                    for kind, wave, part in there
                    if kind == "block" and int(wave) == at.wave
                ]
                assert sorted(parts) == [*range(at.part, setup.parts[at.wave])]
            elif step.__name__ == "expand_block" and at.wave + 2 < len(setup.parts):
                gone = {("block", at.wave + 2), ("asks", at.wave + 1), ("answers", at.wave + 3)}
                assert not gone & {(kind, int(wave)) for kind, wave, _ in there}
                self.looked += 1
            yield number, step(setup, at)


def test_files_of_a_solved_wave_are_removed_before_another_one_is_expanded(tmp_path):
    workers = Looks()
    in_parts("connect(4,3)", tmp_path / "parts", workers=workers, parts=3)
    assert workers.looked > 9


class Again(OwnProcess):
    """A worker that takes every step twice."""

    def run(self, calls, homes=()):
        for number, (step, *call) in enumerate(calls):
            step(*call)
            yield number, step(*call)


class Unnoted(OwnProcess):
    """A worker that loses the record of every step, as in a loss of power before it is written."""

    def run(self, calls, homes=()):
        for number, (step, *call) in enumerate(calls):
            work = Path(call[0].folder) / "work"
            before = {*work.rglob("*.json")}
            step(*call)
            for record in {*work.rglob("*.json")} - before:
                record.unlink()
            yield number, step(*call)


@pytest.mark.parametrize(
    "workers", [Again(), Unnoted()], ids=lambda workers: type(workers).__name__
)
@pytest.mark.parametrize(
    "game", [RING, "nim(2,2,3)", "hexapawn(3,3)"], ids=["ring", "nim", "hexapawn"]
)
def test_steps_that_are_taken_twice_change_nothing(game, workers, tmp_path):
    game = find_game(game) if isinstance(game, str) else game
    assert in_parts(game, tmp_path / "parts", workers=workers, parts=2).digests == built(game)[2]


class Watches(OwnProcess):
    """A worker that notes the progress that is written to the disk for lack of memory."""

    def __init__(self):
        self.seen = set()

    def run(self, calls, homes=()):
        for number, (step, *call) in enumerate(calls):
            yield number, step(*call)
            self.seen |= {each.name for each in Path(call[0].folder).glob("work/*_kept")}


def test_progress_that_does_not_fit_into_memory_is_written_and_read_again(tmp_path):
    workers = Watches()
    folder = in_parts("vanishing", tmp_path / "parts", workers=workers, memory=1 << 19)
    assert folder.info["digest"] == DIGESTS["vanishing"]
    assert {"upward_kept", "around_kept"} <= workers.seen


@pytest.mark.parametrize(("little", "shares"), [(100_000, 1), (50, 2)])
def test_workers_share_the_states_unless_they_are_few(little, shares, monkeypatch, tmp_path):
    monkeypatch.setattr(rounds, "LITTLE", little)
    workers = Stops()
    workers.size = 2
    assert (
        in_parts("nim(1,3,5,7,misere)", tmp_path / "parts", workers=workers).info["states"] == 143
    )
    assert [at.part for step, at, *_ in workers.taken if step == "gather"] == [*range(shares)]


class Loops(ArrayGame):
    """Two moves from each number, to numbers that hashing gives; some are lost."""

    name, size = "loops", 2_000_000

    def expand(self, positions):
        parent, move = np.indices((len(positions), 2)).reshape(2, -1)
        mixed = (2 * positions[parent] + move).astype(np.uint64) * np.uint64(0xD6E8FEB86659FD93)
        child = (mixed >> np.uint64(32)).astype(np.int64) % self.size
        return Moves(parent, move.astype(np.int32), child)

    def outcomes(self, positions):
        return np.where(positions % 21 == 5, LOSS, IN_PLAY).astype(np.int8)

    def texts(self, positions):
        return [*map(str, positions.tolist())]


@SLOW
def test_a_game_of_a_million_states_in_which_play_can_cycle_is_as_in_memory(tmp_path):
    folder = in_parts(Loops(), tmp_path / "parts", memory=1 << 26)
    hashes = ColumnDigests()
    for table, parts in solved(Loops()):
        for _, _, columns in parts:
            hashes.update_table(table, columns)
    assert folder.digests == hashes.of_columns()
    assert folder.info["cyclic"] == 1
    assert folder.info["states"] > 1_000_000
    assert folder.contents.took["solve"]["messages"] > 100
    assert {value for (value,) in folder.sql("SELECT DISTINCT value FROM state")} == {-1, 0, 1}


class Stuck(TableGame):
    def text(self, position):
        return f"<board {position}>"


@pytest.mark.parametrize(
    "game",
    [
        Stuck({0: {0: 1, 1: 7}, 1: 0, 7: {}}, 0),
        TableGame({0: {0: 1}, 1: {0: 2}, 2: 5}, 0),
    ],
    ids=["stuck", "result"],
)
def test_rules_that_are_refused_in_memory_are_refused_in_parts_with_the_same_words(game, tmp_path):
    with pytest.raises(RulesError) as in_memory:
        explore(game)
    with pytest.raises(RulesError) as parted:
        in_parts(game, tmp_path / "parts", parts=3)
    assert str(parted.value) == str(in_memory.value)


class Forgets(TableGame):
    """Two positions with one text, several waves apart."""

    def text(self, position):
        return {"d": "a"}.get(position, position)


class Unread(TableGame):
    """A text that cannot be parsed."""

    def parse(self, text):
        raise ValueError("cannot")


class Misread(TableGame):
    """A text that is parsed as another position."""

    def parse(self, text):
        return "b" if text == "c" else text


CHAIN = {"a": {0: "b"}, "b": {0: "c"}, "c": {0: "d"}, "d": {0: "e"}, "e": -1}
OF_A = 2340832890917691671  # the id of "a"


@pytest.mark.parametrize(
    ("game", "said"),
    [
        (Forgets(CHAIN, "a"), r"^Forgets: parse\(\) of 'a' is 'a', .*text is that of 'd'"),
        (Unread(CHAIN, "a"), r"^Unread: parse\(\) of 'a' failed: ValueError: cannot$"),
        (Misread(CHAIN, "a"), r"^Misread: parse\(\) of 'c' is 'b', "),
        (
            TableGame({"a": {0: "b"}, "b": {0: "c"}, "c": {0: OF_A}, OF_A: -1}, "a"),
            rf"^TableGame: 'a' and {OF_A} share the id {OF_A}; text\(\) must differ",
        ),
        (
            TableGame({"s": {0: "a", 1: "b"}, "a": {0: "z"}, "b": {0: OF_A}, OF_A: 0, "z": 0}, "s"),
            rf"^TableGame: {OF_A} and 'a' share the id {OF_A}; text\(\) must differ",
        ),
    ],
    ids=["one text for two", "not read", "read wrongly", "far", "near"],
)
@pytest.mark.parametrize("parts", [1, 3])
def test_positions_with_the_same_text_are_refused(game, said, parts, tmp_path):
    with pytest.raises(RulesError, match=said) as refused:
        in_parts(game, tmp_path / "parts", parts=parts)
    assert "\n" not in str(refused.value)


def test_a_build_works_where_the_system_does_not_report_memory(monkeypatch, tmp_path):
    import psutil  # noqa: F401  # which needs it on POSIX

    monkeypatch.setitem(sys.modules, "resource", None)  # as on Windows
    took = in_parts("nim(1,2)", tmp_path / "parts").contents.took
    assert took["explore"]["peak_bytes"] == took["solve"]["peak_bytes"] == 0  # psutil has it there
