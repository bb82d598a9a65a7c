"""Pages of the views of moves, sorted by a column: the table with the column is sorted first.

SQLite joins all moves with their positions before it sorts them: 3.5 s for six million moves, of
which a page shows a hundred. To sort the states by a column of theirs takes 0.2 s.
"""

import re
from functools import lru_cache
from typing import Final

from graphstore.games import find_builtin
from graphstore.games.base import ArrayGame
from graphstore.store.format import COLUMNS
from graphstore.store.store import Store

_PAGE: Final = re.compile(
    r"(select [\w, ]+) from (q_table|best_move)"
    r"( order by (\w+)( desc)? limit (\d+)(?: offset (\d+))?)"
)
_OF_EDGE: Final = {"state": "parent", "move": "move", "child": "child"}
_OF_PARENT: Final = ("position", "orbit")
_OF_CHILD: Final = {"optimal": "-value", "random": "0 - random_value"}  # others have their own name
_BEST: Final = (
    "(SELECT move, rank() OVER (ORDER BY score DESC, coalesce(-value * remoteness, 0)) AS rank "
    "FROM edge JOIN state ON id = child WHERE parent = sorted.parent)"
)


@lru_cache(maxsize=32)
def alternates(store: Store) -> bool:
    """Return whether no move keeps the turn: built-in rules say it, else all moves are read."""
    rules = find_builtin(store.info["name"])
    if isinstance(rules, ArrayGame):
        return rules.alternates
    keeps = (
        "SELECT 1 FROM edge JOIN state AS p ON p.id = parent JOIN state AS c ON c.id = child "
        "WHERE p.to_move = c.to_move LIMIT 1"
    )
    return not list(store.sql(keeps))


def sorted_first(sql: str, starts: int) -> str:
    """Return a statement with the same rows that sorts a table before it joins it.

    A statement that is not Datasette's page of a whole view in the order of a column is returned as
    it is. `starts` is the number of states that no move may lead to. No move may keep the turn.

    >>> sorted_first("select move from edge order by move limit 101", 1)
    'select move from edge order by move limit 101'
    """
    page = _PAGE.fullmatch(sql)
    if page is None:
        return sql
    select, view, order, column, descending, limit, offset = page.groups()
    if not {column, *select.removeprefix("select ").split(", ")} <= {*COLUMNS[view]}:
        return sql
    down = descending or ""
    # Each state has a move, or leads from one, but for the starts and the ends.
    most = int(limit) + int(offset or 0) + starts if view == "q_table" else -1
    ties = "state, move"
    if column in _OF_EDGE:
        moves = (
            "SELECT parent, move, child FROM edge "
            f"ORDER BY {_OF_EDGE[column]}{down}, parent, move LIMIT {most}"
        )
    else:
        end, only = "parent", " WHERE NOT ended"
        if column not in _OF_PARENT:
            end, only, ties = "child", "", "child, state, move"
        moves = (
            "SELECT parent, move, child FROM (SELECT id FROM state"
            f"{only} ORDER BY {_OF_CHILD.get(column, column)}{down}, id LIMIT {most}) AS top "
            f"CROSS JOIN edge ON {end} = top.id"
        )
    if view == "q_table":
        found = "q.state = sorted.parent AND q.move = sorted.move"
        rows = f"SELECT q.* FROM ({moves}) AS sorted CROSS JOIN q_table AS q ON {found}"
        return f"{select} from ({rows}){order.replace(' limit', f', {ties} limit')}"
    return (  # in the order of the sorted moves, because not all of them are best
        f"{select} from (SELECT parent AS state, move, child, score, win_depth, lose_depth "
        f"FROM ({moves}) AS sorted CROSS JOIN state ON id = child "
        f"WHERE move IN (SELECT move FROM {_BEST} WHERE rank = 1)){order[order.index(' limit') :]}"
    )
