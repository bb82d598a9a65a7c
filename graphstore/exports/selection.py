"""A part of a solved game, and its rows in the order of their keys."""

import csv
import io
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import reduce
from itertools import chain, islice
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np
from sqlalchemy import select

from graphstore.errors import QueryError, SelectionError, shown
from graphstore.rules.game import Ints, MoveNames, Progress, quiet
from graphstore.store import probe, schema
from graphstore.store.backend import RowReader
from graphstore.store.store import Address, Store, opened
from graphstore.store.tokens import closes_too_much
from graphstore.util import arguments

CHUNK = 5_000  # rows held as Python objects at once; more do not fit the processor's caches

TABLES: Final = {
    **{str(table): select(table) for table in (schema.state, schema.edge, schema.move)},
    **schema.VIEWS,
}
"""The tables of the graph, the names of moves, and all views, by name."""

_ORDER = {
    "state": "id",
    "edge": "parent, move",
    "move": "move",
    "best_move": "state, move",
    schema.BY_MARGIN: "state, move",
    "q_table": "state, move",
    "census": "ply",
    "matchbox": "agent, state, move",
}
_SELECTED = {
    "state": "WHERE id {among}",
    "edge": "WHERE parent {among} AND child {among}",
    "move": "WHERE move IN (SELECT move FROM edge WHERE parent {among} AND child {among})",
}
_BASE = {
    "best_move": ("edge", "parent"),
    schema.BY_MARGIN: ("edge", "parent"),
    "q_table": ("edge", "parent"),
    "census": ("state", "id"),
    "matchbox": ("bead", "state"),
}
"""The table from which a view is computed, and the column by which a part restricts it."""

_MOVES = """
SELECT state, move, child, optimal, score, win_depth, lose_depth, remoteness, {kept}
FROM ({moves}) AS moved {some} ORDER BY state, move
"""
_ENDLESS = 2**62  # plies, within the limit of islice()
Row: TypeAlias = tuple[Any, ...]
Page = TypeVar("Page")


class Part:
    """The selected rows of a database: all of them, or those of selected states.

    In `edge`, these are the moves between selected states; `move` has their names. In views, these
    are all moves of selected states.
    `census` counts the selected states.
    """

    def __init__(self, store: Store, reader: RowReader, chosen: Ints | None) -> None:
        self.name = str(store.info["name"])
        self._store = store
        self._whole = chosen is None
        self.states = int(store.info["states"]) if chosen is None else len(chosen)
        self._backend = store.backend
        self._reader = reader
        self._whole_moves = int(store.info["moves"])
        self._among = f"IN (SELECT id FROM {reader.chosen})"

    @property
    def names(self) -> MoveNames:
        """The names of moves that the database holds."""
        return self._store.names

    def rows(self, table: str, *, progress: Progress = quiet) -> Iterator[Sequence[Row]]:
        """Yield the rows of a table or view in chunks, in the order of their keys."""
        if table == "edge" and self._whole:
            pages = self._pages(self._reader.edges, progress)
            return (list(zip(*page, strict=True)) for page in pages)
        return self._read(self._statement(table), table, progress)

    def columns(self, table: str, *, progress: Progress = quiet) -> Iterator[list[Sequence[Any]]]:
        """Yield the columns of a table or view in chunks of rows, in the order of their keys."""
        if table == "edge" and self._whole:
            yield from self._pages(self._reader.edges, progress)
            return
        width = len(schema.COLUMNS[table])
        for rows in self.rows(table, progress=progress):
            cells = list(chain.from_iterable(rows))  # faster than zip
            yield [cells[place::width] for place in range(width)]

    def lines(self, table: str, *, progress: Progress = quiet) -> Iterator[tuple[int, str]]:
        """Yield the rows of a table or view as CSV in chunks, with their number, in key order."""
        if table == "edge" and self._whole:
            yield from self._pages(self._reader.edge_lines, progress)
            return
        for rows in self.rows(table, progress=progress):
            text = io.StringIO()
            csv.writer(text, lineterminator="\n").writerows(rows)
            yield len(rows), text.getvalue()

    def moves(self, *, progress: Progress = quiet) -> Iterator[Sequence[Row]]:
        """Yield the moves of all selected states in chunks, by state, then by move.

        A row has parent, move, child; the child's value, score, win_depth and lose_depth for the
        player who moves, and its remoteness; and True if the child is also selected.
        """
        statement = _MOVES.format(
            kept="1" if self._whole else f"child {self._among}",
            some="" if self._whole else f"WHERE state {self._among}",
            moves=schema.written(schema.moves(), self._reader.dialect),
        )
        return self._read(statement, "edge", progress)

    def _statement(self, table: str) -> str:
        source, where = table, ""
        if table in _BASE:  # computed here, not read from the view of the file
            base, key = _BASE[table]
            view = schema.written(TABLES[table], self._reader.dialect)
            some = f"SELECT * FROM {self._reader.main}.{base} WHERE {key} {self._among}"
            only = "" if self._whole else f"WITH {base} AS ({some})"  # avoids computing all rows
            source = f"({only} {view}) AS part"
        elif not self._whole:
            where = _SELECTED[table].format(among=self._among)
        names = ", ".join(schema.COLUMNS[table])
        return f"SELECT {names} FROM {source} {where} ORDER BY {_ORDER[table]}"

    def _read(self, statement: str, table: str, progress: Progress) -> Iterator[list[Row]]:
        done, total = 0, None  # the rows of a view are not counted
        if table == "state":
            total = self.states
        elif self._whole and table in ("edge", "q_table"):
            total = self._whole_moves
        progress(f"export {table}", done, total)
        with self._backend.explained(), self._reader.cursor() as cursor:
            cursor.execute(statement)
            while rows := cursor.fetchmany(CHUNK):
                done += len(rows)
                yield rows
                progress(f"export {table}", done, total)

    def _pages(
        self, read: Callable[[int], Generator[Page, None, None]], progress: Progress
    ) -> Iterator[Page]:
        """Yield all edges in chunks of rows, as `read`, a method of the reader, yields them."""
        done = 0
        progress("export edge", done, self._whole_moves)
        with self._backend.explained(), closing(read(CHUNK)) as pages:
            for page in pages:
                yield page
                done = min(done + CHUNK, self._whole_moves)
                progress("export edge", done, self._whole_moves)


@contextmanager
def selected(
    store: Store | Address,
    *,
    below: str | int | None = None,
    plies: int | None = None,
    where: str | None = None,
    progress: Progress = quiet,
) -> Iterator[Part]:
    """Yield the part of a database that meets all conditions; options as for `exporting.export`.

    Raises:
        PositionError, NotInStoreError: `below` is not a position of the database.
        QueryError: `where` is not a condition or does more than read.
        SelectionError: no state is selected, or `plies` is given without `below`.
    """
    plies = arguments.limit("plies", plies)
    if plies is not None and below is None:
        raise SelectionError("plies needs below, the position from which plies are counted")
    parts = []
    with ExitStack() as held:
        store = held.enter_context(opened(store))
        if below is not None:
            below = arguments.position("below", below)
            parts.append(_reached(store, below, plies, progress))
        if where is not None:
            parts.append(_fulfilling(store, where, progress))
        chosen = reduce(np.intersect1d, parts) if parts else None
        if chosen is not None and not chosen.size:
            place, condition = (
                "" if below is None else f" below {shown(str(below))}",
                shown(str(where)),
            )
            raise SelectionError(
                f"no state of {store.address}{place} fulfils {condition}; change the condition"
            )
        reader = held.enter_context(store.backend.reading(store.info["digest"], chosen))
        yield Part(store, reader, chosen)


def _reached(store: Store, below: str | int, plies: int | None, progress: Progress) -> Ints:
    start = store.probe(below).state
    ids: list[list[int]] = []
    with store.reader() as reader:
        waves = probe.below(reader, start)
        for wave in waves if plies is None else islice(waves, min(plies, _ENDLESS) + 1):
            ids.append(wave)
            progress("select below", sum(map(len, ids)), None)
    return np.sort(np.fromiter(chain.from_iterable(ids), np.int64))


def _fulfilling(store: Store, where: str, progress: Progress) -> Ints:
    """Return the ids of the states that fulfil a condition, ascending."""
    progress("select where", 0, None)
    if not where.strip():
        raise QueryError("where: the condition is empty; leave it out for all states")
    if closes_too_much(where, store.backend.dialect):
        raise QueryError(f"where {shown(where)}: a closing ) has no opening (; remove it")
    try:
        answer = store.sql(f"SELECT id FROM state WHERE (\n{where}\n) ORDER BY id")
        return np.fromiter((state for (state,) in answer), np.int64)
    except QueryError as error:
        raise QueryError(f"where {shown(where)}: {error}") from error
