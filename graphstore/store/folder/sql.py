"""Run a user's SQL read-only on the Parquet files of a game in parts, by DuckDB.

DuckDB may not open files: pyarrow passes it the rows. One SELECT runs in a read-only transaction.
"""

import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Column

from graphstore.errors import NotAStoreError, QueryError
from graphstore.store import arrow, schema
from graphstore.store.folder.layout import TABLES, Contents, files_of
from graphstore.store.folder.moves import EdgeStream, rules_for
from graphstore.store.folder.rows import check_files, check_rows, chunks
from graphstore.store.folder.sql_rows import Session, duckdb, translated
from graphstore.store.functions import not_a_position
from graphstore.store.sql import MEMORY, NOTHING, SEVERAL, WRITES, Answer, Statement, Watch, paged
from graphstore.store.tokens import numbered, tokens
from graphstore.util import own_process
from graphstore.util.forks import closed_on_error

VIEWS: Final = ("best_move", schema.BY_MARGIN, "q_table", "census")  # a folder has no agents

_SETTINGS: Final = {
    "allow_community_extensions": "false",
    "allow_persistent_secrets": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    # NULLs in the order of SQLite.
    "default_null_order": "nulls_first_on_asc_last_on_desc",
}
_OF_A_CONNECTION: Final = (
    "SET enable_external_access = false",  # set before, it would allow a file named :memory:
    "SET integer_division = true",  # as in SQLite
    "SET error_on_division_by_zero = false",
    "SET enable_progress_bar = false",
    "SET python_enable_replacements = false",
)
_TYPES: Final = {bool: "BOOLEAN", float: "DOUBLE", int: "BIGINT", str: "VARCHAR"}
_COUNTS: Final = {schema.state: "states", schema.edge: "moves"}
_ABOUT_THE_MACHINE: Final = {
    "current_setting",
    "duckdb_settings",
    "duckdb_temporary_files",
    "json_execute_serialized_sql",
    "pg_settings",
    "query",
    "query_table",
}
"""Functions and views that tell paths, or run SQL that is written in a text."""

_INTEGERS: Final = {
    f"{sign}{size}"
    for sign in ("", "U")
    for size in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
}
_RETURNED: Final = {"board": "VARCHAR", "canonical": "BIGINT"}


def run(
    path: Path,
    contents: Contents,
    statement: Statement,
    added: Mapping[str, Callable[[Any], Any]],
    memory: int | None = None,
) -> Answer:
    """Return the rows of one read-only statement, which may call `added` functions of a position.

    See `graphstore.Folder.sql`.
    """
    typed, bound = numbered(statement.text, statement.parameters, "duckdb")
    watch = Watch(statement.seconds)
    spill = _spill_folder()
    try:
        connection = duckdb.connect(":memory:", config={**_SETTINGS, "temp_directory": spill})
    except duckdb.Error as error:
        shutil.rmtree(spill, ignore_errors=True)
        raise translated(error, watch, lambda: None) from error

    def begin() -> list[str]:
        _create_tables(connection, path, contents)
        _add_functions(connection, added, watch)
        own_process.bound_memory(_restrict(connection, memory))
        _check(connection, typed)
        connection.execute(typed, bound)
        return [column[0] for column in connection.description or ()]

    session = Session(connection, watch, spill, lambda: _check_files(path, contents))
    with closed_on_error(session.close):
        columns = session.do(begin)
        return Answer(columns, paged(session.fetch), session.close, watch, statement.rows)


def _create_tables(connection: duckdb.DuckDBPyConnection, path: Path, contents: Contents) -> None:
    """Create the tables and the views."""
    for setting in _OF_A_CONNECTION:
        connection.execute(setting)
    for table, count in _COUNTS.items():
        files = _rows(path, contents, table.name, contents.info[count])
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
    names = [{"move": move, "name": name} for move, name in contents.names.items()]
    tables = ((schema.game, [contents.info]), (schema.digest, digests), (schema.move, names))
    for table, rows in tables:
        columns = ", ".join(f"{each.name} {_type(each)}" for each in table.c)
        connection.execute(f"CREATE TABLE {table.name} ({columns})")
        marks = ", ".join("?" * len(table.c))
        values = [[row[each.name] for each in table.c] for row in rows]
        if values:
            connection.executemany(f"INSERT INTO {table.name} VALUES ({marks})", values)
    for name in VIEWS:
        view = schema.written(schema.VIEWS[name], "postgresql")
        connection.execute(f"CREATE VIEW {name} AS {view}")


def _rows(folder: Path, contents: Contents, table: str, wanted: int) -> Any:
    """Check the files of a table; return its rows as a dataset, which is not read yet."""
    if table == "edge" and not contents.has_edges:
        states = _rows(folder, contents, "state", contents.info["states"])
        return EdgeStream(folder, contents, states)
    types = arrow.types_of(TABLES[table])
    from pyarrow import dataset

    try:
        files = [str(path) for path in check_rows(folder, table, wanted)]
    except NotAStoreError as error:
        raise NotAStoreError(f"{error}; rebuild the folder") from error
    if not files:
        return types.empty_table()
    return dataset.dataset(files, schema=types, format="parquet")


def _check_files(path: Path, contents: Contents) -> None:
    """Read all rows; raise NotAStoreError if a file is damaged, or if no rules give the edges."""
    try:
        check_files(path, contents)
        for table in _COUNTS:
            for file in files_of(path, table.name):
                for _ in chunks(file, table.name):
                    pass
    except NotAStoreError as error:
        raise NotAStoreError(
            f"a file of the game is damaged; rebuild the folder ({error})"
        ) from error
    if not contents.has_edges:
        rules_for(path, contents)


def _type(column: Column[Any]) -> str:
    return _TYPES[column.type.python_type]


def _restrict(connection: duckdb.DuckDBPyConnection, memory: int | None) -> int:
    """Make the connection read-only until it is closed; return its memory limit in bytes."""
    if memory is None:
        half = _half(connection.execute("SELECT current_setting('memory_limit')").fetchall())
        memory = min(half, MEMORY)
    connection.execute(f"SET memory_limit = '{max(memory >> 10, 1)}KiB'")
    connection.execute("SET lock_configuration = true")
    connection.execute("BEGIN TRANSACTION READ ONLY")
    return memory


def _half(answer: list[Any]) -> int:
    """Return half of the machine's memory, from DuckDB's default limit, which is 80 % of it.

    >>> _half([("16.0 GiB",)]) / 2**30
    10.0
    """
    number, unit = answer[0][0].split()
    power = ("bytes", "KiB", "MiB", "GiB", "TiB").index(unit)
    return int(float(number) * 1024**power * 5 / 8)


def _spill_folder() -> str:
    """Return a temporary folder, which DuckDB creates and removes; "" if there cannot be one."""
    try:
        return os.path.join(tempfile.gettempdir(), f"graphstore-{secrets.token_hex(8)}")
    except FileNotFoundError:
        return ""


def _check(connection: duckdb.DuckDBPyConnection, typed: str) -> None:
    """Raise QueryError unless the text is one statement that reads."""
    typed.encode()  # the driver does not say why it refuses surrogates
    words = [
        text.strip("'\"`").lower() for kind, text in tokens(typed, "duckdb") if kind != "space"
    ]
    for word, following in pairwise([*words, ""]):
        if word in _ABOUT_THE_MACHINE and (following == "(" or word == "pg_settings"):
            raise QueryError(
                f"{word} tells about this machine, or runs a text; leave it out, or rename it if "
                "it is yours"
            )
    statements = connection.extract_statements(typed)
    if not statements:
        raise QueryError(NOTHING)
    if len(statements) > 1:
        raise QueryError(SEVERAL)
    try:
        kind = statements[0].type
    except ValueError:  # a kind that the driver does not know
        kind = None
    if kind not in (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN):
        raise QueryError(WRITES)


def _add_functions(
    connection: duckdb.DuckDBPyConnection,
    added: Mapping[str, Callable[[Any], Any]],
    watch: Watch,
) -> None:
    """Add functions as macros; their arguments have names that a user's SQL does not contain."""
    connection.execute("CREATE SCHEMA rules")
    connection.execute(
        'CREATE VIEW rules.texts AS SELECT id AS "the id", position AS "the text" '
        "FROM memory.main.state"
    )
    for name, function in added.items():
        connection.create_function(  # type: ignore[call-overload]  # it also takes a string
            f"rules_{name}",
            _typed(function, watch),
            ["VARCHAR", "VARCHAR", "VARCHAR"],
            _RETURNED[name],
            null_handling="special",
        )
        connection.execute(
            f'CREATE MACRO {name}(given) AS (SELECT rules_{name}(CAST("the given" AS VARCHAR), '
            'typeof("the given"), "the text") FROM (SELECT given AS "the given") '
            'LEFT JOIN memory.rules.texts ON "the id" = TRY_CAST("the given" AS BIGINT))'
        )


def _typed(function: Callable[[Any], Any], watch: Watch) -> Callable[[Any, Any, Any], Any]:
    """Return a function of the user's argument as text, its SQL type, and a stored position.

    The last is that of the state with this id, if there is one: it need not be looked up.
    """

    def call(argument: str | None, kind: str, stored: str | None) -> Any:
        if argument is None or kind == "VARCHAR":
            return function(argument)
        if kind not in _INTEGERS:
            raise not_a_position(argument)
        return function(int(argument) if stored is None else stored)

    recorded = watch.recording(call)
    return lambda argument, kind, stored: recorded(argument, kind, stored)  # DuckDB counts them
