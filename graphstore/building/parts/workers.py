"""Who takes the steps of a build: this process, or the workers of a cluster."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from graphstore.building.parts.steps import Build, Step
from graphstore.building.parts.work import BlockId, Record
from graphstore.rules.game import Game

LITTLE: Final = 20_000  # states of which no second process is worth its while


class Workers(Protocol):
    """Take steps, in any order, `size` of them at once."""

    size: int

    def rules(self, game: Game) -> Game | str:
        """Return what steps need to know the rules: themselves, or their name."""

    def run(
        self, step: Callable[..., Any], calls: Sequence[tuple[Any, ...]], homes: Sequence[int] = ()
    ) -> Iterator[tuple[int, Any]]:
        """Yield (which call, what the step returned) as steps are done.

        Calls of equal `homes` are best taken by the same process, which keeps what the last one
        left. A StoreError says that the workers are gone.
        """


class OwnProcess:
    """Takes steps in this process, one after the other."""

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
    """Take a step for every block for which it has no record; return all records.

    `calls` has what else the step is told of a block. With `homes`, equal parts are best taken by
    the same process. `taken` is called with each new record.
    """
    found = {at: build.work.noted(step.__name__, at) for at in calls}
    left = [at for at, record in found.items() if record is None]
    told = [(build, at, *calls[at]) for at in left]
    for number, record in workers.run(step, told, [at.part for at in left] if homes else ()):
        found[left[number]] = record
        taken(record)
    return {at: record for at, record in found.items() if record is not None}
