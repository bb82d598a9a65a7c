"""Run the command line, as ``python -m graphstore`` and as the command ``graphstore``."""

import _thread
import logging
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any

from graphstore.util.extras import short_of_memory
from graphstore.util.signals import SIGNALS

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

SOON, LATER = 0.001, 0.05  # seconds until the repeated Ctrl-C, by a signal or a thread


def run() -> None:
    """Run `cli.main.main`; Ctrl-C prints one line, even during imports and at exit."""
    done = False

    def interrupt(*_: Any) -> None:
        if not done:
            raise KeyboardInterrupt

    def once_more(lost: "UnraisableHookArgs") -> None:
        """Repeat a Ctrl-C that arrived in a callback or a destructor, where Python ignores it."""
        if not issubclass(lost.exc_type, KeyboardInterrupt):
            sys.__unraisablehook__(lost)
        elif hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, SOON)
        else:  # on Windows
            try:
                threading.Timer(LATER, _thread.interrupt_main).start()
            except KeyboardInterrupt:  # it came while the timer started
                threading.Timer(LATER, _thread.interrupt_main).start()

    # numpy's library would reserve memory for threads that graphstore does not use.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    alarm = [signal.SIGALRM] if hasattr(signal, "SIGALRM") else []  # not on Windows
    try:
        for number in (*SIGNALS, *alarm):
            if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
                signal.signal(number, interrupt)
        sys.unraisablehook = once_more
        # SQLAlchemy would print the traceback of a close that was interrupted.
        logging.getLogger("sqlalchemy").addHandler(logging.NullHandler())
        try:
            from graphstore.cli.main import main
        except (ImportError, MemoryError, SystemError) as error:
            if not short_of_memory(error) and isinstance(error, ImportError):
                raise
            sys.stderr.write("graphstore: not enough memory to start\n")
            sys.exit(1)
        main()
        done = True
    except KeyboardInterrupt:
        done = True
        sys.stderr.write("graphstore: interrupted\n")
        sys.exit(130)
    finally:
        done = True
        # A later signal would only interrupt the exit of the interpreter, or end it by SIGALRM.
        for number in (*SIGNALS, *alarm):
            signal.signal(number, signal.SIG_IGN)


if __name__ == "__main__":
    run()
