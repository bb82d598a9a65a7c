"""The cookbook prints what happens, and what it prints is true by another way.

Tic-tac-toe is told by the oracle's tables and by moves made here on its texts, never by
graphstore; Connect Four by the graph's arrays, and by the published numbers.
"""

import csv
import json
import re
import shlex
import shutil
import sqlite3
import subprocess
from collections import Counter, defaultdict
from fractions import Fraction
from functools import cache, cached_property
from math import inf, perm
from pathlib import Path

import numpy as np
import pytest
from conftest import DATA

from graphstore import Store, build, explore, find_game, solve, train
from graphstore.agents import beads_in, load
from graphstore.console import print_table
from graphstore.solution import NONE
from graphstore.standings import curve

TEXT = (Path(__file__).parents[1] / "docs" / "cookbook.md").read_text()
RECIPE = re.compile(r"^### (\d+)\. .*?```sql\n(.*?)```\n\n```text\n(.*?)```", re.S | re.M)
RECIPES = {
    int(number): (file, sql, printed)
    for file, part in re.findall(r"<!-- file: (\S+) -->\n(.*?)(?=^## |\Z)", TEXT, re.S | re.M)
    for number, sql, printed in RECIPE.findall(part)
}
SESSIONS = re.findall(r"```shell\n\$ python scripts/(.*?)\n(.*?)```", TEXT, re.S)
LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
IMAGES = [  # of nine cells: four turns, each also reflected
    [row * a + column * b + c for row in range(3) for column in range(3)]
    for a, b, c in (
        *((3, 1, 0), (1, -3, 6), (-3, -1, 8), (-1, 3, 2)),
        *((3, -1, 2), (1, 3, 0), (-3, 1, 6), (-1, -3, 8)),
    )
]


class Board:
    """Tic-tac-toe by the oracle's rows, as dicts of numbers, and by moves on their texts."""

    def __init__(self, oracle):
        words = ("position", "ended", "moves", "children", "state32")
        self.row = {
            row["position"]: {
                name: None if cell == "" else Fraction(cell)
                for name, cell in row.items()
                if name not in words
            }
            | {"ended": row["ended"] != ""}
            for row in oracle
        }
        self.order = sorted(self.row, key=self.id)
        self.of_id = {self.id(position): position for position in self.row}.__getitem__
        self.start = ".../.../..."

    @staticmethod
    def id(position):
        """Return the packed marks: X's mask above O's, top left the most significant bit."""
        cells = position.replace("/", "")
        masks = ("".join("01"[cell == mark] for cell in cells) for mark in "XO")
        return int("".join(masks), 2)

    @classmethod
    def canonical(cls, cells):
        images = ("".join(cells[cell] for cell in image) for image in IMAGES)
        return min(("/".join((t[:3], t[3:6], t[6:])) for t in images), key=cls.id)

    @cache  # noqa: B019  # there is one board, for as long as its tests run
    def moves(self, position):
        """Return (cell, child) of every legal move."""
        cells, row = position.replace("/", ""), self.row[position]
        if row["ended"]:
            return []
        mark = "XO"[int(row["to_move"]) - 1]
        return [
            (cell, self.canonical(cells[:cell] + mark + cells[cell + 1 :]))
            for cell in range(9)
            if cells[cell] == "."
        ]

    def replies(self, position):
        """Return the distinct children, in the order of their ids."""
        return sorted({child for _, child in self.moves(position)}, key=self.id)

    def value(self, position):
        return int(self.row[position]["value"])

    def winner(self, position):
        value, to_move = self.value(position), int(self.row[position]["to_move"])
        return 0 if value == 0 else to_move if value == 1 else 3 - to_move

    def keeps(self, position, child):
        return self.value(position) == -self.value(child)

    @cache  # noqa: B019  # there is one board, for as long as its tests run
    def random(self, position):
        """Return the mean result of random play, for the player to move."""
        moves = self.moves(position)
        if not moves:
            return Fraction(self.value(position))
        return sum(-self.random(child) for _, child in moves) / len(moves)

    @cache  # noqa: B019  # there is one board, for as long as its tests run
    def response(self, position):
        """Return the mean result for the player who just moved, at his best against chance."""
        moves = self.moves(position)
        if not moves:
            return Fraction(-self.value(position))
        after = (
            max((self.response(mine) for _, mine in self.moves(child)), default=self.value(child))
            for _, child in moves
        )
        return sum(after) / Fraction(len(moves))

    def remoteness(self, position):
        known = self.row[position]["remoteness"]
        return self.way_to_tie(position) if self.value(position) == 0 else int(known)

    @cache  # noqa: B019  # there is one board, for as long as its tests run
    def way_to_tie(self, position):
        ways = [self.way_to_tie(c) for c in self.replies(position) if self.value(c) == 0]
        return 1 + min(ways) if ways else 0

    def ranked(self, position):
        """Return (rank, cell, child) of the moves, the best first."""

        def rank(child):
            row = self.row[child]
            win, lose = row["win_depth"], row["lose_depth"]
            return -row["score"], -1 if win is None else win, inf if lose is None else -lose

        return sorted((rank(child), cell, child) for cell, child in self.moves(position))

    def best(self, position):
        ranked = self.ranked(position)
        return [(cell, child) for rank, cell, child in ranked if rank == ranked[0][0]]

    def paths(self, kept=lambda _position, _child: True):
        """Yield, by ply, how many paths lead to each position and how likely chance takes them."""
        wave = {self.start: (1, Fraction(1))}
        while wave:
            yield wave
            following = defaultdict(lambda: (0, Fraction(0)))
            for position, (paths, chance) in wave.items():
                moves = self.moves(position)
                for _, child in moves:
                    if kept(position, child):
                        old = following[child]
                        following[child] = (old[0] + paths, old[1] + chance / len(moves))
            wave = dict(following)

    @cached_property
    def plies(self):
        with (DATA / "tictactoe_ply_counts.csv").open(newline="") as lines:
            rows = [{k: v for k, v in row.items() if k != "ply"} for row in csv.DictReader(lines)]
        return [{name: int(cell) for name, cell in row.items()} for row in rows]

    def by_ply(self):
        """Return the positions by ply, in the order of their ids."""
        waves = [[] for _ in range(10)]
        for position in self.order:
            waves[int(self.row[position]["ply"])].append(position)
        return waves

    def in_play(self):
        return [position for position in self.order if not self.row[position]["ended"]]

    def choices(self):
        """Return (value, how many choices keep it) of those with a choice that are not lost."""
        for position in self.order:
            replies = self.replies(position)
            if len(replies) > 1 and self.value(position) >= 0:
                yield self.value(position), sum(self.keeps(position, child) for child in replies)


TICTACTOE = {}


def tells(number, known=TICTACTOE):
    """Return a decorator of the function that tells the answer to a question, as rows."""
    return lambda function: known.setdefault(number, function)


@tells(1)
def _(board):
    position = board.canonical("XO..X....")
    row = board.row[position]
    told = (row[name] for name in ("ply", "to_move", "value", "remoteness"))
    return [(position, *told, board.winner(position), row["orbit"])]


@tells(2)
def _(board):
    rows = [(move, child, board.row[child]) for _, move, child in board.ranked("..X/.O./X..")]
    return [
        (move, child, -row["value"], row["score"], row["win_depth"], row["lose_depth"])
        for move, child, row in rows
    ]


@tells(3)
def _(board):
    total = board.plies[-1]
    return [(total["canon"], total["states"], total["xwin"] + total["owin"] + total["draw"])]


@tells(4)
def _(board):
    total = board.plies[-1]
    return [(w, total[f"c_{n}"], total[n]) for w, n in enumerate(("draw", "xwin", "owin"))]


@tells(5)
def _(board):
    return [
        (
            ply,
            row["canon"],
            row["states"],
            row["canon"] - row["c_nonterm"],
            row["c_nt_win"],
            row["c_nt_draw"] + row["c_draw"],
            row["c_nt_loss"] + row["c_xwin"] + row["c_owin"],
        )
        for ply, row in enumerate(board.plies[:-1])
    ]


@tells(6)
def _(board):
    rows = [(row["nt_win"], row["nt_draw"], row["nt_loss"]) for row in board.plies[:9]]
    rows = [row if ply % 2 == 0 else row[::-1] for ply, row in enumerate(rows)]
    return [(ply, *(count or None for count in row)) for ply, row in enumerate(rows)]


@tells(7)
def _(board):
    ends = Counter()
    for wave in board.paths():
        for position, (paths, _) in wave.items():
            ends[board.winner(position)] += paths * board.row[position]["ended"]
    # Wikipedia, "Game complexity" and "Tic-tac-toe"
    assert (ends.total(), ends[1], ends[2], ends[0]) == (255_168, 131_184, 77_904, 46_080)
    return [(ends.total(), ends[1], ends[2], ends[0])]


@tells(8)
def _(board):
    rows = []
    for ply, wave in enumerate(board.paths()):
        ended = sum(paths for at, (paths, _) in wave.items() if board.row[at]["ended"])
        rows.append((ply, sum(paths for paths, _ in wave.values()), ended))
    assert [nodes for _, nodes, _ in rows[:6]] == [perm(9, ply) for ply in range(6)]
    assert sum(nodes for _, nodes, _ in rows) == 549_946
    return rows


@tells(9)
def _(board):
    return [(ply, 9 - ply) for ply in range(9)]


@tells(10)
def _(board):
    rows, here = [(0, None, board.start, 0)], board.start
    while board.moves(here):
        cell, here = board.best(here)[0]
        rows.append((len(rows), cell, here, board.value(here)))
    return rows


@tells(11)
def _(board):
    children = {cell: board.canonical("." * cell + "X" + "." * (8 - cell)) for cell in (0, 1, 4)}
    assert [board.response(child) for child in children.values()] == [
        Fraction(191, 192),
        Fraction(379, 384),
        Fraction(95, 96),
    ]  # docs/q-tables.md
    return [
        (cell, moves, -board.value(child), -board.random(child), board.response(child))
        for (cell, child), moves in zip(children.items(), (4, 4, 1), strict=True)
    ]


@tells(12)
def _(board):
    rows = []
    for opening in board.by_ply()[1]:
        replies = board.replies(opening)
        lose = sum(board.value(reply) == 1 for reply in replies)
        rows.append((opening, len(replies), lose, Fraction(lose, len(replies))))
    return sorted(rows, key=lambda row: -row[3])


@tells(13)
def _(board):
    return [(at, cell) for at in board.by_ply()[1] for cell, _ in sorted(board.best(at))]


@tells(14)
def _(board):
    choices = [*board.choices()]
    return [
        (value, sum(v == value for v, _ in choices), choices.count((value, 1))) for value in (0, 1)
    ]


@tells(15)
def _(board):
    drawn = []
    for at in board.order:
        if board.value(at) == 0 and (replies := board.replies(at)):
            share = Fraction(sum(board.value(reply) == 1 for reply in replies), len(replies))
            drawn.append((-share, int(board.row[at]["ply"]), at))
    return [(at, ply, 2 - (ply + 1) % 2, -share) for share, ply, at in sorted(drawn)[:4]]


@tells(16)
def _(board):
    drawn = [at for at in board.in_play() if board.value(at) == 0]
    worst = sorted(drawn, key=board.random)[:2]  # which keeps the order of ids
    return [(at.replace("/", "\n"), board.row[at]["to_move"], board.random(at)) for at in worst]


@tells(17)
def _(board):
    rows = []
    for at in board.in_play():
        worth = {cell: -board.random(child) for cell, child in board.moves(at)}
        liked = [cell for cell in worth if worth[cell] == max(worth.values())]
        gets = max(-board.value(child) for cell, child in board.moves(at) if cell in liked)
        if gets < board.value(at):
            rows.append((at, min(liked), max(worth.values()), gets, board.value(at)))
    return sorted(rows, key=lambda row: -row[2])[:4]


@tells(18)
def _(board):
    chances = defaultdict(Fraction)
    for wave in board.paths():
        for at, (_, chance) in wave.items():
            chances[board.winner(at)] += chance * board.row[at]["ended"]
    assert sum(chances.values()) == 1
    return [(winner, round(chances[winner], 6)) for winner in range(3)]


@tells(19)
def _(board):
    rows = []
    for ply, wave in enumerate(board.by_ply()[:9]):
        moves = Counter()
        for at in wave:
            for _, child in board.moves(at) if board.value(at) >= 0 else ():
                moves[board.keeps(at, child)] += int(board.row[at]["orbit"])
        rows.append((ply, moves.total(), Fraction(100 * moves[False], moves.total())))
    return rows


@tells(20)
def _(board):
    """Who cannot win at once, and cannot meet two threats: by the lines, not by the values."""
    forks = {1: [], 2: []}
    for at in board.in_play():
        cells, to_move = at.replace("/", ""), int(board.row[at]["to_move"])
        threats = [
            {
                c
                for line in LINES
                for c in line
                if sorted(cells[d] for d in line) == [".", m, m] and cells[c] == "."
            }
            for m in ("XO"[to_move - 1], "XO"[2 - to_move])
        ]
        if not threats[0] and len(threats[1]) > 1:
            forks[to_move].append(int(board.row[at]["orbit"]))
    return [(victim, len(orbits), sum(orbits)) for victim, orbits in forks.items()]


@tells(21)
def _(board):
    count = Counter((board.remoteness(at), board.value(at)) for at in board.order)
    return [(plies, *(count[plies, value] for value in (1, 0, -1))) for plies in range(10)]


@tells(22)
def _(board):
    won = [at for at in board.order if board.value(at) == 1]
    most = max(board.remoteness(at) for at in won)
    longest = [
        [at for at in wave if at in won and board.remoteness(at) == most] for wave in board.by_ply()
    ]
    return [
        (ply, 2 - (ply + 1) % 2, most, len(wave), min(wave))
        for ply, wave in enumerate(longest)
        if wave
    ]


@tells(23)
def _(board):
    parents = Counter(child for at in board.order for child in board.replies(at))
    most = sorted(parents, key=lambda at: (-parents[at], board.id(at)))[:3]
    return [(at, board.row[at]["ply"], parents[at]) for at in most]


@tells(24)
def _(board):
    orbits = Counter(
        len({tuple(at.replace("/", "")[c] for c in i) for i in IMAGES}) for at in board.order
    )
    return [(images, count, images * count) for images, count in sorted(orbits.items())]


@tells(25)
def _(board):
    rows = []
    for at in [board.start, *board.by_ply()[1]]:
        cells = defaultdict(list)
        for cell, child in board.moves(at):
            cells[child].append(cell)
        rows += sorted((at, min(same), len(same)) for same in cells.values() if len(same) > 1)
    return rows


@tells(26)
def _(board):
    rows, wave = [], {board.start}
    while wave:
        rows += [(int(board.row[at]["ply"]), at) for at in wave if len(wave) == 1]
        wave = (
            {child for at in wave for _, child in board.best(at)}
            if any(map(board.moves, wave))
            else ()
        )
    return rows


@tells(27)
def _(board):
    ends = Counter()
    for wave in board.paths(board.keeps):
        for at, (paths, _) in wave.items():
            ends[board.winner(at)] += paths * board.row[at]["ended"]
    return [(ends.total(), ends[0])]


AGENT = {}


@tells(28, AGENT)
def _(board, store, known, reports):
    cell = {
        child: min(c for c, to in board.moves(board.start) if to == child)
        for child in board.replies(board.start)
    }
    beads = [(cell[board.of_id(child)], count) for child, count in beads_in(store, known, 0)]
    total, most = sum(count for _, count in beads), max(count for _, count in beads)
    return [(c, n, Fraction(n, total), int(n == most), 1) for c, n in sorted(beads)]  # all draw


@tells(29, AGENT)
def _(board, store, known, reports):
    rows = {}
    for at in board.in_play():
        beads = beads_in(store, known, board.id(at))
        if any(count for _, count in beads):
            most = max(count for _, count in beads)
            kept = [board.keeps(at, board.of_id(child)) for child, count in beads if count == most]
            row = rows.setdefault(int(board.row[at]["ply"]), [0, 0, 0])
            rows[int(board.row[at]["ply"])] = [
                row[0] + 1,
                row[1] + all(kept),
                row[2] + (not any(kept)),
            ]
    return [(ply, *row) for ply, row in sorted(rows.items())]


@tells(30, AGENT)
def _(board, store, known, reports):
    points = curve(store, known)
    return [
        (games, round(share * reports[-1].boxes), reports[-1].boxes)
        for games, share in zip(points.games.tolist(), points.kept.tolist(), strict=True)
        if games in (0, 10, 100, 1000, 3000)
    ]


@tells(31, AGENT)
def _(board, store, known, reports):
    return [(n, each.won_by_1, each.drawn, each.won_by_2) for n, each in enumerate(reports)]


CONNECT = {}


def shown(graph, state, *names):
    return [graph.nodes[state][name] for name in names]


def drawn_board(graph, state):
    return graph.nodes[state]["position"].replace("/", "\n") + "\n0123"


@tells(32, CONNECT)
def _(graph, known):
    whole, mirrored = known[0], known[1]
    plies = len(whole["per_ply"]) - 1
    row = ("connect(4,4)", whole["root"], plies, mirrored["states"], whole["states"])
    return [(*row, mirrored["edges"], plies)]


@tells(33, CONNECT)
def _(graph, known):
    ended = graph.states.orbit * (graph.edges_by_move.counts == 0)
    by_ply = np.bincount(graph.states.ply, ended).astype(int)
    assert by_ply.sum() == known[0]["terminal_win"] + known[0]["terminal_draw"]
    final = np.bincount(graph.states.ply[graph.edges_by_move.counts == 0], minlength=17)
    return [(ply, known[0]["per_ply"][ply], final[ply]) for ply in range(0, 17, 4)]


@tells(34, CONNECT)
def _(graph, known):
    decided = (graph.edges_by_move.counts > 0) & (graph.solution.value != 0)
    plies = np.unique(graph.states.ply[decided])[:3]
    counts = [
        [
            int((decided & (graph.states.ply == ply) & (graph.solution.value == v)).sum())
            for v in (1, -1)
        ]
        for ply in plies
    ]
    return [(ply, 1 + ply % 2, *count) for ply, count in zip(plies, counts, strict=True)]


@tells(35, CONNECT)
def _(graph, known):
    rows = []
    for state in graph.states.id[graph.states.ply == 2].tolist():
        if graph.nodes[state]["value"] == 0:
            for child, edge in graph[state].items():
                if graph.nodes[child]["value"] == 1:
                    rows += [(state, move, child) for move in edge["moves"]]
    return [(drawn_board(graph, s), move, drawn_board(graph, c)) for s, move, c in sorted(rows)[:2]]


def longest(graph, known):
    won = np.where(graph.solution.value == 1, graph.solution.remoteness, NONE)
    assert won.max() == known[0]["max_win_plies"]
    return int(graph.states.id[won.argmax()])  # the first, so the lowest id


@tells(36, CONNECT)
def _(graph, known):
    state = longest(graph, known)
    return [(drawn_board(graph, state), *shown(graph, state, "ply", "to_move", "remoteness"))]


@tells(37, CONNECT)
def _(graph, known):
    rows, state = [(0, None, longest(graph, known))], longest(graph, known)
    while graph[state]:
        ranked = []
        for child, edge in graph[state].items():
            score, win, lose = shown(graph, child, "score", "win_depth", "lose_depth")
            rank = (-score, -1 if win is None else win, inf if lose is None else -lose)
            ranked += [(rank, move, child) for move in edge["moves"]]
        _, move, state = min(ranked)
        rows.append((len(rows), move, state))
    return [
        (number, move, *shown(graph, state, "position", "value", "remoteness"))
        for number, move, state in rows
        if number in (0, 1, 2, 11, 12, 13)
    ]


@tells(38, CONNECT)
def _(graph, known):
    ended = graph.edges_by_move.counts == 0
    lost = ended & (graph.solution.value == -1)  # who is to move has lost
    rows = []
    for winner, here in enumerate(
        (ended & ~lost, *(lost & (graph.states.to_move == p) for p in (2, 1)))
    ):
        rows.append((winner, graph.states.orbit[here].sum(), graph.states.ply[here].min()))
    assert rows[0][1] == known[0]["terminal_draw"]
    assert rows[1][1] + rows[2][1] == known[0]["terminal_win"]
    return rows


@tells(39, CONNECT)
def _(graph, known):
    return [(2 * known[1]["states"] - known[0]["states"],)]


@tells(40, CONNECT)
def _(graph, known):
    keep = Counter()
    value = dict(zip(graph.states.id.tolist(), graph.solution.value.tolist(), strict=True))
    for state in graph:
        if value[state] == 0 and len(graph[state]) > 1:
            keep[sum(value[child] == 0 for child in graph[state])] += 1
    return sorted(keep.items())


@pytest.fixture(scope="module")
def board(oracle):
    return Board(oracle)


@pytest.fixture(scope="module")
def connect():
    """The solved graph of four by four, and its rows in connect_four.jsonl by symmetry."""
    graph = explore(find_game("connect(4,4)"))
    solve(graph)
    with (DATA / "connect_four.jsonl").open() as lines:
        rows = [row for row in map(json.loads, lines) if (row["w"], row["h"]) == (4, 4)]
    return graph, {row["canonical"]: row for row in rows}


@pytest.fixture(scope="module")
def kitchen(tmp_path_factory):
    """A folder with the files of the cookbook, and what the three thousands of training told."""
    folder = tmp_path_factory.mktemp("kitchen")
    build("tictactoe", folder / "tictactoe.db")
    build("connect(4,4)", folder / "connect-4-4.db")
    new = {"side": 1, "seed": 1}
    reports = [
        train(folder / "tictactoe.db", "x", games=1000, **(new if first else {}))
        for first in (True, False, False)
    ]
    return folder, reports


def exact(cell):
    """Return a cell in what numbers SQLite has."""
    return float(cell) if isinstance(cell, Fraction) else cell


@pytest.mark.parametrize("number", RECIPES)
def test_an_answer_is_printed_as_it_comes_and_is_what_another_way_tells(
    number, kitchen, board, request, capsys
):
    folder, reports = kitchen
    file, sql, printed = RECIPES[number]
    with Store.open(folder / file) as store:
        answer = store.sql(sql)
        rows = [*answer]
        if number in TICTACTOE:
            told = TICTACTOE[number](board)
        elif number in AGENT:
            told = AGENT[number](board, store, load(store, "x"), reports)
        else:
            told = CONNECT[number](*request.getfixturevalue("connect"))
    print_table(answer.columns, rows)
    assert capsys.readouterr().out == printed
    assert len(rows) == len(told)
    for row, other in zip(rows, told, strict=True):
        for cell, known in zip(row, map(exact, other), strict=True):
            digits = len(str(cell).partition(".")[2]) if isinstance(cell, float) else 0
            assert cell == (round(known, digits) if isinstance(cell, float) else known)


def test_there_are_forty_questions_each_with_an_answer_of_its_own():
    assert [*RECIPES] == [*range(1, 41)] == sorted([*TICTACTOE, *AGENT, *CONNECT])
    assert len(re.findall(r"^### \d+\. ", TEXT, re.M)) == len(RECIPES)


@pytest.mark.parametrize("number", RECIPES)
def test_a_question_without_our_functions_can_be_asked_of_any_sqlite(number, kitchen):
    file, sql, _ = RECIPES[number]
    with sqlite3.connect(kitchen[0] / file) as plain:
        if re.search(r"\b(board|canonical)\(", sql):
            with pytest.raises(sqlite3.OperationalError, match="no such function"):
                plain.execute(f"EXPLAIN {sql}")
        else:
            assert plain.execute(f"EXPLAIN {sql}").fetchall()
    plain.close()


@pytest.mark.parametrize(("command", "printed"), SESSIONS, ids=[each for each, _ in SESSIONS])
def test_a_script_prints_what_the_cookbook_shows(
    command, printed, kitchen, monkeypatch, run_script
):
    monkeypatch.chdir(kitchen[0])
    assert run_script(*shlex.split(command)) == (0, printed, "")


@pytest.mark.parametrize("code", re.findall(r"```python\n(.*?)```", TEXT, re.S))
def test_other_libraries_read_the_file_as_shown(code, kitchen, monkeypatch):
    monkeypatch.chdir(kitchen[0])
    pytest.importorskip(re.findall(r"^import (\w+)", code, re.M)[-1])
    names = {}
    exec(code, names)  # noqa: S102  # the document's own
    names["connection"].close()
    assert len(names["states"]) == 765
    assert names["states"]["orbit"].sum() == 5478


def test_the_shell_of_sqlite_reads_the_file_as_shown(kitchen):
    (command,) = re.findall(r"^(sqlite3 .*)$", TEXT, re.M)
    if shutil.which("sqlite3") is None:
        pytest.skip("there is no sqlite3 shell here")
    done = subprocess.run(shlex.split(command), cwd=kitchen[0], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"\b4\b.*\b108\b.*\b756\b", done.stdout)
