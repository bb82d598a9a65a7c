"""The verification: edges are compared with the rules, and values with those of the children.

The checks are the same for all states and for a sample; `Whole` and `Sample` read the rows. Every
wrong cell among these is reported. If the file holds a strategy, `graphstore.checks.proof` checks
the edges instead of the rules.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from random import SystemRandom
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from graphstore.checks import laws, proof
from graphstore.checks.file import conditions, consistency, reading, structure
from graphstore.checks.file import rules as by_rules
from graphstore.checks.file.agents import impossible, orphans
from graphstore.checks.file.consistency import Links, States
from graphstore.checks.file.database import database_checks, unless_damaged
from graphstore.checks.file.findings import (
    Check,
    Findings,
    Problem,
    Verdict,
    WrongCells,
    plain,
)
from graphstore.checks.file.folder import FolderRows
from graphstore.checks.file.reading import DatabaseRows
from graphstore.checks.file.sampling import CONFIDENCE, NOT_SAMPLED, Sample
from graphstore.checks.file.whole import Whole
from graphstore.errors import (
    ArgumentError,
    NotAStoreError,
    PositionError,
    RulesMissingError,
    StoreError,
)
from graphstore.games import find_builtin, given_or_builtin, rules_of
from graphstore.play import agents
from graphstore.rules.adapter import ArrayRules
from graphstore.rules.game import IN_PLAY, Game, Ints, Progress, quiet
from graphstore.rules.plain import PlainGame
from graphstore.solver.frontier import KNOWN, Row, searched
from graphstore.store import digests, schema
from graphstore.store.folder.folder import Folder
from graphstore.store.folder.layout import damaged_file, is_folder
from graphstore.store.folder.rows import check_files
from graphstore.store.names import read_names
from graphstore.store.reader import Reader
from graphstore.store.store import Address, Store, opened
from graphstore.util import arguments
from graphstore.util.arrays import distinct

SYMMETRIC = 1_000
"""The states at which the symmetries of the rules are checked, at most."""

THREADS: Final = min(os.cpu_count() or 1, 4)  # more would wait for Python's lock
SEARCHED = 100
"""The states at the last ply of a book that are searched, at most, if there is no sample."""

KEEPS = "rules that keep the law"
"""The beginning of what is expected where the symmetries of the rules are wrong."""


Rows = TypeVar("Rows", bound=Whole | Sample)


def verify(
    store: Store | Folder | Address,
    *,
    sample: int | None = None,
    confidence: float = CONFIDENCE,
    seed: int | None = None,
    rules: Game | PlainGame | str | None = None,
    progress: Progress = quiet,
) -> Verdict:
    """Compare the cells of a database with the rules, with other cells and with its digests.

    A folder of Parquet files is checked where it is, like a database.

    States, edges and starts are compared with the rules, if these are known; values, depths and
    plies with the neighbouring rows; and all columns of state and edge, and the row of game, with
    the digests in the same file. The verdict lists what was checked. Agents are searched for what
    cannot be, because nothing says what their cells must be. A book is compared with a search at up
    to 100 states of its last ply, or at all of these in the sample.

    Args:
        store: the database or folder, open or as an address.
        sample: the number of random states to check; by default all states are checked.
        confidence: the probability with which the bound of a sample must hold.
        seed: the seed of the sample; by default a random one, which the verdict holds.
        rules: of a folder, the rules of a game that is not built in, or a name for
            `graphstore.find_game`.
        progress: called with the phase, the number done and the total, if known.

    Raises:
        StoreError: the file cannot be read completely.
        ArgumentError: the sample has less than one state, or is of a folder, or the confidence is
            not between 0 and 1.
    """
    sample = arguments.limit("sample", sample, least=1)
    confidence = arguments.share("confidence", confidence)
    seed = arguments.seed(seed)
    if isinstance(store, Folder) or (isinstance(store, str | os.PathLike) and is_folder(store)):
        if sample is not None:
            raise ArgumentError("store is a folder, which is checked whole; leave sample out")
        folder = store if isinstance(store, Folder) else Folder.open(store)
        return _of_folder(folder, None if rules is None else rules_of(rules, "rules"), progress)
    if rules is not None:
        raise ArgumentError("rules: these are for a folder; open the database with Store.open")
    with opened(store) as store, store.connect() as connection:
        findings = Findings(lambda ids: reading.texts(connection, ids))
        if sample is not None:
            findings.skipped += NOT_SAMPLED
            for table in schema.metadata.sorted_tables:
                if table not in (schema.state, *schema.AGENT_TABLES):  # the reader checks states
                    findings.note(Check.CONDITIONS, conditions.of_table(connection, table))
            seed = SystemRandom().getrandbits(32) if seed is None else seed
            reads = partial(Sample, store, connection, findings, progress, sample, seed)
            drawn = _check(store, connection, reads, findings, progress)
            return findings.verdict(None if drawn is None else drawn.drawn(confidence))
        with database_checks(store) as (faults, broken):
            try:
                progress(f"verify {Check.STRUCTURE}", 0, None)
                watched = unless_damaged(faults, progress)
                reader = Whole(DatabaseRows(store), store.info, findings, watched)
                _check(store, connection, lambda: reader, findings, watched)
                findings.note(Check.CONDITIONS, broken.result())
            except Exception:
                if not faults.result():  # which may be the cause
                    raise
            if damage := faults.result():
                return _damaged(store, connection, damage)
            findings.note(Check.STRUCTURE, ())
            return findings.verdict()


def _check(
    store: Store,
    connection: Connection,
    reads: Callable[[], Rows],
    findings: Findings,
    progress: Progress,
) -> Rows | None:
    """Make all checks but those of the database itself; return the reader, or None on an error."""
    is_strategy = store.info["extent"] == schema.STRATEGY
    note, skipped = findings.note, findings.skipped
    game = _rules(lambda: store.game, store.info, findings)
    stored = structure.stored_digests(connection)
    try:
        note(Check.OBJECTS, list(structure.objects(store)))
    except NotAStoreError:
        raise
    except StoreError as error:  # a server on which the user may not create temporary tables
        skipped.append(f"schema: {error}")
    try:
        reader = reads()
        names = read_names(Reader.of(connection))
        _content(reader, game, store.info, stored, names, findings, progress)
    except NotAStoreError as error:
        note(Check.ROW, [Problem("file", store.address, "content", error, "a graph")])
        skipped.append("everything else, because the file cannot be read")
        return None
    if isinstance(reader, Sample):
        if connection.execute(select(schema.agent.c.id).limit(1)).first() is not None:
            skipped.append("agents: these need the whole file")
        if is_strategy:
            skipped.append("proof: this needs the whole file")
        return reader
    progress(f"verify {Check.AGENTS}", 0, None)
    _verify_agents(store, findings)
    if is_strategy:
        progress(f"verify {Check.PROOF}", 0, None)
        note(Check.PROOF, _flaws(store, connection))
    return reader


def _damaged(store: Store, connection: Connection, damage: Sequence[str]) -> Verdict:
    """Return the verdict on a file whose structure is damaged."""
    findings = Findings(lambda ids: reading.texts(connection, ids))
    of_cells = [line for line in damage if " value in " in line]  # NULL, or another type
    of_file = (
        Problem("file", store.address, "integrity_check", line, "ok")
        for line in damage
        if line not in of_cells
    )
    findings.note(Check.STRUCTURE, of_file)
    if len(of_cells) == len(damage):
        findings.note(Check.CONDITIONS, conditions.of_types(connection))
    findings.skipped.append("everything else, because the file structure is damaged")
    return findings.verdict()


def _of_folder(folder: Folder, rules: Game | None, progress: Progress) -> Verdict:
    """Check a folder: as a database, which has no digests of its row of game and no agents."""
    rows, info, names = FolderRows(folder), folder.info, folder.contents.names
    findings = Findings(rows.texts)
    game = _rules(lambda: given_or_builtin(info["name"], rules), info, findings)
    progress(f"verify {Check.STRUCTURE}", 0, None)
    try:
        check_files(folder.path, folder.contents)
        reader = Whole(rows, info, findings, progress)
        stored = folder.digests | digests.of_names(names) | digests.of_row("game", info)
        _content(reader, game, info, stored if folder.digests else None, names, findings, progress)
        if not folder.digests:
            findings.skipped.append("digests of columns: the folder has none; load computes them")
        if not folder.contents.has_edges:
            findings.skipped.append("edges: the folder has none; they follow from the rules")
        findings.note(Check.CONDITIONS, rows.wrong)
        # Look-ups also read what no row shows: bounds of row groups, names of files.
        sums = folder.contents.sums
        changed = damaged_file(folder.path, sums) if sums else None
        problem = Problem("file", str(changed), "content", "changed or missing", "as built")
        findings.note(Check.STRUCTURE, [] if changed is None else [problem])
    except NotAStoreError as error:
        findings.note(
            Check.STRUCTURE, [Problem("file", str(folder.path), "content", error, "a graph")]
        )
        findings.skipped.append("everything else, because the folder cannot be read")
    return findings.verdict()


def _content(
    reader: Whole | Sample,
    game: Game | None,
    info: Mapping[str, Any],
    stored: Mapping[str, str] | None,
    names: Mapping[int, str],
    findings: Findings,
    progress: Progress,
) -> None:
    """Check rows, the row of `game` and the names of moves; and digests, if any are `stored`."""
    last = info["plies"] if info["extent"] == schema.BOOK else None
    is_strategy = info["extent"] == schema.STRATEGY
    to_search = _verify_rows(reader, game, findings, last, is_strategy=is_strategy)
    if isinstance(reader, Whole) and len(to_search) > SEARCHED:
        to_search = np.sort(np.random.default_rng().choice(to_search, SEARCHED, False))
    known = _searched(game, to_search, findings, progress)
    _verify_neighbours(reader, findings, progress, last, known)
    _verify_game(info, reader, game, findings)
    columns, what = {}, Check.ROW
    if isinstance(reader, Whole):
        columns, what = reader.hashes.of_columns(), Check.DIGESTS
    elif stored is not None:
        of_rows = {str(column) for of in schema.STORED.values() for column in of}
        columns = {each: stored[each] for each in of_rows & stored.keys()}
    if stored is not None:
        findings.note(what, structure.digests_differ(info, stored, columns, names))
    if names and isinstance(reader, Whole):  # older files have none
        findings.note(Check.NAMES, by_rules.names(game, names, reader.names))


def _rules(find: Callable[[], Game], info: Mapping[str, Any], findings: Findings) -> Game | None:
    """Return the rules, or None if they cannot be used; note why."""
    try:
        game = find()
    except RulesMissingError as error:
        findings.skipped.append(f"states and edges against the rules: {error}")
        return None
    if isinstance(game, ArrayRules) and not game.reads:
        try:
            game.read(info["start"])
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
    del rights, in_plays
    if isinstance(reader, Whole):  # one text cannot be that of two ids by the rules
        by_rules_distinct = game is not None and bool(right.all())
        findings.note(Check.TEXTS, () if by_rules_distinct else reader.shared_texts())
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
    with ThreadPoolExecutor(THREADS) as threads:
        for states, links, all_rows in reader.neighbourhoods():
            links = links.told(states)
            nearest, chooser = (
                threads.submit(of, states, links)
                for of in (consistency.nearest_parents, consistency.best_means)
            )
            check = partial(
                _neighbours,
                states,
                links,
                nearest.result(),
                chooser.result(),
                filled=[*map(consistency.is_filled, (states.margin, states.nimber))],
                cyclic=reader.cyclic,
                is_whole=isinstance(reader, Whole),
            )
            if last is not None:
                rows = np.asarray(all_rows)
                is_last = (consistency.widened(states.ply[rows]) == last) & (
                    states.ended[rows] == 0
                )
                ends, all_rows = rows[is_last], rows[~is_last]
                of_these = known[np.isin(known["id"], states.id[ends])]
                findings.note(Check.FRONTIER, consistency.last_ply(states, ends, of_these))
                findings.note(Check.PLIES, consistency.plies(states, nearest.result(), ends))
            starts = range(0, len(all_rows), consistency.PART)
            parts = [all_rows[begin : begin + consistency.PART] for begin in starts]
            for part, problems in zip(parts, threads.map(check, parts), strict=True):
                for what, cells in problems.items():
                    findings.note(what, cells)
                done += len(part)
                progress(f"verify {Check.VALUES}", done, len(reader.ids))


def _neighbours(
    states: States,
    links: Links,
    nearest: Ints,
    chooser: NDArray[np.float64],
    part: Ints | range,
    *,
    filled: Sequence[bool],
    cyclic: bool,
    is_whole: bool,
) -> dict[Check, list[WrongCells]]:
    """Return the cells of some rows that do not follow from their neighbours.

    `filled` has True if the game has margins, and if it has nimbers.
    """
    (rows,) = consistency.in_parts(part)
    values = [*consistency.values(states, links, rows, is_whole=is_whole)]
    if filled[0]:
        values += consistency.margins(states, links, rows, cyclic=cyclic)
    if filled[1]:
        values += consistency.nimbers(states, links, rows)
    return {
        Check.VALUES: values,
        Check.PLIES: [*consistency.plies(states, nearest, rows)],
        Check.RANDOM: [*consistency.random_play(states, links, chooser, rows, cyclic=cyclic)],
    }


def _verify_game(
    info: Mapping[str, Any],
    reader: Whole | Sample,
    game: Game | None,
    findings: Findings,
) -> None:
    """Compare the table `game` and the starts with the rules and the counts."""
    extent, expected = info["extent"], reader.counts()
    if extent not in schema.EXTENTS:
        expected["extent"] = f"one of {', '.join(schema.EXTENTS)}"
    begins: Ints = np.empty(0, dtype=np.int64)
    if game is not None and extent != schema.STRATEGY:
        if find_builtin(game.name) is not None:
            expected["rules"] = game.rules
        if extent == schema.BELOW:
            begins = laws.packed(game, [info["start"]])
            begins = begins[begins != laws.NO_POSITION]
        else:
            begins = distinct(game.canonical(game.start_states()))
            expected.setdefault("starts", len(begins))
    ids, ply = reader.plies(begins)
    if game is not None and begins.size:
        starts = by_rules.starts(game, begins, ids, ply, complete=extent != schema.BELOW)
        findings.note(Check.RULES, starts)
    if begins.size or isinstance(reader, Whole):
        first = reader.states_of(ids[ply == 0][:1].tolist())
        names = {"start": "position", "value": "value", "remoteness": "remoteness"}
        for name, column in names.items():
            expected[name] = plain(first[column][0]) if len(first["id"]) else None
    findings.note(Check.ROW, structure.game_row(info, expected))


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
