"""Datasette's questions about tables and columns, cached until the file changes."""

from collections.abc import Awaitable, Callable, Hashable
from copy import copy
from functools import wraps
from typing import Any

from datasette.database import Database


def _once(name: str) -> Callable[..., Awaitable[Any]]:
    inner = getattr(Database, name)

    @wraps(inner)
    async def answered(self: "KnownSchema", *arguments: Hashable) -> Any:
        return copy(await self.remembered((name, *arguments), lambda: inner(self, *arguments)))

    return answered


class KnownSchema(Database):  # type: ignore[misc]  # it ships no types
    """A database that looks its tables and columns up once; a page asks some forty times."""

    async def remembered(self, key: tuple[Hashable, ...], ask: Callable[[], Awaitable[Any]]) -> Any:
        """Return the cached answer to a question."""
        raise NotImplementedError

    fts_table = _once("fts_table")
    foreign_keys_for_table = _once("foreign_keys_for_table")
    get_all_foreign_keys = _once("get_all_foreign_keys")
    get_table_definition = _once("get_table_definition")
    hidden_table_names = _once("hidden_table_names")
    label_column_for_table = _once("label_column_for_table")
    primary_keys = _once("primary_keys")
    table_column_details = _once("table_column_details")
    table_columns = _once("table_columns")
    table_exists = _once("table_exists")
    table_names = _once("table_names")
    view_names = _once("view_names")
