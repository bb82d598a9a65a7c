"""What is checked of a database without its states: schema, digests and the row game."""

from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import Connection, select

from graphstore.checks.file.findings import Problem
from graphstore.store import digests, schema
from graphstore.store.store import Store


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


def game_row(store: Store, expected: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield the cells of the table game that are not as they were counted."""
    for name, count in expected.items():
        if store.info[name] != count:
            yield Problem("game", "1", name, store.info[name], count)
