"""A wrong argument of a public function gives a one-line error with its name and value."""

import io
import math
from pathlib import Path

import numpy as np
import pytest
from conftest import check_all, for_all

import graphstore
from graphstore import (
    Folder,
    GraphstoreError,
    Match,
    PlainGame,
    Player,
    Solver,
    Store,
    book,
    build,
    build_folder,
    build_out_of_core,
    compare,
    draw,
    explore,
    export,
    find_game,
    load,
    nimbers,
    outcome_class,
    prove,
    search,
    solve,
    train,
    upgrade,
    verify,
)
from graphstore.checks.laws import check_rules
from graphstore.errors import GameNameError, OpponentError, StoreMissingError
from graphstore.exports.exporting import stream
from graphstore.exports.game_formats import gmap
from graphstore.solver.exploration import estimate

NO_POSITIONS = (34832.9, 34832.0, b"34832", True, math.nan, np.float64(2), np.array([2]), {"X"})
NO_COUNTS = (-1, 2.5, 2.0, "2", b"2", True, math.nan, np.float64(2), np.int8(-1), -(10**5000))
NO_LISTS = ((), [], "X../.../...", b"X", 5, math.nan)
NO_PATHS = (None, 5, 2.5, True, b"x.db", ["x.db"])
NO_SECONDS = (-1, -0.5, math.nan, "2", b"2", True)
GAME = find_game("tictactoe")


@pytest.fixture
def folder(tmp_path):
    """A game in parts."""
    build_folder("tictactoe", tmp_path / "tictactoe.parts")
    return Folder.open(tmp_path / "tictactoe.parts")


@pytest.fixture
def new():
    """A path where no call may write a file."""
    path = Path("new")
    yield path
    assert list(Path().glob("*new*")) == []


def refused(call, wrong, name):
    """Call with each wrong value; its error must be one short line that names the argument."""
    for value in wrong:
        with pytest.raises(GraphstoreError) as caught:
            call(value)
        message = str(caught.value)
        assert isinstance(caught.value, ValueError), value
        assert name in message, (value, message)
        assert "\n" not in message
        assert len(message) < 200
        if isinstance(value, float | bytes | bool | str | None):
            assert str(value).strip("'") in message, (value, message)


def snapshot(store, ask):
    with store.snapshot() as held:
        return ask(held)


POSITIONS = {
    "Store.probe": (lambda s, v: s.probe(v), "position"),
    "Store.get": (lambda s, v: s.get(v), "position"),
    "Store.line": (lambda s, v: s.line(v), "position"),
    "Store.q_table": (lambda s, v: s.q_table(v), "position"),
    "Store.graph": (lambda s, v: s.graph(below=v), "below"),
    "Store.lookup": (lambda s, v: s.lookup([v]), "position"),
    "Snapshot.probe": (lambda s, v: snapshot(s, lambda held: held.probe(v)), "position"),
    "Snapshot.values": (lambda s, v: snapshot(s, lambda held: held.values(v)), "state"),
    "Snapshot.lookup": (lambda s, v: snapshot(s, lambda held: held.lookup([v])), "position"),
    "draw": (lambda s, v: draw(s, v), "position"),
    "export": (lambda s, v: export(s, "new", "csv", below=v), "below"),
    "Player.choose": (lambda s, v: Player(s).choose(v), "position"),
    "Match": (lambda s, v: Match(s, start=v), "start"),
    "Match.read": (lambda s, v: Match(s).read(v), "move"),
    "Match.play": (lambda s, v: Match(s).play(v), "move"),
    "search": (lambda _, v: search(GAME, v), "position"),
    "Solver.search": (lambda _, v: Solver(GAME).search(v), "position"),
    "Solver.search_all": (lambda _, v: Solver(GAME).search_all([0, v]), "position"),
    "explore": (lambda _, v: explore(GAME, starts=[0, v]), "starts"),
    "outcome_class": (lambda _, v: outcome_class("domineering(2,2)", starts=[0, v]), "starts"),
    "estimate": (lambda _, v: estimate(GAME, starts=[v]), "starts"),
}
OPTIONAL = {"Store.line", "Store.q_table", "Store.graph", "draw", "export", "Match"}


@for_all("name", POSITIONS)
def test_a_wrong_position_is_refused(store, new, name):
    call, argument = POSITIONS[name]
    refused(lambda value: call(store, value), NO_POSITIONS, argument)
    if name not in OPTIONAL:
        refused(lambda value: call(store, value), [None], argument)


COUNTS = {
    "Store.line": (lambda s, v: s.line(most=v), "most", 0),
    "Store.sql": (lambda s, v: s.sql("SELECT 1", rows=v), "rows", 0),
    "draw": (lambda s, v: draw(s, plies=v), "plies", 0),
    "draw, states": (lambda s, v: draw(s, plies=1, max_states=v), "max_states", 0),
    "export": (lambda s, v: export(s, "new", "csv", below=0, plies=v), "plies", 0),
    "verify": (lambda s, v: verify(s, sample=v), "sample", 1),
    "book": (lambda _, v: book(GAME, "new", plies=v), "plies", 1),
    "compare": (lambda s, v: compare(s, s, most=v), "most", 0),
    "train": (lambda s, v: train(s.address, games=v), "games", 0),
    "explore": (lambda _, v: explore(GAME, max_states=v), "max_states", 0),
    "outcome_class": (lambda _, v: outcome_class("nim(2)", max_states=v), "max_states", 0),
    "estimate": (lambda _, v: estimate(GAME, look=v), "look", 1),
    "search": (lambda _, v: search(GAME, max_states=v), "max_states", 0),
    "search, entries": (lambda _, v: search(GAME, max_entries=v), "max_entries", 0),
    "Solver": (lambda _, v: Solver(GAME, max_states=v), "max_states", 0),
    "Solver, entries": (lambda _, v: Solver(GAME, max_entries=v), "max_entries", 0),
    "build": (lambda _, v: build(GAME, "new", max_states=v), "max_states", 0),
    "build_folder": (lambda _, v: build_folder(GAME, "new", max_states=v), "max_states", 0),
    "build_folder, parts": (lambda _, v: build_folder(GAME, "new", parts=v), "parts", 1),
    "build_folder, memory": (lambda _, v: build_folder(GAME, "new", memory=v), "memory", 0),
    "build_out_of_core": (lambda _, v: build_out_of_core(GAME, "new", parts=v), "parts", 1),
    "out of core, memory": (lambda _, v: build_out_of_core(GAME, "new", memory=v), "memory", 0),
    "load": (lambda _, v: load("new", "new.db", jobs=v), "jobs", 1),
}


@for_all("name", COUNTS)
def test_a_wrong_count_is_refused(store, new, name):
    call, argument, least = COUNTS[name]
    refused(lambda value: call(store, value), NO_COUNTS, argument)
    refused(lambda value: call(store, value), range(least), argument)


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda v: build(GAME, "new", below=v), "below"),
        (lambda v: build_folder(GAME, "new", below=v), "below"),
        (lambda v: build_out_of_core(GAME, "new", below=v), "below"),
        (lambda v: explore(GAME, starts=v), "starts"),
        (lambda v: estimate(GAME, starts=v), "starts"),
    ],
)
def test_a_wrong_list_of_positions_is_refused(new, call, argument):
    refused(call, NO_LISTS, argument)
    refused(call, ([None], [0.5], [b"X"], [["X../.../..."]], np.zeros((1, 1))), argument)


def test_a_text_is_not_a_list_of_texts(store, new):
    for value in ("X../.../...", b"X", 5, None, math.nan):
        refused(store.lookup, [value], "positions")
    refused(lambda value: build(GAME, "new", below=[value]), [0, np.int64(0)], "below")
    refused(lambda value: explore(GAME, starts=[value]), ["0", -1, 2**63], "starts")
    assert store.lookup([]).state.tolist() == []


def test_a_wrong_path_is_refused(store, new):
    refused(Store.open, NO_PATHS, "address")
    refused(upgrade, NO_PATHS, "address")
    refused(Folder.open, NO_PATHS, "path")
    refused(lambda value: load(value, "new.db"), NO_PATHS, "folder")
    refused(lambda value: export(store, value, "csv"), NO_PATHS, "target")
    refused(lambda value: build_folder(GAME, value), NO_PATHS, "folder")
    refused(lambda value: train(value, games=1), NO_PATHS, "file")
    for write in (build, build_out_of_core):
        refused(lambda value, write=write: write(GAME, value), NO_PATHS, "target")
    refused(prove, NO_PATHS, "target")


def test_a_wrong_time_share_or_seed_is_refused(store, new):
    refused(lambda value: store.sql("SELECT 1", seconds=value), NO_SECONDS, "seconds")
    refused(lambda value: search(GAME, timeout=value), NO_SECONDS, "timeout")
    refused(lambda value: Solver(GAME).search_all([0], timeout=value), NO_SECONDS, "timeout")
    shares = (0, 1, -0.5, 1.5, math.nan, "0.9", True, None)
    refused(lambda value: verify(store, sample=1, confidence=value), shares, "confidence")
    for call in (
        lambda value: verify(store, sample=1, seed=value),
        lambda value: Match(store, seed=value),
        lambda value: train(store.address, games=0, seed=value),
    ):
        refused(call, (2.5, "2", True, math.nan), "seed")


# Each function that takes a game; it returns a number of states, moves or rows.
GAMES = {
    "explore": lambda g, _: len(explore(g)),
    "estimate": lambda g, _: estimate(g).states,
    "search": lambda g, _: search(g).value,
    "Solver": lambda g, _: Solver(g).search().value,
    "check_rules": lambda g, _: check_rules(g).positions,
    "build": lambda g, at: build(g, at / "t.db").states,
    "build_folder": lambda g, at: build_folder(g, at / "t.parts").states,
    "build_out_of_core": lambda g, at: build_out_of_core(g, at / "o.db").states,
    "Store.open": lambda g, at: opened_with(g, build("nim(1,2)", at / "s.db").file),
    "Folder.sql": lambda g, at: of_folder(g, build_folder("nim(1,2)", at / "s.parts").file),
}


def opened_with(game, file):
    with Store.open(file, rules=game) as store:
        return store.probe("1 2").state


def of_folder(game, path):
    return list(Folder.open(path).sql("SELECT board(id) FROM state ORDER BY id", rules=game))


@for_all("name", GAMES)
def test_whatever_takes_a_game_takes_its_name(tmp_path, name):
    found = []
    for number, game in enumerate(("nim(1,2)", "nim-1-2", " Nim(2, 1) ", find_game("nim(1,2)"))):
        folder = tmp_path / name.replace(".", "-") / str(number)
        folder.mkdir(parents=True)
        found.append(GAMES[name](game, folder))
    assert found == [found[0]] * 4


NO_GAMES = (None, 5, 2.5, b"tictactoe", ["tictactoe"], PlainGame, Store, graphstore, Path("t.db"))


def test_whatever_takes_a_game_refuses_all_else(new, file_store, tmp_path):
    def law(name):
        def call(value):
            folder = tmp_path / name / str(len(list(tmp_path.glob(f"{name}/*"))))
            folder.mkdir(parents=True)
            GAMES[name](value, folder)

        argument = "rules" if "." in name else "game"
        wrong = NO_GAMES[1:] if "." in name else NO_GAMES  # no rules: those of the database
        refused(call, (*wrong, file_store), argument)
        refused(call, ("tictactow", "t.db"), "game")
        with pytest.raises(GameNameError) as caught:
            call("postgresql://u:secret@h/d")
        assert "secret" not in str(caught.value)

    check_all(GAMES, law)
    refused(find_game, (None, 5, b"tictactoe", Path("tictactoe")), "name of a game")
    with pytest.raises(GraphstoreError, match=r"rules, such as PlainGame\(\)$"):
        explore(PlainGame)


# Each function that takes a database, as a function of its argument and of a new path.
STORES = {
    "verify": lambda s, _: verify(s, sample=3, seed=1),
    "compare, first": lambda s, _: compare(s, s).names,
    "compare, second": lambda s, _: compare(s, second=s).same,
    "draw": lambda s, _: draw(s).title,
    "export": lambda s, new: export(s, new, "csv").rows,
    "stream": lambda s, _: streamed(s),
    "gmap": lambda s, _: gmap(s),
    "train": lambda s, _: train(s, games=0, seed=1)._replace(file=""),
    "Player": lambda s, _: with_player(s),
    "Match": lambda s, _: with_match(s),
}


def streamed(store):
    file = io.StringIO()
    stream(store, file, "csv")
    return file.getvalue()


def with_player(store):
    with Player(store, seed=1) as player:
        return player.choose("XX./OO./...").move


def with_match(store):
    with Match(store, "perfect", "perfect", seed=1) as match:
        return match.reply().name


def test_whatever_takes_a_database_takes_its_address_and_closes_it(spoilt, tmp_path, monkeypatch):
    kept, at = [], Store.at.__func__

    @classmethod
    def noted(cls, *given, **options):
        kept.append(at(cls, *given, **options))
        return kept[-1]

    def law(name):
        found = []
        addresses = [spoilt] if "://" in spoilt else [spoilt, Path(spoilt), f"sqlite:///{spoilt}"]
        with Store.open(spoilt) as given, monkeypatch.context() as patch:
            patch.setattr(Store, "at", noted)
            for number, argument in enumerate((given, *addresses)):
                found.append(STORES[name](argument, tmp_path / f"{name}{number}"))
                assert all(store._closed for store in kept)
                assert not given._closed
        assert found == [found[0]] * len(found)

    check_all(STORES, law)
    assert len(kept) >= len(STORES)


def test_what_keeps_a_database_closes_it(file_store):
    for kind in (Player, Match):
        kept = kind(str(file_store.path))
        kept.close()
        assert kept.store._closed
        kind(file_store).close()
        assert file_store.probe(0).ply == 0
    with pytest.raises(OpponentError):
        Player(file_store.path, "nobody!")


NO_STORES = (None, 5, 2.5, b"t.db", ["t.db"], PlainGame, Store, graphstore, GAME)


@for_all("name", STORES)
def test_whatever_takes_a_database_refuses_all_else(new, folder, name):
    argument = {"train": "file", "compare, first": "first", "compare, second": "first"}
    plays = name in ("Player", "Match")  # which also take a game
    wrong = (*(each for each in NO_STORES if not plays or each is not GAME), folder)
    refused(lambda value: STORES[name](value, "new"), wrong, argument.get(name, "store"))
    for address in ("tictactoe", Path("tictactoe"))[plays:]:
        with pytest.raises(StoreMissingError) as caught:
            STORES[name](address, "new")
        assert str(caught.value) == (
            "there is no file tictactoe; tictactoe is a game; "
            "run graphstore build tictactoe, then open tictactoe.db"
        )


def test_a_backend_is_not_an_address():
    refused(Store.at, ("t.db", Path("t.db"), None, 5), "Store.open")
    refused(Store, ("t.db", Path("t.db"), None, 5), "Store.open")


def test_arguments_of_folders_are_checked(folder):
    refused(lambda value: folder.sql("SELECT 1", rows=value), NO_COUNTS, "rows")
    refused(lambda value: folder.sql("SELECT 1", memory=value), NO_COUNTS, "memory")
    refused(lambda value: folder.sql("SELECT 1", seconds=value), NO_SECONDS, "seconds")


def test_the_integers_of_numpy_are_integers(store, tmp_path):
    for kind in (np.int64, np.uint16, np.uint64):
        state = kind(34832)
        assert store.probe(state) == store.get(state) == store.probe(34832)
        assert store.line(state, most=kind(2)) == store.line(34832, most=2)
        assert store.q_table(state).tobytes() == store.q_table(34832).tobytes()
        assert snapshot(store, lambda held, state=state: held.values(state)) is not None
        assert len(store.graph(below=state)) == len(store.graph(below=34832))
        assert len(draw(store, state, plies=kind(1)).nodes) == 3
        assert Match(store, start=state, seed=kind(1)).play(kind(0)).move.move == 0
        assert search(GAME, state, max_states=kind(9000)).value == 0
        assert len(explore(GAME, starts=[state])) == len(explore(GAME, starts=np.array([state])))
        assert verify(store, sample=kind(3), seed=kind(1)).ok
        target = tmp_path / f"{kind.__name__}.csv"
        assert export(store, target, "csv", below=state, plies=kind(1)).rows == {"state": 3}
    assert build(GAME, tmp_path / "new.db", below=np.array(["XXX/OO./..."])).states == 1


def test_every_public_function_with_such_arguments_is_tried():
    tried = Path(__file__).read_text()
    others = {"Game", "GameGraph", "PlainGame", "Solution", "solve"}  # without such arguments
    functions = {name for name in graphstore.__all__ if not name.endswith("Error")} - others
    assert [name for name in sorted(functions) if f"{name}" not in tried] == []


def test_objects_of_another_kind_are_refused(file_store, folder):
    for function in (solve, nimbers):
        refused(function, ("tictactoe", 5, None), "graph")
    for source in (file_store, folder):
        refused(source.sql, (5, None, b"SELECT 1"), "statement")
        refused(
            lambda value, source=source: source.sql("SELECT ?", value), (5, "a", b"a"), "parameters"
        )
        for given in ((np.int64(0),), np.array([0]), {"a": np.uint8(0)}):
            text = "SELECT ply FROM state WHERE id = " + (":a" if isinstance(given, dict) else "?")
            assert list(source.sql(text, given)) == [(0,)]
