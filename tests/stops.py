"""A worker that stops after some steps."""

from graphstore.building.parts import progress
from graphstore.building.parts.workers import OwnProcess


class StoppedError(Exception):
    """The build was stopped."""


class Stops(OwnProcess):
    """A worker that stops after some steps, so that a new process must resume; by default never."""

    def __init__(self, steps=-1):
        self.left, self.taken = steps, []

    def run(self, calls, homes=()):
        for number, (step, *call) in enumerate(calls):
            if not self.left:
                progress._kept.clear()
                raise StoppedError
            self.left -= 1
            self.taken.append((step.__name__, *call[1:]))
            yield number, step(*call)
