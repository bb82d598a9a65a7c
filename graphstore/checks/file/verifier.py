"""The verification: edges are compared with the rules, and values with those of the children.

The checks are the same for all states and for a sample; `Whole` and `Sample` read the rows. Every
wrong cell among these is reported. If the file holds a strategy, `graphstore.checks.proof` checks
the edges instead of the rules.
"""

from collections.abc import Iterator
from random import SystemRandom

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from graphstore.checks import laws, proof
from graphstore.checks.file import conditions, consistency, reading, structure
from graphstore.checks.file import rules as by_rules
from graphstore.checks.file.agents import impossible, orphans
from graphstore.checks.file.findings import Check, Findings, Problem, Verdict, plain
from graphstore.checks.file.sampling import CONFIDENCE, NOT_SAMPLED, Sample
from graphstore.checks.file.whole import Whole
from graphstore.errors import NotAStoreError, PositionError, RulesMissingError, StoreError
from graphstore.games import find_builtin
from graphstore.play import agents
from graphstore.rules.adapter import ArrayRules
from graphstore.rules.game import IN_PLAY, Game, Ints, Progress, quiet
from graphstore.solver.frontier import KNOWN, Row, searched
from graphstore.store import schema
from graphstore.store.names import read_names
from graphstore.store.reader import Reader
from graphstore.store.store import Address, Store, opened
from graphstore.util import arguments
from graphstore.util.arrays import distinct

SYMMETRIC = 1_000
"""The states at which the symmetries of the rules are checked, at most."""

SEARCHED = 100
"""The states at the last ply of a book that are searched, at most, if there is no sample."""

KEEPS = "rules that keep the law"
"""The beginning of what is expected where the symmetries of the rules are wrong."""


def verify(
    store: Store | Address,
    *,
    sample: int | None = None,
    confidence: float = CONFIDENCE,
    seed: int | None = None,
    progress: Progress = quiet,
) -> Verdict:
    """Compare the cells of a database with the rules, with other cells and with its digests.

    States, edges and starts are compared with the rules, if these are known; values, depths and
    plies with the neighbouring rows; and all columns of state and edge, and the row of game, with
    the digests in the same file. The verdict lists what was checked. Agents are searched for what
    cannot be, because nothing says what their cells must be. A book is compared with a search at up
    to 100 states of its last ply, or at all of these in the sample.

    Args:
        store: the database, open or as an address.
        sample: the number of random states to check; by default all states are checked.
        confidence: the probability with which the bound of a sample must hold.
        seed: the seed of the sample; by default a random one, which the verdict holds.
        progress: called with the phase, the number done and the total, if known.

    Raises:
        StoreError: the file cannot be read completely.
        ArgumentError: the sample has less than one state, or the confidence is not between 0 and 1.
    """
    sample = arguments.limit("sample", sample, least=1)
    confidence = arguments.share("confidence", confidence)
    seed = arguments.seed(seed)
    with opened(store) as store, store.connect() as connection:
        is_strategy = store.info["extent"] == schema.STRATEGY
        last = store.info["plies"] if store.info["extent"] == schema.BOOK else None
        findings = Findings(lambda ids: reading.texts(connection, ids))
        note, skipped = findings.note, findings.skipped
        if sample is None:
            progress(f"verify {Check.STRUCTURE}", 0, None)
            damage = list(store.backend.integrity())
            of_cells = [line for line in damage if " value in " in line]  # NULL, or another type
            of_file = (
                Problem("file", store.address, "integrity_check", line, "ok")
                for line in damage
                if line not in of_cells
            )
            note(Check.STRUCTURE, of_file)
            if of_cells and len(of_cells) == len(damage):
                note(Check.CONDITIONS, conditions.of_types(connection))
            if damage:
                skipped.append("everything else, because the file structure is damaged")
                return findings.verdict()
        else:
            skipped += NOT_SAMPLED
        game = _rules(store, findings)
        stored = structure.stored_digests(connection)
        try:
            note(Check.OBJECTS, list(structure.objects(store)))
        except NotAStoreError:
            raise
        except StoreError as error:  # a server on which the user may not create temporary tables
            skipped.append(f"schema: {error}")
        left_out = () if sample is None else schema.AGENT_TABLES
        for table in schema.metadata.sorted_tables:
            if table not in (schema.state, *left_out):  # the reader checks the states
                note(Check.CONDITIONS, conditions.of_table(connection, table))
        try:
            reader: Whole | Sample
            if sample is None:
                reader = Whole(store, connection, findings, progress)
            else:
                seed = SystemRandom().getrandbits(32) if seed is None else seed
                reader = Sample(store, connection, findings, progress, sample, seed)
            to_search = _verify_rows(reader, game, findings, last, is_strategy=is_strategy)
            if isinstance(reader, Whole) and len(to_search) > SEARCHED:
                to_search = np.sort(np.random.default_rng().choice(to_search, SEARCHED, False))
            known = _searched(game, to_search, findings, progress)
            _verify_neighbours(reader, findings, progress, last, known)
            _verify_game(store, connection, reader, game, findings)
            if isinstance(reader, Whole):
                columns, what = reader.hashes.of_columns(), Check.DIGESTS
            else:
                of_rows = {str(column) for of in schema.STORED.values() for column in of}
                columns, what = {each: stored[each] for each in of_rows & stored.keys()}, Check.ROW
            names = read_names(Reader.of(connection))
            note(what, structure.digests_differ(store, stored, columns, names))
            if names and sample is None:  # older files have none
                moves = {*connection.scalars(select(schema.edge.c.move).distinct())}
                note(Check.NAMES, by_rules.names(game, names, moves))
        except NotAStoreError as error:
            note(Check.ROW, [Problem("file", store.address, "content", error, "a graph")])
            skipped.append("everything else, because the file cannot be read")
            return findings.verdict()
        if isinstance(reader, Sample):
            if connection.execute(select(schema.agent.c.id).limit(1)).first() is not None:
                skipped.append("agents: these need the whole file")
            if is_strategy:
                skipped.append("proof: this needs the whole file")
            return findings.verdict(reader.drawn(confidence))
        progress(f"verify {Check.AGENTS}", 0, None)
        _verify_agents(store, findings)
        if is_strategy:
            progress(f"verify {Check.PROOF}", 0, None)
            note(Check.PROOF, _flaws(store, connection))
        return findings.verdict()


def _rules(store: Store, findings: Findings) -> Game | None:
    """Return the rules, or None if they cannot be used; note why."""
    try:
        game = store.game
    except RulesMissingError as error:
        findings.skipped.append(f"states and edges against the rules: {error}")
        return None
    if isinstance(game, ArrayRules) and not game.reads:
        try:
            game.read(store.info["start"])
        except PositionError as error:
            findings.skipped.append(
                "states and edges against the rules: the rules cannot read their own texts; add a "
                f"method parse(text) to them ({error})"
            )
            return None
    return game


def _searched(
    game: Game | None, states: Ints, findings: Findings, progress: Progress
) -> NDArray[np.void]:
    """Return what a search finds of states at the last ply of a book."""
    rows: list[Row] = []
    if game is not None and len(states):
        for row in searched(game, states):
            rows.append(row)
            progress(f"verify {Check.FRONTIER}", len(rows), len(states))
        findings.extents[Check.FRONTIER] = f"at {len(states):,} states"
    return np.sort(np.array(rows, dtype=KNOWN), order="id")


def _verify_rows(
    reader: Whole | Sample,
    game: Game | None,
    findings: Findings,
    last: int | None,
    *,
    is_strategy: bool,
) -> Ints:
    """Compare states and edges with the rules; without rules, only read them.

    Return the states in play at the `last` ply of a book, which have no edges.
    """
    rights, in_plays = [np.empty(0, dtype=np.bool_)], [np.empty(0, dtype=np.bool_)]
    frontier = [np.empty(0, dtype=np.int64)]
    for part in reader.states():
        if game is not None and len(part["id"]):
            found = laws.packed(game, part["position"])
            findings.note(Check.IDS, by_rules.ids(found, part))
            right = found == part["id"]  # the others cannot be compared further
            part = reading.select_rows(part, right)
            states = by_rules.states(game, part)
            findings.note(Check.STATE_RULES if is_strategy else Check.RULES, states)
            in_play = np.zeros(len(right), dtype=np.bool_)
            in_play[right] = game.outcomes(part["id"]) == IN_PLAY
            if last is not None:
                frontier.append(part["id"][in_play[right] & (part["ply"] == last)])
                in_play[right] &= part["ply"] != last
            rights.append(right)
            in_plays.append(in_play)
    right, in_play = np.concatenate(rights), np.concatenate(in_plays)
    if game is not None:
        _verify_symmetries(game, reader.ids[right], findings)
    for rows, part in reader.edges():
        if game is not None and not is_strategy:
            ids = reader.ids[rows][right[rows]]
            edges = by_rules.edges(game, ids, in_play[rows][right[rows]], part)
            findings.note(Check.RULES, edges)
    return np.concatenate(frontier)


def _verify_symmetries(game: Game, ids: Ints, findings: Findings) -> None:
    """Check the symmetries of the rules at some states, evenly spread over `ids`."""
    tried = ids[:: -(-len(ids) // SYMMETRIC) or 1]
    findings.extents[Check.SYMMETRIES] = f"at {len(tried):,} states"
    for law, position, detail in laws.symmetry_breaches(game, tried) if len(tried) else ():
        at = f" at position {position}" * bool(position)
        kept = f"{KEEPS}: {law}"
        problem = Problem("game", "1", "rules", f"wrong{at} ({detail})", kept)
        findings.note(Check.SYMMETRIES, [problem])
    findings.note(Check.SYMMETRIES, ())


def _verify_neighbours(
    reader: Whole | Sample,
    findings: Findings,
    progress: Progress,
    last: int | None,
    known: NDArray[np.void],
) -> None:
    """Compare values and depths with those of the children, and plies with the parents'.

    At the `last` ply of a book they are compared with `known`, the result of `_searched`.
    """
    progress(f"verify {Check.VALUES}", 0, None)
    for what in (Check.CLOSURE, Check.VALUES, Check.PLIES, Check.RANDOM):
        findings.note(what, ())
    done = 0
    for states, links, all_rows in reader.neighbourhoods():
        links, is_whole = links.told(states), isinstance(reader, Whole)
        nearest = consistency.nearest_parents(states, links)
        chooser = consistency.best_means(states, links)
        scored, impartial = map(consistency.is_filled, (states.margin, states.nimber))
        if last is not None:
            edge = (consistency.widened(states.ply[all_rows]) == last) & (
                states.ended[all_rows] == 0
            )
            ends, all_rows = all_rows[edge], all_rows[~edge]
            of_these = known[np.isin(known["id"], states.id[ends])]
            findings.note(Check.FRONTIER, consistency.last_ply(states, ends, of_these))
            findings.note(Check.PLIES, consistency.plies(states, nearest, ends))
        for rows in consistency.in_parts(all_rows):
            random = consistency.random_play(states, links, chooser, rows, cyclic=reader.cyclic)
            values = consistency.values(states, links, rows, is_whole=is_whole)
            findings.note(Check.VALUES, values)
            if scored:
                margins = consistency.margins(states, links, rows, cyclic=reader.cyclic)
                findings.note(Check.VALUES, margins)
            if impartial:
                findings.note(Check.VALUES, consistency.nimbers(states, links, rows))
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
    """Compare the table `game` and the starts with the rules and the counts."""
    extent, expected = store.info["extent"], reader.counts()
    if extent not in schema.EXTENTS:
        expected["extent"] = f"one of {', '.join(schema.EXTENTS)}"
    begins: Ints = np.empty(0, dtype=np.int64)
    if game is not None and extent != schema.STRATEGY:
        if find_builtin(game.name) is not None:
            expected["rules"] = game.rules
        if extent == schema.BELOW:
            begins = laws.packed(game, [store.info["start"]])
            begins = begins[begins != laws.NO_POSITION]
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
    """Check the agents; the graph is loaded only if there are some."""
    findings.note(Check.AGENTS, orphans(store))
    try:
        findings.note(Check.AGENTS, impossible(store, agents.names(store)))
    except NotAStoreError:
        findings.skipped.append("agents, because the states and edges above are not a graph")


def _flaws(store: Store, connection: Connection) -> Iterator[Problem]:
    """Yield the flaws in the proof of a strategy."""
    if store.info["name"] != proof.GAME:
        expected = f"{proof.GAME}, the only game with a proof"
        yield Problem("game", "1", "name", store.info["name"], expected)
        return
    state, edge = schema.state.c, schema.edge.c
    columns = [state[name] for name in proof.Row._fields]
    rows = map(proof.Row._make, connection.execute(select(*columns).order_by(state.id)))
    of_edges = select(schema.edge).order_by(edge.parent, edge.move)
    edges = map(proof.Edge._make, connection.execute(of_edges))
    for flaw in proof.flaws(rows, edges):
        yield Problem(*flaw)
