"""What a verification finds: problems, how many of each kind, and how many states have one."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np

from graphstore.rules.game import Ints
from graphstore.store.digests import NULL

SHOWN = 20  # problems of a kind that are listed; all are counted


class Check(StrEnum):
    """What can be checked, in the order in which it is told."""

    STRUCTURE = "the file's structure"
    OBJECTS = "tables, index and views"
    DIGESTS = "digests"
    ROW = "the row of the game"
    IDS = "ids"
    CLOSURE = "closure"
    VALUES = "values and depths"
    PLIES = "plies"
    RANDOM = "values of random play"
    AGENTS = "agents"
    RULES = "states and edges from the rules"
    STATE_RULES = "states from the rules"
    PROOF = "the proof"


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


class WrongCells(NamedTuple):
    """Cells of one column that are not as they must be, k of them; NaN stands for NULL, too."""

    ids: Ints  # [k], of states; of edges, their parents
    column: str  # or what was checked
    found: Any  # k cells
    expected: Any  # k cells, or a word for all
    moves: Any = None  # k moves if these are edges


class Verdict(NamedTuple):
    """What `verify` found.

    Attributes:
        problems: the first ones of every kind, at most 20 of a column.
        more: how many more there are.
        checked: what was derived again.
        skipped: what could not be, and why.
        sample: what the states that were drawn tell of all; None if all were checked.
    """

    problems: tuple[Problem, ...]
    more: int
    checked: tuple[str, ...]
    skipped: tuple[str, ...]
    sample: "Drawn | None" = None

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


class Drawn(NamedTuple):
    """What a sample tells of all states.

    >>> print(Drawn(1_000_000, 3000, 0, 0.000998, 0.95, 1))
    none of 3,000 of 1,000,000 states, drawn at random (seed 1), is wrong: with 95 % confidence at
    most 0.0998 % of all are

    Attributes:
        states: how many there are.
        drawn: how many of them were checked.
        wrong: how many of those were found wrong.
        at_most: the share of wrong states among all is no larger, with the confidence stated.
        confidence: how likely that is true, at least, whatever the share is.
        seed: draws the same states again.
    """

    states: int
    drawn: int
    wrong: int
    at_most: float
    confidence: float
    seed: int

    def __str__(self) -> str:
        if self.drawn == self.states:
            return f"{self.wrong:,} of all {self.states:,} states are wrong"
        some, verb = (f"{self.wrong:,}", "are") if self.wrong else ("none", "is")
        return (
            f"{some} of {self.drawn:,} of {self.states:,} states, drawn at random (seed "
            f"{self.seed}), {verb} wrong: with {100 * self.confidence:.6g} % confidence at most "
            f"{100 * self.at_most:.3g} % of all are"
        )


class Findings:
    """Collects what is found, however many parts it comes in."""

    def __init__(self, texts: Callable[[Sequence[int]], dict[int, str]]) -> None:
        self.skipped: list[str] = []  # what was not checked, and why
        self.drawn = np.empty(0, dtype=np.int64)  # ids of states
        self.wrong: set[int] = set()  # those of them that are found wrong
        self._texts = texts  # returns the texts of states by id
        self._listed: dict[Check, list[Problem]] = {}
        self._counts = Counter[tuple[Check, str, str]]()

    def note(self, what: Check, found: Iterable[Problem | WrongCells]) -> None:
        """Say that something was checked, and what is wrong with it."""
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
        """Return all that was found."""
        problems = tuple(each for what in Check for each in self._listed.get(what, ()))
        more = sum(self._counts.values()) - len(problems)
        checked = tuple(what.value for what in Check if what in self._listed)
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
    """Return a cell as Python's own, None for NULL."""
    if isinstance(cell, np.generic):
        cell = cell.item()
    return None if cell == NULL or cell != cell else cell
