"""Stored queries: questions about a game in SQL, each with a page of its own."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from graphstore.play import agents
from graphstore.store.format import BOOK, STRATEGY
from graphstore.store.store import Store

Info = Mapping[str, Any]  # the row of the table `game`


def random_play(info: Info) -> bool:
    """Return whether random play has an expected result: games end, and no reply is missing."""
    return not info["cyclic"] and info["extent"] not in (STRATEGY, BOOK)


class Stored(NamedTuple):
    """A stored query; text [in brackets] is left out if random play has no expected result."""

    title: str
    about: str  # what the answer shows; {start} is a column of the table `game`
    sql: str  # a SELECT; its parameters may be left empty
    applies: Callable[[Info], bool] = lambda _: True  # whether it makes sense for a game


QUERIES: Final[dict[str, Stored]] = {
    "position": Stored(
        "Look up a position",
        "Enter a position in any orientation; the canonical one is shown. The start is {start}.",
        """
SELECT id, position, ply, to_move, value, remoteness, round(score, 4) AS score, win_depth,
    lose_depth, orbit[, round(random_value, 4) AS random_value]
FROM state
WHERE id = CASE WHEN :position != '' THEN canonical(:position) END
""",
    ),
    "moves": Stored(
        "The moves of a position",
        "What each move is worth to the player who makes it, if both then play their best[, if "
        "both play at random, and if only the opponent does]. The moves are those of the canonical "
        "position. Leave the position empty for the start, {start}.",
        """
SELECT q.move, child.position, q.optimal[, round(q.random, 4) AS random,
    round(q.best_response, 4) AS best_response],
    CASE WHEN child.to_move = parent.to_move THEN child.lose_depth ELSE child.win_depth END
        AS win_depth,
    CASE WHEN child.to_move = parent.to_move THEN child.win_depth ELSE child.lose_depth END
        AS lose_depth, q.child
FROM q_table AS q JOIN state AS child ON child.id = q.child
    JOIN state AS parent ON parent.id = q.state
WHERE q.state IN (
    SELECT id FROM state WHERE ply = 0 AND :position = ''
    UNION ALL SELECT CASE WHEN :position != '' THEN canonical(:position) END)
ORDER BY CASE WHEN child.to_move = parent.to_move THEN -child.score ELSE child.score END DESC,
    q.optimal * child.remoteness, win_depth, lose_depth DESC, q.move
""",
    ),
    "openings": Stored(
        "The openings",
        "All first moves, and what each is worth to the first player under best play by both[, "
        "under random play by both, and if only the opponent plays at random].",
        """
SELECT child.position, group_concat(q.move, ' ') AS moves, q.optimal[,
    round(q.random, 4) AS random, round(q.best_response, 4) AS best_response], q.child
FROM q_table AS q JOIN state AS child ON child.id = q.child
WHERE q.state IN (SELECT id FROM state WHERE ply = 0)
GROUP BY q.state, q.child
ORDER BY q.optimal DESC, [q.best_response DESC, ]q.child
""",
    ),
    "traps": Stored(
        "Traps",
        "Drawn positions in which more than half of the replies lose, so the player to move easily "
        "makes a mistake. losing is the share of replies that lose; symmetric replies count once.",
        """
SELECT position, ply, round(score, 4) AS losing, remoteness, id
FROM state
WHERE value = 0 AND score > 0.5
ORDER BY score DESC, ply, id
LIMIT 100
""",
    ),
    "only_moves": Stored(
        "Only moves",
        "Won and drawn positions in which exactly one of several moves keeps the value; in lost "
        "positions every move does. value (1 or 0, for the player to move) and ply may be left "
        "empty.",
        """
SELECT s.position, s.ply, s.value, s.remoteness,
    (SELECT e.move FROM edge AS e JOIN state AS c ON c.id = e.child
     WHERE e.parent = s.id
        AND c.value = CASE WHEN c.to_move = s.to_move THEN s.value ELSE -s.value END)
    AS move, s.id
FROM state AS s
WHERE NOT s.ended AND s.value >= 0
    AND (:value = '' OR s.value = :value) AND (:ply = '' OR s.ply = :ply)
    AND (
        SELECT count(*) > 1 AND count(*) FILTER (
            WHERE c.value = CASE WHEN c.to_move = s.to_move THEN s.value ELSE -s.value END) = 1
        FROM edge AS e JOIN state AS c ON c.id = e.child
        WHERE e.parent = s.id)
ORDER BY s.id
LIMIT 100
""",
    ),
    "longest_wins": Stored(
        "The longest wins",
        "Won positions in which the win takes longest, if the loser delays it as long as possible. "
        "remoteness counts plies, lose_depth the moves of the winner, who is to move.",
        """
SELECT position, ply, remoteness, lose_depth, id
FROM state
WHERE value = 1
ORDER BY remoteness DESC, ply, id
LIMIT 100
""",
    ),
    "by_ply_and_value": Stored(
        "Positions by ply and value",
        "value is for the player to move. Both fields may be left empty. The view census has the "
        "counts.",
        """
SELECT position, ply, value, remoteness, round(score, 4) AS score, orbit, id
FROM state
WHERE (:ply = '' OR ply = :ply) AND (:value = '' OR value = :value)
LIMIT 200
""",
    ),
    "remoteness": Stored(
        "Positions by remoteness",
        "How many states are won, drawn and lost for the player to move, and how many positions "
        "these are, by the plies to the end under best play. A last row without a number, if "
        "there is one, counts draws in which play need never end.",
        """
SELECT remoteness,
    coalesce(sum(states) FILTER (WHERE value = 1), 0) AS wins,
    coalesce(sum(states) FILTER (WHERE value = 0), 0) AS draws,
    coalesce(sum(states) FILTER (WHERE value = -1), 0) AS losses,
    sum(positions) AS positions
FROM (
    SELECT remoteness, value, count(*) AS states, sum(orbit) AS positions
    FROM state GROUP BY remoteness, value)
GROUP BY remoteness
ORDER BY remoteness NULLS LAST
""",
    ),
    "disagreements": Stored(
        "Where random and best play disagree most",
        "Positions in play, by the difference between the value under best play and the expected "
        "result of random play, the largest first. Both are for the player to move.",
        """
SELECT position, ply, value, round(random_value, 4) AS random_value,
    round(abs(value - random_value), 4) AS difference, id
FROM state
WHERE NOT ended AND round(abs(value - random_value), 4) > 0
ORDER BY abs(value - random_value) DESC, ply, id
LIMIT 100
""",
        applies=random_play,
    ),
    "endless": Stored(
        "Endless draws",
        "Drawn positions in which play need never end: no line to a tie keeps the value.",
        """
SELECT position, ply, round(score, 4) AS losing, orbit, id
FROM state
WHERE value = 0 AND remoteness IS NULL
ORDER BY score DESC, ply, id
LIMIT 100
""",
        applies=lambda info: bool(info["cyclic"]),
    ),
    "transpositions": Stored(
        "Positions that most moves lead to",
        "The states with the most moves that lead to them. Several moves from one canonical "
        "position to the same state all count.",
        """
SELECT s.position, s.ply, s.value, n.ways, s.id
FROM (SELECT child, count(*) AS ways FROM edge GROUP BY child ORDER BY ways DESC, child LIMIT 100)
    AS n JOIN state AS s ON s.id = n.child
ORDER BY n.ways DESC, s.id
""",
    ),
    "symmetric": Stored(
        "The most symmetric positions",
        "States that stand for fewer positions than others, the fewest first: some reflection, "
        "rotation or exchange does not change them.",
        """
SELECT position, orbit, ply, value, ended, id
FROM state
WHERE orbit < (SELECT max(orbit) FROM state)
ORDER BY orbit, ply, id
LIMIT 100
""",
        applies=lambda info: bool(info["positions"] % info["states"]),  # orbits differ
    ),
    "blunders": Stored(
        "Blunders of an agent",
        "Favourite moves of an agent that do not keep the value of the position, the likeliest "
        "first, then by beads. A box with equally many beads of each kind has no favourite. "
        "optimal is what the move is worth to the agent under best play. Leave the agent empty "
        "for all.",
        """
SELECT agent, position, ply, move, beads, round(chance, 4) AS chance, optimal, state, child
FROM (
    SELECT *, count(*) OVER (PARTITION BY agent, state) AS kinds
    FROM matchbox WHERE :agent = '' OR agent = :agent)
WHERE favourite AND NOT keeps AND chance > 1.0 / kinds
ORDER BY chance DESC, beads DESC, ply, agent, state, move
LIMIT 200
""",
    ),
    "repertoire": Stored(
        "Openings of an agent",
        "The boxes of an agent for the first two plies, with the chance of each move. Leave the "
        "agent empty for all.",
        """
SELECT agent, position, ply, move, beads, round(chance, 4) AS chance, keeps, optimal, state, child
FROM matchbox
WHERE ply < 2 AND (:agent = '' OR agent = :agent)
ORDER BY agent, ply, state, chance DESC, move
LIMIT 500
""",
    ),
}
"""The stored queries by the last part of their address; up to 2 s each on a million states."""


def choices(store: Store) -> dict[str, list[tuple[Any, str]]]:
    """Return what the parameters of the stored queries may be: (value, words) by their names."""
    plies = range(store.info["plies"] + 1)
    return {
        "value": [("", "any"), (1, "1: won"), (0, "0: drawn"), (-1, "-1: lost")],
        "ply": [("", "any"), *((ply, str(ply)) for ply in plies)],
        "agent": [("", "all"), *((name, name) for name in agents.names(store))],
    }


def queries(info: Info) -> dict[str, dict[str, str]]:
    """Return Datasette's canned queries for a game: the questions that apply to it."""
    within = r"\1" if random_play(info) else ""

    def fitted(text: str) -> str:
        return re.sub(r"\[(.*?)\]", within, text, flags=re.DOTALL)

    return {
        name: {
            "title": each.title,
            "description": fitted(each.about).format(**info),
            "sql": fitted(each.sql).strip(),
        }
        for name, each in QUERIES.items()
        if each.applies(info)
    }
