"""Streaming of many rows from a SQLite file."""

import csv
import io
import json
import sqlite3
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress

from graphstore.util.ahead import ahead

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
        with closing(ahead(self._pages(rows))) as pages:
            for texts in pages:
                yield [json.loads(text) for text in texts]

    def edge_lines(self, rows: int) -> Generator[tuple[int, str], None, None]:
        with closing(ahead(self._pages(rows))) as pages:
            for texts in pages:
                if all(text.encode().translate(None, b"-0123456789,") == b"[]" for text in texts):
                    cells = [text[1:-1].split(",") for text in texts]
                    lines = "\n".join(map(",".join, zip(*cells, strict=True)))
                    yield len(cells[0]), f"{lines}\n"
                else:  # cells of a damaged file
                    cells, file = [json.loads(text) for text in texts], io.StringIO()
                    csv.writer(file, lineterminator="\n").writerows(zip(*cells, strict=True))
                    yield len(cells[0]), file.getvalue()

    def _pages(self, rows: int) -> Generator[Sequence[str], None, None]:
        """Yield the columns of `rows` edges at a time as JSON texts, all edges in key order."""
        after = -1, 0  # no id is negative
        with self.cursor() as cursor:
            while (texts := cursor.execute(_PAGE, (*after, rows)).fetchone())[0] != "[]":
                yield texts
                after = _last(texts[0]), _last(texts[1])


def _last(numbers: str) -> int:
    """Return the last number of a JSON list."""
    return int(numbers[max(numbers.rfind(","), 0) + 1 : -1])
