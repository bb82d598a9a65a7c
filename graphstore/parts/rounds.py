"""Solving where children may be of any wave: rounds between parts that hold all their waves."""

from typing import Any

from graphstore.game import Progress
from graphstore.parts.crew import Crew
from graphstore.parts.steps import Job, Layout


def solve(
    job: Job, crew: Crew, layout: Layout, memory: int, progress: Progress
) -> list[dict[str, Any]]:
    """Stand-in: the real one is being built on another branch."""
    raise NotImplementedError
