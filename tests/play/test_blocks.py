"""The table `played` counts games in blocks, with the same rule in training and in an upgrade."""

import gzip
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import postgresql
import pytest
from conftest import few
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stored import all_rows, change, rows

from graphstore import Match, Store, build, compare, train, upgrade, verify
from graphstore.errors import OlderStoreError, StoreError
from graphstore.play import agents, standings, training
from graphstore.play.menace import block, checkpoints

OLDER = Path(__file__).parents[1] / "data" / "nim.0006.db.gz"
GAME = "nim(1,2,3)"


@pytest.fixture
def older(tmp_path):
    """A file of schema 0006, with a row for each game of two agents."""
    path = tmp_path / "older.db"
    path.write_bytes(gzip.decompress(OLDER.read_bytes()))
    return path


def trained(path):
    """Build the file `older` again, with this version; see tests/data/SOURCE.md."""
    build(GAME, path)
    train(path, "both", games=1234, seed=1)
    train(path, "both", games=1000, against="random")
    train(path, "first", games=77, seed=2, side=1)
    for players in (("first", "person"), ("person", "both"), ("both", "both")):
        with Store.open(path) as store:
            match = Match(store, *players, seed=3)
            while not match.over:
                match.play(match.probe.moves[-1].move) if match.by == "person" else match.reply()
            training.learn_from(match)
    train(path, "both", games=500)
    train(path, "first", games=100, against="mistakes=0.5")
    return path


def games_of(path, agent):
    """Return (side, opponent, winner, plies) of each game in a file of schema 0006, in order."""
    query = "SELECT side, opponent, winner, plies FROM played WHERE agent = ? ORDER BY number"
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query, (agent,)).fetchall()


def first_of(number):
    """Return the first game of the block of a game: 20 blocks for 100, 1,000 ... more games."""
    power = 100
    while number > 10 * power:
        power *= 10
    return number if number <= 100 else number - (number - 1) % (power // 20)


def in_blocks(games):
    """Return the rows of `played` of games that are given one by one, in order."""
    counts = Counter()
    for number, (side, opponent, winner, plies) in enumerate(games, 1):
        first = number if opponent == "person" else first_of(number)
        counts[first, side, opponent, winner, plies] += 1
    names = ("number", "side", "opponent", "winner", "plies", "games")
    return [dict(zip(names, (*key, n), strict=True)) for key, n in sorted(counts.items())]


def played(path, agent):
    return sorted(rows(path, "played", agent), key=lambda row: [*row.values()])


def test_blocks_follow_each_other_and_end_at_checkpoints_and_at_half_of_them():
    ends, number = {0}, 0
    while number < 10**6:
        assert block(number) == block(block(number)[-1] - 1)
        assert block(number).start == number + 1
        number = block(number)[-1]
        ends.add(number)
    assert {n for each in checkpoints(10**6) for n in (each, each // 2)} <= ends
    assert len(ends) == 1 + 100 + 4 * 180
    assert [block(n - 1).start for n in (1, 100, 101, 1234, 99_999)] == [
        first_of(n) for n in (1, 100, 101, 1234, 99_999)
    ]


@settings(max_examples=few(6), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    pieces=st.lists(st.integers(0, 400), max_size=6),
    against=st.sampled_from(["self", "random"]),
    batch=st.integers(1, 500),
)
def test_games_in_any_pieces_are_the_blocks_and_the_curve_of_games_one_by_one(
    tmp_path_factory, pieces, against, batch
):
    path = tmp_path_factory.mktemp("pieces") / "game.db"
    build(GAME, path)
    found, play = [], training._game

    def recorded(arena, to_move, boxes, players, seat, longest, random):
        winner, plies = play(arena, to_move, boxes, players, seat, longest, random)
        found.append((seat, against, winner, plies))
        return winner, plies

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "_game", recorded)
        patch.setattr(training, "SAVE_EVERY", 0.0)
        patch.setattr(training, "BATCH", batch)
        train(path, games=0, seed=1)
        for games in pieces:
            train(path, games=games, against=against)
    assert played(path, 1) == in_blocks(found)
    with Store.open(path) as store:
        assert verify(store).ok
        curve = standings.curve(store, agents.load(store, "menace"))
    assert curve.alone == (against == "random" and bool(found))
    for games, *rates in zip(curve.games.tolist(), curve.won, curve.drawn, curve.lost, strict=True):
        late = found[games // 2 : games]
        counts = [
            sum(winner == (side if curve.alone else 1) for side, _, winner, _ in late),
            sum(winner == 0 for _, _, winner, _ in late),
            sum(winner == (3 - side if curve.alone else 2) for side, _, winner, _ in late),
        ]
        assert rates == [n / len(late) for n in counts] if late else all(n != n for n in rates)


def test_an_upgrade_makes_the_file_that_this_version_trains(older, tmp_path):
    games = {agent: games_of(older, agent) for agent in (1, 2)}
    assert upgrade(older) == "0006"
    new = trained(tmp_path / "new.db")
    assert {agent: played(older, agent) for agent in (1, 2)} == {
        agent: in_blocks(each) for agent, each in games.items()
    }
    assert [all_rows(older, agent) for agent in (1, 2)] == [
        all_rows(new, agent) for agent in (1, 2)
    ]
    assert verify(older).ok
    assert compare(older, new, agents=True).same


def results(path):
    """Return what the commands print of all agents."""
    with Store.open(path) as store:
        known = [agents.load(store, name) for name in agents.names(store)]
        records = [standings.record(store, each) for each in known]
        curves = [standings.curve(store, each).points() for each in known]
        counts = list(store.sql("SELECT agent, winner, sum(games) FROM played GROUP BY 1, 2"))
        return standings.summaries(store), records, curves, counts


def test_an_older_file_is_read_as_after_the_upgrade(older):
    before = results(older)
    assert verify(older).ok
    upgrade(older)
    assert results(older) == before


@pytest.mark.parametrize(
    "spoil",
    ["DELETE FROM played WHERE number = 7", "UPDATE played SET number = 0 WHERE number = 7"],
)
def test_an_upgrade_does_not_hide_a_game_that_is_missing(older, spoil):
    change(older, spoil)
    for _ in range(2):
        assert "games is 0, not 1" in " ".join(map(str, verify(older).problems))
        upgrade(older)


def test_a_file_is_smaller_after_an_upgrade(older):
    before = older.stat().st_size
    later = "SELECT agent, number + {}, side, opponent, winner, plies FROM played WHERE agent = 1"
    for times in (1, 2, 4, 8):
        change(older, f"INSERT INTO played {later.format(2736 * times)}")
    assert older.stat().st_size > 2 * before
    assert verify(older).problems
    upgrade(older)
    assert older.stat().st_size < before
    assert rows(older, "played", 1)[-1]["number"] == first_of(2736 * 16)


def test_an_upgrade_in_postgresql_makes_the_same_rows(server, older):
    place = postgresql.place(server)
    build(GAME, place)
    for name in ("both", "first"):
        train(place, name, games=0)
    name = place.partition("schema=")[2]
    each = ", ".join(
        str((agent, number, *game))
        for agent in (1, 2)
        for number, game in enumerate(games_of(older, agent), 1)
    )
    postgresql.ask(
        server,
        f"SET search_path TO {name}; {postgresql.OLDER_PLAYED}"
        f"; INSERT INTO played VALUES {each}; UPDATE alembic_version SET version_num = '0006'",
    )
    postgresql.make_older_digests(place)
    with Store.open(place) as store:
        before = standings.record(store, agents.load(store, "both"))
    for address in (place, older):
        assert upgrade(address) == "0006"
    for agent in (1, 2):
        assert played(place, agent) == played(older, agent)
    with Store.open(place) as store:
        assert standings.record(store, agents.load(store, "both")) == before


def test_an_older_file_is_not_written_before_the_upgrade(older, run):
    before = older.read_bytes()
    with pytest.raises(OlderStoreError, match=f"run: graphstore upgrade {older}"):
        train(older, "both", games=1)
    with Store.open(older) as store, pytest.raises(OlderStoreError):
        training.refuse_match(Match(store, "both", "both"))
    with pytest.raises(StoreError, match=f"first run: graphstore upgrade {older}; or add --drop-a"):
        build(GAME, older, force=True)
    assert older.read_bytes() == before
    with Store.open(older) as store:
        agents.remove(store, "first")
    upgrade(older)
    train(older, "both", games=1)
    assert build(GAME, older, force=True).agents == ("both",)
