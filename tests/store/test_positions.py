"""Every entry point reads positions alike: boards, moves, ids, the start, in every spelling."""

import pytest
from conftest import TableGame, check_all, error_line, for_all

from graphstore import Folder, Match, PlainGame, Store, build, build_folder, draw, find_game, search
from graphstore.errors import PositionError
from graphstore.rules.positions import read_position

# Spellings of the position after the moves 0, 1 and 4 in tic-tac-toe, and of the start.
AFTER = "XO./.X./..."
TYPED = (AFTER, "moves:0 1 4", "Moves:0,1,4", "moves:014", "0 1 4", "014", "x,o,b,b,x,b,b,b,b")
TYPED += ("X O 2 / 3 X 5 / 6 7 8", "XO.|.X.|...", "[[1, 2, 0], [0, 1, 0], [0, 0, 0]]")
LISTS = (
    ["0", 1, 4],
    (0, "1", 4),
    [["X", "O", None], [None, "X", ""], [None, "", ""]],
    [1, -1, 0, 0, 1, 0, 0, 0, 0],
)
STARTS = ("start", " START", "moves:", "moves: ", ".........", [])
BARE = {"0 1 4", "014"}


@for_all("typed", [*TYPED, *LISTS])
def test_every_entry_point_reads_a_position_alike(typed, file_store, tmp_path_factory):
    game = file_store.game
    assert file_store.probe(typed).position == AFTER
    assert file_store.get(typed).state == file_store.line(typed).probes[0].state == 8706
    assert file_store.q_table(typed)["move"].tolist() == [2, 3, 5, 6, 7, 8]
    assert 8706 in file_store.graph(below=typed)
    assert Match(file_store, start=typed).probe.position == AFTER
    assert draw(file_store, typed).probes[0].position == AFTER
    assert search(game, typed).position == AFTER
    with file_store.snapshot() as snapshot:
        assert snapshot.probe(typed).state == 8706
    if isinstance(typed, str) or not all(isinstance(each, int) for each in typed):
        assert file_store.lookup([typed, AFTER]).state.tolist() == [8706, 8706]
    if isinstance(typed, str):
        rows = file_store.sql("SELECT canonical(?), board(?)", [typed, typed])
        assert list(rows) == [(8706, "XO.\n.X.\n...")]
        path = tmp_path_factory.mktemp("below") / "below.db"
        assert build(game, path, below=[typed]).start == file_store.probe(8706).position


@for_all("typed", STARTS)
def test_the_start_is_read_everywhere(typed, file_store):
    for probe in (file_store.probe(typed), file_store.line(typed).probes[0], file_store.start()):
        assert (probe.position, probe.state) == (".../.../...", 0)
    assert search(find_game("mnk(2,2,2)"), "start" if typed != [] else []).position == "../.."
    if isinstance(typed, str):
        assert list(file_store.sql("SELECT canonical(?)", [typed])) == [(0,)]
        assert file_store.lookup([typed, AFTER]).state.tolist() == [0, 8706]


def test_a_folder_reads_it_too(tmp_path):
    pytest.importorskip("duckdb")
    build_folder("tictactoe", tmp_path / "t.parts")
    folder = Folder.open(tmp_path / "t.parts")

    def law(typed):
        assert list(folder.sql("SELECT canonical(?)", [typed])) == [(8706,)]

    check_all(TYPED, law)


COMMANDS = (  # the words before and after the position
    (("show", "DB"), ("--json",)),
    (("line", "DB"), ()),
    (("play", "DB"), ("--moves", "8", "--seed", "1")),
    (("draw", "DB"), ("--format", "text")),
    (("export", "DB", "--format", "csv", "--below"), ()),
    (("solve", "tictactoe"), ("--json",)),
    (("estimate", "tictactoe", "--from"), ()),
)


@for_all(("before", "after"), COMMANDS)
def test_every_command_reads_moves_and_says_once_when_they_have_no_prefix(
    before, after, tictactoe_db, run, tmp_path
):
    before = [str(tictactoe_db) if word == "DB" else word for word in before]
    right = run(*before, AFTER, *after)
    assert (right.returncode, right.stderr) == (0, ""), right
    for typed in TYPED:
        done = run(*before, typed, *after)
        assert done.returncode == 0, done
        if before[0] not in ("solve", "estimate"):  # they print a time
            assert done.stdout == right.stdout
        said = [line for line in done.stderr.splitlines() if "is read as 3 moves" in line]
        assert len(said) == (typed in BARE), done.stderr


def test_python_prints_nothing_about_moves(file_store, capsys):
    file_store.probe("0 1 4")
    search(file_store.game, "014")
    assert capsys.readouterr() == ("", "")


def test_columns_count_from_1_as_other_programs_write_them(connect_db, run):
    game = find_game("connect(7,6)")
    right = read_position(game, "......./......./...O.../...X.../...O.../...XX..")
    for typed in ("44445", "moves:44445", "4 4 4 4 5", "moves:4 4 4 4 5", [4, 4, 4, 4, 5], "44445"):
        assert read_position(game, typed) == right
    done = run("show", connect_db, "moves:112")
    assert "..../..../O.../XX.." in done.stdout
    done = run("show", connect_db, "112")
    assert "'112' is read as 3 moves, to ..../..../O.../XX.." in done.stderr
    assert error_line(run("show", connect_db, "moves:105")) == (
        "move 2, '0', is not legal in ..../..../..../X...: legal: 1 2 3 4"
    )


@for_all(
    ("typed", "said"),
    [
        ("moves:4 4", "move 2, '4', is not legal in .../.X./...: legal: 0 1 2 3 5 6 7 8"),
        (
            "moves:4 x",
            "move 2, 'x', is not legal in .../.X./...: 'x' is not a move; write the n…",
        ),
        ("moves:0 3 1 4 2 5", "move 6, '5', is not legal in XXX/OO./...: the game is over"),
        ("77", "no state has the id '77'; as moves: move 2, '7', is not legal in .../.../.X.: …"),
        (
            "4 4",
            "'4 4' has 2 cells; tictactoe has 9 cells, … as moves: move 2, '4', is not legal …",
        ),
    ],
)
def test_an_illegal_move_is_one_line_with_its_number_and_the_position(
    typed, said, tictactoe_db, run
):
    line = error_line(run("show", tictactoe_db, typed))
    begin, *rest = said.split("…")
    assert line.startswith(begin)
    assert all(part in line for part in rest)


def test_a_position_of_the_rules_that_is_called_start_goes_first(tmp_path):
    table = {"begin": {0: "start", 1: "moves:1"}, "start": {5: "end"}, "moves:1": -1, "end": -1}
    game = TableGame(table, "begin")
    build(game, tmp_path / "t.db")
    with Store.open(tmp_path / "t.db", rules=game) as store:
        for own in ("start", "moves:1"):
            assert store.probe(own).position == own
            assert list(
                store.sql(
                    "SELECT canonical(?) = (SELECT id FROM state WHERE position = ?)", [own, own]
                )
            ) == [(1,)]
        assert store.start().position == store.line().positions[0] == "begin"
        assert Match(store).probe.position == "begin"
        assert store.probe("moves:0 5").position == store.probe([0, 5]).position == "end"
        assert store.probe("0 5").position == "end"  # the rules read any text; none is stored
        assert store.probe("moves: 1").position == "moves:1"


class Colours(PlainGame):
    """Take one of three stones; the colours of the players may be exchanged."""

    players = ("white", "black")

    def start(self):
        return ("white", 3)

    def moves(self, position):
        return (1, 2) if position[1] > 1 else (1,)

    def play(self, position, taken):
        return ("black" if position[0] == "white" else "white", position[1] - taken)

    def outcome(self, position):
        return -1 if position[1] == 0 else None

    def symmetries(self, position):
        return [("black" if position[0] == "white" else "white", position[1])]


def test_show_line_and_play_begin_at_the_start_itself(tmp_path):
    game = Colours()
    build(game, tmp_path / "c.db")
    with Store.open(tmp_path / "c.db", rules=game) as store:
        assert store.info["start"] == "('black', 3)"
        white = "('white', 3)"
        assert store.start().position == store.probe("start").position == white
        assert store.line().positions[0] == Match(store).probe.position == white
        assert draw(store).probes[0].position == white
    with Store.open(tmp_path / "c.db") as store:  # without the rules
        assert store.start().position == store.probe("start").position == "('black', 3)"


def test_below_other_positions_the_start_is_the_first_of_these(tmp_path):
    build("tictactoe", tmp_path / "b.db", below=["moves:4"])
    with Store.open(tmp_path / "b.db") as store:
        assert store.start().position == store.probe("start").position == ".../.X./..."


def test_lists_that_are_neither_moves_nor_boards_are_refused_in_one_line(file_store):
    wrong = (["X"], [None], [0.5, 1], [[0, 1], [2]], [4, 4], [["X"] * 4] * 4, [["X", "X", 0]] * 3)
    for each in wrong:
        with pytest.raises(PositionError, match=r"^[^\n]{1,250}$"):
            file_store.probe(each)
        assert file_store.get(each) is None
