"""`graphstore play`: from a list of moves, from a pipe, and in a real terminal."""

import json
import os
import re
import select
import sqlite3
import subprocess
import time
from contextlib import closing

import pytest
from conftest import GRAPHSTORE, error_line, graphstore, openpty

from graphstore import Match, Store, build
from graphstore.cli.terminal import COMMANDS
from graphstore.errors import TooLargeError
from graphstore.play import training

ESCAPE = "\x1b"


@pytest.fixture
def play(run, tictactoe_db):
    """A function that plays tic-tac-toe, which must succeed, and returns the printed text."""

    def play(*words, stdin=b""):
        done = run("play", tictactoe_db, *words, stdin=stdin)
        assert done.returncode == 0, done
        assert ESCAPE not in done.stdout + done.stderr
        return done.stdout

    return play


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """A function that returns the database of a game, built once."""
    folder, built = tmp_path_factory.mktemp("games"), {}

    def other(name):
        if name not in built:
            built[name] = folder / f"{len(built)}.db"
            build(name, built[name])
        return built[name]

    return other


class Terminal:
    """A command in a terminal, with a keyboard."""

    def __init__(self, *words, **environment):
        self.here, there = openpty()
        self.process = subprocess.Popen(
            [*GRAPHSTORE, *map(str, words)],
            stdin=there,
            stdout=there,
            stderr=there,
            env={k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
            | {"TERM": "xterm-256color", "COLUMNS": "100"}
            | environment,
            start_new_session=True,
            preexec_fn=lambda: os.close(
                os.open(os.ttyname(0), os.O_RDWR)
            ),  # make it the controlling terminal
        )
        os.close(there)
        self.shown = ""

    def read(self, until=None):
        """Read until a text is shown, by default to the end."""
        begin, deadline = len(self.shown), time.monotonic() + 60
        while until is None or until not in self.shown[begin:]:
            assert time.monotonic() < deadline, self.shown
            if not select.select([self.here], [], [], 5)[0]:
                continue
            try:
                part = os.read(self.here, 10_000)
            except OSError:  # the other side was closed
                part = b""
            if not part:
                assert until is None, self.shown
                break
            self.shown += part.decode()
        return self.shown[begin:]

    def type(self, keys, until=None):
        os.write(self.here, keys.encode())
        return self.read(until)

    def end(self):
        self.read()
        os.close(self.here)
        return self.process.wait(60)


# A list of moves


def test_a_game_is_played_without_a_terminal(play):
    text = play("XX./OO./...", "--moves", "2")
    assert text == "X X 2\nO O 5\n6 7 8\n\nX, your move: 2\n\nX X X\nO O .\n. . .\n\nX has won\n"


def test_where_the_moves_run_out_the_game_is_unfinished(play):
    assert play("--moves", "4", "--seed", "1").endswith("\nunfinished: X to move\n")
    assert play("--moves", "").endswith("\nunfinished: X to move\n")
    assert play("--moves", "4, 0,8", "--against", "person").endswith("\nunfinished: O to move\n")


def test_a_loss_says_where_it_was_made(play):
    text = play("--against", "person", "--moves", "0,1,4,2,8")
    assert text.endswith("X has won\nO gave away a draw: move 2 was 1; best: 4\n")
    text = play("--against", "person", "--moves", "0 1 8 2 7 4 3 6")
    assert text.endswith("O has won\nX gave away a win: move 3 was 8; best: 3 4 6\n")
    text = play("XO./.X./...", "--against", "person", "--moves", "2 8")
    assert text.endswith("X has won\n")  # the loss is not a mistake: O was lost before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--moves", "4 4", "--against", "person"], "move 2 of the list: cell 4 is taken"),
        (["--moves", "9"], "move 1 of the list: there is no cell 9: 0 to 8"),
        (["--moves", "foo"], "move 1 of the list: 'foo' is not a move; write the number of a move"),
        (["--moves", "undo"], "'undo' is not a move"),
        (["XX./OO./...", "--moves", "2 5"], "the game was over before move 2 of the list, 5"),
        (["XXX/OO./..."], "XXX/OO./... is over; there is nothing to play"),
        (["XXXX"], "has 4 cells"),
        (["--against", "nobody"], "opponents: perfect, random, mistakes=P"),
        (["--you", "nobody"], "has no agent 'nobody'; its agents: none yet"),
        (["--against", "mistakes=2"], "from 0 to 1"),
    ],
)
def test_a_match_that_cannot_be_played_is_one_line(run, tictactoe_db, words, message):
    for json_too in ([], ["--json"]):
        assert message in error_line(run("play", tictactoe_db, *words, *json_too))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--you", "random", "--moves", "4"], "--you gives your side to a machine"),
        (["--first", "me"], "'me' is not one of"),
        (["--seed", "-1"], "-1 is not in the range"),
        (["--seed", "x"], "'x' is not a valid integer"),
        (["X../.../...", "4"], "unexpected extra argument"),
    ],
)
def test_wrong_usage_is_one_line(run, tictactoe_db, words, message):
    assert message in error_line(run("play", tictactoe_db, *words), 2)


def test_the_machine_may_begin_and_a_seed_makes_the_same_game(play):
    text = play("--first", "machine", "--seed", "5")
    assert text.startswith("X plays ")
    assert "O, your move" in text
    assert text == play("--first", "machine", "--seed", "5")
    assert len({play("--first", "machine", "--seed", str(seed)) for seed in range(12)}) > 2


def test_one_machine_is_watched_against_another(play):
    text = play("--you", "perfect", "--seed", "1")
    assert len(re.findall(r"^[XO] plays \d$", text, re.M)) == 9
    assert text.count("\n\n") >= 10
    assert text.endswith("\ndrawn\n")
    assert "has won" in play("--you", "mistakes=1", "--seed", "1")


# The record


def test_the_record_goes_to_standard_output_or_to_a_file(run, tictactoe_db, tmp_path):
    record = tmp_path / "game.json"
    words = ("--seed", "1", "--moves", "4 8", "--record", record)
    done = run("play", tictactoe_db, *words, "--json")
    data = json.loads(done.stdout)
    assert "unfinished: X to move" in done.stderr
    assert json.loads(record.read_text()) == data
    with Store.open(tictactoe_db) as store:
        match = Match(store, seed=1)
        for move in (4, 8):
            match.play(move)
            match.reply()
        assert data == match.as_dict()
    before = record.read_bytes()
    assert "exists; remove it, or name another" in error_line(run("play", tictactoe_db, *words))
    assert record.read_bytes() == before


@pytest.mark.parametrize("words", [["--moves", "9"], ["--moves", "4 foo"], ["--against", "nobody"]])
def test_after_an_error_there_is_no_record(run, tictactoe_db, tmp_path, words):
    error_line(run("play", tictactoe_db, *words, "--record", tmp_path / "game.json"))
    assert list(tmp_path.iterdir()) == []


def test_where_no_record_can_be_written_the_game_does_not_begin(run, tictactoe_db, tmp_path):
    done = run("play", tictactoe_db, "--record", tmp_path / "none" / "game.json", stdin=b"4\n")
    assert "there is no folder" in error_line(done)
    assert "exists; remove it" in error_line(run("play", tictactoe_db, "--record", tictactoe_db))
    done = run("play", tictactoe_db, "--record", "/dev/full", stdin=b"4\n")
    assert "exists; remove it, or name another" in error_line(done)


# A pipe


def test_a_wrong_move_is_explained_and_asked_again(play):
    text = play("X../.../..O", "--seed", "1", stdin=b"foo\n0\n9\n\n4\n")
    asked = [line for line in text.splitlines() if line.startswith("X, your move")]
    assert asked[:5] == [
        f"X, your move (? for help): {typed}" for typed in ("foo", "0", "9", "", "4")
    ]
    assert "'foo' is not a move; write the number of a move\n" in text
    assert "cell 0 is taken\n" in text
    assert "there is no cell 9: 0 to 8\n" in text
    assert "O plays " in text


def test_every_command_of_a_match_is_answered(play):
    text = play("XO./.X./...", "--first", "machine", "--seed", "1", stdin=b"h\n?\nmoves\nboard\n")
    assert "3  wins with 1 more move\n" in text
    for word in set(COMMANDS.values()):
        assert word in text
    assert text.endswith("unfinished: X to move\n")
    text = play("XO./.X./...", stdin=b"hint\n")
    assert "8  loses in 2\n" in text
    assert "2  loses in 1\n" in text


def test_undo_takes_the_last_move_back(play):
    text = play("--seed", "1", stdin=b"u\n4\nu\n0\nquit\n")
    assert "there is no move of yours to take back\n" in text
    assert re.search(r"^taken back: \d, 4$", text, re.M)
    assert text.count("0 1 2\n3 4 5\n6 7 8\n") == 2


def test_resigning_and_leaving(play):
    assert play(stdin=b"resign\n").endswith("X resigns: O has won\n")
    for last in (b"q\n", b"QUIT\n", b"", b"4", b"\n\n"):
        assert play("--seed", "1", stdin=last).endswith("unfinished: X to move\n")


def test_the_end_of_input_still_writes_the_record(run, tictactoe_db, tmp_path):
    record = tmp_path / "game.json"
    done = run("play", tictactoe_db, "--record", record, stdin=b"4\n")
    assert done.returncode == 0
    data = json.loads(record.read_text())
    assert data["result"]["how"] == "unfinished"
    assert data["moves"][0]["move"] == 4


def test_any_input_is_a_move_or_is_explained(play):
    noise = bytes(range(256)) + b"\n" + b"4" * 100_000 + b"\n\xff\xfe\n\x1b[31m\n-1\n1e3\n4\n"
    text = play("--seed", "1", stdin=noise)
    assert "O plays " in text
    assert max(map(len, text.splitlines())) < 200


def test_a_closed_input_leaves_the_game(tictactoe_db):
    done = subprocess.run(
        ["bash", "-c", '"$@" <&-', "bash", *GRAPHSTORE, "play", str(tictactoe_db)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("unfinished: X to move\n")


def test_a_closed_pipe_ends_a_match_quietly(tictactoe_db):
    script = '"$@" --you random | true; echo "${PIPESTATUS[0]}"'
    done = subprocess.run(
        ["bash", "-c", script, "bash", *GRAPHSTORE, "play", str(tictactoe_db)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.stdout, done.stderr) == ("141\n", "")


def test_a_real_pipe_plays_a_whole_game(tictactoe_db):
    done = graphstore("play", tictactoe_db, "XX./OO./...", stdin="2\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("X X X\nO O .\n. . .\n\nX has won\n")


# Other games


@pytest.mark.parametrize(
    ("name", "moves", "shown"),
    [
        ("nim(3,4,5)", "2-3 31", "player 1, your move: 2-3"),
        ("subtraction(21,1,2,3)", "3", "moves: 1 2 3"),
        ("hexapawn(3,3)", "6-3", "black plays "),
        ("morris(orthogonal)", "4", "O plays "),
        ("connect(4,3,3)", "1", "moves: 1 2 3 4"),
        ("vanishing", "4", "3 A 5"),
        ("mnk(4,3,3)", "5", " 0  1  2  3\n 4  5  6  7\n 8  9 10 11\n"),
    ],
)
def test_every_family_is_played(run, other, name, moves, shown):
    done = run("play", other(name), "--seed", "4", "--moves", moves)
    assert (done.returncode, done.stderr) == (0, "")
    assert shown in done.stdout
    done = run("play", other(name), "--you", "random", "--against", "random", "--seed", "4")
    assert re.search(r"(has won|drawn.*)\n\Z", done.stdout)


def test_a_user_s_game_is_played_with_its_rules_or_on_stored_positions(run, tmp_path):
    rules = tmp_path / "chomp.py"
    rules.write_text(
        "from graphstore import PlainGame\n"
        "class Chomp(PlainGame):\n"
        "    players = ('Ann', 'Bob')\n"
        "    def start(self): return (2, 2)\n"
        "    def moves(self, rows): return [10*r+c for r, n in enumerate(rows) for c in range(n)]\n"
        "    def play(self, rows, move):\n"
        "        r, c = divmod(move, 10)\n"
        "        return tuple(min(n, c) if at >= r else n for at, n in enumerate(rows))\n"
        "    def outcome(self, rows): return 1 if rows[0] == 0 else None\n"
        "    def write_move(self, move): return 'ab'[move % 10] + str(move // 10 + 1)\n"
        "    def read_move(self, text): return 'ab'.index(text[0]) + 10 * (int(text[1]) - 1)\n"
    )
    build(f"{rules}:Chomp", tmp_path / "chomp.db")
    done = run("play", tmp_path / "chomp.db", "--rules", f"{rules}:Chomp", "--moves", "b2 b1 a2 a1",
               "--against", "person")  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("(2, 2)\nmoves: a1 b1 a2 b2\n\nAnn, your move: b2\n")
    assert done.stdout.endswith("(0, 0)\n\nAnn has won\n")
    done = run("play", tmp_path / "chomp.db", "--moves", "11")
    assert done.returncode == 0
    assert "not built in" in done.stderr
    assert "player 1, your move: 11\n" in done.stdout


# A terminal


def test_in_a_terminal_the_colours_of_marks_do_not_show_values(tictactoe_db):
    terminal = Terminal("play", tictactoe_db, "X../.../..O", "--seed", "1")
    board = terminal.read("help): ")
    assert f"{ESCAPE}[1;36mX{ESCAPE}[0m" in board
    assert f"{ESCAPE}[1;35mO{ESCAPE}[0m" in board
    numbers = re.findall(r"\x1b\[([0-9;]*)m([1-7])\x1b\[0m", board)
    assert numbers == [("2", number) for number in "1234567"]  # all of them dim
    hint = terminal.type("h\n", "help): ")
    assert {"31m", "32m", "33m"} & set(re.findall(r"3[123]m", hint))
    after = terminal.type("2\n", "help): ")
    assert f"{ESCAPE}[1;7;35mO{ESCAPE}[0m" in after  # the last move
    terminal.type("q\n")
    assert terminal.end() == 0


def test_no_color_is_respected(tictactoe_db):
    terminal = Terminal("play", tictactoe_db, "X../.../..O", NO_COLOR="1")
    terminal.read("help): ")
    terminal.type("h\n", "help): ")
    terminal.type("resign\n")
    assert terminal.end() == 0
    assert ESCAPE not in terminal.shown
    assert terminal.shown.endswith("X resigns: O has won\r\n")


def test_ctrl_d_leaves_cleanly(tictactoe_db):
    terminal = Terminal("play", tictactoe_db)
    terminal.read("help): ")
    terminal.type("\x04")
    assert terminal.end() == 0
    assert terminal.shown.endswith("(? for help): \r\nunfinished: X to move\r\n")


def test_ctrl_c_leaves_with_130_and_a_record_of_what_was_played(tictactoe_db, tmp_path):
    terminal = Terminal("play", tictactoe_db, "--record", tmp_path / "game.json")
    terminal.read("help): ")
    terminal.type("4\n", "help): ")
    terminal.type("\x03")
    assert terminal.end() == 130
    assert terminal.shown.endswith("^C\r\ngraphstore: interrupted\r\n")
    assert "Traceback" not in terminal.shown
    record = json.loads((tmp_path / "game.json").read_text())
    assert record["moves"][0]["move"] == 4
    assert record["result"]["how"] == "unfinished"


def test_a_whole_game_at_the_keyboard(tictactoe_db):
    terminal = Terminal("play", tictactoe_db, "XX./OO./...", NO_COLOR="1")
    terminal.read("help): ")
    assert "cell 0 is taken\r\n" in terminal.type("0\n", "help): ")
    terminal.type("8\x7f2\n")  # with a backspace
    assert terminal.end() == 0
    assert terminal.shown.endswith("X X X\r\nO O .\r\n. . .\r\n\r\nX has won\r\n")


def test_an_agent_plays_and_learns_only_with_learn(copy, run):
    run("train", copy, "--games", 20, "--seed", 1)
    words = ("--against", "menace", "--seed", 1, "--moves", "4 0 1 2 3 5 6 7 8", "--json")
    before = copy.read_bytes()
    done = run("play", copy, *words[:4], stdin=b"resign\n")
    assert "O has won" in done.stdout
    assert copy.read_bytes() == before
    done = run("play", copy, *words[:4], "--learn", stdin=b"resign\n")
    assert done.stdout.endswith("menace has learned from it\n")
    (row,) = json.loads(run("agents", copy, "--json").stdout)
    assert row["games"] == 21
    done = run("play", copy, *words[:4], "--learn", stdin=b"")
    assert "learned" not in done.stdout


def test_an_agent_that_resigns_loses(copy, run):
    run("train", copy, "--agent", "x", "--as", "X", "--empty", "resign", "--games", 0)
    with closing(sqlite3.connect(copy)) as connection, connection:
        connection.execute("UPDATE bead SET beads = 0")
    done = run("play", copy, "--against", "x", "--first", "machine", "--moves", "")
    assert (done.returncode, done.stdout) == (
        0,
        "the box of x is empty\nX resigns: O has won\n",
    )


def test_a_game_too_large_for_agents_is_refused_before_it_is_played_to_learn(copy, run):
    run("train", copy, "--games", 0)
    with closing(sqlite3.connect(copy)) as connection, connection:
        connection.execute("UPDATE game SET moves = 20000001")
    words = ("play", copy, "--against", "menace", "--you", "menace")
    for refused in (run(*words, "--learn"), run("train", copy)):
        wanted = f"{copy} has 20,000,001 moves; agents can be trained on at most 20,000,000"
        assert error_line(refused) == wanted
    assert run(*words).returncode == 0
    with Store.open(copy) as store:
        match = Match(store, "menace", "menace")
        match.resign()
        with pytest.raises(TooLargeError, match="agents can be trained on at most 20,000,000"):
            training.learn_from(match)
        match = Match(store, "perfect", "random")
        match.resign()
        assert training.learn_from(match) == []


def test_an_agent_cannot_play_a_side_that_it_has_not_learned(copy, run):
    run("train", copy, "--agent", "x", "--as", "X", "--games", 5)
    said = error_line(run("play", copy, "--against", "x", "--moves", "4"))
    assert said == "x has learned to be X only, who moves first; let the other side begin (--first)"
    said = error_line(run("play", copy, "--against", "y", "--moves", "4"))
    assert "no agent 'y'; its agents: x" in said


def test_an_agent_does_not_learn_from_a_game_that_train_finds_too_large(copy, run):
    run("train", copy, "--games", 5, "--seed", 1)
    with closing(sqlite3.connect(copy)) as connection, connection:
        connection.execute(f"UPDATE game SET moves = {training.LARGEST + 1}")
    words = ("play", copy, "--moves", "4", "--learn", "--record", copy.with_name("record"))
    for command in ((*words, "--against", "menace"), ("train", copy, "--games", 5)):
        done = run(*command)
        assert "agents can be trained on at most 20,000,000" in error_line(done)
        assert done.stdout == ""
    with Store.open(copy) as store:
        match = Match(store, "menace", "person", seed=1)
        match.reply()
        match.resign()
        with pytest.raises(TooLargeError):
            training.learn_from(match)
    assert run(*words, "--against", "random", "--seed", 1).returncode == 0  # no agent plays
