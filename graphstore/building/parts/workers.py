"""The workers that take the steps of a build: this process, or those of a cluster."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Protocol

from graphstore.building.parts.steps import Build
from graphstore.building.parts.work import Record
from graphstore.rules.game import Game

LITTLE: Final = 20_000  # states; for fewer, a second process costs more than it saves


Call = tuple[Any, ...]
"""A step, a block and maybe further arguments of the step."""


class Workers(Protocol):
    """Workers that take steps in any order, `size` of them at once."""

    size: int

    def rules(self, game: Game) -> Game | str:
        """Return the rules as steps need them: the game itself, or its name."""

    def enough(self, states: int) -> "Workers":
        """Return the workers for steps with so many states: this process alone if they are few."""

    def run(
        self, calls: Sequence[tuple[Any, ...]], homes: Sequence[int] = ()
    ) -> Iterator[tuple[int, Any]]:
        """Yield (index of the call, result) as calls are done: of a step and its arguments.

        Calls of equal `homes` should run in the same process, which keeps their data in memory.
        Raise a StoreError if the workers are lost.
        """


class OwnProcess:
    """`Workers` that take steps in this process, one after the other."""

    size = 1

    def rules(self, game: Game) -> Game:
        """Return the rules."""
        return game

    def enough(self, states: int) -> Workers:
        """Return these workers."""
        return self

    def run(
        self, calls: Sequence[tuple[Any, ...]], homes: Sequence[int] = ()
    ) -> Iterator[tuple[int, Any]]:
        """See `Workers.run`."""
        for number, (step, *call) in enumerate(calls):
            yield number, step(*call)


def take_all(
    workers: Workers,
    build: Build,
    calls: Sequence[Call],
    *,
    homes: bool = False,
    taken: Callable[[Call, Record], None] = lambda *_: None,
) -> list[Record]:
    """Take every step that has no record; return the records of all, in the order of the calls.

    With `homes`, blocks of the same part should run in the same process. `taken` is called with
    each call that was taken, and its record.
    """
    found = build.work.all_noted([(step.__name__, at) for step, at, *_ in calls])
    left = [number for number, record in enumerate(found) if record is None]
    steps = [(step, build, at, *rest) for step, at, *rest in (calls[number] for number in left)]
    part_homes = [calls[number][1].part for number in left] if homes else ()
    for number, record in workers.run(steps, part_homes):
        found[left[number]] = record
        taken(calls[left[number]], record)
    return [record for record in found if record is not None]
