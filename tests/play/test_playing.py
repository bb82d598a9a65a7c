"""A match keeps the rules, its history and its record, in any game and with any players."""

import json
import random

import pytest

from graphstore import Match, MoveError, NotInStoreError, Player, PositionError, Store, build
from graphstore.errors import GameOverError, OpponentError
from graphstore.play.match import LISTED

GAMES = [
    "tictactoe",
    "mnk(3,3,3,misere)",
    "connect(4,3,3)",
    "vanishing",
    "morris(orthogonal)",
    "morris(king,pass,straight)",
    "nim(1,3,5)",
    "nim(2,2,12,misere)",
    "subtraction(21,1,2,3)",
    "hexapawn(3,3)",
]


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """A function that opens the database of a game, built once."""
    folder, opened = tmp_path_factory.mktemp("games"), {}

    def open_game(name):
        if name not in opened:
            path = folder / f"{len(opened)}.db"
            build(name, path)
            opened[name] = Store.open(path)
        return opened[name]

    yield open_game
    for each in opened.values():
        each.close()


def played_out(match):
    while not match.over:
        match.reply()
    return match


@pytest.mark.parametrize("name", GAMES)
def test_machines_play_any_game_to_its_end_and_the_better_side_wins(stores, name):
    store = stores(name)
    start = store.probe(store.info["start"])
    for seed, (first, second) in enumerate(
        [("perfect", "perfect"), ("perfect", "random"), ("random", "perfect")] * 4
    ):
        match = played_out(Match(store, first, second, seed=seed))
        assert match.result.how in ("won", "drawn", "repetition")
        worth = {None: 0, 1: 1, 2: -1}[match.result.winner]
        if first == second:
            assert worth == start.value
            if start.value:
                assert len(match.turns) == start.remoteness
        elif first == "perfect":
            assert worth >= start.value
        else:
            assert worth <= start.value
        for turn, then in zip(match.turns, match.turns[1:], strict=False):
            assert turn.player + then.player == 3
            assert turn.move.position == then.before.position
            assert turn.move.state == then.before.state


def test_play_in_circles_is_drawn_when_a_player_meets_a_state_for_the_third_time(stores):
    match = played_out(Match(stores("morris(king)"), "perfect", "perfect", seed=1))
    assert match.result == (None, None, "repetition")
    met = [(turn.before.state, turn.player) for turn in match.turns]
    met.append((match.probe.state, match.player))
    assert met.count(met[-1]) == 3
    assert max(map(met.count, met)) == 3
    with pytest.raises(GameOverError):
        match.reply()


def test_a_person_plays_by_name_or_by_number(stores):
    match = Match(stores("nim(1,3,5)"), "person", "person")
    assert (match.play("3-1").move.move, match.play("32").name) == (31, "3-2")
    assert match.probe.position == "1,3,2"
    match = Match(stores("hexapawn(3,3)"), "person", "person")
    assert (match.play("6-3").name, match.name_of(match.player)) == ("6-3", "black")
    match = Match(stores("tictactoe"), "person", "person", start=".../.../...")
    assert match.play(4).move.position == ".../.X./..."


def test_if_positions_do_not_say_who_moves_turns_are_counted(stores):
    match = Match(stores("nim(1,3,5)"), "person", "person", start="0,0,2")
    assert (match.player, match.name_of(1)) == (1, "player 1")
    match.play("3-1")
    assert match.player == 2
    match.play("3-1")
    assert match.result == (2, "player 2", "won")


def test_who_begins_is_who_is_to_move_in_the_start(stores):
    match = Match(stores("tictactoe"), "person", "random", start="X../.../...")
    assert (match.player, match.by, match.opponents) == (2, "person", ("random", "person"))
    match.play(4)
    assert (match.player, match.by) == (1, "random")


@pytest.mark.parametrize(
    ("move", "why"),
    [
        ("0", "cell 0 is taken"),
        ("9", "there is no cell 9: 0 to 8"),
        ("-1", "there is no cell -1: 0 to 8"),
        ("foo", "'foo' is not a move; write the number of a move"),
        ("", "'' is not a move"),
        ("4.0", "'4.0' is not a move"),
        ("4 5", "'4 5' is not a move"),
        ("9" * 5000, "is not a move"),
        ("٤", "is not a move"),  # another script's 4
    ],
)
def test_a_wrong_move_is_explained_and_changes_nothing(stores, move, why):
    match = Match(stores("tictactoe"), start="X../.../..O")
    before = match.as_dict()
    with pytest.raises(MoveError) as error:
        match.play(move)
    assert why in str(error.value)
    assert len(str(error.value)) < 200
    assert match.as_dict() == before


def test_if_moves_are_not_cells_the_legal_ones_are_listed(stores):
    match = Match(stores("connect(4,3,3)"), "person", "person")
    with pytest.raises(MoveError, match=r"^7 is not legal here; legal: 1 2 3 4$"):
        match.play("7")
    match = Match(stores("morris(orthogonal)"), "person", "person")
    with pytest.raises(MoveError, match=r"^0-1 is not legal here; legal: 0 1 2 3 4 5 6 7 8$"):
        match.play("0-1")
    match = Match(stores("subtraction(21,1,2,3)"), "person", "person")
    with pytest.raises(MoveError, match=r"^4 is not legal here; legal: 1 2 3$"):
        match.play("4")


def test_many_legal_moves_are_not_all_listed(tmp_path):
    build("nim(40)", tmp_path / "nim.db")
    with Store.open(tmp_path / "nim.db") as store, pytest.raises(MoveError) as error:
        Match(store).play("1")
    assert str(error.value).endswith(f" 1-{LISTED} and 10 more")


def test_undo_goes_back_to_the_person_s_last_turn(stores):
    match = Match(stores("tictactoe"), "perfect", "person", seed=1)
    with pytest.raises(MoveError, match="take back"):
        match.undo()
    match.reply()
    before = match.as_dict()
    with pytest.raises(MoveError, match="take back"):
        match.undo()
    for _ in range(3):
        free = match.probe.moves[0].move
        match.play(free)
        match.reply()
        assert [turn.by for turn in match.undo()] == ["perfect", "person"]
        assert match.as_dict() == before
    alone = Match(stores("tictactoe"), "person", "person")
    alone.play(4)
    alone.play(0)
    assert [turn.name for turn in alone.undo()] == ["0"]
    assert [turn.name for turn in alone.undo()] == ["4"]
    assert alone.probe.position == ".../.../..."


def test_undo_restores_the_match_exactly(stores):
    chance = random.Random(8)
    for name in ("tictactoe", "vanishing", "nim(1,3,5)", "morris(orthogonal)"):
        match, copies = Match(stores(name), "person", "person"), []
        for _ in range(60):
            if copies and (match.over or chance.random() < 0.4):
                match.undo()
                assert match.as_dict() == copies.pop()
            else:
                copies.append(match.as_dict())
                match.play(chance.choice(match.probe.moves).move)


def test_undo_goes_back_from_the_end_too(stores):
    match = Match(stores("tictactoe"), "person", "perfect", start="XX./OO./...")
    match.play(2)
    assert match.result == (1, "X", "won")
    match.undo()
    assert not match.over
    match.resign()
    assert match.result == (2, "O", "resigned")
    for verb in (match.resign, match.reply, match.hint, lambda: match.play(2)):
        with pytest.raises(GameOverError):
            verb()


def test_play_and_reply_refuse_the_turn_of_the_other(stores):
    match = Match(stores("tictactoe"), "person", "perfect")
    with pytest.raises(ValueError, match="person's turn"):
        match.reply()
    match.play(4)
    with pytest.raises(ValueError, match="turn of perfect"):
        match.play(0)


def test_a_hint_is_what_the_database_says(stores):
    store = stores("tictactoe")
    match = Match(store, start="XO./.X./...")
    assert match.hint() == store.probe("XO./.X./...")


def test_a_seed_makes_the_same_match_and_without_one_the_record_has_it(stores):
    store = stores("tictactoe")
    for seed in range(5):
        one, two = (played_out(Match(store, "random", "perfect", seed=seed)) for _ in range(2))
        assert one.as_dict() == two.as_dict()
    drawn = played_out(Match(store, "random", "random"))
    again = played_out(Match(store, "random", "random", seed=drawn.as_dict()["seed"]))
    assert again.as_dict() == drawn.as_dict()


def test_the_record_is_json_with_the_names_of_the_columns(stores):
    store = stores("tictactoe")
    match = Match(store, "person", "perfect", start="XO./.X./...", seed=3)
    match.play(8)
    record = json.loads(json.dumps(match.as_dict()))
    assert list(record) == ["game", "file", "start", "players", "seed", "moves", "result"]
    assert record["game"] == "tictactoe"
    assert record["start"] == "XO./.X./..."
    assert record["players"] == ["perfect", "person"]
    assert record["result"] == {"winner": None, "who": None, "how": "unfinished"}
    (move,) = record["moves"]
    probe = store.probe("XO./.X./..O").as_dict()
    assert (move["number"], move["player"], move["by"]) == (1, 2, "person")
    assert (move["move"], move["name"]) == (8, "8")
    columns = set(move) - {"number", "player", "by", "move", "name"}
    assert columns == {
        "ply", "state", "position", "value", "remoteness", "score", "win_depth", "lose_depth"
    }  # fmt: skip
    assert {name: move[name] for name in columns} == {name: probe[name] for name in columns}


def test_the_first_move_that_threw_value_away_is_known(stores):
    match = Match(stores("tictactoe"), "person", "person", start="X../.O./...")
    for move in (8, 2, 6, 7):
        match.play(move)
    assert match.first_mistake(1) is None
    mistake = match.first_mistake(2)
    assert (mistake.number, mistake.name, mistake.lost_value) == (2, "2", True)


def test_a_match_that_cannot_begin_is_refused(stores):
    store = stores("tictactoe")
    with pytest.raises(GameOverError, match="is over"):
        Match(store, start="XXX/OO./...")
    with pytest.raises(OpponentError):
        Match(store, "nobody")
    with pytest.raises(PositionError):
        Match(store, start="XXXX")
    with pytest.raises(NotInStoreError):
        Match(store, start=77)


def test_a_match_takes_a_user_s_own_player(stores):
    class Lowest(Player):
        def pick(self, probe):
            return min(probe.moves, key=lambda move: move.move)

    store = stores("tictactoe")
    match = played_out(Match(store, Lowest(store, "random"), "perfect", seed=1))
    assert match.turns[0].name == "0"
    assert match.result.winner in (None, 2)


def test_without_rules_a_match_is_played_on_stored_positions(tmp_path):
    (tmp_path / "heap.py").write_text(
        "from graphstore import PlainGame\n"
        "class Heap(PlainGame):\n"
        "    def start(self): return 7\n"
        "    def moves(self, heap): return [take for take in (1, 2) if take <= heap]\n"
        "    def play(self, heap, take): return heap - take\n"
        "    def outcome(self, heap): return -1 if heap == 0 else None\n"
    )
    build(f"{tmp_path / 'heap.py'}:Heap", tmp_path / "heap.db")
    with Store.open(tmp_path / "heap.db") as store:
        match = Match(store, "perfect", "person")
        while not match.over:
            if match.by == "person":
                match.play("1")
            else:
                match.reply()
        assert match.result == (1, "player 1", "won")
