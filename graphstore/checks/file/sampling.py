"""Check some states of a database, drawn at random, and say what that tells of all of them.

States are drawn uniformly, without repetition, by their rank in the order of the ids; ids have
gaps, so that an id at random would favour the states after large ones. The table is walked once
from one rank to the next inside the database, which neither decodes nor hands over what is between.

A state is wrong if a cell of its row, or one of its moves, is not what the rules, its children or
its parents say; so a wrong value may make its parents wrong as well. The room `shares` says what
the number of wrong ones tells of all.
"""

from collections.abc import Iterable, Iterator
from random import Random, SystemRandom

import numpy as np
from sqlalchemy import Connection, func, select

from graphstore.checks.file import consistency, reading, structure
from graphstore.checks.file import findings as of
from graphstore.checks.file import rules as by_rules
from graphstore.checks.file.confidence import at_most
from graphstore.checks.file.consistency import Links, States
from graphstore.checks.file.findings import Drawn, Problem, Report, Verdict, Wrong
from graphstore.errors import NotAStoreError, PositionError, RulesMissingError
from graphstore.games import find_builtin
from graphstore.rules.game import IN_PLAY, Game, Ints, Progress
from graphstore.rules.plain import PlainGame
from graphstore.store import schema
from graphstore.store.digests import NULL
from graphstore.store.probe import BATCH
from graphstore.store.store import Store
from graphstore.util.arrays import distinct, member

CONFIDENCE = 0.95
_UNSEEN = (
    "the file's structure, the digests of columns and the counts: they need the whole file",
    "whether play can come back to a position, which the file says itself",
)


def sampled(
    store: Store, wanted: int, confidence: float, seed: int | None, progress: Progress
) -> Verdict:
    """Check so many states, drawn at random; see `graphstore.checks.verify`."""
    if seed is None:
        seed = SystemRandom().getrandbits(32)
    with store.connect() as connection:
        report = Report(lambda ids: reading.texts(connection, ids))
        report.skipped += _UNSEEN
        game = rules_for(store, report)
        stored = structure.stored_digests(connection)
        report.note(of.OBJECTS, structure.objects(connection, stored))
        found = structure.digests_differ(store, stored, structure.of_columns(stored))
        report.note(of.ROW, found)
        report.note(of.ROW, structure.extent(store))
        if connection.execute(select(schema.agent.c.id).limit(1)).first() is not None:
            report.skipped.append("agents: their boxes are those of the whole file")
        is_strategy = store.info["extent"] == schema.STRATEGY
        if is_strategy:
            report.skipped.append("the proof: only a whole strategy is one")
        try:
            if game is not None and not is_strategy:
                report.note(of.ROW, _start(store, connection, game))
            ids, states = draw(connection, store.info["states"], wanted, seed, progress)
            report.note(of.ROW, structure.game_row(store, {"states": states}))
            wrong = _check(store, connection, game, ids, report, progress)
        except NotAStoreError as error:
            report.note(of.ROW, [Problem("file", store.address, "content", error, "a graph")])
            report.skipped.append("the states: one of them cannot be read")
            return report.verdict()
    share = wrong / max(1, states)
    if len(ids) < states:
        share = at_most(wrong, len(ids), confidence)
    return report.verdict(Drawn(states, len(ids), wrong, share, confidence, seed))


def rules_for(store: Store, report: Report) -> Game | None:
    """Return the rules, or None where there are none that can be used, and report why."""
    try:
        game = store.game
    except RulesMissingError as error:
        report.skipped.append(f"what the rules say: there are none ({error})")
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
            report.skipped.append(f"what the rules say: give them a parse(text) ({error})")
            return None
    return game


def draw(
    connection: Connection, claimed: int, wanted: int, seed: int, progress: Progress
) -> tuple[Ints, int]:
    """Return the ids of states drawn at random, ascending, and how many states there are.

    Args:
        connection: to the database.
        claimed: how many there should be.
        wanted: how many to draw; all, if there are not as many.
        seed: of the drawing.
        progress: called with how many are drawn.
    """
    key = schema.state.c.id
    claimed = max(0, claimed)
    ranks = sorted(Random(seed).sample(range(claimed), min(wanted, claimed)))
    found: list[int] = []
    passed = 0
    query = select(key).order_by(key).limit(1)
    for rank in ranks:
        after = query.where(key > found[-1]) if found else query
        state = connection.scalar(after.offset(rank - passed))
        if state is None:
            break
        found.append(state)
        passed = rank + 1
        if len(found) % 1000 == 0:
            progress("verify: draw states", len(found), len(ranks))
    rest = select(func.count()).select_from(schema.state)
    left = connection.scalar(rest.where(key > found[-1]) if found else rest)
    return np.array(found, dtype=np.int64), (passed if found else 0) + int(left or 0)


def _start(store: Store, connection: Connection, game: Game) -> Iterator[Problem]:
    """Yield what is wrong with the starts, as far as they are known without reading all states."""
    below = store.info["extent"] == schema.BELOW
    if below:
        begins = by_rules.packed(game, [store.info["start"]])
    else:
        begins = distinct(game.canonical(game.start_states()))
        yield from structure.game_row(store, {"starts": len(begins)})
    if find_builtin(game.name) is not None:
        yield from structure.game_row(store, {"rules": game.rules})
    part = reading.states_of(connection, begins.tolist())
    for at, (state, ply) in enumerate(zip(part["id"].tolist(), part["ply"].tolist(), strict=True)):
        if ply != 0:
            yield Problem("state", f"{state} ({part['position'][at]})", "ply", ply, 0)
    for start in begins[~np.isin(begins, part["id"])].tolist():
        yield Problem("state", str(start), "row", "missing", "a start")
    if len(part["id"]):
        yield from structure.game_row(
            store,
            {
                "start": part["position"][0],
                "value": of.plain(part["value"][0]),
                "remoteness": of.plain(part["remoteness"][0]),
            },
        )


def _check(
    store: Store,
    connection: Connection,
    game: Game | None,
    drawn: Ints,
    report: Report,
    progress: Progress,
) -> int:
    """Check the states that were drawn and return how many are wrong."""
    is_strategy = store.info["extent"] == schema.STRATEGY
    begins: Ints | None = None
    if game is not None and store.info["extent"] == schema.WHOLE:
        begins = distinct(game.canonical(game.start_states()))
    wrong: set[int] = set()

    def note(what: str, found: Iterable[Problem | Wrong]) -> None:
        def counted() -> Iterator[Problem | Wrong]:
            for each in found:
                if isinstance(each, Wrong):
                    wrong.update(each.ids.tolist())
                yield each

        report.note(what, counted())

    for begin in range(0, len(drawn), BATCH):
        ids = drawn[begin : begin + BATCH]
        own = reading.states_of(connection, ids.tolist())
        if game is not None:
            found = by_rules.packed(game, own["position"])
            note(of.IDS, by_rules.ids(found, own))
            right = found == own["id"]
            wrong.update(ids[~right].tolist())
            legible = reading.some(own, right)
            note(of.STATE_RULES if is_strategy else of.RULES, by_rules.states(game, legible))
        family, links, nearest, astray = _family(connection, ids)
        note(of.CLOSURE, astray)
        note(of.VALUES, reading.false_nulls(connection, ids.tolist()))
        if game is not None and not is_strategy:
            in_play = game.outcomes(legible["id"]) == IN_PLAY
            out = reading.edges_from(connection, ids.tolist())
            note(of.RULES, by_rules.edges(game, legible["id"], in_play, out))
        rows = np.searchsorted(family.id, ids)
        if begins is not None:
            ply = consistency.widened(family.ply[rows])
            early = np.flatnonzero((ply == 0) & ~np.isin(ids, begins))
            note(of.RULES, [Wrong(ids[early], "ply", ply[early], "over 0")])
        note(of.VALUES, consistency.values(family, links, rows))
        note(of.PLIES, consistency.plies(family, nearest, rows))
        chooser = consistency.chosen(family, links, np.arange(len(family.id)))
        cyclic = bool(store.info["cyclic"])
        note(of.RANDOM, consistency.random_play(family, links, chooser, rows, cyclic=cyclic))
        progress("verify: check states", begin + len(ids), len(drawn))
    return len(wrong.intersection(drawn.tolist()))


def _family(connection: Connection, ids: Ints) -> tuple[States, Links, Ints, list[Wrong]]:
    """Return what decides about some states: parents, children, and what the children lead to.

    Returns:
        All their columns; the moves of the states and of their children; one more than the least
        ply of the parents, NULL where there are none; and the edges that lead nowhere.
    """
    out = reading.edges_from(connection, ids.tolist())
    into = reading.edges_into(connection, ids.tolist())
    children = distinct(out["child"])
    further = children[~member(children, ids)]
    below = reading.edges_from(connection, further.tolist())
    everyone = (ids, children, below["child"], into["parent"])
    part = reading.states_of(connection, distinct(np.concatenate(everyone)).tolist())
    states = States.of({name: [consistency.narrowed(part[name])] for name in States._fields[1:]}
                       | {"id": [part["id"]]})  # fmt: skip
    parent, child, move = (
        np.concatenate((out[name], below[name])) for name in ("parent", "child", "move")
    )
    known = member(child, states.id) & member(parent, states.id)
    mine = ~known & member(parent, ids)
    astray = [Wrong(parent[mine], "child", child[mine], "the id of a state", move[mine])]
    parent, child, move = parent[known], child[known], move[known]
    order = np.lexsort((move, parent))
    offset = np.append(np.searchsorted(parent[order], states.id), len(parent))
    links = Links(
        offset.astype(np.int64), np.searchsorted(states.id, child[order]).astype(np.int32)
    )
    above = member(into["parent"], states.id)
    mine_too = into["child"][~above]
    if mine_too.size:
        lost = into["parent"][~above]
        astray.append(Wrong(lost, "parent", lost, "the id of a state", into["move"][~above]))
    nearest = np.full(len(states.id), consistency.MOST)
    ply = consistency.widened(states.ply[np.searchsorted(states.id, into["parent"][above])])
    np.minimum.at(nearest, np.searchsorted(states.id, into["child"][above]), ply)
    nearest = np.where(nearest == consistency.MOST, NULL, nearest + 1)
    return states, links, nearest, astray


def as_text(sample: Drawn) -> str:
    """Return in words what a sample tells.

    >>> as_text(Drawn(1_000_000, 3000, 0, 0.000998, 0.95, 1))
    'none of 3,000 of 1,000,000 states, drawn at random (seed 1), is wrong: with 95 % confidence at
    most 0.0998 % of all are'
    """
    of_all = (
        f"of {sample.drawn:,} of {sample.states:,} states, drawn at random (seed {sample.seed})"
    )
    sure = f"with {100 * sample.confidence:.6g} % confidence"
    most = f"{100 * sample.at_most:.3g} % of all are"
    if sample.drawn == sample.states:
        return f"{sample.wrong:,} of all {sample.states:,} states are wrong"
    if sample.wrong == 0:
        return f"none {of_all}, is wrong: {sure} at most {most}"
    return f"{sample.wrong:,} {of_all}, are wrong: {sure} at most {most}"
