"""SQL over the Parquet files of a game in parts, through DuckDB, which can only read them.

Three locks, each of which would do: only a statement that DuckDB's parser calls a SELECT is run; in
a transaction that can only read; by a database in memory that may open no file but the game's.
"""

import os
import re
import secrets
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import duckdb
import numpy as np
from sqlalchemy import ClauseElement, Column
from sqlalchemy.dialects import postgresql

from graphstore import schema
from graphstore.errors import (
    NotAStoreError,
    NotInStoreError,
    PositionError,
    QueryError,
    RulesMissingError,
    shown,
)
from graphstore.game import Game
from graphstore.games import find_builtin
from graphstore.marks import numbered
from graphstore.parts.duckrows import Desk, Rows
from graphstore.parts.folder import Folder
from graphstore.usersql import Watch

VIEWS: Final = ("best_move", "q_table", "census")
"""Those of a database that a folder has, too: there are no agents in it."""

_SETTINGS: Final = {
    "allow_community_extensions": "false",
    "allow_persistent_secrets": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    # As SQLite orders, and divides.
    "default_null_order": "nulls_first_on_asc_last_on_desc",
}
_OF_A_CONNECTION: Final = (
    "SET integer_division = true",
    "SET enable_progress_bar = false",
    "SET python_enable_replacements = false",
)
_TYPES: Final = {bool: "BOOLEAN", float: "DOUBLE", int: "BIGINT", str: "VARCHAR"}
_INTEGERS: Final = {
    f"{sign}{size}"
    for sign in ("", "U")
    for size in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
}
_EXPLAIN = re.compile(
    r"(?>\s|--[^\n]*|/\*.*?\*/)*+EXPLAIN\b\s*(\([^()]*\)|ANALYZE\b)?\s*(?P<rest>.*)",
    re.DOTALL | re.IGNORECASE,
)
_MORE = "this statement would do more than read; only SELECT and the like run"


def sql(
    folder: Folder,
    statement: str,
    parameters: Sequence[Any] | Mapping[str, Any] = (),
    *,
    rules: Game | None = None,
    seconds: float | None = None,
    rows: int | None = None,
    memory: int | None = None,
) -> Rows:
    """Return the rows of one reading statement; it may call board(id) and canonical(text).

    Args:
        folder: the game.
        statement: in DuckDB's SQL, over state, edge, game and digest and the views.
        parameters: what takes the place of ``?`` in order, or of ``:name`` by name.
        rules: of a game that is not built in.
        seconds: that DuckDB may work on it; None: as long as it takes.
        rows: that the answer may have; None: any number.
        memory: bytes that DuckDB may take for tables and sorting; None: half of the machine's.

    Raises:
        QueryError: the SQL is wrong, would do more than read, or comes to a limit.
        NotAStoreError: files are missing or damaged.
    """
    watch = Watch(seconds)
    desk = Desk(duckdb.connect(":memory:", config={**_SETTINGS, "temp_directory": _room()}), watch)
    connection = desk.connection
    try:
        desk.do(lambda: _furnish(connection, folder))
        desk.do(lambda: _add_functions(connection, _functions(folder, rules), watch))
        desk.do(lambda: _lock(connection, folder, memory))
        typed, bound = numbered(statement, parameters)
        desk.do(lambda: _check(connection, typed))
        desk.do(lambda: connection.execute(typed, bound))
        return Rows(desk, rows)
    except BaseException:
        desk.close()
        raise


def _furnish(connection: duckdb.DuckDBPyConnection, folder: Folder) -> None:
    """Make the tables and the views, and see that all files are there and can be read."""
    for setting in _OF_A_CONNECTION:
        connection.execute(setting)
    for table, rows in ((schema.state, "states"), (schema.edge, "moves")):
        try:
            connection.execute(f"CREATE VIEW {table.name} AS {_from_files(folder, table)}")
            (found,) = connection.execute(f"SELECT count(*) FROM {table.name}").fetchall()[0]
        except duckdb.Error as error:
            what = " ".join(str(error).split())
            raise NotAStoreError(f"{folder.path} is damaged; build it anew ({what})") from error
        if found != folder.info[rows]:
            raise NotAStoreError(
                f"{folder.path} is damaged: its files have {found:,} {rows}, not "
                f"{folder.info[rows]:,}; build it anew"
            )
    contents = {schema.game: [folder.info], schema.digest: _digest_rows(folder)}
    for table, contained in contents.items():
        columns = ", ".join(f"{each.name} {_type(each)}" for each in table.c)
        connection.execute(f"CREATE TABLE {table.name} ({columns})")
        marks = ", ".join("?" * len(table.c))
        for row in contained:
            cells = [row[each.name] for each in table.c]
            connection.execute(f"INSERT INTO {table.name} VALUES ({marks})", cells)
    for name in VIEWS:
        connection.execute(f"CREATE VIEW {name} AS {_said(schema.VIEWS[name])}")


def _digest_rows(folder: Folder) -> list[dict[str, str]]:
    return [{"name": name, "blake2b": hexes} for name, hexes in sorted(folder.digests.items())]


def _from_files(folder: Folder, table: Any) -> str:
    """Return the SELECT of a table's rows from its files, with the columns of the database."""
    cells = ", ".join(
        f"CAST({each.computed.sqltext if each.computed else each.name} AS {_type(each)})"
        f" AS {each.name}"
        for each in table.c
    )
    files = [_quoted(path) for path in _absolute(folder, table.name)]
    if files:
        # A folder on the way named a=b would be one more column.
        return f"SELECT {cells} FROM read_parquet([{', '.join(files)}], hive_partitioning = false)"
    nothing = ", ".join(f"CAST(NULL AS {_type(each)}) AS {each.name}" for each in table.c)
    return f"SELECT {nothing} WHERE false"


def _absolute(folder: Folder, table: str) -> list[str]:
    return [os.path.abspath(path) for path in folder.files(table)]


def _type(column: Column[Any]) -> str:
    return _TYPES[column.type.python_type]


def _said(query: ClauseElement) -> str:
    """Return a query as PostgreSQL, and DuckDB, would have it."""
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    return str(query.compile(dialect=dialect, compile_kwargs={"literal_binds": True}))


def _quoted(text: str | Path) -> str:
    return "'" + str(text).replace("'", "''") + "'"


def _lock(connection: duckdb.DuckDBPyConnection, folder: Folder, memory: int | None) -> None:
    """Let the connection open no other file, and do no more than read, for good."""
    if memory is None:
        memory = _bytes(connection.execute("SELECT current_setting('memory_limit')").fetchall())
    files = [_quoted(path) for table in ("state", "edge") for path in _absolute(folder, table)]
    for setting in (
        f"memory_limit = '{max(memory >> 10, 1)}KiB'",
        f"allowed_paths = [{', '.join(files)}]",
        "enable_external_access = false",
        "lock_configuration = true",
    ):
        connection.execute(f"SET {setting}")
    connection.execute("BEGIN TRANSACTION READ ONLY")


def _bytes(answer: list[Any]) -> int:
    """Return half of the machine's memory, of which DuckDB would take four fifths.

    >>> _bytes([("16.0 GiB",)]) / 2**30
    10.0
    """
    number, unit = answer[0][0].split()
    power = ("bytes", "KiB", "MiB", "GiB", "TiB").index(unit)
    return int(float(number) * 1024**power * 5 / 8)


def _room() -> str:
    """Return where DuckDB may put what does not fit into memory, in a folder that it removes."""
    try:
        return os.path.join(tempfile.gettempdir(), f"graphstore-{secrets.token_hex(8)}")
    except FileNotFoundError:
        return ""  # nowhere


def _check(connection: duckdb.DuckDBPyConnection, typed: str) -> None:
    """Refuse what is not one statement that reads."""
    statements = connection.extract_statements(typed)
    if not statements:
        raise QueryError("there is nothing to run; write a SELECT")
    if len(statements) > 1:
        raise QueryError("this is more than one statement; write one SELECT")
    explained = _EXPLAIN.fullmatch(statements[0].query)
    if statements[0].type == duckdb.StatementType.EXPLAIN and explained:
        statements = connection.extract_statements(explained["rest"])
    if [each.type for each in statements] != [duckdb.StatementType.SELECT]:
        raise QueryError(_MORE)


def _functions(folder: Folder, rules: Game | None) -> dict[str, tuple[Callable[..., Any], str]]:
    """Return the SQL functions that a person's statement may call, and what they return.

    They get what SQL calls the type of the argument, the argument as a text, and the position
    that is stored of it, if it is the id of a state: the rules need not know what an id means.
    """
    game = rules or find_builtin(folder.info["name"])

    def here(kind: str, told: str, stored: str | None) -> tuple[Game, int]:
        if game is None:
            raise RulesMissingError(
                f"{folder.info['name']} is not built in; add --rules FILE.py:NAME (rules=)"
            )
        if kind == "VARCHAR":
            try:
                return game, game.read(told)
            except PositionError:
                if not told.isdecimal() or len(told) > 19:
                    raise
        elif kind not in _INTEGERS:
            raise QueryError(
                f"board() and canonical() take the text of a position or the id of a state, "
                f"not {told}"
            )
        if stored is None:
            raise NotInStoreError(f"no state has the id {shown(int(told))}")
        return game, game.read(stored)

    def board(kind: str, told: str, stored: str | None) -> str:
        rules, position = here(kind, told, stored)
        return rules.board(position)

    def canonical(kind: str, told: str, stored: str | None) -> int:
        rules, position = here(kind, told, stored)
        return int(rules.canonical(np.array([position], dtype=np.int64))[0])

    return {"board": (board, "VARCHAR"), "canonical": (canonical, "BIGINT")}


def _add_functions(
    connection: duckdb.DuckDBPyConnection,
    functions: Mapping[str, tuple[Callable[..., Any], str]],
    watch: Watch,
) -> None:
    """Let SQL call functions; what is in a macro must not have a name that a person's SQL has."""
    connection.execute("CREATE SCHEMA rules")
    connection.execute(
        'CREATE VIEW rules.texts AS SELECT id AS "the id", position AS "the text" '
        "FROM memory.main.state"
    )
    for name, (function, returned) in functions.items():
        connection.create_function(
            f"rules_{name}",
            _noting(function, watch),
            ["VARCHAR", "VARCHAR", "VARCHAR"],
            returned,
            null_handling="special",
        )
        connection.execute(
            f"CREATE MACRO {name}(told) AS rules_{name}(typeof(told), CAST(told AS VARCHAR), ("
            'SELECT "the text" FROM memory.rules.texts AS "the texts" '
            'WHERE "the id" = TRY_CAST(told AS BIGINT)))'
        )


def _noting(function: Callable[..., Any], watch: Watch) -> Callable[..., Any]:
    """Return a function that makes NULL of NULL, and leaves with the watch what it raises."""

    def noting(kind: str, told: str | None, stored: str | None) -> Any:
        try:
            return None if told is None else function(kind, told, stored)
        except BaseException as error:
            watch.raised = error
            raise

    return noting
