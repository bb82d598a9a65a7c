"""A perfect player chooses moves that are best in value and depth, in any game and orientation."""

import random
from collections import Counter
from functools import cache

import pytest

from graphstore import GraphstoreError, NotInStoreError, Player, PositionError, Store, build, train
from graphstore.errors import GameOverError, OpponentError, ResignedError
from graphstore.play import agents
from graphstore.play.players import one_of

LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
EMPTY = "." * 9


class Scripted(random.Random):
    """A generator whose random() returns given numbers."""

    def __init__(self, *numbers):
        super().__init__()
        self.numbers = list(numbers)

    def random(self):
        return self.numbers.pop(0)


# The correct values, by plain recursion on strings, without graphstore.


def children(board):
    mark = "XO"[board.count("X") - board.count("O")]
    return {
        cell: board[:cell] + mark + board[cell + 1 :] for cell in range(9) if board[cell] == "."
    }


def is_over(board):
    return any(board[a] == board[b] == board[c] != "." for a, b, c in LINES) or "." not in board


@cache
def truth(board):
    """Return (value, plies) for the player to move: the winner hurries, the loser delays."""
    if any(board[a] == board[b] == board[c] != "." for a, b, c in LINES):
        return -1, 0
    if "." not in board:
        return 0, 0
    answers = [truth(child) for child in children(board).values()]
    if any(value == -1 for value, _ in answers):
        return 1, 1 + min(plies for value, plies in answers if value == -1)
    if all(value == 1 for value, _ in answers):
        return -1, 1 + max(plies for _, plies in answers)
    return 0, 1 + min(plies for value, plies in answers if value == 0)


@cache
def positions():
    met, queue = {EMPTY}, [EMPTY]
    for board in queue:
        new = {} if is_over(board) else children(board)
        queue += [child for child in new.values() if child not in met and not met.add(child)]
    return tuple(queue)


@pytest.fixture(scope="module")
def probes(file_store):
    """The probe of every position of tic-tac-toe in every orientation."""
    return {board: file_store.probe(board) for board in positions()}


@pytest.fixture(scope="module", params=["morris(orthogonal)", "morris(flying)", "vanishing"])
def loopy(request, tmp_path_factory):
    """The database of a game with cycles."""
    path = tmp_path_factory.mktemp("loopy") / "game.db"
    build(request.param, path)
    with Store.open(path) as opened:
        yield opened


def test_in_each_of_the_5478_positions_every_choice_keeps_value_and_depth(file_store, probes):
    assert len(positions()) == 5478
    kinds = Counter()
    for board, probe in probes.items():
        value, plies = truth(board)
        assert (probe.value, probe.remoteness) == (value, plies), board
        if is_over(board):
            with pytest.raises(GameOverError, match="is over"):
                Player(file_store).pick(probe)
            continue
        count = len(probe.best)
        chances = Scripted(*((nth + 0.5) / count for nth in range(count)))
        player = Player(file_store, seed=chances)
        choices = {player.pick(probe).move for _ in range(count)}
        assert len(choices) == count  # these are all possible choices
        for move in choices:
            reply, left = truth(children(board)[move])
            assert reply == -value, (board, move)
            if value:
                assert left == plies - 1, (board, move)
        kinds[value] += 1
    assert sum(kinds.values()) == 4520  # positions in play
    assert set(kinds) == {1, 0, -1}


def test_every_move_that_is_as_good_is_among_the_choices(probes):
    for board, probe in probes.items():
        value, plies = truth(board)
        if value and not is_over(board):
            as_good = {
                move
                for move, child in children(board).items()
                if truth(child) == (-value, plies - 1)
            }
            assert {move.move for move in probe.best} == as_good, board


@pytest.mark.parametrize("own", ["X", "O"])
def test_the_perfect_player_never_loses(probes, own):
    met, queue = {EMPTY}, [EMPTY]
    for board in queue:
        value, _ = truth(board)
        to_move = "XO"[board.count("X") - board.count("O")]
        assert (value if to_move == own else -value) >= 0
        if is_over(board):
            continue
        replies = children(board)
        mine = [move.move for move in probes[board].best]
        for move in mine if to_move == own else replies:
            if replies[move] not in met:
                met.add(replies[move])
                queue.append(replies[move])
    assert any(is_over(board) and truth(board)[0] == -1 for board in queue)  # it wins at times


def test_a_move_has_the_orientation_of_its_position(store):
    for board, right in (("XX./OO./...", 2), (".XX/.OO/...", 0), ("XO./XO./...", 6)):
        move = Player(store).choose(board)
        assert move.move == right
        assert store.probe(move.position).ended
    assert Player(store).choose(store.probe("XX./OO./...").state).win_depth == 0


def test_from_every_won_state_best_play_ends_in_time_and_meets_no_state_twice(loopy):
    player = Player(loopy, seed=1)
    every = 1 if loopy.info["states"] < 2000 else 20
    statement = "SELECT position, remoteness, id FROM state WHERE value = 1 ORDER BY id"
    won = list(loopy.sql(statement))[::every]
    assert len(won) > 100
    ended = set()
    for position, remoteness, _ in won:
        probe, met = loopy.probe(position), []
        while not probe.ended and probe.state not in ended:
            met.append(probe.state)
            before, probe = probe, loopy.probe(player.pick(probe).position)
            assert (probe.value, probe.remoteness) == (-before.value, before.remoteness - 1)
        assert len(set(met)) == len(met)
        assert len(met) + (probe.remoteness or 0) == remoteness
        ended.update(met)  # the rest was played before


def test_no_reply_holds_a_won_state_of_a_game_with_circles_longer(loopy):
    statement = """
        SELECT count(*) FROM state AS parent JOIN edge ON parent.id = edge.parent
        JOIN state AS child ON child.id = edge.child
        WHERE parent.value = -1 AND NOT (child.value = 1 AND child.remoteness < parent.remoteness)
    """
    assert list(loopy.sql(statement)) == [(0,)]
    won = loopy.sql("SELECT position FROM state WHERE value = 1 ORDER BY id DESC LIMIT 25")
    chance = random.Random(5)
    for (position,) in won:
        probe = loopy.probe(position)
        for _ in range(probe.remoteness):
            mine = probe.value == 1
            move = Player(loopy, seed=chance).pick(probe) if mine else one_of(probe.moves, chance)
            probe = loopy.probe(move.position)
            if probe.ended:
                break
        assert (probe.ended, mine, probe.value) == (True, True, -1)


# Levels


def test_equally_best_moves_are_equally_likely(store):
    probe = store.probe("X../.O./..X")
    player = Player(store, seed=2)
    counts = Counter(player.pick(probe).move for _ in range(8000))
    assert set(counts) == {move.move for move in probe.best} == {1, 3, 5, 7}
    assert all(1850 < count < 2150 for count in counts.values()), counts  # 4 deviations


def test_a_random_player_plays_every_move(store):
    player = Player(store, "random", seed=3)
    counts = Counter(player.choose("X../.O./..X").move for _ in range(600))
    assert set(counts) == {1, 2, 3, 5, 6, 7}
    assert all(60 < count < 140 for count in counts.values()), counts


def test_mistakes_have_the_given_probability(store):
    probe = store.probe("X../.O./..X")
    best = {move.move for move in probe.best}
    for share in (0, 0.25, 1):
        player = Player(store, f"mistakes={share}", seed=4)
        wrong = [move for _ in range(4000) if (move := player.pick(probe).move) not in best]
        assert abs(len(wrong) / 4000 - share) < 0.03
        assert set(wrong) == ({2, 6} if share else set())
    forced = store.probe("XOX/XOO/OX.")
    assert Player(store, "mistakes=1").pick(forced).move == 8


def test_a_seed_makes_the_same_choices(store):
    def game(opponent, seed):
        player, position = Player(store, opponent, seed=seed), EMPTY
        moves = []
        while not is_over(position):
            move = player.choose(position)
            moves.append(move.move)
            position = move.position.replace("/", "")
        return moves

    for opponent in ("perfect", "random", "mistakes=0.3"):
        assert game(opponent, 7) == game(opponent, 7)
        assert len({tuple(game(opponent, seed)) for seed in range(30)}) > 10
    assert game("perfect", "a text") == game("perfect", "a text")


@pytest.mark.parametrize(
    "opponent", ["", "Perfect", "best", "mistakes", "mistakes=", "mistakes=x", "person"]
)
def test_an_unknown_opponent_is_refused_in_one_line(store, opponent):
    with pytest.raises(OpponentError, match=r"^[^\n]+$") as error:
        Player(store, opponent)
    assert "mistakes=" in str(error.value)
    assert isinstance(error.value, GraphstoreError | ValueError)


@pytest.mark.parametrize("share", ["-0.1", "1.1", "nan", "inf", "1e999"])
def test_a_probability_lies_between_0_and_1(store, share):
    with pytest.raises(OpponentError, match="from 0 to 1"):
        Player(store, f"mistakes={share}")


def test_a_wrong_position_is_refused(store):
    with pytest.raises(PositionError):
        Player(store).choose("XXX/XXX/...")
    with pytest.raises(NotInStoreError):
        Player(store).choose(77)
    with pytest.raises(GameOverError):
        Player(store).choose("XXX/OO./...")


RULES = """
from graphstore import PlainGame
class Heap(PlainGame):
    def start(self): return 7
    def moves(self, heap): return [take for take in (1, 2) if take <= heap]
    def play(self, heap, take): return heap - take
    def outcome(self, heap): return -1 if heap == 0 else None
"""


def test_stored_positions_need_no_rules(tmp_path):
    (tmp_path / "heap.py").write_text(RULES)
    build(f"{tmp_path / 'heap.py'}:Heap", tmp_path / "heap.db")
    with Store.open(tmp_path / "heap.db") as without:
        assert not without.has_rules
        assert Player(without).choose("7").move == 1
        assert Player(without).choose("5").move == 2
        with pytest.raises(GameOverError):
            Player(without).choose("0")


@pytest.fixture
def trained(copy):
    """A database with agents for both sides, for X, and for O."""
    for name, side in (("both", 0), ("x", 1), ("o", 2)):
        train(copy, name, games=300, side=side, seed=1)
    with Store.open(copy) as opened:
        yield opened


def test_an_agent_plays_its_beads_in_any_orientation(trained):
    player = Player(trained, "both", seed=1)
    for position in ("X........", "..X......", "....X....", "X...O....", "..X.O....", "XO......."):
        probe = trained.probe(position)
        chosen = [player.pick(probe) for _ in range(1000)]
        drawn = Counter(move.state for move in chosen)
        box = dict(
            trained.sql(
                "SELECT child, chance FROM matchbox WHERE agent = 'both' AND state = ?",
                [probe.state],
            )
        )
        assert set(drawn) <= set(box)
        for child, chance in box.items():
            assert abs(drawn[child] - 1000 * chance) <= 5 * (1000 * chance) ** 0.5 + 1
        assert set(chosen) <= set(probe.moves)
        assert player.choose(position) in probe.moves


def test_an_agent_plays_only_the_side_that_it_has_learned(trained):
    assert Player(trained, "x").choose(".........").move in range(9)
    with pytest.raises(OpponentError, match="player 1 only"):
        Player(trained, "x").choose("X........")
    assert Player(trained, "o").choose("X........").move in range(1, 9)


def test_an_agent_with_an_empty_box_resigns_or_plays_as_at_first(trained):
    with agents.writing(trained) as connection:
        connection.exec_driver_sql("UPDATE bead SET beads = 0 WHERE state = 0")
    choices = {Player(trained, "x", seed=seed).choose(".........").state for seed in range(60)}
    assert len(choices) == 3
    with agents.writing(trained) as connection:
        connection.exec_driver_sql("UPDATE agent SET empty = 'resign'")
    with pytest.raises(ResignedError, match="box of"):
        Player(trained, "x").choose(".........")


def test_a_move_that_is_the_only_one_needs_no_box(trained):
    last = trained.sql("SELECT position FROM state WHERE ply = 8 AND NOT ended LIMIT 1")
    ((position,),) = last
    assert Player(trained, "x").choose(position).move in range(9)
