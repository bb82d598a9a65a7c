"""The result of a verification: the problems, their numbers, and the wrong states of a sample."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np

from graphstore.rules.game import Ints
from graphstore.rules.notebook import or_none, table
from graphstore.store.digests import NULL

SHOWN = 20  # problems of a column to list; all are counted


class Check(StrEnum):
    """The checks, in the order of the report, and what each compares cells with."""

    STRUCTURE = "file structure"
    OBJECTS = "schema"
    DIGESTS = "columns against the digests in the file"
    ROW = "table game against the other tables"
    CONDITIONS = "cells against the conditions of their columns"
    TEXTS = "distinct texts"
    IDS = "ids against the rules"
    CLOSURE = "ends of edges"
    NAMES = "names of moves"
    VALUES = "values and depths against the children"
    PLIES = "plies against the parents"
    RANDOM = "values of random play against the children"
    FRONTIER = "last ply of the book against a search"
    AGENTS = "agents"
    RULES = "states and edges against the rules"
    STATE_RULES = "states against the rules"
    SYMMETRIES = "symmetries of the rules"
    PROOF = "proof"


class Problem(NamedTuple):
    """A cell, row or object of the database that is wrong.

    Attributes:
        table: the table.
        row: the key of the row, as text.
        column: the column, or the check.
        found: the cell in the database.
        expected: the right cell.
    """

    table: str
    row: str
    column: str
    found: Any
    expected: Any

    def __str__(self) -> str:
        line = f"{self.table} {self.row}: {self.column} is {self.found}, not {self.expected}"
        return " ".join(line.splitlines())


class WrongCells(NamedTuple):
    """k wrong cells of one column; `NULL` and NaN stand for NULL."""

    ids: Ints  # [k], the states; for edges, their parents
    column: str  # the column, or the check
    found: Any  # k cells
    expected: Any  # k cells, or one text for all
    moves: Any = None  # k moves, for edges


class Verdict(NamedTuple):
    """The result of `verify`.

    Attributes:
        problems: the first problems, at most 20 of a column.
        more: the number of further problems.
        checked: the checks that were made.
        skipped: the checks that could not be made, and why.
        sample: the result of the sample; None if all states were checked.
    """

    problems: tuple[Problem, ...]
    more: int
    checked: tuple[str, ...]
    skipped: tuple[str, ...]
    sample: "Drawn | None" = None

    @property
    def ok(self) -> bool:
        """True if nothing is wrong."""
        return not self.problems

    @or_none
    def _repr_html_(self) -> str:
        notes = [f"not checked: {each}" for each in self.skipped]
        notes += [f"and {self.more:,} more problems"] * bool(self.more)
        notes += [] if self.sample is None else [str(self.sample)]
        if self.problems:
            return table(Problem._fields, self.problems, note="; ".join(notes))
        return table(
            ("checked", "result"),
            [(each, "correct") for each in self.checked],
            note="; ".join(notes),
        )


class Drawn(NamedTuple):
    """The result of a sample, with a bound on the share of wrong states among all.

    >>> print(Drawn(1_000_000, 3000, 0, 0.000998, 0.95, 1))
    random sample (seed 1): 0 of 3,000 checked states are wrong; with 95 % confidence at most
    0.0998 % of all 1,000,000 states are wrong

    Attributes:
        states: the number of states in the database.
        drawn: the number of states that were checked.
        wrong: the number of those that are wrong.
        at_most: the upper bound on the share of wrong states among all.
        confidence: the probability with which the bound holds, at least.
        seed: the seed that draws the same states again.
    """

    states: int
    drawn: int
    wrong: int
    at_most: float
    confidence: float
    seed: int

    def __str__(self) -> str:
        verb = "is" if self.wrong == 1 else "are"
        if self.drawn == self.states:
            return f"{self.wrong:,} of all {self.states:,} states {verb} wrong"
        return (
            f"random sample (seed {self.seed}): {self.wrong:,} of {self.drawn:,} checked states "
            f"{verb} wrong; with {100 * self.confidence:.6g} % confidence at most "
            f"{100 * self.at_most:.3g} % of all {self.states:,} states are wrong"
        )


class Findings:
    """A collector of problems, which may come in parts."""

    def __init__(self, texts: Callable[[Sequence[int]], dict[int, str]]) -> None:
        self.skipped: list[str] = []  # the checks that were not made, and why
        self.extents: dict[Check, str] = {}  # the rows of a check, if not all
        self.drawn = np.empty(0, dtype=np.int64)  # ids of states
        self.wrong: set[int] = set()  # those of them that are wrong
        self._texts = texts  # returns the texts of states, by id
        self._listed: dict[Check, list[Problem]] = {}
        self._counts = Counter[tuple[Check, str, str]]()

    def note(self, what: Check, found: Iterable[Problem | WrongCells]) -> None:
        """Note that a check was made, and its problems."""
        listed = self._listed.setdefault(what, [])
        for each in found:
            if isinstance(each, Problem):
                key, count = (what, each.table, each.column), 1
            else:
                table = "state" if each.moves is None else "edge"
                key, count = (what, table, each.column), len(each.ids)
                self.wrong.update(each.ids[np.isin(each.ids, self.drawn)].tolist())
            left = SHOWN - self._counts[key]
            self._counts[key] += count
            if left > 0:
                listed += [each] if isinstance(each, Problem) else self._problems(each, left)

    def verdict(self, sample: Drawn | None = None) -> Verdict:
        """Return the verdict on all findings so far."""
        problems = tuple(each for what in Check for each in self._listed.get(what, ()))
        more = sum(self._counts.values()) - len(problems)
        checked = tuple(
            f"{what} {self.extents.get(what, '')}".rstrip()
            for what in Check
            if what in self._listed
        )
        return Verdict(problems, more, checked, tuple(self.skipped), sample)

    def _problems(self, cells: WrongCells, most: int) -> list[Problem]:
        """Return the first wrong cells as problems that name their rows."""
        ids = [int(each) for each in cells.ids[:most]]
        texts = self._texts(ids) if cells.moves is None else {}
        problems = []
        for place, each in enumerate(ids):
            if cells.moves is None:
                table, row = "state", f"{each} ({texts.get(each)})"
            else:
                table, row = "edge", f"(parent {each}, move {plain(cells.moves[place])})"
            alike = isinstance(cells.expected, str)
            expected = cells.expected if alike else plain(cells.expected[place])
            problems.append(Problem(table, row, cells.column, plain(cells.found[place]), expected))
        return problems


def plain(cell: Any) -> Any:
    """Return a cell as a Python object, with None for NULL."""
    if isinstance(cell, np.generic):
        cell = cell.item()
    return None if cell == NULL or cell != cell else cell
