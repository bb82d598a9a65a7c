"""Streaming of many rows from a SQLite file."""

import json
import sqlite3
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress

from graphstore.util.signals import held_back

_PAGE = """
SELECT json_group_array(parent), json_group_array(move), json_group_array(child)
FROM (SELECT * FROM edge WHERE (parent, move) > (?, ?) ORDER BY parent, move LIMIT ?)
"""


class RowReader:
    """A reader of many rows of a file; see `store.backend`."""

    main = "main"
    chosen = "temp.graphstore_chosen"
    dialect = "sqlite"

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    @contextmanager
    def cursor(self) -> Iterator[sqlite3.Cursor]:
        cursor = self._connection.cursor()
        try:
            yield cursor
        except sqlite3.OperationalError as error:
            if str(error) == "interrupted":
                raise KeyboardInterrupt from None
            raise
        finally:
            with suppress(sqlite3.ProgrammingError):  # the connection may be closed already
                cursor.close()

    def edges(self, rows: int) -> Generator[list[Sequence[int]], None, None]:
        """Yield the columns of all edges, which a thread reads ahead.

        SQLite returns each column as one JSON text: its driver takes twice as long for the rows.
        """
        from concurrent.futures import ThreadPoolExecutor  # slow to import

        with self.cursor() as cursor, ThreadPoolExecutor(max_workers=1) as ahead:

            def page(parent: int, move: int) -> tuple[str, ...]:
                texts: tuple[str, ...] = cursor.execute(_PAGE, (parent, move, rows)).fetchone()
                return texts

            with held_back():  # a thread whose start is interrupted may never end
                coming = ahead.submit(page, -1, 0)  # no id is negative
            while (texts := coming.result())[0] != "[]":
                coming = ahead.submit(page, _last(texts[0]), _last(texts[1]))
                yield [json.loads(text) for text in texts]


def _last(numbers: str) -> int:
    """Return the last number of a JSON list."""
    return int(numbers[max(numbers.rfind(","), 0) + 1 : -1])
