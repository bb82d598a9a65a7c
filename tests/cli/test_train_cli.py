"""`graphstore train` and `graphstore agents`."""

import json
import sqlite3
from contextlib import closing

import pytest
from conftest import error_line

from graphstore import Store
from graphstore.errors import StoreExistsError
from graphstore.exports import learning_curve
from graphstore.play import agents, standings

PNG = b"\x89PNG\r\n\x1a\n"


def printed(done):
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def test_train_creates_an_agent_and_continues_it(copy, run):
    first = json.loads(printed(run("train", copy, "--games", 100, "--seed", 1, "--json")))
    assert (first["agent"], first["games"], first["games_in_all"]) == ("menace", 100, 100)
    assert first["won_by_1"] + first["drawn"] + first["won_by_2"] == 100
    assert (first["boxes"], first["seed"]) == (593, 1)
    again = json.loads(printed(run("train", copy, "--games", 50, "--json")))
    assert (again["games"], again["games_in_all"], again["seed"]) == (50, 150, 1)


def test_every_setting_has_an_option(copy, run):
    words = ("--stages", "8/4/2/1", "--win", 5, "--draw", 2, "--loss", -2, "--empty", "resign",
             "--longest", 20, "--as", "O", "--against", "random")  # fmt: skip
    printed(run("train", copy, "--agent", "o", "--games", 10, "--seed", 3, *words))
    with Store.open(copy) as store:
        known = agents.load(store, "o")
    assert known.settings == (2, (8, 4, 2, 1), 5, 2, -2, "resign", 20)
    assert (known.seed, known.games) == (3, 10)


@pytest.mark.parametrize(("name", "side"), [("X", 1), ("x", 1), ("o", 2), ("2", 2), ("both", 0)])
def test_a_side_is_a_player_or_its_number(copy, run, name, side):
    words = ("--games", 1, "--as", name, "--json")
    assert json.loads(printed(run("train", copy, *words)))["side"] == side


def test_agents_are_listed_with_their_games(copy, run):
    assert json.loads(printed(run("agents", copy, "--json"))) == []
    assert "no agents; graphstore train" in run("agents", copy).stderr
    for name, side in (("b", "X"), ("a", "both")):
        run("train", copy, "--agent", name, "--games", 20, "--as", side, "--seed", 1)
    rows = json.loads(printed(run("agents", copy, "--json")))
    assert [(row["agent"], row["side"], row["games"], row["boxes"]) for row in rows] == [
        ("a", 0, 20, 593),
        ("b", 1, 20, 304),
    ]
    table = printed(run("agents", copy))
    assert [line.split()[0] for line in table.splitlines()[2:]] == ["a", "b"]


def test_one_agent_is_printed_with_its_record_and_its_curve(copy, run):
    for against in ("self", "random"):
        run("train", copy, "--games", 10, "--against", against, "--seed", 1)
    told = json.loads(printed(run("agents", copy, "menace", "--json")))
    assert [(row["side"], row["opponent"], row["games"]) for row in told["record"]] == [
        (0, "self", 10),
        (1, "random", 5),
        (2, "random", 5),
    ]
    assert [point["games"] for point in told["curve"]] == [*range(11), 15, 20]
    assert told["curve"][0]["won"] is None
    text = printed(run("agents", copy, "menace"))
    assert "opponent" in text
    assert "nan" not in text


@pytest.mark.parametrize("words", [("train", "--games", 30), ("agents", "menace")])
def test_the_learning_curve_is_a_picture(copy, run, tmp_path, words):
    run("train", copy, "--games", 30, "--seed", 1)
    picture = tmp_path / "curve.png"
    printed(run(words[0], copy, *words[1:], "--curve", picture))
    assert picture.read_bytes().startswith(PNG)
    assert [path.name for path in tmp_path.iterdir()] in (
        ["copy.db", "curve.png"],
        ["curve.png", "copy.db"],
    )
    said = error_line(run(words[0], copy, *words[1:], "--curve", picture))
    assert "curve.png exists; remove it, or name another" in said
    said = error_line(run(words[0], copy, *words[1:], "--curve", tmp_path / "no" / "c.png"))
    assert "there is no folder" in said


def test_a_curve_never_replaces_a_file(copy, run, tmp_path):
    (tmp_path / "curve.png.drawing").write_text("mine")
    printed(run("train", copy, "--games", 5, "--curve", tmp_path / "curve.png"))
    assert (tmp_path / "curve.png.drawing").read_text() == "mine"
    target = tmp_path / "other.png"
    with Store.open(copy) as store:
        curve = standings.curve(store, agents.load(store, "menace"))
    target.write_text("mine")
    with pytest.raises(StoreExistsError):
        learning_curve.draw(curve, "menace", "tictactoe", str(target))
    assert target.read_text() == "mine"
    assert len(list(tmp_path.iterdir())) == 4


def test_the_curve_of_an_agent_without_games_can_be_drawn(copy, run, tmp_path):
    printed(run("train", copy, "--games", 0, "--curve", tmp_path / "c.png"))
    assert (tmp_path / "c.png").read_bytes().startswith(PNG)


def test_an_agent_can_be_removed(copy, run):
    run("train", copy, "--games", 10)
    done = run("agents", copy, "menace", "--remove")
    assert (done.returncode, done.stdout) == (0, "")
    assert "menace is removed" in done.stderr
    with closing(sqlite3.connect(copy)) as connection:
        for table in ("agent", "bead", "played", "checkpoint"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("train", "--as", "Z"), 2, "no such player"),
        (("train", "--stages", "4/x"), 1, "4/3/2/1"),
        (("train", "--games", -1), 2, "-1"),
        (("train", "--against", "nobody"), 1, "no agent 'nobody'; its agents: none yet"),
        (("train", "--agent", "random"), 1, "cannot be called 'random'"),
        (("train", "--as", "X", "--against", "self"), 1, "cannot play itself"),
        (("train", "--empty", "cry"), 2, "cry"),
        (("agents", "nobody"), 1, "no agent 'nobody'"),
        (("agents", "--remove"), 2, "needs an AGENT"),
        (("agents", "--curve", "c.png"), 2, "needs an AGENT"),
    ],
)
def test_wrong_options_are_one_line_and_change_nothing(copy, run, words, code, said):
    before = copy.read_bytes()
    assert said in error_line(run(words[0], copy, *words[1:]), code)
    assert copy.read_bytes() == before


def test_a_file_that_is_only_read_stays_untouched(copy, run):
    run("train", copy, "--games", 10)
    copy.chmod(0o444)
    before = copy.read_bytes(), copy.stat().st_mtime_ns
    printed(run("agents", copy))
    printed(run("agents", copy, "menace"))
    assert (copy.read_bytes(), copy.stat().st_mtime_ns) == before


def test_a_rebuild_reports_the_agents_it_kept(copy, run):
    run("train", copy, "--agent", "a", "--games", 10)
    report = json.loads(printed(run("build", "tictactoe", "--db", copy, "--force", "--json")))
    assert report["agents"] == ["a"]
    assert "agents" in printed(run("build", "tictactoe", "--db", copy, "--force"))
    said = error_line(run("build", "nim(1,2)", "--db", copy, "--force"))
    assert "agents (a)" in said
    printed(run("build", "nim(1,2)", "--db", copy, "--force", "--drop-agents"))


def test_without_matplotlib_one_line_says_what_to_install(copy, tmp_path, run, without):
    without("matplotlib")
    run("train", copy, "--games", 5)
    picture = tmp_path / "c.png"
    done = run("agents", copy, "menace", "--curve", picture)
    assert "pip install matplotlib" in error_line(done)
    assert not picture.exists()
    before = copy.read_bytes()
    done = run("train", copy, "--games", 5, "--curve", picture)
    assert "pip install matplotlib" in error_line(done)
    assert copy.read_bytes() == before


def test_a_users_game_is_learned_without_its_rules(tmp_path, run):
    rules = tmp_path / "rules.py"
    rules.write_text(
        "from graphstore import PlainGame\n"
        "class Heap(PlainGame):\n"
        "    def start(self): return 9\n"
        "    def moves(self, heap): return range(1, min(heap, 3) + 1)\n"
        "    def play(self, heap, take): return heap - take\n"
        "    def outcome(self, heap): return None if heap else -1\n"
    )
    build_file = tmp_path / "heap.db"
    printed(run("build", f"{rules}:Heap", "--db", build_file))
    rules.unlink()
    assert json.loads(printed(run("train", build_file, "--games", 20, "--json")))["games"] == 20


@pytest.mark.parametrize(
    "spoil",
    ["stages = 'x'", "empty = 'x'", "longest = 0", "games = 9223372036854775807", "random = ''"],
)
def test_a_damaged_agent_is_reported_and_can_be_removed(copy, run, spoil):
    run("train", copy, "--games", 20, "--seed", 1)
    with closing(sqlite3.connect(copy)) as connection, connection:
        connection.execute(f"UPDATE agent SET {spoil}")
    done = run("verify", copy)
    assert done.returncode == 1
    assert "delete the agent: graphstore agents" in done.stderr
    error_line(run("train", copy, "--games", 20))
    assert run("agents", copy, "menace", "--remove").returncode == 0
    assert run("verify", copy).returncode == 0


def test_a_picture_is_a_png(copy, run):
    run("train", copy, "--games", 20)
    said = error_line(run("agents", copy, "menace", "--curve", "c.svg"), 2)
    assert "must end in .png" in said


def test_players_of_a_users_game_have_their_names(tmp_path, run):
    rules = tmp_path / "rules.py"
    rules.write_text(
        "from graphstore import PlainGame\n"
        "class Heap(PlainGame):\n"
        "    players = ('Ann', 'Bob')\n"
        "    def start(self): return 9\n"
        "    def moves(self, heap): return range(1, min(heap, 3) + 1)\n"
        "    def play(self, heap, take): return heap - take\n"
        "    def outcome(self, heap): return None if heap else -1\n"
    )
    path = tmp_path / "heap.db"
    run("build", f"{rules}:Heap", "--db", path)
    words = ("train", path, "--games", 5, "--as", "Bob", "--json")
    assert "need --rules" in error_line(run(*words), 2)
    assert json.loads(printed(run(*words, "--rules", f"{rules}:Heap")))["side"] == 2


def test_a_curve_says_who_learned_against_whom_and_with_which_seed(copy, run):
    for against in ("perfect", "random"):
        run("train", copy, "--games", 5, "--against", against, "--as", "X", "--seed", 7)
    with Store.open(copy) as store:
        about = learning_curve.about(store, agents.load(store, "menace"))
    assert about.startswith("X against perfect")
    assert about.endswith("seed 7")
