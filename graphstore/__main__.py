"""Run the command line, as ``python -m graphstore`` and as the command ``graphstore``."""

import logging
import signal
import sys
from typing import TYPE_CHECKING, Any

from graphstore.util.signals import SIGNALS

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

SOON = 0.001  # seconds


def run() -> None:
    """Run `cli.main.main`; Ctrl-C is one line also while it is imported, or when it ends."""
    done = False

    def interrupt(*_: Any) -> None:
        if not done:
            raise KeyboardInterrupt

    def once_more(lost: "UnraisableHookArgs") -> None:
        """Come again where Ctrl-C came in a callback or a destructor, past which Python goes."""
        if issubclass(lost.exc_type, KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, SOON)
        else:
            sys.__unraisablehook__(lost)

    try:
        for number in (*SIGNALS, signal.SIGALRM):
            if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
                signal.signal(number, interrupt)
        sys.unraisablehook = once_more
        # SQLAlchemy would print the traceback of a close that was interrupted.
        logging.getLogger("sqlalchemy").addHandler(logging.NullHandler())
        from graphstore.cli.main import main

        main()
        done = True
    except KeyboardInterrupt:
        done = True
        sys.stderr.write("graphstore: interrupted\n")
        sys.exit(130)
    finally:
        done = True
        for number in SIGNALS:  # what comes now is too late, and would end the interpreter's end
            signal.signal(number, signal.SIG_IGN)


if __name__ == "__main__":
    run()
