"""Who takes the steps of a build: this process, or the workers of a cluster."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from graphstore.building.parts.steps import Build, Step
from graphstore.building.parts.work import BlockId, Record
from graphstore.rules.game import Game

Call = tuple[Any, ...]

LITTLE: Final = 20_000  # states of which no second process is worth its while


class Crew(Protocol):
    """Takes steps, in any order.

    Attributes:
        size: how many steps are taken at once.
    """

    size: int

    def rules(self, game: Game) -> Game | str:
        """Return what steps need to know the rules: themselves, or their name."""

    def run(
        self, step: Callable[..., Any], calls: Sequence[Call], homes: Sequence[int] | None = None
    ) -> Iterator[tuple[int, Any]]:
        """Yield (which call, what the step returned) as steps are done.

        Args:
            step: a function.
            calls: the arguments of each call.
            homes: a number for each call; those of equal numbers are best taken by the same
                process, which has kept what the last one left.

        Raises:
            StoreError: the crew is gone.
        """


class Alone:
    """This process."""

    size = 1

    def rules(self, game: Game) -> Game:
        """Return the rules."""
        return game

    def run(
        self, step: Callable[..., Any], calls: Sequence[Call], homes: Sequence[int] | None = None
    ) -> Iterator[tuple[int, Any]]:
        """Take one step after the other."""
        for number, call in enumerate(calls):
            yield number, step(*call)


def take_all(
    crew: Crew,
    step: Step,
    build: Build,
    calls: Mapping[BlockId, Sequence[Any]],
    *,
    homes: bool = False,
    taken: Callable[[Record], None] = lambda _: None,
) -> dict[BlockId, Record]:
    """Take a step for every block for which it has no record; return all records.

    Args:
        crew: who takes it.
        step: which.
        build: what steps are told.
        calls: what else the step is told, by block.
        homes: whether calls for equal parts are best taken by the same process.
        taken: called with each new record.
    """
    found = {at: build.work.noted(step.__name__, at) for at in calls}
    left = [at for at, record in found.items() if record is None]
    told = [(build, at, *calls[at]) for at in left]
    for number, record in crew.run(step, told, [at.part for at in left] if homes else None):
        found[left[number]] = record
        taken(record)
    return {at: record for at, record in found.items() if record is not None}
