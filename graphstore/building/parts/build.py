"""Build a game in parts: take all steps, wave by wave, except those already done."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import reduce
from itertools import chain
from operator import or_
from pathlib import Path
from time import perf_counter
from typing import Any, Final

from graphstore.building.parts import steps
from graphstore.building.parts.draft import drafting, exchanging, fetch, target_of
from graphstore.building.parts.partition import BUCKETS
from graphstore.building.parts.places import exchange_url
from graphstore.building.parts.rounds import solve_in_rounds
from graphstore.building.parts.steps import Build
from graphstore.building.parts.work import BlockId, Record, damaged
from graphstore.building.parts.workers import LITTLE, Call, Workers, take_all
from graphstore.errors import NotAStoreError, RulesError, TooLargeError
from graphstore.games import find_builtin
from graphstore.rules.adapter import ArrayRules
from graphstore.rules.game import Game, Progress, quiet, unless_numbers
from graphstore.solver.columns import kind_of
from graphstore.solver.exploration import MAX_STATES
from graphstore.store import schema
from graphstore.store.arrow import pyarrow
from graphstore.store.columns import BUILT_WITH
from graphstore.store.digests import added, of_content
from graphstore.store.folder.folder import Folder
from graphstore.store.folder.layout import (
    MANIFEST,
    Contents,
    damaged_file,
    write_manifest,
)
from graphstore.util.files import sync_all

MEMORY: Final = 1 << 30  # bytes that a step may take, by default
BYTES_ASKED, BYTES_A_STATE, BYTES_A_MOVE = 16, 60, 90  # bytes of a block in memory, as measured
FEWEST = 50_000  # states of a block where parts are given: smaller ones cost more than they save
DOUBT: Final = 1.25  # a wave may have 25 % more states than the growth of the last one suggests


def _explore(
    build: Build,
    workers: Workers,
    parts: int | None,
    max_states: int,
    name: str,
    progress: Progress,
) -> tuple[Build, list[list[Record]]]:
    """Find all states; return the build with all waves known, and the records of each wave."""
    waves: list[list[Record]] = []
    asked, seen = 1, 0
    ahead = (1.0, 4.0)

    def taken(_: Call, record: Record) -> None:
        nonlocal seen
        seen += record["states"]
        progress("explore", seen, None)

    while asked:
        wave, before = len(waves), asked
        number = _number_of_parts(build, workers, parts, asked, ahead)
        build = build._replace(parts=(*build.parts, number))
        calls = [(steps.explore_block, at) for at in build.blocks(wave)]
        done = take_all(workers.enough(asked), build, calls, taken=taken)
        if wave and not build.keeps_moves:
            build.work.drop(build.children, wave - 1)  # no later step reads these
        if any(record["parts"] != number for record in done):
            raise damaged(build.folder, f"wave {wave} was begun with another number of parts")
        build = build._replace(
            ones=(*build.ones, reduce(or_, (each["ones"] for each in done))),
        )
        if any(each["extra_turns"] for each in done):
            build = build._replace(kind=build.kind._replace(extra_turns=True))
        waves.append(done)
        asked, states, moves = (_sum([done], of) for of in ("asked", "states", "moves"))
        ahead = (states / before, moves / max(states, 1))
        seen = _sum(waves, "states")
        progress("explore", seen, None)
        if seen > max_states:
            raise TooLargeError(
                f"{name} has more than {max_states:,} states ({seen:,} within {wave} plies); "
                "allow more with --max-states (max_states=)"
            )
    return build, waves


def _sum(waves: Sequence[Sequence[Record]], of: str) -> int:
    """Return the sum of a count over all records."""
    return sum(record[of] for wave in waves for record in wave)


def _number_of_parts(
    build: Build, workers: Workers, parts: int | None, asked: int, ahead: tuple[float, float]
) -> int:
    """Return the number of parts of the next wave: the recorded one, if the wave was begun.

    `asked` counts the candidate states of the wave, with repetitions between blocks. `ahead` is, of
    the wave before, the states per candidate and the moves per state.
    """
    at = BlockId(len(build.parts), 0)
    before = build.work.noted("spread", at)
    if before is not None:
        return int(before["parts"])
    states = asked * min(ahead[0] * DOUBT, 1.0)
    if parts is None:
        need = asked * BYTES_ASKED + states * (BYTES_A_STATE + ahead[1] * BYTES_A_MOVE)
        size = workers.size if states > LITTLE else 1
        parts = min(max(size, -(-int(need) // build.memory)), BUCKETS)
    else:
        parts = min(parts, max(int(states / FEWEST), 1))
    build.work.note("spread", at, {"parts": parts})
    return parts


def _solve(
    build: Build, workers: Workers, explored: list[list[Record]], progress: Progress
) -> list[Record]:
    """Solve all states; return the records of all steps."""
    sizes, work = [_sum([wave], "states") for wave in explored], build.work
    total, last, done = sum(sizes), len(sizes) - 1, 0

    def calls(step: steps.Step, wave: int) -> list[Call]:
        return [(step, at) for at in build.blocks(wave)] if 0 <= wave <= last else []

    waiting = Counter[steps.Step]()

    def taken(call: Call, record: Record) -> None:
        nonlocal done
        done += record.get("solved", 0)
        progress("solve", done, total)
        step, at = call
        if step is steps.solve_block:
            work.drop("block", *at)
        waiting[step] -= 1
        if not waiting[step]:
            drop(step, at.wave)

    def drop(step: steps.Step, wave: int) -> None:
        """Remove the files that only these steps of a wave still had to read."""
        solved = [("block", wave), ("asks", wave - 1), ("answers", wave + 1)]
        for kind, of in solved if step is steps.solve_block else [("states", wave)]:
            if 0 <= of <= last:
                work.drop(kind, of)

    found: list[Record] = []
    progress("solve", 0, total)
    if _sum(explored, "late"):
        if not build.keeps_moves:
            again = [call for wave in range(last + 1) for call in calls(steps.expand_block, wave)]
            found = take_all(workers, build, again)
        moves = _sum(explored, "moves")
        return found + solve_in_rounds(build, workers, total, moves, progress)
    for wave in reversed(range(last + 3)):
        # To solve a wave takes the moves of it and of the wave before; so those of the next one are
        # expanded meanwhile, as far as possible after files of the solved wave were removed.
        begun = [] if build.keeps_moves else calls(steps.expand_block, wave - 2)
        both = calls(steps.solve_block, wave) + begun
        waiting = Counter(step for step, _ in both)
        by = workers.enough(sum(sizes[max(wave - 2, 0) : wave + 1]))
        found += take_all(by, build, both, taken=taken)
        drop(steps.solve_block, wave)
        drop(steps.expand_block, wave - 2)
    return found


def build(
    game: Game,
    folder: str | os.PathLike[str],
    *,
    workers: Workers,
    below: Sequence[str] = (),
    force: bool = False,
    parts: int | None = None,
    memory: int | None = None,
    max_states: int | None = None,
    with_digests: bool = True,
    with_edges: bool = True,
    exchange: str | None = None,
    lap: Callable[[str], None] = lambda _: None,
    progress: Progress = quiet,
) -> Folder:
    """Build a game in parts into a folder, all or nothing; resume an interrupted build.

    See `building.out_of_core.build_folder`. Each step may take `memory` bytes. `with_digests` is
    False if the folder will be loaded, which computes them. `lap` is called after each phase.
    `exchange` is the address of a place for the files of the steps instead of the draft.
    Without `with_edges`, which is for built-in games, the folder gets no files of edges.
    """
    pyarrow()  # raises if it is missing, before anything is written
    target, since = target_of(folder), perf_counter()
    exchange = None if exchange is None else exchange_url(exchange)
    plan: dict[str, Any] = {"name": game.name, "rules": game.rules, "below": list(below)}
    plan |= {"parts": parts, "edges": with_edges, "exchange": exchange}
    builtin = find_builtin(game.name)
    if not with_edges and (builtin is None or builtin.rules != game.rules):
        raise RulesError(
            f"{game.name} is not built in, so its moves must be stored; leave out --no-edges "
            "(edges=)"
        )
    memory, most = memory or MEMORY, MAX_STATES if max_states is None else max_states
    with drafting(target, plan, force=force) as path:
        objects = None if exchange is None else exchanging(path, exchange)
        if not (path / MANIFEST).is_file():  # it is there if a build was killed just before its end
            setup = Build(
                str(path) if objects is None else objects.url,
                workers.rules(game),
                game.rules,
                tuple(below),
                memory=memory,
                kind=kind_of(game),
                keeps_moves=isinstance(game, ArrayRules) or game.max_plies is None,
                with_digests=with_digests,
                with_edges=with_edges,
            )
            setup.work.check()
            setup, explored = _explore(setup, workers, parts, most, game.name, progress)
            lap("explore")
            solved = _solve(setup, workers, explored, progress)
            lap("solve")
            records = [*chain(*explored, solved)]
            sums: dict[str, int] = {}
            for record in records:
                sums |= record.get("sums", {})
            if objects is not None:
                fetch(objects, path, sums)
                lap("fetch")
            _check(path, sums)
            took = {"explore": _costs([*chain(*explored)]), "solve": _costs(solved)}
            info = _describe(game, setup, explored, solved, since)
            names = _names(game, chain(*explored))
            digests = added(record.get("digests", {}) for record in records)
            info["digest"] = of_content(digests) if digests else ""
            waves = tuple(zip(setup.parts, setup.ones, strict=True))
            contents = Contents(info, digests, tuple(below), took, sums, names, waves, with_edges)
            write_manifest(path, contents)
        else:
            try:
                _check(path, Folder.open(path).contents.sums)
            except NotAStoreError as error:
                raise damaged(str(path / MANIFEST)) from error
        if objects is not None:
            sync_all(path)
            objects.end()
    return Folder.open(target)


def _check(path: Path, sums: dict[str, int]) -> None:
    """Raise if a Parquet file is damaged."""
    found = damaged_file(path, sums)
    if found is not None:
        raise damaged(str(found))


def _describe(
    game: Game, build: Build, explored: list[list[Record]], solved: list[Record], since: float
) -> dict[str, Any]:
    """Return the row of the table `game`, without a digest."""
    starts = [record["start"] for record in solved if "start" in record]
    first = min(starts, key=lambda start: int(start["id"]))
    waves = [_sum([wave], "states") for wave in explored]
    return {
        "id": 1,
        "name": game.name,
        "rules": game.rules,
        "extent": schema.BELOW if build.below else schema.WHOLE,
        "starts": waves[0],
        "states": sum(waves),
        "positions": sum(record.get("positions", 0) for record in solved),
        "moves": _sum(explored, "moves"),
        "edges": sum(record.get("edges", 0) for record in chain(*explored, solved)),
        "plies": max(wave for wave, states in enumerate(waves) if states),
        "cyclic": int(any(record.get("cyclic") for record in solved)),
        **{name: first[name] for name in ("start", "value", "remoteness")},
        "built_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "built_with": BUILT_WITH,
        "build_seconds": round(perf_counter() - since, 3),
        "digest": "",
    }


def _names(game: Game, records: Iterable[Record]) -> dict[int, str]:
    """Return the names of the moves of all blocks, by number, ascending."""
    names: dict[int, str] = {}
    for move, name in chain(*(record["names"].items() for record in records)):
        other = names.setdefault(int(move), name)
        if other != name:  # they were met in different blocks
            raise RulesError(
                f"{game.name}: the moves {name} and {other} share the number {move}; write "
                "write_move(self, move), which names them otherwise"
            )
    return unless_numbers(dict(sorted(names.items())))


def _costs(records: Sequence[Record]) -> dict[str, Any]:
    """Return the number and the costs of the steps of a phase; see `Contents`."""
    sums = {
        of: round(sum(record.get(of, 0) for record in records), 6)
        for of in ("messages", "bytes", "seconds")
    }
    peak = max(record.get("peak_bytes", 0) for record in records)
    return {"steps": len(records), **sums, "peak_bytes": peak}
