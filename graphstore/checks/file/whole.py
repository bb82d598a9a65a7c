"""Derive a database anew: every edge from the rules, every value from its children.

One wrong cell anywhere is found and named. Each table is read once, as whole columns: on the way
digests are made anew and texts, orbits and edges compared with the rules; then
the room `consistency` derives all else. Where the file holds a strategy, `graphstore.checks.proof`
takes the place of the rules for edges.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
from sqlalchemy import Connection, select

from graphstore.checks import proof
from graphstore.checks.file import consistency, reading, structure
from graphstore.checks.file import findings as of
from graphstore.checks.file import rules as by_rules
from graphstore.checks.file.agents import check, orphans
from graphstore.checks.file.consistency import Links, States
from graphstore.checks.file.findings import Problem as Problem
from graphstore.checks.file.findings import Report, Wrong
from graphstore.checks.file.findings import Verdict as Verdict
from graphstore.checks.file.sampling import CONFIDENCE, rules_for, sampled
from graphstore.errors import NotAStoreError
from graphstore.games import find_builtin
from graphstore.play import agents
from graphstore.rules.game import IN_PLAY, Game, Progress, quiet
from graphstore.store import schema
from graphstore.store.digests import NULL, ColumnDigests
from graphstore.store.store import Store
from graphstore.util import arguments
from graphstore.util.arrays import member


def verify(
    store: Store,
    *,
    sample: int | None = None,
    confidence: float = CONFIDENCE,
    seed: int | None = None,
    progress: Progress = quiet,
) -> Verdict:
    """Derive everything in a database anew and return what is wrong.

    Args:
        store: the database.
        sample: how many states to draw at random and check; by default all are checked.
        confidence: how sure to be of what a sample tells of all states.
        seed: of the drawing; by default another each time, told in the verdict.
        progress: called with what is being done.

    Raises:
        StoreError: the file cannot be read to its end.
        ArgumentError: a sample of less than one state, or a confidence that is not between 0 and 1.
    """
    sample = arguments.limit("sample", sample, least=1)
    confidence = arguments.share("confidence", confidence)
    seed = arguments.seed(seed)
    if sample is not None:
        return sampled(store, sample, confidence, seed, progress)
    with store.connect() as connection:
        report = Report(lambda ids: reading.texts(connection, ids))
        progress(f"verify {of.STRUCTURE}", 0, None)
        report.note(of.STRUCTURE, structure.structure(store))
        if not structure.is_readable(report.problems):
            report.skipped.append("all else, since the file's structure is damaged")
            return report.verdict()
        game = rules_for(store, report)
        stored = structure.stored_digests(connection)
        report.note(of.OBJECTS, structure.objects(connection, stored))
        whole = _Whole(store, connection, game, report, progress)
        try:
            whole.read_states()
            whole.read_edges()
        except NotAStoreError as error:
            report.note(of.DIGESTS, [Problem("file", store.address, "content", error, "a graph")])
            report.skipped.append("all else, since what is there cannot be read")
            return report.verdict()
        found = structure.digests_differ(store, stored, whole.hashes.of_columns())
        report.note(of.DIGESTS, found)
        whole.derive()
        _check_agents(store, report, progress)
        if store.info["extent"] == schema.STRATEGY:
            progress(f"verify {of.PROOF}", 0, None)
            report.note(of.PROOF, _proof(store, connection))
        return report.verdict()


class _Whole:
    """The whole columns of a database, while they are read and checked."""

    def __init__(
        self,
        store: Store,
        connection: Connection,
        game: Game | None,
        report: Report,
        progress: Progress,
    ) -> None:
        self.store, self.connection, self.game = store, connection, game
        self.report, self.progress = report, progress
        self.hashes = ColumnDigests()
        self.is_strategy = store.info["extent"] == schema.STRATEGY
        self.by_rules = of.STATE_RULES if self.is_strategy else of.RULES

    def read_states(self) -> None:
        """Read the table state: digests, ids, and what the rules say of each."""
        parts: dict[str, list[Any]] = defaultdict(list)
        self.positions, known, in_play = 0, [], []
        done, total = 0, self.store.info["states"]
        for part in reading.states(self.connection):
            reading.digest(self.hashes, "state", part)
            self.positions += consistency.total(part["orbit"][part["orbit"] != NULL])
            if self.game is not None:
                right, open_ = self._compare_states(self.game, part)
                known.append(right)
                in_play.append(open_)
            for name in States._fields:
                parts[name].append(consistency.narrowed(part[name]) if name != "id" else part[name])
            done += len(part["id"])
            self.progress("verify states", done, total)
        self.states = States.of(parts)
        self.known = np.concatenate([np.empty(0, dtype=np.bool_), *known])
        self.in_play = np.concatenate([np.empty(0, dtype=np.bool_), *in_play])

    def _compare_states(self, game: Game, part: dict[str, Any]) -> tuple[Any, Any]:
        """Return whether id and text of each state agree, and whether the rules have it in play."""
        packed = by_rules.packed(game, part["position"])
        self.report.note(of.IDS, by_rules.ids(packed, part))
        right = packed == part["id"]
        part = reading.some(part, right)
        self.report.note(self.by_rules, by_rules.states(game, part))
        in_play = np.zeros(len(right), dtype=np.bool_)
        in_play[right] = game.outcomes(part["id"]) == IN_PLAY
        return right, in_play

    def read_edges(self) -> None:
        """Read the table edge: digests, whether it joins states, and the rules."""
        ids = self.states.id
        counts, children, self.moves = np.zeros(len(ids) + 1, dtype=np.int64), [], 0
        self.report.note(of.CLOSURE, ())
        for some, part in reading.edges(self.connection, ids):
            reading.digest(self.hashes, "edge", part)
            parent, child = part["parent"], part["child"]
            from_, to = (
                member(each, ids) if ids.size else np.zeros(len(each), dtype=np.bool_)
                for each in (parent, child)
            )
            for name, astray in (("parent", ~from_), ("child", from_ & ~to)):
                at = np.flatnonzero(astray)
                wrong = Wrong(
                    parent[at], name, part[name][at], "the id of a state", part["move"][at]
                )
                self.report.note(of.CLOSURE, [wrong])
            both = from_ & to
            counts[some.start + 1 : some.stop + 1] = np.bincount(
                np.searchsorted(ids[some], parent[both]), minlength=len(ids[some])
            )
            children.append(np.searchsorted(ids, child[both]).astype(np.int32))
            if self.game is not None and not self.is_strategy:
                right = self.known[some]
                here, in_play = ids[some][right], self.in_play[some][right]
                self.report.note(self.by_rules, by_rules.edges(self.game, here, in_play, part))
            self.moves += len(parent)
            self.progress("verify edges", self.moves, self.store.info["moves"])
        self.links = Links(np.cumsum(counts), np.concatenate(children))

    def derive(self) -> None:
        """Check everything that follows from the columns alone, or with the game's starts."""
        states, links, note = self.states, self.links, self.report.note
        n = len(states.id)
        self.progress(f"verify {of.VALUES}", 0, None)
        note(of.VALUES, reading.false_nulls(self.connection))
        nearest = consistency.nearest_parents(states, links)
        cyclic = consistency.has_cycle(links)
        chooser, edges = np.empty(n), 0
        for rows in consistency.parts(n):
            chooser[rows] = consistency.chosen(states, links, rows)
        note(of.PLIES, ())
        note(of.RANDOM, structure.game_row(self.store, {"cyclic": int(cyclic)}))
        for rows in consistency.parts(n):
            note(of.VALUES, consistency.values(states, links, rows))
            note(of.PLIES, consistency.plies(states, nearest, rows))
            found = consistency.random_play(states, links, chooser, rows, cyclic=cyclic)
            note(of.RANDOM, found)
            edges += len(consistency.distinct_replies(*links.of(rows))[0])
            self.progress(f"verify {of.VALUES}", int(rows[-1]) + 1, n)
        self.progress(f"verify {of.COUNTS}", 0, None)
        note(of.COUNTS, structure.game_row(self.store, self._counts(edges)))
        note(of.COUNTS, structure.extent(self.store))
        if self.game is not None and not self.is_strategy:
            if find_builtin(self.game.name) is not None:
                note(of.RULES, structure.game_row(self.store, {"rules": self.game.rules}))
            given = None
            if self.store.info["extent"] == schema.BELOW:
                given = states.id[states.ply == 0]
            note(of.RULES, by_rules.starts(self.game, given, states.id, states.ply))

    def _counts(self, edges: int) -> dict[str, Any]:
        """Return the row of the table game, as far as it is counted."""
        states = self.states
        starts = np.flatnonzero(states.ply == 0)
        start: dict[str, Any] = {"start": None, "value": None, "remoteness": None}
        if starts.size:
            first = starts[:1]
            state = int(states.id[first[0]])
            start["start"] = reading.texts(self.connection, [state]).get(state)
            for name in ("value", "remoteness"):
                start[name] = of.plain(consistency.widened(getattr(states, name)[first])[0])
        return {
            "starts": len(starts),
            "states": len(states.id),
            "positions": self.positions,
            "moves": self.moves,
            "edges": edges,
            "plies": of.plain(consistency.widened(states.ply).max()) if len(states.id) else None,
            **start,
        }


def _check_agents(store: Store, report: Report, progress: Progress) -> None:
    """Check the agents, if there are any: only for them the graph is loaded."""
    progress(f"verify {of.AGENTS}", 0, None)
    report.note(of.AGENTS, orphans(store))
    names = agents.names(store)
    try:
        report.note(of.AGENTS, check(store, names))
    except NotAStoreError:
        report.skipped.append("agents: what is wrong above is no graph")


def _proof(store: Store, connection: Connection) -> Iterator[Problem]:
    """Yield where a strategy does not prove what it claims."""
    if store.info["name"] != proof.GAME:
        expected = f"{proof.GAME}: there are no proofs for other games"
        yield Problem("game", "1", "name", store.info["name"], expected)
        return
    state, edge = schema.state.c, schema.edge.c
    rows = connection.execute(
        select(*(state[name] for name in proof.Row._fields)).order_by(state.id)
    )
    edges = connection.execute(select(schema.edge).order_by(edge.parent, edge.move))
    for finding in proof.check(
        (proof.Row(*row) for row in rows), (proof.Edge(*each) for each in edges)
    ):
        yield Problem(*finding)
