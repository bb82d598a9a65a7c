"""Build an opening book: the first plies of a game of lines, above positions solved by a search."""

import os
from contextlib import closing
from io import BytesIO
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import Final

import numpy as np
from numpy.typing import NDArray

from graphstore.building.saving import Clock, Report, beside, save
from graphstore.errors import StoreError
from graphstore.games import rules_of
from graphstore.rules.game import IN_PLAY, Game, Ints, Progress, quiet
from graphstore.rules.plain import PlainGame
from graphstore.solver.exploration import MAX_STATES, Wave, assemble, waves
from graphstore.solver.frontier import KNOWN, Row, searched
from graphstore.solver.search import on_bitboard
from graphstore.solver.solution import solve_above
from graphstore.store import schema
from graphstore.store.columns import SolvedGraph
from graphstore.store.store import find_backend
from graphstore.util import arguments
from graphstore.util.files import explained, put, refuse_others
from graphstore.util.signals import held_back

KEPT: Final = 5.0  # seconds between two writes of the solved positions


def book(
    game: Game | PlainGame | str,
    target: str | os.PathLike[str],
    *,
    plies: int,
    force: bool = False,
    drop_agents: bool = False,
    progress: Progress = quiet,
) -> Report:
    """Write the states of the first plies of a game to a database, all or nothing.

    The states in play at the last ply, the frontier, are solved by a search, on all cores; the
    others follow from them. All columns are those of a full build, but numbers of random play are
    NULL where it goes beyond the book. After an interruption, the same call resumes: solved
    positions are kept in a file beside the target. A game without longer play is written whole.

    Args:
        game: the rules, or a name for `graphstore.find_game`: a game of connect or mnk.
        target: the file or address to write: see `Store.open`.
        plies: the number of plies, at least 1.
        force: replace an existing game; its agents are kept.
        drop_agents: with `force`, delete its agents.
        progress: called with the phase, the number done and the total, if known.

    Raises:
        ArgumentError: the game is not connect or mnk, or `plies` is less than 1.
        StoreExistsError: the target exists and `force` is not given.
        StoreError: the target cannot be written, or the file of solved positions is damaged.
        TooLargeError: there are more than 100 million states.

    >>> import tempfile, graphstore
    >>> path = tempfile.mkdtemp() + "/book.db"
    >>> graphstore.book("connect(4,3)", path, plies=3).states
    37
    >>> with graphstore.Store.open(path) as store:
    ...     solver = graphstore.Solver("connect(4,3)", book=store)
    ...     found = solver.search("moves:1 2", moves=True)
    >>> found.method, found.value, found.remoteness, len(found.moves)
    ('book', 0, 10, 4)
    """
    rules = rules_of(game)
    cells = on_bitboard(rules).bitboard.cells
    plies = min(arguments.count("plies", plies, least=1), cells)
    place = find_backend(target, "target").for_game(rules.name)
    kept = _Kept(beside(place, rules.name, "solved"), rules)

    def solved(clock: Clock) -> SolvedGraph:
        found = list[Wave]()
        for wave in islice(waves(rules, MAX_STATES), plies + 1):
            found.append(wave)
            progress("explore", sum(len(each.states) for each in found), None)
        last, none = found[plies:], np.empty(0, dtype=np.int32)
        frontier = [each.states[each.outcome == IN_PLAY] for each in last]
        for wave in last:
            counts = np.zeros(len(wave.states), dtype=np.int32)
            found[plies] = Wave(wave.states, wave.outcome, counts, none, frontier[0][:0], none)
        graph = assemble(rules, np.sort(np.concatenate([wave.states for wave in found])), found)
        clock.lap("explore")
        ids = np.concatenate([none, *frontier])
        known = kept.search(ids, progress)
        clock.lap("search")
        solve_above(graph, known)
        clock.lap("solve")
        return SolvedGraph(rules, graph, schema.BOOK if len(ids) else schema.WHOLE)

    report = save(
        rules.name, place, solved, force=force, drop_agents=drop_agents, progress=progress
    )
    kept.path.unlink(missing_ok=True)
    return report


class _Kept:
    """The solved positions of a game, in a file that every few seconds replaces the one before."""

    def __init__(self, path: Path, game: Game) -> None:
        self.path, self._game = path, game
        self._of = [game.name, game.rules]

    def search(self, states: Ints, progress: Progress) -> NDArray[np.void]:
        """Return the values of states in play, ascending; search those that the file lacks."""
        known = self._read()
        left = states[~np.isin(states, known["id"])]
        rows, written = known.tolist(), monotonic()
        try:
            with closing(searched(self._game, left)) as results:
                for done, row in enumerate(results, 1):
                    rows.append(row)
                    progress("search", done, len(left))
                    if monotonic() > written + KEPT:
                        self._write(rows)
                        written = monotonic()
        finally:
            if len(rows) > len(known):
                with held_back():
                    self._write(rows)
        known = np.sort(np.array(rows, dtype=KNOWN), order="id")
        return known[np.isin(known["id"], states)]

    def _write(self, rows: list[Row]) -> None:
        data = BytesIO()
        np.savez(data, of=self._of, rows=np.array(rows, dtype=KNOWN))
        put(self.path, lambda file: file.write(data.getvalue()))

    def _read(self) -> NDArray[np.void]:
        """Return the rows of the file; raise a StoreError if it is damaged or of another game."""
        if not os.path.lexists(self.path):
            return np.empty(0, dtype=KNOWN)
        again = "remove it to begin again"
        with explained(self.path):
            refuse_others(self.path, self.path.lstat())
            data = BytesIO(self.path.read_bytes())
        try:
            with np.load(data, allow_pickle=False) as arrays:  # it checks their CRC-32
                of, rows = arrays["of"].tolist(), arrays["rows"]
        except Exception as error:  # of numpy, zipfile or zlib
            raise StoreError(f"{self.path} is damaged; {again}") from error
        if of != self._of or rows.dtype != KNOWN or rows.ndim != 1:
            has = " ".join(map(str, of)) if isinstance(of, list) else of
            raise StoreError(
                f"{self.path} has positions of {has}, not of {' '.join(self._of)}; {again}"
            )
        return np.asarray(rows)
