"""Streaming of many rows from a schema."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg


class RowReader:
    """A reader of many rows of a schema; see `store.backend`."""

    chosen = "pg_temp.graphstore_chosen"
    dialect = "postgresql"

    def __init__(self, driver: psycopg.Connection[Any], main: str) -> None:
        self.main = main
        self._driver = driver

    @contextmanager
    def cursor(self) -> Iterator[Any]:
        with self._driver.cursor("graphstore_rows") as cursor:
            yield cursor

    def edges(self, rows: int) -> Generator[list[Sequence[int]], None, None]:
        with self.cursor() as cursor:
            cursor.execute("SELECT parent, move, child FROM edge ORDER BY parent, move")
            while page := cursor.fetchmany(rows):
                yield list(zip(*page, strict=True))

    def edge_lines(self, rows: int) -> Generator[tuple[int, str], None, None]:
        for columns in self.edges(rows):
            cells = zip(*columns, strict=True)
            yield len(columns[0]), "".join(map("%s,%s,%s\n".__mod__, cells))
