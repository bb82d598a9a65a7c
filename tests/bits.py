"""Rules that log their calls, and wait or die as files beside them say; tests copy this file."""

import os
import signal
import time
from pathlib import Path

from graphstore import PlainGame

HERE = Path(__file__).parent


class Bits(PlainGame):
    """Add a bit until there are seven; who adds the last one wins by some and loses by others."""

    def start(self):
        return 1

    def moves(self, position):
        with (HERE / "log").open("a") as log:
            log.write(f"{position} {os.getpid()}\n")
        if position == 20 and (HERE / "deadly").exists():
            (HERE / "deadly").unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        while position in (20, 31) and (HERE / "closed").exists():
            time.sleep(0.01)
        while position >= 16 and (HERE / "slow").exists():
            time.sleep(0.01)
        return (0, 1)

    def play(self, position, bit):
        return 2 * position + bit

    def outcome(self, position):
        return (1, 0, -1)[position % 3] if position >= 64 else None
