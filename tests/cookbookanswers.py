"""The answers to the cookbook's questions, by number, computed without its SQL.

Answers about tic-tac-toe come from `cookbookboard.Board`, those about learners from graphstore's
Python functions, those about Connect Four from the graph's arrays and connect_four.jsonl.
"""

from collections import Counter, defaultdict
from fractions import Fraction
from math import inf, perm

import numpy as np
from cookbookboard import IMAGES, LINES

from graphstore.play.agents import beads_in
from graphstore.play.standings import curve
from graphstore.solver.columns import NONE

TICTACTOE = {}


def answer(number, known=TICTACTOE):
    """Return a decorator for the function that returns the answer to a question, as rows."""
    return lambda function: known.setdefault(number, function)


@answer(1)
def _(board):
    position = board.canonical("XO..X....")
    row = board.row[position]
    values = (row[name] for name in ("to_move", "value", "remoteness"))
    return [(position, *values, board.winner(position))]


@answer(2)
def _(board):
    ranked = board.ranked(board.canonical("XO..X...."))
    rows = [(move, board.row[child]) for _, move, child in ranked[:2]]
    return [
        (move, -row["value"], row["score"], row["win_depth"], row["lose_depth"])
        for move, row in rows
    ]


@answer(3)
def _(board):
    total = board.plies[-1]
    return [(total["canon"], total["states"], total["xwin"] + total["owin"] + total["draw"])]


@answer(4)
def _(board):
    total = board.plies[-1]
    return [(w, total[f"c_{n}"], total[n]) for w, n in enumerate(("draw", "xwin", "owin"))]


@answer(5)
def _(board):
    return [
        (
            ply,
            row["states"],
            row["canon"] - row["c_nonterm"],
            row["c_nt_win"],
            row["c_nt_draw"] + row["c_draw"],
            row["c_nt_loss"] + row["c_xwin"] + row["c_owin"],
        )
        for ply, row in enumerate(board.plies[:-1])
        if ply > 7
    ]


@answer(6)
def _(board):
    rows = [(row["nt_win"], row["nt_draw"], row["nt_loss"]) for row in board.plies[:9]]
    rows = [row if ply % 2 == 0 else row[::-1] for ply, row in enumerate(rows)]
    counts = [
        (ply, w, n) for ply, row in enumerate(rows) for w, n in zip((1, 0, 2), row, strict=True)
    ]
    return sorted((ply, winner, count) for ply, winner, count in counts if ply > 6 and count)


@answer(7)
def _(board):
    ends = Counter()
    for wave in board.paths():
        for position, (paths, _) in wave.items():
            ends[board.winner(position)] += paths * board.row[position]["ended"]
    # Wikipedia, "Game complexity" and "Tic-tac-toe"
    assert (ends.total(), ends[1], ends[2], ends[0]) == (255_168, 131_184, 77_904, 46_080)
    return sorted(ends.items())


@answer(8)
def _(board):
    nodes, ended = [], []
    for wave in board.paths():
        nodes.append(sum(paths for paths, _ in wave.values()))
        ended.append(sum(paths for at, (paths, _) in wave.items() if board.row[at]["ended"]))
    assert nodes[:6] == [perm(9, ply) for ply in range(6)]
    assert sum(nodes) == 549_946
    return [(ply, games) for ply, games in enumerate(ended) if games]


@answer(9)
def _(board):
    orbits = [(board.row[at]["orbit"], 9 - board.row[at]["ply"]) for at in board.in_play()]
    return [(sum(n * moves for n, moves in orbits) / sum(n for n, _ in orbits),)]


@answer(10)
def _(board):
    line = [board.start]
    while len(line) < 4:
        line.append(min((child for _, child in board.best(line[-1])), key=board.id))
    return [*enumerate(line)]


@answer(11)
def _(board):
    children = {cell: board.canonical("." * cell + "X" + "." * (8 - cell)) for cell in (0, 1, 4)}
    assert [board.response(child) for child in children.values()] == [
        Fraction(191, 192),
        Fraction(379, 384),
        Fraction(95, 96),
    ]  # docs/explanation/q-tables.md
    return [
        (cell, -board.value(child), -board.random(child), board.response(child))
        for cell, child in children.items()
    ]


@answer(12)
def _(board):
    rows = []
    for opening in board.by_ply()[1]:
        replies = board.replies(opening)
        lose = sum(board.value(reply) == 1 for reply in replies)
        rows.append((opening, len(replies), lose))
    return sorted(rows)


@answer(13)
def _(board):
    best = {at: [cell for cell, _ in board.best(at)] for at in board.by_ply()[1]}
    return sorted((at, min(cells), len(cells)) for at, cells in best.items())


@answer(14)
def _(board):
    choices = [*board.choices()]
    return [(value, choices.count((value, 1))) for value in (0, 1)]


@answer(15)
def _(board):
    drawn = []
    for at in board.order:
        if board.value(at) == 0 and (replies := board.replies(at)):
            share = Fraction(sum(board.value(reply) == 1 for reply in replies), len(replies))
            drawn.append((-share, int(board.row[at]["ply"]), at))
    return [(at, 2 - (ply + 1) % 2, -share) for share, ply, at in sorted(drawn)[:2]]


@answer(16)
def _(board):
    drawn = [at for at in board.in_play() if board.value(at) == 0]
    worst = sorted(drawn, key=board.random)[:2]  # which keeps the order of ids
    return [(at, board.random(at)) for at in worst]


@answer(17)
def _(board):
    rows = []
    for at in board.in_play():
        worth = {cell: -board.random(child) for cell, child in board.moves(at)}
        most = max(worth.values())
        liked = [(board.value(to), cell) for cell, to in board.moves(at) if worth[cell] == most]
        lost, cell = min(liked)
        if -lost < board.value(at):
            rows.append((most, (at, cell, -lost, board.value(at))))
    return [row for _, row in sorted(rows, key=lambda row: -row[0])[:2]]


@answer(18)
def _(board):
    chances = defaultdict(Fraction)
    for wave in board.paths():
        for at, (_, chance) in wave.items():
            chances[board.winner(at)] += chance * board.row[at]["ended"]
    assert sum(chances.values()) == 1
    return [(winner, round(chances[winner], 6)) for winner in range(3)]


@answer(19)
def _(board):
    rows = []
    for ply in (1, 2, 3):
        moves, wave = Counter(), board.by_ply()[ply]
        for at in wave:
            for _, child in board.moves(at) if board.value(at) >= 0 else ():
                moves[board.keeps(at, child)] += int(board.row[at]["orbit"])
        rows.append((ply, Fraction(100 * moves[False], moves.total())))
    return rows


@answer(20)
def _(board):
    """Count players who cannot win at once and face two threats, by lines and not by values."""
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


@answer(21)
def _(board):
    count = Counter((board.remoteness(at), board.value(at)) for at in board.order)
    return [(plies, *(count[plies, value] for value in (1, 0, -1))) for plies in range(3)]


@answer(22)
def _(board):
    won = [at for at in board.order if board.value(at) == 1]
    longest = sorted(won, key=board.remoteness, reverse=True)[:2]  # which keeps the order of ids
    return [(at, board.remoteness(at)) for at in longest]


@answer(23)
def _(board):
    parents = Counter(child for at in board.order for child in board.replies(at))
    most = sorted(parents, key=lambda at: (-parents[at], board.id(at)))[:2]
    return [(at, parents[at]) for at in most]


@answer(24)
def _(board):
    orbits = Counter(
        len({tuple(at.replace("/", "")[c] for c in i) for i in IMAGES}) for at in board.order
    )
    return sorted(orbits.items())


@answer(25)
def _(board):
    cells = defaultdict(list)
    for cell, child in board.moves(board.start):
        cells[child].append(cell)
    return sorted((min(same), len(same)) for same in cells.values())


@answer(26)
def _(board):
    rows, wave = [], {board.start}
    while wave:
        rows += [(int(board.row[at]["ply"]), at) for at in wave if len(wave) == 1]
        wave = (
            {child for at in wave for _, child in board.best(at)}
            if any(map(board.moves, wave))
            else ()
        )
    return rows[:-3:-1]


@answer(27)
def _(board):
    ends = Counter()
    for wave in board.paths(board.keeps):
        for at, (paths, _) in wave.items():
            ends[board.winner(at)] += paths * board.row[at]["ended"]
    return [(ends.total(), ends[0])]


AGENT = {}


@answer(28, AGENT)
def _(board, store, known, reports):
    cell = {
        child: min(c for c, to in board.moves(board.start) if to == child)
        for child in board.replies(board.start)
    }
    beads = [(cell[board.of_id(child)], count) for child, count in beads_in(store, known, 0)]
    total, most = sum(count for _, count in beads), max(count for _, count in beads)
    return [(c, n, Fraction(n, total), int(n == most), 1) for c, n in sorted(beads)]  # all draw


@answer(29, AGENT)
def _(board, store, known, reports):
    rows = {}
    for at in board.in_play():
        beads = beads_in(store, known, board.id(at))
        if any(count for _, count in beads):
            most = max(count for _, count in beads)
            kept = [board.keeps(at, board.of_id(child)) for child, count in beads if count == most]
            boxes, right = rows.get(int(board.row[at]["ply"]), (0, 0))
            rows[int(board.row[at]["ply"])] = boxes + 1, right + all(kept)
    return [(ply, *row) for ply, row in sorted(rows.items())]


@answer(30, AGENT)
def _(board, store, known, reports):
    points = curve(store, known)
    return [
        (games, round(share * reports[-1].boxes), reports[-1].boxes)
        for games, share in zip(points.games.tolist(), points.kept.tolist(), strict=True)
        if games in (0, 100, 3000)
    ]


@answer(31, AGENT)
def _(board, store, known, reports):
    return [(n, each.drawn, each.won_by_2) for n, each in enumerate(reports)]


CONNECT = {}


def shown(graph, state, *names):
    return [graph.nodes[state][name] for name in names]


def drawn_board(graph, state):
    return graph.nodes[state]["position"].replace("/", "\n") + "\n1234"


@answer(32, CONNECT)
def _(graph, known):
    whole, mirrored = known[0], known[1]
    plies = len(whole["per_ply"]) - 1
    states = (mirrored["states"], whole["states"])
    return [(whole["root"], plies, *states, mirrored["edges"])]


@answer(33, CONNECT)
def _(graph, known):
    ended = graph.states.orbit * (graph.edges_by_move.counts == 0)
    by_ply = np.bincount(graph.states.ply, ended).astype(int)
    assert by_ply.sum() == known[0]["terminal_win"] + known[0]["terminal_draw"]
    final = np.bincount(graph.states.ply[graph.edges_by_move.counts == 0], minlength=17)
    return [(ply, known[0]["per_ply"][ply], final[ply]) for ply in (0, 8, 16)]


@answer(34, CONNECT)
def _(graph, known):
    decided = (graph.edges_by_move.counts > 0) & (graph.solution.value != 0)
    plies = np.unique(graph.states.ply[decided & (graph.states.ply < 5)])
    counts = [
        [
            int((decided & (graph.states.ply == ply) & (graph.solution.value == v)).sum())
            for v in (1, -1)
        ]
        for ply in plies
    ]
    return [(ply, *count) for ply, count in zip(plies, counts, strict=True)]


@answer(35, CONNECT)
def _(graph, known):
    rows = []
    for state in graph.states.id[graph.states.ply == 2].tolist():
        if graph.nodes[state]["value"] == 0:
            for child, edge in graph[state].items():
                if graph.nodes[child]["value"] == 1:
                    rows += [(state, move) for move in edge["moves"]]
    return [(drawn_board(graph, state), move) for state, move in sorted(rows)[:1]]


def longest(graph, known):
    won = np.where(graph.solution.value == 1, graph.solution.remoteness, NONE)
    assert won.max() == known[0]["max_win_plies"]
    return int(graph.states.id[won.argmax()])  # the first, so the lowest id


@answer(36, CONNECT)
def _(graph, known):
    state = longest(graph, known)
    return [(drawn_board(graph, state), *shown(graph, state, "to_move", "remoteness"))]


@answer(37, CONNECT)
def _(graph, known):
    line = [longest(graph, known)]
    while graph[line[-1]]:
        ranked = []
        for child in graph[line[-1]]:
            score, win, lose = shown(graph, child, "score", "win_depth", "lose_depth")
            ranked.append(
                (-score, -1 if win is None else win, inf if lose is None else -lose, child)
            )
        line.append(min(ranked)[-1])
    rows = [tuple(shown(graph, state, "ply", "position")) for state in line]
    return [row for row in rows if row[0] in (4, 5, 15, 16)]


@answer(38, CONNECT)
def _(graph, known):
    ended = graph.edges_by_move.counts == 0
    lost = ended & (graph.solution.value == -1)  # the player to move has lost
    rows = []
    for winner, here in enumerate(
        (ended & ~lost, *(lost & (graph.states.to_move == p) for p in (2, 1)))
    ):
        rows.append((winner, graph.states.orbit[here].sum(), graph.states.ply[here].min()))
    assert rows[0][1] == known[0]["terminal_draw"]
    assert rows[1][1] + rows[2][1] == known[0]["terminal_win"]
    return [(winner, ply) for winner, _, ply in rows]


@answer(39, CONNECT)
def _(graph, known):
    return [(2 * known[1]["states"] - known[0]["states"],)]


@answer(40, CONNECT)
def _(graph, known):
    """By the numbers of a child's row among those of its parent: each child counts once."""
    edges, value = graph.edges_by_move, graph.solution.value
    pairs = np.unique(np.stack([edges.parent, edges.child]), axis=1)
    parent, child = pairs[:, value[pairs[0]] == 0]
    choices = np.bincount(parent, minlength=len(graph))
    holding = np.bincount(parent, value[child] == 0, minlength=len(graph)).astype(int)
    return sorted(Counter(holding[choices > 1].tolist()).items())
