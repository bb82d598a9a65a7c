"""Whether two databases hold the same game: by their digests first, then row by row.

The game is what is compared, not when and with what it was built. Agents are no part of a game;
they are compared, by name, where that is asked for.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from hashlib import blake2b
from typing import Any, Final

import numpy as np
from sqlalchemy import (
    BigInteger,
    Connection,
    Double,
    Select,
    Table,
    Text,
    cast,
    func,
    literal,
    select,
    tuple_,
)

from graphstore.checks import merging
from graphstore.checks.differences import Comparison, Found, compare_pages
from graphstore.checks.merging import Page, Pages, in_step
from graphstore.rules.game import Progress, quiet
from graphstore.store import schema
from graphstore.store.bulk import columns
from graphstore.store.digests import NULL
from graphstore.store.store import Store
from graphstore.util import arguments

SHOWN: Final = 20  # differences that are listed; all are counted
OF_THE_BUILD: Final = ("id", "built_at", "built_with", "build_seconds", "digest")
"""The cells of the table `game` that are not the game's; the digest is of what is compared."""


def compare(
    first: Store,
    second: Store,
    *,
    rows: bool = False,
    agents: bool = False,
    most: int = SHOWN,
    progress: Progress = quiet,
) -> Comparison:
    """Compare two databases, whatever they are kept in.

    Digests are believed as they are stored: a table is read only if one of its columns has another
    digest in the other database, or if `rows` asks for it.

    Args:
        first: one database.
        second: the other.
        rows: read all rows, also where the digests are the same.
        agents: compare the agents too; they are found by their names.
        most: how many differences to list.
        progress: called with the phase and how far it is.

    Raises:
        StoreError: one of them cannot be read to its end.
    """
    found = Found(arguments.count("most", most))
    found.rows("game", [_game(first)], [_game(second)], key=())
    with ExitStack() as held:
        both = (held.enter_context(first.connect()), held.enter_context(second.connect()))
        digests = [_digests(each) for each in both]
        differing = tuple(
            sorted(
                name
                for name in digests[0].keys() | digests[1].keys()
                if digests[0].get(name) != digests[1].get(name)
            )
        )
        if not differing and first.info["digest"] != second.info["digest"]:
            differing, rows = ("game.digest",), True
        read = []
        for table, total in ((schema.state, "states"), (schema.edge, "moves")):
            of_table = any(name.startswith(f"{table}.") for name in differing)
            if rows or of_table or not all(_has_digests(table, each) for each in digests):
                read.append(str(table))
                _compare_table(
                    found,
                    table,
                    *(partial(_page, connection, table) for connection in both),
                    total=max(int(first.info[total]), int(second.info[total])),
                    progress=progress,
                )
        if agents:
            read += map(str, schema.AGENT_TABLES)
            _compare_agents(found, *both, progress)
    names = (_name(first), _name(second))
    return Comparison(names, differing, tuple(read), *found.counted())


def _name(store: Store) -> str:
    name = f"{store.info['name']} {store.info['rules']}"
    return name if store.info["extent"] == schema.WHOLE else f"{name} ({store.info['extent']})"


def _game(store: Store) -> dict[str, Any]:
    return {name: cell for name, cell in store.info.items() if name not in OF_THE_BUILD}


def _digests(connection: Connection) -> dict[str, str]:
    """Return the digests of the columns of state and edge, as they are stored, by name."""
    rows = connection.execute(select(schema.digest.c.name, schema.digest.c.blake2b))
    return {name: digest for name, digest in rows if name.startswith(("state.", "edge."))}


def _has_digests(table: Table, digests: dict[str, str]) -> bool:
    return all(f"{table}.{column.name}" in digests for column in schema.STORED[table.name])


def _page(connection: Connection, table: Table, after: Sequence[int] | None) -> Page:
    """Return the next rows of state or edge as columns, in the order of their keys."""
    cells = [
        func.coalesce(column, cast(NULL, BigInteger)).label(column.name)
        if column.nullable and not isinstance(column.type, Double)
        else column
        for column in schema.STORED[table.name]
    ]
    return columns(connection, [_after(select(*cells), list(table.primary_key), after)])


def _after(query: Select[Any], key: Sequence[Any], after: Sequence[int] | None) -> Select[Any]:
    if after is not None:
        last = [literal(cell, column.type) for cell, column in zip(after, key, strict=True)]
        query = query.where(tuple_(*key) > tuple_(*last) if len(key) > 1 else key[0] > last[0])
    return query.order_by(*key).limit(merging.PAGE)


def _compare_table(
    found: Found,
    table: Table,
    first: Pages,
    second: Pages,
    *,
    key: Sequence[str] | None = None,
    named: dict[str, Any] | None = None,
    total: int | None = None,
    progress: Progress = quiet,
) -> None:
    """Compare all rows of a table, which come in pages by their keys.

    Args:
        found: where differences go.
        table: which it is.
        first: the rows of the first database that come after a key.
        second: those of the second.
        key: the columns of the key; by default the table's.
        named: what more a key has, of all these rows.
        total: how many rows there will be.
        progress: called with the phase and how far it is.
    """
    key = [column.name for column in table.primary_key] if key is None else key
    done = 0
    progress(f"compare {table}", done, total)
    for one, other in in_step(first, second, key):
        compare_pages(found, str(table), one, other, key, named or {})
        done += max(len(one[key[0]]), len(other[key[0]]))
        progress(f"compare {table}", min(done, total or done), total)


def _compare_agents(
    found: Found, first: Connection, second: Connection, progress: Progress
) -> None:
    """Compare the agents of two databases by name; their numbers there are of no meaning."""
    rows = [_agents(connection) for connection in (first, second)]
    ids = [{row["name"]: row.pop("id") for row in each} for each in rows]
    found.rows("agent", rows[0], rows[1], key=("name",))
    for name in sorted(ids[0].keys() & ids[1].keys()):
        for table in schema.AGENT_TABLES[1:]:
            key = [column.name for column in table.primary_key if column.name != "agent"]
            pages = [
                partial(_page_of_agent, connection, table, each[name])
                for connection, each in zip((first, second), ids, strict=True)
            ]
            _compare_table(
                found, table, pages[0], pages[1], key=key, named={"agent": name}, progress=progress
            )


def _agents(connection: Connection) -> list[dict[str, Any]]:
    """Return the rows of agents, each with a digest for the long state of its generator."""
    rows = connection.execute(select(schema.agent)).mappings()
    return [{**row, "random": _short(row["random"])} for row in rows]


def _short(text: str) -> str:
    return blake2b(text.encode(), digest_size=8).hexdigest()


def _page_of_agent(
    connection: Connection, table: Table, agent: int, after: Sequence[int] | None
) -> Page:
    """Return the next rows of an agent as columns, in the order of their keys."""
    cells = [column for column in table.c if column.name != "agent"]
    key = [column for column in table.primary_key if column.name != "agent"]
    query = _after(select(*cells).where(table.c.agent == agent), key, after)
    rows = connection.execute(query).all()
    columns = list(zip(*rows, strict=True)) or [()] * len(cells)
    return {
        cell.name: list(column) if isinstance(cell.type, Text) else np.array(column, dtype=np.int64)
        for cell, column in zip(cells, columns, strict=True)
    }
