"""Derive a database anew: every edge from the rules, every value from its children.

One wrong cell anywhere is found and named. Values, depths, plies and counts are derived in SQL;
edges, texts and orbits from the rules; and every column has a digest from when it was built. Where
the file holds a strategy, `graphstore.proofcheck` takes the place of the rules for edges.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from itertools import islice
from sqlite3 import Row
from typing import Any, NamedTuple

import numpy as np

from graphstore import agents, digests, proofcheck, schema
from graphstore.arena import Arena
from graphstore.arrays import distinct, ragged
from graphstore.errors import GraphstoreError, NotAStoreError, PositionError, RulesMissingError
from graphstore.game import IN_PLAY, Game, Ints, PlainGame, Progress, quiet
from graphstore.games import find_builtin
from graphstore.graph import GameGraph
from graphstore.menace import checkpoints
from graphstore.opponents import agent_name
from graphstore.solution import random_play
from graphstore.store import Store, explained
from graphstore.tables import CHUNK

SHOWN = 20  # problems of a kind that are listed; all are counted
NO_POSITION = -1
_CHECK = "CHECK constraint failed"  # in what integrity_check finds: cells, not the structure


class Problem(NamedTuple):
    """Something that is not as it must be.

    Attributes:
        table: where.
        row: the key there, as text.
        column: the column, or what was checked.
        found: what the database has.
        expected: what it must have.
    """

    table: str
    row: str
    column: str
    found: Any
    expected: Any

    def __str__(self) -> str:
        line = f"{self.table} {self.row}: {self.column} is {self.found}, not {self.expected}"
        return " ".join(line.splitlines())


class Verdict(NamedTuple):
    """What `verify` found.

    Attributes:
        problems: the first ones of every kind, at most 20 a kind.
        more: how many more there are.
        checked: what was derived anew.
        skipped: what could not be, and why.
    """

    problems: tuple[Problem, ...]
    more: int
    checked: tuple[str, ...]
    skipped: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


_DERIVED = """
WITH reply AS (
    SELECT edge.parent AS id,
        count(DISTINCT child.id) AS children,
        count(DISTINCT CASE WHEN child.value = 1 THEN child.id END) AS losing,
        max(-child.value) AS value,
        1 + min(CASE WHEN child.value = -1 THEN child.remoteness END) AS to_win,
        1 + max(CASE WHEN child.value = 1 THEN child.remoteness END) AS to_loss,
        1 + min(CASE WHEN child.value = 0 THEN child.remoteness END) AS to_tie
    FROM edge JOIN state AS child ON child.id = edge.child GROUP BY edge.parent
), derived AS (
    SELECT state.*, reply.id IS NOT NULL AS open,
        CASE WHEN reply.id IS NULL THEN state.value ELSE reply.value END AS value_,
        CASE WHEN reply.id IS NULL THEN 0 WHEN state.value = 0 THEN to_tie
            ELSE coalesce(CASE state.value WHEN 1 THEN to_win ELSE to_loss END, 'a number')
            END AS remoteness_,
        CASE WHEN state.value <> 0 THEN -state.value WHEN reply.id IS NULL THEN 0
            ELSE 1.0 * losing / children END AS score_,
        CASE WHEN state.value = -1 THEN state.remoteness / 2 END AS win_depth_,
        CASE WHEN state.value = 1 THEN (state.remoteness + 1) / 2 END AS lose_depth_
    FROM state LEFT JOIN reply ON reply.id = state.id
)
SELECT id, position, ended, 1 - open AS ended_, value, value_, remoteness, remoteness_, score,
    score_, win_depth, win_depth_, lose_depth, lose_depth_
FROM derived WHERE ended <> 1 - open OR value <> value_ OR remoteness IS NOT remoteness_
    OR score <> score_ OR win_depth IS NOT win_depth_ OR lose_depth IS NOT lose_depth_
"""
_PLY = """
SELECT id, position, ply, ply_ FROM state JOIN (
    SELECT state.id AS id, 1 + min(parent.ply) AS ply_ FROM state
    LEFT JOIN edge ON edge.child = state.id LEFT JOIN state AS parent ON parent.id = edge.parent
    GROUP BY state.id
) USING (id) WHERE ply <> 0 AND ply IS NOT ply_
"""
_CLOSURE = """
SELECT parent, move, child, EXISTS (SELECT 1 FROM state WHERE id = parent) AS has_parent
FROM edge WHERE NOT EXISTS (SELECT 1 FROM state WHERE id = parent)
    OR NOT EXISTS (SELECT 1 FROM state WHERE id = child)
"""
_PLAYED = """
SELECT count(*) AS games, coalesce(min(number), 0) AS least, coalesce(max(number), 0) AS most
FROM played WHERE agent = {id}
"""
_CHECKPOINTS = "SELECT games, kept, boxes FROM checkpoint WHERE agent = {id} ORDER BY games"
_ORPHANS = "SELECT DISTINCT agent FROM {table} WHERE agent NOT IN (SELECT id FROM agent)"
_COUNTS = """
SELECT (SELECT count(*) FROM state WHERE ply = 0) AS starts,
    (SELECT count(*) FROM state) AS states,
    (SELECT sum(orbit) FROM state) AS positions,
    (SELECT count(*) FROM edge) AS moves,
    (SELECT sum(children) FROM (SELECT count(DISTINCT child) AS children FROM edge GROUP BY parent))
        AS edges,
    (SELECT max(ply) FROM state) AS plies,
    (SELECT position FROM state WHERE ply = 0 ORDER BY id LIMIT 1) AS start,
    (SELECT value FROM state WHERE ply = 0 ORDER BY id LIMIT 1) AS value,
    (SELECT remoteness FROM state WHERE ply = 0 ORDER BY id LIMIT 1) AS remoteness
"""


def verify(store: Store, *, progress: Progress = quiet) -> Verdict:
    """Derive everything in a database anew and return what is wrong.

    Raises:
        StoreError: the file cannot be read to its end.
    """
    problems: list[Problem] = []
    more = 0
    checked, skipped = [], []

    def note(what: str, found: Iterator[Problem]) -> None:
        nonlocal more
        progress(f"verify {what}", 0, None)
        checked.append(what)
        listed = list(islice(found, SHOWN))
        problems.extend(listed)
        more += sum(1 for _ in found)

    with explained(store.path):
        note("the file's structure", _integrity(store))
        if not all(str(problem.found).startswith(_CHECK) for problem in problems):
            skipped.append("all else, since the file's structure is damaged")
            return Verdict(tuple(problems), more, tuple(checked), tuple(skipped))
        game: Game | None = None
        try:
            game = store.game
            game.read(store.info["start"])
        except RulesMissingError as error:
            skipped.append(f"what the rules say: there are none ({error})")
        except PositionError as error:
            if _writes_only(game):  # else the file is to blame, as will be found
                skipped.append(f"what the rules say: give them a parse(text) ({error})")
                game = None
        note("tables, index and views", _schema(store))
        note("digests", _digests(store))
        if game is not None:
            note("ids", _ids(store, game))
        note("closure", _closure(store))
        note("values and depths", _derived(store))
        note("plies", _plies(store))
        note("counts", _counts(store))
        try:
            graph = store.graph()
        except NotAStoreError as error:
            if not problems:
                problems.append(Problem("file", store.path.name, "content", error, "a graph"))
            skipped.append("random play and edges: what is wrong above is no graph")
        else:
            note("values of random play", _random(store, graph))
            note("agents", _agents(store, graph))
            strategy = store.info["extent"] == schema.STRATEGY
            if game is not None and strategy:
                note("states from the rules", _states_by_rules(game, graph))
            elif game is not None:
                note("states and edges from the rules", _by_rules(store, game, graph))
            if strategy:
                note("the proof", _proof(store))
    return Verdict(tuple(problems), more, tuple(checked), tuple(skipped))


def _writes_only(game: Game | None) -> bool:
    """Return whether a user's rules write positions in a way of their own, but read none."""
    kind = type(game)
    return (
        issubclass(kind, PlainGame)
        and kind.text is not PlainGame.text
        and kind.parse is PlainGame.parse
    )


def _rows(store: Store, query: str) -> Iterator[dict[str, Any]]:
    with closing(store.driver()) as connection:
        connection.row_factory = Row
        for row in connection.execute(query):
            yield dict(row)


def _integrity(store: Store) -> Iterator[Problem]:
    for row in _rows(store, "PRAGMA integrity_check"):
        for line in row["integrity_check"].split("\n"):
            if line != "ok" and not line.startswith("***"):
                yield Problem("file", store.path.name, "integrity_check", line, "ok")


def _schema(store: Store) -> Iterator[Problem]:
    with store.connect() as connection:
        made = schema.objects(connection)
    stored, found = _stored_digests(store), digests.of_row("schema", made)
    for name in schema.OBJECTS:
        digest = f"schema.{name}"
        if digest not in stored:
            yield Problem("digest", digest, "blake2b", None, found.get(digest))
        elif stored[digest] != found.get(digest):
            sql = " ".join(made.get(name, "missing").split())
            yield Problem("schema", name, "sql", sql, "as it was built")


def _closure(store: Store) -> Iterator[Problem]:
    for row in _rows(store, _CLOSURE):
        column = "child" if row["has_parent"] else "parent"
        where = f"(parent {row['parent']}, move {row['move']})"
        yield Problem("edge", where, column, row[column], "the id of a state")


def _derived(store: Store) -> Iterator[Problem]:
    for row in _rows(store, _DERIVED):
        yield from _differences("state", f"{row['id']} ({row['position']})", row)


def _plies(store: Store) -> Iterator[Problem]:
    for row in _rows(store, _PLY):
        yield from _differences("state", f"{row['id']} ({row['position']})", row)


def _differences(table: str, where: str, row: dict[str, Any]) -> Iterator[Problem]:
    """Yield the columns that differ from the one of the same name with an underscore."""
    for column, found in row.items():
        if column + "_" in row and found != row[column + "_"]:
            yield Problem(table, where, column, found, row[column + "_"])


def _counts(store: Store) -> Iterator[Problem]:
    counts = next(_rows(store, _COUNTS))
    row = {name: store.info[name] for name in counts}
    yield from _differences("game", "1", row | {f"{name}_": n for name, n in counts.items()})
    if store.info["extent"] not in schema.EXTENTS:
        expected = f"one of {', '.join(schema.EXTENTS)}"
        yield Problem("game", "1", "extent", store.info["extent"], expected)


def _random(store: Store, graph: GameGraph) -> Iterator[Problem]:
    assert graph.solution is not None
    derived = random_play(graph)
    cyclic = int(np.isnan(derived[0]).any())
    if store.info["cyclic"] != cyclic:
        yield Problem("game", "1", "cyclic", store.info["cyclic"], cyclic)
    for name, expected in zip(("random_value", "best_response"), derived, strict=True):
        found = getattr(graph.solution, name)
        wrong = ~((found == expected) | (np.isnan(found) & np.isnan(expected)))
        for row in np.flatnonzero(wrong):
            yield _at(graph, int(row), name, found[row], expected[row])


def _agents(store: Store, graph: GameGraph) -> Iterator[Problem]:
    """Yield what is wrong with the agents: boxes, games and checkpoints that cannot be."""
    for table in schema.AGENT_TABLES[1:]:
        for row in _rows(store, _ORPHANS.format(table=table)):
            yield Problem(str(table), str(row["agent"]), "agent", "no agent", "the id of one")
    names = agents.names(store)
    arena = Arena.of(graph) if names else None
    for name in names:
        assert arena is not None
        try:
            known = agents.load(store, agent_name(name))
            boxes = agents.boxes(store, arena, known)
            known.generator()
        except GraphstoreError as error:
            yield Problem("agent", name, "what is stored", f"wrong ({error})", "an agent")
            continue
        rows = {"id": known.id}
        (count,) = _rows(store, _PLAYED.format(**rows))
        if tuple(count.values()) != (known.games, min(known.games, 1), known.games):
            found = f"{count['games']} games, numbered {count['least']} to {count['most']}"
            yield Problem("played", name, "number", found, f"1 to {known.games}")
        points = list(_rows(store, _CHECKPOINTS.format(**rows)))
        due = checkpoints(known.games)
        wrong = sorted({*due} ^ {point["games"] for point in points})
        if wrong:
            yield Problem("checkpoint", name, "games", f"wrong at {wrong[0]}", "as they were due")
        last = points[-1] if points else {}
        # Of a file that has grown since, the boxes are more.
        same = last.get("games") == known.games and last.get("boxes") == len(boxes.rows)
        if same and last["kept"] != boxes.kept:
            yield Problem("checkpoint", name, "kept", last["kept"], boxes.kept)


def _stored_digests(store: Store) -> dict[str, str]:
    return {row["name"]: row["blake2b"] for row in _rows(store, "SELECT * FROM digest")}


def _digests(store: Store) -> Iterator[Problem]:
    stored = {k: v for k, v in _stored_digests(store).items() if not k.startswith("schema.")}
    hashes = digests.ColumnDigests()
    for table in (schema.state, schema.edge):
        columns = [column for column in table.columns if column.computed is None]
        keys = ", ".join(column.name for column in table.primary_key)
        query = (
            f"SELECT {', '.join(column.name for column in columns)} FROM {table} ORDER BY {keys}"
        )
        with closing(store.driver()) as connection:
            cursor = connection.execute(query)
            while rows := cursor.fetchmany(CHUNK):
                for column, cells in zip(columns, zip(*rows, strict=True), strict=True):
                    hashes.update(str(column), _cells(column.type.python_type, cells))
    of_columns = hashes.of_columns()
    content = digests.of_content(of_columns)
    if store.info["digest"] != content:
        yield Problem("game", "1", "digest", store.info["digest"], content)
    expected = of_columns | digests.of_row("game", store.info)
    for name in sorted(expected.keys() | stored.keys()):
        if stored.get(name) != expected.get(name):
            yield Problem("digest", name, "blake2b", stored.get(name), expected.get(name))


def _cells(kind: type, cells: Sequence[Any]) -> Any:
    """Return the cells of a column as its digest takes them."""
    if kind is str:
        return list(cells)
    if kind is float:
        return np.array(cells, dtype=np.float64)  # None becomes NaN
    return np.array([digests.NULL if cell is None else cell for cell in cells], dtype=np.int64)


def _proof(store: Store) -> Iterator[Problem]:
    """Yield where a strategy does not prove what it claims."""
    if store.info["name"] != proofcheck.GAME:
        expected = f"{proofcheck.GAME}: there are no proofs for other games"
        yield Problem("game", "1", "name", store.info["name"], expected)
        return
    columns = ", ".join(proofcheck.Row._fields)
    rows = _rows(store, f"SELECT {columns} FROM state ORDER BY id")
    edges = _rows(store, "SELECT parent, move, child FROM edge ORDER BY parent, move")
    for finding in proofcheck.check(
        (proofcheck.Row(**row) for row in rows), (proofcheck.Edge(**edge) for edge in edges)
    ):
        yield Problem(*finding)


def _states_by_rules(game: Game, graph: GameGraph) -> Iterator[Problem]:
    """Yield what the rules say otherwise of the states of a strategy."""
    texts = graph.texts(graph.states.id)
    rows = np.flatnonzero(_read(game, texts) == graph.states.id)
    yield from _columns(game, graph, rows)


def _by_rules(store: Store, game: Game, graph: GameGraph) -> Iterator[Problem]:
    if find_builtin(game.name) is not None and store.info["rules"] != game.rules:
        yield Problem("game", "1", "rules", store.info["rules"], game.rules)
    texts = graph.texts(graph.states.id)
    is_start = graph.states.ply == 0
    starts = distinct(game.canonical(game.start_states()))
    if store.info["extent"] == schema.BELOW:
        starts = graph.states.id[is_start]
    should_be = np.isin(graph.states.id, starts)
    for row in np.flatnonzero(is_start != should_be):
        yield _at(
            graph, int(row), "ply", graph.states.ply[row], "0" if should_be[row] else "over 0"
        )
    missing = starts[~np.isin(starts, graph.states.id)]
    for start, text in zip(missing.tolist(), game.texts(missing), strict=True):
        yield Problem("state", f"{start} ({text})", "row", "missing", "a start")
    for begin in range(0, len(texts), CHUNK):
        rows = np.arange(begin, min(begin + CHUNK, len(texts)))
        packed = _read(game, texts[begin : begin + CHUNK])
        rows = rows[packed == graph.states.id[rows]]
        yield from _columns(game, graph, rows)
        yield from _edges(game, graph, rows[graph.states.outcome[rows] == IN_PLAY])


def _ids(store: Store, game: Game) -> Iterator[Problem]:
    """Yield the states whose text is not a position, or not that of the id."""
    rows = _rows(store, "SELECT id, position FROM state ORDER BY id")
    while some := list(islice(rows, CHUNK)):
        texts = [row["position"] for row in some]
        for row, packed in zip(some, _read(game, texts).tolist(), strict=True):
            if packed == NO_POSITION:
                yield Problem("state", str(row["id"]), "position", row["position"], "a position")
            elif packed != row["id"]:
                where = f"{row['id']} ({row['position']})"
                yield Problem("state", where, "id or position", row["id"], packed)


def _read(game: Game, texts: list[str]) -> Ints:
    """Return the packed positions, `NO_POSITION` where a text is none."""
    try:
        return game.read_many(texts)
    except PositionError:
        packed = np.full(len(texts), NO_POSITION, dtype=np.int64)
        for place, text in enumerate(texts):
            with suppress(PositionError):
                packed[place] = game.read(text)
        return packed


def _columns(game: Game, graph: GameGraph, rows: Ints) -> Iterator[Problem]:
    """Yield what the rules say otherwise of states."""
    states = graph.states
    ids = states.id[rows]
    for name, found, expected in (
        ("id", ids, game.canonical(ids)),
        ("position", np.array(graph.texts(ids)), np.array(game.texts(ids))),
        ("to_move", states.to_move[rows], game.turns(ids)),
        ("orbit", states.orbit[rows], game.orbits(ids)),
        ("ended or value", states.outcome[rows], game.outcomes(ids)),
    ):
        for place in np.flatnonzero(found != expected):
            yield _at(graph, int(rows[place]), name, found[place], expected[place])


def _edges(game: Game, graph: GameGraph, rows: Ints) -> Iterator[Problem]:
    """Yield the moves of states in play that are missing, too many, or lead elsewhere."""
    ids, edges = graph.states.id, graph.edges_by_move
    at = ragged(edges.offset, rows)
    found = (np.repeat(ids[rows], edges.counts[rows]), edges.move[at], ids[edges.child[at]])
    parent, move, child = game.expand(ids[rows])
    expected = (ids[rows][parent], move, game.canonical(child))
    if all(np.array_equal(found[i], expected[i]) for i in range(3)):
        return
    has, must = (
        {(p, m): c for p, m, c in zip(*(column.tolist() for column in columns), strict=True)}
        for columns in (found, expected)
    )
    for key in sorted(has.keys() | must.keys()):
        if has.get(key) != must.get(key):
            where = f"(parent {key[0]}, move {key[1]})"
            child_ids = (
                has.get(key, "missing"),
                must.get(key, "an edge: the rules have no such move"),
            )
            yield Problem("edge", where, "child", *child_ids)


def _at(graph: GameGraph, row: int, column: str, found: Any, expected: Any) -> Problem:
    """Return a problem of one state."""
    where = f"{graph.states.id[row]} ({graph.nodes[int(graph.states.id[row])]['position']})"
    return Problem("state", where, column, _plain(found), _plain(expected))


def _plain(cell: Any) -> Any:
    return cell.item() if isinstance(cell, np.generic) else cell
