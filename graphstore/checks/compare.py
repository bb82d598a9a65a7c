"""Comparison of two databases: by their digests first, then row by row where digests differ.

Only the games are compared, not the date, program and duration of the build. Agents are not part of
a game; they are compared, by name, on request.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from hashlib import blake2b
from typing import Any, Final, NamedTuple, TypeAlias

from sqlalchemy import Connection, Table, select

from graphstore.rules.game import Progress, quiet
from graphstore.store import schema
from graphstore.store.bulk import streamed
from graphstore.store.digests import are_ordered
from graphstore.store.names import read_names
from graphstore.store.reader import Reader
from graphstore.store.store import Address, Store, opened
from graphstore.util import arguments

SHOWN: Final = 20  # differences to list; all are counted
STEP: Final = 10_000  # rows between two reports of progress
OF_THE_BUILD: Final = ("id", "built_at", "built_with", "build_seconds", "digest")
"""The columns of the table `game` that are not compared."""

Row: TypeAlias = tuple[Any, ...]


class Difference(NamedTuple):
    """A cell that differs in the other database, or a row that is in one of them only."""

    table: str
    key: dict[str, Any]  # the cells of the key of the row, by column
    position: str | None  # the text, if the row is a state
    column: str | None  # None if the row is in one database only
    first: Any  # the cell in the first database, or the row by column; None if it has no such row
    second: Any  # the same in the second database

    def __str__(self) -> str:
        key = [
            str(cell) if name in ("id", "name") else f"{name} {cell}"
            for name, cell in self.key.items()
        ]
        where = " ".join(filter(None, (self.table, ", ".join(key), self.position)))
        if self.column is None:
            what = f"only in the {'first' if self.second is None else 'second'}"
        else:
            first, second = (
                "NULL" if cell is None else str(cell) for cell in (self.first, self.second)
            )
            what = f"{self.column} {first}, in the second {second}"
        return " ".join(f"{where}: {what}".splitlines())


class Counts(NamedTuple):
    """The numbers of differences in a table."""

    only_first: int  # rows that are in the first database only
    only_second: int  # rows that are in the second database only
    differ: int  # rows that are in both, with different cells
    cells: dict[str, int]  # the number of different cells, by column


class Comparison(NamedTuple):
    """The result of `compare`.

    `digests` are the columns of `state` and `edge` with different stored digests; if there are
    none, ``game.digest``, if that differs, which is the digest of them all. If the digests of one
    database are of an earlier kind, they are the columns with different cells.
    """

    names: tuple[str, str]  # the name and the version of the rules of each game
    digests: tuple[str, ...]
    read: tuple[str, ...]  # the tables that were compared row by row
    tables: dict[str, Counts]  # the tables that differ
    differences: tuple[Difference, ...]  # the first ones
    more: int  # the number of the others

    @property
    def same(self) -> bool:
        """True if nothing differs."""
        return not self.tables

    @property
    def digests_tell(self) -> bool:
        """True if the stored digests agree with the rows of `state` and `edge` that were read."""
        return all(
            (table in self.tables) == any(name.startswith(f"{table}.") for name in self.digests)
            for table in ("state", "edge")
        ) and ("game.digest" not in self.digests or bool(self.tables))


def compare(
    first: Store | Address,
    second: Store | Address,
    *,
    rows: bool = False,
    agents: bool = False,
    most: int = SHOWN,
    progress: Progress = quiet,
) -> Comparison:
    """Return the differences between two databases, each in SQLite or PostgreSQL.

    The stored digests are trusted: a table is read only with `rows`, or if the digest of one of its
    columns differs, or is of an earlier kind in one database only.

    Args:
        first: the first database, open or as an address.
        second: the second database.
        rows: compare all rows, even where the digests are equal.
        agents: compare the agents too, matched by name.
        most: how many differences to list.
        progress: called with the phase, the number done and the total, if known.

    Raises:
        StoreError: a database cannot be read completely.
    """
    found = _Differences(arguments.count("most", most))
    with (
        opened(first, "first") as first,
        opened(second, "second") as second,
        first.connect() as one,
        second.connect() as other,
    ):
        found.add("game", {}, _game(first), _game(second))
        both = (one, other)
        _compare_names(found, *(read_names(Reader.of(each)) for each in both))
        digests = [_digests(each) for each in both]
        differing = tuple(sorted({name for name, _ in digests[0].items() ^ digests[1].items()}))
        of_one_kind = are_ordered(digests[0]) == are_ordered(digests[1])
        stored = digests[0] | digests[1]
        if not of_one_kind:
            rows = True
        elif not differing and first.info["digest"] != second.info["digest"]:
            differing, rows = ("game.digest",), True
        read = []
        for table, size in ((schema.state, "states"), (schema.edge, "moves")):
            names = {str(column) for column in schema.STORED[table.name]}
            filled = {name for name in names if name.partition(".")[2] not in schema.LATER}
            known = filled <= digests[0].keys() & digests[1].keys()
            if rows or not known or names.intersection(differing):
                read.append(str(table))
                total = max(int(first.info[size]), int(second.info[size]))
                _compare_table(found, table, both, total, progress)
        if agents:
            read += map(str, schema.AGENT_TABLES)
            _compare_agents(found, both, progress)
    return Comparison(
        names=(_name(first), _name(second)),
        digests=differing if of_one_kind else tuple(sorted(found.columns().intersection(stored))),
        read=tuple(read),
        tables=found.counts(),
        differences=tuple(found.listed),
        more=found.total - len(found.listed),
    )


def _name(store: Store) -> str:
    name = f"{store.info['name']} {store.info['rules']}"
    return name if store.info["extent"] == schema.WHOLE else f"{name} ({store.info['extent']})"


def _game(store: Store) -> dict[str, Any]:
    return {name: cell for name, cell in store.info.items() if name not in OF_THE_BUILD}


def _digests(connection: Connection) -> dict[str, str]:
    """Return the stored digests of the columns of `state` and `edge`, by name."""
    rows = connection.execute(select(schema.digest.c.name, schema.digest.c.blake2b))
    return {name: digest for name, digest in rows if name.startswith(("state.", "edge."))}


def _compare_names(
    found: "_Differences", first: Mapping[int, str], second: Mapping[int, str]
) -> None:
    """Compare the names of moves, if both databases have some: older files have none."""
    for move in sorted(first.keys() | second.keys()) if first and second else ():
        rows = ({"move": move, "name": of[move]} if move in of else None for of in (first, second))
        found.add("move", {"move": move}, *rows)


class _Differences:
    """The differences found so far: a list of the first, and the numbers of all."""

    def __init__(self, most: int) -> None:
        self.rows: dict[str, Counter[str]] = defaultdict(Counter)  # by table, fields of `Counts`
        self.cells: dict[str, Counter[str]] = defaultdict(Counter)  # by table and column
        self.listed: list[Difference] = []
        self.total = 0
        self._most = most

    def add(
        self,
        table: str,
        key: dict[str, Any],
        first: Mapping[str, Any] | None,
        second: Mapping[str, Any] | None,
    ) -> None:
        """Compare two rows with the same key; None if a database does not have the row."""
        kind = "only_second" if first is None else "only_first"
        differing: list[tuple[str | None, Any, Any]] = [(None, first, second)]
        if first is not None and second is not None:
            kind, names = "differ", [name for name in first if first[name] != second[name]]
            differing = [(name, first[name], second[name]) for name in names]
            if not differing:
                return
            self.cells[table].update(names)
        self.rows[table][kind] += 1
        self.total += len(differing)
        position = (first or second or {}).get("position")
        for each in differing[: max(0, self._most - len(self.listed))]:
            self.listed.append(Difference(table, key, position, *each))

    def counts(self) -> dict[str, Counts]:
        """Return the numbers by table; those of cells are in the order of the columns."""
        found = {}
        for table, rows in self.rows.items():
            cells, columns = self.cells[table], schema.metadata.tables[table].c.keys()
            in_order = {name: cells[name] for name in columns if cells[name]}
            found[table] = Counts(rows["only_first"], rows["only_second"], rows["differ"], in_order)
        return found

    def columns(self) -> set[str]:
        """Return the columns that have different cells, as ``state.value``.

        If a row is in one database only, these are all columns of its table.
        """
        return {
            str(column)
            for table, rows in self.rows.items()
            for column in schema.metadata.tables[table].columns
            if self.cells[table][column.name] or rows["only_first"] or rows["only_second"]
        }


def _compare_table(
    found: _Differences,
    table: Table,
    connections: Sequence[Connection],
    total: int | None,
    progress: Progress,
    agent: tuple[str, Sequence[int]] | None = None,
) -> None:
    """Compare all rows of a table, or those of `agent`, a pair (name, ids in both databases)."""
    columns = [each for each in table.c if each.computed is None and each.name != "agent"]
    names = [column.name for column in columns]
    key = [column for column in columns if column.primary_key]
    query = select(*columns).order_by(*key)
    named = {} if agent is None else {"agent": agent[0]}
    with ExitStack() as held:
        streams = []
        for side, connection in enumerate(connections):
            part = query if agent is None else query.where(table.c.agent == agent[1][side])
            streams.append(held.enter_context(streamed(connection, part)))
        progress(f"compare {table}", 0, total)
        for done, pair in enumerate(in_step(streams[0], streams[1], len(key)), 1):
            if pair[0] != pair[1]:
                one, other = (row and dict(zip(names, row, strict=True)) for row in pair)
                of_key = dict(zip(names[: len(key)], pair[0] or pair[1] or (), strict=False))
                found.add(str(table), named | of_key, one or None, other or None)
            if done % STEP == 0:
                progress(f"compare {table}", min(done, total or done), total)


def in_step(
    first: Iterable[Row], second: Iterable[Row], width: int
) -> Iterator[tuple[Row | None, Row | None]]:
    """Yield pairs of rows with the same key from two streams; None if a stream lacks the row.

    The key is the first `width` cells of a row; each stream ascends by it.

    >>> list(in_step([(1, "a"), (2, "b")], [(2, "c")], 1))
    [((1, 'a'), None), ((2, 'b'), (2, 'c'))]
    """
    ours, theirs = iter(first), iter(second)
    one, other = next(ours, None), next(theirs, None)
    while one is not None or other is not None:
        if other is None or (one is not None and one[:width] < other[:width]):
            yield one, None
            one = next(ours, None)
        elif one is None or other[:width] < one[:width]:
            yield None, other
            other = next(theirs, None)
        else:
            yield one, other
            one, other = next(ours, None), next(theirs, None)


def _compare_agents(
    found: _Differences, connections: Sequence[Connection], progress: Progress
) -> None:
    """Compare the agents of two databases by name, because ids differ between databases."""
    ours, theirs = (_agents(each) for each in connections)
    for name in sorted(ours.keys() | theirs.keys()):
        agents = [each[name] for each in (ours, theirs) if name in each]
        ids = [each.pop("id") for each in agents]
        found.add("agent", {"name": name}, ours.get(name), theirs.get(name))
        for table in schema.AGENT_TABLES[1:] if len(ids) == 2 else ():
            _compare_table(found, table, connections, None, progress, (name, ids))


def _agents(connection: Connection) -> dict[str, dict[str, Any]]:
    """Return the rows of agents by name, with a digest in place of the state of the generator."""
    agents = {}
    for row in connection.execute(select(schema.agent)).mappings():
        generator = blake2b(row["random"].encode(), digest_size=8).hexdigest()
        agents[row["name"]] = {**row, "random": generator}
    return agents
