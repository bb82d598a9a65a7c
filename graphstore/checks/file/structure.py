"""What can be said of a database without its states: structure, schema, digests, the row game."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, select

from graphstore.checks.file.findings import Problem
from graphstore.store import digests, schema
from graphstore.store.store import Store

_CHECK = "CHECK constraint failed"  # in what integrity_check finds: cells, not the structure


def structure(store: Store) -> Iterator[Problem]:
    """Yield what the database manager itself finds wrong."""
    for line in store.backend.integrity():
        yield Problem("file", store.address, "integrity_check", line, "ok")


def is_readable(problems: Sequence[Problem]) -> bool:
    """Return whether what `structure` found is in single cells, so that all else can be read."""
    return all(str(problem.found).startswith(_CHECK) for problem in problems)


def objects(connection: Connection, stored: Mapping[str, str]) -> Iterator[Problem]:
    """Yield the tables, the index and the views that are not as they were built."""
    made = schema.objects(connection)
    found = digests.of_row("schema", made)
    for name in schema.OBJECTS:
        digest = f"schema.{name}"
        if digest not in stored:
            yield Problem("digest", digest, "blake2b", None, found.get(digest))
        elif stored[digest] != found.get(digest):
            sql = " ".join(made.get(name, "missing").split())
            yield Problem("schema", name, "sql", sql, "as it was built")


def stored_digests(connection: Connection) -> dict[str, str]:
    """Return the digests that the database was built with, by name."""
    names = (schema.digest.c.name, schema.digest.c.blake2b)
    return {str(name): str(blake2b) for name, blake2b in connection.execute(select(*names))}


def digests_differ(
    store: Store, stored: Mapping[str, str], of_columns: Mapping[str, str]
) -> Iterator[Problem]:
    """Yield the digests of columns, and of the cells of game, that are not those stored."""
    content = digests.of_content(of_columns)
    if store.info["digest"] != content:
        yield Problem("game", "1", "digest", store.info["digest"], content)
    stored = {name: each for name, each in stored.items() if not name.startswith("schema.")}
    expected = dict(of_columns) | digests.of_row("game", store.info)
    for name in sorted(expected.keys() | stored.keys()):
        if stored.get(name) != expected.get(name):
            yield Problem("digest", name, "blake2b", stored.get(name), expected.get(name))


def of_columns(stored: Mapping[str, str]) -> dict[str, str]:
    """Return those of the stored digests that are of columns, for want of the columns."""
    tables = (schema.state, schema.edge)
    names = {str(column) for table in tables for column in table.c if column.computed is None}
    return {name: each for name, each in stored.items() if name in names}


def game_row(store: Store, expected: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield the cells of the table game that are not as they were counted."""
    for name, count in expected.items():
        if store.info[name] != count:
            yield Problem("game", "1", name, store.info[name], count)


def extent(store: Store) -> Iterator[Problem]:
    """Yield the extent if there is none of that name."""
    if store.info["extent"] not in schema.EXTENTS:
        one = f"one of {', '.join(schema.EXTENTS)}"
        yield Problem("game", "1", "extent", store.info["extent"], one)
