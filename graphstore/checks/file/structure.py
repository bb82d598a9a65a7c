"""Checks of the schema, the digests and the table `game` of a database."""

from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import Connection, select

from graphstore.checks.file.findings import Problem
from graphstore.store import digests, schema
from graphstore.store.store import Store


def objects(store: Store) -> Iterator[Problem]:
    """Yield the tables, indexes and views that are not as the migrations make them.

    The views of an older file may be those of its revision.
    """
    is_older = store.backend.revision() != schema.REVISIONS[-1]
    for name, sql in store.backend.altered():
        if is_older and sql and name in schema.VIEWS:
            continue
        yield Problem("schema", name, "sql", sql or "missing", "as the migrations make it")


def stored_digests(connection: Connection) -> dict[str, str]:
    """Return the digests that are stored in the database, by name."""
    names = (schema.digest.c.name, schema.digest.c.blake2b)
    return {str(name): str(blake2b) for name, blake2b in connection.execute(select(*names))}


def digests_differ(
    info: Mapping[str, Any],
    stored: Mapping[str, str],
    of_columns: Mapping[str, str],
    names: Mapping[int, str],
) -> Iterator[Problem]:
    """Yield the stored digests that differ from those of the columns and of `game` and `move`."""
    content = digests.of_content(of_columns)
    if info["digest"] != content:
        yield Problem("game", "1", "digest", info["digest"], content)
    stored = {name: each for name, each in stored.items() if not name.startswith("schema.")}
    of_names = digests.of_names(names, ordered=digests.are_ordered(stored))
    expected = dict(of_columns) | of_names | digests.of_row("game", info)
    for name in sorted(expected.keys() | stored.keys()):
        if stored.get(name) != expected.get(name):
            yield Problem("digest", name, "blake2b", stored.get(name), expected.get(name))


def game_row(info: Mapping[str, Any], expected: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield the cells of the table `game` that differ from the expected ones."""
    for name, count in expected.items():
        if info[name] != count:
            yield Problem("game", "1", name, info[name], count)
