"""Build a game in parts: wave after wave of steps, of which those noted as done are skipped."""

import os
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from time import perf_counter
from typing import Any, Final

from graphstore.building.parts import rounds, steps
from graphstore.building.parts.crew import LITTLE, Crew
from graphstore.building.parts.draft import drafting, target_of
from graphstore.building.parts.partition import BUCKETS
from graphstore.building.parts.steps import Job, Layout
from graphstore.building.parts.work import damaged
from graphstore.errors import TooLargeError
from graphstore.rules.game import Game, Progress, quiet
from graphstore.solver.exploration import MAX_STATES
from graphstore.store import schema
from graphstore.store.arrow import pyarrow
from graphstore.store.columns import BUILT_WITH
from graphstore.store.digests import of_content
from graphstore.store.folder.folder import Folder
from graphstore.store.folder.layout import (
    FORMAT,
    MANIFEST,
    TABLES,
    Contents,
    files_of,
    write_manifest,
)
from graphstore.store.folder.rows import digests_of, rows_in

MEMORY: Final = 1 << 30  # bytes that a step may take, unless told
BYTES_ASKED, BYTES_A_STATE, BYTES_A_MOVE = 16, 60, 90  # of a block worked on: measured
DOUBT: Final = 1.25  # how many more states a wave may have than the one before lets expect


class Blocks:
    """The steps of one build.

    Args:
        job: what every step is told.
        crew: who takes them.
        parts: how many of every wave; None: as few as memory allows, and all hands have work.
        memory: bytes that a step may take.
        max_states: how many states to allow.
        progress: called with the phase and how far it is.
    """

    def __init__(
        self,
        job: Job,
        crew: Crew,
        *,
        parts: int | None,
        memory: int,
        max_states: int,
        progress: Progress,
    ) -> None:
        self._job = job
        self._crew = crew
        self._parts = parts
        self._memory = memory
        self._most = max_states
        self._progress = progress
        self.layout = Layout(())
        self.records: list[list[dict[str, Any]]] = []

    def explore(self, name: str) -> None:
        """Find all states, wave by wave.

        Raises:
            TooLargeError: there are more than allowed.
            RulesError: see `graphstore.solver.exploration.explore`.
        """
        asked, seen = 1, 0
        ahead = (1.0, 4.0)
        while asked:
            wave = len(self.layout.parts)
            parts = self._spread(wave, asked, ahead)
            self.layout = Layout((*self.layout.parts, parts), self.layout.ones)
            done = self._each("explore", steps.explore, wave, seen)
            ones = 0
            for record in done:
                ones |= record["ones"]
            self.layout = Layout(self.layout.parts, (*self.layout.ones, ones))
            self.records.append(done)
            before = asked
            asked, states, moves = (
                sum(record[of] for record in done) for of in ("asked", "states", "moves")
            )
            seen += states
            ahead = (states / before, moves / max(states, 1))
            self._progress("explore", seen, None)
            if seen > self._most:
                raise TooLargeError(
                    f"{name} has more than {self._most:,} states ({seen:,} within {wave} plies); "
                    "allow more with --max-states (max_states=)"
                )

    def count(self, of: str) -> int:
        """Return the sum of what exploring has counted."""
        return sum(record[of] for wave in self.records for record in wave)

    def solve(self) -> list[dict[str, Any]]:
        """Solve all states; return the records of all steps."""
        if self.count("late"):
            return rounds.solve(self._job, self._crew, self.layout, self._memory, self._progress)
        total = self.count("states")
        found, done = [], 0
        for wave in reversed(range(len(self.layout.parts))):
            found += self._each("solve", steps.solve, wave, done, total)
            done += sum(record["states"] for record in self.records[wave])
            self._forget(wave)
        self._progress("solve", total, total)
        return found

    def _spread(self, wave: int, asked: int, ahead: tuple[float, float]) -> int:
        """Return how many parts a wave has: what was chosen before, if it was begun.

        Args:
            wave: which.
            asked: how many states it is asked for, by all blocks together.
            ahead: of the wave before, states to one that was asked for, and moves to a state.
        """
        work = self._job.work
        before = work.noted("spread", wave, 0)
        if before is not None:
            return int(before["parts"])
        parts = self._parts
        if parts is None:
            states = asked * min(ahead[0] * DOUBT, 1.0)
            need = asked * BYTES_ASKED + states * (BYTES_A_STATE + ahead[1] * BYTES_A_MOVE)
            hands = self._crew.size if states > LITTLE else 1
            parts = min(max(hands, -(-int(need) // self._memory)), BUCKETS)
        work.note("spread", wave, 0, {"parts": parts})
        return parts

    def _each(
        self,
        step: str,
        function: Callable[..., Any],
        wave: int,
        done: int,
        total: int | None = None,
    ) -> list[dict[str, Any]]:
        """Take a step for every block of a wave for which it is not done; return all records."""
        work, parts = self._job.work, range(self.layout.parts[wave])
        records = [work.noted(step, wave, part) for part in parts]
        left = [part for part in parts if records[part] is None]
        calls = [(self._job, wave, part, self.layout) for part in left]
        for number, record in self._crew.run(function, calls):
            records[left[number]] = record
            done += record.get("states", 0)
            self._progress(step, done, total)
        found = [record for record in records if record is not None]
        if any(record.get("parts", len(parts)) != len(parts) for record in found):
            raise damaged(self._job.path, f"wave {wave} was begun with another number of parts")
        return found

    def _forget(self, wave: int) -> None:
        """Drop what nothing will read once a wave is solved."""
        for part in range(self.layout.parts[wave]):
            for kind in ("block", "asks"):
                self._job.work.drop(kind, wave, part)
        if wave + 1 < len(self.layout.parts):
            for part in range(self.layout.parts[wave + 1]):
                self._job.work.drop("answers", wave + 1, part)


def build(
    game: Game,
    folder: str | os.PathLike[str],
    *,
    crew: Crew,
    below: Sequence[str] = (),
    force: bool = False,
    parts: int | None = None,
    memory: int | None = None,
    max_states: int | None = None,
    with_digests: bool = True,
    lap: Callable[[str], None] = lambda _: None,
    progress: Progress = quiet,
) -> Folder:
    """Write a game in parts to a folder, all or nothing; go on where an earlier build was stopped.

    Args:
        game: the rules.
        folder: where.
        crew: who does the work.
        below: positions to begin from, as text; by default the starts of the game.
        force: replace the folder if there is one.
        parts: how many each wave has; by default as few as memory allows.
        memory: bytes that a step may take, by default 1 GiB.
        max_states: how many states to allow, by default 100 million.
        with_digests: whether to make the digests of all columns; a database that is made of the
            folder will have them.
        lap: called at the end of each phase.
        progress: called with the phase and how far it is.

    Raises:
        StoreExistsError: the folder is there and `force` is not given.
        StoreError: it cannot be written, or the crew is gone.
        RulesError, TooLargeError: see `graphstore.explore`.
        PositionError: a text of `below` is no position.
    """
    pyarrow()  # or say that it is missing, before anything is written
    target, since = target_of(folder), perf_counter()
    plan = {
        "format": FORMAT,
        "name": game.name,
        "rules": game.rules,
        "below": list(below),
        "parts": parts,
    }
    with drafting(target, plan, force=force) as draft:
        path = draft.path
        if not (path / MANIFEST).is_file():  # else it was killed just before its end
            job = Job(str(path), crew.rules(game), game.rules, tuple(below))
            blocks = Blocks(
                job,
                crew,
                parts=parts,
                memory=memory or MEMORY,
                max_states=MAX_STATES if max_states is None else max_states,
                progress=progress,
            )
            blocks.explore(game.name)
            lap("explore")
            records = blocks.solve()
            lap("solve")
            _check_rows(path, blocks)
            took = {"explore": _taken(chain(*blocks.records)), "solve": _taken(records)}
            info = _describe(game, job, blocks, records, since)
            digests: dict[str, str] = {}
            if with_digests:
                digests = _digests(path, crew, memory or MEMORY, progress)
                info["digest"] = of_content(digests)
                lap("digest")
            write_manifest(path, Contents(info, digests, job.below, took))
        draft.finish()
    return Folder.open(target)


def _check_rows(path: Path, blocks: Blocks) -> None:
    """Refuse files that do not have all the rows that steps have written."""
    for table, of in (("state", "states"), ("edge", "moves")):
        found, wanted = rows_in(files_of(path, table), table), blocks.count(of)
        if found != wanted:
            raise damaged(path, f"its files have {found:,} {of}, not {wanted:,}")


def _digests(path: Path, crew: Crew, memory: int, progress: Progress) -> dict[str, str]:
    """Return the digests of all columns; of each table they are one step, since order matters."""
    if crew.size == 1:
        return digests_of(path, memory=memory, progress=progress)
    found: dict[str, str] = {}
    calls = [(path, (table,), memory) for table in TABLES]
    for _, digests in crew.run(digests_of, calls):
        found |= digests
    return dict(sorted(found.items()))


def _describe(
    game: Game, job: Job, blocks: Blocks, records: list[dict[str, Any]], since: float
) -> dict[str, Any]:
    """Return the row of the table game, without a digest."""
    starts = [record["start"] for record in records if "start" in record]
    first = min(starts, key=lambda start: int(start["id"]))
    waves = [sum(record["states"] for record in wave) for wave in blocks.records]
    return {
        "id": 1,
        "name": game.name,
        "rules": game.rules,
        "extent": schema.BELOW if job.below else schema.WHOLE,
        "starts": waves[0],
        "states": sum(waves),
        "positions": sum(record.get("positions", 0) for record in records),
        "moves": blocks.count("moves"),
        "edges": blocks.count("edges"),
        "plies": max(wave for wave, states in enumerate(waves) if states),
        "cyclic": int(any(record.get("cyclic") for record in records)),
        "start": first["start"],
        "value": first["value"],
        "remoteness": first["remoteness"],
        "built_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "built_with": BUILT_WITH,
        "build_seconds": round(perf_counter() - since, 3),
        "digest": "",
    }


def _taken(records: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return what the steps of a phase took: see `Contents`."""
    steps_taken = list(records)
    sums = {
        of: round(sum(record.get(of, 0) for record in steps_taken), 6)
        for of in ("messages", "bytes", "seconds")
    }
    peak = max(record.get("peak_bytes", 0) for record in steps_taken)
    return {"steps": len(steps_taken), **sums, "peak_bytes": peak}
