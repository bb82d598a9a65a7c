"""Verify a database: derive every edge from the rules, and every value from its children.

The checks are the same for all states and for a sample; `Whole` and `Sample` read what they need.
Each wrong cell among what they read is found and named. Where the file holds a strategy,
`graphstore.checks.proof` takes the place of the rules for edges.
"""

from collections.abc import Iterator
from random import SystemRandom

import numpy as np
from sqlalchemy import Connection, select

from graphstore.checks import proof
from graphstore.checks.file import consistency, reading, structure
from graphstore.checks.file import rules as by_rules
from graphstore.checks.file.agents import impossible, orphans
from graphstore.checks.file.findings import Check, Findings, Problem, Verdict, plain
from graphstore.checks.file.sampling import CONFIDENCE, UNSEEN, Sample
from graphstore.checks.file.whole import Whole
from graphstore.errors import NotAStoreError, PositionError, RulesMissingError
from graphstore.games import find_builtin
from graphstore.play import agents
from graphstore.rules.game import IN_PLAY, Game, Ints, Progress, quiet
from graphstore.rules.plain import PlainGame
from graphstore.store import schema
from graphstore.store.store import Store
from graphstore.util import arguments
from graphstore.util.arrays import distinct

CELL_DAMAGE = "CHECK constraint failed"  # of integrity_check, of cells; all else can be read


def verify(
    store: Store,
    *,
    sample: int | None = None,
    confidence: float = CONFIDENCE,
    seed: int | None = None,
    progress: Progress = quiet,
) -> Verdict:
    """Derive everything in a database again and return what is wrong.

    Args:
        store: the database.
        sample: how many states to draw at random and check; by default all are checked.
        confidence: how sure to be of what a sample tells of all states.
        seed: of the drawing; by default another each time, told in the verdict.
        progress: called with what is being done.

    Raises:
        StoreError: the file cannot be read to its end.
        ArgumentError: the sample has less than one state, or the confidence is not between 0 and 1.
    """
    sample = arguments.limit("sample", sample, least=1)
    confidence = arguments.share("confidence", confidence)
    seed = arguments.seed(seed)
    is_strategy = store.info["extent"] == schema.STRATEGY
    with store.connect() as connection:
        findings = Findings(lambda ids: reading.texts(connection, ids))
        note, skipped = findings.note, findings.skipped
        if sample is None:
            progress(f"verify {Check.STRUCTURE}", 0, None)
            damage = list(store.backend.integrity())
            of_file = (
                Problem("file", store.address, "integrity_check", line, "ok") for line in damage
            )
            note(Check.STRUCTURE, of_file)
            if not all(line.startswith(CELL_DAMAGE) for line in damage):
                skipped.append("all else, since the file's structure is damaged")
                return findings.verdict()
        else:
            skipped += UNSEEN
        game = _rules(store, findings)
        stored = structure.stored_digests(connection)
        note(Check.OBJECTS, structure.objects(connection, stored))
        try:
            reader: Whole | Sample
            if sample is None:
                reader = Whole(store, connection, findings, progress)
            else:
                seed = SystemRandom().getrandbits(32) if seed is None else seed
                reader = Sample(store, connection, findings, progress, sample, seed)
            _verify_rows(reader, game, findings, is_strategy=is_strategy)
            _verify_neighbours(reader, findings, progress)
            _verify_game(store, connection, reader, game, findings)
            if isinstance(reader, Whole):
                columns, what = reader.hashes.of_columns(), Check.DIGESTS
            else:
                names = {str(column) for of in schema.STORED.values() for column in of}
                columns, what = {each: stored[each] for each in names & stored.keys()}, Check.ROW
            note(what, structure.digests_differ(store, stored, columns))
        except NotAStoreError as error:
            note(Check.ROW, [Problem("file", store.address, "content", error, "a graph")])
            skipped.append("all else, since what is there cannot be read")
            return findings.verdict()
        if isinstance(reader, Sample):
            if connection.execute(select(schema.agent.c.id).limit(1)).first() is not None:
                skipped.append("agents: their boxes are those of the whole file")
            if is_strategy:
                skipped.append("the proof: only a whole strategy is one")
            return findings.verdict(reader.drawn(confidence))
        progress(f"verify {Check.AGENTS}", 0, None)
        _verify_agents(store, findings)
        if is_strategy:
            progress(f"verify {Check.PROOF}", 0, None)
            note(Check.PROOF, _flaws(store, connection))
        return findings.verdict()


def _rules(store: Store, findings: Findings) -> Game | None:
    """Return the rules, or None where there are none that can be used, and say why."""
    try:
        game = store.game
    except RulesMissingError as error:
        findings.skipped.append(f"what the rules say: there are none ({error})")
        return None
    try:
        game.read(store.info["start"])
    except PositionError as error:
        kind = type(game)
        if (  # else the file is to blame, as will be found
            issubclass(kind, PlainGame)
            and kind.text is not PlainGame.text
            and kind.parse is PlainGame.parse
        ):
            findings.skipped.append(f"what the rules say: give them a parse(text) ({error})")
            return None
    return game


def _verify_rows(
    reader: Whole | Sample, game: Game | None, findings: Findings, *, is_strategy: bool
) -> None:
    """Compare states and edges with the rules, and let them be read without rules."""
    rights, in_plays = [np.empty(0, dtype=np.bool_)], [np.empty(0, dtype=np.bool_)]
    for part in reader.states():
        if game is not None and len(part["id"]):
            found = by_rules.packed(game, part["position"])
            findings.note(Check.IDS, by_rules.ids(found, part))
            right = found == part["id"]  # the rules can tell no more of the others
            part = reading.some(part, right)
            states = by_rules.states(game, part)
            findings.note(Check.STATE_RULES if is_strategy else Check.RULES, states)
            in_play = np.zeros(len(right), dtype=np.bool_)
            in_play[right] = game.outcomes(part["id"]) == IN_PLAY
            rights.append(right)
            in_plays.append(in_play)
    right, in_play = np.concatenate(rights), np.concatenate(in_plays)
    for rows, part in reader.edges():
        if game is not None and not is_strategy:
            ids = reader.ids[rows][right[rows]]
            edges = by_rules.edges(game, ids, in_play[rows][right[rows]], part)
            findings.note(Check.RULES, edges)


def _verify_neighbours(reader: Whole | Sample, findings: Findings, progress: Progress) -> None:
    """Compare every value and ply with those of the children and the parents."""
    progress(f"verify {Check.VALUES}", 0, None)
    for what in (Check.CLOSURE, Check.VALUES, Check.PLIES, Check.RANDOM):
        findings.note(what, ())
    done = 0
    for states, links, all_rows in reader.neighbourhoods():
        nearest = consistency.nearest_parents(states, links)
        chooser = consistency.chosen(states, links)
        for rows in consistency.in_parts(all_rows):
            random = consistency.random_play(states, links, chooser, rows, cyclic=reader.cyclic)
            findings.note(Check.VALUES, consistency.values(states, links, rows))
            findings.note(Check.PLIES, consistency.plies(states, nearest, rows))
            findings.note(Check.RANDOM, random)
            done += len(rows)
            progress(f"verify {Check.VALUES}", done, len(reader.ids))


def _verify_game(
    store: Store,
    connection: Connection,
    reader: Whole | Sample,
    game: Game | None,
    findings: Findings,
) -> None:
    """Compare the row of the table game, and the starts, with the rules and what was counted."""
    extent, expected = store.info["extent"], reader.counts()
    if extent not in schema.EXTENTS:
        expected["extent"] = f"one of {', '.join(schema.EXTENTS)}"
    begins: Ints = np.empty(0, dtype=np.int64)
    if game is not None and extent != schema.STRATEGY:
        if find_builtin(game.name) is not None:
            expected["rules"] = game.rules
        if extent == schema.BELOW:
            begins = by_rules.packed(game, [store.info["start"]])
            begins = begins[begins != by_rules.NO_POSITION]
        else:
            begins = distinct(game.canonical(game.start_states()))
            expected.setdefault("starts", len(begins))
    ids, ply = reader.plies(begins)
    if game is not None and begins.size:
        starts = by_rules.starts(game, begins, ids, ply, complete=extent != schema.BELOW)
        findings.note(Check.RULES, starts)
    if begins.size or isinstance(reader, Whole):
        first = reading.states_of(connection, ids[ply == 0][:1].tolist())
        names = {"start": "position", "value": "value", "remoteness": "remoteness"}
        for name, column in names.items():
            expected[name] = plain(first[column][0]) if len(first["id"]) else None
    findings.note(Check.ROW, structure.game_row(store, expected))


def _verify_agents(store: Store, findings: Findings) -> None:
    """Check the agents; only if there are any, the graph is loaded."""
    findings.note(Check.AGENTS, orphans(store))
    try:
        findings.note(Check.AGENTS, impossible(store, agents.names(store)))
    except NotAStoreError:
        findings.skipped.append(
            "agents: not checked, because the states and edges above are not a graph"
        )


def _flaws(store: Store, connection: Connection) -> Iterator[Problem]:
    """Yield where a strategy does not prove what it claims."""
    if store.info["name"] != proof.GAME:
        expected = f"{proof.GAME}: there are no proofs for other games"
        yield Problem("game", "1", "name", store.info["name"], expected)
        return
    state, edge = schema.state.c, schema.edge.c
    columns = [state[name] for name in proof.Row._fields]
    rows = map(proof.Row._make, connection.execute(select(*columns).order_by(state.id)))
    of_edges = select(schema.edge).order_by(edge.parent, edge.move)
    edges = map(proof.Edge._make, connection.execute(of_edges))
    for flaw in proof.flaws(rows, edges):
        yield Problem(*flaw)
