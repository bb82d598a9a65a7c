"""Run the command line, as ``python -m graphstore`` and as the command ``graphstore``."""

import signal
import sys

from graphstore.interrupts import SIGNALS


def run() -> None:
    """Run `graphstore.cli.main`; Ctrl-C is one line also while it is imported, or when it ends."""
    try:
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, signal.default_int_handler)
        from graphstore.cli import main

        main()
    except KeyboardInterrupt:
        sys.stderr.write("graphstore: interrupted\n")
        sys.exit(130)
    finally:
        for number in SIGNALS:  # all is done; the interpreter's own end would be a traceback
            signal.signal(number, signal.SIG_IGN)


if __name__ == "__main__":
    run()
