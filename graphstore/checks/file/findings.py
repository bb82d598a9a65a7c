"""What a verification finds: problems, and how many there are of which kind."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from graphstore.rules.game import Ints
from graphstore.store.digests import NULL

SHOWN = 20  # problems of a kind that are listed; all are counted

STRUCTURE = "the file's structure"
OBJECTS = "tables, index and views"
DIGESTS = "digests"
ROW = "the row of the game"
IDS = "ids"
CLOSURE = "closure"
VALUES = "values and depths"
PLIES = "plies"
COUNTS = "counts"
RANDOM = "values of random play"
AGENTS = "agents"
RULES = "states and edges from the rules"
STATE_RULES = "states from the rules"
PROOF = "the proof"
ORDER = (
    STRUCTURE,
    OBJECTS,
    DIGESTS,
    ROW,
    IDS,
    CLOSURE,
    VALUES,
    PLIES,
    COUNTS,
    RANDOM,
    AGENTS,
    RULES,
    STATE_RULES,
    PROOF,
)
"""What can be checked, in the order in which it is told."""


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


class Wrong(NamedTuple):
    """Cells of one column that are not as they must be, k of them.

    Attributes:
        ids: int64[k], of states; of edges, their parents.
        column: its name, or what was checked.
        found: k cells; `graphstore.store.digests.NULL` and NaN stand for NULL.
        expected: k cells, or a word for all.
        moves: k moves if these are edges.
    """

    ids: Ints
    column: str
    found: Any
    expected: Any
    moves: Any = None


class Verdict(NamedTuple):
    """What `verify` found.

    Attributes:
        problems: the first ones of every kind, at most 20 of a column.
        more: how many more there are.
        checked: what was derived anew.
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


class Report:
    """Collects what is found, however many parts it comes in."""

    def __init__(self, texts: Callable[[Sequence[int]], dict[int, str]]) -> None:
        self.skipped: list[str] = []
        self._texts = texts
        self._listed: dict[str, list[Problem]] = {}
        self._counts: dict[tuple[str, str, str], int] = {}

    def note(self, what: str, found: Iterable[Problem | Wrong]) -> None:
        """Say that something was checked, and what is wrong with it."""
        listed = self._listed.setdefault(what, [])
        for each in found:
            if isinstance(each, Problem):
                key, count = (what, each.table, each.column), 1
            else:
                table = "state" if each.moves is None else "edge"
                key, count = (what, table, each.column), len(each.ids)
            room = max(0, SHOWN - self._counts.get(key, 0))
            self._counts[key] = self._counts.get(key, 0) + count
            if room:
                listed += [each] if isinstance(each, Problem) else self._spelt(each, room)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems that are listed so far."""
        return tuple(each for what in ORDER for each in self._listed.get(what, ()))

    def verdict(self, sample: Drawn | None = None) -> Verdict:
        """Return all that was found."""
        problems = self.problems
        more = sum(self._counts.values()) - len(problems)
        checked = tuple(what for what in ORDER if what in self._listed)
        return Verdict(problems, more, checked, tuple(self.skipped), sample)

    def _spelt(self, wrong: Wrong, room: int) -> list[Problem]:
        """Return the first wrong cells as problems that name their rows."""
        ids = [int(each) for each in wrong.ids[:room]]
        texts = self._texts(ids) if wrong.moves is None else {}
        problems = []
        for place, each in enumerate(ids):
            if wrong.moves is None:
                table, row = "state", f"{each} ({texts.get(each)})"
            else:
                table, row = "edge", f"(parent {each}, move {plain(wrong.moves[place])})"
            alike = isinstance(wrong.expected, str)
            expected = wrong.expected if alike else plain(wrong.expected[place])
            problems.append(Problem(table, row, wrong.column, plain(wrong.found[place]), expected))
        return problems


def plain(cell: Any) -> Any:
    """Return a cell as Python's own, None for NULL."""
    if isinstance(cell, np.generic):
        cell = cell.item()
    return None if cell == NULL or cell != cell else cell
