"""The workers that take the steps of a build: this process, or those of a cluster."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from graphstore.building.parts.steps import Build, Step
from graphstore.building.parts.work import BlockId, Record
from graphstore.rules.game import Game

LITTLE: Final = 20_000  # states; for fewer, a second process costs more than it saves


class Workers(Protocol):
    """Workers that take steps in any order, `size` of them at once."""

    size: int

    def rules(self, game: Game) -> Game | str:
        """Return the rules as steps need them: the game itself, or its name."""

    def run(
        self, step: Callable[..., Any], calls: Sequence[tuple[Any, ...]], homes: Sequence[int] = ()
    ) -> Iterator[tuple[int, Any]]:
        """Yield (index of the call, result of the step) as steps are done.

        Calls of equal `homes` should run in the same process, which keeps their data in memory.
        Raise a StoreError if the workers are lost.
        """


class OwnProcess:
    """`Workers` that take steps in this process, one after the other."""

    size = 1

    def rules(self, game: Game) -> Game:
        """Return the rules."""
        return game

    def run(
        self, step: Callable[..., Any], calls: Sequence[tuple[Any, ...]], homes: Sequence[int] = ()
    ) -> Iterator[tuple[int, Any]]:
        """See `Workers.run`."""
        for number, call in enumerate(calls):
            yield number, step(*call)


def take_all(
    workers: Workers,
    step: Step,
    build: Build,
    calls: Mapping[BlockId, Sequence[Any]],
    *,
    homes: bool = False,
    taken: Callable[[Record], None] = lambda _: None,
) -> dict[BlockId, Record]:
    """Take a step for every block without a record of it; return all records.

    `calls` maps blocks to further arguments of the step. With `homes`, blocks of the same part
    should run in the same process. `taken` is called with each new record.
    """
    found = {at: build.work.noted(step.__name__, at) for at in calls}
    left = [at for at, record in found.items() if record is None]
    arguments = [(build, at, *calls[at]) for at in left]
    part_homes = [at.part for at in left] if homes else ()
    for number, record in workers.run(step, arguments, part_homes):
        found[left[number]] = record
        taken(record)
    return {at: record for at, record in found.items() if record is not None}
