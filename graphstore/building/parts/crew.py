"""Who takes the steps of a build: this process, or the workers of a cluster."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Protocol

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
