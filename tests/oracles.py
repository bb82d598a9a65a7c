"""Counts and values of solved games, with the names of tests/data/small_games.jsonl."""

import json

import numpy as np
from conftest import DATA

from graphstore import explore, solve
from graphstore.rules.game import DRAW, IN_PLAY, LOSS, WIN
from graphstore.solver.columns import NONE

LETTERS = {WIN: "W", DRAW: "T", LOSS: "L"}


def rows(beginning):
    """Return the rows of the games whose names begin with a text."""
    lines = (DATA / "small_games.jsonl").read_text().splitlines()
    return [row for row in map(json.loads, lines) if row["game"].startswith(beginning)]


def answers(game, *, positions):
    """Return the counts of a game: of states, or of positions (states weighted by orbit)."""
    graph = explore(game)
    solution, states, edges = solve(graph), graph.states, graph.edges_by_move
    weight = states.orbit.astype(np.int64) if positions else np.ones(len(states.id), dtype=np.int64)
    value, remoteness = solution.value, solution.remoteness
    root = graph.row(game.canonical(game.start_states())[0])
    endless = (value == DRAW) & (remoteness == NONE)
    ended = states.outcome != IN_PLAY
    terminals = {
        LETTERS[code]: int(weight[ended & (states.outcome == code)].sum()) for code in LETTERS
    }
    return {
        "states": int(weight.sum()),
        "move_edges": int((weight * edges.counts).sum()),
        "distinct_edges": int((weight * edges.counts).sum())
        if positions
        else graph.number_of_edges(),
        "terminals": {letter: count for letter, count in terminals.items() if count},
        "W": int(weight[value == WIN].sum()),
        "T": int(weight[(value == DRAW) & ~endless].sum()),
        "D": int(weight[endless].sum()),
        "L": int(weight[value == LOSS].sum()),
        "root": "D" if endless[root] else LETTERS[int(value[root])],
        "root_plies": None if endless[root] else int(remoteness[root]),
        "max_win": int(remoteness[value == WIN].max()),
        "max_lose": int(remoteness[value == LOSS].max()),
        "loopy": solution.cyclic,
    }


def expected(row):
    """Return the expected `answers` of a row."""
    return {name: row[name] for name in row if name not in ("game", "sym")}


def reached(game):
    """Return all positions that play reaches, in every orientation, ascending."""
    known = wave = np.unique(game.start_states())
    while wave.size:
        children = np.unique(game.expand(wave[game.outcomes(wave) == IN_PLAY]).child)
        wave = np.setdiff1d(children, known)
        known = np.union1d(known, wave)
    return known


def played(start, steps, choices):
    """Return the states of a game: `steps(state)` lists (move, next), `choices` selects one."""
    game = [start]
    for choice in choices:
        moves = steps(game[-1])
        if not moves:
            break
        game.append(moves[choice % len(moves)][1])
    return game


def documented(family):
    """Return {game: [states, positions, moves, value of the start]} from the page of games."""
    lines = (DATA.parents[1] / "docs" / "reference" / "games.md").read_text().splitlines()
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line[:2] == "| "]
    return {row[0].strip("`"): row[1:] for row in cells if row[0].startswith(f"`{family}(")}


def as_documented(game):
    """Return the cells that the tables should have for a game."""
    states, positions = answers(game, positions=False), answers(game, positions=True)
    counts = (states["states"], positions["states"], states["move_edges"])
    plies = states["root_plies"]
    start = {"W": f"won in {plies} plies", "L": f"lost in {plies} plies"}
    return [*(f"{count:,}" for count in counts), start.get(states["root"], "drawn, endless")]
