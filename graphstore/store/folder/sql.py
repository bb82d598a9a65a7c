"""SQL over the Parquet files of a game in parts, through DuckDB, which can only read them.

Three locks, each of which would do: DuckDB may open no file at all, pyarrow hands it the rows; what
it runs must be SELECT through and through, as its own parser sees it; in a transaction that can
only read.
"""

import os
import re
import secrets
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from sqlalchemy import ClauseElement, Column
from sqlalchemy.dialects import postgresql

from graphstore.errors import (
    NotAStoreError,
    NotInStoreError,
    PositionError,
    QueryError,
    RulesDifferWarning,
    RulesMissingError,
    shown,
)
from graphstore.games import are_those_of, find_builtin
from graphstore.rules.game import Game
from graphstore.store import arrow, schema
from graphstore.store.folder.layout import TABLES, Contents
from graphstore.store.folder.rows import check_rows
from graphstore.store.folder.sql_rows import MORE, Desk, Rows, duckdb
from graphstore.store.parameters import numbered
from graphstore.store.sql import Watch
from graphstore.util import own_process

VIEWS: Final = ("best_move", "q_table", "census")
"""Those of a database that a folder has, too: there are no agents in it."""

MOST_MEMORY: Final = 4 << 30
"""Bytes that DuckDB takes for tables and sorting unless it is told otherwise."""

_SETTINGS: Final = {
    "allow_community_extensions": "false",
    "allow_persistent_secrets": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "enable_external_access": "false",
    # As SQLite orders, and divides.
    "default_null_order": "nulls_first_on_asc_last_on_desc",
}
_OF_A_CONNECTION: Final = (
    "SET integer_division = true",
    "SET error_on_division_by_zero = false",
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
_NODE: Final = re.compile(r'"type":"(\w+_NODE)"')
_READING: Final = {"CTE_NODE", "RECURSIVE_CTE_NODE", "SELECT_NODE", "SET_OPERATION_NODE"}


def sql(
    path: Path,
    contents: Contents,
    statement: str,
    parameters: Sequence[Any] | Mapping[str, Any] = (),
    *,
    rules: Game | None = None,
    seconds: float | None = None,
    rows: int | None = None,
    memory: int | None = None,
) -> Rows:
    """Return the rows of one reading statement; it may call board(id) and canonical(text).

    When the time is up or Ctrl-C comes, this waits for DuckDB to leave the function that it is in,
    which for a text of many megabytes may take minutes; and DuckDB does not count the memory that
    a function takes. The command `graphstore sql`, whose process is its own, ends it and bounds it.

    Args:
        path: the folder of the game.
        contents: what it is.
        statement: in DuckDB's SQL, over state, edge, game and digest and the views.
        parameters: what takes the place of ``?`` in order, or of ``:name`` by name.
        rules: of a game that is not built in.
        seconds: that DuckDB may work on it; None: as long as it takes.
        rows: that the answer may have; None: any number.
        memory: bytes that DuckDB may take for tables and sorting; None: half of the machine's, or
            4 GB if that is less.

    Raises:
        QueryError: the SQL is wrong, would do more than read, or comes to a limit.
        NotAStoreError: files are missing or damaged.
    """
    info = contents.info
    if rules is not None and not are_those_of(rules, info["name"], info["rules"]):
        warnings.warn(
            f"{path} was built by other rules, or another version of them: "
            f"{info['name']} {info['rules']}, now {rules.name} {rules.rules}",
            RulesDifferWarning,
            stacklevel=3,
        )
    watch = Watch(seconds)
    room = _room()
    connection = duckdb.connect(":memory:", config={**_SETTINGS, "temp_directory": room})
    desk = Desk(connection, watch, room)
    try:
        desk.do(lambda: _furnish(connection, path, contents))
        desk.do(lambda: _add_functions(connection, _functions(info["name"], rules), watch))
        own_process.bound_memory(desk.do(lambda: _lock(connection, memory)))
        typed, bound = numbered(statement, parameters)
        desk.do(lambda: _check(connection, typed))
        desk.do(lambda: connection.execute(typed, bound))
        return Rows(desk, rows)
    except BaseException:
        desk.close()
        raise


def _furnish(connection: duckdb.DuckDBPyConnection, path: Path, contents: Contents) -> None:
    """Make the tables and the views."""
    for setting in _OF_A_CONNECTION:
        connection.execute(setting)
    for table, rows in ((schema.state, "states"), (schema.edge, "moves")):
        files = _rows(path, table.name, contents.info[rows])
        connection.register(f"files of {table.name}", files)
        cells = ", ".join(
            f"CAST({each.computed.sqltext if each.computed else each.name} AS {_type(each)})"
            f" AS {each.name}"
            for each in table.c
        )
        connection.execute(
            f'CREATE VIEW {table.name} AS SELECT {cells} FROM "files of {table.name}"'
        )
    digests = [
        {"name": name, "blake2b": digest} for name, digest in sorted(contents.digests.items())
    ]
    for table, told in ((schema.game, [contents.info]), (schema.digest, digests)):
        columns = ", ".join(f"{each.name} {_type(each)}" for each in table.c)
        connection.execute(f"CREATE TABLE {table.name} ({columns})")
        marks = ", ".join("?" * len(table.c))
        for row in told:
            values = [row[each.name] for each in table.c]
            connection.execute(f"INSERT INTO {table.name} VALUES ({marks})", values)
    for name in VIEWS:
        connection.execute(f"CREATE VIEW {name} AS {_said(schema.VIEWS[name])}")


def _rows(folder: Path, table: str, wanted: int) -> Any:
    """Return the rows of a table, unread, when all files are there and have their columns.

    Raises:
        NotAStoreError: they are not, or have not.
    """
    types = arrow.types_of(TABLES[table])
    from pyarrow import dataset

    try:
        files = [str(path) for path in check_rows(folder, table, wanted)]
    except NotAStoreError as error:
        raise NotAStoreError(f"{error}; build it anew") from error
    if not files:
        return types.empty_table()
    return dataset.dataset(files, schema=types, format="parquet")


def _type(column: Column[Any]) -> str:
    return _TYPES[column.type.python_type]


def _said(query: ClauseElement) -> str:
    """Return a query as PostgreSQL, and DuckDB, would have it."""
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    return str(query.compile(dialect=dialect, compile_kwargs={"literal_binds": True}))


def _lock(connection: duckdb.DuckDBPyConnection, memory: int | None) -> int:
    """Let the connection do no more than read, for good; return the memory that it may take."""
    if memory is None:
        half = _half(connection.execute("SELECT current_setting('memory_limit')").fetchall())
        memory = min(half, MOST_MEMORY)
    connection.execute(f"SET memory_limit = '{max(memory >> 10, 1)}KiB'")
    connection.execute("SET lock_configuration = true")
    connection.execute("BEGIN TRANSACTION READ ONLY")
    return memory


def _half(answer: list[Any]) -> int:
    """Return half of the machine's memory, of which DuckDB would take four fifths.

    >>> _half([("16.0 GiB",)]) / 2**30
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
    typed.encode()  # the driver takes nothing else, and does not say why
    statements = connection.extract_statements(typed)
    if not statements:
        raise QueryError("there is nothing to run; write a SELECT")
    if len(statements) > 1:
        raise QueryError("this is more than one statement; write one SELECT")
    told = statements[0].query
    explained = _EXPLAIN.fullmatch(told)
    try:
        if statements[0].type == duckdb.StatementType.EXPLAIN and explained:
            told = explained["rest"]
            statements = connection.extract_statements(told)
        kinds = [each.type for each in statements]
    except ValueError:  # one that the driver does not know
        kinds = []
    if kinds != [duckdb.StatementType.SELECT] or not _only_reads(connection, told):
        raise QueryError(MORE)


def _only_reads(connection: duckdb.DuckDBPyConnection, select: str) -> bool:
    """Return whether a SELECT is made of nothing else: WITH may be followed by COPY or INSERT."""
    (tree,) = connection.execute("SELECT json_serialize_sql(?::VARCHAR)", [select]).fetchall()[0]
    return tree.startswith('{"error":false') and {*_NODE.findall(tree)} <= _READING


def _functions(name: str, rules: Game | None) -> dict[str, tuple[Callable[..., Any], str]]:
    """Return the SQL functions that a person's statement may call, and what they return.

    They get what SQL calls the type of the argument, the argument as a text, and the position
    that is stored of it, if it is the id of a state: the rules need not know what an id means.
    """
    game = rules or find_builtin(name)

    def here(kind: str, told: str, stored: str | None) -> tuple[Game, int]:
        if game is None:
            raise RulesMissingError(f"{name} is not built in; add --rules FILE.py:NAME (rules=)")
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
        connection.create_function(  # type: ignore[call-overload]  # it takes the word, too
            f"rules_{name}",
            _noting(function, watch),
            ["VARCHAR", "VARCHAR", "VARCHAR"],
            returned,
            null_handling="special",
        )
        connection.execute(
            f'CREATE MACRO {name}(told) AS (SELECT rules_{name}(typeof("the told"), '
            'CAST("the told" AS VARCHAR), "the text") FROM (SELECT told AS "the told") '
            'LEFT JOIN memory.rules.texts ON "the id" = TRY_CAST("the told" AS BIGINT))'
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
