"""Functions that read rows of game files, damage files, and write rows in parts."""

import math
import sqlite3
from contextlib import closing

import numpy as np

from graphstore import Store
from graphstore.checks import verify
from graphstore.store import digests, schema
from graphstore.store.folder.layout import file_of, write_rows

TABLES = ("agent", "bead", "played", "checkpoint")
KEYS = {"agent": "id", "bead": "state, move", "played": "number", "checkpoint": "games"}
HEX = "0123456789abcdef"
IDS = {"state": "id", "edge": "parent"}


def names(folder):
    return sorted(each.name for each in folder.iterdir())


def content(path):
    """Return all rows of all tables, without the time and the duration of the build."""
    with closing(sqlite3.connect(path)) as connection:
        tables = [
            name
            for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        rows = {
            name: sorted(connection.execute(f"SELECT * FROM {name}"), key=repr) for name in tables
        }
        columns = [row[1] for row in connection.execute("PRAGMA table_info(game)")]
    differs = ("built_at", "build_seconds")
    rows["game"] = [
        [cell for column, cell in zip(columns, row, strict=True) if column not in differs]
        for row in rows["game"]
    ]
    rows["digest"] = [row for row in rows["digest"] if row[0].partition(".")[2] not in differs]
    return rows


def rows(path, table, agent=1):
    """Return the rows of one agent in a table, without its id and name."""
    key = "id" if table == "agent" else "agent"
    with Store.open(path) as store:
        found = store.sql(f"SELECT * FROM {table} WHERE {key} = {agent} ORDER BY {KEYS[table]}")
        named = [dict(zip(found.columns, row, strict=True)) for row in found]
        return [{k: v for k, v in row.items() if k not in (key, "name")} for row in named]


def all_rows(path, agent=1):
    return {table: rows(path, table, agent) for table in TABLES}


def games_of(path):
    try:
        with closing(sqlite3.connect(path, timeout=5)) as connection:
            return connection.execute("SELECT coalesce(max(games), 0) FROM agent").fetchone()[0]
    except sqlite3.OperationalError:
        return 0


def verdict_on(path, **options):
    with Store.open(path, **options) as store:
        return verify(store)


def change(path, *statements):
    """Run statements without CHECKs and foreign keys."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        for statement in statements:
            if isinstance(statement, str):
                statement = (statement, ())
            connection.execute(*statement)
        connection.commit()


def other_values(cell, others, chance):
    """Return cells that differ from this one: near, far, empty, or of another row."""
    if isinstance(cell, str):
        place = chance.randrange(len(cell)) if cell else 0
        letter = chance.choice([c for c in HEX + ".XO/" if c != cell[place : place + 1]])
        return [cell[:place] + letter + cell[place + 1 :], cell + " ", "", chance.choice(others)]
    if isinstance(cell, float):
        return [math.nextafter(cell, 2), -cell, 0.123, 1e300, None, chance.choice(others)]
    if cell is None:
        return [0, -1, -(2**63), 1, chance.choice(others)]
    return [cell + 1, cell - 1, -1 - cell, cell ^ 1 << 40, 0, -(2**63), None, chance.choice(others)]


def new_digests(read, kind=digests.OrderedDigests):
    """Return SQL that sets the digests of a game to those of its content.

    `read` returns the rows of a query, tuples. The digests are those of older files, by default.
    """
    hashes = kind()
    for table, keys in digests.KEYS.items():
        columns = [each for each in schema.metadata.tables[table].columns if each.computed is None]
        names = [column.name for column in columns]
        rows = read(f"SELECT {', '.join(names)} FROM {table} ORDER BY {', '.join(keys)}")
        if rows:
            kinds = [column.type.python_type for column in columns]
            cells = map(_cells, kinds, zip(*rows, strict=True))
            hashes.update_table(table, dict(zip(names, cells, strict=True)))
    of_columns = hashes.of_columns()
    content = digests.of_content({k: v for k, v in of_columns.items() if k[:5] != "move."})
    of_columns["game.digest"] = digests.of_json(content)
    return [
        f"UPDATE game SET digest = '{content}'",
        *(f"UPDATE digest SET blake2b = '{v}' WHERE name = '{k}'" for k, v in of_columns.items()),
    ]


def _cells(kind, cells):
    if kind is str:
        return list(cells)
    if kind is float:
        return np.array(cells, dtype=np.float64)
    return np.array([digests.NULL if cell is None else cell for cell in cells], dtype=np.int64)


def redigest(path, kind=digests.ColumnDigests):
    """Set the digests to those of the content, as a careful forger would."""
    with closing(sqlite3.connect(path)) as connection:
        read = lambda query: connection.execute(query).fetchall()  # noqa: E731
        for statement in new_digests(read, kind):
            connection.execute(statement)
        of_game = connection.execute("SELECT * FROM game")
        names = [name for name, *_ in of_game.description]
        row = digests.of_row("game", dict(zip(names, of_game.fetchone(), strict=True)))
        statement = "UPDATE digest SET blake2b = ? WHERE name = ?"
        connection.executemany(statement, [(value, name) for name, value in row.items()])
        connection.commit()


def some(columns, rows):
    """Return columns with these rows only."""
    return {
        name: [cells[row] for row in rows] if isinstance(cells, list) else cells[rows]
        for name, cells in columns.items()
    }


def scatter(path, table, columns, parts, group):
    """Write rows to files by the part of their id, in row groups of `group` rows."""
    part = np.array([parts[int(each)] for each in columns[IDS[table]]], dtype=np.int64)
    for number in np.unique(part).tolist():
        rows = np.flatnonzero(part == number)
        groups = [rows[begin : begin + group] for begin in range(0, len(rows), group)]
        write_rows(file_of(path, table, 0, number), table, (some(columns, each) for each in groups))
