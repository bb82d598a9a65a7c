"""The proof that X wins ultimate tic-tac-toe (open); a file with a flaw is refused."""

import random
import sqlite3
from collections import Counter
from contextlib import closing

import numpy as np
import pytest
from conftest import error_line, some_of
from stored import change, redigest, verdict_on
from ultimateplay import Raw, after, moves, played, result

from graphstore import Match, Player, Store, build, draw, find_game, prove
from graphstore.building.strategy import check_name
from graphstore.checks import proof as proofcheck
from graphstore.errors import GameNameError, MoveError, NotInStoreError, SettingError
from graphstore.games.ultimate.fields import SYMMETRIES
from graphstore.play.training import train

RULES = "open"
# States by ply 0 to 16, up to symmetry: O fills field 4, X answers each mark there.
FIRST_PHASE = [1, 1, 2, 2, 8, 6, 24, 10, 38, 13, 38, 10, 24, 6, 8, 2, 2]
PLIES = 43  # Bertholon et al. 2020, arXiv 2006.02353: the upper bound
SECOND_PHASE = 27


@pytest.fixture(scope="session")
def proof(tmp_path_factory):
    """The database of the strategy; tests must not change it."""
    path = tmp_path_factory.mktemp("proof") / "proof.db"
    prove(path)
    path.chmod(0o444)
    return path


@pytest.fixture(scope="session")
def strategy(proof):
    """The same database, open."""
    with Store.open(proof) as opened:
        yield opened


@pytest.fixture
def spoilt(proof, tmp_path):
    """A copy that a test may change."""
    path = tmp_path / "spoilt.db"
    path.write_bytes(proof.read_bytes())
    return path


def values(path, query, *parameters):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query, parameters).fetchall()


def test_x_wins_within_43_plies(strategy):
    info = strategy.info
    assert (info["name"], info["extent"]) == ("ultimate(open)", "strategy")
    assert (info["value"], info["remoteness"], info["plies"]) == (1, PLIES, PLIES)
    start = strategy.probe(info["start"])
    assert (start.to_move, start.value, start.remoteness, start.lose_depth) == (1, 1, PLIES, 22)


def test_the_first_phase_has_195_states_and_two_ends(strategy):
    by_ply = [row["states"] for row in strategy.census()]
    assert by_ply[: len(FIRST_PHASE)] == FIRST_PHASE
    assert sum(FIRST_PHASE) == 195
    ends = strategy.sql("SELECT position, remoteness FROM state WHERE ply = 16")
    fields = [position.split()[:9] for position, _ in ends]
    assert all(each[4] == "O" and each.count("....X....") == 7 for each in fields)
    assert {each.index(".") in (0, 2, 6, 8) for each in fields} == {True, False}
    below = list(strategy.sql("SELECT remoteness FROM state WHERE ply = 16"))
    assert max(below) == (SECOND_PHASE,)


def test_x_has_one_move_and_o_all_and_every_end_is_xs(proof):
    game = find_game("ultimate(open)")
    rows = values(proof, "SELECT id, position, to_move, ended, value FROM state ORDER BY id")
    game.read_many([row[1] for row in rows])
    ids = np.array([row[0] for row in rows])
    legal = np.bincount(game.expand(ids).parent, minlength=len(ids))
    stored = Counter(parent for (parent,) in values(proof, "SELECT parent FROM edge"))
    for (state, _, to_move, ended, value), count in zip(rows, legal.tolist(), strict=True):
        assert value == (1 if to_move == 1 else -1)
        assert stored[state] == (0 if ended else 1 if to_move == 1 else count)


def test_two_builds_have_the_same_content(proof, tmp_path):
    report = prove(tmp_path / "again.db")
    with Store.open(report.file) as again, Store.open(proof) as first:
        assert again.info["digest"] == first.info["digest"]
    assert (report.value, report.remoteness) == (1, PLIES)


def test_the_proof_holds(proof):
    verdict = verdict_on(proof)
    assert (verdict.ok, verdict.problems, verdict.skipped) == (True, (), ())
    assert "proof" in verdict.checked


def _edge(path, where):
    """Return the middle one of the edges (parent, move, child) that satisfy a condition."""
    found = values(
        path,
        "SELECT parent, move, child FROM edge JOIN state AS p ON p.id = parent JOIN state AS c ON "
        f"c.id = child WHERE {where} ORDER BY parent, move",
    )
    return found[len(found) // 2]


def drop_a_reply(path):
    parent, move, _ = _edge(path, "p.to_move = 2 AND p.ply = 25")
    change(path, f"DELETE FROM edge WHERE parent = {parent} AND move = {move}")
    return f"(parent {parent}, move {move})"


def drop_a_reply_that_has_a_double(path):
    """Drop one of two replies to the same state, so that nothing else is wrong."""
    ((parent, move),) = values(
        path,
        "SELECT parent, max(move) FROM edge GROUP BY parent, child HAVING count(*) > 1 "
        "ORDER BY parent LIMIT 1",
    )
    change(path, f"DELETE FROM edge WHERE parent = {parent} AND move = {move}")
    return f"(parent {parent}, move {move})"


def redirect_an_edge(path):
    """Redirect it to another state of the same ply, value and depth."""
    (parent, move, other), *_ = values(
        path,
        "SELECT edge.parent, edge.move, min(d.id) FROM edge JOIN state AS p ON p.id = edge.parent "
        "JOIN state AS c ON c.id = edge.child JOIN state AS d ON d.ply = c.ply AND d.id <> c.id "
        "AND d.remoteness = c.remoteness AND d.random_value = c.random_value AND "
        "d.best_response = c.best_response WHERE p.to_move = 2 AND c.ply = 30 "
        "GROUP BY edge.parent, edge.move",
    )
    change(path, f"UPDATE edge SET child = {other} WHERE parent = {parent} AND move = {move}")
    return f"(parent {parent}, move {move})"


def flip_a_leaf(path):
    ((leaf, text),) = values(path, "SELECT id, position FROM state WHERE ended ORDER BY id LIMIT 1")
    change(path, f"UPDATE state SET value = 1, score = -1 WHERE id = {leaf}")
    return f"{leaf} ({text})"


def depth_off_by_one(path):
    ((state, text),) = values(
        path, "SELECT id, position FROM state WHERE ply = 20 ORDER BY id LIMIT 1"
    )
    change(path, f"UPDATE state SET remoteness = remoteness + 1 WHERE id = {state}")
    return f"{state} ({text})"


def another_move_of_x(path):
    """The move is legal, but does not lead to the child."""
    parent, move, child = _edge(path, "p.to_move = 1 AND p.ply = 24 AND p.position LIKE '% any X'")
    with Store.open(path) as store:
        game = store.game
        here = np.array([game.read(store.probe(parent).position)])
        legal = game.expand(here)
        other = legal.move[game.canonical(legal.child) != child][0]
    change(path, f"UPDATE edge SET move = {other} WHERE parent = {parent} AND move = {move}")
    return f"(parent {parent}, move {other})"


def an_illegal_move_of_x(path):
    parent, move, _ = _edge(path, "p.to_move = 1 AND p.ply = 6")
    change(path, f"UPDATE edge SET move = 80 - move WHERE parent = {parent} AND move = {move}")
    return f"(parent {parent}, move {80 - move})"


def a_second_move_of_x(path):
    ((parent, move, child, text),) = values(
        path,
        "SELECT parent, move, child, position FROM edge JOIN state ON state.id = parent "
        "WHERE to_move = 1 AND ply = 2 ORDER BY parent, move LIMIT 1",
    )
    change(path, f"INSERT INTO edge VALUES ({parent}, {move + 1}, {child})")
    return f"{parent} ({text})"


def x_has_no_move(path):
    """The subtree is cut off, and the state is marked as ended."""
    ((state, text),) = values(
        path,
        "SELECT id, position FROM state WHERE to_move = 1 AND remoteness = 1 ORDER BY id LIMIT 1",
    )
    change(path, f"DELETE FROM edge WHERE parent = {state}",
           f"UPDATE state SET ended = 1, remoteness = 0 WHERE id = {state}")  # fmt: skip
    return f"{state} ({text})"


def a_row_that_nothing_reaches(path):
    """The row is right for its position, but play does not reach it."""
    text = "XXX...... XXX...... XXX...... . . . OO....... OO....... OO..OO... 1 O"
    state = find_game("ultimate(open)").read(text)
    columns = "ended, value, remoteness, score, win_depth, lose_depth, random_value, best_response"
    change(
        path,
        f"INSERT INTO state (id, position, ply, to_move, orbit, {columns}) SELECT {state}, "
        f"'{text}', 16, 2, 8, {columns} FROM state WHERE ended LIMIT 1",
    )
    return f"{state} ({text})"


def a_changed_text(path):
    ((state, text),) = values(
        path, "SELECT id, position FROM state WHERE ply = 18 ORDER BY id LIMIT 1"
    )
    changed = text.replace("O", "X", 1)
    change(path, f"UPDATE state SET position = '{changed}' WHERE id = {state}")
    return str(state)


def another_image(path):
    """The text is a rotated image of the position, and not that of the id."""
    ((state, text),) = values(
        path, "SELECT id, position FROM state WHERE ply = 4 AND orbit = 8 ORDER BY id LIMIT 1"
    )
    turned = proofcheck.write(proofcheck.images(proofcheck.parse(text))[1])
    change(path, f"UPDATE state SET position = '{turned}' WHERE id = {state}")
    return str(state)


TAMPERED = [
    drop_a_reply,
    drop_a_reply_that_has_a_double,
    redirect_an_edge,
    flip_a_leaf,
    depth_off_by_one,
    another_move_of_x,
    an_illegal_move_of_x,
    a_second_move_of_x,
    x_has_no_move,
    a_row_that_nothing_reaches,
    a_changed_text,
]


def check_alone(path):
    """Return the flaws that `proofcheck` finds, without the rest of verify."""
    rows = values(path, f"SELECT {', '.join(proofcheck.Row._fields)} FROM state")
    edges = values(path, "SELECT parent, move, child FROM edge")
    return list(
        proofcheck.flaws(
            (proofcheck.Row(*row) for row in rows), (proofcheck.Edge(*edge) for edge in edges)
        )
    )


@pytest.mark.parametrize("tamper", some_of(TAMPERED, 3))
def test_the_checker_of_the_proof_names_the_changed_row(spoilt, tamper):
    row = tamper(spoilt)
    named = row.split(" (")[0]
    assert [found for found in check_alone(spoilt) if named in found.row]


@pytest.mark.parametrize("tamper", some_of([drop_a_reply_that_has_a_double, another_image], 2))
def test_new_digests_do_not_hide_a_change_from_verify(spoilt, tamper):
    row = tamper(spoilt)
    redigest(spoilt)
    verdict = verdict_on(spoilt)
    assert not [problem for problem in verdict.problems if problem.table == "digest"]
    assert row in {problem.row.split(" (")[0] for problem in verdict.problems} | {
        problem.row for problem in verdict.problems
    }, verdict.problems


def test_a_whole_game_is_not_a_strategy_and_a_strategy_not_a_whole_game(spoilt, copy):
    for path, extent in ((spoilt, "whole"), (copy, "strategy"), (copy, "much")):
        change(path, f"UPDATE game SET extent = '{extent}'")
        redigest(path)
        assert not verdict_on(path).ok, extent


def test_a_strategy_that_loses_is_refused():
    """X plays 4.4, and the file has no further state."""
    text = ". . . . ....X.... . . . . 4 O"
    rows = [
        proofcheck.Row(1, ". . . . . . . . . any X", 0, 1, 0, 1, 1, 1),
        proofcheck.Row(2, text, 1, 2, 1, -1, 0, 1),
    ]
    found = list(proofcheck.flaws(rows, [proofcheck.Edge(1, 40, 2)]))
    assert {(each.table, each.column) for each in found} == {("state", "ended"), ("edge", "row")}
    assert [each.row for each in found if each.table == "edge"] == [
        f"(parent 2, move {move})" for move in (36, 37, 38, 39, 41, 42, 43, 44)
    ]
    assert next(proofcheck.flaws([], [])).expected == "the start"


def test_the_checkers_rules_are_those_of_the_game():
    """Play random games with both sets of rules."""
    game, chance = find_game("ultimate(open)"), random.Random(1)
    for _ in range(60):
        position, here = proofcheck.START, game.start_states()
        while proofcheck.winner(position) is None:
            legal = proofcheck.legal_moves(position)
            expanded = game.expand(here)
            assert expanded.move.tolist() == legal
            which = chance.randrange(len(legal))
            position, here = proofcheck.play(position, legal[which]), expanded.child[[which]]
            text = proofcheck.write(position)
            assert game.texts(here) == [text]
            assert proofcheck.parse(text) == position
        images = {*map(proofcheck.write, proofcheck.images(position))}
        assert images == set(game.texts(np.unique(game.images(here))))
        outcome = {"X": 1, "O": -1, "=": 0}[proofcheck.winner(position)]
        assert game.outcomes(here)[0] == (outcome if position.turn == "X" else -outcome)


@pytest.mark.parametrize(
    "text",
    ["", "X", ". . . . . . . . . any", ". . . . . . . . . 9 X", ". . . . . . . . . any Y",
     "......... . . . . . . . . any X", "XXXXXXXXX . . . . . . . . 0 O",
     "XXXOO.... . . . . . . . . 3 X",
     "X . . . . . . . . 0 O", "a........ . . . . . . . . 0 O", ".  . . . . . . . . any X"],
)  # fmt: skip
def test_the_checker_takes_texts_only_as_they_are_written(text):
    assert proofcheck.parse(text) is None


@pytest.mark.parametrize(
    ("opponent", "games"), [("random", 20), ("perfect", 15), ("mistakes=0.5", 15)]
)
def test_the_machine_as_x_wins_every_game(strategy, opponent, games):
    for seed in range(games):
        match = Match(strategy, "perfect", opponent, seed=seed)
        raw = Raw()
        while not match.over:
            turn = match.reply()
            assert turn.move.move in moves(raw, RULES)
            raw = played(raw, turn.move.move, RULES)
            assert result(raw, RULES) in (0, 1)
        assert (match.result.winner, match.result.how) == (1, "won")
        assert result(raw, RULES) == 1
        assert len(match.turns) <= PLIES


def test_x_wins_a_thousand_games_against_chance(proof):
    """All games at once: X looks up the state, O plays a random legal move."""
    game, chance = find_game("ultimate(open)"), np.random.default_rng(1)
    rows = values(
        proof, "SELECT parent, child FROM edge JOIN state ON id = parent WHERE to_move = 1"
    )
    answer, here, plies = dict(rows), np.repeat(game.start_states(), 1000), 0
    game.read_many([text for (text,) in values(proof, "SELECT position FROM state")])
    while here.size:
        legal = game.expand(here)
        if plies % 2:
            order = np.lexsort((chance.random(len(legal.move)), legal.parent))
        else:
            wanted = np.array([answer[state] for state in game.canonical(here).tolist()])
            order = np.flatnonzero(game.canonical(legal.child) == wanted[legal.parent])
        _, first = np.unique(legal.parent[order], return_index=True)
        assert len(first) == len(here)
        here, plies = legal.child[order[first]], plies + 1
        outcomes = game.outcomes(here)
        assert set(outcomes[outcomes != 2].tolist()) <= ({-1} if plies % 2 else set())
        here = here[outcomes == 2]
    assert plies <= PLIES


def test_any_orientation_is_answered_with_the_same_state(strategy):
    chance, player = random.Random(2), Player(strategy, seed=1)
    games = [strategy.game.start_states() for _ in SYMMETRIES]
    while True:
        probes = [strategy.probe(strategy.game.texts(here)[0]) for here in games]
        assert len({probe.state for probe in probes}) == 1
        if probes[0].ended:
            break
        if probes[0].to_move == 1:
            move = player.pick(probes[0]).move
            assert len({each.state for probe in probes for each in probe.moves}) == 1
        else:
            move = chance.choice(probes[0].moves).move
        for place, symmetry in enumerate(SYMMETRIES):
            turned = 9 * symmetry[move // 9] + symmetry[move % 9]
            assert turned in {each.move for each in probes[place].moves}
            games[place] = np.array([after(strategy.game, [turned], int(games[place][0]))])


def test_positions_that_the_strategy_avoids_are_not_stored(strategy):
    match = Match(strategy, "person", "perfect")
    with pytest.raises(MoveError, match=r"0\.0 is legal, but .* X can only play 4\.4"):
        match.play("0.0")
    match.play("4.4")
    with pytest.raises(NotInStoreError, match="this strategy: its moves for X never lead there"):
        strategy.probe("X........ . . . . . . . . 0 O")
    with pytest.raises(MoveError, match="is not legal here"):
        match.read("0.0")


def test_agents_do_not_learn_a_strategy(proof):
    with pytest.raises(SettingError, match="train agents on a whole game"):
        train(proof, games=1)


@pytest.mark.parametrize("name", ["tictactoe", "ultimate(closed)", "ultimate(closed,count)"])
def test_there_is_no_proof_for_other_games(name):
    with pytest.raises(GameNameError, match="there is no proof for"):
        check_name(name)


def test_every_name_of_the_game_is_accepted():
    for name in ("ultimate", "ultimate(open)", " Ultimate( open ) "):
        check_name(name)


def test_the_commands_say_that_depths_are_bounds(run, proof, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = run("show", proof).stdout
    assert "X to move: X wins within 22 moves (at most 43 plies)" in shown
    assert "within" in run("line", proof).stdout.splitlines()[0]
    assert "extent         strategy" in run("stats", proof).stdout
    played = run("play", proof, "--moves", "4.0")
    assert played.stdout.startswith("X plays 4.4\n")
    assert played.stdout.endswith("unfinished: O to move\n")
    hinted = run("play", proof, stdin=b"h\n").stdout
    assert "4.0  loses within 21" in hinted
    assert "no proof" in error_line(run("prove", "tictactoe"))
    assert "exists; add --force" in error_line(run("prove", "ultimate", "--db", proof))
    assert "can hold tictactoe only" in error_line(run("export", proof, "--format", "gmap"))


def test_the_picture_of_a_strategy_has_the_first_states_of_the_proof(strategy):
    drawing = draw(strategy, plies=8)
    waves = Counter(node.distance for node in drawing.nodes)
    assert [waves[ply] for ply in range(9)] == FIRST_PHASE[:9]
    assert all(node.picture.block == (3, 3) and node.picture.columns == 9 for node in drawing.nodes)
    replies = Counter(arrow.parent for arrow in drawing.arrows)
    for probe in drawing.probes:
        if probe.to_move == 1 and probe.ply < 8:
            assert replies[probe.state] == 1


def test_a_build_below_a_file_of_another_kind_is_replaced_only_by_force(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    build("tictactoe", "ultimate-open-strategy.db")
    assert "exists" in error_line(run("prove", "ultimate"))
    done = run("prove", "ultimate", "--force", "--json")
    assert done.returncode == 0
    with Store.open("ultimate-open-strategy.db") as store:
        assert store.info["extent"] == "strategy"
