"""The format of a database as plain data: revisions, extents, and columns of tables and views.

`schema` defines the same tables and views in SQLAlchemy, which reading does without: its import
takes longer than a probe.
"""

from typing import Final

APPLICATION_ID: Final = 0x67726673  # "grfs", at offset 68 of the header of a SQLite file
REVISIONS: Final = ("0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008")
"""The alembic revisions, oldest first; a database is current at the last one."""
READABLE: Final = REVISIONS[3:]
"""The revisions that are read without an upgrade: before 0005 moves have no names, before 0006
states have no `LATER` columns, and every move passes the turn, in the views, too; before `BLOCKS`
each game of an agent has a row; before 0008 digests of columns are of an earlier kind,
`digests.OrderedDigests`."""
BLOCKS: Final = "0007"
"""The first revision in which an agent's games are counted in blocks: in older databases agents do
not learn."""

WHOLE: Final = "whole"
BELOW: Final = "below"
STRATEGY: Final = "strategy"
BOOK: Final = "book"
"""The states that a database holds, in `game.extent`: all that play from the game's starts can
reach; all that play from some positions can reach, which have ply 0; a strategy, with one move
of player 1 and all of player 2, for which values hold and depths are bounds; or those of the first
plies: states in play at the last one, `game.plies`, have no moves."""
EXTENTS: Final = (WHOLE, BELOW, STRATEGY, BOOK)

WINNER: Final = (
    "CASE WHEN to_move IS NULL THEN NULL WHEN value = 0 THEN 0 "
    "WHEN value = 1 THEN to_move ELSE 3 - to_move END"
)
"""The expression that computes the column `winner` of state."""

BY_MARGIN: Final = "best_move_by_margin"
LATER: Final = ("margin", "nimber")
"""The columns of state that a game has for all states, or for none: then they are NULL."""
_NEW: Final = (
    ("0005", "move AS SELECT 0 AS move, '' AS name WHERE 1 = 0"),
    (
        "0006",
        "state AS SELECT *"
        + "".join(f", CAST(NULL AS SMALLINT) AS {name}" for name in LATER)
        + " FROM {}.state",
    ),
    (
        "0006",
        f"{BY_MARGIN} AS SELECT parent AS state, move, child, CAST(NULL AS SMALLINT) AS margin "
        "FROM {}.edge WHERE 1 = 0",
    ),
    (BLOCKS, "played AS SELECT *, 1 AS games FROM {}.played"),
)


def views_of_new(revision: str, main: str) -> list[str]:
    """Return SQL for a connection that gives an older database the tables of the last revision.

    `main` qualifies the tables of the database, before which temporary views are found.
    """
    return [f"CREATE TEMP VIEW {sql.format(main)}" for since, sql in _NEW if revision < since]


_TABLES: Final = {
    "state": "id position ply to_move ended value remoteness score win_depth lose_depth orbit "
    "random_value winner best_response margin nimber",
    "edge": "parent move child",
    "move": "move name",
    "game": "id name rules starts states positions moves edges plies cyclic start value remoteness "
    "built_at built_with build_seconds digest extent",
    "digest": "name blake2b",
    "agent": "id name side stages win draw loss empty longest seed games random",
    "bead": "agent state move beads",
    "played": "agent number side opponent winner plies games",
    "checkpoint": "agent games kept boxes",
}
_VIEWS: Final = {
    "best_move": "state move child score win_depth lose_depth",
    BY_MARGIN: "state move child margin",
    "q_table": "state position move child optimal random best_response winner orbit",
    "census": "ply states positions ended won_by_1 won_by_2 tied wins draws losses",
    "matchbox": "agent state position ply move child beads chance favourite keeps optimal",
}
TABLES: Final = tuple(_TABLES)
"""The names of the tables."""
COLUMNS: Final = {name: columns.split() for name, columns in (_TABLES | _VIEWS).items()}
"""The names of the columns of each table and view, in their order."""

CENSUS: Final = """
SELECT ply, count(*), CAST(sum(orbit) AS BIGINT), count(*) FILTER (WHERE ended),
    count(*) FILTER (WHERE ended AND winner = 1), count(*) FILTER (WHERE ended AND winner = 2),
    count(*) FILTER (WHERE ended AND value = 0), count(*) FILTER (WHERE value = 1),
    count(*) FILTER (WHERE value = 0), count(*) FILTER (WHERE value = -1)
FROM state GROUP BY ply ORDER BY ply
"""
"""The rows of the view census, computed here: the view of an untrusted file may be another."""
